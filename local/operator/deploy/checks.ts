import { newestMigration } from "../../../shared/newest-migration.ts";
import { siteOrigin, siteUrlAdvice } from "../../../shared/site-url.ts";
import { type Sql, withDatabase } from "../../postgres/database.ts";

/** The project to check. api: URL of the function up to /api; secrets: those of feedback.env, if known. */
export interface Project {
  databaseUrl: string;
  api?: string | undefined;
  publishableKey?: string | undefined;
  secrets?: Record<string, string>;
  /** The URL by which this machine reaches the database of another one. */
  reach?: (url: string) => string;
}

/** Part of a step's inspection; changes nothing. */
export interface Check {
  what: string;
  isOfDatabase: boolean;
  /** The result, or undefined if there is nothing to check. Throws the problem and its solution. */
  holds(project: Checked): Promise<string | undefined>;
}

/** `sql` is a connection for checks that ask the database. */
export type Checked = Project & { sql: Sql; secrets: Record<string, string> };

function must(holds: unknown, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}

const check = (what: string, holds: Check["holds"]): Check => ({ what, holds, isOfDatabase: false });
const databaseCheck = (what: string, holds: Check["holds"]): Check => ({ what, holds, isOfDatabase: true });

export const connection = databaseCheck("database", async ({ sql, databaseUrl }) => {
  const [row] =
    await sql`select current_setting('server_version_num')::integer / 10000 as version, current_user as role,
        (select rolbypassrls and rolcreaterole from pg_roles where rolname = current_user) as is_owner`;
  must([15, 17].includes(row?.version), `Postgres ${row?.version}: use 15 or 17`);
  must(row?.is_owner, `the URL has role ${row?.role}: use the URL of role postgres`);
  const mode = new URL(databaseUrl).searchParams.get("sslmode") ?? "no sslmode";
  return `Postgres ${row?.version}, ${mode}`;
});

export async function hasTable(sql: Sql, name: string): Promise<boolean> {
  const [row] = await sql`select to_regclass(${name}) is not null as has`;
  return row?.has;
}

/** Versions, in their order. */
export async function appliedMigrations(sql: Sql): Promise<string[]> {
  if (!(await hasTable(sql, "supabase_migrations.schema_migrations"))) return [];
  const rows = await sql`select version from supabase_migrations.schema_migrations order by 1`;
  return rows.map(({ version }) => version);
}

export const migrations = databaseCheck("migrations", async ({ sql }) => {
  const newest = (await appliedMigrations(sql)).at(-1) ?? "";
  must(
    newest >= newestMigration,
    `${newest || "none"} applied, ${newestMigration} needed: upgrade it first (docs/upgrading.md)`,
  );
  return newest;
});

export const publication = databaseCheck("publication", async ({ sql }) => {
  const rows =
    await sql`select tablename from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public'`;
  const published = new Set(rows.map((row) => row.tablename));
  const missing = ["submissions", "votes", "comments", "notifications"].filter((name) => !published.has(name));
  must(
    missing.length === 0,
    `supabase_realtime lacks ${missing.join(", ")}: alter publication supabase_realtime add table public.${missing[0]}`,
  );
  return `${published.size} tables`;
});

export const policies = databaseCheck("policies", async ({ sql }) => {
  const open =
    await sql`select relname from pg_class where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
        and relkind in ('r', 'p') and not relrowsecurity and relnamespace = 'public'::regnamespace`;
  must(
    open.length === 0,
    `row-level security is off on ${open.map((row) => row.relname).join(", ")}: alter table … enable row level security`,
  );
  const [topic] = await sql`select from pg_policies where schemaname = 'realtime' and tablename = 'messages'`;
  must(topic, "realtime.messages has no policy: clients cannot join private topics; apply the migration again");
  return "row-level security on every table, topics have a policy";
});

export const dataApi = databaseCheck("data API", async ({ sql }) => {
  const [row] = await sql`select from pg_db_role_setting where setrole = 'authenticator'::regrole
    and 'pgrst.db_pre_request=private.before_request' = any (setconfig)`;
  must(row, "alter role authenticator set pgrst.db_pre_request = 'private.before_request', then notify pgrst");
  return "private.before_request runs before each request";
});

