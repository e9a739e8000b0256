import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Secrets } from "../../local/folders/data-folder.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { preparePlatform } from "../../local/postgres/platform.ts";
import { withTemporaryDatabase } from "../../local/postgres/temporary-database.ts";
import { signUp, sql, stack, supabase } from "../stack.ts";
import { temporaryFolder } from "./launcher.ts";

test("migrations ran as a role that is not a superuser and owns its objects", async () => {
  const [role] = await sql`
    select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user`;
  expect(role).toEqual({
    rolsuper: false,
    rolcreatedb: true,
    rolcreaterole: true,
    rolreplication: true,
    rolbypassrls: true,
  });
  const foreign = await sql`
    select relname from pg_class where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
    and relkind in ('r', 'v', 'S') and relowner <> 'postgres'::regrole`;
  expect(foreign).toHaveLength(0);
});

test("user metadata is JSON, as hosted auth stores it", async () => {
  const { id } = await signUp("Ada");
  const [user] =
    await sql`select raw_user_meta_data ->> 'name' as name, raw_app_meta_data ->> 'provider' as provider from auth.users where id = ${id}`;
  expect(user).toEqual({ name: "Ada", provider: "email" });
  const [identity] = await sql`select identity_data ->> 'name' as name from auth.identities where user_id = ${id}`;
  expect(identity).toEqual({ name: "Ada" });
});

test("a violated constraint is named in the error for a direct client", async () => {
  const user = await signUp();
  const { error, status } = await supabase(user).rpc("create_submission", {
    title: "x",
    description: "A description that is long enough.",
    type: "idea",
  });
  expect([status, error?.code, error?.message]).toEqual([400, "23514", expect.stringContaining("title_has")]);
});

test("the logins of auth and the data API own nothing, inherit nothing and have only the needed rights", async () => {
  const rows = await sql`
    select rolname, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication or rolinherit as strong,
      (select count(*)::int from pg_class where relowner = r.oid) + (select count(*)::int from pg_proc where proowner = r.oid) as owned,
      (select array_agg(roleid::regrole::text order by roleid::regrole::text) from pg_auth_members where member = r.oid) as roles,
      (select array_agg(format('%s %s', c.oid::regclass, privilege) order by c.oid::regclass::text, privilege)
        from pg_class c cross join unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) privilege
        where relkind in ('r', 'p', 'v', 'm') and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        and (has_table_privilege(r.oid, c.oid, privilege)
          or privilege in ('select', 'insert', 'update') and has_any_column_privilege(r.oid, c.oid, privilege))) as tables
    from pg_roles r where rolname in ('embedded_auth', 'embedded_rest') order by 1`;
  const signIn = ["flow_state", "identities", "refresh_tokens", "sessions", "users"];
  expect(rows).toEqual([
    {
      rolname: "embedded_auth",
      strong: false,
      owned: 0,
      roles: null,
      tables: [
        ...signIn
          .flatMap((table) => ["delete", "insert", "select", "update"].map((right) => `auth.${table} ${right}`))
          .concat("auth.mfa_amr_claims insert", "auth.mfa_amr_claims select")
          .toSorted(),
      ],
    },
    {
      rolname: "embedded_rest",
      strong: false,
      owned: 0,
      roles: ["anon", "authenticated", "service_role"],
      tables: null,
    },
  ]);
});

test("a start on the data of an earlier version removes the login that both shared", async () => {
  await withTemporaryDatabase(
    async ({ superuserUrl }) => {
      await withDatabase(superuserUrl, async (superuser) => {
        await superuser.unsafe(`
          create role supabase_lite login;
          grant service_role to supabase_lite;
          grant select on auth.users to supabase_lite;`);
        const passwords = { owner_password: "a", auth_password: "b", data_api_password: "c" };
        const secrets = { ...passwords, platform: "earlier" } as Secrets;
        await preparePlatform(superuserUrl, { secrets, saveSecrets: async () => {} });
        expect(await superuser`select from pg_roles where rolname = 'supabase_lite'`).toHaveLength(0);
      });
    },
    await temporaryFolder(),
  );
});

