import { type ExportQuery, recordSchemas } from "../../../shared/imports.ts";
import { joinList } from "../../../shared/lists.ts";
import type { ExportedRows, ExportPage } from "../statements/import-export.ts";
import { type Cell, csvHeader, csvLine } from "./csv.ts";

const person = ["author_email", "author_name", "author_id"];

const columns: Record<Exclude<ExportedRows, "organization" | "merged">, string[]> = {
  members: ["email", "name", "role", "created_at"],
  categories: ["slug", "name", "color", "position", "translations"],
  tags: ["slug", "name", "color", "translations"],
  // The fields of an import, and counts.
  submissions: Object.keys(recordSchemas.submission.shape).flatMap((name) =>
    name === "tags" ? [name, "vote_count", "comment_count"] : [name],
  ),
  follows: ["submission_id", ...person, "reason", "created_at"],
  comments: [
    ...["id", "submission_id", "parent_id", "body", "is_official", "vote_count"],
    ...person,
    ...["moderation_state", "created_at", "updated_at", "follow"],
  ],
  votes: ["submission_id", ...person, "created_at", "follow"],
  comment_votes: ["comment_id", ...person, "created_at"],
  status_changes: ["submission_id", "previous_status", "new_status", "note", ...person, "created_at"],
  surveys: [
    ...["id", "title", "description", "status", "questions", "allow_multiple_responses", "show_branding"],
    ...["redirect_url", "audience", "audience_submission_id", "locales", "closes_at", "version_of"],
    ...["published_at", "closed_at", "created_at", "updated_at"],
  ],
  survey_responses: [
    ...["id", "survey_id", ...person, "answers", "locale", "sentiment", "sentiment_score", "sentiment_engine"],
    ...["started_at", "submitted_at"],
  ],
};

// Referenced records come first.
const everything: ExportedRows[] = [
  ...(["organization", "members", "categories", "tags", "submissions", "merged"] as const),
  ...(["follows", "comments", "votes", "comment_votes", "status_changes"] as const),
  ...(["surveys", "survey_responses"] as const),
];

export const exportTypes = {
  json: "application/json; charset=utf-8",
  jsonl: "application/x-ndjson; charset=utf-8",
  csv: "text/csv; charset=utf-8",
} as const;

/**
 * Rows in one page, so that its text is at most a few megabytes: a survey may have 200 questions, and a response as
 * many answers.
 */
const maxRows: Partial<Record<ExportedRows, number>> = {
  submissions: 1000,
  comments: 1000,
  surveys: 20,
  survey_responses: 200,
};

/** Yields an export as text, one page at a time. */
export async function* exportText(
  { format, what = format === "csv" ? "submissions" : "all" }: ExportQuery,
  pageOf: (rows: ExportedRows, after: string[] | null, limit: number) => Promise<ExportPage | undefined>,
): AsyncGenerator<string> {
  const parts = what === "all" ? everything : what === "submissions" ? [what, "merged" as const] : [what];
  const header = what === "all" ? [] : columns[what];
  if (format === "json") yield "[";
  if (format === "csv") yield csvHeader(header);
  let isFirst = true;
  for (const rows of parts) {
    const limit = maxRows[rows] ?? 5000;
    for (let after: string[] | null = null, more = true; more; ) {
      const page: ExportPage | undefined = await pageOf(rows, after, limit);
      if (page?.records) {
        if (format === "csv") yield csvOf(page.records, header);
        else if (format === "jsonl") yield `${page.records}\n`;
        else yield (isFirst ? "\n" : ",\n") + page.records.replaceAll("\n", ",\n");
        isFirst = false;
      }
      more = page?.total === limit;
      after = page?.last ?? null;
    }
  }
  if (format === "json") yield "\n]\n";
}

/** A JSON record contains no line break. */
function csvOf(records: string, header: string[]): string {
  return records
    .split("\n")
    .map((line) => {
      const record = JSON.parse(line) as Record<string, unknown>;
      return csvLine(header.map((name) => cellOf(record[name])));
    })
    .join("");
}

function cellOf(value: unknown): Cell {
  if (Array.isArray(value) && value.every((part) => typeof part === "string")) return joinList(value, ",");
  return value !== null && typeof value === "object" ? JSON.stringify(value) : (value as Cell);
}
