-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

DROP FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean);

DROP FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]);

CREATE OR REPLACE FUNCTION private.admit_request(user_id uuid, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean, aal text DEFAULT NULL::text)
 RETURNS private.admission
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  who private.caller := private.resolve_caller(user_id, digest);
  answer private.admission;
  subject text;
  operation text;
  rule text;
  bucket_size integer;
  seconds integer;
  state private.rate_state;
  tightest private.rate_state;
  is_identified boolean;
begin
  if invalid_credential or not who.valid then
    answer.code := 'UNAUTHORIZED';
    answer.message := 'The credential is not valid.';
  elsif user_id is not null and aal is distinct from 'aal2' and exists (select from auth.mfa_factors f
      where f.user_id = admit_request.user_id and f.status = 'verified') then
    answer.code := 'UNAUTHORIZED';
    answer.message := 'Confirm your second factor first.';
    answer.field := 'aal';
  end if;
  if answer.code is not null then
    who := ('public', null, null, null, null, 'level_public', false);
    operations := '{}';
  end if;
  if who.kind = 'user' or who.kind = 'public' then on_behalf := null; end if;
  is_identified := who.kind = 'user' and who.organization_id is not null;

  if charge then
    -- All keys of an agent share one counter.
    subject := case when who.kind = 'agent' then who.profile_id::text
      else coalesce(who.key_id::text, who.profile_id::text, address) end;
    if who.kind = 'agent' then operations := operations || 'agent_day'::text; end if;
    -- Always in this order, so that parallel calls of one caller do not wait for each other in a circle.
    -- A page is charged to its own rule in the place of the level, and so is the exchange of a token.
    foreach operation in array case
      when 'page' = any (operations) or 'token_exchange' = any (operations) then operations
      else who.level || operations end loop
      if operation = 'agent_day' then
        select 'agent_day', a.calls_a_day, 86400 into rule, bucket_size, seconds from private.agents a
          where a.id = who.profile_id;
      else
        select r.name, r.max_requests, r.window_seconds into rule, bucket_size, seconds
          from private.rate_limit_rules r
        where r.name in (operation, operation || '_' || who.kind) order by r.name desc limit 1;
      end if;
      continue when bucket_size is null;
      if subject is null then
        state := (bucket_size, bucket_size, now() + make_interval(secs => seconds), true);
      elsif on_behalf is not null and operation <> who.level and rule = operation then
        state := private.charge(rule, bucket_size, seconds, who.organization_id || ':' || on_behalf, 1);
      else
        state := private.charge(rule, bucket_size, seconds, subject, 1);
      end if;
      if tightest.max_requests is null or not state.allowed or state.remaining < tightest.remaining then
        tightest := state;
      end if;
      if not state.allowed then
        answer.code := 'RATE_LIMIT_EXCEEDED';
        answer.message := 'Too many requests: wait and try again.';
        answer.retry_after := greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp())));
        exit;
      end if;
    end loop;
    answer.max_requests := tightest.max_requests;
    answer.remaining := tightest.remaining;
    answer.reset_at := ceil(extract(epoch from tightest.reset_at));
  end if;

  if answer.code is null then
    if who.organization_id is null then
      -- A row named by its id determines the organization.
      if organization is not null or resource is null then
        answer.organization_id := private.find_organization(organization, who.profile_id);
      end if;
    elsif organization is null or exists (
        select from public.organizations o where o.id = who.organization_id and lower(organization)
          in (o.slug, o.id::text)) then
      answer.organization_id := who.organization_id;
    end if;
    if answer.organization_id is null and organization is not null then
      answer.code := 'NOT_FOUND';
      answer.message := 'There is no such organization.';
      answer.field := 'organization';
    end if;
    -- Rows of other organizations do not exist for an identified person.
    if is_identified and resource_id is not null and answer.code is null
      and resource in ('submissions', 'comments', 'surveys', 'organizations')
      and private.organization_of(resource, resource_id, who) is distinct from who.organization_id then
      answer.code := 'NOT_FOUND';
      answer.message := 'There is no such row.';
    end if;
  end if;
  answer.origin_allowed := false;
  if origin is not null then
    -- Computed for errors as well: a page can read a 401 or 429 only with CORS headers.
    answer.origin_allowed := coalesce((select admit_request.origin = any (o.allowed_origins)
      from public.organizations o
      where o.id = coalesce(private.organization_of(resource, resource_id, who), answer.organization_id,
        who.organization_id,
        private.find_organization(organization, who.profile_id))), false);
    if needs_origin and not answer.origin_allowed and answer.code is null then
      answer.code := 'FORBIDDEN';
      answer.message := 'This origin may not write: an admin can allow it at /api/admin/origins.';
    end if;
  end if;
  answer.kind := who.kind;
  answer.profile_id := who.profile_id;
  answer.named := organization is not null or is_identified or answer.origin_allowed and resource is null;
  answer.key_id := who.key_id;
  answer.scopes := who.scopes;
  return answer;
