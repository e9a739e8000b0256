import { join } from "node:path";
import { siteOrigin, siteUrlAdvice } from "../../../shared/site-url.ts";
import { connect, type Sql } from "../../postgres/database.ts";
import { codeOf, messageOf, StartError } from "../../processes/start-error.ts";
import type { Checked } from "./checks.ts";
import { logins, readEnvFile } from "./env-file.ts";
import { type Management, managementOf } from "./management.ts";

/** What a machine cannot know: from the environment, feedback.env, or a question. */
const questions = {
  SUPABASE_PROJECT_ID: { asks: "Project reference, the 20 letters in the project's address" },
  SUPABASE_ACCESS_TOKEN: { asks: "Access token, from supabase.com/dashboard/account/tokens", isSecret: true },
  SUPABASE_DB_PASSWORD: { asks: "Database password of the project", isSecret: true },
  SITE_URL: { asks: "Address of the pages, such as https://feedback.example.org" },
  MAIL_URL: { asks: "Mail provider, such as smtps://user:key@host or https://:key@host (Enter: none)", isSecret: true },
  MAIL_FROM: { asks: "Address that mail comes from, such as feedback@mail.example.org" },
  OWNER_EMAIL: { asks: "Email address of the first organization's owner (Enter: no organization yet)" },
};

type Question = keyof typeof questions;

/** Where a deployment runs. */
export interface Surroundings {
  environment: Record<string, string | undefined>;
  /** The folder of feedback.env and proxy. */
  folder: string;
  say(line: string): void;
  /** Absent without a terminal. */
  ask?: ((question: string, isSecret: boolean) => Promise<string>) | undefined;
  /** How long functions may take to have new secrets, in milliseconds. */
  patience?: number;
}

