import { expect, test } from "vitest";
import { notificationListQuery, notificationsRead } from "../../shared/notifications.ts";
import { validationDetails } from "../../shared/validation.ts";

const id = "3f2b8a7e-4f5d-4c1e-9a53-0d9c2f6f6a11";

test.each([
  [{}, undefined],
  [{ unread: "true" }, true],
  [{ unread: "false" }, false],
])("%j is parsed as unread: %j", (query, unread) => expect(notificationListQuery.parse(query).unread).toBe(unread));

test.each(["1", "yes", "", "TRUE"])("unread=%j is rejected", (unread) => {
  const result = notificationListQuery.safeParse({ unread });
  expect(result.success ? [] : validationDetails(result.error)).toEqual([
    { field: "unread", message: "must be true or false" },
  ]);
});

test("all are marked as read without ids", () => {
  expect(notificationsRead.parse({})).toEqual({});
});

test("up to 100 are marked in one request", () => {
  expect(notificationsRead.safeParse({ ids: Array(100).fill(id) }).success).toBe(true);
  const result = notificationsRead.safeParse({ ids: Array(101).fill(id) });
  expect(result.success ? [] : validationDetails(result.error)).toEqual([
    { field: "ids", message: "must have at most 100 items" },
  ]);
});

test("a malformed id is reported with its position", () => {
  const result = notificationsRead.safeParse({ ids: [id, "x"] });
  expect(result.success ? [] : validationDetails(result.error)).toEqual([
    { field: "ids.1", message: "must be a UUID" },
  ]);
});
