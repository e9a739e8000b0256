import * as chrono from "chrono-node";
import MiniSearch from "minisearch";
import type { z } from "zod";
import type { Locale } from "../../../shared/locales.ts";
import type { Tool } from "../tool.ts";
import { examples } from "./examples.ts";
import { listed, untilWords, wordsOfValue } from "./words.ts";

/** The parsed call; confidence from 0 to 1. */
export type Understood = { tool: string; arguments: Record<string, unknown>; confidence: number };
/** At most 5 candidates, best first; missing lists required arguments without a value. */
export type Unclear = { candidates: { tool: string; score: number; missing: string[] }[] };

type Routable = Pick<Tool, "name" | "description" | "input">;

/**
 * Finds the tool for a sentence and its arguments: by similarity to examples in eight languages, and by whether the ids
 * and quoted texts fit the tool's arguments. Deterministic; no data leaves the process.
 */
export function parse(
  input: string,
  tools: readonly Routable[],
  locale: Locale,
  now = new Date(),
): Understood | Unclear {
  const sentence = read(input);
  const routes = route(sentence, tools, locale)
    .map(({ tool, score, language }) => fill(sentence, tool, score, language, now))
    .sort((a, b) => b.score - a.score);
  const [best, second] = routes;
  if (!best || best.missing.length > 0 || (second && second.score > best.score * clearMargin))
    return {
      candidates: routes.slice(0, 5).map(({ tool, score, missing }) => ({ tool, score: round(score), missing })),
    };
  const confidence = round(1 - (second ? second.score / best.score : 0) / 2);
  return { tool: best.tool, arguments: best.arguments, confidence };
}

const clearMargin = 0.98;
const round = (value: number) => Math.round(value * 100) / 100;

type ParsedSentence = { ids: string[]; quotes: string[]; words: string; numbers: number[] };

export const idPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const quotePattern =
  /"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])/gu;

/** Extracts ids and quoted texts; the rest is tokenized. */
function read(input: string): ParsedSentence {
  const ids = [...new Set(Array.from(input.matchAll(idPattern), ([id]) => id.toLowerCase()))];
  const quotes: string[] = [];
  const words = input.replace(idPattern, " ").replace(quotePattern, (_, ...groups) => {
    const quote = String(groups.slice(0, 7).find((group) => typeof group === "string")).trim();
    if (valueIn("status", quote, true)) return ` ${quote} `;
    quotes.push(quote);
    return " ";
  });
  return { ids, quotes, words, numbers: Array.from(words.matchAll(/(?<!\d)\d{1,3}(?!\d)/g), Number) };
}

type Route = { tool: Routable; score: number; language: Locale };

/** Best example of each tool by BM25, with a bonus for the caller's language. */
function route(sentence: ParsedSentence, tools: readonly Routable[], locale: Locale): Route[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const routes = new Map<string, Route>();
  for (const hit of indexFor(tools).search(sentence.words, {
    filter: ({ tool }) => byName.has(tool),
    boostDocument: (_, __, stored) => (stored?.language === locale ? 1.2 : 1),
  })) {
    const known = routes.get(hit.tool);
    const tool = byName.get(hit.tool);
    // Further matching examples of a tool increase its score.
    if (known) known.score += hit.score * 0.05;
    else if (tool) routes.set(hit.tool, { tool, score: hit.score, language: hit.language });
  }
  return [...routes.values()];
}

let index: MiniSearch | undefined;

/** One index for all callers; tools a caller may not use are filtered out of the result. */
function indexFor(tools: readonly Routable[]): MiniSearch {
  index ??= indexOfExamples();
  for (const { name, description } of tools)
    if (!(name in examples) && !index.has(name))
      index.add({ id: name, tool: name, language: "en", text: `${name.replaceAll("_", " ")} ${description}` });
  return index;
}

function indexOfExamples(): MiniSearch {
  const index = new MiniSearch({
    fields: ["text"],
    storeFields: ["tool", "language"],
    tokenize,
    processTerm: normalize,
    searchOptions: { prefix: (term) => term.length > 3, fuzzy: (term) => (term.length > 4 ? 0.25 : false) },
  });
  for (const [tool, byLanguage] of Object.entries(examples))
    for (const [language, texts] of Object.entries(byLanguage))
      index.addAll(listed(texts).map((text, i) => ({ id: `${tool} ${language} ${i}`, tool, language, text })));
  return index;
}

const segmenters = {
  ja: new Intl.Segmenter("ja", { granularity: "word" }),
  other: new Intl.Segmenter("en", { granularity: "word" }),
};
const japanese = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u;

