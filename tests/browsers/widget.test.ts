import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContext, FrameLocator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";
import { claimsOf, newSecret, signed } from "../api/identified.ts";
import { newSurvey } from "../api/survey-world.ts";
import { newOrganization, newSubmission, newUser, type Organization, type User } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { launchBrowser } from "./browser.ts";
import { type Host, startHost, strictPolicy } from "./host.ts";

// The widget in pages of another site, in a real browser that refuses third-party cookies.

const service = new URL(stack.site_url).origin;
const stub = `
window.feedback = function () { (feedback.q = feedback.q || []).push(arguments); };
window.heard = [];
for (const name of ["ready", "open", "close", "identify", "unread", "logout", "error", "done", "survey"])
  feedback("on", name, (detail) => heard.push([name, detail]));
`;

let browser: Browser;
let organization: Organization;
let owner: User;
let secret: string;
let submissions: string[];
let context: BrowserContext | undefined;
const hosts: Host[] = [];

async function host(options: Partial<Parameters<typeof startHost>[0]> = {}) {
  const started = await startHost({
    service,
    script: () => `${stub}feedback("init", { organization: "${organization.slug}" });`,
    ...options,
  });
  hosts.push(started);
  return started;
}

const allow = (...origins: string[]) =>
  sql`update public.organizations set allowed_origins = allowed_origins || ${origins} where id = ${organization.id}`;

beforeAll(async () => {
  browser = await launchBrowser();
  organization = await newOrganization();
  await sql`update public.organizations set brand_color = '#0b7a75' where id = ${organization.id}`;
  owner = await newUser("Olga", { organization, role: "owner" });
  secret = (await newSecret(organization, owner)).secret;
  const author = await newUser();
  submissions = [];
  for (const title of ["Export as a calendar", "A dark theme for night shifts", "Faster search"])
    submissions.push(await newSubmission(organization, author, { title }));
});

afterAll(async () => {
  await browser?.close();
  for (const started of hosts) started.close();
});

afterEach(() => context?.close());

/** A page of a host, and the messages in its console. */
async function visit(
  origin: string,
  { setsClock = false, ...options }: Parameters<Browser["newContext"]>[0] & { setsClock?: boolean } = {},
) {
  context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  if (setsClock) await page.clock.install();
  await blockThirdPartyCookies(context, page);
  const said: string[] = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(origin);
  return { page, said, frame: page.frameLocator("feedback-widget iframe") };
}

async function blockThirdPartyCookies(of: BrowserContext, page: Page) {
  const session = await of.newCDPSession(page);
  await session.send("Network.enable");
  await session.send(
    "Network.setCookieControls" as never,
    {
      enableThirdPartyCookieRestriction: true,
      disableThirdPartyCookieMetadata: true,
      disableThirdPartyCookieHeuristics: true,
    } as never,
  );
}

type Heard = [name: string, detail?: unknown][];
type Global = { feedback: (...command: string[]) => void };
const tellWidget = (page: Page, ...command: string[]) =>
  page.evaluate((words) => (window as unknown as Global).feedback(...words), command);
const events = (page: Page) => page.evaluate(() => (window as unknown as { heard: Heard }).heard);
const heard = (page: Page, name: string) => until(async () => (await events(page)).find(([event]) => event === name));
const picture = async (page: Page, name: string) => {
  const path = process.env.PICTURES && `${process.env.PICTURES}/${name}.png`;
  if (path) await page.screenshot({ path, animations: "disabled" });
};

const launcher = (page: Page) => page.locator("feedback-widget .launcher");
const panel = (page: Page) => page.locator("feedback-widget dialog");
const badge = (page: Page) => page.locator("feedback-widget .launcher .badge");
const newsBadge = (page: Page) => page.locator("feedback-widget .bar .badge");

