import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { root } from "../../local/postgres/database-server.ts";
import { type Locale, locales } from "../../shared/locales.ts";
import { tableUnder } from "../docs/markdown.ts";

type Message = (...values: unknown[]) => string;

/** Every message of a catalogue by name. */
function messagesIn(catalogue: object, prefix = ""): [name: string, message: string | Message][] {
  return Object.entries(catalogue).flatMap(([name, message]): [string, string | Message][] =>
    typeof message === "object"
      ? messagesIn(message, `${prefix}${name}.`)
      : Object.hasOwn(messagesOf("en").words, name)
        ? []
        : [[prefix + name, message]],
  );
}

/** Every text by name: one for each plural form of a message with a number. The areas of the dashboard repeat `words`. */
const textsOf = (locale: Locale): [name: string, text: string][] =>
  messagesIn({ ...messagesOf(locale), words: {} }).flatMap(([name, message]): [string, string][] =>
    typeof message === "string"
      ? [[name, message]]
      : isCounter(message)
        ? counts.map((n) => [`${name}(${n})`, message(n)])
        : [[name, message("※", "※")]],
  );

/** Whether the message is one of `counter`, which chooses a plural form: it writes what it is given as a number. */
const isCounter = (message: Message) => /NaN|не\u00A0число/.test(message("※", "※"));

const counts = [0, 1, 2, 5, 11, 21, 1_000_000];

type Rules = [what: string, broken: RegExp][];

