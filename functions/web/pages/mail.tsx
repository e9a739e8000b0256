import type { JSX } from "hono/jsx/jsx-runtime";
import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import { type ChosenMailKind, type MailPreferences, mailChoices, mailKinds, timingsOf } from "../../../shared/mail.ts";
import { readInviteLink, readMailLink, readStopLink } from "../../_shared/callers/mail-links.ts";
import type { Statement } from "../../_shared/database/run.ts";
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
import { Done } from "../components/done.tsx";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { FormButton } from "../components/form-button.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { type Page, page, pageResponse, plain, seeOther } from "../page.tsx";
import { submissionPath } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import type { View } from "../view.ts";
import type { Visit } from "../visit.ts";
import { Card } from "./account.tsx";

const changes = z.object({
  choices: mailChoices.optional(),
  stopped: z.boolean().optional(),
  mute: uuid.optional(),
  unmute: uuid.optional(),
});
const saved = z.literal("true").optional();
const linked = z.object({ token: z.string().max(500).default("") });
const linkedPreferences = linked.extend({ saved, mute: uuid.optional() });

/** The content of a link; 404 if it is forged or expired. */
function opened<Link>(link: Link | undefined): Link {
  if (link === undefined) throw notFound("link");
  return link;
}

const linkOf = (token: string) => opened(readMailLink(token));

/** Mail preferences of a signed-in user for an organization. */
const mailSettings = page({
  path: "/settings/mail",
  access: "person",
  ofOrganization: true,
  query: z.object({ saved }),
  read: () => [myMailPreferences()],
  view: ([mine], { query, visit }) => ({
    title: visit.messages.mail.title,
    noindex: true,
    content: <Preferences of={mine} isSaved={query.saved === "true"} />,
  }),
  actions: [
    plain({
      method: "post",
      path: "/settings/mail",
      access: "person",
      ofOrganization: true,
      body: changes,
      call: ({ body }) => [changeMyMailPreferences(body)],
      respond: (_results, { visit }) => seeOther(`${visit.path}?saved=true`),
    }),
  ],
});

/** Mail preferences of the recipient of a mail link, without signing in. */
const mail = page({
  path: "/mail",
  query: linkedPreferences,
  read: ({ query }) => [mailPreferencesByLink(linkOf(query.token))],
  view: ([theirs], { query: { token, saved, mute }, visit }) => ({
    title: visit.messages.mail.title,
    noindex: true,
    content: <Preferences of={theirs} to={`/mail?token=${token}`} isSaved={saved === "true"} mute={mute} />,
  }),
  actions: [
    plain({
      method: "post",
      path: "/mail",
      isAnonymous: true,
      query: linkedPreferences,
      body: changes,
      call: ({ query, body }) => [changeMailPreferencesByLink(linkOf(query.token), body)],
      respond: ([[theirs]], { query }) => {
        if (!theirs?.data) throw notFound("link");
        return seeOther(`/mail?token=${query.token}&saved=true`);
      },
    }),
  ],
});

type Stop<Found> = {
  path: string;
  find: (token: string) => Statement<{ data: Found }>;
  /** Stops the mail, or sends it again. */
  change: (token: string, stopped: boolean) => Statement;
  ask: (
    found: NonNullable<Found>,
    at: { visit: Visit; token: string; to: string },
  ) => {
    title: string;
    text: string;
    act?: string;
    /** The text after the mail was stopped. */
    done: string;
    /** Whether the mail is stopped; by default true after the form was sent. */
    isDone?: boolean;
    after?: JSX.Element | undefined;
  };
};

/**
 * A page that stops mail. Opening the link asks, because programs that look at links open it too. The form is also posted by
 * the button of a mail program, without cookie or confirmation (RFC 8058).
 */
function stopPage<Found>({ path, find, change, ask }: Stop<Found>): Page {
  const viewOf = (found: Found | undefined, visit: Visit, token: string, isSent: boolean): View => {
    if (found === undefined || found === null) throw notFound("link");
    const { mail } = visit.messages;
    const to = `${path}?token=${token}`;
    const { title: asked, text, act, done, isDone = isSent, after } = ask(found, { visit, token, to });
    const title = isDone ? mail.title : asked;
    return {
      title,
      noindex: true,
      content: (
        <Card title={title}>
          {isDone ? (
            <p role="status">{done}</p>
          ) : (
            <>
              <p>{text}</p>
              <Form class="stack" to={to} hasTurbo={false} hidden={oneClick} submit={act ?? mail.unsubscribeNow} />
            </>
          )}
          {after}
        </Card>
      ),
    };
  };
  const asking: Page = page({
    path,
    query: linked,
    call: ({ query }) => [find(query.token)],
    view: ([[row]], { query, visit }) => viewOf(row?.data, visit, query.token, false),
    actions: [
      plain({
        method: "post",
        path,
        isAnonymous: true,
        isOneClick: true,
        query: linked,
        body: z.object({
          "List-Unsubscribe": z.literal(oneClick["List-Unsubscribe"]),
          stopped: z.literal("false").optional(),
        }),
        call: ({ query: { token }, body }) => [
          pageFrame(undefined),
          change(token, body.stopped === undefined),
          find(token),
        ],
        respond: ([[frame], , [row]], { query, visit }) => {
          const view = viewOf(row?.data, visit, query.token, true);
          return pageResponse(view, { frame: opened(frame).data, visit, page: asking, params: {} });
        },
      }),
    ],
  });
  return asking;
}

