import { beforeEach, describe, expect, it } from "vitest";
import { submissionDetailAnswer } from "../../shared/submissions.ts";
import {
  commentVoteAnswer,
  commentVoteRemovedAnswer,
  myVoteListAnswer,
  voteAnswer,
  voteRemovedAnswer,
  voterListAnswer,
} from "../../shared/votes.ts";
import { sql, stack } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import {
  countMistakes,
  merge,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  only,
  stored,
  type User,
} from "./world.ts";

const organization = await newOrganization();
const author = await newUser("Ada");
const admin = await newUser("Adam", { organization, role: "admin" });
const key = await newKey(organization, ["submissions:write"]);
const moderator = await newKey(organization, ["submissions:moderate"]);

const address = () => `${crypto.randomUUID()}@example.org`;

// A vote on a submission and on a comment follow the same rules.
const kinds = [
  {
    kind: "submission",
    field: "submission_id",
    own: 1,
    cast: voteAnswer,
    removed: voteRemovedAnswer,
    make: () => newSubmission(organization, author),
    row: (id: string) => stored("submissions", id),
    votes: (id: string) => sql<{ user_id: string }[]>`select user_id from public.votes where submission_id = ${id}`,
  },
  {
    kind: "comment",
    field: "comment_id",
    own: 0,
    cast: commentVoteAnswer,
    removed: commentVoteRemovedAnswer,
    make: async () => newComment(await newSubmission(organization, author), author),
    row: (id: string) => stored("comments", id),
    votes: (id: string) =>
      sql<{ user_id: string }[]>`select user_id from public.comment_votes where comment_id = ${id}`,
  },
] as const;

