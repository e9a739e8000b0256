import type { z } from "zod";
import type { Access, Results, Statement } from "../_shared/database/run.ts";
import type { ApiResponse, Endpoint, Execute, ExecuteAs, JsonResponse, Work } from "../_shared/http/endpoint.ts";
import { type Frame, type FrameOf, type LocaleValue, pageFrame, pageLocale } from "../_shared/statements/pages.ts";
import { messagesOf } from "../words/index.ts";
import { Layout } from "./layout.tsx";
import { isListed } from "./metadata.tsx";
import { isForAnybody, mayBeKept, renderOnce } from "./rendered.ts";
import { type Rendering, RenderingContext } from "./rendering.ts";
import { contentSecurityPolicy } from "./security.ts";
import { type Shown, shownOf } from "./shown.ts";
import type { Moved, Page, PageInput, View } from "./view.ts";
import { languageCookie, namedLocale, type Visit } from "./visit.ts";

export type { Page, PageInput };

/** The query of a list, best first if it has words and no other sort. */
export function bestFirst(sent: unknown): Record<string, string> {
  const { sort, ...query } = sent as Record<string, string>;
  if (query.q && !sort && !query.order) return { ...query, sort: "relevance" };
  return sort && (query.q || sort !== "relevance") ? { ...query, sort } : query;
}

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
  | "showsSecret"
  | "hasSecretAddress"
  | "fallback"
> & { path: string; access?: Access; query?: Query; body?: Body };

/** An action of a page: its path and where it is mounted are the page's, unless it says otherwise. */
type ActionOf = Page | Omit<Page, "path">;

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
    call = read ?? (() => []),
    view,
    isRenderedOnce = false,
    actions = [],
    ...route
  } = definition as unknown as Viewed<undefined, never> & { read?: Read; call?: Read };
  const own: Page = {
    access: "public",
    ...route,
    method: "get",
    ...(frame && { frameOf: frame }),
    call: (input: PageInput<undefined>) => {
      const of = frame?.(input);
      return [pageFrame(of), ...call({ ...input, locale: localeOf(input.visit, of) })];
    },
    respond: (results: [[{ data: Frame }], ...Results<Statement[]>], input: PageInput<undefined>) => {
      const [[{ data }], ...rows] = results;
      const { visit, params } = input;
      speak(visit, data);
      const base = visit.base && data.organization ? `/o/${data.organization.slug}` : visit.base;
      // A form posts to the path of its page: the path has to name the organization.
      const named =
        own.ofOrganization && !visit.isEmbedded && visit.query.has("organization") ? data.organization : null;
      if (named && visit.base === "" && !visit.form) {
        const query = new URLSearchParams(visit.query);
        query.delete("organization");
        return redirect(302, `/o/${named.slug}${visit.path}${query.size > 0 ? `?${query}` : ""}`);
      }
      // Not permanently: an organization may take its former slug again.
      if (visit.base !== base && !visit.form)
        return redirect(302, visit.path.replace(/\/o\/[^/]+/, base) + (visit.query.size > 0 ? `?${visit.query}` : ""));
      const render = () => {
        const shown = view((read ? shownOf(rows, () => read(input)) : rows) as never, input, data);
        return "movedTo" in shown
          ? redirect(shown.isForNow ? 302 : 301, shown.movedTo)
          : pageResponse(shown, { frame: data, visit, page: own, params });
      };
      return isRenderedOnce && isForAnybody(visit) ? renderOnce([data, rows], visit, render) : render();
    },
  };
  const { path, ofOrganization, isEmbeddable } = own;
  own.actions = actions.map(
    (action): Page =>
      ({
        ...{ path, ofOrganization, isEmbeddable, formPage: own },
        ...((action.showsResult || action.isShown) && { resultPage: own }),
        ...action,
      }) as Page,
  );
  return own;
}

/** The language for the statements of a page: the database chooses where it is not known yet. */
function localeOf(visit: Visit, of: FrameOf): LocaleValue {
  const isAnonymous = visit.session.credential.kind === "none";
  if (namedLocale(visit) || (isAnonymous && !visit.namesNoLocale)) return visit.locale;
  return pageLocale(of, visit.namesNoLocale ? null : visit.locale);
}

/**
 * The account's language takes precedence over that of the cookie or the browser; the organization's applies if the browser
 * names no supported one.
 */
export function speak(visit: Visit, { viewer, organization }: Frame) {
  if (namedLocale(visit)) return;
  const chosen = viewer?.locale ?? (visit.namesNoLocale ? organization?.default_locale : undefined);
  if (!chosen || chosen === visit.locale) return;
  visit.locale = chosen;
  visit.messages = messagesOf(chosen);
  // Pages that do not read the account, such as errors, have its language, too.
  if (viewer?.locale) visit.session.cookies.push(languageCookie(chosen));
}

type Read = (input: PageInput<undefined>) => readonly Statement[];

/** Declares the action of a form, or of a link in a mail or from a provider, that needs more than statements, such as auth. */
export function form<Body extends z.ZodType | undefined = undefined, Query extends z.ZodType | undefined = undefined>(
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
      | "showsResult"
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
      ...(mayBeKept(view, visit) && { "Cache-Control": "private, no-cache" }),
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
  return { status, json: "", headers: { Location: path, "Content-Type": "text/plain; charset=utf-8" } };
}
