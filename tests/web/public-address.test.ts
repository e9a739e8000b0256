import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAgentKey } from "../../local/operator/api-keys.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { makeCertificates } from "../hosted/certificates.ts";
import { send } from "../http.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { until } from "../until.ts";

// A stack whose only setting is SITE_URL, behind a proxy with TLS: what compose.yaml starts. Chromium resolves the name to
// the proxy, whose certificate nobody signed.

const site = "https://feedback.example.org";
const addressHeader = "x-real-ip";
let own: OwnStack;
let proxy: Server;
let browser: Browser;
const agent = new Agent();

beforeAll(async () => {
  own = await startOwnStack({
    parts: ["auth", "rest", "realtime", "web", "mail-dispatch"],
    siteUrl: site,
    proxyHeader: addressHeader,
    functionsEnvironment: { SITE_URL: site },
  });
  proxy = await startProxy(Number(new URL(own.supabase_url).port));
  const { port } = proxy.address() as AddressInfo;
  browser = await launchBrowser(`--host-resolver-rules=MAP feedback.example.org 127.0.0.1:${port}`);
});
afterAll(async () => {
  await browser?.close();
  proxy?.closeAllConnections();
  proxy?.close();
  await own?.remove();
});

/** Ends TLS, overwrites the header with the client address, and passes websockets on. */
async function startProxy(port: number): Promise<Server> {
  const { certificate, key } = makeCertificates("127.0.0.1");
  const headersOf = (given: object) => ({ ...given, [addressHeader]: "203.0.113.7" });
  const server = createServer({ cert: certificate, key }, (incoming, response: ServerResponse) => {
    const { method, url, headers } = incoming;
    const onward = request({ host: "127.0.0.1", port, method, path: url, headers: headersOf(headers) }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  });
  server.on("upgrade", (incoming, socket, head) => {
    const onward = connect(port, "127.0.0.1", () => {
      const lines = Object.entries(headersOf(incoming.headers)).map(([name, value]) => `${name}: ${value}`);
      onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

async function newPage(problems: string[], sockets: string[]): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("websocket", (socket) => sockets.push(socket.url()));
  return page;
}

test("pages, session and realtime are at the address of the proxy", async () => {
  const [problems, sockets]: [string[], string[]] = [[], []];
  const page = await newPage(problems, sockets);
  await page.goto(`${site}/sign-up`);
  await page.fill("main [name=name]", "Pia Proxied");
  await page.fill("main [name=email]", "pia@example.org");
  await page.fill("main [name=password]", "correct horse battery");
  await page.press("main [name=password]", "Enter");
  await page.waitForURL(`${site}/`);
  const cookies = await page.context().cookies();
  expect(cookies.map(({ name, secure }) => [name, secure])).toContainEqual(["__Host-sb-feedback-auth-token", true]);
  const submission = await own.submission(await own.person());
  const answer = await page.goto(`${site}/submissions/${submission}`);
  expect(answer?.headers()["content-security-policy"]).toContain(
    `connect-src 'self' ${site} wss://feedback.example.org`,
  );
  expect(await page.content()).not.toContain("127.0.0.1");
  await until(async () => sockets.length > 0);
  expect(new URL(sockets[0] ?? "").host).toBe("feedback.example.org");
  // Realtime: a change in the database arrives through the socket, until then again and again.
  const voter = await own.person();
  const island = page.locator("[data-island=live-submission]").first();
  const before = await island.textContent();
  await until(async () => {
    await own.call("DELETE", `/api/submissions/${submission}/vote`, { token: voter.token });
    await own.call("POST", `/api/submissions/${submission}/vote`, { token: voter.token });
    return (await island.textContent()) !== before;
  });
  expect(problems).toEqual([]);
});

const through = (path: string, headers: Record<string, string> = {}) =>
  send("GET", own.supabase_url + path, { agent, headers: { host: "feedback.example.org", ...headers } });

test.each([
  ["the API's description", "/api/openapi.json", (text: string) => JSON.parse(text).servers[0].url, site],
  ["the data API's description", "/rest/v1/", (text: string) => JSON.parse(text).host, "feedback.example.org:443"],
])("%s names the address of the proxy", async (_, path, read, expected) => {
  const { status, text } = await through(path, { apikey: own.secret_key, authorization: `Bearer ${own.secret_key}` });
  expect([status, read(text)]).toEqual([200, expected]);
});

test("a link in a mail leads to the address of the proxy", async () => {
  const [problems, sockets]: [string[], string[]] = [[], []];
  const page = await newPage(problems, sockets);
  await page.goto(`${site}/reset`);
  await page.fill("main [name=email]", "pia@example.org");
  await page.press("main [name=email]", "Enter");
  const links = await until(async () =>
    (await readFile(join(own.folder, "mail.log"), "utf8").catch(() => "")).match(/https?:\/\/[^\s"\\]+/g),
  );
  expect(links?.every((link) => link.startsWith(`${site}/`))).toBe(true);
});

test.each([
  ["feedback.example.org", site],
  ["127.0.0.1:8000", "http://127.0.0.1:8000"],
])("the stream of a subscription made at %s is below %s", async (host, base) => {
  const { text } = await send("POST", `${own.supabase_url}/api/mcp/tools`, {
    agent,
    token: await createAgentKey(own.sql, own.organization.id, "Agent of a test", "standard", ["submissions:read"]),
    headers: { host, accept: "application/json, text/event-stream" },
    body: { jsonrpc: "2.0", id: 1, method: "subscribe", params: { events: ["submission.created"], filters: {} } },
  });
  expect(text).toContain(`"stream_url":"${base}/api/mcp/subscribe/`);
});
