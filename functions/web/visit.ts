import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { ErrorDetail } from "../../shared/errors.ts";
import { type Locale, locales, namesLocale, negotiateLocale } from "../../shared/locales.ts";
import { ApiError } from "../_shared/api-error.ts";
import { readForm } from "../_shared/body.ts";
import { keptForm } from "./kept-form.ts";
import { type Messages, messagesOf } from "./messages/index.ts";
import { authOf, forgotten, openSession, type Session } from "./session.ts";

export const themes = ["light", "dark"] as const;
type Theme = (typeof themes)[number];

/** A form that was refused: what was typed, and what is wrong with it. */
export type RefusedForm = {
  typed: URLSearchParams;
  message: string;
  details: ErrorDetail[];
  /** 429 where it was tried too often, else 422. */
  status: 422 | 429;
  /** Seconds. */
  retryAfter: number | undefined;
};

/** What every page needs to know of the request, besides its own input. */
export type Visit = {
  /** As the visitor sees the address, without the host; that of the board where it is too long. */
  path: string;
  query: URLSearchParams;
  /** It is longer than any address of ours. A page has it in dozens of links. */
  isTooLong: boolean;
  /** Shown in a frame on another site: below /embed. */
  isEmbedded: boolean;
  /** Before the paths of the organization's pages: `/o/:slug`, or nothing for the default one. */
  base: string;
  locale: Locale;
  messages: Messages;
  theme: Theme | undefined;
  session: Session;
  isSignedIn: boolean;
  /** Of the account, where the page found another language there than this one. */
  accountLocale: Locale | undefined;
  /** Neither the address nor the visitor nor the browser names a language: the organization's counts. */
  namesNoLocale: boolean;
  /** Of the organization of the page, once it is read. */
  organizationLocale: Locale | undefined;
  /** Of a POST; an error where it could not be read. Of one with a file, its action sets the fields. */
  form: URLSearchParams | ApiError | undefined;
  /** Where the page is shown again because its form was refused. */
  refused: RefusedForm | undefined;
  /** What the form's action answered, where the page shows it once: JSON. */
  answered: string | undefined;
  /** What was typed into the page's form before its author signed in. */
  kept: URLSearchParams | undefined;
  auth(): ReturnType<typeof authOf>;
  /** Ends the session in this browser. */
  forget(): void;
  /** A cookie of the request. */
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
  const theme = (isEmbedded && url.searchParams.get("theme")) || getCookie(c, "theme");
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
    isSignedIn: session.credential.kind !== "none",
    accountLocale: undefined,
    namesNoLocale: chosenLocale(c, url) === undefined && !namesLocale(c.req.header("Accept-Language")),
    organizationLocale: undefined,
    form:
      readsForm && c.req.method === "POST"
        ? await readForm(c.req.raw, url.pathname.startsWith("/unsubscribe")).catch(keepRefusal)
        : undefined,
    refused: undefined,
    answered: undefined,
    kept: keptForm(c),
    auth: () => authOf(c, session.cookies),
    forget: () => session.cookies.push(...forgotten(c)),
    cookie: (name) => getCookie(c, name),
    header: (name) => c.req.header(name),
  };
}

function keepRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

/** By the address, else by what the visitor chose before, else by the browser. What the account says comes with the page. */
const localeOf = (c: Context, url: URL): Locale =>
  chosenLocale(c, url) ?? negotiateLocale(c.req.header("Accept-Language"));

const chosenLocale = (c: Context, url: URL) =>
  localeNamed(url.searchParams.get("lang")) ?? localeNamed(getCookie(c, "lang"));

const localeNamed = (name: string | null | undefined) => locales.find((locale) => locale === name);

/** The language that the address names, which goes before every other. */
export const namedLocale = ({ query }: Visit) => localeNamed(query.get("lang"));

const yearSeconds = 31_536_000;
export const keptForAYear = { path: "/", sameSite: "lax", httpOnly: true, maxAge: yearSeconds } as const;

export const languageCookie = (locale: Locale) => ({ name: "lang", value: locale, options: keptForAYear });

/** The page of which an embedded one is the variant without a frame of ours. */
export const withoutEmbed = (path: string) => path.replace(/^\/embed(?=\/|$)/, "") || "/";

/** The path on this site that a link or field names, or undefined where it leads elsewhere. */
export function ownPath(named: string | null | undefined): string | undefined {
  if (!named || named.length > 2000 || !/^\/(?!\/)[^\\\p{Cc}]*$/u.test(named)) return undefined;
  const base = "http://site.invalid";
  const url = URL.canParse(named, base) ? new URL(named, base) : undefined;
  if (url?.origin !== base || !isPlain(url.pathname)) return undefined;
  return url.pathname + url.search + url.hash;
}

/** No path of ours has what a proxy, browser or cookie could read as more than a path: /.//evil.example, /%5cevil.example. */
function isPlain(path: string): boolean {
  try {
    return !/\/\/|[;\\\p{Cc}]/u.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}
