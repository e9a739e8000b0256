import { expect, test } from "vitest";
import { createHashingQueue } from "../../local/auth/hashing-queue.ts";

/** Work that ends on command, and records the order of starts. */
function bench(limits: Partial<Parameters<typeof createHashingQueue>[0]> = {}) {
  const queue = createHashingQueue({ running: 1, waiting: 8, waitingEach: 4, patience: 60_000, ...limits });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (address: string) =>
    queue.run(address, async () => {
      begun.push(address);
      await new Promise<void>((resolve) => ends.push(resolve));
      return new Response(address);
    });
  const endOne = async () => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { run, begun, endOne };
}

test("addresses take turns: requests queue behind those of their own address only", async () => {
  const { run, begun, endOne } = bench();
  for (let index = 0; index < 5; index++) void run("flood");
  void run("other");
  for (let index = 0; index < 3; index++) await endOne();
  expect(begun).toEqual(["flood", "flood", "other", "flood"]);
});

test("concurrency is limited", async () => {
  const { run, begun, endOne } = bench({ running: 2 });
  for (const address of ["a", "b", "c", "d"]) void run(address);
  expect(begun).toEqual(["a", "b"]);
  await endOne();
  expect(begun).toEqual(["a", "b", "c"]);
});

test("a full queue rejects immediately: by address, or in total", async () => {
  const { run } = bench({ waiting: 5, waitingEach: 3 });
  for (let index = 0; index < 4; index++) void run("a");
  expect(await run("a")).toBe("full");
  for (const address of ["b", "c"]) void run(address);
  expect(await run("d")).toBe("full");
});

test("a request that waits too long is rejected, and does not run later", async () => {
  const { run, begun, endOne } = bench({ patience: 10 });
  void run("a");
  expect(await run("b")).toBe("full");
  void run("c");
  await endOne();
  expect(begun).toEqual(["a", "c"]);
});

test("failed work frees its slot", async () => {
  const queue = createHashingQueue({ running: 1, waiting: 8, waitingEach: 4, patience: 60_000 });
  const failing = queue.run("a", () => Promise.reject(new Error("it failed")));
  const next = queue.run("b", async () => new Response("b"));
  await expect(failing).rejects.toThrow("it failed");
  expect(await next).toBeInstanceOf(Response);
});
