import { StartError } from "../processes/start-error.ts";

export interface Person {
  email: string;
  password: string;
  name?: string;
}

/** Creates an account with a confirmed address, by the secret key; returns its id, or undefined if there is one already. */
export async function createAccount(
  auth: { url: string; secretKey: string },
  { email, password, name }: Person,
): Promise<string | undefined> {
  const response = await fetch(new URL("/auth/v1/admin/users", auth.url), {
    method: "POST",
    headers: { apikey: auth.secretKey, authorization: `Bearer ${auth.secretKey}`, "content-type": "application/json" },
    body: JSON.stringify({ email, password, email_confirm: true, ...(name && { user_metadata: { name } }) }),
  });
  const text = await response.text();
  if (response.ok) return (JSON.parse(text) as { id: string }).id;
  if (text.includes("email_exists")) return undefined;
  throw new StartError(`the auth service did not create ${email}: ${response.status} ${text.slice(0, 200)}`);
}
