import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { ownStack } from "../own-stack.ts";
import { realtimePid } from "../processes.ts";
import { until } from "../until.ts";

// Attacks of an anonymous caller with requests for a websocket upgrade.

const own = await ownStack({ parts: ["rest", "realtime"], realtimeLimits: { socketsPerAddress: 5 } });

const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";

/** Sends a request and keeps its own side open. */
function ask(path: string, from = "127.0.5.1"): { socket: Socket; answer: Promise<string> } {
  const { port } = new URL(own.supabase_url);
  const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress: from, allowHalfOpen: true });
  const answer = new Promise<string>((resolve) => {
    socket.once("data", (chunk) => resolve(String(chunk)));
    socket.once("error", () => resolve(""));
    socket.once("close", () => resolve(""));
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${upgrade}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
  return { socket, answer };
}

test.each([
  "//a:99999/realtime/v1/websocket",
  "//a:b@c/realtime/v1/websocket",
  "///",
  "//",
  "/_system/info",
  "/api/health",
  "/rest/v1/organizations",
  "/realtime/v1/websocket/",
])("an upgrade of %s returns 404, and realtime keeps running", async (path) => {
  const pid = await realtimePid();
  const { socket, answer } = ask(path);
  expect(await answer).toMatch(/^HTTP\/1.1 404 /);
  socket.destroy();
  expect(await realtimePid()).toBe(pid);
});

test("rejected upgrades leave no socket open, even if the client keeps its side open", async () => {
  const pid = await realtimePid();
  const open = () => readdirSync(`/proc/${pid}/fd`).length;
  const before = open();
  const asked = Array.from({ length: 60 }, (_, n) => ask(n % 2 ? "/realtime/v1/websocket" : "/realtime/v1/x"));
  for (const { answer } of asked) expect(await answer).toMatch(/^HTTP\/1.1 40[14] /);
  await until(() => open() < before + 10);
  for (const { socket } of asked) socket.destroy();
});

test("one address can open websockets up to its limit; others have their own, and closing one frees a place", async () => {
  const url = `${own.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${own.publishable_key}&vsn=2.0.0`;
  const join = (localAddress: string) =>
    new Promise<WebSocket | number>((resolve) => {
      const socket = new WebSocket(url, { localAddress });
      socket.once("open", () => resolve(socket));
      socket.once("unexpected-response", (request, answer) => {
        resolve(answer.statusCode ?? 0);
        request.destroy();
      });
      socket.on("error", () => resolve(0));
    });
  const joined = await Promise.all(Array.from({ length: 8 }, () => join("127.0.5.2")));
  const open = joined.filter((socket) => typeof socket !== "number");
  expect([open.length, joined.filter((socket) => socket === 429).length]).toEqual([5, 3]);
  const other = await join("127.0.5.3");
  expect(other).toBeInstanceOf(WebSocket);
  open[0]?.close();
  const restarted = await until(async () => {
    const socket = await join("127.0.5.2");
    return typeof socket !== "number" && socket;
  });
  for (const socket of [...open, other, restarted]) if (typeof socket !== "number") socket.close();
});

test("behind a proxy, websockets are counted by client address, and IPv6 by /64", async () => {
  const behind = await ownStack({
    parts: ["realtime"],
    realtimeLimits: { socketsPerAddress: 1 },
    proxyHeader: "X-Client-IP",
  });
  const url = `${behind.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${behind.publishable_key}`;
  const open: WebSocket[] = [];
  const join = (address: string) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(url, { headers: { "x-client-ip": address } });
      open.push(socket);
      socket.once("open", () => resolve(101));
      socket.once("unexpected-response", (_, answer) => resolve(answer.statusCode ?? 0));
      socket.on("error", () => undefined);
    });
  try {
    expect(await join("2001:db8:1:2::1")).toBe(101);
    expect(await join("203.0.113.7, 2001:db8:1:2:ffff::9")).toBe(429);
    expect([await join("2001:db8:1:3::1"), await join("203.0.113.7")]).toEqual([101, 101]);
    expect(await join("203.0.113.7")).toBe(429);
  } finally {
    for (const socket of open) socket.terminate();
    await behind.remove();
  }
});
