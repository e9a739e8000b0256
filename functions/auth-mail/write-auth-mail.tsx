import { negotiateLocale } from "../../shared/locales.ts";
import { environment, providerNames } from "../_shared/runtime/environment.ts";
import type { Message } from "../mail-dispatch/message.ts";
import { Button, MailFrame } from "../mail-dispatch/templates/layout.tsx";
import { textOfMail } from "../mail-dispatch/text.ts";
import { messagesOf } from "../words/index.ts";

/** Mails with a code, a link, or both. */
export const codeKinds = [
  "signup",
  "magiclink",
  "recovery",
  "email_change",
  "email_change_current",
  "invite",
  "reauthentication",
] as const;
export type CodeKind = (typeof codeKinds)[number];
/** Mails about what happened to the account. */
export const noticeKinds = [
  "password_changed_notification",
  "email_changed_notification",
  "phone_changed_notification",
  "identity_linked_notification",
  "identity_unlinked_notification",
  "mfa_factor_enrolled_notification",
  "mfa_factor_unenrolled_notification",
] as const;

export type AuthMail = {
  kind: CodeKind | (typeof noticeKinds)[number];
  to: string;
  /** The account in auth; null if auth does not tell. */
  accountId: string | null;
  code: string;
  /** Token of the link; empty if the mail has only a code. */
  tokenHash: string;
  /** The new address, the provider or the factor that the mail is about. */
  about: string | undefined;
  /** URL to redirect to, as given to auth. */
  redirectTo: string;
  locale: unknown;
};

/** Links of a mail: one that stops further ones, or one that undoes what it tells. */
export type MailLinks = { stop?: string; undo?: string };

/** In the language that the account names. */
export function writeAuthMail(id: string, mail: AuthMail, { stop, undo }: MailLinks, from: string) {
  const { kind, to, code, tokenHash, about, redirectTo, locale } = mail;
  const language = negotiateLocale(typeof locale === "string" ? locale : null);
  const { authMail, words } = messagesOf(language);
  const { subject, text, act } = { act: undefined, ...authMail[kind] };
  const site = { name: new URL(environment.siteUrl).host, brand_color: null, logo_url: null };
  const names = new Map(Object.entries({ ...providerNames, ...authMail.names }));
  // A recipient who did not request one of these mails must assume that somebody else has access to the account.
  const isAlarming = (!code && !tokenHash) || kind === "email_change_current" || kind === "reauthentication";
  // An owner whose address was changed no longer gets mail at the old one, but may still be signed in.
  const newPassword = `${environment.siteUrl}/reset${kind === "email_changed_notification" ? "/password" : ""}`;
  const foot = (
    <>
      <p>{isAlarming ? authMail.why : authMail.ignore}</p>
      {stop && (
        <p>
          <a href={stop}>{authMail.stop}</a>
        </p>
      )}
    </>
  );
  const html = `<!doctype html>${(
    <MailFrame locale={language} subject={subject} preview={text} from={site} foot={foot}>
      <h1>{subject}</h1>
      <p>{text}</p>
      {about && (
        <p>
          <strong>{names.get(about) ?? about}</strong>
        </p>
      )}
      {code && (
        <>
          <p class="kind">{authMail.code}</p>
          <p class="code">{code}</p>
          <p class="kind">{tokenHash && act ? authMail.hint : authMail.hintCode}</p>
        </>
      )}
      {tokenHash && act && <Button href={linkOf(kind, tokenHash, redirectTo)}>{act}</Button>}
      {isAlarming && (
        <>
          <p class="act">{undo ? authMail.undoHint(site.name) : authMail.notYou(site.name)}</p>
          <p class="act">
            <a href={undo ?? newPassword}>{undo ? authMail.undo : authMail.recovery.act}</a>
          </p>
        </>
      )}
    </MailFrame>
  )}`;
  const domain = from.slice(from.lastIndexOf("@") + 1);
  return {
    id,
    from: { name: site.name, address: from },
    to,
    subject,
    html,
    text: textOfMail(html, words),
    messageId: `<auth.${id}@${domain}>`,
    references: undefined,
    headers: {
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      ...(stop && { "List-Unsubscribe": `<${stop}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
    },
    date: new Date(),
  } satisfies Message;
}

/** Our page asks before it uses a link, since programs open links too. Other sites get auth's own link. */
function linkOf(kind: AuthMail["kind"], tokenHash: string, redirectTo: string): string {
  const asked = URL.canParse(redirectTo) ? new URL(redirectTo) : undefined;
  const isOurs = !asked || asked.origin === new URL(environment.siteUrl).origin;
  const link = new URL(isOurs ? `${environment.siteUrl}/auth/confirm` : `${environment.supabaseUrl}/auth/v1/verify`);
  link.searchParams.set(isOurs ? "token_hash" : "token", tokenHash);
  link.searchParams.set("type", kind === "email_change_current" ? "email_change" : kind);
  const returnTo = asked?.searchParams.get("return_to");
  if (!isOurs) link.searchParams.set("redirect_to", redirectTo);
  else if (returnTo) link.searchParams.set("return_to", returnTo);
  return link.href;
}