end
$function$;

ALTER FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.assume_caller(request_id text, user_id uuid, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean, access text, required_scopes text[], aal text DEFAULT NULL::text, OUT max_requests integer, OUT remaining integer, OUT reset_at bigint, OUT origin_allowed boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  admission private.admission := private.admit_request(user_id, digest, invalid_credential, address,
    operations, organization, on_behalf, origin,
    needs_origin, resource, resource_id, charge, aal);
  ignored text; -- an assignment is cheaper than PERFORM
begin
  if admission.code is not null then
    perform private.raise_error(admission.code, admission.message, admission.field,
      case when admission.retry_after is null then '{}'
        else jsonb_build_object('retry_after', admission.retry_after) end);
  elsif (access = 'agent') <> (admission.kind = 'agent') then
    perform private.raise_error('UNAUTHORIZED', case when access = 'agent'
      then 'Send the key of an agent: Authorization: Bearer fcs_agt_…'
      else 'Agent keys work under /api/mcp only.' end);
  elsif access <> 'public' and admission.kind = 'public' then
    perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key: Authorization: Bearer <token>.');
  elsif access = 'person' and admission.kind <> 'user' then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may do this, not keys.');
  elsif access = 'caller' and admission.kind <> 'user' and not required_scopes && admission.scopes then
    perform private.raise_error('FORBIDDEN',
      format('This key lacks the scope %s.', array_to_string(required_scopes, ' or ')));
  end if;
  ignored := set_config('feedback.request_id', request_id, true);
  ignored := set_config('feedback.organization_id', coalesce(admission.organization_id::text, ''), true);
  ignored := set_config('feedback.organization_named', admission.named::text, true);
  ignored := set_config('feedback.profile_id', coalesce(admission.profile_id::text, ''), true);
  ignored := set_config('feedback.key_id', coalesce(admission.key_id::text, ''), true);
  ignored := set_config('feedback.scopes', coalesce(array_to_string(admission.scopes, ' '), ''), true);
  if admission.kind = 'agent' then
    ignored := set_config('feedback.agent_id', admission.profile_id::text, true);
  end if;
  ignored := set_config('feedback.suppress_events', 'off', true);
  ignored := set_config('request.jwt.claims', case admission.kind
    when 'user' then format('{"sub":"%s","role":"authenticated"}', admission.profile_id)
    else '{"role":"anon"}' end, true);
  ignored := set_config('role',
    case admission.kind when 'public' then 'anon' when 'user' then 'authenticated'
      else 'service_key' end, true);
  max_requests := admission.max_requests;
  remaining := admission.remaining;
  reset_at := admission.reset_at;
  origin_allowed := admission.origin_allowed;
end
$function$;

ALTER FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[], text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_own_team(organization_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return not private.is_key() and exists (select from public.memberships m
    where m.organization_id = is_own_team.organization_id and m.user_id = private.caller_id()
      and m.role = 'owner');
end
$function$;

ALTER FUNCTION "private"."is_own_team"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.member_shape(member public.memberships, with_email boolean)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select json_build_object('user_id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar',
    p.avatar_url,
    'email', case when with_email then p.email end, 'role', member.role, 'joined_at', member.created_at,
    'has_second_factor', case when private.is_own_team(member.organization_id)
      then exists (select from auth.mfa_factors f where f.user_id = p.auth_user_id
        and f.status = 'verified') end)
    from public.profiles p where p.id = member.user_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.my_second_factors()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select coalesce(json_agg(json_build_object('id', f.id, 'name', f.friendly_name,
    'created_at', f.created_at) order by f.created_at, f.id), '[]')
    from public.profiles p join auth.mfa_factors f on f.user_id = p.auth_user_id
    where p.id = private.caller_id() and f.status = 'verified');
end
$function$;

ALTER FUNCTION "private"."my_second_factors"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.reset_second_factor(organization_id uuid, user_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare member public.memberships; auth_id uuid;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner may remove the second factor of a member.');
  end if;
  member := private.find_member(organization_id, user_id);
  -- A second factor protects every team of its person.
  if exists (select from public.memberships m where m.user_id = member.user_id
      and not private.is_own_team(m.organization_id)) then
    perform private.raise_error('CONFLICT',
      'This person is also on a team that you do not own: its owner must remove them first.');
  end if;
  auth_id := (select p.auth_user_id from public.profiles p where p.id = member.user_id);
  delete from auth.mfa_factors f where f.user_id = auth_id;
  if found then
    -- Sessions that somebody else may have opened need a new sign-in.
    delete from auth.sessions s where s.user_id = auth_id;
    perform private.audit('member.reset_second_factor', 'profile', member.user_id, '{}', organization_id);
  end if;
  return private.member_shape(member, true);
end
$function$;

ALTER FUNCTION "private"."reset_second_factor"(uuid, uuid) OWNER TO "postgres";

COMMENT ON FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text) IS 'Authenticates a request, resolves its organization and charges its rate limits. private.assume_caller calls it; it is called alone for requests that failed or may run long.';

COMMENT ON FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[], text) IS 'First statement of a request''s transaction: runs private.admit_request and assumes the caller''s claims and role until the transaction ends. Raises UNAUTHORIZED, RATE_LIMIT_EXCEEDED, FORBIDDEN or NOT_FOUND.';

