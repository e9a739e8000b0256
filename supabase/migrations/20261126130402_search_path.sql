-- Written by hand. It runs in one transaction, while functions of the previous release serve requests: see "Release" in
-- CONTRIBUTING.md.

-- An empty search_path let the caller's temporary schema supply the types of a function, and so run code as its owner.
do $$
declare our regprocedure;
begin
  for our in select oid from pg_proc where pronamespace in ('public'::regnamespace, 'private'::regnamespace)
    and proowner = current_user::regrole and 'search_path=""' = any (proconfig)
  loop
    execute format('alter function %s set search_path = pg_temp', our);
  end loop;
end $$;
