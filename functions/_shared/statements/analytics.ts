import type { AnalyticsQuery } from "../../../shared/analytics.ts";
import type { Statement } from "../database.ts";
import type { Data } from "./shapes.ts";

export function analytics({
  from = null,
  to = null,
  interval,
}: {
  from?: string | null;
  to?: string | null;
  interval: AnalyticsQuery["interval"];
}): Statement<Data> {
  return (sql) => sql`select private.admin_analytics(${from}, ${to}, ${interval})::text as data`;
}
