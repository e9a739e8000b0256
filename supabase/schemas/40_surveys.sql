-- Surveys, their questions and their lifecycle: draft → published ⇄ paused, any → archived. Only drafts can
-- be changed.
--
-- Lock order: a version, the survey it is a version of, the respondent (profile, then advisory lock), the
-- start, responses, counters (in shards that are never waited for, 42_survey_analytics.sql). Writers of a
-- survey or its questions lock its row FOR NO KEY UPDATE. Respondents lock it FOR SHARE: they run
-- concurrently and exclude a concurrent close. Erasure locks the profile first and surveys FOR KEY SHARE,
-- which does not conflict with respondents.

create table public.surveys (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id() references public.organizations
    (id) on delete cascade,
  title text not null,
  description text not null default '',
  status text not null default 'draft',
  allow_multiple_responses boolean not null default false,
  show_branding boolean not null default true,
  redirect_url text,
  audience text not null default 'everyone',
  audience_submission_id uuid,
  locales text[],
  closes_at timestamptz,
  version_of uuid,
  family_id uuid not null,
  published_at timestamptz,
  closed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint surveys_belong_to_their_organization unique (organization_id, id),
  constraint surveys_version_of_is_of_the_same_organization foreign key (organization_id, version_of)
    references public.surveys (organization_id, id) on delete set null (version_of),
  constraint surveys_audience_submission_is_of_the_same_organization foreign key
    (organization_id, audience_submission_id)
    references public.submissions (organization_id, id) on delete set null (audience_submission_id),
  constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  constraint description_has_at_most_5000_characters check (char_length(description) <= 5000),
  constraint status_is_known check (status in ('draft', 'published', 'paused', 'archived')),
  constraint redirect_url_is_a_web_address check
    (redirect_url ~ '^https?://\S+$' and char_length(redirect_url) <= 2000),
  constraint closes_at_is_a_day_of_the_calendar check
    (closes_at >= '2000-01-01T00:00:00Z' and closes_at < '9999-12-31T00:00:00Z'),
  constraint audience_is_known check (audience in ('everyone', 'voters', 'followers')),
  constraint everyone_needs_no_submission check (audience <> 'everyone' or audience_submission_id is null),
  constraint locales_are_known check (
    cardinality(locales) between 1 and cardinality(private.locales()) and locales <@ private.locales())
);
comment on table public.surveys is
  'Surveys of an organization. audience and locales restrict who may answer and are visible to Admin only. '
  'family_id is shared by all versions of a survey. closed_at: when the survey closed for good; its event '
  'is emitted once. Results are in public.survey_results.';
create index surveys_newest_idx on public.surveys (organization_id, created_at desc, id desc);
create index surveys_status_idx on public.surveys (organization_id, status, created_at desc, id desc);
create index surveys_version_of_idx on public.surveys (version_of) where version_of is not null;
create index surveys_audience_idx on public.surveys (audience_submission_id)
  where audience_submission_id is not null;
create index surveys_family_idx on public.surveys (family_id);
create index surveys_closing_idx on public.surveys (closes_at)
  where closed_at is null and status in ('published', 'paused');
create unique index one_live_version_a_survey on public.surveys (family_id)
  where status in ('published', 'paused');

create table public.survey_questions (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  type text not null,
  text text not null,
  required boolean not null default false,
  position integer not null,
  multiple boolean not null default false,
  scale integer,
  constraint questions_belong_to_their_survey unique (survey_id, id, organization_id),
  constraint one_question_a_position unique (survey_id, position, organization_id),
  constraint survey_questions_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint type_is_known check (type in ('nps', 'rating', 'multiple_choice', 'text', 'email')),
  constraint text_has_1_to_1000_characters check (char_length(text) between 1 and 1000),
  constraint a_survey_has_at_most_200_questions check (position between 1 and 200),
  constraint only_choices_are_multiple check (not multiple or type = 'multiple_choice'),
  constraint ratings_have_a_scale_of_2_to_10 check (case when type = 'rating'
    then scale is not null and scale between 2 and 10 else scale is null end)
);
comment on table public.survey_questions is
  'Questions of a survey, ordered by position. multiple: several options may be chosen. scale: the highest '
  'rating.';

