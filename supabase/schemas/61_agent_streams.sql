-- Streams and subscriptions of agents: rows, so that one opened by one process is served by another.

create table private.agent_streams (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  agent_id uuid not null references private.agents (id) on delete cascade,
  tool text not null,
  arguments jsonb not null,
  confirmed boolean not null,
  locale text not null,
  events jsonb,
  expires_at timestamptz not null default now() + interval '10 minutes'
);
comment on table private.agent_streams is 'Calls to be run when their stream is read, for ten minutes. events are [name, data] once it ran; they are there with what it did, or not at all.';
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
comment on table private.agent_subscriptions is 'Which events an agent asked for, for a day. xid is where the outbox stood: what came later is delivered, also what came before the stream was opened.';
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
comment on table private.open_streams is 'Open streams of subscriptions, of all processes, so that limits hold over all of them. A process renews its streams; those of one that died expire. address is a keyed hash.';
create index open_streams_expiry_idx on private.open_streams (expires_at);

alter table private.open_streams enable row level security;
revoke all on private.open_streams from public, anon, authenticated, service_role, service_key;
alter table private.agent_streams enable row level security;
alter table private.agent_subscriptions enable row level security;
revoke all on private.agent_streams, private.agent_subscriptions from public, anon, authenticated, service_role, service_key;

-- definer: as all of these, private tables; each touches rows of the calling agent only.
create function private.open_stream(id uuid, tool text, arguments jsonb, confirmed boolean, locale text) returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.agent_id();
begin
  perform private.make_room('private.agent_streams', own_id);
  insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale)
  values (id, private.key_organization_id(), own_id, tool, arguments, confirmed, locale);
end
$$;
comment on function private.open_stream(uuid, text, jsonb, boolean, text) is 'Keeps a call for the stream that will run it.';

create function private.make_room(kind regclass, agent_id uuid) returns void
language plpgsql set search_path = '' as $$
declare most constant integer := 100; open integer;
begin
  -- Of one agent they take turns, so that the limit holds.
  perform 1 from private.agents a where a.id = agent_id for no key update;
  execute format('select count(*) from %s where agent_id = $1 and expires_at > now()', kind) into open using agent_id;
  if open >= most then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', format('An agent has at most %s of these open at a time: use or wait for them.', most), null,
      jsonb_build_object('retry_after', 60));
  end if;
end
$$;
comment on function private.make_room(regclass, uuid) is 'Raises RATE_LIMIT_EXCEEDED where an agent has 100 streams or subscriptions.';

create function private.claim_stream(id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare stream private.agent_streams;
begin
  select * into stream from private.agent_streams s
  where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now() for update skip locked;
  if stream.id is null then
    return case when exists (select from private.agent_streams s
      where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now())
      then json_build_object('state', 'running') end;
  end if;
  return json_build_object('state', case when stream.events is null then 'waiting' else 'finished' end,
    'tool', stream.tool, 'arguments', stream.arguments, 'confirmed', stream.confirmed, 'locale', stream.locale, 'events', stream.events);
end
$$;
comment on function private.claim_stream(uuid) is 'A stream of the calling agent: finished, running elsewhere, or waiting, and then this transaction''s to run. Null where there is none.';

create function private.finish_stream(id uuid, events jsonb) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above; the id is known to its agent and the functions only
begin
  update private.agent_streams s set events = finish_stream.events where s.id = finish_stream.id and s.events is null;
end
$$;
comment on function private.finish_stream(uuid, jsonb) is 'Keeps what a stream told, for who reads it again.';

create function private.stream_events(id uuid) returns jsonb
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  return (select s.events from private.agent_streams s where s.id = stream_events.id and s.expires_at > now());
end
$$;
comment on function private.stream_events(uuid) is 'What a stream told; null until it ran.';

create function private.open_subscription(id uuid, events text[], needs jsonb, survey_id uuid) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.agent_id(); need record; allowed text[] := (select a.tools from private.agents a where a.id = own_id);
begin
  for need in select * from jsonb_to_recordset(needs) as n (event text, scope text, tools text[]) loop
    if not private.has_scope(need.scope) then
      perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s.', need.scope), null, jsonb_build_object('scope', need.scope));
    end if;
    if not allowed && need.tools then
      perform private.raise_error('FORBIDDEN', format('The agent''s policies leave it no tool that reads %s.', need.event));
    end if;
  end loop;
  perform private.make_room('private.agent_subscriptions', own_id);
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, survey_id)
  values (id, private.key_organization_id(), own_id, events, survey_id);
end
$$;
comment on function private.open_subscription(uuid, text[], jsonb, uuid) is 'Keeps which events the calling agent wants from now on. needs are [{event, scope, tools}]: its key has to have the scope, and its policies to leave it one of the tools.';

