-- Realtime: row changes through the publication, and the same changes as broadcasts.

-- Row changes -----------------------------------------------------------------------------------------------

-- DELETE events skip row-level security and carry the columns of the replica identity for filters and the
-- primary key as payload. Replica identities therefore contain opaque ids only, never a person or the full
-- row, and start with the columns clients filter by. The primary key of votes has this form already.

alter table public.comments replica identity using index comments_belong_to_their_submission;
alter table public.submissions replica identity using index submissions_belong_to_their_organization;

-- Hosted Supabase creates the publication empty; a project may have added tables in the dashboard.
do $$
declare published text;
begin
  foreach published in array array['submissions', 'votes', 'comments', 'notifications'] loop
    if not exists (select from pg_publication_tables
      where pubname = 'supabase_realtime' and schemaname = 'public' and tablename = published) then
      execute format('alter publication supabase_realtime add table public.%I', published);
    end if;
  end loop;
end
$$;

-- Broadcasts ------------------------------------------------------------------------------------------------

-- Broadcasts for boards with many viewers: row changes cost one policy check for each viewer and change, a
-- topic costs one for each join. Public changes go to submission:<id>, team-only changes to
-- submission:<id>:team. The topic is chosen for each message, so a viewer who joined a public board receives
-- nothing after it becomes private. organization:<id> is the topic of the board, with the columns that a list
-- shows.

-- Topic of a submission's row: public or team.
create function private.submission_topic(submission_id uuid, is_public boolean) returns text
language sql immutable
return 'submission:' || submission_id::text || case when is_public then '' else ':team' end;

-- Topic of a board for a submission: public or team.
create function private.board_topic(organization_id uuid, is_public boolean) returns text
language sql immutable
return 'organization:' || organization_id::text || case when is_public then '' else ':team' end;

-- Current counts, included in each vote and comment broadcast.
create function private.counts_of(submission public.submissions) returns jsonb
language sql immutable set search_path = pg_temp
return jsonb_build_object(
  'id', (submission).id,
  'vote_count', (submission).vote_count,
  'comment_count', (submission).comment_count);

-- Sends RELOAD to up to 100 topics, boards first: too many rows changed at once to send each.
create function private.broadcast_reload(changed_table text, topics text[]) returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', 'RELOAD'), 'RELOAD',
      told.topic, true)
  from (select distinct topic from unnest(topics) as topic where topic is not null order by topic limit 100)
    told;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$$;

-- Broadcasts changes [{old_topic, topic, key, record, submission, home}] in the payload format of
-- realtime.broadcast_changes. A row that moves to another topic is a DELETE there and an INSERT here.
create function private.broadcast(changed_table text, changes jsonb) returns void
language plpgsql set search_path = pg_temp as $$
begin
  if changes is null then return; end if;
  perform realtime.send(
    jsonb_build_object(
      'schema', 'public',
      'table', changed_table,
      'operation', operation,
      'record', case when operation <> 'DELETE' then c -> 'record' end,
      'old_record', case when operation <> 'INSERT' then c -> 'key' end)
      -- Do not send counts of a submission that became private.
      || case when starts_with(topic, c ->> 'home') then jsonb_build_object('submission', c -> 'submission')
        else '{}' end,
    operation, topic, true)
  from jsonb_array_elements(changes) with ordinality as changed (c, position) cross join lateral (
    select 'UPDATE' as operation, c ->> 'topic' as topic where c ->> 'topic' = c ->> 'old_topic'
    union all
    select 'DELETE', c ->> 'old_topic' where c ->> 'topic' is distinct from c ->> 'old_topic'
    union all
    select 'INSERT', c ->> 'topic' where c ->> 'topic' is distinct from c ->> 'old_topic') told
  where topic is not null
  order by position;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$$;

-- Trigger: broadcasts votes on the topic of their submission. Votes that are part of a creation or merge are
-- covered by its counts. definer: clients may not write to realtime.messages. Payloads name no voter.
create function private.broadcast_votes() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare ids uuid[];
begin
  if private.is_internal_write() then return null; end if;
  if (select count(*) from changed) > 100 then
    ids := array(select distinct submission_id from changed);
    perform private.broadcast_reload('votes', array(
      select private.submission_topic(s.id, s.is_public) from public.submissions s where s.id = any (ids)));
    return null;
  end if;
  -- Votes do not use private.broadcast: they are the most frequent change and never move to another topic.
  perform realtime.send(jsonb_build_object(
    'schema', 'public',
    'table', 'votes',
    'operation', tg_op,
    'record', case when tg_op = 'INSERT'
      then jsonb_build_object(
        'id', v.id,
        'organization_id', v.organization_id,
        'submission_id', v.submission_id) end,
    'old_record', case when tg_op = 'DELETE'
      then jsonb_build_object('submission_id', v.submission_id, 'id', v.id) end,
    'submission', private.counts_of(s)), tg_op, private.submission_topic(s.id, s.is_public), true)
  from changed v join public.submissions s on s.id = v.submission_id;
  return null;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'votes were not broadcast: %', sqlerrm;
  return null;
