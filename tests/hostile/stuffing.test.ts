import { randomUUID } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { api, type Caller } from "../api/client.ts";
import { importFrom } from "../api/imports.ts";
import { newSurvey } from "../api/survey-world.ts";
import {
  countMistakes,
  merge,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
} from "../api/world.ts";
import { signUp } from "../sign-up.ts";
import { sql, stack } from "../stack.ts";
import { rpc } from "./rest.ts";

const organization = await newOrganization();
const admin = await newUser("Admin", { organization, role: "admin" });
const author = await newUser("Author");

type Account = Caller & { id: string; email: string };

async function account(email = `${randomUUID()}@stuffing.example`): Promise<Account> {
  const auth = {
    url: stack.supabase_url,
    publishableKey: stack.publishable_key,
  };
  const { access_token, user } = await signUp(auth, { email, password: "correct horse battery" });
  return { id: user.id, email, token: access_token };
}

const inOrganization = async (person: Account) => {
  const { status } = await api("DELETE", "/api/me?confirm=erase", { as: person, on: organization });
  expect(status).toBe(200);
  return person;
};
const byAdmin = async (person: Account) => {
  const { status } = await api("POST", `/api/admin/people/${person.id}/erase`, {
    as: admin,
    on: organization,
  });
  expect(status).toBe(200);
  return person;
};
const eraseAndCount = async (person: Account) => {
  expect((await api("DELETE", "/api/me?confirm=erase", { as: person })).status).toBe(200);
  return account(person.email.toUpperCase());
};
const byTheAuthService = async (person: Account) => {
  await sql`delete from auth.users where id = ${person.id}`;
  return account(person.email);
};

const vote = (id: string, as: Caller) => api("POST", `/api/submissions/${id}/vote`, { as });
const voteForComment = (id: string, as: Caller) => api("POST", `/api/comments/${id}/vote`, { as });
const votesOf = async (id: string) =>
  (await sql<{ vote_count: number }[]>`select vote_count from submissions where id = ${id}`)[0]?.vote_count;

describe.each([
  ["in the organization", inOrganization],
  ["by an admin", byAdmin],
  [
    "in the organization and then wholly",
    async (person: Account) => eraseAndCount(await inOrganization(person)),
  ],
  ["wholly, with a new account of the same address", eraseAndCount],
  ["by the auth service, with a new account of the same address", byTheAuthService],
])("a user erased %s", (_, erase) => {
  it("cannot vote a second time, by the API or the data API", async () => {
    const id = await newSubmission(organization, author);
    const comment = await newComment(id, author);
    const person = await account();
    expect((await vote(id, person)).status).toBe(201);
    expect((await voteForComment(comment, person)).status).toBe(201);
    const repeated = await erase(person);
    for (const _ of ["once", "twice"]) expect((await vote(id, repeated)).status).toBe(409);
    expect((await voteForComment(comment, repeated)).status).toBe(409);
    const direct = [
      await rpc("vote", { submission_id: id }, { token: repeated.token }),
      await rpc("vote_comment", { comment_id: comment }, { token: repeated.token }),
    ];
    for (const { code } of direct) expect(code).toBe("FB409");
    expect(await votesOf(id)).toBe(2);
    expect(await countMistakes(organization)).toEqual([]);
    // In other organizations they take part as usual.
    expect((await vote(await newSubmission(organization, author), repeated)).status).toBe(201);
  });

  it("cannot respond again to a survey of one response, and can to one of many", async () => {
    const questions = [{ type: "nps", text: "Would you recommend us?" }];
    const once = await newSurvey(admin, organization, { questions });
    const often = await newSurvey(admin, organization, {
      questions,
      settings: { allow_multiple_responses: true },
    });
    const answer = ({ id, questions: [asked] }: typeof once, as: Caller) =>
      api("POST", `/api/surveys/${id}/responses`, {
        as,
        body: { answers: [{ question_id: asked?.id, value: 9 }] },
      });
    const person = await account();
    for (const survey of [once, often]) expect((await answer(survey, person)).status).toBe(201);
    const repeated = await erase(person);
    expect((await answer(once, repeated)).status).toBe(409);
    expect((await answer(often, repeated)).status).toBe(201);
  });
});

