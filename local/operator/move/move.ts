import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { newestMigration } from "../../../shared/newest-migration.ts";
import { connect, type Runner, type Sql, withDatabase } from "../../postgres/database.ts";
import { codeOf, messageOf, StartError } from "../../processes/start-error.ts";
import { close, freeze, isClosed, reopen } from "./freeze.ts";
import { advanceIds, advanceLast } from "./ids.ts";
import { type Place, project, sourceFolder, targetFolder } from "./places.ts";
import { compareTable, copySequences, copyTable, isSupabaseAuth, planTables, settings, type Table } from "./tables.ts";

const usage = `npm run move -- <URL of a project's database>         from DATA_DIR (.data) to the project
npm run move -- --from <URL of a project's database>  from the project to a new DATA_DIR
  --rehearse  copies and compares everything and rolls it back; the source stays open
  --reopen    opens DATA_DIR, or the project of --from, after it was moved
The URL has role postgres. Put its password into PGPASSWORD: other users of the machine can read command lines.`;

export interface Move {
  source: Place;
  target: Place;
  rehearse?: boolean;
  log(line: string): void;
  /** Ends the move. */
  signal?: AbortSignal;
}

const rehearsed = new Error("rehearsed");

/** Moves an installation. If this throws, the target is as it was and the source is open, or the error says otherwise. */
export async function move({ source: from, target: to, rehearse = false, log, signal }: Move): Promise<void> {
  const [source, target, observer] = [connect(from.databaseUrl), connect(to.databaseUrl), connect(from.databaseUrl)];
  const connections = [source, target, observer];
  const end = () => void Promise.allSettled(connections.map((sql) => sql.end({ timeout: 0 })));
  signal?.addEventListener("abort", end);
  let copied: Promise<unknown> | undefined;
  try {
    await mustAnswer("source", source);
    await mustAnswer("target", target);
    if (await isClosed(source)) throw new StartError(`${from.name} was moved already: --reopen opens it again`);
    await mustBeEmpty(target);
    await mustSignIn(source, target);
    await keepSecrets({ source: from, target: to, rehearse, log });
    if (!rehearse) await advanceIds(source, target, log);
    await target.begin(async (here) => {
      await here.unsafe(settings);
      await withoutTriggers(here);
      const mode = rehearse ? "isolation level repeatable read read only" : "";
      copied = source.begin(mode, async (there) => {
        await there.unsafe(settings);
        const { tables, lost } = await planTables(there, here);
        for (const column of lost) log(`not moved, since the target has no such column: ${column}`);
        await empty(here, tables);
        const thaw = rehearse ? undefined : await freeze(there, observer, tables);
        try {
          await copyAll(there, here, tables, log);
          await copyFiles(there, { source: from, target: to, rehearse, log });
          if (rehearse) throw rehearsed;
          await advanceLast(there, here);
          await close(there, tables);
        } finally {
          await thaw?.();
        }
      });
      await copied;
    });
  } catch (error) {
    if (error === rehearsed) return log("rehearsed: the target is as it was, and the source is unchanged");
    // If one connection has ended, statements of the other transaction may wait for ever.
    end();
    copied?.catch(() => undefined);
    if (rehearse || copied === undefined || !(await staysClosed(from)))
      throw signal?.aborted ? new StartError("interrupted: nothing was moved, and the source is open") : error;
    await openUnlessMoved(from, to, error);
  } finally {
    signal?.removeEventListener("abort", end);
    await Promise.all(connections.map((sql) => sql.end({ timeout: 5 })));
  }
  await withDatabase(to.databaseUrl, (sql) => sql`analyze`).catch(() => undefined);
  log(`moved: ${to.name} has everything, and ${from.name} is read-only until npm run move -- --reopen`);
  log("people sign in again with their passwords; keys, webhooks and links in mails stay valid");
}

async function mustAnswer(side: string, sql: Sql): Promise<void> {
  const [row] = await sql<{ role: string; is_owner: boolean; migration: string | null }[]>`
    select current_user as role, (select rolbypassrls from pg_roles where rolname = current_user) as is_owner,
      to_regclass('supabase_migrations.schema_migrations')::text as migration`.catch((error: unknown) => {
    const reasons: Record<string, string> = {
      "28P01": "it rejects the password",
      "3D000": "there is no such database",
    };
    const reason = reasons[codeOf(error) ?? ""] ?? codeOf(error) ?? messageOf(error);
    throw new StartError(`the database of the ${side} does not answer (${reason}): check its URL and PGPASSWORD`);
  });
  if (!row?.is_owner) throw new StartError(`the URL of the ${side} has role ${row?.role}: use that of role postgres`);
  const [found] = row.migration
    ? await sql`select max(version) as version from supabase_migrations.schema_migrations`
    : [];
  const version = found?.version ?? "none";
  if (version === newestMigration) return;
  const action = version > newestMigration && found ? "use that release" : "npm run deploy (or npm start) upgrades it";
  throw new StartError(`the ${side} has migration ${version}, and this release has ${newestMigration}: ${action}`);
}

/** So that nothing of the target is lost. */
async function mustBeEmpty(target: Runner): Promise<void> {
  const [row] = await target`select (select count(*)::integer from public.organizations) as organizations,
    (select count(*)::integer from auth.users) as accounts`;
  if (row?.organizations + row?.accounts > 0)
    throw new StartError(
      `the target has ${row?.organizations} organizations and ${row?.accounts} accounts: use a new project or data folder`,
    );
}

