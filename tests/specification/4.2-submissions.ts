import { afterwards, at, body, choice, each, error, headers, holds, is, keys, meta, of, section, types } from "./row.ts";

const idea = { title: "A dark theme", description: "The pages are too bright at night.", type: "idea" };
const create = "POST /submissions";
const edit = "PATCH /submissions/:idea";
const remove = "DELETE /submissions/:idea";
const changed = { title: "A darker theme" };
const list = (query = "") => [`GET /submissions${query}`, undefined, { needs: ":board" }] as const;
const labelled = (query: string) => [`GET /submissions?${query}`, undefined, { needs: ":labelled :idea" }] as const;
const [apple, banana, eclair] = ["apple pie wanted", "Banana pie wanted", "Éclair wanted"];
const titles = (...expected: (string | undefined)[]) => each("title", expected);
const listed = "id title description type status vote_count comment_count author_id category_id tags created_at updated_at";
const detail = `${listed} tracker_issue_url merged_into_id moderation_state is_following user_vote`;
const without = (fields: string, ...names: string[]) =>
  fields
    .split(" ")
    .filter((name) => !names.includes(name))
    .join(" ");
// Every choice of related resources.
const names = ["author", "category", "tags", "comments"];
const expansions = Array.from({ length: 15 }, (_, bits) => names.filter((_, index) => (bits + 1) & (1 << index))).map((chosen) => {
  const replaced = without(detail, ...chosen.map((name) => `${name}_id`));
  const fields = [replaced, ...chosen.filter((name) => name !== "tags")].join(" ");
  return ["4.2.9", "nobody", `GET /submissions/:labelled?expand=${chosen.join()}`, 200, keys(fields)] as const;
});
const newest = "GET /submissions?limit=1";
const check = "POST /submissions/check-duplicates";
const merging = ["POST /admin/merge", { source_ids: [":voted"], target_id: ":idea" }] as const;
const bad = [
  [{}, "description title type"],
  [{ ...idea, title: undefined }, "title"],
  [{ ...idea, title: 12345 }, "title"],
  [{ ...idea, title: null }, "title"],
  [{ ...idea, title: "" }, "title"],
  [{ ...idea, description: null }, "description"],
  [{ title: "", description: "", type: "", category_id: 1 }, "category_id description title type"],
  [[idea], "body"],
  ["idea", "body"],
] as const;
const badDrafts = [
  [{}, "title"],
  [{ title: "" }, "title"],
  [{ title: of(201) }, "title"],
  [{ title: 5 }, "title"],
  [{ title: "Dark", description: of(5001) }, "description"],
  [{ title: "Dark", limit: 0 }, "limit"],
  [{ title: "Dark", limit: 21 }, "limit"],
  [{ title: "Dark", limit: "5" }, "limit"],
  [{ title: "Dark", limit: 1.5 }, "limit"],
  [[], "body"],
] as const;
const forged = { status: "planned", comment_count: 5, author_id: ":other", user_id: ":other", moderation_state: "spam", tracker_issue_url: "https://a.example", created_at: "2000-01-01T00:00:00Z" };
const isCreated = types({ id: "uuid", title: "string", status: "string", vote_count: "integer", url: "string" });
const hasPage = holds(({ id, url }: { id: string; url: string }) => url.endsWith(`/submissions/${id}`));
const query = (rest = "") => [`GET /submissions/search?q=dark${rest}`, undefined, { needs: ":idea" }] as const;
const organizationId = { organization_id: ":organization" };

