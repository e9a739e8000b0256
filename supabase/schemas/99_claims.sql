-- A user claims the contributions of an e-mail author. The address is proven twice: by the signed link of a
-- mail to it, and by an account with it. Lock order: the organization, the author's profile
-- (private.author_of_key locks it too, so that no row is added concurrently), then as in 21_votes.sql.

-- Whether a user has confirmed the address.
create function private.has_address(profile_id uuid, address text) returns boolean
language sql stable
return coalesce((select lower(private.mail_address(p.id)) = lower(has_address.address)
  from public.profiles p where p.id = has_address.profile_id and p.kind = 'user'), false);

-- JSON of the contributions that the bearer of a signed link may claim: {organization, submissions, comments,
-- votes, is_signed_in, is_own_address: whether the caller's confirmed address is the author's}; null if the
-- e-mail author no longer exists.
create function private.open_claim(organization_id uuid, author_id uuid) returns json
language sql stable security definer set search_path = pg_temp -- definer: private tables
return (select json_build_object(
  'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
  'submissions', (select count(*) from public.submissions s where s.author_id = p.id),
  'comments', (select count(*) from public.comments c where c.author_id = p.id),
  'votes', (select count(*) from public.votes v where v.user_id = p.id),
  'is_signed_in', private.caller_id() is not null,
  'is_own_address', private.has_address(private.caller_id(), p.email))
  from public.profiles p join public.organizations o on o.id = p.organization_id
  where p.id = open_claim.author_id and p.kind = 'email' and o.id = open_claim.organization_id);

