import type { Locale } from "../../../../shared/locales.ts";

/** The messages of an area in each language; one that a language lacks does not compile. */
export const catalogue =
  <Messages>(all: { en: Messages } & Record<Exclude<Locale, "en">, NoInfer<Messages>>) =>
  (locale: Locale): Messages =>
    all[locale];
