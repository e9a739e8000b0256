-- Counters are exact after any change, and the check detects wrong ones.
begin;
set local search_path = public, extensions;
select plan(25);
do $$ begin perform tests.start(); end $$;

-- A year of activity: creation, votes, threads, moderation, deletes and erasure, by all callers
do $$
declare n integer;
begin
  update private.rate_limit_rules set max_requests = 100000;
  insert into profiles (id, name) select tests.id('voter ' || v), 'Voter ' || v from generate_series(1, 30) as v;
  for n in 1..20 loop
    perform tests.submission('Submission ' || n, case n % 3 when 0 then 'alice' when 1 then 'bob' else 'mia' end);
    insert into votes (submission_id, user_id) select tests.id('Submission ' || n), tests.id('voter ' || v) from generate_series(1, 30) as v where (v * n) % 7 < 3;
    perform tests.comment(format('comment %s.%s', n, c), case c % 4 when 0 then 'carol' when 1 then 'bob' when 2 then 'mia' else 'alice' end, 'Submission ' || n,
      case when c % 3 > 0 then format('comment %s.%s', n, c / 2) end) from generate_series(0, 15) as c;
    insert into comment_votes (comment_id, user_id) select c.id, tests.id('voter ' || v) from comments c, generate_series(1, 5) as v
    where c.submission_id = tests.id('Submission ' || n) and (v + ascii(right(c.body, 1))) % 2 = 0;
  end loop;
  update comments set moderation_state = 'pending' where body ~ '[37]$';
  update comments set moderation_state = 'spam' where body ~ '[35]$';
  update submissions set moderation_state = 'rejected' where title ~ '[4]$';
  update organizations set visibility = 'private' where slug = 'acme';
  update organizations set visibility = 'public' where slug = 'acme';
  update comments set moderation_state = 'approved' where body ~ '[7]$';
  update submissions set moderation_state = 'approved';
  delete from votes where user_id in (select tests.id('voter ' || v) from generate_series(1, 30, 4) as v);
  delete from comment_votes where user_id = tests.id('voter 2');
  perform tests.try(who, statement) from unnest(array['alice', 'bob', 'mia', 'adam', 'rita', 'acme key with submissions:write submissions:moderate']) as who, unnest(array[
    'insert into votes (submission_id) select id from submissions on conflict do nothing',
    'delete from comments where body like ''%.4''',
    'delete from votes where submission_id in (select id from submissions where title like ''%7'')',
    'insert into comments (submission_id, parent_id, body) select submission_id, id, ''Me too'' from comments where body like ''%.8''',
    'delete from comments where body like ''% 12.%''',
    'delete from submissions where title like ''%9'' or title like ''%3''']) as statement;
  delete from auth.users where id = tests.id('bob');
  set constraints all immediate;
end $$;
select cmp_ok((select count(*) from submissions), '>=', 10::bigint, 'random operations leave submissions');
select cmp_ok((select count(*) from submissions where title like '%9'), '<', 2::bigint, 'random operations delete submissions');
select cmp_ok((select sum(vote_count) from submissions), '>', 100::bigint, 'random operations leave votes');
select cmp_ok((select sum(comment_count) from submissions), '>', 50::bigint, 'random operations leave comments');
select cmp_ok((select sum(reply_count) from comments), '>', 20::bigint, 'random operations leave replies');
select cmp_ok((select sum(vote_count) from comments), '>', 100::bigint, 'random operations leave votes for comments');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct');

-- A wrong value in each counter
create function pg_temp.mistakes_after(counter text, lie integer) returns text language plpgsql as $$
declare liar uuid; found text;
begin
  execute format('update public.%I set %2$I = %2$I + $1 where id = (select id from public.%1$I where %2$I > 0 order by id limit 1) returning id',
    split_part(counter, '.', 1), split_part(counter, '.', 2)) into liar using lie;
  found := (select string_agg(concat_ws(' ', subject, id = liar, stored - truth), ', ') from private.count_discrepancies());
  execute format('update public.%I set %2$I = %2$I - $1 where id = $2', split_part(counter, '.', 1), split_part(counter, '.', 2)) using lie, liar;
  return found;
end
$$;
select is(pg_temp.mistakes_after(counter, lie), format('%s t %s', counter, lie), format('%s that is off by %s is found', counter, lie))
from unnest(array['submissions.vote_count', 'submissions.comment_count', 'comments.reply_count', 'comments.vote_count']) as counter, unnest(array[1, -1]) as lie;
select is_empty('select * from private.count_discrepancies()', 'wrong counters are corrected');

-- Counters are deleted after their window, whatever its length
insert into private.rate_limit_rules values ('slow', 5, 7 * 86400);
insert into private.rate_counters (rule, subject, started_at, used) values
  ('slow', 'within', now() - interval '6 days', 5), ('slow', 'over', now() - interval '8 days', 5),
  ('vote_create', 'within', now() - interval '1 hour', 5), ('vote_create', 'over', now() - interval '3 hours', 5),
  ('agent_day', 'within', now() - interval '23 hours', 5), ('agent_day', 'over', now() - interval '25 hours', 5);
select private.run_schedule();
select set_eq($$ select rule || ' ' || subject from private.rate_counters where subject in ('within', 'over') $$, array['slow within', 'vote_create within', 'agent_day within'],
  'rate counters are kept for their rule''s window, and deleted after it');

-- The schedule of hosted Supabase
select results_eq($$ select jobname, schedule, command from cron.job order by jobname $$, $$ values
  ('feedback-cron-log', '17 * * * *', 'select private.trim_logs()'),
  ('feedback-schedule', '10 seconds', 'select private.run_schedule()'),
  ('feedback-webhooks', '10 seconds', 'select private.call_dispatcher()') $$, 'pg_cron has our jobs');
select lives_ok(command, jobname || ' runs') from cron.job order by jobname;
select is((select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_net'), 'extensions',
  'pg_net is in the schema extensions');
insert into cron.job_run_details (jobid, username, status, start_time, end_time)
select j.jobid, current_user, 'succeeded', now() - age, now() - age
from (select jobid from cron.job where jobname = 'feedback-schedule' union all select 0) j, unnest(array['2 days', '1 hour']::interval[]) age;
select private.trim_logs();
select is((select count(*) from cron.job_run_details where jobid > 0), 1::bigint, 'log entries of our jobs are deleted after a day');
select is((select count(*) from cron.job_run_details where jobid = 0), 2::bigint, 'log entries of other jobs are kept');

-- safeupdate rejects these statements even in functions if they are called through the data API
select is_empty($$
  select p.oid::regprocedure, statement from pg_proc p, lateral (select coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body) b,
    lateral regexp_split_to_table(b.body, ';') statement
  where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace)
    and statement ~* '(^|\s|\()(delete from|update [a-z_.]+( [a-z]+)? set)\s' and statement !~* '\mwhere\M' $$,
  'no function updates or deletes without WHERE');

select * from finish();
rollback;
