import { type CsvError, type Parser, parse } from "csv-parse";
import type { ImportQuery } from "../../../../shared/imports.ts";
import { invalid } from "../../http/api-error.ts";
import { unguarded } from "../csv.ts";

/** A position between two rows of a file, from which reading can continue. */
export type Position = {
  /** Byte offset. */
  at: number;
  line: number;
  /** CSV header and delimiter. */
  header?: string[];
  delimiter?: string;
};

/** A row with its content or its error; for a zip with its file and the kind of its records. */
export type Row = { line: number; file?: string; what?: ImportQuery["what"]; next?: Position } & (
  | { values: Record<string, unknown> }
  | { message: string }
);

export type FileType = "csv" | "json" | "jsonl";

const maxRecordBytes = 1024 * 1024;
const tooLong = "is longer than 1 MiB";

/** Yields the rows of a file from a position on; throws VALIDATION_ERROR where it cannot be parsed further. */
export function rowsOf(
  bytes: AsyncIterable<Uint8Array>,
  type: FileType,
  from: Position = { at: 0, line: 1 },
): AsyncGenerator<Row> {
  return type === "csv" ? csvRows(bytes, from) : type === "json" ? jsonRows(bytes, from) : jsonLines(bytes, from);
}

function textOf(decoder: TextDecoder, bytes?: Uint8Array, options?: { stream: boolean }): string {
  try {
    return decoder.decode(bytes, options);
  } catch {
    throw invalid("body", "is not valid UTF-8; save the file in UTF-8");
  }
}

// CSV -------------------------------------------------------------------------------------------------------------

async function* csvRows(bytes: AsyncIterable<Uint8Array>, from: Position): AsyncGenerator<Row> {
  const found: { cells: string[]; lines: number; bytes: number }[] = [];
  let parser: Parser | undefined;
  let failure: unknown;
  let { header, delimiter, line } = from;
  const rows = function* (): Generator<Row> {
    for (const { cells, lines, bytes } of found.splice(0)) {
      const at = line;
      line = from.line + lines;
      if (header) yield { ...rowOf(header, cells, at), next: { at: from.at + bytes, line, header, delimiter } };
      else header = cells.map(nameOf);
    }
    if (failure) throw failure;
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const part of bytes) {
      const text = textOf(decoder, part, { stream: true });
      delimiter ??= delimiterOf(text);
      // Records are collected as parsed: a stream would lose buffered records when a later one fails.
      parser ??= parse({
        bom: true,
        delimiter,
        max_record_size: maxRecordBytes,
        on_record: (cells: string[], { lines, bytes }) => {
          found.push({ cells, lines, bytes });
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
      await written(parser, part);
      yield* rows();
    }
    textOf(decoder);
    const last = parser;
    if (last) await new Promise<void>((resolve) => last.once("close", resolve).end());
    yield* rows();
  } catch (error) {
    if (!isOfCsv(error)) throw error;
    throw invalid(
      "body",
      error.code === "CSV_QUOTE_NOT_CLOSED" || error.code === "CSV_MAX_RECORD_SIZE"
        ? `has an unclosed quote or a record of more than 1 MiB at line ${line}`
        : `is not valid CSV at line ${line}`,
    );
  }
}

function written(parser: Parser, part: Uint8Array): Promise<void> {
  return new Promise((resolve) => parser.write(part, () => resolve()));
}

function isOfCsv(error: unknown): error is CsvError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("CSV_");
}

/** Spreadsheets of some locales use semicolons. */
function delimiterOf(text: string): string {
  const [head = ""] = text.split(/[\r\n]/, 1);
  const count = (delimiter: string) => head.split(delimiter).length;
  return [",", ";", "\t"].toSorted((a, b) => count(b) - count(a))[0] ?? ",";
}

function rowOf(header: string[], cells: string[], line: number): Row {
  if (cells.slice(header.length).some((cell) => cell !== "")) {
    return { line, message: `has ${cells.length} cells, but the first line has ${header.length}` };
  }
  const values: Record<string, unknown> = {};
  for (const [i, name] of header.entries()) {
    const cell = cells[i] ?? "";
    if (cell !== "" && name !== "") values[name] = unguarded(cell);
  }
  return { line, values };
}

/** Normalizes column and field names: `Post Title`, `postTitle` and `post_title` are equal. */
export function nameOf(name: string): string {
  return name
    .trim()
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "");
}