export const logins = databaseCheck("logins", async ({ sql, secrets }) => {
  // Mail is optional.
  const logins = ["feedback_api", "feedback_webhooks", ...(secrets.MAIL_DATABASE_URL ? ["feedback_mail"] : [])];
  const rows =
    await sql`select rolname, rolpassword is not null as has_password, rolcanlogin, rolbypassrls from pg_authid
        where rolname = any (${logins})`.catch(
      async () =>
        // If pg_authid is not readable, step 4 tries the passwords.
        sql`select rolname, true as has_password, rolcanlogin, rolbypassrls from pg_roles where rolname = any (${logins})`,
    );
  for (const name of logins) {
    const role = rows.find((row) => row.rolname === name);
    must(role?.rolcanlogin, `there is no login ${name}: apply the migration`);
    must(role?.has_password, `${name} has no password: alter role ${name} password '…'`);
    must(!role?.rolbypassrls, `${name} bypasses row-level security: alter role ${name} nobypassrls`);
  }
  return `${logins.join(", ")} have passwords`;
});

export const connections = databaseCheck("connections", async ({ sql }) => {
  const [row] =
    await sql`select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as max,
        (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as used`;
  must(
    row?.max - row?.used >= 8,
    `${row?.used} of ${row?.max} connections are in use: close some, or use a larger compute size`,
  );
  return `${row?.used} of ${row?.max} are in use`;
});

export const schedule = databaseCheck("schedule", async ({ sql }) => {
  const [extension] = await sql`select extversion from pg_extension where extname = 'pg_cron'`;
  must(
    extension,
    "pg_cron is not created: enable it (dashboard, Database, Extensions) and run the do block of supabase/schemas/90_upkeep.sql",
  );
  const jobs = await sql`select jobname, schedule, active from cron.job where jobname like 'feedback-%'`;
  for (const name of ["feedback-schedule", "feedback-webhooks", "feedback-cron-log"])
    must(
      jobs.find((job) => job.jobname === name)?.active,
      `pg_cron has no active job ${name}: select cron.schedule(…) of supabase/schemas/90_upkeep.sql`,
    );
  const [failed] = await sql`select j.jobname, d.return_message from cron.job j cross join lateral (
          select status, return_message from cron.job_run_details r where r.jobid = j.jobid order by runid desc limit 1) d
        where j.jobname like 'feedback-%' and d.status = 'failed' limit 1`;
  must(!failed, `${failed?.jobname} failed last: ${failed?.return_message}`);
  return `pg_cron ${extension?.extversion}, ${jobs.find((job) => job.jobname === "feedback-schedule")?.schedule}`;
});

export const dispatcherCall = databaseCheck("dispatcher's call", async ({ sql, secrets }) => {
  const created = await sql`select extname from pg_extension where extname in ('pg_net', 'supabase_vault')`;
  for (const name of ["pg_net", "supabase_vault"])
    must(
      created.find((row) => row.extname === name),
      `${name} is not created: enable it (dashboard, Database, Extensions)`,
    );
  const names = ["webhook_dispatch_url", "webhook_dispatch_secret"];
  const stored =
    await sql`select name, decrypted_secret as secret from vault.decrypted_secrets where name = any (${names})`;
  const missing = names.find((name) => !stored.some((row) => row.name === name));
  must(!missing, `the Vault has no ${missing}: select vault.create_secret('…', '${missing}')`);
  const password = stored.find(({ name }) => name === "webhook_dispatch_secret")?.secret;
  must(
    [undefined, password].includes(secrets.WEBHOOK_DISPATCH_SECRET),
    "webhook_dispatch_secret of the Vault is not WEBHOOK_DISPATCH_SECRET of feedback.env: select vault.update_secret(…)",
  );
  return "pg_net is enabled, and Vault has the URL and the secret";
});

