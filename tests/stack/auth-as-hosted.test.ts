import { randomUUID } from "node:crypto";
import { createClient } from "@supabase/supabase-js";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import WebSocket from "ws";
import { accessToken, signUp, sql, stack } from "../stack.ts";

// The answers that are compared are those of Supabase Auth 2.196.
const clientWith = (key: string) =>
  createClient(stack.supabase_url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: WebSocket as never },
  });
const { admin } = clientWith(stack.secret_key).auth;
const password = "correct horse battery";
const someone = () => `${randomUUID()}@test.example`;
const isTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);

interface More {
  key?: string | null;
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}
async function auth(method: string, path: string, { key = stack.publishable_key, token, body, headers }: More = {}) {
  const answer = await fetch(`${stack.supabase_url}/auth/v1${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(key && { apikey: key }),
      ...(token && { authorization: `Bearer ${token}` }),
      "content-type": "application/json",
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json = text === "" ? null : JSON.parse(text);
  return { status: answer.status, body: json, location: answer.headers.get("location") };
}
const refused = (status: number, error_code: string, msg: unknown = expect.any(String)) => ({
  status,
  body: { code: status, error_code, msg },
});

async function account(more: object = {}) {
  const email = someone();
  const { data, error } = await admin.createUser({ email, password, email_confirm: true, ...more });
  if (error) throw error;
  const signIn = (word = password) => auth("POST", "/token?grant_type=password", { body: { email, password: word } });
  return { id: data.user.id, email, signIn, session: (await signIn()).body };
}

describe("the admin's calls", () => {
  test("supabase-js creates, shows, lists, changes, bans and deletes users with the secret key", async () => {
    const email = `Ada.${someone()}`;
    const metadata = { user_metadata: { name: "Ada" }, app_metadata: { plan: "x" } };
    const made = await admin.createUser({ email, password, email_confirm: true, ...metadata });
    const user = {
      id: expect.any(String),
      aud: "authenticated",
      role: "authenticated",
      email: email.toLowerCase(),
      email_confirmed_at: isTime,
      phone: "",
      app_metadata: { plan: "x", provider: "email", providers: ["email"] },
      user_metadata: { email_verified: true, name: "Ada" },
      created_at: isTime,
      updated_at: isTime,
      is_anonymous: false,
    };
    expect(made).toMatchObject({ error: null, data: { user } });
    const id = made.data.user?.id ?? "";
    expect((await admin.getUserById(id)).data.user).toMatchObject({ ...user, identities: [{ provider: "email" }] });

    const listed = await admin.listUsers({ page: 1, perPage: 1 });
    const [{ users } = { users: 0 }] = await sql`select count(*)::int as users from auth.users`;
    expect(listed.data).toMatchObject({ users: [{ id: expect.any(String) }], nextPage: 2, total: expect.any(Number) });
    expect("total" in listed.data && listed.data.total).toBeGreaterThanOrEqual(users - 50);

    const changed = await admin.updateUserById(id, {
      email: `b.${email}`,
      user_metadata: { name: null, likes: 1 },
      app_metadata: { plan: null },
    });
    expect(changed.data.user).toMatchObject({
      email: `b.${email}`.toLowerCase(),
      user_metadata: { email_verified: true, likes: 1 },
      app_metadata: { provider: "email", providers: ["email"] },
    });

    const banned = await admin.updateUserById(id, { ban_duration: "1h30m" });
    const until = Date.parse(String((banned.data.user as { banned_until?: string }).banned_until));
    expect(Math.abs(until - Date.parse(String(banned.data.user?.updated_at)) - 5_400_000)).toBeLessThan(60_000);
    expect((await admin.updateUserById(id, { ban_duration: "none" })).data.user).not.toHaveProperty("banned_until");

    expect(await admin.deleteUser(id)).toMatchObject({ error: null });
    expect((await admin.getUserById(id)).error).toMatchObject({ status: 404, code: "user_not_found" });
  });

  test("pages of users name the next and the last", async () => {
    await account();
    const answer = await fetch(`${stack.supabase_url}/auth/v1/admin/users?page=1&per_page=1`, {
      headers: { apikey: stack.secret_key },
    });
    const total = Number(answer.headers.get("x-total-count"));
    expect(await answer.json()).toMatchObject({ aud: "authenticated", users: [{ identities: null }] });
    expect(answer.headers.get("link")).toBe(
      `</admin/users?page=2&per_page=1>; rel="next", </admin/users?page=${total}&per_page=1>; rel="last"`,
    );
  });

  test("a soft deletion keeps the id alone, and frees the address", async () => {
    const { id, email, signIn, session } = await account({ user_metadata: { name: "Ada" } });
    await admin.deleteUser(id, true);
    expect(await auth("GET", "/user", { token: session.access_token })).toMatchObject(
      refused(403, "session_not_found"),
    );
    expect(await signIn()).toMatchObject(refused(400, "invalid_credentials"));
    const { data } = await admin.getUserById(id);
    expect(data.user).toMatchObject({ id, user_metadata: {}, app_metadata: {}, deleted_at: isTime });
    expect(JSON.stringify(data)).not.toContain(email.split("@")[0]);
    expect((await admin.createUser({ email })).error).toBeNull();
  });

  test.each([
    ["a magic link", "magiclink", "magiclink"],
    ["a reset", "recovery", "recovery"],
  ] as const)("generates %s with a code and a link, each for one use", async (_, type, verification) => {
    const { email } = await account();
    const generate = async () => (await admin.generateLink({ type, email })).data.properties;
    const link = await generate();
    expect(link).toMatchObject({
      verification_type: verification,
      email_otp: expect.stringMatching(/^\d{6}$/),
      redirect_to: expect.stringMatching(/^http/),
    });
    const { pathname, search } = new URL(link?.action_link ?? "");
    const open = () => auth("GET", pathname.replace("/auth/v1", "") + search, { key: null });
    expect((await open()).location).toMatch(/#access_token=[^&]+&.*&sb=&/);
    expect((await open()).location).toMatch(
      /#error=access_denied&error_code=otp_expired&error_description=[\w+]+&sb=$/,
    );
    const code = await generate();
    const byCode = { email, token: code?.email_otp, type };
    expect((await auth("POST", "/verify", { body: byCode })).body).toMatchObject({ user: { email } });
  });

  test("generates the link of a sign-up and of an invitation, for an account that it makes", async () => {
    for (const type of ["signup", "invite"] as const) {
      const email = someone();
      const made = await admin.generateLink({ type, email, password, options: { data: { name: "Ada" } } });
      expect(made.data.user).toMatchObject({ email, user_metadata: { name: "Ada" } });
      const { hashed_token: token_hash } = made.data.properties ?? {};
      const verified = await auth("POST", "/verify", { body: { type, token_hash } });
      expect(verified.body, type).toMatchObject({ user: { email_confirmed_at: isTime } });
      const signedIn = await auth("POST", "/token?grant_type=password", { body: { email, password } });
      expect(signedIn.status).toBe(type === "signup" ? 200 : 400);
      expect((await admin.generateLink({ type, email, password })).error).toMatchObject({ code: "email_exists" });
    }
  });

  test("generates both halves of a change of address", async () => {
    const { email } = await account();
    const newEmail = someone();
    for (const type of ["email_change_new", "email_change_current"] as const) {
      const { data } = await admin.generateLink({ type, email, newEmail });
      const token_hash = data.properties?.hashed_token;
      const answer = await auth("POST", "/verify", { body: { type: "email_change", token_hash } });
      // Generating the second link resets the first.
      expect(answer.body).toMatchObject({ code: "200" });
    }
  });

  test("an invitation mails a code to an account that has no password", async () => {
    const email = someone();
    const { data } = await admin.inviteUserByEmail(email, { data: { name: "Ada" } });
    expect(data.user).toMatchObject({ email, invited_at: isTime, user_metadata: { name: "Ada" } });
    expect(data.user).not.toHaveProperty("email_confirmed_at");
    expect((await admin.inviteUserByEmail((await account()).email)).error).toMatchObject({
      status: 422,
      code: "email_exists",
    });
  });

  test.each([
    ["no address", {}, 400, "validation_failed"],
    ["a wrong address", { email: "x" }, 400, "validation_failed"],
    ["a wrong id", { email: "a@b.example", id: "x" }, 400, "validation_failed"],
    ["73 bytes of password", { email: "a@b.example", password: `${"п".repeat(36)}x` }, 400, "validation_failed"],
    ["a role of the database", { email: "a@b.example", role: "service_role" }, 400, "validation_failed"],
    ["a hash", { email: "a@b.example", password_hash: "$2b$10$x" }, 400, "validation_failed"],
    ["a telephone number", { email: "a@b.example", phone: "+49151" }, 400, "validation_failed"],
    ["a ban without a unit", { email: "a@b.example", ban_duration: "12" }, 400, "validation_failed"],
    ["a weak password", { email: "a@b.example", password: "a" }, 422, "weak_password"],
  ])("refuse %s, and make nothing", async (_, body, status, code) => {
    const answer = await auth("POST", "/admin/users", { key: stack.secret_key, body });
    expect(answer).toMatchObject(refused(status, code));
    expect(await sql`select from auth.users where email = 'a@b.example'`).toHaveLength(0);
  });

  test("need the secret key, not in a browser, and no other token", async () => {
    const calls: [string, string, object?][] = [
      ["GET", "/admin/users"],
      ["POST", "/admin/users", { email: someone() }],
      ["GET", `/admin/users/${randomUUID()}`],
      ["PUT", `/admin/users/${randomUUID()}`, {}],
      ["DELETE", `/admin/users/${randomUUID()}`, {}],
      ["POST", "/admin/generate_link", { type: "signup", email: someone(), password }],
      ["POST", "/invite", { email: someone() }],
    ];
    const { token } = await signUp();
    const key = stack.secret_key;
    const old = await accessToken({ sub: randomUUID(), role: "service_role" }, -10);
    for (const [method, path, body] of calls) {
      const call = (more: More) => auth(method, path, { ...more, body });
      expect(await call({}), path).toMatchObject(refused(401, "no_authorization"));
      expect(await call({ key: null }), path).toMatchObject(refused(401, "unauthorized"));
      expect(await call({ key: `${key}x` }), path).toMatchObject(refused(401, "unauthorized"));
      expect(await call({ key, token: old }), path).toMatchObject(refused(403, "bad_jwt"));
      expect(await call({ token }), path).toMatchObject(refused(403, "not_admin", "User not allowed"));
      expect(await call({ key, token }), path).toMatchObject(refused(403, "not_admin"));
      expect(await call({ key, headers: { "user-agent": "Mozilla/5.0" } }), path).toMatchObject(
        refused(401, "unauthorized"),
      );
    }
    expect(await auth("GET", "/admin/users?page=x", { key })).toMatchObject(refused(400, "validation_failed"));
    expect(await auth("GET", "/admin/users/x", { key })).toMatchObject(
      refused(404, "validation_failed", "user_id must be an UUID"),
    );
  });
});

describe("a banned user", () => {
  test("cannot sign in, refresh, use a link or call auth, until the ban ends", async () => {
    const { id, email, signIn, session } = await account();
    await admin.updateUserById(id, { ban_duration: "24h" });
    const token = session.access_token as string;
    const refresh = () =>
      auth("POST", "/token?grant_type=refresh_token", { body: { refresh_token: session.refresh_token } });
    expect(await signIn()).toMatchObject(refused(400, "user_banned", "User is banned"));
    expect(await signIn("wrong"), "only the password tells").toMatchObject(refused(400, "invalid_credentials"));
    expect(await refresh()).toMatchObject(refused(400, "user_banned", "Invalid Refresh Token: User Banned"));
    for (const [method, path] of [
      ["GET", "/user"],
      ["PUT", "/user"],
      ["GET", "/reauthenticate"],
      ["POST", "/logout"],
    ] as const)
      expect(await auth(method, path, { token, ...(method !== "GET" && { body: {} }) }), path).toMatchObject(
        refused(403, "user_banned", "User is banned"),
      );
    const link = async () => (await admin.generateLink({ type: "recovery", email })).data.properties;
    const token_hash = (await link())?.hashed_token;
    expect(await auth("POST", "/verify", { body: { type: "recovery", token_hash } })).toMatchObject(
      refused(403, "user_banned"),
    );
    const opened = await auth("GET", `/verify?type=recovery&token=${(await link())?.hashed_token}`);
    expect(opened.location).toMatch(
      /#error=access_denied&error_code=user_banned&error_description=User\+is\+banned&sb=$/,
    );
    await admin.updateUserById(id, { ban_duration: "none" });
    expect([(await refresh()).status, (await signIn()).status]).toEqual([200, 200]);
  });
});

describe("an access token", () => {
  const claims = (token: unknown) => decodeJwt(String(token));

  test("has the claims of hosted auth, also after a refresh", async () => {
    const { id, email, session } = await account({ user_metadata: { name: "Ada" } });
    const expected = {
      sub: id,
      email,
      phone: "",
      role: "authenticated",
      aud: "authenticated",
      app_metadata: { provider: "email", providers: ["email"] },
      user_metadata: { email_verified: true, name: "Ada" },
      is_anonymous: false,
      aal: "aal1",
      amr: [{ method: "password", timestamp: expect.any(Number) }],
      session_id: expect.any(String),
    };
    const first = claims(session.access_token);
    expect(first).toMatchObject(expected);
    const body = { refresh_token: session.refresh_token };
    const next = (await auth("POST", "/token?grant_type=refresh_token", { body })).body;
    expect(claims(next.access_token)).toMatchObject({ ...expected, amr: first.amr, session_id: first.session_id });
  });

  test("names the method of a code", async () => {
    const { email } = await account();
    const { data } = await admin.generateLink({ type: "magiclink", email });
    const body = { type: "magiclink", token_hash: data.properties?.hashed_token };
    const { access_token } = (await auth("POST", "/verify", { body })).body;
    expect(claims(access_token).amr).toMatchObject([{ method: "otp" }]);
  });

  test("tells supabase-js the assurance level and that there are no factors", async () => {
    const { session } = await account();
    const client = clientWith(stack.publishable_key);
    await client.auth.setSession(session);
    expect((await client.auth.mfa.getAuthenticatorAssuranceLevel()).data).toMatchObject({
      currentLevel: "aal1",
      nextLevel: "aal1",
      currentAuthenticationMethods: [{ method: "password" }],
    });
    expect((await client.auth.mfa.listFactors()).data).toMatchObject({ all: [] });
    expect((await client.auth.mfa.enroll({ factorType: "totp" })).error).toMatchObject({
      status: 404,
      message: "The embedded auth offers no second factor.",
    });
  });
});

test("times of users and identities are ISO 8601, in every answer", async () => {
  const { session } = await account();
  const user = (await auth("GET", "/user", { token: session.access_token })).body;
  const made = await auth("POST", "/signup", { body: { email: someone(), password } });
  for (const one of [user, session.user, made.body.user]) {
    const times = [one, ...one.identities].flatMap(Object.entries).filter(([name]) => name.endsWith("_at"));
    expect(times.length).toBeGreaterThan(6);
    expect(times.map(([, time]) => time)).toEqual(times.map(() => isTime));
  }
});

test("a password has at most 72 bytes, and none is cut", async () => {
  const long = "п".repeat(36);
  const { session, email } = await account();
  const words = "Password cannot be longer than 72 characters";
  const change = (word: string) => auth("PUT", "/user", { token: session.access_token, body: { password: word } });
  expect(await auth("POST", "/signup", { body: { email: someone(), password: `${long}x` } })).toEqual({
    ...refused(400, "validation_failed", words),
    location: null,
  });
  expect(await change(`${long}x`)).toMatchObject(refused(400, "validation_failed", words));
  expect((await change(long)).status).toBe(200);
  expect((await auth("POST", "/token?grant_type=password", { body: { email, password: long } })).status).toBe(200);
});

test("a new password ends the other sessions of the account, and this one stays", async () => {
  const { session, signIn } = await account();
  const other = (await signIn()).body;
  await auth("PUT", "/user", { token: session.access_token, body: { password: "another password" } });
  const renew = (refresh_token: string) => auth("POST", "/token?grant_type=refresh_token", { body: { refresh_token } });
  expect(await renew(other.refresh_token)).toMatchObject(refused(400, "refresh_token_not_found"));
  expect(await auth("GET", "/user", { token: other.access_token })).toMatchObject(refused(403, "session_not_found"));
  expect((await renew(session.refresh_token)).status).toBe(200);
});

test("the metadata given with the request for a code is that of the account which it makes", async () => {
  const email = someone();
  expect((await auth("POST", "/otp", { body: { email, data: { name: "Nia" } } })).status).toBe(200);
  const [made] = await sql`
    select u.raw_user_meta_data ->> 'name' as name, u.email_confirmed_at is null as unconfirmed,
      (select count(*)::int from auth.sessions s where s.user_id = u.id) as sessions
    from auth.users u where u.email = ${email}`;
  expect(made).toEqual({ name: "Nia", unconfirmed: true, sessions: 0 });
});

test.each([
  ["POST", "/signup", { phone: "+4915112345678", password }, 400, "phone_provider_disabled"],
  ["POST", "/otp", { phone: "+4915112345678" }, 400, "phone_provider_disabled"],
  ["POST", "/token?grant_type=password", { phone: "+4915112345678", password }, 422, "phone_provider_disabled"],
  ["POST", "/token?grant_type=pkce", { auth_code: randomUUID(), code_verifier: "x" }, 404, "flow_state_not_found"],
  ["POST", "/token?grant_type=pkce", {}, 400, "validation_failed"],
  ["POST", "/verify", { type: "email", token_hash: "pkce_abc" }, 403, "otp_expired"],
  ["POST", "/verify", { type: "email", email: someone(), token: "123456" }, 403, "otp_expired"],
  ["POST", "/sso", {}, 404, "saml_provider_disabled"],
  ["GET", "/user/identities/authorize?provider=github", undefined, 404, "manual_linking_disabled"],
  ["GET", "/passkeys", undefined, 404, "passkey_disabled"],
  ["GET", "/oauth/authorizations/x", undefined, 404, "feature_disabled"],
  ["POST", "/factors/x/verify", {}, 404, "mfa_totp_enroll_not_enabled"],
  ["GET", "/nothing", undefined, 404, "not_found"],
  ["PATCH", "/admin/users", {}, 404, "not_found"],
])("%s %s answers as hosted auth refuses", async (method, path, body, status, code) => {
  const key = path.startsWith("/admin") ? stack.secret_key : stack.publishable_key;
  expect(await auth(method, path, { key, body })).toMatchObject(refused(status, code));
});

test("only an admin writes app_metadata", async () => {
  const { session } = await account();
  const body = { app_metadata: { plan: "x" } };
  expect(await auth("PUT", "/user", { token: session.access_token, body })).toMatchObject(
    refused(403, "not_admin", "Updating app_metadata requires admin privileges"),
  );
  expect(await auth("PUT", "/user", { body })).toMatchObject(refused(401, "no_authorization"));
});

test("tables of factors are there for migrations, empty, and auth's login writes none", async () => {
  const { session } = await account();
  const [table] = await sql`
    select count(*)::int as factors, has_table_privilege('embedded_auth', 'auth.mfa_factors', 'insert') as writes,
      has_table_privilege('anon', 'auth.mfa_factors', 'select') as read
    from auth.mfa_factors where user_id = ${session.user.id}`;
  expect(table).toEqual({ factors: 0, writes: false, read: false });
});
