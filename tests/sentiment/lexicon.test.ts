import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { scoreAnswers } from "../../functions/_shared/sentiment/answers.ts";
import { scoreText } from "../../functions/_shared/sentiment/lexicon.ts";
import { type Locale, locales } from "../../shared/locales.ts";
import fc from "../fuzz.ts";
import { labelled } from "./evaluation.ts";

describe("the measurements match docs/sentiment.md", () => {
  const page = readFileSync(new URL("../../docs/sentiment.md", import.meta.url), "utf8");

  test.each(locales)("%s", (locale) => {
    const row = page.split("\n").find((line) => line.startsWith(`| ${locale} |`));
    expect(row).toBe(measured(locale));
  });
});

function measured(locale: Locale): string {
  const results = labelled("evaluation", locale).map(({ text, expected }) => ({
    expected,
    said: scoreText(text, locale).sentiment,
  }));
  const right = results.filter(({ expected, said }) => said === expected).length;
  const swapped = results.filter(
    ({ expected, said }) => expected !== said && expected !== "neutral" && said !== "neutral",
  ).length;
  const falseNegatives = results.filter(({ expected, said }) => expected !== "neutral" && said === "neutral").length;
  const falsePositives = results.filter(({ expected, said }) => expected === "neutral" && said !== "neutral").length;
  const share = Math.round((right / results.length) * 100);
  return `| ${locale} | ${results.length} | ${right} | ${share} % | ${swapped} | ${falseNegatives} | ${falsePositives} |`;
}

test.each(locales)("%s: the training examples have the expected result", (locale) => {
  for (const { text, expected } of labelled("development", locale)) {
    expect.soft(scoreText(text, locale).sentiment, text).toBe(expected);
  }
});

test.each([
  ["en", "good", "not good"],
  ["en", "bad", "not bad"],
  ["es", "me gusta", "no me gusta"],
  ["fr", "j'aime", "je n'aime pas"],
  ["de", "es gefällt mir", "es gefällt mir nicht"],
  ["ru", "мне нравится", "мне не нравится"],
  ["pt-BR", "gostei", "não gostei"],
  ["ja", "使いやすいです", "使いやすくないです"],
  ["it", "mi piace", "non mi piace"],
] satisfies [Locale, string, string][])("%s: a negation inverts %j", (locale, plain, negated) => {
  expect(scoreText(plain, locale).score * scoreText(negated, locale).score).toBeLessThan(0);
});

test.each([
  ["en", "slow", "very slow"],
  ["de", "schlecht", "sehr schlecht"],
  ["it", "lento", "molto lento"],
] satisfies [Locale, string, string][])("%s: %j scores lower than %j", (locale, plain, stronger) => {
  expect(scoreText(stronger, locale).score).toBeLessThan(scoreText(plain, locale).score);
});

test.each(["", "   ", "12345", "…", "asdfgh", "\u200b\u200b", "\ud83d", "مرحبا"])("%j is neutral", (text) => {
  for (const locale of locales) {
    expect(scoreText(text, locale)).toEqual({ score: 0, sentiment: "neutral", confidence: 0, engine: "lexicon-1" });
  }
});

test.each([
  ["case, width and accents", "EXCELLENT", "ｅｘｃｅｌｌｅｎｔ"],
  ["invisible characters", "excellent", "exc\u200bell\u00adent"],
  ["letters drawn out", "so bad", "soooo bad"],
  ["doubled letters missed", "I recommend it", "I recomend it"],
])("%s make no difference", (_, plain, written) => {
  expect(scoreText(written, "en").score).toBe(scoreText(plain, "en").score);
  expect(scoreText(plain, "en").score).not.toBe(0);
});

test("the script determines the language before the browser's does", () => {
  expect(scoreText("とても使いやすいです", "en")).toEqual(scoreText("とても使いやすいです", "ja"));
  expect(scoreText("Очень удобно", "en")).toEqual(scoreText("Очень удобно", "ru"));
});

test("any text has a score within bounds, always the same", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.lorem(), fc.constantFrom("👍", "not ", "very good "));
  fc.assert(
    fc.property(fc.array(text), fc.constantFrom(...locales), (parts, locale) => {
      const joined = parts.join("");
      const results = scoreText(joined, locale);
      expect(Math.abs(results.score)).toBeLessThanOrEqual(1);
      expect(results.confidence).toBeGreaterThanOrEqual(0);
      expect(results.confidence).toBeLessThanOrEqual(1);
      expect(results.sentiment === "neutral").toBe(Math.abs(results.score) < 0.2);
      expect(scoreText(joined, locale)).toEqual(results);
    }),
  );
});

test("text after 2,000 characters is ignored", () => {
  expect(scoreText(`${"a".repeat(2_000)} terrible`, "en").score).toBe(0);
  expect(scoreText(`terrible ${"a ".repeat(100_000)}`, "en").sentiment).toBe("negative");
});

test("a response has a score for each text within its budget", () => {
  const answers = [{ value: 9 }, { value: "I love it" }, { value: ["I love it"] }, { value: " " }, {}];
  expect(scoreAnswers(answers, "en")).toEqual({
    engine: "lexicon-1",
    scores: [null, scoreText("I love it", "en").score, null, null, null],
  });
  const long = Array.from({ length: 6 }, () => ({ value: `terrible ${"a".repeat(4_991)}` }));
  expect(scoreAnswers(long, "en").scores.map((score) => score === null)).toEqual([
    false,
    false,
    false,
    false,
    true,
    true,
  ]);
});
