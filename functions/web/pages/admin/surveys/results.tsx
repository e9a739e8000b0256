import type { Child } from "hono/jsx";
import {
  newestTexts,
  type ResponseSeries,
  responseSeries,
  type TextAnswer,
} from "../../../../_shared/statements/survey-responses.ts";
import type { Expanded } from "../../../../_shared/statements/surveys.ts";
import { surveys } from "../../../../endpoints/surveys.ts";
import { messagesOf } from "../../../../words/index.ts";
import { Moment } from "../../../components/admin/moment.tsx";
import { BarPlot, LinePlot } from "../../../components/admin/plot.tsx";
import { Stat } from "../../../components/admin/stat.tsx";
import { SurveyPreview } from "../../../components/admin/survey-preview.tsx";
import { Button } from "../../../components/button.tsx";
import { Day } from "../../../components/day.tsx";
import { Problem } from "../../../components/field.tsx";
import { Form } from "../../../components/form.tsx";
import { formatDay, formatList, formatNumber } from "../../../format.ts";
import { endpointOf } from "../../../page.tsx";
import { useRendering, useVisit, useWords } from "../../../rendering.ts";
import type { Visit } from "../../../visit.ts";
import { adminPage } from "../admin-page.tsx";
import {
  formatDecimal,
  formatDuration,
  formatShare,
  madeSurvey,
  measured,
  ofSurvey,
  readSurvey,
  SentimentTag,
  SurveyStatus,
  SurveyViews,
  sentiments,
  surveyPath,
} from "./shared.tsx";

type Plot = Parameters<typeof BarPlot>[0];
type Survey = Expanded<"questions" | "targeting" | "analytics">;
type Props = { survey: Survey };

const ofApi = (path: string) => endpointOf(surveys, "post", `/surveys/:id/${path}`);
const changes = {
  publish: { of: ofApi("publish"), done: "published", icon: "send" },
  pause: { of: ofApi("pause"), done: "paused", icon: "pause" },
  resume: { of: ofApi("resume"), done: "resumed", icon: "play" },
} as const;
const newVersion = ofApi("versions");

/** A survey: a draft with its preview, any other with its results. */
export const surveyResults = adminPage({
  ...ofSurvey(""),
  read: ({ params: { id } }) => [
    ...readSurvey(id, ["questions", "targeting", "analytics"]),
    responseSeries(id),
    newestTexts(id, 3),
  ],
  view: ([, survey, series, texts]) => ({
    title: survey.title,
    trail: [],
    actions: <SurveyStatus status={survey.status} />,
    content: (
      <>
        <Problem />
        <About survey={survey} />
        <Actions survey={survey} />
        {survey.status === "draft" ? (
          <Draft survey={survey} />
        ) : (
          <>
            <SurveyViews current="results" />
            <Results survey={survey} series={series} texts={texts} />
          </>
        )}
      </>
    ),
  }),
  actions: [
    ...Object.entries(changes).map(([name, { of, done }]) => ({ of, path: `/:id/${name}`, done, next: "/:id" })),
    { of: newVersion, path: "/:id/versions", done: "versioned", next: madeSurvey },
  ],
});

/** The audience of the survey, its languages and its end. */
const About = ({ survey: { targeting, closes_at, closed_at } }: Props) => {
  const words = useWords("surveys");
  const languages = targeting.locales?.map((of) => messagesOf(of).language);
  return (
    <p class="survey-about">
      <span>{words.audiences[targeting.audience]}</span>
      {languages && <span>{formatList(languages, useVisit().locale)}</span>}
      {(closed_at ?? closes_at) && (
        <span>
          {closed_at ? words.closed : words.closesAt} <Moment at={closed_at ?? closes_at ?? ""} toMinute />
        </span>
      )}
    </p>
  );
};

