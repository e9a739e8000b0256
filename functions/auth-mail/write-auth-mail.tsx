import { negotiateLocale } from "../../shared/locales.ts";
import { environment } from "../_shared/environment.ts";
import type { Message } from "../mail-dispatch/message.ts";
import { Button, MailFrame } from "../mail-dispatch/templates/layout.tsx";
import { textOfMail } from "../mail-dispatch/text.ts";
import { messagesOf } from "../web/messages/index.ts";

export const authMailKinds = [
  "signup",
  "magiclink",
  "recovery",
  "email_change",
  "invite",
  "reauthentication",
] as const;

export type AuthMail = {
  id: string;
  kind: (typeof authMailKinds)[number];
  to: string;
  code: string;
  /** Token of the link; empty if the mail has only a code. */
  tokenHash: string;
  /** URL to redirect to, as given to auth. */
  redirectTo: string;
  locale: unknown;
};

/** A code and a link, in the language that the account names. */
export function writeAuthMail({ id, kind, to, code, tokenHash, redirectTo, locale }: AuthMail, from: string) {
  const language = negotiateLocale(typeof locale === "string" ? locale : null);
  const { authMail } = messagesOf(language);
  const { subject, text } = authMail[kind];
  const site = { name: new URL(environment.siteUrl).host, brand_color: null, logo_url: null };
  const html = `<!doctype html>${(
    <MailFrame locale={language} subject={subject} preview={text} from={site} foot={<p>{authMail.ignore}</p>}>
      <h1>{subject}</h1>
      <p>{text}</p>
      {code && (
        <>
          <p class="kind">{authMail.code}</p>
          <p class="code">{code}</p>
        </>
      )}
      {code && <p class="kind">{tokenHash ? authMail.hint : authMail.hintCode}</p>}
      {tokenHash && kind !== "reauthentication" && (
        <Button href={linkOf(kind, tokenHash, redirectTo)}>{authMail[kind].act}</Button>
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
    text: textOfMail(html),
    messageId: `<auth.${id}@${domain}>`,
    references: undefined,
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    date: new Date(),
  } satisfies Message;
}

/** Our page asks before it uses a link, since programs open links too. Other sites get auth's own link. */
function linkOf(kind: string, tokenHash: string, redirectTo: string): string {
  const asked = URL.canParse(redirectTo) ? new URL(redirectTo) : undefined;
  const isOurs = !asked || asked.origin === new URL(environment.siteUrl).origin;
  const link = new URL(
    isOurs ? `${environment.siteUrl}/auth/confirm` : `${environment.supabaseUrl}/auth/v1/verify`,
  );
  link.searchParams.set(isOurs ? "token_hash" : "token", tokenHash);
  link.searchParams.set("type", kind);
  const returnTo = asked?.searchParams.get("return_to");
  if (!isOurs) link.searchParams.set("redirect_to", redirectTo);
  else if (returnTo) link.searchParams.set("return_to", returnTo);
  return link.href;
}
