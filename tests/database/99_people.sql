-- People of an organization: only its admins find them, by name or complete address. Their trust and their
-- mail.
begin;
set local search_path = public, extensions;
select plan(33);
do $$
begin
  perform tests.start();
  perform tests.submission('an idea', 'alice');
  perform tests.submission('elsewhere', 'bob', 'rival');
  update public.profiles set name = 'Al_ice 100%' where id = tests.id('alice');
  insert into public.profiles (id, kind, organization_id, email, name)
  values (tests.id('erna'), 'email', tests.id('acme'), 'erna@example.test', 'Erna'), (tests.id('rudi'), 'email', tests.id('rival'), 'rudi@example.test', 'Rudi');
  insert into private.mail_suppressions (organization_id, address_hash, reason, profile_id)
  values (tests.id('acme'), 'x', 'bounced', tests.id('alice')), (tests.id('acme'), 'y', 'refused', tests.id('erna')),
    (tests.id('rival'), 'x', 'bounced', tests.id('alice'));
end $$;
create function pg_temp.asked(who text, organization text, call text) returns text language plpgsql as $$
begin
  return tests.see(who, format('select %s from (select set_config(''feedback.organization_id'', %L, true)) o', call, tests.id(organization)));
end
$$;
create function pg_temp.found(search text, who text default 'adam', organization text default 'acme') returns text language sql as $$
  select coalesce(string_agg(p ->> 'name', ', ' order by p ->> 'name'), '')
  from json_array_elements(pg_temp.asked(who, organization, format('private.admin_search_people(%L)', search))::json) p
$$;

select is(pg_temp.found(search), people, format('a search for "%s" finds %s', search, people)) from (values
  ('ice', 'Al_ice 100%'), ('AL_ICE', 'Al_ice 100%'), ('0%', ''), ('00%', 'Al_ice 100%'), ('___', ''), ('%', ''), ('al', 'Al_ice 100%'), ('ce', ''),
  ('alice@example.test', 'Al_ice 100%'), ('alice@example', ''), ('erna@example.test', 'Erna'), ('er', 'Erna'), ('bob', ''), ('rudi@example.test', ''), ('', 'Al_ice 100%')
) as s (search, people);
select is(pg_temp.asked(who, 'acme', format('%s', call)), 'FB403', format('%s: %s is not for them', who, call))
from unnest(array['mia', 'acme key with submissions:read']) as who,
  unnest(array['private.admin_search_people('''')', format('private.admin_person(%L)', tests.id('alice')), format('private.admin_decide_trust(%L, true)', tests.id('alice')),
    format('private.admin_lift_mail_suppression(%L)', tests.id('alice'))]) as call;
select is(pg_temp.asked('adam', 'acme', format('private.admin_person(%L)', tests.id('bob'))), null, 'whom the organization does not know is nobody there');
select is(pg_temp.asked('adam', 'acme', format('private.admin_decide_trust(%L, true)', tests.id('bob'))), null, 'and is not trusted');
select is(pg_temp.asked('acme key with submissions:moderate', 'acme', format('private.admin_decide_trust(%L, true)', tests.id('alice')))::json ->> 'decided', 'true', 'a key that moderates decides about trust');

-- Mail
select is(pg_temp.asked('adam', 'acme', format('private.admin_lift_mail_suppression(%L)', tests.id('erna'))), 'FB409', 'who refused mail is left alone');
select is(pg_temp.asked('adam', 'acme', format('private.admin_lift_mail_suppression(%L)', tests.id('alice')))::json ->> 'deleted', 'true', 'mail to a mailbox that works again goes on');
select results_eq($$ select organization_id, reason from private.mail_suppressions order by reason $$, $$ values (tests.id('rival'), 'bounced'), (tests.id('acme'), 'refused') $$, 'here, and nowhere else');

select private.suppress_address(tests.id('acme'), null, 'invited@example.test', 'bounced'), private.suppress_address(tests.id('rival'), null, 'invited@example.test', 'bounced'),
  private.suppress_address(tests.id('acme'), null, 'unwilling@example.test', 'complained');
select is(pg_temp.asked('adam', 'acme', 'private.admin_lift_mail_suppression(null, ''unwilling@example.test'')'), 'FB409', 'nor is mail to an invited address that complained resumed');
select is(pg_temp.asked('adam', 'acme', 'private.admin_lift_mail_suppression(null, ''unknown@example.test'')'), null, 'an address that gets mail is not found');
select is(pg_temp.asked('adam', 'acme', 'private.admin_lift_mail_suppression(null, ''Invited@example.test'')')::json ->> 'deleted', 'true', 'an invited address that bounced gets mail again');
select results_eq($$ select organization_id from private.mail_suppressions where address_hash = private.address_hash('invited@example.test') $$, $$ values (tests.id('rival')) $$, 'from the admin''s organization only');

select * from finish();
rollback;
