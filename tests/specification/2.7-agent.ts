import { expect } from "vitest";
import { sql } from "../stack.ts";
import { afterwards, at, each, keys, section, types } from "./row.ts";

const agent = { id: "uuid", name: "string", description: "string or null", tier: ["standard", "professional", "enterprise"], retired_at: "time or null", created_at: "time", created_by: "object or null" } as const;
const key = { id: "uuid", name: "string", scopes: "strings", prefix: "string", last_four: "string", expires_at: "time or null", revoked_at: "time or null", last_used_at: "time or null", created_at: "time", created_by: "object or null" } as const;
const policies = { read_only: "boolean", confirm_destructive: "boolean", tools: "array or null", category_ids: "array or null", survey_ids: "array or null", calls_a_day: "integer or null" } as const;
const call = { id: "integer", key_id: "uuid", request_id: "uuid", tool: "string", scope: "string or null", outcome: "string", duration_ms: "number", argument_names: "strings", address: "string or null", created_at: "time" } as const;
const named = (fields: object) => keys(Object.keys(fields).join(" "));
const secret = /^fcs_agt_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/;
const newKey = ["POST /admin/agents/:agent/keys", { scopes: ["submissions:read"] }] as const;

export default section("2.7 Agent", [
  ["2.7.1", "admin", ["POST /admin/agents", { name: "Triage bot", tier: "professional" }], 201, named(agent), types(agent), { name: "Triage bot", tier: "professional", retired_at: null, created_by: { id: ":admin" } }],
  ["2.7.1", "admin", ["POST /admin/agents", { name: "Triage bot" }], 201, { tier: "standard", description: null }],
  ["2.7.1", "admin", ["GET /admin/agents", undefined, { needs: ":agent" }], 200, named(agent), types(agent), [{ id: ":agent", name: "Agent of a test" }]],
  ["2.7.1", "agent", ["tool create_submission", { title: "Found by an agent", description: "It has read through the mails of last week.", type: "idea" }], 200, afterwards("nobody", "GET /submissions?author=:agent", 200, [{ author_id: ":agent" }])],
  ["2.7.1", "admin", ["PATCH /admin/agents/:agent", { name: "Sorter", description: null }], 200, { id: ":agent", name: "Sorter", description: null }, afterwards("agent", ["tool add_comment", { submission_id: ":idea", body: "Seen." }], 200, { author: { name: "Sorter" } })],
  ["2.7.2", "admin", newKey, 201, keys(`${Object.keys(key).join(" ")} secret`), types({ ...key, secret: "string" }), { scopes: ["submissions:read"], expires_at: null, revoked_at: null }],
  ["2.7.2", "admin", ["GET /admin/agents/:agent/keys", undefined, { needs: ":agent" }], 200, named(key), types(key), [{ id: ":agent.key_id" }]],
  ["2.7.3", "admin", newKey, 201, ({ data }) => expect((data as { secret: string }).secret).toMatch(secret), afterwards("admin", "GET /admin/agents/:agent/keys", 200, ({ text }) => expect(text).not.toMatch(/fcs_agt_\w{20}/))],
  ["2.7.3", "agent", "method tools/list", 200, async (_, scene) => expect((await sql`select k::text from private.api_keys k where k.id = ${(await scene.get("agent")).key_id ?? ""}`)[0]?.k).not.toContain((await scene.get("agent")).token?.slice(8, 51))],
  ["2.7.4", "admin", "DELETE /admin/agents/:agent/keys/:agent.key_id", 200, types({ revoked_at: "time" }), afterwards("agent", "method tools/list", "UNAUTHORIZED"), afterwards("admin", "GET /admin/agents", 200, [{ id: ":agent", retired_at: null }])],
  ["2.7.4", "expired_agent", "method tools/list", "UNAUTHORIZED"],
  ["2.7.4", "admin", ["POST /admin/agents/:agent/keys", { scopes: [], expires_at: "2096-01-01T00:00:00Z" }], 201, types({ expires_at: "time" })],
  ["2.7.4", "admin", ["POST /admin/agents/:agent/keys", { scopes: [], expires_at: "2020-01-01T00:00:00Z" }], "VALIDATION_ERROR expires_at"],
  ["2.7.4", "admin", "POST /admin/agents/:agent/keys/:agent.key_id/rotate", 201, keys(`${Object.keys(key).join(" ")} secret`), afterwards("agent", "method tools/list", 200)],
  ["2.7.4", "admin", ["POST /admin/agents/:agent/keys/:agent.key_id/rotate", { overlap_seconds: 0 }], 201, afterwards("agent", "method tools/list", "UNAUTHORIZED")],
  ["2.7.4", "admin", "DELETE /admin/agents/:agent", 200, named(agent), types({ retired_at: "time" }), afterwards("agent", "method tools/list", "UNAUTHORIZED")],
  ["2.7.4", "admin", "DELETE /admin/agents/:agent", 200, afterwards("admin", newKey, "CONFLICT")],
  ["2.7.4", "agent", ["tool add_comment", { submission_id: ":idea", body: "Seen." }], 200, afterwards("admin", "DELETE /admin/agents/:agent", 200), afterwards("nobody", "GET /submissions/:idea/comments", 200, [{ author: { id: ":agent" } }])],
  ["2.7.5", "admin", "GET /admin/agents/:agent/policies", 200, named(policies), types(policies), { read_only: false, tools: null, calls_a_day: null }],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { read_only: true }], 200, { read_only: true, confirm_destructive: false }, afterwards("agent", ["tool vote_submission", { submission_id: ":idea" }], "FORBIDDEN"), afterwards("agent", "tool list_submissions", 200)],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { tools: ["list_categories"] }], 200, afterwards("agent", "method tools/list", 200, at("tools", each("name", ["list_categories"]))), afterwards("agent", "tool list_submissions", "FORBIDDEN")],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { calls_a_day: 1 }], 200, afterwards("agent", "tool list_categories", 200), afterwards("agent", "tool list_categories", "RATE_LIMIT_EXCEEDED")],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { confirm_destructive: true }], 200, afterwards("agent", ["tool remove_vote", { submission_id: ":idea" }], "VALIDATION_ERROR"), afterwards("agent", ["tool remove_vote", { submission_id: ":idea", confirm: true }], 200)],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { read_only: true, calls_a_day: 5 }], 200, afterwards("admin", ["PUT /admin/agents/:agent/policies", {}], 200, { read_only: false, calls_a_day: null })],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { read_only: true }], 200, afterwards("agent", "method tools/list", 200, at("tools", each("annotations.readOnlyHint", Array(11).fill(true))))],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { category_ids: [":nothing"] }], "VALIDATION_ERROR category_ids"],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { calls_a_day: 0 }], "VALIDATION_ERROR calls_a_day"],
  ["2.7.5", "admin", ["PUT /admin/agents/:agent/policies", { confirm_destructive: true }], 200, afterwards("agent", ["tool remove_vote", { submission_id: ":idea" }, { confirm: true }], 200)],
  ["2.7.6", "agent", ["tool vote_submission", { submission_id: ":idea" }], 200, afterwards("admin", "GET /admin/agents/:agent/audit", 200, named(call), types(call), [{ tool: "vote_submission", scope: "submissions:write", outcome: "ok", argument_names: ["submission_id"], key_id: ":agent.key_id" }])],
  ["2.7.6", "agent", ["tool vote_submission", { submission_id: ":idea" }], 200, afterwards("admin", "GET /admin/agents/:agent/audit", 200, ({ text }) => expect(text).not.toMatch(/127\.0\.0\.1|@/))],
  ["2.7.7", "nobody", "GET /admin/agents", "UNAUTHORIZED"],
  ["2.7.7", "user", "GET /admin/agents", "FORBIDDEN"],
  ["2.7.7", "member", ["POST /admin/agents", { name: "Mine" }], "FORBIDDEN"],
  ["2.7.7", "key", "GET /admin/agents", "FORBIDDEN"],
  ["2.7.7", "outsider", "GET /admin/agents/:agent/keys", "FORBIDDEN"],
]);
