import { expect } from "vitest";
import type { Request } from "./request.ts";
import { at, type Check, choice, error, headers, is, keys, of, section, types } from "./row.ts";

const idea = { title: "A dark theme", description: "A description that is long enough.", type: "idea" };
const submit: Request = ["POST /submissions", idea];
const edit = "PATCH /submissions/:idea";
const status =
  (expected: number): Check =>
  (answer) =>
    expect(answer.status, answer.text).toBe(expected);
/** The object of the error, and no field beside it. */
const general =
  (code: string, details: object[] = []): Check =>
  ({ body }) =>
    expect(body).toEqual({ error: { code, message: expect.stringMatching(/./), details: details.map((detail) => ({ message: expect.stringMatching(/./), ...detail })) } });
/** The seconds to wait, which are in the header too. */
const wait: Check = ({ text, headers }) => expect(`"retry_after":${headers["retry-after"]}`).toBe(/"retry_after":[1-9]\d*/.exec(text)?.[0]);
const malformed = (raw: string): Request => [edit, undefined, { raw }];
const typed = (type: string): Request => [edit, undefined, { raw: JSON.stringify(idea), headers: { "content-type": type } }];
const nobodysCursor = Buffer.from(JSON.stringify(["1", "1", "2020-01-01 00:00:00+00"])).toString("base64url");

const call = (fields: object = {}): Request => ["POST /mcp/tools", { jsonrpc: "2.0", id: 1, method: "tools/list", ...fields }];
const raw = (text: string): Request => ["POST /mcp/tools", undefined, { raw: text }];
const jsonRpc = (code: number, id: unknown = 1): Check => is({ jsonrpc: "2.0", id, error: { code, message: expect.stringMatching(/./), data: expect.objectContaining({ code: expect.stringMatching(/^[A-Z_]+$/) }) } });
const validation = (...messages: RegExp[]): Check => error({ validation_errors: messages.map((message) => expect.stringMatching(message)) });

