import type { Context } from "hono";
import type { z } from "zod";
import { isUuid } from "../../shared/fields.ts";
import { negotiateLocale } from "../../shared/locales.ts";
import { networkOf } from "../../shared/network-address.ts";
import { isPathParameter } from "../../shared/path-parameters.ts";
import { validationDetails } from "../../shared/validation.ts";
import { ApiError, notFound } from "./api-error.ts";
import { readJson } from "./body.ts";
import { type Credential, credentialOf, keyedHash } from "./credential.ts";
import type { Admission, Statement } from "./database.ts";
import type { Endpoint, Input } from "./endpoint.ts";
import { environment } from "./environment.ts";
import { type Idempotency, idempotencyOf } from "./idempotency.ts";
import { sessionToken } from "./session-cookie.ts";

/** The request and what it asks of the database, or what is wrong with it: told only after the caller was admitted and charged. */
export type Parsed = {
  input: Input;
  statements: readonly Statement[];
  idempotency?: Idempotency;
  problem?: ApiError;
};

/** Reads path, query and body by the endpoint's schemas. */
export async function parse(c: Context, endpoint: Endpoint, credential: Credential): Promise<Parsed> {
  const input: Input = {
    params: endpoint.path.includes(":") ? c.req.param() : {},
    query: undefined,
    body: undefined,
    locale: negotiateLocale(c.req.header("Accept-Language")),
    byKey: credential.kind === "key",
    newId: crypto.randomUUID(),
    prepared: endpoint.prepare?.(),
  };
  try {
    if (!Object.entries(input.params).every(([name, value]) => isPathParameter(name, value)))
      throw notFound("resource");
    if (endpoint.query) input.query = check(endpoint.query, c.req.query());
    const body = (input.byKey && endpoint.bodyByKey) || endpoint.body;
    if (body) input.body = check(body, await readJson(c.req.raw));
    return { input, statements: endpoint.call(input), idempotency: idempotencyOf(c, endpoint, input) };
  } catch (error) {
    if (error instanceof ApiError) return { input, statements: [], problem: error };
    throw error;
  }
}

function check(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ApiError("VALIDATION_ERROR", "The request is not valid.", validationDetails(result.error));
}

/** What the database is told of the request before anything else. */
export function admissionOf(
  c: Context,
  endpoint: Pick<Endpoint, "method" | "path" | "access" | "scopes" | "operation" | "runsLong">,
  requestId: string,
  credential: Credential,
  input: Pick<Input, "params" | "body">,
): Admission {
  const needsOrigin = endpoint.method !== "get" && isByCookie(c);
  const row = resourceOf(endpoint, input.params);
  return {
    requestId,
    userId: credential.kind === "user" ? credential.userId : null,
    digest: credential.kind === "key" ? credential.digest : null,
    refused: credential.kind === "refused",
    address: hashedAddress(c),
    operations: endpoint.operation ? [endpoint.operation] : [],
    organization: organizationOf(c),
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

export function readCredential(c: Context): Credential | Promise<Credential> {
  const authorization = c.req.header("Authorization");
  return credentialOf(authorization, authorization ? undefined : sessionToken(c.req.header("Cookie")));
}

/** Whether a browser sent the credential by itself, so that any page could have made it call. */
function isByCookie(c: Context): boolean {
  return !c.req.header("Authorization") && sessionToken(c.req.header("Cookie")) !== undefined;
}

/** The origin of the page that calls, where it is not the service's own. A cookie that writes from nowhere has none of ours. */
function foreignOrigin(c: Context, needsOrigin: boolean): string | null {
  const origin = c.req.header("Origin");
  if (origin === undefined) return needsOrigin ? "null" : null;
  return isOwnOrigin(origin, c.req.url) ? null : origin.slice(0, 300);
}

const ownAddresses = [new URL(environment.siteUrl), new URL(environment.supabaseUrl)];

/** A configured address says its scheme; behind a proxy that speaks https the request itself says http. */
export function isOwnOrigin(origin: string, requestUrl: string): boolean {
  const asked = new URL(requestUrl);
  const configured = ownAddresses.filter((own) => own.origin === origin || own.host === asked.host);
  return configured.length > 0 ? configured.some((own) => own.origin === origin) : asked.origin === origin;
}

/** The row the path names, whose organization says which pages may call. */
function resourceOf(
  endpoint: Pick<Endpoint, "path">,
  params: Record<string, string>,
): { resource: string; id: string } | undefined {
  const [, resource = "", parameter = ""] = endpoint.path.split("/");
  const id = parameter.startsWith(":") ? params[parameter.slice(1)] : undefined;
  return id !== undefined && isUuid(id) ? { resource, id } : undefined;
}

function organizationOf(c: Context): string | null {
  const named = c.req.header("X-Organization") ?? c.req.query("organization");
  // Not text Postgres can take, so not the name of any organization.
  return named === undefined || named === ""
    ? null
    : named.length > 100 || named.includes("\0")
      ? "?"
      : named;
}

function hashedAuthor(body: unknown): string | null {
  const email = body && typeof body === "object" && "author_email" in body ? body.author_email : undefined;
  return typeof email === "string" ? keyedHash(email.toLowerCase()) : null;
}

const hashes = new Map<string, string>();

function hashedAddress(c: Context): string | null {
  const address = addressOf(c);
  if (!address) return null;
  const known = hashes.get(address);
  if (known) return known;
  if (hashes.size >= 10_000) hashes.clear();
  const hash = keyedHash(address);
  hashes.set(address, hash);
  return hash;
}

/** The client's address: from the header the deployment trusts, whose last entry its own proxy wrote, else from the socket where it is the client's. */
function addressOf(c: Context): string | undefined {
  const named =
    environment.addressHeader && c.req.header(environment.addressHeader)?.split(",").at(-1)?.trim();
  const address =
    named ||
    (environment.addressFromSocket
      ? (c.env as Deno.ServeHandlerInfo<Deno.NetAddr>).remoteAddr?.hostname
      : undefined);
  return address ? networkOf(address) : undefined;
}
