import { execFile } from "node:child_process";
import { open, readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Writable } from "node:stream";
import { promisify } from "node:util";
import type { Secrets } from "../folders/data-folder.ts";
import { appendingTo } from "../functions/process.ts";
import { tokenIssuer } from "../lite/auth-config.ts";
import type { AuthProcess } from "../lite/supervisor.ts";
import { type Sql, withDatabase } from "../postgres/database.ts";
import { choosePort } from "../processes/ports.ts";
import type { Listener } from "../processes/program.ts";
import { fieldsOf, messageIn, runnable, startProgram } from "../processes/program.ts";
import { messageOf, StartError } from "../processes/start-error.ts";
import { sharedKey } from "./identity.ts";

/** A program of Supabase Auth, which runs in place of the library. */
export interface AuthProgram {
  path: string;
  /** Folder of its migrations. */
  migrations: string;
}

interface Settings {
  program: AuthProgram;
  /** Database URL of its login. */
  databaseUrl: string;
  /** The stack's data folder. */
  folder: string;
}

export interface AuthProgramOptions extends Settings {
  secrets: Pick<Secrets, "jwt_secret" | "signing_key">;
  /** URL of the gateway on this machine, and its public one, which is that of the pages. */
  gatewayUrl: string;
  siteUrl: string;
  /** Header with the client address from the gateway; its name is secret, so that clients cannot set it. */
  addressHeader: string;
  /** Of the Send Email hook: whsec_… */
  mailSecret: string;
  /** Replaces the file of its errors. */
  log?: Writable | undefined;
  maxSilenceMs?: number | undefined;
  onWarning(message: string): void;
}

const maxMigrationMs = 300_000;

/** Its login owns the tables of schema auth, as on hosted Supabase, and has no rights elsewhere. */
export const authLogin = "supabase_auth_admin";

/** The program that SUPABASE_AUTH names, with SUPABASE_AUTH_MIGRATIONS or the folder beside it; null for the library. */
export async function findAuthProgram(
  named = process.env.SUPABASE_AUTH,
  folder = process.env.SUPABASE_AUTH_MIGRATIONS,
): Promise<AuthProgram | null> {
  if (!named) return null;
  const path = await runnable("SUPABASE_AUTH", named);
  const migrations = resolve(folder || join(dirname(path), "migrations"));
  if ((await versionsIn(migrations)).length === 0)
    throw new StartError(
      `${migrations} has no migrations of Supabase Auth: set SUPABASE_AUTH_MIGRATIONS to their folder`,
    );
  return { path, migrations };
}

async function versionsIn(migrations: string): Promise<string[]> {
  const names = await readdir(migrations).catch(() => []);
  return names.flatMap((name) => /^(\d+)_.*\.sql$/.exec(name)?.[1] ?? []);
}

/** Whether the program would upgrade the tables of an existing database; rejects one that a newer program has upgraded. */
export async function needsAuthUpgrade({ path, migrations }: AuthProgram, sql: Sql): Promise<boolean> {
  const known = await versionsIn(migrations);
  const applied = (await sql`select version from auth.schema_migrations`).map(({ version }) => String(version));
  const newer = applied.find((version) => !known.includes(version));
  if (newer !== undefined)
    throw new StartError(
      `the data folder is of a newer Supabase Auth (migration ${newer}) than ${path}: set SUPABASE_AUTH to that version, or set DATA_DIR to another folder`,
    );
  return known.some((version) => !applied.includes(version));
}

/** Applies the program's migrations, as its login. */
export async function migrateAuth(settings: Settings): Promise<void> {
  const { path } = settings.program;
  const env = {
    ...ofDatabase(settings),
    // It requires these of every command.
    GOTRUE_JWT_SECRET: "a migration of the tables needs none",
    GOTRUE_SITE_URL: "http://127.0.0.1",
    API_EXTERNAL_URL: "http://127.0.0.1",
  };
  await promisify(execFile)(path, ["migrate"], { cwd: settings.folder, env, timeout: maxMigrationMs }).catch(
    (error: Error & { stderr?: string }) => {
      const reason = messageIn(error.stderr?.trim().split("\n").at(-1) || messageOf(error));
      throw new StartError(`${path} did not migrate the tables of auth: ${reason}`);
    },
  );
  const applied = await withDatabase(settings.databaseUrl, (sql) => sql`select from auth.schema_migrations`).catch(
    () => [],
  );
  if (applied.length === 0)
    throw new StartError(`${path} is not Supabase Auth: set SUPABASE_AUTH to its program, or unset it`);
}

/**
 * Runs the program for the gateway, and restarts it when it exits or hangs. Of its log only errors are kept, since it
 * names people and their addresses.
 */
