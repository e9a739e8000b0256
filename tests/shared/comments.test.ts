import { expect, test } from "vitest";
import {
  comment,
  commentCreate,
  commentCreateByKey,
  commentDetailQuery,
  commentListQuery,
  commentPatch,
} from "../../shared/comments.ts";

const id = "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11";

test.each([commentCreate, commentCreateByKey, commentPatch])("a body has 1 to 2000 characters (%#)", (schema) => {
  for (const body of ["👍", "🎉".repeat(2000), ` ${"x".repeat(2000)} `]) {
    expect(schema.safeParse({ body }).success).toBe(true);
  }
  for (const body of ["", "\u3000\n", "🎉".repeat(2001), "a\0", "\uDE00", null, 5]) {
    expect(schema.safeParse({ body }).success).toBe(false);
  }
});

test("a body cannot set is_official or the author", () => {
  const forged = { is_official: true, author_id: id, user_id: id, vote_count: 5, submission_id: id };
  expect(commentCreate.parse({ body: "Yes", ...forged, author_email: "a@example.org" })).toEqual({ body: "Yes" });
});

test("a reply names its parent by UUID", () => {
  expect(commentCreate.parse({ body: "Yes", parent_id: id }).parent_id).toBe(id);
  expect(commentCreate.parse({ body: "Yes", parent_id: null }).parent_id).toBeNull();
  expect(commentCreate.safeParse({ body: "Yes", parent_id: "1" }).success).toBe(false);
});

test("a key names the author, or writes as itself", () => {
  const onBehalf = { body: "Yes", author_email: "a@example.org", author_name: "Ann" };
  expect(commentCreateByKey.parse(onBehalf)).toEqual(onBehalf);
  expect(commentCreateByKey.parse({ body: "Yes" })).toEqual({ body: "Yes" });
});

test("the default order is oldest first", () => {
  expect(commentListQuery.parse({})).toEqual({ page: 1, limit: 50, sort: "created_at", order: "asc" });
  expect(commentListQuery.safeParse({ sort: "title" }).success).toBe(false);
});

test("replies is the only expansion", () => {
  expect(commentDetailQuery.parse({ expand: "replies" })).toEqual({ expand: ["replies"] });
  expect(commentDetailQuery.safeParse({ expand: "author" }).success).toBe(false);
});

test("a comment contains no e-mail address, of its author either, at any depth", () => {
  const written = {
    id,
    submission_id: id,
    parent_id: null,
    body: "Yes",
    author: { id, name: "Ann", avatar: "https://x.example/a.svg", is_team_member: false, email: "a@example.org" },
    is_official: false,
    moderation_state: "approved",
    vote_count: 0,
    reply_count: 1,
    created_at: "2026-11-21T09:36:00+00:00",
    updated_at: "2026-11-21T09:36:00+00:00",
  };
  const parsed = comment.parse({ ...written, replies: [{ ...written, parent_id: id }] });
  expect(parsed.replies).toHaveLength(1);
  expect(JSON.stringify(parsed)).not.toContain("@");
});
