import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newOrganization, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { sql } from "../stack.ts";
import { openPage, signIn } from "./browser-page.ts";

let browser: Browser;
let page: Page;
let organization: Organization;
let folder: string;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), "feedback-import-"));
  organization = await newOrganization();
  page = await openPage(browser, complaints);
  await signIn(page.context(), { organization, role: "owner" });
});
afterAll(async () => {
  await browser?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});
afterEach(() => expect(complaints).toEqual([]));

const rows = 4_000;

test("thousands of rows are imported while the page is reloaded, and exported again", async () => {
  const path = join(folder, "board.csv");
  const lines = Array.from(
    { length: rows },
    (_, n) => `${n},Imported row number ${n},A description that is long enough`,
  );
  await writeFile(path, ["id,title,description", ...lines].join("\n"));

  await page.goto(`/o/${organization.slug}/admin/import`);
  await page.getByLabel("File", { exact: true }).setInputFiles(path);
  await page.getByLabel("Import", { exact: true }).check();
  await page.getByRole("button", { name: "Upload file" }).click();
  await page.getByRole("progressbar", { name: "Progress" }).waitFor();
  const address = page.url();
  // The import continues while the page is closed; when it is opened again, it shows the import.
  await page.goto("about:blank");
  await page.goto(address);
  await page.locator("#outcome").waitFor({ timeout: 100_000 });
  expect(await page.locator("#outcome").textContent()).toContain("Completed");
  expect(await page.locator(".stat strong").allTextContents()).toEqual(["4,000", "0", "0"]);
  const [counted] =
    await sql`select count(*)::int as n from public.submissions where organization_id = ${organization.id}`;
  expect(counted?.n).toBe(rows);

  await page.getByRole("link", { name: "Export" }).click();
  await page.getByLabel("Records").selectOption({ label: "Submissions" });
  await page.getByLabel("Format").selectOption("jsonl");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("submissions.jsonl");
  expect((await readFile(await file.path(), "utf8")).trim().split("\n")).toHaveLength(rows);
}, 150_000);
