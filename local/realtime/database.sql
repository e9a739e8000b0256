-- Functions for the embedded realtime server, each one round trip. Hosted Realtime has its own, such as
-- apply_rls.

-- Of release 0.1.0, with other names of parameters, or unused now.
drop function if exists realtime.visible_rows(regclass, jsonb, text[], text[], bigint[]),
  realtime.matches(oid, text, boolean, text, text), realtime.checked_value(oid, text, text),
  realtime.topic_rights(text, text, text, boolean);

create or replace function realtime.published_tables(publications text[])
returns table (schema text, name text, entity regclass, secured boolean, columns json)
language sql stable set search_path = pg_temp
begin atomic
  select n.nspname, c.relname, c.oid::regclass, c.relrowsecurity, (
    select json_agg(json_build_object(
      'name', a.attname, 'type', t.typname,
      'isKey', a.attnum = any (coalesce(i.indkey::smallint[], '{}')),
      'inPolicy', exists (select from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_policy'::regclass
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = c.oid and d.refobjsubid = a.attnum),
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
language plpgsql stable set search_path = pg_temp as $$
begin
  return query execute format(
    'select (select jsonb_object_agg(key, value::text) from jsonb_each(to_jsonb(jsonb_populate_record(null::%s, r.value))) where r.value ? key)
     from jsonb_array_elements($1) with ordinality as r (value, n) order by n', entity) using changed;
end
$$;

-- Whether other sessions see these transactions: the replication stream delivers a commit slightly earlier.
create or replace function realtime.have_ended(xids bigint[]) returns boolean
language sql volatile set search_path = pg_temp
begin atomic
  select not exists (
    select from unnest(xids) as xid
    where ((pg_snapshot_xmax(now_seen)::text::bigint & 4294967295) - xid) & 4294967295 not between 1 and 2147483647
      or xid in (select running::text::bigint & 4294967295 from pg_snapshot_xip(now_seen) as running))
  from pg_current_snapshot() as now_seen;
end;

-- The condition of the policies for reading a table, in the columns of an alias with the table's name.
create or replace function realtime.read_condition(entity regclass, reader text) returns text
language sql stable set search_path = pg_temp
begin atomic
  select case when not c.relrowsecurity or r.rolbypassrls then 'true' else (
    select concat_ws(' and ', coalesce('(' || string_agg(qual, ' or ') filter (where polpermissive) || ')', 'false'),
      string_agg(qual, ' and ') filter (where not polpermissive))
    from (select polpermissive, '(' || pg_get_expr(polqual, polrelid) || ')' as qual from pg_catalog.pg_policy
      where polrelid = entity and polcmd in ('r', '*')
        and exists (select from unnest(polroles) as named where named = 0 or pg_has_role(r.oid, named, 'usage'))) p) end
  from pg_catalog.pg_class c, pg_catalog.pg_roles r where c.oid = entity and r.rolname = reader;
end;

-- The positions (from 1) of the rows that each identity sees: the row as it was changed by its own columns, so
-- that a text that was removed before its approval is not sent, and the row as it is now. Prepared, so that
-- identities of a role share a plan.
create or replace function realtime.visible_rows(entity regclass, changed jsonb, roles text[], claims text[], xids bigint[])
returns table (identity integer, visible integer[])
language plpgsql volatile set search_path = pg_temp as $$
declare
  alias text := (select relname from pg_catalog.pg_class where oid = entity);
  same_key text := (
    select string_agg(format('t.%1$I = %2$I.%1$I', a.attname, alias), ' and ')
    from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = entity and i.indisprimary);
begin
  for attempt in 1 .. 1000 loop
    exit when realtime.have_ended(xids);
    perform pg_sleep(0.001);
  end loop;
  for position in 1 .. cardinality(roles) loop
    identity := position;
    if roles[position] is distinct from roles[position - 1] then
      if exists (select from pg_catalog.pg_prepared_statements where name = 'realtime_visible_rows') then
        deallocate realtime_visible_rows;
      end if;
      execute format('prepare realtime_visible_rows (jsonb) as
        select array_agg(ordinality::integer) from jsonb_populate_recordset(null::%1$s, $1) with ordinality as %2$I
        where exists (select from %1$s t where %3$s) and (%4$s)',
        entity, alias, same_key, realtime.read_condition(entity, roles[position]));
    end if;
    perform set_config('request.jwt.claims', claims[position], true), set_config('role', roles[position], true);
    execute format('execute realtime_visible_rows (%L)', changed) into visible;
    perform set_config('role', 'none', true);
    return next;
  end loop;
end
$$;

-- For each filter {column, operator, negate, value}, by its position from 1, the positions of the rows that pass. One
-- statement for each column and operator.
drop function if exists realtime.passing(regclass, jsonb, jsonb);
create or replace function realtime.passing(entity regclass, changed jsonb, filters jsonb)
returns table (filter integer, passing integer[])
language plpgsql stable set search_path = pg_temp as $$
declare
  kind record;
begin
  for kind in
    select a.attname as name, a.atttypid::regtype::text as type, c.value ->> 'operator' as operator,
      jsonb_agg(c.value || jsonb_build_object('n', c.n)) as filters
    from jsonb_array_elements(filters) with ordinality as c (value, n)
    join pg_catalog.pg_attribute a on a.attrelid = entity and a.attname = c.value ->> 'column' and a.attnum > 0
    group by 1, 2, 3
  loop
    return query execute format(
      'select (c.value ->> ''n'')::integer, array_agg(r.ordinality::integer) from jsonb_array_elements($2) as c
       cross join jsonb_populate_recordset(null::%s, $1) with ordinality as r
       where (%s) <> (c.value ->> ''negate'')::boolean group by 1',
      entity,
      case
        when kind.operator = 'in' then format('r.%I = any ((c.value ->> ''value'')::%s[])', kind.name, kind.type)
        when kind.operator <> 'is' then format('r.%I %s (c.value ->> ''value'')::%s', kind.name,
          case kind.operator when 'eq' then '=' when 'neq' then '<>' when 'lt' then '<' when 'lte' then '<='
            when 'gt' then '>' when 'gte' then '>=' end, kind.type)
        when kind.type = 'boolean' then format('r.%I is not distinct from (
          case when c.value ->> ''value'' in (''true'', ''false'') then c.value ->> ''value'' end)::boolean', kind.name)
        else format('r.%I is null', kind.name)
      end) using changed, kind.filters;
  end loop;
end
$$;

-- The values of filters in Postgres text format. Fails for values and operators that a column cannot be compared
-- with; errors have the messages of hosted Realtime.
create or replace function realtime.checked_values(entity regclass, conditions jsonb) returns jsonb
language plpgsql stable set search_path = pg_temp as $$
declare
  condition jsonb;
  type text;
  result text;
  size integer;
  checked jsonb := '[]';
begin
  for condition in select value from jsonb_array_elements(conditions) loop
    result := condition ->> 'value';
    select atttypid::regtype into strict type from pg_catalog.pg_attribute
    where attrelid = entity and attname = condition ->> 'column' and attnum > 0;
    if condition ->> 'operator' = 'in' then
      execute format('select value::text, cardinality(value) from (select %L::%s[] as value) v', result, type) into result, size;
      if size > 100 then
        raise exception 'too many values for `in` filter. Maximum 100';
      end if;
    elsif condition ->> 'operator' <> 'is' then
      execute format('select (%L::%s)::text', result, type) into result;
    elsif result not in ('null', 'true', 'false', 'unknown') then
      raise exception 'invalid value for is filter: must be null, true, false, or unknown';
    elsif result <> 'null' and type <> 'boolean' then
      raise exception 'is % filter requires a boolean column, got %', result, type;
    end if;
    checked := checked || to_jsonb(result);
    perform realtime.passing(entity, '[{}]', jsonb_build_array(condition || jsonb_build_object('value', result)));
  end loop;
  return checked;
end
$$;

-- Whether the policies of realtime.messages let an identity read broadcasts of a private topic.
create or replace function realtime.may_read(joined text, as_role text, claims text) returns boolean
language plpgsql volatile set search_path = pg_temp as $$
declare
  condition text := realtime.read_condition('realtime.messages', as_role);
  allowed boolean;
begin
  perform set_config('request.jwt.claims', claims, true), set_config('realtime.topic', joined, true), set_config('role', as_role, true);
  execute format('select exists (select from jsonb_populate_record(null::realtime.messages, $1) as messages where %s)', condition)
  into allowed using jsonb_build_object('topic', joined, 'extension', 'broadcast', 'private', true);
  return allowed;
end
$$;

do $do$
declare
  helper regprocedure;
begin
  for helper in select p.oid from pg_proc p where p.pronamespace = 'realtime'::regnamespace and p.proname in ('published_tables',
    'json_values', 'have_ended', 'read_condition', 'visible_rows', 'passing', 'checked_values', 'may_read') loop
    execute format('revoke execute on function %s from public, anon, authenticated, service_role', helper);
    execute format('grant execute on function %s to postgres', helper);
  end loop;
end
$do$;
