import { expect } from "vitest";
import { receives, streams } from "./receiving.ts";
import { afterwards, at, choice, each, hears, is, keys, meta, section, types } from "./row.ts";

const idea = { title: "Told to a webhook", description: "Whoever is on duty sees it there first.", type: "idea" };
const hostile = `"},"event":"org.updated"\r\nX-Injected: 1\r\n\r\n\u2028</script>`;
const submit = ["POST /submissions", idea] as const;
const vote = "POST /submissions/:idea/vote";
const say = (body = "Hello") => ["POST /submissions/:idea/comments", { body }] as const;
const plan = ["PATCH /submissions/:idea/status", { status: "planned", note: "In spring." }] as const;
const rename = ["PATCH /organizations/:organization", { name: "Another name" }] as const;
const edit = ["PATCH /submissions/:idea", { title: "A theme for the night" }] as const;
const respondTo = (name: string) => [`POST /surveys/:${name}/responses`, { answers: [{ question_id: `:${name}.question`, value: 10 }] }] as const;
const respond = respondTo("published_survey");
const ofSurvey = ["method subscribe", { events: ["survey.response.created"], filters: { survey_id: ":published_survey" } }] as const;
/** Registers the receiver, after the things that `needs` names exist. */
const register = (event: string, needs = "") => ["POST /organizations/:organization/webhooks", { url: ":receiver", secret: ":receiver.secret", events: [event] }, { needs }] as const;
const submission = { id: "uuid", title: "string", description: "string", type: ["idea", "problem"], status: "string", vote_count: "integer", url: "string", created_at: "time" } as const;
const updated = { ...submission, category_id: "uuid or null", tracker_issue_url: "string or null", merged_into_id: "uuid or null", updated_at: "time" } as const;
const status = { submission_id: "uuid", previous_status: "string", new_status: "string", changed_by: "string", note: "string" } as const;
const votes = { submission_id: "uuid", vote_count: "integer" } as const;
const comment = { id: "uuid", submission_id: "uuid", parent_id: "uuid or null", body: "string", author: "object", is_official: "boolean", created_at: "time" } as const;
const member = { user_id: "uuid", name: "string", role: ["owner", "admin", "member"], joined_at: "time" } as const;
const response = { survey_id: "uuid", response_id: "uuid", submitted_at: "time", sentiment: ["positive", "neutral", "negative"], sentiment_score: "number or null" } as const;
const exactly = (fields: object) => keys(Object.keys(fields).join(" "));
const said = { submission_id: ":idea", parent_id: null, body: "Hello", is_official: false };
const una = { id: ":user", name: "Una User" };
/** The seconds from the beginning of the first attempt to the next. */
function waitOf(delivery: unknown): number {
  const { attempts, next_attempt_at } = delivery as { attempts: { started_at: string }[]; next_attempt_at: string };
  return (Date.parse(next_attempt_at) - Date.parse(attempts[0]?.started_at ?? "")) / 1000;
}

