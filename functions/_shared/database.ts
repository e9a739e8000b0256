import { Buffer } from "node:buffer";
import postgres from "postgres";
import type { ErrorCode } from "../../shared/errors.ts";
import { ApiError, isConnectionFailure } from "./api-error.ts";
import type { Pipeline, Rows } from "./database-pipeline.ts";
import { type Borrower, withConnection } from "./database-pool.ts";
import { type Query, type Sql, sql } from "./database-query.ts";
import {
  chargeRequest,
  enter,
  newestMigration,
  originIsAllowed,
  remember,
  replay,
} from "./statements/requests.ts";

export type { Sql };

/** One statement of a request, which `sql` builds. */
export type Statement<Row = object> = (sql: Sql) => PromiseLike<Rows<Row>>;
export type Results<Statements extends readonly Statement[]> = {
  -readonly [Index in keyof Statements]: Statements[Index] extends Statement<infer Row> ? Rows<Row> : never;
};

/** What private.admit and private.enter know of a request. */
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
  /** It may run for seconds: its charge commits first, so that the caller's other requests do not wait for it. */
  chargeFirst?: boolean;
};

/** public: anyone; person: a signed-in user; caller: a user, or a key with the endpoint's scope. */
export type Access = "public" | "person" | "caller";

/** The bucket of the request with the fewest calls left; reset_at in Unix seconds. */
export type RateState = { max_requests: number; remaining: number; reset_at: number };

/** What private.admit says of a request, whether it goes on or not. */
export type Verdict = RateState & { origin_allowed: boolean };

/**
 * Admits a request and runs its statements as its caller, in one transaction and one network round trip: one batch of a
 * pipeline. A failure rolls all of it back, then the charge is made again by itself.
 * `hear` is told the verdict, also where the request fails.
 */
export function run<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  hear: (verdict: Verdict) => void,
): Promise<Results<Statements>> {
  return charged(admission, hear, (charge) =>
    onceMore(() =>
      withConnection(borrowerOf(admission), async (pipeline) => {
        const [entered, ...results] = await send(pipeline, [enter(admission, charge), ...statements]);
        return { verdict: entered?.[0] as Verdict, result: results as Results<Statements> };
      }),
    ),
  );
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
  work: Steps<First, Result>,
): Promise<Result> {
  return charged(admission, hear, (charge) => takeSteps(admission, first, work, charge));
}

type Steps<First extends readonly Statement[], Result> = (
  results: Results<First>,
  ask: Ask,
) => Promise<{ result: Result; last: readonly Statement[] }>;

