import type { JSX } from "hono/jsx/jsx-runtime";
import type { ErrorCode } from "../../shared/errors.ts";
import type { Locale } from "../../shared/locales.ts";
import type { Endpoint, Input, JsonResponse, Route } from "../_shared/http/endpoint.ts";
import type { FrameOf, LocaleValue } from "../_shared/statements/pages.ts";
import type { Visit } from "./visit.ts";

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

/** Instead of a view: a redirect, permanent unless the page may come back. */
export type Moved = { movedTo: string; isForNow?: boolean };

/** A page or action as data: a route that responds with HTML. */
export type Page = Route & {
  /** Also mounted at /o/:organization. */
  ofOrganization?: boolean | undefined;
  /** Also mounted below /embed, without header and footer, for frames on other sites. */
  isEmbeddable?: boolean | undefined;
  /**
   * Ignores the session, for pages that are read by programs or shared, or shown before the visitor has passed the
   * second factor.
   */
  isAnonymous?: boolean;
  /** Opens before the visitor has passed the second factor of the account; the visitor is anonymous there. */
  isBeforeFactor?: boolean;
  /** The response is data for scripts or a file, so an HTML page would be the wrong answer. */
  isData?: boolean;
  /** The URL contains a secret: the page sends its origin alone as the referrer. Without it browsers post its form with the origin "null". */
  hasSecretAddress?: boolean;
  /**
   * The token in the URL authorizes the form, whatever the origin, and the response is a page instead of a redirect: one-click
   * unsubscribe (RFC 8058).
   */
  isOneClick?: boolean;
  /** Converts form fields whose names differ from those of the body's schema. */
  readForm?: ((form: URLSearchParams) => unknown) | undefined;
  /** The row whose organization it belongs to. */
  frameOf?: (input: PageInput<undefined>) => FrameOf;
  /** What its forms are sent to. */
  actions?: readonly Page[];
  /** The endpoint of the API that does what this action does. */
  endpoint?: Endpoint;
  /** The page of the form: rendered again with the input if the form is rejected. */
  formPage?: Page | undefined;
  /** Renders the response of the action once, such as a secret, instead of a redirect. */
  resultPage?: Page | undefined;
  /** The page of the form is the `resultPage`. */
  showsResult?: boolean | undefined;
  /** Whether `resultPage`, by default the page of the form, is rendered, if that depends on the response. */
  isShown?: ((json: string) => boolean) | undefined;
  /** `work` reads the body itself, because it contains a file. Such a form must be the only one at its path. */
  readsBody?: boolean;
  /** Rendered instead, at the path without an organization, if there is none or the visitor may not open it. */
  fallback?: Page;
  /** Texts of errors by code, instead of the usual ones. */
  errorTexts?: (locale: Locale) => Partial<Record<ErrorCode, string>>;
  /** The URL to redirect to after the action; by default the page of the form. */
  redirectTo?: (response: JsonResponse, at: { visit: Visit; params: Record<string, string> }) => string;
};

/** Input of a page: the input of an endpoint, and the visit. Only the parameters of its path are set. */
export type PageInput<Query = unknown, Body = unknown> = Omit<
  Input<Query, Body, "id" | "key_id" | "webhook_id" | "event_id" | "user_id" | "response_id">,
  "locale"
> & { visit: Visit; locale: LocaleValue };
