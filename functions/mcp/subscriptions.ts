import type { Context } from "hono";
import { z } from "zod";
import { canonicalEventName, type EventAlias, type EventName, eventName, eventNames } from "../../shared/events.ts";
import { isUuid, uuid } from "../../shared/fields.ts";
import type { Scope } from "../../shared/scopes.ts";
import { run } from "../_shared/database/run.ts";
import { ApiError, notFound } from "../_shared/http/api-error.ts";
import {
  holdStream,
  openSubscription as keepSubscription,
  readSubscription,
} from "../_shared/statements/agent-streams.ts";
import { type AgentRequest, admit, agentAdmission, agentRequest, storeVerdict } from "./agent-request.ts";
import { keepRegistered } from "./concurrency-limit.ts";
import { EventStream } from "./event-stream.ts";
import { invalidParams, messagesOf } from "./json-rpc.ts";
import { cursorOf, type Follower, follow } from "./outbox-reader.ts";
import { baseUrlOf, sendEvents, sendStreamError } from "./stream-responses.ts";

const route = "/mcp/subscribe/:id";

/** Required scope of the key, and tools, one of which the agent's policies must allow. */
type Need = { scope: Scope; tools: string[] };

const submissions: Need = {
  scope: "submissions:read",
  tools: ["list_submissions", "get_submission", "search_submissions"],
};
const surveys: Need = { scope: "surveys:read", tools: ["list_surveys", "get_survey"] };

/** Events an agent may subscribe to, with their requirements. */
const needOfEvent: Record<EventName, Need | undefined> = {
  "submission.created": submissions,
  "submission.updated": submissions,
  "submission.status_changed": submissions,
  "submission.vote_added": submissions,
  "submission.vote_removed": submissions,
  "comment.created": { scope: "submissions:read", tools: ["list_comments"] },
  "survey.published": surveys,
  "survey.closed": surveys,
  "survey.response.created": { scope: "responses:read", tools: ["list_survey_responses"] },
  // Events about the organization and its team, which no agent may read.
  "member.joined": undefined,
  "org.updated": undefined,
};

const needOf = (name: EventName | EventAlias) => needOfEvent[canonicalEventName(name)];

export const offered = eventNames.filter((name) => needOfEvent[name]);

const subscribeParams = z.object({
  events: z
    .array(eventName.refine(needOf, `must be one of ${offered.join(", ")}`))
    .min(1)
    .max(50),
  filters: z.object({ survey_id: uuid.optional() }).default({}),
});

/** Creates a subscription; the stream with its id delivers its events, including those before it is opened. */
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
  const statement = keepSubscription(id, names, needs, filters.survey_id ?? null);
  await run(agentAdmission(request), [statement], storeVerdict(request));
  return { subscription_id: id, stream_url: `${baseUrlOf(request.c)}/api/mcp/subscribe/${id}` };
}

type StoredSubscription = Omit<Follower, "stream" | "cursor"> & {
  xid: string;
  scopes: string[];
  tools: string[] | null;
  expired: boolean;
};

/** GET /api/mcp/subscribe/:id: events since the subscription was created or since Last-Event-ID, and new ones. */
export async function serveSubscription(c: Context): Promise<Response> {
  const request = agentRequest(c);
  const id = c.req.param("id") ?? "";
  let position: ReturnType<typeof keepRegistered> | undefined;
  try {
    const admission = agentAdmission(request);
    const known = isUuid(id)
      ? ([readSubscription(id), holdStream(request.id, admission.address)] as const)
      : ([] as const);
    const [rows] = await run(admission, known, storeVerdict(request));
    position = keepRegistered(request.id);
    const stored = JSON.parse(rows?.[0]?.data ?? "null") as StoredSubscription | null;
    if (!stored) throw notFound("subscription");
    const { xid, scopes, tools, expired, ...filter } = stored;
    if (expired) throw new ApiError("GONE", "This subscription has expired. Subscribe again.");
    for (const event of filter.events) {
      const need = needOf(event);
      if (need && !scopes.includes(need.scope))
        throw new ApiError("FORBIDDEN", `This key needs the scope ${need.scope}. Use a key that has it.`);
      if (tools && !need?.tools.some((name) => tools.includes(name)))
        throw new ApiError("FORBIDDEN", `The agent's policies do not allow any tool that reads ${event}.`);
    }
    const stream = new EventStream(position.release);
    follow({ ...filter, stream, cursor: cursorOf(c.req.header("Last-Event-ID"), xid) });
    return sendEvents(request, route, stream);
  } catch (error) {
    position?.release();
    return sendStreamError(request, route, error);
  }
}
