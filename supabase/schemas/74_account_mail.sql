-- Mails of the auth service: limits for each recipient, and links that stop mail or undo a change. The Send
-- Email hook (functions/auth-mail) checks them before it sends.

-- The mailbox of an address, by which mails and attempts are counted: the address without +tag, at Gmail
-- without dots, and at Yahoo without -tag.
create function private.mailbox(address text) returns text
language plpgsql immutable set search_path = pg_temp as $$
declare
  name text := regexp_replace(lower(address), '@[^@]*$', '');
  domain text := substring(lower(address) from '[^@]*$');
begin
  if domain = 'googlemail.com' then domain := 'gmail.com'; end if;
  name := regexp_replace(name, '(?<=.)\+.*$', '');
  return case domain when 'gmail.com' then replace(name, '.', '')
    when 'yahoo.com' then regexp_replace(name, '(?<=.)-.*$', '') else name end || '@' || domain;
end
$$;

-- Bounds ----------------------------------------------------------------------------------------------------

create table private.stopped_account_mail (
  address_hash text primary key,
  stopped_at timestamptz not null default now()
);
comment on table private.stopped_account_mail is
  'Mailboxes, as keyed hashes, whose owner wants no mail about accounts that others make with their address. '
  'An address with a confirmed account gets its mail. Kept for private.retention(stopped_account_mail).';
create index stopped_account_mail_stopped_at_idx on private.stopped_account_mail (stopped_at);

-- Whether a mail with a code or link may be sent; counts it. Mail to an address with a confirmed account is
-- limited by client and over all clients; any other by mailbox, client and installation, and its owner can
-- stop it. Returns the hash of the mailbox, for the link that stops such mail, and 80 or 100 when this
-- percentage of the installation's limit has just been used.
-- definer: private tables, and users of the auth service.
create function private.admit_account_mail(address text, client text, account_id uuid)
  returns table (is_admitted boolean, stop_hash text, percent_used integer)
language plpgsql security definer set search_path = pg_temp as $$
declare
  is_known boolean := exists (select from auth.users u where u.email = lower(address)
    and u.email_confirmed_at is not null);
  hash text;
  account text;
  of_client boolean;
  of_all private.rate_state;
begin
  -- A call that auth accepted before an undo must send no code to the address that the undo removed.
  if not private.is_email(address) or private.was_just_restored(account_id) and exists (
    select from auth.users u where u.id = account_id and u.email <> lower(address)) then
    return query select false, null::text, null::integer;
    return;
  end if;
  -- Each mail counts, whoever gets it: the remaining number reveals nothing about an address.
  of_client := (private.charge_rule('account_mail_hour', client)).allowed;
  of_client := (private.charge_rule('account_mail_day', client)).allowed and of_client;
  if of_client then of_all := private.charge_rule('account_mail_everyone', 'everyone'); end if;
  percent_used := case when not of_all.allowed then null when of_all.remaining = 0 then 100
    when of_all.max_requests - of_all.remaining = ceil(of_all.max_requests * 0.8) then 80 end;
  if is_known then
    -- The mailbox is limited for each client, so that one client cannot block sign-ins from elsewhere. The
    -- address has its own limit, so that mail to other addresses of the mailbox cannot block it.
    account := 'account ' || private.address_hash(address);
    is_admitted := (private.charge_rule('account_mail_mailbox',
      account || coalesce(' ' || client, ''))).allowed
      and (private.charge_rule('account_mail_account', account)).allowed;
  else
    hash := private.address_hash(private.mailbox(address));
    -- The mailbox is charged last: a mail that is dropped for another reason does not count for it.
    is_admitted := of_client and of_all.allowed
      and not exists (select from private.stopped_account_mail s where s.address_hash = hash)
      and (private.charge_rule('account_mail_mailbox', hash)).allowed;
    if is_admitted then stop_hash := hash; end if;
  end if;
  return next;
end
$$;

-- Whether the owner of a mailbox stopped mail about accounts that others create.
-- definer: private tables. The edge functions call it for the bearer of a signed link.
create function private.account_mail_is_stopped(mailbox_hash text) returns boolean
language sql stable security definer set search_path = pg_temp
return exists (select from private.stopped_account_mail s where s.address_hash = mailbox_hash);

