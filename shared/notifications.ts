import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, shortArrayOf, timestamp, uuid } from "./fields.ts";
import { pageFields, queryBoolean, totalMeta } from "./pagination.ts";

const notificationTypes = [
  "vote",
  "comment",
  "reply",
  "official_comment",
  "status_changed",
  "merged",
] as const;

// In ------------------------------------------------------------------------------------------------------------

export const notificationListQuery = z
  .object({
    ...pageFields,
    unread: queryBoolean.optional().describe("true for unread ones, false for read ones, both without."),
  })
  .meta({ id: "NotificationListQuery", description: "Which notifications to list, newest first." });

export type NotificationListQuery = z.infer<typeof notificationListQuery>;

export const notificationsRead = z
  .object({ ids: shortArrayOf(uuid, 100).optional().describe("Up to 100; all of the caller's without.") })
  .meta({ id: "NotificationsRead", description: "Which notifications to mark as read." });

// Out -----------------------------------------------------------------------------------------------------------

const notification = z
  .object({
    id: uuid,
    type: z.enum(notificationTypes),
    submission_id: uuid,
    comment_id: uuid.nullable().describe("The comment it tells of; null for votes and status changes."),
    submission_title: z.string(),
    read_at: timestamp.nullable().describe("Null while unread."),
    created_at: timestamp,
  })
  .meta({ id: "Notification", description: "Something the caller should know; a vote's names no voter." });

const markedRead = z
  .object({ read: count.describe("Notifications that were unread and no longer are.") })
  .meta({ id: "MarkedRead", description: "How many notifications were marked as read." });

export const notificationListAnswer = listOf(notification, totalMeta);
export const notificationsReadAnswer = dataOf(markedRead);
