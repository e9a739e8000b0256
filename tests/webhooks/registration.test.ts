import { expect, test } from "vitest";
import type { z } from "zod";
import { auditAnswer } from "../../shared/audit.ts";
import { deliveryDetailAnswer, newWebhookAnswer, webhookAnswer } from "../../shared/webhooks.ts";
import { api, type Call, type Method } from "../api/client.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import { newHook, newWorld } from "./world.ts";

const url = "https://receiver.example/hooks";
const events = ["submission.created", "comment.created"];
const world = await newWorld();

async function call<Schema extends z.ZodType>(
  method: Method,
  path: string,
  schema: Schema,
  options: Call = {},
): Promise<z.infer<Schema>> {
  const answer = await api(method, path, { as: world.key, ...options });
  expect(answer.status, answer.text).toBeLessThan(300);
  return schema.parse(answer.body);
}

test("creating a webhook is charged once, although its host is resolved in between", async () => {
  const { key, path } = await newWorld();
  const remaining = async (method: Method, body?: object) =>
    Number((await api(method, path, { as: key, body })).headers["x-ratelimit-remaining"]);
  const before = await remaining("GET");
  expect(await remaining("POST", { url, events })).toBe(before - 1);
  expect(await remaining("POST", { url: "https://127.0.0.1/hooks", events })).toBe(before - 2);
  expect(await remaining("GET")).toBe(before - 3);
});

test("changes of a webhook are in the audit trail, with its host and without secrets", async () => {
  const body = { url: "https://first.example:8443/hooks?token=geheim", events };
  const { data: created } = await call("POST", world.path, newWebhookAnswer, { body });
  const one = `${world.path}/${created.id}`;
  const moved = { url: "https://second.example/geheim", enabled: false };
  await call("PATCH", one, webhookAnswer, { as: world.admin, body: moved });
  await call("PATCH", one, webhookAnswer, { as: world.admin, body: { events: ["org.updated"] } });
  await call("POST", `${one}/rotate`, newWebhookAnswer, { body: { overlap_seconds: 0 } });
  await api("DELETE", one, { as: world.key });
  for (const gone of [one, `${one}/rotate`]) await api("POST", gone, { as: world.key, body: {} });
  const target = `${created.id.slice(3, 11)}-${created.id.slice(11).replace(/(.{4})(.{4})(.{4})(.+)/, "$1-$2-$3-$4")}`;
  const trail = await api("GET", `/api/admin/audit?target_id=${target}`, { as: world.admin, on: world.organization });
  const [first, second] = ["first.example:8443", "second.example"];
  expect(
    auditAnswer
      .parse(trail.body)
      .data.toReversed()
      .map(({ action, key_id, details }) => [action, key_id, details]),
  ).toEqual([
    ["webhook.create", world.key.id, { host: first, events }],
    ["webhook.update", null, { host: second, previous_host: first, enabled: false }],
    ["webhook.update", null, { host: second, events: ["org.updated"] }],
    ["webhook.rotate", world.key.id, { host: second, previous_secret_until: expect.any(String) }],
    ["webhook.delete", world.key.id, { host: second }],
  ]);
  expect(trail.text).not.toMatch(/geheim|whsec/);
});

test("a given secret is never returned; a generated one is returned once, and a repeated request generates another", async () => {
  const secret = "a-secret-of-the-receiver";
  const given = await api("POST", world.path, { as: world.key, body: { url, events, secret } });
  expect(given.text).not.toContain(secret);
  const headers = { "Idempotency-Key": "the-same-request" };
  const [first, second] = [
    await call("POST", world.path, newWebhookAnswer, { body: { url, events }, headers }),
    await call("POST", world.path, newWebhookAnswer, { body: { url, events }, headers }),
  ];
  expect(second.data.secret).not.toBe(first.data.secret);
  const rotated = await call("POST", `${world.path}/${first.data.id}/rotate`, newWebhookAnswer, { headers });
  for (const one of [first, second, rotated]) {
    const { text } = await api("GET", `${world.path}/${one.data.id}`, { as: world.key });
    expect(text).not.toContain("whsec_");
  }
  expect((await everythingStored()).includes(secret)).toBe(false);
  for (const one of [first, second, rotated]) {
    expect((await everythingStored()).includes(one.data.secret ?? "")).toBe(false);
  }
});

const key = Buffer.alloc(32, 251);
test.each([
  ["without padding", key.toString("base64").replace(/=+$/, "")],
  ["with too much padding", `${key.toString("base64")}=`],
  ["with bits that no byte has", key.toString("base64").replace(/s=$/, "t=")],
  ["of the URL's alphabet", Buffer.alloc(24, 251).toString("base64url")],
  ["of the URL's alphabet, padded", key.toString("base64").replaceAll("+", "-")],
  ["in hexadecimal digits", `${key.toString("hex")}+`],
  ["of plain text", "my_secret_key!"],
  ["of text that could be base64, but is short", "password"],
  ["of 23 bytes", Buffer.alloc(23, 1).toString("base64")],
  ["of 65 bytes", Buffer.alloc(65, 1).toString("base64")],
  ["with another prefix", `whsec_${key.toString("base64")}`],
  ["with a blank", key.toString("base64").replace("+", " ")],
  ["with a line break", `${key.toString("base64")}\n`],
  ["of nothing", ""],
])("a whsec_ secret %s is refused at registration and rotation", async (_, encoded) => {
  const secret = `whsec_${encoded}`;
  const hook = await newHook(world, events);
  for (const [path, body] of [
    [world.path, { url, events, secret }],
    [`${hook.path}/rotate`, { secret }],
  ] as const) {
    const refused = await api("POST", path, { as: world.key, body });
    expect(refused.status, path).toBe(400);
    expect(refused.body).toMatchObject({ error: { details: [{ field: "secret" }] } });
  }
});

/** All rows of this organization's webhooks and responses. */
async function everythingStored(): Promise<string> {
  const rows = await sql`
    select row_to_json(w)::text as text from private.webhooks w where w.organization_id = ${world.organization.id}
    union all select row_to_json(d)::text from private.webhook_deliveries d where d.organization_id = ${world.organization.id}
    union all select row_to_json(k)::text from private.idempotency_keys k where k.organization_id = ${world.organization.id}`;
  expect(rows.length).toBeGreaterThan(0);
  return rows.map(({ text }) => text).join("\n");
}

test("an encrypted secret can be decrypted for its own webhook only", async () => {
  const [own, foreign] = [await newHook(world, events), await newHook(world, events)];
  await sql`
    update private.webhooks w set encrypted_secret = t.encrypted_secret from private.webhooks t
    where w.id = ${own.id.slice(3)} and t.id = ${foreign.id.slice(3)}`;
  const { data } = (await api("POST", `${own.path}/test`, { as: world.key })).body as { data: { id: string } };
  const attempts = await until(async () => {
    const detail = await call("GET", `${own.path}/deliveries/${data.id}`, deliveryDetailAnswer, { as: world.admin });
    return detail.data.attempts.length > 0 ? detail.data.attempts : undefined;
  });
  expect(attempts[0]).toMatchObject({ error: "The delivery failed.", status_code: null });
  expect(own.receiver.heard).toEqual([]);
});
