import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import { environment } from "./environment.ts";

const allowedHosts = new Set(environment.webhookAllowedHosts);
const globalIpv6 = ipaddr.parseCIDR("2000::/3");
// Addresses of the internet by their form, which lead to the inside of a cloud from there: Azure's host, IBM's services.
const insideClouds = ["168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14"].map((range) =>
  ipaddr.parseCIDR(range),
);
const localNames = /(^|\.)(localhost|local|internal|home\.arpa)$/;

/** Why events may not be sent to this address, as far as the address itself tells; undefined where they may. */
export function complaintAbout(url: URL): string | undefined {
  const host = hostOf(url);
  if (url.username || url.password) return "must not hold a user name or password";
  if (allowedHosts.has(host)) return undefined;
  if (url.protocol !== "https:") return "must start with https://";
  if (ipaddr.isValid(host) ? !isPublic(host) : !host.includes(".") || localNames.test(host)) return isPrivate;
}

const isPrivate = "must not lead to a private or local address";

/** As `complaintAbout`, and where its name leads to now. A name that is not known yet may be one later. */
export async function complaintAboutNow(url: URL): Promise<string | undefined> {
  const complaint = complaintAbout(url);
  if (complaint || allowedHosts.has(hostOf(url))) return complaint;
  const addresses = await Promise.race([lookup(hostOf(url), { all: true }).catch(() => []), soon()]);
  return addresses.every(({ address }) => isPublic(address)) ? undefined : isPrivate;
}

const soon = () => new Promise<[]>((resolve) => setTimeout(resolve, 2_000, []));

/** The addresses to connect to, and nothing else: the name is not asked again. Throws where one of them is private. */
export async function addressesOf(url: URL): Promise<string[]> {
  const complaint = complaintAbout(url);
  if (complaint) throw new Error(`The address ${complaint}.`);
  const host = hostOf(url);
  const found = ipaddr.isValid(host)
    ? [host]
    : (await lookup(host, { all: true })).map(({ address }) => address);
  if (!allowedHosts.has(host) && !found.every(isPublic)) throw new Error(`The address ${isPrivate}.`);
  return found;
}

/** Reachable over the internet: no private, loopback, link-local, carrier's, documentation's, mapped, tunnelled or translated address, and no cloud's own. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed.kind() === "ipv4"
    ? !insideClouds.some((range) => parsed.match(range))
    : parsed.match(globalIpv6);
}

/** As it is named in WEBHOOK_ALLOWED_HOSTS: IPv6 without brackets, no dot at the end. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}
