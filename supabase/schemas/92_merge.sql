-- Merging duplicate submissions, and unmerging.
--
-- Votes and tags of a source are copied to the target and marked merged_from. Those the target has already
-- are recorded in a journal. Unmerge removes the former and restores from the journal, so each row exists
-- exactly once, and later additions belong to the target. Follows stay on the source; its followers are
-- notified about the target (private.with_sources).
--
-- Merges form a tree: merges.parent_id is the direct target, submissions.merged_into_id the root. If several
-- sources have the same vote or tag, the first merged one provides it.
--
-- Lock order: the organization (serializes its merges), submissions by id, comments, list counters.

create table private.merges (
  source_id uuid primary key,
  organization_id uuid not null,
  parent_id uuid not null,
  place bigint generated always as identity,
  event_id uuid not null,
  previous_status text not null,
  created_at timestamptz not null default now(),
  constraint merges_source_is_of_the_same_organization foreign key (organization_id, source_id)
    references public.submissions (organization_id, id) on delete cascade,
  -- Deferred, so that an organization and its merges can be deleted in any order.
  constraint merges_parent_is_of_the_same_organization foreign key (organization_id, parent_id)
    references public.submissions (organization_id, id) deferrable initially deferred
);
comment on table private.merges is
  'Direct merges of submissions; event_id identifies the operation. place is the order of merges.';
create index merges_source_idx on private.merges (organization_id, source_id);
create index merges_parent_idx on private.merges (organization_id, parent_id);
create index merges_children_idx on private.merges (parent_id);
create index merges_event_idx on private.merges (event_id);

-- No foreign keys to people or merges: checking them would dominate the cost of merging 50,000 votes. The
-- trigger below maintains the references.
create table private.merged_votes (
  source_id uuid not null,
  user_id uuid not null,
  organization_id uuid not null,
  id uuid not null,
  created_at timestamptz not null,
  primary key (source_id, user_id)
);
comment on table private.merged_votes is
  'Merge journal: votes of a source by people who vote for the target as well.';
