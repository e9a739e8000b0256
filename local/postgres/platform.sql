-- The roles, schemas and functions of a hosted Supabase database before any migration. Idempotent; run by the
-- superuser. @supabase/lite has created the tables of schema auth; platform.ts inserts the passwords.

set local client_min_messages = warning;

-- Roles --------------------------------------------------------------------------------------------------------
do $do$
declare
  role_name text;
begin
  foreach role_name in array array['anon', 'authenticated', 'service_role', 'authenticator', 'supabase_auth_admin', 'supabase_realtime_admin', 'postgres', 'embedded_auth', 'embedded_rest'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      execute format('create role %I', role_name);
    end if;
  end loop;
end
$do$;

alter role anon nologin inherit;
alter role authenticated nologin inherit;
alter role service_role nologin inherit bypassrls;
alter role authenticator login noinherit;
alter role supabase_auth_admin nologin noinherit createrole;
alter role supabase_realtime_admin nologin noinherit;
alter role postgres login inherit nosuperuser createdb createrole replication bypassrls password :owner_password;
grant anon, authenticated, service_role to authenticator;
grant anon, authenticated, service_role, authenticator to postgres with admin option;
grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres;

alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';
alter role postgres set search_path = "$user", public, extensions;

-- Logins of auth and of the data API, only in the embedded stack. They own nothing.
alter role embedded_auth login noinherit password :auth_password;
alter role embedded_auth set statement_timeout = '8s';
alter role embedded_auth set lock_timeout = '5s';
-- Has no rights until it assumes one of the three API roles, like authenticator on hosted Supabase.
alter role embedded_rest login noinherit password :data_api_password;
grant anon, authenticated, service_role to embedded_rest;
alter role embedded_rest set statement_timeout = '8s';
alter role embedded_rest set lock_timeout = '8s';
alter role embedded_rest set idle_in_transaction_session_timeout = '15s';
-- Ends a statement when its client process has ended.
alter role embedded_rest set client_connection_check_interval = '1s';
alter role embedded_rest set search_path = public, extensions;
-- Its errors quote what a client sent, and the client gets them.
alter role embedded_rest set log_min_messages = 'fatal';
do $do$
begin
  -- Before version 0.1 both used this login.
  if exists (select from pg_roles where rolname = 'supabase_lite') then
    drop owned by supabase_lite;
    drop role supabase_lite;
  end if;
end
$do$;

-- Schemas ------------------------------------------------------------------------------------------------------
alter database postgres owner to postgres;
-- Every login may create large objects, and hold locks that functions of ours take.
revoke temporary on database postgres from public;
do $do$
declare
  name regprocedure;
begin
  for name in select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace
    and proname ~ '^(lo_|loread|lowrite|pg_(try_)?advisory_)' loop
    execute format('revoke execute on function %s from public', name);
    execute format('grant execute on function %s to postgres, supabase_auth_admin', name);
  end loop;
end
$do$;
grant usage on schema public to postgres, anon, authenticated, service_role;

create schema if not exists extensions authorization postgres;
grant usage on schema extensions to anon, authenticated, service_role;
create extension if not exists pgcrypto with schema extensions;
create extension if not exists "uuid-ossp" with schema extensions;
grant all on all routines in schema extensions to postgres with grant option;

-- As in projects created before 2026-05-30, all rights are granted to the API roles by default.
do $do$
begin
  if to_regclass('supabase_migrations.schema_migrations') is null then
    alter default privileges for role postgres in schema public grant all on tables to postgres, anon, authenticated, service_role;
    alter default privileges for role postgres in schema public grant all on functions to postgres, anon, authenticated, service_role;
    alter default privileges for role postgres in schema public grant all on sequences to postgres, anon, authenticated, service_role;
  end if;
end
$do$;

-- The data API reads the schema again after it changed, as on hosted Supabase.
create or replace function extensions.pgrst_ddl_watch() returns event_trigger
language plpgsql set search_path = pg_temp as $function$
begin
  if tg_tag like 'DROP %' or exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() where schema_name is distinct from 'pg_temp'
  ) then
    notify pgrst, 'reload schema';
  end if;
end
$function$;
drop event trigger if exists pgrst_ddl_watch;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();

-- Auth ---------------------------------------------------------------------------------------------------------
create schema if not exists auth;
alter schema auth owner to supabase_auth_admin;
grant usage on schema auth to anon, authenticated, service_role, embedded_auth;
-- As on hosted projects since 2025, migrations may create nothing in schema auth.
grant usage on schema auth to postgres;

