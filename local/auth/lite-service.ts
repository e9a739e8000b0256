import { randomBytes } from "node:crypto";
import { decodeJwt, SignJWT } from "jose";
import { goTrueError } from "./errors.ts";
import { isLinkToken, type TokenSecrets } from "./token-secrets.ts";

// The parts of @supabase/lite 0.10 that are changed here. It makes a service for each request.
type Columns = Record<string, unknown>;
interface RefreshToken extends Columns {
  token: string;
  parent: string | null;
}
interface Repository {
  transaction<Result>(use: (repository: Repository) => Promise<Result>): Promise<Result>;
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
  tokenHash?: string;
  tokenHashNew?: string;
}
type Send = (email: string, tokenHash: string, code: string, mail?: Mail) => Promise<void>;
interface Service {
  repo: Repository;
  mailer: Record<(typeof mailsWithLinks)[number], Send>;
  signUp(...given: unknown[]): Promise<unknown>;
  signInWithPassword(...given: unknown[]): Promise<unknown>;
  verifyOtp(given: { token_hash?: string }): Promise<unknown>;
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
const mailsWithLinks = ["sendConfirmation", "sendRecovery", "sendMagicLink", "sendEmailChange"] as const;

/** Middleware for lite that seals what it stores, signs tokens as hosted auth does, and tells nobody who has an account. */
export function changeLite(secrets: TokenSecrets, jwtSecret: string, issuer: string) {
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    const service = context.var.authService as Service | undefined;
    if (service === undefined) return next();
    let refusal: Response | undefined;
    service.repo = sealedRepository(service.repo, secrets, (error) => {
      refusal = refusalOf(error);
    });
    linkByToken(service, secrets);
    signWithIssuer(service, jwtSecret, issuer);
    hideAccounts(service);
    await next();
    if (refusal && context.res.status === 500) context.res = refusal;
  };
}

function sealedRepository(
  repository: Repository,
  secrets: TokenSecrets,
  failed: (error: unknown) => void,
): Repository {
  const { sealRefreshToken, openRefreshToken, storedCode } = secrets;
  const opened = (row: RefreshToken): RefreshToken => ({
    ...row,
    token: openRefreshToken(row.token),
    parent: row.parent && openRefreshToken(row.parent),
  });
  const withStoredCodes = (columns: Columns): Columns =>
    Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [
        name,
        codeColumns.has(name) && typeof value === "string" ? storedCode(value) : value,
      ]),
    );
  const noticing = async <Result>(made: Promise<Result>): Promise<Result> => {
    try {
      return await made;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  const changes: Partial<Repository> = {
    transaction: (use) => repository.transaction((inner) => use(sealedRepository(inner, secrets, failed))),
    findUserByToken: (column, value) => repository.findUserByToken(column, storedCode(value)),
    claimUserToken: (userId, column, value) => repository.claimUserToken(userId, column, storedCode(value)),
    createUser: (user) => noticing(repository.createUser(withStoredCodes(user))),
    updateUser: (id, change) => noticing(repository.updateUser(id, withStoredCodes(change))),
    async createRefreshToken(row) {
      await repository.createRefreshToken({
        ...row,
        token: sealRefreshToken(row.token),
        parent: row.parent && sealRefreshToken(row.parent),
      });
      return row;
    },
    async findRefreshToken(token) {
      const row = await repository.findRefreshToken(sealRefreshToken(token));
      return row && opened(row);
    },
    findRefreshTokensBySession: async (session) =>
      (await repository.findRefreshTokensBySession(session)).map(opened),
  };
  return Object.assign(Object.create(repository) as Repository, changes);
}

/** What a person can mend of what the database refused; the rest stays a 500. */
function refusalOf(error: unknown): Response | undefined {
  const constraint = error instanceof Error && "constraint_name" in error ? error.constraint_name : undefined;
  if (constraint === "user_metadata_is_small")
    return goTrueError(422, "validation_failed", "data must be at most 8 KB in all: send less");
  if (constraint === "users_email_partial_key")
    return goTrueError(422, "user_already_exists", "User already registered");
}

/** A link carries a token that cannot be guessed; the hash of a code in its place is refused. */
function linkByToken(service: Service, secrets: TokenSecrets): void {
  const { mailer, verifyOtp } = service;
  for (const name of mailsWithLinks) {
    const send = mailer[name].bind(mailer);
    mailer[name] = (email, tokenHash, code, mail) => send(email, secrets.linkToken(tokenHash), code, mail);
  }
  service.verifyOtp = (given) =>
    verifyOtp.call(service, {
      ...given,
      ...(given.token_hash && !isLinkToken(given.token_hash) && { token_hash: "none" }),
    });
}

/** lite signs no issuer; hosted auth does, and everything that verifies a token asks for it. */
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

/** Signing in takes as long without an account as with one, and says the same. */
function hideAccounts(service: Service): void {
  const { signInWithPassword } = service;
  service.signInWithPassword = async (...given) => {
    const { repo } = service;
    service.repo = Object.assign(Object.create(repo) as Repository, {
      async findUserByEmail(email: string) {
        const user = await repo.findUserByEmail(email);
        return user?.encrypted_password && user.email_confirmed_at ? user : nobody;
      },
    });
    try {
      return await signInWithPassword.apply(service, given);
    } finally {
      service.repo = repo;
    }
  };
}

// A bcrypt hash of lite's cost that no password has.
const digest = randomBytes(53).toString("hex").slice(0, 52);
const nobody: Columns = {
  id: "00000000-0000-4000-8000-000000000000",
  encrypted_password: `$2b$10$e${digest}`,
  email_confirmed_at: new Date(0).toISOString(),
};
