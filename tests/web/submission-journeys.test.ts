import type { Browser, Page, Request, WebSocket } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { joinTeam, newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import { openPage, signIn, unexpected } from "./browser-page.ts";

let browser: Browser;
let organization: Organization;
let board: string;
const open: Page[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  organization = await newOrganization();
  board = `/o/${organization.slug}`;
});
afterAll(() => browser?.close());
afterEach(async () => {
  await Promise.all(open.splice(0).map((page) => page.context().close()));
  expect(unexpected(complaints.splice(0))).toEqual([]);
});

/** A new browser; signed in if a user is given, otherwise anonymous. */
async function newPage({ isSignedIn = true, javaScriptEnabled = true } = {}) {
  const page = await openPage(browser, complaints, { javaScriptEnabled });
  open.push(page);
  return { page, userId: isSignedIn ? await signIn(page.context()) : "" };
}

const titled = async (title: string) => newSubmission(organization, await newUser(), { title });

/** Waits until the page is subscribed: earlier changes are part of the page. */
async function listening(page: Page, path: string): Promise<WebSocket> {
  const joined = page.waitForEvent("websocket").then(async (socket) => {
    await socket.waitForEvent("framereceived", {
      predicate: ({ payload }) => {
        const text = String(payload);
        return /phx_reply/.test(text) && /"ok"/.test(text) && !/own-notifications/.test(text);
      },
    });
    return socket;
  });
  await page.goto(path);
  return joined;
}

/** Ends when the page has received a broadcast with this text. */
const isTold = (socket: WebSocket, text: string) =>
  socket.waitForEvent("framereceived", ({ payload }) => String(payload).includes(text));

/** How often the page was read while `during` ran and the timers of ten seconds after it. */
async function readsOf(page: Page, during: () => Promise<unknown>): Promise<number> {
  const { pathname } = new URL(page.url());
  let reads = 0;
  const count = (request: Request) => {
    if (request.method() === "GET" && new URL(request.url()).pathname === pathname) reads++;
  };
  page.on("request", count);
  await during();
  await page.clock.runFor(10_000);
  // Requests are reported in their order.
  const marker = page.waitForRequest(/robots/);
  await page.evaluate(() => fetch("/robots.txt"));
  await marker;
  page.off("request", count);
  return reads;
}

test("a vote and a comment of one reader appear on the page of another, who keeps typing", async () => {
  const id = await titled("Live in two browsers");
  const [{ page: one }, { page: other }] = [await newPage(), await newPage()];
  await listening(other, `/submissions/${id}`);
  await other.getByLabel("Add a comment").fill("Half a sent");
  await one.goto(`/submissions/${id}`);
  await one.locator(`#vote-${id} button`).click();
  await other.locator(`#vote-${id} .number`, { hasText: "2" }).waitFor();
  expect(await other.locator(`#vote-${id} button`).getAttribute("aria-label")).toBe("Vote: 2");
  await one.getByLabel("Add a comment").fill("Look, a comment");
  await one.getByRole("button", { name: "Comment", exact: true }).click();
  await one.getByText("Look, a comment").waitFor();
  expect(await one.getByLabel("Add a comment").inputValue()).toBe("");
  await other.getByText("Look, a comment").waitFor();
  await other.getByRole("heading", { name: "1 comment" }).waitFor();
  expect(await other.getByLabel("Add a comment").inputValue()).toBe("Half a sent");
});

test("the page does not move while a button is pressed, and keeps what is open, typed and refused", async () => {
  const id = await titled("Under the hand");
  await newComment(id, await newUser("Ben"), { body: "Which one?" });
  const { page } = await newPage();
  await page.clock.install();
  const socket = await listening(page, `/submissions/${id}`);
  const comment = page.getByLabel("Add a comment");
  await comment.evaluate((field) => field.removeAttribute("maxlength"));
  await comment.fill("x".repeat(2001));
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await page.getByRole("alert").waitFor();
  await page.locator("#write textarea[aria-invalid=true]").waitFor();
  await page.locator("summary", { hasText: "Reply" }).click();
  await page.getByRole("textbox", { name: "Reply to Ben" }).fill("Half a repl");

  await page.getByRole("button", { name: "Follow", exact: true }).hover();
  await page.mouse.down();
  const told = isTold(socket, "Somebody else");
  await newComment(id, await newUser("Cleo"), { body: "Somebody else writes" });
  const reads = await readsOf(page, () => told);
  expect(reads).toBe(0);
  await page.mouse.up();
  await page.getByRole("button", { name: "Following" }).waitFor();

  await page.getByText("Somebody else writes").waitFor();
  expect(await page.getByRole("textbox", { name: "Reply to Ben" }).inputValue()).toBe("Half a repl");
  const later = isTold(socket, "One more");
  await newComment(id, await newUser("Dora"), { body: "One more" });
  await later;
  await page.getByText("One more").waitFor();
  expect(await comment.inputValue()).toHaveLength(2001);
  expect(await page.getByRole("textbox", { name: "Reply to Ben" }).inputValue()).toBe("Half a repl");
});

