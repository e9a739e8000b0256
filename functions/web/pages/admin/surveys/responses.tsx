import { z } from "zod";
import { queryInteger } from "../../../../../shared/pagination.ts";
import {
  type surveyResponse as responseSchema,
  surveyResponseListQuery,
} from "../../../../../shared/survey-responses.ts";
import { notFound } from "../../../../_shared/http/api-error.ts";
import { nextCursor } from "../../../../_shared/http/cursor.ts";
import {
  auditResponses,
  listResponses,
  responseDetail,
} from "../../../../_shared/statements/survey-responses.ts";
import { requireSurvey, surveyDetail } from "../../../../_shared/statements/surveys.ts";
import { surveyResponses as endpoints } from "../../../../endpoints/survey-responses.ts";
import { type Column, DataTable } from "../../../components/admin/table.tsx";
import { Icon } from "../../../components/icon.tsx";
import { surveysMessages } from "../../../messages/admin/index.ts";
import { messagesOf } from "../../../messages/index.ts";
import { action, endpointOf } from "../../../page.tsx";
import { adminPage } from "../admin-page.tsx";
import {
  AnswerFilters,
  formatDecimal,
  formatDuration,
  Moment,
  SentimentTag,
  type Survey,
  SurveyViews,
  surveyPath,
  trailOf,
  withoutEmpty,
} from "./shared.tsx";

type Response = z.infer<typeof responseSchema>;

export const surveyResponses = adminPage({
  area: "surveys",
  path: "/:id/responses",
  words: surveysMessages,
  query: z.preprocess(
    withoutEmpty,
    surveyResponseListQuery.safeExtend({ limit: queryInteger(1, 100).prefault(25) }),
  ),
  row: ({ params: { id } }) => ({ resource: "surveys", id }),
  call: ({ params: { id }, query }) => [
    requireSurvey(id, "responses:read"),
    surveyDetail(id, []),
    listResponses(id, query),
    auditResponses(id, "read"),
  ],
  view: ([, [detail], [list]], { query, visit, words }) => {
    if (!detail || !list) throw notFound("survey");
    const survey: Survey = JSON.parse(detail.data);
    const rows: Response[] = JSON.parse(list.data);
    const path = surveyPath(visit, survey.id, "/responses");
    const { sentiment, start_date, end_date } = query;
    const filter = new URLSearchParams(
      withoutEmpty({
        sentiment: sentiment ?? "",
        start_date: start_date ?? "",
        end_date: end_date ?? "",
      }),
    );
    const columns: Column<Response>[] = [
      {
        key: "submitted",
        label: words.submitted,
        cell: ({ id, submitted_at }) => (
          <a href={`${path}/${id}`}>
            <Moment at={submitted_at} locale={visit.locale} />
          </a>
        ),
      },
      {
        key: "respondent",
        label: words.respondent,
        cell: ({ respondent }) => respondent?.name ?? words.anonymous,
      },
      {
        key: "sentiment",
        label: words.sentiment,
        cell: (response) => <SentimentTag sentiment={response.sentiment} words={words} />,
      },
      {
        key: "score",
        label: words.score,
        isNumber: true,
        cell: ({ sentiment_score }) =>
          sentiment_score === null ? "–" : formatDecimal(sentiment_score, visit.locale, 2),
      },
      {
        key: "duration",
        label: words.duration,
        isNumber: true,
        cell: ({ duration_seconds }) => formatDuration(duration_seconds),
      },
      {
        key: "language",
        label: words.language,
        cell: ({ locale }) => (locale ? <span lang={locale}>{messagesOf(locale).language}</span> : "–"),
      },
    ];
    return {
      title: words.views.responses,
      trail: trailOf(visit, survey),
      content: (
        <>
          <SurveyViews id={survey.id} current="responses" words={words} visit={visit} />
          <AnswerFilters
            action={path}
            query={query}
            isFiltered={filter.size > 0}
            actions={
              <a class="button" href={`${path}.csv${filter.size > 0 ? `?${filter}` : ""}`} download="">
                <Icon name="download" />
                {words.downloadCsv}
              </a>
            }
            words={words}
          />
          <p class="quiet" role="status">
            {words.responseCount(Number(list.total))}
          </p>
          <DataTable
            id="responses"
            caption={words.views.responses}
            columns={columns}
            rows={rows}
            rowId={({ id }) => id}
            empty={<p>{filter.size > 0 ? words.noneFound : words.noResponses}</p>}
            next={nextCursor(list, "submitted_at", "desc")}
            visit={visit}
          />
        </>
      ),
    };
  },
});

