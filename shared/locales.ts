import { z } from "zod";

export const locales = ["en", "es", "fr", "de", "ru", "pt-BR", "ja", "it"] as const;
const defaultLocale = "en";

export const locale = z
  .enum(locales)
  .meta({ id: "Locale", description: "A language names are translated into." });

export type Locale = z.infer<typeof locale>;

/** Browsers send less than 200; what is longer asks for nothing we could honour. */
const longestHeader = 2000;

type LanguageRange = { range: string; quality: number };

/** The best of our locales for an Accept-Language header (RFC 9110, 12.5.4), English where none fits. */
export function negotiateLocale(acceptLanguage: string | null | undefined): Locale {
  if (!acceptLanguage || acceptLanguage.length > longestHeader) return defaultLocale;
  const ranges = acceptLanguage.split(",").flatMap(languageRange);
  const named = locales.filter((locale) => ranges.some(({ range }) => covers(range, locale)));
  const refused = locales.filter((locale) => ranges.some((r) => r.quality === 0 && covers(r.range, locale)));
  const others = locales.filter((locale) => !named.includes(locale));
  for (const { range, quality } of ranges.sort((a, b) => b.quality - a.quality)) {
    if (quality === 0) break;
    const candidates = range === "*" ? others : matches(range);
    const found = candidates.find((locale) => !refused.includes(locale));
    if (found) return found;
  }
  return defaultLocale;
}

function languageRange(part: string): LanguageRange[] {
  const [range = "", weight = "q=1", ...rest] = part.split(";").map((piece) => piece.trim().toLowerCase());
  if (rest.length > 0 || !/^(\*|[a-z0-9-]+)$/.test(range)) return [];
  if (!/^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight)) return [];
  return [{ range, quality: Number(weight.slice(2)) }];
}

/** Whether a range names the locale itself: `pt` covers pt-BR, `pt-PT` and `*` do not. */
function covers(range: string, locale: Locale): boolean {
  const tag = locale.toLowerCase();
  return tag === range || tag.startsWith(`${range}-`);
}

/** The locale itself, else one of the same language: de-AT is served de, pt-PT is served pt-BR. */
function matches(range: string): Locale[] {
  const language = range.split("-", 1)[0];
  return locales.filter((locale) => locale.split("-", 1)[0] === language);
}
