import type { BrowserContext } from "playwright-core";
import type { Demo } from "../../local/operator/seed.ts";
import type { Stack } from "../../local/stack.ts";

export type DemoUser = keyof Demo["users"];

/** Signs a browser in as a demo user, with the form. */
export async function signInAs(
  context: BrowserContext,
  { site_url, demo }: Pick<Stack, "site_url" | "demo">,
  user: DemoUser,
): Promise<void> {
  if (!demo) throw new Error("There is no demo data.");
  const form = await context.request.post(`${site_url}/sign-in`, {
    headers: { origin: new URL(site_url).origin },
    form: { email: demo.users[user], password: demo.password, return_to: "/" },
  });
  if (!form.ok()) throw new Error(`The sign-in answered ${form.status()}.`);
}
