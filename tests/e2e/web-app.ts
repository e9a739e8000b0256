import { randomUUID } from "node:crypto";
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { expect } from "vitest";
import WebSocket from "ws";
import { api, stack } from "../stack.ts";

/** A client as a web app creates it; only the URL and the key are the service's. */
export function client(key = stack.publishable_key): SupabaseClient {
  return createClient(stack.supabase_url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    // Node 20 has no built-in WebSocket.
    realtime: { transport: WebSocket as never },
  });
}

export interface Person {
  id: string;
  email: string;
  token: string;
  app: SupabaseClient;
}

/** A user who signs up in the app. */
export async function newcomer(name = "Nora Newcomer"): Promise<Person> {
  const app = client();
  const email = `${randomUUID()}@app.example`;
  const { data, error } = await app.auth.signUp({
    email,
    password: randomUUID(),
    options: { data: { name } },
  });
  if (error || !data.session || !data.user) throw error ?? new Error("signed up without a session");
  return { id: data.user.id, email, token: data.session.access_token, app };
}

/** A demo user, who signs in with the password. */
export async function demoUser(who: "owner" | "member" | "alice" | "bob"): Promise<Person> {
  const { demo } = stack;
  if (!demo) throw new Error("this stack has no demo data");
  const app = client();
  const email = demo.users[who];
  const { data, error } = await app.auth.signInWithPassword({ email, password: demo.password });
  if (error) throw error;
  return { id: data.user.id, email, token: data.session.access_token, app };
}

let written = 0;

export function idea() {
  const n = ++written;
  return {
    title: `An idea of the app ${n} ${randomUUID().slice(0, 8)}`,
    description: `What the app would like to have, number ${n}.`,
    type: "idea",
  };
}

/** A new submission by the user, created through the data API. */
export async function submit(by: Person): Promise<{ id: string; vote_count: number; comment_count: number }> {
  const id = done(await by.app.rpc("create_submission", idea()));
  return done(await by.app.from("submissions").select("id,vote_count,comment_count").eq("id", id).single());
}

/** A new comment by the user, created through the data API. */
export async function say(
  by: Person,
  submission_id: string,
  parent_id: string | null = null,
  body = "Well said.",
) {
  const id = done(await by.app.rpc("create_comment", { submission_id, parent_id, body }));
  return done(await by.app.from("comments").select("*").eq("id", id).single()) as {
    id: string;
    body: string;
    is_official: boolean;
    author_id: string;
  };
}

type Outcome<Data> = { data: Data; error: unknown; status: number };

/** The data of a request that must succeed. */
export function done<Data>({ data, error }: Outcome<Data>): NonNullable<Data> {
  if (error) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data as NonNullable<Data>;
}

/** A rejection: SQLSTATE as the code, a message for people, and details as JSON. */
export function expectError(
  outcome: Outcome<unknown>,
  sqlstate: string,
  details: Record<string, unknown> = {},
) {
  expect(outcome.error).toMatchObject({ code: sqlstate, message: expect.stringMatching(/\w/) });
  const { details: text } = outcome.error as { details: string };
  expect(JSON.parse(text)).toMatchObject(details);
}

export function expectCode(outcome: Outcome<unknown>, code: string) {
  expect((outcome.error as { code?: string } | null)?.code).toBe(code);
}

/** Counters of a submission as the API returns them. */
export async function counts(id: string) {
  const { body } = await api<{ data: { vote_count: number; comment_count: number } }>(
    `/api/submissions/${id}`,
  );
  const { vote_count, comment_count } = body.data;
  return { vote_count, comment_count };
}
