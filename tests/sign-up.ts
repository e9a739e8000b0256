import type { Person } from "../local/operator/create-account.ts";

export interface AuthClient {
  url: string;
  publishableKey: string;
}

interface Session {
  access_token: string;
  user: { id: string; email: string };
}

/** Signs up, or in with the same password. */
export async function signUp(auth: AuthClient, person: Person): Promise<Session> {
  const { email, password, name } = person;
  const session = await post(auth, "/auth/v1/signup", { email, password, data: name === undefined ? {} : { name } });
  if (session.ok) return session.session;
  const known = await post(auth, "/auth/v1/token?grant_type=password", { email, password });
  if (known.ok) return known.session;
  throw new Error(`${email} could not sign up: ${session.problem}`);
}

type Answer = { ok: true; session: Session } | { ok: false; problem: string };

async function post(auth: AuthClient, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${auth.url}${path}`, {
    method: "POST",
    headers: { apikey: auth.publishableKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return response.ok ? { ok: true, session: JSON.parse(text) as Session } : { ok: false, problem: text };
}
