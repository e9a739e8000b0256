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
  checkLogFormat(process.env.LOG_FORMAT);
  return {
    host: hostFrom(process.env.HOST),
    port: portFrom("PORT", 54321),
    dbPort: portFrom("DB_PORT", 54322),
    seed: seedFrom(process.env.SEED),
    ...siteFrom(process.env.SITE_URL),
    ...metricsFrom(process.env.METRICS_PORT, process.env.METRICS_HOST),
    ...connectionsFrom(process.env.CONNECTIONS_PER_ADDRESS),
  };
}

/** The nightly backups, if BACKUP_DIR names a folder for them. */
export function backupSettings(dataDir: string): NightlyBackups | undefined {
  const { BACKUP_DIR, BACKUP_KEEP } = process.env;
  if (!BACKUP_DIR) return undefined;
  const folder = resolve(BACKUP_DIR);
  // Otherwise a restore would have to keep them apart.
  if (`${folder}/`.startsWith(`${resolve(dataDir)}/`))
    throw new StartError(`BACKUP_DIR is in the data folder ${resolve(dataDir)}: set it to a folder elsewhere`);
  if (BACKUP_KEEP && !/^[1-9]\d{0,3}$/.test(BACKUP_KEEP))
    throw new StartError(`BACKUP_KEEP is ${JSON.stringify(BACKUP_KEEP)}: set it to a number of backups from 1 to 9999`);
  return { dataDir, folder, keep: Number(BACKUP_KEEP || 14) };
}

function portFrom(variable: string, fallback: number): number {
  const text = process.env[variable];
  if (!text) return fallback;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
    throw new StartError(`${variable} is ${JSON.stringify(text)}: set it to a port from 0 to 65535`);
  return Number(text);
}

/** The functions reach the gateway at 127.0.0.1, so no other single address will do. */
function hostFrom(text: string | undefined): string {
  if (!text || ["127.0.0.1", "0.0.0.0", "::"].includes(text)) return text || "127.0.0.1";
  throw new StartError(
    `HOST is ${JSON.stringify(text)}: set it to 127.0.0.1, or to 0.0.0.0 or :: for all addresses of this machine`,
  );
}

function siteFrom(text: string | undefined): Pick<StackOptions, "siteUrl"> {
  if (!text) return {};
  const siteUrl = siteOrigin(text);
  if (!siteUrl) throw new StartError(`SITE_URL is ${JSON.stringify(text)}: set it to ${siteUrlAdvice}`);
  return { siteUrl };
}

function metricsFrom(port: string | undefined, host: string | undefined): Pick<StackOptions, "metrics"> {
  if (!port) return {};
  if (host && !isIP(host))
    throw new StartError(`METRICS_HOST is ${JSON.stringify(host)}: set it to an IP address of this machine`);
  return { metrics: { port: portFrom("METRICS_PORT", 0), ...(host && { host }) } };
}

/** Behind a proxy all clients share one address. */
function connectionsFrom(text: string | undefined): Pick<StackOptions, "limits" | "realtimeLimits"> {
  if (!text) return {};
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new StartError(`CONNECTIONS_PER_ADDRESS is ${JSON.stringify(text)}: set it to a number from 1 to 999999`);
  return { limits: { connectionsPerAddress: Number(text) }, realtimeLimits: { socketsPerAddress: Number(text) } };
}

/** json: every log is a line of JSON on standard output. */
function checkLogFormat(text: string | undefined): void {
  if (text && text !== "text" && text !== "json")
    throw new StartError(`LOG_FORMAT is ${JSON.stringify(text)}: set it to json or text`);
}

function seedFrom(text: string | undefined): "demo" | "none" {
  if (!text || text === "demo") return "demo";
  if (text === "none") return "none";
  throw new StartError(`SEED is ${JSON.stringify(text)}: set it to demo or none`);
}
