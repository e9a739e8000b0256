import { expect, it } from "vitest";
import { connect } from "../../local/postgres/database.ts";
import { startEmptyDatabase } from "../data-template.ts";
import { sql } from "../stack.ts";
import { client, demoOwner, done } from "./web-app.ts";

type Sql = ReturnType<typeof connect>;

/** Every grant on every object of the service, as text. */
async function grants(database: Sql): Promise<string[]> {
  const rows = await database<{ right: string }[]>`
    with ours as (select oid, nspname from pg_namespace where nspname in ('public', 'private'))
    select 'schema ' || nspname || ' ' || nspacl::text as right from pg_namespace where oid in (select oid from ours)
    union all select 'relation ' || oid::regclass || ' ' || coalesce(relacl::text, 'owner only') || ' ' || relrowsecurity
      from pg_class where relnamespace in (select oid from ours) and relkind in ('r', 'v', 'm', 'S', 'p')
    union all select 'column ' || attrelid::regclass || '.' || attname || ' ' || attacl::text
      from pg_attribute where attacl is not null and attrelid in (select oid from pg_class where relnamespace in (select oid from ours))
    union all select 'function ' || oid::regprocedure || ' ' || coalesce(proacl::text, 'public') || ' ' || prosecdef
      from pg_proc where pronamespace in (select oid from ours)
    union all select 'default ' || defaclrole::regrole || ' ' || defaclnamespace::regnamespace || ' ' || defaclobjtype::text || ' ' || defaclacl::text
      from pg_default_acl
    union all select 'member ' || roleid::regrole || ' ' || member::regrole from pg_auth_members
    order by 1`;
  return rows.map((row) => row.right);
}

it("no request to the data API changes a grant: they are those of a freshly migrated database", async () => {
  const owner = await demoOwner();
  done(await client().from("submissions").select("id").limit(1));
  done(await owner.app.from("memberships").select("*").limit(1));
  const used = await grants(sql);
  expect(used.length).toBeGreaterThan(100);
  const { ownerUrl, stop } = await startEmptyDatabase();
  const fresh = connect(ownerUrl, 1);
  const expected = await grants(fresh).finally(() => fresh.end().then(stop));
  expect(used).toEqual(expected);
});
