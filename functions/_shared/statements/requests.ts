import type { Admission, Verdict } from "../database/admission.ts";
import type { Statement } from "../database/pipeline.ts";
import type { Sql } from "../database/query.ts";
import { environment } from "../runtime/environment.ts";
import { call, read } from "./shapes.ts";

/** The error of private.admit_request, if any. */
export type AdmissionError = { code: string | null; message: string; field: string | null; retry_after: number | null };

/** Charges a request in a transaction of its own. */
export function chargeRequest(admission: Admission): Statement<Verdict & AdmissionError> {
  return (sql) => sql`select code, message, field, retry_after, max_requests, remaining, reset_at, origin_allowed
    from private.admit_request(${caller(sql, admission)}, true)`;
}

/** Tells the transaction the address of the pages, for private.avatar. */
export const siteAddress = (sql: Sql) => sql`set_config('feedback.site_url', ${environment.siteUrl}, true)`;

/** First statement of a request's transaction: the following statements run as the caller. */
export function assumeCaller(admission: Admission, charge: boolean): Statement<Verdict> {
  const { requestId, access, scopes } = admission;
  return (sql) => sql`select max_requests, remaining, reset_at, origin_allowed
    from ${siteAddress(sql)}, private.assume_caller(${requestId}, ${caller(sql, admission)}, ${charge}, ${access}, ${scopes})`;
}

function caller(sql: Sql, admission: Admission) {
  const { userId, sessionId, aal, digest, invalidCredential, address, operations, organization } = admission;
  const { onBehalf, origin, needsOrigin, resource, resourceId } = admission;
  return sql`${userId}, ${sessionId}, ${aal}, ${digest}, ${invalidCredential}, ${address}, ${operations}, ${organization}, ${onBehalf},
    ${origin}, ${needsOrigin}, ${resource}, ${resourceId}`;
}

/** The stored response of an Idempotency-Key; null the first time. */
export const findIdempotentResponse = (key: string, request: Uint8Array) =>
  read<string | null>("find_idempotent_response", key, request);

export const saveIdempotentResponse = (key: string, answer: string) => call("save_idempotent_response", key, answer);

export const newestMigration = () => read<string>("latest_migration");

export const originIsAllowed = (origin: string) => read<boolean>("is_allowed_origin", origin);
