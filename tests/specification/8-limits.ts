import { expect } from "vitest";
import { counts, used } from "./receiving.ts";
import { afterwards, at, error, headers, meta, of, section } from "./row.ts";

const description = "A description that is long enough to be taken.";
const idea = (fields: object) => ({ title: "Keyboard shortcuts", description, type: "idea", ...fields });
const submit = (fields: object) => ["POST /submissions", idea(fields)] as const;
const rpc = (fields: object) => ["rpc create_submission", { organization_id: ":organization", ...idea(fields) }] as const;
const tool = (fields: object) => ["tool create_submission", idea(fields)] as const;
const say = (body: string) => ["POST /submissions/:idea/comments", { body }] as const;
const sayByRpc = (body: string) => ["rpc create_comment", { submission_id: ":idea", body }] as const;
const sayByTool = (body: string) => ["tool add_comment", { submission_id: ":idea", body }] as const;
const check = ["POST /submissions/check-duplicates", { title: "Dark mode" }] as const;
const vote = "POST /submissions/:idea/vote";
const list = "GET /submissions";
const whole = /^\d+$/;
const limited = { "x-ratelimit-limit": whole, "x-ratelimit-remaining": "0", "x-ratelimit-reset": /^\d{10}$/, "retry-after": whole };
const wait = { retry_after: expect.any(Number) };

