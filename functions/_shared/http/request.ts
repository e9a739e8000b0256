import type { Context } from "hono";
import { z } from "zod";
import { isUuid } from "../../../shared/fields.ts";
import { type Locale, negotiateLocale } from "../../../shared/locales.ts";
import { networkOf } from "../../../shared/network-address.ts";
import { isPathParameter } from "../../../shared/path-parameters.ts";
import { type Credential, credentialOf, keyedHash } from "../callers/credential.ts";
import { identifiedToken, sessionToken } from "../callers/session-cookie.ts";
import type { Admission, Statement } from "../database/run.ts";
import { environment } from "../runtime/environment.ts";
import { ApiError, forbidden, InvalidInput, invalid, notFound } from "./api-error.ts";
import { ofProxy } from "./behind-proxy.ts";
import { readJson } from "./body.ts";
import type { Input, Route } from "./endpoint.ts";
import { type Idempotency, idempotencyOf } from "./idempotency.ts";
import { isKnownHost, isOwnOrigin, unknownHost } from "./own-addresses.ts";

/**
 * The parsed request with its statements, or the error in it, which is reported only after the caller was admitted and
 * charged.
 */
export type ParsedRequest = {
  input: Input;
  statements: readonly Statement[];
  idempotency?: Idempotency;
  problem?: ApiError;
};

/** How a request is parsed: differs between the API and the pages. */
export type InputReader = {
  params(c: Context): Record<string, string>;
  locale(c: Context): Locale;
  /** The parameters to validate, of those that are not sent empty. */
  query(sent: Parameters, schema: z.ZodType | undefined): Record<string, string>;
  /** The value that the schema validates. */
  body(c: Context, schema: z.ZodType): Promise<unknown>;
  /** The idempotency key: from the header of an API request, or from a field of a form. */
  idempotencyKey(c: Context, credential: Credential): string | undefined;
  /** Whether a repeated request that created a secret returns the response without it; otherwise it creates another. */
  repeatsWithoutSecret?: boolean;
  /** Additional handler input; throws errors of the request as a whole. */
  more?(c: Context): object;
};

export const jsonReader: InputReader = {
  params: (c) => c.req.param(),
  locale: (c) => negotiateLocale(c.req.header("Accept-Language")),
  query(sent, schema) {
    const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
    for (const name of [...names, "organization"])
      if ((sent.get(name)?.length ?? 0) > 1) throw invalid(name, "must be sent only once");
    if (sent.has("expand") && !names.includes("expand")) throw invalid("expand", "has no values here; leave it out");
    return firstOf(sent);
  },
  body: (c) => readJson(c.req.raw),
  idempotencyKey: (c, { kind }) => (kind === "key" ? c.req.header("Idempotency-Key") : undefined),
};

/** Query parameters with their values, of which none is empty. */
export type Parameters = Map<string, string[]>;

/** A parameter that is sent empty counts as not sent. */
function sentIn(c: Context): Parameters {
  const sent: Parameters = new Map();
  for (const [name, value] of new URL(c.req.url).searchParams) {
    const values = sent.get(name);
    if (value.trim() === "") continue;
    if (values) values.push(value);
    else sent.set(name, [value]);
  }
  return sent;
}

export function firstOf(sent: Parameters): Record<string, string> {
  return Object.fromEntries([...sent].map(([name, [value = ""]]) => [name, value]));
}

/** Parses path, query and body with the endpoint's schemas. */
export async function parse(
  c: Context,
  endpoint: Route,
  credential: Credential,
  reader: InputReader,
): Promise<ParsedRequest> {
  const input: Input = {
    params: endpoint.path.includes(":") ? reader.params(c) : {},
    query: undefined,
    body: undefined,
    locale: reader.locale(c),
    byKey: credential.kind === "key",
    isReadByUser: (credential.kind === "user" || credential.kind === "session") && isRead(c),
    newId: crypto.randomUUID(),
    prepared: endpoint.work ? undefined : endpoint.prepare?.(),
  };
  try {
    Object.assign(input, reader.more?.(c));
    if (!Object.entries(input.params).every(([name, value]) => isPathParameter(name, value)))
      throw notFound("resource");
    const query = reader.query(sentIn(c), endpoint.query);
    if (endpoint.query) input.query = check(endpoint.query, query);
    const body = (input.byKey && endpoint.bodyByKey) || endpoint.body;
    if (body) input.body = check(body, await reader.body(c, body));
    const statements = endpoint.work ? [] : endpoint.call(input as never);
    return {
      input,
      statements,
      idempotency: idempotencyOf(endpoint, input, reader.idempotencyKey(c, credential), reader.repeatsWithoutSecret),
    };
  } catch (error) {
    if (error instanceof ApiError) return { input, statements: [], problem: error };
    throw error;
  }
}

function isRead(c: Context): boolean {
  const purpose = c.req.header("Sec-Purpose") ?? c.req.header("Purpose") ?? "";
  const isForeign = isByCookie(c) && c.req.header("Sec-Fetch-Site") === "cross-site";
  return c.req.method === "GET" && !purpose.startsWith("prefetch") && !isForeign;
}

