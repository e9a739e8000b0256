import { parseArgs } from "node:util";
import { connect, type Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, signIn } from "./board.ts";
import { median, rounded } from "./report.ts";
import { onOwnStack, say } from "./stack.ts";

// Compares the cost of analytics on a board of a million submissions with one of a thousand.

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    submissions: { type: "string", default: "1000,100000,1000000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("analytics") },
  },
});
const rounds = Number(flags.rounds);
const sizes = flags.submissions.split(",").map(Number);
/** Age of the board. */
const history = 400;
const ranges = [
  { name: "a day", days: 1, interval: "day" },
  { name: "a month by day", days: 30, interval: "day" },
  { name: "a year by day", days: 365, interval: "day" },
  { name: "a year by month", days: 365, interval: "month" },
] as const;
type Range = (typeof ranges)[number];

await onOwnStack(bench, {
  // Speeds up filling; the data need not survive a crash.
  postgresSettings: {
    shared_buffers: "1GB",
    max_wal_size: "8GB",
    synchronous_commit: "off",
    full_page_writes: "off",
  },
});

async function bench(stack: Stack, sql: Sql): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const [admin] = await signIn(stack, await addUsers(sql, "admin", 1));
  for (const size of sizes) {
    await sql`select private.create_organization(${slug(size)}, ${slug(size)}, 'public', ${admin?.id ?? ""})`;
    await fill(stack, size);
    say(`a board of ${size} submissions made`);
  }
  for (const table of ["public.submissions", "public.votes", "public.comments"])
    await sql.unsafe(`vacuum (analyze) ${table}`);
  for (const table of ["person_days", "day_activity", "submission_days", "first_replies", "reply_days"])
    await sql.unsafe(`vacuum (analyze) private.${table}`);
  const measured = new Map<string, number[]>();
  for (const range of ranges) {
    for (const size of sizes) await ask(stack, admin?.token ?? "", size, range);
    for (let round = 0; round < rounds; round++) {
      // Alternate the order, so that load from other programs affects all sides alike.
      for (let turn = 0; turn < sizes.length; turn++) {
        const size = sizes[(round + turn) % sizes.length] ?? 0;
        const key = `${range.name} ${size}`;
        const ms = await ask(stack, admin?.token ?? "", size, range);
        measured.set(key, [...(measured.get(key) ?? []), ms]);
      }
    }
  }
  const results = ranges.map((range) => summarize(range, measured));
  for (const { name, by_submissions, ratio, ratios } of results) {
    console.log(`${name}: last to first ${ratio} (${Math.min(...ratios)} to ${Math.max(...ratios)})`);
    console.table(by_submissions);
  }
  await writeResults(flags.name, sql, { rounds, history_days: history }, { results });
}

function slug(size: number): string {
  return `board-of-${size}`;
}

async function ask(stack: Stack, token: string, size: number, { days, interval }: Range): Promise<number> {
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const startedAt = performance.now();
  const response = await fetch(
    `${stack.base_url}/api/admin/analytics?from=${day(days - 1)}&to=${day(0)}&interval=${interval}`,
    { headers: { Authorization: `Bearer ${token}`, "X-Organization": slug(size) } },
  );
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`analytics answered ${response.status}`);
  return performance.now() - startedAt;
}

/**
 * Medians over the rounds. A ratio is the cost with the most submissions divided by that with the fewest, in the same
 * round.
 */
function summarize({ name }: Range, measured: Map<string, number[]>) {
  const of = (size: number) => measured.get(`${name} ${size}`) ?? [];
  const last = of(sizes.at(-1) ?? 0);
  const ratios = of(sizes[0] ?? 0).map((ms, round) => rounded((last[round] ?? Number.NaN) / ms, 2));
  return {
    name,
    aim_ms: 200,
    ratio: median(ratios),
    ratios,
    by_submissions: sizes.map((submissions) => ({
      submissions,
      median_ms: rounded(median(of(submissions)), 2),
      fastest_ms: rounded(Math.min(...of(submissions)), 2),
      slowest_ms: rounded(Math.max(...of(submissions)), 2),
    })),
  };
}

/**
 * A board with skewed distributions of votes and authors. Trigger effects are applied in bulk, like the schedule does
 * after a change of time zone.
 */