const oneClick = { "List-Unsubscribe": "One-Click" } as const;

/** Stops a kind of mail of an organization. */
const unsubscribe = stopPage({
  path: "/unsubscribe",
  find: (token) => mailPreferencesByLink(linkOf(token)),
  change: (token) => changeMailPreferencesByLink(linkOf(token), { stop: linkOf(token).kind }),
  ask: ({ organization }, { visit: { messages }, token }) => ({
    title: messages.mail.unsubscribeTitle,
    text: messages.mail.unsubscribeText(labelOf(linkOf(token).kind, messages), organization.name),
    done: messages.mail.unsubscribed,
    after: <LinkLine href={`/mail?token=${token}`}>{messages.mail.choose}</LinkLine>,
  }),
});

const inviteOf = (token: string) => opened(readInviteLink(token, "refuse invites"));

/** Stops the mail of an organization to an address that it invited. */
const refusal = stopPage({
  path: "/unsubscribe/invites",
  find: (token) => refusingInvites(inviteOf(token)),
  change: (token) => refuseInvites(inviteOf(token)),
  ask: ({ name, is_stopped }, { visit: { messages } }) => ({
    title: messages.mail.stop(name),
    text: messages.mail.refuseText(name),
    done: messages.mail.stopped(name),
    isDone: is_stopped,
  }),
});

const stopLinkOf = (token: string) => opened(readStopLink(token));

/** "This was not me": stops mails about accounts that others make with an address of the mailbox, or sends them again. */
const accountMail = stopPage({
  path: "/unsubscribe/accounts",
  find: (token) => accountMailIsStopped(stopLinkOf(token).mailboxHash),
  change: (token, stopped) => stopAccountMail(stopLinkOf(token), stopped),
  ask: (isStopped, { visit: { messages }, to }) => ({
    title: messages.account.notMe,
    text: messages.mail.accountsText,
    act: messages.account.notMe,
    done: messages.mail.accountsStopped,
    isDone: isStopped,
    after: isStopped ? (
      <FormButton to={to} id="resume" hasTurbo={false} hidden={{ ...oneClick, stopped: "false" }}>
        {messages.mail.resume}
      </FormButton>
    ) : undefined,
  }),
});

type PreferencesProps = { of: MailPreferences; to?: string; isSaved: boolean; mute?: string | undefined };

const Preferences = ({ of: theirs, to, isSaved, mute }: PreferencesProps) => {
  const visit = useVisit();
  const { mail, settings } = visit.messages;
  const { name } = theirs.organization;
  return (
    <div class="single settings">
      <h1>{mail.title}</h1>
      <p class="quiet">{theirs.mail_enabled ? mail.intro(name) : mail.disabled(name)}</p>
      {isSaved && <Done>{settings.saved}</Done>}
      {mute && !theirs.muted.some(({ id }) => id === mute) && (
        <section class="card">
          <h2>{mail.muteThis}</h2>
          <FormButton to={to} id="mute" hidden={{ mute }} look="button main">
            {mail.unsubscribeNow}
          </FormButton>
        </section>
      )}
      <section class="card">
        {theirs.stopped && <h2>{mail.stopped(name)}</h2>}
        {theirs.stopped === "refused" ? (
          <FormButton to={to} id="resume" hidden={{ stopped: "false" }}>
            {mail.resume}
          </FormButton>
        ) : theirs.stopped ? (
          <p class="quiet">{mail.bounced}</p>
        ) : (
          <Form class="stack" to={to} id="choices" values={theirs} submit={settings.save}>
            {mailKinds
              .filter((kind) => kind in theirs.choices)
              .map((kind) => (
                <Field
                  name={`choices.${kind}`}
                  label={labelOf(kind, visit.messages)}
                  options={timingsOf(kind).map((value) => ({ value, label: mail.choices[value] }))}
                />
              ))}
          </Form>
        )}
      </section>
      {theirs.muted.length > 0 && (
        <section class="card" id="muted">
          <h2>{mail.muted}</h2>
          <ul class="list">
            {theirs.muted.map(({ id, title }) => (
              <li class="mute-row">
                <a href={submissionPath(id, title)}>{title}</a>
                <FormButton to={to} hidden={{ unmute: id }}>
                  {mail.unmute}
                </FormButton>
              </li>
            ))}
          </ul>
        </section>
      )}
      {!theirs.stopped && (
        <FormButton to={to} id="stop" hidden={{ stopped: "true" }} look="button danger">
          {mail.stop(name)}
        </FormButton>
      )}
    </div>
  );
};

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

export const mailPages = [mailSettings, mail, unsubscribe, refusal, accountMail];
