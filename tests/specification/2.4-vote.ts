import { keys, section, types } from "./row.ts";

const vote = { user_id: "uuid", vote_count: "integer", created_at: "time" } as const;
const item = { submission_id: "uuid", title: "string", status: "string", vote_count: "integer", voted_at: "time" } as const;
const voter = { user_id: "uuid", name: "string", email: "string or null", voted_at: "time" } as const;

export default section("2.4 Vote", [
  ["2.4.1", "user", "POST /submissions/:idea/vote", 201, keys("submission_id user_id vote_count created_at"), types({ submission_id: "uuid", ...vote })],
  ["2.4.1", "user", "POST /submissions/:idea/vote", 201, { submission_id: ":idea", user_id: ":user", vote_count: 2 }],
  ["2.4.1", "user", "POST /submissions/:voted/vote", 200, keys("submission_id user_id vote_count created_at"), types({ submission_id: "uuid", ...vote })],
  ["2.4.2", "user", "POST /comments/:comment/vote", 201, keys("comment_id user_id vote_count created_at"), types({ comment_id: "uuid", ...vote })],
  ["2.4.2", "user", "POST /comments/:comment/vote", 201, { comment_id: ":comment", user_id: ":user", vote_count: 1 }],
  ["2.4.3", "user", ["GET /me/votes", undefined, { needs: ":voted" }], 200, keys(Object.keys(item).join(" ")), types(item)],
  ["2.4.3", "user", ["GET /me/votes", undefined, { needs: ":voted" }], 200, [{ submission_id: ":voted", title: "A wanted idea", status: "open", vote_count: 2 }]],
  ["2.4.4", "admin", "GET /submissions/:voted/voters", 200, keys(Object.keys(voter).join(" ")), types(voter)],
  ["2.4.4", "admin", "GET /submissions/:voted/voters", 200, [{ user_id: ":user", name: "Una User", email: ":user.email" }, { user_id: ":author" }]],
  ["2.4.4", "admin", "GET /submissions/:by_key/voters", 200, [{ user_id: ":key", email: null }]],
  ["2.4.4", "admin", "GET /submissions/:by_nameless/voters", 200, [{ name: "Anonymous" }]],
  ["2.4.5", "user", "DELETE /submissions/:voted/vote", 200, keys("submission_id user_id vote_count"), types({ submission_id: "uuid", user_id: "uuid", vote_count: "integer" })],
  ["2.4.5", "user", "DELETE /submissions/:voted/vote", 200, { submission_id: ":voted", user_id: ":user", vote_count: 1 }],
  ["2.4.5", "user", "DELETE /comments/:voted_comment/vote", 200, keys("comment_id user_id vote_count"), { comment_id: ":voted_comment", user_id: ":user", vote_count: 0 }],
]);
