import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { withDatabase } from "../local/database.ts";
import { startStack } from "../local/stack.ts";
import type { TestStack } from "./stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    stack: TestStack;
  }
}

/** One seeded stack for all test files, on free ports and in a folder of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), "feedback-tests-"));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  try {
    const stack = await startStack({
      port: 0,
      dbPort: 0,
      dataDir,
      seed: "demo",
      postgresSettings: { fsync: "off", synchronous_commit: "off" },
      // Receivers of tests are on this machine.
      functionsEnvironment: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
      trouble: (message) => console.error(message),
    });
    // Every test comes from one address; a test of rate limits starts a stack of its own.
    await withDatabase(
      stack.db_url,
      (sql) => sql`update private.rate_limit_rules set max_requests = 1000000`,
    );
    await withDatabase(stack.superuserUrl, (sql) => sql`update auth_limits.rules set max_tries = 1000000`);
    const { stop, ...provided } = stack;
    project.provide("stack", provided);
    return async () => {
      await stop();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
