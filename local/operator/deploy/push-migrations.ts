import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../../postgres/database-server.ts";
import { StartError } from "../../processes/start-error.ts";

/** Applies the pending migrations by the Supabase CLI, each in a transaction. Other users of the machine see no password. */
export async function pushMigrations(databaseUrl: string, environment: Record<string, string | undefined>) {
  const url = new URL(databaseUrl);
  const PGPASSWORD = decodeURIComponent(url.password);
  Object.assign(url, { password: "", search: "" });
  const env = { ...environment, PGPASSWORD, PGSSLMODE: "verify-full", DO_NOT_TRACK: "1", NO_COLOR: "1" };
  await promisify(execFile)(
    join(root, "node_modules", ".bin", "supabase"),
    ["db", "push", "--yes", `--remote=${url.href}`, `--workdir=${root}`],
    { env, cwd: root, maxBuffer: 32 * 1024 * 1024 },
  ).catch((error: Error & { stderr?: string }) => {
    const lines = (error.stderr || error.message).split("\n").map((line) => line.trim());
    const cause = lines.find((line) => /^(ERROR|failed|.*SQLSTATE)/i.test(line)) ?? lines.filter(Boolean).at(-1);
    throw new StartError(
      `a migration was not applied and is rolled back (${cause?.replaceAll(PGPASSWORD, "…")}): run npm run deploy again, which continues from there`,
    );
  });
}
