import { parseArgs } from "node:util";
import { newestMigration } from "../../../shared/newest-migration.ts";
import { connect, type Runner, type Sql, withDatabase } from "../../postgres/database.ts";
import { runCommand } from "../../processes/command.ts";
import { codeOf, messageOf, StartError } from "../../processes/start-error.ts";
import { connection, migrations } from "../deploy/checks.ts";
import { close, freeze, isClosed, reopen } from "./freeze.ts";
import { advanceIds } from "./ids.ts";
import { type Place, project, sourceFolder, targetFolder } from "./places.ts";
import { compareTable, copyAll, isSupabaseAuth, planTables, settings, stamped, type Table } from "./tables.ts";

const usage = `npm run move -- <URL of a project's database>         from DATA_DIR (.data) to the project
npm run move -- --from <URL of a project's database>  from the project to a new DATA_DIR
  --rehearse  copies and compares everything and rolls it back; the source stays open
  --reopen    opens DATA_DIR, or the project of --from, after it was moved to a target that is not used
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
  const connections = [from, to, from, to].map(({ databaseUrl }) => connect(databaseUrl));
  const [source, target, besideSource, besideTarget] = connections as [Sql, Sql, Sql, Sql];
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    void Promise.allSettled(connections.map((sql) => sql.end({ timeout: 0 })));
  };
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  let problem: unknown;
  /** Ends connections instead of rolling back: one of them may be lost, and statements of the other wait for ever. */
  const orEnd = async (work: Promise<void>) => {
    await work.catch((error: unknown) => {
      problem ??= error;
      end();
      throw error;
    });
  };
  let closes = false;
  try {
    await mustBeReady("source", source, from);
    await mustBeReady("target", target, to);
    if (await isClosed(source)) throw new StartError(`${from.name} was moved already: --reopen opens it again`);
    await mustBeEmpty(target);
    await mustSignIn(source, target);
    await keepSecrets({ source: from, target: to, rehearse, log });
    if (!rehearse) await advanceIds(source, besideTarget);
    const copy = async (there: Runner, here: Runner) => {
      await there.unsafe(settings);
      const { tables, lost } = await planTables(there, here);
      for (const column of lost) log(`not moved, since the target has no such column: ${column}`);
      await empty(here, tables);
      if (!rehearse) await freeze(there, besideSource, tables, ending.signal);
      await copyAll(there, here, tables, log);
      await copyFiles(there, { source: from, target: to, rehearse, log });
      if (rehearse) throw rehearsed;
      await advanceIds(there, besideTarget);
      await close(there, tables);
      closes = true;
      // Its table was not locked.
      for (const table of tables) if (table.name === stamped.table) await compareTable(there, here, table);
    };
    const mode = rehearse ? "isolation level repeatable read read only" : "";
    await target.begin((here) =>
      orEnd(
        here
          .unsafe(`${settings}; set local session_replication_role = replica`)
          .then(() => source.begin(mode, (there) => orEnd(copy(there, here)))),
      ),
    );
  } catch (error) {
    end();
    problem ??= error;
    if (problem === rehearsed) return log("rehearsed: the target is as it was, and the source is unchanged");
    if (!closes || !(await hasMoved(from, to, problem)))
      throw signal?.aborted ? new StartError("interrupted: nothing was moved, and the source is open") : said(problem);
  } finally {
    signal?.removeEventListener("abort", end);
    ending.abort();
    await Promise.all(connections.map((sql) => sql.end({ timeout: 5 })));
  }
  await withDatabase(to.databaseUrl, (sql) => sql`analyze`).catch(() => undefined);
  log(`moved: ${to.name} has everything, and ${from.name} is read-only until npm run move -- --reopen`);
  log("people sign in again with their passwords; keys, webhooks and links in mails stay valid");
}

const said = (error: unknown) =>
  codeOf(error) === "55P03" || codeOf(error) === "57014"
    ? new StartError(
        "nothing was moved: another move runs, or a transaction did not end within 30 seconds; end it, and run the command again",
      )
    : error;

async function mustBeReady(side: string, sql: Sql, { databaseUrl }: Place): Promise<void> {
  const asked = { sql, databaseUrl, secrets: {} };
  const found = await connection
    .holds(asked)
    .then(() => migrations.holds(asked))
    .catch((error: unknown) => {
      throw new StartError(`the database of the ${side}: ${messageOf(error)}`);
    });
  if (found !== newestMigration)
    throw new StartError(`the ${side} has migration ${found}, newer than this release: use its release`);
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
  await target.keep(given);
  if (target.deploys === undefined) return;
  if (!rehearse) throw new StartError(target.deploys);
  log(target.deploys);
}

/** Removes the rows of migrations, with a lock that keeps others out until the end. */
async function empty(target: Runner, tables: Table[]): Promise<void> {
  const own = tables.map(({ name }) => name).filter((name) => !name.startsWith("auth."));
  await target.unsafe(`lock table auth.users in share row exclusive mode; lock table public.organizations`);
  await mustBeEmpty(target);
  await target.unsafe(`truncate ${own.join(", ")}`);
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

/** Whether the target committed its end, although the command saw an error. If it did not, the source opens again. */
async function hasMoved(from: Place, to: Place, error: unknown): Promise<boolean> {
  try {
    const has = await withDatabase(to.databaseUrl, (sql) => sql`select from public.organizations limit 1`);
    if (has.length === 0) await withDatabase(from.databaseUrl, reopen);
    return has.length > 0;
  } catch {
    throw new StartError(
      `a connection was lost at the end (${messageOf(error)}): if the target has no organization, open the source with npm run move -- --reopen`,
    );
  }
}

async function main(): Promise<void> {
  // postgres.js reads types on each new connection; nobody can catch the error if the server ends meanwhile.
  process.on("unhandledRejection", (error) => {
    if (!/^(?:CONNECTION_|ECONN|EPIPE)/.test(codeOf(error) ?? "")) throw error;
  });
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { from: { type: "string" }, rehearse: { type: "boolean" }, reopen: { type: "boolean" } },
  });
  const dataDir = process.env.DATA_DIR || ".data";
  // npm takes options without -- before them: a rehearsal would be a move.
  const isTaken = ["from", "rehearse", "reopen"].some((name) => `npm_config_${name}` in process.env);
  if (isTaken || positionals.length !== (values.reopen || values.from ? 0 : 1)) throw new StartError(usage);
  const ending = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => ending.abort());
  const source = values.from ? project(values.from) : await sourceFolder(dataDir);
  if (values.reopen) {
    await withDatabase(source.databaseUrl, reopen);
    return console.log(`${source.name} is open`);
  }
  const target = values.from ? await targetFolder(dataDir) : project(positionals[0] ?? "");
  const given = { source, target, rehearse: values.rehearse ?? false, log: console.log, signal: ending.signal };
  await move(given).finally(() => target.close?.());
}

await runCommand(import.meta.url, main);
