import { type CsvError, type Parser, parse } from "csv-parse";
import type { ImportQuery } from "../../../shared/imports.ts";
import { invalid } from "../api-error.ts";
import { unguarded } from "../csv.ts";

/** A line of a file with what it says, or what is wrong with it; in a zip, of which file, and what its lines are. */
export type Row = { line: number; file?: string; what?: ImportQuery["what"] } & (
  | { values: Record<string, unknown> }
  | { message: string }
);

export type FileType = "csv" | "json" | "jsonl";

const longestRecord = 1024 * 1024;
const tooLong = "is longer than 1 MiB";

/** The rows of a file as its bytes come in; throws VALIDATION_ERROR where it cannot be read on. */
export function rowsOf(bytes: AsyncIterable<Uint8Array>, type: FileType): AsyncGenerator<Row> {
  const texts = decoded(bytes);
  return type === "csv" ? csvRows(texts) : type === "json" ? jsonRows(texts) : jsonLines(texts);
}

async function* decoded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const part of bytes) {
      const text = decoder.decode(part, { stream: true });
      if (text !== "") yield text;
    }
    const rest = decoder.decode();
    if (rest !== "") yield rest;
  } catch (error) {
    if (error instanceof TypeError) throw invalid("body", "is not UTF-8: save the file in that encoding");
    throw error;
  }
}

// CSV -------------------------------------------------------------------------------------------------------------

async function* csvRows(texts: AsyncGenerator<string>): AsyncGenerator<Row> {
  const found: { cells: string[]; lines: number }[] = [];
  let parser: Parser | undefined;
  let failure: unknown;
  let header: string[] | undefined;
  let line = 1;
  const rows = function* (): Generator<Row> {
    for (const { cells, lines } of found.splice(0)) {
      if (header) yield rowOf(header, cells, line);
      else header = cells.map(nameOf);
      line = lines + 1;
    }
    if (failure) throw failure;
  };
  try {
    for await (const text of texts) {
      // Records are taken as they are found: a stream would lose those it still holds when a later one fails.
      parser ??= parse({
        bom: true,
        delimiter: delimiterOf(text),
        max_record_size: longestRecord,
        on_record: (cells: string[], { lines }) => {
          found.push({ cells, lines });
          return null;
        },
        record_delimiter: ["\r\n", "\n", "\r"],
        relax_column_count: true,
        relax_quotes: true,
        skip_empty_lines: true,
      })
        .on("error", (error) => {
          failure ??= error;
        })
        .resume();
      await written(parser, text);
      yield* rows();
    }
    const last = parser;
    if (last) await new Promise<void>((resolve) => last.once("close", resolve).end());
    yield* rows();
  } catch (error) {
    if (!isOfCsv(error)) throw error;
    throw invalid(
      "body",
      error.code === "CSV_QUOTE_NOT_CLOSED" || error.code === "CSV_MAX_RECORD_SIZE"
        ? `has a quote that is not closed, or a record of more than 1 MiB, at line ${line}`
        : `is not CSV at line ${line}`,
    );
  }
}

function written(parser: Parser, text: string): Promise<void> {
  return new Promise((resolve) => parser.write(text, () => resolve()));
}

function isOfCsv(error: unknown): error is CsvError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("CSV_");
}

/** Spreadsheets of some countries write semicolons. */
function delimiterOf(text: string): string {
  const [head = ""] = text.split(/[\r\n]/, 1);
  const count = (delimiter: string) => head.split(delimiter).length;
  return [",", ";", "\t"].toSorted((a, b) => count(b) - count(a))[0] ?? ",";
}

function rowOf(header: string[], cells: string[], line: number): Row {
  if (cells.slice(header.length).some((cell) => cell !== "")) {
    return { line, message: `has ${cells.length} cells, and the first line ${header.length}` };
  }
  const values: Record<string, unknown> = {};
  for (const [i, name] of header.entries()) {
    const cell = cells[i] ?? "";
    if (cell !== "" && name !== "") values[name] = unguarded(cell);
  }
  return { line, values };
}

/** Names of columns and fields as we write them: `Post Title`, `postTitle` and `post_title` are one. */
export function nameOf(name: string): string {
  return name
    .trim()
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "");
}

// JSON ------------------------------------------------------------------------------------------------------------

async function* jsonLines(texts: AsyncGenerator<string>): AsyncGenerator<Row> {
  let line = 1;
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const one of lines) yield* jsonRow(one, line++);
    if (rest.length > longestRecord) throw invalid("body", `has a line ${line} that ${tooLong}`);
  }
  yield* jsonRow(rest, line);
}

function* jsonRow(text: string, line: number): Generator<Row> {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  if (trimmed === "") return;
  try {
    const value: unknown = JSON.parse(trimmed);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      yield { line, values: value as Record<string, unknown> };
      return;
    }
  } catch {
    // Said below.
  }
  yield { line, message: "is not a JSON object" };
}

/** The objects of an array, or the only one, found by their braces. */
async function* jsonRows(texts: AsyncGenerator<string>): AsyncGenerator<Row> {
  let line = 1;
  let startLine = 1;
  let depth = 0;
  let inText = false;
  let escaped = false;
  let kept = "";
  for await (const text of texts) {
    let start = 0;
    for (let i = 0; i < text.length; i++) {
      const character = text.charCodeAt(i);
      if (character === 10) line++;
      if (depth > 0 && inText) {
        if (escaped) escaped = false;
        else if (character === 92) escaped = true;
        else if (character === 34) inText = false;
      } else if (depth > 0 && character === 34) inText = true;
      else if (character === 123) {
        if (depth++ === 0) {
          start = i;
          startLine = line;
        }
      } else if (character === 125 && depth > 0) {
        if (--depth === 0) {
          yield* jsonRow(kept + text.slice(start, i + 1), startLine);
          kept = "";
        }
      } else if (depth === 0 && !" \t\r\n,[]\uFEFF".includes(text.charAt(i))) {
        throw invalid("body", `is not JSON at line ${line}: send an array of objects`);
      }
    }
    if (depth > 0) kept += text.slice(start);
    if (kept.length > longestRecord)
      throw invalid("body", `has an object at line ${startLine} that ${tooLong}`);
  }
  if (depth > 0) throw invalid("body", `is not whole: the object at line ${startLine} does not end`);
}
