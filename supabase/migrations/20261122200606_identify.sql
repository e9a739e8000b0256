-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

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

CREATE OR REPLACE FUNCTION private.admin_create_identify_secret(secret_id uuid, encrypted_secret text, last_four text)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: private tables
#variable_conflict use_column
declare own_id uuid := private.require_key_admin(); made private.identify_secrets;
begin
  -- Serializes, so that the limit holds.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if (select count(*) from private.identify_secrets s where s.organization_id = own_id) >= 2 then
    perform private.raise_error('CONFLICT',
      'An organization has at most two signing secrets: delete one first.');
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

CREATE OR REPLACE FUNCTION private.admin_delete_identify_secret(secret_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
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

CREATE OR REPLACE FUNCTION private.admin_list_identify_secrets()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: private tables
declare own_id uuid := private.require_key_admin();
begin
  return coalesce((select json_agg(private.identify_secret_shape(s) order by s.created_at desc, s.id)
    from private.identify_secrets s where s.organization_id = own_id), '[]');
end
$function$;

ALTER FUNCTION "private"."admin_list_identify_secrets"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admin_signing_secrets()
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: private tables
begin
  return private.signing_secrets(private.require_key_admin()::text);
end
$function$;

ALTER FUNCTION "private"."admin_signing_secrets"() OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.admit_request(user_id uuid, digest bytea, invalid_credential boolean, address text, operations text[], organization text, on_behalf text, origin text, needs_origin boolean, resource text, resource_id uuid, charge boolean)
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

CREATE OR REPLACE FUNCTION private.end_session(digest bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from private.identify_sessions s where s.digest = end_session.digest
    and s.profile_id = private.caller_id();
  return found;
end
$function$;

ALTER FUNCTION "private"."end_session"(bytea) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.erase_person(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare person public.profiles; nobody uuid := profile_id;
begin
  perform private.lock_personal_rows(profile_id, organization_id);
  select * into person from public.profiles p where p.id = profile_id for update;
  if exists (select from public.memberships m
    where m.user_id = profile_id and m.organization_id = erase_person.organization_id) then
    perform private.raise_error('CONFLICT', 'This person is a team member: remove them first.');
  end if;
  perform private.record_participations(person, organization_id);
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
  update public.submissions s set author_id = nobody
    where s.author_id = profile_id and s.organization_id = erase_person.organization_id;
  update public.comments c set author_id = nobody
    where c.author_id = profile_id and c.organization_id = erase_person.organization_id;
  update public.votes v set user_id = nobody
    where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update private.merged_votes v set user_id = nobody
    where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.comment_votes v set user_id = nobody
    where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.status_changes h set changed_by = nobody
    where h.changed_by = profile_id and h.organization_id = erase_person.organization_id;
  perform set_config('feedback.suppress_events', 'off', true);
end
$function$;

CREATE OR REPLACE FUNCTION private.forget_identified(profile_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from private.identified_people i where i.profile_id = forget_identified.profile_id;
  delete from private.identify_sessions s where s.profile_id = forget_identified.profile_id;
end
$function$;

ALTER FUNCTION "private"."forget_identified"(uuid) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.identify_secret_shape(secret private.identify_secrets)
 RETURNS json
 LANGUAGE sql
 STABLE
RETURN json_build_object('id', (secret).id, 'last_four', (secret).last_four, 'last_used_at', (secret).last_used_at, 'created_at', (secret).created_at);

ALTER FUNCTION "private"."identify_secret_shape"(private.identify_secrets) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.open_session(organization_id uuid, secret_id uuid, subject text, email text, name text, avatar_url text, token_digest bytea, token_expires_at timestamp with time zone, digest bytea, lifetime interval)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
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
    perform private.raise_error('UNAUTHORIZED', 'The signing secret of this token was deleted.', 'token',
      '{"reason": "signature"}');
  end if;
  if (select o.visibility from public.organizations o where o.id = own_id) <> 'public' then
    perform private.raise_error('FORBIDDEN', 'This board is private: only its team can sign in.', 'token',
      '{"reason": "private_board"}');
  end if;
  if token_digest is not null then
    insert into private.identify_tokens (organization_id, digest, expires_at)
    values (own_id, token_digest, token_expires_at) on conflict do nothing;
    if not found then
      perform private.raise_error('UNAUTHORIZED', 'This token was used: its jti works once.', 'token',
        '{"reason": "replayed"}');
    end if;
  end if;

  person_id := (select i.profile_id from private.identified_people i
    where i.organization_id = own_id and i.subject = open_session.subject);
  if person_id is null then
    insert into public.profiles as p (kind, organization_id, email)
    values ('email', own_id, lower(open_session.email))
    -- Locks the author, so that of two subjects with one address the second sees the first.
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
      'Another person (sub) of this organization has this address.', 'token', '{"reason": "address_taken"}');
  end if;

  update private.identified_people i set last_identified_at = now()
  where i.organization_id = own_id and i.subject = open_session.subject
    and i.last_identified_at < now() - interval '1 minute';
  update public.profiles p set
    name = coalesce(nullif(private.person_name(open_session.name), ''), p.name),
    avatar_url = coalesce(open_session.avatar_url, p.avatar_url)
  where p.id = person_id and (
    nullif(private.person_name(open_session.name), '') <> coalesce(p.name, '')
    or open_session.avatar_url <> coalesce(p.avatar_url, ''));
  update private.identify_secrets s set last_used_at = now()
  where s.id = (select l.id from private.identify_secrets l where l.id = secret_id
    and (l.last_used_at is null or l.last_used_at < now() - interval '1 minute')
    for no key update skip locked);

  -- A host may identify at each page: the oldest sessions of a person make room.
  delete from private.identify_sessions s where s.digest in (
    select o.digest from private.identify_sessions o where o.profile_id = person_id
    order by o.created_at desc, o.digest offset 49);
  insert into private.identify_sessions (digest, organization_id, profile_id, secret_id, expires_at)
  values (open_session.digest, own_id, person_id, secret_id, ends_at);
  return (select json_build_object('expires_at', ends_at, 'profile', json_build_object('id', p.id,
      'name', coalesce(p.name, 'Anonymous'), 'avatar', p.avatar_url, 'email', p.email))
    from public.profiles p where p.id = person_id);
end
$function$;

ALTER FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.organization_of(resource text, id uuid, who private.caller)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
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
      from public.profiles p where p.id = caller and p.kind in ('user', 'email')));
end
$function$;

CREATE OR REPLACE FUNCTION private.personal_data(profile_id uuid, organization_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
  select json_build_object(
    'profile', json_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'email', p.email, 'avatar_url',
      p.avatar_url,
      'locale', p.locale, 'created_at', p.created_at),
    'memberships', coalesce((select
      json_agg(json_build_object('organization_id', m.organization_id, 'role', m.role, 'created_at',
      m.created_at))
      from public.memberships m where m.user_id = p.id
        and (personal_data.organization_id is null or m.organization_id = personal_data.organization_id)),
        '[]'),
    'identified_as', (select json_build_object('organization_id', i.organization_id, 'sub', i.subject,
      'created_at', i.created_at, 'last_identified_at', i.last_identified_at)
      from private.identified_people i where i.profile_id = p.id),
    'trust', coalesce((select json_agg(json_build_object('organization_id', t.organization_id, 'is_trusted',
      t.is_trusted, 'created_at', t.created_at))
      from private.author_trust t where t.user_id = p.id
        and (personal_data.organization_id is null or t.organization_id = personal_data.organization_id)),
        '[]'),
    'submissions', coalesce((select json_agg(s order by s.created_at desc) from (
      select s.id, s.organization_id, s.title, s.description, s.type, s.status, s.source, s.created_at,
        s.updated_at from public.submissions s
      where s.author_id = p.id and (personal_data.organization_id
        is null or s.organization_id = personal_data.organization_id)
      order by s.created_at desc limit 10000) s), '[]'),
    'comments', coalesce((select json_agg(c order by c.created_at desc) from (
      select c.id, c.organization_id, c.submission_id, c.parent_id, c.body, c.created_at, c.updated_at
        from public.comments c
      where c.author_id = p.id and (personal_data.organization_id
        is null or c.organization_id = personal_data.organization_id)
      order by c.created_at desc limit 10000) c), '[]'),
    'votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.submission_id, v.created_at from public.votes v
      where v.user_id = p.id and (personal_data.organization_id
        is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'comment_votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.comment_id, v.created_at from public.comment_votes v
      where v.user_id = p.id and (personal_data.organization_id
        is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'follows', coalesce((select json_agg(f order by f.created_at desc) from (
      select f.organization_id, f.submission_id, f.reason, f.created_at from public.follows f
      where f.user_id = p.id and (personal_data.organization_id
        is null or f.organization_id = personal_data.organization_id)
      order by f.created_at desc limit 10000) f), '[]'),
    'mail_choices', coalesce((select json_agg(json_build_object('organization_id', c.organization_id,
      'kind', c.kind, 'choice', c.choice))
      from private.mail_choices c where c.profile_id = p.id
        and (personal_data.organization_id is null or c.organization_id = personal_data.organization_id)),
        '[]'),
    'mail_mutes', coalesce((select json_agg(m order by m.created_at desc) from (
      select m.organization_id, m.submission_id, m.created_at from private.mail_mutes m
      where m.profile_id = p.id and (personal_data.organization_id
        is null or m.organization_id = personal_data.organization_id)
      order by m.created_at desc limit 10000) m), '[]'),
    'notifications', coalesce((select json_agg(n order by n.created_at desc) from (
      select n.organization_id, n.type, n.submission_id, n.comment_id, n.read_at, n.created_at
        from public.notifications n
      where n.user_id = p.id and (personal_data.organization_id
        is null or n.organization_id = personal_data.organization_id)
      order by n.created_at desc limit 10000) n), '[]'),
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
      order by r.submitted_at desc limit 10000) r), '[]'),
    'survey_starts', coalesce((select json_agg(b order by b.started_at desc) from (
      select b.organization_id, b.survey_id, b.started_at from private.survey_starts b
      where b.user_id = p.id and (personal_data.organization_id
        is null or b.organization_id = personal_data.organization_id)
      order by b.started_at desc limit 10000) b), '[]'))
  from public.profiles p where p.id = profile_id);
