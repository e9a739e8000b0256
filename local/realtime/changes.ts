import type { Sql } from "../database.ts";
import type { Identity } from "../identity.ts";
import { type Catalog, type Column, type Table, tableKey } from "./catalog.ts";
import { passAll, passes } from "./filters.ts";
import type { Change, Row } from "./pgoutput.ts";
import type { Subscription } from "./subscriptions.ts";

/** A change as JSON text for one subscriber, and the bindings it matches. */
export interface Notice<Owner> {
  owner: Owner;
  ids: number[];
  data: string;
}

type Wanted<Owner> = Subscription<Owner>[];

// As hosted: of larger rows, only values of up to 64 bytes are sent.
const maxRowBytes = 1024 * 1024;
const maxTruncatedValueBytes = 64;

/** Computes for each change who receives what: filters, column grants and policies, by each subscriber's identity. */
export async function noticesOf<Owner>(
  sql: Sql,
  catalog: Catalog,
  changes: Change[],
  candidates: (change: Change) => Wanted<Owner>,
): Promise<Notice<Owner>[][]> {
  const tables = await catalog.tables();
  const jobs = changes.map((change) => {
    const table = tables.get(tableKey(change.relation.schema, change.relation.table));
    return { change, table, wanted: table ? candidates(change) : [] };
  });
  await applyFilters(sql, jobs);
  const byTable = new Map<Table, typeof jobs>();
  for (const job of jobs) {
    if (job.table && job.wanted.length > 0) byTable.set(job.table, [...(byTable.get(job.table) ?? []), job]);
  }
  const notices = new Map<Change, Notice<Owner>[]>();
  await Promise.all(
    [...byTable].map(async ([table, group]) => {
      const [values, visible] = await Promise.all([
        jsonValues(sql, table, group),
        visibleRows(sql, table, group),
      ]);
      group.forEach(({ change, wanted }, index) => {
        const seen = wanted.filter(({ identity }) => sees(table, change, visible, identity, index));
        notices.set(change, noticesFor(table, change, values[index] ?? [{}, {}], seen));
      });
    }),
  );
  return changes.map((change) => notices.get(change) ?? []);
}

interface Job<Owner> {
  change: Change;
  wanted: Wanted<Owner>;
}

const testedRow = ({ type, record, old }: Change): Row => (type === "DELETE" ? old : record) ?? new Map();

async function applyFilters<Owner>(sql: Sql, jobs: Job<Owner>[]): Promise<void> {
  const open: { subscription: Subscription<Owner>; job: Job<Owner>; row: Row }[] = [];
  for (const job of jobs) {
    const row = testedRow(job.change);
    job.wanted = job.wanted.filter((subscription) => {
      const passed = passes(subscription.filters, row);
      if (passed === null) open.push({ subscription, job, row });
      return passed !== false;
    });
  }
  if (open.length === 0) return;
  const tests = open.map(({ subscription, row }) => ({ filters: subscription.filters, row }));
  // A filter that fails for a value affects its own subscription only.
  const combine = (test: (typeof tests)[number]) =>
    passAll(sql, [test]).then(
      ([each]) => each,
      () => false,
    );
  const passed = await passAll(sql, tests).catch(() => Promise.all(tests.map(combine)));
  const rejected = new Map<Job<Owner>, Set<Subscription<Owner>>>();
  open.forEach(({ subscription, job }, index) => {
    if (!passed[index]) rejected.set(job, (rejected.get(job) ?? new Set()).add(subscription));
  });
  for (const [job, out] of rejected) job.wanted = job.wanted.filter((subscription) => !out.has(subscription));
}

type JsonTexts = Record<string, string>;

/** New and old row of each change, with values as JSON text. */
async function jsonValues(
  sql: Sql,
  table: Table,
  jobs: { change: Change }[],
): Promise<[JsonTexts, JsonTexts][]> {
  const rows = jobs.flatMap(({ change }) => [change.record, change.old]).map((row) => rowJson(table, row));
  const answers = await sql<{ json_values: JsonTexts | null }[]>`
    select json_values from realtime.json_values(${table.entity}::regclass, ${`[${rows.join(",")}]`}::text::jsonb)`;
  return jobs.map((_, index) => [
    answers[2 * index]?.json_values ?? {},
    answers[2 * index + 1]?.json_values ?? {},
  ]);
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

/** For each identity the positions of the rows its policies show now. */
async function visibleRows<Owner>(
  sql: Sql,
  table: Table,
  jobs: Job<Owner>[],
): Promise<Map<string, Set<number>>> {
  const identities = new Map<string, Identity>();
  for (const { change, wanted } of jobs) {
    if (change.type === "DELETE" || !table.secured) continue;
    for (const { identity } of wanted) {
      if (readsKey(table, identity)) identities.set(identity.key, identity);
    }
  }
  if (identities.size === 0) return new Map();
  // Grouped by role, to reuse query plans.
  const list = [...identities.values()].sort((a, b) => (a.role < b.role ? -1 : 1));
  const keys = jobs.map(({ change }) => rowJson(table, change.record, ({ isKey }) => isKey));
  const query = (some: Identity[]) => sql<{ identity: number; visible: number[] | null }[]>`
    select identity, visible from realtime.visible_rows(${table.entity}::regclass, ${`[${keys.join(",")}]`}::text::jsonb,
      ${some.map(({ role }) => role)}::text[], ${some.map(({ claims }) => claims)}::text[], ${xids}::bigint[])`;
  const xids = [...new Set(jobs.map(({ change }) => change.xid))];
  const visible = new Map<string, Set<number>>();
  const note = (some: Identity[], rows: Awaited<ReturnType<typeof query>>) => {
    for (const row of rows) {
      const identity = some[row.identity - 1];
      if (identity) visible.set(identity.key, new Set((row.visible ?? []).map((position) => position - 1)));
    }
  };
  try {
    note(list, await query(list));
  } catch (error) {
    if (!isStatementError(error)) throw error;
    // A policy fails for some claims: those subscribers get nothing, the others their rows.
    for (const one of list)
      note([one], (await query([one]).catch(() => [])) as Awaited<ReturnType<typeof query>>);
  }
  return visible;
}

/** A deterministic error of the statement, not one of the connection or a temporary one. */
export const isStatementError = (error: unknown) =>
  error instanceof Error &&
  "code" in error &&
  /^(?=.*\d)(?!57P|08|53|40)[0-9A-Z]{5}$/.test(String(error.code));

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
  seen: Wanted<Owner>,
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
    ({ name, isKey, readers }) =>
      readers.includes(identity.role) && (!select || isKey || select.includes(name)),
  );
  const size = [...Object.values(record), ...Object.values(old)].reduce((sum, text) => sum + text.length, 0);
  const tooLarge = size > maxRowBytes;
  const row = (texts: JsonTexts, shown: Column[]) =>
    `{${shown
      .filter(
        ({ name }) =>
          texts[name] !== undefined &&
          (!tooLarge || Buffer.byteLength(texts[name]) <= maxTruncatedValueBytes),
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
