import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newSurvey } from "../api/survey-world.ts";
import { newOrganization, newSubmission, newUser, type Organization, type User } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { sql, stack } from "../stack.ts";
import { openPage, signIn, unexpected } from "./browser-page.ts";

let browser: Browser;
let host: Server;
let organization: Organization;
let admin: User;
let context: BrowserContext;
let complaints: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
  host = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><title>A host</title><iframe src="${stack.site_url}${request.url}"></iframe>`);
  });
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await browser?.close();
  host?.close();
  host?.closeAllConnections();
});
afterEach(async () => {
  await context.close();
  expect(unexpected(complaints)).toEqual([]);
});

/** A page of a new browser, signed in as a new user. */
async function open(options: BrowserContextOptions = {}, role?: "admin"): Promise<Page> {
  complaints = [];
  const page = await openPage(browser, complaints, options);
  context = page.context();
  await signIn(context, role && { organization, role });
  return page;
}

const responsesTo = async ({ id }: { id: string }) =>
  (await sql`select answers from public.survey_responses where survey_id = ${id}`).map(({ answers }) =>
    (answers as { value: unknown }[]).map(({ value }) => value),
  );

test.each([true, false])("a survey is answered, with JavaScript: %s", async (javaScriptEnabled) => {
  const redirect_url = `${stack.site_url}/o/${organization.slug}/roadmap`;
  const survey = await newSurvey(admin, organization, { settings: { redirect_url } });
  const page = await open({ javaScriptEnabled });
  await page.goto(`/surveys/${survey.id}`);
  await page.getByRole("group", { name: "How easy was it?" }).getByRole("radio", { name: "4 of 5" }).check();
  await page.getByRole("checkbox", { name: "Votes" }).check();
  await page.getByLabel("What is missing?").fill("Nothing");
  if (javaScriptEnabled) {
    await page.getByText("3 of 6 answered").waitFor();
    await page.reload();
    await page.getByText("3 of 6 answered").waitFor();
    await page.getByRole("button", { name: "Clear answer" }).click();
    await page.getByText("2 of 6 answered").waitFor();
  }
  await page.getByRole("button", { name: "Send answers" }).click();
  const summary = page.getByRole("alert");
  await summary.getByRole("link", { name: /^Question 1:/ }).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "alert");
  expect(await page.getByLabel("What is missing?").inputValue()).toBe("Nothing");
  await page.getByRole("radio", { name: "10" }).check();
  await page.getByRole("button", { name: "Send answers" }).click();
  await page.waitForURL(redirect_url);
  expect(await responsesTo(survey)).toEqual([
    javaScriptEnabled ? [10, ["Votes"], "Nothing"] : [10, 4, ["Votes"], "Nothing"],
  ]);
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain("Nothing");
});

test("an admin moves a card by keyboard or by dragging, with a note", async () => {
  const id = await newSubmission(organization, admin, { title: "To be moved" });
  await sql`update public.submissions set status = 'planned' where id = ${id}`;
  const page = await open({}, "admin");
  await page.goto(`/o/${organization.slug}/roadmap`);
  await page.getByRole("link", { name: "Move “To be moved”" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Move “To be moved”" });
  await dialog.waitFor();
  await page.waitForFunction(() => document.querySelector("dialog")?.matches(":modal"));
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("status");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("link", { name: "Move “To be moved”" }).press("Enter");
  await page.waitForFunction(() => document.querySelector("dialog")?.matches(":modal"));
  await page.keyboard.type("In progress");
  await page.keyboard.press("Tab");
  await page.keyboard.type("We began.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("Moved to “In progress”.").waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === "To be moved");
  await page.getByRole("region", { name: "In progress" }).getByText("To be moved").waitFor();

  await page.waitForSelector(`#submission-${id}[draggable=true]`);
  await page.dragAndDrop(`#submission-${id} .facts`, "[data-status=completed] h2");
  await dialog.getByRole("button", { name: "Move" }).click();
  await page.getByRole("status").getByText("Moved to “Completed”.").waitFor();
  const changes = await sql`
    select new_status, note from public.status_changes where submission_id = ${id} order by created_at`;
  expect([...changes]).toEqual([
    { new_status: "in_progress", note: "We began." },
    { new_status: "completed", note: null },
  ]);
});

test("a page of another site embeds the board if allowed, and voting there opens a window to sign in", async () => {
  const id = await newSubmission(organization, admin, { title: "Framed" });
  const page = await open();
  // A host of another site than 127.0.0.1: the frame has none of the service's cookies.
  const origin = `http://localhost:${(host.address() as AddressInfo).port}`;
  await page.goto(`${origin}/embed/o/${organization.slug}`);
  await expect.poll(() => complaints.splice(0).join()).toContain("frame-ancestors 'none'");
  await sql`update public.organizations set allowed_origins = ${[origin]} where id = ${organization.id}`;
  await page.goto(`${origin}/embed/o/${organization.slug}`);
  const frame = page.frameLocator("iframe");
  await frame.getByRole("link", { name: "New" }).first().click();
  await frame.locator('.tabs a[aria-current="true"]').getByText("New").waitFor();
  const [opened] = await Promise.all([context.waitForEvent("page"), frame.locator(`#vote-${id} button`).click()]);
  await opened.waitForURL((url) => url.pathname === `/o/${organization.slug}`);
  expect(await sql`select from public.votes where submission_id = ${id}`).toHaveLength(2);
});
