-- Activity adds up after any change, and only permitted callers read it.
begin;
set local search_path = public, extensions;
select plan(38);
do $$ begin perform tests.start(); end $$;

create function pg_temp.mistakes() returns text language sql as $$
  select coalesce(string_agg(subject || ' ' || stored || ' for ' || truth, ', '), 'none') from private.count_discrepancies() $$;
-- The activity as entries, and as days.
create function pg_temp.mistakes_twice() returns text language plpgsql as $$
declare before text := pg_temp.mistakes();
begin
  perform private.sum_activity();
  return case before when pg_temp.mistakes() then before else before || ', then ' || pg_temp.mistakes() end;
end
$$;
create function pg_temp.found(spoil text) returns text language plpgsql as $$
begin
  execute spoil;
  raise exception using errcode = 'ZZ000', message = (select string_agg(distinct subject, ', ' order by subject) from private.count_discrepancies());
exception when sqlstate 'ZZ000' then return sqlerrm;
end
$$;
create function pg_temp.measure(who text, query text) returns text language plpgsql as $$
begin
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  return tests.see(who, query);
end
$$;

select tests.submission('first', 'alice'); select tests.submission('second', 'bob'); select tests.submission('vaulted', 'vic', 'vault');
insert into public.votes (submission_id, user_id) values (tests.id('first'), tests.id('bob')), (tests.id('first'), tests.id('carol'));
select tests.comment('said', 'carol', 'first'); select tests.comment('answered', 'mia', 'first', 'said');
select is(pg_temp.mistakes(), 'none', 'created rows are counted');
select is(private.sum_activity() > 0, true, 'entries are added to the days');
select is(private.sum_activity(), 0, 'a second run adds nothing');
select is(pg_temp.mistakes(), 'none', 'adding entries to days changes no total');

insert into public.categories (id, organization_id, name, slug) values (tests.id('ios'), tests.id('acme'), 'iOS', 'ios');
insert into public.status_changes (submission_id, new_status) values (tests.id('second'), 'planned');
update public.submissions set category_id = tests.id('ios') where id = tests.id('second');
delete from public.votes where user_id = tests.id('carol');
delete from public.comments where id = tests.id('said');
select is(pg_temp.mistakes_twice(), 'none', 'changed and deleted rows are counted');
select tests.merge('second', 'first');
select is(pg_temp.mistakes_twice(), 'none', 'totals are correct after a merge');
select is(pg_temp.measure('adam', 'select private.admin_analytics(null, null, ''day'') -> ''totals'' ->> ''submissions'''), '2', 'a merged submission still counts as submitted');
do $$ begin perform set_config('request.jwt.claims', jsonb_build_object('sub', tests.id('adam'), 'role', 'authenticated')::text, true);
  perform set_config('feedback.organization_id', tests.id('acme')::text, true);
  perform private.admin_unmerge(tests.id('second')); perform tests.leave(); end $$;
select is(pg_temp.mistakes_twice(), 'none', 'totals are correct after unmerging');
select lives_ok($$ select private.erase_person(tests.id('bob'), tests.id('acme')) $$, 'an admin erases a person');
select is(pg_temp.mistakes_twice(), 'none', 'erasing a person changes no total');
delete from public.categories where id = tests.id('ios');
delete from public.submissions where id = tests.id('second');
select is(pg_temp.mistakes_twice(), 'none', 'totals are correct after deletions');
select tests.comment('promised', 'mia', 'first');
do $$ begin perform private.sum_activity(); end $$;
select is(pg_temp.found('update private.' || spoil), subjects, format('%s is found', spoil)) from (values
  ('person_days set votes = votes + 1', 'day_activity.votes, person_days.votes'), ('day_activity set people = people + 1', 'day_activity.people'),
  ('submission_days set total = total + 1', 'submission_days'), ('first_replies set milliseconds = milliseconds + 1', 'first_replies')) as t (spoil, subjects);

-- People are counted once in any range
create function pg_temp.spans() returns table (first_day date, last_day date, step text) language sql as $$
  select f::date, l::date, step from generate_series(timestamp '2026-01-27', '2026-03-03', '5 days') f, generate_series(f, '2026-03-03', '7 days') l,
    unnest(array['day', 'week', 'month']) step $$;
create function pg_temp.people_told() returns text language sql as $$
  select string_agg(coalesce((select string_agg(i ->> 'active_people', ',' order by i ->> 'start') from jsonb_array_elements(a -> 'series') i where i ->> 'active_people' <> '0'), '')
    || ' of ' || (a -> 'totals' ->> 'active_people'), '; ' order by first_day, last_day, step)
  from pg_temp.spans(), lateral (select pg_temp.measure('adam', format('select private.admin_analytics(%L, %L, %L)', first_day, last_day, step))::jsonb as a) a $$;
create function pg_temp.people_there() returns text language sql as $$
  with done as (
    select s.author_id as who, s.created_at::date as day from public.submissions s where s.organization_id = tests.id('acme')
    union select v.user_id, v.created_at::date from public.votes v where v.organization_id = tests.id('acme')
    union select c.author_id, c.created_at::date from public.comments c where c.organization_id = tests.id('acme'))
  select string_agg(coalesce((select string_agg(n::text, ',' order by start) from (
      select date_trunc(step, d.day) as start, count(distinct d.who) as n from done d where d.day between first_day and last_day group by 1) i), '')
    || ' of ' || (select count(distinct d.who) from done d where d.day between first_day and last_day), '; ' order by first_day, last_day, step)
  from pg_temp.spans() $$;
