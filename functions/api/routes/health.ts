import { Hono } from "hono";
import { isReady } from "../../_shared/database.ts";

export const health = new Hono()
  .get("/health", (c) => c.json({ status: "ok" }))
  .get("/ready", async (c) => {
    const ready = await isReady().catch(() => false);
    return c.json({ status: ready ? "ready" : "unavailable" }, ready ? 200 : 503);
  });
