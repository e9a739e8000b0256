import { randomBytes, randomUUID } from "node:crypto";
import { decodeJwt, SignJWT } from "jose";
import { goTrueError } from "./errors.ts";
import type { HookMail } from "./mail-hook.ts";
import { isLinkToken, type TokenSecrets } from "./token-secrets.ts";

// The parts of @supabase/lite 0.10 that this module replaces. lite creates a service for each request.
type Columns = Record<string, unknown>;
interface RefreshToken extends Columns {
  token: string;
  parent: string | null;
}
interface Query {
  select(columns: string): Query;
  where(column: string, is: "=", value: unknown): Query;
  forUpdate(): Query;
  executeTakeFirst(): Promise<Columns | undefined>;
}
interface Repository {
  table(name: string): Query;
  transaction<Result>(use: (repository: Repository) => Promise<Result>): Promise<Result>;
  findUserById(id: string): Promise<Columns | null>;
  findUserByEmail(email: string): Promise<Columns | null>;
  findUserByToken(column: string, value: string): Promise<Columns | null>;
  claimUserToken(userId: string, column: string, value: string): Promise<boolean>;
  createUser(user: Columns): Promise<Columns>;
  updateUser(id: string, change: Columns): Promise<Columns>;
  createRefreshToken(token: RefreshToken): Promise<RefreshToken>;
  findRefreshToken(token: string): Promise<RefreshToken | null>;
  findRefreshTokensBySession(session: string): Promise<RefreshToken[]>;
}
interface Mail {
  userId?: string;
  currentEmail?: string;
  tokenHash?: string;
  tokenHashNew?: string;
}
type Send = (email: string, tokenHash: string, code: string, mail?: Mail) => Promise<void>;
interface Service {
  repo: Repository;
  config: { email?: object };
  mailer: Record<keyof typeof mailsWithLinks, Send> & {
    sendReauthentication(email: string, code: string, mail?: Mail): Promise<void>;
  };
  signUp(email?: string, password?: string, data?: object): Promise<unknown>;
  updateUser(id: string, change: object): Promise<unknown>;
  signInWithOtp(email: string, options: { shouldCreateUser: boolean }): Promise<unknown>;
  mapUserToResponse(user: Columns, identities: Columns[], use: string): unknown;
  signInWithPassword(...given: unknown[]): Promise<unknown>;
  verifyOtp(given: { token_hash?: string }): Promise<unknown>;
  refreshSession(token?: string): Promise<unknown>;
  createSessionForUser(...given: unknown[]): Promise<{ access_token: string }>;
  createRefreshResponse(...given: unknown[]): Promise<{ access_token: string }>;
}
interface Context {
  var: { authService?: unknown };
  res: Response;
}

const codeColumns = new Set([
  "confirmation_token",
  "recovery_token",
  "email_change_token_current",
  "email_change_token_new",
  "reauthentication_token",
]);
/** Methods of lite's mailer, with the names of their mails in auth's hook. */
const mailsWithLinks = {
  sendConfirmation: "signup",
  sendRecovery: "recovery",
  sendMagicLink: "magiclink",
  sendEmailChange: "email_change",
} as const;

interface Changes {
  secrets: TokenSecrets;
  jwtSecret: string;
  issuer: string;
  /** Whether an account of this request needs a confirmed address. */
  confirmsAddresses: () => boolean;
  /** Sends mails in addition to lite's driver. */
  mail: ((mail: HookMail) => void) | undefined;
}

/** Middleware for lite: encrypts stored tokens, signs access tokens like hosted auth, and does not reveal accounts. */
export function changeLite({ secrets, jwtSecret, issuer, confirmsAddresses, mail }: Changes) {
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    const service = context.var.authService as Service | undefined;
    if (service === undefined) return next();
    let errorResponse: Response | undefined;
    const respond = (response: Response | undefined) => {
      errorResponse = response;
    };
    const confirms = confirmsAddresses();
    service.repo = encryptingRepository(service.repo, secrets, confirms, (error) =>
      respond(errorResponseOf(error)),
    );
    if (!confirms)
      service.config = { ...service.config, email: { ...service.config.email, enable_confirmations: false } };
    linkByToken(service, secrets, mail);
    signWithIssuer(service, jwtSecret, issuer);
    if (confirms) hideSignUps(service);
    hideAccounts(service, respond);
    refreshInTurn(service, secrets);
    await next();
    if (errorResponse && context.res.status === 500) context.res = errorResponse;
  };
}