create function pg_temp.told() returns text language sql as $$
  select pg_temp.measure('adam', 'select private.admin_analytics(''2026-01-01'', ''2026-03-31'', ''week'')') $$;
insert into public.submissions (id, organization_id, author_id, title, description, type, created_at)
select tests.id('past ' || n), tests.id('acme'), tests.id((array['alice', 'bob', 'carol'])[1 + n * n % 3]), 'Past ' || n, 'A description that is long enough.', 'idea',
  timestamptz '2026-01-27 12:00+00' + n * n * 7 % 36 * interval '1 day' from generate_series(1, 12) n;
insert into public.votes (submission_id, user_id, created_at)
select tests.id('past ' || 1 + n % 12), tests.id((array['mia', 'vera', 'rita', 'vic'])[1 + n * n * n % 4]), timestamptz '2026-01-27 12:00+00' + n * n * 5 % 36 * interval '1 day'
from generate_series(1, 30) n on conflict do nothing;
insert into public.comments (id, submission_id, author_id, body, created_at)
select tests.id('remark ' || n), tests.id('past ' || 1 + n % 12), tests.id((array['olga', 'mia', 'alice'])[1 + n % 3]), 'Remark', timestamptz '2026-01-28 12:00+00' + n * n * 3 % 34 * interval '1 day' from generate_series(1, 12) n;
create temp table told as select pg_temp.told() as as_entries, null::text as changed;
select is(pg_temp.people_told(), pg_temp.people_there(), 'entries count each person once per interval and in total');
select is(pg_temp.mistakes_twice(), 'none', 'adding entries to days in any order changes no total');
select is(pg_temp.people_told(), pg_temp.people_there(), 'days count each person once per interval and in total');
select is(pg_temp.told(), (select as_entries from told), 'all other numbers are unchanged');
delete from public.votes where submission_id in (select tests.id('past ' || 2 * n) from generate_series(1, 6) n) and user_id <> tests.id('mia');
delete from public.submissions where id in (tests.id('past 3'), tests.id('past 7'));
update public.comments set moderation_state = 'spam' where id in (tests.id('remark 3'), tests.id('remark 4'));
select tests.comment('late answer', 'olga', 'past 1');
do $$ begin perform private.erase_person(tests.id('carol'), tests.id('acme')); end $$;
update told set changed = pg_temp.told();
select is(pg_temp.people_told(), pg_temp.people_there(), 'deleted rows leave neighboring days unchanged');
select is(pg_temp.mistakes_twice(), 'none', 'deleted rows leave neighboring days unchanged after entries are added');
select is(pg_temp.people_told(), pg_temp.people_there(), 'days still count each person once');
select is(pg_temp.told(), (select changed from told), 'all other numbers are unchanged after entries are added');
select isnt((select changed from told), (select as_entries from told), 'deletions change the numbers');

-- Days are in the organization's time zone
update public.organizations set time_zone = 'Asia/Kolkata' where slug = 'acme';
select is(pg_temp.measure('adam', 'select private.admin_analytics(null, null, ''day'') ->> ''time_zone'''), 'UTC', 'days keep the old time zone until they are recounted');
do $$ begin perform private.sum_activity(); end $$;
select is(pg_temp.mistakes(), 'none', 'the schedule recounts them correctly');
insert into public.submissions (id, organization_id, author_id, title, description, type, created_at) values
  (tests.id('late'), tests.id('acme'), tests.id('alice'), 'Later', 'A description that is long enough.', 'idea', '2026-03-01 18:29:59+00'),
  (tests.id('early'), tests.id('acme'), tests.id('alice'), 'Early', 'A description that is long enough.', 'idea', '2026-03-01 18:30:00+00');
select is(pg_temp.measure('adam', 'select jsonb_path_query_array(private.admin_analytics(''2026-03-01'', ''2026-03-03'', ''day'')::jsonb, ''$.series[*].submissions'')::text'),
  '[1, 1, 0]', 'days begin at midnight in the new time zone, and empty days are included');
update public.organizations set time_zone = 'UTC' where slug = 'acme';
do $$ begin perform private.sum_activity(); end $$;
select is(pg_temp.measure('adam', 'select jsonb_path_query_array(private.admin_analytics(''2026-03-01'', ''2026-03-03'', ''day'')::jsonb, ''$.series[*].submissions'')::text'),
  '[2, 0, 0]', 'changing the time zone moves all days');
select is(pg_temp.measure('adam', 'select private.admin_analytics(''2026-03-01'', ''2026-03-01'', ''day'') -> ''totals'' ->> ''active_people'''), '1', 'active_people counts a person once');

-- Permissions
select is(pg_temp.measure(who, 'select private.admin_analytics(null, null, ''day'') ->> ''interval'''), outcome, format('%s measures: %s', who, outcome))
from (values ('olga', 'day'), ('mia', 'FB403'), ('rita', 'FB403'), ('alice', 'FB403'), ('anon', '42501'), ('acme key with analytics:read', 'day'),
  ('acme key with submissions:read', 'FB403')) as t (who, outcome);

delete from public.organizations where slug = 'acme';
select is(pg_temp.mistakes(), 'none', 'deleting an organization deletes its activity');
select is((select count(*) from private.person_days where organization_id = tests.id('acme')), 0::bigint, 'no rows are left');

select * from finish();
rollback;
