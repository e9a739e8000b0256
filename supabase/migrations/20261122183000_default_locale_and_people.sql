-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

DROP TRIGGER "announce" ON "public"."organizations";

ALTER TABLE "public"."organizations" ADD COLUMN "default_locale" text NOT NULL DEFAULT 'en'::text;

CREATE OR REPLACE FUNCTION private.admin_decide_trust(profile_id uuid, trusted boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: trust is not granted
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  former boolean;
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.require_admin(own_id, 'submissions:moderate');
  delete from private.author_trust t where t.organization_id = own_id and t.user_id = profile_id
    returning t.is_trusted into former;
  if trusted is not null then
    insert into private.author_trust (organization_id, user_id, is_trusted)
    values (own_id, profile_id, trusted)
    on conflict on constraint author_trust_pkey do update set is_trusted = excluded.is_trusted;
  end if;
  if former is distinct from trusted then
    perform private.audit('person.trust', 'profile', profile_id,
      jsonb_build_object('trusted', jsonb_build_object('from', former, 'to', trusted)), own_id);
  end if;
  return json_build_object('id', profile_id, 'decided', trusted);
end
$function$;

ALTER FUNCTION "private"."admin_decide_trust"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_person(profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  return (select private.person_shape(p, own_id) || jsonb_build_object(
    'newest_submissions', coalesce((select jsonb_agg(to_jsonb(s) order by s.at desc, s.id) from (
      select s.id, s.title, s.status, s.moderation_state, s.created_at as at from public.submissions s
      where s.author_id = p.id and s.organization_id = own_id order by s.created_at desc, s.id limit 20) s),
      '[]'),
    'newest_comments', coalesce((select jsonb_agg(to_jsonb(c) order by c.at desc, c.comment_id) from (
      select c.id as comment_id, s.id, s.title, c.body, c.moderation_state, c.created_at as at
      from public.comments c join public.submissions s on s.id = c.submission_id
      where c.author_id = p.id and c.organization_id = own_id order by c.created_at desc, c.id limit 20) c),
      '[]'),
    'newest_votes', coalesce((select jsonb_agg(to_jsonb(v) order by v.at desc, v.id) from (
      select s.id, s.title, s.status, v.created_at as at
      from public.votes v join public.submissions s on s.id = v.submission_id
      where v.user_id = p.id and v.organization_id = own_id order by v.created_at desc, s.id limit 20) v),
      '[]'))
    from public.profiles p where p.id = profile_id);
end
$function$;

ALTER FUNCTION "private"."admin_person"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_search_people(search text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  wanted text := lower(btrim(coalesce(search, '')));
begin
  if wanted = '' then
    return (
      with active as (
        select a.id, max(a.at) as at from (
          (select s.author_id, s.created_at from public.submissions s where s.organization_id = own_id
            order by s.created_at desc limit 500)
          union all
          (select v.user_id, v.created_at from public.votes v where v.organization_id = own_id
            order by v.created_at desc limit 500)) a (id, at)
        group by a.id
      )
      select coalesce(json_agg(f.person order by f.at desc, f.id), '[]') from (
        select private.person_shape(p, own_id) as person, a.at, p.id
        from active a join public.profiles p on p.id = a.id
        where p.kind = 'user' or p.kind in ('email', 'anonymous') and p.organization_id = own_id
        order by a.at desc, p.id limit 50) f);
  end if;
  if position('@' in wanted) > 0 then
    return (select coalesce(json_agg(private.person_shape(f, own_id) order by f.kind, f.id), '[]') from (
      select * from public.profiles p
        where p.kind = 'email' and p.organization_id = own_id and lower(p.email) = wanted
      union all
      select * from public.profiles p
        where p.kind = 'user' and lower(p.email) = wanted and private.is_person_of_organization(p.id, own_id)
      limit 50) f);
  end if;
  return (select coalesce(json_agg(private.person_shape(f, own_id) order by lower(f.name), f.id), '[]')
    from (
      select * from public.profiles p
      where position(wanted in lower(p.name)) > 0 and p.kind in ('user', 'email', 'anonymous')
        and (p.organization_id is null or p.organization_id = own_id)
        and private.is_person_of_organization(p.id, own_id)
      limit 50) f);
end
$function$;

ALTER FUNCTION "private"."admin_search_people"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_update_organization(organization_id uuid, fields jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: settings are not granted
declare own_id uuid := private.require_organization_admin(organization_id, 'organization:write');
begin
  if not coalesce(private.is_time_zone(fields ->> 'time_zone'), true) then
    perform private.raise_error('VALIDATION_ERROR', 'must be a time zone such as Europe/Berlin', 'time_zone');
  end if;
  -- A visibility change updates the board's submissions, so take the strongest lock first.
  perform 1 from public.organizations o where o.id = own_id for update;
  update public.organizations o set
    name = coalesce(fields ->> 'name', o.name), slug = coalesce(fields ->> 'slug', o.slug),
    visibility = coalesce(fields ->> 'visibility', o.visibility),
    require_approval = coalesce((fields ->> 'require_approval')::boolean, o.require_approval),
    trust_after = case when fields ? 'trust_after' then (fields ->> 'trust_after')::integer
      else o.trust_after end,
    anonymous_may = coalesce(fields ->> 'anonymous_may', o.anonymous_may),
    time_zone = coalesce(fields ->> 'time_zone', o.time_zone),
    default_locale = coalesce(fields ->> 'default_locale', o.default_locale),
    brand_color = case when fields ? 'brand_color' then fields ->> 'brand_color' else o.brand_color end,
    logo_url = case when fields ? 'logo_url' then fields ->> 'logo_url' else o.logo_url end,
    allow_indexing = coalesce((fields ->> 'allow_indexing')::boolean, o.allow_indexing),
    mail_enabled = coalesce((fields ->> 'mail_enabled')::boolean, o.mail_enabled),
    mail_defaults = o.mail_defaults || coalesce(fields -> 'mail_defaults', '{}'),
    settings = coalesce((select jsonb_object_agg(s.key, s.value)
      from jsonb_each(o.settings || coalesce(fields -> 'settings', '{}')) s
      where s.value <> 'null'), '{}')
  where o.id = own_id;
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
exception
  when unique_violation then
    perform private.raise_error('CONFLICT', 'Another organization has this slug.', 'slug');
  when check_violation then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of at most 20,000 bytes as JSON',
      'settings');
end
$function$;

CREATE OR REPLACE FUNCTION private.organization_shape(organization public.organizations)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return json_build_object('id', organization.id, 'slug', organization.slug, 'name', organization.name,
    'visibility', organization.visibility,
    'require_approval', organization.require_approval, 'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may, 'time_zone', organization.time_zone,
    'default_locale', organization.default_locale, 'settings',
      organization.settings,
    'brand_color', organization.brand_color, 'logo_url', organization.logo_url, 'allow_indexing',
      organization.allow_indexing,
    'mail_enabled', organization.mail_enabled, 'mail_defaults', organization.mail_defaults,
    'role', (select m.role from public.memberships m
      where m.organization_id = organization.id and m.user_id = private.caller_id()),
    'plan', json_build_object(
      'submissions', (select coalesce(sum(c.total), 0) from private.submission_counts c
        where c.organization_id = organization.id)
        + (select count(*) from public.submissions s
          where s.organization_id = organization.id and s.merged_into_id is not null),
      'max_submissions', organization.max_submissions,
      'members', (select count(*) from public.memberships m where m.organization_id = organization.id),
      'max_members', organization.max_members,
      'surveys', (select count(distinct s.family_id) from public.surveys s
        where s.organization_id = organization.id and s.status <> 'archived'),
      'max_surveys', organization.max_surveys),
    'created_at', organization.created_at, 'updated_at', organization.updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.page_frame(organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare caller uuid := private.caller_id();
begin
  return json_build_object(
    'organization', (
      select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'is_default',
        o.id = private.default_organization_id(),
        'visibility', o.visibility, 'default_locale', o.default_locale, 'brand_color', o.brand_color,
        'logo_url', o.logo_url, 'allow_indexing',
          o.allow_indexing,
        'allowed_origins', o.allowed_origins)
      from public.organizations o where o.id = page_frame.organization_id
        and (o.visibility = 'public' or private.is_member(o.id, caller))),
    'viewer', (
      select json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'), 'avatar_url', p.avatar_url,
        'locale', p.locale,
        'role', (select m.role from public.memberships m where m.organization_id = page_frame.organization_id
          and m.user_id = p.id),
        'unread_count', (select count(*) from (
          select from public.notifications n where n.user_id = p.id and n.read_at is null limit 100) n))
      from public.profiles p where p.id = caller and p.kind = 'user'));
end
$function$;

CREATE OR REPLACE FUNCTION private.person_shape(person public.profiles, organization_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return jsonb_build_object('id', person.id, 'kind', person.kind, 'name', coalesce(person.name, 'Anonymous'),
    'email', person.email, 'avatar_url', person.avatar_url, 'created_at', person.created_at,
    'role', (select m.role from public.memberships m
      where m.organization_id = person_shape.organization_id and m.user_id = person.id),
    'decided', (select t.is_trusted from private.author_trust t
      where t.organization_id = person_shape.organization_id and t.user_id = person.id),
    'is_trusted', private.is_trusted(person_shape.organization_id, person.id),
    'submissions', (select count(*) from public.submissions s
      where s.author_id = person.id and s.organization_id = person_shape.organization_id),
    'comments', (select count(*) from public.comments c
      where c.author_id = person.id and c.organization_id = person_shape.organization_id),
    'votes', (select count(*) from public.votes v
      where v.user_id = person.id and v.organization_id = person_shape.organization_id),
    'follows', (select count(*) from public.follows f
      where f.user_id = person.id and f.organization_id = person_shape.organization_id),
    'answers', (select count(*) from public.survey_responses r
      where r.user_id = person.id and r.organization_id = person_shape.organization_id));
end
$function$;

ALTER FUNCTION "private"."person_shape"(public.profiles, uuid) OWNER TO "postgres";

-- As the schema says it: pg-delta writes the comparison of rows as nested ORs.
create trigger announce after update on public.organizations
  for each row when ((old.slug, old.name, old.visibility, old.is_default, old.require_approval,
    old.trust_after, old.anonymous_may, old.time_zone, old.default_locale, old.allowed_origins, old.settings,
      old.brand_color, old.logo_url, old.allow_indexing, old.mail_enabled, old.mail_defaults,
      old.max_submissions, old.max_members, old.max_surveys)
    is distinct from (new.slug, new.name, new.visibility, new.is_default, new.require_approval,
      new.trust_after, new.anonymous_may, new.time_zone, new.default_locale, new.allowed_origins, new.settings,
      new.brand_color, new.logo_url, new.allow_indexing, new.mail_enabled, new.mail_defaults,
      new.max_submissions, new.max_members, new.max_surveys))
  execute function private.announce_organization();

COMMENT ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) IS 'Decides whether content of a person of the current organization needs no approval; null leaves it to trust_after. Returns null if there is no such person.';

COMMENT ON FUNCTION "private"."admin_person"(uuid) IS 'A person of the current organization with their newest 20 submissions, comments and votes; null if there is no such person.';

COMMENT ON FUNCTION "private"."admin_search_people"(text) IS 'At most 50 people of the current organization: with this complete e-mail address, else with this part in their name; without either, who submitted or voted last.';

COMMENT ON FUNCTION "private"."person_shape"(public.profiles, uuid) IS 'JSON of a person for Admin of the organization: what they did there in numbers, their role, whether they are trusted, and decided: what the team decided about that, null for nothing. For definer functions.';

COMMENT ON TABLE "public"."organizations" IS 'A tenant: one board of feedback, its surveys and its team. settings are the team''s own, which the service keeps and does not read. brand_color and logo_url are for its pages, null for the service''s own; default_locale is their language where the visitor''s browser names none of the service''s; allow_indexing is whether search engines may list these pages, where the board is public. mail_enabled: people get mail; mail_defaults are choices for those who made none (73_mail.sql). anonymous_may is what users without an account of their own may do. Plan limits are null for none.';

REVOKE ALL ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_person"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_person"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_person"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_person"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_search_people"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_search_people"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_search_people"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_search_people"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."person_shape"(public.profiles, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."person_shape"(public.profiles, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."person_shape"(public.profiles, uuid) TO "postgres";

-- squawk-ignore constraint-missing-not-valid -- of a column that this migration adds: every row has its default.
ALTER TABLE "public"."organizations" ADD CONSTRAINT "default_locale_is_known" CHECK ((default_locale = ANY (private.locales())));
