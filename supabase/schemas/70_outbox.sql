-- The outbox: every mutation inserts its event in its own transaction. Webhooks, agent streams and the change
-- feed read it.

create table private.outbox (
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  event_id uuid not null default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  type text not null,
  subject_id uuid not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  category_id uuid,
  primary key (xid, id)
);
comment on table private.outbox is
  'Events in commit order: readers select xid < pg_snapshot_xmin(pg_current_snapshot()) ordered by (xid, '
  'id); that pair is the cursor. category_id is that of the submission at the time. Kept for '
  'private.retention(events).';
create index outbox_organization_idx on private.outbox (organization_id, xid, id);
create index outbox_created_idx on private.outbox (subject_id)
  where type in ('submission.created', 'comment.created');
create index outbox_age_idx on private.outbox using brin (created_at);

-- The submission that an event is about; null for others.
create function private.submission_of(data jsonb) returns uuid
language sql immutable
return coalesce(data ->> 'submission_id', data -> 'submission' ->> 'id',
  data -> 'comment' ->> 'submission_id')::uuid;

-- Inserts an event of this transaction. For definer triggers.
create function private.emit_event(organization_id uuid, type text, subject_id uuid, data jsonb) returns void
language plpgsql set search_path = pg_temp as $$
begin
  insert into private.outbox (organization_id, type, subject_id, data, category_id)
    values (organization_id, type, subject_id, data,
      (select s.category_id from public.submissions s where s.id = private.submission_of(data)));
  perform private.wake_dispatcher(organization_id);
end
$$;

-- Whether the creation event of a submission or comment was emitted before, so that a second approval
-- does not repeat it.
create function private.is_announced(type text, subject_id uuid) returns boolean
language plpgsql stable set search_path = pg_temp as $$
begin
  return exists (select from private.outbox o
    where o.subject_id = is_announced.subject_id and o.type = is_announced.type
  and o.type in ('submission.created', 'comment.created'));
end
$$;
