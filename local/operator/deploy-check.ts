import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { newestMigration } from "../../shared/newest-migration.ts";
import { siteOrigin, siteUrlAdvice } from "../../shared/site-url.ts";
import { type Sql, withDatabase } from "../postgres/database.ts";
import { messageOf } from "../processes/start-error.ts";

/** A step of docs/deploy.md. `holds` throws the problem and its solution. */
interface Check {
  step: number;
  what: string;
  /** The result. */
  holds(): Promise<string>;
}

export interface Finding {
  step: number;
  what: string;
  ok: boolean;
  result: string;
}

/** The project to check. api: URL of the function up to /api; secrets: those of step 4, if known. */
export interface Project {
  databaseUrl: string;
  api?: string | undefined;
  publishableKey?: string | undefined;
  secrets?: Record<string, string>;
}

/** Checks a project against docs/deploy.md; changes nothing. */
export async function checkDeployment(project: Project): Promise<Finding[]> {
  const { databaseUrl, api, secrets = {} } = project;
  const ofTheDatabase = await withDatabase(databaseUrl, (sql) => checkDatabase(sql, databaseUrl, secrets));
  const others = await look([
    ...ofLogins(secrets),
    ...ofSite(secrets),
    ...ofFunctions(api),
    ...ofAuthMail(secrets),
    ...ofAuth(project),
  ]);
  return [...ofTheDatabase, ...others].sort((a, b) => a.step - b.step);
}

/** Checks by SQL. */
export const checkDatabase = (sql: Sql, url: string, secrets: Record<string, string> = {}) =>
  look(ofDatabase(sql, url, secrets));

/** Checks against what auth publishes about itself. */
export const checkAuth = (project: Omit<Project, "databaseUrl">) => look(ofAuth(project));

/** Checks where the pages are. */
export const checkSite = (secrets: Record<string, string>) => look(ofSite(secrets));

async function look(checks: Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { step, what, holds } of checks) {
    const found = await holds().then(
      (result) => ({ ok: true, result }),
      (error: unknown) => ({ ok: false, result: messageOf(error) }),
    );
    findings.push({ step, what, ...found });
    // Without the database no other check is possible.
    if (step === 1 && !found.ok) break;
  }
  return findings;
}

const check = (step: number, what: string, holds: Check["holds"]): Check => ({ step, what, holds });

const must = (holds: unknown, fallback: string) => {
  if (!holds) throw new Error(fallback);
};

function ofDatabase(sql: Sql, url: string, secrets: Record<string, string>): Check[] {
  // Mail is optional.
  const logins = ["feedback_api", "feedback_webhooks", ...(secrets.MAIL_DATABASE_URL ? ["feedback_mail"] : [])];
  return [
    check(1, "database", async () => {
      const [row] =
        await sql`select current_setting('server_version_num')::integer / 10000 as version, current_user as role,
        (select rolbypassrls and rolcreaterole from pg_roles where rolname = current_user) as is_owner`;
      must([15, 17].includes(row?.version), `Postgres ${row?.version}: use 15 or 17`);
      must(row?.is_owner, `the URL has role ${row?.role}: use the URL of role postgres`);
      const mode = new URL(url).searchParams.get("sslmode") ?? "no sslmode";
      return `Postgres ${row?.version}, ${mode}`;
    }),
    check(2, "migrations", async () => {
      const [table] = await sql`select to_regclass('supabase_migrations.schema_migrations') as name`;
      const [row] = table?.name
        ? await sql`select max(version) as version from supabase_migrations.schema_migrations`
        : [];
      must(
        row?.version >= newestMigration,
        `${row?.version ?? "none"} applied, ${newestMigration} needed: npx supabase db push`,
      );
      return `${row?.version}`;
    }),
    check(2, "publication", async () => {
      const rows =
        await sql`select tablename from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public'`;
      const published = new Set(rows.map((row) => row.tablename));
      const missing = ["submissions", "votes", "comments", "notifications"].filter((name) => !published.has(name));
      must(
        missing.length === 0,
        `supabase_realtime lacks ${missing.join(", ")}: alter publication supabase_realtime add table public.${missing[0]}`,
      );
      return `${published.size} tables`;
    }),
    check(2, "policies", async () => {
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
    }),
    check(3, "logins", async () => {
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
    }),
    check(4, "connections", async () => {
      const [row] =
        await sql`select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as max,
        (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as used`;
      must(
        row?.max - row?.used >= 8,
        `${row?.used} of ${row?.max} connections are in use: close some, or use a larger compute size`,
      );
      return `${row?.used} of ${row?.max} are in use`;
    }),
    check(7, "schedule", async () => {
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
    }),
    check(8, "dispatcher's call", async () => {
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
    }),
    check(10, "organization", async () => {
      const [row] = await sql`select (select count(*)::integer from public.organizations) as organizations,
        (select count(*)::integer from public.memberships where role = 'owner') as owners,
        (select count(*)::integer from private.api_keys) as keys`;
      must(row?.organizations > 0, "there is none: npm run organization:create");
      must(row?.owners > 0, "none has an owner: npm run organization:create with --owner-email");
      return `${row?.organizations} with ${row?.owners} owners and ${row?.keys} keys`;
    }),
  ];
}

