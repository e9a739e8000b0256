-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

-- The key of the erasure hashes becomes the key of the hashes of addresses that get no mail.
-- By hand: the key of the hashes of addresses gets another name.
do $$
declare key text := (select encode(k.key, 'hex') from private.erasure_key k);
begin
  if key is null and to_regclass('vault.decrypted_secrets') is not null then
    execute $query$ select s.decrypted_secret from vault.decrypted_secrets s
      where s.name = 'feedback_erasure_key' $query$ into key;
    execute $query$ delete from vault.secrets where name = 'feedback_erasure_key' $query$;
  end if;
  perform set_config('feedback.address_key', coalesce(key, encode(extensions.gen_random_bytes(32), 'hex')), true);
end
$$;

REVOKE ALL ("created_at") ON TABLE "public"."comment_votes" FROM "anon";

REVOKE ALL ("created_at") ON TABLE "public"."comment_votes" FROM "authenticated";

REVOKE ALL ("created_at") ON TABLE "public"."comment_votes" FROM "service_key";

REVOKE ALL ("created_at") ON TABLE "public"."profiles" FROM "anon";

REVOKE ALL ("created_at") ON TABLE "public"."profiles" FROM "authenticated";

REVOKE ALL ("created_at") ON TABLE "public"."profiles" FROM "service_key";

REVOKE ALL ("id") ON TABLE "public"."survey_options" FROM "authenticated";

REVOKE ALL ("id") ON TABLE "public"."survey_options" FROM "service_key";

REVOKE ALL ("id") ON TABLE "public"."survey_questions" FROM "authenticated";

REVOKE ALL ("id") ON TABLE "public"."survey_questions" FROM "service_key";

REVOKE ALL ("created_at") ON TABLE "public"."votes" FROM "anon";

REVOKE ALL ("created_at") ON TABLE "public"."votes" FROM "authenticated";

REVOKE ALL ("created_at") ON TABLE "public"."votes" FROM "service_key";

DROP POLICY "authors and admins delete" ON "public"."comments";

DROP POLICY "authors edit" ON "public"."comments";

DROP TRIGGER "refuse_second" ON "public"."comment_votes";

DROP TRIGGER "tell_added" ON "public"."comments";

DROP TRIGGER "tell_changed" ON "public"."comments";

DROP TRIGGER "tell_removed" ON "public"."comments";

DROP TRIGGER "trim_participations" ON "public"."comments";

DROP TRIGGER "keep_former_address" ON "public"."profiles";

DROP TRIGGER "keep_participations" ON "public"."profiles";

DROP TRIGGER "tell_added" ON "public"."submissions";

DROP TRIGGER "tell_changed" ON "public"."submissions";

DROP TRIGGER "tell_removed" ON "public"."submissions";

DROP TRIGGER "trim_participations" ON "public"."submissions";

DROP TRIGGER "refuse_second" ON "public"."survey_responses";

DROP TRIGGER "trim_participations" ON "public"."surveys";

DROP TRIGGER "refuse_second" ON "public"."votes";

ALTER TABLE "private"."erased_participations" DROP CONSTRAINT "erased_participations_organization_id_fkey";

ALTER TABLE "private"."former_addresses" DROP CONSTRAINT "former_addresses_profile_id_fkey";

ALTER TABLE "private"."survey_answer_counts" DROP CONSTRAINT "survey_answer_counts_question_is_of_the_same_survey";

ALTER TABLE "public"."submission_tags" DROP CONSTRAINT "one_of_each_tag";

ALTER TABLE "public"."submission_tags" DROP CONSTRAINT "submission_tags_pkey";

ALTER TABLE "public"."survey_options" DROP CONSTRAINT "one_option_a_position";

ALTER TABLE "public"."survey_options" DROP CONSTRAINT "one_option_a_text";

ALTER TABLE "public"."survey_options" DROP CONSTRAINT "survey_options_question_is_of_the_same_survey";

ALTER TABLE "public"."survey_questions" DROP CONSTRAINT "one_question_a_position";

ALTER TABLE "public"."survey_questions" DROP CONSTRAINT "questions_belong_to_their_survey";

DROP FUNCTION "private"."accounts_at"(text);

DROP FUNCTION "private"."accounts_of"(public.profiles);

DROP FUNCTION "private"."admin_change_role"(uuid, uuid, text);

DROP FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean);

DROP FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean);

DROP FUNCTION "private"."admin_remove_member"(uuid, uuid);

DROP FUNCTION "private"."claim_deliveries"(integer, integer);

DROP FUNCTION "private"."delete_erased_participations"();

DROP FUNCTION "private"."erasure_hash"(bytea, text, uuid);

DROP FUNCTION "private"."make_erasure_key"();

DROP FUNCTION "private"."participated"(text, uuid[]);

DROP FUNCTION "private"."participated"(text[], uuid[]);

DROP FUNCTION "private"."participated"(uuid, uuid[]);

DROP FUNCTION "private"."read_erasure_key"();

DROP FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer);

DROP FUNCTION "private"."record_former_address"();

DROP FUNCTION "private"."record_participations"(public.profiles, uuid);

DROP FUNCTION "private"."record_participations_of_account"();

DROP FUNCTION "private"."reject_second_participation"();

DROP FUNCTION "private"."trim_cron_log"();

DROP FUNCTION "private"."write_valid_records"(private.imports, jsonb);

DROP FUNCTION "public"."create_comment"(uuid, text, uuid, uuid);

DROP FUNCTION "public"."create_submission"(text, text, text, uuid, uuid, uuid);

-- squawk-ignore ban-drop-table
DROP TABLE "private"."erased_participations";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."erasure_key";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."former_addresses";

CREATE TABLE "private"."address_key" ("key" bytea NOT NULL, "is_only" boolean NOT NULL DEFAULT true, CONSTRAINT "address_key_pkey" PRIMARY KEY (is_only), CONSTRAINT "there_is_one_key" CHECK (is_only));

ALTER TABLE "private"."address_key" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."address_key" OWNER TO "postgres";

CREATE TABLE "private"."organization_slugs" ("slug" text NOT NULL, "organization_id" uuid NOT NULL, CONSTRAINT "organization_slugs_pkey" PRIMARY KEY (slug));

ALTER TABLE "private"."organization_slugs" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."organization_slugs" OWNER TO "postgres";

CREATE TABLE "private"."webhook_backlogs" ("organization_id" uuid NOT NULL, "webhook_id" uuid NOT NULL, "xid" xid8 NOT NULL, "id" bigint NOT NULL, CONSTRAINT "webhook_backlogs_pkey" PRIMARY KEY (organization_id, webhook_id));

ALTER TABLE "private"."webhook_backlogs" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."webhook_backlogs" OWNER TO "postgres";

ALTER TABLE "private"."imports" ADD COLUMN "records_done" integer NOT NULL DEFAULT 0;

ALTER TABLE "private"."imports" ADD COLUMN "records_at_once" integer NOT NULL DEFAULT 500;

ALTER TABLE "private"."outbox" ADD COLUMN "category_id" uuid;

ALTER TABLE "private"."webhooks" ADD COLUMN "enabled_at" timestamp with time zone NOT NULL DEFAULT now();

ALTER TABLE "private"."webhooks" ADD COLUMN "created_by" uuid;

