import {
  notificationListAnswer,
  notificationListQuery,
  notificationsRead,
  notificationsReadAnswer,
} from "../../shared/notifications.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import { listNotifications, markNotificationsRead } from "../_shared/statements/notifications.ts";

const tag = "Notifications";

export const notifications = [
  endpoint({
    method: "get",
    path: "/me/notifications",
    tag,
    access: "person",
    summary: "List the signed-in user's notifications, newest first",
    query: notificationListQuery,
    responses: { 200: notificationListAnswer },
    call: ({ query }) => [listNotifications(query)],
    respond: ([[list]]) => dataResponse(200, list?.data ?? "[]", { total: list?.total ?? 0 }),
  }),
  endpoint({
    method: "post",
    path: "/me/notifications/read",
    tag,
    access: "person",
    summary: "Mark notifications as read, the given ones or all",
    body: notificationsRead,
    responses: { 200: notificationsReadAnswer },
    call: ({ body }) => [markNotificationsRead(body.ids)],
    respond: ([[marked]]) => dataResponse(200, marked?.data ?? `{"read":0}`),
  }),
];
