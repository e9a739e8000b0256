import { expect, test } from "vitest";
import { isolated, messagesOf } from "../../functions/words/index.ts";
import { locales } from "../../shared/locales.ts";

test.each([
  ["Ann Other", "Ann Other"],
  ["日本 太郎", "日本 太郎"],
  ["دانا", "\u2068دانا\u2069"],
  ["Dana (דנה)!", "\u2068Dana (דנה)!\u2069"],
  ["ޝަހިންދާ", "\u2068ޝަހިންދާ\u2069"],
  ["𞤀𞤁𞤂", "\u2068𞤀𞤁𞤂\u2069"],
  // It would turn the rest of the sentence, or end the isolation.
  ["\u202Eevil", "\u2068evil\u2069"],
  ["a\u2069b", "\u2068ab\u2069"],
])("%s in a sentence of ours is %s", (text, written) => {
  expect(isolated(text)).toBe(written);
});

test.each(locales)("sentences in %s isolate what they are given", (locale) => {
  const { mail, admin, words, comments } = messagesOf(locale);
  for (const sentence of [
    mail.invites("דנה", "שלום"),
    mail.why("שלום"),
    admin.frame.createdBy("דנה"),
    admin.people.removeText("דנה"),
    comments.replyTo("דנה"),
    words.quoted("שלום"),
  ])
    expect(sentence.replaceAll(/\u2068.*?\u2069/g, "")).not.toMatch(/\p{Script=Hebrew}/u);
});
