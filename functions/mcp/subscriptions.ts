import type { Context } from "hono";
import { z } from "zod";
import { canonicalEventName, type EventName, eventName, eventNames } from "../../shared/events.ts";
import { isUuid, uuid } from "../../shared/fields.ts";
import type { Scope } from "../../shared/scopes.ts";
import { ApiError, notFound } from "../_shared/api-error.ts";
import { run } from "../_shared/database.ts";
import {
  openSubscription as keepSubscription,
  readSubscription,
} from "../_shared/statements/agent-streams.ts";
import { type AgentRequest, admissionFor, admit, agentRequest, hearing } from "./agent-request.ts";
import { baseOf, sendEvents, sendRefusal } from "./answers.ts";
import { EventStream } from "./event-stream.ts";
import { invalidParams, messagesOf } from "./json-rpc.ts";
import { cursorOf, type Follower, follow, isFull } from "./outbox-reader.ts";

const route = "/mcp/subscribe/:id";

/** What an agent can hear of, and the scope it needs for that. */
const scopeOfEvent: Partial<Record<EventName, Scope>> = {
  "submission.created": "submissions:read",
  "submission.updated": "submissions:read",
  "submission.status_changed": "submissions:read",
  "submission.vote_added": "submissions:read",
  "submission.vote_removed": "submissions:read",
  "comment.created": "submissions:read",
  "survey.published": "surveys:read",
  "survey.closed": "surveys:read",
  "survey.response.created": "responses:read",
};

const offered = eventNames.filter((name) => scopeOfEvent[name]);

const subscribeParams = z.object({
  events: z
    .array(
      eventName.refine(
        (name) => scopeOfEvent[canonicalEventName(name)],
        `must be one of ${offered.join(", ")}`,
      ),
    )
    .min(1)
    .max(50),
  filters: z.object({ survey_id: uuid.optional() }).default({}),
});

/** Keeps which events an agent wants; the stream of its id tells them, also those that come before it is opened. */
export async function openSubscription(request: AgentRequest, params: object): Promise<object> {
  const parsed = subscribeParams.safeParse(params);
  if (!parsed.success) {
    await admit(request);
    throw invalidParams(messagesOf(parsed.error));
  }
  const { events, filters } = parsed.data;
  const names = [...new Set(events)];
  const scopes = [...new Set(names.flatMap((name) => scopeOfEvent[canonicalEventName(name)] ?? []))];
  const id = crypto.randomUUID();
  const keep = keepSubscription(id, names, scopes, filters.survey_id ?? null);
  await run(admissionFor(request), [keep], hearing(request));
  return { subscription_id: id, stream_url: `${baseOf(request.c)}/api/mcp/subscribe/${id}` };
}

type Kept = Omit<Follower, "stream" | "cursor"> & { xid: string; scopes: string[]; expired: boolean };

/** GET /api/mcp/subscribe/:id: the events since the subscription was made, or since Last-Event-ID, and those to come. */
export async function serveSubscription(c: Context): Promise<Response> {
  const request = agentRequest(c);
  const id = c.req.param("id") ?? "";
  try {
    const known = isUuid(id) ? [readSubscription(id)] : [];
    const [rows] = await run(admissionFor(request), known, hearing(request));
    const kept = JSON.parse(rows?.[0]?.data ?? "null") as Kept | null;
    if (!kept) throw notFound("subscription");
    const { xid, scopes, expired, ...wanted } = kept;
    if (expired) throw new ApiError("GONE", "This subscription is over: subscribe again.");
    const lacking = wanted.events
      .map((name) => scopeOfEvent[canonicalEventName(name)])
      .find((scope) => scope && !scopes.includes(scope));
    if (lacking) throw new ApiError("FORBIDDEN", `This key lacks the scope ${lacking}.`);
    if (isFull(wanted.agent_id)) throw tooMany();
    const stream = new EventStream();
    follow({ ...wanted, stream, cursor: cursorOf(c.req.header("Last-Event-ID"), xid) });
    return sendEvents(request, route, stream);
  } catch (error) {
    return sendRefusal(request, route, error);
  }
}

const tooMany = () =>
  new ApiError("RATE_LIMIT_EXCEEDED", "Too many streams of this agent are open: close some.", [], {
    retry_after: 5,
  });
