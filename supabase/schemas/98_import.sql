-- Feedback that comes from elsewhere, in chunks of a transaction each. A row keeps the id it had there, so that whatever is
-- sent again (after a crash, twice, two at once) makes nothing twice. Rows keep their time and are announced to nobody.

create table private.imports (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  source text not null,
  format text not null,
  is_dry_run boolean not null,
  makes_missing boolean not null,
  state text not null default 'running',
  processed integer not null default 0,
  created integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  problem text,
  query jsonb,
  file_type text,
  profile_id uuid,
  key_id uuid,
  bytes bigint not null default 0,
  position jsonb not null default '{"at": 0, "line": 1}',
  chunks_done integer not null default 0,
  nameless_votes integer,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint imports_belong_to_their_organization unique (organization_id, id),
  constraint source_is_a_slug check (private.is_slug(source)),
  constraint state_is_known check (state in ('receiving', 'running', 'completed', 'failed', 'canceled'))
);
comment on table private.imports is 'Imports and how far they came. processed = created + skipped + failed; problem is what ended one that failed. A job has its query: its file is received first and written in steps, as the profile or key that sent it. position: where the next rows begin in the file; chunks_done: so many chunks of these rows are written. claimed_until: the schedule runs it.';
create index imports_newest_idx on private.imports (organization_id, created_at desc, id desc);
create index imports_running_idx on private.imports (updated_at) where state in ('receiving', 'running');

