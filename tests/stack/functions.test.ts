import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startStack } from "../../local/stack.ts";
import { functionsPid, processesOf } from "../processes.ts";
import { temporaryFolder } from "./launcher.ts";

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
    process.kill(await functionsPid(), "SIGKILL");
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
