import type { z } from "zod";
import type { Statement } from "../database/pipeline.ts";
import { Query, type Sql, sql } from "../database/query.ts";

/** JSON text of a value of this type, built by Postgres. The API sends it as it is; `parsed` reads it. */
export type Json<Value> = string & { readonly valueOfJson?: Value };

/** A row with JSON; null in SQL is null. */
export type Data<Value = object> = { data: Json<NonNullable<Value>> | (Value & null) };

/** Items of a list, and how many there are on all pages. */
export type List<Item> = { total: number; data: Json<Item[]> };

/** `data` of a response with this schema. */
export type DataOf<Answer extends z.ZodType<{ data: unknown }>> = z.output<Answer>["data"];

export const parsed = <Value>(json: Json<Value>): Value => JSON.parse(json);

/** An argument of a function: an object is sent as JSON, an array as an array of Postgres, undefined as null. */
type Argument = string | number | boolean | null | undefined | object;

/** Calls a function of schema private that returns JSON, or no row. */
export function call<Value = object>(name: string, ...args: Argument[]): Statement<Data<Value>> {
  return () => sql`select ${called(name, args)}::text as data`;
}

/** Calls a function of schema private and reads its result, such as a boolean, or JSON where no text of it is needed. */
export function read<Value>(name: string, ...args: Argument[]): Statement<{ data: Value }> {
  return () => sql`select ${called(name, args)} as data`;
}

/** Calls a function of schema private that raises an error or writes; nobody reads what it returns. */
export function run(name: string, ...args: Argument[]): Statement<Record<never, never>> {
  return () => sql`select ${called(name, args)}`;
}

function called(name: string, args: Argument[]) {
  const [first, ...others] = args.map((arg) => sql`${parameterOf(arg)}`);
  const list = others.reduce((all, one) => sql`${all}, ${one}`, first ?? sql``);
  return sql`private.${sql(name)}(${list})`;
}

function parameterOf(arg: Argument): string | null {
  if (arg === undefined || arg === null) return null;
  const isValue = Array.isArray(arg) || arg instanceof Uint8Array || arg instanceof Query;
  return isValue || typeof arg !== "object" ? (arg as string) : JSON.stringify(arg);
}

/** An organization as an argument; without an id, that of the request. */
export const organizationOf = (id?: string) => (id === undefined ? sql`private.current_organization_id()` : sql`${id}`);

/** JSON of a comment in responses; `c` is the comment. */
export const commentShape = (sql: Sql) => sql`json_build_object(
  'id', c.id, 'submission_id', c.submission_id, 'parent_id', c.parent_id, 'body', c.body,
  'author', private.author(c.author_id, c.organization_id), 'is_official', c.is_official,
  'moderation_state', c.moderation_state, 'vote_count', c.vote_count, 'reply_count', c.reply_count, 'created_at', c.created_at, 'updated_at', c.updated_at)`;

/** Tag slugs of a submission; `s` is the submission. */
export const tagSlugs = (sql: Sql) => sql`array(
  select t.slug from public.submission_tags st join public.tags t on t.id = st.tag_id where st.submission_id = s.id order by t.slug)`;
