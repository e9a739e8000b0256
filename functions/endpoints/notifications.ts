import {
  notificationListAnswer,
  notificationListQuery,
  notificationsRead,
  notificationsReadAnswer,
} from "../../shared/notifications.ts";
import { endpointsOf, row, rows } from "../_shared/http/endpoint.ts";
import { listNotifications, markNotificationsRead } from "../_shared/statements/notifications.ts";

const { get, post } = endpointsOf({ tag: "Notifications", access: "person" });
export const notifications = [
  get("/me/notifications", {
    summary: "List the signed-in user's notifications, newest first",
    query: notificationListQuery,
    responses: { 200: notificationListAnswer },
    call: ({ query }) => [listNotifications(query)],
    respond: rows("notification"),
  }),
  post("/me/notifications/read", {
    summary: "Mark notifications as read, the given ones or all",
    body: notificationsRead,
    responses: { 200: notificationsReadAnswer },
    call: ({ body }) => [markNotificationsRead(body.ids)],
    respond: row("notification"),
  }),
];
