import { analyticsAnswer, analyticsQuery } from "../../shared/analytics.ts";
import { endpointsOf, row } from "../_shared/http/endpoint.ts";
import { analytics } from "../_shared/statements/analytics.ts";

const { get } = endpointsOf({ tag: "Administration", access: "caller" });

export const adminAnalytics = [
  get("/admin/analytics", {
    runsLong: true,
    scopes: ["analytics:read"],
    summary: "Get analytics of the board, as an admin",
    query: analyticsQuery,
    responses: { 200: analyticsAnswer },
    call: ({ query }) => [analytics(query)],
    respond: row("organization"),
  }),
];
