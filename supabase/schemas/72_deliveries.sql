-- Webhook deliveries: one row for each event and endpoint, created from the outbox, claimed by dispatchers,
-- kept as the delivery log.

-- The logins of the dispatchers, of webhooks and of mail (73_mail_2_queue.sql).
do $$
declare login text; setting record;
begin
  foreach login in array array['feedback_webhooks', 'feedback_mail'] loop
    if not exists (select from pg_roles where rolname = login) then
      execute format('create role %I login noinherit', login);
    end if;
    execute format('grant usage on schema private to %I', login);
    for setting in select * from (values
      -- Nested loops over indexes only: a plan made while a table was empty must also suit a full table.
      ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
      ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'),
      ('statement_timeout', '15s'), ('lock_timeout', '2s'), ('idle_in_transaction_session_timeout', '15s'),
      -- A pooler may drop settings that the client sends when it connects.
      ('timezone', 'UTC')) s (name, value) loop
      execute format('alter role %I set %s = %L', login, setting.name, setting.value);
    end loop;
  end loop;
end
$$;
comment on role feedback_webhooks is
  'Login role of functions/webhook-dispatch. Owns nothing. May only fan out events, claim deliveries and '
  'record their results.';
comment on role feedback_mail is
  'Login role of functions/mail-dispatch. Owns nothing. May only claim mails, which hold the addresses of '
  'their recipients, and record their results.';

