import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withTemporaryFolder } from "../local/folders/temporary-folder.ts";
import { connect, type Sql } from "../local/postgres/database.ts";
import { type Stack, type StackOptions, startStack } from "../local/stack.ts";

/** Runs a measurement with a stack in a temporary folder, then exits. */
export async function onOwnStack(
  measure: (stack: Stack, sql: Sql, folder: string) => Promise<void>,
  {
    connections = 1,
    folder: kept,
    ...options
  }: Pick<StackOptions, "functionsEnvironment" | "postgresSettings"> & {
    connections?: number;
    /** A folder to keep and reuse, for data that takes long to fill. */
    folder?: string | undefined;
  } = {},
): Promise<never> {
  const onDisk = () => mkdtemp(join(tmpdir(), "feedback-bench-"));
  const within = (use: (folder: string) => Promise<void>) => (kept ? use(kept) : withTemporaryFolder(use, onDisk));
  await within(async (folder) => {
    const stack = await startStack({ port: 0, dbPort: 0, dataDir: folder, seed: "none", ...options, onWarning: say });
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
