import type { Child } from "hono/jsx";
import type { z } from "zod";
import type { Locale } from "../../../../../shared/locales.ts";
import type { sentiment } from "../../../../../shared/survey-responses.ts";
import type { surveyDetail } from "../../../../../shared/surveys.ts";
import type { AreaTexts } from "../../../../words/index.ts";
import { Icon } from "../../../components/icon.tsx";
import { adminPath } from "../../../paths.ts";
import { useVisit, useWords } from "../../../rendering.ts";
import type { Visit } from "../../../visit.ts";

export type Survey = Required<z.infer<typeof surveyDetail>>;
type Sentiment = z.infer<typeof sentiment>;

/** The query without empty filters. */
export const withoutEmpty = (sent: unknown) =>
  Object.fromEntries(
    Object.entries(sent as Record<string, string>).filter(([, value]) => value.trim() !== ""),
  );

export const surveyPath = (visit: Visit, id: string, path = "") => adminPath(visit, `/surveys/${id}${path}`);

/** Breadcrumb of the survey, for the pages below it. */
export const trailOf = (visit: Visit, { id, title }: Pick<Survey, "id" | "title">) => [
  { label: title, href: surveyPath(visit, id) },
];

export function formatShare(share: number | null, locale: Locale): string {
  if (share === null) return "–";
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 }).format(share);
}

export const formatDecimal = (value: number, locale: Locale, digits = 1) =>
  new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value);

/** Such as 1:05 for 65 seconds. */
export function formatDuration(seconds: number | null): string {
  if (seconds === null) return "–";
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

function formatMoment(at: string, locale: Locale): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }).format(
    new Date(at),
  );
}

export const Moment = ({ at, locale }: { at: string; locale: Locale }) => (
  <time datetime={new Date(at).toISOString()}>{formatMoment(at, locale)} UTC</time>
);

export const SurveyStatus = ({ status }: { status: Survey["status"] }) => {
  const words = useWords("surveys");
  return <span class={`status survey-${status}`}>{words.statuses[status]}</span>;
};

/** A response's sentiment in words: its color only repeats them. */
export const SentimentTag = ({ sentiment }: { sentiment: Sentiment | null }) => {
  const words = useWords("surveys");
  return (
    <span class={`status sentiment-${sentiment ?? "none"}`}>
      {sentiment ? words.sentiments[sentiment] : words.notScored}
    </span>
  );
};

type ViewName = keyof AreaTexts["surveys"]["views"];
const viewPaths: Record<ViewName, string> = {
  results: "",
  texts: "/texts",
  responses: "/responses",
  share: "/share",
};

/** The pages of one survey. */
export const SurveyViews = ({ id, current }: { id: string; current: ViewName }) => {
  const words = useWords("surveys");
  const visit = useVisit();
  return (
    <nav class="tabs" aria-label={words.title}>
      {Object.entries(viewPaths).map(([name, path]) => (
        <a href={surveyPath(visit, id, path)} aria-current={name === current ? "page" : undefined}>
          {words.views[name as ViewName]}
        </a>
      ))}
    </nav>
  );
};

/** Filters of responses, in the URL. */
export const AnswerFilters = ({
  action,
  query,
  isFiltered,
  children,
  actions,
}: {
  action: string;
  query: { sentiment?: Sentiment; start_date?: string; end_date?: string };
  isFiltered: boolean;
  children?: Child;
  actions?: Child;
}) => {
  const words = useWords("surveys");
  return (
    <search>
      <form method="get" action={action} class="answer-filters">
        {children}
        <div class="field">
          <label for="sentiment">{words.sentimentOfResponse}</label>
          <select id="sentiment" name="sentiment">
            <option value="">{words.anySentiment}</option>
            {(["positive", "neutral", "negative"] as const).map((sentiment) => (
              <option value={sentiment} selected={query.sentiment === sentiment}>
                {words.sentiments[sentiment]}
              </option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="start_date">{words.from}</label>
          <input type="date" id="start_date" name="start_date" value={query.start_date} />
        </div>
        <div class="field">
          <label for="end_date">{words.to}</label>
          <input type="date" id="end_date" name="end_date" value={query.end_date} />
        </div>
        <div class="buttons">
          <button type="submit" class="button">
            <Icon name="sliders-horizontal" />
            {words.filter}
          </button>
          {isFiltered && <a href={action}>{words.clear}</a>}
          {actions}
        </div>
      </form>
    </search>
  );
};
