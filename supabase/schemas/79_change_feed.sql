-- The outbox as a feed: whoever reads it by cursor misses nothing that committed and sees nothing that did not.

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
comment on function private.feed_scopes(text) is 'A key reads events of a type with one of these scopes: those that read what the events tell of.';

create function private.may_follow(type text) returns boolean
language sql stable
return not private.is_key() or private.feed_scopes(type) && string_to_array(coalesce(current_setting('feedback.scopes', true), ''), ' ');
comment on function private.may_follow(text) is 'Whether the caller, an admin or a key, is told of events of a type.';

-- definer: the outbox is granted to nobody.
create function private.admin_events(types text[], after_xid xid8, after_id bigint, after_at timestamptz, most integer)
returns table (more boolean, next_xid xid8, next_id bigint, next_at timestamptz, data json)
language plpgsql stable security definer set search_path = '' as $$
declare
  own_id uuid := private.current_organization_id();
  settled xid8 := pg_snapshot_xmin(pg_current_snapshot());
  refused text;
begin
  if not private.is_key() then perform private.require_admin(own_id, ''); end if;
  refused := (select type from unnest(types) as type where not private.may_follow(type) limit 1);
  if refused is not null then
    perform private.raise_error('FORBIDDEN', format('This key lacks the scope %s, which reads %s.',
      coalesce(nullif(array_to_string(private.feed_scopes(refused), ' or '), ''), 'that'), refused), 'types');
  end if;
  -- An hour before events are deleted: nothing a good cursor leads to is missing.
  if after_at < now() - interval '30 days' + interval '1 hour' then
    perform private.raise_error('GONE', 'Events are kept for 30 days, and this cursor is older: read everything anew, then follow without after.', 'after');
  end if;
  return query
    -- A page looks at a bounded part of the feed, however rare what it looks for.
    with looked_at as materialized (
      select o.* from private.outbox o
      where o.organization_id = own_id and o.xid < settled and (o.xid, o.id) > (coalesce(after_xid, '0'), coalesce(after_id, 0))
        -- A first page leaves a day to read on from it.
        and (after_xid is not null or o.created_at >= now() - interval '29 days')
      order by o.xid, o.id limit 10000
    ), wanted as materialized (
      select l.* from looked_at l
      where case when types is null then private.may_follow(l.type) else l.type = any (types) end
      order by l.xid, l.id limit most
    ), ended as (
      select w.xid, w.id, w.created_at from wanted w where (select count(*) from wanted) = most
      union all
      select l.xid, l.id, l.created_at from looked_at l
      where (select count(*) from wanted) < most and (select count(*) from looked_at) = 10000
    ), place as (
      select e.xid, e.id, e.created_at, true as more from ended e
      union all
      -- Read to the end: all that commits from now on comes after this place.
      select settled, 0::bigint, now(), false where not exists (select from ended)
      order by 1 desc, 2 desc limit 1
    )
    select p.more, p.xid, p.id, p.created_at,
      coalesce((select json_agg(json_build_object('id', 'evt_' || replace(w.event_id::text, '-', ''), 'event', w.type, 'org_id', w.organization_id,
        'timestamp', w.created_at, 'data', w.data) order by w.xid, w.id) from wanted w), '[]')
    from place p;
end
$$;
comment on function private.admin_events(text[], xid8, bigint, timestamptz, integer) is 'The next events of the current organization after a place, in the order they committed, and the place to go on from. For admins, and keys within their scopes. GONE where events after the place may have been deleted.';
grant execute on function private.admin_events(text[], xid8, bigint, timestamptz, integer) to authenticated, service_key;
