import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "hono";
import { isUuid } from "../../shared/fields.ts";
import type { Locale } from "../../shared/locales.ts";
import {
  type ExecuteInTransaction,
  type Results,
  run,
  runInSteps,
  runStatement,
  type Statement,
} from "../_shared/database/run.ts";
import { ApiError, notFound } from "../_shared/http/api-error.ts";
import {
  claimStream,
  finishStream,
  openStream as keepStream,
  streamEvents,
} from "../_shared/statements/agent-streams.ts";
import { authorizeToolCall } from "../_shared/statements/tool-calls.ts";
import { type AgentRequest, agentAdmission, agentRequest, callerOf, storeVerdict } from "./agent-request.ts";
import {
  accessTo,
  auditStatements,
  authorizationOf,
  check,
  outputOf,
  type RequestedCall,
  type ToolCall,
  withAudit,
} from "./call.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { EventStream, encodeEvent } from "./event-stream.ts";
import { type RpcError, toRpcError } from "./json-rpc.ts";
import { toolByName } from "./registry.ts";
import { baseUrlOf, sendEvents, sendStreamError } from "./stream-responses.ts";

const route = "/mcp/stream/:id";

// Limit of streams that run a call or wait for one; each ends within half a minute.
const limit = new ConcurrencyLimit(20, 500);

/** A sentence that was parsed to the call, or that was refused. */
type Sentence = { refusal: RpcError | undefined };

/** Stores a call for its stream if the agent may use the tool. The stream reports wrong arguments. */
export async function openStream(
  request: AgentRequest,
  requested: RequestedCall,
  sentence?: Sentence,
): Promise<object> {
  const { name, arguments: args, confirmed } = requested;
  const tool = toolByName.get(name);
  const id = crypto.randomUUID();
  const refusal = sentence?.refusal;
  const events = refusal ? [started, ...eventsOfError(refusal)] : null;
  const stored = { id, tool: name, arguments: args, confirmed, locale: request.locale };
  const keep = keepStream({ ...stored, isSentence: sentence !== undefined, events });
  const statements = tool ? [authorizeToolCall(accessTo(tool)), keep] : refusal ? [keep] : [];
  try {
    await run(agentAdmission(request, tool?.operation), statements, storeVerdict(request));
    if (statements.length === 0) throw notFound("tool");
  } catch (error) {
    return withAudit(request, tool, requested, () => Promise.reject(error));
  }
  return { request_id: id, stream_url: `${baseUrlOf(request.c)}/api/mcp/stream/${id}` };
}

type StreamMessage = [event: "progress" | "result" | "done", data: object];
type Claimed = {
  state: "finished" | "running" | "waiting";
  tool: string;
  arguments: unknown;
  confirmed: boolean;
  locale: Locale;
  is_sentence: boolean;
  /** Of a finished call. */
  events: StreamMessage[] | null;
};

/** Task to run after the transaction. */
type Ran = { result: () => StreamMessage[] | Promise<StreamMessage[]>; last: readonly Statement[] };

/** GET /api/mcp/stream/:id: runs the pending call, or replays its events. */
export async function serveStream(c: Context): Promise<Response> {
  const request = agentRequest(c);
  const id = c.req.param("id") ?? "";
  try {
    const stream = new EventStream(limit.acquire(callerOf(request)));
    const writer = new Writer(stream, Number(c.req.header("Last-Event-ID")) || 0);
    await new Promise<void>((resolve, reject) => {
      // Continues if its reader disconnects: a later reader gets the result.
      runOrRepeat(request, id, writer, resolve)
        .catch(reject)
        .finally(() => stream.close());
    });
    return sendEvents(request, route, stream);
  } catch (error) {
    return sendStreamError(request, route, error);
  }
}

/** Numbers events from 1 and skips those the reader has received. */
class Writer {
  private count = 0;
  constructor(
    private readonly stream: EventStream,
    private readonly lastEventId: number,
  ) {}

