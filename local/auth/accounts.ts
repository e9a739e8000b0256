import { randomInt, randomUUID } from "node:crypto";
import type { Body } from "./calls.ts";
import type { Service, User } from "./lite-types.ts";
import { codeHashOf } from "./token-secrets.ts";

/** Without a password, and not confirmed. */
export async function createAccount(
  { repo }: Service,
  given: { id?: string | undefined; email: string; data?: Record<string, unknown> | undefined },
): Promise<User> {
  const { id = randomUUID(), data = {} } = given;
  const email = given.email.toLowerCase();
  const user = await repo.createUser({ id, email, raw_user_meta_data: data });
  await repo.createIdentity({
    id: randomUUID(),
    provider: "email",
    provider_id: id,
    user_id: id,
    identity_data: { email, email_verified: false, phone_verified: false, sub: id },
  });
  return user;
}

export function newCode(email: string): { code: string; hash: string } {
  const code = String(randomInt(1_000_000)).padStart(6, "0");
  return { code, hash: codeHashOf(email, code) };
}

/** Each of these mails counts as a request for the account: it has a new code. */
export async function mailConfirmation(
  { repo, mailer }: Service,
  { id, email }: User,
  send: "sendConfirmation" | "sendInvite" = "sendConfirmation",
): Promise<void> {
  const { code, hash } = newCode(email ?? "");
  const now = new Date().toISOString();
  const invited = send === "sendInvite" && { invited_at: now };
  await repo.updateUser(id, { confirmation_token: hash, confirmation_sent_at: now, ...invited });
  await mailer[send](email ?? "", hash, code, { userId: id });
}

/** Gives accounts that a request for a code makes the metadata of the request, and sends a mail again. */
export function makeAccounts(service: Service, data: Body["data"]): void {
  const { signInWithOtp, requestMagicLink, resend } = service;
  const prepare = async (email: string | undefined) => {
    if (!email || (await service.repo.findUserByEmail(email))) return;
    const id = randomUUID();
    const more = { email: email.toLowerCase(), email_verified: false, phone_verified: false, sub: id };
    await createAccount(service, { id, email, data: { ...data, ...more } });
  };
  service.signInWithOtp = async (email, options) => {
    if (options?.shouldCreateUser !== false) await prepare(email);
    return signInWithOtp.call(service, email, options);
  };
  service.requestMagicLink = async (email) => {
    await prepare(email);
    return requestMagicLink.call(service, email);
  };
  service.resend = async (type, email) => {
    const user = email ? await service.repo.findUserByEmail(email) : null;
    if (type === "signup" && user && !user.email_confirmed_at) return mailConfirmation(service, user);
    if (type === "email_change" && user?.email_change)
      return void (await service.updateUser(user.id, { email: user.email_change }));
    return resend.call(service, type, email);
  };
}
