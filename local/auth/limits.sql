-- Rate limits of /auth/v1 in the embedded stack; hosted Supabase has its own. Idempotent; run by the
-- superuser after platform.sql.

set local client_min_messages = warning;

do $do$
begin
  if not exists (select from pg_roles where rolname = 'auth_guard') then
    create role auth_guard;
  end if;
end
$do$;
-- The launcher, as postgres, sets a new password at each start.
alter role auth_guard login noinherit password null;
grant auth_guard to postgres with admin option;
alter role auth_guard set statement_timeout = '4s';
alter role auth_guard set lock_timeout = '3s';

create schema if not exists auth_limits authorization supabase_auth_admin;
grant usage on schema auth_limits to auth_guard;

-- Rules --------------------------------------------------------------------------------------------------------
create table if not exists auth_limits.rules (
  action text not null
    constraint action_is_known check (action in ('sign_in', 'sign_up', 'verify', 'code', 'mail', 'refresh', 'change')),
  counted_by text not null
    constraint counted_by_is_known check (counted_by in ('address', 'account', 'address_and_account', 'everyone')),
  counts text not null constraint counts_is_known check (counts in ('tries', 'failures')),
  max_tries integer not null constraint max_tries_is_positive check (max_tries > 0),
  window_seconds integer not null constraint window_is_positive check (window_seconds > 0),
  primary key (action, counted_by)
);
-- Replaces the constraints of a table that an earlier version created.
alter table auth_limits.rules drop constraint action_is_known, drop constraint counted_by_is_known,
  add constraint action_is_known check (action in ('sign_in', 'sign_up', 'verify', 'code', 'mail', 'refresh', 'change')),
  add constraint counted_by_is_known check (counted_by in ('address', 'account', 'address_and_account', 'everyone'));
comment on table auth_limits.rules is 'Rate limits of sign-in and similar actions. An operator may change or delete rows, with immediate effect. Rules by account, and of everyone, do not apply to an address where the account has signed in before.';
insert into auth_limits.rules (action, counted_by, counts, max_tries, window_seconds) values
  ('sign_in', 'address_and_account', 'failures', 10, 600),
  ('sign_in', 'address', 'failures', 30, 300),
  ('sign_in', 'account', 'failures', 50, 3600),
  ('sign_up', 'address', 'tries', 100, 300),
  ('sign_up', 'account', 'tries', 10, 600),
  ('verify', 'address_and_account', 'failures', 10, 600),
  ('verify', 'address', 'failures', 30, 300),
  ('verify', 'account', 'failures', 30, 3600),
  -- Against many clients that guess codes of many accounts. Links keep working.
  ('code', 'everyone', 'failures', 2000, 3600),
  ('mail', 'address_and_account', 'tries', 5, 3600),
  ('mail', 'address', 'tries', 30, 300),
  ('mail', 'account', 'tries', 10, 3600),
  ('refresh', 'address', 'failures', 60, 300),
  ('refresh', 'account', 'tries', 100, 300),
  ('change', 'address', 'tries', 100, 300),
  ('change', 'account', 'tries', 20, 600)
on conflict do nothing;

create table if not exists auth_limits.counters (
  action text not null,
  counted_by text not null,
  subject text not null,
  started_at timestamptz not null,
  used integer not null,
  primary key (action, counted_by, subject)
) with (fillfactor = 50);
comment on table auth_limits.counters is 'Attempts in the current window of a rule. Subjects are ids, or keyed hashes of addresses and email addresses.';

create table if not exists auth_limits.known_addresses (
  account text not null,
  address text not null,
  seen_at timestamptz not null,
  primary key (account, address)
);
comment on table auth_limits.known_addresses is 'Client addresses where an account has signed in during the last 90 days, as keyed hashes. The limits by account do not apply to them, so others cannot lock out the owner.';
create index if not exists known_addresses_seen_at_idx on auth_limits.known_addresses (seen_at);

create or replace function auth_limits.subject(counted_by text, address text, account text) returns text
language sql immutable set search_path = pg_temp
return case counted_by when 'address' then address when 'account' then account when 'everyone' then 'everyone'
  else address || ' ' || account end;

-- Definer, and owned by postgres: neither the guard nor auth may use schema private.
create or replace function auth_limits.mailbox(address text) returns text
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  -- A database that has only the migrations of an earlier version lacks the function.
  if to_regprocedure('private.mailbox(text)') is null then return lower(address); end if;
  return private.mailbox(address);
