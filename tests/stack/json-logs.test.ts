import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import type { Secrets } from "../../local/folders/data-folder.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { jsonLines, onceAMinute } from "../../local/processes/logs.ts";
import type { StackAddresses } from "../../local/stack.ts";
import { functionsPid } from "../processes.ts";
import { raw } from "../raw.ts";
import { until } from "../until.ts";
import { launch, migratedFolder } from "./launcher.ts";

type Line = { time: string; level: string; component: string; message: string } & Record<string, unknown>;

test("every line of npm start is a JSON object of a part; no file has the same, and no secret is in it", async () => {
  const folder = await migratedFolder();
  // Of the start that made the folder.
  const logged = await readFile(join(folder, "postgres.log"), "utf8");
  const launcher = launch(folder, { LOG_FORMAT: "json" });
  const lines = () =>
    launcher
      .output()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  const line = (like: Partial<Line>) =>
    until(() => lines().find((line) => Object.entries(like).every(([name, value]) => line[name] === value)));
  const ready = await line({ message: "ready" });
  const stack = JSON.parse(await readFile(join(folder, "stack.json"), "utf8")) as StackAddresses;
  const gateway = new URL(stack.supabase_url);

  // What a client sends begins no line and no field.
  await fetch(`${stack.supabase_url}/api/submissions`, { headers: { "user-agent": '"}{"level":"fatal"' } });
  await raw('GET /api/\r{"level":"fatal"} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n', gateway);
  await withDatabase(
    Object.assign(new URL(stack.db_url), { username: encodeURIComponent('x\n{"level":"fatal"}') }).href,
    (sql) => sql`select 1`,
  ).catch(() => undefined);
  await withDatabase(stack.db_url, (sql) => sql`alter table private.rate_counters rename to gone`);
  const failed = await fetch(`${stack.supabase_url}/api/submissions`);
  expect(failed.status).toBe(500);
  process.kill(await functionsPid("webhook-dispatch"), "SIGKILL");

  // There is no organization yet.
  expect(await line({ component: "api", route: "/submissions", status: 404 })).toMatchObject({
    level: "info",
    message: "GET /submissions 404",
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const error = await line({ level: "error", requestId: failed.headers.get("x-request-id") });
  expect(error).toMatchObject({ component: "api", error: { stack: expect.stringMatching(/\n +at /) } });
  expect(error.message).toContain("rate_counters");
  await line({ component: "webhook-dispatch", level: "warning" });
  expect(await line({ component: "postgres", level: "error" })).toMatchObject({ message: expect.any(String) });
  expect(await launcher.kill("SIGTERM")).toBe(0);
  expect(lines().at(-1)).toMatchObject({ component: "launcher", message: "stopped" });

  for (const { time, level, component } of lines()) {
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(level).toMatch(/^(info|warning|error)$/);
    expect(component).toMatch(/^(launcher|postgres|auth|data-api|realtime|api|web|webhook-dispatch|mail-dispatch)$/);
  }
  expect(new Set(lines().map(({ component }) => component)).size).toBeGreaterThanOrEqual(5);
  expect(launcher.errors()).toBe("");
  expect((await readdir(folder)).filter((name) => name.endsWith(".log"))).toEqual(["postgres.log"]);
  expect(await readFile(join(folder, "postgres.log"), "utf8")).toBe(logged);
  const token = (await readFile(join(folder, "setup-token"), "utf8")).trim();
  expect(launcher.output().split(token)).toHaveLength(2);
  expect(ready.setup).toContain(token);
  const secrets = JSON.parse(await readFile(join(folder, "secrets.json"), "utf8")) as Secrets;
  for (const [name, secret] of Object.entries(secrets))
    if (typeof secret === "string" && secret.length > 20 && name !== "platform")
      expect(launcher.output().includes(secret), name).toBe(false);
});

test.each([
  [{ LOG_FORMAT: "xml" }, /LOG_FORMAT is "xml": set it to json or text/],
  [{ METRICS_PORT: "1", METRICS_HOST: "db.example" }, /METRICS_HOST is "db.example": set it to an IP address/],
  [{ METRICS_PORT: "x" }, /METRICS_PORT is "x": set it to a port/],
])("a start with %j says what to set", async (environment, message) => {
  const launcher = launch(await migratedFolder(), environment);
  expect(await launcher.ended).toBe(1);
  expect(launcher.errors()).toMatch(message);
});

test("a start that fails is a line too", async () => {
  const launcher = launch(await migratedFolder(), { LOG_FORMAT: "json", PORT: "none" });
  expect(await launcher.ended).toBe(1);
  expect([JSON.parse(launcher.output()), launcher.errors()]).toMatchObject([
    { level: "fatal", component: "launcher", message: expect.stringMatching(/^Cannot continue: PORT is "none"/) },
    "",
  ]);
});

/** The lines that an output becomes. */
async function linesOf(...chunks: (string | Buffer)[]): Promise<Line[]> {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    const log = jsonLines("api");
    for (const chunk of chunks) log.write(chunk);
    await new Promise<void>((resolve) => log.end(resolve));
    return write.mock.calls.map(([text]) => {
      expect(String(text)).toMatch(/^[^\n\u007f-\u009f\u2028]+\n$/);
      return JSON.parse(String(text)) as Line;
    });
  } finally {
    write.mockRestore();
  }
}

test("a stack trace is one entry, JSON lines are one each, in whatever pieces they come", async () => {
  const trace = "error: Uncaught (in promise) Error: no\nthrow new Error('no');\n^\n    at file:///index.ts:1:1\n";
  const request = '{"at":"2026-11-27T08:00:00.000Z","method":"GET","route":"/é","status":200}\n';
  const text = request + trace + request;
  const expected = [
    { time: "2026-11-27T08:00:00.000Z", level: "info", message: "GET /é 200" },
    { level: "error", message: trace.trim() },
    { level: "info", message: "GET /é 200" },
  ];
  expect(await linesOf(text)).toMatchObject(expected);
  expect(await linesOf(...[...Buffer.from(text)].map((byte) => Buffer.from([byte])))).toMatchObject(expected);
});

test.each([
  ["control characters", "a\u0007\u001b[31m\u009b31m\u2028b\n", "a\u0007\u001b[31m\u009b31m\u2028b"],
  ["fields of its own", '{"component":"launcher","msg":"a","message":"b","level":"info"}\n', "a"],
  ["JSON that is no object", "[1]\n", "[1]"],
  ["a line without an end", "x".repeat(100_000), `${"x".repeat(15_999)}…`],
  ["JSON that is too long", `{"msg":"${"x".repeat(100_000)}"}\n`, `{"msg":"${"x".repeat(15_991)}…`],
  ["lines without an end", "  x\n".repeat(100_000), expect.stringMatching(/^x\n {2}x\n[x \n]*…$/)],
])("%s: one entry of the part", async (_, text, message) => {
  expect(await linesOf(text)).toMatchObject([{ component: "api", message }]);
});

test.each([
  ["00000 LOG", "info"],
  ["PT404 ERROR", "info"],
  ["53100 ERROR", "error"],
  ["57P03 FATAL", "error"],
])("a line of Postgres with %s is %s", async (severity, level) => {
  expect(await linesOf(`2026-11-27 08:00:00.000 UTC [1] ${severity}:  no\n`)).toMatchObject([
    { time: "2026-11-27T08:00:00.000Z", level, message: "no" },
  ]);
});

test.each(["reads nothing", "is gone"])("a reader that %s stops neither the service nor its end", async (reader) => {
  const module = fileURLToPath(new URL("../../local/processes/logs.ts", import.meta.url));
  const program = `
    import { flushLines, writeLine } from ${JSON.stringify(module)};
    for (let n = 0; n < 200; n++) {
      for (let m = 0; m < 50; m++) writeLine("api", "info", "x".repeat(1000));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    process.stderr.write("alive " + (process.stdout.writableLength < 5e6));
    await flushLines();
    process.exit(0);`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (reader === "is gone") child.stdout.destroy();
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(0);
  expect(errors).toBe("alive true");
  child.stdout.destroy();
});

test("a message that repeats itself is passed on at once, then once a minute with its count", () => {
  vi.useFakeTimers();
  try {
    const printed: string[] = [];
    const print = onceAMinute((message) => printed.push(message));
    for (let second = 0; second < 150; second++) {
      print("no", "launcher");
      if (second === 0) print("no", "api");
      vi.advanceTimersByTime(1_000);
    }
    vi.advanceTimersByTime(600_000);
    expect(printed).toEqual(["no", "no", ...[59, 60, 30].map((more) => `no (${more} more times in the last minute)`)]);
  } finally {
    vi.useRealTimers();
  }
});
