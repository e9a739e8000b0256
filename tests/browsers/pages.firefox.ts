import { expect, test } from "vitest";
import { stack } from "../stack.ts";
import { claimsOfPages, identifyIn } from "./claims.ts";
import { launchFirefox, textsOf } from "./firefox.ts";

claimsOfPages(launchFirefox);

test("the first printed page of the roadmap has cards", async () => {
  const browser = await launchFirefox();
  try {
    const page = await browser.newPage();
    await page.goto(`${stack.site_url}/roadmap`);
    const titles = await page.locator(".roadmap-card h3").allInnerTexts();
    // An A4 sheet: Playwright passes inches on as centimeters.
    const [first = ""] = await textsOf(await page.pdf({ width: "21in", height: "29.7in" }));
    const flat = first.replace(/\s+/g, " ");
    expect(titles.filter((title) => flat.includes(title)).length).toBeGreaterThan(4);
  } finally {
    await browser.close();
  }
});

test.each([
  ["with partitioned cookies, the widget has a session", {}, "identify"],
  ["without them, the widget tells its host", { "network.cookie.cookieBehavior": 1 }, "NO_COOKIE"],
])("%s", async (_name, preferences, heard) => {
  const browser = await launchFirefox(preferences);
  try {
    expect(await identifyIn(await browser.newPage())).toEqual([heard]);
  } finally {
    await browser.close();
  }
});
