import { resolve } from "node:path";
import { startStack } from "./stack.ts";
import { messageOf, StartError } from "./start-error.ts";

/** `npm start`: everything up, in the foreground, until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  // Counted from the start of this process.
  const seconds = () => (performance.now() / 1000).toFixed(1);
  const dataDir = process.env.DATA_DIR || ".data";
  const stopRequested = new Promise<undefined>((resolve) => {
    const stop = () => resolve(undefined);
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
    progress: (step) => console.log(`${seconds().padStart(5)} s  starting ${step}`),
    trouble: (message) => console.error(message),
  });
  const early = await Promise.race([starting.then(() => false), stopRequested.then(() => true)]);
  const stack = await starting;
  if (!early) {
    console.log(`${seconds().padStart(5)} s  ready

  API        ${stack.supabase_url}/api      (documentation: ${stack.supabase_url}/api/docs)
  Supabase   ${stack.supabase_url}
  Database   ${stack.db_url.replace(/:[^:@]+@/, ":…@")}
  Keys       ${resolve(dataDir, "stack.json")}
  Mail       ${resolve(dataDir, "mail.log")}      (none is sent: codes and links are written there)
${stack.demo ? `  Demo       ${Object.values(stack.demo.users).join(", ")}; password ${stack.demo.password}\n` : ""}
Stop with Ctrl-C.`);
  }
  await stopRequested;
  await stack.stop();
  console.log("stopped");
}

/** npm may be killed without a word to us; nobody could then stop what runs on. */
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

function portFrom(variable: string, otherwise: number): number {
  const text = process.env[variable];
  if (!text) return otherwise;
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
    throw new StartError(`${variable} is ${JSON.stringify(text)}: set it to a port from 0 to 65535`);
  return Number(text);
}

function seedFrom(text: string | undefined): "demo" | "none" {
  if (!text || text === "demo") return "demo";
  if (text === "none") return "none";
  throw new StartError(`SEED is ${JSON.stringify(text)}: set it to demo or none`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const line = error instanceof StartError ? error.message : `unforeseen: ${messageOf(error)}`;
    console.error(`Cannot go on: ${line}`);
    if (!(error instanceof StartError) && error instanceof Error) console.error(error.stack);
    process.exit(1);
  },
);
