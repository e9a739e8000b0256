import type { Context } from "hono";
import { isLoopbackHost } from "../../../shared/loopback.ts";
import { environment } from "../runtime/environment.ts";
import { ofProxy } from "./behind-proxy.ts";

const configured = [new URL(environment.siteUrl), new URL(environment.supabaseUrl)];
const ownOrigins = new Set(configured.map(({ origin }) => origin));
const ownNames = new Set([...configured.map(({ hostname }) => hostname), ...environment.allowedHosts]);

/** The address before /api, without a slash at its end. As configured: a Host header can be anything. */
export const publicAddress =
  environment.port || environment.proxySecret ? environment.siteUrl : `${environment.supabaseUrl}/functions/v1`;

/**
 * Whether an origin is ours: a configured one, or this machine's own. A page whose name leads here (DNS rebinding)
 * names itself as Host and Origin, so no other host of a request is trusted.
 */
export function isOwnOrigin(origin: string, requestUrl: string): boolean {
  if (ownOrigins.has(origin)) return true;
  const url = new URL(requestUrl);
  return url.origin === origin && isLoopbackHost(url.host);
}

/** The answer to a request whose Host header, such as 127.0.0.1:99999, makes no URL. */
export const malformedHost = ({ url }: Request): Response | undefined =>
  URL.canParse(url) ? undefined : new Response("The Host header is malformed.\n", { status: 400 });

export const unknownHost =
  "This service does not answer at this address. Open the one of SITE_URL, or ask the operator to add this host name to ALLOWED_HOSTS.";

/** Whether the request names a host of ours. Platforms that route by Host, such as Supabase, have checked it. */
export function isKnownHost(c: Context): boolean {
  const proxy = ofProxy(c);
  if (!environment.port && !proxy) return true;
  const host = proxy ? proxy.host : (c.req.header("Host") ?? "");
  if (isLoopbackHost(host)) return true;
  return URL.canParse(`http://${host}`) && ownNames.has(new URL(`http://${host}`).hostname);
}
