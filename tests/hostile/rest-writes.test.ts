import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createApiKey } from "../../local/operator/api-keys.ts";
import { newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { acts } from "./expected.ts";
import { insertBy, type RestCall, rest, rpc } from "./rest.ts";
import { makeWorld, type Scene } from "./world.ts";

/** Refused: the caller has no grants, or the key is not a token of the data API. */
const refused = /^(none|42501|PGRST301)$/;

const world = await makeWorld();
const open: Scene = await world.scene("open");
const rivalScene: Scene = await world.scene("closed");

const text = { title: "Written by an attacker", description: "A description that is long enough.", type: "idea" };

const protectedRows = Object.keys(acts).map((table) => {
  const organizations = `('${world.home.id}', '${world.closed.id}')`;
  const persons = `('${open.author_id}', '${world.people.stranger.id}', '${world.colleague.id}')`;
  const [column, ids] =
    table === "profiles" ? ["id", persons] : [table === "organizations" ? "id" : "organization_id", organizations];
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

const upserts = [{ prefer: "resolution=merge-duplicates" }, { prefer: "resolution=ignore-duplicates,missing=default" }];

/** An admin of home who is a member now, and one who left. */
const [demoted, removed] = await Promise.all([
  newUser("Demoted", { organization: world.home, role: "admin" }),
  newUser("Removed", { organization: world.home, role: "admin" }),
]);
await sql`update memberships set role = 'member' where user_id = ${demoted.id}`;
await sql`delete from memberships where user_id = ${removed.id}`;
const key = await createApiKey(sql, world.home.id, "Reads", ["submissions:read", "surveys:read"], null);
const tokens: Record<string, string | undefined> = {
  anon: undefined,
  "a removed admin": removed.token,
  "a demoted admin": demoted.token,
  "an admin elsewhere": world.token("rival"),
  "a key that reads": key,
};
const attackers = Object.keys(tokens);

describe("tables that clients write by functions", () => {
  const all = "organization_id=not.is.null";
  const said = { id: open.comment, submission_id: open.submission, body: "Over yours." };
  it.each([
    ["POST", "submissions?on_conflict=id", { ...text, id: open.submission, organization_id: world.home.id }],
    ["POST", "comments?on_conflict=id", said],
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
  const question = { survey_id: open.draft, type: "text", text: "Yours?", position: 9 };
  const option = { survey_id: open.draft, question_id: open.question, text: "Yours", position: 9 };
  const status = { submission_id: open.submission, new_status: "declined" };
  const targets: [string, Record<string, string>, object, object?][] = [
    ["surveys", { id: open.survey }, { title: "Over yours" }, { title: "Over yours" }],
    ["survey_questions", { id: open.question }, question, { text: "Yours?" }],
    ["survey_options", { id: open.option }, option, { text: "Yours" }],
    ["submission_tags", { submission_id: open.submission, tag_id: open.tag }, {}],
    ["status_changes", { id: open.status_change }, status],
  ];
  describe.each(targets)("%s", (table, row, values, change) => {
    const [[column, id] = ["", ""]] = Object.entries(row);
    const unknown = randomUUID();
    const both = `organization_id=in.(${world.home.id},${world.closed.id})`;
    const twice = [`${column}=eq.${unknown}&${column}=eq.${id}`, `${column}=eq.${id}&${column}=eq.${unknown}`];
    const filters = [
      `${column}=eq.${id}`,
      `${column}=in.(${unknown},${id})`,
      `${column}=not.is.null&${both}`,
      `or=(${column}.is.null,${column}.not.is.null)&${both}`,
    ];
    const writes: RestCall[] = [{ method: "DELETE" }, ...(change ? [{ method: "PATCH" as const, body: change }] : [])];

    it.each(attackers)("upserts by %s over rows of others change nothing", async (role) => {
      const token = tokens[role];
      const path = `${table}?on_conflict=${Object.keys(row)}`;
      for (const { id: organization_id } of [world.home, world.rival]) {
        const body = { ...values, ...row, organization_id };
        for (const headers of upserts) {
          for (const upsert of [table, path]) await expectNoEffect(upsert, { token, headers, body });
          await expectNoEffect(table, { token, headers, body: { ...values, organization_id } });
        }
        await expectNoEffect(`${table}?${column}=eq.${id}`, { method: "PUT", token, body });
      }
      // Several rows at once, in either order: one belongs to another organization, one to the caller's own.
      const rows = [world.rival, world.home].map(({ id }) => ({ ...values, ...row, organization_id: id }));
      for (const several of [rows, rows.reverse()])
        for (const columns of ["", `?columns=${Object.keys(several[0] ?? {})}`])
          await expectNoEffect(table + columns, { token, body: several }, /^(2350|42501|PGRST301|FB)/);
    });

    it.each([...attackers, "admin"])("wide filters by %s change nothing of others", async (role) => {
      const token = role === "admin" ? world.token(role) : tokens[role];
      for (const filter of role === "admin" ? twice : [...filters, ...twice])
        for (const call of writes) {
          // The call is refused before any row is touched, so no trigger raises an error either.
          await expectNoEffect(`${table}?${filter}`, { ...call, token }, refused);
        }
    });

    it("nobody moves a row, or gives it another key", async () => {
      const places = { organization_id: world.rival.id, survey_id: open.survey, question_id: unknown };
      const changed = { ...places, submission_id: rivalScene.submission, tag_id: unknown, id: unknown };
      const [example] = await sql`select * from ${sql(table)} where ${sql(column)} = ${id}`;
      const keys = Object.entries(changed).filter(([name]) => name in (example ?? {}));
      expect(keys.length).toBeGreaterThan(1);
      for (const role of ["admin", "rival"] as const)
        for (const [name, value] of keys) {
          const call: RestCall = { method: "PATCH", token: world.token(role), body: { [name]: value } };
          await expectNoEffect(`${table}?${column}=eq.${id}`, call, /^42501$/);
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
  const { token } = world.people.rival;
  const [ofHome, ofRival] = [{ organization_id: world.home.id }, { organization_id: world.rival.id }];
  const submission_id = open.submission;
  const completed = { submission_id, new_status: "completed" };
  const question = { ...ofRival, survey_id: open.draft, type: "text", text: "?", position: 9 };
  const option = { ...ofRival, survey_id: open.draft, question_id: open.question, text: "?", position: 9 };
  const audience = { ...ofRival, title: "?", audience: "voters", audience_submission_id: submission_id };
  it.each([
    ["a category of another organization", "submissions", { ...text, ...ofRival, category_id: open.category }],
    ["a category of a private one", "submissions", { ...text, ...ofRival, category_id: rivalScene.category }],
    ["a submission for a private one", "submissions", { ...text, organization_id: world.closed.id }],
    ["a tag of others", "submission_tags", { ...ofRival, submission_id, tag_id: open.otherTag }],
    [
      "a tag of others on a submission of theirs",
      "submission_tags",
      { ...ofHome, submission_id, tag_id: open.otherTag },
    ],
    ["a status change under one's own organization", "status_changes", { ...ofRival, ...completed }],
    ["a status change of theirs", "status_changes", completed],
    ["a question in a survey of others", "survey_questions", question],
    ["an option of a question of others", "survey_options", option],
    ["a survey of who voted for a submission of others", "surveys", audience],
    ["a reply to a comment elsewhere", "comments", { submission_id, parent_id: rivalScene.comment, body: "Across." }],
  ])("%s: rejected", async (_, table, body) => {
    const path = insertBy[table] ? `rpc/${insertBy[table]}` : table;
    await expectNoEffect(path, { token, body }, /^(FB40[034]|FB409|23503|42501)$/);
  });

  it("an edit cannot set a category of another tenant either", async () => {
    const made = await rpc("create_submission", { ...text, organization_id: world.rival.id }, { token });
    expect(made.status).toBe(200);
    const id = JSON.parse(made.text);
    const changes = { category_id: open.category };
    const answer = await rpc("update_submission", { id, changes }, { token });
    expect(answer.status).toBe(409);
    expect(await sql`select category_id from submissions where id = ${id}`).toEqual([{ category_id: null }]);
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

  it.each(["organizations", "tags", "categories"])("look-alikes are rejected as slugs of %s", async (table) => {
    const of = table === "organizations" ? {} : { organization_id: world.home.id };
    for (const slug of ["раypal", "acme\u200b", "ǆ", "acme\n", "ACME", ""])
      await expect(sql`insert into ${sql(table)} ${sql({ ...of, slug, name: "Look-alike" })}`).rejects.toMatchObject({
        code: "23514",
      });
  });
});
