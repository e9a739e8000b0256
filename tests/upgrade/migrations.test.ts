import { execFile } from "node:child_process";
import { appendFile, cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeBaseline } from "../../local/development/baseline.ts";
import { schemaProblems } from "../../local/development/check-database.ts";
import { writeMigration } from "../../local/development/migration.ts";
import { release } from "../../local/development/release.ts";
import { changedReleases, readReleases } from "../../local/development/releases.ts";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { defaultMigrations, root } from "../../local/postgres/database-server.ts";
import { newestMigration } from "../../shared/newest-migration.ts";
import { version } from "../../shared/version.ts";
import { stack } from "../stack.ts";

// Changes after a release, in a copy of the tree with a release, whatever this tree has released.

let project: string;
const baseline = "20261121000000_baseline.sql";
const newVersion = "900.1.0";

const pathOf = (...names: string[]) => join(project, ...names);
const read = (...names: string[]) => readFile(pathOf(...names), "utf8");
async function replace(file: string, from: string | RegExp, to: string): Promise<void> {
  const text = await read(file);
  expect(text).toMatch(from);
  await writeFile(pathOf(file), text.replace(from, to));
}

beforeAll(async () => {
  project = await makeTemporaryFolder("release");
  await mkdir(pathOf("shared"));
  for (const path of [
    "supabase",
    "local/realtime/database.sql",
    "shared/version.ts",
    "shared/newest-migration.ts",
    "package.json",
    "package-lock.json",
    "packages/client/package.json",
  ])
    await cp(join(root, path), pathOf(path), { recursive: true });
  await writeFile(pathOf("CHANGELOG.md"), "# Changelog\n\n## [900.1.0] - 2030-01-01\n");
});
afterAll(() => rm(project, { recursive: true, force: true }));

test("shared/ has the current version and newest migration", async () => {
  for (const folder of ["", "packages/client"])
    expect(JSON.parse(await readFile(join(root, folder, "package.json"), "utf8")).version).toBe(version);
  expect(await readFile(join(root, "CHANGELOG.md"), "utf8")).toContain(`\n## [${version}] - `);
  expect((await readdir(defaultMigrations)).sort().at(-1)).toMatch(new RegExp(`^${newestMigration}_`));
  const health = await fetch(`${stack.base_url}/api/health`);
  expect(await health.json()).toEqual({ status: "ok", version });
  expect(await changedReleases()).toEqual([]);
});

test("a release requires a higher version with a section in the changelog", async () => {
  await expect(release("1.0", project)).rejects.toThrow('the version is "1.0": give one such as 0.2.0');
  await expect(release("901.0.0", project)).rejects.toThrow("CHANGELOG.md has no section ## [901.0.0]");
  const before = await readReleases(project);
  await release(newVersion, project);
  expect(Object.keys(await readReleases(project))).toEqual([...Object.keys(before), newVersion]);
  expect(await read("shared", "version.ts")).toContain('version = "900.1.0"');
  const { version: inLock, packages } = JSON.parse(await read("package-lock.json"));
  const client = JSON.parse(await read("packages", "client", "package.json")).version;
  expect([inLock, packages[""].version, packages["packages/client"].version, client]).toEqual(
    Array(4).fill(newVersion),
  );
  expect((await readdir(pathOf("tests", "upgrade", "releases", newVersion))).sort()).toEqual([
    "api.ts.br",
    "auth-mail.ts.br",
    "mail-dispatch.ts.br",
    "realtime.sql.br",
    "seed.sql.br",
    "web.ts.br",
    "webhook-dispatch.ts.br",
  ]);
  await expect(release(newVersion, project)).rejects.toThrow("900.1.0 is released already");
});

test("a released baseline is not rewritten, and a changed one is reported", async () => {
  await expect(writeBaseline(project)).rejects.toThrow(
    /^the baseline was released with .+ and must not change: run npm run db:migration <name>$/,
  );
  expect(await changedReleases(project)).toEqual([]);
  const text = await read("supabase", "migrations", baseline);
  await appendFile(pathOf("supabase", "migrations", baseline), "select 1;\n");
  expect(await changedReleases(project)).toEqual([expect.stringContaining(`${baseline} was released with`)]);
  await writeFile(pathOf("supabase", "migrations", baseline), text);
});

test("a migration contains the differences of the schemas, and a section for statements written by hand", async () => {
  const schema = (name: string) => `supabase/schemas/${name}`;
  await appendFile(
    pathOf(schema("99_erasure.sql")),
    `alter table public.votes add column weight integer not null default 1;
     comment on table public.votes is 'Another comment.';
     revoke select (submission_id) on public.votes from anon;\n`,
  );
  await replace(schema("51_rate_limits.sql"), "('comment_update', 10,", "('comment_update', 12,");
  await expect(writeMigration("Add Weight", project)).rejects.toThrow('the name is "Add Weight": use');
  const path = await writeMigration("add_weight", project, new Date("2031-02-03T04:05:06Z"));
  expect(path).toBe(pathOf("supabase", "migrations", "20310203040506_add_weight.sql"));
  expect(await read("shared", "newest-migration.ts")).toContain('newestMigration = "20310203040506"');
  const text = await readFile(path, "utf8");
  expect(text).toMatch(/ADD COLUMN "weight" integer NOT NULL DEFAULT 1/);
  expect(text).toMatch(/COMMENT ON TABLE "public"\."votes" IS 'Another comment\.'/);
  expect(text).toMatch(/REVOKE .*"submission_id".* FROM "anon"/);
  expect(text).toMatch(/^-- {3}private\.rate_limit_rules is filled differently/m);
  await expect(writeMigration("again", project, new Date("2031-02-03T04:05:06Z"))).rejects.toThrow(
    "20310203040506_add_weight.sql is not older",
  );

  // Omissions are reported: the comment and the rule.
  await writeFile(path, text.replace(/^COMMENT ON .*$/m, ""));
  const problems = await schemaProblems(project);
  expect(problems).toEqual([
    expect.stringContaining(`COMMENT ON TABLE "public"."votes" IS 'Another comment.'`),
    "supabase/migrations fills private.rate_limit_rules differently than supabase/schemas: add it by hand",
  ]);
  await writeFile(
    path,
    `${text}update private.rate_limit_rules set max_requests = 12 where name = 'comment_update';\n`,
  );
  expect(await schemaProblems(project)).toEqual([]);

  const squawk = (sql: string) => {
    const file = pathOf("supabase", "migrations", "20310203040506_add_weight.sql");
    const config = join(root, ".squawk.toml");
    const program = join(root, "node_modules", ".bin", "squawk");
    return writeFile(file, sql).then(() => promisify(execFile)(program, ["--config", config, file]));
  };
  await squawk(text);
  await expect(squawk("alter table public.votes drop column merged_from;")).rejects.toThrow();
  // Creating six databases from zero takes seconds for each, and more on a busy machine.
}, 300_000);
