import { z } from "zod";
import { uuid } from "../../../../../shared/fields.ts";
import { cursor } from "../../../../../shared/pagination.ts";
import { surveyResponseListQuery } from "../../../../../shared/survey-responses.ts";
import { text } from "../../../../../shared/text.ts";
import { notFound } from "../../../../_shared/http/api-error.ts";
import { nextCursor } from "../../../../_shared/http/cursor.ts";
import { listTexts, type TextAnswer } from "../../../../_shared/statements/survey-responses.ts";
import { requireSurvey, surveyDetail } from "../../../../_shared/statements/surveys.ts";
import { Icon } from "../../../components/icon.tsx";
import { NextPage } from "../../../components/next-page.tsx";
import { surveysMessages } from "../../../messages/admin/index.ts";
import { adminPage } from "../admin-page.tsx";
import { TextItem } from "./results.tsx";
import { AnswerFilters, type Survey, SurveyViews, surveyPath, trailOf, withoutEmpty } from "./shared.tsx";

const { sentiment, start_date, end_date } = surveyResponseListQuery.shape;

const query = z.preprocess(
  withoutEmpty,
  z.object({
    question: uuid.optional(),
    q: text({ min: 0, max: 200 }).optional(),
    cursor: cursor.optional(),
    sentiment,
    start_date,
    end_date,
  }),
);

const pageSize = 25;

/** Text answers, one question at a time. */
export const surveyTexts = adminPage({
  area: "surveys",
  path: "/:id/texts",
  words: surveysMessages,
  query,
  row: ({ params: { id } }) => ({ resource: "surveys", id }),
  call: ({ params: { id }, query: { question, ...filter } }) => [
    requireSurvey(id, "responses:read"),
    surveyDetail(id, ["questions"]),
    listTexts(id, question, { ...filter, limit: pageSize }),
  ],
  view: ([, [detail], [list]], { query, visit, words }) => {
    if (!detail || !list) throw notFound("survey");
    const survey: Survey = JSON.parse(detail.data);
    const asked = survey.questions.filter(({ type }) => type === "text");
    const question = asked.find(({ id }) => id === query.question?.toLowerCase()) ?? asked[0];
    const texts: TextAnswer[] = JSON.parse(list.data);
    const { question: _question, cursor: _cursor, ...filter } = query;
    const action = surveyPath(visit, survey.id, "/texts");
    return {
      title: words.views.texts,
      trail: trailOf(visit, survey),
      content: (
        <>
          <SurveyViews id={survey.id} current="texts" words={words} visit={visit} />
          {question ? (
            <>
              <AnswerFilters
                action={action}
                query={query}
                isFiltered={Object.keys(filter).length > 0}
                words={words}
              >
                {asked.length > 1 ? (
                  <div class="field wide">
                    <label for="question">{words.text}</label>
                    <select id="question" name="question">
                      {asked.map(({ id, text }) => (
                        <option value={id} selected={id === question.id}>
                          {text}
                        </option>
                      ))}
                    </select>
                  </div>
                ) : null}
                <label class="search wide">
                  <Icon name="search" />
                  <input
                    type="search"
                    name="q"
                    value={query.q}
                    maxlength={200}
                    placeholder={words.search}
                    aria-label={words.search}
                  />
                </label>
              </AnswerFilters>
              <section class="stack" aria-labelledby="texts-title">
                <h2 id="texts-title">{question.text}</h2>
                {texts.length > 0 ? (
                  <ul class="text-answers card">
                    {texts.map((text) => (
                      <TextItem text={text} surveyId={survey.id} words={words} visit={visit} />
                    ))}
                  </ul>
                ) : (
                  <p class="empty">{Object.keys(filter).length > 0 ? words.noneFound : words.noTexts}</p>
                )}
                <NextPage
                  next={nextCursor(list, "submitted_at", "desc")}
                  isFirst={!query.cursor}
                  visit={visit}
                />
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
