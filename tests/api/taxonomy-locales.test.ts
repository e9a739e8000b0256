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

describe("categories", () => {
  it("have id, name, slug and color, in the organization's order", async () => {
    const { data } = expectJson(await get("categories"), 200, categoryList);
    expect(data).toEqual([
      { id: expect.any(String), name: "Mobile", slug: "mobile", color: "#112233" },
      { id: expect.any(String), name: "Web", slug: "web", color: "#aabbcc" },
    ]);
  });

  it.each([
    ["en", "Mobile"],
    ["es", "Móvil"],
    ["fr", "Portable"],
    ["de", "Handy"],
    ["ru", "Мобильный"],
    ["pt-BR", "Celular"],
    ["ja", "モバイル"],
    ["it", "Mobile"],
  ])("have names in %s, or in English without a translation", async (language, name) => {
    const answer = await get("categories", language);
    expect(expectJson(answer, 200, categoryList).data.map((category) => category.name)).toEqual([name, "Web"]);
    expect(answer.headers["content-language"]).toBe(language);
    expect(answer.headers.vary).toMatch(/accept-language/i);
  });

  it.each([
    ["PT-br", "pt-BR"],
    ["pt-PT", "pt-BR"],
    ["de-CH, fr;q=0.9", "de"],
    ["nl, fr;q=0.2, es;q=0.8", "es"],
    ["nl", "en"],
    ["de;q=0, *", "en"],
    ["x".repeat(5000), "en"],
    [", ;;q=, \u00e9", "en"],
    ["", "en"],
  ])("for Accept-Language %s are in %s", async (header, locale) => {
    expect((await get("categories", header)).headers["content-language"]).toBe(locale);
  });
});

describe("tags", () => {
  it("have id, name, slug and color, by slug", async () => {
    const { data } = expectJson(await get("tags"), 200, tagList);
    expect(data).toEqual([
      { id: expect.any(String), name: "Design", slug: "design", color: "#6b7280" },
      { id: expect.any(String), name: "Speed", slug: "speed", color: "#6b7280" },
    ]);
  });

  it.each([
    ["de", ["Design", "Tempo"]],
    ["it", ["Progettazione", "Speed"]],
    ["ja", ["Design", "Speed"]],
  ])("have names in %s, and in English when the translation is missing or empty", async (language, names) => {
    expect(expectJson(await get("tags", language), 200, tagList).data.map(({ name }) => name)).toEqual(names);
  });
});

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
