-- What the migrations of Supabase Auth need on a new database, before platform.sql. Idempotent; run by the superuser.

do $do$
declare
  role_name text;
begin
  foreach role_name in array array['anon', 'authenticated', 'service_role', 'postgres', 'supabase_auth_admin'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      execute format('create role %I', role_name);
    end if;
  end loop;
end
$do$;
create schema if not exists auth authorization supabase_auth_admin;
alter role supabase_auth_admin login noinherit password :auth_password;
alter role supabase_auth_admin set search_path = 'auth';
