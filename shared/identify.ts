import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { emailAddress, pictureAddress, timestamp, uuid } from "./fields.ts";
import { author } from "./taxonomy.ts";
import { trimText, unstorable } from "./text.ts";

/** Reasons for a rejected token: `reason` of the error. */
export const identifyRefusals = [
  "malformed",
  "algorithm",
  "audience",
  "no_secret",
  "signature",
  "claims",
  "expired",
  "issued_in_future",
  "not_yet_valid",
  "lifetime",
  "jti_missing",
  "replayed",
  "address_taken",
  "private_board",
] as const;

export type IdentifyRefusal = (typeof identifyRefusals)[number];

// In ------------------------------------------------------------------------------------------------------------

const maxTokenLength = 8000;

export const identifyToken = z
  .string()
  .min(1)
  .max(maxTokenLength)
  .describe("JSON Web Token that the organization's own backend signed with HS256 and a signing secret.");

export const identifyBody = z
  .object({ token: identifyToken })
  .meta({ id: "Identify", description: "A token about a user of the organization's application." });

const claimText = z
  .string({ error: ({ input }) => (input === undefined ? "is required" : "must be a string") })
  .check((ctx) => {
    const length = [...ctx.value.slice(0, 600)].length;
    const complaint =
      unstorable(ctx.value) ?? (length < 1 || length > 255 ? "must be 1 to 255 characters long" : undefined);
    if (complaint) ctx.issues.push({ code: "custom", message: complaint, input: ctx.value });
  });

/** Only sub and email say who it is: another text that cannot be used does not keep the person out (private.given_name). */
const givenText = z
  .unknown()
  .optional()
  .transform(
    (given) => (typeof given === "string" ? trimText(given.replace(/[\0\p{Surrogate}]/gu, "")) : "") || undefined,
  );

/** Claims about the person; times and audience are checked separately. */
export const identifyClaims = z.object({
  sub: claimText,
  email: emailAddress,
  name: givenText,
  avatar_url: givenText,
  jti: claimText.nullish(),
});

export type IdentifyClaims = z.output<typeof identifyClaims>;

// Out -----------------------------------------------------------------------------------------------------------

export const identifyAnswer = dataOf(
  z
    .object({
      access_token: z.string().describe("`fcs_usr_…`; send it as Bearer token. Returned only once."),
      expires_at: timestamp.describe("A day after the exchange."),
      profile: z.object({ id: uuid, name: z.string(), avatar: pictureAddress, email: z.string() }),
    })
    .meta({ id: "IdentifiedSession", description: "A session of an identified person." }),
);

export const signedOutAnswer = dataOf(
  z
    .object({ signed_out: z.boolean().describe("False if the credential was no session of this kind.") })
    .meta({ id: "SignedOut", description: "Whether the session was ended." }),
);

const secretFields = {
  id: uuid,
  last_four: z.string().describe("Last four characters of the secret."),
  last_used_at: timestamp.nullable().describe("Accurate to the minute."),
  created_at: timestamp,
  created_by: author.nullable().describe("Null if made by an operator."),
};

const identifySecret = z
  .object(secretFields)
  .meta({ id: "IdentifySecret", description: "A signing secret, without the secret itself." });

export const identifySecretListAnswer = dataOf(z.array(identifySecret));
export const newIdentifySecretAnswer = dataOf(
  z
    .object({ ...secretFields, secret: z.string().describe("Returned only once.") })
    .meta({ id: "NewIdentifySecret", description: "A created signing secret." }),
);
export const identifySecretDeletedAnswer = dataOf(
  z.object({ id: uuid, deleted: z.literal(true) }).meta({ id: "IdentifySecretDeleted" }),
);

const tokenCheck = z
  .object({
    valid: z.boolean(),
    reason: z.enum(identifyRefusals).nullable().describe("Why it would be refused; null if it is valid."),
    message: z.string().nullable().describe("What is wrong, for people."),
    details: z.array(z.object({ field: z.string(), message: z.string() })).describe("Claims to correct."),
    claims: z.record(z.string(), z.unknown()).nullable().describe("Claims of the token; null if it cannot be decoded."),
    signed_with: z.string().nullable().describe("Last four characters of the secret that signed it."),
  })
  .meta({ id: "IdentifyCheck", description: "What is wrong with a token, if anything." });

export type TokenCheck = z.output<typeof tokenCheck>;
export const identifyCheckAnswer = dataOf(tokenCheck);
