import { notFound } from "../../_shared/http/api-error.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { listedBoards, listedSubmissions, pageFrame } from "../../_shared/statements/pages.ts";
import { plain } from "../page.tsx";
import { organizationPath, submissionPath } from "../paths.ts";
import { xml, xmlDocument } from "../xml.ts";

// Each page declares whether it may be indexed; these paths are not for crawlers.
const closed = ["/admin", "/me", "/notifications", "/reset", "/settings", "/sign-in", "/sign-up"];

export const robots = plain({
  method: "get",
  path: "/robots.txt",
  isAnonymous: true,
  call: () => [],
  respond: () => ({
    status: 200,
    json: `User-agent: *\n${closed.map((path) => `Disallow: ${path}\n`).join("")}\nSitemap: ${environment.siteUrl}/sitemap.xml\n`,
    headers: { "Content-Type": "text/plain; charset=utf-8" },
  }),
});

// A sitemap may contain 50,000 URLs.
const maxBoards = 10_000;
const maxSubmissions = 5_000;
const xmlns = "http://www.sitemaps.org/schemas/sitemap/0.9";

/** The sitemaps of all boards that search engines may index. */
export const sitemapIndex = plain({
  method: "get",
  path: "/sitemap.xml",
  isAnonymous: true,
  call: () => [listedBoards(maxBoards)],
  respond: ([boards]) =>
    asXml(
      xml`<sitemapindex xmlns="${xmlns}">${boards.map(
        ({ slug }) => xml`<sitemap><loc>${environment.siteUrl}/o/${slug}/sitemap.xml</loc></sitemap>
`,
      )}</sitemapindex>`,
    ),
});

/** The pages of one board, with its newest submissions. */
export const sitemap = plain({
  method: "get",
  path: "/o/:organization/sitemap.xml",
  isAnonymous: true,
  call: () => [pageFrame(undefined), listedSubmissions(maxSubmissions)],
  respond: ([[frame], submissions]) => {
    const organization = frame?.data.organization;
    if (!organization?.allow_indexing) throw notFound("page");
    const { siteUrl } = environment;
    const base = siteUrl + organizationPath(organization);
    return asXml(xml`<urlset xmlns="${xmlns}">
<url><loc>${base}/</loc></url>
<url><loc>${base}/roadmap</loc></url>
${submissions.map(
  ({ id, title, updated_at }) =>
    xml`<url><loc>${siteUrl}${submissionPath(id, title)}</loc><lastmod>${updated_at.toISOString()}</lastmod></url>
`,
)}</urlset>`);
  },
});

const asXml = (root: ReturnType<typeof xml>) => ({
  status: 200,
  json: xmlDocument(root),
  headers: { "Content-Type": "application/xml; charset=utf-8", "X-Robots-Tag": "noindex" },
});
