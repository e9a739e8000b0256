import type { Frame } from "../_shared/statements/pages.ts";
import { script, stylesheet } from "./assets.generated.ts";
import { Avatar } from "./components/avatar.tsx";
import { Icon } from "./components/icon.tsx";
import { LanguageAndTheme } from "./components/language-and-theme.tsx";
import { Unread } from "./components/unread.tsx";
import { WidgetHost } from "./components/widget-host.tsx";
import { Metadata } from "./metadata.tsx";
import { isAdmin, organizationPath } from "./paths.ts";
import { mayBeKept } from "./rendered.ts";
import { useVisit } from "./rendering.ts";
import type { View } from "./view.ts";
import { ownPath, type Visit } from "./visit.ts";

/** Equals `--accent` of styles/tokens.css. */
const defaultColor = "#4b49c8";

type Props = { view: View; frame: Frame };

/** The document around every page. */
export const Layout = ({ view, frame }: Props) => {
  const visit = useVisit();
  const { organization } = frame;
  // A title of people that turns what follows would turn the organization's name.
  const title = [view.title.replace(/[\u202A-\u202E\u2066\u2067]/g, ""), organization?.name]
    .filter(Boolean)
    .join(" · ");
  return (
    <html lang={visit.locale} data-theme={visit.theme}>
      <head>
        <meta charset="utf-8" />
        <title>{title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="turbo-prefetch" content="false" />
        <meta name="turbo-refresh-method" content="morph" />
        <meta name="turbo-refresh-scroll" content="preserve" />
        {/* What leads out of a frame opens a window: only the embedded pages may be framed. */}
        {visit.isEmbedded && <base target="_blank" />}
        <Metadata view={view} frame={frame} title={title} />
        <link rel="stylesheet" href={stylesheet} data-turbo-track="reload" />
        <link
          rel="icon"
          href={organization?.logo_url ?? `/brand/${(organization?.brand_color ?? defaultColor).slice(1)}.svg`}
        />
        {organization?.brand_color && (
          <link rel="stylesheet" href={`/brand/${organization.brand_color.slice(1)}.css`} />
        )}
        {view.head}
        <script type="module" src={script} data-turbo-track="reload" />
      </head>
      <body
        class={visit.isEmbedded ? "embedded" : undefined}
        data-turbo={visit.isEmbedded ? "false" : undefined}
        data-may-be-kept={mayBeKept(view, visit) ? "" : undefined}
      >
        {!visit.isEmbedded && (
          <>
            <a class="skip" href="#content">
              {visit.messages.nav.skip}
            </a>
            <Top view={view} frame={frame} />
          </>
        )}
        {view.side ? (
          <div class="with-side">
            {view.side}
            <Content view={view} />
          </div>
        ) : (
          <Content view={view} />
        )}
        {visit.isEmbedded ? <WidgetHost view={view} frame={frame} /> : <Foot />}
      </body>
    </html>
  );
};

const Content = ({ view }: { view: View }) => (
  <main id="content" tabindex={-1}>
    {view.content}
  </main>
);

const Top = ({ view, frame }: Props) => {
  const visit = useVisit();
  const { organization, viewer } = frame;
  const { nav, words } = visit.messages;
  const base = organizationPath(organization);
  const item = (section: View["section"], path: string, label: string) => (
    <a href={base + path} aria-current={view.section === section ? "page" : undefined}>
      {label}
    </a>
  );
  return (
    <header class="top">
      <a class="mark" href={`${base}/`}>
        {organization?.logo_url ? <img src={organization.logo_url} alt="" width="24" height="24" /> : <i />}
        <span>{organization?.name ?? nav.board}</span>
      </a>
      {organization && (
        <nav aria-label={nav.main}>
          {item("board", "/", nav.board)}
          {item("roadmap", "/roadmap", nav.roadmap)}
        </nav>
      )}
      <div class="end">
        {viewer ? (
          <>
            {isAdmin(frame) && (
              <a
                class="quiet icon-link"
                href={`${base}/admin`}
                aria-current={view.section === "admin" ? "page" : undefined}
              >
                <Icon name="layout-dashboard" />
                <span class="wide-only">{nav.dashboard}</span>
              </a>
            )}
            <Unread viewer={viewer} />
            <details class="menu" id="account" data-island="menu">
              <summary aria-label={`${nav.account}${words.colon}${viewer.name}`}>
                <Avatar id={viewer.id} name={viewer.name} url={viewer.avatar_url} />
              </summary>
              <div class="menu-items">
                <p class="menu-name">{viewer.name}</p>
                <a href="/me">{nav.me}</a>
                <a href="/settings">{nav.settings}</a>
                <form method="post" action="/sign-out" data-turbo="false">
                  <button type="submit">{nav.signOut}</button>
                </form>
              </div>
            </details>
          </>
        ) : visit.isSignedIn ? (
          // An error page does not query the database for the visitor's name.
          <a class="quiet" href="/me">
            {nav.me}
          </a>
        ) : (
          <a class="button" href={`/sign-in?return_to=${encodeURIComponent(addressOf(visit))}`} rel="nofollow">
            {nav.signIn}
          </a>
        )}
      </div>
    </header>
  );
};

/** The `return_to` of links and forms in the header and footer; on sign-in pages, their own `return_to`. */
const addressOf = ({ path, query }: Visit) =>
  /^\/(sign-|reset|auth\/|goodbye)/.test(path)
    ? (ownPath(query.get("return_to")) ?? "/")
    : path + (query.size > 0 ? `?${query}` : "");

const Foot = () => {
  const visit = useVisit();
  return (
    <footer class="foot">
      <LanguageAndTheme returnTo={addressOf(visit)} />
    </footer>
  );
};