function encryptingRepository(
  repository: Repository,
  secrets: TokenSecrets,
  confirms: boolean,
  failed: (error: unknown) => void,
): Repository {
  const { encryptRefreshToken, decryptRefreshToken, storedCode } = secrets;
  const opened = (row: RefreshToken): RefreshToken => ({
    ...row,
    token: decryptRefreshToken(row.token),
    parent: row.parent && decryptRefreshToken(row.parent),
  });
  const withStoredCodes = (columns: Columns): Columns =>
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
    transaction: (use) =>
      repository.transaction((inner) => use(encryptingRepository(inner, secrets, confirms, failed))),
    findUserByToken: (column, value) => repository.findUserByToken(column, storedCode(value)),
    claimUserToken: (userId, column, value) => repository.claimUserToken(userId, column, storedCode(value)),
    // lite creates users with a confirmed address when a code is requested.
    createUser: (user) =>
      tracked(repository.createUser(withStoredCodes(confirms ? { ...user, confirmed_at: null } : user))),
    updateUser: (id, change) => tracked(repository.updateUser(id, withStoredCodes(change))),
    async createRefreshToken(row) {
      await repository.createRefreshToken({
        ...row,
        token: encryptRefreshToken(row.token),
        parent: row.parent && encryptRefreshToken(row.parent),
      });
      return row;
    },
    async findRefreshToken(token) {
      const row = await repository.findRefreshToken(encryptRefreshToken(token));
      return row && opened(row);
    },
    findRefreshTokensBySession: async (session) =>
      (await repository.findRefreshTokensBySession(session)).map(opened),
  };
  return Object.assign(Object.create(repository) as Repository, changes);
}

/** The response for database errors a client can fix; other errors stay a 500. */
function errorResponseOf(error: unknown): Response | undefined {
  const constraint = error instanceof Error && "constraint_name" in error ? error.constraint_name : undefined;
  if (constraint === "user_metadata_is_small")
    return goTrueError(422, "validation_failed", "data must be at most 8 KB in total");
  if (constraint === "users_email_partial_key")
    return goTrueError(422, "user_already_exists", "User already registered");
}

/** A mail link carries an unguessable token; the hash of a code in its place is rejected. */
function linkByToken(service: Service, secrets: TokenSecrets, mail: Changes["mail"]): void {
  const { mailer, verifyOtp } = service;
  const sendByHook = async (action: string, email: string, code: string, link: string, of: Mail = {}) => {
    if (!mail) return;
    const user = of.userId ? await service.repo.findUserById(of.userId) : undefined;
    const metadata = user?.raw_user_meta_data ?? {};
    const { locale } = (typeof metadata === "string" ? JSON.parse(metadata) : metadata) as Columns;
    const isChange = action === "email_change";
    mail({
      user: {
        email: isChange ? (of.currentEmail ?? "") : email,
        ...(isChange && { new_email: email }),
        user_metadata: { locale },
      },
      // No code: it would be looked up by the new address, which the account does not have yet.
      email_data: { email_action_type: action, token: isChange ? "" : code, token_hash: link },
    });
  };
  for (const [name, action] of Object.entries(mailsWithLinks) as [keyof typeof mailsWithLinks, string][]) {
    const send = mailer[name].bind(mailer);
    mailer[name] = async (email, tokenHash, code, of) => {
      const link = secrets.linkToken(tokenHash);
      await sendByHook(action, email, code, link, of);
      await send(email, link, code, of);
    };
  }
  const send = mailer.sendReauthentication.bind(mailer);
  mailer.sendReauthentication = async (email, code, of) => {
    await sendByHook("reauthentication", email, code, "", of);
    await send(email, code, of);
  };
  service.verifyOtp = (given) =>
    verifyOtp.call(service, {
      ...given,
      ...(given.token_hash && !isLinkToken(given.token_hash) && { token_hash: "none" }),
    });
}

