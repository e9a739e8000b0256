import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { newestMigration } from "../shared/newest-migration.ts";
import { type Sql, withDatabase } from "./database.ts";
import { messageOf } from "./start-error.ts";

/** One of the steps of docs/deploy.md. `holds` throws what is wrong and what to do. */
interface Check {
  step: number;
  what: string;
  /** What was found. */
  holds(): Promise<string>;
}

export interface Finding {
  step: number;
  what: string;
  ok: boolean;
  says: string;
}

/** The project that is looked at; api: the address of the function, up to /api. secrets: those of step 4, where known. */
export interface Project {
  databaseUrl: string;
  api?: string | undefined;
  secrets?: Record<string, string>;
}

/** What of docs/deploy.md holds for a project; changes nothing. */
export async function checkDeployment({ databaseUrl, api, secrets = {} }: Project): Promise<Finding[]> {
  const ofTheDatabase = await withDatabase(databaseUrl, (sql) => checkDatabase(sql, databaseUrl));
  const others = await look([...ofLogins(secrets), ...ofFunctions(api)]);
  return [...ofTheDatabase, ...others].sort((a, b) => a.step - b.step);
}

/** The part that SQL can see. */
export const checkDatabase = (sql: Sql, url: string) => look(ofDatabase(sql, url));

async function look(checks: Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { step, what, holds } of checks) {
    const found = await holds().then(
      (says) => ({ ok: true, says }),
      (error: unknown) => ({ ok: false, says: messageOf(error) }),
    );
    findings.push({ step, what, ...found });
    // Without the database nothing else of it can be said.
    if (step === 1 && !found.ok) break;
  }
  return findings;
}

const must = (holds: unknown, otherwise: string) => {
  if (!holds) throw new Error(otherwise);
};

function ofDatabase(sql: Sql, url: string): Check[] {
  return [
    {
      step: 1,
      what: "database",
      async holds() {
        const [row] =
          await sql`select current_setting('server_version_num')::integer / 10000 as version, current_user as role,
          (select rolbypassrls and rolcreaterole from pg_roles where rolname = current_user) as is_owner`;
        must([15, 17].includes(row?.version), `Postgres ${row?.version}: use 15 or 17`);
        must(row?.is_owner, `this is role ${row?.role}: give the URL of role postgres`);
        const mode = new URL(url).searchParams.get("sslmode") ?? "no sslmode";
        return `Postgres ${row?.version}, ${mode}`;
      },
    },
    {
      step: 2,
      what: "migrations",
      async holds() {
        const [table] = await sql`select to_regclass('supabase_migrations.schema_migrations') as name`;
        const [row] = table?.name
          ? await sql`select max(version) as version from supabase_migrations.schema_migrations`
          : [];
        must(
          row?.version >= newestMigration,
          `${row?.version ?? "none"} applied, ${newestMigration} needed: npx supabase db push`,
        );
        return `${row?.version}`;
      },
    },
    {
      step: 2,
      what: "publication",
      async holds() {
        const rows =
          await sql`select tablename from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public'`;
        const published = new Set(rows.map((row) => row.tablename));
        const missing = ["submissions", "votes", "comments", "notifications"].filter(
          (name) => !published.has(name),
        );
        must(
          missing.length === 0,
          `supabase_realtime lacks ${missing.join(", ")}: alter publication supabase_realtime add table public.${missing[0]}`,
        );
        return `${published.size} tables`;
      },
    },
    {
      step: 2,
      what: "policies",
      async holds() {
        const open =
          await sql`select relname from pg_class where relnamespace in ('public'::regnamespace, 'private'::regnamespace)
          and relkind in ('r', 'p') and not relrowsecurity and relnamespace = 'public'::regnamespace`;
        must(
          open.length === 0,
          `row-level security is off on ${open.map((row) => row.relname).join(", ")}: alter table … enable row level security`,
        );
        const [topic] =
          await sql`select from pg_policies where schemaname = 'realtime' and tablename = 'messages'`;
        must(
          topic,
          "realtime.messages has no policy: nobody can join private topics; apply the migration again",
        );
        return "row-level security on every table, topics have a policy";
      },
    },
    {
      step: 3,
      what: "logins",
      async holds() {
        const rows =
          await sql`select rolname, rolpassword is not null as has_password, rolcanlogin, rolbypassrls from pg_authid
          where rolname in ('feedback_api', 'feedback_webhooks')`.catch(
            async () =>
              // Where pg_authid is not ours to read, step 4 tries the passwords.
              sql`select rolname, true as has_password, rolcanlogin, rolbypassrls from pg_roles where rolname in ('feedback_api', 'feedback_webhooks')`,
          );
        for (const name of ["feedback_api", "feedback_webhooks"]) {
          const role = rows.find((row) => row.rolname === name);
          must(role?.rolcanlogin, `there is no login ${name}: apply the migration`);
          must(role?.has_password, `${name} has no password: alter role ${name} password '…'`);
          must(!role?.rolbypassrls, `${name} bypasses row-level security: alter role ${name} nobypassrls`);
        }
        return "feedback_api and feedback_webhooks have passwords";
      },
    },
    {
      step: 4,
      what: "connections",
      async holds() {
        const [row] =
          await sql`select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as most,
          (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as used`;
        must(
          row?.most - row?.used >= 8,
          `${row?.used} of ${row?.most} connections are taken: end some, or take a larger compute`,
        );
        return `${row?.used} of ${row?.most} are taken`;
      },
    },
    {
      step: 7,
      what: "schedule",
      async holds() {
        const [extension] = await sql`select extversion from pg_extension where extname = 'pg_cron'`;
        must(
          extension,
          "pg_cron is not created: enable it (dashboard, Database, Extensions) and run the do block of supabase/schemas/90_upkeep.sql",
        );
        const jobs =
          await sql`select jobname, schedule, active from cron.job where jobname like 'feedback-%'`;
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
      },
    },
    {
      step: 8,
      what: "dispatcher's call",
      async holds() {
        const created =
          await sql`select extname from pg_extension where extname in ('pg_net', 'supabase_vault')`;
        for (const name of ["pg_net", "supabase_vault"])
          must(
            created.find((row) => row.extname === name),
            `${name} is not created: enable it (dashboard, Database, Extensions)`,
          );
        const names = ["webhook_dispatch_url", "webhook_dispatch_secret"];
        const kept = await sql`select name from vault.decrypted_secrets where name = any (${names})`;
        const missing = names.find((name) => !kept.some((row) => row.name === name));
        must(!missing, `the Vault has no ${missing}: select vault.create_secret('…', '${missing}')`);
        return "pg_net and the Vault know address and password";
      },
    },
    {
      step: 10,
      what: "organization",
      async holds() {
        const [row] = await sql`select (select count(*)::integer from public.organizations) as organizations,
          (select count(*)::integer from public.memberships where role = 'owner') as owners,
          (select count(*)::integer from private.api_keys) as keys`;
        must(row?.organizations > 0, "there is none: npm run organization:create");
        must(row?.owners > 0, "none has an owner: npm run organization:create with --owner-email");
        return `${row?.organizations} with ${row?.owners} owners and ${row?.keys} keys`;
      },
    },
  ];
}

