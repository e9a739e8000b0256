import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "./crc32.ts";

/** Secrets of API keys: prefix, 32 random bytes in base64url, and a base62 CRC32 to detect typos. */
export const orgKeyPrefix = "fcs_org_";
export const agentKeyPrefix = "fcs_agt_";
/** Sessions of identified people. */
export const sessionPrefix = "fcs_usr_";
/** Invite tokens have the format of keys, but grant no access by themselves. */
export const invitePrefix = "fcs_inv_";
/** Secrets with which organizations sign identify tokens; same format. */
export const signingPrefix = "fcs_sig_";

const pattern = /^(fcs_org_|fcs_agt_|fcs_usr_)([A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;

export type NewApiKey = { secret: string; prefix: string; lastFour: string; digest: Uint8Array };

/** A new secret, to be shown once, and the stored values: SHA-256, prefix and last four characters. */
export function newApiKey(
  prefix:
    | typeof orgKeyPrefix
    | typeof agentKeyPrefix
    | typeof sessionPrefix
    | typeof invitePrefix
    | typeof signingPrefix,
): NewApiKey {
  const random = randomBytes(32).toString("base64url");
  const secret = prefix + random + checksum(prefix + random);
  return { secret, prefix, lastFour: secret.slice(-4), digest: digestOf(secret) };
}

/** The digest by which a key is looked up. */
export function digestOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** Whether it is an agent key, which works under /api/mcp only. */
export function isAgentKey(text: string): boolean {
  return text.startsWith(agentKeyPrefix) && isApiKey(text);
}

/** Whether it is the session of an identified person. */
export function isSession(text: string): boolean {
  return text.startsWith(sessionPrefix) && isApiKey(text);
}

/** Whether the text has the format and checksum of a key or session; does not check validity. */
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
