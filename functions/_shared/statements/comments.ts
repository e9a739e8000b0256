import type { CommentCreateByKey, CommentListQuery } from "../../../shared/comments.ts";
import type { Sql, Statement } from "../database.ts";
import { commentShape, type Data } from "./shapes.ts";
import { actor } from "./votes.ts";

/** The comment of that id, where the caller may see it and the request names no other organization. */
const namedComment = (sql: Sql, id: string) =>
  sql`c.id = ${id}::uuid and private.in_organization(c.organization_id)`;

/** One level of a thread, official comments first. */
export function listComments(
  submissionId: string,
  { page, limit, sort, order, parent_id }: CommentListQuery,
): Statement<{ total: number; data: string }> {
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

const mostReplies = 100;

export function commentDetail(id: string, withReplies: boolean): Statement<Data> {
  return (sql) => {
    if (!withReplies)
      return sql`select ${commentShape(sql)}::text as data from public.comments c where ${namedComment(sql, id)}`;
    const replies = sql`coalesce((select json_agg(${commentShape(sql)} order by c.is_official desc, c.created_at, c.id)
      from (select * from public.comments c where c.parent_id = p.id order by c.is_official desc, c.created_at, c.id limit ${mostReplies}) c), '[]')`;
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

/** No row where the caller sees no such submission. */
export function createComment(
  id: string,
  submissionId: string,
  input: NewComment,
  byKey: boolean,
): Statement {
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

export function writtenComment(id: string): Statement<{ data: string | null }> {
  return (sql) => sql`select private.written_comment(${id})::text as data`;
}

export function updateComment(id: string, body: string): Statement {
  return (sql) =>
    sql`update public.comments c set body = ${body} where ${namedComment(sql, id)} returning c.id`;
}

export function deleteComment(id: string): Statement {
  return (sql) => sql`delete from public.comments c where ${namedComment(sql, id)} returning c.id`;
}

type OnBehalf = Parameters<typeof actor>[1];

/** One row where it made the vote, none where it was there or the comment is not. */
export function castCommentVote(id: string, onBehalf: OnBehalf, byKey: boolean): Statement {
  return (sql) =>
    byKey
      ? sql`insert into public.comment_votes (comment_id, user_id) select c.id, ${actor(sql, onBehalf)} from public.comments c
        where ${namedComment(sql, id)} on conflict do nothing returning id`
      : sql`insert into public.comment_votes (comment_id) select c.id from public.comments c
        where ${namedComment(sql, id)} on conflict do nothing returning id`;
}

export function commentVoteResult(id: string, onBehalf: OnBehalf): Statement<Data> {
  return (sql) => sql`
    select json_build_object('comment_id', c.id, 'user_id', a.id, 'vote_count', c.vote_count, 'created_at', private.comment_vote_of(c.id, a.id))::text as data
    from public.comments c, ${actor(sql, onBehalf)} as a (id) where ${namedComment(sql, id)}`;
}

export function removeCommentVote(id: string, onBehalf: OnBehalf): Statement {
  return (sql) =>
    sql`select private.remove_comment_vote(c.id, ${actor(sql, onBehalf)}) from public.comments c where ${namedComment(sql, id)}`;
}

export function commentVoteRemovedResult(id: string, onBehalf: OnBehalf): Statement<Data> {
  return (sql) => sql`
    select json_build_object('comment_id', c.id, 'user_id', ${actor(sql, onBehalf)}, 'vote_count', c.vote_count)::text as data
    from public.comments c where ${namedComment(sql, id)}`;
}
