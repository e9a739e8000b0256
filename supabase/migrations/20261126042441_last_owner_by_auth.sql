-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.enforce_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  organization uuid;
  needed constant text := 'An organization needs an owner: make another member owner first.';
begin
  for organization in select distinct r.organization_id from removed r where r.role = 'owner' order by 1 loop
    -- An update, not only a lock: of two transactions that read the same owners, at any isolation level, one
    -- waits and re-reads, or fails.
    update public.organizations o set updated_at = now() where o.id = organization;
    if found and not exists (select from public.memberships m
      where m.organization_id = organization and m.role = 'owner') then
      -- Auth, which deletes accounts in the dashboard, passes on only errors with such a state.
      if session_user = 'supabase_auth_admin' then
        raise sqlstate 'PT409' using message = needed;
      end if;
      perform private.raise_error('CONFLICT', needed, 'role');
    end if;
  end loop;
  return null;
end
$function$;

-- By hand, where it applies; delete what does not:
--   rows of existing tables: update … set …, in batches where a table is large
--   rules, switches and cursors that the schemas insert: insert into … values … on conflict do nothing
--   jobs: select cron.schedule('feedback-…', …), inside a check that pg_cron is installed
--   a renamed column or table: the statements above drop one and add another; write alter … rename instead
