import { describe, expect, test } from "vitest";
import { characterCount, text, trimText, unstorable, whiteSpace } from "../../shared/text.ts";
import { validationDetails } from "../../shared/validation.ts";
import fc from "../fuzz.ts";

const name = text({ min: 5, max: 8 });
const complaint = (value: unknown, schema = name) => {
  const result = schema.safeParse(value);
  return result.success ? undefined : validationDetails(result.error)[0]?.message;
};

describe("length", () => {
  test.each([
    ["letters", "a".repeat(5), "a".repeat(8)],
    ["emoji, two UTF-16 units each", "🎉".repeat(5), "🎉".repeat(8)],
    ["Arabic", "فكرةج", "فكرةجديد"],
    ["Hebrew with marks of direction", "\u200Fרעיו", "\u202Bרעיוןח\u202C"],
    ["combining marks, each a character", "e\u0301e\u0301e", "e\u0301".repeat(4)],
    ["a family of four, seven characters joined", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦a"],
  ])("counts code points: %s fit at both limits", (_, shortest, longest) => {
    expect(complaint(shortest)).toBeUndefined();
    expect(complaint(longest)).toBeUndefined();
    expect(complaint(`${longest}a`)).toBe("must be 5 to 8 characters long");
  });

  test("an optional text may be empty", () => {
    const note = text({ min: 0, max: 2 });
    expect(note.parse(" ")).toBe("");
    expect(complaint("abc", note)).toBe("must be at most 2 characters long");
  });

  test("equals the number of code points for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (value) => characterCount(value) === [...value].length));
  });
});

describe("trimming", () => {
  test("removes Unicode white space and U+FEFF, and nothing else", () => {
    const everyUnit = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit));
    const expected = everyUnit.filter((unit) => /\p{White_Space}|\uFEFF/u.test(unit));
    expect(everyUnit.filter((unit) => trimText(`${unit}a${unit}`) === "a")).toEqual(expected);
    expect([...whiteSpace].sort()).toEqual(expected.sort());
  });

  test("leaves nothing of a text without a visible character", () => {
    for (const invisible of [
      " \n",
      "\u200B",
      "\u2060\u3164",
      "\u00AD \u200C",
      "\u2800",
      "\u{E0020}",
      "\u{1D159}\u{16FE4}\u{13441}\u070F",
    ])
      expect(trimText(invisible), invisible).toBe("");
    expect(trimText("\0")).toBe("\0");
  });

  test("keeps inner white space, zero-width joiners and direction marks", () => {
    expect(trimText("\u3000a \u00A0 b\u0085")).toBe("a \u00A0 b");
    expect(trimText("\u200Da\u200F")).toBe("\u200Da\u200F");
  });

  test("is idempotent", () => {
    const piece = fc.constantFrom(...whiteSpace, "a", "🎉", "\u200B");
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const once = trimText(pieces.join(""));
        expect(trimText(once)).toBe(once);
      }),
    );
  });

  test("a megabyte of inner spaces is trimmed immediately", () => {
    const start = performance.now();
    trimText(`a${" ".repeat(1 << 20)}a`);
    expect(complaint(`a${" ".repeat(1 << 20)}a`)).toBe("must be 5 to 8 characters long");
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe("text that Postgres cannot store", () => {
  test("complete pairs, other control characters and noncharacters are stored", () => {
    expect(unstorable("\u{1F600}\u0001\u001F\uFFFE\uFFFD")).toBeUndefined();
  });

  test("is exactly the text without a UTF-8 form, and NUL", () => {
    const unit = fc.constantFrom("\uD83D", "\uDE00", "a", "\0");
    fc.assert(
      fc.property(fc.array(unit), (units) => {
        const value = units.join("");
        const storable = new TextDecoder().decode(new TextEncoder().encode(value)) === value && !value.includes("\0");
        expect(unstorable(value) === undefined).toBe(storable);
      }),
    );
  });
});

test.each([
  [undefined, "is required"],
  [null, "must be a string"],
  [5, "must be a string"],
  [["abcde"], "must be a string"],
])("%j: %s", (value, expected) => {
  expect(complaint(value)).toBe(expected);
});
