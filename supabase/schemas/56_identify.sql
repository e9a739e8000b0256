-- People whom an organization's own application vouches for: signing secrets, and sessions of this service.
--
-- The edge functions verify the signed tokens (functions/_shared/callers/identify.ts). The database
-- determines the person of a verified token, and stores the sessions.

create table private.identify_secrets (
  id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  encrypted_secret text not null,
  last_four text not null,
  last_used_at timestamptz,
  created_by uuid references public.profiles (id) deferrable initially deferred,
  created_at timestamptz not null default now(),
  constraint secrets_are_encrypted check (encrypted_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$')
);
comment on table private.identify_secrets is
  'Secrets with which an organization''s application signs tokens of its users, at most two, so that one can '
  'replace the other. Encrypted like those of webhooks; deleting one ends the sessions it opened.';
create index identify_secrets_organization_idx on private.identify_secrets (organization_id, created_at);
create index identify_secrets_created_by_idx on private.identify_secrets (created_by);

create table private.identified_people (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  subject text not null,
  profile_id uuid not null constraint one_subject_a_profile unique
    references public.profiles (id) on delete cascade,
  created_at timestamptz not null default now(),
  last_identified_at timestamptz not null default now(),
  primary key (organization_id, subject),
  constraint subject_has_1_to_255_characters check (char_length(subject) between 1 and 255)
);
comment on table private.identified_people is
  'People an organization identified: its own name for the person (sub of a token) and the e-mail author '
  'they are. The address in a token decides once, when the subject is new.';

create table private.identify_sessions (
  digest bytea primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  profile_id uuid not null references public.profiles (id) on delete cascade,
  secret_id uuid not null references private.identify_secrets (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint digest_is_sha256 check (octet_length(digest) = 32)
);
comment on table private.identify_sessions is
  'Sessions of identified people, by the SHA-256 digest of their secret. A session ends by expiry, or when '
  'its row is deleted: by signing out, with the signing secret, and with the person.';
create index identify_sessions_profile_idx on private.identify_sessions (profile_id, created_at desc);
create index identify_sessions_secret_idx on private.identify_sessions (secret_id);
create index identify_sessions_organization_idx on private.identify_sessions (organization_id);
create index identify_sessions_age_idx on private.identify_sessions (expires_at);

create table private.identify_tokens (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (organization_id, digest)
);
comment on table private.identify_tokens is
  'Tokens with a jti that were used, until they have expired: such a token works once. digest is the SHA-256 '
  'of the jti.';
create index identify_tokens_age_idx on private.identify_tokens (expires_at);

-- Sessions --------------------------------------------------------------------------------------------------

-- The identified person of a session: a user of one organization only. The session is invalid if it does not
-- exist, if it has expired, or while the organization is private: only its team may see a private board.
create function private.resolve_session(digest bytea) returns private.caller
language plpgsql stable set search_path = pg_temp as $$
declare who private.caller;
begin
  who.kind := 'user';
  who.level := 'level_user';
  select s.profile_id, s.organization_id, true into who.profile_id, who.organization_id, who.valid
  from private.identify_sessions s join public.organizations o on o.id = s.organization_id
  where s.digest = resolve_session.digest and s.expires_at > now() and o.visibility = 'public';
  who.valid := who.valid is true;
  return who;
end
$$;

-- For the edge functions: {organization_id, is_public, slugs, secrets: [{id, encrypted, last_four}]} of an
-- organization by id or slug, where slugs has the former ones too; null if there is none.
-- definer: private tables. The edge functions call it before they know whose token it is.
create function private.signing_secrets(organization text) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return (select json_build_object(
    'organization_id', o.id,
    'is_public', o.visibility = 'public',
    'slugs', (select json_agg(l.slug) from private.organization_slugs l where l.organization_id = o.id),
    'secrets', coalesce((select json_agg(json_build_object(
      'id', s.id,
      'encrypted', s.encrypted_secret,
      'last_four', s.last_four) order by s.created_at desc, s.id)
      from private.identify_secrets s where s.organization_id = o.id), '[]'))
    from public.organizations o where o.id = private.organization_named(organization));
end
$$;

-- For the edge functions, which verified the token: opens a session for the person of the subject, and
-- returns {expires_at, profile}. A new subject becomes the e-mail author with the address, inserted if
-- missing; never a user, a team member or a person of another organization. A person has at most 50 sessions.
-- Raises CONFLICT if the address belongs to another subject, UNAUTHORIZED for a used token, and FORBIDDEN for
-- a private board, each with a reason. definer: private tables.
create function private.open_session(
  organization_id uuid,
  secret_id uuid,           -- the secret that signed the token
  subject text,
  email text,
  name text,                -- null or not usable: the person keeps the current one; so with avatar_url
  avatar_url text,
  token_digest bytea,       -- SHA-256 of the token's jti, null if it has none
  token_expires_at timestamptz,
  digest bytea,             -- SHA-256 of the new session's secret
  lifetime interval
) returns json
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_column
declare
  own_id uuid := open_session.organization_id;
  person_id uuid;
  ends_at timestamptz := now() + lifetime;
begin
  perform 1 from private.identify_secrets s where s.id = secret_id and s.organization_id = own_id
    for key share;
  if not found then
    perform private.raise_error('UNAUTHORIZED',
      'The signing secret of this token was deleted. Sign with a current one.', 'token',
      '{"reason": "signature"}');
  end if;
  if (select o.visibility from public.organizations o where o.id = own_id) <> 'public' then
    perform private.raise_error('FORBIDDEN', 'This board is private. Only its team can sign in.', 'token',
      '{"reason": "private_board"}');
  end if;
  if token_digest is not null then
    insert into private.identify_tokens (organization_id, digest, expires_at)
    values (own_id, token_digest, token_expires_at) on conflict do nothing;
    if not found then
      perform private.raise_error('UNAUTHORIZED',
        'This token was already used. Sign a new one with another jti.', 'token',
        '{"reason": "replayed"}');
    end if;
  end if;

  person_id := (select i.profile_id from private.identified_people i
    where i.organization_id = own_id and i.subject = open_session.subject);
  if person_id is null then
    insert into public.profiles as p (kind, organization_id, email)
    values ('email', own_id, lower(open_session.email))
    -- Locks the author, so that the second of two subjects with one address sees the first.
    on conflict (organization_id, lower(email)) where kind = 'email' do update set email = p.email
    returning p.id into person_id;
    insert into private.identified_people (organization_id, subject, profile_id)
    values (own_id, open_session.subject, person_id) on conflict do nothing;
    if not found then
      person_id := (select i.profile_id from private.identified_people i
        where i.organization_id = own_id and i.subject = open_session.subject);
    end if;
  else
    update public.profiles p set email = lower(open_session.email)
    where p.id = person_id and lower(p.email) <> lower(open_session.email)
      and not exists (select from public.profiles q where q.kind = 'email' and q.organization_id = own_id
        and lower(q.email) = lower(open_session.email));
  end if;
  if person_id is null or exists (
    select from public.profiles p join private.identified_people i on i.profile_id = p.id
    where p.kind = 'email' and p.organization_id = own_id and lower(p.email) = lower(open_session.email)
      and i.subject <> open_session.subject) then
    perform private.raise_error('CONFLICT',
      'Another person (sub) of this organization has this email address.', 'token',
      '{"reason": "address_taken"}');
  end if;

  update private.identified_people i set last_identified_at = now()
  where i.organization_id = own_id and i.subject = open_session.subject
    and i.last_identified_at < now() - interval '1 minute';
  update public.profiles p set
    name = coalesce(g.name, p.name),
    avatar_url = coalesce(g.picture, p.avatar_url)
  from (select private.given_name(to_jsonb(open_session.name)) as name,
    private.given_picture(to_jsonb(open_session.avatar_url)) as picture) g
  where p.id = person_id
    and (g.name <> coalesce(p.name, '') or g.picture <> coalesce(p.avatar_url, ''));
  update private.identify_secrets s set last_used_at = now()
  where s.id = (select l.id from private.identify_secrets l where l.id = secret_id
    and (l.last_used_at is null or l.last_used_at < now() - interval '1 minute')
    for no key update skip locked);

  -- A host may identify its visitor on each page: new sessions replace the oldest ones of a person.
  delete from private.identify_sessions s where s.digest in (
    select o.digest from private.identify_sessions o where o.profile_id = person_id
    order by o.created_at desc, o.digest offset 49);
  insert into private.identify_sessions (digest, organization_id, profile_id, secret_id, expires_at)
  values (open_session.digest, own_id, person_id, secret_id, ends_at);
  return (select json_build_object(
    'expires_at', ends_at,
    'profile', json_build_object(
      'id', p.id,
      'name', coalesce(p.name, 'Anonymous'),
      'avatar', private.avatar(p),
      'email', p.email))
    from public.profiles p where p.id = person_id);
end
$$;

-- Ends a session of the caller, by its digest; returns whether there was one. definer: private tables.
create function private.end_session(digest bytea) returns boolean
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.identify_sessions s where s.digest = end_session.digest
    and s.profile_id = private.caller_id();
  return found;
end
$$;

grant execute on function private.signing_secrets, private.open_session to feedback_api;
grant execute on function private.end_session to authenticated;

-- For an erasure: deletes the identities that applications gave a person, and ends the person's sessions.
create function private.forget_identified(profile_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  delete from private.identified_people i where i.profile_id = forget_identified.profile_id;
  delete from private.identify_sessions s where s.profile_id = forget_identified.profile_id;
end
$$;

-- Administration --------------------------------------------------------------------------------------------

-- JSON of a signing secret for Admin, without the secret.
create function private.identify_secret_shape(secret private.identify_secrets) returns json
language sql stable
return json_build_object(
  'id', (secret).id,
  'last_four', (secret).last_four,
  'last_used_at', (secret).last_used_at,
  'created_at', (secret).created_at,
  'created_by', private.author((secret).created_by, (secret).organization_id));

-- The organization's signing secrets, newest first, for a signed-in Admin.
create function private.admin_list_identify_secrets() returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.identify_secret_shape(s) order by s.created_at desc, s.id)
    from private.identify_secrets s where s.organization_id = own_id), '[]');
