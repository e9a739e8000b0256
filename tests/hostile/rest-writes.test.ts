import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sql } from "../stack.ts";
import { acts } from "./expected.ts";
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

const protectedRows = Object.keys(acts).map((table) => {
  const organizations = `('${world.home.id}', '${world.closed.id}')`;
  const persons = `('${open.author_id}', '${world.people.stranger.id}', '${world.colleague.id}')`;
  const [column, ids] = { organizations: ["id", organizations], profiles: ["id", persons] }[table] ?? [
    "organization_id",
    organizations,
  ];
  return `select '${table}' as table, to_jsonb(t) as row from ${table} t where ${column} in ${ids}`;
});
/** Every row that could have been changed. */
const everything = async () => [...(await sql.unsafe(`${protectedRows.join(" union all ")} order by 1, 2`))];

/** Rejected, or accepted without any effect. */
async function expectNoEffect(path: string, call: RestCall, code = /./) {
  const before = await everything();
  const answer = await rest(path, call);
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(answer.code ?? "none").toMatch(code);
  expect(await everything(), `${call.method} ${path} → ${answer.status}`).toEqual(before);
}

const upserts = ["resolution=merge-duplicates", "resolution=ignore-duplicates,missing=default"].map(
  (prefer) => ({
    prefer,
  }),
);
const attackers = ["anon", "stranger", "member", "rival"] as const;

describe("tables that clients write by functions", () => {
  const all = "organization_id=not.is.null";
  it.each([
    ["POST", "submissions?on_conflict=id", { ...text, id: open.submission, organization_id: world.home.id }],
    [
      "POST",
      "comments?on_conflict=id",
      { id: open.comment, submission_id: open.submission, body: "Over yours." },
    ],
    ["DELETE", `votes?${all}`, undefined],
    ["DELETE", `comment_votes?${all}`, undefined],
    ["DELETE", `follows?${all}`, undefined],
    ["PATCH", `notifications?${all}`, { read_at: "2026-01-01" }],
    ["PATCH", `profiles?id=neq.${world.people.admin.id}`, { name: "Over yours" }],
    ["POST", "survey_responses", { survey_id: open.answered, answers: open.answers }],
  ] as const)("%s %s by an admin changes nothing", async (method, path, body) => {
    for (const headers of method === "POST" ? upserts : [{}]) {
      const call = { method, token: world.token("admin"), headers, body };
      await expectNoEffect(path, call, /^(42501|FB403)$/);
    }
  });

  it.each([
    ["memberships", { organization_id: world.home.id, user_id: world.people.stranger.id, role: "owner" }],
    ["organizations?on_conflict=slug", { slug: world.home.slug, name: "Over yours" }],
    ["categories", { id: open.category, organization_id: world.home.id, name: "Over yours", slug: "over" }],
  ])("nor do upserts into %s, which nobody may write", async (path, body) => {
    for (const headers of upserts)
      await expectNoEffect(path, { token: world.token("admin"), headers, body }, /^42501$/);
  });
});

describe("tables that admins write", () => {
  const home = { organization_id: world.home.id };
  const targets: [string, string, Record<string, string>, object, object?][] = [
    ["surveys", "id", { id: open.draft }, { title: "Over yours" }, { title: "Over yours" }],
    [
      "survey_questions",
      "id",
      { id: open.question },
      { survey_id: open.draft, type: "text", text: "?", position: 9 },
      { text: "Yours?" },
    ],
    [
      "survey_options",
      "id",
      { id: open.option },
      { survey_id: open.draft, question_id: open.question, text: "?", position: 9 },
      { text: "Yours" },
    ],
    ["submission_tags", "submission_id,tag_id", { submission_id: open.submission, tag_id: open.tag }, {}],
    [
      "status_changes",
      "id",
      { id: open.status_change },
      { submission_id: open.submission, new_status: "declined" },
    ],
  ];
  describe.each(targets)("%s", (table, keys, row, values, change) => {
    const equal = Object.entries(row)
      .map(([column, value]) => `${column}=eq.${value}`)
      .join("&");
    const [[column, id] = []] = Object.entries(row);
    const unknown = randomUUID();
    const filters = [
      equal,
      `${column}=in.(${unknown},${id})`,
      `${column}=not.is.null&organization_id=eq.${world.home.id}`,
      `or=(${column}.is.null,${column}.not.is.null)&organization_id=in.(${world.home.id},${world.closed.id})`,
      `${column}=eq.${unknown}&${column}=eq.${id}`,
      `${column}=eq.${id}&${column}=eq.${unknown}`,
    ];

    it.each(attackers)("upserts of %s over rows of others change nothing", async (role) => {
      const token = world.token(role);
      for (const organization_id of [world.home.id, world.rival.id])
        for (const headers of upserts)
          for (const on of ["", `?on_conflict=${keys}`])
            for (const body of [
              { ...values, ...row, organization_id },
              { ...values, organization_id },
            ])
              await expectNoEffect(table + on, { token, headers, body });
    });

    it.each(attackers)(
      "PUT, PATCH and DELETE of %s with wide or forged filters change nothing",
      async (role) => {
        const token = world.token(role);
        await expectNoEffect(`${table}?${equal}`, {
          method: "PUT",
          token,
          body: { ...values, ...row, ...home },
        });
        for (const filter of filters) {
          if (change) await expectNoEffect(`${table}?${filter}`, { method: "PATCH", token, body: change });
          await expectNoEffect(`${table}?${filter}`, { method: "DELETE", token });
        }
      },
    );

    it("two filters of one column change nothing of an admin either", async () => {
      for (const filter of filters.slice(-2)) {
        if (change)
          await expectNoEffect(`${table}?${filter}`, {
            method: "PATCH",
            token: world.token("admin"),
            body: change,
          });
        await expectNoEffect(`${table}?${filter}`, { method: "DELETE", token: world.token("admin") });
      }
    });
  });

  it("`columns` omits what the body forges", async () => {
    const body = { ...home, title: "Narrowed", status: "published", family_id: open.survey };
    const call = { token: world.token("admin"), body, headers: { prefer: "return=representation" } };
    const answer = await rest("surveys?columns=organization_id,title&select=status", call);
    expect(answer.rows).toEqual([{ status: "draft" }]);
    await expectNoEffect("surveys?columns=organization_id,title,status", call, /^42501$/);
  });
});

