import { beforeAll, describe, expect, it } from "vitest";
import { fillScaleBoard, slugOf } from "../../bench/scale-board.ts";
import type { Sql, Statement } from "../../functions/_shared/database/run.ts";
import { listMeta } from "../../functions/_shared/http/cursor.ts";
import { commentDetail, listComments } from "../../functions/_shared/statements/comments.ts";
import {
  listSubmissions,
  searchSubmissions,
  similarSubmissions,
  submissionDetail,
} from "../../functions/_shared/statements/submissions.ts";
import { type SubmissionListQuery, submissionListQuery } from "../../shared/submissions.ts";
import { temporaryDatabase } from "../search/database.ts";

const [few, some, many] = [1_000, 2_500, 10_000];
const boards: Record<number, { id: string; first: string; parent: string; heavy: string }> = {};
let sql: Sql;
const database = temporaryDatabase();

beforeAll(async () => {
  sql = database.sql();
  for (const size of [few, some, many]) {
    await sql`insert into public.organizations (name, slug, visibility) values (${slugOf(size)}, ${slugOf(size)}, 'public')`;
    await fillScaleBoard(database.superuserUrl(), size, size / 10);
  }
  for (const size of [few, some, many]) {
    const [board] = await sql<(typeof boards)[number][]>`
      select o.id, s.id as first, c.id as parent, (
        select author_id from public.submissions where organization_id = o.id group by 1 order by count(*) desc limit 1) as heavy
      from public.organizations o join public.submissions s on s.organization_id = o.id and s.vote_count = ${size}
        join public.comments c on c.submission_id = s.id and c.reply_count > 0
      where o.slug = ${slugOf(size)}`;
    if (!board) throw new Error("a board was not filled");
    boards[size] = board;
  }
  await sql`select private.refresh_search() from generate_series(1, 4)`;
}, 120_000);

/** Runs `use` as an anonymous caller of the board of that size. */
async function on<Result>(size: number, use: (board: (typeof boards)[number]) => Promise<Result>): Promise<Result> {
  const board = boards[size];
  if (!board) throw new Error(`there is no board of ${size}`);
  await sql`select set_config('feedback.organization_id', ${board.id}, false)`;
  await sql`set role anon`;
  try {
    return await use(board);
  } finally {
    await sql`reset role`;
  }
}

const listQuery = (query: Partial<SubmissionListQuery>) => submissionListQuery.parse(query);

async function list(query: Partial<SubmissionListQuery>) {
  const [page] = await listSubmissions(listQuery(query))(sql);
  if (!page) throw new Error("a list answers one row");
  return { ...page, ids: (JSON.parse(page.data) as { id: string }[]).map(({ id }) => id) };
}

const searched = { page: 1, limit: 50, cursor: undefined, status: undefined, type: undefined };

async function search(q: string) {
  const [found] = await searchSubmissions({ ...searched, q, limit: 100 })(sql);
  if (!found) throw new Error("a search answers one row");
  return { ...found, hits: JSON.parse(found.data) as { id: string; relevance: number }[] };
}

const filters: Record<string, Partial<SubmissionListQuery>> = {
  nothing: {},
  "a status": { status: "declined" },
  "a common type": { type: "idea" },
  "a rare type": { type: "problem" },
  "a category": { category: "area-1" },
  "a rare category": { category: "rare" },
  "a category that is not there": { category: "none" },
  "a common tag": { tag: "common" },
  "a tag": { tag: "tag-1" },
  "a rare tag": { tag: "rare" },
  "a tag that is not there": { tag: "none" },
  "status and rare type": { status: "declined", type: "problem" },
  "status and category": { status: "declined", category: "area-1" },
  "tag and status": { tag: "tag-1", status: "declined" },
  "tag and rare type": { tag: "common", type: "problem" },
};
const texts = [
  "needle",
  "need",
  "we need",
  '"we need"',
  "every needle",
  "calendar",
  "phone or calendar",
  "phone keyboard",
  "-need",
  "calendar -phone",
  "n",
  "we",
  "cal",
  "R1",
  "R12",
  "ダークモード",
  "暗い",
  "%",
  "qq",
  "xyzzy",
  "ation",
  "the",
  "and the",
  "ing",
  "a or b",
  "we we we",
];

