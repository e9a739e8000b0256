import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync, constants } from "node:zlib";
import { withTemporaryFolder } from "../folders/temporary-folder.ts";
import { bundleFunctions, functionNames } from "../operator/bundle.ts";
import { root } from "../postgres/database-server.ts";
import { runCommand } from "../processes/command.ts";
import { StartError } from "../processes/start-error.ts";
import { digestOf, readReleases, releaseOf, releasesFile } from "./releases.ts";
import { migrationFiles } from "./schema-changes.ts";

const run = promisify(execFile);

/** Freezes the migrations as those of a release, sets its version and stores its functions for the upgrade test. */
export async function release(version: string, project = root): Promise<void> {
  const releases = await readReleases(project);
  await checkVersion(version, Object.keys(releases).at(-1), project);
  const added: Record<string, string> = {};
  for (const file of await migrationFiles(project)) {
    const digest = await digestOf(project, file);
    if (digest !== null && releaseOf(releases, file) === undefined) added[file] = digest;
  }
  await setVersion(version, project);
  await keepForUpgradeTest(version, project);
  // Last, so that an interrupted release can be repeated.
  await writeFile(releasesFile(project), `${JSON.stringify({ ...releases, [version]: added }, null, 2)}\n`);
}

async function checkVersion(version: string, previous: string | undefined, project: string): Promise<void> {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version))
    throw new StartError(`the version is ${JSON.stringify(version)}: give one such as 0.2.0`);
  if (previous !== undefined && version.localeCompare(previous, "en", { numeric: true }) <= 0)
    throw new StartError(`${previous} is released already: give a later version`);
  const changes = await readFile(join(project, "CHANGELOG.md"), "utf8");
  if (!changes.includes(`\n## [${version}] - `))
    throw new StartError(`CHANGELOG.md has no section ## [${version}] - <date>: write it first`);
}

async function setVersion(version: string, project: string): Promise<void> {
  for (const [file, pattern, text] of [
    ["package.json", /^( {2}"version": )"[^"]*"/m, `$1"${version}"`],
    ["packages/client/package.json", /^( {2}"version": )"[^"]*"/m, `$1"${version}"`],
    // "@feedback-collection-service/client" too.
    [
      "package-lock.json",
      /("name": "@?feedback-collection-service(?:\/client)?",\s+"version": )"[^"]*"/g,
      `$1"${version}"`,
    ],
    ["shared/version.ts", /(version = )"[^"]*"/, `$1"${version}"`],
  ] as const) {
    const path = join(project, file);
    await writeFile(path, (await readFile(path, "utf8")).replace(pattern, text));
  }
}

/**
 * tests/upgrade/releases/<version>: functions that run without this tree, the demo data, and the functions of realtime. Only the newest is stored.
 */
async function keepForUpgradeTest(version: string, project: string): Promise<void> {
  const releases = join(project, "tests", "upgrade", "releases");
  await rm(releases, { recursive: true, force: true });
  await mkdir(join(releases, version), { recursive: true });
  await withTemporaryFolder(async (folder) => {
    await bundleFunctions(folder);
    const seed = join(project, "supabase", "seed.sql");
    for (const [name, source] of [
      ...functionNames.map((name) => [`${name}.ts`, join(folder, name, "index.ts")] as const),
      ["seed.sql", seed] as const,
      ["realtime.sql", join(project, "local", "realtime", "database.sql")] as const,
    ]) {
      // The best quality takes ten times as long and saves a tenth.
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
      const packed = brotliCompressSync(await readFile(source), { params });
      await writeFile(join(releases, version, `${name}.br`), packed);
    }
  });
}

await runCommand(import.meta.url, async ([version = ""]) => {
  await run("npm", ["run", "--silent", "check:database"], { cwd: root });
  await release(version);
  console.log(`${version}: review, commit and tag it; its migrations do not change from now on`);
});
