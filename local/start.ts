import { resolve } from "node:path";
import { findAuthProgram } from "./auth/program.ts";
import { startNightlyBackups } from "./operator/nightly-backups.ts";
import { type Component, flushLines, jsonLines, type Level, onceAMinute, writeLine } from "./processes/logs.ts";
import { codeOf, messageOf, StartError } from "./processes/start-error.ts";
import { type Stack, startStack } from "./stack.ts";
import { backupSettings, startSettings } from "./start-settings.ts";

const isJson = process.env.LOG_FORMAT === "json";

/** `npm start`: runs everything in the foreground until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  // Measured from the start of this process.
  const seconds = () => (performance.now() / 1000).toFixed(1);
  const timed = (message: string) => (isJson ? message : `${seconds().padStart(5)} s  ${message}`);
  const dataDir = process.env.DATA_DIR || ".data";
  let lost = (_reason: StartError) => {};
  const stopRequested = new Promise<StartError | undefined>((resolve) => {
    const stop = () => resolve(undefined);
    lost = resolve;
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    whenOrphaned(stop);
  });
  const backups = backupSettings(dataDir);
  const settings = { ...startSettings(), authProgram: await findAuthProgram() };
  const stackStarted = startStack({
    ...settings,
    dataDir,
    proxyHeader: process.env.ADDRESS_HEADER,
    onProgress: (step) => say(timed(`starting ${step}`)),
    onWarning: onceAMinute((message, component) => say(message, "warning", component)),
    openLog: isJson ? jsonLines : undefined,
    onLost: (reason) => lost(reason),
  });
  const early = await Promise.race([stackStarted.then(() => false), stopRequested.then(() => true)]);
  const stack = await stackStarted;
  if (!early) {
    say(timed("ready"), "info", "launcher", { seconds: Number(seconds()), ...addressesOf(stack) });
    if (!isJson)
      console.log(`
  Pages      ${stack.site_url}
  API        ${stack.site_url}/api      (documentation: ${stack.site_url}/api/docs)
  Supabase   ${stack.site_url}
  Database   ${stack.db_url.replace(/:[^:@]+@/, ":…@")}
  Keys       ${resolve(dataDir, "stack.json")}
  Mail       ${process.env.MAIL_URL ? `is sent by ${URL.canParse(process.env.MAIL_URL) ? new URL(process.env.MAIL_URL).host : "MAIL_URL"}` : `${stack.mails_url}      (none is sent${settings.authProgram ? "" : `; codes and links are in ${resolve(dataDir, "mail.log")} too`})`}
${stack.metricsUrl ? `  Metrics    ${stack.metricsUrl}\n` : ""}${stack.setupToken ? `  Setup      ${stack.site_url}/setup?token=${stack.setupToken}\n` : ""}${stack.demo ? `  Demo       ${Object.values(stack.demo.users).join(", ")}; password ${stack.demo.password}\n` : ""}
Stop with Ctrl-C.`);
  }
  const stopBackups = backups && !early ? startNightlyBackups(backups, say) : undefined;
  const reason = await stopRequested;
  stopBackups?.();
  await stack.stop();
  if (reason) throw reason;
  say("stopped");
}

/** A line for programs, or for people, who do not need the fields. */
function say(message: string, level: Level = "info", component: Component = "launcher", fields?: object): void {
  if (isJson) writeLine(component, level, message, fields);
  else console[level === "info" ? "log" : "error"](message);
}

/** The token of the setup is shown here only. */
const addressesOf = ({ site_url, setupToken, metricsUrl }: Stack) => ({
  pages: site_url,
  api: `${site_url}/api`,
  ...(metricsUrl && { metrics: metricsUrl }),
  ...(setupToken && { setup: `${site_url}/setup?token=${setupToken}` }),
});

/** npm may be killed without forwarding a signal; stop then too. */
function whenOrphaned(stop: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, 250);
  timer.unref();
}

// postgres.js reads types on each new connection; nobody can catch the error if the server ends meanwhile. Such a
// connection is opened again.
process.on("unhandledRejection", (error) => {
  if (!/^(?:CONNECTION_|ECONN|EPIPE)/.test(codeOf(error) ?? "")) throw error;
});
process.on("uncaughtException", fail);
main().then(() => exit(0), fail);

function fail(error: unknown): Promise<never> {
  const line = error instanceof StartError ? error.message : `unexpected error: ${messageOf(error)}`;
  const { stack } = error instanceof Error && !(error instanceof StartError) ? error : {};
  say(`Cannot continue: ${line}`, "fatal", "launcher", { stack });
  if (stack && !isJson) console.error(stack);
  return exit(1);
}

async function exit(code: number): Promise<never> {
  await flushLines();
  process.exit(code);
}
