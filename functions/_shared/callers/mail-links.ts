import { Buffer } from "node:buffer";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { isUuid } from "../../../shared/fields.ts";
import { environment } from "../runtime/environment.ts";
import { parseKeys } from "./keyring.ts";

/** The recipient that a mail link identifies, and the kind of the mail. */
export type MailLink = { profileId: string; organizationId: string; kind: string };

/** The only thing that a link permits. */
type Purpose = "mail preferences" | "claim" | "stop account mail" | "undo" | "client" | InvitePurpose;
/** Join the team with the invited address, or stop the mail of its organization to the address. */
export type InvitePurpose = "invite" | "refuse invites";

// The first key signs, all keys verify.
const keys = parseKeys("MAIL_LINK_KEYS", environment.mailLinkKeys);
const maxAgeDays = 400;

/** Signs the token of a mail link. */
export function signMailLink(
  { profileId, organizationId, kind }: MailLink,
  issuedAt: Date,
  purpose: "mail preferences" | "claim" = "mail preferences",
): string {
  return sign([profileId, organizationId, kind], issuedAt, purpose);
}

/** Verifies a token; undefined if it is forged, expired, or for another purpose. */
export function readMailLink(
  token: string,
  purpose: "mail preferences" | "claim" = "mail preferences",
): MailLink | undefined {
  const [profileId = "", organizationId = "", kind = ""] = read(token, purpose) ?? [];
  return isUuid(profileId) && isUuid(organizationId) ? { profileId, organizationId, kind } : undefined;
}

/** Signs the token of a link to an invite, by the invite's id: the invite's own token is stored as a hash only. */
export const signInviteLink = (inviteId: string, issuedAt: Date, purpose: InvitePurpose): string =>
  sign([inviteId], issuedAt, purpose);

/** Verifies a token and returns the id of the invite; undefined if it is forged, expired, or for another purpose. */
export function readInviteLink(token: string, purpose: InvitePurpose): string | undefined {
  const [inviteId = ""] = read(token, purpose) ?? [];
  return isUuid(inviteId) ? inviteId : undefined;
}

/** Whether there is a key to sign with. */
export const canSign = keys.size > 0;

/** Of a mail about an account that somebody else may have made: the hash of its mailbox, and the account. */
export type StopLink = { mailboxHash: string; accountId: string | null };

export const signStopLink = ({ mailboxHash, accountId }: StopLink, issuedAt: Date): string =>
  sign([mailboxHash, accountId ?? ""], issuedAt, "stop account mail");

export function readStopLink(token: string): StopLink | undefined {
  const [mailboxHash, accountId = ""] = read(token, "stop account mail") ?? [];
  return mailboxHash ? { mailboxHash, accountId: isUuid(accountId) ? accountId : null } : undefined;
}

/** The database stores the hash of what such a link names. */
export const undoHash = (name: string): Uint8Array => createHash("sha256").update(name).digest();

export const signUndoLink = (name: string, issuedAt: Date): string => sign([name], issuedAt, "undo");

export function readUndoLink(token: string): Uint8Array | undefined {
  const [name] = read(token, "undo") ?? [];
  return name ? undoHash(name) : undefined;
}

/** Names the client (keyed hash of an address) that asked auth for a mail, where only auth's URL to return to reaches us. */
export const signClient = (client: string, issuedAt: Date): string => sign([client], issuedAt, "client");

export const readClient = (token: string): string | undefined => read(token, "client")?.[0];

/** Signs a token: `<key id>.<payload>.<HMAC-SHA-256>`. */
function sign(fields: string[], issuedAt: Date, purpose: Purpose): string {
  const [current] = keys;
  if (!current) throw new Error("MAIL_LINK_KEYS is missing: links in mails need it (docs/deploy.md)");
  const [keyId, key] = current;
  const payload = Buffer.from([...fields, Math.floor(issuedAt.getTime() / 1000)].join(" ")).toString("base64url");
  return `${keyId}.${payload}.${macOf(key, purpose, keyId, payload).toString("base64url")}`;
}

function read(token: string, purpose: Purpose): string[] | undefined {
  const [keyId = "", payload = "", mac = "", ...rest] = token.split(".");
  const key = keys.get(keyId);
  if (!key || rest.length > 0) return undefined;
  const expected = macOf(key, purpose, keyId, payload);
  const given = Buffer.from(mac, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const fields = Buffer.from(payload, "base64url").toString().split(" ");
  const age = Date.now() / 1000 - Number(fields.pop());
  return age < maxAgeDays * 86_400 ? fields : undefined;
}

// The signature covers the purpose, so a token for another purpose is not valid.
const macOf = (key: Uint8Array, purpose: Purpose, keyId: string, payload: string) =>
  createHmac("sha256", key).update(`${purpose}\n${keyId}\n${payload}`).digest();