describe("a user who changes their e-mail address", () => {
  // The change that the auth service makes when the user follows the links sent to both addresses.
  const changeAddress = async (person: Account, email: string) => {
    await sql`update auth.users set email = ${email} where id = ${person.id}`;
    return { ...person, email };
  };
  const other = () => `${randomUUID()}@stuffing.example`;

  it("cannot vote again with an address that they had before the erasure", async () => {
    const id = await newSubmission(organization, author);
    const person = await account();
    expect((await vote(id, person)).status).toBe(201);
    const moved = await changeAddress(await changeAddress(person, other()), other());
    const repeated = await eraseAndCount(moved);
    expect((await vote(id, repeated)).status).toBe(409);
    expect((await vote(id, await account(person.email))).status).toBe(409);
    expect(await votesOf(id)).toBe(2);
    expect(await sql`select from private.former_addresses where profile_id = ${person.id}`).toHaveLength(0);
  });

  it("can remove and repeat a vote while the account exists", async () => {
    const id = await newSubmission(organization, author);
    const person = await account();
    expect((await vote(id, person)).status).toBe(201);
    const back = await changeAddress(await changeAddress(person, other()), person.email);
    expect((await api("DELETE", `/api/submissions/${id}/vote`, { as: back })).status).toBe(200);
    expect((await vote(id, back)).status).toBe(201);
  });
});

describe("merges, with an erasure between", () => {
  const unmerge = (id: string) =>
    api("POST", "/api/admin/unmerge", { as: admin, on: organization, body: { submission_id: id } });
  const voted = async () => {
    const person = await account();
    const [source, target] = [
      await newSubmission(organization, author),
      await newSubmission(organization, author),
    ];
    return { person, source, target };
  };

  it("a voter of the source cannot vote for the target it was merged into, nor for the source later", async () => {
    const { person, source, target } = await voted();
    await vote(source, person);
    const repeated = await eraseAndCount(person);
    await merge(source, target);
    expect((await vote(target, repeated)).status).toBe(409);
    expect((await unmerge(source)).status).toBe(200);
    expect((await vote(source, repeated)).status).toBe(409);
    expect((await vote(target, repeated)).status).toBe(201);
    expect([await votesOf(source), await votesOf(target)]).toEqual([2, 2]);
  });

  it.each(["source", "target", "both"])(
    "a voter of the %s before the merge who is erased later keeps those votes and no more",
    async (which) => {
      const { person, source, target } = await voted();
      if (which !== "target") await vote(source, person);
      if (which !== "source") await vote(target, person);
      await merge(source, target);
      await inOrganization(person);
      expect((await vote(target, person)).status).toBe(409);
      expect((await unmerge(source)).status).toBe(200);
      expect((await vote(source, person)).status).toBe(which === "target" ? 201 : 409);
      expect((await vote(target, person)).status).toBe(which === "source" ? 201 : 409);
      expect([await votesOf(source), await votesOf(target)]).toEqual([2, 2]);
    },
  );

  it("a deleted merge source leaves its votes to the target, and its voters stay counted", async () => {
    const { person, source, target } = await voted();
    await vote(source, person);
    await merge(source, target);
    await inOrganization(person);
    expect((await api("DELETE", `/api/submissions/${source}`, { as: admin })).status).toBe(200);
    expect((await vote(target, person)).status).toBe(409);
    expect(await votesOf(target)).toBe(2);
  });
});