create table private.import_errors (
  organization_id uuid not null,
  import_id uuid not null,
  id bigint generated always as identity,
  file text,
  line integer not null,
  field text,
  message text not null,
  primary key (organization_id, import_id, id),
  constraint import_errors_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_errors is 'What was wrong with which line of an import: the first 100. No value of the file is in it.';

create table private.import_pieces (
  organization_id uuid not null,
  import_id uuid not null,
  n integer not null,
  bytes bytea not null,
  primary key (organization_id, import_id, n),
  constraint import_pieces_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_pieces is 'The file of an import that has not ended, in pieces of 1 MiB.';

create table private.import_ids (
  organization_id uuid not null,
  import_id uuid not null,
  kind text not null,
  external_id text not null,
  primary key (organization_id, import_id, kind, external_id),
  constraint import_ids_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_ids is 'Ids that earlier chunks of a dry run brought, since it takes back what it writes.';

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
  constraint kind_is_known check (kind in ('submission', 'comment', 'person', 'survey', 'question', 'response')),
  constraint an_id_names_one_row_of_its_kind check (
    num_nonnulls(submission_id, comment_id, profile_id, survey_id, question_id, response_id) = 1
    and case kind when 'submission' then submission_id when 'comment' then comment_id when 'person' then profile_id
      when 'survey' then survey_id when 'question' then question_id else response_id end is not null)
);
comment on table private.external_ids is 'Which row an id of another service stands for here. source keeps the ids of several services apart. A question has the id of its survey before its own, with a slash between.';
create index external_ids_submission_idx on private.external_ids (submission_id) where submission_id is not null;
create index external_ids_comment_idx on private.external_ids (comment_id) where comment_id is not null;
create index external_ids_profile_idx on private.external_ids (profile_id) where profile_id is not null;
create index external_ids_survey_idx on private.external_ids (survey_id) where survey_id is not null;
create index external_ids_question_idx on private.external_ids (question_id) where question_id is not null;
create index external_ids_response_idx on private.external_ids (response_id) where response_id is not null;

alter table private.imports enable row level security;
alter table private.import_errors enable row level security;
alter table private.import_pieces enable row level security;
alter table private.import_ids enable row level security;
alter table private.external_ids enable row level security;
revoke all on private.imports, private.import_errors, private.import_pieces, private.import_ids, private.external_ids from public, anon, authenticated, service_role, service_key;

-- What an id means ---------------------------------------------------------------------------------------------

create function private.imported_row(import private.imports, kind text, external_id text) returns uuid
language plpgsql stable set search_path = '' as $$
declare found_id uuid; own_id uuid;
begin
  if external_id is null then return null; end if;
  select coalesce(e.submission_id, e.comment_id, e.profile_id, e.survey_id, e.response_id) into found_id from private.external_ids e
  where e.organization_id = import.organization_id and e.source = import.source
    and e.kind = imported_row.kind and e.external_id = imported_row.external_id;
  if found_id is not null or external_id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then return found_id; end if;
  -- What this organization exported names its rows by their own ids.
  own_id := external_id::uuid;
  return case imported_row.kind
    when 'submission' then (select s.id from public.submissions s where s.id = own_id and s.organization_id = import.organization_id)
    when 'comment' then (select c.id from public.comments c where c.id = own_id and c.organization_id = import.organization_id)
    when 'survey' then (select s.id from public.surveys s where s.id = own_id and s.organization_id = import.organization_id)
    when 'response' then (select r.id from public.survey_responses r where r.id = own_id and r.organization_id = import.organization_id)
    else (select p.id from public.profiles p where p.id = own_id and (p.organization_id = import.organization_id
      or p.auth_user_id is null and p.kind = 'user' and (
        exists (select from public.votes v where v.user_id = p.id and v.organization_id = import.organization_id)
        or exists (select from public.submissions s where s.author_id = p.id and s.organization_id = import.organization_id)
        or exists (select from public.comments c where c.author_id = p.id and c.organization_id = import.organization_id))))
  end;
end
$$;
comment on function private.imported_row(private.imports, text, text) is 'The row an external id stands for, imported earlier or exported from this organization; null where there is none.';

create function private.import_target(import private.imports, external_id text) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(s.merged_into_id, s.id) from public.submissions s where s.id = private.imported_row(import, 'submission', external_id));
end
$$;
comment on function private.import_target(private.imports, text) is 'The submission that votes and comments of an external id belong to: where it was merged, the target.';

create function private.import_targets(import private.imports, records jsonb, field text default 'submission_id') returns void
language plpgsql set search_path = '' as $$
begin
  perform 1 from public.submissions s
  where s.id in (select private.import_target(import, r.id) from (
    select distinct value ->> field as id from jsonb_array_elements(records)) r)
  order by s.id for no key update;
end
$$;
comment on function private.import_targets(private.imports, jsonb, text) is 'Locks the submissions that records name, in the order of their ids.';

create type private.import_outcome as (created bigint, skipped bigint, failures jsonb);
comment on type private.import_outcome is 'What became of some records; failures is an array of {line, field, message, kept}, kept where the record was taken all the same.';

create function private.unknown_reference(line integer, field text, what text) returns jsonb
language sql immutable
return jsonb_build_object('line', line, 'field', field, 'message', format('names no %s of this file or organization', what));
comment on function private.unknown_reference(integer, text, text) is 'The failure of a record that points to a row nobody knows.';

-- Each kind of record ------------------------------------------------------------------------------------------

create function private.import_people(import private.imports, people jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  insert into public.profiles as p (kind, organization_id, email, name)
  select 'email', import.organization_id, k.key, nullif(left(private.person_name(k.value), 100), '')
  from jsonb_each_text(people) k where not starts_with(k.key, '#') order by k.key
  on conflict (organization_id, lower(email)) where kind = 'email'
    do update set name = excluded.name where p.name is null and excluded.name is not null;
  with unknown as materialized (
    select substr(k.key, 2) as external_id, gen_random_uuid() as id, nullif(left(private.person_name(k.value), 100), '') as name
    from jsonb_each_text(people) k
    where starts_with(k.key, '#') and private.imported_row(import, 'person', substr(k.key, 2)) is null
  ), made as (
    insert into public.profiles (id, kind, organization_id, name)
    select u.id, 'anonymous', import.organization_id, u.name from unknown u
  )
  insert into private.external_ids (organization_id, source, kind, external_id, profile_id)
  select import.organization_id, import.source, 'person', u.external_id, u.id from unknown u;
  return coalesce((
    select jsonb_object_agg(k.key, case when starts_with(k.key, '#') then private.imported_row(import, 'person', substr(k.key, 2))
      else (select p.id from public.profiles p
        where p.kind = 'email' and p.organization_id = import.organization_id and lower(p.email) = k.key) end)
    from jsonb_object_keys(people) as k (key)), '{}');
end
$$;
comment on function private.import_people(private.imports, jsonb) is 'Profiles of authors, made at first sight: {key: name} to {key: id}. A key is a lower-case e-mail address, or # and an external id. Nobody is taken for a user of the app.';

create function private.import_taxonomy(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome; made bigint; last integer;
begin
  last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = import.organization_id);
  insert into public.categories (organization_id, slug, name, color, position, translations)
  select import.organization_id, r.slug, r.name, coalesce(r.color, '#6b7280'), coalesce(r.position, last + 1), coalesce(r.translations, '{}')
  from jsonb_to_recordset(records -> 'category') as r (slug text, name text, color text, position integer, translations jsonb)
  on conflict on constraint category_slugs_are_unique do nothing;
  get diagnostics made = row_count;
  outcome.created := made;
  insert into public.tags (organization_id, slug, name, color, translations)
  select import.organization_id, r.slug, r.name, coalesce(r.color, '#6b7280'), coalesce(r.translations, '{}')
  from jsonb_to_recordset(records -> 'tag') as r (slug text, name text, color text, translations jsonb)
  on conflict on constraint tag_slugs_are_unique do nothing;
  get diagnostics made = row_count;
  outcome.created := outcome.created + made;
  outcome.skipped := coalesce(jsonb_array_length(records -> 'category'), 0) + coalesce(jsonb_array_length(records -> 'tag'), 0) - outcome.created;
  if import.makes_missing then
    last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = import.organization_id);
    insert into public.categories (organization_id, slug, name, position)
    select import.organization_id, c.key, c.value, last + 1 from jsonb_each_text(records -> 'categories') c
    on conflict on constraint category_slugs_are_unique do nothing;
    insert into public.tags (organization_id, slug, name)
    select import.organization_id, t.key, t.value from jsonb_each_text(records -> 'tags') t
    on conflict on constraint tag_slugs_are_unique do nothing;
  end if;
  return outcome;
end
$$;
comment on function private.import_taxonomy(private.imports, jsonb) is 'Categories and tags: those that are records of their own, and where missing ones are made those that submissions name.';

create function private.import_submissions(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records, 'merged_into_id');
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id, private.imported_row(import, 'submission', r.id) as known_id,
      row_number() over (partition by r.id order by r.n) as nth, c.id as category_id, gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at,
      private.import_target(import, r.merged_into_id) as target_id,
      r.category is not null and c.id is null as lacks_category,
      (select min(t.slug) from jsonb_array_elements_text(r.tags) as t (slug)
        where not exists (select from public.tags k where k.organization_id = import.organization_id and k.slug = t.slug)) is not null as lacks_tag
    from jsonb_to_recordset(records) as r (line integer, n integer, id text, author text, title text, description text, type text, status text,
      category text, tags jsonb, source text, tracker_issue_url text, moderation_state text, created_at timestamptz, updated_at timestamptz,
      author_votes boolean, follow boolean, merged_into_id text)
    left join public.categories c on c.organization_id = import.organization_id and c.slug = r.category
  ), fresh as materialized (
    select * from r where known_id is null and nth = 1 and not lacks_category and not lacks_tag
  ), made as (
    insert into public.submissions (id, organization_id, title, description, type, status, vote_count, author_id, category_id, source,
      tracker_issue_url, moderation_state, merged_into_id, created_at, updated_at)
    select row_id, import.organization_id, title, description, type,
      case when target_id is not null then 'duplicate' when status = 'duplicate' then 'declined' else status end, (author_votes and target_id is null)::integer, author_id,
      category_id, source, tracker_issue_url, moderation_state, target_id, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, submission_id)
    select import.organization_id, import.source, 'submission', id, row_id from fresh
  ), merged as (
    insert into private.merges (source_id, organization_id, parent_id, event_id, previous_status)
    select row_id, import.organization_id, target_id, gen_random_uuid(), 'open' from fresh where target_id is not null order by n
  ), voted as (
    -- One that is merged lends its vote, as a merge would have done.
    insert into public.votes (organization_id, submission_id, user_id, created_at, merged_from)
    select import.organization_id, coalesce(target_id, row_id), author_id, at, case when target_id is not null then row_id end
    from fresh where author_votes order by n
    on conflict on constraint one_vote_a_person_and_submission do nothing
    returning submission_id, merged_from
  ), doubled as (
    insert into private.merged_votes (source_id, user_id, organization_id, id, created_at)
    select f.row_id, f.author_id, import.organization_id, gen_random_uuid(), f.at from fresh f
    where f.author_votes and f.target_id is not null and not exists (select from voted v where v.merged_from = f.row_id)
  ), counted as (
    update public.submissions s set vote_count = vote_count + d.votes
    from (select submission_id, count(*) as votes from voted group by 1) d where s.id = d.submission_id
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select import.organization_id, row_id, author_id, 'author', at from fresh where follow
  ), tagged as (
    insert into public.submission_tags (organization_id, submission_id, tag_id)
    select distinct import.organization_id, f.row_id, t.id
    from fresh f cross join lateral jsonb_array_elements_text(f.tags) as w (slug)
    join public.tags t on t.organization_id = import.organization_id and t.slug = w.slug
  )
  select (select count(*) from fresh), count(*) filter (where known_id is not null or nth > 1),
    coalesce(jsonb_agg(private.unknown_reference(line, case when lacks_category then 'category' else 'tags' end,
      case when lacks_category then 'category' else 'tag' end)) filter (where known_id is null and nth = 1 and (lacks_category or lacks_tag)), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_submissions(private.imports, jsonb, jsonb) is 'Submissions with their author''s vote and follow and their tags. One that says it is merged points to its target, if that is known.';

create function private.import_comments(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as author_id, private.imported_row(import, 'comment', r.id) as known_id,
      private.import_target(import, r.submission_id) as target_id, private.imported_row(import, 'comment', r.parent_id) as known_parent_id,
      row_number() over (partition by r.id order by r.n) as nth, gen_random_uuid() as row_id,
      coalesce(r.created_at, now() + r.n * interval '1 microsecond') as at
    from jsonb_to_recordset(records) as r (line integer, n integer, id text, submission_id text, parent_id text, author text, body text,
      is_official boolean, moderation_state text, created_at timestamptz, updated_at timestamptz, follow boolean, seen boolean)
  ), fresh as materialized (
    select r.*, coalesce(p.id, q.row_id) as parent_row_id
    from r left join public.comments p on p.id = r.known_parent_id and p.submission_id = r.target_id
    -- Earlier in the same chunk; only earlier, so that no thread bites its tail.
    left join r q on q.id = r.parent_id and q.known_id is null and q.nth = 1 and q.target_id = r.target_id and q.n < r.n
    where r.known_id is null and r.nth = 1 and r.target_id is not null
  ), made as (
    insert into public.comments (id, organization_id, submission_id, parent_id, author_id, body, is_official, moderation_state, created_at, updated_at)
    select row_id, import.organization_id, target_id, parent_row_id, author_id, body, is_official, moderation_state, at, coalesce(updated_at, at)
    from fresh order by n
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, comment_id)
    select import.organization_id, import.source, 'comment', id, row_id from fresh
  ), followed as (
    insert into public.follows (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (target_id, author_id) import.organization_id, target_id, author_id, 'comment', at from fresh
    where follow order by target_id, author_id, at
    on conflict do nothing
  )
  select (select count(*) from fresh) + count(*) filter (where known_id is null and nth = 1 and target_id is null and seen),
    count(*) filter (where known_id is not null or nth > 1),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission'))
      filter (where known_id is null and nth = 1 and target_id is null and seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'parent_id', 'kept', true,
      'message', 'names no earlier comment of the submission: the reply stands at the top level'))
      from fresh f where f.parent_id is not null and f.parent_row_id is null), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_comments(private.imports, jsonb, jsonb) is 'Comments, parents before replies. A reply to a comment nobody knows is kept at the top level.';

