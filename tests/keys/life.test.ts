import { createHash, randomUUID } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { apiKeyAnswer, apiKeyListAnswer, newApiKeyAnswer } from "../../shared/admin.ts";
import { scopes as allScopes } from "../../shared/scopes.ts";
import { api, expectError, expectJson, getJson } from "../api/client.ts";
import { newKey, newOrganization, newUser, type Organization, only, type User } from "../api/world.ts";
import { sql } from "../stack.ts";

const keys = "/api/admin/api-keys";

async function team(): Promise<{ organization: Organization; admin: User }> {
  const organization = await newOrganization();
  return { organization, admin: await newUser("Ada Admin", { organization, role: "admin" }) };
}

async function make(admin: User, organization: Organization, fields: object = {}) {
  const answer = await api("POST", keys, {
    as: admin,
    on: organization,
    body: { name: "Backend", scopes: ["submissions:write"], ...fields },
  });
  return expectJson(answer, 201, newApiKeyAnswer).data;
}

async function listed(admin: User, organization: Organization) {
  return (await getJson(keys, apiKeyListAnswer, { as: admin, on: organization })).data;
}

/**
 * Whether the key is accepted: nobody may read a private board, so this sends a request that any valid key may make.
 */
async function works(secret: string): Promise<boolean> {
  const { status } = await api("GET", "/api/submissions?limit=1", { as: { token: secret } });
  expect([200, 401]).toContain(status);
  return status === 200;
}

