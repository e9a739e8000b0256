import type { z } from "zod";
import { type notificationListAnswer, notificationListQuery } from "../../../shared/notifications.ts";
import { queryInteger } from "../../../shared/pagination.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import { listNotifications } from "../../_shared/statements/notifications.ts";
import { notifications as endpoints } from "../../endpoints/notifications.ts";
import { Tabs } from "../components/admin/tabs.tsx";
import { Button } from "../components/button.tsx";
import { Day } from "../components/day.tsx";
import { Empty } from "../components/empty.tsx";
import { Form } from "../components/form.tsx";
import { FormButton } from "../components/form-button.tsx";
import { NextPage } from "../components/next-page.tsx";
import { action, endpointOf, page } from "../page.tsx";
import { hrefWith, submissionPath } from "../paths.ts";
import { useVisit } from "../rendering.ts";

type Notification = z.output<typeof notificationListAnswer>["data"][number];

const notificationsQuery = notificationListQuery.extend({ limit: queryInteger(1, 100).prefault(20) });

/** The news page posts to it as well, also inside of frames. */
const markRead = action(endpointOf(endpoints, "post", "/me/notifications/read"), {
  isEmbeddable: true,
  path: "/notifications/read",
  formPage: undefined,
});

/** The visitor's notifications from all boards, newest first. */
export const notificationsPage = page({
  path: "/notifications",
  access: "person",
  query: notificationsQuery,
  read: ({ query }) => [listNotifications(query)],
  view: ([{ total, data: shown }], { query, visit }, { viewer }) => {
    const { notifications } = visit.messages;
    return {
      title: notifications.title,
      content: (
        <div class="single">
          <div class="heading">
            <h1>{notifications.title}</h1>
            {(viewer?.unread_count ?? 0) > 0 && (
              <FormButton id="mark-all" look="button small">
                {notifications.markAll}
              </FormButton>
            )}
          </div>
          <Tabs
            label={notifications.title}
            tabs={([null, "true"] as const).map((unread) => ({
              href: hrefWith(visit, { unread }),
              label: unread ? notifications.unread : notifications.all,
              isHere: Boolean(query.unread) === Boolean(unread),
            }))}
          />
          {shown.length > 0 ? (
            <ul class="list" id="notifications">
              {shown.map((notification) => (
                <Row notification={notification} />
              ))}
            </ul>
          ) : (
            <Empty title={notifications.empty} text={notifications.emptyText} />
          )}
          <NextPage
            by="page"
            next={query.page * query.limit < total ? String(query.page + 1) : null}
            isFirst={query.page === 1}
          />
        </div>
      ),
    };
  },
  actions: [markRead],
});

const Row = ({ notification }: { notification: Notification }) => {
  const visit = useVisit();
  const { id, type, submission_id, submission_title, comment_id, read_at, created_at } = notification;
  const { notifications, words } = visit.messages;
  const path = submissionPath(submission_id, submission_title);
  return (
    <li class={`row plain${read_at ? "" : " unread"}`} id={`notification-${id}`}>
      <div class="row-text">
        <p class="kind">
          {notifications.kinds[type]}
          {!read_at && <span class="unseen"> · {notifications.isUnread}</span>}
          {" · "}
          <Day at={created_at} />
        </p>
        <h2 dir="auto">
          <a href={comment_id ? commentAddress(path, comment_id) : path}>{submission_title}</a>
        </h2>
      </div>
      {!read_at && (
        <Form hidden={{ ids: id }} hasProblem={false}>
          <Button
            kind="small"
            icon="check"
            title={notifications.mark}
            aria-label={`${notifications.mark}${words.colon}${submission_title}`}
          ></Button>
        </Form>
      )}
    </li>
  );
};
