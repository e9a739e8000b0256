-- Audit trail of an organization: written in the transaction of the change and append-only.

create table private.audit_log (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  -- No foreign keys: entries outlive the rows they reference.
  actor_id uuid,
  key_id uuid,
  action text not null,
  target_type text not null,
  target_id uuid,
  request_id text,
  details jsonb not null,
  -- This is not now(), so that entries of one transaction keep their order.
  created_at timestamptz not null default clock_timestamp(),
  primary key (organization_id, id),
  constraint action_is_noun_dot_verb check (action ~ '^[a-z_]+\.[a-z_]+$'),
  constraint details_are_a_small_object check
    (jsonb_typeof(details) = 'object' and octet_length(details::text) <= 20000)
);
comment on table private.audit_log is
  'Audit trail of the team and its keys. actor_id: the acting profile (null: an operator); key_id: the key it '
  'used. details describes the change without personal data. Append-only; deleted with the organization.';
create index audit_log_newest_idx on private.audit_log (organization_id, created_at desc, id desc);
create index audit_log_target_idx on private.audit_log (organization_id, target_id, created_at desc, id desc);
create index audit_log_actor_idx on private.audit_log (organization_id, actor_id, created_at desc, id desc);
create index audit_log_action_idx on private.audit_log (organization_id, action, created_at desc, id desc);

-- Trigger: rejects changes and deletion, even by the table owner, unless the organization is being deleted.
create function private.protect_audit_log() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  if tg_op = 'DELETE' and not exists (select from public.organizations where id = old.organization_id)
    then return old; end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is append-only.');
end
$$;
create trigger keep before update or delete on private.audit_log
  for each row execute function private.protect_audit_log();
create trigger keep_all before truncate on private.audit_log
  for each statement execute function private.protect_audit_log();

-- The text with e-mail and IP addresses masked. Takes linear time: each expression ends soon after it fails, and
-- none looks behind, which Postgres does from the start of the text.
create function private.without_addresses(value text) returns text
language plpgsql immutable set search_path = pg_temp as $$
declare
  -- Four or more numbers, so that a longer version is masked too.
  ip4 constant text := '[0-9０-９]+(?:[.．][0-9０-９]+){3,}';
  hex constant text := '[0-9a-f]{1,4}';
  tail constant text := format('(?:%s:)*(?:%s|%s)', hex, ip4, hex);
  -- With ::, or with eight parts, of which an IPv4 address counts as two; then perhaps a zone.
  ip6 constant text := format('(^|\W)(?:%s(?::%s)*::(?:%s)?|::%s|(?:%s:){6,}(?:%s|%s:%s))(?!\w)(?:%%\w+)?',
    hex, hex, tail, tail, hex, ip4, hex, hex);
begin
  value := regexp_replace(value, ip6, '\1***', 'gi');
  value := regexp_replace(value, ip4, '***', 'g');
  return regexp_replace(value, '[^\s@＠﹫]+(?:[@＠﹫]|%40)[^\s"@＠﹫]+', '***', 'gi');
end
$$;

