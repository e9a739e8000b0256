-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

DROP FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer);

CREATE TABLE "private"."setup" ("is_over" boolean NOT NULL DEFAULT true, "over_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "setup_pkey" PRIMARY KEY (is_over), CONSTRAINT "there_is_one_row" CHECK (is_over));

ALTER TABLE "private"."setup" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."setup" OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_audit(target_id uuid, actor_id uuid, before_at timestamp with time zone, before_id uuid, max_rows integer, action text DEFAULT NULL::text, from_day date DEFAULT NULL::date, to_day date DEFAULT NULL::date)
 RETURNS TABLE(more boolean, last text[], data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  own_id uuid := private.current_organization_id();
  time_zone text := (select o.time_zone from public.organizations o where o.id = own_id);
  from_at timestamptz := from_day::timestamp at time zone time_zone;
  to_at timestamptz := (to_day + 1)::timestamp at time zone time_zone;
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users may read the audit log.');
  end if;
  perform private.require_admin(own_id, '');
  return query
    with page as (
      select * from private.audit_log a
      where a.organization_id = own_id
        and (admin_audit.target_id is null or a.target_id = admin_audit.target_id)
        and (admin_audit.actor_id is null or a.actor_id = admin_audit.actor_id)
        and (admin_audit.action is null or a.action = admin_audit.action)
        and (from_at is null or a.created_at >= from_at) and (to_at is null or a.created_at < to_at)
        and (before_at is null or (a.created_at, a.id) < (before_at, before_id))
      order by a.created_at desc, a.id desc limit max_rows + 1
    ), shown as (
      select * from page order by created_at desc, id desc limit max_rows
    )
    select (select count(*) from page) > max_rows,
      (select array[s.created_at::text, s.id::text] from shown s order by s.created_at, s.id limit 1),
      coalesce((select json_agg(json_build_object(
        'id', s.id, 'action', s.action, 'target_type', s.target_type, 'target_id', s.target_id,
        'actor', (select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
          from public.profiles p where p.id = s.actor_id),
        'key_id', s.key_id, 'request_id', s.request_id, 'details', s.details, 'at', s.created_at)
        order by s.created_at desc, s.id desc) from shown s), '[]');
end
$function$;

ALTER FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_audit_choices()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), '');
begin
  -- The log is large and has few actors and actions: each step of a recursion jumps to the next in the index.
  return (
    with recursive actions as (
      (select a.action as name from private.audit_log a
        where a.organization_id = own_id order by a.action limit 1)
      union all
      select (select a.action from private.audit_log a where a.organization_id = own_id and a.action > c.name
        order by a.action limit 1)
      from actions c where c.name is not null
    ), actors as (
      (select a.actor_id as id from private.audit_log a where a.organization_id = own_id
        and a.actor_id is not null order by a.actor_id limit 1)
      union all
      select (select a.actor_id from private.audit_log a
        where a.organization_id = own_id and a.actor_id > c.id
        order by a.actor_id limit 1)
      from actors c where c.id is not null
    ), first_actors as (select id from actors where id is not null limit 500)
    select json_build_object(
      'time_zone', (select o.time_zone from public.organizations o where o.id = own_id),
      'actions', coalesce((select json_agg(name order by name) from actions where name is not null), '[]'),
      'actors', coalesce((select json_agg(json_build_object('id', p.id, 'kind', p.kind, 'name',
          coalesce(p.name, 'Anonymous')) order by lower(p.name), p.id)
        from first_actors f join public.profiles p on p.id = f.id), '[]')));
end
$function$;

