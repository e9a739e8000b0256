-- Every table has row-level security, without which a grant would show all rows. Only definer functions read
-- the tables of the schema private: no role of the API has a right there.
do $$
declare
  one_table regclass;
begin
  for one_table in
    select c.oid from pg_catalog.pg_class c
    where c.relnamespace in ('public'::regnamespace, 'private'::regnamespace) and c.relkind in ('r', 'p') loop
    execute format('alter table %s enable row level security', one_table);
  end loop;
end
$$;
revoke all on all tables in schema private from public, anon, authenticated, service_role, service_key;
