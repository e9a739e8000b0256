-- Erasure of a person: content and votes stay, and every count is exact.
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
  insert into private.idempotency_keys (profile_id, key, request, answer) values (tests.id('alice'), 'form', 'x', 'said');
end $$;
create function pg_temp.asked(who text, organization text, call text) returns text language plpgsql as $$
begin
  return tests.see(who, format('select %s from (select set_config(''feedback.organization_id'', %L, true)) o', call, tests.id(organization)));
end
$$;

select is(pg_temp.asked(who, 'acme', format($$ private.admin_erase_person(%L) $$, tests.id('alice'))), 'FB403', who || ' erases nobody')
from unnest(array['mia', 'bob', 'rita', 'acme key with submissions:moderate']) as who;
select is(pg_temp.asked('vera', 'vault', format($$ private.admin_erase_person(%L) $$, tests.id('alice'))), null, 'an organization cannot erase a person unknown to it');
select is(pg_temp.asked('vera', 'vault', format($$ private.admin_personal_data(%L) $$, tests.id('alice'))), null, 'an organization cannot read the data of a person unknown to it');
select is(pg_temp.asked('adam', 'acme', format($$ private.admin_erase_person(%L) $$, tests.id('mia'))), 'FB409', 'an organization cannot erase a member of its team');

select is((pg_temp.asked('adam', 'acme', format($$ private.admin_erase_person(%L) $$, tests.id('alice')))::jsonb) -> 'erased', 'true', 'an admin erases a person');
select is_empty($$ select from public.votes where user_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.comment_votes where user_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.submissions where author_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.comments where author_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from public.follows where user_id = tests.id('alice') and organization_id = tests.id('acme')
  union all select from private.idempotency_keys where profile_id = tests.id('alice')
  union all select from public.notifications where user_id = tests.id('alice') and organization_id = tests.id('acme') $$, 'no row of the organization references the person');
select results_eq($$ select vote_count, comment_count from public.submissions where id = tests.id('hers and his') $$, $$ values (2, 2) $$, 'their votes and comments are still counted');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'all counters are correct');
select is((select author_id from public.submissions where id = tests.id('elsewhere')), tests.id('alice'), 'rows of other organizations are unchanged');
select is((select data -> 'comment' -> 'author' ->> 'name' from private.outbox where subject_id = tests.id('said')), 'Anonymous', 'retained events have the author Anonymous');

select is(tests.see('olga', 'select private.erase_me()'), 'FB409', 'the last owner of an organization cannot erase themselves');

select * from finish();
rollback;
