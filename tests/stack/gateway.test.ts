import { on, once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGateway } from "../../local/gateway/server.ts";
import { raw } from "../raw.ts";
import { stack, withoutData } from "../stack.ts";

const key = { apikey: stack.publishable_key };

// A function that echoes its request, behind its own gateway.
let upstream: Server;
let gateway: Server;
let base: string;
let functionIsUp = true;

beforeAll(async () => {
  upstream = createServer(async (incoming, response) => {
    if (incoming.url === "/api/early") return void response.writeHead(401).end();
    if (incoming.url === "/api/slow") return void setTimeout(() => response.end("slow"), 300);
    if (incoming.url === "/api/stream") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    response.end(
      JSON.stringify({ url: incoming.url, headers: incoming.headers, length: Buffer.concat(chunks).length }),
    );
  });
  const upstreamPort = await listening(upstream);
  gateway = createGateway({
    addressHeader: "x-address-secret",
    ...withoutData,
    functionPort: (name) => (name !== "api" ? undefined : functionIsUp ? upstreamPort : null),
  });
  base = `http://127.0.0.1:${await listening(gateway)}`;
});

afterAll(() => {
  for (const server of [gateway, upstream]) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

interface Echo {
  url: string;
  headers: Record<string, string>;
  length: number;
}

/** Without fetch, which would normalize the path. */
const get = (path: string, headers = "") =>
  raw(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Connection: close\r\n\r\n`, {
    port: new URL(stack.supabase_url).port,
  });

test.each(["/storage/v1/bucket", "/realtime/v1x", "/functions/v1", "/functions/v1/other/x"])(
  "%s returns 404",
  async (path) => {
    const answer = await get(path);
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
    expect(answer).toContain('{"code":"NOT_FOUND","message":"The route does not exist.","details":null,"hint":null}');
  },
);

test.each(["/apish", "/_system/config", "//api/health"])("%s returns a 404 page", async (path) => {
  expect(await get(path)).toMatch(/^HTTP\/1.1 404 [\s\S]*\r\n\r\n(\w+\r\n)?<!doctype html>/);
});

test.each([
  "/rest/v1/../../_system/config",
  "/rest/v1/%2e%2e/%2e%2e/_system/config",
  "/auth/v1/..%2f..%2f_system/config",
  "/rest/v1//_system/config",
  "http://127.0.0.1/_system/config",
])("the internal endpoints of the data API are not reachable by %s", async (path) => {
  const answer = await get(path, `apikey: ${stack.publishable_key}\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 40[14] /);
  expect(answer.slice(answer.indexOf("\r\n\r\n"))).not.toMatch(/jwt_secret|connection/);
});

test("a function receives the path after /functions/v1, the query and the body unchanged", async () => {
  const answer = await fetch(`${base}/functions/v1/api/echo?a=%20b&a=c`, {
    method: "POST",
    body: "x".repeat(3_000_000),
  });
  const echo = (await answer.json()) as Echo;
  expect([echo.url, echo.length]).toEqual(["/api/echo?a=%20b&a=c", 3_000_000]);
  expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});

test("a client cannot choose its address", async () => {
  const forged = {
    "x-address-secret": "9.9.9.9",
    "x-forwarded-for": "9.9.9.9",
    forwarded: "for=9.9.9.9",
    "x-real-ip": "9.9.9.9",
  };
  const { headers } = (await (await fetch(`${base}/api/echo`, { headers: forged })).json()) as Echo;
  expect(headers["x-address-secret"]).toBe("127.0.0.1");
  expect(JSON.stringify(headers)).not.toContain("9.9.9.9");
});

test("the pages forward the client address in a header whose name no client knows", async () => {
  const behind = createGateway({
    addressHeader: "x-address-secret",
    visitorHeader: "x-visitor-secret",
    ...withoutData,
    functionPort: () => (upstream.address() as AddressInfo).port,
  });
  const address = `http://127.0.0.1:${await listening(behind)}/api/echo`;
  const answer = await fetch(address, { headers: { "x-visitor-secret": "9.9.9.9" } });
  expect(((await answer.json()) as Echo).headers["x-address-secret"]).toBe("9.9.9.9");
  behind.closeAllConnections();
  behind.close();
});

