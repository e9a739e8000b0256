import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { newSlug } from "../../shared/fields.ts";
import { scopes } from "../../shared/scopes.ts";
import { type Runner, withDatabase } from "../postgres/database.ts";
import { runCommand } from "../processes/command.ts";
import { codeOf, StartError } from "../processes/start-error.ts";
import type { StackAddresses } from "../stack.ts";
import { createApiKey } from "./api-keys.ts";
import { type ApiAccess, exportFile, importFile } from "./import-export.ts";
import { type AuthAdmin, makeOrganization } from "./organizations.ts";

const usage = `npm run organization:create -- --name "Acme" --slug acme --owner-email a@b.c [--owner-password …] [--private]
npm run key:create -- --organization acme --name backend --scopes submissions:write,submissions:read [--expires 2027-01-31]
npm run import -- [--format canny|fider] [--what comments] [--source old-board] [--type problem]
  [--dates day_first|month_first] [--no-create-missing] [--anonymous-votes] [--follow]
  [--columns '{"Body text":"description"}'] [--dry-run] file.csv|.json|.jsonl|.zip
npm run export -- [--format json|jsonl|csv] [--what submissions] [file]

The first two work on DATABASE_URL where it is set, else on the stack that runs in DATA_DIR (.data). import and export need a
key of the organization in API_KEY, and send to API_URL (the address before /api), else to that stack.`;

/** The target of the commands: a hosted project by environment variables, or the embedded stack by its stack.json. */
interface Target extends AuthAdmin {
  databaseUrl: string;
}

async function findTarget(): Promise<Target> {
  const { DATABASE_URL, SUPABASE_URL, SUPABASE_SECRET_KEY } = process.env;
  if (DATABASE_URL) {
    return { databaseUrl: DATABASE_URL, supabaseUrl: SUPABASE_URL, secretKey: SUPABASE_SECRET_KEY };
  }
  const stack = await runningStack("DATABASE_URL");
  return { databaseUrl: stack.db_url, supabaseUrl: stack.supabase_url, secretKey: stack.secret_key };
}

async function runningStack(variable: string): Promise<StackAddresses> {
  const file = join(process.env.DATA_DIR || ".data", "stack.json");
  if (!existsSync(file))
    throw new StartError(`no stack is running (${file} does not exist): run npm start, or set ${variable}`);
  return JSON.parse(await readFile(file, "utf8"));
}

async function createOrganization(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      name: { type: "string" },
      slug: { type: "string" },
      "owner-email": { type: "string" },
      "owner-password": { type: "string" },
      private: { type: "boolean", default: false },
    },
  });
  const name = required(values.name, "--name");
  const slug = required(values.slug, "--slug");
  const email = required(values["owner-email"], "--owner-email");
  if (!newSlug.safeParse(slug).success) {
    throw new StartError(
      `--slug is ${JSON.stringify(slug)}: use lowercase letters, digits and single hyphens, at most 64 characters, and no UUID`,
    );
  }
  if (!/^[^\s@]+@[^\s@]+$/.test(email))
    throw new StartError(`--owner-email is ${JSON.stringify(email)}: use an email address`);
  const target = await findTarget();
  await withDatabase(target.databaseUrl, async (sql) => {
    const [existing] = await sql`select 1 from private.organization_slugs where slug = ${slug}`;
    if (existing !== undefined)
      throw new StartError(`an organization has or had the slug ${slug}: choose another --slug`);
    const visibility = values.private ? "private" : "public";
    const ownerPassword = values["owner-password"];
    await makeOrganization(sql, target, { name, slug, ownerEmail: email, ownerPassword, visibility }, console.log);
  });
}

