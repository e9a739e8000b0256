-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

set local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.claim_author(organization_id uuid, author_id uuid)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ -- definer: re-points rows of another profile
#variable_conflict use_variable
declare
  claimer_id uuid := auth.uid();
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
  update public.survey_responses r set user_id = claimer_id
  where r.user_id = author_id and not exists (select from public.survey_responses o
    where o.survey_id = r.survey_id and o.user_id = claimer_id);
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

CREATE OR REPLACE FUNCTION private.claim_mails(max_rows integer)
 RETURNS TABLE(id uuid, attempt integer, kind text, created_at timestamp with time zone, address text, profile jsonb, organization jsonb, events jsonb)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare mail private.mails; recipient text; told jsonb; claimed integer := 0;
begin
  for mail in
    select m.* from private.mails m
    where m.status in ('pending', 'sending') and m.next_attempt_at <= now()
    -- Dropped mails do not count against max_rows, but the scan is bounded.
    order by m.next_attempt_at limit case when max_rows > 0 then 2000 else 0 end for update skip locked
  loop
    exit when claimed >= max_rows;
    recipient := private.address_of(mail);
    told := null;
    if recipient is not null and not private.is_suppressed(mail.organization_id, recipient)
      and exists (select from public.organizations o where o.id = mail.organization_id and o.mail_enabled)
      and not private.has_same_mail(mail) then
      told := private.mail_content(mail);
    end if;
    if told is null then
      update private.mails m set status = 'dropped', finished_at = now(), claimed_at = null
        where m.id = mail.id;
      continue;
    end if;
    claimed := claimed + 1;
    update private.mails m set status = 'sending', claimed_at = now(),
      next_attempt_at = now() + interval '2 minutes', attempt_count = m.attempt_count + 1,
      -- An expired claim says nothing about the server: the retry schedule does not count it.
      counted_from = m.counted_from + (m.status = 'sending')::integer
    where m.id = mail.id returning m.* into mail;
    return query
      select mail.id, mail.attempt_count, mail.kind, mail.created_at, recipient,
        (select jsonb_build_object('id', p.id, 'kind', p.kind, 'name', p.name,
            'locale', private.mail_locale(p.id, o.id))
          from public.profiles p where p.id = mail.profile_id),
        jsonb_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'brand_color', o.brand_color,
          'logo_url', o.logo_url, 'default_locale', o.default_locale,
          'is_default', o.id = private.default_organization_id()), told
      from public.organizations o where o.id = mail.organization_id;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION private.delete_personal_rows(profile_id uuid, organization_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from public.notifications n
    where n.user_id = profile_id and
    (delete_personal_rows.organization_id
    is null or n.organization_id = delete_personal_rows.organization_id);
  delete from private.mails m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.mail_items m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.mail_choices m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.mail_mutes m where m.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or m.organization_id = delete_personal_rows.organization_id);
  delete from private.survey_requests q where q.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or q.organization_id = delete_personal_rows.organization_id);
  -- Suppressions survive the erasure; the keyed hash does not identify the person.
  update private.mail_suppressions s set profile_id = null
  where s.profile_id = delete_personal_rows.profile_id
    and (delete_personal_rows.organization_id
    is null or s.organization_id = delete_personal_rows.organization_id);
  delete from public.follows f where f.user_id = profile_id
    and (delete_personal_rows.organization_id
    is null or f.organization_id = delete_personal_rows.organization_id);
  -- Answers hold what was written.
  delete from private.idempotency_keys k where k.profile_id = delete_personal_rows.profile_id;
  -- Keep a mark as spam while the account exists: users must not remove it themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and
    (delete_personal_rows.organization_id is null or t.organization_id = delete_personal_rows.organization_id
    and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and (i.accepted_by = p.id or i.email = lower(p.email))
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
  -- Keep only the file of the newest dry run, for admin_apply_import.
  delete from private.import_file_parts p using private.imports i, private.imports o
  where i.id = finish_import.import_id and i.is_dry_run and i.state = 'completed'
    and o.organization_id = i.organization_id and o.id <> i.id and o.is_dry_run and o.state = 'completed'
    and p.organization_id = o.organization_id and p.import_id = o.id;
  delete from private.import_ids d using private.imports i
  where i.id = finish_import.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
  return (select private.import_shape(i) from private.imports i where i.id = import_id);
end
$function$;

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
  -- Serializes concurrent calls: the second waits here for the first.
  insert into private.setup default values on conflict do nothing;
  if not found then
    perform private.raise_error('CONFLICT', 'This installation is set up already: sign in.');
  end if;
  organization_id := private.create_organization(name, slug, visibility, owner_email);
  update public.organizations o set is_default = true where o.id = organization_id;
  return organization_id;
end
$function$;

COMMENT ON FUNCTION "private"."active_keys"(uuid[]) IS 'Those of the given agent keys that are valid, with the last change of each agent. A stream closes when its key ends or its agent''s policies change.';

COMMENT ON FUNCTION "private"."address_of"(private.mails) IS 'The recipient of a mail: the person''s address, or the invited address of an invite; null for none.';

COMMENT ON FUNCTION "private"."board"(uuid, text) IS 'Data of the board and the roadmap besides their lists: {counts, categories, tags}, as the caller sees them, named in a language. counts are of private.board_counts.';

COMMENT ON FUNCTION "private"."mail_address"(uuid) IS 'The address for mail to a person: the confirmed address of a user, or that of an e-mail author; null for nowhere.';

COMMENT ON FUNCTION "private"."mail_content"(private.mails) IS 'The events of a mail, as a list; null for none: then it is not sent.';

COMMENT ON FUNCTION "private"."mail_event"(uuid, uuid) IS 'The content of a mail about a notification: {kind, submission_id, title, comment_id?, status?, text?, by?, is_read}. Null where they may not see it or do not want it now.';

COMMENT ON FUNCTION "private"."my_profile"() IS 'The caller''s profile for the settings: {name, email, avatar_url}; null for unknown values.';

COMMENT ON FUNCTION "private"."show_invite"(bytea, uuid) IS 'The invite of a token, for the signed-in user: {is_for_caller, status, role, organization}; for another address only is_for_caller. Null for an unknown token. Same arguments as private.accept_invite.';

COMMENT ON FUNCTION "private"."submissions_with_text"(uuid[], text) IS 'Those of the given submissions that match the words or contain the text.';

COMMENT ON TABLE "private"."mail_choices" IS 'A person''s choice for a kind of mail of an organization; without a row the default applies.';

COMMENT ON TABLE "private"."mail_items" IS 'Pending entries of digests: notifications of a person, or (is_of_team) new submissions for the summary of a team member. Rows are only added and taken, so that transactions do not wait for each other.';

-- By hand, where it applies; delete what does not:
--   rows of existing tables: update … set …, in batches where a table is large
--   rules, switches and cursors that the schemas insert: insert into … values … on conflict do nothing
--   jobs: select cron.schedule('feedback-…', …), inside a check that pg_cron is installed
--   a renamed column or table: the statements above drop one and add another; write alter … rename instead
