import type { Context } from "hono";
import { generateCookie } from "hono/cookie";
import { isUuid } from "../../shared/fields.ts";
import { ApiError, forbidden, notFound, toApiError } from "../_shared/http/api-error.ts";
import { bodyOf } from "../_shared/http/compression.ts";
import type { ApiResponse, JsonResponse } from "../_shared/http/endpoint.ts";
import { errorResponse } from "../_shared/http/error-response.ts";
import { valueOfForm } from "../_shared/http/form.ts";
import { isOwnOrigin } from "../_shared/http/own-addresses.ts";
import { firstOf } from "../_shared/http/request.ts";
import { type Pass, type Presentation, serve } from "../_shared/http/serve.ts";
import { pageFrame } from "../_shared/statements/pages.ts";
import { errorPage } from "./error-page.tsx";
import { type Page, plain, seeOther, speak } from "./page.tsx";
import { factorPath, withHostOptions } from "./paths.ts";
import { problemOf, WordedError } from "./problems.ts";
import { securityHeaders } from "./security.ts";
import { type Session, widgetCookieName } from "./session.ts";
import {
  maxAddress,
  maxAddressFields,
  ownPath,
  type RefusedForm,
  startVisit,
  type Visit,
  withoutEmbed,
} from "./visit.ts";

/** The pages at one path, by method; forms name theirs in `_method`. */
export async function servePages(c: Context, pages: Page[]): Promise<Response> {
  const visit = await startVisit(c, { readsForm: !pages.some(({ readsBody }) => readsBody) });
  const method = methodOf(c, visit);
  // Any page will do if the form could not be read: it is rejected before anything is done.
  const unread = visit.form instanceof ApiError ? pages[0] : undefined;
  const found = unread ?? pages.find((page) => page.method === method);
  return servePage(c, found ?? notFoundPage, visit);
}