/** Actions that the status of the survey permits. */
const Actions = ({ survey: { id, status, version_of } }: Props) => {
  const words = useWords("surveys");
  const visit = useVisit();
  const path = surveyPath(visit, id);
  const change = (name: keyof typeof changes, kind?: "main") => (
    <Form of={changes[name].of} hasProblem={false}>
      <Button kind={kind} icon={changes[name].icon} label={words[name]} />
    </Form>
  );
  return (
    <div class="buttons">
      {status === "draft" && change("publish", "main")}
      {status === "draft" && <Button icon="pencil" href={`${path}/edit`} label={words.edit} />}
      {status === "published" && change("pause")}
      {status === "paused" && change("resume", "main")}
      {(status === "published" || status === "paused") && (
        <Form of={newVersion} isOnce hasProblem={false}>
          <Button icon="copy">{words.newVersion}</Button>
        </Form>
      )}
      {status !== "archived" && <Button icon="archive" href={`${path}/archive`} label={words.archive} />}
      <Button kind="danger" icon="trash-2" href={`${path}/delete`} label={words.delete} />
      {version_of && (
        <a class="link" href={surveyPath(visit, version_of)}>
          {words.versionOf}
        </a>
      )}
    </div>
  );
};

const Draft = ({ survey }: Props) => {
  const words = useWords("surveys");
  return (
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
        />
      </section>
    </>
  );
};

type ResultsProps = Props & { series: ResponseSeries; texts: TextAnswer[] };

