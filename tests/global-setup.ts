import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { makeTemporaryFolder } from "../local/folders/temporary-folder.ts";
import { withDatabase } from "../local/postgres/database.ts";
import { startStack } from "../local/stack.ts";
import { unpackChromium } from "./browsers/browser.ts";
import { copyTemplate, makeTemplate, unsynced } from "./data-template.ts";
import type { TestStack } from "./stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    stack: TestStack;
    /** A data folder with our migrations, to be copied: tests/data-template.ts. */
    template: string;
  }
}

/** One seeded stack for all test files, on free ports and in a folder of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await unpackChromium();
  const folder = await makeTemporaryFolder("tests");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const template = join(folder, "template");
    const dataDir = join(folder, "data");
    await makeTemplate(template);
    await copyTemplate(template, dataDir, "demo");
    project.provide("template", template);
    const stack = await startStack({
      port: 0,
      dbPort: 0,
      dataDir,
      seed: "demo",
      postgresSettings: { ...unsynced, synchronous_commit: "off" },
      // On a busy machine, auth and the data API can be slow without any fault.
      limits: { slowWorkMs: Number.MAX_SAFE_INTEGER },
      maxSilenceMs: 60_000,
      // Receivers of tests are on this machine.
      functionsEnvironment: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
      onWarning: (message) => console.error(message),
    });
    // Every test comes from one address; a test of rate limits starts a stack of its own.
    await withDatabase(stack.db_url, (sql) => sql`update private.rate_limit_rules set max_requests = 1000000`);
    await withDatabase(stack.superuserUrl, async (sql) => {
      await sql`update auth_limits.rules set max_tries = 1000000`;
      // On a busy machine, concurrent writers of one row wait longer for each other. The setting applies to new
      // connections only.
      await sql`alter role feedback_api set lock_timeout = '3s'`;
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'feedback_api'`;
    });
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
