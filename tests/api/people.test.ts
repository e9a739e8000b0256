import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { erasedAnswer, peopleAnswer, personalDataAnswer } from "../../shared/people.ts";
import { signUp, sql } from "../stack.ts";
import { answered, api, type Caller, refused } from "./client.ts";
import { newSurvey, respond } from "./survey-world.ts";
import {
  countMistakes,
  type Key,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  stored,
  type User,
} from "./world.ts";

let ours: Organization;
let theirs: Organization;
let admin: User;
let key: Key;

beforeAll(async () => {
  [ours, theirs] = [await newOrganization(), await newOrganization()];
  admin = await newUser("Ada", { organization: ours, role: "admin" });
  key = await newKey(ours, ["members:write"]);
});

type Rec = Record<string, unknown>;
const as = (caller: Caller, organization = ours) => ({ as: caller, on: organization });

async function found(email: string, caller: Caller = admin) {
  const path = `/api/admin/people?email=${encodeURIComponent(email)}`;
  return answered(await api("GET", path, as(caller)), 200, peopleAnswer).data;
}

const erase = (id: string, caller: Caller = admin) =>
  api("POST", `/api/admin/people/${id}/erase`, as(caller));

/** Somebody who wrote, voted and follows on a board, and was told of something there. */
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

/** An author the organization knows by e-mail alone. */
async function emailAuthor(organization: Organization): Promise<{ id: string; email: string }> {
  const email = `${crypto.randomUUID()}@x.example`;
  const [made] = await sql<{ id: string }[]>`
    insert into public.profiles (kind, organization_id, email, name) values ('email', ${organization.id}, ${email}, 'Emma') returning id`;
  return { id: only(made).id, email };
}

describe("an admin finds", () => {
  test("who has an address here: the author known by it and the user who took part, and nobody elsewhere", async () => {
    const user = await newUser("Una");
    expect(await found(user.email)).toEqual([]);
    await takePart(ours, user);
    const [author] = await sql<{ id: string }[]>`
      insert into public.profiles (kind, organization_id, email, name) values ('email', ${ours.id}, ${user.email}, 'Una by mail') returning id`;
    await sql`insert into public.profiles (kind, organization_id, email) values ('email', ${theirs.id}, ${user.email})`;
    expect(await found(user.email.toUpperCase(), key)).toMatchObject([
      { id: author?.id, kind: "email", name: "Una by mail" },
      { id: user.id, kind: "user", name: "Una" },
    ]);
  });

  test("what is kept of a person, here and not elsewhere", async () => {
    const user = await newUser("Una");
    const here = await takePart(ours, user);
    await takePart(theirs, user);
    const path = `/api/admin/people/${user.id}/export`;
    const { data } = answered(await api("GET", path, as(key)), 200, personalDataAnswer);
    expect(data).toMatchObject({
      profile: { id: user.id, email: user.email, name: "Una" },
      submissions: [{ id: here.submission, organization_id: ours.id }],
      comments: [{ id: here.comment, body: "Said by them" }],
      votes: [{ submission_id: here.voted }, { submission_id: here.submission }],
      comment_votes: [{ comment_id: here.comment }],
      trust: [{ organization_id: ours.id, is_trusted: true }],
      notifications: [{ type: "reply" }],
    });
    expect(data.follows).toHaveLength(2);
  });
});

describe("an organization forgets", () => {
  test("an author known by e-mail: what they wrote and counts stay, name and address go; again is no error", async () => {
    const author = await emailAuthor(ours);
    const { submission, comment, voted } = await takePart(ours, author);
    const counts = async () => [
      (await stored("submissions", submission))?.vote_count,
      (await stored("submissions", voted))?.vote_count,
      (await stored("comments", comment))?.vote_count,
    ];
    const before = await counts();
    for (let time = 0; time < 2; time++)
      expect(answered(await erase(author.id), 200, erasedAnswer).data).toEqual({
        id: author.id,
        erased: true,
      });
    expect(await counts()).toEqual(before);
    expect(await countMistakes(ours)).toEqual([]);
    expect(await tracesOf(author.id)).toEqual({
      submissions: 1,
      comments: 1,
      votes: 3,
      ...nothing,
    });
    const [profile] = await sql<Rec[]>`select kind, email, name from public.profiles where id = ${author.id}`;
    expect(profile).toEqual({ kind: "anonymous", email: null, name: null });
    expect(await found(author.email)).toEqual([]);
    expect(await sql`select from private.invites where email = ${author.email}`).toHaveLength(0);
    const [{ body } = {}] = [await stored("comments", comment)];
    expect(body).toBe("Said by them");
    const [entry] = await sql<Rec[]>`
      select action, details from private.audit_log where organization_id = ${ours.id} and target_id = ${author.id} order by created_at limit 1`;
    expect(entry).toEqual({ action: "person.erase", details: {} });
  });

  test("a user of the app: their account and what they did elsewhere stay", async () => {
    const user = await newUser("Una");
    const here = await takePart(ours, user);
    await takePart(theirs, user);
    const [before, elsewhere] = [await tracesOf(user.id), { submissions: 1, comments: 1, votes: 3 }];
    expect(before).toMatchObject({ submissions: 2, comments: 2, votes: 6 });
    answered(await erase(user.id, key), 200, erasedAnswer);
    answered(await erase(user.id, key), 200, erasedAnswer);
    expect(await tracesOf(user.id)).toMatchObject({ ...elsewhere, follows: 2, notifications: 1 });
    expect((await stored("submissions", here.submission))?.author_id).not.toBe(user.id);
    expect((await stored("submissions", here.voted))?.vote_count).toBe(2);
    expect(await countMistakes(ours)).toEqual([]);
    expect(await countMistakes(theirs)).toEqual([]);
    expect((await api("GET", "/api/me/votes", { as: user })).status).toBe(200);
  });

  test("nobody who is still on the team", async () => {
    const member = await newUser("Mel", { organization: ours, role: "member" });
    refused(await erase(member.id), "CONFLICT");
    expect(await found(member.email)).toHaveLength(1);
  });

  test("nobody it does not know", async () => {
    const foreign = await emailAuthor(theirs);
    const stranger = await newUser("Sam");
    const [agent] = await sql<{ id: string }[]>`select private.create_agent(${ours.id}, 'Robin') as id`;
    for (const id of [foreign.id, stranger.id, crypto.randomUUID(), key.profileId, only(agent).id]) {
      refused(await erase(id), "NOT_FOUND");
      refused(await api("GET", `/api/admin/people/${id}/export`, as(admin)), "NOT_FOUND");
    }
    expect(await tracesOf(foreign.id)).toBeDefined();
    const [profile] = await sql<Rec[]>`select email from public.profiles where id = ${foreign.id}`;
    expect(profile?.email).toBe(foreign.email);
  });

  test.each(["member", "stranger", "key"])("nobody for a %s without the right", async (who) => {
    const author = await emailAuthor(ours);
    const caller =
      who === "key"
        ? await newKey(ours, ["submissions:moderate", "submissions:write", "organization:write"])
        : await newUser("Mel", who === "member" ? { organization: ours, role: "member" } : undefined);
    refused(await erase(author.id, caller), "FORBIDDEN");
    refused(await api("GET", `/api/admin/people/${author.id}/export`, as(caller)), "FORBIDDEN");
    refused(await api("GET", "/api/admin/people?email=a@x.example", as(caller)), "FORBIDDEN");
  });
});

