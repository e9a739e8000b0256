import { readFile, stat } from "node:fs/promises";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { getPriority } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rotateLogs } from "../../local/folders/logs.ts";
import type { GatewayLimits } from "../../local/gateway/limits.ts";
import { createGateway } from "../../local/gateway/server.ts";
import { startAuth } from "../../local/lite/supervisor.ts";
import { listen } from "../../local/processes/ports.ts";
import fc from "../fuzz.ts";
import { ownStack, type Person } from "../own-stack.ts";
import { authPid, dataApiPid, descendants, listenersOf } from "../processes.ts";
import { raw } from "../raw.ts";
import { stack, withoutData } from "../stack.ts";
import { until } from "../until.ts";
import { rest } from "./rest.ts";

// Attacks of an anonymous caller or a user on the gateway, auth and the data API: others are served
// meanwhile.

// Shorter than the defaults, because tests wait for these timeouts.
// A statement that is not meant to be slow takes less than slowMs on a busy machine too.
const limits = { bodyMs: 2_000, slowMs: 1_200, slowWorkMs: 8_000, answerMs: 60_000 };
const own = await ownStack({
  parts: ["auth", "rest", "realtime", "web", "webhook-dispatch"],
  limits,
  maxSilenceMs: 6_000,
});
let person: Person;
let victim: Person;

beforeAll(async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  [person, victim] = (await own.people(2)) as [Person, Person];
});

const portOf = (url: string) => Number(new URL(url).port);

const toGateway = (bytes: string) => raw(bytes, { port: portOf(own.supabase_url) });

// Far more than a loaded machine needs, far less than the standstills that the attacks caused.
const prompt = 5_000;
const secrets = /postgresql:|connection|jwt_secret|sb_secret|introspect|embedded_/;

async function health(from = "127.0.0.9"): Promise<number> {
  const startedAt = performance.now();
  const answer = await own.call("GET", "/api/health", { base: own.supabase_url, from });
  expect(answer.status).toBe(200);
  return performance.now() - startedAt;
}

/** A request to the data API from its own address. */
async function data(path: string, from: string, token?: string) {
  const startedAt = performance.now();
  const answer = await own.call("GET", `/rest/v1/${path}`, {
    base: own.supabase_url,
    from,
    ...(token === undefined ? {} : { token }),
    headers: { apikey: own.publishable_key },
  });
  return { ...answer, ms: performance.now() - startedAt };
}

