import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claimsOf, newSecret, signed } from "../api/identified.ts";
import { newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import type { DemoUser } from "./demo.ts";
import { startHost } from "./host.ts";
import { placesOf } from "./places.ts";

const phone = { width: 360, height: 800 };
const wide = { width: 1280, height: 900 };

const places = new Map((await placesOf(stack)).map((place) => [place.name, place]));
const placeOf = (name: string) => {
  const place = places.get(name);
  if (!place) throw new Error(`There is no place ${name}.`);
  return place;
};

/** What once was wrong in Firefox, in WebKit or in every browser. */
export function claimsOfPages(launch: () => Promise<Browser>) {
  let browser: Browser;
  const pages = new Map<DemoUser | undefined, Promise<Page>>();
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  async function newPage(user?: DemoUser): Promise<Page> {
    const page = await (await browser.newContext({ baseURL: stack.site_url, locale: "en-US" })).newPage();
    if (user) await signIn(page, user);
    return page;
  }

  async function open(name: string, size = wide): Promise<Page> {
    const { path, as } = placeOf(name);
    const opened = pages.get(as) ?? newPage(as);
    pages.set(as, opened);
    const page = await opened;
    await page.setViewportSize(size);
    await page.goto(path);
    return page;
  }

  test("going back keeps the theme and the language", async () => {
    const page = await newPage();
    const shown = () => page.evaluate(() => [document.documentElement.dataset.theme, document.documentElement.lang]);
    const choose = async (name: string, value: string) => {
      await page.goto("/roadmap");
      await page.goto("/sign-in");
      await page.locator(`.preferences select[name=${name}]`).selectOption(value);
      await page.waitForURL((url) => url.pathname === "/");
      await page.goBack();
      await page.goBack();
      expect(new URL(page.url()).pathname).toBe("/roadmap");
    };
    await choose("theme", "dark");
    expect(await shown()).toEqual(["dark", "en"]);
    await choose("lang", "de");
    expect(await shown()).toEqual(["dark", "de"]);
    await page.goto("/");
    expect(await shown()).toEqual(["dark", "de"]);
    expect(await page.locator(".preferences").getAttribute("autocomplete")).toBe("off");
    await page.context().close();
  });

  // What a browser does with a page that it keeps, told by its events; browsers of tests keep none.
  const leave = (page: Page) =>
    page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
  const comeBack = (page: Page) =>
    page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));

  test("a kept page has no connection, and shows what changed when its reader comes back", async () => {
    const organization = await newOrganization();
    const submission = await newSubmission(organization, await newUser());
    const page = await newPage();
    const sockets: { isClosed(): boolean }[] = [];
    page.on("websocket", (socket) => sockets.push(socket));
    const open = () => sockets.filter((socket) => !socket.isClosed()).length;
    await page.goto(`/submissions/${submission}`);
    await until(async () => open() === 1);
    expect(await page.locator("body").getAttribute("data-may-be-kept")).toBe("");
    await leave(page);
    await until(async () => open() === 0);
    await sql`update public.submissions set title = 'Changed meanwhile' where id = ${submission}`;
    await comeBack(page);
    await page.getByRole("heading", { name: "Changed meanwhile" }).waitFor();
    await until(async () => open() === 1);
    await sql`update public.submissions set title = 'Changed afterwards' where id = ${submission}`;
    await page.getByRole("heading", { name: "Changed afterwards" }).waitFor();
    await page.context().close();
  });

  test("what changes before a page is connected late is not missed", async () => {
    const organization = await newOrganization();
    const submission = await newSubmission(organization, await newUser());
    const page = await newPage();
    let connect = () => {};
    const asked = new Promise<void>((resolve) => {
      page.route("**/live-submission-*.js", async (route) => {
        resolve();
        await new Promise<void>((answer) => {
          connect = answer;
        });
        await route.continue();
      });
    });
    await page.goto(`/submissions/${submission}`);
    await asked;
    await sql`update public.submissions set title = 'Changed in between' where id = ${submission}`;
    await page.waitForTimeout(3_100);
    // What a page asks for by itself says so: its response is not compressed for a person.
    const byItself = page.waitForRequest((request) => request.headers()["cache-control"] === "no-transform");
    connect();
    await byItself;
    await page.getByRole("heading", { name: "Changed in between" }).waitFor();
    await page.context().close();
  });

  test("the scripts for realtime load after the page, and only where something is live", async () => {
    const page = await newPage();
    const scripts: string[] = [];
    let isLoaded = false;
    page.on("load", () => {
      isLoaded = true;
    });
    page.on("request", (request) => {
      if (/live-/.test(request.url()))
        scripts.push(`${new URL(request.url()).pathname.replace(/-\w+\.js/, "")} ${isLoaded}`);
    });
    await page.goto("/sign-in");
    await page.waitForLoadState("networkidle");
    expect(scripts).toEqual([]);
    const socket = page.waitForEvent("websocket");
    await page.goto("/");
    await socket;
    expect(scripts).toEqual(["/assets/live-board true"]);
    await page.context().close();
  });

  test("nothing of a page that only its visitor may see is kept", async () => {
    for (const [user, path] of [
      ["alice", "/"],
      ["alice", "/settings"],
      [undefined, "/sign-in"],
    ] as const) {
      const page = await newPage(user);
      await page.goto(path);
      await page.waitForLoadState("load");
      expect(await page.locator("main").count(), path).toBe(1);
      await leave(page);
      expect(await page.evaluate(() => document.body.innerHTML), path).toBe("");
      await Promise.all([page.waitForEvent("load"), comeBack(page)]);
      expect(await page.locator("main").count(), path).toBe(1);
      await page.context().close();
    }
  });

  test("a kept page of a visitor who signed in meanwhile is that of the person", async () => {
    const page = await newPage();
    await page.goto("/");
    await page.waitForLoadState("load");
    await leave(page);
    const { demo } = stack;
    const form = { email: demo?.users.alice ?? "", password: demo?.password ?? "", return_to: "/" };
    await page.request.post("/sign-in", { headers: { origin: new URL(stack.site_url).origin }, form });
    await comeBack(page);
    await page.locator("#account").waitFor();
    await leave(page);
    expect(await page.evaluate(() => document.body.innerHTML)).toBe("");
    await page.context().close();
  });

  test.each([
    ["survey, signed in", ".question", ".question-text"],
    ["admin, surveys, edited", ".question", ".question-text"],
    ["admin, surveys, edited", ".add-question", "legend"],
  ])("on the page %s, the card %s holds its %s", async (name, card, text) => {
    const page = await open(name, phone);
    const cards = page.locator(card);
    const shown = await cards.evaluateAll(
      (elements, inner) =>
        elements.map((element) => {
          const { borderTopWidth, paddingTop } = getComputedStyle(element);
          const heading = element.querySelector(inner)?.getBoundingClientRect();
          const isFieldset = element instanceof HTMLFieldSetElement;
          return [
            Number.parseFloat(borderTopWidth) > 0,
            Math.round((heading?.top ?? 0) - element.getBoundingClientRect().top) >= Number.parseFloat(paddingTop),
            isFieldset,
          ];
        }),
      text,
    );
    expect(shown.length).toBeGreaterThan(0);
    expect(shown).toEqual(shown.map(() => [true, true, false]));
  });

  test.each([
    ["board, signed in", wide, "#account > summary"],
    ["board, signed in", phone, ".filter-toggle > summary"],
    ["admin, overview", phone, ".side-menu > summary"],
    ["admin, overview", wide, "#span > summary"],
    ["submission, by its user", wide, ".comment .action > summary"],
  ])("on the page %s at %o, Tab leads from the clicked %s into it", async (name, size, selector) => {
    const page = await open(name, size);
    const summary = page.locator(selector).first();
    await summary.click();
    const clicked = await summary.evaluate((element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return document.elementFromPoint(x + width / 2, y + height / 2) === element;
    });
    await page.keyboard.press("Tab");
    const isInside = await summary.evaluate(
      (element) => document.activeElement !== element && element.parentElement?.contains(document.activeElement),
    );
    expect([clicked, isInside]).toEqual([true, true]);
  });

  test("going back after signing out shows no page of the person", async () => {
    const page = await newPage("alice");
    await page.goto("/settings");
    await page.locator("#account > summary").click();
    await page.locator("form[action='/sign-out'] button").click();
    await page.locator(".top .end a[href^='/sign-in']").waitFor();
    await page.goBack();
    await page.waitForURL((url) => url.pathname === "/sign-in");
    // As WebKit does on http.
    await page.goto("/sign-in");
    await page.evaluate(() => {
      Object.assign(window, { isKept: true });
      dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    });
    await page.waitForFunction(() => !("isKept" in window));
    await page.context().close();
  });

  test.each(["admin, new invite", "admin, submissions", "admin, general", "admin, surveys, texts", "settings"])(
    "on the page %s, long options of selects do not widen a phone, and selects are 40 px high as fields are",
    async (name) => {
      const page = await open(name, phone);
      const shown = await page.evaluate(() => {
        for (const select of document.querySelectorAll<HTMLSelectElement>("select:not(.preferences *)")) {
          select.add(
            new Option("An option whose text is longer than a phone is wide, as those of roles were, and longer"),
          );
          select.selectedIndex = select.length - 1;
        }
        return {
          width: document.documentElement.scrollWidth,
          native: [...document.querySelectorAll("select")].filter((it) => getComputedStyle(it).appearance !== "none"),
          heights: [...document.querySelectorAll(".field > select")].map((it) => it.getBoundingClientRect().height),
        };
      });
      expect(shown.width).toBeLessThanOrEqual(phone.width);
      expect(shown.native.length).toBe(0);
      expect(shown.heights.filter((height) => Math.round(height) !== 40)).toEqual([]);
    },
  );

  test("the labels of an agent's policies do not overlap on a phone", async () => {
    const page = await open("admin, agent's policies", phone);
    const overlaps = await page.locator(".narrowed").evaluateAll((boxes) =>
      boxes.flatMap((box) => {
        const labels = [...box.querySelectorAll("label")].map((label) => label.getBoundingClientRect());
        const texts = [...box.querySelectorAll("label")].map((label) => label.scrollHeight > label.clientHeight + 1);
        return labels.filter(({ top }, at) => texts[at] || (at > 0 && top < (labels[at - 1]?.bottom ?? 0) - 1));
      }),
    );
    expect(await page.locator(".narrowed label").count()).toBeGreaterThan(20);
    expect(overlaps).toEqual([]);
  });

  test.each([
    "roadmap",
    "submission",
    "voters",
    "notifications",
    "survey, signed in",
    "admin, overview",
    "admin, surveys, texts",
    "admin, users",
    "admin, audit",
  ])("the page %s is printed without grids around its lists, and with its plots", async (name) => {
    const page = await open(name);
    // The rules are read, because Firefox's driver cannot set the medium.
    const wrong = await page.evaluate(() => {
      const printed = [...document.styleSheets].flatMap((sheet) => rulesOf(sheet.cssRules));
      function rulesOf(rules: CSSRuleList): CSSStyleRule[] {
        return [...rules].flatMap((rule) => {
          if (rule instanceof CSSMediaRule && rule.media.mediaText === "print")
            return [...rule.cssRules].filter((inner) => inner instanceof CSSStyleRule);
          return "cssRules" in rule ? rulesOf(rule.cssRules as CSSRuleList) : [];
        });
      }
      const displays = (element: Element, value: string) =>
        printed.some(({ style, selectorText }) => style.display === value && element.matches(selectorText));
      const list = document.querySelector(".roadmap-card, .list, .threads, .text-answers, table, .question, .plot");
      const around: Element[] = [];
      for (let element = list?.parentElement; element; element = element.parentElement) around.push(element);
      return {
        list: list !== null,
        grids: around.filter((element) => getComputedStyle(element).display === "grid" && !displays(element, "flex")),
        plots: [...document.querySelectorAll("svg *")].filter(
          (element) => element.closest(".plot") && displays(element, "none"),
        ),
      };
    });
    expect([wrong.list, wrong.grids.length, wrong.plots.length]).toEqual([true, 0, 0]);
  });
}

