import { Buffer } from "node:buffer";
import type postgres from "postgres";

export type Sql = postgres.Sql;

/** A statement as `sql` made it: text between values, which may be statements themselves. */
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
  return typeof first === "string"
    ? new Identifier(first)
    : new Assignments(first as Record<string, unknown>);
}

/** As the tag of postgres.js, whose types it has, but it only builds: a pipeline runs what it made. */
export const sql = Object.assign(tag, {
  unsafe: (text: string) => new Query([text], []),
}) as unknown as Sql;

/** The text of a query with $1, $2, …, and the parameters in text form; a Buffer is bytea. */
export function textOf(query: Query): { text: string; parameters: (string | null)[]; types: number[] } {
  const parameters: (string | null)[] = [];
  const types: number[] = [];
  const parameter = (value: unknown) => {
    parameters.push(parameterOf(value));
    types.push(typeOf(value));
    return `$${parameters.length}`;
  };
  const write = (value: unknown): string => {
    if (value instanceof Query) {
      let text = value.strings[0] ?? "";
      for (let at = 0; at < value.values.length; at++)
        text += write(value.values[at]) + value.strings[at + 1];
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

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** What Postgres cannot infer from the place of a parameter. */
function typeOf(value: unknown): number {
  if (value instanceof Uint8Array) return 17;
  return typeof value === "boolean" ? 16 : 0;
}

function parameterOf(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return `{${value.map(elementOf).join(",")}}`;
  throw new TypeError("A parameter must be text, a number, a boolean, bytes, an array of these, or null.");
}

function elementOf(value: unknown): string {
  const text = parameterOf(value);
  return text === null ? "null" : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** A value that Postgres sent as text, by the oid of its type. */
export function parserOf(type: number): ((text: string) => unknown) | undefined {
  switch (type) {
    case 20: // bigint: ours are counts
    case 21:
    case 23:
    case 26:
    case 700:
    case 701:
      return Number;
    case 16:
      return (text) => text === "t";
    case 17:
      return (text) => Buffer.from(text.slice(2), "hex");
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
