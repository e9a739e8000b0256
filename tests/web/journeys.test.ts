import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { sql } from "../stack.ts";
import { openPage, signIn } from "./browser-page.ts";

let browser: Browser;
let context: BrowserContext;
let page: Page;
let organization: Organization;
let complaints: string[];

beforeAll(async () => {
  browser = await launchBrowser();
  organization = await newOrganization();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints);
  context = page.context();
});
afterEach(async () => {
  await context.close();
  // Reports scripts and styles that the Content-Security-Policy rejects.
  expect(complaints).toEqual([]);
});

async function submissionTitled(title: string): Promise<string> {
  const id = await newSubmission(organization, await newUser());
  await sql`update public.submissions set title = ${title} where id = ${id}`;
  return id;
}

test("a vote updates the page in place, and a double click votes once", async () => {
  const id = await submissionTitled("Vote in place");
  await signIn(context);
  await page.goto(`/o/${organization.slug}`);
  await page.evaluate(() => Object.assign(window, { stayed: true }));
  const button = page.locator(`#vote-${id} button`);
  // Both at once: over a slow connection to the browser, the answer to the first may come before the second.
  await button.evaluate((element: HTMLElement) => {
    element.click();
    element.click();
  });
  await page.locator(`#vote-${id} button[aria-pressed=true]`).waitFor();
  expect(await page.evaluate(() => "stayed" in window)).toBe(true);
  const votes = await sql`select from public.votes where submission_id = ${id}`;
  expect(votes).toHaveLength(Number(await button.textContent()));
});

test("the number of unread notifications changes as they come and are read", async () => {
  const id = await submissionTitled("Told of while typing");
  const userId = await signIn(context);
  const listening = page
    .waitForEvent("websocket")
    .then((socket) =>
      socket.waitForEvent("framereceived", ({ payload }) => String(payload).includes("Subscribed to PostgreSQL")),
    );
  await page.goto("/settings");
  await page.evaluate(() => Object.assign(window, { stayed: true }));
  await page.getByLabel("Name").fill("Half typed");
  await listening;
  await sql`
    insert into public.notifications (organization_id, user_id, type, submission_id, event_id)
    values (${organization.id}, ${userId}, 'status_changed', ${id}, gen_random_uuid())`;
  await page.getByRole("link", { name: "1 unread notification", exact: true }).waitFor();
  await sql`update public.notifications set read_at = now() where user_id = ${userId}`;
  await page.getByRole("link", { name: "0 unread notifications", exact: true }).waitFor();
  expect(await page.evaluate(() => "stayed" in window)).toBe(true);
  expect(await page.getByLabel("Name").inputValue()).toBe("Half typed");
  await page.locator("#unread a").click();
  await page.waitForURL(/\/notifications$/);
});

test("a search shows results while typing, and keeps the focus", async () => {
  await submissionTitled("Pelicans on the map");
  await submissionTitled("Something else entirely");
  await page.goto(`/o/${organization.slug}`);
  await page.getByRole("searchbox").fill("pelic");
  await page.getByRole("searchbox").press("a");
  await page.waitForURL(/q=pelica/);
  await page.getByText("1 submission found").waitFor();
  await page.locator("input[type=search]:focus").waitFor();
  await page.keyboard.type("ns");
  await page.waitForURL(/q=pelicans/);
  expect(await page.getByRole("searchbox").inputValue()).toBe("pelicans");
});

test("language and theme are selected by a control that submits itself", async () => {
  await page.goto(`/o/${organization.slug}`);
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("heading", { name: messagesOf("de").board.heading }).waitFor();
  await page.getByLabel("Design").selectOption("dark");
  await page.locator("html[data-theme=dark]").waitFor();
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(ground).toBe("rgb(11, 11, 13)");
});

test("a visitor who has to sign in returns to the same page", async () => {
  const id = await submissionTitled("Come back to vote");
  const email = `${crypto.randomUUID()}@web.example`;
  await page.goto(`/o/${organization.slug}?sort=created_at`);
  await page.locator(`#vote-${id} button`).click();
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.getByLabel("Name").fill("Wanda");
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Create an account" }).click();
  await page.locator(`#vote-${id}`).waitFor();
  expect(new URL(page.url()).search).toBe("?sort=created_at");
});
