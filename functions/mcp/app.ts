import { Hono, type MiddlewareHandler } from "hono";
import { ApiError, wrongMethod } from "../_shared/http/api-error.ts";
import { noTransform } from "../_shared/http/compression.ts";
import { flushAudit } from "./audit.ts";
import { serveDialect } from "./dialect.ts";
import { closeStreams } from "./event-stream.ts";
import { tools } from "./registry.ts";
import { closeStandard, serveStandard } from "./standard.ts";
import { refusing } from "./stream-responses.ts";
import { serveStream } from "./streams.ts";
import { serveSubscription } from "./subscriptions.ts";

/** A HEAD request, which the router handles like GET, must open no stream and run no call. */
const onlyGet: MiddlewareHandler = async (c, next) =>
  c.req.method === "HEAD" ? c.body(null, 405, { Allow: "GET" }) : await next();

const addresses =
  "There is nothing at this address: the Model Context Protocol is at /api/mcp, and plain JSON-RPC at /api/mcp/tools.";

/** The agent endpoints, mounted at /api/mcp: the JSON-RPC dialect with its streams, and the Model Context Protocol. */
export const mcp = new Hono()
  .use(async (c, next) => {
    await next();
    c.header("Cache-Control", noTransform(c.res.headers.get("Cache-Control") ?? undefined));
  })
  .get("/health", (c) => c.json({ status: "ok", tools: tools.length }, 200, { "Cache-Control": "no-store" }))
  .post("/tools", serveDialect)
  .get("/stream/:id", onlyGet, serveStream)
  .get("/subscribe/:id", onlyGet, serveSubscription)
  .on(["GET", "POST", "DELETE"], "/", serveStandard)
  // The methods above are routes of their own in docs/security.md; every other one is a 405.
  .all("/", serveStandard)
  .all("/health", refusing("/mcp/health", wrongMethod(["GET", "HEAD"])))
  .all("/tools", refusing("/mcp/tools", wrongMethod(["POST"])))
  .all("/stream/:id", refusing("/mcp/stream/:id", wrongMethod(["GET"])))
  .all("/subscribe/:id", refusing("/mcp/subscribe/:id", wrongMethod(["GET"])))
  .all("*", refusing("/mcp/*", new ApiError("NOT_FOUND", addresses)));

/** Closes all streams and flushes the audit trail, before the process ends. */
export async function closeAgentStreams(): Promise<void> {
  closeStreams();
  await Promise.all([closeStandard(), flushAudit()]);
}
