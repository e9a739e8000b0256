import type { Sql } from "../database/run.ts";

/** A row whose JSON is built by Postgres. */
export type Data = { data: string };

/** JSON of a comment in responses; `c` is the comment. */
export const commentShape = (sql: Sql) => sql`json_build_object(
  'id', c.id, 'submission_id', c.submission_id, 'parent_id', c.parent_id, 'body', c.body,
  'author', private.author(c.author_id, c.organization_id), 'is_official', c.is_official,
  'moderation_state', c.moderation_state, 'vote_count', c.vote_count, 'reply_count', c.reply_count, 'created_at', c.created_at, 'updated_at', c.updated_at)`;

/** Tag slugs of a submission; `s` is the submission. */
export const tagSlugs = (sql: Sql) => sql`array(
  select t.slug from public.submission_tags st join public.tags t on t.id = st.tag_id where st.submission_id = s.id order by t.slug)`;
