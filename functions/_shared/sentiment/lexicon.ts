import type { Locale } from "../../../shared/locales.ts";
import { compile, type Entry, type Lexicon, lookUp } from "./entries.ts";
import { de } from "./lexicons/de.ts";
import { en } from "./lexicons/en.ts";
import { es } from "./lexicons/es.ts";
import { fr } from "./lexicons/fr.ts";
import { it } from "./lexicons/it.ts";
import { ja } from "./lexicons/ja.ts";
import { ptBR } from "./lexicons/pt-br.ts";
import { ru } from "./lexicons/ru.ts";
import { type Clause, clausesOf } from "./tokens.ts";

/** Sentiment of a text: score from -1 to 1 (0 if confidence is too low) and confidence from 0 to 1. */
export type SentimentScore = {
  score: number;
  sentiment: "positive" | "neutral" | "negative";
  confidence: number;
  engine: string;
};

export const lexiconEngine = "lexicon-1";

const lexicons: Record<Locale, Lexicon> = {
  en: compile(en),
  es: compile(es),
  fr: compile(fr),
  de: compile(de),
  ru: compile(ru),
  "pt-BR": compile(ptBR),
  ja: compile(ja),
  it: compile(it),
};

/** Below this confidence a text is neutral. */
const leastConfidence = 0.3;
/** Negation weakens: "not good" is milder than "bad". */
const negatedPraise = -0.8;
const negatedComplaint = -0.7;
/** The part after "but" counts more. */
const afterContrast = 1.25;
const beforeContrast = 0.75;
/** Wishes and questions express no praise: "it would be great if", "is it fast?". */
const wished = 0.1;

/** Sums the values of words and phrases, weighted by context. Deterministic across platforms. */
export function scoreText(text: string, locale: Locale): SentimentScore {
  const lexicon = lexicons[languageOf(text, locale)];
  const clauses = clausesOf(text, lexicon.characters).flatMap((clause) => splitAtContrasts(clause, lexicon));
  let praise = 0;
  let complaint = 0;
  const lastContrast = clauses.findLastIndex((clause) => isContrast(clause, lexicon));
  clauses.forEach((clause, index) => {
    const weight = lastContrast <= 0 ? 1 : index >= lastContrast ? afterContrast : beforeContrast;
    for (const value of valuesOf(clause, lexicon)) {
      if (value > 0) praise += value * weight;
      else complaint -= value * weight;
    }
  });
  return judgementOf(praise, complaint);
}

function judgementOf(praise: number, complaint: number): SentimentScore {
  const total = praise + complaint;
  const balance = praise - complaint;
  // Confidence is high if there are many hits of the same sign.
  const confidence = total === 0 ? 0 : rounded((Math.abs(balance) / total) * (total / (total + 1)));
  const sure = confidence >= leastConfidence;
  const score = sure ? rounded(balance / (Math.abs(balance) + 1.5)) : 0;
  return { score, sentiment: sentimentOf(score), confidence, engine: lexiconEngine };
}

/** The same thresholds as in the database for whole responses. */
export function sentimentOf(score: number): SentimentScore["sentiment"] {
  return score >= 0.2 ? "positive" : score <= -0.2 ? "negative" : "neutral";
}

/** Browsers often send English although people write in another script. */
function languageOf(text: string, locale: Locale): Locale {
  if (/[\u3040-\u30ff]/.test(text)) return "ja";
  return /[\u0400-\u04ff]{3}/.test(text) ? "ru" : locale;
}

/** Splits a text at "but". */
function splitAtContrasts(clause: Clause, lexicon: Lexicon): Clause[] {
  const { words } = clause;
  const starts = words.flatMap((_, at) => (at > 0 && lookUp(lexicon, words, at)?.kind === "contrast" ? [at] : []));
  return [0, ...starts].map((start, part) => ({ ...clause, words: words.slice(start, starts[part]) }));
}

function isContrast({ words }: Clause, lexicon: Lexicon): boolean {
  return words[0] !== undefined && lookUp(lexicon, words, 0)?.kind === "contrast";
}

/** A phrase that starts with a negation has its own value, as in "no tengo ninguna queja". */
type Hit = Entry & { start: number; end: number; saysNo: boolean };

function valuesOf(clause: Clause, lexicon: Lexicon): number[] {
  const hits = hitsOf(clause, lexicon);
  const isWish = hits.some(({ kind }) => kind === "wish");
  return hits.flatMap((hit, index) => {
    if (hit.kind !== "value") return [];
    let value = hit.value;
    if (isNegated(hits, index, lexicon)) value *= value > 0 ? negatedPraise : negatedComplaint;
    value *= strengthOf(hits, index);
    // Questions and wishes cancel praise.
    if (value > 0 && (isWish || clause.isQuestion)) value *= wished;
    else if (value < 0 && isWish) value *= 0.5;
    return value === 0 ? [] : [clause.isExclaimed ? value * 1.15 : value];
  });
}

/** The longest entries from left to right. */
function hitsOf({ words }: Clause, lexicon: Lexicon): Hit[] {
  const hits: Hit[] = [];
  for (let at = 0; at < words.length; ) {
    const entry = lookUp(lexicon, words, at);
    if (entry) {
      const saysNo = entry.length > 1 && lookUp(lexicon, words.slice(at, at + 1), 0)?.kind === "negation";
      hits.push({ ...entry, start: at, end: at + entry.length, saysNo });
    }
    at += entry?.length ?? 1;
  }
  return hits;
}

/** Whether a negation applies to the hit: one before it, or one after it in languages with that word order. */
function isNegated(hits: Hit[], index: number, { reach }: Lexicon): boolean {
  const hit = hits[index] as Hit;
  if (hit.saysNo) return false;
  for (let other = index - 1; other >= 0; other--) {
    const { kind, end } = hits[other] as Hit;
    if (hit.start - end >= reach.before) break;
    if (kind === "negation") return true;
  }
  for (let other = index + 1; other < hits.length; other++) {
    const { kind, start } = hits[other] as Hit;
    if (start - hit.end >= reach.behind || kind === "value") return false;
    if (kind === "negation") return true;
  }
  return false;
}

/** Intensifiers: the two words before, or the one after: "a bit too slow", "crashes constantly". */
function strengthOf(hits: Hit[], index: number): number {
  const hit = hits[index] as Hit;
  let strength = 1;
  for (const { kind, value, end } of hits.slice(Math.max(0, index - 2), index)) {
    if (kind === "degree" && hit.start - end <= 1) strength *= value;
  }
  const next = hits[index + 1];
  if (next?.kind === "degree" && next.start === hit.end) strength *= next.value;
  return strength;
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
