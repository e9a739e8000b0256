-- An account belongs to whoever confirms its address first. Supabase Auth keeps the password and metadata
-- that anybody set before that; these triggers on auth.users remove them.

-- Requests for an unconfirmed account -----------------------------------------------------------------------

create table private.unconfirmed_requests (
  user_id uuid primary key references auth.users (id) on delete cascade,
  requests integer not null default 1
);
comment on table private.unconfirmed_requests is
  'Sign-ups, codes, links, resets and invitations that were requested for an account whose address nobody '
  'has confirmed yet. More than one: they can be by different people.';

-- Trigger on auth.users: each mail with a code for an unconfirmed account is a request.
-- definer: the role of the auth service may not write the table.
create function private.count_request() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if coalesce(new.confirmation_token, '') <> ''
      and (tg_op = 'INSERT' or new.confirmation_token is distinct from old.confirmation_token)
    or coalesce(new.recovery_token, '') <> ''
      and (tg_op = 'INSERT' or new.recovery_token is distinct from old.recovery_token) then
    insert into private.unconfirmed_requests as r (user_id) values (new.id)
    on conflict (user_id) do update set requests = r.requests + 1;
  end if;
  return null;
end
$$;
create trigger count_request after insert or update of confirmation_token, recovery_token on auth.users
  for each row when (new.email_confirmed_at is null) execute function private.count_request();

-- Counts a request that the auth service refused because it had just sent a mail: the person then opens the
-- mail of an earlier request. definer: the login role may write no table.
create function private.count_unconfirmed_request(email text) returns void
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.unconfirmed_requests as r (user_id)
  select u.id from auth.users u where u.email = lower(count_unconfirmed_request.email)
    and u.is_sso_user = false and u.email_confirmed_at is null
  on conflict (user_id) do update set requests = r.requests + 1;
end
$$;

-- The first confirmation ------------------------------------------------------------------------------------

-- Trigger on auth.users: at the first confirmation of an address by a provider, or after more than one
-- request for it, removes everything that was set before: password, metadata, sessions, phone, second
-- factors, passkeys, pending changes and codes, and sign-ins by providers that did not verify the address.
-- After a single request they stay. definer: reads a private table, ends sessions and removes identities.
create function private.give_to_confirmer() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare
  given jsonb := nullif(current_setting('feedback.given_account', true), '')::jsonb;
  is_first boolean := old.email_confirmed_at is null and new.email_confirmed_at is not null
    and new.email = old.email;
  -- In this case the auth service has replaced password, metadata and other identities itself.
  by_provider boolean := is_first and exists (select from auth.identities i where i.user_id = new.id
    and i.provider <> 'email' and i.identity_data ->> 'email_verified' = 'true'
    and lower(i.identity_data ->> 'email') = new.email);
begin
  if by_provider or is_first
    and (select r.requests > 1 from private.unconfirmed_requests r where r.user_id = new.id) then
    new.phone := null;
    new.phone_confirmed_at := null;
    new.phone_change := '';
    new.phone_change_token := '';
    new.email_change := '';
    new.email_change_token_new := '';
    new.email_change_token_current := '';
    delete from auth.sessions s where s.user_id = new.id;
    delete from auth.mfa_factors f where f.user_id = new.id;
    -- Codes that were issued but not exchanged yet; a row without a code belongs to the confirmation itself.
    delete from auth.flow_state f where f.user_id = new.id and f.auth_code_issued_at is not null;
    -- Passkeys, which older versions of the auth service do not have.
    if to_regclass('auth.webauthn_credentials') is not null then
      execute 'delete from auth.webauthn_credentials where user_id = $1' using new.id;
    end if;
    if not by_provider then
      -- A value that the confirming statement sets comes from whoever confirms, such as an admin.
      if new.encrypted_password is not distinct from old.encrypted_password then
        -- An empty password works like null, which old versions of the auth service cannot read.
        new.encrypted_password := '';
      end if;
      delete from auth.identities i where i.user_id = new.id and i.provider <> 'email';
      given := jsonb_build_object('id', new.id, 'metadata', old.raw_user_meta_data);
      perform set_config('feedback.given_account', given::text, true);
    end if;
  end if;
  -- This applies to later statements of the transaction too: the auth service writes the metadata that it
  -- holds in memory once more, perhaps with values that the confirmer sets.
  if given ->> 'id' = new.id::text then
    new.raw_user_meta_data := private.metadata_of_auth(new.raw_user_meta_data)
      || (select coalesce(jsonb_object_agg(n.key, n.value), '{}') from jsonb_each(new.raw_user_meta_data) n
        where n.value is distinct from given -> 'metadata' -> n.key);
  end if;
  return new;
end
$$;

