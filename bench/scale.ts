import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, signIn } from "./board.ts";
import { median, rounded } from "./report.ts";
import { fillScaleBoard, slugOf } from "./scale-board.ts";
import { onOwnStack, say } from "./stack.ts";

// Compares the cost of reading a board of a million submissions with one of a thousand.

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    submissions: { type: "string", default: "1000,100000,1000000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("scale") },
    /** Reuses existing boards. */
    folder: { type: "string" },
  },
});
const rounds = Number(flags.rounds);
const sizes = flags.submissions.split(",").map(Number);
const aim = 4;

interface Board {
  size: number;
  first: string;
  parent: string;
  heavy: string;
  deep: string;
}

interface Read {
  name: string;
  path: (board: Board) => string;
  body?: object;
  as?: "admin";
}

const list = (name: string, query: string): Read => ({ name: `list, ${name}`, path: () => `/submissions?${query}` });
const search = (name: string, q: string): Read => ({
  name: `search, ${name}`,
  path: () => `/submissions/search?q=${encodeURIComponent(q)}`,
});
const duplicates = (name: string, title: string): Read => ({
  name: `duplicates, ${name}`,
  path: () => "/submissions/check-duplicates",
  body: { title, description: "We need it every day and copy by hand." },
});
const filters: [string, string][] = [
  ["a status", "status=declined"],
  ["a common type", "type=idea"],
  ["a rare type", "type=problem"],
  ["a category", "category=area-1"],
  ["a rare category", "category=rare"],
  ["a common tag", "tag=common"],
  ["a tag", "tag=tag-1"],
  ["a rare tag", "tag=rare"],
  ["status and type", "status=declined&type=problem"],
  ["status and category", "status=declined&category=area-1"],
  ["tag and status", "tag=tag-1&status=declined"],
  ["tag and type", "tag=common&type=problem"],
];
const sorts = ["created_at", "votes", "comments", "title"];

const reads: Read[] = [
  ...sorts.flatMap((sort) => [
    list(`by ${sort}`, `sort=${sort}`),
    ...filters.map(([name, query]) => list(`${name}, by ${sort}`, `${query}&sort=${sort}`)),
  ]),
  list("by votes, ascending", "sort=votes&order=asc"),
  { name: "list, an author, by votes", path: ({ heavy }) => `/submissions?author=${heavy}&sort=votes` },
  { name: "list, an author and a tag", path: ({ heavy }) => `/submissions?author=${heavy}&tag=common` },
  ...sorts.map((sort) => list(`page 2,000 by ${sort}`, `page=2000&sort=${sort}`)),
  list("page 1,000 of a status", "page=1000&status=open"),
  list("page 600 of a common tag", "page=600&tag=common"),
  { name: "list, from the middle by a cursor", path: ({ deep }) => `/submissions?cursor=${deep}` },
  list("common words", `q=${encodeURIComponent("we need")}&sort=votes`),
  list("a rare word", "q=needle"),
  list("a word in a hundred", "q=calendar"),
  list("common words and a tag", "q=need&tag=tag-1"),
  search("a rare word", "needle"),
  search("a word in a hundred", "calendar"),
  search("a common word", "need"),
  search("two common words", "we need"),
  search("a phrase", '"every day and the"'),
  search("a common word and a rare one", "every needle"),
  search("an exclusion", "phone -need"),
  search("one letter", "n"),
  search("two letters", "we"),
  search("a prefix", "cal"),
  search("Japanese", "ダークモード"),
  search("nothing", "xyzzy"),
  duplicates("a title that is there", "Offline access to calendar on the phone"),
  duplicates("common words", "We need every day and current screen"),
  duplicates("misspelt", "Ofline acces to calender"),
  {
    name: "detail of what has most comments and votes",
    path: ({ first }) => `/submissions/${first}?expand=author,category,tags,comments`,
  },
  { name: "its comments", path: ({ first }) => `/submissions/${first}/comments` },
  { name: "its comments, most voted", path: ({ first }) => `/submissions/${first}/comments?sort=votes&order=desc` },
  { name: "replies", path: ({ first, parent }) => `/submissions/${first}/comments?parent_id=${parent}` },
  { name: "voters", path: ({ first }) => `/submissions/${first}/voters`, as: "admin" },
  { name: "analytics", path: () => "/admin/analytics", as: "admin" },
];

await onOwnStack(bench, {
  // Speeds up filling; the data need not survive a crash.
  folder: flags.folder,
  postgresSettings: { shared_buffers: "1GB", max_wal_size: "8GB", synchronous_commit: "off", full_page_writes: "off" },
});