create table public.survey_options (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  survey_id uuid not null,
  question_id uuid not null,
  text text not null,
  position integer not null,
  constraint one_option_a_text unique (question_id, text, organization_id),
  constraint one_option_a_position unique (question_id, position, organization_id),
  constraint survey_options_question_is_of_the_same_survey foreign key
    (organization_id, survey_id, question_id)
    references public.survey_questions (organization_id, survey_id, id) on delete cascade,
  constraint survey_options_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade,
  constraint text_has_1_to_200_characters check (char_length(text) between 1 and 200),
  constraint a_question_has_at_most_100_options check (position between 1 and 100)
);
comment on table public.survey_options is 'Options of a multiple_choice question, ordered by position.';
create index survey_options_survey_idx on public.survey_options (survey_id);

-- Visibility and permissions --------------------------------------------------------------------------------

-- Organizations whose surveys the caller sees as a team member: memberships of a user; the organization
-- of a key with one of the scopes.
-- definer: policies call it, so it must read memberships without applying policies.
create function private.survey_organization_ids(scopes text[]) returns uuid[]
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if private.is_key() then
    return case when scopes && string_to_array(current_setting('feedback.scopes', true), ' ')
      then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships
    where user_id = private.caller_id()), '{}');
end
$$;

grant execute on function private.survey_organization_ids to anon, authenticated, service_key;

create policy "a survey is seen as its board is, a draft by the team" on public.surveys
  for select to anon, authenticated, service_key using (
    organization_id = any ((select
      private.survey_organization_ids('{surveys:read,surveys:write,surveys:publish}'))::uuid[])
    or status <> 'draft' and (
      organization_id = any ((select
        private.survey_organization_ids('{responses:read,analytics:read}'))::uuid[])
      or exists (select from public.organizations o
        where o.id = organization_id and o.visibility = 'public')));
create policy "a key stays in its organization" on public.surveys
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "an agent keeps to its surveys" on public.surveys
  as restrictive to service_key using (
    (select private.agent_survey_ids()) is null or id = any ((select private.agent_survey_ids())::uuid[]));
create policy "admins make surveys" on public.surveys
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins change surveys" on public.surveys
  for update to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[])
    or organization_id = any ((select private.admin_organization_ids('surveys:publish'))::uuid[]));
create policy "admins delete surveys" on public.surveys
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));

create policy "questions are seen with their survey" on public.survey_questions
  for select to anon, authenticated, service_key using (
    exists (select from public.surveys s where s.id = survey_id));
create policy "admins write questions" on public.survey_questions
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins change questions" on public.survey_questions
  for update to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins delete questions" on public.survey_questions
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));

create policy "options are seen with their survey" on public.survey_options
  for select to anon, authenticated, service_key using (
    exists (select from public.surveys s where s.id = survey_id));
create policy "admins write options" on public.survey_options
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins change options" on public.survey_options
  for update to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));
create policy "admins delete options" on public.survey_options
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('surveys:write'))::uuid[]));

grant select (id, organization_id, title, description, status, allow_multiple_responses, show_branding,
  redirect_url, closes_at,
  version_of, published_at, closed_at, created_at, updated_at) on public.surveys to anon, authenticated,
    service_key;
grant insert (organization_id, title, description, allow_multiple_responses, show_branding, redirect_url,
  closes_at, audience,
    audience_submission_id, locales),
  update (title, description, status, allow_multiple_responses, show_branding, redirect_url, closes_at,
    audience,
    audience_submission_id, locales), delete
  on public.surveys to authenticated, service_key, service_role;
grant select, insert (id) on public.surveys to service_role;
grant select, insert, update, delete on public.survey_questions, public.survey_options to service_role;
grant select on public.survey_questions, public.survey_options to anon, authenticated, service_key;
grant insert (organization_id, survey_id, type, text, required, position, multiple, scale),
  update (type, text, required, position, multiple, scale), delete
  on public.survey_questions to authenticated, service_key;
grant insert (organization_id, survey_id, question_id, text, position), update (text, position), delete
  on public.survey_options to authenticated, service_key;

