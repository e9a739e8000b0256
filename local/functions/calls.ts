import type { Sql } from "../postgres/database.ts";
import type { Functions } from "./process.ts";

export interface FunctionCalls {
  stop(): Promise<void>;
}

/** Replaces pg_net and pg_cron: calls a function when the database requests it, and every few seconds if configured. */
export async function startFunctionCalls(
  sql: Sql,
  called: {
    functions: Functions;
    path: string;
    channel: string;
    seconds?: number;
    onOutcomes(outcomes: Record<string, number>): void;
  },
  secret: string,
): Promise<FunctionCalls> {
  const { functions, path, channel, seconds, onOutcomes } = called;
  let calling = false;
  let callAgain = false;
  const call = async () => {
    callAgain = true;
    if (calling) return;
    calling = true;
    while (callAgain) {
      callAgain = false;
      if (!functions.up()) continue;
      const outcomes = await post(functions.port, path, secret);
      if (outcomes) onOutcomes(outcomes);
    }
    calling = false;
  };
  const listening = await sql.listen(channel, call, call);
  const timer = seconds && setInterval(call, seconds * 1000);
  return {
    async stop() {
      if (timer) clearInterval(timer);
      await listening.unlisten().catch(() => undefined);
    },
  };
}

/** Returns the outcomes that a dispatcher has counted. Errors are ignored: the next call follows soon. */
async function post(port: number, path: string, secret: string): Promise<Record<string, number> | undefined> {
  const headers = { authorization: `Bearer ${secret}` };
  const signal = AbortSignal.timeout(5_000);
  const call = fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, signal });
  const answer = await call.then((response) => response.json()).catch(() => undefined);
  return answer?.data?.outcomes;
}
