import { expect, test } from "vitest";
import {
  dayOrMoment,
  emailAddress,
  moment,
  shortArrayOf,
  slug,
  timestamp,
  uuid,
  webAddress,
} from "../../shared/fields.ts";
import { sql } from "../stack.ts";

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

test.each([
  "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11",
  "11111111-1111-1111-1111-111111111111",
  "00000000-0000-0000-0000-000000000000",
  "3F2B8A7E-4F5D-7C1E-9A53-0D9C2F6F6A11",
])("%s is a UUID", (value) => expect(accepts(uuid, value)).toBe(true));

test.each(["", "3f2b8a7e", "{3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11}", "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a1g", null])(
  "%j is not a UUID",
  (value) => expect(accepts(uuid, value)).toBe(false),
);

test.each([
  "a@example.org",
  "first.last+tag@sub.example.co.uk",
  "o'brien_99@xn--bcher-kva.example",
  `${"a".repeat(64)}@example.org`,
  `a@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(63)}.${"e".repeat(56)}.org`,
])("%s is an e-mail address", (value) => expect(accepts(emailAddress, value)).toBe(true));

test.each([
  "",
  "a",
  "@example.org",
  "a@",
  "a@localhost",
  "a@b@example.org",
  "a b@example.org",
  ".a@example.org",
  "a..b@example.org",
  "a.@example.org",
  "a@-example.org",
  "a@example-.org",
  "a@example..org",
  "a@example.org.",
  "a@127.0.0.1",
  "a@exämple.org",
  "a@example.org\0",
  "a@example.org\nBcc: b@example.org",
  '"a"@example.org',
  "Name <a@example.org>",
  `${"a".repeat(65)}@example.org`,
  `a@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(63)}.${"e".repeat(57)}.org`,
])("%j is not an e-mail address", (value) => expect(accepts(emailAddress, value)).toBe(false));

test("an e-mail address is trimmed and otherwise unchanged", () => {
  expect(emailAddress.parse(" Ann@Example.org\n")).toBe("Ann@Example.org");
});

test.each([["a@".repeat(1 << 19)], [`a@${"b.".repeat(1 << 19)}`], ["a".repeat(1 << 20)]])(
  "a megabyte is rejected as an e-mail address immediately (%#)",
  (value) => {
    const start = performance.now();
    expect(accepts(emailAddress, value)).toBe(false);
    expect(performance.now() - start).toBeLessThan(500);
  },
);

test.each(["https://tracker.example/T-1?a=b#c", "http://127.0.0.1:8080/", "https://例え.jp/パス"])(
  "%s is a URL",
  (value) => expect(accepts(webAddress, value)).toBe(true),
);

test.each([
  "",
  "tracker.example/T-1",
  "ftp://tracker.example",
  "javascript:alert(1)",
  "javascript://x.org/%0aalert(1)",
  "data:text/html,<script>",
  "https:/tracker.example",
  "https:\\\\tracker.example",
  "https://",
  "https://a b.example",
  "https://a.example/\tb",
  "https://a.example/\u0085b",
  "https://user:secret@a.example",
  "https://user@a.example",
  "https://a.example:99999",
  `https://a.example/${"a".repeat(2000)}`,
])("%j is not a URL", (value) => expect(accepts(webAddress, value)).toBe(false));

test("the scheme of a URL is lowercased, as the database requires", () => {
  expect(webAddress.parse(" HTTPS://a.example/B ")).toBe("https://a.example/B");
});

test.each(["Ui", "a_b", "ü", "", "a".repeat(65), "а-cyrillic"])("%j is not a slug", (value) =>
  expect(accepts(slug, value)).toBe(false),
);

test.each(["2026-11-21T09:36:00Z", "2026-11-21T09:36:00.123456+00:00"])("%s is a timestamp", (value) =>
  expect(accepts(timestamp, value)).toBe(true),
);

test("a timestamp without an offset is rejected", () => {
  expect(accepts(timestamp, "2026-11-21T09:36:00")).toBe(false);
});

test("an array above its limit is rejected at any size, without validating its items", () => {
  const result = shortArrayOf(uuid, 2).safeParse(Array(500_000).fill(0));
  expect(result.error?.issues).toMatchObject([{ path: [], message: "must have at most 2 items" }]);
  expect(accepts(shortArrayOf(uuid, 2), Array(2).fill("11111111-1111-1111-1111-111111111111"))).toBe(true);
});

const time = "2026-11-25T08:00:00+00:00";

test.each([
  ["2026-11-25T10:00+02:00", time],
  ["2026-11-25T10:00+02", time],
  ["2026-11-25T10:00:00+0200", time],
  ["2026-11-25T08:00Z", time],
  ["2026-11-25T08:00:00.000000Z", time],
  ["2026-11-24T16:01-15:59", time],
  ["2026-11-25T08:00:00.123456789Z", "2026-11-25T08:00:00.123457+00:00"],
  ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"],
])("%s is a time, the same in Postgres and in JavaScript", async (value, expected) => {
  for (const schema of [moment, dayOrMoment]) {
    const sent = schema.parse(value);
    const [row] = await sql`select to_json(${sent}::text::timestamptz) #>> '{}' as stored`;
    expect(row?.stored).toBe(expected);
    expect(Math.abs(Date.parse(sent) - Date.parse(expected))).toBeLessThanOrEqual(1);
  }
});

test.each([
  ...["2026-02-30T10:00Z", "2026-11-25T24:00Z", "2026-11-25T10:60Z", "2026-11-25T10:00:60Z", "0999-12-31T23:59Z"],
  ...["2026-11-25T10:00+16:00", "2026-11-25T10:00+18:30", "2026-11-25T10:00+02:60", "2026-11-25T10:00:00.1234567890Z"],
  ...["٢٠٢٦-11-25T10:00Z", "2026-11-25T10:00", "2026-11-25 10:00Z", "2026-11-25t10:00z", "20261125T1000Z", "infinity"],
  ...["2026-11-25T10:00Z\n", "2026-11-25T10:00Z\0", "2026-11-25T10:00:00.Z", "", "2026-11-25T10Z"],
])("%j is no time", (value) => {
  for (const schema of [moment, dayOrMoment]) expect(accepts(schema, value)).toBe(false);
});

test("in a query, a space before an offset is a plus, and a day is a time", () => {
  expect(dayOrMoment.parse("2026-11-25T10:00:00.123456 00:00")).toBe("2026-11-25T10:00:00.123456+00:00");
  expect(accepts(moment, "2026-11-25T10:00:00.123456 00:00")).toBe(false);
  expect(dayOrMoment.parse("2026-11-25")).toBe("2026-11-25");
  for (const value of ["2026-02-30", "0999-01-01", "0000-01-01", "2026-11-25 10", "2026-11-25 10:00"])
    expect(accepts(dayOrMoment, value)).toBe(false);
});
