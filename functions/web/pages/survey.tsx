import type { PropsWithChildren } from "hono/jsx";
import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import type { Question } from "../../../shared/surveys.ts";
import type { Frame } from "../../_shared/statements/pages.ts";
import { openSurvey, type SurveyPage } from "../../_shared/statements/pages.ts";
import { type SurveyDetail, surveyDetail } from "../../_shared/statements/surveys.ts";
import { surveyResponses } from "../../endpoints/survey-responses.ts";
import { messagesOf } from "../../words/index.ts";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { QuestionField } from "../components/question-field.tsx";
import { formatDay, formatNumber } from "../format.ts";
import type { IconName } from "../icons.ts";
import { action, endpointOf, page } from "../page.tsx";
import { frameTarget, hrefWith, linkWith, organizationPath } from "../paths.ts";
import { timeZoneOf, useRendering, useVisit } from "../rendering.ts";
import { withoutEmbed } from "../visit.ts";
import { withReturn } from "./account.tsx";
import { answersOf, problemsOf } from "./survey-form.ts";

type Survey = SurveyDetail & { questions: Question[] };
type Props = { survey: Survey; state: SurveyPage; frame: Frame };

export const survey = page({
  path: "/surveys/:id",
  isEmbeddable: true,
  // `answered` is the id of the response that was just sent.
  query: z.object({ answered: uuid.optional() }),
  frame: ({ params }) => ({ resource: "surveys", id: params.id }),
  read: ({ params, query, locale }) => [
    openSurvey(params.id, locale, query.answered),
    surveyDetail(params.id, ["questions"]),
  ],
  view: ([state, detail], { visit }, frame) => {
    const shown = { ...detail, questions: detail.questions ?? [] };
    const props = { survey: shown, state, frame };
    const { surveys } = visit.messages;
    return {
      title: shown.title,
      description: shown.description || undefined,
      noindex: shown.status !== "published",
      head: state.is_own_response && !visit.isEmbedded ? <Redirect survey={shown} /> : undefined,
      content: (
        <article class="survey">
          <header>
            <h1 dir="auto">{shown.title}</h1>
            {shown.description && <p class="prose">{shown.description}</p>}
            <p class="quiet survey-facts">
              <span>{surveys.questions(shown.questions.length)}</span>
              {shown.closes_at && (
                <span>{surveys.closes(formatDay(new Date(shown.closes_at), visit.locale, timeZoneOf(frame)))}</span>
              )}
            </p>
          </header>
          <State {...props} />
          {shown.settings.show_branding && <p class="branding">{surveys.poweredBy}</p>}
        </article>
      ),
    };
  },
  actions: [
    action(endpointOf(surveyResponses, "post", "/surveys/:id/responses"), {
      path: "/surveys/:id",
      readForm: answersOf,
      redirectTo: ({ json }, { visit }) => hrefWith(visit, { answered: JSON.parse(json).data.response_id }),
    }),
  ],
});

const State = (props: Props) => {
  const visit = useVisit();
  const { survey, state } = props;
  const { surveys, nav, account } = visit.messages;
  if (state.is_own_response) return <Thanks {...props} />;
  switch (state.refusal) {
    case null:
      return <Form {...props} />;
    case "SURVEY_NOT_OPEN":
      if (survey.status === "draft") return <Form {...props} isDraft />;
      return survey.status === "paused" && !survey.closed_at ? (
        <Notice icon="clock" title={surveys.paused} text={surveys.pausedText} />
      ) : (
        <Notice icon="lock" title={surveys.closed} text={surveys.closedText} />
      );
    case "ALREADY_RESPONDED":
      return <Notice icon="circle-check" title={surveys.already} text={surveys.alreadyText} />;
    case "FORBIDDEN":
      return <Notice icon="lock" title={surveys.notYou} text={surveys.notYouText} />;
    case "LOCALE":
      return (
        <Notice icon="languages" title={surveys.otherLanguage} text={surveys.otherLanguageText}>
          {state.locales?.map((locale) => (
            <a class="button" {...linkWith(visit, { lang: locale })} lang={locale}>
              {messagesOf(locale).language}
            </a>
          ))}
        </Notice>
      );
    case "UNAUTHORIZED": {
      const back = withoutEmbed(hrefWith(visit, {}));
      return (
        <Notice icon="lock" title={surveys.signIn} text={surveys.signInText}>
          <Button kind="main" href={withReturn("/sign-in", back)} rel="nofollow" label={nav.signIn} />
          <Button href={withReturn("/sign-up", back)} rel="nofollow" label={account.signUpTitle} />
        </Notice>
      );
    }
  }
};

const ToBoard = () => {
  const { visit, frame } = useRendering();
  return <Button href={`${organizationPath(frame.organization)}/`} label={visit.messages.surveys.toBoard} />;
};

type NoticeProps = PropsWithChildren<{ icon: IconName; title: string; text: string }>;

/** The reason why there is no form, with buttons, by default one that leads to the board. */
const Notice = ({ icon, title, text, children = <ToBoard /> }: NoticeProps) => (
  <section class="card survey-notice">
    <Icon name={icon} />
    <h2>{title}</h2>
    <p>{text}</p>
    <div class="buttons">{children}</div>
  </section>
);

const Form = ({ survey, isDraft }: Props & { isDraft?: boolean }) => {
  const visit = useVisit();
  const { surveys } = visit.messages;
  const { questions } = survey;
  const typed = visit.refused?.typed ?? new URLSearchParams();
  const problems = problemsOf(visit.refused, questions, surveys);
  const done = answersOf(typed).answers.length;
  const answered = (number: string) => surveys.answered(number, formatNumber(questions.length, visit.locale));
  return (
    <form
      method="post"
      action={hrefWith(visit, { answered: null })}
      target={frameTarget(visit)}
      class="survey-form"
      id="survey-form"
      novalidate
      data-island="draft"
      // In a frame, only forms sent by Turbo report that they were submitted.
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
        <span class="quiet number" data-answered={answered("#")}>
          {answered(formatNumber(done, visit.locale))}
        </span>
        <progress value={done} max={questions.length} aria-label={surveys.progress} />
      </div>
      <fieldset class="bare" disabled={isDraft}>
        <ol class="questions">
          {questions.map((question, at) => (
            <QuestionField question={question} number={at + 1} typed={typed} problem={problems.get(question.id)} />
          ))}
        </ol>
        <button type="submit" class="button main large">
          {surveys.submit}
        </button>
      </fieldset>
    </form>
  );
};

const Thanks = ({ survey }: Pick<Props, "survey">) => {
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
          <Button kind="main" href={target.href} rel="noopener">
            {surveys.goOn(target.host)}
            <Icon name="arrow-right" />
          </Button>
        )}
        {settings.allow_multiple_responses && (
          <a class="button" {...linkWith(visit, { answered: null })}>
            {surveys.again}
          </a>
        )}
        {!target && <ToBoard />}
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

/** The URL to continue with after a response; undefined unless it is an http or https URL. */
function targetOf({ settings: { redirect_url } }: Survey): URL | undefined {
  const url = redirect_url && URL.canParse(redirect_url) ? new URL(redirect_url) : undefined;
  return url && ["http:", "https:"].includes(url.protocol) ? url : undefined;
}
