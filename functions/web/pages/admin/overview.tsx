import { z } from "zod";
import type { analyticsAnswer } from "../../../../shared/analytics.ts";
import { analyticsCompared } from "../../../_shared/statements/analytics.ts";
import { BarPlot, LinePlot } from "../../components/admin/plot.tsx";
import { Stat } from "../../components/admin/stat.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Status } from "../../components/status.tsx";
import { formatDay, formatDuration, formatNumber, formatShortDay } from "../../format.ts";
import { adminPath, linkWith, submissionPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Analytics = z.output<typeof analyticsAnswer>["data"];

const spans = [7, 30, 90, 365];
const plots = ["votes", "submissions", "comments", "active_people"] as const;

// Ignores invalid values, so that URLs of older pages still work.
const overviewQuery = z.object({
  days: z.coerce.number().int().min(1).max(3660).catch(30),
  from: z.iso.date().optional().catch(undefined),
  to: z.iso.date().optional().catch(undefined),
  plot: z.enum(plots).catch("votes"),
});

type OverviewQuery = z.output<typeof overviewQuery>;

export const overview = adminPage({
  area: "overview",
  query: overviewQuery,
  call: ({ query }) => [analyticsCompared(query, intervalOf(query))],
  view: ([[measured]], { query, words }) => {
    const now: Analytics = JSON.parse(measured?.data ?? "null");
    const before: Analytics = JSON.parse(measured?.before ?? "null");
    return {
      title: words.title,
      actions: <Spans query={query} now={now} />,
      content: <Numbers now={now} before={before} plot={query.plot} />,
    };
  },
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
      <nav class="tabs" aria-label={words.time}>
        {spans.map((days) => (
          <a
            {...linkWith(visit, { days: String(days), from: null, to: null })}
            aria-current={!isNamed && query.days === days ? "true" : undefined}
          >
            {days === 365 ? words.year : words.days(days)}
          </a>
        ))}
      </nav>
      <details class="menu span-menu" id="span" data-island="menu">
        <summary class={isNamed ? "button small chosen" : "button small"}>
          {isNamed ? `${day(now.from, visit)} – ${day(now.to, visit)}` : words.otherTime}
        </summary>
        <form method="get" class="menu-items stack">
          <input type="hidden" name="plot" value={query.plot} />
          <div class="field">
            <label for="from">{words.from}</label>
            <input type="date" id="from" name="from" value={now.from} required />
          </div>
          <div class="field">
            <label for="to">{words.to}</label>
            <input type="date" id="to" name="to" value={now.to} required />
          </div>
          <button type="submit" class="button main">
            {words.show}
          </button>
        </form>
      </details>
    </div>
  );
};

const day = (date: string, { locale }: Visit) => formatDay(new Date(date), locale);

const Numbers = ({
  now,
  before,
  plot,
}: {
  now: Analytics;
  before: Analytics;
  plot: (typeof plots)[number];
}) => {
  const words = useWords("overview");
  const visit = useVisit();
  const count = (value: number) => formatNumber(value, visit.locale);
  const { first_official_reply: reply } = now;
  return (
    <>
      <p class="quiet compared">
        {words.compared(
          `${day(now.from, visit)} – ${day(now.to, visit)}`,
          `${day(before.from, visit)} – ${day(before.to, visit)}`,
        )}
      </p>
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
          <nav class="tabs" aria-label={words.overTime}>
            {plots.map((name) => (
              <a
                {...linkWith(visit, { plot: name === "votes" ? null : name })}
                aria-current={name === plot ? "true" : undefined}
              >
                {words.totals[name]}
              </a>
            ))}
          </nav>
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
              key: "title",
              label: words.submission,
              cell: ({ submission_id, title }) => <a href={submissionPath(submission_id, title)}>{title}</a>,
            },
            {
              key: "status",
              label: words.status,
              cell: ({ status }) => <Status status={status} messages={visit.messages} />,
            },
            { key: "votes", label: words.votes, isNumber: true, cell: ({ vote_count }) => count(vote_count) },
            {
              key: "gained",
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
          <section class="card">
            <h2>{words.byStatus}</h2>
            <BarPlot
              id="by-status"
              title={words.totals.submissions}
              axis={words.status}
              bars={now.by_status.map(({ status, submissions }) => ({
                label: visit.messages.statuses[status],
                value: submissions,
                kind: status,
                href: adminPath(visit, `/submissions?status=${status}`),
              }))}
            />
          </section>
          <section class="card">
            <h2>{words.byCategory}</h2>
            <BarPlot
              id="by-category"
              title={words.totals.submissions}
              axis={words.category}
              bars={now.by_category.map(({ name, slug, submissions }) => ({
                label: name ?? words.noCategory,
                value: submissions,
                href: slug ? adminPath(visit, `/submissions?category=${slug}`) : undefined,
              }))}
            />
          </section>
          <section class="card">
            <h2>{words.bySource}</h2>
            <BarPlot
              id="by-source"
              title={words.totals.submissions}
              axis={words.source}
              bars={now.by_source
                .slice(0, 10)
                .map(({ source, submissions }) => ({ label: source ?? words.noSource, value: submissions }))}
            />
          </section>
        </div>
      )}
    </>
  );
};
