import type { NotificationListQuery } from "../../../shared/notifications.ts";
import type { Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";

/** The caller's notifications, newest first, about submissions they may still see. */
export function listNotifications({
  page,
  limit,
  unread,
}: NotificationListQuery): Statement<{ total: number; data: string }> {
  return (sql) => {
    const condition = sql`n.user_id = private.caller_id() and private.in_organization(n.organization_id) ${unread === undefined ? sql`` : unread ? sql`and n.read_at is null` : sql`and n.read_at is not null`}
      and exists (select from public.submissions s where s.id = n.submission_id)
      and (n.comment_id is null or exists (select from public.comments c where c.id = n.comment_id))`;
    return sql`
      with shown as (
        select n.id, n.type, n.submission_id, n.comment_id, n.read_at, n.created_at from public.notifications n
        where ${condition} order by n.created_at desc, n.id desc limit ${limit} offset ${(page - 1) * limit}
      )
      select (select count(*) from public.notifications n where ${condition}) as total,
        coalesce((select json_agg(json_build_object('id', n.id, 'type', n.type, 'submission_id', n.submission_id, 'submission_title', s.title,
          'comment_id', n.comment_id, 'read_at', n.read_at, 'created_at', n.created_at) order by n.created_at desc, n.id desc)
          from shown n join public.submissions s on s.id = n.submission_id), '[]')::text as data`;
  };
}

/** Marks the given notifications as read, or all. */
export function markNotificationsRead(ids: string[] | undefined): Statement<Data> {
  return (sql) => sql`
    with marked as (
      update public.notifications n set read_at = now()
      where n.user_id = private.caller_id() and private.in_organization(n.organization_id) and n.read_at is null ${ids ? sql`and n.id = any (${ids}::uuid[])` : sql``}
      returning n.id
    )
    select json_build_object('read', count(*))::text as data from marked`;
}
