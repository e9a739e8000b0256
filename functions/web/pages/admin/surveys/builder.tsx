import type { JSX } from "hono/jsx/jsx-runtime";
import { isUuid } from "../../../../../shared/fields.ts";
import { locales } from "../../../../../shared/locales.ts";
import { audience as audienceSchema, questionTypes } from "../../../../../shared/surveys.ts";
import { trimText } from "../../../../../shared/text.ts";
import type { Statement } from "../../../../_shared/database/run.ts";
import { notFound } from "../../../../_shared/http/api-error.ts";
import type { Data } from "../../../../_shared/statements/shapes.ts";
import { audienceSubmissions, requireSurvey, surveyDetail } from "../../../../_shared/statements/surveys.ts";
import { surveys } from "../../../../endpoints/surveys.ts";
import { messagesOf } from "../../../../words/index.ts";
import { Check, QuestionEditor } from "../../../components/admin/question-editor.tsx";
import { SurveyPreview } from "../../../components/admin/survey-preview.tsx";
import { Field, Problem } from "../../../components/field.tsx";
import { FormId } from "../../../components/form-id.tsx";
import { Icon } from "../../../components/icon.tsx";
import { endpointOf, form, type Page } from "../../../page.tsx";
import { adminPath } from "../../../paths.ts";
import { RenderingContext, useRendering, useVisit, useWords } from "../../../rendering.ts";
import { adminAction, adminPage } from "../admin-page.tsx";
import { arranged, formOf, previewOf, questionsOf, shownForm, surveyOf } from "./draft.ts";
import { type Survey, surveyPath, trailOf } from "./shared.tsx";

const nothing = new URLSearchParams({ "settings.show_branding": "true", "targeting.audience": "everyone" });

export const newSurvey = adminPage({
  area: "surveys",
  path: "/new",
  call: ({ visit }) => [audienceOf(undefined, shownForm(visit, nothing))],
  view: ([[found]], { visit, words }) => ({
    title: words.newTitle,
    trail: [],
    content: (
      <Builder
        form={shownForm(visit, nothing)}
        found={found}
        save={adminPath(visit, "/surveys")}
        arrange={adminPath(visit, "/surveys/new")}
        cancel={adminPath(visit, "/surveys")}
      />
    ),
  }),
});

export const editSurvey = adminPage({
  area: "surveys",
  path: "/:id/edit",
  row: ({ params: { id } }) => ({ resource: "surveys", id }),
  call: ({ params: { id }, visit }) => [
    requireSurvey(id, "surveys:read"),
    surveyDetail(id, ["questions", "targeting"]),
    audienceOf(id, shownForm(visit, new URLSearchParams())),
  ],
  view: ([, [detail], [found]], { visit, words }) => {
    if (!detail) throw notFound("survey");
    const survey: Survey = JSON.parse(detail.data);
    const path = surveyPath(visit, survey.id, "/edit");
    return {
      title: words.editTitle,
      trail: trailOf(visit, survey),
      content:
        survey.status === "draft" ? (
          <Builder
            form={shownForm(visit, formOf(survey))}
            found={found}
            save={path}
            isPatch
            arrange={path}
            cancel={surveyPath(visit, survey.id)}
          />
        ) : (
          <>
            <Problem />
            <p class="notice">{words.notADraft}</p>
          </>
        ),
    };
  },
});

export const createSurvey = adminAction(endpointOf(surveys, "post", "/surveys"), {
  area: "surveys",
  formPage: newSurvey,
  readForm: surveyOf,
  doneMessage: "created",
  redirectTo: ({ json }, { visit }) => surveyPath(visit, JSON.parse(json).data.id),
});

