import { expect, test } from "vitest";
import { comment } from "../../shared/comments.ts";

const id = "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11";

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