/** Logs in as the functions do: passwords, pooler and TLS. */
function ofLogins(secrets: Record<string, string>): Check[] {
  return ["DATABASE_URL", "WEBHOOK_DATABASE_URL", "MAIL_DATABASE_URL"].flatMap((variable) => {
    const url = secrets[variable];
    if (!url) return [];
    const holds = async () => {
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
    };
    return [check(4, variable, holds)];
  });
}

function ofSite({ SITE_URL }: Record<string, string>): Check[] {
  if (!SITE_URL) return [];
  const holds = async () => {
    const origin = siteOrigin(SITE_URL);
    must(origin, `SITE_URL is ${JSON.stringify(SITE_URL)}: set it to ${siteUrlAdvice}`);
    return `pages at ${origin}`;
  };
  return [check(4, "SITE_URL", holds)];
}

/** Requirements of auth-mail if the Send Email hook is used. */
function ofAuthMail({ AUTH_MAIL_SECRET: secret, MAIL_URL, MAIL_FROM }: Record<string, string>): Check[] {
  if (!secret) return [];
  const holds = async () => {
    const isSecret = secret.split("|").every((one) => /^(v1,)?whsec_[A-Za-z0-9+/]+={0,2}$/.test(one));
    must(isSecret, "AUTH_MAIL_SECRET is not the hook's secret, v1,whsec_…: copy it from Auth Hooks");
    must(MAIL_URL && MAIL_FROM, "auth-mail needs MAIL_URL and MAIL_FROM too");
    return `by ${new URL(MAIL_URL ?? "").host}`;
  };
  return [check(9, "auth mail", holds)];
}

const inTime = (url: string | URL, init?: RequestInit) => fetch(url, { ...init, signal: AbortSignal.timeout(20_000) });

function ofFunctions(api: string | undefined): Check[] {
  const get = async (url: string) => {
    const response = await inTime(url);
    const text = await response.text();
    if (response.status !== 200 && response.status !== 503)
      throw new Error(`${url} returned ${response.status}: deploy the functions`);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  };
  if (!api) return [check(5, "functions", () => Promise.reject(new Error("not checked: pass the API's URL too")))];
  const dispatcher = api.replace(/\/api\/?$/, "/webhook-dispatch");
  return [
    check(4, "secrets", async () => {
      const { unset_variables: unset } = (await get(`${api}/ready`)).body;
      must(Array.isArray(unset), "the functions are older than this check: deploy them");
      must(
        (unset as string[]).length === 0,
        `the functions lack ${(unset as string[]).join(", ")}: npx supabase secrets set`,
      );
      return "the functions have all variables";
    }),
    check(5, "functions", async () => {
      must((await get(`${api}/health`)).status === 200, "api does not respond: see its log");
      must((await get(`${dispatcher}/health`)).status === 200, "webhook-dispatch does not respond: see its log");
      return "api and webhook-dispatch respond";
    }),
    check(6, "ready", async () => {
      const { status, body } = await get(`${api}/ready`);
      must(status === 200, `database ${body.database}, migrations ${body.migrations}: see the log of api`);
      return "database and migrations";
    }),
  ];
}