end
$$;

-- Definer: the guard's login may charge an attempt, but not write counters directly.
create or replace function auth_limits.take(
  action text, address text, account text,
  out allowed boolean, out retry_after integer, out charged text[], out taken_at timestamptz
)
language plpgsql security definer set search_path = pg_temp as $$
declare
  rule auth_limits.rules;
  length interval;
  by_whom text;
  at timestamptz := clock_timestamp();
begin
  allowed := true;
  charged := '{}';
  -- Always in the same order, to prevent deadlocks; the narrowest rule first, so that most rejections write
  -- nothing.
  for rule in select r.* from auth_limits.rules r where r.action = take.action order by r.counted_by desc loop
    by_whom := auth_limits.subject(rule.counted_by, address, account);
    length := make_interval(secs => rule.window_seconds);
    continue when by_whom is null;
    continue when rule.counted_by in ('account', 'everyone') and exists (
      select from auth_limits.known_addresses k where k.account = take.account and k.address = take.address);
    insert into auth_limits.counters as c (action, counted_by, subject, started_at, used)
    values (rule.action, rule.counted_by, by_whom, at, 1)
    -- A window that begins in the future is over too: the clock went back.
    on conflict on constraint counters_pkey do update set
      started_at = case when c.started_at between at - length and at + length then c.started_at else at end,
      used = case when c.started_at between at - length and at + length then c.used + 1 else 1 end
      where c.started_at not between at - length and at + length or c.used < rule.max_tries;
    if found then
      charged := charged || rule.counted_by;
      continue;
    end if;
    allowed := false;
    select greatest(1, ceil(extract(epoch from c.started_at + length - at))::integer) into retry_after
    from auth_limits.counters c
    where (c.action, c.counted_by, c.subject) = (rule.action, rule.counted_by, by_whom);
    -- A rejected attempt is not charged to the other rules.
    update auth_limits.counters c set used = c.used - 1
    where c.action = take.action and c.counted_by = any (charged)
      and c.subject = auth_limits.subject(c.counted_by, address, take.account);
    charged := '{}';
    exit;
  end loop;
  taken_at := clock_timestamp();
end
$$;
comment on function auth_limits.take(text, text, text) is 'Charges an attempt before it is made. Concurrent attempts cannot exceed the limits.';

-- Definer: see auth_limits.take().
create or replace function auth_limits.settle(
  action text, address text, account text, charged text[], taken_at timestamptz, outcome text
) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare rule auth_limits.rules;
begin
  -- In the order of auth_limits.take().
  for rule in
    select r.* from auth_limits.rules r
    where r.action = settle.action and r.counted_by = any (charged) and (r.counts = 'failures' or outcome = 'not_made')
    order by r.counted_by desc
  loop
    update auth_limits.counters c set
      used = case when rule.counted_by = 'address_and_account' and outcome = 'succeeded' then 0 else greatest(0, c.used - 1) end
    where (c.action, c.counted_by) = (rule.action, rule.counted_by)
      and c.subject = auth_limits.subject(rule.counted_by, address, settle.account)
      -- A later window did not count this attempt.
      and c.started_at <= settle.taken_at;
  end loop;
  if outcome = 'succeeded' and action in ('sign_in', 'verify') and address is not null and account is not null then
    insert into auth_limits.known_addresses as k (account, address, seen_at)
    values (settle.account, settle.address, now())
    on conflict on constraint known_addresses_pkey do update set seen_at = excluded.seen_at;
  end if;
end
$$;
comment on function auth_limits.settle(text, text, text, text[], timestamptz, text) is 'Refunds the charge of a successful attempt (succeeded), or of one that was not made (not_made).';

-- Definer: the guard's login may not read tokens.
create or replace function auth_limits.owner_of_refresh_token(encrypted text) returns text
language sql stable security definer set search_path = pg_temp
return (select t.user_id::text from auth.refresh_tokens t where t.token = encrypted limit 1);

-- Codes --------------------------------------------------------------------------------------------------------
create table if not exists auth_limits.code_failures (
  user_id uuid not null references auth.users on delete cascade,
  kind text not null,
  failures integer not null,
  primary key (user_id, kind)
);
comment on table auth_limits.code_failures is 'Failed attempts for a code. Five invalidate it; a new code resets them. The link in the same mail cannot be guessed and stays valid.';

