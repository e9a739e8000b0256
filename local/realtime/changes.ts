import type { Identity } from "../auth/identity.ts";
import type { Sql } from "../postgres/database.ts";
import { type Catalog, type Column, type Table, tableKey } from "./catalog.ts";
import type { Filter } from "./filters.ts";
import { type Change, type Row, testedRow } from "./pgoutput.ts";
import { compared, type Subscription } from "./subscriptions.ts";

/** A change as JSON text for one subscriber, and the bindings it matches. */
export interface Notice<Owner> {
  owner: Owner;
  ids: number[];
  data: string;
}

/** A change, and the subscriptions that may receive it. */
export interface Job<Owner> {
  change: Change;
  wanted: Subscription<Owner>[];
}

// As hosted: of larger rows, only values of up to 64 bytes are sent.
const maxRowBytes = 1024 * 1024;
const maxTruncatedValueBytes = 64;

/** Computes for each change who receives what: filters, column grants and policies, by each subscriber's identity. */
export async function noticesOf<Owner>(sql: Sql, catalog: Catalog, jobs: Job<Owner>[]): Promise<Notice<Owner>[][]> {
  const tables = await catalog.tables();
  const byTable = new Map<Table, Job<Owner>[]>();
  for (const job of jobs) {
    const { schema, table: name } = job.change.relation;
    const table = tables.get(tableKey(schema, name));
    if (table && job.wanted.length > 0) byTable.set(table, [...(byTable.get(table) ?? []), job]);
  }
  const notices = new Map<Change, Notice<Owner>[]>();
  await Promise.all(
    [...byTable].map(async ([table, all]) => {
      const group = (await filtered(sql, table, all)).filter(({ wanted }) => wanted.length > 0);
      if (group.length === 0) return;
      const [values, visible] = await Promise.all([jsonValues(sql, table, group), visibleRows(sql, table, group)]);
      group.forEach(({ change, wanted }, index) => {
        const seen = wanted.filter(({ identity }) => sees(table, change, visible, identity, index));
        notices.set(change, noticesFor(table, change, values[index] ?? [{}, {}], seen));
      });
    }),
  );
  return jobs.map(({ change }) => notices.get(change) ?? []);
}

/** Lets Postgres compare what cannot be compared as text. Equal comparisons are one. */
async function filtered<Owner>(sql: Sql, table: Table, jobs: Job<Owner>[]): Promise<Job<Owner>[]> {
  const positions = new Map<string, number>();
  const positionOf = ({ column, operator, negate, value }: Filter) => {
    const text = JSON.stringify({ column, operator, negate, value });
    const position = positions.get(text) ?? positions.size + 1;
    positions.set(text, position);
    return position;
  };
  const needed = jobs.map(({ wanted }) =>
    wanted.map((subscription) => compared(subscription).map((filter) => positionOf(filter))),
  );
  if (positions.size === 0) return jobs;
  const rows = `[${jobs.map(({ change }) => rowJson(table, testedRow(change))).join(",")}]`;
  const answers = await sql<{ filter: number; passing: number[] }[]>`
    select filter, passing from realtime.passing(${table.entity}::regclass, ${rows}::text::jsonb, ${`[${[...positions.keys()].join(",")}]`}::text::jsonb)`.catch(
    (error: unknown) => {
      // Only listeners with such filters miss the one change that fails, as after a change of a column's type.
      if (isStatementError(error) && jobs.length === 1) return [];
      throw error;
    },
  );
  const passed = new Map(answers.map(({ filter, passing }) => [filter, new Set(passing)]));
  return jobs.map(({ change, wanted }, job) => ({
    change,
    wanted: wanted.filter((_, index) => needed[job]?.[index]?.every((position) => passed.get(position)?.has(job + 1))),
  }));
}

type JsonTexts = Record<string, string>;

/** New and old row of each change, with values as JSON text. */
async function jsonValues(sql: Sql, table: Table, jobs: { change: Change }[]): Promise<[JsonTexts, JsonTexts][]> {
  const rows = jobs.flatMap(({ change }) => [change.record, change.old]).map((row) => rowJson(table, row));
  const answers = await sql<{ json_values: JsonTexts | null }[]>`
    select json_values from realtime.json_values(${table.entity}::regclass, ${`[${rows.join(",")}]`}::text::jsonb)`;
  return jobs.map((_, index) => [answers[2 * index]?.json_values ?? {}, answers[2 * index + 1]?.json_values ?? {}]);
}

/** Text to be parsed by the column's type; JSON columns as JSON. */
function rowJson(table: Table, row: Row | null, only?: (column: Column) => boolean): string {
  const members = table.columns.flatMap((column) => {
    const value = row?.get(column.name);
    if (value === undefined || (only && !only(column))) return [];
    const json = value !== null && /^jsonb?$/.test(column.type) ? value : JSON.stringify(value);
    return `${JSON.stringify(column.name)}:${json}`;
  });
  return `{${members.join(",")}}`;
}

const identitiesOfQuery = 500;

/**
 * For each identity, the positions of the rows that its policies show both as they were changed and as they are now.
 */
