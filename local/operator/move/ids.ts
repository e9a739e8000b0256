import type { Runner, Sql } from "../../postgres/database.ts";
import { StartError } from "../../processes/start-error.ts";

const most = 50_000_000;

/**
 * Uses up ids of transactions at the target. Events are read in the order of these ids, by us and by clients that keep
 * their place: new events must come after those of the source.
 */
export async function advanceIds(source: Runner, target: Sql): Promise<void> {
  const [there, here] = await Promise.all([source, target].map(nextId));
  const gap = Number(there) - Number(here);
  if (gap > most)
    throw new StartError(
      `the source's transaction ids are ${gap} ahead, more than ${most}: the target cannot catch up; restore a backup of the files instead`,
    );
  await target`set statement_timeout = 0`;
  await target.unsafe(`do $$ begin for i in 1 .. ${gap} loop perform pg_current_xact_id(); rollback; end loop; end $$`);
}

const nextId = async (sql: Runner) => (await sql`select pg_snapshot_xmax(pg_current_snapshot())::text as id`)[0]?.id;
