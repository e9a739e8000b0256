import { spawn } from "node:child_process";
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openDataFolder } from "../../local/folders/data-folder.ts";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { backup, restore } from "../../local/operator/backup.ts";
import { type Sql, withDatabase } from "../../local/postgres/database.ts";
import { applyMigrations, type DatabaseServer, startDatabase } from "../../local/postgres/database-server.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { expectUnavailable, type Shot, startStorm } from "../faults/storm.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { noneLeft } from "../processes.ts";
import { until } from "../until.ts";
import { type Released, released } from "./released.ts";

// Each starts Postgres several times.
vi.setConfig({ testTimeout: 120_000 });

// One board of the newest release, upgraded in place, from its backup, and after failed upgrades.

let folder: string;
let release: Released;
let own: OwnStack;
let archive: string;
let session: Session;
const submissions = 2_000;
// Durability is not needed: the tests kill processes, not machines.
const settings = { fsync: "off", synchronous_commit: "off" };

interface Session {
  access_token: string;
  refresh_token: string;
}

/** Rows and sums that the concurrent requests do not change. */
const summary = (sql: Sql) => sql`
  select count(*)::int as submissions, sum(vote_count)::int as votes, sum(comment_count)::int as comments,
    md5(string_agg(id::text || title || status, ',' order by id)) as content
  from public.submissions where title not like 'Submission %-%'`;
let expected: unknown;

