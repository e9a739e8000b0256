import { expect, test } from "vitest";
import { crc32 } from "../../shared/crc32.ts";

const bytes = new TextEncoder().encode("123456789");

test("returns the check value of CRC-32/ISO-HDLC", () => {
  expect(crc32(bytes)).toBe(0xcbf43926);
});

test("continues from the previous bytes", () => {
  expect(crc32(bytes.subarray(4), crc32(bytes.subarray(0, 4)))).toBe(crc32(bytes));
});
