-- What is kept of a person, for those who ask for it, and how it is forgotten: what they wrote, voted for and answered stays, without them.

create function private.personal_data(profile_id uuid, organization_id uuid) returns json
language plpgsql stable set search_path = '' as $$
begin
  return (
  select json_build_object(
    'profile', json_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'email', p.email, 'avatar_url', p.avatar_url, 'created_at', p.created_at),
    'memberships', coalesce((select json_agg(json_build_object('organization_id', m.organization_id, 'role', m.role, 'created_at', m.created_at))
      from public.memberships m where m.user_id = p.id and (personal_data.organization_id is null or m.organization_id = personal_data.organization_id)), '[]'),
    'trust', coalesce((select json_agg(json_build_object('organization_id', t.organization_id, 'is_trusted', t.is_trusted, 'created_at', t.created_at))
      from private.author_trust t where t.user_id = p.id and (personal_data.organization_id is null or t.organization_id = personal_data.organization_id)), '[]'),
    'submissions', coalesce((select json_agg(s order by s.created_at desc) from (
      select s.id, s.organization_id, s.title, s.description, s.type, s.status, s.source, s.created_at, s.updated_at from public.submissions s
      where s.author_id = p.id and (personal_data.organization_id is null or s.organization_id = personal_data.organization_id)
      order by s.created_at desc limit 10000) s), '[]'),
    'comments', coalesce((select json_agg(c order by c.created_at desc) from (
      select c.id, c.organization_id, c.submission_id, c.parent_id, c.body, c.created_at, c.updated_at from public.comments c
      where c.author_id = p.id and (personal_data.organization_id is null or c.organization_id = personal_data.organization_id)
      order by c.created_at desc limit 10000) c), '[]'),
    'votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.submission_id, v.created_at from public.votes v
      where v.user_id = p.id and (personal_data.organization_id is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'comment_votes', coalesce((select json_agg(v order by v.created_at desc) from (
      select v.organization_id, v.comment_id, v.created_at from public.comment_votes v
      where v.user_id = p.id and (personal_data.organization_id is null or v.organization_id = personal_data.organization_id)
      order by v.created_at desc limit 10000) v), '[]'),
    'follows', coalesce((select json_agg(f order by f.created_at desc) from (
      select f.organization_id, f.submission_id, f.reason, f.created_at from public.follows f
      where f.user_id = p.id and (personal_data.organization_id is null or f.organization_id = personal_data.organization_id)
      order by f.created_at desc limit 10000) f), '[]'),
    'notifications', coalesce((select json_agg(n order by n.created_at desc) from (
      select n.organization_id, n.type, n.submission_id, n.comment_id, n.read_at, n.created_at from public.notifications n
      where n.user_id = p.id and (personal_data.organization_id is null or n.organization_id = personal_data.organization_id)
      order by n.created_at desc limit 10000) n), '[]'),
    'survey_responses', coalesce((select json_agg(r order by r.submitted_at desc) from (
      select r.id, r.organization_id, r.survey_id, s.title as survey_title, coalesce((
          select json_agg(json_build_object('question_id', q.id, 'question', q.text, 'value', a.answer -> 'value') order by q.position)
          from jsonb_array_elements(r.answers) as a (answer) join public.survey_questions q on q.id = (a.answer ->> 'question_id')::uuid), '[]') as answers,
        r.locale, r.started_at, r.submitted_at, r.sentiment, r.sentiment_score
      from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = p.id and (personal_data.organization_id is null or r.organization_id = personal_data.organization_id)
      order by r.submitted_at desc limit 10000) r), '[]'),
    'survey_starts', coalesce((select json_agg(b order by b.started_at desc) from (
      select b.organization_id, b.survey_id, b.started_at from private.survey_starts b
      where b.user_id = p.id and (personal_data.organization_id is null or b.organization_id = personal_data.organization_id)
      order by b.started_at desc limit 10000) b), '[]'))
  from public.profiles p where p.id = profile_id);
end
$$;
comment on function private.personal_data(uuid, uuid) is 'What is kept of a person, in one organization or (null) in all: the newest 10,000 of each kind.';

