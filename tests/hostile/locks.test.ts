import { describe, expect, test } from "vitest";
import { countMistakes, newComment, newSubmission, newUser, newUsers } from "../api/world.ts";
import { sql } from "../stack.ts";
import { rest, rpc } from "./rest.ts";
import { makeWorld } from "./world.ts";

// A statement of a data API client locks only its own rows, whatever its filters match.

const world = await makeWorld();
const { home, people } = world;
const { submission, comment, answered, answers } = await world.scene("open");

describe("does not wait for locks", () => {
  const { token } = people.stranger;

  /** While another session holds the rows, as a merge, a vote or an edit does. */
  const whileLocked = <Result>(action: () => Promise<Result>): Promise<Result> =>
    sql.begin(async (transaction) => {
      await transaction`select from public.submissions where id = ${submission} for no key update`;
      await transaction`select from public.comments where id = ${comment} for no key update`;
      await transaction`select from public.surveys where id = ${answered} for no key update`;
      return action();
    }) as Promise<Result>;

  test.each([
    ["DELETE", "votes", "FB403"],
    ["DELETE", "follows", "FB403"],
    ["DELETE", "comment_votes", "FB403"],
    ["DELETE", "comments", "FB403"],
    ["PATCH", "comments", "FB403", { body: "Not theirs" }],
    ["PATCH", "surveys", null, { title: "Not theirs" }],
    ["DELETE", "surveys", null],
    ["DELETE", "survey_questions", null],
    ["DELETE", "submission_tags", null],
  ] as const)("%s %s of others", async (method, table, code, body = undefined) => {
    const path = `${table}?select=organization_id&organization_id=eq.${home.id}`;
    const headers = { prefer: "return=representation" };
    const answer = await whileLocked(() => rest(path, { method, token, body, headers }));
    expect([answer.code, answer.rows]).toEqual([code, []]);
  });

  test.each([
    ["unvote", { submission_id: submission }],
    ["delete_comment", { id: comment }],
    ["update_comment", { id: comment, body: "Not theirs" }],
    ["unvote_comment", { comment_id: comment }],
    ["update_submission", { id: submission, changes: { title: "Not theirs at all" } }],
    ["delete_submission", { id: submission }],
    ["unfollow", { submission_id: submission }],
    ["follow", { submission_id: submission }, "true"],
    ["unfollow", { submission_id: submission }, "true"],
  ])("in %s on content of others", async (name, args, text = "false") => {
    const answer = await whileLocked(() => rpc(name, args, { token }));
    expect([answer.status, answer.text]).toEqual([200, text]);
  });
});