describe("a read costs about the same on a board four times as large", () => {
  // The worst case cost of an index scan and a sort grows with the square root of the board.
  const most = 2;
  type Read = (board: (typeof boards)[number]) => Statement<unknown>;
  const reads: [string, Read][] = [
    ...Object.entries(filters).flatMap(([name, filter]) =>
      (["created_at", "title"] as const).flatMap((sort) =>
        (name === "a tag" ? (["desc", "asc"] as const) : (["desc"] as const)).map((order): [string, Read] => [
          `list by ${name}, ${sort} ${order}`,
          () => listSubmissions(listQuery({ ...filter, sort, order })),
        ]),
      ),
    ),
    ["list of an author", ({ heavy }) => listSubmissions(listQuery({ author: heavy, sort: "votes" }))],
    ...texts.map((q): [string, Read] => [`search ${q}`, () => searchSubmissions({ ...searched, q })]),
    ...["needle", "we need", "calendar -phone", "n"].flatMap((q): [string, Read][] => [
      [`list with ${q}`, () => listSubmissions(listQuery({ q, sort: "votes" }))],
      [`list with ${q} and a tag`, () => listSubmissions(listQuery({ q, tag: "tag-1" }))],
    ]),
    ...[
      "Offline access to calendar on the phone",
      "We need a needle",
      "Ofline acces to calender",
      "ダークモード",
      "x",
    ].map((title): [string, Read] => [
      `duplicates of ${title}`,
      () => similarSubmissions(title, "We need it every day.", 5),
    ]),
    ["detail with comments", ({ first }) => submissionDetail(first, ["author", "category", "tags", "comments"], "en")],
    ["a comment with replies", ({ parent }) => commentDetail(parent, true)],
  ];

  it("for every list, search and page", async () => {
    const dear: string[] = [];
    for (const [name, read] of reads) {
      const [small, big] = [await blocks(some, read), await blocks(many, read)];
      // A scan of the large board reads more than 40,000 blocks; reading a few thousand rows is allowed.
      if (big > Math.max(most * small, 15_000)) dear.push(`${name}: ${small} and ${big} blocks`);
    }
    expect(dear).toEqual([]);
  }, 120_000);

  const blocks = (size: number, read: Read) =>
    on(size, async (board) => {
      const [explained] = await sql<{ "QUERY PLAN": { Plan: Record<string, number> }[] }[]>`
        explain (analyze, buffers, timing off, format json) ${read(board)(sql) as unknown as ReturnType<Sql>}`;
      const plan = explained?.["QUERY PLAN"][0]?.Plan ?? {};
      return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    });

  it("except for comments, whose total is exact", async () => {
    const page = { page: 1, limit: 50, sort: "created_at", order: "asc" } as const;
    const total = (size: number) =>
      on(size, async ({ first }) => (await listComments(first, { ...page, parent_id: undefined })(sql))[0]?.total);
    expect([await total(some), await total(many)]).toEqual([200, 800]);
  });
});

describe("on boards of up to some thousand submissions", () => {
  it("a list with any filter and sort matches a full scan, page by page", async () => {
    for (const [name, filter] of Object.entries({
      ...filters,
      words: { q: "need" },
      "words and tag": { q: "phone", tag: "common" },
    })) {
      for (const sort of ["created_at", "votes", "title"] as const) {
        const expected = await scanList(some, filter, sort);
        const read = await on(some, () => readOn({ ...filter, sort, limit: 100 }, 6));
        expect({ name, sort, ids: read.ids }).toEqual({ name, sort, ids: expected.slice(0, 600) });
        expect({ name, total: read.total }).toEqual({ name, total: expected.length });
      }
    }
  });
});