test("a client address is read from a header only when the operator configures it, and then from its last entry", async () => {
  const behind = createGateway({
    addressHeader: "x-address-secret",
    proxyHeader: "x-forwarded-for",
    ...withoutData,
    functionPort: () => (upstream.address() as AddressInfo).port,
  });
  const port = await listening(behind);
  const addressFor = async (forwarded?: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/echo`, {
      headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
    });
    return ((await answer.json()) as Echo).headers["x-address-secret"];
  };
  expect(await addressFor("9.9.9.9, 203.0.113.7")).toBe("203.0.113.7");
  expect(await addressFor("2001:db8::1")).toBe("2001:db8::1");
  expect([await addressFor(), await addressFor("unknown")]).toEqual(["127.0.0.1", "127.0.0.1"]);
  behind.closeAllConnections();
  behind.close();
});

test("an event stream is not buffered, and the function sees when its reader disconnects", async () => {
  const abort = new AbortController();
  const left = new Promise((resolve) => upstream.once("request", (_, response) => response.once("close", resolve)));
  const answer = await fetch(`${base}/api/stream`, { signal: abort.signal });
  const first = await answer.body?.getReader().read();
  expect(new TextDecoder().decode(first?.value)).toBe("data: 1\n\n");
  abort.abort();
  await left;
});

test("while the functions are down it returns 503", async () => {
  functionIsUp = false;
  const answer = await fetch(`${base}/api/echo`);
  functionIsUp = true;
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({
    error: {
      code: "SERVICE_UNAVAILABLE",
      message: expect.stringContaining("not running"),
      details: [],
      request_id: answer.headers.get("x-request-id"),
    },
  });
});

test("auth and the data API allow any origin; the functions set their own CORS headers", async () => {
  const preflight = await fetch(`${stack.supabase_url}/rest/v1/submissions`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "apikey,prefer",
    },
  });
  expect(preflight.status).toBe(200);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
  expect(preflight.headers.get("access-control-allow-headers")).toBe("apikey,prefer");
  const answer = await fetch(`${stack.supabase_url}/rest/v1/submissions?select=id&limit=1`, { headers: key });
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  const api = await fetch(`${base}/api/echo`, { headers: { origin: "https://app.example" } });
  expect(api.headers.get("access-control-allow-origin")).toBeNull();
});

test("a body of more than 10 MiB for the data API is rejected", async () => {
  const answer = await fetch(`${stack.supabase_url}/rest/v1/submissions`, {
    method: "POST",
    headers: key,
    body: "x".repeat(11 << 20),
  });
  expect(answer.status).toBe(413);
});

// Any client may offer an upgrade: the Java client offers h2c with each request.
test.each([
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n",
  "Connection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n",
  "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n",
])("an offer of another protocol is declined by an ordinary answer, with and without a body: %j", async (offer) => {
  const post = (length: number) =>
    `POST /api/echo HTTP/1.1\r\nHost: x\r\n${offer}Content-Length: ${length}\r\n\r\n${"x".repeat(length)}`;
  const get = `GET /api/echo HTTP/1.1\r\nHost: x\r\n${offer}`;
  const { port } = new URL(base);
  for (const [bytes, length] of [
    [`${get}Connection: close\r\n\r\n`, 0],
    [post(10).replace(offer, `${offer}Connection: close\r\n`), 10],
  ] as const) {
    const answer = await raw(bytes, { port });
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).toContain(`"length":${length}`);
    expect(answer).not.toContain('"upgrade"');
  }
  // The requests follow each other on one connection, which counts once.
  const socket = connect(Number(port), "127.0.0.1");
  for (let n = 0; n < 20; n++) {
    socket.write(post(n * 5_000));
    const chunks: string[] = [];
    for await (const [chunk] of on(socket, "data")) if (chunks.push(`${chunk}`) && chunks.join("").endsWith("}")) break;
    expect(chunks.join("")).toContain(`"length":${n * 5_000}`);
  }
  expect(socket.listenerCount("error")).toBeLessThan(3);
  socket.destroy();
});

test.each(["h2c", "websocket"])("an offer of %s is not answered before an earlier request", async (protocol) => {
  const first = "GET /api/slow HTTP/1.1\r\nHost: x\r\n\r\n";
  const second = `GET /api/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
  // Node before 24.9 closes the connection; later ones answer other offers than of a websocket, in order.
  expect(await raw(first + second, { port: new URL(base).port })).toMatch(
    protocol === "websocket" ? /^$/ : /^(?:HTTP[^{}]*\r\n\r\nslowHTTP[\s\S]*"url":"\/api\/echo"[\s\S]*)?$/,
  );
});

test("no number of headers hides the length of a body, so that it becomes the next request", async () => {
  const many = Array.from({ length: 2_100 }, (_, n) => `a${n}: b\r\n`).join("");
  const body = "GET /api/echo HTTP/1.1\r\nHost: x\r\n\r\n";
  const head = (offer: string) =>
    `POST /functions/v1/nothing HTTP/1.1\r\nHost: x\r\n${offer}${many}Content-Length: ${body.length}\r\n\r\n`;
  for (const offer of ["", "Connection: Upgrade\r\nUpgrade: h2c\r\n"]) {
    const answer = await raw(head(offer) + body, { port: new URL(base).port, timeoutMs: 1_000 });
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 404"]);
  }
});

test.concurrent.each([
  "Content-Length: 5\r\nTransfer-Encoding: chunked",
  "Content-Length: 5\r\nContent-Length: 6",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding: xchunked",
])("a body of unclear length hides no request either, with and without an offer: %s", async (length) => {
  const rest = "0\r\n\r\nGET /api/echo HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const offer of ["", "Connection: Upgrade\r\nUpgrade: h2c\r\n"]) {
    const head = `POST /functions/v1/nothing HTTP/1.1\r\nHost: x\r\n${offer}${length}\r\n\r\n`;
    const answer = await raw(head + rest, { port: new URL(base).port, timeoutMs: 1_000 });
    expect(answer.match(/HTTP\/1.1 \d+/g)?.filter((line) => line.endsWith("200"))).toEqual([]);
  }
});

