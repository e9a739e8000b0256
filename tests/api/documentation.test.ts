import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { parse } from "node-html-parser";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { EndpointDescription } from "../../functions/_shared/http/endpoint.ts";
import { exampleOf } from "../../functions/api/documentation/example.ts";
import { type OpenApi, type Operation, resolve, type Schema } from "../../functions/api/documentation/model.ts";
import { openApi } from "../../functions/api/documentation/openapi.ts";
import { page } from "../../functions/api/documentation/page.ts";
import { commentCreate, commentCreateByKey, commentCreatedAnswer } from "../../shared/comments.ts";
import { patternOf } from "../../shared/path-parameters.ts";
import { rateLimits } from "../../shared/rate-limits.ts";
import {
  submissionDetailAnswer,
  submissionDetailQuery,
  submissionListAnswer,
  submissionListQuery,
} from "../../shared/submissions.ts";
import { voteAnswer, voteByKey } from "../../shared/votes.ts";
import { send } from "../http.ts";
import { importFunction } from "../import-function.ts";
import { stack } from "../stack.ts";

type App = { endpoints: EndpointDescription[] };

const agent = new Agent();
const address = "https://feedback.example.org";
let service: App;
let document: OpenApi;
let html: string;
let served: Record<"/api/openapi.json" | "/api/docs", Response>;

beforeAll(async () => {
  service = await importFunction<App>(new URL("../../functions/api/app.ts", import.meta.url));
  served = {
    "/api/openapi.json": await fetch(`${stack.supabase_url}/api/openapi.json`),
    "/api/docs": await fetch(`${stack.supabase_url}/api/docs`),
  };
  document = (await served["/api/openapi.json"].json()) as OpenApi;
  html = await served["/api/docs"].text();
});

function operationsOf({ paths }: OpenApi): { path: string; method: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function referencesIn(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = ""]) => reference);
}

