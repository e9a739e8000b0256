import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Functions, startFunctions } from "../../local/functions/process.ts";
import { root } from "../../local/postgres/database-server.ts";
import { stack } from "../stack.ts";

export type OwnFunctions = Pick<Functions, "port" | "stop">;

/** An additional process of a function, which uses the database of the shared stack; none of its files stay. */
export async function startOwnFunctions(
  environment: Record<string, string> = {},
  { name = "api", healthPath = "/api/health" } = {},
): Promise<OwnFunctions> {
  const folder = await mkdtemp(join(tmpdir(), "feedback-functions-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  const { port, stop } = await startFunctions({
    root,
    entry: join(root, `functions/${name}/index.ts`),
    healthPath,
    environment: {
      DATABASE_URL: stack.superuserUrl,
      SUPABASE_URL: stack.supabase_url,
      ADDRESS_FROM_SOCKET: "true",
      ...environment,
    },
    logPath: join(folder, "functions.log"),
    onWarning: (message) => console.error(message),
  }).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return {
    port,
    async stop() {
      await stop();
      await remove();
    },
  };
}
