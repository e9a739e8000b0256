import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";

const sessionSeconds = 24 * 3600;

import {
  identifyCheckAnswer,
  identifySecretDeletedAnswer,
  identifySecretListAnswer,
  signedOutAnswer,
} from "../../shared/identify.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, send } from "./client.ts";
import { claimsOf, exchange, identified, newSecret, nowSeconds, signed } from "./identified.ts";
import { detailOf, newSurvey, respond } from "./survey-world.ts";
import {
  countMistakes,
  longEnough,
  newComment,
  newGuest,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  type User,
} from "./world.ts";

let organization: Organization;
let admin: User;
let secret: string;

async function newHost(settings = {}) {
  const made = await newOrganization(settings);
  const owner = await newUser("The owner", { organization: made, role: "owner" });
  return { organization: made, admin: owner, ...(await newSecret(made, owner)) };
}

beforeAll(async () => {
  ({ organization, admin, secret } = await newHost());
});

describe("signing secrets", () => {
  test("are at most two, shown once, encrypted in the database, and listed without the secret", async () => {
    const { organization: on, admin: as, id, secret: first } = await newHost();
    const second = await newSecret(on, as);
    expectError(await api("POST", "/api/admin/identify-secrets", { as, on, body: {} }), "CONFLICT");
    const list = await api("GET", "/api/admin/identify-secrets", { as, on });
    const { data } = expectJson(list, 200, identifySecretListAnswer);
    expect(data.map((row) => row.id)).toEqual([second.id, id]);
    expect(data[1]).toMatchObject({ last_four: first.slice(-4), last_used_at: null });
    expect(list.text).not.toContain(first);
    const rows = await sql`select * from private.identify_secrets where organization_id = ${on.id}`;
    expect(JSON.stringify(rows)).not.toContain(first);

    const path = `/api/admin/identify-secrets/${id}`;
    expectJson(await api("DELETE", path, { as, on }), 200, identifySecretDeletedAnswer);
    expectError(await api("DELETE", path, { as, on }), "NOT_FOUND");
    await newSecret(on, as);
    const audited = await sql`
      select action, target_id, details::text from private.audit_log where organization_id = ${on.id} order by created_at`;
    expect(audited.map(({ action }) => action)).toEqual([
      "identify_secret.create",
      "identify_secret.create",
      "identify_secret.delete",
      "identify_secret.create",
    ]);
  });

  test("two requests at once make no third", async () => {
    const { organization: on, admin: as } = await newHost();
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => send("POST", "/api/admin/identify-secrets", { as, on, body: {} })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  });

  test("sign tokens both, so that one can replace the other", async () => {
    const host = await newHost();
    const next = await newSecret(host.organization, host.admin);
    const sub = randomUUID();
    const email = `${sub}@host.example`;
    const first = await identified(host.organization, host.secret, { sub, email });
    const second = await identified(host.organization, next.secret, { sub, email });
    expect(second.profile.id).toBe(first.profile.id);
    const list = await api("GET", "/api/admin/identify-secrets", { as: host.admin, on: host.organization });
    const { data } = expectJson(list, 200, identifySecretListAnswer);
    expect(data.map(({ last_used_at }) => last_used_at !== null)).toEqual([true, true]);
  });
});

