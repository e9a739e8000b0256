import { StartError } from "./start-error.ts";

/** Auth URL and key; `fetch` lets the launcher bypass the network. */
export interface AuthClient {
  url: string;
  publishableKey: string;
  fetch: (request: Request) => Promise<Response>;
}

export interface Person {
  email: string;
  password: string;
  name?: string;
}

export interface Session {
  access_token: string;
  user: { id: string; email: string };
}

/** Creates an account with a confirmed address, by the secret key; false if there is one already. */
export async function createAccount(
  auth: Omit<AuthClient, "publishableKey"> & { publishableKey?: string | undefined; secretKey: string },
  person: Person,
): Promise<boolean> {
  const { url, publishableKey, secretKey: key } = auth;
  const { email, password, name } = person;
  const response = await auth.fetch(
    new Request(new URL("/auth/v1/admin/users", url), {
      method: "POST",
      headers: { apikey: key, authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        email,
        password,
        email_confirm: true,
        ...(name && { user_metadata: { name } }),
      }),
    }),
  );
  if (response.ok) return true;
  const problem = await response.text();
  // The library has no such call.
  if (response.status === 404 && publishableKey)
    return signUp({ ...auth, publishableKey }, person).then(() => true);
  if (problem.includes("email_exists")) return false;
  throw new StartError(
    `the auth service did not create ${email}: ${response.status} ${problem.slice(0, 200)}`,
  );
}

/** Creates a user, or signs in one that an earlier attempt created with the same password. */
export async function signUp(auth: AuthClient, person: Person): Promise<Session> {
  const { email, password, name } = person;
  const session = await post(auth, "/auth/v1/signup", {
    email,
    password,
    data: name === undefined ? {} : { name },
  });
  if (session.ok) return session.session;
  const known = await post(auth, "/auth/v1/token?grant_type=password", { email, password });
  if (known.ok) return known.session;
  throw new Error(`${email} could not sign up: ${session.problem}`);
}

type Answer = { ok: true; session: Session } | { ok: false; problem: string };

async function post(auth: AuthClient, path: string, body: object): Promise<Answer> {
  const response = await auth.fetch(
    new Request(`${auth.url}${path}`, {
      method: "POST",
      headers: { apikey: auth.publishableKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  const text = await response.text();
  return response.ok ? { ok: true, session: JSON.parse(text) as Session } : { ok: false, problem: text };
}
