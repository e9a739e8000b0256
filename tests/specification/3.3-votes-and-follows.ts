import { afterwards, choice, is, keys, section, types } from "./row.ts";

const vote = "POST /submissions/:idea/vote";
const unvote = "DELETE /submissions/:idea/vote";
const follow = "POST /submissions/:idea/follow";
const unfollow = "DELETE /submissions/:idea/follow";
const show = "GET /submissions/:idea";
const isFollow = types({ submission_id: "uuid", is_following: "boolean" });

export default section("3.3 Votes and follows", [
  ["3.3.1", "user", vote, 201, afterwards("user", show, 200, { user_vote: {} }), afterwards("user", unvote, 200), afterwards("user", show, 200, { user_vote: null })],
  ["3.3.2", "user", vote, 201, afterwards("user", show, 200, { is_following: true }), afterwards("user", unvote, 200), afterwards("user", show, 200, { is_following: true })],
  ["3.3.3", "user", follow, 201, keys("submission_id is_following"), isFollow, { submission_id: ":idea", is_following: true }, afterwards("user", follow, 200, { is_following: true }), afterwards("user", show, 200, { is_following: true }), choice("the paths are ours")],
  ["3.3.3", "author", unfollow, 200, isFollow, { submission_id: ":idea", is_following: false }, afterwards("author", unfollow, 200, { is_following: false }), afterwards("author", show, 200, { is_following: false })],
  ["3.3.3", "user", "POST /submissions/:nothing/follow", "NOT_FOUND"],
  ["3.3.3", "user", "POST /submissions/:pending/follow", "NOT_FOUND"],
  ["3.3.3", "user", "POST /submissions/:merged/follow", "SUBMISSION_MERGED"],
  ["3.3.4", "nobody", follow, "UNAUTHORIZED"],
  ["3.3.4", "nobody", unfollow, "UNAUTHORIZED"],
  ["3.3.4", "key", follow, "FORBIDDEN"],
  ["3.3.5", "user", ["rpc follow", { submission_id: ":idea" }], 200, is(true), afterwards("user", ["rpc follow", { submission_id: ":idea" }], 200, is(false)), afterwards("user", show, 200, { is_following: true })],
  ["3.3.5", "author", ["rpc unfollow", { submission_id: ":idea" }], 200, is(true), afterwards("author", ["rpc unfollow", { submission_id: ":idea" }], 200, is(false)), afterwards("author", show, 200, { is_following: false })],
]);