end
$$;
create trigger tell_added after insert on public.votes
  referencing new table as changed for each statement execute function private.broadcast_votes();
create trigger tell_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.broadcast_votes();

-- Topic of a comment: public or team.
create function private.comment_topic(comment public.comments) returns text
language sql immutable
return private.submission_topic((comment).submission_id, (comment).is_public);

-- Trigger: broadcasts comments. Approval is an INSERT on the public topic, rejection a DELETE.
-- definer: clients may not write to realtime.messages.
create function private.broadcast_comments() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare topics text[];
begin
  if private.is_importing() then return null; end if;
  topics := array(select private.comment_topic(c) from changed c);
  -- Count topics before joining rows: a plan made for one row would compare each old row with each new one.
  if cardinality(topics) > 100 then
    if tg_op = 'UPDATE' then
      topics := topics || array(select private.comment_topic(o) from old_rows o);
    end if;
    perform private.broadcast_reload('comments', topics);
    return null;
  end if;
  case tg_op
    when 'INSERT' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'topic', private.comment_topic(n),
        'home', private.submission_topic(s.id, s.is_public),
        'submission', private.counts_of(s),
        'record', to_jsonb(n))))
      from changed n join public.submissions s on s.id = n.submission_id;
    when 'UPDATE' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o),
        'topic', private.comment_topic(n),
        'home', private.submission_topic(s.id, s.is_public),
        'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id),
        'record', to_jsonb(n))))
      from old_rows o join changed n using (id) join public.submissions s on s.id = n.submission_id
        where o is distinct from n;
    else
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o),
        'home', private.submission_topic(s.id, s.is_public),
        'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id))))
      from changed o join public.submissions s on s.id = o.submission_id;
  end case;
  return null;
end
$$;
create trigger tell_added after insert on public.comments
  referencing new table as changed for each statement execute function private.broadcast_comments();
create trigger tell_changed after update on public.comments
  referencing old table as old_rows new table as changed for each statement
    execute function private.broadcast_comments();
create trigger tell_removed after delete on public.comments
  referencing old table as changed for each statement execute function private.broadcast_comments();

-- Topics of a submission: its board's and its own.
create function private.topics_of(submission public.submissions) returns text[]
language sql immutable
return array[private.board_topic((submission).organization_id, (submission).is_public),
  private.submission_topic((submission).id, (submission).is_public)];

-- A submission in broadcasts, without its description.
create function private.broadcast_submission_shape(submission public.submissions) returns jsonb
language sql immutable set search_path = pg_temp
return jsonb_build_object(
  'id', (submission).id,
  'organization_id', (submission).organization_id,
  'title', (submission).title,
  'type', (submission).type,
  'status', (submission).status,
  'vote_count', (submission).vote_count,
  'comment_count', (submission).comment_count,
  'category_id', (submission).category_id,
  'merged_into_id', (submission).merged_into_id,
  'created_at', (submission).created_at,
  'updated_at', (submission).updated_at);

