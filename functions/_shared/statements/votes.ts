import type { PageQuery } from "../../../shared/pagination.ts";
import type {
  myVoteListAnswer,
  VoteByKey,
  voteAnswer,
  voteRemovedAnswer,
  voterListAnswer,
} from "../../../shared/votes.ts";
import type { Sql, Statement } from "../database/run.ts";
import type { Data, DataOf, List } from "./shapes.ts";
import { named } from "./submissions.ts";

type OnBehalf = Partial<VoteByKey>;

/** The profile the request acts as: the author named by a key, the key itself, or the signed-in user. */
export const actor = (sql: Sql, { author_email = null, author_name = null }: OnBehalf) =>
  sql`private.author_of_key(${author_email}, ${author_name})`;

/** One row if the vote was created; none if it existed or there is no such submission. */
export function castVote(id: string, onBehalf: OnBehalf, byKey: boolean): Statement {
  return (sql) =>
    byKey
      ? sql`insert into public.votes (submission_id, user_id) select s.id, ${actor(sql, onBehalf)} from public.submissions s
        where ${named(sql, id)} on conflict do nothing returning id`
      : sql`insert into public.votes (submission_id) select s.id from public.submissions s
        where ${named(sql, id)} on conflict do nothing returning id`;
}

/**
 * Lets a person for whom a key votes or comments follow the submission, if they asked for it; also if the vote existed.
 */
export function followFor(id: string, onBehalf: OnBehalf, reason: "vote" | "comment"): Statement {
  return (sql) =>
    sql`select private.follow_for(s.id, ${actor(sql, onBehalf)}, ${reason}) from public.submissions s where ${named(sql, id)}`;
}

export function voteResult(id: string, onBehalf: OnBehalf): Statement<Data<DataOf<typeof voteAnswer>>> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'user_id', a.id, 'vote_count', s.vote_count, 'created_at', private.vote_of(s.id, a.id))::text as data
    from public.submissions s, ${actor(sql, onBehalf)} as a (id) where ${named(sql, id)}`;
}

export function removeVote(id: string, onBehalf: OnBehalf): Statement {
  return (sql) =>
    sql`select private.remove_vote(s.id, ${actor(sql, onBehalf)}) from public.submissions s where ${named(sql, id)}`;
}

export function voteRemovedResult(id: string, onBehalf: OnBehalf): Statement<Data<DataOf<typeof voteRemovedAnswer>>> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'user_id', ${actor(sql, onBehalf)}, 'vote_count', s.vote_count)::text as data
    from public.submissions s where ${named(sql, id)}`;
}

/** The caller's votes for submissions they may still see, newest first. */
export function myVotes({ page, limit }: PageQuery): Statement<List<DataOf<typeof myVoteListAnswer>[number]>> {
  return (sql) => sql`
    with mine as materialized (
      select s.id, s.title, s.status, s.vote_count, v.voted_at
      from private.my_votes() v join public.submissions s on s.id = v.submission_id
      where private.in_organization(s.organization_id)
    ), shown as (
      select * from mine order by voted_at desc, id desc limit ${limit} offset ${(page - 1) * limit}
    )
    select (select count(*) from mine) as total,
      coalesce((select json_agg(json_build_object('submission_id', s.id, 'title', s.title, 'status', s.status,
        'vote_count', s.vote_count, 'voted_at', s.voted_at) order by s.voted_at desc, s.id desc) from shown s), '[]')::text as data`;
}

export function votersOf(
  id: string,
  { page, limit }: PageQuery,
): Statement<List<DataOf<typeof voterListAnswer>[number]>> {
  return (sql) => sql`
    with shown as (
      select v.* from public.submissions s, private.submission_voters(s.id, ${limit}, ${(page - 1) * limit}) v where ${named(sql, id)}
    )
    select (select s.vote_count from public.submissions s where s.id = ${id}::uuid) as total,
      coalesce((select json_agg(json_build_object('user_id', v.user_id, 'name', v.name, 'email', v.email, 'voted_at', v.voted_at)
        order by v.voted_at desc, v.user_id) from shown v), '[]')::text as data`;
}
