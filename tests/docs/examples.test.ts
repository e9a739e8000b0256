import { execFile } from "node:child_process";
import { readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { root } from "../../local/postgres/database-server.ts";
import { choosePort } from "../../local/processes/ports.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { copyTemplate } from "../data-template.ts";
import { type Example, examplesOf, pages, printed, textOf } from "./markdown.ts";

let folder: string;
let stack: Stack;

/** A checkout as a reader has it, with a stack in .data that has the limits and data of a first start. */
beforeAll(async () => {
  folder = await makeTemporaryFolder("docs");
  const names = (await readdir(root)).filter((name) => name !== ".data" && name !== ".git");
  await Promise.all(names.map((name) => symlink(join(root, name), join(folder, name))));
  const dataDir = join(folder, ".data");
  await copyTemplate(inject("template"), dataDir, "demo");
  stack = await startStack({
    port: 0,
    dbPort: 0,
    dataDir,
    seed: "demo",
    // docs/webhooks.md starts it with this variable.
    functionsEnvironment: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
  });
});

afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("the demo has as many submissions as the README says", async () => {
  const [row] = await withDatabase(
    stack.db_url,
    (sql) => sql`select count(*)::integer as count from public.submissions`,
  );
  expect(textOf("README.md")).toContain(`${row?.count} submissions`);
});

// Another run of the tests may use the port of the webhook receiver.
const receiverPort = String(await choosePort(0, "PORT"));
const withExamples = pages.flatMap((page) => {
  const examples = examplesOf(textOf(page).replaceAll("47805", receiverPort));
  return examples.length > 0 ? [{ page, examples }] : [];
});

test("the README has examples", () => {
  expect(withExamples.map(({ page }) => page)).toContain("README.md");
});

test.each(withExamples)(
  "the examples of $page work when pasted in order",
  async ({ examples }) => {
    for (const example of examples) {
      if (example.do === "save") await writeFile(join(folder, example.path), example.text);
    }
    const runs = examples.filter((example): example is Example & { do: "run" } => example.do === "run");
    const outputs = await runInOneShell(runs.map(({ script }) => script));
    expect(outputs).toHaveLength(runs.length);
    for (const [index, { script, prints }] of runs.entries()) {
      if (prints !== undefined) expect(outputs[index]?.replaceAll(/\s+/g, ""), script).toMatch(printed(prints));
    }
  },
  120_000,
);

const border = "-- end of example --";

/** One shell for all examples, because later ones use the variables of earlier ones; it stops at the first failure. */
async function runInOneShell(scripts: string[]): Promise<string[]> {
  const whole = ["set -euo pipefail", ...scripts.map((script) => `${script}\necho '${border}'`)].join("\n");
  const foreign = /^(VITEST|npm_|NODE_OPTIONS$|DATA_DIR$|DATABASE_URL$|SUPABASE_)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
  const { stdout } = await promisify(execFile)("bash", ["-c", whole], {
    cwd: folder,
    env,
    maxBuffer: 32 * 1024 * 1024,
  });
  return stdout.split(`${border}\n`).slice(0, -1);
}
