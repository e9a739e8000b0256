import { z } from "zod";
import { uuid } from "../../../../../shared/fields.ts";
import { cursor } from "../../../../../shared/pagination.ts";
import { surveyResponseListQuery } from "../../../../../shared/survey-responses.ts";
import { text } from "../../../../../shared/text.ts";
import { nextCursor } from "../../../../_shared/http/cursor.ts";
import { listTexts } from "../../../../_shared/statements/survey-responses.ts";
import { Field } from "../../../components/field.tsx";
import { Icon } from "../../../components/icon.tsx";
import { NextPage } from "../../../components/next-page.tsx";
import { adminPage } from "../admin-page.tsx";
import { TextItem } from "./results.tsx";
import { AnswerFilters, ofSurvey, readSurvey, SurveyViews, surveyPath, trailOf } from "./shared.tsx";

const { sentiment, start_date, end_date } = surveyResponseListQuery.shape;

const query = z.object({
  question: uuid.optional(),
  q: text({ min: 0, max: 200 }).optional(),
  cursor: cursor.optional(),
  sentiment,
  start_date,
  end_date,
});

const pageSize = 25;

/** Text answers, one question at a time. */
export const surveyTexts = adminPage({
  ...ofSurvey("/texts"),
  query,
  read: ({ params: { id }, query: { question, ...filter } }) => [
    ...readSurvey(id, ["questions"], "responses:read"),
    listTexts(id, question, { ...filter, limit: pageSize, days: "local" }),
  ],
  view: ([, survey, list], { query, visit, words }) => {
    const asked = survey.questions.filter(({ type }) => type === "text");
    const question = asked.find(({ id }) => id === query.question?.toLowerCase()) ?? asked[0];
    const { question: _question, cursor: _cursor, ...filter } = query;
    const action = surveyPath(visit, survey.id, "/texts");
    return {
      title: words.views.texts,
      trail: trailOf(visit, survey),
      content: (
        <>
          <SurveyViews current="texts" />
          {question ? (
            <>
              <AnswerFilters action={action} query={query} isFiltered={Object.keys(filter).length > 0}>
                {asked.length > 1 ? (
                  <div class="wide">
                    <Field
                      name="question"
                      label={words.text}
                      value={question.id}
                      options={asked.map(({ id, text }) => ({ value: id, label: text }))}
                    />
                  </div>
                ) : null}
                <label class="search wide">
                  <Icon name="search" />
                  <input type="search" name="q" value={query.q} placeholder={words.search} aria-label={words.search} />
                </label>
              </AnswerFilters>
              <section class="stack" aria-labelledby="texts-title">
                <h2 id="texts-title">{question.text}</h2>
                {list.data.length > 0 ? (
                  <ul class="text-answers card">
                    {list.data.map((text) => (
                      <TextItem text={text} />
                    ))}
                  </ul>
                ) : (
                  <p class="empty">{Object.keys(filter).length > 0 ? words.noneFound : words.noTexts}</p>
                )}
                <NextPage next={nextCursor(list, "submitted_at", "desc")} isFirst={!query.cursor} />
              </section>
            </>
          ) : (
            <p class="empty">{words.noTextQuestions}</p>
          )}
        </>
      ),
    };
  },
});
