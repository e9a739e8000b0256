import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exportFile, importFile } from "../../local/operator/import-export.ts";
import { importListAnswer } from "../../shared/imports.ts";
import { scopes as allScopes, type Scope } from "../../shared/scopes.ts";
import { sql, stack } from "../stack.ts";
import { api, type Caller, expectError, getJson, send } from "./client.ts";
import { type Board, importFrom, newBoard } from "./imports.ts";
import { newSurvey, respond } from "./survey-world.ts";
import { countMistakes, type Key, longEnough, newComment, newKey, newSubmission, newUser, only } from "./world.ts";

type Rec = Record<string, unknown>;

const lines = (records: Rec[]) => records.map((record) => JSON.stringify(record)).join("\n");
const headers = { "content-type": "application/x-ndjson" };

const importing = importFrom;

async function exported(as: Caller, query = "?format=jsonl"): Promise<string> {
  const answer = await send("GET", `/api/admin/export${query}`, { as });
  expect(answer.status, answer.text).toBe(200);
  return answer.text;
}

/** The content of an organization, as sorted records. */
async function contentOf(as: Caller): Promise<string[]> {
  return (await exported(as)).split("\n").filter(Boolean).sort();
}

async function rowsOf({ organization }: Board): Promise<Rec> {
  const [counts] = await sql<Rec[]>`
    select (select count(*)::int from public.submissions where organization_id = ${organization.id}) as submissions,
      (select count(*)::int from public.votes where organization_id = ${organization.id}) as votes,
      (select count(*)::int from public.comments where organization_id = ${organization.id}) as comments,
      (select count(*)::int from public.profiles where organization_id = ${organization.id} and kind <> 'key') as people,
      (select count(*)::int from public.notifications where organization_id = ${organization.id}) as notifications,
      (select count(*)::int from private.outbox where organization_id = ${organization.id}) as events`;
  return only(counts);
}

const filePartsOf = ({ organization }: Board) =>
  sql`select from private.import_file_parts where organization_id = ${organization.id}`;

const submission = (n: number, more: Rec = {}): Rec => ({
  id: `s${n}`,
  title: `Number ${n} of many`,
  description: longEnough,
  author_email: `author${n % 3}@x.example`,
  created_at: "2024-05-06T07:08:09Z",
  ...more,
});
const file: Rec[] = [
  submission(1, { status: "planned", category: "Web App", tags: ["ui", "Night Mode"], author_name: "Ann" }),
  submission(2, { type: "problem" }),
  { kind: "comment", id: "c1", submission_id: "s1", body: "First", author_email: "bob@x.example", is_official: true },
  { kind: "comment", id: "c2", submission_id: "s1", parent_id: "c1", body: "Second", author_name: "Nameless" },
  { kind: "vote", submission_id: "s1", author_email: "BOB@x.example", created_at: "2024-06-01T00:00:00Z" },
  { kind: "vote", submission_id: "s1", author_email: "bob@x.example" },
  { kind: "comment_vote", comment_id: "c1", author_email: "ann@x.example" },
  {
    kind: "status_change",
    submission_id: "s1",
    new_status: "planned",
    note: "Soon",
    created_at: "2024-06-02T00:00:00Z",
  },
];

