import { Buffer } from "node:buffer";
import type postgres from "postgres";

export type Sql = postgres.Sql;

/** A statement built by `sql`: text fragments and values, which may be nested statements. */
export class Query {
  constructor(
    readonly strings: readonly string[],
    readonly values: readonly unknown[],
  ) {}
}
class Identifier {
  constructor(readonly name: string) {}
}
class Assignments {
  constructor(readonly of: Record<string, unknown>) {}
}

function tag(first: TemplateStringsArray | string | Record<string, unknown>, ...values: unknown[]) {
  if (Array.isArray(first) && "raw" in first) return new Query(first, values);
  return typeof first === "string" ? new Identifier(first) : new Assignments(first as Record<string, unknown>);
}

/** Typed like the tag function of postgres.js, but it only builds the statement; a pipeline runs it. */
export const sql = Object.assign(tag, { unsafe: (text: string) => new Query([text], []) }) as unknown as Sql;

/** A parameter in the format of Postgres: text, or bytes for bytea. */
export type Parameter = string | Uint8Array | null;

/** The text of a query with $1, $2, …, and its parameters. */
export function textOf(query: Query): { text: string; parameters: Parameter[]; types: number[] } {
  const parameters: Parameter[] = [];
  const types: number[] = [];
  const parameter = (value: unknown) => {
    parameters.push(value instanceof Uint8Array ? value : parameterOf(value));
    types.push(typeOf(value));
    return `$${parameters.length}`;
  };
  const write = (value: unknown): string => {
    if (value instanceof Query) {
      let text = value.strings[0] ?? "";
      for (let at = 0; at < value.values.length; at++) text += write(value.values[at]) + value.strings[at + 1];
      return text;
    }
    if (value instanceof Identifier) return quoted(value.name);
    if (value instanceof Assignments)
      return Object.entries(value.of)
        .map(([name, assigned]) => `${quoted(name)} = ${parameter(assigned)}`)
        .join(", ");
    return parameter(value);
  };
  return { text: write(query), parameters, types };
}

/** The oid of the type. */
export const bytea = 17;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Types that Postgres cannot infer. */
function typeOf(value: unknown): number {
  if (value instanceof Uint8Array) return bytea;
  return typeof value === "boolean" ? 16 : 0;
}

function parameterOf(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `{${value.map(elementOf).join(",")}}`;
  throw new TypeError("A parameter must be text, a number, a boolean, bytes, null, or an array without bytes.");
}

function elementOf(value: unknown): string {
  const text = parameterOf(value);
  return text === null ? "null" : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * Parses a value in Postgres text format by the oid of its type; undefined if it stays text. bytea:
 * `bytesOf`.
 */
export function parserOf(type: number): ((text: string) => unknown) | undefined {
  switch (type) {
    case 20: // bigint: all of them are counts
    case 21:
    case 23:
    case 26:
    case 700:
    case 701:
      return Number;
    case 16:
      return (text) => text === "t";
    case 114:
    case 3802:
      return JSON.parse;
    case 1082:
    case 1114:
    case 1184:
      return (text) => new Date(text);
    case 1009: // text[]
    case 2951: // uuid[]
      return elements;
  }
}

function elements(text: string): (string | null)[] {
  return Array.from(text.matchAll(/"((?:[^"\\]|\\.)*)"|([^{},]+)/g), ([, escaped, plain]) =>
    escaped !== undefined ? escaped.replace(/\\(.)/g, "$1") : plain === "NULL" ? null : (plain ?? null),
  );
}

const hexChunkBytes = 65_536;

/**
 * A bytea in Postgres text format, after \x. A large file is decoded in parts, because one long string would stay in
 * the heap.
 */
export function bytesOf(data: Buffer, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe((end - start - 2) / 2);
  let length = 0;
  for (let at = start + 2; at < end; at += hexChunkBytes)
    length += bytes.write(data.toString("latin1", at, Math.min(at + hexChunkBytes, end)), length, "hex");
  return bytes;
}