end
$$;

-- Stores a signing secret of the current organization, encrypted by the caller. Raises CONFLICT if it has
-- two.
create function private.admin_create_identify_secret(secret_id uuid, encrypted_secret text, last_four text)
  returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
#variable_conflict use_column
declare own_id uuid := private.require_key_admin(); made private.identify_secrets;
begin
  -- Serializes calls, so that the limit holds.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if (select count(*) from private.identify_secrets s where s.organization_id = own_id) >= 2 then
    perform private.raise_error('CONFLICT',
      'An organization can have at most two signing secrets. Delete one first.');
  end if;
  insert into private.identify_secrets (id, organization_id, encrypted_secret, last_four, created_by)
  values (admin_create_identify_secret.secret_id, own_id, admin_create_identify_secret.encrypted_secret,
    admin_create_identify_secret.last_four, private.caller_id())
  returning * into made;
  perform private.audit('identify_secret.create', 'identify_secret', made.id, '{}', own_id);
  return private.identify_secret_shape(made);
end
$$;

-- Deletes a signing secret and ends the sessions it opened; returns whether it existed.
create function private.admin_delete_identify_secret(secret_id uuid) returns boolean
language plpgsql security definer set search_path = pg_temp as $$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  delete from private.identify_secrets s where s.id = secret_id and s.organization_id = own_id;
  if not found then return false; end if;
  perform private.audit('identify_secret.delete', 'identify_secret', secret_id, '{}', own_id);
  return true;
end
$$;

-- private.signing_secrets of the current organization, for the check of a token by a signed-in Admin.
create function private.admin_signing_secrets() returns json
language plpgsql stable security definer set search_path = pg_temp as $$ -- definer: private tables
begin
  return private.signing_secrets(private.require_key_admin()::text);
end
$$;

grant execute on function private.admin_list_identify_secrets, private.admin_create_identify_secret,
  private.admin_delete_identify_secret, private.admin_signing_secrets to authenticated;
