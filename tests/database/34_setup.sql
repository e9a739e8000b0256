-- The setup is open until the first organization exists, works once, and for one caller only.
begin;
set local search_path = public, extensions;
select plan(11);
do $$ begin perform tests.start(); delete from public.organizations; delete from private.setup; end $$;

select is(tests.see(who, 'select private.setup_is_open()'), 'true', who || ' reads that the setup is open')
from unnest(array['anon', 'alice']) as who;
select is(tests.see(who, format('select private.set_up(%L, ''Mine'', ''mine'', ''public'')', tests.id('alice'))), '42501', who || ' cannot run the setup')
from unnest(array['anon', 'alice', 'service_role']) as who;
select isnt(tests.see('feedback_api', format('select private.set_up(%L, ''Acme'', ''acme-itself'', ''public'')', tests.id('olga'))), null, 'the functions do, for whoever proved to be the operator');
select results_eq($$ select o.slug, o.is_default, m.role, m.user_id from public.organizations o join public.memberships m on m.organization_id = o.id $$,
  $$ values ('acme-itself', true, 'owner', tests.id('olga')) $$, 'the organization is the default and has its owner');
select is(tests.see('feedback_api', format('select private.set_up(%L, ''Other'', ''other'', ''public'')', tests.id('rita'))), 'FB409', 'once');
delete from public.organizations;
select is(tests.see('anon', 'select private.setup_is_open()'), 'false', 'the setup stays closed after the last organization is deleted');
delete from private.setup;
insert into public.organizations (slug, name) values ('by-command', 'By command');
select is(tests.see('anon', 'select private.setup_is_open()'), 'false', 'an organization made by a command ends it too');
select is(tests.try('service_role', 'delete from private.setup'), '42501', 'and no client opens it again');

select * from finish();
rollback;
