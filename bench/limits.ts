import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFunctions } from "../local/functions/process.ts";
import type { Sql } from "../local/postgres/database.ts";
import { root } from "../local/postgres/database-server.ts";
import type { Stack } from "../local/stack.ts";
import { newApiKey, orgKeyPrefix } from "../shared/api-keys.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, type Board, loadBoard, signIn } from "./board.ts";
import { startGenerator } from "./generator.ts";
import { compare, type Measurement, summarize, table } from "./report.ts";
import type { RequestName } from "./requests.ts";
import { onOwnStack, say } from "./stack.ts";

// Cost of authentication and rate limits: the API against the same statement without them, for anonymous, few and many
// distinct users and keys.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    callers: { type: "string", default: "1,1000,100000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("limits") },
  },
});
const settings = {
  submissions: 2_000,
  seconds: Number(flags.seconds),
  rounds: Number(flags.rounds),
  connections: 16,
  database_connections: 8,
};
const crowds = flags.callers.split(",").map(Number);

await onOwnStack(bench, {
  functionsEnvironment: { DATABASE_CONNECTIONS: String(settings.database_connections) },
});

async function bench(stack: Stack, sql: Sql, folder: string): Promise<void> {
  const board = await loadBoard(sql, stack, settings.submissions);
  const most = Math.max(...crowds);
  const people = await signIn(stack, await addUsers(sql, "many", most));
  const keys = await addKeys(sql, board.organizationId, most);
  // All callers have called before, so each has a counter.
  await sql`
    insert into private.rate_counters (rule, subject, started_at, used)
    select 'level_user', p.id::text, now(), 1 from public.profiles p where p.kind = 'user'
    union all select 'level_key', k.id::text, now(), 1 from private.api_keys k`;
  await sql`vacuum (analyze) private.rate_counters`;
  await sql`vacuum (analyze) private.api_keys`;
  await sql`vacuum (analyze) public.profiles`;
  say(`${most} people and as many keys made`);
  const floor = await startFunctions({
    root,
    entry: join(root, "bench", "floor.ts"),
    environment: {
      DATABASE_URL: stack.db_url,
      DATABASE_CONNECTIONS: String(settings.database_connections),
      ORGANIZATION_ID: board.organizationId,
    },
    logPath: join(folder, "floor.log"),
    onWarning: say,
  });
  const origins = { api: stack.base_url, floor: `http://127.0.0.1:${floor.port}` };
  const measurements: Measurement[] = [];
  try {
    measurements.push(await measure("nobody", "detail, expanded", board, origins));
    for (const count of crowds) {
      for (const [kind, callers] of Object.entries({ people, keys })) {
        const crowd = { ...board, callers: callers.slice(0, count) };
        measurements.push(await measure(`${count} ${kind}`, "detail, by a caller", crowd, origins));
      }
    }
  } finally {
    await floor.stop();
  }
  const results = measurements.map(summarize);
  console.log(table(results));
  await writeResults(flags.name, sql, settings, { results });
}

/** Each kind and number of callers has its own load generator with their credentials. */
async function measure(
  name: string,
  request: RequestName,
  board: Board,
  origins: { api: string; floor: string },
): Promise<Measurement> {
  const generator = startGenerator(board);
  const run = (side: keyof typeof origins, seconds: number) =>
    generator.measure({ origin: origins[side], name: request, connections: settings.connections, seconds });
  try {
    const measured = await compare({ name, aim: null }, settings, run);
    say(`${name} measured`);
    return measured;
  } finally {
    generator.stop();
  }
}

/** Keys with one profile each, in the form of private.create_api_key. */
async function addKeys(sql: Sql, organizationId: string, count: number): Promise<Board["callers"]> {
  const keys = Array.from({ length: count }, () => newApiKey(orgKeyPrefix));
  const batch = 5_000;
  for (let from = 0; from < count; from += batch) {
    const digests = keys.slice(from, from + batch).map(({ digest }) => Buffer.from(digest).toString("hex"));
    await sql`
      with made as (
        select gen_random_uuid() as profile_id, digest from unnest(${digests}::text[]) digest
      ), profiles as (
        insert into public.profiles (id, kind, organization_id, name)
        select profile_id, 'key', ${organizationId}, 'Bench' from made
      )
      insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four)
      select ${organizationId}, profile_id, 'Bench', '{submissions:read}', decode(digest, 'hex'), ${orgKeyPrefix}, right(digest, 4) from made`;
  }
  return keys.map(({ secret }) => ({ id: "", token: secret }));
}
