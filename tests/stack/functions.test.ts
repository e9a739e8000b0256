import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startOwnStack } from "../own-stack.ts";
import { functionsPid, processesOf } from "../processes.ts";

test("functions that exit are restarted at the same address", async () => {
  const warnings: string[] = [];
  const stack = await startOwnStack({ onWarning: (message) => warnings.push(message) });
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
    expect(warnings).toEqual([expect.stringContaining("the functions ended (code 137) and start again")]);
  } finally {
    await stack.remove();
  }
  expect(await processesOf(stack.folder)).toEqual([]);
});
