import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { isUuid } from "../../shared/fields.ts";
import { environment } from "./environment.ts";
import { parseKeys } from "./keyring.ts";

/** The recipient that a mail link identifies, and the kind of the mail. */
export type MailLink = { profileId: string; organizationId: string; kind: string };

/** The only thing a link permits: to change mail preferences, or to claim the contributions of an e-mail author. */
type Purpose = "mail preferences" | "claim";

// The first key signs, all keys verify.
const keys = parseKeys("MAIL_LINK_KEYS", environment.mailLinkKeys);
const maxAgeDays = 400;

/** Signs the token of a mail link: `<key id>.<payload>.<HMAC-SHA-256>`. */
export function signMailLink(
  { profileId, organizationId, kind }: MailLink,
  issuedAt: Date,
  purpose: Purpose = "mail preferences",
): string {
  const [current] = keys;
  if (!current) throw new Error("MAIL_LINK_KEYS is missing: links in mails need it (docs/deploy.md)");
  const [keyId, key] = current;
  const fields = [profileId, organizationId, kind, Math.floor(issuedAt.getTime() / 1000)].join(" ");
  const payload = Buffer.from(fields).toString("base64url");
  return `${keyId}.${payload}.${macOf(key, purpose, keyId, payload).toString("base64url")}`;
}

/** Verifies a token; undefined if it is forged, expired, or for another purpose. */
export function readMailLink(token: string, purpose: Purpose = "mail preferences"): MailLink | undefined {
  const [keyId = "", payload = "", mac = "", ...rest] = token.split(".");
  const key = keys.get(keyId);
  if (!key || rest.length > 0) return undefined;
  const expected = macOf(key, purpose, keyId, payload);
  const given = Buffer.from(mac, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const [profileId = "", organizationId = "", kind = "", issued] = Buffer.from(payload, "base64url")
    .toString()
    .split(" ");
  const age = Date.now() / 1000 - Number(issued);
  if (!isUuid(profileId) || !isUuid(organizationId) || !(age < maxAgeDays * 86_400)) return undefined;
  return { profileId, organizationId, kind };
}

// The signature covers the purpose, so a token for another purpose is not valid.
const macOf = (key: Uint8Array, purpose: Purpose, keyId: string, payload: string) =>
  createHmac("sha256", key).update(`${purpose}\n${keyId}\n${payload}`).digest();
