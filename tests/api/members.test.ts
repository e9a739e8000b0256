import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import {
  inviteAnswer,
  inviteListAnswer,
  joinedAnswer,
  memberAnswer,
  memberListAnswer,
  memberRemovedAnswer,
  newInviteAnswer,
} from "../../shared/members.ts";
import { sql, stack, supabase } from "../stack.ts";
import { api, expectError, expectJson, getJson } from "./client.ts";
import { joinTeam, newGuest, newKey, newTeam, newUser, type Team, type User } from "./world.ts";

const rolesOf = async ({ organization }: Team) =>
  Object.fromEntries(
    (
      await sql<{ user_id: string; role: string }[]>`
        select user_id, role from public.memberships where organization_id = ${organization.id}`
    ).map(({ user_id, role }) => [user_id, role]),
  );

async function invite(team: Team, as: User, body: object) {
  return expectJson(await api("POST", `${team.path}/invites`, { as, body }), 201, newInviteAnswer).data;
}
const accept = (as: User | undefined, token: string) => api("POST", "/api/invites/accept", { as, body: { token } });
const eventsOf = ({ organization }: Team, type: string) =>
  sql<
    { data: unknown }[]
  >`select data from private.outbox where organization_id = ${organization.id} and type = ${type}`;
const [team, other] = await Promise.all([newTeam(), newTeam()]);

