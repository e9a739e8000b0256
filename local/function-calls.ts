import { request } from "node:http";
import type { Sql } from "./database.ts";
import type { Functions } from "./functions.ts";

export interface FunctionCalls {
  stop(): Promise<void>;
}

/** Stands in for pg_net and pg_cron: calls a function when the database asks for it, and where it says so every few seconds. */
export async function startFunctionCalls(
  sql: Sql,
  called: { functions: Functions; path: string; channel: string; seconds?: number },
  secret: string,
): Promise<FunctionCalls> {
  const { functions, path, channel, seconds } = called;
  let calling = false;
  let again = false;
  const call = async () => {
    again = true;
    if (calling) return;
    calling = true;
    while (again) {
      again = false;
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

/** Whatever comes of it: the next call is not far. */
function post(port: number, path: string, secret: string): Promise<void> {
  return new Promise((resolve) => {
    const call = request(
      {
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-length": 0 },
        timeout: 5_000,
      },
      (response) => {
        response.resume();
        response.on("close", resolve);
      },
    );
    call.on("timeout", () => call.destroy());
    call.on("error", () => resolve());
    call.end();
  });
}
