import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { notificationsRead } from "../../shared/notifications.ts";
import { expandedSubmissionListQuery, submissionCreate } from "../../shared/submissions.ts";

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

test("the query of the list has types, ranges and defaults, and no required parameter", () => {
  const { $defs } = z.toJSONSchema(expandedSubmissionListQuery, { io: "input" });
  const query = $defs?.SubmissionListQuery;
  expect(query?.required).toBeUndefined();
  expect(query?.properties).toMatchObject({
    page: { type: "integer", minimum: 1, default: 1 },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 50 },
    sort: { enum: ["created_at", "votes", "comments", "title", "relevance"], default: "created_at" },
  });
});

test("lengths are present, in code points as in JSON Schema", () => {
  const { $defs } = z.toJSONSchema(submissionCreate, { io: "input" });
  expect($defs?.SubmissionCreate?.properties).toMatchObject({ title: { minLength: 5, maxLength: 200 } });
});

test("the schema of up to 100 ids is an array of UUIDs", () => {
  const { $defs } = z.toJSONSchema(notificationsRead, { io: "input" });
  expect($defs?.NotificationsRead?.properties).toMatchObject({
    ids: { type: "array", maxItems: 100, items: { format: "uuid" } },
  });
});
