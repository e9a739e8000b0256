import type { Locale } from "../../../shared/locales.ts";
import { lexiconEngine, scoreText } from "./lexicon.ts";

/** What each text says, an answer each; null for what is no text. */
export type Sentiment = { engine: string; scores: (number | null)[] };

// Two hundred answers of 5,000 characters would take a moment from everybody else.
const mostCharacters = 20_000;

/** Scores of the answers of a response, in their order; the database uses those of text questions, after the numbers. */
export function scoreAnswers(answers: readonly { value?: unknown }[], locale: Locale): Sentiment {
  let left = mostCharacters;
  const scores = answers.map(({ value }) => {
    if (typeof value !== "string" || value.trim() === "" || left <= 0) return null;
    left -= value.length;
    return scoreText(value, locale).score;
  });
  return { engine: lexiconEngine, scores };
}
