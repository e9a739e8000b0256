import postgres from "postgres";
import { ApiError, isConnectionFailure, unavailable } from "./api-error.ts";
import { connectingTo, connectionLost } from "./database-socket.ts";
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
  /** agent: the key of an agent, under /api/mcp. */
  access: Access | "agent";
  /** A key needs one of these where access is caller. */
  scopes: string[];
  /** The tool an agent is about to call. */
  call?: { tool: string; scope: string; destructive: boolean; confirmed: boolean };
};

/** public: anyone; person: a signed-in user; caller: a user, or a key with the endpoint's scope. */
export type Access = "public" | "person" | "caller";

/** The bucket of the request with the fewest calls left; reset_at in Unix seconds. */
export type RateState = { max_requests: number; remaining: number; reset_at: number };

/** What private.take says of a request, whether it goes on or not. */
export type Verdict = RateState & { origin_allowed: boolean };

// A connection serves one request at a time, so that its statements can be sent without waiting for each other.
type Connection = { sql: Sql; role: Role; lost: boolean; onLost: () => void };
const idle: Connection[] = [];
const waiting: ((connection: Connection) => void)[] = [];
const mostWaiting = 1000;
const longestWaitMs = 2_000;
// Above the role's statement_timeout: it comes to this only where the database does not answer at all.
const longestWorkMs = 9_000;
// Not SUPABASE_DB_URL: that role bypasses row-level security.
if (!environment.databaseUrl)
  throw new Error("DATABASE_URL is missing: the URL of role feedback_api (docs/deploy.md)");
const databaseUrl = environment.databaseUrl;
for (let i = 0; i < environment.databaseConnections; i++) idle.push(connect());

/** One that is lost stays lost: postgres.js by itself would run what is left of a request on its next connection, as the login role. */
function connect(): Connection {
  // The types of postgres.js do not know `socket`.
  const { socket, ssl } = connectingTo("DATABASE_URL", databaseUrl);
  const transport = { socket: once(socket), ssl };
  const connection: Connection = {
    role: "login",
    lost: false,
    onLost: () => {},
    sql: postgres(databaseUrl, {
      ...transport,
      max: 1,
      max_lifetime: null,
      connect_timeout: 5,
      onclose: () => {
        connection.lost = true;
        connection.onLost();
      },
      connection: { application_name: "feedback-functions", TimeZone: "UTC" },
      types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
      onnotice: () => {},
    }),
  };
  return connection;
}

function once<Argument, Result>(make: (argument: Argument) => Result): (argument: Argument) => Result {
  let made = false;
  return (argument) => {
    if (made) throw connectionLost();
    made = true;
    return make(argument);
  };
}

type Role = "anon" | "authenticated" | "service_key" | "login";

function roleOf({ userId, digest }: Admission): Role {
  return userId ? "authenticated" : digest ? "service_key" : "anon";
}

/** An idle connection, by choice one that served the role last: Postgres plans a statement anew where the role changed. */
function checkOut(role: Role): Promise<Connection> | Connection {
  const same = idle.findLastIndex((connection) => connection.role === role);
  const [connection] = same === -1 ? idle.splice(0, 1) : idle.splice(same, 1);
  if (connection) return connection;
  if (waiting.length >= mostWaiting) throw unavailable();
  return new Promise((resolve, reject) => {
    const take = (freed: Connection) => {
      clearTimeout(timer);
      resolve(freed);
    };
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(take), 1);
      reject(unavailable());
    }, longestWaitMs);
    waiting.push(take);
  });
}

function checkIn(connection: Connection) {
  const next = waiting.shift();
  if (next) next(connection);
  else idle.push(connection);
}

/** Lends a connection to `work`. Whatever came of it on a connection that was lost meanwhile is not to be trusted: 503. */
async function withConnection<Result>(role: Role, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  let connection = await checkOut(role);
  if (connection.lost) connection = renew(connection);
  connection.role = role;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const failure = new Promise<never>((_, reject) => {
    connection.onLost = () => reject(connectionLost());
    timer = setTimeout(connection.onLost, longestWorkMs);
  });
  try {
    const result = await Promise.race([work(connection.sql), failure]);
    if (connection.lost) throw connectionLost();
    return result;
  } catch (error) {
    connection.lost ||= isConnectionFailure(error);
    throw connection.lost ? unavailable() : error;
  } finally {
    clearTimeout(timer);
    checkIn(connection.lost ? renew(connection) : connection);
  }
}

/** A new connection, made when it is first used, in the place of one that was lost. */
function renew(lost: Connection): Connection {
  lost.sql.end({ timeout: 0 }).catch(() => {});
  return connect();
}

/**
 * Admits a request and runs its statements as its caller, in one transaction and one network round trip:
 * everything is sent at once, and Postgres answers in order. A failure of any of them rolls all of them back.
 * `hear` is told the verdict, also where the request fails.
 */