-- Moves votes of one profile to another, at most one for each submission. The caller holds the locks of
-- the submissions.
create function private.claim_votes(organization_id uuid, author_id uuid, claimer_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
#variable_conflict use_variable
declare doubles uuid[] := array(select v.submission_id from public.votes v
  join public.votes o on o.submission_id = v.submission_id and o.user_id = claimer_id
  where v.user_id = author_id and v.organization_id = claim_votes.organization_id);
begin
  -- A vote that a merge moved goes into the journal, so that an unmerge gives it back to its source.
  insert into private.merged_votes (source_id, user_id, organization_id, id, created_at)
  select v.merged_from, claimer_id, v.organization_id, v.id, v.created_at from public.votes v
  where v.submission_id = any (doubles) and v.user_id in (author_id, claimer_id) and v.merged_from is not null
    and (v.user_id = author_id or exists (select from public.votes o
      where o.submission_id = v.submission_id and o.user_id = author_id and o.merged_from is null))
  on conflict do nothing;
  update public.votes v set merged_from = null
  where v.submission_id = any (doubles) and v.user_id = claimer_id and v.merged_from is not null
    and exists (select from public.votes o
      where o.submission_id = v.submission_id and o.user_id = author_id and o.merged_from is null);
  delete from public.votes v where v.submission_id = any (doubles) and v.user_id = author_id;
  update public.votes v set user_id = claimer_id
  where v.user_id = author_id and v.organization_id = claim_votes.organization_id;
  delete from private.merged_votes j using private.merged_votes o
  where j.user_id = author_id and j.organization_id = claim_votes.organization_id
    and o.source_id = j.source_id and o.user_id = claimer_id;
  update private.merged_votes j set user_id = claimer_id
  where j.user_id = author_id and j.organization_id = claim_votes.organization_id;
  -- A source has the vote once: on its target, or in the journal.
  delete from private.merged_votes j using public.votes v
  where j.user_id = claimer_id and j.organization_id = claim_votes.organization_id
    and v.user_id = claimer_id and v.merged_from = j.source_id;
  perform private.recount(doubles);
end
$$;

-- Moves responses and starts of one profile to another; of two responses to a survey that allows one, the
-- first stays.
create function private.claim_responses(author_id uuid, claimer_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  -- Both profiles answered only if the user got the address later: the first answer counts.
  delete from public.survey_responses r using public.survey_responses o
  where r.is_only and o.is_only and o.survey_id = r.survey_id
    and r.user_id in (author_id, claimer_id) and o.user_id in (author_id, claimer_id)
    and (o.submitted_at, o.id) < (r.submitted_at, r.id);
  update public.survey_responses r set user_id = claimer_id where r.user_id = author_id;
  delete from private.survey_starts b where b.user_id = author_id and exists (
    select from private.survey_starts o where o.survey_id = b.survey_id and o.user_id = claimer_id
    union all select from public.survey_responses o where o.survey_id = b.survey_id and o.user_id = claimer_id
      and o.is_only);
  update private.survey_starts b set user_id = claimer_id where b.user_id = author_id;
end
$$;

-- Moves notifications, pending mail and mail preferences of an e-mail author to a user; the user's own
-- preferences take precedence.
create function private.claim_mail(organization_id uuid, author_id uuid, claimer_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
#variable_conflict use_variable
begin
  delete from public.notifications n using public.notifications o
  where n.user_id = author_id and o.user_id = claimer_id and o.event_id = n.event_id;
  update public.notifications n set user_id = claimer_id where n.user_id = author_id;
  delete from private.mails m where m.profile_id = author_id and exists (select from private.mails o
    where o.profile_id = claimer_id and o.event_ids[1] = m.event_ids[1]);
  update private.mails m set profile_id = claimer_id where m.profile_id = author_id;
  delete from private.mail_items m where m.profile_id = author_id and exists (select from private.mail_items o
    where o.profile_id = claimer_id and o.event_id = m.event_id);
  update private.mail_items m set profile_id = claimer_id where m.profile_id = author_id;
  insert into private.mail_choices (organization_id, profile_id, kind, choice)
  select c.organization_id, claimer_id, c.kind, c.choice from private.mail_choices c
  where c.profile_id = author_id
  on conflict do nothing;
  insert into private.mail_mutes (organization_id, submission_id, profile_id, created_at)
  select m.organization_id, m.submission_id, claimer_id, m.created_at from private.mail_mutes m
  where m.profile_id = author_id
  on conflict do nothing;
  delete from private.mail_choices c where c.profile_id = author_id;
  delete from private.mail_mutes m where m.profile_id = author_id;
  update private.mail_suppressions s set profile_id = claimer_id where s.profile_id = author_id;
end
$$;

-- Moves all rows of an e-mail author of an organization to the signed-in user with the same confirmed
-- address, and leaves a nameless profile; for the bearer of a signed link. Returns the organization.
-- Raises FORBIDDEN without that address, CONFLICT the second time.
create function private.claim_author(organization_id uuid, author_id uuid) returns json
-- definer: re-points rows of another profile
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_variable
declare
  claimer_id uuid := private.caller_id();
  author public.profiles;
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
  -- A stronger lock would block inserts of rows that reference the profile.
  select * into author from public.profiles p
  where p.id = author_id and p.organization_id = claim_author.organization_id for no key update;
  if author.id is null or author.kind <> 'email' then
    perform private.raise_error('CONFLICT', 'This was already claimed, or there is nothing left to claim.');
  end if;
  if claimer_id is null or not private.has_address(claimer_id, author.email) then
    perform private.raise_error('FORBIDDEN',
      'Sign in with an account that has confirmed the address this email was sent to.');
  end if;
  perform private.lock_personal_rows(author_id, organization_id);
  perform set_config('feedback.internal_write', 'on', true);
  update public.submissions s set author_id = claimer_id where s.author_id = claim_author.author_id;
  update private.submission_subtotals n set author_id = claimer_id
    where n.author_id = claim_author.author_id;
  update public.comments c set author_id = claimer_id where c.author_id = claim_author.author_id;
  perform private.claim_votes(organization_id, author_id, claimer_id);
  delete from public.comment_votes v using public.comment_votes o
  where v.user_id = author_id and o.user_id = claimer_id and o.comment_id = v.comment_id;
  update public.comment_votes v set user_id = claimer_id where v.user_id = author_id;
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  select f.organization_id, f.submission_id, claimer_id, f.reason, f.created_at from public.follows f
  where f.user_id = author_id
  on conflict do nothing;
  delete from public.follows f where f.user_id = author_id;
  -- What either of the two unfollowed stays unfollowed.
  insert into private.unfollows (organization_id, submission_id, user_id, created_at)
  select u.organization_id, u.submission_id, claimer_id, u.created_at from private.unfollows u
  where u.user_id = author_id
  on conflict do nothing;
  delete from private.unfollows u where u.user_id = author_id;
  delete from public.follows f using private.unfollows u
  where f.user_id = claimer_id and (u.submission_id, u.user_id) = (f.submission_id, f.user_id);
  update public.status_changes h set changed_by = claimer_id where h.changed_by = author_id;
  perform set_config('feedback.internal_write', 'off', true);
  perform private.claim_responses(author_id, claimer_id);
  -- The account inherits the team's trust decision about the author; distrust takes precedence.
  insert into private.author_trust as t (organization_id, user_id, is_trusted)
  select d.organization_id, claimer_id, d.is_trusted from private.author_trust d where d.user_id = author_id
  on conflict on constraint author_trust_pkey do update set is_trusted = t.is_trusted and excluded.is_trusted;
  delete from private.author_trust t where t.user_id = author_id;
  perform private.claim_mail(organization_id, author_id, claimer_id);
  -- A session of the organization's application belongs to the author, never to the account. An application
  -- that identifies the author again gets a new session.
  perform private.forget_identified(author_id);
  delete from private.external_ids e where e.profile_id = author_id;
  delete from private.idempotency_keys k where k.profile_id = author_id;
  update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null
  where p.id = author_id;
  perform private.audit('author.claim', 'profile', claimer_id, jsonb_build_object('author_id', author_id),
    organization_id);
  return (select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name) from public.organizations o
    where o.id = organization_id);
end
$$;

grant execute on function private.open_claim to anon, authenticated;
grant execute on function private.claim_author to authenticated;
