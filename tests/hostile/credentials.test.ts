import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { digestOf } from "../../shared/api-keys.ts";
import { type Answer, api } from "../api/client.ts";
import { type CountedStack, startCountedStack } from "../api/counted-stack.ts";
import { newKey, newOrganization, newUser, unknownKey } from "../api/world.ts";
import { sql, stack } from "../stack.ts";

// What each interface takes a credential for; what is wrong is a 401, and never anonymous.

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

/** A token as the auth service signs it, but for the changes. */
function jwt(claims: object = {}, header: object = {}, signedWith = stack.jwtSecret, hash = "sha256") {
  const all = { iss: tokenIssuer, aud: "authenticated", role: "authenticated", sub: person.id };
  const text = [
    { alg: "HS256", typ: "JWT", ...header },
    { ...all, iat: now, exp: now + 3600, ...claims },
  ]
    .map(base64)
    .join(".");
  return `${text}.${createHmac(hash, signedWith).update(text).digest("base64url")}`;
}
const service = { role: "service_role" };
const resigned = (token: string, signature: string) => token.replace(/[^.]*$/, signature);

/** A stored key with this secret: rejecting it does not need a look-up. */
async function stored(token: string): Promise<string> {
  const { id } = await newKey(home, ["submissions:read"]);
  await sql`update private.api_keys set digest = ${digestOf(token)} where id = ${id}`;
  return token;
}
const expired = await newKey(home, ["submissions:write"], new Date(Date.now() - 1000));
const revoked = await newKey(home, ["submissions:write"]);
await sql`update private.api_keys set revoked_at = now() where id = ${revoked.id}`;
const unknown = (await unknownKey()).token;
const typo = (at: number) => key.slice(0, at) + (key.at(at) === "A" ? "B" : "A") + key.slice(at).slice(1);

type Outcome = "accepted" | "nobody" | "UNAUTHORIZED" | "PGRST301" | "PGRST303";

