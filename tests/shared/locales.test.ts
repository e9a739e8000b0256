import { expect, test } from "vitest";
import { locales, negotiateLocale } from "../../shared/locales.ts";
import fc from "../fuzz.ts";

test.each([
  ["de", "de"],
  ["DE", "de"],
  ["de-AT", "de"],
  ["de-Latn-CH-1996", "de"],
  ["pt-BR", "pt-BR"],
  ["pt", "pt-BR"],
  ["pt-PT", "pt-BR"],
  ["PT-br", "pt-BR"],
  ["fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr"],
  ["en;q=0.5, ja;q=0.8", "ja"],
  ["it;q=0.5, ru;q=0.5", "it"],
  ["it;q=0.499, ru;q=0.5", "ru"],
  ["zh-TW, es;q=0.2", "es"],
  ["zh, ko", "en"],
  ["de ; q=0.1 ,\tfr ; q=0.2", "fr"],
  ["de;Q=0.1, fr;q=0.2", "fr"],
])("%j selects %s", (header, expected) => {
  expect(negotiateLocale(header)).toBe(expected);
});

test.each([
  ["*", "en"],
  ["*;q=0.1, ja", "ja"],
  ["en;q=0, *", "es"],
  ["en;q=0.2, es;q=0, *;q=0.5", "fr"],
  ["*;q=0", "en"],
])("a star matches the languages that are not named: %j selects %s", (header, expected) => {
  expect(negotiateLocale(header)).toBe(expected);
});

test.each([
  ["de;q=0", "en"],
  ["de;q=0, de-AT", "en"],
  ["pt;q=0, pt-BR, fr;q=0.1", "fr"],
  ["de-AT;q=0, de;q=0.5", "de"],
  ["en;q=0, en;q=0.0, fr;q=0.001", "fr"],
])("weight 0 excludes a language: %j selects %s", (header, expected) => {
  expect(negotiateLocale(header)).toBe(expected);
});

test.each([
  [null],
  [undefined],
  [""],
  [","],
  [";;;"],
  ["🎉"],
  ["d"],
  ["deutsch"],
  ["de;q=2"],
  ["de;q=-1"],
  ["de;q=0.1234"],
  ["de;q=abc"],
  ["de;level=1"],
  ["de;q=1;q=1"],
  ["*-DE"],
  ["__proto__"],
  ["de\0"],
])("%j has no supported language and selects English", (header) => {
  expect(negotiateLocale(header)).toBe("en");
});

test("invalid ranges are ignored beside a valid one", () => {
  expect(negotiateLocale("???, de;q=9, ja;q=0.3")).toBe("ja");
});

test("a header above the length limit is ignored", () => {
  expect(negotiateLocale(`${"xx,".repeat(600)}ja`)).toBe("ja");
  expect(negotiateLocale(`${"xx,".repeat(700)}ja`)).toBe("en");
});

test.each([
  ["stars none of which may be served", `${"*,".repeat(900)}${locales.map((l) => `${l};q=0`).join()}`],
  ["a megabyte of commas", ",".repeat(1 << 20)],
  ["a megabyte of one word", "a".repeat(1 << 20)],
])("%s are parsed immediately", (_, header) => {
  const start = performance.now();
  negotiateLocale(header);
  expect(performance.now() - start).toBeLessThan(200);
});

test("any header selects one of the eight", () => {
  const piece = fc.constantFrom("de", "pt-PT", "*", "en", "zh", ";q=", "0", "0.5", "1", ",", " ", "-", "\u0000", "é");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      expect(locales).toContain(negotiateLocale(pieces.join("")));
    }),
  );
});
