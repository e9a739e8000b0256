import type { AnalyticsQuery } from "../../../shared/analytics.ts";
import type { Statement } from "../database/run.ts";
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

/** Analytics of a range, by default the days until today, and of the preceding range of the same length. */
export function analyticsCompared(
  { from = null, to = null, days }: { from?: string | null; to?: string | null; days: number },
  interval: AnalyticsQuery["interval"],
): Statement<{ data: string; before: string }> {
  return (sql) => sql`
    select private.admin_analytics(r.first_day::text, r.last_day::text, ${interval})::text as data,
      private.admin_analytics((r.first_day - (r.last_day - r.first_day) - 1)::text, (r.first_day - 1)::text, 'month')::text as before
    from (
      select coalesce(${from}::date, l.last_day - ${days - 1}::integer) as first_day, l.last_day
      from (
        select coalesce(${to}::date, (now() at time zone o.time_zone)::date) as last_day from public.organizations o
        where o.id = private.current_organization_id()) l) r`;
}