COMMENT ON FUNCTION "private"."is_own_team"(uuid) IS 'Whether the caller is a signed-in owner of the organization.';

COMMENT ON FUNCTION "private"."member_shape"(public.memberships, boolean) IS 'JSON of a member; the e-mail address for Admin only, and whether there is a second factor for owners.';

COMMENT ON FUNCTION "private"."my_second_factors"() IS 'The caller''s verified second factors: [{id, name, created_at}], oldest first.';

COMMENT ON FUNCTION "private"."reset_second_factor"(uuid, uuid) IS 'An owner removes all second factors of a member who lost them, and ends the member''s sessions. Raises CONFLICT if the member is on a team of which the caller is no owner.';

REVOKE ALL ON FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admit_request"(uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[], text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[], text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."assume_caller"(text, uuid, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[], text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_own_team"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_own_team"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_own_team"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."my_second_factors"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."my_second_factors"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."my_second_factors"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."my_second_factors"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reset_second_factor"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reset_second_factor"(uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."reset_second_factor"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reset_second_factor"(uuid, uuid) TO "postgres";

-- By hand, where it applies; delete what does not:
--   rows of existing tables: update … set …, in batches where a table is large
--   rules, switches and cursors that the schemas insert: insert into … values … on conflict do nothing
--   jobs: select cron.schedule('feedback-…', …), inside a check that pg_cron is installed
--   a renamed column or table: the statements above drop one and add another; write alter … rename instead