export default section("4.2 Submissions", [
  ["4.2.1", "nobody", list(), 200, keys(listed), titles(eclair, banana, apple), meta({ page: 1, limit: 50, total: 3, total_pages: 1, has_next: false, has_prev: false })],
  ["4.2.1", "user", list(), 200, keys(listed)],
  ["4.2.1", "nobody", "GET /submissions", 200, is([]), meta({ total: 0, total_pages: 0, has_next: false, has_prev: false })],
  ["4.2.2", "nobody", list("?status=planned"), 200, titles(eclair), meta({ total: 1 })],
  ["4.2.2", "nobody", list("?status=open"), 200, titles(banana, apple), meta({ total: 2 })],
  ["4.2.2", "nobody", list("?type=problem"), 200, titles(banana), meta({ total: 1 })],
  ["4.2.2", "nobody", list("?type=idea&status=open"), 200, titles(apple), meta({ total: 1 })],
  ["4.2.2", "nobody", labelled("category=:category"), 200, titles("A labelled idea"), meta({ total: 1 })],
  ["4.2.2", "nobody", labelled("category=:category.ID"), 200, titles("A labelled idea")],
  ["4.2.2", "nobody", labelled("category=mobile"), 200, titles("A labelled idea")],
  ["4.2.2", "nobody", labelled("tag=speed"), 200, titles("A labelled idea"), meta({ total: 1 })],
  ["4.2.2", "nobody", labelled("tag=speed&category=mobile&type=problem"), 200, is([]), meta({ total: 0 })],
  ["4.2.2", "nobody", list("?author=:author"), 200, titles(eclair, banana, apple), meta({ total: 3 })],
  ["4.2.2", "nobody", list("?author=:user"), 200, is([]), meta({ total: 0 })],
  ["4.2.3", "nobody", list("?q=pie"), 200, holds((data: unknown[]) => data.length === 2), meta({ total: 2 })],
  ["4.2.3", "nobody", list("?q=BANANA"), 200, titles(banana), keys(listed)],
  ["4.2.3", "nobody", list("?q=nowhere"), 200, is([])],
  ["4.2.3", "nobody", list(`?q=${of(200)}`), 200, is([])],
  ["4.2.3", "nobody", `GET /submissions?q=${of(201)}`, "VALIDATION_ERROR q"],
  ["4.2.3", "nobody", "GET /submissions?q=%00", "VALIDATION_ERROR q"],
  ["4.2.3", "author", [edit, { title: "Xylophone support" }], 200, afterwards("nobody", "GET /submissions?q=xylophone", 200, each("id", [":idea"])), afterwards("nobody", "GET /submissions?q=dark", 200, is([]))],
  ["4.2.4", "nobody", list("?sort=created_at"), 200, titles(eclair, banana, apple)],
  ["4.2.4", "nobody", list("?order=asc"), 200, titles(apple, banana, eclair)],
  ["4.2.4", "nobody", list("?sort=votes"), 200, titles(banana, eclair, apple)],
  ["4.2.4", "nobody", list("?sort=votes&order=asc"), 200, titles(apple, eclair, banana)],
  ["4.2.4", "nobody", list("?sort=comments&order=desc"), 200, titles(apple, eclair, banana)],
  ["4.2.4", "nobody", list("?sort=comments&order=asc"), 200, titles(banana, eclair, apple)],
  ["4.2.4", "nobody", list("?q=banana&sort=relevance"), 200, titles(banana)],
  ["4.2.4", "nobody", "GET /submissions?sort=relevance", "VALIDATION_ERROR sort"],
  ["4.2.5", "nobody", list("?sort=title&order=asc"), 200, titles(apple, banana, eclair)],
  ["4.2.5", "nobody", list("?sort=title"), 200, titles(eclair, banana, apple)],
  ["4.2.6", "nobody", "GET /submissions?status=nonsense", "VALIDATION_ERROR status"],
  ["4.2.6", "nobody", "GET /submissions?status=open,planned", "VALIDATION_ERROR status"],
  ["4.2.6", "nobody", "GET /submissions?type=Idea", "VALIDATION_ERROR type"],
  ["4.2.6", "nobody", "GET /submissions?author=me", "VALIDATION_ERROR author"],
  ["4.2.6", "nobody", "GET /submissions?category=no%20such", "VALIDATION_ERROR category"],
  ["4.2.6", "nobody", "GET /submissions?tag=No_Slug", "VALIDATION_ERROR tag"],
  ["4.2.6", "nobody", "GET /submissions?sort=author", "VALIDATION_ERROR sort"],
  ["4.2.6", "nobody", "GET /submissions?order=DESC", "VALIDATION_ERROR order"],
  ["4.2.6", "nobody", "GET /submissions?page=0&limit=101&type=x&sort=y", "VALIDATION_ERROR limit page sort type"],
  ["4.2.6", "nobody", list("?category=no-such"), 200, is([]), choice("an unknown value of a filter matches nothing")],
  ["4.2.6", "nobody", list("?tag=no-such"), 200, is([])],
  ["4.2.6", "nobody", list("?author=:nothing"), 200, is([])],
  ["4.2.6", "nobody", list("?status=duplicate"), 200, is([])],
  ["4.2.7", "nobody", ["GET /submissions", undefined, { needs: ":merged" }], 200, each("id", [":idea"]), meta({ total: 1 })],
  ["4.2.7", "nobody", ["GET /submissions", undefined, { needs: ":pending" }], 200, is([]), meta({ total: 0 })],
  ["4.2.7", "author", ["GET /submissions", undefined, { needs: ":pending" }], 200, each("id", [":pending"]), meta({ total: 1 })],
  ["4.2.7", "member", ["GET /submissions", undefined, { needs: ":pending" }], 200, each("id", [":pending"])],
  ["4.2.7", "user", ["GET /submissions", undefined, { needs: ":pending" }], 200, is([])],

  ["4.2.8", "nobody", "GET /submissions/:idea", 200, keys(detail), { id: ":idea", title: "A dark theme", type: "idea", status: "open" }],
  ["4.2.8", "nobody", "GET /submissions/:nothing", "NOT_FOUND"],
  ["4.2.8", "nobody", "GET /submissions/:private.submission", "NOT_FOUND"],
  ...expansions,
  ["4.2.9", "nobody", ["GET /submissions/:idea?expand=comments", undefined, { needs: ":deep_reply" }], 200, keys(`${detail} comments`), { comments: [{ id: ":comment", reply_count: 1, author: { name: "Ada Author" } }] }],
  [
    "4.2.9",
    "nobody",
    "GET /submissions/:discussed?expand=comments",
    200,
    at(
      "comments",
      holds((data: unknown[]) => data.length === 50),
    ),
  ],
  ["4.2.10", "nobody", labelled("expand=author,category,tags&category=mobile"), 200, keys(`${without(listed, "author_id", "category_id")} author category`), [{ author: { id: ":author" }, category: { id: ":category" }, tags: [{ name: "Speed", slug: "speed" }] }]],
  ["4.2.10", "nobody", labelled("expand=author"), 200, keys(`${without(listed, "author_id")} author`)],
  ["4.2.10", "nobody", "GET /submissions?expand=comments", "VALIDATION_ERROR expand"],

  ["4.2.11", "user", [create, idea], 201, keys("id title status vote_count url"), isCreated, { title: "A dark theme", status: "open", vote_count: 1 }],
  ["4.2.11", "user", [create, { ...idea, category_id: ":category" }], 201, afterwards("nobody", newest, 200, [{ category_id: ":category", author_id: ":user" }])],
  ["4.2.11", "user", [create, { ...idea, category_id: null }], 201],
  ["4.2.12", "key", [create, idea], 201, body(keys("id url")), types({ id: "uuid", url: "string" })],
  ["4.2.12", "key submissions:write", [create, idea], 201, keys("id url")],
  ["4.2.13", "user", [create, idea], 201, hasPage],
  ["4.2.13", "key", [create, idea], 201, hasPage],
  ["4.2.13", "nobody", "page /submissions/:idea", 301, headers({ location: /submissions/ })],
  ...bad.flatMap(([sent, fields]) => (["user", "key"] as const).map((as) => ["4.2.14", as, [create, sent], `VALIDATION_ERROR ${fields}`] as const)),
  ["4.2.14", "key", [create, { ...idea, author_email: `${of(65)}@example.org`, author_name: {}, source: ["web"] }], "VALIDATION_ERROR author_email author_name source"],
  ["4.2.14", "key", [create, { ...idea, author_email: `a@${of(300)}.org` }], "VALIDATION_ERROR author_email"],
  ["4.2.14", "key", [create, { ...idea, source: "a\0b" }], "VALIDATION_ERROR source"],
  ["4.2.14", "user", [create, idea, { headers: { "x-organization": "no-such" } }], "NOT_FOUND"],
  ["4.2.14", "key", [create, idea, { headers: { "x-organization": ":private.slug" } }], "NOT_FOUND"],
  ["4.2.14", "key submissions:read", [create, idea], "FORBIDDEN"],
  ["4.2.14", "unissued", [create, idea], "UNAUTHORIZED"],
  ["4.2.14", "expired", [create, idea], "UNAUTHORIZED"],
  ["4.2.14", "key", [create, { ...idea, padding: of(1024 * 1024) }], "PAYLOAD_TOO_LARGE"],
  ["4.2.14", "key", [create, undefined, { raw: "title=A", headers: { "content-type": "application/x-www-form-urlencoded" } }], "UNSUPPORTED_MEDIA_TYPE"],
  ["4.2.15", "nobody", [create, idea], "UNAUTHORIZED"],
  ["4.2.15", "impostor", [create, idea], "UNAUTHORIZED"],
  ["4.2.15", "agent", [create, idea], "UNAUTHORIZED"],
  ["4.2.15", "nobody", ["rpc create_submission", { ...idea, ...organizationId }], "sqlstate 42501"],
  ["4.2.15", "agent submissions:read", ["tool create_submission", idea], "FORBIDDEN"],
  ["4.2.16", "user", [create, { ...idea, category_id: "web" }], "VALIDATION_ERROR category_id"],
  ["4.2.16", "user", [create, { ...idea, category_id: ":nothing" }], "VALIDATION_ERROR category_id"],
  ["4.2.16", "user", [create, { ...idea, category_id: ":foreign_category" }], "VALIDATION_ERROR category_id"],
  ["4.2.16", "key", [create, { ...idea, category_id: ":foreign_category" }], "VALIDATION_ERROR category_id"],
  ["4.2.16", "author", [edit, { category_id: ":foreign_category" }], "VALIDATION_ERROR category_id"],
  ["4.2.17", "user", [create, { ...idea, ...forged }], 201, { status: "open" }, afterwards("user", newest, 200, [{ author_id: ":user", status: "open", comment_count: 0, vote_count: 1 }])],
  ["4.2.17", "author", [edit, { ...changed, status: "planned", vote_count: 9, type: "problem", author_id: ":other" }], 200, { ...changed, status: "open", vote_count: 1, type: "idea", author_id: ":author" }],

  ["4.2.18", "author", [edit, { ...changed, description: "It is still too bright at night.", category_id: ":category" }], 200, keys(detail), { ...changed, description: "It is still too bright at night.", category_id: ":category" }],
  ["4.2.18", "author", ["PATCH /submissions/:labelled", { category_id: null }], 200, { category_id: null, title: "A labelled idea" }],
  ["4.2.18", "author", [edit, { title: " \u3000 Trimmed \uFEFF\n" }], 200, { title: "Trimmed" }],
  ["4.2.18", "admin", [edit, { tracker_issue_url: "https://tracker.example/1" }], 200, afterwards("admin", [edit, { tracker_issue_url: null }], 200, { tracker_issue_url: null })],
  ["4.2.18", "key submissions:moderate", [edit, { tracker_issue_url: "https://tracker.example/1" }], 200],
  ["4.2.18", "author", [edit, { tracker_issue_url: "https://tracker.example/1" }], "FORBIDDEN"],
  ["4.2.18", "author", [edit, {}], "VALIDATION_ERROR body"],
  ["4.2.18", "author", [edit, { colour: "red", vote_count: 9 }], "VALIDATION_ERROR body"],
  ["4.2.18", "author", [edit, { title: null }], "VALIDATION_ERROR title"],
  ["4.2.18", "author", [edit, { title: "", description: "" }], "VALIDATION_ERROR description title"],
  ...["javascript:alert(1)", "ftp://example.org/1", "//example.org", "example.org", "https://", "https://user:password@example.org/", "https://example.org/a b", `https://example.org/${of(2000)}`, ""].map(
    (tracker_issue_url) => ["4.2.18", "admin", [edit, { tracker_issue_url }], "VALIDATION_ERROR tracker_issue_url"] as const,
  ),
  ["4.2.19", "admin", [edit, changed], 200, changed],
  ["4.2.19", "owner", [edit, changed], 200],
  ["4.2.19", "key submissions:moderate", [edit, changed], 200],
  ["4.2.19", "key submissions:write", ["PATCH /submissions/:by_writer", changed], 200],
  ["4.2.19", "key submissions:write", [edit, changed], "FORBIDDEN"],
  ["4.2.19", "key submissions:read", [edit, changed], "FORBIDDEN"],
  ["4.2.19", "nobody", [edit, changed], "UNAUTHORIZED"],
  ["4.2.19", "user", [edit, changed], "FORBIDDEN"],
  ["4.2.19", "member", [edit, changed], "FORBIDDEN"],
  ["4.2.19", "outsider", [edit, changed], "FORBIDDEN"],
  ["4.2.19", "user", ["PATCH /submissions/:nothing", changed], "NOT_FOUND"],
  ["4.2.20", "author", [remove, undefined, { needs: ":reply" }], 200, is({ deleted: true }), afterwards("author", "GET /submissions/:idea", "NOT_FOUND"), afterwards("author", "GET /comments/:comment", "NOT_FOUND"), afterwards("author", "GET /me/votes", 200, is([])), afterwards("author", remove, "NOT_FOUND")],
  ["4.2.20", "admin", remove, 200, is({ deleted: true })],
  ["4.2.20", "key submissions:moderate", remove, 200],
  ["4.2.20", "key submissions:write", "DELETE /submissions/:by_writer", 200],
  ["4.2.20", "admin", ["DELETE /submissions/:idea", undefined, { needs: ":merged" }], "CONFLICT", afterwards("nobody", "GET /submissions/:idea", 200), choice("sources keep their target")],
  ["4.2.20", "nobody", remove, "UNAUTHORIZED"],
  ["4.2.20", "user", remove, "FORBIDDEN"],
  ["4.2.20", "member", remove, "FORBIDDEN"],
  ["4.2.20", "key submissions:write", remove, "FORBIDDEN"],

  ["4.2.21", "nobody", query(), 200, keys("id title description relevance highlight"), each("id", [":idea"]), meta({ query: "dark", total: 1 })],
  ["4.2.21", "nobody", query("&type=idea&status=open"), 200, meta({ total: 1 })],
  ["4.2.21", "nobody", query("&type=problem"), 200, is([]), meta({ query: "dark", total: 0 })],
  ["4.2.21", "nobody", query("&status=planned"), 200, is([])],
  ["4.2.21", "nobody", query("&page=2"), 200, is([]), meta({ total: 1 })],
  ["4.2.21", "nobody", `GET /submissions/search?q=${encodeURIComponent(of(200, "😀"))}`, 200],
  ["4.2.21", "nobody", ["GET /submissions/search?q=theme", undefined, { needs: ":merged" }], 200, each("id", [":idea"]), meta({ total: 1 })],
  ["4.2.21", "nobody", "GET /submissions/search?q=a%00b", "VALIDATION_ERROR q"],
  ["4.2.21", "nobody", "GET /submissions/search?q=x&status=done", "VALIDATION_ERROR status"],
  ["4.2.21", "nobody", "GET /submissions/search", "VALIDATION_ERROR q"],
  ["4.2.21", "nobody", "GET /submissions/search?q=%20", "VALIDATION_ERROR q"],
  ["4.2.21", "nobody", `GET /submissions/search?q=${of(201)}`, "VALIDATION_ERROR q"],
  ["4.2.21", "nobody", "GET /submissions/search?q=dark&limit=101", "VALIDATION_ERROR limit"],
  ["4.2.21", "nobody", "GET /submissions/search?q=dark&type=x", "VALIDATION_ERROR type"],
  [
    "4.2.22",
    "nobody",
    [check, { title: "A dark theme for the night" }, { needs: ":idea" }],
    200,
    keys("has_duplicates similar"),
    { has_duplicates: true },
    at("similar", keys("id title similarity vote_count status"), types({ id: "uuid", title: "string", similarity: "fraction", vote_count: "integer", status: "string" })),
  ],
  ["4.2.22", "user", [check, { title: "Something else", description: "Nothing like it.", limit: 20 }, { needs: ":idea" }], 200, is({ has_duplicates: false, similar: [] })],
  ...badDrafts.map(([draft, fields]) => ["4.2.22", "nobody", [check, draft], `VALIDATION_ERROR ${fields}`] as const),
  ["4.2.22", "key", [check, {}], "VALIDATION_ERROR title"],
  ["4.2.22", "agent", ["tool find_similar_submissions", { title: "A dark theme" }], 200, { has_duplicates: false }],
  ["4.2.23", "nobody", ["GET /organizations/:organization/categories", undefined, { needs: ":category" }], 200, each("name", ["Mobile"])],
  ["4.2.23", "nobody", ["GET /organizations/:organization/tags", undefined, { needs: ":tag" }], 200, each("name", ["Speed"])],
  ["4.2.23", "nobody", "GET /organizations/:nothing/categories", "NOT_FOUND"],
  ["4.2.23", "nobody", ["GET /organizations/:private/categories", undefined, { anywhere: true }], "NOT_FOUND"],
  ["4.2.23", "nobody", ["GET /organizations/:private.slug/tags", undefined, { anywhere: true }], "NOT_FOUND", choice("the path takes the id only")],

  ["4.2.24", "admin", merging, 200, { target_id: ":idea", source_ids: [":voted"], vote_count: 2 }, afterwards("nobody", "GET /submissions/:voted", 200, { status: "duplicate", merged_into_id: ":idea" }), afterwards("user", "GET /submissions/:idea", 200, { vote_count: 2, user_vote: {}, is_following: true })],
  ["4.2.24", "key submissions:moderate", merging, 200],
  ["4.2.24", "nobody", merging, "UNAUTHORIZED"],
  ["4.2.24", "author", merging, "FORBIDDEN"],
  ["4.2.24", "member", merging, "FORBIDDEN"],
  ["4.2.24", "key submissions:write", merging, "FORBIDDEN"],
  ["4.2.24", "admin", ["POST /admin/merge", {}], "VALIDATION_ERROR source_ids target_id"],
  ["4.2.24", "agent", ["tool merge_submissions", { source_ids: [":voted"], target_id: ":idea" }, { confirm: true }], 200, afterwards("nobody", "GET /submissions/:voted", 200, { merged_into_id: ":idea" })],

  ["4.2.25", "user", ["rpc create_submission", { ...idea, ...organizationId }], 200, afterwards("user", newest, 200, [{ title: "A dark theme", status: "open", vote_count: 1, author_id: ":user" }]), afterwards("user", "GET /me/votes", 200, [{ title: "A dark theme" }])],
  ["4.2.25", "user", ["rpc create_submission", { ...idea, organization_id: ":full" }], "PLAN_LIMIT_REACHED"],
  ["4.2.25", "author", ["rpc update_submission", { id: ":idea", changes: changed }], 200, is(true), afterwards("nobody", "GET /submissions/:idea", 200, changed)],
  ["4.2.25", "author", ["rpc update_submission", { id: ":idea", changes: { tracker_issue_url: "https://tracker.example/1" } }], "FORBIDDEN"],
  ["4.2.25", "user", ["rpc update_submission", { id: ":idea", changes: changed }], 200, is(false), afterwards("nobody", "GET /submissions/:idea", 200, { title: "A dark theme" })],
  ["4.2.25", "author", ["rpc delete_submission", { id: ":idea" }], 200, is(true), afterwards("nobody", "GET /submissions/:idea", "NOT_FOUND")],
  ["4.2.25", "user", ["rpc delete_submission", { id: ":idea" }], 200, is(false), afterwards("nobody", "GET /submissions/:idea", 200)],
  ["4.2.25", "nobody", ["from submissions", [":idea"], (table, id) => table.select("id,title,description,type,status,vote_count,comment_count,author_id,category_id,created_at,updated_at").eq("id", id)], 200, [{ id: ":idea", title: "A dark theme", status: "open", vote_count: 1, author_id: ":author" }]],
  ["4.2.25", "nobody", ["from submissions", [":pending"], (table, id) => table.select("id").eq("id", id)], 200, is([])],
  ["4.2.26", "agent", ["tool create_submission", idea], 200, isCreated, { title: "A dark theme", status: "open", vote_count: 1 }],
  ["4.2.26", "agent", ["tool get_submission", { submission_id: ":idea" }], 200, { submission: { id: ":idea", title: "A dark theme" } }],
  ["4.2.26", "agent", ["tool get_submission", { submission_id: ":nothing" }], "NOT_FOUND"],
  ["4.2.26", "agent", ["tool list_submissions", { status: "open" }, { needs: ":idea" }], 200, { submissions: [{ id: ":idea" }], page: 1, has_next: false }],
  ["4.2.26", "agent", ["tool search_submissions", { q: "dark" }, { needs: ":idea" }], 200, { submissions: [{ id: ":idea" }] }],
  ["4.2.26", "agent", ["tool search_submissions", {}], "VALIDATION_ERROR q"],
  ["4.2.26", "agent", ["tool update_submission", { submission_id: ":idea", ...changed }], 200, { submission: changed }],
  ["4.2.26", "user", [create, idea, { headers: { "x-organization": ":full.slug" } }], "PLAN_LIMIT_REACHED", error({ details: [] })],
]);
