-- Submissions, their tags, status history and visibility. Foreign keys to profiles are deferred, so that an
-- organization can be deleted with all its rows in any order.

create table public.submissions (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id() references public.organizations
    (id) on delete cascade,
  title text not null,
  description text not null,
  type text not null,
  status text not null default 'open',
  vote_count integer not null default 0,
  comment_count integer not null default 0,
  author_id uuid not null default private.caller_id() references public.profiles (id) deferrable initially
    deferred,
  category_id uuid,
  source text,
  tracker_issue_url text,
  moderation_state text not null default 'approved',
  is_public boolean not null default false,
  merged_into_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  is_changed_by_author boolean not null default false,
  constraint submissions_belong_to_their_organization unique (organization_id, id),
  constraint submissions_category_is_of_the_same_organization foreign key (organization_id, category_id)
    references public.categories (organization_id, id) on delete set null (category_id),
  constraint submissions_merge_target_is_of_the_same_organization foreign key
    (organization_id, merged_into_id)
    references public.submissions (organization_id, id),
  constraint title_has_5_to_200_characters check (char_length(title) between 5 and 200),
  constraint description_has_20_to_5000_characters check (char_length(description) between 20 and 5000),
  constraint type_is_idea_or_problem check (type in ('idea', 'problem')),
  constraint status_is_known check (
    status in ('open', 'under_review', 'planned', 'in_progress', 'completed', 'declined', 'duplicate')),
  constraint only_merged_submissions_are_duplicates check
    ((status = 'duplicate') = (merged_into_id is not null)),
  constraint moderation_state_is_known check
    (moderation_state in ('approved', 'pending', 'rejected', 'spam')),
  constraint source_has_1_to_64_characters check (char_length(source) between 1 and 64),
  constraint tracker_issue_url_is_a_web_address check
    (tracker_issue_url ~ '^https?://\S+$' and char_length(tracker_issue_url) <= 2000),
  constraint counts_are_not_negative check (vote_count >= 0 and comment_count >= 0)
);
comment on table public.submissions is
  'Feedback: an idea or a problem. Triggers maintain vote_count and comment_count (approved comments). '
  'is_public: anyone may see it, because the board is public and the submission is approved. merged_into_id '
  'points to the merge target; merged submissions are excluded from lists. is_changed_by_author: somebody '
  'who does not moderate has changed the text since it was submitted.';

-- One index for each sort order, led by the columns that every list filters by.
create index submissions_newest_idx on public.submissions (organization_id, created_at desc, id desc)
  where merged_into_id is null;
create index submissions_most_voted_idx on public.submissions (organization_id, vote_count desc, id desc)
  where merged_into_id is null;
create index submissions_most_commented_idx on public.submissions
  (organization_id, comment_count desc, id desc) where merged_into_id is null;
-- Sorts as people do: apple, Banana, Éclair. docs/deploy.md says when to rebuild it.
create index submissions_title_idx on public.submissions
  (organization_id, title collate "und-x-icu" desc, id desc) where merged_into_id is null;
create index submissions_status_idx on public.submissions (organization_id, status, created_at desc, id desc)
  where merged_into_id is null;
create index submissions_status_votes_idx on public.submissions
  (organization_id, status, vote_count desc, id desc) where merged_into_id is null;
-- Serves selective filters, for which a scan of a sorted index would read most of the board.
create index submissions_kind_idx on public.submissions (organization_id, type, status, category_id)
  where merged_into_id is null;
create index submissions_category_idx on public.submissions
  (organization_id, category_id, created_at desc, id desc);
create index submissions_author_idx on public.submissions
  (author_id, organization_id, created_at desc, id desc);
create index submissions_merged_idx on public.submissions (organization_id, merged_into_id)
  where merged_into_id is not null;
create index submissions_not_public_idx on public.submissions (organization_id, author_id)
  where not is_public;