describe("an import", () => {
  test("creates submissions, votes and comments with their times, sends no notifications, and counts are exact", async () => {
    const board = await newBoard({ require_approval: true });
    const done = await importing(board.key, lines(file));
    expect(done).toMatchObject({
      state: "completed",
      processed: 8,
      created: 7,
      skipped: 1,
      failed: 0,
      errors: [],
      problem: null,
    });
    expect(await rowsOf(board)).toEqual({
      submissions: 2,
      votes: 3,
      comments: 2,
      people: 5,
      notifications: 0,
      events: 0,
    });
    expect(await countMistakes(board.organization)).toEqual([]);
    const [first] = await sql<Rec[]>`
      select s.status, s.vote_count, s.comment_count, s.moderation_state, s.created_at, c.name as category, p.email, p.name,
        array(select t.name from public.submission_tags st join public.tags t on t.id = st.tag_id where st.submission_id = s.id order by 1) as tags,
        (select count(*)::int from public.comments k where k.parent_id is not null and k.submission_id = s.id) as replies,
        (select count(*)::int from public.follows f where f.submission_id = s.id) as followers
      from public.submissions s join public.categories c on c.id = s.category_id join public.profiles p on p.id = s.author_id
      where s.organization_id = ${board.organization.id} and s.title like 'Number 1 %'`;
    expect(first).toEqual({
      status: "planned",
      vote_count: 2,
      comment_count: 2,
      moderation_state: "approved",
      created_at: new Date("2024-05-06T07:08:09Z"),
      category: "Web App",
      email: "author1@x.example",
      name: "Ann",
      tags: ["Night Mode", "ui"],
      replies: 1,
      followers: 0,
    });
  });

  test.each([
    ["nobody follow by default", "", {}, 0],
    ["everybody follow with follow=true", "?follow=true", {}, 3],
    ["those follow whose record says so", "", { follow: true }, 3],
    ["nobody follow whose record says no", "?follow=true", { follow: false }, 0],
  ])("makes %s", async (_, query, more, followers) => {
    const board = await newBoard();
    await importing(board.key, lines(file.map((record) => ({ ...record, ...more }))), query);
    const [first] = await sql`select count(*)::int as followers from public.follows f
      join public.submissions s on s.id = f.submission_id
      where s.organization_id = ${board.organization.id} and s.title like 'Number 1 %'`;
    expect(first).toEqual({ followers });
  });

  test("appends new categories after the existing ones", async () => {
    const board = await newBoard();
    await sql`insert into public.categories (organization_id, name, slug, position) values (${board.organization.id}, 'Zoo', 'zoo', 7)`;
    await importing(
      board.key,
      lines([
        submission(1, { category: "Apes" }),
        { kind: "category", slug: "bees", name: "Bees" },
        { kind: "category", slug: "ants", name: "Ants", position: 3 },
      ]),
    );
    const shown = await api("GET", `/api/organizations/${board.organization.id}/categories`);
    expect((shown.body as { data: { slug: string }[] }).data.map(({ slug }) => slug)).toEqual([
      "ants",
      "zoo",
      "bees",
      "apes",
    ]);
  });

  test("imports the comments and votes of a submission without an id once", async () => {
    const board = await newBoard();
    const one = {
      ...submission(1, { id: undefined }),
      comments: [{ body: "Yes", author_email: "bob@x.example", created_at: "2024-05-07T00:00:00Z" }],
      votes: [{ author_email: "bob@x.example" }],
    };
    for (const query of ["?dry_run=true", ""])
      expect(await importing(board.key, lines([one]), query)).toMatchObject({ created: 3, errors: [] });
    expect(await importing(board.key, lines([one]))).toMatchObject({ created: 0, skipped: 3 });
  });

  test("does not attach the children of a rejected submission to the one before it", async () => {
    const board = await newBoard();
    const [good, bad] = [submission(1, { id: undefined }), submission(2, { id: undefined, title: "Bad" })];
    const votes = [{ author_email: "bob@x.example" }];
    const page = JSON.stringify({ records: [good, { ...bad, votes }] });
    const response = await importing(board.key, page, "", "application/json");
    expect(response).toMatchObject({ created: 1, failed: 2, errors: [{ field: "title" }, { field: "submission_id" }] });
  });

  test("repeated creates no duplicates", async () => {
    const board = await newBoard();
    await importing(board.key, lines(file));
    const before = [await rowsOf(board), await contentOf(board.key)];
    expect(await importing(board.key, lines(file))).toMatchObject({ processed: 8, created: 0, skipped: 8, failed: 0 });
    expect([await rowsOf(board), await contentOf(board.key)]).toEqual(before);
  });

  test("sent twice concurrently creates no duplicates", async () => {
    const board = await newBoard();
    const many = lines(
      [...Array(700).keys()].flatMap((n) => [
        submission(n),
        { kind: "vote", submission_id: `s${n}`, author_email: "bob@x.example" },
      ]),
    );
    const both = await Promise.all([importing(board.key, many), importing(board.key, many)]);
    expect(both.map(({ created }) => created).reduce((a, b) => a + b)).toBe(1400);
    expect(await rowsOf(board)).toMatchObject({ submissions: 700, votes: 1400 });
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  test("with a truncated file writes nothing, returns an error, and stores nothing of the file", async () => {
    const board = await newBoard();
    await new Promise<void>((resolve) => {
      const outgoing = request(`${stack.base_url}/api/admin/import`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${board.key.token}` },
      });
      outgoing.on("error", () => resolve());
      outgoing.write(lines([...Array(9000).keys()].map((n) => submission(n))));
      const interval = setInterval(async () => {
        if ((await filePartsOf(board)).length === 0) return;
        clearInterval(interval);
        outgoing.destroy();
      }, 20);
    });
    const broken = async () =>
      only((await getJson("/api/admin/imports", importListAnswer, { as: board.key })).data.at(-1));
    await expect
      .poll(broken, { timeout: 20_000 })
      .toMatchObject({ state: "failed", problem: "body did not arrive completely" });
    expect(await rowsOf(board)).toMatchObject({ submissions: 0 });
    expect(await filePartsOf(board)).toEqual([]);
  });

  test("as a dry run returns the same numbers and changes nothing", async () => {
    const board = await newBoard();
    const counts = ({ processed, created, skipped, failed }: Rec) => ({ processed, created, skipped, failed });
    const tried = await importing(board.key, lines(file.slice(0, 4)), "?dry_run=true");
    expect(tried).toMatchObject({ dry_run: true, state: "completed" });
    expect(await rowsOf(board)).toEqual({
      submissions: 0,
      votes: 0,
      comments: 0,
      people: 0,
      notifications: 0,
      events: 0,
    });
    expect(await contentOf(board.key)).toEqual([]);
    expect(counts(await importing(board.key, lines(file.slice(0, 4))))).toEqual(counts(tried));
  });

  test("imports the valid lines and returns the first 100 errors", async () => {
    const board = await newBoard();
    const bad = [...Array(150).keys()].map((n) => submission(n, { title: "Hm" }));
    const done = await importing(
      board.key,
      lines([
        submission(900),
        ...bad,
        { kind: "vote", submission_id: "nope", author_email: "a@x.example" },
        { kind: "comment", id: "r", submission_id: "s900", parent_id: "nope", body: "A reply" },
        submission(901, { category: "New" }),
      ]),
      "?create_missing=false",
    );
    expect(done).toMatchObject({ processed: 154, created: 2, failed: 152, state: "completed" });
    expect(done.errors).toHaveLength(100);
    expect(done.errors[0]).toEqual({ line: 2, field: "title", message: "must be 5 to 200 characters long" });
    const fewer = await importing(
      board.key,
      lines([
        { kind: "vote", submission_id: "nope", author_email: "a@x.example" },
        { kind: "comment", id: "r2", submission_id: "s900", parent_id: "nope", body: "A reply" },
        submission(901, { category: "New" }),
      ]),
      "?create_missing=false",
    );
    expect(fewer.errors).toEqual([
      { line: 1, field: "submission_id", message: "is not a submission of this file or organization" },
      {
        line: 2,
        field: "parent_id",
        message: "is not an earlier comment of the submission; imported at the top level",
      },
      { line: 3, field: "category", message: "is not a category of this file or organization" },
    ]);
    expect(fewer).toMatchObject({ created: 1, failed: 2 });
  });

  test.each([
    [["C", "C++", "C#"]],
    [["c++", "c", "c#"]],
    [["A/B tests", "A & B tests"]],
    [["Version 1.0", "Version 10", "Version 1-0"]],
    [["v1.0", "v1-0", "v10"]],
    [["Øl", "L"]],
    [["Łow", "Ow"]],
    [[".NET", "NET"]],
    [["検索", "通知"]],
    [["🚀", "🐛"]],
  ])("keeps the labels %j apart, also when they come back from an export", async (names) => {
    const [board, copy] = [await newBoard(), await newBoard()];
    const rows = names.map((name, n) => submission(n, { category: name, tags: [name], author_name: `Of ${name}` }));
    const again = [submission(99, { category: names[0]?.toUpperCase(), tags: names }), ...rows];
    expect(await importing(board.key, lines(rows))).toMatchObject({ created: names.length, failed: 0 });
    expect(await importing(board.key, lines(again))).toMatchObject({ created: 1, failed: 0 });
    await importing(copy.key, await exported(board.key));
    for (const { organization } of [board, copy]) {
      const found = await sql`
        select s.title, c.name as category, array(select t.name from public.submission_tags st
          join public.tags t on t.id = st.tag_id where st.submission_id = s.id order by t.name collate "C") as tags
        from public.submissions s join public.categories c on c.id = s.category_id
        where s.organization_id = ${organization.id} order by s.title`;
      expect(found).toEqual([
        ...names.map((name, n) => ({ title: `Number ${n} of many`, category: name, tags: [name] })),
        { title: "Number 99 of many", category: names[0], tags: names.toSorted() },
      ]);
    }
    expect(await contentOf(copy.key)).toEqual(await contentOf(board.key));
  });

  test("matches a label by its name in any case, or by its slug", async () => {
    const board = await newBoard();
    const tags = ["Dark Mode", "dark mode", "dark-mode", "ＤＡＲＫ mode"];
    expect(
      await importing(board.key, lines([submission(1, { tags: [tags[0]] }), submission(2, { tags })])),
    ).toMatchObject({ created: 2, failed: 0 });
    await importing(board.key, lines([submission(3, { tags })]));
    const made = await sql`select name from public.tags where organization_id = ${board.organization.id} order by name`;
    expect(made.map(({ name }) => name)).toEqual(["Dark Mode", "dark-mode"]);
  });

  test("creates a category or tag without a slug, once", async () => {
    const board = await newBoard();
    const labels = ["C++", "C#", "c++"].map((name) => ({ kind: "tag", name, color: "#ff8800" }));
    expect(await importing(board.key, lines(labels))).toMatchObject({ created: 2, skipped: 1, failed: 0 });
  });

  test("with an unreadable part fails with its position, and keeps the records before it", async () => {
    const board = await newBoard();
    const raw = `id,title,description\n1,One of two,${longEnough}\n2,"Two of two,${longEnough}\n`;
    expect(await importing(board.key, raw, "", "text/csv")).toMatchObject({
      state: "failed",
      created: 1,
      problem: expect.stringContaining("line 3"),
    });
    expect(await rowsOf(board)).toMatchObject({ submissions: 1 });
  });

  test("of more than the plan allows fails with the plan limit error", async () => {
    const board = await newBoard({ max_submissions: 1 });
    expect(await importing(board.key, lines([submission(1), submission(2)]))).toMatchObject({
      state: "failed",
      problem: expect.stringMatching(/plan/i),
    });
    expect(await rowsOf(board)).toMatchObject({ submissions: 0 });
  });

  test("returns 413 over 64 MiB, 415 for another type, 400 for an invalid parameter", async () => {
    const { key } = await newBoard();
    const large = { ...headers, "content-length": String(65 * 1024 * 1024) };
    await expect(send("POST", "/api/admin/import", { as: key, headers: large, raw: "{}" })).resolves.toMatchObject({
      status: 413,
    });
    expectError(
      await api("POST", "/api/admin/import", { as: key, raw: "x", headers: { "content-type": "text/plain" } }),
      "UNSUPPORTED_MEDIA_TYPE",
    );
    expectError(
      await api("POST", "/api/admin/import?format=jira", { as: key, raw: "{}", headers }),
      "VALIDATION_ERROR",
      "format",
    );
  });

  test("skips the vote of a user who has already voted here", async () => {
    const board = await newBoard();
    const ann = await newUser("Ann");
    const voted = await newSubmission(board.organization, ann);
    expect(
      await importing(board.key, lines([{ kind: "vote", submission_id: voted, author_email: ann.email }])),
    ).toMatchObject({ created: 0, skipped: 1 });
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  test("with ids of another organization does not find its rows", async () => {
    const [own, theirs] = [await newBoard(), await newBoard()];
    const ann = await newUser("Ann");
    const foreign = await newSubmission(theirs.organization, ann);
    const comment = await newComment(foreign, ann);
    const done = await importing(
      own.key,
      lines([
        { kind: "vote", submission_id: foreign, author_email: "a@x.example" },
        { kind: "comment_vote", comment_id: comment, author_email: "a@x.example" },
        { kind: "vote", submission_id: "s1", author_id: ann.id },
        submission(1, { author_email: undefined, author_id: ann.id }),
      ]),
    );
    expect(done).toMatchObject({ created: 1, skipped: 1, failed: 2 });
    const [created] = await sql<
      { author_id: string }[]
    >`select author_id from public.submissions where organization_id = ${own.organization.id}`;
    expect(created?.author_id).not.toBe(ann.id);
  });
});

describe("an export", () => {
  test.each(["jsonl", "json", "csv"])(
    "as %s, imported into another organization, exports the same content",
    async (format) => {
      const [from, to] = [await newBoard(), await newBoard()];
      const [ann, member] = [
        await newUser("Ann"),
        await newUser("Mel", { organization: from.organization, role: "member" }),
      ];
      await importing(from.key, lines(file));
      const [agent] = await sql<{ id: string }[]>`select private.create_agent(${from.organization.id}, 'Robin') as id`;
      await newComment(await newSubmission(from.organization, only(agent)), only(agent));
      const formula = await newSubmission(from.organization, ann, {
        title: "=HYPERLINK(1)",
        description: `'=1, "quoted"\r\nand more than one line.`,
      });
      const comment = await newComment(formula, member, { body: "-1 from me" });
      await newComment(formula, ann, { parent_id: comment, body: "+1" });
      await sql`insert into public.votes (submission_id, user_id) values (${formula}, ${member.id})`;
      const [source, twin] = [
        await newSubmission(from.organization, ann),
        await newSubmission(from.organization, member),
      ];
      const merge = { source_ids: [source, twin], target_id: formula };
      expect(await api("POST", "/api/admin/merge", { as: from.key, body: merge })).toMatchObject({ status: 200 });
      await sql`delete from public.follows where submission_id = ${formula} and user_id = ${member.id}`;
      expect(await api("DELETE", `/api/submissions/${formula}/follow`, { as: ann })).toMatchObject({ status: 200 });
      await sql`insert into public.status_changes (submission_id, new_status, note, changed_by) values (${formula}, 'completed', 'Done', ${member.id})`;
      if (format === "csv") {
        for (const what of [
          "categories",
          "tags",
          "submissions",
          "follows",
          "comments",
          "votes",
          "comment_votes",
          "status_changes",
        ])
          expect(
            await importing(to.key, await exported(from.key, `?format=csv&what=${what}`), `?what=${what}`, "text/csv"),
          ).toMatchObject({ failed: 0 });
      } else {
        const type = format === "json" ? "application/json" : headers["content-type"];
        expect(await importing(to.key, await exported(from.key, `?format=${format}`), "", type)).toMatchObject({
          failed: 0,
        });
      }
      expect(await contentOf(to.key)).toEqual(await contentOf(from.key));
      const [copy] = await sql<{ id: string }[]>`
        select id from public.submissions where organization_id = ${to.organization.id} and merged_into_id is not null limit 1`;
      const unmerge = { submission_id: only(copy).id };
      expect(await api("POST", "/api/admin/unmerge", { as: to.key, body: unmerge })).toMatchObject({ status: 200 });
      expect(await countMistakes(to.organization)).toEqual([]);
      expect(await importing(from.key, await exported(from.key))).toMatchObject({ created: 0, failed: 0 });
      if (format === "csv") expect(await exported(from.key, "?format=csv")).toContain(`,"'=HYPERLINK(1)",`);
    },
  );

  const tags = [
    ...["Mobile, iOS", "Mobile", 'say "hi"', '"quoted"', '"a, b" c', "end,", ", begin", "semi; =1", "=SUM(1)", "'=2"],
    ...["+3", "-4, really", "@five", "'six", "日本、東京", "؛ سبعة", "''=8"],
  ];
  test.each([...tags.map((tag) => [tag]), tags, ["Mobile", "'=2", '"quoted"'], ['"quoted"', "Mobile, iOS"]])(
    "as CSV keeps tags and a category that look like lists or formulas: %j, …",
    async (...given) => {
      const [from, to] = [await newBoard(), await newBoard()];
      const texts = { tags: given, category: given[0], author_name: given[0], title: `${given[0]} as a title` };
      expect(await importing(from.key, lines([submission(1, texts), submission(2)]))).toMatchObject({ failed: 0 });
      for (const what of ["categories", "tags", "submissions", "votes"])
        await importing(to.key, await exported(from.key, `?format=csv&what=${what}`), `?what=${what}`, "text/csv");
      expect(await contentOf(to.key)).toEqual(await contentOf(from.key));
    },
  );

  test.each(["members", "categories", "submissions", "comments", "votes", "follows", "surveys", "survey_responses"])(
    "as CSV of %s begins with one byte order mark, and has no other",
    async (what) => {
      const board = await newBoard();
      await importing(board.key, lines(file));
      const key = await newKey(board.organization, [...allScopes]);
      const text = await exported(key, `?format=csv&what=${what}`);
      expect(text.lastIndexOf("\uFEFF")).toBe(0);
    },
  );

  test("as CSV with a byte order mark is imported in several steps", async () => {
    const [from, to] = [await newBoard(), await newBoard()];
    const records = Array.from({ length: 1200 }, (_, n) => ({ kind: "tag", slug: `t-${n}`, name: `Ärger ${n}` }));
    expect(await importing(from.key, lines(records))).toMatchObject({ created: 1200 });
    const text = await exported(from.key, "?format=csv&what=tags");
    const done = await importing(to.key, text, "?what=tags", "text/csv");
    expect(done).toMatchObject({ created: 1200, failed: 0, bytes: Buffer.byteLength(text) });
    expect(await contentOf(to.key)).toEqual(await contentOf(from.key));
  });

  test("contains surveys and responses for keys that may read them", async () => {
    const board = await newBoard();
    const [admin, ann] = [
      await newUser("Ada", { organization: board.organization, role: "admin" }),
      await newUser("Ann"),
    ];
    const survey = await newSurvey(admin, board.organization);
    await respond(survey, ann, { 0: 9, 3: ["Votes", "Surveys"] });
    const reader = await newKey(board.organization, ["submissions:moderate", "surveys:read", "responses:read"]);
    const copy = await exported(reader);
    const records = copy
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Rec);
    expect(records.slice(-2)).toMatchObject([
      { kind: "survey", id: survey.id, questions: survey.questions.map(({ id, text }) => ({ id, text })) },
      {
        kind: "survey_response",
        survey_id: survey.id,
        author_email: ann.email,
        answers: [{ value: 9 }, { value: ["Votes", "Surveys"] }],
      },
    ]);
    expect(await exported(reader, "?format=csv&what=survey_responses")).toContain(
      `,"[{""value"":9,""question_id"":""${survey.questions[0]?.id}""}`,
    );
    expect(await exported(board.key)).not.toContain('"kind": "survey');
    for (const what of ["surveys", "survey_responses"])
      expectError(await api("GET", `/api/admin/export?what=${what}`, { as: board.key }), "FORBIDDEN");
    const without = await importing((await newBoard()).key, copy);
    expect(without).toMatchObject({ created: 0, failed: 2 });
    expect(without.errors[0]?.message).toBe("needs a key with surveys:write and surveys:publish");
  });

  test.each<[Scope, string, string | undefined]>([
    ["organization:write", "organization", undefined],
    ["members:write", "member", "members"],
    ["surveys:read", "survey", "surveys"],
    ["responses:read", "survey_response", "survey_responses"],
  ])("contains what %s reads elsewhere for a key with that scope, and for no other", async (scope, kind, what) => {
    const { organization } = await newBoard();
    const admin = await newUser("Ada", { organization, role: "admin" });
    await respond(await newSurvey(admin, organization), admin, { 0: 9 });
    const kinds = async (as: Caller) => (await exported(as)).match(/(?<="kind": ")\w+/g) ?? [];
    const [withScope, withoutScope] = [
      await newKey(organization, ["submissions:moderate", scope]),
      await newKey(
        organization,
        allScopes.filter((other) => other !== scope),
      ),
    ];
    expect(await kinds(withScope)).toEqual([kind]);
    expect(await kinds(withoutScope)).not.toContain(kind);
    expect(await kinds(withoutScope)).toHaveLength(3);
    if (!what) return;
    expect(await exported(withScope, `?format=csv&what=${what}`)).toMatch(/\n./);
    const rejected = await api("GET", `/api/admin/export?what=${what}`, { as: withoutScope });
    expectError(rejected, "FORBIDDEN");
    expect(rejected.text).toContain(`This key needs the scope ${scope}.`);
  });

  test("of everything as CSV returns 400", async () => {
    expectError(
      await api("GET", "/api/admin/export?format=csv&what=all", { as: (await newBoard()).key }),
      "VALIDATION_ERROR",
      "what",
    );
  });

  test("contains the addresses of voters, and is in the audit trail", async () => {
    const board = await newBoard();
    await importing(board.key, lines(file));
    expect(await exported(board.key)).toContain("bob@x.example");
    const trail = await sql<{ action: string; details: unknown }[]>`
      select action, details from private.audit_log where organization_id = ${board.organization.id} order by created_at`;
    expect(trail).toEqual([
      { action: "import.start", details: { format: "feedback", source: "feedback", dry_run: false } },
      { action: "organization.export", details: { what: "all", format: "jsonl" } },
    ]);
  });
});

describe("the commands", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "feedback-import-export-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("send a file to the API and write an export, and a second run creates no duplicates", async () => {
    const [from, to] = [await newBoard(), await newBoard()];
    const [first, second] = [join(folder, `${randomUUID()}.jsonl`), join(folder, "copy.json")];
    await writeFile(first, lines(file));
    const access = ({ token }: Key) => ({ url: stack.supabase_url, key: token });
    const run = (key: Key, path: string) => importFile(access(key), path, {}, () => undefined);
    expect(await run(from.key, first)).toMatchObject({ created: 7, state: "completed" });
    expect(await run(from.key, first)).toMatchObject({ created: 0, skipped: 8 });
    await exportFile(access(from.key), second, { format: "json" });
    expect(JSON.parse(await readFile(second, "utf8"))).toContainEqual(
      expect.objectContaining({ kind: "submission", id: "s1" }),
    );
    expect(await run(to.key, second)).toMatchObject({ failed: 0, problem: null });
    const nowhere = join(folder, "missing", "copy.json");
    await expect(exportFile(access(from.key), nowhere, { format: "json" })).rejects.toThrow(/ENOENT/);
    await expect(importFile(access(from.key), first, { what: "x" }, () => undefined)).rejects.toThrow("--what");
    expect(await contentOf(to.key)).toEqual(await contentOf(from.key));
  });
});
