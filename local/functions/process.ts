import { type FileHandle, open } from "node:fs/promises";
import { get } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChildProcessHandle, spawnChild } from "../processes/child-process.ts";
import { choosePort } from "../processes/ports.ts";
import { restartOnExit } from "../processes/restart-on-exit.ts";
import { StartError } from "../processes/start-error.ts";

export interface FunctionsOptions {
  /** Repository root: Deno may read this folder only. */
  root: string;
  /** Name in messages; defaults to "the functions". */
  name?: string;
  /** Path of Deno, if not that of the package `deno`. */
  program?: string;
  /** For example functions/api/index.ts. */
  entry: string;
  /** Health check path that responds 200; defaults to /api/health. */
  healthPath?: string;
  environment: Record<string, string>;
  logPath: string;
  /** Replaces the file: a stream for each of its outputs. */
  openLog?: (() => Writable) | undefined;
  onWarning(message: string): void;
}

export interface Functions {
  /** Port of the functions, constant while the stack runs. */
  port: number;
  up(): boolean;
  stop(): Promise<void>;
}

const require = createRequire(import.meta.url);
// Environment variables for Deno itself, and those an operator may set for the functions.
const inherited =
  /^(?:PATH|HOME|TMPDIR|TZ|DENO_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|HTTPS?_PROXY|NO_PROXY|SITE_URL|DATABASE_CONNECTIONS|LANGUAGE_MODEL_.*|(?:(?:MCP|WEBHOOK)_)?ALLOWED_HOSTS|MAIL_WEBHOOK_SECRET|MAIL_TIMEOUT_SECONDS|SIGN_IN_PROVIDERS|CAPTCHA_.*)$/;

// By default V8 collects the old generation late, at several times its live size: an import used 290 MB, and 160 with
// these flags.
const v8Flags = "--v8-flags=--max-semi-space-size=8,--heap-growing-percent=50,--expose-gc";

/** Runs a function in Deno and restarts it when it exits. */
export async function startFunctions(options: FunctionsOptions): Promise<Functions> {
  const { name = "the functions", healthPath = "/api/health", onWarning } = options;
  const port = await choosePort(0, "PORT");
  const openLog = options.openLog ?? (await fileLog(options.logPath));
  const logs = [openLog(), openLog()] as const;
  const endLogs = () => {
    for (const log of new Set(logs)) log.end();
  };
  let up = false;
  let output = "";

  const start = () => {
    const child = spawnDeno(options, port);
    child.stdout?.pipe(logs[0], { end: false });
    child.stderr?.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
      logs[1].write(chunk);
    });
    const ended = child.ended.then((code) => {
      up = false;
      return `${name} ended (code ${code}) and start again: ${lastLine(output)}`;
    });
    const answered = answers(port, healthPath, child).then(() => {
      up = child.running();
    });
    return { answered, ended, stop: () => child.stop(5_000) };
  };

  const first = start();
  await first.answered;
  if (!up) {
    await first.stop();
    endLogs();
    const more = options.openLog ? "" : ` (more in ${options.logPath})`;
    throw new StartError(`${name} did not start: ${lastLine(output)}${more}`);
  }
  const supervised = restartOnExit(first, start, onWarning);
  return {
    port,
    up: () => up,
    async stop() {
      await supervised.stop();
      endLogs();
    },
  };
}

async function fileLog(path: string): Promise<() => Writable> {
  const log = appendingTo(await open(path, "a", 0o600));
  return () => log;
}

/** Lines that cannot be written are dropped: a full disk must not stop requests. */
export function appendingTo(file: FileHandle): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      file.appendFile(chunk).then(
        () => done(),
        () => done(),
      );
    },
    final(done) {
      file.close().then(
        () => done(),
        () => done(),
      );
    },
  });
}

function spawnDeno(options: FunctionsOptions, port: number): ChildProcessHandle {
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => inherited.test(name)));
  return spawnChild(
    [
      options.program ?? denoProgram(),
      "run",
      "--quiet",
      "--no-prompt",
      v8Flags,
      "--allow-net",
      "--allow-env",
      // A compiled function imports nothing and reads no file.
      ...(options.entry.endsWith(".mjs")
        ? ["--no-config", "--no-npm", "--no-remote"]
        : [`--config=${join(options.root, "deno.json")}`, `--allow-read=${options.root}`]),
      options.entry,
    ],
    {
      signal: "TERM",
      cwd: options.root,
      output: ["pipe", "pipe"],
      env: {
        ...(environment as Record<string, string>),
        DENO_DIR: environment.DENO_DIR ?? join(options.root, "node_modules", ".cache", "deno"),
        DENO_NO_UPDATE_CHECK: "1",
        NO_COLOR: "1",
        ...options.environment,
        PORT: String(port),
      },
    },
  );
}

/** Deno's binary from the platform package: the package `deno` contains it only after an install script. */
export function denoProgram(alias = "deno"): string {
  const libc = process.platform === "linux" ? "-glibc" : "";
  const name = `@deno/${process.platform}-${process.arch}${libc}/package.json`;
  try {
    return join(dirname(createRequire(require.resolve(`${alias}/package.json`)).resolve(name)), "deno");
  } catch {
    throw new StartError(
      `no Deno for this machine (${dirname(name)}): run npm ci on Linux (glibc) or macOS, x64 or arm64`,
    );
  }
}

/** Waits until the health check succeeds or the process exits. */
async function answers(port: number, path: string, process: ChildProcessHandle): Promise<void> {
  for (
    const deadline = performance.now() + 60_000;
    process.running() && performance.now() < deadline;
    await sleep(25)
  ) {
    if (await healthy(port, path)) return;
  }
}

function healthy(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = get({ host: "127.0.0.1", port, path, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    probe.on("timeout", () => probe.destroy());
    probe.on("error", () => resolve(false));
  });
}

const lastLine = (text: string) =>
  text.match(/^error: .*|^\S*Error: .*/gm)?.at(-1) ?? text.trim().split("\n").at(-1) ?? "";
