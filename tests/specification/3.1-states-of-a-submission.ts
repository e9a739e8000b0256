import { afterwards, choice, each, error, holds, is, keys, of, section, types } from "./row.ts";

const idea = { title: "A dark theme", description: "The pages are too bright at night.", type: "idea" };
const change = "PATCH /submissions/:idea/status";
const planned = { status: "planned" };
const history = "GET /submissions/:idea/status-changes";
const fields = "submission_id previous_status new_status changed_by note changed_at";
const newest = "GET /submissions?limit=1";
const isChange = types({ submission_id: "uuid", previous_status: "string", new_status: "string", changed_by: "string", note: "string or null", changed_at: "time" });

const statuses = ["open", "under_review", "planned", "in_progress", "completed", "declined"];
const moves = statuses.flatMap((from) => statuses.filter((to) => to !== from).map((to) => ["3.1.3", "admin", [change, { status: from }], 200, afterwards("admin", [change, { status: to }], 200, { previous_status: from, new_status: to }), afterwards("nobody", "GET /submissions/:idea", 200, { status: to })] as const));

export default section("3.1 States of a submission", [
  ["3.1.1", "user", ["POST /submissions", idea], 201, { status: "open", vote_count: 1 }, afterwards("user", newest, 200, [{ author_id: ":user", vote_count: 1, status: "open" }]), afterwards("user", "GET /me/votes", 200, [{ title: "A dark theme", vote_count: 1 }])],
  ["3.1.1", "key", ["POST /submissions", { ...idea, author_email: ":mailbox" }], 201, afterwards("nobody", newest, 200, [{ vote_count: 1, status: "open" }])],
  ["3.1.1", "author", "GET /submissions/:idea", 200, { status: "open", vote_count: 1, is_following: true, user_vote: {} }],
  ["3.1.2", "admin", [change, { ...planned, note: "In spring." }], 200, keys(fields), isChange, { submission_id: ":idea", previous_status: "open", new_status: "planned", changed_by: "The admin", note: "In spring." }],
  ["3.1.2", "admin", [change, planned], 200, isChange, { note: null }, afterwards("nobody", "GET /submissions/:idea", 200, planned)],
  ["3.1.2", "admin", [change, { ...planned, note: of(2000, "😀") }], 200],
  ["3.1.2", "admin", [change, { ...planned, note: of(2001, "😀") }], "VALIDATION_ERROR note"],
  ["3.1.2", "admin", [change, { ...planned, notify: "no" }], "VALIDATION_ERROR notify"],
  ...([null, "", "  \n "] as const).map((note) => ["3.1.2", "admin", [change, { ...planned, note }], 200, { note: null }] as const),
  ["3.1.2", "admin", [change, { ...planned, note: "  why " }], 200, { note: "why" }],
  ["3.1.2", "admin", ["PATCH /submissions/:merged/status", planned], "SUBMISSION_MERGED", error({ merged_into_id: ":idea" })],
  ["3.1.2", "admin", [change, { status: "Planned" }], "VALIDATION_ERROR status"],
  ["3.1.2", "admin", [change, { ...planned, note: 1 }], "VALIDATION_ERROR note"],
  ["3.1.2", "admin", [change, {}], "VALIDATION_ERROR status"],
  ["3.1.2", "admin", "PATCH /submissions/:nothing/status", "VALIDATION_ERROR status"],
  ["3.1.2", "admin", ["PATCH /submissions/:nothing/status", planned], "NOT_FOUND"],
  ...moves,
  ["3.1.3", "admin", [change, { status: "duplicate" }], "VALIDATION_ERROR status"],
  ["3.1.3", "admin", [change, { status: "done" }], "VALIDATION_ERROR status"],
  ["3.1.3", "agent", ["tool set_submission_status", { submission_id: ":idea", ...planned }], 200, afterwards("nobody", "GET /submissions/:idea", 200, planned)],
  [
    "3.1.3",
    "admin",
    ["from status_changes", [":idea"], (table, submission_id) => table.insert({ submission_id, new_status: "planned", note: "In spring." }).select("previous_status,new_status,note")],
    201,
    is([{ previous_status: "open", new_status: "planned", note: "In spring." }]),
    afterwards("nobody", "GET /submissions/:idea", 200, planned),
  ],
  ["3.1.3", "admin", ["from status_changes", [":idea", ":organization"], (table, submission_id, organization_id) => table.insert({ submission_id, organization_id, new_status: "planned" })], 201, afterwards("author", "GET /me/notifications", 200, [{ type: "status_changed" }])],
  ["3.1.3", "admin", ["from status_changes", [":idea"], (table, submission_id) => table.insert({ submission_id, new_status: "duplicate" })], "VALIDATION_ERROR status"],
  ["3.1.4", "key submissions:moderate", [change, planned], 200, { changed_by: "Organization of a test" }],
  ["3.1.4", "owner", [change, planned], 200],
  ["3.1.4", "nobody", [change, planned], "UNAUTHORIZED"],
  ["3.1.4", "author", [change, planned], "FORBIDDEN"],
  ["3.1.4", "user", [change, planned], "FORBIDDEN"],
  ["3.1.4", "member", [change, planned], "FORBIDDEN"],
  ["3.1.4", "key submissions:write", [change, planned], "FORBIDDEN"],
  ["3.1.5", "admin", [change, planned], 200, afterwards("author", "GET /me/notifications", 200, [{ type: "status_changed", submission_id: ":idea" }])],
  ["3.1.5", "admin", [change, { ...planned, notify: false }], 200, afterwards("author", "GET /me/notifications", 200, is([]))],
  ["3.1.5", "user", "POST /submissions/:idea/follow", 201, afterwards("admin", [change, planned], 200), afterwards("user", "GET /me/notifications", 200, [{ type: "status_changed" }]), afterwards("admin", "GET /me/notifications", 200, is([]))],
  ["3.1.6", "admin", [change, planned], 200, afterwards("admin", [change, { status: "completed" }], 200), afterwards("nobody", history, 200, keys(fields), isChange, each("new_status", ["completed", "planned"]))],
  ["3.1.6", "nobody", history, 200, is([]), choice("the history has changes only")],
  ["3.1.6", "nobody", ["GET /submissions/:changed/status-changes"], 200, holds((data: unknown[]) => data.length === 200)],
  ["3.1.6", "nobody", "GET /submissions/:pending/status-changes", "NOT_FOUND"],
  ["3.1.6", "admin", [change, planned], 200, afterwards("admin", [change, { ...planned, note: "Again" }], 200, { previous_status: "planned", new_status: "planned" }), afterwards("nobody", history, 200, [{ note: null }]), afterwards("author", "GET /me/notifications", 200, [{ type: "status_changed" }])],
]);
