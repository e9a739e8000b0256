-- Agents: policies, keys and the audit trail of tool calls.

create table private.agents (
  id uuid primary key references public.profiles (id) on delete cascade deferrable initially deferred,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  tier text not null default 'standard',
  description text,
  read_only boolean not null default false,
  confirm_destructive boolean not null default false,
  tools text[],
  category_ids uuid[],
  survey_ids uuid[],
  calls_a_day integer,
  retired_at timestamptz,
  created_by uuid references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint tier_is_known check (tier in ('standard', 'professional', 'enterprise')),
  constraint description_has_1_to_500_characters check (char_length(description) between 1 and 500),
  constraint description_is_visible check (private.trim_text(description) <> ''),
  constraint tools_are_snake_case check
    (cardinality(tools) <= 100 and array_to_string(tools, ' ') ~ '^([a-z_]{1,64}( [a-z_]{1,64})*)?$'),
  constraint lists_are_short check (greatest(cardinality(category_ids), cardinality(survey_ids)) <= 200),
  constraint calls_a_day_is_positive check (calls_a_day > 0)
);
comment on table private.agents is
  'Agents of an organization. id is the profile the agent acts as. tier names its rate limit rule. '
  'read_only to calls_a_day are policies that restrict its keys; null means no restriction.';
create index agents_organization_idx on private.agents (organization_id, created_at desc, id);
create trigger touch_updated_at before update on private.agents
  for each row execute function private.touch_updated_at();

-- Creates an agent and the profile it acts as.
create function private.create_agent(organization_id uuid, name text, tier text default 'standard',
  description text default null, created_by uuid default null)
returns uuid language plpgsql set search_path = pg_temp as $$
declare agent_id uuid;
begin
  insert into public.profiles (kind, organization_id, name) values ('agent', organization_id, name)
    returning id into agent_id;
  insert into private.agents (id, organization_id, tier, description, created_by)
  values (agent_id, organization_id, tier, description, created_by);
  return agent_id;
end
$$;

-- Creates a key of an agent: a row of api_keys that acts as the agent's profile. Returns null if there is
-- no such agent.
create function private.create_agent_key(
  agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text,
  expires_at timestamptz default null, created_by uuid default null)
returns uuid language plpgsql set search_path = pg_temp as $$
declare key_id uuid;
begin
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  select a.organization_id, a.id, coalesce(create_agent_key.name, p.name), scopes, digest, prefix, last_four,
    expires_at, create_agent_key.created_by
  from private.agents a join public.profiles p on p.id = a.id where a.id = agent_id
  returning id into key_id;
  return key_id;
end
$$;

-- Tool calls ------------------------------------------------------------------------------------------------

-- Raises FORBIDDEN unless the calling agent's key has the scope and its policies allow the tool. Scopes,
-- row-level security and private.admit_request enforce read_only, categories, surveys and calls_a_day.
-- definer: reads the agent's policies.
create function private.authorize_tool_call(tool text, scope text, destructive boolean, confirmed boolean)
  returns void
language plpgsql stable security definer set search_path = pg_temp as $$
declare agent private.agents;
begin
  if not private.has_scope(scope) then
    perform private.raise_error('FORBIDDEN',
      format('This key needs the scope %s. Use a key that has it.', scope), null,
      jsonb_build_object('scope', scope));
  end if;
  select * into agent from private.agents a where a.id = private.agent_id();
  if tool <> all (agent.tools) then
    perform private.raise_error('FORBIDDEN', format('The agent''s policies do not allow %s.', tool));
  end if;
  if destructive and agent.confirm_destructive and not confirmed then
    perform private.raise_error('VALIDATION_ERROR',
      'This tool updates or deletes data. Call it again with confirm: true.', 'confirm');
  end if;
end
$$;

create table private.agent_audit (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  agent_id uuid not null,
  key_id uuid not null,
  request_id uuid not null,
  tool text not null,
  scope text,
  outcome text not null,
  duration_ms real not null,
  argument_names text[] not null,
  address text,
  created_at timestamptz not null default now()
);
comment on table private.agent_audit is
  'Audit trail of agent calls: append-only, kept for private.retention(agent_calls). Stores argument names '
  'without values and the address as a keyed hash; outcome is ok or an error code. No foreign keys: each '
  'call would lock the agent''s row.';
create index agent_audit_agent_idx on private.agent_audit (agent_id, id desc);
create index agent_audit_age_idx on private.agent_audit using brin (created_at);

