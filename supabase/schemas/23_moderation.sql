-- Moderation: pending and rejected content, and trusted authors. Triggers in 20_submissions.sql and
-- 22_comments.sql apply a state change whoever makes it; this file holds the team's operations.

create index submissions_moderation_idx on public.submissions
  (organization_id, moderation_state, created_at, id) where moderation_state <> 'approved';
create index comments_moderation_idx on public.comments (organization_id, moderation_state, created_at, id)
  where moderation_state <> 'approved';

-- Trust -----------------------------------------------------------------------------------------------------

create table private.author_trust (
  organization_id uuid not null references public.organizations (id) on delete cascade,
  user_id uuid not null references public.profiles (id) on delete cascade,
  is_trusted boolean not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
comment on table private.author_trust is
  'The team''s decisions about authors: trusted authors need no approval; the others always need it, '
  'regardless of earlier approvals.';
create index author_trust_user_idx on private.author_trust (user_id);

-- Whether content of the profile needs no approval: the team trusts it, or trust_after of its
-- contributions are approved. For definer functions.
create function private.is_trusted(organization_id uuid, profile_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
declare wanted integer;
begin
  return coalesce(
    (select t.is_trusted from private.author_trust t where t.organization_id = is_trusted.organization_id
      and t.user_id = profile_id),
    (select o.trust_after <= (
        select count(*) from (
          (select from public.submissions s where s.author_id = profile_id and s.organization_id = o.id
            and s.moderation_state = 'approved' limit o.trust_after)
          union all
          (select from public.comments c where c.author_id = profile_id and c.organization_id = o.id
            and c.moderation_state = 'approved' limit o.trust_after)) approved)
      from public.organizations o where o.id = is_trusted.organization_id),
    false);
end
$$;

-- Threads ---------------------------------------------------------------------------------------------------

create table private.hidden_replies (
  comment_id uuid primary key references public.comments (id) on delete cascade,
  organization_id uuid not null,
  under_id uuid not null references public.comments (id) on delete cascade
);
comment on table private.hidden_replies is
  'Replies that were rejected only because an ancestor was rejected; approving the ancestor restores them.';
create index hidden_replies_under_idx on private.hidden_replies (under_id);

-- A hidden reply gets its own decision: replies below it depend on it, no longer on its ancestor.
create function private.decide_alone(reply_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  with own as (delete from private.hidden_replies where comment_id = reply_id returning under_id),
    thread as (
      with recursive below as (
        select c.id from public.comments c where c.parent_id = reply_id
        union all
        select c.id from public.comments c join below b on c.parent_id = b.id)
      select id from below)
  update private.hidden_replies h set under_id = reply_id from own, thread
    where h.under_id = own.under_id and h.comment_id = thread.id;
end
$$;

-- Trigger: rejecting a comment rejects its replies; approving it restores them.
-- definer: updates replies by other authors.
create function private.moderate_replies() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare replies uuid[];
begin
  if new.moderation_state = 'approved' then
    replies := array(
      with recursive thread as (
        select h.comment_id from private.hidden_replies h join public.comments c on c.id = h.comment_id
        where h.under_id = new.id and c.parent_id = new.id
        union all
        select h.comment_id from thread t join public.comments c on c.parent_id = t.comment_id
          join private.hidden_replies h on h.comment_id = c.id and h.under_id = new.id)
      select t.comment_id from thread t);
    delete from private.hidden_replies where comment_id = any (replies || new.id);
    update public.comments set moderation_state = 'approved' where id = any (replies);
  elsif old.moderation_state = 'approved' then
    with recursive thread as (
      select c.id, c.moderation_state from public.comments c where c.parent_id = new.id
      union all
      select c.id, c.moderation_state from public.comments c join thread t on c.parent_id = t.id)
    select array_agg(t.id) into replies from thread t where t.moderation_state = 'approved';
    if replies is null then return null; end if;
    insert into private.hidden_replies (comment_id, organization_id, under_id) select id, new.organization_id,
      new.id from unnest(replies) as id;
    update public.comments set moderation_state = new.moderation_state where id = any (replies);
  else
    perform private.decide_alone(new.id);
  end if;
  return null;
end
$$;
create trigger moderate_replies after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state)
    execute function private.moderate_replies();

-- The team --------------------------------------------------------------------------------------------------

-- Pending, rejected or spam submissions and comments of the current organization, oldest first, for Admin
-- or keys with submissions:moderate. Pages by (before_at, before_id).
-- definer: reads pending content; requires Admin.
create function private.admin_moderation_queue(state text, type text, before_at timestamptz, before_id uuid,
  max_rows integer)
returns table (total bigint, more boolean, last text[], data json)
language plpgsql stable security definer set search_path = pg_temp as $$
#variable_conflict use_column
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return query
    with page as (
      (select 'submission' as type, s.id, s.id as submission_id, s.title, s.description as body, s.author_id,
        s.moderation_state as state, s.created_at, s.updated_at
      from public.submissions s
      where admin_moderation_queue.type is distinct from 'comment' and s.organization_id = own_id
        and s.moderation_state = admin_moderation_queue.state and s.moderation_state <> 'approved'
        and (before_at is null or (s.created_at, s.id) > (before_at, before_id))
      order by s.created_at, s.id limit max_rows + 1)
      union all
      (select 'comment', c.id, c.submission_id, null, c.body, c.author_id, c.moderation_state, c.created_at,
        c.updated_at
      from public.comments c
      where admin_moderation_queue.type is distinct from 'submission' and c.organization_id = own_id
        and c.moderation_state = admin_moderation_queue.state and c.moderation_state <> 'approved'
        and (before_at is null or (c.created_at, c.id) > (before_at, before_id))
      order by c.created_at, c.id limit max_rows + 1)
    ), shown as (
      select * from page order by created_at, id limit max_rows
    )
    select
      (select count(*) from public.submissions s where admin_moderation_queue.type is distinct from 'comment'
        and s.organization_id = own_id and s.moderation_state = admin_moderation_queue.state
          and s.moderation_state <> 'approved')
      + (select count(*) from public.comments c
        where admin_moderation_queue.type is distinct from 'submission'
        and c.organization_id = own_id and c.moderation_state = admin_moderation_queue.state
          and c.moderation_state <> 'approved'),
      (select count(*) from page) > max_rows,
      (select array[s.created_at::text, s.id::text] from shown s
        order by s.created_at desc, s.id desc limit 1),
      coalesce((select json_agg(json_build_object(
        'type', s.type,
        'id', s.id,
        'submission_id', s.submission_id,
        'submission_title', coalesce(s.title, (select on_it.title from public.submissions on_it
          where on_it.id = s.submission_id)),
        'title', s.title,
        'body', s.body,
        'author', private.author(s.author_id, own_id),
        'is_trusted', private.is_trusted(own_id, s.author_id),
        'state', s.state,
        'created_at', s.created_at,
        'updated_at', s.updated_at)
        order by s.created_at, s.id) from shown s), '[]');
end
$$;

-- Approves, rejects, marks as spam or makes pending again (reopen) a submission or comment; repeating it is
-- not an error. trust_author grants trust; spam revokes it; reopening spam deletes the decision. text_of is
-- the updated_at of the approved text. Raises TEXT_CHANGED if there is a newer text, or without text_of if
-- the author changed the text since creation. definer: moderation states and trust are not granted.
create function private.admin_moderate(target_type text, target_id uuid, action text, reason text,
  trust_author boolean, text_of timestamptz default null) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare
  wanted text := case action when 'approve' then 'approved' when 'reject' then 'rejected'
    when 'reopen' then 'pending' else 'spam' end;
  own_id uuid;
  subject record;
begin
  if target_type = 'comment' then
    select c.organization_id, c.is_public, c.author_id into subject from public.comments c
      where c.id = target_id;
  else
    select s.organization_id, s.is_public, s.author_id into subject from public.submissions s
      where s.id = target_id;
  end if;
  own_id := private.require_moderator(subject.organization_id, subject.is_public, subject.author_id,
    target_type, 'target_id');
  if target_type = 'comment' then perform private.lock_thread(target_id);
    else perform private.lock_submission(target_id); end if;
  if target_type = 'comment' then
    select c.moderation_state as state, p.moderation_state as above, c.author_id, null as title, c.body,
      c.updated_at, c.updated_at > c.created_at as is_changed into subject
    from public.comments c left join public.comments p on p.id = c.parent_id where c.id = target_id;
  else
    select s.moderation_state as state, 'approved' as above, s.author_id, s.title, s.description as body,
      s.updated_at, s.is_changed_by_author as is_changed into subject
    from public.submissions s where s.id = target_id;
  end if;
  if subject.state is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', target_type), 'target_id');
  elsif wanted = 'approved' and coalesce(text_of <> subject.updated_at, subject.is_changed) then
    perform private.raise_error('TEXT_CHANGED',
      'The text was changed after you read it. Read the current text and decide again.', null,
      jsonb_build_object(
        'current', jsonb_build_object(
          'title', subject.title,
          'body', subject.body,
          'updated_at', subject.updated_at)));
  elsif wanted = 'approved' and subject.above <> 'approved' then
    perform private.raise_error('CONFLICT', 'Approve the comment it replies to first.',
      'target_id');
  end if;
  if wanted = 'spam' or trust_author then
    insert into private.author_trust as t (organization_id, user_id, is_trusted)
      values (own_id, subject.author_id, wanted <> 'spam')
    on conflict on constraint author_trust_pkey do update set is_trusted = excluded.is_trusted,
      created_at = now();
  elsif wanted = 'pending' and subject.state = 'spam' then
    delete from private.author_trust t where t.organization_id = own_id and t.user_id = subject.author_id
      and not t.is_trusted;
  end if;
  if subject.state <> wanted then
    if target_type = 'comment' then
      update public.comments set moderation_state = wanted where id = target_id;
    else
      update public.submissions set moderation_state = wanted where id = target_id;
    end if;
  end if;
  if subject.state <> wanted or trust_author then
    perform private.audit(target_type || '.' || action, target_type, target_id,
      jsonb_strip_nulls(jsonb_build_object(
        'state', jsonb_build_object('from', subject.state, 'to', wanted),
        'reason', reason,
        'trust_author', trust_author)), own_id);
  end if;
  return json_build_object(
    'target_type', target_type,
    'target_id', target_id,
    'previous_state', subject.state,
    'state', wanted);
end
$$;

-- private.admin_moderate for many submissions and comments, each on its own, with a result for each.
create function private.admin_moderate_many(target_types text[], target_ids uuid[], action text, reason text,
  trust_author boolean, texts_of timestamptz[] default null) returns json
language plpgsql set search_path = pg_temp as $$
declare results jsonb := '[]'; item record; done json; state text; message text; detail text;
begin
  perform private.require_admin(private.current_organization_id(), 'submissions:moderate');
  for item in select * from unnest(target_types, target_ids, texts_of) as t (type, id, text_of) loop
    begin
      done := private.admin_moderate(item.type, item.id, action, reason, trust_author, item.text_of);
      results := results || jsonb_build_object(
        'target_type', item.type,
        'target_id', item.id,
        'ok', true,
        'changed', done ->> 'previous_state' <> done ->> 'state');
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- Only API errors become item results; any other error fails the request.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object(
        'target_type', item.type,
        'target_id', item.id,
        'ok', false,
        'changed', false,
        'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
    end;
  end loop;
  return results;
end
$$;
grant execute on function private.admin_moderation_queue, private.admin_moderate to authenticated,
  service_key;
grant execute on function private.admin_moderate_many to authenticated;
