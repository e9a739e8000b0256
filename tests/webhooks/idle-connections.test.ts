import { createServer, type Socket } from "node:net";
import { afterAll, expect, test } from "vitest";
import { api } from "../api/client.ts";
import { until } from "../until.ts";
import { newWorld } from "./world.ts";

const world = await newWorld();
const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

const answer = (status: string, more = "") => `HTTP/1.1 ${status}\r\nContent-Length: 0\r\n${more}\r\n`;

/** What a receiver does on an idle connection. */
const behaviours: [string, (socket: Socket) => void][] = [
  ["says 408 and closes it", (socket) => socket.end(answer("408 Request Timeout", "Connection: close\r\n"))],
  ["says 408 and leaves it open", (socket) => socket.write(answer("408 Request Timeout"))],
  ["says 503", (socket) => socket.write(answer("503 Service Unavailable"))],
  ["says 200", (socket) => socket.write(answer("200 OK"))],
  ["says 410", (socket) => socket.end(answer("410 Gone"))],
  ["says 103 only", (socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n")],
  ["sends half of a head", (socket) => socket.write("HTTP/1.1 2")],
  ["sends no HTTP", (socket) => socket.write("\0\x01 bye\n")],
  ["sends an empty line", (socket) => socket.write("\r\n")],
  ["closes it without a word", (socket) => socket.end()],
  ["resets it", (socket) => socket.resetAndDestroy()],
];

test.each(behaviours)("a receiver that %s hears the next event on a new connection", async (_, behave) => {
  const requests: number[] = [];
  let connections = 0;
  let idled = 0;
  const server = createServer((socket) => {
    const connection = ++connections;
    let received = "";
    socket.on("error", () => {});
    socket.on("data", (data) => {
      received += data;
      const [head = "", body] = received.split("\r\n\r\n");
      if (body === undefined || Buffer.byteLength(body) < Number(/content-length: (\d+)/i.exec(head)?.[1])) return;
      received = "";
      requests.push(connection);
      socket.write(answer("200 OK"));
      setTimeout(() => {
        behave(socket);
        setTimeout(() => idled++, 50);
      }, 50);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
  const body = { url, events: ["org.updated"] };
  const created = await api("POST", world.path, { as: world.key, body });
  const path = `${world.path}/${(created.body as { data: { id: string } }).data.id}`;
  for (const times of [1, 2, 3]) {
    expect((await api("POST", `${path}/test`, { as: world.key })).status).toBe(201);
    await until(() => requests.length === times && idled === times);
  }
  const log = await until(async () => {
    const { data } = (await api("GET", `${path}/deliveries`, { as: world.admin })).body as {
      data: { status: string; status_code: number; attempt_count: number }[];
    };
    return data.every(({ status }) => status !== "pending") ? data : undefined;
  });
  expect(log).toMatchObject(Array(3).fill({ status: "delivered", status_code: 200, attempt_count: 1 }));
  expect(requests).toEqual([1, 2, 3]);
});
