import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { type EventName, eventNames, events } from "../../shared/events.ts";
import { isServiceSignature, verifyWebhook } from "../../shared/verify-webhook.ts";
import { webhookEnvelope } from "../../shared/webhooks.ts";
import { api } from "../api/client.ts";
import { change, newSurvey, respond } from "../api/survey-world.ts";
import { longEnough, newGuest, newSubmission } from "../api/world.ts";
import { stack, supabase } from "../stack.ts";
import { until } from "../until.ts";
import { deliveriesTo, type Hook, newHook, newWorld } from "./world.ts";

const world = await newWorld();
const guest = await newGuest("Gus Guest");
const on = world.organization;

/** The first delivery, with its signature verified. */
async function received({ receiver, secret }: Hook, at = 0) {
  const delivery = await until(() => receiver.heard[at]);
  const body = delivery.raw.toString();
  const request = { body, headers: delivery.headers };
  expect(await verifyWebhook(request, secret)).toEqual(delivery.body);
  expect(await isServiceSignature(request, secret)).toBe(true);
  // Exactly the fields of section 6.1 of the specification.
  expect(delivery.headers["x-service-signature"]).toBe(createHmac("sha256", secret).update(body).digest("hex"));
  expect(delivery.headers["content-type"]).toMatch(/^application\/json/);
  return { ...delivery, envelope: webhookEnvelope.strict().parse(delivery.body) };
}

const submit = async (title = "Told to a webhook") => {
  const answer = await api("POST", "/api/submissions", {
    as: world.author,
    on,
    body: { title, description: longEnough, type: "idea" },
  });
  return (answer.body as { data: { id: string; url: string } }).data;
};

const causes: Record<EventName, () => Promise<unknown>> = {
  "submission.created": () => submit(),
  "submission.updated": async () => {
    const id = await newSubmission(on, world.author);
    return api("PATCH", `/api/submissions/${id}`, { as: world.author, body: { title: "Another title" } });
  },
  "submission.status_changed": async () => {
    const id = await newSubmission(on, world.author);
    return api("PATCH", `/api/submissions/${id}/status`, { as: world.admin, body: { status: "planned" } });
  },
  "submission.vote_added": async () =>
    api("POST", `/api/submissions/${await newSubmission(on, world.author)}/vote`, { as: world.admin }),
  "submission.vote_removed": async () =>
    api("DELETE", `/api/submissions/${await newSubmission(on, world.author)}/vote`, { as: world.author }),
  "comment.created": async () =>
    api("POST", `/api/submissions/${await newSubmission(on, world.author)}/comments`, {
      as: world.author,
      body: { body: "A comment" },
    }),
  "member.joined": async () => {
    const body = { email: guest.email, role: "member" };
    const { data } = (await api("POST", `/api/organizations/${on.id}/invites`, { as: world.admin, body })).body as {
      data: { token: string };
    };
    return api("POST", "/api/invites/accept", { as: guest, body: { token: data.token } });
  },
  "org.updated": () => api("PATCH", `/api/organizations/${on.id}`, { as: world.admin, body: { name: "New name" } }),
  "survey.published": () => newSurvey(world.admin, on),
  "survey.response.created": async () => respond(await newSurvey(world.admin, on), world.author, { 0: 9 }),
  "survey.closed": async () => change((await newSurvey(world.admin, on)).id, "archive", world.admin),
};

test.each(eventNames)(
  "%s reaches its receiver, signed, with the data of its schema and no e-mail address",
  async (name) => {
    const hook = await newHook(world, [name]);
    await causes[name]();
    const { envelope, raw } = await received(hook);
    expect(envelope).toMatchObject({ event: name, org_id: on.id });
    expect(events[name].strict().parse(envelope.data)).toEqual(envelope.data);
    expect(raw.toString()).not.toContain("@");
    await api("DELETE", hook.path, { as: world.key });
  },
);

test("the payload of submission.created matches the specification", async () => {
  const hook = await newHook(world, ["submission.created"]);
  const { id, url } = await submit();
  const { envelope } = await received(hook);
  expect(envelope.data).toEqual({
    submission: {
      id,
      title: "Told to a webhook",
      description: longEnough,
      type: "idea",
      status: "open",
      vote_count: 1,
      url,
      created_at: expect.any(String),
    },
  });
});

test.each([
  ["vote.created", "submission.vote_added"],
  ["status.changed", "submission.status_changed"],
] as const)("%s is delivered under that name", async (alias, name) => {
  const hook = await newHook(world, [alias, name]);
  await causes[name]();
  const { envelope } = await received(hook);
  expect(envelope.event).toBe(alias);
  expect(events[name].parse(envelope.data)).toEqual(envelope.data);
  await api("DELETE", hook.path, { as: world.key });
});

test("changes by supabase-js are delivered as fast", async () => {
  const hook = await newHook(world, ["submission.vote_added"]);
  const id = await newSubmission(on, world.author);
  const { error } = await supabase(world.admin).rpc("vote", { submission_id: id });
  expect(error).toBeNull();
  expect((await received(hook)).envelope.data).toEqual({ submission_id: id, vote_count: 2 });
});

test("titles cannot inject into body or headers", async () => {
  const hook = await newHook(world, ["submission.created"]);
  const title = `"},"event":"org.updated"\r\nX-Injected: 1\r\n\r\n\u2028</script>`;
  await submit(title);
  const { headers, envelope } = await received(hook);
  expect(envelope).toMatchObject({ event: "submission.created", data: { submission: { title } } });
  expect(headers["x-injected"]).toBeUndefined();
});

test.each([
  ["made here", undefined],
  ["of Standard Webhooks", `whsec_${Buffer.alloc(24, 7).toString("base64")}`],
])("a secret %s verifies with the standardwebhooks package", async (_, secret) => {
  const hook = await newHook(world, ["org.updated"], secret === undefined ? {} : { secret });
  await api("POST", `${hook.path}/test`, { as: world.key });
  const { raw, headers } = await received(hook);
  const verified = new Webhook(hook.secret).verify(raw.toString(), headers as Record<string, string>);
  expect(verified).toEqual(JSON.parse(raw.toString()));
});

test("any other secret is used as its own key, in the package's raw form too", async () => {
  const hook = await newHook(world, ["org.updated"], { secret: "whsec_not base64".replace(" ", "-") });
  await api("POST", `${hook.path}/test`, { as: world.key });
  const { raw, headers } = await received(hook);
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
  await submit();
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
