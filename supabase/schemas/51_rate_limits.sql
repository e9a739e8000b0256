-- Rate limits: rules as data, and exact fixed-window counters.

create table private.rate_limit_rules (
  name text primary key,
  max_requests integer not null constraint max_requests_is_positive check (max_requests > 0),
  window_seconds integer not null constraint window_is_positive check (window_seconds > 0)
);
comment on table private.rate_limit_rules is
  'Rate limit rules; changes take effect at once. A rule <operation>_<kind of caller> takes precedence over '
  '<operation>: it counts by key, the other one by the person the key acts for.';
insert into private.rate_limit_rules (name, max_requests, window_seconds) values
  ('page', 600, 60), ('sign_in', 20, 300), ('sign_in_mail', 20, 300),
  ('token_exchange', 300, 60),
  ('level_public', 30, 60), ('level_user', 100, 60), ('level_admin', 300, 60), ('level_key', 300, 60),
  ('agent_standard', 60, 60), ('agent_professional', 300, 60), ('agent_enterprise', 1000, 60),
  ('submission_create_key', 100, 60), ('submission_create_agent', 100, 60),
    ('submission_create_user', 300, 60), ('submission_update_user', 300, 60),
  ('duplicate_check_public', 30, 60), ('duplicate_check_user', 100, 60), ('duplicate_check_key', 100, 60),
    ('duplicate_check_agent', 100, 60),
  ('comment_create', 20, 3600), ('comment_update', 10, 3600), ('comment_delete', 10, 3600),
    ('comment_list', 100, 60),
  ('vote_create', 30, 3600), ('vote_delete', 30, 3600), ('vote_list', 100, 60),
  ('survey_response_create', 100, 60),
  ('account_mail_mailbox', 10, 3600), ('account_mail_account', 30, 3600), ('account_mail_hour', 30, 3600),
    ('account_mail_day', 100, 86400), ('account_mail_everyone', 1000, 3600);

create unlogged table private.rate_counters (
  rule text not null,
  subject text not null,
  started_at timestamptz not null,
  used integer not null,
  primary key (rule, subject)
) with (fillfactor = 20);
comment on table private.rate_counters is
  'Calls in the current window by rule and subject. Unlogged: a crash empties it. Subjects are ids or keyed '
  'hashes, never addresses.';

-- The rate limit rules in force, by name, for the dashboard. definer: the rules are not granted.
create function private.rate_limits() returns json
language sql stable security definer set search_path = pg_temp
return (select json_agg(json_build_object(
  'name', r.name,
  'max_requests', r.max_requests,
  'window_seconds', r.window_seconds) order by r.name) from private.rate_limit_rules r);
grant execute on function private.rate_limits to authenticated;

create type private.rate_state as (max_requests integer, remaining integer, reset_at timestamptz,
  allowed boolean);
comment on type private.rate_state is
  'State of a counter after a charge: remaining calls, end of the window, and whether the charge was '
  'allowed.';

-- Charges calls of a subject against a rule. Concurrent charges never exceed the limit.
create function private.charge(rule text, max_requests integer, window_seconds integer, subject text,
  calls integer)
returns private.rate_state
language plpgsql set search_path = pg_temp as $$
declare
  at timestamptz := clock_timestamp();
  length interval := make_interval(secs => window_seconds);
  used integer;
  reset_at timestamptz;
begin
  -- A charge above the limit changes nothing and returns no row. A window that begins in the future is over too:
  -- the clock went back.
  insert into private.rate_counters as c (rule, subject, started_at, used) values (rule, subject, at, calls)
  on conflict on constraint rate_counters_pkey do update set
    started_at = case when c.started_at between at - length and at + length then c.started_at else at end,
    used = case when c.started_at between at - length and at + length then c.used + calls else calls end
    where c.started_at not between at - length and at + length or c.used + calls <= charge.max_requests
  returning c.used, c.started_at + length into used, reset_at;
  if used is null then
    select c.used, c.started_at + length into used, reset_at from private.rate_counters c
    where c.rule = charge.rule and c.subject = charge.subject;
    return (max_requests, greatest(0, max_requests - used), coalesce(reset_at, at + length), false);
  end if;
  return (max_requests, greatest(0, max_requests - used), reset_at, used <= max_requests);
end
$$;

-- Whether an operation is counted by the client's address even for signed-in callers: accounts and sessions
-- of identified people can be created at no cost.
create function private.is_counted_by_address(operation text) returns boolean
language sql immutable
return operation in ('sign_in', 'sign_in_mail');

-- Charges calls of a subject against the rule of this name. Allowed if there is no rule or no subject.
create function private.charge_rule(rule text, subject text, calls integer default 1)
returns private.rate_state
language plpgsql set search_path = pg_temp as $$
declare known private.rate_limit_rules;
begin
  select * into known from private.rate_limit_rules r where r.name = charge_rule.rule;
  if known.name is null or subject is null then return (null, null, null, true)::private.rate_state;
  end if;
  return private.charge(known.name, known.max_requests, known.window_seconds, subject, calls);
end
$$;

-- For triggers: charges a client of the data API for each row, in the same counter as the API.
create function private.charge_direct(operation text, calls bigint) returns void
language plpgsql set search_path = pg_temp as $$
declare state private.rate_state;
begin
  if calls = 0 then return; end if;
  state := private.charge_rule(operation, coalesce(private.caller_id()::text, 'nobody'), calls::integer);
  if not state.allowed then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many requests. Wait and try again.', null,
      jsonb_build_object(
        'retry_after', greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp()))::integer)));
  end if;
end
$$;