  write([event, data]: StreamMessage): void {
    this.count++;
    if (this.count > this.lastEventId) this.stream.write(encodeEvent({ id: String(this.count), event, data }));
  }
}

/** Calls `admitted` when the agent may call the tool with this key; earlier errors belong to the request. */
async function runOrRepeat(request: AgentRequest, id: string, writer: Writer, admitted: () => void): Promise<void> {
  const known = isUuid(id) ? [claimStream(id)] : [];
  let claimed: Claimed | undefined;
  let isRunning = false;
  let events: StreamMessage[];
  try {
    const work = async ([rows]: Results<typeof known>, execute: ExecuteInTransaction): Promise<Ran> => {
      claimed = JSON.parse(rows?.[0]?.data ?? "null") ?? undefined;
      if (!claimed) throw notFound("stream");
      const { tool: name, arguments: args, confirmed, locale, state, is_sentence } = claimed;
      const events = claimed.events ?? [];
      const tool = toolByName.get(name);
      const requested = { name, arguments: args, confirmed };
      const authorize = async () => {
        // A sentence that was not understood has no tool.
        if (tool) await execute([authorizeToolCall(accessTo(tool))]);
        admitted();
      };
      if (state !== "waiting") return authorize().then(() => ({ result: () => events, last: [] }));
      return withAudit(request, tool, requested, async () => {
        await authorize();
        isRunning = true;
        writer.write(started);
        const call = check({ ...request, locale }, tool, requested);
        if (call instanceof ApiError) throw call;
        const shape = (answer: object) =>
          is_sentence ? { parsed_tool: name, parsed_params: args, execution_result: answer } : answer;
        return await runClaimed(request, id, call, execute, shape);
      });
    };
    const admission = { ...agentAdmission(request), chargeFirst: true };
    const rest = await runInSteps(admission, known, storeVerdict(request), work);
    events = await rest();
  } catch (error) {
    if (!isRunning) throw error;
    const refusal = toRpcError(error, request.id);
    events = eventsOfError(refusal);
    // After an internal error the call can be retried by reading the stream again.
    if (refusal.code !== -32603) await runStatement(finishStream(id, [started, ...events])).catch(() => {});
  }
  if (claimed?.state === "running") events = await eventsOf(id);
  for (const event of events) writer.write(event);
}

async function runClaimed(
  request: AgentRequest,
  id: string,
  call: ToolCall,
  execute: ExecuteInTransaction,
  shape: (answer: object) => object,
): Promise<Ran> {
  const statements = [authorizeToolCall(authorizationOf(call)), ...call.tool.call(call.args, call.context)];
  const answer = outputOf(call, (await execute(statements)).slice(1));
  if (answer instanceof Promise) {
    // Outside of the transaction: a reader that connects before it is stored runs the call again.
    const result = async () => {
      const events = eventsOfAnswer(shape(await answer));
      await runStatement(finishStream(id, [started, ...events]));
      return events;
    };
    return { result, last: auditStatements(request, call) };
  }
  const events = eventsOfAnswer(shape(answer));
  // In the transaction of the call: the result is stored if and only if the call committed.
  return { result: () => events, last: [...auditStatements(request, call), finishStream(id, [started, ...events])] };
}

const started: StreamMessage = ["progress", { step: "started", percent: 0 }];
const eventsOfAnswer = (answer: object): StreamMessage[] => [
  ["progress", { step: "finished", percent: 100 }],
  ["result", answer],
  ["done", { success: true }],
];

const eventsOfError = ({ code, message, data }: RpcError): StreamMessage[] => [
  ["result", { error: { code, message, data } }],
  ["done", { success: false }],
];

const pollMs = 100;
const maxWaitMs = 20_000;

/** Waits for the events of a call that another process runs. */
async function eventsOf(id: string): Promise<StreamMessage[]> {
  for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; await sleep(pollMs)) {
    const [row] = await runStatement(streamEvents(id));
    if (row?.data) return JSON.parse(row.data);
  }
  return [];
}
