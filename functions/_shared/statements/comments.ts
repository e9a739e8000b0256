import type { Comment, CommentCreateByKey, CommentListQuery, commentCreatedAnswer } from "../../../shared/comments.ts";
import type { commentVoteAnswer, commentVoteRemovedAnswer } from "../../../shared/votes.ts";
import type { Sql, Statement } from "../database/run.ts";
import { call, commentShape, type Data, type DataOf, type List } from "./shapes.ts";
import { actor } from "./votes.ts";

/** The comment with this id if the caller may see it and the request names no other organization. */
const namedComment = (sql: Sql, id: string) => sql`c.id = ${id}::uuid and private.in_organization(c.organization_id)`;

/** One level of a thread, official comments first. */
export function listComments(
  submissionId: string,
  { page, limit, sort, order, parent_id }: CommentListQuery,
): Statement<List<Comment>> {
  return (sql) => {
    const level = sql`c.submission_id = ${submissionId}::uuid and ${parent_id ? sql`c.parent_id = ${parent_id}::uuid` : sql`c.parent_id is null`}`;
    const column = sql(sort === "votes" ? "vote_count" : "created_at");
    const direction = order === "asc" ? sql`asc` : sql`desc`;
    const sorted = sql`c.is_official desc, c.${column} ${direction}, c.id ${direction}`;
    return sql`
      with shown as (
        select * from public.comments c where ${level} order by ${sorted} limit ${limit} offset ${(page - 1) * limit}
      )
      select (select count(*) from public.comments c where ${level}) as total,
        coalesce((select json_agg(${commentShape(sql)} order by ${sorted}) from shown c), '[]')::text as data`;
  };
}

const threadsOfPage = 50;
const maxShownComments = 500;

/** A comment as pages show it; `seconds_to_edit` is set for the caller's own comments, null for others. */
export type ThreadComment = Comment & { has_voted?: boolean; seconds_to_edit?: number | null };

/**
 * A level of a submission's threads (top-level comments, or the replies to a comment), official ones first, each
 * followed by its replies, up to 500 in all: reply_count shows how many are missing. `data` is flat, in display order.
 * With `comment`, the page of top-level comments that has its thread, and the comment with all that it replies to.
 */
export function commentThreads(
  submissionId: string,
  { parent_id, page, comment, isSignedIn }: ThreadsOf,
): Statement<List<ThreadComment> & { page: number; submission_of_comment: string | null }> {
  return (sql) => {
    const level = sql`c.submission_id = ${submissionId}::uuid and ${parent_id ? sql`c.parent_id = ${parent_id}::uuid` : sql`c.parent_id is null`}`;
    const own = sql`jsonb_build_object('has_voted', private.comment_vote_of(c.id, private.caller_id()) is not null,
      'seconds_to_edit', case when c.author_id = private.caller_id() then
        ${secondsLeft(sql)} end)`;
    return sql`
      with recursive named (id, parent_id, depth) as (
        select c.id, c.parent_id, 1 from public.comments c
        where c.id = ${comment ?? null}::uuid and c.submission_id = ${submissionId}::uuid
        union all
        select c.id, c.parent_id, n.depth + 1 from named n join public.comments c on c.id = n.parent_id
        where n.depth < ${maxShownComments}
      ), counted as materialized (
        select count(*) as total, count(*) filter (where (not c.is_official, c.created_at, c.id) < (
          select not r.is_official, r.created_at, r.id from named n join public.comments r on r.id = n.id
          where n.parent_id is null)) as before
        from public.comments c where ${level}
      ), placed as materialized (
        select ${comment ? sql`before / ${threadsOfPage} + 1` : sql`${page}::bigint`} as page, total from counted
      ), level as materialized (
        select * from public.comments c where ${level}
        order by c.is_official desc, c.created_at, c.id
        limit ${threadsOfPage} offset (select (page - 1) * ${threadsOfPage} from placed)
      ), thread as (
        select * from level
        union all
        select c.* from thread t join public.comments c on c.parent_id = t.id
      ), shown as (
        (select * from thread limit ${maxShownComments})
        union select c.* from named n join public.comments c on c.id = n.id
          where exists (select from named where parent_id is null))
      select total, page, (select c.submission_id from public.comments c where c.id = ${comment ?? null}::uuid) as submission_of_comment,
        coalesce((select json_agg(${isSignedIn ? sql`${commentShape(sql)}::jsonb || ${own}` : commentShape(sql)}
          order by c.is_official desc, c.created_at, c.id) from shown c), '[]')::text as data
      from placed`;
  };
}

type ThreadsOf = { parent_id?: string | undefined; page: number; comment?: string | undefined; isSignedIn: boolean };

