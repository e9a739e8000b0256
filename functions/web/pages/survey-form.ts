import type { Question } from "../../../shared/surveys.ts";
import type { Messages } from "../../words/index.ts";
import type { RefusedForm } from "../visit.ts";

type Answers = { answers: { question_id: string; value: number | string | string[] }[] };

/** Characters of a text, as in `private.check_answer`. */
const maxAnswerText = 5000;

const kinds = { nps: "number", rating: "number", text: "text", email: "text" } as const;

/** The form field of a question. Its name contains the type of the value, because form values are text. */
export const fieldName = ({ id, type, multiple }: Pick<Question, "id" | "type" | "multiple">) =>
  `${type === "multiple_choice" ? (multiple ? "options" : "text") : kinds[type]}.${id}`;

/** The answers of a survey's form, in the shape that the API takes, without empty ones. */
export function answersOf(form: URLSearchParams): Answers {
  const answers: Answers["answers"] = [];
  for (const [name, sent] of valuesByName(form)) {
    const [, kind, question_id] = /^(number|text|options)\.([0-9a-f-]{36})$/.exec(name) ?? [];
    const last = sent.at(-1);
    if (!kind || !question_id || last === undefined) continue;
    const number = kind === "number" && /^-?\d{1,9}$/.test(last);
    answers.push({ question_id, value: kind === "options" ? sent : number ? Number(last) : last });
  }
  return { answers };
}

/** The fields that are not empty, by name, in one pass: `getAll` for each name would take quadratic time. */
function valuesByName(form: URLSearchParams): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, text] of form) {
    if (text.trim() === "") continue;
    const sent = values.get(name);
    if (sent) sent.push(text);
    else values.set(name, [text]);
  }
  return values;
}

/** Errors of the sent answers, by question id. */
export function problemsOf(
  refused: RefusedForm | undefined,
  questions: readonly Question[],
  messages: Messages["surveys"],
): Map<string, string> {
  if (!refused) return new Map();
  const { answers } = answersOf(refused.typed);
  return new Map(
    refused.details.flatMap(({ field }) => {
      const [of = "", which = ""] = field.split(".");
      const id = of === "questions" ? which : answers[Number(which)]?.question_id;
      const question = questions.find((known) => known.id === id);
      if (!question) return [];
      return [[question.id, of === "questions" ? messages.needsAnswer : problemOf(question, messages)]];
    }),
  );
}

function problemOf({ type, scale }: Question, messages: Messages["surveys"]): string {
  switch (type) {
    case "nps":
      return messages.needsNumber(0, 10);
    case "rating":
      return messages.needsNumber(1, scale ?? 5);
    case "multiple_choice":
      return messages.needsOption;
    case "email":
      return messages.needsEmail;
    case "text":
      return messages.tooLong(maxAnswerText);
  }
}