const webhooks = section("6.1 Webhook deliveries", [
  ["6.1.1", "admin", register("submission.created"), 201, afterwards("user", submit, 201), receives("submission.created")],
  ["6.1.2", "admin", register("submission.created"), 201, afterwards("user", submit, 201), receives("submission.created", keys("submission"), at("submission", exactly(submission), types(submission), { ...idea, status: "open", vote_count: 1, url: expect.stringContaining("/submissions/") }))],
  ["6.1.2", "admin", register("submission.created"), 201, afterwards("user", ["POST /submissions", { ...idea, title: hostile }], 201), receives("submission.created", at("submission", { title: hostile }))],
  ["6.1.3", "admin", register("submission.status_changed", ":idea"), 201, afterwards("admin", plan, 200), receives("submission.status_changed", exactly(status), types(status), { submission_id: ":idea", previous_status: "open", new_status: "planned", changed_by: "The admin", note: "In spring." })],
  ["6.1.3", "admin", register("submission.status_changed", ":idea"), 201, afterwards("admin", ["PATCH /submissions/:idea/status", { status: "in_progress" }], 200), receives("submission.status_changed", { note: "" })],
  ["6.1.3", "admin", register("submission.status_changed", ":idea"), 201, afterwards("admin", ["PATCH /submissions/:idea/status", { status: "planned", notify: false }], 200), receives("submission.status_changed", { new_status: "planned" })],
  ["6.1.4", "admin", register("submission.vote_added", ":idea"), 201, afterwards("user", vote, 201), receives("submission.vote_added", exactly(votes), types(votes), { submission_id: ":idea", vote_count: 2 })],
  ["6.1.4", "admin", register("submission.vote_added", ":idea"), 201, afterwards("user", ["rpc vote", { submission_id: ":idea" }], 200), receives("submission.vote_added", { submission_id: ":idea", vote_count: 2 })],
  ["6.1.5", "admin", register("submission.vote_removed", ":voted"), 201, afterwards("user", "DELETE /submissions/:voted/vote", 200), receives("submission.vote_removed", exactly(votes), types(votes), { submission_id: ":voted", vote_count: 1 })],
  ["6.1.6", "admin", register("comment.created", ":idea"), 201, afterwards("user", say(), 201), receives("comment.created", keys("comment"), at("comment", exactly(comment), types(comment), { ...said, author: una }), at("comment.author", keys("id name")))],
  ["6.1.7", "admin", register("member.joined", ":invite"), 201, afterwards("guest", ["POST /invites/accept", { token: ":invite.token" }], 201), receives("member.joined", keys("member"), at("member", exactly(member), types(member), { user_id: ":guest", name: "Gus Guest", role: "member" }))],
  ["6.1.8", "admin", register("org.updated"), 201, afterwards("admin", rename, 200), receives("org.updated", keys("organization changed changes"), { organization: { id: ":organization", name: "Another name" }, changed: ["name"], changes: { name: { from: "Organization of a test", to: "Another name" } } })],
  ["6.1.9", "admin", register("submission.updated", ":idea"), 201, afterwards("author", edit, 200), receives("submission.updated", keys("submission"), at("submission", exactly(updated), types(updated), { id: ":idea", title: "A theme for the night" }))],
  ["6.1.9", "admin", register("vote.created", ":idea"), 201, afterwards("user", vote, 201), receives("vote.created", exactly(votes), { submission_id: ":idea", vote_count: 2 })],
  ["6.1.9", "admin", register("status.changed", ":idea"), 201, afterwards("admin", plan, 200), receives("status.changed", exactly(status), { new_status: "planned" })],
  ["6.1.10", "admin", register("survey.published"), 201, afterwards("nobody", "GET /surveys/:published_survey", 200), receives("survey.published", keys("survey"), at("survey", keys("id title url"), { id: ":published_survey", title: "How was it?" })), choice("surveys have events, too")],
  ["6.1.10", "admin", register("survey.response.created", ":published_survey"), 201, afterwards("user", respond, 201), receives("survey.response.created", exactly(response), types(response), { survey_id: ":published_survey" })],
  ["6.1.10", "admin", register("survey.closed", ":published_survey"), 201, afterwards("admin", "POST /surveys/:published_survey/archive", 200), receives("survey.closed", keys("survey_id response_count"), { survey_id: ":published_survey", response_count: 0 })],
  ["6.1.11", "admin", "GET /organizations/:organization/webhooks/:delivered/deliveries/:delivered.event", 200, { status: "delivered", status_code: 200, attempt_count: 1, next_attempt_at: null }],
  ["6.1.11", "admin", "GET /organizations/:organization/webhooks/:refused/deliveries/:refused.event", 200, { status: "pending", status_code: 503, response_body: "not now", attempt_count: 1, attempts: [{ number: 1, status_code: 503 }] }],
  ["6.1.12", "admin", "GET /organizations/:organization/webhooks/:refused/deliveries/:refused.event", 200, ({ data }) => expect(waitOf(data)).toBeCloseTo(63, -1)],
]);

const progress = { step: "string", percent: "number" } as const;
const envelope = { id: "string", event: "string", org_id: "uuid", timestamp: "time", data: "object" } as const;
const ofBoard = ["method subscribe", { events: ["vote.created", "submission.created"] }] as const;
const sentence = (input: string, params: object = {}) => ["method tools/call", { mode: "natural_language", input, stream: true, ...params }] as const;
const finished = "progress progress result done";
const streamed = section("6.2 Agent streams", [
  ["6.2.1", "agent", ["tool list_submissions", { limit: 1 }, { stream: true }], 200, streams("agent", finished, at("0", keys("step percent"), types(progress), { step: "started", percent: 0 }), at("1", keys("step percent"), types(progress)), at("2", { submissions: [], total: 0 }), at("3", is({ success: true })))],
  ["6.2.1", "agent", ["tool create_survey", { title: "How was it?", questions: [{ type: "nps", text: "And?" }] }, { stream: true }], 200, streams("agent", finished, at("2", keys("survey_id status url"), { status: "draft" }))],
  ["6.2.2", "agent", ["tool vote_submission", { submission_id: ":merged" }, { stream: true }], 200, streams("agent", "progress result done", at("1", { error: { code: -32602, data: { code: "SUBMISSION_MERGED", merged_into_id: ":idea" } } }), at("2", is({ success: false })))],
  ["6.2.2", "agent", ["tool list_submissions", { limit: 0 }, { stream: true }], 200, streams("agent", "progress result done", at("1", { error: { code: -32602, data: { code: "VALIDATION_ERROR", validation_errors: ["limit must be a whole number from 1 to 100"] } } }), at("2", is({ success: false })))],
  ["6.2.2", "agent", sentence("xyzzy plugh"), 200, streams("agent", "progress result done", at("1", { error: { code: -32602, data: { candidates: expect.any(Array) } } }), at("2", is({ success: false })))],
  ["6.2.2", "agent", sentence("Remove my vote from :idea"), 200, streams("agent", "progress result done", at("1", { error: { code: -32602, data: { parsed_tool: "remove_vote" } } }), at("2", is({ success: false })))],
  ["6.2.2", "agent", sentence("Remove my vote from :idea", { confirm: true }), 200, streams("agent", finished, at("2", { parsed_tool: "remove_vote", execution_result: { vote_count: 1 } }))],
  ["6.2.3", "agent", ofBoard, 200, afterwards("user", vote, 201), streams("agent", "submission.created vote.created", exactly(envelope), types(envelope), at("1", { event: "vote.created", org_id: ":organization", data: { submission_id: ":idea", vote_count: 2 } }))],
  ["6.2.4", "agent", ofSurvey, 200, afterwards("user", respond, 201), streams("agent", "survey.response.created", at("0.data", exactly(response), types(response), { survey_id: ":published_survey" }))],
  ["6.2.4", "agent", ofSurvey, 200, afterwards("user", respondTo("other_survey"), 201), afterwards("user", respond, 201), streams("agent", "survey.response.created", at("0.data", { survey_id: ":published_survey" }))],
]);

