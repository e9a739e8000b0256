import { describe, expect, it } from "vitest";
import { duplicatesAnswer, submissionSearchAnswer } from "../../shared/submissions.ts";
import { sql, stack } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { longEnough, newKey, newOrganization, newSubmission, newUser, type Organization } from "./world.ts";

const ids: Record<string, string> = {};
const organization = await newOrganization();
const hidden = await newOrganization({ visibility: "private" });
const author = await newUser();
const insider = await newUser("Vic", { organization: hidden, role: "member" });
const reader = await newKey(hidden, ["submissions:read"]);
const texts: Record<string, [string, string]> = {
  dark: ["Dark theme for the app", "The bright screen hurts at night, please add a dark look."],
  darker: ["Something about screens", "A dark theme would be a great help for tired eyes."],
  café: ["Un café gratuit", "Nous aimerions une machine dans la salle de réunion."],
  markup: [
    "Allow <b>bold</b> & <script>alert(1)</script>",
    `The "quoted" <img src=x onerror=alert(1)> formatting & more.`,
  ],
  entities: ["AMP pages & lt signs <lt> quot", "Write 'amp' or \"quot\" & see what #39 becomes: &amp; &lt;mark&gt;"],
  percent: ["Show 100% of_it", "The percentage sign and the underscore are \\ not wildcards."],
  japanese: [
    "ダークモードに対応してほしい",
    "夜間の作業では画面が明るすぎるので、暗い配色を選べるようにしてください。",
  ],
  arabic: ["أضف الوضع الداكن للتطبيق", "الشاشة الساطعة تؤذي العينين في الليل وأحتاج إلى وضع داكن."],
  russian: ["Тёмная тема оформления", "Яркий экран мешает работать ночью, нужна тёмная тема."],
  emoji: ["Reactions with 😀 please", "Let people answer with an emoji instead of writing words."],
};
for (const [name, [title, description]] of Object.entries(texts)) {
  ids[name] = await newSubmission(organization, author, { title, description });
}
ids.problem = await newSubmission(organization, author, { title: "Zebra crossing broken", type: "problem" });
ids.planned = await newSubmission(organization, author, { title: "Zebra stripes wanted" });
await sql`insert into public.status_changes (submission_id, new_status, changed_by) values (${ids.planned}, 'planned', ${author.id})`;
ids.secret = await newSubmission(hidden, insider, { title: "Secret zebra project" });

const find = async (query: string, call: { as?: Caller; on?: Organization } = {}) =>
  await getJson(`/api/submissions/search?${query}`, submissionSearchAnswer, { on: organization, ...call });
const search = (q: string) => find(`q=${encodeURIComponent(q)}`);
const names = (found: { id: string }[]) => found.map(({ id }) => Object.keys(ids).find((name) => ids[name] === id));

