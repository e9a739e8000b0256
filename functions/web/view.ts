import type { JSX } from "hono/jsx/jsx-runtime";

/** The content of a page inside the layout. */
export type View = {
  title: string;
  content: JSX.Element | string;
  status?: number;
  /** Description for search engines and link previews. */
  description?: string;
  /** Path of the page that this is a variant of. */
  canonical?: string;
  /** Additional elements of the document's head. */
  head?: JSX.Element;
  /** Structured data by schema.org, besides name, description and URL. */
  structured?: { "@type": string; [property: string]: unknown };
  /** Path of its feed. */
  feed?: string;
  /** False if search engines may list the page, if its organization allows that: not for forms and personal pages. */
  noindex?: boolean;
  /** Replace the default headers, such as the Content-Security-Policy. */
  headers?: Record<string, string>;
  /** Marks the item of the navigation. */
  section?: "board" | "roadmap" | "new" | "news" | "admin";
  /** Stands beside the content. */
  side?: JSX.Element;
};
