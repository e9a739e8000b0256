import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";
import { sql } from "../stack.ts";

test("no function raises 40001, after which PostgREST would try its transaction again without end", async () => {
  const raising = await sql`
    select proname from pg_proc where pronamespace in ('public'::regnamespace, 'private'::regnamespace)
    and prosrc ~* '40001|serialization_failure'`;
  expect(raising).toEqual([]);
});

/** Functions of schema private that the edge functions use in their statements. */
async function namedByTheApi(): Promise<string[]> {
  const files = (await readdir(join(root, "functions"), { recursive: true })).filter((name) => /\.tsx?$/.test(name));
  const texts = await Promise.all(files.map((name) => readFile(join(root, "functions", name), "utf8")));
  // The functions of release 0.1.0, which serve requests during an upgrade, call these too.
  const ofRelease = ["search_query", "candidate_submissions", "submissions_with_text", "count_submissions"];
  const named = [...texts, ...ofRelease.map((name) => `private.${name}(`)].flatMap((text) => [
    ...(text.match(/\bprivate\.[a-z_]+(?=\()/g) ?? []),
    ...[...text.matchAll(/\b(?:call|read|run)(?:<[^()]*>)?\(\s*"(\w+)"/g)].map(([, name]) => `private.${name}`),
  ]);
  return [...new Set(named)];
}

/**
 * For each role: the functions that it may execute but does not need. A role needs functions used by statements of the
 * API, which never runs as service_role; by policies for the role, which service_role bypasses; by defaults,
 * constraints, indexes and triggers of tables it writes; functions and views of schema public meant for the role; and
 * functions that invoker functions among these call. A definer function makes its calls as its owner.
 */
const executableWithoutNeed = (named: string[]) => sql<{ role: string; functions: string[] }[]>`
  with recursive ours as materialized (
    select p.oid, n.nspname || '.' || p.proname as path, p.prosecdef, p.prosrc
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('public', 'private')
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  ), roles as (
    select unnest(array['anon', 'authenticated', 'service_key', 'service_role']) as role
  ), written as (
    select role, t.oid from roles cross join pg_class t where t.relnamespace = 'public'::regnamespace and t.relkind = 'r'
      and (has_any_column_privilege(role, t.oid, 'insert, update') or has_table_privilege(role, t.oid, 'delete'))
  ), calls as materialized (
    select caller.oid as caller, d.refobjid as called from ours caller join pg_depend d
      on d.classid = 'pg_proc'::regclass and d.objid = caller.oid and d.refclassid = 'pg_proc'::regclass where not caller.prosecdef
    union
    select caller.oid, o.oid from ours caller join ours o on strpos(caller.prosrc, o.path || '(') > 0
    where not caller.prosecdef
  ), named as (
    select role, oid from roles cross join ours
    where path = any (${named}) and role <> 'service_role' or path like 'public.%' and has_function_privilege(role, oid, 'execute')
    union
    select role, d.refobjid from roles cross join pg_policy y join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = y.oid
    where d.refclassid = 'pg_proc'::regclass and role <> 'service_role' and (y.polroles = '{0}' or role::regrole = any (y.polroles))
    union
    select role, d.refobjid from roles cross join pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
    where d.refclassid = 'pg_proc'::regclass and has_any_column_privilege(role, w.ev_class, 'select')
    union
    select role, d.refobjid from written join pg_attrdef f on f.adrelid = written.oid
      join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = f.oid where d.refclassid = 'pg_proc'::regclass
    union
    select role, d.refobjid from written join pg_constraint k on k.conrelid = written.oid
      join pg_depend d on d.classid = 'pg_constraint'::regclass and d.objid = k.oid where d.refclassid = 'pg_proc'::regclass
    union
    select role, d.refobjid from written join pg_index i on i.indrelid = written.oid
      join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid where d.refclassid = 'pg_proc'::regclass
    union
    -- PostgREST calls it before each request.
    select role, oid from roles cross join ours where path = 'private.before_request' and role <> 'service_key'
    union
    select role, tgfoid from written join pg_trigger g on g.tgrelid = written.oid
    union
    select role, d.refobjid from written join pg_trigger g on g.tgrelid = written.oid
      join pg_depend d on d.classid = 'pg_trigger'::regclass and d.objid = g.oid where d.refclassid = 'pg_proc'::regclass
  ), needed as (
    select role, oid from named
    union
    select n.role, c.called from needed n join calls c on c.caller = n.oid
  )
  select r.role, array_agg(o.path order by o.path) as functions from roles r cross join ours o
  where has_function_privilege(r.role, o.oid, 'execute') and (r.role, o.oid) not in (select role, oid from needed) group by 1`;

test("API roles can execute only functions that a statement, policy, default, constraint or invoker function needs", async () => {
  const named = await namedByTheApi();
  expect(named.length).toBeGreaterThan(150);
  expect([...(await executableWithoutNeed(named))]).toEqual([]);
});
