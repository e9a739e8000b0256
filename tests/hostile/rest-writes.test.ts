import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { only } from "../api/world.ts";
import { sql } from "../stack.ts";
import { insertBy, type RestCall, rest, rpc } from "./rest.ts";
import { makeWorld, type Scene } from "./world.ts";

const world = await makeWorld();
const open: Scene = await world.scene("open");
const rivalScene: Scene = await world.scene("closed");

const text = {
  title: "Written by an attacker",
  description: "A description that is long enough.",
  type: "idea",
};

/** Every row that could have been changed, as one text. */
async function everything(): Promise<string> {
  const [row] = await sql<{ state: string }[]>`
    select jsonb_build_array(
      (select jsonb_agg(to_jsonb(o) order by id) from organizations o where id in (${world.home.id}, ${world.closed.id})),
      (select jsonb_agg(to_jsonb(m) order by user_id) from memberships m where organization_id in (${world.home.id}, ${world.closed.id})),
      (select jsonb_agg(to_jsonb(s) order by id) from submissions s where id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(v) order by id) from votes v where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(c) order by id) from comments c where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(v) order by id) from comment_votes v where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(f) order by user_id) from follows f where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(n) order by id) from notifications n where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(t) order by tag_id) from submission_tags t where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(v) order by id) from surveys v where organization_id in (${world.home.id}, ${world.closed.id})),
      (select jsonb_agg(to_jsonb(r) order by id) from survey_responses r where organization_id in (${world.home.id}, ${world.closed.id})),
      (select jsonb_agg(to_jsonb(h) order by id) from status_changes h where submission_id in (${open.submission}, ${rivalScene.submission})),
      (select jsonb_agg(to_jsonb(p) order by id) from profiles p where id in (${open.author_id}, ${world.people.stranger.id}, ${world.colleague.id}))
    )::text as state`;
  return only(row).state;
}

/** Rejected, or accepted without any effect. */
async function expectNoEffect(path: string, call: RestCall) {
  const before = await everything();
  const answer = await rest(path, call);
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(await everything(), `${path} ${JSON.stringify(call.body)} → ${answer.status}`).toBe(before);
}

describe("mass assignment", () => {
  const forged: [string, Record<string, () => unknown>][] = [
    [
      "submissions",
      {
        author_id: () => open.author_id,
        vote_count: () => 1000,
        comment_count: () => 1000,
        status: () => "completed",
        source: () => "forged",
        tracker_issue_url: () => "https://tracker.example/1",
        moderation_state: () => "approved",
        is_public: () => true,
        merged_into_id: () => open.submission,
        created_at: () => "2000-01-01",
        updated_at: () => "2000-01-01",
      },
    ],
    [
      "comments",
      {
        author_id: () => open.author_id,
        organization_id: () => world.rival.id,
        is_official: () => true,
        vote_count: () => 1000,
        reply_count: () => 1000,
        moderation_state: () => "approved",
        is_public: () => true,
        created_at: () => "2000-01-01",
      },
    ],
    [
      "votes",
      {
        user_id: () => open.author_id,
        id: () => randomUUID(),
        organization_id: () => world.home.id,
        created_at: () => "2000-01-01",
      },
    ],
    [
      "comment_votes",
      {
        user_id: () => open.author_id,
        submission_id: () => open.submission,
        organization_id: () => world.home.id,
      },
    ],
    [
      "follows",
      { user_id: () => open.author_id, reason: () => "author", organization_id: () => world.home.id },
    ],
    [
      "status_changes",
      { changed_by: () => open.author_id, previous_status: () => "declined", created_at: () => "2000-01-01" },
    ],
    [
      "surveys",
      {
        status: () => "published",
        version_of: () => open.survey,
        family_id: () => open.survey,
        published_at: () => "2000-01-01",
        closed_at: () => "2000-01-01",
      },
    ],
    [
      "survey_responses",
      {
        id: () => randomUUID(),
        user_id: () => open.author_id,
        organization_id: () => world.rival.id,
        started_at: () => "2000-01-01",
        submitted_at: () => "2000-01-01",
        sentiment_score: () => 1,
        sentiment_engine: () => "forged",
        is_only: () => false,
      },
    ],
  ];
  const bodies: Record<string, () => Record<string, unknown>> = {
    submissions: () => ({ ...text, organization_id: world.home.id }),
    comments: () => ({ submission_id: open.submission, body: "Forged." }),
    votes: () => ({ submission_id: open.submission }),
    comment_votes: () => ({ comment_id: open.comment }),
    follows: () => ({ submission_id: open.submission }),
    status_changes: () => ({
      organization_id: world.home.id,
      submission_id: open.submission,
      new_status: "completed",
    }),
    surveys: () => ({ organization_id: world.home.id, title: "Forged" }),
    survey_responses: () => ({ survey_id: open.answered, answers: open.answers }),
  };

  it.each(forged)(
    "of %s is rejected in an insert, an upsert and a list of columns",
    async (table, values) => {
      const before = await everything();
      for (const [column, value] of Object.entries(values)) {
        const body = { ...bodies[table]?.(), [column]: value() };
        const calls = [
          { body },
          { body: [body, body] },
          { body, headers: { prefer: "resolution=merge-duplicates" } },
          { body, headers: { prefer: "resolution=ignore-duplicates,missing=default" } },
        ];
        for (const role of ["stranger", "admin"] as const) {
          const answers = await Promise.all(
            calls.map((call) => rest(table, { token: world.token(role), ...call })),
          );
          expect(
            answers.map((answer) => answer.code),
            `${role}: ${column}`,
          ).toEqual(calls.map(() => "42501"));
        }
      }
      expect(await everything()).toBe(before);
    },
  );

  const written = ["submissions", "comments", "votes", "comment_votes", "follows", "survey_responses"];
  it.each(written)("of %s is rejected when `columns` omits it, and by its function", async (table) => {
    const honest = bodies[table]?.() ?? {};
    const values = only(new Map(forged).get(table));
    const body = {
      ...Object.fromEntries(Object.entries(values).map(([column, value]) => [column, value()])),
      ...honest,
    };
    const { token } = world.people.rival;
    const before = await everything();
    const narrowed = await rest(`${table}?columns=${Object.keys(honest).join()}`, { token, body });
    expect(narrowed.code).toBe("FB403");
    // No function has an argument with that name.
    expect((await rpc(insertBy[table] ?? "", body, { token })).code).toBe("PGRST202");
    expect(await everything()).toBe(before);
  });
});

