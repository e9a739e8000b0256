import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "hono";
import { isUuid } from "../../shared/fields.ts";
import type { Locale } from "../../shared/locales.ts";
import { ApiError, notFound } from "../_shared/api-error.ts";
import { type Ask, alone, type Results, run, runInSteps, type Statement } from "../_shared/database.ts";
import {
  claimStream,
  finishStream,
  openStream as keepStream,
  streamEvents,
} from "../_shared/statements/agent-streams.ts";
import { beginCall } from "../_shared/statements/tool-calls.ts";
import { type AgentRequest, admissionFor, agentRequest, callerOf, hearing } from "./agent-request.ts";
import { baseOf, sendEvents, sendRefusal } from "./answers.ts";
import { type Asked, answerOf, audited, check, leaveFor, trail } from "./call.ts";
import { EventStream } from "./event-stream.ts";
import { toRpcError } from "./json-rpc.ts";
import { Places } from "./places.ts";
import { toolByName } from "./registry.ts";

const route = "/mcp/stream/:id";

// Each runs a call or waits for one, and ends within half a minute.
const places = new Places(20, 500);

/** Keeps a call for the stream that will run it, once it is known that it may run. */
export async function openStream(request: AgentRequest, asked: Asked): Promise<object> {
  const { name, arguments: args, confirmed } = asked;
  const tool = toolByName.get(name);
  const id = crypto.randomUUID();
  const call = check(request, tool, asked);
  const statements =
    call instanceof ApiError
      ? []
      : [
          beginCall(leaveFor(call)),
          keepStream({ id, tool: name, arguments: args, confirmed, locale: request.locale }),
        ];
  try {
    await run(admissionFor(request, tool?.operation), statements, hearing(request));
    if (call instanceof ApiError) throw call;
  } catch (error) {
    return audited(request, tool, asked, () => Promise.reject(error));
  }
  return { request_id: id, stream_url: `${baseOf(request.c)}/api/mcp/stream/${id}` };
}

type Told = [event: "progress" | "result" | "done", data: object];
type Claimed =
  | { state: "finished"; events: Told[] }
  | { state: "running" }
  | { state: "waiting"; tool: string; arguments: unknown; confirmed: boolean; locale: Locale };

/** What a transaction leaves to be told once it is over. */
type Ran = { result: () => Told[] | Promise<Told[]>; last: readonly Statement[] };

/** GET /api/mcp/stream/:id: runs the call that waits, or tells again what it told. */
export async function serveStream(c: Context): Promise<Response> {
  const request = agentRequest(c);
  const id = c.req.param("id") ?? "";
  try {
    const stream = new EventStream(places.take(callerOf(request)));
    const teller = new Teller(stream, Number(c.req.header("Last-Event-ID")) || 0);
    await new Promise<void>((resolve, reject) => {
      // Goes on when its reader leaves: who comes again hears how it ended.
      runOrRepeat(request, id, teller, resolve)
        .catch(reject)
        .finally(() => stream.close());
    });
    return sendEvents(request, route, stream);
  } catch (error) {
    return sendRefusal(request, route, error);
  }
}

/** Numbers events from 1, and leaves out those a reader who comes again has heard. */
class Teller {
  private count = 0;
  constructor(
    private readonly stream: EventStream,
    private readonly heard: number,
  ) {}

  tell([event, data]: Told): void {
    this.count++;
    if (this.count > this.heard) this.stream.send({ id: String(this.count), event, data });
  }
}

/** `admitted` is called as soon as it is known that the stream is this agent's; until then errors are the request's. */
async function runOrRepeat(
  request: AgentRequest,
  id: string,
  teller: Teller,
  admitted: () => void,
): Promise<void> {
  const known = isUuid(id) ? [claimStream(id)] : [];
  let claimed: Claimed | undefined;
  let events: Told[];
  try {
    const work = async ([rows]: Results<typeof known>, ask: Ask): Promise<Ran> => {
      claimed = JSON.parse(rows?.[0]?.data ?? "null") ?? undefined;
      if (!claimed) throw notFound("stream");
      admitted();
      const told = claimed.state === "finished" ? claimed.events : [];
      if (claimed.state !== "waiting") return { result: () => told, last: [] };
      teller.tell(started);
      return await runClaimed(request, id, claimed, ask);
    };
    const admission = { ...admissionFor(request), chargeFirst: true };
    const rest = await runInSteps(admission, known, hearing(request), work);
    events = await rest();
  } catch (error) {
    if (claimed?.state !== "waiting") throw error;
    const { code, message, data } = toRpcError(error, request.id);
    events = [
      ["result", { error: { code, message, data } }],
      ["done", { success: false }],
    ];
    // What failed on our side may be tried again by reading the stream again.
    if (code !== -32603) await alone(finishStream(id, [started, ...events])).catch(() => {});
  }
  if (claimed?.state === "running") events = await eventsOf(id);
  for (const event of events) teller.tell(event);
}

async function runClaimed(
  request: AgentRequest,
  id: string,
  { tool: name, arguments: args, confirmed, locale }: Claimed & { state: "waiting" },
  ask: Ask,
): Promise<Ran> {
  const tool = toolByName.get(name);
  const asked = { name, arguments: args, confirmed };
  return audited(request, tool, asked, async () => {
    const call = check({ ...request, locale }, tool, asked);
    if (call instanceof ApiError) throw call;
    const results = await ask([beginCall(leaveFor(call)), ...call.tool.call(call.args, call.context)]);
    const answer = answerOf(call, results.slice(1));
    if (answer instanceof Promise) {
      // The transaction does not wait for it: who reads again before it is there runs the call again.
      const result = async () => {
        const events = eventsOfAnswer(await answer);
        await alone(finishStream(id, [started, ...events]));
        return events;
      };
      return { result, last: trail(request, call) };
    }
    const events = eventsOfAnswer(answer);
    // With what the call did: it is told as done where it was, and only there.
    return { result: () => events, last: [...trail(request, call), finishStream(id, [started, ...events])] };
  });
}

const started: Told = ["progress", { step: "started", percent: 0 }];
const eventsOfAnswer = (answer: object): Told[] => [
  ["progress", { step: "finished", percent: 100 }],
  ["result", answer],
  ["done", { success: true }],
];

const pollMs = 100;
const longestWaitMs = 20_000;

/** What another process tells of the call it runs, once it has. */
async function eventsOf(id: string): Promise<Told[]> {
  for (const deadline = Date.now() + longestWaitMs; Date.now() < deadline; await sleep(pollMs)) {
    const [row] = await alone(streamEvents(id));
    if (row?.data) return JSON.parse(row.data);
  }
  return [];
}