end
$function$;

CREATE OR REPLACE FUNCTION private.reject_second_participation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare is_erased boolean;
begin
  if private.events_suppressed() then return null; end if;
  -- Lock until commit to serialize with an erasure; an erased person may still hold a token or session.
  select bool_or(p.kind = 'user' and coalesce(p.auth_user_id::text, p.email, p.name) is null
    or p.kind = 'anonymous' and p.id = private.caller_id()) into is_erased
  from (select * from public.profiles where id in (select a.user_id from added a) for key share) p;
  if is_erased then
    perform private.raise_error('UNAUTHORIZED', 'This account was deleted.');
  end if;
  if not exists (select from added a join private.erased_participations e using (organization_id))
    then return null; end if;
  case tg_table_name
    when 'votes' then
      if exists (select from added a
        where private.participated(a.user_id, private.with_sources(a.submission_id))) then
        perform private.raise_error('CONFLICT',
          'You voted for this submission before you were erased, and that vote still counts.',
          'submission_id');
      end if;
    when 'comment_votes' then
      if exists (select from added a where private.participated(a.user_id, array[a.comment_id])) then
        perform private.raise_error('CONFLICT',
          'You voted for this comment before you were erased, and that vote still counts.', 'comment_id');
      end if;
    else
      if exists (select from added a where a.is_only and private.participated(a.user_id, array[a.survey_id]))
        then
        perform private.raise_error('ALREADY_RESPONDED',
          'You answered this survey before you were erased, and that response still counts.');
      end if;
  end case;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.resolve_caller(user_id uuid, digest bytea)
 RETURNS private.caller
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare who private.caller; key private.api_keys; tier text; reads boolean; retired boolean;
begin
  if user_id is not null then
    who.kind := 'user';
    select p.id, case when exists (select from public.memberships m
      where m.user_id = p.id and m.role in ('owner', 'admin'))
      then 'level_admin' else 'level_user' end
    into who.profile_id, who.level from public.profiles p where p.auth_user_id = user_id;
    who.valid := who.profile_id is not null;
  elsif digest is not null then
    select * into key from private.api_keys k where k.digest = resolve_caller.digest;
    if key.id is null then return private.resolve_session(digest); end if;
    who.kind := 'key';
    who.level := 'level_key';
    who.valid := key.id is not null and key.revoked_at
      is null and (key.expires_at is null or key.expires_at > now());
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