const filter = "submission_id=eq.:idea";
const newComments = ["listen comments", { event: "INSERT", filter, channel: "comments:submission=:idea" }] as const;
const allVotes = ["listen votes", { event: "*", filter, channel: "votes:submission=:idea" }] as const;
const elsewhere = ["POST /submissions/:problem/comments", { body: "Elsewhere" }] as const;
const changed = ["id", "organization_id", "submission_id"];
const realtime = section("6.3 Realtime", [
  ["6.3.1", "nobody", newComments, 200, afterwards("user", say("Hello 👋 日本語"), 201), hears({ eventType: "INSERT", table: "comments", new: { submission_id: ":idea", body: "Hello 👋 日本語", vote_count: 0 }, errors: null })],
  ["6.3.1", "user", newComments, 200, afterwards("user", elsewhere, 201), afterwards("author", ["PATCH /comments/:comment", { body: "Changed" }], 200), afterwards("user", say("Here"), 201), hears({ eventType: "INSERT" }, { eventType: "INSERT", new: { body: "Here" } })],
  ["6.3.2", "nobody", allVotes, 200, afterwards("user", vote, 201), hears({ eventType: "INSERT", table: "votes", new: { submission_id: ":idea" }, old: {} }), afterwards("user", "DELETE /submissions/:idea/vote", 200), hears({ eventType: "INSERT" }, { eventType: "DELETE", new: {}, old: { submission_id: ":idea" } })],
  ["6.3.2", "user", allVotes, 200, afterwards("user", vote, 201), hears({ eventType: "INSERT", errors: null }), ({ heard }) => expect(Object.keys(heard?.[0]?.new ?? {}).sort()).toEqual(changed), choice("voters are for admins")],
  ["6.3.2", "nobody", allVotes, 200, afterwards("user", "POST /submissions/:problem/vote", 201), afterwards("user", vote, 201), hears({ eventType: "INSERT", new: { submission_id: ":idea" } })],
]);

