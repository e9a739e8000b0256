-- Prevents erased people from voting or answering twice: their participations are kept as keyed hashes, one
-- for each row.

create table private.erasure_key (
  key bytea not null,
  is_only boolean primary key default true,
  constraint there_is_one_key check (is_only)
);
comment on table private.erasure_key is
  'Key of the hashes if there is no Vault. Created by the first erasure or change of address; no API role '
  'can read it.';

create table private.erased_participations (
  hash bytea primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  row_id uuid not null,
  hashed_id uuid not null
);
comment on table private.erased_participations is
  'Votes and survey responses of erased people as hashes. row_id is the submission, comment or survey. hash '
  'is HMAC-SHA-256 of the account (its id, and its e-mail address) and hashed_id, the first row_id.';
create index erased_participations_row_idx on private.erased_participations (row_id, hashed_id);
create index erased_participations_organization_idx on private.erased_participations (organization_id);

create table private.former_addresses (
  profile_id uuid not null references public.profiles (id) on delete cascade,
  hash text not null,
  primary key (profile_id, hash)
);
comment on table private.former_addresses is
  'Former e-mail addresses of existing accounts as keyed hashes; an erasure covers them too.';
alter table private.erasure_key enable row level security;
alter table private.erased_participations enable row level security;
alter table private.former_addresses enable row level security;
revoke all on private.erasure_key, private.erased_participations, private.former_addresses
  from public, anon, authenticated, service_role, service_key;

create function private.read_erasure_key() returns bytea
language plpgsql stable set search_path = pg_temp as $$
declare key bytea := (select k.key from private.erasure_key k);
begin
  if key is null and to_regclass('vault.decrypted_secrets') is not null then
    execute $query$ select decode(s.decrypted_secret, 'hex') from vault.decrypted_secrets s
      where s.name = 'feedback_erasure_key' $query$ into key;
  end if;
  return key;
end
$$;
comment on function private.read_erasure_key() is
  'Key of erased participations, from the table or Vault; null before it is created.';

create function private.make_erasure_key() returns bytea
language plpgsql set search_path = pg_temp as $$
begin
  if private.read_erasure_key() is null then
    -- Serializes two first erasures, which must not create two keys.
    lock table private.erasure_key in exclusive mode;
    if private.read_erasure_key() is not null then
      null;
    elsif to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null then
      execute 'select vault.create_secret($1, $2)' using encode(extensions.gen_random_bytes(32), 'hex'),
        'feedback_erasure_key';
    else
      insert into private.erasure_key (key) values (extensions.gen_random_bytes(32));
    end if;
  end if;
  return private.read_erasure_key();
end
$$;
comment on function private.make_erasure_key() is
  'Returns the key of erased participations and creates it if needed, in Vault if available.';

create function private.erasure_hash(key bytea, account text, row_id uuid) returns bytea
language sql immutable
return extensions.hmac(convert_to(account || ' ' || row_id, 'UTF8'), key, 'sha256');
comment on function private.erasure_hash(bytea, text, uuid) is
  'Hash of an account for one row. Hashes of one account for different rows cannot be linked.';

create function private.address_hash(address text) returns text
language plpgsql stable set search_path = pg_temp as $$
begin
  return encode(extensions.hmac(convert_to(lower(address), 'UTF8'), private.read_erasure_key(), 'sha256'),
    'hex');
end
$$;
comment on function private.address_hash(text) is
  'Hash of a user''s e-mail address. Null before the key exists.';

create function private.accounts_of(person public.profiles) returns text[]
language plpgsql stable set search_path = pg_temp as $$
begin
  return case person.kind
    when 'user' then array_remove(array['user ' || person.id, 'user ' || private.address_hash(person.email)],
      null)
      || array(select 'user ' || f.hash from private.former_addresses f where f.profile_id = person.id)
    when 'email' then array['author ' || lower(person.email)]
    else '{}'
  end;
end
$$;
comment on function private.accounts_of(public.profiles) is
  'What an erasure records of a person: id and all addresses of a user, who may sign up again; the '
  'address of an e-mail author.';

create function private.accounts_at(address text) returns text[]
language plpgsql stable set search_path = pg_temp as $$
begin
  return array_remove(array['author ' || lower(address), 'user ' || private.address_hash(address)], null);
end
$$;
comment on function private.accounts_at(text) is
  'What an erasure recorded of the e-mail author, and of the users, who had the address: one person.';

-- definer: private tables.
create function private.record_former_address() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform private.make_erasure_key();
  insert into private.former_addresses (profile_id, hash) values (old.id, private.address_hash(old.email))
    on conflict do nothing;
  return null;
end
$$;
comment on function private.record_former_address() is
  'Trigger: stores the hash of a former address, so that a user who changed it, was erased and signs up '
  'again with it is recognized.';
create trigger keep_former_address after update of email on public.profiles
  for each row when (new.auth_user_id is not null and lower(old.email) <> lower(new.email))
  execute function private.record_former_address();