CREATE OR REPLACE FUNCTION private.resolve_session(digest bytea)
 RETURNS private.caller
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
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

CREATE OR REPLACE FUNCTION private.run_schedule()
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare fanouts integer; activity integer; surveys integer; counters integer; keys integer; events integer;
  deliveries integer; streams integer; labels integer; boards integer; imports integer; mails integer;
  sessions integer;
begin
  -- Deletes find their rows once, by ctid: joined by key, a plan made while a table was empty would scan for
  -- each row. Rows that may be renewed concurrently are locked first.
  fanouts := private.run_fanouts();
  activity := private.sum_activity();
  surveys := private.close_surveys();
  boards := private.broadcast_counts();
  delete from private.rate_counters c where ctid = any (array(
    -- Windows without a rule of their own (calls_a_day of agents) last at most a day.
    select o.ctid from private.rate_counters o
    where o.started_at < now() - greatest(private.retention('rate_counters'), coalesce(
      (select make_interval(secs => r.window_seconds) from private.rate_limit_rules r where r.name = o.rule),
      interval '1 day')) limit 5000 for update skip locked));
  get diagnostics counters = row_count;
  delete from private.idempotency_keys k where ctid = any (array(
    select o.ctid from private.idempotency_keys o
      where o.created_at < now() - private.retention('idempotency_keys') limit 5000));
  get diagnostics keys = row_count;
  delete from private.outbox e where ctid = any (array(
    select o.ctid from private.outbox o where o.created_at < now() - private.retention('events') limit 5000));
  get diagnostics events = row_count;
  delete from private.invites i where ctid = any (array(
    select o.ctid from private.invites o where o.expires_at < now() - private.retention('expired_invites')
      limit 5000));
  deliveries := private.trim_deliveries();
  imports := private.end_idle_imports();
  perform private.call_importer();
  mails := private.gather_digests();
  perform private.trim_mails();
  sessions := private.trim_sessions();
  perform private.call_mailer();
  delete from private.agent_streams s where ctid = any (array(
    select o.ctid from private.agent_streams o where o.expires_at < now() limit 5000 for update skip locked));
  get diagnostics streams = row_count;
  delete from private.agent_subscriptions s where ctid = any (array(
    select o.ctid from private.agent_subscriptions o
    where o.expires_at < now() - private.retention('expired_subscriptions')
      limit 5000 for update skip locked));
  delete from private.agent_audit t where ctid = any (array(
    select o.ctid from private.agent_audit o where o.created_at < now() - private.retention('agent_calls')
      limit 5000));
  -- Last, because it locks submissions until the transaction ends.
  labels := private.run_retirements();
  return jsonb_build_object('fanouts', fanouts, 'activity', activity, 'surveys', surveys, 'rate_counters',
    counters, 'idempotency_keys', keys, 'events', events, 'deliveries', deliveries, 'agent_streams', streams,
    'labels', labels, 'boards', boards, 'imports', imports, 'mails', mails, 'sessions', sessions);
