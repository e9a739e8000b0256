import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { SignJWT } from "jose";
import postgres from "postgres";
import { inject } from "vitest";
import WebSocket from "ws";
import { tokenIssuer } from "../local/lite/auth-config.ts";
import type { Stack } from "../local/stack.ts";
import type { Database } from "../shared/database.types.ts";
import { type HttpAnswer, send } from "./http.ts";
import { signUp as signUpWith } from "./sign-up.ts";
import { until } from "./until.ts";

/** The running stack: stack.json, and values that only its operator knows. */
export type TestStack = Omit<Stack, "stop">;

export const stack = inject("stack");

/** The database as role postgres, which owns our tables and bypasses row-level security. */
export const sql = postgres(stack.db_url, { max: 4, idle_timeout: 2, onnotice: () => undefined });

/**
 * Changes the schema of the shared database. A statement that waits for a table lock blocks all later ones on that
 * table, so it waits for less time than requests do, and is retried.
 */
export async function alterSchema(statements: string, by: postgres.Sql = sql): Promise<void> {
  await until(() =>
    by
      .begin(async (transaction) => {
        await transaction`set local lock_timeout = '50ms'`;
        await transaction.unsafe(statements);
      })
      .then(
        () => true,
        (error) => {
          if (error.code !== "55P03") throw error;
          return false;
        },
      ),
  );
}

export interface User {
  id: string;
  email: string;
  token: string;
}

/** Options of a gateway without auth and data API. */
export const withoutData = {
  keys: {
    publishableKey: stack.publishable_key,
    secretKey: stack.secret_key,
    jwtSecret: stack.jwtSecret,
    issuer: tokenIssuer,
  },
  authPort: () => null,
  dataApi: () => null,
};

const authOf = (against: TestStack) => ({ url: against.supabase_url, publishableKey: against.publishable_key });

/** Signs up a new user. */
export async function signUp(name = "Test Person", against: TestStack = stack): Promise<User> {
  const email = `${randomUUID()}@test.example`;
  const session = await signUpWith(authOf(against), { email, password: randomUUID(), name });
  return { id: session.user.id, email, token: session.access_token };
}

/** Inserts users directly, which is faster than signing up. */
export async function manyUsers(count: number, against = sql, secret = stack.jwtSecret): Promise<User[]> {
  const people = Array.from({ length: count }, () => ({
    id: randomUUID(),
    email: `${randomUUID()}@test.example`,
    email_confirmed_at: new Date(),
  }));
  await against`insert into auth.users ${against(people.map((person) => ({ ...person, aud: "authenticated", role: "authenticated" })))}`;
  return Promise.all(
    people.map(async (person) => ({
      ...person,
      token: await accessToken({ sub: person.id, email: person.email }, 3600, secret),
    })),
  );
}

/**
 * Signs an access token as the auth service does, with other claims and without a session id; `expiresIn` is in
 * seconds.
 */
export function accessToken(
  claims: Record<string, unknown>,
  expiresIn = 3600,
  secret = stack.jwtSecret,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ iss: tokenIssuer, aud: "authenticated", role: "authenticated", ...claims })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt(now)
    .setExpirationTime(now + expiresIn)
    .sign(new TextEncoder().encode(secret));
}

export interface Call {
  method?: string;
  /** A user's access token or an API key, sent as Bearer. */
  token?: string;
  /** An object is sent as JSON, text unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Defaults to the functions' listener. */
  base?: string;
}

export type Answer<Body> = Omit<HttpAnswer, "body"> & { body: Body };

const agent = new Agent({ keepAlive: true });

/** Calls the API; `path` begins with /api. */
export async function api<Body = Record<string, unknown>>(path: string, call: Call = {}): Promise<Answer<Body>> {
  const { token, body, headers, base = stack.base_url, method = body === undefined ? "GET" : "POST" } = call;
  const payload =
    typeof body === "string"
      ? { raw: body, headers: { "content-type": "application/json", ...headers } }
      : { body, headers };
  return (await send(method, base + path, { agent, token, ...payload })) as Answer<Body>;
}

/** Postgres cancels a write that takes more than 2 s, as on a busy machine, and rolls it back: it is sent again, twice at most. */
const repeatCanceled: typeof fetch = async (input, init) => {
  for (let repeats = 2; ; repeats--) {
    const answer = await fetch(input, init);
    const isCanceled = answer.status === 500 && (await answer.clone().text()).includes('"57014"');
    if (!isCanceled || repeats === 0) return answer;
  }
};

/** A client like that of a web app: with the publishable key, and the session of a user if given. */
export function supabase(user?: User, key = stack.publishable_key): SupabaseClient<Database> {
  return createClient<Database>(stack.supabase_url, key, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    realtime: { transport: WebSocket as never },
    global: { fetch: repeatCanceled },
    ...(user === undefined ? {} : { accessToken: async () => user.token }),
  });
}
