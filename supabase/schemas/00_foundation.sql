-- Roles, schemas, error codes and shared helpers.
-- Functions that are security definer or set search_path are written in plpgsql: Postgres cannot inline them,
-- and it would plan a SQL version again in every statement that calls it. Functions written in SQL here are
-- inlined.
-- Their search_path is pg_temp: Postgres then looks for every name in pg_catalog first, and in the temporary
-- schema of the caller last. An empty path would find a type of the caller's, such as pg_temp.text, before
-- that of pg_catalog.

create schema if not exists private;
comment on schema private is
  'Internal schema; the data API does not expose it. API roles have USAGE and may execute only the helpers '
  'granted below.';

create extension if not exists pg_trgm with schema extensions;
create extension if not exists unaccent with schema extensions;
create extension if not exists btree_gin with schema extensions;

-- Older hosted projects grant all privileges to the API roles by default. Revoke them; grants below are
-- explicit.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke all on functions from anon, authenticated, service_role;
alter default privileges revoke execute on functions from public;

do $$
begin
  if not exists (select from pg_roles where rolname = 'service_key') then
    create role service_key nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'feedback_api') then
    create role feedback_api login noinherit;
  end if;
end
$$;
comment on role service_key is
  'Role of requests with an organization API key or an agent key. No bypassrls: policies read the key''s '
  'organization and scopes from transaction-local settings.';
comment on role feedback_api is
  'Login role of the edge functions. Owns nothing. May execute private.admit_request and '
  'private.assume_caller and switch to an API role.';
grant anon, authenticated, service_key to feedback_api;
-- Since Postgres 16 the creator of a role cannot SET ROLE to it without a grant. Tests need it.
grant service_key to current_user;
-- Each filter combination has its own statement text, so a custom plan per parameter value gains nothing.
alter role feedback_api set plan_cache_mode = 'force_generic_plan';
alter role feedback_api set statement_timeout = '8s';
-- A short lock timeout: the function releases the connection and retries the request once (database.ts).
alter role feedback_api set lock_timeout = '200ms';
alter role feedback_api set idle_in_transaction_session_timeout = '15s';
-- A pooler may drop settings that the client sends when it connects.
alter role feedback_api set timezone = 'UTC';

-- A temporary object hides others of the same name. Only the owner needs temporary objects.
do $$
begin
  if (select pg_has_role(d.datdba, 'usage') from pg_database d where d.datname = current_database()) then
    execute format('revoke temporary on database %I from public', current_database());
  else
    raise warning 'Let the owner of the database revoke temporary on it from public.';
  end if;
end
$$;

grant usage on schema private to anon, authenticated, service_role, service_key, feedback_api;
grant usage on schema public to service_key;

-- Errors ----------------------------------------------------------------------------------------------------

-- SQLSTATE of an error code. shared/errors.ts holds the same table; a test compares both.
create function private.error_state(code text) returns text
language sql immutable
return case code
  when 'VALIDATION_ERROR' then 'FB400'
  when 'UNAUTHORIZED' then 'FB401'
  when 'PLAN_LIMIT_REACHED' then 'FB402'
  when 'FORBIDDEN' then 'FB403'
  when 'NOT_FOUND' then 'FB404'
  when 'METHOD_NOT_ALLOWED' then 'FB405'
  when 'CONFLICT' then 'FB409'
  when 'GONE' then 'FB410'
  when 'PAYLOAD_TOO_LARGE' then 'FB413'
  when 'UNSUPPORTED_MEDIA_TYPE' then 'FB415'
  when 'RATE_LIMIT_EXCEEDED' then 'FB429'
  when 'SUBMISSION_MERGED' then 'FBM09'
  when 'TEXT_CHANGED' then 'FBT09'
  when 'SURVEY_NOT_OPEN' then 'FBS09'
  when 'ALREADY_RESPONDED' then 'FBR09'
  when 'SURVEY_HAS_RESPONSES' then 'FBH09'
  when 'SERVICE_UNAVAILABLE' then 'FB503'
  else 'FB500'
