-- Imports, and their uploaded files. Steps write the records of a file (98_import_4_steps.sql).

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
  records_done integer not null default 0,
  records_at_once integer not null default 500,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint imports_belong_to_their_organization unique (organization_id, id),
  constraint source_is_a_slug check (private.is_slug(source)),
  constraint state_is_known check (state in ('receiving', 'running', 'completed', 'failed', 'canceled'))
);
comment on table private.imports is
  'Imports and their progress. processed = created + skipped + failed; problem: the reason of a failure. A '
  'job has a query: its file is stored first and then written in steps with the credential that sent it. '
  'position: start of the next rows in the file; chunks_done: number of written chunks of these rows; '
  'records_done: of the next chunk; records_at_once: how many of a chunk are tried together; claimed_until: '
  'lease of the schedule, or the end of the last one.';
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
comment on table private.import_errors is
  'The first 100 errors of an import by line, without values from the file.';

create table private.import_file_parts (
  organization_id uuid not null,
  import_id uuid not null,
  n integer not null,
  bytes bytea not null,
  primary key (organization_id, import_id, n),
  constraint import_file_parts_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_file_parts is
  'The file of an unfinished import, or of the newest dry run, in parts of 1 MiB.';

create table private.import_ids (
  organization_id uuid not null,
  import_id uuid not null,
  kind text not null,
  external_id text not null,
  content uuid,
  primary key (organization_id, import_id, kind, external_id),
  constraint import_ids_import_is_of_the_same_organization foreign key (organization_id, import_id)
    references private.imports (organization_id, id) on delete cascade
);
comment on table private.import_ids is
  'Ids that a running import has read, with the digest of the first record of each.';

-- Whether an import is a dry run that has ended and read the columns of its file.
create function private.is_checked_import(import private.imports) returns boolean
language sql immutable
return import.is_dry_run
  and (import.state = 'completed' or (import.state = 'failed' and import.position ? 'columns'));

-- Finishes an import; problem is the reason of a failure, or null. Deletes its file, except after a dry run
-- whose columns were read, which can be checked again.
create function private.finish_import(import_id uuid, problem text) returns json
language plpgsql set search_path = pg_temp as $$
begin
  update private.imports i set
    state = case when finish_import.problem is null then 'completed' else 'failed' end,
    problem = finish_import.problem, updated_at = clock_timestamp()
  where i.id = import_id and i.state in ('receiving', 'running');
  perform private.drop_import_file(i.id) from private.imports i
  where i.id = import_id and not private.is_checked_import(i);
  -- Keep only the file of the newest dry run, for admin_apply_import.
  delete from private.import_file_parts p using private.imports i, private.imports o
  where i.id = finish_import.import_id and private.is_checked_import(i)
    and o.organization_id = i.organization_id and o.id <> i.id and private.is_checked_import(o)
    and p.organization_id = o.organization_id and p.import_id = o.id;
  delete from private.import_ids d using private.imports i
  where i.id = finish_import.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
  return (select private.import_shape(i) from private.imports i where i.id = import_id);
end
$$;

-- Deletes the stored file of an import.
create function private.drop_import_file(import_id uuid) returns void
language plpgsql set search_path = pg_temp as $$
begin
  delete from private.import_file_parts p using private.imports i
  where i.id = drop_import_file.import_id and p.organization_id = i.organization_id and p.import_id = i.id;
  delete from private.import_ids d using private.imports i
  where i.id = drop_import_file.import_id and d.organization_id = i.organization_id and d.import_id = i.id;
end
$$;

-- JSON of an import for Admin, with the first 100 errors.
create function private.import_shape(import private.imports) returns json
language sql stable
return json_build_object(
  'id', import.id,
  'format', import.format,
  'what', coalesce(import.query ->> 'what', 'submissions'),
  'source', import.source,
  'dry_run', import.is_dry_run,
  'state', import.state,
  'bytes', import.bytes,
  'bytes_read', case when import.state = 'completed' then import.bytes
    else (import.position ->> 'at')::bigint end,
  'processed', import.processed,
  'created', import.created,
  'skipped', import.skipped,
  'failed', import.failed,
  'problem', import.problem,
  'errors', coalesce((select json_agg(jsonb_strip_nulls(jsonb_build_object('file', e.file))
      || jsonb_build_object('line', e.line, 'field', e.field, 'message', e.message) order by e.id)
    from private.import_errors e where e.organization_id = import.organization_id
      and e.import_id = import.id), '[]'),
  'columns', json_build_object(
    'unused', coalesce(import.position #> '{columns,unused}', '[]'),
    'missing', coalesce(import.position #> '{columns,missing}', '[]'),
    'mapped', coalesce(import.query -> 'columns', '{}')),
  'can_check', private.is_checked_import(import) and exists (select from private.import_file_parts p
    where p.organization_id = import.organization_id and p.import_id = import.id),
  'can_apply', import.is_dry_run and import.state = 'completed'
    and exists (select from private.import_file_parts p
      where p.organization_id = import.organization_id and p.import_id = import.id),
  'created_at', import.created_at,
  'updated_at', import.updated_at);

-- Ends imports, of one organization or all, whose upload stopped (private.retention stalled_uploads) or that
-- make no progress (stalled_imports); deletes files of old dry runs (checked_imports).
create function private.end_idle_imports(organization_id uuid default null) returns integer
language plpgsql set search_path = pg_temp as $$
declare ended integer;
begin
  perform private.finish_import(i.id, case i.state when 'receiving'
    then 'The file stopped arriving. Send it again.'
    else format('The import made no progress for %s. Send the file again.',
      private.retention('stalled_imports')) end)
  from (
    select w.id, w.state from private.imports w
    where w.state in ('receiving', 'running') and w.query is not null
      and (end_idle_imports.organization_id is null or w.organization_id = end_idle_imports.organization_id)
      and w.updated_at < now() - private.retention(case w.state
        when 'receiving' then 'stalled_uploads' else 'stalled_imports' end)
    -- An import that is still progressing is not idle.
    for update skip locked) i;
  get diagnostics ended = row_count;
  delete from private.import_file_parts p using private.imports i
  where i.organization_id = p.organization_id and i.id = p.import_id and private.is_checked_import(i)
    and i.updated_at < now() - private.retention('checked_imports');
  return ended;
end
$$;

-- Administration --------------------------------------------------------------------------------------------

-- Locks and returns an import of the current organization; raises NOT_FOUND if there is none.
create function private.lock_import(import_id uuid) returns private.imports
language plpgsql set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports;
begin
  select * into import from private.imports i
    where i.id = import_id and i.organization_id = own_id for no key update;
  if import.id is null then perform private.raise_error('NOT_FOUND', 'There is no such import.'); end if;
  return import;
end
$$;

-- Starts an import into the current organization; the file parts follow.
-- definer: private tables; each call requires Admin.
create function private.admin_start_import(query jsonb, file_type text) returns uuid
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports;
begin
  perform pg_advisory_xact_lock(hashtextextended('imports of ' || own_id, 0));
  perform private.end_idle_imports(own_id);
  if (select count(*) >= 5 from private.imports i
      where i.organization_id = own_id and i.state in ('receiving', 'running') and i.query is not null) then
    perform private.raise_error('CONFLICT',
      'Five imports are already running. Wait for one to finish, or cancel one.');
  end if;
  insert into private.imports (organization_id, format, source, is_dry_run, makes_missing, state, query,
    file_type, profile_id, key_id)
  values (own_id, query ->> 'format', coalesce(query ->> 'source', query ->> 'format'),
    (query ->> 'dry_run')::boolean, (query ->> 'create_missing')::boolean, 'receiving', query, file_type,
    nullif(current_setting('feedback.profile_id', true), '')::uuid, private.key_id())
  returning * into import;
  perform private.audit('import.start', 'import', import.id,
    jsonb_build_object('format', import.format, 'source', import.source, 'dry_run', import.is_dry_run),
    own_id);
  return import.id;
end
$$;

-- Stores one part of an import's file.
create function private.admin_add_import_file_part(import_id uuid, n integer, bytes bytea) returns void
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql security definer set search_path = pg_temp as $$
declare import private.imports := private.lock_import(import_id);
begin
  if import.state <> 'receiving'
    then perform private.raise_error('CONFLICT', 'This import has ended. Start another one.'); end if;
  insert into private.import_file_parts (organization_id, import_id, n, bytes)
    values (import.organization_id, import.id, n, bytes);
  update private.imports i set bytes = i.bytes + octet_length(admin_add_import_file_part.bytes),
    updated_at = clock_timestamp()
  where i.id = import.id;
end
$$;

-- Marks the upload as complete and starts the import.
create function private.admin_begin_import(import_id uuid) returns json
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql security definer set search_path = pg_temp as $$
declare import private.imports := private.lock_import(import_id);
begin
  update private.imports i set state = 'running', updated_at = clock_timestamp()
  where i.id = import.id and i.state = 'receiving' returning i.* into import;
  if import.id is null then perform private.raise_error('CONFLICT',
    'This import has ended. Start another one.');
    end if;
  perform private.call_importer();
  return private.import_shape(import);
end
$$;

-- Finishes an import of the current organization.
create function private.admin_finish_import(import_id uuid, problem text) returns json
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql security definer set search_path = pg_temp as $$
begin
  perform private.lock_import(import_id);
  return private.finish_import(import_id, problem);
end
$$;

-- Cancels an import of the current organization, after the chunk being written; written rows stay.
create function private.admin_cancel_import(import_id uuid) returns json
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql security definer set search_path = pg_temp set lock_timeout = '2s' as $$
declare import private.imports := private.lock_import(import_id);
begin
  if import.state not in ('receiving', 'running', 'canceled') then
    perform private.raise_error('CONFLICT', 'This import has ended. There is nothing to cancel.');
  end if;
  update private.imports i set state = 'canceled', updated_at = clock_timestamp() where i.id = import.id
    returning i.* into import;
  perform private.drop_import_file(import.id);
  perform private.audit('import.cancel', 'import', import.id, '{}', import.organization_id);
  return private.import_shape(import);
end
$$;

-- Imports the file of a completed dry run, or checks that of a dry run again, with the changes of its options;
-- the file becomes the new import's. Raises CONFLICT for another import, GONE if the file is no longer stored.
-- definer: private tables; each call requires Admin.
create function private.admin_apply_import(import_id uuid, changes jsonb) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare checked private.imports := private.lock_import(import_id); new_id uuid;
begin
  if not private.is_checked_import(checked)
    or checked.state <> 'completed' and not (changes ->> 'dry_run')::boolean then
    perform private.raise_error('CONFLICT', 'Only a completed dry run can be imported.');
  elsif not exists (select from private.import_file_parts p
      where p.organization_id = checked.organization_id and p.import_id = checked.id) then
    perform private.raise_error('GONE', 'The file is no longer stored. Send it again.');
  end if;
  new_id := private.admin_start_import(checked.query || changes, checked.file_type);
  update private.imports i set bytes = checked.bytes where i.id = new_id;
  update private.import_file_parts p set import_id = new_id
  where p.organization_id = checked.organization_id and p.import_id = checked.id;
  return private.admin_begin_import(new_id);
end
$$;

-- The import with this id, or the newest 50, of the current organization.
create function private.admin_imports(import_id uuid) returns json
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return coalesce((select json_agg(private.import_shape(i) order by i.created_at desc, i.id desc) from (
    select * from private.imports i
      where i.organization_id = own_id and (import_id is null or i.id = import_id)
    order by i.created_at desc, i.id desc limit 50) i), '[]');
end
$$;

grant execute on function private.admin_start_import, private.admin_add_import_file_part,
  private.admin_begin_import, private.admin_finish_import, private.admin_cancel_import,
  private.admin_apply_import, private.admin_imports to authenticated, service_key;
