import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { chmod, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { withTemporaryFolder } from "../../folders/temporary-folder.ts";
import { withDatabase } from "../../postgres/database.ts";
import { defaultMigrations, root } from "../../postgres/database-server.ts";
import { codeOf, messageOf, StartError } from "../../processes/start-error.ts";
import { createApiKey } from "../api-keys.ts";
import { functionNames } from "../bundle.ts";
import { makeOrganization } from "../organizations.ts";
import * as checks from "./checks.ts";
import { changeEnvFile, digestOf, logins } from "./env-file.ts";
import { buildFunctions, deployFunctions } from "./functions.ts";
import { type AuthConfig, isDigestOf } from "./management.ts";
import { pushMigrations } from "./push-migrations.ts";
import { generated, settingsToChange } from "./settings.ts";
import type { Target } from "./target.ts";
import { proxyPlatforms, writeProxy } from "./write-proxy.ts";

/** What a step would change, or a person must do, which has no `apply`. Applied again, a change does no harm. */
export interface Planned {
  says: string;
  apply?(): Promise<void>;
}

/** A step of a deployment: deploy:check inspects, deploy plans, applies and inspects. Without a plan a step is a result of others. */
export interface Step {
  step: number;
  inspect: checks.Check[];
  /** Empty if nothing is left to do. Changes nothing; throws what makes the deployment impossible. */
  plan?(target: Target): Promise<Planned[]>;
}

export const steps: Step[] = [
  { step: 1, inspect: [checks.connection], plan: (target) => checks.connection.holds(target).then(() => []) },
  { step: 2, inspect: [checks.migrations, checks.publication, checks.policies], plan: planMigrations },
  { step: 2, inspect: [checks.dataApi], plan: planDataApi },
  { step: 3, inspect: [], plan: planFile },
  { step: 3, inspect: [checks.logins], plan: planLogins },
  {
    step: 4,
    inspect: [
      checks.connections,
      ...Object.keys(logins).map(checks.signsIn),
      checks.site,
      checks.variables,
      checks.signingKeys,
    ],
    plan: planSecrets,
  },
  { step: 5, inspect: [checks.functions], plan: planFunctions },
  { step: 6, inspect: [checks.ready] },
  { step: 7, inspect: [checks.schedule], plan: planSchedule },
  { step: 8, inspect: [checks.dispatcherCall], plan: planVault },
  { step: 9, inspect: [checks.authMail, checks.authSettings], plan: planAuth },
  { step: 10, inspect: [checks.organization], plan: planOrganization },
  { step: 11, inspect: [], plan: planProxy },
];

async function planMigrations({ sql, databaseUrl, surroundings }: Target): Promise<Planned[]> {
  const names = (await readdir(defaultMigrations)).sort();
  const files = names.flatMap((file) => /^(\d+)_.*\.sql$/.exec(file)?.[1] ?? []);
  const applied = await appliedVersions(sql);
  const unknown = applied.filter((version) => !files.includes(version));
  const foreign = unknown.filter((version) => version < (files.at(-1) ?? ""));
  if (foreign.length > 0)
    throw new StartError(`the project has migrations of something else (${foreign.join(", ")}): use one of its own`);
  if (unknown.length > 0)
    throw new StartError(
      `the database is of a newer release (migration ${unknown.at(-1)}): check out that release or a later one, since a downgrade is not possible`,
    );
  const pending = files.filter((version) => !applied.includes(version));
  if (pending.length === 0) return [];
  const apply = () => pushMigrations(databaseUrl, surroundings.environment);
  return [{ says: `database: apply ${pending.length} migrations, up to ${pending.at(-1)}`, apply }];
}

async function appliedVersions(sql: Target["sql"]): Promise<string[]> {
  const [table] = await sql`select to_regclass('supabase_migrations.schema_migrations') as name`;
  if (!table?.name) return [];
  return (await sql`select version from supabase_migrations.schema_migrations order by 1`).map(
    ({ version }) => version,
  );
}

async function planDataApi(target: Target): Promise<Planned[]> {
  const { sql } = target;
  const isSet = await checks.dataApi.holds(target).then(
    () => true,
    () => false,
  );
  const apply = async () => {
    await sql`alter role authenticator set pgrst.db_pre_request = 'private.before_request'`;
    await sql`notify pgrst, 'reload config'`;
  };
  return isSet ? [] : [{ says: "data API: call private.before_request before each request", apply }];
}

async function planFile(target: Target): Promise<Planned[]> {
  const { file, secrets, management } = target;
  const planned: Planned[] = [];
  const mode = await stat(file).then(
    ({ mode }) => mode,
    () => 0,
  );
  if (mode & 0o077) planned.push({ says: "feedback.env: only its owner may read it", apply: () => chmod(file, 0o600) });
  const values = await settingsToChange(target);
  const names = Object.keys(values);
  const lost = (await management.secrets.list())
    .map(({ name }) => name)
    .filter((name) => names.includes(name) && name in generated);
  if (lost.length > 0)
    throw new StartError(
      `feedback.env lacks ${lost.join(", ")}, which the project has: copy the file from where it was made, or give up what the former values encrypt and sign: npm run deploy -- rotate ${lost.join(" ")}`,
    );
  const apply = async () => {
    await changeEnvFile(file, { values });
    Object.assign(secrets, values);
  };
  if (names.length > 0) planned.push({ says: `feedback.env: write ${names.join(", ")}`, apply });
  return planned;
}

async function planLogins({ sql, secrets, reach, optional }: Target): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const [variable, role] of Object.entries(logins)) {
    const url = secrets[variable];
    if (!url && generated[variable]?.isOfMail && !(await optional("MAIL_URL"))) continue;
    const named = (error: unknown) => {
      throw new StartError(`${variable} of feedback.env: ${messageOf(error)}`);
    };
    if (url && (await signsIn(reach?.(url) ?? url).catch(named))) continue;
    const apply = async () => {
      const password = decodeURIComponent(new URL(secrets[variable] ?? "").password);
      await sql.unsafe(`alter role ${role} password '${verifierOf(password)}'`);
    };
    planned.push({ says: `database: set the password of ${role}`, apply });
  }
  return planned;
}