async function visibleRows<Owner>(sql: Sql, table: Table, jobs: Job<Owner>[]): Promise<Map<string, Set<number>>> {
  const identities = new Map<string, Identity>();
  for (const { change, wanted } of jobs) {
    if (change.type === "DELETE" || !table.secured) continue;
    for (const { identity } of wanted) {
      if (readsKey(table, identity)) identities.set(identity.key, identity);
    }
  }
  // Grouped by role, to reuse query plans.
  const list = [...identities.values()].sort((a, b) => (a.role < b.role ? -1 : 1));
  const rows = jobs.map(({ change }) => rowJson(table, change.record, ({ isKey, inPolicy }) => isKey || inPolicy));
  const xids = [...new Set(jobs.map(({ change }) => change.xid))];
  const visible = new Map<string, Set<number>>();
  const query = async (some: Identity[]) => {
    const answers = await sql<{ identity: number; visible: number[] | null }[]>`
      select identity, visible from realtime.visible_rows(${table.entity}::regclass, ${`[${rows.join(",")}]`}::text::jsonb,
        ${some.map(({ role }) => role)}::text[], ${some.map(({ claims }) => claims)}::text[], ${xids}::bigint[])`;
    for (const answer of answers) {
      const identity = some[answer.identity - 1];
      if (identity) visible.set(identity.key, new Set((answer.visible ?? []).map((position) => position - 1)));
    }
  };
  for (let from = 0; from < list.length; from += identitiesOfQuery) {
    const some = list.slice(from, from + identitiesOfQuery);
    try {
      await query(some);
    } catch (error) {
      if (!isStatementError(error)) throw error;
      // A policy fails for some claims: those subscribers get nothing, the others their rows.
      for (const one of some) await query([one]).catch(() => undefined);
    }
  }
  return visible;
}

/** A deterministic error of the statement or of this program, not one of the connection or a temporary one. */
export const isStatementError = (error: unknown) =>
  error instanceof Error && (!("code" in error) || /^(?=.*\d)(?!57P|08|53|40)[0-9A-Z]{5}$/.test(String(error.code)));

const readsKey = (table: Table, { role }: Identity) =>
  table.columns.every(({ isKey, readers }) => !isKey || readers.includes(role));

function sees(
  table: Table,
  change: Change,
  visible: Map<string, Set<number>>,
  identity: Identity,
  index: number,
): boolean {
  if (change.type === "DELETE" || !table.secured || !readsKey(table, identity)) return true;
  return visible.get(identity.key)?.has(index) ?? false;
}

function noticesFor<Owner>(
  table: Table,
  change: Change,
  values: [JsonTexts, JsonTexts],
  seen: Subscription<Owner>[],
): Notice<Owner>[] {
  const texts = new Map<string, string>();
  const notices = new Map<Owner, Map<string, Notice<Owner>>>();
  for (const { owner, identity, id, select } of seen) {
    const kind = `${identity.role} ${select?.join(",") ?? "*"}`;
    const data = texts.get(kind) ?? dataOf(table, change, values, identity, select);
    texts.set(kind, data);
    const ownNotices = notices.get(owner) ?? new Map<string, Notice<Owner>>();
    notices.set(owner, ownNotices);
    const notice = ownNotices.get(kind) ?? { owner, ids: [], data };
    ownNotices.set(kind, notice);
    notice.ids.push(id);
  }
  return [...notices.values()].flatMap((ownNotices) => [...ownNotices.values()]);
}

function dataOf(
  table: Table,
  change: Change,
  [record, old]: [JsonTexts, JsonTexts],
  identity: Identity,
  select: string[] | null,
): string {
  const head = [
    `"schema":${JSON.stringify(table.schema)}`,
    `"table":${JSON.stringify(table.name)}`,
    `"type":"${change.type}"`,
    `"commit_timestamp":"${change.committedAt.toISOString()}"`,
  ];
  if (change.type !== "DELETE" && !table.columns.some(({ isKey }) => isKey))
    return `{${head.join(",")},"errors":["Error 400: Bad Request, no primary key"]}`;
  if (change.type !== "DELETE" && !readsKey(table, identity))
    return `{${head.join(",")},"errors":["Error 401: Unauthorized"]}`;
  const columns = table.columns.filter(
    ({ name, isKey, readers }) => readers.includes(identity.role) && (!select || isKey || select.includes(name)),
  );
  const size = [...Object.values(record), ...Object.values(old)].reduce((sum, text) => sum + text.length, 0);
  const tooLarge = size > maxRowBytes;
  const row = (texts: JsonTexts, shown: Column[]) =>
    `{${shown
      .filter(
        ({ name }) =>
          texts[name] !== undefined && (!tooLarge || Buffer.byteLength(texts[name]) <= maxTruncatedValueBytes),
      )
      .map(({ name }) => `${JSON.stringify(name)}:${texts[name]}`)
      .join(",")}}`;
  head.push(`"columns":${JSON.stringify(columns.map(({ name, type }) => ({ name, type })))}`);
  if (change.type !== "DELETE") head.push(`"record":${row({ ...old, ...record }, columns)}`);
  if (change.type === "UPDATE") head.push(`"old_record":${row(old, columns)}`);
  // Policies cannot be evaluated for a deleted row, so a table with row-level security sends the key only.
  if (change.type === "DELETE")
    head.push(`"old_record":${row(old, table.secured ? columns.filter(({ isKey }) => isKey) : columns)}`);
  head.push(`"errors":${tooLarge ? '["Error 413: Payload Too Large"]' : "null"}`);
  return `{${head.join(",")}}`;
}
