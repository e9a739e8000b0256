import { expect } from "vitest";
import { api } from "../../api/client.ts";
import { until } from "../../until.ts";
import { type Behaviour, neverRespond, type Receiver, refuse, startReceiver } from "../../webhooks/receivers.ts";
import type { Made, Maker, Thing } from "./maker.ts";

/** Receivers of the rows, by URL: a thing has only texts. */
export const receivers = new Map<string, Receiver>();

async function receiver(behave?: Behaviour): Promise<Thing> {
  const made = await startReceiver(behave);
  receivers.set(made.url, made);
  return { id: made.url, secret: `of-a-receiver-${crypto.randomUUID()}` };
}

const hooksOf = async (scene: Made) => `/api/organizations/${(await scene.organization).id}/webhooks`;

async function call(
  scene: Made,
  method: "GET" | "POST",
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const as = { token: "", ...(await scene.get("admin")) };
  const answer = await api(method, (await hooksOf(scene)) + path, { as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return (answer.body as { data: Record<string, unknown> }).data;
}

async function webhook(scene: Made, url = "https://receiver.example/hooks", secret?: string): Promise<Thing> {
  const { id } = await call(scene, "POST", "", { url, events: ["submission.created"], secret });
  return { id: String(id) };
}

/** A webhook with a test event, which was sent once. */
async function tried(scene: Made, behave: Behaviour): Promise<Thing> {
  const { id } = await webhook(scene, (await receiver(behave)).id);
  const event = String((await call(scene, "POST", `/${id}/test`)).id);
  await until(async () => (await call(scene, "GET", `/${id}/deliveries/${event}`)).duration_ms !== null);
  return { id, event };
}

export const webhooks = {
  /** A receiver of webhooks that answers 204; its id is its address. */
  receiver: () => receiver(),
  webhook: (scene) => webhook(scene),
  /** Sends to the receiver. */
  hook: async (scene) => webhook(scene, await scene.id("receiver"), (await scene.get("receiver")).secret),
  /** The receiver answered 200 with 10,000 characters. */
  delivered: (scene) => tried(scene, (response) => response.writeHead(200).end("x".repeat(10_000))),
  /** The receiver answered 503. */
  refused: (scene) => tried(scene, refuse(503)),
  /** The receiver never answered. */
  silent: (scene) => tried(scene, neverRespond),
  /** The receiver answered 410. */
  gone: (scene) => tried(scene, refuse(410)),
} satisfies Record<string, Maker>;
