import type { Locale } from "../../shared/locales.ts";

type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** Creates messages with a number: `#` is replaced by it in the format of the language. */
export function counter(locale: Locale) {
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  return (forms: Forms) => (n: number) => (forms[rules.select(n)] ?? forms.other).replaceAll("#", numbers.format(n));
}
