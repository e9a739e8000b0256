import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { erasedAnswer, peopleAnswer, personalDataAnswer } from "../../shared/people.ts";
import { signUp, sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { newSurvey, respond } from "./survey-world.ts";
import {
  countMistakes,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  stored,
} from "./world.ts";

const [own, theirs] = [await newOrganization(), await newOrganization()];
const admin = await newUser("Ada", { organization: own, role: "admin" });
const key = await newKey(own, ["members:write"]);

type Rec = Record<string, unknown>;
const as = (caller: Caller, organization = own) => ({ as: caller, on: organization });

async function found(email: string, caller: Caller = admin) {
  const path = `/api/admin/people?email=${encodeURIComponent(email)}`;
  return (await getJson(path, peopleAnswer, as(caller))).data;
}

const erase = (id: string, caller: Caller = admin) => api("POST", `/api/admin/people/${id}/erase`, as(caller));

/** Creates a submission, comments, votes, follows and notifications of a person on a board. */
async function takePart(organization: Organization, person: { id: string }) {
  const submission = await newSubmission(organization, person);
  const comment = await newComment(submission, person, { body: "Said by them" });
  const other = await newUser("Other");
  await newComment(submission, other, { parent_id: comment });
  const voted = await newSubmission(organization, other);
  await sql`insert into public.votes (submission_id, user_id) values (${voted}, ${person.id})`;
  await sql`insert into public.comment_votes (comment_id, user_id) values (${comment}, ${person.id})`;
  await sql`insert into private.author_trust (organization_id, user_id, is_trusted) values (${organization.id}, ${person.id}, true)`;
  await sql`
    insert into private.invites (organization_id, email, role, digest, invited_by)
    select ${organization.id}, lower(p.email), 'member', ${randomBytes(32)}, ${other.id} from public.profiles p where p.id = ${person.id}`;
  return { submission, comment, voted };
}

const nothing = { follows: 0, notifications: 0, trust: 0, events: 0 };

async function tracesOf(id: string): Promise<Rec> {
  const [row] = await sql<Rec[]>`
    select (select count(*)::int from public.submissions where author_id = ${id}) as submissions,
      (select count(*)::int from public.comments where author_id = ${id}) as comments,
      (select count(*)::int from public.votes where user_id = ${id}) + (select count(*)::int from public.comment_votes where user_id = ${id}) as votes,
      (select count(*)::int from public.follows where user_id = ${id}) as follows,
      (select count(*)::int from public.notifications where user_id = ${id}) as notifications,
      (select count(*)::int from private.author_trust where user_id = ${id}) as trust,
      (select count(*)::int from private.outbox where data::text like '%' || ${id} || '%' and type <> 'submission.created') as events`;
  return only(row);
}

/** An author the organization knows by e-mail address only. */
async function emailAuthor(organization: Organization): Promise<{ id: string; email: string }> {
  const email = `${crypto.randomUUID()}@x.example`;
  const [created] = await sql<{ id: string }[]>`
    insert into public.profiles (kind, organization_id, email, name) values ('email', ${organization.id}, ${email}, 'Emma') returning id`;
  return { id: only(created).id, email };
}

describe("an admin's search for a person", () => {
  test("finds by e-mail address the imported author and the user who took part, in this organization only", async () => {
    const user = await newUser("Una");
    expect(await found(user.email)).toEqual([]);
    await takePart(own, user);
    const [author] = await sql<{ id: string }[]>`
      insert into public.profiles (kind, organization_id, email, name) values ('email', ${own.id}, ${user.email}, 'Una by mail') returning id`;
    await sql`insert into public.profiles (kind, organization_id, email) values ('email', ${theirs.id}, ${user.email})`;
    expect(await found(user.email.toUpperCase(), key)).toMatchObject([
      { id: author?.id, kind: "email", name: "Una by mail" },
      { id: user.id, kind: "user", name: "Una" },
    ]);
  });

  test("returns what is stored about a person in this organization only", async () => {
    const user = await newUser("Una");
    const here = await takePart(own, user);
    await takePart(theirs, user);
    const path = `/api/admin/people/${user.id}/export`;
    const { data } = await getJson(path, personalDataAnswer, as(key));
    expect(data).toMatchObject({
      profile: { id: user.id, email: user.email, name: "Una" },
      submissions: [{ id: here.submission, organization_id: own.id }],
      comments: [{ id: here.comment, body: "Said by them" }],
      votes: [{ submission_id: here.voted }, { submission_id: here.submission }],
      comment_votes: [{ comment_id: here.comment }],
      trust: [{ organization_id: own.id, is_trusted: true }],
      notifications: [{ type: "reply" }],
    });
    expect(data.follows).toHaveLength(2);
  });
});

describe("erasure by an organization", () => {
  test("of an author known by e-mail keeps their content and counts, and deletes name and address; repeating succeeds", async () => {
    const author = await emailAuthor(own);
    const { submission, comment, voted } = await takePart(own, author);
    const counts = async () => [
      (await stored("submissions", submission))?.vote_count,
      (await stored("submissions", voted))?.vote_count,
      (await stored("comments", comment))?.vote_count,
    ];
    const before = await counts();
    for (let time = 0; time < 2; time++)
      expect(expectJson(await erase(author.id), 200, erasedAnswer).data).toEqual({ id: author.id, erased: true });
    expect(await counts()).toEqual(before);
    expect(await countMistakes(own)).toEqual([]);
    expect(await tracesOf(author.id)).toEqual({ submissions: 1, comments: 1, votes: 3, ...nothing });
    const [profile] = await sql<Rec[]>`select kind, email, name from public.profiles where id = ${author.id}`;
    expect(profile).toEqual({ kind: "anonymous", email: null, name: null });
    expect(await found(author.email)).toEqual([]);
    expect(await sql`select from private.invites where email = ${author.email}`).toHaveLength(0);
    const [{ body } = {}] = [await stored("comments", comment)];
    expect(body).toBe("Said by them");
    const [entry] = await sql<Rec[]>`
      select action, details from private.audit_log where organization_id = ${own.id} and target_id = ${author.id} order by created_at limit 1`;
    expect(entry).toEqual({ action: "person.erase", details: {} });
  });

  test("of a user keeps their account and their content in other organizations", async () => {
    const user = await newUser("Una");
    const here = await takePart(own, user);
    await takePart(theirs, user);
    const [before, elsewhere] = [await tracesOf(user.id), { submissions: 1, comments: 1, votes: 3 }];
    expect(before).toMatchObject({ submissions: 2, comments: 2, votes: 6 });
    expectJson(await erase(user.id, key), 200, erasedAnswer);
    expectJson(await erase(user.id, key), 200, erasedAnswer);
    expect(await tracesOf(user.id)).toMatchObject({ ...elsewhere, follows: 2, notifications: 1 });
    expect((await stored("submissions", here.submission))?.author_id).not.toBe(user.id);
    expect((await stored("submissions", here.voted))?.vote_count).toBe(2);
    expect(await countMistakes(own)).toEqual([]);
    expect(await countMistakes(theirs)).toEqual([]);
    expect((await api("GET", "/api/me/votes", { as: user })).status).toBe(200);
  });

  test("of a current team member is rejected", async () => {
    const member = await newUser("Mel", { organization: own, role: "member" });
    expectError(await erase(member.id), "CONFLICT");
    expect(await found(member.email)).toHaveLength(1);
  });

  test("of an unknown person returns 404", async () => {
    const foreign = await emailAuthor(theirs);
    const stranger = await newUser("Sam");
    const [agent] = await sql<{ id: string }[]>`select private.create_agent(${own.id}, 'Robin') as id`;
    for (const id of [foreign.id, stranger.id, crypto.randomUUID(), key.profileId, only(agent).id]) {
      expectError(await erase(id), "NOT_FOUND");
      expectError(await api("GET", `/api/admin/people/${id}/export`, as(admin)), "NOT_FOUND");
    }
    expect(await tracesOf(foreign.id)).toBeDefined();
    const [profile] = await sql<Rec[]>`select email from public.profiles where id = ${foreign.id}`;
    expect(profile?.email).toBe(foreign.email);
  });
});

describe("a user's own data", () => {
  test("is returned for all organizations, or for the selected one", async () => {
    const user = await newUser("Una");
    await takePart(own, user);
    await takePart(theirs, user);
    const all = (await getJson("/api/me/export", personalDataAnswer, { as: user })).data;
    expect(all.submissions.map((row) => row.organization_id).sort()).toEqual([own.id, theirs.id].sort());
    const part = (await getJson("/api/me/export", personalDataAnswer, as(user))).data;
    expect(part.submissions).toMatchObject([{ organization_id: own.id }]);
  });

  test("is deleted permanently with the account: name, address and notifications; content stays", async () => {
    const user = await signUp("Goes Away");
    const { submission, comment } = await takePart(own, user);
    expectError(await api("DELETE", "/api/me", { as: user }), "VALIDATION_ERROR", "confirm");
    const deleted = expectJson(await api("DELETE", "/api/me?confirm=erase", { as: user }), 200, erasedAnswer).data;
    expect(deleted).toEqual({ id: user.id, erased: true });
    expectError(await api("DELETE", "/api/me?confirm=erase", { as: user }), "UNAUTHORIZED");
    expect(await tracesOf(user.id)).toEqual({ submissions: 1, comments: 1, votes: 3, ...nothing });
    const [profile] = await sql<Rec[]>`select name, email, auth_user_id from public.profiles where id = ${user.id}`;
    expect(profile).toEqual({ name: null, email: null, auth_user_id: null });
    expect(await sql`select 1 from auth.users where id = ${user.id}`).toHaveLength(0);
    expect(await stored("submissions", submission)).toMatchObject({ vote_count: 1, comment_count: 2 });
    expect((await stored("comments", comment))?.body).toBe("Said by them");
    expect(await countMistakes(own)).toEqual([]);
  });

  test("is erased in the selected organization only", async () => {
    const user = await newUser("Una");
    await takePart(own, user);
    await takePart(theirs, user);
    expectJson(await api("DELETE", "/api/me?confirm=erase", as(user)), 200, erasedAnswer);
    expect(await tracesOf(user.id)).toMatchObject({ submissions: 1, comments: 1, votes: 3 });
    expect((await api("GET", "/api/me/votes", { as: user })).status).toBe(200);
  });

  test("includes survey responses, and erasure removes addresses in them", async () => {
    const user = await signUp("Answers Once");
    const survey = await newSurvey(admin, own);
    await respond(survey, user, { 0: 9, 4: "Nothing", 5: "ann@example.org" });
    const path = `/api/admin/people/${user.id}/export`;
    for (const read of [api("GET", "/api/me/export", { as: user }), api("GET", path, as(key))])
      expect(expectJson(await read, 200, personalDataAnswer).data).toMatchObject({
        survey_responses: [
          {
            survey_id: survey.id,
            survey_title: "A survey",
            answers: [
              { question: "Would you recommend us?", value: 9 },
              { question: "What is missing?", value: "Nothing" },
              { question: "Where can we reach you?", value: "ann@example.org" },
            ],
          },
        ],
        survey_starts: [],
        survey_requests: [],
      });
    expectJson(await api("DELETE", "/api/me?confirm=erase", { as: user }), 200, erasedAnswer);
    const [storedRow] = await sql<{ answers: { value: unknown }[] }[]>`
      select answers from public.survey_responses where survey_id = ${survey.id}`;
    expect(only(storedRow).answers.map(({ value }) => value)).toEqual([9, "Nothing"]);
    expect(await sql`select from private.survey_count_discrepancies() m where m.id = ${survey.id}`).toHaveLength(0);
  });

  test("cannot be erased while the user is an organization's last owner", async () => {
    const organization = await newOrganization();
    const owner = await newUser("Olga", { organization, role: "owner" });
    expectError(await api("DELETE", "/api/me?confirm=erase", { as: owner }), "CONFLICT");
    expect((await api("GET", "/api/me/votes", { as: owner })).status).toBe(200);
  });
});
