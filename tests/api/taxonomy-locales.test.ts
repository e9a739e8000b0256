import { describe, expect, it } from "vitest";
import { locales } from "../../shared/locales.ts";
import { categoryList, tagList } from "../../shared/taxonomy.ts";
import { sql, stack } from "../stack.ts";
import { api, expectJson } from "./client.ts";
import { newOrganization } from "./world.ts";

const translations = { es: "Móvil", fr: "Portable", de: "Handy", ru: "Мобильный", "pt-BR": "Celular", ja: "モバイル" };
const organization = await newOrganization();
await sql`insert into public.categories (organization_id, name, slug, color, position, translations) values
    (${organization.id}, 'Web', 'web', '#aabbcc', 2, '{}'), (${organization.id}, 'Mobile', 'mobile', '#112233', 1, ${sql.json(translations)})`;
await sql`insert into public.tags (organization_id, name, slug, translations) values
    (${organization.id}, 'Speed', 'speed', '{"de": "Tempo", "it": ""}'), (${organization.id}, 'Design', 'design', '{"it": "Progettazione"}')`;

const get = (kind: string, language?: string, id = organization.id) =>
  api(
    "GET",
    `/api/organizations/${id}/${kind}`,
    language === undefined ? {} : { headers: { "accept-language": language } },
  );

describe.each([
  ["categories", categoryList],
  ["tags", tagList],
] as const)("the list of %s", (kind, schema) => {
  it("is empty for an organization without any", async () => {
    expect(expectJson(await get(kind, "de", (await newOrganization()).id), 200, schema).data).toEqual([]);
  });

  it("contains one organization only", async () => {
    expect(expectJson(await get(kind), 200, schema).data).toHaveLength(2);
  });

  it.each(locales)("of the demo is translated into %s", async (locale) => {
    const demo = stack.demo?.organization.id;
    const { data } = expectJson(await get(kind, locale, demo), 200, schema);
    const english = expectJson(await get(kind, "en", demo), 200, schema).data;
    // Another file may add or delete a row of the demo in between.
    const both = data.filter(({ id }) => english.some((one) => one.id === id));
    expect(both.length).toBeGreaterThan(3);
    const same = both.filter(({ id, name }) => english.some((one) => one.id === id && one.name === name));
    expect(same.length === both.length).toBe(locale === "en");
  });
});