-- The JSON with e-mail and IP addresses masked at any nesting.
create function private.mask_addresses(value jsonb) returns jsonb
language plpgsql immutable set search_path = pg_temp as $$
begin
  return case jsonb_typeof(value)
    when 'string' then to_jsonb(private.without_addresses(value #>> '{}'))
    when 'array' then coalesce((select jsonb_agg(private.mask_addresses(e.item) order by e.n)
      from jsonb_array_elements(value) with ordinality e (item, n)), '[]')
    when 'object' then coalesce((select jsonb_object_agg(e.name, private.mask_addresses(e.item))
      from jsonb_each(value) e (name, item)), '{}')
    else value end;
end
$$;

-- Appends to the audit trail; for definer functions. action is noun.verb, such as invite.create. details
-- holds field names, ids and states, never people; e-mail and IP addresses are masked. organization_id
-- defaults to that of the request.
create function private.audit(action text, target_type text, target_id uuid, details jsonb default '{}',
  organization_id uuid default null) returns void
language plpgsql set search_path = pg_temp as $$
begin
  details := private.mask_addresses(details);
  -- Oversized details must not reject the change.
  if octet_length(details::text) > 20000 then details := '{"left_out": "more than 20,000 bytes"}'; end if;
  insert into private.audit_log (organization_id, actor_id, key_id, action, target_type, target_id,
    request_id, details)
  values (coalesce(audit.organization_id, private.current_organization_id()), private.caller_id(),
    private.key_id(), audit.action, audit.target_type, audit.target_id,
    case when session_user = 'feedback_api' then nullif(current_setting('feedback.request_id', true), '') end,
    details);
end
$$;

-- Name of an actor for Admin: of a key its own, which nobody else sees. For definer functions.
create function private.actor_name(actor public.profiles) returns text
language sql stable
return coalesce((select k.name from private.api_keys k
  where k.organization_id = (actor).organization_id and k.profile_id = (actor).id and (actor).kind = 'key'
  limit 1), (actor).name, 'Anonymous');

-- Audit trail of the current organization, newest first, for signed-in Admin; target_id, actor_id, action
-- and days in the organization's time zone (inclusive) filter. Pages by (before_at, before_id).
-- definer: the audit trail is not granted.
create function private.admin_audit(target_id uuid, actor_id uuid, before_at timestamptz, before_id uuid,
  max_rows integer, action text default null, from_day date default null, to_day date default null)
  returns table (more boolean, last text[], data json)
language plpgsql stable security definer
-- Each filter has an index, which a plan for all of them would not use.
set search_path = pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  own_id uuid := private.current_organization_id();
  time_zone text := (select o.time_zone from public.organizations o where o.id = own_id);
  from_at timestamptz := from_day::timestamp at time zone time_zone;
  to_at timestamptz := (to_day + 1)::timestamp at time zone time_zone;
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can read the audit trail.');
  end if;
  perform private.require_admin(own_id, '');
  return query
    with page as (
      select * from private.audit_log a
      where a.organization_id = own_id
        and (admin_audit.target_id is null or a.target_id = admin_audit.target_id)
        and (admin_audit.actor_id is null or a.actor_id = admin_audit.actor_id)
        and (admin_audit.action is null or a.action = admin_audit.action)
        and (from_at is null or a.created_at >= from_at) and (to_at is null or a.created_at < to_at)
        and (before_at is null or (a.created_at, a.id) < (before_at, before_id))
      order by a.created_at desc, a.id desc limit max_rows + 1
    ), shown as (
      select * from page order by created_at desc, id desc limit max_rows
    )
    select (select count(*) from page) > max_rows,
      (select array[s.created_at::text, s.id::text] from shown s order by s.created_at, s.id limit 1),
      coalesce((select json_agg(json_build_object(
        'id', s.id,
        'action', s.action,
        'target_type', s.target_type,
        'target_id', s.target_id,
        'actor', (select json_build_object('id', p.id, 'name', private.actor_name(p))
          from public.profiles p where p.id = s.actor_id),
        'key_id', s.key_id,
        'request_id', s.request_id,
        'details', s.details,
        'at', s.created_at)
        order by s.created_at desc, s.id desc) from shown s), '[]');
end
$$;

-- Values of the filters of the current organization's audit trail: {time_zone, actions, actors}, at most 500
-- actors. For Admin. definer: the audit trail is not granted.
create function private.admin_audit_choices() returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), '');
begin
  -- The log is large and has few actors and actions: each step of a recursion jumps to the next in the index.
  return (
    with recursive actions as (
      (select a.action as name from private.audit_log a
        where a.organization_id = own_id order by a.action limit 1)
      union all
      select (select a.action from private.audit_log a where a.organization_id = own_id and a.action > c.name
        order by a.action limit 1)
      from actions c where c.name is not null
    ), actors as (
      (select a.actor_id as id from private.audit_log a where a.organization_id = own_id
        and a.actor_id is not null order by a.actor_id limit 1)
      union all
      select (select a.actor_id from private.audit_log a
        where a.organization_id = own_id and a.actor_id > c.id
        order by a.actor_id limit 1)
      from actors c where c.id is not null
    ), first_actors as (select id from actors where id is not null limit 500)
    select json_build_object(
      'time_zone', (select o.time_zone from public.organizations o where o.id = own_id),
      'actions', coalesce((select json_agg(name order by name) from actions where name is not null), '[]'),
      'actors', coalesce((select json_agg(json_build_object(
        'id', p.id,
        'kind', p.kind,
        'name', private.actor_name(p)) order by private.actor_name(p) collate "und-x-icu", p.id)
        from first_actors f join public.profiles p on p.id = f.id), '[]')));
end
$$;
grant execute on function private.admin_audit, private.admin_audit_choices to authenticated;

-- Changes of other people's content -------------------------------------------------------------------------

