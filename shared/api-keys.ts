import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "./crc32.ts";

/** Secrets of API keys: prefix, 32 random bytes in base64url, and a base62 CRC32 that lets anyone reject a typo. */
export const orgKeyPrefix = "fcs_org_";
export const agentKeyPrefix = "fcs_agt_";
/** Tokens of invites have the form of keys, but open nothing by themselves. */
export const invitePrefix = "fcs_inv_";

const pattern = /^(fcs_org_|fcs_agt_)([A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;

export type NewApiKey = { secret: string; prefix: string; lastFour: string; digest: Uint8Array };

/** A fresh secret, to be shown once, and what the database keeps of it: SHA-256, prefix and last four characters. */
export function newApiKey(
  prefix: typeof orgKeyPrefix | typeof agentKeyPrefix | typeof invitePrefix,
): NewApiKey {
  const random = randomBytes(32).toString("base64url");
  const secret = prefix + random + checksum(prefix + random);
  return { secret, prefix, lastFour: secret.slice(-4), digest: digestOf(secret) };
}

/** What a key is looked up by. */
export function digestOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** Whether it is the key of an agent, which works under /api/mcp only. */
export function isAgentKey(text: string): boolean {
  return text.startsWith(agentKeyPrefix) && isApiKey(text);
}

/** Whether the text has the form and checksum of a key of ours; says nothing of whether it is valid. */
export function isApiKey(text: string): boolean {
  const match = pattern.exec(text);
  return match !== null && checksum(`${match[1]}${match[2]}`) === match[3];
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function checksum(text: string): string {
  let rest = crc32(new TextEncoder().encode(text));
  let digits = "";
  for (let i = 0; i < 6; i++) {
    digits = base62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
