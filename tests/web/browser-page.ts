import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { joinTeam, type Membership } from "../api/world.ts";
import { signUpOnTheWeb } from "../browsers/session.ts";
import { stack } from "../stack.ts";

/** A page of a new browser; collects errors and Content-Security-Policy violations in `complaints`. */
export async function openPage(
  browser: Browser,
  complaints: string[],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ baseURL: stack.site_url, locale: "en-US", ...options });
  const page = await context.newPage();
  page.on("console", (said) => said.type() === "error" && complaints.push(said.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  return page;
}

/** Signs in a new user, who joins the team if a membership is given; returns the user's id. */
export async function signIn(context: BrowserContext, team?: Membership): Promise<string> {
  const { cookies, userId } = await signUpOnTheWeb({ encoding: "base64url" });
  if (team) await joinTeam(userId, team.organization, team.role);
  await context.addCookies(
    cookies.map(({ name, value }) => ({ name, value: encodeURIComponent(value), url: stack.site_url })),
  );
  return userId;
}

/** A rejected form returns 422, which the console reports. */
export const unexpected = (complaints: string[]) => complaints.filter((text) => !/ 422 /.test(text));