create table private.webhook_deliveries (
  organization_id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event text not null,
  outbox_xid xid8,
  outbox_id bigint,
  data jsonb,
  status text not null default 'pending',
  attempt_count integer not null default 0,
  counted_from integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_at timestamptz,
  attempts jsonb not null default '[]',
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (event_id, webhook_id),
  constraint deliveries_go_to_a_webhook_of_their_organization foreign key (organization_id, webhook_id)
    references private.webhooks (organization_id, id) on delete cascade,
  constraint status_is_known check (status in ('pending', 'sending', 'delivered', 'failed')),
  constraint sending_ones_are_claimed check ((status = 'sending') = (claimed_at is not null)),
  constraint finished_ones_say_when check ((status in ('delivered', 'failed')) = (finished_at is not null)),
  constraint payload_is_here_or_in_the_outbox check
    ((data is null) = (outbox_id is not null) and (outbox_xid is null) = (outbox_id is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
comment on table private.webhook_deliveries is
  'Deliveries by event and endpoint: pending, sending (claimed until next_attempt_at, when the lease ends), '
  'delivered or failed. event is the subscribed name. attempts is the log of the newest 20 attempts; the '
  'retry schedule counts attempts after counted_from. The newest 100 finished deliveries of an endpoint are '
  'kept.';
create index webhook_deliveries_log_idx on private.webhook_deliveries (webhook_id, created_at desc);
create index webhook_deliveries_due_idx on private.webhook_deliveries (webhook_id, status, next_attempt_at)
  where status in ('pending', 'sending');

create table private.webhook_cursor (
  is_only boolean primary key default true constraint there_is_one_cursor check (is_only),
  xid xid8 not null,
  id bigint not null,
  trimmed uuid not null default '00000000-0000-0000-0000-000000000000'
);
comment on table private.webhook_cursor is
  'Outbox position up to which deliveries exist, and the webhook id up to which logs were trimmed.';
insert into private.webhook_cursor (xid, id) values ('0', 0);

create table private.webhook_backlogs (
  organization_id uuid not null,
  webhook_id uuid not null,
  xid xid8 not null,
  id bigint not null,
  primary key (organization_id, webhook_id),
  constraint backlogs_are_of_a_webhook_of_their_organization foreign key (organization_id, webhook_id)
    references private.webhooks (organization_id, id) on delete cascade
);
comment on table private.webhook_backlogs is
  'Endpoints that are behind private.webhook_cursor, and the outbox position up to which their deliveries '
  'exist: those of organizations with many deliveries at a time, and those with many due ones.';

-- Dispatch --------------------------------------------------------------------------------------------------

-- Whether more than 1,000 deliveries of the endpoint are due: it gets new ones only after these are sent.
create function private.is_full(webhook_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.webhook_deliveries d where d.webhook_id = is_full.webhook_id
    and d.status = 'pending' and d.next_attempt_at <= now() order by d.next_attempt_at offset 1000 limit 1);
end
$$;

-- Creates deliveries for the next outbox events, in order and exactly once; endpoints in the backlog get a
-- few at a time. events is max_rows if more remain. held_back: more events wait for an open transaction.
create function private.fan_out_events(max_rows integer default 500)
  returns table (events integer, held_back boolean)
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
declare at private.webhook_cursor; reached record; late integer;
begin
  events := 0;
  select * into at from private.webhook_cursor;
  held_back := exists (select from private.outbox o where (o.xid, o.id) > (at.xid, at.id));
  if held_back or exists (select from private.webhook_backlogs) then
    -- One fan-out at a time; a concurrent caller retries soon.
    select * into at from private.webhook_cursor for update skip locked;
  else
    at := null;
  end if;
  if at.xid is null then
    return next;
    return;
  end if;
  -- A crash would lose only this progress, which is repeated: commits need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  with batch as (
    select o.xid, o.id, o.organization_id from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit max_rows
  ), many as (
    insert into private.webhook_backlogs (organization_id, webhook_id, xid, id)
    select w.organization_id, w.id, at.xid, at.id from (
      select w.organization_id, w.id, count(*) * count(*) over (partition by w.organization_id) as deliveries
      from batch b join private.webhooks w on w.organization_id = b.organization_id and w.is_enabled
      group by w.organization_id, w.id) w
    where w.deliveries > max_rows or private.is_full(w.id)
    on conflict do nothing
  )
  select b.xid, b.id, count(*) over () as events into reached from batch b
  order by b.xid desc, b.id desc limit 1;
  events := coalesce(reached.events, 0);
  if events > 0 then
    update private.webhook_cursor c set xid = reached.xid, id = reached.id where c.xid <= reached.xid;
  else
    reached := at;
  end if;
  with behind as materialized (
    -- Takes endpoints from all organizations in turn: of the first hundred, those that are not full.
    select b.* from (
      select b.*, row_number() over (partition by b.organization_id order by random()) as turn
      from private.webhook_backlogs b order by turn, random() limit 100) b
    where not private.is_full(b.webhook_id) order by b.turn limit 10
  ), next as materialized (
    select b.webhook_id, o.* from behind b cross join lateral (
      select o.xid, o.id, o.event_id, o.type, o.created_at from private.outbox o
      where o.organization_id = b.organization_id and (o.xid, o.id) > (b.xid, b.id)
        and (o.xid, o.id) <= (reached.xid, reached.id)
      order by o.xid, o.id limit 100) o
    union all
    select w.id, o.xid, o.id, o.event_id, o.type, o.created_at
    from private.outbox o join private.webhooks w on w.organization_id = o.organization_id
    where (o.xid, o.id) > (at.xid, at.id) and (o.xid, o.id) <= (reached.xid, reached.id)
      and not exists (select from private.webhook_backlogs b
        where b.organization_id = w.organization_id and b.webhook_id = w.id)
  ), made as (
    insert into private.webhook_deliveries
      (organization_id, webhook_id, event_id, event, outbox_xid, outbox_id)
    select w.organization_id, w.id, n.event_id, asked.name, n.xid, n.id
    from next n join private.webhooks w on w.id = n.webhook_id and w.is_enabled
      -- One in the future: the clock went back.
      and (w.enabled_at <= n.created_at or w.enabled_at > now())
    cross join lateral (
      select a.name from unnest(w.events) with ordinality a (name, position)
      where private.canonical_event(a.name) = n.type order by a.position limit 1) asked
    on conflict do nothing
  ), moved as (
    update private.webhook_backlogs b set xid = l.xid, id = l.id
    from behind e cross join lateral (
      select n.xid, n.id from next n where n.webhook_id = e.webhook_id order by n.xid, n.id offset 99) l
    where b.organization_id = e.organization_id and b.webhook_id = e.webhook_id
  ), done as (
    delete from private.webhook_backlogs b using behind e
    where b.organization_id = e.organization_id and b.webhook_id = e.webhook_id
      and (select count(*) from next n where n.webhook_id = e.webhook_id) < 100
  )
  select count(*) into late from behind;
  -- A committed event may be behind one of an open transaction; retry soon.
  held_back := events < max_rows and exists (
    select from private.outbox o where (o.xid, o.id) > (at.xid, at.id)
      and o.xid >= pg_snapshot_xmin(pg_current_snapshot()));
  if late > 0 and exists (select from private.webhook_backlogs) then events := max_rows; end if;
  return next;
end
$$;

-- Appends an attempt to the log, which keeps 20.
create function private.logged(attempts jsonb, attempt jsonb) returns jsonb
language sql stable
return case when jsonb_array_length(attempts) < 20 then attempts else attempts - 0 end || attempt;

-- JSON of one attempt.
create function private.logged_attempt(number integer, started_at timestamptz, duration_ms integer,
  status_code integer, response_body text, error text)
returns jsonb language sql stable
return jsonb_build_object(
  'number', number,
  'started_at', started_at,
  'duration_ms', duration_ms,
  'status_code', status_code,
  'response_body', response_body,
  'error', error);

-- Claims due deliveries for 30 seconds, including those with expired claims. A healthy endpoint has at most
-- 32 deliveries in flight, any other has one, and an organization has at most as many as remain for others,
-- so that slow or dead endpoints delay no healthy ones, and no organization delays another. Concurrent
-- dispatchers never claim the same delivery.
create function private.claim_deliveries(max_rows integer) returns table (
  webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamptz, is_healthy boolean, url text,
  encrypted_secret text, previous_encrypted_secret text, organization_id uuid, event text,
    occurred_at timestamptz, data jsonb)
language plpgsql set search_path = pg_temp as $$
#variable_conflict use_column
declare endpoint record; room integer := max_rows; taken integer; sender uuid; share integer;
begin
  for endpoint in
    with recursive waiting (id) as (
      (select d.webhook_id from private.webhook_deliveries d where d.status in ('pending', 'sending')
        order by d.webhook_id limit 1)
      union all
      select (select d.webhook_id from private.webhook_deliveries d
        where d.status in ('pending', 'sending') and d.webhook_id > w.id order by d.webhook_id limit 1)
      from waiting w where w.id is not null
    )
    select w.*, case when w.is_healthy then 32 else 1 end - w.busy as slots from (
      select w.*, n.busy, sum(n.busy) over (partition by w.organization_id)::integer as held
      from waiting join private.webhooks w on w.id = waiting.id and w.is_enabled cross join lateral (
        select count(*)::integer as busy from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'sending' and d.next_attempt_at > now()) n) w
    -- One index lookup for each webhook, regardless of the number of its deliveries.
    where least(
      (select d.next_attempt_at from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'pending' order by d.next_attempt_at limit 1),
      (select d.next_attempt_at from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'sending' order by d.next_attempt_at limit 1)
    ) <= now()
    order by w.held, w.organization_id, w.is_healthy desc, random()
  loop
    exit when room <= 0;
    if sender is distinct from endpoint.organization_id then
      sender := endpoint.organization_id;
      share := (room - endpoint.held + 1) / 2;
    end if;
    endpoint.slots := least(endpoint.slots, share);
    continue when endpoint.slots <= 0;
    return query
      with due as materialized (
        select lost.row from (
          select d.ctid as row from private.webhook_deliveries d
          where d.webhook_id = endpoint.id and d.status = 'sending' and d.next_attempt_at <= now()
          order by d.next_attempt_at limit endpoint.slots for update skip locked) lost
        union all
        select waiting.row from (
          select d.ctid as row from private.webhook_deliveries d
          where d.webhook_id = endpoint.id and d.status = 'pending' and d.next_attempt_at <= now()
          order by d.next_attempt_at limit endpoint.slots for update skip locked) waiting
        limit endpoint.slots
      ), claimed as (
        update private.webhook_deliveries d set
          status = 'sending', claimed_at = now(), next_attempt_at = now() + interval '30 seconds',
            attempt_count = d.attempt_count + 1,
          -- An expired claim proves nothing about the receiver: the attempt is logged, but not counted by the
          -- retry schedule.
          counted_from = d.counted_from + (d.status = 'sending')::integer,
          attempts = case when d.status = 'pending' then d.attempts
            else private.logged(d.attempts, private.logged_attempt(
            d.attempt_count, d.claimed_at, null, null, null,
              'The dispatcher ended before it recorded an answer.')) end
        where d.ctid = any (array(select due.row from due))
        returning d.*
      )
      select c.webhook_id, c.event_id, c.attempt_count, c.claimed_at, endpoint.is_healthy, endpoint.url,
        endpoint.encrypted_secret,
        case when endpoint.previous_secret_until > now() then endpoint.previous_encrypted_secret end,
        c.organization_id, c.event, coalesce(o.created_at, c.created_at), coalesce(c.data, o.data)
      from claimed c left join private.outbox o on o.xid = c.outbox_xid and o.id = c.outbox_id;
    get diagnostics taken = row_count;
    room := room - taken;
    share := share - taken;
  end loop;
end
$$;

-- Records results of claimed attempts: [{webhook_id, event_id, attempt, duration_ms, status_code,
-- response_body, error, retry_after in seconds, is_final}]. A 410 disables the endpoint.
create function private.record_deliveries(results jsonb) returns void
language plpgsql set search_path = pg_temp as $$
begin
  -- Update webhooks whose health changed before their deliveries and in id order. A delete takes locks in the
  -- same order, which avoids deadlocks.
  perform 1 from private.webhooks w where w.id in (
    select r.webhook_id from jsonb_to_recordset(results) as r
      (webhook_id uuid, status_code integer, error text)
    where w.is_healthy is distinct from (r.error is null and r.status_code between 200 and 299))
  order by w.id for no key update;
  with results as (
    select r.*, r.error is null and r.status_code between 200
      and 299 as succeeded, r.error is null and r.status_code = 410 as gone,
      coalesce(r.is_final, false) or r.error is null and r.status_code = 410 as is_last
    from jsonb_to_recordset(results) as r
      (webhook_id uuid, event_id uuid, attempt integer, duration_ms integer, status_code integer,
      response_body text, error text, retry_after integer, is_final boolean)
  ), recorded as (
    update private.webhook_deliveries d set
      status = case
        when r.succeeded then 'delivered'
        when r.is_last or private.retry_delay(d.attempt_count - d.counted_from) is null then 'failed'
        else 'pending' end,
      finished_at = case when r.succeeded or r.is_last
        or private.retry_delay(d.attempt_count - d.counted_from) is null then now() end,
      claimed_at = null,
      next_attempt_at = now() + greatest(coalesce(private.retry_delay(d.attempt_count - d.counted_from), '0')
        * (1 + random() * 0.1), case when r.retry_after > 0
        then least(make_interval(secs => r.retry_after), interval '6 hours') end),
      attempts = private.logged(d.attempts,
        private.logged_attempt(d.attempt_count, d.claimed_at, r.duration_ms, r.status_code, r.response_body,
        r.error))
    from results r
    -- Skip deliveries that were claimed again meanwhile. Written so that the planner uses the primary key,
    -- not an index over all deliveries of the endpoint.
    where d.event_id = r.event_id and d.webhook_id is not distinct from r.webhook_id
      and d.claimed_at is not null and d.attempt_count = r.attempt
    returning d.webhook_id, r.succeeded, r.gone
  )
  update private.webhooks w set
    is_healthy = t.succeeded,
    is_enabled = w.is_enabled and not t.gone,
    disabled_reason = case when w.is_enabled and t.gone then 'gone' else w.disabled_reason end
  from (
    select r.webhook_id, bool_or(r.succeeded) as succeeded, bool_or(r.gone) as gone
    from recorded r group by r.webhook_id) t
  where w.id = t.webhook_id and (w.is_healthy <> t.succeeded or t.gone);
end
$$;

-- Delay before the next attempt after the given number of attempts; null after the last.
create function private.retry_delay(attempts integer) returns interval
language sql immutable
return (array['1 minute', '5 minutes', '30 minutes', '2 hours', '6 hours']::interval[])[attempts];

-- One round of a dispatcher: records results and claims due deliveries. max_unproven has no effect; it is
-- kept because release 0.1.0 passes it.
create function private.record_and_claim_deliveries(results jsonb, max_rows integer,
  max_unproven integer default 0) returns table (
  webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamptz, is_healthy boolean, url text,
  encrypted_secret text, previous_encrypted_secret text, organization_id uuid, event text,
    occurred_at timestamptz, data jsonb)
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
begin
  perform private.record_deliveries(results);
  return query select * from private.claim_deliveries(max_rows);
end
$$;

grant execute on function private.fan_out_events, private.record_and_claim_deliveries
  to feedback_webhooks;

-- Waking the dispatcher -------------------------------------------------------------------------------------

-- Calls an edge function through pg_net, which sends after this transaction commits. Vault holds the URL
-- of functions/webhook-dispatch (the other functions are next to it) and the password as
-- webhook_dispatch_url and webhook_dispatch_secret; returns false without them.
create function private.call_function(path text) returns boolean
language plpgsql set search_path = pg_temp as $$
declare dispatcher text; password text;
begin
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then return false; end
    if;
  dispatcher := (select s.decrypted_secret from vault.decrypted_secrets s
    where s.name = 'webhook_dispatch_url');
  password := (select s.decrypted_secret from vault.decrypted_secrets s
    where s.name = 'webhook_dispatch_secret');
  if dispatcher is null or password is null then return false; end if;
  perform net.http_post(url => regexp_replace(dispatcher, '/webhook-dispatch/?$', path), body => '{}'::jsonb,
    headers => jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || password),
    timeout_milliseconds => 5000);
  return true;
end
$$;

-- Calls functions/webhook-dispatch; returns false if Vault has no URL.
create function private.call_dispatcher() returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  return private.call_function('/webhook-dispatch');
end
$$;

-- Calls an edge function when this transaction commits, once: through pg_net if Vault has its URL,
-- otherwise through NOTIFY.
create function private.wake_function(path text, channel text) returns void
language plpgsql set search_path = pg_temp as $$
begin
  if coalesce(current_setting('feedback.called_' || channel, true), '') = pg_current_xact_id()::text
    then return; end if;
  perform set_config('feedback.called_' || channel, pg_current_xact_id()::text, true);
  begin
    if not private.call_function(path) then perform pg_notify(channel, ''); end if;
  -- An error here must not roll back the caller's change; the schedule calls the function anyway.
  exception when others then
    raise warning '% was not called: %', path, sqlerrm;
  end;
end
$$;

-- If the organization has webhooks, starts a dispatcher when this transaction commits.
create function private.wake_dispatcher(organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  if not exists (select from private.webhooks w where w.organization_id = wake_dispatcher.organization_id
    and w.is_enabled) then return; end if;
  perform private.wake_function('/webhook-dispatch', 'webhooks');
end
$$;

-- The log ---------------------------------------------------------------------------------------------------

-- JSON of a delivery in the log, with its newest attempt.
create function private.delivery_shape(delivery private.webhook_deliveries) returns jsonb
language sql stable set search_path = pg_temp
return jsonb_build_object(
  'id', 'evt_' || replace((delivery).event_id::text, '-', ''),
  'event', (delivery).event,
  'status', case (delivery).status when 'sending' then 'pending' else (delivery).status end,
  'attempt_count', (delivery).attempt_count,
  'status_code', (delivery).attempts -> -1 -> 'status_code',
  'response_body', (delivery).attempts -> -1 -> 'response_body',
  'error', (delivery).attempts -> -1 -> 'error',
  'duration_ms', (delivery).attempts -> -1 -> 'duration_ms',
  'next_attempt_at', case when (delivery).status = 'pending' then (delivery).next_attempt_at end,
  'created_at', (delivery).created_at,
  'finished_at', (delivery).finished_at);

-- A page of the newest 100 deliveries of an endpoint; no row if the organization has no such endpoint.
create function private.admin_list_deliveries(organization_id uuid, webhook_id uuid, page integer,
  page_size integer) returns table (total integer, data json)
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, '');
  return query
    with log as materialized (
      select d.* from private.webhook_deliveries d
      where d.webhook_id = admin_list_deliveries.webhook_id
        and d.organization_id = admin_list_deliveries.organization_id
      order by d.created_at desc, d.event_id limit 100
    )
    select (select count(*)::integer from log),
      coalesce((select json_agg(private.delivery_shape(shown::private.webhook_deliveries)) from (
      select l.* from log l order by l.created_at desc, l.event_id
        limit page_size offset (page - 1) * page_size) shown), '[]')
    from private.webhooks w where w.id = admin_list_deliveries.webhook_id
      and w.organization_id = admin_list_deliveries.organization_id;
end
$$;

-- A delivery with its attempts and payload; null if the endpoint has none with this id.
create function private.admin_show_delivery(organization_id uuid, webhook_id uuid, event_id uuid)
  returns jsonb
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: accesses private tables
begin
  perform private.require_webhook_admin(organization_id, '');
  return (select private.delivery_shape(d) || jsonb_build_object(
    'attempts', d.attempts,
    'data', coalesce(d.data, o.data))
    from private.webhook_deliveries d left join private.outbox o on o.xid = d.outbox_xid
      and o.id = d.outbox_id
    where d.webhook_id = admin_show_delivery.webhook_id and d.event_id = admin_show_delivery.event_id
      and d.organization_id = admin_show_delivery.organization_id);
end
$$;

-- Sends the event webhook.test to one endpoint. Returns null if the organization has no such endpoint.
create function private.admin_test_webhook(organization_id uuid, webhook_id uuid) returns jsonb
language plpgsql security definer set search_path = pg_temp as $$ -- definer: accesses private tables
#variable_conflict use_column
declare webhook private.webhooks; made private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  webhook := private.enabled_webhook(organization_id, webhook_id);
  if webhook.id is null then return null; end if;
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  values (organization_id, webhook_id, gen_random_uuid(), 'webhook.test',
    jsonb_build_object('webhook_id', 'wh_' || replace(webhook_id::text, '-', '')))
  returning * into made;
  perform private.wake_dispatcher(organization_id);
  return private.delivery_shape(made);
end
$$;

-- Sends an event to its endpoint again, with the same id and a new retry schedule. Returns null if the
-- endpoint has no such delivery.
create function private.admin_redeliver(organization_id uuid, webhook_id uuid, event_id uuid) returns jsonb
language plpgsql security definer set search_path = pg_temp as $$ -- definer: accesses private tables
#variable_conflict use_column
declare delivery private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, '');
  select d.* into delivery from private.webhook_deliveries d
  where d.webhook_id = admin_redeliver.webhook_id and d.event_id = admin_redeliver.event_id
    and d.organization_id = admin_redeliver.organization_id for no key update;
  if delivery.event_id is null then return null; end if;
  perform private.enabled_webhook(organization_id, webhook_id);
  if delivery.data is null and not exists (select from private.outbox o
    where o.xid = delivery.outbox_xid and o.id = delivery.outbox_id) then
    perform private.raise_error('GONE', 'This event was deleted after its retention period.');
  end if;
  -- Leave a delivery that is in flight.
  if delivery.status <> 'sending' then
    update private.webhook_deliveries d
      set status = 'pending', counted_from = d.attempt_count, next_attempt_at = now(), finished_at = null
    where d.webhook_id = delivery.webhook_id and d.event_id = delivery.event_id returning d.* into delivery;
    perform private.wake_dispatcher(organization_id);
  end if;
  return private.delivery_shape(delivery);
end
$$;

-- Returns the webhook of the organization; raises CONFLICT if it is disabled.
create function private.enabled_webhook(organization_id uuid, webhook_id uuid) returns private.webhooks
language plpgsql stable set search_path = pg_temp as $$
declare webhook private.webhooks;
begin
  select w.* into webhook from private.webhooks w where w.organization_id = enabled_webhook.organization_id
    and w.id = webhook_id;
  if not webhook.is_enabled then
    perform private.raise_error('CONFLICT', 'This webhook is disabled. Enable it first.');
  end if;
  return webhook;
end
$$;

-- The log holds what receivers answered: it is for signed-in admins, not for keys.
grant execute on function private.admin_list_deliveries, private.admin_show_delivery,
  private.admin_redeliver to authenticated;
grant execute on function private.admin_test_webhook to authenticated, service_key;

-- Upkeep ----------------------------------------------------------------------------------------------------

-- Keeps the newest 100 finished deliveries of each endpoint and fails pending deliveries of disabled
-- ones. For private.run_schedule.
create function private.trim_deliveries(max_rows integer default 20000) returns integer
language plpgsql set search_path = pg_temp set enable_seqscan = off as $$
declare at uuid := (select c.trimmed from private.webhook_cursor c); seen uuid; trimmed integer := 0; here
  integer;
begin
  -- Pending deliveries of disabled endpoints fail.
  update private.webhook_deliveries d set status = 'failed', finished_at = now(),
    attempts = private.logged(d.attempts,
      private.logged_attempt(d.attempt_count, null, null, null, null, 'The webhook was disabled.'))
  where d.ctid = any (array(
    select o.ctid from private.webhooks w join private.webhook_deliveries o on o.webhook_id = w.id
      and o.status = 'pending'
    where not w.is_enabled and w.updated_at < now() - interval '1 minute'
      limit max_rows for update of o skip locked));
  -- A few webhooks at a time, starting over after the last.
  for seen in select w.id from private.webhooks w where w.id > at order by w.id limit 200 loop
    delete from private.webhook_deliveries d where d.ctid = any (array(
      select o.ctid from private.webhook_deliveries o
        where o.webhook_id = seen and o.status in ('delivered', 'failed')
      order by o.created_at desc, o.event_id offset 100 limit max_rows - trimmed))
      -- Skip deliveries that were queued again meanwhile.
      and d.status in ('delivered', 'failed');
    get diagnostics here = row_count;
    trimmed := trimmed + here;
    exit when trimmed >= max_rows;
    at := seen;
  end loop;
  if trimmed < max_rows and not exists (select from private.webhooks w where w.id > at) then
    at := '00000000-0000-0000-0000-000000000000';
  end if;
  update private.webhook_cursor c set trimmed = at where c.trimmed <> at;
  return trimmed;
end
$$;
