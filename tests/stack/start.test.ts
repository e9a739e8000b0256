import { readdir, readFile, rm, stat } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import type { StackAddresses } from "../../local/stack.ts";
import { copyTemplate } from "../data-template.ts";
import { send } from "../http.ts";
import { noneLeft, processesOf } from "../processes.ts";
import { signUp } from "../sign-up.ts";
import { until } from "../until.ts";
import { type Launcher, launch, temporaryFolder } from "./launcher.ts";

const authOf = (stack: StackAddresses) => ({ url: stack.supabase_url, publishableKey: stack.publishable_key });

/** Text is Unicode even without LANG, and no role can log in without its password. */
async function expectDatabase(url: string): Promise<void> {
  await withDatabase(url, async (sql) => {
    const [row] = await sql`
      select current_setting('server_encoding') as encoding, char_length('👍🏽') as emoji,
        cardinality(extensions.show_trgm('写真を添付')) > 0 as trigrams, lower('ÄÉ') as lowered`;
    expect(row).toEqual({ encoding: "UTF8", emoji: 2, trigrams: true, lowered: "äé" });
  });
  const roles = ["postgres", "supabase_admin", "feedback_api", "embedded_auth", "embedded_rest", "auth_guard"];
  for (const username of roles) {
    const sql = postgres(Object.assign(new URL(url), { username, password: "guess" }).href, { max: 1 });
    await expect(sql`select 1`).rejects.toThrow("password authentication failed");
    await sql.end();
  }
}

test("a start from an empty folder runs all processes, and SIGTERM stops them and prints only that", async () => {
  const folder = await temporaryFolder();
  const launcher = launch(folder, { SEED: "demo" });
  const stack = await launcher.ready();

  expect(launcher.output()).toMatch(/ready\n/);
  expect(Object.keys(stack)).toEqual([
    "site_url",
    "supabase_url",
    "base_url",
    "publishable_key",
    "secret_key",
    "db_url",
    "mails_url",
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
  await expectDatabase(stack.db_url);
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

  expect(await launcher.killGroup("SIGTERM")).toBe(0);
  expect(launcher.errors()).toBe("");
  expect(launcher.output()).toMatch(/Stop with Ctrl-C\.\nstopped\n$/);
  expect(await processesOf(folder)).toEqual([]);
  expect(await readdir(folder)).not.toContain("stack.json");
});

describe("one data folder, by one start after the other", () => {
  let folder: string;
  let launcher: Launcher;
  let stack: StackAddresses;
  const person = { email: "kept@test.example", password: "a long enough password" };
  const ends: (() => Promise<void>)[] = [];

  async function start(environment: Record<string, string> = {}): Promise<void> {
    launcher = launch(folder, environment, (stop) => ends.push(stop));
    stack = await launcher.ready();
  }

  beforeAll(async () => {
    folder = await makeTemporaryFolder("start");
    await rm(folder, { recursive: true });
    await copyTemplate(inject("template"), folder, "none");
    await start();
  });
  afterAll(async () => {
    for (const stop of ends) await stop();
    await noneLeft(folder);
    await rm(folder, { recursive: true, force: true });
  });

  test("a second start continues with the data of the first", async () => {
    const before = stack;
    await signUp(authOf(before), person);
    await launcher.kill("SIGINT");

    await start({ SEED: "demo", MCP_ALLOWED_HOSTS: "inner.example" });
    expect(stack.publishable_key).toBe(before.publishable_key);
    expect(stack.secret_key).toBe(before.secret_key);
    // SEED is read only for an empty folder.
    expect(stack.demo).toBeNull();
    expect((await signUp(authOf(stack), person)).user.email).toBe(person.email);
    const agent = new Agent();
    for (const [host, status] of [
      ["inner.example", 200],
      ["evil.example", 403],
    ] as const)
      expect((await send("GET", `${stack.site_url}/sign-in`, { agent, headers: { host } })).status).toBe(status);
  });

  test("after kill -9 of the launcher no process is left, and a new start has all data", async () => {
    const before = stack;
    const another = { ...person, email: "kept-too@test.example" };
    await signUp(authOf(before), another);
    await launcher.kill("SIGKILL");
    expect(await noneLeft(folder)).toEqual([]);
    await expect(fetch(`${before.base_url}/api/health`)).rejects.toThrow();

    await start();
    expect((await signUp(authOf(stack), another)).user.email).toBe(another.email);
  });

  test("a Postgres that survived launcher and keeper is shut down by the next start", async () => {
    const family = await processesOf(folder);
    const watchers = family.filter(({ command }) => command.startsWith("/bin/sh"));
    // The launcher is stopped first: otherwise it shuts Postgres down when a watcher dies.
    process.kill(launcher.pid, "SIGSTOP");
    for (const { pid } of watchers) process.kill(pid, "SIGKILL");
    await launcher.kill("SIGKILL");
    const orphans = (await processesOf(folder)).filter(({ command }) => command.includes(`-D ${folder}`));
    expect(orphans.length).toBeGreaterThan(0);

    await start();
    const running = await processesOf(folder);
    for (const { pid } of orphans) expect(running.map((process) => process.pid)).not.toContain(pid);
  });

  test("when Postgres dies it is restarted at the same address; without its data folder the launcher exits", async () => {
    const server = async () =>
      (await processesOf(folder)).find(({ command }) => /postgres -D/.test(command) && !command.startsWith("/bin/sh"))
        ?.pid;
    const answers = () => withDatabase(stack.db_url, (sql) => sql`select 1`).catch(() => []);
    const first = await until(server);
    process.kill(first, "SIGQUIT");
    // The dying server may still answer, and for a moment there is no server.
    const second = await until(async () => {
      const pid = await server();
      return pid !== first && (await answers()).length === 1 ? pid : undefined;
    });
    expect(launcher.errors()).toMatch(/^Postgres ended \(code \d+\) and starts again$/m);

    const logged = launcher.errors().length;
    await rm(folder, { recursive: true });
    process.kill(second, "SIGQUIT");
    expect(await launcher.ended).toBe(1);
    // Realtime may detect the closed connection before the launcher checks the folder.
    const lines = launcher.errors().slice(logged).trimEnd().split("\n");
    expect(lines.filter((line) => !line.startsWith("realtime lost its connection to Postgres"))).toEqual([
      `Cannot continue: the data folder ${folder} was removed while the stack ran: restore it from a backup, or start again with an empty one`,
    ]);
    expect(await noneLeft(folder)).toEqual([]);
  });
});

test("a first start that is killed at each step is completed by the next", async () => {
  const folder = await temporaryFolder();
  for (const step of ["starting Postgres", "starting migrations", "starting demo data"]) {
    // SEED is read only for an empty folder.
    const killed = launch(folder, step === "starting Postgres" ? { SEED: "demo" } : {});
    await killed.says(step);
    await killed.kill("SIGKILL");
    expect(killed.output(), step).not.toContain("ready");
  }

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
});