const secondsLeft = (sql: Sql) =>
  sql`greatest(0, extract(epoch from c.created_at + private.comment_edit_window() - now()))::integer`;

/** How long the caller may still edit their own comment, in seconds. */
export function secondsToEdit(id: string): Statement<{ seconds: number }> {
  return (sql) => sql`
    select ${secondsLeft(sql)} as seconds from public.comments c
    where ${namedComment(sql, id)} and c.author_id = private.caller_id()`;
}

export const pagesOfThreads = (total: number) => Math.ceil(total / threadsOfPage);

const maxReplies = 100;

export function commentDetail(id: string, withReplies: boolean): Statement<Data<Comment>> {
  return (sql) => {
    if (!withReplies)
      return sql`select ${commentShape(sql)}::text as data from public.comments c where ${namedComment(sql, id)}`;
    const replies = sql`coalesce((select json_agg(${commentShape(sql)} order by c.is_official desc, c.created_at, c.id)
      from (select * from public.comments c where c.parent_id = p.id order by c.is_official desc, c.created_at, c.id limit ${maxReplies}) c), '[]')`;
    return sql`
      select (p.shape::jsonb || jsonb_build_object('replies', ${replies}))::text as data
      from (select c.id, ${commentShape(sql)} as shape from public.comments c where ${namedComment(sql, id)}) p`;
  };
}

/** Whether the caller sees the comment: one row or none. */
export function findComment(id: string): Statement<{ found: number }> {
  return (sql) => sql`select 1 as found from public.comments c where ${namedComment(sql, id)}`;
}

type NewComment = Pick<CommentCreateByKey, "body" | "parent_id"> & Partial<CommentCreateByKey>;

/** No row if the caller sees no such submission. */
export function createComment(id: string, submissionId: string, input: NewComment, byKey: boolean): Statement {
  const { body, parent_id = null } = input;
  return (sql) => {
    const submission = sql`from public.submissions s where s.id = ${submissionId}::uuid and private.in_organization(s.organization_id)`;
    return byKey
      ? sql`insert into public.comments (id, submission_id, parent_id, body, author_id)
          select ${id}::uuid, s.id, ${parent_id}::uuid, ${body}, ${actor(sql, input)} ${submission}`
      : sql`insert into public.comments (id, submission_id, parent_id, body)
          select ${id}::uuid, s.id, ${parent_id}::uuid, ${body} ${submission}`;
  };
}

export const writtenComment = (id: string) => call<DataOf<typeof commentCreatedAnswer> | null>("written_comment", id);

export function updateComment(id: string, body: string): Statement {
  return (sql) => sql`update public.comments c set body = ${body} where ${namedComment(sql, id)} returning c.id`;
}

export function deleteComment(id: string): Statement {
  return (sql) => sql`delete from public.comments c where ${namedComment(sql, id)} returning c.id`;
}

type OnBehalf = Parameters<typeof actor>[1];

/** One row if the vote was created; none if it existed or there is no such comment. */
export function castCommentVote(id: string, onBehalf: OnBehalf, byKey: boolean): Statement {
  return (sql) =>
    byKey
      ? sql`insert into public.comment_votes (comment_id, user_id) select c.id, ${actor(sql, onBehalf)} from public.comments c
        where ${namedComment(sql, id)} on conflict do nothing returning id`
      : sql`insert into public.comment_votes (comment_id) select c.id from public.comments c
        where ${namedComment(sql, id)} on conflict do nothing returning id`;
}

export function commentVoteResult(id: string, onBehalf: OnBehalf): Statement<Data<DataOf<typeof commentVoteAnswer>>> {
  return (sql) => sql`
    select json_build_object('comment_id', c.id, 'user_id', a.id, 'vote_count', c.vote_count, 'created_at', private.comment_vote_of(c.id, a.id))::text as data
    from public.comments c, ${actor(sql, onBehalf)} as a (id) where ${namedComment(sql, id)}`;
}

export function removeCommentVote(id: string, onBehalf: OnBehalf): Statement {
  return (sql) =>
    sql`select private.remove_comment_vote(c.id, ${actor(sql, onBehalf)}) from public.comments c where ${namedComment(sql, id)}`;
}

export function commentVoteRemovedResult(
  id: string,
  onBehalf: OnBehalf,
): Statement<Data<DataOf<typeof commentVoteRemovedAnswer>>> {
  return (sql) => sql`
    select json_build_object('comment_id', c.id, 'user_id', ${actor(sql, onBehalf)}, 'vote_count', c.vote_count)::text as data
    from public.comments c where ${namedComment(sql, id)}`;
}
