-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.bound_user_metadata()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if octet_length((new.raw_user_meta_data - array['email', 'email_verified', 'phone_verified', 'sub'])::text) > 2048 then
    raise exception 'user metadata is larger than 2 KB'
      using errcode = 'check_violation', constraint = 'user_metadata_is_small';
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."bound_user_metadata"() OWNER TO "postgres";

CREATE TRIGGER user_metadata_is_small BEFORE INSERT OR UPDATE OF raw_user_meta_data ON auth.users FOR EACH ROW EXECUTE FUNCTION private.bound_user_metadata();

COMMENT ON FUNCTION "private"."bound_user_metadata"() IS 'Trigger on auth.users: metadata has at most 2 KB.';

REVOKE ALL ON FUNCTION "private"."bound_user_metadata"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."bound_user_metadata"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."bound_user_metadata"() TO "postgres";

-- By hand, where it applies; delete what does not:
--   rows of existing tables: update … set …, in batches where a table is large
--   rules, switches and cursors that the schemas insert: insert into … values … on conflict do nothing
--   jobs: select cron.schedule('feedback-…', …), inside a check that pg_cron is installed
--   a renamed column or table: the statements above drop one and add another; write alter … rename instead
