-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

DROP TRIGGER "announce" ON "public"."organizations";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."mails_due_idx";

ALTER TABLE "public"."organizations" DROP CONSTRAINT "plan_limits_are_not_negative";

CREATE TABLE "private"."account_undos" ("link_hash" bytea NOT NULL, "user_id" uuid NOT NULL, "email" text NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "undone_at" timestamp with time zone, CONSTRAINT "account_undos_pkey" PRIMARY KEY (link_hash));

ALTER TABLE "private"."account_undos" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."account_undos" OWNER TO "postgres";

CREATE TABLE "private"."mail_budgets" ("organization_id" uuid NOT NULL, "day" date NOT NULL, "used" integer NOT NULL, CONSTRAINT "mail_budgets_pkey" PRIMARY KEY (organization_id));

ALTER TABLE "private"."mail_budgets" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mail_budgets" OWNER TO "postgres";

CREATE TABLE "private"."stopped_account_mail" ("address_hash" text NOT NULL, "stopped_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "stopped_account_mail_pkey" PRIMARY KEY (address_hash));

ALTER TABLE "private"."stopped_account_mail" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."stopped_account_mail" OWNER TO "postgres";

ALTER TABLE "private"."mails" ADD COLUMN "is_confirmed" boolean NOT NULL DEFAULT false;

ALTER TABLE "public"."organizations" ADD COLUMN "max_unconfirmed_mails" integer DEFAULT 200;

CREATE OR REPLACE FUNCTION private.account_mail_is_stopped(mailbox_hash text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from private.stopped_account_mail s where s.address_hash = mailbox_hash);
end
$function$;

ALTER FUNCTION "private"."account_mail_is_stopped"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.accounts_at(address text)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array_remove(array['author ' || lower(address), 'user ' || private.address_hash(address)], null);
end
$function$;

ALTER FUNCTION "private"."accounts_at"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.address_can_be_restored(account_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from private.account_undos o join auth.users u on u.id = o.user_id
    where o.user_id = account_id and o.email <> u.email and o.undone_at is null
      and o.created_at > now() - private.retention('account_undos'));
end
$function$;

ALTER FUNCTION "private"."address_can_be_restored"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.address_of_undo(link_hash bytea)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select o.email from private.account_undos o where o.link_hash = address_of_undo.link_hash
    and o.undone_at is null and o.created_at > now() - private.retention('account_undos'));
end
$function$;

