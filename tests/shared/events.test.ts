import { expect, test } from "vitest";
import { canonicalEventName, eventAliases, eventName, eventNames } from "../../shared/events.ts";

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
