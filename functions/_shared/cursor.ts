import { uuid } from "../../shared/fields.ts";
import { unstorable } from "../../shared/text.ts";
import { invalid } from "./api-error.ts";
import { decodeText, encodeText } from "./base64url.ts";

/** Where a sorted list goes on: the sort it belongs to, the last value as Postgres wrote it, and its row's id. */
export function encodeCursor(sort: string, order: string, [value, id]: [string, string]): string {
  return encodeText(JSON.stringify([sort, order, value, id]));
}

export function decodeCursor(cursor: string, sort: string, order: string): { value: string; id: string } {
  const parts = partsOf(cursor);
  if (!parts) throw invalid("cursor", "must be a next_cursor from the meta of an earlier answer");
  if (parts[0] !== sort || parts[1] !== order)
    throw invalid("cursor", "belongs to another sort or order: send those of its list");
  return { value: parts[2], id: parts[3] };
}

const isValue: Record<string, (value: string) => boolean> = {
  created_at: (value) =>
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/.test(value) &&
    !Number.isNaN(Date.parse(value.replace(" ", "T").replace("+00", "Z"))),
  votes: (value) => /^\d{1,9}$/.test(value),
  comments: (value) => /^\d{1,9}$/.test(value),
  title: (value) => unstorable(value) === undefined && value.length <= 400,
};

function partsOf(cursor: string): [string, string, string, string] | undefined {
  try {
    const parts: unknown = JSON.parse(decodeText(cursor));
    if (!Array.isArray(parts) || parts.length !== 4 || !parts.every((part) => typeof part === "string"))
      return;
    const [sort, order, value, id] = parts as [string, string, string, string];
    if (!isValue[sort]?.(value) || !uuid.safeParse(id).success) return;
    return [sort, order, value, id];
  } catch {
    return undefined;
  }
}
