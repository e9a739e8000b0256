import { randomUUID } from "node:crypto";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { sql } from "../stack.ts";
import { openPage } from "./browser-page.ts";
import { mailTo } from "./pages.ts";

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
  // Executed markup would open a dialog.
  page.on("dialog", (dialog) => {
    complaints.push(dialog.message());
    void dialog.dismiss();
  });
});
afterEach(() => context.close());

async function signUp(name = "Wanda") {
  const email = `${randomUUID()}@web.example`;
  await page.goto("/sign-up");
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Create an account" }).click();
  await page.locator(".menu").waitFor();
  const [user] = await sql<{ id: string }[]>`select id from auth.users where email = ${email}`;
  return { email, id: user?.id ?? "" };
}

test("a user resets a forgotten password by mail, signs in, and deletes the account", async () => {
  const { email, id } = await signUp();
  await context.clearCookies();
  await page.goto("/sign-in?return_to=/notifications");
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await page.getByRole("heading", { name: "Reset your password" }).waitFor();
  await page.getByLabel("Email address").fill(email);
  await page.getByRole("button", { name: "Send code" }).click();
  await page.getByRole("heading", { name: "Enter the code" }).waitFor();
  await page.getByLabel("Code from the email").fill((await mailTo(email)).code);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("New password").fill("another horse battery");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Notifications", exact: true }).waitFor();
  await page.locator(".menu summary").click();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("link", { name: "Delete account" }).click();
  await page.getByLabel("I understand").check();
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.getByRole("heading", { name: "Your account has been deleted" }).waitFor();
  expect(await sql`select from auth.users where id = ${id}`).toHaveLength(0);
  await page.goBack();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(complaints).toEqual([]);
});

const markup = `"><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>&lt;b&gt;</textarea></title>'`;

test("markup in every text field is text on every page", async () => {
  const { id } = await signUp("Wanda");
  await page.goto("/settings");
  await page.getByLabel("Name").fill(markup.slice(0, 100));
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Changes saved.").waitFor();
  await sql`update public.organizations set name = ${markup.slice(0, 100)} where id = ${organization.id}`;
  await sql`
    insert into public.categories (organization_id, name, slug, color)
    values (${organization.id}, ${markup.slice(0, 40)}, 'markup', '#336699')`;
  const title = `Zebra ${markup}`;
  const submission = await newSubmission(organization, { id }, { title, description: markup.padEnd(200, "!") });
  await newComment(submission, { id }, { body: markup });
  await newComment(submission, await newUser(markup.slice(0, 100)), { body: markup });
  const paths = [
    `/o/${organization.slug}`,
    `/o/${organization.slug}?q=zebra`,
    `/o/${organization.slug}?q=${encodeURIComponent(markup)}`,
    "/me",
    "/me?list=votes",
    "/me?list=comments",
    "/notifications",
    "/settings",
    `/settings?return_to=${encodeURIComponent(markup)}`,
    `/sign-in?return_to=/${encodeURIComponent(markup)}`,
    `/auth/confirm?type=magiclink&token_hash=${encodeURIComponent(markup)}`,
    `/submissions/${submission}`,
    `/o/${organization.slug}/new?title=${encodeURIComponent(markup)}`,
  ];
  for (const path of paths) {
    await page.goto(path);
    const created = await page.evaluate(() =>
      [...document.querySelectorAll("[onerror],[onload],script:not([src]):not([type='application/ld+json'])")].map(
        ({ outerHTML }) => outerHTML,
      ),
    );
    expect(created, path).toEqual([]);
  }
  // A page that does not exist is reported as missing, which is not an error here.
  expect(complaints.filter((said) => !said.includes("404"))).toEqual([]);
  await page.goto("/me");
  expect(await page.locator(".row h2").first().textContent()).toBe(title);
});
