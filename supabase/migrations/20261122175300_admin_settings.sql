-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.delivery_shape(delivery private.webhook_deliveries)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO ''
RETURN jsonb_build_object('id', ('evt_'::text || replace(((delivery).event_id)::text, '-'::text, ''::text)), 'event', (delivery).event, 'status', CASE (delivery).status WHEN 'sending'::text THEN 'pending'::text ELSE (delivery).status END, 'attempt_count', (delivery).attempt_count, 'status_code', (((delivery).attempts -> '-1'::integer) -> 'status_code'::text), 'response_body', (((delivery).attempts -> '-1'::integer) -> 'response_body'::text), 'error', (((delivery).attempts -> '-1'::integer) -> 'error'::text), 'duration_ms', (((delivery).attempts -> '-1'::integer) -> 'duration_ms'::text), 'next_attempt_at', CASE WHEN ((delivery).status = 'pending'::text) THEN (delivery).next_attempt_at ELSE NULL::timestamp with time zone END, 'created_at', (delivery).created_at, 'finished_at', (delivery).finished_at);

CREATE OR REPLACE FUNCTION private.rate_limits()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select json_agg(json_build_object('name', r.name, 'max_requests', r.max_requests,
    'window_seconds', r.window_seconds) order by r.name) from private.rate_limit_rules r);
end
$function$;

ALTER FUNCTION "private"."rate_limits"() OWNER TO "postgres";

COMMENT ON FUNCTION "private"."rate_limits"() IS 'The rate limit rules in force, by name, for the dashboard.';

REVOKE ALL ON FUNCTION "private"."rate_limits"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."rate_limits"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."rate_limits"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rate_limits"() TO "postgres";
