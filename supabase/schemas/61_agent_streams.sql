-- Streams and subscriptions of agents, stored as rows, so that any process can serve what another one opened.

create table private.agent_streams (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  agent_id uuid not null references private.agents (id) on delete cascade,
  tool text not null,
  arguments jsonb not null,
  confirmed boolean not null,
  locale text not null,
  events jsonb,
  expires_at timestamptz not null default now() + interval '10 minutes',
  is_sentence boolean not null default false
);
comment on table private.agent_streams is
  'Tool calls that run when their stream is first read; kept ten minutes. is_sentence: tool and arguments were '
  'parsed from natural language. events is [name, data] after the run, stored in the transaction of the call, '
  'or the refusal of a sentence.';
create index agent_streams_agent_idx on private.agent_streams (agent_id);
create index agent_streams_organization_idx on private.agent_streams (organization_id);
create index agent_streams_expiry_idx on private.agent_streams (expires_at);

create table private.agent_subscriptions (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  agent_id uuid not null references private.agents (id) on delete cascade,
  events text[] not null,
  survey_id uuid,
  xid xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  expires_at timestamptz not null default now() + interval '1 day'
);
comment on table private.agent_subscriptions is
  'Event subscriptions of agents, kept for a day. xid is the outbox position at creation: later events are '
  'delivered, including those before the stream is opened.';
create index agent_subscriptions_agent_idx on private.agent_subscriptions (agent_id);
create index agent_subscriptions_organization_idx on private.agent_subscriptions (organization_id);
create index agent_subscriptions_expiry_idx on private.agent_subscriptions (expires_at);

create unlogged table private.open_streams (
  id uuid primary key,
  organization_id uuid not null,
  agent_id uuid not null,
  address text,
  expires_at timestamptz not null default now() + interval '30 seconds'
);
comment on table private.open_streams is
  'Open subscription streams of all processes, for global limits. A process renews its streams; those of a '
  'crashed process expire. address is a keyed hash.';
create index open_streams_expiry_idx on private.open_streams (expires_at);

-- Stores a call until its stream is read; events are those of a sentence that was refused.
-- definer: private tables. Each function accesses rows of the calling agent only.
create function private.open_stream(id uuid, tool text, arguments jsonb, confirmed boolean, locale text,
  is_sentence boolean default false, events jsonb default null) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.agent_id();
begin
  perform private.check_stream_limit('private.agent_streams', own_id);
  insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale,
    is_sentence, events)
  values (id, private.key_organization_id(), own_id, tool, arguments, confirmed, locale, is_sentence, events);
end
$$;

-- Raises RATE_LIMIT_EXCEEDED if an agent has 100 pending streams or subscriptions.
create function private.check_stream_limit(kind regclass, agent_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
declare max_open constant integer := 100; open integer;
begin
  -- Serializes calls by agent, so that the limit holds.
  perform 1 from private.agents a where a.id = agent_id for no key update;
  execute format('select count(*) from %s where agent_id = $1 and expires_at > now()', kind) into open
    using agent_id;
  if open >= max_open then
    perform private.raise_error('RATE_LIMIT_EXCEEDED',
      format(case kind when 'private.agent_subscriptions'::regclass
        then 'An agent can have at most %s subscriptions. Wait until one expires.'
        else 'An agent can have at most %s unread streams. Read one, or wait until one expires.' end,
        max_open),
      null, jsonb_build_object('retry_after', 60));
  end if;
end
$$;

-- Locks a stream of the calling agent and returns its state: finished, running in another transaction, or
-- pending and then locked by this one. Returns null if there is none, and for a result if the agent's
-- policies changed since the call was opened.
create function private.claim_stream(id uuid) returns json
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = pg_temp as $$
declare stream private.agent_streams; is_locked boolean;
begin
  select * into stream from private.agent_streams s
  where s.id = claim_stream.id and s.agent_id = private.agent_id()
    and s.expires_at > now() for update skip locked;
  is_locked := stream.id is not null;
  if not is_locked then
    select * into stream from private.agent_streams s
    where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now();
  end if;
  if stream.id is null or stream.events is not null and exists (select from private.agents a
    where a.id = stream.agent_id and a.updated_at > stream.expires_at - interval '10 minutes') then
    return null;
  end if;
  return json_build_object(
    'state', case when not is_locked then 'running'
      when stream.events is null then 'waiting' else 'finished' end,
    'tool', stream.tool,
    'arguments', stream.arguments,
    'confirmed', stream.confirmed,
    'locale', stream.locale,
    'is_sentence', stream.is_sentence,
    'events', stream.events);
end
$$;

-- Stores the events of a finished stream for later reads.
create function private.finish_stream(id uuid, events jsonb) returns void
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = pg_temp as $$
begin
  update private.agent_streams s set events = finish_stream.events
    where s.id = finish_stream.id and s.events is null;
end
$$;

-- Events of a finished stream; null until it is finished.
create function private.stream_events(id uuid) returns jsonb
-- definer: private tables; only the agent and the functions know the id
language sql stable security definer set search_path = pg_temp
return (select s.events from private.agent_streams s
  where s.id = stream_events.id and s.expires_at > now());

-- Creates a subscription of the calling agent. needs is [{event, scope, tools}]: its key must have the
-- scope, and its policies must allow one of the tools.
create function private.open_subscription(id uuid, events text[], needs jsonb, survey_id uuid) returns void
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.agent_id(); need record; allowed text[] := (select a.tools
  from private.agents a where a.id = own_id);
begin
  for need in select * from jsonb_to_recordset(needs) as n (event text, scope text, tools text[]) loop
    if not private.has_scope(need.scope) then
      perform private.raise_error('FORBIDDEN',
        format('This key needs the scope %s. Use a key that has it.', need.scope), null,
        jsonb_build_object('scope', need.scope));
    end if;
    if not allowed && need.tools then
      perform private.raise_error('FORBIDDEN',
        format('The agent''s policies do not allow any tool that reads %s.', need.event));
    end if;
  end loop;
  perform private.check_stream_limit('private.agent_subscriptions', own_id);
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, survey_id)
  values (id, private.key_organization_id(), own_id, events, survey_id);
