-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE TABLE "private"."removed_logos" ("path" text NOT NULL, "due_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "removed_logos_pkey" PRIMARY KEY (path));

ALTER TABLE "private"."removed_logos" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."removed_logos" OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.call_importer()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if not exists (select from private.imports i where i.state = 'running' and i.query is not null
      and (i.claimed_until is null or i.claimed_until < now()))
    and not exists (select from private.removed_logos r where r.due_at <= now()) then return false; end if;
  begin
    if not private.call_function('/api/imports/run') then perform pg_notify('imports', ''); end if;
    return true;
  -- An error here must not roll back the caller's change; the schedule runs imports anyway.
  exception when others then
    raise warning 'the importer was not called: %', sqlerrm;
    return false;
  end;
end
$function$;

CREATE OR REPLACE FUNCTION private.remember_removed_logo()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into private.removed_logos (path) values (old.logo_url) on conflict do nothing;
  perform private.wake_function('/api/imports/run', 'imports');
  return null;
end
$function$;

ALTER FUNCTION "private"."remember_removed_logo"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.show_invite(digest bytea, invite_id uuid DEFAULT NULL::uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare invite private.invites;
begin
  invite_id := coalesce(invite_id,
    (select i.id from private.invites i where i.digest = show_invite.digest));
  select * into invite from private.invites i where i.id = show_invite.invite_id;
  if invite.id is null then return null; end if;
  if not exists (select from public.profiles p
    where p.id = private.caller_id() and p.kind = 'user' and lower(p.email) = invite.email) then
    return json_build_object('is_for_caller', false);
  end if;
  return json_build_object('is_for_caller', true, 'status', private.invite_status(invite),
    'role', invite.role, 'organization', (select o.name from public.organizations o
      where o.id = invite.organization_id));
end
$function$;

ALTER FUNCTION "private"."show_invite"(bytea, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.similar_pairs(organization_id uuid, newest integer)
 RETURNS TABLE(one_id uuid, other_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 100
 SET search_path TO ''
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
#variable_conflict use_column
declare own_id constant uuid := similar_pairs.organization_id;
begin
  return query
    with compared as materialized (
      select l.id, bool_or(l.n <= newest) as is_one from (
        (select s.id, row_number() over (order by s.created_at desc, s.id desc) as n
          from (select * from public.submissions s
            where s.organization_id = own_id and s.merged_into_id is null
            order by s.created_at desc, s.id desc limit 2000) s
          where s.moderation_state = 'approved' and s.status not in ('completed', 'declined')
          order by s.created_at desc, s.id desc limit 600)
        union all
        (select s.id, null from public.submissions s
          where s.organization_id = own_id and s.merged_into_id is null
          order by s.vote_count desc, s.id desc limit 600)) l
      group by l.id
    ), texts as materialized (
      select l.id, l.is_one is true as is_one, c.title, c.content
      from compared l cross join lateral (select c.title, c.content from private.submission_search c
        where c.submission_id = l.id offset 0) c
    ), trigrams as materialized (
      select t.trigram, c.id, c.is_one, row_number() over (partition by t.trigram order by c.id) as n
      from texts c cross join lateral unnest(extensions.show_trgm(c.title)) t (trigram)
    ), candidates as materialized (
      select r.one_id, r.other_id from (
        select o.id as one_id, t.id as other_id,
          row_number() over (partition by o.id order by count(*) desc, t.id) as n
        from (select t.trigram, t.id from trigrams t where t.is_one) o
        join (select t.trigram, t.id from trigrams t where t.is_one or t.n <= 40) t
          on t.trigram = o.trigram and t.id <> o.id
        group by o.id, t.id) r
      where r.n <= 12
    )
    select c.one_id, c.other_id
    from candidates c join texts o on o.id = c.one_id join texts t on t.id = c.other_id
    where extensions.similarity(o.title, t.title) >= 0.5
      or extensions.strict_word_similarity(o.title, t.content) >= 0.625
      or extensions.similarity(o.content, t.content) >= 0.556;
end
$function$;

ALTER FUNCTION "private"."similar_pairs"(uuid, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.take_removed_logos(deleted text[])
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from private.removed_logos r where r.path = any (deleted);
  return query
    -- A path whose deletion fails is taken again later, after the others.
    update private.removed_logos r set due_at = now() + interval '10 minutes'
    where r.path = any (array(select w.path from private.removed_logos w where w.due_at <= now()
      order by w.due_at, w.path limit 20 for update skip locked))
    returning r.path;
end
$function$;

ALTER FUNCTION "private"."take_removed_logos"(text[]) OWNER TO "postgres";

CREATE TRIGGER remove_last_logo AFTER DELETE ON public.organizations FOR EACH ROW WHEN ((old.logo_url ~~ '/logos/%'::text)) EXECUTE FUNCTION private.remember_removed_logo();

CREATE TRIGGER remove_replaced_logo AFTER UPDATE OF logo_url ON public.organizations FOR EACH ROW WHEN (((old.logo_url ~~ '/logos/%'::text) AND (new.logo_url IS DISTINCT FROM old.logo_url))) EXECUTE FUNCTION private.remember_removed_logo();

COMMENT ON FUNCTION "private"."admin_logo"(uuid) IS 'The logo of an organization before a change, for Admin or keys with organization:write.';

COMMENT ON FUNCTION "private"."call_importer"() IS 'Starts pending imports, and the deletion of removed logos, in functions/api when this transaction commits: through pg_net if Vault has the URL of the functions, otherwise through NOTIFY.';

COMMENT ON FUNCTION "private"."remember_removed_logo"() IS 'Trigger: the file of an uploaded logo is to be deleted.';

COMMENT ON FUNCTION "private"."show_invite"(bytea, uuid) IS 'What the signed-in user is invited to: {is_for_caller, status, role, organization}; for another address only is_for_caller. Null for an unknown token. Takes what private.accept_invite takes.';

COMMENT ON FUNCTION "private"."similar_pairs"(uuid, integer) IS 'For each of the newest submissions that are approved and not done at most 12 that look like it, among the newest 600 of these and the 600 with the most votes.';

COMMENT ON FUNCTION "private"."take_removed_logos"(text[]) IS 'Forgets the paths whose files are deleted, and returns up to 20 others, each again after ten minutes.';

COMMENT ON TABLE "private"."removed_logos" IS 'Paths of uploaded logos that were replaced, or whose organization was deleted: their files are to be deleted.';

REVOKE ALL ON FUNCTION "private"."remember_removed_logo"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."remember_removed_logo"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."remember_removed_logo"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."show_invite"(bytea, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."show_invite"(bytea, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."show_invite"(bytea, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."show_invite"(bytea, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."similar_pairs"(uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."similar_pairs"(uuid, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."similar_pairs"(uuid, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."similar_pairs"(uuid, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_removed_logos"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."take_removed_logos"(text[]) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."take_removed_logos"(text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_removed_logos"(text[]) TO "postgres";
