import type { z } from "zod";
import {
  maxOptions,
  maxQuestions,
  type Question,
  questionTypes,
  surveyCreate,
  type surveyDetail,
} from "../../../../../shared/surveys.ts";
import { valueOfForm } from "../../../../_shared/http/form.ts";
import { localTime, momentOf } from "../../../format.ts";
import type { Visit } from "../../../visit.ts";

/** A question in the builder's form, with the text of each field. */
export type DraftQuestion = Record<(typeof questionFields)[number], string>;

const questionFields = ["type", "text", "required", "options", "multiple", "scale"] as const;
const questionField = new RegExp(`^questions\\.(\\d{1,6})\\.(${questionFields.join("|")})$`);
const blank: DraftQuestion = { type: "text", text: "", required: "false", options: "", multiple: "false", scale: "5" };

/**
 * The questions of the builder's form, in their order. Returns at most one question more than a survey may have, so that
 * the survey is still rejected, but the form that is shown again is not larger.
 */
export function questionsOf(form: URLSearchParams): DraftQuestion[] {
  const byNumber = new Map<string, DraftQuestion>();
  for (const [name, value] of form) {
    const [, number, field] = questionField.exec(name) ?? [];
    if (!number || !field || (byNumber.size > maxQuestions && !byNumber.has(number))) continue;
    byNumber.set(number, { ...blank, ...byNumber.get(number), [field]: value });
  }
  return [...byNumber.values()];
}

/** The form with these questions, numbered from 0. */
function withQuestions(form: URLSearchParams, questions: readonly DraftQuestion[]): URLSearchParams {
  const made = new URLSearchParams([...form].filter(([name]) => !questionField.test(name) && name !== "focus"));
  for (const [index, question] of questions.entries())
    for (const field of questionFields) made.append(`questions.${index}.${field}`, question[field]);
  return made;
}

const localMoment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;

/** Converts the builder's form to the body of the API. */
export function surveyOf(form: URLSearchParams): object {
  const rest = new URLSearchParams(form);
  const closesAt = rest.get("closes_at") ?? "";
  // The form says in which time zone its reader typed.
  const moment = localMoment.test(closesAt) ? momentOf(closesAt, rest.get("time_zone") ?? "UTC") : Number.NaN;
  if (!Number.isNaN(moment)) rest.set("closes_at", new Date(moment).toISOString());
  rest.delete("time_zone");
  if (rest.get("targeting.audience") === "everyone") rest.delete("targeting.submission_id");
  return {
    ...(valueOfForm(surveyCreate.omit({ questions: true }), rest) as object),
    questions: questionsOf(form).map(questionOf),
  };
}

/** Only what belongs to its type: another one may have been chosen before. */
function questionOf({ type, text, required, options, multiple, scale }: DraftQuestion): object {
  return {
    type,
    text,
    required: required === "true",
    ...(type === "multiple_choice" && { options: optionsOf(options), multiple: multiple === "true" }),
    ...(type === "rating" && { scale: /^\d{1,3}$/.test(scale) ? Number(scale) : scale }),
  };
}

// At most one more than the limit: enough for validation to reject it.
const optionsOf = (lines: string) =>
  lines
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .slice(0, maxOptions + 1);

type Survey = z.infer<typeof surveyDetail>;

/** The builder's form of a survey that is stored. */
export function formOf(
  { title, description, questions = [], settings, targeting, closes_at }: Survey,
  timeZone: string,
): URLSearchParams {
  const form = new URLSearchParams({
    title,
    description,
    "settings.allow_multiple_responses": String(settings.allow_multiple_responses),
    "settings.show_branding": String(settings.show_branding),
    "settings.redirect_url": settings.redirect_url ?? "",
    "targeting.audience": targeting?.audience ?? "everyone",
    "targeting.submission_id": targeting?.submission_id ?? "",
    closes_at: closes_at ? localTime(new Date(closes_at), timeZone).slice(0, 16) : "",
  });
  for (const locale of targeting?.locales ?? []) form.append("targeting.locales", locale);
  return withQuestions(
    form,
    questions.map(({ type, text, required, options = [], multiple = false, scale = 5 }) => ({
      type,
      text,
      required: String(required),
      options: options.map((option) => option.text).join("\n"),
      multiple: String(multiple),
      scale: String(scale),
    })),
  );
}

const isAction = /^(up|down|remove|add)\.(\w{1,20})$/;

/** The form after the action of its pressed button; `focus` names the field or button to focus next. */
export function arranged(form: URLSearchParams): URLSearchParams {
  const numbers = [...new Set([...form.keys()].flatMap((name) => questionField.exec(name)?.[1] ?? []))];
  const questions = questionsOf(form);
  const [, action, of = ""] = isAction.exec(form.get("do") ?? "") ?? [];
  const index = numbers.indexOf(of);
  const finish = (focus: string) => {
    const made = withQuestions(form, questions);
    if (focus) made.set("focus", focus);
    return made;
  };
  if (action === "add" && questionTypes.some((known) => known === of) && questions.length < maxQuestions) {
    questions.push({ ...blank, type: of });
    return finish(`questions.${questions.length - 1}.text`);
  }
  const [question] = index >= 0 ? questions.slice(index, index + 1) : [];
  if (!question) return finish("");
  questions.splice(index, 1);
  if (action === "remove")
    return finish(questions.length > 0 ? `questions.${Math.min(index, questions.length - 1)}.text` : "add");
  const to = Math.max(0, Math.min(questions.length, index + (action === "up" ? -1 : 1)));
  questions.splice(to, 0, question);
  // At an end the button of that direction is off.
  if (to === 0) return finish(`down.${to}`);
  return finish(to === questions.length - 1 ? `up.${to}` : `${action}.${to}`);
}

/** The form that the builder shows: rejected or rearranged, otherwise the stored one. */
export function shownForm(
  { refused, answered }: Pick<Visit, "refused" | "answered">,
  stored: URLSearchParams,
): URLSearchParams {
  if (answered !== undefined) return new URLSearchParams(answered);
  const typed = refused?.typed;
  return typed ? withQuestions(typed, questionsOf(typed)) : stored;
}

/** The questions as respondents would see them; those without a text yet are left out. */
export function previewOf(form: URLSearchParams): Question[] {
  return questionsOf(form).flatMap((question, index): Question[] => {
    const text = question.text.trim();
    const type = questionTypes.find((known) => known === question.type);
    if (!type || text === "") return [];
    const id = `preview-${index}`;
    const scale = /^([2-9]|10)$/.test(question.scale) ? Number(question.scale) : 5;
    const options = optionsOf(question.options).map((text, n) => ({ id: `${id}-${n}`, text, order: n + 1 }));
    return [
      {
        ...{ id, type, text, required: question.required === "true", order: index + 1 },
        ...(type === "multiple_choice" && { options, multiple: question.multiple === "true" }),
        ...(type === "rating" && { scale }),
      },
    ];
  });
}