describe("search", () => {
  it.each([
    ["theme", ["dark", "darker"]],
    ["THEME", ["dark", "darker"]],
    ["dark theme", ["dark", "darker"]],
    ['"theme for the app"', ["dark"]],
    ["theme -tired", ["dark"]],
    ["zebr", ["problem", "planned"]],
    ["cafe", ["café"]],
    ["CAFÉ", ["café"]],
    ["réunion", ["café"]],
    ["ダークモード", ["japanese"]],
    ["暗い配色", ["japanese"]],
    ["الداكن", ["arabic"]],
    ["тёмная", ["russian"]],
    ["😀", ["emoji"]],
    ["100%", ["percent"]],
    ["of_it", ["percent"]],
    ["nothing like this", []],
    ["'); drop table submissions; --", []],
    ["& | ! ( ) :* <->", []],
    ["\\", []],
    ["dark themes", ["dark", "darker"]],
    ["is there a dark theme?", ["dark", "darker"]],
    ["gratuites", ["café"]],
    ["темная", ["russian"]],
    ["тёмной теме", ["russian"]],
    ["配色 画面", ["japanese"]],
    ["配色　画面", ["japanese"]],
    ["ﾀﾞｰｸﾓｰﾄﾞ", ["japanese"]],
    ["dark or walrus or tired", ["dark", "darker"]],
    ['-"dark look" theme', ["darker"]],
    ["dark bananas", ["dark", "darker"], "any"],
    ["o%it", ["percent"], "any"],
    ["%", []],
  ] as [string, string[], ("all" | "any")?][])("%s finds %j", async (q, expected, match = "all") => {
    const { data, meta } = await search(q);
    expect(names(data).sort()).toEqual([...expected].sort());
    expect(meta).toEqual({ query: q, total: expected.length, match, next_cursor: null });
  });

  it("suggests the nearest known word", async () => {
    const { data, meta } = await search("zebar stripes");
    expect(names(data)).toEqual(["planned", "problem"]);
    expect(meta).toMatchObject({ match: "any", did_you_mean: "zebra stripes" });
  });

  it("continues by cursor in the same order, with the same total", async () => {
    const all = await search("theme or zebra");
    const first = await find(`q=${encodeURIComponent("theme or zebra")}&limit=2`);
    const rest = await find(`q=${encodeURIComponent("theme or zebra")}&limit=2&cursor=${first.meta.next_cursor}`);
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(all.data.map(({ id }) => id));
    expect([first.meta.total, rest.meta.total, rest.meta.next_cursor]).toEqual([4, 4, null]);
  });

  it("returns the most relevant first, with its relevance", async () => {
    const { data } = await search("dark theme");
    expect(names(data)).toEqual(["dark", "darker"]);
    expect(data[0]?.relevance).toBeGreaterThan(data[1]?.relevance ?? Number.POSITIVE_INFINITY);
  });

  const escapes: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

  it.each([
    "bold",
    "alert",
    "quoted",
    "script",
    "<b>",
    "&",
    "amp",
    "lt",
    "gt",
    "quot",
    "39",
    "mark",
    "<mark>",
    '"quoted" <img',
  ])("for %s highlights escaped text, unchanged otherwise", async (q) => {
    const { data } = await search(q);
    for (const { title, highlight } of data) {
      for (const html of [highlight.title, highlight.description]) {
        expect(html.replace(/<\/?mark>|&(amp|lt|gt|quot|#39);/g, "")).not.toMatch(/[<>"'&]/);
      }
      const text = highlight.title
        .replace(/<\/?mark>/g, "")
        .replace(/&[a-z#0-9]+;/g, (written) => escapes[written] ?? "?");
      expect(text).toBe(title);
    }
  });

  it.each([
    ["theme", "Dark <mark>theme</mark> for the app"],
    ["ダークモード", "<mark>ダークモード</mark>に対応してほしい"],
    ["bold", "Allow &lt;b&gt;<mark>bold</mark>&lt;/b&gt; &amp; &lt;script&gt;alert(1)&lt;/script&gt;"],
    ["café", "Un <mark>café</mark> gratuit"],
  ])("highlights %s in the title", async (q, html) => {
    const { data } = await search(q);
    expect(data.map(({ highlight }) => highlight.title)).toContain(html);
  });

  it("returns a private board's submissions to its team and its keys only", async () => {
    expectError(await api("GET", "/api/submissions/search?q=zebra", { on: hidden }), "NOT_FOUND");
    expectError(await api("GET", "/api/submissions/search?q=zebra", { on: hidden, as: author }), "NOT_FOUND");
    expect(names((await find("q=zebra", { on: hidden, as: insider })).data)).toEqual(["secret"]);
    expect(names((await find("q=zebra", { on: hidden, as: reader })).data)).toEqual(["secret"]);
    expect(names((await find("q=secret", { as: insider })).data)).toEqual([]);
  });
});

describe("the duplicate check", () => {
  const check = (body: unknown, call: { as?: Caller; on?: Organization } = {}) =>
    api("POST", "/api/submissions/check-duplicates", { on: organization, ...call, body });
  const similar = async (body: unknown, call = {}) => expectJson(await check(body, call), 200, duplicatesAnswer).data;

  it.each([
    ["Dark theme for the app", "dark"],
    ["dark theme for app", "dark"],
    ["A dark theme in the app", "dark"],
    ["Un cafe gratuit", "café"],
    ["ダークモードに対応してください", "japanese"],
    ["Тёмная тема", "russian"],
  ])("%s is similar to %s", async (title, name) => {
    const found = await similar({ title });
    expect(found.has_duplicates).toBe(true);
    expect(names(found.similar)[0]).toBe(name);
  });

  it("returns id, title, similarity, votes and status, most similar first", async () => {
    const { similar: list } = await similar({ title: "Zebra stripes wanted", description: longEnough });
    expect(list[0]).toEqual({
      id: ids.planned,
      title: "Zebra stripes wanted",
      similarity: 1,
      vote_count: 1,
      status: "planned",
    });
    expect(list.map(({ similarity }) => similarity)).toEqual(
      list.map(({ similarity }) => similarity).toSorted((a, b) => b - a),
    );
  });

  it("returns at most 5, or the requested number", async () => {
    const board = await newOrganization();
    for (let n = 0; n < 8; n++) await newSubmission(board, author, { title: `Offline mode for maps ${n}` });
    const count = async (limit?: number) =>
      (await similar({ title: "Offline mode for maps", limit }, { on: board })).similar.length;
    expect([await count(), await count(1), await count(7), await count(20)]).toEqual([5, 1, 7, 8]);
  });

  it("never returns a submission that the caller may not see", async () => {
    const title = "Secret zebra project";
    expectError(await check({ title }, { on: hidden }), "NOT_FOUND");
    expect(names((await similar({ title }, { on: hidden, as: insider })).similar)).toEqual(["secret"]);
    expect(names((await similar({ title }, { as: insider })).similar)).not.toContain("secret");
  });

  it("gives hidden submissions no place, however many are more similar", async () => {
    const board = await newOrganization();
    const shown = await newSubmission(board, author, { title: "Winter garden shading" });
    await sql`
      insert into public.submissions (organization_id, author_id, title, description, type, moderation_state)
      select ${board.id}, ${author.id}, 'Winter garden shading wanted', ${longEnough}, 'idea', 'pending'
      from generate_series(1, 220)`;
    const title = "Winter garden shading wanted";
    expect((await similar({ title }, { on: board })).similar.map(({ id }) => id)).toEqual([shown]);
    const { data, meta } = await find("q=winter+garden+wanted", { on: board });
    expect([data.map(({ id }) => id), meta.total, meta.match]).toEqual([[shown], 1, "any"]);
    expect((await find("q=winter+gardn", { on: board })).meta.did_you_mean).toBe("winter garden");
    expect((await find("q=wantd", { on: board })).meta).toMatchObject({ total: 0, match: "all" });
  });

  it("works through the gateway too", async () => {
    const call = { on: organization, body: { title: "Dark theme" }, base: stack.supabase_url };
    expectJson(await api("POST", "/api/submissions/check-duplicates", call), 200, duplicatesAnswer);
  });
});
