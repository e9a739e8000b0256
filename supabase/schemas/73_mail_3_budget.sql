-- The budget of mails to unconfirmed recipients: people whose address only others entered.

create table private.mail_budgets (
  organization_id uuid primary key references public.organizations (id) on delete cascade,
  day date not null,
  used integer not null
);
comment on table private.mail_budgets is
  'Mails of an organization to unconfirmed recipients on the newest day (UTC) on which it sent any: '
  'at most organizations.max_unconfirmed_mails.';

-- Whether the recipient of mail is more than an address that others entered: an account, which has confirmed
-- its address (by a claim too); a person whom the organization's application identified; or an e-mail author
-- who saved mail preferences through the link of a mail. Excludes recipients who only stop mail, which mail
-- programs do too, and invited people.
create function private.is_confirmed_recipient(organization_id uuid, profile_id uuid) returns boolean
language sql stable
return exists (select from public.profiles p where p.id = is_confirmed_recipient.profile_id and (
  p.kind = 'user'
  or exists (select from private.identified_people i where i.profile_id = p.id)
  or exists (select from private.mail_choices c
    where c.organization_id = is_confirmed_recipient.organization_id and c.profile_id = p.id
      and c.choice <> 'never')));

-- Trigger: sets is_confirmed of a new mail. definer: private tables.
create function private.note_confirmation() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  new.is_confirmed := private.is_confirmed_recipient(new.organization_id, new.profile_id);
  return new;
end
$$;
create trigger note_confirmation before insert on private.mails
  for each row execute function private.note_confirmation();

-- Today is in UTC: in the organization's time zone, a change of the zone could start another day.
create function private.budget_day() returns date
language sql stable
return (now() at time zone 'UTC')::date;

-- How many mails the organization sent to unconfirmed recipients today. definer: private tables.
create function private.unconfirmed_mails(organization public.organizations) returns integer
language sql stable security definer set search_path = pg_temp
return coalesce((select b.used from private.mail_budgets b where b.organization_id = organization.id
  and b.day = private.budget_day()), 0);

-- Counts a mail to an unconfirmed recipient; false if the organization's budget for today is used up, null if
-- another dispatcher is counting now.
create function private.take_unconfirmed_mail(organization public.organizations) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if organization.max_unconfirmed_mails is null then return true; end if;
  -- A dispatcher counts mails of several organizations in any order: waiting for a lock could deadlock.
  if not pg_try_advisory_xact_lock(hashtextextended('unconfirmed mails of ' || organization.id, 0)) then
    return null;
  end if;
  insert into private.mail_budgets as b (organization_id, day, used)
  select organization.id, private.budget_day(), 1 where organization.max_unconfirmed_mails > 0
  on conflict on constraint mail_budgets_pkey do update set day = excluded.day,
    used = case when excluded.day > b.day then 1 else b.used + 1 end
  where excluded.day > b.day or b.used < organization.max_unconfirmed_mails;
  return found;
end
$$;

-- When the budget is used up: moves due mails to unconfirmed recipients that were not attempted yet into the
-- first daily digest of a later day; postpones invites to that time unchanged.
create function private.put_off_mails(organization public.organizations, max_rows integer) returns void
language plpgsql set search_path = pg_temp as $$
declare later timestamptz := private.next_digest('daily', organization.time_zone,
  (private.budget_day() + 1)::timestamp at time zone 'UTC');
begin
  with due as materialized (
    select m.id, m.profile_id, m.event_ids, m.kind in ('invite', 'survey') as stays,
      private.is_confirmed_recipient(m.organization_id, m.profile_id) as confirmed
    from private.mails m
    where m.organization_id = organization.id and not m.is_confirmed and m.status in ('pending', 'sending')
      and m.attempt_count = 0 and m.next_attempt_at <= now()
    order by m.next_attempt_at limit max_rows for update skip locked
  ), kept as (
    update private.mails m set is_confirmed = d.confirmed,
      next_attempt_at = case when d.confirmed then m.next_attempt_at else later end
    from due d where m.id = d.id and (d.confirmed or d.stays)
  ), moved as (
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at, created_at)
    select n.user_id, n.event_id, n.organization_id, false, later, n.created_at
    from due d join public.notifications n on n.user_id = d.profile_id and n.event_id = any (d.event_ids)
    where not (d.confirmed or d.stays)
    on conflict do nothing
  )
  delete from private.mails m using due d where m.id = d.id and not (d.confirmed or d.stays);
end
$$;