describe("upserts over rows of others", () => {
  const upserts: [string, () => Record<string, unknown>][] = [
    ["submissions", () => ({ ...text, id: open.submission, organization_id: world.home.id })],
    ["submissions?on_conflict=id", () => ({ ...text, id: open.submission, organization_id: world.home.id })],
    [
      "submissions?on_conflict=organization_id,id",
      () => ({ ...text, id: open.submission, organization_id: world.home.id }),
    ],
    [
      "submissions?on_conflict=id",
      () => ({ ...text, id: rivalScene.submission, organization_id: world.home.id }),
    ],
    [
      "comments?on_conflict=id",
      () => ({ id: open.comment, submission_id: open.submission, body: "Over yours." }),
    ],
    ["comments", () => ({ id: open.comment, submission_id: open.submission, body: "Over yours." })],
    ["profiles", () => ({ id: open.author_id, name: "Over yours" })],
    ["profiles?on_conflict=auth_user_id", () => ({ auth_user_id: open.author_id, name: "Over yours" })],
    [
      "memberships",
      () => ({ organization_id: world.home.id, user_id: world.people.stranger.id, role: "owner" }),
    ],
    ["organizations?on_conflict=slug", () => ({ slug: world.home.slug, name: "Over yours" })],
    ["notifications", () => ({ id: open.notification, read_at: new Date().toISOString() })],
  ];
  it.each(upserts)("into %s change nothing", async (path, body) => {
    for (const role of ["anon", "stranger", "member", "rival"] as const) {
      for (const prefer of ["resolution=merge-duplicates", "resolution=ignore-duplicates"]) {
        await expectNoEffect(path, { token: world.token(role), headers: { prefer }, body: body() });
      }
    }
  });

  it.each(["PUT", "PATCH", "DELETE"] as const)(
    "%s without or with a forged filter changes nothing of others",
    async (method) => {
      const body = method === "DELETE" ? {} : { body: { title: "Over yours, all of them" } };
      const token = world.token("insider");
      for (const filter of [
        `id=eq.${open.submission}`,
        `id=in.(${open.submission},${rivalScene.submission})`,
        "id=not.is.null",
        "or=(id.is.null,id.not.is.null)",
      ]) {
        await expectNoEffect(`submissions?${filter}`, { method, token, ...body });
      }
      if (method === "DELETE") {
        for (const table of ["votes", "comment_votes", "follows", "comments"]) {
          await expectNoEffect(`${table}?submission_id=in.(${open.submission},${rivalScene.submission})`, {
            method,
            token,
          });
        }
      } else {
        await expectNoEffect("comments?id=not.is.null", { method, token, body: { body: "Over yours." } });
        await expectNoEffect("notifications?id=not.is.null", {
          method,
          token,
          body: { read_at: new Date().toISOString() },
        });
        await expectNoEffect(`profiles?id=neq.${world.people.insider.id}`, {
          method,
          token,
          body: { name: "Over yours" },
        });
      }
    },
  );
});