const signsIn = (url: string) =>
  withDatabase(url, (sql) => sql`select`).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error)?.startsWith("28")) return false;
      throw error;
    },
  );

/** What Postgres stores of a password: in place of it, since hosted projects log statements that change roles. */
function verifierOf(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, 4096, 32, "sha256");
  const sign = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(sign("Client Key")).digest("base64");
  return `SCRAM-SHA-256$4096:${salt.toString("base64")}$${stored}:${sign("Server Key").toString("base64")}`;
}

/** Of feedback.env, but not for the functions, to which Supabase itself gives SUPABASE_…. */
const ofDeployment = /^(SUPABASE_|OWNER_EMAIL$)/;

async function planSecrets(target: Target): Promise<Planned[]> {
  const { management, secrets, deployed } = target;
  const values = { ...secrets, ...(await settingsToChange(target)) };
  const onProject = digestsOf(await management.secrets.list());
  const names = Object.keys(values).filter(
    (name) => !ofDeployment.test(name) && onProject[name] !== digestOf(values[name] ?? ""),
  );
  const changed = names.filter((name) => onProject[name] && onProject[name] !== deployed[name]);
  if (changed.length > 0)
    throw new StartError(
      `${changed.join(", ")} of the project is not that of feedback.env, and was not set by it: write the project's value into feedback.env, or replace it by npm run deploy -- overwrite ${changed.join(" ")}`,
    );
  const apply = async () => {
    await management.secrets.set(Object.fromEntries(names.map((name) => [name, secrets[name] ?? ""])));
    await recordDeployed(target);
  };
  return names.length > 0 ? [{ says: `functions: set ${names.join(", ")}`, apply }] : [];
}

const digestsOf = (listed: { name: string; value: string }[]) =>
  Object.fromEntries(listed.map(({ name, value }) => [name, value]));

/** Notes what the project has of feedback.env; `overwritten` may be otherwise. Returns whether something is new. */
export async function noteDeployed({ management, secrets, deployed }: Target, overwritten: string[] = []) {
  const noted = Object.entries(digestsOf(await management.secrets.list())).filter(
    ([name, digest]) =>
      deployed[name] !== digest && (overwritten.includes(name) || digest === digestOf(secrets[name] ?? "")),
  );
  Object.assign(deployed, Object.fromEntries(noted));
  return noted.length > 0;
}

export async function recordDeployed(target: Target): Promise<void> {
  if (await noteDeployed(target)) await changeEnvFile(target.file, { deployed: target.deployed });
}

/** A secret that names what was deployed: the sources, and the versions that the platform gave the functions. */
const marker = "FEEDBACK_DEPLOYED";