create function private.takes_part(profile_id uuid, organization_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from public.profiles p where p.id = profile_id and p.organization_id = takes_part.organization_id and p.kind in ('email', 'anonymous'))
    or exists (select from public.profiles p where p.id = profile_id and p.kind = 'user') and (
      exists (select from public.memberships m where m.user_id = profile_id and m.organization_id = takes_part.organization_id)
      or exists (select from public.submissions s where s.author_id = profile_id and s.organization_id = takes_part.organization_id)
      or exists (select from public.comments c where c.author_id = profile_id and c.organization_id = takes_part.organization_id)
      or exists (select from public.votes v where v.user_id = profile_id and v.organization_id = takes_part.organization_id)
      or exists (select from public.comment_votes v where v.user_id = profile_id and v.organization_id = takes_part.organization_id)
      or exists (select from public.follows f where f.user_id = profile_id and f.organization_id = takes_part.organization_id)
      or exists (select from public.survey_responses r where r.user_id = profile_id and r.organization_id = takes_part.organization_id)
      or exists (select from private.survey_starts b where b.user_id = profile_id and b.organization_id = takes_part.organization_id));
end
$$;
comment on function private.takes_part(uuid, uuid) is 'Whether a profile is a person of the organization: one it knows by e-mail or import, or a user who wrote, voted, follows or answered there. Agents and keys are none.';

-- Forgetting ---------------------------------------------------------------------------------------------------

