import type { Merge } from "../../../shared/moderation.ts";
import type { Statement } from "../database.ts";
import type { Data } from "./shapes.ts";

export function mergeSubmissions({ source_ids, target_id }: Merge): Statement<Data> {
  return (sql) => sql`select private.admin_merge(${source_ids}::uuid[], ${target_id})::text as data`;
}

export function unmergeSubmission(id: string): Statement<Data> {
  return (sql) => sql`select private.admin_unmerge(${id})::text as data`;
}
