import { expect, it } from "vitest";
import { locales } from "../../shared/locales.ts";
import { categoryList } from "../../shared/taxonomy.ts";
import { stack } from "../stack.ts";
import { getJson } from "./client.ts";

const kinds = ["categories", "tags"] as const;

it.each(kinds.flatMap((kind) => locales.map((locale) => [kind, locale] as const)))(
  "the %s of the demo are translated into %s",
  async (kind, locale) => {
    const path = `/api/organizations/${stack.demo?.organization.id}/${kind}`;
    const listed = async (language: string) =>
      (await getJson(path, categoryList, { headers: { "accept-language": language } })).data;
    const [data, english] = [await listed(locale), await listed("en")];
    // Another file may add or delete a row of the demo in between.
    const both = data.filter(({ id }) => english.some((one) => one.id === id));
    expect(both.length).toBeGreaterThan(3);
    const same = both.filter(({ id, name }) => english.some((one) => one.id === id && one.name === name));
    expect(same.length === both.length).toBe(locale === "en");
  },
);