function tokenize(text: string): string[] {
  const segmenter = japanese.test(text) ? segmenters.ja : segmenters.other;
  return Array.from(segmenter.segment(text)).flatMap(({ segment, isWordLike }) =>
    isWordLike ? segment.split("'") : [],
  );
}

const normalize = (term: string) =>
  term
    .normalize("NFKD")
    .replace(/(?<=\p{Script=Latin})\p{M}+/gu, "")
    .normalize("NFC")
    .toLowerCase();

type Filled = { tool: string; score: number; arguments: Record<string, unknown>; missing: string[] };

/** Fills the tool's arguments from the extracted values. Missing or unused values reduce the score. */
function fill(sentence: ParsedSentence, tool: Routable, score: number, language: Locale, now: Date): Filled {
  const shape = tool.input.shape as Record<string, z.ZodType>;
  const filled: Record<string, unknown> = {};
  const ids = [...sentence.ids];
  const quotes = [...sentence.quotes];
  const parameters = Object.keys(shape);
  const has = (name: string) => parameters.includes(name);

  if (has("source_ids") && has("target_id") && ids.length > 1) {
    filled.target_id = ids.pop();
    filled.source_ids = ids.splice(0);
  }
  for (const name of parameters.filter((name) => name.endsWith("_id") && !(name in filled) && isRequired(shape[name])))
    if (ids.length > 0) filled[name] = ids.shift();
  for (const name of Object.keys(wordsOfValue)) {
    const value = has(name) ? valueIn(name, sentence.words, false, shape[name]) : undefined;
    if (value) filled[name] = value;
  }
  for (const name of ["q", "title", "body"]) if (has(name) && quotes.length > 0) filled[name] = quotes.shift();
  if (has("description") && !has("questions") && quotes.length > 0) filled.description = quotes.shift();
  if (has("texts") && quotes.length > 0) filled.texts = quotes.splice(0);
  if (has("questions") && quotes.length > 0)
    filled.questions = quotes.splice(0).map((text) => ({ type: "text", text }));
  if (has("start_date")) Object.assign(filled, spanIn(sentence.words, language, now));
  if (has("limit") && !("start_date" in filled) && sentence.numbers[0]) filled.limit = sentence.numbers[0];

  const missing = parameters.filter((name) => isRequired(shape[name]) && !(name in filled));
  const unused = ids.length + quotes.length;
  return { tool: tool.name, score: score * 0.5 ** missing.length * 0.5 ** unused, arguments: filled, missing };
}

const isRequired = (schema: z.ZodType | undefined) => schema !== undefined && !schema.safeParse(undefined).success;

/** The argument value with the longest matching words in the text. */
function valueIn(name: string, text: string, whole: boolean, schema?: z.ZodType): string | undefined {
  const sentence = ` ${text.toLowerCase()} `;
  let best: { value: string; length: number } | undefined;
  for (const [value, words] of Object.entries(wordsOfValue[name] ?? {})) {
    if (schema && !schema.safeParse(value).success) continue;
    for (const word of listed(words)) {
      const at = japanese.test(word)
        ? sentence.indexOf(word)
        : sentence.search(new RegExp(`(?<![\\p{L}])${word}`, "u"));
      if (at === -1 || (whole && sentence.trim().length > word.length + 3)) continue;
      if (!best || word.length > best.length) best = { value, length: word.length };
    }
  }
  return best?.value;
}

const dateParsers = {
  en: chrono.en.GB,
  de: chrono.de.casual,
  fr: chrono.fr.casual,
  es: chrono.es.casual,
  it: chrono.it.casual,
  ru: chrono.ru.casual,
  ja: chrono.ja.casual,
  "pt-BR": chrono.pt.casual,
};

/**
 * Dates in the sentence as start_date and end_date (YYYY-MM-DD). A single date is the start, unless the sentence says
 * until.
 */
function spanIn(text: string, language: Locale, now: Date): { start_date?: string; end_date?: string } {
  const dates = dateParsers[language].parse(text, { instant: now, timezone: 0 });
  const [first, second] = dates
    .flatMap(({ start, end }) => (end ? [start, end] : [start]))
    .map((date) => date.date().toISOString().slice(0, 10));
  if (first === undefined) return {};
  if (second !== undefined) return { start_date: first, end_date: second };
  const around = text.slice(
    Math.max(0, (dates[0]?.index ?? 0) - 12),
    (dates[0]?.index ?? 0) + (dates[0]?.text.length ?? 0) + 4,
  );
  return listed(untilWords).some((word) => around.toLowerCase().includes(word))
    ? { end_date: first }
    : { start_date: first };
}
