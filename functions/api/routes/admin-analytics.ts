import { analyticsAnswer, analyticsQuery } from "../../../shared/analytics.ts";
import { notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { analytics } from "../../_shared/statements/analytics.ts";

export const adminAnalytics = [
  endpoint({
    method: "get",
    path: "/admin/analytics",
    runsLong: true,
    tag: "Administration",
    access: "caller",
    scopes: ["analytics:read"],
    summary: "Measure what happened on the board, as an admin",
    query: analyticsQuery,
    answers: { 200: analyticsAnswer },
    call: ({ query }) => [analytics(query)],
    respond: ([[measured]]) => {
      if (!measured) throw notFound("organization");
      return answer(200, measured.data);
    },
  }),
];
