import { resolve } from "node:path";
import { type StackOptions, startStack } from "./stack.ts";
import { messageOf, StartError } from "./start-error.ts";

/** `npm start`: runs everything in the foreground until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  // Measured from the start of this process.
  const seconds = () => (performance.now() / 1000).toFixed(1);
  const dataDir = process.env.DATA_DIR || ".data";
  let lost = (_reason: StartError) => {};
  const stopRequested = new Promise<StartError | undefined>((resolve) => {
    const stop = () => resolve(undefined);
    lost = resolve;
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    whenOrphaned(stop);
  });
  const starting = startStack({
    port: portFrom("PORT", 54321),
    dbPort: portFrom("DB_PORT", 54322),
    dataDir,
    seed: seedFrom(process.env.SEED),
    proxyHeader: process.env.ADDRESS_HEADER,
    ...connectionsFrom(process.env.CONNECTIONS_PER_ADDRESS),
    onProgress: (step) => console.log(`${seconds().padStart(5)} s  starting ${step}`),
    onWarning: (message) => console.error(message),
    onLost: (reason) => lost(reason),
  });
  const early = await Promise.race([starting.then(() => false), stopRequested.then(() => true)]);
  const stack = await starting;
  if (!early) {
    console.log(`${seconds().padStart(5)} s  ready

  Pages      ${stack.site_url}
  API        ${stack.supabase_url}/api      (documentation: ${stack.supabase_url}/api/docs)
  Supabase   ${stack.supabase_url}
  Database   ${stack.db_url.replace(/:[^:@]+@/, ":…@")}
  Keys       ${resolve(dataDir, "stack.json")}
  Mail       ${process.env.MAIL_URL ? `is sent by ${URL.canParse(process.env.MAIL_URL) ? new URL(process.env.MAIL_URL).host : "MAIL_URL"}` : `${stack.supabase_url}/_mail      (none is sent; codes and links are in ${resolve(dataDir, "mail.log")} too)`}
${stack.setupToken ? `  Setup      ${stack.site_url}/setup      (from another machine with this token: ${stack.setupToken})\n` : ""}${stack.demo ? `  Demo       ${Object.values(stack.demo.users).join(", ")}; password ${stack.demo.password}\n` : ""}
Stop with Ctrl-C.`);
  }
  const reason = await stopRequested;
  await stack.stop();
  if (reason) throw reason;
  console.log("stopped");
}

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

function portFrom(variable: string, fallback: number): number {
  const text = process.env[variable];
  if (!text) return fallback;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
    throw new StartError(`${variable} is ${JSON.stringify(text)}: set it to a port from 0 to 65535`);
  return Number(text);
}

/** Behind a proxy all clients share one address. */
function connectionsFrom(text: string | undefined): Pick<StackOptions, "limits" | "realtimeLimits"> {
  if (!text) return {};
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new StartError(
      `CONNECTIONS_PER_ADDRESS is ${JSON.stringify(text)}: set it to a number from 1 to 999999`,
    );
  return {
    limits: { connectionsPerAddress: Number(text) },
    realtimeLimits: { socketsPerAddress: Number(text) },
  };
}

function seedFrom(text: string | undefined): "demo" | "none" {
  if (!text || text === "demo") return "demo";
  if (text === "none") return "none";
  throw new StartError(`SEED is ${JSON.stringify(text)}: set it to demo or none`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const line = error instanceof StartError ? error.message : `unexpected error: ${messageOf(error)}`;
    console.error(`Cannot continue: ${line}`);
    if (!(error instanceof StartError) && error instanceof Error) console.error(error.stack);
    process.exit(1);
  },
);
