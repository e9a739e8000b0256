import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { locales } from "../../shared/locales.ts";
import { expectAccessible } from "../browsers/accessible.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { type DemoUser, signInAs } from "../browsers/demo.ts";
import { placesOf } from "../browsers/places.ts";
import { stack } from "../stack.ts";

// Checks the pages of the demo data with axe-core and by keyboard, in one browser.

const places = await placesOf(stack);
const wide = { width: 1280, height: 800 };

let browser: Browser;
const pages = new Map<DemoUser | undefined, Promise<Page>>();

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

async function newPage(user: DemoUser | undefined): Promise<Page> {
  const context = await browser.newContext({ baseURL: stack.site_url, locale: "en-US", reducedMotion: "reduce" });
  if (user) await signInAs(context, stack, user);
  return context.newPage();
}

/** One page for each user, which navigates between places: creating a page takes longer than its checks. */
async function openPage(path: string, user?: DemoUser): Promise<Page> {
  const created = pages.get(user) ?? newPage(user);
  pages.set(user, created);
  const page = await created;
  await page.setViewportSize(wide);
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(path, { waitUntil: "load" });
  return page;
}

describe.each(places)("$name", ({ path, as }) => {
  test("has no axe-core violations on a wide light screen and on a dark phone", async () => {
    const page = await openPage(path, as);
    await expectAccessible(page);
  });
});

test.each(locales)("the board in %s fits the smallest phone, with its header uncut", async (locale) => {
  for (const user of [undefined, "alice"] as const) {
    const page = await openPage(`/?lang=${locale}`, user);
    expect(await page.evaluate(() => document.documentElement.lang)).toBe(locale);
    await page.setViewportSize({ width: 320, height: 740 });
    const cut = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll(".top nav, .top nav a, .top .end")]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ textContent }) => textContent),
    );
    expect(cut).toEqual([]);
  }
});

test("with forced colors, chosen and current items differ from others", async () => {
  const page = await newPage("bob");
  await page.emulateMedia({ forcedColors: "active" });
  const backgroundOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).backgroundColor);
  await page.goto("/");
  expect(await backgroundOf(".tabs [aria-current]")).not.toBe(await backgroundOf(".tabs a:not([aria-current])"));
  await page.goto(places.find(({ name }) => name === "survey, signed in")?.path ?? "");
  await page.locator(".scale input").first().check({ force: true });
  expect(await backgroundOf(".scale label:has(:checked)")).not.toBe(
    await backgroundOf(".scale label:not(:has(:checked))"),
  );
  await page.context().close();
});

describe("by keyboard alone", () => {
  /** Presses Tab that many times; returns the element focused before each press, and whether its focus is visible. */
  async function tabThrough(page: Page, presses: number) {
    await page.evaluate(() => {
      const stops: { html: string; isVisible: boolean }[] = [];
      Object.assign(window, { stops });
      const record = () => {
        const element = document.activeElement ?? document.body;
        const box = element.getBoundingClientRect();
        // The surrounding box of a field may show the focus.
        const shown = [element, element.closest("label, .search")].some(
          (around) => around && getComputedStyle(around).outlineStyle !== "none",
        );
        const isInView = box.bottom > 0 && box.top < innerHeight && box.width > 0 && box.height > 0;
        const html = element === document.body ? "" : element.outerHTML.slice(0, 120);
        stops.push({ html, isVisible: shown && isInView });
      };
      addEventListener("keydown", record, { capture: true });
    });
    const keyboard = await page.context().newCDPSession(page);
    const key = { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 };
    // The browser handles key events in order; waiting for each takes longer than moving the focus.
    await Promise.all(
      Array.from({ length: presses }, () => [
        keyboard.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...key }),
        keyboard.send("Input.dispatchKeyEvent", { type: "keyUp", ...key }),
      ]).flat(),
    );
    await keyboard.detach();
    return page.evaluate(() => (window as unknown as { stops: { html: string; isVisible: boolean }[] }).stops);
  }

  test.each(places)("every focusable element of $name shows its focus, and none traps it", async ({ path, as }) => {
    const page = await openPage(path, as);
    const stops = await page.locator("a[href], button, input:not([type=hidden]), select, textarea, summary").count();
    // The stops within date and time fields: their parts, and the button that opens the calendar.
    const parts = 6 * (await page.locator("input[type=date], input[type=datetime-local]").count());
    const [start, ...visited] = await tabThrough(page, stops + parts + 3);
    expect(start?.html).toBe("");
    const end = visited.findIndex(({ html }) => html === "");
    expect(end, "the last stop is followed by the browser's own").toBeGreaterThan(0);
    expect(visited.slice(0, end).filter(({ isVisible }) => !isVisible)).toEqual([]);
    // A page embedded in another site needs no skip link.
    if (!path.startsWith("/embed/")) expect(visited[0]?.html).toContain('class="skip"');
  });

  test("the skip link leads to the content, and a menu opens and closes", async () => {
    const page = await openPage("/", "bob");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("content");
    const menu = page.locator("#account");
    const summary = menu.locator("summary");
    await summary.focus();
    await page.keyboard.press("Enter");
    await menu.getByRole("button", { name: "Sign out" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("href"))).toBe("/me");
    // The script may not have loaded yet; then another attempt closes the menu.
    await expect
      .poll(async () => {
        await page.keyboard.press("Escape");
        return menu.getAttribute("open");
      })
      .toBeNull();
    expect(await summary.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test("a vote is created and removed", async () => {
    const page = await openPage("/?sort=created_at&order=asc", "bob");
    const button = page.locator("#submissions button[aria-pressed=false]").first();
    const id = await button.evaluate((element) => element.closest("form")?.id);
    await button.focus();
    await page.keyboard.press("Space");
    const given = page.locator(`#${id} button[aria-pressed=true]`);
    await given.waitFor();
    expect(await given.evaluate((element) => element === document.activeElement), "keeps the focus").toBe(true);
    await page.keyboard.press("Enter");
    await page.locator(`#${id} button[aria-pressed=false]`).waitFor();
  });
});