create function private.lock_traces(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.organizations o where o.id = lock_traces.organization_id for no key update;
  perform 1 from public.submissions s
  where s.id in (
      select o.id from public.submissions o where o.author_id = profile_id
      union all select v.submission_id from public.votes v where v.user_id = profile_id
      union all select f.submission_id from public.follows f where f.user_id = profile_id
      union all select c.submission_id from public.comments c where c.author_id = profile_id
      union all select v.submission_id from public.comment_votes v where v.user_id = profile_id)
    and (lock_traces.organization_id is null or s.organization_id = lock_traces.organization_id)
  order by s.id for no key update;
end
$$;
comment on function private.lock_traces(uuid, uuid) is 'Locks what a person left something on before that is touched, in one organization, whose merges wait, or in all.';

create function private.forget_traces(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from public.notifications n where n.user_id = profile_id and (forget_traces.organization_id is null or n.organization_id = forget_traces.organization_id);
  delete from public.follows f where f.user_id = profile_id and (forget_traces.organization_id is null or f.organization_id = forget_traces.organization_id);
  -- Not a mark as spam, as long as the account is there to go on: nobody takes that off themselves.
  delete from private.author_trust t
  where t.user_id = profile_id and (forget_traces.organization_id is null or t.organization_id = forget_traces.organization_id and t.is_trusted);
  delete from private.invites i using public.profiles p
  where p.id = profile_id and (i.accepted_by = p.id or i.email = lower(p.email))
    and (forget_traces.organization_id is null or i.organization_id = forget_traces.organization_id);
  update private.outbox o set data = jsonb_set(o.data, '{comment,author}', '{"id": null, "name": "Anonymous"}')
  where o.type = 'comment.created' and o.subject_id in (
    select c.id from public.comments c where c.author_id = profile_id
      and (forget_traces.organization_id is null or c.organization_id = forget_traces.organization_id));
end
$$;
comment on function private.forget_traces(uuid, uuid) is 'Removes what only served the person, in one organization or in all, and their name from events still to be read.';

create function private.erase_person(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = '' as $$
declare person public.profiles; nobody uuid := profile_id;
begin
  perform private.lock_traces(profile_id, organization_id);
  select * into person from public.profiles p where p.id = profile_id for update;
  if exists (select from public.memberships m where m.user_id = profile_id and m.organization_id = erase_person.organization_id) then
    perform private.raise_error('CONFLICT', 'This person is on the team: remove them from it first.');
  end if;
  perform private.keep_participations(person, organization_id);
  perform private.forget_traces(profile_id, organization_id);
  if person.kind = 'user' then
    -- They have an account, which may be of other organizations too: here, somebody without a name takes their place.
    insert into public.profiles (kind, organization_id) values ('anonymous', organization_id) returning id into nobody;
  end if;
  perform private.forget_answers(profile_id, organization_id, nobody);
  if person.kind <> 'user' then
    delete from private.external_ids e where e.profile_id = erase_person.profile_id;
    delete from private.author_trust t where t.user_id = erase_person.profile_id;
    update public.profiles p set kind = 'anonymous', email = null, name = null, avatar_url = null where p.id = profile_id;
    return;
  end if;
  perform set_config('feedback.quiet', 'on', true);
  update public.submissions s set author_id = nobody where s.author_id = profile_id and s.organization_id = erase_person.organization_id;
  update public.comments c set author_id = nobody where c.author_id = profile_id and c.organization_id = erase_person.organization_id;
  update public.votes v set user_id = nobody where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update private.merged_votes v set user_id = nobody where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.comment_votes v set user_id = nobody where v.user_id = profile_id and v.organization_id = erase_person.organization_id;
  update public.status_changes h set changed_by = nobody where h.changed_by = profile_id and h.organization_id = erase_person.organization_id;
  perform set_config('feedback.quiet', 'off', true);
end
$$;
comment on function private.erase_person(uuid, uuid) is 'An organization forgets a person. What they wrote, their votes and answers stay, by nobody; again is not an error.';

-- For admins ---------------------------------------------------------------------------------------------------

create function private.require_data_protector() returns uuid
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'members:write');
  return own_id;
end
$$;
comment on function private.require_data_protector() is 'The current organization, for its admins and keys with members:write; FORBIDDEN otherwise.';

-- definer: e-mail addresses are granted to nobody.
create function private.admin_find_people(email text) returns json
language plpgsql stable security definer set search_path = '' as $$
declare own_id uuid := private.require_data_protector();
begin
  return coalesce((select json_agg(json_build_object('id', p.id, 'kind', p.kind, 'name', coalesce(p.name, 'Anonymous'), 'created_at', p.created_at) order by p.kind, p.id)
    from (
      select * from public.profiles p where p.kind = 'email' and p.organization_id = own_id and lower(p.email) = lower(admin_find_people.email)
      union all
      select * from public.profiles p where p.kind = 'user' and lower(p.email) = lower(admin_find_people.email) and private.takes_part(p.id, own_id)
      limit 20) p), '[]');
end
$$;
comment on function private.admin_find_people(text) is 'Who has the e-mail address in the current organization: an author it knows by it, a user who took part, or both.';

create function private.admin_personal_data(profile_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_data_protector();
begin
  if not private.takes_part(profile_id, own_id) then return null; end if;
  perform private.audit('person.export', 'profile', profile_id, '{}', own_id);
  return private.personal_data(profile_id, own_id);
end
$$;
comment on function private.admin_personal_data(uuid) is 'What the current organization keeps of a person. Null where there is no such person.';

create function private.admin_erase_person(profile_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: writes what no client may
declare own_id uuid := private.require_data_protector();
begin
  if not private.takes_part(profile_id, own_id) and not exists (
    select from private.audit_log a where a.organization_id = own_id and a.target_id = profile_id and a.action = 'person.erase') then
    return null;
  end if;
  perform private.erase_person(profile_id, own_id);
  perform private.audit('person.erase', 'profile', profile_id, '{}', own_id);
  return json_build_object('id', profile_id, 'erased', true);
end
$$;
comment on function private.admin_erase_person(uuid) is 'The current organization forgets a person; again is not an error. Null where there is no such person.';

-- For oneself --------------------------------------------------------------------------------------------------

create function private.named_organization_id() returns uuid
language sql stable
return case when current_setting('feedback.organization_named', true) = 'true' then private.requested_organization_id() end;
comment on function private.named_organization_id() is 'The organization a request names, or the page that calls is of; null where it is about all.';

-- definer: reads what is kept of the caller, and of nobody else.
create function private.my_personal_data() returns json
language plpgsql stable security definer set search_path = '' as $$
begin
  return private.personal_data(private.caller_id(), private.named_organization_id());
end
$$;
comment on function private.my_personal_data() is 'What is kept of the caller, in the organization the request names, or in all.';

-- definer: writes what no client may, and removes the account.
create function private.erase_me() returns void
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.caller_id(); named_id uuid := private.named_organization_id(); membership public.memberships;
begin
  if named_id is not null then
    -- Where they never were there is nothing to forget, and nothing to tell the team.
    if private.takes_part(own_id, named_id) then
      perform private.erase_person(own_id, named_id);
      perform private.audit('person.erase', 'profile', own_id, '{}', named_id);
    end if;
    return;
  end if;
  for membership in select * from public.memberships m where m.user_id = own_id order by m.organization_id loop
    -- Before the membership, which goes with the account; an organization without another owner keeps it.
    perform 1 from public.organizations o where o.id = membership.organization_id for no key update;
    perform private.audit('person.erase', 'profile', own_id, '{}', membership.organization_id);
  end loop;
  perform private.lock_traces(own_id, null);
  perform private.forget_traces(own_id, null);
  delete from private.rate_counters c where c.subject = own_id::text;
  delete from auth.users u where u.id = (select p.auth_user_id from public.profiles p where p.id = own_id);
end
$$;
comment on function private.erase_me() is 'In the organization the request names: it forgets the caller. In all: the caller''s account goes, with name, address, memberships, follows and notifications; what they wrote and their votes stay, by nobody. CONFLICT for the last owner of an organization.';

grant execute on function private.admin_find_people(text), private.admin_personal_data(uuid), private.admin_erase_person(uuid) to authenticated, service_key;
grant execute on function private.my_personal_data(), private.erase_me() to authenticated;
