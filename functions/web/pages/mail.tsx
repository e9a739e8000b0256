import type { JSX } from "hono/jsx/jsx-runtime";
import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import {
  type ChosenMailKind,
  type MailPreferences,
  mailChoices,
  mailKinds,
  timingsOf,
} from "../../../shared/mail.ts";
import {
  type MailLink,
  readInviteLink,
  readMailLink,
  readStopLink,
  type StopLink,
} from "../../_shared/callers/mail-links.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { accountMailIsStopped, stopAccountMail } from "../../_shared/statements/accounts.ts";
import {
  changeMailPreferencesByLink,
  changeMyMailPreferences,
  mailPreferencesByLink,
  myMailPreferences,
  refuseInvites,
  refusingInvites,
} from "../../_shared/statements/mail.ts";
import { pageFrame } from "../../_shared/statements/pages.ts";
import type { Messages } from "../../words/index.ts";
import { Field, Problem } from "../components/field.tsx";
import { page, pageResponse, plain, seeOther } from "../page.tsx";
import { submissionPath } from "../paths.ts";
import type { View } from "../view.ts";
import type { Visit } from "../visit.ts";

const changes = z.object({
  choices: mailChoices.optional(),
  stopped: z.boolean().optional(),
  mute: uuid.optional(),
  unmute: uuid.optional(),
});
const saved = z.literal("true").optional();
const oneClick = z.object({ "List-Unsubscribe": z.literal("One-Click") });
const linked = z.object({ token: z.string().max(500) });

/** The recipient and kind of a mail link; 404 if it is forged or expired. */
function linkOf(token: string): MailLink {
  const link = readMailLink(token);
  if (!link) throw notFound("link");
  return link;
}

/** Mail preferences of a signed-in user for an organization. */
export const mailSettings = page({
  path: "/settings/mail",
  access: "person",
  ofOrganization: true,
  query: z.object({ saved }),
  call: () => [myMailPreferences()],
  view: ([[mine]], { query, visit }) =>
    preferencesView(mine?.data, visit, { action: visit.path, isSaved: query.saved === "true" }),
});

export const mailSettingsForm = plain({
  method: "post",
  path: "/settings/mail",
  access: "person",
  ofOrganization: true,
  body: changes,
  formPage: mailSettings,
  call: ({ body }) => [changeMyMailPreferences(body)],
  respond: (_results, { visit }) => seeOther(`${visit.path}?saved=true`),
});

/** Mail preferences of the recipient of a mail link, without signing in. */
export const mail = page({
  path: "/mail",
  query: linked.extend({ saved, mute: uuid.optional() }),
  call: ({ query }) => [mailPreferencesByLink(linkOf(query.token))],
  view: ([[theirs]], { query, visit }) =>
    preferencesView(theirs?.data, visit, {
      action: `/mail?token=${query.token}`,
      isSaved: query.saved === "true",
      mute: query.mute,
    }),
});

export const mailForm = plain({
  method: "post",
  path: "/mail",
  query: linked.extend({ saved, mute: uuid.optional() }),
  body: changes,
  formPage: mail,
  call: ({ query, body }) => [changeMailPreferencesByLink(linkOf(query.token), body)],
  respond: ([[theirs]], { query }) => {
    if (!theirs?.data) throw notFound("link");
    return seeOther(`/mail?token=${query.token}&saved=true`);
  },
});

/** Opening the link asks: programs that look at links open it too. */
export const unsubscribe = page({
  path: "/unsubscribe",
  query: linked,
  call: ({ query }) => [mailPreferencesByLink(linkOf(query.token))],
  view: ([[theirs]], { query, visit }) => unsubscribeView(theirs?.data, visit, query.token, false),
});

/** Called by the button of a mail program or of the page, without cookie or confirmation (RFC 8058). */
export const unsubscribeForm = plain({
  method: "post",
  path: "/unsubscribe",
  isAnonymous: true,
  isOneClick: true,
  query: linked,
  body: oneClick,
  call: ({ query }) => {
    const link = linkOf(query.token);
    return [pageFrame(undefined), changeMailPreferencesByLink(link, { stop: link.kind })];
  },
  respond: ([[frame], [theirs]], { query, visit }) => {
    if (!frame) throw notFound("link");
    return pageResponse(unsubscribeView(theirs?.data, visit, query.token, true), {
      frame: frame.data,
      visit,
      params: {},
    });
  },
});

