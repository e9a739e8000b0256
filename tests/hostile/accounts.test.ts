import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { api } from "../api/client.ts";
import { newOrganization, newSubmission, newUser } from "../api/world.ts";
import { client, listen, newSubmission as publicSubmission, settled } from "../realtime/listening.ts";
import { accessToken, sql, supabase } from "../stack.ts";

const organization = await newOrganization();
const author = await newUser("Author");
const submission = await newSubmission(organization, author);

/** The embedded auth service creates no anonymous users: this is the row and the token of hosted Supabase. */
async function newAnonymous(claims: object = { is_anonymous: true }) {
  const id = randomUUID();
  await sql`insert into auth.users (id, aud, role, is_anonymous) values (${id}, 'authenticated', 'authenticated', true)`;
  return { id, email: "", token: await accessToken({ sub: id, ...claims }) };
}

const allow = (anonymous_may: string) =>
  sql`update organizations set ${sql({ anonymous_may })} where id = ${organization.id}`;

describe("anonymous sign-ins cannot be used for extra votes", () => {
  test.each([
    ["with the claim", { is_anonymous: true }],
    ["without it", {}],
    ["with a claim that denies it", { is_anonymous: false }],
  ])("by the API or the data API, %s", async (_, claims) => {
    const anonymous = await newAnonymous(claims);
    const direct = supabase(anonymous);
    const acts = [
      {
        takes: "vote",
        viaApi: () => api("POST", `/api/submissions/${submission}/vote`, { as: anonymous }),
        directly: () => direct.rpc("vote", { submission_id: submission }),
      },
      {
        takes: "participate",
        viaApi: () =>
          api("POST", `/api/submissions/${submission}/comments`, { as: anonymous, body: { body: "Hello" } }),
        directly: () => direct.rpc("create_comment", { submission_id: submission, body: "Hello" }),
      },
    ];
    for (const allowed of ["read", "vote", "participate"]) {
      await allow(allowed);
      for (const { takes, viaApi, directly } of acts) {
        const may = takes === allowed || allowed === "participate";
        expect((await viaApi()).status, `${takes} where they may ${allowed}`).toSatisfy((status: number) =>
          may ? status === 200 || status === 201 : status === 403,
        );
        if (takes === "vote") await sql`delete from votes where user_id = ${anonymous.id}`;
        expect((await directly()).error?.code).toBe(may ? undefined : "FB403");
      }
    }
    expect((await api("GET", `/api/submissions/${submission}`, { as: anonymous })).status).toBe(200);
  });

  test("unless the organization allows anonymous users", async () => {
    const admin = await newUser("Admin", { organization, role: "admin" });
    const set = (anonymous_may: string) =>
      api("PATCH", `/api/organizations/${organization.id}`, { as: admin, body: { anonymous_may } });
    expect((await set("vote")).body).toMatchObject({ data: { anonymous_may: "vote" } });
    expect((await set("anything")).status).toBe(400);
    const anonymous = await newAnonymous();
    expect((await api("POST", `/api/submissions/${submission}/vote`, { as: anonymous })).status).toBe(201);
  });
});

describe.each([
  ["soft-deleted", (id: string) => sql`update auth.users set deleted_at = now() where id = ${id}`],
  ["deleted", (id: string) => sql`delete from auth.users where id = ${id}`],
])("the access token of a %s user", (_, remove) => {
  test("is rejected by the API, the data API and realtime, and their name and membership are deleted", async () => {
    const user = await newUser("Was here", { organization, role: "admin" });
    await api("POST", `/api/submissions/${submission}/comments`, { as: user, body: { body: "Mine" } });
    const idea = await publicSubmission(user);
    await remove(user.id);

    expect((await api("GET", `/api/submissions/${submission}`, { as: user })).status).toBe(401);
    expect((await api("POST", `/api/submissions/${submission}/vote`, { as: user })).status).toBe(401);
    const direct = supabase(user);
    for (const table of ["submissions", "comments", "organizations", "memberships", "profiles"] as const) {
      expect((await direct.from(table).select("*", { head: false }).limit(1)).data ?? []).toEqual([]);
    }
    expect((await direct.rpc("vote", { submission_id: submission })).error).not.toBeNull();
    expect((await direct.rpc("create_comment", { submission_id: submission, body: "Still" })).error).not.toBeNull();
    const [own] = await sql<{ id: string }[]>`select id from comments where author_id = ${user.id}`;
    await direct.rpc("update_comment", { id: own?.id ?? "", body: "Changed" });
    expect(await sql`select body from comments where author_id = ${user.id}`).toEqual([{ body: "Mine" }]);

    const listener = client(user);
    const received = await listen(listener, { table: "comments", filter: `submission_id=eq.${idea}` });
    await sql`insert into comments (submission_id, author_id, body) values (${idea}, ${author.id}, 'Unheard')`;
    await settled();
    expect(received).toEqual([]);
    await listener.realtime.disconnect();

    const [left] = await sql`
      select name, email, (select count(*)::int from memberships where user_id = p.id) as teams from profiles p where id = ${user.id}`;
    expect(left).toEqual({ name: null, email: null, teams: 0 });
    const { text } = await api("GET", `/api/submissions/${submission}/comments`);
    expect(text).toContain("Mine");
    expect(text).not.toContain("Was here");
  });
});
