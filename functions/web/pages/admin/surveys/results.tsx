import type { JSX } from "hono/jsx/jsx-runtime";
import { notFound } from "../../../../_shared/http/api-error.ts";
import {
  newestTexts,
  type ResponseSeries,
  responseSeries,
  type TextAnswer,
} from "../../../../_shared/statements/survey-responses.ts";
import { requireSurvey, surveyDetail } from "../../../../_shared/statements/surveys.ts";
import { BarPlot, LinePlot } from "../../../components/admin/plot.tsx";
import { Stat } from "../../../components/admin/stat.tsx";
import { SurveyPreview } from "../../../components/admin/survey-preview.tsx";
import { Problem } from "../../../components/field.tsx";
import { FormId } from "../../../components/form-id.tsx";
import { Icon } from "../../../components/icon.tsx";
import { formatDay, formatNumber } from "../../../format.ts";
import type { IconName } from "../../../icons.ts";
import { type SurveysMessages, surveysMessages } from "../../../messages/admin/index.ts";
import { messagesOf } from "../../../messages/index.ts";
import type { Visit } from "../../../visit.ts";
import { adminPage } from "../admin-page.tsx";
import {
  formatDecimal,
  formatDuration,
  formatShare,
  Moment,
  SentimentTag,
  type Survey,
  SurveyStatus,
  SurveyViews,
  surveyPath,
} from "./shared.tsx";

type Props = { survey: Survey; words: SurveysMessages; visit: Visit };

/** A survey: a draft with its preview, any other with its results. */
export const surveyResults = adminPage({
  area: "surveys",
  path: "/:id",
  words: surveysMessages,
  row: ({ params: { id } }) => ({ resource: "surveys", id }),
  call: ({ params: { id } }) => [
    requireSurvey(id, "surveys:read"),
    surveyDetail(id, ["questions", "targeting", "analytics"]),
    responseSeries(id),
    newestTexts(id, 3),
  ],
  view: ([, [detail], [series], [texts]], { visit, words }) => {
    if (!detail || !series) throw notFound("survey");
    const survey: Survey = JSON.parse(detail.data);
    const props = { survey, words, visit };
    return {
      title: survey.title,
      trail: [],
      actions: <SurveyStatus status={survey.status} words={words} />,
      content: (
        <>
          <Problem visit={visit} />
          <About {...props} />
          <Actions {...props} />
          {survey.status === "draft" ? (
            <Draft {...props} />
          ) : (
            <>
              <SurveyViews id={survey.id} current="results" words={words} visit={visit} />
              <Results {...props} series={series.data} texts={JSON.parse(texts?.data ?? "[]")} />
            </>
          )}
        </>
      ),
    };
  },
});

/** The audience of the survey, its languages and its end. */
const About = ({ survey: { targeting, closes_at, closed_at }, words, visit }: Props) => (
  <p class="survey-about">
    <span>{words.audiences[targeting.audience]}</span>
    {targeting.locales && (
      <span>{targeting.locales.map((locale) => messagesOf(locale).language).join(", ")}</span>
    )}
    {closed_at ? (
      <span>
        {words.closed} <Moment at={closed_at} locale={visit.locale} />
      </span>
    ) : (
      closes_at && (
        <span>
          {words.closesAt} <Moment at={closes_at} locale={visit.locale} />
        </span>
      )
    )}
  </p>
);

/** Actions that the status of the survey permits. */
const Actions = ({ survey: { id, status, version_of }, words, visit }: Props) => {
  const post = (action: string, label: string, icon: IconName, isMain = false) => (
    <form method="post" action={surveyPath(visit, id, `/${action}`)}>
      {action === "versions" && <FormId />}
      <button type="submit" class={isMain ? "button main" : "button"}>
        <Icon name={icon} />
        {label}
      </button>
    </form>
  );
  const link = (path: string, label: string, icon: IconName, isDanger = false) => (
    <a class={isDanger ? "button danger" : "button"} href={surveyPath(visit, id, path)}>
      <Icon name={icon} />
      {label}
    </a>
  );
  return (
    <div class="buttons">
      {status === "draft" && post("publish", words.publish, "send", true)}
      {status === "draft" && link("/edit", words.edit, "pencil")}
      {status === "published" && post("pause", words.pause, "pause")}
      {status === "paused" && post("resume", words.resume, "play", true)}
      {(status === "published" || status === "paused") && post("versions", words.newVersion, "copy")}
      {status !== "archived" && link("/archive", words.archive, "archive")}
      {link("/delete", words.delete, "trash-2", true)}
      {version_of && (
        <a class="link" href={surveyPath(visit, version_of)}>
          {words.versionOf}
        </a>
      )}
    </div>
  );
};

