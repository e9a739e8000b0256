import { z } from "zod";
import type { Locale } from "../../../../../shared/locales.ts";
import { queryInteger } from "../../../../../shared/pagination.ts";
import { surveyResponseListQuery } from "../../../../../shared/survey-responses.ts";
import { nextCursor } from "../../../../_shared/http/cursor.ts";
import {
  auditResponses,
  listResponses,
  responseDetail,
  type SurveyResponse,
} from "../../../../_shared/statements/survey-responses.ts";
import { surveyResponses as endpoints } from "../../../../endpoints/survey-responses.ts";
import { messagesOf } from "../../../../words/index.ts";
import { Moment } from "../../../components/admin/moment.tsx";
import { Properties } from "../../../components/admin/properties.tsx";
import { DataTable, number } from "../../../components/admin/table.tsx";
import { Button } from "../../../components/button.tsx";
import { Icon } from "../../../components/icon.tsx";
import { action, endpointOf } from "../../../page.tsx";
import { adminPage } from "../admin-page.tsx";
import {
  AnswerFilters,
  formatDecimal,
  formatDuration,
  ofSurvey,
  readSurvey,
  SentimentTag,
  SurveyViews,
  surveyPath,
  trailOf,
} from "./shared.tsx";

const languageOf = (locale: Locale) => <span lang={locale}>{messagesOf(locale).language}</span>;

export const surveyResponses = adminPage({
  ...ofSurvey("/responses"),
  query: surveyResponseListQuery.safeExtend({ limit: queryInteger(1, 100).prefault(25) }),
  read: ({ params: { id }, query }) => [
    ...readSurvey(id, [], "responses:read"),
    listResponses(id, { ...query, days: "local" }),
    auditResponses(id, "read"),
  ],
  view: ([, survey, list], { query, visit, words }) => {
    const path = surveyPath(visit, survey.id, "/responses");
    const { sentiment, start_date, end_date } = query;
    const chosen = Object.entries({ sentiment, start_date, end_date }).flatMap(([name, at]) =>
      at ? [[name, at]] : [],
    );
    const filter = new URLSearchParams(chosen);
    return {
      title: words.views.responses,
      trail: trailOf(visit, survey),
      content: (
        <>
          <SurveyViews current="responses" />
          <AnswerFilters
            action={path}
            query={query}
            isFiltered={filter.size > 0}
            actions={
              <Button icon="download" href={`${path}.csv${filter.size > 0 ? `?${filter}` : ""}`} download="">
                {words.downloadCsv}
              </Button>
            }
          />
          <p class="quiet" role="status">
            {words.responseCount(list.total)}
          </p>
          <DataTable
            id="responses"
            caption={words.views.responses}
            columns={[
              {
                label: words.submitted,
                cell: ({ id, submitted_at }) => (
                  <a href={`${path}/${id}`}>
                    <Moment at={submitted_at} toMinute />
                  </a>
                ),
              },
              { label: words.respondent, cell: ({ respondent }) => respondent?.name ?? words.anonymous },
              { label: words.sentiment, cell: ({ sentiment }) => <SentimentTag sentiment={sentiment} /> },
              number("sentiment_score", words.score, {
                cell: ({ sentiment_score: score }) => (score === null ? "–" : formatDecimal(score, visit.locale, 2)),
              }),
              number("duration_seconds", words.duration, {
                cell: ({ duration_seconds }) => formatDuration(duration_seconds),
              }),
              { label: words.language, cell: ({ locale }) => (locale ? languageOf(locale) : "–") },
            ]}
            rows={list.data}
            rowId={({ id }) => id}
            empty={<p>{filter.size > 0 ? words.noneFound : words.noResponses}</p>}
            next={nextCursor(list, "submitted_at", "desc")}
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
    query: z
      .preprocess((sent) => ({ ...(sent as object), format: "csv" }), surveyResponseListQuery)
      .transform((query) => ({ ...query, days: "local" })),
  },
  { path: "/admin/surveys/:id/responses.csv", ofOrganization: true },
);

export const oneResponse = adminPage({
  ...ofSurvey("/responses/:response_id"),
  read: ({ params: { id, response_id } }) => [
    ...readSurvey(id, ["questions"], "responses:read"),
    responseDetail(id, response_id),
    auditResponses(id, "read"),
  ],
  view: ([, survey, { data: response, newer, older }], { visit, words }) => {
    const path = surveyPath(visit, survey.id, "/responses");
    const answers = new Map(response.answers.map(({ question_id, value }) => [question_id, value]));
    return {
      title: words.responseTitle,
      trail: [...trailOf(visit, survey), { label: words.views.responses, href: path }],
      actions: (
        <nav class="buttons" aria-label={words.views.responses}>
          {newer && <Button icon="arrow-left" href={`${path}/${newer}`} label={words.newer} />}
          {older && (
            <Button href={`${path}/${older}`}>
              {words.older}
              <Icon name="arrow-right" />
            </Button>
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
          <Properties
            class="card response-facts"
            of={[
              [words.respondent, response.respondent?.name ?? words.anonymous],
              [words.submitted, <Moment at={response.submitted_at} toMinute />],
              [words.duration, formatDuration(response.duration_seconds)],
              [
                words.sentiment,
                <>
                  <SentimentTag sentiment={response.sentiment} />
                  {response.sentiment_score !== null && (
                    <span class="number"> {formatDecimal(response.sentiment_score, visit.locale, 2)}</span>
                  )}
                </>,
              ],
              [words.language, response.locale && languageOf(response.locale)],
            ]}
          />
        </div>
      ),
    };
  },
});

type AnswerProps = {
  value: SurveyResponse["answers"][number]["value"] | undefined;
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
