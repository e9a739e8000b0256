-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

DROP VIEW "public"."survey_results";

-- The key of the erasure hashes becomes the key of the hashes of addresses that get no mail.
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

REVOKE ALL ON FUNCTION "private"."admin_list_deliveries"(uuid, uuid, integer, integer) FROM "service_key";

REVOKE ALL ON FUNCTION "private"."admin_redeliver"(uuid, uuid, uuid) FROM "service_key";

REVOKE ALL ON FUNCTION "private"."admin_show_delivery"(uuid, uuid, uuid) FROM "service_key";

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

DROP FUNCTION "private"."accept_invite"(bytea);

DROP FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer);

DROP FUNCTION "private"."admin_change_role"(uuid, uuid, text);

DROP FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean);

DROP FUNCTION "private"."admin_remove_member"(uuid, uuid);

DROP FUNCTION "private"."agent_self"();

DROP FUNCTION "private"."agent_shape"(private.agents);

DROP FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text);

DROP FUNCTION "private"."claim_deliveries"(integer, integer);

DROP FUNCTION "private"."count_discrepancies"();

DROP FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]);

DROP FUNCTION "private"."create_organization"(text, text, text, text);

DROP FUNCTION "private"."find_submissions"(uuid, text, text, integer);

DROP FUNCTION "private"."highlight"(text, text, tsquery, boolean);

DROP FUNCTION "private"."import_shape"(private.imports);

DROP FUNCTION "private"."invite_shape"(private.invites);

DROP FUNCTION "private"."inviter_is_authorized"(private.invites);

DROP FUNCTION "private"."is_direct"();

DROP FUNCTION "private"."mark_dry_run_ids"(private.imports, jsonb);

DROP FUNCTION "private"."member_shape"(public.memberships, boolean);

DROP FUNCTION "private"."my_profile"();

DROP FUNCTION "private"."open_stream"(uuid, text, jsonb, boolean, text);

DROP FUNCTION "private"."read_subscription"(uuid);

DROP FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer);

DROP FUNCTION "private"."record_survey_start"(uuid);

DROP FUNCTION "private"."resolve_caller"(uuid, bytea);

DROP FUNCTION "private"."search_query"(text);

DROP FUNCTION "private"."stream_events"(uuid);

DROP FUNCTION "private"."submissions_with_text"(uuid[], text);

DROP FUNCTION "private"."survey_figures"(uuid[]);

DROP FUNCTION "private"."survey_sentiment"(uuid);

DROP FUNCTION "public"."create_comment"(uuid, text, uuid, uuid);

DROP FUNCTION "public"."create_submission"(text, text, text, uuid, uuid, uuid);

do $$
begin
  if not exists (select from pg_roles where rolname = 'feedback_mail') then
    create role feedback_mail login noinherit;
  end if;
end
$$;

ALTER ROLE "feedback_mail" SET "TimeZone" TO 'UTC';

ALTER ROLE "feedback_mail" SET "enable_bitmapscan" TO 'off';

ALTER ROLE "feedback_mail" SET "enable_hashjoin" TO 'off';

ALTER ROLE "feedback_mail" SET "enable_mergejoin" TO 'off';

ALTER ROLE "feedback_mail" SET "enable_seqscan" TO 'off';

ALTER ROLE "feedback_mail" SET "idle_in_transaction_session_timeout" TO '15s';

ALTER ROLE "feedback_mail" SET "lock_timeout" TO '2s';

ALTER ROLE "feedback_mail" SET "plan_cache_mode" TO 'force_generic_plan';

ALTER ROLE "feedback_mail" SET "statement_timeout" TO '15s';

CREATE TABLE "private"."account_undos" ("link_hash" bytea NOT NULL, "user_id" uuid NOT NULL, "email" text NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "undone_at" timestamp with time zone, CONSTRAINT "account_undos_pkey" PRIMARY KEY (link_hash));

ALTER TABLE "private"."account_undos" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."account_undos" OWNER TO "postgres";

CREATE TABLE "private"."address_key" ("key" bytea NOT NULL, "is_only" boolean NOT NULL DEFAULT true, CONSTRAINT "address_key_pkey" PRIMARY KEY (is_only), CONSTRAINT "there_is_one_key" CHECK (is_only));

ALTER TABLE "private"."address_key" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."address_key" OWNER TO "postgres";

CREATE TABLE "private"."identified_people" ("organization_id" uuid NOT NULL, "subject" text NOT NULL, "profile_id" uuid NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "last_identified_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "identified_people_pkey" PRIMARY KEY (organization_id, subject), CONSTRAINT "one_subject_a_profile" UNIQUE (profile_id), CONSTRAINT "subject_has_1_to_255_characters" CHECK (((char_length(subject) >= 1) AND (char_length(subject) <= 255))));

ALTER TABLE "private"."identified_people" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."identified_people" OWNER TO "postgres";

CREATE TABLE "private"."identify_secrets" ("id" uuid NOT NULL, "organization_id" uuid NOT NULL, "encrypted_secret" text NOT NULL, "last_four" text NOT NULL, "last_used_at" timestamp with time zone, "created_by" uuid, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "identify_secrets_pkey" PRIMARY KEY (id), CONSTRAINT "secrets_are_encrypted" CHECK ((encrypted_secret ~ '^[\w-]+\.[A-Za-z0-9_-]+$'::text)));

ALTER TABLE "private"."identify_secrets" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."identify_secrets" OWNER TO "postgres";

CREATE TABLE "private"."identify_sessions" ("digest" bytea NOT NULL, "organization_id" uuid NOT NULL, "profile_id" uuid NOT NULL, "secret_id" uuid NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "expires_at" timestamp with time zone NOT NULL, CONSTRAINT "digest_is_sha256" CHECK ((octet_length(digest) = 32)), CONSTRAINT "identify_sessions_pkey" PRIMARY KEY (digest));

ALTER TABLE "private"."identify_sessions" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."identify_sessions" OWNER TO "postgres";

CREATE TABLE "private"."identify_tokens" ("organization_id" uuid NOT NULL, "digest" bytea NOT NULL, "expires_at" timestamp with time zone NOT NULL, CONSTRAINT "identify_tokens_pkey" PRIMARY KEY (organization_id, digest));

ALTER TABLE "private"."identify_tokens" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."identify_tokens" OWNER TO "postgres";

CREATE TABLE "private"."mail_budgets" ("organization_id" uuid NOT NULL, "day" date NOT NULL, "used" integer NOT NULL, CONSTRAINT "mail_budgets_pkey" PRIMARY KEY (organization_id));

ALTER TABLE "private"."mail_budgets" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mail_budgets" OWNER TO "postgres";

CREATE TABLE "private"."mail_choices" ("organization_id" uuid NOT NULL, "profile_id" uuid NOT NULL, "kind" text NOT NULL, "choice" text NOT NULL, CONSTRAINT "mail_choices_pkey" PRIMARY KEY (organization_id, profile_id, kind));

ALTER TABLE "private"."mail_choices" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mail_choices" OWNER TO "postgres";

CREATE TABLE "private"."mail_items" ("profile_id" uuid NOT NULL, "event_id" uuid NOT NULL, "organization_id" uuid NOT NULL, "is_of_team" boolean NOT NULL, "due_at" timestamp with time zone NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "mail_items_pkey" PRIMARY KEY (profile_id, event_id));

ALTER TABLE "private"."mail_items" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mail_items" OWNER TO "postgres";

CREATE TABLE "private"."mail_mutes" ("organization_id" uuid NOT NULL, "submission_id" uuid NOT NULL, "profile_id" uuid NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "mail_mutes_pkey" PRIMARY KEY (organization_id, submission_id, profile_id));

ALTER TABLE "private"."mail_mutes" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mail_mutes" OWNER TO "postgres";

CREATE TABLE "private"."mail_suppressions" ("organization_id" uuid NOT NULL, "address_hash" text NOT NULL, "reason" text NOT NULL, "profile_id" uuid, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "mail_suppressions_pkey" PRIMARY KEY (organization_id, address_hash), CONSTRAINT "reason_is_known" CHECK ((reason = ANY (ARRAY['refused'::text, 'bounced'::text, 'complained'::text]))));

ALTER TABLE "private"."mail_suppressions" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mail_suppressions" OWNER TO "postgres";

CREATE TABLE "private"."mails" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "organization_id" uuid NOT NULL, "profile_id" uuid, "invite_id" uuid, "kind" text NOT NULL, "event_ids" uuid[] NOT NULL, "is_confirmed" boolean NOT NULL DEFAULT false, "status" text NOT NULL DEFAULT 'pending'::text, "attempt_count" integer NOT NULL DEFAULT 0, "counted_from" integer NOT NULL DEFAULT 0, "next_attempt_at" timestamp with time zone NOT NULL DEFAULT now(), "claimed_at" timestamp with time zone, "last_error" text, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "finished_at" timestamp with time zone, CONSTRAINT "all_but_invites_are_to_a_profile" CHECK (((kind = 'invite'::text) = (profile_id IS NULL))), CONSTRAINT "error_is_short" CHECK ((char_length(last_error) <= 500)), CONSTRAINT "finished_ones_say_when" CHECK (((status = ANY (ARRAY['sent'::text, 'failed'::text, 'dropped'::text])) = (finished_at IS NOT NULL))), CONSTRAINT "mails_pkey" PRIMARY KEY (id), CONSTRAINT "only_invites_have_an_invite" CHECK (((kind = 'invite'::text) OR (invite_id IS NULL))), CONSTRAINT "sending_ones_are_claimed" CHECK (((status = 'sending'::text) = (claimed_at IS NOT NULL))), CONSTRAINT "status_is_known" CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'dropped'::text]))));

ALTER TABLE "private"."mails" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."mails" SET (autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_scale_factor=0.02, fillfactor=70);

ALTER TABLE "private"."mails" OWNER TO "postgres";

CREATE TABLE "private"."organization_slugs" ("slug" text NOT NULL, "organization_id" uuid NOT NULL, CONSTRAINT "organization_slugs_pkey" PRIMARY KEY (slug));

ALTER TABLE "private"."organization_slugs" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."organization_slugs" OWNER TO "postgres";

CREATE TABLE "private"."removed_logos" ("path" text NOT NULL, "due_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "removed_logos_pkey" PRIMARY KEY (path));

ALTER TABLE "private"."removed_logos" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."removed_logos" OWNER TO "postgres";

CREATE TABLE "private"."search_frequencies" ("organization_id" uuid NOT NULL, "lexeme" text NOT NULL, "share" real NOT NULL, CONSTRAINT "search_frequencies_pkey" PRIMARY KEY (organization_id, lexeme));

ALTER TABLE "private"."search_frequencies" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."search_frequencies" OWNER TO "postgres";

CREATE TABLE "private"."search_statistics" ("organization_id" uuid NOT NULL, "size" bigint NOT NULL, "tiers" bigint[] NOT NULL, "refreshed_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "search_statistics_pkey" PRIMARY KEY (organization_id));

ALTER TABLE "private"."search_statistics" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."search_statistics" OWNER TO "postgres";

CREATE TABLE "private"."search_words" ("organization_id" uuid NOT NULL, "word" text NOT NULL);

ALTER TABLE "private"."search_words" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."search_words" OWNER TO "postgres";

CREATE TABLE "private"."setup" ("is_over" boolean NOT NULL DEFAULT true, "over_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "setup_pkey" PRIMARY KEY (is_over), CONSTRAINT "there_is_one_row" CHECK (is_over));

ALTER TABLE "private"."setup" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."setup" OWNER TO "postgres";

CREATE TABLE "private"."stopped_account_mail" ("address_hash" text NOT NULL, "stopped_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "stopped_account_mail_pkey" PRIMARY KEY (address_hash));

ALTER TABLE "private"."stopped_account_mail" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."stopped_account_mail" OWNER TO "postgres";

CREATE TABLE "private"."submission_subtotals" ("organization_id" uuid NOT NULL, "author_id" uuid, "tag_id" uuid, "is_public" boolean NOT NULL, "status" text NOT NULL, "type" text NOT NULL, "category_id" uuid, "total" bigint NOT NULL, "is_sum" boolean NOT NULL DEFAULT false, CONSTRAINT "counts_an_author_or_a_tag" CHECK ((num_nonnulls(author_id, tag_id) = 1)));

ALTER TABLE "private"."submission_subtotals" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."submission_subtotals" OWNER TO "postgres";

CREATE TABLE "private"."survey_requests" ("survey_id" uuid NOT NULL, "profile_id" uuid NOT NULL, "organization_id" uuid NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), "reminded_at" timestamp with time zone, CONSTRAINT "survey_requests_pkey" PRIMARY KEY (survey_id, profile_id));

ALTER TABLE "private"."survey_requests" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."survey_requests" OWNER TO "postgres";

CREATE TABLE "private"."unconfirmed_requests" ("user_id" uuid NOT NULL, "requests" integer NOT NULL DEFAULT 1, CONSTRAINT "unconfirmed_requests_pkey" PRIMARY KEY (user_id));

ALTER TABLE "private"."unconfirmed_requests" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."unconfirmed_requests" OWNER TO "postgres";

CREATE TABLE "private"."webhook_backlogs" ("organization_id" uuid NOT NULL, "webhook_id" uuid NOT NULL, "xid" xid8 NOT NULL, "id" bigint NOT NULL, CONSTRAINT "webhook_backlogs_pkey" PRIMARY KEY (organization_id, webhook_id));

ALTER TABLE "private"."webhook_backlogs" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."webhook_backlogs" OWNER TO "postgres";

CREATE TABLE "private"."unfollows" ("organization_id" uuid NOT NULL, "submission_id" uuid NOT NULL, "user_id" uuid NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT now(), CONSTRAINT "unfollows_pkey" PRIMARY KEY (submission_id, user_id));

ALTER TABLE "private"."unfollows" ENABLE ROW LEVEL SECURITY;

ALTER TABLE "private"."unfollows" OWNER TO "postgres";

CREATE TYPE "private"."parsed_search" AS ("title_phrase" tsquery, "title_whole" tsquery, "title_ending" tsquery, "title_any" tsquery, "title_some" tsquery, "text_ending" tsquery, "text_any" tsquery, "title_share" real, "text_share" real, "words" text[], "word_queries" tsquery[], "word_title_queries" tsquery[], "word_shares" real[], "marks" text);

ALTER TYPE "private"."parsed_search" OWNER TO "postgres";

CREATE TYPE "private"."search_hit" AS ("submission_id" uuid, "class" integer, "votes" integer, "relevance" real);

ALTER TYPE "private"."search_hit" OWNER TO "postgres";

CREATE TYPE "private"."search_scope" AS ("organization_id" uuid, "status" text, "type" text, "category_id" uuid, "tag_id" uuid, "author_id" uuid, "caller_id" uuid, "team_ids" uuid[], "agent_category_ids" uuid[], "board" private.search_statistics);

ALTER TYPE "private"."search_scope" OWNER TO "postgres";

CREATE TYPE "private"."tag_change" AS ("submission_id" uuid, "tag_id" uuid, "change" integer);

ALTER TYPE "private"."tag_change" OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.accept_invite(digest bytea, invite_id uuid DEFAULT NULL::uuid)
 RETURNS TABLE(joined boolean, data json)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare invite private.invites; member public.memberships; own_id uuid := private.caller_id(); was_new boolean
  := false;
begin
  invite_id := coalesce(invite_id,
    (select i.id from private.invites i where i.digest = accept_invite.digest));
  perform private.lock_team((select i.organization_id from private.invites i
    where i.id = accept_invite.invite_id));
  select * into invite from private.invites i where i.id = accept_invite.invite_id;
  if invite.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such invite.', 'token');
  end if;
  if not private.has_address(own_id, invite.email) then
    perform private.raise_error('FORBIDDEN',
      'This invite is for another email address. Sign in with that address.');
  end if;
  select * into member from public.memberships m where m.organization_id = invite.organization_id
    and m.user_id = own_id;
  if invite.accepted_at is not null and member.user_id is null or invite.accepted_by <> own_id then
    perform private.raise_error('GONE', 'This invite was already used. Ask for another one.', 'token');
  elsif invite.accepted_at is null then
    if private.invite_status(invite) <> 'open' then
      perform private.raise_error('GONE', 'This invite is no longer valid. Ask for another one.', 'token');
    end if;
    if member.user_id is null then
      was_new := true;
      insert into public.memberships (organization_id, user_id, role)
        values (invite.organization_id, own_id, invite.role) returning * into member;
      perform private.emit_event(invite.organization_id, 'member.joined', own_id,
        (select jsonb_build_object(
          'member', jsonb_build_object(
            'user_id', p.id,
            'name', coalesce(p.name, 'Anonymous'),
            'role', member.role,
            'joined_at', member.created_at)) from public.profiles p where p.id = own_id));
    end if;
    update private.invites i set accepted_at = now(), accepted_by = own_id where i.id = invite.id;
    perform private.audit('invite.accept', 'invite', invite.id,
      jsonb_build_object('role', member.role, 'user_id', own_id), invite.organization_id);
  end if;
  return query select was_new, json_build_object(
    'organization', (select json_build_object('id', o.id, 'slug', o.slug, 'name', o.name)
      from public.organizations o where o.id = invite.organization_id),
    'role', member.role,
    'joined_at', member.created_at);
end
$function$;

ALTER FUNCTION "private"."accept_invite"(bytea, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.account_of_link(token_hash text)
 RETURNS TABLE(name text, email text, kind text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query select p.name, case when l.is_change then u.email_change else u.email end::text,
    case when l.is_change then 'change' when u.email_confirmed_at is null then 'unconfirmed'
      else 'confirmed' end
  from private.user_of_link(token_hash) l join auth.users u on u.id = l.id
  left join public.profiles p on p.auth_user_id = u.id;
end
$function$;

ALTER FUNCTION "private"."account_of_link"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.active_keys(key_ids uuid[])
 RETURNS TABLE(key_id uuid, version timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: keys are not granted
begin
  return query select k.id, a.updated_at from private.api_keys k join private.agents a on a.id = k.profile_id
  where k.id = any (key_ids) and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    and a.retired_at is null;
end
$function$;

CREATE OR REPLACE FUNCTION private.activity_by_interval(organization_id uuid, first_day date, last_day date, step text)
 RETURNS TABLE(start date, submissions bigint, votes bigint, comments bigint, people bigint, new_people bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare own_id uuid := activity_by_interval.organization_id;
begin
  return query
    with days as (
      select d.day, d.previous_day, d.people, d.submissions, d.votes, d.comments
      from private.day_activity d where d.organization_id = own_id and d.day between first_day and last_day
      union all
      select c.day, c.previous_day, c.sign, c.sign * c.submissions, c.sign * c.votes, c.sign * c.comments
      from private.person_day_changes(array(select a from private.person_activity a
        where a.organization_id = own_id)) c where c.day between first_day and last_day
    ), starts as (
      select d.*, greatest(date_trunc(step, d.day::timestamp)::date, first_day) as start from days d
    )
    select s.start, sum(s.submissions), sum(s.votes), sum(s.comments),
      coalesce(sum(s.people) filter (where s.previous_day < s.start), 0),
        coalesce(sum(s.people) filter (where s.previous_day < first_day), 0)
    from starts s group by 1;
end
$function$;

CREATE OR REPLACE FUNCTION private.activity_zone(organization_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce((select z.time_zone from private.activity_zones z
    where z.organization_id = activity_zone.organization_id),
    (select o.time_zone from public.organizations o where o.id = activity_zone.organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.address_can_be_restored(account_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.account_undos o join auth.users u on u.id = o.user_id
    where o.user_id = account_id and o.email <> u.email and o.undone_at is null
      and o.created_at > now() - private.retention('account_undos'));
end
$function$;

ALTER FUNCTION "private"."address_can_be_restored"(uuid) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.address_of(mail private.mails)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return case mail.kind when 'invite' then (select i.email from private.invites i where i.id = mail.invite_id)
    else private.mail_address(mail.profile_id) end;
end
$function$;

ALTER FUNCTION "private"."address_of"(private.mails) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_add_import_file_part(import_id uuid, n integer, bytes bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare import private.imports := private.lock_import(import_id);
begin
  if import.state <> 'receiving'
    then perform private.raise_error('CONFLICT', 'This import has ended. Start another one.'); end if;
  insert into private.import_file_parts (organization_id, import_id, n, bytes)
    values (import.organization_id, import.id, n, bytes);
  update private.imports i set bytes = i.bytes + octet_length(admin_add_import_file_part.bytes),
    updated_at = clock_timestamp()
  where i.id = import.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_agent_audit(agent_id uuid, before bigint, tool text, outcome text, max_rows integer)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(json_build_object(
    'id', t.id,
    'key_id', t.key_id,
    'request_id', t.request_id,
    'tool', t.tool,
    'scope', t.scope,
    'outcome', t.outcome,
    'duration_ms', round(t.duration_ms::numeric, 1),
    'argument_names', t.argument_names,
    'address', t.address,
    'created_at', t.created_at) order by t.id desc)
    from (select * from private.agent_audit t
      where t.agent_id = agent.id and t.organization_id = agent.organization_id
        and (before is null or t.id < before)
        and (admin_agent_audit.tool is null or t.tool = admin_agent_audit.tool)
        and (admin_agent_audit.outcome is null or t.outcome = admin_agent_audit.outcome)
      order by t.id desc limit max_rows) t), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_agent_policies(agent_id uuid, policies jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  if policies is not null then
    update private.agents a set
      read_only = (policies ->> 'read_only')::boolean,
      confirm_destructive = (policies ->> 'confirm_destructive')::boolean,
      calls_a_day = (policies ->> 'calls_a_day')::integer,
      tools = private.text_array(policies -> 'tools'),
      category_ids = private.text_array(policies -> 'category_ids')::uuid[],
      survey_ids = private.text_array(policies -> 'survey_ids')::uuid[]
    where a.id = agent.id returning a.* into agent;
    if exists (select from unnest(agent.category_ids) as wanted
      where not exists (select from public.categories c
        where c.id = wanted and c.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR',
        'contains an id that is not a category of this organization',
        'category_ids');
    end if;
    if exists (select from unnest(agent.survey_ids) as wanted
      where not exists (select from public.surveys s
        where s.id = wanted and s.organization_id = agent.organization_id)) then
      perform private.raise_error('VALIDATION_ERROR',
        'contains an id that is not a survey of this organization',
        'survey_ids');
    end if;
    perform private.audit('agent.set_policies', 'agent', agent.id, policies);
  end if;
  return json_build_object(
    'read_only', agent.read_only,
    'confirm_destructive', agent.confirm_destructive,
    'tools', agent.tools,
    'category_ids', agent.category_ids,
    'survey_ids', agent.survey_ids,
    'calls_a_day', agent.calls_a_day);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_analytics(from_day text, to_day text, step text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET jit TO 'off'
 SET work_mem TO '32MB'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  own_id uuid := private.current_organization_id();
  zone text := private.activity_zone(own_id);
  last_day date := coalesce(private.local_date(to_day, zone), (now() at time zone zone)::date);
  first_day date := coalesce(private.local_date(from_day, zone), last_day - 29);
  starts timestamptz := private.day_start(first_day, zone);
  ends timestamptz := private.day_start(last_day + 1, zone);
  answer json;
begin
  perform private.require_admin(own_id, 'analytics:read');
  if first_day > last_day then
    perform private.raise_error('VALIDATION_ERROR', 'must not be after the end', 'from');
  elsif first_day < '2000-01-01' or last_day >= '2100-01-01' then
    perform private.raise_error('VALIDATION_ERROR', 'must be between the years 2000 and 2099', case
      when first_day < '2000-01-01' then 'from' else 'to' end);
  elsif (last_day - first_day) / (case step when 'day' then 1 when 'week' then 7 else 28 end) >= 400 then
    perform private.raise_error('VALIDATION_ERROR',
      'must be at most 400 intervals before the end; choose a longer interval or a shorter period', 'from');
  end if;
  with done as materialized (
    select * from private.activity_by_interval(own_id, first_day, last_day, step)
  ), spans as (
    -- The first and the last interval may be partial.
    select t::date as first_of, d.*
      from generate_series(date_trunc(step, first_day::timestamp), last_day::timestamp,
      ('1 ' || step)::interval) t
      left join done d on d.start = greatest(t::date, first_day)
  ), made as materialized (
    select * from private.submission_kinds(own_id, first_day, last_day)
  )
  select json_build_object(
    'from', first_day,
    'to', last_day,
    'interval', step,
    'time_zone', zone,
    'totals', (select json_build_object(
      'submissions', coalesce(sum(d.submissions), 0),
      'votes', coalesce(sum(d.votes), 0),
      'comments', coalesce(sum(d.comments), 0),
      'active_people', coalesce(sum(d.new_people), 0)) from done d),
    'series', (select json_agg(json_build_object(
      'start', s.first_of,
      'submissions', coalesce(s.submissions, 0),
      'votes', coalesce(s.votes, 0),
      'comments', coalesce(s.comments, 0),
      'active_people', coalesce(s.people, 0)) order by s.first_of)
        from spans s),
    'by_status', (select coalesce(json_agg(json_build_object('status', m.status, 'submissions', m.total)
      order by m.total desc, m.status), '[]')
      from (select m.status, sum(m.total) as total from made m group by 1) m),
    'by_category', (select coalesce(json_agg(json_build_object(
      'category_id', m.category_id,
      'name', m.name,
      'slug', m.slug,
      'submissions', m.total)
        order by m.total desc, m.slug nulls last), '[]')
      from (select m.category_id, c.name, c.slug, sum(m.total) as total from made m
        left join public.categories c on c.id = m.category_id
        group by 1, 2, 3) m),
    'by_source', (select coalesce(json_agg(json_build_object('source', m.source, 'submissions', m.total)
      order by m.total desc, m.source nulls last), '[]')
      from (select m.source, sum(m.total) as total from made m group by 1
        order by 2 desc, 1 nulls last limit 100) m),
    'top_movers', (select coalesce(json_agg(json_build_object(
      'submission_id', s.id,
      'title', s.title,
      'status', s.status,
      'votes', m.votes,
      'vote_count', s.vote_count) order by m.votes desc, s.vote_count desc, s.id desc),
          '[]')
      from private.top_movers(own_id, starts, ends, (select coalesce(sum(d.votes), 0)::bigint from done d),
        own_id = any (private.team_organization_ids())) m
        join public.submissions s on s.id = m.submission_id),
    'first_official_reply', (select json_build_object(
      'submissions', count(*),
      'median_seconds', round(percentile_cont(0.5) within group (order by r.milliseconds)::numeric / 1000),
      'average_seconds', round(avg(r.milliseconds) / 1000))
      from private.first_replies r
      where r.organization_id = own_id and r.submitted_at >= starts and r.submitted_at < ends))
  into answer;
  return answer;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_apply_import(import_id uuid, changes jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare checked private.imports := private.lock_import(import_id); new_id uuid;
begin
  if not private.is_checked_import(checked)
    or checked.state <> 'completed' and not (changes ->> 'dry_run')::boolean then
    perform private.raise_error('CONFLICT', 'Only a completed dry run can be imported.');
  elsif not exists (select from private.import_file_parts p
      where p.organization_id = checked.organization_id and p.import_id = checked.id) then
    perform private.raise_error('GONE', 'The file is no longer stored. Send it again.');
  end if;
  new_id := private.admin_start_import(checked.query || changes, checked.file_type);
  update private.imports i set bytes = checked.bytes where i.id = new_id;
  update private.import_file_parts p set import_id = new_id
  where p.organization_id = checked.organization_id and p.import_id = checked.id;
  return private.admin_begin_import(new_id);
end
$function$;

ALTER FUNCTION "private"."admin_apply_import"(uuid, jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_audit(target_id uuid, actor_id uuid, before_at timestamp with time zone, before_id uuid, max_rows integer, action text DEFAULT NULL::text, from_day date DEFAULT NULL::date, to_day date DEFAULT NULL::date)
 RETURNS TABLE(more boolean, last text[], data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  own_id uuid := private.current_organization_id();
  time_zone text := (select o.time_zone from public.organizations o where o.id = own_id);
  from_at timestamptz := from_day::timestamp at time zone time_zone;
  to_at timestamptz := (to_day + 1)::timestamp at time zone time_zone;
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can read the audit trail.');
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
        'id', s.id,
        'action', s.action,
        'target_type', s.target_type,
        'target_id', s.target_id,
        'actor', (select json_build_object('id', p.id, 'name', private.actor_name(p))
          from public.profiles p where p.id = s.actor_id),
        'key_id', s.key_id,
        'request_id', s.request_id,
        'details', s.details,
        'at', s.created_at)
        order by s.created_at desc, s.id desc) from shown s), '[]');
end
$function$;

ALTER FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_audit_choices()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
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
      'actors', coalesce((select json_agg(json_build_object(
        'id', p.id,
        'kind', p.kind,
        'name', private.actor_name(p)) order by private.actor_name(p) collate "und-x-icu", p.id)
        from first_actors f join public.profiles p on p.id = f.id), '[]')));
end
$function$;

ALTER FUNCTION "private"."admin_audit_choices"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_begin_import(import_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare import private.imports := private.lock_import(import_id);
begin
  update private.imports i set state = 'running', updated_at = clock_timestamp()
  where i.id = import.id and i.state = 'receiving' returning i.* into import;
  if import.id is null then perform private.raise_error('CONFLICT',
    'This import has ended. Start another one.');
    end if;
  perform private.call_importer();
  return private.import_shape(import);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_bulk(submission_ids uuid[], action text, wanted text[], note text, notify boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.current_organization_id();
  ids uuid[];
  submission_id uuid;
  changed bigint;
  results jsonb := '[]';
  state text; message text; detail text;
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  wanted := array(select distinct lower(w) from unnest(wanted) w);
  if action = 'set_category' then ids := private.ids_of('category', own_id, wanted);
  elsif action in ('add_tags', 'remove_tags') then ids := private.ids_of('tag', own_id, wanted);
  end if;
  -- Take all locks first and in order, to prevent deadlocks.
  perform 1 from public.submissions s where s.organization_id = own_id and s.id = any (submission_ids)
    order by s.id for no key update;
  perform private.lock_counts(own_id);
  for submission_id in select s.id from unnest(submission_ids) with ordinality as s (id, place) group by s.id
    order by min(s.place) loop
    begin
      if not exists (select from public.submissions s
        where s.id = submission_id and s.organization_id = own_id) then
        perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'ids');
      end if;
      changed := private.bulk_item(submission_id, action, wanted, ids, note, notify);
      -- A status change emits its own event.
      if changed > 0 and action <> 'set_status' then
        perform private.audit('submission.' || action, 'submission', submission_id,
          jsonb_strip_nulls(jsonb_build_object(
            'value', case when action <> 'delete' then to_jsonb(wanted) end)), own_id);
      end if;
      results := results || jsonb_build_object('id', submission_id, 'ok', true, 'changed', changed > 0);
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- Only API errors become item results; any other error fails the request.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object(
        'id', submission_id,
        'ok', false,
        'changed', false,
        'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
    end;
  end loop;
  return results;
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
    perform private.raise_error('CONFLICT', 'This import has ended. There is nothing to cancel.');
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
    perform private.raise_error('FORBIDDEN',
      'Only an owner can make someone an owner or change an owner''s role.');
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

CREATE OR REPLACE FUNCTION private.admin_create_agent(name text, tier text, description text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare made uuid := private.create_agent(private.require_key_admin(), name, tier, description,
  private.caller_id());
begin
  perform private.audit('agent.create', 'agent', made, jsonb_build_object('tier', tier));
  return (select private.agent_shape(a) from private.agents a where a.id = made);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_create_agent_key(agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamp with time zone)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id); key_id uuid;
begin
  if agent.retired_at is not null then
    perform private.raise_error('CONFLICT', 'This agent is retired. Create another one.');
  end if;
  key_id := private.create_agent_key(agent.id, name, scopes, digest, prefix, last_four, expires_at,
    private.caller_id());
  perform private.audit('agent_key.create', 'api_key', key_id,
    jsonb_build_object('agent_id', agent.id, 'scopes', scopes));
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_create_api_key(name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamp with time zone)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key_id uuid;
begin
  key_id := private.create_api_key(own_id, name, scopes, digest, prefix, last_four, expires_at,
    private.caller_id());
  perform private.audit('api_key.create', 'api_key', key_id,
    jsonb_build_object('scopes', scopes, 'expires_at', expires_at), own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = key_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_create_identify_secret(secret_id uuid, encrypted_secret text, last_four text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
#variable_conflict use_column
declare own_id uuid := private.require_key_admin(); made private.identify_secrets;
begin
  -- Serializes calls, so that the limit holds.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if (select count(*) from private.identify_secrets s where s.organization_id = own_id) >= 2 then
    perform private.raise_error('CONFLICT',
      'An organization can have at most two signing secrets. Delete one first.');
  end if;
  insert into private.identify_secrets (id, organization_id, encrypted_secret, last_four, created_by)
  values (admin_create_identify_secret.secret_id, own_id, admin_create_identify_secret.encrypted_secret,
    admin_create_identify_secret.last_four, private.caller_id())
  returning * into made;
  perform private.audit('identify_secret.create', 'identify_secret', made.id, '{}', own_id);
  return private.identify_secret_shape(made);
end
$function$;

ALTER FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_create_label(kind text, fields jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb; used bigint; last integer;
begin
  -- Lock the organization, so that concurrent creations with one name get different slugs.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  execute format('select count(*) from public.%I l where l.organization_id = $1', kind) into used
    using own_id;
  if used >= 1000 then
    perform private.raise_error('CONFLICT',
      format('An organization can have at most 1,000 %s. Merge or delete some first.', kind));
  end if;
  fields := jsonb_build_object('slug', private.free_slug(kind, own_id, fields ->> 'name')) ||
    jsonb_strip_nulls(fields);
  last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = own_id);
  execute format('insert into public.%1$I as l
      select (jsonb_populate_record(null::public.%1$I, $1)).* returning to_jsonb(l)', kind)
  into label using jsonb_build_object(
    'id', gen_random_uuid(),
    'color', '#6b7280',
    'translations', '{}'::jsonb,
    'position', last + 1,
    'created_at', now())
    || fields || jsonb_build_object('organization_id', own_id);
  perform private.record_label_change(kind, own_id, 'create', (label ->> 'id')::uuid,
    jsonb_build_object('slug', label -> 'slug'));
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT',
    format('Another %s has this slug. Choose a different one.', private.label_noun(kind)),
    'slug');
end
$function$;

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
    perform private.raise_error('CONFLICT',
      'An organization can have at most 100 webhooks. Delete one first.');
  end if;
  insert into private.webhooks (id, organization_id, url, events, encrypted_secret, created_by)
  values (webhook_id, organization_id, url, events, encrypted_secret, private.person_behind())
  returning * into made;
  perform private.audit_webhook('create', made, jsonb_build_object('events', made.events));
  return private.webhook_shape(made);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_decide_trust(profile_id uuid, trusted boolean)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
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

ALTER FUNCTION "private"."admin_decide_trust"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_delete_identify_secret(secret_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  delete from private.identify_secrets s where s.id = secret_id and s.organization_id = own_id;
  if not found then return false; end if;
  perform private.audit('identify_secret.delete', 'identify_secret', secret_id, '{}', own_id);
  return true;
end
$function$;

ALTER FUNCTION "private"."admin_delete_identify_secret"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_delete_label(kind text, label_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  update private.retired_labels r set into_id = null where r.into_id = admin_delete_label.label_id;
  perform private.retire_label(kind, own_id, label_id, null);
  perform private.record_label_change(kind, own_id, 'delete', label_id,
    jsonb_build_object('slug', label -> 'slug'));
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_delete_webhook(organization_id uuid, webhook_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
declare deleted private.webhooks;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  delete from private.webhooks w where w.organization_id = admin_delete_webhook.organization_id
    and w.id = webhook_id
  returning w.* into deleted;
  if deleted.id is null then return false; end if;
  perform private.audit_webhook('delete', deleted);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_erase_person(profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: writes private tables
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) and not exists (
    select from private.audit_log a where a.organization_id = own_id and a.target_id = profile_id
      and a.action = 'person.erase') then
    return null;
  end if;
  perform private.erase_person(profile_id, own_id);
  perform private.audit('person.erase', 'profile', profile_id, '{}', own_id);
  return json_build_object('id', profile_id, 'erased', true);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_events(types text[], after_xid xid8, after_id bigint, after_at timestamp with time zone, max_rows integer)
 RETURNS TABLE(more boolean, next_xid xid8, next_id bigint, next_at timestamp with time zone, data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.current_organization_id();
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
  refused text;
begin
  if not private.is_key() then perform private.require_admin(own_id, ''); end if;
  refused := (select type from unnest(types) as type where not private.can_read_event(type) limit 1);
  if refused is not null then
    perform private.raise_error('FORBIDDEN', format('This key needs %s to read %s. Use a key that has it.',
      coalesce('the scope ' || nullif(array_to_string(private.feed_scopes(refused), ' or '), ''),
        'another scope'), refused), 'types');
  end if;
  -- Cursors expire an hour before events are deleted, so that no event after a valid cursor is missing.
  if after_at < now() - private.retention('events') + interval '1 hour' then
    perform private.raise_error('GONE', format('Events are kept for %s, and this cursor is older. '
      'Read everything again, then continue without after.', private.retention('events')), 'after');
  end if;
  return query
    -- A page scans a bounded part of the feed, however rare the requested types are.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id and o.xid < settled
        and (o.xid, o.id) > (coalesce(after_xid, '0'), coalesce(after_id, 0))
        -- A first page without events still returns a cursor.
        and (after_xid is not null or o.created_at >= now() - private.retention('events') + interval '1 day')
      order by o.xid, o.id limit 10000
    ), wanted as materialized (
      select l.* from looked_at l
      where case when types is null then private.can_read_event(l.type) else l.type = any (types) end
      order by l.xid, l.id limit max_rows
    ), ended as (
      select w.xid, w.id, w.created_at from wanted w where (select count(*) from wanted) = max_rows
      union all
      select l.xid, l.id, l.created_at from looked_at l
      where (select count(*) from wanted) < max_rows and (select count(*) from looked_at) = 10000
    ), place as (
      select e.xid, e.id, e.created_at, true as more from ended e
      union all
      -- At the end of the feed: everything that commits later comes after this cursor.
      select settled, 0::bigint, now(), false where not exists (select from ended)
      order by 1 desc, 2 desc limit 1
    )
    select p.more, p.xid, p.id, p.created_at,
      coalesce((select json_agg(json_build_object(
        'id', 'evt_' || replace(w.event_id::text, '-', ''),
        'event', w.type,
        'org_id', w.organization_id,
        'timestamp', w.created_at,
        'data', w.data) order by w.xid, w.id) from wanted w), '[]')
    from place p;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_export_page(what text, after text[], max_rows integer)
 RETURNS TABLE(total bigint, last text[], records text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  -- An export of everything contains what the key may read.
  if private.is_admin(own_id, private.export_scope(what)) then
    return query
      with page as materialized (
        select p.at, p.record, p.nth
        from private.export_rows(own_id, what, after, max_rows) with ordinality as p (at, record, nth)
      )
      select (select count(*) from page), (select p.at from page p order by p.nth desc limit 1),
        (select string_agg(jsonb_strip_nulls(p.record)::text, E'\n' order by p.nth) from page p);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_find_people(email text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  perform private.audit_read('person.search', 'organization', own_id, own_id);
  return coalesce((select json_agg(json_build_object(
    'id', p.id,
    'kind', p.kind,
    'name', coalesce(p.name, 'Anonymous'),
    'created_at', p.created_at) order by p.kind, p.id)
    from (
      select * from public.profiles p where p.kind = 'email' and p.organization_id = own_id
        and lower(p.email) = lower(admin_find_people.email)
      union all
      select * from public.profiles p
        where p.kind = 'user' and lower(p.email) = lower(admin_find_people.email)
        and private.is_person_of_organization(p.id, own_id)
      limit 20) p), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_finish_import(import_id uuid, problem text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.lock_import(import_id);
  return private.finish_import(import_id, problem);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_frame(least_role text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.current_organization_id();
  caller uuid := private.caller_id();
  own_role text := (select m.role from public.memberships m where m.organization_id = own_id
    and m.user_id = caller);
begin
  if own_role is null or (own_role = 'member' and least_role <> 'member')
    or (own_role <> 'owner' and least_role = 'owner') then
    perform private.raise_error('FORBIDDEN', case least_role
      when 'member' then 'Only members of the organization can do this.'
      when 'owner' then 'Only owners of the organization can do this.'
      else 'Only admins of the organization can do this.' end);
  end if;
  return json_build_object(
    'organization_id', own_id,
    'role', own_role,
    'organizations', (select json_agg(json_build_object(
      'slug', o.slug,
      'name', o.name,
      'is_default', o.id = private.default_organization_id()) order by o.name collate "und-x-icu", o.id)
      from public.memberships m join public.organizations o on o.id = m.organization_id
        where m.user_id = caller),
    'waiting_count', case when own_role <> 'member' then (select count(*) from (
      select from public.submissions s where s.organization_id = own_id and s.moderation_state = 'pending'
      union all
      select from public.comments c where c.organization_id = own_id and c.moderation_state = 'pending'
      limit 100) w) else 0 end);
end
$function$;

ALTER FUNCTION "private"."admin_frame"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_import_file_part(import_id uuid, n integer)
 RETURNS bytea
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return (select p.bytes from private.import_file_parts p
    where p.organization_id = own_id and p.import_id = admin_import_file_part.import_id
      and p.n = admin_import_file_part.n);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_import_job(import_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return (select json_build_object(
    'state', i.state,
    'query', i.query,
    'file_type', i.file_type,
    'position', i.position,
    'chunks_done', i.chunks_done,
    'nameless_votes', i.nameless_votes)
    from private.imports i where i.id = import_id and i.organization_id = own_id and i.query is not null);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_imports(import_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return coalesce((select json_agg(private.import_shape(i) order by i.created_at desc, i.id desc) from (
    select * from private.imports i
      where i.organization_id = own_id and (import_id is null or i.id = import_id)
    order by i.created_at desc, i.id desc limit 50) i), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_invite(organization_id uuid, email text, role text, digest bytea)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: clients may only read memberships
declare organization public.organizations; own_role text; address text := lower(email); invite
  private.invites; expected bigint;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  own_role := private.require_person_admin(organization_id);
  select * into organization from public.organizations o where o.id = organization_id;
  if role = 'owner' and own_role <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner can invite an owner.', 'role');
  end if;
  if exists (select from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = organization.id and lower(p.email) = address) then
    perform private.raise_error('CONFLICT', 'This person is already a team member.', 'email');
  end if;
  update private.invites i set revoked_at = now()
  where i.organization_id = organization.id and i.email = address
    and i.accepted_at is null and i.revoked_at is null;
  expected := (select count(*) from public.memberships m where m.organization_id = organization.id)
    + (select count(*) from private.invites i where i.organization_id = organization.id
        and i.accepted_at is null and i.revoked_at is null and i.expires_at > now()
          and private.inviter_is_authorized(i));
  if expected >= organization.max_members then
    perform private.raise_error('PLAN_LIMIT_REACHED',
      format('The plan allows %s %s. With open invites there are already %s. Revoke an invite, or ask the '
        'operator for more.', to_char(organization.max_members, 'FM9,999,999,990'),
        case organization.max_members when 1 then 'member' else 'members' end, expected));
  end if;
  if expected >= 10000 then
    perform private.raise_error('CONFLICT',
      'A team can have at most 10,000 members and invites. Revoke an invite first.');
  end if;
  insert into private.invites (organization_id, email, role, digest, invited_by)
  values (organization.id, address, role, digest, private.caller_id()) returning * into invite;
  perform private.audit('invite.create', 'invite', invite.id, jsonb_build_object('role', role),
    organization.id);
  return private.invite_shape(invite)::jsonb
    || jsonb_build_object('is_mailed', private.queue_invite(invite));
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_invites(organization_id uuid, max_rows integer, skipped integer)
 RETURNS TABLE(total bigint, data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_organization_admin(organization_id, 'members:write');
begin
  return query select
    (select count(*) from private.invites i where i.organization_id = own_id),
    coalesce((select json_agg(private.invite_shape(i) order by i.created_at desc, i.id desc)
      from (select * from private.invites i where i.organization_id = own_id
        order by i.created_at desc, i.id desc limit max_rows offset skipped) i), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_labels(kind text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_taxonomy_admin(kind); labels json;
begin
  execute format('select coalesce(json_agg(private.label_shape(to_jsonb(l)) order by %s), ''[]'')
      from public.%I l where l.organization_id = $1',
    case kind when 'categories' then 'l.position, l.slug' else 'l.slug' end, kind) into labels using own_id;
  return labels;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_lift_mail_suppression(profile_id uuid, email text DEFAULT NULL::text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
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
    perform private.raise_error('CONFLICT',
      'This person unsubscribed or reported spam. Only they can resume emails.');
  end if;
  delete from private.mail_suppressions s
  where s.organization_id = own_id and s.address_hash = any (found_hashes) and s.reason = 'bounced';
  perform private.audit('mail.resume', 'profile', profile_id, '{}', own_id);
  return json_build_object('deleted', true);
end
$function$;

ALTER FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_list_agent_keys(agent_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = agent.organization_id
      and k.profile_id = agent.id
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_list_agents()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.agent_shape(a) order by a.created_at desc, a.id)
    from (select * from private.agents a where a.organization_id = own_id
      order by a.created_at desc, a.id limit 500) a), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_list_api_keys()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.api_key_shape(k) order by k.created_at desc, k.id)
    from (select * from private.api_keys k where k.organization_id = own_id and k.prefix = 'fcs_org_'
      order by k.created_at desc, k.id limit 500) k), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_list_deliveries(organization_id uuid, webhook_id uuid, page integer, page_size integer)
 RETURNS TABLE(total integer, data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, '');
  return query
    with log as materialized (
      select d.* from private.webhook_deliveries d
      where d.webhook_id = admin_list_deliveries.webhook_id
        and d.organization_id = admin_list_deliveries.organization_id
      order by d.created_at desc, d.event_id limit 100
    )
    select (select count(*)::integer from log),
      coalesce((select json_agg(private.delivery_shape(shown::private.webhook_deliveries)) from (
      select l.* from log l order by l.created_at desc, l.event_id
        limit page_size offset (page - 1) * page_size) shown), '[]')
    from private.webhooks w where w.id = admin_list_deliveries.webhook_id
      and w.organization_id = admin_list_deliveries.organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_list_identify_secrets()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.identify_secret_shape(s) order by s.created_at desc, s.id)
    from private.identify_secrets s where s.organization_id = own_id), '[]');
end
$function$;

ALTER FUNCTION "private"."admin_list_identify_secrets"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_list_webhooks(organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return coalesce((select json_agg(private.webhook_shape(w) order by w.created_at desc, w.id)
    from private.webhooks w where w.organization_id = admin_list_webhooks.organization_id), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_logo(organization_id uuid, OUT id uuid, OUT logo_url text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
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
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  return coalesce((select json_agg(json_build_object(
    'profile', case when p.id is not null
      then json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')) end,
    'reason', s.reason,
    'created_at', s.created_at) order by s.created_at desc)
    from (select * from private.mail_suppressions o where o.organization_id = own_id
        and (email is null or o.address_hash = private.address_hash(admin_mail_suppressions.email))
      order by o.created_at desc limit 1000) s left join public.profiles p on p.id = s.profile_id), '[]');
end
$function$;

ALTER FUNCTION "private"."admin_mail_suppressions"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_members(organization_id uuid, max_rows integer, skipped integer)
 RETURNS TABLE(total bigint, data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.require_team_member(organization_id, 'members:write');
  for_admin boolean := private.is_admin(own_id, 'members:write');
  for_owner boolean := private.is_own_team(own_id);
begin
  return query select
    (select count(*) from public.memberships m where m.organization_id = own_id),
    coalesce((select json_agg(private.member_shape(m, for_admin, for_owner)
      order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id)
      from (select * from public.memberships m where m.organization_id = own_id
        order by array_position(array['owner', 'admin', 'member'], m.role), m.created_at, m.user_id
          limit max_rows offset skipped) m), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_merge(source_ids uuid[], target_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  categories uuid[] := private.agent_category_ids();
  event uuid := gen_random_uuid();
  grandchildren uuid[];
  submission public.submissions;
  fanout private.fanouts;
  found_ids uuid[] := '{}';
begin
  perform 1 from public.organizations where id = own_id for no key update;
  source_ids := array(select id from unnest(source_ids) with ordinality as s (id, place) group by id
    order by min(place));
  if target_id = any (source_ids) then
    perform private.raise_error('VALIDATION_ERROR', 'A submission cannot be merged into itself.',
      'source_ids');
  end if;
  grandchildren := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id = any (source_ids));
  for submission in
    select * from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids || grandchildren || target_id)
      order by s.id for no key update
  loop
    continue when submission.id <> all (source_ids || target_id);
    -- Rows hidden from an agent by policy must be hidden in a definer function as well.
    continue when categories is not null and not coalesce(submission.category_id = any (categories), false);
    found_ids := found_ids || submission.id;
    if submission.merged_into_id is not null then
      perform private.raise_error('SUBMISSION_MERGED',
        'This submission is already merged. Undo that merge first, or use its target.',
        case when submission.id = target_id then 'target_id'
          else 'source_ids' end, jsonb_build_object('merged_into_id', submission.merged_into_id));
    elsif submission.moderation_state <> 'approved' then
      perform private.raise_error('CONFLICT',
        'Only approved submissions can be merged. Approve this one first.',
        case when submission.id = target_id then 'target_id' else 'source_ids' end);
    end if;
  end loop;
  if not found_ids @> (source_ids || target_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', case
      when target_id = any (found_ids) then 'source_ids' else 'target_id' end);
  end if;

  perform set_config('feedback.internal_write', 'on', true);
  insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
  select s.id, own_id, admin_merge.target_id, event, s.status
  from public.submissions s where s.id = any (source_ids) order by array_position(source_ids, s.id);
  insert into public.status_changes
    (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  select own_id, m.source_id, m.previous_status, 'duplicate', private.caller_id(), false from private.merges m
    where m.event_id = event order by m.place;
  with double as (
    delete from public.votes v
    using (
      select o.submission_id, o.user_id, o.submission_id <> admin_merge.target_id
        and row_number() over (partition by private.person_of(p)
          order by array_position(admin_merge.target_id || source_ids, o.submission_id)) > 1 as is_double
      from public.votes o join public.profiles p on p.id = o.user_id
      where o.submission_id = any (admin_merge.target_id || source_ids)) d
    where d.is_double and v.submission_id = d.submission_id and v.user_id = d.user_id
    returning case when v.merged_from = any (grandchildren) then v.merged_from
      else v.submission_id end as source_id,
      v.user_id, v.organization_id, v.id, v.created_at)
  insert into private.merged_votes (source_id, user_id, organization_id, id, created_at) select * from double;
  update public.votes v set submission_id = admin_merge.target_id,
    merged_from = case when v.merged_from = any (grandchildren) then v.merged_from else v.submission_id end
  where v.submission_id = any (source_ids);

  with gone as (
    delete from public.submission_tags st where st.submission_id = any (source_ids)
    returning case when st.merged_from = any (grandchildren) then st.merged_from
      else st.submission_id end as source_id,
      st.tag_id, st.organization_id)
  insert into private.merged_tags (source_id, tag_id, organization_id) select * from gone;
  perform private.copy_tags_to_target(target_id, source_ids || grandchildren, null);

  insert into private.merged_comments (source_id, comment_id, organization_id)
  select c.submission_id, c.id, c.organization_id from public.comments c
    where c.submission_id = any (source_ids) and c.parent_id is null
  on conflict do nothing;
  perform private.move_threads(array(
    select c.id from public.comments c where c.submission_id = any (source_ids) and c.parent_id is null),
      target_id);
  perform set_config('feedback.internal_write', 'off', true);

  perform private.lock_counts(own_id);
  update public.submissions set status = 'duplicate', merged_into_id = admin_merge.target_id
    where id = any (source_ids || grandchildren);
  perform private.recount(source_ids || target_id);
  perform private.announce_merge(source_ids || target_id);
  fanout := row(event, own_id, target_id, null, 'merged', private.caller_id(),
    '00000000-0000-0000-0000-000000000000', now());
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then insert into private.fanouts values (fanout.*); end if;
  perform private.audit('submission.merge', 'submission', target_id,
    jsonb_build_object('source_ids', source_ids), own_id);
  return (select json_build_object(
    'target_id', s.id,
    'source_ids', source_ids,
    'vote_count', s.vote_count,
    'comment_count', s.comment_count)
    from public.submissions s where s.id = target_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_merge_labels(kind text, label_id uuid, into_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb; target jsonb; moved bigint;
begin
  if label_id = into_id then
    perform private.raise_error('VALIDATION_ERROR',
      format('A %s cannot be merged into itself.', private.label_noun(kind)), 'into_id');
  end if;
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  target := private.find_label(kind, own_id, into_id, true);
  if exists (select from private.retired_labels r where r.label_id = admin_merge_labels.into_id) then
    perform private.raise_error('CONFLICT', format('This %s is being deleted.', private.label_noun(kind)),
      'into_id');
  end if;
  if kind = 'categories' then
    select count(*) into moved from public.submissions s
      where s.organization_id = own_id and s.category_id = label_id;
  else
    select count(*) into moved from public.submission_tags st
      where st.organization_id = own_id and st.tag_id = label_id;
  end if;
  update private.retired_labels r set into_id = admin_merge_labels.into_id
    where r.into_id = admin_merge_labels.label_id;
  perform private.retire_label(kind, own_id, label_id, into_id);
  perform private.record_label_change(kind, own_id, 'merge', label_id,
    jsonb_build_object('slug', label -> 'slug', 'into_id', into_id, 'submissions', moved));
  return private.label_shape(target) || jsonb_build_object('moved', moved);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_merge_preview(source_ids uuid[], target_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  own_id uuid := private.require_submission_moderator(target_id, 'target_id');
  found_ids uuid[] := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.id = any (source_ids) and s.id <> target_id);
begin
  return json_build_object(
    'vote_count', (select count(distinct private.person_of(p))
      from public.votes v join public.profiles p on p.id = v.user_id
      where v.submission_id = any (found_ids || target_id)),
    'comment_count', (select count(*) from public.comments c
      where c.submission_id = any (found_ids || target_id) and c.moderation_state = 'approved'),
    'follower_count', (select count(distinct f.user_id) from public.follows f
      where f.submission_id = any (found_ids) and not exists (select from private.unfollows u
        where u.submission_id = admin_merge_preview.target_id and u.user_id = f.user_id)),
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
      'The text was changed after you read it. Read the current text and decide again.', null,
      jsonb_build_object(
        'current', jsonb_build_object(
          'title', subject.title,
          'body', subject.body,
          'updated_at', subject.updated_at)));
  elsif wanted = 'approved' and subject.above <> 'approved' then
    perform private.raise_error('CONFLICT', 'Approve the comment it replies to first.',
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
        'state', jsonb_build_object('from', subject.state, 'to', wanted),
        'reason', reason,
        'trust_author', trust_author)), own_id);
  end if;
  return json_build_object(
    'target_type', target_type,
    'target_id', target_id,
    'previous_state', subject.state,
    'state', wanted);
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
      results := results || jsonb_build_object(
        'target_type', item.type,
        'target_id', item.id,
        'ok', true,
        'changed', done ->> 'previous_state' <> done ->> 'state');
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- Only API errors become item results; any other error fails the request.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object(
        'target_type', item.type,
        'target_id', item.id,
        'ok', false,
        'changed', false,
        'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
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
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
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
      coalesce((select json_agg(json_build_object(
        'type', s.type,
        'id', s.id,
        'submission_id', s.submission_id,
        'submission_title', coalesce(s.title, (select on_it.title from public.submissions on_it
          where on_it.id = s.submission_id)),
        'title', s.title,
        'body', s.body,
        'author', private.author(s.author_id, own_id),
        'is_trusted', private.is_trusted(own_id, s.author_id),
        'state', s.state,
        'created_at', s.created_at,
        'updated_at', s.updated_at)
        order by s.created_at, s.id) from shown s), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_newest_events(types text[], before_xid xid8, before_id bigint, max_rows integer)
 RETURNS TABLE(more boolean, next_xid xid8, next_id bigint, next_at timestamp with time zone, data json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
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
      coalesce((select json_agg(json_build_object(
        'id', 'evt_' || replace(s.event_id::text, '-', ''),
        'event', s.type,
        'timestamp', s.created_at,
        'data', s.data)
         order by s.xid desc, s.id desc) from shown s), '[]')
    from (select) one left join ended e on true;
end
$function$;

ALTER FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_order_categories(ids uuid[])
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_taxonomy_admin('categories');
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if exists (select from unnest(ids) as wanted
    where wanted not in (select c.id from public.categories c where c.organization_id = own_id)) then
    perform private.raise_error('NOT_FOUND', 'There is no such category.', 'ids');
  end if;
  with placed as (
    select c.id, row_number() over (order by array_position(ids, c.id) nulls last, c.position, c.slug)
      - 1 as position
    from public.categories c where c.organization_id = own_id)
  update public.categories c set position = p.position from placed p
    where p.id = c.id and c.position <> p.position;
  if found then perform private.record_label_change('categories', own_id, 'order', null); end if;
  return private.admin_labels('categories');
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_organization(organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_team_member(organization_id, 'organization:write');
begin
  return (select private.organization_shape(o) from public.organizations o where o.id = own_id);
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

CREATE OR REPLACE FUNCTION private.admin_origins(origins text[])
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'organization:write');
begin
  if origins is not null then
    update public.organizations o set allowed_origins = origins where o.id = own_id;
  end if;
  return (select json_build_object('origins', o.allowed_origins) from public.organizations o
    where o.id = own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_person(profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.audit_read('person.read', 'profile', profile_id, own_id);
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

CREATE OR REPLACE FUNCTION private.admin_personal_data(profile_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: e-mail addresses are not granted
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.audit('person.export', 'profile', profile_id, '{}', own_id);
  return private.personal_data(profile_id, own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_redeliver(organization_id uuid, webhook_id uuid, event_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
#variable_conflict use_column
declare delivery private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, '');
  select d.* into delivery from private.webhook_deliveries d
  where d.webhook_id = admin_redeliver.webhook_id and d.event_id = admin_redeliver.event_id
    and d.organization_id = admin_redeliver.organization_id for no key update;
  if delivery.event_id is null then return null; end if;
  perform private.enabled_webhook(organization_id, webhook_id);
  if delivery.data is null and not exists (select from private.outbox o
    where o.xid = delivery.outbox_xid and o.id = delivery.outbox_id) then
    perform private.raise_error('GONE', 'This event was deleted after its retention period.');
  end if;
  -- Leave a delivery that is in flight.
  if delivery.status <> 'sending' then
    update private.webhook_deliveries d
      set status = 'pending', counted_from = d.attempt_count, next_attempt_at = now(), finished_at = null
    where d.webhook_id = delivery.webhook_id and d.event_id = delivery.event_id returning d.* into delivery;
    perform private.wake_dispatcher(organization_id);
  end if;
  return private.delivery_shape(delivery);
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
      then 'A key can remove only members, not admins or owners.' else 'Only an owner can remove an owner.'
      end);
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

CREATE OR REPLACE FUNCTION private.admin_revoke_api_key(key_id uuid, agent_id uuid DEFAULT NULL::uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key private.api_keys;
begin
  update private.api_keys k set revoked_at = coalesce(k.revoked_at, now())
  where k.id = key_id and k.organization_id = own_id
    and case when agent_id is null then k.prefix = 'fcs_org_' else k.profile_id = agent_id end
  returning k.* into key;
  if key.id is not null then perform private.audit('api_key.revoke', 'api_key', key.id, '{}', own_id); end if;
  return case when key.id is not null then private.api_key_shape(key) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_revoke_invite(organization_id uuid, invite_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: clients may only read memberships
declare own_id uuid := private.require_organization_admin(organization_id, 'members:write'); invite
  private.invites;
begin
  perform private.lock_team(own_id);
  select * into invite from private.invites i where i.organization_id = own_id and i.id = invite_id;
  if invite.id is null then return null; end if;
  if invite.accepted_at is not null then
    perform private.raise_error('CONFLICT', 'This invite was accepted. Remove the member instead.');
  end if;
  if invite.revoked_at is null then
    update private.invites i set revoked_at = now() where i.id = invite.id returning * into invite;
    perform private.audit('invite.revoke', 'invite', invite.id, '{}', own_id);
  end if;
  return private.invite_shape(invite);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_rotate_api_key(key_id uuid, digest bytea, prefix text, last_four text, overlap interval, agent_id uuid DEFAULT NULL::uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin(); key private.api_keys; new_id uuid;
begin
  select * into key from private.api_keys k
  where k.id = key_id and k.organization_id = own_id and k.prefix = admin_rotate_api_key.prefix
    and (agent_id is null or k.profile_id = agent_id) for no key update;
  if key.id is null then return null; end if;
  if key.revoked_at is not null or key.expires_at <= now() then
    perform private.raise_error('CONFLICT', 'This key was revoked or has expired. Create a new one.');
  end if;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  values (key.organization_id, key.profile_id, key.name, key.scopes, digest, prefix, last_four,
    key.expires_at, private.caller_id())
  returning id into new_id;
  update private.api_keys k set expires_at = least(k.expires_at, now() + overlap) where k.id = key.id;
  perform private.audit('api_key.rotate', 'api_key', key.id, jsonb_build_object('new_key_id', new_id),
    own_id);
  return (select private.api_key_shape(k) from private.api_keys k where k.id = new_id);
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
  import private.imports; part private.import_outcome; ends_at timestamptz; is_written boolean;
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  total integer; size integer; failures jsonb; wrong integer; told integer;
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = own_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  -- One chunk of an organization at a time, so that concurrent imports of one file see each other's rows.
  -- Fails instead of waiting: waiting imports of one organization would hold all connections.
  if not pg_try_advisory_xact_lock(hashtextextended('import ' || own_id, 0)) then
    perform private.raise_error('SERVICE_UNAVAILABLE',
      'Another import is running. Try again in a moment.');
  end if;
  select * into import from private.imports i where i.id = import_id for no key update;
  if (import.position ->> 'at')::bigint <> at or import.chunks_done <> chunk then
    perform private.raise_error('CONFLICT', 'Another request is already running this import.');
  elsif import.state <> 'running' then
    perform private.raise_error('CONFLICT', 'This import has ended. Start another one.');
  end if;
  -- As in exports, a key without survey scopes imports everything else.
  if records ?| array['survey', 'survey_response']
    and not (private.is_admin(own_id, 'surveys:write') and private.is_admin(own_id, 'surveys:publish')) then
    refused := refused || coalesce((
      select jsonb_agg(jsonb_build_object(
        'line', r.value -> 'line',
        'message', 'needs a key with surveys:write and surveys:publish'))
      from jsonb_array_elements(coalesce(records -> 'survey', '[]') ||
        coalesce(records -> 'survey_response', '[]')) r), '[]');
    records := records - 'survey' - 'survey_response';
  end if;
  total := (select coalesce(max(n::integer) + 1, 0)
    from jsonb_path_query(records, 'strict $.* ? (@.type() == "array")[*].n') n);
  records := private.check_ids(import, records);
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
      -- Only an outage, a conflict or the plan stops a job: what else fails is due to a record, or takes too long.
      exception when others or query_canceled then
        if sqlstate ~ '^(08|25006|40|53|55P03|57P|58|FB402|FB5)' then raise; end if;
        part := row(0, 0, '[]')::private.import_outcome;
        import.records_at_once := greatest(1, size / 2);
        if size = 1 then
          import.records_done := import.records_done + 1;
          raise log 'import %: SQLSTATE % rejected a record', import.id, sqlstate;
          part.failures := (select coalesce(jsonb_agg(jsonb_build_object(
            'line', e -> 'line',
            'message', 'was rejected by the database')), '[]')
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
    claimed_until = case when i.claimed_until is not null then clock_timestamp() + interval '10 seconds' end,
    -- This is in the transaction of the chunk, so that nothing is written or counted twice.
    position = case when is_written then coalesce(next, i.position) else i.position end,
    chunks_done = case when not is_written then i.chunks_done when next is null then i.chunks_done + 1
      else 0 end,
    nameless_votes = case when is_written and next is not null then admin_run_import.nameless_votes
      else i.nameless_votes end
  where i.id = import.id returning i.* into import;
  return jsonb_build_object(
    'processed', import.processed,
    'created', import.created,
    'skipped', import.skipped,
    'failed', import.failed,
    'is_written', is_written);
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
  -- The index finds the longest word. It finds one or two letters only at the beginning of a word. Words have
  -- no characters with a meaning in patterns.
  parts text[] := array(
    select '%' || case when char_length(w) > 2 and not private.is_unspaced(w) then w else private.name_key(w) end || '%'
    from unnest(private.name_words(search)) w order by char_length(w) desc);
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
    where p.kind = 'user' and private.name_key(p.name) like parts[1] and private.name_key(p.name) like all (parts)
    limit 1001);
  -- Users belong to no organization. If many users match the name, only the people of this organization are
  -- searched, so that the cost depends on the size of the organization, not on that of the installation.
  if cardinality(named) > 1000 then
    named := array(
      select p.id from (
        select distinct r.profile_id from private.personal_rows r
        where r.organization_id = own_id and r.takes_part) own (id)
      join public.profiles p on p.id = own.id
      where p.kind = 'user' and private.name_key(p.name) like all (parts) limit 50);
  end if;
  return (select coalesce(json_agg(private.person_shape(f, own_id)
      order by f.name collate "und-x-icu", f.id), '[]')
    from (
      select * from public.profiles p
      where p.id = any (named) and private.is_person_of_organization(p.id, own_id)
      union all
      select * from public.profiles p
      where p.organization_id = own_id and p.kind in ('email', 'anonymous')
        and private.name_key(p.name) like parts[1] and private.name_key(p.name) like all (parts)
      limit 50) f);
end
$function$;

ALTER FUNCTION "private"."admin_search_people"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_show_delivery(organization_id uuid, webhook_id uuid, event_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
begin
  perform private.require_webhook_admin(organization_id, '');
  return (select private.delivery_shape(d) || jsonb_build_object(
    'attempts', d.attempts,
    'data', coalesce(d.data, o.data))
    from private.webhook_deliveries d left join private.outbox o on o.xid = d.outbox_xid
      and o.id = d.outbox_id
    where d.webhook_id = admin_show_delivery.webhook_id and d.event_id = admin_show_delivery.event_id
      and d.organization_id = admin_show_delivery.organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_show_webhook(organization_id uuid, webhook_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:read');
  return (select private.webhook_shape(w) from private.webhooks w
    where w.organization_id = admin_show_webhook.organization_id and w.id = webhook_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_signing_secrets()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
begin
  return private.signing_secrets(private.require_key_admin()::text);
end
$function$;

ALTER FUNCTION "private"."admin_signing_secrets"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_start_export(what text, format text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  perform private.require_admin(own_id, private.export_scope(what));
  perform private.audit('organization.export', 'organization', own_id,
    jsonb_build_object('what', what, 'format', format), own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_start_import(query jsonb, file_type text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports;
begin
  perform pg_advisory_xact_lock(hashtextextended('imports of ' || own_id, 0));
  perform private.end_idle_imports(own_id);
  if (select count(*) >= 5 from private.imports i
      where i.organization_id = own_id and i.state in ('receiving', 'running') and i.query is not null) then
    perform private.raise_error('CONFLICT',
      'Five imports are already running. Wait for one to finish, or cancel one.');
  end if;
  insert into private.imports (organization_id, format, source, is_dry_run, makes_missing, state, query,
    file_type, profile_id, key_id)
  values (own_id, query ->> 'format', coalesce(query ->> 'source', query ->> 'format'),
    (query ->> 'dry_run')::boolean, (query ->> 'create_missing')::boolean, 'receiving', query, file_type,
    nullif(current_setting('feedback.profile_id', true), '')::uuid, private.key_id())
  returning * into import;
  perform private.audit('import.start', 'import', import.id,
    jsonb_build_object('format', import.format, 'source', import.source, 'dry_run', import.is_dry_run),
    own_id);
  return import.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_test_webhook(organization_id uuid, webhook_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
#variable_conflict use_column
declare webhook private.webhooks; made private.webhook_deliveries;
begin
  perform private.require_webhook_admin(organization_id, 'webhooks:write');
  webhook := private.enabled_webhook(organization_id, webhook_id);
  if webhook.id is null then return null; end if;
  insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data)
  values (organization_id, webhook_id, gen_random_uuid(), 'webhook.test',
    jsonb_build_object('webhook_id', 'wh_' || replace(webhook_id::text, '-', '')))
  returning * into made;
  perform private.wake_dispatcher(organization_id);
  return private.delivery_shape(made);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_transfer_ownership(organization_id uuid, user_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: clients may only read memberships
declare member public.memberships; own_id uuid := private.caller_id();
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner can transfer the organization.');
  end if;
  member := private.find_member(organization_id, user_id);
  if user_id <> own_id then
    update public.memberships m set role = case when m.user_id = own_id then 'admin' else 'owner' end
    where m.organization_id = member.organization_id and m.user_id
      in (own_id, admin_transfer_ownership.user_id);
    perform private.record_member_change(organization_id, 'member.transfer', user_id,
      jsonb_build_object('role', jsonb_build_object('from', member.role, 'to', 'owner')));
    member.role := 'owner';
  end if;
  return private.member_shape(member, true, private.is_own_team(organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_unmerge(submission_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_variable
declare
  source_id uuid := submission_id;
  own_id uuid := private.require_submission_moderator(source_id, 'submission_id');
  root uuid;
  undone private.merges;
  subtree uuid[];
  others uuid[];
  vacant uuid[];
begin
  perform 1 from public.organizations where id = own_id for no key update;
  root := (select s.merged_into_id from public.submissions s where s.id = source_id);
  if root is null then
    perform private.raise_error('CONFLICT',
      'This submission is not merged into another one.', 'submission_id');
  end if;
  subtree := array(select t.source_id from private.merge_tree(source_id) t);
  others := array(select t.source_id from private.merge_tree(root) t
    where t.source_id <> source_id and t.source_id <> all (subtree));
  perform 1 from public.submissions s where s.id = any (subtree || source_id || root)
    order by s.id for no key update;
  select * into undone from private.merges m where m.source_id = source_id;
  if undone.source_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;

  perform set_config('feedback.internal_write', 'on', true);
  insert into public.status_changes
    (organization_id, submission_id, previous_status, new_status, changed_by, notify)
  values (own_id, source_id, 'duplicate', undone.previous_status, private.caller_id(), false);
  with back as (
    update public.votes v set submission_id = source_id, merged_from = nullif(v.merged_from, source_id)
    where v.submission_id = root and v.merged_from = any (subtree || source_id)
    returning v.user_id)
  select array_agg(b.user_id) into vacant from back b;
  insert into public.votes (organization_id, submission_id, id, user_id, created_at)
  select j.organization_id, j.source_id, j.id, j.user_id, j.created_at from private.merged_votes j
    where j.source_id = source_id;
  perform private.copy_votes_to_target(source_id, subtree, null);
  perform private.copy_votes_to_target(root, others, coalesce(vacant, '{}'));

  -- The source may have received the tag again while merged.
  delete from public.submission_tags st using public.submission_tags o
  where st.submission_id = source_id and o.submission_id = root and o.merged_from = any (subtree || source_id)
    and o.tag_id = st.tag_id;
  with back as (
    update public.submission_tags st
      set submission_id = source_id, merged_from = nullif(st.merged_from, source_id)
    where st.submission_id = root and st.merged_from = any (subtree || source_id)
    returning st.tag_id)
  select array_agg(b.tag_id) into vacant from back b;
  insert into public.submission_tags (organization_id, submission_id, tag_id)
  select j.organization_id, j.source_id, j.tag_id from private.merged_tags j where j.source_id = source_id
  on conflict do nothing;
  perform private.copy_tags_to_target(source_id, subtree, null);
  perform private.copy_tags_to_target(root, others, coalesce(vacant, '{}'));

  perform private.move_threads(array(
    select j.comment_id from private.merged_comments j where j.source_id = any (subtree || source_id)),
      source_id);
  perform set_config('feedback.internal_write', 'off', true);

  perform private.lock_counts(own_id);
  delete from private.merges m where m.source_id = source_id;
  update public.submissions s set status = undone.previous_status, merged_into_id = null
    where s.id = source_id;
  update public.submissions s set merged_into_id = source_id where s.id = any (subtree);
  perform private.recount(array[source_id, root]);
  perform private.announce_merge(array[source_id, root]);
  perform private.audit('submission.unmerge', 'submission', source_id, jsonb_build_object('target_id', root),
    own_id);
  return (select json_build_object(
    'submission_id', s.id,
    'target_id', root,
    'status', s.status,
    'vote_count', s.vote_count,
    'comment_count', s.comment_count)
    from public.submissions s where s.id = source_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_update_agent(agent_id uuid, name text, tier text, description text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: agents are not granted
declare agent private.agents := private.find_agent(agent_id);
begin
  update public.profiles p set name = admin_update_agent.name
    where p.id = agent.id and admin_update_agent.name is not null;
  update private.agents a set tier = coalesce(admin_update_agent.tier, a.tier),
    description = case when admin_update_agent.description is null then a.description
      else nullif(admin_update_agent.description, '') end
  where a.id = agent.id returning a.* into agent;
  perform private.audit('agent.update', 'agent', agent.id, jsonb_build_object('tier', agent.tier));
  return private.agent_shape(agent);
end
$function$;

CREATE OR REPLACE FUNCTION private.admin_update_label(kind text, label_id uuid, fields jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_taxonomy_admin(kind); before jsonb; label jsonb; changes jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  before := private.find_label(kind, own_id, label_id);
  -- null removes a translation.
  fields := jsonb_strip_nulls(fields ||
    jsonb_build_object(
      'translations', (before -> 'translations') || coalesce(fields -> 'translations', '{}')));
  execute format('update public.%I l set (name, slug, color, translations%s) = (
      select r.name, r.slug, r.color, r.translations%s from jsonb_populate_record(l, $2) r)
      where l.id = $1 returning to_jsonb(l)',
    kind, case kind when 'categories' then ', position' end, case kind when 'categories'
      then ', r.position' end)
  into label using label_id, fields;
  changes := (select jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value))
    from jsonb_each(label) n join jsonb_each(before) o using (key) where n.value <> o.value);
  if changes is not null then perform private.record_label_change(kind, own_id, 'update', label_id, changes);
    end if;
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT',
    format('Another %s has this slug. Choose a different one.', private.label_noun(kind)),
    'slug');
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
  -- A call that auth accepted before an undo must send no code to the address that the undo removed.
  if not private.is_email(address) or private.was_just_restored(account_id) and exists (
    select from auth.users u where u.id = account_id and u.email <> lower(address)) then
    return query select false, null::text, null::integer;
    return;
  end if;
  -- Each mail counts, whoever gets it: the remaining number reveals nothing about an address.
  of_client := (private.charge_rule('account_mail_hour', client)).allowed;
  of_client := (private.charge_rule('account_mail_day', client)).allowed and of_client;
  if of_client then of_all := private.charge_rule('account_mail_everyone', 'everyone'); end if;
  percent_used := case when not of_all.allowed then null when of_all.remaining = 0 then 100
    when of_all.max_requests - of_all.remaining = ceil(of_all.max_requests * 0.8) then 80 end;
  if is_known then
    -- The mailbox is limited for each client, so that one client cannot block sign-ins from elsewhere. The
    -- address has its own limit, so that mail to other addresses of the mailbox cannot block it.
    account := 'account ' || private.address_hash(address);
    is_admitted := (private.charge_rule('account_mail_mailbox',
      account || coalesce(' ' || client, ''))).allowed
      and (private.charge_rule('account_mail_account', account)).allowed;
  else
    hash := private.address_hash(private.mailbox(address));
    -- The mailbox is charged last: a mail that is dropped for another reason does not count for it.
    is_admitted := of_client and of_all.allowed
      and not exists (select from private.stopped_account_mail s where s.address_hash = hash)
      and (private.charge_rule('account_mail_mailbox', hash)).allowed;
    if is_admitted then stop_hash := hash; end if;
  end if;
  return next;
end
$function$;

ALTER FUNCTION "private"."admit_account_mail"(text, text, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admit_request(user_id uuid, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean)
 RETURNS private.admission
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.admit_request(user_id, null, null, digest, invalid_credential, address, operations,
    organization, on_behalf, origin, needs_origin, resource, resource_id, charge);
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
    -- The secrets of a rotated key act as one profile, and so do all keys of an agent: they share one counter.
    caller := coalesce(who.profile_id::text, address);
    if who.kind = 'agent' then operations := operations || 'agent_day'::text; end if;
    -- The counters are always charged in this order, so that parallel calls of one caller cannot deadlock. A
    -- page or a token exchange is charged to its own rule instead of the level.
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
      subject := case when private.is_counted_by_address(operation) then coalesce(address, caller)
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
        answer.message := 'Too many requests. Wait and try again.';
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
      answer.message := 'There is no such resource.';
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
      answer.message := 'This origin is not allowed to write. An admin can allow it at /api/admin/origins.';
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

ALTER FUNCTION "private"."admit_request"(uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.agent_category_ids()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.category_ids from private.agents a where a.id = own_id)
    end;
end
$function$;

CREATE OR REPLACE FUNCTION private.agent_survey_ids()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: accesses private tables
declare own_id uuid := private.agent_id();
begin
  return case when own_id is not null then (select a.survey_ids from private.agents a where a.id = own_id)
    end;
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_comment(comment_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare comment public.comments;
begin
  select * into comment from public.comments where id = comment_id;
  perform private.emit_event(comment.organization_id, 'comment.created', comment.id, jsonb_build_object(
    'comment', jsonb_build_object(
      'id', comment.id,
      'submission_id', comment.submission_id,
      'parent_id', comment.parent_id,
      'body', comment.body,
      'is_official', comment.is_official,
      'created_at', comment.created_at,
      'author', (select jsonb_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous'))
        from public.profiles p where p.id = comment.author_id))));
  perform private.notify_followers(comment.organization_id, comment.submission_id,
    case when comment.is_official then 'official_comment'
      else 'comment' end, comment.id, comment.id, comment.author_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_edit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_internal_write() then return null; end if;
  if private.public_texts(new) <> private.public_texts(old)
    and private.needs_approval(new.organization_id, private.caller_id()) then
    update public.submissions set moderation_state = 'pending' where id = new.id;
    return null;
  end if;
  perform private.emit_event(new.organization_id, 'submission.updated', new.id,
    private.updated_submission(new));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_merge(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.emit_event(s.organization_id, 'submission.updated', s.id, private.updated_submission(s))
  from public.submissions s where s.id = any (ids) and s.moderation_state = 'approved' order by s.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_organization()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare changed text[]; changes jsonb;
begin
  -- settings may contain anything, so only the names of changed keys are published.
  select array_agg(n.key order by n.key),
    coalesce(jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value)) filter
    (where n.key <> 'settings'), '{}')
  into changed, changes
  from jsonb_each(to_jsonb(new)) n join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key <> 'updated_at';
  perform private.emit_organization_update(new.id, changed, changes);
  perform private.audit('organization.update', 'organization', new.id,
    jsonb_build_object('changed', changed, 'changes', changes), new.id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  if tg_op = 'INSERT' or not private.is_announced('submission.created', new.id) then
    perform private.emit_event(new.organization_id, 'submission.created', new.id,
      jsonb_build_object(
        'submission', jsonb_build_object(
          'id', new.id,
          'title', new.title,
          'description', new.description,
          'type', new.type,
          'status', new.status,
          'vote_count', new.vote_count,
          'created_at', new.created_at)));
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.announce_survey()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if old.published_at is null and new.published_at is not null then
    perform private.emit_event(new.organization_id, 'survey.published', new.id,
      jsonb_build_object('survey', jsonb_build_object('id', new.id, 'title', new.title)));
  end if;
  if old.closed_at is null and new.closed_at is not null then
    perform private.emit_event(new.organization_id, 'survey.closed', new.id,
      jsonb_build_object(
        'survey_id', new.id,
        'response_count', (select f.response_count from private.survey_figures(array[new.id]) f)));
  end if;
  return null;
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
  -- This table has no foreign key, and contains tokens of providers.
  delete from auth.flow_state f where f.user_id = old.auth_user_id;
  new.email := null;
  new.name := null;
  new.avatar_url := null;
  new.locale := null;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.anonymize_respondent()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.anonymize_responses(old.id, null, old.id);
  return old;
end
$function$;

CREATE OR REPLACE FUNCTION private.anonymize_responses(profile_id uuid, organization_id uuid, heir_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.profiles p where p.id = profile_id for update;
  -- Lock surveys before starts and responses: deleting a survey deletes both.
  perform 1 from public.surveys s
  where s.id in (
      select r.survey_id from public.survey_responses r where r.user_id = profile_id
      union all select b.survey_id from private.survey_starts b where b.user_id = profile_id)
    and (anonymize_responses.organization_id is null
      or s.organization_id = anonymize_responses.organization_id)
  order by s.id for key share;
  delete from private.survey_starts b
  where b.user_id = profile_id and
    (anonymize_responses.organization_id is null or b.organization_id = anonymize_responses.organization_id);
  update public.survey_responses r set user_id = heir_id, answers = coalesce((
    select jsonb_agg(a.value order by a.n)
      from jsonb_array_elements(r.answers) with ordinality as a (value, n)
    join public.survey_questions q on q.id = (a.value ->> 'question_id')::uuid
    where not private.is_personal_answer(q.type)), '[]')
  where r.user_id = profile_id and
    (anonymize_responses.organization_id is null or r.organization_id = anonymize_responses.organization_id)
    and (heir_id <> profile_id or exists (select from public.survey_questions q
      where q.survey_id = r.survey_id and private.is_personal_answer(q.type)
      and r.answers @> jsonb_build_array(jsonb_build_object('question_id', q.id))));
end
$function$;

CREATE OR REPLACE FUNCTION private.apply_status_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  if not private.is_internal_write() then
    update public.submissions set status = new.new_status,
      updated_at = greatest(updated_at, new.created_at)
      where id = new.submission_id;
    perform private.audit('submission.set_status', 'submission', new.submission_id,
      jsonb_build_object('status', jsonb_build_object('from', new.previous_status, 'to', new.new_status)),
        new.organization_id);
  end if;
  perform private.emit_event(new.organization_id, 'submission.status_changed', new.submission_id,
    jsonb_build_object(
      'submission_id', new.submission_id,
      'previous_status', new.previous_status,
      'new_status', new.new_status,
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

CREATE OR REPLACE FUNCTION private.assume_caller(request_id text, user_id uuid, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean, access text, required_scopes text[], OUT max_requests integer, OUT remaining integer, OUT reset_at bigint, OUT origin_allowed boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  select * into max_requests, remaining, reset_at, origin_allowed
  from private.assume_caller(request_id, user_id, null, null, digest, invalid_credential, address, operations,
    organization, on_behalf, origin, needs_origin, resource, resource_id, charge, access, required_scopes);
end
$function$;

CREATE OR REPLACE FUNCTION private.assume_caller(request_id text, user_id uuid, session_id uuid, aal text, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean, access text, required_scopes text[], OUT max_requests integer, OUT remaining integer, OUT reset_at bigint, OUT origin_allowed boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  admission private.admission := private.admit_request(user_id, session_id, aal, digest, invalid_credential,
    address, operations, organization, on_behalf, origin, needs_origin, resource, resource_id, charge);
  ignored text; -- an assignment is cheaper than PERFORM
begin
  if admission.code is not null then
    perform private.raise_error(admission.code, admission.message, admission.field,
      case when admission.retry_after is null then '{}'
        else jsonb_build_object('retry_after', admission.retry_after) end);
  elsif (access = 'agent') <> (admission.kind = 'agent') then
    perform private.raise_error('UNAUTHORIZED', case when access = 'agent'
      then 'Send the key of an agent as Authorization: Bearer fcs_agt_…'
      else 'Agent keys work only under /api/mcp.' end);
  elsif access <> 'public' and admission.kind = 'public' then
    perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key as Authorization: Bearer <token>.');
  elsif access = 'person' and admission.kind <> 'user' then
    perform private.raise_error('FORBIDDEN',
      'Only signed-in users can do this, not keys. Use the pages, such as the dashboard, or an access '
        'token.');
  elsif access = 'caller' and admission.kind <> 'user' and not required_scopes && admission.scopes then
    perform private.raise_error('FORBIDDEN',
      format('This key needs the scope %s. Use a key that has it.',
        array_to_string(required_scopes, ' or ')));
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
  ignored := set_config('feedback.internal_write', 'off', true);
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

ALTER FUNCTION "private"."assume_caller"(text, uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit(action text, target_type text, target_id uuid, details jsonb DEFAULT '{}'::jsonb, organization_id uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  details := private.mask_addresses(details);
  -- Oversized details must not reject the change.
  if octet_length(details::text) > 20000 then details := '{"left_out": "more than 20,000 bytes"}'; end if;
  insert into private.audit_log (organization_id, actor_id, key_id, action, target_type, target_id,
    request_id, details)
  values (coalesce(audit.organization_id, private.current_organization_id()), private.caller_id(),
    private.key_id(), audit.action, audit.target_type, audit.target_id,
    case when session_user = 'feedback_api' then nullif(current_setting('feedback.request_id', true), '') end,
    details);
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_delete()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if tg_table_name = 'submissions' then
    perform private.audit('submission.delete', 'submission', old.id, '{}', old.organization_id);
  else
    perform private.audit('comment.delete', 'comment', old.id,
      jsonb_build_object('submission_id', old.submission_id), old.organization_id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_draft(organization_id uuid, survey_id uuid, changed text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare logged jsonb := jsonb_build_object('changed', changed);
begin
  -- Logged once for each request, whose separate statements write settings, questions and options.
  if not exists (select from private.audit_log a
    where a.organization_id = audit_draft.organization_id and a.target_id = survey_id
      and a.created_at >= now() and a.actor_id = private.caller_id()
      and (a.action = 'survey.create' or a.action = 'survey.update' and a.details = logged)) then
    perform private.audit('survey.update', 'survey', survey_id, logged, audit_draft.organization_id);
  end if;
end
$function$;

ALTER FUNCTION "private"."audit_draft"(uuid, uuid, text[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_edit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare changed text[] := (
  select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n
    join jsonb_each(to_jsonb(old)) o using (key)
  where n.value <> o.value and n.key = any (private.editable_columns(tg_relid)));
begin
  if changed is not null then
    perform private.audit('submission.update', 'submission', new.id, jsonb_build_object('changed', changed),
      new.organization_id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_questions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare question jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform private.audit_draft((question ->> 'organization_id')::uuid, (question ->> 'survey_id')::uuid,
    array['questions']);
  return null;
end
$function$;

ALTER FUNCTION "private"."audit_questions"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_read(action text, target_type text, target_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not exists (select from private.audit_log a
    where a.organization_id = audit_read.organization_id and a.target_id = audit_read.target_id
      and a.created_at > now() - interval '1 hour' and a.action = audit_read.action
      and a.actor_id = private.caller_id()) then
    perform private.audit(action, target_type, target_id, '{}', organization_id);
  end if;
end
$function$;

ALTER FUNCTION "private"."audit_read"(text, text, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_responses(survey_id uuid, action text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_survey(survey_id, 'responses:read');
begin
  if action = 'export' then
    perform private.audit('survey.export', 'survey', survey_id, '{}', own_id);
  else
    perform private.audit_read('survey.read_responses', 'survey', survey_id, own_id);
  end if;
end
$function$;

ALTER FUNCTION "private"."audit_responses"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_survey()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare changed text[];
begin
  if tg_op = 'INSERT' then
    perform private.audit('survey.create', 'survey', new.id, '{}', new.organization_id);
    return null;
  elsif tg_op = 'DELETE' then
    perform private.audit('survey.delete', 'survey', old.id, jsonb_build_object('status', old.status),
      old.organization_id);
    return null;
  end if;
  if new.status <> old.status then
    perform private.audit(case when new.status = 'paused' then 'survey.pause'
        when new.status = 'archived' then 'survey.archive'
        when old.status = 'draft' then 'survey.publish' else 'survey.resume' end,
      'survey', new.id, '{}', new.organization_id);
  end if;
  changed := (select array_agg(n.key order by n.key) from jsonb_each(to_jsonb(new)) n
      join jsonb_each(to_jsonb(old)) o using (key)
    where n.value <> o.value and n.key <> 'status' and n.key = any (private.editable_columns(tg_relid)));
  if changed is not null then
    perform private.audit_draft(new.organization_id, new.id, changed);
  end if;
  return null;
end
$function$;

ALTER FUNCTION "private"."audit_survey"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.audit_webhook(action text, webhook private.webhooks, details jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.audit('webhook.' || action, 'webhook', webhook.id,
    jsonb_build_object('host', private.host_of(webhook.url)) || details, webhook.organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.author(profile_id uuid, organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (
  select json_build_object(
    'id', p.id,
    'name', coalesce(p.name, 'Anonymous'),
    'avatar', private.avatar(p),
    'is_team_member', exists (select from public.memberships m
      where m.organization_id = author.organization_id and m.user_id = p.id))
  from public.profiles p where p.id = profile_id
);
end
$function$;

CREATE OR REPLACE FUNCTION private.author_of_key(email text, name text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare author_id uuid; known_name text;
begin
  if author_of_key.email is null and author_of_key.name is null then return private.caller_id(); end if;
  if not private.has_scope('submissions:write') then
    perform private.raise_error('FORBIDDEN',
      'This key needs the scope submissions:write. Use a key that has it.');
  end if;
  if author_of_key.email is null then
    -- The row is locked: an erasure waits, or this transaction waits for it and inserts another author.
    select p.id into author_id from public.profiles p
    where p.named_by_key and p.organization_id = private.key_organization_id()
      and p.name = private.person_name(author_of_key.name) for share;
    if author_id is null then
      insert into public.profiles as p (kind, organization_id, name, named_by_key)
      values ('anonymous', private.key_organization_id(), author_of_key.name, true)
      on conflict (organization_id, name) where named_by_key do update set name = p.name
      returning id into author_id;
    end if;
    return author_id;
  end if;
  select p.id, p.name into author_id, known_name from public.profiles p
  where p.kind = 'email' and p.organization_id = private.key_organization_id()
    and lower(p.email) = lower(author_of_key.email);
  -- The row is locked: a claim of the author (99_claims.sql) waits until this transaction ends, or this
  -- transaction waits for the claim, after which the address has another author.
  if author_id is not null and author_of_key.name is not null
    and known_name is distinct from author_of_key.name then
    update public.profiles p set name = author_of_key.name where p.id = author_id and p.kind = 'email'
    returning p.id into author_id;
  elsif author_id is not null then
    select p.id into author_id from public.profiles p where p.id = author_id and p.kind = 'email' for share;
  end if;
  if author_id is null then
    insert into public.profiles as p (kind, organization_id, email, name)
    values ('email', private.key_organization_id(), lower(author_of_key.email), author_of_key.name)
    on conflict (organization_id, lower(email)) where kind = 'email'
      do update set name = coalesce(p.name, excluded.name)
    returning id into author_id;
  end if;
  return author_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.authorize_tool_call(tool text, scope text, destructive boolean, confirmed boolean)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare agent private.agents;
begin
  if not private.has_scope(scope) then
    perform private.raise_error('FORBIDDEN',
      format('This key needs the scope %s. Use a key that has it.', scope), null,
      jsonb_build_object('scope', scope));
  end if;
  select * into agent from private.agents a where a.id = private.agent_id();
  if tool <> all (agent.tools) then
    perform private.raise_error('FORBIDDEN', format('The agent''s policies do not allow %s.', tool));
  end if;
  if destructive and agent.confirm_destructive and not confirmed then
    perform private.raise_error('VALIDATION_ERROR',
      'This tool updates or deletes data. Call it again with confirm: true.', 'confirm');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.before_request()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare refusal text := case when current_setting('role') = 'authenticated'
  then private.token_refusal() end;
begin
  if refusal is not null then
    -- PostgREST answers PT401 with status 401.
    raise exception using errcode = 'PT401', message = private.refusal_message(refusal),
      detail = '{"code": "UNAUTHORIZED"}';
  end if;
  -- The planner's estimate includes rows the caller may not see.
  if nullif(current_setting('request.headers', true), '')::json ->> 'prefer'
    ~* 'count\s*=\s*"?(planned|estimated)' then
    perform private.raise_error('VALIDATION_ERROR',
      'Use count=exact. An estimate would include rows you cannot see.', 'Prefer');
  end if;
  if current_setting('request.method', true) not in ('GET', 'HEAD') and current_setting('role')
    in ('anon', 'authenticated') then
    perform set_config('statement_timeout', '2s', true), set_config('lock_timeout', '1s', true);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.board(organization_id uuid, locale text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return json_build_object(
    'counts', private.board_counts(board.organization_id),
    'categories', (select coalesce(json_agg(json_build_object(
      'id', c.id,
      'name', private.localized(c.name, c.translations, board.locale),
      'slug', c.slug,
      'color', c.color)
        order by c.position, c.slug), '[]')
      from public.categories c where c.organization_id = board.organization_id),
    'tags', (select coalesce(json_agg(json_build_object(
      'name', private.localized(t.name, t.translations, board.locale),
      'slug', t.slug) order by t.slug), '[]')
      from public.tags t where t.organization_id = board.organization_id));
end
$function$;

ALTER FUNCTION "private"."board"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.board_counts(organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  all_of_them boolean := board_counts.organization_id = any (private.team_organization_ids());
  caller uuid := private.caller_id();
begin
  return (
    select json_build_object(
      'total', coalesce(sum(k.n) filter (where k.summed = 7), 0),
      'statuses', coalesce(json_object_agg(k.status, k.n) filter (where k.summed = 3), '{}'),
      'types', coalesce(json_object_agg(k.type, k.n) filter (where k.summed = 5), '{}'),
      'categories', coalesce(json_object_agg(k.category_id, k.n)
        filter (where k.summed = 6 and k.category_id is not null), '{}'))
    from (
      -- The counters are read once. Each bit of summed stands for a column that is summed over.
      select c.status, c.type, c.category_id, sum(c.total) as n,
        grouping(c.status, c.type, c.category_id) as summed
      from (
        select c.status, c.type, c.category_id, c.total from private.submission_counts c
        where c.organization_id = board_counts.organization_id and (c.is_public or all_of_them)
        union all
        select s.status, s.type, s.category_id, 1 from public.submissions s
        where not all_of_them and s.organization_id = board_counts.organization_id and s.author_id = caller
          and not s.is_public and s.merged_into_id is null
      ) c
      group by grouping sets ((), (c.status), (c.type), (c.category_id))
    ) k);
end
$function$;

CREATE OR REPLACE FUNCTION private.bound_metadata()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  known text[] := '{name,full_name,user_name,preferred_username,avatar_url,picture,locale}';
  of_auth jsonb := private.metadata_of_auth(new.raw_user_meta_data);
  metadata jsonb := new.raw_user_meta_data - array(select jsonb_object_keys(of_auth));
begin
  if private.token_bytes(metadata) <= 2048 then return new; end if;
  if new.email_confirmed_at is not null and new.raw_app_meta_data ->> 'provider' = 'email' then
    raise exception 'User metadata is larger than 2 KB.'
      using errcode = 'check_violation', constraint = 'user_metadata_is_small';
  end if;
  metadata := (select coalesce(jsonb_object_agg(key, left(value, 200)), '{}') from jsonb_each_text(metadata)
    where key = any (known) and (length(value) <= 200 or key not in ('avatar_url', 'picture')));
  new.raw_user_meta_data := case when private.token_bytes(metadata) <= 2048 then of_auth || metadata
    else of_auth end;
  return new;
end
$function$;

ALTER FUNCTION "private"."bound_metadata"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.broadcast(changed_table text, changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if changes is null then return; end if;
  perform realtime.send(
    jsonb_build_object(
      'schema', 'public',
      'table', changed_table,
      'operation', operation,
      'record', case when operation <> 'DELETE' then c -> 'record' end,
      'old_record', case when operation <> 'INSERT' then c -> 'key' end)
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
  if private.is_importing() then return null; end if;
  topics := array(select private.comment_topic(c) from changed c);
  -- Count topics before joining rows: a plan made for one row would compare each old row with each new one.
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
        'topic', private.comment_topic(n),
        'home', private.submission_topic(s.id, s.is_public),
        'submission', private.counts_of(s),
        'record', to_jsonb(n))))
      from changed n join public.submissions s on s.id = n.submission_id;
    when 'UPDATE' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o),
        'topic', private.comment_topic(n),
        'home', private.submission_topic(s.id, s.is_public),
        'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id),
        'record', to_jsonb(n))))
      from old_rows o join changed n using (id) join public.submissions s on s.id = n.submission_id
        where o is distinct from n;
    else
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o),
        'home', private.submission_topic(s.id, s.is_public),
        'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id))))
      from changed o join public.submissions s on s.id = o.submission_id;
  end case;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_counts()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare at private.broadcast_cursor; last record; told integer := 0;
begin
  select * into at from private.broadcast_cursor for update skip locked;
  if at.xid is null then return 0; end if;
  select e.xid, e.id into last from (
    select o.xid, o.id from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit 10000) e
  order by e.xid desc, e.id desc limit 1;
  if last.xid is null then return 0; end if;
  perform realtime.send(jsonb_build_object(
    'schema', 'public',
    'table', 'submissions',
    'operation', 'COUNTS',
    'records', page.records), 'COUNTS', page.topic, true)
  from (
    select n.topic, jsonb_agg(n.counts) as records
    from (
      select private.board_topic(s.organization_id, s.is_public) as topic, private.counts_of(s) as counts,
        row_number() over (partition by s.organization_id, s.is_public order by s.id) / 100 as page
      from public.submissions s
      where s.id in (
        select o.subject_id from private.outbox o
        where (o.xid, o.id) > (at.xid, at.id) and (o.xid, o.id) <= (last.xid, last.id)
          and o.type in ('submission.vote_added', 'submission.vote_removed'))) n
    group by n.topic, n.page) page;
  get diagnostics told = row_count;
  update private.broadcast_cursor c set xid = last.xid, id = last.id where c.is_only;
  return told;
end
$function$;

CREATE OR REPLACE FUNCTION private.broadcast_moderation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  perform realtime.send(jsonb_build_object(
    'schema', 'public',
    'table', tg_table_name,
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

CREATE OR REPLACE FUNCTION private.broadcast_submissions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare changes jsonb; topics text[];
begin
  -- This is checked first: most updates come from votes. It is not a join: see private.broadcast_comments.
  if tg_op = 'UPDATE' and not private.is_internal_write() then
    if not exists (
      select n.id, n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at,
        n.comment_count from changed n
      except select o.id, o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id,
        o.updated_at, o.comment_count from old_rows o) then
      return null;
    end if;
  end if;
  if private.is_importing() then return null; end if;
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
      select jsonb_agg(jsonb_build_object(
        'topic', private.board_topic(n.organization_id, n.is_public),
        'record', private.broadcast_submission_shape(n))) into changes
      from changed n;
    when 'UPDATE' then
      select jsonb_agg(jsonb_build_object(
        'old_topic', t.old_topic,
        'topic', t.topic,
        'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
        'record', private.broadcast_submission_shape(n))) into changes
      from old_rows o join changed n using (id)
        cross join unnest(private.topics_of(o), private.topics_of(n)) with ordinality
          t (old_topic, topic, nth)
      where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
          is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id,
            n.updated_at)
        -- Votes moved by a merge are not broadcast one by one. All other votes are; the board then gets vote
        -- counts later, and comment counts at once.
        or private.is_internal_write() and (o.vote_count, o.comment_count) <> (n.vote_count, n.comment_count)
        or t.nth = 1 and o.comment_count <> n.comment_count;
    else
      select jsonb_agg(jsonb_build_object(
        'old_topic', t.topic,
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
  if private.is_internal_write() then return null; end if;
  if (select count(*) from changed) > 100 then
    ids := array(select distinct submission_id from changed);
    perform private.broadcast_reload('votes', array(
      select private.submission_topic(s.id, s.is_public) from public.submissions s where s.id = any (ids)));
    return null;
  end if;
  -- Votes do not use private.broadcast: they are the most frequent change and never move to another topic.
  perform realtime.send(jsonb_build_object(
    'schema', 'public',
    'table', 'votes',
    'operation', tg_op,
    'record', case when tg_op = 'INSERT'
      then jsonb_build_object(
        'id', v.id,
        'organization_id', v.organization_id,
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

CREATE OR REPLACE FUNCTION private.bulk_item(submission_id uuid, action text, wanted text[], ids uuid[], note text, notify boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare changed bigint;
begin
  case action
    when 'set_status' then
      insert into public.status_changes (organization_id, submission_id, new_status, note, notify)
      select s.organization_id, s.id, wanted[1], bulk_item.note, bulk_item.notify from public.submissions s
        where s.id = bulk_item.submission_id;
    when 'set_category' then
      update public.submissions s set category_id = ids[1]
        where s.id = bulk_item.submission_id and s.category_id is distinct from ids[1];
    when 'add_tags' then
      insert into public.submission_tags (organization_id, submission_id, tag_id)
      select s.organization_id, s.id, t from public.submissions s, unnest(ids) t
        where s.id = bulk_item.submission_id
      on conflict do nothing;
    when 'remove_tags' then
      delete from public.submission_tags st where st.submission_id = bulk_item.submission_id
        and st.tag_id = any (ids);
    when 'delete' then
      delete from public.submissions s where s.id = bulk_item.submission_id;
  end case;
  get diagnostics changed = row_count;
  return changed;
end
$function$;

CREATE OR REPLACE FUNCTION private.call_dispatcher()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.call_function('/webhook-dispatch');
end
$function$;

CREATE OR REPLACE FUNCTION private.call_function(path text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare dispatcher text; password text;
begin
  if to_regclass('vault.decrypted_secrets') is null or to_regnamespace('net') is null then return false; end
    if;
  dispatcher := (select s.decrypted_secret from vault.decrypted_secrets s
    where s.name = 'webhook_dispatch_url');
  password := (select s.decrypted_secret from vault.decrypted_secrets s
    where s.name = 'webhook_dispatch_secret');
  if dispatcher is null or password is null then return false; end if;
  perform net.http_post(url => regexp_replace(dispatcher, '/webhook-dispatch/?$', path), body => '{}'::jsonb,
    headers => jsonb_build_object('Content-Type', 'application/json', 'Authorization', 'Bearer ' || password),
    timeout_milliseconds => 5000);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION private.call_importer()
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
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

CREATE OR REPLACE FUNCTION private.can_read_analytics(organization_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce(current_setting('role', true), 'none') in ('none', '', 'service_role')
    or private.is_admin(organization_id, 'analytics:read');
end
$function$;

CREATE OR REPLACE FUNCTION private.can_see_respondents(survey_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return not private.is_key() or private.has_scope(private.voters_scope())
    or exists (select from public.surveys s
      where s.id = can_see_respondents.survey_id and s.audience = 'everyone');
end
$function$;

CREATE OR REPLACE FUNCTION private.candidate_submissions(organization_id uuid, status text, type text, category_id uuid, tag_id uuid, author_id uuid, q text, OUT submission_ids uuid[], OUT is_complete boolean, OUT is_few boolean)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
  select f.submission_ids, cardinality(f.submission_ids) < 5001, true
  from private.list_submissions(organization_id, q, status, type, category_id, tag_id, author_id,
    'created_at', false, null, null, 0, 5001) f
$function$;

ALTER FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.change_mail_preferences(organization_id uuid, profile_id uuid, changes jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare own_address text := private.mail_address(change_mail_preferences.profile_id);
begin
  if private.mail_preferences(organization_id, profile_id) is null then return null; end if;
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, c.kind, c.choice
  from jsonb_each_text(coalesce(changes -> 'choices', '{}')) c (kind, choice)
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  if (changes ->> 'stopped')::boolean then
    perform private.suppress_address(organization_id, profile_id, own_address, 'refused');
  elsif not (changes ->> 'stopped')::boolean then
    delete from private.mail_suppressions s
    where s.organization_id = change_mail_preferences.organization_id and s.reason = 'refused'
      and s.address_hash = private.address_hash(own_address);
  end if;
  if changes ? 'mute' then
    insert into private.mail_mutes (organization_id, submission_id, profile_id)
    select s.organization_id, s.id, change_mail_preferences.profile_id from public.submissions s
    where s.organization_id = change_mail_preferences.organization_id
      and s.id = (changes ->> 'mute')::uuid
    on conflict do nothing;
  end if;
  -- The link of a digest stops all kinds that are sent in digests.
  insert into private.mail_choices as m (organization_id, profile_id, kind, choice)
  select change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind, 'never'
  from private.mail_kinds() k
  where k.choices <> '{}'
    and case
      when changes ->> 'stop' = 'digest' then k.kind <> 'team' and private.mail_choice(
        change_mail_preferences.organization_id, change_mail_preferences.profile_id, k.kind)
        in ('daily', 'weekly')
      else k.kind = changes ->> 'stop'
    end
  on conflict on constraint mail_choices_pkey do update set choice = excluded.choice;
  delete from private.mail_mutes m where m.organization_id = change_mail_preferences.organization_id
    and m.profile_id = change_mail_preferences.profile_id
    and m.submission_id = (changes ->> 'unmute')::uuid;
  return private.mail_preferences(organization_id, profile_id);
exception when check_violation then
  perform private.raise_error('VALIDATION_ERROR',
    'must have only choices that the kind of email offers (of at_once, daily, weekly, and never)', 'choices');
  return null;
end
$function$;

ALTER FUNCTION "private"."change_mail_preferences"(uuid, uuid, jsonb) OWNER TO "postgres";

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

ALTER FUNCTION "private"."change_my_mail_preferences"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.change_survey_status(survey_id uuid, action text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  target text := case action when 'pause' then 'paused' when 'archive' then 'archived' else 'published' end;
  present text;
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  present := private.lock_survey(survey_id);
  if present = target then return; end if;
  if action <> 'archive' and present <> (case action when 'publish' then 'draft' when 'pause' then 'published'
    else 'paused' end) then
    perform private.raise_error('CONFLICT', format('%s survey cannot be %s.%s',
      case present when 'archived' then 'An archived' else 'A ' || present end,
      case action when 'publish' then 'published' when 'pause' then 'paused' else 'resumed' end,
      case when action = 'publish' and present = 'paused' then ' Resume it instead.' else '' end), 'status');
  end if;
  update public.surveys s set status = target where s.id = change_survey_status.survey_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.charge(rule text, max_requests integer, window_seconds integer, subject text, calls integer)
 RETURNS private.rate_state
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  at timestamptz := clock_timestamp();
  length interval := make_interval(secs => window_seconds);
  used integer;
  reset_at timestamptz;
begin
  -- A charge above the limit changes nothing and returns no row. A window that begins in the future is over too:
  -- the clock went back.
  insert into private.rate_counters as c (rule, subject, started_at, used) values (rule, subject, at, calls)
  on conflict on constraint rate_counters_pkey do update set
    started_at = case when c.started_at between at - length and at + length then c.started_at else at end,
    used = case when c.started_at between at - length and at + length then c.used + calls else calls end
    where c.started_at not between at - length and at + length or c.used + calls <= charge.max_requests
  returning c.used, c.started_at + length into used, reset_at;
  if used is null then
    select c.used, c.started_at + length into used, reset_at from private.rate_counters c
    where c.rule = charge.rule and c.subject = charge.subject;
    return (max_requests, greatest(0, max_requests - used), coalesce(reset_at, at + length), false);
  end if;
  return (max_requests, greatest(0, max_requests - used), reset_at, used <= max_requests);
end
$function$;

CREATE OR REPLACE FUNCTION private.charge_comment(comment public.comments)
 RETURNS public.comments
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare submission_is_public boolean;
begin
  -- Charge each row before locking, so that a client over its limit is rejected without locking.
  if private.is_direct() then perform private.charge_direct('comment_create', 1); end if;
  perform private.lock_open_submission(comment.submission_id);
  submission_is_public := (select s.is_public from public.submissions s where s.id = comment.submission_id);
  if not private.is_importing() then
    comment.is_official := private.is_member(comment.organization_id, comment.author_id);
    if private.needs_approval(comment.organization_id, comment.author_id) then
      comment.moderation_state := 'pending';
    end if;
  end if;
  comment.is_public := coalesce(submission_is_public, false) and comment.moderation_state = 'approved';
  return comment;
end
$function$;

CREATE OR REPLACE FUNCTION private.charge_direct(operation text, calls bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare state private.rate_state;
begin
  if calls = 0 then return; end if;
  state := private.charge_rule(operation, coalesce(private.caller_id()::text, 'nobody'), calls::integer);
  if not state.allowed then
    perform private.raise_error('RATE_LIMIT_EXCEEDED', 'Too many requests. Wait and try again.', null,
      jsonb_build_object(
        'retry_after', greatest(1, ceil(extract(epoch from state.reset_at - clock_timestamp()))::integer)));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.charge_direct_vote(submission_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.my_vote(submission_id) is null then perform private.charge_direct('vote_create', 1); end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.charge_rule(rule text, subject text, calls integer DEFAULT 1)
 RETURNS private.rate_state
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare known private.rate_limit_rules;
begin
  select * into known from private.rate_limit_rules r where r.name = charge_rule.rule;
  if known.name is null or subject is null then return (null, null, null, true)::private.rate_state;
  end if;
  return private.charge(known.name, known.max_requests, known.window_seconds, subject, calls);
end
$function$;

ALTER FUNCTION "private"."charge_rule"(text, text, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.charge_submission_edit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_direct() then perform private.charge_direct('submission_update_user', 1); end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_answer(question public.survey_questions, value jsonb)
 RETURNS private.checked_answer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  kind text := jsonb_typeof(value);
  plain text := private.trim_text(value #>> '{}');
  lowest integer := private.lowest_answer(question.type);
  highest integer := coalesce(question.scale, 10);
  chosen text[]; named text[];
begin
  if value is null or kind = 'null' or plain = '' or value = '[]' then return null; end if;
  case question.type
    when 'nps', 'rating' then
      if kind <> 'number' or plain::numeric <> trunc(plain::numeric) or plain::numeric not between lowest
        and highest then
        return row(null, format('must be a whole number from %s to %s', lowest,
          highest))::private.checked_answer;
      end if;
      return row(to_jsonb(plain::numeric::integer), null)::private.checked_answer;
    when 'multiple_choice' then
      if kind = 'array' and not question.multiple then
        return row(null, 'must be a single option')::private.checked_answer;
      elsif kind not in ('string', 'array') or kind = 'array'
        and jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")') then
        return row(null, case when question.multiple then 'must be a list of options (id or text)'
          else 'must be one of the options (id or text)' end)::private.checked_answer;
      end if;
      chosen := case kind when 'string' then array[plain]
        else array(select private.trim_text(c) from jsonb_array_elements_text(value) c limit 101) end;
      named := array(select o.text from public.survey_options o
        where o.question_id = question.id and (o.text = any (chosen) or o.id::text = any (chosen))
          order by o.position);
      if exists (select from unnest(chosen) c where not exists (
          select from public.survey_options o
            where o.question_id = question.id and c in (o.text, o.id::text))) then
        return row(null, 'must be one of the options (id or text)')::private.checked_answer;
      elsif cardinality(named) < cardinality(chosen) then
        return row(null, 'must not repeat an option')::private.checked_answer;
      end if;
      return row(case when question.multiple then to_jsonb(named)
        else to_jsonb(named[1]) end, null)::private.checked_answer;
    when 'email' then
      if kind <> 'string' or not private.is_email(plain) then
        return row(null,
          'must be an email address of at most 254 characters, such as name@example.org'
        )::private.checked_answer;
      end if;
    -- No ELSE: a question type without validation must raise an error.
    when 'text' then
      if kind <> 'string' or char_length(plain) > 5000 then
        return row(null, 'must be a string of at most 5,000 characters')::private.checked_answer;
      end if;
  end case;
  return row(to_jsonb(plain), null)::private.checked_answer;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_ids(import private.imports, records jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare checked jsonb;
begin
  with given as materialized (
    select r.key, case r.key when 'merged' then 'submission' else r.key end as kind,
      coalesce(e.value ->> 'id', e.value ->> 'slug') as id, e.value, (e.value -> 'n')::integer as n,
      md5((e.value - '{n,line}'::text[])::text)::uuid as content
    from jsonb_each(records) r
      cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e (value)
  ), compared as (
    select g.*, g.id is not null and g.content <> coalesce(i.content,
      first_value(g.content) over (partition by g.kind, g.id order by g.n)) as is_repeated
    from given g left join private.import_ids i on i.organization_id = import.organization_id
      and i.import_id = import.id and i.kind = g.kind and i.external_id = g.id
  ), noted as (
    insert into private.import_ids (organization_id, import_id, kind, external_id, content)
    select distinct on (g.kind, g.id) import.organization_id, import.id, g.kind, g.id, g.content
    from given g where g.id is not null order by g.kind, g.id, g.n
    on conflict do nothing
  )
  select records || coalesce(jsonb_object_agg(l.key, l.list), '{}') into checked from (
    select c.key, coalesce(jsonb_agg(case when import.is_dry_run then c.value
        - case when seen.parent then 'parent_id' else '' end
        - case when seen.audience then 'audience_submission_id' else '' end
        || jsonb_build_object('seen', seen.target) else c.value end order by c.n)
        filter (where not c.is_repeated), '[]') as list
    from compared c cross join lateral (
      select coalesce(bool_or(i.kind = 'comment' and i.external_id = c.value ->> 'parent_id'), false)
        as parent,
        coalesce(bool_or(i.kind = 'submission'
          and i.external_id = c.value ->> 'audience_submission_id'), false) as audience,
        coalesce(bool_or(i.external_id = c.value ->> (i.kind || '_id')), false) as target
      from private.import_ids i
      where import.is_dry_run and i.organization_id = import.organization_id and i.import_id = import.id
        and (i.kind, i.external_id) in (('comment', c.value ->> 'parent_id'),
          ('submission', c.value ->> 'audience_submission_id'),
          ('submission', c.value ->> 'submission_id'), ('comment', c.value ->> 'comment_id'),
          ('survey', c.value ->> 'survey_id'))) seen
    group by c.key
    union all
    select 'repeated', jsonb_agg(jsonb_build_object(
      'n', c.n,
      'line', c.value -> 'line',
      'field', case when c.value ? 'id' then 'id' else 'slug' end,
      'message', 'is that of an earlier record with other values; not imported') order by c.n)
    from compared c where c.is_repeated having count(*) > 0) l;
  return checked;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_questions(survey_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare question record; asked boolean := false;
begin
  for question in
    select q.type, q.position, exists (select from public.survey_options o
      where o.question_id = q.id) as has_options
    from public.survey_questions q where q.survey_id = check_questions.survey_id order by q.position
  loop
    asked := true;
    if (question.type = 'multiple_choice') <> question.has_options then
      perform private.raise_error('CONFLICT',
        format(case when question.has_options then 'Question %s has options but is not multiple_choice. '
          'Remove its options or change its type.'
        else 'Question %s is multiple_choice but has no options. Add some.' end, question.position),
          format('questions.%s.options', question.position - 1));
    end if;
  end loop;
  if not asked then
    perform private.raise_error('CONFLICT',
      'A survey without questions cannot be published. Add a question first.', 'questions');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_response(response public.survey_responses)
 RETURNS public.survey_responses
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  survey public.surveys;
  -- Scores {engine, scores} that the edge functions computed, one for each sent answer. Clients of the data
  -- API cannot send them.
  judged jsonb := nullif(current_setting('feedback.sentiment', true), '')::jsonb;
  item record;
  checked private.checked_answer;
  kept jsonb[] := '{}';
  complaints jsonb[] := '{}';
  numbers numeric[] := '{}';
  texts numeric[] := '{}';
begin
  survey := private.require_open_survey(response.survey_id, response.user_id);
  if not private.targets_locale(survey, response.locale) then
    perform private.raise_error('FORBIDDEN',
      format('This survey is only for people who use one of these languages: %s.',
        array_to_string(survey.locales, ', ')));
  end if;
  if coalesce(jsonb_typeof(response.answers), '') <> 'array' or jsonb_array_length(response.answers) > 200
    then
    perform private.raise_error('VALIDATION_ERROR', 'must be an array of at most 200 answers', 'answers');
  end if;
  for item in
    select asked.question, a.n - 1 as index, a.answer -> 'value' as value,
      row_number() over (partition by asked.id order by a.n) as nth
    from jsonb_array_elements(response.answers) with ordinality as a (answer, n)
    full join (select q as question, q.id, q.position from public.survey_questions q
      where q.survey_id = survey.id) asked
      on asked.id::text = lower(a.answer ->> 'question_id')
    order by asked.position, a.n
  loop
    if item.index is not null and (item.question).id is null then
      complaints := complaints || jsonb_build_object(
        'field', format('answers.%s.question_id', item.index),
        'message', 'is not a question of this survey');
      continue;
    elsif item.nth > 1 then
      complaints := complaints || jsonb_build_object(
        'field', format('answers.%s.question_id', item.index),
        'message', 'must not be answered twice');
      continue;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      complaints := complaints || jsonb_build_object(
        'field', format('answers.%s.value', item.index),
        'message', checked.complaint);
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
      if private.answer_kind((item.question).type) = 'number' then
        numbers := numbers || private.sentiment_of_number(item.question, checked.value::integer);
      elsif (item.question).type = 'text'
        and jsonb_typeof(judged -> 'scores' -> item.index::integer) = 'number' then
        texts := texts || greatest(-1, least(1, (judged -> 'scores' ->> item.index::integer)::numeric));
      end if;
    elsif (item.question).required then
      complaints := complaints || jsonb_build_object(
        'field', format('questions.%s', (item.question).id),
        'message', format('needs an answer: %s', left((item.question).text, 100)));
    end if;
  end loop;
  if cardinality(complaints) = 0 and cardinality(kept) = 0 then
    complaints := array[jsonb_build_object('field', 'answers', 'message', 'must answer at least one question')];
  end if;
  if cardinality(complaints) > 0 then
    perform private.raise_error('VALIDATION_ERROR',
      'Some answers are missing or not valid. See details.', null,
      jsonb_build_object('details', to_jsonb(complaints[1:50])));
  end if;
  response.organization_id := survey.organization_id;
  response.answers := to_jsonb(kept);
  response.is_only := not survey.allow_multiple_responses;
  if response.started_at is null then
    select least(s.started_at, response.submitted_at) into response.started_at from private.survey_starts s
    where s.survey_id = survey.id
      and s.user_id = any (private.same_person(response.user_id, survey.organization_id))
    order by s.started_at limit 1 for update;
  end if;
  if response.sentiment_score is null then
    response.sentiment_score := private.sentiment_of_response(private.mean(numbers), private.mean(texts));
    response.sentiment_engine := case when cardinality(texts) > 0 then judged ->> 'engine'
      when cardinality(numbers) > 0 then 'answers' end;
  end if;
  return response;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_stream_limit(kind regclass, agent_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare max_open constant integer := 100; open integer;
begin
  -- Serializes calls by agent, so that the limit holds.
  perform 1 from private.agents a where a.id = agent_id for no key update;
  execute format('select count(*) from %s where agent_id = $1 and expires_at > now()', kind) into open
    using agent_id;
  if open >= max_open then
    perform private.raise_error('RATE_LIMIT_EXCEEDED',
      format(case kind when 'private.agent_subscriptions'::regclass
        then 'An agent can have at most %s subscriptions. Wait until one expires.'
        else 'An agent can have at most %s unread streams. Read one, or wait until one expires.' end,
        max_open),
      null, jsonb_build_object('retry_after', 60));
  end if;
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
  -- A stronger lock would block inserts of rows that reference the profile.
  select * into author from public.profiles p
  where p.id = author_id and p.organization_id = claim_author.organization_id for no key update;
  if author.id is null or author.kind <> 'email' then
    perform private.raise_error('CONFLICT', 'This was already claimed, or there is nothing left to claim.');
  end if;
  if claimer_id is null or not private.has_address(claimer_id, author.email) then
    perform private.raise_error('FORBIDDEN',
      'Sign in with an account that has confirmed the address this email was sent to.');
  end if;
  perform private.lock_personal_rows(author_id, organization_id);
  perform set_config('feedback.internal_write', 'on', true);
  update public.submissions s set author_id = claimer_id where s.author_id = claim_author.author_id;
  update private.submission_subtotals n set author_id = claimer_id
    where n.author_id = claim_author.author_id;
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
  -- What either of the two unfollowed stays unfollowed.
  insert into private.unfollows (organization_id, submission_id, user_id, created_at)
  select u.organization_id, u.submission_id, claimer_id, u.created_at from private.unfollows u
  where u.user_id = author_id
  on conflict do nothing;
  delete from private.unfollows u where u.user_id = author_id;
  delete from public.follows f using private.unfollows u
  where f.user_id = claimer_id and (u.submission_id, u.user_id) = (f.submission_id, f.user_id);
  update public.status_changes h set changed_by = claimer_id where h.changed_by = author_id;
  perform set_config('feedback.internal_write', 'off', true);
  perform private.claim_responses(author_id, claimer_id);
  -- The account inherits the team's trust decision about the author; distrust takes precedence.
  insert into private.author_trust as t (organization_id, user_id, is_trusted)
  select d.organization_id, claimer_id, d.is_trusted from private.author_trust d where d.user_id = author_id
  on conflict on constraint author_trust_pkey do update set is_trusted = t.is_trusted and excluded.is_trusted;
  delete from private.author_trust t where t.user_id = author_id;
  perform private.claim_mail(organization_id, author_id, claimer_id);
  -- A session of the organization's application belongs to the author, never to the account. An application
  -- that identifies the author again gets a new session.
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

ALTER FUNCTION "private"."claim_author"(uuid, uuid) OWNER TO "postgres";

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
          -- An expired claim proves nothing about the receiver: the attempt is logged, but not counted by the
          -- retry schedule.
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
        -- The organization whose last turn was longest ago.
        order by (select max(coalesce(o.claimed_until, o.updated_at)) from private.imports o
          where o.organization_id = w.organization_id and o.state = 'running'), w.updated_at
        limit 1 for update skip locked)
      returning i.*)
    select c.id, c.organization_id, p.auth_user_id, k.digest from claimed c
    left join public.profiles p on p.id = c.profile_id and c.key_id is null
    left join private.api_keys k on k.id = c.key_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_mail(organization_id uuid, author_id uuid, claimer_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_variable
begin
  delete from public.notifications n using public.notifications o
  where n.user_id = author_id and o.user_id = claimer_id and o.event_id = n.event_id;
  update public.notifications n set user_id = claimer_id where n.user_id = author_id;
  delete from private.mails m where m.profile_id = author_id and exists (select from private.mails o
    where o.profile_id = claimer_id and o.event_ids[1] = m.event_ids[1]);
  update private.mails m set profile_id = claimer_id where m.profile_id = author_id;
  delete from private.mail_items m where m.profile_id = author_id and exists (select from private.mail_items o
    where o.profile_id = claimer_id and o.event_id = m.event_id);
  update private.mail_items m set profile_id = claimer_id where m.profile_id = author_id;
  insert into private.mail_choices (organization_id, profile_id, kind, choice)
  select c.organization_id, claimer_id, c.kind, c.choice from private.mail_choices c
  where c.profile_id = author_id
  on conflict do nothing;
  insert into private.mail_mutes (organization_id, submission_id, profile_id, created_at)
  select m.organization_id, m.submission_id, claimer_id, m.created_at from private.mail_mutes m
  where m.profile_id = author_id
  on conflict do nothing;
  delete from private.mail_choices c where c.profile_id = author_id;
  delete from private.mail_mutes m where m.profile_id = author_id;
  update private.mail_suppressions s set profile_id = claimer_id where s.profile_id = author_id;
end
$function$;

ALTER FUNCTION "private"."claim_mail"(uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.claim_mails(max_rows integer)
 RETURNS TABLE(id uuid, attempt integer, kind text, created_at timestamp with time zone, address text, profile jsonb, organization jsonb, events jsonb)
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  sender public.organizations;
  mail private.mails;
  recipient text;
  told jsonb;
  confirmed boolean;
  counted boolean;
  claimed integer := 0;
  removed boolean := false;
  lane boolean; -- private.mails.is_confirmed: confirmed recipients first
  due uuid[];
  share integer;
begin
  if max_rows <= 0 then return; end if;
  due := array(select private.senders_of_due_mails());
  -- Dropped or postponed mails do not count against max_rows: a share for each organization bounds the scan.
  share := greatest(1000 / greatest(cardinality(due), 1), 1);
  -- Organizations in random order, so that the many mails of one do not delay those of others.
  for sender in select o.* from public.organizations o where o.id = any (due) order by random() loop
    foreach lane in array array[true, false] loop
      for mail in
        select m.* from private.mails m
        where m.organization_id = sender.id and m.is_confirmed = lane and m.status in ('pending', 'sending')
          and m.next_attempt_at <= now()
        order by m.next_attempt_at limit share for update skip locked
      loop
        if claimed >= max_rows then return; end if;
        recipient := private.address_of(mail);
        told := null;
        if recipient is not null and sender.mail_enabled
          and not private.is_suppressed(mail.organization_id, recipient)
          and not private.has_same_mail(mail) then
          told := private.mail_content(mail);
        end if;
        if told is null then
          update private.mails m set status = 'dropped', finished_at = now(), claimed_at = null
            where m.id = mail.id;
          removed := true;
          continue;
        end if;
        confirmed := private.is_confirmed_recipient(sender.id, mail.profile_id);
        if not confirmed and lane then
          update private.mails m set is_confirmed = false where m.id = mail.id;
          continue;
        end if;
        if not confirmed and mail.attempt_count = 0 then
          counted := private.take_unconfirmed_mail(sender);
          if not counted then
            perform private.put_off_mails(sender, share);
            removed := true;
          end if;
          exit when counted is not true;
        end if;
        claimed := claimed + 1;
        update private.mails m set status = 'sending', claimed_at = now(),
          next_attempt_at = now() + interval '2 minutes', attempt_count = m.attempt_count + 1,
          -- An expired claim proves nothing about the server: the retry schedule does not count it.
          counted_from = m.counted_from + (m.status = 'sending')::integer
        where m.id = mail.id returning m.* into mail;
        return query
          select mail.id, mail.attempt_count, mail.kind, mail.created_at, recipient,
            (select jsonb_build_object(
              'id', p.id,
              'kind', p.kind,
              'name', p.name,
              'is_confirmed', confirmed,
              'locale', private.mail_locale(p.id, sender.id))
              from public.profiles p where p.id = mail.profile_id),
            jsonb_build_object(
              'id', sender.id,
              'slug', sender.slug,
              'name', sender.name,
              'brand_color', sender.brand_color,
              'logo_url', sender.logo_url,
              'default_locale', sender.default_locale,
              'time_zone', sender.time_zone,
              'is_default', sender.id = private.default_organization_id()), told;
      end loop;
    end loop;
  end loop;
  -- A dispatcher stops when it gets no claims, but more mails may be due beyond the shares.
  if removed and claimed = 0 then perform private.wake_mailer(); end if;
end
$function$;

ALTER FUNCTION "private"."claim_mails"(integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.claim_responses(author_id uuid, claimer_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- Both profiles answered only if the user got the address later: the first answer counts.
  delete from public.survey_responses r using public.survey_responses o
  where r.is_only and o.is_only and o.survey_id = r.survey_id
    and r.user_id in (author_id, claimer_id) and o.user_id in (author_id, claimer_id)
    and (o.submitted_at, o.id) < (r.submitted_at, r.id);
  update public.survey_responses r set user_id = claimer_id where r.user_id = author_id;
  delete from private.survey_starts b where b.user_id = author_id and exists (
    select from private.survey_starts o where o.survey_id = b.survey_id and o.user_id = claimer_id
    union all select from public.survey_responses o where o.survey_id = b.survey_id and o.user_id = claimer_id
      and o.is_only);
  update private.survey_starts b set user_id = claimer_id where b.user_id = author_id;
end
$function$;

ALTER FUNCTION "private"."claim_responses"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.claim_shard(organization_id uuid, survey_id uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  own text[] := string_to_array(current_setting('feedback.survey_shard', true), ' ');
  taken integer;
begin
  if own[1] = survey_id::text then return own[2]; end if;
  select c.shard into taken from private.survey_counts c where c.survey_id = claim_shard.survey_id
  order by c.shard limit 1 for no key update skip locked;
  if taken is null then
    insert into private.survey_counts (organization_id, survey_id, shard)
    values (claim_shard.organization_id, claim_shard.survey_id, (random() * 2147483647)::integer)
      returning shard into taken;
  end if;
  perform set_config('feedback.survey_shard', survey_id || ' ' || taken, true);
  return taken;
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
  return json_build_object(
    'state', case when not is_locked then 'running'
      when stream.events is null then 'waiting' else 'finished' end,
    'tool', stream.tool,
    'arguments', stream.arguments,
    'confirmed', stream.confirmed,
    'locale', stream.locale,
    'is_sentence', stream.is_sentence,
    'events', stream.events);
end
$function$;

CREATE OR REPLACE FUNCTION private.claim_votes(organization_id uuid, author_id uuid, claimer_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_variable
declare doubles uuid[] := array(select v.submission_id from public.votes v
  join public.votes o on o.submission_id = v.submission_id and o.user_id = claimer_id
  where v.user_id = author_id and v.organization_id = claim_votes.organization_id);
begin
  -- A vote that a merge moved goes into the journal, so that an unmerge gives it back to its source.
  insert into private.merged_votes (source_id, user_id, organization_id, id, created_at)
  select v.merged_from, claimer_id, v.organization_id, v.id, v.created_at from public.votes v
  where v.submission_id = any (doubles) and v.user_id in (author_id, claimer_id) and v.merged_from is not null
    and (v.user_id = author_id or exists (select from public.votes o
      where o.submission_id = v.submission_id and o.user_id = author_id and o.merged_from is null))
  on conflict do nothing;
  update public.votes v set merged_from = null
  where v.submission_id = any (doubles) and v.user_id = claimer_id and v.merged_from is not null
    and exists (select from public.votes o
      where o.submission_id = v.submission_id and o.user_id = author_id and o.merged_from is null);
  delete from public.votes v where v.submission_id = any (doubles) and v.user_id = author_id;
  update public.votes v set user_id = claimer_id
  where v.user_id = author_id and v.organization_id = claim_votes.organization_id;
  delete from private.merged_votes j using private.merged_votes o
  where j.user_id = author_id and j.organization_id = claim_votes.organization_id
    and o.source_id = j.source_id and o.user_id = claimer_id;
  update private.merged_votes j set user_id = claimer_id
  where j.user_id = author_id and j.organization_id = claim_votes.organization_id;
  -- A source has the vote once: on its target, or in the journal.
  delete from private.merged_votes j using public.votes v
  where j.user_id = claimer_id and j.organization_id = claim_votes.organization_id
    and v.user_id = claimer_id and v.merged_from = j.source_id;
  perform private.recount(doubles);
end
$function$;

ALTER FUNCTION "private"."claim_votes"(uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.clean_name()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.name := private.person_name(new.name);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.clone_survey(survey_id uuid, new_id uuid DEFAULT gen_random_uuid())
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare source public.surveys;
begin
  perform private.lock_survey(survey_id);
  select * into source from public.surveys s where s.id = clone_survey.survey_id;
  perform private.require_admin(source.organization_id, 'surveys:publish');
  if source.status not in ('published', 'paused') then
    perform private.raise_error('CONFLICT',
      'Only published or paused surveys can have a new version.', 'status');
  end if;
  insert into public.surveys (id, organization_id, title, description, allow_multiple_responses,
    show_branding, redirect_url, audience,
    audience_submission_id, locales, closes_at, version_of, family_id)
  values (new_id, source.organization_id, source.title, source.description, source.allow_multiple_responses,
    source.show_branding, source.redirect_url,
    source.audience, source.audience_submission_id, source.locales, case when source.closes_at > now()
      then source.closes_at end, source.id, source.family_id);
  with copied as materialized (
    select gen_random_uuid() as new_question_id, q.* from public.survey_questions q
      where q.survey_id = source.id
  ), written as (
    insert into public.survey_questions
      (id, organization_id, survey_id, type, text, required, position, multiple, scale)
    select new_question_id, organization_id, new_id, type, text, required, position, multiple, scale
      from copied
  )
  insert into public.survey_options (organization_id, survey_id, question_id, text, position)
  select o.organization_id, new_id, c.new_question_id, o.text, o.position
  from copied c join public.survey_options o on o.question_id = c.id;
  perform private.audit('survey.create', 'survey', new_id, jsonb_build_object('version_of', source.id),
    source.organization_id);
  return new_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.close_surveys()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare closed integer;
begin
  update public.surveys s set closed_at = now() where s.id in (
    select d.id from public.surveys d
    where d.closes_at <= now() and d.closed_at is null and d.status in ('published', 'paused')
    order by d.closes_at limit 500 for no key update skip locked);
  get diagnostics closed = row_count;
  return closed;
end
$function$;

CREATE OR REPLACE FUNCTION private.comment_vote_of(comment_id uuid, profile_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select v.created_at from public.comment_votes v where v.comment_id = comment_vote_of.comment_id
    and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$function$;

CREATE OR REPLACE FUNCTION private.compute_first_replies(submission_ids uuid[])
 RETURNS TABLE(submission_id uuid, organization_id uuid, submitted_at timestamp with time zone, milliseconds bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select s.id, s.organization_id, s.created_at,
      (extract(epoch from f.first_at - s.created_at) * 1000)::bigint
    from public.submissions s cross join lateral (
      select min(c.created_at) as first_at from public.comments c
      where c.submission_id = s.id and c.is_official and c.moderation_state = 'approved'
        and c.author_id <> s.author_id and c.created_at >= s.created_at) f
    where s.id = any (submission_ids) and f.first_at is not null;
end
$function$;

CREATE OR REPLACE FUNCTION private.compute_person_days(own_id uuid)
 RETURNS TABLE(organization_id uuid, user_id uuid, day date, previous_day date, submissions bigint, votes bigint, comments bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, d.user_id, d.day,
      coalesce(lag(d.day) over (partition by d.user_id order by d.day), '-infinity'), d.submissions, d.votes,
      d.comments
    from (
      select m.user_id, (m.created_at at time zone zone)::date as day,
        count(*) filter (where m.kind = 's') as submissions,
        count(*) filter (where m.kind = 'v') as votes, count(*) filter (where m.kind = 'c') as comments
      from (
        select 's' as kind, s.author_id as user_id, s.created_at from public.submissions s
          where s.organization_id = own_id
        union all
        select 'v', v.user_id, v.created_at from public.votes v where v.organization_id = own_id
        union all
        select 'c', c.author_id, c.created_at from public.comments c where c.organization_id = own_id) m
      group by 1, 2) d;
end
$function$;

CREATE OR REPLACE FUNCTION private.compute_submission_days(own_id uuid)
 RETURNS TABLE(organization_id uuid, span text, day date, status text, category_id uuid, source text, total bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare zone text := private.activity_zone(own_id);
begin
  return query
    select own_id, span, date_trunc(span, s.created_at at time zone zone)::date, s.status, s.category_id,
      s.source, count(*)
    from public.submissions s cross join unnest(array['day', 'month']) span where s.organization_id = own_id
      group by 2, 3, 4, 5, 6;
end
$function$;

CREATE OR REPLACE FUNCTION private.compute_subtotals(organization_id uuid)
 RETURNS SETOF private.submission_subtotals
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
  select s.organization_id, l.author_id, l.tag_id, s.is_public, s.status, s.type, s.category_id, count(*), true
  from public.submissions s cross join lateral (select s.author_id, null::uuid as tag_id union all
    select null, t.tag_id from public.submission_tags t where t.submission_id = s.id) l
  where s.merged_into_id is null
    and (compute_subtotals.organization_id is null or s.organization_id = compute_subtotals.organization_id)
  group by 1, 2, 3, 4, 5, 6, 7
$function$;

ALTER FUNCTION "private"."compute_subtotals"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.copy_tags_to_target(root uuid, sources uuid[], tags uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  with lent as (
    delete from private.merged_tags j
    using (
      select distinct on (o.tag_id) o.source_id, o.tag_id
      from private.merge_tree(root) t join private.merged_tags o on o.source_id = t.source_id
      where o.source_id = any (sources) and (tags is null or o.tag_id in (select unnest(tags)))
        and not exists (select from public.submission_tags r
          where r.submission_id = root and r.tag_id = o.tag_id)
      order by o.tag_id, t.path) first
    where j.source_id = first.source_id and j.tag_id = first.tag_id
    returning j.*)
  insert into public.submission_tags (organization_id, submission_id, tag_id, merged_from)
  select l.organization_id, root, l.tag_id, l.source_id from lent l;
end
$function$;

CREATE OR REPLACE FUNCTION private.copy_votes_to_target(root uuid, sources uuid[], voters uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  with lent as (
    delete from private.merged_votes j
    using (
      select distinct on (private.person_of(p)) o.source_id, o.user_id
      from private.merge_tree(root) t join private.merged_votes o on o.source_id = t.source_id
        join public.profiles p on p.id = o.user_id
      where o.source_id = any (sources)
        and (voters is null or private.person_of(p) in (
          select private.person_of(v) from public.profiles v where v.id = any (voters)))
        and private.person_of(p) not in (
          select private.person_of(v) from public.votes r join public.profiles v on v.id = r.user_id
          where r.submission_id = root)
      order by private.person_of(p), t.path) first
    where j.source_id = first.source_id and j.user_id = first.user_id
    returning j.*)
  insert into public.votes (organization_id, submission_id, id, user_id, created_at, merged_from)
  select l.organization_id, root, l.id, l.user_id, l.created_at, l.source_id from lent l;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_added_comments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.lock_submissions((select array_agg(distinct submission_id) from added));
  update public.submissions s set comment_count = comment_count + d.comments
  from (select submission_id, count(*) as comments from added where moderation_state = 'approved' group by 1)
    d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from added
    where parent_id is not null));
  update public.comments c set reply_count = reply_count + d.replies
  from (select parent_id, count(*) as replies from added where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  if private.is_importing() then return null; end if;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select distinct organization_id, submission_id, author_id, 'comment' from added
  where private.is_own_act(author_id) order by 2, 3
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
  perform private.announce_comment(a.id) from added a where a.moderation_state = 'approved';
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_added_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_internal_write() then return null; end if;
  perform private.lock_submissions((select array_agg(submission_id) from added));
  update public.submissions s set vote_count = vote_count + d.votes
  from (select submission_id, count(*) as votes from added group by 1) d where s.id = d.submission_id;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select organization_id, submission_id, user_id, 'vote' from added where private.is_own_act(user_id)
  order by submission_id, user_id
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
  insert into public.notifications (organization_id, user_id, type, submission_id, event_id)
  select v.organization_id, s.author_id, 'vote', v.submission_id, v.id
  from added v join public.submissions s on s.id = v.submission_id
    join public.profiles p on p.id = s.author_id
  where s.author_id <> v.user_id and p.kind in ('user', 'email') and not private.is_silent(s.id, p.id);
  perform private.emit_event(v.organization_id, 'submission.vote_added', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from added v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_changed_submissions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, sign * count(*)
  from changed s where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  insert into private.submission_subtotals (organization_id, author_id, is_public, status, type, category_id,
    total)
  select s.organization_id, s.author_id, s.is_public, s.status, s.type, s.category_id, sign * count(*)
  from changed s where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5, 6;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_changed_tags()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare changes private.tag_change[];
begin
  if tg_op = 'INSERT' then
    changes := array(select row(a.submission_id, a.tag_id, 1)::private.tag_change from added a);
  elsif tg_op = 'DELETE' then
    changes := array(select row(r.submission_id, r.tag_id, -1)::private.tag_change from removed r);
  else
    changes := array(select row(c.submission_id, c.tag_id, sum(c.change))::private.tag_change
      from (select a.submission_id, a.tag_id, 1 as change from added a
        union all select r.submission_id, r.tag_id, -1 from removed r) c
      group by c.submission_id, c.tag_id having sum(c.change) <> 0);
  end if;
  perform 1 from public.submissions s where s.id in (select c.submission_id from unnest(changes) c)
    order by s.id for no key update;
  insert into private.submission_subtotals (organization_id, tag_id, is_public, status, type, category_id,
    total)
  select s.organization_id, c.tag_id, s.is_public, s.status, s.type, s.category_id, sum(c.change)
  from unnest(changes) c join public.submissions s on s.id = c.submission_id
  where s.merged_into_id is null
    and exists (select from public.organizations o where o.id = s.organization_id)
  group by 1, 2, 3, 4, 5, 6;
  return null;
end
$function$;

ALTER FUNCTION "private"."count_changed_tags"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_comment_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_direct() then
    perform private.charge_direct(case tg_op when 'INSERT' then 'vote_create' else 'vote_delete' end, (
      select count(*) from changed r where exists (select from public.comments c where c.id = r.comment_id)));
  end if;
  perform private.lock_comments((select array_agg(comment_id) from changed));
  update public.comments c set vote_count = vote_count + d.votes * case tg_op when 'INSERT' then 1 else -1 end
  from (select comment_id, count(*) as votes from changed group by 1) d where c.id = d.comment_id;
  return null;
end
$function$;

ALTER FUNCTION "private"."count_comment_votes"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_discrepancies()
 RETURNS TABLE(subject text, id uuid, stored bigint, truth bigint)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
  select 'submissions.vote_count', s.id, s.vote_count, v.n
  from public.submissions s cross join lateral (select count(*) as n from public.votes v
    where v.submission_id = s.id) v
  where s.vote_count <> v.n
  union all
  select 'submissions.comment_count', s.id, s.comment_count, c.n
  from public.submissions s cross join lateral (
    select count(*) as n from public.comments c
      where c.submission_id = s.id and c.moderation_state = 'approved') c
  where s.comment_count <> c.n
  union all
  select 'comments.reply_count', p.id, p.reply_count, c.n
  from public.comments p cross join lateral (
    select count(*) as n from public.comments c where c.parent_id = p.id and c.moderation_state = 'approved')
      c
  where p.reply_count <> c.n
  union all
  select 'comments.vote_count', c.id, c.vote_count, v.n
  from public.comments c cross join lateral (select count(*) as n from public.comment_votes v
    where v.comment_id = c.id) v
  where c.vote_count <> v.n
  union all
  select 'submission_counts', coalesce(c.organization_id, t.organization_id), c.total, t.total
  from private.submission_counts c full join (
    select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*) as total
    from public.submissions s where s.merged_into_id is null group by 1, 2, 3, 4, 5) t
    on (c.organization_id, c.is_public, c.status, c.type) = (t.organization_id, t.is_public, t.status, t.type)
      and coalesce(c.category_id, c.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(c.total, 0) <> coalesce(t.total, 0)
  union all
  select 'submission_subtotals', n.organization_id, n.stored, n.truth from (
    select n.organization_id, sum(n.stored)::bigint as stored, sum(n.truth)::bigint as truth
    from (select n.*, n.total as stored, 0 as truth from private.submission_subtotals n
      union all select n.*, 0, n.total from private.compute_subtotals(null) n) n
    group by n.organization_id, n.author_id, n.tag_id, n.is_public, n.status, n.type, n.category_id) n
  where n.stored <> n.truth
  union all
  select 'submission_days', coalesce(d.organization_id, t.organization_id), d.total, t.total
  from (select o.id as organization_id, span, s.day, s.status, s.category_id, s.source,
    sum(s.total)::bigint as total
    from public.organizations o cross join unnest(array['day', 'month']) span
      cross join lateral private.submissions_of(o.id, span, '-infinity', 'infinity') s
        group by 1, 2, 3, 4, 5, 6) d full join (
    select t.* from public.organizations o cross join lateral private.compute_submission_days(o.id) t) t
    on (d.organization_id, d.span, d.day, d.status, coalesce(d.source, '')) =
      (t.organization_id, t.span, t.day, t.status, coalesce(t.source, ''))
      and coalesce(d.category_id, d.organization_id) = coalesce(t.category_id, t.organization_id)
  where coalesce(d.total, 0) <> coalesce(t.total, 0)
  union all
  select 'person_days.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from (select r.organization_id, r.user_id, r.day, sum(r.submissions)::bigint as submissions,
    sum(r.votes)::bigint as votes, sum(r.comments)::bigint as comments
    from (
      select p.organization_id, p.user_id, p.day, p.submissions, p.votes, p.comments
        from private.person_days p
      union all
      select a.organization_id, a.user_id,
        (a.slot at time zone private.activity_zone(a.organization_id))::date, a.submissions, a.votes,
        a.comments
      from private.person_activity a) r
    group by 1, 2, 3) d full join (
    select t.* from public.organizations o cross join lateral private.compute_person_days(o.id) t) t
    on (d.organization_id, d.user_id, d.day) = (t.organization_id, t.user_id, t.day)
  cross join lateral (values ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
    ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'day_activity.' || kind, coalesce(d.organization_id, t.organization_id), stored, truth
  from private.day_activity d full join (
    select p.organization_id, p.day, p.previous_day, count(*) as people, sum(p.submissions) as submissions,
      sum(p.votes) as votes, sum(p.comments) as comments
    from (
      select p.organization_id, p.day, p.submissions, p.votes, p.comments,
        coalesce(lag(p.day) over (partition by p.organization_id, p.user_id order by p.day), '-infinity')
          as previous_day
      from private.person_days p) p
    group by 1, 2, 3) t
    on (d.organization_id, d.day, d.previous_day) = (t.organization_id, t.day, t.previous_day)
  cross join lateral (values ('people', coalesce(d.people, 0), coalesce(t.people, 0)),
    ('submissions', coalesce(d.submissions, 0), coalesce(t.submissions, 0)),
    ('votes', coalesce(d.votes, 0), coalesce(t.votes, 0)),
      ('comments', coalesce(d.comments, 0), coalesce(t.comments, 0))) counted (kind, stored, truth)
  where stored <> truth
  union all
  select 'first_replies', coalesce(r.organization_id, t.organization_id), r.milliseconds, t.milliseconds
  from private.first_replies r full
    join private.compute_first_replies(array(select s.id from public.submissions s)) t using (submission_id)
  where (r.submitted_at, r.milliseconds) is distinct from (t.submitted_at, t.milliseconds)
  union all
  select * from private.survey_count_discrepancies();
$function$;

ALTER FUNCTION "private"."count_discrepancies"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_in_scope(scope private.search_scope, is_whole boolean DEFAULT false)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  own_id constant uuid := scope.organization_id;
  all_of_them constant boolean := is_whole or own_id = any (scope.team_ids);
  counted bigint;
begin
  if num_nonnulls(scope.tag_id, scope.author_id) = 2 then
    execute 'select count(*) from public.submissions s where ' || private.scope_conditions(scope)
      || private.tag_condition(scope) into counted;
    return counted;
  end if;
  return coalesce((
    select sum(c.total) from (
      select c.is_public, c.status, c.type, c.category_id, c.total from private.submission_counts c
      where c.organization_id = own_id and scope.author_id is null and scope.tag_id is null
      union all
      select c.is_public, c.status, c.type, c.category_id, c.total from private.submission_subtotals c
      where c.organization_id = own_id and c.author_id = scope.author_id
      union all
      select c.is_public, c.status, c.type, c.category_id, c.total from private.submission_subtotals c
      where c.organization_id = own_id and c.tag_id = scope.tag_id) c
    where (c.is_public or all_of_them) and (scope.status is null or c.status = scope.status)
      and (scope.type is null or c.type = scope.type)
      and (scope.category_id is null or c.category_id = scope.category_id)
      and (scope.agent_category_ids is null or c.category_id = any (scope.agent_category_ids))), 0)
  + case when all_of_them or scope.caller_id is null then 0 else (
    select count(*) from public.submissions s
    where s.organization_id = own_id and s.author_id = scope.caller_id and not s.is_public
      and private.in_search_scope(scope, s)) end;
end
$function$;

ALTER FUNCTION "private"."count_in_scope"(private.search_scope, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_matches(scope private.search_scope, p private.parsed_search, most integer)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
 SET enable_hashjoin TO 'on'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  max_hidden constant integer := 5000;
  own_id constant uuid := scope.organization_id;
  board constant private.search_statistics := scope.board;
  hidden uuid[]; counted bigint := 0; wanted integer; part record;
begin
  if p.text_any is null then return 0; end if;
  if num_nonnulls(scope.status, scope.type, scope.category_id, scope.tag_id, scope.author_id,
    scope.agent_category_ids) = 0 then
    hidden := array(
      (select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is not null
        limit max_hidden)
      union
      (select s.id from public.submissions s where s.organization_id = own_id and not s.is_public
        and not private.can_see_submission(s.is_public, s.author_id, s.organization_id, scope.caller_id,
          scope.team_ids) is true limit max_hidden));
    if cardinality(hidden) < max_hidden then
      wanted := most + cardinality(hidden);
      for part in
        select p.text_any as query where p.words is not null and board.size * p.text_share <= 2 * wanted
        union all
        select p.text_any && g.query from private.search_groups(board, p.text_share, wanted / 12, null) g
        -- Exclusions alone would match those of other organizations.
        where p.words is null or board.size * p.text_share > 2 * wanted
      loop
        counted := counted + (select count(*) from (select from private.submission_search m
          where m.lexemes operator(pg_catalog.@@) part.query limit wanted - counted) m);
        exit when counted >= wanted;
      end loop;
      return least(most, counted - case when counted >= wanted then cardinality(hidden) else (
        select count(*) from unnest(hidden) h (id) join private.submission_search m on m.submission_id = h.id
        where m.lexemes operator(pg_catalog.@@) p.text_any) end);
    end if;
  end if;
  execute format('select count(*) from (select from private.submission_search m
      join public.submissions s on s.id = m.submission_id
      where m.lexemes operator(pg_catalog.@@) $1 and %s limit %s) s',
    private.scope_conditions(scope) || private.tag_condition(scope), most)
  into counted using p.text_any;
  return counted;
end
$function$;

ALTER FUNCTION "private"."count_matches"(private.search_scope, private.parsed_search, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_moved_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_internal_write() then return null; end if;
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select m.organization_id, m.is_public, m.status, m.type, m.category_id, sum(m.change)
  from (values
    (old.organization_id, old.is_public, old.status, old.type, old.category_id, case
      when old.merged_into_id is null then -1 else 0 end),
    (new.organization_id, new.is_public, new.status, new.type, new.category_id, case
      when new.merged_into_id is null then 1 else 0 end)
  ) m (organization_id, is_public, status, type, category_id, change)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  insert into private.submission_subtotals (organization_id, author_id, tag_id, is_public, status, type,
    category_id, total)
  select new.organization_id, l.author_id, l.tag_id, m.is_public, m.status, m.type, m.category_id, m.change
  from (values (old.is_public, old.status, old.type, old.category_id, old.merged_into_id, -1),
      (new.is_public, new.status, new.type, new.category_id, new.merged_into_id, 1))
      m (is_public, status, type, category_id, merged_into_id, change)
    cross join (select new.author_id, null::uuid as tag_id union all
      select null, t.tag_id from public.submission_tags t where t.submission_id = new.id) l
  where m.merged_into_id is null;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_removed_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_internal_write() then return null; end if;
  if private.is_direct() then
    -- Skip votes that a cascade deleted with their submission: triggers of a cascade run at the same depth as
    -- those of the client's statement.
    perform private.charge_direct('vote_delete', (
      select count(*) from removed r
        where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(submission_id) from removed));
  update public.submissions s set vote_count = vote_count - d.votes
  from (select submission_id, count(*) as votes from removed group by 1) d where s.id = d.submission_id;
  perform private.emit_event(v.organization_id, 'submission.vote_removed', v.submission_id,
    jsonb_build_object('submission_id', v.submission_id, 'vote_count', s.vote_count))
  from removed v join public.submissions s on s.id = v.submission_id where s.moderation_state = 'approved';
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_request()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if coalesce(new.confirmation_token, '') <> ''
      and (tg_op = 'INSERT' or new.confirmation_token is distinct from old.confirmation_token)
    or coalesce(new.recovery_token, '') <> ''
      and (tg_op = 'INSERT' or new.recovery_token is distinct from old.recovery_token) then
    insert into private.unconfirmed_requests as r (user_id) values (new.id)
    on conflict (user_id) do update set requests = r.requests + 1;
  end if;
  return null;
end
$function$;

ALTER FUNCTION "private"."count_request"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_responses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare change record; sign integer := tg_argv[0]; own_shard integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as responses, count(c.started_at) as timed,
      coalesce(sum((extract(epoch from c.submitted_at - c.started_at) * 1000)::bigint), 0) as milliseconds,
      count(*) filter (where c.sentiment = 'positive') as positive,
        count(*) filter (where c.sentiment = 'neutral') as neutral,
      count(*) filter (where c.sentiment = 'negative') as negative,
        coalesce(sum(c.sentiment_score), 0) as score
    from changed c where exists (select from public.surveys s where s.id = c.survey_id)
    group by 1, 2 order by 2
  loop
    own_shard := private.claim_shard(change.organization_id, change.survey_id);
    update private.survey_counts c
      set responses = c.responses + sign * change.responses, timed = c.timed + sign * change.timed,
      milliseconds = c.milliseconds + sign * change.milliseconds,
        positive = c.positive + sign * change.positive,
      neutral = c.neutral + sign * change.neutral, negative = c.negative + sign * change.negative,
        score = c.score + sign * change.score
    where c.survey_id = change.survey_id and c.shard = own_shard;
    insert into private.survey_answer_counts as k
      (organization_id, survey_id, question_id, value, shard, total)
    select change.organization_id, change.survey_id, a.question_id, a.value, own_shard, sign * count(*)
    from changed c cross join lateral private.counted_answers(c.answers) a
      where c.survey_id = change.survey_id
    group by a.question_id, a.value
    on conflict on constraint survey_answer_counts_pkey do update set total = k.total + excluded.total;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_starts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare change record; sign integer := tg_argv[0]; own_shard integer;
begin
  for change in
    select c.organization_id, c.survey_id, count(*) as starts
    from changed c where exists (select from public.surveys s where s.id = c.survey_id) group by 1, 2
      order by 2
  loop
    own_shard := private.claim_shard(change.organization_id, change.survey_id);
    update private.survey_counts c set starts = c.starts + sign * change.starts
      where c.survey_id = change.survey_id and c.shard = own_shard;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.count_survey_responses(survey_id uuid, sentiment text, since timestamp with time zone, until timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not coalesce(private.is_admin((select s.organization_id from public.surveys s where s.id = survey_id),
    'responses:read'), false) then
    return 0;
  elsif since is null and until is null then
    return coalesce((
      select sum(case sentiment when 'positive' then c.positive when 'neutral' then c.neutral when 'negative'
        then c.negative else c.responses end)
      from private.survey_counts c where c.survey_id = count_survey_responses.survey_id), 0);
  end if;
  return (select count(*) from public.survey_responses r
    where r.survey_id = count_survey_responses.survey_id
      and (count_survey_responses.sentiment is null or r.sentiment = count_survey_responses.sentiment)
      and r.submitted_at >= coalesce(since, '-infinity') and r.submitted_at <= coalesce(until, 'infinity'));
end
$function$;

CREATE OR REPLACE FUNCTION private.count_tags_of_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.submission_subtotals (organization_id, tag_id, is_public, status, type, category_id,
    total)
  select old.organization_id, t.tag_id, old.is_public, old.status, old.type, old.category_id, -1
  from public.submission_tags t where t.submission_id = old.id
    and exists (select from public.organizations o where o.id = old.organization_id);
  return old;
end
$function$;

ALTER FUNCTION "private"."count_tags_of_deleted"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_unconfirmed_request(email text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.unconfirmed_requests as r (user_id)
  select u.id from auth.users u where u.email = lower(count_unconfirmed_request.email)
    and u.is_sso_user = false and u.email_confirmed_at is null
  on conflict (user_id) do update set requests = r.requests + 1;
end
$function$;

ALTER FUNCTION "private"."count_unconfirmed_request"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.create_agent(organization_id uuid, name text, tier text DEFAULT 'standard'::text, description text DEFAULT NULL::text, created_by uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare agent_id uuid;
begin
  insert into public.profiles (kind, organization_id, name) values ('agent', organization_id, name)
    returning id into agent_id;
  insert into private.agents (id, organization_id, tier, description, created_by)
  values (agent_id, organization_id, tier, description, created_by);
  return agent_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_agent_key(agent_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, created_by uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare key_id uuid;
begin
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  select a.organization_id, a.id, coalesce(create_agent_key.name, p.name), scopes, digest, prefix, last_four,
    expires_at, create_agent_key.created_by
  from private.agents a join public.profiles p on p.id = a.id where a.id = agent_id
  returning id into key_id;
  return key_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_api_key(organization_id uuid, name text, scopes text[], digest bytea, prefix text, last_four text, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, created_by uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare key_profile uuid; key_id uuid;
begin
  insert into public.profiles (kind, organization_id, name)
  select 'key', o.id, o.name from public.organizations o where o.id = create_api_key.organization_id for share
    returning id into key_profile;
  insert into private.api_keys (organization_id, profile_id, name, scopes, digest, prefix, last_four,
    expires_at, created_by)
  values (organization_id, key_profile, name, scopes, digest, prefix, last_four, expires_at, created_by)
    returning id into key_id;
  return key_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_organization(name text, slug text, visibility text, owner_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare organization_id uuid;
begin
  if private.mail_address(owner_id) is null then
    perform private.raise_error('CONFLICT', 'The owner must confirm an email address first.', 'owner_id');
  end if;
  insert into public.organizations (name, slug, visibility) values (name, slug, visibility)
    returning id into organization_id;
  insert into public.memberships (organization_id, user_id, role) values (organization_id, owner_id, 'owner');
  return organization_id;
end
$function$;

ALTER FUNCTION "private"."create_organization"(text, text, text, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.create_survey(survey jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'surveys:write');
  new_id uuid;
begin
  insert into public.surveys (organization_id, title) values (own_id, survey ->> 'title')
    returning id into new_id;
  perform private.write_settings(new_id, survey);
  perform private.write_questions(own_id, new_id, coalesce(nullif(survey -> 'questions', 'null'), '[]'));
  return new_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_survey_version(survey_id uuid, new_id uuid DEFAULT gen_random_uuid())
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_survey(survey_id, 'surveys:publish');
  return private.clone_survey(survey_id, new_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.current_organization_id()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare current_id uuid := private.requested_organization_id();
begin
  if current_id is null then
    perform private.raise_error('NOT_FOUND',
      'Set the X-Organization header to the id or slug of an organization you have access to.',
      'organization');
  end if;
  return current_id;
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

CREATE OR REPLACE FUNCTION private.default_organization_id()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare ids uuid[];
begin
  ids := array(select id from public.organizations limit 2);
  return case when cardinality(ids) = 1 then ids[1]
    else (select id from public.organizations where is_default) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_activity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.person_days d using gone g where d.organization_id = g.organization_id;
  delete from private.day_activity d using gone g where d.organization_id = g.organization_id;
  delete from private.submission_days d using gone g where d.organization_id = g.organization_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_merge_journal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.merged_votes j using gone g where j.source_id = g.source_id;
  delete from private.merged_tags j using gone g where j.source_id = g.source_id;
  delete from private.merged_comments j using gone g where j.source_id = g.source_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_merged_tags()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_internal_write() then return null; end if;
  delete from private.merged_tags j using removed r, public.submissions s
  where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id and j.source_id = s.id
    and j.tag_id = r.tag_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_merged_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_internal_write() then return null; end if;
  with person as materialized (
    select r.organization_id, r.submission_id, p.user_id
    from removed r cross join unnest(private.same_person(r.user_id, r.organization_id)) p (user_id)
    where exists (select from public.submissions s
      where s.organization_id = r.organization_id and s.merged_into_id = r.submission_id)
  )
  delete from private.merged_votes j using person p, public.submissions s
  where s.organization_id = p.organization_id and s.merged_into_id = p.submission_id and j.source_id = s.id
    and j.user_id = p.user_id;
  return null;
end
$function$;

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
    and (delete_personal_rows.organization_id is null
    or s.organization_id = delete_personal_rows.organization_id);
  -- Stored responses contain what the person wrote.
  delete from private.idempotency_keys k where k.profile_id = delete_personal_rows.profile_id;
  -- Keep a mark as spam while the account exists: users must not remove it themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and
    (delete_personal_rows.organization_id is null or t.organization_id = delete_personal_rows.organization_id
    and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and i.email = lower(p.email)
    and (delete_personal_rows.organization_id is null
      or i.organization_id = delete_personal_rows.organization_id);
  update private.outbox o set data =
    jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (delete_personal_rows.organization_id is null
        or c.organization_id = delete_personal_rows.organization_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_survey(survey_id uuid, force boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_survey(survey_id, 'surveys:write');
  -- Lock a version before the survey it is a version of, in the order of publishing.
  perform 1 from public.surveys s where s.version_of = delete_survey.survey_id
    order by s.id for no key update;
  if force then perform set_config('feedback.force', 'on', true); end if;
  delete from public.surveys s where s.id = delete_survey.survey_id;
  if not found then perform private.raise_error('NOT_FOUND', 'There is no such survey.'); end if;
  perform set_config('feedback.force', '', true);
end
$function$;

CREATE OR REPLACE FUNCTION private.drop_import_file(import_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.import_file_parts p using private.imports i
  where i.id = drop_import_file.import_id and p.organization_id = i.organization_id and p.import_id = i.id;
  delete from private.import_ids d using private.imports i
  where i.id = drop_import_file.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.edit_comment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if old.created_at < now() - private.comment_edit_window() then
    perform private.raise_error('FORBIDDEN',
      format('This comment is older than %s minutes and can no longer be edited.',
        extract(epoch from private.comment_edit_window())::integer / 60), 'body');
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
  -- Both columns identify the text that was read (private.admin_moderate): each update gets a later time.
  new.updated_at := greatest(now(), old.updated_at + interval '1 microsecond');
  new.is_changed_by_author := old.is_changed_by_author
    or private.public_texts(new) <> private.public_texts(old) and private.caller_id() is not null
    and not private.is_admin(new.organization_id, 'submissions:moderate');
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.editable_columns(of_table regclass)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return array(select a.attname::text from pg_catalog.pg_attribute a
    where a.attrelid = of_table and a.attnum > 0 and not a.attisdropped
      and has_column_privilege('authenticated', of_table, a.attnum, 'update') order by a.attnum);
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

CREATE OR REPLACE FUNCTION private.emit_organization_update(organization_id uuid, changed text[], changes jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.emit_event(o.id, 'org.updated', o.id, jsonb_build_object(
    'organization', jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'changed', changed,
    'changes', changes))
  from public.organizations o where o.id = emit_organization_update.organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.enabled_webhook(organization_id uuid, webhook_id uuid)
 RETURNS private.webhooks
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare webhook private.webhooks;
begin
  select w.* into webhook from private.webhooks w where w.organization_id = enabled_webhook.organization_id
    and w.id = webhook_id;
  if not webhook.is_enabled then
    perform private.raise_error('CONFLICT', 'This webhook is disabled. Enable it first.');
  end if;
  return webhook;
end
$function$;

CREATE OR REPLACE FUNCTION private.end_idle_imports(organization_id uuid DEFAULT NULL::uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare ended integer;
begin
  perform private.finish_import(i.id, case i.state when 'receiving'
    then 'The file stopped arriving. Send it again.'
    else format('The import made no progress for %s. Send the file again.',
      private.retention('stalled_imports')) end)
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
  where i.organization_id = p.organization_id and i.id = p.import_id and private.is_checked_import(i)
    and i.updated_at < now() - private.retention('checked_imports');
  return ended;
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

CREATE OR REPLACE FUNCTION private.end_session(digest bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.identify_sessions s where s.digest = end_session.digest
    and s.profile_id = private.caller_id();
  return found;
end
$function$;

ALTER FUNCTION "private"."end_session"(bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.end_setup()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.setup default values on conflict do nothing;
  return null;
end
$function$;

ALTER FUNCTION "private"."end_setup"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.end_write(answer anyelement)
 RETURNS anyelement
 LANGUAGE sql
AS $function$
  select case when set_config('feedback.by_function', 'off', true) = 'off' then answer end
$function$;

ALTER FUNCTION "private"."end_write"(anyelement) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.enforce_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare organization uuid;
begin
  for organization in select distinct r.organization_id from removed r where r.role = 'owner' order by 1 loop
    -- An update, not only a lock: if two transactions read the same owners, at any isolation level, one of
    -- them waits and re-reads, or fails.
    update public.organizations o set updated_at = now() where o.id = organization;
    if found and not exists (select from public.memberships m
      where m.organization_id = organization and m.role = 'owner') then
      if session_user in ('supabase_auth_admin', 'embedded_auth') then
        -- The auth service returns the message of this SQLSTATE with status 409.
        raise exception 'An organization needs at least one owner. Make someone else an owner first.'
          using errcode = 'PT409';
      end if;
      perform private.raise_error('CONFLICT',
        'An organization needs at least one owner. Make someone else an owner first.', 'role');
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.enforce_plan_limit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare organization record; used bigint;
begin
  for organization in
    select o.id, l.allowed, case l.allowed when 1 then l.one else l.many end as what, l.advice
    from public.organizations o cross join lateral (values
      ('submissions', o.max_submissions, 'submission', 'submissions', 'Delete one'),
      ('memberships', o.max_members, 'member', 'members', 'Remove one'),
      ('surveys', o.max_surveys, 'survey that is not archived', 'surveys that are not archived',
        'Archive one')) l (relation, allowed, one, many, advice)
    where l.relation = tg_table_name and l.allowed is not null
      and o.id in (select organization_id from added)
    order by o.id for no key update of o
  loop
    used := case tg_table_name
      when 'submissions' then (
        select count(*) from public.submissions s where s.organization_id = organization.id)
      when 'memberships' then (
        select count(*) from public.memberships m where m.organization_id = organization.id)
      else (select count(distinct s.family_id) from public.surveys s
        where s.organization_id = organization.id and s.status <> 'archived') end;
    if used > organization.allowed then
      perform private.raise_error('PLAN_LIMIT_REACHED',
        format('The plan allows %s %s. %s, or ask the operator for more.',
          to_char(organization.allowed, 'FM9,999,999,990'), organization.what, organization.advice));
    end if;
  end loop;
  return null;
end
$function$;

ALTER FUNCTION "private"."enforce_plan_limit"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.enforce_survey_status()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  acts boolean := private.caller_id() is not null;
  -- The submission of the audience can be deleted while the survey runs; then nobody may answer.
  old_submission uuid := (select s.id from public.submissions s where s.id = old.audience_submission_id);
begin
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  if (new.title, new.description, new.allow_multiple_responses, new.show_branding, new.redirect_url,
    new.closes_at, new.audience,
        new.audience_submission_id, new.locales)
      is distinct from (old.title, old.description, old.allow_multiple_responses, old.show_branding,
        old.redirect_url, old.closes_at, old.audience,
        case when new.audience_submission_id is null then old_submission
          else old.audience_submission_id end, old.locales) then
    if acts then perform private.require_admin(old.organization_id, 'surveys:write'); end if;
    perform private.require_draft(old.status);
    new.updated_at := now();
  end if;
  if new.status = old.status then return new; end if;

  if acts then perform private.require_admin(old.organization_id, 'surveys:publish'); end if;
  if new.status <> 'archived' and (old.status, new.status) not
    in (('draft', 'published'), ('published', 'paused'), ('paused', 'published')) then
    perform private.raise_error('CONFLICT',
      format('The status of a survey cannot change from %s to %s.', old.status, new.status), 'status');
  end if;
  new.updated_at := now();
  if new.status = 'published' and new.closes_at <= now() then
    perform private.raise_error('CONFLICT',
      'The closing time is in the past. Choose a later one.', 'closes_at');
  end if;
  if old.status = 'draft' and new.status = 'published' then
    perform private.check_questions(new.id);
    if new.audience <> 'everyone' and new.audience_submission_id is null then
      perform private.raise_error('CONFLICT',
        format('Choose the submission whose %s should answer (targeting.submission_id).', new.audience),
        'targeting.submission_id');
    end if;
    -- Serializes two versions of one survey. The waiting transaction holds only a draft, which the other one
    -- never locks.
    perform pg_advisory_xact_lock(hashtextextended(new.family_id::text, 0));
    update public.surveys set status = 'archived'
      where family_id = new.family_id and status in ('published', 'paused');
    new.published_at := now();
  end if;
  if new.status = 'archived' and old.published_at is not null then
    new.closed_at := coalesce(old.closed_at, now());
  end if;
  return new;
end
$function$;

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
      'The email address of this account was changed within the last week. While its former address can '
      'undo that, the account cannot be erased.');
  end if;
  if named_id is not null then
    -- A user without rows in the organization has nothing to erase, and its team is not notified.
    if private.is_person_of_organization(own_id, named_id) then
      perform private.erase_person(own_id, named_id);
      -- An identified person gets another profile at the next page, so rows that count once per person are
      -- deleted.
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
    perform private.raise_error('CONFLICT', 'This person is on the team. Remove them from the team first.');
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
    update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null,
      named_by_key = false
    where p.id = profile_id;
    return;
  end if;
  perform set_config('feedback.internal_write', 'on', true);
  for named in select * from private.personal_columns() c where c.at_erasure = 'reassign' loop
    execute format('update %1$s set %2$s = $3 where %2$s = $1 and organization_id = $2',
      named.relation, named.person) using profile_id, organization_id, nobody;
  end loop;
  perform set_config('feedback.internal_write', 'off', true);
end
$function$;

CREATE OR REPLACE FUNCTION private.events_after(xid xid8, id bigint, organization_ids uuid[], max_rows integer)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: the outbox is not granted
begin
  return json_build_object(
    'head', pg_snapshot_xmin(pg_current_snapshot())::text,
    'events', coalesce((
      select json_agg(json_build_object(
        'xid', e.xid::text,
        'id', e.id,
        'event_id', e.event_id,
        'organization_id', e.organization_id,
        'type', e.type,
        'timestamp', e.created_at,
        'data', e.data,
        'survey_id', coalesce(e.data ->> 'survey_id', e.data -> 'survey' ->> 'id'),
        'former_category_id', e.category_id,
        'category_id', (select s.category_id from public.submissions s
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

CREATE OR REPLACE FUNCTION private.export_rows(organization_id uuid, what text, after text[], max_rows integer)
 RETURNS TABLE(at text[], record jsonb)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  nil constant uuid := '00000000-0000-0000-0000-000000000000';
  asked_id uuid;
  left_over integer := max_rows;
  asked jsonb;
  shows_respondents boolean;
  told integer;
  first_id uuid := case when what not in ('categories', 'tags', 'submissions', 'merged', 'surveys')
    then coalesce(after[1], nil::text)::uuid end;
begin
  case what
    when 'organization' then
      return query select array['1'], to_jsonb(o) - 'id' - 'is_default' || '{"kind": "organization"}'
      from public.organizations o where o.id = export_rows.organization_id and after is null;
    when 'members' then
      return query select array[m.user_id::text],
        jsonb_build_object(
          'kind', 'member',
          'email', p.email,
          'name', p.name,
          'role', m.role,
          'created_at', m.created_at)
      from public.memberships m join public.profiles p on p.id = m.user_id
      where m.organization_id = export_rows.organization_id and m.user_id > first_id
        order by m.user_id limit max_rows;
    when 'categories' then
      return query select array[c.slug],
        jsonb_build_object(
          'kind', 'category',
          'slug', c.slug,
          'name', c.name,
          'color', c.color,
          'position', c.position,
          'translations', c.translations)
      from public.categories c where c.organization_id = export_rows.organization_id
        and c.slug > coalesce(after[1], '') order by c.slug limit max_rows;
    when 'tags' then
      return query select array[t.slug],
        jsonb_build_object(
          'kind', 'tag',
          'slug', t.slug,
          'name', t.name,
          'color', t.color,
          'translations', t.translations)
      from public.tags t where t.organization_id = export_rows.organization_id
        and t.slug > coalesce(after[1], '') order by t.slug limit max_rows;
    when 'submissions' then
      return query select array[s.created_at::text, s.id::text], private.submission_record(s)
        from public.submissions s
      where s.organization_id = export_rows.organization_id and s.merged_into_id is null
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz,
          coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit max_rows;
    when 'merged' then
      return query select array[s.created_at::text, s.id::text], private.submission_record(s)
        from public.submissions s
      where s.organization_id = export_rows.organization_id and s.merged_into_id is not null
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz,
          coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit max_rows;
    when 'follows' then
      return query select array[s.id::text, f.user_id::text],
        private.person_record(f.user_id) || jsonb_build_object(
          'kind', 'follow',
          'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text),
          'reason', f.reason,
          'created_at', f.created_at)
      from public.submissions s join (
        select submission_id, user_id, reason, created_at from public.follows
        union all
        select submission_id, user_id, 'unfollowed', created_at from private.unfollows) f
        on f.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, f.user_id) > (first_id, coalesce(after[2], nil::text)::uuid)
      order by s.id, f.user_id limit max_rows;
    when 'comments' then
      -- Parents come before replies, even if both have the same time.
      return query select array[s.id::text, c.created_at::text, coalesce(c.parent_id, nil)::text, c.id::text],
        private.person_record(c.author_id) || jsonb_build_object(
          'kind', 'comment',
          'id', coalesce(private.exported_id('comment', c.id), c.id::text),
          'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text),
          'parent_id', coalesce(private.exported_id('comment', c.parent_id), c.parent_id::text),
          'body', c.body,
          'is_official', c.is_official,
          'moderation_state', c.moderation_state,
          'vote_count', c.vote_count,
          'created_at', c.created_at,
          'updated_at', c.updated_at,
          'follow', exists (select from public.follows f
            where f.submission_id = s.id and f.user_id = c.author_id))
      from public.submissions s join public.comments c on c.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, c.created_at, coalesce(c.parent_id, nil), c.id) >
          (first_id, coalesce(after[2], '-infinity')::timestamptz,
          coalesce(after[3], nil::text)::uuid, coalesce(after[4], nil::text)::uuid)
      order by s.id, c.created_at, coalesce(c.parent_id, nil), c.id limit max_rows;
    when 'votes' then
      return query select array[s.id::text, v.id::text],
        private.person_record(v.user_id) || jsonb_build_object(
          'kind', 'vote',
          'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text),
          'created_at', v.created_at,
          'follow', exists (select from public.follows f
            where f.submission_id = s.id and f.user_id = v.user_id))
      from public.submissions s join public.votes v on v.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, v.id) > (first_id, coalesce(after[2], nil::text)::uuid)
      order by s.id, v.id limit max_rows;
    when 'comment_votes' then
      return query select array[s.id::text, c.id::text, v.id::text],
        private.person_record(v.user_id) || jsonb_build_object(
          'kind', 'comment_vote',
          'comment_id', coalesce(private.exported_id('comment', c.id), c.id::text),
          'created_at', v.created_at)
      from public.submissions s join public.comments c on c.submission_id = s.id
        join public.comment_votes v on v.comment_id = c.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, c.id, v.id) > (first_id, coalesce(after[2], nil::text)::uuid,
          coalesce(after[3], nil::text)::uuid)
      order by s.id, c.id, v.id limit max_rows;
    when 'surveys' then
      return query select array[s.created_at::text, s.id::text], private.survey_record(s)
        from public.surveys s
      where s.organization_id = export_rows.organization_id
        and (s.created_at, s.id) > (coalesce(after[1], '-infinity')::timestamptz,
          coalesce(after[2], nil::text)::uuid)
      order by s.created_at, s.id limit max_rows;
    when 'survey_responses' then
      -- Survey by survey, so that each page starts with an index lookup.
      for asked_id in select s.id from public.surveys s where s.organization_id = export_rows.organization_id
        and s.id >= first_id order by s.id loop
        asked := private.exported_questions(asked_id);
        shows_respondents := private.can_see_respondents(asked_id);
        return query select array[r.survey_id::text, r.submitted_at::text, r.id::text],
          case when r.user_id is not null and shows_respondents then private.person_record(r.user_id)
            else '{}' end || jsonb_build_object(
              'kind', 'survey_response',
              'id', coalesce(private.exported_id('response', r.id), r.id::text),
              'survey_id', coalesce(private.exported_id('survey', r.survey_id), r.survey_id::text),
              'answers', (select coalesce(jsonb_agg(a.value ||
                jsonb_build_object('question_id', asked -> (a.value ->> 'question_id')) order by a.n), '[]')
                from jsonb_array_elements(r.answers) with ordinality as a (value, n)),
              'locale', r.locale,
              'sentiment', r.sentiment,
              'sentiment_score', r.sentiment_score,
              'sentiment_engine', r.sentiment_engine,
              'started_at', r.started_at,
              'submitted_at', r.submitted_at)
        from public.survey_responses r
        where r.survey_id = asked_id and (r.submitted_at, r.id) > (
          case when asked_id = first_id then after[2]
            else '-infinity' end::timestamptz, coalesce(after[3], nil::text)::uuid)
        order by r.submitted_at, r.id limit left_over;
        get diagnostics told = row_count;
        left_over := left_over - told;
        exit when left_over = 0;
      end loop;
    else
      return query select array[s.id::text, h.created_at::text, h.id::text],
        case when h.changed_by is null then '{}'
          else private.person_record(h.changed_by) end || jsonb_build_object(
            'kind', 'status_change',
            'submission_id', coalesce(private.exported_id('submission', s.id), s.id::text),
            'previous_status', h.previous_status,
            'new_status', h.new_status,
            'note', h.note,
            'created_at', h.created_at)
      from public.submissions s join public.status_changes h on h.submission_id = s.id
      where s.organization_id = export_rows.organization_id and s.id >= first_id
        and (s.id, h.created_at, h.id) > (first_id, coalesce(after[2], '-infinity')::timestamptz,
          coalesce(after[3], nil::text)::uuid)
      order by s.id, h.created_at, h.id limit max_rows;
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION private.exported_id(kind text, row_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- Use the id of the first export, so that a copy of a copy has equal ids.
  return case kind
    when 'submission' then (select e.external_id from private.external_ids e
      where e.submission_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'comment' then (select e.external_id from private.external_ids e
      where e.comment_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'survey' then (select e.external_id from private.external_ids e
      where e.survey_id = row_id and e.source = 'feedback' order by 1 limit 1)
    when 'response' then (select e.external_id from private.external_ids e
      where e.response_id = row_id and e.source = 'feedback' order by 1 limit 1)
    else (select e.external_id from private.external_ids e
      where e.profile_id = row_id and e.source = 'feedback' order by 1 limit 1)
  end;
end
$function$;

CREATE OR REPLACE FUNCTION private.exported_questions(survey_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare named text := private.exported_id('survey', survey_id);
begin
  return coalesce((
    select jsonb_object_agg(q.id, coalesce(substr(e.external_id, char_length(named) + 2), q.id::text))
    from public.survey_questions q left join private.external_ids e on e.question_id = q.id
      and e.source = 'feedback'
    where q.survey_id = exported_questions.survey_id), '{}');
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
    -- Takes endpoints from all organizations in turn: of the first hundred, those that are not full.
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
      -- One in the future: the clock went back.
      and (w.enabled_at <= n.created_at or w.enabled_at > now())
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

CREATE OR REPLACE FUNCTION private.few_in_scope(scope private.search_scope)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare max_few constant integer := 300; ids uuid[];
begin
  if num_nonnulls(scope.status, scope.type, scope.category_id, scope.tag_id, scope.author_id,
    scope.agent_category_ids) > 0 and private.filter_size(scope) <= max_few then
    execute format('select array(select s.id from public.submissions s where %s)',
      private.scope_conditions(scope) || private.tag_condition(scope)) into ids;
  end if;
  return ids;
end
$function$;

ALTER FUNCTION "private"."few_in_scope"(private.search_scope) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.filter_size(scope private.search_scope)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare by_author private.search_scope := scope; by_tag private.search_scope := scope;
begin
  by_author.tag_id := null;
  by_tag.author_id := null;
  return least(private.count_in_scope(by_author, true), private.count_in_scope(by_tag, true));
end
$function$;

ALTER FUNCTION "private"."filter_size"(private.search_scope) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.find_agent(agent_id uuid)
 RETURNS private.agents
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_key_admin(); agent private.agents;
begin
  select * into agent from private.agents a where a.id = agent_id and a.organization_id = own_id;
  if agent.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such agent.');
  end if;
  return agent;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_idempotent_response(key text, request bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare earlier private.idempotency_keys; own_id uuid := private.caller_id();
begin
  insert into private.idempotency_keys as k (organization_id, profile_id, key, request)
  values (private.key_organization_id(), own_id, find_idempotent_response.key,
    find_idempotent_response.request)
  on conflict do nothing;
  if found then return null; end if;
  select * into earlier from private.idempotency_keys k
    where k.profile_id = own_id and k.key = find_idempotent_response.key;
  if earlier.request is distinct from find_idempotent_response.request then
    perform private.raise_error('CONFLICT',
      'This Idempotency-Key was already used for another request. Send a new one.',
      'Idempotency-Key');
  end if;
  return earlier.answer;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_label(kind text, organization_id uuid, label_id uuid, stays boolean DEFAULT false)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare label jsonb;
begin
  execute format('select to_jsonb(l) from public.%I l where l.organization_id = $1 and l.id = $2 for %s',
    kind,
    case when stays then 'key share' else 'update' end)
  into label using organization_id, label_id;
  if label is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', private.label_noun(kind)), case
      when stays then 'into_id' end);
  end if;
  return label;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_member(organization_id uuid, user_id uuid)
 RETURNS public.memberships
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare member public.memberships;
begin
  select * into member from public.memberships m
  where m.organization_id = find_member.organization_id and m.user_id = find_member.user_id for no key update;
  if member.user_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such member.');
  end if;
  return member;
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

CREATE OR REPLACE FUNCTION private.find_submissions(organization_id uuid, q text, status text, max_scanned integer, OUT submission_ids uuid[], OUT relevances real[], OUT is_complete boolean, OUT is_cut boolean)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
  select array(select (h).submission_id from unnest(f.hits) h),
    array(select (h).relevance from unnest(f.hits) h), cardinality(f.hits) < 101, false
  from private.find_submissions(organization_id, q, status, null, null, null, null, null, 101) f
$function$;

ALTER FUNCTION "private"."find_submissions"(uuid, text, text, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.find_submissions(organization_id uuid, q text, status text, type text, category_id uuid, tag_id uuid, author_id uuid, after private.search_hit, wanted integer, is_counted boolean DEFAULT false, OUT hits private.search_hit[], OUT total bigint, OUT match text, OUT did_you_mean text, OUT marks text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_memoize TO 'off'
AS $function$
#variable_conflict use_column
declare
  p constant private.parsed_search := private.parse_search(organization_id, q);
  scope constant private.search_scope := private.search_scope(organization_id, status, type, category_id,
    tag_id, author_id);
  corrections jsonb; word record; max_partial constant integer := 100; max_total constant integer := 10001;
begin
  hits := '{}';
  match := 'all';
  marks := p.marks;
  if p.text_any is not null and after.class is distinct from 8 then
    hits := (private.full_matches(scope, p, wanted, after))[:wanted];
    total := case when after is null and cardinality(hits) < wanted then cardinality(hits)
      when is_counted then private.count_matches(scope, p, max_total) end;
  end if;
  if cardinality(hits) = 0 and p.words is not null
    and (after.class is null or after.class = 8) then
    select f.hits[coalesce(after.votes, 0) + 1:coalesce(after.votes, 0) + wanted], cardinality(f.hits), f.corrections
      into hits, total, corrections from private.partial_matches(scope, p, max_partial) f;
    hits := coalesce(hits, '{}');
    if cardinality(hits) > 0 or after.class = 8 then match := 'any'; end if;
    for word in select * from jsonb_each_text(corrections) loop
      did_you_mean := regexp_replace(coalesce(did_you_mean, private.plain_text(q)),
        '\m' || word.key || '\M', word.value, 'g');
      marks := marks || '|\m' || word.value || '\w*';
    end loop;
  end if;
end
$function$;

ALTER FUNCTION "private"."find_submissions"(uuid, text, text, text, uuid, uuid, uuid, private.search_hit, integer, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.finish_import(import_id uuid, problem text)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  update private.imports i set
    state = case when finish_import.problem is null then 'completed' else 'failed' end,
    problem = finish_import.problem, updated_at = clock_timestamp()
  where i.id = import_id and i.state in ('receiving', 'running');
  perform private.drop_import_file(i.id) from private.imports i
  where i.id = import_id and not private.is_checked_import(i);
  -- Keep only the file of the newest dry run, for admin_apply_import.
  delete from private.import_file_parts p using private.imports i, private.imports o
  where i.id = finish_import.import_id and private.is_checked_import(i)
    and o.organization_id = i.organization_id and o.id <> i.id and private.is_checked_import(o)
    and p.organization_id = o.organization_id and p.import_id = o.id;
  delete from private.import_ids d using private.imports i
  where i.id = finish_import.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
  return (select private.import_shape(i) from private.imports i where i.id = import_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.finish_responses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_direct() then
    perform private.charge_direct('survey_response_create', (select count(*) from added));
  end if;
  delete from private.survey_starts s using added r
  where s.survey_id = r.survey_id and s.user_id = any (private.same_person(r.user_id, r.organization_id));
  if not private.is_internal_write() then
    perform private.emit_event(r.organization_id, 'survey.response.created', r.survey_id,
      jsonb_build_object(
        'survey_id', r.survey_id,
        'response_id', r.id,
        'submitted_at', r.submitted_at,
        'sentiment', r.sentiment,
        'sentiment_score', r.sentiment_score))
    from added r;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.finish_stream(id uuid, events jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  update private.agent_streams s set events = finish_stream.events
    where s.id = finish_stream.id and s.events is null;
end
$function$;

CREATE OR REPLACE FUNCTION private.follow_for(submission_id uuid, profile_id uuid, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.may_act_as(profile_id) then return; end if;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason)
  select s.organization_id, s.id, follow_for.profile_id, follow_for.reason from public.submissions s
  where s.id = follow_for.submission_id and s.organization_id = private.key_organization_id()
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
end
$function$;

ALTER FUNCTION "private"."follow_for"(uuid, uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.forget_identified(profile_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.identified_people i where i.profile_id = forget_identified.profile_id;
  delete from private.identify_sessions s where s.profile_id = forget_identified.profile_id;
end
$function$;

ALTER FUNCTION "private"."forget_identified"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.forget_requests()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.unconfirmed_requests r where r.user_id = new.id;
  return null;
end
$function$;

ALTER FUNCTION "private"."forget_requests"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.forget_undos()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.account_undos o where o.user_id = new.id;
  return null;
end
$function$;

ALTER FUNCTION "private"."forget_undos"() OWNER TO "postgres";

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
  -- The name has no Latin letters, or is an id.
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

CREATE OR REPLACE FUNCTION private.full_matches(scope private.search_scope, p private.parsed_search, wanted integer, after private.search_hit, OUT hits private.search_hit[])
 RETURNS private.search_hit[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  board constant private.search_statistics := scope.board;
  few constant integer := 400;
  is_rare boolean := p.words is not null and board.size * p.text_share <= few;
  is_rare_in_title boolean := board.size * p.title_share <= few;
  -- The query of each class, and the query that matches of the class must not match.
  queries constant tsquery[] := array[p.title_phrase, p.title_whole, p.title_ending, p.title_any,
    p.text_any && p.title_some, p.text_ending, p.text_any];
  in_title constant tsquery := coalesce(p.title_some, p.title_any);
  excluded constant tsquery[] := array[null, p.title_phrase, p.title_whole, p.title_ending, p.title_any,
    in_title, in_title || p.text_ending];
  has_filters constant boolean := num_nonnulls(scope.status, scope.type, scope.category_id, scope.tag_id,
    scope.author_id, scope.agent_category_ids) > 0;
  step integer := coalesce(after.class, 1);
  last integer; query tsquery; share real; part record; known integer; size bigint; passing real := 1;
  is_probed boolean := false; restarts boolean; only_ids uuid[];
begin
  hits := '{}';
  if has_filters and not is_rare then
    size := private.filter_size(scope);
    passing := greatest(size, 1) / greatest(board.size, size, 1)::real;
    if size <= greatest(1000, sqrt(wanted * board.size::float8)) then
      execute format('select array(select s.id from public.submissions s where %s)',
        private.scope_conditions(scope) || private.tag_condition(scope)) into only_ids;
      hits := array(
        select row(s.id, k.class, s.vote_count, 1.1 - k.class * 0.1)::private.search_hit
        from unnest(only_ids) l (id)
          cross join lateral (select c.title_lexemes, c.lexemes from private.submission_search c
            where c.submission_id = l.id and c.lexemes operator(pg_catalog.@@) p.text_any offset 0) c
          cross join lateral (select private.search_class(p, c.title_lexemes, c.lexemes) as class offset 0) k
          cross join lateral (select s.id, s.vote_count, s as whole from public.submissions s
            where s.id = l.id offset 0) s
        where private.in_search_scope(scope, s.whole) and (after.class is null or k.class > after.class
          or k.class = after.class and (s.vote_count, s.id) < (after.votes, after.submission_id))
        order by k.class, s.vote_count desc, s.id desc);
      return;
    end if;
  end if;
  while step < 8 loop
    share := case when step < 5 then p.title_share else p.text_share end;
    -- A rare word is looked up in all classes at once.
    last := case when is_rare then 7 when step < 5 and is_rare_in_title then 4 else step end;
    query := queries[last];
    if last = step and step > 1 then query := coalesce(query && !!excluded[step], query); end if;
    if query is null then step := last + 1; continue; end if;
    known := cardinality(hits);
    restarts := false;
    for part in
      select 1 as n, null::tsquery as query
      where is_rare or step < 5 and is_rare_in_title
      union all
      select row_number() over (), g.query
      from private.search_groups(board, share * passing, wanted, case when after.class = step then after end) g
      where not (is_rare or step < 5 and is_rare_in_title)
    loop
      -- Common words that rarely occur together make few matches: this class starts again.
      restarts := part.n = 2 and not is_probed and cardinality(p.words) > 1;
      if restarts then
        is_probed := true;
        is_rare := (select count(*) <= few from (select from private.submission_search c
          where c.lexemes operator(pg_catalog.@@) p.text_any limit few + 1) c);
        is_rare_in_title := is_rare or is_rare_in_title or (select count(*) <= few
          from (select from private.submission_search c
            where c.lexemes operator(pg_catalog.@@) p.title_any limit few + 1) c);
        restarts := is_rare or step < 5 and is_rare_in_title;
        exit when restarts;
      end if;
      hits := hits || array(select h from private.read_submissions(scope, p,
        case when part.query is null then query else query && part.query end, step, last, after) h);
      if cardinality(hits) >= wanted then return; end if;
    end loop;
    if restarts then hits := hits[:known]; else step := last + 1; end if;
  end loop;
end
$function$;

ALTER FUNCTION "private"."full_matches"(private.search_scope, private.parsed_search, integer, private.search_hit) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.gather_digests(max_people integer DEFAULT 500)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare made integer;
begin
  with due as materialized (
    select distinct i.organization_id, i.profile_id, i.is_of_team from (
      select * from private.mail_items o where o.due_at <= now() order by o.due_at limit max_people * 20) i
    limit max_people
  ), taken as (
    delete from private.mail_items i where i.ctid = any (array(
      select o.ctid from due d join private.mail_items o
        on (o.organization_id, o.profile_id, o.is_of_team) = (d.organization_id, d.profile_id, d.is_of_team)
      where o.due_at <= now() for update of o skip locked))
    returning i.*
  ), written as (
    -- A digest has a limited length; the newest entries are shown first.
    insert into private.mails (organization_id, profile_id, kind, event_ids)
    select t.organization_id, t.profile_id, case when t.is_of_team then 'team' else 'digest' end,
      (array_agg(t.event_id order by t.created_at desc))[1:200]
    from taken t where t.created_at > now() - private.retention('mails')
    group by t.organization_id, t.profile_id, t.is_of_team returning 1
  )
  select count(*) into made from written;
  if made > 0 then perform private.wake_mailer(); end if;
  return made;
end
$function$;

ALTER FUNCTION "private"."gather_digests"(integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.give_to_confirmer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  given jsonb := nullif(current_setting('feedback.given_account', true), '')::jsonb;
  is_first boolean := old.email_confirmed_at is null and new.email_confirmed_at is not null
    and new.email = old.email;
  -- In this case the auth service has replaced password, metadata and other identities itself.
  by_provider boolean := is_first and exists (select from auth.identities i where i.user_id = new.id
    and i.provider <> 'email' and i.identity_data ->> 'email_verified' = 'true'
    and lower(i.identity_data ->> 'email') = new.email);
begin
  if by_provider or is_first
    and (select r.requests > 1 from private.unconfirmed_requests r where r.user_id = new.id) then
    new.phone := null;
    new.phone_confirmed_at := null;
    new.phone_change := '';
    new.phone_change_token := '';
    new.email_change := '';
    new.email_change_token_new := '';
    new.email_change_token_current := '';
    delete from auth.sessions s where s.user_id = new.id;
    delete from auth.mfa_factors f where f.user_id = new.id;
    -- Codes that were issued but not exchanged yet; a row without a code belongs to the confirmation itself.
    delete from auth.flow_state f where f.user_id = new.id and f.auth_code_issued_at is not null;
    -- Passkeys, which older versions of the auth service do not have.
    if to_regclass('auth.webauthn_credentials') is not null then
      execute 'delete from auth.webauthn_credentials where user_id = $1' using new.id;
    end if;
    if not by_provider then
      -- A value that the confirming statement sets comes from whoever confirms, such as an admin.
      if new.encrypted_password is not distinct from old.encrypted_password then
        -- An empty password works like null, which old versions of the auth service cannot read.
        new.encrypted_password := '';
      end if;
      delete from auth.identities i where i.user_id = new.id and i.provider <> 'email';
      given := jsonb_build_object('id', new.id, 'metadata', old.raw_user_meta_data);
      perform set_config('feedback.given_account', given::text, true);
    end if;
  end if;
  -- This applies to later statements of the transaction too: the auth service writes the metadata that it
  -- holds in memory once more, perhaps with values that the confirmer sets.
  if given ->> 'id' = new.id::text then
    new.raw_user_meta_data := private.metadata_of_auth(new.raw_user_meta_data)
      || (select coalesce(jsonb_object_agg(n.key, n.value), '{}') from jsonb_each(new.raw_user_meta_data) n
        where n.value is distinct from given -> 'metadata' -> n.key);
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."give_to_confirmer"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.has_same_mail(mail private.mails)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (
    select from public.profiles p join public.profiles u
      on u.kind = 'user' and lower(u.email) = lower(p.email)
      join private.mails m on m.profile_id = u.id and m.event_ids[1] = mail.event_ids[1]
        and m.kind not in ('digest', 'team')
    where p.id = mail.profile_id and p.kind = 'email' and mail.kind not in ('digest', 'team')
      and lower(private.mail_address(u.id)) = lower(p.email));
end
$function$;

ALTER FUNCTION "private"."has_same_mail"(private.mails) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.ids_of(what text, organization_id uuid, wanted text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare ids uuid[]; unknown text;
begin
  if what = 'category' then
    ids := array(select c.id from public.categories c where c.organization_id = ids_of.organization_id
      and (c.slug = any (wanted) or c.id::text = any (wanted)));
  else
    ids := array(select t.id from public.tags t where t.organization_id = ids_of.organization_id
      and (t.slug = any (wanted) or t.id::text = any (wanted)) order by t.id);
  end if;
  if cardinality(ids) < cardinality(wanted) then
    perform private.raise_error('VALIDATION_ERROR',
      format('contains an id or slug that is not a %s of this organization', what), 'value');
  end if;
  return ids;
end
$function$;

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

CREATE OR REPLACE FUNCTION private.unknown_reference(line integer, field text, what text)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
RETURN jsonb_build_object('line', line, 'field', field, 'message', format('is not a %s of this file or organization'::text, what));

CREATE OR REPLACE FUNCTION private.import_comments(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id,
      private.imported_row(import, 'comment', r.id) as known_id,
      private.import_target(import, r.submission_id) as target_id,
        private.imported_row(import, 'comment', r.parent_id) as known_parent_id,
      row_number() over (partition by r.id order by r.n) as nth, gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, submission_id text, parent_id text, author text, body text,
      is_official boolean, moderation_state text, created_at timestamptz, updated_at timestamptz,
        follow boolean, seen boolean)
  ), fresh as materialized (
    select r.*, coalesce(p.id, q.row_id) as parent_row_id
    from r left join public.comments p on p.id = r.known_parent_id and p.submission_id = r.target_id
    -- A parent must be earlier in the chunk, which excludes cycles.
    left join r q on q.id = r.parent_id and q.known_id is null and q.nth = 1 and q.target_id = r.target_id
      and q.n < r.n
    where r.known_id is null and r.nth = 1 and r.target_id is not null
  ), made as (
    insert into public.comments (id, organization_id, submission_id, parent_id, author_id, body, is_official,
      moderation_state, created_at, updated_at)
    select row_id, import.organization_id, target_id, parent_row_id, author_id, body, is_official,
      moderation_state, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, comment_id)
    select import.organization_id, import.source, 'comment', id, row_id from fresh
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (target_id, author_id) import.organization_id, target_id, author_id, 'comment', at
      from fresh
    where follow order by target_id, author_id, at
    on conflict do nothing
  )
  select (select count(*) from fresh) + count(*) filter
    (where known_id is null and nth = 1 and target_id is null and seen),
    count(*) filter (where known_id is not null or nth > 1),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission'))
      filter (where known_id is null and nth = 1 and target_id is null and seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object(
      'line', f.line,
      'field', 'parent_id',
      'kept', true,
      'message', 'is not an earlier comment of the submission; imported at the top level'))
      from fresh f where f.parent_id is not null and f.parent_row_id is null), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_follows(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id,
      private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, submission_id text, author text, reason text, created_at timestamptz,
      seen boolean)
  ), gone as (
    insert into private.unfollows (organization_id, submission_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id,
      coalesce(r.created_at, now())
    from r where r.target_id is not null and r.reason = 'unfollowed'
      and not exists (select from public.profiles p
        where (p.id = r.user_id or p.kind = 'user' and lower(p.email) = r.author)
          and (exists (select from public.follows f
              where f.submission_id = r.target_id and f.user_id = p.id and f.reason = 'manual')
            or exists (select from private.unfollows u
              where u.submission_id = r.target_id and u.user_id = p.id)))
    order by r.target_id, r.user_id, r.n
    on conflict do nothing
    returning submission_id, user_id
  ), unfollowed as (
    delete from public.follows f using gone g where (f.submission_id, f.user_id) = (g.submission_id, g.user_id)
  ), added as (
    insert into public.follows as f (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, r.reason,
      coalesce(r.created_at, now())
    from r where r.target_id is not null and r.reason <> 'unfollowed'
      and not exists (select from public.profiles p
        where p.kind = 'user' and lower(p.email) = r.author and private.is_follower(r.target_id, p.id))
    order by r.target_id, r.user_id, r.n
    -- An explicit follow record takes precedence over the follow that a vote or comment added.
    on conflict (submission_id, user_id) do update set reason = excluded.reason,
      created_at = excluded.created_at
      where (f.reason, f.created_at) is distinct from (excluded.reason, excluded.created_at)
    returning submission_id
  ), written as (
    select submission_id from added union all select submission_id from gone
  )
  select (select count(*) from written) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from written),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_people(import private.imports, people jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into public.profiles as p (kind, organization_id, email, name)
  select 'email', import.organization_id, k.key, private.given_name(to_jsonb(k.value))
  from jsonb_each_text(people) k where not starts_with(k.key, '#') order by k.key
  on conflict (organization_id, lower(email)) where kind = 'email'
    do update set name = excluded.name where p.name is null and excluded.name is not null;
  with unknown as materialized (
    select substr(k.key, 2) as external_id, gen_random_uuid() as id,
      private.given_name(to_jsonb(k.value)) as name
    from jsonb_each_text(people) k
    where starts_with(k.key, '#') and private.imported_row(import, 'person', substr(k.key, 2)) is null
  ), made as (
    insert into public.profiles (id, kind, organization_id, name)
    select u.id, 'anonymous', import.organization_id, u.name from unknown u
  )
  insert into private.external_ids (organization_id, source, kind, external_id, profile_id)
  select import.organization_id, import.source, 'person', u.external_id, u.id from unknown u;
  return coalesce((
    select jsonb_object_agg(k.key, case when starts_with(k.key, '#')
      then private.imported_row(import, 'person', substr(k.key, 2))
      else (select p.id from public.profiles p
        where p.kind = 'email' and p.organization_id = import.organization_id and lower(p.email) = k.key) end)
    from jsonb_object_keys(people) as k (key)), '{}');
end
$function$;

CREATE OR REPLACE FUNCTION private.import_status_changes(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as changed_by,
      private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r
      (line integer, n integer, submission_id text, author text, previous_status text, new_status text,
      note text,
      created_at timestamptz, seen boolean)
  ), added as (
    insert into public.status_changes
      (organization_id, submission_id, previous_status, new_status, changed_by, note, notify, created_at)
    select distinct on (r.target_id, r.created_at, r.new_status)
      import.organization_id, r.target_id, r.previous_status, r.new_status, r.changed_by, r.note, false,
        r.created_at
    from r where r.target_id is not null and not exists (select from public.status_changes c
      where c.submission_id = r.target_id and c.created_at = r.created_at and c.new_status = r.new_status)
    order by r.target_id, r.created_at, r.new_status, r.n
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter
      (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_submissions(import private.imports, people jsonb, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  outcome private.import_outcome;
  category_ids jsonb := private.labels_named(import, 'categories', (select jsonb_object_agg(v #>> '{}', null)
    from jsonb_path_query(records, '$[*].category') v));
  tag_ids jsonb := private.labels_named(import, 'tags', (select jsonb_object_agg(v #>> '{}', null)
    from jsonb_path_query(records, '$[*].tags[*]') v));
begin
  perform private.import_targets(import, records, 'merged_into_id');
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id,
      coalesce(private.imported_row(import, 'submission', r.id),
        private.imported_row(import, 'submission', r.former_id)) as known_id,
      row_number() over (partition by r.id order by r.n) as nth, (category_ids ->> r.category)::uuid as category_id,
        gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at,
      private.import_target(import, r.merged_into_id) as target_id,
      not category_ids ? r.category as lacks_category,
      exists (select from jsonb_array_elements_text(r.tags) t (name) where not tag_ids ? t.name) as lacks_tag
    from jsonb_to_recordset(records) as r
      (line integer, n integer, id text, former_id text, author text, title text, description text, type text,
      status text, category text, tags jsonb, source text, tracker_issue_url text, moderation_state text,
        created_at timestamptz, updated_at timestamptz,
      author_votes boolean, follow boolean, merged_into_id text)
  ), fresh as materialized (
    select * from r where known_id is null and nth = 1 and lacks_category is not true and not lacks_tag
  ), made as (
    insert into public.submissions
      (id, organization_id, title, description, type, status, vote_count, author_id, category_id, source,
      tracker_issue_url, moderation_state, merged_into_id, created_at, updated_at)
    select row_id, import.organization_id, title, description, type,
      case when target_id is not null then 'duplicate' when status = 'duplicate' then 'declined'
        else status end, (author_votes and target_id is null)::integer, author_id,
      category_id, source, tracker_issue_url, moderation_state, target_id, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, submission_id)
    select import.organization_id, import.source, 'submission', id, row_id from fresh
    union all select import.organization_id, import.source, 'submission', id, known_id from r
      where known_id is not null and nth = 1 and former_id is not null
    on conflict do nothing
  ), merged as (
    insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
    select row_id, import.organization_id, target_id, gen_random_uuid(), 'open' from fresh
      where target_id is not null order by n
  ), voted as (
    -- A merged submission copies its vote to the target, as a merge does.
    insert into public.votes (organization_id, submission_id, user_id, created_at, merged_from)
    select import.organization_id, coalesce(target_id, row_id), author_id, at, case
      when target_id is not null then row_id end
    from fresh where author_votes order by n
    on conflict on constraint one_vote_a_person_and_submission do nothing
    returning submission_id, merged_from
  ), doubled as (
    insert into private.merged_votes (source_id, user_id, organization_id, id, created_at)
    select f.row_id, f.author_id, import.organization_id, gen_random_uuid(), f.at from fresh f
    where f.author_votes and f.target_id is not null and not exists (select from voted v
      where v.merged_from = f.row_id)
  ), counted as (
    update public.submissions s set vote_count = vote_count + d.votes
    from (select submission_id, count(*) as votes from voted group by 1) d where s.id = d.submission_id
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select import.organization_id, row_id, author_id, 'author', at from fresh where follow
  ), tagged as (
    insert into public.submission_tags (organization_id, submission_id, tag_id)
    select distinct import.organization_id, f.row_id, (tag_ids ->> t.name)::uuid
    from fresh f cross join lateral jsonb_array_elements_text(f.tags) t (name)
  )
  select (select count(*) from fresh), count(*) filter (where known_id is not null or nth > 1),
    coalesce(jsonb_agg(private.unknown_reference(line, case when lacks_category then 'category'
      else 'tags' end,
      case when lacks_category then 'category' else 'tag' end)) filter
        (where known_id is null and nth = 1 and (lacks_category or lacks_tag)), '[]')
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
    || coalesce((select jsonb_agg(jsonb_build_object(
      'line', f.line,
      'field', 'answers',
      'message', f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_surveys(import private.imports, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  r record; row_id uuid; family uuid; audience_id uuid; state text;
begin
  for r in
    select * from jsonb_to_recordset(records) as s
      (line integer, n integer, id text, title text, description text, status text, questions jsonb,
      allow_multiple_responses boolean, show_branding boolean, redirect_url text, audience text,
        audience_submission_id text, locales jsonb,
      closes_at timestamptz, version_of text, published_at timestamptz, closed_at timestamptz,
        created_at timestamptz, updated_at timestamptz)
    order by s.n
  loop
    if private.imported_row(import, 'survey', r.id) is not null then
      outcome.skipped := outcome.skipped + 1;
      continue;
    end if;
    audience_id := private.imported_row(import, 'submission', r.audience_submission_id);
    if r.audience_submission_id is not null and audience_id is null then
      outcome.failures := outcome.failures || private.unknown_reference(r.line, 'audience_submission_id',
        'submission');
      continue;
    end if;
    row_id := gen_random_uuid();
    family := coalesce((select s.family_id from public.surveys s
      where s.id = private.imported_row(import, 'survey', r.version_of)), row_id);
    state := r.status;
    if state in ('published', 'paused')
      and exists (select from public.surveys s
      where s.family_id = family and s.status in ('published', 'paused')) then
      state := 'archived';
      outcome.failures := outcome.failures || jsonb_build_object(
        'line', r.line,
        'field', 'status',
        'kept', true,
        'message', 'cannot be published or paused beside an open version; imported as archived');
    end if;
    insert into public.surveys (id, organization_id, title, description, status, allow_multiple_responses,
      show_branding, redirect_url, audience,
      audience_submission_id, locales, closes_at, version_of, family_id, published_at, closed_at, created_at,
        updated_at)
    select row_id, import.organization_id, r.title, r.description, state, r.allow_multiple_responses,
      r.show_branding, r.redirect_url, r.audience,
      case when r.audience <> 'everyone' then audience_id end, case
        when r.locales is not null then array(select jsonb_array_elements_text(r.locales)) end,
      r.closes_at, private.imported_row(import, 'survey', r.version_of), family, t.published, case
        when t.published is not null then coalesce(r.closed_at,
        case when state = 'archived' then t.updated when r.closes_at <= now() then r.closes_at end) end,
          t.created, t.updated
    from (select c.created, coalesce(r.updated_at, c.created) as updated,
        coalesce(r.published_at, case when r.status in ('published', 'paused')
          then c.created end) as published
      from (select coalesce(r.created_at, now()) as created) c) t;
    insert into private.external_ids (organization_id, source, kind, external_id, survey_id)
    values (import.organization_id, import.source, 'survey', r.id, row_id);
    with q as materialized (
      select gen_random_uuid() as question_id, q.value, q.n
        from jsonb_array_elements(r.questions) with ordinality as q (value, n)
    ), asked as (
      insert into public.survey_questions
        (id, organization_id, survey_id, type, text, required, position, multiple, scale)
      select q.question_id, import.organization_id, row_id, q.value ->> 'type', q.value ->> 'text',
        (q.value ->> 'required')::boolean, q.n,
        coalesce((q.value ->> 'multiple')::boolean, false), (q.value ->> 'scale')::integer
      from q
    ), offered as (
      insert into public.survey_options (organization_id, survey_id, question_id, text, position)
      select import.organization_id, row_id, q.question_id, o.value, o.n
      from q cross join lateral jsonb_array_elements_text(nullif(q.value -> 'options', 'null'))
        with ordinality as o (value, n)
    )
    insert into private.external_ids (organization_id, source, kind, external_id, question_id)
    select import.organization_id, import.source, 'question',
      r.id || '/' || coalesce(q.value ->> 'id', q.n::text), q.question_id from q
    -- If two questions share an id, answers belong to the first.
    order by q.n on conflict do nothing;
    outcome.created := outcome.created + 1;
  end loop;
  return outcome;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_target(import private.imports, external_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = private.imported_row(import, 'submission', external_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.import_targets(import private.imports, records jsonb, field text DEFAULT 'submission_id'::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.submissions s
  where s.id in (select private.import_target(import, r.id) from (
    select distinct value ->> field as id from jsonb_array_elements(records)) r)
  order by s.id for no key update;
end
$function$;

CREATE OR REPLACE FUNCTION private.import_taxonomy(import private.imports, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  kind text; r record; is_known boolean;
begin
  foreach kind in array array['categories', 'tags'] loop
    for r in
      select true as is_record, g.* from jsonb_to_recordset(
        records -> case kind when 'categories' then 'category' else 'tag' end) as g
        (slug text, name text, color text, position integer, translations jsonb)
      union all
      select false, null, m.name, null, null, null
      from jsonb_object_keys(records -> kind) m (name)
      where import.makes_missing and not private.labels_named(import, kind, records -> kind) ? m.name
    loop
      if r.slug is null then
        is_known := private.labels_named(import, kind, jsonb_build_object(r.name, null)) <> '{}';
      else
        execute format('select exists (select from public.%I l
          where l.organization_id = $1 and l.slug = $2)', kind)
        into is_known using import.organization_id, r.slug;
      end if;
      if not is_known then
        execute format('insert into public.%1$I
          select (jsonb_populate_record(null::public.%1$I, $1)).*', kind)
        using jsonb_build_object(
          'id', gen_random_uuid(),
          'organization_id', import.organization_id,
          'slug', coalesce(r.slug, private.free_slug(kind, import.organization_id, r.name)),
          'name', r.name,
          'color', coalesce(r.color, '#6b7280'),
          'position', coalesce(r.position, (select coalesce(max(c.position), -1) + 1 from public.categories c
            where c.organization_id = import.organization_id)),
          'translations', coalesce(r.translations, '{}'),
          -- Its slug counts as given before this import.
          'created_at', case when r.slug is null then clock_timestamp() else import.created_at end);
      end if;
      continue when not r.is_record;
      if is_known then outcome.skipped := outcome.skipped + 1;
      else outcome.created := outcome.created + 1; end if;
    end loop;
  end loop;
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

CREATE OR REPLACE FUNCTION private.imported_answers(import private.imports, survey_id uuid, named text, answers jsonb)
 RETURNS private.checked_answer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare kept jsonb[] := '{}'; item record; checked private.checked_answer;
begin
  for item in
    select q as question, a.value -> 'value' as value,
      row_number() over (partition by q.id order by a.n) as nth
    from jsonb_array_elements(answers) with ordinality as a (value, n)
    left join private.external_ids e on e.organization_id = import.organization_id
      and e.source = import.source and e.kind = 'question'
      and e.external_id = named || '/' || (a.value ->> 'question_id')
    left join public.survey_questions q on q.survey_id = imported_answers.survey_id
      and (q.id = e.question_id or q.id::text = a.value ->> 'question_id')
    order by q.position, a.n
  loop
    if (item.question).id is null then
      return row(null, 'is not a question of this survey')::private.checked_answer;
    elsif item.nth > 1 then
      return row(null, 'answers a question twice')::private.checked_answer;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      return row(null, format('of question %s %s', (item.question).position,
        checked.complaint))::private.checked_answer;
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
    end if;
  end loop;
  return row(to_jsonb(kept), null)::private.checked_answer;
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

CREATE OR REPLACE FUNCTION private.index_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  made record;
  -- The new row already counts the author's vote.
  votes constant integer := (select s.vote_count from public.submissions s where s.id = new.id);
begin
  select * into made from private.submission_lexemes(new.organization_id, new.title, new.description);
  insert into private.submission_search
    (submission_id, organization_id, title_lexemes, lexemes, title, content)
  values (new.id, new.organization_id, array_to_tsvector(made.title_lexemes),
    array_to_tsvector(made.title_lexemes || made.lexemes
      || private.search_tiers(new.organization_id, votes, new.id)),
    left(private.plain_text(new.title), 400),
    left(private.plain_text(new.title || ' ' || new.description), 8000))
  on conflict (submission_id) do update set title_lexemes = excluded.title_lexemes,
    lexemes = excluded.lexemes, title = excluded.title, content = excluded.content;
  if new.moderation_state = 'approved' then
    insert into private.search_words (organization_id, word)
    select new.organization_id, k.word from unnest(made.known) k (word)
    where not exists (select from private.search_words w
      where w.organization_id = new.organization_id and w.word = k.word);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.index_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  update private.submission_search c set lexemes = ts_delete(c.lexemes,
      private.search_tiers(old.organization_id, old.vote_count, old.id))
    || array_to_tsvector(private.search_tiers(new.organization_id, new.vote_count, new.id))
  where c.submission_id = new.id;
  return null;
end
$function$;

ALTER FUNCTION "private"."index_votes"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_admin(organization_id uuid, scope text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return organization_id = any (private.admin_organization_ids(scope));
end
$function$;

CREATE OR REPLACE FUNCTION private.is_allowed_origin(origin text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from public.organizations o where is_allowed_origin.origin = any (o.allowed_origins));
end
$function$;

CREATE OR REPLACE FUNCTION private.is_announced(type text, subject_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.outbox o
    where o.subject_id = is_announced.subject_id and o.type = is_announced.type
  and o.type in ('submission.created', 'comment.created'));
end
$function$;

CREATE OR REPLACE FUNCTION private.is_author_of_key(profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.is_key() and exists (
  select from public.profiles p
  where p.id = profile_id and p.organization_id = private.key_organization_id()
    and (p.id = private.caller_id()
      or (p.kind = 'email' or p.named_by_key) and private.agent_id() is null));
end
$function$;

CREATE OR REPLACE FUNCTION private.is_follower(submission_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return not exists (select from private.unfollows u where u.submission_id = is_follower.submission_id
      and u.user_id = profile_id)
    and exists (select from public.follows f
      where f.submission_id = any (private.with_sources(is_follower.submission_id))
        and f.user_id = profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.is_following(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.is_follower(submission_id, private.caller_id());
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

CREATE OR REPLACE FUNCTION private.is_in_audience(survey public.surveys, user_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare submission uuid := (select coalesce(s.merged_into_id, s.id) from public.submissions s
  where s.id = survey.audience_submission_id);
begin
  return case survey.audience
    when 'everyone' then true
    when 'voters' then exists (select from public.votes v
      where v.submission_id = submission and v.user_id = is_in_audience.user_id)
    else submission is not null and private.is_follower(submission, user_id) end;
end
$function$;

ALTER FUNCTION "private"."is_in_audience"(public.surveys, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_member(organization_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from public.memberships m where m.organization_id = is_member.organization_id
    and m.user_id = profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.is_moderating(author_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- Changes by definer functions and foreign keys are logged by the operation that caused them.
  return current_user in ('authenticated', 'service_key') and author_id is distinct from private.caller_id();
end
$function$;

CREATE OR REPLACE FUNCTION private.is_muted(organization_id uuid, submission_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.mail_mutes m where m.organization_id = is_muted.organization_id
    and m.submission_id = is_muted.submission_id and m.profile_id = is_muted.profile_id)
    or private.is_silent(submission_id, profile_id);
end
$function$;

ALTER FUNCTION "private"."is_muted"(uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_own_act(profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return profile_id = private.caller_id()
    or exists (select from public.profiles p where p.id = is_own_act.profile_id and p.kind = 'user');
end
$function$;

ALTER FUNCTION "private"."is_own_act"(uuid) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.is_silent(submission_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.unfollows u join public.submissions s on s.id = u.submission_id
      where u.user_id = profile_id and is_silent.submission_id in (s.id, s.merged_into_id))
    and not private.is_follower(submission_id, profile_id);
end
$function$;

ALTER FUNCTION "private"."is_silent"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_suppressed(organization_id uuid, address text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.mail_suppressions s
    where s.address_hash = private.address_hash(is_suppressed.address)
      and (s.organization_id = is_suppressed.organization_id or s.reason <> 'refused'));
end
$function$;

ALTER FUNCTION "private"."is_suppressed"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_time_zone(value text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform now() at time zone value;
  return value ~ '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$';
exception when invalid_parameter_value then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION private.is_trusted(organization_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare wanted integer;
begin
  return coalesce(
    (select t.is_trusted from private.author_trust t where t.organization_id = is_trusted.organization_id
      and t.user_id = profile_id),
    (select o.trust_after <= (
        select count(*) from (
          (select from public.submissions s where s.author_id = profile_id and s.organization_id = o.id
            and s.moderation_state = 'approved' limit o.trust_after)
          union all
          (select from public.comments c where c.author_id = profile_id and c.organization_id = o.id
            and c.moderation_state = 'approved' limit o.trust_after)) approved)
      from public.organizations o where o.id = is_trusted.organization_id),
    false);
end
$function$;

CREATE OR REPLACE FUNCTION private.keep_maker_in_team()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() or new.created_by = private.caller_id() then
    -- This insert and a removal of the person wait for each other.
    perform private.lock_team(new.organization_id);
    if not private.is_key() then
      perform private.require_admin(new.organization_id, '');
    elsif exists (select from private.api_keys k
      where k.id = private.key_id() and k.revoked_at is not null) then
      perform private.raise_error('UNAUTHORIZED', 'This key was revoked. Use another one.');
    end if;
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."keep_maker_in_team"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.keep_unfollow()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.is_internal_write() then
    delete from private.unfollows u
    where u.user_id = new.user_id and u.submission_id = any (private.with_sources(new.submission_id));
  elsif exists (select from private.unfollows u
    where u.submission_id = new.submission_id and u.user_id = new.user_id) then
    return null;
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."keep_unfollow"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.known_words(scope private.search_scope, word text, few uuid[], OUT known text, OUT quality real)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query select n.word, n.quality from (
    select w.word, greatest(extensions.similarity(w.word, known_words.word),
      case when position(known_words.word in w.word) > 0 then 0.6 end)::real as quality
    from private.search_words w
    where w.organization_id = scope.organization_id and w.word <> known_words.word
      and (w.word operator(extensions.%) known_words.word
        or w.word operator(pg_catalog.~~) ('%' || known_words.word || '%'))
    group by w.word order by quality desc, w.word limit 20) n
  where n.quality >= 0.3 and exists (select from private.some_matches(scope,
    private.search_query(scope.organization_id, array[n.word])::tsquery, 1, few, 1000))
  order by n.quality desc, n.word limit 6;
end
$function$;

ALTER FUNCTION "private"."known_words"(private.search_scope, text, uuid[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.labels_named(import private.imports, kind text, names jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare found jsonb;
begin
  execute format('with n as materialized (
      select k.name, private.fold_text(k.name) as folded from jsonb_object_keys($1) k (name)
    ), l as materialized (
      select t.id, t.slug, private.fold_text(t.name) as folded, t.created_at
      from public.%I t where t.organization_id = $2
    )
    select jsonb_object_agg(c.name, c.id) from (
      select distinct on (o.name) o.name, o.id from (
        select n.name, l.id, l.created_at, 2 as place from n join l on l.folded = n.folded
        union all select n.name, l.id, l.created_at, case when $4 then 1 else 3 end
        from n join l on l.slug = n.name where l.created_at <= $3) o
      order by o.name, o.place, o.created_at, o.id) c', kind)
  into found using names, import.organization_id, import.created_at, import.format = 'feedback';
  return coalesce(found, '{}');
end
$function$;

CREATE OR REPLACE FUNCTION private.latest_migration()
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select max(version) from supabase_migrations.schema_migrations);
end
$function$;

CREATE OR REPLACE FUNCTION private.list_submissions(organization_id uuid, q text, status text, type text, category_id uuid, tag_id uuid, author_id uuid, sort text, is_ascending boolean, after_value text, after_id uuid, skipped integer, wanted integer, OUT submission_ids uuid[], OUT total bigint, OUT total_is_capped boolean, OUT match text, OUT did_you_mean text, OUT marks text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET max_parallel_workers_per_gather TO '0'
AS $function$
#variable_conflict use_column
declare
  max_counted constant integer := 10000;
  max_hidden constant integer := 10000;
  own_id constant uuid := organization_id;
  scope constant private.search_scope := private.search_scope(organization_id, status, type, category_id,
    tag_id, author_id);
  sees_all constant boolean := coalesce(own_id = any (scope.team_ids), false);
  key constant text := case sort when 'votes' then 's.vote_count' when 'comments' then 's.comment_count'
    when 'title' then 's.title collate "und-x-icu"' else 's.created_at' end;
  direction constant text := case when is_ascending then 'asc' else 'desc' end;
  in_order constant text := format('order by %s %s, s.id %2$s', key, direction);
  page constant text := format(' limit %s offset %s', wanted, skipped);
  after constant text := case when after_id is null then '' else format(' and (%s, s.id) %s ($1::%s, $2)', key,
    case when is_ascending then '>' else '<' end,
    case sort when 'created_at' then 'timestamptz' when 'title' then 'text' else 'integer' end) end;
  -- The filter that the index of the order has.
  sorted_filter constant text := coalesce(case when sort in ('created_at', 'votes')
      then ' and s.status = ' || quote_literal(status) end,
    case when sort = 'created_at' then coalesce(' and s.author_id = ' || quote_literal(author_id),
      ' and s.category_id = ' || quote_literal(category_id)) end, '');
  filters constant integer := num_nonnulls(status, type, category_id, tag_id, author_id, q,
    scope.agent_category_ids);
  without_tag private.search_scope := scope;
  walked private.search_scope := row(own_id, null, null, null, null, null, null, null, null, null);
  conditions text; p private.parsed_search; found_ids uuid[]; hidden uuid[]; knows_hidden boolean;
  matches double precision; board bigint;
begin
  -- Many rows are skipped by an index alone, which does not say who may see each.
  if skipped >= 1000 and not sees_all then
    hidden := array(select s.id from public.submissions s where s.organization_id = own_id
      and not s.is_public and s.author_id is distinct from scope.caller_id limit max_hidden + 1);
  end if;
  without_tag.tag_id := null;
  knows_hidden := coalesce(cardinality(hidden) <= max_hidden, false);
  conditions := private.scope_conditions(without_tag, knows_hidden) || after
    || case when knows_hidden then ' and s.id <> all ($3)' else '' end;

  total_is_capped := false;
  if q is null then
    total := private.count_in_scope(scope);
  else
    p := private.parse_search(own_id, q);
    match := 'all';
    marks := p.marks;
    total := private.count_matches(scope, p, max_counted + 1);
    if total = 0 then
      select array(select h.submission_id from unnest(f.hits) h), f.match, f.did_you_mean, f.marks
        into found_ids, match, did_you_mean, marks
      from private.find_submissions(own_id, q, status, type, category_id, tag_id, author_id, null, 100) f;
      total := cardinality(found_ids);
    end if;
    total_is_capped := total > max_counted;
    total := least(total, max_counted);
  end if;

  if filters = (sorted_filter <> '')::integer then
    execute format('select array(select s.id from public.submissions s where %s %s%s)', conditions, in_order,
      page) into submission_ids using after_value, after_id, hidden;
    return;
  end if;
  matches := private.filter_size(scope);
  -- The index of the order has these rows.
  walked.status := case when sort in ('created_at', 'votes') then status end;
  walked.author_id := case when sort = 'created_at' and status is null then author_id end;
  walked.category_id := case when sort = 'created_at' and num_nonnulls(status, author_id) = 0
    then category_id end;
  board := private.count_in_scope(walked, true);
  if q is not null then
    matches := case when total_is_capped then greatest(total, matches * p.text_share) else total end;
  end if;
  -- A walk with words looks up the words of each row.
  if found_ids is null
    and (skipped + wanted)::double precision * board * (case when q is null then 1 else 4 end)
      < matches * matches then
    execute format('select array(select s.id from (select * from public.submissions s
        where s.organization_id = %L and s.merged_into_id is null%s %s limit %s) s where %s %3$s%6$s)',
      own_id, sorted_filter || after, in_order, matches::bigint, concat_ws(' and ', conditions,
        case when tag_id is not null then '(select true from public.submission_tags m
          where m.submission_id = s.id and m.tag_id = $6)' end,
        case when q is not null then '(select m.lexemes operator(pg_catalog.@@) $4
          from private.submission_search m where m.submission_id = s.id)' end), page)
    into submission_ids using after_value, after_id, hidden, p.text_any, null, tag_id;
    if cardinality(submission_ids) = wanted then return; end if;
  end if;
  perform set_config('enable_sort', 'on', true);
  execute format('select array(select s.id from (select s.id, %s as place from %s where %s offset 0) s
      order by s.place %s, s.id %4$s%5$s)', key,
    case when found_ids is not null then 'unnest($5) l (id) join public.submissions s on s.id = l.id'
      -- The planner expects too many matches of rare words.
      when filters = 1 and q is not null or p.text_share * (scope.board).size <= 2000
        then '(select m.submission_id from private.submission_search m
            where m.lexemes operator(pg_catalog.@@) $4 offset 0) m
          cross join lateral (select * from public.submissions s where s.id = m.submission_id offset 0) s'
      when q is not null then 'private.submission_search m join public.submissions s
        on s.id = m.submission_id and m.lexemes operator(pg_catalog.@@) $4'
      else 'public.submissions s' end,
    conditions || private.tag_condition(scope), direction, page)
  into submission_ids using after_value, after_id, hidden, p.text_any, found_ids;
end
$function$;

ALTER FUNCTION "private"."list_submissions"(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.local_date(value text, time_zone text)
 RETURNS date
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return case when value ~ '^\d{4}-\d\d-\d\d$' then value::date
    else (value::timestamptz at time zone time_zone)::date end;
end
$function$;

CREATE OR REPLACE FUNCTION private.localized_tags_of(submission_ids uuid[], locale text)
 RETURNS TABLE(submission_id uuid, tags json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 50
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select st.submission_id, json_agg(json_build_object(
      'name', private.localized(t.name, t.translations, locale),
      'slug', t.slug) order by t.slug)
    from public.submission_tags st join public.tags t on t.id = st.tag_id
    where st.submission_id = any (submission_ids) group by 1;
end
$function$;

ALTER FUNCTION "private"."localized_tags_of"(uuid[], text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.lock_board()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.organizations where id = new.id for update;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_caller()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.caller_id();
begin
  perform 1 from public.profiles p where p.id = own_id and p.kind = 'email' for share;
  if not found and exists (select from public.profiles p where p.id = own_id and p.kind = 'anonymous') then
    perform private.raise_error('UNAUTHORIZED', 'This session has ended. Sign in again.');
  end if;
end
$function$;

ALTER FUNCTION "private"."lock_caller"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.lock_comment(comment_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER COST 10000
 SET search_path TO 'pg_temp'
AS $function$
declare current_id uuid;
begin
  select c.submission_id into current_id from public.comments c
    where c.id = lock_comment.comment_id for no key update;
  return current_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_comments(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.comments where id = any (ids) order by id for no key update;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_counts(organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from private.submission_counts c where c.organization_id = lock_counts.organization_id
  order by c.is_public, c.status, c.type, c.category_id for no key update;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_import(import_id uuid)
 RETURNS private.imports
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports;
begin
  select * into import from private.imports i
    where i.id = import_id and i.organization_id = own_id for no key update;
  if import.id is null then perform private.raise_error('NOT_FOUND', 'There is no such import.'); end if;
  return import;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_open_submission(submission_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.lock_submission(submission_id);
  perform private.require_open_submission(submission_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_personal_rows(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.organizations o where o.id = lock_personal_rows.organization_id for no key update;
  perform 1 from public.submissions s
  where s.id in (
      select o.id from public.submissions o where o.author_id = profile_id
      union all select v.submission_id from public.votes v where v.user_id = profile_id
      union all select f.submission_id from public.follows f where f.user_id = profile_id
      union all select c.submission_id from public.comments c where c.author_id = profile_id
      union all select v.submission_id from public.comment_votes v where v.user_id = profile_id)
    and (lock_personal_rows.organization_id is null or s.organization_id = lock_personal_rows.organization_id)
  order by s.id for no key update;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_submission(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER COST 10000
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.submissions s where s.id = lock_submission.submission_id for no key update;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_submissions(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if cardinality(ids) > 1 then
    perform 1 from public.submissions where id = any (ids) order by id for no key update;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_survey(survey_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare found_status text;
begin
  select s.status into found_status from public.surveys s
    where s.id = lock_survey.survey_id for no key update;
  if found_status is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return found_status;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_team(organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.organizations o where o.id = organization_id for no key update;
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_thread(comment_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER COST 10000
 SET search_path TO 'pg_temp'
AS $function$
declare thread_id uuid;
begin
  loop
    select c.submission_id into thread_id from public.comments c where c.id = comment_id;
    if thread_id is null then return false; end if;
    -- A subtransaction: if a concurrent merge moved the comment while this waited, its rollback releases the
    -- lock.
    begin
      perform private.lock_submission(thread_id);
      if exists (select from public.comments c where c.id = comment_id and c.submission_id = thread_id)
        then return true; end if;
      raise exception using errcode = 'FBMOV';
    exception when sqlstate 'FBMOV' then null;
    end;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.made_by(organization_id uuid, user_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() or not private.is_admin(organization_id, '') then return '[]'; end if;
  return (select coalesce(jsonb_agg(m order by m.type, m.name collate "und-x-icu", m.id), '[]') from (
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

CREATE OR REPLACE FUNCTION private.mail_address(profile_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select case p.kind when 'email' then p.email
    when 'user' then (select u.email from auth.users u where u.id = p.auth_user_id
      and u.email_confirmed_at is not null and u.deleted_at is null and not u.is_anonymous) end
    from public.profiles p where p.id = mail_address.profile_id);
end
$function$;

ALTER FUNCTION "private"."mail_address"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_choice(organization_id uuid, profile_id uuid, kind text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce(
    (select c.choice from private.mail_choices c where c.organization_id = mail_choice.organization_id
      and c.profile_id = mail_choice.profile_id and c.kind = mail_choice.kind),
    (select o.mail_defaults ->> mail_choice.kind from public.organizations o
      where o.id = mail_choice.organization_id),
    (select k.default_choice from private.mail_kinds() k where k.kind = mail_choice.kind));
end
$function$;

ALTER FUNCTION "private"."mail_choice"(uuid, uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_content(mail private.mails)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if mail.kind = 'team' then
    return (select jsonb_agg(jsonb_build_object(
      'kind', 'team',
      'submission_id', s.id,
      'title', s.title,
      'text', left(s.description, 300),
      'by', coalesce(a.name, 'Anonymous')) order by s.created_at desc)
      from public.submissions s join public.profiles a on a.id = s.author_id
      where s.organization_id = mail.organization_id and s.id = any (mail.event_ids)
        and s.moderation_state in ('approved', 'pending') and s.merged_into_id is null
        and private.is_member(mail.organization_id, mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'team') <> 'never');
  end if;
  if mail.kind = 'survey' then
    return (select jsonb_build_array(jsonb_build_object(
      'kind', 'survey',
      'survey_id', s.id,
      'title', s.title,
      'text', left(s.description, 2000),
      'is_reminder', cardinality(mail.event_ids) > 1))
      from public.surveys s join public.organizations o on o.id = s.organization_id
      where s.organization_id = mail.organization_id and s.id = mail.event_ids[1]
        and s.status = 'published' and coalesce(s.closes_at > now(), true)
        and (o.visibility = 'public' or private.is_member(o.id, mail.profile_id))
        and not exists (select from public.survey_responses r
          where r.survey_id = s.id and r.user_id = mail.profile_id)
        and private.mail_choice(mail.organization_id, mail.profile_id, 'survey') <> 'never');
  end if;
  if mail.kind = 'invite' then
    return (select jsonb_build_array(jsonb_build_object(
      'kind', 'invite',
      'invite_id', i.id,
      'role', i.role,
      'by', coalesce(p.name, 'Anonymous'),
      'expires_at', i.expires_at))
      from private.invites i join public.profiles p on p.id = i.invited_by
      where i.id = mail.invite_id and private.invite_status(i) = 'open');
  end if;
  return (select jsonb_agg(e.told order by i.place)
    from unnest(mail.event_ids) with ordinality as i (event_id, place)
      cross join lateral (select private.mail_event(mail.profile_id, i.event_id) as told) e
    -- A digest omits what was read on the pages.
    where e.told is not null and not (mail.kind = 'digest' and (e.told ->> 'is_read')::boolean));
end
$function$;

ALTER FUNCTION "private"."mail_content"(private.mails) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_event(profile_id uuid, event_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'kind', k.kind,
      'submission_id', s.id,
      'title', s.title,
      'comment_id', c.id,
      'is_read', n.read_at is not null,
      'status', h.new_status,
      'text', left(coalesce(c.body, h.note), 2000),
      'is_official', c.is_official,
      'by', (select coalesce(a.name, 'Anonymous') from public.profiles a where a.id = c.author_id)))
    from public.notifications n
      join public.submissions s on (s.organization_id, s.id) = (n.organization_id, n.submission_id)
      left join public.comments c on c.id = n.comment_id
      left join public.status_changes h on h.id = n.event_id and n.type = 'status_changed'
      cross join lateral (select private.mail_kind(n.type) as kind) k
    where n.user_id = mail_event.profile_id and n.event_id = mail_event.event_id
      and (s.is_public or s.author_id = n.user_id or private.is_member(s.organization_id, n.user_id))
      and case when n.type = 'status_changed' then h.id is not null
        else c.moderation_state = 'approved' end
      and private.mail_choice(n.organization_id, n.user_id, k.kind) <> 'never'
      and not private.is_muted(n.organization_id, s.id, n.user_id));
end
$function$;

ALTER FUNCTION "private"."mail_event"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_locale(profile_id uuid, organization_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce(
    (select coalesce(p.locale, (select u.raw_user_meta_data ->> 'locale' from auth.users u
        where u.id = p.auth_user_id and u.raw_user_meta_data ->> 'locale' = any (private.locales())))
      from public.profiles p where p.id = mail_locale.profile_id),
    (select o.default_locale from public.organizations o where o.id = mail_locale.organization_id));
end
$function$;

ALTER FUNCTION "private"."mail_locale"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_preferences(organization_id uuid DEFAULT private.current_organization_id(), profile_id uuid DEFAULT private.caller_id())
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_address text := private.mail_address(mail_preferences.profile_id);
begin
  return (select json_build_object(
    'organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name),
    'mail_enabled', o.mail_enabled,
    'choices', (select json_object_agg(k.kind, private.mail_choice(o.id, mail_preferences.profile_id, k.kind)
        order by k.place)
      from private.mail_kinds() k
      where k.choices <> '{}'
        and (k.kind <> 'team' or private.is_member(o.id, mail_preferences.profile_id))),
    'muted', coalesce((select json_agg(json_build_object('id', s.id, 'title', s.title)
        order by m.created_at desc)
      from (select * from private.mail_mutes t where t.organization_id = o.id
        and t.profile_id = mail_preferences.profile_id order by t.created_at desc limit 100) m
        join public.submissions s on s.id = m.submission_id
      where s.is_public or s.author_id = mail_preferences.profile_id
        or private.is_member(o.id, mail_preferences.profile_id)), '[]'),
    'stopped', (select s.reason from private.mail_suppressions s
      where s.address_hash = private.address_hash(own_address)
        and (s.organization_id = o.id or s.reason <> 'refused')
      order by s.reason = 'refused' limit 1))
    from public.organizations o join public.profiles p on p.id = mail_preferences.profile_id
    where o.id = mail_preferences.organization_id
      and p.kind in ('user', 'email') and (p.organization_id is null or p.organization_id = o.id));
end
$function$;

ALTER FUNCTION "private"."mail_preferences"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_survey(survey_id uuid, is_reminder boolean DEFAULT false)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_variable
declare
  own_id uuid := private.require_survey(survey_id, 'surveys:publish');
  survey public.surveys;
  submission uuid;
  queued integer;
begin
  select * into survey from public.surveys s where s.id = survey_id for share;
  perform private.require_accepts_responses(survey);
  submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = survey.audience_submission_id);
  if survey.audience = 'everyone' or submission is null then
    perform private.raise_error('CONFLICT',
      'Surveys can be emailed only to voters or followers of a submission. Choose one of them as the '
        'audience (targeting).',
      'targeting');
  end if;
  if not (select o.mail_enabled from public.organizations o where o.id = own_id) then
    perform private.raise_error('CONFLICT',
      'The organization does not send emails. Turn them on first (mail_enabled).',
      'mail_enabled');
  end if;
  if is_reminder then
    with reminded as (
      update private.survey_requests q set reminded_at = now()
      where q.organization_id = own_id and q.survey_id = survey_id and q.reminded_at is null
        and q.created_at < now() - interval '1 day' and not exists (select from public.survey_responses r
          where r.survey_id = survey_id and r.user_id = q.profile_id)
        and not private.is_silent(submission, q.profile_id)
      returning q.profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, r.profile_id, 'survey', array[survey_id, survey_id] from reminded r returning 1
    )
    select count(*) into queued from made;
  else
    with asked as (
      insert into private.survey_requests (survey_id, profile_id, organization_id)
      select survey_id, p.id, own_id from public.profiles p
      where p.kind = 'user' and p.auth_user_id is not null and p.id in (
        select v.user_id from public.votes v where survey.audience = 'voters' and v.submission_id = submission
        union all select f.user_id from public.follows f
          where survey.audience = 'followers' and f.submission_id = any (private.with_sources(submission)))
        and not private.is_silent(submission, p.id)
      on conflict do nothing returning profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, a.profile_id, 'survey', array[survey_id] from asked a returning 1
    )
    select count(*) into queued from made;
  end if;
  if queued > 0 then
    perform private.audit('survey.mail', 'survey', survey_id,
      jsonb_build_object('is_reminder', is_reminder, 'people', queued), own_id);
    perform private.wake_mailer();
  end if;
  return (select json_build_object(
    'survey_id', survey_id,
    'queued', queued,
    'asked', count(*),
    'reminded', count(q.reminded_at)) from private.survey_requests q
    where q.organization_id = own_id and q.survey_id = survey_id);
end
$function$;

ALTER FUNCTION "private"."mail_survey"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mailbox(address text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  name text := regexp_replace(lower(address), '@[^@]*$', '');
  domain text := substring(lower(address) from '[^@]*$');
begin
  if domain = 'googlemail.com' then domain := 'gmail.com'; end if;
  name := regexp_replace(name, '(?<=.)\+.*$', '');
  return case domain when 'gmail.com' then replace(name, '.', '')
    when 'yahoo.com' then regexp_replace(name, '(?<=.)-.*$', '') else name end || '@' || domain;
end
$function$;

ALTER FUNCTION "private"."mailbox"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mask_addresses(value jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return case jsonb_typeof(value)
    when 'string' then to_jsonb(private.without_addresses(value #>> '{}'))
    when 'array' then coalesce((select jsonb_agg(private.mask_addresses(e.item) order by e.n)
      from jsonb_array_elements(value) with ordinality e (item, n)), '[]')
    when 'object' then coalesce((select jsonb_object_agg(e.name, private.mask_addresses(e.item))
      from jsonb_each(value) e (name, item)), '{}')
    else value end;
end
$function$;

ALTER FUNCTION "private"."mask_addresses"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.may_act_as(profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce(case when private.is_key()
    then private.has_scope('submissions:write') and private.is_author_of_key(profile_id)
  else profile_id = private.caller_id() end, false);
end
$function$;

CREATE OR REPLACE FUNCTION private.may_listen(topic text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare part text[] := regexp_match(topic,
  '^(submission|organization):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
begin
  if part is null then return false; end if;
  if part[1] = 'organization' then
    return exists (select from public.organizations o where o.id = part[2]::uuid
      and (part[3] is null or o.id = any (private.team_organization_ids())));
  end if;
  return exists (select from public.submissions s where s.id = part[2]::uuid
    and (part[3] is null or s.organization_id = any (private.team_organization_ids())));
end
$function$;

CREATE OR REPLACE FUNCTION private.mean(numbers numeric[])
 RETURNS numeric
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select avg(n) from unnest(numbers) n);
end
$function$;

CREATE OR REPLACE FUNCTION private.member_shape(member public.memberships, with_email boolean, for_owner boolean)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select json_build_object(
    'user_id', p.id,
    'name', coalesce(p.name, 'Anonymous'),
    'avatar', private.avatar(p),
    'email', case when with_email then p.email end,
    'role', member.role,
    'joined_at', member.created_at,
    'has_second_factor', case when for_owner
      then exists (select from auth.mfa_factors f where f.user_id = p.auth_user_id
        and f.status = 'verified') end)
    from public.profiles p where p.id = member.user_id);
end
$function$;

ALTER FUNCTION "private"."member_shape"(public.memberships, boolean, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.merge_tree(root uuid)
 RETURNS TABLE(source_id uuid, path bigint[])
 LANGUAGE plpgsql
 STABLE ROWS 20
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    with recursive tree as (
      select m.source_id, array[m.place] as path from private.merges m where m.parent_id = root
      union all
      select m.source_id, t.path || m.place from private.merges m join tree t on m.parent_id = t.source_id)
    select t.source_id, t.path from tree t;
end
$function$;

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

CREATE OR REPLACE FUNCTION private.move_threads(threads uuid[], target_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  threads := array(
    with recursive thread as (
      select id from public.comments where id = any (threads)
      union all
      select r.id from public.comments r join thread t on r.parent_id = t.id)
    select id from thread);
  perform 1 from public.comments where id = any (threads) order by id for update;
  update public.comments c set submission_id = target_id, is_public = s.is_public
    and c.moderation_state = 'approved'
  from public.submissions s where s.id = target_id and c.id = any (threads);
end
$function$;

CREATE OR REPLACE FUNCTION private.move_to_category(organization_id uuid, from_id uuid, to_id uuid, batch integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare ids uuid[];
begin
  -- Skip rows locked by others; a later batch moves them.
  ids := array(select s.id from public.submissions s
    where s.organization_id = move_to_category.organization_id and s.category_id = from_id
      limit batch for no key update skip locked);
  if ids = '{}' then return 0; end if;
  perform private.lock_counts(organization_id);
  perform set_config('feedback.internal_write', 'on', true);
  update public.submissions s set category_id = to_id where s.id = any (ids);
  perform set_config('feedback.internal_write', 'off', true);
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, m.category_id, sum(m.change)
  from public.submissions s cross join (values (from_id, -1), (to_id, 1)) m (category_id, change)
  where s.id = any (ids) and s.merged_into_id is null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  insert into private.submission_subtotals (organization_id, author_id, tag_id, is_public, status, type,
    category_id, total)
  select s.organization_id, l.author_id, l.tag_id, s.is_public, s.status, s.type, m.category_id, sum(m.change)
  from public.submissions s cross join (values (from_id, -1), (to_id, 1)) m (category_id, change)
    cross join lateral (select s.author_id, null::uuid as tag_id union all
      select null, t.tag_id from public.submission_tags t where t.submission_id = s.id) l
  where s.id = any (ids) and s.merged_into_id is null group by 1, 2, 3, 4, 5, 6, 7;
  return cardinality(ids);
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

ALTER FUNCTION "private"."mute_submission"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.my_personal_data()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.personal_data(private.caller_id(), private.named_organization_id());
end
$function$;

CREATE OR REPLACE FUNCTION private.my_responses()
 RETURNS TABLE(id uuid, survey_id uuid, survey_title text, submitted_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select r.id, r.survey_id, s.title, r.submitted_at
    from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = private.caller_id();
end
$function$;

CREATE OR REPLACE FUNCTION private.my_second_factors()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select coalesce(json_agg(json_build_object(
    'id', f.id,
    'name', f.friendly_name,
    'created_at', f.created_at) order by f.created_at, f.id), '[]')
    from public.profiles p join auth.mfa_factors f on f.user_id = p.auth_user_id
    where p.id = private.caller_id() and f.status = 'verified');
end
$function$;

ALTER FUNCTION "private"."my_second_factors"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.my_vote(submission_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select v.created_at from public.votes v where v.submission_id = my_vote.submission_id
    and v.user_id = private.caller_id());
end
$function$;

CREATE OR REPLACE FUNCTION private.my_votes()
 RETURNS TABLE(submission_id uuid, voted_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select v.submission_id, v.created_at from public.votes v where v.user_id = private.caller_id();
end
$function$;

CREATE OR REPLACE FUNCTION private.name_skeleton(name text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  -- Capitals come first, because Greek capitals resemble other Latin letters than Greek lowercase does. Small
  -- capitals and letters of Lisu and Cherokee follow.
  latin text := private.plain_text(translate(regexp_replace(name, '\|(?=\w)', 'l', 'g'),
    'ΑАΒВСϹΕЕΗНҺΙІӀЈΚКΜМΝΟОΡРЅΤТΧХΥУҮΖ' || 'ᴀʙᴄᴅᴇꜰғɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏ'
      || 'ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ' || 'ᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ',
    'aabbcceehhhiiijkkmmnooppsttxxyyyz' || 'abcdeffghijklmnoprtuvwy'
      || 'abcdefghijklmnoprstuvwxyz' || 'abcdeghjklmprstvwz'));
  shape text := replace(replace(translate(
    regexp_replace(latin, '[\u0001-/:-`{-\u00BF\u2000-\u2BFF\u3000-\u303F\uE000-\uF8FF\uFE00-\uFE0F'
      '\U0001F000-\U0001FAFF\U000E0100-\U000E01EF]', '', 'g'),
    'i1ıɩιіӏ0οоօаαɑьƅсϲԁеєɡցһհјϳкκмոпрρԛզгѕꜱтτυսцνѵԝωхχуγүᴢ',
    'lllllllooooaaabbccdeegghhjjkkmnnppqqrssttuuuvvwwxxyyyz'), 'rn', 'm'), 'vv', 'w');
  -- The spellings of the team mark, in their visual form.
  team constant text := '(team|equlp[eo]|squadra|チーム|komaндa)';
begin
  return coalesce(nullif(regexp_replace(shape, '^' || team || '|' || team || '$', '', 'g'), ''),
    nullif(shape, ''), latin);
end
$function$;

ALTER FUNCTION "private"."name_skeleton"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.needs_approval(organization_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.caller_id() is not null
    and exists (select from public.organizations o
      where o.id = needs_approval.organization_id and o.require_approval)
    and not private.is_member(organization_id, profile_id)
      and not private.is_trusted(organization_id, profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.needs_password()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from auth.users u where u.id = auth.uid()
    and coalesce(u.encrypted_password, '') = '' and u.email_confirmed_at > now() - interval '1 hour'
    and coalesce(u.raw_app_meta_data -> 'providers', '["email"]') <@ '["email"]');
end
$function$;

ALTER FUNCTION "private"."needs_password"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.next_digest(choice text, time_zone text, at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare day timestamp := date_trunc('day', at at time zone time_zone); due timestamptz;
begin
  for n in 0..8 loop
    due := (day + make_interval(days => n, hours => 8)) at time zone time_zone;
    if due > at and (choice <> 'weekly' or extract(isodow from day + make_interval(days => n)) = 1) then
      return due;
    end if;
  end loop;
  return at + interval '1 day';
end
$function$;

ALTER FUNCTION "private"."next_digest"(text, text, timestamp with time zone) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.next_recipients(fanout private.fanouts, max_rows integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE ROWS 20
 SET search_path TO 'pg_temp'
AS $function$
declare followed uuid[];
begin
  if fanout.type = 'merged' then
    followed := array(
      select source.source_id from private.merges m
        cross join lateral (select m.source_id union all select t.source_id
          from private.merge_tree(m.source_id) t) source
      where m.event_id = fanout.event_id);
  else
    followed := private.with_sources(fanout.submission_id);
  end if;
  return query
    select distinct f.user_id from unnest(followed) as id cross join lateral (
      select f.user_id from public.follows f
      where f.submission_id = id and f.user_id > fanout.after_user_id
        and not exists (select from private.unfollows u
          where u.submission_id = fanout.submission_id and u.user_id = f.user_id)
      order by f.user_id limit max_rows) f
    order by f.user_id limit max_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.note_confirmation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.is_confirmed := private.is_confirmed_recipient(new.organization_id, new.profile_id);
  return new;
end
$function$;

ALTER FUNCTION "private"."note_confirmation"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.notify_batch(fanout private.fanouts, batch integer)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare last_id uuid;
begin
  with next as (
    select user_id from private.next_recipients(fanout, batch) as user_id
  ), told as (
    insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
    select fanout.organization_id, n.user_id, fanout.type, fanout.submission_id, fanout.comment_id,
      fanout.event_id
    from next n join public.profiles p on p.id = n.user_id
      join public.submissions s on s.id = fanout.submission_id
    where n.user_id is distinct from fanout.actor_id and p.kind in ('user', 'email')
      and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
    on conflict (user_id, event_id) do nothing
  )
  select case when count(*) = batch then max(user_id::text)::uuid end into last_id from next;
  return last_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.notify_followers(organization_id uuid, submission_id uuid, type text, event_id uuid, comment_id uuid, actor_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, submission_id, comment_id, type, actor_id,
    '00000000-0000-0000-0000-000000000000', now());
  -- Notify the authors first, with the notification type that concerns them; each person gets one.
  insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
  select distinct on (p.id) notify_followers.organization_id, p.id, told.type, notify_followers.submission_id,
    notify_followers.comment_id, notify_followers.event_id
  from (
    select parent.author_id as user_id, 'reply' as type, 1 as rank
    from public.comments c join public.comments parent on parent.id = c.parent_id
      where c.id = notify_followers.comment_id
    union all
    select s.author_id, notify_followers.type, 2 from public.submissions s
      where s.id = notify_followers.submission_id
  ) told join public.profiles p on p.id = told.user_id
    join public.submissions s on s.id = notify_followers.submission_id
  where p.id is distinct from actor_id
    and (p.kind = 'user' and not private.is_silent(s.id, p.id)
      or p.kind = 'email' and private.is_follower(s.id, p.id))
    and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
  order by p.id, told.rank
  on conflict on constraint one_notification_a_person_and_event do nothing;
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then
    insert into private.fanouts values (fanout.*);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.offered_survey(locale text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  caller uuid := private.caller_id();
  own_id uuid := private.current_organization_id();
  person uuid[] := private.same_person(caller, own_id);
begin
  if caller is null or not exists (select from public.organizations o where o.id = own_id
    and (o.visibility = 'public' or private.is_member(o.id, caller))) then
    return null;
  end if;
  return (
    select json_build_object('id', s.id, 'title', s.title) from public.surveys s
    where s.organization_id = own_id and s.status = 'published'
      and (s.closes_at is null or s.closes_at > now())
      and private.targets_locale(s, offered_survey.locale)
      and not exists (select from public.survey_responses r join public.surveys version
          on version.id = r.survey_id
        where r.user_id = any (person) and version.family_id = s.family_id)
      and private.is_in_audience(s, caller)
    order by s.published_at desc, s.id limit 1);
end
$function$;

ALTER FUNCTION "private"."offered_survey"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_account_undo(account_id uuid, address text, link_hash bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.account_undos (link_hash, user_id, email)
  select open_account_undo.link_hash, u.id, lower(address) from auth.users u
  where u.id = account_id and u.email_confirmed_at is not null and u.deleted_at is null
    -- The oldest link of a week takes precedence, so that newer links cannot displace it.
    and (select count(*) from private.account_undos o where o.user_id = u.id and o.undone_at is null) < 20;
  return found;
end
$function$;

ALTER FUNCTION "private"."open_account_undo"(uuid, text, bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_session(organization_id uuid, secret_id uuid, subject text, email text, name text, avatar_url text, token_digest bytea, token_expires_at timestamp with time zone, digest bytea, lifetime interval)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  own_id uuid := open_session.organization_id;
  person_id uuid;
  ends_at timestamptz := now() + lifetime;
begin
  perform 1 from private.identify_secrets s where s.id = secret_id and s.organization_id = own_id
    for key share;
  if not found then
    perform private.raise_error('UNAUTHORIZED',
      'The signing secret of this token was deleted. Sign with a current one.', 'token',
      '{"reason": "signature"}');
  end if;
  if (select o.visibility from public.organizations o where o.id = own_id) <> 'public' then
    perform private.raise_error('FORBIDDEN', 'This board is private. Only its team can sign in.', 'token',
      '{"reason": "private_board"}');
  end if;
  if token_digest is not null then
    insert into private.identify_tokens (organization_id, digest, expires_at)
    values (own_id, token_digest, token_expires_at) on conflict do nothing;
    if not found then
      perform private.raise_error('UNAUTHORIZED',
        'This token was already used. Sign a new one with another jti.', 'token',
        '{"reason": "replayed"}');
    end if;
  end if;

  person_id := (select i.profile_id from private.identified_people i
    where i.organization_id = own_id and i.subject = open_session.subject);
  if person_id is null then
    insert into public.profiles as p (kind, organization_id, email)
    values ('email', own_id, lower(open_session.email))
    -- Locks the author, so that the second of two subjects with one address sees the first.
    on conflict (organization_id, lower(email)) where kind = 'email' do update set email = p.email
    returning p.id into person_id;
    insert into private.identified_people (organization_id, subject, profile_id)
    values (own_id, open_session.subject, person_id) on conflict do nothing;
    if not found then
      person_id := (select i.profile_id from private.identified_people i
        where i.organization_id = own_id and i.subject = open_session.subject);
    end if;
  else
    update public.profiles p set email = lower(open_session.email)
    where p.id = person_id and lower(p.email) <> lower(open_session.email)
      and not exists (select from public.profiles q where q.kind = 'email' and q.organization_id = own_id
        and lower(q.email) = lower(open_session.email));
  end if;
  if person_id is null or exists (
    select from public.profiles p join private.identified_people i on i.profile_id = p.id
    where p.kind = 'email' and p.organization_id = own_id and lower(p.email) = lower(open_session.email)
      and i.subject <> open_session.subject) then
    perform private.raise_error('CONFLICT',
      'Another person (sub) of this organization has this email address.', 'token',
      '{"reason": "address_taken"}');
  end if;

  update private.identified_people i set last_identified_at = now()
  where i.organization_id = own_id and i.subject = open_session.subject
    and i.last_identified_at < now() - interval '1 minute';
  update public.profiles p set
    name = coalesce(g.name, p.name),
    avatar_url = coalesce(g.picture, p.avatar_url)
  from (select private.given_name(to_jsonb(open_session.name)) as name,
    private.given_picture(to_jsonb(open_session.avatar_url)) as picture) g
  where p.id = person_id
    and (g.name <> coalesce(p.name, '') or g.picture <> coalesce(p.avatar_url, ''));
  update private.identify_secrets s set last_used_at = now()
  where s.id = (select l.id from private.identify_secrets l where l.id = secret_id
    and (l.last_used_at is null or l.last_used_at < now() - interval '1 minute')
    for no key update skip locked);

  -- A host may identify its visitor on each page: new sessions replace the oldest ones of a person.
  delete from private.identify_sessions s where s.digest in (
    select o.digest from private.identify_sessions o where o.profile_id = person_id
    order by o.created_at desc, o.digest offset 49);
  insert into private.identify_sessions (digest, organization_id, profile_id, secret_id, expires_at)
  values (open_session.digest, own_id, person_id, secret_id, ends_at);
  return (select json_build_object(
    'expires_at', ends_at,
    'profile', json_build_object(
      'id', p.id,
      'name', coalesce(p.name, 'Anonymous'),
      'avatar', private.avatar(p),
      'email', p.email))
    from public.profiles p where p.id = person_id);
end
$function$;

ALTER FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_stream(id uuid, tool text, arguments jsonb, confirmed boolean, locale text, is_sentence boolean DEFAULT false, events jsonb DEFAULT NULL::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.agent_id();
begin
  perform private.check_stream_limit('private.agent_streams', own_id);
  insert into private.agent_streams (id, organization_id, agent_id, tool, arguments, confirmed, locale,
    is_sentence, events)
  values (id, private.key_organization_id(), own_id, tool, arguments, confirmed, locale, is_sentence, events);
end
$function$;

ALTER FUNCTION "private"."open_stream"(uuid, text, jsonb, boolean, text, boolean, jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_subscription(id uuid, events text[], needs jsonb, survey_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.agent_id(); need record; allowed text[] := (select a.tools
  from private.agents a where a.id = own_id);
begin
  for need in select * from jsonb_to_recordset(needs) as n (event text, scope text, tools text[]) loop
    if not private.has_scope(need.scope) then
      perform private.raise_error('FORBIDDEN',
        format('This key needs the scope %s. Use a key that has it.', need.scope), null,
        jsonb_build_object('scope', need.scope));
    end if;
    if not allowed && need.tools then
      perform private.raise_error('FORBIDDEN',
        format('The agent''s policies do not allow any tool that reads %s.', need.event));
    end if;
  end loop;
  perform private.check_stream_limit('private.agent_subscriptions', own_id);
  insert into private.agent_subscriptions (id, organization_id, agent_id, events, survey_id)
  values (id, private.key_organization_id(), own_id, events, survey_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.open_survey_page(survey_id uuid, locale text, response_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare survey public.surveys; refusal text; is_own boolean;
begin
  select * into survey from public.surveys s where s.id = open_survey_page.survey_id;
  is_own := response_id is not null and exists (select from public.survey_responses r
    where r.id = response_id and r.survey_id = survey.id and r.user_id = private.caller_id());
  -- Viewing the confirmation after a response does not start the next one.
  if not is_own then
    begin
      perform private.require_accepts_responses(survey);
      if not private.targets_locale(survey, locale) then
        refusal := 'LOCALE';
      elsif private.caller_id() is null then
        refusal := 'UNAUTHORIZED';
      else
        perform private.record_survey_start(survey.id);
      end if;
    exception when others then
      refusal := case sqlstate when private.error_state('SURVEY_NOT_OPEN') then 'SURVEY_NOT_OPEN'
        when private.error_state('ALREADY_RESPONDED') then 'ALREADY_RESPONDED'
          when private.error_state('FORBIDDEN') then 'FORBIDDEN' end;
      if refusal is null then raise; end if;
    end;
  end if;
  return json_build_object('refusal', refusal, 'locales', survey.locales, 'is_own_response', is_own);
end
$function$;

CREATE OR REPLACE FUNCTION private.organization_of(resource text, id uuid, who private.caller)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  team_ids uuid[] := case when who.kind in ('key', 'agent') then array[who.organization_id]
    else array(select m.organization_id from public.memberships m where m.user_id = who.profile_id) end;
begin
  return case resource
    when 'submissions' then (select s.organization_id from public.submissions s
      where s.id = organization_of.id
      and private.can_see_submission(s.is_public, s.author_id, s.organization_id, who.profile_id, team_ids))
    when 'comments' then (select c.organization_id from public.comments c where c.id = organization_of.id
      and private.can_see_submission(c.is_public, c.author_id, c.organization_id, who.profile_id, team_ids))
    when 'surveys' then (select s.organization_id from public.surveys s where s.id = organization_of.id
      and (s.organization_id = any (team_ids) or s.status <> 'draft'
        and exists (select from public.organizations o
          where o.id = s.organization_id and o.visibility = 'public')))
    when 'organizations' then (select o.id from public.organizations o where o.id = organization_of.id
      and (o.visibility = 'public' or o.id = any (team_ids)))
  end;
end
$function$;

CREATE OR REPLACE FUNCTION private.organization_shape(organization public.organizations)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return json_build_object(
    'id', organization.id,
    'slug', organization.slug,
    'name', organization.name,
    'visibility', organization.visibility,
    'require_approval', organization.require_approval,
    'trust_after', organization.trust_after,
    'anonymous_may', organization.anonymous_may,
    'time_zone', organization.time_zone,
    'default_locale', organization.default_locale,
    'settings', organization.settings,
    'brand_color', organization.brand_color,
    'logo_url', organization.logo_url,
    'allow_indexing', organization.allow_indexing,
    'mail_enabled', organization.mail_enabled,
    'mail_defaults', (
      select json_object_agg(k.kind, private.mail_choice(organization.id, null, k.kind) order by k.place)
      from private.mail_kinds() k where k.choices <> '{}'),
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
      'max_surveys', organization.max_surveys,
      'unconfirmed_mails', private.unconfirmed_mails(organization),
      'max_unconfirmed_mails', organization.max_unconfirmed_mails),
    'created_at', organization.created_at,
    'updated_at', organization.updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.page_frame(organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare caller uuid := private.caller_id();
begin
  return json_build_object(
    'organization', (
      select json_build_object(
        'id', o.id,
        'slug', o.slug,
        'name', o.name,
        'is_default', o.id = private.default_organization_id(),
        'visibility', o.visibility,
        'default_locale', o.default_locale,
        'time_zone', o.time_zone,
        'brand_color', o.brand_color,
        'logo_url', o.logo_url,
        'allow_indexing', o.allow_indexing,
        'allowed_origins', o.allowed_origins)
      from public.organizations o where o.id = page_frame.organization_id
        and (o.visibility = 'public' or private.is_member(o.id, caller))),
    'viewer', (
      select json_build_object(
        'id', p.id,
        'name', coalesce(p.name, 'Anonymous'),
        'avatar_url', p.avatar_url,
        'locale', p.locale,
        'role', (select m.role from public.memberships m where m.organization_id = page_frame.organization_id
          and m.user_id = p.id),
        'unread_count', (select count(*) from (
          select from public.notifications n where n.user_id = p.id and n.read_at is null limit 100) n))
      from public.profiles p where p.id = caller and p.kind in ('user', 'email')));
end
$function$;

CREATE OR REPLACE FUNCTION private.page_locale(organization_id uuid, locale text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce(
    (select p.locale from public.profiles p where p.id = private.caller_id() and p.kind in ('user', 'email')),
    page_locale.locale,
    (select o.default_locale from public.organizations o where o.id = page_locale.organization_id),
    'en');
end
$function$;

ALTER FUNCTION "private"."page_locale"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.parse_search(organization_id uuid, q text)
 RETURNS private.parsed_search
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare parsed private.parsed_search;
begin
  with units as materialized (
    select m.n, m.part[1] <> '' as is_excluded, m.part[2] is not null as is_quoted,
      coalesce(m.part[2], m.part[3]) as value
    from regexp_matches(translate(left(private.fold_text(q), 300), '“”„«»', '"""""'),
      '(-?)(?:"([^"]*)"?|([^\s"]+))', 'g') with ordinality m (part, n)
  ), groups as materialized (
    -- OR joins the units before and after it.
    select u.*, count(*) filter (where not u.follows_or) over (order by u.n) as group_n
    from (select u.*, coalesce(lag(u.is_or) over (order by u.n), false) as follows_or
      from (select u.*, u.value = 'or' and not u.is_quoted and not u.is_excluded
        and u.n > 1 and u.n < (select max(n) from units) as is_or from units u) u) u
    where not u.is_or
  ), tokens as materialized (
    select t.*, lag(t.plain) over w as previous, lead(t.plain) over w as next,
      t.n = max(t.n) over () as is_last
    from (select u.group_n, u.n as unit, u.is_excluded, u.is_quoted,
        row_number() over (order by u.n, t.k) as n, t.word, private.plain_word(t.word) as plain,
        private.is_unspaced(t.word) as is_unspaced
      from groups u cross join lateral unnest(private.split_words(u.value)) with ordinality t (word, k)
      where private.plain_word(t.word) <> '' order by u.n, t.k limit 40) t
    window w as (
      partition by t.is_excluded, case when t.is_quoted or t.is_excluded then t.unit end order by t.n)
  ), parts as materialized (
    select t.*, p.part, f.stems,
      case when t.is_unspaced then t.plain ~ '^[\u3041-\u309f]+$' else f.is_small end as is_small,
      array[p.part] || case when not t.is_unspaced then array_remove(array['+' || p.part,
        t.previous || p.part, p.part || t.next], null) else '{}' end as whole,
      case when t.is_unspaced then '{}'
        else array(select k || s from unnest(f.stems) s, unnest(array['~', '+']) k) end as ending,
      case when not t.is_unspaced then array(
          select '^' || left(b, 12)
          from unnest(array[case when char_length(p.part) > 2 or t.is_last then p.part end]
            || array(select s from unnest(f.stems) s where char_length(s) > 4)) b where b is not null
          union all
          select '^' || b from unnest(array[t.previous || p.part, p.part || t.next]) b
          where char_length(b) < 13
          union all
          select '$' || s from unnest(array[p.part] || f.stems) s where char_length(s) > 3)
        when char_length(p.part) = 1 then array['^' || p.part] else '{}' end as beginning
    from tokens t cross join lateral (
      select bool_or(f.forms = '{}') as is_small,
        array_agg(distinct private.plain_word(f.forms[1])) filter (where f.forms[1] is not null) as stems
      from unnest(private.stemmers()) s (stemmer)
        cross join lateral (
          values (ts_lexize(s.stemmer, t.word)), (ts_lexize(s.stemmer, t.plain))) f (forms)) f
      cross join lateral (
        select t.plain as part where not t.is_unspaced or char_length(t.plain) = 1
        union all
        select substr(t.plain, i, 2) from generate_series(1, char_length(t.plain) - 1) i
        where t.is_unspaced) p
    order by t.n limit 80
  ), wanted as materialized (
    select p.*, array(
        select t || l from unnest(p.whole || p.ending || p.beginning) l, unnest(array['', '=']) t) as lexemes,
      private.search_query(organization_id, p.whole || p.ending || p.beginning) as query
    from parts p
    where not p.is_excluded and (p.is_quoted or not p.is_small
      or not exists (select from parts o where not o.is_excluded and not o.is_small))
  ), strict as materialized (
    -- Quoted or excluded text matches whole words in this order.
    select t.group_n, t.is_excluded, string_agg(x.query, ' & ') as query
    from (select t.group_n, t.unit, t.is_excluded, count(distinct t.n) as words from parts t
      where t.is_excluded or t.is_quoted group by 1, 2, 3) t
      cross join lateral (
        select private.search_query(organization_id,
          p.whole[1:1] || case when t.is_excluded and t.words = 1 then p.ending end) as query
        from parts p where p.unit = t.unit and (t.words = 1 or p.is_unspaced)
        union all
        select private.search_query(organization_id, array['+' || right(n.plain, 30) || left(n.next, 30)])
        from tokens n where n.unit = t.unit and n.next is not null) x
    group by t.group_n, t.unit, t.is_excluded
  ), combined as materialized (
    select string_agg('(' || g.whole || ')', '&') as whole, string_agg('(' || g.ending || ')', '&') as ending,
      string_agg('(' || g.beginning || ')', '&') as beginning, bool_or(g.units > 1) as has_or,
      (select coalesce(string_agg('& !(' || s.query || ')', ''), '') from strict s
        where s.is_excluded) as excluded
    from (
      select l.group_n, string_agg('(' || l.whole || ')', '|') as whole,
        string_agg('(' || l.ending || ')', '|') as ending,
        string_agg('(' || l.beginning || ')', '|') as beginning, count(*) as units
      from (
        select w.group_n, string_agg(private.search_query(organization_id, w.whole), '&') as whole,
          string_agg(private.search_query(organization_id, w.whole || w.ending), '&') as ending,
          string_agg(w.query, '&') as beginning
        from wanted w where not w.is_quoted group by w.group_n, w.unit
        union all
        select s.group_n, s.query, s.query, s.query from strict s where not s.is_excluded) l
      group by 1) g
  ), word_shares as materialized (
    select w.n, w.part, max(f.share) filter (where substr(f.lexeme, 1, 1) = '=') as in_title,
      max(f.share) filter (where substr(f.lexeme, 1, 1) <> '=') as in_text
    from wanted w left join lateral (
      select f.lexeme, f.share from private.search_frequencies f
      where f.organization_id = parse_search.organization_id and f.lexeme = any (w.lexemes) offset 0) f
      on true
    group by w.n, w.part
  ), shares as materialized (
    select case when c.has_or then least(coalesce(sum(s.in_title), 0), 1)
        else min(coalesce(s.in_title, 0)) end as in_title,
      case when c.has_or then least(coalesce(sum(s.in_text), 0), 1)
        else min(coalesce(s.in_text, 0)) end as in_text
    from combined c cross join word_shares s
    group by c.has_or
  )
  select (private.in_title(c.whole || (select string_agg('&'
        || private.search_query(organization_id, array['+' || right(t.plain, 30) || left(t.next, 30)]), '')
      from tokens t where not t.is_excluded and not t.is_quoted and t.next is not null))
      || c.excluded)::tsquery,
    (private.in_title(c.whole) || c.excluded)::tsquery, (private.in_title(c.ending) || c.excluded)::tsquery,
    (private.in_title(c.beginning) || c.excluded)::tsquery,
    (select private.in_title(string_agg(w.query, '|'))::tsquery from wanted w where not w.is_quoted
      having count(*) > 1),
    (c.ending || c.excluded)::tsquery,
    coalesce(c.beginning || c.excluded, nullif(substr(c.excluded, 2), ''))::tsquery,
    coalesce(s.in_title, 1), coalesce(s.in_text, 1), w.words, w.queries, w.title_queries, w.shares, w.marks
  from combined c left join shares s on true,
    (select array_agg(w.part order by w.n, w.part) as words,
        array_agg(w.query::tsquery order by w.n, w.part) as queries,
        array_agg(private.in_title(w.query)::tsquery order by w.n, w.part) as title_queries,
        array_agg(coalesce(s.in_text, 0) order by w.n, w.part) as shares,
        (select string_agg(distinct m.mark, '|' order by m.mark desc) from wanted w cross join lateral (
          select unnest(array[w.plain, w.part]) as mark where w.is_unspaced
          union all
          select '\m' || (select r from unnest(array[w.plain] || w.stems) r
            where r = w.plain or char_length(r) > 2 and left(w.plain, char_length(r)) = r
            order by char_length(r) limit 1) || '\w*' where not w.is_unspaced) m) as marks
      from wanted w join word_shares s on s.n = w.n and s.part = w.part) w
  into parsed;
  return parsed;
end
$function$;

ALTER FUNCTION "private"."parse_search"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.partial_matches(scope private.search_scope, p private.parsed_search, wanted integer, OUT hits private.search_hit[], OUT corrections jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
 SET enable_hashjoin TO 'on'
AS $function$
declare
  max_read constant integer := 100;
  board constant private.search_statistics := scope.board;
  few constant uuid[] := private.few_in_scope(scope);
begin
  with words as materialized (
    select w.n, w.word, w.title_query, row_number() over (order by w.share, w.n) as place,
      case when board.size * w.share > max_read then w.query && g.query else w.query end as query,
      case when board.size * w.share > max_read then w.query end as common
    from unnest(p.words, p.word_queries, p.word_title_queries, p.word_shares)
        with ordinality w (word, query, title_query, share, n)
      left join lateral (
        select g.query from private.search_groups(board, w.share, max_read, null) g limit 1) g
        on board.size * w.share > max_read
    order by w.share, w.n limit 8
  ), near as materialized (
    select w.n, k.known, k.quality, private.search_query(scope.organization_id, array[k.known]) as query
    from words w cross join lateral private.known_words(scope, w.word, few) k
    where char_length(w.word) > 3 and not private.is_unspaced(w.word) and w.place < 6
  ), found as materialized (
    select r.n, h.submission_id as id, max(r.quality) as quality
    from (select w.n, w.query, 1 as quality from words w
        union all select n.n, n.query::tsquery, 0.9 * n.quality from near n) r
      cross join lateral private.some_matches(scope, r.query, max_read, few, 1000) h
    group by r.n, h.submission_id
  ), weights as materialized (
    select w.n, w.word, w.common, k.best,
      coalesce(w.title_query || private.in_title(k.query)::tsquery, w.title_query) as title_query,
      ln(2 + 300.0 / (1 + (select count(distinct f.id) from found f where f.n = w.n))) as weight,
      exists (select from found f where f.n = w.n and f.quality = 1) as is_known
    from words w left join lateral (
      select string_agg(n.query, '|') as query,
        (array_agg(n.known order by n.quality desc, n.known))[1] as best
      from near n where n.n = w.n) k on true
  ), scored as (
    select f.id, sum(w.weight * r.quality * case when c.title_lexemes operator(pg_catalog.@@)
      w.title_query then 1.4 else 1 end)
      / (select sum(weight) * 3 from weights) as score
    from (select distinct id from found) f
      cross join lateral (select c.title_lexemes, c.lexemes from private.submission_search c
        where c.submission_id = f.id offset 0) c
      cross join weights w left join found d on d.id = f.id and d.n = w.n
      cross join lateral (select coalesce(d.quality,
        case when c.lexemes operator(pg_catalog.@@) w.common then 1 end) as quality) r
    where r.quality is not null group by f.id
  )
  select array_agg(row(r.id, 8, r.n, r.score)::private.search_hit order by r.n),
    (select jsonb_object_agg(w.word, w.best) from weights w
      where not w.is_known and position(w.word in w.best) = 0)
  into hits, corrections
  from (select r.id, r.score, row_number() over (order by r.score desc, s.vote_count desc, r.id desc) as n
    from scored r cross join lateral (
      select s.vote_count from public.submissions s where s.id = r.id offset 0) s
    order by n limit wanted) r;
end
$function$;

ALTER FUNCTION "private"."partial_matches"(private.search_scope, private.parsed_search, integer) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.person_day_changes(entries private.person_activity[])
 RETURNS TABLE(sign integer, organization_id uuid, user_id uuid, day date, previous_day date, submissions integer, votes integer, comments integer)
 LANGUAGE plpgsql
 STABLE ROWS 20000
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  return query
    with changes as (
      select e.organization_id, e.user_id, (e.slot at time zone z.time_zone)::date as day,
        sum(e.submissions)::integer as submissions, sum(e.votes)::integer as votes,
          sum(e.comments)::integer as comments
      from unnest(entries) e join (
        select o.organization_id, private.activity_zone(o.organization_id) as time_zone
        from (select distinct e.organization_id from unnest(entries) e) o) z using (organization_id)
      group by 1, 2, 3
    ), before as materialized (
      -- Include the neighbours of changed days: the following day's previous_day changes too.
      select d.*, s.first_day
      from (select c.organization_id, c.user_id, min(c.day) as first_day, max(c.day) as last_day
        from changes c group by 1, 2) s
      cross join lateral (
        select * from private.person_days p
          where (p.organization_id, p.user_id) = (s.organization_id, s.user_id)
          and p.day >= coalesce((select max(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day < s.first_day),
              s.first_day)
          and p.day <= coalesce((select min(n.day) from private.person_days n
            where (n.organization_id, n.user_id) = (s.organization_id, s.user_id) and n.day > s.last_day),
              s.last_day)) d
    )
    select -1, b.organization_id, b.user_id, b.day, b.previous_day, b.submissions, b.votes, b.comments
      from before b
    union all
    select 1, a.organization_id, a.user_id, a.day,
      coalesce(lag(a.day) over (partition by a.organization_id, a.user_id order by a.day), a.previous_day,
        '-infinity'), a.submissions, a.votes, a.comments
    from (
      select r.organization_id, r.user_id, r.day, min(r.previous_day) as previous_day,
        sum(r.submissions)::integer as submissions, sum(r.votes)::integer as votes,
          sum(r.comments)::integer as comments
      from (
        select b.organization_id, b.user_id, b.day, case when b.day < b.first_day
          then b.previous_day end as previous_day, b.submissions, b.votes, b.comments
        from before b
        union all
        select c.organization_id, c.user_id, c.day, null, c.submissions, c.votes, c.comments from changes c) r
      group by 1, 2, 3 having sum(r.submissions) <> 0 or sum(r.votes) <> 0 or sum(r.comments) <> 0) a;
end
$function$;

CREATE OR REPLACE FUNCTION private.person_record(profile_id uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare person public.profiles;
begin
  select * into person from public.profiles p where p.id = profile_id;
  return jsonb_build_object(
    'author_email', person.email,
    'author_name', person.name,
    'author_id', case
      when person.email is null then
      coalesce(private.exported_id('person', person.id), person.id::text) end);
end
$function$;

CREATE OR REPLACE FUNCTION private.personal_data(profile_id uuid, organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare exported record; rows_of json; data jsonb := (
  select jsonb_build_object(
    'profile', json_build_object(
      'id', p.id,
      'kind', p.kind,
      'name', p.name,
      'email', p.email,
      'avatar_url', p.avatar_url,
      'locale', p.locale,
      'created_at', p.created_at),
    'identified_as', (select json_build_object(
      'organization_id', i.organization_id,
      'sub', i.subject,
      'created_at', i.created_at,
      'last_identified_at', i.last_identified_at)
      from private.identified_people i where i.profile_id = p.id),
    'survey_responses', coalesce((select json_agg(r order by r.submitted_at desc) from (
      select r.id, r.organization_id, r.survey_id, s.title as survey_title, coalesce((
          select json_agg(json_build_object(
            'question_id', q.id,
            'question', q.text,
            'value', a.answer -> 'value') order by q.position)
          from jsonb_array_elements(r.answers) as a (answer)
            join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid), '[]') as answers,
        r.locale, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score
      from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = p.id and (personal_data.organization_id is null
        or r.organization_id = personal_data.organization_id)
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

CREATE OR REPLACE FUNCTION private.pictured_name(profile_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select p.name from public.profiles p where p.id = profile_id and p.kind <> 'key' and (
    exists (select from public.submissions s where s.author_id = p.id and s.is_public)
    or exists (select from public.comments c where c.author_id = p.id and c.is_public)));
end
$function$;

ALTER FUNCTION "private"."pictured_name"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.plain_text(value text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if value ~ '^[ -~]*$' then return lower(value); end if;
  return translate(
    extensions.unaccent('extensions.unaccent'::regdictionary, private.fold_text(value)), 'ς', 'σ');
end
$function$;

CREATE OR REPLACE FUNCTION private.plain_word(word text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if octet_length(word) = char_length(word) then return word; end if;
  return regexp_replace(private.plain_text(word),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+', '', 'g');
end
$function$;

ALTER FUNCTION "private"."plain_word"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.prepare_comment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare parent record;
begin
  if new.author_id = private.caller_id() then perform private.lock_caller(); end if;
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  new.body := private.trim_text(new.body);
  new := private.charge_comment(new);
  -- After the lock, so that a concurrent merge or rejection of the parent is seen. Imports validate the
  -- parent themselves; it may be inserted by the same statement.
  if new.parent_id is not null and not private.is_importing() then
    select c.id, c.moderation_state into parent from public.comments c
      where c.id = new.parent_id and c.submission_id = new.submission_id;
    if parent.id is null then
      perform private.raise_error('NOT_FOUND', 'The comment to reply to is not on this submission.',
        'parent_id');
    end if;
    if parent.moderation_state <> 'approved' and private.caller_id() is not null then
      perform private.raise_error('CONFLICT', 'Only approved comments can be replied to.', 'parent_id');
    end if;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_comment_vote()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if new.user_id = private.caller_id() then perform private.lock_caller(); end if;
  new.organization_id := (select c.organization_id from public.comments c where c.id = new.comment_id);
  new.submission_id := case when new.organization_id is not null then private.lock_comment(new.comment_id)
    end;
  if new.submission_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such comment.', 'comment_id');
  end if;
  perform private.require_one_vote(new.organization_id, new.user_id, null, new.comment_id);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_question()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.text := private.trim_text(new.text);
  if new.organization_id is null then
    new.organization_id := (select s.organization_id from public.surveys s where s.id = new.survey_id);
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_rating()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.scale := coalesce(new.scale, 5);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_response()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- private.imported_answers has already validated the response, and the survey may be closed.
  if private.is_importing() then return new; end if;
  if not exists (select from public.surveys s where s.id = new.survey_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  return private.check_response(new);
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_status_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare submission public.submissions;
begin
  -- Imports and merges write the history themselves.
  if private.is_internal_write() then return new; end if;
  select * into submission from public.submissions where id = new.submission_id for no key update;
  if submission.id is null then
    if exists (select from public.submissions where id = new.submission_id) then
      perform private.raise_error('FORBIDDEN', 'Only admins of the organization can do this.');
    end if;
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  new.organization_id := submission.organization_id;
  if private.caller_id() is not null then
    perform private.require_admin(submission.organization_id, 'submissions:moderate');
  end if;
  if submission.merged_into_id is not null and new.new_status <> 'duplicate' then
    perform private.raise_error('SUBMISSION_MERGED',
      'This submission was merged into another one. Use that one (merged_into_id).', null,
      jsonb_build_object('merged_into_id', submission.merged_into_id));
  end if;
  if submission.merged_into_id is null and new.new_status = 'duplicate' then
    perform private.raise_error('VALIDATION_ERROR',
      'Submissions get the status duplicate by merging. Use merge instead.', 'status');
  end if;
  if submission.status = new.new_status then
    return null;
  end if;
  new.previous_status := submission.status;
  new.changed_by := coalesce(private.caller_id(), new.changed_by);
  new.note := nullif(private.trim_text(new.note), '');
  return new;
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
    perform private.raise_error('VALIDATION_ERROR',
      'Set organization_id. There is more than one organization.',
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

CREATE OR REPLACE FUNCTION private.prepare_survey()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.organization_id := coalesce(new.organization_id, private.default_organization_id());
  if new.organization_id is null then
    perform private.raise_error('VALIDATION_ERROR',
      'Set organization_id. There is more than one organization.',
      'organization_id');
  end if;
  if new.status <> 'draft' and not private.is_importing() then
    perform private.raise_error('CONFLICT',
      'A new survey is a draft. Publish it after creating it.', 'status');
  end if;
  new.title := private.trim_text(new.title);
  new.description := private.trim_text(new.description);
  new.family_id := coalesce(new.family_id, new.id);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.prepare_vote()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if tg_table_name = 'votes' and new.user_id = private.caller_id() then perform private.lock_caller(); end if;
  if private.is_internal_write() then return new; end if;
  new.organization_id := (select s.organization_id from public.submissions s where s.id = new.submission_id);
  if new.organization_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'submission_id');
  end if;
  if tg_table_name = 'follows' then
    -- No lock: merges do not move follows, and a client that follows many submissions must not hold locks on
    -- all of them.
    perform private.require_open_submission(new.submission_id);
  else
    -- Charge before the lock, so that a client over its limit is rejected without locking.
    if private.is_direct() then perform private.charge_direct_vote(new.submission_id); end if;
    perform private.lock_open_submission(new.submission_id);
    perform private.require_one_vote(new.organization_id, new.user_id, new.submission_id, null);
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.propagate_visibility()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: is_public is not granted
begin
  perform 1 from public.submissions where organization_id = new.id order by id for update;
  perform set_config('feedback.internal_write', 'on', true);
  update public.submissions set is_public = (new.visibility = 'public' and moderation_state = 'approved')
  where organization_id = new.id;
  perform set_config('feedback.internal_write', 'off', true);
  perform private.recount_submissions(new.id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.propagate_visibility_to_comments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: is_public is not granted
begin
  update public.comments set is_public = new.is_public and moderation_state = 'approved'
    where submission_id = new.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.protect_agent_audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if tg_op = 'DELETE' and old.created_at < now() - private.retention('agent_calls') then
    return old;
  end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is append-only.');
end
$function$;

CREATE OR REPLACE FUNCTION private.protect_audit_log()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if tg_op = 'DELETE' and not exists (select from public.organizations where id = old.organization_id)
    then return old; end if;
  perform private.raise_error('FORBIDDEN', 'The audit trail is append-only.');
end
$function$;

CREATE OR REPLACE FUNCTION private.protect_merge_target()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: the caller may not see all sources
begin
  if exists (select from public.submissions
    where organization_id = old.organization_id and merged_into_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('CONFLICT',
      'Other submissions are merged into this one. Undo those merges first.');
  end if;
  return old;
end
$function$;

CREATE OR REPLACE FUNCTION private.protect_questions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare found_status text;
begin
  if private.is_importing() then return null; end if;
  for found_status in
    select s.status from public.surveys s where s.id in (select c.survey_id from changed c)
      order by s.id for no key update
  loop
    perform private.require_draft(found_status);
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.protect_responses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if coalesce(current_setting('feedback.force', true), '') <> 'on'
    and exists (select from public.survey_responses where survey_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('SURVEY_HAS_RESPONSES',
      'This survey has responses. Archive it instead, or delete them with it (force=true).');
  end if;
  return old;
end
$function$;

CREATE OR REPLACE FUNCTION private.put_off_mails(organization public.organizations, max_rows integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare later timestamptz := private.next_digest('daily', organization.time_zone,
  (private.budget_day() + 1)::timestamp at time zone 'UTC');
begin
  with due as materialized (
    select m.id, m.profile_id, m.event_ids, m.kind in ('invite', 'survey') as stays,
      private.is_confirmed_recipient(m.organization_id, m.profile_id) as confirmed
    from private.mails m
    where m.organization_id = organization.id and not m.is_confirmed and m.status in ('pending', 'sending')
      and m.attempt_count = 0 and m.next_attempt_at <= now()
    order by m.next_attempt_at limit max_rows for update skip locked
  ), kept as (
    update private.mails m set is_confirmed = d.confirmed,
      next_attempt_at = case when d.confirmed then m.next_attempt_at else later end
    from due d where m.id = d.id and (d.confirmed or d.stays)
  ), moved as (
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at, created_at)
    select n.user_id, n.event_id, n.organization_id, false, later, n.created_at
    from due d join public.notifications n on n.user_id = d.profile_id and n.event_id = any (d.event_ids)
    where not (d.confirmed or d.stays)
    on conflict do nothing
  )
  delete from private.mails m using due d where m.id = d.id and not (d.confirmed or d.stays);
end
$function$;

ALTER FUNCTION "private"."put_off_mails"(public.organizations, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.queue_invite(invite private.invites)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare made_today integer; made_to_address integer;
begin
  if not (select o.mail_enabled from public.organizations o where o.id = invite.organization_id) then
    return false;
  end if;
  -- An erased invite counts as one to this address, so that an erasure does not allow additional mails.
  select count(*),
    count(*) filter (where i.id is null or private.mailbox(i.email) = private.mailbox(invite.email))
  into made_today, made_to_address
  from private.mails m left join private.invites i on i.id = m.invite_id
  where m.organization_id = invite.organization_id and m.profile_id is null
    and m.created_at > now() - interval '1 day';
  if made_today >= 100 or made_to_address >= 3 then return false; end if;
  insert into private.mails (organization_id, kind, event_ids, invite_id)
  values (invite.organization_id, 'invite', '{}', invite.id);
  perform private.wake_mailer();
  return true;
end
$function$;

ALTER FUNCTION "private"."queue_invite"(private.invites) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.queue_mails()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare at_once integer;
begin
  if not exists (select from added n join public.organizations o on o.id = n.organization_id
    where o.mail_enabled) then return null; end if;
  with wanted as materialized (
    select n.organization_id, n.user_id, n.event_id, k.kind, o.time_zone,
      private.mail_choice(n.organization_id, n.user_id, k.kind) as choice
    from added n join public.organizations o on o.id = n.organization_id and o.mail_enabled
      cross join lateral (select private.mail_kind(n.type) as kind) k
    where k.kind is not null and not private.is_muted(n.organization_id, n.submission_id, n.user_id)
  ), timed as materialized (
    select w.*, case when w.choice = 'at_once' and (select count(*) from private.mails m
        where m.profile_id = w.user_id and m.created_at > now() - interval '1 day') >= 20
      then 'daily' else w.choice end as timing
    from wanted w
  ), later as (
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at)
    select t.user_id, t.event_id, t.organization_id, false,
      private.next_digest(t.timing, t.time_zone, now())
    from timed t where t.timing in ('daily', 'weekly')
    on conflict do nothing
  ), made as (
    insert into private.mails (organization_id, profile_id, kind, event_ids)
    select t.organization_id, t.user_id, t.kind, array[t.event_id] from timed t where t.timing = 'at_once'
    on conflict do nothing returning 1
  )
  select count(*) into at_once from made;
  if at_once > 0 then perform private.wake_mailer(); end if;
  return null;
end
$function$;

ALTER FUNCTION "private"."queue_mails"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.queue_summaries()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at)
  select m.user_id, s.id, s.organization_id, true, private.next_digest(c.choice, o.time_zone, now())
  from added s join public.organizations o on o.id = s.organization_id and o.mail_enabled
    join public.memberships m on m.organization_id = s.organization_id and m.user_id <> s.author_id
    cross join lateral (select private.mail_choice(m.organization_id, m.user_id, 'team') as choice) c
  where c.choice in ('daily', 'weekly')
  on conflict do nothing;
  return null;
end
$function$;

ALTER FUNCTION "private"."queue_summaries"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.raise_error(code text, message text, field text DEFAULT NULL::text, extra jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  raise exception using
    errcode = private.error_state(code),
    message = message,
    detail = (jsonb_build_object('code', code, 'field', field) || extra)::text;
end
$function$;

CREATE OR REPLACE FUNCTION private.read_submissions(scope private.search_scope, p private.parsed_search, query tsquery, first_class integer, last_class integer, after private.search_hit)
 RETURNS SETOF private.search_hit
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select c.submission_id, k.class, s.vote_count, (1.1 - k.class * 0.1)::real
    from (select c.submission_id, c.title_lexemes, c.lexemes from private.submission_search c
        where c.lexemes operator(pg_catalog.@@) query offset 0) c
      -- A query of a single class determines the class, without reading the lexemes of each row.
      cross join lateral (select case when first_class = last_class then first_class
        else private.search_class(p, c.title_lexemes, c.lexemes) end as class offset 0) k
      cross join lateral (select s.vote_count, s as whole from public.submissions s
        where s.id = c.submission_id offset 0) s
    where k.class between first_class and last_class and private.in_search_scope(scope, s.whole)
      and (after.class is null or k.class > after.class
        or (s.vote_count, c.submission_id) < (after.votes, after.submission_id))
    order by k.class, s.vote_count desc, c.submission_id desc;
end
$function$;

ALTER FUNCTION "private"."read_submissions"(private.search_scope, private.parsed_search, tsquery, integer, integer, private.search_hit) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.record_and_claim_mails(results jsonb, max_rows integer)
 RETURNS TABLE(id uuid, attempt integer, kind text, created_at timestamp with time zone, address text, profile jsonb, organization jsonb, events jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
begin
  perform private.record_mails(results);
  return query select * from private.claim_mails(max_rows);
end
$function$;

ALTER FUNCTION "private"."record_and_claim_mails"(jsonb, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.record_deliveries(results jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- Update webhooks whose health changed before their deliveries and in id order. A delete takes locks in the
  -- same order, which avoids deadlocks.
  perform 1 from private.webhooks w where w.id in (
    select r.webhook_id from jsonb_to_recordset(results) as r
      (webhook_id uuid, status_code integer, error text)
    where w.is_healthy is distinct from (r.error is null and r.status_code between 200 and 299))
  order by w.id for no key update;
  with results as (
    select r.*, r.error is null and r.status_code between 200
      and 299 as succeeded, r.error is null and r.status_code = 410 as gone,
      coalesce(r.is_final, false) or r.error is null and r.status_code = 410 as is_last
    from jsonb_to_recordset(results) as r
      (webhook_id uuid, event_id uuid, attempt integer, duration_ms integer, status_code integer,
      response_body text, error text, retry_after integer, is_final boolean)
  ), recorded as (
    update private.webhook_deliveries d set
      status = case
        when r.succeeded then 'delivered'
        when r.is_last or private.retry_delay(d.attempt_count - d.counted_from) is null then 'failed'
        else 'pending' end,
      finished_at = case when r.succeeded or r.is_last
        or private.retry_delay(d.attempt_count - d.counted_from) is null then now() end,
      claimed_at = null,
      next_attempt_at = now() + greatest(coalesce(private.retry_delay(d.attempt_count - d.counted_from), '0')
        * (1 + random() * 0.1), case when r.retry_after > 0
        then least(make_interval(secs => r.retry_after), interval '6 hours') end),
      attempts = private.logged(d.attempts,
        private.logged_attempt(d.attempt_count, d.claimed_at, r.duration_ms, r.status_code, r.response_body,
        r.error))
    from results r
    -- Skip deliveries that were claimed again meanwhile. Written so that the planner uses the primary key,
    -- not an index over all deliveries of the endpoint.
    where d.event_id = r.event_id and d.webhook_id is not distinct from r.webhook_id
      and d.claimed_at is not null and d.attempt_count = r.attempt
    returning d.webhook_id, r.succeeded, r.gone
  )
  update private.webhooks w set
    is_healthy = t.succeeded,
    is_enabled = w.is_enabled and not t.gone,
    disabled_reason = case when w.is_enabled and t.gone then 'gone' else w.disabled_reason end
  from (
    select r.webhook_id, bool_or(r.succeeded) as succeeded, bool_or(r.gone) as gone
    from recorded r group by r.webhook_id) t
  where w.id = t.webhook_id and (w.is_healthy <> t.succeeded or t.gone);
end
$function$;

CREATE OR REPLACE FUNCTION private.record_label_change(kind text, organization_id uuid, action text, label_id uuid, details jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.emit_organization_update(organization_id, array[kind]);
  perform private.audit(private.label_noun(kind) || '.' || action, private.label_noun(kind), label_id,
    details, organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.record_mail_report(address text, reason text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: private tables
declare person record; stopped integer := 0;
begin
  for person in
    select null::uuid as id, i.organization_id
    from private.invites i join private.mails m on m.invite_id = i.id
    where i.email = lower(record_mail_report.address)
    union
    select p.id, coalesce(p.organization_id, m.organization_id) as organization_id
    from public.profiles p
      left join lateral (select distinct o.organization_id from private.mails o where o.profile_id = p.id) m
        on p.organization_id is null
    where p.kind in ('user', 'email') and lower(p.email) = lower(record_mail_report.address)
  loop
    continue when person.organization_id is null;
    perform private.suppress_address(person.organization_id, person.id, record_mail_report.address, reason);
    stopped := stopped + 1;
  end loop;
  return stopped;
end
$function$;

ALTER FUNCTION "private"."record_mail_report"(text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.record_mails(results jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare refused record;
begin
  for refused in with results as (
    select r.* from jsonb_to_recordset(results) as r
      (id uuid, attempt integer, outcome text, error text, retry_after integer)
  ), timed as materialized (
    select r.*, case r.outcome when 'retry' then private.retry_delay(o.attempt_count - o.counted_from)
      when 'unavailable' then case when o.created_at > now() - interval '3 days' then interval '1 minute' end
      end as delay
    from results r join private.mails o on o.id = r.id
  ), recorded as (
    update private.mails m set
      status = case when r.outcome = 'sent' then 'sent' when r.delay is null then 'failed'
        else 'pending' end,
      finished_at = case when r.delay is null then now() end,
      claimed_at = null, last_error = left(r.error, 500),
      next_attempt_at = now() + coalesce(greatest(r.delay * (1 + random() * 0.1), case when r.retry_after > 0
        then least(make_interval(secs => r.retry_after), interval '6 hours') end), '0'),
      -- An unavailable server proves nothing about the mail: the retry schedule does not count the attempt.
      counted_from = m.counted_from + (r.outcome = 'unavailable')::integer
    from timed r
    -- Skip mails that were claimed again meanwhile.
    where m.id = r.id and m.claimed_at is not null and m.attempt_count = r.attempt
    returning m.organization_id, m.profile_id, private.address_of(m) as address, r.outcome
  )
  select * from recorded r where r.outcome = 'refused' loop
    perform private.suppress_address(refused.organization_id, refused.profile_id, refused.address, 'bounced');
  end loop;
end
$function$;

ALTER FUNCTION "private"."record_mails"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.record_member_change(organization_id uuid, action text, user_id uuid, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.emit_organization_update(organization_id, '{members}');
  perform private.audit(action, 'profile', user_id, details, organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.record_survey_start(survey_id uuid, by_reading boolean DEFAULT false)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare survey public.surveys; person uuid[]; began timestamptz;
begin
  if private.is_key() or private.caller_id() is null then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can do this.');
  end if;
  survey := private.require_open_survey(survey_id, private.caller_id());
  person := private.same_person(private.caller_id(), survey.organization_id);
  if not by_reading then
    update private.survey_starts s set started_at = default, by_reading = false
    where s.survey_id = survey.id and s.user_id = any (person) and s.by_reading;
  end if;
  began := (select min(s.started_at) from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = any (person));
  if began is null then
    insert into private.survey_starts as s (organization_id, survey_id, user_id, by_reading)
      values (survey.organization_id, survey.id, private.caller_id(), record_survey_start.by_reading)
    on conflict on constraint survey_starts_pkey do nothing returning s.started_at into began;
  end if;
  return coalesce(began, (select s.started_at from private.survey_starts s
    where s.survey_id = survey.id and s.user_id = private.caller_id()));
end
$function$;

ALTER FUNCTION "private"."record_survey_start"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.record_tool_call(request_id uuid, tool text, scope text, argument_names text[], address text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names,
    address)
  values (private.key_organization_id(), private.agent_id(), current_setting('feedback.key_id')::uuid,
    request_id, tool, scope, 'ok',
    extract(epoch from clock_timestamp() - now()) * 1000, argument_names, address);
end
$function$;

CREATE OR REPLACE FUNCTION private.record_tool_calls(calls jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into private.agent_audit
    (organization_id, agent_id, key_id, request_id, tool, scope, outcome, duration_ms, argument_names,
    address)
  select k.organization_id, k.profile_id, k.id, c.request_id, c.tool, c.scope, c.outcome, c.duration_ms,
    c.argument_names, c.address
  from jsonb_to_recordset(calls) as c
    (digest text, request_id uuid, tool text, scope text, outcome text, duration_ms real,
    argument_names text[], address text)
  join private.api_keys k on k.digest = decode(c.digest, 'hex') join private.agents a on a.id = k.profile_id;
end
$function$;

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

CREATE OR REPLACE FUNCTION private.recount_days(organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare own_id uuid := recount_days.organization_id;
begin
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o where o.id = own_id
  on conflict (organization_id) do update set time_zone = excluded.time_zone;
  delete from private.person_days d where d.organization_id = own_id;
  delete from private.day_activity d where d.organization_id = own_id;
  delete from private.submission_days d where d.organization_id = own_id;
  -- Delete the entries in the statement that recounts: both use one snapshot.
  with entries as (
    delete from private.person_activity a where a.organization_id = own_id
  )
  insert into private.person_days (organization_id, user_id, day, previous_day, submissions, votes, comments)
  select * from private.compute_person_days(own_id);
  insert into private.day_activity (organization_id, day, previous_day, people, submissions, votes, comments)
  select own_id, d.day, d.previous_day, count(*), sum(d.submissions), sum(d.votes), sum(d.comments)
  from private.person_days d where d.organization_id = own_id group by 2, 3;
  with entries as (
    delete from private.submission_activity a where a.organization_id = own_id
  )
  insert into private.submission_days (organization_id, span, day, status, category_id, source, total)
  select * from private.compute_submission_days(own_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.recount_submissions(organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.submission_counts c where c.organization_id = recount_submissions.organization_id;
  insert into private.submission_counts (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, s.category_id, count(*)
  from public.submissions s where s.organization_id = recount_submissions.organization_id
    and s.merged_into_id is null
  group by 1, 2, 3, 4, 5;
  delete from private.submission_subtotals n where n.organization_id = recount_submissions.organization_id;
  insert into private.submission_subtotals
  select n.* from private.compute_subtotals(recount_submissions.organization_id) n;
end
$function$;

CREATE OR REPLACE FUNCTION private.recount_survey(survey_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform 1 from public.surveys s where s.id = recount_survey.survey_id for no key update;
  delete from private.survey_answer_counts c where c.survey_id = recount_survey.survey_id;
  delete from private.survey_counts c where c.survey_id = recount_survey.survey_id;
  perform set_config('feedback.survey_shard', '', true);
  insert into private.survey_counts
    (organization_id, survey_id, shard, responses, timed, milliseconds, positive, neutral, negative, score,
    starts)
  select t.organization_id, t.survey_id, 0, t.responses, t.timed, t.milliseconds, t.positive, t.neutral,
    t.negative, t.score, t.starts
  from private.survey_actual_counts t where t.survey_id = recount_survey.survey_id;
  insert into private.survey_answer_counts (organization_id, survey_id, question_id, value, shard, total)
  select r.organization_id, r.survey_id, a.question_id, a.value, 0, count(*)
  from public.survey_responses r cross join lateral private.counted_answers(r.answers) a
  where r.survey_id = recount_survey.survey_id group by 1, 2, 3, 4;
end
$function$;

CREATE OR REPLACE FUNCTION private.refresh_search()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  own_id uuid; size bigint; span record; sampled uuid[];
begin
  select c.organization_id, c.total into own_id, size
  from (select c.organization_id, sum(c.total)::bigint as total from private.submission_counts c group by 1) c
    left join private.search_statistics b on b.organization_id = c.organization_id
  where b.refreshed_at is null or b.refreshed_at < now() - interval '1 day'
    or abs(c.total - b.size) > greatest(b.size / 5, 500)
  order by b.refreshed_at nulls first limit 1;
  if own_id is null then return 0; end if;
  select min(s.created_at) as oldest, max(s.created_at) as newest into span
    from public.submissions s where s.organization_id = own_id;
  insert into private.search_statistics (organization_id, size, tiers, refreshed_at)
  select own_id, size, array(select coalesce(t.n, 0) from generate_series(0, 31) b left join (
      select length(ltrim(s.vote_count::bit(32)::text, '0')) as tier, count(*) as n
      from public.submissions s where s.organization_id = own_id and s.merged_into_id is null group by 1) t
      on t.tier = b order by b), now()
  on conflict (organization_id) do update set size = excluded.size, tiers = excluded.tiers,
    refreshed_at = excluded.refreshed_at;
  -- The sample covers the whole time: up to 20,000 submissions.
  sampled := array(select distinct l.id from generate_series(0, 99) n cross join lateral (
    select s.id from public.submissions s where s.organization_id = own_id and s.merged_into_id is null
      and (s.created_at, s.id)
        >= (span.oldest + (span.newest - span.oldest) * (n + random()) / 100, gen_random_uuid())
    order by s.created_at, s.id limit least(greatest(size / 500, 20), 200)) l);
  delete from private.search_frequencies f where f.organization_id = own_id;
  insert into private.search_frequencies (organization_id, lexeme, share)
  select own_id, substr(l.lexeme, 9), count(*)::real / cardinality(sampled)
  from private.submission_search c cross join lateral unnest(tsvector_to_array(c.lexemes)) l (lexeme)
  where c.submission_id = any (sampled)
  group by l.lexeme having count(*) > 2 and count(*)::real / cardinality(sampled) * size > 300;
  delete from private.search_words w where w.organization_id = own_id and not exists (
    select from private.submission_search c
    where c.lexemes @@ private.search_query(own_id, array[w.word])::tsquery);
  return 1;
end
$function$;

ALTER FUNCTION "private"."refresh_search"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.refuse_after_undo()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  account_id uuid := case tg_table_name when 'users' then to_jsonb(new) ->> 'id'
    else to_jsonb(new) ->> 'user_id' end;
  address text;
begin
  -- Waits for an undo that holds the row lock.
  select u.email into address from auth.users u where u.id = account_id for key share;
  if not private.was_just_restored(account_id)
    or tg_table_name = 'one_time_tokens' and to_jsonb(new) ->> 'relates_to' = address then return new; end if;
  raise exception 'A change of this account was just undone. Try again in half a minute.'
    using errcode = 'check_violation', constraint = 'account_was_just_restored';
end
$function$;

ALTER FUNCTION "private"."refuse_after_undo"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.refuse_erased()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.is_internal_write() and private.was_erased(new.organization_id, new.user_id) then
    perform private.raise_error('FORBIDDEN', 'The data of this account was erased here. Its votes and '
      'answers still count. To take part again, use another account.');
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."refuse_erased"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.refuse_invites(invite_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.suppress_address(i.organization_id, null, i.email, 'refused')
  from private.invites i where i.id = refuse_invites.invite_id;
  return private.refusing_invites(invite_id);
end
$function$;

ALTER FUNCTION "private"."refuse_invites"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.register_stream(id uuid, address text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.agent_id(); own_organization_id uuid := private.key_organization_id(); too_many
  text;
begin
  -- Serializes opening streams, so that the limits hold.
  perform pg_advisory_xact_lock(hashtextextended('private.open_streams', 0));
  delete from private.open_streams s where s.expires_at < now();
  select case
      when count(*) filter (where s.agent_id = own_id) >= 100 then 'of this agent'
      when count(*) filter (where s.organization_id = own_organization_id) >= 300
        then 'of this organization''s agents'
      when count(*) filter (where s.address = register_stream.address) >= 500 then 'from this address'
    end into too_many
  from private.open_streams s;
  if too_many is not null then
    perform private.raise_error('RATE_LIMIT_EXCEEDED',
      format('Too many streams %s are open. Close some.', too_many), null,
      jsonb_build_object('retry_after', 5));
  end if;
  insert into private.open_streams (id, organization_id, agent_id, address)
    values (id, own_organization_id, own_id, address);
end
$function$;

CREATE OR REPLACE FUNCTION private.reject_name_of_team()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if exists (
    with taken_part as (
      select coalesce(private.requested_organization_id(), private.default_organization_id()) as id
      union select s.organization_id from public.submissions s where s.author_id = new.id
      union select c.organization_id from public.comments c where c.author_id = new.id
    )
    select from taken_part o
      join public.memberships m on m.organization_id = o.id
      join public.profiles p on p.id = m.user_id
    where not private.is_member(o.id, new.id)
      and private.name_skeleton(p.name) = private.name_skeleton(new.name))
  then
    perform private.raise_error('VALIDATION_ERROR',
      'This looks like the name of a team member. Choose a different one.', 'name',
      '{"reason": "name_of_team_member"}');
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."reject_name_of_team"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.reject_request(account_id uuid, is_change boolean)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if is_change then
    update auth.users u set email_change = '', email_change_token_new = '', email_change_token_current = '',
      email_change_confirm_status = 0 where u.id = account_id;
    delete from auth.one_time_tokens t where t.user_id = account_id;
    return 'kept';
  end if;
  perform from auth.users u where u.id = account_id and u.email_confirmed_at is null for update;
  if found then
    delete from auth.users u where u.id = account_id and u.phone_confirmed_at is null and not u.is_anonymous;
    -- Somebody who signs in by phone or anonymously keeps the account, without this address.
    delete from auth.identities i using auth.users u
    where u.id = account_id and i.user_id = u.id and lower(i.identity_data ->> 'email') = u.email;
    update auth.users u set email = null, confirmation_token = '', recovery_token = ''
    where u.id = account_id;
    delete from auth.one_time_tokens t where t.user_id = account_id;
    return 'deleted';
  end if;
  return null;
end
$function$;

ALTER FUNCTION "private"."reject_request"(uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.reject_table_write()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_direct() and coalesce(current_setting('feedback.by_function', true), '') <> 'on' then
    perform private.raise_error('FORBIDDEN',
      format('Clients cannot write to the table %s. Call the function %s instead.', tg_table_name,
        tg_argv[case tg_op when 'INSERT' then 0 when 'UPDATE' then 1 else 2 end]));
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.reject_unknown_changes(changes jsonb, known text[])
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
declare unknown text;
begin
  if coalesce(jsonb_typeof(changes), '') <> 'object' then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object with the fields to change', 'changes');
  end if;
  unknown := (select key from jsonb_object_keys(changes) as key where key <> all (known)
    order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR',
      format('is not a known field; use one of %s', array_to_string(known, ', ')), 'changes.' || unknown);
  end if;
  -- A number or an object would be stored as its JSON text.
  unknown := (select key from jsonb_each(changes) where jsonb_typeof(value) not in ('string', 'null')
    order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', 'must be a string or null', 'changes.' || unknown);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.remember_removed_logo()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.removed_logos (path) values (old.logo_url) on conflict do nothing;
  perform private.wake_function('/api/imports/run', 'imports');
  return null;
end
$function$;

ALTER FUNCTION "private"."remember_removed_logo"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.remove_comment_vote(comment_id uuid, profile_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_comment(remove_comment_vote.comment_id);
    delete from public.comment_votes v where v.comment_id = remove_comment_vote.comment_id
      and v.user_id = profile_id;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.remove_replies()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- A delete of no rows fires the trigger as well; stop here to end the recursion.
  if not exists (select from removed) then return null; end if;
  if private.is_direct() then
    perform private.charge_direct('comment_delete', (
      select count(*) from removed r
        where exists (select from public.submissions s where s.id = r.submission_id)));
  end if;
  perform private.lock_submissions((select array_agg(distinct submission_id) from removed));
  update public.submissions s set comment_count = comment_count - d.comments
  from (select submission_id, count(*) as comments from removed where moderation_state = 'approved'
    group by 1) d
  where s.id = d.submission_id;
  perform private.lock_comments((select array_agg(distinct parent_id) from removed
    where parent_id is not null));
  update public.comments c set reply_count = reply_count - d.replies
  from (select parent_id, count(*) as replies from removed where moderation_state = 'approved' group by 1) d
  where c.id = d.parent_id;
  delete from public.comments where id in (
    with recursive subtree as (
      select c.id from public.comments c join removed r on c.parent_id = r.id
      union
      select c.id from public.comments c join subtree s on c.parent_id = s.id)
    select id from subtree);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.remove_vote(submission_id uuid, profile_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.may_act_as(profile_id) then
    perform private.lock_submission(remove_vote.submission_id);
    delete from public.votes v where v.submission_id = remove_vote.submission_id and v.user_id = profile_id;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.rename_keys()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  update public.profiles p set name = new.name where p.kind = 'key'
    and p.id in (select k.profile_id from private.api_keys k where k.organization_id = new.id);
  return null;
end
$function$;

ALTER FUNCTION "private"."rename_keys"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.renew_streams(renewed_ids uuid[], closed_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.open_streams s where s.id = any (closed_ids);
  update private.open_streams s set expires_at = now() + interval '30 seconds' where s.id = any (renewed_ids);
end
$function$;

CREATE OR REPLACE FUNCTION private.reparent_merge_sources()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not exists (select from public.organizations where id = old.organization_id) then return old; end if;
  update private.merges set parent_id = old.merged_into_id where parent_id = old.id;
  update public.votes set merged_from = null where submission_id = old.merged_into_id
    and merged_from = old.id;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  select f.organization_id, old.merged_into_id, f.user_id, f.reason, f.created_at from public.follows f
    where f.submission_id = old.id
  on conflict do nothing;
  insert into private.unfollows (organization_id, submission_id, user_id, created_at)
  select u.organization_id, old.merged_into_id, u.user_id, u.created_at from private.unfollows u
  where u.submission_id = old.id and not private.is_follower(old.merged_into_id, u.user_id)
  on conflict do nothing;
  perform set_config('feedback.internal_write', 'off', true);
  update public.submission_tags set merged_from = null where submission_id = old.merged_into_id
    and merged_from = old.id;
  return old;
end
$function$;

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
    -- private.count_changed_tags locks the submissions too: whoever holds one may wait for its tags.
    for no key update of s skip locked for update of st skip locked);
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
  on conflict on constraint submission_tags_pkey
    do update set merged_from = null where excluded.merged_from is null;
  -- Merge journals keep the tag: they move with the last batch or are deleted with the label.
  perform set_config('feedback.internal_write', 'on', true);
  delete from public.submission_tags st where st.submission_id = any (ids) and st.tag_id = from_id;
  perform set_config('feedback.internal_write', 'off', true);
  return cardinality(ids);
end
$function$;

CREATE OR REPLACE FUNCTION private.require_accepts_responses(survey public.surveys)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if survey.status <> 'published' then
    perform private.raise_error('SURVEY_NOT_OPEN', case survey.status
      when 'draft' then 'This survey is still a draft and does not accept responses yet.'
      when 'paused' then 'This survey is paused and does not accept responses now.'
      else 'This survey is archived and no longer accepts responses.' end);
  elsif survey.closes_at <= clock_timestamp() then
    perform private.raise_error('SURVEY_NOT_OPEN', 'This survey is closed and no longer accepts responses.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_admin(organization_id uuid, scope text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.is_admin(organization_id, scope) then
    if current_setting('role', true) = 'anon' then
      perform private.raise_error('UNAUTHORIZED', 'Sign in, or send a key as Authorization: Bearer <token>.');
    end if;
    perform private.raise_error('FORBIDDEN', case
      when private.is_key() then format('This key needs the scope %s. Use a key that has it.', scope)
      else 'Only admins of the organization can do this.' end);
  end if;
  return organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_draft(status text)
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if status <> 'draft' then
    perform private.raise_error('CONFLICT', 'Only drafts can be changed.' || case
      when status <> 'archived' then ' Create a new version of this survey.' else '' end, 'status');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_key_admin()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare organization_id uuid := private.current_organization_id();
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can create keys.');
  end if;
  perform private.require_admin(organization_id, '');
  return organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_moderator(organization_id uuid, is_public boolean, author_id uuid, what text, field text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if organization_id is null or not private.in_organization(organization_id)
    or not private.can_see_submission(is_public, author_id, organization_id, private.caller_id(),
      private.team_organization_ids())
    or private.is_key() and organization_id <> private.key_organization_id() then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', what), field);
  end if;
  perform private.require_admin(organization_id, 'submissions:moderate');
  return organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_one_vote(organization_id uuid, user_id uuid, submission_id uuid, comment_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_variable
declare
  person uuid[] := private.same_person(user_id, organization_id);
  voters uuid[] := array(
    select v.user_id from public.votes v where v.submission_id = submission_id and v.user_id = any (person)
    union all
    select v.user_id from public.comment_votes v
    where v.comment_id = comment_id and v.user_id = any (person));
begin
  if cardinality(voters) > 0 and user_id <> all (voters) then
    perform private.raise_error('CONFLICT',
      'Someone with this email address has already voted, and each person counts once.',
      case when comment_id is null then 'submission_id' else 'comment_id' end);
  end if;
end
$function$;

ALTER FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.require_open_submission(submission_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare target_id uuid := (select s.merged_into_id from public.submissions s
  where s.id = require_open_submission.submission_id);
begin
  if target_id is not null then
    perform private.raise_error('SUBMISSION_MERGED',
      'This submission was merged into another one. Use that one (merged_into_id).', null,
      jsonb_build_object('merged_into_id', target_id));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_open_survey(survey_id uuid, user_id uuid)
 RETURNS public.surveys
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare survey public.surveys; person uuid[];
begin
  if user_id = private.caller_id() then perform private.lock_caller(); end if;
  select * into survey from public.surveys s where s.id = require_open_survey.survey_id for share;
  if survey.id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  perform private.require_accepts_responses(survey);
  -- Serializes with the erasure of the respondent.
  perform 1 from public.profiles p
    where p.id = require_open_survey.user_id
    and (p.kind <> 'user' or p.auth_user_id is not null) for key share;
  if not found and user_id = private.caller_id() then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted. Sign in with another account.');
  end if;
  if not survey.allow_multiple_responses then
    -- Serializes responses of one person; otherwise a start could be recorded after the response. Operators
    -- insert in bulk and record no start.
    if user_id = private.caller_id() then
      perform pg_advisory_xact_lock(hashtextextended(survey.id::text || private.person_of(p), 0))
      from public.profiles p where p.id = require_open_survey.user_id;
    end if;
    person := private.same_person(user_id, survey.organization_id);
    if exists (select from public.survey_responses r
      where r.survey_id = survey.id and r.user_id = any (person)) then
      perform private.raise_error('ALREADY_RESPONDED', 'You have already answered this survey.');
    end if;
  end if;
  if not private.is_in_audience(survey, user_id) then
    perform private.raise_error('FORBIDDEN', case survey.audience
      when 'voters' then 'Only people who voted for the submission can answer this survey.'
      else 'Only people who follow the submission can answer this survey.' end);
  end if;
  return survey;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_organization_admin(organization_id uuid, scope text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_admin(private.require_visible_organization(organization_id), scope);
  return organization_id;
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
      'Emails can be resumed only with a link in an email. The application that signed you in does not prove '
        'that the address is yours.');
  end if;
end
$function$;

ALTER FUNCTION "private"."require_own_mailbox"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.require_participation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare allowed text;
begin
  if private.is_key()
    or not exists (select from public.profiles p where p.id = auth.uid() and p.is_anonymous) then
    return new;
  end if;
  allowed := (select o.anonymous_may from public.organizations o where o.id = new.organization_id);
  if allowed <> 'participate' and allowed <> tg_argv[0] then
    perform private.raise_error('FORBIDDEN', case allowed
      when 'vote' then 'Without an account you can read and vote here. Sign up to do more.'
      else 'Without an account you can only read here. Sign up to take part.' end);
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_person_admin(organization_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() then
    perform private.raise_error('FORBIDDEN', 'Only signed-in users can change roles.');
  end if;
  perform private.require_organization_admin(organization_id, '');
  return (select m.role from public.memberships m
    where m.organization_id = require_person_admin.organization_id and m.user_id = private.caller_id());
end
$function$;

CREATE OR REPLACE FUNCTION private.require_submission_moderator(submission_id uuid, field text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare submission public.submissions;
begin
  select * into submission from public.submissions s where s.id = submission_id;
  return private.require_moderator(submission.organization_id, submission.is_public, submission.author_id,
    'submission', field);
end
$function$;

CREATE OR REPLACE FUNCTION private.require_survey(survey_id uuid, scope text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare found_id uuid := (select s.organization_id from public.surveys s
  where s.id = require_survey.survey_id and private.in_organization(s.organization_id));
begin
  if found_id is null then
    perform private.raise_error('NOT_FOUND', 'There is no such survey.');
  end if;
  if scope is not null then perform private.require_admin(found_id, scope); end if;
  return found_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_taxonomy_admin(kind text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'organization:write');
begin
  if kind not in ('categories', 'tags') then
    perform private.raise_error('NOT_FOUND', 'There is no such kind. Use categories or tags.');
  end if;
  return own_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_team_member(organization_id uuid, scope text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_key() or not private.is_member(private.require_visible_organization(organization_id),
    private.caller_id()) then
    perform private.require_organization_admin(organization_id, scope);
  end if;
  return organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_visible_organization(organization_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.in_organization(organization_id)
    or (case when private.is_key() then organization_id is distinct from private.key_organization_id()
      else private.find_organization(organization_id::text, private.caller_id()) is null end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.');
  end if;
  return organization_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_webhook_admin(organization_id uuid, scope text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not private.in_organization(organization_id) or not exists (
      select from public.organizations o where o.id = organization_id and case when private.is_key()
        then o.id = private.key_organization_id()
        else o.visibility = 'public' or private.is_member(o.id, private.caller_id()) end) then
    perform private.raise_error('NOT_FOUND', 'There is no such organization.', 'organization');
  end if;
  perform private.require_admin(organization_id, scope);
end
$function$;

CREATE OR REPLACE FUNCTION private.reset_second_factor(organization_id uuid, user_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare member public.memberships; auth_id uuid;
begin
  perform private.require_visible_organization(organization_id);
  perform private.lock_team(organization_id);
  if private.require_person_admin(organization_id) <> 'owner' then
    perform private.raise_error('FORBIDDEN', 'Only an owner can remove the second factor of a member.');
  end if;
  member := private.find_member(organization_id, user_id);
  -- A second factor protects every team of its person.
  if exists (select from public.memberships m where m.user_id = member.user_id
      and not private.is_own_team(m.organization_id)) then
    perform private.raise_error('CONFLICT',
      'This person is also on a team that you do not own. Its owner must remove them first.');
  end if;
  auth_id := (select p.auth_user_id from public.profiles p where p.id = member.user_id);
  delete from auth.mfa_factors f where f.user_id = auth_id;
  if found then
    -- Sessions that somebody else may have opened need a new sign-in.
    delete from auth.sessions s where s.user_id = auth_id;
    perform private.audit('member.reset_second_factor', 'profile', member.user_id, '{}', organization_id);
  end if;
  return private.member_shape(member, true, private.is_own_team(organization_id));
end
$function$;

ALTER FUNCTION "private"."reset_second_factor"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.resolve_caller(user_id uuid, session_id uuid, aal text, digest bytea)
 RETURNS private.caller
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare who private.caller; key private.api_keys; tier text; reads boolean; retired boolean;
begin
  if user_id is not null then
    who.kind := 'user';
    select p.id, case when exists (select from public.memberships m
      where m.user_id = p.id and m.role in ('owner', 'admin'))
      then 'level_admin' else 'level_user' end
    into who.profile_id, who.level from public.profiles p where p.auth_user_id = user_id;
    who.valid := who.profile_id is not null
      and private.session_refusal(user_id, session_id, aal) is null;
  elsif digest is not null then
    select * into key from private.api_keys k where k.digest = resolve_caller.digest;
    if key.id is null then return private.resolve_session(digest); end if;
    who.kind := 'key';
    who.level := 'level_key';
    who.valid := key.id is not null and key.revoked_at is null
      and (key.expires_at is null or key.expires_at > now());
    who.profile_id := key.profile_id;
    who.organization_id := key.organization_id;
    who.key_id := key.id;
    who.scopes := key.scopes;
    if key.prefix = 'fcs_agt_' then
      who.kind := 'agent';
      select a.tier, a.read_only, a.retired_at is not null into tier, reads, retired from private.agents a
        where a.id = key.profile_id;
      who.level := 'agent_' || tier;
      who.valid := who.valid and not coalesce(retired, true);
      if reads then
        who.scopes := array(select s from unnest(key.scopes) s where s like '%:read');
      end if;
    end if;
    if who.valid and (key.last_used_at is null or key.last_used_at < now() - interval '1 minute') then
      update private.api_keys k set last_used_at = now()
      where k.id = (select l.id from private.api_keys l where l.id = key.id for update skip locked);
    end if;
  else
    who.kind := 'public';
    who.level := 'level_public';
    who.valid := true;
  end if;
  return who;
end
$function$;

ALTER FUNCTION "private"."resolve_caller"(uuid, uuid, text, bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.resolve_session(digest bytea)
 RETURNS private.caller
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare who private.caller;
begin
  who.kind := 'user';
  who.level := 'level_user';
  select s.profile_id, s.organization_id, true into who.profile_id, who.organization_id, who.valid
  from private.identify_sessions s join public.organizations o on o.id = s.organization_id
  where s.digest = resolve_session.digest and s.expires_at > now() and o.visibility = 'public';
  who.valid := who.valid is true;
  return who;
end
$function$;

ALTER FUNCTION "private"."resolve_session"(bytea) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.retire_label(kind text, organization_id uuid, label_id uuid, into_id uuid, batch integer DEFAULT 2000)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare moved integer; is_left boolean;
begin
  if kind = 'categories' then
    moved := private.move_to_category(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submissions s where s.organization_id = retire_label.organization_id
      and s.category_id = label_id);
  else
    moved := private.replace_tag(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submission_tags st
      where st.organization_id = retire_label.organization_id and st.tag_id = label_id);
  end if;
  if is_left then
    insert into private.retired_labels as r (label_id, organization_id, kind, into_id)
      values (label_id, organization_id, kind, into_id)
    on conflict on constraint retired_labels_pkey do update set into_id = excluded.into_id;
    return moved;
  end if;
  -- Also update the journals, which an unmerge restores.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select j.source_id, into_id, j.organization_id from private.merged_tags j
  where kind = 'tags' and into_id is not null and j.organization_id = retire_label.organization_id
    and j.tag_id = label_id
  on conflict do nothing;
  execute format('delete from public.%I l where l.id = $1', kind) using label_id;
  delete from private.retired_labels r where r.label_id = retire_label.label_id;
  return moved;
end
$function$;

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
  -- Each organization's oldest fan-out comes first, then its next; together they get one batch, which bounds
  -- a run.
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

CREATE OR REPLACE FUNCTION private.run_retirements()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare retired private.retired_labels; is_there boolean; is_free boolean; moved integer := 0;
begin
  -- Lock the organization first; skip labels that are locked.
  for retired in
    select r.* from private.retired_labels r join public.organizations o on o.id = r.organization_id
    order by r.retired_at, r.label_id limit 1 for no key update of o skip locked
  loop
    execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there
      using retired.label_id;
    execute format('select true from public.%I l where l.id = $1 for update skip locked', retired.kind)
      into is_free using retired.label_id;
    if is_free then
      execute format('select l.id from public.%I l where l.id = $1', retired.kind) into retired.into_id
        using retired.into_id;
      moved := private.retire_label(retired.kind, retired.organization_id, retired.label_id, retired.into_id);
      execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there
        using retired.label_id;
      if not is_there then perform private.emit_organization_update(retired.organization_id,
        array[retired.kind]); end if;
    end if;
    if not is_there then delete from private.retired_labels r where r.label_id = retired.label_id; end if;
  end loop;
  return moved;
end
$function$;

CREATE OR REPLACE FUNCTION private.run_schedule()
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare done jsonb; trimmed jsonb;
begin
  done := jsonb_build_object(
    'fanouts', private.run_fanouts(),
    'activity', private.sum_activity(),
    'surveys', private.close_surveys(),
    'boards', private.broadcast_counts());
  trimmed := private.trim_rows();
  done := done || jsonb_build_object(
    'rate_counters', trimmed -> 'rate_counters',
    'idempotency_keys', trimmed -> 'idempotency_keys',
    'events', trimmed -> 'outbox',
    'agent_streams', trimmed -> 'agent_streams',
    'sessions', trimmed -> 'identify_sessions',
    'deliveries', private.trim_deliveries(),
    'imports', private.end_idle_imports());
  perform private.call_importer();
  done := done || jsonb_build_object('mails', private.gather_digests());
  if exists (select from private.senders_of_due_mails()) then
    perform private.call_function('/mail-dispatch');
  end if;
  perform private.refresh_search();
  -- These run last, because they lock an organization and submissions until the transaction ends.
  return done || jsonb_build_object('subtotals', private.sum_subtotals(), 'labels', private.run_retirements());
end
$function$;

CREATE OR REPLACE FUNCTION private.same_person(profile_id uuid, organization_id uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare address text := (select lower(p.email) from public.profiles p
  where p.id = profile_id and coalesce(p.organization_id, same_person.organization_id)
    = same_person.organization_id);
begin
  return profile_id || array(
    select u.id from public.profiles u
    where u.kind = 'user' and lower(u.email) = address and u.id <> profile_id
    union all
    select a.id from public.profiles a
    where a.kind = 'email' and a.organization_id = same_person.organization_id
      and lower(a.email) = address and a.id <> profile_id);
end
$function$;

ALTER FUNCTION "private"."same_person"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.save_idempotent_response(key text, answer text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  update private.idempotency_keys k set answer = save_idempotent_response.answer
  where k.profile_id = private.caller_id() and k.key = save_idempotent_response.key;
end
$function$;

CREATE OR REPLACE FUNCTION private.scope_conditions(scope private.search_scope, is_filter boolean DEFAULT false)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare conditions text := format('s.organization_id = %L and s.merged_into_id is null', scope.organization_id);
begin
  if is_filter is not true and scope.organization_id = any (scope.team_ids) is not true then
    conditions := conditions || format(
      ' and private.can_see_submission(s.is_public, s.author_id, s.organization_id, %L, %L)', scope.caller_id,
      scope.team_ids);
  end if;
  conditions := concat_ws(' and ', conditions,
    's.category_id = any (' || quote_literal(scope.agent_category_ids) || ')',
    's.status = ' || quote_literal(scope.status), 's.type = ' || quote_literal(scope.type),
    's.category_id = ' || quote_literal(scope.category_id), 's.author_id = ' || quote_literal(scope.author_id));
  if scope.category_id is not null and num_nonnulls(scope.status, scope.type) = 1 then
    -- This condition excludes nothing, and lets submissions_kind_idx find the category.
    conditions := conditions || (select format(' and s.type = any (%L) and s.status = any (%L)',
        array_agg(distinct c.type), array_agg(distinct c.status)) from private.submission_counts c
      where c.organization_id = scope.organization_id);
  end if;
  return conditions;
end
$function$;

ALTER FUNCTION "private"."scope_conditions"(private.search_scope, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.score_survey_response(response_id uuid, judged jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare response public.survey_responses; numbers numeric; texts numeric;
begin
  -- Lock the survey first: deleting it deletes its responses.
  perform 1 from public.surveys s
  where s.id = (select r.survey_id from public.survey_responses r where r.id = response_id) for key share;
  select * into response from public.survey_responses r
  where r.id = response_id and r.user_id = private.caller_id()
    and r.submitted_at > now() - interval '10 minutes'
  for no key update;
  if response.id is null then return; end if;
  select avg(private.sentiment_of_number(q, (a.answer ->> 'value')::integer)) filter
    (where private.answer_kind(q.type) = 'number'),
    avg(greatest(-1, least(1, (judged -> 'scores' ->> q.id::text)::numeric))) filter (where q.type = 'text')
  into numbers, texts
  from jsonb_array_elements(response.answers) as a (answer)
  join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid;
  if texts is null then return; end if;
  update public.survey_responses r set
    sentiment_score = private.sentiment_of_response(numbers, texts),
    sentiment_engine = judged ->> 'engine'
  where r.id = response.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.search_groups(board private.search_statistics, share real, wanted integer, after private.search_hit, OUT query tsquery)
 RETURNS SETOF tsquery
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
  select string_agg(quote_literal(left(board.organization_id::text, 8) || '#' || g.tier), '|')::tsquery
  from (
    select t.*, floor(ln(greatest(0.25,
      (sum(t.size) over (order by t.n desc) - t.size) * share / wanted)::float8) / ln(16)) as group_n
    from (
      select b * 256 as n, lpad(b::text, 2, '0') as tier, coalesce(board.tiers[b + 1], 0)::real as size,
        (2 ^ (b - 1))::bigint::integer as votes, '' as id_prefix
      from generate_series(2, 31) b
      union all
      select b * 256 + i * 256 / p.parts, '0' || b || h.id_prefix, d.size / p.parts, b, h.id_prefix
      from generate_series(0, 1) b
        cross join lateral (select coalesce(board.tiers[b + 1], 0)::real as size) d
        cross join lateral (select (16 ^ least(2, greatest(0,
          ceil(ln(greatest(1, d.size * share / wanted / 8)::float8) / ln(16)))))::integer as parts) p
        cross join lateral generate_series(0, p.parts - 1) i
        cross join lateral (
          select right('0' || to_hex(i), length(to_hex(p.parts - 1)) - (p.parts = 1)::integer)
            as id_prefix) h) t
    where after.votes is null or t.n <= length(ltrim(after.votes::bit(32)::text, '0')) * 256
      + case when after.votes > 1 then 0
        else ('x' || left(after.submission_id::text, 2))::bit(8)::integer end) g
  group by g.group_n order by g.group_n;
end
$function$;

ALTER FUNCTION "private"."search_groups"(private.search_statistics, real, integer, private.search_hit) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.search_scope(organization_id uuid, status text DEFAULT NULL::text, type text DEFAULT NULL::text, category_id uuid DEFAULT NULL::uuid, tag_id uuid DEFAULT NULL::uuid, author_id uuid DEFAULT NULL::uuid)
 RETURNS private.search_scope
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  -- A function in SQL would be planned at each call.
  return row(organization_id, status, type, category_id, tag_id, author_id, private.caller_id(),
    private.team_organization_ids(), private.agent_category_ids(),
    coalesce((select b from private.search_statistics b where b.organization_id = search_scope.organization_id),
      row(organization_id, 0, null, null)::private.search_statistics))::private.search_scope;
end
$function$;

ALTER FUNCTION "private"."search_scope"(uuid, text, text, uuid, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.senders_of_due_mails()
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    with recursive waiting (id) as (
      (select m.organization_id from private.mails m where m.status in ('pending', 'sending')
        order by m.organization_id limit 1)
      union all
      select (select m.organization_id from private.mails m
        where m.status in ('pending', 'sending') and m.organization_id > w.id
        order by m.organization_id limit 1)
      from waiting w where w.id is not null
    )
    select w.id from waiting w
    where exists (select from unnest(array[true, false]) lane cross join lateral (
        select m.next_attempt_at from private.mails m
        where m.organization_id = w.id and m.is_confirmed = lane and m.status in ('pending', 'sending')
        order by m.next_attempt_at limit 1) first
      where first.next_attempt_at <= now());
end
$function$;

ALTER FUNCTION "private"."senders_of_due_mails"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.session_refusal(user_id uuid, session_id uuid, aal text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare refusal text;
begin
  select case
    when u.deleted_at is not null or u.banned_until > now() then 'ended'
    when session_id is not null and not exists (select from auth.sessions s
      where s.id = session_id and s.user_id = u.id) then 'ended'
    when aal is distinct from 'aal2' and exists (select from auth.mfa_factors f
      where f.user_id = u.id and f.status = 'verified') then 'factor'
  end into refusal
  from auth.users u where u.id = session_refusal.user_id;
  return case when found then refusal else 'ended' end;
end
$function$;

ALTER FUNCTION "private"."session_refusal"(uuid, uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.set_up(owner_id uuid, name text, slug text, visibility text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare organization_id uuid;
begin
  -- Serializes concurrent calls: the second waits here for the first.
  insert into private.setup default values on conflict do nothing;
  if not found then
    perform private.raise_error('CONFLICT', 'This installation is already set up. Sign in instead.');
  end if;
  organization_id := private.create_organization(name, slug, visibility, owner_id);
  update public.organizations o set is_default = true where o.id = organization_id;
  return organization_id;
end
$function$;

ALTER FUNCTION "private"."set_up"(uuid, text, text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.show_invite(digest bytea, invite_id uuid DEFAULT NULL::uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare invite private.invites;
begin
  invite_id := coalesce(invite_id,
    (select i.id from private.invites i where i.digest = show_invite.digest));
  select * into invite from private.invites i where i.id = show_invite.invite_id;
  if invite.id is null then return null; end if;
  if not private.has_address(private.caller_id(), invite.email) then
    return json_build_object('is_for_caller', false);
  end if;
  return json_build_object(
    'is_for_caller', true,
    'status', private.invite_status(invite),
    'role', invite.role,
    'organization', (select o.name from public.organizations o where o.id = invite.organization_id));
end
$function$;

ALTER FUNCTION "private"."show_invite"(bytea, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.signing_secrets(organization text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select json_build_object(
    'organization_id', o.id,
    'is_public', o.visibility = 'public',
    'slugs', (select json_agg(l.slug) from private.organization_slugs l where l.organization_id = o.id),
    'secrets', coalesce((select json_agg(json_build_object(
      'id', s.id,
      'encrypted', s.encrypted_secret,
      'last_four', s.last_four) order by s.created_at desc, s.id)
      from private.identify_secrets s where s.organization_id = o.id), '[]'))
    from public.organizations o where o.id = private.organization_named(organization));
end
$function$;

ALTER FUNCTION "private"."signing_secrets"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.similar_pairs(organization_id uuid, newest integer)
 RETURNS TABLE(one_id uuid, other_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 100
 SET search_path TO 'pg_temp'
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

CREATE OR REPLACE FUNCTION private.similar_submissions(organization_id uuid, title text, description text)
 RETURNS TABLE(submission_id uuid, similarity real)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 50
 SET search_path TO 'pg_temp'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_memoize TO 'off'
AS $function$
declare
  wanted constant text := private.plain_text(title);
  -- Quotes and hyphens are removed, because they have a meaning in a query.
  p constant private.parsed_search := private.parse_search(organization_id,
    regexp_replace(title, '["“”„«»-]+', ' ', 'g'));
  scope constant private.search_scope := private.search_scope(organization_id);
  candidates private.search_hit[];
begin
  if p.words is null then return; end if;
  select m.hits into candidates from private.partial_matches(scope, p, 50) m;
  return query
    select s.submission_id,
      greatest(extensions.similarity(s.title, wanted),
        0.8 * extensions.strict_word_similarity(wanted, s.content),
        case when description is not null
          then 0.9 * extensions.similarity(s.content, wanted || ' ' || private.plain_text(description))
          end)::real as score
    from unnest(candidates) c join private.submission_search s on s.submission_id = c.submission_id
    order by score desc;
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

CREATE OR REPLACE FUNCTION private.some_matches(scope private.search_scope, query tsquery, max_matches integer, few uuid[] DEFAULT NULL::uuid[], max_read integer DEFAULT NULL::integer)
 RETURNS TABLE(submission_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  if few is not null then
    return query
      select c.submission_id from unnest(few) l (id)
        cross join lateral (select c.submission_id, c.lexemes from private.submission_search c
          where c.submission_id = l.id offset 0) c
      where c.lexemes operator(pg_catalog.@@) query limit max_matches;
    return;
  end if;
  return query
    select c.submission_id
    from (select c.submission_id from private.submission_search c
        where c.lexemes operator(pg_catalog.@@) query offset 0 limit max_read) c
      cross join lateral (select s as whole from public.submissions s where s.id = c.submission_id offset 0) s
    where private.in_search_scope(scope, s.whole) limit max_matches;
end
$function$;

ALTER FUNCTION "private"."some_matches"(private.search_scope, tsquery, integer, uuid[], integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.start_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  if private.is_importing() then return null; end if;
  perform set_config('feedback.internal_write', 'on', true);
  insert into public.votes (organization_id, submission_id, user_id, created_at)
  select new.organization_id, new.id, new.author_id, new.created_at where new.vote_count = 1;
  insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
  values (new.organization_id, new.id, new.author_id, 'author', new.created_at);
  perform set_config('feedback.internal_write', 'off', true);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.start_survey(survey_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_survey(survey_id, null);
  return private.record_survey_start(survey_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.start_survey_by_reading(survey_id uuid, locale text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
 SET lock_timeout TO '1ms'
AS $function$
declare
  survey public.surveys;
  person uuid[];
begin
  select * into survey from public.surveys s where s.id = start_survey_by_reading.survey_id;
  person := private.same_person(private.caller_id(), survey.organization_id);
  if survey.status = 'published' and private.targets_locale(survey, locale)
    and not private.is_admin(survey.organization_id, '')
    and not exists (select from private.survey_starts s where s.survey_id = survey.id and s.user_id = any (person))
    and not exists (select from public.survey_responses r
      where r.survey_id = survey.id and r.user_id = any (person))
    and private.is_in_audience(survey, private.caller_id()) then
    perform private.record_survey_start(survey.id, by_reading => true);
  end if;
exception when others then
  return;
end
$function$;

ALTER FUNCTION "private"."start_survey_by_reading"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.stop_account_mail(mailbox_hash text, account_id uuid, is_stopped boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare person auth.users;
begin
  if not is_stopped then
    delete from private.stopped_account_mail s where s.address_hash = mailbox_hash;
    return;
  end if;
  insert into private.stopped_account_mail (address_hash) values (mailbox_hash)
  on conflict (address_hash) do update set stopped_at = now();
  select * into person from auth.users u where u.id = account_id;
  if person.email_confirmed_at is null
    and private.address_hash(private.mailbox(person.email)) = mailbox_hash then
    perform private.reject_request(account_id, false);
  elsif private.address_hash(private.mailbox(nullif(person.email_change, ''))) = mailbox_hash then
    perform private.reject_request(account_id, true);
  end if;
end
$function$;

ALTER FUNCTION "private"."stop_account_mail"(text, uuid, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.submission_kinds(organization_id uuid, first_day date, last_day date)
 RETURNS TABLE(status text, category_id uuid, source text, total bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  own_id uuid := submission_kinds.organization_id;
  -- Complete months from the month rows, the remainder from the day rows.
  months_end date := date_trunc('month', last_day + 1);
  months_start date := least(date_trunc('month', first_day - 1) + interval '1 month', months_end);
begin
  if months_start < first_day then months_start := first_day; months_end := first_day; end if;
  return query
    select s.status, s.category_id, s.source, sum(s.total) from (
      select * from private.submissions_of(own_id, 'day', first_day, months_start - 1)
      union all
      select * from private.submissions_of(own_id, 'month', months_start, months_end - 1)
      union all
      select * from private.submissions_of(own_id, 'day', months_end, last_day)) s
    group by 1, 2, 3 having sum(s.total) > 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.submission_lexemes(organization_id uuid, title text, description text, OUT title_lexemes text[], OUT lexemes text[], OUT known text[])
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  board constant text := left(organization_id::text, 8);
  title_words constant text[] := coalesce(private.split_words(title), '{}');
  has_unspaced constant boolean := title || description ~ '[\u0e00-\uffff]';
begin
  with tokens as materialized (
    select t.n, t.word, t.n <= cardinality(title_words) as in_title, p.plain,
      has_unspaced and private.is_unspaced(t.word) as is_unspaced
    from unnest(title_words || private.split_words(description)) with ordinality t (word, n)
      -- Calling plain_word for each word would take longer than everything else.
      cross join lateral (select case when octet_length(t.word) = char_length(t.word) then t.word
        else private.plain_word(t.word) end as plain offset 0) p
    where p.plain <> ''
  ), words as materialized (
    select t.word, t.plain, bool_or(t.in_title) as in_title
    from tokens t where not t.is_unspaced group by 1, 2
  ), languages as materialized (
    -- The languages that contain most of the small words, or all languages.
    select l.stemmer from (
      select s.stemmer, rank() over (order by count(w.word) desc) as n
      from unnest(private.stemmers()) s (stemmer)
        left join words w on char_length(w.word) < 5 and ts_lexize(s.stemmer, w.word) = '{}' group by 1) l
    where l.n = 1
  ), made as (
    select w.in_title, w.plain as lexeme from words w
    union all
    select w.in_title, '^' || left(w.plain, n)
    from words w, generate_series(1, least(char_length(w.plain), 13) - 1) n
    union all
    select w.in_title, '$' || right(f.form, n)
    from words w cross join lateral (
        select private.plain_word((ts_lexize('german_stem', w.word))[1]) union select w.plain) f (form)
      cross join lateral generate_series(4, least(char_length(f.form) - 3, 20)) n
    where char_length(w.plain) > 7 and f.form is not null
      and exists (select from languages l where l.stemmer = 'german_stem'::regdictionary)
    union all
    -- v2 and mp3 are found by their numbers.
    select w.in_title, d.digits[1] from words w, regexp_matches(w.plain, '\d+', 'g') d (digits)
    where w.plain ~ '\d' and w.plain ~ '\D'
    union all
    select w.in_title, '~' || case when octet_length(f.stem) = char_length(f.stem) then f.stem
      else private.plain_word(f.stem) end
    from words w cross join languages l cross join lateral (select (ts_lexize(l.stemmer, w.word))[1]
      union all select (ts_lexize(l.stemmer, w.plain))[1] where w.plain <> w.word) f (stem)
    where f.stem <> ''
    union all
    select t.in_title, p.lexeme from tokens t
      cross join lateral (select c.letter, lead(c.letter) over (order by c.n) as next, c.n
        from unnest(string_to_array(t.plain, null)) with ordinality c (letter, n)) c
      cross join lateral (values (c.letter || coalesce(c.next, '')), ('^' || c.letter)) p (lexeme)
    where has_unspaced and t.is_unspaced and (c.next is not null or c.n = 1 or p.lexeme <> c.letter)
    union all
    select t.in_title, '+' || right(t.plain, 30) || left(t.next, 30) from (
      select t.*, lead(t.plain) over (partition by t.in_title order by t.n) as next from tokens t) t
    where t.next is not null
  )
  select coalesce(array_agg(board || '=' || m.lexeme) filter (where m.in_title), '{}'),
    coalesce(array_agg(board || m.lexeme), '{}'),
    array(select w.plain from words w where w.plain ~ '^\D{4,30}$')
  into title_lexemes, lexemes, known from made m;
end
$function$;

ALTER FUNCTION "private"."submission_lexemes"(uuid, text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.submission_record(submission public.submissions)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return private.person_record(submission.author_id) || jsonb_build_object(
    'kind', 'submission',
    'id', coalesce(private.exported_id('submission', submission.id), submission.id::text),
    'title', submission.title,
    'description', submission.description,
    'type', submission.type,
    'status', submission.status,
    'category', (select c.slug from public.categories c where c.id = submission.category_id),
    'tags', array(select t.slug from public.submission_tags st join public.tags t on t.id = st.tag_id
      where st.submission_id = submission.id order by t.slug),
    'source', submission.source,
    'tracker_issue_url', submission.tracker_issue_url,
    'moderation_state', submission.moderation_state,
    'merged_into_id', coalesce(private.exported_id('submission', submission.merged_into_id),
      submission.merged_into_id::text),
    'vote_count', submission.vote_count,
    'comment_count', submission.comment_count,
    'created_at', submission.created_at,
    'updated_at', submission.updated_at,
    'author_votes', exists (select from public.votes v
      where v.submission_id = submission.id and v.user_id = submission.author_id
        and v.created_at = submission.created_at),
    'follow', exists (select from public.follows f
      where f.submission_id = submission.id and f.user_id = submission.author_id));
end
$function$;

CREATE OR REPLACE FUNCTION private.submission_voters(submission_id uuid, max_rows integer, skipped integer)
 RETURNS TABLE(user_id uuid, name text, email text, voted_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.audit_read('submission.read_voters', 'submission', s.id,
    private.require_admin(s.organization_id, private.voters_scope()))
  from public.submissions s where s.id = submission_voters.submission_id;
  return query
    select p.id, coalesce(p.name, 'Anonymous'), p.email, v.created_at
    from (
      select v.user_id, v.created_at from public.votes v
        where v.submission_id = submission_voters.submission_id
      order by v.created_at desc, v.user_id limit max_rows offset skipped) v
        join public.profiles p on p.id = v.user_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.submit_survey_response(survey_id uuid, answers jsonb, locale text, sentiment jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare response record;
begin
  perform private.require_survey(survey_id, null);
  perform set_config('feedback.sentiment', coalesce(sentiment::text, ''), true);
  insert into public.survey_responses as r (survey_id, answers, locale)
  values (submit_survey_response.survey_id, submit_survey_response.answers, submit_survey_response.locale)
  returning r.id, r.submitted_at into response;
  perform set_config('feedback.sentiment', '', true);
  return json_build_object(
    'response_id', response.id,
    'survey_id', survey_id,
    'submitted_at', response.submitted_at);
-- Two concurrent responses: the unique index rejects one.
exception when unique_violation then
  perform private.raise_error('ALREADY_RESPONDED', 'You have already answered this survey.');
end
$function$;

CREATE OR REPLACE FUNCTION private.sum_activity(batch integer DEFAULT 20000)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  -- One at a time: only the schedule writes the day tables.
  if not pg_try_advisory_xact_lock(hashtextextended('private.sum_activity', 0)) then return 0; end if;
  -- If the organization is being deleted, its rows are deleted with it.
  perform from private.activity_zones z order by z.organization_id for key share;
  perform private.recount_days(z.organization_id)
  from private.activity_zones z join public.organizations o on o.id = z.organization_id
    where o.time_zone <> z.time_zone;
  insert into private.activity_zones (organization_id, time_zone)
  select o.id, o.time_zone from public.organizations o
  where exists (select from private.person_activity a where a.organization_id = o.id)
    or exists (select from private.submission_activity a where a.organization_id = o.id)
  on conflict do nothing;
  return private.sum_people(batch) + private.sum_submissions(batch);
end
$function$;

CREATE OR REPLACE FUNCTION private.sum_people(batch integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare entries private.person_activity[];
begin
  with taken as (
    delete from private.person_activity a where a.ctid = any (array(
      select e.ctid from private.person_activity e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning a
  ) select array_agg(t.a) into entries from taken t;
  if entries is null then return 0; end if;
  with days as materialized (
    select * from private.person_day_changes(entries)
  ), written as (
    insert into private.person_days as p
      (organization_id, user_id, day, previous_day, submissions, votes, comments)
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d
      where d.sign = 1
    except
    select d.organization_id, d.user_id, d.day, d.previous_day, d.submissions, d.votes, d.comments from days d
      where d.sign = -1
    on conflict on constraint person_days_pkey do update set
      previous_day = excluded.previous_day, submissions = excluded.submissions, votes = excluded.votes,
        comments = excluded.comments
  ), gone as (
    delete from private.person_days p using (
      select d.organization_id, d.user_id, d.day from days d group by 1, 2, 3 having max(d.sign) = -1) g
    where (p.organization_id, p.user_id, p.day) = (g.organization_id, g.user_id, g.day)
  )
  insert into private.day_activity as a
    (organization_id, day, previous_day, people, submissions, votes, comments)
  select d.organization_id, d.day, d.previous_day, sum(d.sign), sum(d.sign * d.submissions),
    sum(d.sign * d.votes), sum(d.sign * d.comments)
  from days d group by 1, 2, 3
  having sum(d.sign) <> 0 or sum(d.sign * d.submissions) <> 0 or sum(d.sign * d.votes) <> 0
    or sum(d.sign * d.comments) <> 0
  on conflict on constraint day_activity_pkey do update set people = a.people + excluded.people,
    submissions = a.submissions + excluded.submissions, votes = a.votes + excluded.votes,
      comments = a.comments + excluded.comments;
  return cardinality(entries);
end
$function$;

CREATE OR REPLACE FUNCTION private.sum_submissions(batch integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare summed integer;
begin
  with entries as (
    delete from private.submission_activity a where a.ctid = any (array(
      select e.ctid from private.submission_activity e join private.activity_zones z using (organization_id)
        limit batch
      for update of e skip locked))
    returning *
  ), summing as (
    insert into private.submission_days as d (organization_id, span, day, status, category_id, source, total)
    select e.organization_id, span, date_trunc(span, e.slot at time zone z.time_zone)::date, e.status,
      e.category_id, e.source, sum(e.total)
    from entries e join private.activity_zones z using (organization_id)
      cross join unnest(array['day', 'month']) span
    group by 1, 2, 3, 4, 5, 6 having sum(e.total) <> 0
    on conflict on constraint one_row_a_span_and_kind do update set total = d.total + excluded.total
  ) select count(*) into summed from entries;
  return summed;
end
$function$;

CREATE OR REPLACE FUNCTION private.sum_subtotals()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid; authors uuid[]; tags uuid[]; summed integer;
begin
  select o.id into own_id from public.organizations o
  where exists (select from private.submission_subtotals n where n.organization_id = o.id and not n.is_sum)
  order by random() limit 1 for no key update skip locked;
  select array_agg(distinct n.author_id), array_agg(distinct n.tag_id) into authors, tags
  from (select n.author_id, n.tag_id from private.submission_subtotals n
    where n.organization_id = own_id and not n.is_sum limit 5000) n;
  with replaced as (
    delete from private.submission_subtotals n
    where n.organization_id = own_id and (n.author_id = any (authors) or n.tag_id = any (tags))
    returning n.*
  )
  insert into private.submission_subtotals
  select r.organization_id, r.author_id, r.tag_id, r.is_public, r.status, r.type, r.category_id,
    sum(r.total), true
  from replaced r group by 1, 2, 3, 4, 5, 6, 7 having sum(r.total) <> 0;
  get diagnostics summed = row_count;
  return summed;
end
$function$;

ALTER FUNCTION "private"."sum_subtotals"() OWNER TO "postgres";

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

ALTER FUNCTION "private"."suppress_address"(uuid, uuid, text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.survey_analytics(survey_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_survey(survey_id, 'analytics:read');
  return (
    select json_build_object(
      'response_count', r.response_count,
      'start_count', r.start_count,
      'completion_rate', r.completion_rate,
      'timed_count', r.timed_count,
      'avg_completion_time', r.avg_completion_time,
      'nps_count', r.nps_count,
      'nps_score', r.nps_score,
      'sentiment', json_build_object(
        'overall', r.sentiment_overall,
        'scored_count', r.scored_count,
        'positive_count', r.positive_count,
        'neutral_count', r.neutral_count,
        'negative_count', r.negative_count),
      'breakdown_by_question', coalesce((
        select json_agg(json_build_object(
          'question_id', b.question_id,
          'question_text', b.question_text,
          'type', b.type,
          'answer_count', b.answer_count,
          'responses', b.responses,
          'counts', b.counts) order by b.question_position)
        from (
          select q.question_id, q.question_position, q.question_text, q.type,
            coalesce(sum(q.total) filter (where q.value = ''), sum(q.total)) as answer_count,
            coalesce(json_object_agg(q.value, q.total order by q.value_position) filter (where q.value <> ''),
              '{}') as responses,
            coalesce(json_agg(json_build_object('value', q.value, 'count', q.total) order by q.value_position)
              filter (where q.value <> ''), '[]') as counts
          from public.survey_question_results q where q.survey_id = r.survey_id group by 1, 2, 3, 4) b),
            '[]'))
    from public.survey_results r where r.survey_id = survey_analytics.survey_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.survey_breakdown(survey_id uuid)
 RETURNS TABLE(question_id uuid, question_position integer, type text, question_text text, value_position integer, value text, total bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 50
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select q.id, q.position, q.type, q.text, v.position, v.value,
      coalesce((select sum(c.total) from private.survey_answer_counts c
        where c.question_id = q.id and c.value = v.value), 0)::bigint
    from public.surveys s
    join public.survey_questions q on q.survey_id = s.id
    cross join lateral (
      select n, n::text from generate_series(private.lowest_answer(q.type), coalesce(q.scale, 10)) n
      where private.answer_kind(q.type) = 'number'
      union all
      select o.position, o.text from public.survey_options o where o.question_id = q.id
      union all
      select null, '' where private.answer_kind(q.type) = 'text' or q.multiple) v (position, value)
    where s.id = survey_breakdown.survey_id and private.can_read_analytics(s.organization_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.survey_count_discrepancies()
 RETURNS TABLE(subject text, id uuid, stored bigint, truth bigint)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
  select 'surveys.' || n.name, t.survey_id, n.stored, n.truth
  from private.survey_actual_counts t
  cross join lateral (
    select coalesce(sum(c.responses), 0) as responses, coalesce(sum(c.starts), 0) as starts,
      coalesce(sum(c.timed), 0) as timed,
      coalesce(sum(c.milliseconds), 0) as milliseconds, coalesce(sum(c.positive), 0) as positive,
        coalesce(sum(c.neutral), 0) as neutral,
      coalesce(sum(c.negative), 0) as negative, coalesce(sum(c.score), 0) as score
    from private.survey_counts c where c.survey_id = t.survey_id) c
  cross join lateral (values
    ('responses', c.responses, t.responses), ('starts', c.starts, t.starts), ('timed', c.timed, t.timed),
    ('milliseconds', c.milliseconds, t.milliseconds), ('positive', c.positive, t.positive),
      ('neutral', c.neutral, t.neutral),
    ('negative', c.negative, t.negative), ('score', 1000 * c.score, 1000 * t.score)) n (name, stored, truth)
  where n.stored <> n.truth
  union all
  select 'survey_answer_counts', coalesce(c.question_id, t.question_id), coalesce(c.total, 0),
    coalesce(t.total, 0)
  from (select k.question_id, k.value, sum(k.total) as total from private.survey_answer_counts k
    group by 1, 2) c
  full join (
    select a.question_id, a.value, count(*) as total
    from public.survey_responses r cross join lateral private.counted_answers(r.answers) a group by 1, 2) t
    on (c.question_id, c.value) = (t.question_id, t.value)
  where coalesce(c.total, 0) <> coalesce(t.total, 0);
$function$;

CREATE OR REPLACE FUNCTION private.survey_figures(survey_ids uuid[])
 RETURNS TABLE(survey_id uuid, response_count bigint, start_count bigint, completion_rate numeric, timed_count bigint, avg_completion_time numeric)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 50
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select asked.id, coalesce(sum(c.responses), 0)::bigint, coalesce(sum(c.responses + c.starts), 0)::bigint,
      private.quotient(sum(c.responses), sum(c.responses + c.starts), 4),
      coalesce(sum(c.timed), 0)::bigint, private.quotient(sum(c.milliseconds) / 1000, sum(c.timed), 1)
    from unnest(survey_ids) asked (id) left join private.survey_counts c on c.survey_id = asked.id
    group by asked.id;
end
$function$;

ALTER FUNCTION "private"."survey_figures"(uuid[]) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.survey_page(survey_id uuid, locale text, response_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_survey(survey_id, null);
  return private.open_survey_page(survey_id, locale, response_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.survey_record(survey public.surveys)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
declare asked jsonb := private.exported_questions(survey.id);
begin
  return jsonb_build_object(
    'kind', 'survey',
    'id', coalesce(private.exported_id('survey', survey.id), survey.id::text),
    'title', survey.title,
    'description', survey.description,
    'status', survey.status,
    'questions', coalesce((
      select jsonb_agg(jsonb_build_object(
        'id', asked -> q.id::text,
        'type', q.type,
        'text', q.text,
        'required', q.required,
        'multiple', q.multiple,
        'scale', q.scale,
        'options', (select jsonb_agg(o.text order by o.position) from public.survey_options o
          where o.question_id = q.id)) order by q.position)
      from public.survey_questions q where q.survey_id = survey.id), '[]'),
    'allow_multiple_responses', survey.allow_multiple_responses,
    'show_branding', survey.show_branding,
    'redirect_url', survey.redirect_url,
    'audience', survey.audience,
    'audience_submission_id', coalesce(private.exported_id('submission', survey.audience_submission_id),
      survey.audience_submission_id::text),
    'locales', survey.locales,
    'closes_at', survey.closes_at,
    'version_of', coalesce(private.exported_id('survey', survey.version_of), survey.version_of::text),
    'published_at', survey.published_at,
    'closed_at', survey.closed_at,
    'created_at', survey.created_at,
    'updated_at', survey.updated_at);
end
$function$;

CREATE OR REPLACE FUNCTION private.survey_sentiment(survey_id uuid)
 RETURNS TABLE(overall numeric, scored_count bigint, positive_count bigint, neutral_count bigint, negative_count bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 1
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select private.quotient(sum(c.score), sum(c.positive + c.neutral + c.negative), 3),
      coalesce(sum(c.positive + c.neutral + c.negative), 0)::bigint, coalesce(sum(c.positive), 0)::bigint,
      coalesce(sum(c.neutral), 0)::bigint, coalesce(sum(c.negative), 0)::bigint
    from public.surveys s left join private.survey_counts c on c.survey_id = s.id
    where s.id = survey_sentiment.survey_id and private.can_read_analytics(s.organization_id)
    group by s.id;
end
$function$;

ALTER FUNCTION "private"."survey_sentiment"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.survey_targeting(survey_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.require_admin((select s.organization_id from public.surveys s
    where s.id = survey_targeting.survey_id), 'surveys:read');
  return (
    select json_build_object(
      'audience', s.audience,
      'submission_id', s.audience_submission_id,
      'locales', s.locales)
    from public.surveys s where s.id = survey_targeting.survey_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.sync_comment_is_public()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.is_public := new.moderation_state = 'approved'
    and coalesce((select s.is_public from public.submissions s where s.id = new.submission_id), false);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.sync_is_public()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: the organization may be private
begin
  new.is_public := new.moderation_state = 'approved'
    and exists (select from public.organizations where id = new.organization_id and visibility = 'public');
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.sync_language_of_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  update auth.users u
  set raw_user_meta_data = coalesce(u.raw_user_meta_data, '{}') - 'locale'
    || case when new.locale is null then '{}' else jsonb_build_object('locale', new.locale) end
  where u.id = new.auth_user_id;
  return null;
end
$function$;

ALTER FUNCTION "private"."sync_language_of_user"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.sync_profile_of_user()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  data jsonb := new.raw_user_meta_data;
  is_first boolean := tg_op = 'UPDATE' and new.email_confirmed_at is not null
    and (to_jsonb(old) ->> 'email_confirmed_at') is null;
  is_given boolean := is_first
    and coalesce(nullif(current_setting('feedback.given_account', true), '')::jsonb ->> 'id' = new.id::text,
      false);
begin
  if new.deleted_at is not null then
    update public.profiles set auth_user_id = null where auth_user_id = new.id;
    return null;
  end if;
  insert into public.profiles as p (id, kind, auth_user_id, email, name, avatar_url, is_anonymous)
  values (
    new.id, 'user', new.id, case when new.email_confirmed_at is not null then new.email end,
    coalesce(private.given_name(data -> 'name'), private.given_name(data -> 'full_name'),
      private.given_name(data -> 'user_name'), private.given_name(data -> 'preferred_username')),
    coalesce(private.given_picture(data -> 'avatar_url'), private.given_picture(data -> 'picture')),
    new.is_anonymous
  )
  on conflict (id) do update set email = excluded.email, is_anonymous = excluded.is_anonymous,
    -- Values from before the first confirmation may have been set by somebody else.
    name = case when is_given then excluded.name when is_first then coalesce(excluded.name, p.name)
      else p.name end,
    avatar_url = case when is_given then excluded.avatar_url
      when is_first then coalesce(excluded.avatar_url, p.avatar_url) else p.avatar_url end,
    locale = case when is_given then null else p.locale end
  where p.auth_user_id is not null;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.tag_condition(scope private.search_scope)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return coalesce(format(' and s.id in (select m.submission_id from public.submission_tags m
    where m.organization_id = %L and m.tag_id = ', scope.organization_id) || quote_literal(scope.tag_id) || ')',
    '');
end
$function$;

ALTER FUNCTION "private"."tag_condition"(private.search_scope) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.tags_of(submission_ids uuid[])
 RETURNS TABLE(submission_id uuid, slugs json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 50
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select st.submission_id, json_agg(t.slug order by t.slug)
    from public.submission_tags st join public.tags t on t.id = st.tag_id
    where st.submission_id = any (submission_ids) group by 1;
end
$function$;

CREATE OR REPLACE FUNCTION private.take_removed_logos(deleted text[])
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  delete from private.removed_logos r where r.path = any (deleted);
  return query
    -- A path whose deletion fails is returned again later, after the others.
    update private.removed_logos r set due_at = now() + interval '10 minutes'
    where r.path = any (array(select w.path from private.removed_logos w where w.due_at <= now()
      order by w.due_at, w.path limit 20 for update skip locked))
    returning r.path;
end
$function$;

ALTER FUNCTION "private"."take_removed_logos"(text[]) OWNER TO "postgres";

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
    perform private.raise_error('CONFLICT',
      'Another organization has or had this slug. Choose a different one.', 'slug');
  elsif (select count(*) from private.organization_slugs s where s.organization_id = new.id) > 10 then
    perform private.raise_error('CONFLICT',
      'An organization can have at most 10 slugs, including former ones. Use one of them again.', 'slug');
  end if;
  return new;
end
$function$;

ALTER FUNCTION "private"."take_slug"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.take_unconfirmed_mail(organization public.organizations)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if organization.max_unconfirmed_mails is null then return true; end if;
  -- A dispatcher counts mails of several organizations in any order: waiting for a lock could deadlock.
  if not pg_try_advisory_xact_lock(hashtextextended('unconfirmed mails of ' || organization.id, 0)) then
    return null;
  end if;
  insert into private.mail_budgets as b (organization_id, day, used)
  select organization.id, private.budget_day(), 1 where organization.max_unconfirmed_mails > 0
  on conflict on constraint mail_budgets_pkey do update set day = excluded.day,
    used = case when excluded.day > b.day then 1 else b.used + 1 end
  where excluded.day > b.day or b.used < organization.max_unconfirmed_mails;
  return found;
end
$function$;

ALTER FUNCTION "private"."take_unconfirmed_mail"(public.organizations) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.text_array(value jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return case when jsonb_typeof(value) = 'array' then array(select jsonb_array_elements_text(value)) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.token_refusal()
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare claims jsonb := auth.jwt();
begin
  -- The user let another application sign in with this project; that application may not act here.
  if claims ? 'client_id' then return 'client'; end if;
  if not coalesce(concat_ws(' ', claims ->> 'sub', claims ->> 'session_id')
    ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}( [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$', false)
    or claims ->> 'sub' is null then return 'ended'; end if;
  return private.session_refusal((claims ->> 'sub')::uuid, (claims ->> 'session_id')::uuid, claims ->> 'aal');
end
$function$;

ALTER FUNCTION "private"."token_refusal"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.top_movers(organization_id uuid, starts timestamp with time zone, ends timestamp with time zone, votes_within bigint, hidden_too boolean)
 RETURNS TABLE(submission_id uuid, votes bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  own_id uuid := top_movers.organization_id;
  top_voted uuid[]; candidates uuid[]; tenth bigint; to_read bigint;
begin
  -- A submission cannot gain more votes in a range than it has. Take the gain of the tenth of the most voted
  -- as a lower bound: only submissions with more votes than that can beat it.
  top_voted := array(select s.id from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too)
      order by s.vote_count desc, s.id desc limit 100);
  tenth := coalesce((select g.votes from private.votes_gained(top_voted, starts, ends) g
    order by g.votes desc offset 9 limit 1), 0);
  select array_agg(c.id), sum(c.vote_count) into candidates, to_read
  from (select s.id, s.vote_count from public.submissions s
    where s.organization_id = own_id and s.merged_into_id is null and (s.is_public or hidden_too)
      and s.vote_count > tenth
    order by s.vote_count desc limit 10000) c;
  if coalesce(cardinality(candidates), 0) < 10000 and coalesce(to_read, 0) < votes_within then
    candidates := array(select unnest(candidates) union select unnest(top_voted));
    return query
      select g.submission_id, g.votes from private.votes_gained(candidates, starts, ends) g
        join public.submissions s on s.id = g.submission_id
      where g.votes > 0 order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  else
    -- A short range has fewer votes than the candidates have.
    return query
      select s.id, g.votes from (
        select v.submission_id, count(*) as votes from public.votes v
        where v.organization_id = own_id and v.created_at >= starts and v.created_at < ends
          group by 1 having count(*) >= tenth) g
      join public.submissions s on s.id = g.submission_id
      where s.merged_into_id is null and (s.is_public or hidden_too)
      order by g.votes desc, s.vote_count desc, s.id desc limit 10;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.touch_updated_at()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  new.updated_at := now();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.track_comments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: no client may write counters
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, comments)
  select c.organization_id, private.quarter_hour(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  perform private.update_first_replies(array(select c.submission_id from changed c where c.is_official));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.track_moved_submission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: no client may write counters
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total) values
    (old.organization_id, private.quarter_hour(old.created_at), old.status, old.category_id, old.source, -1),
    (new.organization_id, private.quarter_hour(new.created_at), new.status, new.category_id, new.source, 1);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.track_reassigned()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: no client may write counters
declare column_name text := case tg_table_name when 'votes' then 'user_id' else 'author_id' end;
begin
  insert into private.person_activity (organization_id, slot, user_id, submissions, votes, comments)
  select new.organization_id, private.quarter_hour(m.created_at), m.user_id::uuid,
    case tg_table_name when 'submissions' then m.change else 0 end,
    case tg_table_name when 'votes' then m.change else 0 end,
    case tg_table_name when 'comments' then m.change else 0 end
  from (values (to_jsonb(old) ->> column_name, old.created_at, -1),
    (to_jsonb(new) ->> column_name, new.created_at, 1)) m (user_id, created_at, change);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.track_replies()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: no client may write counters
declare key text := case tg_table_name when 'submissions' then 'id' else 'submission_id' end;
begin
  perform private.update_first_replies(array[to_jsonb(old) ->> key, to_jsonb(new) ->> key]::uuid[]);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.track_submissions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.submission_activity (organization_id, slot, status, category_id, source, total)
  select c.organization_id, private.quarter_hour(c.created_at), c.status, c.category_id, c.source,
    sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3, 4, 5;
  insert into private.person_activity (organization_id, slot, user_id, submissions)
  select c.organization_id, private.quarter_hour(c.created_at), c.author_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.track_votes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$ -- definer: no client may write counters
declare sign integer := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into private.person_activity (organization_id, slot, user_id, votes)
  select c.organization_id, private.quarter_hour(c.created_at), c.user_id, sign * count(*)
  from changed c where exists (select from public.organizations o where o.id = c.organization_id)
  group by 1, 2, 3;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.trim_deliveries(max_rows integer DEFAULT 20000)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare at uuid := (select c.trimmed from private.webhook_cursor c); seen uuid; trimmed integer := 0; here
  integer;
begin
  -- Pending deliveries of disabled endpoints fail.
  update private.webhook_deliveries d set status = 'failed', finished_at = now(),
    attempts = private.logged(d.attempts,
      private.logged_attempt(d.attempt_count, null, null, null, null, 'The webhook was disabled.'))
  where d.ctid = any (array(
    select o.ctid from private.webhooks w join private.webhook_deliveries o on o.webhook_id = w.id
      and o.status = 'pending'
    where not w.is_enabled and w.updated_at < now() - interval '1 minute'
      limit max_rows for update of o skip locked));
  -- A few webhooks at a time, starting over after the last.
  for seen in select w.id from private.webhooks w where w.id > at order by w.id limit 200 loop
    delete from private.webhook_deliveries d where d.ctid = any (array(
      select o.ctid from private.webhook_deliveries o
        where o.webhook_id = seen and o.status in ('delivered', 'failed')
      order by o.created_at desc, o.event_id offset 100 limit max_rows - trimmed))
      -- Skip deliveries that were queued again meanwhile.
      and d.status in ('delivered', 'failed');
    get diagnostics here = row_count;
    trimmed := trimmed + here;
    exit when trimmed >= max_rows;
    at := seen;
  end loop;
  if trimmed < max_rows and not exists (select from private.webhooks w where w.id > at) then
    at := '00000000-0000-0000-0000-000000000000';
  end if;
  update private.webhook_cursor c set trimmed = at where c.trimmed <> at;
  return trimmed;
end
$function$;

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

CREATE OR REPLACE FUNCTION private.trim_rows()
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare expired record; deleted integer; trimmed jsonb := '{}';
begin
  for expired in
    select * from (values
      ('private.idempotency_keys', 'created_at', private.retention('idempotency_keys')),
      ('private.outbox', 'created_at', private.retention('events')),
      ('private.invites', 'expires_at', private.retention('expired_invites')),
      ('private.mails', 'finished_at', private.retention('mails')),
      ('private.stopped_account_mail', 'stopped_at', private.retention('stopped_account_mail')),
      ('private.account_undos', 'created_at', private.retention('account_undos')),
      ('private.identify_sessions', 'expires_at', '0'),
      ('private.identify_tokens', 'expires_at', '0'),
      ('private.agent_streams', 'expires_at', '0'),
      ('private.agent_subscriptions', 'expires_at', private.retention('expired_subscriptions')),
      ('private.agent_audit', 'created_at', private.retention('agent_calls')),
      -- Windows without a rule of their own (calls_a_day of agents) last at most a day.
      ('private.rate_counters', $sql$ started_at + greatest(private.retention('rate_counters'), coalesce((
        select make_interval(secs => r.window_seconds) from private.rate_limit_rules r
        where r.name = o.rule), interval '1 day')) $sql$, '0')
    ) e (relation, ended_at, age)
  loop
    -- Locks them first: some may be renewed concurrently.
    execute format('delete from %1$s where ctid = any (array(select o.ctid from %1$s o
      where %2$s < now() - $1 limit 5000 for update skip locked))', expired.relation, expired.ended_at)
    using expired.age;
    get diagnostics deleted = row_count;
    trimmed := trimmed || jsonb_build_object(split_part(expired.relation, '.', 2), deleted);
  end loop;
  return trimmed;
end
$function$;

ALTER FUNCTION "private"."trim_rows"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.undo_account_change(link_hash bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
declare
  undo private.account_undos;
  other auth.users;
  since timestamptz;
begin
  select o.* into undo from private.account_undos o where o.link_hash = undo_account_change.link_hash
    and o.undone_at is null and o.created_at > now() - private.retention('account_undos');
  -- Calls for one account are serialized, so that the older link wins.
  perform from auth.users u where u.id = undo.user_id and u.deleted_at is null for update;
  if not found or not exists (select from private.account_undos o
    where o.link_hash = undo_account_change.link_hash and o.undone_at is null) then return null; end if;
  select u.* into other from auth.users u
  where u.email = undo.email and u.id <> undo.user_id and not u.is_sso_user;
  if other.email_confirmed_at is not null then return 'taken'; end if;
  perform private.reject_request(other.id, false);
  delete from private.account_undos o where o.user_id = undo.user_id and o.created_at >= undo.created_at
    and o.link_hash <> undo.link_hash;
  -- Somebody who takes over an account first adds a way to sign in again.
  since := undo.created_at - interval '1 day';
  delete from auth.sessions s where s.user_id = undo.user_id;
  delete from auth.flow_state f where f.user_id = undo.user_id;
  delete from auth.one_time_tokens t where t.user_id = undo.user_id;
  delete from auth.mfa_factors f where f.user_id = undo.user_id and f.created_at > since;
  if to_regclass('auth.webauthn_credentials') is not null then
    execute 'delete from auth.webauthn_credentials where user_id = $1 and created_at > $2'
      using undo.user_id, since;
  end if;
  delete from auth.identities i
  where i.user_id = undo.user_id and i.provider <> 'email' and i.created_at > since;
  update auth.identities i set identity_data = i.identity_data
    || jsonb_build_object('email', undo.email, 'email_verified', true)
  where i.user_id = undo.user_id and i.provider = 'email';
  update auth.users u set email = undo.email, encrypted_password = '', confirmation_token = '',
    recovery_token = '', reauthentication_token = '', email_change = '', email_change_token_new = '',
    email_change_token_current = '', email_change_confirm_status = 0, phone_change = '',
    phone_change_token = '',
    phone = case when u.phone_confirmed_at > since then null else u.phone end,
    phone_confirmed_at = case when u.phone_confirmed_at > since then null else u.phone_confirmed_at end
  where u.id = undo.user_id;
  update private.account_undos o set undone_at = clock_timestamp() where o.link_hash = undo.link_hash;
  return 'undone';
end
$function$;

ALTER FUNCTION "private"."undo_account_change"(bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.unfollow(submission_ids uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  insert into private.unfollows (organization_id, submission_id, user_id)
  select s.organization_id, s.id, private.caller_id() from public.submissions s
  where s.id = any (submission_ids) order by s.id
  on conflict do nothing;
  delete from public.follows f where f.submission_id = any (submission_ids) and f.user_id = private.caller_id();
  return found;
end
$function$;

ALTER FUNCTION "private"."unfollow"(uuid[]) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.update_first_replies(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if ids = '{}' then return; end if;
  perform 1 from public.submissions s where s.id = any (ids) order by s.id for no key update;
  with computed as materialized (
    select * from private.compute_first_replies(ids)
  ), gone as (
    delete from private.first_replies r
    where r.submission_id = any (ids) and r.submission_id not in (select c.submission_id from computed c)
  )
  insert into private.first_replies (submission_id, organization_id, submitted_at, milliseconds)
  select * from computed
  on conflict (submission_id) do update set submitted_at = excluded.submitted_at,
    milliseconds = excluded.milliseconds;
end
$function$;

ALTER FUNCTION "private"."update_first_replies"(uuid[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.update_survey(survey_id uuid, changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare own_id uuid := private.require_survey(survey_id, 'surveys:write');
begin
  perform private.require_draft(private.lock_survey(survey_id));
  perform private.write_settings(survey_id, changes);
  if jsonb_typeof(changes -> 'questions') = 'array' then
    delete from public.survey_questions q where q.survey_id = update_survey.survey_id;
    perform private.write_questions(own_id, survey_id, changes -> 'questions');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.user_of_link(token_hash text)
 RETURNS TABLE(id uuid, is_change boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
-- Tokens are compared as the auth service stores them: in plain form, or hashed (the embedded service).
declare tokens text[] := array[token_hash,
  rtrim(translate(encode(sha256(convert_to(token_hash, 'UTF8')), 'base64'), '+/', '-_'), '=')];
begin
  if length(token_hash) <= 20 then return; end if;
  -- The conditions on length and digits match those of the unique indexes.
  return query select u.id, false from auth.users u where u.confirmation_token = any (tokens)
      and u.confirmation_token !~ '^[0-9 ]*$' and length(u.confirmation_token) > 6
    union all select u.id, false from auth.users u where u.recovery_token = any (tokens)
      and u.recovery_token !~ '^[0-9 ]*$' and length(u.recovery_token) > 6
    union all select u.id, true from auth.users u where u.email_change_token_new = any (tokens)
      and u.email_change_token_new !~ '^[0-9 ]*$' and length(u.email_change_token_new) > 6
    union all select u.id, true from auth.users u where u.email_change_token_current = any (tokens)
      and u.email_change_token_current !~ '^[0-9 ]*$' and length(u.email_change_token_current) > 6
    limit 1;
end
$function$;

ALTER FUNCTION "private"."user_of_link"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.vote_of(submission_id uuid, profile_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (select v.created_at from public.votes v where v.submission_id = vote_of.submission_id
    and v.user_id = profile_id
  and (profile_id = private.caller_id() or private.is_author_of_key(profile_id)));
end
$function$;

CREATE OR REPLACE FUNCTION private.votes_gained(submission_ids uuid[], starts timestamp with time zone, ends timestamp with time zone)
 RETURNS TABLE(submission_id uuid, votes bigint)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return query
    select s.id, v.votes from unnest(submission_ids) as s (id) cross join lateral (
      select count(*) as votes from public.votes v where v.submission_id = s.id and v.created_at >= starts
        and v.created_at < ends) v;
end
$function$;

CREATE OR REPLACE FUNCTION private.wake_dispatcher(organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if not exists (select from private.webhooks w where w.organization_id = wake_dispatcher.organization_id
    and w.is_enabled) then return; end if;
  perform private.wake_function('/webhook-dispatch', 'webhooks');
end
$function$;

CREATE OR REPLACE FUNCTION private.wake_function(path text, channel text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if coalesce(current_setting('feedback.called_' || channel, true), '') = pg_current_xact_id()::text
    then return; end if;
  perform set_config('feedback.called_' || channel, pg_current_xact_id()::text, true);
  begin
    if not private.call_function(path) then perform pg_notify(channel, ''); end if;
  -- An error here must not roll back the caller's change; the schedule calls the function anyway.
  exception when others then
    raise warning '% was not called: %', path, sqlerrm;
  end;
end
$function$;

ALTER FUNCTION "private"."wake_function"(text, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.wake_mailer()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.wake_function('/mail-dispatch', 'mails');
end
$function$;

ALTER FUNCTION "private"."wake_mailer"() OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.was_just_restored(account_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  return exists (select from private.account_undos o where o.user_id = account_id
    and o.undone_at > clock_timestamp() - interval '30 seconds');
end
$function$;

ALTER FUNCTION "private"."was_just_restored"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.with_sources(submission_id uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return submission_id || array(
    select s.id from public.submissions target
      join public.submissions s on (s.organization_id, s.merged_into_id) = (target.organization_id, target.id)
    where target.id = submission_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.without_addresses(value text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  -- Four or more numbers, so that a longer version is masked too.
  ip4 constant text := '[0-9０-９]+(?:[.．][0-9０-９]+){3,}';
  hex constant text := '[0-9a-f]{1,4}';
  tail constant text := format('(?:%s:)*(?:%s|%s)', hex, ip4, hex);
  -- With ::, or with eight parts, of which an IPv4 address counts as two; then perhaps a zone.
  ip6 constant text := format('(^|\W)(?:%s(?::%s)*::(?:%s)?|::%s|(?:%s:){6,}(?:%s|%s:%s))(?!\w)(?:%%\w+)?',
    hex, hex, tail, tail, hex, ip4, hex, hex);
begin
  value := regexp_replace(value, ip6, '\1***', 'gi');
  value := regexp_replace(value, ip4, '***', 'g');
  return regexp_replace(value, '[^\s@＠﹫]+(?:[@＠﹫]|%40)[^\s"@＠﹫]+', '***', 'gi');
end
$function$;

ALTER FUNCTION "private"."without_addresses"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.write_import(import private.imports, records jsonb)
 RETURNS private.import_outcome
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare
  people jsonb; part private.import_outcome; kind text;
  outcome private.import_outcome := row(0, 0, coalesce(records -> 'repeated', '[]'))::private.import_outcome;
begin
  -- Block merges, which must see all rows of the submissions they merge.
  perform 1 from public.organizations o where o.id = import.organization_id for no key update;
  perform set_config('feedback.internal_write', 'import', true);
  people := private.import_people(import, records -> 'people');
  foreach kind in array array['taxonomy', 'submission', 'merged', 'follow', 'comment', 'vote', 'comment_vote',
    'status_change',
    'survey', 'survey_response'] loop
    continue when kind <> 'taxonomy' and not records ? kind;
    part := case kind
      when 'taxonomy' then private.import_taxonomy(import, records)
      when 'submission' then private.import_submissions(import, people, records -> kind)
      when 'merged' then private.import_submissions(import, people, records -> kind)
      when 'follow' then private.import_follows(import, people, records -> kind)
      when 'comment' then private.import_comments(import, people, records -> kind)
      when 'vote' then private.import_votes(import, people, records -> kind)
      when 'comment_vote' then private.import_comment_votes(import, people, records -> kind)
      when 'status_change' then private.import_status_changes(import, people, records -> kind)
      when 'survey' then private.import_surveys(import, records -> kind)
      else private.import_survey_responses(import, people, records -> kind)
    end;
    outcome := row(outcome.created + part.created, outcome.skipped + part.skipped,
      outcome.failures || coalesce(part.failures, '[]'))::private.import_outcome;
  end loop;
  perform set_config('feedback.internal_write', 'off', true);
  return outcome;
end
$function$;

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

CREATE OR REPLACE FUNCTION private.write_settings(survey_id uuid, changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare settings jsonb := coalesce(nullif(changes -> 'settings', 'null'), '{}'); targeting jsonb
  := coalesce(nullif(changes -> 'targeting', 'null'), '{}');
begin
  update public.surveys s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then coalesce(changes ->> 'description', '')
      else s.description end,
    closes_at = case when changes ? 'closes_at' then (changes ->> 'closes_at')::timestamptz
      else s.closes_at end,
    allow_multiple_responses = coalesce((settings ->> 'allow_multiple_responses')::boolean,
      s.allow_multiple_responses),
    show_branding = coalesce((settings ->> 'show_branding')::boolean, s.show_branding),
    redirect_url = case when settings ? 'redirect_url' then settings ->> 'redirect_url'
      else s.redirect_url end
  where s.id = write_settings.survey_id;
  if changes ? 'targeting' then
    update public.surveys s set
      audience = coalesce(targeting ->> 'audience', 'everyone'),
      audience_submission_id = (targeting ->> 'submission_id')::uuid,
      locales = case when jsonb_typeof(targeting -> 'locales') = 'array'
        then array(select jsonb_array_elements_text(targeting -> 'locales')) end
    where s.id = write_settings.survey_id;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.written_comment(comment_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return (
  select json_build_object(
    'id', c.id,
    'body', c.body,
    'author', json_build_object('id', p.id, 'name', coalesce(p.name, 'Anonymous')),
    'is_official', c.is_official,
    'created_at', c.created_at)
  from public.comments c join public.profiles p on p.id = c.author_id
  where c.id = comment_id and (c.author_id = private.caller_id() or private.is_author_of_key(c.author_id))
);
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
  return private.end_write(id);
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
  return private.end_write(id);
end
$function$;

ALTER FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION public.delete_comment(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.comments c where c.id = delete_comment.id;
  return private.end_write(found);
end
$function$;

CREATE OR REPLACE FUNCTION public.delete_submission(id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.submissions s where s.id = delete_submission.id;
  return private.end_write(found);
end
$function$;

CREATE OR REPLACE FUNCTION public.follow(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if (select private.is_following(s.id) from public.submissions s where s.id = follow.submission_id)
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.follows (submission_id) values (follow.submission_id) on conflict do nothing;
  return private.end_write(found);
end
$function$;

CREATE OR REPLACE FUNCTION public.mark_notifications_read(ids uuid[] DEFAULT NULL::uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare marked integer;
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.notifications n set read_at = now()
  where n.user_id = private.caller_id() and n.read_at is null and (ids is null or n.id = any (ids));
  get diagnostics marked = row_count;
  return private.end_write(marked);
end
$function$;

CREATE OR REPLACE FUNCTION public.search_submissions(q text, organization_id uuid, max_results integer DEFAULT 20)
 RETURNS TABLE(id uuid, title text, description text, type text, status text, vote_count integer, comment_count integer, created_at timestamp with time zone, relevance real, match text)
 LANGUAGE plpgsql
 STABLE ROWS 20
 SET search_path TO 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  if coalesce(char_length(q), 0) not between 1 and 200 then
    perform private.raise_error('VALIDATION_ERROR', 'must be 1 to 200 characters long', 'q');
  elsif coalesce(max_results, 0) not between 1 and 100 then
    perform private.raise_error('VALIDATION_ERROR', 'must be a whole number from 1 to 100', 'max_results');
  end if;
  return query
    select s.id, s.title, s.description, s.type, s.status, s.vote_count, s.comment_count, s.created_at,
      h.relevance, f.match
    from private.find_submissions(search_submissions.organization_id, q, null, null, null, null, null, null,
        max_results) f
      cross join unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, n)
      join public.submissions s on s.id = h.submission_id
    order by h.n;
end
$function$;

ALTER FUNCTION "public"."search_submissions"(text, uuid, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION public.submit_survey_response(survey_id uuid, answers jsonb, locale text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare response json;
begin
  perform set_config('feedback.by_function', 'on', true);
  response := private.submit_survey_response(survey_id, answers, locale, null);
  return private.end_write((response ->> 'response_id')::uuid);
end
$function$;

CREATE OR REPLACE FUNCTION public.unfollow(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare did_follow boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  did_follow := (select private.unfollow(private.with_sources(s.id)) from public.submissions s
    where s.id = unfollow.submission_id);
  return private.end_write(coalesce(did_follow, false));
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
  return private.end_write(true);
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
  return private.end_write(true);
end
$function$;

CREATE OR REPLACE FUNCTION public.update_comment(id uuid, body text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.comments c set body = update_comment.body where c.id = update_comment.id;
  return private.end_write(found);
end
$function$;

CREATE OR REPLACE FUNCTION public.update_profile(changes jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
declare was_changed boolean;
begin
  perform private.reject_unknown_changes(changes, array['name', 'avatar_url', 'locale']);
  perform set_config('feedback.by_function', 'on', true);
  update public.profiles p set
    name = case when changes ? 'name' then changes ->> 'name' else p.name end,
    avatar_url = case when changes ? 'avatar_url' then changes ->> 'avatar_url' else p.avatar_url end
  where p.id = private.caller_id();
  was_changed := found;
  -- The locale is updated separately, since nobody may read it.
  if changes ? 'locale' then
    update public.profiles p set locale = changes ->> 'locale' where p.id = private.caller_id();
  end if;
  return private.end_write(was_changed);
end
$function$;

CREATE OR REPLACE FUNCTION public.update_submission(id uuid, changes jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  perform private.reject_unknown_changes(changes, private.editable_columns('public.submissions'));
  perform set_config('feedback.by_function', 'on', true);
  update public.submissions s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then changes ->> 'description' else s.description end,
    category_id = case when changes ? 'category_id' then (changes ->> 'category_id')::uuid
      else s.category_id end,
    tracker_issue_url = case when changes ? 'tracker_issue_url' then changes ->> 'tracker_issue_url'
      else s.tracker_issue_url end
  where s.id = update_submission.id;
  return private.end_write(found);
end
$function$;

CREATE OR REPLACE FUNCTION public.vote(submission_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if (select private.my_vote(s.id) from public.submissions s where s.id = vote.submission_id) is not null
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.votes (submission_id) values (vote.submission_id) on conflict do nothing;
  return private.end_write(found);
end
$function$;

CREATE OR REPLACE FUNCTION public.vote_comment(comment_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_temp'
AS $function$
begin
  if (select private.comment_vote_of(c.id, private.caller_id()) from public.comments c
    where c.id = vote_comment.comment_id) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comment_votes (comment_id) values (vote_comment.comment_id) on conflict do nothing;
  return private.end_write(found);
end
$function$;

-- Locks on tables begin here: what came before does not keep requests waiting.

DROP POLICY "a deleted user sees and changes nothing" ON "public"."categories";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."comment_votes";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."comments";

DROP POLICY "authors and admins delete" ON "public"."comments";

DROP POLICY "authors edit" ON "public"."comments";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."follows";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."memberships";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."notifications";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."organizations";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."profiles";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."status_changes";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."submission_tags";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."submissions";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."survey_options";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."survey_questions";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."survey_responses";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."surveys";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."tags";

DROP POLICY "a deleted user sees and changes nothing" ON "public"."votes";

DROP TRIGGER "by_function_only_delete" ON "public"."comment_votes";

DROP TRIGGER "by_function_only" ON "public"."comment_votes";

DROP TRIGGER "count_added" ON "public"."comment_votes";

DROP TRIGGER "count_removed" ON "public"."comment_votes";

DROP TRIGGER "refuse_second" ON "public"."comment_votes";

DROP TRIGGER "by_function_only_delete" ON "public"."comments";

DROP TRIGGER "by_function_only_update" ON "public"."comments";

DROP TRIGGER "by_function_only" ON "public"."comments";

DROP TRIGGER "tell_added" ON "public"."comments";

DROP TRIGGER "tell_changed" ON "public"."comments";

DROP TRIGGER "tell_removed" ON "public"."comments";

DROP TRIGGER "trim_participations" ON "public"."comments";

DROP TRIGGER "by_function_only_delete" ON "public"."follows";

DROP TRIGGER "by_function_only" ON "public"."follows";

DROP TRIGGER "keep_member_limit" ON "public"."memberships";

DROP TRIGGER "by_function_only_update" ON "public"."notifications";

DROP TRIGGER "announce" ON "public"."organizations";

DROP TRIGGER "by_function_only_update" ON "public"."profiles";

DROP TRIGGER "keep_former_address" ON "public"."profiles";

DROP TRIGGER "keep_participations" ON "public"."profiles";

DROP TRIGGER "by_function_only_delete" ON "public"."submissions";

DROP TRIGGER "by_function_only_update" ON "public"."submissions";

DROP TRIGGER "by_function_only" ON "public"."submissions";

DROP TRIGGER "index_text" ON "public"."submissions";

DROP TRIGGER "keep_plan_limit" ON "public"."submissions";

DROP TRIGGER "tell_added" ON "public"."submissions";

DROP TRIGGER "tell_changed" ON "public"."submissions";

DROP TRIGGER "tell_removed" ON "public"."submissions";

DROP TRIGGER "trim_participations" ON "public"."submissions";

DROP TRIGGER "refuse_second" ON "public"."survey_responses";

DROP TRIGGER "tell_added" ON "public"."survey_responses";

DROP TRIGGER "keep_plan_limit" ON "public"."surveys";

DROP TRIGGER "trim_participations" ON "public"."surveys";

DROP TRIGGER "by_function_only_delete" ON "public"."votes";

DROP TRIGGER "by_function_only" ON "public"."votes";

DROP TRIGGER "refuse_second" ON "public"."votes";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."first_replies_magnitude_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."submission_search_content_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."submission_search_document_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."submission_search_title_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."submissions_title_idx";

DROP VIEW "public"."analytics_days";

DROP VIEW "public"."analytics_submissions";

ALTER TABLE "private"."erased_participations" DROP CONSTRAINT "erased_participations_organization_id_fkey";

ALTER TABLE "private"."former_addresses" DROP CONSTRAINT "former_addresses_profile_id_fkey";

ALTER TABLE "private"."idempotency_keys" DROP CONSTRAINT "idempotency_keys_key_id_fkey";

ALTER TABLE "private"."idempotency_keys" DROP CONSTRAINT "idempotency_keys_pkey";

-- Stored responses of a key belong to its profile; of two with one name the newer one stays.
alter table private.idempotency_keys add column profile_id uuid;
update private.idempotency_keys i set profile_id = k.profile_id from private.api_keys k where k.id = i.key_id;
delete from private.idempotency_keys i using private.idempotency_keys j
where j.profile_id = i.profile_id and j.key = i.key and (j.created_at, j.key_id) > (i.created_at, i.key_id);
-- squawk-ignore adding-not-nullable-field
alter table private.idempotency_keys alter column profile_id set not null;
-- squawk-ignore ban-drop-column
alter table private.idempotency_keys drop column key_id;

ALTER TABLE "private"."replies_due" DROP CONSTRAINT "replies_due_organization_id_fkey";

ALTER TABLE "private"."survey_answer_counts" DROP CONSTRAINT "survey_answer_counts_question_is_of_the_same_survey";

ALTER TABLE "public"."organizations" DROP CONSTRAINT "logo_url_is_an_https_address";

ALTER TABLE "public"."organizations" DROP CONSTRAINT "plan_limits_are_not_negative";

ALTER TABLE "public"."submission_tags" DROP CONSTRAINT "one_of_each_tag";

ALTER TABLE "public"."submission_tags" DROP CONSTRAINT "submission_tags_pkey";

ALTER TABLE "public"."survey_options" DROP CONSTRAINT "one_option_a_position";

ALTER TABLE "public"."survey_options" DROP CONSTRAINT "one_option_a_text";

ALTER TABLE "public"."survey_options" DROP CONSTRAINT "survey_options_question_is_of_the_same_survey";

ALTER TABLE "public"."survey_questions" DROP CONSTRAINT "one_question_a_position";

ALTER TABLE "public"."survey_questions" DROP CONSTRAINT "questions_belong_to_their_survey";

DROP FUNCTION "private"."accounts_of"(public.profiles);

DROP FUNCTION "private"."analytics_days"();

DROP FUNCTION "private"."analytics_submissions"();

DROP FUNCTION "private"."board_size"(uuid);

DROP FUNCTION "private"."broadcast_responses"();

DROP FUNCTION "private"."broadcasts_changes"();

DROP FUNCTION "private"."count_added_comment_votes"();

DROP FUNCTION "private"."count_removed_comment_votes"();

DROP FUNCTION "private"."delete_erased_participations"();

DROP FUNCTION "private"."enforce_member_limit"();

DROP FUNCTION "private"."enforce_submission_limit"();

DROP FUNCTION "private"."enforce_survey_limit"();

DROP FUNCTION "private"."erasure_hash"(bytea, text, uuid);

DROP FUNCTION "private"."export_page"(uuid, text, text[], integer);

DROP FUNCTION "private"."histogram_bucket"(bigint);

DROP FUNCTION "private"."indexed_submissions"();

DROP FUNCTION "private"."indexed_words"(tsquery);

DROP FUNCTION "private"."is_active_user"();

DROP FUNCTION "private"."has_account"();

DROP FUNCTION "private"."events_suppressed"();

DROP FUNCTION "private"."like_pattern"(text);

DROP FUNCTION "private"."make_erasure_key"();

DROP FUNCTION "private"."mask_email_addresses"(jsonb);

DROP FUNCTION "private"."measured_organizations"();

DROP FUNCTION "private"."newest_texts"(uuid);

DROP FUNCTION "private"."notify_merge"(uuid, uuid, uuid);

DROP FUNCTION "private"."participated"(text, uuid[]);

DROP FUNCTION "private"."participated"(text[], uuid[]);

DROP FUNCTION "private"."participated"(uuid, uuid[]);

DROP FUNCTION "private"."rare_title_terms"(uuid, text);

DROP FUNCTION "private"."rarest_trigrams"(text, text[]);

DROP FUNCTION "private"."read_erasure_key"();

DROP FUNCTION "private"."record_former_address"();

DROP FUNCTION "private"."record_participations"(public.profiles, uuid);

DROP FUNCTION "private"."record_participations_of_account"();

DROP FUNCTION "private"."reject_second_participation"();

DROP FUNCTION "private"."relevance"(tsvector, text, text, tsquery, text);

DROP FUNCTION "private"."reply_times"(uuid, date, date);

DROP FUNCTION "private"."request_id"();

DROP FUNCTION "private"."run_import"(uuid, jsonb, jsonb);

DROP FUNCTION "private"."similar_candidates"(uuid, text);

DROP FUNCTION "private"."start_import"(uuid, text, text, boolean, boolean);

DROP FUNCTION "private"."sum_replies"(integer);

DROP FUNCTION "private"."trim_cron_log"();

DROP FUNCTION "private"."word_selectivity"(tsquery, tsvector[]);

DROP FUNCTION "private"."write_valid_records"(private.imports, jsonb);

-- squawk-ignore ban-drop-column
ALTER TABLE "private"."submission_search" DROP COLUMN "document";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."erased_participations";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."erasure_key";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."feature_flags";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."former_addresses";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."replies_due";

-- squawk-ignore ban-drop-table
DROP TABLE "private"."reply_days";

ALTER TABLE "private"."agent_streams" ADD COLUMN "is_sentence" boolean NOT NULL DEFAULT false;

ALTER TABLE "private"."import_ids" ADD COLUMN "content" uuid;

ALTER TABLE "private"."imports" ADD COLUMN "records_done" integer NOT NULL DEFAULT 0;

ALTER TABLE "private"."imports" ADD COLUMN "records_at_once" integer NOT NULL DEFAULT 500;

ALTER TABLE "private"."outbox" ADD COLUMN "category_id" uuid;

-- Filled again below.
TRUNCATE private.submission_search;

-- squawk-ignore adding-required-field
ALTER TABLE "private"."submission_search" ADD COLUMN "title_lexemes" tsvector NOT NULL;

-- squawk-ignore adding-required-field
ALTER TABLE "private"."submission_search" ADD COLUMN "lexemes" tsvector NOT NULL;

ALTER TABLE "private"."survey_starts" ADD COLUMN "by_reading" boolean NOT NULL DEFAULT false;

ALTER TABLE "private"."webhooks" ADD COLUMN "enabled_at" timestamp with time zone NOT NULL DEFAULT now();

ALTER TABLE "private"."webhooks" ADD COLUMN "created_by" uuid;

ALTER TABLE "public"."organizations" ADD COLUMN "default_locale" text NOT NULL DEFAULT 'en'::text;

ALTER TABLE "public"."organizations" ADD COLUMN "mail_enabled" boolean NOT NULL DEFAULT false;

ALTER TABLE "public"."organizations" ADD COLUMN "mail_defaults" jsonb NOT NULL DEFAULT '{}'::jsonb;

ALTER TABLE "public"."organizations" ADD COLUMN "max_unconfirmed_mails" integer DEFAULT 200;

ALTER TABLE "public"."profiles" ADD COLUMN "named_by_key" boolean NOT NULL DEFAULT false;

ALTER TABLE "public"."submissions" ADD COLUMN "is_changed_by_author" boolean NOT NULL DEFAULT false;

-- squawk-ignore ban-drop-not-null
ALTER TABLE "private"."idempotency_keys" ALTER COLUMN "organization_id" DROP NOT NULL;

CREATE OR REPLACE FUNCTION private.account_mail_is_stopped(mailbox_hash text)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (EXISTS (SELECT FROM private.stopped_account_mail s WHERE (s.address_hash = account_mail_is_stopped.mailbox_hash)));

ALTER FUNCTION "private"."account_mail_is_stopped"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.actor_name(actor public.profiles)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT k.name FROM private.api_keys k WHERE ((k.organization_id = (actor_name.actor).organization_id) AND (k.profile_id = (actor_name.actor).id) AND ((actor_name.actor).kind = 'key'::text)) LIMIT 1), (actor).name, 'Anonymous'::text);

ALTER FUNCTION "private"."actor_name"(public.profiles) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.agent_self()
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT json_build_object('id', a.id, 'name', p.name, 'tier', a.tier, 'scopes', string_to_array(COALESCE(current_setting('feedback.scopes'::text, true), ''::text), ' '::text), 'tools', a.tools) AS json_build_object FROM (private.agents a JOIN public.profiles p ON ((p.id = a.id))) WHERE (a.id = private.agent_id()));

ALTER FUNCTION "private"."agent_self"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.api_key_shape(key private.api_keys)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (key).id, 'name', (key).name, 'scopes', (key).scopes, 'prefix', (key).prefix, 'last_four', (key).last_four, 'expires_at', (key).expires_at, 'revoked_at', (key).revoked_at, 'last_used_at', (key).last_used_at, 'created_at', (key).created_at, 'created_by', private.author((key).created_by, (key).organization_id));

CREATE OR REPLACE FUNCTION private.agent_shape(agent private.agents)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (agent).id, 'name', (SELECT p.name FROM public.profiles p WHERE (p.id = (agent_shape.agent).id)), 'description', (agent).description, 'tier', (agent).tier, 'retired_at', (agent).retired_at, 'created_at', (agent).created_at, 'created_by', private.author((agent).created_by, (agent).organization_id));

ALTER FUNCTION "private"."agent_shape"(private.agents) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.avatar(person public.profiles)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN COALESCE((person).avatar_url, (((NULLIF(current_setting('feedback.site_url'::text, true), ''::text) || '/avatars/'::text) || (person).id) || '.svg'::text));

ALTER FUNCTION "private"."avatar"(public.profiles) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.broadcast_submission_shape(submission public.submissions)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
RETURN jsonb_build_object('id', (submission).id, 'organization_id', (submission).organization_id, 'title', (submission).title, 'type', (submission).type, 'status', (submission).status, 'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count, 'category_id', (submission).category_id, 'merged_into_id', (submission).merged_into_id, 'created_at', (submission).created_at, 'updated_at', (submission).updated_at);

CREATE OR REPLACE FUNCTION private.budget_day()
 RETURNS date
 LANGUAGE sql
 STABLE
RETURN ((now() AT TIME ZONE 'UTC'::text))::date;

ALTER FUNCTION "private"."budget_day"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.counts_of(submission public.submissions)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
RETURN jsonb_build_object('id', (submission).id, 'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count);

CREATE OR REPLACE FUNCTION private.delivery_shape(delivery private.webhook_deliveries)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
RETURN jsonb_build_object('id', ('evt_'::text || replace(((delivery).event_id)::text, '-'::text, ''::text)), 'event', (delivery).event, 'status', CASE (delivery).status WHEN 'sending'::text THEN 'pending'::text ELSE (delivery).status END, 'attempt_count', (delivery).attempt_count, 'status_code', (((delivery).attempts -> '-1'::integer) -> 'status_code'::text), 'response_body', (((delivery).attempts -> '-1'::integer) -> 'response_body'::text), 'error', (((delivery).attempts -> '-1'::integer) -> 'error'::text), 'duration_ms', (((delivery).attempts -> '-1'::integer) -> 'duration_ms'::text), 'next_attempt_at', CASE WHEN ((delivery).status = 'pending'::text) THEN (delivery).next_attempt_at ELSE NULL::timestamp with time zone END, 'created_at', (delivery).created_at, 'finished_at', (delivery).finished_at);

CREATE OR REPLACE FUNCTION private.error_state(code text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE code WHEN 'VALIDATION_ERROR'::text THEN 'FB400'::text WHEN 'UNAUTHORIZED'::text THEN 'FB401'::text WHEN 'PLAN_LIMIT_REACHED'::text THEN 'FB402'::text WHEN 'FORBIDDEN'::text THEN 'FB403'::text WHEN 'NOT_FOUND'::text THEN 'FB404'::text WHEN 'METHOD_NOT_ALLOWED'::text THEN 'FB405'::text WHEN 'CONFLICT'::text THEN 'FB409'::text WHEN 'GONE'::text THEN 'FB410'::text WHEN 'PAYLOAD_TOO_LARGE'::text THEN 'FB413'::text WHEN 'UNSUPPORTED_MEDIA_TYPE'::text THEN 'FB415'::text WHEN 'RATE_LIMIT_EXCEEDED'::text THEN 'FB429'::text WHEN 'SUBMISSION_MERGED'::text THEN 'FBM09'::text WHEN 'TEXT_CHANGED'::text THEN 'FBT09'::text WHEN 'SURVEY_NOT_OPEN'::text THEN 'FBS09'::text WHEN 'ALREADY_RESPONDED'::text THEN 'FBR09'::text WHEN 'SURVEY_HAS_RESPONSES'::text THEN 'FBH09'::text WHEN 'SERVICE_UNAVAILABLE'::text THEN 'FB503'::text ELSE 'FB500'::text END;

CREATE OR REPLACE FUNCTION private.export_scope(what text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE what WHEN 'organization'::text THEN 'organization:write'::text WHEN 'members'::text THEN 'members:write'::text WHEN 'surveys'::text THEN 'surveys:read'::text WHEN 'survey_responses'::text THEN 'responses:read'::text WHEN 'votes'::text THEN private.voters_scope() WHEN 'comment_votes'::text THEN private.voters_scope() WHEN 'follows'::text THEN private.voters_scope() ELSE 'submissions:moderate'::text END;

CREATE OR REPLACE FUNCTION private.fold_text(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN lower(NORMALIZE(translate(value, '­؜᠎​‌‍‎‏‪‫‬‭‮⁠⁦⁧⁨⁩﻿'::text, ''::text), NFKC));

ALTER FUNCTION "private"."fold_text"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.has_tag(submission_id uuid, tag_id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.submission_tags t WHERE ((t.submission_id = has_tag.submission_id) AND (t.tag_id = has_tag.tag_id))));

ALTER FUNCTION "private"."has_tag"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.highlight(value text, marks text, whole boolean)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
declare
  -- The result is as long as the text, so that positions are the same.
  plain text := translate(value,
    'ÀÁÂÃÄÅàáâãäåĀāĂăĄąÇçĆćČčĎďÈÉÊËèéêëĒēĘęĚěĞğÌÍÎÏìíîïĪīİıŁłÑñŃńŇňÒÓÔÕÖØòóôõöøŌōŐőŘř'
      'ŚśŞşŠšŤťÙÚÛÜùúûüŪūŮůŰűÝýÿŹźŻżŽžЁёς',
    'AAAAAAaaaaaaAaAaAaCcCcCcDdEEEEeeeeEeEeEeGgIIIIiiiiIiIiLlNnNnNnOOOOOOooooooOoOoRr'
      'SsSsSsTtUUUUuuuuUuUuUuYyyZzZzZzЕеσ');
  first integer := coalesce(regexp_instr(plain, marks, 1, 1, 0, 'i'), 0);
begin
  if not whole then
    -- A match begins at the start of a word.
    first := case when first < 41 then 1
      else first - 40 + length(substring(substr(plain, first - 40, 20) from '^\S*\s+|')) end;
    value := substr(value, first, 240);
    plain := substr(plain, first, 240);
  end if;
  if marks is null then return private.escape_html(value); end if;
  return (
    select string_agg(private.escape_html(substr(value, p.at, p.gap)) || coalesce('<mark>'
        || private.escape_html(substr(value, p.at + p.gap, p.hit)) || '</mark>', ''), '' order by p.n)
    from (
      select g.n, char_length(g.gap) as gap, char_length(h.hit[1]) as hit,
        1 + coalesce(sum(char_length(g.gap) + coalesce(char_length(h.hit[1]), 0))
          over (order by g.n rows between unbounded preceding and 1 preceding), 0)::integer as at
      from regexp_split_to_table(plain, marks, 'i') with ordinality g (gap, n)
        left join regexp_matches(plain, '(?:' || marks || ')', 'gi') with ordinality h (hit, n) using (n)) p);
end
$function$;

ALTER FUNCTION "private"."highlight"(text, text, boolean) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.identify_secret_shape(secret private.identify_secrets)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (secret).id, 'last_four', (secret).last_four, 'last_used_at', (secret).last_used_at, 'created_at', (secret).created_at, 'created_by', private.author((secret).created_by, (secret).organization_id));

ALTER FUNCTION "private"."identify_secret_shape"(private.identify_secrets) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_checked_import(import private.imports)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN ((import).is_dry_run AND (((import).state = 'completed'::text) OR (((import).state = 'failed'::text) AND ((import)."position" ? 'columns'::text))));

ALTER FUNCTION "private"."is_checked_import"(private.imports) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.import_shape(import private.imports)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (import).id, 'format', (import).format, 'what', COALESCE(((import).query ->> 'what'::text), 'submissions'::text), 'source', (import).source, 'dry_run', (import).is_dry_run, 'state', (import).state, 'bytes', (import).bytes, 'bytes_read', CASE WHEN ((import).state = 'completed'::text) THEN (import).bytes ELSE (((import)."position" ->> 'at'::text))::bigint END, 'processed', (import).processed, 'created', (import).created, 'skipped', (import).skipped, 'failed', (import).failed, 'problem', (import).problem, 'errors', COALESCE((SELECT json_agg((jsonb_strip_nulls(jsonb_build_object('file', e.file)) || jsonb_build_object('line', e.line, 'field', e.field, 'message', e.message)) ORDER BY e.id) AS json_agg FROM private.import_errors e WHERE ((e.organization_id = (import_shape.import).organization_id) AND (e.import_id = (import_shape.import).id))), '[]'::json), 'columns', json_build_object('unused', COALESCE(((import)."position" #> '{columns,unused}'::text[]), '[]'::jsonb), 'missing', COALESCE(((import)."position" #> '{columns,missing}'::text[]), '[]'::jsonb), 'mapped', COALESCE(((import).query -> 'columns'::text), '{}'::jsonb)), 'can_check', (private.is_checked_import(import) AND (EXISTS (SELECT FROM private.import_file_parts p WHERE ((p.organization_id = (import_shape.import).organization_id) AND (p.import_id = (import_shape.import).id))))), 'can_apply', ((import).is_dry_run AND ((import).state = 'completed'::text) AND (EXISTS (SELECT FROM private.import_file_parts p WHERE ((p.organization_id = (import_shape.import).organization_id) AND (p.import_id = (import_shape.import).id))))), 'created_at', (import).created_at, 'updated_at', (import).updated_at);

ALTER FUNCTION "private"."import_shape"(private.imports) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.in_search_scope(scope private.search_scope, s public.submissions)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (((s).organization_id = (scope).organization_id) AND ((s).merged_into_id IS NULL) AND private.can_see_submission((s).is_public, (s).author_id, (s).organization_id, (scope).caller_id, (scope).team_ids) AND (((scope).agent_category_ids IS NULL) OR ((s).category_id = ANY ((scope).agent_category_ids))) AND (((scope).status IS NULL) OR ((s).status = (scope).status)) AND (((scope).type IS NULL) OR ((s).type = (scope).type)) AND (((scope).category_id IS NULL) OR ((s).category_id = (scope).category_id)) AND (((scope).author_id IS NULL) OR ((s).author_id = (scope).author_id)) AND (((scope).tag_id IS NULL) OR private.has_tag((s).id, (scope).tag_id)));

ALTER FUNCTION "private"."in_search_scope"(private.search_scope, public.submissions) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.in_title(query text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN regexp_replace(query, '''([0-9a-f]{8})'::text, '''\1='::text, 'g'::text);

ALTER FUNCTION "private"."in_title"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.inviter_is_authorized(invite private.invites)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.memberships m WHERE ((m.organization_id = (inviter_is_authorized.invite).organization_id) AND (m.user_id = (inviter_is_authorized.invite).invited_by) AND ((m.role = 'owner'::text) OR ((m.role = 'admin'::text) AND ((inviter_is_authorized.invite).role <> 'owner'::text))))));

CREATE OR REPLACE FUNCTION private.invite_status(invite private.invites)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN CASE WHEN ((invite).accepted_at IS NOT NULL) THEN 'accepted'::text WHEN (((invite).revoked_at IS NOT NULL) OR (NOT private.inviter_is_authorized(invite))) THEN 'revoked'::text WHEN ((invite).expires_at <= now()) THEN 'expired'::text ELSE 'open'::text END;

CREATE OR REPLACE FUNCTION private.invite_shape(invite private.invites)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (invite).id, 'email', (invite).email, 'role', (invite).role, 'status', private.invite_status(invite), 'invited_by', (SELECT json_build_object('id', p.id, 'name', COALESCE(p.name, 'Anonymous'::text)) AS json_build_object FROM public.profiles p WHERE (p.id = (invite_shape.invite).invited_by)), 'created_at', (invite).created_at, 'expires_at', (invite).expires_at);

ALTER FUNCTION "private"."invite_shape"(private.invites) OWNER TO "postgres";

ALTER FUNCTION "private"."invite_status"(private.invites) OWNER TO "postgres";

ALTER FUNCTION "private"."inviter_is_authorized"(private.invites) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_confirmed_recipient(organization_id uuid, profile_id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.profiles p WHERE ((p.id = is_confirmed_recipient.profile_id) AND ((p.kind = 'user'::text) OR (EXISTS (SELECT FROM private.identified_people i WHERE (i.profile_id = p.id))) OR (EXISTS (SELECT FROM private.mail_choices c WHERE ((c.organization_id = is_confirmed_recipient.organization_id) AND (c.profile_id = p.id) AND (c.choice <> 'never'::text))))))));

ALTER FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_counted_by_address(operation text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN (operation = ANY (ARRAY['sign_in'::text, 'sign_in_mail'::text]));

ALTER FUNCTION "private"."is_counted_by_address"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_importing()
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (COALESCE(current_setting('feedback.internal_write'::text, true), ''::text) = 'import'::text);

CREATE OR REPLACE FUNCTION private.is_internal_write()
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (COALESCE(current_setting('feedback.internal_write'::text, true), ''::text) = ANY (ARRAY['on'::text, 'import'::text]));

CREATE OR REPLACE FUNCTION private.is_direct()
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN ((SESSION_USER <> 'feedback_api'::name) AND (COALESCE(current_setting('role'::text, true), ''::text) = ANY (ARRAY['anon'::text, 'authenticated'::text])) AND (pg_trigger_depth() = 1) AND (NOT private.is_internal_write()));

ALTER FUNCTION "private"."is_direct"() OWNER TO "postgres";

ALTER FUNCTION "private"."is_internal_write"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_own_team(organization_id uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN ((NOT private.is_key()) AND (EXISTS (SELECT FROM public.memberships m WHERE ((m.organization_id = is_own_team.organization_id) AND (m.user_id = private.caller_id()) AND (m.role = 'owner'::text)))));

ALTER FUNCTION "private"."is_own_team"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_personal_answer(question_type text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (question_type = 'email'::text) THEN true WHEN (question_type = ANY (ARRAY['nps'::text, 'rating'::text, 'multiple_choice'::text, 'text'::text])) THEN false ELSE NULL::boolean END;

ALTER FUNCTION "private"."is_personal_answer"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.unspaced_letter()
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]'::text;

ALTER FUNCTION "private"."unspaced_letter"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_unspaced(word text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN (word ~ ('^'::text || private.unspaced_letter()));

ALTER FUNCTION "private"."is_unspaced"(text) OWNER TO "postgres";

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

CREATE OR REPLACE FUNCTION private.key_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN CASE WHEN private.is_key() THEN (NULLIF(current_setting('feedback.key_id'::text, true), ''::text))::uuid ELSE NULL::uuid END;

ALTER FUNCTION "private"."key_id"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.has_address(profile_id uuid, address text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN COALESCE((SELECT (lower(private.mail_address(p.id)) = lower(has_address.address)) FROM public.profiles p WHERE ((p.id = has_address.profile_id) AND (p.kind = 'user'::text))), false);

ALTER FUNCTION "private"."has_address"(uuid, text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_kinds()
 RETURNS TABLE(place integer, kind text, choices text[], default_choice text, notification_type text)
 LANGUAGE sql
 IMMUTABLE
BEGIN ATOMIC
 VALUES (1,'status'::text,'{at_once,daily,weekly,never}'::text[],'at_once'::text,'status_changed'::text), (2,'official'::text,'{at_once,daily,weekly,never}'::text[],'at_once'::text,'official_comment'::text), (3,'reply'::text,'{at_once,daily,weekly,never}'::text[],'at_once'::text,'reply'::text), (4,'comment'::text,'{at_once,daily,weekly,never}'::text[],'daily'::text,'comment'::text), (5,'survey'::text,'{at_once,never}'::text[],'at_once'::text,NULL::text), (6,'team'::text,'{daily,weekly,never}'::text[],'daily'::text,NULL::text), (7,'digest'::text,'{}'::text[],NULL::text,NULL::text), (8,'invite'::text,'{}'::text[],NULL::text,NULL::text);
END;

CREATE OR REPLACE FUNCTION private.are_mail_choices(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN ((jsonb_typeof(value) = 'object'::text) AND (NOT (EXISTS (SELECT FROM jsonb_each_text(are_mail_choices.value) c(kind, choice) WHERE (NOT (EXISTS (SELECT FROM private.mail_kinds() k(place, kind, choices, default_choice, notification_type) WHERE ((k.kind = c.kind) AND (c.choice = ANY (k.choices))))))))));

ALTER FUNCTION "private"."are_mail_choices"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.is_mail_kind(kind text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
RETURN (EXISTS (SELECT FROM private.mail_kinds() k(place, kind, choices, default_choice, notification_type) WHERE (k.kind = is_mail_kind.kind)));

ALTER FUNCTION "private"."is_mail_kind"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.mail_kind(notification_type text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN (SELECT k.kind FROM private.mail_kinds() k(place, kind, choices, default_choice, notification_type) WHERE (k.notification_type = mail_kind.notification_type));

ALTER FUNCTION "private"."mail_kind"(text) OWNER TO "postgres";

ALTER FUNCTION "private"."mail_kinds"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.my_profile()
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT json_build_object('name', p.name, 'email', p.email, 'avatar_url', p.avatar_url) AS json_build_object FROM public.profiles p WHERE (p.id = private.caller_id()));

ALTER FUNCTION "private"."my_profile"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_claim(organization_id uuid, author_id uuid)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT json_build_object('organization', json_build_object('id', o.id, 'slug', o.slug, 'name', o.name), 'submissions', (SELECT count(*) AS count FROM public.submissions s WHERE (s.author_id = p.id)), 'comments', (SELECT count(*) AS count FROM public.comments c WHERE (c.author_id = p.id)), 'votes', (SELECT count(*) AS count FROM public.votes v WHERE (v.user_id = p.id)), 'is_signed_in', (private.caller_id() IS NOT NULL), 'is_own_address', private.has_address(private.caller_id(), p.email)) AS json_build_object FROM (public.profiles p JOIN public.organizations o ON ((o.id = p.organization_id))) WHERE ((p.id = open_claim.author_id) AND (p.kind = 'email'::text) AND (o.id = open_claim.organization_id)));

ALTER FUNCTION "private"."open_claim"(uuid, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.organization_named(name text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN CASE WHEN private.is_uuid(name) THEN (name)::uuid ELSE (SELECT s.organization_id FROM private.organization_slugs s WHERE (s.slug = lower(organization_named.name))) END;

ALTER FUNCTION "private"."organization_named"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.person_name(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN private.trim_text(regexp_replace(regexp_replace(value, '[[:cntrl:]\u00AD\u034F\u061C\u070F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF0-\uFFFB\U00013430-\U00013442\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159\U0001D173-\U0001D17A\U000E0000-\U000E00FF\U000E01F0-\U000E0FFF]'::text, ''::text, 'g'::text), '^[\s\u200C\u200D\uFE00-\uFE0F\U000E0100-\U000E01EF]+|(?<![\u0300-\U0010FFFF])[\u200C\u200D]+'::text, ''::text, 'g'::text));

CREATE OR REPLACE FUNCTION private.given_name(value jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (jsonb_typeof(value) = 'string'::text) THEN NULLIF(private.trim_text("substring"(private.person_name((value #>> '{}'::text[])), '^.{0,99}(?:[^\u200D\U0001F1E6-\U0001F1FF]|[\U0001F1E6-\U0001F1FF](?![\U0001F1E6-\U0001F1FF]))(?![\u0300-\u036F\u0483-\u0489\u0591-\u05BD\u064B-\u065F\u093C-\u094D\u200D\u20D0-\u20F0\u3099\u309A\uFE00-\uFE0F\U0001F3FB-\U0001F3FF])'::text)), ''::text) ELSE NULL::text END;

ALTER FUNCTION "private"."given_name"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.given_picture(value jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN ((jsonb_typeof(value) = 'string'::text) AND (char_length((value #>> '{}'::text[])) <= 2000)) THEN "substring"(regexp_replace(private.trim_text((value #>> '{}'::text[])), '^https:'::text, 'https:'::text, 'i'::text), '^https://[^\s[:cntrl:]"<>\\@/?#]+(?:[/?#][^\s[:cntrl:]"<>\\]*)?$'::text) ELSE NULL::text END;

ALTER FUNCTION "private"."given_picture"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.person_of(profile public.profiles)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN COALESCE(lower((profile).email), ((profile).id)::text);

ALTER FUNCTION "private"."person_of"(public.profiles) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.person_shape(person public.profiles, organization_id uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
RETURN jsonb_build_object('id', (person).id, 'kind', (person).kind, 'name', COALESCE((person).name, 'Anonymous'::text), 'email', (person).email, 'avatar_url', private.avatar(person), 'created_at', (person).created_at, 'role', (SELECT m.role FROM public.memberships m WHERE ((m.organization_id = person_shape.organization_id) AND (m.user_id = (person_shape.person).id))), 'decided', (SELECT t.is_trusted FROM private.author_trust t WHERE ((t.organization_id = person_shape.organization_id) AND (t.user_id = (person_shape.person).id))), 'is_trusted', private.is_trusted(organization_id, (person).id), 'submissions', (SELECT count(*) AS count FROM public.submissions s WHERE ((s.author_id = (person_shape.person).id) AND (s.organization_id = person_shape.organization_id))), 'comments', (SELECT count(*) AS count FROM public.comments c WHERE ((c.author_id = (person_shape.person).id) AND (c.organization_id = person_shape.organization_id))), 'votes', (SELECT count(*) AS count FROM public.votes v WHERE ((v.user_id = (person_shape.person).id) AND (v.organization_id = person_shape.organization_id))), 'follows', (SELECT count(*) AS count FROM public.follows f WHERE ((f.user_id = (person_shape.person).id) AND (f.organization_id = person_shape.organization_id))), 'answers', (SELECT count(*) AS count FROM public.survey_responses r WHERE ((r.user_id = (person_shape.person).id) AND (r.organization_id = person_shape.organization_id))));

ALTER FUNCTION "private"."person_shape"(public.profiles, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.personal_columns()
 RETURNS TABLE(relation text, person text, at_erasure text, takes_part boolean, exported_as text, exported text)
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
BEGIN ATOMIC
 VALUES ('public.submissions'::text,'author_id'::text,'reassign'::text,true,'submissions'::text,'id, title, description, type, status, source, updated_at, created_at'::text), ('private.submission_subtotals'::text,'author_id'::text,'reassign'::text,false,NULL::text,NULL::text), ('public.comments'::text,'author_id'::text,'reassign'::text,true,'comments'::text,'id, submission_id, parent_id, body, updated_at, created_at'::text), ('public.votes'::text,'user_id'::text,'reassign'::text,true,'votes'::text,'submission_id, created_at'::text), ('public.comment_votes'::text,'user_id'::text,'reassign'::text,true,'comment_votes'::text,'comment_id, created_at'::text), ('private.merged_votes'::text,'user_id'::text,'reassign'::text,false,NULL::text,NULL::text), ('public.status_changes'::text,'changed_by'::text,'reassign'::text,true,'status_changes'::text,'submission_id, previous_status, new_status, note, created_at'::text), ('private.api_keys'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('private.agents'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('private.identify_secrets'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('private.webhooks'::text,'created_by'::text,'reassign'::text,false,NULL::text,NULL::text), ('public.follows'::text,'user_id'::text,'delete'::text,true,'follows'::text,'submission_id, reason, created_at'::text), ('private.unfollows'::text,'user_id'::text,'delete'::text,false,'unfollows'::text,'submission_id, created_at'::text), ('public.notifications'::text,'user_id'::text,'delete'::text,false,'notifications'::text,'type, submission_id, comment_id, read_at, created_at'::text), ('private.mails'::text,'profile_id'::text,'delete'::text,false,NULL::text,NULL::text), ('private.mail_items'::text,'profile_id'::text,'delete'::text,false,NULL::text,NULL::text), ('private.mail_choices'::text,'profile_id'::text,'delete'::text,false,'mail_choices'::text,'kind, choice'::text), ('private.mail_mutes'::text,'profile_id'::text,'delete'::text,false,'mail_mutes'::text,'submission_id, created_at'::text), ('private.survey_requests'::text,'profile_id'::text,'delete'::text,false,'survey_requests'::text,'survey_id, reminded_at, created_at'::text), ('private.invites'::text,'invited_by'::text,'delete'::text,false,NULL::text,NULL::text), ('private.invites'::text,'accepted_by'::text,'delete'::text,false,NULL::text,NULL::text), ('public.memberships'::text,'user_id'::text,NULL::text,true,'memberships'::text,'role, created_at'::text), ('public.survey_responses'::text,'user_id'::text,NULL::text,true,NULL::text,NULL::text), ('private.survey_starts'::text,'user_id'::text,NULL::text,true,'survey_starts'::text,'survey_id, started_at'::text), ('private.author_trust'::text,'user_id'::text,NULL::text,false,'trust'::text,'is_trusted, created_at'::text), ('private.mail_suppressions'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text), ('private.identified_people'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text), ('private.identify_sessions'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text), ('private.external_ids'::text,'profile_id'::text,NULL::text,false,NULL::text,NULL::text);
END;

ALTER FUNCTION "private"."personal_columns"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.public_texts(submission public.submissions)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
RETURN ARRAY[(submission).title, (submission).description];

ALTER FUNCTION "private"."public_texts"(public.submissions) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.quotient(total numeric, count numeric, digits integer)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
RETURN COALESCE(trim_scale(round((total / NULLIF(count, (0)::numeric)), digits)), (0)::numeric);

ALTER FUNCTION "private"."quotient"(numeric, numeric, integer) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.rate_limits()
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT json_agg(json_build_object('name', r.name, 'max_requests', r.max_requests, 'window_seconds', r.window_seconds) ORDER BY r.name) AS json_agg FROM private.rate_limit_rules r);

ALTER FUNCTION "private"."rate_limits"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.read_subscription(id uuid)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT json_build_object('organization_id', s.organization_id, 'agent_id', a.id, 'events', s.events, 'survey_id', s.survey_id, 'xid', (s.xid)::text, 'expires_at', s.expires_at, 'expired', (s.expires_at <= now()), 'key_id', current_setting('feedback.key_id'::text), 'version', a.updated_at, 'category_ids', a.category_ids, 'survey_ids', a.survey_ids, 'scopes', string_to_array(current_setting('feedback.scopes'::text), ' '::text), 'tools', a.tools) AS json_build_object FROM (private.agent_subscriptions s JOIN private.agents a ON ((a.id = s.agent_id))) WHERE ((s.id = read_subscription.id) AND (s.agent_id = private.agent_id())));

ALTER FUNCTION "private"."read_subscription"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.refusal_message(refusal text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE refusal WHEN 'factor'::text THEN 'This account has a second factor. Send the token of a session that passed it (aal2).'::text WHEN 'client'::text THEN 'This token was issued to another application. Sign in to this one.'::text WHEN 'ended'::text THEN 'This session has ended. Sign in again.'::text ELSE 'The credential is not valid here. Sign in again, or replace the key. Agent keys work only at /api/mcp.'::text END;

ALTER FUNCTION "private"."refusal_message"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.refusing_invites(invite_id uuid)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT json_build_object('name', o.name, 'is_stopped', private.is_suppressed(o.id, i.email)) AS json_build_object FROM (private.invites i JOIN public.organizations o ON ((o.id = i.organization_id))) WHERE (i.id = refusing_invites.invite_id));

ALTER FUNCTION "private"."refusing_invites"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.address_of_undo(link_hash bytea)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT o.email FROM private.account_undos o WHERE ((o.link_hash = address_of_undo.link_hash) AND (o.undone_at IS NULL) AND (o.created_at > (now() - private.retention('account_undos'::text)))));

ALTER FUNCTION "private"."address_of_undo"(bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.search_class(p private.parsed_search, title tsvector, lexemes tsvector)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (title @@ (p).title_phrase) THEN 1 WHEN (title @@ (p).title_whole) THEN 2 WHEN (title @@ (p).title_ending) THEN 3 WHEN (title @@ (p).title_any) THEN 4 WHEN (title @@ (p).title_some) THEN 5 WHEN (lexemes @@ (p).text_ending) THEN 6 ELSE 7 END;

ALTER FUNCTION "private"."search_class"(private.parsed_search, tsvector, tsvector) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.search_query(q text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
RETURN plainto_tsquery('simple'::regconfig, q);

ALTER FUNCTION "private"."search_query"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.search_query(organization_id uuid, lexemes text[])
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN (('('::text || (SELECT string_agg(DISTINCT (((''''::text || "left"((search_query.organization_id)::text, 8)) || translate(l.l, '''\'::text, ''::text)) || ''''::text), '|'::text) AS string_agg FROM unnest(search_query.lexemes) l(l))) || ')'::text);

ALTER FUNCTION "private"."search_query"(uuid, text[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.count_submissions(organization_id uuid, status text, type text, category_ids uuid[])
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN private.count_in_scope(private.search_scope(organization_id, status, type, CASE WHEN (category_ids IS NOT NULL) THEN COALESCE((category_ids)[1], '00000000-0000-0000-0000-000000000000'::uuid) ELSE NULL::uuid END));

ALTER FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.search_tiers(organization_id uuid, votes integer, submission_id uuid)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
RETURN (SELECT array_agg(((("left"((search_tiers.organization_id)::text, 8) || '#'::text) || lpad((length(ltrim(((search_tiers.votes)::bit(32))::text, '0'::text)))::text, 2, '0'::text)) || "left"((search_tiers.submission_id)::text, n.n))) AS array_agg FROM generate_series(0, CASE WHEN (search_tiers.votes > 1) THEN 0 ELSE 2 END) n(n));

ALTER FUNCTION "private"."search_tiers"(uuid, integer, uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.setup_is_open()
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (NOT (EXISTS (SELECT FROM private.setup)));

ALTER FUNCTION "private"."setup_is_open"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.split_words(value text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
RETURN (SELECT array_agg(CASE WHEN private.is_unspaced(t.w) THEN t.w ELSE "left"(t.w, 60) END ORDER BY t.n) AS array_agg FROM regexp_split_to_table(regexp_replace("left"(private.fold_text(split_words.value), 10000), '([\u3400-\u9fff\uf900-\ufaff\u3005]+|[\u30a1-\u30fa\u30fc-\u30ff]+|[\u3041-\u309f]+|[\uac00-\ud7af]+|[\u0e00-\u0eff]+)'::text, ' \1 '::text, 'g'::text), '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u060c\u061b\u061f\u0964\u2000-\u206f\u20a0-\u20bf\u2190-\u21ff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u303d\u30a0\u30fb]+'::text) WITH ORDINALITY t(w, n) WHERE (t.w <> ''::text));

CREATE OR REPLACE FUNCTION private.highlight(value text, q text, words tsquery, whole boolean)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
RETURN private.highlight(value, (SELECT string_agg(('\m'::text || w.w), '|'::text) AS string_agg FROM unnest(private.split_words(highlight.q)) w(w)), whole);

ALTER FUNCTION "private"."highlight"(text, text, tsquery, boolean) OWNER TO "postgres";

ALTER FUNCTION "private"."split_words"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.name_words(name text)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_temp'
AS $function$
begin
  return array_remove(regexp_split_to_array(regexp_replace(private.plain_text(regexp_replace(name,
    '[''`\u00b4\u02bb\u02bc\u2018\u2019\u2032\uff07\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]', '', 'g')),
    '(' || private.unspaced_letter() || '+)', ' \1 ', 'g'), '[^[:alnum:]]+'), '');
end
$function$;

CREATE OR REPLACE FUNCTION private.name_key(name text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
AS $function$
begin
  return ' ' || regexp_replace(array_to_string(private.name_words(name), ' '),
    '(' || private.unspaced_letter() || ')(?=' || private.unspaced_letter() || ')', '\1 ', 'g');
end
$function$;

ALTER FUNCTION "private"."name_key"(text) OWNER TO "postgres";

ALTER FUNCTION "private"."name_words"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.stemmers()
 RETURNS regdictionary[]
 LANGUAGE sql
 IMMUTABLE
RETURN ARRAY['english_stem'::regdictionary, 'german_stem'::regdictionary, 'french_stem'::regdictionary, 'spanish_stem'::regdictionary, 'italian_stem'::regdictionary, 'portuguese_stem'::regdictionary, 'russian_stem'::regdictionary];

ALTER FUNCTION "private"."stemmers"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.stream_events(id uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT s.events FROM private.agent_streams s WHERE ((s.id = stream_events.id) AND (s.expires_at > now())));

ALTER FUNCTION "private"."stream_events"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.submission_of(data jsonb)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
RETURN (COALESCE((data ->> 'submission_id'::text), ((data -> 'submission'::text) ->> 'id'::text), ((data -> 'comment'::text) ->> 'submission_id'::text)))::uuid;

ALTER FUNCTION "private"."submission_of"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.submissions_with_text(submission_ids uuid[], q text)
 RETURNS uuid[]
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_temp'
RETURN submission_ids;

ALTER FUNCTION "private"."submissions_with_text"(uuid[], text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.token_bytes(metadata jsonb)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
RETURN octet_length(regexp_replace((metadata)::text, '[<>&\u2028\u2029]'::text, '______'::text, 'g'::text));

CREATE OR REPLACE FUNCTION private.metadata_of_auth(metadata jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
RETURN (SELECT COALESCE(jsonb_object_agg(jsonb_each.key, jsonb_each.value), '{}'::jsonb) AS "coalesce" FROM jsonb_each(metadata_of_auth.metadata) jsonb_each(key, value) WHERE ((jsonb_each.key = ANY ('{sub,email,email_verified,phone,phone_verified}'::text[])) AND (private.token_bytes(jsonb_each.value) <= 330)));

ALTER FUNCTION "private"."metadata_of_auth"(jsonb) OWNER TO "postgres";

ALTER FUNCTION "private"."token_bytes"(jsonb) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.topics_of(submission public.submissions)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
RETURN ARRAY[private.board_topic((submission).organization_id, (submission).is_public), private.submission_topic((submission).id, (submission).is_public)];

ALTER FUNCTION "private"."topics_of"(public.submissions) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.trim_text(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (value !~ '[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u070F\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\U00013430-\U00013442\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]'::text) THEN ''::text ELSE btrim(value, ' 	
                 　﻿'::text) END;

CREATE OR REPLACE FUNCTION private.unconfirmed_mails(organization public.organizations)
 RETURNS integer
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN COALESCE((SELECT b.used FROM private.mail_budgets b WHERE ((b.organization_id = (unconfirmed_mails.organization).id) AND (b.day = private.budget_day()))), 0);

ALTER FUNCTION "private"."unconfirmed_mails"(public.organizations) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.updated_submission(submission public.submissions)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
RETURN jsonb_build_object('submission', jsonb_build_object('id', (submission).id, 'title', (submission).title, 'description', (submission).description, 'type', (submission).type, 'status', (submission).status, 'vote_count', (submission).vote_count, 'category_id', (submission).category_id, 'tracker_issue_url', (submission).tracker_issue_url, 'merged_into_id', (submission).merged_into_id, 'created_at', (submission).created_at, 'updated_at', (submission).updated_at));

CREATE OR REPLACE FUNCTION private.reject_link(token_hash text)
 RETURNS text
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_temp'
RETURN (SELECT private.reject_request(l.id, l.is_change) AS reject_request FROM private.user_of_link(reject_link.token_hash) l(id, is_change));

ALTER FUNCTION "private"."reject_link"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.webhook_shape(webhook private.webhooks)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_temp'
RETURN json_build_object('id', ('wh_'::text || replace(((webhook).id)::text, '-'::text, ''::text)), 'url', (webhook).url, 'events', (webhook).events, 'enabled', (webhook).is_enabled, 'disabled_reason', (webhook).disabled_reason, 'previous_secret_expires_at', CASE WHEN ((webhook).previous_secret_until > now()) THEN (webhook).previous_secret_until ELSE NULL::timestamp with time zone END, 'created_at', (webhook).created_at, 'updated_at', (webhook).updated_at, 'created_by', private.author((webhook).created_by, (webhook).organization_id));

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

CREATE OR REPLACE FUNCTION public.start_survey(survey_id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 SET search_path TO 'pg_temp'
BEGIN ATOMIC
 SELECT private.start_survey(survey_id) AS start_survey;
END;

-- Texts without a visible character were accepted until now.
update public.organizations set name = slug where private.trim_text(name) = '';
update public.organizations set name = private.person_name(name) where name <> private.person_name(name);
update public.categories set name = slug where private.trim_text(name) = '';
update public.tags set name = slug where private.trim_text(name) = '';
update private.api_keys set name = 'Key' where private.trim_text(name) = '';
update private.agents set description = null where private.trim_text(description) = '';
update public.profiles set name = nullif(private.person_name(name), '')
where name is distinct from nullif(private.person_name(name), '');

-- A slug of UUID form would be taken for an id.
update public.organizations set slug = 'o-' || slug where private.is_uuid(slug);
update public.categories set slug = 'c-' || slug where private.is_uuid(slug);
update public.tags set slug = 't-' || slug where private.is_uuid(slug);

-- An address that nobody confirmed is no longer part of a profile.
update public.profiles p set email = null
from auth.users u where u.id = p.auth_user_id and u.email_confirmed_at is null and p.email is not null;

ALTER TABLE "private"."account_undos" ADD CONSTRAINT "account_undos_user_id_fkey" FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "private"."idempotency_keys" ADD CONSTRAINT "idempotency_keys_are_of_a_caller" UNIQUE (profile_id, key);

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."idempotency_keys" ADD CONSTRAINT "idempotency_keys_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."identified_people" ADD CONSTRAINT "identified_people_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."identified_people" ADD CONSTRAINT "identified_people_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_secrets" ADD CONSTRAINT "identify_secrets_created_by_fkey" FOREIGN KEY (created_by) REFERENCES public.profiles(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE "private"."identify_secrets" ADD CONSTRAINT "identify_secrets_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_sessions" ADD CONSTRAINT "identify_sessions_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_sessions" ADD CONSTRAINT "identify_sessions_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_sessions" ADD CONSTRAINT "identify_sessions_secret_id_fkey" FOREIGN KEY (secret_id) REFERENCES private.identify_secrets(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_tokens" ADD CONSTRAINT "identify_tokens_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_budgets" ADD CONSTRAINT "mail_budgets_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_choices" ADD CONSTRAINT "mail_choices_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_choices" ADD CONSTRAINT "mail_choices_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_items" ADD CONSTRAINT "mail_items_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_items" ADD CONSTRAINT "mail_items_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_mutes" ADD CONSTRAINT "mail_mutes_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_mutes" ADD CONSTRAINT "mail_mutes_submission_is_of_the_same_organization" FOREIGN KEY (organization_id, submission_id) REFERENCES public.submissions(organization_id, id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_suppressions" ADD CONSTRAINT "mail_suppressions_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."mail_suppressions" ADD CONSTRAINT "mail_suppressions_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE SET NULL;

ALTER TABLE "private"."mails" ADD CONSTRAINT "mails_invite_id_fkey" FOREIGN KEY (invite_id) REFERENCES private.invites(id) ON DELETE SET NULL;

ALTER TABLE "private"."mails" ADD CONSTRAINT "mails_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."mails" ADD CONSTRAINT "mails_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."search_frequencies" ADD CONSTRAINT "search_frequencies_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."search_statistics" ADD CONSTRAINT "search_statistics_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."search_words" ADD CONSTRAINT "search_words_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."submission_subtotals" ADD CONSTRAINT "submission_subtotals_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."survey_requests" ADD CONSTRAINT "survey_requests_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."survey_requests" ADD CONSTRAINT "survey_requests_survey_is_of_the_same_organization" FOREIGN KEY (organization_id, survey_id) REFERENCES public.surveys(organization_id, id) ON DELETE CASCADE;

ALTER TABLE "private"."unconfirmed_requests" ADD CONSTRAINT "unconfirmed_requests_user_id_fkey" FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;

ALTER TABLE "private"."unfollows" ADD CONSTRAINT "unfollows_submission_is_of_the_same_organization" FOREIGN KEY (organization_id, submission_id) REFERENCES public.submissions(organization_id, id) ON DELETE CASCADE;

ALTER TABLE "private"."unfollows" ADD CONSTRAINT "unfollows_user_id_fkey" FOREIGN KEY (user_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."webhook_backlogs" ADD CONSTRAINT "backlogs_are_of_a_webhook_of_their_organization" FOREIGN KEY (organization_id, webhook_id) REFERENCES private.webhooks(organization_id, id) ON DELETE CASCADE;

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."webhooks" ADD CONSTRAINT "webhooks_created_by_fkey" FOREIGN KEY (created_by) REFERENCES public.profiles(id) DEFERRABLE INITIALLY DEFERRED;

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."organizations" ADD CONSTRAINT "logo_url_is_an_https_address" CHECK ((((logo_url ~ '^https://\S+$'::text) OR (logo_url ~ (('^/logos/'::text || id) || '/[0-9a-f]{32}\.(png|jpg|webp)$'::text))) AND (char_length(logo_url) <= 2000)));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."organizations" ADD CONSTRAINT "plan_limits_are_not_negative" CHECK ((LEAST(max_submissions, max_members, max_surveys, max_unconfirmed_mails) >= 0));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."profiles" ADD CONSTRAINT "names_by_keys_have_no_address" CHECK (((NOT named_by_key) OR ((kind = 'anonymous'::text) AND (email IS NULL))));

-- squawk-ignore adding-serial-primary-key-field, constraint-missing-not-valid
ALTER TABLE "public"."submission_tags" ADD CONSTRAINT "submission_tags_pkey" PRIMARY KEY (submission_id, tag_id, organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "public"."survey_options" ADD CONSTRAINT "one_option_a_position" UNIQUE (question_id, "position", organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "public"."survey_options" ADD CONSTRAINT "one_option_a_text" UNIQUE (question_id, text, organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "public"."survey_questions" ADD CONSTRAINT "one_question_a_position" UNIQUE (survey_id, "position", organization_id);

-- squawk-ignore constraint-missing-not-valid, disallowed-unique-constraint
ALTER TABLE "public"."survey_questions" ADD CONSTRAINT "questions_belong_to_their_survey" UNIQUE (survey_id, id, organization_id);

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."survey_answer_counts" ADD CONSTRAINT "survey_answer_counts_question_is_of_the_same_survey" FOREIGN KEY (organization_id, survey_id, question_id) REFERENCES public.survey_questions(organization_id, survey_id, id) ON DELETE CASCADE;

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "public"."survey_options" ADD CONSTRAINT "survey_options_question_is_of_the_same_survey" FOREIGN KEY (organization_id, survey_id, question_id) REFERENCES public.survey_questions(organization_id, survey_id, id) ON DELETE CASCADE;

CREATE VIEW "private"."personal_rows" WITH (security_invoker=true) AS  SELECT submissions.author_id AS profile_id,
    submissions.organization_id,
    true AS takes_part
   FROM public.submissions
UNION ALL
 SELECT submission_subtotals.author_id AS profile_id,
    submission_subtotals.organization_id,
    false AS takes_part
   FROM private.submission_subtotals
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
 SELECT unfollows.user_id AS profile_id,
    unfollows.organization_id,
    false AS takes_part
   FROM private.unfollows
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

CREATE VIEW "public"."survey_results" WITH (security_invoker=true) AS  SELECT s.organization_id,
    s.id AS survey_id,
    f.response_count,
    f.start_count,
    f.completion_rate,
    f.timed_count,
    f.avg_completion_time,
    n.nps_count,
    n.nps_score,
    m.overall AS sentiment_overall,
    m.scored_count,
    m.positive_count,
    m.neutral_count,
    m.negative_count
   FROM (((public.surveys s
     CROSS JOIN LATERAL private.survey_sentiment(s.id) m(overall, scored_count, positive_count, neutral_count, negative_count))
     CROSS JOIN LATERAL private.survey_figures(ARRAY[s.id]) f(survey_id, response_count, start_count, completion_rate, timed_count, avg_completion_time))
     CROSS JOIN LATERAL ( SELECT (COALESCE(sum(b.total), (0)::numeric))::bigint AS nps_count,
            private.quotient(((100)::numeric * sum(
                CASE
                    WHEN (b.value_position >= 9) THEN b.total
                    WHEN (b.value_position <= 6) THEN (- b.total)
                    ELSE (0)::bigint
                END)), sum(b.total), 1) AS nps_score
           FROM private.survey_breakdown(s.id) b(question_id, question_position, type, question_text, value_position, value, total)
          WHERE (b.type = 'nps'::text)) n);

ALTER VIEW "public"."survey_results" OWNER TO "postgres";

CREATE INDEX account_undos_created_at_idx ON private.account_undos USING btree (created_at);

CREATE INDEX account_undos_user_idx ON private.account_undos USING btree (user_id, created_at);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX audit_log_action_idx ON private.audit_log USING btree (organization_id, action, created_at DESC, id DESC);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX first_replies_submitted_idx ON private.first_replies USING btree (organization_id, submitted_at) INCLUDE (milliseconds);

CREATE INDEX identify_secrets_created_by_idx ON private.identify_secrets USING btree (created_by);

CREATE INDEX identify_secrets_organization_idx ON private.identify_secrets USING btree (organization_id, created_at);

CREATE INDEX identify_sessions_age_idx ON private.identify_sessions USING btree (expires_at);

CREATE INDEX identify_sessions_organization_idx ON private.identify_sessions USING btree (organization_id);

CREATE INDEX identify_sessions_profile_idx ON private.identify_sessions USING btree (profile_id, created_at DESC);

CREATE INDEX identify_sessions_secret_idx ON private.identify_sessions USING btree (secret_id);

CREATE INDEX identify_tokens_age_idx ON private.identify_tokens USING btree (expires_at);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX invites_address_idx ON private.invites USING btree (email);

CREATE INDEX mail_choices_profile_idx ON private.mail_choices USING btree (profile_id);

CREATE INDEX mail_items_digest_idx ON private.mail_items USING btree (organization_id, profile_id, is_of_team, due_at);

CREATE INDEX mail_items_due_idx ON private.mail_items USING btree (due_at);

CREATE INDEX mail_mutes_profile_idx ON private.mail_mutes USING btree (profile_id);

CREATE INDEX mail_suppressions_address_idx ON private.mail_suppressions USING btree (address_hash);

CREATE INDEX mail_suppressions_profile_idx ON private.mail_suppressions USING btree (profile_id) WHERE (profile_id IS NOT NULL);

CREATE INDEX mails_finished_idx ON private.mails USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX mails_invite_idx ON private.mails USING btree (invite_id) WHERE (invite_id IS NOT NULL);

CREATE INDEX mails_of_a_day_idx ON private.mails USING btree (profile_id, created_at);

CREATE INDEX mails_organization_idx ON private.mails USING btree (organization_id, profile_id);

CREATE INDEX mails_waiting_idx ON private.mails USING btree (organization_id, is_confirmed, next_attempt_at) WHERE (status = ANY (ARRAY['pending'::text, 'sending'::text]));

CREATE UNIQUE INDEX one_mail_an_event_and_person ON private.mails USING btree (profile_id, (event_ids[1])) WHERE (kind <> ALL (ARRAY['digest'::text, 'team'::text, 'survey'::text]));

CREATE INDEX organization_slugs_organization_idx ON private.organization_slugs USING btree (organization_id);

CREATE INDEX search_words_trigram_idx ON private.search_words USING gin (organization_id, word extensions.gin_trgm_ops);

CREATE INDEX search_words_word_idx ON private.search_words USING btree (organization_id, word);

CREATE INDEX stopped_account_mail_stopped_at_idx ON private.stopped_account_mail USING btree (stopped_at);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX submission_search_lexemes_idx ON private.submission_search USING gin (lexemes);

CREATE INDEX submission_subtotals_author_idx ON private.submission_subtotals USING btree (author_id, organization_id) WHERE (author_id IS NOT NULL);

CREATE INDEX submission_subtotals_new_idx ON private.submission_subtotals USING btree (organization_id) WHERE (NOT is_sum);

CREATE INDEX submission_subtotals_tag_idx ON private.submission_subtotals USING btree (organization_id, tag_id);

CREATE INDEX survey_requests_profile_idx ON private.survey_requests USING btree (profile_id);

CREATE INDEX survey_requests_survey_idx ON private.survey_requests USING btree (organization_id, survey_id);

CREATE INDEX unfollows_user_idx ON private.unfollows USING btree (user_id);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX webhooks_created_by_idx ON private.webhooks USING btree (created_by);

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX one_author_a_name_of_keys ON public.profiles USING btree (organization_id, name) WHERE named_by_key;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX profiles_name_idx ON public.profiles USING gin (private.name_key(name) extensions.gin_trgm_ops) WHERE (kind = 'user'::text);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX profiles_name_of_organization_idx ON public.profiles USING gin (organization_id, private.name_key(name) extensions.gin_trgm_ops) WHERE (organization_id IS NOT NULL);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX status_changes_newest_idx ON public.status_changes USING btree (organization_id, created_at DESC, id DESC);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX submissions_title_idx ON public.submissions USING btree (organization_id, title COLLATE "und-x-icu" DESC, id DESC) WHERE (merged_into_id IS NULL);

CREATE TRIGGER count_request AFTER INSERT OR UPDATE OF confirmation_token, recovery_token ON auth.users FOR EACH ROW WHEN ((new.email_confirmed_at IS NULL)) EXECUTE FUNCTION private.count_request();

CREATE TRIGGER forget_requests AFTER UPDATE OF email_confirmed_at ON auth.users FOR EACH ROW WHEN ((new.email_confirmed_at IS NOT NULL)) EXECUTE FUNCTION private.forget_requests();

CREATE TRIGGER forget_undos AFTER UPDATE OF deleted_at ON auth.users FOR EACH ROW WHEN ((new.deleted_at IS NOT NULL)) EXECUTE FUNCTION private.forget_undos();

CREATE TRIGGER keep_profile_confirmed AFTER UPDATE OF email_confirmed_at ON auth.users FOR EACH ROW EXECUTE FUNCTION private.sync_profile_of_user();

CREATE TRIGGER keep_unfollow BEFORE INSERT ON public.follows FOR EACH ROW EXECUTE FUNCTION private.keep_unfollow();

CREATE TRIGGER refuse_after_undo BEFORE UPDATE OF encrypted_password, email, phone ON auth.users FOR EACH ROW WHEN ((((new.encrypted_password)::text IS DISTINCT FROM (old.encrypted_password)::text) OR ((new.email)::text IS DISTINCT FROM (old.email)::text) OR (new.phone IS DISTINCT FROM old.phone))) EXECUTE FUNCTION private.refuse_after_undo();

CREATE TRIGGER user_metadata_is_small BEFORE INSERT OR UPDATE OF raw_user_meta_data ON auth.users FOR EACH ROW EXECUTE FUNCTION private.bound_metadata();

CREATE TRIGGER who_confirms_owns BEFORE UPDATE OF email_confirmed_at, raw_user_meta_data ON auth.users FOR EACH ROW EXECUTE FUNCTION private.give_to_confirmer();

CREATE TRIGGER keep_maker BEFORE INSERT ON private.agents FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER keep_maker BEFORE INSERT ON private.api_keys FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER keep_maker BEFORE INSERT ON private.identify_secrets FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER note_confirmation BEFORE INSERT ON private.mails FOR EACH ROW EXECUTE FUNCTION private.note_confirmation();

CREATE TRIGGER keep_maker BEFORE INSERT OR UPDATE OF created_by ON private.webhooks FOR EACH ROW EXECUTE FUNCTION private.keep_maker_in_team();

CREATE TRIGGER by_function_only BEFORE INSERT OR DELETE ON public.comment_votes FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('vote_comment', '', 'unvote_comment');

CREATE TRIGGER count_added AFTER INSERT ON public.comment_votes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.count_comment_votes();

CREATE TRIGGER count_removed AFTER DELETE ON public.comment_votes REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.count_comment_votes();

CREATE TRIGGER refuse_erased BEFORE INSERT ON public.comment_votes FOR EACH ROW EXECUTE FUNCTION private.refuse_erased();

CREATE TRIGGER by_function_only BEFORE INSERT OR DELETE OR UPDATE ON public.comments FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('create_comment', 'update_comment', 'delete_comment');

CREATE TRIGGER tell_added AFTER INSERT ON public.comments REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_comments();

CREATE TRIGGER tell_changed AFTER UPDATE ON public.comments REFERENCING OLD TABLE AS old_rows NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_comments();

CREATE TRIGGER tell_moderated AFTER UPDATE OF moderation_state ON public.comments FOR EACH ROW WHEN ((old.moderation_state <> new.moderation_state)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER tell_removed AFTER DELETE ON public.comments REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_comments();

CREATE TRIGGER tell_waiting AFTER INSERT ON public.comments FOR EACH ROW WHEN ((new.moderation_state <> 'approved'::text)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER by_function_only BEFORE INSERT OR DELETE ON public.follows FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('follow', '', 'unfollow');

CREATE TRIGGER keep_member_limit AFTER INSERT ON public.memberships REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.enforce_plan_limit();

CREATE TRIGGER by_function_only BEFORE UPDATE ON public.notifications FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('', 'mark_notifications_read');

CREATE TRIGGER queue_mails AFTER INSERT ON public.notifications REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.queue_mails();

CREATE TRIGGER announce AFTER UPDATE ON public.organizations FOR EACH ROW WHEN (((to_jsonb(old.*) - 'updated_at'::text) IS DISTINCT FROM (to_jsonb(new.*) - 'updated_at'::text))) EXECUTE FUNCTION private.announce_organization();

CREATE TRIGGER clean_name BEFORE INSERT OR UPDATE OF name ON public.organizations FOR EACH ROW EXECUTE FUNCTION private.clean_name();

CREATE TRIGGER end_setup AFTER INSERT ON public.organizations FOR EACH STATEMENT EXECUTE FUNCTION private.end_setup();

CREATE TRIGGER remove_last_logo AFTER DELETE ON public.organizations FOR EACH ROW WHEN ((old.logo_url ~~ '/logos/%'::text)) EXECUTE FUNCTION private.remember_removed_logo();

CREATE TRIGGER remove_replaced_logo AFTER UPDATE OF logo_url ON public.organizations FOR EACH ROW WHEN (((old.logo_url ~~ '/logos/%'::text) AND (new.logo_url IS DISTINCT FROM old.logo_url))) EXECUTE FUNCTION private.remember_removed_logo();

CREATE TRIGGER rename_keys AFTER UPDATE OF name ON public.organizations FOR EACH ROW WHEN ((new.name <> old.name)) EXECUTE FUNCTION private.rename_keys();

CREATE TRIGGER take_slug BEFORE INSERT OR UPDATE OF slug ON public.organizations FOR EACH ROW EXECUTE FUNCTION private.take_slug();

CREATE TRIGGER by_function_only BEFORE UPDATE ON public.profiles FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('', 'update_profile');

CREATE TRIGGER reject_name_of_team BEFORE UPDATE OF name ON public.profiles FOR EACH ROW WHEN (((new.name <> old.name) AND (new.id = private.caller_id()) AND (new.kind <> 'key'::text))) EXECUTE FUNCTION private.reject_name_of_team();

CREATE TRIGGER sync_language_of_user AFTER UPDATE OF locale ON public.profiles FOR EACH ROW WHEN (((new.locale IS DISTINCT FROM old.locale) AND (new.auth_user_id IS NOT NULL))) EXECUTE FUNCTION private.sync_language_of_user();

CREATE TRIGGER count_added AFTER INSERT ON public.submission_tags REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.count_changed_tags();

CREATE TRIGGER count_changed AFTER UPDATE ON public.submission_tags REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.count_changed_tags();

CREATE TRIGGER count_removed AFTER DELETE ON public.submission_tags REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION private.count_changed_tags();

CREATE TRIGGER by_function_only BEFORE INSERT OR DELETE OR UPDATE ON public.submissions FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('create_submission', 'update_submission', 'delete_submission');

CREATE TRIGGER index_votes AFTER UPDATE OF vote_count ON public.submissions FOR EACH ROW WHEN ((length(ltrim(((old.vote_count)::bit(32))::text, '0'::text)) <> length(ltrim(((new.vote_count)::bit(32))::text, '0'::text)))) EXECUTE FUNCTION private.index_votes();

CREATE TRIGGER keep_plan_limit AFTER INSERT ON public.submissions REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.enforce_plan_limit();

CREATE TRIGGER queue_summaries AFTER INSERT ON public.submissions REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.queue_summaries();

CREATE TRIGGER store_words AFTER INSERT OR UPDATE OF title, description, moderation_state ON public.submissions FOR EACH ROW EXECUTE FUNCTION private.index_submission();

CREATE TRIGGER tell_added AFTER INSERT ON public.submissions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_submissions();

CREATE TRIGGER tell_changed AFTER UPDATE ON public.submissions REFERENCING OLD TABLE AS old_rows NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_submissions();

CREATE TRIGGER tell_moderated AFTER UPDATE OF moderation_state ON public.submissions FOR EACH ROW WHEN ((old.moderation_state <> new.moderation_state)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER tell_removed AFTER DELETE ON public.submissions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION private.broadcast_submissions();

CREATE TRIGGER tell_waiting AFTER INSERT ON public.submissions FOR EACH ROW WHEN ((new.moderation_state <> 'approved'::text)) EXECUTE FUNCTION private.broadcast_moderation();

CREATE TRIGGER uncount_tags BEFORE DELETE ON public.submissions FOR EACH ROW WHEN ((old.merged_into_id IS NULL)) EXECUTE FUNCTION private.count_tags_of_deleted();

CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE ON public.survey_options FOR EACH ROW WHEN (private.is_moderating(NULL::uuid)) EXECUTE FUNCTION private.audit_questions();

CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE ON public.survey_questions FOR EACH ROW WHEN (private.is_moderating(NULL::uuid)) EXECUTE FUNCTION private.audit_questions();

CREATE TRIGGER refuse_erased BEFORE INSERT ON public.survey_responses FOR EACH ROW WHEN (new.is_only) EXECUTE FUNCTION private.refuse_erased();

CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE ON public.surveys FOR EACH ROW WHEN (private.is_moderating(NULL::uuid)) EXECUTE FUNCTION private.audit_survey();

CREATE TRIGGER keep_plan_limit AFTER INSERT ON public.surveys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION private.enforce_plan_limit();

CREATE TRIGGER by_function_only BEFORE INSERT OR DELETE ON public.votes FOR EACH STATEMENT WHEN ((SESSION_USER <> 'feedback_api'::name)) EXECUTE FUNCTION private.reject_table_write('vote', '', 'unvote');

CREATE TRIGGER refuse_erased BEFORE INSERT ON public.votes FOR EACH ROW EXECUTE FUNCTION private.refuse_erased();

CREATE POLICY "only valid sessions see and change rows" ON "public"."categories" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."comment_votes" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "authors and admins delete" ON "public"."comments" FOR DELETE TO "authenticated" USING (((((author_id = ( SELECT auth.uid() AS uid)) AND ((NOT is_official) OR (organization_id = ANY (( SELECT private.team_organization_ids() AS team_organization_ids)::uuid[])))) OR (organization_id = ANY (( SELECT private.admin_organization_ids(''::text) AS admin_organization_ids)::uuid[]))) AND private.lock_thread(id)));

CREATE POLICY "authors edit" ON "public"."comments" FOR UPDATE TO "authenticated" USING (((author_id = ( SELECT auth.uid() AS uid)) AND ((NOT is_official) OR (organization_id = ANY (( SELECT private.team_organization_ids() AS team_organization_ids)::uuid[]))) AND private.lock_thread(id))) WITH CHECK ((author_id = ( SELECT auth.uid() AS uid)));

CREATE POLICY "only valid sessions see and change rows" ON "public"."comments" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."follows" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."memberships" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."notifications" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."organizations" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."profiles" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."status_changes" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."submission_tags" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."submissions" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."survey_options" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."survey_questions" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."survey_responses" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."surveys" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."tags" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

CREATE POLICY "only valid sessions see and change rows" ON "public"."votes" AS RESTRICTIVE FOR ALL TO "authenticated" USING (( SELECT ((SESSION_USER = 'feedback_api'::name) OR (private.token_refusal() IS NULL))));

COMMENT ON FUNCTION "public"."create_comment"(uuid, text, uuid) IS 'Comments on a submission, or replies to its comment parent_id, as the signed-in user; returns the comment''s id.';

COMMENT ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) IS 'Creates an idea or a problem as the signed-in user, who votes for it and follows it; returns its id. organization_id is required if there is more than one organization.';

COMMENT ON FUNCTION "public"."my_votes"(uuid[]) IS 'The signed-in user''s votes for the given submissions, and when they voted (voted_at). Never returns votes of other users.';

COMMENT ON FUNCTION "public"."search_submissions"(text, uuid, integer) IS 'Submissions of an organization that match a query of 1 to 200 characters, best first: words, "phrases", -exclusions and OR. At most max_results, up to 100. match is any if none has all words. Errors: VALIDATION_ERROR.';

COMMENT ON FUNCTION "public"."start_survey"(uuid) IS 'Call it when the signed-in user starts to answer: completion time is measured from the first call, without one from the first GET /api/surveys/:id. Repeated calls have no effect.';

COMMENT ON FUNCTION "public"."unfollow"(uuid) IS 'Unfollows a submission and those merged into it: the signed-in user hears no more of them, not even as the author. Returns false if they followed none of them.';

COMMENT ON TABLE "private"."audit_log" IS 'Audit trail of the team and its keys. actor_id: the acting profile (null: an operator); key_id: the key it used. details describes the change without personal data. Append-only; deleted with the organization.';

COMMENT ON TABLE "private"."account_undos" IS 'Links that undo a change of address or password, as hashes, with the address that the account had before and that got the link. Valid once (undone_at) within private.retention(account_undos).';

COMMENT ON TABLE "private"."address_key" IS 'The key of private.address_hash if there is no Vault (90_upkeep.sql creates it); no API role can read it.';

COMMENT ON TABLE "private"."agent_streams" IS 'Tool calls that run when their stream is first read; kept ten minutes. is_sentence: tool and arguments were parsed from natural language. events is [name, data] after the run, stored in the transaction of the call, or the refusal of a sentence.';

COMMENT ON TABLE "private"."author_trust" IS 'The team''s decisions about authors: trusted authors need no approval; the others always need it, regardless of earlier approvals.';

COMMENT ON TABLE "private"."idempotency_keys" IS 'Responses to POST requests with an Idempotency-Key, by a key, or to a form with an id, by a person; kept for a day. profile_id: the person, or the profile of the key, which its rotation keeps. request is the SHA-256 of route, path, query and body.';

COMMENT ON TABLE "private"."identified_people" IS 'People an organization identified: its own name for the person (sub of a token) and the e-mail author they are. The address in a token decides once, when the subject is new.';

COMMENT ON TABLE "private"."identify_secrets" IS 'Secrets with which an organization''s application signs tokens of its users, at most two, so that one can replace the other. Encrypted like those of webhooks; deleting one ends the sessions it opened.';

COMMENT ON TABLE "private"."identify_sessions" IS 'Sessions of identified people, by the SHA-256 digest of their secret. A session ends by expiry, or when its row is deleted: by signing out, with the signing secret, and with the person.';

COMMENT ON TABLE "private"."identify_tokens" IS 'Tokens with a jti that were used, until they have expired: such a token works once. digest is the SHA-256 of the jti.';

COMMENT ON TABLE "private"."import_file_parts" IS 'The file of an unfinished import, or of the newest dry run, in parts of 1 MiB.';

COMMENT ON TABLE "private"."import_ids" IS 'Ids that a running import has read, with the digest of the first record of each.';

COMMENT ON TABLE "private"."imports" IS 'Imports and their progress. processed = created + skipped + failed; problem: the reason of a failure. A job has a query: its file is stored first and then written in steps with the credential that sent it. position: start of the next rows in the file; chunks_done: number of written chunks of these rows; records_done: of the next chunk; records_at_once: how many of a chunk are tried together; claimed_until: lease of the schedule, or the end of the last one.';

COMMENT ON TABLE "private"."mail_budgets" IS 'Mails of an organization to unconfirmed recipients on the newest day (UTC) on which it sent any: at most organizations.max_unconfirmed_mails.';

COMMENT ON TABLE "private"."mail_choices" IS 'A person''s choice for a kind of mail of an organization; without a row the default applies.';

COMMENT ON TABLE "private"."mail_items" IS 'Pending entries of digests: notifications of a person, or (is_of_team) new submissions for the summary of a team member. Rows are only added and taken, so that transactions do not wait for each other.';

COMMENT ON TABLE "private"."mail_mutes" IS 'Submissions of which a person wants no mail, also where they follow them.';

COMMENT ON TABLE "private"."mail_suppressions" IS 'Addresses, as keyed hashes (private.address_hash), that get no mail: of this organization where their owner refused it, of none where mail bounced for good or was complained about. Stays after an erasure, without the profile.';

COMMENT ON TABLE "private"."mails" IS 'Mails to be: pending, sending (claimed until next_attempt_at, when the lease ends), sent, failed, or dropped because its recipient may not see it or does not want it any more. event_ids are those of the notifications, for kind team the submissions, for survey the survey, twice for a reminder. An invite goes to the address of the invite, which may have no profile; without invite_id its address was erased. The id is in the Message-ID. is_confirmed: private.is_confirmed_recipient when it was queued; such mails are claimed first. Finished mails are kept for private.retention(mails).';

COMMENT ON TABLE "private"."organization_slugs" IS 'Every slug that an organization has or had: links with a former one lead on, and no other organization can take it. Without a foreign key, since slugs of deleted organizations stay taken.';

COMMENT ON TABLE "private"."outbox" IS 'Events in commit order: readers select xid < pg_snapshot_xmin(pg_current_snapshot()) ordered by (xid, id); that pair is the cursor. category_id is that of the submission at the time. Kept for private.retention(events).';

COMMENT ON TABLE "private"."removed_logos" IS 'Paths of uploaded logos that were replaced, or whose organization was deleted: their files are to be deleted.';

COMMENT ON TABLE "private"."search_frequencies" IS 'Share of submissions with a common lexeme. It decides how a search for all words reads, not what it finds.';

COMMENT ON TABLE "private"."search_statistics" IS 'Number of submissions of an organization, and of those in each tier of votes, when last counted.';

COMMENT ON TABLE "private"."search_words" IS 'Words of approved submissions, to suggest a known word for an unknown one. Not unique, so that no submission waits for another one with the same new word; the schedule removes words that are gone.';

COMMENT ON TABLE "private"."setup" IS 'Has a row once an organization was created: the setup is then closed forever, even if all organizations are deleted.';

COMMENT ON TABLE "private"."stopped_account_mail" IS 'Mailboxes, as keyed hashes, whose owner wants no mail about accounts that others make with their address. An address with a confirmed account gets its mail. Kept for private.retention(stopped_account_mail).';

COMMENT ON TABLE "private"."submission_search" IS 'Search data of submissions: lexemes for search, title_lexemes those of the title only; title and content (lowercase, without accents) for similarity.';

COMMENT ON TABLE "private"."submission_subtotals" IS 'Numbers of listed submissions of an author, or with a tag: the sum of total. Triggers insert changes and update no row, so that no writer waits for another; the schedule replaces the rows of an author or a tag by their sums (is_sum).';

COMMENT ON TABLE "private"."survey_requests" IS 'Whom a team asked by mail to answer a survey, and reminded: each once.';

COMMENT ON TABLE "private"."survey_starts" IS 'Surveys that a user has started and not answered yet. Submitting moves started_at to the response. by_reading: the user has read the survey and not called start_survey, which sets started_at anew.';

COMMENT ON TABLE "private"."unconfirmed_requests" IS 'Sign-ups, codes, links, resets and invitations that were requested for an account whose address nobody has confirmed yet. More than one: they can be by different people.';

COMMENT ON TABLE "private"."unfollows" IS 'Submissions of which a person wants to hear nothing, not even as the author. Only that person can end it, by following; their votes and comments do not.';

COMMENT ON TABLE "private"."webhook_backlogs" IS 'Endpoints that are behind private.webhook_cursor, and the outbox position up to which their deliveries exist: those of organizations with many deliveries at a time, and those with many due ones.';

COMMENT ON TABLE "private"."webhooks" IS 'Webhook endpoints, at most 100 for an organization. events holds the requested names, including aliases. Secrets are encrypted with AES-256-GCM as <key id>.<base64url>. is_healthy: the last response was a success, so several deliveries may be in flight. enabled_at: earlier events are not sent. created_by: the person, also behind a key, who gave it its URL and secret last.';

COMMENT ON TABLE "public"."organizations" IS 'A tenant: one board of feedback, its surveys and its team. settings is free-form data of the team. brand_color and logo_url apply to its pages (null: defaults); a logo_url below /logos/ is the path of an uploaded image. default_locale: language of the pages for browsers without a supported language. allow_indexing: whether search engines may index the pages of a public board. mail_enabled: whether mail is sent; mail_defaults apply to people without their own preferences (73_mail_1_preferences.sql). anonymous_may: rights of anonymous users. Plan limits are null if unlimited; max_unconfirmed_mails: mails in a day to people whose address was only entered by others (private.is_confirmed_recipient).';

COMMENT ON TABLE "public"."profiles" IS 'Actors: a user, an e-mail author of one organization, an API key, an agent, or a profile without address (erased, imported by name, or named by a key: named_by_key, one for each name of an organization). The profile of a key has the name of its organization. The id of a user profile equals the auth user id. email is never granted to clients. locale: the language chosen for the pages, readable by the user only. is_anonymous: the user signed in anonymously (Supabase anonymous sign-ins).';

COMMENT ON TABLE "public"."submissions" IS 'Feedback: an idea or a problem. Triggers maintain vote_count and comment_count (approved comments). is_public: anyone may see it, because the board is public and the submission is approved. merged_into_id points to the merge target; merged submissions are excluded from lists. is_changed_by_author: somebody who does not moderate has changed the text since it was submitted.';

COMMENT ON TYPE "private"."caller" IS 'Authenticated caller. kind: public, user, key or agent. organization_id: that of a key, an agent or an identified person, who act nowhere else. level: the rate limit rule that counts all calls of the caller.';

COMMENT ON TYPE "private"."parsed_search" IS 'A query in its ways to match, each including the ones before: the phrase, whole words, endings, beginnings (any), and some word in the title. The shares are the largest part of the board that can match. words are those that must be there, each with a query of its own. marks is a regular expression.';

COMMENT ON TYPE "private"."search_hit" IS 'A match: class 1 has the phrase in the title, 2 all words, 3 with other endings, 4 as beginnings; 5 has some of them in the title; 6 has them in the text, 7 as beginnings; 8 does not have all words, and votes is its rank.';

COMMENT ON TYPE "private"."search_scope" IS 'The submissions that a search may find: an organization''s, with filters, that the caller can see.';

COMMENT ON TYPE "private"."tag_change" IS 'A tag of a submission that was added (change 1) or removed (-1).';

COMMENT ON VIEW "private"."personal_rows" IS 'Who is named in which organization, by private.personal_columns.';

COMMENT ON VIEW "public"."survey_results" IS 'Results of surveys for Admin: the numbers of GET /api/surveys/:id/analytics. A rate, mean or score is 0 if its count is 0.';

REVOKE ALL ON FUNCTION "private"."accept_invite"(bytea, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."accept_invite"(bytea, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."accept_invite"(bytea, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."accept_invite"(bytea, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."account_mail_is_stopped"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."account_mail_is_stopped"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."account_mail_is_stopped"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."account_mail_is_stopped"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."account_of_link"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."account_of_link"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."account_of_link"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."account_of_link"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."actor_name"(public.profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."actor_name"(public.profiles) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."actor_name"(public.profiles) TO "postgres";

REVOKE ALL ON FUNCTION "private"."address_can_be_restored"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."address_can_be_restored"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."address_can_be_restored"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."address_of"(private.mails) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."address_of"(private.mails) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."address_of"(private.mails) TO "postgres";

REVOKE ALL ON FUNCTION "private"."address_of_undo"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."address_of_undo"(bytea) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."address_of_undo"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."address_of_undo"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_apply_import"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_apply_import"(uuid, jsonb) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_apply_import"(uuid, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_apply_import"(uuid, jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_apply_import"(uuid, jsonb) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_audit"(uuid, uuid, timestamp with time zone, uuid, integer, text, date, date) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_audit_choices"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_audit_choices"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_audit_choices"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_audit_choices"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_change_role"(uuid, uuid, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_decide_trust"(uuid, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_delete_identify_secret"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_delete_identify_secret"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_delete_identify_secret"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_delete_identify_secret"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_frame"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_frame"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_frame"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_frame"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_lift_mail_suppression"(uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_list_identify_secrets"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_list_identify_secrets"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_list_identify_secrets"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_list_identify_secrets"() TO "postgres";

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

REVOKE ALL ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_merge_preview"(uuid[], uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate"(text, uuid, text, text, boolean, timestamp with time zone) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_moderate_many"(text[], uuid[], text, text, boolean, timestamp with time zone[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_newest_events"(text[], xid8, bigint, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_person"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_person"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_person"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_person"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_person"(uuid) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_remove_member"(uuid, uuid, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_search_people"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_search_people"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_search_people"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_search_people"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_search_people"(text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."admin_signing_secrets"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_signing_secrets"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_signing_secrets"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_signing_secrets"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."admit_account_mail"(text, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admit_account_mail"(text, text, uuid) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."admit_account_mail"(text, text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admit_account_mail"(text, text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admit_request"(uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admit_request"(uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."admit_request"(uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admit_request"(uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."agent_self"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."agent_self"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."agent_self"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."agent_self"() TO "service_key";

REVOKE ALL ON FUNCTION "private"."agent_shape"(private.agents) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."agent_shape"(private.agents) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."agent_shape"(private.agents) TO "postgres";

REVOKE ALL ON FUNCTION "private"."are_mail_choices"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."are_mail_choices"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_mail_choices"(jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."are_mail_choices"(jsonb) TO "service_role";

REVOKE ALL ON FUNCTION "private"."assume_caller"(text, uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."assume_caller"(text, uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."assume_caller"(text, uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."assume_caller"(text, uuid, uuid, text, bytea, boolean, text, text[], text, text, text, boolean, text, uuid, boolean, text, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_draft"(uuid, uuid, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_questions"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_questions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_questions"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_read"(text, text, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_responses"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."audit_responses"(uuid, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."audit_responses"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_responses"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_responses"(uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."audit_survey"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_survey"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_survey"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."avatar"(public.profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."avatar"(public.profiles) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."avatar"(public.profiles) TO "postgres";

REVOKE ALL ON FUNCTION "private"."board"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."board"(uuid, text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."board"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."board"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."board"(uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."bound_metadata"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."bound_metadata"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."bound_metadata"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."broadcast_moderation"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."broadcast_moderation"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."broadcast_moderation"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."budget_day"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."budget_day"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."budget_day"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."candidate_submissions"(uuid, text, text, uuid, uuid, uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."change_mail_preferences"(uuid, uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."change_mail_preferences"(uuid, uuid, jsonb) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."change_mail_preferences"(uuid, uuid, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."change_mail_preferences"(uuid, uuid, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."change_my_mail_preferences"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."change_my_mail_preferences"(jsonb) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."change_my_mail_preferences"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."change_my_mail_preferences"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."charge_rule"(text, text, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."charge_rule"(text, text, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."charge_rule"(text, text, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_author"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."claim_author"(uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."claim_author"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_author"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_deliveries"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_deliveries"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_deliveries"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_mail"(uuid, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_mails"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_mails"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_mails"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_responses"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_responses"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_responses"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."claim_votes"(uuid, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."compute_subtotals"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."compute_subtotals"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."compute_subtotals"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_changed_tags"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_changed_tags"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_changed_tags"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_comment_votes"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_comment_votes"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_comment_votes"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_discrepancies"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_discrepancies"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_discrepancies"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_in_scope"(private.search_scope, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_in_scope"(private.search_scope, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_in_scope"(private.search_scope, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_matches"(private.search_scope, private.parsed_search, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_matches"(private.search_scope, private.parsed_search, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_matches"(private.search_scope, private.parsed_search, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_request"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_request"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_request"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_submissions"(uuid, text, text, uuid[]) TO "service_key";

REVOKE ALL ON FUNCTION "private"."count_tags_of_deleted"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_tags_of_deleted"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_tags_of_deleted"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_unconfirmed_request"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."count_unconfirmed_request"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."count_unconfirmed_request"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_unconfirmed_request"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."create_organization"(text, text, text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."create_organization"(text, text, text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."create_organization"(text, text, text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."decide_alone"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."decide_alone"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."decide_alone"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_made_by"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."end_made_by"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_made_by"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_session"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."end_session"(bytea) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."end_session"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_session"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_setup"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."end_setup"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_setup"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_write"(anyelement) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."end_write"(anyelement) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."end_write"(anyelement) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_write"(anyelement) TO "postgres";

REVOKE ALL ON FUNCTION "private"."enforce_plan_limit"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."enforce_plan_limit"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."enforce_plan_limit"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."few_in_scope"(private.search_scope) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."few_in_scope"(private.search_scope) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."few_in_scope"(private.search_scope) TO "postgres";

REVOKE ALL ON FUNCTION "private"."filter_size"(private.search_scope) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."filter_size"(private.search_scope) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."filter_size"(private.search_scope) TO "postgres";

REVOKE ALL ON FUNCTION "private"."find_idempotent_response"(text, bytea) FROM "authenticated";

GRANT EXECUTE ON FUNCTION "private"."find_idempotent_response"(text, bytea) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."find_submissions"(uuid, text, text, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."find_submissions"(uuid, text, text, integer) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."find_submissions"(uuid, text, text, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_submissions"(uuid, text, text, integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_submissions"(uuid, text, text, integer) TO "service_key";

REVOKE ALL ON FUNCTION "private"."find_submissions"(uuid, text, text, text, uuid, uuid, uuid, private.search_hit, integer, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."find_submissions"(uuid, text, text, text, uuid, uuid, uuid, private.search_hit, integer, boolean) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."find_submissions"(uuid, text, text, text, uuid, uuid, uuid, private.search_hit, integer, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_submissions"(uuid, text, text, text, uuid, uuid, uuid, private.search_hit, integer, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_submissions"(uuid, text, text, text, uuid, uuid, uuid, private.search_hit, integer, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."fold_text"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."fold_text"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."fold_text"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."follow_for"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."follow_for"(uuid, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."follow_for"(uuid, uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."follow_for"(uuid, uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."forget_identified"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."forget_identified"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."forget_identified"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."forget_requests"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."forget_requests"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."forget_requests"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."forget_undos"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."forget_undos"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."forget_undos"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."full_matches"(private.search_scope, private.parsed_search, integer, private.search_hit) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."full_matches"(private.search_scope, private.parsed_search, integer, private.search_hit) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."full_matches"(private.search_scope, private.parsed_search, integer, private.search_hit) TO "postgres";

REVOKE ALL ON FUNCTION "private"."gather_digests"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."gather_digests"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."gather_digests"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."give_to_confirmer"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."give_to_confirmer"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."give_to_confirmer"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."has_address"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."has_address"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."has_address"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."has_same_mail"(private.mails) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."has_same_mail"(private.mails) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."has_same_mail"(private.mails) TO "postgres";

REVOKE ALL ON FUNCTION "private"."has_tag"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."has_tag"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."has_tag"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."highlight"(text, text, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."highlight"(text, text, boolean) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."highlight"(text, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."highlight"(text, text, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."highlight"(text, text, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."highlight"(text, text, tsquery, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."highlight"(text, text, tsquery, boolean) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."highlight"(text, text, tsquery, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."highlight"(text, text, tsquery, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."highlight"(text, text, tsquery, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) TO "postgres";

REVOKE ALL ON FUNCTION "private"."import_shape"(private.imports) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."import_shape"(private.imports) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."import_shape"(private.imports) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_checked_import"(private.imports) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_checked_import"(private.imports) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_checked_import"(private.imports) TO "postgres";

REVOKE ALL ON FUNCTION "private"."in_search_scope"(private.search_scope, public.submissions) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."in_search_scope"(private.search_scope, public.submissions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."in_search_scope"(private.search_scope, public.submissions) TO "postgres";

REVOKE ALL ON FUNCTION "private"."in_title"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."in_title"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."in_title"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."index_votes"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."index_votes"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."index_votes"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."invite_shape"(private.invites) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."invite_shape"(private.invites) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."invite_shape"(private.invites) TO "postgres";

REVOKE ALL ON FUNCTION "private"."invite_status"(private.invites) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."invite_status"(private.invites) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."invite_status"(private.invites) TO "postgres";

REVOKE ALL ON FUNCTION "private"."inviter_is_authorized"(private.invites) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."inviter_is_authorized"(private.invites) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."inviter_is_authorized"(private.invites) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_confirmed_recipient"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_counted_by_address"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_counted_by_address"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_counted_by_address"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_direct"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_direct"() TO "authenticated", "feedback_api";

REVOKE ALL ON FUNCTION "private"."is_direct"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_direct"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_direct"() TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."is_full"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_full"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_full"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_in_audience"(public.surveys, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_in_audience"(public.surveys, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_in_audience"(public.surveys, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_internal_write"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_internal_write"() TO "authenticated", "feedback_api";

REVOKE ALL ON FUNCTION "private"."is_internal_write"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_internal_write"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_internal_write"() TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."is_mail_kind"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_mail_kind"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_mail_kind"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_muted"(uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_muted"(uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_muted"(uuid, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_own_act"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_own_act"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_own_act"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_own_team"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_own_team"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_own_team"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_personal_answer"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_personal_answer"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_personal_answer"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_silent"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_silent"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_silent"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_suppressed"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_suppressed"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_suppressed"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_unspaced"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."is_unspaced"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_unspaced"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."is_uuid"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_uuid"(text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."is_uuid"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_uuid"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_uuid"(text) TO "service_role";

REVOKE ALL ON FUNCTION "private"."keep_maker_in_team"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."keep_maker_in_team"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."keep_maker_in_team"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."keep_unfollow"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."keep_unfollow"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."keep_unfollow"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."key_id"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."key_id"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."key_id"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."known_words"(private.search_scope, text, uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."known_words"(private.search_scope, text, uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."known_words"(private.search_scope, text, uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."list_submissions"(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."list_submissions"(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer, integer) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."list_submissions"(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."list_submissions"(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer, integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."list_submissions"(uuid, text, text, text, uuid, uuid, uuid, text, boolean, text, uuid, integer, integer) TO "service_key";

REVOKE ALL ON FUNCTION "private"."localized_tags_of"(uuid[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."localized_tags_of"(uuid[], text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."localized_tags_of"(uuid[], text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."localized_tags_of"(uuid[], text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."localized_tags_of"(uuid[], text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."lock_caller"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lock_caller"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."lock_caller"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."lock_caller"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."lock_caller"() TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."made_by"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."made_by"(uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."made_by"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."made_by"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_address"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_address"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_address"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_choice"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_choice"(uuid, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_choice"(uuid, uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_content"(private.mails) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_content"(private.mails) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_content"(private.mails) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_event"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_event"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_event"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_kind"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_kind"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_kind"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_kinds"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_kinds"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_kinds"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_kinds"() TO "service_role";

REVOKE ALL ON FUNCTION "private"."mail_locale"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mail_locale"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_locale"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_preferences"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mail_preferences"(uuid, uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."mail_preferences"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_preferences"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mail_survey"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mail_survey"(uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."mail_survey"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_survey"(uuid, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."mail_survey"(uuid, boolean) TO "service_key";

REVOKE ALL ON FUNCTION "private"."mailbox"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mailbox"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mailbox"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mask_addresses"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."mask_addresses"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mask_addresses"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_shape"(public.memberships, boolean, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_shape"(public.memberships, boolean, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_shape"(public.memberships, boolean, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."metadata_of_auth"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."metadata_of_auth"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."metadata_of_auth"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."mute_submission"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."mute_submission"(uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."mute_submission"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."mute_submission"(uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."my_profile"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."my_profile"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."my_profile"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."my_profile"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."my_second_factors"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."my_second_factors"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."my_second_factors"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."my_second_factors"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."name_key"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."name_key"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."name_key"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."name_key"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."name_key"(text) TO "service_role";

REVOKE ALL ON FUNCTION "private"."name_skeleton"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."name_skeleton"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."name_skeleton"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."name_words"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."name_words"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."name_words"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."needs_password"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."needs_password"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."needs_password"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."needs_password"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."next_digest"(text, text, timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."next_digest"(text, text, timestamp with time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."next_digest"(text, text, timestamp with time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."note_confirmation"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."note_confirmation"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."note_confirmation"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."offered_survey"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."offered_survey"(text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."offered_survey"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."offered_survey"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_account_undo"(uuid, text, bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_claim"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_claim"(uuid, uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."open_claim"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_claim"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_stream"(uuid, text, jsonb, boolean, text, boolean, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."open_stream"(uuid, text, jsonb, boolean, text, boolean, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_stream"(uuid, text, jsonb, boolean, text, boolean, jsonb) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_stream"(uuid, text, jsonb, boolean, text, boolean, jsonb) TO "service_key";

REVOKE ALL ON FUNCTION "private"."organization_named"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."organization_named"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."organization_named"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."page_locale"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."page_locale"(uuid, text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."page_locale"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."page_locale"(uuid, text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."page_locale"(uuid, text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."parse_search"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."parse_search"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."parse_search"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."partial_matches"(private.search_scope, private.parsed_search, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."partial_matches"(private.search_scope, private.parsed_search, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."partial_matches"(private.search_scope, private.parsed_search, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."person_behind"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."person_behind"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."person_behind"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."person_of"(public.profiles) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."person_of"(public.profiles) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."person_of"(public.profiles) TO "postgres";

REVOKE ALL ON FUNCTION "private"."person_shape"(public.profiles, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."person_shape"(public.profiles, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."person_shape"(public.profiles, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."personal_columns"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."personal_columns"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."personal_columns"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."pictured_name"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."pictured_name"(uuid) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."pictured_name"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."pictured_name"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."plain_word"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."plain_word"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."plain_word"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."public_texts"(public.submissions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."public_texts"(public.submissions) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."public_texts"(public.submissions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."public_texts"(public.submissions) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."public_texts"(public.submissions) TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."put_off_mails"(public.organizations, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."put_off_mails"(public.organizations, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."put_off_mails"(public.organizations, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."queue_invite"(private.invites) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."queue_invite"(private.invites) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."queue_invite"(private.invites) TO "postgres";

REVOKE ALL ON FUNCTION "private"."queue_mails"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."queue_mails"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."queue_mails"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."queue_summaries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."queue_summaries"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."queue_summaries"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."quotient"(numeric, numeric, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."quotient"(numeric, numeric, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."quotient"(numeric, numeric, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."quotient"(numeric, numeric, integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."quotient"(numeric, numeric, integer) TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."rate_limits"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."rate_limits"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."rate_limits"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rate_limits"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."read_submissions"(private.search_scope, private.parsed_search, tsquery, integer, integer, private.search_hit) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."read_submissions"(private.search_scope, private.parsed_search, tsquery, integer, integer, private.search_hit) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."read_submissions"(private.search_scope, private.parsed_search, tsquery, integer, integer, private.search_hit) TO "postgres";

REVOKE ALL ON FUNCTION "private"."read_subscription"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."read_subscription"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."read_subscription"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."read_subscription"(uuid) TO "service_key";

REVOKE ALL ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) TO "feedback_webhooks";

REVOKE ALL ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_and_claim_deliveries"(jsonb, integer, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_and_claim_mails"(jsonb, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_and_claim_mails"(jsonb, integer) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."record_and_claim_mails"(jsonb, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_and_claim_mails"(jsonb, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_mail_report"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_mail_report"(text, text) TO "feedback_mail";

REVOKE ALL ON FUNCTION "private"."record_mail_report"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_mail_report"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_mails"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."record_mails"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_mails"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_survey_start"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_survey_start"(uuid, boolean) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."record_survey_start"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_survey_start"(uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refresh_search"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."refresh_search"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refresh_search"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."refusal_message"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refusal_message"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."refusal_message"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refusal_message"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."refusal_message"(text) TO "service_role";

REVOKE ALL ON FUNCTION "private"."refuse_after_undo"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."refuse_after_undo"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_after_undo"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_erased"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."refuse_erased"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_erased"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."refuse_invites"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_invites"(uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."refuse_invites"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refuse_invites"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."refusing_invites"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refusing_invites"(uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."refusing_invites"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."refusing_invites"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reject_link"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reject_link"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."reject_link"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reject_link"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reject_name_of_team"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."reject_name_of_team"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reject_name_of_team"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reject_request"(uuid, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."reject_request"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reject_request"(uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."remember_removed_logo"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."remember_removed_logo"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."remember_removed_logo"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."rename_keys"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."rename_keys"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."rename_keys"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_one_vote"(uuid, uuid, uuid, uuid) TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."require_own_mailbox"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_own_mailbox"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_own_mailbox"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reset_second_factor"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reset_second_factor"(uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."reset_second_factor"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reset_second_factor"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."resolve_caller"(uuid, uuid, text, bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."resolve_caller"(uuid, uuid, text, bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."resolve_caller"(uuid, uuid, text, bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."resolve_session"(bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."resolve_session"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."resolve_session"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."retire_agent"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."retire_agent"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."retire_agent"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."same_person"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."same_person"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."same_person"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."save_idempotent_response"(text, text) FROM "authenticated";

GRANT EXECUTE ON FUNCTION "private"."save_idempotent_response"(text, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."scope_conditions"(private.search_scope, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."scope_conditions"(private.search_scope, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."scope_conditions"(private.search_scope, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."search_class"(private.parsed_search, tsvector, tsvector) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."search_class"(private.parsed_search, tsvector, tsvector) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_class"(private.parsed_search, tsvector, tsvector) TO "postgres";

REVOKE ALL ON FUNCTION "private"."search_groups"(private.search_statistics, real, integer, private.search_hit) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."search_groups"(private.search_statistics, real, integer, private.search_hit) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_groups"(private.search_statistics, real, integer, private.search_hit) TO "postgres";

REVOKE ALL ON FUNCTION "private"."search_query"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."search_query"(text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."search_query"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_query"(text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_query"(text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."search_query"(uuid, text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."search_query"(uuid, text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_query"(uuid, text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."search_scope"(uuid, text, text, uuid, uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."search_scope"(uuid, text, text, uuid, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_scope"(uuid, text, text, uuid, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."search_tiers"(uuid, integer, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."search_tiers"(uuid, integer, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."search_tiers"(uuid, integer, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."senders_of_due_mails"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."senders_of_due_mails"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."senders_of_due_mails"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."session_refusal"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."session_refusal"(uuid, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."session_refusal"(uuid, uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."set_up"(uuid, text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."set_up"(uuid, text, text, text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."set_up"(uuid, text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."set_up"(uuid, text, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."setup_is_open"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."setup_is_open"() TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."setup_is_open"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."setup_is_open"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."show_invite"(bytea, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."show_invite"(bytea, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."show_invite"(bytea, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."show_invite"(bytea, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."signing_secrets"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."signing_secrets"(text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."signing_secrets"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."signing_secrets"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."similar_pairs"(uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."similar_pairs"(uuid, integer) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."similar_pairs"(uuid, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."similar_pairs"(uuid, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."some_matches"(private.search_scope, tsquery, integer, uuid[], integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."some_matches"(private.search_scope, tsquery, integer, uuid[], integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."some_matches"(private.search_scope, tsquery, integer, uuid[], integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."split_words"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."split_words"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."split_words"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."start_survey_by_reading"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."start_survey_by_reading"(uuid, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."start_survey_by_reading"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."start_survey_by_reading"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."stemmers"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."stemmers"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."stemmers"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."stop_account_mail"(text, uuid, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."stream_events"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."stream_events"(uuid) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."stream_events"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."stream_events"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."submission_lexemes"(uuid, text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."submission_lexemes"(uuid, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."submission_lexemes"(uuid, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."submission_of"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."submission_of"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."submission_of"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."submissions_with_text"(uuid[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."submissions_with_text"(uuid[], text) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."submissions_with_text"(uuid[], text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."submissions_with_text"(uuid[], text) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."submissions_with_text"(uuid[], text) TO "service_key";

REVOKE ALL ON FUNCTION "private"."sum_subtotals"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sum_subtotals"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sum_subtotals"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."suppress_address"(uuid, uuid, text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."suppress_address"(uuid, uuid, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."suppress_address"(uuid, uuid, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."survey_figures"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."survey_figures"(uuid[]) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."survey_figures"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."survey_figures"(uuid[]) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."survey_figures"(uuid[]) TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."survey_sentiment"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."survey_sentiment"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."survey_sentiment"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."survey_sentiment"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."survey_sentiment"(uuid) TO "service_key", "service_role";

REVOKE ALL ON FUNCTION "private"."sync_language_of_user"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sync_language_of_user"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sync_language_of_user"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."tag_condition"(private.search_scope) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."tag_condition"(private.search_scope) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."tag_condition"(private.search_scope) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_removed_logos"(text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."take_removed_logos"(text[]) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."take_removed_logos"(text[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_removed_logos"(text[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_slug"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_slug"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_slug"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."take_unconfirmed_mail"(public.organizations) TO "postgres";

REVOKE ALL ON FUNCTION "private"."token_bytes"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."token_bytes"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."token_bytes"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."token_refusal"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."token_refusal"() TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."token_refusal"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."token_refusal"() TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."token_refusal"() TO "service_role";

REVOKE ALL ON FUNCTION "private"."topics_of"(public.submissions) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."topics_of"(public.submissions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."topics_of"(public.submissions) TO "postgres";

REVOKE ALL ON FUNCTION "private"."trim_logs"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."trim_logs"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."trim_logs"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."trim_rows"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."trim_rows"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."trim_rows"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."unconfirmed_mails"(public.organizations) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."unconfirmed_mails"(public.organizations) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unconfirmed_mails"(public.organizations) TO "postgres";

REVOKE ALL ON FUNCTION "private"."undo_account_change"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."undo_account_change"(bytea) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."undo_account_change"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."undo_account_change"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."unfollow"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."unfollow"(uuid[]) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."unfollow"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unfollow"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."unless_erased"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."unless_erased"(uuid) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "private"."unless_erased"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unless_erased"(uuid) TO "postgres";

GRANT EXECUTE ON FUNCTION "private"."unless_erased"(uuid) TO "service_role";

REVOKE ALL ON FUNCTION "private"."unspaced_letter"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."unspaced_letter"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."unspaced_letter"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."update_first_replies"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."update_first_replies"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."update_first_replies"(uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."user_of_link"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."user_of_link"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."user_of_link"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."wake_function"(text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wake_function"(text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wake_function"(text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."wake_mailer"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wake_mailer"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wake_mailer"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."was_erased"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."was_erased"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."was_erased"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."was_just_restored"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."was_just_restored"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."was_just_restored"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."without_addresses"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."without_addresses"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."without_addresses"(text) TO "postgres";

REVOKE ALL ON FUNCTION "public"."create_comment"(uuid, text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "public"."create_comment"(uuid, text, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."create_comment"(uuid, text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."create_comment"(uuid, text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."create_submission"(text, text, text, uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "public"."search_submissions"(text, uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "public"."search_submissions"(text, uuid, integer) TO "anon", "authenticated";

REVOKE ALL ON FUNCTION "public"."search_submissions"(text, uuid, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."search_submissions"(text, uuid, integer) TO "postgres";

REVOKE ALL ON SCHEMA "private" FROM "feedback_mail";

GRANT USAGE ON SCHEMA "private" TO "feedback_mail";

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

GRANT SELECT ON TABLE "public"."survey_results" TO "authenticated", "service_key", "service_role";

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "private"."agents" ADD CONSTRAINT "description_is_visible" CHECK ((private.trim_text(description) <> ''::text));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "private"."api_keys" ADD CONSTRAINT "name_is_visible" CHECK ((private.trim_text(name) <> ''::text));

ALTER TABLE "private"."mail_choices" ADD CONSTRAINT "choice_is_known" CHECK (private.are_mail_choices(jsonb_build_object(kind, choice)));

ALTER TABLE "private"."mails" ADD CONSTRAINT "kind_is_known" CHECK (private.is_mail_kind(kind));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."categories" ADD CONSTRAINT "name_is_visible" CHECK ((private.trim_text(name) <> ''::text));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."organizations" ADD CONSTRAINT "default_locale_is_known" CHECK ((default_locale = ANY (private.locales())));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."organizations" ADD CONSTRAINT "mail_defaults_are_choices" CHECK (private.are_mail_choices(mail_defaults));

-- squawk-ignore constraint-missing-not-valid
ALTER TABLE "public"."tags" ADD CONSTRAINT "name_is_visible" CHECK ((private.trim_text(name) <> ''::text));

-- A key is shown under the name of its organization.
update public.profiles p set name = o.name
from public.organizations o where p.kind = 'key' and o.id = p.organization_id and p.name is distinct from o.name;

insert into private.organization_slugs (slug, organization_id)
select slug, id from public.organizations on conflict do nothing;

-- An installation that has an organization is set up.
insert into private.setup select where exists (select from public.organizations) on conflict do nothing;

insert into private.rate_limit_rules (name, max_requests, window_seconds) values
  ('token_exchange', 300, 60), ('sign_in', 20, 300), ('sign_in_mail', 20, 300),
  ('account_mail_mailbox', 10, 3600), ('account_mail_account', 30, 3600), ('account_mail_hour', 30, 3600),
  ('account_mail_day', 100, 86400), ('account_mail_everyone', 1000, 3600)
on conflict do nothing;

-- Who has not confirmed yet was requested at least once; the next request is another.
insert into private.unconfirmed_requests (user_id)
select u.id from auth.users u where u.email_confirmed_at is null and u.confirmation_sent_at is not null
on conflict do nothing;

-- About 1.5 ms for each submission.
insert into private.submission_search (submission_id, organization_id, title_lexemes, lexemes, title, content)
select s.id, s.organization_id, array_to_tsvector(l.title_lexemes), array_to_tsvector(l.title_lexemes || l.lexemes
    || private.search_tiers(s.organization_id, s.vote_count, s.id)),
  left(private.plain_text(s.title), 400), left(private.plain_text(s.title || ' ' || s.description), 8000)
from public.submissions s
  cross join lateral private.submission_lexemes(s.organization_id, s.title, s.description) l;

insert into private.search_words (organization_id, word)
select distinct s.organization_id, w.word
from public.submissions s
  cross join lateral private.submission_lexemes(s.organization_id, s.title, s.description) l
  cross join lateral unnest(l.known) w (word)
where s.moderation_state = 'approved';

insert into private.submission_subtotals
select n.* from public.organizations o cross join lateral private.compute_subtotals(o.id) n;

select private.update_first_replies(array(select distinct c.submission_id from public.comments c where c.is_official));

update private.webhooks w set created_by = p.id
from private.audit_log a join public.profiles p on p.kind in ('user', 'anonymous') and p.id = coalesce(
  (select k.created_by from private.api_keys k where k.profile_id = a.actor_id order by k.created_at desc limit 1),
  a.actor_id)
where a.organization_id = w.organization_id and a.target_id = w.id and a.action = 'webhook.create';
update private.webhooks set enabled_at = created_at;

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

do $$
declare name text;
begin
  foreach name in array array['sessions', 'identities', 'mfa_factors', 'one_time_tokens'] loop
    -- Where auth lets only its own role make triggers on it, the undo ends what has been committed.
    if has_table_privilege(to_regclass('auth.' || name), 'trigger') then
      execute format('create trigger refuse_after_undo before insert on auth.%I
        for each row execute function private.refuse_after_undo()', name);
    end if;
  end loop;
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

-- Comments of private functions stand in the sources now.
do $$
declare ours regprocedure;
begin
  for ours in
    select p.oid from pg_proc p
    where p.pronamespace = 'private'::regnamespace and p.prokind = 'f' and obj_description(p.oid, 'pg_proc') is not null
  loop
    execute format('comment on function %s is null', ours);
  end loop;
end
$$;
