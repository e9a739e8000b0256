import { request } from "node:http";
import type { Sql } from "./database.ts";
import type { Functions } from "./functions.ts";

export interface DispatcherCalls {
  stop(): Promise<void>;
}

/** Stands in for pg_net and pg_cron: calls functions/webhook-dispatch when the database asks for it, and every few seconds. */
export async function startDispatcherCalls(
  sql: Sql,
  dispatcher: Functions,
  secret: string,
  seconds: number,
): Promise<DispatcherCalls> {
  let calling = false;
  let again = false;
  const call = async () => {
    again = true;
    if (calling) return;
    calling = true;
    while (again) {
      again = false;
      if (dispatcher.up()) await post(dispatcher.port, secret);
    }
    calling = false;
  };
  const listening = await sql.listen("webhooks", call, call);
  const timer = setInterval(call, seconds * 1000);
  return {
    async stop() {
      clearInterval(timer);
      await listening.unlisten().catch(() => undefined);
    },
  };
}

/** Whatever comes of it: the next call is not far. */
function post(port: number, secret: string): Promise<void> {
  return new Promise((resolve) => {
    const call = request(
      {
        host: "127.0.0.1",
        port,
        path: "/webhook-dispatch",
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
