import type { Bulk, Merge, Moderation, ModerationQuery } from "../../../shared/moderation.ts";
import type { Statement } from "../database/run.ts";
import { decodeCursor } from "../http/cursor.ts";
import type { Data } from "./shapes.ts";

export function mergeSubmissions({ source_ids, target_id }: Merge): Statement<Data> {
  return (sql) => sql`select private.admin_merge(${source_ids}::uuid[], ${target_id})::text as data`;
}

export function unmergeSubmission(id: string): Statement<Data> {
  return (sql) => sql`select private.admin_unmerge(${id})::text as data`;
}

type QueuePage = { total: number; data: string; more: boolean; last: [string, string] | null };

/** A page of pending, rejected or spam content, oldest first. */
export function moderationQueue({ state, type, limit, cursor }: ModerationQuery): Statement<QueuePage> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "asc");
  return (sql) => sql`
    select total, data::text as data, more, last
    from private.admin_moderation_queue(${state}, ${type ?? null}, ${from?.value ?? null}::text::timestamptz, ${from?.id ?? null}, ${limit})`;
}

export function moderate({
  target_type,
  target_id,
  action,
  updated_at,
  reason,
  trust_author,
}: Moderation): Statement<Data> {
  return (sql) => sql`
    select private.admin_moderate(${target_type}, ${target_id}, ${action}, ${reason || null}, ${trust_author ?? null},
      ${updated_at ?? null}::text::timestamptz)::text as data`;
}

export function changeMany(bulk: Bulk): Statement<Data> {
  const values = "value" in bulk ? [bulk.value ?? []].flat() : [];
  const { note = null, notify = true } = bulk.action === "set_status" ? bulk : {};
  return (sql) => sql`
    select private.admin_bulk(${bulk.ids}::uuid[], ${bulk.action}, ${values}::text[], ${note}, ${notify})::text as data`;
}

type Moderated = Pick<Moderation, "target_type" | "target_id" | "updated_at">;

/** Changes each submission separately; one result for each. */
export function moderateMany(
  targets: Moderated[],
  { action, reason, trust_author }: Pick<Moderation, "action" | "reason" | "trust_author">,
): Statement<Data> {
  return (sql) => sql`
    select private.admin_moderate_many(${targets.map(({ target_type }) => target_type)}::text[],
      ${targets.map(({ target_id }) => target_id)}::uuid[], ${action}, ${reason || null}, ${trust_author ?? null},
      ${targets.map(({ updated_at }) => updated_at ?? null)}::text[]::timestamptz[])::text as data`;
}

/** The result that a merge would have. */
export function mergePreview(sourceIds: string[], targetId: string): Statement<Data> {
  return (sql) => sql`select private.admin_merge_preview(${sourceIds}::uuid[], ${targetId})::text as data`;
}