describe.each(kinds)("a vote on a $kind", ({ kind, field, own, cast, removed, make, row, votes }) => {
  let id: string;
  let voter: User;

  beforeEach(async () => {
    id = await make();
    voter = await newUser();
  });

  const vote = (as?: Caller, body?: unknown) => api("POST", `/api/${kind}s/${id}/vote`, { as, body });
  const unvote = (as?: Caller, body?: unknown) => api("DELETE", `/api/${kind}s/${id}/vote`, { as, body });
  const count = async () => (await row(id))?.vote_count;

  it("returns 201 with the count and the time of the vote", async () => {
    const { data } = expectJson(await vote(voter), 201, cast);
    expect(data).toEqual({ [field]: id, user_id: voter.id, vote_count: own + 1, created_at: data.created_at });
    expect(Math.abs(Date.parse(data.created_at) - Date.now())).toBeLessThan(60_000);
    expect(await count()).toBe(own + 1);
  });

  it("repeated returns 200 with the same vote, and changes nothing", async () => {
    const first = expectJson(await vote(voter), 201, cast);
    expect(expectJson(await vote(voter), 200, cast)).toEqual(first);
    expect([await count(), (await votes(id)).length]).toEqual([own + 1, own + 1]);
  });

  it("removed returns the count, and again when repeated", async () => {
    await vote(voter);
    const expected = { data: { [field]: id, user_id: voter.id, vote_count: own } };
    expect(expectJson(await unvote(voter), 200, removed)).toEqual(expected);
    expect(expectJson(await unvote(voter), 200, removed)).toEqual(expected);
    expect([await count(), (await votes(id)).length]).toEqual([own, own]);
  });

  it("can be created again after it was removed", async () => {
    for (const status of [201, 201]) {
      expectJson(await vote(voter), status, cast);
      expectJson(await unvote(voter), 200, removed);
    }
    expectJson(await vote(voter), 201, cast);
    expect(await count()).toBe(own + 1);
  });

  it("of one person does not affect that of another", async () => {
    const other = await newUser();
    await vote(voter);
    expectJson(await vote(other), 201, cast);
    expectJson(await unvote(voter), 200, removed);
    expect([await count(), (await votes(id)).map(({ user_id }) => user_id)]).toEqual([
      own + 1,
      expect.arrayContaining([other.id]),
    ]);
  });

  it("accepts no body, an empty one, and one with fields that have no effect", async () => {
    const other = await newUser();
    expectJson(await vote(voter), 201, cast);
    expectJson(await vote(voter, {}), 200, cast);
    const forged = {
      user_id: other.id,
      author_email: other.email,
      vote_count: 50,
      submission_id: crypto.randomUUID(),
      created_at: "2000-01-01",
    };
    expect(expectJson(await vote(voter, forged), 200, cast).data.user_id).toBe(voter.id);
    expect([await count(), (await votes(id)).some(({ user_id }) => user_id === other.id)]).toEqual([own + 1, false]);
  });

  it("by a key is its own, or that of the author named by e-mail", async () => {
    expect(expectJson(await vote(key), 201, cast).data.user_id).toBe(key.profileId);
    expectJson(await vote(key), 200, cast);
    const author_email = address();
    const named = expectJson(await vote(key, { author_email, author_name: "Grace" }), 201, cast).data;
    expect(named.user_id).not.toBe(key.profileId);
    expect(expectJson(await vote(key, { author_email: author_email.toUpperCase() }), 200, cast).data).toEqual(named);
    expect(await count()).toBe(own + 2);
    expect(expectJson(await unvote(key, { author_email }), 200, removed).data).toMatchObject({
      user_id: named.user_id,
      vote_count: own + 1,
    });
    expect(expectJson(await unvote(key), 200, removed).data).toMatchObject({ user_id: key.profileId, vote_count: own });
  });

  it("by a key for the address of a user who voted is refused, and never removes that of the user", async () => {
    await vote(voter);
    expectError(await vote(key, { author_email: voter.email.toUpperCase() }), "CONFLICT", `${kind}_id`);
    expect(await count()).toBe(own + 1);
    await unvote(key, { author_email: voter.email });
    expect((await votes(id)).some(({ user_id }) => user_id === voter.id)).toBe(true);
    expect(await count()).toBe(own + 1);
  });

  it("of a user whose address has voted by a key is refused", async () => {
    const author_email = voter.email;
    expectJson(await vote(key, { author_email }), 201, cast);
    expectError(await vote(voter), "CONFLICT", `${kind}_id`);
    await unvote(key, { author_email });
    expectJson(await vote(voter), 201, cast);
    expect(await count()).toBe(own + 1);
  });

  it("by a key is removed for the author in the body, through the gateway too", async () => {
    const author_email = address();
    await vote(key, { author_email });
    const answer = await api("DELETE", `/api/${kind}s/${id}/vote`, {
      as: key,
      body: { author_email },
      base: stack.supabase_url,
    });
    expect(expectJson(answer, 200, removed).data.vote_count).toBe(own);
  });

  it("by a key returns the invalid field", async () => {
    expectError(await vote(key, { author_email: "nobody" }), "VALIDATION_ERROR", "author_email");
    expectError(
      await vote(key, { author_email: address(), author_name: "x".repeat(101) }),
      "VALIDATION_ERROR",
      "author_name",
    );
  });

  it("for a deleted target returns 404", async () => {
    await sql`delete from public.${sql(`${kind}s`)} where id = ${id}`;
    expectError(await vote(voter), "NOT_FOUND");
    expectError(await unvote(voter), "NOT_FOUND");
  });

  it("leaves counts exact", async () => {
    await vote(voter);
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("a vote on a submission", () => {
  it("creates a follow, which is kept when the vote is removed", async () => {
    const [id, voter] = [await newSubmission(organization, author), await newUser()];
    const follows = () => sql`select reason from public.follows where submission_id = ${id} and user_id = ${voter.id}`;
    await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    expect(await follows()).toEqual([{ reason: "vote" }]);
    await api("DELETE", `/api/submissions/${id}/vote`, { as: voter });
    expect(await follows()).toEqual([{ reason: "vote" }]);
  });

  it("by a key makes the author of the address follow if they asked for it, also after the vote", async () => {
    const id = await newSubmission(organization, author);
    const person = { author_email: address() };
    const votes = (more = {}) => api("POST", `/api/submissions/${id}/vote`, { as: key, body: { ...person, ...more } });
    const follows = () => sql`select f.reason from public.follows f join public.profiles p on p.id = f.user_id
      where f.submission_id = ${id} and p.email = ${person.author_email}`;
    expectJson(await votes(), 201, voteAnswer);
    expectJson(await votes({ follow: false }), 200, voteAnswer);
    expect(await follows()).toEqual([]);
    expectJson(await votes({ follow: true }), 200, voteAnswer);
    expect(await follows()).toEqual([{ reason: "vote" }]);
    expectError(await votes({ follow: "yes" }), "VALIDATION_ERROR", "follow");
  });

  it("can be removed by the author too", async () => {
    const id = await newSubmission(organization, author);
    const { data } = expectJson(
      await api("DELETE", `/api/submissions/${id}/vote`, { as: author }),
      200,
      voteRemovedAnswer,
    );
    expect(data.vote_count).toBe(0);
    const shown = await getJson(`/api/submissions/${id}`, submissionDetailAnswer, { as: author });
    expect(shown.data).toMatchObject({ vote_count: 0, user_vote: null, is_following: true });
  });

  it("that was merged returns the id of the target and changes nothing", async () => {
    const [source, target] = [await newSubmission(organization, author), await newSubmission(organization, author)];
    await merge(source, target);
    const voter = await newUser();
    expect(
      expectError(await api("POST", `/api/submissions/${source}/vote`, { as: voter }), "SUBMISSION_MERGED")
        .merged_into_id,
    ).toBe(target);
    expect(await stored("submissions", source)).toMatchObject({ vote_count: 0 });
  });

  it("publishes a count without the voter's name", async () => {
    const [id, voter] = [await newSubmission(organization, author), await newUser()];
    await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    await api("DELETE", `/api/submissions/${id}/vote`, { as: voter });
    const events = await sql`select type, data from private.outbox where subject_id = ${id} order by xid, id`;
    expect(events.slice(1)).toEqual([
      { type: "submission.vote_added", data: { submission_id: id, vote_count: 2 } },
      { type: "submission.vote_removed", data: { submission_id: id, vote_count: 1 } },
    ]);
  });
});

describe("the caller's votes", () => {
  const own = async (as: Caller, query = "") => await getJson(`/api/me/votes${query}`, myVoteListAnswer, { as });

  it("are listed newest first, with title, status and count", async () => {
    const voter = await newUser();
    expect(await own(voter)).toEqual({ data: [], meta: { total: 0 } });
    const ids = [];
    for (const title of ["The first one", "The second one", "The third one"])
      ids.push(await newSubmission(organization, author, { title }));
    for (const id of ids) await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    const { data, meta } = await own(voter);
    expect(data.map(({ submission_id }) => submission_id)).toEqual(ids.toReversed());
    expect(data[0]).toEqual({
      submission_id: ids[2],
      title: "The third one",
      status: "open",
      vote_count: 2,
      voted_at: expect.any(String),
    });
    expect(meta).toEqual({ total: 3 });
    const second = await own(voter, "?limit=1&page=2");
    expect([second.data.map(({ title }) => title), second.meta.total]).toEqual([["The second one"], 3]);
  });

  it("contain the author's own vote, and no removed vote", async () => {
    const voter = await newUser();
    const id = await newSubmission(organization, voter);
    expect((await own(voter)).data.map(({ submission_id }) => submission_id)).toEqual([id]);
    await api("DELETE", `/api/submissions/${id}/vote`, { as: voter });
    expect((await own(voter)).meta.total).toBe(0);
  });
});

describe("the voters of a submission", () => {
  const voters = (id: string, as?: Caller) => api("GET", `/api/submissions/${id}/voters`, { as });

  it("are returned to admins with name, e-mail and time", async () => {
    const id = await newSubmission(organization, author);
    const voter = await newUser("Vera Voter");
    await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    for (const as of [admin, moderator]) {
      const { data, meta } = expectJson(await voters(id, as), 200, voterListAnswer);
      expect(data).toEqual([
        { user_id: voter.id, name: "Vera Voter", email: voter.email, voted_at: expect.any(String) },
        { user_id: author.id, name: "Ada", email: author.email, voted_at: expect.any(String) },
      ]);
      expect(meta).toEqual({ total: 2 });
    }
  });

  it("without a name are Anonymous, and a key has no address", async () => {
    const id = await newSubmission(organization, { id: key.profileId });
    const nameless = await newUser();
    await sql`update public.profiles set name = null where id = ${nameless.id}`;
    await api("POST", `/api/submissions/${id}/vote`, { as: nameless });
    const { data } = expectJson(await voters(id, admin), 200, voterListAnswer);
    expect(data.map(({ name, email }) => [name, email])).toEqual([
      ["Anonymous", nameless.email],
      ["Organization of a test", null],
    ]);
  });

  it("are in no public response", async () => {
    const id = await newSubmission(organization, author);
    const voter = await newUser("Vera Voter");
    await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    const shown = await api("GET", `/api/submissions/${id}?expand=author,category,tags,comments`, {
      as: await newUser(),
    });
    const list = await api("GET", "/api/submissions?limit=100", { on: organization });
    const notifications = await api("GET", "/api/me/notifications", { as: author });
    for (const { text } of [shown, list, notifications]) {
      expect(text).not.toContain(only(voter).id);
      expect(text).not.toContain("Vera Voter");
    }
    expect(notifications.text).toContain(id);
  });
});
