import type {
  Bulk,
  bulkAnswer,
  Merge,
  Moderation,
  ModerationQuery,
  mergedAnswer,
  moderationAnswer,
  moderationQueueAnswer,
  unmergedAnswer,
} from "../../../shared/moderation.ts";
import type { Statement } from "../database/run.ts";
import { decodeCursor } from "../http/cursor.ts";
import { call, type DataOf, type List } from "./shapes.ts";

export const mergeSubmissions = ({ source_ids, target_id }: Merge) =>
  call<DataOf<typeof mergedAnswer>>("admin_merge", source_ids, target_id);

export const unmergeSubmission = (id: string) => call<DataOf<typeof unmergedAnswer>>("admin_unmerge", id);

type QueuePage = List<DataOf<typeof moderationQueueAnswer>[number]> & { more: boolean; last: [string, string] | null };

/** A page of pending, rejected or spam content, oldest first. */
export function moderationQueue({ state, type, limit, cursor }: ModerationQuery): Statement<QueuePage> {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "asc");
  return (sql) => sql`
    select total, data::text as data, more, last
    from private.admin_moderation_queue(${state}, ${type ?? null}, ${from?.value ?? null}, ${from?.id ?? null}, ${limit})`;
}

export const moderate = ({ target_type, target_id, action, updated_at, reason, trust_author }: Moderation) =>
  call<DataOf<typeof moderationAnswer>>(
    "admin_moderate",
    target_type,
    target_id,
    action,
    reason || null,
    trust_author,
    updated_at,
  );

export function changeMany(bulk: Bulk) {
  const values = "value" in bulk ? [bulk.value ?? []].flat() : [];
  const { note = null, notify = true } = bulk.action === "set_status" ? bulk : {};
  return call<DataOf<typeof bulkAnswer>>("admin_bulk", bulk.ids, bulk.action, values, note, notify);
}

type Moderated = Pick<Moderation, "target_type" | "target_id" | "updated_at">;

/** Changes each submission separately; one result for each. */
export const moderateMany = (
  targets: Moderated[],
  { action, reason, trust_author }: Pick<Moderation, "action" | "reason" | "trust_author">,
) =>
  call<DataOf<typeof bulkAnswer>>(
    "admin_moderate_many",
    targets.map(({ target_type }) => target_type),
    targets.map(({ target_id }) => target_id),
    action,
    reason || null,
    trust_author,
    targets.map(({ updated_at }) => updated_at ?? null),
  );

export type MergePreview = Pick<DataOf<typeof mergedAnswer>, "vote_count" | "comment_count"> & {
  follower_count: number;
  /** Merges of the sources. */
  earlier_count: number;
  /** Tags that the target gains. */
  tags: string[];
};

/** The result that a merge would have. */
export const mergePreview = (sourceIds: string[], targetId: string) =>
  call<MergePreview>("admin_merge_preview", sourceIds, targetId);
