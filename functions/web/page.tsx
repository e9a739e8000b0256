import type { JSX } from "hono/jsx/jsx-runtime";
import type { z } from "zod";
import type { ErrorCode } from "../../shared/errors.ts";
import type { Locale } from "../../shared/locales.ts";
import type { RateLimitedOperation } from "../../shared/rate-limits.ts";
import type { Access, Results, Statement } from "../_shared/database/run.ts";
import type {
  ApiResponse,
  Endpoint,
  Execute,
  ExecuteAs,
  Input,
  JsonResponse,
  Work,
} from "../_shared/http/endpoint.ts";
import { type Frame, type FrameOf, pageFrame } from "../_shared/statements/pages.ts";
import { AllowedOrigins } from "./components/avatar.tsx";
import { forgetForm } from "./kept-form.ts";
import { Layout } from "./layout.tsx";
import { isListed } from "./metadata.tsx";
import { isForAnybody, renderOnce } from "./rendered.ts";
import { contentSecurityPolicy } from "./security.ts";
import type { Visit } from "./visit.ts";

/** Input of a page: the input of an endpoint, and the visit. Only the parameters of its path are set. */
export type PageInput<Query = unknown, Body = unknown> = Input<
  Query,
  Body,
  "id" | "key_id" | "webhook_id" | "event_id" | "user_id"
> & { visit: Visit };

/** For the query of a page with filters: a form sends the empty ones too. */
export const withoutEmpty = (sent: unknown) =>
  Object.fromEntries(
    Object.entries(sent as Record<string, string>).filter(([, value]) => value.trim() !== ""),
  );

/** The query of a list without empty filters, and best first if it has words and no other sort. */
export function bestFirst(sent: unknown): Record<string, string> {
  const { sort, ...query } = withoutEmpty(sent);
  if (query.q && !sort && !query.order) return { ...query, sort: "relevance" };
  return sort && (query.q || sort !== "relevance") ? { ...query, sort } : query;
}

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

/** Instead of a view: a permanent redirect. */
export type Moved = { movedTo: string };

/** A page or action as data: an endpoint that responds with HTML. */
export type Page = Endpoint & {
  /** Also mounted at /o/:organization. */
  ofOrganization?: boolean;
  /** Also mounted below /embed, without header and footer, for frames on other sites. */
  isEmbeddable?: boolean;
  /** Ignores the session: machines read and share the page. */
  isAnonymous?: boolean;
  /** Opens before the visitor has passed the second factor of the account; the visitor is anonymous there. */
  isBeforeFactor?: boolean;
  /** The response is data for scripts or a file: a page would be no answer. */
  isData?: boolean;
  /** The URL contains a secret: the page sends its origin alone as the referrer. Without it browsers post its form with the origin "null". */
  hasSecretAddress?: boolean;
  /**
   * The token in the URL authorizes the form, whatever the origin, and the response is a page instead of a redirect: one-click
   * unsubscribe (RFC 8058).
   */
  isOneClick?: boolean;
  /** Converts form fields whose names differ from those of the body's schema. */
  readForm?: (form: URLSearchParams) => unknown;
  /** Form fields that are stored while the visitor signs in: text, never a secret. */
  keeps?: readonly string[];
  /** The page of the form: rendered again with the input if the form is rejected. */
  formPage?: Page;
  /** Renders the response of the action once, such as a secret, instead of a redirect. */
  resultPage?: Page;
  /** Whether `resultPage` is rendered, if that depends on the response. */
  isShown?: (json: string) => boolean;
  /** `work` reads the body, which has a file: the only form at its path. */
  readsBody?: boolean;
  /** Rendered instead, at the path without an organization, if there is none or the visitor may not open it. */
  fallback?: Page;
  /** Texts of errors by code, instead of the usual ones. */
  errorTexts?: (locale: Locale) => Partial<Record<ErrorCode, string>>;
  /** The URL to redirect to after the action; by default the page of the form. */
  redirectTo?: (response: JsonResponse, at: { visit: Visit; params: Record<string, string> }) => string;
};

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Shared<Query, Body> = {
  path: string;
  access?: Access;
  operation?: RateLimitedOperation;
  ofOrganization?: boolean;
  isEmbeddable?: boolean;
  isAnonymous?: boolean;
  isBeforeFactor?: boolean;
  isData?: boolean;
  hasSecretAddress?: boolean;
  runsLong?: boolean;
  fallback?: Page;
  keeps?: readonly string[];
  query?: Query;
  body?: Body;
};

// Fields for the API's documentation, which does not list pages.
const unlisted = { access: "public", tag: "", summary: "", responses: {} };

/** Declares a page: `call` returns its statements, `view` renders their rows. All statements take one round trip. */
export function page<
  const Statements extends readonly Statement[],
  Query extends z.ZodType | undefined = undefined,
