import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultMigrations } from "../../local/postgres/database-server.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { launchBrowser } from "./browser.ts";
import { type DemoUser, signInAs } from "./demo.ts";
import { placesOf } from "./places.ts";

// Every page of the demo data, whose people all write in Hebrew, in a time zone three quarters of an hour from the others.

const timeZone = "Pacific/Chatham";
const hebrew = `translate(regexp_replace(lower(normalize(%, NFD)), '[\u0300-\u036f]', '', 'g'),
  'abcdefghijklmnopqrstuvwxyzßøæœıł', 'אבגדהוזחטיכלמנסעפצקרשתךםןץסואוטל')`;
const written = {
  "public.organizations": ["name"],
  "public.profiles": ["name"],
  "public.categories": ["name"],
  "public.tags": ["name"],
  "public.submissions": ["title", "description"],
  "public.comments": ["body"],
  "public.status_changes": ["note"],
  "public.surveys": ["title", "description"],
  "public.survey_questions": ["text"],
  "public.survey_options": ["text"],
  "private.api_keys": ["name"],
  "private.agents": ["description"],
};

let own: OwnStack;
let browser: Browser;
const pages = new Map<DemoUser | undefined, Promise<Page>>();

beforeAll(async () => {
  own = await startOwnStack({
    migrations: defaultMigrations,
    seed: "demo",
    parts: ["web", "auth", "rest"],
    withOrganization: false,
  });
  browser = await launchBrowser();
  await own.sql.begin(async (sql) => {
    // The triggers of submissions index their texts.
    for (const table of [...Object.keys(written), "public.survey_responses"])
      if (table !== "public.submissions") await sql.unsafe(`alter table ${table} disable trigger user`);
    for (const [table, columns] of Object.entries(written))
      await sql.unsafe(
        `update ${table} set ${columns.map((column) => `${column} = ${hebrew.replace("%", column)}`).join(", ")}`,
      );
    await sql`update public.categories set translations = '{}'`;
    await sql`update public.tags set translations = '{}'`;
    await sql.unsafe(`update public.survey_responses r set answers = (
      select jsonb_agg(case jsonb_typeof(a -> 'value')
        when 'string' then jsonb_set(a, '{value}', to_jsonb(${hebrew.replace("%", "a ->> 'value'")}))
        when 'array' then jsonb_set(a, '{value}', ${hebrew.replace("%", "(a -> 'value')::text")}::jsonb)
        else a end)
      from jsonb_array_elements(r.answers) a)`);
    await sql`update public.organizations set time_zone = ${timeZone}`;
  });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await own?.remove();
});

async function newPage(user: DemoUser | undefined): Promise<Page> {
  const context = await browser.newContext({ baseURL: own.site_url, locale: "en-US" });
  if (user) await signInAs(context, own, user);
  return context.newPage();
}

/** Texts that are laid out from the wrong side, and times that are not those of the zone. */
const wrongOn = (page: Page) =>
  page.evaluate((timeZone) => {
    const wrong: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const at = node.parentElement as HTMLElement;
      const text = (node.textContent ?? "").replace(/\u2068.*?\u2069/gs, "");
      if (!/\p{Script=Hebrew}/u.test(text) || at.closest("script, style, svg, pre")) continue;
      const around = at.closest("mark")?.parentElement ?? at;
      const { direction, unicodeBidi } = getComputedStyle(around);
      const isOurs = [...around.childNodes].some(
        (child) =>
          child.nodeType === Node.TEXT_NODE &&
          /\p{Script=Latin}/u.test((child.textContent ?? "").replace(/\u2068.*?\u2069/gs, "")),
      );
      if ((direction !== "rtl" && unicodeBidi !== "plaintext") || isOurs)
        wrong.push(
          `${isOurs ? "mixed" : "left"}: <${at.tagName.toLowerCase()} class="${at.className}"> ${text.trim()}`,
        );
    }
    for (const field of document.querySelectorAll<HTMLInputElement>("input, textarea")) {
      const { direction, unicodeBidi } = getComputedStyle(field);
      if (direction !== "rtl" && unicodeBidi !== "plaintext" && field.type !== "hidden") wrong.push(field.name);
    }
    for (const time of document.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone }).format(at);
      const clock = /\d:\d\d/.test(time.textContent ?? "") && !/GMT\+1[23]:45/.test(time.textContent ?? "");
      if (!time.textContent?.startsWith(day) || clock) wrong.push(`${time.dateTime} is ${time.textContent}`);
    }
    return [...new Set(wrong)].slice(0, 10);
  }, timeZone);

test("every text of people has its own direction, and every time is that of the organization", async () => {
  const [word] = await own.sql<
    { title: string }[]
  >`select title from public.submissions order by vote_count desc limit 1`;
  const places = await placesOf(own);
  places.push({ name: "board, marked", path: `/?q=${encodeURIComponent(word?.title ?? "")}` });
  const wrong: Record<string, string[]> = {};
  for (const { name, path, as } of places) {
    const created = pages.get(as) ?? newPage(as);
    pages.set(as, created);
    const page = await created;
    await page.goto(path, { waitUntil: "load" });
    const found = await wrongOn(page);
    if (found.length > 0) wrong[name] = found;
  }
  expect(wrong).toEqual({});
}, 240_000);
