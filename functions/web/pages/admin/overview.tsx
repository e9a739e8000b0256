import { z } from "zod";
import { calendarDay } from "../../../../shared/fields.ts";
import { type Analytics, analyticsCompared } from "../../../_shared/statements/analytics.ts";
import { BarPlot, LinePlot } from "../../components/admin/plot.tsx";
import { Stat } from "../../components/admin/stat.tsx";
import { DataTable, number } from "../../components/admin/table.tsx";
import { Tabs } from "../../components/admin/tabs.tsx";
import { Button } from "../../components/button.tsx";
import { Field } from "../../components/field.tsx";
import { Status } from "../../components/status.tsx";
import { formatDay, formatDays, formatDuration, formatNumber, formatShortDay } from "../../format.ts";
import { adminPath, linkWith, submissionPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

const spans = [7, 30, 90, 365];
const plots = ["votes", "submissions", "comments", "active_people"] as const;

// Ignores invalid values, so that URLs of older pages still work.
const overviewQuery = z.object({
  days: z.coerce.number().int().min(1).max(3660).catch(30),
  from: calendarDay.optional().catch(undefined),
  to: calendarDay.optional().catch(undefined),
  plot: z.enum(plots).catch("votes"),
});

type OverviewQuery = z.output<typeof overviewQuery>;

export const overview = adminPage({
  area: "overview",
  query: overviewQuery,
  read: ({ query }) => [analyticsCompared(query, intervalOf(query))],
  view: ([{ now, before }], { query, words }) => ({
    title: words.title,
    actions: <Spans query={query} now={now} />,
    content: <Numbers now={now} before={before} plot={query.plot} />,
  }),
});

/** So that a plot has some dozens of points. */
function intervalOf({ from, to, days }: OverviewQuery): Analytics["interval"] {
  const end = to ? Date.parse(to) : Date.now();
  const length = from ? (end - Date.parse(from)) / 86_400_000 + 1 : days;
  return length <= 62 ? "day" : length <= 400 ? "week" : "month";
}

const Spans = ({ query, now }: { query: OverviewQuery; now: Analytics }) => {
  const words = useWords("overview");
  const visit = useVisit();
  const isNamed = query.from !== undefined || query.to !== undefined;
  return (
    <div class="spans">
      <Tabs
        label={words.time}
        current="true"
        tabs={spans.map((days) => ({
          ...linkWith(visit, { days: String(days), from: null, to: null }),
          label: days === 365 ? words.year : words.days(days),
          isHere: !isNamed && query.days === days,
        }))}
      />
      <details class="menu span-menu" id="span" data-island="menu">
        <summary class={isNamed ? "button small chosen" : "button small"}>
          {isNamed ? range(now, visit) : words.otherTime}
        </summary>
        <form method="get" class="menu-items stack">
          <input type="hidden" name="plot" value={query.plot} />
          <Field name="from" type="date" label={words.from} value={now.from} required />
          <Field name="to" type="date" label={words.to} value={now.to} required />
          <Button kind="main">{words.show}</Button>
        </form>
      </details>
    </div>
  );
};

const day = (date: string, { locale }: Visit) => formatDay(new Date(date), locale, "UTC");

const range = ({ from, to }: Analytics, visit: Visit) => formatDays(new Date(from), new Date(to), visit.locale);

type NumbersProps = { now: Analytics; before: Analytics; plot: OverviewQuery["plot"] };

const Numbers = ({ now, before, plot }: NumbersProps) => {
  const words = useWords("overview");
  const visit = useVisit();
  const count = (value: number) => formatNumber(value, visit.locale);
  const { first_official_reply: reply } = now;
  const bars = [
    {
      id: "status",
      heading: words.byStatus,
      axis: words.status,
      bars: now.by_status.map(({ status, submissions }) => ({
        label: visit.messages.statuses[status],
        value: submissions,
        kind: status,
        href: adminPath(visit, `/submissions?status=${status}`),
      })),
    },
    {
      id: "category",
      heading: words.byCategory,
      axis: words.category,
      bars: now.by_category.map(({ name, slug, submissions }) => ({
        label: name ?? words.noCategory,
        value: submissions,
        href: slug ? adminPath(visit, `/submissions?category=${slug}`) : undefined,
      })),
    },
    {
      id: "source",
      heading: words.bySource,
      axis: words.source,
      bars: now.by_source
        .slice(0, 10)
        .map(({ source, submissions }) => ({ label: source ?? words.noSource, value: submissions })),
    },
  ];
  return (
    <>
      <p class="quiet compared">{words.compared(range(now, visit), range(before, visit))}</p>
      <dl class="stats">
        {(["submissions", "votes", "comments", "active_people"] as const).map((name) => (
          <Stat
            label={words.totals[name]}
            value={count(now.totals[name])}
            now={now.totals[name]}
            before={before.totals[name]}
          />
        ))}
        <Stat
          label={words.reply}
          value={reply.median_seconds === null ? "–" : formatDuration(reply.median_seconds, visit.locale)}
          now={reply.median_seconds ?? undefined}
          before={before.first_official_reply.median_seconds ?? undefined}
          lessIsBetter
          hint={reply.submissions > 0 ? words.replied(reply.submissions) : words.unreplied}
        />
      </dl>
      <section class="card" id="over-time">
        <div class="heading">
          <h2>{words.overTime}</h2>
          <Tabs
            label={words.overTime}
            current="true"
            tabs={plots.map((name) => ({
              ...linkWith(visit, { plot: name === "votes" ? null : name }),
              label: words.totals[name],
              isHere: name === plot,
            }))}
          />
        </div>
        <LinePlot
          id="plot"
          title={words.totals[plot]}
          axis={words.intervals[now.interval]}
          points={now.series.map((point) => ({
            label: day(point.start, visit),
            short: formatShortDay(new Date(point.start), visit.locale),
            value: point[plot],
          }))}
        />
      </section>
      <section class="movers">
        <h2>{words.movers}</h2>
        <DataTable
          id="movers"
          caption={words.movers}
          rows={now.top_movers}
          rowId={({ submission_id }) => submission_id}
          columns={[
            {
              label: words.submission,
              cell: ({ submission_id, title }) => <a href={submissionPath(submission_id, title)}>{title}</a>,
            },
            { label: words.status, cell: ({ status }) => <Status status={status} messages={visit.messages} /> },
            number("vote_count", words.votes),
            {
              label: words.gained,
              isNumber: true,
              cell: ({ votes }) => <span class="change up">+{count(votes)}</span>,
            },
          ]}
          empty={<p>{words.noMovers}</p>}
        />
      </section>
      {now.totals.submissions > 0 && (
        <div class="kinds">
          {bars.map(({ id, heading, ...plot }) => (
            <section class="card">
              <h2>{heading}</h2>
              <BarPlot id={`by-${id}`} title={words.totals.submissions} {...plot} />
            </section>
          ))}
        </div>
      )}
    </>
  );
};
