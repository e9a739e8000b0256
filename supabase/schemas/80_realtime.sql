-- What clients hear of the moment it commits: row changes through the publication, and the same changes as broadcasts.

-- Row changes --------------------------------------------------------------------------------------------------
-- A DELETE goes to subscribers without asking policies, with the replica identity's columns for filters to test and the
-- primary key to show. So identities hold opaque ids only, never a person, and never the full row; each leads with what
-- clients filter by. Votes have such a primary key already.

alter table public.comments replica identity using index comments_belong_to_their_submission;
alter table public.submissions replica identity using index submissions_belong_to_their_organization;

-- Hosted Supabase has the publication, empty; a project may have put tables into it from the dashboard.
do $$
declare published text;
begin
  foreach published in array array['submissions', 'votes', 'comments', 'notifications'] loop
    if not exists (select from pg_publication_tables where pubname = 'supabase_realtime' and schemaname = 'public' and tablename = published) then
      execute format('alter publication supabase_realtime add table public.%I', published);
    end if;
  end loop;
end
$$;

-- Broadcasts ---------------------------------------------------------------------------------------------------
-- For a board of many viewers: row changes cost a policy check a viewer and change, a topic one a join. What anyone may
-- see goes to submission:<id>, what only the team may see to submission:<id>:team, decided anew for each message: who
-- joined while a board was public hears nothing of it once it is private.

create table private.switches (
  name text primary key,
  is_on boolean not null
);
comment on table private.switches is 'What an operator turns on and off with SQL; counts from the next statement on. broadcast_changes: whether changes are also broadcast to the topics of their submissions.';
alter table private.switches enable row level security;
revoke all on private.switches from public, anon, authenticated, service_role, service_key;
insert into private.switches values ('broadcast_changes', true);

create function private.broadcasts_changes() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not private.is_importing() and coalesce((select is_on from private.switches where name = 'broadcast_changes'), false);
end
$$;
comment on function private.broadcasts_changes() is 'Whether the operator wants changes broadcast; those of an import never are.';

create function private.submission_topic(submission_id uuid, is_public boolean) returns text
language sql immutable
return 'submission:' || submission_id::text || case when is_public then '' else ':team' end;
comment on function private.submission_topic(uuid, boolean) is 'Where a row is told of: to everyone, or to the team.';

create function private.counts_of(submission public.submissions) returns jsonb
language sql immutable set search_path = ''
return jsonb_build_object('id', (submission).id, 'vote_count', (submission).vote_count, 'comment_count', (submission).comment_count);
comment on function private.counts_of(public.submissions) is 'What comes with each vote and comment, so that a count costs no message of its own.';

create function private.broadcast(changed_table text, changes jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  if jsonb_array_length(changes) > 100 then
    perform realtime.send(jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', 'RELOAD'), 'RELOAD', topic, true)
    from (
      select distinct topic
      from jsonb_array_elements(changes) c cross join lateral (values (c ->> 'old_topic'), (c ->> 'topic')) as told (topic)
      where topic is not null
      limit 100) told;
    return;
  end if;
  perform realtime.send(
    jsonb_build_object('schema', 'public', 'table', changed_table, 'operation', operation,
      'record', case when operation <> 'DELETE' then c -> 'record' end, 'old_record', case when operation <> 'INSERT' then c -> 'key' end)
      -- Counts of a submission that is private by now are not for everyone.
      || case when starts_with(topic, c ->> 'home') then jsonb_build_object('submission', c -> 'submission') else '{}' end,
    operation, topic, true)
  from jsonb_array_elements(changes) with ordinality as changed (c, position) cross join lateral (
    select 'UPDATE' as operation, c ->> 'topic' as topic where c ->> 'topic' = c ->> 'old_topic'
    union all
    select 'DELETE', c ->> 'old_topic' where c ->> 'topic' is distinct from c ->> 'old_topic'
    union all
    select 'INSERT', c ->> 'topic' where c ->> 'topic' is distinct from c ->> 'old_topic') told
  where topic is not null
  order by position;
-- What cannot be told must not undo what happened.
exception when others then
  raise warning 'changes of % were not broadcast: %', changed_table, sqlerrm;
end
$$;
comment on function private.broadcast(text, jsonb) is 'Tells of changes [{old_topic, topic, key, record, submission, home}], in the payload of realtime.broadcast_changes. A row that moves from one topic to another is deleted there and inserted here. More than 100 rows at once are told as one RELOAD a topic.';

-- definer: clients may not write to realtime.messages. No voter is named.
create function private.broadcast_votes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() or not private.broadcasts_changes() then return null; end if;
  if tg_op = 'INSERT' then
    perform private.broadcast('votes', jsonb_agg(jsonb_build_object(
      'topic', private.submission_topic(s.id, s.is_public), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
      'record', jsonb_build_object('id', v.id, 'organization_id', v.organization_id, 'submission_id', v.submission_id, 'created_at', v.created_at))))
    from changed v join public.submissions s on s.id = v.submission_id;
  else
    perform private.broadcast('votes', jsonb_agg(jsonb_build_object(
      'old_topic', private.submission_topic(s.id, s.is_public), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
      'key', jsonb_build_object('submission_id', v.submission_id, 'id', v.id))))
    from changed v join public.submissions s on s.id = v.submission_id;
  end if;
  return null;
end
$$;
comment on function private.broadcast_votes() is 'Trigger: votes come and go on the topic of their submission; those that belong to a creation or merge are told by its counts.';
create trigger tell_added after insert on public.votes
  referencing new table as changed for each statement execute function private.broadcast_votes();
create trigger tell_removed after delete on public.votes
  referencing old table as changed for each statement execute function private.broadcast_votes();

create function private.comment_topic(comment public.comments) returns text
language sql immutable
return private.submission_topic((comment).submission_id, (comment).is_public);
comment on function private.comment_topic(public.comments) is 'Where a comment is told of.';

-- definer: as above.
create function private.broadcast_comments() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not private.broadcasts_changes() then return null; end if;
  case tg_op
    when 'INSERT' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'topic', private.comment_topic(n), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s), 'record', to_jsonb(n))))
      from new_rows n join public.submissions s on s.id = n.submission_id;
    when 'UPDATE' then
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'topic', private.comment_topic(n), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id), 'record', to_jsonb(n))))
      from old_rows o join new_rows n using (id) join public.submissions s on s.id = n.submission_id where o is distinct from n;
    else
      perform private.broadcast('comments', jsonb_agg(jsonb_build_object(
        'old_topic', private.comment_topic(o), 'home', private.submission_topic(s.id, s.is_public), 'submission', private.counts_of(s),
        'key', jsonb_build_object('submission_id', o.submission_id, 'id', o.id))))
      from old_rows o join public.submissions s on s.id = o.submission_id;
  end case;
  return null;
