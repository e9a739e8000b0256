import { expect, test } from "vitest";
import { z } from "zod";
import { validationDetails } from "../../shared/validation.ts";

const details = (schema: z.ZodType, value: unknown) => {
  const result = schema.safeParse(value);
  return result.success ? [] : validationDetails(result.error);
};

test.each([
  [z.string(), undefined, "is required"],
  [z.boolean(), "yes", "must be true or false"],
  [z.array(z.string()), {}, "must be an array"],
  [z.object({}), [], "must be an object"],
  [z.number().max(3), 4, "must be at most 3"],
  [z.array(z.string()).min(2), ["a"], "must have at least 2 items"],
  [z.string().max(2), "abc", "must be at most 2 characters long"],
  [z.enum(["a", "b"]), "c", "must be one of a, b"],
  [z.literal(true), false, "must be true"],
  [z.union([z.string(), z.number()]), true, "has an unknown form; see the API reference for the accepted ones"],
  [z.strictObject({}), { a: 1, b: 2 }, "has unknown fields: a, b"],
])("has an instruction in its message (%#): %j", (schema, value, message) => {
  expect(details(z.object({ field: schema }), { field: value })).toEqual([{ field: "field", message }]);
});

test("at most 50 fields are reported", () => {
  expect(details(z.array(z.string()), Array(60).fill(1))).toHaveLength(50);
});

test("the response never contains a complete input value", () => {
  const secret = "s3cret".repeat(1000);
  const schema = z.object({
    a: z.enum(["x"]),
    b: z.uuid(),
    c: z.strictObject({}),
    d: z.record(z.string(), z.number()),
  });
  const answer = JSON.stringify(details(schema, { a: secret, b: secret, c: { [secret]: 1 }, d: { [secret]: "x" } }));
  expect(answer.length).toBeLessThan(1000);
});

test("a truncated property name leaves the response valid Unicode", () => {
  const keys = { [`${"a".repeat(199)}🎉`]: "x", "\uD800": "x" };
  for (const { field } of details(z.record(z.string(), z.number()), keys)) {
    expect(field).not.toMatch(/\p{Surrogate}/u);
  }
});
