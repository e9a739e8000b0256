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
    expect(await countMistakes(organization)).toEqual([]);
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
});

describe("a vote on a submission", () => {
  it.each([
    ["vote", "vote", {}],
    ["comment", "comments", { body: "By mail" }],
  ])(
    "or a comment by a key makes the author of the address follow if they asked for it: %s",
    async (reason, path, body) => {
      const id = await newSubmission(organization, author);
      const author_email = address();
      const post = async (more = {}) =>
        (await api("POST", `/api/submissions/${id}/${path}`, { as: key, body: { ...body, author_email, ...more } }))
          .status;
      const follows = () => sql`select f.reason from public.follows f join public.profiles p on p.id = f.user_id
      where f.submission_id = ${id} and p.email = ${author_email}`;
      for (const more of [{}, { follow: false }]) expect(await post(more)).toBeLessThan(300);
      expect(await follows()).toEqual([]);
      expect(await post({ follow: true })).toBeLessThan(300);
      expect(await follows()).toEqual([{ reason }]);
    },
  );
});