/** Checks of what auth publishes: its keys and settings, and the variables of the functions that must match them. */
function ofAuth({ api, publishableKey, secrets = {} }: Omit<Project, "databaseUrl">): Check[] {
  if (!api) return [];
  const origin = secrets.SUPABASE_URL ?? new URL(api).origin;
  const { JWT_SECRET, SIGN_IN_PROVIDERS = "", CAPTCHA_PROVIDER, CAPTCHA_SITE_KEY } = secrets;
  const { AUTH_API_KEY, AUTH_ADDRESS_HEADER } = secrets;
  // Without the file of step 4, its variables are unknown.
  const isKnown = Object.keys(secrets).length > 0;
  const ask = async (path: string, apikey = "", body?: string) => {
    const response = await inTime(new URL(`/auth/v1${path}`, origin), {
      method: body ? "POST" : "GET",
      headers: { apikey, "content-type": "application/json" },
      ...(body && { body }),
    });
    must(response.status !== 401, "auth rejects the publishable key: pass that of this project");
    return JSON.parse(await response.text());
  };
  const keys = async () => {
    const published: { alg?: string }[] = (await ask("/.well-known/jwks.json")).keys;
    if (published.length > 0) {
      const hint = JWT_SECRET
        ? "; JWT_SECRET is needed only until the last token of the shared secret has expired"
        : "";
      return published.map(({ alg }) => alg ?? "a key").join(", ") + hint;
    }
    must(
      JWT_SECRET || !isKnown,
      "auth signs with the shared secret (its JWKS is empty), and JWT_SECRET is not set: no session is valid",
    );
    return "the shared secret, JWT_SECRET";
  };
  const settings = async () => {
    const key = publishableKey ?? keyIn(secrets) ?? (await keyOfPages(secrets.SITE_URL ?? origin));
    must(key, "not checked: pass the publishable key too, after the API's URL");
    const { mailer_autoconfirm, disable_signup, external } = await ask("/settings", key);
    must(
      mailer_autoconfirm === false,
      "auth confirms every address unseen (mailer_autoconfirm), so whoever has the link of an invite may accept it: turn on Confirm email",
    );
    const off = SIGN_IN_PROVIDERS.split(",").filter((name) => name && !external[name]);
    must(off.length === 0, `SIGN_IN_PROVIDERS names ${off.join(", ")}, off in auth: enable or remove it`);
    // Without an address auth looks nobody up; it checks the CAPTCHA before.
    const { error_code } = await ask("/token?grant_type=password", key, "{}");
    const hasCaptcha = error_code === "captcha_failed";
    must(
      !hasCaptcha || !isKnown || (CAPTCHA_PROVIDER && CAPTCHA_SITE_KEY) || AUTH_API_KEY,
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
      isKnown &&
        !(AUTH_ADDRESS_HEADER && AUTH_API_KEY) &&
        "AUTH_ADDRESS_HEADER and AUTH_API_KEY are not both set: auth limits all visitors of the pages as one",
    ];
    return told.filter(Boolean).join("; ");
  };
  return [check(4, "signing keys", keys), check(9, "auth settings", settings)];
}

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

/** Lines of NAME=value, as for supabase secrets set. */
export function parseSecrets(text: string): Record<string, string> {
  const lines = [...text.matchAll(/^\s*([A-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(.*?))\s*$/gms)];
  return Object.fromEntries(lines.map(([, name = "", quoted, plain]) => [name, quoted ?? plain ?? ""]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [databaseUrl, api, publishableKey] = process.argv.slice(2);
  if (!databaseUrl) {
    console.error(
      "npm run deploy:check -- <URL of the database, role postgres> [URL of the API, up to /api] [publishable key]",
    );
    process.exit(1);
  }
  const secrets = parseSecrets(await readFile("feedback.env", "utf8").catch(() => ""));
  if (secrets.DATABASE_CA) process.env.DATABASE_CA ??= secrets.DATABASE_CA;
  const findings = await checkDeployment({ databaseUrl, api: api?.replace(/\/+$/, ""), publishableKey, secrets });
  for (const { step, what, ok, result } of findings)
    console.log(`${ok ? "ok  " : "fail"} ${String(step).padStart(2)} ${what}: ${result}`);
  console.log(
    "      9 by hand: auth: SMTP or the Send Email hook, secure email change, and the site's URL (dashboard, Authentication)",
  );
  process.exitCode = findings.every(({ ok }) => ok) ? 0 : 1;
}
