import { isIP } from "node:net";
import { resolve } from "node:path";
import { siteOrigin, siteUrlAdvice } from "../shared/site-url.ts";
import type { NightlyBackups } from "./operator/nightly-backups.ts";
import { StartError } from "./processes/start-error.ts";
import type { StackOptions } from "./stack.ts";

type Settings = Pick<
  StackOptions,
  "host" | "port" | "dbPort" | "siteUrl" | "seed" | "limits" | "realtimeLimits" | "metrics"
>;

/** What the environment of `npm start` sets. */
export function startSettings(): Settings {
  choiceFrom("LOG_FORMAT", ["text", "json"], "json or text");
  const connections = numberFrom("CONNECTIONS_PER_ADDRESS", 1, 999_999, "a number");
  return {
    // The functions reach the gateway at 127.0.0.1, so no other single address will do.
    host: choiceFrom(
      "HOST",
      ["127.0.0.1", "0.0.0.0", "::"],
      "127.0.0.1, or to 0.0.0.0 or :: for all addresses of this machine",
    ),
    port: portFrom("PORT") ?? 54321,
    dbPort: portFrom("DB_PORT") ?? 54322,
    seed: choiceFrom("SEED", ["demo", "none"], "demo or none"),
    ...siteFrom(process.env.SITE_URL),
    ...metricsFrom(process.env.METRICS_HOST),
    // Behind a proxy all clients share one address.
    ...(connections && {
      limits: { connectionsPerAddress: connections },
      realtimeLimits: { socketsPerAddress: connections },
    }),
  };
}

/** The nightly backups, if BACKUP_DIR names a folder for them. */
export function backupSettings(dataDir: string): NightlyBackups | undefined {
  const { BACKUP_DIR } = process.env;
  if (!BACKUP_DIR) return undefined;
  const folder = resolve(BACKUP_DIR);
  // Otherwise a restore would have to keep them apart.
  if (`${folder}/`.startsWith(`${resolve(dataDir)}/`))
    throw new StartError(`BACKUP_DIR is in the data folder ${resolve(dataDir)}: set it to a folder elsewhere`);
  return { dataDir, folder, keep: numberFrom("BACKUP_KEEP", 1, 9999, "a number of backups") ?? 14 };
}

function numberFrom(variable: string, least: number, most: number, what: string): number | undefined {
  const text = process.env[variable];
  if (!text) return undefined;
  if (/^\d{1,6}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new StartError(`${variable} is ${JSON.stringify(text)}: set it to ${what} from ${least} to ${most}`);
}

const portFrom = (variable: string) => numberFrom(variable, 0, 65_535, "a port");

/** The first choice is the default. */
function choiceFrom<Choice extends string>(variable: string, choices: Choice[], advice: string): Choice {
  const text = process.env[variable] || choices[0];
  const choice = choices.find((known) => known === text);
  if (choice) return choice;
  throw new StartError(`${variable} is ${JSON.stringify(text)}: set it to ${advice}`);
}

function siteFrom(text: string | undefined): Pick<StackOptions, "siteUrl"> {
  if (!text) return {};
  const siteUrl = siteOrigin(text);
  if (!siteUrl) throw new StartError(`SITE_URL is ${JSON.stringify(text)}: set it to ${siteUrlAdvice}`);
  return { siteUrl };
}

function metricsFrom(host: string | undefined): Pick<StackOptions, "metrics"> {
  const port = portFrom("METRICS_PORT");
  if (port === undefined) return {};
  if (host && !isIP(host))
    throw new StartError(`METRICS_HOST is ${JSON.stringify(host)}: set it to an IP address of this machine`);
  return { metrics: { port, ...(host && { host }) } };
}
