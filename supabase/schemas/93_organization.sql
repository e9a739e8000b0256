-- Organization settings, and access to them.

-- Returns the organization named by a path if the caller may see it; raises NOT_FOUND otherwise.
-- definer: reads private organizations to decide visibility.
create function private.require_visible_organization(organization_id uuid) returns uuid
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if not private.in_organization(organization_id)
    or (case when private.is_key() then organization_id is distinct from private.key_organization_id()
      else private.find_organization(organization_id::text, private.caller_id()) is null end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.');
  end if;
  return organization_id;
end
$$;

-- Returns the organization named by a path for Admin; raises NOT_FOUND if the caller cannot see it,
-- FORBIDDEN if not Admin.
create function private.require_organization_admin(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  perform private.require_admin(private.require_visible_organization(organization_id), scope);
  return organization_id;
end
$$;

-- Returns the organization named by a path for team members or keys with the scope; raises NOT_FOUND or
-- FORBIDDEN otherwise.
create function private.require_team_member(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  if private.is_key() or not private.is_member(private.require_visible_organization(organization_id),
    private.caller_id()) then
    perform private.require_organization_admin(organization_id, scope);
  end if;
  return organization_id;
end
$$;

-- Events and audit ------------------------------------------------------------------------------------------

-- Emits org.updated after changes to settings, categories, tags or members. For definer functions.
create function private.emit_organization_update(organization_id uuid, changed text[],
  changes jsonb default '{}') returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.emit_event(o.id, 'org.updated', o.id, jsonb_build_object(
    'organization', jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'changed', changed,
    'changes', changes))
  from public.organizations o where o.id = emit_organization_update.organization_id;
end
$$;

-- Trigger: emits org.updated and logs old and new values. definer: emits the event and writes the audit trail.
create function private.announce_organization() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare changed text[]; changes jsonb;
begin
  -- settings may contain anything, so only the names of changed keys are published.
  select array_agg(n.key order by n.key),
    coalesce(jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value)) filter
    (where n.key <> 'settings'), '{}')
  into changed, changes
  from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key <> 'updated_at';
  perform private.emit_organization_update(new.id, changed, changes);
  perform private.audit('organization.update', 'organization', new.id,
    jsonb_build_object('changed', changed, 'changes', changes), new.id);
  return null;
end
$$;
create trigger announce after update on public.organizations
  for each row when (to_jsonb(old) - 'updated_at' is distinct from to_jsonb(new) - 'updated_at')
  execute function private.announce_organization();

-- Reading settings ------------------------------------------------------------------------------------------

-- JSON of an organization for its team, with the caller's role and plan limits.
create function private.organization_shape(organization public.organizations) returns json
language plpgsql stable set search_path = pg_temp as $$
begin
  return json_build_object(
    'id', organization.id,
    'slug', organization.slug,
    'name', organization.name,
    'visibility', organization.visibility,
    'require_approval', organization.require_approval,
    'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may,
    'time_zone', organization.time_zone,
    'default_locale', organization.default_locale,
    'settings', organization.settings,
    'brand_color', organization.brand_color,
    'logo_url', organization.logo_url,
    'allow_indexing', organization.allow_indexing,
    'mail_enabled', organization.mail_enabled,
    'mail_defaults', (
      select json_object_agg(k.kind, private.mail_choice(organization.id, null, k.kind) order by k.place)
      from private.mail_kinds() k where k.choices <> '{}'),
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
    'created_at', organization.created_at,
    'updated_at', organization.updated_at);
end
$$;

-- An organization, for its team and keys with organization:write. definer: settings are not granted.
create function private.admin_organization(organization_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_team_member(organization_id, 'organization:write');
begin
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
end
$$;

-- Logos that no organization uses any more. The functions delete their files, now or on schedule.
create table private.removed_logos (
  path text primary key,
  due_at timestamptz not null default now()
);
comment on table private.removed_logos is
  'Paths of uploaded logos that were replaced, or whose organization was deleted: their files are to be '
  'deleted.';

-- Trigger: marks the file of a replaced logo for deletion. definer: clients may not write to private.
create function private.remember_removed_logo() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.removed_logos (path) values (old.logo_url) on conflict do nothing;
  perform private.wake_function('/api/imports/run', 'imports');
  return null;
end
$$;
create trigger remove_replaced_logo after update of logo_url on public.organizations
  for each row when (old.logo_url like '/logos/%' and new.logo_url is distinct from old.logo_url)
  execute function private.remember_removed_logo();
create trigger remove_last_logo after delete on public.organizations
  for each row when (old.logo_url like '/logos/%') execute function private.remember_removed_logo();

-- Removes the paths whose files are deleted, and returns up to 20 others, each again after ten minutes.
-- definer: the login role has no other access to these paths.
create function private.take_removed_logos(deleted text[]) returns setof text
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.removed_logos r where r.path = any (deleted);
  return query
    -- A path whose deletion fails is returned again later, after the others.
    update private.removed_logos r set due_at = now() + interval '10 minutes'
    where r.path = any (array(select w.path from private.removed_logos w where w.due_at <= now()
      order by w.due_at, w.path limit 20 for update skip locked))
    returning r.path;
end
$$;
grant execute on function private.take_removed_logos to feedback_api;

-- The logo of an organization before a change, for Admin or keys with organization:write.
-- definer: settings are not granted.
create function private.admin_logo(organization_id uuid, out id uuid, out logo_url text)
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  id := private.require_organization_admin(organization_id, 'organization:write');
  logo_url := (select o.logo_url from public.organizations o where o.id = admin_logo.id);
end
$$;

-- Sets the given fields; in settings the given keys, where null removes a key. For Admin or keys with
-- organization:write.
create function private.admin_update_organization(organization_id uuid, fields jsonb) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: settings are not granted
declare own_id uuid := private.require_organization_admin(organization_id, 'organization:write');
begin
  if not coalesce(private.is_time_zone(fields ->> 'time_zone'), true) then
    perform private.raise_error('VALIDATION_ERROR', 'must be a time zone such as Europe/Berlin', 'time_zone');
  end if;
  -- A visibility change updates the board's submissions, so take the strongest lock first.
  perform 1 from public.organizations o where o.id = own_id for update;
  update public.organizations o set
    name = coalesce(fields ->> 'name', o.name), slug = coalesce(fields ->> 'slug', o.slug),
    visibility = coalesce(fields ->> 'visibility', o.visibility),
    require_approval = coalesce((fields ->> 'require_approval')::boolean, o.require_approval),
    trust_after = case when fields ? 'trust_after' then (fields ->> 'trust_after')::integer
      else o.trust_after end,
    anonymous_may = coalesce(fields ->> 'anonymous_may', o.anonymous_may),
    time_zone = coalesce(fields ->> 'time_zone', o.time_zone),
    default_locale = coalesce(fields ->> 'default_locale', o.default_locale),
    brand_color = case when fields ? 'brand_color' then fields ->> 'brand_color' else o.brand_color end,
    logo_url = case when fields ? 'logo_url' then fields ->> 'logo_url' else o.logo_url end,
    allow_indexing = coalesce((fields ->> 'allow_indexing')::boolean, o.allow_indexing),
    mail_enabled = coalesce((fields ->> 'mail_enabled')::boolean, o.mail_enabled),
    mail_defaults = o.mail_defaults || coalesce(fields -> 'mail_defaults', '{}'),
    settings = coalesce((select jsonb_object_agg(s.key, s.value)
      from jsonb_each(o.settings || coalesce(fields -> 'settings', '{}')) s
      where s.value <> 'null'), '{}')
  where o.id = own_id;
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
exception when check_violation then
  perform private.raise_error('VALIDATION_ERROR', 'must be an object of at most 20,000 bytes as JSON',
    'settings');
end
$$;

grant execute on function private.admin_organization, private.admin_logo,
  private.admin_update_organization to authenticated, service_key;
