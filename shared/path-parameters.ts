import { isUuid } from "./fields.ts";

/** Path parameters with a prefix before their 32 hexadecimal digits. */
const prefixes: Record<string, string | undefined> = { webhook_id: "wh_", event_id: "evt_" };

/** Pattern of a path parameter; undefined for a plain UUID. */
export function patternOf(name: string): string | undefined {
  const prefix = prefixes[name];
  return prefix && `^${prefix}[0-9a-f]{32}$`;
}

export function isPathParameter(name: string, value: string): boolean {
  const pattern = patternOf(name);
  return pattern === undefined ? isUuid(value) : new RegExp(pattern).test(value);
}

/** The UUID in a prefixed id, as Postgres accepts it. */
export function uuidOf(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}