describe("the team", () => {
  it("is listed with owners first; only admins see e-mail addresses", async () => {
    const seen = async (as: User | { token: string }) =>
      await getJson(`${team.path}/members`, memberListAnswer, { as });
    const { data, meta } = await seen(team.admin);
    expect(data.map(({ role }) => role)).toEqual(["owner", "admin", "member"]);
    expect(data.map(({ email }) => email)).toEqual([team.owner.email, team.admin.email, team.member.email]);
    expect(meta.total).toBe(3);
    expect((await seen(team.member)).data.map(({ email }) => email)).toEqual([null, null, null]);
    const key = await newKey(team.organization, ["members:write"]);
    expect((await seen(key)).data[0]?.email).toBe(team.owner.email);
    const { data: page } = await getJson(`${team.path}/members?limit=1&page=2`, memberListAnswer, { as: team.member });
    expect(page.map(({ user_id }) => user_id)).toEqual([team.admin.id]);
  });

  it("keeps its last owner when auth deletes the account, with a state whose text auth passes on", async () => {
    const { owner } = await newTeam();
    const superuser = postgres(stack.superuserUrl, { max: 1, onnotice: () => undefined });
    const remove = async () => {
      await superuser`set session authorization supabase_auth_admin`;
      await superuser`delete from auth.users where id = ${owner.id}`;
    };
    await expect(remove().finally(() => superuser.end())).rejects.toMatchObject({
      code: "PT409",
      message: "An organization needs at least one owner. Make someone else an owner first.",
    });
  });

  it("resets a member's second factor for an owner of all their teams, whose sessions end", async () => {
    const { path, owner, admin, member } = await newTeam();
    const addFactor = (to: User) => sql`
      insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
      values (${randomUUID()}, ${to.id}, 'totp', 'verified', now(), now())`;
    const hasFactor = async (as: User) =>
      (await getJson(`${path}/members`, memberListAnswer, { as })).data.find(({ user_id }) => user_id === member.id)
        ?.has_second_factor;
    await Promise.all([addFactor(member), addFactor(owner)]);
    expect(await hasFactor(admin)).toBeNull();
    const reset = (as: User, whom = member) => api("DELETE", `${path}/members/${whom.id}/second-factor`, { as });
    // An owner's session that has not passed the owner's own factor does nothing.
    expectError(await reset(owner), "UNAUTHORIZED", "aal");
    await sql`delete from auth.mfa_factors where user_id = ${owner.id}`;
    expect(await hasFactor(owner)).toBe(true);
    expectError(await reset(admin), "FORBIDDEN");
    expect(expectJson(await reset(owner), 200, memberAnswer).data.has_second_factor).toBe(false);
    expect(await sql`select from auth.sessions where user_id = ${member.id}`).toHaveLength(0);
    await addFactor(member);
    await joinTeam(member.id, other.organization, "member");
    expectError(await reset(owner), "CONFLICT");
    expect(await hasFactor(owner)).toBe(true);
  });

  it("keeps its last owner when two owners demote each other concurrently", async () => {
    for (let round = 0; round < 5; round++) {
      const { path, owner, admin, ...rest } = await newTeam();
      await sql`update public.memberships set role = 'owner' where user_id = ${admin.id}`;
      const demote = (as: User, target: User) =>
        round % 2 === 0
          ? api("PATCH", `${path}/members/${target.id}`, { as, body: { role: "member" } })
          : api("DELETE", `${path}/members/${as.id}`, { as });
      const answers = await Promise.all([demote(owner, admin), demote(admin, owner)]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(Object.values(await rolesOf({ path, owner, admin, ...rest }))).toContain("owner");
    }
  });

  it("keeps its last owner in two concurrent SQL transactions, at any isolation level", async () => {
    for (const isolation of ["read committed", "repeatable read"]) {
      const { organization, owner, admin } = await newTeam();
      await sql`update public.memberships set role = 'owner' where user_id = ${admin.id}`;
      const leave = (callers: User) =>
        sql.begin(`isolation level ${isolation}`, async (transaction) => {
          await transaction`select count(*) from public.memberships where organization_id = ${organization.id}`;
          await transaction`delete from public.memberships where user_id = ${callers.id}`;
          await transaction`select pg_sleep(0.05)`;
        });
      const outcomes = await Promise.allSettled([leave(owner), leave(admin)]);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
  });

  it("is transferred to another owner", async () => {
    const { path, owner, admin, member, ...rest } = await newTeam();
    expectError(await api("POST", `${path}/transfer`, { as: admin, body: { user_id: admin.id } }), "FORBIDDEN");
    expectError(await api("POST", `${path}/transfer`, { as: owner, body: { user_id: other.owner.id } }), "NOT_FOUND");
    const { data } = expectJson(
      await api("POST", `${path}/transfer`, { as: owner, body: { user_id: member.id } }),
      200,
      memberAnswer,
    );
    expect(data).toMatchObject({ user_id: member.id, role: "owner" });
    expect(await rolesOf({ path, owner, admin, member, ...rest })).toMatchObject({
      [owner.id]: "admin",
      [member.id]: "owner",
    });
    expectError(await api("POST", `${path}/transfer`, { as: owner, body: { user_id: owner.id } }), "FORBIDDEN");
  });

  it("can be left by every member except the last owner", async () => {
    const { path, owner, member } = await newTeam();
    expectJson(await api("DELETE", `${path}/members/${member.id}`, { as: member }), 200, memberRemovedAnswer);
    expectError(await api("DELETE", `${path}/members/${member.id}`, { as: member }), "FORBIDDEN");
    expectError(await api("DELETE", `${path}/members/${owner.id}`, { as: owner }), "CONFLICT", "role");
  });

  it("publishes its change in the change feed, without names", async () => {
    const changed = await newTeam();
    await api("PATCH", `${changed.path}/members/${changed.member.id}`, { as: changed.owner, body: { role: "admin" } });
    await api("PATCH", `${changed.path}/members/${changed.member.id}`, { as: changed.owner, body: { role: "admin" } });
    const event = await eventsOf(changed, "org.updated");
    expect(event.map(({ data }) => data)).toEqual([
      { organization: expect.any(Object), changed: ["members"], changes: {} },
    ]);
  });
});

describe("an invite", () => {
  it("adds the invited person to the team, once", async () => {
    const guest = await newGuest("Gwen Guest");
    const { token, ...created } = await invite(team, team.admin, { email: guest.email.toUpperCase(), role: "admin" });
    expect(created).toMatchObject({ email: guest.email, role: "admin", status: "open" });
    expect(Date.parse(created.expires_at) - Date.parse(created.created_at)).toBe(7 * 24 * 3600 * 1000);
    const answers = await Promise.all(Array.from({ length: 4 }, () => accept(guest, token)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 201]);
    const { data } = expectJson(await accept(guest, token), 200, joinedAnswer);
    expect(data).toMatchObject({ organization: team.organization, role: "admin" });
    const event = (await eventsOf(team, "member.joined")).map((row) => row.data as { member: { user_id: string } });
    expect(event.filter(({ member }) => member.user_id === guest.id)).toEqual([
      { member: { user_id: guest.id, name: "Gwen Guest", role: "admin", joined_at: expect.any(String) } },
    ]);
    expect(JSON.stringify(event)).not.toContain("@");
    const { data: list } = await getJson(`${team.path}/invites`, inviteListAnswer, { as: team.admin });
    expect(list.find(({ id }) => id === created.id)?.status).toBe("accepted");
    expect(JSON.stringify(list)).not.toContain(token);
    const storedRow = await sql`select * from private.invites where id = ${created.id}`;
    expect(JSON.stringify(storedRow)).not.toContain(token);
    // A removed member cannot return with it.
    expectJson(await api("DELETE", `${team.path}/members/${guest.id}`, { as: team.owner }), 200, memberRemovedAnswer);
    expectError(await accept(guest, token), "GONE", "token");
  });

  it("is valid for the invited person only, who confirmed the address, and its token cannot be guessed", async () => {
    const [guest, other] = [await newGuest(), await newUser()];
    const { token } = await invite(team, team.admin, { email: guest.email });
    await sql`update auth.users set email_confirmed_at = null where id = ${guest.id}`;
    expectError(await accept(guest, token), "FORBIDDEN");
    await sql`update auth.users set email_confirmed_at = now() where id = ${guest.id}`;
    expectError(await accept(other, token), "FORBIDDEN");
    expectError(await accept(undefined, token), "UNAUTHORIZED");
    expectError(
      await accept((await newKey(team.organization, ["members:write"])) as unknown as User, token),
      "FORBIDDEN",
    );
    for (const guess of [`${token}x`, token.slice(0, -1), "fcs_inv_", "' or true --", token.toUpperCase()])
      expectError(await accept(guest, guess), "NOT_FOUND", "token");
    // The token of an invite is not a credential.
    expect((await api("GET", "/api/submissions", { as: { token } })).status).toBe(401);
  });

  it.each([
    ["is revoked", (id: string, t: Team) => api("DELETE", `${t.path}/invites/${id}`, { as: t.admin })],
    ["has expired", (id: string) => sql`update private.invites set expires_at = now() where id = ${id}`],
    [
      "was created by a former admin",
      (_: string, t: Team) =>
        api("PATCH", `${t.path}/members/${t.admin.id}`, { as: t.owner, body: { role: "member" } }),
    ],
    ["was replaced by another", (_: string, t: Team) => invite(t, t.admin, { email: guestEmail })],
  ])("that %s returns 410 when accepted", async (_, end) => {
    const guest = await newGuest();
    guestEmail = guest.email;
    const fresh = await newTeam();
    const { id, token } = await invite(fresh, fresh.admin, { email: guest.email });
    await end(id, fresh);
    expectError(await accept(guest, token), "GONE", "token");
    expect((await rolesOf(fresh))[guest.id]).toBeUndefined();
  });
  let guestEmail = "";

  it("for the role owner can be created only by an owner", async () => {
    const body = { email: `${randomUUID()}@test.example`, role: "owner" };
    expectError(await api("POST", `${team.path}/invites`, { as: team.admin, body }), "FORBIDDEN", "role");
    expect((await invite(team, team.owner, body)).role).toBe("owner");
  });

  it("returns the invalid field, and an error for existing members", async () => {
    const post = (body: object) => api("POST", `${team.path}/invites`, { as: team.owner, body });
    expectError(await post({}), "VALIDATION_ERROR", "email");
    expectError(await post({ email: "nobody", role: "king" }), "VALIDATION_ERROR", "email", "role");
    expectError(await post({ email: team.member.email }), "CONFLICT", "email");
  });

  it("cannot be created or accepted beyond the plan limit, also concurrently", async () => {
    const small = await newTeam();
    const guests = await Promise.all([newGuest(), newGuest(), newGuest()]);
    const tokens: string[] = [];
    for (const { email } of guests) tokens.push((await invite(small, small.owner, { email })).token);
    await sql`update public.organizations set max_members = 4 where id = ${small.organization.id}`;
    const body = { email: `${randomUUID()}@test.example` };
    expectError(await api("POST", `${small.path}/invites`, { as: small.owner, body }), "PLAN_LIMIT_REACHED");
    const answers = await Promise.all(guests.map((guest, n) => accept(guest, tokens[n] ?? "")));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 402, 402]);
  });

  it("by a former admin is invalid, and does not count towards the plan limit", async () => {
    const small = await newTeam({ max_members: 4 });
    const { id } = await invite(small, small.admin, { email: `${randomUUID()}@test.example` });
    const state = async () =>
      (await getJson(`${small.path}/invites`, inviteListAnswer, { as: small.owner })).data.find((one) => one.id === id)
        ?.status;
    expect(await state()).toBe("open");
    await api("PATCH", `${small.path}/members/${small.admin.id}`, { as: small.owner, body: { role: "member" } });
    expect(await state()).toBe("revoked");
    await invite(small, small.owner, { email: `${randomUUID()}@test.example` });
  });

  it("can be revoked twice, but not after it was accepted", async () => {
    const guest = await newGuest();
    const { id } = await invite(team, team.admin, { email: guest.email });
    const revoke = () => api("DELETE", `${team.path}/invites/${id}`, { as: team.admin });
    expect(expectJson(await revoke(), 200, inviteAnswer).data.status).toBe("revoked");
    expect(expectJson(await revoke(), 200, inviteAnswer).data.status).toBe("revoked");
    const { id: used, token } = await invite(team, team.admin, { email: guest.email });
    expectJson(await accept(guest, token), 201, joinedAnswer);
    expectError(await api("DELETE", `${team.path}/invites/${used}`, { as: team.admin }), "CONFLICT");
  });
});

