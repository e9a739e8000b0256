import { afterwards, at, each, headers, holds, is, keys, section, types } from "./row.ts";

const categories = "GET /organizations/:organization/categories";
const tags = "GET /organizations/:organization/tags";
const made = { needs: ":category :tag" };
const isLabel = types({ id: "uuid", name: "string", slug: "string", color: "string" });
const isAuthor = types({ id: "uuid", name: "string", avatar: "string", is_team_member: "boolean" });
const fields = keys("id name avatar is_team_member");
const figure = holds(({ id, avatar }: { id: string; avatar: string }) => avatar.endsWith(`/avatars/${id}.svg`));

const inLanguages = (["de Handy", "fr Portable", "es Móvil", "ru Мобильный", "pt-BR Celular", "ja モバイル", "it Mobile", "en Mobile"] as const).map((pair) => {
  const [language = "", name = ""] = pair.split(" ");
  return ["2.2.3", "nobody", [categories, undefined, { ...made, headers: { "accept-language": language } }], 200, each("name", [name]), headers({ "content-language": language, vary: /accept-language/i })] as const;
});

export default section("2.2 Category, tag, author", [
  ["2.2.1", "nobody", [categories, undefined, made], 200, keys("id name slug color"), isLabel, [{ id: ":category", name: "Mobile", slug: "mobile" }]],
  ["2.2.1", "nobody", "GET /submissions/:labelled?expand=category", 200, at("category", keys("id name slug color"), isLabel)],
  ["2.2.2", "nobody", [tags, undefined, made], 200, keys("id name slug color"), isLabel, [{ id: ":tag", name: "Speed", slug: "speed" }]],
  ["2.2.2", "nobody", "GET /submissions/:labelled?expand=tags", 200, at("tags", keys("name slug"), types({ name: "string", slug: "string" }))],
  ...inLanguages,
  ["2.2.3", "nobody", [tags, undefined, { ...made, headers: { "accept-language": "de" } }], 200, [{ name: "Tempo" }]],
  ["2.2.3", "nobody", [tags, undefined, { ...made, headers: { "accept-language": "it" } }], 200, [{ name: "Speed" }]],
  ["2.2.3", "nobody", ["GET /submissions/:labelled?expand=category,tags", undefined, { headers: { "accept-language": "de" } }], 200, { category: { name: "Handy" }, tags: [{ name: "Tempo" }] }],
  ["2.2.4", "nobody", "GET /submissions/:idea?expand=author", 200, at("author", fields, isAuthor, { id: ":author", name: "Ada Author", is_team_member: false })],
  ["2.2.4", "nobody", ["GET /submissions?expand=author", undefined, { needs: ":idea" }], 200, at("0.author", fields, isAuthor)],
  ["2.2.4", "nobody", "GET /comments/:official", 200, at("author", fields, isAuthor, { is_team_member: true })],
  ["2.2.4", "outsider", ["POST /submissions/:idea/comments", { body: "Hello" }], 201, afterwards("nobody", "GET /submissions/:idea/comments", 200, at("0.author", { id: ":outsider", is_team_member: false }))],
  ["2.2.4", "author", ["rpc update_profile", { changes: { name: "Ada A.", avatar_url: "https://img.example/a.png" } }], 200, is(true), afterwards("nobody", "GET /submissions/:idea?expand=author", 200, at("author", { name: "Ada A.", avatar: "https://img.example/a.png" }))],
  ["2.2.4", "author", ["rpc update_profile", { changes: { email: "other@app.example" } }], "VALIDATION_ERROR changes.email"],
  ["2.2.5", "nobody", "GET /submissions/:idea?expand=author", 200, at("author", isAuthor, figure)],
  ["2.2.5", "nobody", "GET /submissions/:by_key?expand=author", 200, at("author", isAuthor, figure)],
  ["2.2.5", "nobody", "GET /submissions/:by_nameless?expand=author", 200, at("author", isAuthor, figure)],
]);
