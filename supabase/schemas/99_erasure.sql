-- Access to and erasure of personal data. Content, votes and answers stay without the person.

-- The columns that refer to people in rows of an organization. at_erasure is reassign (to a nameless
-- profile), delete (the row), or null (99_erasure.sql handles it separately). takes_part: the referenced
-- person is a person of the organization. exported_as is the name in an export of personal data, exported its
-- columns; the last of them orders the rows.
create function private.personal_columns()
  returns table (relation text, person text, at_erasure text, takes_part boolean, exported_as text,
    exported text)
language sql immutable set search_path = pg_temp
begin atomic
  values
    ('public.submissions', 'author_id', 'reassign', true, 'submissions',
      'id, title, description, type, status, source, updated_at, created_at'),
    ('private.submission_subtotals', 'author_id', 'reassign', false, null, null),
    ('public.comments', 'author_id', 'reassign', true, 'comments',
      'id, submission_id, parent_id, body, updated_at, created_at'),
    ('public.votes', 'user_id', 'reassign', true, 'votes', 'submission_id, created_at'),
    ('public.comment_votes', 'user_id', 'reassign', true, 'comment_votes', 'comment_id, created_at'),
    ('private.merged_votes', 'user_id', 'reassign', false, null, null),
    ('public.status_changes', 'changed_by', 'reassign', true, 'status_changes',
      'submission_id, previous_status, new_status, note, created_at'),
    ('private.api_keys', 'created_by', 'reassign', false, null, null),
    ('private.agents', 'created_by', 'reassign', false, null, null),
    ('private.identify_secrets', 'created_by', 'reassign', false, null, null),
    ('private.webhooks', 'created_by', 'reassign', false, null, null),
    ('public.follows', 'user_id', 'delete', true, 'follows', 'submission_id, reason, created_at'),
    ('private.unfollows', 'user_id', 'delete', false, 'unfollows', 'submission_id, created_at'),
    ('public.notifications', 'user_id', 'delete', false, 'notifications',
      'type, submission_id, comment_id, read_at, created_at'),
    ('private.mails', 'profile_id', 'delete', false, null, null),
    ('private.mail_items', 'profile_id', 'delete', false, null, null),
    ('private.mail_choices', 'profile_id', 'delete', false, 'mail_choices', 'kind, choice'),
    ('private.mail_mutes', 'profile_id', 'delete', false, 'mail_mutes', 'submission_id, created_at'),
    ('private.survey_requests', 'profile_id', 'delete', false, 'survey_requests',
      'survey_id, reminded_at, created_at'),
    ('private.invites', 'invited_by', 'delete', false, null, null),
    ('private.invites', 'accepted_by', 'delete', false, null, null),
    -- Separate statements handle this table and the following ones.
    ('public.memberships', 'user_id', null, true, 'memberships', 'role, created_at'),
    ('public.survey_responses', 'user_id', null, true, null, null),
    ('private.survey_starts', 'user_id', null, true, 'survey_starts', 'survey_id, started_at'),
    ('private.author_trust', 'user_id', null, false, 'trust', 'is_trusted, created_at'),
    ('private.mail_suppressions', 'profile_id', null, false, null, null),
    ('private.identified_people', 'profile_id', null, false, null, null),
    ('private.identify_sessions', 'profile_id', null, false, null, null),
    ('private.external_ids', 'profile_id', null, false, null, null);
end;

-- One branch for each of these columns; a test compares them.
do $$
begin
  execute 'create view private.personal_rows with (security_invoker) as ' || (
    select string_agg(format('select %I as profile_id, organization_id, %L::boolean as takes_part from %s',
      c.person, c.takes_part, c.relation), ' union all ')
    from private.personal_columns() c);
end
$$;
comment on view private.personal_rows is 'Who is named in which organization, by private.personal_columns.';

-- Personal data of a profile in one organization or (null) in all: the newest 10,000 rows of each kind.
create function private.personal_data(profile_id uuid, organization_id uuid) returns json
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- Whether a profile is a person of the organization: an e-mail, imported or named author, or a user who takes
-- part there (private.personal_columns). Never agents and keys.
create function private.is_person_of_organization(profile_id uuid, organization_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from public.profiles p
    where p.id = profile_id and p.organization_id = is_person_of_organization.organization_id
      and p.kind in ('email', 'anonymous'))
    or exists (select from public.profiles p where p.id = profile_id and p.kind = 'user')
      and exists (select from private.personal_rows r
        where r.profile_id = is_person_of_organization.profile_id
          and r.organization_id = is_person_of_organization.organization_id and r.takes_part);
end
$$;

-- Erasure ---------------------------------------------------------------------------------------------------

-- Locks all rows a person participated in, in one organization (whose merges wait) or in all.
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