function unsubscribeView(
  theirs: MailPreferences | null | undefined,
  visit: Visit,
  token: string,
  isDone: boolean,
): View {
  if (!theirs) throw notFound("link");
  const { mail } = visit.messages;
  return stopView(visit, {
    title: mail.unsubscribeTitle,
    text: mail.unsubscribeText(labelOf(linkOf(token).kind, visit.messages), theirs.organization.name),
    action: `/unsubscribe?token=${token}`,
    done: isDone ? mail.unsubscribed : undefined,
    after: (
      <p>
        <a class="link" href={`/mail?token=${token}`}>
          {mail.choose}
        </a>
      </p>
    ),
  });
}

/** Stops the mail of an organization to an address that it invited. */
export const refusal = page({
  path: "/unsubscribe/invites",
  query: linked,
  call: ({ query }) => [refusingInvites(inviteOf(query.token))],
  view: ([[refusing]], { query, visit }) => refusalView(refusing?.data, visit, query.token),
});

export const refusalForm = plain({
  method: "post",
  path: "/unsubscribe/invites",
  isAnonymous: true,
  isOneClick: true,
  query: linked,
  body: oneClick,
  call: ({ query }) => [pageFrame(undefined), refuseInvites(inviteOf(query.token))],
  respond: ([[frame], [refusing]], { query, visit }) => {
    if (!frame) throw notFound("link");
    return pageResponse(refusalView(refusing?.data, visit, query.token), {
      frame: frame.data,
      visit,
      params: {},
    });
  },
});

function inviteOf(token: string): string {
  const id = readInviteLink(token, "refuse invites");
  if (!id) throw notFound("link");
  return id;
}

function refusalView(
  refusing: { name: string; is_stopped: boolean } | null | undefined,
  visit: Visit,
  token: string,
): View {
  if (!refusing) throw notFound("link");
  const { mail } = visit.messages;
  const { name, is_stopped } = refusing;
  return stopView(visit, {
    title: mail.stop(name),
    text: mail.refuseText(name),
    action: `/unsubscribe/invites?token=${token}`,
    done: is_stopped ? mail.stopped(name) : undefined,
  });
}

/** "This was not me": stops mails about accounts that others make with an address of the mailbox, or sends them again. */
export const accountMail = page({
  path: "/unsubscribe/accounts",
  query: linked,
  call: ({ query }) => [accountMailIsStopped(stopLinkOf(query.token).mailboxHash)],
  view: ([[found]], { query, visit }) => accountMailView(found?.data === true, visit, query.token),
});

export const accountMailForm = plain({
  method: "post",
  path: "/unsubscribe/accounts",
  isAnonymous: true,
  isOneClick: true,
  query: linked,
  body: oneClick.extend({ stopped: z.literal("false").optional() }),
  call: ({ query, body }) => [
    pageFrame(undefined),
    stopAccountMail(stopLinkOf(query.token), body.stopped === undefined),
  ],
  respond: ([[frame]], { query, body, visit }) => {
    if (!frame) throw notFound("link");
    return pageResponse(accountMailView(body.stopped === undefined, visit, query.token), {
      frame: frame.data,
      visit,
      params: {},
    });
  },
});

function stopLinkOf(token: string): StopLink {
  const link = readStopLink(token);
  if (!link) throw notFound("link");
  return link;
}

function accountMailView(isStopped: boolean, visit: Visit, token: string): View {
  const { mail, account } = visit.messages;
  const action = `/unsubscribe/accounts?token=${token}`;
  return stopView(visit, {
    title: account.notMe,
    text: mail.accountsText,
    act: account.notMe,
    action,
    done: isStopped ? mail.accountsStopped : undefined,
    after: isStopped ? (
      <form method="post" action={action} id="resume" data-turbo="false">
        <input type="hidden" name="List-Unsubscribe" value="One-Click" />
        <input type="hidden" name="stopped" value="false" />
        <button type="submit" class="button">
          {mail.resume}
        </button>
      </form>
    ) : undefined,
  });
}