-- In a trigger: whether the caller itself changes content of another author.
create function private.is_moderating(author_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  -- Changes by definer functions and foreign keys are logged by the operation that caused them.
  return current_user in ('authenticated', 'service_key') and author_id is distinct from private.caller_id();
end
$$;
grant execute on function private.is_moderating to authenticated, service_role, service_key;

-- Trigger: logs the names of fields that an Admin or a key changed in another author's submission.
-- definer: writes the audit trail.
create function private.audit_edit() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare changed text[] := (
  select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n
    join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key = any (private.editable_columns(tg_relid)));
begin
  if changed is not null then
    perform private.audit('submission.update', 'submission', new.id, jsonb_build_object('changed', changed),
      new.organization_id);
  end if;
  return null;
end
$$;

-- The trigger has no column list: its condition is true for edits only, since definer functions write the
-- counters.
create trigger audit_edit after update on public.submissions
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_edit();

-- Trigger: logs the deletion of another author's content by an Admin or a key. definer: writes the audit trail.
create function private.audit_delete() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if tg_table_name = 'submissions' then
    perform private.audit('submission.delete', 'submission', old.id, '{}', old.organization_id);
  else
    perform private.audit('comment.delete', 'comment', old.id,
      jsonb_build_object('submission_id', old.submission_id), old.organization_id);
  end if;
  return null;
end
$$;
create trigger audit_delete after delete on public.submissions
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();
create trigger audit_delete after delete on public.comments
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();

-- Surveys ---------------------------------------------------------------------------------------------------

-- Trigger: logs what an Admin or a key does with a survey, with the names of changed fields.
-- definer: writes the audit trail.
create function private.audit_survey() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
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
$$;

-- Logs the change of a draft, unless this transaction has logged it or the draft's creation.
create function private.audit_draft(organization_id uuid, survey_id uuid, changed text[]) returns void
language plpgsql set search_path = pg_temp as $$
declare logged jsonb := jsonb_build_object('changed', changed);
begin
  -- Logged once for each request, whose separate statements write settings, questions and options.
  if not exists (select from private.audit_log a
    where a.organization_id = audit_draft.organization_id and a.target_id = survey_id
      and a.created_at >= now() and a.actor_id = private.caller_id()
      and (a.action = 'survey.create' or a.action = 'survey.update' and a.details = logged)) then
    perform private.audit('survey.update', 'survey', survey_id, logged, audit_draft.organization_id);
  end if;
end
$$;

-- Trigger: logs that an Admin or a key changed the questions or options of a draft.
-- definer: writes the audit trail.
create function private.audit_questions() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare question jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform private.audit_draft((question ->> 'organization_id')::uuid, (question ->> 'survey_id')::uuid,
    array['questions']);
  return null;
end
$$;
create trigger audit after insert or update or delete on public.surveys
  for each row when (private.is_moderating(null)) execute function private.audit_survey();
create trigger audit after insert or update or delete on public.survey_questions
  for each row when (private.is_moderating(null)) execute function private.audit_questions();
create trigger audit after insert or update or delete on public.survey_options
  for each row when (private.is_moderating(null)) execute function private.audit_questions();

-- Reading personal data -------------------------------------------------------------------------------------

-- Logs that a caller read personal data, once an hour for each caller, kind and target: the next pages of
-- a list and a page that is loaded again add nothing. For definer functions that require Admin.
create function private.audit_read(action text, target_type text, target_id uuid, organization_id uuid)
  returns void
language plpgsql set search_path = pg_temp as $$
begin
  if not exists (select from private.audit_log a
    where a.organization_id = audit_read.organization_id and a.target_id = audit_read.target_id
      and a.created_at > now() - interval '1 hour' and a.action = audit_read.action
      and a.actor_id = private.caller_id()) then
    perform private.audit(action, target_type, target_id, '{}', organization_id);
  end if;
end
$$;

-- Logs that an Admin or a key reads or exports (action) responses of a survey; raises NOT_FOUND or FORBIDDEN
-- for others. definer: writes the audit trail.
create function private.audit_responses(survey_id uuid, action text) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_survey(survey_id, 'responses:read');
begin
  if action = 'export' then
    perform private.audit('survey.export', 'survey', survey_id, '{}', own_id);
  else
    perform private.audit_read('survey.read_responses', 'survey', survey_id, own_id);
  end if;
end
$$;
grant execute on function private.audit_responses to authenticated, service_key;
