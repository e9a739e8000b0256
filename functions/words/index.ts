import type { Locale } from "../../shared/locales.ts";
import { admin as deAdmin } from "./de/admin.ts";
import { errors as deErrors } from "./de/errors.ts";
import { mail as deMail } from "./de/mail.ts";
import { pages as dePages } from "./de/pages.ts";
import { words as deWords } from "./de/words.ts";
import type { AdminTexts } from "./en/admin.ts";
import { admin as enAdmin } from "./en/admin.ts";
import type { ErrorTexts } from "./en/errors.ts";
import { errors as enErrors } from "./en/errors.ts";
import type { MailTexts } from "./en/mail.ts";
import { mail as enMail } from "./en/mail.ts";
import type { Pages } from "./en/pages.ts";
import { pages as enPages } from "./en/pages.ts";
import type { Words } from "./en/words.ts";
import { words as enWords } from "./en/words.ts";
import { admin as esAdmin } from "./es/admin.ts";
import { errors as esErrors } from "./es/errors.ts";
import { mail as esMail } from "./es/mail.ts";
import { pages as esPages } from "./es/pages.ts";
import { words as esWords } from "./es/words.ts";
import { admin as frAdmin } from "./fr/admin.ts";
import { errors as frErrors } from "./fr/errors.ts";
import { mail as frMail } from "./fr/mail.ts";
import { pages as frPages } from "./fr/pages.ts";
import { words as frWords } from "./fr/words.ts";
import { admin as itAdmin } from "./it/admin.ts";
import { errors as itErrors } from "./it/errors.ts";
import { mail as itMail } from "./it/mail.ts";
import { pages as itPages } from "./it/pages.ts";
import { words as itWords } from "./it/words.ts";
import { admin as jaAdmin } from "./ja/admin.ts";
import { errors as jaErrors } from "./ja/errors.ts";
import { mail as jaMail } from "./ja/mail.ts";
import { pages as jaPages } from "./ja/pages.ts";
import { words as jaWords } from "./ja/words.ts";
import { admin as ptBRAdmin } from "./pt-BR/admin.ts";
import { errors as ptBRErrors } from "./pt-BR/errors.ts";
import { mail as ptBRMail } from "./pt-BR/mail.ts";
import { pages as ptBRPages } from "./pt-BR/pages.ts";
import { words as ptBRWords } from "./pt-BR/words.ts";
import { admin as ruAdmin } from "./ru/admin.ts";
import { errors as ruErrors } from "./ru/errors.ts";
import { mail as ruMail } from "./ru/mail.ts";
import { pages as ruPages } from "./ru/pages.ts";
import { words as ruWords } from "./ru/words.ts";

type Texts = { words: Words; pages: Pages; mail: MailTexts; admin: AdminTexts; errors: ErrorTexts };

const texts: Record<Locale, Texts> = {
  en: { words: enWords, pages: enPages, mail: enMail, admin: enAdmin, errors: enErrors },
  es: { words: esWords, pages: esPages, mail: esMail, admin: esAdmin, errors: esErrors },
  fr: { words: frWords, pages: frPages, mail: frMail, admin: frAdmin, errors: frErrors },
  de: { words: deWords, pages: dePages, mail: deMail, admin: deAdmin, errors: deErrors },
  ru: { words: ruWords, pages: ruPages, mail: ruMail, admin: ruAdmin, errors: ruErrors },
  "pt-BR": { words: ptBRWords, pages: ptBRPages, mail: ptBRMail, admin: ptBRAdmin, errors: ptBRErrors },
  ja: { words: jaWords, pages: jaPages, mail: jaMail, admin: jaAdmin, errors: jaErrors },
  it: { words: itWords, pages: itPages, mail: itMail, admin: itAdmin, errors: itErrors },
};

/** The texts of each area of the dashboard, with the shared words. */
export type AreaTexts = {
  [Area in keyof AdminTexts]: Words & AdminTexts[Area] & (Area extends "categories" | "tags" ? AdminTexts["labels"] : unknown);
};

export type Messages = Pages & MailTexts & { words: Words; admin: AreaTexts; errorTexts: ErrorTexts };

/** Texts from right to left, and signs that change the direction of what follows. */
const turns = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}\u202A-\u202E\u2066-\u2069]/u;

/** A text of people for a sentence of ours, whose order it does not change: between U+2068 and U+2069 if it could. */
export const isolated = (text: string) => (turns.test(text) ? `\u2068${text.replace(/[\u202A-\u202E\u2066-\u2069]/g, "")}\u2069` : text);

/** Texts whose functions isolate what they are given. */
function isolating<Of>(texts: Of): Of {
  if (typeof texts === "function") return ((...given: unknown[]) => texts(...given.map((one) => (typeof one === "string" ? isolated(one) : one)))) as Of;
  if (typeof texts !== "object" || texts === null || Array.isArray(texts)) return texts;
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, isolating(text)])) as Of;
}

const messages = Object.fromEntries(
  Object.entries(texts).map(([locale, { words, pages, mail, admin, errors: errorTexts }]) => {
    const areas = { ...admin, categories: { ...admin.labels, ...admin.categories }, tags: { ...admin.labels, ...admin.tags } };
    const withWords = Object.entries(areas).map(([area, own]) => [area, { ...words, ...own }]);
    return [locale, isolating({ ...pages, ...mail, words, errorTexts, admin: Object.fromEntries(withWords) })];
  }),
) as Record<Locale, Messages>;

export const messagesOf = (locale: Locale): Messages => messages[locale];