test("the page is not read again for what its reader did", async () => {
  const id = await titled("My own actions");
  const { page, userId } = await newPage();
  await joinTeam(userId, organization, "admin");
  await page.clock.install();
  const socket = await listening(page, `/submissions/${id}`);
  const reads = await readsOf(page, async () => {
    const told = [isTold(socket, "My own comment"), isTold(socket, "in_progress")];
    await page.getByLabel("Add a comment").fill("My own comment");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByText("My own comment").waitFor();
    await page.getByLabel("Status").selectOption("in_progress");
    await page.getByLabel("Public note").fill("Begun");
    await page.getByRole("button", { name: "Change status" }).click();
    await page.locator(".history").getByText("Begun").waitFor();
    await Promise.all(told);
  });
  // The pages that the two forms lead to.
  expect(reads).toBe(2);
  expect(await page.getByLabel("Public note").inputValue()).toBe("");
});

test("a board updates in place, and shows that there are new submissions", async () => {
  const id = await titled("Changes on the board");
  const { page } = await newPage({ isSignedIn: false });
  await listening(page, board);
  const row = page.locator(`#submission-${id}`);
  await newComment(id, await newUser());
  await row.locator(".comments .number", { hasText: "1" }).waitFor();
  await sql`insert into public.status_changes (organization_id, submission_id, new_status) values (${organization.id}, ${id}, 'planned')`;
  await row.locator(".status.planned", { hasText: "Planned" }).waitFor();
  const rows = await page.locator(".row").count();
  await titled("Something new");
  await page.locator(".fresh .number", { hasText: "1" }).waitFor();
  expect(await page.locator(".row").count()).toBe(rows);
  await page.locator(".fresh").getByRole("link").click();
  await page.getByRole("link", { name: "Something new" }).waitFor();
});

test("the team receives restricted changes with its session", async () => {
  const id = await titled("Waits for the team");
  const { page, userId } = await newPage();
  await joinTeam(userId, organization, "admin");
  await sql`update public.submissions set moderation_state = 'pending' where id = ${id}`;
  await listening(page, `/submissions/${id}`);
  await newComment(id, { id: userId }, { body: "Told to the team" });
  await page.getByText("Told to the team").waitFor();
});

test("similar submissions appear while the title is typed, one gets the vote, and the draft survives a reload", async () => {
  const id = await titled("Export invoices as a spreadsheet");
  const { page, userId } = await newPage();
  await page.goto(`${board}/new`);
  await page.getByLabel("Problem").check();
  await page.getByLabel("Description").fill("Every month I type the numbers again.");
  await page.getByLabel("Title").pressSequentially("Export invoices to a spreadsheet");
  // The whole title has already been searched for, so the list stays.
  await page.locator("#new input[name=checked]").waitFor({ state: "attached" });
  await page.locator(`#similar #vote-${id} button`).click();
  await page.locator(`#similar #vote-${id} button[aria-pressed=true]`).waitFor();
  const voted = await sql`select from public.votes where submission_id = ${id} and user_id = ${userId}`;
  expect(voted).toHaveLength(1);
  await page.reload();
  await page.locator("#similar").getByText("Export invoices as a spreadsheet").waitFor();
  expect(await page.getByLabel("Description").inputValue()).toBe("Every month I type the numbers again.");
  expect(await page.getByLabel("Problem").isChecked()).toBe(true);
  await page.locator("#new input[name=checked]").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("heading", { name: "Export invoices to a spreadsheet" }).waitFor();
  await page.goto(`${board}/new`);
  expect(await page.getByLabel("Title").inputValue()).toBe("");
  // The next user of the browser must not see the text.
  await until(async () => {
    await page.getByLabel("Description").fill("For my eyes only.");
    return page.evaluate(() => JSON.stringify({ ...sessionStorage }).includes("my eyes"));
  });
  await page.locator("#account summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in" }).first().waitFor();
  await page.goto(`${board}/new`);
  expect(await page.getByLabel("Description").inputValue()).toBe("");
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain("my eyes");
});

