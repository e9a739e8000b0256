import { at, keys, section, types } from "./row.ts";

const show = "GET /comments/:comment";
const list = ["GET /submissions/:idea/comments", undefined, { needs: ":comment" }] as const;
const all = "id submission_id parent_id body author is_official moderation_state vote_count reply_count created_at updated_at";
const isComment = types({ id: "uuid", submission_id: "uuid", parent_id: "uuid or null", body: "string", author: "object", is_official: "boolean", moderation_state: ["approved"], vote_count: "integer", reply_count: "integer", created_at: "time", updated_at: "time" });
const isAuthor = types({ id: "uuid", name: "string", avatar: "string", is_team_member: "boolean" });

export default section("2.3 Comment", [
  ["2.3.1", "nobody", show, 200, keys(all), isComment, { id: ":comment" }],
  ["2.3.1", "nobody", list, 200, keys(all), isComment, [{ id: ":comment" }]],
  ["2.3.2", "nobody", show, 200, { body: "A comment" }],
  ["2.3.3", "nobody", show, 200, at("author", keys("id name avatar is_team_member"), isAuthor, { id: ":author", name: "Ada Author", is_team_member: false })],
  ["2.3.3", "nobody", list, 200, at("0.author", keys("id name avatar is_team_member"), isAuthor)],
  ["2.3.3", "nobody", "GET /comments/:official", 200, at("author", { id: ":member", is_team_member: true })],
  ["2.3.3", "user", ["POST /submissions/:idea/comments", { body: "First" }], 201, at("author", keys("id name"), { id: ":user", name: "Una User" })],
  ["2.3.4", "nobody", "GET /comments/:official", 200, { is_official: true }],
  ["2.3.4", "user", ["POST /submissions/:idea/comments", { body: "First", is_official: true }], 201, { is_official: false }],
  ["2.3.5", "nobody", "GET /comments/:voted_comment", 200, { vote_count: 1 }],
  ["2.3.6", "nobody", ["GET /comments/:comment", undefined, { needs: ":deep_reply" }], 200, { reply_count: 1 }],
  ["2.3.7", "nobody", "GET /comments/:reply", 200, { parent_id: ":comment" }],
  ["2.3.7", "nobody", show, 200, { parent_id: null }],
  ["2.3.8", "nobody", show, 200, { submission_id: ":idea" }],
  ["2.3.8", "nobody", ["from comments", [":comment"], (table, id) => table.select("id,submission_id,body,is_official,vote_count,reply_count,parent_id").eq("id", id)], 200, [{ id: ":comment", submission_id: ":idea" }]],
  ["2.3.9", "author", "GET /comments/:pending_comment", 200, { moderation_state: "pending" }],
  ["2.3.9", "nobody", "GET /comments/:pending_comment", "NOT_FOUND"],
  ["2.3.10", "author", ["PATCH /comments/:recent_comment", { body: "Changed" }], 200, types({ created_at: "time", updated_at: "time" })],
  ["2.3.11", "nobody", ["GET /comments/:comment?expand=replies", undefined, { needs: ":deep_reply" }], 200, at("replies", keys(all), isComment, [{ id: ":reply", reply_count: 1 }])],
  ["2.3.11", "nobody", "GET /comments/:comment?expand=replies", 200, { replies: [] }],
]);
