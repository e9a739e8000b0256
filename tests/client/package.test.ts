import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { denoProgram } from "../../local/functions/process.ts";
import { root } from "../../local/postgres/database-server.ts";
import { stack } from "../stack.ts";

const run = promisify(execFile);
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
let folder: string;

const program = `import { createFeedbackClient, type DataOf, FeedbackError, items, verifyWebhook } from "@feedback-collection-service/client";

const feedback = createFeedbackClient({ url: URL_OF_SERVICE, retries: 0 });
const { data, error } = await feedback.GET("/api/submissions");
if (error) throw error;
const submissions: DataOf<"get", "/api/submissions"> = data;
const failed = await feedback.GET("/api/me/votes");
let count = 0;
for await (const { vote_count } of items(feedback, "/api/submissions")) if (vote_count >= 0) count++;
console.log(
  JSON.stringify([
    submissions.length > 0,
    failed.error instanceof FeedbackError && failed.error.code,
    count > 0,
    typeof verifyWebhook,
  ]),
);
`;
const printed = '[true,"UNAUTHORIZED",true,"function"]\n';

/** A project that has the package in node_modules, as npm installs it, and a program that uses it. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "feedback-client-"));
  const installed = join(folder, "node_modules", "@feedback-collection-service", "client");
  await mkdir(installed, { recursive: true });
  const source = join(root, "packages", "client");
  await cp(join(source, "package.json"), join(installed, "package.json"));
  await run(process.execPath, [tsc, "-p", source, "--outDir", join(installed, "dist")]);
  await symlink(join(root, "node_modules", "openapi-fetch"), join(folder, "node_modules", "openapi-fetch"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const text = program.replace("URL_OF_SERVICE", JSON.stringify(stack.base_url));
  await writeFile(join(folder, "program.ts"), text);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a program in Node runs, and its types are known", async () => {
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.iterable"];
  const check = run(process.execPath, [tsc, ...options, "program.ts"], { cwd: folder });
  expect(await check.catch((error) => error)).toMatchObject({ stdout: "" });
  const { stdout } = await run(process.execPath, ["program.js"], { cwd: folder });
  expect(stdout).toBe(printed);
});

test("the same program in Deno", async () => {
  const words = ["run", "--check", "--cached-only", "--node-modules-dir=manual", "--allow-net=127.0.0.1"];
  const env = { ...process.env, DENO_DIR: join(root, "node_modules", ".cache", "deno") };
  const { stdout } = await run(denoProgram(), [...words, "program.ts"], { cwd: folder, env });
  expect(stdout).toBe(printed);
});