ALTER FUNCTION "private"."admin_audit_choices"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_newest_events(types text[], before_xid xid8, before_id bigint, max_rows integer)
 RETURNS TABLE(more boolean, next_xid xid8, next_id bigint, next_at timestamp with time zone, data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.require_admin(private.current_organization_id(), '');
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
  return query
    -- A page scans a bounded part of the feed, however rare the requested types are.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id
        and (o.xid, o.id) < (coalesce(before_xid, settled), coalesce(before_id, 0))
        and o.xid < settled
      order by o.xid desc, o.id desc limit 10000
    ), wanted as materialized (
      select l.* from looked_at l where types is null or l.type = any (types)
      order by l.xid desc, l.id desc limit max_rows + 1
    ), shown as materialized (
      select w.* from wanted w order by w.xid desc, w.id desc limit max_rows
    ), ended as (
      (select s.xid, s.id, s.created_at from shown s where (select count(*) from wanted) > max_rows
        order by s.xid, s.id limit 1)
      union all
      (select l.xid, l.id, l.created_at from looked_at l
        where (select count(*) from wanted) <= max_rows and (select count(*) from looked_at) = 10000
        order by l.xid, l.id limit 1)
    )
    select e.xid is not null, e.xid, e.id, e.created_at,
      coalesce((select json_agg(json_build_object('id', 'evt_' || replace(s.event_id::text, '-', ''), 'event',
        s.type, 'timestamp', s.created_at, 'data', s.data)
         order by s.xid desc, s.id desc) from shown s), '[]')
    from (select) one left join ended e on true;
end
$function$;

ALTER FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.end_setup()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into private.setup default values on conflict do nothing;
  return null;
end
$function$;

ALTER FUNCTION "private"."end_setup"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.set_up(owner_id uuid, name text, slug text, visibility text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  owner_email text := (select p.email from public.profiles p
    where p.auth_user_id = set_up.owner_id and p.kind = 'user');
  organization_id uuid;
begin
  -- Of two at once, the second waits here for the first.
  insert into private.setup default values on conflict do nothing;
  if not found then
    perform private.raise_error('CONFLICT', 'This installation is set up already: sign in.');
  end if;
  organization_id := private.create_organization(name, slug, visibility, owner_email);
  update public.organizations o set is_default = true where o.id = organization_id;
  return organization_id;
end
$function$;

ALTER FUNCTION "private"."set_up"(uuid, text, text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.setup_is_open()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return not exists (select from private.setup);
end
$function$;

ALTER FUNCTION "private"."setup_is_open"() OWNER TO "postgres";

-- Writes of the audit log wait while it is built: it has the team's changes alone, some thousands.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX audit_log_action_idx ON private.audit_log USING btree (organization_id, action, created_at DESC, id DESC);

CREATE TRIGGER end_setup AFTER INSERT ON public.organizations FOR EACH STATEMENT EXECUTE FUNCTION private.end_setup();

COMMENT ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) IS 'Audit log of the current organization, newest first, for signed-in Admin; target_id, actor_id, action and days in the organization''s time zone (inclusive) filter. Pages by (before_at, before_id).';

COMMENT ON FUNCTION "private"."admin_audit_choices"() IS 'What the audit log of the current organization can be filtered by: {time_zone, actions, actors}, 500 actors at most. For Admin.';

COMMENT ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) IS 'Events of the current organization, newest first, before a cursor, and the cursor of the next page, null at the end. For Admin.';

COMMENT ON FUNCTION "private"."end_setup"() IS 'Trigger: the first organization ends the setup.';

COMMENT ON FUNCTION "private"."set_up"(uuid, text, text, text) IS 'Creates the first organization of the installation, owned by this user of auth, and ends the setup. Raises CONFLICT if there has been an organization.';

COMMENT ON FUNCTION "private"."setup_is_open"() IS 'Whether the installation has never had an organization.';

COMMENT ON TABLE "private"."setup" IS 'Has a row once the installation has had an organization. Setup is over then for good, also after the last organization is deleted.';

REVOKE ALL ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_audit_choices"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_audit_choices"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_audit_choices"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_audit_choices"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_setup"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."end_setup"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_setup"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."set_up"(uuid, text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."set_up"(uuid, text, text, text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."set_up"(uuid, text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."set_up"(uuid, text, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."setup_is_open"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."setup_is_open"() TO "anon";

GRANT EXECUTE ON FUNCTION "private"."setup_is_open"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."setup_is_open"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."setup_is_open"() TO "postgres";

-- An installation that has an organization is set up.
insert into private.setup select where exists (select from public.organizations) on conflict do nothing;
