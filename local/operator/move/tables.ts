import { pipeline } from "node:stream/promises";
import type { Runner } from "../../postgres/database.ts";
import { StartError } from "../../processes/start-error.ts";

/** A table on both sides: `columns` of the target, and what the source gives for them. */
export interface Table {
  name: string;
  columns: string[];
  given: string[];
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

// Types without their lengths: a cast would cut what is too long, and COPY refuses it.
const columnsOf = (sql: Runner) => sql<{ table: string; column: string; type: string; generated: boolean }[]>`
  select format('%I.%I', n.nspname, c.relname) as table, quote_ident(a.attname) as column,
    format_type(a.atttypid, -1) as type, a.attgenerated <> '' as generated
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
  const [given, known] = [from, to].map((side) => new Set(side.map(({ table, column }) => `${table}.${column}`)));
  const tables = [...new Set(from.map(({ table }) => table))].flatMap((name) => {
    const own = (column: string) => (name === "auth.users" ? set[column] : undefined);
    const columns = to.filter(
      ({ table, column, generated }) =>
        table === name && !generated && (given?.has(`${name}.${column}`) || own(column) !== undefined),
    );
    if (columns.length === 0) return [];
    return [
      {
        name,
        columns: columns.map(({ column }) => column),
        given: columns.map(({ column, type }) => `(${own(column) ?? column})::${type}`),
      },
    ];
  });
  const lost: string[] = [];
  for (const { table, column } of from.filter(({ table, column }) => !known?.has(`${table}.${column}`))) {
    const [row] = await source.unsafe(`select count(${column})::integer as filled from ${table}`);
    if (row?.filled > 0 && !set[column]) lost.push(`${table}.${column} (${row?.filled} rows)`);
  }
  return { tables, lost };
}

/** Memory stays constant: the target's pace holds the source back. */
async function copyTable(source: Runner, target: Runner, { name, columns, given }: Table): Promise<void> {
  if ((await source.unsafe(`select from ${name} limit 1`)).length === 0) return;
  const reading = await source.unsafe(`copy (select ${given.join(", ")} from ${name}) to stdout`).readable();
  const whole = async function* (blocks: AsyncIterable<Buffer>) {
    yield* blocks;
    // postgres.js leaves its socket paused if all rows came at once.
    reading._read(0);
  };
  const copy = target.unsafe(`copy ${name} (${columns.join(", ")}) from stdin`);
  const writing = await copy.writable();
  // postgres.js loses an error that comes after the last row.
  Object.assign(copy, { reject: (error: Error) => writing.destroy(error) });
  await pipeline(reading, whole, writing);
}

/** Rows of a table on both sides, if their number and the sum of their hashes, in any order, are the same. */
export async function compareTable(source: Runner, target: Runner, table: Table): Promise<number> {
  const { name, columns, given } = table;
  const digestOf = async (sql: Runner, values: string[]) => {
    const compared = values.filter((_, at) => !(name === stamped.table && columns[at] === stamped.column));
    const [row] = await sql.unsafe(`select count(*)::integer as rows,
      coalesce(sum(hashtextextended(row(${compared.join(", ")})::text, 0)::numeric), 0)::text as sum from ${name}`);
    return { rows: row?.rows, sum: row?.sum };
  };
  const [there, here] = [await digestOf(source, given), await digestOf(target, columns)];
  if (there.rows === here.rows && there.sum === here.sum) return here.rows;
  throw new StartError(
    `${name} differs: ${there.rows} rows with checksum ${there.sum} at the source, ${here.rows} with ${here.sum} at the target: nothing was moved; run the command again`,
  );
}

/** The next ids. In the transaction, unlike setval. */
async function copySequences(source: Runner, target: Runner): Promise<void> {
  const sequences = await target`select format('%I.%I', schemaname, sequencename) as name from pg_sequences
    where schemaname in ('public', 'private')`;
  for (const { name } of sequences) {
    const [row] = await source.unsafe(`select (last_value + is_called::integer)::text as next from ${name}`);
    await target.unsafe(`alter sequence ${name} restart with ${row?.next}`);
  }
}

/** Copies the tables, and compares them. */
export async function copyAll(
  source: Runner,
  target: Runner,
  tables: Table[],
  log: (line: string) => void,
): Promise<void> {
  let total = 0;
  for (const table of tables) {
    await copyTable(source, target, table);
    const rows = await compareTable(source, target, table);
    if (rows > 0) log(`  ${table.name.padEnd(32)} ${String(rows).padStart(10)} rows`);
    total += rows;
  }
  await copySequences(source, target);
  log(`same on both sides: ${tables.length} tables with ${total} rows, by count and checksum`);
}
