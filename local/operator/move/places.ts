import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { logosBucket, logoTypes } from "../../../shared/logos.ts";
import { findAuthProgram } from "../../auth/program.ts";
import { openDataFolder, type Secrets } from "../../folders/data-folder.ts";
import { syncTree } from "../../folders/files.ts";
import { defaultMigrations, startDatabase } from "../../postgres/database-server.ts";
import { StartError } from "../../processes/start-error.ts";
import type { StackAddresses } from "../../stack.ts";
import { changeEnvFile, digestOf, readEnvFile } from "../deploy/env-file.ts";

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
  close?(): Promise<void>;
}

/** What must stay the same: rows are encrypted, signed and hashed with it. */
const kept = {
  WEBHOOK_SECRETS_KEYS: "webhook_secrets_key",
  MAIL_LINK_KEYS: "mail_link_key",
  ADDRESS_HASH_KEY: "address_hash_key",
} as const satisfies Record<string, keyof Secrets>;
const variables = Object.keys(kept) as (keyof typeof kept)[];

/** The data folder of a running stack. */
export async function sourceFolder(dataDir: string): Promise<Place> {
  const path = resolve(dataDir);
  const read = async (name: string) => JSON.parse(await readFile(join(path, name), "utf8"));
  const addresses: StackAddresses = await read("stack.json").catch(() => {
    throw new StartError(`no stack is running in ${path}: run npm start, or set DATA_DIR`);
  });
  return { ...folderPlace(path, await read("secrets.json")), databaseUrl: addresses.db_url };
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
      ...folderPlace(folder.path, folder.secrets),
      databaseUrl: database.superuserUrl,
      keep: (secrets) =>
        folder.saveSecrets(Object.fromEntries(variables.map((variable) => [kept[variable], secrets[variable]]))),
      close: () => database.stop().then(() => folder.release()),
    };
  } catch (error) {
    await folder.release();
    throw error;
  }
}

const folderPlace = (path: string, secrets: Secrets) => ({
  name: path,
  secrets: async () => Object.fromEntries(variables.map((variable) => [variable, secrets[kept[variable]]])),
  keep: async () => undefined,
  read: (file: string) => readFile(join(path, "storage", file)).catch(() => undefined),
  async write(file: string, content: Uint8Array) {
    const written = join(path, "storage", file);
    await mkdir(dirname(written), { recursive: true, mode: 0o700 });
    await writeFile(written, content, { mode: 0o600 });
    await syncTree(written);
  },
});

/** A Supabase project: secrets in `file`, which npm run deploy gives to the functions, and files in its Storage. */
export function project(databaseUrl: string, file = "feedback.env"): Place {
  if (!/^postgres(ql)?:/.test(databaseUrl) || !URL.canParse(databaseUrl) || /%(?![0-9a-f]{2})/i.test(databaseUrl))
    throw new StartError(
      "the database's URL is not postgresql://postgres@<host>:5432/postgres: copy it from the project, and set PGPASSWORD",
    );
  return {
    name: new URL(databaseUrl).hostname,
    databaseUrl,
    deploys: `${file} has the secrets of the source now: give them to the functions (npm run deploy), and run this command again`,
    async secrets() {
      const { values: all, deployed } = await readEnvFile(file);
      const [own, other] = [refOf(databaseUrl), refOf(all.DATABASE_URL ?? "")];
      if (own && other && own !== other)
        throw new StartError(`${file} is of another project (${other}): run this in the folder of ${own}`);
      // Those that the functions have, as far as a deployment noted.
      const has = (name: string) => all[name] && (deployed[name] ?? digestOf(all[name])) === digestOf(all[name]);
      return Object.fromEntries(variables.filter(has).map((name) => [name, all[name] ?? ""]));
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
  };
}

/** The 20 letters of a project, in the host or in the user of the pooler. */
const refOf = (url: string) => /\.([a-z]{20})[@.:]/.exec(url)?.[1];

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
