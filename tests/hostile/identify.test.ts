import { createHmac, generateKeyPairSync, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import { SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import type { ErrorCode } from "../../shared/errors.ts";
import type { IdentifyRefusal } from "../../shared/identify.ts";
import { call, newBoard } from "../access/callers.ts";
import type { Route } from "../access/service.ts";
import { routesOfTheService } from "../access/service.ts";
import { api, expectError, send } from "../api/client.ts";
import { claimsOf, exchange, identified, newSecret, nowSeconds, signed } from "../api/identified.ts";
import { newSurvey } from "../api/survey-world.ts";
import {
  countMistakes,
  newComment,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  stored,
  type User,
} from "../api/world.ts";
import { importFunction } from "../import-function.ts";
import { sql, stack } from "../stack.ts";

type Host = { organization: Organization; owner: User; id: string; secret: string };

async function newHost(): Promise<Host> {
  const organization = await newOrganization();
  const owner = await newUser("The owner", { organization, role: "owner" });
  return { organization, owner, ...(await newSecret(organization, owner)) };
}

let host: Host;
let other: Host;

beforeAll(async () => {
  [host, other] = await Promise.all([newHost(), newHost()]);
});

const refused = async (token: unknown, reason: IdentifyRefusal, code: ErrorCode = "UNAUTHORIZED") => {
  const error = expectError(await exchange(token), code);
  expect([error.reason, error.message]).toEqual([reason, expect.stringMatching(/\w/)]);
  return error;
};

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
/** Signed by the secret, whatever the header says. */
const forged = (header: object, claims: object, secret: string) => {
  const text = `${base64(header)}.${base64(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
};

describe("a token is refused", () => {
  test("with another algorithm than HS256, whoever signed it", async () => {
    const claims = claimsOf(host.organization);
    for (const alg of ["none", "None", "HS384", "HS512", "RS256", "ES256", "EdDSA", "", 256, undefined])
      await refused(forged({ alg, typ: "JWT" }, claims, host.secret), "algorithm");
    await refused(`${base64({ alg: "none" })}.${base64(claims)}.`, "algorithm");
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const jwk = { kty: "oct", k: "YQ" };
    await refused(await new SignJWT(claims).setProtectedHeader({ alg: "RS256" }).sign(privateKey), "algorithm");
    // Keys that the token's header contains or names are ignored.
    await refused(forged({ alg: "HS256", jwk, kid: host.id, jku: "https://evil.example" }, claims, "a"), "signature");
    await refused(forged({ alg: "HS256", crit: ["b64"], b64: false }, claims, host.secret), "malformed");
  });

  test("that is no token, is signed by nobody here, or was changed after", async () => {
    const token = await signed(claimsOf(host.organization), host.secret);
    const [head, , signature] = token.split(".");
    for (const text of ["x", "a.b.c", `${token}.${token}`, `${head}..${signature}`, `Bearer ${token}`, host.secret])
      await refused(text, "malformed");
    await refused(`${head}.${base64(claimsOf(host.organization))}.${signature}`, "signature");
    await refused(await signed(claimsOf(host.organization), other.secret), "signature");
    await refused(await signed(claimsOf(host.organization), ` ${host.secret}`), "signature");
    await refused(`${token.slice(0, -3)}AAA`, "signature");
    expectError(await exchange(undefined), "VALIDATION_ERROR", "token");
    expectError(await exchange({ alg: "none" }), "VALIDATION_ERROR", "token");
    expectError(await exchange("x".repeat(8001)), "VALIDATION_ERROR", "token");
  });

  test("for another organization, several or none", async () => {
    const { slug, id } = host.organization;
    for (const aud of [
      undefined,
      "",
      "*",
      "feedback",
      randomUUID(),
      `${slug}x`,
      [],
      [slug, "other"],
      [id, id],
      1,
      null,
    ])
      await refused(await signed(claimsOf(host.organization, { aud }), host.secret), "audience");
    await refused(await signed(claimsOf(other.organization), host.secret), "signature");
    expect((await exchange(await signed(claimsOf(host.organization, { aud: [id] }), host.secret))).status).toBe(201);
    const bare = await newOrganization();
    await refused(await signed(claimsOf(bare), host.secret), "no_secret");
    const hidden = await newOrganization({ visibility: "private" });
    await refused(await signed(claimsOf(hidden), host.secret), "audience");
  });

  test("that lives too long, is too old, or is of the future; a minute of skew is tolerated", async () => {
    const at = (changes: object) =>
      signed(claimsOf(host.organization, changes as Record<string, unknown>), host.secret);
    const now = nowSeconds();
    await refused(await at({ iat: now, exp: now + 3601 }), "lifetime");
    await refused(await at({ iat: now - 3600, exp: now + 1800 }), "lifetime");
    await refused(await at({ iat: now - 600, exp: now - 120 }), "expired");
    await refused(await at({ iat: now + 120, exp: now + 600 }), "issued_in_future");
    await refused(await at({ nbf: now + 120 }), "not_yet_valid");
    for (const name of ["iat", "exp"])
      for (const value of [undefined, String(now), null, "soon"]) {
        const error = await refused(await at({ [name]: value }), "claims");
        expect(error.details.map(({ field }) => field)).toEqual([`token.${name}`]);
      }
    const [head, body] = (await at({})).split(".");
    const endless = Buffer.from(
      String(Buffer.from(String(body), "base64url")).replace(/"exp":\d+/, '"exp":1e999'),
    ).toString("base64url");
    const text = `${head}.${endless}`;
    await refused(`${text}.${createHmac("sha256", host.secret).update(text).digest("base64url")}`, "claims");
    expect((await exchange(await at({ iat: now - 600, exp: now - 30 }))).status).toBe(201);
    expect((await exchange(await at({ iat: now + 30, exp: now + 600 }))).status).toBe(201);
    expect((await exchange(await at({ iat: now, exp: now + 3600 }))).status).toBe(201);
  });

  test("with claims that say nobody, or too much", async () => {
    const wrong: [field: string, value: unknown][] = [
      ["sub", undefined],
      ["sub", ""],
      ["sub", 42],
      ["sub", "x".repeat(256)],
      ["sub", "a\0b"],
      ["sub", "\ud800"],
      ["email", undefined],
      ["email", "grace"],
      ["email", "grace@host.example, other@host.example"],
      ["email", ["grace@host.example"]],
      ["jti", 1],
      ["jti", "x".repeat(256)],
    ];
    for (const [field, value] of wrong) {
      const claims = { ...claimsOf(host.organization), [field]: value };
      const error = await refused(forged({ alg: "HS256" }, claims, host.secret), "claims");
      expect(
        error.details.map((detail) => detail.field),
        `${field} ${value}`,
      ).toEqual([`token.${field}`]);
    }
  });

  test("that was used, where it has a jti: of many at once, one is taken", async () => {
    const jti = randomUUID();
    const token = await signed(claimsOf(host.organization, { jti }), host.secret);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => send("POST", "/api/identify", { body: { token } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401, 401, 401]);
    await refused(token, "replayed");
    await refused(await signed(claimsOf(host.organization, { jti }), host.secret), "replayed");
    // Each organization has separate token ids.
    await identified(other.organization, other.secret, { jti });
    // A used token is deleted once it would be refused as expired.
    await sql`update private.identify_tokens set expires_at = now() where organization_id = ${host.organization.id}`;
    await sql`select private.trim_rows()`;
    expect(await sql`select from private.identify_tokens where organization_id = ${host.organization.id}`).toHaveLength(
      0,
    );
  });

  test("alike for a private board with a signing secret and for none, by whoever cannot sign for it", async () => {
    const own = await newHost();
    await sql`update public.organizations set visibility = 'private' where id = ${own.organization.id}`;
    const header = { alg: "HS256", typ: "JWT" };
    const guesses: ((aud: string) => string)[] = [
      (aud) => forged(header, claimsOf(own.organization, { aud }), "a guess"),
      (aud) => forged({ ...header, alg: "HS512" }, claimsOf(own.organization, { aud }), "a guess"),
      (aud) => forged(header, { aud }, "a guess"),
      (aud) => `${forged(header, { aud }, "a guess")}x`,
    ];
    for (const guess of guesses) {
      const names = [own.organization.slug, own.organization.id, "no-such-board"];
      const answers = await Promise.all(names.map((aud) => exchange(guess(aud))));
      const missing = answers.at(-1);
      expect(missing?.body).toMatchObject({ error: { reason: "audience" } });
      for (const { status, body } of answers) expect([status, body]).toEqual([missing?.status, missing?.body]);
    }
  });

  test("after as much work for no board as for a private one with one secret or two", async () => {
    const module = (name: string) => new URL(`../../functions/_shared/callers/${name}.ts`, import.meta.url);
    const { withDecoys } = await importFunction<typeof import("../../functions/_shared/callers/identify.ts")>(
      module("identify"),
    );
    const { decryptSecret } = await importFunction<typeof import("../../functions/_shared/callers/stored-secrets.ts")>(
      module("stored-secrets"),
    );
    const secret = (name: string) => ({ id: name, encrypted: "", last_four: "" });
    const board = { organization_id: randomUUID(), slugs: ["hidden"], is_public: false };
    const idsFor = (...secrets: ReturnType<typeof secret>[]) =>
      withDecoys({ ...board, secrets }, "hidden").secrets.map(({ id }) => id);
    const decoys = withDecoys(undefined, "No-Such").secrets;
    const [first, second] = decoys.map(({ id }) => id);
    expect(idsFor()).toEqual([first, second]);
    expect(idsFor(secret("own"))).toEqual(["own", first]);
    expect(idsFor(secret("own"), secret("older"))).toEqual(["own", "older"]);
    expect(new Set(decoys.map(({ encrypted, id }) => decryptSecret(encrypted, id))).size).toBe(2);
    expect(withDecoys(undefined, "No-Such").slugs).toEqual(["no-such"]);
  });

  test("for a private board, whose sessions rest until it is public again", async () => {
    const own = await newHost();
    const person = await identified(own.organization, own.secret);
    await sql`update public.organizations set visibility = 'private' where id = ${own.organization.id}`;
    await refused(await signed(claimsOf(own.organization), own.secret), "private_board", "FORBIDDEN");
    expectError(await api("GET", "/api/submissions", { as: person }), "UNAUTHORIZED");
  });
});

describe("a session", () => {
  test("of two organizations with the same sub and address is of two people", async () => {
    const claims = { sub: "1", email: `${randomUUID()}@host.example` };
    const [here, there] = [
      await identified(host.organization, host.secret, claims),
      await identified(other.organization, other.secret, claims),
    ];
    expect(here.profile.id).not.toBe(there.profile.id);
    const idea = await newSubmission(host.organization, here.profile);
    expect((await api("GET", `/api/submissions/${idea}`, { as: here })).status).toBe(200);
    expectError(await api("GET", `/api/submissions/${idea}`, { as: there }), "NOT_FOUND");
    expectError(await api("DELETE", `/api/submissions/${idea}`, { as: there }), "NOT_FOUND");
  });

  test("opens no route of another organization, public as it is", async () => {
    const board = await newBoard("public");
    const person = await identified(host.organization, host.secret);
    // These paths contain no organization; the requests act on that of the session.
    const routes = (await routesOfTheService()).filter(({ path }) =>
      /^\/api\/(?!admin|mcp|invites)[^/]*\/:/.test(path),
    );
    expect(routes.length).toBeGreaterThan(30);
    const heard: [Route, number][] = [];
    for (const route of routes) heard.push([route, (await call(route, person.token, board)).status]);
    expect(heard.filter(([, status]) => status !== 404)).toEqual([]);
    for (const path of ["/api/submissions", "/api/surveys", "/api/submissions/search?q=idea"])
      expectError(await api("GET", path, { as: person, on: board.organization }), "NOT_FOUND");
    const left = await sql`select from public.votes where user_id = ${person.profile.id}`;
    expect(left).toHaveLength(0);
  });

  test("opens nothing of the team with the address of its owner or of an invite", async () => {
    const person = await identified(host.organization, host.secret, { email: host.owner.email });
    // The address of the owner does not make them the owner.
    expectError(await api("GET", "/api/admin/api-keys", { as: person }), "FORBIDDEN");
    const invite = await api("POST", `/api/organizations/${host.organization.id}/invites`, {
      as: host.owner,
      body: { email: person.profile.email.replace("@", "+1@"), role: "admin" },
    });
    const { token } = (invite.body as { data: { token: string } }).data;
    const invited = await identified(host.organization, host.secret, {
      email: person.profile.email.replace("@", "+1@"),
    });
    expectError(await api("POST", "/api/invites/accept", { as: invited, body: { token } }), "FORBIDDEN");
    expectError(
      await api("PATCH", `/api/organizations/${host.organization.id}/members/${invited.profile.id}`, {
        as: host.owner,
        body: { role: "admin" },
      }),
      "NOT_FOUND",
    );
  });

  test("with the address of a user takes nothing over from them", async () => {
    const user = await newUser("A user");
    const idea = await newSubmission(host.organization, user);
    const person = await identified(host.organization, host.secret, { email: user.email, sub: user.id });
    expect(person.profile.id).not.toBe(user.id);
    expectError(
      await api("PATCH", `/api/submissions/${idea}`, { as: person, body: { title: "Mine now" } }),
      "FORBIDDEN",
    );
    const seen = await api("GET", "/api/me/votes", { as: person });
    expect(seen.text).not.toContain(idea);
    const mine = await api("GET", "/api/me/export", { as: person });
    expect(mine.text).not.toContain(idea);
    expect((await api("DELETE", "/api/me?confirm=erase", { as: person })).status).toBe(200);
    expect((await api("GET", "/api/me/votes", { as: user })).text).toContain(idea);
    const [row] = await sql`select kind, auth_user_id, email from public.profiles where id = ${user.id}`;
    expect(row).toEqual({ kind: "user", auth_user_id: user.id, email: user.email });
  });

  test("is nobody's at auth, the data API and realtime", async () => {
    const { token, profile } = await identified(host.organization, host.secret);
    const idea = await newSubmission(host.organization, profile);
    for (const path of ["/auth/v1/user", `/rest/v1/submissions?id=eq.${idea}`, "/rest/v1/rpc/my_votes"]) {
      const { status } = await send(path.includes("rpc") ? "POST" : "GET", path, {
        base: stack.supabase_url,
        as: { token },
        headers: { apikey: stack.publishable_key },
        ...(path.includes("rpc") && { body: { submission_ids: [idea] } }),
      });
      expect([401, 403], path).toContain(status);
    }
    const client = createClient(stack.supabase_url, stack.publishable_key, {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: WebSocket as never },
      accessToken: async () => token,
    });
    const status = await new Promise<string>((resolve) => {
      client.channel(`user:${profile.id}`, { config: { private: true } }).subscribe((state) => resolve(state));
    });
    expect(status).not.toBe("SUBSCRIBED");
    await client.removeAllChannels();
  });

  test("ends with its signing secret, and the tokens of that too; the other's stay", async () => {
    const own = await newHost();
    const next = await newSecret(own.organization, own.owner);
    const [before, after] = [
      await identified(own.organization, own.secret),
      await identified(own.organization, next.secret),
    ];
    await api("DELETE", `/api/admin/identify-secrets/${own.id}`, { as: own.owner, on: own.organization });
    expectError(await api("GET", "/api/me/votes", { as: before }), "UNAUTHORIZED");
    expect((await api("GET", "/api/me/votes", { as: after })).status).toBe(200);
    await refused(await signed(claimsOf(own.organization), own.secret), "signature");
  });

  test("ends when a team erases its person", async () => {
    const person = await identified(host.organization, host.secret);
    const idea = await newSubmission(host.organization, await newUser());
    expect((await api("POST", `/api/submissions/${idea}/vote`, { as: person })).status).toBe(201);
    const path = `/api/admin/people/${person.profile.id}/erase`;
    expect((await api("POST", path, { as: host.owner, on: host.organization })).status).toBe(200);
    expectError(await api("POST", `/api/submissions/${idea}/vote`, { as: person }), "UNAUTHORIZED");
  });

  test("counts once, however often its person erases themselves and is identified again", async () => {
    const claims = { sub: randomUUID(), email: `${randomUUID()}@host.example` };
    const idea = await newSubmission(host.organization, await newUser());
    const said = await newComment(idea, await newUser());
    const survey = await newSurvey(host.owner, host.organization, { questions: [{ type: "nps", text: "And?" }] });
    const body = { answers: [{ question_id: survey.questions[0]?.id, value: 9 }] };
    for (const _ of ["once", "again"]) {
      const as = await identified(host.organization, host.secret, claims);
      const done = [
        await api("POST", `/api/submissions/${idea}/vote`, { as }),
        await api("POST", `/api/comments/${said}/vote`, { as }),
        await api("POST", `/api/surveys/${survey.id}/responses`, { as, body }),
      ];
      expect(done.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect((await api("DELETE", "/api/me?confirm=erase", { as })).status).toBe(200);
    }
    expect((await stored("submissions", idea))?.vote_count).toBe(1);
    expect((await stored("comments", said))?.vote_count).toBe(0);
    expect(await sql`select from public.survey_responses where survey_id = ${survey.id}`).toHaveLength(0);
    expect(await countMistakes(host.organization)).toEqual([]);
  });

  test("guessed, of another kind or in another place is not valid", async () => {
    const { token } = await identified(host.organization, host.secret);
    const digest = await sql`select encode(digest, 'hex') as digest from private.identify_sessions limit 1`;
    for (const as of [
      { token: `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}` },
      { token: token.replace("fcs_usr_", "fcs_org_") },
      { token: token.replace("fcs_usr_", "fcs_agt_") },
      { token: host.secret },
      { token: `fcs_usr_${only(digest[0]).digest.slice(0, 49)}` },
    ])
      expectError(await api("GET", "/api/submissions", { as }), "UNAUTHORIZED");
    expect((await send("POST", "/api/mcp/tools/list", { as: { token }, body: {} })).status).not.toBe(200);
  });
});

test("neither tokens nor sessions nor signing secrets are stored or logged", async () => {
  const token = await signed(claimsOf(host.organization, { jti: randomUUID() }), host.secret);
  const answer = await exchange(token);
  const { access_token } = (answer.body as { data: { access_token: string } }).data;
  await refused(token, "replayed");
  const site = await send("GET", `/o/${host.organization.slug}/sso?token=${token}`, { base: stack.site_url });
  expect(site.status).toBe(200);
  const dumps = await sql`
    select to_jsonb(s)::text as row from private.identify_sessions s
    union all select to_jsonb(s)::text from private.identify_secrets s
    union all select to_jsonb(s)::text from private.identify_tokens s
    union all select to_jsonb(s)::text from private.audit_log s where s.organization_id = ${host.organization.id}`;
  const stored = dumps.map(({ row }) => row).join("\n");
  const folder = dirname(stack.mailPath);
  const logs = await Promise.all(
    ["functions.log", "web.log"].map((name) => readFile(join(folder, name), "utf8").catch(() => "")),
  );
  expect(logs.join("")).toContain("/identify");
  for (const secret of [token, String(token.split(".")[2]), access_token, host.secret])
    expect(`${stored}${logs.join("")}`.includes(secret)).toBe(false);
});
