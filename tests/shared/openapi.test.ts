import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";

const folder = new URL("../../shared/", import.meta.url);
const modules = await Promise.all(
  readdirSync(folder).map((name) => import(new URL(name, folder).href) as Promise<Record<string, unknown>>),
);
const exported = modules
  .flatMap((module) => Object.entries(module))
  .flatMap(([name, value]) => (value instanceof z.ZodType ? [{ name, schema: value }] : []));

test.each(exported)("$name can be represented in the OpenAPI document", ({ schema }) => {
  expect(() => z.toJSONSchema(schema, { io: "input" })).not.toThrow();
});

test("schema ids are unique", () => {
  const schemaById = new Map<string, z.ZodType>();
  for (const { name, schema } of exported) {
    const id = schema.meta()?.id;
    if (id === undefined) continue;
    expect(schemaById.get(id) ?? schema, `${id} of ${name}`).toBe(schema);
    schemaById.set(id, schema);
  }
});
