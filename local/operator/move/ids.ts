import type { Runner, Sql } from "../../postgres/database.ts";
import { StartError } from "../../processes/start-error.ts";

const most = 50_000_000;
const atOnce = 100_000;

/**
 * Uses up ids of transactions at the target. Events are read in the order of these ids, by us and by clients that keep
 * their place: new events must come after those of the source.
 */
export async function advanceIds(source: Runner, target: Sql, log: (line: string) => void): Promise<void> {
  const gap = await gapOf(source, target);
  if (gap > most)
    throw new StartError(
      `the source's transaction ids are ${gap} ahead, more than ${most}: the target cannot catch up; restore a backup of the files instead`,
    );
  if (gap > atOnce) log(`transaction ids: the target catches up ${gap}`);
  for (let left = gap; left > 0; left -= atOnce)
    await target.unsafe(`begin; set local statement_timeout = 0; ${use(Math.min(left, atOnce))}; rollback`);
}

/** Those that the source used meanwhile, in the transaction. */
export async function advanceLast(source: Runner, target: Runner): Promise<void> {
  const gap = await gapOf(source, target);
  if (gap > 0) await target.unsafe(use(gap));
}

async function gapOf(source: Runner, target: Runner): Promise<number> {
  const next = async (sql: Runner) => (await sql`select pg_snapshot_xmax(pg_current_snapshot())::text as id`)[0]?.id;
  return Number((await next(source)) - (await next(target)));
}

/** Each block with a handler that writes is a subtransaction with an id. */
const use = (count: number) => `do $$ begin
  for i in 1 .. ${count} loop
    begin
      perform pg_logical_emit_message(true, 'move', '');
    exception when sqlstate '02000' then null;
    end;
  end loop;
end $$`;
