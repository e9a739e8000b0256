import { Hono } from "hono";
import { flushAudit } from "./audit.ts";
import { serveDialect } from "./dialect.ts";
import { closeStreams } from "./event-stream.ts";
import { tools } from "./registry.ts";
import { closeStandard, serveStandard } from "./standard.ts";
import { serveStream } from "./streams.ts";
import { serveSubscription } from "./subscriptions.ts";

/** The agent endpoints, mounted at /api/mcp: the JSON-RPC dialect with its streams, and the Model Context Protocol. */
export const mcp = new Hono()
  .get("/health", (c) => c.json({ status: "ok", tools: tools.length }, 200, { "Cache-Control": "no-store" }))
  .post("/tools", serveDialect)
  .get("/stream/:id", serveStream)
  .get("/subscribe/:id", serveSubscription)
  .on(["GET", "POST", "DELETE"], "/", serveStandard);

/** Closes all streams and flushes the audit trail, before the process ends. */
export async function closeAgentStreams(): Promise<void> {
  closeStreams();
  await Promise.all([closeStandard(), flushAudit()]);
}