-- Deletes rows that only concern the person, in one organization or in all, and removes the name from
-- undelivered events.
create function private.delete_personal_rows(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Erases a person in one organization: content, votes and answers stay without a person. Repeating it is
-- not an error.
create function private.erase_person(profile_id uuid, organization_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Whether the account was erased in this organization, where it no longer adds anything that counts once per
-- person.
create function private.was_erased(organization_id uuid, profile_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  -- Waits for a concurrent erasure.
  perform 1 from public.profiles p where p.id = profile_id and p.kind = 'user' for key share;
  return found and exists (select from private.audit_log a
    where a.organization_id = was_erased.organization_id
      and a.target_id = profile_id and a.action = 'person.erase');
end
$$;

-- Trigger: an account that was erased in one organization neither votes nor answers there again, since it
-- could do so without end. definer: private tables.
create function private.refuse_erased() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if not private.is_internal_write() and private.was_erased(new.organization_id, new.user_id) then
    perform private.raise_error('FORBIDDEN', 'The data of this account was erased here. Its votes and '
      'answers still count. To take part again, use another account.');
  end if;
  return new;
end
$$;

-- Trigger names sort after prepare, which sets the organization.
create trigger refuse_erased before insert on public.votes
  for each row execute function private.refuse_erased();
create trigger refuse_erased before insert on public.comment_votes
  for each row execute function private.refuse_erased();
create trigger refuse_erased before insert on public.survey_responses
  for each row when (new.is_only) execute function private.refuse_erased();

-- Administration --------------------------------------------------------------------------------------------

-- Profiles with this e-mail address in the current organization: an e-mail author, a user who participated,
-- or both. definer: e-mail addresses are not granted.
create function private.admin_find_people(email text) returns json
language plpgsql security definer set search_path = pg_temp as $$
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
$$;

-- JSON of a person for Admin of the organization: their numbers of contributions, role, whether they are
-- trusted, and decided: the team's decision about trust (null: none). For definer functions.
create function private.person_shape(person public.profiles, organization_id uuid) returns jsonb
language sql stable
return jsonb_build_object(
  'id', person.id,
  'kind', person.kind,
  'name', coalesce(person.name, 'Anonymous'),
  'email', person.email,
  'avatar_url', private.avatar(person),
  'created_at', person.created_at,
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

-- At most 50 people of the current organization: with this complete e-mail address, otherwise with all these
-- words in their name (fewer than three letters match the beginning of a word only); without a text, the most
-- recent authors and voters. definer: e-mail addresses and trust are not granted.
create function private.admin_search_people(search text) returns json
language plpgsql security definer set search_path = pg_temp as $$
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
$$;

-- A person of the current organization with their newest 20 submissions, comments and votes; null if there is
-- no such person. definer: e-mail addresses and trust are not granted.
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

-- Decides whether content of a person of the current organization needs no approval; null applies
-- trust_after instead. Returns null if there is no such person.
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

-- Personal data of a person in the current organization; null if there is no such person.
create function private.admin_personal_data(profile_id uuid) returns json
language plpgsql security definer set search_path = pg_temp as $$ -- definer: e-mail addresses are not granted
declare own_id uuid := private.require_admin(private.current_organization_id(), 'members:write');
begin
  if not private.is_person_of_organization(profile_id, own_id) then return null; end if;
  perform private.audit('person.export', 'profile', profile_id, '{}', own_id);
  return private.personal_data(profile_id, own_id);
end
$$;

-- Erases a person in the current organization; repeating it is not an error. Returns null if there is no
-- such person.
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

-- The caller's own data -------------------------------------------------------------------------------------

-- Organization named by the request or by the origin of the calling page; null if the request covers all.
create function private.named_organization_id() returns uuid
language sql stable
return case when current_setting('feedback.organization_named', true) = 'true'
  then private.requested_organization_id() end;

-- Personal data of the caller in the named organization, or in all.
-- definer: reads personal data of the caller only.
create function private.my_personal_data() returns json
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return private.personal_data(private.caller_id(), private.named_organization_id());
end
$$;

-- Erases the caller: in the named organization only, or in all by deleting the account with name, address,
-- memberships, follows and notifications. Content and votes stay without a person, but not the votes and
-- single responses of an identified person. Raises CONFLICT for the last owner of an organization, and while
-- a change of address can be undone. definer: writes private tables and deletes the account.
create function private.erase_me() returns void
language plpgsql security definer set search_path = pg_temp as $$
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
$$;

grant execute on function private.admin_search_people, private.admin_person, private.admin_decide_trust,
  private.admin_find_people, private.admin_personal_data, private.admin_erase_person to authenticated,
  service_key;
grant execute on function private.my_personal_data, private.erase_me to authenticated;
