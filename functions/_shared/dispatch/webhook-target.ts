import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import { environment } from "../runtime/environment.ts";

const allowedHosts = new Set(environment.webhookAllowedHosts);
const globalIpv6 = ipaddr.parseCIDR("2000::/3");
// Public addresses that route into a cloud's internal network: Azure's host, IBM's services.
const insideClouds = ["168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14"].map((range) => ipaddr.parseCIDR(range));
const localNames = /(^|\.)(localhost|local|internal|home\.arpa)$/;

/** The reason why a URL is not an allowed webhook target, without resolving its host; undefined if it is allowed. */
export function targetError(url: URL): string | undefined {
  const host = hostOf(url);
  if (url.username || url.password) return "must not contain a user name or password";
  if (allowedHosts.has(host)) return undefined;
  if (url.protocol !== "https:") return "must start with https://";
  if (ipaddr.isValid(host) ? !isPublic(host) : !host.includes(".") || localNames.test(host)) return isPrivate;
}

const isPrivate = "must not lead to a private or local address";

/**
 * Like the check above, also for the addresses the host name resolves to. An unknown host name is allowed; it may exist
 * later.
 */
export async function resolvedTargetError(url: URL): Promise<string | undefined> {
  const complaint = targetError(url);
  if (complaint || allowedHosts.has(hostOf(url))) return complaint;
  const addresses = await Promise.race([lookup(hostOf(url), { all: true }).catch(() => []), soon()]);
  return addresses.every(({ address }) => isPublic(address)) ? undefined : isPrivate;
}

const soon = () => new Promise<[]>((resolve) => setTimeout(resolve, 2_000, []));

/** Resolves the host to addresses to connect to, without a second lookup. Throws if one of them is private. */
export async function resolvePublicAddresses(url: URL): Promise<string[]> {
  const complaint = targetError(url);
  if (complaint) throw new Error(`The URL ${complaint}.`);
  const host = hostOf(url);
  const found = ipaddr.isValid(host) ? [host] : (await lookup(host, { all: true })).map(({ address }) => address);
  if (!allowedHosts.has(host) && !found.every(isPublic)) throw new Error(`The URL ${isPrivate}.`);
  return found;
}

/**
 * Whether an address is public: not private, loopback, link-local, carrier-grade NAT, documentation, mapped, tunnelled,
 * translated or cloud-internal.
 */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed.kind() === "ipv4" ? !insideClouds.some((range) => parsed.match(range)) : parsed.match(globalIpv6);
}

/** Host as written in WEBHOOK_ALLOWED_HOSTS: IPv6 without brackets, no trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}