describe("forged hosts and paths", () => {
  test.each([
    "a/_system/info?",
    "a\\_system\\info?",
    "a#",
    "a@b",
    "a:b",
    "127.0.0.1:54321/_system/info",
    "",
    "a b",
    "[::1",
  ])("a Host header %j returns 400", async (host) => {
    const answer = await toGateway(`GET /rest/v1/x HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).not.toMatch(secrets);
  });

  test("two Host headers return 400, and HTTP/1.0 needs none", async () => {
    expect(await toGateway("GET /api/health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 400 /,
    );
    expect(await toGateway("GET /api/health HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1.1 200 /);
    expect(await toGateway("GET /_system/info HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1.1 404 /);
  });

  test("no request line or Host header reaches them, in any spelling", async () => {
    const room = fc.constantFrom("_system/info", "_system/config", "_system/introspect", "_SYSTEM/info");
    const glue = fc.constantFrom(
      "/",
      "//",
      "\\",
      "%2f",
      "%5c",
      "/./",
      "/../",
      "/%2e%2e/",
      "/..;/",
      "#",
      "?",
      "%00",
      " ",
      "\t",
    );
    const start = fc.constantFrom(
      "",
      "/",
      "/rest/v1",
      "/auth/v1",
      "/rest/v1/x",
      "/functions/v1",
      "/api",
      "http://a",
      "http://127.0.0.1",
      "//a",
      "*",
    );
    const host = fc.oneof(
      fc.constantFrom("127.0.0.1", "a", "localhost:1", undefined),
      fc.tuple(fc.constantFrom("a", ""), glue, room, fc.constantFrom("", "?", "#", "/")).map((parts) => parts.join("")),
    );
    const line = fc.record({
      method: fc.constantFrom("GET", "POST", "HEAD", "PUT", "get", "OPTIONS"),
      target: fc
        .tuple(start, fc.array(glue, { minLength: 1, maxLength: 3 }), room)
        .map(([a, b, c]) => a + b.join("") + c),
      version: fc.constantFrom("1.0", "1.1"),
      host,
      header: fc.constantFrom(
        "",
        "X-Forwarded-Host: a/_system/info?\r\n",
        "X-Original-URL: /_system/info\r\n",
        "Forwarded: host=a\r\n",
      ),
    });
    await fc.assert(
      fc.asyncProperty(line, async ({ method, target, version, host: name, header }) => {
        const answer = await toGateway(
          `${method} ${target} HTTP/${version}\r\n${name === undefined ? "" : `Host: ${name}\r\n`}${header}apikey: ${own.secret_key}\r\nConnection: close\r\n\r\n`,
        );
        // 204: the API responds to a preflight of any path. A page: "/" with a query is the board.
        expect(answer).toMatch(
          /^(?:HTTP\/1.1 (?:40[0-9]|200 OK\r\naccess-control|204 No Content\r\nvary: Origin|200 OK\r\n(?:[^\r]+\r\n)*content-type: text\/html;)|$)/,
        );
        // A page repeats its URL in its links.
        const body = answer.includes("<!doctype html>") ? answer.replaceAll("introspect", "") : answer;
        expect(body).not.toMatch(secrets);
      }),
      { numRuns: 300 },
    );
  });

  test("direct requests to the port of auth are rejected", async () => {
    const service = await startAuth({
      databaseUrl: own.db_url,
      secrets: { jwt_secret: own.jwtSecret, publishable_key: own.publishable_key, secret_key: own.secret_key },
      siteUrl: own.supabase_url,
      addressHeader: "x-address-of-a-test",
      guard: {
        databaseUrl: own.superuserUrl,
        addressHashKey: "of a test",
        mailPath: join(own.folder, "second-mail.log"),
        pagesUrl: own.site_url,
      },
      onWarning: () => undefined,
    });
    const request = (path: string, headers = {}) =>
      fetch(`http://127.0.0.1:${service.port()}${path}`, { headers: { apikey: own.secret_key, ...headers } });
    try {
      for (const path of ["/_system/info", "/auth/v1/health"]) await expect(request(path)).rejects.toThrow();
      const named = { "x-address-of-a-test": "127.0.0.1" };
      expect((await request("/auth/v1/health", named)).status).toBe(200);
      expect((await request("/_system/info", named)).status).toBe(404);
      expect((await request("/rest/v1/organizations", named)).status).toBe(404);
    } finally {
      await service.stop();
    }
  });
});

describe("estimated counts", () => {
  test.each([
    "count=planned",
    "count=estimated",
    "COUNT=Planned",
    "return=minimal, count=planned",
    "count=exact,count=estimated",
    "count = planned",
    'count="planned"',
    "count=exactly",
  ])("are rejected, requested as %j", async (prefer) => {
    const answer = await rest("submissions?select=id", { against: own, headers: { Prefer: prefer } });
    expect([answer.status, answer.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("are rejected in a second Prefer header, and in a HEAD", async () => {
    for (const method of ["GET", "HEAD"]) {
      const answer = await toGateway(
        `${method} /rest/v1/submissions?select=id HTTP/1.1\r\nHost: a\r\napikey: ${own.publishable_key}\r\nPrefer: count=exact\r\nPREFER: count=planned\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).not.toMatch(/^content-range/im);
    }
  });

  test("exact counts are returned", async () => {
    const answer = await rest("organizations?select=id", { against: own, headers: { Prefer: "count=exact" } });
    expect([answer.status, answer.headers.get("content-range")]).toEqual([200, "0-0/1"]);
  });
});

describe("overly expensive queries", () => {
  const nested = (depth: number) => `or=(${"and(".repeat(depth)}id.is.null${")".repeat(depth)})`;
  test.each([
    ["60 KB of nested conditions", `submissions?${nested(9_000)}`],
    ["conditions nested ten deep", `submissions?${nested(10)}`],
    ["conditions nested in an embedded table's", `submissions?select=id,comments(id)&comments.${nested(10)}`],
    ["conditions that hide in quotes", `submissions?or=(title.eq."${"(".repeat(20)}",id.is.null)`],
    ["too many conditions", `submissions?or=(${"id.is.null,".repeat(300)}id.is.null)`],
    ["too many parameters", `submissions?${"id=is.null&".repeat(101)}select=id`],
    ["too many embeds", `submissions?select=id${",comments(id)".repeat(13)}`],
    ["embeds that are too deep", "submissions?select=comments(submissions(comments(submissions(comments(id)))))"],
    ["a query of 9 KB", `submissions?select=id&title=eq.${"x".repeat(9_000)}`],
  ])("%s: 400, and no standstill", async (_, path) => {
    const answer = await data(path, "127.0.1.1");
    expect([answer.status, (answer.body as { code?: string }).code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(answer.ms).toBeLessThan(prompt);
  });

  test("no query within the limits occupies the data API", async () => {
    const filler = (text: string) => text.repeat(Math.floor(8_000 / text.length));
    for (const path of [
      `submissions?select=${filler("a,")}id`,
      `submissions?select=${filler("a->")}id`,
      `submissions?select=comments(${filler("id,")}id)`,
      `submissions?order=${filler("id.asc,")}id`,
      `submissions?order=${filler("(")}`,
      `submissions?id=in.(${filler("a,")}a)`,
      `submissions?id=in.${filler("(")}`,
      `submissions?id=${filler("not.")}is.null`,
      `submissions?title=cs.${filler("{")}`,
      `submissions?${filler("a->b->>")}=eq.1`,
      `submissions?columns=${filler("a,")}id`,
      `rpc/my_votes?submission_ids=${filler("{")}`,
    ]) {
      const answer = await data(path, "127.0.1.1");
      expect(answer.status, path.slice(0, 60)).not.toBe(503);
      expect(answer.ms, path.slice(0, 60)).toBeLessThan(prompt);
    }
  });
});

describe("unusual requests to the data API", () => {
  const deep = (levels: number) => `{"submission_ids":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const send = (method: string, path: string, body?: string, headers = {}) =>
    own.call(method, `/rest/v1/${path}`, {
      base: own.supabase_url,
      from: "127.0.1.5",
      headers: { apikey: own.publishable_key, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  test.each([
    ["TRACE", "organizations", undefined, 405],
    ["PROPFIND", "organizations?select=id", undefined, 405],
    ["M-SEARCH", "organizations?select=id", undefined, 405],
    ["DELETE", "surveys?constructor=eq.1", undefined, 400],
    ["PATCH", "surveys?__proto__=eq.1", '{"title":"All"}', 400],
    ["POST", "rpc/my_votes", deep(65), 400],
    ["POST", "rpc/my_votes", deep(400_000), 400],
    ["POST", "submissions?columns=id", "1e999", 401],
    ["POST", "rpc/my_votes", `[${"{},".repeat(100_000)}{}]`, 404],
  ])("%s %s: rejected", async (method, path, body, status) => {
    expect((await send(method, path, body)).status).toBe(status);
  });

  // PostgREST would compare such names with all known ones for seconds.
  const long = "a".repeat(201);
  test.each([
    ["GET", `submissions?select=${long}(id)`],
    ["GET", `submissions?${long}=eq.1`],
    ["GET", `rpc/my_votes?${Array.from({ length: 10 }, (_, n) => `${n}${long.slice(10)}=1`).join("&")}`],
    ["POST", `rpc/my_votes?columns=${Array.from({ length: 6 }, () => long.slice(5)).join()}`, "{}"],
    ["POST", "rpc/my_votes", JSON.stringify({ [long.repeat(5)]: 1 })],
    ["POST", "rpc/my_votes", JSON.stringify([Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`a${n}`, 1]))])],
  ])("%s %.60s with long names: rejected by the gateway", async (method, path, body?) => {
    const { status, body: answer } = await send(method, path, body);
    expect([status, answer.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  // PostgREST needs a thousand times the size of some of these bodies.
  test.each([
    "text/csv",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
    "text/plain",
    "application/jsonx",
  ])("a body of %s: rejected by the gateway", async (type) => {
    const { status, body } = await send("POST", "rpc/my_votes", "{}", { "content-type": type });
    expect([status, body.code]).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
  });

  test("a body of JSON in capitals is read as JSON", async () => {
    const { status } = await send("POST", "rpc/my_votes", '{"submission_ids":[]}', {
      "content-type": "APPLICATION/JSON",
      authorization: `Bearer ${person.token}`,
    });
    expect(status).toBe(200);
  });

  test.each([
    // 406 from PostgREST 12.0.3 on.
    [{ accept: "application/vnd.pgrst.plan" }, 415],
    [{ accept: "application/vnd.pgrst.plan+json; options=analyze" }, 415],
    [{ "accept-profile": "auth" }, 406],
    [{ "accept-profile": "private" }, 406],
    [{ range: "5-1" }, 416],
  ])("%j: rejected", async (headers, status) => {
    expect((await send("GET", "organizations?select=id", undefined, headers)).status).toBe(status);
  });
});

describe("ambiguous request lines and headers", () => {
  const inner = "GET /_system/info HTTP/1.1\r\nHost: a\r\n\r\n";
  const post = "POST /rest/v1/rpc/my_votes HTTP/1.1\r\nHost: a\r\n";
  test.each([
    [
      "Content-Length and Transfer-Encoding",
      `${post}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    ],
    [
      "two Transfer-Encodings",
      `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ["a Transfer-Encoding of no kind", `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`],
    ["two Content-Lengths", `${post}Content-Length: 0\r\nContent-Length: 5\r\n\r\n${inner}`],
    ["a signed Content-Length", `${post}Content-Length: +5\r\n\r\nabcde`],
    ["a space before a colon", `${post}Content-Length : 5\r\n\r\nabcde`],
    ["a header over two lines", "GET /api/health HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"],
    ["a chunk that ends in a line feed", `${post}Transfer-Encoding: chunked\r\n\r\n2;a\n{}\r\n0\r\n\r\n`],
    ["line feeds alone", "GET /api/health HTTP/1.1\nHost: a\n\n"],
    ["3,000 headers", `GET /api/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${"a: b\r\n".repeat(3_000)}\r\n`],
  ])("%s: 400 or 431, and the bytes after it are not read as a request", async (_, bytes) => {
    const answer = await toGateway(bytes);
    // Which of the two a parser says of many headers depends on its version.
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual([expect.stringMatching(/^HTTP\/1.1 (?:400|431)$/)]);
  });

  test("the body of a GET is not parsed as the next request", async () => {
    for (const path of ["/api/health", "/rest/v1/organizations?select=id"]) {
      const answer = await toGateway(
        `GET ${path} HTTP/1.1\r\nHost: a\r\napikey: ${own.publishable_key}\r\nContent-Length: ${inner.length}\r\nConnection: close\r\n\r\n${inner}`,
      );
      expect(answer.match(/HTTP\/1.1 \d+/g), path).toEqual(["HTTP/1.1 200"]);
    }
  });
});

describe("bodies that never arrive", () => {
  test("400 of them delay no other requests, use no upstream connection and are cut off", async () => {
    const path = [
      "/api/submissions",
      "/auth/v1/token?grant_type=password",
      "/rest/v1/rpc/my_votes",
      "/functions/v1/mcp",
    ];
    const sockets = Array.from({ length: 400 }, (_, n) => {
      const socket = connect({ port: portOf(own.supabase_url), host: "127.0.0.1", localAddress: "127.0.1.2" });
      socket.on("error", () => undefined);
      socket.write(
        `POST ${path[n % 4]} HTTP/1.1\r\nHost: a\r\napikey: ${own.publishable_key}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{`,
      );
      return socket;
    });
    const answers = sockets.map(
      (socket) => new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(String(chunk).slice(0, 12)))),
    );
    for (let n = 0; n < 5; n++) expect(await health()).toBeLessThan(prompt);
    expect((await data("organizations?select=id", "127.0.0.9")).status).toBe(200);
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["HTTP/1.1 400", "HTTP/1.1 404"]));
    for (const socket of sockets) socket.destroy();
  });

  test("a large upload may pause for less than the body timeout", async () => {
    const key = await own.key(["submissions:moderate"]);
    const { port, hostname } = new URL(own.supabase_url);
    const lineOf = (n: number) => `${n},idea,A slow line,${"It takes its time. ".repeat(10)}\n`;
    const answer = await new Promise<number>((resolve, reject) => {
      const outgoing = request(
        {
          port,
          hostname,
          method: "POST",
          path: "/api/admin/import?dry_run=true",
          headers: { authorization: `Bearer ${key}`, "content-type": "text/csv" },
        },
        (incoming) => {
          incoming.resume();
          resolve(incoming.statusCode ?? 0);
        },
      );
      outgoing.on("error", reject);
      let sent = 0;
      const more = setInterval(() => {
        outgoing.write(sent === 0 ? "id,type,title,description\n" : lineOf(sent).repeat(30));
        if (++sent < 30) return;
        clearInterval(more);
        outgoing.end();
      }, 100);
    });
    expect(answer).toBe(202);
  });
});

describe("connections", () => {
  const oneMore = "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

  test("one address can open up to its limit, others have their own", async () => {
    const server = createGateway({
      addressHeader: "x-address-of-a-test",
      ...withoutData,
      functionPort: () => undefined,
      limits: { connectionsPerAddress: 20 },
    });
    await listen(server, 0, "PORT");
    const { port } = server.address() as { port: number };
    const open = () => connect({ port, host: "127.0.0.1", localAddress: "127.0.1.3" });
    const sockets = Array.from({ length: 25 }, open);
    const closed = sockets.map((socket) => socket.on("error", () => undefined)).filter((socket) => socket);
    await until(() => closed.filter((socket) => socket.destroyed || socket.readableEnded).length === 5);
    expect(await raw(oneMore, { port, from: "127.0.1.4" })).toMatch(/^HTTP\/1.1 404/);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  test("incomplete request heads are cut off, and others are served meanwhile", async () => {
    const server = createGateway({
      addressHeader: "x-address-of-a-test",
      ...withoutData,
      functionPort: () => undefined,
      limits: { headMs: 1_000 },
    });
    await listen(server, 0, "PORT");
    const { port } = server.address() as { port: number };
    const open = (text: string) => {
      const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.1.6" });
      socket.on("error", () => undefined);
      socket.write(text);
      return socket;
    };
    const starts = ["GET /x HTTP/1.1\r\nHost: a\r\nX-A: ", "GET /realtime/v1/websocket HTTP/1.1\r\nUpgrade: web", "G"];
    const slow = Array.from({ length: 60 }, (_, n) => open(starts[n % 3] ?? ""));
    // One byte now and then does not extend the timeout.
    const dripping = setInterval(() => {
      for (const socket of slow) socket.write("a");
    }, 100);
    expect(await raw(oneMore, { port, from: "127.0.1.6" })).toMatch(/^HTTP\/1.1 404/);
    for (const socket of slow) socket.resume();
    await until(() => slow.every((socket) => socket.destroyed));
    clearInterval(dripping);
    server.close();
  });

  test("are accepted on the loopback interface only, by every process of the stack", async () => {
    await data("organizations?select=id", "127.0.0.9");
    const listeners = await listenersOf(await descendants());
    for (const { name, address } of listeners) expect(address, name).toMatch(/^127\.0\.0\.1:/);
    // These are the gateway in this process, auth, the three functions and Postgres. The data API has a Unix socket,
    // realtime none.
    expect(listeners.length, JSON.stringify(listeners)).toBeGreaterThanOrEqual(6);
  });
});

describe("slow statements", () => {
  beforeAll(async () => {
    const id = await own.submission(person);
    await own.sql`
      insert into comments (submission_id, author_id, body)
      select ${id}, ${person.id}, repeat('ab', 900) || 'cz' from generate_series(1, 100)`;
  });
  afterAll(async () => {
    const database = postgres(own.superuserUrl, { max: 1 });
    await database`alter role anon set statement_timeout = '3s'`;
    await database`alter role authenticated set statement_timeout = '8s'`;
    await database`notify pgrst, 'reload config'`;
    await database.end();
  });
  const slow = "comments?select=id&body=match.(.*)(.*)(.*)%5C1%5C2%5C3$";

  test("are canceled after 3 seconds for anon and 8 for a user, or after the operator's setting", async () => {
    const database = postgres(own.superuserUrl, { max: 1 });
    const roles = await database`
      select rolname, rolconfig from pg_roles where rolname in ('anon', 'authenticated') order by rolname`;
    expect(roles.map(({ rolconfig }) => rolconfig)).toEqual([
      expect.arrayContaining(["statement_timeout=3s"]),
      expect.arrayContaining(["statement_timeout=8s"]),
    ]);
    await database`alter role anon set statement_timeout = '1500ms'`;
    await database`alter role authenticated set statement_timeout = '2500ms'`;
    await database`notify pgrst, 'reload config'`;
    await database.end();
    let tries = 0;
    const noAccess = await until(async () => {
      const answer = await data(slow, `127.0.10.${++tries}`);
      return answer.ms < 2_900 && answer;
    });
    const user = await data(slow, "127.0.2.2", person.token);
    expect([noAccess.status, (noAccess.body as { code?: string }).code]).toEqual([500, "57014"]);
    expect(noAccess.ms).toBeGreaterThan(1_450);
    expect((user.body as { code?: string }).code).toBe("57014");
    expect(user.ms).toBeGreaterThan(2_450);
  });

  test("run with lower CPU priority than the API, and with a limit of memory", async () => {
    // The statement runs long enough for its backend to be found.
    await data(slow, "127.0.2.4");
    expect((await own.call("GET", "/api/submissions")).status).toBe(200);
    const database = postgres(own.superuserUrl, { max: 1 });
    const backends = await database<{ pid: number; name: string }[]>`
      select pid, usename as name from pg_stat_activity where usename in ('embedded_rest', 'feedback_api')`;
    await database.end();
    for (const { pid, name } of backends) {
      const group = await readFile(`/proc/${pid}/autogroup`, "utf8").catch(() => "none on this kernel");
      expect(group, name).toMatch(name === "embedded_rest" ? /nice 10|none/ : /nice 0|none/);
      const memory = /^Max data size +(\S+)/m.exec(await readFile(`/proc/${pid}/limits`, "utf8"))?.[1];
      expect(memory === String(96 << 20), name).toBe(name === "embedded_rest");
    }
    const priorities = new Set(backends.map(({ pid, name }) => `${name} ${getPriority(pid)}`));
    // The priority of an ordinary process.
    const ordinary = getPriority();
    expect([...priorities].toSorted()).toEqual(["embedded_rest 10", `feedback_api ${ordinary}`]);
    expect([getPriority(await authPid()), getPriority(await dataApiPid())]).toEqual([ordinary, 10]);
  });

  test("of one address do not block the data API, sign-in and the API for others, and are soon rejected", async () => {
    const auth = (path: string) =>
      own.call("POST", `/auth/v1/${path}`, {
        base: own.supabase_url,
        from: "127.0.2.5",
        headers: { apikey: own.publishable_key },
        body: { email: "somebody@test.example", password: "correct horse battery" },
      });
    expect((await auth("signup")).status).toBe(200);
    const attack = async () => {
      for (;;) {
        const answer = await data(slow, "127.0.2.3");
        if (answer.status === 429) return Number(answer.headers["retry-after"]);
      }
    };
    const attackers = Array.from({ length: 12 }, attack);
    let isOver = false;
    const over = Promise.all(attackers).finally(() => {
      isOver = true;
    });
    // Each from an address of its own: on a busy machine, several of one might count as slow themselves.
    for (let n = 1; !isOver; n++) {
      const own = await data("organizations?select=id", `127.0.7.${1 + (n % 250)}`);
      expect([own.status, own.ms < prompt]).toEqual([200, true]);
      expect(await health()).toBeLessThan(prompt);
      expect((await auth("token?grant_type=password")).status).toBe(200);
    }
    const waits = await over;
    for (const seconds of waits) expect(seconds).toBeGreaterThan(0);
    expect((await data("organizations?select=id", "127.0.2.3")).status).toBe(429);
    expect((await data("organizations?select=id", "127.0.2.4")).status).toBe(200);
  });
});

describe("large responses", () => {
  // A busy machine may need longer than an anonymous statement may take: its timeout would come before these limits.
  beforeAll(async () => {
    await own.sql.unsafe(`
      create function public.own_timeout() returns text language sql as $$ select current_setting('statement_timeout') $$;
      grant execute on function public.own_timeout() to anon`);
    const database = postgres(own.superuserUrl, { max: 1 });
    await database`alter role anon set statement_timeout = '60s'`;
    await database`notify pgrst, 'reload config'`;
    await database.end();
    await until(async () => (await data("rpc/own_timeout", "127.0.3.14")).body === ("1min" as unknown));
  });
  test("one of more than 10 MiB is an error with a hint, and the data API continues", async () => {
    const ids = [await own.submission(victim), await own.submission(victim)];
    await own.sql`
      insert into comments (submission_id, author_id, body)
      select id::uuid, ${victim.id}, repeat('👍', 2000) from unnest(${ids}::text[]) id, generate_series(1, 700)`;
    const whole = `submissions?id=in.(${ids})&select=id,comments(body)`;
    const answer = await data(whole, "127.0.3.1");
    expect([answer.status, (answer.body as { code?: string }).code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    expect(answer.text).toContain("larger than 10 MiB");
    // From another address: on a busy machine, the first one may have used up its time for slow statements.
    expect((await data(`${whole}&comments.limit=10`, "127.0.3.7")).status).toBe(200);
  });

  test("a statement that needs too much memory for its response is canceled", async () => {
    const id = await own.submission(victim);
    await own.sql`
      insert into comments (submission_id, author_id, body)
      select ${id}, ${victim.id}, repeat('👍', 2000) from generate_series(1, 100)`;
    const peakMegabytes = async (pid: number) =>
      Number(/^VmHWM:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
    // 150 MB of JSON.
    const columns = Array.from({ length: 190 }, (_, n) => `c${n}:body`);
    const answer = await data(`comments?submission_id=eq.${id}&select=${columns}`, "127.0.3.8");
    expect([answer.status, (answer.body as { code?: string }).code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    // A step that cannot be canceled: the memory limit of the operating system stops it.
    await own.sql`update submissions set description = repeat('👍', 4999) where id = ${id}`;
    const nested = "select=submissions(comments(submissions(a:description,b:description)))&limit=1";
    await own.sql`
      insert into comments (submission_id, author_id, body)
      select ${id}, ${victim.id}, 'x' from generate_series(1, 900)`;
    // From another address: on a busy machine, the first one may have used up its time for slow statements.
    expect((await data(`comments?submission_id=eq.${id}&${nested}`, "127.0.3.15")).status).toBe(413);
    // Without these limits, PostgREST would have read the whole result.
    expect(await peakMegabytes(await dataApiPid())).toBeLessThan(200);
    expect((await data("organizations?select=id", "127.0.3.9")).status).toBe(200);
  });

  /** A gateway in front of a server that gives long answers, and clients that send requests from a given address. */
  async function longAnswers(bytes: number, more: Partial<GatewayLimits>, method = "GET", asked = () => {}) {
    const upstream = createServer((incoming, response) => {
      asked();
      incoming.resume().on("end", () => response.end(Buffer.alloc(bytes, "x")));
    });
    await listen(upstream, 0, "PORT");
    const upstreamPort = () => (upstream.address() as { port: number }).port;
    const gateway = createGateway({
      addressHeader: "x-address-of-a-test",
      ...withoutData,
      dataApi: () => ({ listener: () => ({ host: "127.0.0.1", port: upstreamPort() }), begin: () => () => undefined }),
      functionPort: upstreamPort,
      // On a busy machine, copying such an answer counts as slow.
      limits: { slowWorkMs: Number.MAX_SAFE_INTEGER, ...more },
    });
    await listen(gateway, 0, "PORT");
    const { port } = gateway.address() as { port: number };
    const request = (path: string, localAddress: string) => {
      const socket = connect({ port, host: "127.0.0.1", localAddress });
      socket.on("error", () => undefined);
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHost: a\r\napikey: ${stack.publishable_key}\r\nContent-Length: 0\r\n\r\n`,
      );
      return socket;
    };
    return {
      port,
      request,
      /** Sends a request and reads only the status of the answer. */
      unread: (path: string, localAddress: string) =>
        new Promise<string>((resolve) => {
          const socket = request(path, localAddress);
          socket.once("data", (chunk: Buffer) => {
            socket.pause();
            resolve(chunk.subarray(9, 12).toString());
          });
        }),
      /** The number of received bytes, of an answer or a refusal. */
      read: (path: string, localAddress: string) =>
        new Promise<number>((resolve) => {
          let length = 0;
          const socket = request(path, localAddress);
          socket.on("close", () => resolve(length));
          socket.on("data", (chunk: Buffer) => {
            length += chunk.length;
            if (length > bytes || chunk.includes(" 429 ")) socket.destroy();
          });
        }),
      close() {
        gateway.closeAllConnections();
        gateway.close();
        upstream.close();
        upstream.closeAllConnections();
      },
    };
  }

  // The gateway buffers responses of the data API completely; responses of the API and the pages exceed the buffers of
  // two connections.
  const paths = [
    ["/rest/v1/submissions", 9_000_000],
    ["/api/submissions", 40_000_000],
    ["/", 40_000_000],
  ] as const;

  test.each(paths)("of %s that are unread are cut off, and leave room to others meanwhile", async (path, bytes) => {
    const answers = await longAnswers(bytes, { readMs: 3_000, heldBytesPerAddress: 2.5 * bytes });
    try {
      const asked = await Promise.all(Array.from({ length: 5 }, () => answers.unread(path, "127.0.3.2")));
      expect(asked.toSorted()).toEqual(["200", "200", "429", "429", "429"]);
      expect(await answers.read(path, "127.0.3.3")).toBeGreaterThan(bytes);
      // Only cut off connections make room for more of theirs.
      await until(async () => (await answers.read(path, "127.0.3.2")) > bytes);
    } finally {
      answers.close();
    }
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "to %s that are unread count: the next request is refused before it runs",
    async (method) => {
      const bytes = 40_000_000;
      let asked = 0;
      const answers = await longAnswers(bytes, { heldBytesPerAddress: bytes / 2 }, method, () => asked++);
      try {
        // The answer to a write that has run is never replaced by an error.
        expect(await answers.unread("/api/submissions", "127.0.3.10")).toBe("200");
        for (const path of ["/api/submissions", "/sign-in"])
          expect(await answers.unread(path, "127.0.3.10"), path).toBe("429");
        expect(asked).toBe(1);
        expect(await answers.unread("/api/submissions", "127.0.3.11")).toBe("200");
      } finally {
        answers.close();
      }
    },
  );

  test("are not all that counts: the bodies of the functions do too, until they are answered", async () => {
    const answers = await longAnswers(1, { heldBytesPerAddress: 2_500_000 });
    const post = () => {
      const socket = connect({ port: answers.port, host: "127.0.0.1", localAddress: "127.0.3.12" });
      socket.on("error", () => undefined);
      const head = "POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n";
      socket.write(head + "a".repeat(400_000));
      const answer = new Promise<string>((resolve) =>
        socket.once("data", (chunk: Buffer) => resolve(chunk.subarray(9, 12).toString())),
      );
      return { answer, finish: () => socket.write("a".repeat(100_000)) };
    };
    try {
      const posted = [post(), post(), post()];
      expect(await Promise.race(posted.map(({ answer }) => answer))).toBe("429");
      for (const { finish } of posted) finish();
      const all = await Promise.all(posted.map(({ answer }) => answer));
      expect(all.toSorted()).toEqual(["200", "200", "429"]);
      const later = post();
      later.finish();
      expect(await later.answer).toBe("200");
    } finally {
      answers.close();
    }
  });

  test("to clients that left take no room", async () => {
    const bytes = 9_000_000;
    let asked = 0;
    const answers = await longAnswers(bytes, { heldBytesPerAddress: 1.5 * bytes }, "GET", () => asked++);
    try {
      for (const path of ["/rest/v1/submissions", "/api/submissions"])
        for (let n = 0; n < 3; n++) {
          const before = asked;
          const socket = answers.request(path, "127.0.3.13");
          await until(() => asked > before);
          socket.destroy();
        }
      for (const path of ["/rest/v1/submissions", "/api/submissions"])
        await until(async () => (await answers.read(path, "127.0.3.13")) > bytes);
    } finally {
      answers.close();
    }
  });

  test.each(paths)("of %s that few addresses leave unread keep no other address out", async (path, bytes) => {
    const answers = await longAnswers(bytes, {
      readMs: 600_000,
      heldBytesPerAddress: 3.5 * bytes,
      heldBytes: 6.5 * bytes,
    });
    try {
      for (const from of ["127.0.3.4", "127.0.3.5"])
        for (let n = 0; n < 3; n++) expect(await answers.unread(path, from)).toBe("200");
      for (let n = 0; n < 3; n++) expect(await answers.read(path, "127.0.3.6")).toBeGreaterThan(bytes);
    } finally {
      answers.close();
    }
  });
});

describe("processes that die or hang", () => {
  test("auth and the data API have a memory limit each", async () => {
    const commands = new Map((await descendants()).map(({ pid, command }) => [pid, command]));
    expect(commands.get(await authPid())).toMatch(/--max-old-space-size=\d{3}\b/);
    expect(await readFile(`/proc/${await dataApiPid()}/environ`, "utf8")).toMatch(/\0GHCRTS=-M\d{3}m /);
  });

  test("the data API restarts after kill -9, and auth continues", async () => {
    process.kill(await dataApiPid(), "SIGKILL");
    const down = await until(async () => {
      const answer = await data("organizations?select=id", "127.0.4.1");
      return answer.status === 503 && answer;
    });
    expect(down.headers["retry-after"]).toBe("1");
    expect(
      await toGateway(
        `GET /auth/v1/health HTTP/1.1\r\nHost: a\r\napikey: ${own.publishable_key}\r\nConnection: close\r\n\r\n`,
      ),
    ).toMatch(/ 200 /);
    await until(async () => (await data("organizations?select=id", "127.0.4.1")).status === 200);
  });

  test.concurrent.each([
    ["auth", authPid],
    ["the data API", dataApiPid],
  ])("%s that hangs is killed and starts again", async (_, pidOf) => {
    const pid = await pidOf();
    process.kill(pid, "SIGSTOP");
    await until(async () => (await pidOf()) !== pid);
    await until(async () => (await data("organizations?select=id", "127.0.4.2")).status === 200);
    await until(
      async () =>
        (await own.call("GET", "/auth/v1/health", { base: own.supabase_url, headers: { apikey: own.publishable_key } }))
          .status === 200,
    );
  });
});

test("a new function is callable at once", async () => {
  await own.sql.unsafe("create function public.answer() returns int language sql as 'select 42'");
  await own.sql`grant execute on function public.answer() to anon`;
  const answer = await until(async () => {
    const { status, body } = await data("rpc/answer", "127.0.4.3");
    return status === 200 && body;
  });
  expect(answer).toBe(42);
});

describe("Postgres's log", () => {
  const log = () => join(own.folder, "postgres.log");

  test("does not grow by what the data API rejects: the client gets the error", async () => {
    const before = (await stat(log())).size;
    const rejected = 20;
    for (let n = 0; n < rejected; n++) {
      const title = { title: `${n}${"x".repeat(3_000)}`, description: "y".repeat(3_000), type: "idea" };
      const answer = await rest("submissions", { against: own, token: person.token, body: title });
      expect(answer.status).toBe(400);
    }
    // Others may write a line meanwhile, but not one each.
    expect((await stat(log())).size - before).toBeLessThan(rejected * 20);
  });

  test("is truncated at the size limit, and one old copy is kept", async () => {
    await rotateLogs(own.folder, 10);
    expect((await stat(log())).size).toBe(0);
    expect((await stat(`${log()}.old`)).mode & 0o777).toBe(0o600);
    await expect(own.sql`select 1 / 0`).rejects.toThrow("division by zero");
    await until(async () => (await stat(log())).size > 0);
    expect((await readFile(log(), "utf8")).charCodeAt(0)).not.toBe(0);
  });
});
