-- Only definer functions read the tables of the schema private: no role of the API has a right there, and
-- row-level security without a policy would show no row to one that had.
do $$
declare
  private_table regclass;
begin
  for private_table in
    select c.oid from pg_catalog.pg_class c
    where c.relnamespace = 'private'::regnamespace and c.relkind in ('r', 'p') loop
    execute format('alter table %s enable row level security', private_table);
  end loop;
end
$$;
revoke all on all tables in schema private from public, anon, authenticated, service_role, service_key;
