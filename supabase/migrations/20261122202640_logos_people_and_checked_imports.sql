-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

ALTER TABLE "public"."organizations" DROP CONSTRAINT "logo_url_is_an_https_address";

DROP FUNCTION "private"."admin_mail_suppressions"();

CREATE OR REPLACE FUNCTION private.admin_apply_import(import_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare checked private.imports := private.lock_import(import_id); new_id uuid;
begin
  if not checked.is_dry_run or checked.state <> 'completed' then
    perform private.raise_error('CONFLICT', 'Only a dry run that is completed can be imported.');
  elsif not exists (select from private.import_file_parts p
      where p.organization_id = checked.organization_id and p.import_id = checked.id) then
    perform private.raise_error('GONE', 'The file is not stored any more: send it again.');
  end if;
  new_id := private.admin_start_import(checked.query || '{"dry_run": false}', checked.file_type);
  update private.imports i set bytes = checked.bytes where i.id = new_id;
  update private.import_file_parts p set import_id = new_id
  where p.organization_id = checked.organization_id and p.import_id = checked.id;
  return private.admin_begin_import(new_id);
end
$function$;

ALTER FUNCTION "private"."admin_apply_import"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_decide_trust(profile_id uuid, trusted boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: trust is not granted
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  former boolean;
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
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

CREATE OR REPLACE FUNCTION private.admin_lift_mail_suppression(profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  found_reasons text[];
begin
  select array_agg(s.reason) into found_reasons from private.mail_suppressions s
  where s.organization_id = own_id and s.profile_id = admin_lift_mail_suppression.profile_id;
  if found_reasons is null then return null; end if;
  if found_reasons <> '{bounced}' then
    perform private.raise_error('CONFLICT', 'They want no mail: only they can change that.');
  end if;
  delete from private.mail_suppressions s
  where s.organization_id = own_id and s.profile_id = admin_lift_mail_suppression.profile_id;
  perform private.audit('mail.resume', 'profile', profile_id, '{}', own_id);
  return json_build_object('deleted', true);
end
$function$;

ALTER FUNCTION "private"."admin_lift_mail_suppression"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_logo(organization_id uuid, OUT id uuid, OUT logo_url text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  id := private.require_organization_admin(organization_id, 'organization:write');
  logo_url := (select o.logo_url from public.organizations o where o.id = admin_logo.id);
end
$function$;

ALTER FUNCTION "private"."admin_logo"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_mail_suppressions(email text DEFAULT NULL::text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  return coalesce((select json_agg(json_build_object('profile', case when p.id is not null
      then json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) end,
      'reason', s.reason, 'created_at', s.created_at) order by s.created_at desc)
    from (select * from private.mail_suppressions o where o.organization_id = own_id
        and (email is null or o.address_hash = private.address_hash(admin_mail_suppressions.email))
      order by o.created_at desc limit 1000) s left join public.profiles p on p.id = s.profile_id), '[]');
end
$function$;

ALTER FUNCTION "private"."admin_mail_suppressions"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_search_people(search text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  wanted text := lower(btrim(coalesce(search, '')));
  -- A shorter text has no three letters for the index: names start with it.
  part text := case when char_length(wanted) > 2 then '%' else '' end
    || replace(replace(replace(wanted, '\', '\\'), '%', '\%'), '_', '\_') || '%';
  named uuid[];
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
  named := array(select p.id from public.profiles p
    where lower(p.name) like part and p.kind in ('user', 'email', 'anonymous')
      and (p.organization_id is null or p.organization_id = own_id) limit 1001);
  -- Users belong to no organization. Where many have the name, they are looked for among the people of this
  -- one, so that a search costs as much as the organization is large, and not the installation.
  if cardinality(named) > 1000 then
    named := array(
      select p.id from (
        select m.user_id from public.memberships m where m.organization_id = own_id
        union select s.author_id from public.submissions s where s.organization_id = own_id
        union select c.author_id from public.comments c where c.organization_id = own_id
        union select v.user_id from public.votes v where v.organization_id = own_id
        union select v.user_id from public.comment_votes v where v.organization_id = own_id
        union select f.user_id from public.follows f where f.organization_id = own_id
        union select r.user_id from public.survey_responses r where r.organization_id = own_id
        union select b.user_id from private.survey_starts b where b.organization_id = own_id
        union select o.id from public.profiles o where o.organization_id = own_id) own (id)
      join public.profiles p on p.id = own.id
      where lower(p.name) like part and p.kind in ('user', 'email', 'anonymous') limit 50);
  end if;
  return (select coalesce(json_agg(private.person_shape(f, own_id) order by lower(f.name), f.id), '[]')
    from (
      select * from public.profiles p
      where p.id = any (named) and private.is_person_of_organization(p.id, own_id)
      limit 50) f);
end
$function$;

CREATE OR REPLACE FUNCTION private.end_idle_imports(organization_id uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare ended integer;
begin
  perform private.finish_import(i.id, case i.state when 'receiving'
    then 'The file stopped arriving: send it again.'
    else format('It made no progress for %s: send the file again.', private.retention('stalled_imports')) end)
  from (
    select w.id, w.state from private.imports w
    where w.state in ('receiving', 'running') and w.query is not null
      and (end_idle_imports.organization_id is null or w.organization_id = end_idle_imports.organization_id)
      and w.updated_at < now() - private.retention(case w.state
        when 'receiving' then 'stalled_uploads' else 'stalled_imports' end)
    -- An import that is still progressing is not idle.
    for update skip locked) i;
  get diagnostics ended = row_count;
  delete from private.import_file_parts p using private.imports i
  where i.organization_id = p.organization_id and i.id = p.import_id and i.state = 'completed'
    and i.updated_at < now() - private.retention('checked_imports');
  return ended;
end
$function$;

CREATE OR REPLACE FUNCTION private.finish_import(import_id uuid, problem text)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update private.imports i set
    state = case when finish_import.problem is null then 'completed' else 'failed' end,
    problem = finish_import.problem, updated_at = clock_timestamp()
  where i.id = import_id and i.state in ('receiving', 'running');
  perform private.drop_import_file(i.id) from private.imports i
  where i.id = import_id and not (i.is_dry_run and i.state = 'completed');
  -- Of dry runs, the newest keeps its file for admin_apply_import.
  delete from private.import_file_parts p using private.imports i, private.imports o
  where i.id = finish_import.import_id and i.is_dry_run and i.state = 'completed'
    and o.organization_id = i.organization_id and o.id <> i.id and o.is_dry_run and o.state = 'completed'
    and p.organization_id = o.organization_id and p.import_id = o.id;
  delete from private.import_ids d using private.imports i
  where i.id = finish_import.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
  return (select private.import_shape(i) from private.imports i where i.id = import_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.import_shape(import private.imports)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return json_build_object('id', import.id, 'format', import.format, 'source', import.source, 'dry_run',
    import.is_dry_run,
    'state', import.state, 'bytes', import.bytes,
    'bytes_read', case when import.state = 'completed' then import.bytes
      else (import.position ->> 'at')::bigint end,
    'processed', import.processed, 'created', import.created, 'skipped', import.skipped, 'failed',
      import.failed, 'problem', import.problem,
    'errors', coalesce((select json_agg(jsonb_strip_nulls(jsonb_build_object('file', e.file))
        || jsonb_build_object('line', e.line, 'field', e.field, 'message', e.message) order by e.id)
      from private.import_errors e where e.organization_id = import.organization_id
        and e.import_id = import.id), '[]'),
    'can_apply', import.is_dry_run and import.state = 'completed'
      and exists (select from private.import_file_parts p
        where p.organization_id = import.organization_id and p.import_id = import.id),
    'created_at', import.created_at, 'updated_at', import.updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.retention(kind text)
 RETURNS interval
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  -- No ELSE: an unknown kind must raise an error; null would keep its rows forever.
  case kind
    -- More than two days: subscriptions last one day, and the first page of the change feed leaves a day to
    -- continue.
    when 'events' then return interval '30 days';
    when 'agent_calls' then return interval '400 days';
    when 'idempotency_keys' then return interval '1 day';
    when 'rate_counters' then return interval '2 hours';
    when 'expired_invites' then return interval '30 days';
    when 'expired_subscriptions' then return interval '1 day';
    when 'stalled_uploads' then return interval '2 minutes';
    when 'stalled_imports' then return interval '7 days';
    when 'checked_imports' then return interval '1 day';
    when 'cron_log' then return interval '1 day';
    when 'mails' then return interval '30 days';
  end case;
end
$function$;

-- squawk-ignore constraint-missing-not-valid -- organizations are few, and each satisfies the former one.
ALTER TABLE "public"."organizations" ADD CONSTRAINT "logo_url_is_an_https_address" CHECK ((((logo_url ~ '^https://\S+$'::text) OR (logo_url ~ (('^/logos/'::text || id) || '/[0-9a-f]{32}\.(png|jpg|webp)$'::text))) AND (char_length(logo_url) <= 2000)));

-- squawk-ignore require-concurrent-index-creation -- takes about a second for 100,000 people; new accounts wait.
CREATE INDEX profiles_name_idx ON public.profiles USING gin (lower(name) extensions.gin_trgm_ops);

COMMENT ON FUNCTION "private"."admin_apply_import"(uuid) IS 'Imports the file of a completed dry run, which it takes. Raises CONFLICT for another import, GONE if the file is not stored any more.';

COMMENT ON FUNCTION "private"."admin_lift_mail_suppression"(uuid) IS 'Sends mail again to a person whose address bounced; null if mail to them is not stopped. Raises CONFLICT if they refused it or complained.';

COMMENT ON FUNCTION "private"."admin_logo"(uuid) IS 'The logo of an organization before a change, for Admin or keys with organization:write: an uploaded one is deleted after it.';

COMMENT ON FUNCTION "private"."admin_mail_suppressions"(text) IS 'The newest 1000 people of the current organization who get no mail, and why, without their addresses; with an address, who it is of.';

COMMENT ON FUNCTION "private"."admin_search_people"(text) IS 'At most 50 people of the current organization: with this complete e-mail address, else with this part in their name (of fewer than three letters, its beginning); without either, who submitted or voted last.';

COMMENT ON FUNCTION "private"."end_idle_imports"(uuid) IS 'Ends imports, of one organization or all, whose upload stopped (private.retention stalled_uploads) or that make no progress (stalled_imports); deletes the files of old dry runs (checked_imports).';

COMMENT ON FUNCTION "private"."finish_import"(uuid, text) IS 'Finishes an import; problem says why it failed, or null. Deletes its file, except of a dry run that succeeded.';

COMMENT ON TABLE "private"."import_file_parts" IS 'The file of an unfinished import, or of the newest dry run, in parts of 1 MiB.';

COMMENT ON TABLE "public"."organizations" IS 'A tenant: one board of feedback, its surveys and its team. settings are the team''s own, which the service keeps and does not read. brand_color and logo_url are for its pages, null for the service''s own; a logo_url below /logos/ is the path of an uploaded picture there; default_locale is their language where the visitor''s browser names none of the service''s; allow_indexing is whether search engines may list these pages, where the board is public. mail_enabled: people get mail; mail_defaults are choices for those who made none (73_mail.sql). anonymous_may is what users without an account of their own may do. Plan limits are null for none.';

REVOKE ALL ON FUNCTION "private"."admin_apply_import"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_apply_import"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_apply_import"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_apply_import"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_apply_import"(uuid) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) FROM "service_key";

GRANT EXECUTE ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_lift_mail_suppression"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_lift_mail_suppression"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_logo"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_logo"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_logo"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_logo"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_logo"(uuid) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_mail_suppressions"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_mail_suppressions"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_mail_suppressions"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_mail_suppressions"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_mail_suppressions"(text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_person"(uuid) FROM "service_key";

GRANT EXECUTE ON FUNCTION "private"."admin_person"(uuid) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_search_people"(text) FROM "service_key";

GRANT EXECUTE ON FUNCTION "private"."admin_search_people"(text) TO "service_key";

create or replace function private.organization_shape(organization public.organizations) returns json
language plpgsql stable set search_path = '' as $function$
begin
  return json_build_object('id', organization.id, 'slug', organization.slug, 'name', organization.name,
    'visibility', organization.visibility,
    'require_approval', organization.require_approval, 'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may, 'time_zone', organization.time_zone,
    'default_locale', organization.default_locale, 'settings',
      organization.settings,
    'brand_color', organization.brand_color, 'logo_url', organization.logo_url, 'allow_indexing',
      organization.allow_indexing,
    'mail_enabled', organization.mail_enabled, 'mail_defaults', (
      select json_object_agg(k.kind, private.mail_choice(organization.id, null, k.kind) order by k.place)
      from unnest(array['status', 'official', 'reply', 'comment', 'team']) with ordinality k (kind, place)),
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
