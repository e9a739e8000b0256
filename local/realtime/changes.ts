import type { Sql } from "../database.ts";
import { type Catalog, type Column, type Table, tableKey } from "./catalog.ts";
import { passAll, passes } from "./filters.ts";
import type { Identity } from "./identity.ts";
import type { Change, Row } from "./pgoutput.ts";
import type { Subscription } from "./subscriptions.ts";

/** What one listener is to be told: the change as JSON text, for those of its bindings that want it. */
export interface Notice<Owner> {
  owner: Owner;
  ids: number[];
  data: string;
}

type Wanted<Owner> = Subscription<Owner>[];

// As hosted: of a larger row only values of up to 64 bytes are told.
const largestRow = 1024 * 1024;
const largestValueThen = 64;

/** Answers, change by change, who is told what: filters, column privileges and policies, by each listener's own identity. */
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
        notices.set(change, tell(table, change, values[index] ?? [{}, {}], seen));
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
  // A filter that fails on a value takes nobody else's changes along.
  const alone = (test: (typeof tests)[number]) =>
    passAll(sql, [test]).then(
      ([each]) => each,
      () => false,
    );
  const passed = await passAll(sql, tests).catch(() => Promise.all(tests.map(alone)));
  const refused = new Map<Job<Owner>, Set<Subscription<Owner>>>();
  open.forEach(({ subscription, job }, index) => {
    if (!passed[index]) refused.set(job, (refused.get(job) ?? new Set()).add(subscription));
  });
  for (const [job, out] of refused) job.wanted = job.wanted.filter((subscription) => !out.has(subscription));
}

type JsonTexts = Record<string, string>;

/** Of each change the new and the old row, its values as JSON text. */
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

/** Text for Postgres to read by each column's type; JSON columns as the JSON they are. */
function rowJson(table: Table, row: Row | null, only?: (column: Column) => boolean): string {
  const members = table.columns.flatMap((column) => {
    const value = row?.get(column.name);
    if (value === undefined || (only && !only(column))) return [];
    const json = value !== null && /^jsonb?$/.test(column.type) ? value : JSON.stringify(value);
    return `${JSON.stringify(column.name)}:${json}`;
  });
  return `{${members.join(",")}}`;
}

/** For each identity the positions of the rows its policies show, as they stand now. */
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
  // By role, so that the plan of one serves the next.
  const list = [...identities.values()].sort((a, b) => (a.role < b.role ? -1 : 1));
  const keys = jobs.map(({ change }) => rowJson(table, change.record, ({ isKey }) => isKey));
  const ask = (some: Identity[]) => sql<{ identity: number; visible: number[] | null }[]>`
    select identity, visible from realtime.visible_rows(${table.entity}::regclass, ${`[${keys.join(",")}]`}::text::jsonb,
      ${some.map(({ role }) => role)}::text[], ${some.map(({ claims }) => claims)}::text[], ${xids}::bigint[])`;
  const xids = [...new Set(jobs.map(({ change }) => change.xid))];
  const visible = new Map<string, Set<number>>();
  const note = (some: Identity[], rows: Awaited<ReturnType<typeof ask>>) => {
    for (const row of rows) {
      const identity = some[row.identity - 1];
      if (identity) visible.set(identity.key, new Set((row.visible ?? []).map((position) => position - 1)));
    }
  };
  try {
    note(list, await ask(list));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Somebody's claims make a policy fail: they see nothing, the others what they may.
    for (const one of list)
      note([one], (await ask([one]).catch(() => [])) as Awaited<ReturnType<typeof ask>>);
  }
  return visible;
}

/** An error of the statement itself, which would come again, rather than of the connection or the moment. */
export const isRefusal = (error: unknown) =>
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

function tell<Owner>(
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
    const mine = notices.get(owner) ?? new Map<string, Notice<Owner>>();
    notices.set(owner, mine);
    const notice = mine.get(kind) ?? { owner, ids: [], data };
    mine.set(kind, notice);
    notice.ids.push(id);
  }
  return [...notices.values()].flatMap((mine) => [...mine.values()]);
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
  const tooLarge = size > largestRow;
  const row = (texts: JsonTexts, shown: Column[]) =>
    `{${shown
      .filter(
        ({ name }) =>
          texts[name] !== undefined && (!tooLarge || Buffer.byteLength(texts[name]) <= largestValueThen),
      )
      .map(({ name }) => `${JSON.stringify(name)}:${texts[name]}`)
      .join(",")}}`;
  head.push(`"columns":${JSON.stringify(columns.map(({ name, type }) => ({ name, type })))}`);
  if (change.type !== "DELETE") head.push(`"record":${row({ ...old, ...record }, columns)}`);
  if (change.type === "UPDATE") head.push(`"old_record":${row(old, columns)}`);
  // No policy can be asked about a row that is gone, so of a secured table it is the key alone.
  if (change.type === "DELETE")
    head.push(`"old_record":${row(old, table.secured ? columns.filter(({ isKey }) => isKey) : columns)}`);
  head.push(`"errors":${tooLarge ? '["Error 413: Payload Too Large"]' : "null"}`);
  return `{${head.join(",")}}`;
}
