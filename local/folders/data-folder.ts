import { createHash, generateKeyPairSync, type JsonWebKey, randomBytes, randomUUID } from "node:crypto";
import { chmod, link, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkPostgresVersion } from "../postgres/version.ts";
import { startOf } from "../processes/identity.ts";
import { codeOf, messageOf, StartError } from "../processes/start-error.ts";
import { rotateLogs } from "./logs.ts";
import { restoreBackupCopy } from "./upgrade.ts";

/** Secrets and constants of the installation, created at the first start. */
export interface Secrets {
  superuser_password: string;
  owner_password: string;
  auth_password: string;
  data_api_password: string;
  functions_password: string;
  jwt_secret: string;
  publishable_key: string;
  secret_key: string;
  address_hash_key: string;
  webhook_database_password: string;
  webhook_dispatch_secret: string;
  webhook_secrets_key: string;
  mail_database_password: string;
  mail_link_key: string;
  /** Seed requested by the first start. */
  seed: "demo" | "none";
  demo_password: string;
  demo_api_keys?: { full: string; read_only: string };
  demo_agent_keys?: { standard: string };
  /** Digest of the platform bootstrap in the database. */
  platform?: string;
  /** Which auth made its tables; missing in folders of earlier versions, which have the library's. */
  auth?: AuthKind;
  /** Private key of access tokens (ES256), of the program only. */
  signing_key?: JsonWebKey;
}

/** The library @supabase/lite, or a program of Supabase Auth. */
export type AuthKind = "library" | "program";

export interface DataFolder {
  path: string;
  secrets: Secrets;
  saveSecrets(change: Partial<Secrets>): Promise<void>;
  release(): Promise<void>;
}

