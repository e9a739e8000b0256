import type { Admission, Sql, Statement, Verdict } from "../database/run.ts";

/** The error of private.admit_request, if any. */
export type AdmissionError = {
  code: string | null;
  message: string;
  field: string | null;
  retry_after: number | null;
};

/** Charges a request in a transaction of its own. */
export function chargeRequest(admission: Admission): Statement<Verdict & AdmissionError> {
  return (
    sql,
  ) => sql`select code, message, field, retry_after, max_requests, remaining, reset_at, origin_allowed
    from private.admit_request(${caller(sql, admission)}, true)`;
}

/** First statement of a request's transaction: the following statements run as the caller. */
export function assumeCaller(admission: Admission, charge: boolean): Statement<Verdict> {
  const { requestId, access, scopes } = admission;
  return (sql) => sql`select max_requests, remaining, reset_at, origin_allowed
    from private.assume_caller(${requestId}, ${caller(sql, admission)}, ${charge}, ${access}, ${scopes})`;
}

function caller(sql: Sql, admission: Admission) {
  const { userId, sessionId, aal, digest, invalidCredential, address, operations, organization } = admission;
  const { onBehalf, origin, needsOrigin, resource, resourceId } = admission;
  return sql`${userId}, ${sessionId}, ${aal}, ${digest}, ${invalidCredential}, ${address}, ${operations}, ${organization}, ${onBehalf},
    ${origin}, ${needsOrigin}, ${resource}, ${resourceId}`;
}

/** The stored response of an Idempotency-Key; null the first time. */
export function findIdempotentResponse(
  key: string,
  request: Uint8Array,
): Statement<{ answer: string | null }> {
  return (sql) => sql`select private.find_idempotent_response(${key}, ${request}) as answer`;
}

export function saveIdempotentResponse(key: string, answer: string): Statement {
  return (sql) => sql`select private.save_idempotent_response(${key}, ${answer})`;
}

export function newestMigration(): Statement<{ version: string }> {
  return (sql) => sql`select private.latest_migration() as version`;
}

export function originIsAllowed(origin: string): Statement<{ allowed: boolean }> {
  return (sql) => sql`select private.is_allowed_origin(${origin}) as allowed`;
}
