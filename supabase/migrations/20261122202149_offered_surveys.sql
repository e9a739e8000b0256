-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.offered_survey(locale text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare caller uuid := private.caller_id(); own_id uuid := private.current_organization_id();
begin
  if caller is null or not exists (select from public.organizations o where o.id = own_id
    and (o.visibility = 'public' or private.is_member(o.id, caller))) then
    return null;
  end if;
  return (
    select json_build_object('id', s.id, 'title', s.title) from public.surveys s
    where s.organization_id = own_id and s.status = 'published'
      and (s.closes_at is null or s.closes_at > now())
      and private.targets_locale(s, offered_survey.locale)
      and not exists (select from public.survey_responses r join public.surveys version
          on version.id = r.survey_id
        where r.user_id = caller and version.family_id = s.family_id)
      and (s.audience = 'everyone' or s.audience_submission_id is not null and case s.audience
        when 'voters' then exists (select from public.votes v
          where v.submission_id = coalesce((select t.merged_into_id from public.submissions t
            where t.id = s.audience_submission_id), s.audience_submission_id) and v.user_id = caller)
        else private.is_follower(s.audience_submission_id, caller) end)
    order by s.published_at desc, s.id limit 1);
end
$function$;

ALTER FUNCTION "private"."offered_survey"(text) OWNER TO "postgres";

-- Some rows per submission: writes of statuses wait for less than a second.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX status_changes_newest_idx ON public.status_changes USING btree (organization_id, created_at DESC, id DESC);

COMMENT ON FUNCTION "private"."offered_survey"(text) IS 'The newest published survey of the current organization that is meant for the caller and that they did not answer in any version, as {id, title}; null where there is none. For the widget.';

REVOKE ALL ON FUNCTION "private"."offered_survey"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."offered_survey"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."offered_survey"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."offered_survey"(text) TO "postgres";
