import { Hono } from "hono";
import postgres from "postgres";

// Lower bound for these requests on Postgres: bare tables read by a superuser, without triggers, tags, totals,
// authentication, rate limits or validation.

const sql = postgres(read("DATABASE_URL"), {
  max: Number(read("DATABASE_CONNECTIONS")),
  connection: { session_replication_role: "replica", TimeZone: "UTC" },
});
const organization = read("ORGANIZATION_ID");

const app = new Hono()
  .get("/api/health", (c) => c.text("ok"))
  .get("/api/submissions", async (c) => {
    const column = sql(c.req.query("sort") === "votes" ? "vote_count" : "created_at");
    const [page] = await sql`
      select json_agg(r)::text as data from (
        select id, title, description, type, status, vote_count, comment_count, author_id, category_id, created_at, updated_at
        from public.submissions where organization_id = ${organization} and merged_into_id is null
        order by ${column} desc, id desc limit ${Number(c.req.query("limit") ?? 50)}) r`;
    return json(200, page?.data);
  })
  .get("/api/submissions/search", async (c) => {
    const [found] = await sql`
      select coalesce(json_agg(r), '[]')::text as data from (
        select s.id, s.title, s.description, s.title as shown, left(s.description, 200) as marked
        from private.submission_search f join public.submissions s on s.id = f.submission_id
        where f.lexemes @@ quote_literal(left(${organization}::text, 8) || ${c.req.query("q") ?? ""})::tsquery
        order by s.vote_count desc, s.id desc limit 20) r`;
    return json(200, found?.data);
  })
  .get("/api/submissions/:id", async (c) => {
    const [shown] = await sql`
      select row_to_json(r)::text as data from (
        select s.*, (select p.name from public.profiles p where p.id = s.author_id) as author,
          (select c.name from public.categories c where c.id = s.category_id) as category,
          (select json_agg(m) from (
            select c.id, c.parent_id, c.body, p.name, c.is_official, c.vote_count, c.reply_count, c.created_at, c.updated_at
            from public.comments c join public.profiles p on p.id = c.author_id
            where c.submission_id = s.id and c.parent_id is null
            order by c.is_official desc, c.created_at, c.id limit 50) m) as comments
        from public.submissions s where s.id = ${c.req.param("id")}) r`;
    return json(200, shown?.data);
  })
  .post("/api/submissions/:id/vote", async (c) => {
    const [vote] = await sql`
      with vote as (
        insert into public.votes (organization_id, submission_id, user_id)
        values (${organization}, ${c.req.param("id")}, ${c.req.header("X-User") ?? ""}) returning *)
      update public.submissions s set vote_count = s.vote_count + 1 from vote where s.id = vote.submission_id
      returning json_build_object('submission_id', s.id, 'user_id', vote.user_id, 'vote_count', s.vote_count,
        'created_at', vote.created_at)::text as data`;
    return json(201, vote?.data);
  })
  .post("/api/submissions/:id/comments", async (c) => {
    const { body } = await c.req.json();
    const [comment] = await sql`
      with comment as (
        insert into public.comments (organization_id, submission_id, author_id, body)
        values (${organization}, ${c.req.param("id")}, ${c.req.header("X-User") ?? ""}, ${body}) returning *)
      update public.submissions s set comment_count = s.comment_count + 1 from comment where s.id = comment.submission_id
      returning row_to_json(comment)::text as data`;
    return json(201, comment?.data);
  });

Deno.serve({ port: Number(read("PORT")), hostname: "127.0.0.1", onListen: () => {} }, app.fetch);

function json(status: number, data: string): Response {
  return new Response(`{"data":${data}}`, { status, headers: { "Content-Type": "application/json; charset=utf-8" } });
}

function read(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
