import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  duplicateCheck,
  statusChangeCreate,
  submissionCreate,
  submissionCreateByKey,
  submissionDetailQuery,
  submissionListQuery,
  submissionPatch,
  submissionSearchQuery,
  submissionStatuses,
} from "../../shared/submissions.ts";
import { surveyStatus } from "../../shared/surveys.ts";
import { validationDetails } from "../../shared/validation.ts";

const id = "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11";
const good = { title: "Dark mode", description: "Please add a dark theme.", type: "idea" };

const isRejected = (schema: z.ZodType, value: unknown) => {
  const result = schema.safeParse(value);
  return result.success ? [] : validationDetails(result.error).map(({ field }) => field);
};

describe("creating", () => {
  test.each([
    ["title", "🎉".repeat(5), "🎉".repeat(200)],
    ["description", "ש".repeat(20), "🎉".repeat(5000)],
  ])("%s is accepted at its limits and rejected beyond them", (field, shortest, longest) => {
    for (const value of [shortest, longest])
      expect(isRejected(submissionCreate, { ...good, [field]: value })).toEqual([]);
    for (const value of [[...shortest].slice(1).join(""), `${longest}x`]) {
      expect(isRejected(submissionCreate, { ...good, [field]: value })).toEqual([field]);
    }
  });

  test("every missing field is reported", () => {
    expect(isRejected(submissionCreate, {})).toEqual(["title", "description", "type"]);
  });

  test("text is trimmed", () => {
    expect(submissionCreate.parse({ ...good, title: "\u3000Dark mode\n" }).title).toBe("Dark mode");
  });

  test("a category may be null but not malformed", () => {
    expect(submissionCreate.parse({ ...good, category_id: null }).category_id).toBeNull();
    expect(isRejected(submissionCreate, { ...good, category_id: "ui" })).toEqual(["category_id"]);
  });

  test("read-only fields, and fields for keys only, are dropped", () => {
    const forged = { user_id: id, author_id: id, is_official: true, vote_count: 99, status: "completed", id };
    const onBehalf = { author_email: "a@example.org", author_name: "Ann", source: "web" };
    expect(submissionCreate.parse({ ...good, ...forged, ...onBehalf })).toEqual(good);
    expect(submissionCreateByKey.parse({ ...good, ...forged, ...onBehalf })).toEqual({ ...good, ...onBehalf });
  });

  test("properties named like prototypes have no effect", () => {
    const body = JSON.parse(
      `{"__proto__": {"title": "From a prototype", "polluted": 1}, "constructor": 5, "type": "idea"}`,
    );
    expect(isRejected(submissionCreate, body)).toEqual(["title", "description"]);
    const parsed = submissionCreate.parse({ ...good, ...JSON.parse(`{"__proto__": {"polluted": 1}}`) });
    expect(parsed).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("polluted");
  });

  test.each([
    ["author_email", "not an address"],
    ["author_email", `${"a".repeat(250)}@example.org`],
    ["author_name", ""],
    ["author_name", "n".repeat(101)],
    ["source", "s".repeat(65)],
    ["source", "a\0b"],
  ])("by key, %s cannot be %j", (field, value) => {
    expect(isRejected(submissionCreateByKey, { ...good, [field]: value })).toEqual([field]);
  });
});

describe("listing", () => {
  test("the default is newest first, without filters", () => {
    expect(submissionListQuery.parse({})).toEqual({ page: 1, limit: 50, sort: "created_at", order: "desc" });
  });

  test("every filter is parsed", () => {
    const query = {
      page: "2",
      limit: "10",
      cursor: "abc",
      status: "under_review",
      type: "problem",
      category: "ui",
      tag: "mobile-app",
      author: id,
      q: "مظلم 🌙",
      sort: "title",
      order: "asc",
    };
    expect(submissionListQuery.parse({ ...query, unknown: "x" })).toEqual({ ...query, page: 2, limit: 10 });
    expect(submissionListQuery.parse({ category: id }).category).toBe(id);
  });

  test.each([
    ["status", "closed"],
    ["type", "bug"],
    ["category", "u/i"],
    ["tag", "Mobile"],
    ["author", "ann"],
    ["q", "x".repeat(201)],
    ["q", "  "],
    ["q", "\uD83D"],
    ["sort", "relevance"],
    ["order", "DESC"],
    ["cursor", "?"],
  ])("%s=%j is rejected", (name, value) => expect(isRejected(submissionListQuery, { [name]: value })).toEqual([name]));
});