/** Asks for confirmation before mail is stopped; then shows that it is. */
function stopView(
  { messages: { mail }, refused }: Visit,
  {
    title,
    text,
    act,
    action,
    done,
    after,
  }: {
    title: string;
    text: string;
    act?: string;
    action: string;
    done: string | undefined;
    after?: JSX.Element | undefined;
  },
): View {
  return {
    title: done ? mail.title : title,
    noindex: true,
    content: (
      <section class="card narrow">
        <h1>{done ? mail.title : title}</h1>
        {done ? (
          <p role="status">{done}</p>
        ) : (
          <>
            <p>{text}</p>
            <form method="post" action={action} class="stack" data-turbo="false">
              {refused && (
                <div class="notice problem" role="alert">
                  {refused.message}
                </div>
              )}
              <input type="hidden" name="List-Unsubscribe" value="One-Click" />
              <button type="submit" class="button main">
                {act ?? mail.unsubscribeNow}
              </button>
            </form>
          </>
        )}
        {after}
      </section>
    ),
  };
}

function preferencesView(
  theirs: MailPreferences | null | undefined,
  visit: Visit,
  { action, isSaved, mute }: { action: string; isSaved: boolean; mute?: string | undefined },
): View {
  if (!theirs) throw notFound("person");
  const { mail, settings } = visit.messages;
  const { name } = theirs.organization;
  const isMuting = mute && !theirs.muted.some(({ id }) => id === mute);
  return {
    title: mail.title,
    noindex: true,
    content: (
      <div class="single settings">
        <h1>{mail.title}</h1>
        <p class="quiet">{theirs.mail_enabled ? mail.intro(name) : mail.disabled(name)}</p>
        {isSaved && !visit.refused && (
          <p class="notice" role="status">
            {settings.saved}
          </p>
        )}
        {isMuting && (
          <section class="card">
            <h2>{mail.muteThis}</h2>
            <form method="post" action={action} id="mute">
              <input type="hidden" name="mute" value={mute} />
              <button type="submit" class="button main">
                {mail.unsubscribeNow}
              </button>
            </form>
          </section>
        )}
        {theirs.stopped ? (
          <section class="card">
            <h2>{mail.stopped(name)}</h2>
            {theirs.stopped === "refused" ? (
              <form method="post" action={action} id="resume">
                <input type="hidden" name="stopped" value="false" />
                <button type="submit" class="button">
                  {mail.resume}
                </button>
              </form>
            ) : (
              <p class="quiet">{mail.bounced}</p>
            )}
          </section>
        ) : (
          <section class="card">
            <form method="post" action={action} class="stack" id="choices">
              <Problem />
              {mailKinds
                .filter((kind) => kind in theirs.choices)
                .map((kind) => (
                  <Field
                    name={`choices.${kind}`}
                    label={labelOf(kind, visit.messages)}
                    value={theirs.choices[kind]}
                    options={timingsOf(kind).map((timing) => ({
                      value: timing,
                      label: mail.choices[timing],
                    }))}
                  />
                ))}
              <button type="submit" class="button main">
                {settings.save}
              </button>
            </form>
          </section>
        )}
        {theirs.muted.length > 0 && (
          <section class="card" id="muted">
            <h2>{mail.muted}</h2>
            <ul class="list">
              {theirs.muted.map(({ id, title }) => (
                <li class="mute-row">
                  <a href={submissionPath(id, title)}>{title}</a>
                  <form method="post" action={action}>
                    <input type="hidden" name="unmute" value={id} />
                    <button type="submit" class="button">
                      {mail.unmute}
                    </button>
                  </form>
                </li>
              ))}
            </ul>
          </section>
        )}
        {!theirs.stopped && (
          <form method="post" action={action} id="stop">
            <input type="hidden" name="stopped" value="true" />
            <button type="submit" class="button danger">
              {mail.stop(name)}
            </button>
          </form>
        )}
      </div>
    ),
  };
}

/** A kind of mail in words. */
function labelOf(kind: string, { mail, notifications: { kinds } }: Messages): string {
  const labels: Record<ChosenMailKind | "digest", string> = {
    status: kinds.status_changed,
    official: kinds.official_comment,
    reply: kinds.reply,
    comment: mail.otherComments,
    survey: mail.surveys,
    team: mail.teamSummary,
    digest: mail.digests,
  };
  return kind in labels ? labels[kind as keyof typeof labels] : kind;
}
