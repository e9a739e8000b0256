-- Roles, schemas, errors and the small helpers everything else stands on.
--
-- A function that is a definer or sets its search_path is written in plpgsql: SQL could not be inlined either,
-- and would be planned anew in every statement that calls it. What is in SQL here is inlined.

create schema if not exists private;
comment on schema private is 'Internals: not exposed by the data API. The API roles may use it and execute the helpers granted below, nothing else.';

create extension if not exists pg_trgm with schema extensions;
create extension if not exists unaccent with schema extensions;
create extension if not exists btree_gin with schema extensions;

-- Older hosted projects grant everything to the API roles by default: what we make starts with nothing.
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
comment on role service_key is 'Acts for an organization''s API key or agent key. No bypassrls: policies read the key''s organization and scopes from transaction-local settings.';
comment on role feedback_api is 'Login of the edge functions. Owns nothing and may do nothing but private.admit, private.enter and become one of the API roles.';
grant anon, authenticated, service_key to feedback_api;
-- From Postgres 16 on, making a role does not let its maker act as it; tests do.
grant service_key to current_user;
-- Each shape of a statement has a text of its own: planning it again for its values gains nothing.
alter role feedback_api set plan_cache_mode = 'force_generic_plan';
alter role feedback_api set statement_timeout = '8s';
-- A request that waits for a row holds a connection: it gives the connection up and tries once more (database.ts).
alter role feedback_api set lock_timeout = '200ms';
alter role feedback_api set idle_in_transaction_session_timeout = '15s';
-- A pooler may not pass on what a client sets when it connects.
alter role feedback_api set timezone = 'UTC';

grant usage on schema private to anon, authenticated, service_role, service_key, feedback_api;
grant usage on schema public to service_key;

-- Errors -------------------------------------------------------------------------------------------------------

create function private.error_state(code text) returns text
language sql immutable
return case code
  when 'VALIDATION_ERROR' then 'FB400'
  when 'UNAUTHORIZED' then 'FB401'
  when 'PLAN_LIMIT_REACHED' then 'FB402'
  when 'FORBIDDEN' then 'FB403'
  when 'NOT_FOUND' then 'FB404'
  when 'CONFLICT' then 'FB409'
  when 'GONE' then 'FB410'
  when 'PAYLOAD_TOO_LARGE' then 'FB413'
  when 'UNSUPPORTED_MEDIA_TYPE' then 'FB415'
  when 'RATE_LIMIT_EXCEEDED' then 'FB429'
  when 'SUBMISSION_MERGED' then 'FBM09'
  when 'SURVEY_NOT_OPEN' then 'FBS09'
  when 'ALREADY_RESPONDED' then 'FBR09'
  when 'SURVEY_HAS_RESPONSES' then 'FBH09'
  when 'SERVICE_UNAVAILABLE' then 'FB503'
  else 'FB500'
end;
comment on function private.error_state(text) is 'The SQLSTATE of an error code; shared/errors.ts holds the same table and a test compares the two.';

create function private.raise_error(code text, message text, field text default null, extra jsonb default '{}') returns void
language plpgsql set search_path = '' as $$
begin
  raise exception using
    errcode = private.error_state(code),
    message = message,
    detail = (jsonb_build_object('code', code, 'field', field) || extra)::text;
end
$$;
comment on function private.raise_error(text, text, text, jsonb) is 'The one way our SQL refuses: SQLSTATE by code, DETAIL is JSON {code, field, …extra}.';

-- Text ---------------------------------------------------------------------------------------------------------

create function private.trim_text(value text) returns text
language sql immutable
return btrim(value, E' \t\n\u000B\f\r\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF');
comment on function private.trim_text(text) is 'Without white space at either end, Unicode''s too: the same characters as shared/text.ts.';

create function private.is_slug(value text) returns boolean
language sql immutable
return value ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(value) <= 64;
comment on function private.is_slug(text) is 'Lowercase ASCII letters, digits and single hyphens, at most 64: no look-alike characters.';