/** The functions' own logins, from here: their passwords, the pooler where the URL names it, and TLS. */
function ofLogins(secrets: Record<string, string>): Check[] {
  return ["DATABASE_URL", "WEBHOOK_DATABASE_URL"].flatMap((variable) => {
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
        `this is role ${row?.role}: use feedback_api and feedback_webhooks`,
      );
      return `${row?.role} signs in at ${hostname}:${port || 5432}`;
    };
    return [{ step: 4, what: variable, holds }];
  });
}

function ofFunctions(api: string | undefined): Check[] {
  const ask = async (url: string) => {
    const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
    const text = await response.text();
    if (response.status !== 200 && response.status !== 503)
      throw new Error(`${url} answers ${response.status}: deploy the functions`);
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  };
  if (!api)
    return [
      {
        step: 5,
        what: "functions",
        holds: async () => Promise.reject(new Error("not looked at: give the API's address too")),
      },
    ];
  const dispatcher = api.replace(/\/api\/?$/, "/webhook-dispatch");
  return [
    {
      step: 4,
      what: "secrets",
      async holds() {
        const { unset_variables: unset } = (await ask(`${api}/ready`)).body;
        must(Array.isArray(unset), "the functions are older than this check: deploy them");
        must(
          (unset as string[]).length === 0,
          `the functions miss ${(unset as string[]).join(", ")}: npx supabase secrets set`,
        );
        return "the functions miss none";
      },
    },
    {
      step: 5,
      what: "functions",
      async holds() {
        must((await ask(`${api}/health`)).status === 200, "api does not answer: its log says why");
        must(
          (await ask(`${dispatcher}/health`)).status === 200,
          "webhook-dispatch does not answer: its log says why",
        );
        return "api and webhook-dispatch answer";
      },
    },
    {
      step: 6,
      what: "ready",
      async holds() {
        const { status, body } = await ask(`${api}/ready`);
        must(
          status === 200,
          `database ${body.database}, migrations ${body.migrations}: the log of api says why`,
        );
        return "database and migrations";
      },
    },
  ];
}

/** Lines of NAME=value, as supabase secrets set reads them. */
export function parseSecrets(text: string): Record<string, string> {
  const lines = [...text.matchAll(/^\s*([A-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(.*?))\s*$/gms)];
  return Object.fromEntries(lines.map(([, name = "", quoted, plain]) => [name, quoted ?? plain ?? ""]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [databaseUrl, api] = process.argv.slice(2);
  if (!databaseUrl) {
    console.error(
      "npm run deploy:check -- <URL of the database, role postgres> [address of the API, up to /api]",
    );
    process.exit(1);
  }
  const secrets = parseSecrets(await readFile("feedback.env", "utf8").catch(() => ""));
  if (secrets.DATABASE_CA) process.env.DATABASE_CA ??= secrets.DATABASE_CA;
  const findings = await checkDeployment({ databaseUrl, api: api?.replace(/\/+$/, ""), secrets });
  for (const { step, what, ok, says } of findings)
    console.log(`${ok ? "ok  " : "fail"} ${String(step).padStart(2)} ${what}: ${says}`);
  console.log(
    "      9 by hand: auth settings: confirm addresses, SMTP and the site's URL (dashboard, Authentication)",
  );
  process.exitCode = findings.every(({ ok }) => ok) ? 0 : 1;
}