end
$function$;

CREATE OR REPLACE FUNCTION private.signing_secrets(organization text)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select json_build_object('organization_id', o.id, 'is_public', o.visibility = 'public',
      'slug', o.slug,
      'secrets', coalesce((select json_agg(json_build_object('id', s.id,
          'encrypted', s.encrypted_secret, 'last_four', s.last_four) order by s.created_at desc, s.id)
        from private.identify_secrets s where s.organization_id = o.id), '[]'))
    from public.organizations o where lower(organization) in (o.slug, o.id::text));
end
$function$;

ALTER FUNCTION "private"."signing_secrets"(text) OWNER TO "postgres";

CREATE OR REPLACE FUNCTION private.trim_sessions()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare ended integer;
begin
  delete from private.identify_sessions s where ctid = any (array(
    select o.ctid from private.identify_sessions o where o.expires_at < now() limit 5000
      for update skip locked));
  get diagnostics ended = row_count;
  delete from private.identify_tokens t where ctid = any (array(
    select o.ctid from private.identify_tokens o where o.expires_at < now() limit 5000
      for update skip locked));
  return ended;
end
$function$;

ALTER FUNCTION "private"."trim_sessions"() OWNER TO "postgres";

ALTER TABLE "private"."identified_people" ADD CONSTRAINT "identified_people_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."identified_people" ADD CONSTRAINT "identified_people_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_secrets" ADD CONSTRAINT "identify_secrets_created_by_fkey" FOREIGN KEY (created_by) REFERENCES public.profiles(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE "private"."identify_secrets" ADD CONSTRAINT "identify_secrets_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_sessions" ADD CONSTRAINT "identify_sessions_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_sessions" ADD CONSTRAINT "identify_sessions_profile_id_fkey" FOREIGN KEY (profile_id) REFERENCES public.profiles(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_sessions" ADD CONSTRAINT "identify_sessions_secret_id_fkey" FOREIGN KEY (secret_id) REFERENCES private.identify_secrets(id) ON DELETE CASCADE;

