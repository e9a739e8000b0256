import { randomUUID } from "node:crypto";
import type { SupabaseClient } from "@supabase/supabase-js";
import { expect } from "vitest";
import { stack, supabase } from "../stack.ts";

/** A client as a web app creates it; only the URL and the key are the service's. */
export const client = (key?: string) => supabase(undefined, key) as SupabaseClient;

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
  const options = { data: { name } };
  const { data, error } = await app.auth.signUp({ email, password: randomUUID(), options });
  if (error || !data.session || !data.user) throw error ?? new Error("signed up without a session");
  return { id: data.user.id, email, token: data.session.access_token, app };
}

/** The owner of the demo organization, who signs in with the password. */
export async function demoOwner(): Promise<Person> {
  const { demo } = stack;
  if (!demo) throw new Error("this stack has no demo data");
  const app = client();
  const email = demo.users.owner;
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

/** A new submission by the user, created through the data API: its id. */
export const submit = async (by: Person): Promise<string> => done(await by.app.rpc("create_submission", idea()));

type Outcome<Data> = { data: Data; error: unknown; status: number };

/** The data of a request that must succeed. */
export function done<Data>({ data, error }: Outcome<Data>): NonNullable<Data> {
  if (error) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data as NonNullable<Data>;
}

export function expectCode(outcome: Outcome<unknown>, code: string) {
  expect((outcome.error as { code?: string } | null)?.code).toBe(code);
}
