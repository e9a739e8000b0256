import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { newOrganization, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { api, sql, stack } from "../stack.ts";
import { ok, refuse, startReceiver } from "../webhooks/receivers.ts";
import { openPage, signIn } from "./browser-page.ts";

let browser: Browser;
let context: BrowserContext;
let page: Page;
let organization: Organization;
let complaints: string[];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  organization = await newOrganization();
  complaints = [];
  page = await openPage(browser, complaints);
  context = page.context();
  await signIn(context, { organization, role: "owner" });
});
afterEach(async () => {
  await context.close();
  // Reports scripts and styles that the Content-Security-Policy rejects.
  expect(complaints).toEqual([]);
});

const keyCount = async () => {
  const [keys] =
    await sql`select count(*)::integer as n from private.api_keys where organization_id = ${organization.id}`;
  return keys?.n as number;
};

test("the first key is made, used against the API, and its secret is gone from then on", async () => {
  await page.goto(`/o/${organization.slug}/admin/settings/api-keys`);
  await page.getByRole("link", { name: "Create key" }).click();
  await page.getByLabel("Name").fill("backend");
  await page.getByRole("checkbox", { name: /submissions:write/ }).check();
  await page.getByRole("button", { name: "Create key" }).click();
  const secret = (await page.locator("#secret code").textContent()) ?? "";
  expect(secret).toMatch(/^fcs_org_/);

  const created = await api<{ id: string }>("/api/submissions", {
    token: secret,
    body: { type: "idea", title: "Made with the first key", description: "By a backend, for a person." },
  });
  expect(created.status).toBe(201);

  await page.reload();
  await page.locator("#keys").waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(await keyCount()).toBe(1);

  await page.getByRole("link", { name: "Rotate: backend" }).click();
  await page.getByRole("button", { name: "Rotate" }).click();
  const next = (await page.locator("#secret code").textContent()) ?? "";
  expect(next).not.toBe(secret);
  // Turbo keeps the page to show it on the way back, without the secret.
  await page.getByRole("link", { name: "Limits" }).click();
  await page.getByRole("heading", { name: "Limits", level: 1 }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "API keys", level: 1 }).waitFor();
  expect(await page.content()).not.toContain(next);
});

test("without scripts a reload posts the form again: no other key, and its secret is not shown again", async () => {
  const plain = await browser.newContext({
    baseURL: stack.site_url,
    javaScriptEnabled: false,
    locale: "en-US",
    storageState: await context.storageState(),
  });
  try {
    const form = await plain.newPage();
    await form.goto(`/o/${organization.slug}/admin/settings/api-keys/new`);
    await form.getByLabel("Name").fill("backend");
    await form.getByRole("button", { name: "Create key" }).click();
    const secret = (await form.locator("#secret code").textContent()) ?? "";
    expect(secret).toMatch(/^fcs_org_/);
    await form.reload();
    await form.getByText("was shown once").waitFor();
    expect(await form.content()).not.toContain(secret);
    expect(await keyCount()).toBe(1);
  } finally {
    await plain.close();
  }
});

test("a webhook is made, tested, fails and is sent again", async () => {
  const receiver = await startReceiver(ok);
  try {
    await page.goto(`/o/${organization.slug}/admin/settings/webhooks/new`);
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByRole("checkbox", { name: /submission\.created/ }).check();
    await page.getByRole("button", { name: "Add endpoint" }).click();
    expect(await page.locator("#secret code").textContent()).toMatch(/^whsec_/);

    await page.getByRole("link", { name: receiver.url }).click();
    await page.getByRole("button", { name: "Send test" }).click();
    // The log updates without a reload.
    const log = page.locator("#log tbody tr");
    await log.filter({ hasText: "Delivered" }).waitFor();
    expect(receiver.heard.map(({ body }) => body.event)).toEqual(["webhook.test"]);

    receiver.behave = refuse(500);
    await page.getByRole("button", { name: "Send test" }).click();
    await log.filter({ hasText: "500" }).waitFor();
    await log.filter({ hasText: "500" }).getByRole("link", { name: "webhook.test" }).click();
    await page.locator("#attempt-1").getByText("not now").waitFor();

    receiver.behave = ok;
    await page.getByRole("button", { name: "Send again" }).click();
    await page.locator("#attempt-2").waitFor();
    await page.locator("main .status", { hasText: "Delivered" }).waitFor();
    const [first, failed, repeated] = receiver.heard.map(({ body }) => body.id);
    expect(repeated).toBe(failed);
    expect(first).not.toBe(failed);
  } finally {
    await receiver.close();
  }
});