ALTER FUNCTION "private"."address_of_undo"(bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_find_people(email text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  perform private.audit_read('person.search', 'organization', own_id, own_id);
  return coalesce((select json_agg(json_build_object('id', p.id, 'kind', p.kind, 'name',
    coalesce(p.name, 'Anonymous'), 'created_at', p.created_at) order by p.kind, p.id)
    from (
      select * from public.profiles p where p.kind = 'email' and p.organization_id = own_id
        and lower(p.email) = lower(admin_find_people.email)
      union all
      select * from public.profiles p
        where p.kind = 'user' and lower(p.email) = lower(admin_find_people.email)
        and private.is_person_of_organization(p.id, own_id)
      limit 20) p), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_merge(source_ids uuid[], target_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  categories uuid[] := private.agent_category_ids();
  event uuid := gen_random_uuid();
  grandchildren uuid[];
  submission public.submissions;
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
        'It was merged before: unmerge it first, or use its merge target.',
        case when submission.id = target_id then 'target_id'
          else 'source_ids' end, jsonb_build_object('merged_into_id', submission.merged_into_id));
    elsif submission.moderation_state <> 'approved' then
      perform private.raise_error('CONFLICT', 'Only approved submissions can be merged: approve it first.',
        case when submission.id = target_id then 'target_id' else 'source_ids' end);
    end if;
  end loop;
  if not found_ids @> (source_ids || target_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', case
      when target_id = any (found_ids) then 'source_ids' else 'target_id' end);
  end if;

  perform set_config('feedback.suppress_events', 'on', true);
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
  perform set_config('feedback.suppress_events', 'off', true);

  perform private.lock_counts(own_id);
  update public.submissions set status = 'duplicate', merged_into_id = admin_merge.target_id
    where id = any (source_ids || grandchildren);
  perform private.recount(source_ids || target_id);
  perform private.announce_merge(source_ids || target_id);
  perform private.notify_merge(own_id, target_id, event);
  perform private.audit('submission.merge', 'submission', target_id,
    jsonb_build_object('source_ids', source_ids), own_id);
  return (select json_build_object('target_id', s.id, 'source_ids', source_ids, 'vote_count', s.vote_count,
    'comment_count', s.comment_count)
    from public.submissions s where s.id = target_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_merge_preview(source_ids uuid[], target_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
      where f.submission_id = any (found_ids)),
    'earlier_count', (select count(*) from public.submissions s
      where s.organization_id = own_id and s.merged_into_id = any (found_ids)),
    'tags', (select coalesce(json_agg(distinct t.slug), '[]')
      from public.submission_tags st join public.tags t on t.id = st.tag_id
      where st.submission_id = any (found_ids) and not exists (
        select from public.submission_tags own where own.submission_id = admin_merge_preview.target_id
          and own.tag_id = st.tag_id)));
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_person(profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.audit_read('person.read', 'profile', profile_id, own_id);
  return (select private.person_shape(p, own_id) || jsonb_build_object(
    'newest_submissions', coalesce((select jsonb_agg(to_jsonb(s) order by s.at desc, s.id) from (
      select s.id, s.title, s.status, s.moderation_state, s.created_at as at from public.submissions s
      where s.author_id = p.id and s.organization_id = own_id order by s.created_at desc, s.id limit 20) s),
      '[]'),
    'newest_comments', coalesce((select jsonb_agg(to_jsonb(c) order by c.at desc, c.comment_id) from (
      select c.id as comment_id, s.id, s.title, c.body, c.moderation_state, c.created_at as at
      from public.comments c join public.submissions s on s.id = c.submission_id
      where c.author_id = p.id and c.organization_id = own_id order by c.created_at desc, c.id limit 20) c),
      '[]'),
    'newest_votes', coalesce((select jsonb_agg(to_jsonb(v) order by v.at desc, v.id) from (
      select s.id, s.title, s.status, v.created_at as at
      from public.votes v join public.submissions s on s.id = v.submission_id
      where v.user_id = p.id and v.organization_id = own_id order by v.created_at desc, s.id limit 20) v),
      '[]'))
    from public.profiles p where p.id = profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_search_people(search text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  wanted text := lower(btrim(coalesce(search, '')));
  -- A shorter text has no three letters for the index: names start with it.
  part text := case when char_length(wanted) > 2 then '%' else '' end
    || replace(replace(replace(wanted, '\', '\\'), '%', '\%'), '_', '\_') || '%';
  named uuid[];
begin
  perform private.audit_read('person.search', 'organization', own_id, own_id);
  if wanted = '' then
    return (
      with active as (
        select a.id, max(a.at) as at from (
          (select s.author_id, s.created_at from public.submissions s where s.organization_id = own_id
            order by s.created_at desc limit 500)
          union all
          (select v.user_id, v.created_at from public.votes v where v.organization_id = own_id
            order by v.created_at desc limit 500)) a (id, at)
        group by a.id
      )
      select coalesce(json_agg(f.person order by f.at desc, f.id), '[]') from (
        select private.person_shape(p, own_id) as person, a.at, p.id
        from active a join public.profiles p on p.id = a.id
        where p.kind = 'user' or p.kind in ('email', 'anonymous') and p.organization_id = own_id
        order by a.at desc, p.id limit 50) f);
  end if;
  if position('@' in wanted) > 0 then
    return (select coalesce(json_agg(private.person_shape(f, own_id) order by f.kind, f.id), '[]') from (
      select * from public.profiles p
        where p.kind = 'email' and p.organization_id = own_id and lower(p.email) = wanted
      union all
      select * from public.profiles p
        where p.kind = 'user' and lower(p.email) = wanted and private.is_person_of_organization(p.id, own_id)
      limit 50) f);
  end if;
  named := array(select p.id from public.profiles p
    where lower(p.name) like part and p.kind in ('user', 'email', 'anonymous')
      and (p.organization_id is null or p.organization_id = own_id) limit 1001);
  -- Users belong to no organization. Where many have the name, they are looked for among the people of this
  -- one, so that a search costs as much as the organization is large, and not the installation.
  if cardinality(named) > 1000 then
    named := array(
      select p.id from (
        select m.user_id from public.memberships m where m.organization_id = own_id
        union select s.author_id from public.submissions s where s.organization_id = own_id
        union select c.author_id from public.comments c where c.organization_id = own_id
        union select v.user_id from public.votes v where v.organization_id = own_id
        union select v.user_id from public.comment_votes v where v.organization_id = own_id
        union select f.user_id from public.follows f where f.organization_id = own_id
        union select r.user_id from public.survey_responses r where r.organization_id = own_id
        union select b.user_id from private.survey_starts b where b.organization_id = own_id
        union select o.id from public.profiles o where o.organization_id = own_id) own (id)
      join public.profiles p on p.id = own.id
      where lower(p.name) like part and p.kind in ('user', 'email', 'anonymous') limit 50);
  end if;
  return (select coalesce(json_agg(private.person_shape(f, own_id) order by lower(f.name), f.id), '[]')
    from (
      select * from public.profiles p
      where p.id = any (named) and private.is_person_of_organization(p.id, own_id)
      limit 50) f);
end
$function$;

CREATE OR REPLACE FUNCTION private.admit_account_mail(address text, client text, account_id uuid)
 RETURNS TABLE(is_admitted boolean, stop_hash text, percent_used integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  is_known boolean := exists (select from auth.users u where u.email = lower(address)
    and u.email_confirmed_at is not null);
  hash text;
  account text;
  of_client boolean;
  of_all private.rate_state;
begin
  -- A call that auth admitted before an undo sends no code to the address that it undid.
  if not private.is_email(address) or private.was_just_restored(account_id) and exists (
    select from auth.users u where u.id = account_id and u.email <> lower(address)) then
    return query select false, null::text, null::integer;
    return;
  end if;
  perform private.make_erasure_key();
  -- Each mail counts, whoever gets it: what remains tells nothing about an address.
  of_client := (private.charge_rule('account_mail_hour', client)).allowed;
  of_client := (private.charge_rule('account_mail_day', client)).allowed and of_client;
  if of_client then of_all := private.charge_rule('account_mail_everyone', 'everyone'); end if;
  percent_used := case when not of_all.allowed then null when of_all.remaining = 0 then 100
    when of_all.max_requests - of_all.remaining = ceil(of_all.max_requests * 0.8) then 80 end;
  if is_known then
    -- By client too, so that one keeps nobody from signing in elsewhere; and by itself, so that mail to other
    -- addresses of the mailbox does not.
    account := 'account ' || private.address_hash(address);
    is_admitted := (private.charge_rule('account_mail_mailbox',
      account || coalesce(' ' || client, ''))).allowed
      and (private.charge_rule('account_mail_account', account)).allowed;
  else
    hash := private.address_hash(private.mailbox(address));
    -- The mailbox last: a mail that is dropped anyway does not count for it.
    is_admitted := of_client and of_all.allowed
      and not exists (select from private.stopped_account_mail s where s.address_hash = hash)
      and (private.charge_rule('account_mail_mailbox', hash)).allowed;
    if is_admitted then stop_hash := hash; end if;
  end if;
  return next;
end
$function$;

ALTER FUNCTION "private"."admit_account_mail"(text, text, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_draft(organization_id uuid, survey_id uuid, changed text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare logged jsonb := jsonb_build_object('changed', changed);
begin
  -- Once for each request: its statements write settings, questions and options one after the other.
  if not exists (select from private.audit_log a
    where a.organization_id = audit_draft.organization_id and a.target_id = survey_id
      and a.created_at >= now() and a.actor_id = private.caller_id()
      and (a.action = 'survey.create' or a.action = 'survey.update' and a.details = logged)) then
    perform private.audit('survey.update', 'survey', survey_id, logged, audit_draft.organization_id);
  end if;
end
$function$;

ALTER FUNCTION "private"."audit_draft"(uuid, uuid, text[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_questions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare question jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform private.audit_draft((question ->> 'organization_id')::uuid, (question ->> 'survey_id')::uuid,
    array['questions']);
  return null;
end
$function$;

ALTER FUNCTION "private"."audit_questions"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_read(action text, target_type text, target_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if not exists (select from private.audit_log a
    where a.organization_id = audit_read.organization_id and a.target_id = audit_read.target_id
      and a.created_at > now() - interval '1 hour' and a.action = audit_read.action
      and a.actor_id = private.caller_id()) then
    perform private.audit(action, target_type, target_id, '{}', organization_id);
  end if;
end
$function$;

ALTER FUNCTION "private"."audit_read"(text, text, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_responses(survey_id uuid, action text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_survey(survey_id, 'responses:read');
begin
  if action = 'export' then
    perform private.audit('survey.export', 'survey', survey_id, '{}', own_id);
  else
    perform private.audit_read('survey.read_responses', 'survey', survey_id, own_id);
  end if;
end
$function$;

ALTER FUNCTION "private"."audit_responses"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_survey()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare changed text[];
begin
  if tg_op = 'INSERT' then
    perform private.audit('survey.create', 'survey', new.id, '{}', new.organization_id);
    return null;
  elsif tg_op = 'DELETE' then
    perform private.audit('survey.delete', 'survey', old.id, jsonb_build_object('status', old.status),
      old.organization_id);
    return null;
  end if;
  if new.status <> old.status then
    perform private.audit(case when new.status = 'paused' then 'survey.pause'
        when new.status = 'archived' then 'survey.archive'
        when old.status = 'draft' then 'survey.publish' else 'survey.resume' end,
      'survey', new.id, '{}', new.organization_id);
  end if;
  changed := (select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n
      join jsonb_each(to_jsonb(old)) o using (key)
    where n.value <> o.value and n.key <> 'status' and n.key = any (private.editable_columns(tg_relid)));
  if changed is not null then
    perform private.audit_draft(new.organization_id, new.id, changed);
  end if;
  return null;
end
$function$;

ALTER FUNCTION "private"."audit_survey"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.budget_day()
 RETURNS date
 LANGUAGE sql
 STABLE
RETURN ((now() AT TIME ZONE 'UTC'::text))::date;

ALTER FUNCTION "private"."budget_day"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.call_mailer()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if not exists (select from private.senders_of_due_mails()) then return false; end if;
  return private.call_function('/mail-dispatch');
end
$function$;

CREATE OR REPLACE FUNCTION private.change_my_mail_preferences(changes jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (changes ->> 'stopped')::boolean is false or changes ? 'unmute'
    or exists (select from private.mail_choices c
      where c.organization_id = private.current_organization_id() and c.profile_id = auth.uid()
        and c.choice = 'never' and changes -> 'choices' ->> c.kind <> 'never') then
    perform private.require_own_mailbox();
  end if;
  return private.change_mail_preferences(private.current_organization_id(), auth.uid(), changes);
end
$function$;

CREATE OR REPLACE FUNCTION private.charge_direct(operation text, calls bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare state private.rate_state;
begin
  if calls = 0 then return; end if;
  state := private.charge_rule(operation, coalesce(private.caller_id()::text, 'nobody'), calls::integer);
  if not state.allowed then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many requests: wait and try again.', null,
      jsonb_build_object(
      'retry_after', greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp()))::integer)));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.charge_rule(rule text, subject text, calls integer DEFAULT 1)
 RETURNS private.rate_state
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare known private.rate_limit_rules;
begin
  select * into known from private.rate_limit_rules r where r.name = charge_rule.rule;
  if known.name is null or subject is null then return (null, null, null, true)::private.rate_state;
  end if;
  return private.charge(known.name, known.max_requests, known.window_seconds, subject, calls);
end
$function$;

ALTER FUNCTION "private"."charge_rule"(text, text, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.check_response(response public.survey_responses)
 RETURNS public.survey_responses
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  survey public.surveys;
  -- Scores {engine, scores} that the edge functions computed, one for each sent answer. Clients of the data
  -- API cannot send them.
  judged jsonb := nullif(current_setting('feedback.sentiment', true), '')::jsonb;
  item record;
  checked private.checked_answer;
  kept jsonb[] := '{}';
  complaints jsonb[] := '{}';
  numbers numeric[] := '{}';
  texts numeric[] := '{}';
begin
  survey := private.require_open_survey(response.survey_id, response.user_id);
  if not private.targets_locale(survey, response.locale) then
    perform private.raise_error('FORBIDDEN',
      format('This survey can be answered in %s only.', array_to_string(survey.locales, ', ')));
  end if;
  if coalesce(jsonb_typeof(response.answers), '') <> 'array' or jsonb_array_length(response.answers) > 200
    then
    perform private.raise_error('VALIDATION_ERROR', 'must be an array of at most 200 answers', 'answers');
  end if;
  for item in
    select asked.question, a.n - 1 as index, a.answer -> 'value' as value,
      row_number() over (partition by asked.id order by a.n) as nth
    from jsonb_array_elements(response.answers) with ordinality as a (answer, n)
    full join (select q as question, q.id, q.position from public.survey_questions q
      where q.survey_id = survey.id) asked
      on asked.id::text = lower(a.answer ->> 'question_id')
    order by asked.position, a.n
  loop
    if item.index is not null and (item.question).id is null then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.question_id', item.index),
        'message', 'is not a question of this survey');
      continue;
    elsif item.nth > 1 then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.question_id', item.index),
        'message', 'is answered twice');
      continue;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      complaints := complaints || jsonb_build_object('field', format('answers.%s.value', item.index),
        'message', checked.complaint);
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
      if private.answer_kind((item.question).type) = 'number' then
        numbers := numbers || private.sentiment_of_number(item.question, checked.value::integer);
      elsif (item.question).type = 'text'
        and jsonb_typeof(judged -> 'scores' -> item.index::integer) = 'number' then
        texts := texts || greatest(-1, least(1, (judged -> 'scores' ->> item.index::integer)::numeric));
      end if;
    elsif (item.question).required then
      complaints := complaints || jsonb_build_object('field', format('questions.%s', (item.question).id),
        'message', format('needs an answer: %s', left((item.question).text, 100)));
    end if;
  end loop;
  if cardinality(complaints) = 0 and cardinality(kept) = 0 then
    complaints := array[jsonb_build_object('field', 'answers', 'message', 'must answer a question')];
  end if;
  if cardinality(complaints) > 0 then
    perform private.raise_error('VALIDATION_ERROR', 'Some answers are not valid.', null,
      jsonb_build_object('details', to_jsonb(complaints[1:50])));
  end if;
  response.organization_id := survey.organization_id;
  response.answers := to_jsonb(kept);
  response.is_only := not survey.allow_multiple_responses;
  if response.started_at is null then
    select least(s.started_at, response.submitted_at) into response.started_at from private.survey_starts s
    where s.survey_id = survey.id
      and s.user_id = any (private.same_person(response.user_id, survey.organization_id))
    order by s.started_at limit 1 for update;
  end if;
  if response.sentiment_score is null then
    response.sentiment_score := private.sentiment_of_response(private.mean(numbers), private.mean(texts));
    response.sentiment_engine := case when cardinality(texts) > 0 then judged ->> 'engine'
      when cardinality(numbers) > 0 then 'answers' end;
  end if;
  return response;
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
  perform private.claim_responses(author_id, claimer_id);
  -- The account inherits the team's trust decision about the author; distrust takes precedence.
  insert into private.author_trust as t (organization_id, user_id, is_trusted)
  select d.organization_id, claimer_id, d.is_trusted from private.author_trust d where d.user_id = author_id
  on conflict on constraint author_trust_pkey do update set is_trusted = t.is_trusted and excluded.is_trusted;
  delete from private.author_trust t where t.user_id = author_id;
  perform private.claim_mail(organization_id, author_id, claimer_id);
  -- A session of the organization's application is of the author, never of the account. An application that
  -- vouches for the author again gets a new one.
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

CREATE OR REPLACE FUNCTION private.claim_mails(max_rows integer)
 RETURNS TABLE(id uuid, attempt integer, kind text, created_at timestamp with time zone, address text, profile jsonb, organization jsonb, events jsonb)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  sender public.organizations;
  mail private.mails;
  recipient text;
  told jsonb;
  confirmed boolean;
  counted boolean;
  claimed integer := 0;
  removed boolean := false;
  lane boolean; -- private.mails.is_confirmed: confirmed recipients first
  due uuid[];
  share integer;
begin
  if max_rows <= 0 then return; end if;
  due := array(select private.senders_of_due_mails());
  -- Mails that are dropped or put off do not count against max_rows: a share for each bounds the scan.
  share := greatest(1000 / greatest(cardinality(due), 1), 1);
  -- Organizations in random order, so that the many mails of one do not delay those of others.
  for sender in select o.* from public.organizations o where o.id = any (due) order by random() loop
    foreach lane in array array[true, false] loop
      for mail in
        select m.* from private.mails m
        where m.organization_id = sender.id and m.is_confirmed = lane and m.status in ('pending', 'sending')
          and m.next_attempt_at <= now()
        order by m.next_attempt_at limit share for update skip locked
      loop
        if claimed >= max_rows then return; end if;
        recipient := private.address_of(mail);
        told := null;
        if recipient is not null and sender.mail_enabled
          and not private.is_suppressed(mail.organization_id, recipient)
          and not private.has_same_mail(mail) then
          told := private.mail_content(mail);
        end if;
        if told is null then
          update private.mails m set status = 'dropped', finished_at = now(), claimed_at = null
            where m.id = mail.id;
          removed := true;
          continue;
        end if;
        confirmed := private.is_confirmed_recipient(sender.id, mail.profile_id);
        if not confirmed and lane then
          update private.mails m set is_confirmed = false where m.id = mail.id;
          continue;
        end if;
        if not confirmed and mail.attempt_count = 0 then
          counted := private.take_unconfirmed_mail(sender);
          if not counted then
            perform private.put_off_mails(sender, share);
            removed := true;
          end if;
          exit when counted is not true;
        end if;
        claimed := claimed + 1;
        update private.mails m set status = 'sending', claimed_at = now(),
          next_attempt_at = now() + interval '2 minutes', attempt_count = m.attempt_count + 1,
          -- An expired claim says nothing about the server: the retry schedule does not count it.
          counted_from = m.counted_from + (m.status = 'sending')::integer
        where m.id = mail.id returning m.* into mail;
        return query
          select mail.id, mail.attempt_count, mail.kind, mail.created_at, recipient,
            (select jsonb_build_object('id', p.id, 'kind', p.kind, 'name', p.name,
                'is_confirmed', confirmed, 'locale', private.mail_locale(p.id, sender.id))
              from public.profiles p where p.id = mail.profile_id),
            jsonb_build_object('id', sender.id, 'slug', sender.slug, 'name', sender.name,
              'brand_color', sender.brand_color, 'logo_url', sender.logo_url,
              'default_locale', sender.default_locale,
              'is_default', sender.id = private.default_organization_id()), told;
      end loop;
    end loop;
  end loop;
  -- A dispatcher takes no claims for an empty queue, but there may be more than the shares.
  if removed and claimed = 0 then perform private.wake_mailer(); end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_responses(author_id uuid, claimer_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- Two profiles of a person both answered only if the address became the user's later: the first counts.
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
$function$;

ALTER FUNCTION "private"."claim_responses"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.clone_survey(survey_id uuid, new_id uuid DEFAULT gen_random_uuid())
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare source public.surveys;
begin
  perform private.lock_survey(survey_id);
  select * into source from public.surveys s where s.id = clone_survey.survey_id;
  perform private.require_admin(source.organization_id, 'surveys:publish');
  if source.status not in ('published', 'paused') then
    perform private.raise_error('CONFLICT',
      format('Only a published or paused survey can have a new version; this one is %s.', source.status),
      'status');
  end if;
  insert into public.surveys (id, organization_id, title, description, allow_multiple_responses,
    show_branding, redirect_url, audience,
    audience_submission_id, locales, closes_at, version_of, family_id)
  values (new_id, source.organization_id, source.title, source.description, source.allow_multiple_responses,
    source.show_branding, source.redirect_url,
    source.audience, source.audience_submission_id, source.locales, case when source.closes_at > now()
      then source.closes_at end, source.id, source.family_id);
  with copied as materialized (
    select gen_random_uuid() as new_question_id, q.* from public.survey_questions q
      where q.survey_id = source.id
  ), written as (
    insert into public.survey_questions
      (id, organization_id, survey_id, type, text, required, position, multiple, scale)
    select new_question_id, organization_id, new_id, type, text, required, position, multiple, scale
      from copied
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select o.organization_id, new_id, c.new_question_id, o.text, o.position
  from copied c join public.survey_options o on o.question_id = c.id;
  perform private.audit('survey.create', 'survey', new_id, jsonb_build_object('version_of', source.id),
    source.organization_id);
  return new_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.copy_votes_to_target(root uuid, sources uuid[], voters uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.count_added_comments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select distinct organization_id, submission_id, author_id, 'comment' from added
  where private.is_own_act(author_id) order by 2, 3
  on conflict do nothing;
  perform set_config('feedback.suppress_events', 'off', true);
  perform private.announce_comment(a.id) from added a where a.moderation_state = 'approved';
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_added_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if private.events_suppressed() then return null; end if;
  perform private.lock_submissions((select array_agg(submission_id) from added));
  update public.submissions s set vote_count = vote_count + d.votes
  from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select organization_id, submission_id, user_id, 'vote' from added where private.is_own_act(user_id)
  order by submission_id, user_id
  on conflict do nothing;
  perform set_config('feedback.suppress_events', 'off', true);
  insert into public.notifications (organization_id, user_id, type, submission_id, event_id)
  select v.organization_id, s.author_id, 'vote', v.submission_id, v.id
  from added v join public.submissions s on s.id = v.submission_id
    join public.profiles p on p.id = s.author_id
  where s.author_id <> v.user_id and p.kind in ('user', 'email');
  perform private.emit_event(v.organization_id, 'submission.vote_added', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from added v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_merged_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if private.events_suppressed() then return null; end if;
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
$function$;

CREATE OR REPLACE FUNCTION private.erase_me()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.caller_id(); named_id uuid := private.named_organization_id(); membership
  public.memberships;
begin
  if private.address_can_be_restored(own_id) then
    perform private.raise_error('CONFLICT',
      'The address of this account was changed within a week. While its '
      'former address can undo that, nothing of the account is erased.');
  end if;
  if named_id is not null then
    -- A user without rows in the organization has nothing to erase, and its team is not notified.
    if private.is_person_of_organization(own_id, named_id) then
      perform private.erase_person(own_id, named_id);
      perform private.audit('person.erase', 'profile', own_id, '{}', named_id);
    end if;
    return;
  end if;
  for membership in select * from public.memberships m where m.user_id = own_id
    order by m.organization_id loop
    -- Check before the membership is deleted with the account: the last owner cannot leave.
    perform 1 from public.organizations o where o.id = membership.organization_id for no key update;
    perform private.audit('person.erase', 'profile', own_id, '{}', membership.organization_id);
  end loop;
  perform private.lock_personal_rows(own_id, null);
  perform private.delete_personal_rows(own_id, null);
  delete from private.rate_counters c where c.subject = own_id::text;
  delete from auth.users u where u.id = (select p.auth_user_id from public.profiles p where p.id = own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.finish_responses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if private.is_direct() then
    perform private.charge_direct('survey_response_create', (select count(*) from added));
  end if;
  delete from private.survey_starts s using added r
  where s.survey_id = r.survey_id and s.user_id = any (private.same_person(r.user_id, r.organization_id));
  if not private.events_suppressed() then
    perform private.emit_event(r.organization_id, 'survey.response.created', r.survey_id,
      jsonb_build_object('survey_id', r.survey_id,
      'response_id', r.id, 'submitted_at', r.submitted_at, 'sentiment', r.sentiment, 'sentiment_score',
        r.sentiment_score))
    from added r;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.follow_for(submission_id uuid, profile_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not private.may_act_as(profile_id) then return; end if;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select s.organization_id, s.id, follow_for.profile_id, follow_for.reason from public.submissions s
  where s.id = follow_for.submission_id and s.organization_id = private.key_organization_id()
  on conflict do nothing;
  perform set_config('feedback.suppress_events', 'off', true);
end
$function$;

ALTER FUNCTION "private"."follow_for"(uuid, uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.forget_undos()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from private.account_undos o where o.user_id = new.id;
  return null;
end
$function$;

ALTER FUNCTION "private"."forget_undos"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.gather_digests(max_people integer DEFAULT 500)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare made integer;
begin
  with due as materialized (
    select distinct i.organization_id, i.profile_id, i.is_of_team from (
      select * from private.mail_items o where o.due_at <= now() order by o.due_at limit max_people * 20) i
    limit max_people
  ), taken as (
    delete from private.mail_items i where i.ctid = any (array(
      select o.ctid from due d join private.mail_items o
        on (o.organization_id, o.profile_id, o.is_of_team) = (d.organization_id, d.profile_id, d.is_of_team)
      where o.due_at <= now() for update of o skip locked))
    returning i.*
  ), written as (
    -- A digest shows what it has room for; the newest are the first to be shown.
    insert into private.mails (organization_id, profile_id, kind, event_ids)
    select t.organization_id, t.profile_id, case when t.is_of_team then 'team' else 'digest' end,
      (array_agg(t.event_id order by t.created_at desc))[1:200]
    from taken t where t.created_at > now() - private.retention('mails')
    group by t.organization_id, t.profile_id, t.is_of_team returning 1
  )
  select count(*) into made from written;
  if made > 0 then perform private.wake_mailer(); end if;
  return made;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_survey_responses(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare outcome private.import_outcome;
begin
  -- Waits for people who are answering: a user with the address of a respondent counts once.
  perform 1 from public.surveys s where s.id in (
    select private.imported_row(import, 'survey', r.survey_id)
    from (select distinct r.survey_id from jsonb_to_recordset(records) as r (survey_id text)) r)
  order by s.id for no key update;
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'response', r.id) as known_id,
      private.imported_row(import, 'survey', r.survey_id) as target_id,
        row_number() over (partition by r.id order by r.n) as nth,
      private.ordered_id() as row_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, survey_id text, author text, answers jsonb, locale text,
      sentiment_score numeric, sentiment_engine text, started_at timestamptz, submitted_at timestamptz,
        seen boolean)
  ), fresh as materialized (
    select r.*, not s.allow_multiple_responses as is_only, (a.answers).value as kept, (a.answers).complaint
    from r join public.surveys s on s.id = r.target_id
    cross join lateral (select private.imported_answers(import, r.target_id, r.survey_id, r.answers)
      as answers) a
    where r.known_id is null and r.nth = 1
  ), added as (
    insert into public.survey_responses
      (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score,
      sentiment_engine, is_only)
    select f.row_id, import.organization_id, f.target_id, f.user_id, f.kept, f.locale, f.started_at,
      coalesce(f.submitted_at, now()),
      f.sentiment_score, case when f.sentiment_score is not null then coalesce(f.sentiment_engine, 'import')
        end, f.is_only
    from fresh f
    where f.complaint is null
      -- A user with this address may have answered already.
      and not (f.is_only and exists (select from public.profiles p
        join public.survey_responses x on x.user_id = p.id
        where p.kind = 'user' and lower(p.email) = f.author and x.survey_id = f.target_id))
      and not (f.is_only and private.participated(f.author, array[f.target_id]))
    order by f.n
    on conflict (survey_id, user_id) where is_only do nothing
    returning id
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, response_id)
    select import.organization_id, import.source, 'response', f.id, f.row_id from fresh f
      join added a on a.id = f.row_id
  )
  select (select count(*) from added) + count(*) filter
    (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen),
    count(*) filter (where r.known_id is not null or r.nth > 1)
      + (select count(*) from fresh f where f.complaint is null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(r.line, 'survey_id', 'survey'))
      filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'answers', 'message',
      f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_confirmed_recipient(organization_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.profiles p where p.id = is_confirmed_recipient.profile_id and (
    p.kind = 'user'
    or exists (select from private.identified_people i where i.profile_id = p.id)
    or exists (select from private.mail_choices c
      where c.organization_id = is_confirmed_recipient.organization_id and c.profile_id = p.id
        and c.choice <> 'never')));
end
$function$;

ALTER FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_own_act(profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return profile_id = private.caller_id()
    or exists (select from public.profiles p where p.id = is_own_act.profile_id and p.kind = 'user');
end
$function$;

ALTER FUNCTION "private"."is_own_act"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.lock_caller()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.caller_id();
begin
  perform 1 from public.profiles p where p.id = own_id and p.kind = 'email' for share;
  if not found and exists (select from public.profiles p where p.id = own_id and p.kind = 'anonymous') then
    perform private.raise_error('UNAUTHORIZED', 'This session has ended. Sign in again.');
  end if;
end
$function$;

ALTER FUNCTION "private"."lock_caller"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_event(profile_id uuid, event_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object('kind', k.kind, 'submission_id', s.id, 'title', s.title,
      'comment_id', c.id, 'is_read', n.read_at is not null,
      'status', h.new_status, 'text', left(coalesce(c.body, h.note), 2000), 'is_official', c.is_official,
      'by', (select coalesce(a.name, 'Anonymous') from public.profiles a where a.id = c.author_id)))
    from public.notifications n
      join public.submissions s on (s.organization_id, s.id) = (n.organization_id, n.submission_id)
      left join public.comments c on c.id = n.comment_id
      left join public.status_changes h on h.id = n.event_id and n.type = 'status_changed'
      cross join lateral (select private.mail_kind(n.type) as kind) k
    where n.user_id = mail_event.profile_id and n.event_id = mail_event.event_id
      and (s.is_public or s.author_id = n.user_id or private.is_member(s.organization_id, n.user_id))
      and case when n.type = 'status_changed' then h.id is not null
        else c.moderation_state = 'approved' end
      and private.mail_choice(n.organization_id, n.user_id, k.kind) <> 'never'
      and not private.is_muted(n.organization_id, s.id, n.user_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.mailbox(address text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  name text := regexp_replace(lower(address), '@[^@]*$', '');
  domain text := substring(lower(address) from '[^@]*$');
begin
  if domain = 'googlemail.com' then domain := 'gmail.com'; end if;
  name := regexp_replace(name, '(?<=.)\+.*$', '');
  return case domain when 'gmail.com' then replace(name, '.', '')
    when 'yahoo.com' then regexp_replace(name, '(?<=.)-.*$', '') else name end || '@' || domain;
end
$function$;

ALTER FUNCTION "private"."mailbox"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mute_submission(submission_id uuid, muted boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not muted then perform private.require_own_mailbox(); end if;
  perform private.change_mail_preferences(s.organization_id, auth.uid(),
    jsonb_build_object(case when muted then 'mute' else 'unmute' end, s.id))
  from public.submissions s where s.id = mute_submission.submission_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.name_skeleton(name text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  -- Capitals first, since those of Greek look like other Latin letters than their small ones. Then small
  -- capitals, and letters of Lisu and Cherokee.
  latin text := private.plain_text(translate(regexp_replace(name, '\|(?=\w)', 'l', 'g'),
    'ΑАΒВСϹΕЕΗНҺΙІӀЈΚКΜМΝΟОΡРЅΤТΧХΥУҮΖ' || 'ᴀʙᴄᴅᴇꜰғɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏ'
      || 'ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ' || 'ᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ',
    'aabbcceehhhiiijkkmmnooppsttxxyyyz' || 'abcdeffghijklmnoprtuvwy'
      || 'abcdefghijklmnoprstuvwxyz' || 'abcdeghjklmprstvwz'));
  shape text := replace(replace(translate(
    regexp_replace(latin, '[\u0001-/:-`{-\u00BF\u2000-\u2BFF\u3000-\u303F\uE000-\uF8FF\uFE00-\uFE0F'
      '\U0001F000-\U0001FAFF\U000E0100-\U000E01EF]', '', 'g'),
    'i1ıɩιіӏ0οоօаαɑьƅсϲԁеєɡցһհјϳкκмոпрρԛզгѕꜱтτυսцνѵԝωхχуγүᴢ',
    'lllllllooooaaabbccdeegghhjjkkmnnppqqrssttuuuvvwwxxyyyz'), 'rn', 'm'), 'vv', 'w');
  -- How the mark of the team is written, as shapes.
  team constant text := '(team|equlp[eo]|squadra|チーム|komaндa)';
begin
  return coalesce(nullif(regexp_replace(shape, '^' || team || '|' || team || '$', '', 'g'), ''),
    nullif(shape, ''), latin);
end
$function$;

ALTER FUNCTION "private"."name_skeleton"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.note_confirmation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  new.is_confirmed := private.is_confirmed_recipient(new.organization_id, new.profile_id);
  return new;
end
$function$;

ALTER FUNCTION "private"."note_confirmation"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.notify_followers(organization_id uuid, submission_id uuid, type text, event_id uuid, comment_id uuid, actor_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, submission_id, comment_id, type, actor_id,
    '00000000-0000-0000-0000-000000000000', now());
  -- Notify the authors first, with the notification type that concerns them; each person gets one.
  insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
  select distinct on (p.id) notify_followers.organization_id, p.id, told.type, notify_followers.submission_id,
    notify_followers.comment_id, notify_followers.event_id
  from (
    select parent.author_id as user_id, 'reply' as type, 1 as rank
    from public.comments c join public.comments parent on parent.id = c.parent_id
      where c.id = notify_followers.comment_id
    union all
    select s.author_id, notify_followers.type, 2 from public.submissions s
      where s.id = notify_followers.submission_id
  ) told join public.profiles p on p.id = told.user_id
    join public.submissions s on s.id = notify_followers.submission_id
  where p.id is distinct from actor_id
    and (p.kind = 'user' or p.kind = 'email' and private.is_follower(notify_followers.submission_id, p.id))
    and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
  order by p.id, told.rank
  on conflict on constraint one_notification_a_person_and_event do nothing;
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then
    insert into private.fanouts values (fanout.*);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.offered_survey(locale text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  caller uuid := private.caller_id();
  own_id uuid := private.current_organization_id();
  person uuid[] := private.same_person(caller, own_id);
begin
  if caller is null or not exists (select from public.organizations o where o.id = own_id
    and (o.visibility = 'public' or private.is_member(o.id, caller))) then
    return null;
  end if;
  return (
    select json_build_object('id', s.id, 'title', s.title) from public.surveys s
    where s.organization_id = own_id and s.status = 'published'
      and (s.closes_at is null or s.closes_at > now())
      and private.targets_locale(s, offered_survey.locale)
      and not exists (select from public.survey_responses r join public.surveys version
          on version.id = r.survey_id
        where r.user_id = any (person) and version.family_id = s.family_id)
      and (s.audience = 'everyone' or s.audience_submission_id is not null and case s.audience
        when 'voters' then exists (select from public.votes v
          where v.submission_id = coalesce((select t.merged_into_id from public.submissions t
            where t.id = s.audience_submission_id), s.audience_submission_id) and v.user_id = caller)
        else private.is_follower(s.audience_submission_id, caller) end)
    order by s.published_at desc, s.id limit 1);
end
$function$;

CREATE OR REPLACE FUNCTION private.open_account_undo(account_id uuid, address text, link_hash bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into private.account_undos (link_hash, user_id, email)
  select open_account_undo.link_hash, u.id, lower(address) from auth.users u
  where u.id = account_id and u.email_confirmed_at is not null and u.deleted_at is null
    -- The oldest link of a week takes precedence, so nobody crowds it out.
    and (select count(*) from private.account_undos o where o.user_id = u.id and o.undone_at is null) < 20;
  return found;
end
$function$;

ALTER FUNCTION "private"."open_account_undo"(uuid, text, bytea) OWNER TO "postgres";

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
      'max_surveys', organization.max_surveys,
      'unconfirmed_mails', private.unconfirmed_mails(organization),
      'max_unconfirmed_mails', organization.max_unconfirmed_mails),
    'created_at', organization.created_at, 'updated_at', organization.updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.participated(address text, row_ids uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  -- Checked first: most imported rows have no such hash.
  return exists (select from private.erased_participations e where e.row_id = any (row_ids))
    and private.participated(private.accounts_at(address), row_ids);
end
$function$;

CREATE OR REPLACE FUNCTION private.participated(profile_id uuid, row_ids uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return private.participated((select private.accounts_of(p) || private.accounts_at(p.email)
    from public.profiles p where p.id = profile_id), row_ids);
end
$function$;

CREATE OR REPLACE FUNCTION private.person_name(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN private.trim_text(regexp_replace(regexp_replace(value, '[[:cntrl:]\u00AD\u034F\u061C\u070F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\U00013430-\U00013442\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159\U0001D173-\U0001D17A\U000E0000-\U000E00FF\U000E01F0-\U000E0FFF]'::text, ''::text, 'g'::text), '^[\s\u200C\u200D\uFE00-\uFE0F\U000E0100-\U000E01EF]+|(?<![\u0300-\U0010FFFF])[\u200C\u200D]+'::text, ''::text, 'g'::text));

CREATE OR REPLACE FUNCTION private.person_of(profile public.profiles)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN COALESCE(lower((profile).email), ((profile).id)::text);

ALTER FUNCTION "private"."person_of"(public.profiles) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.prepare_comment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
      perform private.raise_error('NOT_FOUND', 'There is no such comment to reply to on this submission.',
        'parent_id');
    end if;
    if parent.moderation_state <> 'approved' and private.caller_id() is not null then
      perform private.raise_error('CONFLICT', 'Only an approved comment can be replied to.', 'parent_id');
    end if;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_comment_vote()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.prepare_vote()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if tg_table_name = 'votes' and new.user_id = private.caller_id() then perform private.lock_caller(); end if;
  if private.events_suppressed() then return new; end if;
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
$function$;

CREATE OR REPLACE FUNCTION private.put_off_mails(organization public.organizations, max_rows integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare later timestamptz := private.next_digest('daily', organization.time_zone,
  (private.budget_day() + 1)::timestamp at time zone 'UTC');
begin
  with due as materialized (
    select m.id, m.profile_id, m.event_ids, m.kind in ('invite', 'survey') as stays,
      private.is_confirmed_recipient(m.organization_id, m.profile_id) as confirmed
    from private.mails m
    where m.organization_id = organization.id and not m.is_confirmed and m.status in ('pending', 'sending')
      and m.attempt_count = 0 and m.next_attempt_at <= now()
    order by m.next_attempt_at limit max_rows for update skip locked
  ), kept as (
    update private.mails m set is_confirmed = d.confirmed,
      next_attempt_at = case when d.confirmed then m.next_attempt_at else later end
    from due d where m.id = d.id and (d.confirmed or d.stays)
  ), moved as (
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at, created_at)
    select n.user_id, n.event_id, n.organization_id, false, later, n.created_at
    from due d join public.notifications n on n.user_id = d.profile_id and n.event_id = any (d.event_ids)
    where not (d.confirmed or d.stays)
    on conflict do nothing
  )
  delete from private.mails m using due d where m.id = d.id and not (d.confirmed or d.stays);
end
$function$;

ALTER FUNCTION "private"."put_off_mails"(public.organizations, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.queue_invite(invite private.invites)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare made_today integer; made_to_address integer;
begin
  if not (select o.mail_enabled from public.organizations o where o.id = invite.organization_id) then
    return false;
  end if;
  -- An erased invite may have been to this address: else an erasure would make room for more.
  select count(*),
    count(*) filter (where i.id is null or private.mailbox(i.email) = private.mailbox(invite.email))
  into made_today, made_to_address
  from private.mails m left join private.invites i on i.id = m.invite_id
  where m.organization_id = invite.organization_id and m.profile_id is null
    and m.created_at > now() - interval '1 day';
  if made_today >= 100 or made_to_address >= 3 then return false; end if;
  insert into private.mails (organization_id, kind, event_ids, invite_id)
  values (invite.organization_id, 'invite', '{}', invite.id);
  perform private.wake_mailer();
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_survey_start(survey_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare survey public.surveys; began timestamptz;
begin
  if private.is_key() or private.caller_id() is null then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may do this.');
  end if;
  survey := private.require_open_survey(survey_id, private.caller_id());
  began := (select min(s.started_at) from private.survey_starts s
    where s.survey_id = survey.id
      and s.user_id = any (private.same_person(private.caller_id(), survey.organization_id)));
  if began is null then
    insert into private.survey_starts as s (organization_id, survey_id, user_id)
      values (survey.organization_id, survey.id, private.caller_id())
    on conflict on constraint survey_starts_pkey do nothing returning s.started_at into began;
  end if;
  return coalesce(began, (select s.started_at from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = private.caller_id()));
end
$function$;

CREATE OR REPLACE FUNCTION private.refuse_after_undo()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  account_id uuid := case tg_table_name when 'users' then to_jsonb(new) ->> 'id'
    else to_jsonb(new) ->> 'user_id' end;
  address text;
begin
  -- Waits for an undo that has the row.
  select u.email into address from auth.users u where u.id = account_id for key share;
  if not private.was_just_restored(account_id)
    or tg_table_name = 'one_time_tokens' and to_jsonb(new) ->> 'relates_to' = address then return new; end if;
  raise exception 'A change of this account was just undone: try again in half a minute.'
    using errcode = 'check_violation', constraint = 'account_was_just_restored';
end
$function$;

ALTER FUNCTION "private"."refuse_after_undo"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.reject_link(token_hash text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select private.reject_request(l.id, l.is_change) from private.user_of_link(token_hash) l);
end
$function$;

CREATE OR REPLACE FUNCTION private.reject_name_of_team()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (
    with taken_part as (
      select coalesce(private.requested_organization_id(), private.default_organization_id()) as id
      union select s.organization_id from public.submissions s where s.author_id = new.id
      union select c.organization_id from public.comments c where c.author_id = new.id
    )
    select from taken_part o
      join public.memberships m on m.organization_id = o.id
      join public.profiles p on p.id = m.user_id
    where not private.is_member(o.id, new.id)
      and private.name_skeleton(p.name) = private.name_skeleton(new.name))
  then
    perform private.raise_error('VALIDATION_ERROR',
      'This looks like the name of a team member. Choose one that tells you apart.', 'name',
      '{"reason": "name_of_team_member"}');
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."reject_name_of_team"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.reject_request(account_id uuid, is_change boolean)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if is_change then
    update auth.users u set email_change = '', email_change_token_new = '', email_change_token_current = '',
      email_change_confirm_status = 0 where u.id = account_id;
    delete from auth.one_time_tokens t where t.user_id = account_id;
    return 'kept';
  end if;
  perform from auth.users u where u.id = account_id and u.email_confirmed_at is null for update;
  if found then
    delete from auth.users u where u.id = account_id and u.phone_confirmed_at is null and not u.is_anonymous;
    -- Somebody who signs in by phone or anonymously keeps the account, without this address.
    delete from auth.identities i using auth.users u
    where u.id = account_id and i.user_id = u.id and lower(i.identity_data ->> 'email') = u.email;
    update auth.users u set email = null, confirmation_token = '', recovery_token = ''
    where u.id = account_id;
    delete from auth.one_time_tokens t where t.user_id = account_id;
    return 'deleted';
  end if;
  return null;
end
$function$;

ALTER FUNCTION "private"."reject_request"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.require_one_vote(organization_id uuid, user_id uuid, submission_id uuid, comment_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
      'Somebody with this e-mail address has voted already, and a person counts once.',
      case when comment_id is null then 'submission_id' else 'comment_id' end);
  end if;
end
$function$;

ALTER FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.require_open_survey(survey_id uuid, user_id uuid)
 RETURNS public.surveys
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare survey public.surveys; asked boolean := true; submission uuid; person uuid[];
begin
  if user_id = private.caller_id() then perform private.lock_caller(); end if;
  select * into survey from public.surveys s where s.id = require_open_survey.survey_id for share;
  if survey.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  perform private.require_accepts_responses(survey);
  -- Serializes with the erasure of the respondent.
  perform 1 from public.profiles p
    where p.id = require_open_survey.user_id
    and (p.kind <> 'user' or p.auth_user_id is not null) for key share;
  if not found and user_id = private.caller_id() then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted.');
  end if;
  if not survey.allow_multiple_responses then
    -- Serializes responses of one person; otherwise a start could be recorded after the response. Operators
    -- insert in bulk and record no start.
    if user_id = private.caller_id() then
      perform pg_advisory_xact_lock(hashtextextended(survey.id::text || private.person_of(p), 0))
      from public.profiles p where p.id = require_open_survey.user_id;
    end if;
    person := private.same_person(user_id, survey.organization_id);
    if exists (select from public.survey_responses r
      where r.survey_id = survey.id and r.user_id = any (person)) then
      perform private.raise_error('ALREADY_RESPONDED', 'You answered this survey already.');
    end if;
  end if;
  if survey.audience <> 'everyone' then
    submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s
      where s.id = survey.audience_submission_id);
    asked := case survey.audience
      when 'voters' then exists (select from public.votes v
        where v.submission_id = submission and v.user_id = require_open_survey.user_id)
      else private.is_follower(submission, require_open_survey.user_id) end;
  end if;
  if not asked then
    perform private.raise_error('FORBIDDEN',
      format('This survey is for %s of a submission.', survey.audience));
  end if;
  return survey;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_own_mailbox()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if (select p.kind from public.profiles p where p.id = auth.uid()) = 'email' then
    perform private.raise_error('FORBIDDEN',
      'Only a link in a mail resumes mail: the application that signed you in does not prove the address.');
  end if;
end
$function$;

ALTER FUNCTION "private"."require_own_mailbox"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.retention(kind text)
 RETURNS interval
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  -- No ELSE: an unknown kind must raise an error; null would keep its rows forever.
  case kind
    -- More than two days: subscriptions last one day, and the first page of the change feed leaves a day to
    -- continue.
    when 'events' then return interval '30 days';
    when 'agent_calls' then return interval '400 days';
    when 'idempotency_keys' then return interval '1 day';
    when 'rate_counters' then return interval '2 hours';
    when 'expired_invites' then return interval '30 days';
    when 'expired_subscriptions' then return interval '1 day';
    when 'stalled_uploads' then return interval '2 minutes';
    when 'stalled_imports' then return interval '7 days';
    when 'checked_imports' then return interval '1 day';
    when 'cron_log' then return interval '1 day';
    when 'mails' then return interval '30 days';
    when 'stopped_account_mail' then return interval '90 days';
    when 'account_undos' then return interval '7 days';
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION private.run_schedule()
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare fanouts integer; activity integer; surveys integer; counters integer; keys integer; events integer;
  deliveries integer; streams integer; labels integer; boards integer; imports integer; mails integer;
  sessions integer;
begin
  -- Deletes find their rows once, by ctid: joined by key, a plan made while a table was empty would scan for
  -- each row. Rows that may be renewed concurrently are locked first.
  fanouts := private.run_fanouts();
  activity := private.sum_activity();
  surveys := private.close_surveys();
  boards := private.broadcast_counts();
  delete from private.rate_counters c where ctid = any (array(
    -- Windows without a rule of their own (calls_a_day of agents) last at most a day.
    select o.ctid from private.rate_counters o
    where o.started_at < now() - greatest(private.retention('rate_counters'), coalesce(
      (select make_interval(secs => r.window_seconds) from private.rate_limit_rules r where r.name = o.rule),
      interval '1 day')) limit 5000 for update skip locked));
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid = any (array(
    select o.ctid from private.idempotency_keys o
      where o.created_at < now() - private.retention('idempotency_keys') limit 5000));
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid = any (array(
    select o.ctid from private.outbox o where o.created_at < now() - private.retention('events') limit 5000));
  get diagnostics events = row_count;
  delete from private.invites i where ctid = any (array(
    select o.ctid from private.invites o where o.expires_at < now() - private.retention('expired_invites')
      limit 5000));
  deliveries := private.trim_deliveries();
  imports := private.end_idle_imports();
  perform private.call_importer();
  mails := private.gather_digests();
  perform private.trim_mails();
  delete from private.stopped_account_mail s where s.ctid = any (array(
    select o.ctid from private.stopped_account_mail o
    where o.stopped_at < now() - private.retention('stopped_account_mail')
      limit 5000 for update skip locked));
  delete from private.account_undos u where u.ctid = any (array(
    select o.ctid from private.account_undos o where o.created_at < now() - private.retention('account_undos')
      limit 5000 for update skip locked));
  sessions := private.trim_sessions();
  perform private.call_mailer();
  perform private.refresh_search();
  delete from private.agent_streams s where ctid = any (array(
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000 for update skip locked));
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid = any (array(
    select o.ctid from private.agent_subscriptions o
    where o.expires_at < now() - private.retention('expired_subscriptions')
      limit 5000 for update skip locked));
  delete from private.agent_audit t where ctid = any (array(
    select o.ctid from private.agent_audit o where o.created_at < now() - private.retention('agent_calls')
      limit 5000));
  -- Last, because it locks submissions until the transaction ends.
  labels := private.run_retirements();
  return jsonb_build_object('fanouts', fanouts, 'activity', activity, 'surveys', surveys, 'rate_counters',
    counters, 'idempotency_keys', keys, 'events', events, 'deliveries', deliveries, 'agent_streams', streams,
    'labels', labels, 'boards', boards, 'imports', imports, 'mails', mails, 'sessions', sessions);
end
$function$;

CREATE OR REPLACE FUNCTION private.same_person(profile_id uuid, organization_id uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare address text := (select lower(p.email) from public.profiles p
  where p.id = profile_id and coalesce(p.organization_id, same_person.organization_id)
    = same_person.organization_id);
begin
  return profile_id || array(
    select u.id from public.profiles u
    where u.kind = 'user' and lower(u.email) = address and u.id <> profile_id
    union all
    select a.id from public.profiles a
    where a.kind = 'email' and a.organization_id = same_person.organization_id
      and lower(a.email) = address and a.id <> profile_id);
end
$function$;

ALTER FUNCTION "private"."same_person"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.senders_of_due_mails()
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    with recursive waiting (id) as (
      (select m.organization_id from private.mails m where m.status in ('pending', 'sending')
        order by m.organization_id limit 1)
      union all
      select (select m.organization_id from private.mails m
        where m.status in ('pending', 'sending') and m.organization_id > w.id
        order by m.organization_id limit 1)
      from waiting w where w.id is not null
    )
    select w.id from waiting w
    where exists (select from unnest(array[true, false]) lane cross join lateral (
        select m.next_attempt_at from private.mails m
        where m.organization_id = w.id and m.is_confirmed = lane and m.status in ('pending', 'sending')
        order by m.next_attempt_at limit 1) first
      where first.next_attempt_at <= now());
end
$function$;

ALTER FUNCTION "private"."senders_of_due_mails"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.stop_account_mail(mailbox_hash text, account_id uuid, is_stopped boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare person auth.users;
begin
  if not is_stopped then
    delete from private.stopped_account_mail s where s.address_hash = mailbox_hash;
    return;
  end if;
  insert into private.stopped_account_mail (address_hash) values (mailbox_hash)
  on conflict (address_hash) do update set stopped_at = now();
  select * into person from auth.users u where u.id = account_id;
  if person.email_confirmed_at is null
    and private.address_hash(private.mailbox(person.email)) = mailbox_hash then
    perform private.reject_request(account_id, false);
  elsif private.address_hash(private.mailbox(nullif(person.email_change, ''))) = mailbox_hash then
    perform private.reject_request(account_id, true);
  end if;
end
$function$;

ALTER FUNCTION "private"."stop_account_mail"(text, uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.submission_voters(submission_id uuid, max_rows integer, skipped integer)
 RETURNS TABLE(user_id uuid, name text, email text, voted_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.take_unconfirmed_mail(organization public.organizations)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if organization.max_unconfirmed_mails is null then return true; end if;
  -- A dispatcher counts the mails of several organizations in any order: waiting for another could deadlock.
  if not pg_try_advisory_xact_lock(hashtextextended('unconfirmed mails of ' || organization.id, 0)) then
    return null;
  end if;
  insert into private.mail_budgets as b (organization_id, day, used)
  select organization.id, private.budget_day(), 1 where organization.max_unconfirmed_mails > 0
  on conflict on constraint mail_budgets_pkey do update set day = excluded.day,
    used = case when excluded.day > b.day then 1 else b.used + 1 end
  where excluded.day > b.day or b.used < organization.max_unconfirmed_mails;
  return found;
end
$function$;

ALTER FUNCTION "private"."take_unconfirmed_mail"(public.organizations) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.trim_text(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (value !~ '[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u070F\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\U00013430-\U00013442\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]'::text) THEN ''::text ELSE btrim(value, ' 	
                 　﻿'::text) END;

CREATE OR REPLACE FUNCTION private.unconfirmed_mails(organization public.organizations)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select b.used from private.mail_budgets b where b.organization_id = organization.id
    and b.day = private.budget_day()), 0);
end
$function$;

ALTER FUNCTION "private"."unconfirmed_mails"(public.organizations) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.undo_account_change(link_hash bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  undo private.account_undos;
  other auth.users;
  since timestamptz;
begin
  select o.* into undo from private.account_undos o where o.link_hash = undo_account_change.link_hash
    and o.undone_at is null and o.created_at > now() - private.retention('account_undos');
  -- One after the other for an account, so that the older link wins.
  perform from auth.users u where u.id = undo.user_id and u.deleted_at is null for update;
  if not found or not exists (select from private.account_undos o
    where o.link_hash = undo_account_change.link_hash and o.undone_at is null) then return null; end if;
  select u.* into other from auth.users u
  where u.email = undo.email and u.id <> undo.user_id and not u.is_sso_user;
  if other.email_confirmed_at is not null then return 'taken'; end if;
  perform private.reject_request(other.id, false);
  delete from private.account_undos o where o.user_id = undo.user_id and o.created_at >= undo.created_at
    and o.link_hash <> undo.link_hash;
  -- Who takes over an account first makes a way to come back.
  since := undo.created_at - interval '1 day';
  delete from auth.sessions s where s.user_id = undo.user_id;
  delete from auth.flow_state f where f.user_id = undo.user_id;
  delete from auth.one_time_tokens t where t.user_id = undo.user_id;
  delete from auth.mfa_factors f where f.user_id = undo.user_id and f.created_at > since;
  if to_regclass('auth.webauthn_credentials') is not null then
    execute 'delete from auth.webauthn_credentials where user_id = $1 and created_at > $2'
      using undo.user_id, since;
  end if;
  delete from auth.identities i
  where i.user_id = undo.user_id and i.provider <> 'email' and i.created_at > since;
  update auth.identities i set identity_data = i.identity_data
    || jsonb_build_object('email', undo.email, 'email_verified', true)
  where i.user_id = undo.user_id and i.provider = 'email';
  update auth.users u set email = undo.email, encrypted_password = '', confirmation_token = '',
    recovery_token = '', reauthentication_token = '', email_change = '', email_change_token_new = '',
    email_change_token_current = '', email_change_confirm_status = 0, phone_change = '',
    phone_change_token = '',
    phone = case when u.phone_confirmed_at > since then null else u.phone end,
    phone_confirmed_at = case when u.phone_confirmed_at > since then null else u.phone_confirmed_at end
  where u.id = undo.user_id;
  update private.account_undos o set undone_at = clock_timestamp() where o.link_hash = undo.link_hash;
  return 'undone';
end
$function$;

ALTER FUNCTION "private"."undo_account_change"(bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.was_just_restored(account_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return exists (select from private.account_undos o where o.user_id = account_id
    and o.undone_at > clock_timestamp() - interval '30 seconds');
end
$function$;

ALTER FUNCTION "private"."was_just_restored"(uuid) OWNER TO "postgres";

ALTER TABLE "private"."account_undos" ADD CONSTRAINT "account_undos_user_id_fkey" FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_budgets" ADD CONSTRAINT "mail_budgets_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."organizations" ADD CONSTRAINT "plan_limits_are_not_negative" CHECK ((LEAST(max_submissions, max_members, max_surveys, max_unconfirmed_mails) >= 0));

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX account_undos_created_at_idx ON private.account_undos USING btree (created_at);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX account_undos_user_idx ON private.account_undos USING btree (user_id, created_at);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX mails_waiting_idx ON private.mails USING btree (organization_id, is_confirmed, next_attempt_at) WHERE (status = ANY (ARRAY['pending'::text, 'sending'::text]));

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX stopped_account_mail_stopped_at_idx ON private.stopped_account_mail USING btree (stopped_at);

CREATE TRIGGER forget_undos AFTER UPDATE OF deleted_at ON auth.users FOR EACH ROW WHEN ((new.deleted_at IS NOT NULL)) EXECUTE FUNCTION private.forget_undos();

CREATE TRIGGER refuse_after_undo BEFORE UPDATE OF encrypted_password, email, phone ON auth.users FOR EACH ROW WHEN ((((new.encrypted_password)::text IS DISTINCT FROM (old.encrypted_password)::text) OR ((new.email)::text IS DISTINCT FROM (old.email)::text) OR (new.phone IS DISTINCT FROM old.phone))) EXECUTE FUNCTION private.refuse_after_undo();

CREATE TRIGGER note_confirmation BEFORE INSERT ON private.mails FOR EACH ROW EXECUTE FUNCTION private.note_confirmation();

create trigger announce after update on public.organizations
  for each row when ((old.slug, old.name, old.visibility, old.is_default, old.require_approval,
    old.trust_after, old.anonymous_may, old.time_zone, old.default_locale, old.allowed_origins, old.settings,
      old.brand_color, old.logo_url, old.allow_indexing, old.mail_enabled, old.mail_defaults,
      old.max_submissions, old.max_members, old.max_surveys, old.max_unconfirmed_mails)
    is distinct from (new.slug, new.name, new.visibility, new.is_default, new.require_approval,
      new.trust_after, new.anonymous_may, new.time_zone, new.default_locale, new.allowed_origins,
      new.settings, new.brand_color, new.logo_url, new.allow_indexing, new.mail_enabled, new.mail_defaults,
      new.max_submissions, new.max_members, new.max_surveys, new.max_unconfirmed_mails))
  execute function private.announce_organization();

CREATE TRIGGER clean_name BEFORE INSERT OR UPDATE OF name ON public.organizations FOR EACH ROW EXECUTE FUNCTION private.clean_name();

CREATE TRIGGER reject_name_of_team BEFORE UPDATE OF name ON public.profiles FOR EACH ROW WHEN (((new.name <> old.name) AND (new.id = private.caller_id()))) EXECUTE FUNCTION private.reject_name_of_team();

CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE ON public.survey_options FOR EACH ROW WHEN (private.is_moderating(NULL::uuid)) EXECUTE FUNCTION private.audit_questions();

CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE ON public.survey_questions FOR EACH ROW WHEN (private.is_moderating(NULL::uuid)) EXECUTE FUNCTION private.audit_questions();

CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE ON public.surveys FOR EACH ROW WHEN (private.is_moderating(NULL::uuid)) EXECUTE FUNCTION private.audit_survey();

COMMENT ON FUNCTION "private"."account_mail_is_stopped"(text) IS 'Whether the owner of a mailbox stopped mail about accounts that others make.';

COMMENT ON FUNCTION "private"."accounts_at"(text) IS 'What an erasure recorded of the e-mail author, and of the users, who had the address: one person.';

COMMENT ON FUNCTION "private"."accounts_of"(public.profiles) IS 'What an erasure records of a person: id and all addresses of a user, who may sign up again; the address of an e-mail author.';

COMMENT ON FUNCTION "private"."address_can_be_restored"(uuid) IS 'Whether the owner of a former address of the account can undo the change.';

COMMENT ON FUNCTION "private"."address_of_undo"(bytea) IS 'The address that a link restores; null if it is unknown, used or expired.';

COMMENT ON FUNCTION "private"."admit_account_mail"(text, text, uuid) IS 'Whether a mail with a code or link may be sent, and counts it. An address with a confirmed account is bounded by client and over all clients; any other by mailbox, client, the installation, and its owner. Returns the hash of the mailbox, for the link that stops such mail, and 80 or 100 when so much of the installation''s bound has just been used.';

COMMENT ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) IS 'Logs the change of a draft, unless this transaction has logged it or the draft''s creation.';

COMMENT ON FUNCTION "private"."audit_questions"() IS 'Trigger: logs that an Admin or a key changed the questions or options of a draft.';

COMMENT ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) IS 'Logs that a caller read personal data, once an hour for each caller, kind and target: the next pages of a list and a page that is loaded again add nothing. For definer functions that require Admin.';

COMMENT ON FUNCTION "private"."audit_responses"(uuid, text) IS 'Logs that an Admin or a key reads or exports (action) responses of a survey; raises NOT_FOUND or FORBIDDEN for others.';

COMMENT ON FUNCTION "private"."audit_survey"() IS 'Trigger: logs what an Admin or a key does with a survey, with the names of changed fields.';

COMMENT ON FUNCTION "private"."budget_day"() IS 'Today in UTC: in the time zone of the organization a change of the zone would begin another day.';

COMMENT ON FUNCTION "private"."change_my_mail_preferences"(jsonb) IS 'Changes the caller''s mail preferences in the current organization. An identified person may only stop mail.';

COMMENT ON FUNCTION "private"."charge_rule"(text, text, integer) IS 'Charges calls of a subject against the rule of this name. Allowed if there is no rule or no subject.';

COMMENT ON FUNCTION "private"."claim_mails"(integer) IS 'Claims due mails for two minutes, including expired claims, drops those with nothing to tell, and puts off those to unconfirmed recipients beyond the budget of their organization; wakes the mailer again if it only did the latter. Concurrent dispatchers never claim the same mail.';

COMMENT ON FUNCTION "private"."claim_responses"(uuid, uuid) IS 'Moves responses and starts of one profile to another; of two responses to a survey that allows one, the first stays.';

COMMENT ON FUNCTION "private"."count_added_comments"() IS 'Trigger: updates comment_count and reply_count, makes those who comment themselves follow, and announces approved comments.';

COMMENT ON FUNCTION "private"."count_added_votes"() IS 'Trigger: updates vote_count, makes those who vote themselves follow, notifies the author and emits submission.vote_added, which does not name the voter. Pending submissions emit nothing.';

COMMENT ON FUNCTION "private"."delete_merged_votes"() IS 'Trigger: a vote removed at the target is not restored by an unmerge, nor is another of the same person.';

COMMENT ON FUNCTION "private"."erase_me"() IS 'Erases the caller: in the named organization only, or in all by deleting the account with name, address, memberships, follows and notifications. Content and votes stay without a person. Raises CONFLICT for the last owner of an organization, and while a change of address can be undone.';

COMMENT ON FUNCTION "private"."follow_for"(uuid, uuid, text) IS 'Makes a profile that a key may act as follow a submission, because the person asked for it.';

COMMENT ON FUNCTION "private"."forget_undos"() IS 'Trigger on auth.users: a deleted account is not restored.';

COMMENT ON FUNCTION "private"."gather_digests"(integer) IS 'Makes one mail of what is due for each person and not older than private.retention(mails). For private.run_schedule; returns how many.';

COMMENT ON FUNCTION "private"."import_votes"(private.imports, jsonb, jsonb) IS 'Writes votes, one for each person and submission, and the follows of voters who asked for it (follow).';

COMMENT ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) IS 'Whether the recipient of mail is more than an address that others entered: an account, which has confirmed its address (by a claim too); a person whom the organization''s application identified; or an e-mail author who saved by the link of a mail which mail they want. Not those who only stop mail, which mail programs do too, and not who is invited.';

COMMENT ON FUNCTION "private"."is_own_act"(uuid) IS 'Whether a person takes part themselves, and so follows: everyone but e-mail authors for whom a key or an operator enters something (private.follow_for).';

COMMENT ON FUNCTION "private"."lock_caller"() IS 'Before rows of an identified person are added: a claim (99_claims.sql) waits until this transaction ends, or this for the claim, which has ended the session. Call it before other locks.';

COMMENT ON FUNCTION "private"."mail_event"(uuid, uuid) IS 'The content of a mail about a notification: {kind, submission_id, title, comment_id?, status?, text?, by?, is_official?, is_read}. Null where they may not see it or do not want it now.';

COMMENT ON FUNCTION "private"."mailbox"(text) IS 'The mailbox of an address, by which mails and attempts are counted: without +tag, at Gmail without dots, and at Yahoo without -tag.';

COMMENT ON FUNCTION "private"."name_skeleton"(text) IS 'What a name looks like: equal for names that differ in case, accents, spaces and signs only, in a word for the team at an end, or in letters and digits that look alike. The frequent ones of Latin, Cyrillic, Greek, Armenian, Lisu and Cherokee, not the list of Unicode.';

COMMENT ON FUNCTION "private"."note_confirmation"() IS 'Trigger: sets is_confirmed of a new mail.';

COMMENT ON FUNCTION "private"."notify_followers"(uuid, uuid, text, uuid, uuid, uuid) IS 'Notifies the author of the parent comment, the author of the submission and the followers, each once and never the actor; e-mail authors only of what they follow. Beyond 500 followers private.run_fanouts does the rest.';

COMMENT ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) IS 'Stores the link that the mail about a changed address or password has, with the address that it goes to. Returns false for an unknown account, and beyond 20 in a week.';

COMMENT ON FUNCTION "private"."participated"(text, uuid[]) IS 'For imports: whether an author or user with the address participated before an erasure.';

COMMENT ON FUNCTION "private"."participated"(uuid, uuid[]) IS 'Whether the person participated in one of the rows before an erasure, as this profile or as another with its address.';

COMMENT ON FUNCTION "private"."person_of"(public.profiles) IS 'Identifies a person within an organization: profiles with the same address, which a user has confirmed, are one person.';

COMMENT ON FUNCTION "private"."prepare_comment_vote"() IS 'Trigger: the comment must be visible to the caller, and a person votes once.';

COMMENT ON FUNCTION "private"."prepare_vote"() IS 'Trigger on votes and follows: the submission must be visible to the caller and not merged, and a person votes once.';

COMMENT ON FUNCTION "private"."put_off_mails"(public.organizations, integer) IS 'When the budget is used up: moves due mails to unconfirmed recipients that were not attempted into the first daily digest of a later day; invites wait for that time as they are.';

COMMENT ON FUNCTION "private"."queue_invite"(private.invites) IS 'Queues the mail of an invite, where its organization sends mail: at most 100 in a day, and 3 to one mailbox. Returns whether it did. Call it with the team locked.';

COMMENT ON FUNCTION "private"."refuse_after_undo"() IS 'Trigger on tables of auth: a call that auth admitted before a change was undone writes no password, address, phone number, session, way to sign in or second factor after it, nor a code for another address.';

COMMENT ON FUNCTION "private"."reject_name_of_team"() IS 'Trigger: rejects a name that people choose for themselves if it looks like that of a team member, where they are not on the team: in the organization of the request and where they wrote something.';

COMMENT ON FUNCTION "private"."reject_request"(uuid, boolean) IS 'Deletes an unconfirmed account, or takes the address from one that signs in otherwise; or (is_change) ends a change of address. Returns deleted, kept (the address of a change), or null for a confirmed account.';

COMMENT ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) IS 'Raises CONFLICT if the person of a profile voted for the submission, or the comment, as another profile. The caller holds its lock.';

COMMENT ON FUNCTION "private"."require_own_mailbox"() IS 'Raises FORBIDDEN for an identified person: a host may name any address, and would resume mail that its owner stopped.';

COMMENT ON FUNCTION "private"."same_person"(uuid, uuid) IS 'All profiles of a person in an organization, the given one first: the e-mail author and the users with the same address. A person counts once.';

COMMENT ON FUNCTION "private"."senders_of_due_mails"() IS 'Ids of the organizations with due mails; reads two rows of an index for each that has mails in the queue.';

COMMENT ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) IS 'For the owner of a mailbox: sends no more mail about accounts that others make with its addresses, and rejects the account or the change of address that the mail was about; or (is_stopped false) sends again.';

COMMENT ON FUNCTION "private"."submission_voters"(uuid, integer, integer) IS 'Newest voters with e-mail addresses, for Admin; logs the access. Raises FORBIDDEN for other callers.';

COMMENT ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) IS 'Counts a mail to an unconfirmed recipient; false if the organization''s budget of today is used up, null if another dispatcher counts now.';

COMMENT ON FUNCTION "private"."trim_text"(text) IS 'Trims white space, including Unicode white space, from both ends; empty if no character is visible. The same as trimText of shared/text.ts.';

COMMENT ON FUNCTION "private"."unconfirmed_mails"(public.organizations) IS 'How many mails the organization sent to unconfirmed recipients today.';

COMMENT ON FUNCTION "private"."undo_account_change"(bytea) IS 'For the owner of the address that a link went to: the account has this address again and no password, and its sessions, codes and later links end, as do second factors, passkeys, sign-ins by providers and a phone number that were added since the day before. Returns undone; taken, where another confirmed account has the address; or null for a link that is unknown, used or expired.';

COMMENT ON FUNCTION "private"."was_just_restored"(uuid) IS 'Whether a change of the account was undone within 30 seconds, in which calls end that auth had admitted before.';

COMMENT ON TABLE "private"."account_undos" IS 'Links that undo a change of address or password, as hashes, with the address that the account had before and that got the link. Valid once (undone_at) within private.retention(account_undos).';

COMMENT ON TABLE "private"."mail_budgets" IS 'Mails of an organization to unconfirmed recipients on the newest day (UTC) on which it sent any: at most organizations.max_unconfirmed_mails.';

COMMENT ON TABLE "private"."mails" IS 'Mails to be: pending, sending (claimed until next_attempt_at, when the lease ends), sent, failed, or dropped because its recipient may not see it or does not want it any more. event_ids are those of the notifications, for kind team the submissions, for survey the survey, twice for a reminder. An invite goes to the address of the invite, which may have no profile; without invite_id its address was erased. The id is in the Message-ID. is_confirmed: private.is_confirmed_recipient when it was queued; such mails are claimed first. Finished mails are kept for private.retention(mails).';

COMMENT ON TABLE "private"."stopped_account_mail" IS 'Mailboxes, as keyed hashes, whose owner wants no mail about accounts that others make with their address. An address with a confirmed account gets its mail. Kept for private.retention(stopped_account_mail).';

COMMENT ON TABLE "public"."organizations" IS 'A tenant: one board of feedback, its surveys and its team. settings is free-form data of the team. brand_color and logo_url apply to its pages (null: defaults); a logo_url below /logos/ is the path of an uploaded image. default_locale: language of the pages for browsers without a supported language. allow_indexing: whether search engines may index the pages of a public board. mail_enabled: whether mail is sent; mail_defaults apply to people without their own preferences (73_mail.sql). anonymous_may: rights of anonymous users. Plan limits are null if unlimited; max_unconfirmed_mails: mails in a day to people whose address was only entered by others (private.is_confirmed_recipient).';

REVOKE ALL ON FUNCTION "private"."account_mail_is_stopped"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."account_mail_is_stopped"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."account_mail_is_stopped"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."account_mail_is_stopped"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."accounts_at"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."accounts_at"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."accounts_at"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."address_can_be_restored"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."address_can_be_restored"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."address_can_be_restored"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."address_of_undo"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."address_of_undo"(bytea) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."address_of_undo"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."address_of_undo"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admit_account_mail"(text, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admit_account_mail"(text, text, uuid) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."admit_account_mail"(text, text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admit_account_mail"(text, text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_questions"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_questions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_questions"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_responses"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."audit_responses"(uuid, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."audit_responses"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_responses"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_responses"(uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."audit_survey"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_survey"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_survey"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."budget_day"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."budget_day"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."budget_day"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."charge_rule"(text, text, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."charge_rule"(text, text, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."charge_rule"(text, text, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_responses"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_responses"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_responses"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."follow_for"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."follow_for"(uuid, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."follow_for"(uuid, uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."follow_for"(uuid, uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."forget_undos"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."forget_undos"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."forget_undos"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_own_act"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_own_act"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_own_act"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."lock_caller"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lock_caller"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."lock_caller"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."lock_caller"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."lock_caller"() TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."mailbox"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mailbox"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mailbox"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."name_skeleton"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."name_skeleton"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."name_skeleton"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."note_confirmation"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."note_confirmation"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."note_confirmation"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."person_of"(public.profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."person_of"(public.profiles) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."person_of"(public.profiles) TO "postgres";

REVOKE ALL ON FUNCTION "private"."put_off_mails"(public.organizations, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."put_off_mails"(public.organizations, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."put_off_mails"(public.organizations, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_after_undo"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."refuse_after_undo"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_after_undo"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reject_name_of_team"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."reject_name_of_team"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reject_name_of_team"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reject_request"(uuid, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."reject_request"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reject_request"(uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."require_own_mailbox"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_own_mailbox"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_own_mailbox"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."same_person"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."same_person"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."same_person"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."senders_of_due_mails"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."senders_of_due_mails"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."senders_of_due_mails"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) TO "postgres";

REVOKE ALL ON FUNCTION "private"."unconfirmed_mails"(public.organizations) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."unconfirmed_mails"(public.organizations) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unconfirmed_mails"(public.organizations) TO "postgres";

REVOKE ALL ON FUNCTION "private"."undo_account_change"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."undo_account_change"(bytea) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."undo_account_change"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."undo_account_change"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."was_just_restored"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."was_just_restored"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."was_just_restored"(uuid) TO "postgres";

-- Texts without a visible character were accepted until now.
update public.organizations set name = slug where private.trim_text(name) = '';
update public.organizations set name = private.person_name(name) where name <> private.person_name(name);
update public.categories set name = slug where private.trim_text(name) = '';
update public.tags set name = slug where private.trim_text(name) = '';
update private.api_keys set name = 'Key' where private.trim_text(name) = '';
update private.agents set description = null where private.trim_text(description) = '';
update public.profiles set name = nullif(private.person_name(name), '')
where name is distinct from nullif(private.person_name(name), '');

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "private"."agents" ADD CONSTRAINT "description_is_visible" CHECK ((private.trim_text(description) <> ''::text));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "private"."api_keys" ADD CONSTRAINT "name_is_visible" CHECK ((private.trim_text(name) <> ''::text));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."categories" ADD CONSTRAINT "name_is_visible" CHECK ((private.trim_text(name) <> ''::text));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."tags" ADD CONSTRAINT "name_is_visible" CHECK ((private.trim_text(name) <> ''::text));


insert into private.rate_limit_rules (name, max_requests, window_seconds) values
  ('account_mail_mailbox', 10, 3600), ('account_mail_account', 30, 3600), ('account_mail_hour', 30, 3600),
  ('account_mail_day', 100, 86400), ('account_mail_everyone', 1000, 3600)
on conflict do nothing;

do $$
declare name text;
begin
  foreach name in array array['sessions', 'identities', 'mfa_factors', 'one_time_tokens'] loop
    -- Where auth lets only its own role make triggers on it, the undo ends what has been committed.
    if has_table_privilege(to_regclass('auth.' || name), 'trigger') then
      execute format('create trigger refuse_after_undo before insert on auth.%I
        for each row execute function private.refuse_after_undo()', name);
    end if;
  end loop;
end
$$;
