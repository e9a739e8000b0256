-- Votes and follows. Only Admin may read who voted: user_id is not granted.
--
-- Lock order everywhere: organization (merges, visibility changes), submission, comment, dependent rows, list
-- counters; several rows of one table in id order. Lock the submission before the vote row: a merge that
-- holds the submission must not wait for a vote whose transaction waits for the submission. Inserts lock in
-- their trigger. A delete holds its row before any trigger fires, so its policy takes the lock. Follows are
-- not moved by merges and take no lock.

create table public.votes (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  created_at timestamptz not null default now(),
  merged_from uuid,
  primary key (submission_id, id),
  constraint one_vote_a_person_and_submission unique (submission_id, user_id) include (created_at),
  constraint votes_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade
);
comment on table public.votes is
  'Votes, one for each person and submission. The primary key starts with submission_id, so that a DELETE '
  'reaches realtime subscribers of the submission and carries only ids. merged_from: the merged source the '
  'vote came from (92_merge.sql); null for the submission''s own votes.';
create index votes_submission_newest_idx on public.votes (submission_id, created_at desc, user_id);
create index votes_user_idx on public.votes (user_id, created_at desc, submission_id desc);

create table public.follows (
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  user_id uuid not null default private.caller_id() references public.profiles (id) on delete cascade,
  reason text not null default 'manual',
  created_at timestamptz not null default now(),
  primary key (submission_id, user_id),
  constraint follows_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint reason_is_known check (reason in ('author', 'vote', 'comment', 'manual'))
);
comment on table public.follows is
  'Followers of submissions, with the reason. Readable by the follower only. Follows stay on the submission '
  'where they were made; followers of a merged source also follow its target.';
create index follows_user_idx on public.follows (user_id, created_at desc);