test("a search needs 1 to 200 characters", () => {
  expect(isRejected(submissionSearchQuery, {})).toEqual(["q"]);
  expect(isRejected(submissionSearchQuery, { q: " " })).toEqual(["q"]);
  expect(isRejected(submissionSearchQuery, { q: "🎉".repeat(200) })).toEqual([]);
  expect(isRejected(submissionSearchQuery, { q: "🎉".repeat(201) })).toEqual(["q"]);
});

test("an unknown expansion is an error of expand", () => {
  expect(submissionDetailQuery.parse({ expand: "comments,author,category,tags" }).expand).toHaveLength(4);
  expect(isRejected(submissionDetailQuery, { expand: "author,voters" })).toEqual(["expand"]);
});

describe("changing", () => {
  test.each([[{}], [{ status: "completed" }], [{ vote_count: 5, user_id: id }]])("%j has no editable field", (body) =>
    expect(isRejected(submissionPatch, body)).toEqual(["body"]),
  );

  test("one field is enough, and null clears optional fields", () => {
    expect(submissionPatch.parse({ title: " Light mode " })).toEqual({ title: "Light mode" });
    expect(submissionPatch.parse({ category_id: null, tracker_issue_url: null })).toEqual({
      category_id: null,
      tracker_issue_url: null,
    });
    expect(isRejected(submissionPatch, { title: null, description: null })).toEqual(["title", "description"]);
  });

  test("the issue link is a URL", () => {
    expect(isRejected(submissionPatch, { tracker_issue_url: "javascript:alert(1)" })).toEqual(["tracker_issue_url"]);
  });
});

describe("the status", () => {
  test("followers are notified by default", () => {
    expect(statusChangeCreate.parse({ status: "planned" })).toEqual({ status: "planned", notify: true });
    expect(statusChangeCreate.parse({ status: "planned", notify: false, note: " soon " })).toEqual({
      status: "planned",
      notify: false,
      note: "soon",
    });
  });

  test.each([[{ status: "duplicate" }], [{ status: "closed" }], [{}], [{ status: null }]])("%j is rejected", (body) =>
    expect(isRejected(statusChangeCreate, body)).toEqual(["status"]),
  );

  test("a note has at most 2000 characters", () => {
    expect(isRejected(statusChangeCreate, { status: "open", note: "🎉".repeat(2000) })).toEqual([]);
    expect(isRejected(statusChangeCreate, { status: "open", note: "x".repeat(2001) })).toEqual(["note"]);
  });
});

describe("checking for duplicates", () => {
  test("the default is five, and a draft shorter than a submission is accepted", () => {
    expect(duplicateCheck.parse({ title: "Da", description: "" })).toEqual({ title: "Da", description: "", limit: 5 });
  });

  test.each([0, 21, 1.5, "5", null])("limit cannot be %j", (limit) => {
    expect(isRejected(duplicateCheck, { title: "Dark mode", limit })).toEqual(["limit"]);
  });

  test("a title is required", () => {
    expect(isRejected(duplicateCheck, { description: "Please add a dark theme." })).toEqual(["title"]);
    expect(isRejected(duplicateCheck, { title: "x".repeat(201) })).toEqual(["title"]);
  });
});

test("each status has its color in the style sheets", () => {
  const css = ["pieces.css", "admin/surveys.css"].map((path) =>
    readFileSync(new URL(`../../functions/web/styles/${path}`, import.meta.url), "utf8"),
  );
  const colored = [...css.join("\n").matchAll(/(?:&|\.status)\.([\w-]+)/g)].map(([, name]) => name);
  // A draft has the color of an open submission.
  const surveys = surveyStatus.options.filter((status) => status !== "draft").map((status) => `survey-${status}`);
  expect(colored).toEqual(expect.arrayContaining([...submissionStatuses, ...surveys]));
});
