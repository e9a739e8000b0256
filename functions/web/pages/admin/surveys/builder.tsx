import { isUuid } from "../../../../../shared/fields.ts";
import { locales } from "../../../../../shared/locales.ts";
import { audience as audienceSchema, questionTypes } from "../../../../../shared/surveys.ts";
import { trimText } from "../../../../../shared/text.ts";
import type { ErrorDetail } from "../../../../../shared/validation.ts";
import { audienceSubmissions, type Candidate } from "../../../../_shared/statements/surveys.ts";
import { surveys } from "../../../../endpoints/surveys.ts";
import { type AreaTexts, messagesOf } from "../../../../words/index.ts";
import { ArrangeButton, QuestionEditor } from "../../../components/admin/question-editor.tsx";
import { SurveyPreview } from "../../../components/admin/survey-preview.tsx";
import { Button } from "../../../components/button.tsx";
import { Field, Problem } from "../../../components/field.tsx";
import { Form } from "../../../components/form.tsx";
import { Icon } from "../../../components/icon.tsx";
import { endpointOf, form, type Page } from "../../../page.tsx";
import { adminPath } from "../../../paths.ts";
import { RenderingContext, timeZoneOf, useRendering, useTimeZone, useVisit, useWords } from "../../../rendering.ts";
import { adminPage } from "../admin-page.tsx";
import { arranged, formOf, previewOf, questionsOf, shownForm, surveyOf } from "./draft.ts";
import { madeSurvey, ofSurvey, readSurvey, surveyPath, trailOf } from "./shared.tsx";

const create = endpointOf(surveys, "post", "/surveys");
const blank = new URLSearchParams({ "settings.show_branding": "true", "targeting.audience": "everyone" });

export const newSurvey = adminPage({
  area: "surveys",
  path: "/new",
  read: ({ visit }) => [audienceOf(undefined, shownForm(visit, blank))],
  view: ([candidates], { visit, words }) => {
    const path = adminPath(visit, "/surveys");
    return {
      title: words.newTitle,
      trail: [],
      content: <Builder form={shownForm(visit, blank)} candidates={candidates} save={path} cancel={path} />,
    };
  },
  actions: [{ of: create, path: "", readForm: surveyOf, done: "created", next: madeSurvey }],
});

export const editSurvey = adminPage({
  ...ofSurvey("/edit"),
  read: ({ params: { id }, visit }) => [
    ...readSurvey(id, ["questions", "targeting"]),
    audienceOf(id, shownForm(visit, new URLSearchParams())),
  ],
  view: ([, survey, candidates], { visit, words }, frame) => ({
    title: words.editTitle,
    trail: trailOf(visit, survey),
    content:
      survey.status === "draft" ? (
        <Builder
          form={shownForm(visit, formOf(survey, timeZoneOf(frame)))}
          candidates={candidates}
          save={surveyPath(visit, survey.id, "/edit")}
          isPatch
          cancel={surveyPath(visit, survey.id)}
        />
      ) : (
        <>
          <Problem />
          <p class="notice">{words.notADraft}</p>
        </>
      ),
  }),
  actions: [{ of: endpointOf(surveys, "patch", "/surveys/:id"), readForm: surveyOf, done: "saved", next: "/:id" }],
});

/** Shows the builder again after one of its buttons that save nothing. */
const arranging = (again: Page): Page => ({
  ...form({
    path: again.path,
    access: "person",
    ofOrganization: true,
    formPage: again,
    work: async ({ visit }) => ({ status: 200, json: arranged(visit.form as URLSearchParams).toString() }),
  }),
  resultPage: again,
});

export const arrangeNew = arranging(newSurvey);
export const arrangeSurvey = arranging(editSurvey);

/** Submissions to choose from, as far as the form names or looks for any. */
function audienceOf(surveyId: string | undefined, form: URLSearchParams) {
  const chosen = form.get("targeting.submission_id") ?? "";
  const words = trimText(form.get("find") ?? "").slice(0, 200);
  return audienceSubmissions(
    surveyId,
    isUuid(chosen) ? chosen : undefined,
    // Postgres cannot store this text, so it matches nothing.
    words.includes("\0") ? undefined : words || undefined,
  );
}

type Props = { form: URLSearchParams; candidates: Candidate[]; save: string; isPatch?: boolean; cancel: string };

