import { readFileSync } from "node:fs";
import type { Locale } from "../../shared/locales.ts";

export type Labelled = { text: string; expected: "positive" | "neutral" | "negative" };

const expected = { "+": "positive", "-": "negative", "=": "neutral" } as const;

/** Sentences with the sentiment that a person assigned: one per line, after +, - or =. */
export function labelled(set: "evaluation" | "development", locale: Locale): Labelled[] {
  const lines = readFileSync(new URL(`${set}/${locale}.txt`, import.meta.url), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => {
    const mark = line[0] as keyof typeof expected;
    if (!(mark in expected) || line[1] !== " ") throw new Error(`${set}/${locale}: ${line}`);
    return { text: line.slice(2), expected: expected[mark] };
  });
}
