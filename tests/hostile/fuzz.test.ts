import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { errorEnvelope, lowercaseErrorEnvelope } from "../../shared/errors.ts";
import { scopes } from "../../shared/scopes.ts";
import fc, { runs } from "../fuzz.ts";
import { ownStack } from "../own-stack.ts";
import { almost, fromSchema, nastyText, nastyValue, type Schema } from "./from-schema.ts";
import { rest } from "./rest.ts";

interface Operation {
  parameters?: { name?: string; in?: string; schema?: Schema }[];
  requestBody?: { content: { "application/json": { schema: Schema } } };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const stack = await ownStack({ parts: ["rest"] });
let document: Document;
let ids: string[];
let credentials: (string | undefined)[];
const secrets: string[] = [];
beforeAll(async () => {
  const { sql } = stack;
  await sql`update private.rate_limit_rules set max_requests = 1000000`;
  const [owner, member, author, stranger] = await Promise.all([
    stack.person("owner"),
    stack.person("member"),
    stack.person(),
    stack.person(),
  ]);
  const id = await stack.submission(author);
  const [comment] = await sql<{ id: string }[]>`
    insert into comments (submission_id, author_id, body) values (${id}, ${stranger.id}, 'Said about it.') returning id`;
  const [category] = await sql<{ id: string }[]>`
    insert into categories (organization_id, name, slug) values (${stack.organization.id}, 'Category', 'category') returning id`;
  ids = [id, comment?.id ?? "", category?.id ?? "", stack.organization.id, author.id, randomUUID()];
  const keys = await Promise.all([
    stack.key(scopes),
    stack.key(["submissions:read"]),
    stack.key([]),
    stack.key(scopes, new Date(0)),
  ]);
  const people = [owner, member, author, stranger].map((person) => person.token);
  credentials = [undefined, ...people, ...keys, stack.publishable_key, "garbage"];
  secrets.push(...keys, ...people);
  document = (await stack.call("GET", "/api/openapi.json")).body as unknown as Document;
});

const known = (status: number) => status < 500;

/** One of the two error envelopes, with the status of its code; or data, in the shape of every success. */
function expectEnvelope(answer: { status: number; text: string }, what: string) {
  const summary = `${what} → ${answer.status} ${answer.text.slice(0, 300)}`;
  expect(known(answer.status), summary).toBe(true);
  const body: unknown = JSON.parse(answer.text);
  if (answer.status < 300) {
    expect(typeof body === "object" && body !== null && ("data" in body || "id" in body), summary).toBe(true);
    return;
  }
  const form = typeof (body as { error: unknown }).error === "string" ? lowercaseErrorEnvelope : errorEnvelope;
  expect(form.safeParse(body).success, summary).toBe(true);
  expect(answer.text).not.toMatch(/PostgresError|syntax error|SQLSTATE|\bat \S+ \(|pg_catalog|private\./);
}

/** Text that is valid in a header. */
const headerText = nastyText.map((text) => text.replace(/[^\t\x20-\x7e]/g, "").trim());

const nested = (open: string, inner: string, close: string, levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels);

/** Values in JSON notation, including values that JSON.stringify cannot write. */
const oddJson = [
  nested("[", "", "]", 65),
  nested('{"a":', "1", "}", 20_000),
  nested('[{"a":', '"x"', "}]", 3_000),
  `{"a":${nested("[", "1", "]", 7_000)}}`,
  `[${Array.from({ length: 5_000 }, (_, n) => n).join()}]`,
  `{${Array.from({ length: 3_000 }, (_, n) => `"k${n}":{}`).join()}}`,
  `"${"x".repeat(200_000)}"`,
  '{"a":"\\u0000","\\ud800":1}',
  '{"__proto__":{"a":1},"constructor":{"prototype":null},"toJSON":1,"length":-1}',
  '{"a":1,"a":[1,{"":null}],"":""}',
  "1e400",
  "-1e-400",
  "123456789012345678901234567890.5",
  "[[[null]],{},[]]",
];

function propertiesOf(schema: Schema, definitions: Record<string, Schema>): Record<string, Schema> {
  const parts = [schema.$ref ? (definitions[schema.$ref.split("/").at(-1) ?? ""] ?? {}) : schema];
  return Object.assign(
    {},
    ...parts.flatMap((part) => [
      part.properties ?? {},
      ...(part.anyOf ?? []).map((one) => propertiesOf(one, definitions)),
    ]),
  );
}

function withField(sample: unknown, name: string, value: string): string {
  const rest = Object.entries((sample ?? {}) as object).filter(([other]) => other !== name);
  const fields = rest.map(([other, stored]) => `${JSON.stringify(other)}:${JSON.stringify(stored)}`);
  return `{${[...fields, `${JSON.stringify(name)}:${value}`].join()}}`;
}

describe("for any request the API returns one of its envelopes", () => {
  it("for every operation, with valid and invalid requests generated from its schemas", async () => {
    const { paths, components } = document;
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => ["get", "post", "patch", "put", "delete"].includes(method))
        .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );
    expect(operations.length).toBeGreaterThan(20);
    const deadline = Date.now() + 20_000;
    await Promise.all(
      operations
        // Erasing the caller would end the test.
        .filter(({ path }) => !["/api/health", "/api/ready", "/api/me"].includes(path))
        .map(({ path, method, operation }) => fuzz(path, method, operation)),
    );

    async function fuzz(path: string, method: string, { parameters = [], requestBody }: Operation) {
      const queryNames = parameters.filter((parameter) => parameter.in === "query");
      const query = fc.record(
        Object.fromEntries(
          queryNames.map(({ name, schema }) => [
            name,
            almost(fromSchema(schema ?? {}, components.schemas, ids)).map(asText),
          ]),
        ),
        { requiredKeys: [] },
      );
      const schema = requestBody?.content["application/json"].schema;
      const body = fc.oneof(
        {
          weight: 6,
          arbitrary: schema
            ? fromSchema(schema, components.schemas, ids).map((value) => JSON.stringify(value))
            : fc.constant(undefined),
        },
        { weight: 2, arbitrary: nastyValue.map((value) => JSON.stringify(value)) },
        { weight: 1, arbitrary: nastyText },
      );
      const request = fc.record({
        id: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: nastyText }),
        query,
        more: fc.dictionary(nastyText, nastyText, { maxKeys: 2 }),
        body: method === "GET" ? fc.constant(undefined) : body,
        token: fc.constantFrom(...credentials),
        headers: fc.record(
          {
            "x-organization": fc.oneof(headerText, fc.constantFrom(stack.organization.id, stack.organization.slug)),
            "accept-language": fc.oneof(headerText, fc.constantFrom("de", "pt-BR,en;q=0.5", "*", "ja;q=0")),
            "idempotency-key": headerText,
            "content-type": fc.oneof(
              { weight: 5, arbitrary: fc.constant("application/json") },
              { weight: 1, arbitrary: headerText },
            ),
            origin: headerText,
            cookie: headerText,
          },
          { requiredKeys: [] },
        ),
      });
      await fc.assert(
        fc.asyncProperty(request, async ({ id, query, more, body, token, headers }) => {
          if (Date.now() > deadline) return;
          const search = new URLSearchParams(asQuery({ ...more, ...query }));
          const address = `${path.replace("{id}", encodeURIComponent(wellFormed(id)))}?${search}`;
          const answer = await stack.call(method, address, {
            token,
            ...(body === undefined ? {} : { body }),
            headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== "")) as Record<
              string,
              string
            >,
          });
          // The export of the organization is a file.
          if (path === "/api/admin/export" && answer.status === 200) return;
          expectEnvelope(answer, `${method} ${address} ${JSON.stringify({ body, headers })}`);
        }),
        { numRuns: runs(110), endOnFailure: true },
      );
    }
  });

  it("for every field of every body, with nested, huge or unusual values", async () => {
    const { paths, components } = document;
    const owner = credentials[1];
    const calls = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) => {
        const schema = requestBody?.content["application/json"]?.schema;
        if (!schema || path === "/api/me") return [];
        const [sample] = fc.sample(fromSchema(schema, components.schemas, ids), { numRuns: 1, seed: 1 });
        const names = Object.keys(propertiesOf(schema, components.schemas));
        return names.flatMap((name) =>
          oddJson.map((value) => ({
            method: method.toUpperCase(),
            path: path.replace(/\{\w+\}/g, stack.organization.id),
            // A change may contain one field; a creation needs the others too.
            body: withField(method === "patch" ? {} : sample, name, value),
          })),
        );
      }),
    );
    expect(calls.length).toBeGreaterThan(500);
    while (calls.length > 0) {
      await Promise.all(
        calls.splice(0, 16).map(async ({ method, path, body }) => {
          const answer = await stack.call(method, path, { token: owner, body });
          expectEnvelope(answer, `${method} ${path} ${body.slice(0, 300)}`);
        }),
      );
    }
  });

  it("for unknown paths and methods", async () => {
    const path = fc.array(
      fc.oneof(
        nastyText,
        fc.constantFrom("submissions", "me", "votes", "admin", "comments", "..", ".", "%2e%2e", "%", "%zz"),
      ),
      { maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(
        path,
        fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE"),
        fc.constantFrom(...credentials),
        async (parts, method, token) => {
          const address = `/api/${parts.map((part) => (part.startsWith("%") ? part : encodeURIComponent(wellFormed(part)))).join("/")}`;
          const answer = await stack.call(method, address.replace(/\/\.\.?(?=\/|$)/g, "/x"), { token });
          expectEnvelope(answer, `${method} ${address}`);
        },
      ),
      { numRuns: runs(150), endOnFailure: true },
    );
  });
});