-- Trigger: rejects changes, and deletion within private.retention(agent_calls).
create function private.protect_agent_audit() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  if tg_op = 'DELETE' and old.created_at < now() - private.retention('agent_calls') then
    return old;
  end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is append-only.');
end
$$;
create trigger keep before update or delete on private.agent_audit
  for each row execute function private.protect_agent_audit();

-- Appends a writing call to the audit trail in the transaction of the call.
-- definer: the audit trail is not granted.
create function private.record_tool_call(request_id uuid, tool text, scope text, argument_names text[],
  address text) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names,
    address)
  values (private.key_organization_id(), private.agent_id(), current_setting('feedback.key_id')::uuid,
    request_id, tool, scope, 'ok',
    extract(epoch from clock_timestamp() - now()) * 1000, argument_names, address);
end
$$;

-- Appends calls that only read or that failed. They changed nothing, so the commit does not wait for the
-- disk. definer: the login role calls it after the transaction of the call.
create function private.record_tool_calls(calls jsonb) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names,
    address)
  select k.organization_id, k.profile_id, k.id, c.request_id, c.tool, c.scope, c.outcome, c.duration_ms,
    c.argument_names, c.address
  from jsonb_to_recordset(calls) as c
    (digest text, request_id uuid, tool text, scope text, outcome text, duration_ms real,
    argument_names text[], address text)
  join private.api_keys k on k.digest = decode(c.digest, 'hex') join private.agents a on a.id = k.profile_id;
end
$$;

-- The calling agent with its effective scopes and the tools that its policies allow; tools is null if all are
-- allowed. definer: agents are not granted.
create function private.agent_self() returns json
language sql stable security definer set search_path = pg_temp
return (
  select json_build_object(
    'id', a.id,
    'name', p.name,
    'tier', a.tier,
    'scopes', string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '),
    'tools', a.tools)
  from private.agents a join public.profiles p on p.id = a.id where a.id = private.agent_id());

grant execute on function private.authorize_tool_call, private.record_tool_call, private.agent_self
  to service_key;
grant execute on function private.record_tool_calls to feedback_api;

-- Administration --------------------------------------------------------------------------------------------

-- JSON of an agent for Admin.
create function private.agent_shape(agent private.agents) returns json
language sql stable
return json_build_object(
  'id', agent.id,
  'name', (select p.name from public.profiles p where p.id = agent.id),
  'description', agent.description,
  'tier', agent.tier,
  'retired_at', agent.retired_at,
  'created_at', agent.created_at,
  'created_by', private.author(agent.created_by, agent.organization_id));

-- Returns an agent of the current organization for a signed-in Admin; raises FORBIDDEN or NOT_FOUND
-- otherwise.
create function private.find_agent(agent_id uuid) returns private.agents
language plpgsql stable set search_path = pg_temp as $$
declare own_id uuid := private.require_key_admin(); agent private.agents;
begin
  select * into agent from private.agents a where a.id = agent_id and a.organization_id = own_id;
  if agent.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such agent.');
  end if;
  return agent;
end
$$;

-- The organization's newest 500 agents, including retired ones.
create function private.admin_list_agents() returns json
-- definer: private tables; each function below requires Admin
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.agent_shape(a) order by a.created_at desc, a.id)
    from (select * from private.agents a where a.organization_id = own_id
      order by a.created_at desc, a.id limit 500) a), '[]');
end
$$;

-- Creates an agent in the current organization.
create function private.admin_create_agent(name text, tier text, description text) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: agents are not granted
declare made uuid := private.create_agent(private.require_key_admin(), name, tier, description,
  private.caller_id());
begin
  perform private.audit('agent.create', 'agent', made, jsonb_build_object('tier', tier));
  return (select private.agent_shape(a) from private.agents a where a.id = made);
end
$$;

-- Sets the arguments that are not null; an empty description removes it.
create function private.admin_update_agent(agent_id uuid, name text, tier text, description text) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  update public.profiles p set name = admin_update_agent.name
    where p.id = agent.id and admin_update_agent.name is not null;
  update private.agents a set tier = coalesce(admin_update_agent.tier, a.tier),
    description = case when admin_update_agent.description is null then a.description
      else nullif(admin_update_agent.description, '') end
  where a.id = agent.id returning a.* into agent;
  perform private.audit('agent.update', 'agent', agent.id, jsonb_build_object('tier', agent.tier));
  return private.agent_shape(agent);
end
$$;