/** An existing project, with a connection to its database. */
export interface Target extends Checked {
  ref: string;
  /** The address of the project, such as https://<ref>.supabase.co. */
  url: string;
  /** The host by which the functions reach the database. */
  databaseHost: string;
  management: Management;
  token: string;
  /** For the admin of auth. */
  secretKey: string | undefined;
  file: string;
  /** By name, of the project's secrets. */
  deployed: Record<string, string>;
  surroundings: Surroundings;
  answer(question: Question): Promise<string>;
  optional(question: Question): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function openTarget(surroundings: Surroundings): Promise<Target> {
  const { environment, folder, ask } = surroundings;
  const file = join(folder, "feedback.env");
  const { values, deployed } = await readEnvFile(file);
  const answers: Partial<Record<Question, string>> = {};
  const optional = async (name: Question) => {
    const { asks, isSecret = false } = questions[name] as { asks: string; isSecret?: boolean };
    answers[name] ??= ((environment[name] || values[name]) ?? (await ask?.(`${asks}: `, isSecret)))?.trim() ?? "";
    return answers[name] || undefined;
  };
  const answer = async (name: Question) => {
    const text = await optional(name);
    if (text) return text;
    throw new StartError(`${name} is missing: set it (${questions[name].asks})`);
  };

  const ref = await answer("SUPABASE_PROJECT_ID");
  const token = await answer("SUPABASE_ACCESS_TOKEN");
  const management = managementOf(ref, token);
  const { name, region, database } = await management.project();
  for (const name of Object.keys(logins)) {
    const text = values[name];
    if (!text) continue;
    if (!URL.canParse(text)) throw new StartError(`${name} of feedback.env is not a URL: encode its password`);
    const { hostname, host, username } = new URL(text);
    // Direct, or the pooler's user, such as feedback_api.<ref>.
    if (hostname !== hostnameOf(database.host) && !username.endsWith(`.${ref}`))
      throw new StartError(`feedback.env is of another project (${host}): deploy from a folder of its own`);
  }
  const siteUrl = await answer("SITE_URL");
  if (!siteOrigin(siteUrl)) throw new StartError(`SITE_URL is ${JSON.stringify(siteUrl)}: set it to ${siteUrlAdvice}`);
  if (/^http:/i.test(siteUrl))
    throw new StartError(`SITE_URL is ${JSON.stringify(siteUrl)}: use https, since passwords pass through it`);

  if (values.DATABASE_CA) process.env.DATABASE_CA ??= values.DATABASE_CA;
  surroundings.say(`project  ${name} (${ref}) in ${region}, pages at ${siteUrl}`);
  // Without the right to see a secret key, a part of it is shown, with dots.
  const keys = (await management.apiKeys()).filter(({ api_key }) => /^[\w.-]+$/.test(api_key ?? ""));
  const keyOf = (type: string, legacyName: string) =>
    (keys.find((key) => key.type === type) ?? keys.find(({ name }) => name === legacyName))?.api_key ?? undefined;
  const owner = await connectOwner(database.host, await answer("SUPABASE_DB_PASSWORD"), management, surroundings);
  // SUPABASE_URL is of tests, as SUPABASE_API_URL is: a shell may have that of npm start.
  const url = (environment.SUPABASE_API_URL && environment.SUPABASE_URL) || `https://${ref}.supabase.co`;
  return {
    ref,
    url,
    api: `${url}/functions/v1/api`,
    publishableKey: keyOf("publishable", "anon"),
    secretKey: keyOf("secret", "service_role") ?? environment.SUPABASE_SECRET_KEY,
    databaseHost: database.host,
    management,
    token,
    file,
    secrets: values,
    deployed,
    surroundings,
    answer,
    optional,
    ...owner,
  };
}

const hostnameOf = (host: string) => new URL(`postgresql://${host}`).hostname;

/** Codes of a host that this machine cannot reach, such as one of IPv6 only. */
const unreachable =
  /^(ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|ETIMEDOUT|CONNECT_TIMEOUT|EADDRNOTAVAIL)$/;

type Owner = Pick<Target, "sql" | "databaseUrl" | "reach" | "close">;

/** Connects directly, or by the pooler in session mode: the direct host has an IPv6 address only, without an add-on. */
async function connectOwner(
  host: string,
  password: string,
  management: Management,
  { say }: Surroundings,
): Promise<Owner> {
  const direct = await tryOwner(`postgresql://postgres@${host}/postgres`, password, (url) => url);
  if (!(direct instanceof Error)) return direct;
  const pooler = (await management.pooler()).find(({ database_type }) => database_type === "PRIMARY");
  if (!pooler) throw noWay(host, direct);
  const suffix = pooler.db_user.replace(/^postgres/, "");
  const through = await tryOwner(`postgresql://${pooler.db_user}@${pooler.db_host}/postgres`, password, (url) => {
    const rewritten = new URL(url);
    if (rewritten.hostname !== hostnameOf(host)) return url;
    rewritten.username += suffix;
    rewritten.host = pooler.db_host;
    return rewritten.href;
  });
  if (through instanceof Error) throw noWay(`${host} or ${pooler.db_host}`, through);
  say(`this machine does not reach ${host}: connects by the pooler, ${pooler.db_host}`);
  return through;
}

const noWay = (hosts: string, error: Error) =>
  new StartError(
    `this machine does not reach ${hosts} (${messageOf(error)}): allow its address in the project's network restrictions, wait half an hour if wrong passwords were tried, or deploy from another network`,
  );

/** The connection, or an error if nothing answers at the host. */
async function tryOwner(base: string, password: string, reach: (url: string) => string): Promise<Owner | Error> {
  const url = new URL(base);
  url.password = encodeURIComponent(password);
  url.searchParams.set("sslmode", "verify-full");
  const sql: Sql = connect(url.href);
  try {
    await sql`select`;
    return { sql, databaseUrl: url.href, reach, close: () => sql.end({ timeout: 5 }) };
  } catch (error) {
    await sql.end({ timeout: 1 });
    const code = codeOf(error) ?? "";
    if (unreachable.test(code)) return error as Error;
    if (code === "28P01")
      throw new StartError(
        "SUPABASE_DB_PASSWORD is not the password of the database: reset it in the dashboard (Database, Settings)",
      );
    throw new StartError(`${url.hostname} refuses the connection: ${messageOf(error)}`);
  }
}
