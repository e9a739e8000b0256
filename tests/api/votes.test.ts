import { beforeAll, beforeEach, describe, expect, it } from "vitest";
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
import { answered, api, type Caller, refused } from "./client.ts";
import {
  countMistakes,
  type Key,
  merge,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  stored,
  type User,
  unknownKey,
} from "./world.ts";

let organization: Organization;
let author: User;
let admin: User;
let member: User;
let key: Key;
let reader: Key;
let moderator: Key;

beforeAll(async () => {
  organization = await newOrganization();
  author = await newUser("Ada");
  admin = await newUser("Adam", { organization, role: "admin" });
  member = await newUser("Mia", { organization, role: "member" });
  key = await newKey(organization, ["submissions:write"]);
  reader = await newKey(organization, ["submissions:read"]);
  moderator = await newKey(organization, ["submissions:moderate"]);
});

const address = () => `${crypto.randomUUID()}@example.org`;

// A vote on a submission and on a comment answer to the same rules.
const kinds = [
  {
    kind: "submission",
    field: "submission_id",
    own: 1,
    cast: voteAnswer,
    removed: voteRemovedAnswer,
    make: () => newSubmission(organization, author),
    row: (id: string) => stored("submissions", id),
    votes: (id: string) =>
      sql<{ user_id: string }[]>`select user_id from public.votes where submission_id = ${id}`,
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

  it("answers 201 with the count, and the time it was given", async () => {
    const { data } = answered(await vote(voter), 201, cast);
    expect(data).toEqual({
      [field]: id,
      user_id: voter.id,
      vote_count: own + 1,
      created_at: data.created_at,
    });
    expect(Math.abs(Date.parse(data.created_at) - Date.now())).toBeLessThan(60_000);
    expect(await count()).toBe(own + 1);
  });

  it("given again answers 200 with the same vote, and changes nothing", async () => {
    const first = answered(await vote(voter), 201, cast);
    expect(answered(await vote(voter), 200, cast)).toEqual(first);
    expect([await count(), (await votes(id)).length]).toEqual([own + 1, own + 1]);
  });

  it("taken back answers with the count, again and again", async () => {
    await vote(voter);
    const expected = { data: { [field]: id, user_id: voter.id, vote_count: own } };
    expect(answered(await unvote(voter), 200, removed)).toEqual(expected);
    expect(answered(await unvote(voter), 200, removed)).toEqual(expected);
    expect([await count(), (await votes(id)).length]).toEqual([own, own]);
  });

  it("can be given again after it was taken back", async () => {
    for (const status of [201, 201]) {
      answered(await vote(voter), status, cast);
      answered(await unvote(voter), 200, removed);
    }
    answered(await vote(voter), 201, cast);
    expect(await count()).toBe(own + 1);
  });

  it("of one person leaves that of another alone", async () => {
    const other = await newUser();
    await vote(voter);
    answered(await vote(other), 201, cast);
    answered(await unvote(voter), 200, removed);
    expect([await count(), (await votes(id)).map(({ user_id }) => user_id)]).toEqual([
      own + 1,
      expect.arrayContaining([other.id]),
    ]);
  });

  it("takes no body, an empty one, and one whose fields cannot take effect", async () => {
    const other = await newUser();
    answered(await vote(voter), 201, cast);
    answered(await vote(voter, {}), 200, cast);
    const forged = {
      user_id: other.id,
      author_email: other.email,
      vote_count: 50,
      submission_id: crypto.randomUUID(),
      created_at: "2000-01-01",
    };
    expect(answered(await vote(voter, forged), 200, cast).data.user_id).toBe(voter.id);
    expect([await count(), (await votes(id)).some(({ user_id }) => user_id === other.id)]).toEqual([
      own + 1,
      false,
    ]);
  });

  it("is for those who signed in", async () => {
    for (const answer of [
      await vote(),
      await unvote(),
      await vote(await unknownKey()),
      await unvote({ token: "e30.e30.e30" }),
    ]) {
      refused(answer, "UNAUTHORIZED");
    }
    expect(await count()).toBe(own);
  });

  it("of a key needs submissions:write", async () => {
    for (const as of [reader, moderator]) {
      refused(await vote(as), "FORBIDDEN");
      refused(await unvote(as), "FORBIDDEN");
      refused(await vote(as, { author_email: address() }), "FORBIDDEN");
      refused(await unvote(as, { author_email: address() }), "FORBIDDEN");
    }
    expect(await count()).toBe(own);
  });

  it("of a key is its own, or that of whom it names by e-mail", async () => {
    expect(answered(await vote(key), 201, cast).data.user_id).toBe(key.profileId);
    answered(await vote(key), 200, cast);
    const author_email = address();
    const named = answered(await vote(key, { author_email, author_name: "Grace" }), 201, cast).data;
    expect(named.user_id).not.toBe(key.profileId);
    expect(answered(await vote(key, { author_email: author_email.toUpperCase() }), 200, cast).data).toEqual(
      named,
    );
    expect(await count()).toBe(own + 2);
    expect(answered(await unvote(key, { author_email }), 200, removed).data).toMatchObject({
      user_id: named.user_id,
      vote_count: own + 1,
    });
    expect(answered(await unvote(key), 200, removed).data).toMatchObject({
      user_id: key.profileId,
      vote_count: own,
    });
  });

  it("of a key never counts as that of a user with the address", async () => {
    await vote(voter);
    expect(answered(await vote(key, { author_email: voter.email }), 201, cast).data.user_id).not.toBe(
      voter.id,
    );
    await unvote(key, { author_email: voter.email });
    expect((await votes(id)).some(({ user_id }) => user_id === voter.id)).toBe(true);
  });

  it("of a key is taken back for whom the body names, by the gateway too", async () => {
    const author_email = address();
    await vote(key, { author_email });
    const answer = await api("DELETE", `/api/${kind}s/${id}/vote`, {
      as: key,
      body: { author_email },
      base: stack.supabase_url,
    });
    expect(answered(answer, 200, removed).data.vote_count).toBe(own);
  });

  it("of a key names the field that is wrong", async () => {
    refused(await vote(key, { author_email: "nobody" }), "VALIDATION_ERROR", "author_email");
    refused(
      await vote(key, { author_email: address(), author_name: "x".repeat(101) }),
      "VALIDATION_ERROR",
      "author_name",
    );
  });

  it.each(["00000000-0000-4000-8000-000000000000", "nonsense"])("for %s is 404", async (missing) => {
    for (const as of [voter, key]) {
      refused(await api("POST", `/api/${kind}s/${missing}/vote`, { as }), "NOT_FOUND");
      refused(await api("DELETE", `/api/${kind}s/${missing}/vote`, { as }), "NOT_FOUND");
    }
  });

  it("for what was deleted is 404", async () => {
    await sql`delete from public.${sql(`${kind}s`)} where id = ${id}`;
    refused(await vote(voter), "NOT_FOUND");
    refused(await unvote(voter), "NOT_FOUND");
  });

  it("leaves counts exact", async () => {
    await vote(voter);
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("a vote on a submission", () => {
  it("creates a follow, which stays when the vote is taken back", async () => {
    const [id, voter] = [await newSubmission(organization, author), await newUser()];
    const follows = () =>
      sql`select reason from public.follows where submission_id = ${id} and user_id = ${voter.id}`;
    await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    expect(await follows()).toEqual([{ reason: "vote" }]);
    await api("DELETE", `/api/submissions/${id}/vote`, { as: voter });
    expect(await follows()).toEqual([{ reason: "vote" }]);
  });

  it("can be taken back by the author too", async () => {
    const id = await newSubmission(organization, author);
    const { data } = answered(
      await api("DELETE", `/api/submissions/${id}/vote`, { as: author }),
      200,
      voteRemovedAnswer,
    );
    expect(data.vote_count).toBe(0);
    const shown = answered(
      await api("GET", `/api/submissions/${id}`, { as: author }),
      200,
      submissionDetailAnswer,
    );
    expect(shown.data).toMatchObject({ vote_count: 0, user_vote: null, is_following: true });
  });

  it("that was merged names the target and changes nothing", async () => {
    const [source, target] = [
      await newSubmission(organization, author),
      await newSubmission(organization, author),
    ];
    await merge(source, target);
    const voter = await newUser();
    expect(
      refused(await api("POST", `/api/submissions/${source}/vote`, { as: voter }), "SUBMISSION_MERGED")
        .merged_into_id,
    ).toBe(target);
    expect(await stored("submissions", source)).toMatchObject({ vote_count: 0 });
  });

  it("announces a count and names no voter", async () => {
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
  const mine = async (as: Caller, query = "") =>
    answered(await api("GET", `/api/me/votes${query}`, { as }), 200, myVoteListAnswer);

  it("are listed newest first, with title, status and count", async () => {
    const voter = await newUser();
    expect(await mine(voter)).toEqual({ data: [], meta: { total: 0 } });
    const ids = [];
    for (const title of ["The first one", "The second one", "The third one"])
      ids.push(await newSubmission(organization, author, { title }));
    for (const id of ids) await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    const { data, meta } = await mine(voter);
    expect(data.map(({ submission_id }) => submission_id)).toEqual(ids.toReversed());
    expect(data[0]).toEqual({
      submission_id: ids[2],
      title: "The third one",
      status: "open",
      vote_count: 2,
      voted_at: expect.any(String),
    });
    expect(meta).toEqual({ total: 3 });
    const second = await mine(voter, "?limit=1&page=2");
    expect([second.data.map(({ title }) => title), second.meta.total]).toEqual([["The second one"], 3]);
  });

  it("hold the author's own, and not what was taken back", async () => {
    const voter = await newUser();
    const id = await newSubmission(organization, voter);
    expect((await mine(voter)).data.map(({ submission_id }) => submission_id)).toEqual([id]);
    await api("DELETE", `/api/submissions/${id}/vote`, { as: voter });
    expect((await mine(voter)).meta.total).toBe(0);
  });

  it("are for people who signed in", async () => {
    refused(await api("GET", "/api/me/votes"), "UNAUTHORIZED");
    refused(await api("GET", "/api/me/votes", { as: key }), "FORBIDDEN");
  });
});

describe("the voters of a submission", () => {
  const voters = (id: string, as?: Caller) => api("GET", `/api/submissions/${id}/voters`, { as });

  it("are shown to admins with name, e-mail and time", async () => {
    const id = await newSubmission(organization, author);
    const voter = await newUser("Vera Voter");
    await api("POST", `/api/submissions/${id}/vote`, { as: voter });
    for (const as of [admin, moderator]) {
      const { data, meta } = answered(await voters(id, as), 200, voterListAnswer);
      expect(data).toEqual([
        { user_id: voter.id, name: "Vera Voter", email: voter.email, voted_at: expect.any(String) },
        { user_id: author.id, name: "Ada", email: author.email, voted_at: expect.any(String) },
      ]);
      expect(meta).toEqual({ total: 2 });
    }
  });

  it.each([
    ["nobody", (): undefined => undefined, "UNAUTHORIZED"],
    ["the author", () => author, "FORBIDDEN"],
    ["a member", () => member, "FORBIDDEN"],
    ["a key with submissions:read", () => reader, "FORBIDDEN"],
    ["a key with submissions:write", () => key, "FORBIDDEN"],
  ] as const)("are not for %s", async (_, as, code) => {
    const answer = await voters(await newSubmission(organization, author), as());
    refused(answer, code);
    expect(answer.text).not.toContain(author.email);
  });

  it("are not for the admins of another organization", async () => {
    const id = await newSubmission(organization, author);
    const elsewhere = await newOrganization();
    refused(await voters(id, await newUser("Eve", { organization: elsewhere, role: "owner" })), "FORBIDDEN");
    refused(await voters(id, await newKey(elsewhere, ["submissions:moderate"])), "NOT_FOUND");
  });

  it("of nothing are 404", async () => {
    for (const id of ["00000000-0000-4000-8000-000000000000", "nonsense"])
      refused(await voters(id, admin), "NOT_FOUND");
  });

  it("without a name are Anonymous, and a key has no address", async () => {
    const id = await newSubmission(organization, { id: key.profileId });
    const nameless = await newUser();
    await sql`update public.profiles set name = null where id = ${nameless.id}`;
    await api("POST", `/api/submissions/${id}/vote`, { as: nameless });
    const { data } = answered(await voters(id, admin), 200, voterListAnswer);
    expect(data.map(({ name, email }) => [name, email])).toEqual([
      ["Anonymous", nameless.email],
      ["Key of a test", null],
    ]);
  });

  it("are named by no public answer", async () => {
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