ALTER TABLE "private"."identify_tokens" ADD CONSTRAINT "identify_tokens_organization_id_fkey" FOREIGN KEY (organization_id) REFERENCES public.organizations(id) ON DELETE CASCADE;

CREATE INDEX identify_secrets_created_by_idx ON private.identify_secrets USING btree (created_by);

CREATE INDEX identify_secrets_organization_idx ON private.identify_secrets USING btree (organization_id, created_at);

CREATE INDEX identify_sessions_age_idx ON private.identify_sessions USING btree (expires_at);

CREATE INDEX identify_sessions_organization_idx ON private.identify_sessions USING btree (organization_id);

CREATE INDEX identify_sessions_profile_idx ON private.identify_sessions USING btree (profile_id, created_at DESC);

CREATE INDEX identify_sessions_secret_idx ON private.identify_sessions USING btree (secret_id);

CREATE INDEX identify_tokens_age_idx ON private.identify_tokens USING btree (expires_at);

COMMENT ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) IS 'Stores a signing secret of the current organization, encrypted by the caller. Raises CONFLICT if it has two.';

COMMENT ON FUNCTION "private"."admin_delete_identify_secret"(uuid) IS 'Deletes a signing secret and ends the sessions it opened; returns whether it existed.';

COMMENT ON FUNCTION "private"."admin_list_identify_secrets"() IS 'The organization''s signing secrets, newest first, for a signed-in Admin.';

COMMENT ON FUNCTION "private"."admin_signing_secrets"() IS 'private.signing_secrets of the current organization, for the check of a token by a signed-in Admin.';

COMMENT ON FUNCTION "private"."end_session"(bytea) IS 'Ends a session of the caller, by its digest; returns whether there was one.';