-- Trigger: broadcasts a submission on its own topic and on its board's. Counts changed by votes and comments
-- go with those messages; the board gets comment counts at once and vote counts through
-- private.broadcast_counts. definer: clients may not write to realtime.messages.
create function private.broadcast_submissions() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare changes jsonb; topics text[];
begin
  -- This is checked first: most updates come from votes. It is not a join: see private.broadcast_comments.
  if tg_op = 'UPDATE' and not private.is_internal_write() then
    if not exists (
      select n.id, n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at,
        n.comment_count from changed n
      except select o.id, o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id,
        o.updated_at, o.comment_count from old_rows o) then
      return null;
    end if;
  end if;
  if private.is_importing() then return null; end if;
  if (select count(*) from changed) > 100 then
    topics := array(select unnest(private.topics_of(c)) from changed c);
    if tg_op = 'UPDATE' then
      topics := topics || array(select unnest(private.topics_of(o)) from old_rows o);
    end if;
    perform private.broadcast_reload('submissions', topics);
    return null;
  end if;
  case tg_op
    when 'INSERT' then
      select jsonb_agg(jsonb_build_object(
        'topic', private.board_topic(n.organization_id, n.is_public),
        'record', private.broadcast_submission_shape(n))) into changes
      from changed n;
    when 'UPDATE' then
      select jsonb_agg(jsonb_build_object(
        'old_topic', t.old_topic,
        'topic', t.topic,
        'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
        'record', private.broadcast_submission_shape(n))) into changes
      from old_rows o join changed n using (id)
        cross join unnest(private.topics_of(o), private.topics_of(n)) with ordinality
          t (old_topic, topic, nth)
      where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
          is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id,
            n.updated_at)
        -- Votes moved by a merge are not broadcast one by one. All other votes are; the board then gets vote
        -- counts later, and comment counts at once.
        or private.is_internal_write() and (o.vote_count, o.comment_count) <> (n.vote_count, n.comment_count)
        or t.nth = 1 and o.comment_count <> n.comment_count;
    else
      select jsonb_agg(jsonb_build_object(
        'old_topic', t.topic,
        'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id))) into changes
      from changed o cross join unnest(private.topics_of(o)) t (topic);
  end case;
  perform private.broadcast('submissions', changes);
  return null;
end
$$;
create trigger tell_added after insert on public.submissions
  referencing new table as changed for each statement execute function private.broadcast_submissions();
create trigger tell_changed after update on public.submissions
  referencing old table as old_rows new table as changed for each statement
    execute function private.broadcast_submissions();
create trigger tell_removed after delete on public.submissions
  referencing old table as changed for each statement execute function private.broadcast_submissions();

-- Trigger: broadcasts pending content and moderation decisions to the team of a board, with the state only.
-- definer: clients may not write to realtime.messages.
create function private.broadcast_moderation() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
begin
  if private.is_importing() then return null; end if;
  perform realtime.send(jsonb_build_object(
    'schema', 'public',
    'table', tg_table_name,
    'operation', 'MODERATION',
    'record', jsonb_build_object('id', new.id, 'moderation_state', new.moderation_state)), 'MODERATION',
    private.board_topic(new.organization_id, false), true);
  return null;
-- A failed broadcast must not roll back the change.
exception when others then
  raise warning 'moderation of % was not broadcast: %', tg_table_name, sqlerrm;
  return null;
end
$$;
create trigger tell_waiting after insert on public.submissions
  for each row when (new.moderation_state <> 'approved') execute function private.broadcast_moderation();
create trigger tell_moderated after update of moderation_state on public.submissions
  for each row when (old.moderation_state <> new.moderation_state)
    execute function private.broadcast_moderation();
create trigger tell_waiting after insert on public.comments
  for each row when (new.moderation_state <> 'approved') execute function private.broadcast_moderation();
create trigger tell_moderated after update of moderation_state on public.comments
  for each row when (old.moderation_state <> new.moderation_state)
    execute function private.broadcast_moderation();

create table private.broadcast_cursor (
  is_only boolean primary key default true constraint there_is_one_cursor check (is_only),
  xid xid8 not null,
  id bigint not null
);
comment on table private.broadcast_cursor is 'Outbox position up to which vote counts were sent to boards.';
insert into private.broadcast_cursor (xid, id) values ('0', 0);

-- For the schedule: sends each board the vote counts that changed since the last run, up to 100 in one
-- message, so that a vote costs the board's viewers no message.
create function private.broadcast_counts() returns integer
language plpgsql set search_path = pg_temp as $$
declare at private.broadcast_cursor; last record; told integer := 0;
begin
  select * into at from private.broadcast_cursor for update skip locked;
  if at.xid is null then return 0; end if;
  select e.xid, e.id into last from (
    select o.xid, o.id from private.outbox o
    where (o.xid, o.id) > (at.xid, at.id) and o.xid < pg_snapshot_xmin(pg_current_snapshot())
    order by o.xid, o.id limit 10000) e
  order by e.xid desc, e.id desc limit 1;
  if last.xid is null then return 0; end if;
  perform realtime.send(jsonb_build_object(
    'schema', 'public',
    'table', 'submissions',
    'operation', 'COUNTS',
    'records', page.records), 'COUNTS', page.topic, true)
  from (
    select n.topic, jsonb_agg(n.counts) as records
    from (
      select private.board_topic(s.organization_id, s.is_public) as topic, private.counts_of(s) as counts,
        row_number() over (partition by s.organization_id, s.is_public order by s.id) / 100 as page
      from public.submissions s
      where s.id in (
        select o.subject_id from private.outbox o
        where (o.xid, o.id) > (at.xid, at.id) and (o.xid, o.id) <= (last.xid, last.id)
          and o.type in ('submission.vote_added', 'submission.vote_removed'))) n
    group by n.topic, n.page) page;
  get diagnostics told = row_count;
  update private.broadcast_cursor c set xid = last.xid, id = last.id where c.is_only;
  return told;
end
$$;

-- Authorization of subscriptions ----------------------------------------------------------------------------

-- Whether the caller may join a private topic: submission:<id> and organization:<id> if they see the row,
-- with :team if they are on its team.
create function private.may_listen(topic text) returns boolean
language plpgsql stable set search_path = pg_temp as $$
declare part text[] := regexp_match(topic,
  '^(submission|organization):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
begin
  if part is null then return false; end if;
  if part[1] = 'organization' then
    return exists (select from public.organizations o where o.id = part[2]::uuid
      and (part[3] is null or o.id = any (private.team_organization_ids())));
  end if;
  return exists (select from public.submissions s where s.id = part[2]::uuid
    and (part[3] is null or s.organization_id = any (private.team_organization_ids())));
end
$$;
grant execute on function private.may_listen to anon, authenticated;

-- No policy allows sending: messages on these topics come from the triggers only.
create policy "who may listen hears" on realtime.messages
  for select to anon, authenticated
    using (extension = 'broadcast' and (select private.may_listen(realtime.topic())));