describe("an attacker", () => {
  it("cannot assign or remove roles with a key", async () => {
    const key = await newKey(team.organization, ["members:write", "organization:write"]);
    expectError(await api("POST", `${team.path}/invites`, { as: key, body: { email: "a@test.example" } }), "FORBIDDEN");
    expectError(
      await api("PATCH", `${team.path}/members/${team.member.id}`, { as: key, body: { role: "admin" } }),
      "FORBIDDEN",
    );
    for (const { id } of [team.owner, team.admin])
      expectError(await api("DELETE", `${team.path}/members/${id}`, { as: key }), "FORBIDDEN");
  });

  it("cannot write memberships or invites through the data API", async () => {
    const client = supabase(team.admin);
    const membership = { organization_id: team.organization.id, user_id: team.admin.id, role: "owner" };
    const codes = [
      (await client.from("memberships").insert(membership)).error?.code,
      (await client.from("memberships").update({ role: "owner" }).eq("user_id", team.admin.id)).error?.code,
      (await client.from("memberships").delete().eq("user_id", team.owner.id)).error?.code,
      (await client.from("categories").insert({ organization_id: team.organization.id, name: "x", slug: "x" })).error
        ?.code,
      (await client.from("tags").delete().eq("organization_id", team.organization.id)).error?.code,
      (await client.from("organizations").update({ name: "Mine" }).eq("id", team.organization.id)).error?.code,
    ];
    expect(codes).toEqual(Array(6).fill("42501"));
    expect((await client.from("invites" as "tags").select("*")).error).not.toBeNull();
  });
});

