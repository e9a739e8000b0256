import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import type { Sql } from "postgres";
import { launchBrowser } from "../../tests/browsers/browser.ts";
import { signInAs } from "../../tests/browsers/demo.ts";
import { type Place, placesOf } from "../../tests/browsers/places.ts";
import { withDatabase } from "../postgres/database.ts";
import { root } from "../postgres/database-server.ts";
import { type Stack, startStack } from "../stack.ts";
import { demoMails } from "./demo-mails.ts";

const widths = [360, 768, 1280];
const themes = ["light", "dark"] as const;
type Look = { width: number; theme: (typeof themes)[number]; isWhole: boolean };

/**
 * Takes screenshots of the pages with the demo data. Without an argument: those of README.md and docs/mail.md, into
 * docs/images. With a folder: every full page in both themes at each width.
 */
async function main([folder]: string[]): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "feedback-screenshots-"));
  const stack = await startStack({ port: 0, dbPort: 0, dataDir, seed: "demo" });
  const browser = await launchBrowser();
  try {
    const target = folder ? resolve(folder) : join(root, "docs", "images");
    await mkdir(target, { recursive: true });
    const all = await placesOf(stack);
    const pages = folder ? all : readmePlaces(all);
    const { mails, paths } = await demoMails(stack);
    if (folder) pages.push(...paths.map((path) => ({ name: path.split("?")[0] ?? "", path })));
    const looks = folder
      ? themes.flatMap((theme) => widths.map((width) => ({ width, theme, isWhole: true })))
      : themes.map((theme) => ({ width: 1280, theme, isWhole: false }));
    const sessions = new Map<Place["as"], Session>();
    for (const page of pages) {
      const session = sessions.get(page.as) ?? (await sessionOf(browser, stack, page.as));
      sessions.set(page.as, session);
      for (const look of looks) {
        const name = page.name.replace(/\W+/g, "-");
        const file = folder ? `${name}-${look.width}-${look.theme}` : `${name}-${look.theme}`;
        await shoot(browser, stack, session, page.path, look, join(target, `${file}.png`));
      }
      if (!folder && page.name === "board") await withDatabase(stack.db_url, makePending);
    }
    for (const [name, html] of mails) {
      const mailLooks = folder ? looks : [{ width: 600, theme: "light" as const, isWhole: true }];
      for (const look of mailLooks) {
        const file = folder ? `mail-${name}-${look.width}-${look.theme}` : `mail-${name}`;
        await shootMail(browser, html, look, join(target, `${file}.png`));
      }
    }
  } finally {
    await browser.close();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The pages that the README shows. The board comes first: the inbox needs pending content. */
const readmePlaces = (pages: Place[]): Place[] => {
  const pathOf = (name: string) => pages.find((page) => page.name === name)?.path ?? "/";
  return [
    { name: "board", path: "/", as: "alice" },
    { name: "overview", path: "/admin", as: "owner" },
    { name: "inbox", path: "/admin/inbox", as: "owner" },
    { name: "survey-results", path: pathOf("admin, surveys, results"), as: "owner" },
  ];
};

/** The demo board needs no approval, so its inbox is empty: three of its submissions become pending. */
const makePending = (sql: Sql) => sql`
  update public.submissions set moderation_state = 'pending' where id in (
    select id from public.submissions where merged_into_id is null and moderation_state = 'approved' and status = 'open'
    order by created_at desc limit 3)`;

type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

/** The cookies of a user of the demo. */
async function sessionOf(browser: Browser, stack: Stack, user: Place["as"]): Promise<Session> {
  const context = await browser.newContext();
  try {
    if (user) await signInAs(context, stack, user);
    return await context.storageState();
  } finally {
    await context.close();
  }
}

async function shoot(
  browser: Browser,
  stack: Stack,
  storageState: Session,
  path: string,
  { width, theme, isWhole }: Look,
  file: string,
): Promise<void> {
  const context = await browser.newContext({
    baseURL: stack.site_url,
    colorScheme: theme,
    locale: "en-US",
    reducedMotion: "reduce",
    storageState,
    viewport: { width, height: width < 500 ? 740 : 800 },
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error") console.error(`${path}: ${message.text()}`);
  });
  page.on("pageerror", (error) => console.error(`${path}: ${error}`));
  await page.goto(path, { waitUntil: "load" });
  // Playwright hides the caret with an inline style, which the pages' policy rejects.
  page.removeAllListeners("console");
  await page.screenshot({ path: file, fullPage: isWhole });
  await context.close();
}

async function shootMail(browser: Browser, html: string, { width, theme }: Look, file: string) {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 400 } });
  const page = await context.newPage();
  await page.setContent(html);
  await page.screenshot({ path: file, fullPage: true });
  await context.close();
}

await main(process.argv.slice(2));