export const saveSurvey = adminAction(endpointOf(surveys, "patch", "/surveys/:id"), {
  area: "surveys",
  path: "/:id/edit",
  formPage: editSurvey,
  readForm: surveyOf,
  doneMessage: "saved",
  redirectTo: (_response, { visit, params }) => surveyPath(visit, params.id ?? ""),
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
function audienceOf(surveyId: string | undefined, form: URLSearchParams): Statement<Data> {
  const chosen = form.get("targeting.submission_id") ?? "";
  const words = trimText(form.get("find") ?? "").slice(0, 200);
  return audienceSubmissions(
    surveyId,
    isUuid(chosen) ? chosen : undefined,
    // Postgres cannot store this text, so it matches nothing.
    words.includes("\0") ? undefined : words || undefined,
  );
}

type Props = {
  form: URLSearchParams;
  found: Data | undefined;
  save: string;
  isPatch?: boolean;
  arrange: string;
  cancel: string;
};

const last = (form: URLSearchParams, name: string) => form.getAll(name).at(-1) ?? "";

const Builder = (props: Props) => {
  const words = useWords("surveys");
  const { form, save, isPatch, arrange, cancel } = props;
  // Errors are looked up by the current names of the questions' fields.
  const rendering = useRendering();
  const { refused } = rendering.visit;
  const visit = { ...rendering.visit, refused: refused && { ...refused, typed: form } };
  const how = isPatch ? { name: "_method", value: "patch" } : {};
  return (
    <RenderingContext.Provider value={{ ...rendering, visit }}>
      <div class="builder">
        <form method="post" action={save} id="survey-builder" class="stack" data-island="survey-builder">
          {!isPatch && <FormId />}
          {/* What Enter in a field presses. */}
          <button type="submit" class="unseen" tabindex={-1} {...how}>
            {words.save}
          </button>
          <Problem />
          <section class="card stack">
            <Field
              name="title"
              label={words.titleField}
              value={form.get("title") ?? ""}
              required
              maxlength={200}
            />
            <Field
              name="description"
              label={words.description}
              hint={words.descriptionHint}
              value={form.get("description") ?? ""}
              rows={3}
              maxlength={5000}
            />
          </section>
          <section class="stack" aria-labelledby="questions-title">
            <h2 id="questions-title">{words.questions}</h2>
            <turbo-frame id="questions">
              <Questions form={form} arrange={arrange} />
            </turbo-frame>
          </section>
          <section class="card stack">
            <h2>{words.audience}</h2>
            <turbo-frame id="audience">
              <Audience {...props} />
            </turbo-frame>
            <Languages form={form} />
          </section>
          <section class="card stack">
            <h2>{words.settings}</h2>
            <DateTime form={form} />
            <Field
              name="settings.redirect_url"
              type="url"
              label={words.redirectUrl}
              hint={words.redirectHint}
              value={form.get("settings.redirect_url") ?? ""}
              maxlength={2000}
              placeholder="https://"
            />
            <div>
              <Check
                name="settings.allow_multiple_responses"
                label={words.allowMultiple}
                checked={last(form, "settings.allow_multiple_responses") === "true"}
              />
              <Check
                name="settings.show_branding"
                label={words.showBranding}
                checked={last(form, "settings.show_branding") === "true"}
              />
            </div>
          </section>
          <div class="buttons builder-buttons">
            <button type="submit" class="button main" {...how}>
              {words.save}
            </button>
            <button
              type="submit"
              class="button"
              name="do"
              value="preview"
              formaction={arrange}
              formnovalidate
              data-turbo-frame="preview"
            >
              <Icon name="eye" />
              {words.showPreview}
            </button>
            <a class="button" href={cancel}>
              {words.cancel}
            </a>
          </div>
        </form>
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

type PartProps = Pick<Props, "form"> & { arrange: string };

const Questions = ({ form, arrange }: PartProps) => {
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
            <QuestionEditor
              question={question}
              index={index}
              count={questions.length}
              arrange={arrange}
              focus={focus}
            />
          ))}
        </ol>
      )}
      <fieldset class="add-question">
        <legend>{words.addQuestion}</legend>
        <div class="buttons">
          {questionTypes.map((type, index) => (
            <button
              type="submit"
              class="button small"
              name="do"
              value={`add.${type}`}
              formaction={arrange}
              formnovalidate
              data-turbo-frame="questions"
              autofocus={focus === "add" && index === 0}
            >
              <Icon name="plus" />
              {words.types[type]}
            </button>
          ))}
        </div>
      </fieldset>
    </div>
  );
};

type Candidate = { id: string; title: string; vote_count: number };

const Audience = ({ form, found, arrange }: Props) => {
  const words = useWords("surveys");
  const visit = useVisit();
  const audience = form.get("targeting.audience") || "everyone";
  const chosen = form.get("targeting.submission_id");
  const candidates: Candidate[] = JSON.parse(found?.data ?? "[]");
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
              maxlength={200}
              placeholder={words.findSubmission}
              aria-label={words.findSubmission}
              autofocus={form.get("do") === "find"}
            />
          </label>
          <button
            type="submit"
            class="button"
            name="do"
            value="find"
            formaction={arrange}
            formnovalidate
            data-turbo-frame="audience"
          >
            {words.find}
          </button>
        </div>
      </fieldset>
    </div>
  );
};

const Languages = ({ form }: Pick<Props, "form">): JSX.Element => {
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
            <input
              type="checkbox"
              name="targeting.locales"
              value={locale}
              checked={chosen.includes(locale)}
            />
            <span lang={locale}>{messagesOf(locale).language}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
};

const DateTime = ({ form }: Pick<Props, "form">) => {
  const words = useWords("surveys");
  return (
    <Field
      name="closes_at"
      type="datetime-local"
      label={words.closesAt}
      hint={words.closesHint}
      value={form.get("closes_at") ?? ""}
    />
  );
};
