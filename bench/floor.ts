import { Hono } from "hono";
import postgres from "postgres";
import type { Sql, Statement } from "../functions/_shared/database/run.ts";
import { createComment, writtenComment } from "../functions/_shared/statements/comments.ts";
import { listSubmissions, searchSubmissions, submissionDetail } from "../functions/_shared/statements/submissions.ts";
import { castVote, voteResult } from "../functions/_shared/statements/votes.ts";

// The same statements on the same number of connections for a role that sees everything: no authentication, rate limits
// or validation. An upper bound for the service's throughput.

const url = read("DATABASE_URL");
const connections = Number(read("DATABASE_CONNECTIONS"));
const sql = open(connections);
// A transaction needs its own connection while its statements are pipelined.
const idle = Array.from({ length: connections }, () => open(1));
const queue: ((connection: Sql) => void)[] = [];

const app = new Hono()
  .get("/api/health", (c) => c.text("ok"))
  .get("/api/submissions", async (c) => {
    const sort = c.req.query("sort") === "votes" ? "votes" : "created_at";
    const [page] = await one(listSubmissions({ sort, order: "desc", limit: 50, page: 1 }));
    return json(200, `{"data":${page?.data},"meta":{"total":${page?.total}}}`);
  })
  .get("/api/submissions/search", async (c) => {
    const [found] = await one(searchSubmissions({ q: c.req.query("q") ?? "", limit: 20, page: 1 }));
    return json(200, `{"data":${found?.data},"meta":{"total":${found?.total}}}`);
  })
  .get("/api/submissions/:id", async (c) => {
    const [shown] = await one(submissionDetail(c.req.param("id"), ["author", "category", "tags", "comments"], "en"));
    return json(200, `{"data":${shown?.data}}`);
  })
  .post("/api/submissions/:id/vote", async (c) => {
    const id = c.req.param("id");
    const [vote] = await transaction(c.req.header("X-User") ?? "", castVote(id, {}, false), voteResult(id, {}));
    return json(201, `{"data":${vote?.data}}`);
  })
  .post("/api/submissions/:id/comments", async (c) => {
    const newId = crypto.randomUUID();
    const { body } = await c.req.json();
    const comment = createComment(newId, c.req.param("id"), { body }, false);
    const [written] = await transaction(c.req.header("X-User") ?? "", comment, writtenComment(newId));
    return json(201, `{"data":${written?.data}}`);
  });

Deno.serve({ port: Number(read("PORT")), hostname: "127.0.0.1", onListen: () => {} }, app.fetch);

function open(max: number): Sql {
  return postgres(url, {
    max,
    connection: { "feedback.organization_id": read("ORGANIZATION_ID"), TimeZone: "UTC" },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  });
}

function one<Row>(statement: Statement<Row>) {
  return statement(sql);
}

/** The write and the response query, pipelined. Triggers need the author's id. */
async function transaction<Row>(user: string, write: Statement, answer: Statement<Row>): Promise<readonly Row[]> {
  const connection = idle.pop() ?? (await new Promise<Sql>((resolve) => queue.push(resolve)));
  try {
    const claims = JSON.stringify({ sub: user, role: "authenticated" });
    const [, , , rows] = await Promise.all([
      connection`begin`,
      connection`select set_config('request.jwt.claims', ${claims}, true)`,
      write(connection),
      answer(connection),
      connection`commit`,
    ]);
    return rows;
  } finally {
    const next = queue.shift();
    if (next) next(connection);
    else idle.push(connection);
  }
}

function json(status: number, body: string): Response {
  return new Response(body, { status, headers: { "Content-Type": "application/json; charset=utf-8" } });
}

function read(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
