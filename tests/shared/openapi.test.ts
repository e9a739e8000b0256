import { expect, test } from "vitest";
import { z } from "zod";
import * as comments from "../../shared/comments.ts";
import * as errors from "../../shared/errors.ts";
import * as events from "../../shared/events.ts";
import * as follows from "../../shared/follows.ts";
import * as imports from "../../shared/imports.ts";
import * as notifications from "../../shared/notifications.ts";
import * as organizations from "../../shared/organizations.ts";
import * as pagination from "../../shared/pagination.ts";
import * as people from "../../shared/people.ts";
import * as submissions from "../../shared/submissions.ts";
import * as taxonomy from "../../shared/taxonomy.ts";
import * as votes from "../../shared/votes.ts";

const exported = Object.entries({
  ...comments,
  ...errors,
  ...events,
  ...follows,
  ...imports,
  ...notifications,
  ...organizations,
  ...pagination,
  ...people,
  ...submissions,
  ...taxonomy,
  ...votes,
}).flatMap(([name, value]) => (value instanceof z.ZodType ? [{ name, schema: value }] : []));

test.each(exported)("$name can be shown in the OpenAPI document", ({ schema }) => {
  expect(() => z.toJSONSchema(schema, { io: "input" })).not.toThrow();
});

test("no two schemas share an id", () => {
  const schemaById = new Map<string, z.ZodType>();
  for (const { name, schema } of exported) {
    const id = schema.meta()?.id;
    if (id === undefined) continue;
    expect(schemaById.get(id) ?? schema, `${id} of ${name}`).toBe(schema);
    schemaById.set(id, schema);
  }
});

test("the query of the list shows types, ranges and defaults, and requires nothing", () => {
  const { $defs } = z.toJSONSchema(submissions.submissionListQuery, { io: "input" });
  const query = $defs?.SubmissionListQuery;
  expect(query?.required).toBeUndefined();
  expect(query?.properties).toMatchObject({
    page: { type: "integer", minimum: 1, default: 1 },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 50 },
    sort: { enum: ["created_at", "votes", "comments", "title"], default: "created_at" },
  });
});

test("lengths are shown, in code points as JSON Schema counts them", () => {
  const { $defs } = z.toJSONSchema(submissions.submissionCreate, { io: "input" });
  expect($defs?.SubmissionCreate?.properties).toMatchObject({ title: { minLength: 5, maxLength: 200 } });
});

test("what a schema shows of ids at up to 100 is an array of UUIDs", () => {
  const { $defs } = z.toJSONSchema(notifications.notificationsRead, { io: "input" });
  expect($defs?.NotificationsRead?.properties).toMatchObject({
    ids: { type: "array", maxItems: 100, items: { format: "uuid" } },
  });
});