end;

-- Raises an API error: the SQLSTATE of the code, the message, and DETAIL as JSON {code, field, …extra}.
-- All SQL code raises errors through this function.
create function private.raise_error(code text, message text, field text default null,
  extra jsonb default '{}') returns void
language plpgsql set search_path = pg_temp as $$
begin
  raise exception using
    errcode = private.error_state(code),
    message = message,
    detail = (jsonb_build_object('code', code, 'field', field) || extra)::text;
end
$$;

-- Retention -------------------------------------------------------------------------------------------------

-- Retention of a kind of row; all code that deletes such rows or reports their expiry reads it here.
-- docs/data-model.md lists the kinds. Raises CASE_NOT_FOUND for an unknown kind.
create function private.retention(kind text) returns interval
language plpgsql immutable set search_path = pg_temp as $$
begin
  -- No ELSE: an unknown kind must raise an error; null would keep its rows forever.
  case kind
    -- More than two days: subscriptions last one day, and the first page of the change feed leaves a day to
    -- continue.
    when 'events' then return interval '30 days';
    when 'agent_calls' then return interval '400 days';
    when 'idempotency_keys' then return interval '1 day';
    when 'rate_counters' then return interval '2 hours';
    when 'expired_invites' then return interval '30 days';
    when 'expired_subscriptions' then return interval '1 day';
    when 'stalled_uploads' then return interval '2 minutes';
    when 'stalled_imports' then return interval '7 days';
    when 'checked_imports' then return interval '1 day';
    when 'cron_log' then return interval '1 day';
    when 'auth_log' then return interval '90 days';
    when 'mails' then return interval '30 days';
    when 'stopped_account_mail' then return interval '90 days';
    when 'account_undos' then return interval '7 days';
  end case;
end
$$;

-- Text ------------------------------------------------------------------------------------------------------

-- Trims white space, including Unicode white space, from both ends; empty if no character is visible. The
-- same as trimText of shared/text.ts.
create function private.trim_text(value text) returns text
language sql immutable
return case
  when value !~ ('[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u070F\u115F\u1160\u1680\u17B4\u17B5\u180B-'
    '\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB'
    '\U00013430-\U00013442\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159'
    '\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]') then ''
  else btrim(value,
    E' \t\n\u000B\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003'
      '\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF') end;

-- Whether a name is an id; a slug never is.
create function private.is_uuid(value text) returns boolean
language sql immutable
return value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

-- Lowercase ASCII letters, digits and single hyphens, at most 64 characters, and no UUID. ASCII only, so
-- that slugs cannot imitate each other.
create function private.is_slug(value text) returns boolean
language sql immutable
return value ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(value) <= 64 and not private.is_uuid(value);

-- At most 50 origins, each scheme, host and optional port; no wildcard and no null.
create function private.are_origins(value text[]) returns boolean
language sql immutable
return cardinality(value) <= 50 and array_position(value, null) is null
  and not exists (select from unnest(value) as origin where origin !~ '^https?://[a-z0-9.:\[\]-]+$');

-- The languages of the service: the same as shared/locales.ts.
create function private.locales() returns text[]
language sql immutable
return array['en', 'es', 'fr', 'de', 'ru', 'pt-BR', 'ja', 'it'];

-- A JSON object that maps locales of shared/locales.ts to text.
create function private.are_translations(value jsonb) returns boolean
language sql immutable
return jsonb_typeof(value) = 'object'
  and not exists (select from jsonb_each(value) as t (locale, name)
    where jsonb_typeof(name) <> 'string' or locale <> all (private.locales()));

-- The translation for the locale, or the English name if there is none.
create function private.localized(name text, translations jsonb, locale text) returns text
language sql immutable
return coalesce(nullif(translations ->> locale, ''), name);

