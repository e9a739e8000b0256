-- Threaded comments and votes for them.

create table public.comments (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  parent_id uuid,
  author_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  body text not null,
  is_official boolean not null default false,
  vote_count integer not null default 0,
  reply_count integer not null default 0,
  moderation_state text not null default 'approved',
  is_public boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint comments_belong_to_their_submission unique (submission_id, id),
  constraint comments_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  -- Deferred: remove_replies deletes a subtree level by level, without recursion, at any nesting.
  constraint comments_parent_is_of_the_same_submission foreign key (submission_id, parent_id)
    references public.comments (submission_id, id) deferrable initially deferred,
  constraint body_has_1_to_2000_characters check (char_length(body) between 1 and 2000),
  constraint moderation_state_is_known check
    (moderation_state in ('approved', 'pending', 'rejected', 'spam')),
  constraint counts_are_not_negative check (vote_count >= 0 and reply_count >= 0)
);
comment on table public.comments is
  'Comments on submissions. is_official: the author was on the team when writing. is_public: anyone may see '
  'it.';
-- Official comments sort first in both directions, so each direction has its own index.
create index comments_oldest_idx on public.comments (submission_id, is_official desc, created_at, id)
  where parent_id is null;
create index comments_newest_idx on public.comments
  (submission_id, is_official desc, created_at desc, id desc) where parent_id is null;
create index comments_least_voted_idx on public.comments (submission_id, is_official desc, vote_count, id)
  where parent_id is null;
create index comments_most_voted_idx on public.comments
  (submission_id, is_official desc, vote_count desc, id desc) where parent_id is null;
create index comments_replies_idx on public.comments (parent_id, is_official desc, created_at, id)
  where parent_id is not null;
create index comments_author_idx on public.comments (author_id, created_at desc);

create table public.comment_votes (
  id uuid not null default gen_random_uuid(),
  -- Set by the prepare trigger; the default lets clients omit it.
  submission_id uuid not null default '00000000-0000-0000-0000-000000000000',
  comment_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  organization_id uuid not null default private.requested_organization_id(),
  created_at timestamptz not null default now(),
  primary key (comment_id, id),
  constraint one_vote_a_person_and_comment unique (comment_id, user_id),
  constraint comment_votes_comment_is_of_the_same_submission foreign key (submission_id, comment_id)
    references public.comments (submission_id, id) on delete cascade on update cascade
);
comment on table public.comment_votes is
  'Votes for comments, one for each person and comment; user_id is not granted.';
create index comment_votes_user_idx on public.comment_votes (user_id);

-- Writing ---------------------------------------------------------------------------------------------------

-- Trigger: the submission must be visible and not merged; a parent must belong to the same submission.
-- Invoker: a submission or parent the caller cannot see is not found.
create function private.prepare_comment() returns trigger
language plpgsql set search_path = pg_temp as $$
declare parent record;
begin
  if new.author_id = private.caller_id() then perform private.lock_caller(); end if;
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  new.body := private.trim_text(new.body);
  new := private.charge_comment(new);
  -- After the lock, so that a concurrent merge or rejection of the parent is seen. Imports validate the
  -- parent themselves; it may be inserted by the same statement.
  if new.parent_id is not null and not private.is_importing() then
    select c.id, c.moderation_state into parent from public.comments c
      where c.id = new.parent_id and c.submission_id = new.submission_id;
    if parent.id is null then
      perform private.raise_error('NOT_FOUND', 'The comment to reply to is not on this submission.',
        'parent_id');
    end if;
    if parent.moderation_state <> 'approved' and private.caller_id() is not null then
      perform private.raise_error('CONFLICT', 'Only approved comments can be replied to.', 'parent_id');
    end if;
  end if;
  return new;
end
$$;

-- Trigger: charges a comment by a direct client, locks the submission, and sets is_official, moderation state
-- and visibility. definer: reads settings of the organization. The lock serializes this insert with
-- visibility changes and precedes the lock on the parent.
create function private.charge_comment(comment public.comments) returns public.comments
language plpgsql security definer set search_path = pg_temp as $$
declare submission_is_public boolean;
begin
  -- Charge each row before locking, so that a client over its limit is rejected without locking.
  if private.is_direct() then perform private.charge_direct('comment_create', 1); end if;
  perform private.lock_open_submission(comment.submission_id);
  submission_is_public := (select s.is_public from public.submissions s where s.id = comment.submission_id);
  if not private.is_importing() then
    comment.is_official := private.is_member(comment.organization_id, comment.author_id);
    if private.needs_approval(comment.organization_id, comment.author_id) then
      comment.moderation_state := 'pending';
    end if;
  end if;
  comment.is_public := coalesce(submission_is_public, false) and comment.moderation_state = 'approved';
  return comment;