// JSON ------------------------------------------------------------------------------------------------------------

/** Bytes of a record that may arrive in many chunks. */
function recordBytes() {
  let parts: Uint8Array[] = [];
  let length = 0;
  return {
    add(part: Uint8Array) {
      parts.push(part);
      length += part.length;
    },
    isTooLong: () => length > maxRecordBytes,
    /** Returns the bytes including the rest, and resets. */
    text(decoder: TextDecoder, last: Uint8Array): string {
      this.add(last);
      const [only] = parts;
      let line = only;
      if (!only || parts.length > 1) {
        line = new Uint8Array(length);
        let at = 0;
        for (const part of parts) {
          line.set(part, at);
          at += part.length;
        }
      }
      parts = [];
      length = 0;
      return textOf(decoder, line);
    },
  };
}

const lineFeed = 10;

async function* jsonLines(bytes: AsyncIterable<Uint8Array>, from: Position): AsyncGenerator<Row> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let { at, line } = from;
  const record = recordBytes();
  for await (const part of bytes) {
    let start = 0;
    for (let end = part.indexOf(lineFeed); end >= 0; end = part.indexOf(lineFeed, start)) {
      const text = record.text(decoder, part.subarray(start, end));
      const next = { at: at + end + 1, line: line + 1 };
      for (const row of jsonRow(text, line)) yield { ...row, next };
      start = end + 1;
      line++;
    }
    record.add(part.subarray(start));
    at += part.length;
    if (record.isTooLong()) throw invalid("body", `has a line that ${tooLong} (line ${line})`);
  }
  const text = record.text(decoder, new Uint8Array());
  for (const row of jsonRow(text, line)) yield { ...row, next: { at, line } };
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
    // Reported below.
  }
  yield { line, message: "must be a JSON object" };
}

const betweenObjects = new Set([...new TextEncoder().encode(" \t\r\n,[]\uFEFF")]);

/** Finds the objects of an array, or a single object, by their braces; non-ASCII bytes occur only inside of them. */
async function* jsonRows(bytes: AsyncIterable<Uint8Array>, from: Position): AsyncGenerator<Row> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let { at, line } = from;
  let startLine = line;
  let depth = 0;
  let inText = false;
  let escaped = false;
  const record = recordBytes();
  for await (const part of bytes) {
    let start = 0;
    for (let i = 0; i < part.length; i++) {
      const byte = part[i] as number;
      if (byte === lineFeed) line++;
      if (depth > 0 && inText) {
        if (escaped) escaped = false;
        else if (byte === 92) escaped = true;
        else if (byte === 34) inText = false;
      } else if (depth > 0 && byte === 34) inText = true;
      else if (byte === 123) {
        if (depth++ === 0) {
          start = i;
          startLine = line;
        }
      } else if (byte === 125 && depth > 0) {
        if (--depth === 0) {
          const text = record.text(decoder, part.subarray(start, i + 1));
          const next = { at: at + i + 1, line };
          for (const row of jsonRow(text, startLine)) yield { ...row, next };
        }
      } else if (depth === 0 && !betweenObjects.has(byte)) {
        throw invalid("body", `is not valid JSON at line ${line}; send an array of objects`);
      }
    }
    if (depth > 0) record.add(part.subarray(start));
    at += part.length;
    if (record.isTooLong()) throw invalid("body", `has an object that ${tooLong} (line ${startLine})`);
  }
  if (depth > 0) throw invalid("body", `is incomplete, because the object at line ${startLine} does not end`);
}