function follow(reference: string, whole: OpenApi): unknown {
  const parts = reference.replace(/^#\//, "").split("/");
  return parts.reduce((value: unknown, part) => (value as Record<string, unknown> | undefined)?.[part], whole);
}

describe("the OpenAPI document", () => {
  test("contains every endpoint, health and readiness, and no others", () => {
    const described = operationsOf(document).map(({ method, path }) => `${method} ${path}`);
    const expected = service.endpoints.map(({ method, path }) => `${method} /api${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    expect(described.toSorted()).toEqual([...expected, "get /api/health", "get /api/ready"].toSorted());
  });

  test("is an OpenAPI 3.1 document whose references, security schemes and path parameters exist", async () => {
    const rules = ["struct", "no-unresolved-refs", "security-defined", "path-parameters-defined"];
    const config = await createConfig({ rules: Object.fromEntries(rules.map((rule) => [rule, "error"])) });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(document.openapi).toBe("3.1.0");
    expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
  });

  test("uses every schema that it defines", () => {
    const used = new Set(referencesIn(document));
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !used.has(`#/components/schemas/${name}`))).toEqual([]);
  });

  test("gives every operation a unique operationId", () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z][A-Za-z0-9]+$/.test(id))).toEqual([]);
  });

  test("declares every path parameter once, as a UUID or with the pattern of its prefix", () => {
    for (const { path, operation } of operationsOf(document)) {
      const declared = operation.parameters.flatMap((one) => ("in" in one && one.in === "path" ? [one] : []));
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(
        declared.map(({ name }) => name),
        path,
      ).toEqual(named);
      expect(
        declared.filter(
          ({ name, required, schema }) =>
            !required || (patternOf(name) ? schema.pattern !== patternOf(name) : schema.format !== "uuid"),
        ),
      ).toEqual([]);
    }
  });

  test("documents rate limit headers and X-Request-Id of every response, and Retry-After of 429 and 503", () => {
    for (const { path, method, operation } of operationsOf(document)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const { headers } = ("$ref" in response ? follow(response.$ref, document) : response) as { headers: object };
        const always = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"];
        expect(Object.keys(headers), `${method} ${path} ${status}`).toEqual(expect.arrayContaining(always));
        if (status === "429") expect(headers).toHaveProperty("Retry-After");
      }
    }
  });

  test("has example bodies that the schemas accept", () => {
    for (const { method, path, body, bodyByKey } of service.endpoints) {
      const operation = document.paths[`/api${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[method];
      const { person, key } = operation?.requestBody?.content["application/json"].examples ?? {};
      if (person) expect(body?.safeParse(person.value).error, `${method} ${path}`).toBeUndefined();
      if (key) expect(bodyByKey?.safeParse(key.value).error, `${method} ${path}`).toBeUndefined();
    }
  });

  test("and its page name nothing internal, and no rate limit rule", () => {
    const internals = [
      ...["service_key", "feedback_api", "private.", "plpgsql", "SQLSTATE", "sqlstate", "FB4", "__schema"],
      ...["zod", "supabase"],
      // "page" is a parameter too.
      ...Object.keys(rateLimits).filter((rule) => rule !== "page"),
    ];
    for (const text of [JSON.stringify(document), html])
      expect(internals.filter((word) => text.includes(word))).toEqual([]);
  });

  test("has the version of the package", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(document.info.version).toBe(version);
  });

  test("names the service's own address, so that a generated client can call, whatever host is asked for it", async () => {
    const { hostname, port } = new URL(stack.supabase_url);
    const etag = served["/api/openapi.json"].headers.get("ETag");
    for (const host of [`${hostname}:${port}`, `localhost:${port}`, "evil.example"])
      for (const path of ["/api/openapi.json", "/api/openapi.json/", "/functions/v1/api/openapi.json"]) {
        const { text, headers } = await send("GET", stack.supabase_url + path, { agent, headers: { host } });
        expect([path, JSON.parse(text).servers, headers.etag]).toEqual([path, document.servers, etag]);
      }
    const [server] = document.servers;
    expect(server?.url).toMatch(/^http:\/\/[^/]+$/);
    expect((await fetch(`${server?.url}/api/submissions?limit=1`)).status).toBe(200);
  });
});

describe("what a schema refuses, the document refuses too", () => {
  const texts = [
    ...[
      "",
      "  ",
      "a\0b",
      "long enough for every text, but \0",
      "x",
      " x ",
      "X y",
      "-a",
      "a--b",
      "é",
      "1",
      "true",
      "@",
      "a@b",
    ],
    ...[
      "author,,tags",
      "author;tags",
      "sentiment,",
      "nope",
      "a.b",
      "0".repeat(36),
      "x@y.example@",
      "https://X.example",
    ],
    ...[
      "yesterday",
      "2026-02-30",
      "0001-01-01",
      "0001-01-01T00:00:00Z",
      "2026-01-01T00:00:00",
      "2026-01-01T25:00Z",
      "2026-01-01t00:00:00z",
      "2026-01-01T00:00:00+16:00",
    ],
    ...[
      "javascript:alert(1)",
      "ftp://x.example",
      "https://a:b@x.example",
      "https://x.example/a b",
      "https://x.example/",
    ],
    ...[65, 101, 201, 256, 501, 1001, 2001, 5001, 9001].map((length) => "x".repeat(length)),
  ];
  const others = [-1, 0, 0.5, 7, 11, 1001, 1e10, true, null, {}, [], [1], ["x"], { en: 7 }, { xx: "x" }];

  /** Copies of the value in which one part is another. */
  function* changed(value: unknown, at = ""): Generator<{ at: string; other: unknown; whole: unknown }> {
    for (const other of [...texts, ...others]) yield { at, other, whole: other };
    if (Array.isArray(value)) {
      for (const length of [0, 9, 21, 31, 41, 51, 101, 201, 1001])
        yield { at, other: `${length} items`, whole: Array(length).fill(value[0]) };
      for (const { whole, ...one } of changed(value[0], `${at}[]`)) yield { ...one, whole: [whole] };
    } else if (typeof value === "object" && value !== null) {
      for (const [name, part] of Object.entries(value)) {
        const { [name]: _, ...rest } = value as Record<string, unknown>;
        yield { at: `${at}.${name}`, other: "missing", whole: rest };
        for (const { whole, ...one } of changed(part, `${at}.${name}`))
          yield { ...one, whole: { ...value, [name]: whole } };
      }
    }
  }

  /** The schema of the document, with only the components that it needs. */
  function readSchema(schema: Schema): z.ZodType {
    const $defs: Record<string, Schema> = {};
    const add = (from: unknown) => {
      for (const name of referencesIn(from).map((reference) => reference.split("/").at(-1) ?? "")) {
        const found = document.components.schemas[name];
        if (!found || name in $defs) continue;
        $defs[name] = found;
        add(found);
      }
    };
    add(schema);
    return z.fromJSONSchema(
      JSON.parse(JSON.stringify({ ...schema, $defs }).replaceAll("#/components/schemas/", "#/$defs/")),
    );
  }

  /** Bodies with all fields, with the required ones, and with each other field beside these. */
  function examplesOf(option: Schema): unknown[] {
    const { schemas } = document.components;
    const body = resolve(option, schemas);
    return ((body.oneOf ?? [body]) as Schema[]).flatMap((variant) => {
      const required = exampleOf(variant, schemas, "required") as object;
      const withField = Object.entries(variant.properties ?? {}).flatMap(([name, field]) =>
        (["all", "required"] as const).map((fields) => ({
          ...required,
          [name]: exampleOf(field as Schema, schemas, fields, name),
        })),
      );
      return [exampleOf(variant, schemas, "all"), required, ...withField];
    });
  }

  const operationFor = ({ method, path }: EndpointDescription) =>
    document.paths[`/api${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[method];

  test("in parameters", () => {
    const looser = service.endpoints.flatMap((endpoint) => {
      const shape = (endpoint.query as z.ZodObject<Record<string, z.ZodType>> | undefined)?.shape ?? {};
      return (operationFor(endpoint)?.parameters ?? []).flatMap((parameter) => {
        const field = "in" in parameter && parameter.in === "query" && shape[parameter.name];
        if (!field) return [];
        const documented = readSchema(parameter.schema);
        const asSent = (value: string) =>
          parameter.schema.type === "integer" && /^-?[\d.]+$/.test(value) ? Number(value) : value;
        return [...texts, "0", "-1", "1.5", "1000001", "9999999999"]
          .filter((value) => value.trim() !== "" && !field.safeParse(value).success)
          .filter((value) => documented.safeParse(asSent(value)).success)
          .map((value) => `${endpoint.method} ${endpoint.path} ${parameter.name} ${value.slice(0, 50)}`);
      });
    });
    expect(looser).toEqual([]);
  });

  test("in bodies", () => {
    const looser = service.endpoints.flatMap((endpoint) => {
      const shown = operationFor(endpoint)?.requestBody?.content["application/json"].schema;
      const options = (shown?.anyOf ?? [shown ?? {}]) as Schema[];
      const bodies =
        endpoint.consumes || !shown
          ? []
          : [
              [endpoint.body, options[0]],
              [endpoint.bodyByKey, options.at(-1)],
            ];
      return (bodies as [z.ZodType | undefined, Schema][]).flatMap(([body, option]) => {
        const documented = readSchema(option);
        return examplesOf(option)
          .filter((example) => body?.safeParse(example).success)
          .flatMap((example) => [...changed(example)])
          .filter(({ whole }) => !body?.safeParse(whole).success && documented.safeParse(whole).success)
          .map(({ at, other }) => `${endpoint.method} ${endpoint.path} ${at} ${JSON.stringify(other).slice(0, 50)}`);
      });
    });
    // That a change names at least one of its own fields is in descriptions only.
    expect(looser.filter((line) => !/^patch \S+ {2}\{/.test(line))).toEqual([]);
  });
});

describe("both documents are served", () => {
  test.each([
    ["/api/openapi.json", "application/json; charset=utf-8"],
    ["/api/docs", "text/html; charset=utf-8"],
  ] as const)("%s: cacheable for five minutes, with the headers of every response", (path, type) => {
    const { status, headers } = served[path];
    expect(status).toBe(200);
    expect(headers.get("Content-Type")).toBe(type);
    expect(headers.get("Cache-Control")).toBe("public, max-age=300");
    expect(headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
    for (const name of ["Limit", "Remaining", "Reset"])
      expect(Number(headers.get(`X-RateLimit-${name}`)), name).toBeGreaterThan(0);
  });

  test.each(["/api/openapi.json", "/api/docs"] as const)(
    "%s: compressed for who takes it, and not sent again to who has it",
    async (path) => {
      const ask = (headers: Record<string, string>) => send("GET", stack.supabase_url + path, { agent, headers });
      const packed = await ask({ "accept-encoding": "br;q=1, gzip;q=0.5" });
      expect([packed.status, packed.headers["content-encoding"]]).toEqual([200, "gzip"]);
      for (const encodings of ["identity", "gzip;q=0"])
        expect((await ask({ "accept-encoding": encodings })).headers["content-encoding"]).toBeUndefined();
      const etag = String(packed.headers.etag);
      for (const known of [etag, `"x", ${etag}`, etag.replace("W/", "")]) {
        const again = await ask({ "if-none-match": known });
        expect([again.status, again.text], known).toEqual([304, ""]);
      }
      expect((await ask({ "if-none-match": 'W/"x"' })).status).toBe(200);
    },
  );
});

describe("the HTML page", () => {
  test("shows every operation with a curl example", () => {
    for (const { path, operation } of operationsOf(document)) {
      expect(html).toContain(`<h3 id="${operation.operationId}">`);
      expect(html).toContain(`<code>${path}</code>`);
    }
    expect(html.match(/<pre tabindex="0">curl /g)).toHaveLength(operationsOf(document).length);
  });

  test("has closed elements, unique ids, and a target for every internal link", () => {
    // The serializer closes all elements, so an unclosed one would make the texts differ.
    expect(parse(html).toString() === html).toBe(true);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    const targets = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  });

  test("loads nothing from other hosts and runs no script", () => {
    expect(html).not.toMatch(/<(script|link|img|iframe|object|form|base)\b|\ssrc=|\sstyle=|\son\w+=|url\(|@import/i);
    const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !link.startsWith("#") && link !== "openapi.json")).toEqual([]);
  });

  test("has a content security policy that allows only its own style sheet", () => {
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
    const digest = createHash("sha256").update(style).digest("base64");
    const policy = served["/api/docs"].headers.get("Content-Security-Policy")?.split("; ");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`style-src 'sha256-${digest}'`);
    expect(policy?.join()).not.toContain("unsafe");
  });
});

const list: EndpointDescription = {
  method: "get",
  path: "/submissions",
  tag: "Submissions",
  summary: "List",
  access: "public",
  query: submissionListQuery,
  responses: { 200: submissionListAnswer },
};
const show: EndpointDescription = {
  ...list,
  path: "/submissions/:id",
  query: submissionDetailQuery,
  responses: { 200: submissionDetailAnswer },
};
const comment: EndpointDescription = {
  method: "post",
  path: "/submissions/:id/comments",
  tag: "Comments",
  summary: "Comment",
  access: "caller",
  scopes: ["submissions:write"],
  operation: "comment_create",
  body: commentCreate,
  bodyByKey: commentCreateByKey,
  responses: { 201: commentCreatedAnswer },
};

function describeOne(endpoint: EndpointDescription): Operation {
  const operation = operationsOf(openApi([endpoint], address))[0]?.operation;
  if (!operation) throw new Error("No operation.");
  return operation;
}

function parametersOf(operation: Operation): string[] {
  return operation.parameters.map((one) => ("name" in one ? one.name : (one.$ref.split("/").at(-1) ?? "")));
}

describe("an operation", () => {
  test.each([
    ["public", [{}, { session: [] }, { apiKey: [] }], "Public."],
    ["person", [{ session: [] }], "For signed-in users, not for keys."],
    [
      "caller",
      [{ session: [] }, { apiKey: ["submissions:write"] }],
      "For signed-in users, and for keys with the scope `submissions:write`.",
    ],
  ] as const)("of access %s documents who may call it", (access, security, sentence) => {
    const operation = describeOne({ ...comment, access, operation: undefined });
    expect(operation.security).toEqual(security);
    expect(operation.description).toBe(sentence);
  });

  test("lists each of the scopes that a key may have", () => {
    const { security } = describeOne({ ...comment, scopes: ["submissions:write", "submissions:moderate"] });
    expect(security).toEqual([
      { session: [] },
      { apiKey: ["submissions:write"] },
      { apiKey: ["submissions:moderate"] },
    ]);
  });

  test("with its own rate limit rule documents the limit", () => {
    expect(describeOne(comment).description).toContain("by default 20 per hour");
    expect(describeOne({ ...comment, operation: "duplicate_check" }).description).toContain(
      "by default 30 per minute for anonymous callers, 100 per minute for a user",
    );
  });

  test("documents the fields of its query, with defaults and descriptions", () => {
    const { parameters } = describeOne(list);
    expect(parameters).toContainEqual({
      name: "limit",
      in: "query",
      required: false,
      description: "Items per page, 1 to 100.",
      schema: { type: "integer", minimum: 1, maximum: 100, default: 50 },
    });
  });

  test("documents the body of a user and of a key", () => {
    const { requestBody } = describeOne(comment);
    expect(requestBody?.required).toBe(true);
    expect(requestBody?.content["application/json"].schema.anyOf).toEqual([
      { $ref: "#/components/schemas/CommentCreate" },
      { $ref: "#/components/schemas/CommentCreateByKey" },
    ]);
  });

  test("without a body for users documents the optional body for keys", () => {
    const vote = {
      ...comment,
      body: z.object({}),
      bodyByKey: voteByKey,
      responses: { 201: voteAnswer, 200: voteAnswer },
    };
    const { requestBody, responses } = describeOne(vote);
    expect(requestBody?.required).toBe(false);
    expect(requestBody?.content["application/json"].schema).toEqual({ $ref: "#/components/schemas/VoteByKey" });
    expect(responses).toHaveProperty("200.description", "The row existed already.");
  });

  test.each([
    { what: "shows names of categories and tags", endpoint: show, parameter: "AcceptLanguage", takes: true },
    { what: "shows none", endpoint: comment, parameter: "AcceptLanguage", takes: false },
    { what: "posts by key", endpoint: comment, parameter: "IdempotencyKey", takes: true },
    {
      what: "posts by people alone",
      endpoint: { ...comment, access: "person" as const },
      parameter: "IdempotencyKey",
      takes: false,
    },
    { what: "reads", endpoint: list, parameter: "IdempotencyKey", takes: false },
    {
      what: "accepts a file",
      endpoint: { ...comment, consumes: ["text/csv"] },
      parameter: "IdempotencyKey",
      takes: false,
    },
    { what: "reads", endpoint: list, parameter: "Organization", takes: true },
  ])("that $what accepts $parameter: $takes", ({ endpoint, parameter, takes }) => {
    expect(parametersOf(describeOne(endpoint)).includes(parameter)).toBe(takes);
  });

  test.each([
    { endpoint: list, statuses: "200 400 401 404 429 500 503" },
    { endpoint: comment, statuses: "201 400 401 403 404 409 413 415 429 500 503" },
    { endpoint: { ...comment, path: "/submissions" }, statuses: "201 400 401 402 403 404 409 413 415 429 500 503" },
    ...(["/me", "/admin/api-keys/:id/rotate"] as const).map((path) => ({
      endpoint: { ...comment, path, access: "person" as const },
      statuses: "201 400 401 403 404 409 413 415 429 500 503",
    })),
  ])("of $endpoint.method $endpoint.path documents the statuses $statuses", ({ endpoint, statuses }) => {
    expect(Object.keys(describeOne(endpoint).responses).join(" ")).toBe(statuses);
  });

  test("with lowercase errors for keys documents both envelopes", () => {
    const whole = openApi([{ ...comment, lowercaseErrorsToKeys: true }], address);
    const either = [{ $ref: "#/components/schemas/Error" }, { $ref: "#/components/schemas/LowercaseError" }];
    for (const { content } of Object.values(whole.components.responses)) {
      expect(content["application/json"].schema).toEqual({ anyOf: either });
    }
  });
});

test("two schemas with one id are an error", () => {
  const conflicting = { ...show, responses: { 200: z.object({ a: z.int() }).meta({ id: "Submission" }) } };
  expect(() => openApi([list, conflicting], address)).toThrow("Two schemas have the id Submission");
});

test("summaries and descriptions are text on the page, never markup", () => {
  const hostile = "<script>alert(1)</script> & \"'`<b>`";
  const shown = page(
    openApi(
      [{ ...list, summary: hostile, tag: hostile, query: z.object({ q: z.string().describe(hostile) }) }],
      address,
    ),
  );
  expect(shown).not.toContain("<script");
  expect(shown).not.toContain("<b>");
  expect(shown).toContain("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;&#39;<code>&lt;b&gt;</code>");
});
