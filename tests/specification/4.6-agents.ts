import { expect } from "vitest";
import { streams } from "./receiving.ts";
import { afterwards, at, choice, each, error, is, keys, of, section, types } from "./row.ts";

const idea = { title: "Keyboard shortcuts", description: "Let me do all of it without a mouse, please.", type: "idea" };
const questions = [{ type: "nps", text: "Would you recommend us?" }];
const names = [
  "list_submissions",
  "get_submission",
  "search_submissions",
  "find_similar_submissions",
  "list_categories",
  "create_submission",
  "update_submission",
  "set_submission_status",
  "merge_submissions",
  "list_comments",
  "add_comment",
  "vote_submission",
  "remove_vote",
  "list_surveys",
  "get_survey",
  "create_survey",
  "update_survey",
  "delete_survey",
  "publish_survey",
  "list_survey_responses",
  "get_survey_analytics",
  "analyze_sentiment",
];
const ofSurvey = { survey_id: ":published_survey" };
const respond = ["POST /surveys/:published_survey/responses", { answers: [{ question_id: ":published_survey.question", value: 10 }] }] as const;
const say = (input: string, params: object = {}) => ["method tools/call", { mode: "natural_language", input, ...params }] as const;
/** A body as it is, with its headers. */
const post = (raw: string, headers: Record<string, string> = {}) => ["POST /mcp/tools", undefined, { raw, headers, anywhere: true }] as const;
const call = (fields: object = {}) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", ...fields }, null, 1);
const refused = (code: number, data: object = {}) => error({ code, message: expect.any(String), data: { code: expect.stringMatching(/^[A-Z_]+$/), ...data } });
const subscribe = (events: unknown, filters?: object) => ["method subscribe", { events, filters }] as const;
/** The path of the stream ends in the id of this field. */
const hasPath =
  (way: string, id: string) =>
  ({ data }: { data: unknown }) => {
    const { stream_url = "", [id]: named } = data as Record<string, string>;
    expect(new URL(stream_url).pathname).toBe(`/api/mcp/${way}/${named}`);
  };
const hasSchema = { type: "object", properties: expect.any(Object), required: expect.any(Array) };

