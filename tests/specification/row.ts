import { expect } from "vitest";
import type { CallerName } from "./makers/index.ts";
import { type Answer, type Comes, type Request, send } from "./request.ts";
import type { Scene } from "./scene.ts";

/** The number of a line of docs/specification.md, such as 4.3.2. */
type Line = `${number}.${number}` | `${number}.${number}.${number}`;

/** Looks at an answer; `scene` fills in what the row has made. */
type Look = (answer: Answer, scene: Scene) => unknown;

/** A part of the data, or a function that looks at the answer. */
export type Check = Look | Readonly<Record<string, unknown>> | readonly unknown[];

export type Step = readonly [as: CallerName, request: Request, comes: Comes, ...checks: Check[]];
export type Row = readonly [line: Line, ...Step];
export type Section = { title: string; rows: readonly Row[]; shared: boolean };

/**
 * Rows of one section. A refused row without a later look uses the scene of its section, every other row its own; if
 * `shared` is set, all rows of the list use one scene, for rows that only read.
 */
export const section = (title: string, rows: readonly Row[], { shared = false } = {}): Section => ({
  title,
  rows,
  shared,
});

// Checks ---------------------------------------------------------------------------------------------------------------

/** Sends another request afterwards. */
export const afterwards =
  (...step: Step): Look =>
  async ({ steps }, scene) =>
    steps?.push(...((await run(step, scene)).steps ?? []));

/** The data, or each item of the list, has exactly these fields. */
export function keys(names: string): Look {
  const expected = names.split(" ").sort();
  return ({ data }) => forEach(data, (item) => expect(Object.keys(item as object).sort()).toEqual(expected));
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

const kinds = {
  uuid: (value: unknown) => typeof value === "string" && uuid.test(value),
  time: (value: unknown) => typeof value === "string" && time.test(value) && !Number.isNaN(Date.parse(value)),
  string: (value: unknown) => typeof value === "string",
  integer: (value: unknown) => Number.isInteger(value),
  number: (value: unknown) => typeof value === "number",
  fraction: (value: unknown) => typeof value === "number" && value >= 0 && value <= 1,
  boolean: (value: unknown) => typeof value === "boolean",
  object: (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  strings: (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === "string"),
} satisfies Record<string, (value: unknown) => boolean>;
type Kind = keyof typeof kinds;

/**
 * The data, or each item of the list, has fields of these types and may have others. A name with a question mark is of
 * a field that may be left out, an array is a choice of texts.
 */
export function types(fields: Record<string, Kind | `${Kind} or null` | readonly string[]>): Look {
  return ({ data }) =>
    forEach(data, (item) => {
      for (const [name, kind] of Object.entries(fields)) {
        const value = (item as Record<string, unknown>)[name.replace("?", "")];
        if (value === undefined && name.endsWith("?")) continue;
        if (typeof kind !== "string") expect(kind, `${name} is ${value}`).toContain(value);
        else if (value !== null || !kind.endsWith(" or null")) {
          const is = kinds[kind.replace(" or null", "") as Kind];
          expect(is(value), `${name} is ${kind}: ${JSON.stringify(value)}`).toBe(true);
        }
      }
    });
}

function forEach(data: unknown, look: (item: unknown) => void): void {
  const items = Array.isArray(data) ? data : [data];
  expect(items.length, "a list without items shows nothing").toBeGreaterThan(0);
  for (const item of items) look(item);
}

/** The checks hold for a part of the data, such as "author" or "0.author". */
export const at =
  (path: string, ...checks: Check[]): Look =>
  (answer, scene) =>
    look({ ...answer, data: part(answer.data, path) }, checks, scene);

const part = (data: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], data);

/** The checks hold for the whole body. */
export const body =
  (...checks: Check[]): Look =>
  (answer, scene) =>
    look({ ...answer, data: answer.body }, checks, scene);

/** A part of the body beside `data`. */
export const meta =
  (expected: Readonly<Record<string, unknown>>): Look =>
  async ({ meta }, scene) =>
    expect(meta).toMatchObject(await scene.fill(expected));

/** The data itself, compared exactly; also a number or text of supabase-js. */
export const is =
  (expected: unknown): Look =>
  async ({ data }, scene) =>
    expect(data).toEqual(await scene.fill(expected));

/** A condition holds for the data. */
export const holds =
  (condition: (data: never) => boolean): Look =>
  ({ data, text }) =>
    expect(condition(data as never), `${condition}: ${text.slice(0, 1000)}`).toBe(true);

/** A field of the list's items, in their order. */
export const each =
  (path: string, expected: readonly unknown[]): Look =>
  async ({ data }, scene) =>
    expect((data as unknown[]).map((item) => part(item, path))).toEqual(await scene.fill(expected));

/** The texts of headers, or patterns for them. */
export const headers =
  (expected: Record<string, string | RegExp>): Look =>
  ({ headers }) => {
    for (const [name, value] of Object.entries(expected)) {
      if (typeof value === "string") expect(headers[name], name).toBe(value);
      else expect(headers[name], name).toMatch(value);
    }
  };

/** The further fields of an error: of the error's object, or of `data` of JSON-RPC, or `details` of supabase-js. */
export const error =
  (expected: Readonly<Record<string, unknown>>): Look =>
  async ({ error }, scene) =>
    expect(error).toMatchObject(await scene.fill(expected));

/** The changes that a `listen` row has received after the steps before this check, in their order. */
export const hears =
  (...changes: Readonly<Record<string, unknown>>[]): Look =>
  async ({ heard = [] }, scene) => {
    await expect.poll(() => heard.length).toBeGreaterThanOrEqual(changes.length);
    expect(heard).toMatchObject(await scene.fill(changes));
  };

/** The specification is silent here, and we decided. */
export const choice = (_reason: string): Look => Object.assign(() => undefined, { isChoice: true });

/** A text of this many characters. */
export const of = (length: number, character = "x"): string => character.repeat(length);

// Running --------------------------------------------------------------------------------------------------------------

/** Sends the request of a step, and expects what must come. */
export async function run([as, request, comes, ...checks]: Step, scene: Scene): Promise<Answer> {
  const answer = await send(as, await scene.fill(request), scene);
  answer.steps = [{ as, request, answer }];
  answer.expectComes(await scene.fill(comes));
  await look(answer, checks, scene);
  return answer;
}

async function look(answer: Answer, checks: readonly Check[], scene: Scene): Promise<void> {
  for (const check of checks) {
    if (typeof check === "function") await check(answer, scene);
    else expect(answer.data).toMatchObject((await scene.fill(check)) as object);
  }
}
