import { pipeline } from "node:stream/promises";
import type { Runner } from "../../postgres/database.ts";
import { StartError } from "../../processes/start-error.ts";

/** A table on both sides: `columns` of the target, and what the source gives for them. */
export interface Table {
  name: string;
  columns: string[];
  given: string[];
}

interface Column {
  table: string;
  column: string;
  type: string;
  generated: boolean;
  required: boolean;
}

/** Sessions, codes and logs of auth stay: other keys signed or encrypted them, or they are over soon. */
const authTables = ["users", "identities", "mfa_factors"];
const pendingCodes = [
  ...["confirmation_token", "recovery_token", "email_change", "email_change_token_new", "email_change_token_current"],
  ...["phone_change", "phone_change_token", "reauthentication_token"],
];

/** A read of the API with a key writes it; it may differ at the end, and its table is not locked. */
export const stamped = { table: "private.api_keys", column: "last_used_at" };

/** Both sides print values in the same way, and nothing of the role's settings ends a long statement. */
export const settings = `
  set local search_path = pg_catalog; set local timezone = 'UTC'; set local datestyle = 'ISO, YMD';
  set local intervalstyle = 'postgres'; set local extra_float_digits = 1; set local bytea_output = 'hex';
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local lock_timeout = '30s'`;

const columnsOf = (sql: Runner) => sql<Column[]>`
  select format('%I.%I', n.nspname, c.relname) as table, quote_ident(a.attname) as column,
    format_type(a.atttypid, a.atttypmod) as type, a.attgenerated <> '' as generated,
    a.attnotnull and not a.atthasdef and a.attidentity = '' as required
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where a.attnum > 0 and not a.attisdropped and c.relkind = 'r' and c.relpersistence = 'p'
    and (n.nspname in ('public', 'private') or n.nspname = 'auth' and c.relname = any (${authTables}))
  order by n.nspname = 'auth' desc, 1, a.attnum`;

/** Whether schema auth is of Supabase Auth, and not of the library. */
export async function isSupabaseAuth(sql: Runner): Promise<boolean> {
  const [row] = await sql`select to_regclass('auth.schema_migrations') is not null as found`;
  return row?.found;
}

/** What to copy, and the columns and tables of the source that the target lacks. */
export async function planTables(source: Runner, target: Runner): Promise<{ tables: Table[]; lost: string[] }> {
  const [from, to] = [await columnsOf(source), await columnsOf(target)];
  const code = (await isSupabaseAuth(target)) ? "''" : "null";
  // As Supabase Auth reads them: it finds accounts by the first three, and reads no null as a code.
  const set: Record<string, string> = {
    instance_id: "'00000000-0000-0000-0000-000000000000'",
    aud: "coalesce(aud, 'authenticated')",
    role: "coalesce(role, 'authenticated')",
    email_change_confirm_status: "0",
    ...Object.fromEntries(pendingCodes.map((name) => [name, code])),
  };
  const tables = [...new Set(to.map(({ table }) => table))].flatMap((name) => {
    const present = new Set(from.flatMap(({ table, column }) => (table === name ? [column] : [])));
    if (present.size === 0) return [];
    const columns = to.filter(({ table, generated }) => table === name && !generated);
    const own = ({ column }: Column) => (name === "auth.users" ? set[column] : undefined);
    const taken = columns.filter((column) => present.has(column.column) || own(column));
    const missing = columns.find((column) => column.required && !taken.includes(column));
    if (missing) throw new StartError(`the source has no ${name}.${missing.column}, which the target requires`);
    const given = taken.map((column) => `(${own(column) ?? column.column})::${column.type}`);
    return [{ name, columns: taken.map(({ column }) => column), given }];
  });
  const known = new Set(to.map(({ table, column }) => `${table}.${column}`));
  const lost: string[] = [];
  for (const { table, column } of from.filter(({ table, column }) => !known.has(`${table}.${column}`))) {
    const [row] = await source.unsafe(`select count(${column})::integer as filled from ${table}`);
    if (row?.filled > 0 && !set[column]) lost.push(`${table}.${column} (${row?.filled} rows)`);
  }
  return { tables, lost };
}

/** Returns the number of rows. Memory stays constant: the target's pace holds the source back. */
export async function copyTable(source: Runner, target: Runner, { name, columns, given }: Table): Promise<number> {
  let rows = 0;
  if ((await source.unsafe(`select from ${name} limit 1`)).length === 0) return rows;
  const reading = await source.unsafe(`copy (select ${given.join(", ")} from ${name}) to stdout`).readable();
  const counted = async function* (blocks: AsyncIterable<Buffer>) {
    for await (const block of blocks) {
      for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, at + 1)) rows += 1;
      yield block;
    }
    // postgres.js leaves its socket paused if all rows came at once.
    reading._read(0);
  };
  await pipeline(reading, counted, await target.unsafe(`copy ${name} (${columns.join(", ")}) from stdin`).writable());
  return rows;
}

/** The number of rows, and a sum of their hashes, which does not depend on their order. */
async function digestOf(sql: Runner, { name }: Table, values: string[]): Promise<{ rows: number; sum: string }> {
  const [row] = await sql.unsafe(`select count(*)::integer as rows,
    coalesce(sum(hashtextextended(row(${values.join(", ")})::text, 0)::numeric), 0)::text as sum from ${name}`);
  return { rows: row?.rows, sum: row?.sum };
}

/** Rows of a table on both sides, if they are the same. */
export async function compareTable(source: Runner, target: Runner, table: Table): Promise<number> {
  const isCompared = (_: string, at: number) => !(table.name === stamped.table && table.columns[at] === stamped.column);
  const [there, here] = [
    await digestOf(source, table, table.given.filter(isCompared)),
    await digestOf(target, table, table.columns.filter(isCompared)),
  ];
  if (there.rows === here.rows && there.sum === here.sum) return here.rows;
  throw new StartError(
    `${table.name} differs: ${there.rows} rows with checksum ${there.sum} at the source, ${here.rows} with ${here.sum} at the target: nothing was moved; run the command again`,
  );
}

/** The next ids. In the transaction, unlike setval. */
export async function copySequences(source: Runner, target: Runner): Promise<void> {
  const sequences = (sql: Runner) => sql<{ name: string; next: string }[]>`
    select format('%I.%I', schemaname, sequencename) as name, (last_value + increment_by)::text as next
    from pg_sequences where schemaname in ('public', 'private')`;
  const known = new Set((await sequences(target)).map(({ name }) => name));
  for (const { name, next } of await sequences(source))
    if (next !== null && known.has(name)) await target.unsafe(`alter sequence ${name} restart with ${next}`);
}
