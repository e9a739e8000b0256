-- Team members: the last owner is kept, the plan limit is enforced, and invites are for their recipients.
begin;
set local search_path = public, extensions;
select plan(58);
do $$ begin perform tests.start(); end $$;

create function pg_temp.at(who text, organization text, statement text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id(organization)::text, true);
  return tests.see(who, statement);
end
$$;
create function pg_temp.role_of(who text) returns text language sql as $$
  select role from public.memberships where organization_id = tests.id('acme') and user_id = tests.id(who) $$;

-- The last owner
select is(tests.try('operator', statement), 'FB409', statement || ' leaves no owner, also as SQL') from unnest(array[
  'update public.memberships set role = ''admin'' where user_id = tests.id(''olga'')',
  'delete from public.memberships where user_id = tests.id(''olga'')',
  'delete from public.memberships where organization_id = tests.id(''acme'')',
  'delete from auth.users where id = tests.id(''olga'')']) as statement;
select is(tests.try('service_role', 'delete from public.memberships where user_id = tests.id(''olga'')'), 'FB409', 'the service role cannot delete the last owner');
select is(tests.try(who, statement), '42501', format('%s cannot: %s', who, statement))
from unnest(array['olga', 'adam', 'mia', 'alice', 'anon', 'acme key with members:write']) as who,
  unnest(array['update public.memberships set role = ''owner''', 'select from private.invites']) as statement;
select lives_ok($$ update public.memberships set role = case user_id when tests.id('olga') then 'admin' else 'owner' end
  where user_id in (tests.id('olga'), tests.id('adam')) $$, 'a swap of owners in one statement is accepted');
select lives_ok($$ update public.memberships set role = case user_id when tests.id('olga') then 'owner' else 'admin' end
  where user_id in (tests.id('olga'), tests.id('adam')) $$, 'a swap back is accepted');

-- Roles
select is(tests.see(who, format('select private.admin_change_role(tests.id(''acme''), tests.id(%L), %L) ->> ''role''', whom, role)), outcome,
  format('%s makes %s %s: %s', who, whom, role, outcome))
from (values ('mia', 'adam', 'member', 'FB403'), ('alice', 'mia', 'member', 'FB403'), ('rita', 'mia', 'admin', 'FB403'),
  ('adam', 'mia', 'owner', 'FB403'), ('adam', 'olga', 'member', 'FB403'), ('adam', 'adam', 'owner', 'FB403'), ('adam', 'alice', 'member', 'FB404'),
  ('adam', 'mia', 'admin', 'admin'), ('adam', 'mia', 'member', 'member'), ('olga', 'olga', 'admin', 'FB409'),
  ('acme key with members:write', 'mia', 'admin', '42501')) as t (who, whom, role, outcome);
select results_eq($$ select details from private.audit_log where action = 'member.change_role' order by created_at limit 1 $$,
  $$ values ('{"role": {"from": "member", "to": "admin"}}'::jsonb) $$, 'the audit log has the previous and the new role');
select is(tests.try(who, format('select private.admin_remove_member(tests.id(''acme''), tests.id(%L))', whom)), outcome, format('%s removes %s: %s', who, whom, outcome))
from (values ('mia', 'adam', 'FB403'), ('adam', 'olga', 'FB403'), ('olga', 'olga', 'FB409'), ('rita', 'mia', 'FB403'),
  ('acme key with members:write', 'adam', 'FB403'), ('acme key with submissions:moderate', 'mia', 'FB403'), ('rival key with members:write', 'mia', 'FB404'),
  ('acme key with members:write', 'mia', '1')) as t (who, whom, outcome);
select is(pg_temp.role_of('mia'), null, 'a removed member has no membership');
select is(tests.see(who, 'select private.admin_transfer_ownership(tests.id(''acme''), tests.id(''adam'')) ->> ''role'''), outcome, format('%s transfers: %s', who, outcome))
from (values ('adam', 'FB403'), ('olga', 'owner')) as t (who, outcome);
select is(array[pg_temp.role_of('olga'), pg_temp.role_of('adam')], array['admin', 'owner'], 'ownership is transferred');

-- The plan
update public.organizations set max_members = 2 where slug = 'acme';
select throws_ok($$ insert into public.memberships (organization_id, user_id) values (tests.id('acme'), tests.id('bob')) $$, 'FB402', null, 'a member over the plan''s limit is rejected');
select is(tests.see('adam', 'select private.admin_invite(tests.id(''acme''), ''bob@example.test'', ''member'', sha256(''b''))'), 'FB402', 'an invite over the plan''s limit is rejected');
update public.organizations set max_members = 4 where slug = 'acme';
select is(tests.see('adam', 'select private.admin_invite(tests.id(''acme''), ''BOB@Example.test'', ''member'', sha256(''b'')) ->> ''email'''), 'bob@example.test', 'the address of an invite is stored in lower case');

-- Invites
update auth.users set email_confirmed_at = null where id = tests.id('bob');
select is(tests.see('bob', 'select data ->> ''role'' from private.accept_invite(sha256(''x''))'), 'FB404', 'an unknown token is rejected');
select is(tests.see('alice', 'select data ->> ''role'' from private.accept_invite(sha256(''b''))'), 'FB403', 'a user with another address cannot accept');
select is(tests.see('bob', 'select data ->> ''role'' from private.accept_invite(sha256(''b''))'), 'FB403', 'nor one who did not confirm the address');
select is(tests.see('bob', 'select private.show_invite(sha256(''b'')) ->> ''organization'''), null, 'who learns nothing of it either');
update auth.users set email_confirmed_at = now() where id = tests.id('bob');
select is(tests.see(who, 'select private.show_invite(sha256(''b'')) ->> ''organization'''), shown, claim) from (values
  ('alice', null, 'another address learns nothing of an invite'),
  ('adam', null, 'nor does its inviter by the token'),
  ('bob', (select name from public.organizations where id = tests.id('acme')), 'the invited address sees its team')) as t (who, shown, claim);
select is(tests.see('bob', 'select private.show_invite(sha256(''x''))'), null, 'an unknown token shows nothing');
select is(tests.see('anon', 'select private.show_invite(sha256(''b''))'), '42501', 'visitors see no invite');
update private.invites set expires_at = now() where email = 'bob@example.test';
select is(tests.see('bob', 'select private.show_invite(sha256(''b'')) ->> ''status'''), 'expired', 'an expired invite is shown as such');
select is(tests.see('bob', 'select data ->> ''role'' from private.accept_invite(sha256(''b''))'), 'FB410', 'an expired invite is rejected');
update private.invites set expires_at = now() + interval '1 day', invited_by = tests.id('mia') where email = 'bob@example.test';
select is(tests.see('bob', 'select data ->> ''role'' from private.accept_invite(sha256(''b''))'), 'FB410', 'an invite by a removed admin is rejected');
update private.invites set invited_by = tests.id('adam') where email = 'bob@example.test';

select * from finish();
rollback;
