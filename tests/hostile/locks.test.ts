import { beforeAll, describe, expect, test } from "vitest";
import {
  countMistakes,
  merge,
  newComment,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  only,
  type User,
} from "../api/world.ts";
import { sql } from "../stack.ts";
import { rest, rpc } from "./rest.ts";

// A statement of a data API client locks only its own rows, whatever its filters match.

const organization = await newOrganization();
const [author, stranger] = [await newUser("Ann Author"), await newUser("Sam Stranger")];
const submission = await newSubmission(organization, author);
const comment = await newComment(submission, author);
const [created] = await sql<
  { id: string }[]
>`select id from public.votes where submission_id = ${submission}`;
const vote: string = only(created).id;
await sql`insert into public.comment_votes (comment_id, user_id) values (${comment}, ${author.id})`;

/** While another session holds the submission and its comment, as a merge or a vote does. */
async function whileLocked<Result>(action: () => Promise<Result>): Promise<Result> {
  return sql.begin(async (transaction) => {
    await transaction`select from public.submissions where id = ${submission} for no key update`;
    await transaction`select from public.comments where id = ${comment} for no key update`;
    return action();
  }) as Promise<Result>;
}

const tablesOfOthers: [string, string, object?][] = [
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
const callsOnOthers: [string, () => object][] = [
  ["unvote", () => ({ submission_id: submission })],
  ["unfollow", () => ({ submission_id: submission })],
  ["delete_comment", () => ({ id: comment })],
  ["update_comment", () => ({ id: comment, body: "Not theirs" })],
  ["unvote_comment", () => ({ comment_id: comment })],
  ["update_submission", () => ({ id: submission, changes: { title: "Not theirs at all" } })],
  ["delete_submission", () => ({ id: submission })],
];

describe("does not wait for locks", () => {
  test.each(tablesOfOthers)("on %s of others where %s", async (table, filter, body) => {
    const query = filter.replace("SUBMISSION", submission).replace("COMMENT", comment).replace("VOTE", vote);
    const answer = await whileLocked(() =>
      rest(`${table}?select=submission_id&${query}`, {
        token: stranger.token,
        method: body ? "PATCH" : "DELETE",
        ...(body && { body }),
        headers: { Prefer: "return=representation" },
      }),
    );
    expect([answer.code, answer.rows]).toEqual(["FB403", []]);
  });

  test.each(callsOnOthers)("in %s on content of others", async (name, args) => {
    const answer = await whileLocked(() => rpc(name, args(), { token: stranger.token }));
    expect([answer.status, answer.text]).toEqual([200, "false"]);
  });

  test("following and unfollowing all submissions of a board blocks no one", async () => {
    const { token } = stranger;
    const [created, gone] = await whileLocked(async () => [
      await rpc("follow", { submission_id: submission }, { token }),
      await rpc("unfollow", { submission_id: submission }, { token }),
    ]);
    expect([created?.text, gone?.text]).toEqual(["true", "true"]);
  });
});

test("merged submissions cannot be followed through the data API either", async () => {
  const organization = await newOrganization();
  const [source, target] = [
    await newSubmission(organization, author),
    await newSubmission(organization, author),
  ];
  await merge(source, target);
  const answer = await rpc("follow", { submission_id: source }, { token: stranger.token });
  expect(answer.code).toBe("FBM09");
  expect(await sql`select from public.follows where user_id = ${stranger.id}`).toHaveLength(0);
});

describe("a write with a slow query in its parameters", () => {
  const slow = `match.${encodeURIComponent("^(a+)(a+)(a+)\\1\\2\\3!$")}`;
  const slowText = `${"a".repeat(1998)}!`;
  let organization: string;
  let attacker: User;
  let others: User[];
  let board: string[];
  let own: { submission: string; comment: string };
  let survey: { id: string; question: string };

  beforeAll(async () => {
    const created = await newOrganization();
    organization = created.id;
    await sql`update public.organizations set max_submissions = 1000, max_surveys = 10 where id = ${organization}`;
    attacker = await newUser("Mallory");
    others = await newUsers(3);
    board = await Promise.all(Array.from({ length: 29 }, () => newSubmission(created, author)));
    for (const id of board) {
      await newComment(id, author, { body: slowText });
    }
    const mine = await newSubmission(created, attacker, { description: slowText });
    own = { submission: mine, comment: await newComment(mine, attacker, { body: slowText }) };
    await newComment(mine, attacker, { body: slowText });
    const [survey_id] = await sql<{ id: string }[]>`
      insert into public.surveys (organization_id, title) values (${organization}, 'Asked') returning id`;
    const [question] = await sql<{ id: string }[]>`
      insert into public.survey_questions (survey_id, organization_id, type, text, position)
      values (${only(survey_id).id}, ${organization}, 'nps', 'Would you?', 1) returning id`;
    await sql`update public.surveys set status = 'published' where id = ${only(survey_id).id}`;
    survey = { id: only(survey_id).id, question: only(question).id };
  });

  const rows = () => board.map((submission_id) => ({ submission_id }));
  const answers = () => [{ question_id: survey.question, value: 9 }];
  const idea = () => ({
    organization_id: organization,
    title: "One of many",
    description: "A description that is long enough.",
    type: "idea",
  });
  const throughSubmission = `select=id,submissions(id,comments(id))&submissions.comments.body=${slow}`;
  const slowTables = `select=submissions(comments(body))&submissions.comments.body=${slow}`;
  const throughOrganization = `organizations(id,submissions(id,comments(id)))&organizations.submissions.comments.body=${slow}`;
  const attacks: [string, string, () => string, () => object | undefined][] = [
    ["29 votes", "POST", () => `votes?${throughSubmission}`, rows],
    ["a vote by its function", "POST", () => `rpc/vote?${throughSubmission}`, () => rows()[0]],
    ["a vote that embeds other tables", "POST", () => `rpc/vote?${slowTables}`, () => rows()[2]],
    [
      "a comment that embeds other tables",
      "POST",
      () => `rpc/create_comment?${slowTables}`,
      () => ({ ...rows()[3], body: "Said." }),
    ],
    [
      "votes looked up that embed other tables",
      "POST",
      () => `rpc/my_votes?${slowTables}`,
      () => ({ submission_ids: board }),
    ],
    ["a vote whose answer is a pattern", "POST", () => `rpc/vote?vote=${slow}`, () => rows()[1]],
    [
      "deleted votes",
      "DELETE",
      () => `votes?submission_id=not.is.null&${throughSubmission}`,
      () => undefined,
    ],
    [
      "29 comments",
      "POST",
      () => `comments?${throughSubmission}`,
      () => rows().map((row) => ({ ...row, body: "Said." })),
    ],
    [
      "an edit of own comments",
      "PATCH",
      () => `comments?author_id=eq.${attacker.id}&body=${slow}`,
      () => ({ body: "Edited." }),
    ],
    [
      "a removal of own comments",
      "DELETE",
      () => `comments?author_id=eq.${attacker.id}&body=${slow}`,
      () => undefined,
    ],
    [
      "an edit of an own submission",
      "PATCH",
      () => `submissions?author_id=eq.${attacker.id}&description=${slow}`,
      () => ({ title: "Edited title" }),
    ],
    ["a new submission", "POST", () => `submissions?select=id,${throughOrganization}`, idea],
    ["29 follows", "POST", () => `follows?${throughSubmission.replace("id,", "submission_id,")}`, rows],
    [
      "an answer to a survey",
      "POST",
      () =>
        `survey_responses?select=id,surveys(id,${throughOrganization.replace(")))&organizations", "))))&surveys.organizations")}`,
      () => ({ survey_id: survey.id, answers: answers() }),
    ],
    [
      "a vote for an own comment",
      "POST",
      () => `comment_votes?select=id,comments(id)&comments.body=${slow}`,
      () => ({ comment_id: own.comment }),
    ],
    [
      "notifications read",
      "PATCH",
      () => `notifications?user_id=eq.${attacker.id}&${throughSubmission}`,
      () => ({ read_at: "2026-01-01T00:00:00Z" }),
    ],
    [
      "a change of profile",
      "PATCH",
      () => `profiles?id=eq.${attacker.id}&select=id,comments(id)&comments.body=${slow}`,
      () => ({ name: "Mallory" }),
    ],
  ];

  /**
   * Usual requests on a board, none of which may wait; reverted, so that each attack meets the same state.
   */
  async function live(): Promise<void> {
    const [one, two, three] = others.map(({ id }) => id) as [string, string, string];
    const undo = new Error("undo");
    await sql
      .begin(async (everybody) => {
        await everybody`set local lock_timeout = '200ms'`;
        await everybody`insert into public.votes (submission_id, user_id) select unnest(${[...board, own.submission]}::uuid[]), ${one}`;
        await everybody`insert into public.comments (submission_id, author_id, body, parent_id) values (${own.submission}, ${two}, 'A reply', ${own.comment})`;
        await everybody`insert into public.comment_votes (comment_id, user_id) values (${own.comment}, ${three})`;
        await everybody`insert into public.survey_responses (survey_id, user_id, answers) values (${survey.id}, ${one}, ${everybody.json(answers())})`;
        await everybody`insert into public.submissions ${everybody({ ...idea(), author_id: two })}`;
        await everybody`update public.surveys set status = 'paused' where id = ${survey.id}`;
        await everybody`update public.organizations set visibility = 'private' where id = ${organization}`;
        await everybody`update public.comments set moderation_state = 'rejected' where id = ${own.comment}`;
        await everybody`update public.profiles set name = null where id = ${attacker.id}`;
        await everybody`delete from public.submissions where id in ${everybody([own.submission, ...board])}`;
        throw undo;
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error;
      });
  }

  test.each(attacks)("%s: other requests do not wait for it", async (_what, method, path, body) => {
    let answered = false;
    const attack = rest(path(), {
      method: method as "POST",
      token: attacker.token,
      body: body(),
      headers: { prefer: "return=representation" },
    }).finally(() => {
      answered = true;
    });
    // Completed, or busy with the slow part.
    await expect
      .poll(
        async () =>
          answered ||
          (
            await sql`select from pg_stat_activity where application_name = 'rest' and state = 'active' and query like '% ~ %'`
          ).length > 0,
        { interval: 5, timeout: 10_000 },
      )
      .toBe(true);
    await live();
    const { code } = await attack;
    // If it reads before it writes, it is canceled.
    if (!path().startsWith("rpc/")) expect(code).toMatch(/^(FB403|57014)$/);
  });

  test("its changes are exact", async () => {
    expect(await countMistakes({ id: organization })).toEqual([]);
  });
});

test.each([["count=planned"], ["count=estimated"], ["return=minimal, COUNT = Planned"]])(
  "Prefer: %s is rejected, because it would reveal rows that the caller cannot see",
  async (prefer) => {
    const answer = await rest("submissions?select=id&limit=1", { headers: { prefer } });
    expect(answer.status).toBe(400);
  },
);
