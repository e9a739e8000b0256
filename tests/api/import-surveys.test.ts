import { describe, expect, test } from "vitest";
import type { Scope } from "../../shared/scopes.ts";
import { sql } from "../stack.ts";
import { type Caller, send } from "./client.ts";
import { importFrom } from "./imports.ts";
import { behindTriggers, change, detailOf, newDraft, newSurvey, respond } from "./survey-world.ts";
import { countMistakes, newKey, newSubmission, newTeam, newUser, only } from "./world.ts";

type Rec = Record<string, unknown>;

const scopes: Scope[] = ["submissions:moderate", "surveys:read", "surveys:write", "surveys:publish", "responses:read"];

async function newBoard(settings = {}) {
  const team = await newTeam(settings);
  return { ...team, key: await newKey(team.organization, scopes) };
}

const importing = (as: Caller, records: string | Rec[], query = "", type?: string) =>
  importFrom(
    as,
    typeof records === "string" ? records : records.map((record) => JSON.stringify(record)).join("\n"),
    query,
    type,
  );

const exported = async (as: Caller, query = "?format=jsonl") =>
  (await send("GET", `/api/admin/export${query}`, { as })).text;

/** Surveys and responses, sorted. */
const surveysOf = async (as: Caller) =>
  (await exported(as))
    .split("\n")
    .filter((line) => line.includes('"kind": "survey'))
    .sort();

/** A draft, versions with one open, one for voters, and responses. */
async function filled() {
  const board = await newBoard();
  const { organization, admin } = board;
  const [ann, bob] = [await newUser("Ann"), await newUser("Bob")];
  const submission = await newSubmission(organization, ann);
  await newDraft(admin, organization, { title: "Not yet", closes_at: "2100-01-01T00:00:00Z" });
  const first = await newSurvey(admin, organization, {
    settings: { redirect_url: "https://x.example/thanks", show_branding: false },
  });
  await respond(first, ann, { 0: 9, 1: 4, 2: "iOS", 3: ["Votes", "Surveys"], 4: "=More of it", 5: "ann@x.example" });
  await respond(first, bob, { 0: 2 });
  const version = await change(first.id, "versions", admin);
  const { id } = (version.body as { data: { id: string } }).data;
  expect((await change(id, "publish", admin)).status).toBe(200);
  const second = await newSurvey(admin, organization, {
    title: "For voters",
    settings: { allow_multiple_responses: true },
    targeting: { audience: "voters", submission_id: submission, locales: ["en", "de"] },
  });
  for (const rating of [3, 5])
    await sql`insert into public.survey_responses (survey_id, user_id, locale, answers)
      values (${second.id}, ${ann.id}, 'de', ${sql.json([
        { question_id: second.questions[0]?.id ?? "", value: 7 },
        { question_id: second.questions[1]?.id ?? "", value: rating },
      ])})`;
  // As an erasure leaves it.
  await behindTriggers(
    (tx) => tx`insert into public.survey_responses (organization_id, survey_id, user_id, answers, is_only)
      values (${organization.id}, ${second.id}, ${bob.id}, '[]', false)`,
  );
  return { ...board, ann, open: id };
}

const survey = (more: Rec = {}): Rec => ({
  kind: "survey",
  id: "s1",
  title: "How was it?",
  status: "published",
  created_at: "2024-05-06T07:08:09Z",
  questions: [
    { id: "q1", type: "nps", text: "Would you recommend us?", required: true },
    { id: "q2", type: "multiple_choice", text: "Where?", options: ["Web", "iOS"] },
  ],
  ...more,
});
const response = (id: string, author_email: string, value: unknown = 9): Rec => ({
  kind: "survey_response",
  ...{ id, survey_id: "s1", author_email, answers: [{ question_id: "q1", value }] },
  submitted_at: "2024-05-07T07:08:09Z",
});

