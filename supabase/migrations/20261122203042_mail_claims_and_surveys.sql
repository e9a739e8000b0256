-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

-- The table is the queue of mails of 30 days, which nothing but the mailer and triggers of notifications write.
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."one_mail_an_event_and_person";

ALTER TABLE "private"."mails" DROP CONSTRAINT "kind_is_known";

CREATE TABLE "private"."survey_requests" ("survey_id" uuid NOT NULL, "profile_id" uuid NOT NULL, "organization_id" uuid NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "reminded_at" timestamp with time zone, CONSTRAINT "survey_requests_pkey" PRIMARY KEY (survey_id, profile_id));

ALTER TABLE "private"."survey_requests" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."survey_requests" OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.are_mail_choices(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN ((jsonb_typeof(value) = 'object'::text) AND (NOT (EXISTS (SELECT FROM jsonb_each_text(are_mail_choices.value) c(kind, choice) WHERE (NOT COALESCE((((c.choice = 'never'::text) AND (c.kind = ANY (ARRAY['status'::text, 'official'::text, 'reply'::text, 'comment'::text, 'team'::text, 'survey'::text]))) OR ((c.choice = ANY (ARRAY['daily'::text, 'weekly'::text])) AND (c.kind = ANY (ARRAY['status'::text, 'official'::text, 'reply'::text, 'comment'::text, 'team'::text]))) OR ((c.choice = 'at_once'::text) AND (c.kind = ANY (ARRAY['status'::text, 'official'::text, 'reply'::text, 'comment'::text, 'survey'::text])))), false))))));

CREATE OR REPLACE FUNCTION private.author_of_key(email text, name text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare author_id uuid; known_name text;
begin
  if author_of_key.email is null then return private.caller_id(); end if;
  if not private.has_scope('submissions:write') then
    perform private.raise_error('FORBIDDEN', 'This key lacks the scope submissions:write.');
  end if;
  select p.id, p.name into author_id, known_name from public.profiles p
  where p.kind = 'email' and p.organization_id = private.key_organization_id()
    and lower(p.email) = lower(author_of_key.email);
  -- Locked: a claim of the author (99_claims.sql) waits until this transaction ends, or this for the
  -- claim, after which the author is another.
  if author_id is not null and author_of_key.name is not null
    and known_name is distinct from author_of_key.name then
    update public.profiles p set name = author_of_key.name where p.id = author_id and p.kind = 'email'
    returning p.id into author_id;
  elsif author_id is not null then
    select p.id into author_id from public.profiles p where p.id = author_id and p.kind = 'email' for share;
  end if;
  if author_id is null then
    insert into public.profiles as p (kind, organization_id, email, name)
    values ('email', private.key_organization_id(), lower(author_of_key.email), author_of_key.name)
    on conflict (organization_id, lower(email)) where kind = 'email'
      do update set name = coalesce(p.name, excluded.name)
    returning id into author_id;
  end if;
  return author_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.change_mail_preferences(organization_id uuid, profile_id uuid, changes jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare own_address text := private.mail_address(change_mail_preferences.profile_id);
begin
  if private.mail_preferences(organization_id, profile_id) is null then return null; end if;
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, c.kind, c.choice
  from jsonb_each_text(coalesce(changes -> 'choices', '{}')) c (kind, choice)
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  if (changes ->> 'stopped')::boolean then
    perform private.suppress_address(organization_id, profile_id, own_address, 'refused');
  elsif not (changes ->> 'stopped')::boolean then
    delete from private.mail_suppressions s
    where s.organization_id = change_mail_preferences.organization_id and s.reason = 'refused'
      and s.address_hash = private.address_hash(own_address);
  end if;
  if changes ? 'mute' then
    insert into private.mail_mutes (organization_id, submission_id, profile_id)
    select s.organization_id, s.id, change_mail_preferences.profile_id from public.submissions s
    where s.organization_id = change_mail_preferences.organization_id
      and s.id = (changes ->> 'mute')::uuid
    on conflict do nothing;
  end if;
  -- From a link of a digest: all that comes in digests.
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind, 'never'
  from unnest(array['status', 'official', 'reply', 'comment', 'team', 'survey']) k (kind)
  where case when changes ->> 'stop' = 'digest' then k.kind <> 'team' and private.mail_choice(
      change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind)
      in ('daily', 'weekly')
    else k.kind = changes ->> 'stop' end
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  delete from private.mail_mutes m where m.organization_id = change_mail_preferences.organization_id
    and m.profile_id = change_mail_preferences.profile_id
    and m.submission_id = (changes ->> 'unmute')::uuid;
  return private.mail_preferences(organization_id, profile_id);
exception when check_violation then
  perform private.raise_error('VALIDATION_ERROR', 'must be a choice that this kind of mail has', 'choices');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_author(organization_id uuid, author_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: re-points rows of another profile
#variable_conflict use_variable
declare
  claimer_id uuid := auth.uid();
  author public.profiles;
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
  -- Not more: whoever inserts rows that refer to the profile must not wait for this.
  select * into author from public.profiles p
  where p.id = author_id and p.organization_id = claim_author.organization_id for no key update;
  if author.id is null or author.kind <> 'email' then
    perform private.raise_error('CONFLICT', 'This was claimed already, or there is nothing left to claim.');
  end if;
  if claimer_id is null or not private.has_address(claimer_id, author.email) then
    perform private.raise_error('FORBIDDEN',
      'Sign in with an account that has confirmed the address that the mail came to.');
  end if;
  perform private.lock_personal_rows(author_id, organization_id);
  perform set_config('feedback.suppress_events', 'on', true);
  update public.submissions s set author_id = claimer_id where s.author_id = claim_author.author_id;
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
  update public.status_changes h set changed_by = claimer_id where h.changed_by = author_id;
  perform set_config('feedback.suppress_events', 'off', true);
  update public.survey_responses r set user_id = claimer_id
  where r.user_id = author_id and not exists (select from public.survey_responses o
    where o.survey_id = r.survey_id and o.user_id = claimer_id);
  -- What the team decided about the author holds for the account; distrust outweighs trust.
  insert into private.author_trust as t (organization_id, user_id, is_trusted)
  select d.organization_id, claimer_id, d.is_trusted from private.author_trust d where d.user_id = author_id
  on conflict on constraint author_trust_pkey do update set is_trusted = t.is_trusted and excluded.is_trusted;
  delete from private.author_trust t where t.user_id = author_id;
  perform private.claim_mail(organization_id, author_id, claimer_id);
  -- A host's application that vouches for the author gets a new one.
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
$function$;

ALTER FUNCTION "private"."claim_author"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.claim_mail(organization_id uuid, author_id uuid, claimer_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
$function$;

ALTER FUNCTION "private"."claim_mail"(uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.claim_votes(organization_id uuid, author_id uuid, claimer_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
  -- A source has the vote once: at its target, or in the journal.
  delete from private.merged_votes j using public.votes v
  where j.user_id = claimer_id and j.organization_id = claim_votes.organization_id
    and v.user_id = claimer_id and v.merged_from = j.source_id;
  perform private.recount(doubles);
end
$function$;

ALTER FUNCTION "private"."claim_votes"(uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.delete_personal_rows(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from public.notifications n
    where n.user_id = profile_id and
    (delete_personal_rows.organization_id
    is null or n.organization_id = delete_personal_rows.organization_id);
  delete from private.mails m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.mail_items m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.mail_choices m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.mail_mutes m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.survey_requests q where q.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or q.organization_id = delete_personal_rows.organization_id);
  -- That an address gets no mail holds after the erasure too; the keyed hash does not say whose it is.
  update private.mail_suppressions s set profile_id = null
  where s.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or s.organization_id = delete_personal_rows.organization_id);
  delete from public.follows f where f.user_id = profile_id
    and (delete_personal_rows.organization_id
    is null or f.organization_id = delete_personal_rows.organization_id);
  -- Answers hold what was written.
  delete from private.idempotency_keys k where k.profile_id = delete_personal_rows.profile_id;
  -- Keep a mark as spam while the account exists: users must not remove it themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and
    (delete_personal_rows.organization_id is null or t.organization_id = delete_personal_rows.organization_id
    and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and (i.accepted_by = p.id or i.email = lower(p.email))
    and (delete_personal_rows.organization_id
      is null or i.organization_id = delete_personal_rows.organization_id);
  update private.outbox o set data =
    jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (delete_personal_rows.organization_id
        is null or c.organization_id = delete_personal_rows.organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.has_address(profile_id uuid, address text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce((select lower(private.mail_address(p.id)) = lower(has_address.address)
    from public.profiles p where p.id = has_address.profile_id and p.kind = 'user'), false);
end
$function$;

ALTER FUNCTION "private"."has_address"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_content(mail private.mails)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if mail.kind = 'team' then
    return (select jsonb_agg(jsonb_build_object('kind', 'team', 'submission_id', s.id, 'title', s.title,
      'text', left(s.description, 300), 'by', coalesce(a.name, 'Anonymous')) order by s.created_at desc)
      from public.submissions s join public.profiles a on a.id = s.author_id
      where s.organization_id = mail.organization_id and s.id = any (mail.event_ids)
        and s.moderation_state in ('approved', 'pending') and s.merged_into_id is null
        and private.is_member(mail.organization_id, mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'team') <> 'never');
  end if;
  if mail.kind = 'survey' then
    return (select jsonb_build_array(jsonb_build_object('kind', 'survey', 'survey_id', s.id, 'title', s.title,
        'text', left(s.description, 2000), 'is_reminder', cardinality(mail.event_ids) > 1))
      from public.surveys s join public.organizations o on o.id = s.organization_id
      where s.organization_id = mail.organization_id and s.id = mail.event_ids[1]
        and s.status = 'published' and coalesce(s.closes_at > now(), true)
        and (o.visibility = 'public' or private.is_member(o.id, mail.profile_id))
        and not exists (select from public.survey_responses r
          where r.survey_id = s.id and r.user_id = mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'survey') <> 'never');
  end if;
  return (select jsonb_agg(e.told order by i.place)
    from unnest(mail.event_ids) with ordinality as i (event_id, place)
      cross join lateral (select private.mail_event(mail.profile_id, i.event_id) as told) e
    -- A digest leaves out what was read on the pages.
    where e.told is not null and not (mail.kind = 'digest' and (e.told ->> 'is_read')::boolean));
end
$function$;

CREATE OR REPLACE FUNCTION private.mail_preferences(organization_id uuid, profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare own_address text := private.mail_address(mail_preferences.profile_id);
begin
  return (select json_build_object(
    'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'mail_enabled', o.mail_enabled,
    'choices', (select json_object_agg(k.kind, private.mail_choice(o.id, mail_preferences.profile_id, k.kind)
        order by k.place)
      from unnest(array['status', 'official', 'reply', 'comment', 'survey', 'team'])
        with ordinality k (kind, place)
      where k.kind <> 'team' or private.is_member(o.id, mail_preferences.profile_id)),
    'muted', coalesce((select json_agg(json_build_object('id', s.id, 'title', s.title)
        order by m.created_at desc)
      from (select * from private.mail_mutes t where t.organization_id = o.id
        and t.profile_id = mail_preferences.profile_id order by t.created_at desc limit 100) m
        join public.submissions s on s.id = m.submission_id
      where s.is_public or s.author_id = mail_preferences.profile_id
        or private.is_member(o.id, mail_preferences.profile_id)), '[]'),
    'stopped', (select s.reason from private.mail_suppressions s
      where s.address_hash = private.address_hash(own_address)
        and (s.organization_id = o.id or s.reason <> 'refused')
      order by s.reason = 'refused' limit 1))
    from public.organizations o join public.profiles p on p.id = mail_preferences.profile_id
    where o.id = mail_preferences.organization_id
      and p.kind in ('user', 'email') and (p.organization_id is null or p.organization_id = o.id));
end
$function$;

CREATE OR REPLACE FUNCTION private.mail_survey(survey_id uuid, is_reminder boolean DEFAULT false)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  own_id uuid := private.require_survey(survey_id, 'surveys:publish');
  survey public.surveys;
  submission uuid;
  queued integer;
begin
  select * into survey from public.surveys s where s.id = survey_id for share;
  perform private.require_accepts_responses(survey);
  submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = survey.audience_submission_id);
  if survey.audience = 'everyone' or submission is null then
    perform private.raise_error('CONFLICT',
      'Only voters or followers of a submission are asked by mail: choose them in the survey''s targeting.',
      'targeting');
  end if;
  if not (select o.mail_enabled from public.organizations o where o.id = own_id) then
    perform private.raise_error('CONFLICT', 'The organization sends no mail: set mail_enabled first.',
      'mail_enabled');
  end if;
  if is_reminder then
    with reminded as (
      update private.survey_requests q set reminded_at = now()
      where q.organization_id = own_id and q.survey_id = survey_id and q.reminded_at is null
        and q.created_at < now() - interval '1 day' and not exists (select from public.survey_responses r
          where r.survey_id = survey_id and r.user_id = q.profile_id)
      returning q.profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, r.profile_id, 'survey', array[survey_id, survey_id] from reminded r returning 1
    )
    select count(*) into queued from made;
  else
    with asked as (
      insert into private.survey_requests (survey_id, profile_id, organization_id)
      select survey_id, p.id, own_id from public.profiles p
      where p.kind = 'user' and p.auth_user_id is not null and p.id in (
        select v.user_id from public.votes v where survey.audience = 'voters' and v.submission_id = submission
        union all select f.user_id from public.follows f
          where survey.audience = 'followers' and f.submission_id = any (private.with_sources(submission)))
      on conflict do nothing returning profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, a.profile_id, 'survey', array[survey_id] from asked a returning 1
    )
    select count(*) into queued from made;
  end if;
  if queued > 0 then
    perform private.audit('survey.mail', 'survey', survey_id,
      jsonb_build_object('is_reminder', is_reminder, 'people', queued), own_id);
    perform private.wake_mailer();
  end if;
  return (select json_build_object('survey_id', survey_id, 'queued', queued, 'asked', count(*),
    'reminded', count(q.reminded_at)) from private.survey_requests q
    where q.organization_id = own_id and q.survey_id = survey_id);
end
$function$;

ALTER FUNCTION "private"."mail_survey"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_claim(organization_id uuid, author_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: private tables
begin
  return (select json_build_object(
    'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'submissions', (select count(*) from public.submissions s where s.author_id = p.id),
    'comments', (select count(*) from public.comments c where c.author_id = p.id),
    'votes', (select count(*) from public.votes v where v.user_id = p.id),
    'is_signed_in', auth.uid() is not null,
    'is_own_address', private.has_address(auth.uid(), p.email))
    from public.profiles p join public.organizations o on o.id = p.organization_id
    where p.id = open_claim.author_id and p.kind = 'email' and o.id = open_claim.organization_id);
end
$function$;

ALTER FUNCTION "private"."open_claim"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.personal_data(profile_id uuid, organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
  select json_build_object(
    'profile', json_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'email', p.email, 'avatar_url',
      p.avatar_url,
      'locale', p.locale, 'created_at', p.created_at),
    'memberships', coalesce((select
      json_agg(json_build_object('organization_id', m.organization_id, 'role', m.role, 'created_at',
      m.created_at))
      from public.memberships m where m.user_id = p.id
        and (personal_data.organization_id is null or m.organization_id = personal_data.organization_id)),
        '[]'),
    'identified_as', (select json_build_object('organization_id', i.organization_id, 'sub', i.subject,
      'created_at', i.created_at, 'last_identified_at', i.last_identified_at)
      from private.identified_people i where i.profile_id = p.id),
    'trust', coalesce((select json_agg(json_build_object('organization_id', t.organization_id, 'is_trusted',
      t.is_trusted, 'created_at', t.created_at))
      from private.author_trust t where t.user_id = p.id
        and (personal_data.organization_id is null or t.organization_id = personal_data.organization_id)),
        '[]'),
    'submissions', coalesce((select json_agg(s order by s.created_at desc) from (
      select s.id, s.organization_id, s.title, s.description, s.type, s.status, s.source, s.created_at,
        s.updated_at from public.submissions s
      where s.author_id = p.id and (personal_data.organization_id
        is null or s.organization_id = personal_data.organization_id)
      order by s.created_at desc limit 10000) s), '[]'),
    'comments', coalesce((select json_agg(c order by c.created_at desc) from (
      select c.id, c.organization_id, c.submission_id, c.parent_id, c.body, c.created_at, c.updated_at
        from public.comments c
      where c.author_id = p.id and (personal_data.organization_id
        is null or c.organization_id = personal_data.organization_id)
      order by c.created_at desc limit 10000) c), '[]'),
    'votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.submission_id, v.created_at from public.votes v
      where v.user_id = p.id and (personal_data.organization_id
        is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'comment_votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.comment_id, v.created_at from public.comment_votes v
      where v.user_id = p.id and (personal_data.organization_id
        is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'follows', coalesce((select json_agg(f order by f.created_at desc) from (
      select f.organization_id, f.submission_id, f.reason, f.created_at from public.follows f
      where f.user_id = p.id and (personal_data.organization_id
        is null or f.organization_id = personal_data.organization_id)
      order by f.created_at desc limit 10000) f), '[]'),
    'mail_choices', coalesce((select json_agg(json_build_object('organization_id', c.organization_id,
      'kind', c.kind, 'choice', c.choice))
      from private.mail_choices c where c.profile_id = p.id
        and (personal_data.organization_id is null or c.organization_id = personal_data.organization_id)),
        '[]'),
    'mail_mutes', coalesce((select json_agg(m order by m.created_at desc) from (
      select m.organization_id, m.submission_id, m.created_at from private.mail_mutes m
      where m.profile_id = p.id and (personal_data.organization_id
        is null or m.organization_id = personal_data.organization_id)
      order by m.created_at desc limit 10000) m), '[]'),
    'survey_requests', coalesce((select json_agg(q order by q.created_at desc) from (
      select q.organization_id, q.survey_id, q.created_at, q.reminded_at from private.survey_requests q
      where q.profile_id = p.id and (personal_data.organization_id
        is null or q.organization_id = personal_data.organization_id)
      order by q.created_at desc limit 10000) q), '[]'),
    'notifications', coalesce((select json_agg(n order by n.created_at desc) from (
      select n.organization_id, n.type, n.submission_id, n.comment_id, n.read_at, n.created_at
        from public.notifications n
      where n.user_id = p.id and (personal_data.organization_id
        is null or n.organization_id = personal_data.organization_id)
      order by n.created_at desc limit 10000) n), '[]'),
    'survey_responses', coalesce((select json_agg(r order by r.submitted_at desc) from (
      select r.id, r.organization_id, r.survey_id, s.title as survey_title, coalesce((
          select json_agg(json_build_object('question_id', q.id, 'question', q.text, 'value',
            a.answer -> 'value') order by q.position)
          from jsonb_array_elements(r.answers) as a (answer)
            join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid), '[]') as answers,
        r.locale, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score
      from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = p.id and (personal_data.organization_id
        is null or r.organization_id = personal_data.organization_id)
      order by r.submitted_at desc limit 10000) r), '[]'),
    'survey_starts', coalesce((select json_agg(b order by b.started_at desc) from (
      select b.organization_id, b.survey_id, b.started_at from private.survey_starts b
      where b.user_id = p.id and (personal_data.organization_id
        is null or b.organization_id = personal_data.organization_id)
      order by b.started_at desc limit 10000) b), '[]'))
  from public.profiles p where p.id = profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.organization_shape(organization public.organizations)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return json_build_object('id', organization.id, 'slug', organization.slug, 'name', organization.name,
    'visibility', organization.visibility,
    'require_approval', organization.require_approval, 'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may, 'time_zone', organization.time_zone,
    'default_locale', organization.default_locale, 'settings',
      organization.settings,
    'brand_color', organization.brand_color, 'logo_url', organization.logo_url, 'allow_indexing',
      organization.allow_indexing,
    'mail_enabled', organization.mail_enabled, 'mail_defaults', (
      select json_object_agg(k.kind, private.mail_choice(organization.id, null, k.kind) order by k.place)
      from unnest(array['status', 'official', 'reply', 'comment', 'survey', 'team'])
        with ordinality k (kind, place)),
    'role', (select m.role from public.memberships m
      where m.organization_id = organization.id and m.user_id = private.caller_id()),
    'plan', json_build_object(
      'submissions', (select coalesce(sum(c.total), 0) from private.submission_counts c
        where c.organization_id = organization.id)
        + (select count(*) from public.submissions s
          where s.organization_id = organization.id and s.merged_into_id is not null),
      'max_submissions', organization.max_submissions,
      'members', (select count(*) from public.memberships m where m.organization_id = organization.id),
      'max_members', organization.max_members,
      'surveys', (select count(distinct s.family_id) from public.surveys s
        where s.organization_id = organization.id and s.status <> 'archived'),
      'max_surveys', organization.max_surveys),
    'created_at', organization.created_at, 'updated_at', organization.updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.record_mail_report(address text, reason text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: private tables
declare person record; stopped integer := 0;
begin
  for person in
    select p.id, coalesce(p.organization_id, m.organization_id) as organization_id
    from public.profiles p
      left join lateral (select distinct o.organization_id from private.mails o where o.profile_id = p.id) m
        on p.organization_id is null
    where p.kind in ('user', 'email') and lower(p.email) = lower(record_mail_report.address)
  loop
    continue when person.organization_id is null;
    perform private.suppress_address(person.organization_id, person.id, record_mail_report.address, reason);
    stopped := stopped + 1;
  end loop;
  return stopped;
end
$function$;

ALTER FUNCTION "private"."record_mail_report"(text, text) OWNER TO "postgres";

-- It allows more than the one before.
-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "private"."mails" ADD CONSTRAINT "kind_is_known" CHECK ((kind = ANY (ARRAY['status'::text, 'official'::text, 'reply'::text, 'comment'::text, 'digest'::text, 'team'::text, 'survey'::text])));

ALTER TABLE "private"."survey_requests" ADD CONSTRAINT "survey_requests_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."survey_requests" ADD CONSTRAINT "survey_requests_survey_is_of_the_same_organization" FOREIGN KEY (organization_id, survey_id) REFERENCES public.surveys(organization_id, id) ON DELETE CASCADE;

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX one_mail_an_event_and_person ON private.mails USING btree (profile_id, (event_ids[1])) WHERE (kind <> ALL (ARRAY['digest'::text, 'team'::text, 'survey'::text]));

CREATE INDEX survey_requests_profile_idx ON private.survey_requests USING btree (profile_id);

CREATE INDEX survey_requests_survey_idx ON private.survey_requests USING btree (organization_id, survey_id);

COMMENT ON FUNCTION "private"."are_mail_choices"(jsonb) IS 'A JSON object that maps kinds of mail to at_once, daily, weekly or never; team to no at_once, survey to at_once or never.';

COMMENT ON FUNCTION "private"."claim_author"(uuid, uuid) IS 'Gives all that an e-mail author of an organization has to the signed-in user with the same confirmed address, and leaves a nameless profile; for the bearer of a signed link. Returns the organization. FORBIDDEN without that address, CONFLICT the second time.';

COMMENT ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) IS 'Gives notifications, mail to be, and choices of an e-mail author to a user, whose own choices count.';

COMMENT ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) IS 'Gives votes of one profile to another, once for each submission. The caller holds the locks of the submissions.';

COMMENT ON FUNCTION "private"."has_address"(uuid, text) IS 'Whether a user has confirmed the address.';

COMMENT ON FUNCTION "private"."mail_survey"(uuid, boolean) IS 'Queues a mail to each user of the survey''s audience who was not asked yet, or to each who was asked more than a day ago, did not answer and was not reminded; for Admin or keys with surveys:publish. JSON {survey_id, queued, asked, reminded}. SURVEY_NOT_OPEN, or CONFLICT if its audience is everyone or the organization sends no mail.';

COMMENT ON FUNCTION "private"."open_claim"(uuid, uuid) IS 'JSON of what an e-mail author may claim, for the bearer of a signed link: {organization, submissions, comments, votes, is_signed_in, is_own_address: whether the caller''s confirmed address is the author''s}; null if there is no such author any more.';

COMMENT ON FUNCTION "private"."record_mail_report"(text, text) IS 'Stops mail to an address about which the provider reports: bounced or complained. Returns for how many people; none for an address that got no mail.';

COMMENT ON TABLE "private"."mails" IS 'Mails to be: pending, sending (claimed until next_attempt_at, when the lease ends), sent, failed, or dropped because its recipient may not see it or does not want it any more. event_ids are those of the notifications, for kind team the submissions, for survey the survey, twice for a reminder. The id is in the Message-ID. Finished mails are kept for private.retention(mails).';

COMMENT ON TABLE "private"."survey_requests" IS 'Whom a team asked by mail to answer a survey, and reminded: each once.';

REVOKE ALL ON FUNCTION "private"."claim_author"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim_author"(uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."claim_author"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_author"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."has_address"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."has_address"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."has_address"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_survey"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mail_survey"(uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."mail_survey"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_survey"(uuid, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_survey"(uuid, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."open_claim"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_claim"(uuid, uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."open_claim"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_claim"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_mail_report"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_mail_report"(text, text) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."record_mail_report"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_mail_report"(text, text) TO "postgres";