/** Passwords and second factors that the target's auth cannot check would lock people out, or let others in. */
async function mustSignIn(source: Runner, target: Runner): Promise<void> {
  const isProgram = await isSupabaseAuth(target);
  const form = isProgram ? "^\\$(2[aby]?|argon2|fbscrypt)\\$" : "^\\$2[aby]\\$";
  const [row] = await source`select
    (select count(*)::integer from auth.users where encrypted_password <> '' and encrypted_password !~ ${form}) as passwords,
    (select count(*)::integer from auth.mfa_factors where ${isProgram} = false or secret like '{%') as factors`;
  const what = row?.passwords ? `${row.passwords} passwords` : row?.factors ? `${row.factors} second factors` : null;
  if (what)
    throw new StartError(
      `${what} of the source are in a form that the auth of the target cannot check: ${isProgram ? "reset or remove them first" : "run Supabase Auth there (SUPABASE_AUTH)"}`,
    );
}

async function keepSecrets({ source, target, rehearse, log }: Move): Promise<void> {
  const [given, present] = [await source.secrets(), await target.secrets()];
  const missing = ["WEBHOOK_SECRETS_KEYS", "MAIL_LINK_KEYS", "ADDRESS_HASH_KEY"].find((name) => !given[name]);
  if (missing)
    throw new StartError(`feedback.env has no ${missing}: run this in the folder with the project's feedback.env`);
  if (Object.entries(given).every(([name, value]) => present[name] === value)) return;
  if (rehearse && target.deploys === undefined) return;
  await target.keep(given);
  if (target.deploys === undefined) return;
  if (!rehearse) throw new StartError(target.deploys);
  log(target.deploys);
}

async function withoutTriggers(target: Runner): Promise<void> {
  await target`set local session_replication_role = replica`.catch((error: unknown) => {
    if (codeOf(error) !== "42501") throw error;
    throw new StartError(
      "role postgres of the target may not set session_replication_role, as it may on Supabase: grant set on parameter session_replication_role to postgres",
    );
  });
}

/** Removes the rows of migrations, with a lock that keeps others out until the end. */
async function empty(target: Runner, tables: Table[]): Promise<void> {
  const own = tables.map(({ name }) => name).filter((name) => !name.startsWith("auth."));
  await target.unsafe(`lock table auth.users in share row exclusive mode; lock table public.organizations`);
  await mustBeEmpty(target);
  await target.unsafe(`truncate ${own.join(", ")}`);
}

async function copyAll(source: Runner, target: Runner, tables: Table[], log: Move["log"]): Promise<void> {
  const start = performance.now();
  const since = (before: number) => `${((performance.now() - before) / 1000).toFixed(1)} s`;
  for (const table of tables) {
    const before = performance.now();
    const rows = await copyTable(source, target, table);
    if (rows > 0) log(`  ${table.name.padEnd(32)} ${String(rows).padStart(10)} rows ${since(before).padStart(8)}`);
  }
  await copySequences(source, target);
  const compared = performance.now();
  let total = 0;
  for (const table of tables) total += await compareTable(source, target, table);
  log(`copied in ${since(start)}, of which comparing took ${since(compared)}`);
  log(`same on both sides: ${tables.length} tables with ${total} rows, by count and checksum`);
}

async function copyFiles(sql: Runner, { source, target, rehearse, log }: Move): Promise<void> {
  const files = await sql<{ path: string }[]>`
    select substr(logo_url, 2) as path from public.organizations where logo_url ~ '^/logos/[0-9a-f-]{36}/[0-9a-f]{32}\\.\\w+$'`;
  for (const { path } of files) {
    const file = await source.read(path);
    if (!file) log(`the source has no file ${path}: upload the logo again`);
    else if (rehearse) await target.read(path);
    else {
      await target.write(path, file);
      if (!Buffer.from((await target.read(path)) ?? []).equals(file)) throw new StartError(`the file ${path} differs`);
    }
  }
  if (files.length > 0) log(`  files                            ${String(files.length).padStart(10)}`);
}

/** Whether the source committed its end; waits until its transaction is over. */
const staysClosed = (source: Place) =>
  withDatabase(source.databaseUrl, (sql) =>
    sql.begin(async (transaction) => {
      await transaction`lock table private.outbox in row exclusive mode`;
      return await isClosed(transaction);
    }),
  );

/** The target did not confirm its end, and the source is closed. */
async function openUnlessMoved(from: Place, to: Place, error: unknown): Promise<void> {
  const has = await withDatabase(to.databaseUrl, (sql) => sql`select from public.organizations limit 1`).catch(
    () => null,
  );
  if (has === null)
    throw new StartError(
      `the target stopped to answer at the end (${messageOf(error)}), and the source is read-only: if the target has no organization, npm run move -- --reopen`,
    );
  if (has.length > 0) return;
  await withDatabase(from.databaseUrl, reopen);
  throw error;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { from: { type: "string" }, rehearse: { type: "boolean" }, reopen: { type: "boolean" } },
  });
  const dataDir = process.env.DATA_DIR || ".data";
  if (positionals.length !== (values.reopen || values.from ? 0 : 1)) throw new StartError(usage);
  const ending = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => ending.abort());
  const source = values.from ? project(values.from) : await sourceFolder(dataDir);
  try {
    if (values.reopen) {
      await withDatabase(source.databaseUrl, reopen);
      return console.log(`${source.name} is open`);
    }
    const target = values.from ? await targetFolder(dataDir) : project(positionals[0] ?? "");
    const given = { source, target, rehearse: values.rehearse ?? false, log: console.log, signal: ending.signal };
    await move(given).finally(() => target.close());
  } finally {
    await source.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  // postgres.js reads types on each new connection; nobody can catch the error if the server ends meanwhile.
  process.on("unhandledRejection", (error) => {
    if (!/^(?:CONNECTION_|ECONN|EPIPE)/.test(codeOf(error) ?? "")) throw error;
  });
  await main().catch((error: unknown) => {
    console.error(messageOf(error));
    process.exitCode = 1;
  });
}