-- For the owner of a mailbox: stops mail about accounts that others create with its addresses, and rejects
-- the account or the change of address that the mail was about; or (is_stopped false) resumes it.
-- definer: private tables, and users of the auth service. The edge functions call it for the bearer of a
-- signed link.
create function private.stop_account_mail(mailbox_hash text, account_id uuid, is_stopped boolean) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare person auth.users;
begin
  if not is_stopped then
    delete from private.stopped_account_mail s where s.address_hash = mailbox_hash;
    return;
  end if;
  insert into private.stopped_account_mail (address_hash) values (mailbox_hash)
  on conflict (address_hash) do update set stopped_at = now();
  select * into person from auth.users u where u.id = account_id;
  if person.email_confirmed_at is null
    and private.address_hash(private.mailbox(person.email)) = mailbox_hash then
    perform private.reject_request(account_id, false);
  elsif private.address_hash(private.mailbox(nullif(person.email_change, ''))) = mailbox_hash then
    perform private.reject_request(account_id, true);
  end if;
end
$$;

-- Undo ------------------------------------------------------------------------------------------------------

create table private.account_undos (
  link_hash bytea primary key,
  user_id uuid not null references auth.users (id) on delete cascade,
  email text not null,
  created_at timestamptz not null default now(),
  undone_at timestamptz
);
comment on table private.account_undos is
  'Links that undo a change of address or password, as hashes, with the address that the account had before '
  'and that got the link. Valid once (undone_at) within private.retention(account_undos).';
create index account_undos_user_idx on private.account_undos (user_id, created_at);
create index account_undos_created_at_idx on private.account_undos (created_at);

-- Stores the link in the mail about a changed address or password, with the address that the mail is sent to.
-- Returns false for an unknown account, and beyond 20 in a week.
-- definer: private tables, and users of the auth service.
create function private.open_account_undo(account_id uuid, address text, link_hash bytea) returns boolean
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.account_undos (link_hash, user_id, email)
  select open_account_undo.link_hash, u.id, lower(address) from auth.users u
  where u.id = account_id and u.email_confirmed_at is not null and u.deleted_at is null
    -- The oldest link of a week takes precedence, so that newer links cannot displace it.
    and (select count(*) from private.account_undos o where o.user_id = u.id and o.undone_at is null) < 20;
  return found;
end
$$;
grant execute on function private.admit_account_mail, private.open_account_undo to feedback_mail;

-- The address that a link restores; null if it is unknown, used or expired.
-- definer: private tables. The edge functions call it for the bearer of a signed link.
create function private.address_of_undo(link_hash bytea) returns text
language sql stable security definer set search_path = pg_temp
return (select o.email from private.account_undos o where o.link_hash = address_of_undo.link_hash
  and o.undone_at is null and o.created_at > now() - private.retention('account_undos'));

-- For the owner of the address that a link was sent to: gives the account this address again and no password,
-- ends its sessions, codes and later links, and removes second factors, passkeys, sign-ins by providers and a
-- phone number that were added since the day before. Returns undone; taken, if another confirmed account has
-- the address; or null for a link that is unknown, used or expired. definer: private tables, and users of the
-- auth service. The edge functions call it for the bearer of a signed link.
create function private.undo_account_change(link_hash bytea) returns text
language plpgsql security definer set search_path = pg_temp as $$
declare
  undo private.account_undos;
  other auth.users;
  since timestamptz;