-- As hosted auth has them; @supabase/lite makes none. No factor and no such token exists here.
do $do$
begin
  if to_regtype('auth.factor_type') is null then
    create type auth.factor_type as enum ('totp', 'webauthn', 'phone');
    create type auth.factor_status as enum ('unverified', 'verified');
  end if;
end
$do$;
create table if not exists auth.mfa_factors (
  id uuid primary key, user_id uuid not null references auth.users on delete cascade, friendly_name text,
  factor_type auth.factor_type not null, status auth.factor_status not null,
  created_at timestamptz not null, updated_at timestamptz not null, secret text, phone text,
  last_challenged_at timestamptz unique, web_authn_credential jsonb, web_authn_aaguid uuid,
  last_webauthn_challenge_data jsonb
);
create index if not exists mfa_factors_user_id_idx on auth.mfa_factors (user_id);
create table if not exists auth.one_time_tokens (
  id uuid primary key, user_id uuid not null references auth.users on delete cascade, token_type text not null,
  token_hash text not null, relates_to text not null, created_at timestamp not null default now(),
  updated_at timestamp not null default now()
);
create table if not exists auth.mfa_amr_claims (
  session_id uuid not null references auth.sessions on delete cascade,
  created_at timestamptz not null, updated_at timestamptz not null,
  authentication_method text not null, id uuid primary key, unique (session_id, authentication_method)
);

do $do$
declare
  relation regclass;
begin
  for relation in select c.oid from pg_class c where c.relnamespace = 'auth'::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s owner to supabase_auth_admin', relation);
  end loop;
end
$do$;
grant all on all tables in schema auth to postgres;
grant all on all sequences in schema auth to postgres;
grant select, insert, update, delete on auth.users, auth.sessions, auth.refresh_tokens, auth.identities,
  auth.flow_state to embedded_auth;
-- Neither auth keeps a log: it would have the addresses of erased people.
revoke insert on auth.audit_log_entries from embedded_auth;
truncate auth.audit_log_entries;
grant select, insert on auth.mfa_amr_claims to embedded_auth;
grant usage on all sequences in schema auth to embedded_auth;

