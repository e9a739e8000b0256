import { randomBytes, randomUUID } from "node:crypto";
import { readFile, rm, stat } from "node:fs/promises";
import { Agent, get as httpGet } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { parse } from "node-html-parser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { proxyPlatforms, writeProxy } from "../../local/operator/deploy/write-proxy.ts";
import { send } from "../http.ts";
import { startOwnStack } from "../own-stack.ts";
import { raw } from "../raw.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { type Running, startCloudflare, startNetlify, startVercel } from "./proxy-platforms.ts";

// The pages' proxy before a stand-in of hosted Supabase's gateway and the real functions: on Cloudflare's runtime, and
// on Node and Deno for the other platforms.

const siteUrl = "https://feedback.example";
const [secret, former] = ["", ""].map(() => randomBytes(32).toString("base64")) as [string, string];
const own = await startOwnStack({
  parts: ["auth", "web"],
  functionsEnvironment: { SITE_URL: siteUrl, PROXY_SECRET: `${secret}|${former}` },
});
let gateway: Gateway;
const agent = new Agent({ keepAlive: true });
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

beforeAll(async () => {
  gateway = await startGateway(own.supabase_url);
});

afterAll(async () => {
  agent.destroy();
  await gateway?.stop();
  await own.remove();
});

const starts = { cloudflare: startCloudflare, vercel: startVercel, netlify: startNetlify };
const sealed = (headers: [string, string][]) => ({ "x-proxy-headers": JSON.stringify(headers) });
/** Not alike: the form of a submission asks about similar ones. */
const titles = { cloudflare: "Rooms by floor", vercel: "Dark theme", netlify: "Import of calendars" };
const remaining = (answer: { headers: Record<string, unknown> }) => Number(answer.headers["x-ratelimit-remaining"]);

