import type { followAnswer } from "../../../shared/follows.ts";
import type { Statement } from "../database/run.ts";
import type { Data, DataOf } from "./shapes.ts";
import { named } from "./submissions.ts";

/** One row if the follow was created. */
export function follow(id: string): Statement {
  return (sql) => sql`
    insert into public.follows (submission_id) select s.id from public.submissions s where ${named(sql, id)} and not private.is_following(s.id)
    on conflict do nothing returning submission_id`;
}

export function unfollow(id: string): Statement {
  return (sql) =>
    sql`select private.unfollow(private.with_sources(s.id)) from public.submissions s where ${named(sql, id)}`;
}

export function followState(id: string): Statement<Data<DataOf<typeof followAnswer>>> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'is_following', private.is_following(s.id))::text as data
    from public.submissions s where ${named(sql, id)}`;
}
