import { beforeEach, describe, expect, it } from "vitest";
import { commentVoteAnswer, commentVoteRemovedAnswer, voteAnswer, voteRemovedAnswer } from "../../shared/votes.ts";
import { sql, stack } from "../stack.ts";
import { api, type Caller, expectError, expectJson } from "./client.ts";
import {
  countMistakes,
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
const key = await newKey(organization, ["submissions:write"]);

const address = () => `${crypto.randomUUID()}@example.org`;

// A vote on a submission and on a comment follow the same rules.
const kinds = [
  {
    kind: "submission",
    own: 1,
    cast: voteAnswer,
    removed: voteRemovedAnswer,
    make: () => newSubmission(organization, author),
    row: (id: string) => stored("submissions", id),
    votes: (id: string) => sql<{ user_id: string }[]>`select user_id from public.votes where submission_id = ${id}`,
  },
  {
    kind: "comment",
    own: 0,
    cast: commentVoteAnswer,
    removed: commentVoteRemovedAnswer,
    make: async () => newComment(await newSubmission(organization, author), author),
    row: (id: string) => stored("comments", id),
    votes: (id: string) =>
      sql<{ user_id: string }[]>`select user_id from public.comment_votes where comment_id = ${id}`,
  },
] as const;

describe.each(kinds)("a vote on a $kind", ({ kind, own, cast, removed, make, row, votes }) => {
  let id: string;
  let voter: User;

  beforeEach(async () => {
    id = await make();
    voter = await newUser();
  });

  const vote = (as?: Caller, body?: unknown) => api("POST", `/api/${kind}s/${id}/vote`, { as, body });
  const unvote = (as?: Caller, body?: unknown) => api("DELETE", `/api/${kind}s/${id}/vote`, { as, body });
  const count = async () => (await row(id))?.vote_count;

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

  it("leaves counts exact", async () => {
    await vote(voter);
    expect(await countMistakes(organization)).toEqual([]);
  });
});

describe("a vote on a submission", () => {
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

describe("the voters of a submission", () => {
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
