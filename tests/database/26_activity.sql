-- What people did adds up, whatever becomes of it, and who measures it.
begin;
set local search_path = public, extensions;
select plan(33);
do $$ begin perform tests.start(); end $$;

create function pg_temp.mistakes() returns text language sql as $$
  select coalesce(string_agg(subject || ' ' || stored || ' for ' || truth, ', '), 'none') from private.count_mistakes() $$;
create function pg_temp.measure(who text, query text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  return tests.see(who, query);
end
$$;

select tests.submission('first', 'alice'); select tests.submission('second', 'bob'); select tests.submission('vaulted', 'vic', 'vault');
insert into public.votes (submission_id, user_id) values (tests.id('first'), tests.id('bob')), (tests.id('first'), tests.id('carol'));
select tests.comment('said', 'carol', 'first'); select tests.comment('answered', 'mia', 'first', 'said');
select is(pg_temp.mistakes(), 'none', 'what is made is counted');
select is(private.sum_activity() > 0, true, 'entries become sums');
select is(private.sum_activity(), 0, 'once');
select is(pg_temp.mistakes(), 'none', 'which changes nothing');

insert into public.categories (id, organization_id, name, slug) values (tests.id('ios'), tests.id('acme'), 'iOS', 'ios');
insert into public.status_changes (submission_id, new_status) values (tests.id('second'), 'planned');
update public.submissions set category_id = tests.id('ios') where id = tests.id('second');
delete from public.votes where user_id = tests.id('carol');
delete from public.comments where id = tests.id('said');
select is(pg_temp.mistakes(), 'none', 'what changes or is taken back is counted');
select tests.merge('second', 'first');
select is(pg_temp.mistakes(), 'none', 'after a merge too');
select is(pg_temp.measure('adam', 'select private.admin_analytics(null, null, ''day'') -> ''totals'' ->> ''submissions'''), '2', 'what is merged was submitted all the same');
do $$ begin perform set_config('request.jwt.claims', jsonb_build_object('sub', tests.id('adam'), 'role', 'authenticated')::text, true);
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  perform private.admin_unmerge(tests.id('second')); perform tests.leave(); end $$;
select is(pg_temp.mistakes(), 'none', 'and after its end');
select lives_ok($$ select private.erase_person(tests.id('bob'), tests.id('acme')) $$, 'somebody is forgotten');
select is(pg_temp.mistakes(), 'none', 'and nobody takes what they did');
delete from public.categories where id = tests.id('ios');
delete from public.submissions where id = tests.id('second');
select is(pg_temp.mistakes(), 'none', 'also where it is deleted');
update private.person_activity set votes = votes + 1 where ctid = (select min(ctid) from private.person_activity where organization_id = tests.id('acme'));
select is(split_part(pg_temp.mistakes(), ' ', 1), 'person_activity.votes', 'a wrong count is found');
update private.person_activity set votes = votes - 1 where ctid = (select max(ctid) from private.person_activity where organization_id = tests.id('acme'));

-- Days are the organization's
update public.organizations set time_zone = 'Asia/Kolkata' where slug = 'acme';
insert into public.submissions (id, organization_id, author_id, title, description, type, created_at) values
  (tests.id('late'), tests.id('acme'), tests.id('alice'), 'Later', 'A description that is long enough.', 'idea', '2026-03-01 18:29:59+00'),
  (tests.id('early'), tests.id('acme'), tests.id('alice'), 'Early', 'A description that is long enough.', 'idea', '2026-03-01 18:30:00+00');
select is(pg_temp.measure('adam', 'select jsonb_path_query_array(private.admin_analytics(''2026-03-01'', ''2026-03-03'', ''day'')::jsonb, ''$.series[*].submissions'')::text'),
  '[1, 1, 0]', 'a day begins at midnight there, empty days are told too');
update public.organizations set time_zone = 'UTC' where slug = 'acme';
select is(pg_temp.measure('adam', 'select jsonb_path_query_array(private.admin_analytics(''2026-03-01'', ''2026-03-03'', ''day'')::jsonb, ''$.series[*].submissions'')::text'),
  '[2, 0, 0]', 'and where it moves, everything moves with it');
select is(pg_temp.measure('adam', 'select private.admin_analytics(''2026-03-01'', ''2026-03-01'', ''day'') -> ''totals'' ->> ''active_people'''), '1', 'a person is one however much they do');

-- Who measures
select is(pg_temp.measure(who, 'select private.admin_analytics(null, null, ''day'') ->> ''interval'''), outcome, format('%s measures: %s', who, outcome))
from (values ('olga', 'day'), ('mia', 'FB403'), ('rita', 'FB403'), ('alice', 'FB403'), ('anon', '42501'), ('acme key with analytics:read', 'day'),
  ('acme key with submissions:read', 'FB403')) as t (who, outcome);
select is(pg_temp.measure(who, 'select count(distinct organization_id) from public.analytics_days'), days, format('the view of days shows %s: %s', who, days))
from (values ('olga', '1'), ('vera', '1'), ('mia', '0'), ('alice', '0'), ('anon', '42501'), ('service_role', '2'), ('operator', '2')) as t (who, days);
select is(pg_temp.measure('olga', 'select sum(submissions) from public.analytics_submissions'), (select count(*)::text from public.submissions where organization_id = tests.id('acme')),
  'the view of kinds shows every submission of one''s own, and no other');
select is(tests.try('olga', 'delete from public.analytics_days'), '55000', 'nobody writes to it');

delete from public.organizations where slug = 'acme';
select is(pg_temp.mistakes(), 'none', 'an organization takes its activity along');
select is((select count(*) from private.person_activity where organization_id = tests.id('acme')), 0::bigint, 'all of it');

select * from finish();
rollback;
