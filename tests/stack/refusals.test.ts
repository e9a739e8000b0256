import { execFile } from "node:child_process";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { openDataFolder, takeLock } from "../../local/folders/data-folder.ts";
import { root } from "../../local/root.ts";
import { type StackOptions, startStack } from "../../local/stack.ts";
import { startSettings } from "../../local/start-settings.ts";
import { copyTemplate } from "../data-template.ts";
import { noneLeft } from "../processes.ts";
import { launch, migratedFolder, temporaryFolder } from "./launcher.ts";

/** The reason why a stack with these options does not start. */
async function refusal(options: Pick<StackOptions, "dataDir"> & Partial<StackOptions>): Promise<string> {
  const started = startStack({ port: 0, dbPort: 0, seed: "none", parts: [], ...options });
  const reason = await started.then(
    (stack) => stack.stop().then(() => "it started"),
    (error: Error) => `${error.name}: ${error.message}`,
  );
  expect(await noneLeft(options.dataDir)).toEqual([]);
  return reason;
}

test("a refused start prints one line and leaves no process", async () => {
  const folder = await temporaryFolder();
  const launcher = launch(folder, { SEED: "everything" });
  expect(await launcher.ended).toBe(1);
  expect(await noneLeft(folder)).toEqual([]);
  expect(launcher.errors()).toBe('Cannot continue: SEED is "everything": set it to demo or none\n');
});

test("a start that has to compile where it may not write says what to run", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "local"));
  for (const name of ["start.mjs", "compile.mjs"])
    await copyFile(join(root, "local", name), join(folder, "local", name));
  await mkdir(join(folder, "node_modules"));
  // Root may write to any folder, but not to a file as to one.
  await writeFile(join(folder, "node_modules", ".cache"), "");
  const outcome = await promisify(execFile)(process.execPath, [join(folder, "local", "start.mjs")]).catch(
    (error) => error,
  );
  expect(outcome).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^Cannot continue: .* run npm run build:start .*\n$/),
  });
});

test.each([
  ["PORT", "port"],
  ["DB_PORT", "dbPort"],
])("%s in use", async (variable, option) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await refusal({ dataDir: await temporaryFolder(), [option]: port })).toBe(
    `StartError: port ${port} is in use: stop what listens there, or set ${variable} (0 picks a free port)`,
  );
});

test.each([
  ["PORT", "http"],
  ["DB_PORT", "70000"],
  ["SEED", "everything"],
  ["CONNECTIONS_PER_ADDRESS", "0"],
])("%s=%s", (variable, value) => {
  vi.stubEnv(variable, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(startSettings).toThrow(`${variable} is ${JSON.stringify(value)}: set it to`);
});

test("a data folder without write permission", async () => {
  const file = join(await temporaryFolder(), "file");
  await writeFile(file, "");
  await expect(openDataFolder(join(file, "data"), "none")).rejects.toThrow(
    /^the data folder \S+ cannot be written \(ENOTDIR\): make it writable, or set DATA_DIR$/,
  );
});

test.each(["postgres", "."])("a data folder of another Postgres version (%s)", async (inner) => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, inner), { recursive: true });
  await writeFile(join(folder, inner, "PG_VERSION"), "16\n");
  await expect(openDataFolder(folder, "none")).rejects.toThrow(
    /is of Postgres 16, this is Postgres 17: .* set DATA_DIR/,
  );
});

test("a data folder without its secrets", async () => {
  const folder = await migratedFolder();
  await rm(join(folder, "secrets.json"));
  await expect(openDataFolder(folder, "none")).rejects.toThrow("has a database and not its secrets.json");
});

test("a data folder that a running stack uses", async () => {
  const dataDir = await migratedFolder();
  const first = await startStack({ port: 0, dbPort: 0, dataDir, seed: "none", parts: [] });
  onTestFinished(() => first.stop());
  const second = launch(dataDir);
  expect(await second.ended).toBe(1);
  expect(second.errors()).toBe(
    `Cannot continue: the data folder ${dataDir} is in use by a running stack (process ${process.pid}): stop it, or set DATA_DIR\n`,
  );
  expect((await fetch(`${first.supabase_url}/api/health`)).status).toBe(200);
});

async function startWith(migrations: Record<string, string>, folder: string): Promise<string> {
  const path = join(folder, "migrations");
  await mkdir(path, { recursive: true });
  for (const [name, text] of Object.entries(migrations)) await writeFile(join(path, name), text);
  return refusal({ dataDir: join(folder, "data"), migrations: path });
}

test("a data folder that a process of another container uses", async () => {
  const folder = await temporaryFolder();
  const unlock = await takeLock(folder);
  // There no process has this id.
  await writeFile(join(folder, "launcher.json"), '{"pid":4194305,"start":"1"}');
  await expect(takeLock(folder)).rejects.toThrow("is in use by a running stack (process 4194305)");
  await unlock();
  await (await takeLock(folder))();
});

test("a migration that fails is reported with its line, and is rolled back", async () => {
  const folder = await temporaryFolder();
  const bad = "create table public.a (id int);\n\n-- second\ninsert into public.a\nvalues ('x');\n";
  expect(await startWith({ "1_first.sql": "create table public.b (id int);", "2_bad.sql": bad }, folder)).toBe(
    'StartError: migration 2_bad.sql failed at line 5: invalid input syntax for type integer: "x" (22P02)',
  );
  // After the repair, it applies from its beginning.
  expect(
    await startWith(
      { "2_bad.sql": bad.replace("'x'", "1").concat("create role feedback_api login; nonsense;") },
      folder,
    ),
  ).toBe('StartError: migration 2_bad.sql failed at line 6: syntax error at or near "nonsense" (42601)');
});

test("a migration that changed after it was applied, and an applied one whose file is missing", async () => {
  const folder = await temporaryFolder();
  const good = "create table public.a (id int);";
  const bad = "nonsense";
  await startWith({ "1_good.sql": good, "2_bad.sql": bad }, folder);
  expect(await startWith({ "1_good.sql": `${good} create table public.b (id int);` }, folder)).toMatch(
    /^StartError: migration 1_good.sql was changed after this database had it: remove the data folder, or set DATA_DIR/,
  );
});

test("functions that do not start", async () => {
  const folder = await temporaryFolder();
  const functions = join(folder, "functions");
  await mkdir(join(functions, "api"), { recursive: true });
  await writeFile(join(functions, "deno.json"), "{}");
  await writeFile(join(functions, "api", "index.ts"), "throw new Error('no such setting');\n");
  await copyTemplate(inject("template"), join(folder, "data"), "none");
  const dataDir = join(folder, "data");
  expect(await refusal({ dataDir, functions })).toMatch(
    /^\w*Error: the functions did not start: error: .*no such setting/,
  );
});
