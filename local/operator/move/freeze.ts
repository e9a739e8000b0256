import { setTimeout as sleep } from "node:timers/promises";
import type { Runner, Sql } from "../../postgres/database.ts";
import { StartError } from "../../processes/start-error.ts";
import { stamped, type Table } from "./tables.ts";

const pauseMs = 100;
/** Longer than the claim of a mail, which is two minutes. */
const maxDrainMs = 150_000;

/**
 * Locks the tables against writes until the transaction ends, also by a crash of this process, after deliveries and
 * mails under way have ended. Statements that wait for a lock are canceled, so that writes fail at once and reads go on;
 * PostgREST answers 503 only if its connection ends.
 */
export async function freeze(source: Runner, observer: Sql, tables: Table[], signal: AbortSignal): Promise<void> {
  const [own] = await source`select pg_backend_pid() as pid`;
  const refusing = async () => {
    for (; !signal.aborted; await sleep(pauseMs))
      await observer`
        select case when r.rolname in ('authenticator', 'embedded_rest') then pg_terminate_backend(a.pid)
          else pg_cancel_backend(a.pid) end from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
        where a.wait_event_type = 'Lock' and not r.rolsuper and ${own?.pid} = any (pg_blocking_pids(a.pid))`;
  };
  refusing().catch(() => undefined);
  // No new events, while those under way are delivered and recorded.
  await source`lock table private.outbox in share mode`;
  for (let waited = 0; await isSending(source); waited += pauseMs) {
    if (waited > maxDrainMs) throw busy;
    await sleep(pauseMs);
  }
  const names = tables.map(({ name }) => name).filter((name) => name !== stamped.table);
  await source.unsafe(`lock table ${names.join(", ")} in share mode`);
  if (await isSending(source)) throw busy;
}

const isSending = async (sql: Runner) =>
  (
    await sql`select from private.webhook_deliveries where status = 'sending' and next_attempt_at > clock_timestamp()
      union all select from private.mails where status = 'sending' and next_attempt_at > clock_timestamp()`
  ).length > 0;

const busy = new StartError(
  "webhooks or mails are being sent without a pause: wait until fewer are due, and run the command again",
);

/** Leaves the source read-only when the transaction commits, by triggers that reopen() drops. */
export async function close(source: Runner, tables: Table[]): Promise<void> {
  await source.unsafe(`
    create function private.refuse_moved() returns trigger language plpgsql set search_path = pg_temp as $$
    begin
      raise exception 'This installation was moved and is read-only. The operator can open it: npm run move -- --reopen'
        using errcode = 'read_only_sql_transaction';
    end $$;
    revoke execute on function private.refuse_moved() from public, anon, authenticated, service_role`);
  for (const { name, columns } of tables) {
    const others = columns.filter((column) => column !== stamped.column);
    await source.unsafe(`create trigger refuse_moved
      before insert or delete or truncate or update ${name === stamped.table ? `of ${others.join(", ")}` : ""} on ${name}
      for each statement execute function private.refuse_moved()`);
  }
}

/** Waits for a move that is about to end. */
export const reopen = (source: Sql) =>
  source.unsafe(`begin; lock table private.outbox in row exclusive mode;
    drop function if exists private.refuse_moved() cascade; commit`);

export async function isClosed(sql: Runner): Promise<boolean> {
  const [row] = await sql`select to_regprocedure('private.refuse_moved()') is not null as closed`;
  return row?.closed;
}
