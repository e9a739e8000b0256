import { beforeAll, describe, expect, test } from "vitest";
import { merge, newComment, newOrganization, newSubmission, newUser, only, type User } from "../api/world.ts";
import { sql } from "../stack.ts";
import { rest } from "./rest.ts";

// What a client of the data API says locks what is its own and nothing of others, whatever its filters match.

let submission: string;
let comment: string;
let vote: string;
let author: User;
let stranger: User;
beforeAll(async () => {
  const organization = await newOrganization();
  [author, stranger] = [await newUser("Ann Author"), await newUser("Sam Stranger")];
  submission = await newSubmission(organization, author);
  comment = await newComment(submission, author);
  const [made] = await sql<{ id: string }[]>`select id from public.votes where submission_id = ${submission}`;
  vote = only(made).id;
  await sql`insert into public.comment_votes (comment_id, user_id) values (${comment}, ${author.id})`;
});

/** While somebody holds the submission and its comment, as a merge or a vote does. */
async function whileHeld<Result>(deed: () => Promise<Result>): Promise<Result> {
  return sql.begin(async (holder) => {
    await holder`select from public.submissions where id = ${submission} for no key update`;
    await holder`select from public.comments where id = ${comment} for no key update`;
    return deed();
  }) as Promise<Result>;
}

const ofOthers: [string, string, object?][] = [
  ["votes", "submission_id=eq.SUBMISSION"],
  ["votes", "submission_id=eq.SUBMISSION&id=eq.VOTE"],
  ["votes", "created_at=gt.2000-01-01"],
  ["follows", "submission_id=eq.SUBMISSION"],
  ["comments", "submission_id=eq.SUBMISSION"],
  ["comments", "id=eq.COMMENT"],
  ["comments", "body=like.*"],
  ["comments", "id=eq.COMMENT", { body: "Not theirs" }],
  ["comments", "body=like.*", { body: "Not theirs" }],
  ["comment_votes", "comment_id=eq.COMMENT"],
  ["comment_votes", "created_at=gt.2000-01-01"],
];

describe("waits for no lock", () => {
  test.each(ofOthers)("of others' %s where %s", async (table, filter, body) => {
    const query = filter.replace("SUBMISSION", submission).replace("COMMENT", comment).replace("VOTE", vote);
    const answer = await whileHeld(() =>
      rest(`${table}?select=submission_id&${query}`, {
        token: stranger.token,
        method: body ? "PATCH" : "DELETE",
        ...(body && { body }),
        headers: { Prefer: "return=representation" },
      }),
    );
    expect([answer.status, answer.text]).toEqual([200, "[]"]);
  });

  test("who follows, and who stops: a client that does so with all of a board blocks nobody", async () => {
    const [made, gone] = await whileHeld(async () => [
      await rest("follows", { token: stranger.token, body: { submission_id: submission } }),
      await rest(`follows?submission_id=eq.${submission}`, { token: stranger.token, method: "DELETE" }),
    ]);
    expect([made?.status, gone?.status]).toEqual([201, 204]);
  });
});

test("what was merged is not followed, by the data API neither", async () => {
  const organization = await newOrganization();
  const [source, target] = [
    await newSubmission(organization, author),
    await newSubmission(organization, author),
  ];
  await merge(source, target);
  const answer = await rest("follows", { token: stranger.token, body: { submission_id: source } });
  expect(answer.code).toBe("FBM09");
  expect(await sql`select from public.follows where user_id = ${stranger.id}`).toHaveLength(0);
});
