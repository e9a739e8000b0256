import { z } from "zod";

export const locales = ["en", "es", "fr", "de", "ru", "pt-BR", "ja", "it"] as const;
const defaultLocale = "en";

export const locale = z.enum(locales).meta({ id: "Locale", description: "A language of translations." });

export type Locale = z.infer<typeof locale>;

/** Browsers send less than 200 characters; longer headers are ignored. */
const maxHeaderLength = 2000;

type LanguageRange = { range: string; quality: number };

/** Best supported locale for an Accept-Language header (RFC 9110, 12.5.4); English by default. */
export function negotiateLocale(acceptLanguage: string | null | undefined): Locale {
  if (!acceptLanguage || acceptLanguage.length > maxHeaderLength) return defaultLocale;
  const ranges = acceptLanguage.split(",").flatMap(languageRange);
  const named = locales.filter((locale) => ranges.some(({ range }) => covers(range, locale)));
  const excluded = locales.filter((locale) => ranges.some((r) => r.quality === 0 && covers(r.range, locale)));
  const others = locales.filter((locale) => !named.includes(locale));
  for (const { range, quality } of ranges.sort((a, b) => b.quality - a.quality)) {
    if (quality === 0) break;
    const candidates = range === "*" ? others : matches(range);
    const found = candidates.find((locale) => !excluded.includes(locale));
    if (found) return found;
  }
  return defaultLocale;
}

/** Whether an Accept-Language header names a supported language, not only `*`. */
export const namesLocale = (acceptLanguage: string | null | undefined): boolean =>
  Boolean(acceptLanguage && acceptLanguage.length <= maxHeaderLength) &&
  (acceptLanguage ?? "")
    .split(",")
    .flatMap(languageRange)
    .some(({ range, quality }) => quality > 0 && matches(range).length > 0);

function languageRange(part: string): LanguageRange[] {
  const [range = "", weight = "q=1", ...rest] = part.split(";").map((piece) => piece.trim().toLowerCase());
  if (rest.length > 0 || !/^(\*|[a-z0-9-]+)$/.test(range)) return [];
  if (!/^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight)) return [];
  return [{ range, quality: Number(weight.slice(2)) }];
}

/** Whether a range matches the locale itself: `pt` matches pt-BR, `pt-PT` and `*` do not. */
function covers(range: string, locale: Locale): boolean {
  const tag = locale.toLowerCase();
  return tag === range || tag.startsWith(`${range}-`);
}

/** The locale itself, or one of the same language: de-AT gets de, pt-PT gets pt-BR. */
function matches(range: string): Locale[] {
  const language = range.split("-", 1)[0];
  return locales.filter((locale) => locale.split("-", 1)[0] === language);
}
