import { sql } from "./stack.ts";

// Tables whose rows the schedule and the dispatchers change, regardless of requests.
const derived = "(_activity|_backlogs|_days|_due|_statistics|_subtotals|_zones)$";

const tables = await sql<{ name: string }[]>`
  select format('%I.%I', c.table_schema, c.table_name) as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
  where c.column_name = 'organization_id' and c.table_schema in ('public', 'private') and t.table_type = 'BASE TABLE'
    and c.table_name !~ ${derived}`;

/**
 * Every row of an organization: a hash for each table. Ignores last_used_at, because a refused key counts as used too.
 */
export async function hashedRows({ id }: { id: string }): Promise<Record<string, string>> {
  const hashes = tables.map(
    ({ name }) =>
      sql`select ${name} as name, (select md5(string_agg(t.row, ' ' order by t.row)) from (
        select (to_jsonb(t) - 'last_used_at')::text as row from ${sql.unsafe(name)} t
        where t.organization_id = ${id}) t) as hash`,
  );
  const [row] = await sql<{ rows: Record<string, string> }[]>`
    select jsonb_object_agg(name, hash) as rows from (${hashes.reduce((all, one) => sql`${all} union all ${one}`)}) t`;
  const [self] = await sql`select o::text from public.organizations o where o.id = ${id}`;
  return { ...row?.rows, organizations: self?.o };
}

/** The tables of an organization with a row that contains one of these texts. */
export async function tablesWith(texts: string[], { id }: { id: string }): Promise<string[]> {
  const found = tables.map(
    ({ name }) => sql`
      select ${name} as name from ${sql.unsafe(name)} t
      where t.organization_id = ${id} and t::text like any (${texts.map((text) => `%${text}%`)})`,
  );
  const rows = await sql<{ name: string }[]>`${found.reduce((all, one) => sql`${all} union ${one}`)}`;
  return rows.map(({ name }) => name);
}