export default section("4.6 Agents", [
  ["4.6.1", "agent", post(call({ id: "a-7" })), 200, ({ body }) => expect(body).toEqual({ jsonrpc: "2.0", id: "a-7", result: { tools: expect.any(Array) } })],
  ["4.6.1", "agent", post(call({ id: 0 })), 200, ({ body }) => expect(body).toMatchObject({ id: 0 })],
  ["4.6.1", "agent", post(call({ id: null })), 200, ({ body }) => expect(body).toMatchObject({ id: null })],
  ["4.6.1", "agent", post(call({ id: -1.5 })), 200, ({ body }) => expect(body).toMatchObject({ id: -1.5 })],
  ["4.6.1", "agent", post(call({ id: "é💡" })), 200, ({ body }) => expect(body).toMatchObject({ id: "é💡" })],
  ["4.6.1", "agent", post(call({ id: of(255, "i") })), 200, ({ body }) => expect(body).toMatchObject({ id: of(255, "i") })],
  ["4.6.1", "agent", post(call({ id: of(256, "i") })), 400, refused(-32600)],
  ["4.6.2", "agent", "method tools/drop", -32601, ({ body }) => expect(body).toEqual({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: expect.any(String), data: { code: "NOT_FOUND" } } })],
  ["4.6.2", "agent", "method toString", -32601, error({ code: "NOT_FOUND" })],
  ["4.6.2", "agent", post("{"), 400, refused(-32700, { code: "VALIDATION_ERROR" })],
  ["4.6.2", "agent", post('{"a":}'), 400, refused(-32700)],
  ["4.6.2", "agent", post(""), 400, refused(-32600, { code: "VALIDATION_ERROR" })],
  ["4.6.2", "agent", post('"call"'), 400, refused(-32600)],
  ["4.6.2", "agent", post("null"), 400, refused(-32600)],
  ["4.6.2", "agent", post("[]"), 400, refused(-32600)],
  ["4.6.2", "agent", post(`[${call()}]`), 400, refused(-32600), ({ body }) => expect(body).toMatchObject({ id: null })],
  ["4.6.2", "agent", post('{"id":7,"method":"tools/list"}'), 400, refused(-32600), ({ body }) => expect(body).toMatchObject({ id: 7 })],
  ["4.6.2", "agent", post(call({ jsonrpc: "1.0" })), 400, refused(-32600)],
  ["4.6.2", "agent", post(call({ method: undefined })), 400, refused(-32600)],
  ["4.6.2", "agent", post(call({ method: 1 })), 400, refused(-32600)],
  ["4.6.2", "agent", post(call({ id: {} })), 400, refused(-32600), ({ body }) => expect(body).toMatchObject({ id: null })],
  ["4.6.2", "agent", post(call({ params: "x" })), 400, refused(-32600)],
  ["4.6.2", "agent", post(call({ params: [] })), 200, refused(-32602, { validation_errors: ["params must be an object with named arguments"] })],
  ["4.6.2", "agent", ["method tools/call", {}], -32602, error({ code: "VALIDATION_ERROR", validation_errors: ["name is required"] })],
  ["4.6.2", "agent", ["method tools/call", { name: 1 }], -32602, error({ validation_errors: [expect.any(String)] })],
  ["4.6.2", "agent", ["method tools/call", { name: "list_submissions", arguments: [] }], -32602, error({ validation_errors: [expect.any(String)] })],
  ["4.6.2", "agent", ["method tools/call", { name: "list_submissions", stream: "yes" }], -32602, error({ validation_errors: [expect.any(String)] })],
  ["4.6.3", "nobody", "GET /mcp/health", 200, keys("status tools"), types({ status: ["ok"], tools: "integer" }), { tools: 22 }],
  ["4.6.4", "agent", "GET /mcp/tools", 405, refused(-32600)],
  ["4.6.4", "agent", "PUT /mcp/tools", 405, ({ headers }) => expect(headers.allow).toBe("POST")],
  ["4.6.4", "agent", "DELETE /mcp/tools", 405, refused(-32600)],
  ["4.6.4", "nobody", "GET /mcp/tools", 401, refused(-32000)],
  ["4.6.4", "unissued", "GET /mcp/tools", 401, refused(-32000)],

  ["4.6.5", "agent", "method tools/list", 200, keys("tools"), at("tools", keys("name description inputSchema annotations"), types({ name: "string", description: "string", inputSchema: "object", annotations: "object" }))],
  ["4.6.5", "agent", "method tools/list", 200, at("tools", each("name", names), each("inputSchema", Array(names.length).fill(expect.objectContaining(hasSchema))))],
  ["4.6.5", "agent surveys:read", "method tools/list", 200, at("tools", each("name", ["list_surveys", "get_survey"]))],
  ["4.6.6", "agent", ["tool create_survey", { title: "How was it?", questions }], 200, keys("survey_id status url"), types({ survey_id: "uuid", status: ["draft"], url: "string" })],
  ["4.6.6", "agent", ["tool create_survey", { title: "How was it?", questions, description: "One question.", settings: { show_branding: false } }], 200, { status: "draft" }],
  ["4.6.6", "agent", ["tool create_survey", { questions }], "VALIDATION_ERROR title"],
  ["4.6.6", "agent", ["tool create_survey", { title: "How was it?" }], "VALIDATION_ERROR questions"],
  ["4.6.6", "agent", ["tool create_survey", { title: "", questions: [{ type: "nps" }, { type: "multiple_choice", text: "Which?" }] }], "VALIDATION_ERROR title questions.0.text questions.1.options"],
  ["4.6.7", "agent", ["method tools/call", { name: "list_surveys" }], 200, { surveys: [], page: 1, total: 0, has_next: false }, choice("arguments may be left out")],
  ["4.6.7", "agent", ["tool get_survey", { survey_id: ":published_survey" }], 200, afterwards("agent", "tool list_surveys", 200, { surveys: [{ id: ":published_survey", title: "How was it?", status: "published", response_count: 0 }], total: 1 })],
  ["4.6.7", "agent", ["tool analyze_sentiment", { texts: ["I love it.", "This is awful."], locale: "en" }], 200, { positive_count: 1, negative_count: 1, scored_count: 2 }, types({ overall: "number" }), at("items", each("sentiment", ["positive", "negative"]))],
  ["4.6.7", "agent", ["tool get_submission", { submission_id: ":idea" }], 200, { submission: { id: ":idea", author: { id: ":author" }, has_voted: false }, untrusted_text: ["submission.title", "submission.description", "submission.author.name"] }],
  ["4.6.7", "agent", ["tool create_submission", { ...idea, author_email: "somebody@else.example" }], "VALIDATION_ERROR", choice("an argument that a tool does not have is named, as an agent cannot see that it was ignored")],
  ["4.6.7", "agent", ["tool create_submission", { ...idea, category_id: null }], 200, keys("id title status vote_count url"), types({ id: "uuid", title: "string", status: "string", vote_count: "integer", url: "string" }), { status: "open", vote_count: 1 }],
  ["4.6.7", "agent", ["tool vote_submission", { submission_id: ":idea" }], 200, keys("submission_id user_id vote_count created_at"), { user_id: ":agent", vote_count: 2 }, afterwards("agent", ["tool search_submissions", { q: "dark theme" }], 200, { submissions: [{ id: ":idea" }] })],
  ["4.6.7", "agent", ["tool add_comment", { submission_id: ":idea", body: "Seen." }], 200, { author: { id: ":agent", name: "Agent of a test" } }, afterwards("agent", ["tool list_comments", { submission_id: ":idea" }], 200, { comments: [{ body: "Seen.", author: { id: ":agent" } }], total: 1, has_next: false })],
  ["4.6.7", "agent", ["tool set_submission_status", { submission_id: ":idea", status: "planned", note: "Soon." }], 200, { previous_status: "open", new_status: "planned", changed_by: "Agent of a test" }],
  ["4.6.7", "agent", ["tool update_submission", { submission_id: ":idea", title: "A theme for the night" }], 200, { submission: { title: "A theme for the night" } }],
  ["4.6.7", "agent", ["tool find_similar_submissions", { title: "A dark theme" }], 200, keys("has_duplicates similar untrusted_text")],
  ["4.6.7", "agent", ["tool list_submissions", { limit: 0 }], -32602, error({ code: "VALIDATION_ERROR", validation_errors: ["limit must be a whole number from 1 to 100"] })],
  ["4.6.7", "agent", ["tool list_submissions", { type: "bug", status: "gone" }], "VALIDATION_ERROR status type"],
  ["4.6.7", "agent", ["tool get_submission", { submission_id: "1" }], "VALIDATION_ERROR submission_id"],
  ["4.6.7", "agent", ["tool update_submission", { submission_id: ":idea" }], "VALIDATION_ERROR arguments"],
  ["4.6.7", "agent", ["tool get_submission", { submission_id: ":nothing" }], -32602, error({ code: "NOT_FOUND", validation_errors: [expect.stringMatching(/no such submission/)] })],
  ["4.6.7", "agent", "tool no_such_tool", -32602, error({ validation_errors: [expect.stringMatching(/no such tool/)] })],
  ["4.6.7", "agent", "tool __proto__", -32602, error({ validation_errors: [expect.stringMatching(/no such tool/)] })],

  ["4.6.7", "agent", ["tool analyze_sentiment", {}], "VALIDATION_ERROR arguments"],
  ["4.6.7", "agent", ["tool analyze_sentiment", { texts: Array(101).fill("x") }], "VALIDATION_ERROR texts"],
  ["4.6.7", "agent", ["tool analyze_sentiment", { texts: [] }], "VALIDATION_ERROR texts"],
  ["4.6.7", "agent", ["tool analyze_sentiment", { texts: ["x"], submission_id: ":idea" }], "VALIDATION_ERROR arguments"],
  ["4.6.7", "author", ["PATCH /submissions/:idea", { title: "I love this so much", description: "It is wonderful, thank you." }], 200, afterwards("agent", ["tool analyze_sentiment", { submission_id: ":idea" }], 200, { sentiment: "positive", positive_count: 1 })],
  ["4.6.7", "agent", ["tool update_survey", { survey_id: ":draft_survey", title: "How is it?" }], 200, { survey: { id: ":draft_survey", title: "How is it?", status: "draft" } }],
  ["4.6.7", "agent", ["tool publish_survey", { survey_id: ":draft_survey" }], 200, { survey: { status: "published" } }, afterwards("agent", ["tool publish_survey", { survey_id: ":draft_survey" }], 200, { survey: { status: "published" } })],
  ["4.6.7", "agent", ["tool update_survey", { survey_id: ":published_survey", title: "Too late" }], "CONFLICT"],
  ["4.6.7", "user", respond, 201, afterwards("agent", ["tool list_survey_responses", ofSurvey], 200, { responses: [{ respondent: { name: "Una User" }, answers: [{ value: 10 }] }], total: 1, untrusted_text: ["responses.answers.value", "responses.respondent.name"] })],
  ["4.6.7", "user", respond, 201, afterwards("agent", ["tool get_survey_analytics", ofSurvey], 200, { analytics: { response_count: 1, nps_score: 100 } }), afterwards("agent", ["tool analyze_sentiment", ofSurvey], 200, { sentiment: "positive", positive_count: 1 })],
  ["4.6.7", "user", respond, 201, afterwards("agent", ["tool delete_survey", ofSurvey], "SURVEY_HAS_RESPONSES"), afterwards("agent", ["tool delete_survey", { ...ofSurvey, force: true }], 200, is({ deleted: true, survey_id: ":published_survey" }))],
  ["4.6.7", "agent", respond, "UNAUTHORIZED", choice("agents answer no surveys for people")],
  ["4.6.8", "agent", say("List submissions"), 200, keys("parsed_tool parsed_params execution_result"), types({ parsed_tool: "string", parsed_params: "object", execution_result: "object" }), { parsed_tool: "list_submissions", execution_result: { submissions: [], total: 0 } }],
  ["4.6.8", "agent", say('Find submissions about "dark theme"'), 200, { parsed_tool: "search_submissions", parsed_params: { q: "dark theme" } }],
  ["4.6.8", "agent", say("xyzzy plugh"), -32602, error({ code: "VALIDATION_ERROR", validation_errors: [expect.any(String)], candidates: expect.any(Array) })],
  ["4.6.8", "agent", say(" "), "VALIDATION_ERROR input"],
  ["4.6.8", "agent", say("Remove my vote from :idea"), -32602, error({ parsed_tool: "remove_vote" }), afterwards("agent", say("Remove my vote from :idea", { confirm: true }), 200, { parsed_tool: "remove_vote", execution_result: { vote_count: 1 } })],
  ["4.6.9", "agent", ["tool list_categories", {}, { stream: true }], 200, keys("request_id stream_url"), types({ request_id: "uuid", stream_url: "string" }), hasPath("stream", "request_id")],
  ["4.6.9", "agent", say("List submissions", { stream: true }), 200, keys("request_id stream_url"), streams("agent", "progress progress result done", at("2", keys("parsed_tool parsed_params execution_result"), { parsed_tool: "list_submissions", execution_result: { total: 0 } }), at("3", is({ success: true })))],
  ["4.6.9", "agent", ["tool no_such_tool", {}, { stream: true }], -32602],
  ["4.6.9", "agent submissions:read", ["tool remove_vote", { submission_id: 1 }, { stream: true }], "FORBIDDEN"],
  ["4.6.10", "agent", subscribe(["survey.response.created"], { survey_id: ":published_survey" }), 200, keys("subscription_id stream_url"), types({ subscription_id: "uuid", stream_url: "string" }), hasPath("subscribe", "subscription_id")],
  ["4.6.10", "agent", subscribe(["submission.created"]), 200, choice("filters may be left out")],
  ["4.6.10", "agent", subscribe([]), "VALIDATION_ERROR events"],
  ["4.6.10", "agent", subscribe(["*"]), "VALIDATION_ERROR events.0"],
  ["4.6.10", "agent", subscribe("submission.created"), "VALIDATION_ERROR events"],
  ["4.6.10", "agent", subscribe(Array(51).fill("submission.created")), "VALIDATION_ERROR events"],
  ["4.6.10", "agent", subscribe(["member.joined"]), "VALIDATION_ERROR events.0"],
  ["4.6.10", "agent", subscribe(["survey.closed"], { survey_id: "1" }), "VALIDATION_ERROR filters.survey_id"],
  ["4.6.10", "agent submissions:read", subscribe(["submission.created", "survey.response.created"]), "FORBIDDEN", error({ scope: "responses:read" })],

  ["4.6.11", "nobody", "method tools/list", "UNAUTHORIZED"],
  ["4.6.11", "impostor", "method tools/list", "UNAUTHORIZED"],
  ["4.6.11", "unissued", "tool list_submissions", "UNAUTHORIZED"],
  ["4.6.11", "expired_agent", ["method subscribe", { events: ["submission.created"] }], "UNAUTHORIZED"],
  ["4.6.11", "key", "method tools/list", "UNAUTHORIZED"],
  ["4.6.11", "admin", "method tools/list", "UNAUTHORIZED"],
  ["4.6.11", "unissued", post("{"), 401, refused(-32000)],
  ["4.6.11", "nobody", post(call({ id: 1 })), 401, refused(-32000), ({ body }) => expect(body).toMatchObject({ id: 1 })],
  ["4.6.12", "agent submissions:read", ["tool vote_submission", { submission_id: ":idea" }], "FORBIDDEN", error({ scope: "submissions:write" })],
  ["4.6.12", "agent submissions:write", ["tool update_submission", { submission_id: ":idea", title: "Changed by it" }], "FORBIDDEN"],
]);
