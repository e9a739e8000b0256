import fc from "fast-check";
import { expect, test } from "vitest";
import { boundResults } from "../../local/lite/bounded-socket.ts";

function message(type: string, length: number): Buffer {
  const made = Buffer.alloc(5 + length, type.toLowerCase());
  made.write(type);
  made.writeInt32BE(length + 4, 1);
  return made;
}

/** The types of the messages that came through. */
function typesOf(bytes: Buffer): string {
  let types = "";
  for (let at = 0; at < bytes.length; at += bytes.readInt32BE(at + 1) + 1)
    types += String.fromCharCode(bytes[at] ?? 0);
  return types;
}

const results = Buffer.concat([
  ...["T", "D", "D", "C", "Z"].map((type) => message(type, 20)),
  ...["T", "D", "D", "D", "D", "C", "Z"].map((type) => message(type, 40)),
  ...["T", "D", "D", "C", "Z"].map((type) => message(type, 0)),
]);

test("a result that is too large becomes an error, and those before and after stay, however they are cut into pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(results.length), { maxLength: 20 }), (cuts) => {
      const ends = [...cuts, results.length].sort((a, b) => a - b);
      const bound = boundResults(120);
      const kept = ends.map((end, n) => bound(results.subarray(ends[n - 1] ?? 0, end)));
      expect(typesOf(Buffer.concat(kept))).toBe("TDDCZTDDEZTDDCZ");
    }),
  );
});

test("what is small enough passes unchanged", () => {
  expect(boundResults(1_000)(results).equals(results)).toBe(true);
});