create table private.merged_tags (
  source_id uuid not null,
  tag_id uuid not null,
  organization_id uuid not null,
  primary key (source_id, tag_id),
  constraint merged_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table private.merged_tags is 'Merge journal: tags of a source that the target has as well.';
create index merged_tags_tag_idx on private.merged_tags (organization_id, tag_id);
create table private.merged_comments (
  source_id uuid not null,
  comment_id uuid primary key references public.comments (id) on delete cascade,
  organization_id uuid not null
);
comment on table private.merged_comments is
  'Merge journal: top-level comments of a source; their replies, including later ones, move with them.';
create index merged_comments_source_idx on private.merged_comments (source_id);

-- Trigger: deletes the journal with its merge.
create function private.delete_merge_journal() returns trigger
-- definer: an author may delete their merged source
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.merged_votes j using gone g where j.source_id = g.source_id;
  delete from private.merged_tags j using gone g where j.source_id = g.source_id;
  delete from private.merged_comments j using gone g where j.source_id = g.source_id;
  return null;
end
$$;
create trigger forget after delete on private.merges
  referencing old table as gone for each statement execute function private.delete_merge_journal();

-- Trigger: when a source is deleted, its copied votes and tags become the target's own, and sources
-- merged into it earlier become direct sources of the target.
-- definer: an author may delete a source that has sources itself.
create function private.reparent_merge_sources() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if not exists (select from public.organizations where id = old.organization_id) then return old; end if;
  update private.merges set parent_id = old.merged_into_id where parent_id = old.id;
  update public.votes set merged_from = null where submission_id = old.merged_into_id
    and merged_from = old.id;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  select f.organization_id, old.merged_into_id, f.user_id, f.reason, f.created_at from public.follows f
    where f.submission_id = old.id
  on conflict do nothing;
  insert into private.unfollows (organization_id, submission_id, user_id, created_at)
  select u.organization_id, old.merged_into_id, u.user_id, u.created_at from private.unfollows u
  where u.submission_id = old.id and not private.is_follower(old.merged_into_id, u.user_id)
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
  update public.submission_tags set merged_from = null where submission_id = old.merged_into_id
    and merged_from = old.id;
  return old;
end
$$;
create trigger pass_on_sources before delete on public.submissions
  for each row when (old.merged_into_id is not null) execute function private.reparent_merge_sources();

-- Trigger: a vote removed at the target is not restored by an unmerge, nor is another of the same person.
-- Removing a vote removes it for all merged submissions. Fires after the delete triggers of 21_votes.sql.
-- definer: no client may write the journal.
create function private.delete_merged_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_internal_write() then return null; end if;
  with person as materialized (
    select r.organization_id, r.submission_id, p.user_id
    from removed r cross join unnest(private.same_person(r.user_id, r.organization_id)) p (user_id)
    where exists (select from public.submissions s
      where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id)
  )
  delete from private.merged_votes j using person p, public.submissions s
  where s.organization_id = p.organization_id and s.merged_into_id = p.submission_id and j.source_id = s.id
    and j.user_id = p.user_id;
  return null;
end
$$;
create trigger forget_merged after delete on public.votes
  referencing old table as removed for each statement execute function private.delete_merged_votes();

-- Trigger: a tag removed at the target is not restored by an unmerge. definer: moves rows of other authors.
create function private.delete_merged_tags() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_internal_write() then return null; end if;
  delete from private.merged_tags j using removed r, public.submissions s
  where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id and j.source_id = s.id
    and j.tag_id = r.tag_id;
  return null;
end
$$;
create trigger forget_merged after delete on public.submission_tags
  referencing old table as removed for each statement execute function private.delete_merged_tags();

-- Merge and unmerge -----------------------------------------------------------------------------------------

-- Direct and indirect sources of a submission, ordered by path, which is the order of precedence.
create function private.merge_tree(root uuid) returns table (source_id uuid, path bigint[])
language plpgsql stable set search_path = pg_temp rows 20 as $$
begin
  return query
    with recursive tree as (
      select m.source_id, array[m.place] as path from private.merges m where m.parent_id = root
      union all
      select m.source_id, t.path || m.place from private.merges m join tree t on m.parent_id = t.source_id)
    select t.source_id, t.path from tree t;
end
$$;

-- Copies votes from the journals of its sources to a submission, for people who have no vote on it; for
-- all or the given people.
create function private.copy_votes_to_target(root uuid, sources uuid[], voters uuid[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  with lent as (
    delete from private.merged_votes j
    using (
      select distinct on (private.person_of(p)) o.source_id, o.user_id
      from private.merge_tree(root) t join private.merged_votes o on o.source_id = t.source_id
        join public.profiles p on p.id = o.user_id
      where o.source_id = any (sources)
        and (voters is null or private.person_of(p) in (
          select private.person_of(v) from public.profiles v where v.id = any (voters)))
        and private.person_of(p) not in (
          select private.person_of(v) from public.votes r join public.profiles v on v.id = r.user_id
          where r.submission_id = root)
      order by private.person_of(p), t.path) first
    where j.source_id = first.source_id and j.user_id = first.user_id
    returning j.*)
  insert into public.votes (organization_id, submission_id, id, user_id, created_at, merged_from)
  select l.organization_id, root, l.id, l.user_id, l.created_at, l.source_id from lent l;
end
$$;

-- Copies tags from the journals of its sources to a submission, like private.copy_votes_to_target.
create function private.copy_tags_to_target(root uuid, sources uuid[], tags uuid[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  with lent as (
    delete from private.merged_tags j
    using (
      select distinct on (o.tag_id) o.source_id, o.tag_id
      from private.merge_tree(root) t join private.merged_tags o on o.source_id = t.source_id
      where o.source_id = any (sources) and (tags is null or o.tag_id in (select unnest(tags)))
        and not exists (select from public.submission_tags r
          where r.submission_id = root and r.tag_id = o.tag_id)
      order by o.tag_id, t.path) first
    where j.source_id = first.source_id and j.tag_id = first.tag_id
    returning j.*)
  insert into public.submission_tags (organization_id, submission_id, tag_id, merged_from)
  select l.organization_id, root, l.tag_id, l.source_id from lent l;
end
$$;

-- Moves top-level comments with all replies to another submission; votes for comments follow by their
-- foreign key.
create function private.move_threads(threads uuid[], target_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  threads := array(
    with recursive thread as (
      select id from public.comments where id = any (threads)
      union all
      select r.id from public.comments r join thread t on r.parent_id = t.id)
    select id from thread);
  perform 1 from public.comments where id = any (threads) order by id for update;
  update public.comments c set submission_id = target_id, is_public = s.is_public
    and c.moderation_state = 'approved'
  from public.submissions s where s.id = target_id and c.id = any (threads);
end
$$;

-- Recounts votes and comments of submissions. The caller holds their locks, so no row is added
-- concurrently; rows being deleted still count.
create function private.recount(ids uuid[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  update public.submissions s set
    vote_count = (select count(*) from public.votes v where v.submission_id = s.id),
    comment_count = (select count(*) from public.comments c
      where c.submission_id = s.id and c.moderation_state = 'approved'),
    updated_at = greatest(s.updated_at, now())
  where s.id = any (ids);
end
$$;

-- Locks list counters before several submissions of an organization change kind in one transaction, to
-- prevent deadlocks.
create function private.lock_counts(organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform 1 from private.submission_counts c where c.organization_id = lock_counts.organization_id
  order by c.is_public, c.status, c.type, c.category_id for no key update;
end
$$;

-- Emits submission.updated for all submissions whose counts or target changed; moved votes and comments
-- emit nothing.
create function private.announce_merge(ids uuid[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.emit_event(s.organization_id, 'submission.updated', s.id, private.updated_submission(s))
  from public.submissions s where s.id = any (ids) and s.moderation_state = 'approved' order by s.id;
end
$$;

-- Returns the organization of a row the caller may moderate; raises NOT_FOUND if the caller cannot see
-- it, FORBIDDEN if not Admin. For definer functions.
create function private.require_moderator(organization_id uuid, is_public boolean, author_id uuid, what text,
  field text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  if organization_id is null or not private.in_organization(organization_id)
    or not private.can_see_submission(is_public, author_id, organization_id, private.caller_id(),
      private.team_organization_ids())
    or private.is_key() and organization_id <> private.key_organization_id() then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', what), field);
  end if;
  perform private.require_admin(organization_id, 'submissions:moderate');
  return organization_id;
end
$$;

-- Like private.require_moderator, for a submission by id.
create function private.require_submission_moderator(submission_id uuid, field text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
declare submission public.submissions;
begin
  select * into submission from public.submissions s where s.id = submission_id;
  return private.require_moderator(submission.organization_id, submission.is_public, submission.author_id,
    'submission', field);
end
$$;

-- Merges submissions into another: moves votes, tags and threads without duplicates and notifies followers.
-- The sources and their earlier sources leave the lists and point to the target. For Admin or keys with
-- submissions:moderate. definer: moves rows of other authors.
create function private.admin_merge(source_ids uuid[], target_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  categories uuid[] := private.agent_category_ids();
  event uuid := gen_random_uuid();
  grandchildren uuid[];
  submission public.submissions;
  fanout private.fanouts;
  found_ids uuid[] := '{}';
begin
  perform 1 from public.organizations where id = own_id for no key update;
  source_ids := array(select id from unnest(source_ids) with ordinality as s (id, place) group by id
    order by min(place));
  if target_id = any (source_ids) then
    perform private.raise_error('VALIDATION_ERROR', 'A submission cannot be merged into itself.',
      'source_ids');
  end if;
  grandchildren := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id = any (source_ids));
  for submission in
    select * from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids || grandchildren || target_id)
      order by s.id for no key update
  loop
    continue when submission.id <> all (source_ids || target_id);
    -- Rows hidden from an agent by policy must be hidden in a definer function as well.
    continue when categories is not null and not coalesce(submission.category_id = any (categories), false);
    found_ids := found_ids || submission.id;
    if submission.merged_into_id is not null then
      perform private.raise_error('SUBMISSION_MERGED',
        'This submission is already merged. Undo that merge first, or use its target.',
        case when submission.id = target_id then 'target_id'
          else 'source_ids' end, jsonb_build_object('merged_into_id', submission.merged_into_id));
    elsif submission.moderation_state <> 'approved' then
      perform private.raise_error('CONFLICT',
        'Only approved submissions can be merged. Approve this one first.',
        case when submission.id = target_id then 'target_id' else 'source_ids' end);
    end if;
  end loop;
  if not found_ids @> (source_ids || target_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', case
      when target_id = any (found_ids) then 'source_ids' else 'target_id' end);
  end if;

  perform set_config('feedback.internal_write', 'on', true);
  insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
  select s.id, own_id, admin_merge.target_id, event, s.status
  from public.submissions s where s.id = any (source_ids) order by array_position(source_ids, s.id);
  insert into public.status_changes
    (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  select own_id, m.source_id, m.previous_status, 'duplicate', private.caller_id(), false from private.merges m
    where m.event_id = event order by m.place;
  with double as (
    delete from public.votes v
    using (
      select o.submission_id, o.user_id, o.submission_id <> admin_merge.target_id
        and row_number() over (partition by private.person_of(p)
          order by array_position(admin_merge.target_id || source_ids, o.submission_id)) > 1 as is_double
      from public.votes o join public.profiles p on p.id = o.user_id
      where o.submission_id = any (admin_merge.target_id || source_ids)) d
    where d.is_double and v.submission_id = d.submission_id and v.user_id = d.user_id
    returning case when v.merged_from = any (grandchildren) then v.merged_from
      else v.submission_id end as source_id,
      v.user_id, v.organization_id, v.id, v.created_at)
  insert into private.merged_votes (source_id, user_id, organization_id, id, created_at) select * from double;
  update public.votes v set submission_id = admin_merge.target_id,
    merged_from = case when v.merged_from = any (grandchildren) then v.merged_from else v.submission_id end
  where v.submission_id = any (source_ids);

  with gone as (
    delete from public.submission_tags st where st.submission_id = any (source_ids)
    returning case when st.merged_from = any (grandchildren) then st.merged_from
      else st.submission_id end as source_id,
      st.tag_id, st.organization_id)
  insert into private.merged_tags (source_id, tag_id, organization_id) select * from gone;
  perform private.copy_tags_to_target(target_id, source_ids || grandchildren, null);

  insert into private.merged_comments (source_id, comment_id, organization_id)
  select c.submission_id, c.id, c.organization_id from public.comments c
    where c.submission_id = any (source_ids) and c.parent_id is null
  on conflict do nothing;
  perform private.move_threads(array(
    select c.id from public.comments c where c.submission_id = any (source_ids) and c.parent_id is null),
      target_id);
  perform set_config('feedback.internal_write', 'off', true);

  perform private.lock_counts(own_id);
  update public.submissions set status = 'duplicate', merged_into_id = admin_merge.target_id
    where id = any (source_ids || grandchildren);
  perform private.recount(source_ids || target_id);
  perform private.announce_merge(source_ids || target_id);
  fanout := row(event, own_id, target_id, null, 'merged', private.caller_id(),
    '00000000-0000-0000-0000-000000000000', now());
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then insert into private.fanouts values (fanout.*); end if;
  perform private.audit('submission.merge', 'submission', target_id,
    jsonb_build_object('source_ids', source_ids), own_id);
  return (select json_build_object(
    'target_id', s.id,
    'source_ids', source_ids,
    'vote_count', s.vote_count,
    'comment_count', s.comment_count)
    from public.submissions s where s.id = target_id);
end
$$;

-- The result that a merge would have, for Admin: counts of the target, notified followers, earlier merged
-- submissions included, and added tags. definer: counts voters, which are not granted.
create function private.admin_merge_preview(source_ids uuid[], target_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  found_ids uuid[] := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids) and s.id <> target_id);
begin
  return json_build_object(
    'vote_count', (select count(distinct private.person_of(p))
      from public.votes v join public.profiles p on p.id = v.user_id
      where v.submission_id = any (found_ids || target_id)),
    'comment_count', (select count(*) from public.comments c
      where c.submission_id = any (found_ids || target_id) and c.moderation_state = 'approved'),
    'follower_count', (select count(distinct f.user_id) from public.follows f
      where f.submission_id = any (found_ids) and not exists (select from private.unfollows u
        where u.submission_id = admin_merge_preview.target_id and u.user_id = f.user_id)),
    'earlier_count', (select count(*) from public.submissions s
      where s.organization_id = own_id and s.merged_into_id = any (found_ids)),
    'tags', (select coalesce(json_agg(distinct t.slug), '[]')
      from public.submission_tags st join public.tags t on t.id = st.tag_id
      where st.submission_id = any (found_ids) and not exists (
        select from public.submission_tags own where own.submission_id = admin_merge_preview.target_id
          and own.tag_id = st.tag_id)));
end
$$;

-- Unmerges a submission together with its own earlier sources. Later votes and tags stay with the target;
-- replies stay with their thread; a vote or follow removed at the target stays removed.
-- definer: moves rows of other authors.
create function private.admin_unmerge(submission_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_variable
declare
  source_id uuid := submission_id;
  own_id uuid := private.require_submission_moderator(source_id, 'submission_id');
  root uuid;
  undone private.merges;
  subtree uuid[];
  others uuid[];
  vacant uuid[];
begin
  perform 1 from public.organizations where id = own_id for no key update;
  root := (select s.merged_into_id from public.submissions s where s.id = source_id);
  if root is null then
    perform private.raise_error('CONFLICT',
      'This submission is not merged into another one.', 'submission_id');
  end if;
  subtree := array(select t.source_id from private.merge_tree(source_id) t);
  others := array(select t.source_id from private.merge_tree(root) t
    where t.source_id <> source_id and t.source_id <> all (subtree));
  perform 1 from public.submissions s where s.id = any (subtree || source_id || root)
    order by s.id for no key update;
  select * into undone from private.merges m where m.source_id = source_id;
  if undone.source_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;

  perform set_config('feedback.internal_write', 'on', true);
  insert into public.status_changes
    (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  values (own_id, source_id, 'duplicate', undone.previous_status, private.caller_id(), false);
  with back as (
    update public.votes v set submission_id = source_id, merged_from = nullif(v.merged_from, source_id)
    where v.submission_id = root and v.merged_from = any (subtree || source_id)
    returning v.user_id)
  select array_agg(b.user_id) into vacant from back b;
  insert into public.votes (organization_id, submission_id, id, user_id, created_at)
  select j.organization_id, j.source_id, j.id, j.user_id, j.created_at from private.merged_votes j
    where j.source_id = source_id;
  perform private.copy_votes_to_target(source_id, subtree, null);
  perform private.copy_votes_to_target(root, others, coalesce(vacant, '{}'));

  -- The source may have received the tag again while merged.
  delete from public.submission_tags st using public.submission_tags o
  where st.submission_id = source_id and o.submission_id = root and o.merged_from = any (subtree || source_id)
    and o.tag_id = st.tag_id;
  with back as (
    update public.submission_tags st
      set submission_id = source_id, merged_from = nullif(st.merged_from, source_id)
    where st.submission_id = root and st.merged_from = any (subtree || source_id)
    returning st.tag_id)
  select array_agg(b.tag_id) into vacant from back b;
  insert into public.submission_tags (organization_id, submission_id, tag_id)
  select j.organization_id, j.source_id, j.tag_id from private.merged_tags j where j.source_id = source_id
  on conflict do nothing;
  perform private.copy_tags_to_target(source_id, subtree, null);
  perform private.copy_tags_to_target(root, others, coalesce(vacant, '{}'));

  perform private.move_threads(array(
    select j.comment_id from private.merged_comments j where j.source_id = any (subtree || source_id)),
      source_id);
  perform set_config('feedback.internal_write', 'off', true);

  perform private.lock_counts(own_id);
  delete from private.merges m where m.source_id = source_id;
  update public.submissions s set status = undone.previous_status, merged_into_id = null
    where s.id = source_id;
  update public.submissions s set merged_into_id = source_id where s.id = any (subtree);
  perform private.recount(array[source_id, root]);
  perform private.announce_merge(array[source_id, root]);
  perform private.audit('submission.unmerge', 'submission', source_id, jsonb_build_object('target_id', root),
    own_id);
  return (select json_build_object(
    'submission_id', s.id,
    'target_id', root,
    'status', s.status,
    'vote_count', s.vote_count,
    'comment_count', s.comment_count)
    from public.submissions s where s.id = source_id);
end
$$;
grant execute on function private.admin_merge, private.admin_unmerge to authenticated, service_key;
grant execute on function private.admin_merge_preview to authenticated;
