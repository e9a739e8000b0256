import { isUuid } from "./fields.ts";

/** Parameters of paths that are no bare UUID, and what stands before their 32 hexadecimal digits. */
const prefixes: Record<string, string | undefined> = { webhook_id: "wh_", event_id: "evt_" };

/** What a parameter of that name must look like; undefined where it is a UUID. */
export function patternOf(name: string): string | undefined {
  const prefix = prefixes[name];
  return prefix && `^${prefix}[0-9a-f]{32}$`;
}

export function isPathParameter(name: string, value: string): boolean {
  const pattern = patternOf(name);
  return pattern === undefined ? isUuid(value) : new RegExp(pattern).test(value);
}

/** The UUID in a prefixed id, as Postgres takes it. */
export function uuidOf(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}
