import type { z } from "zod";
import type { ErrorCode } from "../../shared/errors.ts";
import type { Locale } from "../../shared/locales.ts";
import type { Access, Results, Statement } from "../_shared/database/run.ts";
import type {
  ApiResponse,
  Endpoint,
  Execute,
  ExecuteAs,
  Input,
  JsonResponse,
  Route,
  Work,
} from "../_shared/http/endpoint.ts";
import { type Frame, type FrameOf, pageFrame } from "../_shared/statements/pages.ts";
import { forgetForm } from "./kept-form.ts";
import { Layout } from "./layout.tsx";
import { isListed } from "./metadata.tsx";
import { isForAnybody, renderOnce } from "./rendered.ts";
import { type Rendering, RenderingContext } from "./rendering.ts";
import { contentSecurityPolicy } from "./security.ts";
import { type Shown, shownOf } from "./shown.ts";
import type { View } from "./view.ts";
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

/** Instead of a view: a permanent redirect. */
export type Moved = { movedTo: string };

/** A page or action as data: a route that responds with HTML. */
export type Page = Route & {
  /** Also mounted at /o/:organization. */
  ofOrganization?: boolean | undefined;
  /** Also mounted below /embed, without header and footer, for frames on other sites. */
  isEmbeddable?: boolean | undefined;
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
  readForm?: ((form: URLSearchParams) => unknown) | undefined;
  /** Form fields that are stored while the visitor signs in: text, never a secret. */
  keeps?: readonly string[];
  /** What its forms are sent to. */
  actions?: readonly Page[];
  /** The endpoint of the API that does what this action does. */
  endpoint?: Endpoint;
  /** The page of the form: rendered again with the input if the form is rejected. */
  formPage?: Page | undefined;
  /** Renders the response of the action once, such as a secret, instead of a redirect. */
  resultPage?: Page | undefined;
  /** Whether `resultPage` is rendered, if that depends on the response. */
  isShown?: ((json: string) => boolean) | undefined;
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
type Shared<Query, Body> = Pick<
  Page,
  | "operation"
  | "runsLong"
  | "ofOrganization"
  | "isEmbeddable"
  | "isAnonymous"
  | "isBeforeFactor"
  | "isData"
  | "hasSecretAddress"
  | "fallback"
  | "keeps"
> & { path: string; access?: Access; query?: Query; body?: Body };

/** An action of a page: its path and where it is mounted are the page's, unless it says otherwise. */
export type ActionOf = Page | Omit<Page, "path">;

type Viewed<Query, Values> = Shared<Query, undefined> & {
  /** The row whose organization the page belongs to; by default the URL names the organization. */
  frame?: (input: PageInput<Parsed<Query>>) => FrameOf;
  view: (values: Values, input: PageInput<Parsed<Query>>, frame: Frame) => View | Moved;
  /** Whether anonymous visitors with equal rows get the same page: it shows neither the time nor random values. */
  isRenderedOnce?: boolean;
  actions?: readonly ActionOf[];
};

/** Declares a page: `read` returns its statements, `view` renders what they found. All statements take one round trip. */
export function page<
  const Statements extends readonly Statement[] = never,
  Query extends z.ZodType | undefined = undefined,
  const Called extends readonly Statement[] = never,
>(
  definition: Viewed<Query, [Called] extends [never] ? Shown<Statements> : Results<Called>> & {
    read?: (input: PageInput<Parsed<Query>>) => Statements;
    /** As `read`; `view` is given the rows as the database returned them. */
    call?: (input: PageInput<Parsed<Query>>) => Called;
  },
): Page {
  const {
    frame,
    read,
    call = read as Read,
    view,
    isRenderedOnce = false,
    actions = [],
    ...route
  } = definition as unknown as Viewed<undefined, never> & { read?: Read; call?: Read };
  const own: Page = {
    access: "public",
    ...route,
    method: "get",
    call: (input: PageInput<undefined>) => [pageFrame(frame?.(input)), ...call(input)],
    respond: (results: [[{ data: Frame }], ...Results<Statement[]>], input: PageInput<undefined>) => {
      const [[{ data }], ...rows] = results;
      const { visit, params } = input;
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
        const shown = view((read ? shownOf(rows, () => read(input)) : rows) as never, input, data);
        return "movedTo" in shown
          ? redirect(301, shown.movedTo)
          : pageResponse(shown, { frame: data, visit, page: own, params });
      };
      return isRenderedOnce && isForAnybody(visit) ? renderOnce([data, rows], visit, render) : render();
    },
  };
  const { path, ofOrganization, isEmbeddable } = own;
  own.actions = actions.map(
    (action): Page => ({ path, ofOrganization, isEmbeddable, formPage: own, ...action }) as Page,
  );
  return own;
}

type Read = (input: PageInput<undefined>) => readonly Statement[];

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
  const { work, ...route } = definition;
  return {
    access: "public",
    method: "post",
    ...route,
    work: async ({ input, execute, request, executeAs }: Omit<Work, "input"> & { input: unknown }) => {
      // Admits and charges the request before anything else is done.
      await execute([]);
      return work(input as PageInput<Parsed<Query>, Parsed<Body>>, execute, request, executeAs);
    },
  };
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
    isOneClick?: boolean;
    call: (input: PageInput<Parsed<Query>, Parsed<Body>>) => Statements;
    respond: (results: Results<Statements>, input: PageInput<Parsed<Query>, Parsed<Body>>) => ApiResponse;
  },
): Page {
  return { access: "public", ...definition };
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
  return { ...endpoint, ...more, endpoint, bodyByKey: undefined };
}

export { endpointOf } from "../_shared/http/endpoint.ts";

export function pageResponse(view: View, rendering: Rendering): JsonResponse {
  const { frame, visit } = rendering;
  if (visit.kept && !visit.refused) forgetForm(visit.session, visit.path);
  const html = `<!doctype html>${(
    <RenderingContext.Provider value={rendering}>
      <Layout view={view} frame={frame} />
    </RenderingContext.Provider>
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
