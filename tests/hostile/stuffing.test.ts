import { randomUUID } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { api, type Caller } from "../api/client.ts";
import { newSurvey } from "../api/survey-world.ts";
import { countMistakes, merge, newComment, newOrganization, newSubmission, newUser } from "../api/world.ts";
import { signUp } from "../sign-up.ts";
import { sql, stack } from "../stack.ts";
import { rpc } from "./rest.ts";

const organization = await newOrganization();
const admin = await newUser("Admin", { organization, role: "admin" });
const author = await newUser("Author");

type Account = Caller & { id: string; email: string };

async function account(email = `${randomUUID()}@stuffing.example`): Promise<Account> {
  const auth = { url: stack.supabase_url, publishableKey: stack.publishable_key };
  const { access_token, user } = await signUp(auth, { email, password: "correct horse battery" });
  return { id: user.id, email, token: access_token };
}

const inOrganization = async (person: Account) => {
  const { status } = await api("DELETE", "/api/me?confirm=erase", { as: person, on: organization });
  expect(status).toBe(200);
  return person;
};
const byAdmin = async (person: Account) => {
  const { status } = await api("POST", `/api/admin/people/${person.id}/erase`, { as: admin, on: organization });
  expect(status).toBe(200);
  return person;
};
const vote = (id: string, as: Caller) => api("POST", `/api/submissions/${id}/vote`, { as });
const voteForComment = (id: string, as: Caller) => api("POST", `/api/comments/${id}/vote`, { as });
const votesOf = async (id: string) =>
  (await sql<{ vote_count: number }[]>`select vote_count from submissions where id = ${id}`)[0]?.vote_count;

describe.each([
  ["themselves", inOrganization],
  ["by an admin", byAdmin],
])("a user erased in one organization %s", (_, erase) => {
  it("votes there no more, by the API or the data API, and does elsewhere", async () => {
    const id = await newSubmission(organization, author);
    const comment = await newComment(id, author);
    const person = await account();
    expect((await vote(id, person)).status).toBe(201);
    expect((await voteForComment(comment, person)).status).toBe(201);
    await erase(person);
    for (const _ of ["once", "twice"]) expect((await vote(id, person)).status).toBe(403);
    expect((await voteForComment(comment, person)).status).toBe(403);
    const direct = [
      await rpc("vote", { submission_id: id }, { token: person.token }),
      await rpc("vote_comment", { comment_id: comment }, { token: person.token }),
    ];
    for (const { code } of direct) expect(code).toBe("FB403");
    expect(await votesOf(id)).toBe(2);
    expect(await countMistakes(organization)).toEqual([]);
    expect((await vote(await newSubmission(await newOrganization(), author), person)).status).toBe(201);
  });

  it("has no vote for what they submit there afterwards, which a merge could add to another", async () => {
    const id = await newSubmission(organization, author);
    const person = await account();
    expect((await vote(id, person)).status).toBe(201);
    const later: string[] = [];
    for (const _ of ["once", "twice"]) {
      await erase(person);
      later.push(await newSubmission(organization, person));
    }
    for (const submission of later) expect(await votesOf(submission)).toBe(0);
    for (const submission of later) await merge(submission, id);
    expect(await votesOf(id)).toBe(2);
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("cannot respond again to a survey of one response, and can to one of many", async () => {
    const questions = [{ type: "nps", text: "Would you recommend us?" }];
    const once = await newSurvey(admin, organization, { questions });
    const often = await newSurvey(admin, organization, { questions, settings: { allow_multiple_responses: true } });
    const answer = ({ id, questions: [asked] }: typeof once, as: Caller) =>
      api("POST", `/api/surveys/${id}/responses`, { as, body: { answers: [{ question_id: asked?.id, value: 9 }] } });
    const person = await account();
    for (const survey of [once, often]) expect((await answer(survey, person)).status).toBe(201);
    await erase(person);
    expect((await answer(once, person)).status).toBe(403);
    expect((await answer(often, person)).status).toBe(201);
  });

  it("leaves their votes to a merge and an unmerge", async () => {
    const [source, target] = [await newSubmission(organization, author), await newSubmission(organization, author)];
    const person = await account();
    for (const id of [source, target]) expect((await vote(id, person)).status).toBe(201);
    await merge(source, target);
    await erase(person);
    const body = { submission_id: source };
    expect((await api("POST", "/api/admin/unmerge", { as: admin, on: organization, body })).status).toBe(200);
    expect([await votesOf(source), await votesOf(target)]).toEqual([2, 2]);
    expect(await countMistakes(organization)).toEqual([]);
  });
});

test("who erases the account and signs up again is a new person, with a vote of their own", async () => {
  const id = await newSubmission(organization, author);
  const person = await account();
  expect((await vote(id, person)).status).toBe(201);
  expect((await api("DELETE", "/api/me?confirm=erase", { as: person })).status).toBe(200);
  expect((await vote(id, await account(person.email))).status).toBe(201);
  expect(await votesOf(id)).toBe(3);
});

test("an erasure adds no row about what the person voted for", async () => {
  const id = await newSubmission(organization, author);
  const person = await account();
  await vote(id, person);
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'private'::regnamespace)`;
  const rows = async () => {
    const counts = tables.map(({ name }) => sql`select from ${sql.unsafe(name)} t where t::text like ${`%${id}%`}`);
    return (await Promise.all(counts)).flat().length;
  };
  const before = await rows();
  expect((await api("DELETE", "/api/me?confirm=erase", { as: person })).status).toBe(200);
  expect(await rows()).toBeLessThanOrEqual(before);
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
    round % 3 === 2 ? api("DELETE", "/api/me?confirm=erase", { as: person, on: organization }) : vote(id, person),
  );
  for (const { status } of await Promise.all(rounds)) expect([200, 201, 403]).toContain(status);
  expect(await votesOf(id)).toBe(2);
});
