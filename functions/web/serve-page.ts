import type { Context } from "hono";
import { generateCookie } from "hono/cookie";
import { isUuid } from "../../shared/fields.ts";
import { ApiError, forbidden, notFound, toApiError } from "../_shared/http/api-error.ts";
import { errorResponse } from "../_shared/http/error-response.ts";
import { valueOfForm } from "../_shared/http/form.ts";
import { bodyOf } from "../_shared/http/kept-text.ts";
import { isOwnOrigin } from "../_shared/http/own-addresses.ts";
import { type Presentation, serve } from "../_shared/http/serve.ts";
import { messagesOf } from "../words/index.ts";
import { errorPage } from "./error-page.tsx";
import { type Page, plain, seeOther } from "./page.tsx";
import { factorPath, withHostOptions } from "./paths.ts";
import { problemOf, WordedError } from "./problems.ts";
import { securityHeaders } from "./security.ts";
import { type Session, widgetCookieName } from "./session.ts";
import {
  languageCookie,
  maxAddress,
  maxAddressFields,
  namedLocale,
  ownPath,
  startVisit,
  type Visit,
  withoutEmbed,
} from "./visit.ts";

/** The pages at one path, by method; forms name theirs in `_method`. */
export async function servePages(c: Context, pages: Page[]): Promise<Response> {
  const visit = await startVisit(c, { readsForm: !pages.some(({ readsBody }) => readsBody) });
  const method = methodOf(c, visit);
  // Any will do for a form that could not be read: it is refused before anything is done.
  const unread = visit.form instanceof ApiError ? pages[0] : undefined;
  const found = unread ?? pages.find((page) => page.method === method);
  return servePage(c, found ?? notFoundPage, visit);
}

const tooLong = new ApiError(
  "PAYLOAD_TOO_LARGE",
  `The address has more than ${maxAddress} characters or ${maxAddressFields} fields.`,
);

type HonoCookieOptions = Parameters<typeof generateCookie>[2];

/** At every other address. */
export const notFoundPage = plain({
  method: "get",
  path: "*",
  call: () => [],
  respond: () => {
    throw notFound("page");
  },
});

export async function servePage(c: Context, page: Page, visit: Visit): Promise<Response> {
  let failed: ApiError | undefined;
  let answered: string | undefined;
  const presentation = pagePresentation(visit, page, {
    onError: (error) => {
      failed = error;
    },
    onAnswer: (json) => {
      answered = json;
    },
  });
  const response = await serve(c, page, presentation);
  const isUnnamed = failed?.code === "NOT_FOUND" && visit.base === "";
  if (page.fallback && (isUnnamed || failed?.code === "FORBIDDEN")) {
    const instead = await servePage(c, page.fallback, visit);
    return instead.status === 404 ? response : instead;
  }
  if (page.resultPage && answered !== undefined)
    return servePage(c, page.resultPage, { ...visit, form: undefined, answered });
  if (needsFactor(failed)) {
    if (!page.isBeforeFactor && !visit.isEmbedded) return response;
    // A frame shows no page of the sign-in.
    const session: Session = { ...visit.session, credential: { kind: "none" } };
    return servePage(c, page, { ...visit, session, isSignedIn: !visit.isEmbedded });
  }
  if (failed?.code === "UNAUTHORIZED" && visit.isSignedIn) {
    // The session ended, or the account was erased or banned: sign out.
    visit.forget();
    const session: Session = { credential: { kind: "none" }, cookies: visit.session.cookies };
    return servePage(c, page, { ...visit, session, isSignedIn: false });
  }
  if (failed?.code === "NOT_FOUND" && visit.session.credential.kind === "session" && page.method === "get") {
    // An identified person belongs to one organization, and is anonymous on other boards.
    const session: Session = { ...visit.session, credential: { kind: "none" } };
    return servePage(c, page, { ...visit, session, isSignedIn: false });
  }
  if (failed && page.formPage && visit.form instanceof URLSearchParams && isOfTheForm(failed)) {
    const typed = shownAgain(visit.form);
    const { message, details } = problemOf(failed, visit);
    const refused = {
      action: page,
      typed,
      message,
      // A conflict may name a field that this form has not.
      details: details.filter(({ field }) => failed?.code === "VALIDATION_ERROR" || typed.has(field)),
      status: failed.status === 429 || failed.status === 503 ? failed.status : (422 as const),
      retryAfter: Number(failed.extra.retry_after) || undefined,
    };
    // The form was charged already.
    const { operation: _, ...formPage } = page.formPage;
    return servePage(c, formPage as Page, { ...visit, refused });
  }
  const locale = visit.accountLocale ?? (visit.namesNoLocale ? visit.organizationLocale : undefined);
  if (page.method !== "get" || !locale || locale === visit.locale || namedLocale(visit)) return response;
  // The account's language takes precedence over the browser's; the organization's applies if the browser names no
  // supported one. With the cookie the next page has the account's language without a second rendering.
  if (visit.accountLocale) visit.session.cookies.push(languageCookie(locale));
  return servePage(c, page, { ...visit, locale, messages: messagesOf(locale) });
}

/** The longest text of a form has 5,000 characters. */
const maxShownAgain = 20_000;

/** A rejected form as it was typed; of a text that is too long for any field, the beginning. */
const shownAgain = (form: URLSearchParams) =>
  new URLSearchParams([...form].map(([name, text]) => [name, text.slice(0, maxShownAgain)]));

/** Whether the account has a second factor that this session has not passed. */
const needsFactor = (error: ApiError | undefined) =>
  error?.code === "UNAUTHORIZED" && error.details.some(({ field }) => field === "aal");