export const organization = databaseCheck("organization", async ({ sql }) => {
  const [row] = await sql`select (select count(*)::integer from public.organizations) as organizations,
        (select count(*)::integer from public.memberships where role = 'owner') as owners,
        (select count(*)::integer from private.api_keys) as keys`;
  must(row?.organizations > 0, "there is none: npm run organization:create");
  must(row?.owners > 0, "none has an owner: npm run organization:create with --owner-email");
  return `${row?.organizations} with ${row?.owners} owners and ${row?.keys} keys`;
});

/** Signs in as the functions do: passwords, pooler and TLS. */
export const signsIn = (variable: string) =>
  check(variable, async ({ secrets, reach = (url) => url }) => {
    const given = secrets[variable];
    if (!given) return undefined;
    const url = reach(given);
    const { hostname, port, searchParams } = new URL(url);
    must(
      searchParams.get("sslmode") !== "disable" || /^(127\.|localhost$)/.test(hostname),
      "sslmode=disable sends the password in plain text: use verify-full",
    );
    const [row] = await withDatabase(url, (sql) => sql`select session_user::text as role`);
    must(
      String(row?.role).startsWith("feedback_"),
      `the URL has role ${row?.role}: use feedback_api, feedback_webhooks and feedback_mail`,
    );
    return `${row?.role} signs in at ${hostname}:${port || 5432}`;
  });

export const site = check("SITE_URL", async ({ secrets: { SITE_URL } }) => {
  if (!SITE_URL) return undefined;
  const origin = siteOrigin(SITE_URL);
  must(origin, `SITE_URL is ${JSON.stringify(SITE_URL)}: set it to ${siteUrlAdvice}`);
  return `pages at ${origin}`;
});

/** Requirements of auth-mail if the Send Email hook is used. */
export const authMail = check("auth mail", async ({ secrets: { AUTH_MAIL_SECRET, MAIL_URL, MAIL_FROM } }) => {
  if (!AUTH_MAIL_SECRET) return undefined;
  const isSecret = AUTH_MAIL_SECRET.split("|").every((one) => /^(v1,)?whsec_[A-Za-z0-9+/]+={0,2}$/.test(one));
  must(isSecret, "AUTH_MAIL_SECRET is not the hook's secret, v1,whsec_…: copy it from Auth Hooks");
  must(MAIL_URL && MAIL_FROM, "auth-mail needs MAIL_URL and MAIL_FROM too");
  return `by ${new URL(MAIL_URL ?? "").host}`;
});

const inTime = (url: string | URL, init?: RequestInit) => fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });

async function get(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await inTime(url);
  const text = await response.text();
  if (response.status !== 200 && response.status !== 503)
    throw new Error(`${url} returned ${response.status}: deploy the functions`);
  return { status: response.status, body: JSON.parse(text) };
}

export const variables = check("secrets", async ({ api }) => {
  if (!api) return undefined;
  const { unset_variables: unset } = (await get(`${api}/ready`)).body;
  must(Array.isArray(unset), "the functions are older than this check: deploy them");
  must(unset.length === 0, `the functions lack ${unset.join(", ")}: npx supabase secrets set`);
  return "the functions have all variables";
});

export const functions = check("functions", async ({ api }) => {
  must(api, "not checked: pass the API's URL too");
  must((await get(`${api}/health`)).status === 200, "api does not respond: see its log");
  const dispatcher = api.replace(/\/api\/?$/, "/webhook-dispatch");
  must((await get(`${dispatcher}/health`)).status === 200, "webhook-dispatch does not respond: see its log");
  return "api and webhook-dispatch respond";
});

export const ready = check("ready", async ({ api }) => {
  if (!api) return undefined;
  const { status, body } = await get(`${api}/ready`);
  must(status === 200, `database ${body.database}, migrations ${body.migrations}: see the log of api`);
  return "database and migrations";
});

const originOf = ({ api = "", secrets }: Checked) => secrets.SUPABASE_URL ?? new URL(api).origin;

async function askAuth(project: Checked, path: string, apikey = "", body?: string) {
  const response = await inTime(new URL(`/auth/v1${path}`, originOf(project)), {
    method: body ? "POST" : "GET",
    headers: { apikey, "content-type": "application/json" },
    ...(body && { body }),
  });
  must(response.status !== 401, "auth rejects the publishable key: pass that of this project");
  return JSON.parse(await response.text());
}