/** lite sets no issuer; hosted auth does, and verifiers require it. */
function signWithIssuer(service: Service, jwtSecret: string, issuer: string): void {
  const key = new TextEncoder().encode(jwtSecret);
  for (const name of ["createSessionForUser", "createRefreshResponse"] as const) {
    const make = service[name];
    service[name] = async (...given) => {
      const session = await make.apply(service, given);
      const claims = decodeJwt(session.access_token);
      session.access_token = await new SignJWT({ ...claims, iss: issuer })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .sign(key);
      return session;
    };
  }
}

/** Sign-up with the address of an account gets the same response; the account's owner gets a mail to sign in. */
function hideSignUps(service: Service): void {
  const signUp = service.signUp.bind(service);
  service.signUp = async (email = "", password, data) => {
    const known = await service.repo.findUserByEmail(email.toLowerCase());
    try {
      return await signUp(email, password, data);
    } catch (error) {
      if (!known || (error as { status?: number }).status !== 429) throw error;
      if (!known.email_confirmed_at) await takeOver(service, String(known.id), { password, data });
      await service.signInWithOtp(email, { shouldCreateUser: false });
      const [id, now, address] = [randomUUID(), new Date().toISOString(), email.toLowerCase()];
      const userData = { ...data, email: address, email_verified: false, phone_verified: false, sub: id };
      const shared = { id, created_at: now, updated_at: now };
      const user = {
        ...shared,
        aud: "authenticated",
        role: "authenticated",
        email: address,
        confirmation_sent_at: now,
        raw_app_meta_data: { provider: "email", providers: ["email"] },
        raw_user_meta_data: userData,
      };
      const identity = { ...shared, id: randomUUID(), provider: "email", provider_id: id, user_id: id };
      return { user: service.mapUserToResponse(user, [{ ...identity, identity_data: userData }], "signup") };
    }
  };
}

/** A new sign-up replaces an unconfirmed one, which may be by somebody else. */
async function takeOver(service: Service, id: string, change: { password: unknown; data: unknown }) {
  await service.repo.updateUser(id, { confirmation_token: null });
  await service.updateUser(id, change).catch((error: { code?: string }) => {
    if (error.code !== "same_password") throw error;
  });
}

/**
 * Sign-in takes the same time and returns the same error with and without an account. Only the correct password reveals
 * that the address is not confirmed yet.
 */
function hideAccounts(service: Service, respond: (response: Response) => void): void {
  const { signInWithPassword } = service;
  service.signInWithPassword = async (...given) => {
    const { repo, createSessionForUser } = service;
    let isUnconfirmed = false;
    service.repo = Object.assign(Object.create(repo) as Repository, {
      async findUserByEmail(email: string) {
        const user = await repo.findUserByEmail(email);
        if (!user?.encrypted_password) return noUser;
        isUnconfirmed = !user.email_confirmed_at;
        return isUnconfirmed ? { ...user, email_confirmed_at: noUser.email_confirmed_at } : user;
      },
    });
    service.createSessionForUser = (...session) => {
      if (!isUnconfirmed) return createSessionForUser.apply(service, session);
      respond(goTrueError(400, "email_not_confirmed", "Email not confirmed"));
      throw new Error("Email not confirmed");
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
        await inner
          .table("sessions")
          .select("id")
          .where("id", "=", row.session_id)
          .forUpdate()
          .executeTakeFirst();
      service.repo = inner;
      // A rejection commits, because it has revoked the descendants of a reused token.
      return refreshSession.call(service, token).then(
        (session) => ({ session }),
        (error: unknown) => ({ error }),
      );
    });
    service.repo = repo;
    if ("error" in done) throw done.error;
    return done.session;
  };
}

// A bcrypt hash with lite's cost that no password matches.
const digest = randomBytes(53).toString("hex").slice(0, 52);
const noUser: Columns = {
  id: "00000000-0000-4000-8000-000000000000",
  encrypted_password: `$2b$10$e${digest}`,
  email_confirmed_at: new Date(0).toISOString(),
};
