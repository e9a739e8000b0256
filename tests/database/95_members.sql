-- Team members: the last owner stays, the plan limit is enforced, and only the recipient can accept an
-- invite.
begin;
set local search_path = public, extensions;
select plan(84);
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
  $$ values ('{"role": {"from": "member", "to": "admin"}}'::jsonb) $$, 'the audit trail has the previous and the new role');
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

-- Second factors: an owner of all teams of the person can remove them
select is(pg_temp.role_of('adam'), 'owner', 'adam owns Acme by now');
insert into public.memberships (organization_id, user_id, role) values (tests.id('acme'), tests.id('mia'), 'member'), (tests.id('acme'), tests.id('carol'), 'member'), (tests.id('rival'), tests.id('carol'), 'member');
insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
select tests.id(who || status), tests.id(who), who || status, 'totp', status::auth.factor_status, now(), now()
from unnest(array['mia', 'carol']) as who, unnest(array['verified', 'unverified']) as status;
insert into auth.sessions (id, user_id) values (tests.id('session of mia'), tests.id('mia')), (tests.id('session of carol'), tests.id('carol'));
select is(tests.see(who, 'select string_agg(m.value ->> ''has_second_factor'', '' '' order by m.value ->> ''name'') from private.admin_members(tests.id(''acme''), 50, 0) l, json_array_elements(l.data) m'),
  seen, format('%s sees of the team''s second factors: %s', who, seen))
from (values ('adam', 'false true true false'), ('olga', null), ('mia', null), ('acme key with members:write', null)) as t (who, seen);
select is(tests.see('mia', 'select private.my_second_factors() -> 0 ->> ''name'''), 'miaverified', 'a person sees their own verified factors');
select is(tests.see(who, 'select json_array_length(private.my_second_factors())'), '0', who || ' sees none of others') from unnest(array['adam', 'olga']) as who;
select is(tests.see(who, 'select private.my_second_factors()'), '42501', who || ' has no factors to see') from unnest(array['anon', 'acme key with members:write']) as who;
select is(tests.see(who, format('select private.reset_second_factor(tests.id(%L), tests.id(%L)) ->> ''has_second_factor''', organization, whom)), outcome,
  format('%s resets %s at %s: %s', who, whom, organization, outcome))
from (values ('olga', 'acme', 'mia', 'FB403'), ('mia', 'acme', 'mia', 'FB403'), ('alice', 'acme', 'mia', 'FB403'), ('rita', 'acme', 'mia', 'FB403'),
  ('rita', 'rival', 'mia', 'FB404'), ('anon', 'acme', 'mia', '42501'), ('acme key with members:write', 'acme', 'mia', '42501'), ('service_role', 'acme', 'mia', '42501'),
  ('adam', 'acme', 'alice', 'FB404'), ('adam', 'acme', 'carol', 'FB409'), ('rita', 'rival', 'carol', 'FB409'),
  ('adam', 'acme', 'mia', 'false'), ('adam', 'acme', 'mia', 'false')) as t (who, organization, whom, outcome);
select results_eq($$ select user_id from auth.mfa_factors group by user_id $$, $$ values (tests.id('carol')) $$, 'who was reset has no factor left, and nobody else lost one');
select results_eq($$ select user_id from auth.sessions where id in (tests.id('session of mia'), tests.id('session of carol')) $$, $$ values (tests.id('carol')) $$, 'the sessions of who was reset have ended');
select results_eq($$ select organization_id, actor_id, target_id from private.audit_log where action = 'member.reset_second_factor' $$,
  $$ values (tests.id('acme'), tests.id('adam'), tests.id('mia')) $$, 'the audit trail has it once');

select * from finish();
rollback;