create function private.read_subscription(id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
begin
  return (
    select json_build_object('organization_id', s.organization_id, 'agent_id', a.id, 'events', s.events, 'survey_id', s.survey_id, 'xid', s.xid::text,
      'expires_at', s.expires_at, 'expired', s.expires_at <= now(), 'key_id', current_setting('feedback.key_id'),
      'version', a.updated_at, 'category_ids', a.category_ids, 'survey_ids', a.survey_ids,
      'scopes', string_to_array(current_setting('feedback.scopes'), ' '), 'tools', a.tools)
    from private.agent_subscriptions s join private.agents a on a.id = s.agent_id
    where s.id = read_subscription.id and s.agent_id = private.agent_id());
end
$$;
comment on function private.read_subscription(uuid) is 'A subscription of the calling agent, with the policies and scopes that narrow it; null where there is none.';

create function private.hold_stream(id uuid, address text) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.agent_id(); own_organization_id uuid := private.key_organization_id(); too_many text;
begin
  -- Streams are opened one after the other, so that limits hold.
  perform pg_advisory_xact_lock(hashtextextended('private.open_streams', 0));
  delete from private.open_streams s where s.expires_at < now();
  select case
      when count(*) filter (where s.agent_id = own_id) >= 100 then 'of this agent'
      when count(*) filter (where s.organization_id = own_organization_id) >= 300 then 'of this organization''s agents'
      when count(*) filter (where s.address = hold_stream.address) >= 500 then 'from this address'
    end into too_many
  from private.open_streams s;
  if too_many is not null then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', format('Too many streams %s are open: close some.', too_many), null,
      jsonb_build_object('retry_after', 5));
  end if;
  insert into private.open_streams (id, organization_id, agent_id, address) values (id, own_organization_id, own_id, address);
end
$$;
comment on function private.hold_stream(uuid, text) is 'Counts a stream that the calling agent opens; RATE_LIMIT_EXCEEDED beyond 100 of an agent, 300 of an organization and 500 from an address.';
grant execute on function private.hold_stream(uuid, text) to service_key;

create function private.renew_streams(renewed_ids uuid[], closed_ids uuid[]) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above; ids are known to the process that opened the streams only
begin
  delete from private.open_streams s where s.id = any (closed_ids);
  update private.open_streams s set expires_at = now() + interval '30 seconds' where s.id = any (renewed_ids);
end
$$;
comment on function private.renew_streams(uuid[], uuid[]) is 'Keeps streams counted that are still open, and no longer counts those that were closed.';
grant execute on function private.renew_streams(uuid[], uuid[]) to feedback_api;

grant execute on function private.open_stream(uuid, text, jsonb, boolean, text), private.claim_stream(uuid), private.finish_stream(uuid, jsonb),
  private.open_subscription(uuid, text[], jsonb, uuid), private.read_subscription(uuid) to service_key;

-- For the process that serves open streams: it asks for all of them at once, as the login role ---------------------

create function private.events_after(xid xid8, id bigint, organization_ids uuid[], most integer) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: the outbox is not granted
begin
  return json_build_object('head', pg_snapshot_xmin(pg_current_snapshot())::text, 'events', coalesce((
    select json_agg(json_build_object('xid', e.xid::text, 'id', e.id, 'event_id', e.event_id, 'organization_id', e.organization_id, 'type', e.type,
      'timestamp', e.created_at, 'data', e.data, 'survey_id', coalesce(e.data ->> 'survey_id', e.data -> 'survey' ->> 'id'),
      'category_id', (select s.category_id from public.submissions s
        where s.id = coalesce(e.data ->> 'submission_id', e.data -> 'submission' ->> 'id', e.data -> 'comment' ->> 'submission_id')::uuid))
      order by e.xid, e.id)
    from (
      select * from private.outbox o
      where (o.xid, o.id) > (events_after.xid, events_after.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
        and o.organization_id = any (organization_ids)
      order by o.xid, o.id limit most) e), '[]'));
end
$$;
comment on function private.events_after(xid8, bigint, uuid[], integer) is 'Events of organizations after a cursor, in commit order, and where the outbox stands; with the survey and category by which policies narrow.';

create function private.living_keys(key_ids uuid[]) returns table (key_id uuid, version timestamptz)
language plpgsql stable security definer set search_path = '' as $$ -- definer: keys are not granted
begin
  return query select k.id, a.updated_at from private.api_keys k join private.agents a on a.id = k.profile_id
  where k.id = any (key_ids) and k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and a.retired_at is null;
end
$$;
comment on function private.living_keys(uuid[]) is 'Those keys of agents that are still valid, and when their agent last changed: an open stream ends with its key, and with a change of its policies.';

grant execute on function private.finish_stream(uuid, jsonb), private.stream_events(uuid), private.events_after(xid8, bigint, uuid[], integer),
  private.living_keys(uuid[]) to feedback_api;