-- Size of metadata as the auth service encodes it in an access token, where some characters take six bytes.
create function private.token_bytes(metadata jsonb) returns integer
language sql immutable
return octet_length(regexp_replace(metadata::text, '[<>&\u2028\u2029]', '______', 'g'));

-- Metadata that the auth service itself sets for a user; longer values come from somebody else.
create function private.metadata_of_auth(metadata jsonb) returns jsonb
language sql immutable
return (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(metadata)
  where key = any ('{sub,email,email_verified,phone,phone_verified}') and private.token_bytes(value) <= 330);

-- Trigger names sort after unwrap_users of the embedded stack, and this one after user_metadata_is_small.
create trigger who_confirms_owns before update of email_confirmed_at, raw_user_meta_data on auth.users
  for each row execute function private.give_to_confirmer();

-- Trigger on auth.users: deletes the counted requests once the address is confirmed.
-- definer: the role of the auth service may not write the table.
create function private.forget_requests() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.unconfirmed_requests r where r.user_id = new.id;
  return null;
end
$$;
create trigger forget_requests after update of email_confirmed_at on auth.users
  for each row when (new.email_confirmed_at is not null) execute function private.forget_requests();

-- Size of metadata ------------------------------------------------------------------------------------------

-- Metadata is part of every access token, and of the cookie and the header that carry it.

-- Trigger on auth.users: metadata has at most 2 KB. Larger metadata of a confirmed account is an error; at a
-- sign-up or from a provider, only name, picture and language are kept, if they are small.
-- definer: the role of the auth service may not use schema private.
create function private.bound_metadata() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare
  known text[] := '{name,full_name,user_name,preferred_username,avatar_url,picture,locale}';
  of_auth jsonb := private.metadata_of_auth(new.raw_user_meta_data);
  metadata jsonb := new.raw_user_meta_data - array(select jsonb_object_keys(of_auth));
begin
  if private.token_bytes(metadata) <= 2048 then return new; end if;
  if new.email_confirmed_at is not null and new.raw_app_meta_data ->> 'provider' = 'email' then
    raise exception 'User metadata is larger than 2 KB.'
      using errcode = 'check_violation', constraint = 'user_metadata_is_small';
  end if;
  metadata := (select coalesce(jsonb_object_agg(key, left(value, 200)), '{}') from jsonb_each_text(metadata)
    where key = any (known) and (length(value) <= 200 or key not in ('avatar_url', 'picture')));
  new.raw_user_meta_data := case when private.token_bytes(metadata) <= 2048 then of_auth || metadata
    else of_auth end;
  return new;
end
$$;
create trigger user_metadata_is_small before insert or update of raw_user_meta_data on auth.users
  for each row execute function private.bound_metadata();

-- The page that confirms ------------------------------------------------------------------------------------

-- The auth user that the token in a mail link belongs to; is_change: the token confirms a change of address.
create function private.user_of_link(token_hash text) returns table (id uuid, is_change boolean)
language plpgsql stable set search_path = pg_temp as $$
-- Tokens are compared as the auth service stores them: in plain form, or hashed (the embedded service).
declare tokens text[] := array[token_hash,
  rtrim(translate(encode(sha256(convert_to(token_hash, 'UTF8')), 'base64'), '+/', '-_'), '=')];
begin
  if length(token_hash) <= 20 then return; end if;
  -- The conditions on length and digits match those of the unique indexes.
  return query select u.id, false from auth.users u where u.confirmation_token = any (tokens)
      and u.confirmation_token !~ '^[0-9 ]*$' and length(u.confirmation_token) > 6
    union all select u.id, false from auth.users u where u.recovery_token = any (tokens)
      and u.recovery_token !~ '^[0-9 ]*$' and length(u.recovery_token) > 6
    union all select u.id, true from auth.users u where u.email_change_token_new = any (tokens)
      and u.email_change_token_new !~ '^[0-9 ]*$' and length(u.email_change_token_new) > 6
    union all select u.id, true from auth.users u where u.email_change_token_current = any (tokens)
      and u.email_change_token_current !~ '^[0-9 ]*$' and length(u.email_change_token_current) > 6
    limit 1;
end
$$;

-- The account that a link in a mail confirms or signs in: its name, the address, and kind: unconfirmed,
-- confirmed, or change (of an address). No row for an unknown or used token.
-- definer: reads users of the auth service. Whoever has the token has received the mail.
create function private.account_of_link(token_hash text)
  returns table (name text, email text, kind text)
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return query select p.name, case when l.is_change then u.email_change else u.email end::text,
    case when l.is_change then 'change' when u.email_confirmed_at is null then 'unconfirmed'
      else 'confirmed' end
  from private.user_of_link(token_hash) l join auth.users u on u.id = l.id
  left join public.profiles p on p.auth_user_id = u.id;
