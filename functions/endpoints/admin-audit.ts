import { auditAnswer, auditQuery } from "../../shared/audit.ts";
import { nextCursor } from "../_shared/http/cursor.ts";
import { dataResponse, endpointsOf } from "../_shared/http/endpoint.ts";
import { listAudit } from "../_shared/statements/audit.ts";

const { get } = endpointsOf({ tag: "Administration", access: "person" });

export const adminAudit = [
  get("/admin/audit", {
    summary: "List the audit trail of the organization, newest first, as an admin",
    query: auditQuery,
    responses: { 200: auditAnswer },
    call: ({ query }) => [listAudit(query)],
    respond: ([[page]]) =>
      dataResponse(200, page?.data ?? "[]", { next_cursor: page ? nextCursor(page, "created_at", "desc") : null }),
  }),
];
