import type { HonoContext } from "@supabase/lite";

/** The service of auth of @supabase/lite 0.10, with private parts that are called or replaced here. One for each request. */
type Lite = HonoContext["Variables"]["authService"];
type LiteRepository = Lite["repo"];
type Public<Class> = { [Name in keyof Class]: Class[Name] };

export type User = NonNullable<Awaited<ReturnType<LiteRepository["findUserById"]>>>;
export type Identity = Awaited<ReturnType<LiteRepository["findIdentitiesByUserId"]>>[number];
export type RefreshToken = Awaited<ReturnType<LiteRepository["createRefreshToken"]>>;
export type Session = Awaited<ReturnType<Lite["refreshSession"]>> & { session_id: string };

/** Kysely's. */
interface Query
  extends Record<"select" | "selectAll" | "orderBy" | "limit" | "offset", (...given: unknown[]) => Query> {
  where(column: string, is: "=", value: unknown): Query;
  forUpdate(): Query;
  execute(): Promise<Record<string, unknown>[]>;
  executeTakeFirst(): Promise<Record<string, unknown> | undefined>;
}

export interface Repository extends Omit<Public<LiteRepository>, "transaction" | "updateUser"> {
  table(name: string): Query;
  insertInto(table: string): { values(row: object): Query };
  deleteFrom(table: string): Query;
  transaction<Result>(use: (repository: Repository) => Promise<Result>): Promise<Result>;
  updateUser(id: string, change: Partial<User>): Promise<User>;
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

export interface Service extends Omit<Public<Lite>, "repo"> {
  repo: Repository;
  config: { email?: object };
  mailer: Record<"sendConfirmation" | "sendRecovery" | "sendMagicLink" | "sendEmailChange" | "sendInvite", Send> & {
    sendReauthentication(email: string, code: string, context?: MailContext): Promise<void>;
    render(kind: string, email: string, tokenHash: string, code: string, context?: object): Promise<unknown>;
    send(mail: unknown): Promise<void>;
  };
  mapUserToResponse(user: Partial<User>, identities: Partial<Identity>[], use: string): Session["user"];
  findUserByTokenAndType(hash: string, type: string): Promise<{ tokenColumn: string } | null>;
  completeVerifyOtp(user: User, column: string, type: string): Promise<unknown>;
  createSessionForUser(user: User, identities: Identity[], use?: string, options?: object): Promise<Session>;
  createRefreshResponse(user: User, ...more: unknown[]): Promise<Session>;
}

/** Runs in one transaction. */
export function together<Result>(service: Service, use: () => Promise<Result>): Promise<Result> {
  const { repo } = service;
  const made = repo.transaction((inner) => {
    service.repo = inner;
    return use();
  });
  return made.finally(() => {
    service.repo = repo;
  });
}