describe("a write with a slow query in its parameters", async () => {
  const slow = `match.${encodeURIComponent("^(a+)(a+)(a+)\\1\\2\\3!$")}`;
  const slowText = `${"a".repeat(1998)}!`;
  await sql`update public.organizations set max_submissions = 1000 where id = ${home.id}`;
  const attacker = await newUser("Mallory");
  const [one, two, three] = (await newUsers(3)).map(({ id }) => id) as [string, string, string];
  const board = await Promise.all(Array.from({ length: 29 }, () => newSubmission(home, people.author)));
  for (const id of board) await newComment(id, people.author, { body: slowText });
  const own = await newSubmission(home, attacker, { description: slowText });
  const said = await newComment(own, attacker, { body: slowText });
  await newComment(own, attacker, { body: slowText });

  const rows = board.map((submission_id) => ({ submission_id }));
  const idea = {
    organization_id: home.id,
    title: "One of many",
    description: "A description that is long enough.",
    type: "idea",
  };
  const embed = `submissions(id,comments(id))&submissions.comments.body=${slow}`;
  const inOrganization = `organizations(id,submissions(id,comments(id)))&organizations.submissions.comments.body=${slow}`;
  const tables = `select=submissions(comments(body))&submissions.comments.body=${slow}`;
  const attacks: ["POST" | "PATCH" | "DELETE", string, object?][] = [
    ["POST", `rpc/vote?select=id,${embed}`, rows[0]],
    ["POST", `rpc/vote?vote=${slow}`, rows[1]],
    ["POST", `rpc/vote?${tables}`, rows[2]],
    ["POST", `rpc/create_comment?${tables}`, { ...rows[3], body: "Said." }],
    ["POST", `rpc/my_votes?${tables}`, { submission_ids: board }],
    ["POST", `votes?select=id,${embed}`, rows],
    ["DELETE", `votes?submission_id=not.is.null&select=id,${embed}`],
    ["POST", `follows?select=submission_id,${embed}`, rows],
    ["POST", `comments?select=id,${embed}`, rows.map((row) => ({ ...row, body: "Said." }))],
    ["PATCH", `comments?author_id=eq.${attacker.id}&body=${slow}`, { body: "Edited." }],
    ["DELETE", `comments?author_id=eq.${attacker.id}&body=${slow}`],
    ["POST", `comment_votes?select=id,comments(id)&comments.body=${slow}`, { comment_id: said }],
    ["POST", `submissions?select=id,${inOrganization}`, idea],
    ["PATCH", `submissions?author_id=eq.${attacker.id}&description=${slow}`, { title: "Edited title" }],
    [
      "POST",
      `survey_responses?select=id,surveys(id,${inOrganization.replace(")))&", "))))&surveys.")}`,
      { survey_id: answered, answers },
    ],
    ["PATCH", `notifications?user_id=eq.${attacker.id}&select=id,${embed}`, { read_at: "2026-01-01" }],
    ["PATCH", `profiles?id=eq.${attacker.id}&select=id,comments(id)&comments.body=${slow}`, { name: "Mallory" }],
  ];

  /** Usual requests on a board, none of which may wait; reverted, so that each attack meets the same state. */
  async function live(): Promise<void> {
    const undo = new Error("undo");
    await sql
      .begin(async (everybody) => {
        await everybody`set local lock_timeout = '200ms'`;
        await everybody`insert into public.votes (submission_id, user_id) select unnest(${[...board, own]}::uuid[]), ${one}`;
        await everybody`insert into public.comments (submission_id, author_id, body, parent_id) values (${own}, ${two}, 'A reply', ${said})`;
        await everybody`insert into public.comment_votes (comment_id, user_id) values (${said}, ${three})`;
        await everybody`insert into public.survey_responses (survey_id, user_id, answers) values (${answered}, ${one}, ${everybody.json(answers)})`;
        await everybody`insert into public.submissions ${everybody({ ...idea, author_id: two })}`;
        await everybody`update public.surveys set status = 'paused' where id = ${answered}`;
        await everybody`update public.organizations set visibility = 'private' where id = ${home.id}`;
        await everybody`update public.comments set moderation_state = 'rejected' where id = ${said}`;
        await everybody`update public.profiles set name = null where id = ${attacker.id}`;
        await everybody`delete from public.submissions where id in ${everybody([own, ...board])}`;
        throw undo;
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error;
      });
  }

  test.each(attacks)("%s %s: other requests do not wait for it", async (method, path, body) => {
    let answered = false;
    const headers = { prefer: "return=representation" };
    const attack = rest(path, { method, token: attacker.token, body, headers }).finally(() => {
      answered = true;
    });
    const running = () =>
      sql`select from pg_stat_activity where application_name = 'rest' and state = 'active' and query like '% ~ %'`;
    // The attack has completed, or is busy with the slow part.
    await expect
      .poll(async () => answered || (await running()).length > 0, { interval: 5, timeout: 10_000 })
      .toBe(true);
    await live();
    const { code } = await attack;
    // An attack that reads before it writes is canceled.
    if (!path.startsWith("rpc/")) expect(code).toMatch(/^(FB403|57014)$/);
  });

  test("its changes are exact", async () => {
    expect(await countMistakes(home)).toEqual([]);
  });
});
