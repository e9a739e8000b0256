import { connect, type Sql } from "../local/postgres/database.ts";
import { topics } from "./text.ts";

/** Ids of rows with special properties. */
export const slugOf = (size: number) => `board-of-${size}`;

const sentences = [
  "We need {topic} every day and the current screen takes far too many clicks.",
  "Our team of forty people keeps asking for this, mostly those who work outside the office.",
  "When the list grows beyond a few hundred rows, {topic} become hard to find.",
  "It would already help if the filter remembered what I chose the last time.",
  "Other tools let you drag {topic} between columns, which saves us an hour a week.",
  "At the moment we copy everything into another file by hand and make mistakes.",
  "Please keep the old behaviour behind a setting, because our training material shows it.",
  "The error only says that something failed, and nobody knows what to do next.",
  "We need a small export button next to {topic} for the first version.",
  "I can share a recording of how our customers work around it today.",
];
const openings = ["Support for", "A better way to handle", "Bulk editing of", "Sharing", "Offline access to"];
const closings = [
  "on the phone",
  "for large teams",
  "across projects",
  "with keyboard only",
  "without signing in again",
];

/**
 * A public board. Trigger effects are applied in bulk, with triggers off. Regardless of the size, 20 submissions
 * contain the word `needle`, have the tag `rare` and the category `rare`; one in a hundred contains the word
 * `calendar`; one in a thousand is a problem. Submission 1 has a vote of everybody and many comments, the first of them
 * with many replies.
 */
export async function fillScaleBoard(
  superuserUrl: string,
  size: number,
  comments: number,
  searchData = lexemes,
): Promise<void> {
  const sql = connect(superuserUrl);
  try {
    await withoutIndexes(sql, "private.submission_search", () =>
      sql.begin(async (transaction) => {
        await transaction`set local session_replication_role = replica`;
        await transaction`set local statement_timeout = 0`;
        await transaction`set local work_mem = '128MB'`;
        for (const statement of contents(size, comments, searchData)) await transaction.unsafe(statement);
      }),
    );
    for (const table of [
      "public.submissions",
      "public.submission_tags",
      "public.votes",
      "public.comments",
      "public.profiles",
      "private.submission_search",
      "private.submission_counts",
      "private.submission_subtotals",
    ])
      await sql.unsafe(`vacuum (analyze) ${table}`);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Building search indexes in bulk is faster than row by row. */
async function withoutIndexes(sql: Sql, table: string, fill: () => Promise<unknown>): Promise<void> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index where indrelid = ${table}::regclass and not indisprimary`;
  await sql`set maintenance_work_mem = '1GB'`;
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`);
  await fill();
  for (const { definition } of indexes) await sql.unsafe(definition);
}

/** Search data of the submissions m of an organization. */
const lexemes = (organization: string) => `
  insert into private.submission_search (submission_id, organization_id, title_lexemes, lexemes, title, content)
  select m.id, ${organization}, array_to_tsvector(l.title_lexemes), array_to_tsvector(l.title_lexemes || l.lexemes
    || private.search_tiers(${organization}, m.votes, m.id)),
    private.plain_text(m.title), private.plain_text(m.title || ' ' || m.text)
  from made m cross join lateral private.submission_lexemes(${organization}, m.title, m.text) l order by m.n`;

function contents(size: number, comments: number, searchData: typeof lexemes): string[] {
  const organization = `(select id from public.organizations where slug = '${slugOf(size)}')`;
  const list = (values: readonly string[]) => `array['${values.join("','")}']`;
  const one = (values: readonly string[]) => `(${list(values)})[1 + floor(random() * ${values.length})::integer]`;
  const first = "(select id from made where n = 1)";
  const statuses = ["open", "open", "open", "open", "under_review", "planned", "in_progress", "completed"];
  return [
    "drop table if exists people, made",
    "select setseed(0.5)",
    `insert into public.categories (organization_id, name, slug)
      select ${organization}, 'Area ' || n, 'area-' || n from generate_series(1, 12) n
      union all select ${organization}, 'Rare', 'rare'`,
    `insert into public.tags (organization_id, name, slug)
      select ${organization}, 'Tag ' || n, 'tag-' || n from generate_series(1, 24) n
      union all select ${organization}, initcap(s), s from unnest(array['common', 'rare']) s`,
    `create temp table people as
      select gen_random_uuid() as id, n from generate_series(0, greatest(2000, ${size}) - 1) n`,
    "create index on people (n)",
    "analyze people",
    "insert into public.profiles (id, name) select id, 'Person ' || n from people",
    `create temp table made as
      select gen_random_uuid() as id, m.*, case when n = 1 then ${size} when status = 'declined' then least(wanted, 3) else wanted end as votes,
        replace(description, '{topic}', topic) || case when n % ${size / 20} = 7 then ' It is a needle.' else '' end as text,
        opening || ' ' || topic || ' ' || closing as title
      from (
        select n, now() - interval '400 days' * (1 - n / ${size}::double precision) as created_at,
          case when random() < 0.05 then 0 else floor(2000 * power(random(), 2))::integer end as author,
          least(1000, floor(power(1 - random(), -0.6)))::integer as wanted,
          case when n % ${size / 20} = 7 then 'rare' when random() < 0.9 then 'area-' || 1 + floor(random() * 12)::integer end as category,
          case when random() < 0.1 then 'declined' else ${one(statuses)} end as status,
          case when n % 1000 = 3 then 'problem' else 'idea' end as type,
          case when n % 100 = 5 then 'calendar' else ${one(topics.filter((topic) => topic !== "calendar"))} end as topic,
          ${one(openings)} as opening, ${one(closings)} as closing,
          ${one(sentences)} || ' ' || ${one(sentences)} || ' ' || ${one(sentences)} || ' Reference R' || n || '.' as description
        from generate_series(1, ${size}) n) m`,
    "create index on made (n)",
    "analyze made",
    `insert into public.submissions (id, organization_id, title, description, type, status, author_id, category_id, is_public, created_at, vote_count,
        comment_count)
      select m.id, ${organization}, m.title, m.text, m.type, m.status, p.id, c.id, true, m.created_at, m.votes,
        case m.n when 1 then ${comments} else 0 end
      from made m join people p on p.n = m.author
        left join public.categories c on c.organization_id = ${organization} and c.slug = m.category
      order by m.n`,
    searchData(organization),
    `insert into public.submission_tags (organization_id, submission_id, tag_id)
      select ${organization}, m.id, t.id
      from made m join public.tags t on t.organization_id = ${organization}
        and t.slug in ('tag-' || m.n % 24 + 1, case when m.n % 3 = 0 then 'common' end, case when m.category = 'rare' then 'rare' end)`,
    `insert into public.votes (organization_id, submission_id, user_id, created_at)
      select ${organization}, ${first}, p.id, now() - random() * interval '400 days' from people p where p.n < ${size}`,
    // A fifth of the comments are replies to the first.
    `with made_up as materialized (select gen_random_uuid() as id, n from generate_series(1, ${comments}) n),
        written as (select m.id, m.n, first_value(m.id) over (order by m.n) as parent_id from made_up m)
      insert into public.comments (id, organization_id, submission_id, parent_id, author_id, body, is_public, created_at, reply_count)
      select w.id, ${organization}, ${first}, case when w.n % 5 = 0 then w.parent_id end, p.id, 'A comment, number ' || w.n,
        true, now() - interval '1 minute' * (${comments} - w.n), case w.n when 1 then ${comments} / 5 else 0 end
      from written w join people p on p.n = w.n % 2000`,
    `select private.recount_submissions(${organization})`,
  ];
}
