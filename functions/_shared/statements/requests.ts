import type { Admission, Sql, Statement, Verdict } from "../database.ts";

/** What private.admit says of a request that it refuses. */
export type Refused = {
  code: string | null;
  message: string;
  field: string | null;
  retry_after: number | null;
};

/** Charges a request by itself, in a transaction of its own. */
export function chargeRequest(admission: Admission): Statement<Verdict & Refused> {
  return (
    sql,
  ) => sql`select code, message, field, retry_after, max_requests, remaining, reset_at, origin_allowed
    from private.admit(${caller(sql, admission)}, true)`;
}

/** The first statement of a request's transaction: what follows runs as the caller. */
export function enter(admission: Admission, charge: boolean): Statement<Verdict> {
  const { requestId, access, scopes } = admission;
  return (sql) => sql`select max_requests, remaining, reset_at, origin_allowed
    from private.enter(${requestId}, ${caller(sql, admission)}, ${charge}, ${access}, ${scopes})`;
}

function caller(sql: Sql, admission: Admission) {
  const { userId, digest, refused, address, operations, organization } = admission;
  const { onBehalf, origin, needsOrigin, resource, resourceId } = admission;
  return sql`${userId}, ${digest}, ${refused}, ${address}, ${operations}, ${organization}, ${onBehalf},
    ${origin}, ${needsOrigin}, ${resource}, ${resourceId}`;
}

/** The answer that an Idempotency-Key gave before; null the first time. */
export function replay(key: string, request: Uint8Array): Statement<{ answer: string | null }> {
  return (sql) => sql`select private.replay(${key}, ${request}) as answer`;
}

export function remember(key: string, answer: string): Statement {
  return (sql) => sql`select private.remember(${key}, ${answer})`;
}

export function newestMigration(): Statement<{ version: string }> {
  return (sql) => sql`select private.latest_migration() as version`;
}

export function originIsAllowed(origin: string): Statement<{ allowed: boolean }> {
  return (sql) => sql`select private.is_allowed_origin(${origin}) as allowed`;
}
