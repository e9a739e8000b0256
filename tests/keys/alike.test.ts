import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newApiKey, orgKeyPrefix } from "../../shared/api-keys.ts";
import { type Answer, api, send } from "../api/client.ts";
import { newKey, newOrganization, unknownKey } from "../api/world.ts";
import { sql } from "../stack.ts";

type Kind = "unknown" | "revoked" | "expired" | "of a typo";
const organization = await newOrganization();
const revoked = await newKey(organization, ["submissions:write"]);
await sql`update private.api_keys set revoked_at = now() where id = ${revoked.id}`;
const expired = await newKey(organization, ["submissions:write"]);
await sql`update private.api_keys set expires_at = now() - interval '1 minute' where id = ${expired.id}`;
const valid: string = (await newKey(organization, ["submissions:write"])).token;
const typo = valid.slice(0, 20) + (valid[20] === "A" ? "B" : "A") + valid.slice(21);
const secrets: Record<Kind, string> = {
  unknown: (await unknownKey()).token,
  revoked: revoked.token,
  expired: expired.token,
  "of a typo": typo,
};

const requests: [string, (token: string) => Promise<Answer>][] = [
  ["a read", (token) => api("GET", "/api/submissions?limit=1", { as: { token } })],
  [
    "a creation, with its own form of errors",
    (token) => api("POST", "/api/submissions", { as: { token }, body: {} }),
  ],
  ["what only people may do", (token) => api("GET", "/api/admin/api-keys", { as: { token } })],
  ["a path that is not there", (token) => api("GET", "/api/nowhere", { as: { token } })],
];

/** All that a caller can compare: not the request id, the time and the remaining requests of the address. */
function visible({ status, text, headers }: Answer): object {
  const {
    date: _,
    "x-request-id": _id,
    "x-ratelimit-remaining": _left,
    "x-ratelimit-reset": _reset,
    ...rest
  } = headers;
  return { status, text, headers: rest };
}

test.each(requests)("unknown, revoked and expired keys get the same response for %s", async (_what, ask) => {
  const unknown = visible(await ask(secrets.unknown));
  expect(unknown).toMatchObject({ status: 401 });
  for (const kind of ["revoked", "expired", "of a typo"] as const)
    expect(visible(await ask(secrets[kind])), kind).toEqual(unknown);
});

test("unknown, revoked and expired keys take about the same time", async () => {
  const kinds = ["unknown", "revoked", "expired"] as const;
  const times: Record<string, number[]> = { unknown: [], revoked: [], expired: [] };
  for (let round = 0; round < 320; round++) {
    for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
      const before = performance.now();
      await send("GET", "/api/submissions?limit=1", { as: { token: secrets[kind] } });
      if (round >= 20) times[kind]?.push(performance.now() - before);
    }
  }
  const median = (list: number[] = []) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
  const medians = kinds.map((kind) => median(times[kind]));
  // An early exit would be several times faster; a busy machine shifts a median by some tenths.
  expect(Math.max(...medians) / Math.min(...medians), medians.join(" ")).toBeLessThan(1.3);
});

describe("an invalid key", () => {
  const checked = newApiKey(orgKeyPrefix).secret;
  test.each<[string, string]>([
    ["one character short", checked.slice(0, -1)],
    ["one character long", `${checked}0`],
    ["two characters swapped", checked.slice(0, 10) + checked[11] + checked[10] + checked.slice(12)],
    ["another prefix", checked.replace("fcs_org_", "fcs_usr_")],
    ["capitals", checked.toUpperCase()],
    ["a checksum of zeros", `${checked.slice(0, -6)}000000`],
    ["the digest", randomBytes(32).toString("hex")],
    ["an asterisk", "*"],
    ["a percent sign", "fcs_org_%"],
  ])("%s returns 401 without a lookup", async (_what, token) => {
    const { status, body } = await api("GET", "/api/submissions?limit=1", { as: { token } });
    expect(status).toBe(401);
    expect(body).toMatchObject({ error: { code: "UNAUTHORIZED" } });
  });

  test.each<[string, Record<string, string>]>([
    ["Basic", { authorization: `Basic ${Buffer.from("a:b").toString("base64")}` }],
    ["no scheme", { authorization: "fcs_org_x" }],
    ["an empty Bearer", { authorization: "Bearer " }],
    ["two credentials", { authorization: "Bearer one, Bearer two" }],
    ["white space within", { authorization: "Bearer a b" }],
  ])("a header of %s returns 401 and is never anonymous", async (_what, headers) => {
    expect((await api("GET", "/api/submissions?limit=1", { headers })).status).toBe(401);
  });

  test("a key in the query string or in a cookie is not read", async () => {
    for (const path of [
      `/api/admin/origins?api_key=${valid}`,
      `/api/admin/origins?access_token=${valid}`,
      `/api/admin/origins?apikey=${valid}`,
    ]) {
      expect((await api("GET", path)).status, path).toBe(401);
    }
    expect(
      (
        await api("GET", "/api/admin/origins", {
          headers: { cookie: `api_key=${valid}; sb-127-auth-token=${valid}` },
        })
      ).status,
    ).toBe(401);
    expect((await api("GET", "/api/admin/origins", { headers: { apikey: valid } })).status).toBe(401);
  });
});

test("a key is looked up by a unique index on its digest, and compared there as a whole", async () => {
  const [index] = await sql<{ definition: string }[]>`
    select indexdef as definition from pg_indexes where schemaname = 'private' and tablename = 'api_keys' and indexdef ~ 'UNIQUE.*\\(digest\\)'`;
  expect(index).toBeDefined();
});
