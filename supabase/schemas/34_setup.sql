-- Setup of a new installation by the pages: the first organization and its owner.

create table private.setup (
  is_over boolean primary key default true,
  over_at timestamptz not null default now(),
  constraint there_is_one_row check (is_over)
);
comment on table private.setup is
  'Has a row once an organization was created: the setup is then closed forever, even if all organizations '
  'are deleted.';

-- Trigger: the first organization ends the setup. definer: any insert of an organization ends the setup.
create function private.end_setup() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  insert into private.setup default values on conflict do nothing;
  return null;
end
$$;
create trigger end_setup after insert on public.organizations
  for each statement execute function private.end_setup();

-- Whether the installation has never had an organization. definer: the table is granted to nobody.
create function private.setup_is_open() returns boolean
language sql stable security definer set search_path = pg_temp
return not exists (select from private.setup);

-- Creates the first organization of the installation, owned by this user of auth, and ends the setup.
-- Raises CONFLICT if there has been an organization.
-- definer: the login role may write no table. It calls this after it has authenticated the operator.
create function private.set_up(owner_id uuid, name text, slug text, visibility text) returns uuid
language plpgsql security definer set search_path = pg_temp as $$
declare organization_id uuid;
begin
  -- Serializes concurrent calls: the second waits here for the first.
  insert into private.setup default values on conflict do nothing;
  if not found then
    perform private.raise_error('CONFLICT', 'This installation is already set up. Sign in instead.');
  end if;
  organization_id := private.create_organization(name, slug, visibility, owner_id);
  update public.organizations o set is_default = true where o.id = organization_id;
  return organization_id;
end
$$;
grant execute on function private.setup_is_open to anon, authenticated;
grant execute on function private.set_up to feedback_api;
