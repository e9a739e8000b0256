-- Functions for the embedded realtime server, each one round trip. Hosted Realtime has its own, such as
-- apply_rls.

create or replace function realtime.published_tables(publications text[])
returns table (schema text, name text, entity regclass, secured boolean, columns json)
language sql stable set search_path = ''
begin atomic
  select n.nspname, c.relname, c.oid::regclass, c.relrowsecurity, (
    select json_agg(json_build_object(
      'name', a.attname, 'type', t.typname, 'oid', t.oid,
      'isKey', a.attnum = any (coalesce(i.indkey::smallint[], '{}')),
      'readers', (select coalesce(json_agg(role), '[]') from unnest(array['anon', 'authenticated', 'service_role']) as role
        where has_column_privilege(role, c.oid, a.attnum, 'select'))) order by a.attnum)
    from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
  from (select distinct schemaname, tablename from pg_catalog.pg_publication_tables where pubname = any (publications)) p
  join pg_catalog.pg_namespace n on n.nspname = p.schemaname
  join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = p.tablename
  left join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary;
end;

-- The values of a change in the JSON format of Postgres: for each row an object of column to JSON text.
create or replace function realtime.json_values(entity regclass, changed jsonb) returns setof jsonb
language plpgsql stable set search_path = '' as $$
begin
  return query execute format(
    'select (select jsonb_object_agg(key, value::text) from jsonb_each(to_jsonb(jsonb_populate_record(null::%s, r.value))) where r.value ? key)
     from jsonb_array_elements($1) with ordinality as r (value, n) order by n', entity) using changed;
end
$$;

-- Whether other sessions see these transactions: the replication stream delivers a commit slightly earlier.
create or replace function realtime.have_ended(xids bigint[]) returns boolean
language sql volatile set search_path = ''
begin atomic
  select not exists (
    select from unnest(xids) as xid
    where ((pg_snapshot_xmax(now_seen)::text::bigint & 4294967295) - xid) & 4294967295 not between 1 and 2147483647
      or xid in (select running::text::bigint & 4294967295 from pg_snapshot_xip(now_seen) as running))
  from pg_current_snapshot() as now_seen;
end;

-- The positions (from 1) of the rows that each identity sees. Prepared, so that identities of a role share a
-- plan.
create or replace function realtime.visible_rows(entity regclass, keys jsonb, roles text[], claims text[], xids bigint[])
returns table (identity integer, visible integer[])
language plpgsql volatile set search_path = '' as $$
declare
  condition text := (
    select string_agg(format('t.%I = (r.key ->> %L)::%s', a.attname, a.attname, format_type(a.atttypid, a.atttypmod)), ' and ')
    from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = entity and i.indisprimary);
begin
  for attempt in 1 .. 1000 loop
    exit when realtime.have_ended(xids);
    perform pg_sleep(0.001);
  end loop;
  if exists (select from pg_catalog.pg_prepared_statements where name = 'realtime_visible_rows') then
    deallocate realtime_visible_rows;
  end if;
  execute format('prepare realtime_visible_rows (jsonb) as
    select array_agg(r.n::integer) from jsonb_array_elements($1) with ordinality as r (key, n)
    where exists (select from %s t where %s)', entity, condition);
  for position in 1 .. cardinality(roles) loop
    identity := position;
    perform set_config('request.jwt.claims', claims[position], true), set_config('role', roles[position], true);
    execute format('execute realtime_visible_rows (%L)', keys) into visible;
    perform set_config('role', 'none', true);
    return next;
  end loop;
end
$$;

create or replace function realtime.matches(type_oid oid, operator text, negate boolean, actual text, wanted text) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  type text := type_oid::regtype;
  result boolean;
begin
  execute case operator
    when 'is' then format('select %L::%s is %s', actual, type, wanted)
    when 'isdistinct' then format('select %L::%s is distinct from %L::%s', actual, type, wanted, type)
    when 'in' then format('select %L::%s = any (%L::%s[])', actual, type, wanted, type)
    else format('select %L::%s %s %L::%s', actual, type, case operator
      when 'eq' then '=' when 'neq' then '<>' when 'lt' then '<' when 'lte' then '<=' when 'gt' then '>' when 'gte' then '>='
      when 'like' then '~~' when 'ilike' then '~~*' when 'match' then '~' when 'imatch' then '~*' end, wanted, type)
  end into result;
  return coalesce(case when negate then not result else result end, false);
-- A filter that fails for a value must not affect the others.
exception when data_exception then
  return false;
end
$$;

-- The value of a filter in Postgres text format; errors have the messages of hosted Realtime.
create or replace function realtime.checked_value(type_oid oid, operator text, wanted text) returns text
language plpgsql stable set search_path = '' as $$
declare
  type text := type_oid::regtype;
  result text;
  size integer;
begin
  case
    when operator = 'in' then
      execute format('select value::text, cardinality(value) from (select %L::%s[] as value) v', wanted, type) into result, size;
      if size > 100 then
        raise exception 'too many values for `in` filter. Maximum 100';
      end if;
      return result;
    when operator = 'is' then
      if wanted not in ('null', 'true', 'false', 'unknown') then
        raise exception 'invalid value for is filter: must be null, true, false, or unknown';
      end if;
      if wanted <> 'null' and type <> 'boolean' then
        raise exception 'is % filter requires a boolean column, got %', wanted, type;
      end if;
      return wanted;
    when operator in ('like', 'ilike', 'match', 'imatch') then
      if type not in ('text', 'character varying', 'character', 'name', 'extensions.citext') then
        raise exception 'operator % requires a text-compatible column type, got %', operator, type;
      end if;
      if operator in ('match', 'imatch') then
        perform '' ~ wanted;
      end if;
      return wanted;
    else
      execute format('select (%L::%s)::text', wanted, type) into result;
      return result;
  end case;
end
$$;

-- The rights on a topic by the policies of realtime.messages: to read (or write) broadcasts and presence.
-- Rolls back its rows.
create or replace function realtime.topic_rights(joined text, as_role text, claims text, to_write boolean)
returns table (broadcast boolean, presence boolean)
language plpgsql volatile set search_path = '' as $$
declare
  broadcast_id uuid := gen_random_uuid();
  presence_id uuid := gen_random_uuid();
begin
  begin
    if not to_write then
      insert into realtime.messages (id, topic, extension) values (broadcast_id, joined, 'broadcast'), (presence_id, joined, 'presence');
    end if;
    perform set_config('request.jwt.claims', claims, true), set_config('realtime.topic', joined, true), set_config('role', as_role, true);
    if to_write then
      begin
        insert into realtime.messages (topic, extension) values (joined, 'broadcast');
        broadcast := true;
      exception when insufficient_privilege then broadcast := false;
      end;
      begin
        insert into realtime.messages (topic, extension) values (joined, 'presence');
        presence := true;
      exception when insufficient_privilege then presence := false;
      end;
    else
      broadcast := exists (select from realtime.messages m where m.id = broadcast_id);
      presence := exists (select from realtime.messages m where m.id = presence_id);
    end if;
    raise exception using errcode = 'RT000';
  exception when sqlstate 'RT000' then null;
  end;
  return next;
end
$$;

drop function if exists realtime.forget_messages();

do $do$
declare
  helper regprocedure;
begin
  for helper in select p.oid from pg_proc p where p.pronamespace = 'realtime'::regnamespace
    and p.proname in ('published_tables', 'json_values', 'have_ended', 'visible_rows', 'matches', 'checked_value', 'topic_rights') loop
    execute format('revoke execute on function %s from public, anon, authenticated, service_role', helper);
    execute format('grant execute on function %s to postgres', helper);
  end loop;
end
$do$;
