import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { logosBucket, logoTypes } from "../../../shared/logos.ts";
import { findAuthProgram } from "../../auth/program.ts";
import { lockHolderOf, openDataFolder, type Secrets, takeLock } from "../../folders/data-folder.ts";
import { exists } from "../../folders/files.ts";
import { defaultMigrations, startDatabase } from "../../postgres/database-server.ts";
import { startPostgres } from "../../postgres/process.ts";
import { StartError } from "../../processes/start-error.ts";
import { changeEnvFile, readEnvFile } from "../deploy/env-file.ts";

/** Where an installation is: its database, its secrets by their name as a variable, and its files. */
export interface Place {
  name: string;
  databaseUrl: string;
  secrets(): Promise<Record<string, string>>;
  keep(secrets: Record<string, string>): Promise<void>;
  /** What a person does after a change of the secrets. */
  deploys?: string;
  read(path: string): Promise<Uint8Array | undefined>;
  write(path: string, file: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** What must stay the same: rows are encrypted, signed and hashed with it. */
const kept = {
  WEBHOOK_SECRETS_KEYS: "webhook_secrets_key",
  MAIL_LINK_KEYS: "mail_link_key",
  ADDRESS_HASH_KEY: "address_hash_key",
} as const satisfies Record<string, keyof Secrets>;
const variables = Object.keys(kept) as (keyof typeof kept)[];

/** The data folder as a source: of a running stack, or else with a database of this command. */
export async function sourceFolder(dataDir: string): Promise<Place> {
  const path = resolve(dataDir);
  if (!(await exists(join(path, "secrets.json"))))
    throw new StartError(`there is no data folder ${path}: set DATA_DIR`);
  const secrets = JSON.parse(await readFile(join(path, "secrets.json"), "utf8")) as Secrets;
  const place = { ...folderPlace(path), secrets: async () => variablesOf(secrets) };
  if ((await lockHolderOf(path)) !== null) {
    const addresses = await readFile(join(path, "stack.json"), "utf8").catch(() => null);
    if (!addresses) throw new StartError(`the stack in ${path} is starting or stopping: try again when it is ready`);
    return { ...place, databaseUrl: JSON.parse(addresses).db_url, close: async () => undefined };
  }
  const lock = await takeLock(path);
  const release = () => rm(lock, { force: true });
  try {
    if (await exists(join(path, "before-upgrade")))
      throw new StartError(`an upgrade of ${path} did not finish: run npm start first`);
    const server = await startPostgres({
      folder: path,
      port: 0,
      superuserPassword: secrets.superuser_password,
      onWarning: () => undefined,
      onLost: () => undefined,
    });
    const close = () => server.stop().then(release);
    return { ...place, databaseUrl: server.url("postgres", secrets.owner_password), close };
  } catch (error) {
    await release();
    throw error;
  }
}

/** The data folder as a target, which is made if it is missing. Its stack must not run. */
export async function targetFolder(dataDir: string): Promise<Place> {
  const authProgram = await findAuthProgram();
  const folder = await openDataFolder(dataDir, "none", authProgram ? "program" : "library");
  try {
    const database = await startDatabase({
      folder,
      port: 0,
      migrations: defaultMigrations,
      authProgram,
      onProgress: () => undefined,
    });
    return {
      ...folderPlace(folder.path),
      databaseUrl: database.superuserUrl,
      secrets: async () => variablesOf(folder.secrets),
      keep: (secrets) =>
        folder.saveSecrets(Object.fromEntries(variables.map((variable) => [kept[variable], secrets[variable]]))),
      close: () => database.stop().then(() => folder.release()),
    };
  } catch (error) {
    await folder.release();
    throw error;
  }
}

const variablesOf = (secrets: Secrets) =>
  Object.fromEntries(variables.map((variable) => [variable, secrets[kept[variable]]]));

const folderPlace = (path: string) => ({
  name: path,
  keep: async () => undefined,
  read: (file: string) => readFile(join(path, "storage", file)).catch(() => undefined),
  async write(file: string, content: Uint8Array) {
    await mkdir(dirname(join(path, "storage", file)), { recursive: true, mode: 0o700 });
    await writeSafely(join(path, "storage", file), content);
  },
});

/** A Supabase project: secrets in `file`, which npm run deploy gives to the functions, and files in its Storage. */
export function project(databaseUrl: string, file = "feedback.env"): Place {
  if (!/^postgres(ql)?:$/.test(URL.canParse(databaseUrl) ? new URL(databaseUrl).protocol : ""))
    throw new StartError(
      "the database's URL is not postgresql://postgres@<host>:5432/postgres: copy it from the project",
    );
  return {
    name: new URL(databaseUrl).hostname,
    databaseUrl,
    deploys: `${file} has the secrets of the source now: give them to the functions (npm run deploy), and run this command again`,
    async secrets() {
      const { values: all } = await readEnvFile(file);
      return Object.fromEntries(variables.flatMap((variable) => (all[variable] ? [[variable, all[variable]]] : [])));
    },
    keep: (secrets) =>
      changeEnvFile(file, { values: Object.fromEntries(variables.map((name) => [name, secrets[name] ?? ""])) }),
    async read(path) {
      const response = await storage("GET", `object/authenticated/${path}`);
      if (response.ok) return new Uint8Array(await response.arrayBuffer());
      const answer = await response.text();
      if (response.status === 404 || /not.?found/i.test(answer)) return undefined;
      throw new StartError(`Storage answered ${response.status}: check SUPABASE_URL and SUPABASE_SECRET_KEY`);
    },
    async write(path, content) {
      const type = logoTypes[path.split(".").at(-1) as keyof typeof logoTypes];
      // Fails if the bucket exists.
      await storage("POST", "bucket", JSON.stringify(logosBucket), "application/json");
      const response = await storage("POST", `object/${path}`, new Uint8Array(content), type);
      if (!response.ok) throw new StartError(`Storage did not take ${path} (${response.status}): see its log`);
    },
    close: async () => undefined,
  };
}

function storage(method: string, path: string, body?: BodyInit, type?: string): Promise<Response> {
  const { SUPABASE_URL: url, SUPABASE_SECRET_KEY: key } = process.env;
  if (!url || !key)
    throw new StartError(
      "there are uploaded logos: set SUPABASE_URL and SUPABASE_SECRET_KEY of the project, for its Storage",
    );
  return fetch(`${url.replace(/\/+$/, "")}/storage/v1/${path}`, {
    method,
    headers: { apikey: key, Authorization: `Bearer ${key}`, "x-upsert": "true", ...(type && { "Content-Type": type }) },
    signal: AbortSignal.timeout(30_000),
    ...(body !== undefined && { body }),
  }).catch(() => {
    throw new StartError(`the project's Storage does not answer at ${url}: check SUPABASE_URL`);
  });
}

async function writeSafely(path: string, content: Uint8Array): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString("hex")}.new`;
  const file = await open(draft, "wx", 0o600);
  await file
    .writeFile(content)
    .then(() => file.sync())
    .finally(() => file.close());
  await rename(draft, path);
}
