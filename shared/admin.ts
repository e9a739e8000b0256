import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { moment, timestamp, uuid, wholeNumber } from "./fields.ts";
import { scope } from "./scopes.ts";
import { text } from "./text.ts";

// In ------------------------------------------------------------------------------------------------------------

const future = moment.refine((value) => Date.parse(value) > Date.now(), "must be in the future");

export const apiKeyCreate = z
  .object({
    name: text({ min: 1, max: 100 }).describe("What the key is for, 1 to 100 characters."),
    scopes: z
      .array(scope)
      .max(40)
      .transform((scopes) => [...new Set(scopes)])
      .describe("What the key may do; an empty array only reads what is public."),
    expires_at: future.nullish().describe("ISO 8601, in the future; without it the key does not expire."),
  })
  .meta({ id: "ApiKeyCreate", description: "A key for an organization's backend." });

export type ApiKeyCreate = z.infer<typeof apiKeyCreate>;

const longestOverlap = 7 * 24 * 3600;

export const apiKeyRotate = z
  .object({
    overlap_seconds: wholeNumber(0, longestOverlap)
      .default(24 * 3600)
      .describe("How long the old secret stays valid, in seconds; a day by default, a week at most."),
  })
  .meta({ id: "ApiKeyRotate", description: "How to change the secret of a key." });

export type ApiKeyRotate = z.infer<typeof apiKeyRotate>;

function isOrigin(value: string): boolean {
  return (
    /^https?:\/\/[a-z0-9.:[\]-]{1,253}$/.test(value) && URL.canParse(value) && new URL(value).origin === value
  );
}

export const originsUpdate = z
  .object({
    origins: z
      .array(
        z
          .string()
          .refine(
            isOrigin,
            "must be an origin: scheme, host and port in lower case, such as https://app.example.org",
          ),
      )
      .max(50)
      .transform((origins) => [...new Set(origins)])
      .describe("All origins whose pages may call, at most 50; they replace those before."),
  })
  .meta({ id: "OriginsUpdate", description: "Which web pages may call the API for the organization." });

// Out -----------------------------------------------------------------------------------------------------------

const keyFields = {
  id: uuid,
  name: z.string(),
  scopes: z.array(scope),
  prefix: z.string().describe("First characters of the secret."),
  last_four: z.string().describe("Last four characters of the secret."),
  expires_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
  last_used_at: timestamp.nullable().describe("Kept to the minute."),
  created_at: timestamp,
};

const apiKey = z
  .object(keyFields)
  .meta({ id: "ApiKey", description: "A key, without its secret, which nobody can read again." });

const newApiKeyShown = z
  .object({ ...keyFields, secret: z.string().describe("Shown this once.") })
  .meta({ id: "NewApiKey", description: "A key just made, with its secret." });

export const apiKeyListAnswer = dataOf(z.array(apiKey));
export const apiKeyAnswer = dataOf(apiKey);
export const newApiKeyAnswer = dataOf(newApiKeyShown);
export const originsAnswer = dataOf(
  z
    .object({ origins: z.array(z.string()) })
    .meta({ id: "Origins", description: "Which web pages may call." }),
);