const Results = (props: ResultsProps) => {
  const visit = useVisit();
  const { survey, series } = props;
  const words = useWords("surveys");
  const { locale } = visit;
  const { nps_count, nps_score = 0, sentiment } = survey.analytics;
  if (survey.response_count === 0)
    return (
      <div class="empty">
        <h2>{words.noResponses}</h2>
        <p>{words.noResponsesText}</p>
        <Button kind="main" icon="qr-code" href={surveyPath(visit, survey.id, "/share")} label={words.views.share} />
      </div>
    );
  return (
    <>
      <dl class="stats">
        <Stat label={words.columns.responses} value={formatNumber(survey.response_count, locale)} />
        <Stat
          label={words.completionRate}
          value={formatShare(measured(survey.completion_rate, survey.start_count), locale)}
          hint={words.completionHint}
        />
        <Stat
          label={words.averageTime}
          value={formatDuration(measured(survey.avg_completion_time, survey.timed_count))}
        />
        {nps_count !== 0 && (
          <Stat label={words.npsScore} value={formatDecimal(nps_score, locale)} hint={words.npsHint} />
        )}
        {sentiment && sentiment.scored_count > 0 && (
          <Stat
            label={words.sentiment}
            value={formatDecimal(sentiment.overall, locale, 2)}
            hint={words.sentimentHint}
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
              label: formatDay(new Date(start), locale, "UTC"),
              value: responses,
            }))}
          />
        </section>
        {sentiment && (
          <section class="card" aria-labelledby="sentiment-title">
            <h2 id="sentiment-title">{words.sentiment}</h2>
            <BarPlot
              id="sentiment-plot"
              title={words.columns.responses}
              axis={words.sentiment}
              bars={sentiments.map((kind) => ({
                label: words.sentiments[kind],
                value: sentiment[`${kind}_count`],
                kind: `sentiment-${kind}`,
                href: `${surveyPath(visit, survey.id, "/responses")}?sentiment=${kind}`,
              }))}
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

type Measured = QuestionProps & { total: number; counts: [value: string, count: number][] };

/** Writes a number of answers with its share of all. */
const withShare =
  (total: number, { locale }: Visit) =>
  (value: number) =>
    `${formatNumber(value, locale)} (${formatShare(value / total, locale)})`;

const Score = ({ children }: { children?: Child }) => (
  <p class="result-score">
    <strong>{children}</strong>
  </p>
);

/** How often each number was answered. */
const Numbers = ({ question, counts, format }: Pick<Measured, "question" | "counts"> & Pick<Plot, "format">) => {
  const words = useWords("surveys");
  return (
    <div class="of-numbers">
      <BarPlot
        id={`answers-${question.id}`}
        title={words.answers}
        axis={words.answer}
        bars={counts.map(([label, value]) => ({ label, value }))}
        format={format}
      />
    </div>
  );
};

const NpsResult = ({ question, total, counts }: Measured) => {
  const words = useWords("surveys");
  const visit = useVisit();
  const sum = (from: number, to: number) =>
    counts.reduce((all, [value, count]) => (Number(value) >= from && Number(value) <= to ? all + count : all), 0);
  const [promoters, passives, detractors] = [sum(9, 10), sum(7, 8), sum(0, 6)];
  return (
    <>
      <Score>{words.scoreOf(formatDecimal((100 * (promoters - detractors)) / total, visit.locale))}</Score>
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
        />
        <Numbers question={question} counts={counts} />
      </div>
    </>
  );
};

const RatingResult = ({ question, total, counts }: Measured) => {
  const words = useWords("surveys");
  const visit = useVisit();
  const mean = counts.reduce((sum, [value, count]) => sum + Number(value) * count, 0) / total;
  const highest = formatNumber(question.scale ?? 5, visit.locale);
  return (
    <>
      <Score>{words.average(formatDecimal(mean, visit.locale), highest)}</Score>
      <Numbers question={question} counts={counts} format={withShare(total, visit)} />
    </>
  );
};

const ChoiceResult = ({ question, total, counts }: Measured) => {
  const words = useWords("surveys");
  // Objects list numeric keys first, so the order comes from the options.
  const byOption = new Map(counts);
  return (
    <BarPlot
      id={`answers-${question.id}`}
      title={words.answers}
      axis={words.options}
      bars={(question.options ?? []).map(({ text }) => ({ label: text, value: byOption.get(text) ?? 0 }))}
      format={withShare(total, useVisit())}
    />
  );
};

const TextResult = ({ survey, question, texts }: Measured) => {
  const words = useWords("surveys");
  const visit = useVisit();
  return (
    <>
      <h3>{words.newestTexts}</h3>
      <ul class="text-answers">
        {texts
          .filter(({ question_id }) => question_id === question.id)
          .map((text) => (
            <TextItem text={text} />
          ))}
      </ul>
      <a class="link" href={`${surveyPath(visit, survey.id, "/texts")}?question=${question.id}`}>
        {words.allTexts}
      </a>
    </>
  );
};

const EmailResult = ({ survey }: Measured) => (
  <a class="link" href={surveyPath(useVisit(), survey.id, "/responses")}>
    {useWords("surveys").seeAnswers}
  </a>
);

const resultsByType = {
  nps: NpsResult,
  rating: RatingResult,
  multiple_choice: ChoiceResult,
  text: TextResult,
  email: EmailResult,
};

const QuestionResult = (props: QuestionProps) => {
  const words = useWords("surveys");
  const { survey, question, number } = props;
  const measured = survey.analytics.breakdown_by_question?.find(({ question_id }) => question_id === question.id);
  const total = measured?.answer_count ?? 0;
  const Result = resultsByType[question.type];
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
      {total === 0 ? <p class="quiet">{words.noTexts}</p> : <Result {...props} total={total} counts={counts} />}
    </li>
  );
};

/** An answer, with a link to its response. */
export const TextItem = ({ text: { value, submitted_at, sentiment, response_id } }: { text: TextAnswer }) => {
  const words = useWords("surveys");
  const { visit, params } = useRendering();
  return (
    <li>
      <blockquote>{value}</blockquote>
      <p class="facts">
        <SentimentTag sentiment={sentiment} />
        <a href={surveyPath(visit, params.id ?? "", `/responses/${response_id}`)}>
          <span class="unseen">{words.responseTitle + words.colon}</span>
          <Day at={submitted_at} />
        </a>
      </p>
    </li>
  );
};
