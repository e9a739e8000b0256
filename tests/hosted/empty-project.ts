import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openDataFolder } from "../../local/folders/data-folder.ts";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { denoProgram, type Functions, startFunctions } from "../../local/functions/process.ts";
import { deploy } from "../../local/operator/deploy/deploy.ts";
import type { Surroundings } from "../../local/operator/deploy/target.ts";
import { connect, type Sql } from "../../local/postgres/database.ts";
import { root, startDatabase } from "../../local/postgres/database-server.ts";
import { unsynced } from "../data-template.ts";
import { type ManagementApi, startManagementApi } from "./management-api.ts";
import { makeKey, recordedAuth, requireTls } from "./project.ts";

/**
 * A new project of hosted Supabase: Postgres as the platform prepares it, with TLS and without our migrations, the
 * Management API, and one address for auth and for the functions, which run with the secrets of the project.
 */
export interface EmptyProject {
  api: ManagementApi;
  superuser: Sql;
  /** The folder of feedback.env. */
  folder: string;
  environment: Record<string, string>;
  /** Runs npm run deploy; `interruptAt`: the process ends as the change of this number begins. */
  deploy(words?: string[], how?: How): Promise<Deployment>;
  file(): Promise<string>;
  /** All that a deployment can change. */
  snapshot(): Promise<string>;
  stop(): Promise<void>;
}

interface How {
  environment?: Record<string, string>;
  interruptAt?: number;
  folder?: string;
  ask?: Surroundings["ask"];
}

interface Deployment {
  said: string;
  error: string | undefined;
  isComplete: boolean | undefined;
}

