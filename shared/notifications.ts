import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, shortArrayOf, timestamp, uuid } from "./fields.ts";
import { pageFields, queryBoolean, totalMeta } from "./pagination.ts";

const notificationTypes = ["vote", "comment", "reply", "official_comment", "status_changed", "merged"] as const;

// In ------------------------------------------------------------------------------------------------------------

export const notificationListQuery = z
  .object({
    ...pageFields,
    unread: queryBoolean.optional().describe("true for unread ones, false for read ones; all by default."),
  })
  .meta({ id: "NotificationListQuery", description: "Filter and page of notifications, newest first." });

export type NotificationListQuery = z.infer<typeof notificationListQuery>;

export const notificationsRead = z
  .object({ ids: shortArrayOf(uuid, 100).optional().describe("Up to 100 ids; all of the caller's by default.") })
  .meta({ id: "NotificationsRead", description: "Notifications to mark as read." });

// Out -----------------------------------------------------------------------------------------------------------

const notification = z
  .object({
    id: uuid,
    type: z.enum(notificationTypes),
    submission_id: uuid,
    comment_id: uuid.nullable().describe("The comment it is about; null for votes and status changes."),
    submission_title: z.string(),
    read_at: timestamp.nullable().describe("Null while unread."),
    created_at: timestamp,
  })
  .meta({ id: "Notification", description: "A notification of the caller; one about a vote names no voter." });

const markedRead = z
  .object({ read: count.describe("Number of notifications that were unread.") })
  .meta({ id: "MarkedRead", description: "The number of notifications that were marked as read." });

export const notificationListAnswer = listOf(notification, totalMeta);
export const notificationsReadAnswer = dataOf(markedRead);