async function token(of: Stack, grant: string, body: object): Promise<Response> {
  return fetch(`${of.supabase_url}/auth/v1/token?grant_type=${grant}`, {
    method: "POST",
    headers: { apikey: of.publishable_key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

beforeAll(async () => {
  folder = await makeTemporaryFolder("upgrade");
  release = await released(folder);
  archive = join(folder, "backup.tar.gz");
  own = await startOwnStack({
    parts: ["auth", "rest"],
    seed: "demo",
    dataDir: join(folder, "data"),
    migrations: release.migrations,
    functions: release.functions,
    seedFile: release.seedFile,
    postgresSettings: settings,
  });
  const realtime = await readFile(release.realtimeFile, "utf8");
  await withDatabase(own.superuserUrl, (sql) => sql.unsafe(realtime));
  const [author, ...voters] = await own.people(5);
  await own.sql`
    insert into public.submissions (organization_id, author_id, title, description, type)
    select ${own.organization.id}, ${author?.id ?? ""}, 'Kept ' || n, 'A description that is long enough.', 'idea'
    from generate_series(1, ${submissions}) n`;
  await own.sql`
    insert into public.votes (organization_id, submission_id, user_id)
    select s.organization_id, s.id, v from public.submissions s, unnest(${voters.map(({ id }) => id)}::uuid[]) v
    where s.organization_id = ${own.organization.id} on conflict do nothing`;
  [expected] = await summary(own.sql as unknown as Sql);
  const answer = await token(own, "password", { email: own.demo?.users.alice, password: own.demo?.password });
  session = (await answer.json()) as Session;
}, 120_000);

afterAll(async () => {
  await own?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** The database of a data folder without the other processes; `migrations` may upgrade it. */
async function startOnly(dataDir: string, migrations: string): Promise<DatabaseServer> {
  const opened = await openDataFolder(dataDir, "none");
  const database = await startDatabase({
    folder: opened,
    port: 0,
    migrations,
    settings,
    onProgress: () => undefined,
  }).catch(async (error: unknown) => {
    await opened.release();
    throw error;
  });
  return {
    ...database,
    async stop() {
      await database.stop();
      await opened.release();
    },
  };
}

test("requests to the released functions succeed during a backup, and at the next try during migrations", async () => {
  const storm = await startStorm(own, 6);
  const more = (count: number) => {
    const enough = storm.shots.length + count;
    return until(() => storm.shots.length >= enough);
  };
  await more(60);
  await backup(own.folder, archive);
  const before = storm.shots.length;
  await applyMigrations(own.superuserUrl, own.db_url, release.next);
  const after = storm.shots.length;
  await more(120);
  const shots = await storm.stop();

  expect(before).toBeGreaterThan(60);
  // A migration holds locks until it commits. On a slow machine that takes longer than requests wait for a lock; they
  // are then told to retry. Requests that began before its end are among the next six.
  const succeeds = ({ answer }: Shot) => answer !== undefined && answer.status < 400;
  const failed = shots.filter((shot, at) => {
    if (succeeds(shot)) return false;
    if (shot.answer?.status !== 503 || at < before || at >= after + 6) return true;
    expectUnavailable(shot.answer);
    return false;
  });
  expect(failed.map(({ what, answer }) => [what, answer?.text])).toEqual([]);
  const written = (what: Shot["what"]) => shots.filter((shot) => shot.what === what && shot.id).map(({ id }) => id);
  const [found] = await own.sql`
    select (select count(*)::int from public.submissions where id = any (${written("submission")})) as submissions,
      (select count(*)::int from public.comments where id = any (${written("comment")})) as comments`;
  expect(found).toEqual({ submissions: written("submission").length, comments: written("comment").length });
  expect(await own.sql`select * from private.count_discrepancies()`).toEqual([]);
  expect(await summary(own.sql as unknown as Sql)).toEqual([expected]);
  await own.stop();
});

test("its backup is restored as a stack of the next version, with all data and sessions", async () => {
  expect(((await stat(archive)).mode & 0o777).toString(8)).toBe("600");
  const dataDir = join(folder, "restored");
  await restore(archive, dataDir);
  const steps: string[] = [];
  const upgraded = await startStack({
    port: 0,
    dbPort: 0,
    dataDir,
    seed: "none",
    migrations: release.next,
    postgresSettings: settings,
    onProgress: (step) => steps.push(step),
  });
  try {
    expect(steps).toContain("upgrade, with a copy of the data");
    expect(await readdir(dataDir)).not.toContain("before-upgrade");
    await withDatabase(upgraded.superuserUrl, async (sql) => {
      expect(await summary(sql)).toEqual([expected]);
      expect(await sql`select * from private.count_discrepancies()`).toEqual([]);
      // Requests continued while the backup was made.
      const [counted] = await sql`select rows::int > ${submissions} as many from private.upgraded`;
      expect(counted).toEqual({ many: true });
    });
    expect(upgraded.publishable_key).toBe(own.publishable_key);
    const refreshed = await token(upgraded, "refresh_token", { refresh_token: session.refresh_token });
    expect(refreshed.status).toBe(200);
    const { access_token } = (await refreshed.json()) as Session;
    for (const bearer of [access_token, session.access_token, upgraded.demo?.api_keys.read_only]) {
      const headers = { authorization: `Bearer ${bearer}` };
      const answer = await fetch(`${upgraded.base_url}/api/submissions?limit=1`, { headers });
      expect(answer.status).toBe(200);
    }
    const { users, password } = upgraded.demo ?? {};
    expect((await token(upgraded, "password", { email: users?.bob, password })).status).toBe(200);
  } finally {
    await upgraded.stop();
  }

  // The start is rejected before it changes anything.
  const rejected = startOnly(dataDir, release.migrations);
  await expect(rejected).rejects.toThrow(
    /^the data folder is of a newer version of the service \(migration \d+\): start that version, or set DATA_DIR to another folder$/,
  );
});

test("an upgrade that fails or is killed leaves the data unchanged, and the next one succeeds", async () => {
  const dataDir = join(folder, "restored-again");
  await restore(archive, dataDir);
  const failing = join(folder, "failing");
  await cp(release.next, failing, { recursive: true });
  await writeFile(join(failing, "99990102000000_bad.sql"), "select 1; select 1 / 0;");
  const warnings: string[] = [];
  const failed = startStack({
    port: 0,
    dbPort: 0,
    dataDir,
    seed: "none",
    migrations: failing,
    onWarning: (message) => warnings.push(message),
  });
  await expect(failed).rejects.toThrow("migration 99990102000000_bad.sql failed: division by zero");
  expect(warnings).toEqual(["The upgrade failed: the data is as it was before."]);
  expect((await readdir(dataDir)).filter((name) => /upgrade|postgres\./.test(name))).toEqual(["postgres.log"]);

  await writeFile(join(failing, "99990102000000_bad.sql"), "select pg_sleep(600);");
  const command = ["--import", "tsx", "tests/upgrade/start-database.ts", dataDir, failing];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  await until(() => stderr.includes("migrations"), 60_000);
  const { superuser_password } = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8"));
  const port = (await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8")).split("\n")[3];
  // The first of the new migrations has committed, and the second runs.
  await withDatabase(`postgresql://supabase_admin:${superuser_password}@127.0.0.1:${port}/postgres`, (sql) =>
    until(async () => {
      const sleepers = await sql`select from pg_stat_activity where query like 'select pg_sleep(600)%'`;
      return sleepers.length > 0;
    }),
  );
  child.kill("SIGKILL");
  await ended;
  expect(await readdir(dataDir)).toContain("before-upgrade");

  const before = await startOnly(dataDir, release.migrations);
  await withDatabase(before.superuserUrl, async (sql) => {
    expect(await summary(sql)).toEqual([expected]);
    expect(await sql`select to_regclass('private.upgraded') as made`).toEqual([{ made: null }]);
  }).finally(() => before.stop());
  expect(await readdir(dataDir)).not.toContain("before-upgrade");

  const after = await startOnly(dataDir, release.next);
  await withDatabase(after.superuserUrl, async (sql) => {
    expect(await summary(sql)).toEqual([expected]);
    expect(await sql`select to_regclass('private.upgraded') is not null as made`).toEqual([{ made: true }]);
  }).finally(() => after.stop());
  expect(await noneLeft(dataDir)).toEqual([]);
});

test("a backup of a stopped stack is restored too; broken ones and non-empty folders are rejected", async () => {
  const file = join(folder, "stopped.tar.gz");
  await backup(own.folder, file);
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe("600");
  await expect(backup(own.folder, file)).rejects.toThrow(`${file} exists: choose another name`);
  await expect(restore(file, own.folder)).rejects.toThrow(/is not empty: set DATA_DIR to a new folder$/);

  const dataDir = join(folder, "restored-stopped");
  await restore(file, dataDir);
  const database = await startOnly(dataDir, release.next);
  await withDatabase(database.superuserUrl, async (sql) => {
    expect(await summary(sql)).toEqual([expected]);
  }).finally(() => database.stop());

  await truncate(file, Math.floor((await stat(file)).size / 2));
  await expect(restore(file, join(folder, "cut"))).rejects.toThrow(/was not restored to .*: unexpected end/);
  await writeFile(file, "no archive");
  await expect(restore(file, join(folder, "cut"))).rejects.toThrow(/was not restored to .*: incorrect header/);
  expect((await readdir(folder)).filter((name) => /^cut|\.new$/.test(name))).toEqual([]);
});
