import { auditAnswer, auditQuery } from "../../../shared/audit.ts";
import { nextCursor } from "../../_shared/cursor.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { listAudit } from "../../_shared/statements/audit.ts";

export const adminAudit = [
  endpoint({
    method: "get",
    path: "/admin/audit",
    tag: "Administration",
    access: "person",
    summary: "Read who did what in the organization, newest first, as an admin",
    query: auditQuery,
    answers: { 200: auditAnswer },
    call: ({ query }) => [listAudit(query)],
    respond: ([[page]]) =>
      answer(200, page?.data ?? "[]", {
        next_cursor: page ? nextCursor(page, "created_at", "desc") : null,
      }),
  }),
];