describe.each(proxyPlatforms)("the pages' proxy for %s", (platform) => {
  let folder: string;
  let proxy: Running;

  beforeAll(async () => {
    folder = await makeTemporaryFolder("proxy");
    await writeProxy({ platform, siteUrl, functionsUrl: gateway.functionsUrl, secret }, folder);
    proxy = await starts[platform](folder, secret);
  });

  afterAll(async () => {
    await proxy?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  type Options = { headers?: Record<string, string>; raw?: string | Uint8Array; from?: string };
  const ask = (method: string, path: string, { headers, raw, from = "203.0.113.7" }: Options = {}) =>
    send(method, `http://127.0.0.1:${proxy.port}${path}`, {
      agent,
      raw,
      headers: { host: "feedback.example", [proxy.addressHeader]: from, ...headers },
    });
  const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    ask("POST", path, {
      raw: new URLSearchParams(fields).toString(),
      headers: { origin: siteUrl, "content-type": "application/x-www-form-urlencoded", ...headers },
    });

  test("a page is HTML with its own policy, and without headers of the platform", async () => {
    const page = await ask("GET", "/");
    expect(page).toMatchObject({
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": expect.stringContaining("default-src 'self'"),
        "cache-control": "private, no-cache",
        "x-request-id": expect.any(String),
      },
    });
    expect(parse(page.text).querySelector("h1")).not.toBeNull();
    for (const name of ["strict-transport-security", "sb-gateway-version", "x-proxy-headers", "set-cookie"])
      expect(page.headers, name).not.toHaveProperty(name);
  });

  test("a person signs up, is redirected with several cookies, posts, and uploads a picture", async () => {
    const email = `${randomUUID()}@proxy.example`;
    const done = await form("/sign-up", { name: `Olive ${"ü".repeat(90)}`, email, password: "correct horse battery" });
    expect(done).toMatchObject({ status: 303, headers: { location: "/" } });
    const set = done.headers["set-cookie"] ?? [];
    expect(set.length).toBeGreaterThan(1);
    for (const line of set) expect(line).toMatch(/^__Host-sb-[\w.-]+=.*; Path=\/.*HttpOnly; Secure/);
    const kept = set.filter((line) => !line.includes("Max-Age=0;"));
    const cookie = kept.map((line) => line.split(";")[0]).join("; ");
    expect((await ask("GET", "/", { headers: { cookie } })).text).toContain("/me");

    const created = await form(
      "/new",
      {
        form_id: randomUUID(),
        type: "idea",
        title: titles[platform],
        description: `We miss this every day: ${titles[platform]}.`,
      },
      { cookie },
    );
    expect(created.headers.location).toMatch(/^\/submissions\/[0-9a-f-]{36}/);
    expect((await ask("GET", created.headers.location ?? "")).text).toContain(titles[platform]);

    await own.sql`
      insert into public.memberships (organization_id, user_id, role)
      select ${own.organization.id}, id, 'owner' from auth.users where email = ${email}`;
    const data = new FormData();
    data.append("file", new Blob([new Uint8Array(png)]), "logo.png");
    const sent = new Request(siteUrl, { method: "POST", body: data });
    const uploaded = await ask("POST", "/admin/settings/brand/logo", {
      raw: new Uint8Array(await sent.arrayBuffer()),
      headers: { origin: siteUrl, cookie, "content-type": sent.headers.get("content-type") ?? "" },
    });
    expect(uploaded.headers.location).toBe("/admin/settings/brand?done=uploaded");
    const { text } = await ask("GET", "/admin/settings/brand", { headers: { cookie } });
    const picture = parse(text).querySelector(".brand-logo")?.getAttribute("src") ?? "";
    expect((await ask("GET", picture)).headers).toMatchObject({ "content-type": "image/png" });
  });

  test("forms of other origins are refused", async () => {
    expect(await form("/sign-in", { email: "a@b.example" }, { origin: "https://evil.example" })).toMatchObject({
      status: 403,
    });
  });

  test.each([
    ["GET", "/api/submissions", "application/json; charset=utf-8"],
    ["GET", "/api/docs", "text/html; charset=utf-8"],
    ["HEAD", "/", "text/html; charset=utf-8"],
    ["GET", "/widget.js", "text/javascript; charset=utf-8"],
    ["GET", "/robots.txt", "text/plain; charset=utf-8"],
    ["GET", "/feed.xml", "application/atom+xml; charset=utf-8"],
  ])("%s %s has its type", async (method, path, type) => {
    const answer = await ask(method, path);
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, type]);
  });

  test("the OpenAPI document names the address of the pages", async () => {
    expect((await ask("GET", "/api/openapi.json")).body).toMatchObject({ servers: [{ url: siteUrl }] });
  });

  test.each(["PUT", "PATCH", "DELETE", "OPTIONS"])("%s comes to the function with its body", async (method) => {
    gateway.stubs.set("/api/echo?a=%20b&a=c", (incoming, outgoing) => {
      outgoing.writeHead(201, sealed([["x-method", incoming.method ?? ""]]));
      incoming.pipe(outgoing);
    });
    expect(await ask(method, "/api/echo?a=%20b&a=c", { raw: "a body" })).toMatchObject({
      status: 201,
      headers: { "x-method": method },
      text: "a body",
    });
  });

  test("an unchanged answer is 304 with its ETag", async () => {
    gateway.stubs.set("/web/same", (incoming, outgoing) => {
      const status = incoming.headers["if-none-match"] === '"a"' ? 304 : 200;
      outgoing.writeHead(status, sealed([["etag", '"a"']])).end();
    });
    const answer = await ask("GET", "/same", { headers: { "if-none-match": '"a"' } });
    expect(answer).toMatchObject({ status: 304, headers: { etag: '"a"' }, text: "" });
  });

  test("a compressed body stays as the function made it for this client", async () => {
    gateway.stubs.set("/web/small", (incoming, outgoing) => {
      const accepted = incoming.headers["x-proxy-accept-encoding"] === "br";
      const body = accepted ? brotliCompressSync("hello") : Buffer.from("hello");
      outgoing.writeHead(
        200,
        sealed([
          ["content-type", "text/html"],
          ...((accepted ? [["content-encoding", "br"]] : []) as [string, string][]),
        ]),
      );
      outgoing.end(body);
    });
    const received = (encoding: string) =>
      new Promise<{ coding: string | undefined; body: Buffer }>((resolve, reject) => {
        const headers = {
          host: "feedback.example",
          "accept-encoding": platform === "cloudflare" ? "br, gzip" : encoding,
          "x-cf": JSON.stringify({ clientAcceptEncoding: encoding }),
        };
        httpGet(`http://127.0.0.1:${proxy.port}/small`, { headers, agent }, async (answer) => {
          resolve({ coding: answer.headers["content-encoding"], body: await buffer(answer) });
        }).on("error", reject);
      });
    const compressed = await received("br");
    expect(compressed.coding).toBe("br");
    expect(brotliDecompressSync(compressed.body).toString()).toBe("hello");
    expect(await received("identity")).toEqual({ coding: undefined, body: Buffer.from("hello") });
  });

  test("the first part of a stream arrives before the last is sent", async () => {
    let end: () => void = () => undefined;
    gateway.stubs.set("/api/stream", (_, outgoing) => {
      outgoing.writeHead(200, {
        "content-type": "text/event-stream",
        ...sealed([["content-type", "text/event-stream"]]),
      });
      outgoing.write("first\n");
      end = () => outgoing.end("last\n");
    });
    const parts = await new Promise<string[]>((resolve, reject) => {
      httpGet(`http://127.0.0.1:${proxy.port}/api/stream`, { headers: { host: "feedback.example" } }, (answer) => {
        const received: string[] = [];
        answer.on("data", (chunk: Buffer) => {
          received.push(chunk.toString());
          end();
        });
        answer.on("end", () => resolve(received));
      }).on("error", reject);
    });
    expect(parts).toEqual(["first\n", "last\n"]);
  });

  test("callers are limited by the address that the platform knows, whatever they send", async () => {
    const lie = { "x-proxy-address": "198.51.100.9", "x-forwarded-for": "198.51.100.9", "x-proxy-secret": "x" };
    const address = `203.0.113.${50 + proxyPlatforms.indexOf(platform)}`;
    const first = remaining(await ask("GET", "/api/submissions", { from: address }));
    const second = remaining(await ask("GET", "/api/submissions", { from: address, headers: lie }));
    const another = remaining(await ask("GET", "/api/submissions", { from: address.replace("203.", "204.") }));
    expect([second, another]).toEqual([first - 1, first]);
  });

  test.each([
    ["x-proxy-host", "evil.example"],
    ["x-forwarded-host", "evil.example"],
    ["cf-connecting-ip", "198.51.100.9"],
    ["forwarded", "for=198.51.100.9"],
    ["x-named", "removed", "x-named"],
    ["proxy-authorization", "Basic eA=="],
    ["te", "trailers"],
  ])("a client's %s does not pass", async (name, value, connection = "keep-alive") => {
    await ask("GET", "/robots.txt", { headers: { connection, [name]: value } });
    const seen = gateway.seen.at(-1);
    expect(seen?.url).toBe("/functions/v1/web/robots.txt");
    expect(seen?.headers).toMatchObject({ "x-proxy-host": "feedback.example" });
    expect(String(seen?.headers[name] ?? "")).not.toContain(value);
  });

  test("another host is refused by the function", async () => {
    const answer = await ask("GET", "/", { headers: { host: "evil.example" } });
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("SITE_URL")]);
  });

  test.each([
    ["//evil.example/x", "/functions/v1/web//evil.example/x"],
    ["/\\evil.example", "/functions/v1/web//evil.example"],
    ["/../../rest/v1/x", "/functions/v1/web/rest/v1/x"],
    ["/%2e%2e/%2e%2e/rest/v1/x", "/functions/v1/web/rest/v1/x"],
    ["/api/../../rest/v1/x", "/functions/v1/web/rest/v1/x"],
    ["/@evil.example/", "/functions/v1/web/@evil.example/"],
    ["/a%0d%0aX-Evil:%201", "/functions/v1/web/a%0d%0aX-Evil:%201"],
    ["/auth/v1/settings", "/functions/v1/web/auth/v1/settings"],
    ["/apis", "/functions/v1/web/apis"],
    ["/?a=//evil.example#b", "/functions/v1/web/?a=//evil.example"],
  ])("%s stays with the functions", async (path, expected) => {
    const before = gateway.seen.length;
    await ask("GET", path);
    expect(gateway.seen.slice(before).map(({ url }) => url)).toEqual([expected]);
  });

  test.each(["/..%2f..%2frest/v1/x", "/x%5c%2e.%5crest", "/api/%2e%2E%2Fweb"])("%s is refused", async (path) => {
    const before = gateway.seen.length;
    expect(await ask("GET", path)).toMatchObject({ status: 400 });
    expect(gateway.seen.length).toBe(before);
  });

  const host = "Host: feedback.example\r\nConnection: close\r\n";
  test.each([
    ["an absolute address", `GET http://evil.example/robots.txt HTTP/1.1\r\n${host}\r\n`],
    ["a body of GET", `GET /robots.txt HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabc`],
    [
      "a smuggled request",
      `POST /x HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /functions/v1/other HTTP/1.1\r\n${host}\r\n`,
    ],
    ["two hosts", `GET / HTTP/1.1\r\nHost: evil.example\r\n${host}\r\n`],
    ["Expect", `POST /x HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc`],
    ["TRACE", `TRACE /robots.txt HTTP/1.1\r\n${host}\r\n`],
    [
      "an unknown upgrade",
      `GET /robots.txt HTTP/1.1\r\nHost: feedback.example\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n`,
    ],
    [
      "a WebSocket by POST",
      `POST /x HTTP/1.1\r\nHost: feedback.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n`,
    ],
  ])("%s reaches no other place, and reveals no secret", async (_, bytes) => {
    const before = gateway.seen.length;
    const answer = await raw(bytes, { port: proxy.port, timeoutMs: 1_500 });
    expect(answer).not.toContain(secret);
    expect(answer).not.toContain("x-proxy-headers");
    for (const { url } of gateway.seen.slice(before)) expect(url).toMatch(/^\/functions\/v1\/web\//);
  });

  test("what is no answer of the functions is a 502", async () => {
    gateway.stubs.set("/web/dead", (incoming) => incoming.socket.destroy());
    gateway.stubs.set("/web/limit", (_, outgoing) => outgoing.writeHead(546).end("worker limit"));
    gateway.stubs.set("/web/moved", (_, outgoing) =>
      outgoing.writeHead(302, { location: "https://evil.example" }).end(),
    );
    gateway.stubs.set("/web/unsealed", (_, outgoing) => outgoing.writeHead(200, { "set-cookie": "a=b" }).end("<h1>"));
    gateway.stubs.set("/web/broken", (_, outgoing) => outgoing.writeHead(200, { "x-proxy-headers": "[[" }).end());
    for (const [path, text] of [
      ["/dead", "cannot be reached"],
      ["/limit", "not available (546)"],
      ["/moved", "not available (302)"],
      ["/unsealed", "PROXY_SECRET"],
      ["/broken", "cannot be reached"],
    ] as const) {
      const answer = await ask("GET", path);
      expect([path, answer.status, answer.text]).toEqual([path, 502, expect.stringContaining(text)]);
      expect(answer.headers).toMatchObject({
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
      });
      expect(answer.headers).not.toHaveProperty("set-cookie");
    }
  });

  test("the configuration is written twice alike, and only its owner reads the secret", async () => {
    const commands = await writeProxy({ platform, siteUrl, functionsUrl: gateway.functionsUrl, secret }, folder);
    expect((await stat(join(folder, "secret.env"))).mode & 0o777).toBe(0o600);
    expect(commands.join("\n")).not.toContain(secret);
    for (const name of ["wrangler.json", "vercel.json", "middleware.js", "netlify.toml", "proxy.js"])
      expect(await readFile(join(folder, name), "utf8").catch(() => "")).not.toContain(secret);
  });

  test.runIf(platform === "cloudflare")("a WebSocket passes to the functions, and nowhere else", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/api/../../realtime/v1/websocket`, ["a", "b"], {
      headers: { host: "feedback.example" },
    });
    const echoed = await new Promise((resolve, reject) => {
      socket.on("open", () => socket.send("hello"));
      socket.on("message", (data) => resolve(String(data)));
      socket.on("error", reject);
    });
    expect([echoed, socket.protocol]).toEqual(["hello", "a"]);
    socket.terminate();
    expect(gateway.seen.at(-1)).toMatchObject({
      url: "/functions/v1/web/realtime/v1/websocket",
      headers: { "x-proxy-secret": secret },
    });
  });
});

describe("a function that is called directly", () => {
  const ask = (path: string, headers: Record<string, string> = {}, from?: string) =>
    send("GET", gateway.functionsUrl + path, { agent, headers, from });

  test.each([
    ["no", {}],
    ["a wrong", { "x-proxy-secret": "wrong" }],
    ["an empty", { "x-proxy-secret": "" }],
    ["both", { "x-proxy-secret": `${secret}|${former}` }],
  ] as [string, Record<string, string>][])("with %s secret believes no address and no host", async (_, headers) => {
    const told = { ...headers, "x-proxy-address": "198.51.100.77", "x-proxy-host": "evil.example" };
    const before = remaining(await ask("/api/submissions"));
    const answer = await ask("/api/submissions", told);
    expect([answer.status, remaining(answer)]).toEqual([200, before - 1]);
    expect(answer.headers).not.toHaveProperty("x-proxy-headers");
    expect(await ask("/web/", told)).toMatchObject({ status: 200, headers: { "content-type": "text/plain" } });
  });

  test("believes the former secret during a rotation", async () => {
    const told = { "x-proxy-secret": former, "x-proxy-host": "evil.example" };
    expect(JSON.parse(String((await ask("/web/", told)).headers["x-proxy-headers"]))).toBeInstanceOf(Array);
  });
});