create table private.unfollows (
  organization_id uuid not null,
  submission_id uuid not null,
  user_id uuid not null references public.profiles (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (submission_id, user_id),
  constraint unfollows_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade
);
comment on table private.unfollows is
  'Submissions of which a person wants to hear nothing, not even as the author. Only that person can end it, '
  'by following; their votes and comments do not.';
create index unfollows_user_idx on private.unfollows (user_id);

-- Voting ----------------------------------------------------------------------------------------------------

-- Trigger on votes and follows: the submission must be visible to the caller and not merged, and a person
-- votes once. Invoker: rows the caller cannot see are not found.
create function private.prepare_vote() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  if tg_table_name = 'votes' and new.user_id = private.caller_id() then perform private.lock_caller(); end if;
  if private.is_internal_write() then return new; end if;
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  if tg_table_name = 'follows' then
    -- No lock: merges do not move follows, and a client that follows many submissions must not hold locks on
    -- all of them.
    perform private.require_open_submission(new.submission_id);
  else
    -- Charge before the lock, so that a client over its limit is rejected without locking.
    if private.is_direct() then perform private.charge_direct_vote(new.submission_id); end if;
    perform private.lock_open_submission(new.submission_id);
    perform private.require_one_vote(new.organization_id, new.user_id, new.submission_id, null);
  end if;
  return new;
end
$$;

-- Raises CONFLICT if the person of a profile voted for the submission, or the comment, as another profile.
-- The caller holds its lock. definer: voters are not granted.
create function private.require_one_vote(organization_id uuid, user_id uuid, submission_id uuid,
  comment_id uuid) returns void
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_variable
declare
  person uuid[] := private.same_person(user_id, organization_id);
  voters uuid[] := array(
    select v.user_id from public.votes v where v.submission_id = submission_id and v.user_id = any (person)
    union all
    select v.user_id from public.comment_votes v
    where v.comment_id = comment_id and v.user_id = any (person));
begin
  if cardinality(voters) > 0 and user_id <> all (voters) then
    perform private.raise_error('CONFLICT',
      'Someone with this email address has already voted, and each person counts once.',
      case when comment_id is null then 'submission_id' else 'comment_id' end);
  end if;
end
$$;

-- Raises SUBMISSION_MERGED if the submission was merged into another.
-- definer: the caller may not see the merge target.
create function private.require_open_submission(submission_id uuid) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare target_id uuid := (select s.merged_into_id from public.submissions s
  where s.id = require_open_submission.submission_id);
begin
  if target_id is not null then
    perform private.raise_error('SUBMISSION_MERGED',
      'This submission was merged into another one. Use that one (merged_into_id).', null,
      jsonb_build_object('merged_into_id', target_id));
  end if;
end
$$;

-- Locks the submission before dependent rows are added or deleted; false if it does not exist.
-- definer: locks a submission the caller may not update.
create function private.lock_submission(submission_id uuid) returns boolean
language plpgsql security definer set search_path = pg_temp cost 10000 as $$
begin
  perform 1 from public.submissions s where s.id = lock_submission.submission_id for no key update;
  return found;
end
$$;

-- Locks the submission before a dependent row is added; raises SUBMISSION_MERGED if it was merged.
create function private.lock_open_submission(submission_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.lock_submission(submission_id);
  perform private.require_open_submission(submission_id);
end
$$;

-- Charges a vote by a direct client, unless the vote exists already. definer: writes rate limit counters.
create function private.charge_direct_vote(submission_id uuid) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.my_vote(submission_id) is null then perform private.charge_direct('vote_create', 1); end if;
end
$$;

create trigger prepare before insert on public.votes
  for each row execute function private.prepare_vote();
create trigger prepare before insert on public.follows
  for each row execute function private.prepare_vote();

-- Trigger: what makes people follow by the way (a vote, a comment, an import, a key) does not undo their
-- unfollow; their own follow does, of the submission and those merged into it.
-- definer: unfollows are private.
create function private.keep_unfollow() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if not private.is_internal_write() then
    delete from private.unfollows u
    where u.user_id = new.user_id and u.submission_id = any (private.with_sources(new.submission_id));
  elsif exists (select from private.unfollows u
    where u.submission_id = new.submission_id and u.user_id = new.user_id) then
    return null;
  end if;
  return new;
end
$$;
create trigger keep_unfollow before insert on public.follows
  for each row execute function private.keep_unfollow();

-- Unfollows a submission that the caller can see, with those merged into it (private.with_sources); false if
-- the caller followed none of them. definer: unfollows are private.
create function private.unfollow(submission_ids uuid[]) returns boolean
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.unfollows (organization_id, submission_id, user_id)
  select s.organization_id, s.id, private.caller_id() from public.submissions s
  where s.id = any (submission_ids) order by s.id
  on conflict do nothing;
  delete from public.follows f where f.submission_id = any (submission_ids) and f.user_id = private.caller_id();
  return found;
end
$$;

-- Whether a person takes part themselves and therefore follows: everyone except e-mail authors for whom a key
-- or an operator enters something (private.follow_for). Called by definer triggers only.
create function private.is_own_act(profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return profile_id = private.caller_id()
    or exists (select from public.profiles p where p.id = is_own_act.profile_id and p.kind = 'user');
end
$$;

-- Trigger: updates vote_count, makes those who vote themselves follow, notifies the author and emits
-- submission.vote_added, which does not name the voter. Pending submissions emit nothing.
-- definer: writes counts, follows, notifications and events.
create function private.count_added_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_internal_write() then return null; end if;
  perform private.lock_submissions((select array_agg(submission_id) from added));
  update public.submissions s set vote_count = vote_count + d.votes
  from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select organization_id, submission_id, user_id, 'vote' from added where private.is_own_act(user_id)
  order by submission_id, user_id
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
  insert into public.notifications (organization_id, user_id, type, submission_id, event_id)
  select v.organization_id, s.author_id, 'vote', v.submission_id, v.id
  from added v join public.submissions s on s.id = v.submission_id
    join public.profiles p on p.id = s.author_id
  where s.author_id <> v.user_id and p.kind in ('user', 'email') and not private.is_silent(s.id, p.id);
  perform private.emit_event(v.organization_id, 'submission.vote_added', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from added v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$$;
create trigger count_added after insert on public.votes
  referencing new table as added for each statement execute function private.count_added_votes();

-- Trigger: updates vote_count and emits submission.vote_removed; votes deleted with their submission emit
-- nothing. definer: writes counts and events.
create function private.count_removed_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_internal_write() then return null; end if;
  if private.is_direct() then
    -- Skip votes that a cascade deleted with their submission: triggers of a cascade run at the same depth as
    -- those of the client's statement.
    perform private.charge_direct('vote_delete', (
      select count(*) from removed r
        where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(submission_id) from removed));
  update public.submissions s set vote_count = vote_count - d.votes
  from (select submission_id, count(*) as votes from removed group by 1) d where s.id = d.submission_id;
  perform private.emit_event(v.organization_id, 'submission.vote_removed', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from removed v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$$;
create trigger count_removed after delete on public.votes
  referencing old table as removed for each statement execute function private.count_removed_votes();

-- A submission and all submissions merged into it. A follower of any of them follows the submission.
-- definer: the caller may not see all sources.
create function private.with_sources(submission_id uuid) returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return submission_id || array(
    select s.id from public.submissions target
      join public.submissions s on (s.organization_id, s.merged_into_id) = (target.organization_id, target.id)
    where target.id = submission_id);
end
$$;

-- Makes a profile that a key may act as follow a submission, at the person's request. definer: keys may not
-- insert follows, since entering an address is not the owner's request for mail.
create function private.follow_for(submission_id uuid, profile_id uuid, reason text) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  if not private.may_act_as(profile_id) then return; end if;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select s.organization_id, s.id, follow_for.profile_id, follow_for.reason from public.submissions s
  where s.id = follow_for.submission_id and s.organization_id = private.key_organization_id()
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
end
$$;

-- Whether the profile follows the submission or one merged into it, and did not unfollow the submission.
create function private.is_follower(submission_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return not exists (select from private.unfollows u where u.submission_id = is_follower.submission_id
      and u.user_id = profile_id)
    and exists (select from public.follows f
      where f.submission_id = any (private.with_sources(is_follower.submission_id))
        and f.user_id = profile_id);
end
$$;

-- Whether the profile wants to hear nothing of the submission: they unfollowed it or one merged into it, and
-- do not follow it.
create function private.is_silent(submission_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.unfollows u join public.submissions s on s.id = u.submission_id
      where u.user_id = profile_id and is_silent.submission_id in (s.id, s.merged_into_id))
    and not private.is_follower(submission_id, profile_id);
end
$$;

-- Locks submissions in id order, so that concurrent statements cannot deadlock.
create function private.lock_submissions(ids uuid[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.submissions where id = any (ids) order by id for no key update;
  end if;
end
$$;

-- The caller's votes and follows ----------------------------------------------------------------------------

-- Time of the caller's vote for the submission; null if there is none.
-- definer: user_id is not granted. Returns data of the caller only.
create function private.my_vote(submission_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select v.created_at from public.votes v where v.submission_id = my_vote.submission_id
    and v.user_id = private.caller_id());
end
$$;

-- Time of the profile's vote; available to the profile itself and to a key that may act as it.
-- definer: user_id is not granted.
create function private.vote_of(submission_id uuid, profile_id uuid) returns timestamptz
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select v.created_at from public.votes v where v.submission_id = vote_of.submission_id
    and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$$;

-- Whether the caller follows the submission. definer: calls private.is_follower, which answers for anybody.
create function private.is_following(submission_id uuid) returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return private.is_follower(submission_id, private.caller_id());
end
$$;

-- All votes of the caller. definer: user_id is not granted.
create function private.my_votes() returns table (submission_id uuid, voted_at timestamptz)
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return query
    select v.submission_id, v.created_at from public.votes v where v.user_id = private.caller_id();
end
$$;

create function public.my_votes(submission_ids uuid[])
  returns table (submission_id uuid, voted_at timestamptz)
language sql stable set search_path = pg_temp
begin atomic
  select v.submission_id, v.voted_at
  from private.my_votes() v join public.submissions s on s.id = v.submission_id
  where s.id = any (submission_ids);
end;
comment on function public.my_votes(uuid[]) is
  'The signed-in user''s votes for the given submissions, and when they voted (voted_at). Never returns '
  'votes of other users.';

-- Deletes the vote of the caller, or of a profile the key may act as. No effect if there is none.
-- definer: voters are not granted.
create function private.remove_vote(submission_id uuid, profile_id uuid) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_submission(remove_vote.submission_id);
    delete from public.votes v where v.submission_id = remove_vote.submission_id and v.user_id = profile_id;
  end if;
end
$$;

-- The scope a key needs to read voters, or respondents that would reveal voters. Users must be Admin.
create function private.voters_scope() returns text
language sql immutable
return 'submissions:moderate';

-- Newest voters with e-mail addresses, for Admin; logs the access. Raises FORBIDDEN for other callers.
create function private.submission_voters(submission_id uuid, max_rows integer, skipped integer)
returns table (user_id uuid, name text, email text, voted_at timestamptz)
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform private.audit_read('submission.read_voters', 'submission', s.id,
    private.require_admin(s.organization_id, private.voters_scope()))
  from public.submissions s where s.id = submission_voters.submission_id;
  return query
    select p.id, coalesce(p.name, 'Anonymous'), p.email, v.created_at
    from (
      select v.user_id, v.created_at from public.votes v
        where v.submission_id = submission_voters.submission_id
      order by v.created_at desc, v.user_id limit max_rows offset skipped) v
        join public.profiles p on p.id = v.user_id;
end
$$;

-- Grants ----------------------------------------------------------------------------------------------------

-- created_at is not granted: a profile created with its first vote has the same time.
grant select (id, organization_id, submission_id) on public.votes to anon, authenticated, service_key;
grant insert (submission_id), delete on public.votes to authenticated;
grant insert (submission_id, user_id) on public.votes to service_key;
grant select (organization_id, submission_id, user_id, reason, created_at),
  delete on public.follows to authenticated;
grant insert (submission_id) on public.follows to authenticated;
grant select, insert, delete on public.votes, public.follows to service_role;
grant execute on function public.my_votes to authenticated;
grant execute on function private.my_vote, private.vote_of, private.is_following, private.my_votes,
  private.remove_vote, private.submission_voters to anon, authenticated, service_key;
grant execute on function private.with_sources, private.unfollow to authenticated;
grant execute on function private.follow_for to service_key;
grant execute on function private.require_open_submission, private.lock_open_submission,
  private.lock_submission, private.charge_direct_vote, private.require_one_vote to authenticated,
  service_role, service_key;

create policy "votes are seen with their submission" on public.votes
  for select to anon, authenticated, service_key using (
    exists (select from public.submissions s where s.id = submission_id));
create policy "users vote as themselves" on public.votes
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "keys vote for themselves and their e-mail authors" on public.votes
  for insert to service_key with check (
    organization_id = (select private.key_organization_id())
    and private.may_act_as(user_id));
create policy "users take back their own vote" on public.votes
  for delete to authenticated using (user_id = (select auth.uid())
    and private.lock_submission(submission_id));

create policy "people see what they follow" on public.follows
  for select to authenticated using (user_id = (select auth.uid()));
create policy "people follow for themselves" on public.follows
  for insert to authenticated with check (user_id = (select auth.uid()));
create policy "people stop following" on public.follows
  for delete to authenticated using (user_id = (select auth.uid()));