function takeSteps<const First extends readonly Statement[], Result>(
  admission: Admission,
  first: First,
  work: Steps<First, Result>,
  charge: boolean,
): Promise<Outcome<Result>> {
  return withConnection(borrowerOf(admission), async (pipeline) => {
    try {
      const [, entered, ...results] = await send(pipeline, [begin, enter(admission, charge), ...first]);
      const ask = ((statements) => send(pipeline, statements)) as Ask;
      const { result, last } = await work(results as Results<First>, ask);
      assertCommitted((await send(pipeline, [...last, commit])).at(-1));
      return { verdict: entered?.[0] as Verdict, result };
    } catch (error) {
      if (!isConnectionFailure(error)) await send(pipeline, [rollback]).catch(() => {});
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
  const first = [replay(key, request)] as const;
  const work: Steps<typeof first, string> = async ([[earlier]], ask) => {
    if (earlier?.answer) return { result: earlier.answer, last: [] };
    const result = answer(await ask(statements));
    return { result, last: [remember(key, result)] };
  };
  return charged(admission, hear, (charge) => onceMore(() => takeSteps(admission, first, work, charge)));
}

type Outcome<Result> = { verdict: Verdict; result: Result };

/** Has a request charged once, whatever becomes of it: in its transaction, or by itself before or after. */
async function charged<Result>(
  admission: Admission,
  hear: (verdict: Verdict) => void,
  work: (charge: boolean) => Promise<Outcome<Result>>,
): Promise<Result> {
  const before = admission.chargeFirst || admission.refused || wasRefusedLately(admission);
  if (before) await charge(admission, hear);
  try {
    const { verdict, result } = await work(!before);
    if (!before) hear(verdict);
    return result;
  } catch (error) {
    // Where the database cannot be reached, there is nothing to charge and no way to.
    const isUnavailable = error instanceof ApiError && error.code === "SERVICE_UNAVAILABLE";
    if (!before && !isUnavailable) await chargeFailure(admission, hear);
    throw error;
  }
}

/** Raises what refuses the request. */
async function charge(admission: Admission, hear: (verdict: Verdict) => void): Promise<void> {
  const [admitted] = await onceMore(() => alone(chargeRequest(admission), borrowerOf(admission)));
  if (!admitted) return;
  hear(admitted);
  const { code, message, field, retry_after } = admitted;
  if (code === "RATE_LIMIT_EXCEEDED") refusedUntil(admission, Number(retry_after) * 1000);
  if (code)
    throw new ApiError(
      code as ErrorCode,
      message,
      field ? [{ field, message }] : [],
      retry_after === null ? {} : { retry_after },
    );
}

/** The client gets the failure itself, unless the charge finds another reason to refuse the request. */
async function chargeFailure(admission: Admission, hear: (verdict: Verdict) => void): Promise<void> {
  await charge(admission, hear).catch((error) => {
    if (error instanceof ApiError && error.code !== "SERVICE_UNAVAILABLE") throw error;
  });
}

// Who calls on after a refusal is asked by one statement whether the window is over, before anything else is sent.
const refusals = new Map<string, number>();

function wasRefusedLately(admission: Admission): boolean {
  return (refusals.get(bucketOf(admission)) ?? 0) > Date.now();
}

function refusedUntil(admission: Admission, ms: number) {
  if (refusals.size >= 10_000) refusals.clear();
  refusals.set(bucketOf(admission), Date.now() + ms);
}

const bucketOf = (admission: Admission) =>
  [borrowerOf(admission).caller, admission.onBehalf, ...admission.operations].join(" ");

const lockTimeout = "55P03";
const deadlock = "40P01";

/** Waits for a row that somebody else holds without holding a connection meanwhile, then tries once more. */
async function onceMore<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || ![lockTimeout, deadlock].includes(error.code))
      throw error;
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 200));
    return attempt();
  }
}

function borrowerOf({ userId, digest, address }: Admission): Borrower {
  if (userId) return { role: "authenticated", caller: userId };
  if (digest) return { role: "service_key", caller: Buffer.from(digest).toString("hex") };
  return { role: "anon", caller: address ?? undefined };
}

const begin: Statement = (sql) => sql`begin`;
const commit: Statement = (sql) => sql`commit`;
const rollback: Statement = (sql) => sql`rollback`;

/** Sends all at once, in order, and answers all, or throws the first error. */
function send(pipeline: Pipeline, statements: readonly Statement[]): Promise<Rows[]> {
  return pipeline.run(statements.map((make) => make(sql) as unknown as Query));
}

function assertCommitted(result: Rows | undefined) {
  if (result?.command !== "COMMIT") throw new ApiError("INTERNAL_ERROR", "The transaction did not commit.");
}

/** The newest migration the database has; undefined where it does not answer. */
export function latestMigration(): Promise<string | undefined> {
  return alone(newestMigration()).then(
    ([row]) => row?.version,
    () => undefined,
  );
}

/** Whether any organization lets pages of this origin call. */
export async function isAllowedOrigin(origin: string): Promise<boolean> {
  const [row] = await alone(originIsAllowed(origin));
  return row?.allowed === true;
}

/** One statement as the login role, in a transaction of its own. */
export function alone<Row extends object>(
  statement: Statement<Row>,
  borrower: Borrower = { role: "login", caller: undefined },
): Promise<Rows<Row>> {
  return withConnection(borrower, async (pipeline) => (await send(pipeline, [statement]))[0] as Rows<Row>);
}