function check(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new InvalidInput(result.error.issues);
}

/** The arguments to admit the request. */
export function admissionOf(
  c: Context,
  endpoint: Pick<Route, "method" | "path" | "access" | "scopes" | "operation" | "runsLong">,
  requestId: string,
  credential: Credential,
  input: Pick<Input, "params" | "body">,
): Admission {
  const needsOrigin = endpoint.method !== "get" && isByCookie(c);
  const row = resourceOf(endpoint, input.params);
  return {
    requestId,
    userId: credential.kind === "user" ? credential.userId : null,
    sessionId: credential.kind === "user" ? credential.sessionId : null,
    aal: credential.kind === "user" ? credential.aal : null,
    digest: credential.kind === "key" || credential.kind === "session" ? credential.digest : null,
    isSession: credential.kind === "session",
    invalidCredential: credential.kind === "invalid",
    address: hashedAddress(c),
    operations: endpoint.operation ? [endpoint.operation] : [],
    organization: organizationOf(c, input.params),
    onBehalf: credential.kind === "key" ? hashedAuthor(input.body) : null,
    origin: foreignOrigin(c, needsOrigin),
    needsOrigin,
    resource: row?.resource ?? null,
    resourceId: row?.id ?? null,
    access: endpoint.access,
    scopes: endpoint.scopes ?? [],
    chargeFirst: endpoint.runsLong,
  };
}

/** A caller without an Authorization header may be a page under a name that leads here (DNS rebinding). */
export function readCredential(c: Context): Credential | Promise<Credential> {
  if (!c.req.header("Authorization") && !isKnownHost(c)) throw forbidden(unknownHost);
  return readCredentialOf(c.req.raw.headers);
}

export function readCredentialOf(headers: Headers): Credential | Promise<Credential> {
  const authorization = headers.get("Authorization") ?? undefined;
  if (authorization) return credentialOf(authorization, undefined);
  const cookies = headers.get("Cookie") ?? undefined;
  return credentialOf(undefined, sessionToken(cookies), identifiedToken(cookies));
}

/** Whether the browser attached the credential by itself, so that any page could have made the request. */
function isByCookie(c: Context): boolean {
  if (c.req.header("Authorization")) return false;
  const cookies = c.req.header("Cookie");
  return sessionToken(cookies) !== undefined || identifiedToken(cookies) !== undefined;
}

/**
 * The origin of the calling page, if it is not the service's own. A write with a cookie but without Origin counts as
 * origin "null".
 */
function foreignOrigin(c: Context, needsOrigin: boolean): string | null {
  const origin = c.req.header("Origin");
  if (origin === undefined) return needsOrigin ? "null" : null;
  return isOwnOrigin(origin, c.req.url) ? null : origin.slice(0, 300);
}

/** The row named by the path; its organization decides about allowed origins. */
function resourceOf(
  endpoint: Pick<Route, "path">,
  params: Record<string, string>,
): { resource: string; id: string } | undefined {
  const [, resource = "", parameter = ""] = endpoint.path.split("/");
  const id = parameter.startsWith(":") ? params[parameter.slice(1)] : undefined;
  return id !== undefined && isUuid(id) ? { resource, id } : undefined;
}

function organizationOf(c: Context, params: Record<string, string>): string | null {
  const named =
    c.req.header("X-Organization") ||
    params.organization ||
    // Pages may have a row in their paths before the endpoint's own parameters. An unknown path has no parameters.
    (c.req.matchedRoutes.length > 0 ? c.req.param("organization") : undefined) ||
    sentIn(c).get("organization")?.[0];
  // Not a valid name of an organization.
  return named === undefined ? null : named.length > 100 || named.includes("\0") ? "?" : named;
}

function hashedAuthor(body: unknown): string | null {
  const { author_email, author_name } = (body ?? {}) as Record<string, unknown>;
  if (typeof author_email === "string") return keyedHash(author_email.toLowerCase());
  // No address has a space.
  return typeof author_name === "string" ? keyedHash(`named ${author_name}`) : null;
}

const hashes = new Map<string, string>();

export function hashedAddress(c: Context): string | null {
  const address = addressOf(c);
  if (!address) return null;
  const known = hashes.get(address);
  if (known) return known;
  if (hashes.size >= 10_000) hashes.clear();
  const hash = keyedHash(address);
  hashes.set(address, hash);
  return hash;
}

/**
 * The client's address: what the pages' proxy says, the last entry of the trusted header, written by the operator's
 * proxy, or the socket address if the client connects directly.
 */
export function addressOf(c: Context): string | undefined {
  const named =
    ofProxy(c)?.address ||
    (environment.addressHeader && c.req.header(environment.addressHeader)?.split(",").at(-1)?.trim());
  const address =
    named ||
    (environment.addressFromSocket ? (c.env as Deno.ServeHandlerInfo<Deno.NetAddr>).remoteAddr?.hostname : undefined);
  return address ? networkOf(address) : undefined;
}
