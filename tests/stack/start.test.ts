import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { expect, test } from "vitest";
import { withDatabase } from "../../local/database.ts";
import { signUp } from "../../local/sign-up.ts";
import type { StackAddresses } from "../../local/stack.ts";
import { noneLeft, processesOf } from "../processes.ts";
import { launch, temporaryFolder } from "./launcher.ts";

const authOf = (stack: StackAddresses) => ({
  url: stack.supabase_url,
  publishableKey: stack.publishable_key,
  fetch: (request: Request) => fetch(request),
});

test("a start from an empty folder brings everything up, and SIGTERM takes everything down", async () => {
  const folder = await temporaryFolder();
  const launcher = launch(folder, { SEED: "demo" });
  const stack = await launcher.ready();

  expect(launcher.output()).toMatch(/ready\n/);
  expect(Object.keys(stack)).toEqual([
    "supabase_url",
    "base_url",
    "publishable_key",
    "secret_key",
    "db_url",
    "demo",
  ]);
  expect(stack.demo).toEqual({
    organization: { id: expect.stringMatching(/^[0-9a-f-]{36}$/), slug: "demo" },
    password: expect.any(String),
    users: {
      owner: "owner@demo.example",
      member: "member@demo.example",
      alice: "alice@demo.example",
      bob: "bob@demo.example",
    },
    api_keys: { full: expect.stringMatching(/^fcs_org_/), read_only: expect.stringMatching(/^fcs_org_/) },
    agent_keys: { standard: expect.stringMatching(/^fcs_agt_/) },
  });
  for (const file of ["stack.json", "secrets.json", "launcher.json", "postgres.log", "functions.log"]) {
    expect([file, ((await stat(join(folder, file))).mode & 0o777).toString(8)]).toEqual([file, "600"]);
  }
  for (const base of [stack.base_url, stack.supabase_url, `${stack.supabase_url}/functions/v1`]) {
    expect((await fetch(`${base}/api/health`)).status).toBe(200);
  }
  const mail = join(folder, "mail.log");
  const asked = await fetch(`${stack.supabase_url}/auth/v1/recover`, {
    method: "POST",
    headers: { apikey: stack.publishable_key },
    body: JSON.stringify({ email: "alice@demo.example" }),
  });
  expect(asked.status).toBe(200);
  const code = /code: (\d{6})/.exec(await readFile(mail, "utf8"))?.[1];
  expect(code).toBeDefined();
  expect(((await stat(mail)).mode & 0o777).toString(8)).toBe("600");
  expect(launcher.output()).toContain(mail);
  expect(launcher.output() + launcher.errors()).not.toContain(code);

  expect(await launcher.kill("SIGTERM")).toBe(0);
  expect(launcher.errors()).toBe("");
  expect(await processesOf(folder)).toEqual([]);
  expect(await readdir(folder)).not.toContain("stack.json");
});

test("text is Unicode though LANG is unset", async () => {
  const stack = await launch(await temporaryFolder()).ready();
  await withDatabase(stack.db_url, async (sql) => {
    const [row] = await sql`
      select current_setting('server_encoding') as encoding, char_length('👍🏽') as emoji,
        cardinality(extensions.show_trgm('写真を添付')) > 0 as trigrams, lower('ÄÉ') as lowered`;
    expect(row).toEqual({ encoding: "UTF8", emoji: 2, trigrams: true, lowered: "äé" });
  });
});

test("no one comes in without the password", async () => {
  const stack = await launch(await temporaryFolder()).ready();
  for (const role of ["postgres", "supabase_admin", "feedback_api", "supabase_lite", "auth_guard"]) {
    const url = new URL(stack.db_url);
    url.username = role;
    url.password = "guess";
    const sql = postgres(url.href, { max: 1 });
    await expect(sql`select 1`).rejects.toThrow("password authentication failed");
    await sql.end();
  }
});

