-- A program of Supabase Auth in place of the library: without what platform.sql adds for the library. Idempotent;
-- run by the superuser after platform.sql.

drop trigger if exists unwrap_users on auth.users;
drop trigger if exists unwrap_identities on auth.identities;
drop function if exists auth.unwrap_users(), auth.unwrap_identities();
drop owned by embedded_auth;
drop role embedded_auth;
-- It needs no other role, since platform.sql makes them all.
alter role supabase_auth_admin login nocreaterole;
