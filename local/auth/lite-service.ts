import { randomBytes, randomUUID } from "node:crypto";
import { decodeJwt, jwtVerify, SignJWT } from "jose";
import { isUuid } from "../../shared/fields.ts";
import { isAdminPath } from "../lite/paths.ts";
import { codeOf } from "../processes/start-error.ts";
import { mailConfirmation, makeAccounts } from "./accounts.ts";
import { answerAdmin } from "./admin.ts";
import type { Body } from "./calls.ts";
import { goTrueError } from "./errors.ts";
import {
  type MailContext,
  type RefreshToken,
  type Repository,
  type Service,
  type Session,
  together,
  type User,
} from "./lite-types.ts";
import { clientHeader, type HookMail } from "./mail-hook.ts";
import { isLinkToken, type TokenSecrets } from "./token-secrets.ts";

interface Context {
  req: { raw: Request };
  var: { authService?: unknown; sessionId?: string };
  res: Response;
}

const codeColumns = new Set([
  "confirmation_token",
  "recovery_token",
  "email_change_token_current",
  "email_change_token_new",
  "reauthentication_token",
]);
const noCodes = Object.fromEntries([...codeColumns].map((column) => [column, null]));
/** Methods of lite's mailer, with the names of their mails in auth's hook. */
const mailsWithLinks = {
  sendConfirmation: "signup",
  sendRecovery: "recovery",
  sendMagicLink: "magiclink",
  sendInvite: "invite",
} as const;
const firstHalf = "Confirmation link accepted. Please proceed to confirm link sent to the other email";

interface Changes {
  secrets: TokenSecrets;
  jwtSecret: string;
  issuer: string;
  /** Whether an account of this request needs a confirmed address. */
  confirmsAddresses: boolean;
  /** Sends mails in addition to lite's driver. */
  mail: SendMail | undefined;
}

type SendMail = (mail: HookMail) => void;

/** Ends the call with this response. */
type Refuse = (response: Response) => never;

/**
 * Middleware for lite: encrypts stored tokens, signs access tokens and changes addresses like hosted auth, serves its
 * admin's calls, and does not reveal accounts.
 */
export function changeLite({ secrets, jwtSecret, issuer, confirmsAddresses: confirms, mail }: Changes) {
  const key = new TextEncoder().encode(jwtSecret);
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    const service = context.var.authService as Service | undefined;
    if (service === undefined) return next();
    let errorResponse: Response | undefined;
    const refuse: Refuse = (response) => {
      errorResponse = response;
      throw new Error("refused");
    };
    const client = context.req.raw.headers.get(clientHeader) ?? undefined;
    const send = mail && ((given: HookMail) => mail({ ...given, client }));
    service.repo = encryptingRepository(service.repo, {
      secrets,
      confirms,
      failed: (error) => {
        errorResponse = errorResponseOf(error);
      },
      mail: send,
    });
    linkByToken(service, secrets, send);
    signLikeAuth(service, key, issuer, refuse);
    changeAddresses(service);
    endSessions(service, () => context.var.sessionId);
    const { pathname } = new URL(context.req.raw.url);
    const body = await bodyOf(context.req.raw);
    makeAccounts(service, body.data);
    if (confirms) hideSignUps(service);
    hideAccounts(service, refuse);
    refreshInTurn(service, secrets);
    const refused = await refusedCaller(service, context.req.raw, key, isAdminPath(pathname));
    if (refused) context.res = refused;
    else if (isAdminPath(pathname))
      context.res = await answerAdmin(service, secrets, context.req.raw, body).catch(
        (error: unknown) => errorResponse ?? errorOfLite(error),
      );
    else await next();
    if (errorResponse && context.res.status === 500) context.res = errorResponse;
    const location = context.res.headers.get("location");
    if (pathname === "/auth/v1/verify" && location)
      context.res.headers.set("location", await redirectLikeAuth(location, errorResponse));
  };
}

