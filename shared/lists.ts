import { trimText } from "./text.ts";

/** A list as one text: a part that would read as several, or as quoted, is quoted as in CSV. */
export function joinList(parts: readonly string[], separator: "," | ";"): string {
  const isPlain = (part: string) =>
    part !== "" && trimText(part) === part && !/^"/.test(part) && !part.includes(separator);
  return parts.map((part) => (isPlain(part) ? part : `"${part.replaceAll('"', '""')}"`)).join(`${separator} `);
}

/** The trimmed parts of a list separated by commas, without empty ones; reads what `joinList` writes. */
export function splitList(value: string): string[] {
  return [...value.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/g)]
    .map(([, quoted, plain = ""]) => trimText(quoted?.replaceAll('""', '"') ?? plain))
    .filter(Boolean);
}