describe("what an admin made", () => {
  async function makes(by: User, { path, organization }: Team) {
    const made = async (at: string, body: object) =>
      (await api("POST", at, { as: by, on: organization, body })).body as { data: { id: string; secret: string } };
    const { secret } = (await made("/api/admin/api-keys", { name: "Zapier", scopes: ["webhooks:write"] })).data;
    await made("/api/admin/identify-secrets", {});
    await made("/api/admin/agents", { name: "Bot" });
    // A webhook created with a key belongs to the person who created the key.
    const hook = { url: "https://hooks.example/feedback", events: ["comment.created"] };
    expect((await api("POST", `${path}/webhooks`, { as: { token: secret }, body: hook })).status).toBe(201);
    return secret;
  }
  const all = [
    "agent Bot",
    "api_key Zapier",
    expect.stringMatching(/^identify_secret …\w{4}$/),
    "webhook hooks.example",
  ];
  const remove = async (from: Team, whom: User, as: User, query = "") => {
    const answer = await api("DELETE", `${from.path}/members/${whom.id}${query}`, { as });
    const { revoked, still_valid } = expectJson(answer, 200, memberRemovedAnswer).data;
    const names = (list: typeof revoked) => list.map(({ type, name }) => `${type} ${name}`);
    return { revoked: names(revoked), still_valid: names(still_valid), ids: still_valid.map(({ id }) => id) };
  };
  const worksWith = async (token: string, { path }: Team) =>
    (await api("GET", `${path}/webhooks`, { as: { token } })).status;

  it("works on after a removal, which lists it, and lists show that its maker is gone", async () => {
    const team = await newTeam();
    const secret = await makes(team.admin, team);
    const { ids, revoked, still_valid } = await remove(team, team.admin, team.owner);
    expect([revoked, still_valid]).toEqual([[], all]);
    expect(await worksWith(secret, team)).not.toBe(401);
    for (const path of [
      "/api/admin/api-keys",
      "/api/admin/identify-secrets",
      "/api/admin/agents",
      `${team.path}/webhooks`,
    ]) {
      const { body } = await api("GET", path, { as: team.owner, on: team.organization });
      const [one] = (body as { data: { id: string; created_by: object }[] }).data;
      expect(ids, path).toContain(one?.id);
      expect(one?.created_by, path).toMatchObject({ id: team.admin.id, is_team_member: false });
    }
  });

  it.each(["a removal", "a demotion", "leaving"])(
    "ends with %s that asks for it, and the audit trail says so",
    async (way) => {
      const team = await newTeam();
      const secret = await makes(team.admin, team);
      if (way === "a demotion") {
        const body = { role: "member", revoke: true };
        expect((await api("PATCH", `${team.path}/members/${team.admin.id}`, { as: team.owner, body })).status).toBe(
          200,
        );
      } else
        expect(
          await remove(team, team.admin, way === "leaving" ? team.admin : team.owner, "?revoke=true"),
        ).toMatchObject({ revoked: all, still_valid: [] });
      expect(await worksWith(secret, team)).toBe(401);
      const ended = await sql<{ action: string }[]>`
      select action from private.audit_log where organization_id = ${team.organization.id}
        and details ->> 'made_by' = ${team.admin.id} order by action`;
      expect(ended.map(({ action }) => action)).toEqual([
        "agent.retire",
        "api_key.revoke",
        "identify_secret.delete",
        "webhook.update",
      ]);
      const { body } = await api("GET", `${team.path}/webhooks`, { as: team.owner });
      expect((body as { data: { enabled: boolean }[] }).data.map(({ enabled }) => enabled)).toEqual([false]);
    },
  );

  it("is ended and listed by no plain member and no key", async () => {
    const team = await newTeam();
    await makes(team.admin, team);
    await sql`update public.memberships set role = 'member' where user_id = ${team.admin.id}`;
    const key = await newKey(team.organization, ["members:write"]);
    const at = `${team.path}/members/${team.admin.id}`;
    for (const as of [team.admin, key]) expectError(await api("DELETE", `${at}?revoke=true`, { as }), "FORBIDDEN");
    expect(await remove(team, team.admin, team.admin)).toMatchObject({ revoked: [], still_valid: [] });
  });

  it("includes a webhook of another that they gave its URL or its secret, in person or by any of their keys", async () => {
    const changes: ["PATCH" | "POST", string][] = [
      ["PATCH", ""],
      ["POST", "/rotate"],
    ];
    for (const [method, at] of changes) {
      const team = await newTeam();
      const by = (as: User, way: string, body: object) => api("POST", way, { as, on: team.organization, body });
      const key = (await by(team.admin, "/api/admin/api-keys", { name: "Old", scopes: ["webhooks:write"] })).body as {
        data: { id: string; secret: string };
      };
      // The key's previous secret still belongs to the person who created the key.
      await by(team.owner, `/api/admin/api-keys/${key.data.id}/rotate`, {});
      for (const as of [team.admin, { token: key.data.secret }]) {
        const hook = { url: "https://team.example/", events: ["comment.created"] };
        const made = (await by(team.owner, `${team.path}/webhooks`, hook)).body as { data: { id: string } };
        const answer = await api(method, `${team.path}/webhooks/${made.data.id}${at}`, {
          as,
          body: method === "PATCH" ? { url: "https://theirs.example/" } : {},
        });
        expect(answer.status).toBeLessThan(300);
      }
      await remove(team, team.admin, team.owner, "?revoke=true");
      const left = await sql`select from private.webhooks where is_enabled
        and organization_id = ${team.organization.id}`;
      expect(left, `${method} ${at}`).toHaveLength(0);
    }
  });

  it("while being removed is refused, or ended with the rest", async () => {
    for (let n = 0; n < 5; n++) {
      const team = await newTeam();
      const body = { name: "Late", scopes: ["submissions:read"] };
      const secret = await makes(team.admin, team);
      const hook = { url: "https://late.example/", events: ["comment.created"] };
      await Promise.all([
        ...[1, 2, 3].map(() => api("POST", `${team.path}/webhooks`, { as: { token: secret }, body: hook })),
        ...[1, 2, 3].map(() => api("POST", "/api/admin/api-keys", { as: team.admin, on: team.organization, body })),
        api("DELETE", `${team.path}/members/${team.admin.id}?revoke=true`, { as: team.owner }),
      ]);
      expect(
        await sql`select from private.api_keys where created_by = ${team.admin.id} and revoked_at is null
          union all select from private.webhooks where created_by = ${team.admin.id} and is_enabled`,
      ).toHaveLength(0);
    }
  });
});
