import { expect, test } from "vitest";
import { canonicalEventName, eventAliases, eventName, eventNames, events } from "../../shared/events.ts";

const id = "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11";

test("both lists of names are accepted, and each alias maps to an event", () => {
  for (const name of [...eventNames, ...Object.keys(eventAliases)]) {
    expect(eventNames).toContain(canonicalEventName(eventName.parse(name)));
  }
  expect(canonicalEventName("vote.created")).toBe("submission.vote_added");
  expect(canonicalEventName("status.changed")).toBe("submission.status_changed");
});

test.each(["submission.deleted", "vote.deleted", "", "toString", "__proto__"])("%j is not an event", (name) => {
  expect(eventName.safeParse(name).success).toBe(false);
});

test.each(["submission.vote_added", "submission.vote_removed"] as const)("%s contains no voter", (name) => {
  const data = { submission_id: id, vote_count: 3 };
  expect(events[name].parse({ ...data, user_id: id, email: "a@example.org" })).toEqual(data);
});

test("comment.created contains the author's name and no e-mail address", () => {
  const comment = {
    id,
    submission_id: id,
    parent_id: null,
    body: "Yes",
    author: { id, name: "Ann" },
    is_official: true,
    created_at: "2026-11-21T09:36:00+00:00",
  };
  const data = { comment: { ...comment, author: { ...comment.author, email: "a@example.org" } } };
  expect(events["comment.created"].parse(data)).toEqual({ comment });
});
