import type { Sql } from "../postgres/database.ts";
import type { Functions } from "./process.ts";

export interface FunctionCalls {
  stop(): Promise<void>;
}

/** Replaces pg_net and pg_cron: calls a function when the database requests it, and every few seconds if configured. */
export async function startFunctionCalls(
  sql: Sql,
  called: { functions: Functions; path: string; channel: string; seconds?: number },
  secret: string,
): Promise<FunctionCalls> {
  const { functions, path, channel, seconds } = called;
  let calling = false;
  let callAgain = false;
  const call = async () => {
    callAgain = true;
    if (calling) return;
    calling = true;
    while (callAgain) {
      callAgain = false;
      if (functions.up()) await post(functions.port, path, secret);
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

/** Errors are ignored: the next call follows soon. */
async function post(port: number, path: string, secret: string): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` };
  const signal = AbortSignal.timeout(5_000);
  const call = fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, signal });
  await call.then((response) => response.text()).catch(() => undefined);
}
