-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.admin_merge_preview(source_ids uuid[], target_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  found_ids uuid[] := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids) and s.id <> target_id);
begin
  return json_build_object(
    'vote_count', (select count(distinct v.user_id) from public.votes v
      where v.submission_id = any (found_ids || target_id)),
    'comment_count', (select count(*) from public.comments c
      where c.submission_id = any (found_ids || target_id) and c.moderation_state = 'approved'),
    'follower_count', (select count(distinct f.user_id) from public.follows f
      where f.submission_id = any (found_ids)),
    'earlier_count', (select count(*) from public.submissions s
      where s.organization_id = own_id and s.merged_into_id = any (found_ids)),
    'tags', (select coalesce(json_agg(distinct t.slug), '[]')
      from public.submission_tags st join public.tags t on t.id = st.tag_id
      where st.submission_id = any (found_ids) and not exists (
        select from public.submission_tags own where own.submission_id = admin_merge_preview.target_id
          and own.tag_id = st.tag_id)));
end
$function$;

ALTER FUNCTION "private"."admin_merge_preview"(uuid[], uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_moderation_queue(state text, type text, before_at timestamptz, before_id uuid,
  max_rows integer)
returns table (total bigint, more boolean, last text[], data json)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  return query
    with page as (
      (select 'submission' as type, s.id, s.id as submission_id, s.title, s.description as body, s.author_id,
        s.moderation_state as state, s.created_at
      from public.submissions s
      where admin_moderation_queue.type is distinct from 'comment' and s.organization_id = own_id
        and s.moderation_state = admin_moderation_queue.state and s.moderation_state <> 'approved'
        and (before_at is null or (s.created_at, s.id) > (before_at, before_id))
      order by s.created_at, s.id limit max_rows + 1)
      union all
      (select 'comment', c.id, c.submission_id, null, c.body, c.author_id, c.moderation_state, c.created_at
      from public.comments c
      where admin_moderation_queue.type is distinct from 'submission' and c.organization_id = own_id
        and c.moderation_state = admin_moderation_queue.state and c.moderation_state <> 'approved'
        and (before_at is null or (c.created_at, c.id) > (before_at, before_id))
      order by c.created_at, c.id limit max_rows + 1)
    ), shown as (
      select * from page order by created_at, id limit max_rows
    )
    select
      (select count(*) from public.submissions s where admin_moderation_queue.type is distinct from 'comment'
        and s.organization_id = own_id and s.moderation_state = admin_moderation_queue.state
          and s.moderation_state <> 'approved')
      + (select count(*) from public.comments c
        where admin_moderation_queue.type is distinct from 'submission'
        and c.organization_id = own_id and c.moderation_state = admin_moderation_queue.state
          and c.moderation_state <> 'approved'),
      (select count(*) from page) > max_rows,
      (select array[s.created_at::text, s.id::text] from shown s
        order by s.created_at desc, s.id desc limit 1),
      coalesce((select json_agg(json_build_object('type', s.type, 'id', s.id, 'submission_id',
        s.submission_id,
        'submission_title', coalesce(s.title, (select on_it.title from public.submissions on_it
          where on_it.id = s.submission_id)), 'title', s.title, 'body', s.body,
        'author', private.author(s.author_id, own_id), 'is_trusted', private.is_trusted(own_id, s.author_id),
          'state', s.state, 'created_at', s.created_at)
        order by s.created_at, s.id) from shown s), '[]');
end
$$;

CREATE OR REPLACE FUNCTION private.admin_moderate(target_type text, target_id uuid, action text, reason text, trust_author boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  wanted text := case action when 'approve' then 'approved' when 'reject' then 'rejected'
    when 'reopen' then 'pending' else 'spam' end;
  own_id uuid;
  subject record;
begin
  if target_type = 'comment' then
    select c.organization_id, c.is_public, c.author_id into subject from public.comments c
      where c.id = target_id;
  else
    select s.organization_id, s.is_public, s.author_id into subject from public.submissions s
      where s.id = target_id;
  end if;
  own_id := private.require_moderator(subject.organization_id, subject.is_public, subject.author_id,
    target_type, 'target_id');
  if target_type = 'comment' then perform private.lock_thread(target_id);
    else perform private.lock_submission(target_id); end if;
  if target_type = 'comment' then
    select c.moderation_state as state, p.moderation_state as above, c.author_id into subject
    from public.comments c left join public.comments p on p.id = c.parent_id where c.id = target_id;
  else
    select s.moderation_state as state, 'approved' as above, s.author_id into subject
      from public.submissions s where s.id = target_id;
  end if;
  if subject.state is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', target_type), 'target_id');
  elsif wanted = 'approved' and subject.above <> 'approved' then
    perform private.raise_error('CONFLICT', 'The comment it replies to is not approved: approve that first.',
      'target_id');
  end if;
  if wanted = 'spam' or trust_author then
    insert into private.author_trust as t (organization_id, user_id, is_trusted)
      values (own_id, subject.author_id, wanted <> 'spam')
    on conflict on constraint author_trust_pkey do update set is_trusted = excluded.is_trusted,
      created_at = now();
  elsif wanted = 'pending' and subject.state = 'spam' then
    delete from private.author_trust t where t.organization_id = own_id and t.user_id = subject.author_id
      and not t.is_trusted;
  end if;
  if subject.state <> wanted then
    if target_type = 'comment' then
      update public.comments set moderation_state = wanted where id = target_id;
    else
      update public.submissions set moderation_state = wanted where id = target_id;
    end if;
  end if;
  if subject.state <> wanted or trust_author then
    perform private.audit(target_type || '.' || action, target_type, target_id,
      jsonb_strip_nulls(jsonb_build_object(
      'state', jsonb_build_object('from', subject.state, 'to', wanted), 'reason', reason, 'trust_author',
        trust_author)), own_id);
  end if;
  return json_build_object('target_type', target_type, 'target_id', target_id, 'previous_state',
    subject.state, 'state', wanted);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_moderate_many(target_types text[], target_ids uuid[], action text, reason text, trust_author boolean)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare results jsonb := '[]'; item record; done json; state text; message text; detail text;
begin
  perform private.require_admin(private.current_organization_id(), 'submissions:moderate');
  for item in select t.type, t.id from unnest(target_types, target_ids) as t (type, id) loop
    begin
      done := private.admin_moderate(item.type, item.id, action, reason, trust_author);
      results := results || jsonb_build_object('target_type', item.type, 'target_id', item.id, 'ok', true,
        'changed', done ->> 'previous_state' <> done ->> 'state');
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- Only API errors become item results; any other error fails the request.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object('target_type', item.type, 'target_id', item.id, 'ok', false,
        'changed', false, 'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
    end;
  end loop;
  return results;
end
$function$;

ALTER FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.broadcast_moderation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not private.broadcasts_changes() then return null; end if;
  perform realtime.send(jsonb_build_object('schema', 'public', 'table', tg_table_name,
    'operation', 'MODERATION',
    'record', jsonb_build_object('id', new.id, 'moderation_state', new.moderation_state)), 'MODERATION',
    private.board_topic(new.organization_id, false), true);
  return null;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'moderation of % was not broadcast: %', tg_table_name, sqlerrm;
  return null;
end
$function$;

ALTER FUNCTION "private"."broadcast_moderation"() OWNER TO "postgres";

CREATE TRIGGER tell_moderated AFTER UPDATE OF moderation_state ON public.comments FOR EACH ROW WHEN ((old.moderation_state <> new.moderation_state)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER tell_waiting AFTER INSERT ON public.comments FOR EACH ROW WHEN ((new.moderation_state <> 'approved'::text)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER tell_moderated AFTER UPDATE OF moderation_state ON public.submissions FOR EACH ROW WHEN ((old.moderation_state <> new.moderation_state)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER tell_waiting AFTER INSERT ON public.submissions FOR EACH ROW WHEN ((new.moderation_state <> 'approved'::text)) EXECUTE FUNCTION private.broadcast_moderation();

COMMENT ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) IS 'What a merge would make, for Admin: counts of the target, followers told, submissions merged earlier that go along, and tags gained.';

COMMENT ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean) IS 'Approves, rejects, marks as spam or makes pending again (reopen) a submission or comment; repeating it is not an error. Spam revokes the author''s trust, and reopening spam forgets that; trust_author grants it.';

COMMENT ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean) IS 'private.admin_moderate for many submissions and comments, each on its own, with a result for each.';

COMMENT ON FUNCTION "private"."broadcast_moderation"() IS 'Trigger: tells the team of a board what waits for approval and what was decided, with the state alone.';

REVOKE ALL ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."broadcast_moderation"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."broadcast_moderation"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."broadcast_moderation"() TO "postgres";