// PGRST301: the token itself is wrong; PGRST303: its claims are.
const credentials: [what: string, inApi: Outcome, inDataApi: Outcome, Headers][] = [
  ["no credential", "nobody", "nobody", []],
  ["a user's token", "accepted", "accepted", bearer(person.token)],
  ["a user's token after bearer in lower case", "accepted", "accepted", authorization(`bearer ${jwt()}`)],
  ["the publishable key", "nobody", "nobody", bearer(publishable)],
  ["the secret key beside the publishable one", "UNAUTHORIZED", "PGRST301", bearer(secret)],
  ["an API key", "accepted", "PGRST301", bearer(key)],
  ["an API key as apikey", "nobody", "UNAUTHORIZED", ["apikey", key]],
  ["two tokens", "UNAUTHORIZED", "PGRST301", [...bearer(person.token), ...bearer(person.token)]],

  ...Object.entries({
    "alg none": resigned(jwt(service, { alg: "none" }), ""),
    "alg None": resigned(jwt(service, { alg: "None" }), ""),
    "alg none with a signature": jwt({}, { alg: "none" }),
    "no signature": resigned(jwt(), ""),
    "a cut signature": jwt().slice(0, -4),
    "the publishable key as the secret": jwt(service, {}, publishable),
    "an empty secret": jwt(service, {}, ""),
    "the secret of local Supabase": jwt(service, {}, "super-secret-jwt-token-with-at-least-32-characters-long"),
    "another secret": jwt({ role: "postgres" }, {}, "x".repeat(64)),
    "HS512 by the right secret": jwt({}, { alg: "HS512" }, stack.jwtSecret, "sha512"),
    "RS256 in the header of an HS256 signature": jwt({}, { alg: "RS256" }),
    "a key of its own in the header": jwt({}, { jwk: { kty: "oct", k: base64("y".repeat(40)) } }, "y".repeat(40)),
    "a key address in the header": jwt({}, { jku: "http://127.0.0.1:9/jwks", kid: "../../dev/null" }, ""),
    "claims changed after signing": resigned(jwt(), jwt({ sub: randomUUID() }).split(".")[2] ?? ""),
  }).map(([what, token]) => wrong(`a token with ${what}`, bearer(token))),

  ["an expired token", "UNAUTHORIZED", "PGRST303", bearer(jwt({ exp: now - 10 }))],
  ["a token that is not yet valid", "UNAUTHORIZED", "PGRST301", bearer(jwt({ nbf: now + 3600 }))],
  ["a token without an expiry", "UNAUTHORIZED", "PGRST303", bearer(jwt({ exp: undefined }))],
  // The API has no service, and anonymous requests have no token.
  ["a token of role service_role", "UNAUTHORIZED", "accepted", bearer(jwt(service))],
  ["a token of role anon", "UNAUTHORIZED", "nobody", bearer(jwt({ role: "anon" }))],
  ...[
    ...["service_key", "postgres", "supabase_admin", "supabase_auth_admin", "feedback_api", "authenticator"],
    ...["pg_read_all_data", "AUTHENTICATED", "", undefined],
  ].map((role): (typeof credentials)[number] => [
    `a token of role ${JSON.stringify(role)}`,
    "UNAUTHORIZED",
    "PGRST303",
    bearer(jwt({ role, "feedback.scopes": "submissions:moderate", organization_id: home.id })),
  ]),
  ...["not-a-uuid", "admin", "", randomUUID(), undefined, ["x"], null].map(
    (sub): (typeof credentials)[number] => [
      `a token of subject ${JSON.stringify(sub)}`,
      "UNAUTHORIZED",
      "nobody",
      bearer(jwt({ sub })),
    ],
  ),

  wrong("an unknown key", bearer(unknown)),
  wrong("an expired key", bearer(expired.token)),
  wrong("a revoked key", bearer(revoked.token)),
  ...Object.entries({
    "a typo": typo(20),
    "a typo in its checksum": typo(-1),
    "a checksum of zeros": `${key.slice(0, -6)}000000`,
    "one character less": key.slice(0, -1),
    "one character more": `${key}x`,
    "two characters swapped": key.slice(0, 10) + key[11] + key[10] + key.slice(12),
    "another prefix": key.replace("fcs_org_", "fcs_usr_"),
    capitals: key.toUpperCase(),
    "a NUL": `${key.slice(0, 20)}%00${key.slice(20)}`,
  }).map(([what, token]) => wrong(`a key with ${what}, though its digest is stored`, bearer(token))),

  ...[
    ...["Basic eDp5", `Basic ${base64("admin:admin")}`, `Token ${key}`, key, "fcs_org_x", "null", ","],
    ...["Bearer", "bearer", "Bearer ", "Bearer  ", "bearer  x", "Bearer a b", "Bearer one, Bearer two"],
    ...["Bearer é", "Bearer ..", "Bearer x.y.z", "Bearer null", "Bearer undefined", "Bearer letmein"],
    ...["Bearer fcs_org_", "Bearer fcs_agt_x", "Bearer fcs_org_%", "Bearer *"],
    ...[`Bearer ${"a".repeat(9000)}`, `Bearer ${"a.".repeat(3000)}`],
    `Bearer ${randomBytes(32).toString("hex")}`,
  ].map((value) => wrong(`Authorization: ${value.slice(0, 30)}`, authorization(value))),

  // The data API reads no cookies.
  ["a session's cookie", "accepted", "nobody", session(person.token)],
  ...Object.entries<Headers>({
    "an expired token": session(jwt({ exp: now - 10 })),
    "text that is no JSON": cookie("abc"),
    "base64url of nothing": cookie("base64-"),
    "base64url that is none": cookie("base64-!!!!"),
    "base64url of bytes that are no text": cookie("base64-_w"),
    null: cookie("null"),
    "a number": cookie("12"),
    "an empty array": cookie("%5B%5D"),
    "an object without a token": cookie("%7B%7D"),
    "a token that is no text": session(12),
    "a key": session(key),
    "a key, also as api_key": ["cookie", `api_key=${key}; ${cookieName}=${key}`],
    __proto__: cookie(encodeURIComponent(`{"__proto__":{"access_token":"${jwt()}"}}`)),
    "deep JSON": cookie("%5B".repeat(5_000)),
    "a broken percent sign": cookie("%E0%A4%A"),
    "the first chunk of two": cookie("base64-eyJhY2Nlc3NfdG9r", `${cookieName}.0`),
    "a thousand chunks": ["cookie", Array.from({ length: 1_000 }, (_, n) => `${cookieName}.${n}=x`).join("; ")],
  }).map(([what, headers]): (typeof credentials)[number] => [
    `a cookie of ${what}`,
    "UNAUTHORIZED",
    "nobody",
    headers,
  ]),
  ["a cookie of a later chunk only", "nobody", "nobody", cookie("abc", `${cookieName}.1`)],
  ...["sb-128-auth-token", "sb-127-auth-tokens", "xsb-127-auth-token", "SB-127-AUTH-TOKEN"].map(
    (name): (typeof credentials)[number] => [
      `a session in the cookie ${name}`,
      "nobody",
      "nobody",
      session(person.token, name),
    ],
  ),

  // The header takes precedence.
  ["a token beside a broken cookie", "accepted", "accepted", [...bearer(jwt()), ...cookie("broken")]],
  ["the publishable key beside a session", "nobody", "nobody", [...bearer(publishable), ...session(jwt())]],
  ...["Bearer nonsense", "Basic abc", "Bearer"].map((value) =>
    wrong(`${value} beside a session`, [...authorization(value), ...session(jwt())]),
  ),
];

function wrong(what: string, headers: Headers): (typeof credentials)[number] {
  return [what, "UNAUTHORIZED", "PGRST301", headers];
}
