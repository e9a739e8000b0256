import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startStack } from "../../local/stack.ts";
import { processesOf, temporaryFolder } from "./launcher.ts";

test("functions that die are started again, at the same address", async () => {
  const troubles: string[] = [];
  const dataDir = await temporaryFolder();
  const stack = await startStack({
    port: 0,
    dbPort: 0,
    dataDir,
    seed: "none",
    trouble: (message) => troubles.push(message),
  });
  try {
    process.kill(await listener(new URL(stack.base_url).port), "SIGKILL");
    let down = 0;
    for (let tries = 0; tries < 400; tries++) {
      const { status } = await fetch(`${stack.supabase_url}/api/health`);
      if (status === 503) down++;
      else if (down > 0 && status === 200) break;
      await sleep(25);
    }
    expect(down).toBeGreaterThan(0);
    expect((await fetch(`${stack.base_url}/api/health`)).status).toBe(200);
    expect(troubles).toEqual([expect.stringContaining("the functions ended (code 137) and start again")]);
  } finally {
    await stack.stop();
  }
  expect(await processesOf(dataDir)).toEqual([]);
});

/** The Deno process of this port: its environment is not for others to read, its command line names no port. */
async function listener(port: string): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="]);
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/));
  const keepers = rows.filter(
    ([, parent, ...words]) =>
      Number(parent) === process.pid && words.join(" ").includes("functions/api/index.ts"),
  );
  const child = rows.find(
    ([, parent, program]) => keepers.some(([pid]) => pid === parent) && program?.endsWith("/deno"),
  );
  if (child === undefined) throw new Error(`no Deno for port ${port}`);
  return Number(child[0]);
}
