import { commentListQuery } from "../../../shared/comments.ts";
import { submissionListQuery } from "../../../shared/submissions.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { listComments } from "../../_shared/statements/comments.ts";
import { pageFrame } from "../../_shared/statements/pages.ts";
import { parsed } from "../../_shared/statements/shapes.ts";
import { listSubmissions, statusHistory, submissionDetail } from "../../_shared/statements/submissions.ts";
import { plain, seeOther } from "../page.tsx";
import { organizationPath, submissionPath } from "../paths.ts";
import { xml, xmlDocument } from "../xml.ts";

// Feeds are Atom (RFC 4287), built for an anonymous caller: they contain nothing private or pending.

const maxEntries = 50;

/** New submissions of a board. */
export const boardFeed = plain({
  method: "get",
  path: "/feed.xml",
  ofOrganization: true,
  isAnonymous: true,
  call: () => [pageFrame(undefined), listSubmissions(submissionListQuery.parse({ limit: String(maxEntries) }))],
  respond: ([[frame], [list]], { visit }) => {
    const organization = frame?.data.organization;
    if (!organization || !list) throw notFound("organization");
    const { messages } = visit;
    return feed({
      title: `${organization.name} · ${messages.nav.board}`,
      author: organization.name,
      path: `${organizationPath(organization)}/`,
      self: `${organizationPath(organization)}/feed.xml`,
      locale: visit.locale,
      entries: parsed(list.data).map(({ id, title, description, status, created_at, updated_at }) => ({
        id: `/submissions/${id}`,
        path: submissionPath(id, title),
        title,
        text: description,
        category: { term: status, label: messages.statuses[status] },
        published: created_at,
        updated: updated_at,
      })),
    });
  },
});

/** Comments and status changes of a submission. */
export const submissionFeed = plain({
  method: "get",
  path: "/submissions/:id/feed.xml",
  isAnonymous: true,
  call: ({ params, locale }) => {
    const id = params.id as string;
    return [
      pageFrame({ resource: "submissions", id }),
      submissionDetail(id, [], locale),
      listComments(id, commentListQuery.parse({ limit: String(maxEntries), order: "desc" })),
      statusHistory(id),
    ];
  },
  respond: ([[frame], [detail], [comments], [history]], { visit }) => {
    const organization = frame?.data.organization;
    if (!organization || !detail || !comments || !history) throw notFound("submission");
    const { id, title, merged_into_id } = parsed(detail.data);
    if (merged_into_id) return seeOther(`/submissions/${merged_into_id}/feed.xml`);
    const { feeds, statuses } = visit.messages;
    const path = submissionPath(id, title);
    const entries = [
      ...parsed(comments.data).map((comment) => ({
        id: `/submissions/${id}#comment-${comment.id}`,
        path: commentAddress(path, comment.id),
        title: (comment.is_official ? feeds.officialBy : feeds.commentBy)(comment.author.name),
        author: comment.author.name,
        text: comment.body,
        published: comment.created_at,
        updated: comment.updated_at,
      })),
      ...parsed(history.data).map((change) => ({
        id: `/submissions/${id}#status-${Date.parse(change.changed_at)}`,
        path,
        title: feeds.newStatus(statuses[change.new_status]),
        author: change.changed_by,
        text: change.note ?? "",
        published: change.changed_at,
        updated: change.changed_at,
      })),
    ];
    return feed({
      title: `${title} · ${organization.name}`,
      author: organization.name,
      path,
      self: `/submissions/${id}/feed.xml`,
      locale: visit.locale,
      entries: entries.sort((a, b) => Date.parse(b.published) - Date.parse(a.published)).slice(0, maxEntries),
    });
  },
});

type Feed = {
  title: string;
  author: string;
  /** The page of the entry. */
  path: string;
  self: string;
  locale: string;
  entries: Entry[];
};
type Entry = {
  /** Constant, even if the URL of the page changes. */
  id: string;
  path: string;
  title: string;
  author?: string;
  text: string;
  category?: { term: string; label: string };
  published: string;
  updated: string;
};

function feed({ title, author, path, self, locale, entries }: Feed) {
  const site = environment.siteUrl;
  // A feed without entries has no update time.
  const updated = new Date(Math.max(0, ...entries.map((entry) => Date.parse(entry.updated))));
  const root = xml`<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${locale}">
<id>${site}${self}</id>
<title>${title}</title>
<updated>${updated.toISOString()}</updated>
<author><name>${author}</name></author>
<link rel="self" type="application/atom+xml" href="${site}${self}"/>
<link rel="alternate" type="text/html" href="${site}${path}"/>
${entries.map(
  (entry) => xml`<entry>
<id>${site}${entry.id}</id>
<title>${entry.title}</title>
<link rel="alternate" type="text/html" href="${site}${entry.path}"/>
<published>${new Date(entry.published).toISOString()}</published>
<updated>${new Date(entry.updated).toISOString()}</updated>
${entry.author && xml`<author><name>${entry.author}</name></author>`}
${entry.category && xml`<category term="${entry.category.term}" label="${entry.category.label}"/>`}
<content type="text">${entry.text}</content>
</entry>
`,
)}</feed>`;
  return {
    status: 200,
    json: xmlDocument(root),
    headers: { "Content-Type": "application/atom+xml; charset=utf-8", "X-Robots-Tag": "noindex" },
  };
}