COMMENT ON FUNCTION "private"."forget_identified"(uuid) IS 'For an erasure: forgets an organization''s name for a person and ends their sessions.';

COMMENT ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) IS 'JSON of a signing secret for Admin, without the secret.';

COMMENT ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) IS 'For the edge functions, which verified the token: opens a session for the person of the subject, and returns {expires_at, profile}. A new subject becomes the e-mail author with the address, inserted when new. Never a user, a team member or a person of another organization. At most 50 sessions a person. Raises CONFLICT if the address is another subject''s, UNAUTHORIZED for a used token, FORBIDDEN for a private board; each with a reason.';

COMMENT ON FUNCTION "private"."resolve_caller"(uuid, bytea) IS 'Resolves a credential: the auth user id, the SHA-256 of a key or of an identified person''s session, or neither for an anonymous request. Unknown, revoked and expired ones are indistinguishable. A read-only agent keeps only its read scopes.';

COMMENT ON FUNCTION "private"."resolve_session"(bytea) IS 'The identified person of a session: a user of one organization only. Not valid if there is no such session, if it has expired, or while the organization is private: a private board is for its team.';

COMMENT ON FUNCTION "private"."signing_secrets"(text) IS 'For the edge functions: {organization_id, is_public, slug, secrets: [{id, encrypted, last_four}]} of an organization by id or slug; null if there is none.';

COMMENT ON FUNCTION "private"."trim_sessions"() IS 'Deletes expired sessions and used tokens that have expired, up to 5,000 each; returns how many sessions.';

COMMENT ON TABLE "private"."identified_people" IS 'People an organization identified: its own name for the person (sub of a token) and the e-mail author they are. The address in a token decides once, when the subject is new.';

COMMENT ON TABLE "private"."identify_secrets" IS 'Secrets with which an organization''s application signs tokens of its users, at most two, so that one can replace the other. Encrypted like those of webhooks; deleting one ends the sessions it opened.';

COMMENT ON TABLE "private"."identify_sessions" IS 'Sessions of identified people, by the SHA-256 digest of their secret. A session ends by expiry, or when its row is deleted: by signing out, with the signing secret, and with the person.';

COMMENT ON TABLE "private"."identify_tokens" IS 'Tokens with a jti that were used, until they have expired: such a token works once. digest is the SHA-256 of the jti.';

COMMENT ON TYPE "private"."caller" IS 'Authenticated caller. kind: public, user, key or agent. organization_id: that of a key, an agent or an identified person, who act nowhere else. level: the rate limit rule that counts all calls of the caller.';

REVOKE ALL ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_create_identify_secret"(uuid, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_delete_identify_secret"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_delete_identify_secret"(uuid) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_delete_identify_secret"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_delete_identify_secret"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_list_identify_secrets"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_list_identify_secrets"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_list_identify_secrets"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_list_identify_secrets"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."admin_signing_secrets"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."admin_signing_secrets"() TO "authenticated";

REVOKE ALL ON FUNCTION "private"."admin_signing_secrets"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."admin_signing_secrets"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."end_session"(bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."end_session"(bytea) TO "authenticated";

REVOKE ALL ON FUNCTION "private"."end_session"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."end_session"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."forget_identified"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."forget_identified"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."forget_identified"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."identify_secret_shape"(private.identify_secrets) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_session"(uuid, uuid, text, text, text, text, bytea, timestamp with time zone, bytea, interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."resolve_session"(bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."resolve_session"(bytea) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."resolve_session"(bytea) TO "postgres";

REVOKE ALL ON FUNCTION "private"."signing_secrets"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."signing_secrets"(text) TO "feedback_api";

REVOKE ALL ON FUNCTION "private"."signing_secrets"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."signing_secrets"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."trim_sessions"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."trim_sessions"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."trim_sessions"() TO "postgres";

insert into private.rate_limit_rules (name, max_requests, window_seconds) values ('token_exchange', 300, 60)
on conflict do nothing;
