import type { Child } from "hono/jsx";
import type { Locale } from "../../../../../shared/locales.ts";
import type { SurveyExpansions } from "../../../../../shared/surveys.ts";
import type { JsonResponse } from "../../../../_shared/http/endpoint.ts";
import { parsed } from "../../../../_shared/statements/shapes.ts";
import type { SurveyResponse } from "../../../../_shared/statements/survey-responses.ts";
import { requireSurvey, type SurveyDetail, surveyDetail } from "../../../../_shared/statements/surveys.ts";
import { Tabs } from "../../../components/admin/tabs.tsx";
import { Button } from "../../../components/button.tsx";
import { Field } from "../../../components/field.tsx";
import type { PageInput } from "../../../page.tsx";
import { adminPath } from "../../../paths.ts";
import { useRendering, useWords } from "../../../rendering.ts";
import type { Visit } from "../../../visit.ts";

type Sentiment = NonNullable<SurveyResponse["sentiment"]>;

export const sentiments = ["positive", "neutral", "negative"] as const;

/** What the pages of one survey have in common. */
export const ofSurvey = (path: string) => ({
  area: "surveys" as const,
  path: `/:id${path}`,
  row: ({ params: { id } }: PageInput) => ({ resource: "surveys" as const, id }),
});

/** Reads a survey, as the second value, if the caller may. */
export const readSurvey = <const Name extends SurveyExpansions[number] = never>(
  id: string,
  expand: Name[] = [],
  scope = "surveys:read",
) => [requireSurvey(id, scope), surveyDetail(id, expand)] as const;

export const surveyPath = (visit: Visit, id: string, path = "") => adminPath(visit, `/surveys/${id}${path}`);

/** The page of the survey that an action made. */
export const madeSurvey = ({ json }: JsonResponse, { visit }: { visit: Visit }) =>
  surveyPath(visit, parsed<{ data: Pick<SurveyDetail, "id"> }>(json).data.id);

/** Breadcrumb of the survey, for the pages below it. */
export const trailOf = (visit: Visit, { id, title }: Pick<SurveyDetail, "id" | "title">) => [
  { label: title, href: surveyPath(visit, id) },
];

/** Null, shown as a dash, if nothing was counted. */
export const measured = (value: number, count: number): number | null => (count === 0 ? null : value);

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

export const SurveyStatus = ({ status }: { status: SurveyDetail["status"] }) => {
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

const views = { results: "", texts: "/texts", responses: "/responses", share: "/share" };

/** The pages of one survey. */
export const SurveyViews = ({ current }: { current: keyof typeof views }) => {
  const words = useWords("surveys");
  const { visit, params } = useRendering();
  return (
    <Tabs
      label={words.title}
      tabs={(Object.keys(views) as (keyof typeof views)[]).map((name) => ({
        href: surveyPath(visit, params.id ?? "", views[name]),
        label: words.views[name],
        isHere: name === current,
      }))}
    />
  );
};

type FilterProps = {
  action: string;
  query: { sentiment?: Sentiment; start_date?: string; end_date?: string };
  isFiltered: boolean;
  children?: Child;
  actions?: Child;
};

/** Filters of responses, in the URL. */
export const AnswerFilters = ({ action, query, isFiltered, children, actions }: FilterProps) => {
  const words = useWords("surveys");
  return (
    <search>
      <form method="get" action={action} class="answer-filters">
        {children}
        <Field
          name="sentiment"
          label={words.sentimentOfResponse}
          value={query.sentiment}
          options={{ "": words.anySentiment, ...words.sentiments }}
        />
        <Field name="start_date" type="date" label={words.from} value={query.start_date} />
        <Field name="end_date" type="date" label={words.to} value={query.end_date} />
        <div class="buttons">
          <Button icon="sliders-horizontal">{words.filter}</Button>
          {isFiltered && <a href={action}>{words.clear}</a>}
          {actions}
        </div>
      </form>
    </search>
  );
};
