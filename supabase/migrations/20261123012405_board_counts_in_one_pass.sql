-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.board_counts(organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  all_of_them boolean := board_counts.organization_id = any (private.team_organization_ids());
  caller uuid := private.caller_id();
begin
  return (
    select json_build_object(
      'total', coalesce(sum(k.n) filter (where k.summed = 7), 0),
      'statuses', coalesce(json_object_agg(k.status, k.n) filter (where k.summed = 3), '{}'),
      'types', coalesce(json_object_agg(k.type, k.n) filter (where k.summed = 5), '{}'),
      'categories', coalesce(json_object_agg(k.category_id, k.n)
        filter (where k.summed = 6 and k.category_id is not null), '{}'))
    from (
      -- Read once. Each bit of summed stands for a column that a sum spans.
      select c.status, c.type, c.category_id, sum(c.total) as n,
        grouping(c.status, c.type, c.category_id) as summed
      from (
        select c.status, c.type, c.category_id, c.total from private.submission_counts c
        where c.organization_id = board_counts.organization_id and (c.is_public or all_of_them)
        union all
        select s.status, s.type, s.category_id, 1 from public.submissions s
        where not all_of_them and s.organization_id = board_counts.organization_id and s.author_id = caller
          and not s.is_public and s.merged_into_id is null
      ) c
      group by grouping sets ((), (c.status), (c.type), (c.category_id))
    ) k);
end
$function$;