/** The API's export of the responses that the filters leave. */
export const responsesCsv = action(
  {
    ...endpointOf(endpoints, "get", "/surveys/:id/responses"),
    access: "person",
    query: z.preprocess((sent) => ({ ...withoutEmpty(sent), format: "csv" }), surveyResponseListQuery),
  },
  { path: "/admin/surveys/:id/responses.csv", ofOrganization: true },
);

export const oneResponse = adminPage({
  area: "surveys",
  path: "/:id/responses/:response_id",
  words: surveysMessages,
  row: ({ params: { id } }) => ({ resource: "surveys", id }),
  call: ({ params }) => [
    requireSurvey(params.id, "responses:read"),
    surveyDetail(params.id, ["questions"]),
    responseDetail(params.id, (params as Record<string, string>).response_id ?? ""),
    auditResponses(params.id, "read"),
  ],
  view: ([, [detail], [found]], { visit, words }) => {
    if (!detail || !found) throw notFound("response");
    const survey: Survey = JSON.parse(detail.data);
    const response: Response = JSON.parse(found.data);
    const path = surveyPath(visit, survey.id, "/responses");
    const answers = new Map(response.answers.map(({ question_id, value }) => [question_id, value]));
    return {
      title: words.responseTitle,
      trail: [...trailOf(visit, survey), { label: words.views.responses, href: path }],
      actions: (
        <nav class="buttons" aria-label={words.views.responses}>
          {found.newer && (
            <a class="button" href={`${path}/${found.newer}`}>
              <Icon name="arrow-left" />
              {words.newer}
            </a>
          )}
          {found.older && (
            <a class="button" href={`${path}/${found.older}`}>
              {words.older}
              <Icon name="arrow-right" />
            </a>
          )}
        </nav>
      ),
      content: (
        <div class="response">
          <ol class="card response-answers">
            {survey.questions.map(({ id, text, scale, type }) => (
              <li>
                <h2>{text}</h2>
                <Answer
                  value={answers.get(id)}
                  highest={type === "nps" ? 10 : type === "rating" ? (scale ?? 5) : undefined}
                  none={words.unanswered}
                  of={visit.messages.surveys.stars}
                />
              </li>
            ))}
          </ol>
          <dl class="card response-facts">
            <dt>{words.respondent}</dt>
            <dd>{response.respondent?.name ?? words.anonymous}</dd>
            <dt>{words.submitted}</dt>
            <dd>
              <Moment at={response.submitted_at} locale={visit.locale} />
            </dd>
            <dt>{words.duration}</dt>
            <dd>{formatDuration(response.duration_seconds)}</dd>
            <dt>{words.sentiment}</dt>
            <dd>
              <SentimentTag sentiment={response.sentiment} words={words} />
              {response.sentiment_score !== null && (
                <span class="number"> {formatDecimal(response.sentiment_score, visit.locale, 2)}</span>
              )}
            </dd>
            {response.locale && (
              <>
                <dt>{words.language}</dt>
                <dd lang={response.locale}>{messagesOf(response.locale).language}</dd>
              </>
            )}
          </dl>
        </div>
      ),
    };
  },
});

type AnswerProps = {
  value: Response["answers"][number]["value"] | undefined;
  /** Maximum of a numeric answer. */
  highest: number | undefined;
  none: string;
  of: (n: number, highest: number) => string;
};

const Answer = ({ value, highest, none, of }: AnswerProps) => {
  if (value === undefined) return <p class="quiet">{none}</p>;
  if (Array.isArray(value))
    return (
      <ul class="answer-options">
        {value.map((option) => (
          <li>{option}</li>
        ))}
      </ul>
    );
  return <p class="answer-text">{typeof value === "number" && highest ? of(value, highest) : value}</p>;
};
