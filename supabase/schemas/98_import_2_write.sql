-- Rows written by an import. A row keeps its external id, so that a repeated record (after a crash, or sent
-- twice) creates no duplicate. Rows keep their time, and create no notifications or events.

create table private.external_ids (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  source text not null,
  kind text not null,
  external_id text not null,
  submission_id uuid references public.submissions (id) on delete cascade,
  comment_id uuid references public.comments (id) on delete cascade,
  profile_id uuid references public.profiles (id) on delete cascade,
  survey_id uuid references public.surveys (id) on delete cascade,
  question_id uuid references public.survey_questions (id) on delete cascade,
  response_id uuid references public.survey_responses (id) on delete cascade,
  primary key (organization_id, source, kind, external_id),
  constraint kind_is_known check
    (kind in ('submission', 'comment', 'person', 'survey', 'question', 'response')),
  constraint an_id_names_one_row_of_its_kind check (
    num_nonnulls(submission_id, comment_id, profile_id, survey_id, question_id, response_id) = 1
    and case kind when 'submission' then submission_id when 'comment' then comment_id when 'person'
      then profile_id
      when 'survey' then survey_id when 'question' then question_id else response_id end is not null)
);
comment on table private.external_ids is
  'Maps ids of external services to rows. source separates services. The external id of a question is '
  'prefixed with its survey''s id and a slash.';
create index external_ids_submission_idx on private.external_ids (submission_id)
  where submission_id is not null;
create index external_ids_comment_idx on private.external_ids (comment_id) where comment_id is not null;
create index external_ids_profile_idx on private.external_ids (profile_id) where profile_id is not null;
create index external_ids_survey_idx on private.external_ids (survey_id) where survey_id is not null;
create index external_ids_question_idx on private.external_ids (question_id) where question_id is not null;
create index external_ids_response_idx on private.external_ids (response_id) where response_id is not null;

-- Resolving ids ---------------------------------------------------------------------------------------------

-- The row with this external id, imported earlier or exported from this organization; null if unknown.
create function private.imported_row(import private.imports, kind text, external_id text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- The submission that votes and comments of an external id belong to: the merge target of a merged one.
create function private.import_target(import private.imports, external_id text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
begin
  return (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = private.imported_row(import, 'submission', external_id));
end
$$;

-- Locks the submissions that the records reference, in id order.
create function private.import_targets(import private.imports, records jsonb,
  field text default 'submission_id') returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform 1 from public.submissions s
  where s.id in (select private.import_target(import, r.id) from (
    select distinct value ->> field as id from jsonb_array_elements(records)) r)
  order by s.id for no key update;
end
$$;

create type private.import_outcome as (created bigint, skipped bigint, failures jsonb);
comment on type private.import_outcome is
  'Result of writing records. failures is an array of {line, field, message, kept}; kept: the record was '
  'written nevertheless.';

-- Failure of a record that references an unknown row.
create function private.unknown_reference(line integer, field text, what text) returns jsonb
language sql immutable
return jsonb_build_object(
  'line', line,
  'field', field,
  'message', format('is not a %s of this file or organization', what));

-- Each kind of record ---------------------------------------------------------------------------------------

-- Finds or creates profiles of authors: {key: name} to {key: id}. A key is a lowercase e-mail address, or
-- # and an external id. Never matches users.
create function private.import_people(import private.imports, people jsonb) returns jsonb
language plpgsql set search_path = pg_temp as $$
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
$$;

-- The categories or tags with these names, in any case, or slugs: {name: id}. Exports have slugs. A slug that this
-- import derived from another name does not count.
create function private.labels_named(import private.imports, kind text, names jsonb) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
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
$$;

-- Writes categories and tags: those given as records and, with create_missing, those that submissions
-- name.
create function private.import_taxonomy(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Writes submissions with their tags and the author's vote and follow. A merged one points to its target
-- if the target is known.
create function private.import_submissions(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Writes comments, parents before replies. A reply to an unknown comment becomes a top-level comment.
create function private.import_comments(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Writes votes, one for each person and submission, and the follows of voters who asked for it (follow).
create function private.import_votes(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Writes votes for comments, one for each person and comment.
create function private.import_comment_votes(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Writes follows with their reasons, including those of merged submissions. The reason unfollowed writes that
-- the person unfollowed, unless they chose to follow here.
create function private.import_follows(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;

-- Writes the status history, including that of merged submissions; the current status comes from the
-- submission's record. The same change at the same time is skipped.
create function private.import_status_changes(import private.imports, people jsonb, records jsonb)
  returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
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
$$;
