import { z } from "zod";
import type { ErrorCode } from "../../../../shared/errors.ts";
import {
  type Moderation,
  moderationQuery,
  type moderationQueueAnswer,
  verdict,
} from "../../../../shared/moderation.ts";
import { queryInteger } from "../../../../shared/pagination.ts";
import { nextCursor } from "../../../_shared/http/cursor.ts";
import { endpointsOf, row } from "../../../_shared/http/endpoint.ts";
import { commentAddress } from "../../../_shared/http/web-pages.ts";
import { moderateMany, moderationQueue } from "../../../_shared/statements/moderation.ts";
import { type DataOf, parsed } from "../../../_shared/statements/shapes.ts";
import { Tabs } from "../../components/admin/tabs.tsx";
import { Avatar } from "../../components/avatar.tsx";
import { Button } from "../../components/button.tsx";
import { Day } from "../../components/day.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { LinkedText } from "../../components/linked-text.tsx";
import { liveInbox } from "../../components/live.ts";
import { NextPage } from "../../components/next-page.tsx";
import type { IconName } from "../../icons.ts";
import { adminPath, hrefWith, linkWith, submissionPath } from "../../paths.ts";
import { useFrame, useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Item = DataOf<typeof moderationQueueAnswer>[number];
type Target = Pick<Moderation, "target_type" | "target_id" | "updated_at">;
type Result = Target & { ok: boolean; error?: { code: ErrorCode } };

const inboxQuery = z.object({
  state: moderationQuery.shape.state.catch("pending"),
  type: moderationQuery.shape.type.catch(undefined),
  limit: queryInteger(1, 50).prefault(20),
  cursor: moderationQuery.shape.cursor,
});
type InboxQuery = z.output<typeof inboxQuery>;

const states = ["pending", "rejected", "spam"] as const;
const actions = { approve: "check", reject: "x", spam: "ban" } as const satisfies Record<string, IconName>;
type Action = keyof typeof actions;
const stateOf = { approve: "approved", reject: "rejected", spam: "spam" } as const;
const shortcuts = { next: "j", previous: "k", approve: "a", reject: "r", spam: "s", choose: "x", undo: "u" } as const;

const decide = endpointsOf({ tag: "", access: "person" }).post("/admin/inbox", {
  summary: "",
  runsLong: true,
  responses: {},
  body: verdict,
  call: ({ body }) => [moderateMany(body.items.map(targetOf), body)],
  respond: row("organization"),
});

export const inbox = adminPage({
  area: "inbox",
  query: inboxQuery,
  read: ({ query }) => [moderationQueue(query)],
  view: ([queue], { query, words, visit }, frame) => {
    const undo = undoable(visit);
    return {
      title: words.title,
      status: visit.answered ? 422 : undefined,
      undo: undo.length > 0 ? <Undo items={undo} /> : undefined,
      content: (
        <>
          <Failures />
          <Problem />
          <Filters query={query} total={queue.total} />
          {queue.data.length > 0 ? (
            <Queue items={queue.data} query={query} />
          ) : (
            <div class="empty" id="inbox" {...liveInbox(frame)} data-state={query.state}>
              <h2>{query.state === "pending" ? words.emptyTitle : words.noneTitle}</h2>
              {query.state === "pending" && <p>{words.emptyText}</p>}
            </div>
          )}
          <NextPage next={nextCursor(queue, "created_at", "asc")} isFirst={!query.cursor} />
        </>
      ),
    };
  },
  actions: [
    {
      of: decide,
      isShown: (json) => resultsOf(json).some(({ ok }) => !ok),
      readForm: (form) => ({
        items: form.getAll("items"),
        action: form.get("action") ?? undefined,
        reason: form.get("reason") ?? undefined,
        // Trust applies to approvals only.
        trust_author: form.get("action") === "approve" && form.get("trust_author") === "true" ? true : undefined,
      }),
      done: ({ json }, { visit }) => ({ done: doneOf(visit.form), count: resultsOf(json).length }),
      next: ({ json }, { visit }) => {
        const items = resultsOf(json).map(({ target_type, target_id }) => `${target_type}:${target_id}`);
        return hrefWith(visit, { undo: doneOf(visit.form) === "reopen" ? null : items.join(",") });
      },
    },
  ],
});

const undoPattern = /^(submission|comment):[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The items of the last decision, which can be undone. */
const undoable = ({ query }: Visit) =>
  (query.get("undo") ?? "")
    .split(",")
    .filter((item) => undoPattern.test(item))
    .slice(0, 50);

/** Of `<type>:<id>@<updated_at>`; undoing names no text. */
function targetOf(item: string): Target {
  const [, type, target_id = "", updated_at] = /^(\w+):([^@]+)@?(.*)$/.exec(item) ?? [];
  return { target_type: type === "comment" ? "comment" : "submission", target_id, updated_at: updated_at || null };
}

const resultsOf = (json: string) => parsed<{ data: Result[] }>(json).data;
const doneOf = (form: Visit["form"]) => (form instanceof URLSearchParams && form.get("action")) || "approve";

/** The numbers of failed and successful decisions about several items. */
const Failures = () => {
  const words = useWords("inbox");
  const visit = useVisit();
  if (!visit.answered) return null;
  const results = resultsOf(visit.answered);
  const failed = results.filter(({ ok }) => !ok);
  const changed = failed.filter(({ error }) => error?.code === "TEXT_CHANGED").length;
  return (
    <div class="notice problem" role="alert">
      {changed > 0 && <p>{words.changed(changed)}</p>}
      {failed.length > changed && <p>{words.failed(failed.length - changed)}</p>}
      {results.length > failed.length && <p>{words.succeeded(results.length - failed.length)}</p>}
    </div>
  );
};

/** The form that undoes the last decision. */
const Undo = ({ items }: { items: string[] }) => {
  const words = useWords("inbox");
  const visit = useVisit();
  return (
    <Form to={addressOf(visit)} hidden={{ items }} data-turbo-action="replace" hasProblem={false}>
      <Button kind="small" icon="undo-2" name="action" value="reopen" label={words.undo} />
    </Form>
  );
};

/** The URL of this list, without the result of the last decision. */
const addressOf = (visit: Visit) =>
  hrefWith({ ...visit, path: adminPath(visit, "/inbox") }, { undo: null, cursor: visit.query.get("cursor") });

const Filters = ({ query, total }: { query: InboxQuery; total: number }) => {
  const words = useWords("inbox");
  const visit = useVisit();
  return (
    <div class="bar inbox-bar">
      <Tabs
        label={words.state}
        current="true"
        tabs={states.map((state) => ({
          ...linkWith(visit, { state: state === "pending" ? null : state, undo: null }),
          label: words.states[state],
          isHere: query.state === state,
        }))}
      />
      <Tabs
        label={words.kind}
        current="true"
        tabs={([undefined, "submission", "comment"] as const).map((type) => ({
          ...linkWith(visit, { type: type ?? null, undo: null }),
          label: words.kinds[type ?? "all"],
          isHere: query.type === type,
        }))}
      />
      <span class="quiet" role="status">
        {words.count(total)}
      </span>
    </div>
  );
};

const Queue = ({ items, query }: { items: Item[]; query: InboxQuery }) => {
  const words = useWords("inbox");
  const visit = useVisit();
  return (
    <div id="inbox" {...liveInbox(useFrame())} data-state={query.state} data-decided={JSON.stringify(words.decided)}>
      <div id="inbox-keys" data-island="inbox" class="stack">
        <Form
          to={addressOf(visit)}
          id="inbox-bulk"
          class="bulk"
          data-turbo-action="replace"
          aria-label={words.bulk}
          hasProblem={false}
        >
          <label class="check">
            <input type="checkbox" id="inbox-all" class="needs-script" data-island="select-all" />
            <span>{words.bulk}</span>
          </label>
          <Verdicts query={query} isSmall />
        </Form>
        <ul class="inbox">
          {items.map((item) => (
            <Entry item={item} query={query} />
          ))}
        </ul>
        <p class="keys quiet small needs-script">
          {Object.entries(shortcuts).map(([name, key]) => (
            <span>
              <kbd>{key}</kbd> {words.shortcuts[name as keyof typeof shortcuts]}
            </span>
          ))}
          <label class="check">
            <input type="checkbox" data-toggle checked />
            {words.keysOn}
          </label>
        </p>
        <p class="unseen" role="status" data-said />
      </div>
    </div>
  );
};

const Verdicts = ({ query, isSmall }: { query: InboxQuery; isSmall?: boolean }) => {
  const words = useWords("inbox");
  return (
    <div class="buttons">
      {(Object.keys(actions) as Action[])
        .filter((action) => stateOf[action] !== query.state)
        .map((action) => (
          <button
            type="submit"
            class={action === "approve" && !isSmall ? "button small main" : "button small"}
            name="action"
            value={action}
            aria-keyshortcuts={isSmall ? undefined : shortcuts[action]}
          >
            <Icon name={actions[action]} />
            {words.actions[action]}
          </button>
        ))}
    </div>
  );
};

const Entry = ({ item, query }: { item: Item; query: InboxQuery }) => {
  const words = useWords("inbox");
  const visit = useVisit();
  const { type, id, submission_id, submission_title, title, body, author, is_trusted, updated_at } = item;
  const value = `${type}:${id}@${updated_at}`;
  const path = submissionPath(submission_id, submission_title);
  return (
    <li>
      <article class="card entry" id={`item-${id}`} data-item={value} tabindex={-1} aria-labelledby={`title-${id}`}>
        <input
          type="checkbox"
          class="entry-choice"
          name="items"
          value={value}
          form="inbox-bulk"
          aria-label={`${words.choose}${words.colon}${title ?? [...body].slice(0, 60).join("")}`}
        />
        <div class="stack entry-text">
          <header>
            <h2 id={`title-${id}`} dir="auto">
              {type === "comment" ? (
                <>
                  <span class="quiet">{words.commentOn}</span>{" "}
                  <a href={commentAddress(path, id)}>
                    <bdi>{submission_title}</bdi>
                  </a>
                </>
              ) : (
                <a href={path}>{title}</a>
              )}
            </h2>
            <p class="facts">
              <span class="with-icon author">
                <Avatar id={author.id} name={author.name} url={author.avatar} />
                <b>{author.name}</b>
              </span>
              {is_trusted ? (
                <span class="tag with-icon">
                  <Icon name="shield" />
                  {words.trusted}
                </span>
              ) : (
                <span class="tag">{words.untrusted}</span>
              )}
              <Day at={item.created_at} />
              {updated_at !== item.created_at && <span>{visit.messages.comments.edited}</span>}
            </p>
          </header>
          <div class="entry-body">
            <LinkedText text={body} />
          </div>
          <p class="notice" data-by-other hidden />
          <Form
            to={addressOf(visit)}
            class="verdict"
            hidden={{ items: value }}
            data-turbo-action="replace"
            hasProblem={false}
          >
            <Verdicts query={query} />
            <details class="action" id={`more-${id}`}>
              <summary>{words.more}</summary>
              <div class="stack">
                {!is_trusted && (
                  <label class="check">
                    <input type="checkbox" name="trust_author" value="true" />
                    {words.trust}
                  </label>
                )}
                <Field id={`reason-${id}`} name="reason" label={words.reason} />
              </div>
            </details>
          </Form>
        </div>
      </article>
    </li>
  );
};
