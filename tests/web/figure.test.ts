import { expect, test } from "vitest";
import { ratio } from "../../functions/web/brand.ts";
import { figureColors, figureOf } from "../../functions/web/figure.ts";

const id = "01234567-89ab-4cde-8f01-23456789abcd";
const initials = (name: string) => /<text[^>]*>(.*)<\/text>/su.exec(figureOf(id, name))?.[1];

test("initials are the first characters of the first and last word", () => {
  const names = {
    "Ada Lovelace": "AL",
    "Lev Nikolaevich Tolstoy": "LT",
    "Лев Толстой": "ЛТ",
    山田太郎: "山",
    "山田　太郎": "山太",
    "ßen (x)": "ßX",
    "👨‍👩‍👧‍👦 Family": "👨‍👩‍👧‍👦F",
    [`a${"\u0301".repeat(99)}`]: "A",
    "<script>": "S",
  };
  for (const [name, shown] of Object.entries(names)) expect(initials(name), name).toBe(shown);
  for (const name of ["", "?!", "<>&\"'"]) expect(figureOf(id, name)).toBe(figureOf(id.replace("0", "f"), null));
});

test("white initials are readable on every color", () => {
  for (const color of figureColors) expect(ratio("#ffffff", color), color).toBeGreaterThanOrEqual(4.5);
});