const Builder = ({ form, candidates, save, isPatch, cancel }: Props) => {
  const words = useWords("surveys");
  // Errors are looked up by the current names of the questions' fields.
  const rendering = useRendering();
  const timeZone = useTimeZone();
  const { refused } = rendering.visit;
  const shown = refused && { ...refused, typed: form, details: withOptions(refused.details, words) };
  // The method is set on the buttons, because buttons that rearrange the form must not send one.
  const how = isPatch ? { name: "_method", value: "patch" } : {};
  return (
    <RenderingContext.Provider value={{ ...rendering, visit: { ...rendering.visit, refused: shown } }}>
      <div class="builder">
        <Form
          of={create}
          to={save}
          values={Object.fromEntries(form)}
          class="stack"
          id="survey-builder"
          island="survey-builder"
          hidden={{ time_zone: timeZone }}
          isOnce={!isPatch}
        >
          {/* What Enter in a field presses. */}
          <button type="submit" class="unseen" tabindex={-1} {...how}>
            {words.save}
          </button>
          <section class="card stack">
            <Field name="title" label={words.titleField} />
            <Field name="description" label={words.description} hint={words.descriptionHint} rows={3} />
          </section>
          <section class="stack" aria-labelledby="questions-title">
            <h2 id="questions-title">{words.questions}</h2>
            <turbo-frame id="questions">
              <Questions form={form} />
            </turbo-frame>
          </section>
          <section class="card stack">
            <h2>{words.audience}</h2>
            <turbo-frame id="audience">
              <Audience form={form} candidates={candidates} />
            </turbo-frame>
            <Languages form={form} />
          </section>
          <section class="card stack">
            <h2>{words.settings}</h2>
            <Field name="closes_at" type="datetime-local" label={words.closesAt} hint={words.closesHint(timeZone)} />
            <Field
              name="settings.redirect_url"
              label={words.redirectUrl}
              hint={words.redirectHint}
              placeholder="https://"
            />
            <div>
              <Field name="settings.allow_multiple_responses" label={words.allowMultiple} />
              <Field name="settings.show_branding" label={words.showBranding} />
            </div>
          </section>
          <div class="buttons builder-buttons">
            <Button kind="main" {...how} label={words.save} />
            <ArrangeButton class="button" does="preview" frame="preview">
              <Icon name="eye" />
              {words.showPreview}
            </ArrangeButton>
            <Button href={cancel}>{words.cancel}</Button>
          </div>
        </Form>
        <aside class="builder-preview" aria-labelledby="preview-title">
          <h2 id="preview-title">{words.preview}</h2>
          <p class="quiet small">{words.previewHint}</p>
          <turbo-frame id="preview">
            <SurveyPreview
              title={form.get("title") ?? ""}
              description={form.get("description") ?? ""}
              questions={previewOf(form)}
              empty={words.previewEmpty}
            />
          </turbo-frame>
        </aside>
      </div>
    </RenderingContext.Provider>
  );
};

/** Moves the errors of single options to the field that contains all options. */
function withOptions(details: ErrorDetail[], words: AreaTexts["surveys"]): ErrorDetail[] {
  const messages = new Map<string, string[]>();
  for (const { field, message } of details) {
    const [, all = field, line] = /^(questions\.\d+\.options)\.(\d+)$/.exec(field) ?? [];
    const said = line ? `${words.optionLine(Number(line) + 1)}${words.colon}${message}` : message;
    messages.set(all, [...(messages.get(all) ?? []), said]);
  }
  return [...messages].map(([field, all]) => ({ field, message: all.join("; ") }));
}

type FormProps = Pick<Props, "form">;

const Questions = ({ form }: FormProps) => {
  const words = useWords("surveys");
  const questions = questionsOf(form);
  const focus = form.get("focus");
  return (
    <div class="stack">
      {questions.length === 0 ? (
        <p class="quiet">{words.noQuestions}</p>
      ) : (
        <ol class="question-editors">
          {questions.map((question, index) => (
            <QuestionEditor question={question} index={index} count={questions.length} focus={focus} />
          ))}
        </ol>
      )}
      <div class="add-question">
        <fieldset>
          <legend>{words.addQuestion}</legend>
          <div class="buttons">
            {questionTypes.map((type, index) => (
              <ArrangeButton does={`add.${type}`} autofocus={focus === "add" && index === 0}>
                <Icon name="plus" />
                {words.types[type]}
              </ArrangeButton>
            ))}
          </div>
        </fieldset>
      </div>
    </div>
  );
};

const Audience = ({ form, candidates }: Pick<Props, "form" | "candidates">) => {
  const words = useWords("surveys");
  const visit = useVisit();
  const audience = form.get("targeting.audience") || "everyone";
  const chosen = form.get("targeting.submission_id");
  const problem = visit.refused?.details.some(({ field }) => field === "targeting.submission_id");
  return (
    <div class="stack audience">
      <div class="stack-small">
        {audienceSchema.options.map((option) => (
          <label class="check">
            <input type="radio" name="targeting.audience" value={option} checked={audience === option} />
            <span>{words.audiences[option]}</span>
          </label>
        ))}
      </div>
      <fieldset class="of-submission stack-small" aria-describedby={problem ? "audience-problem" : undefined}>
        <legend>{words.submission}</legend>
        {problem && (
          <p class="problem" id="audience-problem">
            {words.chooseSubmission}
          </p>
        )}
        {candidates.map(({ id, title, vote_count }) => (
          <label class="check">
            <input
              type="radio"
              name="targeting.submission_id"
              value={id}
              checked={id === chosen || (candidates.length === 1 && !chosen)}
            />
            <span>
              {title} <span class="quiet small">{words.votes(vote_count)}</span>
            </span>
          </label>
        ))}
        {form.get("find") && candidates.length === 0 && (
          <p class="quiet" role="status">
            {words.noSubmission}
          </p>
        )}
        <div class="find-submission">
          <label class="search">
            <Icon name="search" />
            <input
              type="search"
              name="find"
              value={form.get("find") ?? ""}
              placeholder={words.findSubmission}
              aria-label={words.findSubmission}
              autofocus={form.get("do") === "find"}
            />
          </label>
          <ArrangeButton class="button" does="find" frame="audience">
            {words.find}
          </ArrangeButton>
        </div>
      </fieldset>
    </div>
  );
};

const Languages = ({ form }: FormProps) => {
  const words = useWords("surveys");
  const chosen = form.getAll("targeting.locales");
  return (
    <fieldset aria-describedby="languages-hint">
      <legend>{words.languages}</legend>
      <p class="quiet small" id="languages-hint">
        {words.languagesHint}
      </p>
      <div class="checks">
        {locales.map((locale) => (
          <label class="check">
            <input type="checkbox" name="targeting.locales" value={locale} checked={chosen.includes(locale)} />
            <span lang={locale}>{messagesOf(locale).language}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
};
