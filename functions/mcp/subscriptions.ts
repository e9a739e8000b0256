import type { Context } from "hono";
import { z } from "zod";
import {
  canonicalEventName,
  type EventAlias,
  type EventName,
  eventName,
  eventNames,
} from "../../shared/events.ts";
import { isUuid, uuid } from "../../shared/fields.ts";
import type { Scope } from "../../shared/scopes.ts";
import { ApiError, notFound } from "../_shared/api-error.ts";
import { run } from "../_shared/database.ts";
import {
  holdStream,
  openSubscription as keepSubscription,
  readSubscription,
} from "../_shared/statements/agent-streams.ts";
import { type AgentRequest, admissionFor, admit, agentRequest, hearing } from "./agent-request.ts";
import { baseOf, sendEvents, sendRefusal } from "./answers.ts";
import { EventStream } from "./event-stream.ts";
import { invalidParams, messagesOf } from "./json-rpc.ts";
import { cursorOf, type Follower, follow } from "./outbox-reader.ts";
import { keepHeld } from "./places.ts";

const route = "/mcp/subscribe/:id";

/** Of a key the scope, and of its agent's policies one of the tools that read what an event tells. */
type Need = { scope: Scope; tools: string[] };

const submissions: Need = {
  scope: "submissions:read",
  tools: ["list_submissions", "get_submission", "search_submissions"],
};
const surveys: Need = { scope: "surveys:read", tools: ["list_surveys", "get_survey"] };

/** What an agent can hear of, and what it needs for that. */
const needOfEvent: Partial<Record<EventName, Need>> = {
  "submission.created": submissions,
  "submission.updated": submissions,
  "submission.status_changed": submissions,
  "submission.vote_added": submissions,
  "submission.vote_removed": submissions,
  "comment.created": { scope: "submissions:read", tools: ["list_comments"] },
  "survey.published": surveys,
  "survey.closed": surveys,
  "survey.response.created": { scope: "responses:read", tools: ["list_survey_responses"] },
};

const needOf = (name: EventName | EventAlias) => needOfEvent[canonicalEventName(name)];

const offered = eventNames.filter((name) => needOfEvent[name]);

const subscribeParams = z.object({
  events: z
    .array(eventName.refine(needOf, `must be one of ${offered.join(", ")}`))
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
  const needs = names.map((event) => ({ event, ...needOf(event) }));
  const id = crypto.randomUUID();
  const keep = keepSubscription(id, names, needs, filters.survey_id ?? null);
  await run(admissionFor(request), [keep], hearing(request));
  return { subscription_id: id, stream_url: `${baseOf(request.c)}/api/mcp/subscribe/${id}` };
}

type Kept = Omit<Follower, "stream" | "cursor"> & {
  xid: string;
  scopes: string[];
  tools: string[] | null;
  expired: boolean;
};

/** GET /api/mcp/subscribe/:id: the events since the subscription was made, or since Last-Event-ID, and those to come. */
export async function serveSubscription(c: Context): Promise<Response> {
  const request = agentRequest(c);
  const id = c.req.param("id") ?? "";
  let place: ReturnType<typeof keepHeld> | undefined;
  try {
    const admission = admissionFor(request);
    const known = isUuid(id)
      ? ([readSubscription(id), holdStream(request.id, admission.address)] as const)
      : ([] as const);
    const [rows] = await run(admission, known, hearing(request));
    place = keepHeld(request.id);
    const kept = JSON.parse(rows?.[0]?.data ?? "null") as Kept | null;
    if (!kept) throw notFound("subscription");
    const { xid, scopes, tools, expired, ...wanted } = kept;
    if (expired) throw new ApiError("GONE", "This subscription is over: subscribe again.");
    for (const event of wanted.events) {
      const need = needOf(event);
      if (need && !scopes.includes(need.scope))
        throw new ApiError("FORBIDDEN", `This key lacks the scope ${need.scope}.`);
      if (tools && !need?.tools.some((name) => tools.includes(name)))
        throw new ApiError("FORBIDDEN", `The agent's policies leave it no tool that reads ${event}.`);
    }
    const stream = new EventStream(place.release);
    follow({ ...wanted, stream, cursor: cursorOf(c.req.header("Last-Event-ID"), xid) });
    return sendEvents(request, route, stream);
  } catch (error) {
    place?.release();
    return sendRefusal(request, route, error);
  }
}
