import type { Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";
import { named } from "./submissions.ts";

/** One row if the follow was created. */
export function follow(id: string): Statement {
  return (sql) => sql`
    insert into public.follows (submission_id) select s.id from public.submissions s where ${named(sql, id)} and not private.is_following(s.id)
    on conflict do nothing returning submission_id`;
}

export function unfollow(id: string): Statement {
  return (sql) =>
    sql`delete from public.follows f using public.submissions s where f.submission_id = any (private.with_sources(s.id)) and ${named(sql, id)}`;
}

export function followState(id: string): Statement<Data> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'is_following', private.is_following(s.id))::text as data
    from public.submissions s where ${named(sql, id)}`;
}
