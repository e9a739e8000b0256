-- A person is forgotten; what they wrote and their votes stay, and every count with them.
begin;
set local search_path = public, extensions;
select plan(14);
do $$
begin
  perform tests.start();
  perform tests.submission('an idea', 'alice');
  perform tests.submission('hers and his', 'bob');
  perform tests.submission('elsewhere', 'alice', 'rival');
  perform tests.comment('said', 'alice', 'hers and his');
  perform tests.comment('reply', 'bob', 'hers and his', 'said');
  insert into public.votes (submission_id, user_id) values (tests.id('hers and his'), tests.id('alice'));
  insert into public.comment_votes (comment_id, user_id) values (tests.id('said'), tests.id('alice'));
end $$;
create function pg_temp.asked(who text, organization text, call text) returns text language plpgsql as $$
begin
  return tests.see(who, format('select %s from (select set_config(''feedback.organization_id'', %L, true)) o', call, tests.id(organization)));
end
$$;

select is(pg_temp.asked(who, 'acme', format($$ private.admin_erase_person(%L) $$, tests.id('alice'))), 'FB403', who || ' erases nobody')
from unnest(array['mia', 'bob', 'rita', 'acme key with submissions:moderate']) as who;
select is(pg_temp.asked('vera', 'vault', format($$ private.admin_erase_person(%L) $$, tests.id('alice'))), null, 'whom an organization does not know it cannot erase');
select is(pg_temp.asked('vera', 'vault', format($$ private.admin_personal_data(%L) $$, tests.id('alice'))), null, 'nor read');
select is(pg_temp.asked('adam', 'acme', format($$ private.admin_erase_person(%L) $$, tests.id('mia'))), 'FB409', 'nor whoever is on its team');

select is((pg_temp.asked('adam', 'acme', format($$ private.admin_erase_person(%L) $$, tests.id('alice')))::jsonb) -> 'erased', 'true', 'an admin erases whom they know');
select is_empty($$ select from public.votes where user_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.comment_votes where user_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.submissions where author_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.comments where author_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.follows where user_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.notifications where user_id = tests.id('alice') and organization_id = tests.id('acme') $$, 'nothing there is theirs any more');
select results_eq($$ select vote_count, comment_count from public.submissions where id = tests.id('hers and his') $$, $$ values (2, 2) $$, 'what they did counts on');
select is((select count(*) from private.count_mistakes()), 0::bigint, 'exactly');
select is((select author_id from public.submissions where id = tests.id('elsewhere')), tests.id('alice'), 'elsewhere they are who they were');
select is((select data -> 'comment' -> 'author' ->> 'name' from private.outbox where subject_id = tests.id('said')), 'Anonymous', 'events still to be read name them no more');

select is(tests.see('olga', 'select private.erase_me()'), 'FB409', 'the last owner of an organization does not go');

select * from finish();
rollback;
