import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { launchBrowser } from "./browser.ts";
import { signUpOnTheWeb, type WebSession } from "./session.ts";

// A real browser decides what it sends and what a page may read.

let browser: Browser;
let site: Server;
let attackerServer: Server;
let organization: Organization;
let submissionId: string;
let context: BrowserContext;
let session: WebSession;

beforeAll(async () => {
  browser = await launchBrowser();
  [site, attackerServer] = [await servePages(), await servePages()];
  organization = await newOrganization();
  const origins = [`http://127.0.0.1:${portOf(site)}`, `http://localhost:${portOf(site)}`];
  await sql`update public.organizations set allowed_origins = ${origins} where id = ${organization.id}`;
  submissionId = await newSubmission(organization, await newUser());
});

afterAll(async () => {
  await browser?.close();
  for (const server of [site, attackerServer]) {
    server?.close();
    server?.closeAllConnections();
  }
});

beforeEach(async () => {
  session = await signUpOnTheWeb({ encoding: "base64url", metadata: 500 });
  await context?.close();
  context = await browser.newContext();
  // The web app's server sets the cookies like this: for the host with any port.
  await context.addCookies(
    session.cookies.map(({ name, value }) => ({
      name,
      value,
      domain: "127.0.0.1",
      path: "/",
      sameSite: "Lax" as const,
      httpOnly: false,
    })),
  );
});