describe("for any request the data API", () => {
  it("reveals no internals through filters, orders and selections", async () => {
    const column = fc.constantFrom(
      "id",
      "title",
      "vote_count",
      "created_at",
      "organization_id",
      "author_id",
      "user_id",
      "email",
      "nothing",
      "*",
      "votes",
      "profiles",
    );
    const operator = fc.constantFrom(
      "eq",
      "neq",
      "gt",
      "lte",
      "like",
      "ilike",
      "in",
      "is",
      "fts",
      "cs",
      "ov",
      "not.eq",
      "match",
      "isdistinct",
      "",
    );
    const value = fc.oneof(nastyText, fc.constantFrom(...ids, "(1,2)", "{a}", "null", "*a*"));
    const parameter = fc.oneof(
      fc.tuple(column, operator, value).map(([c, o, v]) => [c, `${o}.${v}`] as const),
      fc.tuple(column, value).map(([c, v]) => ["select", `id,${c}(${v})`] as const),
      fc.tuple(column, nastyText).map(([c, v]) => ["order", `${c}.${v}`] as const),
      fc.tuple(operator, value).map(([o, v]) => ["or", `(id.${o}.${v},title.eq.x)`] as const),
      fc.tuple(fc.constantFrom("limit", "offset", "columns", "on_conflict"), nastyText),
    );
    const call = fc.record({
      table: fc.constantFrom("submissions", "comments", "votes", "profiles", "organizations", "notifications"),
      parameters: fc.array(parameter, { minLength: 1, maxLength: 3 }),
      token: fc.constantFrom(...credentials.slice(0, 5)),
    });
    await fc.assert(
      fc.asyncProperty(call, async ({ table, parameters, token }) => {
        const search = new URLSearchParams(parameters.map(([name, text]) => [name, wellFormed(text)]));
        const answer = await rest(`${table}?${search}`, { token, against: stack });
        expect(answer.status, answer.text).toBeLessThan(500);
        expect(answer.text).not.toMatch(/@own\.example|"user_id":"(?!null)|postgresql:|node_modules|\bat \S+ \(/);
      }),
      { numRuns: runs(250), endOnFailure: true },
    );
  });
});

describe("afterwards", () => {
  it("the service is ready, counts are exact, no role has changed", async () => {
    expect((await stack.call("GET", "/api/ready")).status).toBe(200);
    expect(await stack.sql`select * from private.count_discrepancies()`).toEqual([]);
    const roles = await stack.sql<{ role: string }[]>`select role from memberships order by role`;
    expect(roles.map(({ role }) => role)).toEqual(["member", "owner"]);
  });

  it("the log of the functions contains no secret, IP address or e-mail address", async () => {
    const { sql, folder } = stack;
    await sql`select 1`;
    // Deliberate client errors, so that errors are in the log too.
    for (const token of credentials) {
      await stack.call("POST", `/api/submissions?q=${encodeURIComponent(token ?? "")}`, {
        token,
        body: { title: token },
      });
    }
    const log = await readFile(join(folder, "functions.log"), "utf8");
    expect(log.length).toBeGreaterThan(1000);
    const created = JSON.parse(await readFile(join(folder, "secrets.json"), "utf8")) as Record<string, unknown>;
    const hidden = [
      ...secrets,
      ...Object.values(created).flatMap((value) => (typeof value === "string" && value.length > 10 ? [value] : [])),
    ];
    const publicKey = stack.publishable_key;
    expect(hidden.length).toBeGreaterThan(10);
    for (const secret of hidden.filter((value) => value !== publicKey))
      expect(log.includes(secret), secret.slice(0, 12)).toBe(false);
    expect(log).not.toMatch(/@own\.example|postgresql?:\/\/|127\.0\.0\.1|Bearer |::1\b/);
  });
});

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** The text as fetch would send it: a lone surrogate has no bytes in UTF-8. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

function asQuery(query: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [wellFormed(name), wellFormed(asText(value))]),
  );
}