-- Status changes --------------------------------------------------------------------------------------------

-- Trigger: sets the organization. A new survey is a draft, except in an import.
create function private.prepare_survey() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR',
      'Set organization_id. There is more than one organization.',
      'organization_id');
  end if;
  if new.status <> 'draft' and not private.is_importing() then
    perform private.raise_error('CONFLICT',
      'A new survey is a draft. Publish it after creating it.', 'status');
  end if;
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  new.family_id := coalesce(new.family_id, new.id);
  return new;
end
$$;
create trigger prepare before insert on public.surveys
  for each row execute function private.prepare_survey();

create trigger keep_plan_limit after insert on public.surveys
  referencing new table as added for each statement execute function private.enforce_plan_limit();

-- Trigger: enforces the lifecycle. Only the content of a draft may change; publishing a version archives the
-- previous one. definer: reads questions and archives other versions, whoever publishes.
create function private.enforce_survey_status() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare
  acts boolean := private.caller_id() is not null;
  -- The submission of the audience can be deleted while the survey runs; then nobody may answer.
  old_submission uuid := (select s.id from public.submissions s where s.id = old.audience_submission_id);
begin
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if (new.title, new.description, new.allow_multiple_responses, new.show_branding, new.redirect_url,
    new.closes_at, new.audience,
        new.audience_submission_id, new.locales)
      is distinct from (old.title, old.description, old.allow_multiple_responses, old.show_branding,
        old.redirect_url, old.closes_at, old.audience,
        case when new.audience_submission_id is null then old_submission
          else old.audience_submission_id end, old.locales) then
    if acts then perform private.require_admin(old.organization_id, 'surveys:write'); end if;
    perform private.require_draft(old.status);
    new.updated_at := now();
  end if;
  if new.status = old.status then return new; end if;

  if acts then perform private.require_admin(old.organization_id, 'surveys:publish'); end if;
  if new.status <> 'archived' and (old.status, new.status) not
    in (('draft', 'published'), ('published', 'paused'), ('paused', 'published')) then
    perform private.raise_error('CONFLICT',
      format('The status of a survey cannot change from %s to %s.', old.status, new.status), 'status');
  end if;
  new.updated_at := now();
  if new.status = 'published' and new.closes_at <= now() then
    perform private.raise_error('CONFLICT',
      'The closing time is in the past. Choose a later one.', 'closes_at');
  end if;
  if old.status = 'draft' and new.status = 'published' then
    perform private.check_questions(new.id);
    if new.audience <> 'everyone' and new.audience_submission_id is null then
      perform private.raise_error('CONFLICT',
        format('Choose the submission whose %s should answer (targeting.submission_id).', new.audience),
        'targeting.submission_id');
    end if;
    -- Serializes two versions of one survey. The waiting transaction holds only a draft, which the other one
    -- never locks.
    perform pg_advisory_xact_lock(hashtextextended(new.family_id::text, 0));
    update public.surveys set status = 'archived'
      where family_id = new.family_id and status in ('published', 'paused');
    new.published_at := now();
  end if;
  if new.status = 'archived' and old.published_at is not null then
    new.closed_at := coalesce(old.closed_at, now());
  end if;
  return new;
end
$$;
create trigger keep_life before update on public.surveys
  for each row execute function private.enforce_survey_status();

-- Raises CONFLICT unless the status is draft.
create function private.require_draft(status text) returns void
language plpgsql immutable set search_path = pg_temp as $$
begin
  if status <> 'draft' then
    perform private.raise_error('CONFLICT', 'Only drafts can be changed.' || case
      when status <> 'archived' then ' Create a new version of this survey.' else '' end, 'status');
  end if;
end
$$;

