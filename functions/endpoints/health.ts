import { Hono } from "hono";
import { newestMigration } from "../../shared/newest-migration.ts";
import { version } from "../../shared/version.ts";
import { lacksSecret } from "../_shared/callers/auth-keys.ts";
import { latestMigration } from "../_shared/database/run.ts";
import { environment } from "../_shared/runtime/environment.ts";

/** /health: the process responds. /ready: the database responds too and has every migration the functions need. */
export const health = new Hono()
  .get("/health", (c) => c.json({ status: "ok", version }, 200, { "Cache-Control": "no-store" }))
  .get("/ready", async (c) => {
    const applied = await latestMigration();
    const database = applied === undefined ? "unreachable" : "ok";
    const migrations = applied !== undefined && applied >= newestMigration ? "current" : "behind";
    const ready = database === "ok" && migrations === "current";
    const status = ready ? "ready" : "unavailable";
    const needsSecret = await lacksSecret().catch(() => false);
    const unset_variables = [...environment.unset, ...(needsSecret ? ["JWT_SECRET"] : [])];
    return c.json({ status, database, migrations, unset_variables }, ready ? 200 : 503, {
      "Cache-Control": "no-store",
    });
  });
