-- The change feed: outbox events by cursor. A reader misses no committed event and sees no uncommitted one.

-- Scopes that allow a key to read events of a type: those that allow reading the data in the event.
create function private.feed_scopes(type text) returns text[]
language sql immutable
return case split_part(type, '.', 1)
  when 'submission' then array['submissions:read', 'submissions:moderate']
  when 'comment' then array['submissions:read', 'submissions:moderate']
  when 'survey' then array['surveys:read', 'responses:read']
  when 'member' then array['members:write']
  when 'org' then array['organization:write']
  else '{}'
end;

-- Whether the caller, an Admin or a key, may read events of a type.
create function private.can_read_event(type text) returns boolean
language sql stable
return not private.is_key() or private.feed_scopes(type) &&
  string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' ');

-- The next events of the current organization after a cursor in commit order, and the next cursor. For
-- Admin, and for keys within their scopes. Raises GONE if events after the cursor may have been deleted.
-- definer: the outbox is not granted.
create function private.admin_events(types text[], after_xid xid8, after_id bigint, after_at timestamptz,
  max_rows integer)
returns table (more boolean, next_xid xid8, next_id bigint, next_at timestamptz, data json)
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.current_organization_id();
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
  refused text;
begin
  if not private.is_key() then perform private.require_admin(own_id, ''); end if;
  refused := (select type from unnest(types) as type where not private.can_read_event(type) limit 1);
  if refused is not null then
    perform private.raise_error('FORBIDDEN', format('This key needs %s to read %s. Use a key that has it.',
      coalesce('the scope ' || nullif(array_to_string(private.feed_scopes(refused), ' or '), ''),
        'another scope'), refused), 'types');
  end if;
  -- Cursors expire an hour before events are deleted, so that no event after a valid cursor is missing.
  if after_at < now() - private.retention('events') + interval '1 hour' then
    perform private.raise_error('GONE', format('Events are kept for %s, and this cursor is older. '
      'Read everything again, then continue without after.', private.retention('events')), 'after');
  end if;
  return query
    -- A page scans a bounded part of the feed, however rare the requested types are.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id and o.xid < settled
        and (o.xid, o.id) > (coalesce(after_xid, '0'), coalesce(after_id, 0))
        -- A first page without events still returns a cursor.
        and (after_xid is not null or o.created_at >= now() - private.retention('events') + interval '1 day')
      order by o.xid, o.id limit 10000
    ), wanted as materialized (
      select l.* from looked_at l
      where case when types is null then private.can_read_event(l.type) else l.type = any (types) end
      order by l.xid, l.id limit max_rows
    ), ended as (
      select w.xid, w.id, w.created_at from wanted w where (select count(*) from wanted) = max_rows
      union all
      select l.xid, l.id, l.created_at from looked_at l
      where (select count(*) from wanted) < max_rows and (select count(*) from looked_at) = 10000
    ), place as (
      select e.xid, e.id, e.created_at, true as more from ended e
      union all
      -- At the end of the feed: everything that commits later comes after this cursor.
      select settled, 0::bigint, now(), false where not exists (select from ended)
      order by 1 desc, 2 desc limit 1
    )
    select p.more, p.xid, p.id, p.created_at,
      coalesce((select json_agg(json_build_object(
        'id', 'evt_' || replace(w.event_id::text, '-', ''),
        'event', w.type,
        'org_id', w.organization_id,
        'timestamp', w.created_at,
        'data', w.data) order by w.xid, w.id) from wanted w), '[]')
    from place p;
end
$$;
grant execute on function private.admin_events to authenticated, service_key;

-- Events of the current organization, newest first, before a cursor, and the cursor of the next page, null at
-- the end. For Admin. definer: the outbox is not granted.
create function private.admin_newest_events(types text[], before_xid xid8, before_id bigint, max_rows integer)
returns table (more boolean, next_xid xid8, next_id bigint, next_at timestamptz, data json)
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.require_admin(private.current_organization_id(), '');
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
  return query
    -- A page scans a bounded part of the feed, however rare the requested types are.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id
        and (o.xid, o.id) < (coalesce(before_xid, settled), coalesce(before_id, 0))
        and o.xid < settled
      order by o.xid desc, o.id desc limit 10000
    ), wanted as materialized (
      select l.* from looked_at l where types is null or l.type = any (types)
      order by l.xid desc, l.id desc limit max_rows + 1
    ), shown as materialized (
      select w.* from wanted w order by w.xid desc, w.id desc limit max_rows
    ), ended as (
      (select s.xid, s.id, s.created_at from shown s where (select count(*) from wanted) > max_rows
        order by s.xid, s.id limit 1)
      union all
      (select l.xid, l.id, l.created_at from looked_at l
        where (select count(*) from wanted) <= max_rows and (select count(*) from looked_at) = 10000
        order by l.xid, l.id limit 1)
    )
    select e.xid is not null, e.xid, e.id, e.created_at,
      coalesce((select json_agg(json_build_object(
        'id', 'evt_' || replace(s.event_id::text, '-', ''),
        'event', s.type,
        'timestamp', s.created_at,
        'data', s.data)
         order by s.xid desc, s.id desc) from shown s), '[]')
    from (select) one left join ended e on true;
end
$$;
grant execute on function private.admin_newest_events to authenticated;
