import type { Results, Statement } from "../_shared/database/run.ts";
import { notFound } from "../_shared/http/api-error.ts";
import type { Json } from "../_shared/statements/shapes.ts";

type Row<Of> = Of extends Statement<infer Found> ? Found : never;

type Present<Value> = NonNullable<Value> extends Json<infer Parsed> ? Parsed : NonNullable<Value>;

type ShownRow<Found, Missing> = Found extends { data: infer Value }
  ? Exclude<keyof Found, "data"> extends never
    ? Present<Value> | Missing
    : (Omit<Found, "data"> & { data: Present<Value> }) | Missing
  : readonly Found[];

/**
 * The result of each statement as the view of a page gets it: the value of its column `data`, parsed; the row, if it
 * has more columns; all rows, if it has no such column.
 */
export type Shown<Statements extends readonly Statement[]> = {
  -readonly [Index in keyof Statements]: ShownRow<
    Row<Statements[Index]>,
    Statements[Index] extends Optional ? undefined : never
  >;
};

type Optional = { readonly isOptional: true };

/** A statement whose row or `data` may be missing: undefined then. Without this the page is not found. */
export const optional = <Found>(statement: Statement<Found>): Statement<Found> & Optional =>
  Object.assign((sql: Parameters<Statement>[0]) => statement(sql), { isOptional: true as const });

export function shownOf<const Statements extends readonly Statement[]>(
  results: Results<Statements>,
  statements: () => Statements,
): Shown<Statements> {
  return results.map((rows, index) => {
    if (!rows.columns.some(({ name }) => name === "data")) return rows;
    const row = rows[0] as { data: unknown } | undefined;
    if (row === undefined || row.data === null) {
      if ("isOptional" in (statements()[index] as Statement)) return undefined;
      throw notFound("resource");
    }
    const data = typeof row.data === "string" ? JSON.parse(row.data) : row.data;
    return rows.columns.length === 1 ? data : { ...row, data };
  }) as Shown<Statements>;
}

/** The row of a list that a page is about. */
export function rowOf<Found extends { id: string }>(rows: readonly Found[], id: string): Found {
  const found = rows.find((row) => row.id === id.toLowerCase());
  if (!found) throw notFound("resource");
  return found;
}
