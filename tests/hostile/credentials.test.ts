import { createHmac, randomUUID } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { digestOf } from "../../shared/api-keys.ts";
import { type Answer, api } from "../api/client.ts";
import { type CountedStack, startCountedStack } from "../api/counted-stack.ts";
import { newKey, newOrganization, newUser, unknownKey } from "../api/world.ts";
import { sql, stack } from "../stack.ts";

// How each interface reads a credential: a wrong one is a 401, never anonymous.

const { publishable_key: publishable, secret_key: secret } = stack;
const home = await newOrganization();
const person = await newUser("Ada Admin", { organization: home, role: "admin" });
const { token: key } = await newKey(home, ["submissions:read", "submissions:moderate"]);

/** Names and values in turn, so that a name can occur twice. */
type Headers = string[];
const authorization = (value: string): Headers => ["authorization", value];
const bearer = (token: string) => authorization(`Bearer ${token}`);
const cookieName = "sb-127-auth-token";
const cookie = (value: string, name = cookieName): Headers => ["cookie", `${name}=${value}`];
const session = (access_token: unknown, name = cookieName) =>
  cookie(encodeURIComponent(JSON.stringify({ access_token, token_type: "bearer" })), name);

const base64 = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const now = Math.floor(Date.now() / 1000);

/** A token as the auth service signs it, except for the given changes. */
function jwt(claims: object = {}, header: object = {}, signedWith = stack.jwtSecret, hash = "sha256") {
  const all = { iss: tokenIssuer, aud: "authenticated", role: "authenticated", sub: person.id };
  const payload = { ...all, iat: now, exp: now + 3600, ...claims };
  const text = `${base64({ alg: "HS256", typ: "JWT", ...header })}.${base64(payload)}`;
  return `${text}.${createHmac(hash, signedWith).update(text).digest("base64url")}`;
}
const wellKnownSecret = "super-secret-jwt-token-with-at-least-32-characters-long";
const likeAKey = { "feedback.scopes": "submissions:moderate", organization_id: home.id };
const service = { role: "service_role" };
const thousandChunks = Array.from({ length: 1_000 }, (_, n) => `${cookieName}.${n}=x`).join("; ");
const resigned = (token: string, signature: string) => token.replace(/[^.]*$/, signature);

const expired = await newKey(home, ["submissions:write"], new Date(Date.now() - 1000));
const revoked = await newKey(home, ["submissions:write"]);
await sql`update private.api_keys set revoked_at = now() where id = ${revoked.id}`;
const unknown = (await unknownKey()).token;
const typo = (at: number) => key.slice(0, at) + (key.at(at) === "A" ? "B" : "A") + key.slice(at).slice(1);

// The two characters differ: swapping equal ones would yield the key itself.
const swap = Array.from({ length: 10 }, (_, n) => n + 10).find((at) => key[at] !== key[at + 1]) ?? 10;

const malformed: [string, string][] = [
  ["a typo", typo(20)],
  ["a typo in its checksum", typo(-1)],
  ["a checksum of zeros", `${key.slice(0, -6)}000000`],
  ["one character less", key.slice(0, -1)],
  ["one character more", `${key}x`],
  ["two characters swapped", key.slice(0, swap) + key[swap + 1] + key[swap] + key.slice(swap + 2)],
  ["another prefix", key.replace("fcs_org_", "fcs_usr_")],
  ["capitals", key.toUpperCase()],
  ["%00 within", `${key.slice(0, 20)}%00${key.slice(20)}`],
];
// A database lookup alone would accept these keys.
for (const [, token] of malformed) {
  const { id } = await newKey(home, ["submissions:read"]);
  await sql`update private.api_keys set digest = ${digestOf(token)} where id = ${id}`;
}

type Outcome = "accepted" | "nobody" | "UNAUTHORIZED" | "PGRST301" | "PGRST303" | "PT401";
type Row = [what: string, inApi: Outcome, inDataApi: Outcome, Headers];

const rows = (inApi: Outcome, inDataApi: Outcome, what: string, all: [string, Headers][]): Row[] =>
  all.map(([name, headers]) => [what + name, inApi, inDataApi, headers]);
const wrong = (what: string, all: [string, Headers][]) => rows("UNAUTHORIZED", "PGRST301", what, all);