export function run<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  hear: (verdict: Verdict) => void,
): Promise<Results<Statements>> {
  return withConnection(roleOf(admission), async (sql) => {
    const sent = [
      take(sql, admission),
      sql`begin`,
      enter(sql, admission),
      ...statements.map((make) => make(sql)),
      sql`commit`,
    ];
    const outcomes = await settle(sent);
    reportVerdict(outcomes[0], hear);
    const [, , , ...results] = valuesOf(outcomes);
    assertCommitted(results.pop());
    return results as Results<Statements>;
  });
}

/** What goes on within a request that was admitted: each call is one round trip. */
export type Ask = <const Statements extends readonly Statement[]>(
  statements: Statements,
) => Promise<Results<Statements>>;

/** As `run`, for a request that has to look at some answers before it asks for more. `last` goes with the commit. */
export function runInSteps<const First extends readonly Statement[], Result>(
  admission: Admission,
  first: First,
  hear: (verdict: Verdict) => void,
  work: (results: Results<First>, ask: Ask) => Promise<{ result: Result; last: readonly Statement[] }>,
): Promise<Result> {
  return withConnection(roleOf(admission), async (sql) => {
    const ask = async (statements: readonly Statement[]) =>
      valuesOf(await settle(statements.map((make) => make(sql))));
    const admitted = await settle([
      take(sql, admission),
      sql`begin`,
      enter(sql, admission),
      ...first.map((make) => make(sql)),
    ]);
    reportVerdict(admitted[0], hear);
    try {
      const [, , , ...results] = valuesOf(admitted);
      const { result, last } = await work(results as Results<First>, ask as Ask);
      assertCommitted((await ask([...last, (sql) => sql`commit`])).at(-1));
      return result;
    } catch (error) {
      if (!isConnectionFailure(error)) await sql`rollback`.catch(() => {});
      throw error;
    }
  });
}

/** As `run`, for a request that may come twice: the first answer is kept in its transaction and given again. Takes three round trips, two to repeat an answer. */
export function runOnce<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  hear: (verdict: Verdict) => void,
  {
    key,
    request,
    answer,
  }: { key: string; request: Uint8Array; answer: (results: Results<Statements>) => string },
): Promise<string> {
  const replay: Statement<{ answer: string | null }> = (sql) =>
    sql`select private.replay(${key}, ${request}) as answer`;
  return runInSteps(admission, [replay], hear, async ([[earlier]], ask) => {
    if (earlier?.answer) return { result: earlier.answer, last: [] };
    const result = answer(await ask(statements));
    return { result, last: [(sql) => sql`select private.remember(${key}, ${result})`] };
  });
}

function take(sql: Sql, admission: Admission) {
  const {
    requestId,
    userId,
    digest,
    refused,
    address,
    operations,
    organization,
    onBehalf,
    origin,
    needsOrigin,
    resource,
    resourceId,
  } = admission;
  return sql`select max_requests, remaining, reset_at, origin_allowed from private.take(
    ${requestId}, ${userId}, ${digest}, ${refused}, ${address}, ${operations}, ${organization}, ${onBehalf},
    ${origin}, ${needsOrigin}, ${resource}, ${resourceId})`;
}

function enter(sql: Sql, { requestId, access, scopes, call }: Admission) {
  if (call)
    return sql`select private.enter_call(${requestId}, ${call.tool}, ${call.scope}, ${call.destructive}, ${call.confirmed})`;
  return sql`select private.enter(${requestId}, ${access}, ${scopes})`;
}

/** Sends all at once, in order, and waits for every answer, so that the connection is free afterwards; rejects where it is lost, for then some answers may never come. */
function settle(queries: PromiseLike<Rows>[]): Promise<PromiseSettledResult<Rows>[]> {
  return new Promise((resolve, reject) => {
    const rejectIfLost = (error: unknown) => {
      if (isConnectionFailure(error)) reject(error);
    };
    for (const query of queries) query.then(undefined, rejectIfLost);
    Promise.allSettled(queries).then(resolve);
  });
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
  return alone<{ version: string }>((sql) => sql`select private.latest_migration() as version`).then(
    ([row]) => row?.version,
    () => undefined,
  );
}

/** Whether any organization lets pages of this origin call. */
export async function isAllowedOrigin(origin: string): Promise<boolean> {
  const [row] = await alone<{ allowed: boolean }>(
    (sql) => sql`select private.is_allowed_origin(${origin}) as allowed`,
  );
  return row?.allowed === true;
}

/** One statement as the login role, outside any request. */
export function alone<Row>(statement: Statement<Row>): Promise<Rows<Row>> {
  return withConnection("login", async (sql) => await statement(sql));
}