end
$$;

-- Deletes an unconfirmed account, or removes the address from an account that has another sign-in method; or
-- (is_change) cancels a change of address. Returns deleted, kept (the address of a change), or null for a
-- confirmed account.
create function private.reject_request(account_id uuid, is_change boolean) returns text
language plpgsql set search_path = pg_temp as $$
begin
  if is_change then
    update auth.users u set email_change = '', email_change_token_new = '', email_change_token_current = '',
      email_change_confirm_status = 0 where u.id = account_id;
    delete from auth.one_time_tokens t where t.user_id = account_id;
    return 'kept';
  end if;
  perform from auth.users u where u.id = account_id and u.email_confirmed_at is null for update;
  if found then
    delete from auth.users u where u.id = account_id and u.phone_confirmed_at is null and not u.is_anonymous;
    -- Somebody who signs in by phone or anonymously keeps the account, without this address.
    delete from auth.identities i using auth.users u
    where u.id = account_id and i.user_id = u.id and lower(i.identity_data ->> 'email') = u.email;
    update auth.users u set email = null, confirmation_token = '', recovery_token = ''
    where u.id = account_id;
    delete from auth.one_time_tokens t where t.user_id = account_id;
    return 'deleted';
  end if;
  return null;
end
$$;

-- For the owner of an address who did not request the mail: deletes the unconfirmed account, removes the
-- address from an account that has another sign-in method, or cancels the change of address. Returns deleted,
-- kept (the address of a change), or null without any effect for a confirmed account or an unknown token.
-- definer: users belong to the auth service.
create function private.reject_link(token_hash text) returns text
language sql security definer set search_path = pg_temp
return (select private.reject_request(l.id, l.is_change) from private.user_of_link(token_hash) l);

-- Whether the caller has just confirmed an account without a password that no provider signs in.
-- definer: reads users of the auth service.
create function private.needs_password() returns boolean
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return exists (select from auth.users u where u.id = auth.uid()
    and coalesce(u.encrypted_password, '') = '' and u.email_confirmed_at > now() - interval '1 hour'
    and coalesce(u.raw_app_meta_data -> 'providers', '["email"]') <@ '["email"]');
end
$$;
grant execute on function private.account_of_link, private.reject_link, private.count_unconfirmed_request
  to anon, authenticated;
grant execute on function private.needs_password to authenticated;

-- Sessions --------------------------------------------------------------------------------------------------

-- The reason why an access token with these claims is refused: ended (the auth service has deleted or banned
-- the user, or ended the session) or factor (the account has a second factor that the session has not
-- passed); null if it is accepted. A token without a session id is accepted until it expires. definer: reads
-- users, sessions and factors of the auth service.
create function private.session_refusal(user_id uuid, session_id uuid, aal text) returns text
language plpgsql stable security definer set search_path = pg_temp as $$
declare refusal text;
begin
  select case
    when u.deleted_at is not null or u.banned_until > now() then 'ended'
    when session_id is not null and not exists (select from auth.sessions s
      where s.id = session_id and s.user_id = u.id) then 'ended'
    when aal is distinct from 'aal2' and exists (select from auth.mfa_factors f
      where f.user_id = u.id and f.status = 'verified') then 'factor'
  end into refusal
  from auth.users u where u.id = session_refusal.user_id;
  return case when found then refusal else 'ended' end;
end
$$;

-- The reason why the access token of a client of the data API or of realtime is refused: client (issued to
-- another application), or a reason of private.session_refusal; null if it is accepted. definer: clients may
-- ask about their own token only.
create function private.token_refusal() returns text
language plpgsql stable security definer set search_path = pg_temp as $$
declare claims jsonb := auth.jwt();
begin
  -- The user let another application sign in with this project; that application may not act here.
  if claims ? 'client_id' then return 'client'; end if;
  if not coalesce(concat_ws(' ', claims ->> 'sub', claims ->> 'session_id')
    ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}( [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$', false)
    or claims ->> 'sub' is null then return 'ended'; end if;
  return private.session_refusal((claims ->> 'sub')::uuid, (claims ->> 'session_id')::uuid, claims ->> 'aal');
end
$$;

-- The message for a refused credential: the reason of private.session_refusal, or null for an invalid one.
create function private.refusal_message(refusal text) returns text
language sql immutable
return case refusal
  when 'factor' then 'This account has a second factor. Send the token of a session that passed it (aal2).'
  when 'client' then 'This token was issued to another application. Sign in to this one.'
  when 'ended' then 'This session has ended. Sign in again.'
  else 'The credential is not valid here. Sign in again, or replace the key. Agent keys work only at /api/mcp.' end;
grant execute on function private.token_refusal, private.refusal_message to anon, authenticated,
  service_role;