test("a second start continues where the first stopped", async () => {
  const folder = await temporaryFolder();
  const first = launch(folder);
  const before = await first.ready();
  const person = { email: "kept@test.example", password: "a long enough password" };
  await signUp(authOf(before), person);
  await first.kill("SIGINT");

  const after = await launch(folder, { SEED: "demo" }).ready();
  expect(after.publishable_key).toBe(before.publishable_key);
  expect(after.secret_key).toBe(before.secret_key);
  // What to seed is asked once, of an empty folder.
  expect(after.demo).toBeNull();
  expect((await signUp(authOf(after), person)).user.email).toBe(person.email);
});

test("after kill -9 of the launcher nothing runs on, and a new start has everything", async () => {
  const folder = await temporaryFolder();
  const first = launch(folder);
  const before = await first.ready();
  const person = { email: "kept@test.example", password: "a long enough password" };
  await signUp(authOf(before), person);
  await first.kill("SIGKILL");
  expect(await noneLeft(folder)).toEqual([]);
  await expect(fetch(`${before.base_url}/api/health`)).rejects.toThrow();

  const after = await launch(folder).ready();
  expect((await signUp(authOf(after), person)).user.email).toBe(person.email);
});

test("when Postgres dies it is started again at the same address, and the launcher says so", async () => {
  const folder = await temporaryFolder();
  const launcher = launch(folder);
  const { db_url } = await launcher.ready();
  const servers = async () =>
    (await processesOf(folder)).filter(
      ({ command }) => /postgres -D/.test(command) && !command.startsWith("/bin/sh"),
    );
  const [first] = await servers();
  process.kill(first?.pid ?? 0, "SIGQUIT");
  await expect
    .poll(() => withDatabase(db_url, (sql) => sql`select 1 as one`).catch(() => null), { timeout: 20_000 })
    .toEqual([{ one: 1 }]);
  const [second] = await servers();
  expect(second?.pid).not.toBe(first?.pid);
  expect(launcher.errors()).toMatch(/^Postgres ended \(code \d+\) and starts again$/m);
  expect(await launcher.kill("SIGTERM")).toBe(0);
  expect(await noneLeft(folder)).toEqual([]);
});

test("a Postgres that outlived launcher and keeper is shut down by the next start", async () => {
  const folder = await temporaryFolder();
  const first = launch(folder);
  await first.ready();
  const family = await processesOf(folder);
  const keepers = family.filter(({ command }) => command.startsWith("/bin/sh"));
  for (const { pid } of keepers) process.kill(pid, "SIGKILL");
  await first.kill("SIGKILL");
  const orphans = (await processesOf(folder)).filter(({ command }) => command.includes(`-D ${folder}`));
  expect(orphans.length).toBeGreaterThan(0);

  await launch(folder).ready();
  const running = await processesOf(folder);
  for (const { pid } of orphans) expect(running.map((process) => process.pid)).not.toContain(pid);
});

test.each(["starting Postgres", "starting migrations", "starting demo data"])(
  "a first start killed at %j is made whole by the next",
  async (step) => {
    const folder = await temporaryFolder();
    const first = launch(folder, { SEED: "demo" });
    await first.says(step);
    await first.kill("SIGKILL");

    const stack = await launch(folder).ready();
    await withDatabase(stack.db_url, async (sql) => {
      const [row] = await sql`
        select (select count(*) from public.organizations) as organizations,
          (select count(*) from auth.users where email like '%@demo.example') as users,
          (select count(*) from private.api_keys) as keys,
          (select count(*) from public.submissions) >= 60 as submissions`;
      expect(row).toEqual({ organizations: "1", users: "4", keys: "3", submissions: true });
    });
    const { demo } = stack;
    const answer = await fetch(`${stack.base_url}/api/submissions`, {
      headers: { authorization: `Bearer ${demo?.api_keys.read_only}` },
    });
    expect(answer.status).toBe(200);
  },
);
