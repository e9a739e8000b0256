import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { newBoard, prepare } from "../access/callers.ts";
import { routesOfTheService } from "../access/service.ts";
import { joinTeam, newOrganization } from "../api/world.ts";
import { placesOf } from "../browsers/places.ts";
import { cookieHeader, signUpOnTheWeb } from "../browsers/session.ts";
import { tableUnder } from "../docs/markdown.ts";
import { importFunction } from "../import-function.ts";
import { stack } from "../stack.ts";
import { newAgent } from "./admin/agents.ts";
import { newVisitor } from "./pages.ts";

// What leaves compressed, in which coding, and what never does: a response with a secret, whose length would tell of it.

const { demo } = stack;
if (!demo) throw new Error("There is no demo data.");
const agent = new Agent({ keepAlive: true });
type Read = { status: number; headers: IncomingHttpHeaders; coding: string | undefined; sent: number; text: string };
type Asked = {
  method?: string;
  headers?: Record<string, string | undefined>;
  body?: string | undefined;
  base?: string;
};

const decoders = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes };

/** A response as it was sent, and what it says. */
function read(path: string, { method = "GET", headers, body, base = stack.site_url }: Asked = {}): Promise<Read> {
  const given = Object.entries({ "accept-encoding": "gzip, deflate, br, zstd", ...headers });
  const asked = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const outgoing = request(base + path, { method, headers: asked, agent }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const coding = incoming.headers["content-encoding"] as keyof typeof decoders | undefined;
        const text = bytes.length > 0 ? decoders[coding ?? "identity"](bytes).toString() : "";
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, coding, sent: bytes.length, text });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const assetIn = async (pattern: RegExp) => pattern.exec((await read("/")).text)?.[0] ?? "";
const stylesheet = await assetIn(/\/assets\/style-[\w-]+\.css/);
const list = `/api/submissions?organization=${demo.organization.slug}`;

describe("the coding is what the client prefers", () => {
  const tables: [accepted: string | undefined, asset: string | undefined, page: string | undefined][] = [
    ["gzip, deflate, br, zstd", "br", "gzip"],
    ["gzip", "gzip", "gzip"],
    ["GZIP;q=1.0", "gzip", "gzip"],
    ["br", "br", undefined],
    ["br;q=0.4, gzip;q=0.5", "gzip", "gzip"],
    ["br;q=0, gzip;q=0, *", undefined, undefined],
    ["br;q=0, *;q=0.1", "gzip", "gzip"],
    ["*", "br", "gzip"],
    ["identity;q=0, *", "br", "gzip"],
    ["identity, gzip;q=0.5", undefined, undefined],
    ["identity;q=0", undefined, undefined],
    ["gzip;q=0.000", undefined, undefined],
    ["gzip;q=x, br;q=", undefined, undefined],
    ["xgzip, brx, deflate, zstd", undefined, undefined],
    ["", undefined, undefined],
    [undefined, undefined, undefined],
  ];
  test.each(tables)("%s", async (accepted, ofAsset, ofText) => {
    for (const [path, coding] of [
      [stylesheet, ofAsset],
      ["/widget.js", ofAsset],
      ["/", ofText],
      [list, ofText],
      ["/feed.xml", ofText],
      ["/api/openapi.json", ofText],
    ] as const) {
      const bare = { "accept-encoding": "identity" };
      const answer = await read(path, { headers: { "accept-encoding": accepted } });
      const plain = await read(path, { headers: bare });
      expect([path, answer.status, answer.coding]).toEqual([path, 200, coding]);
      expect(answer.text === plain.text, path).toBe(true);
      for (const { headers } of [answer, plain]) {
        expect(headers.vary?.split(", "), path).toContain("Accept-Encoding");
        expect(headers["content-length"], path).toBeDefined();
      }
      // At the fastest level, a list of ids and short texts is a little over half.
      if (coding) expect(answer.sent, path).toBeLessThan(plain.sent * 0.6);
    }
  });

  test("HEAD has the headers of GET without the length, and no body", async () => {
    const key = { authorization: `Bearer ${demo.api_keys.full}` };
    for (const path of ["/", stylesheet, list, "/robots.txt", "/brand/4b49c8.svg", "/nothing", "/api/admin/export"]) {
      const [head, get] = await Promise.all(["HEAD", "GET"].map((method) => read(path, { method, headers: key })));
      const { "content-length": length, ...headers } = head?.headers ?? {};
      expect([path, head?.status, length, head?.sent]).toEqual([path, get?.status, undefined, 0]);
      for (const name of ["content-type", "content-encoding", "cache-control", "etag", "vary"])
        expect([path, name, headers[name]]).toEqual([path, name, get?.headers[name]]);
    }
    const { etag } = (await read("/")).headers;
    expect((await read("/", { method: "HEAD", headers: { "if-none-match": etag } })).status).toBe(304);
  });

  test("a range is answered with the whole, because its bytes would depend on the coding", async () => {
    const answer = await read(stylesheet, { headers: { range: "bytes=0-9" } });
    expect([answer.status, answer.coding, answer.headers["content-range"]]).toEqual([200, "br", undefined]);
    expect(answer.text.length).toBeGreaterThan(10_000);
  });

  test("who has a page, script or style is not sent it again, whatever the coding", async () => {
    for (const path of ["/", "/roadmap", stylesheet, "/widget.js"]) {
      const { headers } = await read(path);
      for (const accepted of ["br", "gzip", "identity"]) {
        const asked = { "if-none-match": headers.etag ?? "none", "accept-encoding": accepted };
        const again = await read(path, { headers: asked });
        expect([path, again.status, again.sent, again.coding]).toEqual([path, 304, 0, undefined]);
        expect(again.headers.vary).toBe(headers.vary);
      }
    }
  });

  test("a redirect is never unchanged, also if it has the tag of an empty text", async () => {
    const { data } = JSON.parse((await read(list)).text);
    const path = `/submissions/${data[0].id}`;
    const { status, headers } = await read(path);
    const again = await read(path, { headers: { "if-none-match": headers.etag ?? "none" } });
    expect([status, again.status, again.headers.location]).toEqual([301, 301, headers.location]);
  });

  test("small responses are not compressed", async () => {
    for (const path of ["/robots.txt", "/api/health", "/brand/4b49c8.svg"]) {
      const { coding, sent } = await read(path);
      expect([path, coding]).toEqual([path, undefined]);
      expect(sent).toBeLessThanOrEqual(1024);
    }
  });
});

