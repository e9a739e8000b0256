import { expect, test } from "vitest";
import { api } from "../api/client.ts";
import { newOrganization, newSubmission, newUser } from "../api/world.ts";
import { signUp } from "../sign-up.ts";
import { sql, stack } from "../stack.ts";

const eraseMe = (user: { token: string }, organization: { id: string; slug: string }) =>
  api("DELETE", "/api/me?confirm=erase", { as: user, on: organization });

test("erasure of an unrelated user leaves no audit entry and creates no profiles", async () => {
  const organization = await newOrganization();
  const stranger = await newUser("Stranger");
  expect((await eraseMe(stranger, organization)).status).toBe(200);
  expect(await sql`select from private.audit_log where organization_id = ${organization.id}`).toHaveLength(0);
  expect(await sql`select from public.profiles where organization_id = ${organization.id}`).toHaveLength(0);
});

test("erasure by a board does not reset rate limits", async () => {
  const organization = await newOrganization();
  const user = await newUser("Floods");
  await newSubmission(organization, user);
  const charged = async () => {
    const rows = await sql<{ count: number }[]>`
      select sum(used)::int as count from private.rate_counters where subject = ${user.id}`;
    return rows[0]?.count ?? 0;
  };
  await api("GET", "/api/me/votes", { as: user });
  const before = await charged();
  expect((await eraseMe(user, organization)).status).toBe(200);
  expect(await charged()).toBeGreaterThan(before);
});

test.each(["spam", "trusted"])(
  "after erasure by a board, a user who was %s there no longer is, except for spam",
  async (mark) => {
    const organization = await newOrganization();
    const user = await newUser("Sells things");
    await newSubmission(organization, user);
    await sql`
    insert into private.author_trust (organization_id, user_id, is_trusted) values (${organization.id}, ${user.id}, ${mark === "trusted"})`;
    const marks = () => sql`select is_trusted from private.author_trust where user_id = ${user.id}`;
    for (const _ of ["once", "again"]) {
      expect((await eraseMe(user, organization)).status).toBe(200);
      expect(await marks()).toEqual(mark === "spam" ? [{ is_trusted: false }] : []);
      const { body } = await api("GET", "/api/me/export", { as: user });
      expect(body).toMatchObject({
        data: { trust: mark === "spam" ? [{ organization_id: organization.id, is_trusted: false }] : [] },
      });
    }
    expect((await api("DELETE", "/api/me?confirm=erase", { as: user })).status).toBe(200);
    expect(await marks()).toEqual([]);
  },
);

test("no table of any schema has the address of an erased account", async () => {
  const organization = await newOrganization();
  const admin = await newUser("Ada", { organization, role: "admin" });
  const email = `${crypto.randomUUID()}@erased.example`;
  const auth = { url: stack.supabase_url, publishableKey: stack.publishable_key };
  const { access_token: token, user } = await signUp(auth, { email, password: "correct horse battery" });
  const invite = { as: admin, body: { email, role: "member" } };
  expect((await api("POST", `/api/organizations/${organization.id}/invites`, invite)).status).toBe(201);
  await api("POST", `/api/submissions/${await newSubmission(organization, user)}/comments`, {
    as: { token },
    body: { body: "Said before" },
  });
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c where c.relkind in ('r', 'm')
    and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'pg_toast')`;
  const found = async () => {
    const rows = tables.map(
      ({ name }) => sql`select ${name}::text as name from ${sql.unsafe(name)} t where t::text ilike ${`%${email}%`}`,
    );
    return [...new Set((await Promise.all(rows)).flat().map(({ name }) => name))];
  };
  expect(await found()).toContain("auth.users");
  expect((await api("DELETE", "/api/me?confirm=erase", { as: { token } })).status).toBe(200);
  expect(await found()).toEqual([]);
});