describe("surveys in an import", () => {
  test.each(["jsonl", "csv"])(
    "as %s, export the same again, with exact counts, and are matched on the next import",
    async (format) => {
      const [from, to] = [await filled(), await newBoard()];
      const copy = async (as: Caller, query = "") => {
        if (format === "jsonl") return [await importing(as, await exported(from.key), query)];
        const events = [];
        for (const what of ["submissions", "votes", "surveys", "survey_responses"])
          events.push(
            await importing(
              as,
              await exported(from.key, `?format=csv&what=${what}`),
              `?what=${what}${query.replace("?", "&")}`,
              "text/csv",
            ),
          );
        return events;
      };
      for (const done of await copy(to.key)) expect(done, JSON.stringify(done.errors)).toMatchObject({ failed: 0 });
      const surveys = await surveysOf(from.key);
      expect(surveys).toHaveLength(9);
      expect(await surveysOf(to.key)).toEqual(surveys);
      expect(await countMistakes(to.organization)).toEqual([]);
      for (const done of await copy(to.key)) expect(done).toMatchObject({ created: 0, failed: 0 });
      for (const done of await copy(from.key)) expect(done).toMatchObject({ created: 0, failed: 0 });
      expect(await surveysOf(from.key)).toEqual(surveys);
      const [response] = await sql`
      select from private.outbox where organization_id = ${to.organization.id} and type like 'survey.%'`;
      expect(response).toBeUndefined();
    },
  );

  test("stay open, accept responses and keep one open version", async () => {
    const [from, to] = [await filled(), await newBoard()];
    await importing(to.key, await exported(from.key));
    const created = await sql<{ id: string; status: string; families: number }[]>`
      select s.id, s.status, (select count(*)::int from public.surveys f where f.family_id = s.family_id) as families
      from public.surveys s where s.organization_id = ${to.organization.id} and s.title = 'A survey' order by s.created_at`;
    expect(created).toMatchObject([
      { status: "archived", families: 2 },
      { status: "published", families: 2 },
    ]);
    const open = only(created.at(-1));
    const { questions = [] } = await detailOf(open.id, to.admin, "questions");
    await respond({ id: open.id, questions }, await newUser("Cleo"), { 0: 10 });
    expect(await countMistakes(to.organization)).toEqual([]);
    const another = survey({
      id: "v3",
      version_of: (await surveysOf(from.key))
        .map((line) => JSON.parse(line) as Rec)
        .find(({ status }) => status === "published")?.id,
    });
    const done = await importing(to.key, [another]);
    expect(done).toMatchObject({ created: 1, failed: 0, errors: [{ line: 1, field: "status" }] });
  });

  test("as a dry run change nothing; after a partial upload, the rest is imported", async () => {
    const board = await newBoard();
    const file = [survey(), response("r1", "ann@x.example"), response("r2", "bob@x.example")];
    expect(await importing(board.key, file, "?dry_run=true")).toMatchObject({ created: 3, failed: 0 });
    expect(await surveysOf(board.key)).toEqual([]);
    expect(await importing(board.key, file.slice(0, 2))).toMatchObject({ created: 2 });
    expect(await importing(board.key, file)).toMatchObject({ created: 1, skipped: 2 });
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  test("skip a second response of a person, and people who already responded here", async () => {
    const board = await newBoard();
    const ann = await newUser("Ann");
    await importing(board.key, [survey()]);
    const [created] = await sql<
      { id: string }[]
    >`select id from public.surveys where organization_id = ${board.organization.id}`;
    const { questions = [] } = await detailOf(only(created).id, board.admin, "questions");
    await respond({ id: only(created).id, questions }, ann, { 0: 10 });
    const file = [response("r1", ann.email), response("r2", "bob@x.example"), response("r3", "bob@x.example")];
    expect(await importing(board.key, file)).toMatchObject({ created: 1, skipped: 2, failed: 0 });
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  test("report errors by line, and do not find rows of another organization", async () => {
    const [board, other] = [await newBoard(), await filled()];
    const foreign = { survey_id: other.open };
    const done = await importing(board.key, [
      survey(),
      survey({ id: "s2", questions: [{ type: "multiple_choice", text: "Of nothing" }] }),
      survey({ id: "s3", audience: "voters", audience_submission_id: "nope" }),
      response("r1", "ann@x.example", 11),
      { ...response("r2", "ann@x.example"), answers: [{ question_id: "q9", value: 1 }] },
      { ...response("r3", "ann@x.example"), ...foreign },
      {
        ...response("r4", "ann@x.example"),
        answers: [
          { question_id: "q1", value: 1 },
          { question_id: "q1", value: 2 },
        ],
      },
    ]);
    expect(done).toMatchObject({ created: 1, failed: 6 });
    expect(done.errors.map(({ line, field, message }) => [line, field, message])).toEqual([
      [2, "questions.0.options", "must have at least one option"],
      [3, "audience_submission_id", "is not a submission of this file or organization"],
      [4, "answers", "of question 1 must be a whole number from 0 to 10"],
      [5, "answers", "is not a question of this survey"],
      [6, "survey_id", "is not a survey of this file or organization"],
      [7, "answers", "answers a question twice"],
    ]);
    expect(await surveysOf(board.key)).toHaveLength(1);
  });

  test.each([
    "submissions:moderate",
    "submissions:moderate surveys:write",
    "submissions:moderate surveys:publish surveys:read responses:read",
  ])("are not imported by a key with %s", async (given) => {
    const { organization, admin } = await newBoard();
    const key = await newKey(organization, given.split(" ") as Scope[]);
    const done = await importing(key, [survey(), response("r1", "ann@x.example")]);
    expect(done).toMatchObject({ created: 0, failed: 2 });
    expect(await sql`select from public.surveys where organization_id = ${organization.id}`).toEqual([]);
    // A signed-in admin may import.
    const brought = await importFrom(admin, JSON.stringify(survey()), "", undefined, organization);
    expect(brought.created).toBe(1);
  });

  test("above the plan limit end the import", async () => {
    const { key } = await newBoard({ max_surveys: 1 });
    const ended = await importing(key, [survey(), survey({ id: "s2" })]);
    expect(ended).toMatchObject({ state: "failed", created: 0, problem: expect.stringMatching(/plan/i) });
  });
});