create table public.submission_tags (
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  tag_id uuid not null,
  merged_from uuid,
  primary key (submission_id, tag_id, organization_id),
  constraint submission_tags_submission_is_of_the_same_organization foreign key
    (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint submission_tags_tag_is_of_the_same_organization foreign key (organization_id, tag_id)
    references public.tags (organization_id, id) on delete cascade
);
comment on table public.submission_tags is
  'Tags of submissions. merged_from: the merged source the tag came from (92_merge.sql); null for the '
  'submission''s own tags.';
create index submission_tags_tag_idx on public.submission_tags (organization_id, tag_id, submission_id);

create table public.status_changes (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null default private.requested_organization_id(),
  submission_id uuid not null,
  previous_status text not null default 'open',
  new_status text not null,
  changed_by uuid references public.profiles (id) deferrable initially deferred,
  note text,
  notify boolean not null default true,
  created_at timestamptz not null default now(),
  constraint status_changes_submission_is_of_the_same_organization foreign key
    (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint status_is_known check (
    new_status in ('open', 'under_review', 'planned', 'in_progress', 'completed', 'declined', 'duplicate')),
  constraint note_has_1_to_2000_characters check (char_length(note) between 1 and 2000)
);
comment on table public.status_changes is
  'Public status history. Inserting a row changes the status; a row that would not change it is dropped.';
create index status_changes_submission_idx on public.status_changes (submission_id, created_at desc, id desc);
create index status_changes_newest_idx on public.status_changes
  (organization_id, created_at desc, id desc);
create index status_changes_changed_by_idx on public.status_changes (changed_by);

-- Visibility ------------------------------------------------------------------------------------------------

-- The visibility rule of submissions and their comments: public rows for everyone, own rows for the
-- author, all rows of the organization for its team.
-- Inlined into policies. The two caller arguments are evaluated once for each statement.
create function private.can_see_submission(is_public boolean, author_id uuid, organization_id uuid,
  caller_id uuid, team_ids uuid[])
returns boolean language sql immutable
return is_public or author_id = caller_id or organization_id = any (team_ids);

grant execute on function private.can_see_submission to anon, authenticated, service_key;

create policy "a submission is seen by whoever may see it" on public.submissions
  for select to anon, authenticated, service_key using (private.can_see_submission(
    is_public, author_id, organization_id,
    (select private.caller_id()), (select private.team_organization_ids())::uuid[]));
create policy "a key stays in its organization" on public.submissions
  as restrictive to service_key using (organization_id = (select private.key_organization_id()));
create policy "an agent keeps to its categories" on public.submissions
  as restrictive to service_key using (
    (select private.agent_category_ids()) is null or category_id = any
      ((select private.agent_category_ids())::uuid[]));
create policy "users submit as themselves to boards they see" on public.submissions
  for insert to authenticated with check (
    author_id = (select auth.uid())
      and exists (select from public.organizations o where o.id = organization_id));
create policy "keys submit for themselves and their e-mail authors" on public.submissions
  for insert to service_key with check (
    private.may_act_as(author_id));
create policy "authors and admins edit" on public.submissions
  for update to authenticated, service_key using (
    private.may_act_as(author_id)
    or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));
create policy "authors and admins delete" on public.submissions
  for delete to authenticated, service_key using (
    private.may_act_as(author_id)
    or organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

create policy "tags are seen with their submission" on public.submission_tags
  for select to anon, authenticated, service_key using (
    exists (select from public.submissions s where s.id = submission_id));
create policy "admins tag" on public.submission_tags
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));
create policy "admins untag" on public.submission_tags
  for delete to authenticated, service_key using (
    organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

create policy "history is seen with its submission" on public.status_changes
  for select to anon, authenticated, service_key using (
    exists (select from public.submissions s where s.id = submission_id));
create policy "admins change the status" on public.status_changes
  for insert to authenticated, service_key with check (
    organization_id = any ((select private.admin_organization_ids('submissions:moderate'))::uuid[]));

grant select (id, organization_id, title, description, type, status, vote_count, comment_count, author_id,
  category_id, source,
  tracker_issue_url, moderation_state, is_public, merged_into_id, created_at, updated_at,
  is_changed_by_author) on public.submissions to anon, authenticated, service_key;
grant insert (id, organization_id, title, description, type, category_id),
  update (title, description, category_id, tracker_issue_url), delete
  on public.submissions to authenticated;
grant insert (id, organization_id, title, description, type, category_id, author_id, source),
  update (title, description, category_id, tracker_issue_url), delete
  on public.submissions to service_key;
grant select (organization_id, submission_id, tag_id) on public.submission_tags to anon, authenticated,
  service_key;
grant insert (organization_id, submission_id, tag_id), delete on public.submission_tags to authenticated,
  service_key;
grant select (id, organization_id, submission_id, previous_status, new_status, changed_by, note, created_at)
  on public.status_changes to anon, authenticated, service_key;
grant insert (organization_id, submission_id, new_status, note, notify) on public.status_changes to
  authenticated, service_key;
grant select, insert, delete, update (title, description, type, category_id, source, tracker_issue_url,
  moderation_state)
  on public.submissions to service_role;
grant select, insert, update, delete on public.submission_tags, public.status_changes to service_role;

-- Creation --------------------------------------------------------------------------------------------------

-- Trigger: sets organization, author, moderation state and visibility, and starts vote_count at the author's
-- vote, which does not exist if the account was erased here. definer: reads settings of private
-- organizations. The row lock serializes this insert with changes of visibility.
create function private.prepare_submission() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
create trigger prepare before insert on public.submissions
  for each row execute function private.prepare_submission();

create trigger keep_plan_limit after insert on public.submissions
  referencing new table as added for each statement execute function private.enforce_plan_limit();

-- Trigger: the author votes for and follows the new submission.
-- definer: inserts the author's vote and follow and emits the event.
create function private.start_submission() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
create trigger start after insert on public.submissions
  for each row execute function private.start_submission();

-- Trigger: emits submission.created once, when the submission is approved. definer: emits the event.
create function private.announce_submission() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
create trigger announce after insert on public.submissions
  for each row when (new.moderation_state = 'approved') execute function private.announce_submission();
create trigger announce_approval after update of moderation_state on public.submissions
  for each row when (old.moderation_state <> 'approved' and new.moderation_state = 'approved')
  execute function private.announce_submission();

-- The texts of an author that others read.
create function private.public_texts(submission public.submissions) returns text[]
language sql immutable
return array[(submission).title, (submission).description];
grant execute on function private.public_texts to authenticated, service_key, service_role;

-- Trigger: trims text; only Admin may set tracker_issue_url.
create function private.edit_submission() returns trigger
language plpgsql set search_path = pg_temp as $$
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
$$;
create trigger edit before update of title, description, category_id, tracker_issue_url on public.submissions
  for each row execute function private.edit_submission();

-- Trigger: charges the rate limit for edits by direct clients before the row changes.
-- definer: writes rate limit counters.
create function private.charge_submission_edit() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_direct() then perform private.charge_direct('submission_update_user', 1); end if;
  return new;
end
$$;
create trigger charge_edit before update of title, description, category_id,
  tracker_issue_url on public.submissions
  for each row execute function private.charge_submission_edit();

-- Payload of submission.updated.
create function private.updated_submission(submission public.submissions) returns jsonb
language sql stable
return jsonb_build_object(
  'submission', jsonb_build_object(
    'id', (submission).id,
    'title', (submission).title,
    'description', (submission).description,
    'type', (submission).type,
    'status', (submission).status,
    'vote_count', (submission).vote_count,
    'category_id', (submission).category_id,
    'tracker_issue_url', (submission).tracker_issue_url,
    'merged_into_id', (submission).merged_into_id,
    'created_at', (submission).created_at,
    'updated_at', (submission).updated_at));

-- Trigger: emits submission.updated. A text change of content that required approval makes it pending again.
-- definer: emits the event.
create function private.announce_edit() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
create trigger announce_edit after update of title, description, category_id,
  tracker_issue_url on public.submissions
  for each row when (new.moderation_state = 'approved'
    and (old.title, old.description, old.category_id, old.tracker_issue_url)
      is distinct from (new.title, new.description, new.category_id, new.tracker_issue_url))
  execute function private.announce_edit();

-- Trigger: rejects the deletion of a merge target, because it would lose the votes of its sources; unmerge
-- first.
create function private.protect_merge_target() returns trigger
language plpgsql security definer set search_path = pg_temp
as $$ -- definer: the caller may not see all sources
begin
  if exists (select from public.submissions
    where organization_id = old.organization_id and merged_into_id = old.id)
    and exists (select from public.organizations where id = old.organization_id) then
    perform private.raise_error('CONFLICT',
      'Other submissions are merged into this one. Undo those merges first.');
  end if;
  return old;
end
$$;
create trigger keep_merge_target before delete on public.submissions
  for each row execute function private.protect_merge_target();

-- Tag slugs of submissions that the caller can see.
-- definer: skips the policies on tags. Call it only for submissions the caller can see.
create function private.tags_of(submission_ids uuid[]) returns table (submission_id uuid, slugs json)
language plpgsql stable security definer set search_path = pg_temp rows 50 as $$
begin
  return query
    select st.submission_id, json_agg(t.slug order by t.slug)
    from public.submission_tags st join public.tags t on t.id = st.tag_id
    where st.submission_id = any (submission_ids) group by 1;
end
$$;

-- Tags of submissions that the caller can see, as {name, slug}.
-- definer: skips the policies on tags. Call it only for submissions the caller can see.
create function private.localized_tags_of(submission_ids uuid[], locale text)
  returns table (submission_id uuid, tags json)
language plpgsql stable security definer set search_path = pg_temp rows 50 as $$
begin
  return query
    select st.submission_id, json_agg(json_build_object(
      'name', private.localized(t.name, t.translations, locale),
      'slug', t.slug) order by t.slug)
    from public.submission_tags st join public.tags t on t.id = st.tag_id
    where st.submission_id = any (submission_ids) group by 1;
end
$$;
grant execute on function private.tags_of, private.localized_tags_of to anon, authenticated, service_key;

-- Status ----------------------------------------------------------------------------------------------------

-- Trigger: sets previous status and author; drops a change to the current status.
-- Invoker: rows the caller cannot see are not found, and the lock requires permission to update.
create function private.prepare_status_change() returns trigger
language plpgsql set search_path = pg_temp as $$
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
$$;
create trigger prepare before insert on public.status_changes
  for each row execute function private.prepare_status_change();

-- Trigger: applies the new status, notifies followers, emits the event and writes the audit trail.
-- definer: updates the status, which is not granted, and writes notifications and events.
create function private.apply_status_change() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
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
$$;
create trigger apply after insert on public.status_changes
  for each row execute function private.apply_status_change();

-- Visibility follows the board ------------------------------------------------------------------------------

-- Trigger: waits for concurrent inserts before the visibility of a board changes. These row locks conflict
-- with the key-share locks of foreign keys, which serializes them with inserts that read the old visibility.
create function private.lock_board() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  perform 1 from public.organizations where id = new.id for update;
  return new;
end
$$;
create trigger lock_board before update of visibility on public.organizations
  for each row when (old.visibility <> new.visibility) execute function private.lock_board();

-- Trigger: a change of the board's visibility updates is_public of its submissions.
create function private.propagate_visibility() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: is_public is not granted
begin
  perform 1 from public.submissions where organization_id = new.id order by id for update;
  perform set_config('feedback.internal_write', 'on', true);
  update public.submissions set is_public = (new.visibility = 'public' and moderation_state = 'approved')
  where organization_id = new.id;
  perform set_config('feedback.internal_write', 'off', true);
  perform private.recount_submissions(new.id);
  return null;
end
$$;
create trigger spread_visibility after update of visibility on public.organizations
  for each row when (old.visibility <> new.visibility) execute function private.propagate_visibility();

-- Trigger: derives is_public from the moderation state.
create function private.sync_is_public() returns trigger
language plpgsql security definer set search_path = pg_temp as $$ -- definer: the organization may be private
begin
  new.is_public := new.moderation_state = 'approved'
    and exists (select from public.organizations where id = new.organization_id and visibility = 'public');
  return new;
end
$$;
create trigger follow_moderation before update of moderation_state on public.submissions
  for each row execute function private.sync_is_public();
