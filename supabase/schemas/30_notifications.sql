-- In-product notifications: never to the actor, at most one for each person and event, and only for content
-- the person may see.

create table public.notifications (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null,
  user_id uuid not null references public.profiles (id) on delete cascade,
  type text not null,
  submission_id uuid not null,
  comment_id uuid references public.comments (id) on delete cascade,
  event_id uuid not null,
  read_at timestamptz,
  created_at timestamptz not null default now(),
  constraint notifications_submission_is_of_the_same_organization foreign key (organization_id, submission_id)
    references public.submissions (organization_id, id) on delete cascade,
  constraint one_notification_a_person_and_event unique (user_id, event_id),
  constraint type_is_known check
    (type in ('vote', 'comment', 'reply', 'official_comment', 'status_changed', 'merged'))
);
comment on table public.notifications is
  'Notifications of users. event_id is the id of the vote, comment, status change or merge; notifications '
  'about votes do not name the voter.';
create index notifications_newest_idx on public.notifications (user_id, created_at desc, id desc);
create index notifications_unread_idx on public.notifications (user_id, created_at desc, id desc)
  where read_at is null;
create index notifications_submission_idx on public.notifications (organization_id, submission_id);
create index notifications_comment_idx on public.notifications (comment_id) where comment_id is not null;

create table private.fanouts (
  event_id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  submission_id uuid not null references public.submissions (id) on delete cascade,
  comment_id uuid references public.comments (id) on delete cascade,
  type text not null,
  actor_id uuid,
  after_user_id uuid not null default '00000000-0000-0000-0000-000000000000',
  created_at timestamptz not null default now()
);
comment on table private.fanouts is
  'Pending notification batches: an event on a submission with more than 500 followers is delivered in '
  'batches, resumed after the last notified follower.';

-- Next recipients of an event in notification order: followers of the submission, or of the sources of a
-- merge, who did not unfollow the submission. rows: with the default estimate of 1000 the join with profiles
-- would read all profiles.
create function private.next_recipients(fanout private.fanouts, max_rows integer) returns setof uuid
language plpgsql stable set search_path = pg_temp rows 20 as $$
declare followed uuid[];
begin
  if fanout.type = 'merged' then
    followed := array(
      select source.source_id from private.merges m
        cross join lateral (select m.source_id union all select t.source_id
          from private.merge_tree(m.source_id) t) source
      where m.event_id = fanout.event_id);
  else
    followed := private.with_sources(fanout.submission_id);
  end if;
  return query
    select distinct f.user_id from unnest(followed) as id cross join lateral (
      select f.user_id from public.follows f
      where f.submission_id = id and f.user_id > fanout.after_user_id
        and not exists (select from private.unfollows u
          where u.submission_id = fanout.submission_id and u.user_id = f.user_id)
      order by f.user_id limit max_rows) f
    order by f.user_id limit max_rows;
end
$$;

-- Notifies the next batch of followers; returns the last one, or null when done.
create function private.notify_batch(fanout private.fanouts, batch integer) returns uuid
language plpgsql set search_path = pg_temp as $$
declare last_id uuid;
begin
  with next as (
    select user_id from private.next_recipients(fanout, batch) as user_id
  ), told as (
    insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
    select fanout.organization_id, n.user_id, fanout.type, fanout.submission_id, fanout.comment_id,
      fanout.event_id
    from next n join public.profiles p on p.id = n.user_id
      join public.submissions s on s.id = fanout.submission_id
    where n.user_id is distinct from fanout.actor_id and p.kind in ('user', 'email')
      and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
    on conflict (user_id, event_id) do nothing
  )
  select case when count(*) = batch then max(user_id::text)::uuid end into last_id from next;
  return last_id;
end
$$;

-- Notifies the author of the parent comment, the author of the submission and the followers, each once and
-- never the actor nor who unfollowed; e-mail authors only about submissions they follow. Beyond 500 followers
-- private.run_fanouts notifies the rest. Called by definer triggers only.
create function private.notify_followers(organization_id uuid, submission_id uuid, type text, event_id uuid,
  comment_id uuid, actor_id uuid)
returns void language plpgsql set search_path = pg_temp as $$
declare fanout private.fanouts;
begin
  fanout := row(event_id, organization_id, submission_id, comment_id, type, actor_id,
    '00000000-0000-0000-0000-000000000000', now());
  -- Notify the authors first, with the notification type that concerns them; each person gets one.
  insert into public.notifications (organization_id, user_id, type, submission_id, comment_id, event_id)
  select distinct on (p.id) notify_followers.organization_id, p.id, told.type, notify_followers.submission_id,
    notify_followers.comment_id, notify_followers.event_id
  from (
    select parent.author_id as user_id, 'reply' as type, 1 as rank
    from public.comments c join public.comments parent on parent.id = c.parent_id
      where c.id = notify_followers.comment_id
    union all
    select s.author_id, notify_followers.type, 2 from public.submissions s
      where s.id = notify_followers.submission_id
  ) told join public.profiles p on p.id = told.user_id
    join public.submissions s on s.id = notify_followers.submission_id
  where p.id is distinct from actor_id
    and (p.kind = 'user' and not private.is_silent(s.id, p.id)
      or p.kind = 'email' and private.is_follower(s.id, p.id))
    and (s.is_public or s.author_id = p.id or private.is_member(s.organization_id, p.id))
  order by p.id, told.rank
  on conflict on constraint one_notification_a_person_and_event do nothing;
  fanout.after_user_id := private.notify_batch(fanout, 500);
  if fanout.after_user_id is not null then
    insert into private.fanouts values (fanout.*);
  end if;
end
$$;

-- Notifies the next recipients, divided among 20 pending fan-outs, taking organizations in turn. Idempotent;
-- safe to run concurrently.
create function private.run_fanouts(batch integer default 5000) returns integer
language plpgsql set search_path = pg_temp as $$
declare fanout private.fanouts; done integer := 0; next uuid[] := array(
  -- Each organization's oldest fan-out comes first, then its next; together they get one batch, which bounds
  -- a run.
  select o.event_id
  from (select f.event_id, row_number() over (partition by f.organization_id order by f.created_at) as turn
    from private.fanouts f) o
  order by o.turn, random() limit 20);
begin
  for fanout in select * from private.fanouts f where f.event_id = any (next) for update skip locked loop
    fanout.after_user_id := private.notify_batch(fanout, greatest(batch / cardinality(next), 1));
    if fanout.after_user_id is null then
      delete from private.fanouts where event_id = fanout.event_id;
    else
      update private.fanouts set after_user_id = fanout.after_user_id where event_id = fanout.event_id;
    end if;
    done := done + 1;
  end loop;
  return done;
end
$$;

-- Grants ----------------------------------------------------------------------------------------------------

grant select (id, organization_id, user_id, type, submission_id, comment_id, read_at, created_at),
  update (read_at)
  on public.notifications to authenticated;
grant select, insert, update, delete on public.notifications to service_role;
grant select (id) on public.notifications to anon;

create policy "people see their own notifications" on public.notifications
  for select to authenticated using (
    user_id = (select auth.uid()) and exists (select from public.submissions s where s.id = submission_id)
    and (comment_id is null or exists (select from public.comments c where c.id = comment_id)));
create policy "people mark their own notifications read" on public.notifications
  for update to authenticated using (user_id = (select auth.uid()))
    with check (user_id = (select auth.uid()));