const straight: Rules = [
  ["a straight quote or apostrophe", /["']/],
  ["three dots", /\.\.\./],
  ["a double space", / {2}|^ | $/],
  ["a hyphen as a dash", / - /],
];

/** Signs that a language does not use, or uses in another place. */
const typography: Record<Locale, Rules> = {
  en: [...straight, ["foreign quotes", /[„«»]/], ["a space before a sign", / ([:;!?,]|\.(?!\p{L}))/u]],
  de: [
    ...straight,
    ["quotes other than „…“", /[«»”]|(^|[\s(])“/],
    ["a space before a sign", / ([:;!?,]|\.(?!\p{L}))/u],
  ],
  es: [
    ...straight,
    ["quotes other than «…»", /[„“”]/],
    ["a space before a sign", / ([:;!?,]|\.(?!\p{L}))/u],
    ["a question without ¿", /^[^¿]*\?/],
    ["an exclamation without ¡", /^[^¡]*!/],
  ],
  fr: [
    ...straight,
    ["quotes other than « … »", /[„“”]/],
    ["no narrow no-break space before a sign", /(?<!\u202F)[:;!?»](?!\/\/)(?!\S*\.\S)/],
    ["no narrow no-break space after «", /«(?!\u202F)/],
  ],
  it: [...straight, ["quotes other than «…»", /[„“”]/], ["a space before a sign", / ([:;!?,]|\.(?!\p{L}))/u]],
  ja: [
    ...straight,
    [
      "half-width punctuation",
      /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー」）]\s?[:;!?,.()]|[(),!?] ?[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u,
    ],
    ["no space before Latin letters or digits", /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー][A-Za-z0-9]/u],
    ["no space after Latin letters or digits", /[A-Za-z0-9][\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u],
    ["a space beside full-width punctuation", /[、。：？！「」（）] | [、。：？！「」（）]/],
  ],
  "pt-BR": [...straight, ["quotes other than “…”", /[„«»]/], ["a space before a sign", / ([:;!?,]|\.(?!\p{L}))/u]],
  ru: [
    ...straight,
    ["quotes other than «…»", /[”]|(^|[\s(])“/],
    ["a space before a sign", / ([:;!?,]|\.(?!\p{L}))/u],
    ["a dash without its spaces", /\S—|—\S/],
  ],
};

const word = (words: string) => new RegExp(`(?<![\\p{L}’-])(${words})(?![\\p{L}-])`, "iu");

/** Forms of another address than the one of CONTRIBUTING.md, or of one gender of the reader. */
const address: Record<Locale, Rules> = {
  en: [["British or formal words", word("everybody|nobody|somebody|e-mails?|colour|cancelled|shall")]],
  de: [["du", word("du|dich|dir|dein(e[mnrs]?)?|euch|euer|eure[mnrs]?")]],
  es: [["usted or vosotros", word("ustedes|usted|vosotr[oa]s|os|vuestr[oa]s?")]],
  fr: [
    ["tu", word("tu|te|toi|ton|ta|tes")],
    ["two genders", /[\p{L}]\(e\)|·e|\(e\)s/u],
  ],
  it: [["voi or Lei", /(?<!\p{L})(voi|vi|vostr[oaie]|Lei|Sua|Suo|La preghiamo)(?!\p{L})/u]],
  ja: [["plain forms", /(だ|である|する|ない|れる)。|(?<!まし|でし)た。/]],
  "pt-BR": [["tu", word("tu|te|ti|teus?|tuas?|contigo|voss[oa]s?")]],
  ru: [
    ["ты", word("ты|тебя|тебе|тобой|твой|твоя|твоё|твои|твоего|твоих")],
    ["a capital Вы", /(?<=\p{Ll},? )В(ы|ас|ам|ами)(?!\p{L})/u],
    ["one gender of the reader", /(?<!\p{L})вы (не |уже |ещё |сами )?\p{L}+(л|лся|ла|лась)(?!\p{L})/iu],
  ],
};

describe.each(locales)("the texts in %s", (locale) => {
  const texts = textsOf(locale);
  const broken = (rules: Rules) =>
    texts.flatMap(([name, text]) =>
      rules.filter(([, rule]) => rule.test(text)).map(([what]) => `${name}: ${what}: ${text}`),
    );

  test("have the signs of the language", () => {
    expect(broken(typography[locale])).toEqual([]);
  });

  test("address the reader in one way", () => {
    expect(broken(address[locale])).toEqual([]);
  });

  test("write every number in the format of the language", () => {
    const number = new Intl.NumberFormat(locale);
    const counters = messagesIn(messagesOf(locale)).flatMap(([name, message]) =>
      typeof message === "function" && isCounter(message) ? [[name, message] as const] : [],
    );
    expect(counters.length).toBeGreaterThan(40);
    for (const [name, message] of counters)
      for (const n of counts) {
        const text = message(n);
        // “One more reply” where that form is for 1 only.
        if (n !== 1) expect(text, `${name}(${n})`).toContain(number.format(n));
        expect(text, `${name}(${n})`).not.toContain("#");
      }
  });

  test("have one word for each term of the glossary", () => {
    const others = glossary(locale).flatMap(({ term, words, not }) =>
      texts.flatMap(([name, text]) => {
        const rest = words.reduce((left, right) => left.replaceAll(new RegExp(escaped(right), "giu"), "…"), text);
        const found = not.find((other) => new RegExp(startsWord(locale) + escaped(other), "iu").test(rest));
        return found ? [`${term} is not “${found}”: ${name}: ${text}`] : [];
      }),
    );
    expect(others).toEqual([]);
  });
});

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
/** Japanese has no spaces between words. */
const startsWord = (locale: Locale) => (locale === "ja" ? "" : "(?<!\\p{L})");

/** The words of a language in docs/glossary.md, whose columns are in the order of `locales`: those to use, and after “not” stems of others. */
function glossary(locale: Locale) {
  const column = locales.indexOf(locale) + 1;
  return tableUnder("docs/glossary.md", "In eight languages").map((row) => {
    const [words = "", not = ""] = (row[column] ?? "").split("; not ");
    return { term: row[0] ?? "", words: words.split(", ").filter(Boolean), not: not.split(", ").filter(Boolean) };
  });
}

test("the glossary has a word for each term in each language", () => {
  for (const locale of locales) {
    const terms = glossary(locale);
    expect(terms.length).toBeGreaterThan(59);
    expect(terms.filter(({ words }) => words.length === 0)).toEqual([]);
  }
});

test("the errors that pages word themselves are errors of the API", () => {
  const folders = ["supabase/schemas", "functions/_shared", "functions/web", "functions/endpoints"];
  const sources = folders.flatMap((folder) =>
    readdirSync(`${root}/${folder}`, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(sql|tsx?)$/.test(name) && !name.endsWith(".generated.ts"))
      .map((name) => readFileSync(`${root}/${folder}/${name}`, "utf8")),
  );
  // As SQL joins strings and doubles an apostrophe, and `format` inserts a word.
  const messages = sources
    .join("\n")
    .replace(/'\s*\n\s*'/g, "")
    .replaceAll("''", "'");
  const isRaised = (message: string) =>
    messages.includes(message) || messages.includes(message.replace(/^Another \w+/, "Another %s"));
  expect(Object.keys(messagesOf("en").errorTexts).filter((message) => !isRaised(message))).toEqual([]);
});
