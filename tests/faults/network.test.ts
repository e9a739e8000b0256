import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { expectClear, expectConsistent, expectNoLeak, recovered, startStorm } from "./storm.ts";

/** A proxy between the functions and Postgres that can be closed, cut or made to swallow all data. */
interface Wire {
  port: number;
  to: number;
  close(): Promise<void>;
  open(): Promise<void>;
  cut(): void;
  swallow(on: boolean): void;
}

async function newWire(): Promise<Wire> {
  let server: Server | undefined;
  let isDropping = false;
  const sockets = new Set<Socket>();
  const wire: Wire = {
    port: 0,
    to: 0,
    async open() {
      server = createServer((near) => {
        const far = connect(wire.to, "127.0.0.1");
        for (const [one, other] of [
          [near, far],
          [far, near],
        ] as const) {
          sockets.add(one);
          one.on("data", (chunk) => isDropping || other.write(chunk));
          one.on("error", () => undefined);
          one.on("close", () => {
            sockets.delete(one);
            other.destroy();
          });
        }
      });
      await new Promise<void>((resolve) => server?.listen(wire.port, "127.0.0.1", resolve));
      const address = server.address();
      if (address && typeof address === "object") wire.port = address.port;
    },
    async close() {
      const closed = new Promise((resolve) => server?.close(resolve));
      wire.cut();
      await closed;
    },
    cut() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    swallow(on) {
      isDropping = on;
      // Swallowed data is lost: a connection cannot continue in the middle of a message.
      if (!on) wire.cut();
    },
  };
  await wire.open();
  return wire;
}

let own: OwnStack;
let wire: Wire;

beforeAll(async () => {
  wire = await newWire();
  const password = "known-to-the-test";
  own = await startOwnStack({
    functionsEnvironment: { DATABASE_URL: `postgresql://feedback_api:${password}@127.0.0.1:${wire.port}/postgres` },
  });
  wire.to = Number(new URL(own.db_url).port);
  await own.sql.unsafe(`alter role feedback_api password '${password}'`);
  await recovered(own);
});
afterAll(async () => {
  await own?.remove();
  await wire?.close();
});

test("an unreachable database: every response is an immediate 503, and recovery is immediate", async () => {
  const storm = await startStorm(own, 8);
  await sleep(300);
  await wire.close();
  await sleep(8_000);
  await wire.open();
  // After any number of failed connection attempts.
  expect(await recovered(own)).toBeLessThan(6_000);
  const shots = await storm.stop();
  expectClear(shots, 6_000);
  await expectConsistent(own, shots);
  await expectNoLeak(own);
});

test("connections cut under load: some 503, and no acknowledged write is lost", async () => {
  const storm = await startStorm(own, 16);
  for (let times = 0; times < 10; times++) {
    await sleep(100);
    wire.cut();
  }
  await recovered(own);
  const shots = await storm.stop();
  expectClear(shots);
  await expectConsistent(own, shots);
  await expectNoLeak(own);
});

test("a database that accepts everything and never responds: 503 within ten seconds, without a hang", async () => {
  const storm = await startStorm(own, 20);
  await sleep(300);
  wire.swallow(true);
  await sleep(9_000);
  const startedAt = Date.now();
  const late = await own.call("GET", "/api/submissions");
  expect(late.status).toBe(503);
  expect(Date.now() - startedAt).toBeLessThan(10_500);
  wire.swallow(false);
  expect(await recovered(own)).toBeLessThan(6_000);
  const shots = await storm.stop();
  expectClear(shots);
  await expectConsistent(own, shots);
  await expectNoLeak(own);
});