end
$$;
comment on function private.broadcast_comments() is 'Trigger: comments as their topics see them. One that is approved is an INSERT to everyone, one that is rejected a DELETE.';
create trigger tell_added after insert on public.comments
  referencing new table as new_rows for each statement execute function private.broadcast_comments();
create trigger tell_changed after update on public.comments
  referencing old table as old_rows new table as new_rows for each statement execute function private.broadcast_comments();
create trigger tell_removed after delete on public.comments
  referencing old table as old_rows for each statement execute function private.broadcast_comments();

-- definer: as above.
create function private.broadcast_submissions() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if not private.broadcasts_changes() then return null; end if;
  if tg_op = 'UPDATE' then
    perform private.broadcast('submissions', jsonb_agg(jsonb_build_object(
      'old_topic', private.submission_topic(o.id, o.is_public), 'topic', private.submission_topic(n.id, n.is_public),
      'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id),
      'record', jsonb_build_object('id', n.id, 'organization_id', n.organization_id, 'title', n.title, 'type', n.type, 'status', n.status,
        'vote_count', n.vote_count, 'comment_count', n.comment_count, 'category_id', n.category_id,
        'merged_into_id', n.merged_into_id, 'created_at', n.created_at, 'updated_at', n.updated_at))))
    from old_rows o join new_rows n using (id)
    where (o.is_public, o.title, o.type, o.status, o.category_id, o.merged_into_id, o.updated_at)
        is distinct from (n.is_public, n.title, n.type, n.status, n.category_id, n.merged_into_id, n.updated_at)
      -- A merge moves votes without telling of each.
      or private.is_quiet() and (o.vote_count, o.comment_count) is distinct from (n.vote_count, n.comment_count);
  else
    perform private.broadcast('submissions', jsonb_agg(jsonb_build_object(
      'old_topic', private.submission_topic(o.id, o.is_public),
      'key', jsonb_build_object('organization_id', o.organization_id, 'id', o.id))))
    from old_rows o;
  end if;
  return null;
end
$$;
comment on function private.broadcast_submissions() is 'Trigger: a submission on its own topic, without its description; counts that change by a vote or comment come with that.';
create trigger tell_changed after update on public.submissions
  referencing old table as old_rows new table as new_rows for each statement execute function private.broadcast_submissions();
create trigger tell_removed after delete on public.submissions
  referencing old table as old_rows for each statement execute function private.broadcast_submissions();

-- Responses go to survey:<id>, for admins, without their answers; not through the publication, which would hand anyone the
-- ids of a million responses deleted with their survey.
-- definer: as above.
create function private.broadcast_responses() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if private.is_quiet() or not private.broadcasts_changes() then return null; end if;
  perform private.broadcast('survey_responses', jsonb_agg(jsonb_build_object('topic', 'survey:' || r.survey_id, 'record', jsonb_build_object(
    'id', r.id, 'organization_id', r.organization_id, 'survey_id', r.survey_id, 'submitted_at', r.submitted_at, 'locale', r.locale,
    'sentiment', r.sentiment, 'sentiment_score', r.sentiment_score))))
  from changed r;
  return null;
end
$$;
comment on function private.broadcast_responses() is 'Trigger: new responses on the topic of their survey.';
create trigger tell_added after insert on public.survey_responses
  referencing new table as changed for each statement execute function private.broadcast_responses();

-- Who may listen -----------------------------------------------------------------------------------------------

create function private.may_listen(topic text) returns boolean
language plpgsql stable set search_path = '' as $$
declare part text[] := regexp_match(topic, '^(submission|survey):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:team)?$');
begin
  if part is null then return false; end if;
  if part[1] = 'survey' then
    return part[3] is null and exists (select from public.surveys s where s.id = part[2]::uuid
      and s.organization_id = any (private.admin_organization_ids('responses:read')));
  end if;
  return exists (select from public.submissions s where s.id = part[2]::uuid
    and (part[3] is null or s.organization_id = any (private.team_organization_ids())));
end
$$;
comment on function private.may_listen(text) is 'Whether the caller may join a private topic: submission:<id> if they see the submission, submission:<id>:team if they are on its team, survey:<id> if they are Admin of it.';
grant execute on function private.may_listen(text) to anon, authenticated;

-- Nobody is let to send: what comes by these topics comes from the triggers above.
create policy "who may listen hears" on realtime.messages
  for select to anon, authenticated using (extension = 'broadcast' and (select private.may_listen(realtime.topic())));
