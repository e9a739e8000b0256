-- Webhook endpoints of organizations. The edge functions encrypt the secrets; neither plain secrets nor the
-- encryption key are in the database.

create table private.webhooks (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  url text not null,
  events text[] not null,
  encrypted_secret text not null,
  previous_encrypted_secret text,
  previous_secret_until timestamptz,
  is_enabled boolean not null default true,
  enabled_at timestamptz not null default now(),
  disabled_reason text,
  is_healthy boolean not null default false,
  created_by uuid references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint webhooks_belong_to_their_organization unique (organization_id, id),
  constraint url_is_a_web_address check (url ~ '^https?://[^\s[:cntrl:]]+$' and char_length(url) <= 2000),
  constraint events_are_names check
    (cardinality(events) between 1 and 30 and array_position(events, null) is null
    and array_to_string(events, ' ') ~ '^[a-z_]+(\.[a-z_]+)+( [a-z_]+(\.[a-z_]+)+)*$'),
  constraint secrets_are_encrypted check
    (encrypted_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$'
    and previous_encrypted_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$'),
  constraint a_previous_secret_ends check
    ((previous_encrypted_secret is null) = (previous_secret_until is null)),
  constraint disabled_ones_say_why check (is_enabled = (disabled_reason is null)),
  constraint disabled_reason_is_known check (disabled_reason in ('admin', 'gone'))
);
comment on table private.webhooks is
  'Webhook endpoints, at most 100 for an organization. events holds the requested names, including aliases. '
  'Secrets are encrypted with AES-256-GCM as <key id>.<base64url>. is_healthy: the last response was a '
  'success, so several deliveries may be in flight. enabled_at: earlier events are not sent. created_by: the '
  'person, also behind a key, who gave it its URL and secret last.';
create index webhooks_created_by_idx on private.webhooks (created_by);
create trigger touch_updated_at before update of url, events, is_enabled, encrypted_secret on private.webhooks
  for each row execute function private.touch_updated_at();

-- The event that a name or alias refers to; the same names as eventAliases in shared/events.ts.
create function private.canonical_event(name text) returns text
language sql immutable
return case name when 'vote.created' then 'submission.vote_added' when 'status.changed'
  then 'submission.status_changed' else name end;

-- Administration --------------------------------------------------------------------------------------------

-- JSON of a webhook for Admin, without the secret.
create function private.webhook_shape(webhook private.webhooks) returns json
language sql stable set search_path = pg_temp
return json_build_object(
  'id', 'wh_' || replace((webhook).id::text, '-', ''),
  'url', (webhook).url,
  'events', (webhook).events,
  'enabled', (webhook).is_enabled,
  'disabled_reason', (webhook).disabled_reason,
  'previous_secret_expires_at', case when (webhook).previous_secret_until > now()
    then (webhook).previous_secret_until end,
  'created_at', (webhook).created_at,
  'updated_at', (webhook).updated_at,
  'created_by', private.author((webhook).created_by, (webhook).organization_id));

-- Raises NOT_FOUND if the caller cannot see the organization and FORBIDDEN without the required rights.
-- definer: reads memberships and private organizations. Every function below checks the caller's rights with
-- it.
create function private.require_webhook_admin(organization_id uuid, scope text) returns void
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  if not private.in_organization(organization_id) or not exists (
      select from public.organizations o where o.id = organization_id and case when private.is_key()
        then o.id = private.key_organization_id()
        else o.visibility = 'public' or private.is_member(o.id, private.caller_id()) end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.', 'organization');
  end if;
  perform private.require_admin(organization_id, scope);
end
$$;

-- Host and port of a URL.
create function private.host_of(url text) returns text
language sql immutable
return substring(url from '^https?://(?:[^/?#]*@)?([^/?#]*)');

-- Writes a webhook change to the audit trail with the host only: the rest of a URL may contain a secret.
create function private.audit_webhook(action text, webhook private.webhooks, details jsonb default '{}')
  returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.audit('webhook.' || action, 'webhook', webhook.id,
    jsonb_build_object('host', private.host_of(webhook.url)) || details, webhook.organization_id);
end
$$;

-- The organization's webhooks, newest first.
create function private.admin_list_webhooks(organization_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return coalesce((select json_agg(private.webhook_shape(w) order by w.created_at desc, w.id)
    from private.webhooks w where w.organization_id = admin_list_webhooks.organization_id), '[]');
end
$$;

-- One webhook; null if the organization has none with this id.
create function private.admin_show_webhook(organization_id uuid, webhook_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: accesses private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return (select private.webhook_shape(w) from private.webhooks w
    where w.organization_id = admin_show_webhook.organization_id and w.id = webhook_id);
end
$$;

-- The signed-in caller, or the person who created the calling key.
create function private.person_behind() returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  if not private.is_key() then return private.caller_id(); end if;
  return (select k.created_by from private.api_keys k where k.id = private.key_id());
end
$$;

-- Registers an endpoint for future events.
create function private.admin_create_webhook(organization_id uuid, webhook_id uuid, url text, events text[],
  encrypted_secret text) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: accesses private tables
#variable_conflict use_column
declare made private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  -- Serializes registrations, so that the limit holds.
  perform 1 from public.organizations o where o.id = admin_create_webhook.organization_id for no key update;
  if (select count(*) from private.webhooks w where w.organization_id = admin_create_webhook.organization_id)
    >= 100 then
    perform private.raise_error('CONFLICT',
      'An organization can have at most 100 webhooks. Delete one first.');
  end if;
  insert into private.webhooks (id, organization_id, url, events, encrypted_secret, created_by)
  values (webhook_id, organization_id, url, events, encrypted_secret, private.person_behind())
  returning * into made;
  perform private.audit_webhook('create', made, jsonb_build_object('events', made.events));
  return private.webhook_shape(made);
end
$$;

-- Sets the arguments that are not null. Returns null if the organization has no such webhook.
create function private.admin_update_webhook(organization_id uuid, webhook_id uuid, url text, events text[],
  enabled boolean) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: accesses private tables
declare before private.webhooks; changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  select * into before from private.webhooks w
  where w.organization_id = admin_update_webhook.organization_id and w.id = webhook_id for no key update;
  if before.id is null then return null; end if;
  update private.webhooks w set
    url = coalesce(admin_update_webhook.url, w.url),
    -- A new URL has to prove its health again.
    is_healthy = w.is_healthy and coalesce(admin_update_webhook.url = w.url, true),
    created_by = case when admin_update_webhook.url <> w.url then private.person_behind()
      else w.created_by end,
    events = coalesce(admin_update_webhook.events, w.events),
    is_enabled = coalesce(enabled, w.is_enabled),
    enabled_at = case when enabled and not w.is_enabled then now() else w.enabled_at end,
    disabled_reason = case when not coalesce(enabled, w.is_enabled)
      then coalesce(w.disabled_reason, 'admin') end
  where w.id = before.id returning w.* into changed;
  perform private.audit_webhook('update', changed, jsonb_strip_nulls(jsonb_build_object(
    'previous_host', case when changed.url <> before.url then private.host_of(before.url) end,
    'events', case when changed.events <> before.events then changed.events end,
    'enabled', case when changed.is_enabled <> before.is_enabled then changed.is_enabled end)));
  return private.webhook_shape(changed);
end
$$;

-- Deletes a webhook with its delivery log; returns whether it existed.
create function private.admin_delete_webhook(organization_id uuid, webhook_id uuid) returns boolean
language plpgsql security definer set search_path = pg_temp as $$ -- definer: accesses private tables
declare deleted private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  delete from private.webhooks w where w.organization_id = admin_delete_webhook.organization_id
    and w.id = webhook_id
  returning w.* into deleted;
  if deleted.id is null then return false; end if;
  perform private.audit_webhook('delete', deleted);
  return true;
end
$$;

-- Replaces the secret; deliveries are also signed with the previous one until the overlap ends. Returns
-- null if the organization has no such webhook.
create function private.admin_rotate_webhook(organization_id uuid, webhook_id uuid, encrypted_secret text,
  overlap interval) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: accesses private tables
declare changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  update private.webhooks w set
    previous_encrypted_secret = w.encrypted_secret, previous_secret_until = now() + overlap,
      encrypted_secret = admin_rotate_webhook.encrypted_secret, created_by = private.person_behind()
  where w.organization_id = admin_rotate_webhook.organization_id and w.id = webhook_id
  returning w.* into changed;
  if changed.id is null then return null; end if;
  perform private.audit_webhook('rotate', changed,
    jsonb_build_object('previous_secret_until', changed.previous_secret_until));
  return private.webhook_shape(changed);
end
$$;

grant execute on function private.require_webhook_admin, private.admin_list_webhooks,
  private.admin_show_webhook, private.admin_create_webhook, private.admin_update_webhook,
  private.admin_delete_webhook, private.admin_rotate_webhook to authenticated, service_key;