async function signIn(page: Page, user: DemoUser) {
  const { demo } = stack;
  if (!demo) throw new Error("There is no demo data.");
  await page.goto("/sign-in");
  await page.fill("input[name=email]", demo.users[user]);
  await page.fill("input[name=password]", demo.password);
  await page.press("input[name=password]", "Enter");
  await page.waitForURL(({ pathname }) => pathname !== "/sign-in");
  await page.locator("#account").waitFor();
}

/** What a host page hears when it identifies a person, in a page of the browser. */
export async function identifyIn(page: Page, prepare: (page: Page) => Promise<unknown> = async () => {}) {
  const organization = await newOrganization();
  const { secret } = await newSecret(organization, await newUser("Olga", { organization, role: "owner" }));
  const token = await signed(claimsOf(organization), secret);
  const host = await startHost({
    service: new URL(stack.site_url).origin,
    script: () => `
      window.feedback = function () { (feedback.q = feedback.q || []).push(arguments); };
      window.heard = [];
      for (const name of ["identify", "error"]) feedback("on", name, (detail) => heard.push(detail?.code ?? name));
      feedback("init", { organization: "${organization.slug}" });
      feedback("identify", { token: "${token}" });`,
  });
  try {
    await sql`update public.organizations set allowed_origins = ${[host.origin]} where id = ${organization.id}`;
    await prepare(page);
    await page.goto(host.origin);
    const heard = () => page.evaluate(() => (window as unknown as { heard: string[] }).heard);
    await until(async () => (await heard()).length > 0);
    return await heard();
  } finally {
    host.close();
  }
}
