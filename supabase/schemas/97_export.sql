-- Export of an organization as records, in pages. private.write_import reads the same records, except
-- members.

-- Reference to a person in a record: the e-mail address, or the id if there is none.
create function private.person_record(profile_id uuid) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- External id of an imported row in its source; null otherwise.
create function private.exported_id(kind text, row_id uuid) returns text
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- Question ids of a survey in an export: {id: external id, or its own id}.
create function private.exported_questions(survey_id uuid) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
declare named text := private.exported_id('survey', survey_id);
begin
  return coalesce((
    select jsonb_object_agg(q.id, coalesce(substr(e.external_id, char_length(named) + 2), q.id::text))
    from public.survey_questions q left join private.external_ids e on e.question_id = q.id
      and e.source = 'feedback'
    where q.survey_id = exported_questions.survey_id), '{}');
end
$$;

-- The next rows of a kind after a position, as records with their positions.
create function private.export_rows(organization_id uuid, what text, after text[], max_rows integer)
  returns table (at text[], record jsonb)
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- A submission as a record. author_votes: whether the author's creation vote exists; other votes are
-- separate records.
create function private.submission_record(submission public.submissions) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- A survey as a record, with its questions in order.
create function private.survey_record(survey public.surveys) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- Scope a key needs to export rows of a kind, in addition to submissions:moderate.
create function private.export_scope(what text) returns text
language sql immutable
return case what
  when 'organization' then 'organization:write'
  when 'members' then 'members:write'
  when 'surveys' then 'surveys:read'
  when 'survey_responses' then 'responses:read'
  -- The reason of a follow can reveal that its person voted.
  when 'votes' then private.voters_scope()
  when 'comment_votes' then private.voters_scope()
  when 'follows' then private.voters_scope()
  else 'submissions:moderate'
end;

-- A page of an export of the current organization for Admin and keys with submissions:moderate: one JSON
-- record on each line, and the position of the last. Empty for keys without private.export_scope.
-- definer: e-mail addresses and voters are not granted; requires Admin for each page.
create function private.admin_export_page(what text, after text[], max_rows integer)
  returns table (total bigint, last text[], records text)
language plpgsql stable security definer set search_path = pg_temp as $$
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
$$;

-- Logs the start of an export in the audit trail. definer: the audit trail is not granted.
create function private.admin_start_export(what text, format text) returns void
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  perform private.require_admin(own_id, private.export_scope(what));
  perform private.audit('organization.export', 'organization', own_id,
    jsonb_build_object('what', what, 'format', format), own_id);
end
$$;
grant execute on function private.admin_start_export, private.admin_export_page to authenticated,
  service_key;
