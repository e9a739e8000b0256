import { Hono, type MiddlewareHandler } from "hono";
import { flushAudit } from "./audit.ts";
import { serveDialect } from "./dialect.ts";
import { closeStreams } from "./event-stream.ts";
import { tools } from "./registry.ts";
import { closeStandard, serveStandard } from "./standard.ts";
import { refuseMethod } from "./stream-responses.ts";
import { serveStream } from "./streams.ts";
import { serveSubscription } from "./subscriptions.ts";

/** A HEAD request, which the router handles like GET, must open no stream and run no call. */
const onlyGet: MiddlewareHandler = async (c, next) =>
  c.req.method === "HEAD" ? c.body(null, 405, { Allow: "GET" }) : await next();

/** The agent endpoints, mounted at /api/mcp: the JSON-RPC dialect with its streams, and the Model Context Protocol. */
export const mcp = new Hono()
  .get("/health", (c) => c.json({ status: "ok", tools: tools.length }, 200, { "Cache-Control": "no-store" }))
  .post("/tools", serveDialect)
  .get("/stream/:id", onlyGet, serveStream)
  .get("/subscribe/:id", onlyGet, serveSubscription)
  .on(["GET", "POST", "DELETE"], "/", serveStandard)
  // The methods above are routes of their own in docs/security.md; every other one is a 405.
  .all("/", serveStandard)
  .all("/tools", refuseMethod("/mcp/tools", "POST"))
  .all("/stream/:id", refuseMethod("/mcp/stream/:id", "GET"))
  .all("/subscribe/:id", refuseMethod("/mcp/subscribe/:id", "GET"));

/** Closes all streams and flushes the audit trail, before the process ends. */
export async function closeAgentStreams(): Promise<void> {
  closeStreams();
  await Promise.all([closeStandard(), flushAudit()]);
}
