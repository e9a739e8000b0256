import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { isServiceSignature, verifyWebhook } from "../../shared/verify-webhook.ts";
import { api } from "../api/client.ts";
import { newSubmission, only } from "../api/world.ts";
import { stack } from "../stack.ts";
import { until } from "../until.ts";
import { deliveriesTo, newHook, newWorld } from "./world.ts";

const world = await newWorld();

const standard = (bytes: number) => `whsec_${Buffer.alloc(bytes, 251).toString("base64")}`;
test.each([
  ["made here", undefined],
  ["of Standard Webhooks with 24 bytes", standard(24)],
  ["of Standard Webhooks with 31 bytes", standard(31)],
  ["of Standard Webhooks with 32 bytes", standard(32)],
  ["of Standard Webhooks with 64 bytes", standard(64)],
])("a secret %s verifies with the standardwebhooks package", async (_, secret) => {
  const hook = await newHook(world, ["org.updated"], secret === undefined ? {} : { secret });
  await api("POST", `${hook.path}/test`, { as: world.key });
  const { raw, headers } = only((await deliveriesTo(hook))[0]);
  const verified = new Webhook(hook.secret).verify(raw.toString(), headers as Record<string, string>);
  expect(verified).toEqual(JSON.parse(raw.toString()));
});

test("any other secret is used as its own key, in the package's raw form too", async () => {
  const hook = await newHook(world, ["org.updated"], { secret: "WHSEC_not-base64" });
  await api("POST", `${hook.path}/test`, { as: world.key });
  const { raw, headers } = only((await deliveriesTo(hook))[0]);
  const webhook = new Webhook(hook.secret, { format: "raw" });
  expect(webhook.verify(raw.toString(), headers as Record<string, string>)).toEqual(JSON.parse(raw.toString()));
});

test("both secrets verify for a while after a rotation, and then the new one only", async () => {
  const hook = await newHook(world, ["org.updated"]);
  const rotate = async (body: object) => {
    const answer = await api("POST", `${hook.path}/rotate`, { as: world.key, body });
    return (answer.body as { data: { secret: string } }).data.secret;
  };
  const next = await rotate({});
  await api("POST", `${hook.path}/test`, { as: world.key });
  const [both] = await deliveriesTo(hook);
  if (!both) throw new Error("nothing was heard");
  const request = { body: both.raw.toString(), headers: both.headers };
  for (const secret of [hook.secret, next]) {
    expect(await verifyWebhook(request, secret)).toEqual(both.body);
    new Webhook(secret).verify(request.body, request.headers as Record<string, string>);
  }
  expect(await isServiceSignature(request, next)).toBe(true);

  const last = await rotate({ overlap_seconds: 0 });
  await api("POST", `${hook.path}/test`, { as: world.key });
  const [, alone] = await deliveriesTo(hook, 2);
  if (!alone) throw new Error("nothing more was heard");
  const second = { body: alone.raw.toString(), headers: alone.headers };
  expect(await verifyWebhook(second, last)).toEqual(alone.body);
  await expect(verifyWebhook(second, next)).rejects.toThrow("webhook-signature");
});

test("a redelivered event has the same id", async () => {
  const hook = await newHook(world, ["submission.created"]);
  await newSubmission(world.organization, world.author);
  const [first] = await deliveriesTo(hook);
  const path = `${hook.path}/deliveries/${first?.body.id}`;
  await until(async () => {
    const { body } = await api("GET", path, { as: world.admin });
    return (body as { data: { status: string } }).data.status === "delivered" || undefined;
  });
  expect((await api("POST", `${path}/redeliver`, { as: world.admin })).status).toBe(200);
  const [, repeated] = await deliveriesTo(hook, 2);
  expect(repeated?.raw).toEqual(first?.raw);
});

test("the dispatcher requires its password, through every URL", async () => {
  for (const password of [undefined, "wrong", stack.secret_key]) {
    const answer = await fetch(`${stack.supabase_url}/functions/v1/webhook-dispatch`, {
      method: "POST",
      headers: password === undefined ? {} : { authorization: `Bearer ${password}` },
    });
    expect(answer.status).toBe(401);
  }
});
