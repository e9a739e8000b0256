import { Hono } from "hono";
import { flushAudit } from "./audit.ts";
import { serveDialect } from "./dialect.ts";
import { closeStreams } from "./event-stream.ts";
import { tools } from "./registry.ts";
import { closeStandard, serveStandard } from "./standard.ts";
import { serveStream } from "./streams.ts";
import { serveSubscription } from "./subscriptions.ts";

/** What agents call: the dialect of JSON-RPC with its streams, and the Model Context Protocol. Mounted at /api/mcp. */
export const mcp = new Hono()
  .get("/health", (c) => c.json({ status: "ok", tools: tools.length }, 200, { "Cache-Control": "no-store" }))
  .post("/tools", serveDialect)
  .get("/stream/:id", serveStream)
  .get("/subscribe/:id", serveSubscription)
  .on(["GET", "POST", "DELETE"], "/", serveStandard);

/** Ends every open stream and waits for the audit trail, before the process ends. */
export async function closeAgentStreams(): Promise<void> {
  closeStreams();
  await Promise.all([closeStandard(), flushAudit()]);
}
