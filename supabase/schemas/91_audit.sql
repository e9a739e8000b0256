-- Who did what for an organization: written with the change itself, and never changed afterwards.

create table private.audit_log (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  -- No foreign keys: the trail outlives whom and what it names.
  actor_id uuid,
  key_id uuid,
  action text not null,
  target_type text not null,
  target_id uuid,
  request_id text,
  details jsonb not null,
  -- Not now(): entries of one transaction keep their order.
  created_at timestamptz not null default clock_timestamp(),
  primary key (organization_id, id),
  constraint action_is_noun_dot_verb check (action ~ '^[a-z_]+\.[a-z_]+$'),
  constraint details_are_a_small_object check (jsonb_typeof(details) = 'object' and octet_length(details::text) <= 20000)
);
comment on table private.audit_log is 'The trail of what the team and its keys did: actor_id is the profile that acted (null: an operator), key_id the key it acted by. details says what changed, without personal data. Rows are only ever added; they go with their organization.';
create index audit_log_newest_idx on private.audit_log (organization_id, created_at desc, id desc);
create index audit_log_target_idx on private.audit_log (organization_id, target_id, created_at desc, id desc);
create index audit_log_actor_idx on private.audit_log (organization_id, actor_id, created_at desc, id desc);
alter table private.audit_log enable row level security;
revoke all on private.audit_log from public, anon, authenticated, service_role, service_key;

create function private.keep_audit_log() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'DELETE' and not exists (select from public.organizations where id = old.organization_id) then return old; end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is only added to.');
end
$$;
comment on function private.keep_audit_log() is 'Trigger: not even its owner changes the trail; it goes with its organization.';
create trigger keep before update or delete on private.audit_log
  for each row execute function private.keep_audit_log();
create trigger keep_all before truncate on private.audit_log
  for each statement execute function private.keep_audit_log();

create function private.request_id() returns text
language plpgsql stable set search_path = '' as $$
begin
  if session_user <> 'feedback_api' then return null; end if;
  return nullif(current_setting('feedback.request_id', true), '');
end
$$;
comment on function private.request_id() is 'The X-Request-Id this transaction answers; null where it does not come by the API.';

create function private.without_addresses(value jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return case jsonb_typeof(value)
    when 'string' then to_jsonb(regexp_replace(value #>> '{}', '[^\s"@]+@[^\s"@]+', '***', 'g'))
    when 'array' then coalesce((select jsonb_agg(private.without_addresses(e.item) order by e.n) from jsonb_array_elements(value) with ordinality e (item, n)), '[]')
    when 'object' then coalesce((select jsonb_object_agg(e.name, private.without_addresses(e.item)) from jsonb_each(value) e (name, item)), '{}')
    else value end;
end
$$;
comment on function private.without_addresses(jsonb) is 'The same with its e-mail addresses masked, however deep they stand.';

create function private.audit(action text, target_type text, target_id uuid, details jsonb default '{}', organization_id uuid default null) returns void
language plpgsql set search_path = '' as $$
begin
  details := private.without_addresses(details);
  -- What was done is not refused because there is much to say of it.
  if octet_length(details::text) > 20000 then details := '{"left_out": "more than 20,000 bytes"}'; end if;
  insert into private.audit_log (organization_id, actor_id, key_id, action, target_type, target_id, request_id, details)
  values (coalesce(audit.organization_id, private.current_organization_id()), private.caller_id(),
    case when private.is_key() then nullif(current_setting('feedback.key_id', true), '')::uuid end,
    audit.action, audit.target_type, audit.target_id, private.request_id(),
    details);
end
$$;
comment on function private.audit(text, text, uuid, jsonb, uuid) is 'Adds to the trail, for functions that are definers. action is noun.verb, such as invite.create; details name fields, ids and states, never people: e-mail addresses are masked. organization_id is of the row that changed; without it, the one the request acts on.';

-- definer: the trail is granted to nobody.
create function private.admin_audit(target_id uuid, actor_id uuid, before_at timestamptz, before_id uuid, most integer) returns table (more boolean, last text[], data json)
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'The audit trail is read by people, not by keys.');
  end if;
  perform private.require_admin(own_id, '');
  return query
    with page as (
      select * from private.audit_log a
      where a.organization_id = own_id and (admin_audit.target_id is null or a.target_id = admin_audit.target_id)
        and (admin_audit.actor_id is null or a.actor_id = admin_audit.actor_id)
        and (before_at is null or (a.created_at, a.id) < (before_at, before_id))
      order by a.created_at desc, a.id desc limit most + 1
    ), shown as (
      select * from page order by created_at desc, id desc limit most
    )
    select (select count(*) from page) > most,
      (select array[s.created_at::text, s.id::text] from shown s order by s.created_at, s.id limit 1),
      coalesce((select json_agg(json_build_object(
        'id', s.id, 'action', s.action, 'target_type', s.target_type, 'target_id', s.target_id,
        'actor', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) from public.profiles p where p.id = s.actor_id),
        'key_id', s.key_id, 'request_id', s.request_id, 'details', s.details, 'at', s.created_at)
        order by s.created_at desc, s.id desc) from shown s), '[]');
end
$$;
comment on function private.admin_audit(uuid, uuid, timestamptz, uuid, integer) is 'The current organization''s trail, newest first, for its admins who signed in; with target_id, what was done to that row; with actor_id, by that profile. Goes on after (before_at, before_id).';
grant execute on function private.admin_audit(uuid, uuid, timestamptz, uuid, integer) to authenticated;

-- What others wrote --------------------------------------------------------------------------------------------

create function private.is_moderating(author_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  -- What a definer or a foreign key does is told by what began it.
  return current_user in ('authenticated', 'service_key') and author_id is distinct from private.caller_id();
end
$$;
comment on function private.is_moderating(uuid) is 'In a trigger: whether the caller itself changes what somebody else wrote.';
grant execute on function private.is_moderating(uuid) to authenticated, service_role, service_key;

-- definer: writes the trail.
create function private.audit_edit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform private.audit('submission.update', 'submission', new.id, jsonb_build_object('changed', (
    select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
    where n.value <> o.value and n.key in ('title', 'description', 'category_id', 'tracker_issue_url'))), new.organization_id);
  return null;
end
$$;
comment on function private.audit_edit() is 'Trigger: the trail names the fields an admin or key changed of what somebody else submitted.';
create trigger audit_edit after update of title, description, category_id, tracker_issue_url on public.submissions
  for each row when (private.is_moderating(old.author_id)
    and (old.title, old.description, old.category_id, old.tracker_issue_url)
      is distinct from (new.title, new.description, new.category_id, new.tracker_issue_url))
  execute function private.audit_edit();

-- definer: as above.
create function private.audit_delete() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_table_name = 'submissions' then
    perform private.audit('submission.delete', 'submission', old.id, '{}', old.organization_id);
  else
    perform private.audit('comment.delete', 'comment', old.id, jsonb_build_object('submission_id', old.submission_id), old.organization_id);
  end if;
  return null;
end
$$;
comment on function private.audit_delete() is 'Trigger: the trail says what an admin or key deleted of what somebody else wrote.';
create trigger audit_delete after delete on public.submissions
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();
create trigger audit_delete after delete on public.comments
  for each row when (private.is_moderating(old.author_id)) execute function private.audit_delete();
