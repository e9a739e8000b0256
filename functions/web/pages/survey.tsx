import type { JSX } from "hono/jsx/jsx-runtime";
import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import type { Question, surveyDetail as surveyDetailSchema } from "../../../shared/surveys.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import type { Frame } from "../../_shared/statements/pages.ts";
import { openSurvey, type SurveyPage } from "../../_shared/statements/pages.ts";
import { surveyDetail } from "../../_shared/statements/surveys.ts";
import { surveyResponses } from "../../endpoints/survey-responses.ts";
import { messagesOf } from "../../words/index.ts";
import { Icon } from "../components/icon.tsx";
import { QuestionField } from "../components/question-field.tsx";
import { formatDay } from "../format.ts";
import type { IconName } from "../icons.ts";
import { action, page } from "../page.tsx";
import { frameTarget, hrefWith, linkWith, organizationPath } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { withoutEmbed } from "../visit.ts";
import { answersOf, problemsOf } from "./survey-form.ts";

type Survey = z.infer<typeof surveyDetailSchema> & { questions: Question[] };
type Props = { survey: Survey; state: SurveyPage; frame: Frame };

export const survey = page({
  path: "/surveys/:id",
  isEmbeddable: true,
  // `answered` is the id of the new response.
  query: z.object({ answered: uuid.optional() }),
  frame: ({ params }) => ({ resource: "surveys", id: params.id as string }),
  call: ({ params, query, locale }) => [
    openSurvey(params.id as string, locale, query.answered),
    surveyDetail(params.id as string, ["questions"]),
  ],
  view: ([[opened], [detail]], { visit }, frame) => {
    if (!opened || !detail) throw notFound("survey");
    const shown: Survey = JSON.parse(detail.data);
    const props = { survey: shown, state: opened.data, frame };
    return {
      title: shown.title,
      description: shown.description || undefined,
      noindex: shown.status !== "published",
      head: opened.data.is_own_response && !visit.isEmbedded ? <Redirect survey={shown} /> : undefined,
      content: (
        <article class="survey">
          <header>
            <h1>{shown.title}</h1>
            {shown.description && <p class="prose">{shown.description}</p>}
            <Facts survey={shown} />
          </header>
          <State {...props} />
          {shown.settings.show_branding && <p class="branding">{visit.messages.surveys.poweredBy}</p>}
        </article>
      ),
    };
  },
});

const answering = surveyResponses.find(
  ({ method, path }) => method === "post" && path.endsWith("/responses"),
);
if (!answering) throw new Error("The API has no endpoint to answer a survey by.");

export const surveyForm = action(answering, {
  path: "/surveys/:id",
  isEmbeddable: true,
  readForm: answersOf,
  formPage: survey,
  redirectTo: ({ json }, { visit }) => hrefWith(visit, { answered: JSON.parse(json).data.response_id }),
});

const State = (props: Props) => {
  const visit = useVisit();
  const { survey, state, frame } = props;
  const { surveys, nav } = visit.messages;
  if (state.is_own_response) return <Thanks {...props} />;
  const board = `${organizationPath(frame.organization)}/`;
  const toBoard = (
    <a class="button" href={board}>
      {surveys.toBoard}
    </a>
  );
  switch (state.refusal) {
    case null:
      return <Form {...props} />;
    case "SURVEY_NOT_OPEN":
      if (survey.status === "draft") return <Form {...props} isDraft />;
      return survey.status === "paused" && !survey.closed_at ? (
        <Notice icon="clock" title={surveys.paused} text={surveys.pausedText} action={toBoard} />
      ) : (
        <Notice icon="lock" title={surveys.closed} text={surveys.closedText} action={toBoard} />
      );
    case "ALREADY_RESPONDED":
      return (
        <Notice icon="circle-check" title={surveys.already} text={surveys.alreadyText} action={toBoard} />
      );
    case "FORBIDDEN":
      return <Notice icon="lock" title={surveys.notYou} text={surveys.notYouText} action={toBoard} />;
    case "LOCALE":
      return (
        <Notice
          icon="languages"
          title={surveys.otherLanguage}
          text={surveys.otherLanguageText}
          action={(state.locales ?? []).map((locale) => (
            <a class="button" {...linkWith(visit, { lang: locale })} lang={locale}>
              {messagesOf(locale).language}
            </a>
          ))}
        />
      );
    case "UNAUTHORIZED": {
      const back = encodeURIComponent(withoutEmbed(hrefWith(visit, {})));
      return (
        <Notice
          icon="lock"
          title={surveys.signIn}
          text={surveys.signInText}
          action={
            <>
              <a class="button main" href={`/sign-in?return_to=${back}`} rel="nofollow">
                {nav.signIn}
              </a>
              <a class="button" href={`/sign-up?return_to=${back}`} rel="nofollow">
                {visit.messages.account.signUpTitle}
              </a>
            </>
          }
        />
      );
    }
  }
};

