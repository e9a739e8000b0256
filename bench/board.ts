import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { tokenIssuer } from "../local/lite/auth-config.ts";
import { createApiKey } from "../local/operator/api-keys.ts";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { feedback, randomFrom, reply } from "./text.ts";

/** Data from which requests are built. */
export interface Board {
  organizationId: string;
  publishableKey: string;
  submissionIds: string[];
  /** Users without votes and comments. */
  callers: { id: string; token: string }[];
  /** Keys of the organization. */
  keys: string[];
}

const people = 2003; // prime, so that any step visits every person before repeating one
const callers = 512;

/** A public board with a history, as an import would create it. */
export async function loadBoard(sql: Sql, stack: Stack, submissions: number): Promise<Board> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const [owner = ""] = await addUsers(sql, "owner", 1);
  const authors = await addUsers(sql, "person", people);
  const fresh = await addUsers(sql, "caller", callers);
  const [organization] = await sql<{ id: string }[]>`
    select private.create_organization('Bench', 'bench', 'public', ${owner}) as id`;
  if (!organization) throw new Error("no organization was made");
  await addTaxonomy(sql, organization.id);
  const submissionIds = await addSubmissions(sql, organization.id, authors, submissions);
  await addTags(sql, organization.id);
  await addComments(sql, submissionIds, authors);
  await addVotes(sql, organization.id, authors);
  await checkCounts(sql);
  await vacuum(sql);
  const keys: string[] = [];
  for (let n = 0; n < 16; n++)
    keys.push(await createApiKey(sql, organization.id, `Key ${n}`, ["submissions:read"], null));
  return {
    organizationId: organization.id,
    publishableKey: stack.publishable_key,
    submissionIds,
    callers: await signIn(stack, fresh),
    keys,
  };
}