const inbox = "GET /me/notifications";
const told = (...names: string[]) => afterwards("author", inbox, 200, each("type", names));
const follow = "POST /submissions/:idea/follow";
const notification = { id: "uuid", type: ["vote", "comment", "reply", "official_comment", "status_changed", "merged"], submission_id: "uuid", comment_id: "uuid or null", submission_title: "string", read_at: "time or null", created_at: "time" } as const;
const read = (body?: unknown) => ["POST /me/notifications/read", body] as const;
const notifications = section("6.4 Notifications", [
  ["6.4.1", "user", vote, 201, afterwards("author", inbox, 200, exactly(notification), types(notification), [{ type: "vote", submission_id: ":idea", comment_id: null, submission_title: "A dark theme", read_at: null }], meta({ total: 1 }))],
  ["6.4.1", "user", say(), 201, afterwards("author", inbox, 200, types({ ...notification, comment_id: "uuid" }), [{ type: "comment", submission_id: ":idea" }])],
  ["6.4.1", "user", vote, 201, afterwards("user", vote, 200), told("vote")],
  ["6.4.2", "user", ["POST /submissions/:idea/comments", { body: "A reply", parent_id: ":by_user" }], 201, afterwards("user", inbox, 200, is([]))],
  ["6.4.2", "other", ["POST /submissions/:idea/comments", { body: "A reply", parent_id: ":by_user" }], 201, afterwards("user", inbox, 200, [{ type: "reply", submission_id: ":idea" }]), told("comment", "comment")],
  ["6.4.2", "admin", ["POST /submissions/:idea/comments", { body: "A reply", parent_id: ":by_user" }], 201, afterwards("user", inbox, 200, each("type", ["reply"]))],
  ["6.4.3", "other", follow, 201, afterwards("user", say(), 201), afterwards("other", inbox, 200, each("type", ["comment"])), afterwards("user", inbox, 200, is([]))],
  ["6.4.3", "other", follow, 201, afterwards("other", "DELETE /submissions/:idea/follow", 200), afterwards("user", say(), 201), afterwards("other", inbox, 200, is([]))],
  ["6.4.4", "other", follow, 201, afterwards("admin", say(), 201), afterwards("other", inbox, 200, each("type", ["official_comment"])), told("official_comment"), afterwards("admin", inbox, 200, is([]))],
  ["6.4.5", "other", follow, 201, afterwards("admin", plan, 200), afterwards("other", inbox, 200, [{ type: "status_changed", comment_id: null }]), told("status_changed"), afterwards("admin", inbox, 200, is([])), choice("followers hear of states, too")],
  ["6.4.6", "author", say(), 201, afterwards("author", "DELETE /submissions/:idea/vote", 200), afterwards("author", vote, 201), afterwards("author", ["POST /submissions/:idea/comments", { body: "A reply", parent_id: ":comment" }], 201), afterwards("author", inbox, 200, is([]))],
  ["6.4.6", "user", "POST /comments/:comment/vote", 201, afterwards("author", inbox, 200, is([]))],
  ["6.4.7", "user", vote, 201, afterwards("user", say(), 201), afterwards("admin", say(), 201), told("official_comment", "comment", "vote"), afterwards("author", `${inbox}?limit=1&page=2`, 200, each("type", ["comment"]), meta({ total: 3 }))],
  ["6.4.7", "author", `${inbox}?unread=1`, "VALIDATION_ERROR unread"],
  ["6.4.7", "author", `${inbox}?unread=TRUE`, "VALIDATION_ERROR unread"],
  ["6.4.7", "author", `${inbox}?limit=101`, "VALIDATION_ERROR limit"],
  ["6.4.7", "nobody", inbox, "UNAUTHORIZED"],
  ["6.4.7", "key", inbox, "FORBIDDEN"],
  ["6.4.8", "user", vote, 201, afterwards("author", read(), 200, is({ read: 1 })), afterwards("author", read({}), 200, is({ read: 0 })), afterwards("author", `${inbox}?unread=true`, 200, is([]), meta({ total: 0 })), afterwards("author", `${inbox}?unread=false`, 200, types({ read_at: "time" }))],
  ["6.4.8", "user", vote, 201, afterwards("author", read({ ids: [":nothing"] }), 200, is({ read: 0 })), afterwards("author", read({ ids: [] }), 200, is({ read: 0 })), afterwards("other", read(), 200, is({ read: 0 })), afterwards("author", `${inbox}?unread=true`, 200, meta({ total: 1 }))],
  ["6.4.8", "author", read({ ids: Array(100).fill(":nothing") }), 200, is({ read: 0 })],
  ["6.4.8", "author", read({ ids: Array(101).fill(":nothing") }), "VALIDATION_ERROR ids"],
  ["6.4.8", "author", read({ ids: "all" }), "VALIDATION_ERROR ids"],
  ["6.4.8", "author", read({ ids: [":nothing", "x"] }), "VALIDATION_ERROR ids.1"],
  ["6.4.8", "author", read([]), "VALIDATION_ERROR body"],
  ["6.4.8", "nobody", read(), "UNAUTHORIZED"],
  ["6.4.8", "user", vote, 201, afterwards("user", say(), 201), afterwards("author", inbox, 200, (answer, scene) => afterwards("author", read({ ids: [(answer.data as { id: string }[])[0]?.id] }), 200, is({ read: 1 }))(answer, scene)), afterwards("author", `${inbox}?unread=true`, 200, each("type", ["vote"]))],
  ["6.4.8", "user", vote, 201, afterwards("author", ["rpc mark_notifications_read", { ids: [":nothing"] }], 200, is(0)), afterwards("author", ["rpc mark_notifications_read", {}], 200, is(1)), afterwards("author", `${inbox}?unread=true`, 200, is([]))],
  ["6.4.9", "user", vote, 201, afterwards("user", say(), 201, async ({ data }, scene) => afterwards("user", `DELETE /comments/${(data as { id: string }).id}`, 200)({ steps: [] } as never, scene)), told("vote")],
  ["6.4.9", "user", vote, 201, afterwards("author", "DELETE /submissions/:idea", 200), afterwards("author", inbox, 200, is([]), meta({ total: 0 }))],
]);

export default [webhooks, streamed, realtime, notifications];
