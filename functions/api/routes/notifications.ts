import {
  notificationListAnswer,
  notificationListQuery,
  notificationsRead,
  notificationsReadAnswer,
} from "../../../shared/notifications.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { listNotifications, markNotificationsRead } from "../../_shared/statements/notifications.ts";

const tag = "Notifications";

export const notifications = [
  endpoint({
    method: "get",
    path: "/me/notifications",
    tag,
    access: "person",
    summary: "List the signed-in user's notifications, newest first",
    query: notificationListQuery,
    answers: { 200: notificationListAnswer },
    call: ({ query }) => [listNotifications(query)],
    respond: ([[list]]) => answer(200, list?.data ?? "[]", { total: list?.total ?? 0 }),
  }),
  endpoint({
    method: "post",
    path: "/me/notifications/read",
    tag,
    access: "person",
    summary: "Mark notifications as read, those named or all",
    body: notificationsRead,
    answers: { 200: notificationsReadAnswer },
    call: ({ body }) => [markNotificationsRead(body.ids)],
    respond: ([[marked]]) => answer(200, marked?.data ?? `{"read":0}`),
  }),
];
