import type { Context } from "hono";
import { type Locale, locales, namesLocale, negotiateLocale } from "../../shared/locales.ts";
import type { ErrorDetail } from "../../shared/validation.ts";
import { ApiError } from "../_shared/http/api-error.ts";
import { readForm } from "../_shared/http/body.ts";
import type { Route } from "../_shared/http/endpoint.ts";
import { hashedAddress } from "../_shared/http/request.ts";
import { type Messages, messagesOf } from "../words/index.ts";
import { authOf, cookieOf, forgotten, openSession, type Session } from "./session.ts";

export const themes = ["light", "dark"] as const;
type Theme = (typeof themes)[number];

/** A rejected form: its input and the errors. */
export type RefusedForm = {
  /** What refused it. */
  action: Route;
  typed: URLSearchParams;
  message: string;
  details: ErrorDetail[];
  /** 429 for a rate limit, 503 if a part of the service does not work, otherwise 422. */
  status: 422 | 429 | 503;
  /** Seconds. */
  retryAfter: number | undefined;
};

/** Data of the request that every page needs, besides its own input. */
export type Visit = {
  /** Path of the URL as the visitor sees it; that of the board if the URL is too long. */
  path: string;
  query: URLSearchParams;
  /** Whether the URL exceeds the limits. A page repeats it in dozens of links. */
  isTooLong: boolean;
  /** Shown in a frame on another site: below /embed. */
  isEmbedded: boolean;
  /** Prefix of the paths of the organization's pages: `/o/:slug`, empty for the default organization. */
  base: string;
  /** After the page was read, the language that it is shown in. */
  locale: Locale;
  messages: Messages;
  theme: Theme | undefined;
  session: Session;
  /** Keyed hash of the client's address. */
  client: string | null;
  isSignedIn: boolean;
  /** Whether URL, cookie and browser name no supported language, so that the organization's default applies. */
  namesNoLocale: boolean;
  /** The form of a POST; an error if it could not be read. The action of a form with a file sets it later. */
  form: URLSearchParams | ApiError | undefined;
  /** Set if the page is shown again because its form was rejected. */
  refused: RefusedForm | undefined;
  /** JSON response of the form's action, if the page shows it once. */
  answered: string | undefined;
  /** needsCaptcha: auth checks the answer of the form to the CAPTCHA, if the project has one. */
  auth(given?: { needsCaptcha: true }): ReturnType<typeof authOf>;
  /** Ends the session in this browser. */
  forget(): void;
  /** A cookie of the request; undefined if two writers have set it. */
  cookie(name: string): string | undefined;
  /** A header of the request. */
  header(name: string): string | undefined;
};

/** The longest has a token of a host, or a hundred ids. */
export const maxAddress = 12_000;
export const maxAddressFields = 200;

/** Reads what does not depend on the page: session, language, theme and form. */
export async function startVisit(c: Context, { readsForm = true } = {}): Promise<Visit> {
  const asked = new URL(c.req.url);
  const isTooLong =
    asked.pathname.length + asked.search.length > maxAddress || asked.searchParams.size > maxAddressFields;
  const url = isTooLong ? new URL("/", asked) : asked;
  const session = await openSession(c);
  const locale = localeOf(c, url);
  const isEmbedded = withoutEmbed(url.pathname) !== url.pathname;
  const theme = (isEmbedded && url.searchParams.get("theme")) || cookieOf(c, "theme");
  const organization = isTooLong ? undefined : c.req.param("organization");
  return {
    path: url.pathname,
    isEmbedded,
    query: url.searchParams,
    isTooLong,
    base: organization === undefined ? "" : `/o/${encodeURIComponent(organization)}`,
    locale,
    messages: messagesOf(locale),
    theme: themes.find((known) => known === theme),
    session,
    client: hashedAddress(c),
    isSignedIn: session.credential.kind !== "none",
    namesNoLocale: chosenLocale(c, url) === undefined && !namesLocale(c.req.header("Accept-Language")),
    form:
      readsForm && c.req.method === "POST"
        ? await readForm(c.req.raw, url.pathname.startsWith("/unsubscribe")).catch(keepRefusal)
        : undefined,
    refused: undefined,
    answered: undefined,
    auth: (given) => authOf(c, session.cookies, undefined, given?.needsCaptcha),
    forget: () => session.cookies.push(...forgotten(c)),
    cookie: (name) => cookieOf(c, name),
    header: (name) => c.req.header(name),
  };
}

function keepRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

/** The language of the URL, of the cookie or of the browser. The account's language is read with the page. */
const localeOf = (c: Context, url: URL): Locale =>
  chosenLocale(c, url) ?? negotiateLocale(c.req.header("Accept-Language"));

const chosenLocale = (c: Context, url: URL) =>
  localeNamed(url.searchParams.get("lang")) ?? localeNamed(cookieOf(c, "lang"));

const localeNamed = (name: string | null | undefined) => locales.find((locale) => locale === name);

/** The language of the URL, which takes precedence over all others. */
export const namedLocale = ({ query }: Visit) => localeNamed(query.get("lang"));

const yearSeconds = 31_536_000;
export const keptForAYear = { path: "/", sameSite: "lax", httpOnly: true, maxAge: yearSeconds } as const;

export const languageCookie = (locale: Locale) => ({ name: "lang", value: locale, options: keptForAYear });

/** The path of the page that an embedded page is a variant of. */
export const withoutEmbed = (path: string) => path.replace(/^\/embed(?=\/|$)/, "") || "/";

/** The path of a link or field, or undefined if it leads to another site. */
export function ownPath(named: string | null | undefined): string | undefined {
  if (!named || named.length > 2000 || !/^\/(?!\/)[^\\\p{Cc}]*$/u.test(named)) return undefined;
  const base = "http://site.invalid";
  const url = URL.canParse(named, base) ? new URL(named, base) : undefined;
  if (url?.origin !== base || !isPlain(url.pathname)) return undefined;
  return url.pathname + url.search + url.hash;
}

/** False for paths that a proxy, browser or cookie may not treat as a path: /.//evil.example, /%5cevil.example. */
function isPlain(path: string): boolean {
  try {
    return !/\/\/|[;\\\p{Cc}]/u.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}
