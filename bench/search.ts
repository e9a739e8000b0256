import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { withTemporaryFolder } from "../local/folders/temporary-folder.ts";
import { connect, type Sql } from "../local/postgres/database.ts";
import { defaultMigrations } from "../local/postgres/database-server.ts";
import { withTemporaryDatabase } from "../local/postgres/temporary-database.ts";
import { localName, writeResults } from "./about.ts";
import { median, rounded } from "./report.ts";
import { fillScaleBoard, slugOf } from "./scale-board.ts";
import { say } from "./stack.ts";
import { feedback, randomFrom, type Text } from "./text.ts";

// Milliseconds of searches in Postgres, by this version, by the one before decision 303, and by a plain search of Postgres,
// on the same board in turn.

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    submissions: { type: "string", default: "10000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("search") },
  },
});
const size = Number(flags.submissions);
const rounds = Number(flags.rounds);

const queries = [
  "we need",
  "need",
  "calendar",
  "needle",
  "n",
  "cal",
  "large teams",
  "every needle",
  "phone -need",
  "xyzzy",
];
/** Aims in ms at 10,000 submissions. */
const aims: Record<string, number> = { "we need": 1.5, calendar: 2, needle: 1, n: 1.5 };

/** The newest migration that still has the search before. */
const before = "20261123221145";
const formerData = (organization: string) => `
  insert into private.submission_search (submission_id, organization_id, document, title, content)
  select m.id, ${organization},
    setweight(to_tsvector('private.plain', m.title), 'A') || setweight(to_tsvector('private.plain', m.text), 'D'),
    private.plain_text(m.title), private.plain_text(m.title || ' ' || m.text)
  from made m order by m.n`;

type Search = (sql: Sql, organization: string, q: string) => PromiseLike<readonly { id: string }[]>;
const searches: Record<"now" | "before" | "plain", Search> = {
  now: (sql, organization, q) => sql<{ id: string }[]>`
    select s.id from private.find_submissions(${organization}, ${q}, null, null, null, null, null, null, 101) f
      cross join unnest(f.hits[:20]) h join public.submissions s on s.id = h.submission_id`,
  before: (sql, organization, q) => sql<{ id: string }[]>`
    select s.id from private.find_submissions(${organization}, ${q}, null, 1250) f
      cross join unnest(f.submission_ids, f.relevances) h (submission_id, relevance)
      join public.submissions s on s.id = h.submission_id order by h.relevance desc, s.id limit 20`,
  plain: (sql, organization, q) => sql<{ id: string }[]>`
    select s.id from private.submission_search f join public.submissions s on s.id = f.submission_id
    where f.organization_id = ${organization} and f.document @@ websearch_to_tsquery('private.plain', ${q})
    order by ts_rank(f.document, websearch_to_tsquery('private.plain', ${q})) desc, s.vote_count desc limit 20`,
};

/** A submission with all its triggers. */
const create = (sql: Sql, organization: string, text: Text) => sql`
  insert into public.submissions (organization_id, author_id, title, description, type)
  select ${organization}, id, ${text.title}, ${text.description}, 'idea' from public.profiles limit 1`;

await withTemporaryFolder(async (folder) => {
  const old = join(folder, "migrations");
  for (const file of await readdir(defaultMigrations))
    if (file.slice(0, 14) <= before) await cp(join(defaultMigrations, file), join(old, file));
  await withTemporaryDatabase(async (now) => {
    await withTemporaryDatabase(async (former) => {
      const sides = {
        now: await fill(now, undefined),
        before: await fill(former, formerData),
        plain: await fill(former, undefined),
      };
      await sides.now.sql`select private.refresh_search()`;
      const results = [];
      for (const q of queries) results.push({ q, ...(await measure(sides, q)), ...(aims[q] && { aim: aims[q] }) });
      const random = randomFrom(1);
      const texts = Array.from({ length: rounds * 20 }, () => feedback(random));
      results.push({ q: "create a submission", ...(await measureCreating(sides, texts)) });
      console.table(results);
      await writeResults(flags.name, sides.now.sql, { rounds, submissions: size }, { results });
      for (const { sql } of Object.values(sides)) await sql.end({ timeout: 1 });
    }, old);
  });
});

type Side = { sql: Sql; organization: string };

/** Connects to a database; fills its board if it has none. */
async function fill(urls: { ownerUrl: string; superuserUrl: string }, searchData?: typeof formerData): Promise<Side> {
  const sql = connect(urls.ownerUrl);
  const find = () => sql<{ id: string }[]>`select id from public.organizations where slug = ${slugOf(size)}`;
  if ((await find()).length === 0) {
    await sql`insert into public.organizations (name, slug, visibility) values (${slugOf(size)}, ${slugOf(size)}, 'public')`;
    await fillScaleBoard(urls.superuserUrl, size, 100, searchData);
    say(`a board of ${size} submissions made`);
  }
  return { sql, organization: (await find())[0]?.id ?? "" };
}

async function measure(sides: Record<keyof typeof searches, Side>, q: string) {
  const names = Object.keys(searches) as (keyof typeof searches)[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]]));
  for (let round = -2; round < rounds; round++)
    // Alternate the order, so that load from other programs affects all sides alike.
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + 2 + turn) % names.length] ?? "now";
      const { sql, organization } = sides[name];
      const startedAt = performance.now();
      await searches[name](sql, organization, q);
      if (round >= 0) times[name]?.push(performance.now() - startedAt);
    }
  const ms = Object.fromEntries(names.map((name) => [name, rounded(median(times[name] ?? []), 2)]));
  return ms;
}

async function measureCreating(sides: Record<keyof typeof searches, Side>, texts: Text[]) {
  const names = ["now", "before"] as const;
  const times = { now: [] as number[], before: [] as number[] };
  for (const [n, text] of texts.entries())
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(n + turn) % names.length] ?? "now";
      const startedAt = performance.now();
      await create(sides[name].sql, sides[name].organization, text);
      times[name].push(performance.now() - startedAt);
    }
  return { now: rounded(median(times.now), 2), before: rounded(median(times.before), 2) };
}