// PGRST301: the token itself is wrong; PGRST303: its claims are; PT401: its user or session is refused.
const credentials: Row[] = [
  ["no credential", "nobody", "nobody", []],
  ["a user's token", "accepted", "accepted", bearer(person.token)],
  ["a user's token after bearer in lower case", "accepted", "accepted", authorization(`bearer ${jwt()}`)],
  ["a token named in Connection", "accepted", "accepted", [...bearer(jwt()), "connection", "authorization"]],
  ["two tokens", "UNAUTHORIZED", "PGRST301", [...bearer(jwt()), ...bearer(jwt())]],
  ["the publishable key", "nobody", "nobody", bearer(publishable)],
  ["the secret key beside the publishable one", "UNAUTHORIZED", "PGRST301", bearer(secret)],
  ["an API key", "accepted", "PGRST301", bearer(key)],
  ["an API key as apikey", "nobody", "UNAUTHORIZED", ["apikey", key]],

  ...wrong("a token with ", [
    ["alg none", bearer(resigned(jwt(service, { alg: "none" }), ""))],
    ["alg None", bearer(resigned(jwt(service, { alg: "None" }), ""))],
    ["alg none and a signature", bearer(jwt({}, { alg: "none" }))],
    ["no signature", bearer(resigned(jwt(), ""))],
    ["a cut signature", bearer(jwt().slice(0, -4))],
    ["the publishable key as the secret", bearer(jwt(service, {}, publishable))],
    ["an empty secret", bearer(jwt(service, {}, ""))],
    ["the secret of local Supabase", bearer(jwt(service, {}, wellKnownSecret))],
    ["another secret", bearer(jwt({ role: "postgres" }, {}, "x".repeat(64)))],
    ["HS512 by the right secret", bearer(jwt({}, { alg: "HS512" }, stack.jwtSecret, "sha512"))],
    ["RS256 in the header of an HS256 signature", bearer(jwt({}, { alg: "RS256" }))],
    ["its key in the header", bearer(jwt({}, { jwk: { kty: "oct", k: base64("y") } }, "y"))],
    ["the address of its key", bearer(jwt({}, { jku: "http://127.0.0.1:9/", kid: "/dev/null" }, ""))],
    ["claims changed after signing", bearer(resigned(jwt(), jwt({ sub: randomUUID() }).split(".")[2] ?? ""))],
    ["a start in the future", bearer(jwt({ nbf: now + 3600 }))],
    ["a list as its subject", bearer(jwt({ sub: ["x"] }))],
    ["a list of a user as its subject", bearer(jwt({ sub: [person.id] }))],
  ]),
  ["a token that has expired", "UNAUTHORIZED", "PGRST303", bearer(jwt({ exp: now - 10 }))],
  ["a token without an expiry", "UNAUTHORIZED", "PGRST303", bearer(jwt({ exp: undefined }))],
  // The API accepts users only.
  ["a token of role service_role", "UNAUTHORIZED", "accepted", bearer(jwt(service))],
  ["a token of role anon", "UNAUTHORIZED", "nobody", bearer(jwt({ role: "anon" }))],
  ...["service_key", "postgres", "feedback_api", "authenticator", "AUTHENTICATED", "", undefined].map(
    (role): Row => [`a token of role ${role}`, "UNAUTHORIZED", "PGRST303", bearer(jwt({ role, ...likeAKey }))],
  ),
  ...["not-a-uuid", "", randomUUID(), null, undefined].map(
    (sub): Row => [`a token of subject ${sub}`, "UNAUTHORIZED", "PT401", bearer(jwt({ sub }))],
  ),

  ...wrong("a key that ", [
    ["was never issued", bearer(unknown)],
    ["has expired", bearer(expired.token)],
    ["was revoked", bearer(revoked.token)],
  ]),
  ...wrong(
    "without a look-up, a key with ",
    malformed.map(([what, token]) => [what, bearer(token)]),
  ),
  ...wrong(
    "Authorization: ",
    [
      ...["Basic eDp5", `Token ${key}`, key, "null", ",", "Bearer", "Bearer ", "Bearer  ", "bearer  x"],
      ...["Bearer a b", "Bearer one, Bearer two", "Bearer é", "Bearer ..", "Bearer x.y.z", "Bearer null"],
      ...["Bearer fcs_org_", "Bearer fcs_agt_x", "Bearer *", `Bearer ${"0f".repeat(32)}`],
      ...[`Bearer ${"a".repeat(9000)}`, `Bearer ${"a.".repeat(3000)}`],
    ].map((value) => [value.replace(key, "a key").slice(0, 30), authorization(value)]),
  ),

  // The data API reads no cookies.
  ["a session's cookie", "accepted", "nobody", session(person.token)],
  ...rows("UNAUTHORIZED", "nobody", "a cookie of ", [
    ["an expired token", session(jwt({ exp: now - 10 }))],
    ["text that is no JSON", cookie("abc")],
    ["base64url of nothing", cookie("base64-")],
    ["base64url that is none", cookie("base64-!!!!")],
    ["base64url of bytes that are no text", cookie("base64-_w")],
    ["null", cookie("null")],
    ["a number", cookie("12")],
    ["an empty array", cookie("%5B%5D")],
    ["an object without a token", cookie("%7B%7D")],
    ["a token that is no text", session(12)],
    ["a key", session(key)],
    ["a key without JSON, also as api_key", ["cookie", `api_key=${key}; ${cookieName}=${key}`]],
    ["__proto__", cookie(encodeURIComponent(`{"__proto__":{"access_token":"${jwt()}"}}`))],
    ["deep JSON", cookie("%5B".repeat(5_000))],
    ["a broken percent sign", cookie("%E0%A4%A")],
    ["the first chunk of two", cookie("base64-eyJhY2Nlc3NfdG9r", `${cookieName}.0`)],
    ["a thousand chunks", ["cookie", thousandChunks]],
  ]),
  ["a cookie of a later chunk only", "nobody", "nobody", cookie("abc", `${cookieName}.1`)],
  ...["sb-128-auth-token", "sb-127-auth-tokens", "xsb-127-auth-token", "SB-127-AUTH-TOKEN"].map(
    (name): Row => [`a session in ${name}`, "nobody", "nobody", session(person.token, name)],
  ),

  // The header takes precedence.
  ["a token beside a broken cookie", "accepted", "accepted", [...bearer(jwt()), ...cookie("broken")]],
  ["the publishable key beside a session", "nobody", "nobody", [...bearer(publishable), ...session(jwt())]],
  ...wrong("beside a session, ", [
    ["a Bearer that is none", [...bearer("nonsense"), ...session(jwt())]],
    ["an empty Bearer", [...authorization("Bearer"), ...session(jwt())]],
    ["Basic", [...authorization("Basic abc"), ...session(jwt())]],
  ]),
];