// Without feedback.env, its variables are unknown.
const isKnown = ({ secrets }: Checked) => Object.keys(secrets).length > 0;

/** The keys that auth publishes. */
export const signingKeys = check("signing keys", async (project) => {
  if (!project.api) return undefined;
  const { JWT_SECRET } = project.secrets;
  const published: { alg?: string }[] = (await askAuth(project, "/.well-known/jwks.json")).keys;
  if (published.length > 0) {
    const hint = JWT_SECRET ? "; JWT_SECRET is needed only until the last token of the shared secret has expired" : "";
    return published.map(({ alg }) => alg ?? "a key").join(", ") + hint;
  }
  must(
    JWT_SECRET || !isKnown(project),
    "auth signs with the shared secret (its JWKS is empty), and JWT_SECRET is not set: no session is valid",
  );
  return "the shared secret, JWT_SECRET";
});

/** The settings that auth publishes, and the variables of the functions that must match them. */
export const authSettings = check("auth settings", async (project) => {
  if (!project.api) return undefined;
  const { publishableKey, secrets } = project;
  const { SIGN_IN_PROVIDERS = "", CAPTCHA_PROVIDER, CAPTCHA_SITE_KEY } = secrets;
  const { AUTH_API_KEY, AUTH_ADDRESS_HEADER } = secrets;
  const key = publishableKey ?? keyIn(secrets) ?? (await keyOfPages(secrets.SITE_URL ?? originOf(project)));
  must(key, "not checked: pass the publishable key too, after the API's URL");
  const { mailer_autoconfirm, disable_signup, external } = await askAuth(project, "/settings", key);
  must(
    mailer_autoconfirm === false,
    "auth confirms every address unseen (mailer_autoconfirm), so whoever has the link of an invite may accept it: turn on Confirm email",
  );
  const off = SIGN_IN_PROVIDERS.split(",").filter((name) => name && !external[name]);
  must(off.length === 0, `SIGN_IN_PROVIDERS names ${off.join(", ")}, off in auth: enable or remove it`);
  // Without an address auth looks nobody up; it checks the CAPTCHA before.
  const { error_code } = await askAuth(project, "/token?grant_type=password", key, "{}");
  const hasCaptcha = error_code === "captcha_failed";
  must(
    !hasCaptcha || !isKnown(project) || (CAPTCHA_PROVIDER && CAPTCHA_SITE_KEY) || AUTH_API_KEY,
    "auth asks for a CAPTCHA that the pages do not show, so nobody signs in: set CAPTCHA_PROVIDER and CAPTCHA_SITE_KEY",
  );
  const told = [
    "addresses are confirmed",
    disable_signup && "sign-ups are off",
    !external.email && "email is off: the pages sign in by providers only",
    hasCaptcha &&
      (CAPTCHA_PROVIDER && CAPTCHA_SITE_KEY
        ? "CAPTCHA is on, and the pages show it"
        : AUTH_API_KEY
          ? "CAPTCHA is on, but auth skips it for the pages, which have AUTH_API_KEY"
          : "CAPTCHA is on: the pages need CAPTCHA_PROVIDER and CAPTCHA_SITE_KEY"),
    isKnown(project) &&
      !(AUTH_ADDRESS_HEADER && AUTH_API_KEY) &&
      "AUTH_ADDRESS_HEADER and AUTH_API_KEY are not both set: auth limits all visitors of the pages as one",
  ];
  return told.filter(Boolean).join("; ");
});

function keyIn({ SUPABASE_PUBLISHABLE_KEYS: keys, SUPABASE_ANON_KEY }: Record<string, string>) {
  return keys ? (Object.values(JSON.parse(keys))[0] as string) : SUPABASE_ANON_KEY;
}

/** The key that the pages show to every browser. */
async function keyOfPages(site: string): Promise<string | undefined> {
  const page = await inTime(site).then(
    (response) => response.text(),
    () => "",
  );
  return /data-key="([^"]+)"/.exec(page)?.[1];
}