end
$$;
create trigger prepare before insert on public.comments
  for each row execute function private.prepare_comment();

-- Trigger: rejects edits after private.comment_edit_window().
create function private.edit_comment() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  if old.created_at < now() - private.comment_edit_window() then
    perform private.raise_error('FORBIDDEN',
      format('This comment is older than %s minutes and can no longer be edited.',
        extract(epoch from private.comment_edit_window())::integer / 60), 'body');
  end if;
  new.body := private.trim_text(new.body);
  new.updated_at := greatest(now(), old.updated_at + interval '1 microsecond');
  return new;
end
$$;

-- Trigger: charges edits by direct clients. An edit of content that required approval makes it pending again,
-- even where only an ancestor hides it. definer: writes rate limit counters.
create function private.review_comment_edit() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_direct() then perform private.charge_direct('comment_update', 1); end if;
  if new.body <> old.body and private.needs_approval(new.organization_id, new.author_id)
    and (new.moderation_state = 'approved'
      or exists (select from private.hidden_replies h where h.comment_id = new.id)) then
    perform private.decide_alone(new.id);
    update public.comments set moderation_state = 'pending' where id = new.id;
  end if;
  return null;
end
$$;
create trigger follow_edit after update of body on public.comments
  for each row execute function private.review_comment_edit();

-- How long after creation the author may edit a comment.
create function private.comment_edit_window() returns interval
language sql immutable
return interval '15 minutes';
create trigger edit before update of body on public.comments
  for each row execute function private.edit_comment();