describe("on a large board", () => {
  it("a total of a search is exact, and a lower bound above the limit", async () => {
    const queries = ["needle", "we need", "calendar", "R12", "every needle", "calendar -phone"];
    const totals = await on(many, async () => Promise.all(queries.map(search)));
    const truth = await Promise.all(queries.map((q) => matchesOf(many, q)));
    expect(totals.map(({ total, total_is_capped }) => [total, total_is_capped])).toEqual(
      truth.map((count) => [count, false]),
    );
    const board = boards[many]?.id ?? "";
    for (const tag of [null, "common"]) {
      const [counted] = await sql<[{ n: number }]>`
        select private.count_matches(private.search_scope(${board}, tag_id => (
            select t.id from public.tags t where t.organization_id = ${board} and t.slug = ${tag})),
          private.parse_search(${board}, 'we need'), 101) as n`;
      expect(counted.n).toBe(101);
    }
  });

  it("a list with common words can be read completely by cursors, newest first", async () => {
    const expected = await scanList(many, { q: "every day", status: "declined" }, "created_at");
    const { ids } = await on(many, () => readOn({ q: "every day", status: "declined", limit: 100 }, 400));
    expect(ids).toEqual(expected);
  });

  it("a loop over pages by number reads every row once, in order", async () => {
    for (const filter of [
      {},
      { tag: "common" },
      { type: "idea", category: "area-1" },
      { status: "declined", tag: "tag-1" },
      { author: boards[many]?.heavy, tag: "common" },
      { q: "calendar", tag: "common" },
      { q: "we need" },
      { q: "we need", status: "declined" },
    ] as Partial<SubmissionListQuery>[])
      for (const sort of ["created_at", "votes"] as const) {
        const expected = await scanList(many, filter, sort);
        const { ids, total } = await on(many, () => readPages({ ...filter, sort, limit: 100 }));
        expect({ filter, sort, total, ids }).toEqual({ filter, sort, total: expected.length, ids: expected });
      }
    const relevant = await on(many, () => readPages({ q: "we need", sort: "relevance", limit: 100 }));
    expect(relevant.ids.toSorted()).toEqual((await scanList(many, { q: "we need" }, "votes")).toSorted());
  }, 120_000);

  it("finds a duplicate by rare words of its title, and by parts of them", async () => {
    const [known] = await sql<{ id: string; title: string }[]>`
      select id, title from public.submissions where organization_id = ${boards[many]?.id ?? ""} and title like '%calendar%' order by id limit 1`;
    for (const title of [known?.title ?? "", (known?.title ?? "").replace("calendar", "calender")]) {
      const [found] = await on(many, async () => [...(await similarSubmissions(title, null, 5)(sql))]);
      const similar = JSON.parse(found?.data ?? "[]") as { title: string; similarity: number }[];
      expect(similar[0]?.title).toBe(known?.title);
    }
  });

  it("returns no pending or merged submissions, nor those of another organization", async () => {
    const id = boards[many]?.id ?? "";
    const hidden = await sql<{ id: string }[]>`
      select submission_id as id from private.submission_search where organization_id = ${id} and content like '%needle%' order by 1 limit 10`;
    const ids = hidden.map((row) => row.id);
    await sql`update public.submissions set is_public = false where id = any (${ids.slice(0, 5)})`;
    await sql`update public.submissions set status = 'duplicate', merged_into_id = ${boards[many]?.first ?? ""} where id = any (${ids.slice(5)})`;
    const shown = await on(many, async () => [
      ...(await search("needle")).hits.map((hit) => hit.id),
      ...(await list({ q: "needle", limit: 100 })).ids,
      ...(await list({ category: "rare", sort: "votes", limit: 100 })).ids,
      ...(await list({ tag: "rare", limit: 100 })).ids,
    ]);
    expect(shown).toHaveLength(40);
    expect(shown.filter((one) => ids.includes(one))).toEqual([]);
    const newest = await on(many, () => readPages({ limit: 100 }));
    expect([newest.total, newest.ids.length]).toEqual([many - ids.length, many - ids.length]);
    expect(newest.ids.filter((one) => ids.includes(one))).toEqual([]);
    const owners = await sql`select distinct organization_id from public.submissions where id = any (${shown})`;
    expect(owners).toEqual([{ organization_id: id }]);
  });
});

/** Follows cursors for at most that many pages. */
async function readOn(query: Partial<SubmissionListQuery>, pages: number) {
  const ids: string[] = [];
  let total: number | undefined;
  let cursor: string | undefined;
  for (let page = 0; page < pages; page++) {
    const asked = { ...query, ...(cursor && { cursor }) };
    const answer = await list(asked);
    ids.push(...answer.ids);
    total ??= answer.total;
    const parsed = listQuery(asked);
    cursor =
      listMeta(answer, parsed as { page: number; limit: number }, parsed.sort, parsed.order).next_cursor ?? undefined;
    if (!cursor) break;
  }
  return { ids, total };
}

/** Reads pages by number up to total_pages. */
async function readPages(query: Partial<SubmissionListQuery>) {
  const ids: string[] = [];
  let total = 0;
  for (let page = 1; page === 1 || (page - 1) * 100 < total; page++) {
    const answer = await list({ ...query, page });
    total = answer.total;
    ids.push(...answer.ids);
  }
  return { ids, total };
}

async function matchesOf(size: number, q: string) {
  const [found] = await sql<[{ count: number }]>`
    select count(*) from private.submission_search c, private.parse_search(${boards[size]?.id ?? ""}, ${q}) p
    where c.organization_id = ${boards[size]?.id ?? ""} and c.lexemes @@ p.text_any`;
  return found.count;
}

async function scanList(
  size: number,
  { status, type, category, tag, author, q }: Partial<SubmissionListQuery>,
  sort: "created_at" | "votes" | "title",
) {
  const column = { created_at: sql`created_at`, votes: sql`vote_count`, title: sql`title collate "und-x-icu"` }[sort];
  const id = boards[size]?.id ?? "";
  const rows = await sql<{ id: string }[]>`
    select s.id from public.submissions s
    where s.organization_id = ${id} and s.merged_into_id is null
      and (${author ?? null}::uuid is null or s.author_id = ${author ?? null}) and (${status ?? null}::text is null or s.status = ${status ?? null}) and (${type ?? null}::text is null or s.type = ${type ?? null})
      and (${category ?? null}::text is null or s.category_id = (select c.id from public.categories c where c.organization_id = ${id} and c.slug = ${category ?? null}))
      and (${tag ?? null}::text is null or s.id in (
        select st.submission_id from public.submission_tags st join public.tags t on t.id = st.tag_id
        where t.organization_id = ${id} and t.slug = ${tag ?? null}))
      and (${q ?? null}::text is null or s.id in (
        select c.submission_id from private.submission_search c, private.parse_search(${id}, ${q ?? ""}) p
        where c.organization_id = ${id} and c.lexemes @@ p.text_any))
    order by s.${column} desc, s.id desc`;
  return rows.map((row) => row.id);
}
