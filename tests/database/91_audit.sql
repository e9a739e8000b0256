-- The audit trail: complete, of one's own organization, and never rewritten.
begin;
set local search_path = public, extensions;
select plan(31);
do $$ begin perform tests.start(); end $$;

create function pg_temp.audit_as(who text, statement text) returns void language plpgsql as $$
begin
  perform tests.become(who);
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  perform set_config('feedback.key_id', tests.id('the key')::text, true);
  perform set_config('role', case when who like '%key%' then 'service_key' else 'authenticated' end, true);
  execute format('select pg_temp.as_definer(%L)', statement);
  perform tests.leave();
end
$$;
create function pg_temp.as_definer(statement text) returns void language plpgsql security definer as $$ begin execute statement; end $$;
grant execute on function pg_temp.as_definer(text) to authenticated, service_key;

-- What an entry says
select lives_ok($$ select pg_temp.audit_as('adam', 'select private.audit(''tag.delete'', ''tag'', tests.id(''a tag''), ''{"slug": "ios"}'')') $$, 'a definer writes to the trail');
select results_eq($$ select actor_id, key_id, action, target_type, target_id, details, request_id from private.audit_log where organization_id = tests.id('acme') $$,
  $$ values (tests.id('adam'), null::uuid, 'tag.delete', 'tag', tests.id('a tag'), '{"slug": "ios"}'::jsonb, null::text) $$, 'the person who acts, the change and its target');
select lives_ok($$ select pg_temp.audit_as('acme key', 'select private.audit(''tag.create'', ''tag'', tests.id(''other tag''))') $$, 'or a key does');
select results_eq($$ select actor_id, key_id, details from private.audit_log where action = 'tag.create' $$,
  $$ values (tests.id('acme key'), tests.id('the key'), '{}'::jsonb) $$, 'with its own id and its profile''s');
select lives_ok($$ select pg_temp.audit_as('rita', 'select private.audit(''tag.create'', ''tag'', null, ''{}'', tests.id(''rival''))') $$, 'an entry can name the organization of the row');
select is((select count(*) from private.audit_log where organization_id = tests.id('rival')), 1::bigint, 'and stands there');
select throws_ok($$ select private.audit('tag.delete', 'tag', null) $$, 'FB404', null, 'without an organization there is no trail');
select lives_ok($$ select private.audit('invite.create', 'invite', null, '{"to": "Ann <ann.b+c@example.test>", "list": ["x@y.z", 1], "role": "admin"}', tests.id('acme')) $$, 'an operator writes too');
select results_eq($$ select actor_id, details from private.audit_log where action = 'invite.create' $$,
  $$ values (null::uuid, '{"to": "Ann ***", "list": ["***", 1], "role": "admin"}'::jsonb) $$, 'without an actor, and e-mail addresses are masked');
select lives_ok($$ select private.audit('submission.reject', 'submission', null, jsonb_build_object('reason', E'see\nann@example.test \\n\tbob@example.test'), tests.id('acme')) $$, 'so are those behind a line break');
select is((select details ->> 'reason' from private.audit_log where action = 'submission.reject'), E'see\n*** \\n\t***', 'and nothing else is');
select private.audit('organization.update', 'organization', null, jsonb_build_object('changes', repeat('x', 30000)), tests.id('acme'));
select is((select details from private.audit_log where action = 'organization.update' and details ? 'left_out'), '{"left_out": "more than 20,000 bytes"}', 'what is too much to say is left out, and the change is kept');
select throws_ok($$ select private.audit('Delete!', 'tag', null, '{}', tests.id('acme')) $$, '23514', null, 'an action is noun.verb');

-- Nobody rewrites it
select throws_ok($$ update private.audit_log set details = '{}' $$, 'FB403', null, 'its owner cannot change it');
select throws_ok($$ delete from private.audit_log $$, 'FB403', null, 'nor delete from it');
select throws_ok($$ truncate private.audit_log $$, 'FB403', null, 'nor empty it');
select is(tests.try(who, 'insert into private.audit_log (organization_id, action, target_type, details) values (tests.id(''acme''), ''a.b'', ''x'', ''{}'')'), '42501',
  format('%s cannot write into it', who)) from unnest(array['adam', 'acme key with submissions:moderate', 'service_role']) as who;

-- What others wrote, changed by the data API
select tests.submission('first', 'alice'), tests.submission('second', 'alice'), tests.submission('three', 'alice'), tests.comment('said', 'alice', 'three');
select is(tests.try(who, statement), '1', format('%s does: %s', who, statement)) from (values
  ('alice', 'update public.submissions set title = ''Hers to call'' where id = tests.id(''first'')'),
  ('adam', 'update public.submissions set title = ''Called otherwise'', description = description where id = tests.id(''first'')'),
  ('acme key with submissions:moderate', 'update public.submissions set tracker_issue_url = ''https://a.example'' where id = tests.id(''first'')'),
  ('adam', 'insert into public.status_changes (submission_id, new_status) values (tests.id(''first''), ''planned'')'),
  ('adam', 'delete from public.submissions where id = tests.id(''second'')'),
  ('adam', 'delete from public.comments where id = tests.id(''said'')'),
  ('service_role', 'delete from public.submissions where id = tests.id(''three'')')) as t (who, statement);
select results_eq($$ select actor_id, action, target_id, details from private.audit_log
    where target_id in (tests.id('first'), tests.id('second'), tests.id('three'), tests.id('said')) order by created_at $$,
  $$ values (tests.id('adam'), 'submission.update', tests.id('first'), '{"changed": ["title"]}'::jsonb),
    (tests.id('acme key'), 'submission.update', tests.id('first'), '{"changed": ["tracker_issue_url"]}'),
    (tests.id('adam'), 'submission.set_status', tests.id('first'), '{"status": {"from": "open", "to": "planned"}}'),
    (tests.id('adam'), 'submission.delete', tests.id('second'), '{}'),
    (tests.id('adam'), 'comment.delete', tests.id('said'), jsonb_build_object('submission_id', tests.id('three'))) $$,
  'is in the trail where an admin or a key did it');

-- Who reads it
create function pg_temp.read_as(who text, organization text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id(organization)::text, true);
  return tests.see(who, 'select json_array_length(data) from private.admin_audit(null, null, null, null, 50)');
end
$$;
select is(pg_temp.read_as(who, 'acme'), seen, format('%s reads %s', who, seen))
from (values ('adam', '10'), ('mia', 'FB403'), ('rita', 'FB403')) as t (who, seen);

delete from organizations where slug = 'acme';
select is((select count(*) from private.audit_log), 1::bigint, 'the trail goes with its organization, and no other');

select * from finish();
rollback;
