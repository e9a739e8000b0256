import { beforeAll, describe, expect, test } from "vitest";
import { type AreaTexts, messagesOf } from "../../functions/words/index.ts";
import { locales } from "../../shared/locales.ts";
import { newOrganization, type Organization } from "../api/world.ts";
import { adminAreas } from "./admin/areas.ts";
import { signedIn, type Visitor } from "./pages.ts";
import { textsOf, wordsOf } from "./texts.ts";

const { words } = messagesOf("en");
const others = locales.filter((locale) => locale !== "en");
const messageAreas = Object.keys(messagesOf("en").admin) as (keyof AreaTexts)[];

describe.each(others)("in %s", (locale) => {
  test.each(messageAreas)("no message of %s is left in English, and none is empty", (area) => {
    const english = new Map(textsOf(messagesOf("en").admin[area]));
    const own = textsOf(messagesOf(locale).admin[area]).filter(
      ([name]) => !Object.hasOwn(words, name.split(".")[0] ?? ""),
    );
    const same = own.filter(([name, text]) => text === english.get(name));
    expect(same.filter(([, text]) => text.split(" ").length > 2)).toEqual([]);
    // Words may be the same by chance, as "tags" in French; most are not.
    expect(same.length).toBeLessThanOrEqual(3 + own.length / 8);
    expect(own.filter(([, text]) => text.trim() === "")).toEqual([]);
  });
});

let organization: Organization;
let owner: Visitor;

beforeAll(async () => {
  organization = await newOrganization();
  owner = await signedIn({ organization, role: "owner" });
});

test.each(others)("no page shows an English message to who reads %s", async (locale) => {
  const textsIn = (language: (typeof locales)[number]) => textsOf(messagesOf(language).admin).map(([, text]) => text);
  const catalogue = new Set(textsIn(locale));
  const english = new Set(textsIn("en").filter((text) => !catalogue.has(text)));
  await owner.post("/preferences", { lang: locale });
  for (const [path] of adminAreas.flatMap(({ pages }) => pages).filter(([path]) => !/:|\/file\b/.test(path))) {
    const { html, status } = await owner.get(`/o/${organization.slug}/admin${path}`);
    expect(status, path).toBe(200);
    expect(html.querySelector("html")?.getAttribute("lang"), path).toBe(locale);
    expect(
      wordsOf(html).filter((text) => english.has(text)),
      `${locale} ${path}`,
    ).toEqual([]);
  }
});
