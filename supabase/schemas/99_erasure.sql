-- Access to and erasure of personal data. Content, votes and answers stay without the person.

create function private.personal_data(profile_id uuid, organization_id uuid) returns json
language plpgsql stable set search_path = pg_temp as $$
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
$$;
comment on function private.personal_data(uuid, uuid) is
  'Personal data of a profile in one organization or (null) in all: the newest 10,000 rows of each kind.';

create function private.is_person_of_organization(profile_id uuid, organization_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from public.profiles p
    where p.id = profile_id and p.organization_id = is_person_of_organization.organization_id and p.kind
    in ('email', 'anonymous'))
    or exists (select from public.profiles p where p.id = profile_id and p.kind = 'user') and (
      exists (select from public.memberships m
        where m.user_id = profile_id and m.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.submissions s
        where s.author_id = profile_id and s.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.comments c
        where c.author_id = profile_id and c.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.votes v
        where v.user_id = profile_id and v.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.comment_votes v
        where v.user_id = profile_id and v.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.follows f
        where f.user_id = profile_id and f.organization_id = is_person_of_organization.organization_id)
      or exists (select from public.survey_responses r
        where r.user_id = profile_id and r.organization_id = is_person_of_organization.organization_id)
      or exists (select from private.survey_starts b
        where b.user_id = profile_id and b.organization_id = is_person_of_organization.organization_id));
end
$$;
comment on function private.is_person_of_organization(uuid, uuid) is
  'Whether a profile is a person of the organization: an e-mail or imported author, or a user who wrote, '
  'voted, follows or answered there. Never agents and keys.';

-- Erasure ---------------------------------------------------------------------------------------------------

create function private.lock_personal_rows(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
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
$$;
comment on function private.lock_personal_rows(uuid, uuid) is
  'Locks all rows a person participated in, in one organization (whose merges wait) or in all.';

create function private.delete_personal_rows(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
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
$$;
comment on function private.delete_personal_rows(uuid, uuid) is
  'Deletes rows that serve only the person, in one organization or in all, and the name from undelivered '
  'events.';

create function private.erase_person(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
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
$$;
comment on function private.erase_person(uuid, uuid) is
  'Erases a person in one organization: content, votes and answers stay without a person. Repeating it is '
  'not an error.';

-- Administration --------------------------------------------------------------------------------------------

-- definer: e-mail addresses are not granted.
create function private.admin_find_people(email text) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  perform private.audit_read('person.search', 'organization', own_id, own_id);
  return coalesce((select json_agg(json_build_object('id', p.id, 'kind', p.kind, 'name',
    coalesce(p.name, 'Anonymous'), 'created_at', p.created_at) order by p.kind, p.id)
    from (
      select * from public.profiles p where p.kind = 'email' and p.organization_id = own_id
        and lower(p.email) = lower(admin_find_people.email)
      union all
      select * from public.profiles p
        where p.kind = 'user' and lower(p.email) = lower(admin_find_people.email)
        and private.is_person_of_organization(p.id, own_id)
      limit 20) p), '[]');
end
$$;
comment on function private.admin_find_people(text) is
  'Profiles with this e-mail address in the current organization: an e-mail author, a user who '
  'participated, or both.';

create function private.person_shape(person public.profiles, organization_id uuid) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
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
$$;
comment on function private.person_shape(public.profiles, uuid) is
  'JSON of a person for Admin of the organization: their numbers of contributions, role, whether they are '
  'trusted, and decided: the team''s decision about trust (null: none). For definer functions.';

-- definer: e-mail addresses and trust are not granted.
create function private.admin_search_people(search text) returns json
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
comment on function private.admin_search_people(text) is
  'At most 50 people of the current organization: with this complete e-mail address, otherwise with this '
  'text in their name (fewer than three letters match the beginning only); without a text, the most recent '
  'authors and voters.';

-- definer: e-mail addresses and trust are not granted.
create function private.admin_person(profile_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
comment on function private.admin_person(uuid) is
  'A person of the current organization with their newest 20 submissions, comments and votes; null if there '
  'is no such person.';

create function private.admin_decide_trust(profile_id uuid, trusted boolean) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: trust is not granted
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
$$;
comment on function private.admin_decide_trust(uuid, boolean) is
  'Decides whether content of a person of the current organization needs no approval; null applies '
  'trust_after instead. Returns null if there is no such person.';

create function private.admin_personal_data(profile_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: e-mail addresses are not granted
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.audit('person.export', 'profile', profile_id, '{}', own_id);
  return private.personal_data(profile_id, own_id);
end
$$;
comment on function private.admin_personal_data(uuid) is
  'Personal data of a person in the current organization; null if there is no such person.';

create function private.admin_erase_person(profile_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: writes private tables
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
$$;
comment on function private.admin_erase_person(uuid) is
  'Erases a person in the current organization; repeating it is not an error. Returns null if there is no '
  'such person.';

-- The caller's own data -------------------------------------------------------------------------------------

create function private.named_organization_id() returns uuid
language sql stable
return case when current_setting('feedback.organization_named', true) = 'true'
  then private.requested_organization_id() end;
comment on function private.named_organization_id() is
  'Organization named by the request or by the origin of the calling page; null if the request covers all.';

-- definer: reads personal data of the caller only.
create function private.my_personal_data() returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return private.personal_data(private.caller_id(), private.named_organization_id());
end
$$;
comment on function private.my_personal_data() is
  'Personal data of the caller in the named organization, or in all.';

-- definer: writes private tables and deletes the account.
create function private.erase_me() returns void
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
comment on function private.erase_me() is
  'Erases the caller: in the named organization only, or in all by deleting the account with name, address, '
  'memberships, follows and notifications. Content and votes stay without a person. Raises CONFLICT for the '
  'last owner of an organization, and while a change of address can be undone.';

grant execute on function private.admin_search_people(text), private.admin_person(uuid),
  private.admin_decide_trust(uuid, boolean), private.admin_find_people(text),
  private.admin_personal_data(uuid), private.admin_erase_person(uuid) to authenticated, service_key;
grant execute on function private.my_personal_data(), private.erase_me() to authenticated;
