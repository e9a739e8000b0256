import { randomUUID } from "node:crypto";
import type { RealtimeChannel, SupabaseClient } from "@supabase/supabase-js";
import { createClient } from "@supabase/supabase-js";
import WebSocket from "ws";
import { manyUsers, sql, stack, type TestStack, type User } from "../stack.ts";
import { until } from "../until.ts";

/** A change in the form that tests compare. */
export interface ReceivedChange {
  eventType: string;
  table: string;
  new: Record<string, unknown>;
  old: Record<string, unknown>;
  errors: string[] | null;
  commit_timestamp: string;
}

const clients = new Set<SupabaseClient>();

/** A client with its own socket; `vsn` selects the serializer. */
export function client(user?: User, options: { vsn?: string; key?: string; against?: TestStack } = {}): SupabaseClient {
  const against = options.against ?? stack;
  const client = createClient(against.supabase_url, options.key ?? against.publishable_key, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    realtime: { transport: WebSocket as never, ...(options.vsn ? { vsn: options.vsn } : {}) },
    ...(user ? { accessToken: async () => user.token } : {}),
  });
  clients.add(client);
  return client;
}

/** For afterEach: no socket outlives its test. */
export async function hangUp(): Promise<void> {
  await Promise.all([...clients].map((client) => client.realtime.disconnect()));
  clients.clear();
}

/** Resolves after the server has confirmed that the channel receives changes. */
export function subscribed(channel: RealtimeChannel): Promise<RealtimeChannel> {
  return new Promise((resolve, reject) => {
    channel.on("system", {}, (message: { status: string; message: string; extension: string }) => {
      if (message.status === "error") reject(new Error(message.message));
      else resolve(channel);
    });
    channel.subscribe((status, error) => {
      if (status === "CHANNEL_ERROR" || status === "TIMED_OUT") reject(error ?? new Error(status));
    });
  });
}

/** Resolves once joined, for channels without changes. */
export function joined(channel: RealtimeChannel): Promise<RealtimeChannel> {
  return new Promise((resolve, reject) => {
    channel.subscribe((status, error) => {
      if (status === "SUBSCRIBED") resolve(channel);
      else if (status !== "CLOSED") reject(error ?? new Error(status));
    });
  });
}

export interface Asked {
  event?: "*" | "INSERT" | "UPDATE" | "DELETE";
  schema?: string;
  table?: string;
  filter?: string;
  select?: string[];
}

/** Subscribes to changes on a channel and collects them. */
export async function listen(
  by: SupabaseClient,
  asked: Asked,
  name = `test:${randomUUID()}`,
): Promise<ReceivedChange[]> {
  const received: ReceivedChange[] = [];
  const channel = by
    .channel(name)
    .on("postgres_changes", { event: "*", schema: "public", ...asked } as never, (change: unknown) =>
      received.push(change as ReceivedChange),
    );
  await by.realtime.setAuth();
  await subscribed(channel);
  return received;
}

/** When a change made now has arrived, all earlier ones have too. */
export async function settled(against = sql): Promise<void> {
  const listener = client();
  const { id, submission } = await marker(against);
  const received = await listen(listener, { table: "votes", filter: `submission_id=eq.${submission}` });
  await against`delete from votes where id = ${id}`;
  await until(() => received.length > 0);
  await listener.realtime.disconnect();
}

async function marker(against: typeof sql): Promise<{ id: string; submission: string }> {
  const submission = await newSubmission(undefined, against);
  const [vote] = await against<{ id: string }[]>`select id from votes where submission_id = ${submission}`;
  return { id: vote?.id ?? "", submission };
}

/** A public submission by a new user (or the given one). */
export async function newSubmission(author?: User, against = sql, organization?: string): Promise<string> {
  const [person] = author ? [author] : await manyUsers(1, against);
  const [row] = await against<{ id: string }[]>`
    insert into submissions (organization_id, author_id, title, description, type)
    values (${organization ?? against`(select id from organizations where visibility = 'public' order by created_at, id limit 1)`},
      ${person?.id ?? ""}, 'A submission of a test', 'A description that is long enough.', 'idea') returning id`;
  return row?.id ?? "";
}

export async function vote(submission: string, user: User, against = sql): Promise<string> {
  const [row] = await against<{ id: string }[]>`
    insert into votes (submission_id, user_id) values (${submission}, ${user.id}) returning id`;
  return row?.id ?? "";
}

export async function comment(submission: string, user: User, body: string, against = sql): Promise<string> {
  const [row] = await against<{ id: string }[]>`
    insert into comments (submission_id, author_id, body) values (${submission}, ${user.id}, ${body}) returning id`;
  return row?.id ?? "";
}