export default section("7 Errors", [
  ["7.1", "user", ["POST /submissions", {}], "VALIDATION_ERROR title description type", keys("error"), at("error", keys("code message details"), at("details", keys("field message"), types({ field: "string", message: "string" })))],
  ["7.1", "nobody", "GET /submissions/:nothing", "NOT_FOUND", general("NOT_FOUND")],
  ["7.1", "admin", "PATCH /surveys/:open", "VALIDATION_ERROR body", general("VALIDATION_ERROR", [{ field: "body" }])],
  ["7.2", "key", ["POST /submissions", { ...idea, title: "Dark" }], "VALIDATION_ERROR title", is({ error: "validation_error", details: [{ field: "title", message: expect.stringMatching(/./) }] })],
  ["7.2", "key submissions:read", submit, "FORBIDDEN", is({ error: "forbidden" }), status(403)],
  ["7.2", "unissued", submit, "UNAUTHORIZED", is({ error: "unauthorized" }), status(401)],
  ["7.2", "expired", submit, "UNAUTHORIZED", is({ error: "unauthorized" })],
  ["7.2", "at_limit_key", submit, "PLAN_LIMIT_REACHED", is({ error: "plan_limit_reached" }), status(402)],
  ["7.2", "busy_key", submit, "RATE_LIMIT_EXCEEDED", keys("error retry_after"), { error: "rate_limited" }, status(429), wait],
  ["7.2", "key", ["POST /submissions", undefined, { raw: "{" }], "VALIDATION_ERROR body", is({ error: "validation_error", details: [{ field: "body", message: expect.stringMatching(/./) }] })],
  ["7.2", "key", ["POST /submissions", undefined, { raw: "{}", headers: { "content-type": "text/plain" } }], "UNSUPPORTED_MEDIA_TYPE", is({ error: "unsupported_media_type" }), status(415), choice("a code that the specification does not name")],
  ["7.2", "key", ["POST /submissions", undefined, { raw: of(1024 * 1024 + 1) }], "PAYLOAD_TOO_LARGE", is({ error: "payload_too_large" }), status(413), choice("a code that the specification does not name")],
  ["7.3", "user", ["POST /submissions", { ...idea, title: "Dark" }], "VALIDATION_ERROR title", general("VALIDATION_ERROR", [{ field: "title" }]), choice("the flow of submissions is that of keys")],
  ["7.3", "nobody", submit, "UNAUTHORIZED", general("UNAUTHORIZED")],
  ["7.2", "impostor", submit, 401, is({ error: "unauthorized" }), choice("a token without form may be a key")],
  ["7.3", "key submissions:read", [edit, { title: "Another title" }], "FORBIDDEN", general("FORBIDDEN")],
  [
    "7.4",
    "admin",
    [
      "POST /surveys",
      {
        title: "",
        questions: [
          { type: "text", text: "" },
          { type: "x", text: "Why?", options: ["Yes", 7] },
        ],
      },
    ],
    "VALIDATION_ERROR title questions.0.text questions.1.type questions.1.options.1",
  ],
  ["7.4", "nobody", "GET /submissions?limit=500&page=0&sort=age", "VALIDATION_ERROR limit page sort"],
  ["7.5", "user", malformed('{"title": "A dark'), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("{title: 1}"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("{'title': 'A dark theme'}"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed('{"title": "A dark theme",}'), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("{} {}"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed(" "), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("NaN"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("\0"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed('{"title": "A\ndark theme"}'), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed(of(100_000, "[")), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("[{}]"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed('"text"'), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("1"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("true"), "VALIDATION_ERROR body"],
  ["7.5", "user", malformed("null"), "VALIDATION_ERROR body"],
  ["7.6", "nobody", ["POST /submissions/check-duplicates", undefined, { raw: `\uFEFF${JSON.stringify({ title: "Dark theme" })}` }], 200],
  ["7.6", "author", [edit, undefined, { raw: '{"title": "Another title", "__proto__": {"status": "declined"}, "toString": 1}' }], 200, { title: "Another title", status: "open" }],
  ["7.6", "author", typed("application/json;charset=UTF-8"), 200],
  ["7.6", "author", typed("APPLICATION/JSON"), 200],
  ["7.6", "author", typed("application/json ; charset=utf-8"), 200],
  ["7.6", "author", typed("application/merge-patch+json"), 200],
  ["7.6", "author", [edit, undefined, { raw: `{"title": "Another title", "more": ${of(100_000, "[")}${of(100_000, "]")}}` }], 200],
  ["7.6", "user", ["POST /submissions", undefined, { raw: '{"__proto__": {"title": "From a prototype"}, "constructor": 5, "type": "idea"}' }], "VALIDATION_ERROR title description"],

  ["7.7", "author", [edit, { title: "A title with \0 in it" }], "VALIDATION_ERROR title"],
  ["7.7", "author", [edit, { title: "Half a pair \ud83d", description: "A pair in reverse \ude00\ud83d, long enough" }], "VALIDATION_ERROR title description"],
  ["7.7", "user", ["POST /submissions", { ...idea, title: "The other half \ude00", description: "A description with \0 in it" }], "VALIDATION_ERROR title description"],
  ["7.7", "admin", [edit, { tracker_issue_url: "https://example.org/\ud83d" }], "VALIDATION_ERROR tracker_issue_url"],
  ["7.7", "admin", [`${edit}/status`, { status: "planned", note: "\ude00" }], "VALIDATION_ERROR note"],
  ["7.7", "user", ["POST /submissions/:idea/comments", { body: "\0" }], "VALIDATION_ERROR body"],
  ["7.7", "author", ["PATCH /comments/:comment", { body: "\ud83d" }], "VALIDATION_ERROR body"],
  ["7.7", "nobody", ["POST /submissions/check-duplicates", { title: "Dark \ud83d", description: "\0" }], "VALIDATION_ERROR title description"],
  ["7.7", "key", ["POST /submissions/:idea/vote", { author_email: ":mailbox", author_name: "\ude00" }], "VALIDATION_ERROR author_name"],

  ["7.8", "admin", ["POST /surveys", {}], "VALIDATION_ERROR title", status(400)],
  ["7.8", "user", "POST /submissions", "VALIDATION_ERROR title description type"],
  ["7.9", "nobody", "GET /me/votes", "UNAUTHORIZED", status(401)],
  ["7.9", "unissued", "GET /submissions", "UNAUTHORIZED", status(401)],
  ["7.9", "expired", "GET /submissions", "UNAUTHORIZED"],
  ["7.9", "impostor", "GET /nothing", "UNAUTHORIZED"],
  ["7.9", "impostor", "GET /submissions?page=0", "UNAUTHORIZED"],
  ["7.9", "impostor", ["GET /submissions?organization=nowhere", undefined, { anywhere: true }], "UNAUTHORIZED"],
  ["7.9", "impostor", ["PATCH /submissions/nonsense", undefined, { raw: "{" }], "UNAUTHORIZED"],
  ["7.9", "impostor", "DELETE /submissions/nonsense", "UNAUTHORIZED"],
  ["7.10", "at_limit", ["POST /submissions?organization=:at_limit.slug", idea, { anywhere: true }], "PLAN_LIMIT_REACHED", status(402)],
  ["7.11", "user", "DELETE /submissions/:idea", "FORBIDDEN", status(403)],
  ["7.11", "author", ["PATCH /comments/:old_comment", { body: "Too late" }], "FORBIDDEN", status(403)],
  ["7.12", "nobody", "GET /submissions/:nothing", "NOT_FOUND", status(404)],
  ["7.12", "nobody", "GET /submissions/:pending", "NOT_FOUND", status(404), choice("what the caller may not see does not exist for them")],
  ["7.12", "nobody", ["GET /submissions?organization=nowhere", undefined, { anywhere: true }], "NOT_FOUND"],
  ["7.12", "nobody", "GET /nothing", "NOT_FOUND"],
  ["7.12", "nobody", "GET /Submissions", "NOT_FOUND"],
  ["7.12", "nobody", "GET /submissions/x/y/z", "NOT_FOUND"],
  ["7.12", "nobody", "GET /submissions/%E0%A4%A", "NOT_FOUND"],
  ["7.12", "nobody", "GET /submissions/%2e%2e", "NOT_FOUND"],
  ["7.12", "nobody", "GET /submissions//", "NOT_FOUND"],
  ["7.12", "nobody", "GET /.env", "NOT_FOUND"],
  ["7.12", "user", ["POST /nothing", {}], "NOT_FOUND"],
  ["7.13", "user", ["PUT /submissions/:idea", idea], "METHOD_NOT_ALLOWED", headers({ allow: "GET, PATCH, DELETE, HEAD, OPTIONS" }), choice("HTTP asks for Allow here")],
  ["7.13", "user", ["PATCH /submissions", idea], "METHOD_NOT_ALLOWED"],
  ["7.13", "user", "DELETE /submissions/", "METHOD_NOT_ALLOWED"],
  ["7.13", "agent", "GET /mcp/tools", 405, headers({ allow: "POST" }), jsonRpc(-32600, null)],
  ["7.13", "nobody", "GET /mcp/tools", 401, jsonRpc(-32000, null)],
  ["7.14", "admin", "POST /surveys/:archived/publish", "CONFLICT status", status(409), choice("the specification names no 409")],
  ["7.15", "user", "POST /submissions/:merged/vote", "SUBMISSION_MERGED", status(409), error({ merged_into_id: ":idea" })],
  ["7.16", "admin", ["POST /admin/moderation", { target_type: "submission", target_id: ":pending", action: "approve", updated_at: "2026-01-01T00:00:00Z" }], "TEXT_CHANGED", status(409), error({ current: { title: "An idea for the team" } })],
  ["7.17", "user", ["POST /surveys/:paused/responses", { answers: [{ question_id: ":paused.nps", value: 9 }] }], "SURVEY_NOT_OPEN", status(409)],
  ["7.18", "user", ["POST /surveys/:answered/responses", { answers: [{ question_id: ":answered.nps", value: 9 }] }], "ALREADY_RESPONDED", status(409)],
  ["7.19", "admin", "DELETE /surveys/:answered", "SURVEY_HAS_RESPONSES", status(409)],
  ["7.20", "admin", `GET /admin/events?after=${nobodysCursor}`, "GONE after", status(410), choice("the specification names no 410")],
  ["7.21", "user", malformed(of(1024 * 1024 + 1)), "PAYLOAD_TOO_LARGE", status(413), choice("the specification names no 413")],
  ["7.21", "author", malformed(JSON.stringify(idea).padEnd(1024 * 1024)), 200],
  ["7.22", "user", typed("text/plain"), "UNSUPPORTED_MEDIA_TYPE", status(415), choice("the specification names no 415")],
  ["7.22", "user", typed("text/json"), "UNSUPPORTED_MEDIA_TYPE"],
  ["7.22", "user", typed("application/x-www-form-urlencoded"), "UNSUPPORTED_MEDIA_TYPE"],
  ["7.22", "user", typed("multipart/form-data; boundary=x"), "UNSUPPORTED_MEDIA_TYPE"],
  ["7.22", "user", typed("application/jsonp"), "UNSUPPORTED_MEDIA_TYPE"],
  ["7.22", "user", typed("application"), "UNSUPPORTED_MEDIA_TYPE"],
  ["7.23", "busy", "GET /submissions", "RATE_LIMIT_EXCEEDED", status(429), at("error", keys("code message details retry_after")), wait],
  ["7.23", "busy_key", "GET /submissions", "RATE_LIMIT_EXCEEDED", status(429), wait],

  ["7.24", "agent", raw("{"), 400, jsonRpc(-32700, null)],
  ["7.24", "agent", raw('{"a": }'), 400, jsonRpc(-32700, null)],
  ["7.25", "agent", raw("[]"), 400, jsonRpc(-32600, null)],
  ["7.25", "agent", raw('[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]'), 400, jsonRpc(-32600, null), choice("no batches")],
  ["7.25", "agent", raw('"call"'), 400, jsonRpc(-32600, null)],
  ["7.25", "agent", raw("null"), 400, jsonRpc(-32600, null)],
  ["7.25", "agent", raw(""), 400, jsonRpc(-32600, null), choice("a missing body is {}, as everywhere")],
  ["7.25", "agent", call({ jsonrpc: undefined }), 400, jsonRpc(-32600)],
  ["7.25", "agent", call({ jsonrpc: "1.0" }), 400, jsonRpc(-32600)],
  ["7.25", "agent", call({ method: undefined }), 400, jsonRpc(-32600)],
  ["7.25", "agent", call({ method: 1 }), 400, jsonRpc(-32600)],
  ["7.25", "agent", call({ id: {} }), 400, jsonRpc(-32600, null)],
  ["7.25", "agent", call({ params: "x" }), 400, jsonRpc(-32600)],
  ["7.26", "agent", call({ method: "tools/drop" }), 200, jsonRpc(-32601)],
  ["7.26", "agent", call({ method: "toString" }), 200, jsonRpc(-32601)],
  ["7.27", "agent", ["tool list_submissions", { limit: 0 }], -32602, status(200), validation(/^limit must be a whole number from 1 to 100$/)],
  ["7.27", "agent", ["tool list_submissions", { type: "bug", status: "gone" }], -32602, validation(/^status must be one of/, /^type must be one of/)],
  ["7.27", "agent", ["tool get_submission", {}], -32602, validation(/^submission_id is required$/)],
  ["7.27", "agent", ["tool get_submission", { submission_id: "1" }], -32602, validation(/^submission_id must be a UUID$/)],
  ["7.27", "agent", ["tool get_submission", { submission_id: ":nothing" }], -32602, status(200), error({ code: "NOT_FOUND" }), validation(/no such submission/), choice("the specification has no code for what does not exist")],
  ["7.27", "agent", "tool no_such_tool", -32602, error({ code: "NOT_FOUND" }), validation(/no such tool/)],
  ["7.27", "agent", "tool __proto__", -32602, validation(/no such tool/)],
  ["7.27", "agent", ["tool vote_submission", { submission_id: ":merged" }], -32602, error({ code: "SUBMISSION_MERGED", merged_into_id: ":idea" })],
  ["7.27", "agent", call({ method: "tools/call", params: {} }), 200, jsonRpc(-32602)],
  ["7.27", "agent", call({ params: [] }), 200, jsonRpc(-32602)],
  ["7.27", "agent", ["method tools/call", { name: 1 }], -32602, validation(/^name must be a string$/)],
  ["7.27", "agent", ["method tools/call", { name: "list_submissions", arguments: [] }], -32602, validation(/^arguments must be an object$/)],
  ["7.27", "agent", ["method tools/call", { name: "list_submissions", stream: "yes" }], -32602, validation(/^stream must be true or false$/)],
  ["7.28", "nobody", call(), 401, jsonRpc(-32000)],
  ["7.28", "impostor", call(), 401, jsonRpc(-32000)],
  ["7.28", "unissued", call(), 401, jsonRpc(-32000)],
  ["7.28", "key", call(), 401, jsonRpc(-32000)],
  ["7.28", "admin", call(), 401, jsonRpc(-32000)],
  ["7.29", "agent submissions:read", ["tool vote_submission", { submission_id: ":idea" }], -32001, status(403), error({ code: "FORBIDDEN", scope: "submissions:write" })],
  ["7.29", "agent submissions:read", ["method subscribe", { events: ["survey.response.created"] }], -32001, status(403), error({ scope: "responses:read" })],
  ["7.30", "busy_agent", "tool list_submissions", -32002, status(429), error({ code: "RATE_LIMIT_EXCEEDED" }), wait],
]);