/** The trigger on auth.users inserts their profiles. */
export async function addUsers(sql: Sql, name: string, count: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
    select gen_random_uuid(), ${name} || '-' || n || '@bench.example', now(), jsonb_build_object('name', initcap(${name}) || ' ' || n)
    from generate_series(1, ${count}::integer) n
    returning id`;
  return rows.map(({ id }) => id);
}

async function addTaxonomy(sql: Sql, organizationId: string): Promise<void> {
  for (const [table, count] of [
    ["categories", 12],
    ["tags", 24],
  ] as const) {
    await sql`
      insert into public.${sql(table)} (organization_id, name, slug, translations)
      select ${organizationId}, 'Area ' || n, 'area-' || n, jsonb_build_object('de', 'Bereich ' || n)
      from generate_series(1, ${count}::integer) n`;
  }
}

async function addSubmissions(sql: Sql, organizationId: string, authors: string[], count: number) {
  const random = randomFrom(1);
  const ids = Array.from({ length: count }, () => randomUUID());
  const categories = (await sql<{ id: string }[]>`select id from public.categories order by slug`).map(({ id }) => id);
  for (let from = 0; from < count; from += batch) {
    const rows = ids
      .slice(from, from + batch)
      .map((id, i) => ({
        id,
        ...feedback(random),
        type: random() < 0.7 ? "idea" : "problem",
        author: authors[Math.floor(random() * authors.length)] ?? "",
        category: random() < 0.9 ? (categories[Math.floor(random() * categories.length)] ?? null) : null,
        age: (count - from - i) * 300 + Math.floor(random() * 300),
      }));
    await sql`
      insert into public.submissions (id, organization_id, title, description, type, author_id, category_id, created_at)
      select r.id, ${organizationId}, r.title, r.description, r.type, r.author, r.category, now() - make_interval(secs => r.age)
      from jsonb_to_recordset(${sql.json(rows)}) as r (id uuid, title text, description text, type text, author uuid, category uuid, age integer)`;
  }
  return ids;
}

const batch = 5000;

/** One to three tags on four of five submissions. */
async function addTags(sql: Sql, organizationId: string): Promise<void> {
  await sql`
    with numbered as (select id, row_number() over (order by id) as n from public.submissions where organization_id = ${organizationId}),
      tags as (select id, row_number() over (order by slug) - 1 as n, count(*) over () as all_of_them from public.tags where organization_id = ${organizationId})
    insert into public.submission_tags (organization_id, submission_id, tag_id)
    select ${organizationId}, s.id, t.id
    from numbered s cross join lateral generate_series(1, s.n % 3 + 1) i join tags t on t.n = (s.n * 7 + i * 5) % t.all_of_them
    where s.n % 5 <> 0`;
}

/**
 * Comments on three of ten submissions, a quarter of them replies. Inserted before follows, so that they cause no
 * notifications.
 */
async function addComments(sql: Sql, submissionIds: string[], authors: string[]): Promise<void> {
  const random = randomFrom(2);
  const rows: { id: string; submission: string; parent: string | null; author: string; body: string }[] = [];
  for (const submission of submissionIds) {
    if (random() >= 0.3) continue;
    const first = randomUUID();
    const count = 1 + Math.floor(random() * random() * 16);
    for (let n = 0; n < count; n++) {
      rows.push({
        id: n === 0 ? first : randomUUID(),
        submission,
        parent: n > 0 && random() < 0.25 ? first : null,
        author: authors[Math.floor(random() * authors.length)] ?? "",
        body: reply(random),
      });
    }
  }
  for (let from = 0; from < rows.length; from += batch) {
    const some = rows.slice(from, from + batch);
    for (const replies of [false, true]) {
      const level = some.filter(({ parent }) => (parent !== null) === replies);
      await sql`
        insert into public.comments (id, submission_id, parent_id, author_id, body)
        select r.id, r.submission, r.parent, r.author, r.body
        from jsonb_to_recordset(${sql.json(level)}) as r (id uuid, submission uuid, parent uuid, author uuid, body text)`;
    }
  }
}

/** 25 votes each on average, unevenly distributed. Events are suppressed, and counts are set in bulk. */
async function addVotes(sql: Sql, organizationId: string, voters: string[]): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    await transaction`select set_config('feedback.suppress_events', 'on', true)`;
    await transaction`create temp table voters on commit drop as
      select id, ordinality - 1 as n from unnest(${voters}::uuid[]) with ordinality as v (id, ordinality)`;
    await transaction`create unique index on voters (n)`;
    await transaction`analyze voters`;
    await transaction`
      with counted as (
        select s.id, s.created_at, hashtext(s.id::text)::bigint & 2147483647 as hash from public.submissions s
        where s.organization_id = ${organizationId}
      )
      insert into public.votes (organization_id, submission_id, user_id, created_at)
      select ${organizationId}, s.id, v.id, s.created_at + (now() - s.created_at) * (i / 400.0)
      from counted s
        cross join lateral generate_series(1, least(400, (-24 * ln((s.hash % 10007 + 1) / 10008.0))::integer)) i
        join voters v on v.n = (s.hash + i * (s.hash % 1999 + 1)) % ${voters.length}::integer
      on conflict do nothing`;
    await transaction`
      insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
      select organization_id, submission_id, user_id, 'vote', created_at from public.votes on conflict do nothing`;
    await transaction`
      update public.submissions s set vote_count = v.n
      from (select submission_id, count(*) as n from public.votes group by 1) v where v.submission_id = s.id`;
  });
}

async function checkCounts(sql: Sql): Promise<void> {
  const mistakes = await sql`select * from private.count_discrepancies()`;
  if (mistakes.length > 0) throw new Error(`the board was loaded with ${mistakes.length} wrong counts`);
}

/** ANALYZE and VACUUM, as autovacuum would have run. */
async function vacuum(sql: Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables where schemaname in ('public', 'private')`;
  for (const { name } of tables) await sql.unsafe(`vacuum (analyze) ${name}`);
}

export function signIn(stack: Stack, ids: string[]): Promise<Board["callers"]> {
  const secret = new TextEncoder().encode(stack.jwtSecret);
  return Promise.all(
    ids.map(async (id) => ({
      id,
      token: await new SignJWT({ role: "authenticated", aud: "authenticated", iss: tokenIssuer })
        .setProtectedHeader({ alg: "HS256" })
        .setSubject(id)
        .setIssuedAt()
        .setExpirationTime("1d")
        .sign(secret),
    })),
  );
}
