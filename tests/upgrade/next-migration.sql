-- Changes that follow CONTRIBUTING.md, to a table and a function that requests use.

alter table public.submissions add column effort text not null default 'unknown'
  constraint effort_is_known check (effort in ('unknown', 'small', 'large'));
comment on column public.submissions.effort is 'For the upgrade test.';
grant select (effort) on public.submissions to anon, authenticated, service_key;

-- As db:migration writes it, for any function body: the function gains an argument with a default.
do $$
declare
  old constant regprocedure := 'private.remove_vote(uuid, uuid)';
  definition constant text := replace(pg_get_functiondef(old), 'profile_id uuid)', 'profile_id uuid, reason text default null)');
  grantees constant text[] := array(select a.grantee::regrole from pg_proc p, aclexplode(p.proacl) a where p.oid = old);
  grantee text;
begin
  execute format('drop function %s', old);
  execute definition;
  revoke all on function private.remove_vote(uuid, uuid, text) from public;
  foreach grantee in array grantees loop
    execute format('grant execute on function private.remove_vote(uuid, uuid, text) to %s', grantee);
  end loop;
  comment on function private.remove_vote(uuid, uuid, text) is 'For the upgrade test.';
end
$$;

create table private.upgraded (rows bigint not null);
comment on table private.upgraded is 'For the upgrade test.';
alter table private.upgraded enable row level security;
insert into private.upgraded select count(*) from public.submissions;