export async function startEmptyProject(): Promise<EmptyProject> {
  const path = await makeTemporaryFolder("project");
  const [none, folder] = [join(path, "none"), join(path, "checkout")];
  for (const each of [none, folder]) await mkdir(each);
  const data = await openDataFolder(join(path, "data"), "none");
  const database = await startDatabase({
    folder: data,
    port: 0,
    migrations: none,
    settings: unsynced,
    onProgress: () => undefined,
  });
  const authority = await requireTls(database.superuserUrl, join(path, "data", "postgres"));
  const superuser = connect(database.superuserUrl, 2);
  // Hosted Supabase lets postgres make policies on realtime.messages, and set pgrst.*, by supautils.
  await superuser`grant supabase_realtime_admin to postgres`;
  await superuser`grant set on parameter "pgrst.db_pre_request" to postgres`;
  const api = await startManagementApi();
  const owner = new URL(database.ownerUrl);
  api.state.databaseHost = owner.host;
  await writeFile(join(path, "authority.pem"), authority);

  const key = await makeKey("project");
  const running = new Map<string, { functions: Functions; of: string }>();
  /** A function with the project's secrets, started again when they change. */
  const functionOf = async (name: string, url: string) => {
    if (!api.state.functions.has(name)) return undefined;
    const secrets = Object.fromEntries(api.state.secrets);
    const of = JSON.stringify(secrets);
    const known = running.get(name);
    if (known?.of === of) return known.functions;
    await known?.functions.stop();
    running.delete(name);
    const functions = await startFunctions({
      root,
      program: denoProgram(),
      name,
      entry: join(root, "functions", name, "index.ts"),
      healthPath: `/${name}/health`,
      environment: {
        ...secrets,
        SUPABASE_URL: url,
        SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x"}' /* of the stand-in for auth */,
      },
      logPath: join(path, `${name}.log`),
      onWarning: (message) => console.error(message),
    });
    running.set(name, { functions, of });
    return functions;
  };
  const answers: Record<string, object> = {
    ...recordedAuth,
    "/auth/v1/.well-known/jwks.json": { keys: [key.published] },
  };
  const front = createServer(async (request, response) => {
    const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.url === "/auth/v1/admin/users") {
      const { apikey } = request.headers;
      if (!api.state.apiKeys.some((each) => each.type === "secret" && each.api_key === apikey))
        return void response.writeHead(401).end();
      const id = randomUUID();
      await superuser`insert into auth.users (id, email, email_confirmed_at, aud, role)
        values (${id}, ${JSON.parse(body).email}, now(), 'authenticated', 'authenticated')`;
      return void response.end(JSON.stringify({ id }));
    }
    const [, name] = /^\/functions\/v1\/([\w-]+)/.exec(request.url ?? "") ?? [];
    if (!name) return void response.end(JSON.stringify(answers[request.url ?? ""] ?? {}));
    const functions = await functionOf(name, url);
    if (!functions) return void response.writeHead(404).end();
    const inner = `http://127.0.0.1:${functions.port}${request.url?.replace("/functions/v1", "")}`;
    const answer = await fetch(inner);
    response.writeHead(answer.status).end(await answer.text());
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));

  const file = join(folder, "feedback.env");
  // Of the test's server: hosted Supabase's is in the code.
  process.env.DATABASE_CA = authority;
  await writeFile(file, `DATABASE_CA="${authority.trim()}"\n# a comment\n`);
  await chmod(file, 0o644);
  const environment = {
    PATH: process.env.PATH ?? "",
    ...api.environment,
    SUPABASE_PROJECT_ID: api.ref,
    SUPABASE_DB_PASSWORD: decodeURIComponent(owner.password),
    SUPABASE_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    PGSSLROOTCERT: join(path, "authority.pem"),
    SITE_URL: "https://feedback.acme.example",
    MAIL_URL: "https://:re_mail_key@api.resend.com/emails",
    MAIL_FROM: "feedback@mail.acme.example",
    OWNER_EMAIL: "owner@acme.example",
  };

  const textOfFile = () => readFile(file, "utf8").catch(() => "");
  return {
    api,
    superuser,
    folder,
    environment,
    file: textOfFile,
    async deploy(words = ["--yes"], how = {}) {
      const { interruptAt = Number.POSITIVE_INFINITY } = how;
      const lines: string[] = [];
      let begun = 0;
      const say = (line: string) => {
        if (line.startsWith("doing") && ++begun === interruptAt) throw new Error("interrupted");
        lines.push(line);
      };
      process.env.SUPABASE_API_URL = api.url;
      const merged = { ...environment, ...how.environment };
      const surroundings = { environment: merged, folder: how.folder ?? folder, say, ask: how.ask, patience: 0 };
      const [isComplete, error] = await deploy(words, surroundings).then(
        (result) => [result, undefined] as const,
        (reason: Error) => [undefined, reason.message] as const,
      );
      return { said: lines.join("\n"), error, isComplete };
    },
    async snapshot() {
      const { secrets, authConfig, functions } = api.state;
      const roles = await superuser`select rolname, rolpassword, rolbypassrls from pg_authid order by 1`;
      const settings = await superuser`select setrole::regrole::text, setconfig from pg_db_role_setting order by 1`;
      const tables = await superuser`select n.nspname || '.' || relname as name from pg_class c
        join pg_namespace n on n.oid = relnamespace where n.nspname in ('public', 'private', 'cron', 'vault', 'supabase_migrations')
          and relkind = 'r' order by 1`;
      const rows = [];
      for (const { name } of tables.filter(({ name }) =>
        /organizations|api_keys|schema_migrations|cron.job$|vault.secrets/.test(name),
      ))
        rows.push(
          name,
          ...(await superuser.unsafe(`select row_to_json(t) as row from ${name} t order by t::text`)).map(
            ({ row }) => row,
          ),
        );
      return JSON.stringify(
        [[...secrets], authConfig, [...functions], roles, settings, tables, rows, await textOfFile()],
        null,
        1,
      );
    },
    async stop() {
      delete process.env.DATABASE_CA;
      delete process.env.SUPABASE_API_URL;
      front.close();
      for (const { functions } of running.values()) await functions.stop();
      await api.stop();
      await superuser.end({ timeout: 1 });
      await database.stop();
      await data.release();
      await rm(path, { recursive: true, force: true });
    },
  };
}