-- Definer: compares codes that the guard's login may not read.
create or replace function auth_limits.try_code(email text, kinds text[], stored text) returns boolean
language plpgsql security definer set search_path = pg_temp as $$
declare
  person record;
  live text[];
  is_right boolean := false;
begin
  -- An address has one account; several may want to change to it. Locks their rows, so that new codes and concurrent
  -- attempts wait until this one is counted.
  for person in
    select u.* from auth.users u
    where u.email = try_code.email and not u.is_sso_user
      or u.email_change = try_code.email and 'email_change_token_new' = any (kinds)
    order by u.id for update
  loop
    select array_agg(c.kind) into live
    from (values
      ('confirmation_token', person.confirmation_token, person.email), ('recovery_token', person.recovery_token, person.email),
      ('email_change_token_current', person.email_change_token_current, person.email),
      ('email_change_token_new', person.email_change_token_new, person.email_change),
      ('reauthentication_token', person.reauthentication_token, person.email)) c (kind, token, address)
    left join auth_limits.code_failures f on f.user_id = person.id and f.kind = c.kind
    where c.kind = any (kinds) and c.address = try_code.email and c.token is not null and coalesce(f.failures, 0) < 5;
    is_right := is_right or exists (select from unnest(live) kind where to_jsonb(person) ->> kind = stored);
    insert into auth_limits.code_failures as f (user_id, kind, failures)
    select person.id, kind, 1 from unnest(live) kind where not is_right
    on conflict on constraint code_failures_pkey do update set failures = f.failures + 1;
  end loop;
  return is_right;
end
$$;
comment on function auth_limits.try_code(text, text[], text) is 'Whether the code is correct and still valid; otherwise counts a failure.';

-- Definer: lite's login writes the code, but may not write counters.
create or replace function auth_limits.begin_code() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from auth_limits.code_failures f
  where f.user_id = new.id and f.kind in (
    select n.key from jsonb_each_text(to_jsonb(new)) n
    where n.key like '%\_token%' and n.value is not null and n.value is distinct from to_jsonb(old) ->> n.key);
  return null;
end
$$;
create index if not exists users_email_change_idx on auth.users (email_change) where email_change <> '';
create or replace trigger begin_code
  after update of confirmation_token, recovery_token, email_change_token_current, email_change_token_new, reauthentication_token on auth.users
  for each row execute function auth_limits.begin_code();

-- Upkeep -------------------------------------------------------------------------------------------------------
-- The former bound of metadata: private.bound_metadata() of the migrations replaces it.
drop function if exists auth_limits.bound_metadata() cascade;

-- Definer: see auth_limits.take().
create or replace function auth_limits.prune() returns void
language sql security definer set search_path = pg_temp as $$
  delete from auth_limits.counters c where not exists (
    select from auth_limits.rules r
    where (r.action, r.counted_by) = (c.action, c.counted_by) and c.started_at + make_interval(secs => r.window_seconds) > now());
  delete from auth_limits.known_addresses where seen_at < now() - interval '90 days';
$$;
comment on function auth_limits.prune() is 'Deletes counters whose window has ended and addresses not seen for 90 days.';

-- Removes refresh tokens and codes that an earlier version stored unencrypted.
delete from auth.refresh_tokens where token not like 'encrypted.%';
update auth.users set confirmation_token = null, recovery_token = null, email_change_token_current = null,
  email_change_token_new = null, reauthentication_token = null
where 64 in (length(confirmation_token), length(recovery_token), length(email_change_token_current),
  length(email_change_token_new), length(reauthentication_token));

-- Rights -------------------------------------------------------------------------------------------------------
do $do$
declare
  made record;
begin
  for made in select c.oid::regclass as name from pg_class c where c.relnamespace = 'auth_limits'::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s owner to supabase_auth_admin', made.name);
  end loop;
  for made in select p.oid::regprocedure as name from pg_proc p where p.pronamespace = 'auth_limits'::regnamespace loop
    execute format('alter function %s owner to supabase_auth_admin', made.name);
    execute format('revoke all on function %s from public', made.name);
  end loop;
end
$do$;
alter function auth_limits.mailbox(text) owner to postgres;
grant execute on function auth_limits.mailbox(text), auth_limits.take(text, text, text), auth_limits.try_code(text, text[], text),
  auth_limits.settle(text, text, text, text[], timestamptz, text), auth_limits.owner_of_refresh_token(text),
  auth_limits.prune() to auth_guard;