interface Reply {
  status: number;
  body: { code?: string; error?: { code: string }; swagger?: string } | unknown[];
}

function ask(url: string, headers: Headers, body?: object): Promise<Reply> {
  const { host, hostname, port, pathname, search } = new URL(url);
  const sent = ["host", host, ...headers, ...(body ? ["content-type", "application/json"] : [])];
  return new Promise((resolve, reject) => {
    const options = { hostname, port, path: pathname + search, method: body ? "POST" : "GET", headers: sent };
    request(options, (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text || "{}") }));
    })
      .on("error", reject)
      .end(body && JSON.stringify(body));
  });
}
const codeOf = ({ body }: Reply) => ("error" in body ? body.error?.code : "code" in body && body.code);
const dataUrl = (path: string) => `${stack.supabase_url}/rest/v1/${path}`;
const publicRows = dataUrl("organizations?select=id&limit=1");

async function outcomeInApi(headers: Headers) {
  const list = await ask(`${stack.base_url}/api/submissions?limit=1`, headers);
  const votes = await ask(`${stack.base_url}/api/me/votes`, headers);
  if (list.status === 401 && votes.status === 401) return codeOf(list);
  expect(list.status).toBe(200);
  return votes.status === 401 ? "nobody" : "accepted";
}

async function outcomeInDataApi(headers: Headers) {
  const all = headers.includes("apikey") ? headers : ["apikey", publishable, ...headers];
  const list = await ask(publicRows, all);
  if (list.status === 401) return codeOf(list);
  const own = await ask(dataUrl(`memberships?select=user_id&user_id=eq.${person.id}`), all);
  if (Array.isArray(own.body) && own.body.length > 0) return "accepted";
  const idea = { title: "By nobody at all", description: "A description long enough.", type: "idea" };
  const created = await ask(dataUrl("rpc/create_submission"), all, { ...idea, organization_id: home.id });
  expect(created.status).toBeGreaterThanOrEqual(400);
  return "nobody";
}

it.each(credentials)("%s: %s in the API, %s in the data API", async (_, inApi, inDataApi, headers) => {
  expect(await outcomeInApi(headers)).toBe(inApi);
  expect(await outcomeInDataApi(headers)).toBe(inDataApi);
});

