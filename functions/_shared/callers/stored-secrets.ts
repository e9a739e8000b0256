import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { ApiError } from "../http/api-error.ts";
import { environment } from "../runtime/environment.ts";
import { parseKeys } from "./keyring.ts";

// The first key encrypts, all keys decrypt. To rotate, prepend the new key and remove the old one when nothing uses it.
const keys = parseKeys("WEBHOOK_SECRETS_KEYS", environment.webhookSecretsKeys);

/** A new secret in the format of Standard Webhooks. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** AES-256-GCM as `<key id>.<nonce, tag and ciphertext>`, bound to the row that holds it. */
export function encryptSecret(secret: string, rowId: string): string {
  const [current] = keys;
  if (!current)
    throw new ApiError(
      "SERVICE_UNAVAILABLE",
      "This installation cannot store secrets. Ask the operator to set WEBHOOK_SECRETS_KEYS.",
    );
  const [keyId, key] = current;
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(rowId));
  const ciphertext = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return `${keyId}.${Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString("base64url")}`;
}

export function decryptSecret(encrypted: string, rowId: string): string {
  const [keyId = "", encoded = ""] = encrypted.split(".");
  const key = keys.get(keyId);
  if (!key) throw new Error(`WEBHOOK_SECRETS_KEYS has no key ${keyId}.`);
  const bytes = Buffer.from(encoded, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12))
    .setAAD(boundTo(rowId))
    .setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}

/** Additional authenticated data: the ciphertext of another row cannot be decrypted. */
function boundTo(rowId: string): Uint8Array {
  return Buffer.from(rowId.replaceAll("-", "").toLowerCase());
}
