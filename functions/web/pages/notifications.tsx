import { notificationListQuery } from "../../../shared/notifications.ts";
import { queryInteger } from "../../../shared/pagination.ts";
import { listNotifications } from "../../_shared/statements/notifications.ts";
import type { Messages } from "../../words/index.ts";
import { Day } from "../components/day.tsx";
import { Icon } from "../components/icon.tsx";
import { page } from "../page.tsx";
import { hrefWith, submissionPath } from "../paths.ts";
import { useVisit } from "../rendering.ts";

type Notification = {
  id: string;
  type: keyof Messages["notifications"]["kinds"];
  submission_id: string;
  submission_title: string;
  comment_id: string | null;
  read_at: string | null;
  created_at: string;
};

const notificationsQuery = notificationListQuery.extend({ limit: queryInteger(1, 100).prefault(20) });

/** The visitor's notifications from all boards, newest first. */
export const notificationsPage = page({
  path: "/notifications",
  access: "person",
  query: notificationsQuery,
  call: ({ query }) => [listNotifications(query)],
  view: ([[list]], { query, visit }, { viewer }) => {
    const { notifications, board } = visit.messages;
    const shown: Notification[] = JSON.parse(list?.data ?? "[]");
    const isLast = query.page * query.limit >= (list?.total ?? 0);
    return {
      title: notifications.title,
      content: (
        <div class="single">
          <div class="heading">
            <h1>{notifications.title}</h1>
            {(viewer?.unread_count ?? 0) > 0 && (
              <form method="post" action="/notifications/read" id="mark-all">
                <button type="submit" class="button small">
                  {notifications.markAll}
                </button>
              </form>
            )}
          </div>
          <nav class="tabs" aria-label={notifications.title}>
            <a href={hrefWith(visit, { unread: null })} aria-current={query.unread ? undefined : "page"}>
              {notifications.all}
            </a>
            <a href={hrefWith(visit, { unread: "true" })} aria-current={query.unread ? "page" : undefined}>
              {notifications.unread}
            </a>
          </nav>
          {shown.length > 0 ? (
            <ul class="list" id="notifications">
              {shown.map((notification) => (
                <Row notification={notification} />
              ))}
            </ul>
          ) : (
            <div class="empty">
              <h2>{notifications.empty}</h2>
              <p>{notifications.emptyText}</p>
            </div>
          )}
          {(!isLast || query.page > 1) && (
            <nav class="pages" aria-label={board.more}>
              {query.page > 1 && <a href={hrefWith(visit, {})}>{board.first}</a>}
              {!isLast && (
                <a class="button" rel="next" href={hrefWith(visit, { page: String(query.page + 1) })}>
                  {board.more}
                </a>
              )}
            </nav>
          )}
        </div>
      ),
    };
  },
});

const Row = ({ notification }: { notification: Notification }) => {
  const visit = useVisit();
  const { id, type, submission_id, submission_title, comment_id, read_at, created_at } = notification;
  const { notifications } = visit.messages;
  const path = submissionPath(submission_id, submission_title);
  return (
    <li class={`row plain${read_at ? "" : " unread"}`} id={`notification-${id}`}>
      <div class="row-text">
        <p class="kind">
          {notifications.kinds[type]}
          {!read_at && <span class="unseen">, {notifications.isUnread}</span>}
          {" · "}
          <Day at={created_at} locale={visit.locale} />
        </p>
        <h2>
          <a href={comment_id ? `${path}#comment-${comment_id}` : path}>{submission_title}</a>
        </h2>
      </div>
      {!read_at && (
        <form method="post" action="/notifications/read">
          <input type="hidden" name="ids" value={id} />
          <button
            type="submit"
            class="button small"
            title={notifications.mark}
            aria-label={`${notifications.mark}: ${submission_title}`}
          >
            <Icon name="check" />
          </button>
        </form>
      )}
    </li>
  );
};