export default section("8 Limits", [
  ["8.1", "user", submit({ title: of(5, "😀") }), 201, { title: of(5, "😀") }],
  ["8.1", "user", submit({ title: of(200, "😀") }), 201],
  ["8.1", "user", submit({ title: of(200, "日") }), 201],
  ["8.1", "user", submit({ title: of(4, "😀") }), "VALIDATION_ERROR title"],
  ["8.1", "user", submit({ title: of(201, "😀") }), "VALIDATION_ERROR title"],
  ["8.1", "user", submit({ title: of(201, "日") }), "VALIDATION_ERROR title"],
  ["8.1", "user", submit({ title: "  four   " }), "VALIDATION_ERROR title"],
  ["8.1", "key", submit({ title: of(4, "日") }), "VALIDATION_ERROR title"],
  ["8.1", "user", rpc({ title: of(5, "日") }), 200],
  ["8.1", "user", rpc({ title: of(200, "😀") }), 200],
  ["8.1", "user", rpc({ title: of(4, "😀") }), "sqlstate 23514"],
  ["8.1", "user", rpc({ title: of(201, "日") }), "sqlstate 23514"],
  ["8.1", "agent", tool({ title: of(5, "😀") }), 200],
  ["8.1", "agent", tool({ title: of(200, "日") }), 200],
  ["8.1", "agent", tool({ title: of(4, "日") }), "VALIDATION_ERROR title"],
  ["8.1", "agent", tool({ title: of(201, "😀") }), "VALIDATION_ERROR title"],
  ["8.2", "user", submit({ description: of(20, "日") }), 201],
  ["8.2", "user", submit({ description: of(5000, "😀") }), 201],
  ["8.2", "user", submit({ description: of(19, "😀") }), "VALIDATION_ERROR description"],
  ["8.2", "user", submit({ description: of(5001, "日") }), "VALIDATION_ERROR description"],
  ["8.2", "key", submit({ description: of(5001, "😀") }), "VALIDATION_ERROR description"],
  ["8.2", "user", rpc({ description: of(20, "😀") }), 200],
  ["8.2", "user", rpc({ description: of(5000, "日") }), 200],
  ["8.2", "user", rpc({ description: of(19, "日") }), "sqlstate 23514"],
  ["8.2", "user", rpc({ description: of(5001, "😀") }), "sqlstate 23514"],
  ["8.2", "agent", tool({ description: of(20, "😀") }), 200],
  ["8.2", "agent", tool({ description: of(5000, "日") }), 200],
  ["8.2", "agent", tool({ description: of(19, "😀") }), "VALIDATION_ERROR description"],
  ["8.2", "agent", tool({ description: of(5001, "日") }), "VALIDATION_ERROR description"],
  ["8.3", "user", say("👍"), 201, { body: "👍" }],
  ["8.3", "user", say(of(2000, "😀")), 201],
  ["8.3", "user", say(""), "VALIDATION_ERROR body"],
  ["8.3", "user", say(" \n"), "VALIDATION_ERROR body"],
  ["8.3", "user", say(of(2001, "日")), "VALIDATION_ERROR body"],
  ["8.3", "user", sayByRpc("日"), 200],
  ["8.3", "user", sayByRpc(of(2000, "😀")), 200],
  ["8.3", "user", sayByRpc(""), "sqlstate 23514"],
  ["8.3", "user", sayByRpc(of(2001, "😀")), "sqlstate 23514"],
  ["8.3", "agent", sayByTool("日"), 200],
  ["8.3", "agent", sayByTool(of(2000, "😀")), 200],
  ["8.3", "agent", sayByTool(""), "VALIDATION_ERROR body"],
  ["8.3", "agent", sayByTool(of(2001, "日")), "VALIDATION_ERROR body"],
  ["8.4", "nobody", list, 200, meta({ page: 1, limit: 50 })],
  ["8.4", "nobody", `${list}?limit=100`, 200, meta({ limit: 100 })],
  ["8.4", "nobody", `${list}?limit=1&page=1`, 200, meta({ page: 1, limit: 1 })],
  ["8.4", "nobody", `${list}?limit=101`, "VALIDATION_ERROR limit"],
  ["8.4", "nobody", `${list}?limit=0`, "VALIDATION_ERROR limit"],
  ["8.4", "nobody", `${list}?page=0`, "VALIDATION_ERROR page"],
  ["8.5", "author", ["PATCH /comments/:recent_comment", { body: "In time" }], 200],
  ["8.5", "author", ["PATCH /comments/:old_comment", { body: "Too late" }], "FORBIDDEN"],
  ["8.5", "author", ["rpc update_comment", { id: ":old_comment", body: "Too late" }], "FORBIDDEN body"],

  ["8.6", "nobody", list, 200, headers({ "x-ratelimit-limit": whole, "x-ratelimit-remaining": whole, "x-ratelimit-reset": /^\d{10}$/ })],
  ["8.6", "nobody", "GET /submissions/:nothing", "NOT_FOUND", headers({ "x-ratelimit-limit": whole })],
  ["8.6", "user", vote, 201, ({ headers }) => expect(Math.abs(Number(headers["x-ratelimit-reset"]) - Date.now() / 1000)).toBeLessThan(3601)],
  ["8.7", "user", vote, 201, used("vote_create", "user"), afterwards("user", "POST /comments/:comment/vote", "RATE_LIMIT_EXCEEDED", headers(limited), error(wait)), used("vote_create", "user", 3600), afterwards("user", "POST /comments/:comment/vote", 201)],
  ["8.7", "user", list, 200, used("level_user", "user"), afterwards("user", list, "RATE_LIMIT_EXCEEDED", error(wait)), used("level_user", "user", 60), afterwards("user", list, 200)],
  ["8.7", "key", submit({}), 201, used("submission_create_key", "key"), afterwards("key", submit({}), "RATE_LIMIT_EXCEEDED", headers(limited)), used("submission_create_key", "key", 60), afterwards("key", submit({}), 201)],
  ["8.7", "user", vote, 201, used("vote_create", "user"), afterwards("user", ["rpc vote_comment", { comment_id: ":comment" }], "RATE_LIMIT_EXCEEDED", error(wait))],
  ["8.7", "user", sayByRpc("Hello"), 200, used("comment_create", "user"), afterwards("user", say("Hello"), "RATE_LIMIT_EXCEEDED"), afterwards("user", sayByRpc("Hello"), "RATE_LIMIT_EXCEEDED", error(wait))],
  ["8.7", "agent", "method tools/list", 200, used("agent_standard", "agent"), afterwards("agent", "tool list_submissions", "RATE_LIMIT_EXCEEDED", error(wait), headers({ "retry-after": whole })), used("agent_standard", "agent", 60), afterwards("agent", "tool list_submissions", 200)],
  ["8.7", "user", vote, 201, used("vote_create", "user"), afterwards("user", vote, "RATE_LIMIT_EXCEEDED"), afterwards("user", list, 200), afterwards("other", vote, 201)],
  ["8.8", "nobody", list, 200, counts("level_public", 30, 60)],
  ["8.9", "user", list, 200, counts("level_user", 100, 60)],
  ["8.9", "member", list, 200, counts("level_user", 100, 60)],
  ["8.10", "admin", list, 200, counts("level_admin", 300, 60)],
  ["8.10", "owner", list, 200, counts("level_admin", 300, 60)],
  ["8.10", "key", list, 200, counts("level_key", 300, 60)],
  ["8.11", "agent", "method tools/list", 200, counts("agent_standard", 60, 60)],
  ["8.11", "agent", "method tools/drop", -32601, counts("agent_standard", 60, 60)],
  ["8.11", "admin", ["PATCH /admin/agents/:agent", { tier: "professional" }], 200, afterwards("agent", "method tools/list", 200, counts("agent_professional", 300, 60))],
  ["8.11", "admin", ["PATCH /admin/agents/:agent", { tier: "enterprise" }], 200, afterwards("agent", "method tools/list", 200, counts("agent_enterprise", 1000, 60))],
  ["8.12", "key", submit({}), 201, counts("submission_create_key", 100, 60)],
  ["8.12", "key", submit({ author_email: ":mailbox" }), 201, counts("submission_create_key", 100, 60), afterwards("key", submit({ title: "" }), "VALIDATION_ERROR title", counts("submission_create_key", 100, 60, 2))],
  ["8.12", "admin", ["POST /admin/api-keys/:key.key_id/rotate", {}], 201, afterwards("key", submit({}), 201, counts("submission_create_key", 100, 60))],
  ["8.13", "nobody", check, 200, counts("duplicate_check_public", 30, 60)],
  ["8.13", "user", check, 200, counts("duplicate_check_user", 100, 60)],
  ["8.13", "key", check, 200, counts("duplicate_check_key", 100, 60)],
  ["8.14", "user", say("Hello"), 201, counts("comment_create", 20, 3600), afterwards("user", say(""), "VALIDATION_ERROR body", counts("comment_create", 20, 3600, 2))],
  ["8.14", "user", sayByRpc("Hello"), 200, counts("comment_create", 20, 3600)],
  ["8.14", "agent", sayByTool("Hello"), 200, counts("comment_create", 20, 3600)],
  ["8.15", "author", ["PATCH /comments/:comment", { body: "Changed" }], 200, counts("comment_update", 10, 3600)],
  ["8.15", "author", ["rpc update_comment", { id: ":comment", body: "Changed" }], 200, counts("comment_update", 10, 3600)],
  ["8.16", "author", "DELETE /comments/:comment", 200, counts("comment_delete", 10, 3600)],
  ["8.16", "author", ["rpc delete_comment", { id: ":comment" }], 200, counts("comment_delete", 10, 3600)],
  ["8.17", "user", "GET /submissions/:idea/comments", 200, counts("comment_list", 100, 60), afterwards("user", "GET /comments/:comment", 200, counts("comment_list", 100, 60, 2))],
  ["8.18", "user", vote, 201, counts("vote_create", 30, 3600), afterwards("user", "POST /comments/:comment/vote", 201, counts("vote_create", 30, 3600, 2))],
  ["8.18", "user", ["rpc vote", { submission_id: ":idea" }], 200, counts("vote_create", 30, 3600), afterwards("user", ["rpc vote_comment", { comment_id: ":comment" }], 200, counts("vote_create", 30, 3600, 2))],
  ["8.19", "user", "DELETE /submissions/:voted/vote", 200, counts("vote_delete", 30, 3600), afterwards("user", "DELETE /comments/:voted_comment/vote", 200, counts("vote_delete", 30, 3600, 2))],
  ["8.19", "user", ["rpc unvote", { submission_id: ":voted" }], 200, counts("vote_delete", 30, 3600), afterwards("user", ["rpc unvote_comment", { comment_id: ":voted_comment" }], 200, counts("vote_delete", 30, 3600, 2))],
  ["8.20", "user", "GET /me/votes", 200, counts("vote_list", 100, 60)],
  ["8.20", "admin", "GET /submissions/:idea/voters", 200, counts("vote_list", 100, 60)],

  ["8.21", "admin", "GET /organizations/:organization/webhooks/:silent/deliveries/:silent.event", 200, { status: "pending", attempt_count: 1, status_code: null, error: expect.stringMatching(/10 seconds/), attempts: [{ duration_ms: expect.closeTo(10_000, -3) }] }],
  ["8.22", "admin", "GET /organizations/:organization/webhooks/:refused/deliveries", 200, [{ status: "pending", attempt_count: 1, status_code: 503 }]],
  ["8.23", "admin", "GET /organizations/:organization/webhooks/:delivered/deliveries", 200, meta({ total: 1 }), at("0", { status: "delivered" })],
]);
