-- What an organization's team sets: who may, and how others hear of it.

-- definer: a private organization can be seen by its members before any policy is asked.
create function private.seen_organization(organization_id uuid) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if not private.in_organization(organization_id) or (case when private.is_key() then organization_id is distinct from private.key_organization_id()
      else private.find_organization(organization_id::text, private.caller_id()) is null end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.');
  end if;
  return organization_id;
end
$$;
comment on function private.seen_organization(uuid) is 'An organization a path names, if the caller may see it; NOT_FOUND otherwise.';

create function private.administered_organization(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  perform private.require_admin(private.seen_organization(organization_id), scope);
  return organization_id;
end
$$;
comment on function private.administered_organization(uuid, text) is 'An organization a path names, if the caller administers it; NOT_FOUND where they do not see it, FORBIDDEN where they are no admin.';

create function private.team_organization(organization_id uuid, scope text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() or not private.is_member(private.seen_organization(organization_id), private.caller_id()) then
    perform private.administered_organization(organization_id, scope);
  end if;
  return organization_id;
end
$$;
comment on function private.team_organization(uuid, text) is 'An organization a path names, if the caller is on its team, or a key with the scope; NOT_FOUND or FORBIDDEN otherwise.';

-- How others hear of it ----------------------------------------------------------------------------------------

create function private.emit_organization_update(organization_id uuid, changed text[], changes jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  perform private.emit_event(o.id, 'org.updated', o.id, jsonb_build_object(
    'organization', jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name), 'changed', changed, 'changes', changes))
  from public.organizations o where o.id = emit_organization_update.organization_id;
end
$$;
comment on function private.emit_organization_update(uuid, text[], jsonb) is 'org.updated: settings, or categories, tags or members, changed. For definers.';

-- definer: writes the event and the trail.
create function private.announce_organization() returns trigger
language plpgsql security definer set search_path = '' as $$
declare changed text[]; changes jsonb;
begin
  -- The team's own settings may hold anything, so that only their names are told.
  select array_agg(n.key order by n.key), coalesce(jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value)) filter (where n.key <> 'settings'), '{}')
  into changed, changes
  from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key <> 'updated_at';
  perform private.emit_organization_update(new.id, changed, changes);
  perform private.audit('organization.update', 'organization', new.id, jsonb_build_object('changed', changed, 'changes', changes), new.id);
  return null;
end
$$;
comment on function private.announce_organization() is 'Trigger: org.updated and the trail say what changed, from what to what.';
create trigger announce after update on public.organizations
  for each row when ((old.slug, old.name, old.visibility, old.is_default, old.require_approval, old.trust_after, old.anonymous_may, old.time_zone, old.allowed_origins, old.settings,
      old.max_submissions, old.max_members, old.max_surveys)
    is distinct from (new.slug, new.name, new.visibility, new.is_default, new.require_approval, new.trust_after, new.anonymous_may, new.time_zone, new.allowed_origins, new.settings,
      new.max_submissions, new.max_members, new.max_surveys))
  execute function private.announce_organization();

-- What the team asks -------------------------------------------------------------------------------------------

create function private.organization_shape(organization public.organizations) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', organization.id, 'slug', organization.slug, 'name', organization.name, 'visibility', organization.visibility,
    'require_approval', organization.require_approval, 'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may, 'time_zone', organization.time_zone, 'settings', organization.settings,
    'role', (select m.role from public.memberships m where m.organization_id = organization.id and m.user_id = private.caller_id()),
    'plan', json_build_object(
      'submissions', (select coalesce(sum(c.total), 0) from private.submission_counts c where c.organization_id = organization.id)
        + (select count(*) from public.submissions s where s.organization_id = organization.id and s.merged_into_id is not null),
      'max_submissions', organization.max_submissions,
      'members', (select count(*) from public.memberships m where m.organization_id = organization.id),
      'max_members', organization.max_members,
      'surveys', (select count(distinct s.family_id) from public.surveys s where s.organization_id = organization.id and s.status <> 'archived'),
      'max_surveys', organization.max_surveys),
    'created_at', organization.created_at, 'updated_at', organization.updated_at);
end
$$;
comment on function private.organization_shape(public.organizations) is 'An organization as its team sees it, with the caller''s role and what the plan allows.';

-- definer: settings are not granted.
create function private.admin_organization(organization_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.team_organization(organization_id, 'organization:write');
begin
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
end
$$;
comment on function private.admin_organization(uuid) is 'An organization, for its team and keys with organization:write.';

create function private.admin_update_organization(organization_id uuid, fields jsonb) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.administered_organization(organization_id, 'organization:write');
begin
  if not coalesce(private.is_time_zone(fields ->> 'time_zone'), true) then
    perform private.raise_error('VALIDATION_ERROR', 'must be a time zone such as Europe/Berlin', 'time_zone');
  end if;
  -- What the board's submissions turn into is written with them: the strongest lock comes first.
  perform 1 from public.organizations o where o.id = own_id for update;
  update public.organizations o set
    name = coalesce(fields ->> 'name', o.name), slug = coalesce(fields ->> 'slug', o.slug),
    visibility = coalesce(fields ->> 'visibility', o.visibility),
    require_approval = coalesce((fields ->> 'require_approval')::boolean, o.require_approval),
    trust_after = case when fields ? 'trust_after' then (fields ->> 'trust_after')::integer else o.trust_after end,
    anonymous_may = coalesce(fields ->> 'anonymous_may', o.anonymous_may),
    time_zone = coalesce(fields ->> 'time_zone', o.time_zone),
    settings = coalesce((select jsonb_object_agg(s.key, s.value) from jsonb_each(o.settings || coalesce(fields -> 'settings', '{}')) s
      where s.value <> 'null'), '{}')
  where o.id = own_id;
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
exception
  when unique_violation then
    perform private.raise_error('CONFLICT', 'Another organization has this slug.', 'slug');
  when check_violation then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of at most 20,000 bytes as JSON', 'settings');
end
$$;
comment on function private.admin_update_organization(uuid, jsonb) is 'Sets the fields that are there; of settings the names that are there, null removing one. Admins, or keys with organization:write.';

grant execute on function private.admin_organization(uuid), private.admin_update_organization(uuid, jsonb) to authenticated, service_key;