test("a new database has what a hosted project has, and migrations have the same rights there", async () => {
  const migrations = await temporaryFolder();
  await writeFile(
    join(migrations, "20260101000000_things.sql"),
    `create table public.things (id int primary key, user_id uuid references auth.users (id));
    alter table public.things enable row level security;
    create function public.on_user() returns trigger language plpgsql as 'begin return null; end';
    create trigger t after insert on auth.users for each row execute function public.on_user();
    create role made_by_migration;
    grant anon, authenticated to made_by_migration;
    create extension citext with schema extensions;
    create extension pg_trgm with schema extensions;
    create extension unaccent with schema extensions;
    create extension pg_net with schema extensions;
    create extension pg_cron;
    create extension supabase_vault;
    select cron.schedule('job', '10 seconds', 'select 1');
    alter publication supabase_realtime add table public.things;
    create policy p on realtime.messages for select to authenticated using (true);`,
  );
  await withTemporaryDatabase(async ({ ownerUrl }) => {
    await withDatabase(ownerUrl, async (owner) => {
      const [granted] =
        await owner`select has_table_privilege('anon', 'public.things', 'insert, truncate') as by_default`;
      expect(granted).toEqual({ by_default: true });
      await expect(owner`create table auth.ours (id int)`).rejects.toThrow("permission denied");
      await expect(owner`delete from realtime.messages`).rejects.toThrow("permission denied");
      await expect(owner`select cron.schedule('job', '90 seconds', 'select 1')`).rejects.toThrow("invalid schedule");
    });
  }, migrations);
});

test("the data API rejects changing or deleting every row, as safeupdate does", async () => {
  const client = supabase(await signUp());
  const everything = [
    client.from("survey_options").delete(),
    client.from("survey_options").update({ text: "all of them" }).select("id"),
    client.from("survey_options").delete().eq("survey_questions.type", "text"),
  ];
  for (const answer of await Promise.all(everything))
    expect([answer.status, answer.error?.code, answer.error?.message]).toEqual([
      400,
      "21000",
      expect.stringMatching(/^(?:DELETE|UPDATE) requires a WHERE clause$/),
    ]);
  const { error } = await client.from("survey_options").delete().eq("text", "nothing says this");
  expect(error).toBeNull();
});

test("auth.uid() and similar functions read single claims and the JSON claims", async () => {
  const id = "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11";
  const claims = JSON.stringify({ sub: id, role: "authenticated", email: "a@b.example", aal: "aal2" });
  const read = (set: Record<string, string>) =>
    sql.begin(async (transaction) => {
      for (const [name, value] of Object.entries(set)) await transaction`select set_config(${name}, ${value}, true)`;
      const [row] = await transaction`select auth.uid(), auth.role(), auth.email(), auth.jwt() ->> 'aal' as aal`;
      return row;
    });
  expect(await read({ "request.jwt.claims": claims })).toEqual({
    uid: id,
    role: "authenticated",
    email: "a@b.example",
    aal: "aal2",
  });
  expect(await read({ "request.jwt.claim.sub": id, "request.jwt.claim.role": "anon" })).toMatchObject({
    uid: id,
    role: "anon",
  });
  expect(await read({})).toEqual({ uid: null, role: null, email: null, aal: null });
});

test("realtime.send stores a message with its own id", async () => {
  const rows = await sql.begin(async (transaction) => {
    await transaction`select realtime.send(${transaction.json({ a: 1 })}, 'e', 'topic:1', true)`;
    return transaction`select topic, event, extension, private, payload - 'id' as payload, payload ->> 'id' = id::text as named, realtime.topic() as current
      from realtime.messages where topic = 'topic:1'`;
  });
  expect(rows).toEqual([
    {
      topic: "topic:1",
      event: "e",
      extension: "broadcast",
      private: true,
      payload: { a: 1 },
      named: true,
      current: "topic:1",
    },
  ]);
});

test("stack.json contains the addresses", () => {
  expect(new URL(stack.db_url)).toMatchObject({ username: "postgres", hostname: "127.0.0.1", pathname: "/postgres" });
});
