import type { Locale } from "../../../shared/locales.ts";
import { lexiconEngine, scoreText } from "./lexicon.ts";

/** Scores the text answers; null for other answers. */
export type Sentiment = { engine: string; scores: (number | null)[] };

// Limits the total text: 200 answers of 5,000 characters would block the process.
const maxCharacters = 20_000;

/** Scores of the answers in order; the database uses those of text questions. */
export function scoreAnswers(answers: readonly { value?: unknown }[], locale: Locale): Sentiment {
  let left = maxCharacters;
  const scores = answers.map(({ value }) => {
    if (typeof value !== "string" || value.trim() === "" || left <= 0) return null;
    left -= value.length;
    return scoreText(value, locale).score;
  });
  return { engine: lexiconEngine, scores };
}