create function private.record_participations(person public.profiles, organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
declare key bytea := private.make_erasure_key(); accounts text[] := private.accounts_of(person);
begin
  insert into private.erased_participations (hash, organization_id, row_id, hashed_id)
  select private.erasure_hash(key, account, t.row_id), t.organization_id, t.row_id, t.row_id
  from (
    select v.organization_id, coalesce(v.merged_from, v.submission_id) as row_id from public.votes v
      where v.user_id = person.id
    union
    select j.organization_id, j.source_id
    from public.votes v join public.submissions s on (s.organization_id, s.merged_into_id) =
      (v.organization_id, v.submission_id)
      join private.merged_votes j on j.source_id = s.id and j.user_id = v.user_id
    where v.user_id = person.id
    union
    select v.organization_id, v.comment_id from public.comment_votes v where v.user_id = person.id
    union
    select r.organization_id, r.survey_id from public.survey_responses r
      where r.user_id = person.id and r.is_only) t
  cross join unnest(accounts) account
  where record_participations.organization_id
    is null or t.organization_id = record_participations.organization_id
  on conflict do nothing;
end
$$;
comment on function private.record_participations(public.profiles, uuid) is
  'Before a person is erased, in one organization or (null) in all: stores hashes of their votes and single '
  'responses. The caller has locked the profile.';

-- definer: private tables.
create function private.record_participations_of_account() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  -- Waits for concurrent votes, which lock the profile too.
  perform 1 from public.profiles p where p.id = old.id for update;
  perform private.record_participations(old, null);
  delete from private.former_addresses f where f.profile_id = old.id;
  return new;
end
$$;
comment on function private.record_participations_of_account() is
  'Trigger: stores the participations of an account before it is deleted in any way.';
create trigger keep_participations before update of auth_user_id on public.profiles
  for each row when (old.auth_user_id is not null and new.auth_user_id is null)
  execute function private.record_participations_of_account();

create function private.participated(accounts text[], row_ids uuid[]) returns boolean
language plpgsql stable set search_path = pg_temp as $$
declare key bytea := private.read_erasure_key();
begin
  -- A row has one hashed_id, and one more for each source that was deleted: the index is asked for the next,
  -- however many were erased.
  return exists (
    with recursive hashed as (
      select r.row_id, first.hashed_id
      from unnest(row_ids) r (row_id) cross join lateral (
        select e.hashed_id from private.erased_participations e where e.row_id = r.row_id
          order by e.hashed_id limit 1) first
      union all
      select h.row_id, next.hashed_id
      from hashed h cross join lateral (
        select e.hashed_id from private.erased_participations e
          where e.row_id = h.row_id and e.hashed_id > h.hashed_id
        order by e.hashed_id limit 1) next
    )
    select from hashed h cross join unnest(accounts) account
    where exists (select from private.erased_participations e
      where e.hash = private.erasure_hash(key, account, h.hashed_id)));
end
$$;
comment on function private.participated(text[], uuid[]) is
  'Whether one of the accounts participated in one of the rows before an erasure.';

create function private.participated(profile_id uuid, row_ids uuid[]) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return private.participated((select private.accounts_of(p) || private.accounts_at(p.email)
    from public.profiles p where p.id = profile_id), row_ids);
end
$$;
comment on function private.participated(uuid, uuid[]) is
  'Whether the person participated in one of the rows before an erasure, as this profile or as another with '
  'its address.';

create function private.participated(address text, row_ids uuid[]) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  -- Checked first: most imported rows have no such hash.
  return exists (select from private.erased_participations e where e.row_id = any (row_ids))
    and private.participated(private.accounts_at(address), row_ids);
end
$$;
comment on function private.participated(text, uuid[]) is
  'For imports: whether an author or user with the address participated before an erasure.';

-- definer: private tables.
create function private.reject_second_participation() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare is_erased boolean;
begin
  if private.events_suppressed() then return null; end if;
  -- Lock until commit to serialize with an erasure; an erased person may still hold a token or session.
  select bool_or(p.kind = 'user' and coalesce(p.auth_user_id::text, p.email, p.name) is null
    or p.kind = 'anonymous' and p.id = private.caller_id()) into is_erased
  from (select * from public.profiles where id in (select a.user_id from added a) for key share) p;
  if is_erased then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted.');
  end if;
  if not exists (select from added a join private.erased_participations e using (organization_id))
    then return null; end if;
  case tg_table_name
    when 'votes' then
      if exists (select from added a
        where private.participated(a.user_id, private.with_sources(a.submission_id))) then
        perform private.raise_error('CONFLICT',
          'You voted for this submission before you were erased, and that vote still counts.',
          'submission_id');
      end if;
    when 'comment_votes' then
      if exists (select from added a where private.participated(a.user_id, array[a.comment_id])) then
        perform private.raise_error('CONFLICT',
          'You voted for this comment before you were erased, and that vote still counts.', 'comment_id');
      end if;
    else
      if exists (select from added a where a.is_only and private.participated(a.user_id, array[a.survey_id]))
        then
        perform private.raise_error('ALREADY_RESPONDED',
          'You answered this survey before you were erased, and that response still counts.');
      end if;
  end case;
  return null;
end
$$;
comment on function private.reject_second_participation() is
  'Trigger: rejects a second vote or response after an erasure, from the same account or from a new one '
  'with the same address.';
create trigger refuse_second after insert on public.votes
  referencing new table as added for each statement execute function private.reject_second_participation();
create trigger refuse_second after insert on public.comment_votes
  referencing new table as added for each statement execute function private.reject_second_participation();
create trigger refuse_second after insert on public.survey_responses
  referencing new table as added for each statement execute function private.reject_second_participation();

-- definer: private tables.
create function private.delete_erased_participations() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if tg_table_name = 'submissions' then
    -- Votes copied from a merged submission stay with the target, and so do these hashes.
    update private.erased_participations e set row_id = g.merged_into_id
    from gone g join public.submissions s on s.id = g.merged_into_id where e.row_id = g.id;
  end if;
  delete from private.erased_participations e using gone g where e.row_id = g.id;
  return null;
end
$$;
comment on function private.delete_erased_participations() is 'Trigger: deletes the hashes of a deleted row.';
create trigger trim_participations after delete on public.submissions
  referencing old table as gone for each statement execute function private.delete_erased_participations();
create trigger trim_participations after delete on public.comments
  referencing old table as gone for each statement execute function private.delete_erased_participations();
create trigger trim_participations after delete on public.surveys
  referencing old table as gone for each statement execute function private.delete_erased_participations();
