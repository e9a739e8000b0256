import { Buffer } from "node:buffer";
import postgres from "postgres";
import type { ErrorCode } from "../../../shared/errors.ts";
import { ApiError, isConnectionFailure } from "../http/api-error.ts";
import {
  assumeCaller,
  chargeRequest,
  findIdempotentResponse,
  newestMigration,
  originIsAllowed,
  saveIdempotentResponse,
} from "../statements/requests.ts";
import type { Access, Admission, RateState, Verdict } from "./admission.ts";
import type { Pipeline, Results, Rows, Statement } from "./pipeline.ts";
import { type ConnectionOwner, withConnection } from "./pool.ts";
import { type Query, type Sql, sql } from "./query.ts";

export type { Access, Admission, RateState, Results, Sql, Statement, Verdict };

/**
 * Admits a request and runs its statements as the caller, in one transaction and one network round trip. An error rolls
 * back the transaction, and the request is then charged separately. Calls `onVerdict` also if the request fails.
 */
export function run<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  onVerdict: (verdict: Verdict) => void,
): Promise<Results<Statements>> {
  return withCharge(admission, onVerdict, (charge) =>
    withLockRetry(() =>
      withConnection(connectionOwnerOf(admission), async (pipeline) => {
        const [assumed, ...results] = await send(pipeline, [assumeCaller(admission, charge), ...statements]);
        return { verdict: assumed?.[0] as Verdict, result: results as Results<Statements> };
      }),
    ),
  );
}

/** Runs further statements in the same transaction: each call is one round trip. */
export type ExecuteInTransaction = <const Statements extends readonly Statement[]>(
  statements: Statements,
) => Promise<Results<Statements>>;

/** Like `run`, for a request that needs results before its next statements. `last` is sent together with the commit. */
export function runInSteps<const First extends readonly Statement[], Result>(
  admission: Admission,
  first: First,
  onVerdict: (verdict: Verdict) => void,
  work: Steps<First, Result>,
): Promise<Result> {
  return withCharge(admission, onVerdict, (charge) => runSteps(admission, first, work, charge));
}

type Steps<First extends readonly Statement[], Result> = (
  results: Results<First>,
  execute: ExecuteInTransaction,
) => Promise<{ result: Result; last: readonly Statement[] }>;

function runSteps<const First extends readonly Statement[], Result>(
  admission: Admission,
  first: First,
  work: Steps<First, Result>,
  charge: boolean,
): Promise<Outcome<Result>> {
  return withConnection(connectionOwnerOf(admission), async (pipeline) => {
    try {
      const [, entered, ...results] = await send(pipeline, [begin, assumeCaller(admission, charge), ...first]);
      const execute = ((statements) => send(pipeline, statements)) as ExecuteInTransaction;
      const { result, last } = await work(results as Results<First>, execute);
      assertCommitted((await send(pipeline, [...last, commit])).at(-1));
      return { verdict: entered?.[0] as Verdict, result };
    } catch (error) {
      if (!isConnectionFailure(error)) await send(pipeline, [rollback]).catch(() => {});
      throw error;
    }
  });
}

/**
 * Like `run`, for an idempotent request: the first response is stored in its transaction and returned again. Takes
 * three round trips, or two to repeat a response.
 */
export function runOnce<const Statements extends readonly Statement[]>(
  admission: Admission,
  statements: Statements,
  onVerdict: (verdict: Verdict) => void,
  {
    key,
    request,
    answer,
  }: {
    key: string;
    request: Uint8Array;
    /** The response, and its stored form for repeats. */
    answer: (results: Results<Statements>) => { answer: string; stored: string };
  },
): Promise<string> {
  const first = [findIdempotentResponse(key, request)] as const;
  const work: Steps<typeof first, string> = async ([[earlier]], execute) => {
    if (earlier?.data) return { result: earlier.data, last: [] };
    const { answer: result, stored } = answer(await execute(statements));
    return { result, last: [saveIdempotentResponse(key, stored)] };
  };
  return withCharge(admission, onVerdict, (charge) => withLockRetry(() => runSteps(admission, first, work, charge)));
}

type Outcome<Result> = { verdict: Verdict; result: Result };

