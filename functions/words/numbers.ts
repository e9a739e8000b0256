import type { Locale } from "../../shared/locales.ts";

/** The plural categories of each language: `many` is for 1,000,000 in Romance languages, `other` for fractions in Russian. */
type Categories = { en: "one" | "other"; es: "one" | "many" | "other"; fr: "one" | "many" | "other"; de: "one" | "other"; ru: "one" | "few" | "many" | "other"; "pt-BR": "one" | "many" | "other"; ja: "other"; it: "one" | "many" | "other" };

/** All categories of the language, or `other` alone for a message that is the same for every number. */
type Forms<Language extends Locale> = Record<Categories[Language], string> | ({ other: string } & { [Category in Exclude<Intl.LDMLPluralRule, "other">]?: never });

/** Creates messages with a number: `#` is replaced by it in the format of the language. */
export function counter<Language extends Locale>(locale: Language) {
  const rules = new Intl.PluralRules(locale);
  const number = numberFormat(locale);
  return (given: Forms<Language>) => {
    const forms: Partial<Record<Intl.LDMLPluralRule, string>> = given;
    return (n: number) => (forms[rules.select(n)] ?? forms.other ?? "").replaceAll("#", number(n));
  };
}

/** Writes numbers in the format of the language. */
export const numberFormat = (locale: Locale) => new Intl.NumberFormat(locale).format;