-- Raises CONFLICT unless the survey has questions and each question is complete.
create function private.check_questions(survey_id uuid) returns void
language plpgsql stable set search_path = pg_temp as $$
declare question record; asked boolean := false;
begin
  for question in
    select q.type, q.position, exists (select from public.survey_options o
      where o.question_id = q.id) as has_options
    from public.survey_questions q where q.survey_id = check_questions.survey_id order by q.position
  loop
    asked := true;
    if (question.type = 'multiple_choice') <> question.has_options then
      perform private.raise_error('CONFLICT',
        format(case when question.has_options then 'Question %s has options but is not multiple_choice. '
          'Remove its options or change its type.'
        else 'Question %s is multiple_choice but has no options. Add some.' end, question.position),
          format('questions.%s.options', question.position - 1));
    end if;
  end loop;
  if not asked then
    perform private.raise_error('CONFLICT',
      'A survey without questions cannot be published. Add a question first.', 'questions');
  end if;
end
$$;

-- Trigger: emits survey.published and survey.closed, each once. definer: emits events.
create function private.announce_survey() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if old.published_at is null and new.published_at is not null then
    perform private.emit_event(new.organization_id, 'survey.published', new.id,
      jsonb_build_object('survey', jsonb_build_object('id', new.id, 'title', new.title)));
  end if;
  if old.closed_at is null and new.closed_at is not null then
    perform private.emit_event(new.organization_id, 'survey.closed', new.id,
      jsonb_build_object(
        'survey_id', new.id,
        'response_count', (select f.response_count from private.survey_figures(array[new.id]) f)));
  end if;
  return null;
end
$$;
create trigger announce after update on public.surveys
  for each row execute function private.announce_survey();

-- Closes surveys whose closes_at has passed and returns how many; for private.run_schedule.
create function private.close_surveys() returns integer
language plpgsql set search_path = pg_temp as $$
declare closed integer;
begin
  update public.surveys s set closed_at = now() where s.id in (
    select d.id from public.surveys d
    where d.closes_at <= now() and d.closed_at is null and d.status in ('published', 'paused')
    order by d.closes_at limit 500 for no key update skip locked);
  get diagnostics closed = row_count;
  return closed;
end
$$;

