import { expect, test } from "vitest";
import { boundResults } from "../../local/lite/bounded-socket.ts";
import fc from "../fuzz.ts";

function message(type: string, length: number): Buffer {
  const created = Buffer.alloc(5 + length, type.toLowerCase());
  created.write(type);
  created.writeInt32BE(length + 4, 1);
  return created;
}

/** The types of the forwarded messages. */
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

test("a result that is too large becomes an error, and those before and after are unchanged, for any packet boundaries", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(results.length), { maxLength: 20 }), (cuts) => {
      const ends = [...cuts, results.length].sort((a, b) => a - b);
      const bound = boundResults(120);
      const kept = ends.map((end, n) => bound(results.subarray(ends[n - 1] ?? 0, end)));
      expect(typesOf(Buffer.concat(kept))).toBe("TDDCZTDDEZTDDCZ");
    }),
  );
});

test("smaller results pass unchanged", () => {
  expect(boundResults(1_000)(results).equals(results)).toBe(true);
});
