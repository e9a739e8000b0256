import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { Locale } from "../../../shared/locales.ts";
import { absoluteLogo } from "../../_shared/files/logos.ts";
import { brandColors } from "../../web/brand.ts";
import type { Messages } from "../../words/index.ts";
import type { InviteClaim, PersonClaim } from "../database.ts";

/** The result of a template: the subject, the preview that mail programs show beside it, and the content. */
export type Written = { subject: string; preview: string; content: JSX.Element };

export type Wording = { messages: Messages; locale: Locale };

type Frame = {
  locale: Locale;
  subject: string;
  preview: string;
  from: { name: string; brand_color: string | null; logo_url: string | null };
  foot: Child;
  children?: Child;
};

/** The document around the content of every mail. Its styles are inline; only the logo is loaded. */
export const MailFrame = ({ locale, subject, preview, from, foot, children }: Frame) => {
  const logo = absoluteLogo(from.logo_url);
  return (
    <html lang={locale}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <title>{subject}</title>
        <style>{raw(styleOf(from.brand_color ?? "#5b5bd6"))}</style>
      </head>
      <body>
        <div class="preview">{preview}</div>
        <div class="mail">
          <p class="from">
            {logo && <img src={logo} alt="" height="24" class="logo" referrerpolicy="no-referrer" />}
            <strong dir="auto">{from.name}</strong>
          </p>
          <div class="card">{children}</div>
          <div class="foot">
            <hr />
            {foot}
          </div>
        </div>
      </body>
    </html>
  );
};

/** The footer of a mail to a person: the reason for the mail, and links to stop it. */
export const PersonFoot = ({
  claim: { organization, profile, kind },
  messages: { mail },
  links,
}: Pick<Wording, "messages"> & {
  claim: PersonClaim;
  links: { unsubscribe: string; choices: string; mute: string | undefined; claim: string | undefined };
}) => {
  const why =
    profile.kind === "email"
      ? mail.whyAuthor(organization.name)
      : kind === "team"
        ? mail.whyTeam(organization.name)
        : mail.why(organization.name);
  return (
    <>
      <p>{why}</p>
      {links.claim && (
        <p>
          <a href={links.claim}>{mail.claim}</a>
        </p>
      )}
      <p>
        <a href={links.unsubscribe}>{mail.unsubscribe}</a>
        <br />
        {links.mute && (
          <>
            <a href={links.mute}>{mail.mute}</a>
            <br />
          </>
        )}
        <a href={links.choices}>{profile.kind === "email" ? mail.chooseOrStop : mail.choose}</a>
      </p>
    </>
  );
};

/** The footer of an invite: the reason for the mail, and a link to stop it. */
export const InviteFoot = ({
  claim: { organization },
  messages: { mail },
  unsubscribe,
}: Pick<Wording, "messages"> & { claim: InviteClaim; unsubscribe: string }) => (
  <>
    <p>{mail.whyInvite(organization.name)}</p>
    <p>
      <a href={unsubscribe}>{mail.stop(organization.name)}</a>
    </p>
  </>
);

/** User text with its line breaks. */
export const Quote = ({ text }: { text: string }) => (
  <blockquote dir="auto">
    {text.split("\n").map((line, at) => (
      <>
        {at > 0 && <br />}
        {line}
      </>
    ))}
  </blockquote>
);

export const Button = ({ href, children }: { href: string; children?: Child }) => (
  <p class="act">
    <a class="button" href={href}>
      {children}
    </a>
  </p>
);

function styleOf(brand: string): string {
  const { light, dark, onLight, onDark } = brandColors(brand);
  return `
body { margin: 0; padding: 24px 12px; background: #f4f4f5; color: #18181b; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.preview { display: none; max-height: 0; overflow: hidden; }
.mail { max-width: 560px; margin: 0 auto; }
.from { margin: 0 4px 12px; font-size: 15px; }
.logo { height: 24px; vertical-align: middle; margin-right: 8px; border: 0; }
.card { background: #ffffff; border: 1px solid #e4e4e7; border-radius: 10px; padding: 24px; overflow-wrap: anywhere; }
h1 { font-size: 20px; line-height: 1.3; margin: 0 0 12px; }
h2 { font-size: 16px; line-height: 1.4; margin: 24px 0 4px; }
h2 a { color: inherit; }
p { margin: 0 0 12px; }
.kind { color: #52525b; font-size: 14px; margin: 0 0 4px; }
blockquote { unicode-bidi: plaintext; margin: 0 0 16px; padding: 2px 0 2px 14px; border-left: 3px solid ${light}; }
a { color: ${light}; }
.act { margin: 20px 0 0; }
p.code { margin: 16px 0; font: 600 28px/1.3 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; letter-spacing: 4px; }
.button { display: inline-block; padding: 10px 18px; border-radius: 8px; background: ${light}; color: ${onLight}; font-weight: 600; text-decoration: none; }
.foot { padding: 0 4px; color: #52525b; font-size: 13px; }
.foot hr { border: 0; margin: 8px 0; }
.foot a { color: #52525b; line-height: 2; }
@media (prefers-color-scheme: dark) {
body { background: #111113; color: #ededef; }
.card { background: #18181b; border-color: #2e2e32; }
.kind, .foot, .foot a { color: #a1a1aa; }
a { color: ${dark}; }
h2 a { color: inherit; }
blockquote { border-color: ${dark}; }
.button { background: ${dark}; color: ${onDark}; }
}`;
}