test("an erased author known by e-mail cannot vote again through a key", async () => {
  const key = await newKey(organization, ["submissions:read", "submissions:write"]);
  const id = await newSubmission(organization, author);
  const author_email = `${randomUUID()}@stuffing.example`;
  const cast = () => api("POST", `/api/submissions/${id}/vote`, { as: key, body: { author_email } });
  const created = await cast();
  expect(created.status).toBe(201);
  const { user_id } = (created.body as { data: { user_id: string } }).data;
  await byAdmin({ id: user_id, email: author_email, token: "" });
  expect((await cast()).status).toBe(409);
  expect(await votesOf(id)).toBe(2);
});

test("importing a file again after an erasure restores no vote", async () => {
  const key = await newKey(organization, ["submissions:moderate", "members:write"]);
  const person = await account();
  const email = `${randomUUID()}@stuffing.example`;
  const title = `Imported ${randomUUID()}`;
  const voters = [{ author_email: email }, { author_email: person.email.toUpperCase() }];
  const line = JSON.stringify({
    id: title,
    title,
    description: "A description that is long enough to be taken.",
    votes: voters,
    comments: [
      { id: `${title}-c`, body: "So it is", author_email: "someone@stuffing.example", votes: voters },
    ],
  });
  const send = () => importFrom(key, line);
  const counts = () => sql`
    select s.vote_count, (select count(*)::int from public.comment_votes v join public.comments c on c.id = v.comment_id where c.submission_id = s.id) as comment_votes
    from public.submissions s where s.title = ${title}`;
  expect(await send()).toMatchObject({ state: "completed", failed: 0 });
  const before = await counts();
  expect(before[0]?.vote_count).toBe(2);
  const found = await api("GET", `/api/admin/people?email=${email}`, { as: key });
  const [{ id }] = (found.body as { data: [{ id: string }] }).data;
  await byAdmin({ id, email, token: "" });
  // A user's own vote, erased with the account, is not restored under the address either.
  const own = await newSubmission(organization, author);
  expect((await vote(own, person)).status).toBe(201);
  await eraseAndCount(person);
  await sql`delete from auth.users where lower(email) = lower(${person.email})`;
  const repeated = JSON.stringify({ submission_id: own, author_email: person.email });
  expect(await importFrom(key, repeated, "?what=votes")).toMatchObject({ created: 0, skipped: 1 });
  expect(await votesOf(own)).toBe(2);
  expect(await send()).toMatchObject({ state: "completed", created: 0 });
  expect(await counts()).toEqual(before);
  expect(await countMistakes(organization)).toEqual([]);
});

test("the token of a deleted account cannot vote, by the data API either", async () => {
  const id = await newSubmission(organization, author);
  const person = await account();
  await sql`delete from auth.users where id = ${person.id}`;
  const { code } = await rpc("vote", { submission_id: id }, { token: person.token });
  // The data API answers 401.
  expect(code).toBe("PT401");
  expect(await votesOf(id)).toBe(1);
});

test("concurrent votes and erasures count one vote", async () => {
  const id = await newSubmission(organization, author);
  const person = await account();
  const rounds = Array.from({ length: 12 }, (_, round) =>
    round % 3 === 2
      ? api("DELETE", "/api/me?confirm=erase", { as: person, on: organization })
      : vote(id, person),
  );
  for (const { status } of await Promise.all(rounds)) expect([200, 201, 409]).toContain(status);
  expect(await votesOf(id)).toBe(2);
});

test("the stored fingerprints identify no one, and are deleted with the row", async () => {
  const id = await newSubmission(organization, author);
  const person = await account();
  await vote(id, person);
  await eraseAndCount(person);
  const stored = () => sql`select * from private.erased_participations where row_id = ${id}`;
  const rows = await stored();
  expect(rows).toHaveLength(2);
  for (const row of rows) {
    expect(Object.keys(row).sort()).toEqual(["hash", "hashed_id", "organization_id", "row_id"]);
    expect(row.hash).toHaveLength(32);
  }
  await sql`delete from submissions where id = ${id}`;
  expect(await stored()).toHaveLength(0);
});