export async function startAuthProgram(options: AuthProgramOptions): Promise<AuthProcess> {
  const log = options.log ?? appendingTo(await open(join(options.folder, "auth.log"), "a", 0o600));
  const running = await startProgram({
    name: "auth",
    command: [options.program.path, "serve"],
    // Not the launcher's folder: it reads a file .env where it runs.
    cwd: options.folder,
    nextListener: async () => ({ host: "127.0.0.1", port: await choosePort(0, "PORT") }),
    environment: (listener) => authEnvironment(options, listener),
    healthPath: "/health",
    hanging: "it did not respond",
    maxSilenceMs: options.maxSilenceMs,
    onLine: (line) => {
      const { level, time, method, path, status, error, msg } = fieldsOf(line) ?? {};
      if (/^(?:error|fatal|panic)$/.test(String(level)))
        log.write(`${JSON.stringify({ time, level, method, path, status, error, msg })}\n`);
    },
    onWarning: options.onWarning,
  }).catch((error: unknown) => {
    log.end();
    throw error;
  });
  return {
    port: () => portOf(running.listener()),
    async stop() {
      await running.stop();
      log.end();
    },
  };
}

const portOf = (listener: Listener | null) => (listener && "port" in listener ? listener.port : null);

/** Variables of the operator: what auth offers, and how it reaches providers. */
const inherited =
  /^(?:GOTRUE_(?:EXTERNAL|MAILER|MFA|PASSWORD|RATE_LIMIT|SAML|SECURITY|SESSIONS|SMS)_.*|GOTRUE_(?:DISABLE_SIGNUP|SMTP_MAX_FREQUENCY)|SSL_CERT_FILE|SSL_CERT_DIR|HTTPS?_PROXY|NO_PROXY)$/;

const notices =
  "PASSWORD_CHANGED EMAIL_CHANGED PHONE_CHANGED IDENTITY_LINKED IDENTITY_UNLINKED MFA_FACTOR_ENROLLED MFA_FACTOR_UNENROLLED";

/** Settings that an operator may change by a variable of the same name. */
const defaults: Record<string, string> = {
  GOTRUE_MAILER_AUTOCONFIRM: "false",
  GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED: "true",
  GOTRUE_MAILER_OTP_EXP: "3600",
  ...Object.fromEntries(notices.split(" ").map((name) => [`GOTRUE_MAILER_NOTIFICATIONS_${name}_ENABLED`, "true"])),
  GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: "true",
  GOTRUE_MFA_TOTP_ENROLL_ENABLED: "true",
  GOTRUE_MFA_TOTP_VERIFY_ENABLED: "true",
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: "false",
  // Of the whole project in an hour: 30 by default, which one visitor could use up.
  GOTRUE_RATE_LIMIT_EMAIL_SENT: "1000",
};

/** The program's whole environment: nothing is inherited but settings of auth. */
export function authEnvironment(
  options: AuthProgramOptions,
  listener: Listener,
  variables = process.env,
): Record<string, string> {
  const { secrets, gatewayUrl, siteUrl, addressHeader, mailSecret } = options;
  const callback = `${siteUrl}/auth/callback`;
  const allowed = [callback, `${callback}?**`, variables.GOTRUE_URI_ALLOW_LIST].filter(Boolean);
  const signingKey = { ...secrets.signing_key, key_ops: ["sign", "verify"] };
  const shared = { ...sharedKey(secrets.jwt_secret), kid: "shared", key_ops: ["verify"] };
  const operators = Object.entries(variables).filter(([name]) => inherited.test(name));
  return {
    ...defaults,
    ...(Object.fromEntries(operators) as Record<string, string>),
    ...ofDatabase(options),
    GOTRUE_API_HOST: "127.0.0.1",
    PORT: String(portOf(listener)),
    API_EXTERNAL_URL: `${siteUrl}/auth/v1`,
    GOTRUE_SITE_URL: siteUrl,
    GOTRUE_URI_ALLOW_LIST: allowed.join(","),
    GOTRUE_JWT_ISSUER: tokenIssuer,
    GOTRUE_JWT_AUD: "authenticated",
    GOTRUE_JWT_DEFAULT_GROUP_NAME: "authenticated",
    GOTRUE_JWT_ADMIN_ROLES: "service_role",
    GOTRUE_JWT_SECRET: secrets.jwt_secret,
    GOTRUE_JWT_KEYS: JSON.stringify([signingKey, shared]),
    GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: "true",
    GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: "10",
    GOTRUE_RATE_LIMIT_HEADER: addressHeader,
    // A header that clients can set.
    GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED: "false",
    // It would have the addresses of erased people.
    GOTRUE_AUDIT_LOG_DISABLE_POSTGRES: "true",
    GOTRUE_HOOK_SEND_EMAIL_ENABLED: "true",
    GOTRUE_HOOK_SEND_EMAIL_URI: `${gatewayUrl}/functions/v1/auth-mail`,
    GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,${mailSecret.replace(/^v1,/, "")}`,
  };
}

const ofDatabase = ({ program, databaseUrl }: Settings): Record<string, string> => ({
  GOTRUE_DB_DRIVER: "postgres",
  DB_NAMESPACE: "auth",
  DATABASE_URL: `${databaseUrl}?sslmode=disable`,
  // Own connections, so that the data API cannot block sign-in.
  GOTRUE_DB_MAX_POOL_SIZE: "8",
  // For programs that do not contain their migrations.
  GOTRUE_DB_MIGRATIONS_PATH: program.migrations,
});