-- Trigger: rejects the deletion of a survey with responses, except by private.delete_survey with force.
-- definer: the deleter may not see responses. The row lock excludes concurrent responses.
create function private.protect_responses() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if coalesce(current_setting('feedback.force', true), '') <> 'on'
    and exists (select from public.survey_responses where survey_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('SURVEY_HAS_RESPONSES',
      'This survey has responses. Archive it instead, or delete them with it (force=true).');
  end if;
  return old;
end
$$;
create trigger keep_responses before delete on public.surveys
  for each row execute function private.protect_responses();

-- Questions -------------------------------------------------------------------------------------------------

-- Trigger on questions and options: trims text and sets the organization.
create function private.prepare_question() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  new.text := private.trim_text(new.text);
  if new.organization_id is null then
    new.organization_id := (select s.organization_id from public.surveys s where s.id = new.survey_id);
  end if;
  return new;
end
$$;
create trigger prepare before insert or update on public.survey_questions
  for each row execute function private.prepare_question();
create trigger prepare before insert or update on public.survey_options
  for each row execute function private.prepare_question();

-- Trigger: the default scale of a rating is 5.
create function private.prepare_rating() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  new.scale := coalesce(new.scale, 5);
  return new;
end
$$;
create trigger prepare_rating before insert or update on public.survey_questions
  for each row when (new.type = 'rating') execute function private.prepare_rating();

-- Trigger: questions and options change only while the survey is a draft. Deleting the survey deletes
-- them; an import inserts them with their survey.
-- definer: locks the survey, which serializes the change with publication.
create function private.protect_questions() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare found_status text;
begin
  if private.is_importing() then return null; end if;
  for found_status in
    select s.status from public.surveys s where s.id in (select c.survey_id from changed c)
      order by s.id for no key update
  loop
    perform private.require_draft(found_status);
  end loop;
  return null;
end
$$;
create trigger keep_added after insert on public.survey_questions
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_before after update on public.survey_questions
  referencing old table as changed for each statement execute function private.protect_questions();
create trigger keep_after after update on public.survey_questions
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_removed after delete on public.survey_questions
  referencing old table as changed for each statement execute function private.protect_questions();
create trigger keep_added after insert on public.survey_options
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_before after update on public.survey_options
  referencing old table as changed for each statement execute function private.protect_questions();
create trigger keep_after after update on public.survey_options
  referencing new table as changed for each statement execute function private.protect_questions();
create trigger keep_removed after delete on public.survey_options
  referencing old table as changed for each statement execute function private.protect_questions();

-- Administration --------------------------------------------------------------------------------------------

-- Returns the organization of a survey the caller sees; raises NOT_FOUND otherwise. With a scope, requires Admin
-- (private.require_admin). Invoker: a survey the caller cannot see is not found.
create function private.require_survey(survey_id uuid, scope text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
declare found_id uuid := (select s.organization_id from public.surveys s
  where s.id = require_survey.survey_id and private.in_organization(s.organization_id));
begin
  if found_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  if scope is not null then perform private.require_admin(found_id, scope); end if;
  return found_id;
end
$$;

-- Locks a survey and returns its status; raises NOT_FOUND if it was deleted.
create function private.lock_survey(survey_id uuid) returns text
language plpgsql set search_path = pg_temp as $$
declare found_status text;
begin
  select s.status into found_status from public.surveys s
    where s.id = lock_survey.survey_id for no key update;
  if found_status is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return found_status;
end
$$;

-- Adds questions [{type, text, required, multiple, scale, options: [text]}] to a draft without questions.
create function private.write_questions(organization_id uuid, survey_id uuid, questions jsonb) returns void
language plpgsql set search_path = pg_temp as $$
begin
  with written as (
    insert into public.survey_questions as w
      (organization_id, survey_id, type, text, required, position, multiple, scale)
    select write_questions.organization_id, write_questions.survey_id, q ->> 'type', q ->> 'text',
      coalesce((q ->> 'required')::boolean, false), n,
      coalesce((q ->> 'multiple')::boolean, false), (q ->> 'scale')::integer
    from jsonb_array_elements(questions) with ordinality as a (q, n)
    returning w.id, w.position
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select write_questions.organization_id, write_questions.survey_id, w.id, o, p
  from written w cross join lateral jsonb_array_elements_text(
    coalesce(nullif(questions -> (w.position - 1) -> 'options', 'null'), '[]')) with ordinality as b (o, p);
end
$$;

-- Sets the given fields: title, description, closes_at; settings key by key; targeting as a whole.
create function private.write_settings(survey_id uuid, changes jsonb) returns void
language plpgsql set search_path = pg_temp as $$
declare settings jsonb := coalesce(nullif(changes -> 'settings', 'null'), '{}'); targeting jsonb
  := coalesce(nullif(changes -> 'targeting', 'null'), '{}');
begin
  update public.surveys s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then coalesce(changes ->> 'description', '')
      else s.description end,
    closes_at = case when changes ? 'closes_at' then (changes ->> 'closes_at')::timestamptz
      else s.closes_at end,
    allow_multiple_responses = coalesce((settings ->> 'allow_multiple_responses')::boolean,
      s.allow_multiple_responses),
    show_branding = coalesce((settings ->> 'show_branding')::boolean, s.show_branding),
    redirect_url = case when settings ? 'redirect_url' then settings ->> 'redirect_url'
      else s.redirect_url end
  where s.id = write_settings.survey_id;
  if changes ? 'targeting' then
    update public.surveys s set
      audience = coalesce(targeting ->> 'audience', 'everyone'),
      audience_submission_id = (targeting ->> 'submission_id')::uuid,
      locales = case when jsonb_typeof(targeting -> 'locales') = 'array'
        then array(select jsonb_array_elements_text(targeting -> 'locales')) end
    where s.id = write_settings.survey_id;
  end if;
end
$$;

-- Creates a draft in the current organization from {title, description, questions, settings, targeting,
-- closes_at}; returns its id.
create function private.create_survey(survey jsonb) returns uuid
language plpgsql set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'surveys:write');
  new_id uuid;
begin
  insert into public.surveys (organization_id, title) values (own_id, survey ->> 'title')
    returning id into new_id;
  perform private.write_settings(new_id, survey);
  perform private.write_questions(own_id, new_id, coalesce(nullif(survey -> 'questions', 'null'), '[]'));
  return new_id;
end
$$;

-- Changes a draft; questions are replaced as a whole. Raises CONFLICT if the survey is not a draft.
create function private.update_survey(survey_id uuid, changes jsonb) returns void
language plpgsql set search_path = pg_temp as $$
declare own_id uuid := private.require_survey(survey_id, 'surveys:write');
begin
  perform private.require_draft(private.lock_survey(survey_id));
  perform private.write_settings(survey_id, changes);
  if jsonb_typeof(changes -> 'questions') = 'array' then
    delete from public.survey_questions q where q.survey_id = update_survey.survey_id;
    perform private.write_questions(own_id, survey_id, changes -> 'questions');
  end if;
end
$$;

-- Applies publish, pause, resume or archive. No effect if already in that status; raises CONFLICT if the
-- lifecycle does not allow it.
create function private.change_survey_status(survey_id uuid, action text) returns void
language plpgsql set search_path = pg_temp as $$
declare
  target text := case action when 'pause' then 'paused' when 'archive' then 'archived' else 'published' end;
  present text;
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  present := private.lock_survey(survey_id);
  if present = target then return; end if;
  if action <> 'archive' and present <> (case action when 'publish' then 'draft' when 'pause' then 'published'
    else 'paused' end) then
    perform private.raise_error('CONFLICT', format('%s survey cannot be %s.%s',
      case present when 'archived' then 'An archived' else 'A ' || present end,
      case action when 'publish' then 'published' when 'pause' then 'paused' else 'resumed' end,
      case when action = 'publish' and present = 'paused' then ' Resume it instead.' else '' end), 'status');
  end if;
  update public.surveys s set status = target where s.id = change_survey_status.survey_id;
end
$$;

-- Creates a draft with the questions of a published or paused survey. Publishing the draft archives that
-- survey.
create function private.create_survey_version(survey_id uuid, new_id uuid default gen_random_uuid())
  returns uuid
language plpgsql set search_path = pg_temp as $$
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  return private.clone_survey(survey_id, new_id);
end
$$;

-- Implementation of private.create_survey_version; requires Admin.
-- definer: version_of and family_id are not granted.
create function private.clone_survey(survey_id uuid, new_id uuid default gen_random_uuid()) returns uuid
language plpgsql security definer set search_path = pg_temp as $$
declare source public.surveys;
begin
  perform private.lock_survey(survey_id);
  select * into source from public.surveys s where s.id = clone_survey.survey_id;
  perform private.require_admin(source.organization_id, 'surveys:publish');
  if source.status not in ('published', 'paused') then
    perform private.raise_error('CONFLICT',
      'Only published or paused surveys can have a new version.', 'status');
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
$$;

-- Deletes a survey with its responses; raises SURVEY_HAS_RESPONSES if it has any and force is not true.
create function private.delete_survey(survey_id uuid, force boolean) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.require_survey(survey_id, 'surveys:write');
  -- Lock a version before the survey it is a version of, in the order of publishing.
  perform 1 from public.surveys s where s.version_of = delete_survey.survey_id
    order by s.id for no key update;
  if force then perform set_config('feedback.force', 'on', true); end if;
  delete from public.surveys s where s.id = delete_survey.survey_id;
  if not found then perform private.raise_error('NOT_FOUND', 'There is no such survey.'); end if;
  perform set_config('feedback.force', '', true);
end
$$;

-- Targeting of a survey {audience, submission_id, locales}; requires Admin.
-- definer: targeting is visible to Admin only, so its columns are not granted.
create function private.survey_targeting(survey_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  perform private.require_admin((select s.organization_id from public.surveys s
    where s.id = survey_targeting.survey_id), 'surveys:read');
  return (
    select json_build_object(
      'audience', s.audience,
      'submission_id', s.audience_submission_id,
      'locales', s.locales)
    from public.surveys s where s.id = survey_targeting.survey_id);
end
$$;

grant execute on function private.require_survey, private.survey_targeting to anon, authenticated,
  service_key;
grant execute on function private.require_draft, private.lock_survey, private.write_questions,
  private.write_settings, private.create_survey, private.update_survey, private.change_survey_status,
  private.create_survey_version, private.clone_survey, private.delete_survey to authenticated,
  service_key;
