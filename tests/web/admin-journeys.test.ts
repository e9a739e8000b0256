import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import { openPage, signIn, unexpected } from "./browser-page.ts";

// A day of moderation and sorting in a real browser: by keyboard, by two at once, and by mouse.

let browser: Browser;
let organization: Organization;
let admin: string;
const open: Page[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await Promise.all(open.splice(0).map((page) => page.context().close()));
  expect(unexpected(complaints.splice(0))).toEqual([]);
});

async function newBoard() {
  organization = await newOrganization();
  admin = `/o/${organization.slug}/admin`;
}

/** The browser of a new admin of the board. */
async function newModerator(): Promise<Page> {
  const page = await openPage(browser, complaints, { reducedMotion: "reduce" });
  open.push(page);
  await signIn(page.context(), { organization, role: "admin" });
  return page;
}

/** Waits until the page is subscribed and its keys work. */
async function openInbox(page: Page) {
  const joined = page
    .waitForEvent("websocket")
    .then((socket) =>
      socket.waitForEvent("framereceived", {
        predicate: ({ payload }) => /phx_reply/.test(String(payload)) && /"ok"/.test(String(payload)),
      }),
    );
  await page.goto(`${admin}/inbox`);
  await page.locator("#inbox-keys[data-ready]").waitFor();
  await joined;
}

const waiting = async (title: string) => {
  const id = await newSubmission(organization, await newUser(), { title });
  await sql`update public.submissions set moderation_state = 'pending' where id = ${id}`;
  return id;
};
const stateOf = async (id: string) =>
  (
    await sql<{ state: string }[]>`
    select moderation_state as state from public.submissions where id = ${id}
    union all select moderation_state from public.comments where id = ${id}`
  )[0]?.state;
const becomes = (id: string, state: string) => until(async () => (await stateOf(id)) === state);

test("a day's moderation goes by keyboard alone, verdict after verdict, and back", async () => {
  await newBoard();
  const ids: string[] = [];
  for (const title of ["First", "Second", "Third", "Fourth", "Fifth"]) ids.push(await waiting(`${title} to decide`));
  const [first = "", second = "", third = "", fourth = "", fifth = ""] = ids;
  const page = await newModerator();
  await openInbox(page);
  const current = page.locator("[data-current]");
  const isAt = (id: string) => expect.poll(() => current.getAttribute("id")).toBe(`item-${id}`);
  await page.keyboard.press("j");
  await isAt(first);
  await page.keyboard.press("j");
  await isAt(second);
  await page.keyboard.press("k");
  await isAt(first);
  // The keys are pressed in sequence, without waiting for the answer.
  await page.keyboard.press("a");
  await isAt(second);
  await page.keyboard.press("r");
  await isAt(third);
  await page.keyboard.press("s");
  await becomes(first, "approved");
  await becomes(second, "rejected");
  await becomes(third, "spam");
  await page.getByText("1 marked as spam.").waitFor();
  await expect.poll(() => page.locator("article[data-item]").count()).toBe(2);
  await isAt(fourth);
  await page.keyboard.press("u");
  await becomes(third, "pending");
  await page.locator(`#item-${third}:not([data-gone])`).waitFor();
  await page.getByText("1 is pending again.").waitFor();
  // Letters typed into a field do not trigger shortcuts.
  await page.locator(`#more-${fifth} summary`).press("Enter");
  await page.getByLabel("Reason (audit trail only)").last().fill("rash");
  // A refresh leaves the focus in the field, where a letter triggers no decision.
  await page.locator(`#item-${await waiting("Sixth to decide")}`).waitFor();
  await page.keyboard.press("a");
  expect(await page.locator(`#reason-${fifth}`).inputValue()).toBe("rasha");
  expect(await stateOf(fifth)).toBe("pending");
  await page.getByLabel("Keyboard shortcuts").uncheck();
  await page.locator(`#item-${fourth}`).focus();
  await page.keyboard.press("a");
  await page.reload();
  await page.locator("#inbox-keys[data-ready]").waitFor();
  expect(await page.getByLabel("Keyboard shortcuts").isChecked()).toBe(false);
  expect(await stateOf(fourth)).toBe("pending");
});

test("two moderators see what the other decided, and what begins to wait", async () => {
  await newBoard();
  const on = await newSubmission(organization, await newUser());
  const comment = await newComment(on, await newUser(), { body: "Is this one spam?" });
  await sql`update public.comments set moderation_state = 'pending' where id = ${comment}`;
  const idea = await waiting("Decided by one of two");
  const [one, other] = [await newModerator(), await newModerator()];
  await openInbox(one);
  await openInbox(other);
  await one.locator(`#item-${comment}`).getByRole("button", { name: "Spam" }).click();
  await other.locator(`#item-${comment}[inert]`).waitFor();
  expect(await other.locator(`#item-${comment}`).textContent()).toContain("Someone else just marked it as spam.");
  // The decided item ignores keys.
  await other.keyboard.press("j");
  await expect.poll(() => other.locator("[data-current]").getAttribute("id")).toBe(`item-${idea}`);
  const late = await waiting("Came while they looked");
  await other.locator(`#item-${late}`).waitFor();
  await one.locator(`#item-${late}`).waitFor();
});

test("chosen submissions are changed together, then merged after a look at what that makes", async () => {
  await newBoard();
  const ids: string[] = [];
  for (const title of ["Offline maps", "Maps without a network", "Other things"])
    ids.push(await newSubmission(organization, await newUser(), { title }));
  const page = await newModerator();
  await page.goto(`${admin}/submissions?sort=title&order=asc`);
  await page.locator("#submissions-all:visible").check();
  await page.locator("#bulk [data-chosen]", { hasText: "3" }).waitFor();
  await page.locator(`#row-${ids[2]} input[type=checkbox]`).uncheck();
  await page.locator("#bulk [data-chosen]", { hasText: "2" }).waitFor();
  await page.locator("#bulk-status").selectOption("planned");
  await page.locator("#bulk button[value=set_status]").click();
  await page.getByText("Status set for 2 submissions.").waitFor();
  expect(await page.locator("#submissions .status.planned").count()).toBe(2);
  expect(new URL(page.url()).searchParams.get("sort")).toBe("title");
  for (const id of ids.slice(0, 2)) await page.locator(`#row-${id} input[type=checkbox]`).check();
  await page.locator("#bulk").getByRole("button", { name: "Merge…" }).click();
  await page.getByRole("link", { name: "Merge into this: Offline maps" }).click();
  await page.locator("#merge-makes", { hasText: "2 votes in total" }).waitFor();
  await page.getByRole("button", { name: "Merge 1 submission" }).click();
  await page.getByText("1 submission merged.").waitFor();
  await page.getByRole("button", { name: "Undo merge: Maps without a network" }).click();
  await page.getByText("Merge undone.").waitFor();
});