describe("references across tenants", () => {
  const token = () => world.token("rival");
  const crossing: [string, string, object][] = [
    [
      "a category of another organization",
      "submissions",
      { ...text, organization_id: world.rival.id, category_id: open.category },
    ],
    [
      "a category of a private organization",
      "submissions",
      { ...text, organization_id: world.rival.id, category_id: rivalScene.category },
    ],
    ["a submission for a private organization", "submissions", { ...text, organization_id: world.closed.id }],
    [
      "a tag of one's own on a submission of others",
      "submission_tags",
      { organization_id: world.rival.id, submission_id: open.submission, tag_id: open.tag },
    ],
    [
      "a tag of others on a submission of theirs",
      "submission_tags",
      { organization_id: world.home.id, submission_id: open.submission, tag_id: open.otherTag },
    ],
    [
      "a status change under one's own organization",
      "status_changes",
      { organization_id: world.rival.id, submission_id: open.submission, new_status: "completed" },
    ],
    [
      "a status change of theirs",
      "status_changes",
      { submission_id: open.submission, new_status: "completed" },
    ],
    [
      "a question in a survey of others",
      "survey_questions",
      { organization_id: world.rival.id, survey_id: open.draft, type: "text", text: "?", position: 9 },
    ],
    [
      "an option of a question of others",
      "survey_options",
      {
        organization_id: world.rival.id,
        survey_id: open.draft,
        question_id: open.question,
        text: "?",
        position: 9,
      },
    ],
    [
      "a survey for who voted for a submission of others",
      "surveys",
      {
        organization_id: world.rival.id,
        title: "?",
        audience: "voters",
        audience_submission_id: open.submission,
      },
    ],
    [
      "a reply to a comment elsewhere",
      "comments",
      { submission_id: open.submission, parent_id: rivalScene.comment, body: "Across." },
    ],
  ];
  it.each(crossing)("%s: rejected", async (_, table, body) => {
    const before = await everything();
    const call = { token: token(), body };
    const answer = await rest(insertBy[table] ? `rpc/${insertBy[table]}` : table, call);
    expect(answer.code).not.toBe("PGRST202");
    expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
    expect(answer.status, answer.text).toBeLessThan(500);
    expect(await everything()).toEqual(before);
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

  it.each(["//evil.example", "https://x\nSet-Cookie:y", " https://x.example"])(
    "%j is rejected as the URL of a picture or an issue",
    async (url) => {
      const { stranger, admin } = world.people;
      const own = await rpc("update_profile", { changes: { avatar_url: url } }, { token: stranger.token });
      expect(own.code).toBe("23514");
      const link = { id: open.submission, changes: { tracker_issue_url: url } };
      expect((await rpc("update_submission", link, { token: admin.token })).code).toBe("23514");
    },
  );

  it.each(["organizations", "tags", "categories"])(
    "look-alikes are rejected as slugs of %s",
    async (table) => {
      const of = table === "organizations" ? {} : { organization_id: world.home.id };
      for (const slug of ["раypal", "acme\u200b", "ǆ", "acme\n", "ACME", ""])
        await expect(
          sql`insert into ${sql(table)} ${sql({ ...of, slug, name: "Look-alike" })}`,
        ).rejects.toMatchObject({ code: "23514" });
    },
  );
});