create function private.import_votes(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  perform private.import_targets(import, records);
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.import_target(import, r.submission_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, submission_id text, author text, created_at timestamptz, follow boolean, seen boolean)
  ), added as (
    insert into public.votes (organization_id, submission_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, coalesce(r.created_at, now())
    from r where r.target_id is not null
      -- Somebody who signs in with that address has voted already.
      and not exists (select from public.profiles p join public.votes v on v.user_id = p.id
        where p.kind = 'user' and lower(p.email) = r.author and v.submission_id = r.target_id)
      and not private.participated(r.author, private.with_sources(r.target_id))
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
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_votes(private.imports, jsonb, jsonb) is 'Votes, one a person and submission, and the voters'' follows.';

create function private.import_comment_votes(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.imported_row(import, 'comment', r.comment_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, comment_id text, author text, created_at timestamptz, seen boolean)
  ), added as (
    insert into public.comment_votes (organization_id, comment_id, user_id, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, coalesce(r.created_at, now())
    from r where r.target_id is not null
      and not exists (select from public.profiles p join public.comment_votes v on v.user_id = p.id
        where p.kind = 'user' and lower(p.email) = r.author and v.comment_id = r.target_id)
      and not private.participated(r.author, array[r.target_id])
    order by r.target_id, r.user_id, r.n
    on conflict on constraint one_vote_a_person_and_comment do nothing
    returning comment_id
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'comment_id', 'comment')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_comment_votes(private.imports, jsonb, jsonb) is 'Votes on comments, one a person and comment.';

create function private.import_follows(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, submission_id text, author text, reason text, created_at timestamptz, seen boolean)
  ), added as (
    insert into public.follows as f (organization_id, submission_id, user_id, reason, created_at)
    select distinct on (r.target_id, r.user_id) import.organization_id, r.target_id, r.user_id, r.reason, coalesce(r.created_at, now())
    from r where r.target_id is not null
      and not exists (select from public.profiles p
        where p.kind = 'user' and lower(p.email) = r.author and private.is_follower(r.target_id, p.id))
    order by r.target_id, r.user_id, r.n
    -- The record knows better than the vote or comment that brought the follow along.
    on conflict (submission_id, user_id) do update set reason = excluded.reason, created_at = excluded.created_at
      where (f.reason, f.created_at) is distinct from (excluded.reason, excluded.created_at)
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_follows(private.imports, jsonb, jsonb) is 'Who follows what, and why; also what is merged, where follows stay.';

create function private.import_status_changes(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as changed_by, private.imported_row(import, 'submission', r.submission_id) as target_id
    from jsonb_to_recordset(records) as r (line integer, n integer, submission_id text, author text, previous_status text, new_status text, note text,
      created_at timestamptz, seen boolean)
  ), added as (
    insert into public.status_changes (organization_id, submission_id, previous_status, new_status, changed_by, note, notify, created_at)
    select distinct on (r.target_id, r.created_at, r.new_status)
      import.organization_id, r.target_id, r.previous_status, r.new_status, r.changed_by, r.note, false, r.created_at
    from r where r.target_id is not null and not exists (select from public.status_changes c
      where c.submission_id = r.target_id and c.created_at = r.created_at and c.new_status = r.new_status)
    order by r.target_id, r.created_at, r.new_status, r.n
    returning 1
  )
  select (select count(*) from added) + count(*) filter (where target_id is null and seen),
    count(*) filter (where target_id is not null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(line, 'submission_id', 'submission')) filter (where target_id is null and seen is not true), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_status_changes(private.imports, jsonb, jsonb) is 'The history of statuses, also of what was merged; what a submission''s status is now, its own record says. The same change at the same time is known.';

create function private.import_surveys(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  r record; row_id uuid; family uuid; audience_id uuid; state text;
begin
  for r in
    select * from jsonb_to_recordset(records) as s (line integer, n integer, id text, title text, description text, status text, questions jsonb,
      allow_multiple_responses boolean, show_branding boolean, redirect_url text, audience text, audience_submission_id text, locales jsonb,
      closes_at timestamptz, version_of text, published_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz)
    order by s.n
  loop
    if private.imported_row(import, 'survey', r.id) is not null then
      outcome.skipped := outcome.skipped + 1;
      continue;
    end if;
    audience_id := private.imported_row(import, 'submission', r.audience_submission_id);
    if r.audience_submission_id is not null and audience_id is null then
      outcome.failures := outcome.failures || private.unknown_reference(r.line, 'audience_submission_id', 'submission');
      continue;
    end if;
    row_id := gen_random_uuid();
    family := coalesce((select s.family_id from public.surveys s where s.id = private.imported_row(import, 'survey', r.version_of)), row_id);
    state := r.status;
    if state in ('published', 'paused') and exists (select from public.surveys s where s.family_id = family and s.status in ('published', 'paused')) then
      state := 'archived';
      outcome.failures := outcome.failures || jsonb_build_object('line', r.line, 'field', 'status', 'kept', true,
        'message', 'is of a version while another one is open here: this one is archived');
    end if;
    insert into public.surveys (id, organization_id, title, description, status, allow_multiple_responses, show_branding, redirect_url, audience,
      audience_submission_id, locales, closes_at, version_of, family_id, published_at, closed_at, created_at, updated_at)
    select row_id, import.organization_id, r.title, r.description, state, r.allow_multiple_responses, r.show_branding, r.redirect_url, r.audience,
      case when r.audience <> 'everyone' then audience_id end, case when r.locales is not null then array(select jsonb_array_elements_text(r.locales)) end,
      r.closes_at, private.imported_row(import, 'survey', r.version_of), family, t.published, case when t.published is not null then coalesce(r.closed_at,
        case when state = 'archived' then t.updated when r.closes_at <= now() then r.closes_at end) end, t.created, t.updated
    from (select c.created, coalesce(r.updated_at, c.created) as updated,
        coalesce(r.published_at, case when r.status in ('published', 'paused') then c.created end) as published
      from (select coalesce(r.created_at, now()) as created) c) t;
    insert into private.external_ids (organization_id, source, kind, external_id, survey_id)
    values (import.organization_id, import.source, 'survey', r.id, row_id);
    with q as materialized (
      select gen_random_uuid() as question_id, q.value, q.n from jsonb_array_elements(r.questions) with ordinality as q (value, n)
    ), asked as (
      insert into public.survey_questions (id, organization_id, survey_id, type, text, required, position, multiple, scale)
      select q.question_id, import.organization_id, row_id, q.value ->> 'type', q.value ->> 'text', (q.value ->> 'required')::boolean, q.n,
        coalesce((q.value ->> 'multiple')::boolean, false), (q.value ->> 'scale')::integer
      from q
    ), offered as (
      insert into public.survey_options (organization_id, survey_id, question_id, text, position)
      select import.organization_id, row_id, q.question_id, o.value, o.n
      from q cross join lateral jsonb_array_elements_text(nullif(q.value -> 'options', 'null')) with ordinality as o (value, n)
    )
    insert into private.external_ids (organization_id, source, kind, external_id, question_id)
    select import.organization_id, import.source, 'question', r.id || '/' || coalesce(q.value ->> 'id', q.n::text), q.question_id from q
    -- Of two questions with one id, answers are to the first.
    order by q.n on conflict do nothing;
    outcome.created := outcome.created + 1;
  end loop;
  return outcome;
end
$$;
comment on function private.import_surveys(private.imports, jsonb) is 'Surveys with their questions, in the state they had; of the versions of one, only one is open.';

create function private.imported_answers(import private.imports, survey_id uuid, named text, answers jsonb) returns private.checked_answer
language plpgsql stable set search_path = '' as $$
declare kept jsonb[] := '{}'; item record; checked private.checked_answer;
begin
  for item in
    select q as question, a.value -> 'value' as value, row_number() over (partition by q.id order by a.n) as nth
    from jsonb_array_elements(answers) with ordinality as a (value, n)
    left join private.external_ids e on e.organization_id = import.organization_id and e.source = import.source and e.kind = 'question'
      and e.external_id = named || '/' || (a.value ->> 'question_id')
    left join public.survey_questions q on q.survey_id = imported_answers.survey_id and (q.id = e.question_id or q.id::text = a.value ->> 'question_id')
    order by q.position, a.n
  loop
    if (item.question).id is null then
      return row(null, 'names no question of the survey')::private.checked_answer;
    elsif item.nth > 1 then
      return row(null, 'answers a question twice')::private.checked_answer;
    end if;
    checked := private.check_answer(item.question, item.value);
    if checked.complaint is not null then
      return row(null, format('of question %s %s', (item.question).position, checked.complaint))::private.checked_answer;
    elsif checked.value is not null then
      kept := kept || jsonb_build_object('question_id', (item.question).id, 'value', checked.value);
    end if;
  end loop;
  return row(to_jsonb(kept), null)::private.checked_answer;
end
$$;
comment on function private.imported_answers(private.imports, uuid, text, jsonb) is 'Answers as they are stored, or what is wrong with them. None is required: who was forgotten has some no more.';

create function private.import_survey_responses(import private.imports, people jsonb, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare outcome private.import_outcome;
begin
  with r as materialized (
    select r.*, (people ->> r.author)::uuid as user_id, private.imported_row(import, 'response', r.id) as known_id,
      private.imported_row(import, 'survey', r.survey_id) as target_id, row_number() over (partition by r.id order by r.n) as nth,
      private.ordered_id() as row_id
    from jsonb_to_recordset(records) as r (line integer, n integer, id text, survey_id text, author text, answers jsonb, locale text,
      sentiment_score numeric, sentiment_engine text, started_at timestamptz, submitted_at timestamptz, seen boolean)
  ), fresh as materialized (
    select r.*, not s.allow_multiple_responses as is_only, (a.answers).value as kept, (a.answers).complaint
    from r join public.surveys s on s.id = r.target_id
    cross join lateral (select private.imported_answers(import, r.target_id, r.survey_id, r.answers) as answers) a
    where r.known_id is null and r.nth = 1
  ), added as (
    insert into public.survey_responses (id, organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score,
      sentiment_engine, is_only)
    select f.row_id, import.organization_id, f.target_id, f.user_id, f.kept, f.locale, f.started_at, coalesce(f.submitted_at, now()),
      f.sentiment_score, case when f.sentiment_score is not null then coalesce(f.sentiment_engine, 'import') end, f.is_only
    from fresh f
    where f.complaint is null
      -- Somebody who signs in with that address has answered already.
      and not (f.is_only and exists (select from public.profiles p join public.survey_responses x on x.user_id = p.id
        where p.kind = 'user' and lower(p.email) = f.author and x.survey_id = f.target_id))
      and not (f.is_only and private.participated(f.author, array[f.target_id]))
    order by f.n
    on conflict (survey_id, user_id) where is_only do nothing
    returning id
  ), named as (
    insert into private.external_ids (organization_id, source, kind, external_id, response_id)
    select import.organization_id, import.source, 'response', f.id, f.row_id from fresh f join added a on a.id = f.row_id
  )
  select (select count(*) from added) + count(*) filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen),
    count(*) filter (where r.known_id is not null or r.nth > 1)
      + (select count(*) from fresh f where f.complaint is null) - (select count(*) from added),
    coalesce(jsonb_agg(private.unknown_reference(r.line, 'survey_id', 'survey'))
      filter (where r.known_id is null and r.nth = 1 and r.target_id is null and r.seen is not true), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('line', f.line, 'field', 'answers', 'message', f.complaint))
      from fresh f where f.complaint is not null), '[]')
  into outcome from r;
  return outcome;
end
$$;
comment on function private.import_survey_responses(private.imports, jsonb, jsonb) is 'Responses to surveys that are here, whether or not these are still open; one a person where the survey takes one.';

-- A chunk ------------------------------------------------------------------------------------------------------

create function private.write_import(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  people jsonb; part private.import_outcome; kind text;
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
begin
  -- Merges wait, and see all that came to what they merge.
  perform 1 from public.organizations o where o.id = import.organization_id for no key update;
  perform set_config('feedback.quiet', 'import', true);
  people := private.import_people(import, records -> 'people');
  foreach kind in array array['taxonomy', 'submission', 'merged', 'follow', 'comment', 'vote', 'comment_vote', 'status_change',
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
    outcome := row(outcome.created + part.created, outcome.skipped + part.skipped, outcome.failures || coalesce(part.failures, '[]'))::private.import_outcome;
  end loop;
  perform set_config('feedback.quiet', 'off', true);
  return outcome;
end
$$;
comment on function private.write_import(private.imports, jsonb) is 'Writes records, kind by kind, with nothing announced.';

create function private.part_of_records(records jsonb, first integer, past integer) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare part jsonb;
begin
  part := coalesce((
    select jsonb_object_agg(l.kind, l.list) from (
      select r.key as kind, jsonb_agg(e.value order by e.place) as list
      from jsonb_each(records) r
        cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) with ordinality e (value, place)
      where (e.value ->> 'n')::integer >= first and (e.value ->> 'n')::integer < past group by r.key) l), '{}');
  return part || jsonb_build_object('people', coalesce((
      select jsonb_object_agg(p.key, p.value) from jsonb_each(records -> 'people') p
      where p.key in (select e ->> 'author' from jsonb_each(part) l, jsonb_array_elements(l.value) e)), '{}'),
    'categories', coalesce((
      select jsonb_object_agg(c.key, c.value) from jsonb_each(records -> 'categories') c
      where c.key in (select e ->> 'category' from jsonb_each(part) l, jsonb_array_elements(l.value) e)), '{}'),
    'tags', coalesce((
      select jsonb_object_agg(t.key, t.value) from jsonb_each(records -> 'tags') t
      where exists (select from jsonb_each(part) l, jsonb_array_elements(l.value) e where e -> 'tags' ? t.key)), '{}'));
end
$$;
comment on function private.part_of_records(jsonb, integer, integer) is 'The records of a chunk from one number to before another, with the people, categories and tags they name.';

create function private.write_good_records(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = '' as $$
declare
  first integer; last integer; middle integer; one private.import_outcome; other private.import_outcome;
begin
  begin
    return private.write_import(import, records);
  exception when sqlstate 'FB400' or check_violation or string_data_right_truncation or invalid_text_representation
    or untranslatable_character or character_not_in_repertoire or invalid_datetime_format or datetime_field_overflow then
    null;
  end;
  select min((e ->> 'n')::integer), max((e ->> 'n')::integer) into first, last from jsonb_each(records) r
    cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e;
  if first = last then
    return row(0, 0, (
      select jsonb_build_array(jsonb_build_object('line', e -> 'line', 'message', 'was refused by the database')) from jsonb_each(records) r
        cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e))::private.import_outcome;
  end if;
  middle := (first + last + 1) / 2;
  one := private.write_good_records(import, private.part_of_records(records, first, middle));
  other := private.write_good_records(import, private.part_of_records(records, middle, last + 1));
  return row(one.created + other.created, one.skipped + other.skipped, one.failures || other.failures)::private.import_outcome;
end
$$;
comment on function private.write_good_records(private.imports, jsonb) is 'As private.write_import. Where the database refuses records, their halves are written, down to the one it refuses, which is then a failure like any other.';

create function private.note_ids(import private.imports, records jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare noted jsonb;
begin
  noted := coalesce((
    select jsonb_object_agg(r.key, case jsonb_typeof(r.value) when 'array' then (
        select coalesce(jsonb_agg(e.value
            - case when known.parent then 'parent_id' else '' end
            - case when known.audience then 'audience_submission_id' else '' end
            || jsonb_build_object('seen', known.target) order by e.place), '[]')
        from jsonb_array_elements(r.value) with ordinality e (value, place)
          cross join lateral (
            select coalesce(bool_or(i.kind = 'comment' and i.external_id = e.value ->> 'parent_id'), false) as parent,
              coalesce(bool_or(i.kind = 'submission' and i.external_id = e.value ->> 'audience_submission_id'), false) as audience,
              coalesce(bool_or(i.external_id = e.value ->> (i.kind || '_id')), false) as target
            from private.import_ids i
            where i.organization_id = import.organization_id and i.import_id = import.id
              and (i.kind, i.external_id) in (('comment', e.value ->> 'parent_id'), ('submission', e.value ->> 'audience_submission_id'),
                ('submission', e.value ->> 'submission_id'), ('comment', e.value ->> 'comment_id'), ('survey', e.value ->> 'survey_id'))) known
      ) else r.value end)
    from jsonb_each(records) r), '{}');
  insert into private.import_ids (organization_id, import_id, kind, external_id)
  select import.organization_id, import.id, case r.key when 'merged' then 'submission' else r.key end, e ->> 'id'
  from jsonb_each(records) r cross join jsonb_array_elements(r.value) e
  where r.key in ('submission', 'merged', 'comment', 'survey') and e ->> 'id' is not null
  on conflict do nothing;
  return noted;
end
$$;
comment on function private.note_ids(private.imports, jsonb) is 'Records of a dry run as they stand after its earlier chunks, whose ids count as seen; notes the ids they bring.';

create function private.run_import(import_id uuid, records jsonb, refused jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  import private.imports; outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  failures jsonb; wrong integer; told integer;
begin
  -- One chunk of an organization at a time, so that two imports of the same file meet each other's rows.
  perform pg_advisory_xact_lock(hashtextextended('import ' || i.organization_id, 0)) from private.imports i where i.id = import_id;
  select * into import from private.imports i where i.id = import_id for no key update;
  if import.state is distinct from 'running' then
    perform private.raise_error('CONFLICT', 'This import has ended: start another.');
  end if;
  if import.is_dry_run then records := private.note_ids(import, records); end if;
  begin
    outcome := private.write_good_records(import, records);
    if import.is_dry_run then raise exception using errcode = 'FBDRY'; end if;
  exception when sqlstate 'FBDRY' then null;
  end;
  failures := refused || outcome.failures;
  wrong := (select count(*) from jsonb_array_elements(failures) f where f -> 'kept' is null);
  told := (select count(*) from private.import_errors e where e.organization_id = import.organization_id and e.import_id = import.id);
  insert into private.import_errors (organization_id, import_id, file, line, field, message)
  select import.organization_id, import.id, records ->> 'file', f.line, f.field, f.message
  from jsonb_to_recordset(failures) as f (line integer, field text, message text)
  order by f.line limit greatest(0, 100 - told);
  update private.imports i set processed = i.processed + outcome.created + outcome.skipped + wrong, created = i.created + outcome.created,
    skipped = i.skipped + outcome.skipped, failed = i.failed + wrong, updated_at = clock_timestamp()
  where i.id = import.id returning i.* into import;
  return jsonb_build_object('processed', import.processed, 'created', import.created, 'skipped', import.skipped, 'failed', import.failed);
end
$$;
comment on function private.run_import(uuid, jsonb, jsonb) is 'A chunk: {kind: [record]} with people, categories and tags, and of a zip its file; and what was refused of it before, [{line, field, message}]. A dry run is written and taken back.';

create function private.start_import(organization_id uuid, format text, source text, is_dry_run boolean, makes_missing boolean) returns uuid
language plpgsql set search_path = '' as $$
declare import_id uuid;
begin
  insert into private.imports (organization_id, format, source, is_dry_run, makes_missing)
  values (organization_id, format, source, is_dry_run, makes_missing) returning id into import_id;
  perform private.audit('import.start', 'import', import_id, jsonb_build_object('format', format, 'source', source, 'dry_run', is_dry_run), organization_id);
  return import_id;
end
$$;
comment on function private.start_import(uuid, text, text, boolean, boolean) is 'A new import, to be followed by private.run_import for each chunk and private.finish_import.';

create function private.finish_import(import_id uuid, problem text) returns json
language plpgsql set search_path = '' as $$
begin
  update private.imports i set
    state = case when finish_import.problem is null then 'completed' else 'failed' end,
    problem = finish_import.problem, updated_at = clock_timestamp()
  where i.id = import_id and i.state in ('receiving', 'running');
  perform private.drop_import_file(import_id);
  return (select private.import_shape(i) from private.imports i where i.id = import_id);
end
$$;
comment on function private.finish_import(uuid, text) is 'Ends an import; problem says why it could not go on.';

create function private.drop_import_file(import_id uuid) returns void
language plpgsql set search_path = '' as $$
begin
  delete from private.import_pieces p using private.imports i
  where i.id = drop_import_file.import_id and p.organization_id = i.organization_id and p.import_id = i.id;
  delete from private.import_ids d using private.imports i
  where i.id = drop_import_file.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
end
$$;
comment on function private.drop_import_file(uuid) is 'Deletes what an import kept of its file.';

create function private.import_shape(import private.imports) returns json
language plpgsql stable set search_path = '' as $$
begin
  return json_build_object('id', import.id, 'format', import.format, 'source', import.source, 'dry_run', import.is_dry_run,
    'state', import.state, 'bytes', import.bytes,
    'bytes_read', case when import.state = 'completed' then import.bytes else (import.position ->> 'at')::bigint end,
    'processed', import.processed, 'created', import.created, 'skipped', import.skipped, 'failed', import.failed, 'problem', import.problem,
    'errors', coalesce((select json_agg(jsonb_strip_nulls(jsonb_build_object('file', e.file))
        || jsonb_build_object('line', e.line, 'field', e.field, 'message', e.message) order by e.id)
      from private.import_errors e where e.organization_id = import.organization_id and e.import_id = import.id), '[]'),
    'created_at', import.created_at, 'updated_at', import.updated_at);
end
$$;
comment on function private.import_shape(private.imports) is 'An import as admins see it, with the first 100 errors.';

create function private.end_idle_imports(organization_id uuid default null) returns integer
language plpgsql set search_path = '' as $$
declare ended integer;
begin
  perform private.finish_import(i.id, case i.state when 'receiving' then 'The file stopped arriving: send it again.'
    else 'It did not go on for a week: send the file again.' end)
  from (
    select w.id, w.state from private.imports w
    where w.state in ('receiving', 'running') and w.query is not null
      and (end_idle_imports.organization_id is null or w.organization_id = end_idle_imports.organization_id)
      and w.updated_at < now() - case w.state when 'receiving' then interval '2 minutes' else interval '7 days' end
    -- One that just goes on is not idle.
    for update skip locked) i;
  get diagnostics ended = row_count;
  return ended;
end
$$;
comment on function private.end_idle_imports(uuid) is 'Ends imports, of one organization or all, whose file stopped arriving two minutes ago, and those that did not go on for a week.';

-- Who runs the steps ------------------------------------------------------------------------------------------

create function private.call_importer() returns boolean
language plpgsql set search_path = '' as $$
begin
  if not exists (select from private.imports i where i.state = 'running' and i.query is not null
      and (i.claimed_until is null or i.claimed_until < now())) then return false; end if;
  begin
    if not private.call_function('/api/imports/run') then perform pg_notify('imports', ''); end if;
    return true;
  -- The schedule comes again; what was done must not be undone.
  exception when others then
    raise warning 'the importer was not called: %', sqlerrm;
    return false;
  end;
end
$$;
comment on function private.call_importer() is 'Has functions/api run imports that wait, once this transaction commits: by pg_net where the Vault has the address of the functions, by a notification elsewhere.';

-- definer: the functions'' login reads no imports but by this. It may act as any user already; of keys it gets the digest of one that sends an import.
create function private.claim_import(previous_id uuid, problem text, takes boolean)
returns table (id uuid, organization_id uuid, user_id uuid, digest bytea)
language plpgsql security definer set search_path = '' as $$
begin
  if problem is not null then
    perform private.finish_import(previous_id, problem);
  else
    update private.imports i set claimed_until = null where i.id = previous_id;
  end if;
  return query
    with claimed as (
      update private.imports i set claimed_until = now() + interval '10 seconds'
      where i.id = (
        select w.id from private.imports w
        where takes and w.state = 'running' and w.query is not null and (w.claimed_until is null or w.claimed_until < now())
        order by w.updated_at limit 1 for update skip locked)
      returning i.*)
    select c.id, c.organization_id, p.auth_user_id, k.digest from claimed c
    left join public.profiles p on p.id = c.profile_id and c.key_id is null
    left join private.api_keys k on k.id = c.key_id;
end
$$;
comment on function private.claim_import(uuid, text, boolean) is 'Gives back the import that was run before, or ends it for a problem; where takes, claims the one that waits longest, for ten seconds or until its next chunk: with the credential of who sent it.';
grant execute on function private.claim_import(uuid, text, boolean) to feedback_api;

-- For admins ---------------------------------------------------------------------------------------------------

create function private.require_importer() returns uuid
language plpgsql stable set search_path = '' as $$
declare own_id uuid := private.current_organization_id();
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  return own_id;
end
$$;
comment on function private.require_importer() is 'The current organization, for its admins and keys with submissions:moderate; FORBIDDEN otherwise.';

-- definer: private tables; each asks for an admin, chunk by chunk.
create function private.admin_start_import(query jsonb, file_type text) returns uuid
language plpgsql security definer set search_path = '' as $$
declare own_id uuid := private.require_importer(); import_id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('imports of ' || own_id, 0));
  perform private.end_idle_imports(own_id);
  if (select count(*) >= 5 from private.imports i
      where i.organization_id = own_id and i.state in ('receiving', 'running') and i.query is not null) then
    perform private.raise_error('CONFLICT', 'Five imports of this organization have not ended: wait for one, or cancel it.');
  end if;
  import_id := private.start_import(own_id, query ->> 'format', coalesce(query ->> 'source', query ->> 'format'),
    (query ->> 'dry_run')::boolean, (query ->> 'create_missing')::boolean);
  update private.imports i set state = 'receiving', query = admin_start_import.query, file_type = admin_start_import.file_type,
    profile_id = nullif(current_setting('feedback.profile_id', true), '')::uuid,
    key_id = nullif(current_setting('feedback.key_id', true), '')::uuid
  where i.id = import_id;
  return import_id;
end
$$;
comment on function private.admin_start_import(jsonb, text) is 'Starts an import into the current organization, whose file is received next.';

create function private.admin_run_import(
  import_id uuid, records jsonb, refused jsonb,
  at bigint, chunk integer,  -- where its rows begin, and which of their chunks it is
  next jsonb,                -- with the last chunk of these rows: where the next begin
  nameless_votes integer     -- left after these rows
) returns jsonb
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer(); import private.imports; told jsonb;
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = own_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  -- Who comes second waits without a connection: a few imports of one organization would have all of them.
  if not pg_try_advisory_xact_lock(hashtextextended('import ' || own_id, 0)) then
    perform private.raise_error('SERVICE_UNAVAILABLE', 'Another import of this organization is just being written.');
  end if;
  select * into import from private.imports i where i.id = import_id for no key update;
  if (import.position ->> 'at')::bigint <> at or import.chunks_done <> chunk then
    perform private.raise_error('CONFLICT', 'Somebody else is running this import.');
  end if;
  -- As with exports, a key that may not touch surveys brings the rest.
  if records ?| array['survey', 'survey_response']
    and not (private.is_admin(own_id, 'surveys:write') and private.is_admin(own_id, 'surveys:publish')) then
    refused := refused || coalesce((
      select jsonb_agg(jsonb_build_object('line', r.value -> 'line', 'message', 'needs a key with surveys:write and surveys:publish'))
      from jsonb_array_elements(coalesce(records -> 'survey', '[]') || coalesce(records -> 'survey_response', '[]')) r), '[]');
    records := records - 'survey' - 'survey_response';
  end if;
  told := private.run_import(import_id, records, refused);
  -- In the transaction that writes the chunk: nothing is written or counted twice.
  update private.imports i set
    position = coalesce(next, i.position),
    chunks_done = case when next is null then i.chunks_done + 1 else 0 end,
    nameless_votes = case when next is null then i.nameless_votes else admin_run_import.nameless_votes end,
    claimed_until = case when i.claimed_until is not null then clock_timestamp() + interval '10 seconds' end
  where i.id = import_id;
  return told;
end
$$;
comment on function private.admin_run_import(uuid, jsonb, jsonb, bigint, integer, jsonb, integer) is 'Writes a chunk of an import of the current organization and notes that it is written; CONFLICT where somebody else wrote it.';

create function private.admin_finish_import(import_id uuid, problem text) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = private.require_importer()) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  return private.finish_import(import_id, problem);
end
$$;
comment on function private.admin_finish_import(uuid, text) is 'Ends an import of the current organization.';

create function private.own_import(import_id uuid) returns private.imports
language plpgsql set search_path = '' as $$
declare own_id uuid := private.require_importer(); import private.imports;
begin
  select * into import from private.imports i where i.id = import_id and i.organization_id = own_id for no key update;
  if import.id is null then perform private.raise_error('NOT_FOUND', 'There is no such import.'); end if;
  return import;
end
$$;
comment on function private.own_import(uuid) is 'An import of the current organization, locked; NOT_FOUND without.';

create function private.admin_receive_import(import_id uuid, n integer, bytes bytea) returns void
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare import private.imports := private.own_import(import_id);
begin
  if import.state <> 'receiving' then perform private.raise_error('CONFLICT', 'This import has ended: start another.'); end if;
  insert into private.import_pieces (organization_id, import_id, n, bytes) values (import.organization_id, import.id, n, bytes);
  update private.imports i set bytes = i.bytes + octet_length(admin_receive_import.bytes), updated_at = clock_timestamp()
  where i.id = import.id;
end
$$;
comment on function private.admin_receive_import(uuid, integer, bytea) is 'Keeps a piece of an import''s file.';

create function private.admin_begin_import(import_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare import private.imports := private.own_import(import_id);
begin
  update private.imports i set state = 'running', updated_at = clock_timestamp()
  where i.id = import.id and i.state = 'receiving' returning i.* into import;
  if import.id is null then perform private.raise_error('CONFLICT', 'This import has ended: start another.'); end if;
  perform private.call_importer();
  return private.import_shape(import);
end
$$;
comment on function private.admin_begin_import(uuid) is 'The whole file of an import is there: it is run.';

create function private.admin_cancel_import(import_id uuid) returns json
language plpgsql security definer set search_path = '' as $$ -- definer: as above
declare import private.imports := private.own_import(import_id);
begin
  if import.state not in ('receiving', 'running', 'canceled') then
    perform private.raise_error('CONFLICT', 'This import has ended: there is nothing to cancel.');
  end if;
  update private.imports i set state = 'canceled', updated_at = clock_timestamp() where i.id = import.id returning i.* into import;
  perform private.drop_import_file(import.id);
  perform private.audit('import.cancel', 'import', import.id, '{}', import.organization_id);
  return private.import_shape(import);
end
$$;
comment on function private.admin_cancel_import(uuid) is 'Ends an import of the current organization; what it wrote stays.';

create function private.admin_import_job(import_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer();
begin
  return (select json_build_object('state', i.state, 'query', i.query, 'file_type', i.file_type, 'position', i.position,
      'chunks_done', i.chunks_done, 'nameless_votes', i.nameless_votes)
    from private.imports i where i.id = import_id and i.organization_id = own_id and i.query is not null);
end
$$;
comment on function private.admin_import_job(uuid) is 'What running an import of the current organization takes; null where there is none.';

create function private.admin_import_piece(import_id uuid, n integer) returns bytea
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer();
begin
  return (select p.bytes from private.import_pieces p
    where p.organization_id = own_id and p.import_id = admin_import_piece.import_id and p.n = admin_import_piece.n);
end
$$;
comment on function private.admin_import_piece(uuid, integer) is 'A piece of the file of an import; null after the last.';

create function private.admin_imports(import_id uuid) returns json
language plpgsql stable security definer set search_path = '' as $$ -- definer: as above
declare own_id uuid := private.require_importer();
begin
  return coalesce((select json_agg(private.import_shape(i) order by i.created_at desc, i.id desc) from (
    select * from private.imports i where i.organization_id = own_id and (import_id is null or i.id = import_id)
    order by i.created_at desc, i.id desc limit 50) i), '[]');
end
$$;
comment on function private.admin_imports(uuid) is 'The import of that id, or the newest 50, of the current organization.';

grant execute on function private.admin_start_import(jsonb, text),
  private.admin_run_import(uuid, jsonb, jsonb, bigint, integer, jsonb, integer), private.admin_finish_import(uuid, text),
  private.admin_imports(uuid), private.admin_receive_import(uuid, integer, bytea), private.admin_begin_import(uuid),
  private.admin_cancel_import(uuid), private.admin_import_job(uuid), private.admin_import_piece(uuid, integer)
  to authenticated, service_key;
