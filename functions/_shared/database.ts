import postgres from "postgres";
import { ApiError, unavailable } from "./api-error.ts";
import { environment } from "./environment.ts";

export type Sql = postgres.Sql;
type Rows<Row = object> = readonly Row[] & { command: string };
/** One statement of a request: sent when it is awaited. */
export type Statement<Row = object> = (sql: Sql) => PromiseLike<Rows<Row>>;
export type Results<Statements extends readonly Statement[]> = {
  -readonly [Index in keyof Statements]: Statements[Index] extends Statement<infer Row> ? Rows<Row> : never;
};

/** What private.take and private.enter are told of a request. */
export type Admission = {
  requestId: string;
  userId: string | null;
  digest: Uint8Array | null;
  refused: boolean;
  /** Keyed hash of the client's address. */
  address: string | null;
  /** Rules charged besides the caller's level. */
  operations: string[];
  /** Id or slug. */
  organization: string | null;
  /** Keyed hash of the e-mail author a key acts for. */
  onBehalf: string | null;
  /** Of the page that calls, where it is not the site's own. */
  origin: string | null;
  /** A cookie is about to write. */
  needsOrigin: boolean;
  /** Table and id of the row the path names. */
  resource: string | null;
  resourceId: string | null;
  access: Access;
  /** A key needs one of these where access is caller. */
  scopes: string[];
};

/** public: anyone; person: a signed-in user; caller: a user, or a key with the endpoint's scope. */
export type Access = "public" | "person" | "caller";

/** The fullest bucket of the request; resetAt in Unix seconds. */
export type RateState = { max_requests: number; remaining: number; reset_at: number };

/** What private.take says of a request, whether it goes on or not. */
export type Verdict = RateState & { origin_allowed: boolean };

// A connection serves one request at a time, so that its statements can be sent without waiting for each other.
type Connection = { sql: Sql; role: Role };
const idle: Connection[] = [];
const waiting: ((connection: Connection) => void)[] = [];
const mostWaiting = 1000;
// Not SUPABASE_DB_URL: that role bypasses row-level security.
if (!environment.databaseUrl) throw new Error("DATABASE_URL is missing: the URL of role feedback_api (docs/deploy.md)");
for (let i = 0; i < environment.databaseConnections; i++) {
  const sql = postgres(environment.databaseUrl, {
    max: 1,
    connect_timeout: 5,
    connection: { application_name: "feedback-functions", TimeZone: "UTC" },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    onnotice: () => {},
  });
  idle.push({ sql, role: "login" });
}

type Role = "anon" | "authenticated" | "service_key" | "login";

function roleOf({ userId, digest }: Admission): Role {
  return userId ? "authenticated" : digest ? "service_key" : "anon";
}

/** An idle connection, by choice one that served the role last: Postgres plans a statement anew where the role changed. */
function checkOut(role: Role): Promise<Connection> | Connection {
  const same = idle.findLastIndex((connection) => connection.role === role);
  const [connection] = same === -1 ? idle.splice(0, 1) : idle.splice(same, 1);
  if (connection) {
    connection.role = role;
    return connection;
  }
  if (waiting.length >= mostWaiting) throw unavailable();
  return new Promise((resolve) => {
    waiting.push((freed) => {
      freed.role = role;
      resolve(freed);
    });
  });
}

function checkIn(connection: Connection) {
  const next = waiting.shift();
  if (next) next(connection);
  else idle.push(connection);
}

/**
 * Admits a request and runs its statements as its caller, in one transaction and one network round trip:
 * everything is sent at once, and Postgres answers in order. A failure of any of them rolls all of them back.
 * `hear` is told the verdict, also where the request fails.
 */
export async function run<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  hear: (verdict: Verdict) => void,
): Promise<Results<Statements>> {
  const connection = await checkOut(roleOf(admission));
  const { sql } = connection;
  try {
    const sent = [take(sql, admission), sql`begin`, enter(sql, admission), ...statements.map((make) => make(sql)), sql`commit`];
    const outcomes = await settle(sent);
    reportVerdict(outcomes[0], hear);
    const [, , , ...results] = valuesOf(outcomes);
    assertCommitted(results.pop());
    return results as Results<Statements>;
  } finally {
    checkIn(connection);
  }
}

