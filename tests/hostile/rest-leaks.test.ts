import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { api, sql, stack } from "../stack.ts";
import { type RestCall, rest, rpc } from "./rest.ts";
import { makeWorld } from "./world.ts";

const world = await makeWorld();
const [open, pending, rejected, closed] = await Promise.all([
  world.scene("open"),
  world.scene("waiting"),
  world.scene("waiting"),
  world.scene("closed"),
]);
await sql`update comments set moderation_state = 'rejected' where id = ${rejected.comment}`;
await sql`update submissions set moderation_state = 'rejected' where id = ${rejected.submission}`;
// A vote on each of them, whose voter must stay hidden.
for (const { submission } of [open, pending, closed]) {
  await sql`insert into votes (submission_id, user_id) values (${submission}, ${world.people.member.id})`;
}

/** Requested by an anonymous caller, by another user and by home's admin. */
const askers = ["anon", "stranger", "admin"] as const;
const ask = (path: string, headers: Record<string, string> = {}) =>
  Promise.all(askers.map((role) => rest(path, { token: world.token(role), headers })));

/** Refused by the grants, or because the aggregate, spread or relationship does not exist for anybody. */
async function expectRefused(path: string) {
  for (const { code, text } of await ask(path))
    expect(code, `${path} → ${text.slice(0, 300)}`).toMatch(/^(42501|PGRST(119|123|200))$/);
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
    await expectRefused(path.replaceAll("VOTER", world.people.member.id).replaceAll("AUTHOR", open.author_id));
  });
});

describe("times that a vote and the profile of its voter share", () => {
  it.each([
    "votes?select=created_at",
    "votes?select=id&created_at=gt.2020-01-01",
    "votes?select=id&order=created_at",
    "submissions?select=id,votes(created_at)",
    "comment_votes?select=created_at",
    "comment_votes?select=id&order=created_at",
    "profiles?select=created_at",
    "profiles?select=id&created_at=gt.2020-01-01",
    "profiles?select=id&order=created_at",
    "comments?select=id,author:profiles!author_id(created_at)",
    "comments?select=id,profiles!author_id!inner(id)&profiles.created_at=gt.2020-01-01",
  ])("are not revealed by %s", expectRefused);
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
    "submissions?select=id,author:profiles!author_id(id,email)&order=author(email)",
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
    await expectRefused(path);
  });

  it.each([
    ["POST", "votes?select=user_id", { submission_id: open.submission }],
    ["POST", "votes", { submission_id: open.submission }],
    ["DELETE", `votes?submission_id=eq.${open.submission}&user_id=eq.${world.people.member.id}`, undefined],
    ["DELETE", `votes?submission_id=eq.${open.submission}&select=user_id`, undefined],
    ["PATCH", `profiles?id=eq.${world.people.admin.id}&select=id,email`, { name: "Admin" }],
    ["POST", "status_changes?select=notify", { submission_id: open.submission, new_status: "declined" }],
    [
      "POST",
      "status_changes?select=profiles!changed_by(email)",
      { submission_id: open.submission, new_status: "open" },
    ],
    ["PATCH", `surveys?id=eq.${open.survey}&select=family_id`, { title: "Another title" }],
    ["DELETE", `surveys?id=eq.${open.survey}&select=id,organizations(allowed_origins)`, undefined],
  ] as const)("are not returned by %s %s, which then does nothing", async (method, path, body) => {
    const headers = { prefer: "return=representation" };
    expect((await rest(path, { method, token: world.token("admin"), headers, body })).code).toBe("42501");
    expect(
      await sql`
      select 1 from surveys join submissions s on s.id = ${open.submission} and s.status = 'planned'
      where surveys.id = ${open.survey} and surveys.title = 'What do you think?'`,
    ).toHaveLength(1);
  });

  it.each([
    ["rpc/create_comment", { submission_id: open.submission, body: "" }],
    ["rpc/create_submission", { organization_id: open.organization_id, title: "x", description: "y", type: "z" }],
    ["profiles", { id: open.author_id }],
    ["rpc/update_profile", { changes: { name: "x".repeat(200) } }],
    ["rpc/vote", { submission_id: closed.submission }],
  ])("are not in the error of %s", async (path, body) => {
    const { code, text } = await rest(path, { token: world.token("stranger"), body });
    expect(code).toMatch(/^(23514|42501|FB404)$/);
    expect(text).not.toMatch(/@test\.example|\bat .*\.(js|ts):\d+/);
  });
});