/** Whether an error is shown in its form. A rate limit has its own page, unless the form has a message for it. */
const isOfTheForm = (error: ApiError) =>
  error instanceof WordedError || [400, 402, 409].includes(error.status);

function methodOf(c: Context, { form }: Visit): string {
  if (c.req.method !== "POST") return "get";
  return (form instanceof URLSearchParams && form.get("_method")) || "post";
}

function pagePresentation(
  visit: Visit,
  page: Page,
  { onError, onAnswer }: { onError: (error: ApiError | undefined) => void; onAnswer: (json: string) => void },
): Presentation {
  return {
    credential: () => (page.isAnonymous ? { kind: "none" } : visit.session.credential),
    operations: ["page"],
    input: {
      params: paramsOf,
      locale: () => visit.locale,
      body: async (_c, schema) => {
        const form = visit.form as URLSearchParams;
        return page.readForm ? page.readForm(form) : valueOfForm(schema, form);
      },
      idempotencyKey: (_c, { kind }) => (kind === "none" ? undefined : formIdOf(visit)),
      repeatsWithoutSecret: true,
      more: (c) => {
        if (c.req.method === "POST" && !page.isOneClick) requireOwnOrigin(c);
        if (visit.isTooLong) throw tooLong;
        if (visit.form instanceof ApiError) throw visit.form;
        return { visit };
      },
    },
    errorResponse: (thrown, requestId, c, endpoint) => {
      const { temporaryError } = visit.session;
      const error = temporaryError && toApiError(thrown)?.code === "UNAUTHORIZED" ? temporaryError : thrown;
      const answer = errorResponse(error, requestId, false);
      const known = toApiError(error);
      onError(known);
      // A private board does not reveal which pages exist: its team must sign in first.
      const isHidden = known?.code === "NOT_FOUND" && endpoint.access !== "public" && !visit.isSignedIn;
      const isUnfinished = needsFactor(known);
      const isSignInNeeded =
        known?.code === "UNAUTHORIZED" && (isUnfinished ? !page.isData : endpoint.access !== "public");
      if (isSignInNeeded || isHidden) {
        const back = ownPath(returnPath(c, visit)) ?? "/";
        // A session that ended in a frame: its host identifies the person again. No other page can be shown there.
        const hadWidgetSession = visit.isEmbedded && visit.cookie(widgetCookieName) !== undefined;
        if (hadWidgetSession && c.req.method === "POST" && isOfOwnOrigin(c)) return seeOther(back);
        const path = isUnfinished ? factorPath : "/sign-in";
        return seeOther(`${path}?return_to=${encodeURIComponent(back)}`);
      }
      return errorPage(answer, known, requestId, visit, {
        text: known && page.errorTexts?.(visit.locale)[known.code],
        isFramed: visit.isEmbedded && page.isEmbeddable,
      });
    },
    respond: (c, requestId, response, _verdict, stream) => {
      const isDone = page.method !== "get" && !page.isOneClick && response.status < 300 && "json" in response;
      if (isDone && page.resultPage && (page.isShown?.(response.json) ?? true)) {
        onAnswer(response.json);
        return c.body(null);
      }
      const shown = isDone
        ? seeOther(
            withHostOptions(
              visit,
              page.redirectTo?.(response, { visit, params: paramsOf(c) }) ?? returnPath(c, visit),
            ),
          )
        : response;
      const headers = new Headers({ ...securityHeaders, ...shown.headers, "X-Request-Id": requestId });
      if (page.hasSecretAddress) headers.set("Referrer-Policy", "strict-origin");
      for (const { name, value, options } of visit.session.cookies)
        headers.append("Set-Cookie", generateCookie(name, value, options as HonoCookieOptions));
      const body = stream ?? ("json" in shown ? bodyOf(shown) : null);
      return new Response(body, { status: shown.status, headers });
    },
  };
}

/** Id of a form that creates a row, so that it is posted once: see components/form-id.tsx. */
function formIdOf({ form }: Visit): string | undefined {
  const id = form instanceof URLSearchParams ? form.get("form_id") : null;
  return id && isUuid(id) ? id : undefined;
}

/** Path parameters except the organization. A title may follow an id: /submissions/<id>-a-title. */
function paramsOf(c: Context): Record<string, string> {
  const { organization, ...params } = c.req.param();
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, idOf(value)]));
}

const idOf = (value: string) =>
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-|$)/i.exec(value)?.[1] ?? value;

/** Browsers name the page that posts: only our own may, whatever origins an organization allows. */
function requireOwnOrigin(c: Context) {
  if (!isOfOwnOrigin(c)) throw forbidden("This form belongs to another site.");
}

function isOfOwnOrigin(c: Context): boolean {
  const origin = c.req.header("Origin");
  return origin !== undefined && isOwnOrigin(origin, c.req.url);
}

/** The page after an action: `return_to` of its form, otherwise the page with the form. */
function returnPath(c: Context, { path, query, form }: Visit): string {
  if (c.req.method !== "POST") return path + (query.size > 0 ? `?${query}` : "");
  const back = (form instanceof URLSearchParams && ownPath(form.get("return_to"))) || refererPath(c) || "/";
  // A form of an embedded page that opened a window continues outside the frame.
  return ownPath(c.req.header("Sec-Fetch-Dest") === "document" ? withoutEmbed(back) : back) ?? "/";
}

function refererPath(c: Context): string | undefined {
  const referer = c.req.header("Referer");
  const from = referer && URL.canParse(referer) ? new URL(referer) : undefined;
  return from && isOwnOrigin(from.origin, c.req.url) ? from.pathname + from.search : undefined;
}
