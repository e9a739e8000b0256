import { expect } from "vitest";
import { sql } from "../stack.ts";
import { receives } from "./receiving.ts";
import { afterwards, choice, each, is, keys, meta, section, types } from "./row.ts";

const all = "/organizations/:organization/webhooks";
const url = "https://receiver.example/hooks";
const events = ["submission.created", "comment.created"];
const create = (fields: object = {}) => [`POST ${all}`, { url, events, ...fields }] as const;
const log = `GET ${all}/:delivered/deliveries` as const;
const rotate = (fields: object = {}) => [`POST ${all}/:webhook/rotate`, fields] as const;

export default section("4.7 Webhooks", [
  ["4.7.1", "key webhooks:write", create(), 201, { url, events }, ({ body }) => expect(Object.keys(body as object).sort()).toEqual(["created_at", "data", "events", "id", "meta", "url"])],
  ["4.7.1", "key webhooks:write", create(), 201, ({ body, data }) => expect(data).toMatchObject(Object.fromEntries(Object.entries(body as object).filter(([name]) => name !== "data" && name !== "meta")))],
  ["4.7.1", "admin", create(), 201, { url, events }, choice("an admin's session may do it, too")],
  ["4.7.1", "admin", create({ events: ["submission.created", "submission.created"] }), 201, { events: ["submission.created"] }],
  ["4.7.2", "key webhooks:write", create({ secret: "a-secret-of-the-receiver" }), 201, ({ text }) => expect(text).not.toContain("a-secret-of"), afterwards("admin", `GET ${all}`, 200, ({ text }) => expect(text).not.toContain("a-secret-of"))],
  ["4.7.2", "key webhooks:write", create(), 201, ({ data }) => expect((data as { secret: string }).secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/), afterwards("admin", `GET ${all}`, 200, ({ text }) => expect(text).not.toContain("whsec_"))],
  ["4.7.2", "admin", create({ secret: "a-secret-of-the-receiver" }), 201, async (_, scene) => expect((await sql`select w::text as row from private.webhooks w where w.organization_id = ${(await scene.organization).id}`)[0]?.row).not.toContain("a-secret-of")],
  ["4.7.3", "key webhooks:read", [`GET ${all}`, undefined, { needs: ":webhook" }], 200, each("id", [":webhook"]), meta({ total: 1 })],
  ["4.7.3", "key webhooks:read", `GET ${all}`, 200, is([]), meta({ total: 0 })],
  ["4.7.3", "key webhooks:read", `GET ${all}/:webhook`, 200, { id: ":webhook", url }],
  ["4.7.4", "key webhooks:write", `DELETE ${all}/:webhook`, 200, is({ deleted: true }), afterwards("admin", `GET ${all}/:webhook`, "NOT_FOUND"), afterwards("admin", `GET ${all}`, 200, is([]))],
  ["4.7.4", "key webhooks:write", `DELETE ${all}/:webhook`, 200, afterwards("key webhooks:write", `DELETE ${all}/:webhook`, "NOT_FOUND")],
  ["4.7.5", "key webhooks:write", [`PATCH ${all}/:webhook`, { url: "https://second.example/", enabled: false }], 200, { id: ":webhook", url: "https://second.example/", events: ["submission.created"], enabled: false, disabled_reason: "admin" }],
  ["4.7.5", "key webhooks:write", [`PATCH ${all}/:webhook`, { events: ["org.updated"] }], 200, { url, events: ["org.updated"], enabled: true }],
  ["4.7.6", "key webhooks:write", rotate(), 200, types({ secret: "string", previous_secret_expires_at: "time" }), { id: ":webhook" }],
  ["4.7.6", "key webhooks:write", rotate({ secret: "chosen-by-us", overlap_seconds: 0 }), 200, ({ text }) => expect(text).not.toContain("chosen-by-us")],
  ["4.7.6", "key webhooks:write", rotate({ overlap_seconds: 604_801 }), "VALIDATION_ERROR overlap_seconds"],
  ["4.7.7", "key webhooks:write", `POST ${all}/:hook/test`, 201, { event: "webhook.test", status: "pending" }, receives("webhook.test", keys("webhook_id"), { webhook_id: ":hook" })],

  ["4.7.8", "admin", create({ url: undefined }), "VALIDATION_ERROR url"],
  ["4.7.8", "admin", create({ url: "receiver.example" }), "VALIDATION_ERROR url"],
  ["4.7.8", "admin", create({ url: "http://receiver.example/" }), "VALIDATION_ERROR url"],
  ["4.7.8", "admin", create({ url: "https://user:pass@receiver.example/" }), "VALIDATION_ERROR url"],
  ["4.7.8", "admin", create({ url: "https://receiver.example/\r\nX-Injected: 1" }), "VALIDATION_ERROR url"],
  ["4.7.8", "admin", create({ url: "https://10.0.0.1/" }), "VALIDATION_ERROR url"],
  ["4.7.8", "admin", [`PATCH ${all}/:webhook`, { url: "https://10.0.0.1/" }], "VALIDATION_ERROR url"],
  ["4.7.8", "admin", create({ events: undefined }), "VALIDATION_ERROR events"],
  ["4.7.8", "admin", create({ events: [] }), "VALIDATION_ERROR events"],
  ["4.7.8", "admin", create({ events: ["submission.deleted"] }), "VALIDATION_ERROR events.0"],
  ["4.7.8", "admin", create({ secret: "x".repeat(7) }), "VALIDATION_ERROR secret"],
  ["4.7.8", "admin", create({ secret: "x".repeat(257) }), "VALIDATION_ERROR secret"],
  ["4.7.8", "admin", create({ secret: "with a line\nbreak" }), "VALIDATION_ERROR secret"],
  ["4.7.8", "admin", create({ secret: "x".repeat(8) }), 201],
  ["4.7.8", "admin", create({ secret: "x".repeat(256) }), 201],
  ["4.7.9", "nobody", create(), "UNAUTHORIZED"],
  ["4.7.9", "unissued", create(), "UNAUTHORIZED"],
  ["4.7.9", "expired", create(), "UNAUTHORIZED"],
  ["4.7.9", "key webhooks:read", create(), "FORBIDDEN"],
  ["4.7.9", "key organization:write", create(), "FORBIDDEN"],
  ["4.7.9", "key webhooks:write", `GET ${all}`, "FORBIDDEN"],
  ["4.7.9", "key webhooks:read", `DELETE ${all}/:webhook`, "FORBIDDEN"],
  ["4.7.9", "user", create(), "FORBIDDEN"],
  ["4.7.9", "member", `GET ${all}`, "FORBIDDEN"],
  ["4.7.9", "outsider", `GET ${all}`, "FORBIDDEN"],
  ["4.7.9", "nobody", `GET ${all}`, "UNAUTHORIZED"],
  ["4.7.10", "admin", `GET ${all}/wh_00000000000000000000000000000000`, "NOT_FOUND"],
  ["4.7.10", "admin", `GET ${all}/nonsense`, "NOT_FOUND"],
  ["4.7.10", "admin", "GET /organizations/:nothing/webhooks", "NOT_FOUND"],

  ["4.7.11", "admin", log, 200, [{ id: ":delivered.event", event: "webhook.test", status: "delivered", attempt_count: 1, status_code: 200, error: null, next_attempt_at: null }], meta({ page: 1, limit: 50, total: 1, total_pages: 1, has_next: false, has_prev: false })],
  ["4.7.11", "admin", log, 200, ({ data }) => expect((data as { response_body: string }[])[0]?.response_body).toBe("x".repeat(8192)), choice("the first 8 KiB of a response are kept")],
  ["4.7.11", "admin", `${log}?limit=101`, "VALIDATION_ERROR limit"],
  ["4.7.12", "key", log, "FORBIDDEN"],
  ["4.7.12", "key webhooks:read", `${log}/:delivered.event`, "FORBIDDEN"],
  ["4.7.12", "key", `POST ${all}/:delivered/deliveries/:delivered.event/redeliver`, "FORBIDDEN"],
  ["4.7.12", "nobody", log, "UNAUTHORIZED"],
  ["4.7.12", "member", log, "FORBIDDEN"],
  ["4.7.12", "outsider", log, "FORBIDDEN"],
  ["4.7.13", "admin", `POST ${all}/:delivered/deliveries/:delivered.event/redeliver`, 200, { id: ":delivered.event", event: "webhook.test" }],
  ["4.7.14", "admin", `GET ${all}/:gone`, 200, { enabled: false, disabled_reason: "gone" }],
]);
