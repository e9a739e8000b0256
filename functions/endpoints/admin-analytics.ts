import { analyticsAnswer, analyticsQuery } from "../../shared/analytics.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import { analytics } from "../_shared/statements/analytics.ts";

export const adminAnalytics = [
  endpoint({
    method: "get",
    path: "/admin/analytics",
    runsLong: true,
    tag: "Administration",
    access: "caller",
    scopes: ["analytics:read"],
    summary: "Get analytics of the board, as an admin",
    query: analyticsQuery,
    responses: { 200: analyticsAnswer },
    call: ({ query }) => [analytics(query)],
    respond: ([[measured]]) => {
      if (!measured) throw notFound("organization");
      return dataResponse(200, measured.data);
    },
  }),
];