function encryptingRepository(
  repository: Repository,
  given: { secrets: TokenSecrets; confirms: boolean; failed: (error: unknown) => void; mail: SendMail | undefined },
): Repository {
  const { secrets, confirms, failed, mail } = given;
  const { encryptRefreshToken, decryptRefreshToken, storedCode } = secrets;
  const opened = (row: RefreshToken): RefreshToken => ({
    ...row,
    token: decryptRefreshToken(row.token),
    parent: row.parent && decryptRefreshToken(row.parent),
  });
  const withStoredCodes = (columns: Partial<User>): Partial<User> =>
    Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [
        name,
        codeColumns.has(name) && typeof value === "string" ? storedCode(value) : value,
      ]),
    );
  const tracked = async <Result>(pending: Promise<Result>): Promise<Result> => {
    try {
      return await pending;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  const changes: Partial<Repository> = {
    transaction: (use) => repository.transaction((inner) => use(encryptingRepository(inner, given))),
    findUserByToken: (column, value) => repository.findUserByToken(column, storedCode(value)),
    // The statement that confirms an address voids its code too, as in auth: triggers count other changes as requests.
    claimUserToken: async (userId, column, value) =>
      (await repository
        .table("users")
        .select("id")
        .where("id", "=", userId)
        .where(column, "=", storedCode(value))
        .forUpdate()
        .executeTakeFirst()) !== undefined,
    // First without a code, as auth does: triggers count each code.
    async createUser({ confirmation_token, confirmation_sent_at, ...user }) {
      const made = await tracked(repository.createUser(confirms ? { ...user, confirmed_at: null } : user));
      return confirmation_token ? changed.updateUser(made.id, { confirmation_token, confirmation_sent_at }) : made;
    },
    async updateUser(id, change) {
      const before = mail && (change.email || change.encrypted_password) && (await repository.findUserById(id));
      const user = await tracked(
        repository.updateUser(id, {
          ...(change.confirmed_at ? { confirmation_token: null, recovery_token: null } : {}),
          ...(change.encrypted_password === undefined ? {} : noCodes),
          ...(change.email_change_token_new ? { email_change_confirm_status: 0 } : {}),
          ...withStoredCodes(change),
        }),
      );
      const notice = before && noticeOf(before, user);
      if (notice) mail?.(notice);
      return user;
    },
    // The log would have the addresses of erased people.
    createAuditLogEntry: async () => undefined,
    createSession: (session) => tracked(repository.createSession(session)),
    async createRefreshToken(row) {
      const token = encryptRefreshToken(row.token);
      const parent = row.parent && encryptRefreshToken(row.parent);
      return { ...(await repository.createRefreshToken({ ...row, token, parent })), token: row.token };
    },
    async findRefreshToken(token) {
      const row = await repository.findRefreshToken(encryptRefreshToken(token));
      return row && opened(row);
    },
    findRefreshTokensBySession: async (session) => (await repository.findRefreshTokensBySession(session)).map(opened),
  };
  const changed = Object.assign(Object.create(repository) as Repository, changes);
  return changed;
}

/** What auth tells the owner of an account about its change. */
function noticeOf(before: User, user: User): HookMail | undefined {
  const old_email = before.email ?? "";
  if (!before.email_confirmed_at || !user.email || user.deleted_at || !old_email) return;
  const isOfAddress = user.email !== old_email;
  if (!isOfAddress && user.encrypted_password === before.encrypted_password) return;
  const action = isOfAddress ? "email_changed_notification" : "password_changed_notification";
  return {
    id: randomUUID(),
    user: { id: user.id, email: user.email, user_metadata: localeOf(user) },
    email_data: { email_action_type: action, token: "", token_hash: "", old_email },
  };
}

/** The metadata that mails need. */
function localeOf(user: User | null | undefined) {
  const { locale } = (user?.raw_user_meta_data ?? {}) as { locale?: unknown };
  return { locale };
}

/** The response for database errors a client can fix; other errors stay a 500. */
function errorResponseOf(error: unknown): Response | undefined {
  // Canceled, or read-only: as while npm run move copies the data, and after it.
  if (["57014", "25006"].includes(codeOf(error) ?? ""))
    return goTrueError(503, "request_timeout", "The service accepts no changes at the moment. Try again later.", 5);
  const constraint = error instanceof Error && "constraint_name" in error ? error.constraint_name : undefined;
  if (constraint === "user_metadata_is_small")
    return goTrueError(422, "validation_failed", "data must be at most 2 KB in total");
  if (constraint === "users_email_partial_key")
    return goTrueError(422, "user_already_exists", "User already registered");
  if (constraint === "account_was_just_restored")
    return goTrueError(409, "conflict", "A change of this account was just undone. Try again in half a minute.");
}

/** Of an error that lite's routes would answer. */
function errorOfLite(error: unknown): Response {
  if (error instanceof Response) return error;
  const { status, toJSON } = error as { status?: number; toJSON?: () => object };
  return status && toJSON
    ? Response.json(toJSON.call(error), { status })
    : goTrueError(500, "unexpected_failure", "Unexpected failure");
}

const bodyOf = async (request: Request): Promise<Body> =>
  request.body ? ((await request.clone().json()) as Body) : {};

/** Also true for the date "infinity", which Date.parse cannot read. */
const isBanned = ({ banned_until }: User) => banned_until !== null && !(Date.parse(banned_until) <= Date.now());

/** Rejects a call of the admin without the service's token, and any call of a banned user. */
async function refusedCaller(
  { repo }: Service,
  request: Request,
  key: Uint8Array,
  isAdmins: boolean,
): Promise<Response | undefined> {
  if (!isAdmins && !/\/(?:user|logout|reauthenticate)$/.test(new URL(request.url).pathname)) return;
  const token = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const verified = await jwtVerify(token ?? "", key, { algorithms: ["HS256"] }).catch(() => undefined);
  if (!isAdmins) {
    const { sub, session_id } = verified?.payload ?? {};
    if (verified && ![sub, session_id ?? sub].every(isUuid))
      return goTrueError(403, "bad_jwt", "invalid claim: sub claim must be a UUID");
    // lite rejects an invalid token.
    const user = verified?.payload.sub && (await repo.findUserById(verified.payload.sub));
    return user && isBanned(user) ? banned(403) : undefined;
  }
  if (!token) return goTrueError(401, "no_authorization", "This endpoint requires a valid Bearer token");
  if (!verified) return goTrueError(403, "bad_jwt", "invalid JWT: unable to parse or verify signature");
  if (verified.payload.role !== "service_role") return goTrueError(403, "not_admin", "User not allowed");
}

const banned = (status: number) => goTrueError(status, "user_banned", "User is banned");

/** Adapts the redirect of GET /verify: lite supports neither changes of address confirmed halfway nor banned users. */
async function redirectLikeAuth(location: string, refused: Response | undefined): Promise<string> {
  const [page, fragment = ""] = location.split("#");
  const answer = new URLSearchParams(fragment);
  if (answer.get("access_token") === "undefined")
    return `${page}#${new URLSearchParams({ message: firstHalf, sb: "" })}`;
  if (refused) {
    const { error_code, msg } = (await refused.json()) as { error_code: string; msg: string };
    answer.set("error_code", error_code);
    answer.set("error_description", msg);
  }
  answer.set("sb", "");
  answer.sort();
  return `${page}#${answer}`;
}

/** A mail link carries an unguessable token; the hash of a code in its place is rejected. */
function linkByToken(service: Service, secrets: TokenSecrets, mail: Changes["mail"]): void {
  const { mailer, verifyOtp } = service;
  const byHook = async (userId: string | undefined, addresses: object, email_data: HookMail["email_data"]) => {
    if (!mail) return;
    const user = userId ? await service.repo.findUserById(userId) : undefined;
    mail({ user: { id: userId, email: "", ...addresses, user_metadata: localeOf(user) }, email_data });
  };
  mailer.sendInvite = async (email, link, code, of) =>
    mailer.send(await mailer.render("invite", email, link, code, of));
  for (const [name, action] of Object.entries(mailsWithLinks) as [keyof typeof mailsWithLinks, string][]) {
    const send = mailer[name].bind(mailer);
    mailer[name] = async (email, tokenHash, code, of) => {
      const link = secrets.linkToken(tokenHash);
      await byHook(of?.userId, { email }, { email_action_type: action, token: code, token_hash: link });
      await send(email, link, code, of);
    };
  }
  const sendReauthentication = mailer.sendReauthentication.bind(mailer);
  mailer.sendReauthentication = async (email, code, of) => {
    const data = { email_action_type: "reauthentication", token: code, token_hash: "" };
    await byHook(of?.userId, { email }, data);
    await sendReauthentication(email, code, of);
  };
  const sendEmailChange = mailer.sendEmailChange.bind(mailer);
  /** To both addresses, or to the new one if the account has none. */
  mailer.sendEmailChange = async (email, tokenHash, code, of: MailContext = {}) => {
    const { currentEmail = "", newEmail = email, tokenNew, tokenHashNew } = of;
    const link = secrets.linkToken(tokenHash);
    const linkNew = tokenHashNew && secrets.linkToken(tokenHashNew);
    // Auth's fields are swapped: token_hash belongs to token_new.
    const data = linkNew
      ? { token: code, token_hash: linkNew, token_new: tokenNew, token_hash_new: link }
      : { token: code, token_hash: link };
    const addresses = { email: currentEmail, new_email: newEmail };
    await byHook(of.userId, addresses, { email_action_type: "email_change", ...data });
    await sendEmailChange(email, link, code, of);
    if (linkNew) await sendEmailChange(newEmail, linkNew, tokenNew ?? "", of);
  };
  service.verifyOtp = (given) =>
    verifyOtp.call(service, {
      ...given,
      ...(given.token_hash && !isLinkToken(given.token_hash) && { token_hash: "none" }),
    });
}

/** lite's tokens lack the issuer, which verifiers require, and most of the claims of hosted auth. */
function signLikeAuth(service: Service, key: Uint8Array, issuer: string, refuse: Refuse): void {
  const { createSessionForUser, createRefreshResponse } = service;
  const sign = async (session: Session) => {
    const methods = await service.repo
      .table("mfa_amr_claims")
      .selectAll()
      .where("session_id", "=", session.session_id)
      .execute();
    const amr = methods.map(({ authentication_method: method, updated_at }) => ({
      method,
      timestamp: Math.floor(Date.parse(String(updated_at)) / 1000),
    }));
    const { phone, app_metadata, user_metadata, is_anonymous } = session.user;
    const claims = { phone, app_metadata, user_metadata, is_anonymous, iss: issuer, aal: "aal1", amr };
    session.access_token = await new SignJWT({ ...decodeJwt(session.access_token), ...claims })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .sign(key);
    return session;
  };
  service.createSessionForUser = async (user, identities, use, more) => {
    if (isBanned(user)) refuse(banned(use === "user" ? 400 : 403));
    const session = await createSessionForUser.call(service, user, identities, use, more);
    const now = new Date().toISOString();
    const method = use === "verify" ? "otp" : use === "session" ? "oauth" : "password";
    const claim = { id: randomUUID(), session_id: session.session_id, authentication_method: method };
    await service.repo
      .insertInto("mfa_amr_claims")
      .values({ ...claim, created_at: now, updated_at: now })
      .execute();
    return sign(session);
  };
  service.createRefreshResponse = async (user, ...more) => {
    if (isBanned(user)) refuse(goTrueError(400, "user_banned", "Invalid Refresh Token: User Banned"));
    return sign(await createRefreshResponse.call(service, user, ...more));
  };
}

/** A change must be confirmed from both addresses, in any order; lite asks only one. */
function changeAddresses(service: Service): void {
  const { findUserByTokenAndType, completeVerifyOtp } = service;
  service.findUserByTokenAndType = async (hash, type) => {
    const found = await findUserByTokenAndType.call(service, hash, type);
    const double_confirm_changes = found?.tokenColumn === "email_change_token_current";
    service.config = { ...service.config, email: { ...service.config.email, double_confirm_changes } };
    return found;
  };
  service.completeVerifyOtp = async (user, column, type) => {
    // Again, because lite has locked the row since it read this one.
    const now = type === "email_change" ? await service.repo.findUserById(user.id) : null;
    if (!now?.email || now.email_change_confirm_status !== 0)
      return completeVerifyOtp.call(service, user, column, type);
    await service.repo.updateUser(user.id, { [column]: null, email_change_confirm_status: 1 });
    return { code: "200", msg: firstHalf };
  };
}

/** A new password ends all other sessions of the account, as in hosted auth. */
function endSessions(service: Service, ownSession: () => string | undefined): void {
  const { updateUser } = service;
  service.updateUser = async (id, change) => {
    const user = await updateUser.call(service, id, change);
    if (change.password) {
      await service.repo.deleteRefreshTokensForUser(id, ownSession());
      await service.repo.deleteUserSessions(id, ownSession());
    }
    return user;
  };
}

/** Sign-up with the address of an account gets the same response; the account's owner gets a mail. */
function hideSignUps(service: Service): void {
  const signUp = service.signUp.bind(service);
  service.signUp = async (email = "", password, data) => {
    const known = await service.repo.findUserByEmail(email.toLowerCase());
    try {
      return await signUp(email, password, data);
    } catch (error) {
      if (!known || (error as { status?: number }).status !== 429) throw error;
      const made = await rehearse(service, email.toLowerCase(), (other) => signUp(other, password, data));
      // Without waiting, so that the response takes no longer than that of a new account.
      const mailed = known.email_confirmed_at
        ? service.signInWithOtp(email, { shouldCreateUser: false })
        : mailConfirmation(service, known);
      mailed.catch(() => undefined);
      return made;
    }
  };
}

/** Signs up with a random address, without a mail, and rolls back, to get the response of a new account. */
async function rehearse<Made>(service: Service, email: string, make: (email: string) => Promise<Made>): Promise<Made> {
  const { mailer } = service;
  const other = `${randomUUID()}@rehearsal.invalid`;
  let made: string | undefined;
  service.mailer = { ...mailer, sendConfirmation: async () => undefined };
  const rehearsal = together(service, async () => {
    made = JSON.stringify(await make(other));
    throw new Error("taken back");
  });
  await rehearsal.catch((error: unknown) => {
    if (made === undefined) throw error;
  });
  service.mailer = mailer;
  return JSON.parse((made ?? "").replaceAll(other, () => JSON.stringify(email).slice(1, -1))) as Made;
}

/**
 * Sign-in takes the same time and returns the same error with and without an account. Only the correct password reveals
 * that the address is not confirmed yet.
 */
function hideAccounts(service: Service, refuse: Refuse): void {
  const { signInWithPassword } = service;
  service.signInWithPassword = async (...given) => {
    const { repo, createSessionForUser } = service;
    let isUnconfirmed = false;
    service.repo = Object.assign(Object.create(repo) as Repository, {
      async findUserByEmail(email: string) {
        const user = await repo.findUserByEmail(email);
        if (!user?.encrypted_password) return noUser as User;
        isUnconfirmed = !user.email_confirmed_at;
        return isUnconfirmed ? { ...user, email_confirmed_at: noUser.email_confirmed_at } : user;
      },
    });
    service.createSessionForUser = async (...session) => {
      if (!isUnconfirmed) return createSessionForUser.apply(service, session);
      return refuse(goTrueError(400, "email_not_confirmed", "Email not confirmed"));
    };
    try {
      return await signInWithPassword.apply(service, given);
    } finally {
      Object.assign(service, { repo, createSessionForUser });
    }
  };
}

/** Serializes refreshes of one session, so that a session has one live refresh token. */
function refreshInTurn(service: Service, secrets: TokenSecrets): void {
  const { refreshSession, repo } = service;
  service.refreshSession = async (token) => {
    const done = await repo.transaction(async (inner) => {
      const encrypted = secrets.encryptRefreshToken(token ?? "");
      const row = await inner
        .table("refresh_tokens")
        .select("session_id")
        .where("token", "=", encrypted)
        .executeTakeFirst();
      if (row?.session_id)
        await inner.table("sessions").select("id").where("id", "=", row.session_id).forUpdate().executeTakeFirst();
      service.repo = inner;
      // A rejection commits, because it has revoked the descendants of a reused token. Their session ends with them.
      return refreshSession.call(service, token).then(
        (session) => ({ session }),
        async (error: unknown) => {
          if (row?.session_id && (error as { code?: string }).code === "refresh_token_already_used")
            await inner.deleteFrom("sessions").where("id", "=", row.session_id).execute();
          return { error };
        },
      );
    });
    service.repo = repo;
    if ("error" in done) throw done.error;
    return done.session;
  };
}

// A bcrypt hash with lite's cost that no password matches.
const digest = randomBytes(53).toString("hex").slice(0, 52);
const noUser = {
  id: "00000000-0000-4000-8000-000000000000",
  encrypted_password: `$2b$10$e${digest}`,
  email_confirmed_at: new Date(0).toISOString(),
  banned_until: null,
};
