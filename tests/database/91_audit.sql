-- The audit trail: complete, visible to the own organization only, and append-only.
begin;
set local search_path = public, extensions;
select plan(43);
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

-- Content of an entry
select lives_ok($$ select pg_temp.audit_as('adam', 'select private.audit(''tag.delete'', ''tag'', tests.id(''a tag''), ''{"slug": "ios"}'')') $$, 'a security definer function writes an entry');
select results_eq($$ select actor_id, key_id, action, target_type, target_id, details, request_id from private.audit_log where organization_id = tests.id('acme') $$,
  $$ values (tests.id('adam'), null::uuid, 'tag.delete', 'tag', tests.id('a tag'), '{"slug": "ios"}'::jsonb, null::text) $$, 'the entry has the user, the change and the target');
select lives_ok($$ select pg_temp.audit_as('acme key', 'select private.audit(''tag.create'', ''tag'', tests.id(''other tag''))') $$, 'a key writes an entry');
select results_eq($$ select actor_id, key_id, details from private.audit_log where action = 'tag.create' $$,
  $$ values (tests.id('acme key'), tests.id('the key'), '{}'::jsonb) $$, 'the entry has the key and its profile');
select lives_ok($$ select pg_temp.audit_as('rita', 'select private.audit(''tag.create'', ''tag'', null, ''{}'', tests.id(''rival''))') $$, 'an entry can name the organization of the row');
select is((select count(*) from private.audit_log where organization_id = tests.id('rival')), 1::bigint, 'the entry is in that organization''s log');
select throws_ok($$ select private.audit('tag.delete', 'tag', null) $$, 'FB404', null, 'without an organization an entry is rejected');
select lives_ok($$ select private.audit('invite.create', 'invite', null, '{"to": "Ann <ann.b+c@example.test>", "list": ["x@y.z", 1], "role": "admin"}', tests.id('acme')) $$, 'an operator writes an entry');
select results_eq($$ select actor_id, details from private.audit_log where action = 'invite.create' $$,
  $$ values (null::uuid, '{"to": "Ann ***", "list": ["***", 1], "role": "admin"}'::jsonb) $$, 'the entry has no actor, and e-mail addresses are masked');
select lives_ok($$ select private.audit('submission.reject', 'submission', null, jsonb_build_object('reason', E'see\nann@example.test \\n\tbob@example.test'), tests.id('acme')) $$, 'an entry with line breaks is accepted');
select is((select details ->> 'reason' from private.audit_log where action = 'submission.reject'), E'see\n*** \\n\t***', 'addresses after line breaks are masked, and nothing else');
select is(private.without_addresses(address), masked, format('%s is masked', address)) from (values
  ('from 203.0.113.7, [2001:db8::1]:443, 198.51.100.2:80, 203.0.113.0/24 and 2001:db8::/32.', 'from ***, [***]:443, ***:80, ***/24 and ***/32.'),
  ('IP:2001:DB8:0:0:0:0:0:1 ::1 fe80::1%eth0 ::ffff:1.2.3.4 1:2:3:4:5:6:192.0.2.1 64:ff9b::192.0.2.33 a@[::1]', 'IP:*** *** *** *** *** *** ***'),
  ('a＠b.example a﹫b.example a%40b.example "b"@c.example １９２．０.２．7', '*** *** *** *** ***')) as a (address, masked);
select is(private.without_addresses(text), text, 'versions, times, UUIDs, colors, MAC addresses and names of code are kept')
  from (values ('1.2.3 10:30:00 2026-11-25T10:00:00.123456+00:00 6f1ed002-ab59-4c31-8b9c-5d2b0b7a1f3c #6b7280 00:1a:2b:3c:4d:5e std::dead a :: b')) as a (text);
select private.audit('organization.update', 'organization', null, jsonb_build_object('changes', repeat('x', 30000)), tests.id('acme'));
select is((select details from private.audit_log where action = 'organization.update' and details ? 'left_out'), '{"left_out": "more than 20,000 bytes"}', 'details over 20,000 bytes are omitted, and the entry is kept');
select throws_ok($$ select private.audit('Delete!', 'tag', null, '{}', tests.id('acme')) $$, '23514', null, 'an action must be noun.verb');

-- No caller can rewrite it
select throws_ok($$ update private.audit_log set details = '{}' $$, 'FB403', null, 'entries cannot be updated, even by the table''s owner');
select throws_ok($$ delete from private.audit_log $$, 'FB403', null, 'entries cannot be deleted, even by the table''s owner');
select throws_ok($$ truncate private.audit_log $$, 'FB403', null, 'the table cannot be truncated, even by its owner');
select is(tests.try(who, 'insert into private.audit_log (organization_id, action, target_type, details) values (tests.id(''acme''), ''a.b'', ''x'', ''{}'')'), '42501',
  format('%s cannot write into it', who)) from unnest(array['adam', 'acme key with submissions:moderate', 'service_role']) as who;

-- Other people's content, changed through the data API
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
  'actions of admins and keys are logged');

-- Permissions to read
create function pg_temp.read_as(who text, organization text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id(organization)::text, true);
  return tests.see(who, 'select json_array_length(data) from private.admin_audit(null, null, null, null, 50)');
end
$$;
select is(pg_temp.read_as(who, 'acme'), seen, format('%s reads %s', who, seen))
from (values ('adam', '10'), ('mia', 'FB403'), ('rita', 'FB403')) as t (who, seen);

-- Filters: all of them at once, days in the organization's time zone
create function pg_temp.filtered(filters text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  return tests.see('adam', format('select json_array_length(data) from private.admin_audit(null, %s)', filters));
end
$$;
update public.organizations set time_zone = 'Pacific/Kiritimati' where id = tests.id('acme');
select is(pg_temp.filtered(filters), seen, format('%s of them by %s', seen, filters)) from (values
  (format('%L, null, null, 50, ''tag.delete''', tests.id('adam')), '1'), (format('%L, null, null, 50, ''tag.delete''', tests.id('mia')), '0'),
  ('null, null, null, 50, ''tag.delete''', '1'), ('null, null, null, 50, ''tag.elete''', '0'),
  ('null, null, null, 50, ''tag.delete'', (now() at time zone ''Pacific/Kiritimati'')::date, (now() at time zone ''Pacific/Kiritimati'')::date', '1'),
  ('null, null, null, 50, ''tag.delete'', (now() at time zone ''Pacific/Kiritimati'')::date + 1', '0'),
  ('null, null, null, 50, ''tag.delete'', null, (now() at time zone ''Pacific/Kiritimati'')::date - 1', '0')) as f (filters, seen);
select set_config('feedback.organization_id', tests.id('acme')::text, true);
select is((select string_agg(a, ' ') from json_array_elements_text((tests.see('adam', 'select private.admin_audit_choices()')::json) -> 'actions') a
  where a in ('tag.create', 'tag.delete', 'comment.delete')), 'comment.delete tag.create tag.delete', 'the choices of a filter are what there is');

delete from organizations where slug = 'acme';
select is((select count(*) from private.audit_log), 1::bigint, 'deleting an organization deletes its log, and no other');

select * from finish();
rollback;