const Draft = ({ survey, words, visit }: Props) => (
  <>
    <div class="notice">
      <p>{survey.questions.length === 0 ? words.needsQuestions : words.publishText}</p>
      {survey.version_of && <p>{words.publishVersionText}</p>}
    </div>
    <section class="builder-preview" aria-labelledby="preview-title">
      <h2 id="preview-title">{words.preview}</h2>
      <p class="quiet small">{words.previewHint}</p>
      <SurveyPreview
        title={survey.title}
        description={survey.description}
        questions={survey.questions}
        empty={words.previewEmpty}
        visit={visit}
      />
    </section>
  </>
);

type ResultsProps = Props & { series: ResponseSeries; texts: TextAnswer[] };

const Results = (props: ResultsProps) => {
  const { survey, series, words, visit } = props;
  const { locale } = visit;
  const { nps_score, sentiment } = survey.analytics;
  if (survey.response_count === 0)
    return (
      <div class="empty">
        <h2>{words.noResponses}</h2>
        <p>{words.noResponsesText}</p>
        <a class="button main" href={surveyPath(visit, survey.id, "/share")}>
          <Icon name="qr-code" />
          {words.views.share}
        </a>
      </div>
    );
  return (
    <>
      <dl class="stats">
        <Stat
          label={words.columns.responses}
          value={formatNumber(survey.response_count, locale)}
          visit={visit}
        />
        <Stat
          label={words.completionRate}
          value={formatShare(survey.completion_rate, locale)}
          hint={words.completionHint}
          visit={visit}
        />
        <Stat label={words.averageTime} value={formatDuration(survey.avg_completion_time)} visit={visit} />
        {typeof nps_score === "number" && (
          <Stat
            label={words.npsScore}
            value={formatDecimal(nps_score, locale)}
            hint={words.npsHint}
            visit={visit}
          />
        )}
        {typeof sentiment?.overall === "number" && (
          <Stat
            label={words.sentiment}
            value={formatDecimal(sentiment.overall, locale, 2)}
            hint={words.sentimentHint}
            visit={visit}
          />
        )}
      </dl>
      <div class="result-grid">
        <section class="card" aria-labelledby="by-time">
          <h2 id="by-time">{words.byTime[series.unit]}</h2>
          <LinePlot
            id="responses-by-time"
            title={words.byTime[series.unit]}
            axis={words.starts[series.unit]}
            points={series.points.map(({ start, responses }) => ({
              label: formatDay(new Date(start), locale),
              value: responses,
            }))}
            visit={visit}
          />
        </section>
        {sentiment && (
          <section class="card" aria-labelledby="sentiment-title">
            <h2 id="sentiment-title">{words.sentiment}</h2>
            <BarPlot
              id="sentiment-plot"
              title={words.columns.responses}
              axis={words.sentiment}
              bars={(["positive", "neutral", "negative"] as const).map((kind) => ({
                label: words.sentiments[kind],
                value: sentiment[`${kind}_count`],
                kind: `sentiment-${kind}`,
                href: `${surveyPath(visit, survey.id, "/responses")}?sentiment=${kind}`,
              }))}
              visit={visit}
            />
          </section>
        )}
      </div>
      <ol class="question-results">
        {survey.questions.map((question, index) => (
          <QuestionResult {...props} question={question} number={index + 1} />
        ))}
      </ol>
    </>
  );
};

type Question = Survey["questions"][number];
type QuestionProps = ResultsProps & { question: Question; number: number };

const QuestionResult = (props: QuestionProps) => {
  const { survey, question, number, words } = props;
  const measured = survey.analytics.breakdown_by_question?.find(
    ({ question_id }) => question_id === question.id,
  );
  const total = measured?.answer_count ?? 0;
  const counts = Object.entries(measured?.responses ?? {});
  return (
    <li class="card stack" id={`result-${question.id}`}>
      <header class="result-head">
        <h2>
          <span class="question-number">{number}</span> {question.text}
        </h2>
        <p class="quiet small">
          {words.types[question.type]} · {words.answerCount(total)}
        </p>
      </header>
      {total === 0 ? <p class="quiet">{words.noTexts}</p> : resultOf({ ...props, total, counts })}
    </li>
  );
};