describe("oneself", () => {
  test("sees what is kept in all organizations, or in the one that is named", async () => {
    const user = await newUser("Una");
    await takePart(ours, user);
    await takePart(theirs, user);
    const all = answered(await api("GET", "/api/me/export", { as: user }), 200, personalDataAnswer).data;
    expect(all.submissions.map((row) => row.organization_id).sort()).toEqual([ours.id, theirs.id].sort());
    const part = answered(await api("GET", "/api/me/export", as(user)), 200, personalDataAnswer).data;
    expect(part.submissions).toMatchObject([{ organization_id: ours.id }]);
  });

  test("goes for good: account, name, address and notices; what was written stays", async () => {
    const user = await signUp("Goes Away");
    const { submission, comment } = await takePart(ours, user);
    refused(await api("DELETE", "/api/me", { as: user }), "VALIDATION_ERROR", "confirm");
    const gone = answered(await api("DELETE", "/api/me?confirm=erase", { as: user }), 200, erasedAnswer).data;
    expect(gone).toEqual({ id: user.id, erased: true });
    refused(await api("DELETE", "/api/me?confirm=erase", { as: user }), "UNAUTHORIZED");
    expect(await tracesOf(user.id)).toEqual({
      submissions: 1,
      comments: 1,
      votes: 3,
      ...nothing,
    });
    const [profile] = await sql<
      Rec[]
    >`select name, email, auth_user_id from public.profiles where id = ${user.id}`;
    expect(profile).toEqual({ name: null, email: null, auth_user_id: null });
    expect(await sql`select 1 from auth.users where id = ${user.id}`).toHaveLength(0);
    expect(await stored("submissions", submission)).toMatchObject({ vote_count: 1, comment_count: 2 });
    expect((await stored("comments", comment))?.body).toBe("Said by them");
    expect(await countMistakes(ours)).toEqual([]);
  });

  test("is forgotten in the organization that is named alone", async () => {
    const user = await newUser("Una");
    await takePart(ours, user);
    await takePart(theirs, user);
    answered(await api("DELETE", "/api/me?confirm=erase", as(user)), 200, erasedAnswer);
    expect(await tracesOf(user.id)).toMatchObject({ submissions: 1, comments: 1, votes: 3 });
    expect((await api("GET", "/api/me/votes", { as: user })).status).toBe(200);
  });

  test("reads what they answered, and takes the address in it along", async () => {
    const user = await signUp("Answers Once");
    const survey = await newSurvey(admin, ours);
    await respond(survey, user, { 0: 9, 4: "Nothing", 5: "ann@example.org" });
    const path = `/api/admin/people/${user.id}/export`;
    for (const read of [api("GET", "/api/me/export", { as: user }), api("GET", path, as(key))])
      expect(answered(await read, 200, personalDataAnswer).data).toMatchObject({
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
      });
    answered(await api("DELETE", "/api/me?confirm=erase", { as: user }), 200, erasedAnswer);
    const [kept] = await sql<{ answers: { value: unknown }[] }[]>`
      select answers from public.survey_responses where survey_id = ${survey.id}`;
    expect(only(kept).answers.map(({ value }) => value)).toEqual([9, "Nothing"]);
    expect(await sql`select from private.survey_count_mistakes() m where m.id = ${survey.id}`).toHaveLength(
      0,
    );
  });

  test("cannot leave an organization without its last owner", async () => {
    const organization = await newOrganization();
    const owner = await newUser("Olga", { organization, role: "owner" });
    refused(await api("DELETE", "/api/me?confirm=erase", { as: owner }), "CONFLICT");
    expect((await api("GET", "/api/me/votes", { as: owner })).status).toBe(200);
  });
});