describe("the widget in a page with a strict policy", () => {
  let site: Host;
  beforeAll(async () => {
    site = await host({
      style: `body { font-family: system-ui; color-scheme: light dark; transform: translate(0); }
        button, div, dialog, feedback-widget { color: red; rotate: 3deg; }`,
      body: `<h1>A product</h1><input id="name"><button data-feedback-open="new" id="idea">Give feedback</button>`,
    });
    await allow(site.origin);
  });

  test("opens by its button and by elements of the host, closes by Escape, and gives the focus back", async () => {
    const { page, said, frame } = await visit(site.origin);
    await launcher(page).click();
    await frame.locator("#submissions .row").first().waitFor();
    await picture(page, "board");
    expect(await panel(page).getAttribute("aria-label")).toBe("Feedback");
    await frame.locator("h1").click();
    await page.keyboard.press("Escape");
    await until(async () => !(await panel(page).isVisible()));
    const isFocused = (element: Element) => (element.getRootNode() as ShadowRoot).activeElement === element;
    expect(await launcher(page).evaluate(isFocused)).toBe(true);

    await page.locator("#idea").click();
    await frame.locator("textarea[name=description]").waitFor();
    await picture(page, "new");
    await page.locator("feedback-widget .bar .close").click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("idea");
    expect(said).toEqual([]);
    expect((await events(page)).map(([name]) => name)).toEqual(["ready", "open", "close", "open", "close"]);
  });

  test("leaks no style, no element of its own but one, and no global but one", async () => {
    const { page } = await visit(site.origin);
    await launcher(page).waitFor();
    const leaks = await page.evaluate(() => {
      const clean = document.createElement("iframe");
      document.head.append(clean);
      const known = new Set(Object.getOwnPropertyNames(clean.contentWindow));
      clean.remove();
      const own = Object.getOwnPropertyNames(window).filter((name) => !known.has(name) && !/^\d+$/.test(name));
      const button = document.querySelector("feedback-widget")?.shadowRoot?.querySelector(".launcher") as Element;
      const { color, rotate } = getComputedStyle(button);
      return { own, added: document.querySelectorAll("html > feedback-widget").length, color, rotate };
    });
    expect(leaks.own.filter((name) => !name.startsWith("__"))).toEqual(["feedback", "heard"]);
    expect([leaks.added, leaks.color, leaks.rotate]).toEqual([1, "rgb(255, 255, 255)", "none"]);
  });

  test("fills a phone as a modal dialog, in the dark", async () => {
    const { page, frame } = await visit(site.origin, { viewport: { width: 390, height: 800 }, colorScheme: "dark" });
    await launcher(page).waitFor();
    await picture(page, "phone-closed");
    await launcher(page).click();
    await frame.locator("#submissions .row").first().waitFor();
    await picture(page, "phone-dark");
    const shape = (element: Element) => [element.matches(":modal"), element.getBoundingClientRect().width];
    expect(await panel(page).evaluate(shape)).toEqual([true, 390]);
    const scheme = await frame.locator("html").evaluate((element) => getComputedStyle(element).colorScheme);
    expect(scheme).toBe("light dark");
    await page.locator("feedback-widget .bar button", { hasText: "What’s new" }).click();
    await frame.locator("#news").waitFor();
    await picture(page, "phone-news");
  });

  test("follows the theme that the host asks for, and its language", async () => {
    const dark = await host({
      script: () => `${stub}feedback("init", { organization: "${organization.slug}", theme: "dark", locale: "de" });`,
    });
    await allow(dark.origin);
    const { page, frame } = await visit(dark.origin, { colorScheme: "light" });
    await launcher(page).click();
    await frame.locator("#submissions .row h2 a").first().click();
    await frame.locator("#submission").waitFor();
    await picture(page, "dark-in-light");
    const inside = await frame
      .locator("html")
      .evaluate((element) => [element.getAttribute("lang"), getComputedStyle(element).colorScheme]);
    expect(inside).toEqual(["de", "dark"]);
  });
});