type Measured = QuestionProps & { total: number; counts: [value: string, count: number][] };

function resultOf(props: Measured): JSX.Element | null {
  switch (props.question.type) {
    case "nps":
      return <NpsResult {...props} />;
    case "rating":
      return <RatingResult {...props} />;
    case "multiple_choice":
      return <ChoiceResult {...props} />;
    case "text":
      return <TextResult {...props} />;
    case "email":
      return (
        <a class="link" href={surveyPath(props.visit, props.survey.id, "/responses")}>
          {props.words.seeAnswers}
        </a>
      );
  }
}

/** A number of answers with their share of all. */
const withShare =
  (total: number, { locale }: Visit) =>
  (value: number) =>
    `${formatNumber(value, locale)} (${formatShare(value / total, locale)})`;

const NpsResult = ({ question, total, counts, words, visit }: Measured) => {
  const sum = (from: number, to: number) =>
    counts.reduce(
      (all, [value, count]) => (Number(value) >= from && Number(value) <= to ? all + count : all),
      0,
    );
  const [promoters, passives, detractors] = [sum(9, 10), sum(7, 8), sum(0, 6)];
  return (
    <>
      <p class="result-score">
        <strong>
          {words.scoreOf(formatDecimal((100 * (promoters - detractors)) / total, visit.locale))}
        </strong>
      </p>
      <div class="result-pair">
        <BarPlot
          id={`parts-${question.id}`}
          title={words.parts}
          axis={words.group}
          bars={[
            { label: words.promoters, value: promoters, kind: "sentiment-positive" },
            { label: words.passives, value: passives, kind: "sentiment-neutral" },
            { label: words.detractors, value: detractors, kind: "sentiment-negative" },
          ]}
          format={withShare(total, visit)}
          visit={visit}
        />
        <div class="of-numbers">
          <BarPlot
            id={`answers-${question.id}`}
            title={words.answers}
            axis={words.answer}
            bars={counts.map(([label, value]) => ({ label, value }))}
            visit={visit}
          />
        </div>
      </div>
    </>
  );
};

const RatingResult = ({ question, total, counts, words, visit }: Measured) => {
  const mean = counts.reduce((sum, [value, count]) => sum + Number(value) * count, 0) / total;
  return (
    <>
      <p class="result-score">
        <strong>
          {words.average(formatDecimal(mean, visit.locale), formatNumber(question.scale ?? 5, visit.locale))}
        </strong>
      </p>
      <div class="of-numbers">
        <BarPlot
          id={`answers-${question.id}`}
          title={words.answers}
          axis={words.answer}
          bars={counts.map(([label, value]) => ({ label, value }))}
          format={withShare(total, visit)}
          visit={visit}
        />
      </div>
    </>
  );
};

const ChoiceResult = ({ question, total, counts, words, visit }: Measured) => {
  // Objects list numeric keys first, so the order comes from the options.
  const byOption = new Map(counts);
  return (
    <BarPlot
      id={`answers-${question.id}`}
      title={words.answers}
      axis={words.options}
      bars={(question.options ?? []).map(({ text }) => ({ label: text, value: byOption.get(text) ?? 0 }))}
      format={withShare(total, visit)}
      visit={visit}
    />
  );
};

const TextResult = ({ survey, question, texts, words, visit }: Measured) => (
  <>
    <h3>{words.newestTexts}</h3>
    <ul class="text-answers">
      {texts
        .filter(({ question_id }) => question_id === question.id)
        .map((text) => (
          <TextItem text={text} surveyId={survey.id} words={words} visit={visit} />
        ))}
    </ul>
    <a class="link" href={`${surveyPath(visit, survey.id, "/texts")}?question=${question.id}`}>
      {words.allTexts}
    </a>
  </>
);

export const TextItem = ({
  text: { value, submitted_at, sentiment, response_id },
  surveyId,
  words,
  visit,
}: {
  text: TextAnswer;
  surveyId: string;
  words: SurveysMessages;
  visit: Visit;
}) => (
  <li>
    <blockquote>{value}</blockquote>
    <p class="facts">
      <SentimentTag sentiment={sentiment} words={words} />
      <a href={surveyPath(visit, surveyId, `/responses/${response_id}`)}>
        <span class="unseen">{words.responseTitle}: </span>
        {formatDay(new Date(submitted_at), visit.locale)}
      </a>
    </p>
  </li>
);
