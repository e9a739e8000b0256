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
  -- What the team decided about the author holds for the account; distrust outweighs trust.
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
    'survey_requests', coalesce((select json_agg(q order by q.created_at desc) from (
      select q.organization_id, q.survey_id, q.created_at, q.reminded_at from private.survey_requests q
      where q.profile_id = p.id and (personal_data.organization_id
        is null or q.organization_id = personal_data.organization_id)
      order by q.created_at desc limit 10000) q), '[]'),
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