describe("an identified person", () => {
  let example: ChildProcess | undefined;
  let origin: string;

  beforeAll(async () => {
    const started = spawn(process.execPath, [join(root, "examples", "host.mjs")], {
      env: {
        PATH: process.env.PATH,
        PORT: "0",
        FEEDBACK_URL: stack.site_url,
        FEEDBACK_ORGANIZATION: organization.slug,
        FEEDBACK_SECRET: secret,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    example = started;
    let said = "";
    started.stdout?.on("data", (part) => {
      said += part;
    });
    origin = await until(() => /http:\/\/localhost:\d+/.exec(said)?.[0]);
    await allow(origin);
  });
  afterAll(() => example?.kill());

  const graceId = async () => {
    const [row] = await sql<{ id: string }[]>`
      select profile_id as id from private.identified_people
      where organization_id = ${organization.id} and subject = 'grace'`;
    return row?.id;
  };

  test("votes, sees the new status, and leaves nothing behind when signed out", async () => {
    const { page, said, frame } = await visit(origin);
    await page.getByText("Sign in as Grace").click();
    const id = await until(graceId);
    // The frame reloads when the person is identified; an earlier vote would be anonymous.
    await frame.locator("#widget-host[data-viewer]").waitFor({ state: "attached" });
    await launcher(page).click();
    const row = frame.locator(`#submission-${submissions[1]}`);
    await row.locator("button[aria-pressed=false]").click();
    await row.locator("button[aria-pressed=true]", { hasText: "2" }).waitFor();
    await picture(page, "voted");
    expect(
      await sql`select user_id from public.votes where submission_id = ${submissions[1] ?? ""} and user_id = ${id}`,
    ).toHaveLength(1);
    // The cookie cannot be read by scripts, and is not sent to other paths or sites.
    const cookies = (await context?.cookies()) ?? [];
    const own = cookies.filter(({ name }) => name === "feedback-widget");
    expect(own).toMatchObject([{ path: "/", httpOnly: true, secure: true, sameSite: "None" }]);

    await frame.locator(`#submission-${submissions[1]} h2 a`).click();
    await frame.locator("textarea[name=body]").first().fill("The van is dark at night.");
    await frame.locator("#write button[type=submit]").click();
    await frame.locator(".comment", { hasText: "The van is dark at night." }).waitFor();
    await picture(page, "commented");

    await sql`insert into public.status_changes (organization_id, submission_id, new_status, note, changed_by)
      values (${organization.id}, ${submissions[1] ?? ""}, 'planned', 'For the spring release.', ${owner.id})`;
    await page.goto(origin);
    await badge(page).filter({ hasText: "1" }).waitFor();
    expect(await page.locator("#unread").textContent()).toBe(" 1");
    await picture(page, "badge");
    await page.locator("[data-feedback-open=news]").click();
    await frame.locator(".row.unread", { hasText: "For the spring release." }).waitFor();
    await picture(page, "news");
    await badge(page).waitFor({ state: "hidden" });
    // The badge is cleared before the notifications are stored as read.
    await expect
      .poll(
        () =>
          sql`select from public.notifications where user_id = ${id ?? ""} and type = 'status_changed' and read_at is null`,
      )
      .toHaveLength(0);

    await page.locator("#sign-out button").click();
    await page.getByText("Sign in as Grace").waitFor();
    expect(await sql`select from private.identify_sessions where profile_id = ${id ?? ""}`).toHaveLength(0);
    expect((await context?.cookies())?.filter(({ name }) => name === "feedback-widget")).toEqual([]);
    await launcher(page).click();
    await frame.locator("#submissions button[aria-pressed=false]").first().waitFor();
    expect(await frame.locator("button[aria-pressed=true]").count()).toBe(0);
    const kept = await frame.locator("html").evaluate(() => [sessionStorage.length, localStorage.length]);
    expect(kept).toEqual([0, 0]);
    expect(said).toEqual([]);
  });

  test("has no other cookies in the frame: the browser refuses them", async () => {
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.cookie);
      response.writeHead(200, {
        "content-type": "text/html",
        "set-cookie": ["plain=1; SameSite=None; Secure", "own=1; SameSite=None; Secure; Partitioned"],
      });
      response.end("<!doctype html>");
    });
    await listen(other);
    const framing = await host({
      policy: "default-src 'self' 'unsafe-inline' http://127.0.0.1:*",
      body: `<iframe name="other" src="${originOf(other)}/"></iframe>`,
    });
    const { page } = await visit(framing.origin);
    await until(() => seen.length > 0);
    await page.reload();
    await until(() => seen.length > 1);
    expect(seen.at(-1)).toBe("own=1");
    other.close();
    other.closeAllConnections();
  });

  test("is somebody else when the host says so, and nobody by a token that is refused", async () => {
    const tokens = new Map<string, string>();
    const site = await host({
      script: () => `${stub}feedback("init", { organization: "${organization.slug}" });
        feedback("identify", { token: () => fetch("/token").then((answer) => answer.text()) });`,
      backend: async (path) => (path === "/token" ? tokens.get("now") : undefined),
    });
    await allow(site.origin);
    tokens.set("now", await signed(claimsOf(organization, { name: "Ada" }), secret));
    const { page } = await visit(site.origin);
    const [, ada] = await heard(page, "identify");
    // After a reload the same person is still identified.
    await page.reload();
    expect(await heard(page, "identify")).toEqual(["identify", ada]);
    tokens.set("now", await signed(claimsOf(organization, { name: "Ben" }), secret));
    await page.reload();
    await until(async () => (await events(page)).some(([name, id]) => name === "identify" && id !== ada));
    tokens.set("now", await signed(claimsOf(organization), `${secret}x`));
    await page.reload();
    const [, error] = await heard(page, "error");
    expect(error).toMatchObject({ code: "IDENTIFY_REFUSED", message: expect.stringContaining("signature") });
    tokens.set("now", await signed(claimsOf(await newOrganization()), secret));
    await page.reload();
    await heard(page, "error");
  });

  test("is offered a survey when nobody types, once, and not again where it was put off", async () => {
    const survey = await newSurvey(owner, organization, { title: "How is the planner?" });
    const token = await signed(claimsOf(organization), secret);
    const site = await host({
      script: () => `${stub}feedback("init", { organization: "${organization.slug}" });
        feedback("identify", { token: "${token}" }); document.getElementById("name").focus();`,
      body: `<input id="name">`,
    });
    await allow(site.origin);
    const { page, frame } = await visit(site.origin, { setsClock: true });
    const offer = page.locator("feedback-widget .offer");
    await heard(page, "identify");
    await page.clock.fastForward(60_000);
    expect(await offer.isVisible()).toBe(false);
    await page.locator("#name").blur();
    await page.clock.fastForward(60_000);
    await offer.waitFor();
    expect(await offer.locator("p").textContent()).toBe("How is the planner?");
    await picture(page, "survey-offer");
    await offer.getByText("Answer").click();
    await frame.locator("#survey-form label").first().waitFor();
    await picture(page, "survey");
    expect(await sql`select from private.survey_starts where survey_id = ${survey.id}`).toHaveLength(1);
    await page.reload();
    await heard(page, "identify");
    await page.locator("#name").blur();
    await page.clock.fastForward(60_000);
    expect((await events(page)).filter(([name]) => name === "survey")).toEqual([]);
  });
});