// Keys, secrets of webhooks and of signing, tokens of agents, invitations and sessions; addresses with a token.
const secret =
  /fcs_(?:org|agt|sig|inv|usr)_[\w-]{30,}|whsec_[\w+/&#;]{30,}|\beyJ[\w-]{10,}\.eyJ[\w-]+|sb_secret_\w+|[?&;]token=[\w-]{20,}/;

/** Whether the response has a secret; if so, nothing on the way may compress it. */
function checked(name: string, { coding, headers, text }: Read): boolean {
  const hasSecret = secret.test(text);
  const isCompressible = !/no-transform/.test(headers["cache-control"] ?? "");
  if (hasSecret) expect([name, coding, isCompressible]).toEqual([name, undefined, false]);
  return hasSecret;
}

const fromHere = { "sec-fetch-site": "same-origin" };
const form = { ...fromHere, "content-type": "application/x-www-form-urlencoded", origin: stack.site_url };

test("no route of the API sends a secret compressed", async () => {
  const board = await newBoard("public");
  // Its signing secret is replaced by another route.
  const identifying = await newBoard("public");
  const [withSecret, expected]: [string[], string[]] = [[], []];
  const { token } = board.people.admin;
  for (const route of await routesOfTheService()) {
    // Streams do not end.
    if (/^\/api\/mcp\/(?:stream|subscribe)\//.test(route.path)) continue;
    const name = `${route.method} ${route.path}`;
    const { method, path, call } = await prepare(route, token, route.path === "/api/identify" ? identifying : board);
    const headers: Record<string, string> = { ...fromHere, ...call.headers };
    headers.authorization = `Bearer ${token}`;
    if (call.on) headers["x-organization"] = call.on.slug;
    if (call.body) headers["content-type"] = "application/json";
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const answer = await read(path, { method, headers, body, base: stack.base_url });
    if (checked(name, answer)) withSecret.push(name);
    if (route.endpoint?.showsSecret || route.path === "/api/identify") expected.push(name);
    if (method !== "GET") expect([name, answer.coding]).toEqual([name, undefined]);
  }
  expect(withSecret).toEqual(expected);
});

type Page = { method: string; path: string; showsSecret?: boolean; query?: Schema; actions?: Page[] };
type Compression = { isRevealing(request: Request, route: Pick<Page, "showsSecret">): boolean };
type Schema = { shape?: object; def?: { in?: Schema; out?: Schema; innerType?: Schema } } | undefined;
const fieldsOf = (schema: Schema): string[] =>
  schema?.shape
    ? Object.keys(schema.shape)
    : [schema?.def?.in, schema?.def?.out, schema?.def?.innerType].flatMap((inner) => (inner ? fieldsOf(inner) : []));
const secretFields = ["code", "error_code", "token", "token_hash"];
/** Fields that never have a secret. */
const openFields = (
  "action actor_id after answered author before category comment count cursor days done dry_run email " +
  "end_date error expand first format from interval lang limit list metrics move moved mute order " +
  "organization outcome page parent_id plot q question refused return_to saved search sentiment sort source " +
  "start_date state status tag target_id thread title to tool type types undo unread what"
).split(" ");

describe("pages", async () => {
  const places = await placesOf(stack);
  const cookies = new Map<string, string>();
  for (const user of new Set(places.flatMap(({ as }) => as ?? []))) {
    const visitor = newVisitor();
    await visitor.post("/sign-in", { email: demo.users[user], password: demo.password, return_to: "/" });
    cookies.set(user, visitor.cookies());
  }

  test.each(places)(
    "$name: compressed if it has no secret and no other site can have chosen its address",
    async ({ name, path, as }) => {
      const ask = (site?: string) =>
        read(path, { headers: { ...(as && { cookie: cookies.get(as) }), ...(site && { "sec-fetch-site": site }) } });
      for (const site of ["same-origin", "none", "same-site", "cross-site", undefined]) {
        const answer = await ask(site);
        checked(name, answer);
        const isOwn = !as || site === "same-origin" || site === "none";
        const isLong = answer.text.length > 1024;
        expect([site, answer.coding]).toEqual([site, isOwn && isLong ? "gzip" : undefined]);
        expect(/no-transform/.test(answer.headers["cache-control"] ?? "")).toBe(!isOwn);
        // Nothing of a person is kept for going back.
        const isKept = !/no-store/.test(answer.headers["cache-control"] ?? "");
        expect(isKept && (as !== undefined || /type="?password/.test(answer.text)), name).toBe(false);
        expect(answer.text.includes("data-may-be-kept")).toBe(isKept);
      }
    },
  );

  test("no form that makes a secret, no address with one and no token leave compressed", async () => {
    const organization = await newOrganization();
    const { cookies: own, userId } = await signUpOnTheWeb({ encoding: "base64url" });
    await joinTeam(userId, organization, "owner");
    const cookie = cookieHeader(own);
    const admin = `/o/${organization.slug}/admin`;
    const agentId = await newAgent({ organization, authorId: userId });
    const forms: [path: string, fields: Record<string, string>][] = [
      [`${admin}/settings/api-keys`, { name: "A key", scopes: "submissions:read" }],
      [
        `${admin}/settings/webhooks`,
        { organization_id: organization.id, url: "http://127.0.0.1:9/", events: "survey.closed" },
      ],
      [`${admin}/settings/identify`, {}],
      [`${admin}/settings/agents/${agentId}/keys`, { scopes: "submissions:read" }],
      [`${admin}/people/invites`, { organization_id: organization.id, email: "somebody@test.example", role: "member" }],
    ];
    for (const [path, fields] of forms) {
      const body = new URLSearchParams({ form_id: randomUUID(), ...fields }).toString();
      const answer = await read(path, { method: "POST", headers: { ...form, cookie }, body });
      expect([path, answer.status, checked(path, answer)]).toEqual([path, 200, true]);
    }
    const token = await read("/realtime-token", { headers: { ...fromHere, cookie } });
    expect(checked("/realtime-token", token)).toBe(true);
    const known = randomUUID();
    for (const path of ["/mail", "/unsubscribe", "/claim", "/invite", "/setup", "/auth/confirm"])
      for (const field of ["token", "token_hash"]) {
        const answer = await read(`${path}?${field}=${known}`, { headers: { ...fromHere, cookie } });
        expect([path, answer.coding, answer.headers["cache-control"]]).toEqual([
          path,
          undefined,
          "no-store, no-transform",
        ]);
      }
    // The sign-in repeats where it leads back to.
    for (const leadsTo of [`/invite?token=${known}`, `/sign-up?return_to=${encodeURIComponent(`/a?token=${known}`)}`]) {
      const answer = await read(`/sign-in?return_to=${encodeURIComponent(leadsTo)}`);
      expect(answer.text).toContain(known);
      expect([answer.coding, answer.headers["cache-control"]]).toEqual([undefined, "no-store, no-transform"]);
    }
    expect((await read("/sign-in?return_to=/%3Fq%3Dtoken")).coding).toBe("gzip");
  });

  test("of all pages only those without a secret are compressed, and every field of an address is known", async () => {
    const root = new URL("../../functions/", import.meta.url);
    const { isRevealing } = await importFunction<Compression>(new URL("_shared/http/compression.ts", root));
    const { pages } = await importFunction<{ pages: Page[] }>(new URL("web/app.ts", root));
    const isSent = (page: Pick<Page, "method" | "showsSecret">, query = "") =>
      !isRevealing(new Request(`http://site.example/?${query}`, { method: page.method.toUpperCase() }), page);
    const all = pages.flatMap((page) => [page, ...(page.actions ?? [])]);
    const isHeld = (page: Page) => page.method !== "get" || page.path === "/realtime-token";
    expect(all.filter((page) => isSent(page) === isHeld(page)).map(({ path }) => path)).toEqual([]);
    const asked = [...all, ...(await routesOfTheService()).flatMap(({ endpoint }) => endpoint ?? [])];
    const web = new URL("web/", root);
    const files = readdirSync(web, { encoding: "utf8", recursive: true }).filter((file) =>
      /(?<!generated)\.tsx?$/.test(file),
    );
    const sources = files.map((file) => readFileSync(new URL(file, web), "utf8"));
    const names = new Set([
      ...asked.flatMap(({ method, query }) => (method === "get" ? fieldsOf(query as Schema) : [])),
      ...[...sources.join().matchAll(/query\.(?:get|has)\("(\w+)"/g)].map(([, name = ""]) => name),
    ]);
    const isOpen = (name: string) => isSent({ method: "get" }, `${name}=x`);
    expect([...names].filter((name) => !isOpen(name)).sort()).toEqual(secretFields);
    expect([...names].filter(isOpen).sort()).toEqual(openFields);
  });

  test("what a page asks for by itself, when others write or choose it, is compressed for nobody who is signed in", async () => {
    const cookie = cookies.get("owner") as string;
    const byItself = { "cache-control": "no-transform" };
    const asLogo = { "sec-fetch-dest": "image" };
    for (const [path, headers, coding] of [
      ["/", {}, "gzip"],
      ["/", asLogo, undefined],
      ["/", byItself, undefined],
      [`/?comment=${randomUUID()}`, {}, undefined],
    ] as const) {
      const own = await read(path, { headers: { ...fromHere, ...headers, cookie } });
      expect([path, own.status, own.coding]).toEqual([path, 200, coding]);
      const visitors = await read(path, { headers: { ...fromHere, ...headers } });
      expect([path, visitors.coding]).toEqual([path, "gzip"]);
    }
  });

  test("every cookie of the pages but language and theme counts as one of a person", async () => {
    const names = tableUnder("docs/pages.md", "Cookies and headers").flatMap(([names = ""]) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.replace(/<\w+>/, "x")),
    );
    expect(names.length).toBeGreaterThan(7);
    for (const name of names)
      for (const prefix of ["", "__Host-"]) {
        const { coding } = await read("/", { headers: { cookie: `${prefix}${name}=x; _ga=x` } });
        expect([name, coding]).toEqual([name, ["lang", "theme"].includes(name) ? "gzip" : undefined]);
      }
  });

  test("the session in the widget's frame counts as one of a person", async () => {
    const answer = await read(`/embed/o/${demo.organization.slug}`, { headers: { cookie: "feedback-widget=x" } });
    expect([answer.coding, answer.headers["cache-control"]]).toEqual([undefined, "no-store, no-transform"]);
  });
});

test("answers to agents may not be compressed on the way, and their streams are not", async () => {
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const key = demo.agent_keys.standard;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "application/json" };
  const answer = await read("/api/mcp/tools", { method: "POST", headers, body: call });
  expect([answer.status, answer.coding]).toEqual([200, undefined]);
  expect(answer.headers["cache-control"]).toMatch(/no-transform/);
  const events = { ...headers, accept: "application/json, text/event-stream" };
  const initialize = JSON.stringify({
    ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  });
  const stream = await read("/api/mcp", { method: "POST", headers: events, body: initialize });
  expect([stream.status, stream.coding]).toEqual([200, undefined]);
  expect(stream.headers["cache-control"]).toMatch(/no-transform/);
});
