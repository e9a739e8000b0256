import { type CsvError, type Parser, parse } from "csv-parse";
import { type ColumnFacts, nameOf } from "../../../../shared/import-fields.ts";
import type { ImportQuery, RecordKind } from "../../../../shared/imports.ts";
import { invalid } from "../../http/api-error.ts";
import { unguarded } from "../csv.ts";

/** A position between two rows of a file, from which reading can continue. */
export type Position = {
  /** Byte offset. */
  at: number;
  line: number;
  /** CSV header and delimiter. */
  header?: string[] | undefined;
  delimiter?: string | undefined;
  columns?: ColumnFacts;
};

/**
 * A row with its content or its error; for a zip with its file and the kind of its records; with `byField`, its values
 * are those of fields.
 */
export type Row = {
  line: number;
  file?: string;
  what?: ImportQuery["what"];
  byField?: { kind: RecordKind | undefined };
  next?: Position;
} & ({ values: Record<string, unknown> } | { message: string });

/** The key of the values of each column; undefined if nothing uses it. */
export type Header = Pick<Row, "byField"> & {
  keys: (string | null | undefined)[];
  problem?: string | undefined;
  /** Called for a value that nothing uses. */
  lose?: (column: number) => void;
};
const byName = (names: string[]): Header => ({ keys: names.map((name) => nameOf(name) || undefined) });

export type FileType = "csv" | "json" | "jsonl";

const maxRecordBytes = 1024 * 1024;
const tooLong = "is longer than 1 MiB";

/** Yields the rows of a file from a position on; throws VALIDATION_ERROR where it cannot be parsed further. */
export function rowsOf(
  bytes: AsyncIterable<Uint8Array>,
  type: FileType,
  from: Position = { at: 0, line: 1 },
  headerOf: (names: string[]) => Header = byName,
): AsyncGenerator<Row> {
  return type === "csv"
    ? csvRows(bytes, from, headerOf)
    : type === "json"
      ? jsonRows(bytes, from)
      : jsonLines(bytes, from);
}

const notUtf8 = "is not valid UTF-8; save the file in UTF-8";

function textOf(decoder: TextDecoder, bytes?: Uint8Array, options?: { stream: boolean }): string {
  try {
    return decoder.decode(bytes, options);
  } catch {
    throw invalid("body", notUtf8);
  }
}

// CSV -------------------------------------------------------------------------------------------------------------

async function* csvRows(
  bytes: AsyncIterable<Uint8Array>,
  from: Position,
  headerOf: (names: string[]) => Header,
): AsyncGenerator<Row> {
  const found: { cells: string[]; bytes: number }[] = [];
  let parser: Parser | undefined;
  let failure: unknown;
  let { header: names, delimiter, line } = from;
  let header = names && headerOf(names);
  let isSettled = names !== undefined;
  const rows = function* (): Generator<Row> {
    for (const { cells, bytes } of found.splice(0)) {
      const at = line;
      line += cells.reduce((lines, cell) => lines + (cell.match(/\r\n|\n|\r/g)?.length ?? 0), 1);
      const isSetting = !isSettled;
      isSettled = true;
      // Spreadsheets keep rows that were cleared.
      if (isSetting || cells.every((cell) => cell.trim() === "")) continue;
      if (header) yield { ...rowOf(header, cells, at), next: { at: from.at + bytes, line, header: names, delimiter } };
      else {
        names = cells;
        header = headerOf(names);
        if (header.problem) throw invalid(`line ${at}`, header.problem);
      }
    }
    if (failure) throw failure;
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const part of delimiter ? bytes : withFirstLine(bytes)) {
      const text = textOf(decoder, part, { stream: true });
      if (!delimiter) {
        if (firstLine(text)?.includes("\0")) throw invalid("body", notUtf8);
        const set = setting.exec(text)?.[1];
        isSettled = set === undefined;
        delimiter = set ?? delimiterOf(text);
      }
      // Records are collected as parsed: a stream would lose buffered records when a later one fails.
      parser ??= parse({
        bom: true,
        delimiter,
        max_record_size: maxRecordBytes,
        on_record: (cells: string[], { bytes }) => {
          found.push({ cells, bytes });
          return null;
        },
        record_delimiter: ["\r\n", "\n", "\r"],
        relax_column_count: true,
        relax_quotes: true,
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

/** Excel's first line with the delimiter. */
const setting = /^\uFEFF?"?sep=([^"\r\n])"?[\t ,;|]*(?:[\r\n]|$)/i;
const delimiters = [",", ";", "\t", "|"];
const quoted = /(^\uFEFF?|[,;\t|\r\n])"(?:[^"]|"")*(?:"|$)/g;

/** The first line with text, without quoted names; undefined if it does not end in this text. */
const firstLine = (text: string) => /^\s*([^\r\n]*\S[^\r\n]*)[\r\n]/.exec(text.replaceAll(quoted, '$1""'))?.[1];

function delimiterOf(text: string): string {
  const line = firstLine(`${text}\n`) ?? "";
  const count = (delimiter: string) => line.split(delimiter).length;
  return delimiters.toSorted((a, b) => count(b) - count(a))[0] ?? ",";
}

const maxHeadBytes = 64 * 1024;

/** The first part contains the first line. */
async function* withFirstLine(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const part of bytes) {
    if (!head) {
      yield part;
      continue;
    }
    const longer: Uint8Array = new Uint8Array(head.length + part.length);
    longer.set(head);
    longer.set(part, head.length);
    head = longer;
    if (head.length < maxHeadBytes && firstLine(new TextDecoder().decode(head)) === undefined) continue;
    yield head;
    head = undefined;
  }
  if (head) yield head;
}

function rowOf({ keys, byField, lose }: Header, cells: string[], line: number): Row {
  if (cells.slice(keys.length).some((cell) => cell !== "")) {
    return { line, message: `has ${cells.length} cells, but the first line has ${keys.length}` };
  }
  const values: Record<string, unknown> = {};
  for (const [i, key] of keys.entries()) {
    const cell = cells[i] ?? "";
    if (cell === "") continue;
    if (typeof key === "string") values[key] = key in values ? `${values[key]},${unguarded(cell)}` : unguarded(cell);
    else if (key === undefined) lose?.(i);
  }
  return { line, values, ...(byField && { byField }) };
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