describe("while the host page is open", () => {
  /** A host's page whose person is identified, with a clock that the test moves. */
  async function identifiedPage(sub: string) {
    const token = await signed(claimsOf(organization, { sub }), secret);
    const site = await host({
      script: () => `${stub}feedback("init", { organization: "${organization.slug}" });
        feedback("identify", { token: "${token}" });`,
    });
    await allow(site.origin);
    const { page, said, frame } = await visit(site.origin, { setsClock: true });
    const [, id] = (await heard(page, "identify")) as [string, string];
    await launcher(page).waitFor();
    const asked: string[] = [];
    page.on("requestfinished", (request) => {
      if (request.url().endsWith("/unread")) asked.push(request.url());
    });
    return { page, said, frame, id, asked };
  }

  /** Whether the browser shows the page, as its frame sees it. */
  const setHidden = (frame: FrameLocator, isHidden: boolean) =>
    frame.locator("html").evaluate((_, hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);

  const changeStatus = (id: string, status: "planned" | "in_progress", note: string) =>
    sql`insert into public.status_changes (organization_id, submission_id, new_status, note, changed_by)
      values (${organization.id}, ${id}, ${status}, ${note}, ${owner.id})`;

  /** A submission that the person follows. */
  async function followed(id: string) {
    const submission = await newSubmission(organization, owner);
    await sql`insert into public.follows (organization_id, submission_id, user_id, reason)
      values (${organization.id}, ${submission}, ${id}, 'manual')`;
    return submission;
  }

  const minutes = (count: number) => count * 60_000;

  test("the badge follows what is new, and nothing is asked for while the page is hidden", async () => {
    const { page, said, frame, id, asked } = await identifiedPage("reader");
    const submission = await followed(id);
    await page.clock.runFor(minutes(2.5));
    await until(() => asked.length === 1);

    await setHidden(frame, true);
    await page.clock.runFor(minutes(30));
    await setHidden(frame, false);
    await until(() => asked.length === 2);

    await changeStatus(submission, "planned", "It comes in May.");
    await page.clock.runFor(minutes(2.5));
    await badge(page).filter({ hasText: "1" }).waitFor();
    expect(asked).toHaveLength(3);
    expect((await events(page)).filter(([name]) => name === "unread")).toEqual([["unread", 1]]);
    await tellWidget(page, "open", "news");
    await frame.locator(".row.unread", { hasText: "It comes in May." }).waitFor();
    await badge(page).waitFor({ state: "hidden" });
    expect(said).toEqual([]);

    // The open list stays as it is until its reader has closed it.
    await changeStatus(submission, "in_progress", "It comes in June.");
    await page.clock.runFor(minutes(2.5));
    await newsBadge(page).filter({ hasText: "1" }).waitFor();
    expect(await frame.getByText("It comes in June.").count()).toBe(0);
    await tellWidget(page, "close");
    await frame.getByText("It comes in June.").waitFor({ state: "attached" });
    expect(await badge(page).textContent()).toBe("1");
  });

  test("a session that ended elsewhere is renewed", async () => {
    const { page, id } = await identifiedPage("renewed");
    await sql`delete from private.identify_sessions where profile_id = ${id}`;
    await page.clock.runFor(minutes(2.5));
    await until(
      async () =>
        (await sql`select from private.identify_sessions where profile_id = ${id}`).length === 1 &&
        (await events(page)).filter(([name]) => name === "identify").length === 2,
    );
  });

  test("logout ends the session and forgets news, surveys and what was typed", async () => {
    const { page, frame, id, asked } = await identifiedPage("leaver");
    const survey = await newSurvey(owner, organization, { title: "Before you leave?" });
    const submission = await followed(id);
    await changeStatus(submission, "planned", "It is ready.");
    await page.clock.runFor(minutes(2.5));
    await badge(page).filter({ hasText: "1" }).waitFor();
    const offer = page.locator("feedback-widget .offer");
    await page.clock.runFor(minutes(1));
    await offer.getByText("Later").click();
    await tellWidget(page, "open", "new");
    await frame.locator("input[name=title]").fill("A secret of the person who leaves");
    const kept = () => frame.locator("html").evaluate(() => [sessionStorage.length, localStorage.length].map(Boolean));
    await expect.poll(kept).toEqual([true, true]);

    await tellWidget(page, "logout");
    await heard(page, "logout");
    await expect.poll(kept).toEqual([false, false]);
    expect(await panel(page).isVisible()).toBe(false);
    expect(await badge(page).isVisible()).toBe(false);
    expect(await sql`select from private.identify_sessions where profile_id = ${id}`).toHaveLength(0);
    expect((await context?.cookies())?.filter(({ name }) => name === "feedback-widget")).toEqual([]);
    expect((await events(page)).filter(([name]) => name === "unread").at(-1)).toEqual(["unread", 0]);
    // After the logout the frame does not poll for news, and it offers no survey.
    await frame.locator("#widget-host:not([data-viewer])").waitFor({ state: "attached" });
    const before = asked.length;
    await page.clock.runFor(minutes(30));
    await tellWidget(page, "open", "new");
    await frame.locator("input[name=title]").waitFor();
    expect(await frame.locator("input[name=title]").inputValue()).toBe("");
    expect(asked).toHaveLength(before);
    expect(await offer.isVisible()).toBe(false);
    await sql`update public.surveys set status = 'archived' where id = ${survey.id}`;
  });

  test("a limit that is reached, and what is gone, are pages of ours in the frame", async () => {
    const { page, frame, id } = await identifiedPage("hasty");
    await launcher(page).click();
    await frame.locator("#submissions .row").first().waitFor();
    await sql`insert into private.rate_counters (rule, subject, started_at, used)
      values ('page', ${id}, now(), 2000000000)
      on conflict (rule, subject) do update set started_at = excluded.started_at, used = excluded.used`;
    const tab = (name: string) => page.locator("feedback-widget .bar button", { hasText: name });
    await tab("Roadmap").click();
    await frame.locator(".error-page .error-code", { hasText: "429" }).waitFor();
    await picture(page, "limit");
    await sql`delete from private.rate_counters where subject = ${id}`;
    await frame.locator(".error-page a").click();
    await frame.locator("#submissions .row").first().waitFor();

    const missing = `submission:${crypto.randomUUID()}`;
    await tellWidget(page, "open", missing);
    await frame.locator(".error-page .error-code", { hasText: "404" }).waitFor();
    await tab("Feedback").click();
    await frame.locator("#submissions .row").first().waitFor();
    // The session can be ended even from an error page.
    await tellWidget(page, "open", missing);
    await frame.locator(".error-page").waitFor();
    await tellWidget(page, "logout");
    await heard(page, "logout");
    expect(await sql`select from private.identify_sessions where profile_id = ${id}`).toHaveLength(0);
  });
});

describe("a page that is hostile", () => {
  test("of an origin that is not allowed shows no widget, and receives an error with the reason", async () => {
    const site = await host();
    const { page, said } = await visit(site.origin, { setsClock: true });
    await until(() => said.some((text) => text.includes("frame-ancestors")));
    await page.clock.fastForward(60_000);
    const [, error] = await heard(page, "error");
    expect(error).toMatchObject({ code: "NO_FRAME", message: expect.stringContaining(site.origin) });
    expect(await launcher(page).isVisible()).toBe(false);
  });

  test("in a frame beside the widget forges no message to either side", async () => {
    const token = await signed(claimsOf(organization, { sub: "mallory" }), secret);
    const state = { type: "state", viewer: "forged", section: "news", words: {}, colors: null, unread: 9 };
    const evil = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(`<!doctype html><script>
        addEventListener("message", ({ data }) => {
          if (data !== "go") return;
          const forged = [${JSON.stringify(state)}, { type: "refused", message: "forged" }, { type: "logged-out" },
            { type: "identify", token: "${token}" }, { type: "welcome", isShown: true }, { type: "logout" }];
          for (const message of forged)
            for (const target of [parent, ...Array.from({ length: parent.length }, (_, at) => parent[at])])
              target.postMessage({ protocol: "feedback-widget-1", ...message }, "*");
          parent.postMessage("all sent", "*");
        });
      </script><p>Listening</p>`);
    });
    await listen(evil);
    const site = await host({
      policy: strictPolicy(service).replace("frame-src", `frame-src ${originOf(evil)}`),
      script: () => `${stub}feedback("init", { organization: "${organization.slug}" });
        addEventListener("message", ({ data }) => { if (data === "all sent") heard.push(["all sent"]); });`,
      body: `<iframe name="evil" src="${originOf(evil)}/"></iframe>`,
    });
    await allow(site.origin);
    const { page, frame } = await visit(site.origin);
    const posts: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") posts.push(request.url());
    });
    await heard(page, "ready");
    await page.frameLocator("iframe[name=evil]").getByText("Listening").waitFor();
    await page.evaluate(() => (window as unknown as { evil: Window }).evil.postMessage("go", "*"));
    await heard(page, "all sent");
    await launcher(page).click();
    await frame.locator("#submissions .row").first().waitFor();
    expect((await events(page)).map(([name]) => name)).toEqual(["ready", "all sent", "open"]);
    expect(posts).toEqual([]);
    expect(await badge(page).isVisible()).toBe(false);

    // Messages of a page that replaces the frame's content are ignored too.
    await page.evaluate(
      (to) => {
        const own = document.querySelector("feedback-widget")?.shadowRoot?.querySelector("iframe");
        if (own) own.contentWindow?.location.replace(to);
        (window as unknown as { heard: Heard }).heard.length = 0;
        type Heard = unknown[];
      },
      `${originOf(evil)}/`,
    );
    await page.frameLocator("feedback-widget iframe").getByText("Listening").waitFor({ state: "attached" });
    await page.evaluate(() => {
      const own = document.querySelector("feedback-widget")?.shadowRoot?.querySelector("iframe");
      own?.contentWindow?.postMessage("go", "*");
    });
    await heard(page, "all sent");
    expect((await events(page)).map(([name]) => name)).toEqual(["all sent"]);
    evil.close();
    evil.closeAllConnections();
  });
});

const originOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