async function bench(stack: Stack, sql: Sql): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const name = `admin-${process.pid}`;
  const [id = ""] = await addUsers(sql, name, 1);
  const [admin] = await signIn(stack, [id]);
  const boards: Board[] = [];
  for (const size of sizes) {
    const [filled] = await sql`select from public.organizations where slug = ${slugOf(size)}`;
    if (filled) {
      await sql`insert into public.memberships (organization_id, user_id, role)
        select id, ${id}, 'admin' from public.organizations where slug = ${slugOf(size)}`;
    } else {
      await sql`select private.create_organization(${slugOf(size)}, ${slugOf(size)}, 'public', ${id})`;
      await fillScaleBoard(stack.superuserUrl, size, size > 10_000 ? 10_000 : 100);
    }
    boards.push(await boardOf(sql, size));
    say(`a board of ${size} submissions made`);
  }
  const results = [];
  for (const read of reads) results.push(await measure(stack, sql, admin?.token ?? "", read, boards));
  const dear = results.filter(({ ratio }) => ratio > aim);
  console.table(
    results.map(({ name, ratio, median_ms, postgres_ms }) => ({
      name,
      ratio,
      ms: Object.values(median_ms).join(", "),
      postgres: Object.values(postgres_ms).join(", "),
    })),
  );
  say(
    `${results.length - dear.length} of ${results.length} reads cost at most ${aim} times as much: ${sizes.join(", ")}`,
  );
  await writeResults(flags.name, sql, { rounds, aim }, { results });
}

async function boardOf(sql: Sql, size: number): Promise<Board> {
  const [board] = await sql<{ id: string; first: string; parent: string; heavy: string }[]>`
    select o.id, s.id as first, c.id as parent, (
      select author_id from public.submissions where organization_id = o.id group by 1 order by count(*) desc limit 1) as heavy
    from public.organizations o join public.submissions s on s.organization_id = o.id and s.vote_count = ${size}
      join public.comments c on c.submission_id = s.id and c.reply_count > 0
    where o.slug = ${slugOf(size)}`;
  const [middle] = await sql<{ place: string }[]>`
    select json_build_array('created_at', 'desc', (s.created_at at time zone 'UTC')::text || '+00', s.id)::text as place
    from public.submissions s where s.organization_id = ${board?.id ?? ""}
    order by s.created_at desc, s.id desc offset ${Math.floor(size / 2)} limit 1`;
  if (!board || !middle) throw new Error(`the board of ${size} was not filled`);
  return { ...board, size, deep: Buffer.from(middle.place).toString("base64url") };
}

async function measure(stack: Stack, sql: Sql, token: string, read: Read, boards: Board[]) {
  const times = new Map(boards.map((board) => [board.size, [] as number[]]));
  const processing = new Map(boards.map((board) => [board.size, [] as number[]]));
  for (const board of boards) await ask(stack, token, read, board);
  for (let round = 0; round < rounds; round++) {
    // Alternate the order, so that load from other programs affects all sides alike.
    for (let turn = 0; turn < boards.length; turn++) {
      const board = boards[(round + turn) % boards.length];
      if (!board) continue;
      const before = await processorTime(sql);
      times.get(board.size)?.push(await ask(stack, token, read, board));
      processing.get(board.size)?.push((await processorTime(sql)) - before);
    }
  }
  const medians = (all: Map<number, number[]>) =>
    Object.fromEntries([...all].map(([size, ms]) => [size, rounded(median(ms), 2)]));
  const median_ms = medians(times);
  const postgres_ms = medians(processing);
  return { name: read.name, ratio: ratioOf(median_ms), postgres_ratio: ratioOf(postgres_ms), median_ms, postgres_ms };
}

function ratioOf(ms: Record<number, number>): number {
  return rounded(Math.max(...Object.values(ms)) / (ms[sizes[0] ?? 0] ?? Number.NaN), 2);
}

/** CPU milliseconds of the API's database connections, independent of other load. Linux only. */
async function processorTime(sql: Sql): Promise<number> {
  const connections = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where usename = 'feedback_api'`;
  const spent = await Promise.all(
    connections.map(({ pid }) => readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "0")),
  );
  return spent.reduce((sum, line) => sum + Number(line.split(" ")[0]) / 1e6, 0);
}

async function ask(stack: Stack, token: string, { path, body, as }: Read, board: Board): Promise<number> {
  const headers = {
    "X-Organization": slugOf(board.size),
    "Content-Type": "application/json",
    ...(as && { Authorization: `Bearer ${token}` }),
  };
  const startedAt = performance.now();
  const response = await fetch(`${stack.base_url}/api${path(board)}`, {
    headers,
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${path(board)} answered ${response.status}: ${answer}`);
  return performance.now() - startedAt;
}