async function createKey(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      organization: { type: "string" },
      name: { type: "string" },
      scopes: { type: "string" },
      expires: { type: "string" },
    },
  });
  const slug = required(values.organization, "--organization");
  const name = required(values.name, "--name");
  const requested = [
    ...new Set(
      required(values.scopes, "--scopes")
        .split(/[\s,]+/)
        .filter(Boolean),
    ),
  ];
  const unknown = requested.filter((scope) => !(scopes as readonly string[]).includes(scope));
  if (unknown.length > 0 || requested.length === 0) {
    throw new StartError(`--scopes has ${unknown.join(", ") || "none"}: choose from ${scopes.join(", ")}`);
  }
  const expires = values.expires === undefined ? null : new Date(values.expires);
  if (expires !== null && !(expires.getTime() > Date.now()))
    throw new StartError("--expires: give a date to come, such as 2027-01-31");
  const target = await findTarget();
  await withDatabase(target.databaseUrl, async (sql) => {
    const secret = await createApiKey(sql, await organizationOf(sql, slug), name, requested, expires);
    console.log(`key     ${name} of ${slug}, ${requested.join(" ")}`);
    console.log(`secret  ${secret}  (shown this once)`);
  });
}

async function organizationOf(sql: Runner, slug: string): Promise<string> {
  const [organization] = await sql<
    { id: string }[]
  >`select id from public.organizations where slug = ${slug} or id::text = ${slug}`;
  if (organization === undefined)
    throw new StartError(`there is no organization ${slug}: create it with npm run organization:create`);
  return organization.id;
}

async function apiAccess(): Promise<ApiAccess> {
  const key = required(process.env.API_KEY, "API_KEY (npm run key:create makes a key)");
  return { url: process.env.API_URL || (await runningStack("API_URL")).supabase_url, key };
}

async function runImport(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      format: { type: "string" },
      what: { type: "string" },
      source: { type: "string" },
      type: { type: "string" },
      dates: { type: "string" },
      "no-create-missing": { type: "boolean" },
      "anonymous-votes": { type: "boolean" },
      follow: { type: "boolean" },
      columns: { type: "string" },
      "dry-run": { type: "boolean" },
    },
  });
  const path = required(positionals[0], "the file");
  if (!existsSync(path)) throw new StartError(`there is no file ${path}`);
  const { "no-create-missing": makesNone, ...options } = values;
  const query = queryOf({ ...options, ...(makesNone && { create_missing: false }) });
  const progress = (processed: number) => process.stderr.isTTY && process.stderr.write(`\r${processed}`);
  const done = await importFile(await apiAccess(), path, query, progress);
  if (process.stderr.isTTY) process.stderr.write("\r");
  for (const { file, line, field, message } of done.errors)
    console.log(`${file ? `${file} ` : ""}line ${line}  ${field === null ? "" : `${field} `}${message}`);
  const { unused, missing } = done.columns;
  if (unused.length > 0) console.log(`columns not imported: ${unused.join(", ")}`);
  if (missing.length > 0) console.log(`fields without a column: ${missing.join(", ")}`);
  console.log(
    `${done.dry_run ? "dry run  " : ""}created ${done.created}  skipped ${done.skipped}  failed ${done.failed}`,
  );
  if (done.problem !== null) throw new StartError(`not finished: ${done.problem}`);
}

async function runExport(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { format: { type: "string" }, what: { type: "string" } },
  });
  await exportFile(await apiAccess(), positionals[0], queryOf(values));
}

/** Options as parameters of the API, which have an underscore. */
const queryOf = (options: object) =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [name.replaceAll("-", "_"), `${value}`]));

function required(value: string | undefined, option: string): string {
  const text = value?.trim();
  if (!text) throw new StartError(`${option} is missing\n\n${usage}`);
  return text;
}

async function main([command, ...words]: string[]): Promise<void> {
  if (command === "organization:create") return createOrganization(words);
  if (command === "key:create") return createKey(words);
  if (command === "import") return runImport(words);
  if (command === "export") return runExport(words);
  throw new StartError(usage);
}

await runCommand(import.meta.url, (words) =>
  main(words).catch((error: unknown) => {
    if (!codeOf(error)?.startsWith("ECONN")) throw error;
    throw new StartError("the database does not respond: is the stack running?");
  }),
);
