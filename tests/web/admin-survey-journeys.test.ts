import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newOrganization, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { openPage, signIn } from "./browser-page.ts";

let browser: Browser;
let organization: Organization;
const contexts: BrowserContext[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  organization = await newOrganization();
});
afterAll(() => browser?.close());
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  expect(complaints.splice(0)).toEqual([]);
});

/** A page of a new browser, signed in as a new user. */
async function open(role?: "admin"): Promise<Page> {
  const viewport = { width: 1280, height: 1400 };
  const page = await openPage(browser, complaints, { reducedMotion: "reduce", viewport });
  contexts.push(page.context());
  await signIn(page.context(), role && { organization, role });
  return page;
}

const questions = (page: Page) =>
  page
    .locator("#questions input[name$='.text']")
    .evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value));
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement as HTMLInputElement | HTMLButtonElement | null;
    return element?.name === "do" ? element.value : element?.name;
  });

test("a survey from nothing to its results", async () => {
  const page = await open("admin");
  await page.goto(`/o/${organization.slug}/admin/surveys`);
  await page.getByRole("link", { name: "New survey" }).click();
  await page.getByLabel("Title").fill("How was it?");

  // Each new question gets the focus, so that its text can be typed at once.
  const add = async (type: string, text: string) => {
    const before = (await questions(page)).length;
    await page.getByRole("group", { name: "Add question" }).getByRole("button", { name: type }).click();
    await expect.poll(() => focused(page)).toBe(`questions.${before}.text`);
    await page.keyboard.type(text);
  };
  await add("Recommendation", "Would you recommend us?");
  await add("Choice", "Where do you use it?");
  await page.getByLabel("Options", { exact: true }).last().fill("Web\nPhone");
  await add("Text", "What is missing?");
  expect(await page.getByLabel("Title").inputValue()).toBe("How was it?");

  // Keyboard: the button keeps the focus.
  const third = page.locator("#question-2");
  await third.getByRole("button", { name: "Move up" }).focus();
  await page.keyboard.press("Enter");
  await expect
    .poll(() => questions(page))
    .toEqual(["Would you recommend us?", "What is missing?", "Where do you use it?"]);
  await expect.poll(() => focused(page)).toBe("up.1");

  // Mouse.
  const grips = page.locator("#questions .grip");
  // The script may not have loaded yet; then the drag is repeated.
  await expect
    .poll(async () => {
      const order = await questions(page);
      const at = order.indexOf("Where do you use it?");
      if (at <= 0) return order;
      await grips.nth(at).dragTo(page.locator("#question-0"), { targetPosition: { x: 40, y: 8 } });
      return questions(page);
    })
    .toEqual(["Where do you use it?", "Would you recommend us?", "What is missing?"]);
  expect(await page.locator("#questions [data-number]").allTextContents()).toEqual([
    "Question 1",
    "Question 2",
    "Question 3",
  ]);
  expect(await page.locator("#questions button[disabled]").evaluateAll((all) => all.length)).toBe(2);

  // The preview updates without a reload.
  const preview = page.locator("turbo-frame#preview");
  await expect
    .poll(() => preview.locator(".question-text").allInnerTexts())
    .toEqual([
      expect.stringContaining("Where do you use it?"),
      expect.stringContaining("Would you recommend us?"),
      expect.stringContaining("What is missing?"),
    ]);
  await preview.getByRole("radio", { name: "Phone" }).waitFor();

  await page.getByRole("button", { name: "Save draft" }).last().click();
  await page.getByRole("status").getByText("Draft saved.").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("status").getByText("Survey published.").waitFor();
  await page.getByText("No responses yet").waitFor();
  await page.getByRole("navigation", { name: "Surveys" }).getByRole("link", { name: "Share" }).click();
  await page.getByRole("img", { name: "QR code" }).waitFor();
  const link = ((await page.locator("#survey-link").textContent()) ?? "").trim();

  const other = await open();
  await other.goto(link);
  await other.getByRole("radio", { name: "Phone" }).check();
  await other.getByRole("radio", { name: "9", exact: true }).check();
  await other.getByLabel("What is missing?").fill("Nothing, it is great");
  await other.getByRole("button", { name: "Send answers" }).click();
  await other.getByText("Your answers have been sent.").waitFor();

  await page.getByRole("navigation", { name: "Surveys" }).getByRole("link", { name: "Results" }).click();
  await page.getByText("NPS 100").waitFor();
  await page
    .getByRole("row", { name: /^Phone/ })
    .getByText("1 (100%)")
    .waitFor();
  await page.getByText("Nothing, it is great").waitFor();
  await page.getByRole("link", { name: "All answers" }).click();
  await page.getByLabel("Search answers").fill("GREAT");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=GREAT/);
  await page.locator(".text-answers").getByText("Nothing, it is great").waitFor();
});
