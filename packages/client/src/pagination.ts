import type { Client, DataOf, Init, PathOf } from "./client.ts";
import type { paths } from "./schema.ts";

type QueryOf<Path extends PathOf<"get">> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;

/** The paths of lists that have pages, which {@link items} reads. */
export type ListPath = {
  [Path in PathOf<"get">]: "page" extends keyof QueryOf<Path> ? Path : never;
}[PathOf<"get">];

/**
 * An item of a list.
 *
 * @example
 * ```ts
 * import type { ItemOf } from "@feedback-collection-service/client";
 *
 * const isOfficial = ({ is_official }: ItemOf<"/api/submissions/{id}/comments">) => is_official;
 * ```
 */
export type ItemOf<Path extends ListPath> = DataOf<"get", Path> extends readonly (infer Item)[] ? Item : never;

type Meta = { next_cursor?: string | null; has_next?: boolean; total?: number; total_is_capped?: boolean };
type Page = { data?: unknown[]; meta?: Meta; error?: Error };
type Query = Record<string, unknown>;

/**
 * Iterates over all items of a list. Reads each page after the items of the previous one were consumed; a page has 100
 * items, or the `limit` of the query.
 *
 * @param client - The client that reads the pages.
 * @param path - A list that has pages.
 * @param init - The filters of the list; the parameters of its path.
 * @returns An iterator that reads no further page when the loop ends early.
 * @throws The {@link FeedbackError} of a page that cannot be read. The items before it were returned.
 *
 * @example
 * ```ts
 * import { createFeedbackClient, items } from "@feedback-collection-service/client";
 *
 * const feedback = createFeedbackClient({ url: "https://feedback.example.com", token: "fcs_org_…" });
 * const planned = items(feedback, "/api/submissions", { params: { query: { status: "planned" } } });
 * for await (const { title, vote_count } of planned) console.log(vote_count, title);
 * ```
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
