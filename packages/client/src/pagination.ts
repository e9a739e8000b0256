import type { Client, DataOf, Init, PathOf } from "./client.ts";
import type { paths } from "./schema.ts";

type QueryOf<Path extends PathOf<"get">> = paths[Path] extends {
  get: { parameters: { query?: infer Query } };
}
  ? NonNullable<Query>
  : never;

/** The lists that have pages. */
export type ListPath = {
  [Path in PathOf<"get">]: "page" extends keyof QueryOf<Path> ? Path : never;
}[PathOf<"get">];

/** An item of a list. */
export type ItemOf<Path extends ListPath> =
  DataOf<"get", Path> extends readonly (infer Item)[] ? Item : never;

type Meta = { next_cursor?: string | null; has_next?: boolean; total?: number; total_is_capped?: boolean };
type Page = { data?: unknown[]; meta?: Meta; error?: Error };
type Query = Record<string, unknown>;

/**
 * All items of a list, page by page, each page read when the one before was taken. Throws the FeedbackError of a page
 * that cannot be read.
 */
export async function* items<Path extends ListPath>(
  client: Client,
  path: Path,
  ...[init]: undefined extends Init<"get", Path> ? [Init<"get", Path>?] : [Init<"get", Path>]
): AsyncGenerator<ItemOf<Path>, void, undefined> {
  const get = client.GET as (path: string, init: object) => Promise<Page>;
  const { params, ...rest } = (init ?? {}) as { params?: { query?: Query } };
  let query: Query = { limit: 100, ...params?.query };
  for (let page = Number(query.page ?? 1), seen = 0; ; page++) {
    const { data = [], meta = {}, error } = await get(path, { ...rest, params: { ...params, query } });
    if (error) throw error;
    yield* data as ItemOf<Path>[];
    seen += data.length;
    const hasMore = meta.has_next ?? (data.length > 0 && (meta.total_is_capped || seen < (meta.total ?? 0)));
    if (!hasMore) return;
    query = { ...query, ...(meta.next_cursor ? { cursor: meta.next_cursor } : { page: page + 1 }) };
  }
}
