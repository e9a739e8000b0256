import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { Logger, type Runner, run } from "graphile-worker";

// graphile-worker in a process of its own: one signed HTTP POST for each job, on kept-alive connections.

const [connectionString = "", urls = "[]"] = process.argv.slice(2);
const receivers = JSON.parse(urls) as string[];
const agent = new Agent({ keepAlive: true });
let runner: Runner | undefined;
let next = 0;

process.on("message", async (order) => {
  if (order === "start") {
    runner ??= await run({
      connectionString,
      concurrency: 64,
      maxPoolSize: 12,
      // Jobs in batches, as its documentation recommends for many small jobs.
      preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      noHandleSignals: true,
      // No log line for each job, like the other side.
      logger: new Logger(() => () => undefined),
      taskList: { post: (payload) => post(JSON.stringify(payload)) },
    });
  } else {
    await runner?.stop();
    process.exit(0);
  }
});
process.send?.("ready");

function post(body: string): Promise<void> {
  const url = receivers[next++ % receivers.length] ?? "";
  const signature = createHmac("sha256", "a secret").update(body).digest("hex");
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: "POST",
        agent,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          "x-service-signature": signature,
        },
      },
      (response) => {
        response.resume();
        response.on("end", resolve);
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}
