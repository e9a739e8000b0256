import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { api, sql, stack } from "../stack.ts";
import { type RestAnswer, rest, rpc } from "./rest.ts";
import { makeWorld } from "./world.ts";

const world = await makeWorld();
const [open, pending, closed] = await Promise.all([
  world.scene("open"),
  world.scene("waiting"),
  world.scene("closed"),
]);
// A voter to be hidden, on each of them.
for (const { submission } of [open, pending, closed]) {
  await sql`insert into votes (submission_id, user_id) values (${submission}, ${world.people.rival.id})`;
}

/** Requested by an anonymous caller, by another user and by home's admin. */
const askers = ["anon", "stranger", "admin"] as const;
const ask = (path: string, headers: Record<string, string> = {}) =>
  Promise.all(askers.map((role) => rest(path, { token: world.token(role), headers })));

function expectRefused(answers: RestAnswer[], path: string) {
  for (const answer of answers) {
    expect(answer.status, `${path} → ${answer.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
    expect(answer.status, `${path} → ${answer.text.slice(0, 300)}`).toBeLessThan(500);
  }
}

describe("the identity of voters", () => {
  it.each([
    "votes?select=*",
    "votes?select=user_id",
    "votes?select=id,who:user_id",
    "votes?select=user_id::text",
    "votes?select=user_id.count()",
    "votes?select=user_id,count()",
    "votes?select=id&user_id=eq.VOTER",
    "votes?select=id&user_id=in.(VOTER)",
    "votes?select=id&user_id=not.is.null",
    "votes?select=id&not.or=(user_id.eq.VOTER)",
    "votes?select=id&or=(id.is.null,user_id.eq.VOTER)",
    "votes?select=id&and=(or(user_id.eq.VOTER,id.is.null),id.not.is.null)",
    "votes?select=id&order=user_id",
    "votes?select=id&order=created_at,user_id.desc",
    "votes?select=id,profiles(name)",
    "votes?select=id,profiles!votes_user_id_fkey(id)",
    "votes?select=id,...profiles!user_id(id)",
    "votes?select=id,voter:user_id(id,name)",
    "submissions?select=*,votes(*)",
    "submissions?select=id,votes(user_id)",
    "submissions?select=id,votes!inner(id)&votes.user_id=eq.VOTER",
    "submissions?select=id,votes(id)&votes.order=user_id",
    "submissions?select=id,...votes(user_id)",
    "profiles?select=id,votes(id)",
    "profiles?select=id,votes(count)&id=eq.AUTHOR",
    "profiles?select=id,votes!user_id(submission_id)",
    "profiles?select=id,votes!inner(submission_id)",
    "submissions?select=id,profiles!votes(id)",
    "comment_votes?select=*",
    "comment_votes?select=id&user_id=eq.VOTER",
    "comment_votes?select=id&order=user_id",
    "comments?select=id,comment_votes(user_id)",
    "comments?select=id,profiles!comment_votes(id)",
    "profiles?select=id,comment_votes(id)",
  ])("is not revealed by %s", async (path) => {
    const asked = path.replaceAll("VOTER", world.people.rival.id).replaceAll("AUTHOR", open.author_id);
    expectRefused(await ask(asked), path);
  });
});

describe("e-mail addresses and internals", () => {
  it.each([
    "profiles?select=*",
    "profiles?select=email",
    "profiles?select=id,mail:email",
    "profiles?select=id&email=like.*",
    "profiles?select=id&email=ilike.*@*",
    "profiles?select=id&or=(email.like.a*,name.eq.x)",
    "profiles?select=id&order=email",
    "profiles?select=email.max()",
    "profiles?select=auth_user_id",
    "profiles?select=id&organization_id=not.is.null",
    "submissions?select=id,author:profiles!author_id(email)",
    "submissions?select=id,author:profiles!author_id(*)",
    "submissions?select=id,...profiles!author_id(email)",
    "submissions?select=id,profiles!author_id!inner(id)&profiles.email=like.*",
    "submissions?select=id,profiles!author_id(id)&order=profiles(email)",
    "comments?select=id,author:profiles!author_id(email)",
    "status_changes?select=id,profiles!changed_by(email)",
    "organizations?select=*",
    "organizations?select=allowed_origins",
    "organizations?select=id&max_submissions=is.null",
    "organizations?select=id,api_keys(*)",
    "organizations?select=id,outbox(*)",
    "profiles?select=id,users(email)",
    "profiles?select=id,auth_user_id(email)",
    "notifications?select=event_id",
    "status_changes?select=notify",
  ])("are not revealed by %s", async (path) => {
    expectRefused(await ask(path), path);
  });

  it("are not returned by an insert or a delete", async () => {
    const token = world.token("stranger");
    const headers = { prefer: "return=representation" };
    const rejected = await rest("votes?select=user_id", {
      token,
      headers,
      body: { submission_id: open.submission },
    });
    expect(rejected.code).toBe("42501");
    const whole = await rest("votes", { token, headers, body: { submission_id: open.submission } });
    expect(whole.code).toBe("42501");
    const own = await rest(`profiles?id=eq.${world.people.stranger.id}&select=id,email`, {
      method: "PATCH",
      token,
      headers,
      body: { name: "Stranger" },
    });
    expect(own.code).toBe("42501");
    const gone = await rest(`votes?submission_id=eq.${open.submission}&user_id=eq.${world.people.rival.id}`, {
      method: "DELETE",
      token,
      headers,
    });
    expect(gone.code).toBe("42501");
  });

  it("are not in error messages", async () => {
    const token = world.token("stranger");
    const { author } = world.people;
    const tries = await Promise.all([
      rpc("create_comment", { submission_id: open.submission, body: "" }, { token }),
      rpc(
        "create_submission",
        { organization_id: open.organization_id, title: "x", description: "y", type: "z" },
        { token },
      ),
      rest("profiles", { token, body: { id: author.id } }),
      rest(`profiles?id=eq.${author.id}`, { method: "PATCH", token, body: { name: "x".repeat(200) } }),
      rpc("update_profile", { changes: { name: "x".repeat(200) } }, { token }),
      rpc("vote", { submission_id: closed.submission }, { token }),
    ]);
    for (const { text } of tries) {
      expect(text).not.toContain(author.email);
      expect(text).not.toContain("@test.example");
      expect(text).not.toMatch(/\bat .*\.(js|ts):\d+/);
    }
  });
});

describe("hidden rows", () => {
  it.each([
    ["submissions?select=id&organization_id=eq.CLOSED"],
    ["submissions?select=id&id=in.(SUBMISSION,WAITING)"],
    ["submissions?select=id&is_public=is.false&organization_id=in.(CLOSED,HOME)"],
    ["submissions?select=id&moderation_state=neq.approved"],
    ["comments?select=id&submission_id=in.(SUBMISSION,WAITING)"],
    ["votes?select=id&submission_id=in.(SUBMISSION,WAITING)"],
    ["comment_votes?select=id&submission_id=in.(SUBMISSION,WAITING)"],
    ["status_changes?select=id&submission_id=in.(SUBMISSION,WAITING)"],
    ["submission_tags?select=tag_id&submission_id=in.(SUBMISSION,WAITING)"],
    ["organizations?select=id&visibility=eq.private"],
    ["organizations?select=id&id=eq.CLOSED"],
    ["organizations?select=id&or=(id.eq.CLOSED,slug.eq.CLOSEDSLUG)"],
    ["categories?select=id&organization_id=eq.CLOSED"],
    ["tags?select=id&organization_id=eq.CLOSED"],
    ["profiles?select=id&id=in.(COLLEAGUE,INSIDER,NEWCOMER)"],
    ["organizations?select=id,submissions!inner(id)&id=eq.CLOSED"],
    ["submissions?select=id,comments!inner(id)&id=in.(SUBMISSION,WAITING)"],
  ])("are not returned by %s", async (path) => {
    for (const role of ["anon", "stranger", "rival"] as const) {
      const answer = await rest(filled(path), {
        token: world.token(role),
        headers: { prefer: "count=exact" },
      });
      expect([answer.status, answer.rows], role).toEqual([200, []]);
      expect(answer.headers.get("content-range") ?? "*/0", role).toMatch(/^\*\/0$/);
    }
  });

  it.each([
    ["organizations?select=submissions(count)&id=eq.HOME", [{ submissions: [{ count: 1 }] }]],
    [
      "organizations?select=comments:submissions(comments(count))&id=eq.HOME",
      [{ comments: [{ comments: [{ count: 1 }] }] }],
    ],
    ["submissions?select=count()&organization_id=in.(HOME,CLOSED)", [{ count: 1 }]],
    ["votes?select=count()&submission_id=in.(OPEN,WAITING,SUBMISSION)", [{ count: 2 }]],
    ["comments?select=count()&organization_id=in.(HOME,CLOSED)", [{ count: 1 }]],
    ["profiles?select=submissions!author_id(count)&id=eq.AUTHOR", [{ submissions: [{ count: 1 }] }]],
    ["categories?select=submissions(count)&id=eq.CATEGORY", []],
  ])("are not counted by %s", async (path, expected) => {
    for (const role of ["anon", "stranger", "rival"] as const) {
      const answer = await rest(filled(path), { token: world.token(role) });
      // Aggregates may be disabled; their counts must not be wrong.
      if (answer.status === 400) expect(answer.code).toMatch(/^PGRST/);
      else expect(answer.rows, role).toEqual(expected);
    }
  });

  it("follows and notifications of others are not returned with the caller's own", async () => {
    const token = world.token("admin");
    for (const path of [
      `submissions?select=id,follows(user_id),notifications(id)&id=eq.${open.submission}`,
      `profiles?select=id,follows(submission_id),notifications!user_id(id)&id=eq.${open.author_id}`,
    ]) {
      const answer = await rest(path, { token });
      expect(answer.rows).toMatchObject([{ follows: [], notifications: [] }]);
    }
  });

  const filled = (path: string) =>
    path
      .replace("CLOSEDSLUG", world.closed.slug)
      .replaceAll("CLOSED", world.closed.id)
      .replaceAll("HOME", world.home.id)
      .replaceAll("SUBMISSION", closed.submission)
      .replaceAll("WAITING", pending.submission)
      .replaceAll("OPEN", open.submission)
      .replaceAll("AUTHOR", open.author_id)
      .replaceAll("CATEGORY", closed.category)
      .replaceAll("COLLEAGUE", world.colleague.id)
      .replaceAll("INSIDER", world.people.insider.id)
      .replaceAll("NEWCOMER", world.newcomer.id);
});

describe("missing and invisible rows have the same response", () => {
  const acts: [string, (id: string) => unknown, string][] = [
    ["a vote", (submission_id) => ({ submission_id }), "votes"],
    ["a follow", (submission_id) => ({ submission_id }), "follows"],
    ["a comment", (submission_id) => ({ submission_id, body: "Hello?" }), "comments"],
    ["a status change", (submission_id) => ({ submission_id, new_status: "planned" }), "status_changes"],
    ["the same status", (submission_id) => ({ submission_id, new_status: "planned" }), "status_changes"],
  ];
  it.each(acts)("by %s through the data API", async (_, body, table) => {
    for (const role of ["stranger", "rival"] as const) {
      const token = world.token(role);
      const unknown = await rest(table, { token, body: body(randomUUID()) });
      for (const hidden of [closed.submission, pending.submission]) {
        const answer = await rest(table, { token, body: body(hidden) });
        expect([answer.status, answer.text], role).toEqual([unknown.status, unknown.text]);
        expect(answer.status).toBeGreaterThanOrEqual(400);
      }
    }
  });

  it("by a vote for a comment, a reply, a tag", async () => {
    const token = world.token("rival");
    const tries: [string, (comment: string) => unknown][] = [
      ["comment_votes", (comment_id) => ({ comment_id })],
      ["comments", (parent_id) => ({ submission_id: open.submission, parent_id, body: "Hello?" })],
    ];
    for (const [table, body] of tries) {
      const unknown = await rest(table, { token, body: body(randomUUID()) });
      for (const { comment } of [closed, pending]) {
        const answer = await rest(table, { token, body: body(comment) });
        expect([answer.status, answer.text], table).toEqual([unknown.status, unknown.text]);
      }
    }
  });

  it("by a submission for a private organization", async () => {
    const body = (organization_id: string) => ({
      organization_id,
      title: "For whom?",
      description: "A description long enough.",
      type: "idea",
    });
    const token = world.token("stranger");
    const [unknown, hidden] = await Promise.all([
      rest("submissions", { token, body: body(randomUUID()) }),
      rest("submissions", { token, body: body(world.closed.id) }),
    ]);
    expect([hidden.status, hidden.text]).toEqual([unknown.status, unknown.text]);
  });

  it("by every way of naming an organization to the API", async () => {
    const names = [world.closed.id, world.closed.slug, world.closed.slug.toUpperCase()];
    const answerTo = async (name: string, by: "header" | "query") => {
      const path =
        by === "query" ? `/api/submissions?organization=${encodeURIComponent(name)}` : "/api/submissions";
      const answer = await api(path, { ...(by === "header" ? { headers: { "x-organization": name } } : {}) });
      return [answer.status, answer.text];
    };
    for (const by of ["header", "query"] as const) {
      const unknown = await answerTo(randomUUID(), by);
      expect(unknown[0]).toBe(404);
      for (const name of names) expect(await answerTo(name, by), name).toEqual(unknown);
    }
    for (const kind of ["categories", "tags"]) {
      const [unknown, hidden] = await Promise.all([
        api(`/api/organizations/${randomUUID()}/${kind}`),
        api(`/api/organizations/${world.closed.id}/${kind}`),
      ]);
      expect([hidden.status, hidden.text]).toEqual([unknown.status, unknown.text]);
    }
  });

  it.each([
    ["GET", "", undefined],
    ["GET", "/comments", undefined],
    ["GET", "/status-changes", undefined],
    ["GET", "/voters", undefined],
    ["POST", "/vote", {}],
    ["DELETE", "/vote", undefined],
    ["POST", "/follow", {}],
    ["DELETE", "/follow", undefined],
    ["POST", "/comments", { body: "Hello?" }],
    ["PATCH", "", { title: "A new title" }],
    ["PATCH", "/status", { status: "planned" }],
    ["DELETE", "", undefined],
  ])("by %s /api/submissions/:id%s", async (method, rest, body) => {
    const call = { method, body, token: world.people.rival.token };
    const unknown = await api(`/api/submissions/${randomUUID()}${rest}`, call);
    expect(unknown.status).toBe(404);
    for (const { submission } of [closed, pending]) {
      const hidden = await api(`/api/submissions/${submission}${rest}`, call);
      expect([hidden.status, hidden.text]).toEqual([unknown.status, unknown.text]);
    }
  });
});

describe("my_votes", () => {
  it.each([
    [{ submission_ids: [], user_id: "x" }],
    [{ submission_id: "x" }],
    [{}],
    [{ submission_ids: [], "private.caller_id": "x" }],
  ])("rejects other arguments: %j", async (body) => {
    expect((await rest("rpc/my_votes", { token: world.token("stranger"), body })).code).toBe("PGRST202");
  });

  it("does not reveal votes of others, for any ids", async () => {
    const submission_ids = [open.submission, pending.submission, closed.submission];
    const own = await rest("rpc/my_votes", { token: world.token("stranger"), body: { submission_ids } });
    expect([own.status, own.rows]).toEqual([200, []]);
    for (const submission_ids of ["x", ["x"], null, "{,}", [[open.submission]]]) {
      const answer = await rest("rpc/my_votes", { token: world.token("stranger"), body: { submission_ids } });
      expect(answer.status, JSON.stringify(submission_ids)).toBeLessThan(500);
      expect(answer.rows).toEqual([]);
    }
    expect((await rest("rpc/my_votes", { body: { submission_ids } })).code).toBe("42501");
  });
});

describe("other schemas", () => {
  const names = [
    "private",
    "auth",
    "realtime",
    "extensions",
    "storage",
    "pg_catalog",
    "information_schema",
    "supabase_migrations",
  ];
  it.each(names)("%s is not exposed by profile headers", async (schema) => {
    for (const table of ["api_keys", "users", "messages", "outbox", "pg_authid", "submissions"]) {
      for (const answer of await ask(`${table}?select=*`, { "accept-profile": schema }))
        expect(answer.code).toBe("PGRST106");
      const write = await rest(table, {
        token: world.token("admin"),
        headers: { "content-profile": schema },
        body: { id: randomUUID() },
      });
      expect(write.code).toBe("PGRST106");
    }
    const call = await rest("rpc/take", {
      token: world.token("admin"),
      headers: { "content-profile": schema },
      body: {},
    });
    expect(call.code).toBe("PGRST106");
  });

  it.each([
    "api_keys",
    "outbox",
    "rate_counters",
    "submission_search",
    "users",
    "sessions",
    "messages",
    "schema_migrations",
    "pg_authid",
    "pg_class",
  ])("%s is not reachable, with or without its schema", async (table) => {
    for (const path of [
      table,
      `private.${table}`,
      `auth.${table}`,
      `private__${table}`,
      `"private"."${table}"`,
      `public/../private/${table}`,
    ]) {
      for (const answer of await ask(`${encodeURIComponent(path)}?select=*`))
        expect(answer.status, path).toBe(404);
    }
  });
});

describe("the gateway", () => {
  it.each([
    "/_system/config",
    "/_system/info",
    "/_system/introspect",
    "/_system/ping",
    "/rest/v1/../../_system/config",
    "/rest/v1/%2e%2e/%2e%2e/_system/config",
    "//_system/config",
    "/auth/v1/../../_system/info",
    "/rest/v1/..%2f..%2f_system/config",
    "/auth/v1/..%2f..%2f_system/info",
    "/_SYSTEM/config",
    "/.env",
    "/stack.json",
    "/functions/v1/../../_system/info",
    "/studio",
    "/storage/v1/bucket",
  ])("serves nothing at %s", async (path) => {
    for (const apikey of [stack.publishable_key, stack.secret_key]) {
      const answer = await rawGet(path, { apikey });
      expect(answer.status, answer.text.slice(0, 200)).toBeGreaterThanOrEqual(400);
      expect(answer.text).not.toMatch(/jwt_secret|secret_key|postgresql:|introspection/);
    }
  });

  it.each(["/auth/v1/admin/users", "/auth/v1/admin/generate_link", "/auth/v1/invite", "/auth/v1/audit"])(
    "has no admin API at %s",
    async (path) => {
      for (const token of [undefined, world.people.admin.token]) {
        const answer = await rawGet(path, {
          apikey: stack.publishable_key,
          ...(token ? { authorization: `Bearer ${token}` } : {}),
        });
        expect([401, 403, 404, 405]).toContain(answer.status);
      }
    },
  );

  it("rejects data API requests without a key", async () => {
    for (const path of ["/rest/v1/submissions?select=id", "/rest/v1/", "/rest/v1/rpc/my_votes"]) {
      expect((await rawGet(path, {})).status, path).toBe(401);
      expect((await rawGet(path, { apikey: "sb_secret_made_up" })).status, path).toBe(401);
    }
  });
});

/** Sent unchanged: fetch would normalize the path. */
async function rawGet(
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(stack.supabase_url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path, headers }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end();
  });
}