-- The caller ------------------------------------------------------------------------------------------------

-- private.assume_caller sets these settings for one transaction. Clients of the data API cannot set them.

-- Whether the caller is an organization key or an agent key, not a user.
create function private.is_key() returns boolean
language sql stable
return coalesce(current_setting('role', true), '') = 'service_key';

-- Whether the caller is a key that has the scope.
create function private.has_scope(scope text) returns boolean
language sql stable
return private.is_key() and scope = any
  (string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '));

-- Organization of the calling key; null for other callers.
create function private.key_organization_id() returns uuid
language sql stable
return case when private.is_key()
  then nullif(current_setting('feedback.organization_id', true), '')::uuid end;

-- Id of the calling key; null for other callers.
create function private.key_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.key_id', true), '')::uuid end;

-- Profile id of the caller: the signed-in user, or the profile of the key; null for an anonymous request, and
-- for the token of an erased account. plpgsql, so that service_key needs no privileges on schema auth.
create function private.caller_id() returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  if private.is_key() then
    return nullif(current_setting('feedback.profile_id', true), '')::uuid;
  end if;
  -- The edge functions have checked the session.
  if session_user = 'feedback_api' then return auth.uid(); end if;
  return private.unless_erased(auth.uid());
end
$$;

-- Id of the calling agent, which equals its profile id; null for other callers.
create function private.agent_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.agent_id', true), '')::uuid end;

-- Whether one of our functions writes these rows as part of a larger operation: rows that a creation adds for
-- its author, a merge, an import, a claim or an erasure. That function has checked and charged the operation,
-- maintains the counters and emits its own event, so that triggers of votes, follows, comments and status
-- changes neither check, count, announce nor charge the rows. No client can set this.
create function private.is_internal_write() returns boolean
language sql stable
return coalesce(current_setting('feedback.internal_write', true), '') in ('on', 'import');

-- Whether an import is writing. Triggers then emit no events, require no approval and add no automatic
-- vote or follow.
create function private.is_importing() returns boolean
language sql stable
return coalesce(current_setting('feedback.internal_write', true), '') = 'import';

-- In a trigger: whether a client of the data API made this change itself. False for the edge functions
-- (private.admit_request charges their rate limits), cascades and operators.
create function private.is_direct() returns boolean
language sql stable
return session_user <> 'feedback_api'
  and coalesce(current_setting('role', true), '') in ('anon', 'authenticated')
  and pg_trigger_depth() = 1
  and not private.is_internal_write();

-- The columns of a table that its grants let a signed-in person change.
create function private.editable_columns(of_table regclass) returns text[]
language plpgsql stable set search_path = pg_temp as $$
begin
  return array(select a.attname::text from pg_catalog.pg_attribute a
    where a.attrelid = of_table and a.attnum > 0 and not a.attisdropped
      and has_column_privilege('authenticated', of_table, a.attnum, 'update') order by a.attnum);
end
$$;

-- Trigger: sets updated_at when content changes.
create function private.touch_updated_at() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  new.updated_at := now();
  return new;
end
$$;

grant execute on function private.error_state, private.raise_error, private.is_key, private.caller_id
  to anon, authenticated, service_role, service_key, feedback_api;
grant execute on function private.trim_text, private.is_direct, private.is_internal_write,
  private.is_importing to authenticated, service_role, service_key, feedback_api;
grant execute on function private.is_uuid, private.is_slug, private.are_origins, private.are_translations
  to service_role, feedback_api;
grant execute on function private.locales to authenticated, service_role, service_key, feedback_api;
grant execute on function private.editable_columns to authenticated;
grant execute on function private.localized to anon, authenticated, service_key, feedback_api;
grant execute on function private.has_scope to authenticated, service_key, feedback_api;
grant execute on function private.key_organization_id to service_key, feedback_api;
grant execute on function private.agent_id to feedback_api;
