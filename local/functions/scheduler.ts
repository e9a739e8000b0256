import type { Sql } from "../postgres/database.ts";

export interface Scheduler {
  stop(): Promise<void>;
}

/** Replaces pg_cron: calls private.run_schedule() every few seconds, never concurrently. */
export function startScheduler(sql: Sql, seconds: number, onWarning: (message: string) => void): Scheduler {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  const runDue = async () => {
    try {
      await sql`select private.run_schedule()`;
    } catch (error) {
      if (!stopped) onWarning(`the schedule failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (!stopped) plan();
  };
  const plan = () => {
    timer = setTimeout(() => {
      running = runDue();
    }, seconds * 1000);
  };
  plan();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
