-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.admin_frame(least_role text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.current_organization_id();
  caller uuid := private.caller_id();
  own_role text := (select m.role from public.memberships m where m.organization_id = own_id
    and m.user_id = caller);
begin
  if own_role is null or (own_role = 'member' and least_role <> 'member')
    or (own_role <> 'owner' and least_role = 'owner') then
    perform private.raise_error('FORBIDDEN', case least_role
      when 'member' then 'Only members of the organization may do this.'
      when 'owner' then 'Only the organization''s owner may do this.'
      else 'Only admins of the organization may do this.' end);
  end if;
  return json_build_object('organization_id', own_id, 'role', own_role,
    'organizations', (select json_agg(json_build_object('slug', o.slug, 'name', o.name, 'is_default',
        o.id = private.default_organization_id()) order by lower(o.name), o.id)
      from public.memberships m join public.organizations o on o.id = m.organization_id
        where m.user_id = caller),
    'waiting_count', case when own_role <> 'member' then (select count(*) from (
      select from public.submissions s where s.organization_id = own_id and s.moderation_state = 'pending'
      union all
      select from public.comments c where c.organization_id = own_id and c.moderation_state = 'pending'
      limit 100) w) else 0 end);
end
$function$;

ALTER FUNCTION "private"."admin_frame"(text) OWNER TO "postgres";

COMMENT ON FUNCTION "private"."admin_frame"(text) IS 'For the pages of the dashboard: {organization_id, role, organizations, waiting_count} of the caller, where their role is at least the given one; raises NOT_FOUND or FORBIDDEN otherwise. waiting_count is at most 100.';

REVOKE ALL ON FUNCTION "private"."admin_frame"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_frame"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_frame"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_frame"(text) TO "postgres";