const tooLong = new ApiError(
  "PAYLOAD_TOO_LARGE",
  `The address has more than ${maxAddress.toLocaleString("en")} characters or ${maxAddressFields} fields.`,
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

export const servePage = (c: Context, page: Page, visit: Visit): Promise<Response> =>
  serve(c, page, pagePresentation(c, page, visit));

/** The person is who is shown where it fails. */
const passOf = (c: Context, page: Page, visit: Visit, person = visit): Pass => ({
  route: page,
  presentation: pagePresentation(c, page, visit, person),
});

/** What is shown instead of an error, if it is not the error's own page. */
function insteadOf(
  c: Context,
  page: Page,
  visit: Visit,
  error: ApiError | undefined,
  person = visit,
): Pass | undefined {
  if (!error) return undefined;
  const isUnnamed = error.code === "NOT_FOUND" && visit.base === "";
  if (page.fallback && (isUnnamed || error.code === "FORBIDDEN"))
    return fallbackOf(error, passOf(c, page.fallback, visit), (last) => ofPerson(c, page, visit, last));
  if (isForNobody(page, visit, error)) {
    // The cookies are the same list: auth adds those of a new session to it.
    const session: Session = { ...visit.session, credential: { kind: "none" } };
    if (hasEnded(visit, error)) visit.forget();
    const nobody = { ...visit, session, isSignedIn: needsFactor(error) && !visit.isEmbedded };
    return passOf(c, page, nobody, hasEnded(visit, error) ? nobody : visit);
  }
  if (page.formPage && visit.form instanceof URLSearchParams && isOfTheForm(error))
    return passOf(c, page.formPage, { ...visit, refused: refusalOf(error, page, visit, visit.form) });
  return ofPerson(c, page, person, error);
}

/** The page of an error with the header of the person who is signed in, in another round trip. */
function ofPerson(c: Context, page: Page, visit: Visit, error: ApiError): Pass | undefined {
  const isOfTheRequest = error.status < 500 && ![401, 429].includes(error.status);
  if (!visit.isSignedIn || visit.isEmbedded || page.isData || !isOfTheRequest) return undefined;
  const { frameOf } = page.formPage ?? page;
  const params = paramsOf(c);
  const route = plain({
    method: "get",
    path: "*",
    call: (input) => [
      pageFrame(isUuid(params.id ?? "") ? frameOf?.({ ...input, query: undefined, params }) : undefined),
    ],
    respond: ([[found]]) => {
      if (found) speak(visit, found.data);
      const text = page.errorTexts?.(visit.locale)[error.code];
      return errorPage(errorResponse(error, "", false), error, "", visit, { text, frame: found?.data });
    },
  });
  const presentation = pagePresentation(c, page, visit);
  return {
    route,
    presentation: {
      ...presentation,
      credential: () => visit.session.credential,
      // One that there is not, or not for this person.
      namesNoOrganization: error.details.some(({ field }) => field === "organization"),
      input: { ...presentation.input, more: () => ({ visit }) },
      insteadOf: undefined,
      errorResponse: (_, ...rest) => presentation.errorResponse(error, ...rest),
    },
  };
}

/** The error stays if the other page is not found either. */
function fallbackOf(
  error: ApiError,
  { route, presentation }: Pass,
  orElse: (last: ApiError) => Pass | undefined,
): Pass {
  const lastOf = (thrown: unknown) => {
    const known = toApiError(thrown);
    return known?.code === "NOT_FOUND" ? error : known;
  };
  const insteadOf: Presentation["insteadOf"] = (thrown) => {
    const last = lastOf(thrown);
    return last && orElse(last);
  };
  const errorResponse: Presentation["errorResponse"] = (thrown, ...rest) =>
    presentation.errorResponse(lastOf(thrown) ?? thrown, ...rest);
  return { route, presentation: { ...presentation, insteadOf, errorResponse } };
}

/** Whether a page opens for an anonymous visitor in place of this one. Never for a form that writes as its visitor. */
function isForNobody(page: Page, visit: Visit, error: ApiError): boolean {
  // An identified person belongs to one organization, and is anonymous on other boards.
  if (error.code === "NOT_FOUND" && page !== notFoundPage)
    return page.method === "get" && visit.session.credential.kind === "session";
  // The sign-in pages are never shown in a frame.
  if (needsFactor(error)) return page.isBeforeFactor === true || visit.isEmbedded;
  // Sign-in forms do not depend on the visitor, so they work without a session.
  const isOfNobody = page.method === "get" || page.work !== undefined || page.isBeforeFactor === true;
  return page.access === "public" && isOfNobody && hasEnded(visit, error);
}

/** Whether the session ended, or the account was erased or banned. */
const hasEnded = (visit: Visit, error: ApiError | undefined) =>
  error?.code === "UNAUTHORIZED" && visit.isSignedIn && !needsFactor(error);

function refusalOf(error: ApiError, action: Page, visit: Visit, form: URLSearchParams): RefusedForm {
  const typed = shownAgain(form);
  const { message, details } = problemOf(error, visit);
  return {
    action,
    typed,
    message,
    // A conflict may name a field that this form does not have.
    details: details.filter(({ field }) => error.code === "VALIDATION_ERROR" || typed.has(field)),
    status: error.status === 429 || error.status === 503 ? error.status : 422,
    retryAfter: Number(error.extra.retry_after) || undefined,
  };
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
const isOfTheForm = (error: ApiError) => error instanceof WordedError || [400, 402, 409].includes(error.status);

function methodOf(c: Context, { form }: Visit): string {
  if (c.req.method !== "POST") return "get";
  return (form instanceof URLSearchParams && form.get("_method")) || "post";
}

function pagePresentation(c: Context, page: Page, visit: Visit, person = visit): Presentation {
  /** Whether a form was accepted: a page or a redirect follows. */
  const isDone = (response: ApiResponse): response is JsonResponse =>
    page.method !== "get" && !page.isOneClick && response.status < 300 && "json" in response;
  return {
    credential: () => (page.isAnonymous ? { kind: "none" } : visit.session.credential),
    operations: ["page"],
    input: {
      params: paramsOf,
      locale: () => visit.locale,
      // Links and forms may repeat a name: the first counts.
      query: firstOf,
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
    insteadOf: (thrown) => insteadOf(c, page, visit, toApiError(thrown), person),
    after: (response) =>
      page.resultPage && isDone(response) && (page.isShown?.(response.json) ?? true)
        ? passOf(c, page.resultPage, { ...visit, form: undefined, answered: response.json })
        : undefined,
    errorResponse: (thrown, requestId, c, endpoint) => {
      const { temporaryError } = visit.session;
      const error = temporaryError && toApiError(thrown)?.code === "UNAUTHORIZED" ? temporaryError : thrown;
      const answer = errorResponse(error, requestId, false);
      const known = toApiError(error);
      const isEnded = hasEnded(visit, known);
      if (isEnded) visit.forget();
      // A private board does not reveal which pages exist: its team must sign in first.
      const isHidden = known?.code === "NOT_FOUND" && endpoint.access !== "public" && !visit.isSignedIn;
      const isUnfinished = needsFactor(known);
      const isSignInNeeded =
        known?.code === "UNAUTHORIZED" && (isUnfinished ? !page.isData : isEnded || endpoint.access !== "public");
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
      const shown = isDone(response)
        ? seeOther(
            withHostOptions(visit, page.redirectTo?.(response, { visit, params: paramsOf(c) }) ?? returnPath(c, visit)),
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

const idOf = (value: string) => /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-|$)/i.exec(value)?.[1] ?? value;

/** Browsers name the page that posts: only our own may, whatever origins an organization allows. */
function requireOwnOrigin(c: Context) {
  if (!isOfOwnOrigin(c)) throw forbidden("This form came from another site. Open the page here and try again.");
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
