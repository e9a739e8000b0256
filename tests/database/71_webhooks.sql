-- Permissions to register endpoints, and secrecy of their secrets.
begin;
set local search_path = public, extensions;
select plan(28);
do $$ begin perform tests.start(); end $$;

create function pg_temp.register(who text, organization text, name text) returns text language sql as $$
  select tests.try(who, format('select private.admin_create_webhook(%L, %L, %L, %L, %L)',
    tests.id(organization), tests.id(name), 'https://receiver.example/' || replace(name, ' ', '-'), array['submission.created', 'vote.created'], 'first.AAAA'))
$$;

-- Rights
select is(pg_temp.register(who, organization, format('of %s for %s', who, organization)), outcome, format('%s registers for %s: %s', who, organization, outcome))
from (values
  ('adam', 'acme', '1'), ('acme key with webhooks:write', 'acme', '1'), ('vera', 'vault', '1'),
  ('mia', 'acme', 'FB403'), ('alice', 'acme', 'FB403'), ('rita', 'acme', 'FB403'), ('acme key with webhooks:read', 'acme', 'FB403'),
  ('acme key with organization:write submissions:write', 'acme', 'FB403'),
  ('alice', 'vault', 'FB404'), ('rita', 'vault', 'FB404'), ('vic', 'vault', 'FB403'), ('acme key with webhooks:write', 'rival', 'FB404'),
  ('anon', 'acme', '42501'), ('service_role', 'acme', '42501')) as t (who, organization, outcome);
select is(tests.try(who, format(statement, tests.id('acme'), tests.id('of vera for vault'))), '1', format('%s: not by way of another organization', statement))
from (values ('select private.admin_show_webhook(%L, %L)'), ('select private.admin_delete_webhook(%L, %L)'),
  ('select private.admin_update_webhook(%L, %L, ''https://other.example'', null, null)'),
  ('select private.admin_rotate_webhook(%L, %L, ''first.BBBB'', ''1 day'')')) as t (statement), (values ('adam')) as w (who);
select results_eq(format('select url, encrypted_secret from private.webhooks where id = %L', tests.id('of vera for vault')),
  $$ values ('https://receiver.example/of-vera-for-vault', 'first.AAAA') $$, 'the rejected update changes nothing');
select unalike(tests.see('adam', format('select private.admin_list_webhooks(%L)', tests.id('acme'))), '%AAAA%', 'lists contain no secrets, not even encrypted ones');

-- Changes
update private.webhooks set is_healthy = true;
do $$ begin
  perform tests.try('adam', format('select private.admin_update_webhook(%L, %L, ''https://elsewhere.example/'', null, null)', tests.id('acme'), tests.id('of adam for acme')));
end $$;
select is((select array[url, is_healthy::text] from private.webhooks where id = tests.id('of adam for acme')), array['https://elsewhere.example/', 'false'],
  'a webhook with a new URL is unproven again');
select is(tests.see('adam', format('select private.admin_rotate_webhook(%L, %L, ''first.BBBB'', ''1 day'') ->> ''previous_secret_expires_at''', tests.id('acme'), tests.id('of adam for acme')))::timestamptz,
  now() + interval '1 day', 'the previous secret signs for one more day');
select is((select array[encrypted_secret, previous_encrypted_secret] from private.webhooks where id = tests.id('of adam for acme')), array['first.BBBB', 'first.AAAA'],
  'both secrets are stored');

-- Limits and form
insert into private.webhooks (id, organization_id, url, events, encrypted_secret)
select gen_random_uuid(), tests.id('rival'), 'https://receiver.example/', array['submission.created'], 'first.AAAA' from generate_series(1, 99);
select is(pg_temp.register('rita', 'rival', 'the hundredth'), '1', 'the hundredth webhook is accepted');
select is(pg_temp.register('rita', 'rival', 'one more'), 'FB409', 'more than 100 webhooks are rejected');
select throws_ok(format('update private.webhooks set %s', change), '23514', null, change || ' is refused') from (values
  ($$ url = 'ftp://receiver.example/' $$), ($$ events = '{}' $$), ($$ encrypted_secret = 'whsec_plain' $$)) as t (change);

select * from finish();
rollback;
