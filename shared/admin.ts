import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { moment, timestamp, uuid, wholeNumber } from "./fields.ts";
import { scope } from "./scopes.ts";
import { author } from "./taxonomy.ts";
import { text } from "./text.ts";

// In ------------------------------------------------------------------------------------------------------------

// The year of its UTC time has four digits, as its output has.
const future = moment.refine(
  (value) => Date.parse(value) > Date.now() && Date.parse(value) < Date.UTC(9999, 11, 31),
  "must be in the future and at most 9999-12-30 (UTC)",
);

export const apiKeyCreate = z
  .object({
    name: text({ min: 1, max: 100 }).describe("Purpose of the key, 1 to 100 characters."),
    scopes: z
      .array(scope)
      .max(40)
      .transform((scopes) => [...new Set(scopes)])
      .describe("Scopes of the key; with an empty array it reads public data only."),
    expires_at: future.nullish().describe("ISO 8601, in the future; without it the key does not expire."),
  })
  .meta({ id: "ApiKeyCreate", description: "A key of an organization's backend." });

export type ApiKeyCreate = z.infer<typeof apiKeyCreate>;

const maxOverlapSeconds = 7 * 24 * 3600;

export const apiKeyRotate = z
  .object({
    overlap_seconds: wholeNumber(0, maxOverlapSeconds)
      .default(24 * 3600)
      .describe("How long the old secret stays valid, in seconds; a day by default, at most a week."),
  })
  .meta({ id: "ApiKeyRotate", description: "Options of the rotation of a key." });

export type ApiKeyRotate = z.infer<typeof apiKeyRotate>;

const originPattern = /^https?:\/\/[a-z0-9.:[\]-]{1,253}$/;

function isOrigin(value: string): boolean {
  return originPattern.test(value) && URL.canParse(value) && new URL(value).origin === value;
}

export const originsUpdate = z
  .object({
    origins: z
      .array(
        z
          .string()
          .refine(isOrigin, "must be an origin (scheme, host, and port) in lowercase, such as https://app.example.org")
          .meta({ pattern: originPattern.source }),
      )
      .max(50)
      .transform((origins) => [...new Set(origins)])
      .describe("All allowed origins, at most 50; they replace the previous ones."),
  })
  .meta({ id: "OriginsUpdate", description: "Origins whose pages may call the API for the organization." });

// Out -----------------------------------------------------------------------------------------------------------

const keyFields = {
  id: uuid,
  name: z.string(),
  scopes: z.array(scope),
  prefix: z.string().describe("First characters of the secret."),
  last_four: z.string().describe("Last four characters of the secret."),
  expires_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
  last_used_at: timestamp.nullable().describe("Accurate to the minute."),
  created_at: timestamp,
  created_by: author.nullable().describe("Null if made by an operator."),
};

const apiKey = z.object(keyFields).meta({ id: "ApiKey", description: "A key, without its secret." });

const newApiKeyShown = z
  .object({ ...keyFields, secret: z.string().describe("Returned only once.") })
  .meta({ id: "NewApiKey", description: "A created key, with its secret." });

export const apiKeyListAnswer = dataOf(z.array(apiKey));
export const apiKeyAnswer = dataOf(apiKey);
export const newApiKeyAnswer = dataOf(newApiKeyShown);
export const originsAnswer = dataOf(
  z.object({ origins: z.array(z.string()) }).meta({ id: "Origins", description: "Allowed origins." }),
);