-- Retires an agent and revokes its keys. For definer functions.
create function private.retire_agent(agent_id uuid) returns private.agents
language plpgsql set search_path = pg_temp as $$
declare agent private.agents;
begin
  update private.api_keys k set revoked_at = now() where k.profile_id = agent_id and k.revoked_at is null;
  update private.agents a set retired_at = coalesce(a.retired_at, now()) where a.id = agent_id
    returning a.* into agent;
  return agent;
end
$$;

-- Retires the agent and revokes its keys permanently; it stays as the author of its content.
create function private.admin_retire_agent(agent_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  agent := private.retire_agent(agent.id);
  perform private.audit('agent.retire', 'agent', agent.id);
  return private.agent_shape(agent);
end
$$;

-- Policies of an agent; an object replaces all of them.
create function private.admin_agent_policies(agent_id uuid, policies jsonb) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  if policies is not null then
    update private.agents a set
      read_only = (policies ->> 'read_only')::boolean,
      confirm_destructive = (policies ->> 'confirm_destructive')::boolean,
      calls_a_day = (policies ->> 'calls_a_day')::integer,
      tools = private.text_array(policies -> 'tools'),
      category_ids = private.text_array(policies -> 'category_ids')::uuid[],
      survey_ids = private.text_array(policies -> 'survey_ids')::uuid[]
    where a.id = agent.id returning a.* into agent;
    if exists (select from unnest(agent.category_ids) as wanted
      where not exists (select from public.categories c
        where c.id = wanted and c.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR',
        'contains an id that is not a category of this organization',
        'category_ids');
    end if;
    if exists (select from unnest(agent.survey_ids) as wanted
      where not exists (select from public.surveys s
        where s.id = wanted and s.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR',
        'contains an id that is not a survey of this organization',
        'survey_ids');
    end if;
    perform private.audit('agent.set_policies', 'agent', agent.id, policies);
  end if;
  return json_build_object(
    'read_only', agent.read_only,
    'confirm_destructive', agent.confirm_destructive,
    'tools', agent.tools,
    'category_ids', agent.category_ids,
    'survey_ids', agent.survey_ids,
    'calls_a_day', agent.calls_a_day);
end
$$;

-- A JSON array of text as a text array; null for null.
create function private.text_array(value jsonb) returns text[]
language plpgsql immutable set search_path = pg_temp as $$
begin
  return case when jsonb_typeof(value) = 'array' then array(select jsonb_array_elements_text(value)) end;
end
$$;

-- The agent's newest 500 keys, including revoked and expired ones.
create function private.admin_list_agent_keys(agent_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = agent.organization_id
      and k.profile_id = agent.id
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$$;

-- Creates a key of an agent from the digest of a secret.
create function private.admin_create_agent_key(
  agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamptz)
returns json language plpgsql security definer set search_path = pg_temp
as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id); key_id uuid;
begin
  if agent.retired_at is not null then
    perform private.raise_error('CONFLICT', 'This agent is retired. Create another one.');
  end if;
  key_id := private.create_agent_key(agent.id, name, scopes, digest, prefix, last_four, expires_at,
    private.caller_id());
  perform private.audit('agent_key.create', 'api_key', key_id,
    jsonb_build_object('agent_id', agent.id, 'scopes', scopes));
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$$;

-- Calls of an agent, newest first, below the given id.
create function private.admin_agent_audit(agent_id uuid, before bigint, tool text, outcome text,
  max_rows integer) returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(json_build_object(
    'id', t.id,
    'key_id', t.key_id,
    'request_id', t.request_id,
    'tool', t.tool,
    'scope', t.scope,
    'outcome', t.outcome,
    'duration_ms', round(t.duration_ms::numeric, 1),
    'argument_names', t.argument_names,
    'address', t.address,
    'created_at', t.created_at) order by t.id desc)
    from (select * from private.agent_audit t
      where t.agent_id = agent.id and t.organization_id = agent.organization_id
        and (before is null or t.id < before)
        and (admin_agent_audit.tool is null or t.tool = admin_agent_audit.tool)
        and (admin_agent_audit.outcome is null or t.outcome = admin_agent_audit.outcome)
      order by t.id desc limit max_rows) t), '[]');
end
$$;

grant execute on function private.admin_list_agents, private.admin_create_agent,
  private.admin_update_agent, private.admin_retire_agent, private.admin_agent_policies,
  private.admin_list_agent_keys, private.admin_create_agent_key, private.admin_agent_audit
  to authenticated;