type NoticeProps = {
  icon: IconName;
  title: string;
  text: string;
  action: JSX.Element | JSX.Element[];
};

/** The reason why there is no form, and a link to the board. */
const Notice = ({ icon, title, text, action }: NoticeProps) => (
  <section class="card survey-notice">
    <Icon name={icon} />
    <h2>{title}</h2>
    <p>{text}</p>
    <div class="buttons">{action}</div>
  </section>
);

const Facts = ({ survey }: Pick<Props, "survey">) => {
  const visit = useVisit();
  const { surveys } = visit.messages;
  return (
    <p class="quiet survey-facts">
      <span>{surveys.questions(survey.questions.length)}</span>
      {survey.closes_at && <span>{surveys.closes(formatDay(new Date(survey.closes_at), visit.locale))}</span>}
    </p>
  );
};

const Form = ({ survey, isDraft }: Props & { isDraft?: boolean }) => {
  const visit = useVisit();
  const { surveys } = visit.messages;
  const { questions } = survey;
  const typed = visit.refused?.typed ?? new URLSearchParams();
  const problems = problemsOf(visit.refused, questions, surveys);
  const done = answersOf(typed).answers.length;
  return (
    <form
      method="post"
      action={hrefWith(visit, { answered: null })}
      target={frameTarget(visit)}
      class="survey-form"
      id="survey-form"
      novalidate
      data-island="draft"
      // In a frame only the forms of Turbo tell that they were sent.
      data-turbo={visit.isEmbedded ? "true" : undefined}
    >
      {isDraft && <div class="notice">{surveys.draft}</div>}
      {visit.refused && (
        <div class="notice problem" role="alert" tabindex={-1} autofocus data-island="focus">
          {problems.size > 0 ? (
            <>
              <p>{surveys.problems}</p>
              <ul>
                {questions.map(({ id }, at) => {
                  const problem = problems.get(id);
                  return (
                    problem && (
                      <li>
                        <a class="link" href={`#question-${id}`}>
                          {surveys.problemAt(at + 1, problem)}
                        </a>
                      </li>
                    )
                  );
                })}
              </ul>
            </>
          ) : (
            <p>{surveys.answerSomething}</p>
          )}
        </div>
      )}
      <div class="survey-progress" id="survey-progress" data-island="survey">
        <span class="quiet number" data-answered={surveys.answered("#", questions.length)}>
          {surveys.answered(done, questions.length)}
        </span>
        <progress value={done} max={questions.length} aria-label={surveys.progress} />
      </div>
      <fieldset class="bare" disabled={isDraft}>
        <ol class="questions">
          {questions.map((question, at) => (
            <QuestionField
              question={question}
              number={at + 1}
              typed={typed}
              problem={problems.get(question.id)}
              messages={visit.messages}
            />
          ))}
        </ol>
        <button type="submit" class="button main large">
          {surveys.submit}
        </button>
      </fieldset>
    </form>
  );
};

const Thanks = ({ survey, frame }: Props) => {
  const visit = useVisit();
  const { surveys } = visit.messages;
  const { settings } = survey;
  const target = targetOf(survey);
  return (
    <section class="card survey-notice" role="status">
      <Icon name="circle-check" />
      <h2>{surveys.thanks}</h2>
      <p>{surveys.thanksText}</p>
      {target && !visit.isEmbedded && <p class="quiet">{surveys.goingOn(target.host)}</p>}
      <div class="buttons">
        {target && (
          <a class="button main" href={target.href} rel="noopener">
            {surveys.goOn(target.host)}
            <Icon name="arrow-right" />
          </a>
        )}
        {settings.allow_multiple_responses && (
          <a class="button" {...linkWith(visit, { answered: null })}>
            {surveys.again}
          </a>
        )}
        {!target && (
          <a class="button" href={`${organizationPath(frame.organization)}/`}>
            {surveys.toBoard}
          </a>
        )}
      </div>
    </section>
  );
};

/**
 * Redirects immediately by a meta refresh. A redirect would not work: a form may only redirect to pages of
 * this site (form-action).
 */
const Redirect = ({ survey }: { survey: Survey }) => {
  const target = targetOf(survey);
  return target ? <meta http-equiv="refresh" content={`0;url=${target.href}`} /> : null;
};

/** The redirect after a response: an http(s) URL, whatever was stored. */
function targetOf({ settings: { redirect_url } }: Survey): URL | undefined {
  const url = redirect_url && URL.canParse(redirect_url) ? new URL(redirect_url) : undefined;
  return url && ["http:", "https:"].includes(url.protocol) ? url : undefined;
}