/** As `run`, for a request that may come twice: the first answer is kept in its transaction and given again. Takes two round trips. */
export async function runOnce<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  hear: (verdict: Verdict) => void,
  idempotency: { key: string; request: Uint8Array; answer: (results: Results<Statements>) => string },
): Promise<string> {
  const connection = await checkOut(roleOf(admission));
  const { sql } = connection;
  try {
    const replay = sql`select private.replay(${idempotency.key}, ${idempotency.request}) as answer`;
    const admitted = await settle([take(sql, admission), sql`begin`, enter(sql, admission), replay]);
    reportVerdict(admitted[0], hear);
    try {
      const [, , , earlier] = valuesOf(admitted);
      const known = (earlier?.[0] as { answer: string | null } | undefined)?.answer;
      if (known) return known;
      const results = valuesOf(await settle(statements.map((make) => make(sql)))) as Results<Statements>;
      const answer = idempotency.answer(results);
      const [, committed] = valuesOf(await settle([sql`select private.remember(${idempotency.key}, ${answer})`, sql`commit`]));
      assertCommitted(committed);
      return answer;
    } finally {
      // After a commit this does nothing; after anything else it leaves the connection clean.
      await sql`rollback`.catch(() => {});
    }
  } finally {
    checkIn(connection);
  }
}

function take(sql: Sql, admission: Admission) {
  const { requestId, userId, digest, refused, address, operations, organization, onBehalf, origin, needsOrigin, resource, resourceId } = admission;
  return sql`select max_requests, remaining, reset_at, origin_allowed from private.take(
    ${requestId}, ${userId}, ${digest}, ${refused}, ${address}, ${operations}, ${organization}, ${onBehalf},
    ${origin}, ${needsOrigin}, ${resource}, ${resourceId})`;
}

function enter(sql: Sql, { requestId, access, scopes }: Admission) {
  return sql`select private.enter(${requestId}, ${access}, ${scopes})`;
}

/** Sends all at once, in order, and waits for every answer, so that the connection is free afterwards. */
function settle(queries: PromiseLike<Rows>[]): Promise<PromiseSettledResult<Rows>[]> {
  return Promise.allSettled(queries);
}

function reportVerdict(outcome: PromiseSettledResult<Rows> | undefined, hear: (verdict: Verdict) => void) {
  const verdict = outcome?.status === "fulfilled" ? (outcome.value[0] as Verdict | undefined) : undefined;
  if (verdict) hear(verdict);
}

const abortedTransaction = "25P02";

/** All answers, or the first error: what follows it only says that the transaction was aborted. */
function valuesOf(outcomes: PromiseSettledResult<Rows>[]): Rows[] {
  const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  const cause = failures.find((error) => error?.code !== abortedTransaction) ?? failures[0];
  if (cause) throw cause;
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}

function assertCommitted(result: Rows | undefined) {
  if (result?.command !== "COMMIT") throw new ApiError("INTERNAL_ERROR", "The transaction did not commit.");
}

/** The newest migration the database has; undefined where it does not answer. */
export function latestMigration(): Promise<string | undefined> {
  return alone((sql) => sql`select private.latest_migration() as version`).then(
    ([row]) => (row as { version: string } | undefined)?.version,
    () => undefined,
  );
}

/** Whether any organization lets pages of this origin call. */
export async function isAllowedOrigin(origin: string): Promise<boolean> {
  const [row] = await alone((sql) => sql`select private.is_allowed_origin(${origin}) as allowed`);
  return (row as { allowed: boolean } | undefined)?.allowed === true;
}

/** One statement as the login role, outside any request. */
async function alone(statement: Statement): Promise<Rows> {
  const connection = await checkOut("login");
  const { sql } = connection;
  try {
    return await statement(sql);
  } finally {
    checkIn(connection);
  }
}