test("comments are answered, changed and deleted by keyboard", async () => {
  const id = await titled("By keyboard");
  await newComment(id, await newUser("Ben"), { body: "Which one?" });
  const { page } = await newPage();
  await page.goto(`/submissions/${id}`);
  await page.locator("summary", { hasText: "Reply" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("This one.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator(".replies").getByText("This one.").waitFor();
  await page.getByRole("link", { name: /^Edit \(/ }).press("Enter");
  await page.getByLabel("Comment", { exact: true }).fill("That one.");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await page.locator(".replies").getByText("That one.").waitFor();
  await page.getByRole("link", { name: "Delete" }).press("Enter");
  await page.getByRole("button", { name: "Delete" }).press("Enter");
  await page.getByRole("heading", { name: "1 comment" }).waitFor();
});

test("a comment on a later page is in view for who follows its address, of today or of before, and for who wrote it", async () => {
  const id = await titled("With many comments");
  const { userId } = await newPage();
  await sql`insert into public.comments (submission_id, body, author_id)
    select ${id}, 'Comment ' || n, ${userId} from generate_series(1, 60) n`;
  const last = await newComment(id, { id: userId }, { body: "The last of them" });
  const { page } = await newPage();
  const inView = async (text: string) => {
    const comment = page.locator(".comment", { hasText: text });
    await comment.waitFor();
    await until(() => comment.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight + 1));
    expect(await comment.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(0);
    expect(await comment.getAttribute("aria-current")).toBe("true");
  };
  for (const address of [`#comment-${last}`, `?comment=${last}#comment-${last}`, `?comment=${last}`]) {
    await page.goto("/robots.txt");
    await page.goto(`/submissions/${id}${address}`);
    await inView("The last of them");
  }
  await page.goto(`/submissions/${id}?comment=${last}#comment-00000000-0000-4000-8000-000000000000`);
  await page.getByText("can’t be shown").waitFor();
  await page.goto(`/submissions/${id}`);
  await page.getByLabel("Add a comment").fill("My own, at the end");
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await inView("My own, at the end");
  expect(await page.getByLabel("Add a comment").inputValue()).toBe("");
  await page.locator(`#vote-${last} button`).click();
  await page.locator(`#vote-${last} button[aria-pressed=true]`).waitFor();
  await page.getByRole("link", { name: "All comments" }).click();
  await page.getByText("Comment 1", { exact: true }).waitFor();
});

test("all of it works without JavaScript", async () => {
  const id = await titled("Sort jobs by distance");
  const { page } = await newPage({ javaScriptEnabled: false });
  await page.goto(board);
  await page.locator(`#vote-${id} button`).click();
  await page.locator(`#vote-${id} button[aria-pressed=true]`).waitFor();
  await page.getByRole("link", { name: "New submission" }).first().click();
  await page.getByLabel("Title").fill("Sort jobs by distance again");
  await page.getByLabel("Description").fill("The nearest job should come first.");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.locator("#similar").getByText("Sort jobs by distance").waitFor();
  await page.getByRole("button", { name: "None of these, submit mine" }).click();
  await page.getByRole("heading", { name: "Sort jobs by distance again" }).waitFor();
  await page.getByLabel("Add a comment").fill("Mine too.");
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await page.locator("summary", { hasText: "Reply" }).click();
  await page
    .getByLabel(/^Reply to/)
    .last()
    .fill("And mine.");
  await page.getByRole("button", { name: "Reply" }).click();
  await page.locator(".replies").getByText("And mine.").waitFor();
  await page.getByRole("button", { name: "Following" }).click();
  await page.getByRole("button", { name: "Follow", exact: true }).waitFor();
});