async function planFunctions({ ref, token, management, surroundings }: Target): Promise<Planned[]> {
  const sources = await digestOfSources();
  const current = async () => {
    const versions = (await management.functions())
      .filter(({ slug }) => functionNames.includes(slug))
      .map(({ slug, version }) => `${slug} ${version}`);
    return `${sources} ${versions.sort().join(" ")}`;
  };
  const noted = digestsOf(await management.secrets.list())[marker];
  if (noted === digestOf(await current())) return [];
  const apply = async () => {
    await withTemporaryFolder(async (folder) => {
      await buildFunctions(folder);
      await deployFunctions(folder, ref, token, surroundings.environment);
    });
    await management.secrets.set({ [marker]: await current() });
  };
  return [{ says: `functions: deploy ${functionNames.join(", ")}`, apply }];
}

/** Of all that is bundled: the sources, what bundles them, and the versions of the packages. */
async function digestOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const part of [
    "functions",
    "shared",
    "local/functions/web-assets.ts",
    "local/operator/bundle.ts",
    "package-lock.json",
  ]) {
    const files = part.includes(".")
      ? [part]
      : (await readdir(join(root, part), { recursive: true })).map((file) => join(part, file));
    for (const file of files.filter((path) => !path.endsWith("assets.generated.ts")).sort())
      hash.update(file).update(digestOf((await textOf(join(root, file))) ?? ""));
  }
  return hash.digest("hex");
}

/** Undefined if there is no such file. */
const textOf = (path: string) => readFile(path, "utf8").catch(() => undefined);

async function planSchedule({ sql }: Target): Promise<Planned[]> {
  const [cron] = await sql`select to_regclass('cron.job') is not null as is_created from pg_available_extensions
    where name = 'pg_cron'`;
  if (!cron) return [{ says: "schedule: pg_cron is not available; call private.run_schedule() every 10 seconds" }];
  const jobs = cron.is_created ? await sql`select from cron.job where jobname like 'feedback-%'` : [];
  const apply = async () => {
    const [, block = ""] = /^(do \$\$.*?^\$\$;)/ms.exec(await readFile(upkeep, "utf8")) ?? [];
    await sql.unsafe(block);
  };
  return jobs.length < 3 ? [{ says: "database: create the jobs of pg_cron", apply }] : [];
}

const upkeep = join(root, "supabase", "schemas", "90_upkeep.sql");

async function planVault({ sql, url, secrets }: Target): Promise<Planned[]> {
  const wanted = () => ({
    webhook_dispatch_url: `${url}/functions/v1/webhook-dispatch`,
    webhook_dispatch_secret: secrets.WEBHOOK_DISPATCH_SECRET ?? "",
  });
  const [vault] = await sql`select to_regclass('vault.decrypted_secrets') is not null as is_created`;
  const stored = vault?.is_created ? await sql`select name, decrypted_secret from vault.decrypted_secrets` : [];
  const names = Object.entries(wanted()).flatMap(([name, value]) =>
    stored.some((row) => row.name === name && row.decrypted_secret === value) ? [] : [name],
  );
  const apply = () =>
    sql.begin(async (transaction) => {
      const entries = Object.entries(wanted()).filter(([name]) => names.includes(name));
      for (const [name, value] of entries) {
        await transaction`delete from vault.secrets where name = ${name}`;
        await transaction`select vault.create_secret(${value}, ${name})`;
      }
    });
  return names.length > 0
    ? [{ says: `Vault: store ${names.join(", ")}`, apply: async () => void (await apply()) }]
    : [];
}

const notices = [
  "password_changed",
  "email_changed",
  "phone_changed",
  "identity_linked",
  "identity_unlinked",
  "mfa_factor_enrolled",
  "mfa_factor_unenrolled",
];