-- Where its connection does not serialize JSON (local/lite/auth.ts does), lite writes JSON text in a JSON string; our
-- triggers read JSON as hosted auth writes it.
create or replace function auth.unwrap_users() returns trigger
language plpgsql set search_path = pg_temp as $function$
begin
  if jsonb_typeof(new.raw_user_meta_data) = 'string' then
    new.raw_user_meta_data := (new.raw_user_meta_data #>> '{}')::jsonb;
  end if;
  if jsonb_typeof(new.raw_app_meta_data) = 'string' then
    new.raw_app_meta_data := (new.raw_app_meta_data #>> '{}')::jsonb;
  end if;
  return new;
end
$function$;
create or replace trigger unwrap_users before insert or update on auth.users
  for each row execute function auth.unwrap_users();

create or replace function auth.unwrap_identities() returns trigger
language plpgsql set search_path = pg_temp as $function$
begin
  if jsonb_typeof(new.identity_data) = 'string' then
    new.identity_data := (new.identity_data #>> '{}')::jsonb;
  end if;
  return new;
end
$function$;
create or replace trigger unwrap_identities before insert or update on auth.identities
  for each row execute function auth.unwrap_identities();

create or replace function auth.uid() returns uuid
language sql stable
return coalesce(
  nullif(current_setting('request.jwt.claim.sub', true), ''),
  nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
)::uuid;

create or replace function auth.role() returns text
language sql stable
return coalesce(
  nullif(current_setting('request.jwt.claim.role', true), ''),
  nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
);

create or replace function auth.email() returns text
language sql stable
return coalesce(
  nullif(current_setting('request.jwt.claim.email', true), ''),
  nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'
);

create or replace function auth.jwt() returns jsonb
language sql stable
return coalesce(
  nullif(current_setting('request.jwt.claim', true), ''),
  nullif(current_setting('request.jwt.claims', true), '')
)::jsonb;

alter function auth.unwrap_users() owner to supabase_auth_admin;
alter function auth.unwrap_identities() owner to supabase_auth_admin;
alter function auth.uid() owner to supabase_auth_admin;
alter function auth.role() owner to supabase_auth_admin;
alter function auth.email() owner to supabase_auth_admin;
alter function auth.jwt() owner to supabase_auth_admin;
grant all on all routines in schema auth to postgres;

-- Extensions ---------------------------------------------------------------------------------------------------
do $do$
begin
  -- Of an earlier version, whose functions ran as the superuser.
  if to_regclass('cron.job') is not null then
    alter function cron.schedule(text, text, text) security invoker;
    alter function cron.unschedule(text) security invoker;
    alter function cron.unschedule(bigint) security invoker;
    grant all on cron.job to postgres with grant option;
    grant usage on all sequences in schema cron to postgres;
  end if;
  if to_regclass('vault.secrets') is not null then
    alter function vault.create_secret(text, text, text, uuid) security invoker;
    grant insert on vault.secrets to postgres with grant option;
  end if;
end
$do$;

-- Realtime -----------------------------------------------------------------------------------------------------
do $do$
begin
  if not exists (select from pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
  end if;
end
$do$;
alter publication supabase_realtime owner to postgres;

create schema if not exists realtime;
grant usage on schema realtime to postgres with grant option;
grant usage on schema realtime to anon, authenticated, service_role;
grant usage, create on schema realtime to supabase_realtime_admin;

create table if not exists realtime.messages (
  id uuid not null default gen_random_uuid(),
  topic text not null,
  extension text not null,
  payload jsonb,
  event text,
  private boolean default false,
  updated_at timestamp not null default now(),
  inserted_at timestamp not null default now(),
  primary key (id, inserted_at)
) partition by range (inserted_at);
drop table if exists realtime.messages_default;
alter table realtime.messages enable row level security;
alter table realtime.messages owner to supabase_realtime_admin;
-- On hosted Supabase an extension (supautils) lets postgres create policies on realtime.messages without this
-- role. Here database-server.ts grants it while migrations run.
revoke supabase_realtime_admin from postgres;

-- Realtime calls this when it connects: creates the partitions of the next days and drops those older than
-- three days. Without partitions broadcasts fail.
create or replace function realtime.keep_partitions() returns void
language plpgsql security definer set search_path = pg_temp as $function$
declare
  today date := (now() at time zone 'utc')::date;
  partition text;
begin
  for day in -1 .. 3 loop
    partition := 'messages_' || to_char(today + day, 'YYYY_MM_DD');
    if to_regclass('realtime.' || partition) is null then
      execute format('create table realtime.%I partition of realtime.messages for values from (%L) to (%L)',
        partition, today + day, today + day + 1);
      execute format('alter table realtime.%I enable row level security', partition);
    end if;
  end loop;
  for partition in select c.relname from pg_class c join pg_inherits i on i.inhrelid = c.oid
    where i.inhparent = 'realtime.messages'::regclass and c.relname < 'messages_' || to_char(today - 3, 'YYYY_MM_DD') loop
    execute format('drop table realtime.%I', partition);
  end loop;
end
$function$;
alter function realtime.keep_partitions() owner to supabase_realtime_admin;
revoke execute on function realtime.keep_partitions() from public, anon, authenticated, service_role;
grant execute on function realtime.keep_partitions() to postgres;
select realtime.keep_partitions();
do $do$
begin
  if not exists (select from pg_publication where pubname = 'supabase_realtime_messages_publication') then
    create publication supabase_realtime_messages_publication for table realtime.messages;
  end if;
end
$do$;
grant select, insert, update on realtime.messages to postgres, anon, authenticated, service_role;

create or replace function realtime.topic() returns text
language sql stable
return nullif(current_setting('realtime.topic', true), '')::text;

create or replace function realtime.send(payload jsonb, event text, topic text, private boolean default true) returns void
language plpgsql as $function$
declare
  message_id uuid := gen_random_uuid();
begin
  perform set_config('realtime.topic', topic, true);
  insert into realtime.messages (id, payload, event, topic, private, extension)
  values (message_id, jsonb_build_object('id', message_id) || payload, event, topic, private, 'broadcast');
exception when others then
  raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
end
$function$;

create or replace function realtime.broadcast_changes(
  topic_name text, event_name text, operation text, table_name text, table_schema text, new record, old record, level text default 'ROW'
) returns void
language plpgsql as $function$
begin
  if level = 'STATEMENT' then
    raise exception 'function can only be triggered for each row, not for each statement';
  end if;
  if operation not in ('INSERT', 'UPDATE', 'DELETE') then
    raise exception 'Unexpected operation type: %', operation;
  end if;
  perform realtime.send(
    jsonb_build_object('old_record', old, 'record', new, 'operation', operation, 'table', table_name, 'schema', table_schema),
    event_name, topic_name
  );
end
$function$;

alter function realtime.topic() owner to supabase_realtime_admin;
alter function realtime.send(jsonb, text, text, boolean) owner to supabase_realtime_admin;
alter function realtime.broadcast_changes(text, text, text, text, text, record, record, text) owner to supabase_realtime_admin;
