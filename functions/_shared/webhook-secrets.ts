import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { ApiError } from "./api-error.ts";
import { environment } from "./environment.ts";

// The first key seals, all of them open: a new one is put in front, the old one stays until nothing is sealed with it.
const keys = parse(environment.webhookSecretsKeys ?? "");

function parse(text: string): Map<string, Uint8Array> {
  const entries = text.split(",").filter(Boolean);
  return new Map(
    entries.map((entry) => {
      const [, id = "", encoded = ""] = /^\s*([\w-]{1,32}):([A-Za-z0-9+/_-]{43})=?\s*$/.exec(entry) ?? [];
      const key = Buffer.from(encoded, "base64");
      if (key.length !== 32)
        throw new Error(
          "WEBHOOK_SECRETS_KEYS must be <id>:<32 bytes in base64>, comma-separated (docs/deploy.md)",
        );
      return [id, key];
    }),
  );
}

/** A fresh secret, in the form of Standard Webhooks. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** AES-256-GCM as `<key id>.<nonce, tag and ciphertext>`, for this webhook only. */
export function sealSecret(secret: string, webhookId: string): string {
  const [current] = keys;
  if (!current)
    throw new ApiError(
      "SERVICE_UNAVAILABLE",
      "Webhooks are not set up here: the operator has to set WEBHOOK_SECRETS_KEYS.",
    );
  const [keyId, key] = current;
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(webhookId));
  const ciphertext = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return `${keyId}.${Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString("base64url")}`;
}

export function openSecret(sealed: string, webhookId: string): string {
  const [keyId = "", encoded = ""] = sealed.split(".");
  const key = keys.get(keyId);
  if (!key) throw new Error(`WEBHOOK_SECRETS_KEYS has no key ${keyId}.`);
  const bytes = Buffer.from(encoded, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12))
    .setAAD(boundTo(webhookId))
    .setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}

/** One sealed for another webhook does not open. */
function boundTo(webhookId: string): Uint8Array {
  return Buffer.from(webhookId.replaceAll("-", "").toLowerCase());
}