-- Trigger: updates comment_count and reply_count, makes those who comment themselves follow, and announces
-- approved comments. definer: writes counts, follows, notifications and events.
create function private.count_added_comments() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform private.lock_submissions((select array_agg(distinct submission_id) from added));
  update public.submissions s set comment_count = comment_count + d.comments
  from (select submission_id, count(*) as comments from added where moderation_state = 'approved' group by 1)
    d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from added
    where parent_id is not null));
  update public.comments c set reply_count = reply_count + d.replies
  from (select parent_id, count(*) as replies from added where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  if private.is_importing() then return null; end if;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select distinct organization_id, submission_id, author_id, 'comment' from added
  where private.is_own_act(author_id) order by 2, 3
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
  perform private.announce_comment(a.id) from added a where a.moderation_state = 'approved';
  return null;
end
$$;
create trigger count_added after insert on public.comments
  referencing new table as added for each statement execute function private.count_added_comments();

-- Locks comments in id order, so that concurrent statements cannot deadlock.
create function private.lock_comments(ids uuid[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.comments where id = any (ids) order by id for no key update;
  end if;
end
$$;

-- Emits comment.created and its notifications, once the comment is approved.
create function private.announce_comment(comment_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
declare comment public.comments;
begin
  select * into comment from public.comments where id = comment_id;
  perform private.emit_event(comment.organization_id, 'comment.created', comment.id, jsonb_build_object(
    'comment', jsonb_build_object(
      'id', comment.id,
      'submission_id', comment.submission_id,
      'parent_id', comment.parent_id,
      'body', comment.body,
      'is_official', comment.is_official,
      'created_at', comment.created_at,
      'author', (select jsonb_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
        from public.profiles p where p.id = comment.author_id))));
  perform private.notify_followers(comment.organization_id, comment.submission_id,
    case when comment.is_official then 'official_comment'
      else 'comment' end, comment.id, comment.id, comment.author_id);
end
$$;

-- Trigger: deletes the replies of a deleted comment and updates the counts. definer: deletes replies by other
-- authors. Each level's delete fires the trigger again until no reply is left.
create function private.remove_replies() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  -- A delete of no rows fires the trigger as well; stop here to end the recursion.
  if not exists (select from removed) then return null; end if;
  if private.is_direct() then
    perform private.charge_direct('comment_delete', (
      select count(*) from removed r
        where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(distinct submission_id) from removed));
  update public.submissions s set comment_count = comment_count - d.comments
  from (select submission_id, count(*) as comments from removed where moderation_state = 'approved'
    group by 1) d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from removed
    where parent_id is not null));
  update public.comments c set reply_count = reply_count - d.replies
  from (select parent_id, count(*) as replies from removed where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  delete from public.comments where id in (
    with recursive subtree as (
      select c.id from public.comments c join removed r on c.parent_id = r.id
      union
      select c.id from public.comments c join subtree s on c.parent_id = s.id)
    select id from subtree);
  return null;
end
$$;
create trigger remove_replies after delete on public.comments
  referencing old table as removed for each statement execute function private.remove_replies();

-- Locks the submission of a comment before the comment itself; false if the comment does not exist.
-- definer: locks a submission the caller may not update.
create function private.lock_thread(comment_id uuid) returns boolean
language plpgsql security definer set search_path = pg_temp cost 10000 as $$
declare thread_id uuid;
begin
  loop
    select c.submission_id into thread_id from public.comments c where c.id = comment_id;
    if thread_id is null then return false; end if;
    -- A subtransaction: if a concurrent merge moved the comment while this waited, its rollback releases the
    -- lock.
    begin
      perform private.lock_submission(thread_id);
      if exists (select from public.comments c where c.id = comment_id and c.submission_id = thread_id)
        then return true; end if;
      raise exception using errcode = 'FBMOV';
    exception when sqlstate 'FBMOV' then null;
    end;
  end loop;
end
$$;

-- Trigger: derives is_public from the moderation state. definer: the caller may not see the submission.
create function private.sync_comment_is_public() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  new.is_public := new.moderation_state = 'approved'
    and coalesce((select s.is_public from public.submissions s where s.id = new.submission_id), false);
  return new;
end
$$;
create trigger follow_moderation before update of moderation_state on public.comments
  for each row execute function private.sync_comment_is_public();

-- Trigger: an approved comment is counted and announced; other states are not counted.
create function private.moderate_comment() returns trigger
-- definer: the caller may not see the submission.
language plpgsql security definer set search_path = pg_temp as $$
declare change integer := (new.moderation_state = 'approved')::integer
  - (old.moderation_state = 'approved')::integer;
begin
  update public.submissions set comment_count = comment_count + change
    where id = new.submission_id and change <> 0;
  update public.comments set reply_count = reply_count + change where id = new.parent_id and change <> 0;
  if change = 1 and not private.is_announced('comment.created', new.id) then
    perform private.announce_comment(new.id);
  end if;
  return null;
end
$$;
create trigger moderate after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state)
    execute function private.moderate_comment();

-- Trigger: a change of the submission's visibility updates is_public of its comments.
create function private.propagate_visibility_to_comments() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: is_public is not granted
begin
  update public.comments set is_public = new.is_public and moderation_state = 'approved'
    where submission_id = new.id;
  return null;
end
$$;
create trigger spread_visibility after update of is_public, moderation_state on public.submissions
  for each row when (old.is_public <> new.is_public)
    execute function private.propagate_visibility_to_comments();

-- Votes on comments -----------------------------------------------------------------------------------------

-- Trigger: the comment must be visible to the caller, and a person votes once.
create function private.prepare_comment_vote() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  if new.user_id = private.caller_id() then perform private.lock_caller(); end if;
  new.organization_id := (select c.organization_id from public.comments c where c.id = new.comment_id);
  new.submission_id := case when new.organization_id is not null then private.lock_comment(new.comment_id)
    end;
  if new.submission_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such comment.', 'comment_id');
  end if;
  perform private.require_one_vote(new.organization_id, new.user_id, null, new.comment_id);
  return new;
end
$$;

-- Locks the comment before a vote for it is added or deleted. Returns its current submission, which a merge
-- may have changed. definer: locks a comment the caller may not update.
create function private.lock_comment(comment_id uuid) returns uuid
language plpgsql security definer set search_path = pg_temp cost 10000 as $$
declare current_id uuid;
begin
  select c.submission_id into current_id from public.comments c
    where c.id = lock_comment.comment_id for no key update;
  return current_id;
end
$$;

create trigger prepare before insert on public.comment_votes
  for each row execute function private.prepare_comment_vote();

-- Trigger: adds new votes to vote_count of comments, and subtracts deleted ones. definer: updates vote_count.
create function private.count_comment_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_direct() then
    perform private.charge_direct(case tg_op when 'INSERT' then 'vote_create' else 'vote_delete' end, (
      select count(*) from changed r where exists (select from public.comments c where c.id = r.comment_id)));
  end if;
  perform private.lock_comments((select array_agg(comment_id) from changed));
  update public.comments c set vote_count = vote_count + d.votes * case tg_op when 'INSERT' then 1 else -1 end
  from (select comment_id, count(*) as votes from changed group by 1) d where c.id = d.comment_id;
  return null;
end
$$;
create trigger count_added after insert on public.comment_votes
  referencing new table as changed for each statement execute function private.count_comment_votes();
create trigger count_removed after delete on public.comment_votes
  referencing old table as changed for each statement execute function private.count_comment_votes();

-- Time of the profile's vote for the comment; available to the profile itself and to a key that may act as
-- it. definer: user_id is not granted. Returns data of the caller, or of a profile the key may act as.
create function private.comment_vote_of(comment_id uuid, profile_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select v.created_at from public.comment_votes v where v.comment_id = comment_vote_of.comment_id
    and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$$;

-- Deletes the vote of the caller, or of a profile the key may act as. definer: voters are not granted.
create function private.remove_comment_vote(comment_id uuid, profile_id uuid) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_comment(remove_comment_vote.comment_id);
    delete from public.comment_votes v where v.comment_id = remove_comment_vote.comment_id
      and v.user_id = profile_id;
  end if;
end
$$;

-- A comment the caller has just written: {id, body, author: {id, name}, is_official, created_at}.
-- definer: a key with submissions:write only cannot read its own comment on a private board.
create function private.written_comment(comment_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (
  select json_build_object(
    'id', c.id,
    'body', c.body,
    'author', json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')),
    'is_official', c.is_official,
    'created_at', c.created_at)
  from public.comments c join public.profiles p on p.id = c.author_id
  where c.id = comment_id and (c.author_id = private.caller_id() or private.is_author_of_key(c.author_id))
);
end
$$;

-- Rights ----------------------------------------------------------------------------------------------------

grant select on public.comments to anon, authenticated, service_key;
grant insert (id, submission_id, parent_id, body), update (body), delete on public.comments to authenticated;
grant insert (id, submission_id, parent_id, body, author_id), delete on public.comments to service_key;
grant select (id, organization_id, submission_id, comment_id) on public.comment_votes to anon, authenticated,
  service_key;
grant insert (comment_id), delete on public.comment_votes to authenticated;
grant insert (comment_id, user_id) on public.comment_votes to service_key;
grant select, insert, delete, update (body, is_official, moderation_state) on public.comments to service_role;
grant select, insert, delete on public.comment_votes to service_role;
grant execute on function private.comment_edit_window, private.lock_comment, private.charge_comment
  to authenticated, service_role, service_key;
grant execute on function private.lock_thread to authenticated, service_key;
grant execute on function private.written_comment, private.comment_vote_of, private.remove_comment_vote
  to anon, authenticated, service_key;

create policy "a comment is seen by whoever may see it" on public.comments
  for select to anon, authenticated, service_key using (private.can_see_submission(
    is_public, author_id, organization_id,
    (select private.caller_id()), (select private.team_organization_ids())::uuid[]));
create policy "a key stays in its organization" on public.comments
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "an agent keeps to the comments of its categories" on public.comments
  as restrictive to service_key using (
    (select private.agent_category_ids()) is null or exists (select from public.submissions s
      where s.id = submission_id));
create policy "users comment as themselves" on public.comments
  for insert to authenticated with check (author_id = (select auth.uid()));
create policy "keys comment for themselves and their e-mail authors" on public.comments
  for insert to service_key with check (
    private.may_act_as(author_id));
-- An official comment belongs to the team: its author cannot edit it after leaving the team.
create policy "authors edit" on public.comments
  for update to authenticated using (author_id = (select auth.uid())
    and (not is_official or organization_id = any ((select private.team_organization_ids())::uuid[]))
    and private.lock_thread(id))
  with check (author_id = (select auth.uid()));
create policy "authors and admins delete" on public.comments
  for delete to authenticated using (
    (author_id = (select auth.uid())
        and (not is_official or organization_id = any ((select private.team_organization_ids())::uuid[]))
      or organization_id = any ((select private.admin_organization_ids(''))::uuid[]))
    and private.lock_thread(id));
create policy "keys delete of their e-mail authors, and as admins" on public.comments
  for delete to service_key using (
    (private.may_act_as(author_id)
      or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]))
    and private.lock_thread(id));

create policy "votes are seen with their comment" on public.comment_votes
  for select to anon, authenticated, service_key using (
    exists (select from public.comments c where c.id = comment_id));
create policy "users vote as themselves" on public.comment_votes
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "keys vote for themselves and their e-mail authors" on public.comment_votes
  for insert to service_key with check (
    private.may_act_as(user_id));
create policy "users take back their own vote" on public.comment_votes
  for delete to authenticated
  using (user_id = (select auth.uid()) and private.lock_comment(comment_id) is not null);

-- This is not in 10_organizations.sql, because it reads the content tables.
create policy "people are seen through what they wrote" on public.profiles
  for select to anon, authenticated, service_key using (
    id = (select private.caller_id())
    or exists (select from public.submissions s where s.author_id = profiles.id)
    or exists (select from public.comments c where c.author_id = profiles.id));

-- The name on the picture that the pages make of a profile: null for a key, and unless everybody sees the
-- profile (the policy above), so that the picture is the same for all callers.
-- definer: the login role reads no tables.
create function private.pictured_name(profile_id uuid) returns text
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select p.name from public.profiles p where p.id = profile_id and p.kind <> 'key' and (
    exists (select from public.submissions s where s.author_id = p.id and s.is_public)
    or exists (select from public.comments c where c.author_id = p.id and c.is_public)));
end
$$;
grant execute on function private.pictured_name to feedback_api;