ALTER TABLE "public"."submissions" ADD COLUMN "is_changed_by_author" boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION private.address_hash(address text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare key bytea := (select k.key from private.address_key k);
begin
  if key is null then
    execute $query$ select decode(s.decrypted_secret, 'hex') from vault.decrypted_secrets s
      where s.name = 'feedback_address_key' $query$ into key;
  end if;
  return encode(extensions.hmac(convert_to(lower(address), 'UTF8'), key, 'sha256'), 'hex');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_cancel_import(import_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
declare import private.imports := private.lock_import(import_id);
begin
  if import.state not in ('receiving', 'running', 'canceled') then
    perform private.raise_error('CONFLICT', 'This import has ended: there is nothing to cancel.');
  end if;
  update private.imports i set state = 'canceled', updated_at = clock_timestamp() where i.id = import.id
    returning i.* into import;
  perform private.drop_import_file(import.id);
  perform private.audit('import.cancel', 'import', import.id, '{}', import.organization_id);
  return private.import_shape(import);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_change_role(organization_id uuid, user_id uuid, role text, revoke boolean DEFAULT false)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare member public.memberships; own_role text; former text;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  member := private.find_member(organization_id, user_id);
  if own_role <> 'owner' and 'owner' in (member.role, role) then
    perform private.raise_error('FORBIDDEN', 'Only an owner may grant or change the role owner.');
  end if;
  former := member.role;
  if role = 'member' and revoke then perform private.end_made_by(organization_id, user_id); end if;
  if former <> role then
    update public.memberships m set role = admin_change_role.role
    where m.organization_id = admin_change_role.organization_id and m.user_id = admin_change_role.user_id
      returning m.* into member;
    perform private.record_member_change(organization_id, 'member.change_role', user_id,
      jsonb_build_object('role', jsonb_build_object('from', former, 'to', role)));
  end if;
  return private.member_shape(member, true, private.is_own_team(organization_id));
end
$function$;

ALTER FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_create_webhook(organization_id uuid, webhook_id uuid, url text, events text[], encrypted_secret text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
#variable_conflict use_column
declare made private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  -- Serializes registrations, so that the limit holds.
  perform 1 from public.organizations o where o.id = admin_create_webhook.organization_id for no key update;
  if (select count(*) from private.webhooks w where w.organization_id = admin_create_webhook.organization_id)
    >= 100 then
    perform private.raise_error('CONFLICT', 'An organization has at most 100 webhooks: delete one first.');
  end if;
  insert into private.webhooks (id, organization_id, url, events, encrypted_secret, created_by)
  values (webhook_id, organization_id, url, events, encrypted_secret, private.person_behind())
  returning * into made;
  perform private.audit_webhook('create', made, jsonb_build_object('events', made.events));
  return private.webhook_shape(made);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_moderate(target_type text, target_id uuid, action text, reason text, trust_author boolean, text_of timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
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
    select c.moderation_state as state, p.moderation_state as above, c.author_id, null as title, c.body,
      c.updated_at, c.updated_at > c.created_at as is_changed into subject
    from public.comments c left join public.comments p on p.id = c.parent_id where c.id = target_id;
  else
    select s.moderation_state as state, 'approved' as above, s.author_id, s.title, s.description as body,
      s.updated_at, s.is_changed_by_author as is_changed into subject
    from public.submissions s where s.id = target_id;
  end if;
  if subject.state is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', target_type), 'target_id');
  elsif wanted = 'approved' and coalesce(text_of <> subject.updated_at, subject.is_changed) then
    perform private.raise_error('TEXT_CHANGED',
      'The text was changed after you read it: read the present one and decide again.', null,
      jsonb_build_object('current', jsonb_build_object('title', subject.title, 'body', subject.body,
        'updated_at', subject.updated_at)));
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

ALTER FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_moderate_many(target_types text[], target_ids uuid[], action text, reason text, trust_author boolean, texts_of timestamp with time zone[] DEFAULT NULL::timestamp with time zone[])
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare results jsonb := '[]'; item record; done json; state text; message text; detail text;
begin
  perform private.require_admin(private.current_organization_id(), 'submissions:moderate');
  for item in select * from unnest(target_types, target_ids, texts_of) as t (type, id, text_of) loop
    begin
      done := private.admin_moderate(item.type, item.id, action, reason, trust_author, item.text_of);
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

ALTER FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_moderation_queue(state text, type text, before_at timestamp with time zone, before_id uuid, max_rows integer)
 RETURNS TABLE(total bigint, more boolean, last text[], data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  return query
    with page as (
      (select 'submission' as type, s.id, s.id as submission_id, s.title, s.description as body, s.author_id,
        s.moderation_state as state, s.created_at, s.updated_at
      from public.submissions s
      where admin_moderation_queue.type is distinct from 'comment' and s.organization_id = own_id
        and s.moderation_state = admin_moderation_queue.state and s.moderation_state <> 'approved'
        and (before_at is null or (s.created_at, s.id) > (before_at, before_id))
      order by s.created_at, s.id limit max_rows + 1)
      union all
      (select 'comment', c.id, c.submission_id, null, c.body, c.author_id, c.moderation_state, c.created_at,
        c.updated_at
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
          'state', s.state, 'created_at', s.created_at, 'updated_at', s.updated_at)
        order by s.created_at, s.id) from shown s), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_organization_ids(scope text)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() then
    return case when private.has_scope(scope) then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships
    where user_id = private.caller_id() and role in ('owner', 'admin')), '{}');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_remove_member(organization_id uuid, user_id uuid, revoke boolean DEFAULT false)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: clients may only read memberships
declare
  member public.memberships;
  leaves boolean := not private.is_key() and user_id = private.caller_id();
  revoked jsonb := '[]';
  still_valid jsonb;
begin
  perform private.require_team_member(organization_id, 'members:write');
  perform private.lock_team(organization_id);
  if not leaves then perform private.require_organization_admin(organization_id, 'members:write'); end if;
  member := private.find_member(organization_id, user_id);
  if not leaves and (case when private.is_key() then member.role <> 'member'
      else member.role = 'owner' and private.require_person_admin(organization_id) <> 'owner' end) then
    perform private.raise_error('FORBIDDEN', case when private.is_key()
      then 'A key may remove plain members only.' else 'Only an owner may remove an owner.' end);
  end if;
  if revoke then revoked := private.end_made_by(organization_id, user_id); end if;
  still_valid := private.made_by(organization_id, user_id);
  delete from public.memberships m where m.organization_id = member.organization_id
    and m.user_id = member.user_id;
  perform private.record_member_change(organization_id, case when leaves then 'member.leave'
    else 'member.remove' end, user_id, jsonb_build_object('role', member.role));
  return json_build_object('deleted', true, 'revoked', revoked, 'still_valid', still_valid);
end
$function$;

ALTER FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_retire_agent(agent_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  agent := private.retire_agent(agent.id);
  perform private.audit('agent.retire', 'agent', agent.id);
  return private.agent_shape(agent);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_rotate_webhook(organization_id uuid, webhook_id uuid, encrypted_secret text, overlap interval)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
declare changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  update private.webhooks w set
    previous_encrypted_secret = w.encrypted_secret, previous_secret_until = now() + overlap,
      encrypted_secret = admin_rotate_webhook.encrypted_secret, created_by = private.person_behind()
  where w.organization_id = admin_rotate_webhook.organization_id and w.id = webhook_id
  returning w.* into changed;
  if changed.id is null then return null; end if;
  perform private.audit_webhook('rotate', changed,
    jsonb_build_object('previous_secret_until', changed.previous_secret_until));
  return private.webhook_shape(changed);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_run_import(import_id uuid, records jsonb, refused jsonb, at bigint, chunk integer, next jsonb, nameless_votes integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports; told jsonb;
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = own_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  -- Fail instead of waiting: waiting imports of one organization would hold all connections.
  if not pg_try_advisory_xact_lock(hashtextextended('import ' || own_id, 0)) then
    perform private.raise_error('SERVICE_UNAVAILABLE',
      'Another import of this organization is being written: try again.');
  end if;
  select * into import from private.imports i where i.id = import_id for no key update;
  if (import.position ->> 'at')::bigint <> at or import.chunks_done <> chunk then
    perform private.raise_error('CONFLICT', 'Another request is running this import.');
  end if;
  -- As in exports, a key without survey scopes imports everything else.
  if records ?| array['survey', 'survey_response']
    and not (private.is_admin(own_id, 'surveys:write') and private.is_admin(own_id, 'surveys:publish')) then
    refused := refused || coalesce((
      select jsonb_agg(jsonb_build_object('line', r.value -> 'line', 'message',
        'needs a key with surveys:write and surveys:publish'))
      from jsonb_array_elements(coalesce(records -> 'survey', '[]') ||
        coalesce(records -> 'survey_response', '[]')) r), '[]');
    records := records - 'survey' - 'survey_response';
  end if;
  told := private.run_import(import_id, records, refused);
  -- In the transaction of the chunk, so that nothing is written or counted twice.
  update private.imports i set
    position = coalesce(next, i.position),
    chunks_done = case when next is null then i.chunks_done + 1 else 0 end,
    nameless_votes = case when next is null then i.nameless_votes else admin_run_import.nameless_votes end
  where i.id = import_id and (told ->> 'is_written')::boolean;
  return told;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_search_people(search text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
  wanted text := lower(btrim(coalesce(search, '')));
  -- A shorter text has no three letters for the index: names start with it.
  part text := case when char_length(wanted) > 2 then '%' else '' end
    || replace(replace(replace(wanted, '\', '\\'), '%', '\%'), '_', '\_') || '%';
  named uuid[];
begin
  perform private.audit_read('person.search', 'organization', own_id, own_id);
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
        select r.profile_id from private.personal_rows r where r.organization_id = own_id and r.takes_part
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

CREATE OR REPLACE FUNCTION private.admin_start_import(query jsonb, file_type text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import_id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('imports of ' || own_id, 0));
  perform private.end_idle_imports(own_id);
  if (select count(*) >= 5 from private.imports i
      where i.organization_id = own_id and i.state in ('receiving', 'running') and i.query is not null) then
    perform private.raise_error('CONFLICT',
      'Five imports of this organization have not ended: wait for one, or cancel it.');
  end if;
  import_id := private.start_import(own_id, query ->> 'format',
    coalesce(query ->> 'source', query ->> 'format'),
    (query ->> 'dry_run')::boolean, (query ->> 'create_missing')::boolean);
  update private.imports i set state = 'receiving', query = admin_start_import.query,
    file_type = admin_start_import.file_type,
    profile_id = nullif(current_setting('feedback.profile_id', true), '')::uuid,
    key_id = private.key_id()
  where i.id = import_id;
  return import_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_update_organization(organization_id uuid, fields jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
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
exception when check_violation then
  perform private.raise_error('VALIDATION_ERROR', 'must be an object of at most 20,000 bytes as JSON',
    'settings');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_update_webhook(organization_id uuid, webhook_id uuid, url text, events text[], enabled boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
declare before private.webhooks; changed private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  select * into before from private.webhooks w
  where w.organization_id = admin_update_webhook.organization_id and w.id = webhook_id for no key update;
  if before.id is null then return null; end if;
  update private.webhooks w set
    url = coalesce(admin_update_webhook.url, w.url),
    -- A new URL has to prove its health again.
    is_healthy = w.is_healthy and coalesce(admin_update_webhook.url = w.url, true),
    created_by = case when admin_update_webhook.url <> w.url then private.person_behind()
      else w.created_by end,
    events = coalesce(admin_update_webhook.events, w.events),
    is_enabled = coalesce(enabled, w.is_enabled),
    enabled_at = case when enabled and not w.is_enabled then now() else w.enabled_at end,
    disabled_reason = case when not coalesce(enabled, w.is_enabled)
      then coalesce(w.disabled_reason, 'admin') end
  where w.id = before.id returning w.* into changed;
  perform private.audit_webhook('update', changed, jsonb_strip_nulls(jsonb_build_object(
    'previous_host', case when changed.url <> before.url then private.host_of(before.url) end,
    'events', case when changed.events <> before.events then changed.events end,
    'enabled', case when changed.is_enabled <> before.is_enabled then changed.is_enabled end)));
  return private.webhook_shape(changed);
end
$function$;

CREATE OR REPLACE FUNCTION private.admit_account_mail(address text, client text, account_id uuid)
 RETURNS TABLE(is_admitted boolean, stop_hash text, percent_used integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  is_known boolean := exists (select from auth.users u where u.email = lower(address)
    and u.email_confirmed_at is not null);
  hash text;
  account text;
  of_client boolean;
  of_all private.rate_state;
begin
  -- A call that auth admitted before an undo sends no code to the address that it undid.
  if not private.is_email(address) or private.was_just_restored(account_id) and exists (
    select from auth.users u where u.id = account_id and u.email <> lower(address)) then
    return query select false, null::text, null::integer;
    return;
  end if;
  -- Each mail counts, whoever gets it: what remains tells nothing about an address.
  of_client := (private.charge_rule('account_mail_hour', client)).allowed;
  of_client := (private.charge_rule('account_mail_day', client)).allowed and of_client;
  if of_client then of_all := private.charge_rule('account_mail_everyone', 'everyone'); end if;
  percent_used := case when not of_all.allowed then null when of_all.remaining = 0 then 100
    when of_all.max_requests - of_all.remaining = ceil(of_all.max_requests * 0.8) then 80 end;
  if is_known then
    -- By client too, so that one keeps nobody from signing in elsewhere; and by itself, so that mail to other
    -- addresses of the mailbox does not.
    account := 'account ' || private.address_hash(address);
    is_admitted := (private.charge_rule('account_mail_mailbox',
      account || coalesce(' ' || client, ''))).allowed
      and (private.charge_rule('account_mail_account', account)).allowed;
  else
    hash := private.address_hash(private.mailbox(address));
    -- The mailbox last: a mail that is dropped anyway does not count for it.
    is_admitted := of_client and of_all.allowed
      and not exists (select from private.stopped_account_mail s where s.address_hash = hash)
      and (private.charge_rule('account_mail_mailbox', hash)).allowed;
    if is_admitted then stop_hash := hash; end if;
  end if;
  return next;
end
$function$;

CREATE OR REPLACE FUNCTION private.admit_request(user_id uuid, session_id uuid, aal text, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean)
 RETURNS private.admission
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  who private.caller := private.resolve_caller(user_id, session_id, aal, digest);
  answer private.admission;
  caller text;
  subject text;
  operation text;
  refusal text;
  rule text;
  bucket_size integer;
  seconds integer;
  state private.rate_state;
  tightest private.rate_state;
  is_identified boolean;
begin
  if invalid_credential or not who.valid then
    answer.code := 'UNAUTHORIZED';
    refusal := case when not invalid_credential and user_id is not null
      then private.session_refusal(user_id, session_id, aal) end;
    answer.message := private.refusal_message(refusal);
    answer.field := case refusal when 'factor' then 'aal' end;
    who := ('public', null, null, null, null, 'level_public', false);
    operations := '{}';
  end if;
  if who.kind = 'user' or who.kind = 'public' then on_behalf := null; end if;
  is_identified := who.kind = 'user' and who.organization_id is not null;

  if charge then
    -- All keys of an agent share one counter.
    caller := case when who.kind = 'agent' then who.profile_id::text
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
      -- By address also for who is signed in: accounts and sessions of identified people cost nothing.
      subject := case when operation in ('sign_in', 'sign_in_mail') then coalesce(address, caller)
        else caller end;
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
    elsif organization is null or private.organization_named(organization) = who.organization_id then
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

CREATE OR REPLACE FUNCTION private.agent_shape(agent private.agents)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return json_build_object('id', agent.id, 'name',
    (select p.name from public.profiles p where p.id = agent.id), 'description', agent.description,
    'tier', agent.tier, 'retired_at', agent.retired_at, 'created_at', agent.created_at,
    'created_by', private.author(agent.created_by, agent.organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.anonymize_deleted_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from public.memberships where user_id = new.id;
  delete from auth.audit_log_entries a where old.auth_user_id::text
    in (a.payload ->> 'actor_id', a.payload -> 'traits' ->> 'user_id');
  -- No foreign key; has tokens of providers.
  delete from auth.flow_state f where f.user_id = old.auth_user_id;
  new.email := null;
  new.name := null;
  new.avatar_url := null;
  new.locale := null;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.api_key_shape(key private.api_keys)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (key).id, 'name', (key).name, 'scopes', (key).scopes, 'prefix', (key).prefix, 'last_four', (key).last_four, 'expires_at', (key).expires_at, 'revoked_at', (key).revoked_at, 'last_used_at', (key).last_used_at, 'created_at', (key).created_at, 'created_by', private.author((key).created_by, (key).organization_id));

CREATE OR REPLACE FUNCTION private.apply_status_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  if not private.events_suppressed() then
    update public.submissions set status = new.new_status,
      updated_at = greatest(updated_at, new.created_at)
      where id = new.submission_id;
    perform private.audit('submission.set_status', 'submission', new.submission_id,
      jsonb_build_object('status', jsonb_build_object('from', new.previous_status, 'to', new.new_status)),
        new.organization_id);
  end if;
  perform private.emit_event(new.organization_id, 'submission.status_changed', new.submission_id,
    jsonb_build_object(
    'submission_id', new.submission_id, 'previous_status', new.previous_status, 'new_status', new.new_status,
    'changed_by', coalesce((select coalesce(name, 'Anonymous') from public.profiles
      where id = new.changed_by), 'System'),
    'note', coalesce(new.note, '')))
  from public.submissions s where s.id = new.submission_id and s.moderation_state = 'approved';
  if new.notify then
    perform private.notify_followers(new.organization_id, new.submission_id, 'status_changed', new.id, null,
      new.changed_by);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit(action text, target_type text, target_id uuid, details jsonb DEFAULT '{}'::jsonb, organization_id uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  details := private.mask_email_addresses(details);
  -- Oversized details must not reject the change.
  if octet_length(details::text) > 20000 then details := '{"left_out": "more than 20,000 bytes"}'; end if;
  insert into private.audit_log (organization_id, actor_id, key_id, action, target_type, target_id,
    request_id, details)
  values (coalesce(audit.organization_id, private.current_organization_id()), private.caller_id(),
    private.key_id(),
    audit.action, audit.target_type, audit.target_id, private.request_id(),
    details);
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast(changed_table text, changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if changes is null then return; end if;
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', operation,
      'record', case when operation <> 'DELETE' then c -> 'record' end, 'old_record', case
        when operation <> 'INSERT' then c -> 'key' end)
      -- Do not send counts of a submission that became private.
      || case when starts_with(topic, c ->> 'home') then jsonb_build_object('submission', c -> 'submission')
        else '{}' end,
    operation, topic, true)
  from jsonb_array_elements(changes) with ordinality as changed (c, position) cross join lateral (
    select 'UPDATE' as operation, c ->> 'topic' as topic where c ->> 'topic' = c ->> 'old_topic'
    union all
    select 'DELETE', c ->> 'old_topic' where c ->> 'topic' is distinct from c ->> 'old_topic'
    union all
    select 'INSERT', c ->> 'topic' where c ->> 'topic' is distinct from c ->> 'old_topic') told
  where topic is not null
  order by position;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_comments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare topics text[];
begin
  if not private.broadcasts_changes() then return null; end if;
  topics := array(select private.comment_topic(c) from changed c);
  -- Before rows are joined: a plan made for one row would compare each old row with each new one.
  if cardinality(topics) > 100 then
    if tg_op = 'UPDATE' then
      topics := topics || array(select private.comment_topic(o) from old_rows o);
    end if;
    perform private.broadcast_reload('comments', topics);
    return null;
  end if;
  case tg_op
    when 'INSERT' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'topic', private.comment_topic(n), 'home', private.submission_topic(s.id, s.is_public), 'submission',
          private.counts_of(s), 'record', to_jsonb(n))))
      from changed n join public.submissions s on s.id = n.submission_id;
    when 'UPDATE' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'topic', private.comment_topic(n), 'home',
          private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id), 'record', to_jsonb(n))))
      from old_rows o join changed n using (id) join public.submissions s on s.id = n.submission_id
        where o is distinct from n;
    else
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'home', private.submission_topic(s.id, s.is_public),
          'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id))))
      from changed o join public.submissions s on s.id = o.submission_id;
  end case;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_reload(changed_table text, topics text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', 'RELOAD'), 'RELOAD',
      told.topic, true)
  from (select distinct topic from unnest(topics) as topic where topic is not null order by topic limit 100)
    told;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_responses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.events_suppressed() or not private.broadcasts_changes() then return null; end if;
  if (select count(*) from changed) > 100 then
    perform private.broadcast_reload('survey_responses',
      array(select 'survey:' || r.survey_id from changed r));
    return null;
  end if;
  perform private.broadcast('survey_responses',
    jsonb_agg(jsonb_build_object('topic', 'survey:' || r.survey_id, 'record', jsonb_build_object(
    'id', r.id, 'organization_id', r.organization_id, 'survey_id', r.survey_id, 'submitted_at',
      r.submitted_at, 'locale', r.locale,
    'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score))))
  from changed r;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_submissions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare changes jsonb; topics text[];
begin
  -- Checked first: most updates come from votes. Not a join: see private.broadcast_comments.
  if tg_op = 'UPDATE' and not private.events_suppressed() then
    if not exists (
      select n.id, n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at,
        n.comment_count from changed n
      except select o.id, o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id,
        o.updated_at, o.comment_count from old_rows o) then
      return null;
    end if;
  end if;
  if not private.broadcasts_changes() then return null; end if;
  if (select count(*) from changed) > 100 then
    topics := array(select unnest(private.topics_of(c)) from changed c);
    if tg_op = 'UPDATE' then
      topics := topics || array(select unnest(private.topics_of(o)) from old_rows o);
    end if;
    perform private.broadcast_reload('submissions', topics);
    return null;
  end if;
  case tg_op
    when 'INSERT' then
      select jsonb_agg(jsonb_build_object('topic', private.board_topic(n.organization_id, n.is_public),
        'record', private.broadcast_submission_shape(n))) into changes
      from changed n;
    when 'UPDATE' then
      select jsonb_agg(jsonb_build_object('old_topic', t.old_topic, 'topic', t.topic,
        'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
        'record', private.broadcast_submission_shape(n))) into changes
      from old_rows o join changed n using (id)
        cross join unnest(private.topics_of(o), private.topics_of(n)) with ordinality
          t (old_topic, topic, nth)
      where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
          is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id,
            n.updated_at)
        -- A merge moves votes without broadcasting each. Other votes broadcast themselves; the board gets
        -- their counts later, and those of comments at once.
        or private.events_suppressed() and (o.vote_count, o.comment_count) <> (n.vote_count, n.comment_count)
        or t.nth = 1 and o.comment_count <> n.comment_count;
    else
      select jsonb_agg(jsonb_build_object('old_topic', t.topic,
        'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id))) into changes
      from changed o cross join unnest(private.topics_of(o)) t (topic);
  end case;
  perform private.broadcast('submissions', changes);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare ids uuid[];
begin
  if private.events_suppressed() or not private.broadcasts_changes() then return null; end if;
  if (select count(*) from changed) > 100 then
    ids := array(select distinct submission_id from changed);
    perform private.broadcast_reload('votes', array(
      select private.submission_topic(s.id, s.is_public) from public.submissions s where s.id = any (ids)));
    return null;
  end if;
  -- Not through private.broadcast: votes are the most frequent change and never move to another topic.
  perform realtime.send(jsonb_build_object('schema', 'public', 'table', 'votes', 'operation', tg_op,
      'record', case when tg_op = 'INSERT'
        then jsonb_build_object('id', v.id, 'organization_id', v.organization_id,
        'submission_id', v.submission_id) end,
      'old_record', case when tg_op = 'DELETE'
        then jsonb_build_object('submission_id', v.submission_id, 'id', v.id) end,
      'submission', private.counts_of(s)), tg_op, private.submission_topic(s.id, s.is_public), true)
  from changed v join public.submissions s on s.id = v.submission_id;
  return null;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'votes were not broadcast: %', sqlerrm;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.caller_id()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() then
    return nullif(current_setting('feedback.profile_id', true), '')::uuid;
  end if;
  -- The edge functions have checked the session.
  if session_user = 'feedback_api' then return auth.uid(); end if;
  return private.unless_erased(auth.uid());
end
$function$;

CREATE OR REPLACE FUNCTION private.change_my_mail_preferences(changes jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if (changes ->> 'stopped')::boolean is false or changes ? 'unmute'
    or exists (select from private.mail_choices c
      where c.organization_id = private.current_organization_id() and c.profile_id = private.caller_id()
        and c.choice = 'never' and changes -> 'choices' ->> c.kind <> 'never') then
    perform private.require_own_mailbox();
  end if;
  return private.change_mail_preferences(private.current_organization_id(), private.caller_id(), changes);
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_author(organization_id uuid, author_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_variable
declare
  claimer_id uuid := private.caller_id();
  author public.profiles;
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
  -- Not more: whoever inserts rows that refer to the profile must not wait for this.
  select * into author from public.profiles p
  where p.id = author_id and p.organization_id = claim_author.organization_id for no key update;
  if author.id is null or author.kind <> 'email' then
    perform private.raise_error('CONFLICT', 'This was claimed already, or there is nothing left to claim.');
  end if;
  if claimer_id is null or not private.has_address(claimer_id, author.email) then
    perform private.raise_error('FORBIDDEN',
      'Sign in with an account that has confirmed the address that the mail came to.');
  end if;
  perform private.lock_personal_rows(author_id, organization_id);
  perform set_config('feedback.suppress_events', 'on', true);
  update public.submissions s set author_id = claimer_id where s.author_id = claim_author.author_id;
  update public.comments c set author_id = claimer_id where c.author_id = claim_author.author_id;
  perform private.claim_votes(organization_id, author_id, claimer_id);
  delete from public.comment_votes v using public.comment_votes o
  where v.user_id = author_id and o.user_id = claimer_id and o.comment_id = v.comment_id;
  update public.comment_votes v set user_id = claimer_id where v.user_id = author_id;
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  select f.organization_id, f.submission_id, claimer_id, f.reason, f.created_at from public.follows f
  where f.user_id = author_id
  on conflict do nothing;
  delete from public.follows f where f.user_id = author_id;
  update public.status_changes h set changed_by = claimer_id where h.changed_by = author_id;
  perform set_config('feedback.suppress_events', 'off', true);
  perform private.claim_responses(author_id, claimer_id);
  -- The account inherits the team's trust decision about the author; distrust takes precedence.
  insert into private.author_trust as t (organization_id, user_id, is_trusted)
  select d.organization_id, claimer_id, d.is_trusted from private.author_trust d where d.user_id = author_id
  on conflict on constraint author_trust_pkey do update set is_trusted = t.is_trusted and excluded.is_trusted;
  delete from private.author_trust t where t.user_id = author_id;
  perform private.claim_mail(organization_id, author_id, claimer_id);
  -- A session of the organization's application is of the author, never of the account. An application that
  -- vouches for the author again gets a new one.
  perform private.forget_identified(author_id);
  delete from private.external_ids e where e.profile_id = author_id;
  delete from private.idempotency_keys k where k.profile_id = author_id;
  update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null
  where p.id = author_id;
  perform private.audit('author.claim', 'profile', claimer_id, jsonb_build_object('author_id', author_id),
    organization_id);
  return (select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name) from public.organizations o
    where o.id = organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_deliveries(max_rows integer)
 RETURNS TABLE(webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamp with time zone, is_healthy boolean, url text, encrypted_secret text, previous_encrypted_secret text, organization_id uuid, event text, occurred_at timestamp with time zone, data jsonb)
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare endpoint record; room integer := max_rows; taken integer; sender uuid; share integer;
begin
  for endpoint in
    with recursive waiting (id) as (
      (select d.webhook_id from private.webhook_deliveries d where d.status in ('pending', 'sending')
        order by d.webhook_id limit 1)
      union all
      select (select d.webhook_id from private.webhook_deliveries d
        where d.status in ('pending', 'sending') and d.webhook_id > w.id order by d.webhook_id limit 1)
      from waiting w where w.id is not null
    )
    select w.*, case when w.is_healthy then 32 else 1 end - w.busy as slots from (
      select w.*, n.busy, sum(n.busy) over (partition by w.organization_id)::integer as held
      from waiting join private.webhooks w on w.id = waiting.id and w.is_enabled cross join lateral (
        select count(*)::integer as busy from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'sending' and d.next_attempt_at > now()) n) w
    -- One index lookup for each webhook, regardless of the number of its deliveries.
    where least(
      (select d.next_attempt_at from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'pending' order by d.next_attempt_at limit 1),
      (select d.next_attempt_at from private.webhook_deliveries d
        where d.webhook_id = w.id and d.status = 'sending' order by d.next_attempt_at limit 1)
    ) <= now()
    order by w.held, w.organization_id, w.is_healthy desc, random()
  loop
    exit when room <= 0;
    if sender is distinct from endpoint.organization_id then
      sender := endpoint.organization_id;
      share := (room - endpoint.held + 1) / 2;
    end if;
    endpoint.slots := least(endpoint.slots, share);
    continue when endpoint.slots <= 0;
    return query
      with due as materialized (
        select lost.row from (
          select d.ctid as row from private.webhook_deliveries d
          where d.webhook_id = endpoint.id and d.status = 'sending' and d.next_attempt_at <= now()
          order by d.next_attempt_at limit endpoint.slots for update skip locked) lost
        union all
        select waiting.row from (
          select d.ctid as row from private.webhook_deliveries d
          where d.webhook_id = endpoint.id and d.status = 'pending' and d.next_attempt_at <= now()
          order by d.next_attempt_at limit endpoint.slots for update skip locked) waiting
        limit endpoint.slots
      ), claimed as (
        update private.webhook_deliveries d set
          status = 'sending', claimed_at = now(), next_attempt_at = now() + interval '30 seconds',
            attempt_count = d.attempt_count + 1,
          -- An expired claim says nothing about the receiver: the attempt is logged, and the retry schedule
          -- does not count it.
          counted_from = d.counted_from + (d.status = 'sending')::integer,
          attempts = case when d.status = 'pending' then d.attempts
            else private.logged(d.attempts, private.logged_attempt(
            d.attempt_count, d.claimed_at, null, null, null,
              'The dispatcher ended before it recorded an answer.')) end
        where d.ctid = any (array(select due.row from due))
        returning d.*
      )
      select c.webhook_id, c.event_id, c.attempt_count, c.claimed_at, endpoint.is_healthy, endpoint.url,
        endpoint.encrypted_secret,
        case when endpoint.previous_secret_until > now() then endpoint.previous_encrypted_secret end,
        c.organization_id, c.event, coalesce(o.created_at, c.created_at), coalesce(c.data, o.data)
      from claimed c left join private.outbox o on o.xid = c.outbox_xid and o.id = c.outbox_id;
    get diagnostics taken = row_count;
    room := room - taken;
    share := share - taken;
  end loop;
end
$function$;

ALTER FUNCTION "private"."claim_deliveries"(integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.claim_import(previous_id uuid, problem text, takes boolean)
 RETURNS TABLE(id uuid, organization_id uuid, user_id uuid, digest bytea)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if problem is not null then
    perform private.finish_import(previous_id, problem);
  else
    update private.imports i set claimed_until = now() where i.id = previous_id;
  end if;
  return query
    with claimed as (
      update private.imports i set claimed_until = now() + interval '10 seconds'
      where i.id = (
        select w.id from private.imports w
        where takes and w.state = 'running'
          and w.query is not null and (w.claimed_until is null or w.claimed_until <= now())
        -- The organization whose last turn is the longest ago.
        order by (select max(coalesce(o.claimed_until, o.updated_at)) from private.imports o
          where o.organization_id = w.organization_id and o.state = 'running'), w.updated_at
        limit 1 for update skip locked)
      returning i.*)
    select c.id, c.organization_id, p.auth_user_id, k.digest from claimed c
    left join public.profiles p on p.id = c.profile_id and c.key_id is null
    left join private.api_keys k on k.id = c.key_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_stream(id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare stream private.agent_streams; is_locked boolean;
begin
  select * into stream from private.agent_streams s
  where s.id = claim_stream.id and s.agent_id = private.agent_id()
    and s.expires_at > now() for update skip locked;
  is_locked := stream.id is not null;
  if not is_locked then
    select * into stream from private.agent_streams s
    where s.id = claim_stream.id and s.agent_id = private.agent_id() and s.expires_at > now();
  end if;
  if stream.id is null or stream.events is not null and exists (select from private.agents a
    where a.id = stream.agent_id and a.updated_at > stream.expires_at - interval '10 minutes') then
    return null;
  end if;
  return json_build_object('state', case when not is_locked then 'running'
      when stream.events is null then 'waiting' else 'finished' end,
    'tool', stream.tool, 'arguments', stream.arguments, 'confirmed', stream.confirmed, 'locale',
      stream.locale, 'events', stream.events);
end
$function$;

CREATE OR REPLACE FUNCTION private.create_survey(survey jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.current_organization_id(); new_id uuid;
begin
  perform private.require_admin(own_id, 'surveys:write');
  insert into public.surveys (organization_id, title) values (own_id, survey ->> 'title')
    returning id into new_id;
  perform private.write_settings(new_id, survey);
  perform private.write_questions(own_id, new_id, coalesce(nullif(survey -> 'questions', 'null'), '[]'));
  return new_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.decide_alone(reply_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  with own as (delete from private.hidden_replies where comment_id = reply_id returning under_id),
    thread as (
      with recursive below as (
        select c.id from public.comments c where c.parent_id = reply_id
        union all
        select c.id from public.comments c join below b on c.parent_id = b.id)
      select id from below)
  update private.hidden_replies h set under_id = reply_id from own, thread
    where h.under_id = own.under_id and h.comment_id = thread.id;
end
$function$;

ALTER FUNCTION "private"."decide_alone"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.delete_personal_rows(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare named record;
begin
  for named in select * from private.personal_columns() c where c.at_erasure = 'delete' loop
    execute format('delete from %s where %s = $1 and ($2 is null or organization_id = $2)',
      named.relation, named.person) using profile_id, organization_id;
  end loop;
  -- Suppressions survive the erasure; the keyed hash does not identify the person.
  update private.mail_suppressions s set profile_id = null
  where s.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or s.organization_id = delete_personal_rows.organization_id);
  -- Answers hold what was written.
  delete from private.idempotency_keys k where k.profile_id = delete_personal_rows.profile_id;
  -- Keep a mark as spam while the account exists: users must not remove it themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and
    (delete_personal_rows.organization_id is null or t.organization_id = delete_personal_rows.organization_id
    and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and i.email = lower(p.email)
    and (delete_personal_rows.organization_id
      is null or i.organization_id = delete_personal_rows.organization_id);
  update private.outbox o set data =
    jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (delete_personal_rows.organization_id
        is null or c.organization_id = delete_personal_rows.organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.edit_comment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if old.created_at < now() - private.comment_edit_window() then
    perform private.raise_error('FORBIDDEN', 'The time to edit this comment has passed.', 'body');
  end if;
  new.body := private.trim_text(new.body);
  new.updated_at := greatest(now(), old.updated_at + interval '1 microsecond');
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.edit_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if new.tracker_issue_url is distinct from old.tracker_issue_url and private.caller_id() is not null then
    perform private.require_admin(new.organization_id, 'submissions:moderate');
  end if;
  -- Both name the text that was read (private.admin_moderate): no two of one submission have the same time.
  new.updated_at := greatest(now(), old.updated_at + interval '1 microsecond');
  new.is_changed_by_author := old.is_changed_by_author or (new.title, new.description)
    is distinct from (old.title, old.description) and private.caller_id() is not null
    and not private.is_admin(new.organization_id, 'submissions:moderate');
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.emit_event(organization_id uuid, type text, subject_id uuid, data jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.outbox (organization_id, type, subject_id, data, category_id)
    values (organization_id, type, subject_id, data,
      (select s.category_id from public.submissions s where s.id = private.submission_of(data)));
  perform private.wake_dispatcher(organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.end_made_by(organization_id uuid, user_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare made jsonb := private.made_by(organization_id, user_id); item record;
begin
  perform private.require_person_admin(organization_id);
  for item in select m.type, replace(m.id, 'wh_', '')::uuid as id
    from jsonb_to_recordset(made) as m (type text, id text) loop
    case item.type
      when 'api_key' then update private.api_keys k set revoked_at = now() where k.id = item.id;
      when 'identify_secret' then delete from private.identify_secrets s where s.id = item.id;
      when 'webhook' then
        update private.webhooks w set is_enabled = false, disabled_reason = 'admin' where w.id = item.id;
      when 'agent' then perform private.retire_agent(item.id);
    end case;
    perform private.audit(item.type || case item.type when 'api_key' then '.revoke'
        when 'identify_secret' then '.delete' when 'webhook' then '.update' else '.retire' end,
      item.type, item.id, jsonb_build_object('made_by', user_id), organization_id);
  end loop;
  return made;
end
$function$;

ALTER FUNCTION "private"."end_made_by"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.erase_me()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.caller_id(); named_id uuid := private.named_organization_id(); membership
  public.memberships;
begin
  if private.address_can_be_restored(own_id) then
    perform private.raise_error('CONFLICT',
      'The address of this account was changed within a week. While its '
      'former address can undo that, nothing of the account is erased.');
  end if;
  if named_id is not null then
    -- A user without rows in the organization has nothing to erase, and its team is not notified.
    if private.is_person_of_organization(own_id, named_id) then
      perform private.erase_person(own_id, named_id);
      -- An identified person, who is another one at the next page: what counts once does not stay.
      if exists (select from public.profiles p where p.id = own_id and p.kind = 'anonymous') then
        delete from private.merged_votes v where v.user_id = own_id;
        delete from public.votes v where v.user_id = own_id;
        delete from public.comment_votes v where v.user_id = own_id;
        delete from public.survey_responses r where r.user_id = own_id and r.is_only;
      end if;
      perform private.audit('person.erase', 'profile', own_id, '{}', named_id);
    end if;
    return;
  end if;
  for membership in select * from public.memberships m where m.user_id = own_id
    order by m.organization_id loop
    -- Check before the membership is deleted with the account: the last owner cannot leave.
    perform 1 from public.organizations o where o.id = membership.organization_id for no key update;
    perform private.audit('person.erase', 'profile', own_id, '{}', membership.organization_id);
  end loop;
  perform private.lock_personal_rows(own_id, null);
  perform private.delete_personal_rows(own_id, null);
  delete from private.rate_counters c where c.subject = own_id::text;
  delete from auth.users u where u.id = (select p.auth_user_id from public.profiles p where p.id = own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.erase_person(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare person public.profiles; named record; nobody uuid := profile_id;
begin
  perform private.lock_personal_rows(profile_id, organization_id);
  select * into person from public.profiles p where p.id = profile_id for update;
  if exists (select from public.memberships m
    where m.user_id = profile_id and m.organization_id = erase_person.organization_id) then
    perform private.raise_error('CONFLICT', 'This person is a team member: remove them first.');
  end if;
  perform private.delete_personal_rows(profile_id, organization_id);
  if person.kind = 'user' then
    -- The account may belong to other organizations too: in this one a nameless profile replaces it.
    insert into public.profiles (kind, organization_id) values ('anonymous', organization_id)
      returning id into nobody;
  end if;
  perform private.anonymize_responses(profile_id, organization_id, nobody);
  if person.kind <> 'user' then
    delete from private.external_ids e where e.profile_id = erase_person.profile_id;
    delete from private.author_trust t where t.user_id = erase_person.profile_id;
    perform private.forget_identified(profile_id);
    update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null
      where p.id = profile_id;
    return;
  end if;
  perform set_config('feedback.suppress_events', 'on', true);
  for named in select * from private.personal_columns() c where c.at_erasure = 'reassign' loop
    execute format('update %1$s set %2$s = $3 where %2$s = $1 and organization_id = $2',
      named.relation, named.person) using profile_id, organization_id, nobody;
  end loop;
  perform set_config('feedback.suppress_events', 'off', true);
end
$function$;

CREATE OR REPLACE FUNCTION private.error_state(code text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE code WHEN 'VALIDATION_ERROR'::text THEN 'FB400'::text WHEN 'UNAUTHORIZED'::text THEN 'FB401'::text WHEN 'PLAN_LIMIT_REACHED'::text THEN 'FB402'::text WHEN 'FORBIDDEN'::text THEN 'FB403'::text WHEN 'NOT_FOUND'::text THEN 'FB404'::text WHEN 'CONFLICT'::text THEN 'FB409'::text WHEN 'GONE'::text THEN 'FB410'::text WHEN 'PAYLOAD_TOO_LARGE'::text THEN 'FB413'::text WHEN 'UNSUPPORTED_MEDIA_TYPE'::text THEN 'FB415'::text WHEN 'RATE_LIMIT_EXCEEDED'::text THEN 'FB429'::text WHEN 'SUBMISSION_MERGED'::text THEN 'FBM09'::text WHEN 'TEXT_CHANGED'::text THEN 'FBT09'::text WHEN 'SURVEY_NOT_OPEN'::text THEN 'FBS09'::text WHEN 'ALREADY_RESPONDED'::text THEN 'FBR09'::text WHEN 'SURVEY_HAS_RESPONSES'::text THEN 'FBH09'::text WHEN 'SERVICE_UNAVAILABLE'::text THEN 'FB503'::text ELSE 'FB500'::text END;

CREATE OR REPLACE FUNCTION private.events_after(xid xid8, id bigint, organization_ids uuid[], max_rows integer)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: the outbox is not granted
begin
  return json_build_object('head', pg_snapshot_xmin(pg_current_snapshot())::text, 'events', coalesce((
    select json_agg(json_build_object('xid', e.xid::text, 'id', e.id, 'event_id', e.event_id,
      'organization_id', e.organization_id, 'type', e.type,
      'timestamp', e.created_at, 'data', e.data, 'survey_id',
        coalesce(e.data ->> 'survey_id', e.data -> 'survey' ->> 'id'),
      'former_category_id', e.category_id, 'category_id', (select s.category_id from public.submissions s
        where s.id = private.submission_of(e.data)))
      order by e.xid, e.id)
    from (
      select * from private.outbox o
      where (o.xid, o.id) > (events_after.xid, events_after.id)
        and o.xid < pg_snapshot_xmin(pg_current_snapshot())
        and o.organization_id = any (organization_ids)
      order by o.xid, o.id limit max_rows) e), '[]'));
end
$function$;

CREATE OR REPLACE FUNCTION private.fan_out_events(max_rows integer DEFAULT 500)
 RETURNS TABLE(events integer, held_back boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare at private.webhook_cursor; reached record; late integer;
begin
  events := 0;
  select * into at from private.webhook_cursor;
  held_back := exists (select from private.outbox o where (o.xid, o.id) > (at.xid, at.id));
  if held_back or exists (select from private.webhook_backlogs) then
    -- One fan-out at a time; a concurrent caller retries soon.
    select * into at from private.webhook_cursor for update skip locked;
  else
    at := null;
  end if;
  if at.xid is null then
    return next;
    return;
  end if;
  -- A crash would lose only this progress, which is repeated: commits need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  with batch as (
    select o.xid, o.id, o.organization_id from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit max_rows
  ), many as (
    insert into private.webhook_backlogs (organization_id, webhook_id, xid, id)
    select w.organization_id, w.id, at.xid, at.id from (
      select w.organization_id, w.id, count(*) * count(*) over (partition by w.organization_id) as deliveries
      from batch b join private.webhooks w on w.organization_id = b.organization_id and w.is_enabled
      group by w.organization_id, w.id) w
    where w.deliveries > max_rows or private.is_full(w.id)
    on conflict do nothing
  )
  select b.xid, b.id, count(*) over () as events into reached from batch b
  order by b.xid desc, b.id desc limit 1;
  events := coalesce(reached.events, 0);
  if events > 0 then
    update private.webhook_cursor c set xid = reached.xid, id = reached.id where c.xid <= reached.xid;
  else
    reached := at;
  end if;
  with behind as materialized (
    -- The same number of endpoints of each organization, of the first hundred those that are not full.
    select b.* from (
      select b.*, row_number() over (partition by b.organization_id order by random()) as turn
      from private.webhook_backlogs b order by turn, random() limit 100) b
    where not private.is_full(b.webhook_id) order by b.turn limit 10
  ), next as materialized (
    select b.webhook_id, o.* from behind b cross join lateral (
      select o.xid, o.id, o.event_id, o.type, o.created_at from private.outbox o
      where o.organization_id = b.organization_id and (o.xid, o.id) > (b.xid, b.id)
        and (o.xid, o.id) <= (reached.xid, reached.id)
      order by o.xid, o.id limit 100) o
    union all
    select w.id, o.xid, o.id, o.event_id, o.type, o.created_at
    from private.outbox o join private.webhooks w on w.organization_id = o.organization_id
    where (o.xid, o.id) > (at.xid, at.id) and (o.xid, o.id) <= (reached.xid, reached.id)
      and not exists (select from private.webhook_backlogs b
        where b.organization_id = w.organization_id and b.webhook_id = w.id)
  ), made as (
    insert into private.webhook_deliveries
      (organization_id, webhook_id, event_id, event, outbox_xid, outbox_id)
    select w.organization_id, w.id, n.event_id, asked.name, n.xid, n.id
    from next n join private.webhooks w on w.id = n.webhook_id and w.is_enabled
      and w.enabled_at <= n.created_at
    cross join lateral (
      select a.name from unnest(w.events) with ordinality a (name, position)
      where private.canonical_event(a.name) = n.type order by a.position limit 1) asked
    on conflict do nothing
  ), moved as (
    update private.webhook_backlogs b set xid = l.xid, id = l.id
    from behind e cross join lateral (
      select n.xid, n.id from next n where n.webhook_id = e.webhook_id order by n.xid, n.id offset 99) l
    where b.organization_id = e.organization_id and b.webhook_id = e.webhook_id
  ), done as (
    delete from private.webhook_backlogs b using behind e
    where b.organization_id = e.organization_id and b.webhook_id = e.webhook_id
      and (select count(*) from next n where n.webhook_id = e.webhook_id) < 100
  )
  select count(*) into late from behind;
  -- A committed event may be behind one of an open transaction; retry soon.
  held_back := events < max_rows and exists (
    select from private.outbox o where (o.xid, o.id) > (at.xid, at.id)
      and o.xid >= pg_snapshot_xmin(pg_current_snapshot()));
  if late > 0 and exists (select from private.webhook_backlogs) then events := max_rows; end if;
  return next;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_idempotent_response(key text, request bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  earlier private.idempotency_keys;
  own_id uuid := private.key_id();
  person_id uuid := case when not private.is_key() then private.caller_id() end;
begin
  insert into private.idempotency_keys as k (organization_id, key_id, profile_id, key, request)
  values (private.key_organization_id(), own_id, person_id, find_idempotent_response.key,
    find_idempotent_response.request)
  on conflict do nothing;
  if found then return null; end if;
  select * into earlier from private.idempotency_keys k
    where (k.key_id = own_id or k.profile_id = person_id) and k.key = find_idempotent_response.key;
  if earlier.request is distinct from find_idempotent_response.request then
    perform private.raise_error('CONFLICT', 'This Idempotency-Key was used for another request.',
      'Idempotency-Key');
  end if;
  return earlier.answer;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_organization(hint text, caller_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  found_id uuid := case when hint is null then private.default_organization_id()
    else private.organization_named(hint) end;
  found_visibility text;
begin
  found_visibility := (select visibility from public.organizations where id = found_id);
  return case when found_visibility = 'public' or found_visibility = 'private'
    and private.is_member(found_id, caller_id) then found_id end;
end
$function$;

CREATE OR REPLACE FUNCTION private.free_slug(kind text, organization_id uuid, name text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  base text := btrim(left(btrim(regexp_replace(private.plain_text(name), '[^a-z0-9]+', '-', 'g'), '-'), 56),
    '-');
  slug text;
  taken boolean;
begin
  -- A name without Latin letters, or an id.
  if not private.is_slug(base) then base := private.label_noun(kind); end if;
  for number in 1..1000 loop
    slug := base || case when number = 1 then '' else '-' || number end;
    execute format('select exists (select from public.%I l where l.organization_id = $1 and l.slug = $2)',
      kind) into taken using organization_id, slug;
    exit when not taken;
  end loop;
  return slug;
end
$function$;

CREATE OR REPLACE FUNCTION private.identify_secret_shape(secret private.identify_secrets)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (secret).id, 'last_four', (secret).last_four, 'last_used_at', (secret).last_used_at, 'created_at', (secret).created_at, 'created_by', private.author((secret).created_by, (secret).organization_id));

CREATE OR REPLACE FUNCTION private.import_comment_votes(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'comment', r.comment_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, comment_id text, author text, created_at timestamptz, seen boolean)
  ), added as (
    insert into public.comment_votes (organization_id, comment_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id,
      coalesce(r.created_at, now())
    from r where r.target_id is not null
      and not exists (select from public.profiles p join public.comment_votes v on v.user_id = p.id
        where p.kind = 'user' and lower(p.email) = r.author and v.comment_id = r.target_id)
    order by r.target_id, r.user_id, r.n
    on conflict on constraint one_vote_a_person_and_comment do nothing
    returning comment_id
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'comment_id', 'comment')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_survey_responses(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare outcome private.import_outcome;
begin
  -- Waits for people who are answering: a user with the address of a respondent counts once.
  perform 1 from public.surveys s where s.id in (
    select private.imported_row(import, 'survey', r.survey_id)
    from (select distinct r.survey_id from jsonb_to_recordset(records) as r (survey_id text)) r)
  order by s.id for no key update;
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'response', r.id) as known_id,
      private.imported_row(import, 'survey', r.survey_id) as target_id,
        row_number() over (partition by r.id order by r.n) as nth,
      private.ordered_id() as row_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, survey_id text, author text, answers jsonb, locale text,
      sentiment_score numeric, sentiment_engine text, started_at timestamptz, submitted_at timestamptz,
        seen boolean)
  ), fresh as materialized (
    select r.*, not s.allow_multiple_responses as is_only, (a.answers).value as kept, (a.answers).complaint
    from r join public.surveys s on s.id = r.target_id
    cross join lateral (select private.imported_answers(import, r.target_id, r.survey_id, r.answers)
      as answers) a
    where r.known_id is null and r.nth = 1
  ), added as (
    insert into public.survey_responses
      (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score,
      sentiment_engine, is_only)
    select f.row_id, import.organization_id, f.target_id, f.user_id, f.kept, f.locale, f.started_at,
      coalesce(f.submitted_at, now()),
      f.sentiment_score, case when f.sentiment_score is not null then coalesce(f.sentiment_engine, 'import')
        end, f.is_only
    from fresh f
    where f.complaint is null
      -- A user with this address may have answered already.
      and not (f.is_only and exists (select from public.profiles p
        join public.survey_responses x on x.user_id = p.id
        where p.kind = 'user' and lower(p.email) = f.author and x.survey_id = f.target_id))
    order by f.n
    on conflict (survey_id, user_id) where is_only do nothing
    returning id
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, response_id)
    select import.organization_id, import.source, 'response', f.id, f.row_id from fresh f
      join added a on a.id = f.row_id
  )
  select (select count(*) from added) + count(*) filter
    (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen),
    count(*) filter (where r.known_id is not null or r.nth > 1)
      + (select count(*) from fresh f where f.complaint is null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(r.line, 'survey_id', 'survey'))
      filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'answers', 'message',
      f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_votes(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.import_target(import, r.submission_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, submission_id text, author text, created_at timestamptz, follow boolean,
      seen boolean)
  ), added as (
    insert into public.votes (organization_id, submission_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id,
      coalesce(r.created_at, now())
    from r where r.target_id is not null
      -- A user with this address may have voted already.
      and not exists (select from public.profiles p join public.votes v on v.user_id = p.id
        where p.kind = 'user' and lower(p.email) = r.author and v.submission_id = r.target_id)
    order by r.target_id, r.user_id, r.n
    on conflict on constraint one_vote_a_person_and_submission do nothing
    returning submission_id, user_id, created_at
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select import.organization_id, a.submission_id, a.user_id, 'vote', a.created_at from added a
    where exists (select from r where r.target_id = a.submission_id and r.user_id = a.user_id and r.follow)
    order by a.submission_id, a.user_id
    on conflict do nothing
  ), counted as (
    update public.submissions s set vote_count = vote_count + d.votes
    from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.imported_row(import private.imports, kind text, external_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare found_id uuid; own_id uuid;
begin
  if external_id is null then return null; end if;
  select coalesce(e.submission_id, e.comment_id, e.profile_id, e.survey_id, e.response_id) into found_id
    from private.external_ids e
  where e.organization_id = import.organization_id and e.source = import.source
    and e.kind = imported_row.kind and e.external_id = imported_row.external_id;
  if found_id is not null or not private.is_uuid(external_id) then return found_id; end if;
  -- Records exported from this organization carry its own ids.
  own_id := external_id::uuid;
  return case imported_row.kind
    when 'submission' then (select s.id from public.submissions s
      where s.id = own_id and s.organization_id = import.organization_id)
    when 'comment' then (select c.id from public.comments c
      where c.id = own_id and c.organization_id = import.organization_id)
    when 'survey' then (select s.id from public.surveys s
      where s.id = own_id and s.organization_id = import.organization_id)
    when 'response' then (select r.id from public.survey_responses r
      where r.id = own_id and r.organization_id = import.organization_id)
    else (select p.id from public.profiles p
      where p.id = own_id and (p.organization_id = import.organization_id
      or p.auth_user_id is null and p.kind = 'user' and (
        exists (select from public.votes v
          where v.user_id = p.id and v.organization_id = import.organization_id)
        or exists (select from public.submissions s
          where s.author_id = p.id and s.organization_id = import.organization_id)
        or exists (select from public.comments c
          where c.author_id = p.id and c.organization_id = import.organization_id))))
  end;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_full(webhook_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.webhook_deliveries d where d.webhook_id = is_full.webhook_id
    and d.status = 'pending' and d.next_attempt_at <= now() order by d.next_attempt_at offset 1000 limit 1);
end
$function$;

ALTER FUNCTION "private"."is_full"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_person_of_organization(profile_id uuid, organization_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from public.profiles p
    where p.id = profile_id and p.organization_id = is_person_of_organization.organization_id
      and p.kind in ('email', 'anonymous'))
    or exists (select from public.profiles p where p.id = profile_id and p.kind = 'user')
      and exists (select from private.personal_rows r
        where r.profile_id = is_person_of_organization.profile_id
          and r.organization_id = is_person_of_organization.organization_id and r.takes_part);
end
$function$;

CREATE OR REPLACE FUNCTION private.is_uuid(value text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN (value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text);

CREATE OR REPLACE FUNCTION private.is_slug(value text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN ((value ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text) AND (char_length(value) <= 64) AND (NOT private.is_uuid(value)));

ALTER FUNCTION "private"."is_uuid"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.keep_maker_in_team()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() or new.created_by = private.caller_id() then
    -- Removing the person waits until this is made, or this until the person is removed.
    perform private.lock_team(new.organization_id);
    if not private.is_key() then
      perform private.require_admin(new.organization_id, '');
    elsif exists (select from private.api_keys k
      where k.id = private.key_id() and k.revoked_at is not null) then
      perform private.raise_error('UNAUTHORIZED', 'This key was revoked.');
    end if;
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."keep_maker_in_team"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.key_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN CASE WHEN private.is_key() THEN (NULLIF(current_setting('feedback.key_id'::text, true), ''::text))::uuid ELSE NULL::uuid END;

ALTER FUNCTION "private"."key_id"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.made_by(organization_id uuid, user_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() or not private.is_admin(organization_id, '') then return '[]'; end if;
  return (select coalesce(jsonb_agg(m order by m.type, m.name, m.id), '[]') from (
    select 'api_key' as type, k.id::text, k.name from private.api_keys k
    where k.organization_id = made_by.organization_id and k.created_by = made_by.user_id
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    union all
    select 'identify_secret', s.id::text, '…' || s.last_four from private.identify_secrets s
    where s.organization_id = made_by.organization_id and s.created_by = made_by.user_id
    union all
    select 'webhook', private.webhook_shape(w) ->> 'id', private.host_of(w.url) from private.webhooks w
    where w.organization_id = made_by.organization_id and w.created_by = made_by.user_id and w.is_enabled
    union all
    select 'agent', a.id::text, p.name from private.agents a join public.profiles p on p.id = a.id
    where a.organization_id = made_by.organization_id and a.created_by = made_by.user_id
      and a.retired_at is null) m);
end
$function$;

ALTER FUNCTION "private"."made_by"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.moderate_comment()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare change integer := (new.moderation_state = 'approved')::integer
  - (old.moderation_state = 'approved')::integer;
begin
  update public.submissions set comment_count = comment_count + change
    where id = new.submission_id and change <> 0;
  update public.comments set reply_count = reply_count + change where id = new.parent_id and change <> 0;
  if change = 1 and not private.is_announced('comment.created', new.id) then
    perform private.announce_comment(new.id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.moderate_replies()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare replies uuid[];
begin
  if new.moderation_state = 'approved' then
    replies := array(
      with recursive thread as (
        select h.comment_id from private.hidden_replies h join public.comments c on c.id = h.comment_id
        where h.under_id = new.id and c.parent_id = new.id
        union all
        select h.comment_id from thread t join public.comments c on c.parent_id = t.comment_id
          join private.hidden_replies h on h.comment_id = c.id and h.under_id = new.id)
      select t.comment_id from thread t);
    delete from private.hidden_replies where comment_id = any (replies || new.id);
    update public.comments set moderation_state = 'approved' where id = any (replies);
  elsif old.moderation_state = 'approved' then
    with recursive thread as (
      select c.id, c.moderation_state from public.comments c where c.parent_id = new.id
      union all
      select c.id, c.moderation_state from public.comments c join thread t on c.parent_id = t.id)
    select array_agg(t.id) into replies from thread t where t.moderation_state = 'approved';
    if replies is null then return null; end if;
    insert into private.hidden_replies (comment_id, organization_id, under_id) select id, new.organization_id,
      new.id from unnest(replies) as id;
    update public.comments set moderation_state = new.moderation_state where id = any (replies);
  else
    perform private.decide_alone(new.id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.mute_submission(submission_id uuid, muted boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not muted then perform private.require_own_mailbox(); end if;
  perform private.change_mail_preferences(s.organization_id, private.caller_id(),
    jsonb_build_object(case when muted then 'mute' else 'unmute' end, s.id))
  from public.submissions s where s.id = mute_submission.submission_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.my_mail_preferences()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.mail_preferences(private.current_organization_id(), private.caller_id());
end
$function$;

CREATE OR REPLACE FUNCTION private.open_claim(organization_id uuid, author_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
begin
  return (select json_build_object(
    'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'submissions', (select count(*) from public.submissions s where s.author_id = p.id),
    'comments', (select count(*) from public.comments c where c.author_id = p.id),
    'votes', (select count(*) from public.votes v where v.user_id = p.id),
    'is_signed_in', private.caller_id() is not null,
    'is_own_address', private.has_address(private.caller_id(), p.email))
    from public.profiles p join public.organizations o on o.id = p.organization_id
    where p.id = open_claim.author_id and p.kind = 'email' and o.id = open_claim.organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.organization_named(name text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN CASE WHEN private.is_uuid(name) THEN (name)::uuid ELSE (SELECT s.organization_id FROM private.organization_slugs s WHERE (s.slug = lower(organization_named.name))) END;

ALTER FUNCTION "private"."organization_named"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.person_behind()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.is_key() then return private.caller_id(); end if;
  return (select k.created_by from private.api_keys k where k.id = private.key_id());
end
$function$;

ALTER FUNCTION "private"."person_behind"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.personal_columns()
 RETURNS TABLE(relation text, person text, at_erasure text, takes_part boolean, exported_as text, exported text)
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
BEGIN ATOMIC
 VALUES ('public.submissions'::text,'author_id'::text,'reassign'::text,true,'submissions'::text,'id, title, description, type, status, source, updated_at, created_at'::text), ('public.comments'::text,'author_id'::text,'reassign'::text,true,'comments'::text,'id, submission_id, parent_id, body, updated_at, created_at'::text), ('public.votes'::text,'user_id'::text,'reassign'::text,true,'votes'::text,'submission_id, created_at'::text), ('public.comment_votes'::text,'user_id'::text,'reassign'::text,true,'comment_votes'::text,'comment_id, created_at'::text), ('private.merged_votes'::text,'user_id'::text,'reassign'::text,false,NULL::text,NULL::text), ('public.status_changes'::text,'changed_by'::text,'reassign'::text,true,'status_changes'::text,'submission_id, previous_status, new_status, note, created_at'::text), ('private.api_keys'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('private.agents'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('private.identify_secrets'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('private.webhooks'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('public.follows'::text,'user_id'::text,'delete'::text,true,'follows'::text,'submission_id, reason, created_at'::text), ('public.notifications'::text,'user_id'::text,'delete'::text,false,'notifications'::text,'type, submission_id, comment_id, read_at, created_at'::text), ('private.mails'::text,'profile_id'::text,'delete'::text,false,NULL::text,NULL::text), ('private.mail_items'::text,'profile_id'::text,'delete'::text,false,NULL::text,NULL::text), ('private.mail_choices'::text,'profile_id'::text,'delete'::text,false,'mail_choices'::text,'kind, choice'::text), ('private.mail_mutes'::text,'profile_id'::text,'delete'::text,false,'mail_mutes'::text,'submission_id, created_at'::text), ('private.survey_requests'::text,'profile_id'::text,'delete'::text,false,'survey_requests'::text,'survey_id, reminded_at, created_at'::text), ('private.invites'::text,'invited_by'::text,'delete'::text,false,NULL::text,NULL::text), ('private.invites'::text,'accepted_by'::text,'delete'::text,false,NULL::text,NULL::text), ('public.memberships'::text,'user_id'::text,NULL::text,true,'memberships'::text,'role, created_at'::text), ('public.survey_responses'::text,'user_id'::text,NULL::text,true,NULL::text,NULL::text), ('private.survey_starts'::text,'user_id'::text,NULL::text,true,'survey_starts'::text,'survey_id, started_at'::text), ('private.author_trust'::text,'user_id'::text,NULL::text,false,'trust'::text,'is_trusted, created_at'::text), ('private.mail_suppressions'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text), ('private.identified_people'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text), ('private.identify_sessions'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text), ('private.external_ids'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text);
END;

ALTER FUNCTION "private"."personal_columns"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.personal_data(profile_id uuid, organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare exported record; rows_of json; data jsonb := (
  select jsonb_build_object(
    'profile', json_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'email', p.email, 'avatar_url',
      p.avatar_url,
      'locale', p.locale, 'created_at', p.created_at),
    'identified_as', (select json_build_object('organization_id', i.organization_id, 'sub', i.subject,
      'created_at', i.created_at, 'last_identified_at', i.last_identified_at)
      from private.identified_people i where i.profile_id = p.id),
    'survey_responses', coalesce((select json_agg(r order by r.submitted_at desc) from (
      select r.id, r.organization_id, r.survey_id, s.title as survey_title, coalesce((
          select json_agg(json_build_object('question_id', q.id, 'question', q.text, 'value',
            a.answer -> 'value') order by q.position)
          from jsonb_array_elements(r.answers) as a (answer)
            join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid), '[]') as answers,
        r.locale, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score
      from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = p.id and (personal_data.organization_id
        is null or r.organization_id = personal_data.organization_id)
      order by r.submitted_at desc limit 10000) r), '[]'))
  from public.profiles p where p.id = profile_id);
begin
  for exported in select * from private.personal_columns() c where c.exported_as is not null loop
    execute format($query$ select coalesce(json_agg(r order by r.%3$s desc), '[]') from (
        select organization_id, %4$s from %1$s
        where %2$s = $1 and ($2 is null or organization_id = $2) order by %3$s desc limit 10000) r $query$,
      exported.relation, exported.person, substring(exported.exported from '\w+$'), exported.exported)
    into rows_of using profile_id, organization_id;
    data := data || jsonb_build_object(exported.exported_as, rows_of);
  end loop;
  return data;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare organization public.organizations;
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR', 'Name the organization: there is more than one.',
      'organization_id');
  end if;
  select * into organization from public.organizations where id = new.organization_id for key share;
  if private.is_direct() then perform private.charge_direct('submission_create_user', 1); end if;
  if not private.is_importing() then
    if private.needs_approval(new.organization_id, new.author_id) then
      new.moderation_state := 'pending';
    end if;
    new.vote_count := (not private.was_erased(new.organization_id, new.author_id))::integer;
  end if;
  new.is_public := organization.visibility = 'public' and new.moderation_state = 'approved';
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.record_and_claim_deliveries(results jsonb, max_rows integer, max_unproven integer DEFAULT 0)
 RETURNS TABLE(webhook_id uuid, event_id uuid, attempt integer, claimed_at timestamp with time zone, is_healthy boolean, url text, encrypted_secret text, previous_encrypted_secret text, organization_id uuid, event text, occurred_at timestamp with time zone, data jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
begin
  perform private.record_deliveries(results);
  return query select * from private.claim_deliveries(max_rows);
end
$function$;

ALTER FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.recount(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  update public.submissions s set
    vote_count = (select count(*) from public.votes v where v.submission_id = s.id),
    comment_count = (select count(*) from public.comments c
      where c.submission_id = s.id and c.moderation_state = 'approved'),
    updated_at = greatest(s.updated_at, now())
  where s.id = any (ids);
end
$function$;

CREATE OR REPLACE FUNCTION private.refuse_erased()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.events_suppressed() and private.was_erased(new.organization_id, new.user_id) then
    perform private.raise_error('FORBIDDEN', 'This account was erased here. Its votes and answers stay and '
      'count: to take part again, use another account.');
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."refuse_erased"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.replace_tag(organization_id uuid, from_id uuid, to_id uuid, batch integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare ids uuid[];
begin
  ids := array(select st.submission_id from public.submission_tags st
    join public.submissions s on s.id = st.submission_id
    where st.organization_id = replace_tag.organization_id and st.tag_id = from_id limit batch
    for key share of s skip locked for update of st skip locked);
  -- The submission's own tag takes precedence over a merged one, which is then recorded in the journal.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select coalesce(f.merged_from, t.merged_from), to_id, f.organization_id
  from public.submission_tags f join public.submission_tags t on t.submission_id = f.submission_id
    and t.tag_id = to_id
  where f.submission_id = any (ids) and f.tag_id = from_id and f.merged_from is distinct from t.merged_from
  on conflict do nothing;
  insert into public.submission_tags as st (organization_id, submission_id, tag_id, merged_from)
  select f.organization_id, f.submission_id, to_id, f.merged_from from public.submission_tags f
  where f.submission_id = any (ids) and f.tag_id = from_id and to_id is not null order by f.submission_id
  on conflict on constraint submission_tags_pkey do update set merged_from = null where excluded.merged_from
    is null;
  -- Merge journals keep the tag: they move with the last batch or are deleted with the label.
  perform set_config('feedback.suppress_events', 'on', true);
  delete from public.submission_tags st where st.submission_id = any (ids) and st.tag_id = from_id;
  perform set_config('feedback.suppress_events', 'off', true);
  return cardinality(ids);
end
$function$;

CREATE OR REPLACE FUNCTION private.require_own_mailbox()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if (select p.kind from public.profiles p where p.id = private.caller_id()) = 'email' then
    perform private.raise_error('FORBIDDEN',
      'Only a link in a mail resumes mail: the application that signed you in does not prove the address.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.retention(kind text)
 RETURNS interval
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
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
    when 'auth_log' then return interval '90 days';
    when 'mails' then return interval '30 days';
    when 'stopped_account_mail' then return interval '90 days';
    when 'account_undos' then return interval '7 days';
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION private.retire_agent(agent_id uuid)
 RETURNS private.agents
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare agent private.agents;
begin
  update private.api_keys k set revoked_at = now() where k.profile_id = agent_id and k.revoked_at is null;
  update private.agents a set retired_at = coalesce(a.retired_at, now()) where a.id = agent_id
    returning a.* into agent;
  return agent;
end
$function$;

ALTER FUNCTION "private"."retire_agent"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.review_comment_edit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_direct() then perform private.charge_direct('comment_update', 1); end if;
  if new.body <> old.body and private.needs_approval(new.organization_id, new.author_id)
    and (new.moderation_state = 'approved'
      or exists (select from private.hidden_replies h where h.comment_id = new.id)) then
    perform private.decide_alone(new.id);
    update public.comments set moderation_state = 'pending' where id = new.id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.run_fanouts(batch integer DEFAULT 5000)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare fanout private.fanouts; done integer := 0; next uuid[] := array(
  -- Of each organization the oldest, then its next; together they get one batch, so that a run stays short.
  select o.event_id
  from (select f.event_id, row_number() over (partition by f.organization_id order by f.created_at) as turn
    from private.fanouts f) o
  order by o.turn, random() limit 20);
begin
  for fanout in select * from private.fanouts f where f.event_id = any (next) for update skip locked loop
    fanout.after_user_id := private.notify_batch(fanout, greatest(batch / cardinality(next), 1));
    if fanout.after_user_id is null then
      delete from private.fanouts where event_id = fanout.event_id;
    else
      update private.fanouts set after_user_id = fanout.after_user_id where event_id = fanout.event_id;
    end if;
    done := done + 1;
  end loop;
  return done;
end
$function$;

CREATE OR REPLACE FUNCTION private.run_import(import_id uuid, records jsonb, refused jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  import private.imports; part private.import_outcome; ends_at timestamptz; is_written boolean;
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  total constant integer := (select coalesce(max(n::integer) + 1, 0)
    from jsonb_path_query(records, 'strict $.* ? (@.type() == "array")[*].n') n);
  size integer; failures jsonb; wrong integer; told integer;
begin
  -- One chunk of an organization at a time, so that concurrent imports of one file see each other's rows.
  perform pg_advisory_xact_lock(hashtextextended('import ' || i.organization_id, 0)) from private.imports i
    where i.id = import_id;
  select * into import from private.imports i where i.id = import_id for no key update;
  if import.state is distinct from 'running' then
    perform private.raise_error('CONFLICT', 'This import has ended: start another.');
  end if;
  if import.is_dry_run then records := private.mark_dry_run_ids(import, records); end if;
  ends_at := clock_timestamp() + interval '1 second';
  begin
    while import.records_done < total and clock_timestamp() < ends_at loop
      size := least(import.records_at_once, total - import.records_done);
      begin
        part := private.write_import(import, case when size = total then records
          else private.slice_records(records, import.records_done, import.records_done + size) end);
        import.records_done := import.records_done + size;
        import.records_at_once := case when clock_timestamp() < ends_at
          then least(2 * import.records_at_once, 500) else greatest(1, size / 2) end;
      -- What a record causes: a value, a constraint, a size, a rule or the statement timeout.
      exception when others or query_canceled then
        if sqlstate !~ '^(22|23|54|57014|FB4)' or sqlstate = 'FB402' then raise; end if;
        part := row(0, 0, '[]')::private.import_outcome;
        import.records_at_once := greatest(1, size / 2);
        if size = 1 then
          import.records_done := import.records_done + 1;
          part.failures := (select coalesce(jsonb_agg(jsonb_build_object('line', e -> 'line', 'message',
            'was refused by the database')), '[]')
            from jsonb_path_query(records, 'strict $.* ? (@.type() == "array")[*] ? (@.n == $n)',
              jsonb_build_object('n', import.records_done - 1)) e);
        end if;
      end;
      outcome := row(outcome.created + part.created, outcome.skipped + part.skipped,
        outcome.failures || part.failures)::private.import_outcome;
    end loop;
    if import.is_dry_run then raise exception using errcode = 'FBDRY'; end if;
  exception when sqlstate 'FBDRY' then null;
  end;
  is_written := import.records_done >= total;
  failures := outcome.failures || case when is_written then refused else '[]' end;
  wrong := (select count(*) from jsonb_array_elements(failures) f where f -> 'kept' is null);
  told := (select count(*) from private.import_errors e where e.organization_id = import.organization_id
    and e.import_id = import.id);
  insert into private.import_errors (organization_id, import_id, file, line, field, message)
  select import.organization_id, import.id, records ->> 'file', f.line, f.field, f.message
  from jsonb_to_recordset(failures) as f (line integer, field text, message text)
  order by f.line limit greatest(0, 100 - told);
  update private.imports i set processed = i.processed + outcome.created + outcome.skipped + wrong,
    created = i.created + outcome.created,
    skipped = i.skipped + outcome.skipped, failed = i.failed + wrong, updated_at = clock_timestamp(),
    records_done = case when is_written then 0 else import.records_done end,
    records_at_once = import.records_at_once,
    claimed_until = case when i.claimed_until is not null then clock_timestamp() + interval '10 seconds' end
  where i.id = import.id returning i.* into import;
  return jsonb_build_object('processed', import.processed, 'created', import.created, 'skipped',
    import.skipped, 'failed', import.failed, 'is_written', is_written);
end
$function$;

CREATE OR REPLACE FUNCTION private.save_idempotent_response(key text, answer text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  update private.idempotency_keys k set answer = save_idempotent_response.answer
  where case when private.is_key() then k.key_id = private.key_id()
      else k.profile_id = private.caller_id() end
    and k.key = save_idempotent_response.key;
end
$function$;

CREATE OR REPLACE FUNCTION private.signing_secrets(organization text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select json_build_object('organization_id', o.id, 'is_public', o.visibility = 'public',
      'slug', case when private.is_uuid(organization) then o.slug else lower(organization) end,
      'secrets', coalesce((select json_agg(json_build_object('id', s.id,
          'encrypted', s.encrypted_secret, 'last_four', s.last_four) order by s.created_at desc, s.id)
        from private.identify_secrets s where s.organization_id = o.id), '[]'))
    from public.organizations o where o.id = private.organization_named(organization));
end
$function$;

CREATE OR REPLACE FUNCTION private.slice_records(records jsonb, first integer, past integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
declare part jsonb; named text[];
begin
  select jsonb_object_agg(r.key, case jsonb_typeof(r.value) when 'array' then jsonb_path_query_array(r.value,
    '$[*] ? (@.n >= $first && @.n < $past)', jsonb_build_object('first', first, 'past', past))
    else r.value end) into part from jsonb_each(records) r;
  named := array(select v #>> '{}'
    from unnest(array['$.*[*].author', '$.*[*].category', '$.*[*].tags[*]']::jsonpath[]) p (path)
      cross join jsonb_path_query(part, p.path) v);
  return (select jsonb_object_agg(r.key, case when r.key in ('people', 'categories', 'tags') then coalesce((
      select jsonb_object_agg(k.key, k.value) from jsonb_each(r.value) k where k.key = any (named)), '{}')
    else r.value end) from jsonb_each(part) r);
end
$function$;

CREATE OR REPLACE FUNCTION private.start_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  perform set_config('feedback.suppress_events', 'on', true);
  insert into public.votes (organization_id, submission_id, user_id, created_at)
  select new.organization_id, new.id, new.author_id, new.created_at where new.vote_count = 1;
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  values (new.organization_id, new.id, new.author_id, 'author', new.created_at);
  perform set_config('feedback.suppress_events', 'off', true);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.submission_of(data jsonb)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
RETURN (COALESCE((data ->> 'submission_id'::text), ((data -> 'submission'::text) ->> 'id'::text), ((data -> 'comment'::text) ->> 'submission_id'::text)))::uuid;

ALTER FUNCTION "private"."submission_of"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.suppress_address(organization_id uuid, profile_id uuid, address text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if address is null then return; end if;
  insert into private.mail_suppressions as s (organization_id, address_hash, reason, profile_id)
  values (organization_id, private.address_hash(address), reason, profile_id)
  on conflict on constraint mail_suppressions_pkey do update
    set reason = excluded.reason, profile_id = coalesce(excluded.profile_id, s.profile_id), created_at = now()
    -- Admins may resume mail that bounced, so a bounce does not replace a refusal.
    where array_position(array['bounced', 'refused', 'complained'], excluded.reason)
      >= array_position(array['bounced', 'refused', 'complained'], s.reason);
end
$function$;

CREATE OR REPLACE FUNCTION private.survey_organization_ids(scopes text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() then
    return case when scopes && string_to_array(current_setting('feedback.scopes', true), ' ')
      then array[private.key_organization_id()] else '{}' end;
  end if;
  return coalesce((select array_agg(organization_id) from public.memberships
    where user_id = private.caller_id()), '{}');
end
$function$;

CREATE OR REPLACE FUNCTION private.take_slug()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.organization_slugs (slug, organization_id) values (new.slug, new.id)
    on conflict do nothing;
  if not exists (select from private.organization_slugs s
    where s.slug = new.slug and s.organization_id = new.id) then
    perform private.raise_error('CONFLICT', 'Another organization has or had this slug.', 'slug');
  elsif (select count(*) from private.organization_slugs s where s.organization_id = new.id) > 10 then
    perform private.raise_error('CONFLICT',
      'An organization can have 10 slugs, former ones included: take one of them again.', 'slug');
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."take_slug"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.team_organization_ids()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.caller_id();
begin
  if private.is_key() then
    return case
      when private.has_scope('submissions:read') or private.has_scope('submissions:moderate')
        then array[private.key_organization_id()]
      else '{}'
    end;
  end if;
  if own_id is null then return '{}'; end if;
  return array(select organization_id from public.memberships where user_id = own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.topics_of(submission public.submissions)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
RETURN ARRAY[private.board_topic((submission).organization_id, (submission).is_public), private.submission_topic((submission).id, (submission).is_public)];

ALTER FUNCTION "private"."topics_of"(public.submissions) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.trim_logs()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from cron.job_run_details d
    where coalesce(d.end_time, d.start_time) < now() - private.retention('cron_log')
    and d.jobid in (select j.jobid from cron.job j where j.jobname like 'feedback-%');
  delete from auth.audit_log_entries a where a.created_at < now() - private.retention('auth_log');
end
$function$;

ALTER FUNCTION "private"."trim_logs"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.unless_erased(profile_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select p.id from public.profiles p where p.id = profile_id
    and case p.kind when 'user' then p.auth_user_id is not null else p.email is not null end);
end
$function$;

ALTER FUNCTION "private"."unless_erased"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.was_erased(organization_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- Waits for a concurrent erasure.
  perform 1 from public.profiles p where p.id = profile_id and p.kind = 'user' for key share;
  return found and exists (select from private.audit_log a
    where a.organization_id = was_erased.organization_id
      and a.target_id = profile_id and a.action = 'person.erase');
end
$function$;

ALTER FUNCTION "private"."was_erased"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.webhook_shape(webhook private.webhooks)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
RETURN json_build_object('id', ('wh_'::text || replace(((webhook).id)::text, '-'::text, ''::text)), 'url', (webhook).url, 'events', (webhook).events, 'enabled', (webhook).is_enabled, 'disabled_reason', (webhook).disabled_reason, 'previous_secret_expires_at', CASE WHEN ((webhook).previous_secret_until > now()) THEN (webhook).previous_secret_until ELSE NULL::timestamp with time zone END, 'created_at', (webhook).created_at, 'updated_at', (webhook).updated_at, 'created_by', private.author((webhook).created_by, (webhook).organization_id));

CREATE OR REPLACE FUNCTION private.write_questions(organization_id uuid, survey_id uuid, questions jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  with written as (
    insert into public.survey_questions as w
      (organization_id, survey_id, type, text, required, position, multiple, scale)
    select write_questions.organization_id, write_questions.survey_id, q ->> 'type', q ->> 'text',
      coalesce((q ->> 'required')::boolean, false), n,
      coalesce((q ->> 'multiple')::boolean, false), (q ->> 'scale')::integer
    from jsonb_array_elements(questions) with ordinality as a (q, n)
    returning w.id, w.position
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select write_questions.organization_id, write_questions.survey_id, w.id, o, p
  from written w cross join lateral jsonb_array_elements_text(
    coalesce(nullif(questions -> (w.position - 1) -> 'options', 'null'), '[]')) with ordinality as b (o, p);
end
$function$;

CREATE OR REPLACE FUNCTION public.create_comment(submission_id uuid, body text, parent_id uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare id uuid := gen_random_uuid();
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comments (id, submission_id, parent_id, body)
  values (id, submission_id, parent_id, body);
  perform set_config('feedback.by_function', 'off', true);
  return id;
end
$function$;

ALTER FUNCTION "public"."create_comment"(uuid, text, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION public.create_submission(title text, description text, type text, category_id uuid DEFAULT NULL::uuid, organization_id uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare id uuid := gen_random_uuid();
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.submissions (id, organization_id, title, description, type, category_id)
  values (id, organization_id, title, description, type, category_id);
  perform set_config('feedback.by_function', 'off', true);
  return id;
end
$function$;

ALTER FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION public.follow(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare was_made boolean;
begin
  if (select private.is_following(s.id) from public.submissions s where s.id = follow.submission_id)
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.follows (submission_id) values (follow.submission_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$function$;

CREATE OR REPLACE FUNCTION public.my_votes(submission_ids uuid[])
 RETURNS TABLE(submission_id uuid, voted_at timestamp with time zone)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
BEGIN ATOMIC
 SELECT v.submission_id,
     v.voted_at
    FROM (private.my_votes() v(submission_id, voted_at)
      JOIN public.submissions s ON ((s.id = v.submission_id)))
   WHERE (s.id = ANY (my_votes.submission_ids));
END;

CREATE OR REPLACE FUNCTION public.unfollow(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare was_removed boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.follows f using public.submissions s
  where s.id = unfollow.submission_id and f.submission_id = any (private.with_sources(s.id));
  was_removed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_removed;
end
$function$;

CREATE OR REPLACE FUNCTION public.unvote(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- Before the lock, so that callers without a vote lock nothing.
  if (select private.my_vote(s.id) from public.submissions s where s.id = unvote.submission_id) is null
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_vote(submission_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION public.unvote_comment(comment_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if (select private.comment_vote_of(c.id, private.caller_id()) from public.comments c
    where c.id = unvote_comment.comment_id) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_comment_vote(comment_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION public.vote(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare was_made boolean;
begin
  if (select private.my_vote(s.id) from public.submissions s where s.id = vote.submission_id) is not null
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.votes (submission_id) values (vote.submission_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$function$;

CREATE OR REPLACE FUNCTION public.vote_comment(comment_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare was_made boolean;
begin
  if (select private.comment_vote_of(c.id, private.caller_id()) from public.comments c
    where c.id = vote_comment.comment_id) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comment_votes (comment_id) values (vote_comment.comment_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$function$;

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "private"."webhook_backlogs" ADD CONSTRAINT "backlogs_are_of_a_webhook_of_their_organization" FOREIGN KEY (organization_id, webhook_id) REFERENCES private.webhooks(organization_id, id) ON DELETE CASCADE;

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "private"."webhooks" ADD CONSTRAINT "webhooks_created_by_fkey" FOREIGN KEY (created_by) REFERENCES public.profiles(id) DEFERRABLE INITIALLY DEFERRED;

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint, adding-serial-primary-key-field
ALTER TABLE "public"."submission_tags" ADD CONSTRAINT "submission_tags_pkey" PRIMARY KEY (submission_id, tag_id, organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "public"."survey_options" ADD CONSTRAINT "one_option_a_position" UNIQUE (question_id, "position", organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "public"."survey_options" ADD CONSTRAINT "one_option_a_text" UNIQUE (question_id, text, organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "public"."survey_questions" ADD CONSTRAINT "one_question_a_position" UNIQUE (survey_id, "position", organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "public"."survey_questions" ADD CONSTRAINT "questions_belong_to_their_survey" UNIQUE (survey_id, id, organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "private"."survey_answer_counts" ADD CONSTRAINT "survey_answer_counts_question_is_of_the_same_survey" FOREIGN KEY (organization_id, survey_id, question_id) REFERENCES public.survey_questions(organization_id, survey_id, id) ON DELETE CASCADE;

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint, adding-foreign-key-constraint
ALTER TABLE "public"."survey_options" ADD CONSTRAINT "survey_options_question_is_of_the_same_survey" FOREIGN KEY (organization_id, survey_id, question_id) REFERENCES public.survey_questions(organization_id, survey_id, id) ON DELETE CASCADE;

CREATE VIEW "private"."personal_rows" WITH (security_invoker=true) AS  SELECT submissions.author_id AS profile_id,
    submissions.organization_id,
    true AS takes_part
   FROM public.submissions
UNION ALL
 SELECT comments.author_id AS profile_id,
    comments.organization_id,
    true AS takes_part
   FROM public.comments
UNION ALL
 SELECT votes.user_id AS profile_id,
    votes.organization_id,
    true AS takes_part
   FROM public.votes
UNION ALL
 SELECT comment_votes.user_id AS profile_id,
    comment_votes.organization_id,
    true AS takes_part
   FROM public.comment_votes
UNION ALL
 SELECT merged_votes.user_id AS profile_id,
    merged_votes.organization_id,
    false AS takes_part
   FROM private.merged_votes
UNION ALL
 SELECT status_changes.changed_by AS profile_id,
    status_changes.organization_id,
    true AS takes_part
   FROM public.status_changes
UNION ALL
 SELECT api_keys.created_by AS profile_id,
    api_keys.organization_id,
    false AS takes_part
   FROM private.api_keys
UNION ALL
 SELECT agents.created_by AS profile_id,
    agents.organization_id,
    false AS takes_part
   FROM private.agents
UNION ALL
 SELECT identify_secrets.created_by AS profile_id,
    identify_secrets.organization_id,
    false AS takes_part
   FROM private.identify_secrets
UNION ALL
 SELECT webhooks.created_by AS profile_id,
    webhooks.organization_id,
    false AS takes_part
   FROM private.webhooks
UNION ALL
 SELECT follows.user_id AS profile_id,
    follows.organization_id,
    true AS takes_part
   FROM public.follows
UNION ALL
 SELECT notifications.user_id AS profile_id,
    notifications.organization_id,
    false AS takes_part
   FROM public.notifications
UNION ALL
 SELECT mails.profile_id,
    mails.organization_id,
    false AS takes_part
   FROM private.mails
UNION ALL
 SELECT mail_items.profile_id,
    mail_items.organization_id,
    false AS takes_part
   FROM private.mail_items
UNION ALL
 SELECT mail_choices.profile_id,
    mail_choices.organization_id,
    false AS takes_part
   FROM private.mail_choices
UNION ALL
 SELECT mail_mutes.profile_id,
    mail_mutes.organization_id,
    false AS takes_part
   FROM private.mail_mutes
UNION ALL
 SELECT survey_requests.profile_id,
    survey_requests.organization_id,
    false AS takes_part
   FROM private.survey_requests
UNION ALL
 SELECT invites.invited_by AS profile_id,
    invites.organization_id,
    false AS takes_part
   FROM private.invites
UNION ALL
 SELECT invites.accepted_by AS profile_id,
    invites.organization_id,
    false AS takes_part
   FROM private.invites
UNION ALL
 SELECT memberships.user_id AS profile_id,
    memberships.organization_id,
    true AS takes_part
   FROM public.memberships
UNION ALL
 SELECT survey_responses.user_id AS profile_id,
    survey_responses.organization_id,
    true AS takes_part
   FROM public.survey_responses
UNION ALL
 SELECT survey_starts.user_id AS profile_id,
    survey_starts.organization_id,
    true AS takes_part
   FROM private.survey_starts
UNION ALL
 SELECT author_trust.user_id AS profile_id,
    author_trust.organization_id,
    false AS takes_part
   FROM private.author_trust
UNION ALL
 SELECT mail_suppressions.profile_id,
    mail_suppressions.organization_id,
    false AS takes_part
   FROM private.mail_suppressions
UNION ALL
 SELECT identified_people.profile_id,
    identified_people.organization_id,
    false AS takes_part
   FROM private.identified_people
UNION ALL
 SELECT identify_sessions.profile_id,
    identify_sessions.organization_id,
    false AS takes_part
   FROM private.identify_sessions
UNION ALL
 SELECT external_ids.profile_id,
    external_ids.organization_id,
    false AS takes_part
   FROM private.external_ids;

ALTER VIEW "private"."personal_rows" OWNER TO "postgres";

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX organization_slugs_organization_idx ON private.organization_slugs USING btree (organization_id);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX webhooks_created_by_idx ON private.webhooks USING btree (created_by);

CREATE TRIGGER keep_maker BEFORE INSERT ON private.agents FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER keep_maker BEFORE INSERT ON private.api_keys FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER keep_maker BEFORE INSERT ON private.identify_secrets FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER keep_maker BEFORE INSERT OR UPDATE OF created_by ON private.webhooks FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER refuse_erased BEFORE INSERT ON public.comment_votes FOR EACH ROW EXECUTE FUNCTION private.refuse_erased();

CREATE TRIGGER tell_added AFTER INSERT ON public.comments REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_comments();

CREATE TRIGGER tell_changed AFTER UPDATE ON public.comments REFERENCING OLD TABLE AS old_rows NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_comments();

CREATE TRIGGER tell_removed AFTER DELETE ON public.comments REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_comments();

CREATE TRIGGER take_slug BEFORE INSERT OR UPDATE OF slug ON public.organizations FOR EACH ROW EXECUTE FUNCTION private.take_slug();

CREATE TRIGGER tell_added AFTER INSERT ON public.submissions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_submissions();

CREATE TRIGGER tell_changed AFTER UPDATE ON public.submissions REFERENCING OLD TABLE AS old_rows NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_submissions();

CREATE TRIGGER tell_removed AFTER DELETE ON public.submissions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_submissions();

CREATE TRIGGER refuse_erased BEFORE INSERT ON public.survey_responses FOR EACH ROW WHEN (new.is_only) EXECUTE FUNCTION private.refuse_erased();

CREATE TRIGGER refuse_erased BEFORE INSERT ON public.votes FOR EACH ROW EXECUTE FUNCTION private.refuse_erased();

CREATE POLICY "authors and admins delete" ON "public"."comments" FOR DELETE TO "authenticated" USING (((((author_id = ( SELECT auth.uid() AS uid)) AND ((NOT is_official) OR (organization_id = ANY (( SELECT private.team_organization_ids() AS team_organization_ids)::uuid[])))) OR (organization_id = ANY (( SELECT private.admin_organization_ids(''::text) AS admin_organization_ids)::uuid[]))) AND private.lock_thread(id)));

CREATE POLICY "authors edit" ON "public"."comments" FOR UPDATE TO "authenticated" USING (((author_id = ( SELECT auth.uid() AS uid)) AND ((NOT is_official) OR (organization_id = ANY (( SELECT private.team_organization_ids() AS team_organization_ids)::uuid[]))) AND private.lock_thread(id))) WITH CHECK ((author_id = ( SELECT auth.uid() AS uid)));

COMMENT ON FUNCTION "private"."address_hash"(text) IS 'Keyed hash of an e-mail address. The key is in Vault (feedback_address_key), or in private.address_key.';

COMMENT ON FUNCTION "private"."admin_cancel_import"(uuid) IS 'Cancels an import of the current organization, after the chunk being written; written rows stay.';

COMMENT ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) IS 'Changes a member''s role. Admins may change admins and members, owners everyone, keys nobody. revoke: with the role member, private.end_made_by.';

COMMENT ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) IS 'Approves, rejects, marks as spam or makes pending again (reopen) a submission or comment; repeating it is not an error. trust_author grants trust; spam revokes it; reopening spam deletes the decision. text_of: the updated_at of the text to approve. Raises TEXT_CHANGED if there is a newer one, or without text_of if the author changed the text since the submission.';

COMMENT ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) IS 'private.admin_moderate for many submissions and comments, each on its own, with a result for each.';

COMMENT ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) IS 'Removes a member: members may remove themselves, admins anyone but owners, owners anyone, keys with members:write plain members. revoke: private.end_made_by. Returns what was revoked and what works on.';

COMMENT ON FUNCTION "private"."admin_run_import"(uuid, jsonb, jsonb, bigint, integer, jsonb, integer) IS 'Writes a chunk of an import of the current organization, or a part of it (is_written: false), and records its progress; raises CONFLICT if another process wrote it.';

COMMENT ON FUNCTION "private"."broadcast"(text, jsonb) IS 'Broadcasts changes [{old_topic, topic, key, record, submission, home}] in the payload format of realtime.broadcast_changes. A row that moves to another topic is a DELETE there and an INSERT here.';

COMMENT ON FUNCTION "private"."caller_id"() IS 'Profile id of the caller: the signed-in user, or the profile of the key; null for an anonymous request, and for the token of an erased account.';

COMMENT ON FUNCTION "private"."claim_deliveries"(integer) IS 'Claims due deliveries for 30 seconds, including expired claims: at most 32 in flight for a healthy endpoint and one for others, and for an organization as many as are left for others. Concurrent dispatchers never claim the same delivery.';

COMMENT ON FUNCTION "private"."claim_import"(uuid, text, boolean) IS 'Releases the previous import, or fails it with a problem. If takes is true, claims a pending import, of organizations in turn, for ten seconds or until its next chunk, and returns the credential of its sender.';

COMMENT ON FUNCTION "private"."claim_stream"(uuid) IS 'Locks a stream of the calling agent and returns its state: finished, running in another transaction, or pending and then locked by this one. Returns null if there is none, and for a result if the agent''s policies changed since the call was opened.';

COMMENT ON FUNCTION "private"."decide_alone"(uuid) IS 'A hidden reply gets its own decision: replies below it depend on it, no longer on its ancestor.';

COMMENT ON FUNCTION "private"."end_made_by"(uuid, uuid) IS 'Ends what private.made_by lists, and returns it: keys are revoked, signing secrets deleted, webhooks disabled, agents retired. For a signed-in Admin.';

COMMENT ON FUNCTION "private"."erase_me"() IS 'Erases the caller: in the named organization only, or in all by deleting the account with name, address, memberships, follows and notifications. Content and votes stay without a person, but not the votes and single responses of an identified person. Raises CONFLICT for the last owner of an organization, and while a change of address can be undone.';

COMMENT ON FUNCTION "private"."events_after"(xid8, bigint, uuid[], integer) IS 'Events of the given organizations after a cursor in commit order, and the current outbox position; for policies with survey, and category at the time of the event and now.';

COMMENT ON FUNCTION "private"."fan_out_events"(integer) IS 'Creates deliveries for the next outbox events, in order and exactly once, for endpoints in the backlog a few at a time. events: max_rows if there are more. held_back: more events wait for an open transaction.';

COMMENT ON FUNCTION "private"."is_full"(uuid) IS 'Whether more than 1,000 deliveries of the endpoint are due: it gets further ones when these were sent.';

COMMENT ON FUNCTION "private"."is_person_of_organization"(uuid, uuid) IS 'Whether a profile is a person of the organization: an e-mail or imported author, or a user who takes part there (private.personal_columns). Never agents and keys.';

COMMENT ON FUNCTION "private"."is_slug"(text) IS 'Lowercase ASCII letters, digits and single hyphens, at most 64 characters, and no UUID. ASCII only, so that slugs cannot imitate each other.';

COMMENT ON FUNCTION "private"."is_uuid"(text) IS 'Whether a name is an id; a slug never is.';

COMMENT ON FUNCTION "private"."keep_maker_in_team"() IS 'Trigger: what an admin or their key makes while the admin is removed is refused, or ended with the rest.';

COMMENT ON FUNCTION "private"."key_id"() IS 'Id of the calling key; null for other callers.';

COMMENT ON FUNCTION "private"."made_by"(uuid, uuid) IS 'What works on without the person who made it: valid keys, signing secrets, webhooks and agents, as [{type, id, name}]. Empty unless the caller is a signed-in Admin.';

COMMENT ON FUNCTION "private"."organization_named"(text) IS 'Id of an organization by id, or by present or former slug; the organization may be deleted. For definer functions.';

COMMENT ON FUNCTION "private"."person_behind"() IS 'The signed-in caller, or who made the calling key.';

COMMENT ON FUNCTION "private"."personal_columns"() IS 'The columns that name people in rows of an organization. at_erasure: reassign (to a nameless profile), delete (the row), or null (99_erasure.sql does it otherwise). takes_part: whoever is named there is a person of the organization. exported_as: name in an export of personal data, of the columns in exported, newest by the last one.';

COMMENT ON FUNCTION "private"."prepare_submission"() IS 'Trigger: sets organization, author, moderation state and visibility, and starts vote_count at the author''s vote, which an account that was erased here does not have.';

COMMENT ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) IS 'One round of a dispatcher: records results and claims due deliveries. max_unproven has no effect: release 0.1.0 gives it.';

COMMENT ON FUNCTION "private"."refuse_erased"() IS 'Trigger: an account that was erased in one organization neither votes nor answers there again, since it could do so without end.';

COMMENT ON FUNCTION "private"."retire_agent"(uuid) IS 'Retires an agent and revokes its keys. For definer functions.';

COMMENT ON FUNCTION "private"."review_comment_edit"() IS 'Trigger: charges edits by direct clients. An edit of content that required approval makes it pending again, also where only an ancestor hides it.';

COMMENT ON FUNCTION "private"."run_fanouts"(integer) IS 'Notifies the next recipients, divided among 20 pending fan-outs, of organizations in turn. Idempotent; safe to run concurrently.';

COMMENT ON FUNCTION "private"."run_import"(uuid, jsonb, jsonb) IS 'Writes a chunk: {kind: [record]} with people, categories, tags and, for a zip, the file name; refused holds records that validation rejected, [{line, field, message}]. If the database refuses records or takes more than a second, the next are half as many, down to one, which fails. After a second the rest is left to the next call (is_written: false). A dry run rolls back.';

COMMENT ON FUNCTION "private"."signing_secrets"(text) IS 'For the edge functions: {organization_id, is_public, slug, secrets: [{id, encrypted, last_four}]} of an organization by id or slug, where slug may be a former one; null if there is none.';

COMMENT ON FUNCTION "private"."submission_of"(jsonb) IS 'The submission that an event is about; null for others.';

COMMENT ON FUNCTION "private"."take_slug"() IS 'Trigger: a slug belongs to its first organization forever.';

COMMENT ON FUNCTION "private"."topics_of"(public.submissions) IS 'Topics of a submission: its board''s and its own.';

COMMENT ON FUNCTION "private"."trim_logs"() IS 'Runs every hour, as pg_cron: deletes what pg_cron logged of our jobs, and the log of the auth service, which has addresses, older than private.retention(cron_log) and private.retention(auth_log).';

COMMENT ON FUNCTION "private"."unless_erased"(uuid) IS 'The profile of a user, or of an identified person; null if it was erased.';

COMMENT ON FUNCTION "private"."was_erased"(uuid, uuid) IS 'Whether the account was erased in this organization, where it no longer takes part in what counts once.';

COMMENT ON FUNCTION "public"."create_comment"(uuid, text, uuid) IS 'Comments on a submission, or replies to its comment parent_id, as the signed-in user; returns the comment''s id.';

COMMENT ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) IS 'Creates an idea or a problem as the signed-in user, who votes for it and follows it; returns its id. organization_id is required if there is more than one organization.';

COMMENT ON TABLE "private"."address_key" IS 'The key of private.address_hash if there is no Vault (90_upkeep.sql creates it); no API role can read it.';

COMMENT ON TABLE "private"."imports" IS 'Imports and their progress. processed = created + skipped + failed; problem: the reason of a failure. A job has a query: its file is stored first and then written in steps with the credential that sent it. position: start of the next rows in the file; chunks_done: number of written chunks of these rows; records_done: of the next chunk; records_at_once: how many of a chunk are tried together; claimed_until: lease of the schedule, or the end of the last one.';

COMMENT ON TABLE "private"."organization_slugs" IS 'Every slug that an organization has or had: links with a former one lead on, and no other organization can take it. Without a foreign key, since slugs of deleted organizations stay taken.';

COMMENT ON TABLE "private"."outbox" IS 'Events in commit order: readers select xid < pg_snapshot_xmin(pg_current_snapshot()) ordered by (xid, id); that pair is the cursor. category_id is that of the submission at the time. Kept for private.retention(events).';

COMMENT ON TABLE "private"."webhook_backlogs" IS 'Endpoints that are behind private.webhook_cursor, and the outbox position up to which their deliveries exist: those of organizations with many deliveries at a time, and those with many due ones.';

COMMENT ON TABLE "private"."webhooks" IS 'Webhook endpoints, at most 100 for an organization. events holds the requested names, including aliases. Secrets are encrypted with AES-256-GCM as <key id>.<base64url>. is_healthy: the last response was a success, so several deliveries may be in flight. enabled_at: earlier events are not sent. created_by: the person, also behind a key, who gave it its URL and secret last.';

COMMENT ON TABLE "public"."submissions" IS 'Feedback: an idea or a problem. Triggers maintain vote_count and comment_count (approved comments). is_public: anyone may see it, because the board is public and the submission is approved. merged_into_id points to the merge target; merged submissions are excluded from lists. is_changed_by_author: somebody who does not moderate has changed the text since it was submitted.';

COMMENT ON VIEW "private"."personal_rows" IS 'Who is named in which organization, by private.personal_columns.';

REVOKE ALL ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."claim_deliveries"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_deliveries"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_deliveries"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."decide_alone"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."decide_alone"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."decide_alone"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_made_by"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."end_made_by"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_made_by"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_full"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_full"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_full"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_uuid"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_uuid"(text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."is_uuid"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_uuid"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_uuid"(text) TO "service_role";

REVOKE ALL ON FUNCTION "private"."keep_maker_in_team"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."keep_maker_in_team"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."keep_maker_in_team"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."key_id"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."key_id"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."key_id"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."made_by"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."made_by"(uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."made_by"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."made_by"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."organization_named"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."organization_named"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."organization_named"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."person_behind"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."person_behind"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."person_behind"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."personal_columns"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."personal_columns"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."personal_columns"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) TO "feedback_webhooks";

REVOKE ALL ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_erased"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."refuse_erased"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_erased"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."retire_agent"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."retire_agent"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."retire_agent"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."submission_of"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."submission_of"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."submission_of"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_slug"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_slug"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_slug"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."topics_of"(public.submissions) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."topics_of"(public.submissions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."topics_of"(public.submissions) TO "postgres";

REVOKE ALL ON FUNCTION "private"."trim_logs"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."trim_logs"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."trim_logs"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."unless_erased"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."unless_erased"(uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."unless_erased"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unless_erased"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."unless_erased"(uuid) TO "service_role";

REVOKE ALL ON FUNCTION "private"."was_erased"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."was_erased"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."was_erased"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "public"."create_comment"(uuid, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "public"."create_comment"(uuid, text, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."create_comment"(uuid, text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."create_comment"(uuid, text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) TO "postgres";

REVOKE ALL ("is_changed_by_author") ON TABLE "public"."submissions" FROM "anon";

GRANT SELECT ("is_changed_by_author") ON TABLE "public"."submissions" TO "anon";

REVOKE ALL ("is_changed_by_author") ON TABLE "public"."submissions" FROM "authenticated";

GRANT SELECT ("is_changed_by_author") ON TABLE "public"."submissions" TO "authenticated";

REVOKE ALL ("is_changed_by_author") ON TABLE "public"."submissions" FROM "service_key";

GRANT SELECT ("is_changed_by_author") ON TABLE "public"."submissions" TO "service_key";

REVOKE ALL ("id") ON TABLE "public"."surveys" FROM "authenticated";

GRANT SELECT ("id") ON TABLE "public"."surveys" TO "authenticated";

REVOKE ALL ("id") ON TABLE "public"."surveys" FROM "service_key";

GRANT SELECT ("id") ON TABLE "public"."surveys" TO "service_key";

do $$
begin
  if to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null then
    perform vault.create_secret(current_setting('feedback.address_key'), 'feedback_address_key');
  else
    insert into private.address_key (key) values (decode(current_setting('feedback.address_key'), 'hex'));
  end if;
  if exists (select from pg_extension where extname = 'pg_cron') then
    perform cron.schedule('feedback-cron-log', '17 * * * *', 'select private.trim_logs()');
  end if;
end
$$;
-- Temporary objects can stand in the place of others. Nothing needs them but the owner.
do $$
begin
  if (select pg_has_role(d.datdba, 'usage') from pg_database d where d.datname = current_database()) then
    execute format('revoke temporary on database %I from public', current_database());
  else
    raise warning 'Let the owner of the database revoke temporary on it from public.';
  end if;
end
$$;

-- A slug of UUID form would be taken for an id.
update public.organizations set slug = 'o-' || slug where private.is_uuid(slug);
update public.categories set slug = 'c-' || slug where private.is_uuid(slug);
update public.tags set slug = 't-' || slug where private.is_uuid(slug);
insert into private.organization_slugs (slug, organization_id)
  select slug, id from public.organizations on conflict do nothing;
update private.webhooks w set created_by = p.id
  from private.audit_log a join public.profiles p on p.kind in ('user', 'anonymous') and p.id = coalesce(
    (select k.created_by from private.api_keys k where k.profile_id = a.actor_id order by k.created_at desc limit 1),
    a.actor_id)
  where a.organization_id = w.organization_id and a.target_id = w.id and a.action = 'webhook.create';
update private.webhooks set enabled_at = created_at;