describe("hidden rows", () => {
  it.each([
    "submissions?select=id&organization_id=eq.CLOSED",
    "submissions?select=id&id=in.(SUBMISSION,WAITING)",
    "submissions?select=id&is_public=is.false&organization_id=in.(CLOSED,HOME)",
    "submissions?select=id&moderation_state=neq.approved",
    "comments?select=id&submission_id=in.(SUBMISSION,WAITING)",
    "votes?select=id&submission_id=in.(SUBMISSION,WAITING)",
    "comment_votes?select=id&submission_id=in.(SUBMISSION,WAITING)",
    "status_changes?select=id&submission_id=in.(SUBMISSION,WAITING)",
    "submission_tags?select=tag_id&submission_id=in.(SUBMISSION,WAITING)",
    "organizations?select=id&visibility=eq.private",
    "organizations?select=id&id=eq.CLOSED",
    "organizations?select=id&or=(id.eq.CLOSED,slug.eq.CLOSEDSLUG)",
    "categories?select=id&organization_id=eq.CLOSED",
    "tags?select=id&organization_id=eq.CLOSED",
    "profiles?select=id&id=in.(COLLEAGUE,INSIDER,NEWCOMER)",
    "organizations?select=id,submissions!inner(id)&id=eq.CLOSED",
    "submissions?select=id,comments!inner(id)&id=in.(SUBMISSION,WAITING)",
  ])("are not returned by %s", async (path) => {
    for (const role of ["anon", "stranger", "rival"] as const) {
      const answer = await rest(filled(path), { token: world.token(role), headers: { prefer: "count=exact" } });
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
    ["profiles?select=submissions!author_id(count)&id=eq.AUTHOR", [{ submissions: [{ count: 1 }] }]],
    ["categories?select=submissions(count)&id=eq.CATEGORY", []],
  ])("are not counted by %s", async (path, expected) => {
    for (const role of ["anon", "stranger", "rival"] as const) {
      const answer = await rest(filled(path), { token: world.token(role) });
      expect([answer.status, answer.rows], role).toEqual([200, expected]);
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
  const { home, rival, closed: board } = world;
  const idea = {
    organization_id: home.id,
    title: "For whom?",
    description: "A description long enough.",
    type: "idea",
  };
  const ofRival = { organization_id: rival.id };
  const question = { ...ofRival, type: "text", text: "Perhaps" };
  const option = { ...ofRival, survey_id: open.draft, text: "Perhaps" };
  const audience = { ...ofRival, title: "For whom?", audience: "voters" };
  const reply = { submission_id: open.submission, body: "Hello?" };
  const submissions = [closed.submission, pending.submission, rejected.submission];
  const comments = [closed.comment, pending.comment, rejected.comment];
  const surveys = [closed.survey, closed.draft, open.draft];
  const of = (scenes: (keyof typeof closed)[]) => scenes.map((name) => String(closed[name]));

  type Act = [path: string, named: string, more: object, hidden: string[]];
  /** Status, code, text and headers. */
  async function answerTo(path: string, id: string, call: RestCall) {
    const { status, code, text, headers } = await rest(path, call);
    const kept = [...headers].filter(([name]) => !/^(date|x-request-id|content-length)$/.test(name));
    return [status, code, text, ...kept].map((part) => String(part).replaceAll(id, "ID"));
  }
  async function expectAlike(path: string, named: string, more: object, hidden: string[]) {
    for (const role of ["stranger", "rival"] as const) {
      const send = (id: string) => {
        const body = { ...more, [named]: /^(submission_)?ids$/.test(named) ? [id] : id };
        return answerTo(path, id, { token: world.token(role), body });
      };
      const unknown = await send(randomUUID());
      // The refusal is not caused by a limit or by arguments that do not exist.
      expect(`${unknown[1]} ${unknown[2]}`).toMatch(/FB404|42501|23503|false|^null (0|"ID"|\[\])$/);
      for (const id of hidden) expect(await send(id), role).toEqual(unknown);
    }
  }

  it.each<Act>([
    ["rpc/vote", "submission_id", {}, submissions],
    ["rpc/unvote", "submission_id", {}, submissions],
    ["rpc/follow", "submission_id", {}, submissions],
    ["rpc/unfollow", "submission_id", {}, submissions],
    ["rpc/update_submission", "id", { changes: { title: "" } }, submissions],
    ["rpc/update_submission", "id", { changes: { category_id: closed.category } }, submissions],
    ["rpc/my_votes", "submission_ids", {}, submissions],
    ["rpc/search_submissions", "organization_id", { q: "world" }, [board.id]],
    ["rpc/delete_submission", "id", {}, submissions],
    ["rpc/create_submission", "organization_id", idea, [board.id]],
    ["rpc/create_submission", "category_id", idea, [closed.category]],
    ["rpc/create_comment", "submission_id", reply, submissions],
    ["rpc/create_comment", "parent_id", reply, comments],
    ["rpc/update_comment", "id", { body: "" }, comments],
    ["rpc/delete_comment", "id", {}, comments],
    ["rpc/vote_comment", "comment_id", {}, comments],
    ["rpc/unvote_comment", "comment_id", {}, comments],
    ["rpc/start_survey", "survey_id", {}, surveys],
    ["rpc/submit_survey_response", "survey_id", { answers: closed.answers }, [closed.answered, ...surveys.slice(1)]],
    ["rpc/mark_notifications_read", "ids", {}, [open.notification]],
    ["status_changes", "submission_id", { new_status: "planned" }, submissions],
    ["status_changes", "submission_id", { ...ofRival, new_status: "open" }, submissions],
    ["submission_tags", "submission_id", { ...ofRival, tag_id: closed.otherTag }, submissions],
    ["submission_tags", "submission_id", { ...ofRival, tag_id: closed.tag }, submissions],
    ["submission_tags", "tag_id", { ...ofRival, submission_id: closed.submission }, [closed.tag]],
    ["survey_questions", "survey_id", { ...question, position: 1 }, surveys],
    ["survey_questions", "survey_id", { ...question, position: 9 }, surveys],
    ["survey_options", "survey_id", { ...option, question_id: open.question, position: 9 }, surveys],
    ["survey_options", "question_id", { ...option, position: 9 }, [closed.question, open.question]],
    ["survey_options", "question_id", { ...option, text: "Other", position: 1 }, [closed.question]],
    ["surveys", "audience_submission_id", audience, submissions],
    ["surveys", "id", { ...ofRival, title: "For whom?" }, [closed.draft]],
  ])("by %s with its %s %j", expectAlike);

  it("by an option in a survey of one's own, for a question of others", async () => {
    const [{ id: survey_id } = { id: "" }] = await sql<{ id: string }[]>`
      insert into surveys (organization_id, title) values (${rival.id}, 'Own') returning id`;
    for (const more of [{ position: 9 }, { text: "Other", position: 1 }])
      await expectAlike("survey_options", "question_id", { ...option, survey_id, ...more }, [
        closed.question,
        open.question,
      ]);
  });

  it.each<[string, string[], object?]>([
    ["surveys?id", surveys.slice(1), { title: "" }],
    ["survey_questions?id", of(["question"]), { position: 0 }],
    ["survey_questions?survey_id", surveys, { position: 0 }],
    ["survey_options?id", of(["option"]), { position: 0 }],
    ["submission_tags?tag_id", of(["tag"])],
    ["status_changes?id", of(["status_change"])],
  ])("by a change of %s", async (filter, hidden, body) => {
    for (const role of ["stranger", "rival"] as const) {
      const send = (id: string, call: RestCall) =>
        answerTo(`${filter}=eq.${id}`, id, { ...call, token: world.token(role) });
      const calls: RestCall[] = [
        { method: "DELETE" },
        { method: "GET", headers: { prefer: "count=exact" } },
        ...(body ? [{ method: "PATCH" as const, body }] : []),
      ];
      for (const call of calls)
        for (const id of hidden) expect(await send(id, call), role).toEqual(await send(randomUUID(), call));
    }
  });

  it("by every way of naming an organization to the API", async () => {
    const names = [world.closed.id, world.closed.slug, world.closed.slug.toUpperCase()];
    const answerTo = async (name: string, by: "header" | "query") => {
      const path = by === "query" ? `/api/submissions?organization=${encodeURIComponent(name)}` : "/api/submissions";
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
  it("does not reveal votes of others, for any ids", async () => {
    const submission_ids = [open.submission, pending.submission, closed.submission];
    const own = await rest("rpc/my_votes", { token: world.token("stranger"), body: { submission_ids } });
    expect([own.status, own.rows]).toEqual([200, []]);
    const ofOther = { submission_ids, user_id: world.people.member.id };
    expect((await rpc("my_votes", ofOther, { token: world.token("stranger") })).code).toBe("PGRST202");
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
    const token = world.token("admin");
    const answers = [
      ...(await ask("users?select=*", { "accept-profile": schema })),
      ...(await ask("submissions?select=id", { "accept-profile": schema })),
      await rest("submissions", { token, headers: { "content-profile": schema }, body: { id: randomUUID() } }),
      await rpc("take", {}, { token, headers: { "content-profile": schema } }),
    ];
    for (const { code } of answers) expect(code).toBe("PGRST106");
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
    for (const path of [table, `private.${table}`, `"private"."${table}"`])
      for (const answer of await ask(`${encodeURIComponent(path)}?select=*`)) expect(answer.status, path).toBe(404);
  });
});

describe("the gateway", () => {
  it.each(["/.env", "/stack.json", "/studio", "/storage/v1/bucket"])("serves nothing at %s", async (path) => {
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
});

/** Sent unchanged: fetch would normalize the path. */
async function rawGet(path: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
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
