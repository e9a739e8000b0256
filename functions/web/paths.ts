import type { Frame } from "../_shared/statements/pages.ts";
import type { Visit } from "./visit.ts";

/** Prefix of the paths of an organization's pages; empty for the default organization. */
export const organizationPath = (
  organization: Pick<NonNullable<Frame["organization"]>, "slug" | "is_default"> | null,
) => (organization && !organization.is_default ? `/o/${organization.slug}` : "");

/** Asks for the second factor of an account. */
export const factorPath = "/sign-in/factor";

/** Path of a dashboard page in the organization of the current URL. */
export const adminPath = ({ base }: Visit, path = "") => `${base}/admin${path}`;

/** The path with its parameters. */
export const filled = (path: string, params: Record<string, string>) =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));

/** The title after the id is for readers of the URL; the path also works without it. */
export function submissionPath(id: string, title: string): string {
  const slug = /^[\x20-\x7e]*$/.test(title) ? asciiSlug(title) : encodeURIComponent(anySlug(title));
  return `/submissions/${id}${slug && `-${slug}`}`;
}

// Same result as anySlug for ASCII, in a quarter of the time: a board has dozens of titles.
const asciiSlug = (title: string) =>
  (title.toLowerCase().match(/[a-z0-9]+/g) ?? []).join("-").slice(0, 60).replace(/-$/, "");

function anySlug(title: string): string {
  // Latin letters go without their accents; marks of other scripts belong to the letter.
  const words = title
    .normalize("NFKD")
    .replace(/(\p{Script=Latin})\p{M}+/gu, "$1")
    .normalize("NFC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return [...(words ?? []).join("-")].slice(0, 60).join("").replace(/-$/, "");
}

/** Query parameters that apply to this page only. */
const pageParameters = new Set(["page", "cursor", "done", "count", "comment"]);

/** This URL with changed query parameters; null removes one. The new list starts at its first page. */
export function hrefWith({ path, query }: Visit, change: Record<string, string | null>): string {
  // Not by URLSearchParams, which Deno makes and writes in native calls: a board has a hundred of these links.
  let changed = "";
  const add = (name: string, value: string) => {
    changed += `${changed && "&"}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  };
  if (query.size > 0)
    for (const [name, value] of query) if (!pageParameters.has(name) && !(name in change)) add(name, value);
  for (const name in change) {
    const value = change[name];
    if (value) add(name, value);
  }
  return path + (changed && `?${changed}`);
}

/** Attributes of a link to hrefWith; in a frame the link stays in the frame. */
export const linkWith = (visit: Visit, change: Record<string, string | null>) => ({
  href: hrefWith(visit, change),
  target: frameTarget(visit),
});

/** A submission's page, within a frame its embedded one. */
export const submissionHere = ({ isEmbedded }: Visit, id: string, title: string) =>
  (isEmbedded ? "/embed" : "") + submissionPath(id, title);

/** Leads to a submission, within a frame to its embedded page. */
export const submissionLink = (visit: Visit, id: string, title: string) => ({
  href: withHostOptions(visit, submissionHere(visit, id, title)),
  target: frameTarget(visit),
});

/** Leads to the organization's board, within a frame to its embedded page. */
export function boardLink(visit: Visit, { organization }: Frame, filter: Record<string, string> = {}) {
  const path =
    visit.isEmbedded && organization ? `/embed/o/${organization.slug}` : `${organizationPath(organization)}/`;
  const query = new URLSearchParams(filter).toString();
  return { href: withHostOptions(visit, path + (query && `?${query}`)), target: frameTarget(visit) };
}

/** A link to a page for signed-in people. In a frame it opens the embedded page if signed in, otherwise a window. */
export const personLink = (visit: Visit, path: string) => ({
  href: isAtHome(visit) ? withHostOptions(visit, `/embed${path}`) : path,
  target: formTarget(visit),
});

/**
 * A form for signed-in people. In a frame it posts to the embedded path, the only path that receives the frame's
 * session cookie.
 */
export const personForm = (visit: Visit, path: string) => ({
  method: "post" as const,
  action: isAtHome(visit) ? withHostOptions(visit, `/embed${path}`) : path,
  target: formTarget(visit),
  // The links of embedded pages are not for Turbo, which ignores their targets.
  "data-turbo": isAtHome(visit) ? "true" : undefined,
});

const isAtHome = ({ isEmbedded, isSignedIn }: Visit) => isEmbedded && isSignedIn;

/** Keeps the language and theme that the host page has set in the frame's URL. */
export function withHostOptions({ isEmbedded, query }: Visit, path: string): string {
  if (!isEmbedded) return path;
  return ["lang", "theme"].reduce((so, name) => {
    const value = query.get(name);
    return value && !new RegExp(`[?&]${name}=`).test(so) ? withQuery(so, `${name}=${encodeURIComponent(value)}`) : so;
  }, path);
}

/** The path with the query of this URL, except what an action has added. */
export function withOwnQuery({ query }: Visit, path: string): string {
  const own = new URLSearchParams(query);
  for (const name of ["done", "count"]) own.delete(name);
  return own.size > 0 ? `${path}?${own}` : path;
}

/** The path with one more parameter. */
export function withQuery(path: string, parameter: string): string {
  const [before = "", ...fragment] = path.split("#");
  return [before + (before.includes("?") ? "&" : "?") + parameter, ...fragment].join("#");
}

/** Target of links that stay in a frame. All others open a window, because no other page may be framed. */
export const frameTarget = ({ isEmbedded }: Visit) => (isEmbedded ? "_self" : undefined);
/** Target of a form in a frame: a signed-in person stays in the frame; others get a window, to sign in. */
const formTarget = (visit: Visit) => (visit.isSignedIn ? frameTarget(visit) : undefined);

/** Whether this is the path of the request. */
export function isAt({ path }: Visit, wanted: string): boolean {
  try {
    return decodeURIComponent(path) === decodeURIComponent(wanted);
  } catch {
    return false;
  }
}

export const isAdmin = ({ viewer }: Frame) => viewer?.role === "owner" || viewer?.role === "admin";