/** Charges a request exactly once, whatever its outcome: in its transaction, or separately before or after. */
async function withCharge<Result>(
  admission: Admission,
  onVerdict: (verdict: Verdict) => void,
  work: (charge: boolean) => Promise<Outcome<Result>>,
): Promise<Result> {
  const isCharged = admission.isCharged === true;
  const before = isCharged || admission.chargeFirst || admission.invalidCredential || isBlocked(admission);
  if (before && !isCharged) await charge(admission, onVerdict);
  try {
    const { verdict, result } = await work(!before);
    if (!before) onVerdict(verdict);
    return result;
  } catch (error) {
    // Without a database connection there is nothing to charge.
    const isUnavailable = error instanceof ApiError && error.code === "SERVICE_UNAVAILABLE";
    if (!before && !isUnavailable && !admission.isTriedAgain?.(error)) await chargeFailure(admission, onVerdict);
    throw error;
  }
}

/** Throws the error that rejects the request. */
async function charge(admission: Admission, onVerdict: (verdict: Verdict) => void): Promise<void> {
  const [admitted] = await withLockRetry(() => runStatement(chargeRequest(admission), connectionOwnerOf(admission)));
  if (!admitted) return;
  onVerdict(admitted);
  const { code, message, field, retry_after } = admitted;
  if (code === "RATE_LIMIT_EXCEEDED") blockFor(admission, Number(retry_after) * 1000);
  if (code)
    throw new ApiError(
      code as ErrorCode,
      message,
      field ? [{ field, message }] : [],
      retry_after === null ? {} : { retry_after },
    );
}

/** Throws only if the charge itself rejects the request; otherwise the client gets the original error. */
async function chargeFailure(admission: Admission, onVerdict: (verdict: Verdict) => void): Promise<void> {
  await charge(admission, onVerdict).catch((error) => {
    if (error instanceof ApiError && error.code !== "SERVICE_UNAVAILABLE") throw error;
  });
}

// A caller over its limit is charged separately first, until its window ends, so that no other statement runs.
const blockedBuckets = new Map<string, number>();

function isBlocked(admission: Admission): boolean {
  return (blockedBuckets.get(bucketOf(admission)) ?? 0) > performance.now();
}

function blockFor(admission: Admission, ms: number) {
  if (blockedBuckets.size >= 10_000) blockedBuckets.clear();
  blockedBuckets.set(bucketOf(admission), performance.now() + ms);
}

const bucketOf = (admission: Admission) =>
  [connectionOwnerOf(admission).caller, admission.onBehalf, ...admission.operations].join(" ");

const lockTimeout = "55P03";
const deadlock = "40P01";

/** On a lock timeout or deadlock, releases the connection, waits and retries once. */
export async function withLockRetry<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || ![lockTimeout, deadlock].includes(error.code)) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 200));
    return attempt();
  }
}

function connectionOwnerOf({ userId, digest, isSession, address }: Admission): ConnectionOwner {
  if (userId) return { role: "authenticated", caller: userId };
  if (digest) return { role: isSession ? "authenticated" : "service_key", caller: Buffer.from(digest).toString("hex") };
  return { role: "anon", caller: address ?? undefined };
}

const begin: Statement = (sql) => sql`begin`;
const commit: Statement = (sql) => sql`commit`;
const rollback: Statement = (sql) => sql`rollback`;

/** Sends all statements at once and returns all results, or throws the first error. */
function send(pipeline: Pipeline, statements: readonly Statement[]): Promise<Rows[]> {
  return pipeline.run(statements.map((make) => make(sql) as unknown as Query));
}

function assertCommitted(result: Rows | undefined) {
  if (result?.command !== "COMMIT") throw new ApiError("INTERNAL_ERROR", "The transaction did not commit.");
}

/** The newest migration in the database; undefined if the database does not respond. */
export function latestMigration(): Promise<string | undefined> {
  return runStatement(newestMigration()).then(
    ([row]) => row?.data,
    () => undefined,
  );
}

/** Whether any organization allows this origin. */
export async function isAllowedOrigin(origin: string): Promise<boolean> {
  const [row] = await runStatement(originIsAllowed(origin));
  return row?.data === true;
}

/** Runs one statement as the login role in a transaction of its own. */
export function runStatement<Row extends object>(
  statement: Statement<Row>,
  borrower: ConnectionOwner = { role: "login", caller: undefined },
): Promise<Rows<Row>> {
  return withConnection(borrower, async (pipeline) => (await send(pipeline, [statement]))[0] as Rows<Row>);
}