describe("a token of the host", () => {
  test("becomes a session for a day: the person submits, votes, comments and follows", async () => {
    const before = Date.now();
    const person = await identified(organization, secret, {
      email: "Grace@Host.example",
      avatar_url: "https://host.example/grace.png",
      aud: organization.id,
    });
    expect(person.token).toMatch(/^fcs_usr_[\w-]{49}$/);
    expect(person.profile).toMatchObject({
      name: "Grace Host",
      email: "grace@host.example",
      avatar: "https://host.example/grace.png",
    });
    const lasts = (Date.parse(person.expires_at) - before) / 1000;
    expect(lasts).toBeGreaterThan(sessionSeconds - 60);
    expect(lasts).toBeLessThan(sessionSeconds + 60);

    const idea = await newSubmission(organization, await newUser());
    const body = { type: "idea", title: "From within the product", description: longEnough };
    const made = await api("POST", "/api/submissions", { as: person, body });
    expect(made.status, made.text).toBe(201);
    const vote = await api("POST", `/api/submissions/${idea}/vote`, { as: person });
    expect(vote.status, vote.text).toBe(201);
    const comment = await api("POST", `/api/submissions/${idea}/comments`, { as: person, body: { body: "Yes" } });
    expect(comment.body).toMatchObject({ data: { author: { id: person.profile.id, name: "Grace Host" } } });
    expect((await api("DELETE", `/api/submissions/${idea}/follow`, { as: person })).status).toBe(200);
    const votes = await api("GET", "/api/me/votes", { as: person });
    expect(votes.text).toContain(idea);
    const list = await api("GET", `/api/submissions?author=${person.profile.id}`, { as: person });
    expect(list.body).toMatchObject({ data: [{ title: body.title }] });
    expect((await api("GET", "/api/me/notifications", { as: person })).status).toBe(200);
    expect(await countMistakes(organization)).toEqual([]);
  });

  test("names its organization by id, or by present or former slug", async () => {
    const host = await newHost();
    const { id, slug } = host.organization;
    await sql`update public.organizations set slug = ${`${slug}-new`} where id = ${id}`;
    for (const aud of [id, slug, `${slug}-new`]) {
      const token = await signed({ ...claimsOf(host.organization), aud }, host.secret);
      const checked = await api("POST", "/api/admin/identify-secrets/check", {
        as: host.admin,
        on: host.organization,
        body: { token },
      });
      expect(expectJson(checked, 200, identifyCheckAnswer).data, aud).toMatchObject({ valid: true });
      expect((await exchange(token)).status, aud).toBe(201);
    }
  });

  test("names the author who is known by its address there, and nobody elsewhere", async () => {
    const email = `${randomUUID()}@host.example`;
    const other = await newOrganization();
    const authorIn = async (on: Organization) => {
      const key = await newKey(on, ["submissions:write", "submissions:read"]);
      const answer = await api("POST", "/api/submissions", {
        as: key,
        body: { type: "idea", title: "By mail", description: longEnough, author_email: email },
      });
      const [row] = await sql<{ author_id: string }[]>`
        select author_id from public.submissions where id = ${(answer.body as { id: string }).id}`;
      return only(row).author_id;
    };
    const [here, there] = [await authorIn(organization), await authorIn(other)];
    const person = await identified(organization, secret, { email: email.toUpperCase() });
    expect(person.profile.id).toBe(here);
    expect(person.profile.id).not.toBe(there);
    expect(person.profile.name).toBe("Grace Host");
  });

  test("keeps the person when the host changes their name, picture and address", async () => {
    const sub = randomUUID();
    const [first, second] = [`${randomUUID()}@host.example`, `${randomUUID()}@host.example`];
    const before = await identified(organization, secret, { sub, email: first });
    const after = await identified(organization, secret, { sub, email: second, name: "Grace Other" });
    expect(after.profile).toEqual({ ...before.profile, email: second, name: "Grace Other" });
    const bare = await identified(organization, secret, { sub, email: second, name: undefined });
    expect(bare.profile).toEqual(after.profile);
    // The former address is free again.
    expect((await identified(organization, secret, { email: first })).profile.id).not.toBe(before.profile.id);
  });

  test("without a name leaves the person without one", async () => {
    const { profile } = await identified(organization, secret, { name: undefined });
    expect(profile.name).toBe("Anonymous");
  });

  test("is one person, however many are exchanged at once", async () => {
    const claims = claimsOf(organization);
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () =>
        send("POST", "/api/identify", { body: { token: await signed(claims, secret) } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
    const ids = answers.map(({ body }) => (body as { data: { profile: { id: string } } }).data.profile.id);
    expect(new Set(ids).size).toBe(1);
  });

  test("whose address another sub has is a conflict, also when that is its new one", async () => {
    const email = `${randomUUID()}@host.example`;
    await identified(organization, secret, { email });
    const token = await signed(claimsOf(organization, { email: email.toUpperCase() }), secret);
    expect(expectError(await exchange(token), "CONFLICT").reason).toBe("address_taken");
    const other = { sub: randomUUID(), email: `${randomUUID()}@host.example` };
    const { profile } = await identified(organization, secret, other);
    const moved = await signed(claimsOf(organization, { ...other, email }), secret);
    expect(expectError(await exchange(moved), "CONFLICT").reason).toBe("address_taken");
    expect((await identified(organization, secret, other)).profile).toEqual(profile);
  });
});

describe("a session", () => {
  test("ends by signing out, and only this one", async () => {
    const sub = randomUUID();
    const email = `${sub}@host.example`;
    const [one, two] = [
      await identified(organization, secret, { sub, email }),
      await identified(organization, secret, { sub, email }),
    ];
    const out = await api("POST", "/api/identify/sign-out", { as: one });
    expect(expectJson(out, 200, signedOutAnswer).data.signed_out).toBe(true);
    expectError(await api("GET", "/api/me/votes", { as: one }), "UNAUTHORIZED");
    expect((await api("GET", "/api/me/votes", { as: two })).status).toBe(200);
    const user = await api("POST", "/api/identify/sign-out", { as: admin });
    expect(expectJson(user, 200, signedOutAnswer).data.signed_out).toBe(false);
    expect((await api("GET", "/api/me/votes", { as: admin })).status).toBe(200);
    expectError(await api("POST", "/api/identify/sign-out"), "UNAUTHORIZED");
  });

  test("ends when it expires, and is deleted then", async () => {
    const person = await identified(organization, secret);
    await sql`update private.identify_sessions set expires_at = now() where profile_id = ${person.profile.id}`;
    expectError(await api("GET", "/api/submissions", { as: person }), "UNAUTHORIZED");
    await sql`select private.trim_rows()`;
    expect(await sql`select from private.identify_sessions where profile_id = ${person.profile.id}`).toHaveLength(0);
  });

  test("is one of at most 50 of a person: the oldest ends", async () => {
    const sub = randomUUID();
    const claims = { sub, email: `${sub}@host.example` };
    const first = await identified(organization, secret, claims);
    await sql`update private.identify_sessions set created_at = now() - interval '1 hour' where profile_id = ${first.profile.id}`;
    await sql`
      insert into private.identify_sessions (digest, organization_id, profile_id, secret_id, expires_at)
      select sha256((${sub} || n)::text::bytea), s.organization_id, s.profile_id, s.secret_id, s.expires_at
      from private.identify_sessions s cross join generate_series(1, 49) n where s.profile_id = ${first.profile.id}`;
    const last = await identified(organization, secret, claims);
    expectError(await api("GET", "/api/me/votes", { as: first }), "UNAUTHORIZED");
    expect((await api("GET", "/api/me/votes", { as: last })).status).toBe(200);
    const [row] =
      await sql`select count(*)::int as n from private.identify_sessions where profile_id = ${first.profile.id}`;
    expect(row?.n).toBe(50);
  });

  test("shares one bucket with the person's other sessions, at the level of users", async () => {
    const sub = randomUUID();
    const claims = { sub, email: `${sub}@host.example` };
    const [one, two] = [await identified(organization, secret, claims), await identified(organization, secret, claims)];
    for (const as of [one, two, one]) await api("GET", "/api/submissions", { as });
    const counted = await sql`
      select rule, used from private.rate_counters where subject = ${one.profile.id}`;
    expect(counted.map(({ rule, used }) => `${rule} ${used}`)).toEqual(["level_user 3"]);
  });

  test("is taken as a cookie too, after that of an account, and writes from allowed origins only", async () => {
    const person = await identified(organization, secret);
    const cookie = `lang=de; feedback-session=${person.token}`;
    expect((await api("GET", "/api/me/votes", { headers: { cookie } })).status).toBe(200);
    const idea = await newSubmission(organization, await newUser());
    const vote = (headers: Record<string, string>) =>
      api("POST", `/api/submissions/${idea}/vote`, { headers: { cookie, ...headers } });
    expectError(await vote({}), "FORBIDDEN");
    expectError(await vote({ origin: "https://evil.example" }), "FORBIDDEN");
    await sql`update public.organizations set allowed_origins = '{https://app.example}' where id = ${organization.id}`;
    expect((await vote({ origin: "https://app.example" })).status).toBe(201);
    const session = Buffer.from(JSON.stringify({ access_token: admin.token })).toString("base64url");
    const both = await api("GET", "/api/admin/identify-secrets", {
      on: organization,
      headers: { cookie: `feedback-session=${person.token}; sb-127-auth-token=base64-${session}` },
    });
    expect(both.status).toBe(200);
    expectError(await api("GET", "/api/submissions", { headers: { cookie: "feedback-session=x" } }), "UNAUTHORIZED");
  });

  test("exports and erases its person: the session ends, and the next token is a new person", async () => {
    const sub = randomUUID();
    const email = `${sub}@host.example`;
    const person = await identified(organization, secret, { sub, email });
    const data = await api("GET", "/api/me/export", { as: person });
    expect(data.body).toMatchObject({
      data: { profile: { email }, identified_as: { organization_id: organization.id, sub } },
    });
    expect((await api("DELETE", "/api/me?confirm=erase", { as: person })).status).toBe(200);
    expectError(await api("GET", "/api/me/votes", { as: person }), "UNAUTHORIZED");
    expect(await sql`select from private.identified_people where subject = ${sub}`).toHaveLength(0);
    expect((await identified(organization, secret, { sub, email })).profile.id).not.toBe(person.profile.id);
  });
});

describe("a person with an account and a session of the same address", () => {
  async function both() {
    const account = await newGuest();
    const session = await identified(organization, secret, { email: account.email.toUpperCase() });
    return { account, session };
  }

  const claim = (account: User, author: { id: string }) =>
    sql.begin(async (tx) => {
      const claims = JSON.stringify({ sub: account.id, role: "authenticated" });
      await tx`select set_config('request.jwt.claims', ${claims}, true), set_config('role', 'authenticated', true),
        set_config('feedback.by_function', 'on', true)`;
      await tx`select private.claim_author(${organization.id}, ${author.id})`;
    });

  test("votes and answers once, also when both act at the same moment", async () => {
    const survey = await newSurvey(admin, organization);
    const idea = await newSubmission(organization, admin);
    const comment = await newComment(idea, admin);
    const people = await Promise.all(Array.from({ length: 8 }, both));
    const once = async (act: (as: Caller) => ReturnType<typeof api>) => {
      const answers = await Promise.all(
        people.flatMap(({ account, session }) => [act(account), act(session), act(session), act(account)]),
      );
      for (const { status, text } of answers) expect([200, 201, 409], text).toContain(status);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(people.length);
    };
    await once((as) => api("POST", `/api/submissions/${idea}/vote`, { as }));
    await once((as) => api("POST", `/api/comments/${comment}/vote`, { as }));
    await once((as) => respond(survey, as, { 0: 0 }));
    expect(await detailOf(survey.id, admin)).toMatchObject({ response_count: people.length });
    const [counts] = await sql`
      select s.vote_count, c.vote_count as of_comment from public.submissions s, public.comments c
      where s.id = ${idea} and c.id = ${comment}`;
    expect(counts).toEqual({ vote_count: people.length + 1, of_comment: people.length });
    expect(await countMistakes(organization)).toEqual([]);
  });

  test("is two people while the account has not confirmed the address", async () => {
    const { account, session } = await both();
    await sql`update auth.users set email_confirmed_at = null where id = ${account.id}`;
    const idea = await newSubmission(organization, admin);
    for (const as of [account, session])
      expect((await api("POST", `/api/submissions/${idea}/vote`, { as })).status).toBe(201);
  });

  test("is another one in another organization", async () => {
    const { account } = await both();
    const other = await newHost();
    const session = await identified(other.organization, other.secret, { email: account.email });
    const idea = await newSubmission(organization, admin);
    const theirs = await newSubmission(other.organization, other.admin);
    expect((await api("POST", `/api/submissions/${idea}/vote`, { as: account })).status).toBe(201);
    expect((await api("POST", `/api/submissions/${theirs}/vote`, { as: session })).status).toBe(201);
  });

  test("answers once around a claim that happens meanwhile, round after round", async () => {
    const survey = await newSurvey(admin, organization);
    const account = await newGuest();
    const sub = randomUUID();
    for (let round = 0; round < 8; round++) {
      const session = await identified(organization, secret, { sub, email: account.email });
      const idea = await newSubmission(organization, session.profile);
      await Promise.all([
        respond(survey, session, { 0: 0 }),
        claim(account, session.profile),
        api("POST", `/api/submissions/${idea}/vote`, { as: account }),
        respond(survey, account, { 0: 0 }),
      ]);
      expect(await detailOf(survey.id, admin)).toMatchObject({ response_count: 1 });
      const votes = await sql`select v.user_id from public.votes v where v.submission_id = ${idea}`;
      expect(votes.map(({ user_id }) => user_id)).toEqual([account.id]);
      expect((await api("POST", `/api/submissions/${idea}/vote`, { as: session })).status).toBe(401);
    }
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("the check of a token", () => {
  const check = async (token: string, as = admin) =>
    expectJson(
      await api("POST", "/api/admin/identify-secrets/check", { as, on: organization, body: { token } }),
      200,
      identifyCheckAnswer,
    ).data;

  test.each([
    [{ name: "" }, "Anonymous"],
    [{ name: "   " }, "Anonymous"],
    [{ name: "\u200b\u2060" }, "Anonymous"],
    [{ name: null }, "Anonymous"],
    [{ name: 42 }, "Anonymous"],
    [{ name: { first: "Grace" } }, "Anonymous"],
    [{ name: ["Grace"] }, "Anonymous"],
    [{ name: "N".repeat(120) }, "N".repeat(100)],
    [{ name: `${"N".repeat(99)}\u{1F600}\u{1F600}` }, `${"N".repeat(99)}\u{1F600}`],
    [{ name: `${"N".repeat(97)}\u{1F468}\u200d\u{1F469}\u200d\u{1F467} Smith` }, "N".repeat(97)],
    [{ name: `${"N".repeat(99)}\u{1F1E9}\u{1F1EA}` }, "N".repeat(99)],
    [{ name: `${"N".repeat(99)}e\u0301e` }, "N".repeat(99)],
    [{ name: `${"N".repeat(99)} Smith` }, "N".repeat(99)],
    [{ name: "Gr\ud83dace" }, "Grace"],
    [{ name: "Gr\0ace" }, "Grace"],
    [{ name: "x".repeat(5000) }, "x".repeat(100)],
    [{ jti: null, nbf: null }, "Grace Host"],
  ])("with the optional claims %j signs in %s", async (claims, name) => {
    expect((await identified(organization, secret, claims)).profile.name).toBe(name);
  });

  test.each([
    "",
    " ",
    null,
    7,
    { url: "https://host.example/a.png" },
    "http://host.example/a.png",
    "/a.png",
    "//host.example/a.png",
    "host.example/a.png",
    "data:image/png;base64,AAAA",
    "javascript:alert(1)",
    "https://user:pass@host.example/a.png",
    "https://host.example/a b.png",
    'https://host.example/"onload=',
    `https://host.example/${"x".repeat(2000)}`,
    "https://",
    "\0",
  ])("with the picture %j signs in, and the person keeps the one they have", async (avatar_url) => {
    const claims = { sub: randomUUID(), email: `${randomUUID()}@host.example` };
    const bare = await identified(organization, secret, { ...claims, avatar_url });
    expect(bare.profile.avatar).toContain("/avatars/");
    const picture = "https://host.example/o'neil.png?size=2";
    const shown = await identified(organization, secret, { ...claims, avatar_url: ` HTTPS${picture.slice(5)} ` });
    expect(shown.profile.avatar).toBe(picture);
    expect((await identified(organization, secret, { ...claims, avatar_url })).profile.avatar).toBe(picture);
  });

  test("says what is right and wrong with it, and opens no session", async () => {
    const claims = claimsOf(organization, { jti: randomUUID() });
    const token = await signed(claims, secret);
    expect(await check(token)).toEqual({
      valid: true,
      reason: null,
      message: null,
      details: [],
      claims,
      signed_with: secret.slice(-4),
    });
    expect((await check(token)).valid).toBe(true);
    expect((await check("not a token")).reason).toBe("malformed");
    const late = await check(await signed({ ...claims, exp: nowSeconds() - 61 }, secret));
    expect(late).toMatchObject({ valid: false, reason: "expired", claims: { sub: claims.sub } });
    const wrong = await check(await signed({ ...claims, email: "x", avatar_url: "http://a.example/b" }, secret));
    expect(wrong.details.map(({ field }) => field)).toEqual(["token.email"]);
    expect((await check(await signed(claims, "not the secret of anybody"))).reason).toBe("signature");
    expect(await sql`select from private.identified_people where subject = ${claims.sub}`).toHaveLength(0);
    expect((await exchange(token)).status).toBe(201);
  });
});