async function planAuth(target: Target): Promise<Planned[]> {
  const { ref, url, management, secrets, optional } = target;
  const current = await management.authConfig.get();
  const { SITE_URL = "", AUTH_MAIL_SECRET } = { ...secrets, ...(await settingsToChange(target)) };
  const callback = `${SITE_URL}/auth/callback`;
  // The one of an earlier address is replaced: its host may have another owner now.
  const allowed = (current.uri_allow_list ?? "")
    .split(",")
    .filter(Boolean)
    .map((entry) => (entry === `${current.site_url}/auth/callback` ? callback : entry));
  const wanted: Record<string, string | boolean> = {
    site_url: SITE_URL,
    uri_allow_list: [...new Set([...allowed, callback])].join(","),
    mailer_autoconfirm: false,
    mailer_secure_email_change_enabled: true,
    security_update_password_require_reauthentication: true,
    ...Object.fromEntries(notices.map((notice) => [`mailer_notifications_${notice}_enabled`, true])),
  };
  if (AUTH_MAIL_SECRET)
    Object.assign(wanted, {
      hook_send_email_enabled: true,
      hook_send_email_uri: `${url}/functions/v1/auth-mail`,
      hook_send_email_secrets: AUTH_MAIL_SECRET,
    });
  const has = (name: string, value: string | boolean) => {
    const shown = current[name as keyof AuthConfig];
    return shown === value || (typeof shown === "string" && isDigestOf(shown, `${value}`, ref));
  };
  const changes = Object.entries(wanted).filter(([name, value]) => !has(name, value));
  const names = changes.map(([name]) => name);
  const planned: Planned[] = [];
  const apply = async () => void (await management.authConfig.patch(Object.fromEntries(changes)));
  if (names.length > 0) planned.push({ says: `auth: set ${names.join(", ")}`, apply });
  if (!(await optional("MAIL_URL")))
    planned.push({ says: "auth: set SMTP in the dashboard (Authentication, Emails), or MAIL_URL and MAIL_FROM" });
  return planned;
}

async function planOrganization(target: Target): Promise<Planned[]> {
  const { sql, url, surroundings, secrets } = target;
  const [table] = await sql`select to_regclass('public.organizations') is not null as is_created`;
  if (table?.is_created && (await sql`select from public.organizations limit 1`).length > 0) return [];
  const ownerEmail = await target.optional("OWNER_EMAIL");
  if (!ownerEmail)
    return [{ says: "organization: name the owner of the first one as OWNER_EMAIL, or move one here (docs/move.md)" }];
  if (!/^[^\s@]+@[^\s@]+$/.test(ownerEmail))
    throw new StartError(`OWNER_EMAIL is ${JSON.stringify(ownerEmail)}: use an email address`);
  const slug = slugOf(secrets.SITE_URL ?? (await target.answer("SITE_URL")));
  const name = slug.charAt(0).toUpperCase() + slug.slice(1);
  const apply = async () => {
    // In one transaction: an organization without a key is never left.
    const key = await sql.begin(async (transaction) => {
      const auth = { supabaseUrl: url, secretKey: target.secretKey ?? undefined };
      const id = await makeOrganization(transaction, auth, { name, slug, ownerEmail }, surroundings.say);
      return createApiKey(transaction, id, "backend", ["submissions:read", "submissions:write"]);
    });
    surroundings.say(`key          ${key}  (backend of ${slug}, shown this once)`);
  };
  return [{ says: `organization ${name} (${slug}), owner ${ownerEmail}, and a key`, apply }];
}

/** acme of https://feedback.acme.example. */
function slugOf(site: string): string {
  const labels = new URL(site).hostname.split(".");
  const label = (labels.length > 2 ? labels[1] : labels[0]) ?? "";
  return label.match(/[a-z0-9]+/g)?.join("-") ?? "feedback";
}

/** The pages' proxy, for a person to deploy. */
async function planProxy(target: Target): Promise<Planned[]> {
  const { url, surroundings } = target;
  const { SITE_URL = "", PROXY_SECRET = "" } = { ...target.secrets, ...(await settingsToChange(target)) };
  const named = surroundings.environment.PROXY_PLATFORM || "cloudflare";
  const platform = proxyPlatforms.find((name) => name === named);
  if (!platform) throw new StartError(`PROXY_PLATFORM is ${JSON.stringify(named)}: use ${proxyPlatforms.join(", ")}`);
  const settings = { platform, siteUrl: SITE_URL, functionsUrl: `${url}/functions/v1`, secret: PROXY_SECRET };
  const write = (folder: string) => writeProxy(settings, folder);
  const folder = join(surroundings.folder, "proxy", platform);
  const [isWritten, commands] = await withTemporaryFolder(async (made) => {
    const commands = await write(made);
    return [await isIn(folder, made), commands] as const;
  });
  if (isWritten) return [];
  return [
    { says: `pages: write proxy/${platform}`, apply: async () => void (await write(folder)) },
    { says: `pages: in proxy/${platform}, run ${commands.join("; ")}` },
  ];
}

/** Whether a folder has the files of another. */
async function isIn(folder: string, made: string): Promise<boolean> {
  for (const name of await readdir(made, { recursive: true })) {
    const text = await textOf(join(made, name));
    if (text !== undefined && text !== (await textOf(join(folder, name)))) return false;
  }
  return true;
}
