import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { type RateLimitName, rateLimits } from "../../shared/rate-limits.ts";
import { isServiceSignature, verifyWebhook } from "../../shared/verify-webhook.ts";
import { webhookEnvelope } from "../../shared/webhooks.ts";
import { Listener } from "../mcp/agents.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import type { CallerName } from "./makers/index.ts";
import { receivers } from "./makers/webhooks.ts";
import type { Answer } from "./request.ts";
import { at, type Check } from "./row.ts";
import type { Scene } from "./scene.ts";

// Checks of what arrives elsewhere: at the receiver of a webhook, in an agent's stream, at the counter of a rate limit.

type Look = (answer: Answer, scene: Scene) => Promise<unknown>;

/** The event has arrived at `:receiver`, signed and in the envelope of 6.1; the checks look at its data. */
export const receives =
  (event: string, ...checks: Check[]): Look =>
  async (answer, scene) => {
    const { id, secret = "" } = await scene.get("receiver");
    const { heard = [] } = receivers.get(id) ?? {};
    const { headers, raw, body } = await until(() => heard.find((one) => one.body.event === event));
    expect(headers["x-service-signature"]).toBe(createHmac("sha256", secret).update(raw).digest("hex"));
    expect(headers["content-type"]).toMatch(/^application\/json/);
    const request = { body: raw.toString(), headers };
    expect([await isServiceSignature(request, secret), await verifyWebhook(request, secret)]).toEqual([true, body]);
    const org_id = (await scene.organization).id;
    expect(webhookEnvelope.strict().parse(body)).toMatchObject({ event, org_id });
    expect(request.body, "e-mail addresses are for admins").not.toContain("@");
    await at("data", ...checks)({ ...answer, data: body }, scene);
  };

/** The stream of the answer has sent events of these names to the caller; the checks look at their data, as a list. */
export const streams =
  (as: CallerName, names: string, ...checks: Check[]): Look =>
  async (answer, scene) => {
    const { stream_url } = answer.data as { stream_url: string };
    const expected = names.split(" ");
    const listener = new Listener(stream_url, { token: "", ...(await scene.get(as)) });
    const { events } = await listener.until(({ events, ended }) => ended || events.length >= expected.length);
    listener.close();
    expect(events.map(({ event }) => event)).toEqual(expected);
    await at("events", ...checks)({ ...answer, data: { events: events.map(({ data }) => data) } }, scene);
  };

/**
 * The caller's calls were counted by this rule, whose numbers are those of a new installation: the stack of the tests
 * has higher limits. All rows share the counters of nobody, which are by address.
 */
export const counts =
  (rule: RateLimitName, max_requests: number, window_seconds: number, used = 1): Look =>
  async ({ steps }, scene) => {
    expect(rateLimits[rule]).toEqual({ max_requests, window_seconds });
    const as = steps?.[0]?.as ?? "nobody";
    const subject = as === "nobody" ? sql`true` : sql`subject = ${await scene.id(as)}`;
    const counters = await sql`select used from private.rate_counters where rule = ${rule} and ${subject}`;
    if (as === "nobody") expect(counters.length).toBeGreaterThan(0);
    else expect(counters).toEqual([{ used }]);
  };

/** The caller has used the whole limit; or, `ago` seconds later, the window has passed. */
export const used =
  (rule: RateLimitName, as: CallerName, ago = 0): Look =>
  async (_answer, scene) => {
    const changed = await sql`
      update private.rate_counters c set used = r.max_requests, started_at = now() - make_interval(secs => ${ago})
      from private.rate_limit_rules r where r.name = c.rule and c.rule = ${rule} and c.subject = ${await scene.id(as)}`;
    expect(changed.count).toBe(1);
  };