test("requests sent before an answer run in turn, none after their client left, and more than three end the connection", async () => {
  const port = Number(new URL(base).port);
  const slow = "GET /api/slow HTTP/1.1\r\nHost: x\r\n\r\n";
  const post = `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${"x".repeat(100_000)}`;
  const answer = await raw(slow + post + slow + post.replace("Host", "Connection: close\r\nHost"), { port });
  expect(answer.match(/slow|"length":\d+/g)).toEqual(["slow", '"length":100000', "slow", '"length":100000']);

  const asked: string[] = [];
  const note = ({ url }: { url?: string }) => asked.push(url ?? "");
  upstream.on("request", note);
  const stream = "GET /api/stream HTTP/1.1\r\nHost: x\r\n\r\n";
  const socket = connect(port, "127.0.0.1");
  socket.write(stream + stream + post + slow);
  await once(socket, "data");
  await new Promise((resolve) => socket.destroy().once("close", resolve));
  await raw(slow.replace("Host", "Connection: close\r\nHost"), { port });
  upstream.off("request", note);
  expect(asked).toEqual(["/api/stream", "/api/slow"]);
  expect(await raw(slow.repeat(5), { port })).toBe("");
});

test.concurrent.each([
  ["a function", "POST", "/api/early"],
  ["a preflight", "OPTIONS", "/rest/v1/submissions"],
  ["a path of nobody", "POST", "/functions/v1/nothing"],
  ["a refusal of the data API", "POST", "/rest/v1/submissions"],
])("the body of a request that %s has answered is not read without end", async (_by, method, path) => {
  const socket = connect(Number(new URL(base).port), "127.0.0.1");
  socket.on("error", () => undefined);
  const answered = once(socket, "data");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const chunk = `400\r\n${"x".repeat(1024)}\r\n`;
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(128)}`);
  const more = setInterval(() => socket.write(chunk), 20);
  try {
    await answered;
    await closed;
  } finally {
    clearInterval(more);
    socket.destroy();
  }
});

test("an unknown websocket upgrade is rejected", async () => {
  const answer = await raw(
    "GET /realtime/v1/websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    { port: new URL(base).port },
  );
  expect(answer).toMatch(/^HTTP\/1.1 404 /);
});
