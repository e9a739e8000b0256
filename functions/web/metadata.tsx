import { raw } from "hono/html";
import { absoluteLogo } from "../_shared/files/logos.ts";
import { environment } from "../_shared/runtime/environment.ts";
import type { Frame } from "../_shared/statements/pages.ts";
import { organizationPath } from "./paths.ts";
import { useVisit } from "./rendering.ts";
import type { View } from "./view.ts";
import { type Visit, withoutEmbed } from "./visit.ts";

type Props = { view: View; frame: Frame; title: string };

/** Metadata of a page for search engines, link previews and feed readers. */
export const Metadata = ({ view, frame, title }: Props) => {
  const visit = useVisit();
  const { organization } = frame;
  const url = environment.siteUrl + (view.canonical ?? withoutEmbed(visit.path));
  const logo = absoluteLogo(organization?.logo_url ?? null);
  return (
    <>
      {view.description && <meta name="description" content={view.description} />}
      {!isListed(view, frame, visit) && <meta name="robots" content="noindex" />}
      {(view.status ?? 200) < 400 && <link rel="canonical" href={url} />}
      {view.feed && organization?.visibility === "public" && (
        <link rel="alternate" type="application/atom+xml" href={view.feed} title={title} />
      )}
      {organization && (
        <>
          <meta property="og:type" content="website" />
          <meta property="og:site_name" content={organization.name} />
          <meta property="og:title" content={view.title} />
          {view.description && <meta property="og:description" content={view.description} />}
          <meta property="og:url" content={url} />
          {logo && <meta property="og:image" content={logo} />}
          <meta name="twitter:card" content="summary" />
          <script type="application/ld+json">{raw(jsonLd(view, organization, visit, url))}</script>
        </>
      )}
    </>
  );
};

/** Whether search engines may list a page; for the meta element and the header X-Robots-Tag. */
export const isListed = (view: View, { organization }: Frame, visit: Visit): boolean =>
  view.noindex === false &&
  organization?.visibility === "public" &&
  organization.allow_indexing &&
  !visit.isEmbedded &&
  !visit.refused &&
  (view.status ?? 200) === 200;

function jsonLd(view: View, organization: NonNullable<Frame["organization"]>, visit: Visit, url: string): string {
  const data = {
    "@context": "https://schema.org",
    "@type": "WebPage",
    name: view.title,
    description: view.description,
    url,
    inLanguage: visit.locale,
    publisher: {
      "@type": "Organization",
      name: organization.name,
      url: `${environment.siteUrl}${organizationPath(organization)}/`,
      logo: absoluteLogo(organization.logo_url) ?? undefined,
    },
    ...view.structured,
  };
  // Only these characters could end a script element.
  return JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, escaped);
}

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
