import type { AnalyticsQuery, analyticsAnswer } from "../../../shared/analytics.ts";
import type { Statement } from "../database/run.ts";
import { call, type Data, type DataOf } from "./shapes.ts";

export type Analytics = DataOf<typeof analyticsAnswer>;
type Range = { from?: string | null; to?: string | null };

export const analytics = ({ from, to, interval }: Range & Pick<AnalyticsQuery, "interval">) =>
  call<Analytics>("admin_analytics", from, to, interval);

/** Analytics of a range, by default the days until today, and of the preceding range of the same length. */
export function analyticsCompared(
  { from = null, to = null, days }: Range & { days: number },
  interval: AnalyticsQuery["interval"],
): Statement<Data<{ now: Analytics; before: Analytics }>> {
  return (sql) => sql`
    select json_build_object(
      'now', private.admin_analytics(r.first_day::text, r.last_day::text, ${interval}),
      'before', private.admin_analytics((r.first_day - (r.last_day - r.first_day) - 1)::text, (r.first_day - 1)::text, 'month'))::text as data
    from (
      select coalesce(${from}::date, l.last_day - ${days - 1}::integer) as first_day, l.last_day
      from (
        select coalesce(${to}::date, (now() at time zone o.time_zone)::date) as last_day from public.organizations o
        where o.id = private.current_organization_id()) l) r`;
}
