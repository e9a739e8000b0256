import type { Row } from "./pgoutput.ts";
import { notHere } from "./protocol.ts";

export interface Condition {
  column: string;
  operator: string;
  negate: boolean;
  value: string;
}

/** A condition that Postgres accepted. */
export interface Filter extends Condition {
  /** Types whose text form is equal exactly if the values are equal, so that no query is needed. */
  byText: boolean;
}

export class FilterError extends Error {}

const operators = "eq neq lt lte gt gte in is".split(" ");
const operatorsElsewhere = "like ilike match imatch isdistinct".split(" ");
const comparedByText = new Set(["uuid", "text", "varchar", "int2", "int4", "int8"]);

/** Parses `column=operator.value`, comma-separated; values may be quoted as in PostgREST. */
export function parseFilter(text: string): Condition[] {
  if (text.trim() === "") return [];
  return splitConditions(text.trim()).map(parseCondition);
}

export const isByText = (condition: Condition, type = "") =>
  condition.operator === "eq" && !condition.negate && comparedByText.has(type);

/** Splits at commas outside of quotes and parentheses; a quote starts only at the start of a value. */
function splitConditions(text: string): string[] {
  const parts: string[] = [];
  let [start, depth, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (quoted) {
      if (letter === "\\") at++;
      else if (letter === '"') quoted = false;
    } else if (letter === '"' && /[.(,]/.test(text[at - 1] ?? "")) quoted = true;
    else if (letter === "(") depth++;
    else if (letter === ")") depth = Math.max(0, depth - 1);
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function parseCondition(text: string): Condition {
  const part = text.trim();
  if (part === "") throw new FilterError("filter must not contain empty segments (check for extra commas)");
  const [, column, not, operator = "", value = ""] = /^([^=]*)=(not\.)?([^.]*)\.(.*)$/s.exec(part) ?? [];
  if (operatorsElsewhere.includes(operator)) throw new FilterError(notHere(`the filter ${operator}`));
  if (column === undefined || !operators.includes(operator))
    throw new FilterError(column === undefined ? JSON.stringify([part]) : JSON.stringify([operator, value]));
  return { column, operator, negate: not !== undefined, value: operator === "in" ? listOf(value) : unquote(value) };
}

function listOf(value: string): string {
  if (!/^\(.*\)$/s.test(value)) throw new FilterError("`in` filter value must be wrapped by parentheses");
  return `{${value.slice(1, -1)}}`;
}

function unquote(value: string): string {
  return /^"(?:[^"\\]|\\.)*"$/s.test(value) ? value.slice(1, -1).replace(/\\(.)/gs, "$1") : value;
}

/** Whether a row has all the columns, and the conditions that are compared as text match. */
export const mayPass = (filters: Filter[], row: Row): boolean =>
  filters.every(({ column, byText, value }) => row.has(column) && (!byText || row.get(column) === value));