async function servePages(): Promise<Server> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<!doctype html><title>A page</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function pageAt(url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

type ReceivedMessage =
  | { status: number; type: string; limit: string | null; requestId: string | null; text: string }
  | { blocked: string };

/** The result of a page's own fetch; the browser may block it. */
function request(page: Page, path: string, init: RequestInit = {}, base = stack.base_url): Promise<ReceivedMessage> {
  return page.evaluate(
    async ([url, options]) => {
      try {
        const response = await fetch(url, options);
        const header = (name: string) => response.headers.get(name);
        return {
          status: response.status,
          type: response.type,
          limit: header("X-RateLimit-Limit"),
          requestId: header("X-Request-Id"),
          text: await response.text(),
        };
      } catch (error) {
        return { blocked: String(error) };
      }
    },
    [base + path, init] as const,
  );
}

const votePath = () => `/api/submissions/${submissionId}/vote`;
const withCookie: RequestInit = { credentials: "include" };
const json = { "content-type": "application/json" };
const blocked = { blocked: expect.stringContaining("Failed to fetch") };
const bearer = () => ({ authorization: `Bearer ${session.token}` });

async function hasVoted(): Promise<boolean> {
  return (
    (await sql`select from public.votes where submission_id = ${submissionId} and user_id = ${session.userId}`)
      .length === 1
  );
}

describe.each(["base_url", "supabase_url"] as const)("at %s", (base) => {
  const at = (page: Page, path: string, init?: RequestInit) => request(page, path, init, stack[base]);

  describe("a page of an allowed origin", () => {
    let page: Page;
    beforeEach(async () => {
      page = await pageAt(`http://127.0.0.1:${portOf(site)}/`);
    });

    test("reads and writes as the user of the cookie, and sees the limits", async () => {
      const read = await at(page, `/api/submissions/${submissionId}`, withCookie);
      expect(read).toMatchObject({
        status: 200,
        type: "cors",
        limit: expect.stringMatching(/^\d+$/),
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(await at(page, votePath(), { ...withCookie, method: "POST", headers: json, body: "{}" })).toMatchObject({
        status: 201,
      });
      expect(await hasVoted()).toBe(true);
      expect(await at(page, votePath(), { ...withCookie, method: "DELETE" })).toMatchObject({ status: 200 });
      expect(await hasVoted()).toBe(false);
    });

    test("is anonymous when it does not send the cookie", async () => {
      const headers = { ...json };
      expect(await at(page, votePath(), { method: "POST", headers, body: "{}" })).toMatchObject({ status: 401 });
      expect(await hasVoted()).toBe(false);
    });

    test("works with a Bearer token, without a cookie", async () => {
      await context.clearCookies();
      expect(
        await at(page, votePath(), { method: "POST", headers: { ...json, ...bearer() }, body: "{}" }),
      ).toMatchObject({ status: 201 });
    });

    test("may send every header that the service reads", async () => {
      const headers = {
        ...json,
        ...bearer(),
        "x-organization": organization.slug,
        "accept-language": "de",
        "idempotency-key": "k",
        apikey: stack.publishable_key,
        "x-client-info": "supabase-js-web/2",
      };
      expect(await at(page, votePath(), { method: "POST", headers, body: "{}" })).toMatchObject({ status: 201 });
    });

    test("has no access to an organization that did not allow it", async () => {
      const other = await newOrganization();
      const foreign = await newSubmission(other, await newUser());
      expect(await at(page, `/api/submissions/${foreign}`, withCookie)).toEqual(blocked);
      expect(
        await at(page, `/api/submissions/${foreign}/vote`, {
          ...withCookie,
          method: "POST",
          headers: json,
          body: "{}",
        }),
      ).toEqual(blocked);
      expect(
        await sql`select from public.votes where submission_id = ${foreign} and user_id = ${session.userId}`,
      ).toHaveLength(0);
    });
  });

  describe("a page of a forbidden origin on the same host, to which the browser sends the cookie", () => {
    let page: Page;
    beforeEach(async () => {
      page = await pageAt(`http://127.0.0.1:${portOf(attackerServer)}/`);
    });

    test("reads nothing, with the cookie or with a stolen Bearer token", async () => {
      expect(await at(page, "/api/me/votes", withCookie)).toEqual(blocked);
      expect(await at(page, `/api/submissions/${submissionId}`, withCookie)).toEqual(blocked);
      expect(await at(page, `/api/submissions/${submissionId}`)).toEqual(blocked);
      expect(await at(page, "/api/me/votes", { headers: bearer() })).toEqual(blocked);
      expect(await at(page, "/api/openapi.json", withCookie)).toEqual(blocked);
    });

    test.each<[string, RequestInit]>([
      ["a request the browser asks about first", { method: "POST", headers: json, body: "{}" }],
      ["a DELETE", { method: "DELETE" }],
      ["one without a body", { method: "POST" }],
      ["one of plain text", { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" }],
      ["one whose answer it does not want", { method: "POST", mode: "no-cors" }],
      ["one that hides where it comes from", { method: "POST", referrerPolicy: "no-referrer" }],
    ])("writes nothing by %s", async (_what, init) => {
      await at(page, votePath(), { ...withCookie, ...init });
      expect(await hasVoted()).toBe(false);
    });

    test("writes nothing by a form, an image, a beacon or a frame without an origin", async () => {
      await page.evaluate(async (url) => {
        new Image().src = url;
        navigator.sendBeacon(url, "{}");
        const frame = document.createElement("iframe");
        frame.setAttribute("sandbox", "allow-scripts");
        frame.srcdoc = `<script>fetch(${JSON.stringify(url)}, {method: "POST", credentials: "include", mode: "no-cors"})</script>`;
        document.body.append(frame);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const form = Object.assign(document.createElement("form"), {
          action: url,
          method: "post",
          enctype: "text/plain",
        });
        document.body.append(form);
        form.submit();
      }, stack[base] + votePath());
      await page.waitForURL(/vote$/);
      expect(await page.textContent("body")).toContain("FORBIDDEN");
      expect(await hasVoted()).toBe(false);
    });
  });

  describe("a page of an allowed origin on another site", () => {
    test("is not sent the SameSite=Lax cookie, and works with a Bearer token", async () => {
      const page = await pageAt(`http://localhost:${portOf(site)}/`);
      expect(await at(page, votePath(), { ...withCookie, method: "POST", headers: json, body: "{}" })).toMatchObject({
        status: 401,
      });
      expect(
        await at(page, votePath(), { method: "POST", headers: { ...json, ...bearer() }, body: "{}" }),
      ).toMatchObject({ status: 201 });
    });

    test("that is not allowed has neither", async () => {
      const page = await pageAt(`http://localhost:${portOf(attackerServer)}/`);
      expect(await at(page, "/api/me/votes", { headers: bearer() })).toEqual(blocked);
      expect(await at(page, votePath(), { ...withCookie, method: "POST" })).toEqual(blocked);
      expect(await hasVoted()).toBe(false);
    });
  });

  test("a page of the service's own origin reads and writes by cookie", async () => {
    const page = await pageAt(`${stack[base]}/api/health`);
    expect(await at(page, "/api/me/votes", withCookie)).toMatchObject({ status: 200, type: "basic" });
    expect(await at(page, votePath(), { method: "POST", headers: json, body: "{}" })).toMatchObject({ status: 201 });
    expect(await hasVoted()).toBe(true);
  });

  test("the documentation runs no script, not in a frame either", async () => {
    const page = await pageAt(`${stack[base]}/api/docs`);
    const consoleMessages: string[] = [];
    page.on("console", (message) => consoleMessages.push(message.text()));
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
    });
    expect(await page.evaluate(() => "ran" in window)).toBe(false);
    expect(consoleMessages.join()).toMatch(/Content Security Policy/);
  });
});
