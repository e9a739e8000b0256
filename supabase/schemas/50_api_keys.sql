-- API keys of organizations: create, list, rotate, revoke.

create table private.api_keys (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  profile_id uuid not null references public.profiles (id) deferrable initially deferred,
  name text not null,
  scopes text[] not null,
  digest bytea not null constraint digests_are_unique unique,
  prefix text not null,
  last_four text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_by uuid references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  constraint name_has_1_to_100_characters check (char_length(name) between 1 and 100),
  constraint name_is_visible check (private.trim_text(name) <> ''),
  constraint digest_is_sha256 check (octet_length(digest) = 32),
  constraint scopes_are_plural_noun_colon_action check (
    cardinality(scopes) <= 40 and array_to_string(scopes, ' ') ~ '^([a-z]+:[a-z]+( [a-z]+:[a-z]+)*)?$')
);
comment on table private.api_keys is
  'API keys of organizations and of agents (which act as the agent''s profile). Stores only the SHA-256 '
  'digest of the secret, its prefix and its last four characters.';
create index api_keys_organization_idx on private.api_keys (organization_id, created_at desc);

-- Creates a key and the profile it acts as. The profile has the organization's name, because the key's is for
-- admins only; the organization is locked, so that a concurrent change of its name is not missed. The caller
-- generates the secret, which never reaches the database; digest is its SHA-256.
create function private.create_api_key(
  organization_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text,
  expires_at timestamptz default null, created_by uuid default null)
returns uuid language plpgsql set search_path = pg_temp as $$
declare key_profile uuid; key_id uuid;
begin
  insert into public.profiles (kind, organization_id, name)
  select 'key', o.id, o.name from public.organizations o where o.id = create_api_key.organization_id for share
    returning id into key_profile;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  values (organization_id, key_profile, name, scopes, digest, prefix, last_four, expires_at, created_by)
    returning id into key_id;
  return key_id;
end
$$;

-- Administration --------------------------------------------------------------------------------------------

-- JSON of a key for Admin, without the digest.
create function private.api_key_shape(key private.api_keys) returns json
language sql stable
return json_build_object(
  'id', (key).id,
  'name', (key).name,
  'scopes', (key).scopes,
  'prefix', (key).prefix,
  'last_four', (key).last_four,
  'expires_at', (key).expires_at,
  'revoked_at', (key).revoked_at,
  'last_used_at', (key).last_used_at,
  'created_at', (key).created_at,
  'created_by', private.author((key).created_by, (key).organization_id));

-- Returns the current organization for a signed-in Admin; raises FORBIDDEN otherwise.
-- definer: private tables. Requires a signed-in Admin: a key can never create keys.
create function private.require_key_admin() returns uuid
language plpgsql stable set search_path = pg_temp as $$
declare organization_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can create keys.');
  end if;
  perform private.require_admin(organization_id, '');
  return organization_id;
end
$$;

-- The organization's newest 500 keys, including revoked and expired ones, for Admin.
create function private.admin_list_api_keys() returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = own_id and k.prefix = 'fcs_org_'
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;

-- Creates a key of the current organization from the digest of a secret.
create function private.admin_create_api_key(name text, scopes text[], digest bytea, prefix text,
  last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key_id uuid;
begin
  key_id := private.create_api_key(own_id, name, scopes, digest, prefix, last_four, expires_at,
    private.caller_id());
  perform private.audit('api_key.create', 'api_key', key_id,
    jsonb_build_object('scopes', scopes, 'expires_at', expires_at), own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;

-- Replaces the secret and keeps prefix, name, scopes, expiry and profile. The old secret stays valid for
-- the overlap. Returns null if there is no such key.
create function private.admin_rotate_api_key(
  key_id uuid, digest bytea, prefix text, last_four text, overlap interval, agent_id uuid default null)
returns json language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key private.api_keys; new_id uuid;
begin
  select * into key from private.api_keys k
  where k.id = key_id and k.organization_id = own_id and k.prefix = admin_rotate_api_key.prefix
    and (agent_id is null or k.profile_id = agent_id) for no key update;
  if key.id is null then return null; end if;
  if key.revoked_at is not null or key.expires_at <= now() then
    perform private.raise_error('CONFLICT', 'This key was revoked or has expired. Create a new one.');
  end if;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  values (key.organization_id, key.profile_id, key.name, key.scopes, digest, prefix, last_four,
    key.expires_at, private.caller_id())
  returning id into new_id;
  update private.api_keys k set expires_at = least(k.expires_at, now() + overlap) where k.id = key.id;
  perform private.audit('api_key.rotate', 'api_key', key.id, jsonb_build_object('new_key_id', new_id),
    own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = new_id);
end
$$;

-- Revokes a key immediately and permanently; repeating it is not an error. Returns null if there is no
-- such key.
create function private.admin_revoke_api_key(key_id uuid, agent_id uuid default null) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key private.api_keys;
begin
  update private.api_keys k set revoked_at = coalesce(k.revoked_at, now())
  where k.id = key_id and k.organization_id = own_id
    and case when agent_id is null then k.prefix = 'fcs_org_' else k.profile_id = agent_id end
  returning k.* into key;
  if key.id is not null then perform private.audit('api_key.revoke', 'api_key', key.id, '{}', own_id); end if;
  return case when key.id is not null then private.api_key_shape(key) end;
end
$$;

grant execute on function private.admin_list_api_keys, private.admin_create_api_key,
  private.admin_rotate_api_key, private.admin_revoke_api_key to authenticated;