export async function openDataFolder(
  dataDir: string,
  seed: Secrets["seed"],
  auth: AuthKind = "library",
): Promise<DataFolder> {
  const path = resolve(dataDir);
  await prepare(path);
  const unlock = await takeLock(path);
  try {
    // Left by an interrupted upgrade.
    await restoreBackupCopy(path);
    const secrets = await loadSecrets(path, seed, auth);
    await rotateLogs(path);
    await rm(join(path, "stack.json"), { force: true });
    return {
      path,
      secrets,
      async saveSecrets(change) {
        Object.assign(secrets, change);
        await writePrivately(join(path, "secrets.json"), secrets);
      },
      async release() {
        await rm(join(path, "stack.json"), { force: true });
        await unlock();
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** Writes atomically, readable by the owner only. */
export async function writePrivately(path: string, value: unknown): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString("hex")}.new`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** The token for the setup of a new installation, kept in a file until the setup is over. */
export async function setupToken(folder: string, isOpen: boolean): Promise<string | null> {
  const file = join(folder, "setup-token");
  if (!isOpen) {
    await rm(file, { force: true });
    return null;
  }
  const existing = await readFile(file, "utf8").catch(() => "");
  if (existing.trim().length >= 32) return existing.trim();
  await rm(file, { force: true });
  const token = random(24);
  await writeFile(file, `${token}\n`, { mode: 0o600, flag: "wx" });
  return token;
}

async function prepare(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
    const names = await readdir(path);
    if (names.includes("PG_VERSION")) {
      await checkPostgresVersion(path);
      throw new StartError(`${path} is a folder of Postgres itself, not of this service: set DATA_DIR to another`);
    }
    await checkPostgresVersion(join(path, "postgres"));
    if (names.includes("postgres") && !names.includes("secrets.json")) {
      throw new StartError(
        `the data folder ${path} has a database and not its secrets.json: put it back, or set DATA_DIR`,
      );
    }
    if (names.length > 0) return;
    // Postgres may run as another user, who must reach its own folder; secrets are files with mode 0600.
    await chmod(path, 0o711).catch(() => undefined);
    await writeFile(join(path, ".gitignore"), "*\n");
  } catch (error) {
    throw error instanceof StartError ? error : unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): StartError {
  const reason = codeOf(error) ?? messageOf(error);
  return new StartError(`the data folder ${path} cannot be written (${reason}): make it writable, or set DATA_DIR`);
}

/** Locks the folder against other stacks and commands, also of other containers. Returns what unlocks it. */
export async function takeLock(path: string): Promise<() => Promise<void>> {
  const lock = join(path, "launcher.json");
  const draft = join(path, `launcher.${randomBytes(4).toString("hex")}.new`);
  try {
    await writeFile(draft, JSON.stringify({ pid: process.pid, start: await startOf(process.pid) }), { mode: 0o600 });
    await linkWhenFree(draft, lock, path);
    const alive = createServer((client) => client.destroy()).unref();
    // Where no socket can be, only processes of this container are refused.
    await rm(socketOf(path), { force: true }).catch(() => undefined);
    await new Promise<void>((done) => alive.once("error", () => done()).listen(socketOf(path), done));
    return async () => {
      // It removes the socket.
      alive.close();
      await rm(lock, { force: true });
    };
  } catch (error) {
    throw error instanceof StartError ? error : unwritable(path, error);
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** Waits briefly for a stack that is stopping. */
async function linkWhenFree(draft: string, lock: string, path: string): Promise<void> {
  for (const deadline = performance.now() + 3_000; ; await sleep(100)) {
    try {
      return await link(draft, lock);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const holder = await lockHolderOf(path);
    if (holder === null) {
      await rm(lock, { force: true });
    } else if (performance.now() > deadline) {
      throw new StartError(
        `the data folder ${path} is in use by a running stack (process ${holder}): stop it, or set DATA_DIR`,
      );
    }
  }
}

/** Nowhere if the path is too long for a socket, which Node would cut. */
const socketOf = (path: string) => (Buffer.byteLength(path) > 90 ? "/dev/null/none" : join(path, "launcher.sock"));

/** The process of the stack or command that has locked the folder; null if there is none. */
export async function lockHolderOf(path: string): Promise<number | null> {
  const text = await readFile(join(path, "launcher.json"), "utf8").catch(() => "");
  const match = /^\{"pid":(\d+),"start":(?:"([^"]*)"|null)\}$/.exec(text);
  if (match === null) return null;
  const pid = Number(match[1]);
  const start = await startOf(pid);
  return (start !== null && start === match[2]) || (await isAlive(path)) ? pid : null;
}

/** Whether the holder listens: a process id means nothing in another container, which may share the folder. */
const isAlive = (path: string) =>
  new Promise<boolean>((resolve) => {
    const probe = connect(socketOf(path));
    probe.once("error", () => resolve(false));
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
  });

async function loadSecrets(path: string, seed: Secrets["seed"], auth: AuthKind): Promise<Secrets> {
  const file = join(path, "secrets.json");
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw new StartError(
      `${file} cannot be read (${codeOf(error)}): start as the user who made the data folder, or set DATA_DIR`,
    );
  });
  const existing = text === null ? {} : (JSON.parse(text) as Partial<Secrets>);
  // Until the database has tables, the folder may change its auth.
  const made = existing.platform === undefined ? auth : (existing.auth ?? "library");
  if (made !== auth) throw new StartError(otherAuth(path, made));
  const secrets: Secrets = {
    superuser_password: random(24),
    owner_password: random(24),
    auth_password: random(24),
    data_api_password: random(24),
    functions_password: random(24),
    jwt_secret: random(48),
    publishable_key: apiKey("publishable"),
    secret_key: apiKey("secret"),
    address_hash_key: random(32),
    webhook_database_password: random(24),
    webhook_dispatch_secret: random(24),
    webhook_secrets_key: `first:${random(32)}`,
    mail_database_password: random(24),
    mail_link_key: `first:${random(32)}`,
    seed,
    demo_password: random(12),
    ...existing,
    auth,
    ...(auth === "program" && { signing_key: existing.signing_key ?? newSigningKey() }),
  };
  // Folders of earlier versions may lack some values.
  if (Object.keys(secrets).length > Object.keys(existing).length || existing.auth !== auth)
    await writePrivately(file, secrets);
  return secrets;
}

const otherAuth = (path: string, made: AuthKind) =>
  made === "program"
    ? `the data folder ${path} was made with Supabase Auth: set SUPABASE_AUTH to its program, or set DATA_DIR to another folder`
    : `the data folder ${path} was made with the built-in auth: unset SUPABASE_AUTH, or set DATA_DIR to another folder`;

function newSigningKey(): JsonWebKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), alg: "ES256", kid: randomUUID() };
}

/** The key without its private part. */
export const publicPartOf = ({ d: _, ...key }: JsonWebKey = {}) => key;

const random = (bytes: number) => randomBytes(bytes).toString("base64url");

/** In the format of hosted keys: 22 random characters and an 8-character checksum. */
function apiKey(kind: "publishable" | "secret"): string {
  const key = `sb_${kind}_${random(17).slice(0, 22)}`;
  const checksum = createHash("sha256").update(`supabase-self-hosted|${key}`).digest("base64url");
  return `${key}_${checksum.slice(0, 8)}`;
}
