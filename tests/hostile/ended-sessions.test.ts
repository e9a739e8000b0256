import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { expect, test } from "vitest";
import { api } from "../api/client.ts";
import { joinTeam, newOrganization, newSubmission } from "../api/world.ts";
import { client, listen, newSubmission as publicSubmission, settled } from "../realtime/listening.ts";
import { accessToken, signUp, sql, stack, supabase, type User } from "../stack.ts";

// Tokens whose session auth has ended, and tokens that this service never accepts.

const organization = await newOrganization();

const named = { "x-organization": organization.slug };
const headers = { apikey: stack.publishable_key };
const signOut = ({ token }: User) =>
  fetch(`${stack.supabase_url}/auth/v1/logout?scope=global`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${token}` },
  });

const ended = "This session has ended. Sign in again.";
test.each<[string, (user: User) => Promise<unknown>, string, ((user: User) => Promise<string>)?]>([
  ["of a session that was signed out everywhere", signOut, ended],
  [
    "of a banned user",
    ({ id }) => sql`update auth.users set banned_until = now() + interval '1 hour' where id = ${id}`,
    ended,
  ],
  [
    "that has not passed the second factor of its user",
    ({ id }) => sql`insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
      values (gen_random_uuid(), ${id}, 'totp', 'verified', now(), now())`,
    "This account has a second factor. Send the token of a session that passed it (aal2).",
  ],
  [
    "of another application that the user signed in to",
    async () => {},
    "The credential is not valid here. Sign in again, or replace the key. Agent keys work only at /api/mcp.",
    ({ token }) => accessToken({ ...decodeJwt(token), client_id: randomUUID() }),
  ],
])("a token %s is worth nothing", async (_, end, message, other) => {
  const user = await signUp("Was here");
  await joinTeam(user.id, organization, "admin");
  const submission = await newSubmission(organization, user);
  const key = { name: "kept", scopes: ["submissions:read"] };
  expect((await api("POST", "/api/admin/api-keys", { as: user, headers: named, body: key })).status).toBe(201);
  const direct = supabase(user);
  expect((await direct.from("memberships").select("role").eq("user_id", user.id)).data).toHaveLength(1);
  const idea = await publicSubmission(user);

  await end(user);
  const holder = other ? { ...user, token: await other(user) } : user;
  for (const [method, path, body] of [
    ["POST", "/api/admin/api-keys", key],
    ["GET", "/api/admin/audit", undefined],
    ["GET", `/api/submissions/${submission}`, undefined],
    ["POST", `/api/submissions/${submission}/comments`, { body: "Still here" }],
  ] as const) {
    const answer = await api(method, path, { as: holder, headers: named, body });
    expect([path, answer.status]).toEqual([path, 401]);
    expect(answer.body).toMatchObject({ error: { code: "UNAUTHORIZED", message } });
  }
  const after = supabase(holder);
  expect(await after.from("memberships").select("role")).toMatchObject({ status: 401, data: null });
  expect(await after.rpc("create_comment", { submission_id: submission, body: "Still" })).toMatchObject({
    status: 401,
  });

  const listener = client(holder);
  const received = await listen(listener, { table: "comments", filter: `submission_id=eq.${idea}` });
  await sql`insert into comments (submission_id, author_id, body) values (${idea}, ${user.id}, 'Unheard')`;
  await settled();
  expect(received).toEqual([]);
  await listener.realtime.disconnect();
});

test("a session that passed the second factor is accepted, and the others of the user are not", async () => {
  const user = await signUp("Careful");
  await sql`insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
    values (gen_random_uuid(), ${user.id}, 'totp', 'verified', now(), now())`;
  const passed = { ...user, token: await accessToken({ ...decodeJwt(user.token), aal: "aal2" }) };
  expect((await api("GET", "/api/me/notifications", { as: passed })).status).toBe(200);
  expect((await supabase(passed).from("organizations").select("id").limit(1)).status).toBe(200);
  const answer = await api("GET", "/api/me/notifications", { as: user });
  expect([answer.status, answer.body]).toMatchObject([401, { error: { details: [{ field: "aal" }] } }]);
});
