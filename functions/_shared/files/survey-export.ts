import { joinList } from "../../../shared/lists.ts";
import type { ExportedPart } from "../statements/survey-responses.ts";
import { type Cell, csvHeader, csvLine } from "./csv.ts";

const columns = [
  ...["id", "respondent_id", "respondent", "locale", "started_at", "submitted_at"],
  ...["duration_seconds", "sentiment", "sentiment_score"],
];

/** Responses as CSV in parts: fields of the response, then one column for each question. */
export async function* surveyCsv(
  first: ExportedPart,
  partAfter: (last: NonNullable<ExportedPart["next"]>) => Promise<ExportedPart>,
): AsyncGenerator<string> {
  yield csvHeader([...columns, ...first.questions.map(({ text }) => text)]);
  for (let part = first; ; part = await partAfter(part.next)) {
    if (part.records) yield part.records.split("\n").map(lineOf(part)).join("");
    if (!part.next) return;
  }
}

const lineOf =
  ({ questions }: ExportedPart) =>
  (record: string): string => {
    const cells = JSON.parse(record);
    const answers: { question_id: string; value: Cell | string[] }[] = cells.pop();
    const values = new Map(answers.map(({ question_id, value }) => [question_id, value]));
    return csvLine([...cells, ...questions.map(({ id }) => cellOf(values.get(id)))]);
  };

const cellOf = (value: Cell | string[]): Cell => (Array.isArray(value) ? joinList(value, ";") : value);