>(
  definition: Shared<Query, undefined> & {
    /** The row whose organization the page belongs to; by default the URL names the organization. */
    frame?: (input: PageInput<Parsed<Query>>) => FrameOf;
    call: (input: PageInput<Parsed<Query>>) => Statements;
    view: (results: Results<Statements>, input: PageInput<Parsed<Query>>, frame: Frame) => View | Moved;
    /** Whether anonymous visitors with equal rows get the same page: it shows neither the time nor random values. */
    isRenderedOnce?: boolean;
  },
): Page {
  const { frame, call, view, isRenderedOnce = false, ...endpoint } = definition;
  return {
    ...unlisted,
    method: "get",
    ...endpoint,
    call: (input: PageInput<Parsed<Query>>) => [pageFrame(frame?.(input)), ...call(input)],
    respond: (results: [[{ data: Frame }], ...Results<Statements>], input: PageInput<Parsed<Query>>) => {
      const [[{ data }], ...own] = results;
      const { visit } = input;
      visit.accountLocale = data.viewer?.locale ?? undefined;
      visit.organizationLocale = data.organization?.default_locale;
      const base = visit.base && data.organization ? `/o/${data.organization.slug}` : visit.base;
      // Not permanently: an organization may take its former slug again.
      if (visit.base !== base && !visit.form)
        return redirect(
          302,
          visit.path.replace(/\/o\/[^/]+/, base) + (visit.query.size > 0 ? `?${visit.query}` : ""),
        );
      const render = () => {
        const shown = view(own as unknown as Results<Statements>, input, data);
        return "movedTo" in shown ? redirect(301, shown.movedTo) : pageResponse(shown, data, visit);
      };
      return isRenderedOnce && isForAnybody(visit) ? renderOnce([data, own], visit, render) : render();
    },
  } as unknown as Page;
}

/** Declares the action of a form, or of a link in a mail or from a provider, that needs more than statements, such as auth. */
export function form<
  Body extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
>(
  definition: Shared<Query, Body> & {
    method?: "get" | "post";
    formPage?: Page;
    resultPage?: Page;
    readsBody?: boolean;
    work: (
      input: PageInput<Parsed<Query>, Parsed<Body>>,
      execute: Execute,
      request: Request,
      executeAs: ExecuteAs,
    ) => Promise<ApiResponse>;
  },
): Page {
  const { work, ...endpoint } = definition;
  return {
    ...unlisted,
    method: "post",
    ...endpoint,
    work: async ({ input, execute, request, executeAs }: Omit<Work, "input"> & { input: unknown }) => {
      // Admits and charges the request before anything else is done.
      await execute([]);
      return work(input as PageInput<Parsed<Query>, Parsed<Body>>, execute, request, executeAs);
    },
  } as unknown as Page;
}

/** Declares a route that returns no page, such as a redirect or a feed. Its response sets the content type. */
export function plain<
  const Statements extends readonly Statement[],
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  definition: Shared<Query, Body> & {
    method: "get" | "post";
    formPage?: Page;
    runsLong?: boolean;
    isOneClick?: boolean;
    call: (input: PageInput<Parsed<Query>, Parsed<Body>>) => Statements;
    respond: (results: Results<Statements>, input: PageInput<Parsed<Query>, Parsed<Body>>) => ApiResponse;
  },
): Page {
  return { ...unlisted, ...definition } as unknown as Page;
}

/** Makes an endpoint of the API an action of the pages: the same input, statements and rules, and a redirect for an answer. */
export function action(
  endpoint: Endpoint,
  more: Partial<
    Pick<
      Page,
      | "path"
      | "ofOrganization"
      | "isEmbeddable"
      | "readForm"
      | "formPage"
      | "resultPage"
      | "isShown"
      | "redirectTo"
      | "errorTexts"
    >
  > = {},
): Page {
  return { ...endpoint, ...more, bodyByKey: undefined };
}

/** The endpoint of the API that an action is made of. */
export function endpointOf(endpoints: Endpoint[], method: Endpoint["method"], path: string): Endpoint {
  const found = endpoints.find((endpoint) => endpoint.method === method && endpoint.path === path);
  if (!found) throw new Error(`No endpoint ${method} ${path}.`);
  return found;
}

export function pageResponse(view: View, frame: Frame, visit: Visit): JsonResponse {
  if (visit.kept && !visit.refused) forgetForm(visit.session, visit.path);
  const html = `<!doctype html>${(
    <AllowedOrigins.Provider value={frame.organization?.allowed_origins ?? []}>
      <Layout view={view} frame={frame} visit={visit} />
    </AllowedOrigins.Provider>
  )}`;
  return {
    status: view.status ?? visit.refused?.status ?? 200,
    json: html,
    headers: {
      ...htmlHeaders(visit),
      ...(!isListed(view, frame, visit) && { "X-Robots-Tag": "noindex" }),
      ...framing(visit, frame),
      ...view.headers,
    },
  };
}

const htmlHeaders = (visit: Visit) => ({
  "Content-Type": "text/html; charset=utf-8",
  "Content-Language": visit.locale,
  Vary: "Accept-Language, Cookie",
  ...(visit.refused?.retryAfter && { "Retry-After": String(visit.refused.retryAfter) }),
});

const framing = ({ isEmbedded }: Visit, { organization }: Frame) =>
  isEmbedded && { "Content-Security-Policy": contentSecurityPolicy(organization?.allowed_origins) };

export const seeOther = (path: string) => redirect(303, path);

function redirect(status: number, path: string): JsonResponse {
  return {
    status,
    json: "",
    headers: { Location: path, "Content-Type": "text/plain; charset=utf-8" },
  };
}
