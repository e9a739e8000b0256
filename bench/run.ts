import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFunctions } from "../local/functions/process.ts";
import type { Sql } from "../local/postgres/database.ts";
import { root } from "../local/postgres/database-server.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { type Board, loadBoard } from "./board.ts";
import { startGenerator } from "./generator.ts";
import type { Measured } from "./load.ts";
import { compare, type Measurement, summarize, table } from "./report.ts";
import type { RequestName } from "./requests.ts";
import { onOwnStack, say } from "./stack.ts";

/**
 * `npm run bench`: starts a stack with a board and compares the API with two floors in alternating rounds.
 */
const plan: {
  name: string;
  request: RequestName;
  aim: number | null;
  gateway?: boolean;
  /** Compares with this request of the API at the gateway, in place of the floors. */
  beside?: RequestName;
}[] = [
  { name: "list, newest", request: "list, newest", aim: 0.6 },
  { name: "list, most voted", request: "list, most voted", aim: 0.6 },
  { name: "list, by an organization's key", request: "list, by an organization's key", aim: 0.5 },
  { name: "list at the gateway", request: "list, newest", aim: null, gateway: true },
  {
    name: "list by the data API, beside the API",
    request: "list, by the data API",
    aim: null,
    gateway: true,
    beside: "list, newest",
  },
  { name: "detail, expanded", request: "detail, expanded", aim: 0.45 },
  { name: "search", request: "search", aim: 0.6 },
  { name: "vote", request: "vote", aim: 0.6 },
  { name: "comment", request: "comment", aim: 0.6 },
  // Measures only the load generator and HTTP.
  { name: "health, for the generator", request: "health", aim: null },
];

const { values: flags } = parseArgs({
  options: {
    submissions: { type: "string", default: process.env.SUBMISSIONS ?? "10000" },
    seconds: { type: "string", default: process.env.SECONDS ?? "4" },
    rounds: { type: "string", default: process.env.ROUNDS ?? "3" },
    /** Runs only measurements with this prefix. */
    only: { type: "string", default: process.env.ONLY ?? "" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: process.env.NAME ?? localName() },
  },
});
const settings = {
  submissions: positive("submissions"),
  seconds: positive("seconds"),
  rounds: positive("rounds"),
  connections: 16,
  database_connections: 8,
};

function positive(name: "submissions" | "seconds" | "rounds"): number {
  const value = Number(flags[name]);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name} is ${JSON.stringify(flags[name])}: it must be a whole number above zero`);
  return value;
}

const chosen = plan.filter(({ name }) => name.startsWith(flags.only));
if (chosen.length === 0)
  throw new Error(`--only is ${JSON.stringify(flags.only)}: choose of ${plan.map(({ name }) => name).join("; ")}`);

const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
});

await onOwnStack((stack, sql, folder) => Promise.race([bench(stack, sql, folder), interrupted]), {
  functionsEnvironment: { DATABASE_CONNECTIONS: String(settings.database_connections) },
});

async function bench(stack: Stack, sql: Sql, folder: string): Promise<void> {
  const startedAt = Date.now();
  const board = await loadBoard(sql, stack, settings.submissions);
  say(`${settings.submissions} submissions loaded in ${Math.round((Date.now() - startedAt) / 1000)} s`);
  const measurements = await measure(stack, board, folder);
  const results = measurements.map(summarize);
  console.log(table(results));
  await writeResults(flags.name, sql, settings, { results });
}

async function measure(stack: Stack, board: Board, folder: string): Promise<Measurement[]> {
  const start = (entry: string, databaseUrl: string) =>
    startFunctions({
      root,
      entry: join(root, "bench", `${entry}.ts`),
      environment: {
        DATABASE_URL: databaseUrl,
        DATABASE_CONNECTIONS: String(settings.database_connections),
        ORGANIZATION_ID: board.organizationId,
      },
      logPath: join(folder, `${entry}.log`),
      onWarning: say,
    });
  const [floor, bare] = await Promise.all([start("floor", stack.db_url), start("bare-floor", stack.superuserUrl)]);
  const generator = startGenerator(board);
  const measured: Measurement[] = [];
  try {
    for (const { name, request, aim, gateway, beside } of chosen) {
      const origins = {
        api: gateway ? stack.supabase_url : stack.base_url,
        floor: beside ? stack.supabase_url : `http://127.0.0.1:${floor.port}`,
        bare: `http://127.0.0.1:${bare.port}`,
      };
      const run = (side: keyof typeof origins, seconds: number): Promise<Measured> =>
        generator.measure({
          origin: origins[side],
          name: beside && side === "floor" ? beside : request,
          connections: settings.connections,
          seconds,
        });
      const rounds = await compare({ name, aim }, settings, run, beside ? ["api", "floor"] : ["api", "floor", "bare"]);
      say(
        `${name}: ${rounds.api.map(({ requestsPerSecond }) => Math.round(requestsPerSecond)).join(", ")} req/s of ${rounds.floor.map(({ requestsPerSecond }) => Math.round(requestsPerSecond)).join(", ")}, bare ${rounds.bare.map(({ requestsPerSecond }) => Math.round(requestsPerSecond)).join(", ")}`,
      );
      measured.push(rounds);
    }
  } finally {
    generator.stop();
    await Promise.all([floor.stop(), bare.stop()]);
  }
  return measured;
}
