import { connect, type Sql } from "../local/database.ts";
import { type Stack, type StackOptions, startStack } from "../local/stack.ts";
import { withTemporaryFolder } from "../local/temporary-database.ts";

/** Measures against a stack of its own, which goes with the folder it is in; then ends this process. */
export async function onOwnStack(
  measure: (stack: Stack, sql: Sql, folder: string) => Promise<void>,
  {
    connections = 1,
    folder: kept,
    ...options
  }: Pick<StackOptions, "functionsEnvironment" | "postgresSettings"> & {
    connections?: number;
    /** Kept and used again, for what takes long to fill. */
    folder?: string | undefined;
  } = {},
): Promise<never> {
  const within = (use: (folder: string) => Promise<void>) => (kept ? use(kept) : withTemporaryFolder(use));
  await within(async (folder) => {
    const stack = await startStack({
      port: 0,
      dbPort: 0,
      dataDir: folder,
      seed: "none",
      ...options,
      trouble: say,
    });
    const sql = connect(stack.db_url, connections);
    try {
      await measure(stack, sql, folder);
    } finally {
      await sql.end({ timeout: 1 });
      await stack.stop();
    }
  });
  process.exit(0);
}

export function say(message: string): void {
  console.error(message);
}
