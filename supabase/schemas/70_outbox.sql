-- The outbox: every mutation writes its event in its own transaction. Webhooks, streams and the change feed read from it.

create table private.outbox (
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  event_id uuid not null default gen_random_uuid(),
  organization_id uuid not null references public.organizations (id) on delete cascade,
  type text not null,
  subject_id uuid not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (xid, id)
);
comment on table private.outbox is 'Events in commit order: readers take xid < pg_snapshot_xmin(pg_current_snapshot()) by (xid, id), and that pair is the cursor. Kept 30 days.';
create index outbox_organization_idx on private.outbox (organization_id, xid, id);
create index outbox_created_idx on private.outbox (subject_id) where type in ('submission.created', 'comment.created');
create index outbox_age_idx on private.outbox using brin (created_at);
alter table private.outbox enable row level security;
revoke all on private.outbox from public, anon, authenticated, service_role, service_key;

create function private.emit_event(organization_id uuid, type text, subject_id uuid, data jsonb) returns void
language plpgsql set search_path = '' as $$
begin
  insert into private.outbox (organization_id, type, subject_id, data) values (organization_id, type, subject_id, data);
  perform private.wake_dispatcher(organization_id);
end
$$;
comment on function private.emit_event(uuid, text, uuid, jsonb) is 'Announces what this transaction did, if it commits. For triggers that are definers.';

create function private.is_announced(type text, subject_id uuid) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return exists (select from private.outbox o where o.subject_id = is_announced.subject_id and o.type = is_announced.type
  and o.type in ('submission.created', 'comment.created'));
end
$$;
comment on function private.is_announced(text, uuid) is 'Whether the creation of a submission or comment was told already, so that a second approval is not.';

-- Who is told of what ------------------------------------------------------------------------------------------

create function private.canonical_event(name text) returns text
language sql immutable
return case name when 'vote.created' then 'submission.vote_added' when 'status.changed' then 'submission.status_changed' else name end;
comment on function private.canonical_event(text) is 'The event a name stands for, alias or not: the same names as eventAliases in shared/events.ts.';

create function private.event_scopes(name text) returns text[]
language sql immutable
return case split_part(private.canonical_event(name), '.', 1)
  when 'submission' then array['submissions:read', 'submissions:moderate']
  when 'comment' then array['submissions:read', 'submissions:moderate']
  when 'survey' then array['surveys:read', 'responses:read']
  when 'member' then array['members:write']
  when 'org' then array['organization:write']
  -- A test tells nothing.
  when 'webhook' then array['webhooks:read', 'webhooks:write']
  else '{}'
end;
comment on function private.event_scopes(text) is 'A key is told of an event, by the change feed or a webhook, with one of these scopes: those that read what the event tells of.';

create function private.may_hear(name text) returns boolean
language sql stable
return not private.is_key() or private.event_scopes(name) && string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' ');
comment on function private.may_hear(text) is 'Whether the caller, an admin or a key, is told of an event.';

create function private.require_hearing(names text[], field text) returns void
language plpgsql stable set search_path = '' as $$
declare refused text := (select n.name from unnest(names) as n (name) where not private.may_hear(n.name) limit 1);
begin
  if refused is not null then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s, which reads %s.',
      coalesce(nullif(array_to_string(private.event_scopes(refused), ' or '), ''), 'that'), refused), field);
  end if;
end
$$;
comment on function private.require_hearing(text[], text) is 'Raises FORBIDDEN with the scope that lacks where the caller is not told of one of these events; field says what named it.';
