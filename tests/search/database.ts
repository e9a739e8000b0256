import postgres from "postgres";
import { afterAll, beforeAll } from "vitest";
import type { Sql } from "../../functions/_shared/database/run.ts";
import type { DatabaseServer } from "../../local/postgres/database-server.ts";
import { startEmptyDatabase } from "../data-template.ts";

/** A migrated database for the tests of one file, with one connection as its owner. */
export function temporaryDatabase(): { sql: () => Sql; superuserUrl: () => string } {
  let sql: Sql;
  let database: DatabaseServer;
  beforeAll(async () => {
    database = await startEmptyDatabase();
    sql = postgres(database.ownerUrl, {
      max: 1,
      onnotice: () => undefined,
      types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    }) as unknown as Sql;
    await sql`set jit = off`;
  }, 60_000);
  afterAll(async () => {
    await sql?.end({ timeout: 5 });
    await database?.stop();
  });
  return { sql: () => sql, superuserUrl: () => database.superuserUrl };
}

/** A public board with these submissions; returns its id and the ids of the submissions. */
export async function newBoard(
  sql: Sql,
  name: string,
  submissions: { title: string; description: string; votes?: number }[],
): Promise<{ id: string; ids: string[] }> {
  const [board] = await sql<[{ id: string }]>`
    insert into public.organizations (name, slug, visibility) values (${name}, ${name}, 'public') returning id`;
  const [author] = await sql<[{ id: string }]>`
    insert into public.profiles (id, name) values (gen_random_uuid(), 'Author') returning id`;
  const rows = await sql<{ id: string }[]>`
    insert into public.submissions (organization_id, author_id, title, description, type)
    select ${board.id}, ${author.id}, t.title, t.description, 'idea'
    from jsonb_to_recordset(${JSON.stringify(submissions)}::text::jsonb) t (title text, description text) returning id`;
  const ids = rows.map(({ id }) => id);
  const votes = submissions.map(({ votes = 1 }) => votes);
  if (votes.some((count) => count !== 1))
    await sql`update public.submissions s set vote_count = v.votes
      from unnest(${ids}::uuid[], ${votes}::integer[]) v (id, votes) where s.id = v.id and s.vote_count <> v.votes`;
  return { id: board.id, ids };
}

/** Runs `use` as an anonymous caller of that board. */
export async function asAnonymous<Result>(sql: Sql, board: string, use: () => Promise<Result>): Promise<Result> {
  await sql`select set_config('feedback.organization_id', ${board}, false)`;
  await sql`set role anon`;
  try {
    return await use();
  } finally {
    await sql`reset role`;
  }
}