describe("a new key", () => {
  test("is fcs_org_, 32 random bytes in base64url and a base62 CRC32 of six characters", async () => {
    const { organization, admin } = await team();
    const { secret } = await make(admin, organization);
    const [, body = "", check = ""] = /^(fcs_org_[A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/.exec(secret) ?? [];
    expect(Buffer.from(body.slice("fcs_org_".length), "base64url")).toHaveLength(32);
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const value = [...check].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(value).toBe(crc32(body));
  });

  test("is stored as SHA-256, prefix and last four characters, and nowhere else", async () => {
    const { organization, admin } = await team();
    const { id, secret, prefix, last_four } = await make(admin, organization);
    const [row] = await sql`select * from private.api_keys where id = ${id}`;
    expect(row?.digest).toEqual(createHash("sha256").update(secret).digest());
    expect([row?.prefix, row?.last_four]).toEqual([prefix, last_four]);
    expect(secret.startsWith(prefix)).toBe(true);
    expect(secret.endsWith(last_four)).toBe(true);
    expect(prefix.length + last_four.length).toBeLessThan(20);
    const random = secret.slice(8, 51);
    const tables = await sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'private')`;
    for (const { name } of tables) {
      expect(await sql.unsafe(`select 1 from ${name} t where t::text like '%${random}%' limit 1`), name).toHaveLength(
        0,
      );
    }
  });

  test("is unique", async () => {
    const { organization, admin } = await team();
    const created = await Promise.all(Array.from({ length: 20 }, () => make(admin, organization)));
    expect(new Set(created.map(({ secret }) => secret)).size).toBe(20);
    expect(await listed(admin, organization)).toHaveLength(20);
  });

  test("has each scope once, for repeated scopes", async () => {
    const { organization, admin } = await team();
    const { scopes } = await make(admin, organization, { scopes: ["surveys:read", "surveys:read"] });
    expect(scopes).toEqual(["surveys:read"]);
    expect((await make(admin, organization, { scopes: allScopes })).scopes).toEqual(allScopes);
    expect((await make(admin, organization, { scopes: [] })).scopes).toEqual([]);
  });
});

describe("invalid input", () => {
  test.each<[string, object, string]>([
    ["an unknown scope", { scopes: ["submissions:everything"] }, "scopes.0"],
    ["a scope with a look-alike letter", { scopes: ["ѕurveys:read"] }, "scopes.0"],
    ["scopes in one text", { scopes: "submissions:read" }, "scopes"],
    ["no scopes at all", { scopes: undefined }, "scopes"],
    ["41 scopes", { scopes: Array(41).fill("surveys:read") }, "scopes"],
    ["no name", { name: undefined }, "name"],
    ["a name of white space", { name: "  " }, "name"],
    ["a name of 101 characters", { name: "n".repeat(101) }, "name"],
    ["an expiry in the past", { expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
    ["an expiry without an offset", { expires_at: "2090-01-01T00:00:00" }, "expires_at"],
    ["an expiry that is in the year 10000 in UTC", { expires_at: "9999-12-31T23:59:59-15:59" }, "expires_at"],
    ["an expiry that is no time", { expires_at: "soon" }, "expires_at"],
  ])("%s", async (_what, fields, field) => {
    const { organization, admin } = await team();
    const body = { name: "Backend", scopes: ["submissions:write"], ...fields };
    expectError(await api("POST", keys, { as: admin, on: organization, body }), "VALIDATION_ERROR", field);
    expect(await listed(admin, organization)).toEqual([]);
  });

  test.each([
    ["an overlap longer than a week", 7 * 24 * 3600 + 1],
    ["a negative overlap", -1],
    ["half a second", 0.5],
    ["text", "60"],
  ])("%s", async (_what, overlap_seconds) => {
    const { organization, admin } = await team();
    const { id, secret } = await make(admin, organization);
    const answer = await api("POST", `${keys}/${id}/rotate`, {
      as: admin,
      on: organization,
      body: { overlap_seconds },
    });
    expectError(answer, "VALIDATION_ERROR", "overlap_seconds");
    expect(await works(secret)).toBe(true);
  });

  test("read-only fields have no effect", async () => {
    const { organization, admin } = await team();
    const other = await newOrganization();
    const created = await make(admin, organization, {
      id: randomUUID(),
      organization_id: other.id,
      secret: "mine",
      digest: "00",
      prefix: "x",
      created_by: randomUUID(),
      revoked_at: null,
    });
    const [row] = await sql`select organization_id, created_by from private.api_keys where id = ${created.id}`;
    expect([row?.organization_id, row?.created_by]).toEqual([organization.id, admin.id]);
    expect(created.secret).toMatch(/^fcs_org_/);
  });
});

describe("rotation", () => {
  const rotate = async (admin: User, organization: Organization, id: string, overlap_seconds?: number) => {
    const body = overlap_seconds === undefined ? {} : { overlap_seconds };
    return expectJson(
      await api("POST", `${keys}/${id}/rotate`, { as: admin, on: organization, body }),
      201,
      newApiKeyAnswer,
    ).data;
  };

  test("returns a new secret with the same name, scopes, expiry and profile; both work during the overlap, then only the new one", async () => {
    const { organization, admin } = await team();
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const old = await make(admin, organization, { expires_at });
    const fresh = await rotate(admin, organization, old.id, 60);
    expect(fresh.secret).not.toBe(old.secret);
    expect(fresh).toMatchObject({ name: old.name, scopes: old.scopes, expires_at: old.expires_at, last_used_at: null });
    const profiles = await sql`select distinct profile_id from private.api_keys where id in (${old.id}, ${fresh.id})`;
    expect(profiles).toHaveLength(1);
    expect([await works(old.secret), await works(fresh.secret)]).toEqual([true, true]);
    const [ends] = await sql<{ expires_in: number }[]>`
      select extract(epoch from expires_at - now())::float as expires_in from private.api_keys where id = ${old.id}`;
    expect(ends?.expires_in).toBeGreaterThan(0);
    expect(ends?.expires_in).toBeLessThanOrEqual(60);
    await sql`update private.api_keys set expires_at = now() where id = ${old.id}`;
    expect([await works(old.secret), await works(fresh.secret)]).toEqual([false, true]);
  });

  test("has an overlap of one day by default, and never extends a key", async () => {
    const { organization, admin } = await team();
    const [one, two] = [
      await make(admin, organization),
      await make(admin, organization, { expires_at: new Date(Date.now() + 60_000).toISOString() }),
    ];
    await rotate(admin, organization, one.id);
    await rotate(admin, organization, two.id);
    const after = await listed(admin, organization);
    const left = (id: string) =>
      (Date.parse(only(after.find((key) => key.id === id)).expires_at ?? "") - Date.now()) / 1000;
    expect(left(one.id)).toBeGreaterThan(86_300);
    expect(left(one.id)).toBeLessThanOrEqual(86_400);
    expect(left(two.id)).toBeLessThanOrEqual(60);
  });

  test("of an invalid key is a conflict", async () => {
    const { organization, admin } = await team();
    const { id } = await make(admin, organization);
    await api("DELETE", `${keys}/${id}`, { as: admin, on: organization });
    expectError(await api("POST", `${keys}/${id}/rotate`, { as: admin, on: organization, body: {} }), "CONFLICT");
    expect(await listed(admin, organization)).toHaveLength(1);
  });

  test("sent twice concurrently creates two complete keys", async () => {
    const { organization, admin } = await team();
    const { id } = await make(admin, organization);
    const [one, two] = await Promise.all([rotate(admin, organization, id, 60), rotate(admin, organization, id, 60)]);
    expect([await works(one.secret), await works(two.secret)]).toEqual([true, true]);
  });
});

describe("the end of a key", () => {
  test("by revocation is immediate and permanent, and repeating it succeeds", async () => {
    const { organization, admin } = await team();
    const { id, secret } = await make(admin, organization);
    const revoke = async () =>
      expectJson(await api("DELETE", `${keys}/${id}`, { as: admin, on: organization }), 200, apiKeyAnswer).data;
    const first = await revoke();
    expect(first.revoked_at).not.toBeNull();
    expect(await works(secret)).toBe(false);
    expect((await revoke()).revoked_at).toBe(first.revoked_at);
    expect(await works(secret)).toBe(false);
  });

  test("by revocation keeps its profile: content created by the key keeps its author", async () => {
    const { organization, admin } = await team();
    const { id, secret } = await make(admin, organization);
    const body = { title: "By the key", description: "A description that is long enough.", type: "idea" };
    const { body: created } = await api("POST", "/api/submissions", { as: { token: secret }, body });
    await api("DELETE", `${keys}/${id}`, { as: admin, on: organization });
    const [row] = await sql`
      select p.kind from public.submissions s join public.profiles p on p.id = s.author_id where s.id = ${(created as { id: string }).id}`;
    expect(row?.kind).toBe("key");
  });

  test("applies to concurrent requests: none is accepted after the response", async () => {
    const { organization, admin } = await team();
    const { id, secret } = await make(admin, organization);
    let revoked = false;
    const late: number[] = [];
    const calling = (async () => {
      while (!revoked) await works(secret);
      for (let n = 0; n < 10; n++) late.push((await works(secret)) ? 200 : 401);
    })();
    await api("DELETE", `${keys}/${id}`, { as: admin, on: organization });
    revoked = true;
    await calling;
    expect(new Set(late)).toEqual(new Set([401]));
  });
});

describe("last_used_at", () => {
  const lastUsed = async (secret: string) =>
    (
      await sql<{ last_used_at: Date | null }[]>`
      select last_used_at from private.api_keys where digest = ${createHash("sha256").update(secret).digest()}`
    )[0]?.last_used_at ?? null;

  test("is written at the first use and then at most once a minute", async () => {
    const { organization, admin } = await team();
    const { secret } = await make(admin, organization);
    expect(await lastUsed(secret)).toBeNull();
    await works(secret);
    const first = await lastUsed(secret);
    expect(first).not.toBeNull();
    await Promise.all(Array.from({ length: 20 }, () => works(secret)));
    expect(await lastUsed(secret)).toEqual(first);
    await sql`update private.api_keys set last_used_at = now() - interval '61 seconds' where digest = ${createHash("sha256").update(secret).digest()}`;
    await works(secret);
    expect((await lastUsed(secret))?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? Number.POSITIVE_INFINITY);
  });

  test("is not updated by a rejected key", async () => {
    const { organization, admin } = await team();
    const { id, secret } = await make(admin, organization);
    await api("DELETE", `${keys}/${id}`, { as: admin, on: organization });
    const expired = await newKey(organization, ["submissions:read"], new Date(Date.now() - 1000));
    for (const rejected of [secret, expired.token]) {
      expect(await works(rejected)).toBe(false);
      expect(await lastUsed(rejected)).toBeNull();
    }
  });

  test("does not make concurrent requests of one key wait for each other", async () => {
    const { organization, admin } = await team();
    const { id, secret } = await make(admin, organization);
    const startedAt = Date.now();
    await sql.begin(async (transaction) => {
      await transaction`select from private.api_keys where id = ${id} for update`;
      expect(await works(secret)).toBe(true);
    });
    expect(Date.now() - startedAt).toBeLessThan(3_000);
  });
});

describe("permissions", () => {
  test("the database rejects keys and clients that call its functions", async () => {
    const { organization } = await team();
    const key = await newKey(organization, allScopes);
    await expect(
      sql.begin(async (transaction) => {
        await transaction`select set_config('feedback.organization_id', ${organization.id}, true), set_config('feedback.key_id', ${key.id}, true),
          set_config('feedback.profile_id', ${key.profileId}, true), set_config('feedback.scopes', ${allScopes.join(" ")}, true)`;
        await transaction`set local role service_key`;
        await transaction`select private.admin_create_api_key('Mine', '{}', decode(repeat('00', 32), 'hex'), 'p', 'four', null)`;
      }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|FB403)$/) });
    const rights = await sql`
      select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace, unnest(array['anon', 'service_key']) as role
      where n.nspname = 'private' and p.proname ~ 'api_key' and p.proname <> 'api_key_shape' and has_function_privilege(role, p.oid, 'execute')`;
    expect(rights).toEqual([]);
  });
});
