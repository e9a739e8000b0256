-- Regression tests of attacks that once succeeded.
begin;
set local search_path = public, extensions;
select plan(17);
do $$ begin perform tests.start(); end $$;

select is(tests.try('bob', $$ insert into public.submissions (organization_id, title, description, type)
  select tests.id('acme'), 'Flood ' || n, 'A description that is long enough.', 'idea' from generate_series(1, 301) n $$), 'FB429',
  'an insert of more submissions than the limit is rejected');
select is((select count(*) from public.submissions), 0::bigint, 'no row of it is stored');

do $$ begin
  perform tests.submission('a wish', 'alice');
  perform tests.comment('word', 'alice', 'a wish');
end $$;
select is(tests.try('bob', $$ insert into public.comments (submission_id, body) select tests.id('a wish'), 'spam ' || n from generate_series(1, 21) n $$), 'FB429',
  'an insert of more comments than the limit is rejected');
update private.rate_limit_rules set max_requests = 1 where name = 'submission_update_user';
select is(tests.try('alice', $$ update public.submissions set title = 'Wish two' where id = tests.id('a wish') $$), '1', 'an edit charges the limit');
select is(tests.try('alice', $$ update public.submissions set title = 'Wish three' where id = tests.id('a wish') $$), 'FB429', 'an edit over the limit is rejected');

-- Approval
update public.organizations set require_approval = true where id = tests.id('acme');
update private.rate_limit_rules set max_requests = 1000;
select is(tests.try('alice', $$ update public.submissions set title = 'Buy this now' where id = tests.id('a wish') $$), '1', 'an approved submission can be edited');
select is((select moderation_state || ' ' || is_public from public.submissions where id = tests.id('a wish')), 'pending false', 'its edit requires approval again');
update public.submissions set moderation_state = 'approved' where id = tests.id('a wish');
select is(tests.try('alice', $$ update public.submissions set category_id = null where id = tests.id('a wish') $$), '1', 'its author may change the category');
select is((select moderation_state from public.submissions where id = tests.id('a wish')), 'approved', 'a change of category needs no approval');
select is(tests.try('alice', $$ update public.comments set body = 'other words' where id = tests.id('word') $$), '1', 'an approved comment can be edited');
select is((select c.moderation_state || ' ' || s.comment_count from public.comments c join public.submissions s on s.id = c.submission_id where c.id = tests.id('word')),
  'pending 0', 'an edited comment is pending and not counted');
select is(tests.try('mia', $$ insert into public.comments (submission_id, parent_id, body) values (tests.id('a wish'), tests.id('word'), 'answer') $$), 'FB409',
  'a pending comment cannot be replied to');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'all counters are correct');

-- Notifications
update public.organizations set require_approval = false, visibility = 'private' where id = tests.id('acme');
insert into public.follows (organization_id, submission_id, user_id) values (tests.id('acme'), tests.id('a wish'), tests.id('bob')) on conflict do nothing;
delete from public.notifications;
insert into public.status_changes (submission_id, new_status, changed_by) values (tests.id('a wish'), 'planned', tests.id('olga'));
select is((select string_agg(p.name, ',') from public.notifications n join public.profiles p on p.id = n.user_id), 'Alice',
  'followers of a board that became private get no notification, its author does');

-- A token after its user was deleted
delete from auth.users where id = tests.id('adam');
select is((select count(*) from public.memberships where user_id = tests.id('adam')), 0::bigint, 'deleting a user deletes their memberships');
select is(tests.try('adam', $$ update public.profiles set name = 'Back' where id = tests.id('adam') $$), '0', 'a deleted user cannot restore their name');

select is(private.person_name(E' A\u202Ed\nam '), 'Adam', 'a name has no invisible characters');

select * from finish();
rollback;
