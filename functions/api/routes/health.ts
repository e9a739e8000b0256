import { Hono } from "hono";
import { newestMigration } from "../../../shared/newest-migration.ts";
import { version } from "../../../shared/version.ts";
import { latestMigration } from "../../_shared/database.ts";
import { environment } from "../../_shared/environment.ts";

let canVerify = Boolean(environment.jwtSecret || environment.jwks);

/** An auth that signs with the shared secret publishes no keys: without JWT_SECRET all its tokens are invalid. */
async function unsetVariables(): Promise<string[]> {
  if (canVerify) return environment.unset;
  const url = new URL("/auth/v1/.well-known/jwks.json", environment.supabaseUrl);
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  const published = await answer?.json().catch(() => undefined);
  canVerify = published?.keys?.length > 0;
  return published?.keys?.length === 0 ? [...environment.unset, "JWT_SECRET"] : environment.unset;
}

/** /health: the process responds. /ready: the database responds too and has every migration the functions need. */
export const health = new Hono()
  .get("/health", (c) => c.json({ status: "ok", version }, 200, { "Cache-Control": "no-store" }))
  .get("/ready", async (c) => {
    const [applied, unset_variables] = await Promise.all([latestMigration(), unsetVariables()]);
    const database = applied === undefined ? "unreachable" : "ok";
    const migrations = applied !== undefined && applied >= newestMigration ? "current" : "behind";
    const ready = database === "ok" && migrations === "current";
    const status = ready ? "ready" : "unavailable";
    return c.json({ status, database, migrations, unset_variables }, ready ? 200 : 503, {
      "Cache-Control": "no-store",
    });
  });