describe("the key of the data API", () => {
  const apikey = (value: string): Headers => ["apikey", value];
  const browser = ["user-agent", "Mozilla/5.0 (X11; Linux x86_64)"];
  const rejected: [string, string, Headers][] = [
    ["none", publicRows, []],
    ["an empty one", publicRows, apikey("")],
    ["an unknown one", publicRows, apikey("sb_publishable_unknown")],
    ["an unknown one in the query", `${publicRows}&apikey=x`, []],
    ["a user's token", publicRows, apikey(person.token)],
    ["a key as Bearer only", publicRows, bearer(publishable)],
    ["two different ones", publicRows, [...apikey(publishable), "APIKEY", secret]],
    ["one in the header, another in the query", `${publicRows}&apikey=${secret}`, apikey(publishable)],
    ["the secret key from a browser", publicRows, [...apikey(secret), ...browser]],
    ["the same as Bearer too", publicRows, [...apikey(secret), ...bearer(secret), ...browser]],
    ["the publishable key for the schema", dataUrl(""), apikey(publishable)],
    ["the publishable key and a user's token for it", dataUrl(""), [...apikey(publishable), ...bearer(person.token)]],
  ];
  it.each(rejected)("%s: 401", async (_, url, headers) => {
    const reply = await ask(url, headers);
    expect([reply.status, codeOf(reply)]).toEqual([401, "UNAUTHORIZED"]);
  });

  const accepted: [string, string, Headers][] = [
    ["in the header", publicRows, ["ApiKey", publishable]],
    ["in the query, first", publicRows.replace("?", `?apikey=${publishable}&`), []],
    ["in the query, last", `${publicRows}&apikey=${publishable}`, []],
    ["alone in the query", dataUrl(`organizations?apikey=${secret}`), []],
    ["as Bearer too, as supabase-js sends it", publicRows, [...apikey(publishable), ...bearer(publishable)]],
  ];
  it.each(accepted)("%s: accepted, and no filter", async (_, url, headers) => {
    expect((await ask(url, headers)).status).toBe(200);
  });

  it("if secret, reads the schema and what clients cannot", async () => {
    expect((await ask(dataUrl(""), apikey(secret))).body).toMatchObject({ swagger: "2.0" });
    const emails = dataUrl("profiles?select=email&limit=1");
    expect((await ask(emails, apikey(publishable))).status).toBe(401);
    for (const headers of [apikey(secret), [...apikey(secret), ...bearer(secret)]])
      expect((await ask(emails, headers)).status).toBe(200);
  });
});

it("a token cannot set the claims of an API key", async () => {
  const { id } = await newOrganization({ visibility: "private" });
  const claims = {
    sub: (await newUser()).id,
    "feedback.organization_id": id,
    scopes: ["submissions:moderate"],
    app_metadata: { role: "owner", organization_id: id },
  };
  const headers = [...bearer(jwt(claims)), "apikey", publishable, "feedback.scopes", "submissions:moderate"];
  expect((await ask(dataUrl(`organizations?select=id&id=eq.${id}`), headers)).body).toEqual([]);
});

describe("an API key", () => {
  it.each(["api_key", "access_token", "apikey"])("in the query as %s is not read", async (name) => {
    expect((await api("GET", `/api/admin/origins?${name}=${key}`)).status).toBe(401);
  });

  it("acts for its own organization only, whatever the request contains", async () => {
    const scopes = ["submissions:read", "submissions:write", "submissions:moderate"] as const;
    const as = await newKey(await newOrganization(), scopes);
    const hidden = await newOrganization({ visibility: "private" });
    for (const named of [home.id, home.slug, hidden.slug])
      expect((await api("GET", "/api/submissions", { as, on: { slug: named } })).status).toBe(404);
  });
});

describe("unknown, revoked and expired keys", () => {
  const secrets = { unknown, revoked: revoked.token, expired: expired.token, mistyped: typo(20) };

  /** All that a caller can compare: not the request id, the time and the remaining requests of the address. */
  function visible({ status, text, headers }: Answer) {
    const hidden = ["date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"];
    return { status, text, headers: Object.entries(headers).filter(([name]) => !hidden.includes(name)) };
  }

  it.each([
    ["a read", "GET", "/api/submissions?limit=1", undefined],
    ["a creation, with its own form of errors", "POST", "/api/submissions", {}],
    ["what only people may do", "GET", "/api/admin/api-keys", undefined],
    ["a path that is not there", "GET", "/api/nowhere", undefined],
  ] as const)("get the same response for %s", async (_, method, path, body) => {
    const first = visible(await api(method, path, { as: { token: unknown }, body }));
    expect(first.status).toBe(401);
    for (const [kind, token] of Object.entries(secrets))
      expect(visible(await api(method, path, { as: { token }, body })), kind).toEqual(first);
  });

  describe("on one connection", () => {
    let own: CountedStack;
    beforeAll(async () => {
      own = await startCountedStack();
    });
    afterAll(() => own?.remove());

    it("take two round trips each: one to look them up, one to charge the address", async () => {
      const [old, ended] = [await own.key([]), await own.key([], new Date(0))];
      await own.sql`update private.api_keys set revoked_at = now() where digest = ${digestOf(old)}`;
      const flights = async (token: string) => {
        const before = own.flights();
        expect((await own.call("GET", "/api/submissions?limit=1", { token })).status).toBe(401);
        return own.flights() - before;
      };
      for (const [kind, token] of Object.entries({ unknown, revoked: old, expired: ended })) {
        // The first requests prepare the statements.
        for (let n = 0; n < 3; n++) await flights(token);
        expect(await flights(token), kind).toBe(2);
      }
    });
  });
});
