-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

DROP FUNCTION "private"."admin_lift_mail_suppression"(uuid);

CREATE OR REPLACE FUNCTION private.admin_lift_mail_suppression(profile_id uuid, email text DEFAULT NULL::text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  found_hashes text[]; found_reasons text[];
begin
  select array_agg(s.address_hash), array_agg(distinct s.reason),
    coalesce(admin_lift_mail_suppression.profile_id, (array_agg(s.profile_id))[1])
  into found_hashes, found_reasons, profile_id from private.mail_suppressions s
  where s.organization_id = own_id and (s.profile_id = admin_lift_mail_suppression.profile_id
    or s.address_hash = private.address_hash(admin_lift_mail_suppression.email));
  if found_hashes is null then return null; end if;
  if found_reasons <> '{bounced}' then
    perform private.raise_error('CONFLICT', 'They want no mail: only they can change that.');
  end if;
  delete from private.mail_suppressions s
  where s.organization_id = own_id and s.address_hash = any (found_hashes) and s.reason = 'bounced';
  perform private.audit('mail.resume', 'profile', profile_id, '{}', own_id);
  return json_build_object('deleted', true);
end
$function$;

ALTER FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) OWNER TO "postgres";

COMMENT ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) IS 'Sends mail again to a person whose address bounced, or to an address that bounced, such as that of an invite; null if mail to them is not stopped. Raises CONFLICT if they refused it or complained.';

REVOKE ALL ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) TO "service_key";
