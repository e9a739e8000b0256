/** The parts of @supabase/lite 0.10 that are called or replaced here. lite creates a service for each request. */
export type Columns = Record<string, unknown>;

export interface User extends Columns {
  id: string;
  email: string | null;
  encrypted_password: string | null;
  email_confirmed_at: string | null;
  email_change: string | null;
  email_change_confirm_status: number;
  banned_until: string | null;
}

export interface RefreshToken extends Columns {
  token: string;
  parent: string | null;
}

/** Kysely's. */
interface Query {
  select(columns: unknown): Query;
  selectAll(): Query;
  where(column: string, is: "=", value: unknown): Query;
  orderBy(column: string, direction?: "asc" | "desc"): Query;
  limit(rows: number): Query;
  offset(rows: number): Query;
  forUpdate(): Query;
  execute(): Promise<Columns[]>;
  executeTakeFirst(): Promise<Columns | undefined>;
}

export interface Repository {
  table(name: string): Query;
  insertInto(table: string): { values(row: Columns): Query };
  update(table: string): { set(change: Columns): Query };
  deleteFrom(table: string): Query;
  transaction<Result>(use: (repository: Repository) => Promise<Result>): Promise<Result>;
  parseUserJson(user: User): User;
  findUserById(id: string): Promise<User | null>;
  findUserByEmail(email: string): Promise<User | null>;
  findUserByToken(column: string, value: string): Promise<User | null>;
  claimUserToken(userId: string, column: string, value: string): Promise<boolean>;
  createUser(user: Columns): Promise<User>;
  updateUser(id: string, change: Columns): Promise<User>;
  findIdentitiesByUserId(userId: string): Promise<Columns[]>;
  createIdentity(identity: Columns): Promise<unknown>;
  updateIdentity(id: unknown, change: Columns): Promise<unknown>;
  createRefreshToken(token: RefreshToken): Promise<RefreshToken>;
  findRefreshToken(token: string): Promise<RefreshToken | null>;
  findRefreshTokensBySession(session: string): Promise<RefreshToken[]>;
  deleteRefreshTokensForUser(userId: string, exceptSession?: string): Promise<void>;
  deleteUserSessions(userId: string, exceptSession?: string): Promise<void>;
}

export interface MailContext {
  userId?: string;
  currentEmail?: string;
  newEmail?: string;
  /** Of the new address, where both addresses of a change get a mail. */
  tokenNew?: string;
  tokenHashNew?: string;
}

type Send = (email: string, tokenHash: string, code: string, context?: MailContext) => Promise<void>;

export interface Session {
  access_token: string;
  session_id: string;
  user: Columns;
}

export interface Service {
  repo: Repository;
  config: { email?: object };
  mailer: Record<
    "sendConfirmation" | "sendRecovery" | "sendMagicLink" | "sendEmailChange" | "sendInvite",
    Send
  > & {
    sendReauthentication(email: string, code: string, context?: MailContext): Promise<void>;
    render(kind: string, email: string, tokenHash: string, code: string, context?: object): Promise<unknown>;
    send(mail: unknown): Promise<void>;
  };
  signUp(email?: string, password?: string, data?: object): Promise<unknown>;
  updateUser(id: string, change: { password?: unknown; email?: unknown; data?: unknown }): Promise<unknown>;
  signInWithOtp(email: string, options: { shouldCreateUser?: boolean }): Promise<unknown>;
  requestMagicLink(email: string): Promise<unknown>;
  resolveEmailRedirect(to?: string): string;
  resend(type: string, email?: string): Promise<unknown>;
  mapUserToResponse(user: Columns, identities: Columns[], use: string): Columns;
  signInWithPassword(...given: unknown[]): Promise<unknown>;
  verifyOtp(given: { token_hash?: string }): Promise<unknown>;
  findUserByTokenAndType(hash: string, type: string): Promise<{ tokenColumn: string } | null>;
  completeVerifyOtp(user: User, column: string, type: string): Promise<unknown>;
  refreshSession(token?: string): Promise<unknown>;
  createSessionForUser(user: User, identities: Columns[], use?: string, options?: object): Promise<Session>;
  createRefreshResponse(user: User, sessionId: string, ...more: unknown[]): Promise<Session>;
  createAuditLog(userId: string, by: string, action: string, type: string): Promise<void>;
}

/** Runs in one transaction. */
export function together<Result>(service: Service, use: () => Promise<Result>): Promise<Result> {
  const { repo } = service;
  return repo
    .transaction((inner) => {
      service.repo = inner;
      return use();
    })
    .finally(() => {
      service.repo = repo;
    });
}
