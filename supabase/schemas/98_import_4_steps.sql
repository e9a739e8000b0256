-- The steps of an import: each step writes a chunk of the file in its own transaction.

-- Writes records kind by kind, without events.
create function private.write_import(import private.imports, records jsonb) returns private.import_outcome
language plpgsql set search_path = pg_temp as $$
declare
  people jsonb; part private.import_outcome; kind text;
  outcome private.import_outcome := row(0, 0, coalesce(records -> 'repeated', '[]'))::private.import_outcome;
begin
  -- Block merges, which must see all rows of the submissions they merge.
  perform 1 from public.organizations o where o.id = import.organization_id for no key update;
  perform set_config('feedback.internal_write', 'import', true);
  people := private.import_people(import, records -> 'people');
  foreach kind in array array['taxonomy', 'submission', 'merged', 'follow', 'comment', 'vote', 'comment_vote',
    'status_change',
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
    outcome := row(outcome.created + part.created, outcome.skipped + part.skipped,
      outcome.failures || coalesce(part.failures, '[]'))::private.import_outcome;
  end loop;
  perform set_config('feedback.internal_write', 'off', true);
  return outcome;
end
$$;

-- The records of a chunk within a range, with the people, categories and tags they reference.
create function private.slice_records(records jsonb, first integer, past integer) returns jsonb
language plpgsql immutable set search_path = pg_temp as $$
declare part jsonb; named text[];
begin
  select jsonb_object_agg(r.key, case jsonb_typeof(r.value) when 'array' then jsonb_path_query_array(r.value,
    '$[*] ? (@.n >= $first && @.n < $past)', jsonb_build_object('first', first, 'past', past))
    else r.value end) into part from jsonb_each(records) r;
  named := array(select v #>> '{}'
    from unnest(array['$.*[*].author', '$.*[*].category', '$.*[*].tags[*]']::jsonpath[]) p (path)
      cross join jsonb_path_query(part, p.path) v);
  return (select jsonb_object_agg(r.key, case when r.key in ('people', 'categories', 'tags') then coalesce((
      select jsonb_object_agg(k.key, k.value) from jsonb_each(r.value) k where k.key = any (named)), '{}')
    else r.value end) from jsonb_each(part) r);
end
$$;

-- Adapts records to the ids of earlier ones in the file. One whose id an earlier record has with other content
-- moves to the failures in repeated. In a dry run, which rolls back, ids of earlier chunks count as seen.
create function private.check_ids(import private.imports, records jsonb) returns jsonb
language plpgsql set search_path = pg_temp as $$
declare checked jsonb;
begin
  with given as materialized (
    select r.key, case r.key when 'merged' then 'submission' else r.key end as kind,
      coalesce(e.value ->> 'id', e.value ->> 'slug') as id, e.value, (e.value -> 'n')::integer as n,
      md5((e.value - '{n,line}'::text[])::text)::uuid as content
    from jsonb_each(records) r
      cross join jsonb_array_elements(case jsonb_typeof(r.value) when 'array' then r.value else '[]' end) e (value)
  ), compared as (
    select g.*, g.id is not null and g.content <> coalesce(i.content,
      first_value(g.content) over (partition by g.kind, g.id order by g.n)) as is_repeated
    from given g left join private.import_ids i on i.organization_id = import.organization_id
      and i.import_id = import.id and i.kind = g.kind and i.external_id = g.id
  ), noted as (
    insert into private.import_ids (organization_id, import_id, kind, external_id, content)
    select distinct on (g.kind, g.id) import.organization_id, import.id, g.kind, g.id, g.content
    from given g where g.id is not null order by g.kind, g.id, g.n
    on conflict do nothing
  )
  select records || coalesce(jsonb_object_agg(l.key, l.list), '{}') into checked from (
    select c.key, coalesce(jsonb_agg(case when import.is_dry_run then c.value
        - case when seen.parent then 'parent_id' else '' end
        - case when seen.audience then 'audience_submission_id' else '' end
        || jsonb_build_object('seen', seen.target) else c.value end order by c.n)
        filter (where not c.is_repeated), '[]') as list
    from compared c cross join lateral (
      select coalesce(bool_or(i.kind = 'comment' and i.external_id = c.value ->> 'parent_id'), false)
        as parent,
        coalesce(bool_or(i.kind = 'submission'
          and i.external_id = c.value ->> 'audience_submission_id'), false) as audience,
        coalesce(bool_or(i.external_id = c.value ->> (i.kind || '_id')), false) as target
      from private.import_ids i
      where import.is_dry_run and i.organization_id = import.organization_id and i.import_id = import.id
        and (i.kind, i.external_id) in (('comment', c.value ->> 'parent_id'),
          ('submission', c.value ->> 'audience_submission_id'),
          ('submission', c.value ->> 'submission_id'), ('comment', c.value ->> 'comment_id'),
          ('survey', c.value ->> 'survey_id'))) seen
    group by c.key
    union all
    select 'repeated', jsonb_agg(jsonb_build_object(
      'n', c.n,
      'line', c.value -> 'line',
      'field', case when c.value ? 'id' then 'id' else 'slug' end,
      'message', 'is that of an earlier record with other values; not imported') order by c.n)
    from compared c where c.is_repeated having count(*) > 0) l;
  return checked;
end
$$;

-- Running the steps -----------------------------------------------------------------------------------------

-- Starts pending imports, and the deletion of removed logos, in functions/api when this transaction
-- commits: through pg_net if Vault has the URL of the functions, otherwise through NOTIFY.
create function private.call_importer() returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if not exists (select from private.imports i where i.state = 'running' and i.query is not null
      and (i.claimed_until is null or i.claimed_until < now()))
    and not exists (select from private.removed_logos r where r.due_at <= now()) then return false; end if;
  begin
    if not private.call_function('/api/imports/run') then perform pg_notify('imports', ''); end if;
    return true;
  -- An error here must not roll back the caller's change; the schedule runs imports anyway.
  exception when others then
    raise warning 'the importer was not called: %', sqlerrm;
    return false;
  end;
end
$$;

-- Releases the previous import, or fails it with a problem. If takes is true, claims a pending import, taking
-- organizations in turn, for ten seconds or until its next chunk, and returns the credential of its sender.
-- definer: the login role has no other access to imports. The role may act as any user already; it receives
-- the digest of a key only if that key sent an import.
create function private.claim_import(previous_id uuid, problem text, takes boolean)
returns table (id uuid, organization_id uuid, user_id uuid, digest bytea)
language plpgsql security definer set search_path = pg_temp as $$
begin
  if problem is not null then
    perform private.finish_import(previous_id, problem);
  else
    update private.imports i set claimed_until = now() where i.id = previous_id;
  end if;
  return query
    with claimed as (
      update private.imports i set claimed_until = now() + interval '10 seconds'
      where i.id = (
        select w.id from private.imports w
        where takes and w.state = 'running'
          and w.query is not null and (w.claimed_until is null or w.claimed_until <= now())
        -- The organization whose last turn was longest ago.
        order by (select max(coalesce(o.claimed_until, o.updated_at)) from private.imports o
          where o.organization_id = w.organization_id and o.state = 'running'), w.updated_at
        limit 1 for update skip locked)
      returning i.*)
    select c.id, c.organization_id, p.auth_user_id, k.digest from claimed c
    left join public.profiles p on p.id = c.profile_id and c.key_id is null
    left join private.api_keys k on k.id = c.key_id;
end
$$;
grant execute on function private.claim_import to feedback_api;

-- Writes a chunk of an import of the current organization: {kind: [record]} with people, categories, tags
-- and, for a zip, the file name; refused holds records that validation rejected, [{line, field, message}]. If
-- the database rejects records or takes more than a second, the following batches are halved, down to one
-- record, which fails. After a second the rest is left to the next call (is_written: false). A dry run rolls
-- back. Raises CONFLICT if another process wrote the chunk. definer: private tables; each function requires
-- Admin.
create function private.admin_run_import(
  import_id uuid, records jsonb, refused jsonb,
  at bigint, chunk integer,  -- position of its rows, and the number of their chunk
  next jsonb,                -- with the last chunk of these rows: the next position
  nameless_votes integer     -- remaining after these rows
) returns jsonb
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
  import private.imports; part private.import_outcome; ends_at timestamptz; is_written boolean;
  outcome private.import_outcome := row(0, 0, '[]')::private.import_outcome;
  total integer; size integer; failures jsonb; wrong integer; told integer;
begin
  if not exists (select from private.imports i where i.id = import_id and i.organization_id = own_id) then
    perform private.raise_error('NOT_FOUND', 'There is no such import.');
  end if;
  -- One chunk of an organization at a time, so that concurrent imports of one file see each other's rows.
  -- Fails instead of waiting: waiting imports of one organization would hold all connections.
  if not pg_try_advisory_xact_lock(hashtextextended('import ' || own_id, 0)) then
    perform private.raise_error('SERVICE_UNAVAILABLE',
      'Another import is running. Try again in a moment.');
  end if;
  select * into import from private.imports i where i.id = import_id for no key update;
  if (import.position ->> 'at')::bigint <> at or import.chunks_done <> chunk then
    perform private.raise_error('CONFLICT', 'Another request is already running this import.');
  elsif import.state <> 'running' then
    perform private.raise_error('CONFLICT', 'This import has ended. Start another one.');
  end if;
  -- As in exports, a key without survey scopes imports everything else.
  if records ?| array['survey', 'survey_response']
    and not (private.is_admin(own_id, 'surveys:write') and private.is_admin(own_id, 'surveys:publish')) then
    refused := refused || coalesce((
      select jsonb_agg(jsonb_build_object(
        'line', r.value -> 'line',
        'message', 'needs a key with surveys:write and surveys:publish'))
      from jsonb_array_elements(coalesce(records -> 'survey', '[]') ||
        coalesce(records -> 'survey_response', '[]')) r), '[]');
    records := records - 'survey' - 'survey_response';
  end if;
  total := (select coalesce(max(n::integer) + 1, 0)
    from jsonb_path_query(records, 'strict $.* ? (@.type() == "array")[*].n') n);
  records := private.check_ids(import, records);
  ends_at := clock_timestamp() + interval '1 second';
  begin
    while import.records_done < total and clock_timestamp() < ends_at loop
      size := least(import.records_at_once, total - import.records_done);
      begin
        part := private.write_import(import, case when size = total then records
          else private.slice_records(records, import.records_done, import.records_done + size) end);
        import.records_done := import.records_done + size;
        import.records_at_once := case when clock_timestamp() < ends_at
          then least(2 * import.records_at_once, 500) else greatest(1, size / 2) end;
      -- Only an outage, a conflict or the plan stops a job: what else fails is due to a record, or takes too long.
      exception when others or query_canceled then
        if sqlstate ~ '^(08|25006|40|53|55P03|57P|58|FB402|FB5)' then raise; end if;
        part := row(0, 0, '[]')::private.import_outcome;
        import.records_at_once := greatest(1, size / 2);
        if size = 1 then
          import.records_done := import.records_done + 1;
          raise log 'import %: SQLSTATE % rejected a record', import.id, sqlstate;
          part.failures := (select coalesce(jsonb_agg(jsonb_build_object(
            'line', e -> 'line',
            'message', 'was rejected by the database')), '[]')
            from jsonb_path_query(records, 'strict $.* ? (@.type() == "array")[*] ? (@.n == $n)',
              jsonb_build_object('n', import.records_done - 1)) e);
        end if;
      end;
      outcome := row(outcome.created + part.created, outcome.skipped + part.skipped,
        outcome.failures || part.failures)::private.import_outcome;
    end loop;
    if import.is_dry_run then raise exception using errcode = 'FBDRY'; end if;
  exception when sqlstate 'FBDRY' then null;
  end;
  is_written := import.records_done >= total;
  failures := outcome.failures || case when is_written then refused else '[]' end;
  wrong := (select count(*) from jsonb_array_elements(failures) f where f -> 'kept' is null);
  told := (select count(*) from private.import_errors e where e.organization_id = import.organization_id
    and e.import_id = import.id);
  insert into private.import_errors (organization_id, import_id, file, line, field, message)
  select import.organization_id, import.id, records ->> 'file', f.line, f.field, f.message
  from jsonb_to_recordset(failures) as f (line integer, field text, message text)
  order by f.line limit greatest(0, 100 - told);
  update private.imports i set processed = i.processed + outcome.created + outcome.skipped + wrong,
    created = i.created + outcome.created,
    skipped = i.skipped + outcome.skipped, failed = i.failed + wrong, updated_at = clock_timestamp(),
    records_done = case when is_written then 0 else import.records_done end,
    records_at_once = import.records_at_once,
    claimed_until = case when i.claimed_until is not null then clock_timestamp() + interval '10 seconds' end,
    -- This is in the transaction of the chunk, so that nothing is written or counted twice.
    position = case when is_written then coalesce(next, i.position) else i.position end,
    chunks_done = case when not is_written then i.chunks_done when next is null then i.chunks_done + 1
      else 0 end,
    nameless_votes = case when is_written and next is not null then admin_run_import.nameless_votes
      else i.nameless_votes end
  where i.id = import.id returning i.* into import;
  return jsonb_build_object(
    'processed', import.processed,
    'created', import.created,
    'skipped', import.skipped,
    'failed', import.failed,
    'is_written', is_written);
end
$$;

-- State of an import job of the current organization for its next step; null if there is none.
create function private.admin_import_job(import_id uuid) returns json
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return (select json_build_object(
    'state', i.state,
    'query', i.query,
    'file_type', i.file_type,
    'position', i.position,
    'chunks_done', i.chunks_done,
    'nameless_votes', i.nameless_votes)
    from private.imports i where i.id = import_id and i.organization_id = own_id and i.query is not null);
end
$$;

-- One part of an import's file; null after the last.
create function private.admin_import_file_part(import_id uuid, n integer) returns bytea
-- definer: imports are private tables; the function requires an admin of the organization.
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'submissions:moderate');
begin
  return (select p.bytes from private.import_file_parts p
    where p.organization_id = own_id and p.import_id = admin_import_file_part.import_id
      and p.n = admin_import_file_part.n);
end
$$;

grant execute on function private.admin_run_import, private.admin_import_job,
  private.admin_import_file_part to authenticated, service_key;
