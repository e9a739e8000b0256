import { expect } from "vitest";
import { afterwards, at, is, keys, section, types } from "./row.ts";

const all = "/organizations/:organization/webhooks";
const stored = "id url events enabled disabled_reason previous_secret_expires_at created_at created_by updated_at";
const wh = /^wh_[0-9a-f]{32}$/;
const fields = { id: "string", url: "string", events: "strings", enabled: "boolean", disabled_reason: "string or null", previous_secret_expires_at: "time or null", created_at: "time", created_by: "object or null", updated_at: "time" } as const;
const logged = {
  id: "string",
  event: "string",
  status: ["pending", "delivered", "failed"],
  attempt_count: "integer",
  status_code: "integer or null",
  response_body: "string or null",
  error: "string or null",
  duration_ms: "integer or null",
  next_attempt_at: "time or null",
  created_at: "time",
  finished_at: "time or null",
} as const;
const attempt = { number: "integer", started_at: "time or null", duration_ms: "integer or null", status_code: "integer or null", response_body: "string or null", error: "string or null" } as const;

export default section("2.6 Webhook", [
  ["2.6.1", "admin", `GET ${all}/:webhook`, 200, keys(stored), types(fields), { url: "https://receiver.example/hooks", events: ["submission.created"], enabled: true, disabled_reason: null, created_by: { id: ":admin" } }],
  ["2.6.1", "admin", `GET ${all}/:webhook`, 200, at("id", ({ data }) => expect(data).toMatch(wh))],
  ["2.6.1", "admin", `GET ${all}/:webhook`, 200, afterwards("admin", `GET ${all}`, 200, keys(stored), types(fields), [{ id: ":webhook" }])],
  ["2.6.2", "admin", [`POST ${all}`, { url: "https://receiver.example/", events: ["org.updated"] }], 201, keys(`${stored} secret`), types({ ...fields, secret: "string" })],
  ["2.6.2", "admin", [`POST ${all}`, { url: "https://receiver.example/", events: ["org.updated"], secret: "chosen-by-us" }], 201, keys(stored)],
  ["2.6.3", "admin", `GET ${all}/:delivered/deliveries`, 200, keys(Object.keys(logged).join(" ")), types(logged)],
  ["2.6.3", "admin", `GET ${all}/:delivered/deliveries/:delivered.event`, 200, keys(`${Object.keys(logged).join(" ")} attempts data`), types({ ...logged, attempts: "array" }), { data: { webhook_id: ":delivered" } }],
  ["2.6.3", "admin", `GET ${all}/:delivered/deliveries/:delivered.event`, 200, at("attempts", keys(Object.keys(attempt).join(" ")), types(attempt))],
  ["2.6.3", "admin", `POST ${all}/:webhook/test`, 201, keys(Object.keys(logged).join(" ")), types(logged), { event: "webhook.test", status: "pending", attempt_count: 0, status_code: null }],
  ["2.6.4", "admin", `DELETE ${all}/:webhook`, 200, is({ deleted: true })],
]);
