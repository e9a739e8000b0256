import { boardNews, followedNews, type News, offeredSurvey } from "../../_shared/statements/pages.ts";
import { Button } from "../components/button.tsx";
import { Day } from "../components/day.tsx";
import { Empty } from "../components/empty.tsx";
import { LinkedText } from "../components/linked-text.tsx";
import { Status } from "../components/status.tsx";
import { page, plain } from "../page.tsx";
import { organizationPath, personForm, personLink, submissionLink } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { optional } from "../shown.ts";

const most = 20;

const unreadOf = (news: News[]) => news.filter((entry) => entry.unread.length > 0);

/** New statuses on the board, first of submissions that the visitor follows. The widget gets its counts from here. */
export const news = page({
  path: "/news",
  ofOrganization: true,
  isEmbeddable: true,
  read: ({ visit: { isSignedIn }, locale }) => [
    boardNews(most),
    followedNews(most, isSignedIn),
    optional(offeredSurvey(locale, isSignedIn)),
  ],
  view: ([recent, followed, offered], { visit }, frame) => {
    const { widget, notifications } = visit.messages;
    const others = recent.filter(
      ({ submission_id }) => !followed.some((known) => known.submission_id === submission_id),
    );
    const unread = unreadOf(followed);
    return {
      title: widget.words.news,
      section: "news",
      canonical: `${organizationPath(frame.organization)}/news`,
      content: (
        <div class="single" id="news" data-unread={unread.length} data-survey={offered && JSON.stringify(offered)}>
          <div class="heading">
            <h1>{widget.words.news}</h1>
            {unread.length > 0 && (
              <form {...personForm(visit, "/notifications/read")}>
                <input type="hidden" name="return_to" value={personLink(visit, `${visit.base}/news`).href} />
                {unread.flatMap((entry) => entry.unread.map((id) => <input type="hidden" name="ids" value={id} />))}
                <Button kind="small" label={notifications.markAll} />
              </form>
            )}
          </div>
          {followed.length > 0 && <Entries title={widget.followed} entries={followed} />}
          {others.length > 0 && <Entries title={widget.onTheBoard} entries={others} />}
          {followed.length + others.length === 0 && <Empty title={widget.none} text={widget.noneText} />}
        </div>
      ),
    };
  },
});

/** The number of unread news, which the widget polls; null without a session, which may have ended since the last poll. */
export const unreadNews = plain({
  method: "get",
  path: "/embed/o/:organization/unread",
  call: ({ visit: { isSignedIn } }) => [followedNews(most, isSignedIn)],
  respond: ([[own]], { visit: { isSignedIn } }) => ({
    status: 200,
    json: JSON.stringify({ unread: isSignedIn ? unreadOf(own?.data ?? []).length : null }),
    headers: { "Content-Type": "application/json; charset=utf-8", "Cross-Origin-Resource-Policy": "same-origin" },
  }),
});

const Entries = ({ title, entries }: { title: string; entries: News[] }) => {
  const visit = useVisit();
  return (
    <section class="stack">
      <h2>{title}</h2>
      <ul class="list">
        {entries.map(({ submission_id, title, status, note, changed_at, unread }) => (
          <li class={unread.length > 0 ? "row plain unread" : "row plain"}>
            <div class="row-text">
              <p class="kind">
                <Status status={status} />
                {unread.length > 0 && <span class="unseen">, {visit.messages.notifications.isUnread}</span>}
                {" · "}
                <Day at={changed_at} />
              </p>
              <h3 dir="auto">
                <a {...submissionLink(visit, submission_id, title)}>{title}</a>
              </h3>
              {note && <LinkedText text={note} />}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
};