begin
  select o.* into undo from private.account_undos o where o.link_hash = undo_account_change.link_hash
    and o.undone_at is null and o.created_at > now() - private.retention('account_undos');
  -- Calls for one account are serialized, so that the older link wins.
  perform from auth.users u where u.id = undo.user_id and u.deleted_at is null for update;
  if not found or not exists (select from private.account_undos o
    where o.link_hash = undo_account_change.link_hash and o.undone_at is null) then return null; end if;
  select u.* into other from auth.users u
  where u.email = undo.email and u.id <> undo.user_id and not u.is_sso_user;
  if other.email_confirmed_at is not null then return 'taken'; end if;
  perform private.reject_request(other.id, false);
  delete from private.account_undos o where o.user_id = undo.user_id and o.created_at >= undo.created_at
    and o.link_hash <> undo.link_hash;
  -- Somebody who takes over an account first adds a way to sign in again.
  since := undo.created_at - interval '1 day';
  delete from auth.sessions s where s.user_id = undo.user_id;
  delete from auth.flow_state f where f.user_id = undo.user_id;
  delete from auth.one_time_tokens t where t.user_id = undo.user_id;
  delete from auth.mfa_factors f where f.user_id = undo.user_id and f.created_at > since;
  if to_regclass('auth.webauthn_credentials') is not null then
    execute 'delete from auth.webauthn_credentials where user_id = $1 and created_at > $2'
      using undo.user_id, since;
  end if;
  delete from auth.identities i
  where i.user_id = undo.user_id and i.provider <> 'email' and i.created_at > since;
  update auth.identities i set identity_data = i.identity_data
    || jsonb_build_object('email', undo.email, 'email_verified', true)
  where i.user_id = undo.user_id and i.provider = 'email';
  update auth.users u set email = undo.email, encrypted_password = '', confirmation_token = '',
    recovery_token = '', reauthentication_token = '', email_change = '', email_change_token_new = '',
    email_change_token_current = '', email_change_confirm_status = 0, phone_change = '',
    phone_change_token = '',
    phone = case when u.phone_confirmed_at > since then null else u.phone end,
    phone_confirmed_at = case when u.phone_confirmed_at > since then null else u.phone_confirmed_at end
  where u.id = undo.user_id;
  update private.account_undos o set undone_at = clock_timestamp() where o.link_hash = undo.link_hash;
  return 'undone';
end
$$;
grant execute on function private.account_mail_is_stopped, private.stop_account_mail,
  private.address_of_undo, private.undo_account_change to anon, authenticated;

-- Whether the owner of a former address of the account can undo the change.
create function private.address_can_be_restored(account_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.account_undos o join auth.users u on u.id = o.user_id
    where o.user_id = account_id and o.email <> u.email and o.undone_at is null
      and o.created_at > now() - private.retention('account_undos'));
end
$$;

-- Whether a change of the account was undone in the last 30 seconds: after that time, all calls that auth
-- accepted before the undo have ended.
create function private.was_just_restored(account_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  return exists (select from private.account_undos o where o.user_id = account_id
    and o.undone_at > clock_timestamp() - interval '30 seconds');
end
$$;

-- Trigger on tables of auth: a call that auth accepted before an undo cannot write a password, address, phone
-- number, session, sign-in method or second factor after it, nor a code for another address. definer: private
-- tables; the role of the auth service may not use the schema.
create function private.refuse_after_undo() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare
  account_id uuid := case tg_table_name when 'users' then to_jsonb(new) ->> 'id'
    else to_jsonb(new) ->> 'user_id' end;
  address text;
begin
  -- Waits for an undo that holds the row lock.
  select u.email into address from auth.users u where u.id = account_id for key share;
  if not private.was_just_restored(account_id)
    or tg_table_name = 'one_time_tokens' and to_jsonb(new) ->> 'relates_to' = address then return new; end if;
  raise exception 'A change of this account was just undone. Try again in half a minute.'
    using errcode = 'check_violation', constraint = 'account_was_just_restored';
end
$$;
create trigger refuse_after_undo before update of encrypted_password, email, phone on auth.users
  for each row when (new.encrypted_password is distinct from old.encrypted_password
    or new.email is distinct from old.email or new.phone is distinct from old.phone)
  execute function private.refuse_after_undo();
do $$
declare name text;
begin
  foreach name in array array['sessions', 'identities', 'mfa_factors', 'one_time_tokens'] loop
    -- If only auth's own role may create triggers on the table, the undo removes what has been committed.
    if has_table_privilege(to_regclass('auth.' || name), 'trigger') then
      execute format('create trigger refuse_after_undo before insert on auth.%I
        for each row execute function private.refuse_after_undo()', name);
    end if;
  end loop;
end
$$;

-- Trigger on auth.users: a deleted account cannot be restored.
-- definer: private tables; the role of the auth service may not use the schema.
create function private.forget_undos() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  delete from private.account_undos o where o.user_id = new.id;
  return null;
end
$$;
create trigger forget_undos after update of deleted_at on auth.users
  for each row when (new.deleted_at is not null) execute function private.forget_undos();
