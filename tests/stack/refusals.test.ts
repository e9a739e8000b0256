import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { startStack } from "../../local/stack.ts";
import { copyTemplate } from "../data-template.ts";
import { noneLeft } from "../processes.ts";
import { launch, migratedFolder, temporaryFolder } from "./launcher.ts";

async function startError(folder: string, environment: Record<string, string>): Promise<string> {
  const launcher = launch(folder, environment);
  expect(await launcher.ended).toBe(1);
  expect(await noneLeft(folder)).toEqual([]);
  expect(launcher.errors().trimEnd().split("\n")).toHaveLength(1);
  return launcher.errors();
}

async function takenPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? String(address.port) : "";
}

test.each(["PORT", "DB_PORT"])("%s in use", async (variable) => {
  const port = await takenPort();
  const line = await startError(await temporaryFolder(), { [variable]: port });
  expect(line).toBe(
    `Cannot continue: port ${port} is in use: stop what listens there, or set ${variable} (0 picks a free port)\n`,
  );
});

test.each([
  ["PORT", "http"],
  ["DB_PORT", "70000"],
  ["SEED", "everything"],
])("%s=%s", async (variable, value) => {
  expect(await startError(await temporaryFolder(), { [variable]: value })).toContain(
    `${variable} is ${JSON.stringify(value)}: set it to`,
  );
});

test("a data folder without write permission", async () => {
  const file = join(await temporaryFolder(), "file");
  await writeFile(file, "");
  const line = await startError(join(file, "data"), {});
  expect(line).toMatch(
    /^Cannot continue: the data folder \S+ cannot be written \(ENOTDIR\): make it writable, or set DATA_DIR\n$/,
  );
});

test.each(["postgres", "."])("a data folder of another Postgres version (%s)", async (inner) => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, inner), { recursive: true });
  await writeFile(join(folder, inner, "PG_VERSION"), "16\n");
  expect(await startError(folder, {})).toMatch(/is of Postgres 16, this is Postgres 17: .* set DATA_DIR/);
});

test("a data folder without its secrets", async () => {
  const folder = await migratedFolder();
  await rm(join(folder, "secrets.json"));
  expect(await startError(folder, {})).toContain("has a database and not its secrets.json");
});

test("a data folder that a running stack uses", async () => {
  const folder = await migratedFolder();
  const first = launch(folder);
  const { supabase_url } = await first.ready();
  const second = launch(folder);
  expect(await second.ended).toBe(1);
  expect(second.errors()).toBe(
    `Cannot continue: the data folder ${folder} is in use by a running stack (process ${first.pid}): stop it, or set DATA_DIR\n`,
  );
  expect((await fetch(`${supabase_url}/api/health`)).status).toBe(200);
});

async function startWith(migrations: Record<string, string>, folder: string): Promise<string> {
  const path = join(folder, "migrations");
  await mkdir(path, { recursive: true });
  for (const [name, text] of Object.entries(migrations)) await writeFile(join(path, name), text);
  const dataDir = join(folder, "data");
  const started = startStack({ port: 0, dbPort: 0, dataDir, seed: "none", migrations: path });
  const reason = await started.then(
    (stack) => stack.stop().then(() => "it started"),
    (error: Error) => `${error.name}: ${error.message}`,
  );
  expect(await noneLeft(folder)).toEqual([]);
  return reason;
}

test("a migration that fails is reported with its line, and is rolled back", async () => {
  const folder = await temporaryFolder();
  const bad = "create table public.a (id int);\n\n-- second\ninsert into public.a\nvalues ('x');\n";
  expect(
    await startWith({ "1_first.sql": "create table public.b (id int);", "2_bad.sql": bad }, folder),
  ).toBe(
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
  const started = startStack({
    port: 0,
    dbPort: 0,
    dataDir: join(folder, "data"),
    seed: "none",
    parts: [],
    functions,
  });
  await expect(started).rejects.toThrow(/^the functions did not start: error: .*no such setting/);
  expect(await noneLeft(folder)).toEqual([]);
});