create function private.are_origins(value text[]) returns boolean
language sql immutable
return cardinality(value) <= 50 and array_position(value, null) is null
  and not exists (select from unnest(value) as origin where origin !~ '^https?://[a-z0-9.:\[\]-]+$');
comment on function private.are_origins(text[]) is 'At most 50 origins of web pages, each scheme, host and port; never * or null.';

create function private.are_translations(value jsonb) returns boolean
language sql immutable
return jsonb_typeof(value) = 'object'
  and not jsonb_path_exists(value, '$.keyvalue() ? (@.value.type() != "string" || !(@.key like_regex "^(en|es|fr|de|ru|pt-BR|ja|it)$"))');
comment on function private.are_translations(jsonb) is 'An object of locale to text, in the locales of shared/locales.ts.';

create function private.localized(name text, translations jsonb, locale text) returns text
language sql immutable
return coalesce(nullif(translations ->> locale, ''), name);
comment on function private.localized(text, jsonb, text) is 'The translation where there is one, else the English name.';

-- Who is calling -----------------------------------------------------------------------------------------------
-- private.enter sets these for the length of one transaction; clients of the data API cannot set them.

create function private.is_key() returns boolean
language sql stable
return coalesce(current_setting('role', true), '') = 'service_key';
comment on function private.is_key() is 'Whether the caller is an organization''s key rather than a person.';

create function private.has_scope(scope text) returns boolean
language sql stable
return private.is_key() and scope = any (string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' '));
comment on function private.has_scope(text) is 'Whether the caller is a key that holds the scope.';

create function private.key_organization_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.organization_id', true), '')::uuid end;
comment on function private.key_organization_id() is 'The organization a key belongs to; null for everyone else.';

-- plpgsql, so that service_key needs no rights on schema auth.
create function private.caller_id() returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if private.is_key() then
    return nullif(current_setting('feedback.profile_id', true), '')::uuid;
  end if;
  return auth.uid();
end
$$;
comment on function private.caller_id() is 'The profile that acts: the signed-in user, or the key''s own profile; null for nobody.';

create function private.agent_id() returns uuid
language sql stable
return case when private.is_key() then nullif(current_setting('feedback.agent_id', true), '')::uuid end;
comment on function private.agent_id() is 'The agent that calls, which is also the profile it acts as; null for everyone else.';

create function private.is_quiet() returns boolean
language sql stable
return coalesce(current_setting('feedback.quiet', true), '') in ('on', 'import');
comment on function private.is_quiet() is 'Whether votes and comments change as part of something larger (creation, merge, import), which tells of itself.';

create function private.is_importing() returns boolean
language sql stable
return coalesce(current_setting('feedback.quiet', true), '') = 'import';
comment on function private.is_importing() is 'Whether rows come with their own history: nothing is announced, approved or voted for on their behalf.';

create function private.is_direct() returns boolean
language sql stable
return session_user <> 'feedback_api'
  and coalesce(current_setting('role', true), '') in ('anon', 'authenticated')
  and pg_trigger_depth() = 1
  and not private.is_quiet();
comment on function private.is_direct() is 'In a trigger: whether a client of the data API itself does this, rather than the edge functions (which charge limits in private.admit), a cascade or an operator.';

create function private.touch_updated_at() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function private.touch_updated_at() is 'Trigger: updated_at is the time of the last change of content.';

grant execute on function private.error_state(text), private.raise_error(text, text, text, jsonb),
  private.is_key(), private.caller_id() to anon, authenticated, service_role, service_key, feedback_api;
grant execute on function private.trim_text(text), private.is_direct(), private.is_quiet(),
  private.is_importing() to authenticated, service_role, service_key, feedback_api;
grant execute on function private.is_slug(text), private.are_origins(text[]),
  private.are_translations(jsonb) to service_role, feedback_api;
grant execute on function private.localized(text, jsonb, text)
  to anon, authenticated, service_key, feedback_api;
grant execute on function private.has_scope(text) to authenticated, service_key, feedback_api;
grant execute on function private.key_organization_id() to service_key, feedback_api;
grant execute on function private.agent_id() to feedback_api;