end
$$;

-- A subscription of the calling agent with its current policies and scopes; null if there is none.
create function private.read_subscription(id uuid) returns json
-- definer: private tables; only the agent and the functions know the id
language sql stable security definer set search_path = pg_temp
return (
  select json_build_object(
    'organization_id', s.organization_id,
    'agent_id', a.id,
    'events', s.events,
    'survey_id', s.survey_id,
    'xid', s.xid::text,
    'expires_at', s.expires_at,
    'expired', s.expires_at <= now(),
    'key_id', current_setting('feedback.key_id'),
    'version', a.updated_at,
    'category_ids', a.category_ids,
    'survey_ids', a.survey_ids,
    'scopes', string_to_array(current_setting('feedback.scopes'), ' '),
    'tools', a.tools)
  from private.agent_subscriptions s join private.agents a on a.id = s.agent_id
  where s.id = read_subscription.id and s.agent_id = private.agent_id());

-- Registers an open stream of the calling agent; raises RATE_LIMIT_EXCEEDED above 100 for an agent, 300
-- for an organization and 500 for an address.
create function private.register_stream(id uuid, address text) returns void
-- definer: private tables; only the agent and the functions know the id
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.agent_id(); own_organization_id uuid := private.key_organization_id(); too_many
  text;
begin
  -- Serializes opening streams, so that the limits hold.
  perform pg_advisory_xact_lock(hashtextextended('private.open_streams', 0));
  delete from private.open_streams s where s.expires_at < now();
  select case
      when count(*) filter (where s.agent_id = own_id) >= 100 then 'of this agent'
      when count(*) filter (where s.organization_id = own_organization_id) >= 300
        then 'of this organization''s agents'
      when count(*) filter (where s.address = register_stream.address) >= 500 then 'from this address'
    end into too_many
  from private.open_streams s;
  if too_many is not null then
    perform private.raise_error('RATE_LIMIT_EXCEEDED',
      format('Too many streams %s are open. Close some.', too_many), null,
      jsonb_build_object('retry_after', 5));
  end if;
  insert into private.open_streams (id, organization_id, agent_id, address)
    values (id, own_organization_id, own_id, address);
end
$$;
grant execute on function private.register_stream to service_key;

-- Renews the registration of open streams and removes closed ones.
create function private.renew_streams(renewed_ids uuid[], closed_ids uuid[]) returns void
-- definer: private tables; only the process that opened the streams knows their ids
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.open_streams s where s.id = any (closed_ids);
  update private.open_streams s set expires_at = now() + interval '30 seconds' where s.id = any (renewed_ids);
end
$$;
grant execute on function private.renew_streams to feedback_api;

grant execute on function private.open_stream, private.claim_stream, private.finish_stream,
  private.open_subscription, private.read_subscription to service_key;

-- For the process that serves open streams: one query for all of them, as the login role --------------------

-- Events of the given organizations after a cursor in commit order, and the current outbox position. For
-- policies, each event has its survey, and the category at its time and now.
create function private.events_after(xid xid8, id bigint, organization_ids uuid[], max_rows integer)
  returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: the outbox is not granted
begin
  return json_build_object(
    'head', pg_snapshot_xmin(pg_current_snapshot())::text,
    'events', coalesce((
      select json_agg(json_build_object(
        'xid', e.xid::text,
        'id', e.id,
        'event_id', e.event_id,
        'organization_id', e.organization_id,
        'type', e.type,
        'timestamp', e.created_at,
        'data', e.data,
        'survey_id', coalesce(e.data ->> 'survey_id', e.data -> 'survey' ->> 'id'),
        'former_category_id', e.category_id,
        'category_id', (select s.category_id from public.submissions s
          where s.id = private.submission_of(e.data)))
        order by e.xid, e.id)
      from (
        select * from private.outbox o
        where (o.xid, o.id) > (events_after.xid, events_after.id)
          and o.xid < pg_snapshot_xmin(pg_current_snapshot())
          and o.organization_id = any (organization_ids)
        order by o.xid, o.id limit max_rows) e), '[]'));
end
$$;

-- The given agent keys that are still valid, with the last change of each agent. A stream closes when its key
-- ends or its agent's policies change.
create function private.active_keys(key_ids uuid[]) returns table (key_id uuid, version timestamptz)
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: keys are not granted
begin
  return query select k.id, a.updated_at from private.api_keys k join private.agents a on a.id = k.profile_id
  where k.id = any (key_ids) and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    and a.retired_at is null;
end
$$;

grant execute on function private.finish_stream, private.stream_events, private.events_after,
  private.active_keys to feedback_api;