describe("references across tenants", () => {
  const token = () => world.token("rival");
  const crossing: [string, string, () => Record<string, unknown>][] = [
    [
      "a category of another organization",
      "submissions",
      () => ({ ...text, organization_id: world.rival.id, category_id: open.category }),
    ],
    [
      "a category of a private organization",
      "submissions",
      () => ({ ...text, organization_id: world.rival.id, category_id: rivalScene.category }),
    ],
    [
      "a submission for a private organization",
      "submissions",
      () => ({ ...text, organization_id: world.closed.id }),
    ],
    [
      "a tag of one's own on a submission of others",
      "submission_tags",
      () => ({ organization_id: world.rival.id, submission_id: open.submission, tag_id: open.tag }),
    ],
    [
      "a tag of others on a submission of theirs",
      "submission_tags",
      () => ({ organization_id: world.home.id, submission_id: open.submission, tag_id: open.otherTag }),
    ],
    [
      "a status change under one's own organization",
      "status_changes",
      () => ({ organization_id: world.rival.id, submission_id: open.submission, new_status: "completed" }),
    ],
    [
      "a status change of theirs",
      "status_changes",
      () => ({ submission_id: open.submission, new_status: "completed" }),
    ],
    [
      "a reply to a comment elsewhere",
      "comments",
      () => ({ submission_id: open.submission, parent_id: rivalScene.comment, body: "Across." }),
    ],
  ];
  it.each(crossing)("%s: rejected", async (_, table, body) => {
    const before = await everything();
    const call = { token: token(), body: body() };
    const answer = await rest(insertBy[table] ? `rpc/${insertBy[table]}` : table, call);
    expect(answer.code).not.toBe("PGRST202");
    expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
    expect(answer.status, answer.text).toBeLessThan(500);
    expect(await everything()).toBe(before);
  });

  it("an edit cannot set a category of another tenant either", async () => {
    const own = { ...text, organization_id: world.rival.id, id: randomUUID() };
    expect((await rpc("create_submission", own, { token: token() })).status).toBe(200);
    const changes = { category_id: open.category };
    const answer = await rpc("update_submission", { id: own.id, changes }, { token: token() });
    expect(answer.status).toBe(409);
    expect(await sql`select category_id from submissions where id = ${own.id}`).toEqual([
      { category_id: null },
    ]);
  });
});

describe("invalid values", () => {
  const author = () => world.token("author");
  it("a NUL and half a surrogate pair in a title are rejected", async () => {
    const insert = (title: string) =>
      rpc("create_submission", { ...text, title, organization_id: world.home.id }, { token: author() });
    const nul = await insert("Nul \u0000 in the middle of it");
    expect([nul.status, nul.code]).toEqual([400, "22P05"]);
    const half = await insert("Half \ud800 of a pair in it");
    expect([half.status, half.code]).toEqual([400, "PGRST102"]);
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "//evil.example",
    "https://",
    "http://a b",
    "https://x\nSet-Cookie:y",
    " https://x.example",
    `https://x.example/${"a".repeat(3000)}`,
  ])("%j is rejected as the URL of a picture or an issue", async (url) => {
    const { stranger, admin } = world.people;
    const own = await rpc("update_profile", { changes: { avatar_url: url } }, { token: stranger.token });
    expect(own.code).toBe("23514");
    const link = await rpc(
      "update_submission",
      { id: open.submission, changes: { tracker_issue_url: url } },
      { token: admin.token },
    );
    expect(link.code).toBe("23514");
  });

  it.each([
    "раypal",
    "acme\u200b",
    "ACME",
    "a--b",
    "-a",
    "ａｃｍｅ",
    "a".repeat(65),
    "a\n",
    "acme\u0000",
    "ǆ",
    "a.b",
    "a/b",
    "",
  ])("%j is rejected as a slug", async (slug) => {
    for (const insert of [
      () => sql`insert into organizations (slug, name) values (${slug}, 'Look-alike')`,
      () =>
        sql`insert into tags (organization_id, slug, name) values (${world.home.id}, ${slug}, 'Look-alike')`,
      () =>
        sql`insert into categories (organization_id, slug, name) values (${world.home.id}, ${slug}, 'Look-alike')`,
    ]) {
      await expect(insert()).rejects.toMatchObject({ code: slug.includes("\u0000") ? "22021" : "23514" });
    }
  });
});
