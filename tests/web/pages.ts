import { readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { type HTMLElement, parse } from "node-html-parser";
import { expect } from "vitest";
import { joinTeam, type Membership } from "../api/world.ts";
import { cookieHeader, signUpOnTheWeb } from "../browsers/session.ts";
import { send } from "../http.ts";
import { stack } from "../stack.ts";
import { until } from "../until.ts";

interface PageAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  html: HTMLElement;
  text: string;
  /** The target of a redirect. */
  location: string | undefined;
}

/**
 * A browser without JavaScript: it keeps cookies, does not follow redirects, and posts the forms of a page.
 */
export interface Visitor {
  /** The signed-in user, else undefined. */
  userId?: string;
  get(path: string, headers?: Record<string, string>): Promise<PageAnswer>;
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<PageAnswer>;
  /** Posts fields with repeated names. */
  postRaw(path: string, body: string): Promise<PageAnswer>;
  /** Posts a form of a page with its own fields and the given ones. */
  submit(form: HTMLElement | null, fields?: Record<string, string>): Promise<PageAnswer>;
  cookie(name: string): string | undefined;
  /** The header with all cookies. */
  cookies(): string;
}

export type Person = Visitor & { userId: string };

const agent = new Agent({ keepAlive: true });

export function newVisitor(cookies: { name: string; value: string }[] = [], base = stack.site_url): Visitor {
  const jar = new Map(cookies.map(({ name, value }) => [name, value]));
  const cookieOf = (): Record<string, string> =>
    jar.size > 0 ? { cookie: cookieHeader([...jar].map(([name, value]) => ({ name, value }))) } : {};

  async function call(method: string, path: string, raw?: string, headers: Record<string, string> = {}) {
    const answer = await send(method, base + path, { agent, raw, headers: { ...cookieOf(), ...headers } });
    for (const line of [answer.headers["set-cookie"] ?? []].flat()) keep(jar, line);
    expect(answer.headers["content-security-policy"], path).toContain("default-src 'self'");
    // Only what anybody may find is kept by browsers, and asked for again.
    const cached = answer.headers["cache-control"];
    expect(cached, path).toMatch(/^(?:no-store(?:, no-transform)?|private, no-cache(?:, no-transform)?)$/);
    if (/no-cache/.test(String(cached)))
      expect([method, answer.status, answer.text.includes('id="account"')], path).toEqual(["GET", 200, false]);
    expect(answer.headers["x-request-id"], path).toMatch(/^[0-9a-f-]{36}$/);
    return {
      status: answer.status,
      headers: answer.headers,
      html: parse(answer.text),
      text: answer.text,
      location: answer.headers.location,
    };
  }

  const postRaw = (path: string, body: string, headers: Record<string, string> = {}) =>
    call("POST", path, body, { "content-type": "application/x-www-form-urlencoded", origin: base, ...headers });
  const post: Visitor["post"] = (path, fields = {}, headers = {}) =>
    postRaw(path, new URLSearchParams(fields).toString(), headers);
  return {
    get: (path, headers) => call("GET", path, undefined, headers),
    post,
    postRaw: (path, body) => postRaw(path, body),
    submit: (form, fields = {}) => post(form?.getAttribute("action") ?? "", { ...fieldsOf(form), ...fields }),
    cookie: (name) => jar.get(name),
    cookies: () => cookieOf().cookie ?? "",
  };
}

/** A new user who is signed in; a team member if a role is given. */
export async function signedIn(team?: Membership): Promise<Person> {
  const { cookies, userId } = await signUpOnTheWeb({ encoding: "base64url" });
  if (team) await joinTeam(userId, team.organization, team.role);
  return { ...newVisitor(cookies), userId };
}

/** The code and the link of the newest mail to an address. */
export async function mailTo(email: string): Promise<{ code: string; link: string }> {
  const { text } = await until(async () => {
    // The last line may still be written.
    const lines = (await readFile(stack.mailPath, "utf8")).split("\n").slice(0, -1);
    const mails = lines.map((line) => JSON.parse(line) as { to: string; text: string });
    return mails.findLast(({ to }) => to === email);
  });
  return { code: /\b\d{6}\b/.exec(text)?.[0] ?? "", link: /https?:\S+/.exec(text)?.[0] ?? "" };
}

function keep(jar: Map<string, string>, line: string) {
  const [pair = "", ...attributes] = line.split(";");
  const at = pair.indexOf("=");
  const [name, value] = [pair.slice(0, at), decodeURIComponent(pair.slice(at + 1))];
  if (attributes.some((attribute) => /^\s*max-age=0$/i.test(attribute))) jar.delete(name);
  else jar.set(name, value);
}

function fieldsOf(form: HTMLElement | null): Record<string, string> {
  return Object.fromEntries(
    (form?.querySelectorAll("input[name], textarea[name]") ?? []).map((field) => [
      field.getAttribute("name") ?? "",
      field.getAttribute("value") ?? field.textContent,
    ]),
  );
}