async function fill(stack: Stack, size: number): Promise<void> {
  const sql = connect(stack.superuserUrl);
  try {
    await sql.begin(async (transaction) => {
      await transaction`set local session_replication_role = replica`;
      await transaction`set local statement_timeout = 0`;
      await transaction`set local work_mem = '128MB'`;
      for (const statement of historyOf(size, Math.max(200, size / 10))) await transaction.unsafe(statement);
    });
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function historyOf(size: number, people: number): string[] {
  const organization = `(select id from public.organizations where slug = '${slug(size)}')`;
  // Time-ordered ids, so that indexes of a million rows fill fast.
  const id = (n: string) => `(lpad(to_hex(${n}), 8, '0') || right(md5(random()::text), 24))::uuid`;
  const later = "m.created_at + (now() - m.created_at) * power(random(), 3)";
  return [
    "drop table if exists people, made, cast_votes, written",
    `insert into public.categories (organization_id, name, slug)
      select ${organization}, 'Area ' || n, 'area-' || n from generate_series(1, 12) n`,
    `create temp table people as select ${id("n")} as id, n from generate_series(0, ${people - 1}) n`,
    `create temp table made as
      select ${id("row_number() over (order by m.created_at)")} as id, m.* from (
        select n, now() - random() * interval '${history} days' as created_at, floor(${people} * power(random(), 2))::integer as author,
          least(1000, floor(power(1 - random(), -0.6)))::integer as wanted, floor(random() * 13)::integer as category,
          (array['open', 'open', 'open', 'under_review', 'planned', 'in_progress', 'completed', 'declined'])[1 + floor(random() * 8)::integer] as status,
          (array[null, null, 'web', 'ios-app', 'android-app'])[1 + floor(random() * 5)::integer] as source, random() as luck
        from generate_series(1, ${size}) n) m order by m.created_at`,
    "analyze people, made",
    `create temp table cast_votes as
      select distinct on (v.submission_id, p.id) v.submission_id, p.id as user_id, v.created_at
      from (
        select m.id as submission_id, case i when 1 then m.created_at else ${later} end as created_at,
          case i when 1 then m.author else floor(${people} * power(random(), 2))::integer end as voter
        from made m cross join lateral generate_series(1, m.wanted) i offset 0) v join people p on p.n = v.voter
      order by 1, 2, 3`,
    `insert into public.votes (id, organization_id, submission_id, user_id, created_at)
      select ${id("row_number() over ()")}, ${organization}, submission_id, user_id, created_at from cast_votes order by submission_id`,
    `create temp table written as
      select ${id("m.n")} as id, m.id as submission_id, p.id as author_id, is_official,
        case when is_official then m.created_at + interval '1 second' * exp(11 + 3 * (random() - 0.5)) else ${later} end as created_at
      from made m cross join unnest(array[false, true]) is_official join people p on p.n = case when is_official then m.n % 20 else m.author / 2 end
      where m.luck < 0.3`,
    `insert into public.comments (id, organization_id, submission_id, author_id, body, is_official, is_public, created_at)
      select id, ${organization}, submission_id, author_id, 'A comment.', is_official, true, created_at from written
      where created_at < now() order by submission_id`,
    `insert into public.submissions (id, organization_id, title, description, type, status, source, author_id, category_id, is_public, created_at, vote_count, comment_count)
      select m.id, ${organization}, 'Submission ' || m.n, 'A description that is long enough.', 'idea', m.status, m.source, p.id, c.id, true, m.created_at,
        coalesce(v.votes, 0), coalesce(w.comments, 0)
      from made m join people p on p.n = m.author
        left join public.categories c on c.organization_id = ${organization} and c.slug = 'area-' || m.category
        left join (select submission_id, count(*) as votes from cast_votes group by 1) v on v.submission_id = m.id
        left join (select submission_id, count(*) as comments from written where created_at < now() group by 1) w on w.submission_id = m.id
      order by m.id`,
    "analyze public.submissions, public.votes, public.comments",
    `select private.recount_submissions(${organization})`,
    `select private.recount_days(${organization})`,
    `insert into private.replies_due (organization_id, submission_id) select distinct ${organization}, submission_id from written where is_official`,
    `select private.sum_activity(${size})`,
  ];
}
