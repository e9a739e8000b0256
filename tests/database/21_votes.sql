-- Votes and follows: exact counts, and hidden voters.
begin;
set local search_path = public, extensions;
select plan(92);
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
  perform tests.submission('Merged away', 'bob');
  perform tests.submission('Merged into', 'alice');
  perform tests.merge('Merged away', 'Merged into');
  delete from notifications;
  perform tests.submission('In the vault', 'vic', 'vault');
  perform tests.submission('Waiting', 'bob');
  update submissions set moderation_state = 'pending' where id = tests.id('Waiting');
  delete from private.outbox;
end $$;

create function pg_temp.vote(submission text default 'An idea', more text default '') returns text language sql as $$
  select format('insert into votes (submission_id%s) values (tests.id(%L)%s) on conflict do nothing',
    case when more <> '' then ', ' || split_part(more, ' = ', 1) end, submission, case when more <> '' then ', ' || split_part(more, ' = ', 2) end)
$$;
create function pg_temp.count(submission text default 'An idea') returns integer language sql as
  $$ select vote_count from submissions where id = tests.id(submission) $$;

-- Voting
select is(tests.try('bob', pg_temp.vote()), '1', 'a user votes');
select is(tests.try('bob', $$ insert into votes (submission_id) values (tests.id('An idea')) $$), '23505 one_vote_a_person_and_submission',
  'a second vote without "on conflict" is rejected');
select is(tests.try(who, pg_temp.vote(submission)), outcome, claim) from (values
  ('bob', 'In the vault', 'FB404', 'an invisible submission takes no vote'),
  ('vera', 'In the vault', '1', 'a member votes on a private board'),
  ('rival key with submissions:write', 'An idea', 'FB404', 'a key of another organization cannot'))
  as t (who, submission, outcome, claim);
select is(tests.try('carol', pg_temp.vote(more => forged)), '42501', 'a vote cannot be created with ' || forged)
from unnest(array['user_id = tests.id(''carol'')', 'user_id = tests.id(''mia'')', 'created_at = now()', 'id = tests.id(''mine'')',
  'organization_id = tests.id(''acme'')']) as forged;

-- Voters
-- tests/hostile/rest-leaks.test.ts tries to read voters through PostgREST as well.
select is(tests.see(who, question), '42501', format('%s cannot read voters by: %s', who, question)) from (values
  ('anon', 'select row_to_json(votes) from votes limit 1'),
  ('carol', 'select row_to_json(votes) from votes limit 1'),
  ('acme key with submissions:read submissions:moderate', 'select row_to_json(votes) from votes limit 1'),
  ('acme key with submissions:read submissions:moderate', 'select count(*) from votes where user_id = tests.id(''bob'')'),
  ('carol', 'insert into votes (submission_id) values (tests.id(''An idea'')) on conflict (submission_id, user_id) do nothing'),
  ('carol', 'insert into votes (submission_id) values (tests.id(''An idea'')) on conflict on constraint one_vote_a_person_and_submission do update set submission_id = excluded.submission_id'))
  as t (who, question);
select is(tests.see('anon', $$ select count(*) from votes where submission_id = tests.id('An idea') $$), '2', 'anonymous clients can count votes');
select is(tests.see('carol', $$ insert into votes (submission_id) values (tests.id('An idea')) returning (id is not null)::text $$), 'true',
  'a voter gets the id of the vote');
select is(tests.see('bob', $$ select string_agg(submission_id::text, ',') from my_votes(array[tests.id('An idea'), tests.id('In the vault')]) $$),
  tests.id('An idea')::text, 'a voter sees their own votes by my_votes');
select is(tests.see('bob', 'select count(*) from my_votes(array[]::uuid[])'), '0', 'my_votes returns votes for the given submissions only');
select is(tests.see('mia', $$ select count(*) from my_votes(array[tests.id('An idea')]) $$), '0', 'a user who did not vote has no votes');
select is(tests.see(who, $$ select count(*) from my_votes(array[tests.id('An idea')]) $$), '42501', who || ' cannot call my_votes')
from unnest(array['anon', 'acme key with submissions:read']) as who;
select is(tests.see(who, question), answer, format('%s asks %s: %s', who, question, coalesce(answer, 'nothing'))) from (values
  ('bob', $$ select private.my_vote(tests.id('An idea')) is not null $$, 'true'),
  ('mia', $$ select private.my_vote(tests.id('An idea')) is not null $$, 'false'),
  ('mia', $$ select private.vote_of(tests.id('An idea'), tests.id('bob')) is not null $$, 'false'),
  ('adam', $$ select private.vote_of(tests.id('An idea'), tests.id('bob')) is not null $$, 'false'),
  ('acme key with submissions:write', $$ select private.vote_of(tests.id('An idea'), tests.id('bob')) is not null $$, 'false'),
  ('anon', $$ select private.my_vote(tests.id('An idea')) is not null $$, 'false'),
  ('bob', $$ select private.is_following(tests.id('An idea')) $$, 'true'),
  ('mia', $$ select private.is_following(tests.id('An idea')) $$, 'false')) as t (who, question, answer);
select is(tests.see(who, $$ select string_agg(email, ', ' order by email) from private.submission_voters(tests.id('An idea'), 10, 0) $$), outcome, claim)
from (values
  ('acme key with submissions:moderate', 'alice@example.test, bob@example.test, carol@example.test', 'and a key with submissions:moderate'),
  ('rival key with submissions:moderate', 'FB403', 'a key of another organization cannot'),
  ('acme key with submissions:read', 'FB403', 'a key that may only read cannot'),
  ('anon', 'FB401', 'nobody without signing in')) as t (who, outcome, claim);

-- Removing votes
select is(tests.try('alice', format('delete from votes where id = %L', id)), '0', 'an author cannot delete another user''s vote')
from votes where user_id = tests.id('bob') and submission_id = tests.id('An idea');
select is(tests.try('adam', 'delete from votes'), '0', 'an admin cannot delete votes');
select is(pg_temp.count(), 3, 'the count is unchanged');
select is(tests.try('alice', $$ delete from votes where submission_id = tests.id('An idea') $$), '1', 'an author can delete their own vote');

-- Several rows in one statement
do $$
begin
  perform tests.submission('Second', 'alice'); perform tests.submission('Third', 'alice');
  delete from private.outbox;
end $$;
select is(tests.try('bob', $$ insert into votes (submission_id) select tests.id(unnest(array['Third', 'Second'])) $$), '2', 'one statement inserts two votes');
select is((select array_agg(pg_temp.count(name)) from unnest(array['Second', 'Third']) as name), array[2, 2], 'both are counted');
select is((select count(*) from private.outbox where type = 'submission.vote_added'), 2::bigint, 'each has an event');
select is(tests.try('bob', $$ delete from votes where submission_id in (tests.id('Third'), tests.id('Second')) $$), '2', 'one statement deletes both');
select is((select array_agg(pg_temp.count(name)) from unnest(array['Second', 'Third']) as name), array[1, 1], 'both counts decrease');

-- Keys on behalf of authors known by e-mail
do $$ begin
  insert into profiles (id, kind, organization_id, email, name) values
    (tests.id('eve'), 'email', tests.id('acme'), 'eve@example.test', 'Eve'), (tests.id('rival eve'), 'email', tests.id('rival'), 'eve@example.test', 'Eve');
  delete from notifications;
end $$;
select is(tests.try(who, pg_temp.vote(more => format('user_id = tests.id(%L)', voter))), outcome, claim) from (values
  ('acme key with submissions:write', 'acme key', '1', 'a key votes for itself'),
  ('acme key with submissions:write', 'eve', '1', 'and for an author known by e-mail'),
  ('acme key with submissions:write', 'eve', '0', 'once'),
  ('acme key with submissions:write', 'mia', '42501', 'never for a user'),
  ('acme key with submissions:write', 'rival eve', '42501', 'not for an author of another organization'),
  ('acme key with submissions:write', 'rival key', '42501', 'not for another key'),
  ('acme key with submissions:read submissions:moderate', 'eve', '42501', 'not without submissions:write')) as t (who, voter, outcome, claim);
select is(pg_temp.count(), 4, 'votes by keys are counted');
select is(tests.see('acme key with submissions:write', $$ select private.vote_of(tests.id('An idea'), tests.id('eve')) is not null $$), 'true',
  'a key sees the vote of its e-mail author');
select is(tests.see('rival key with submissions:write', $$ select private.vote_of(tests.id('An idea'), tests.id('eve')) is not null $$), 'false',
  'a key of another organization does not see it');
select is(tests.try('acme key with submissions:write', 'delete from votes'), '42501', 'a key cannot delete votes from the table');
do $$
declare who text; voter text;
begin
  for who, voter in values ('rival key with submissions:write', 'eve'), ('acme key with submissions:write', 'carol'), ('adam', 'carol') loop
    perform tests.see(who, format($q$ select private.remove_vote(tests.id('An idea'), tests.id(%L)) $q$, voter));
  end loop;
end $$;
select is(pg_temp.count(), 4, 'a key cannot delete the vote of a user it cannot act as');
do $$ begin perform tests.see('acme key with submissions:read', $q$ select private.remove_vote(tests.id('An idea'), tests.id('eve')) $q$); end $$;
select is(pg_temp.count(), 4, 'a key without submissions:write cannot delete a vote');
do $$ begin perform tests.see('acme key with submissions:write', $q$ select private.remove_vote(tests.id('An idea'), tests.id('eve')) $q$); end $$;
select is_empty($$ select from votes where user_id = tests.id('eve') $$, 'a key can delete the vote of its e-mail author');

-- Nobody gets mail because somebody else entered an address.
select is_empty($$ select from follows where user_id = tests.id('eve') $$, 'an author for whom a key votes does not follow');
insert into votes (organization_id, submission_id, user_id) values (tests.id('acme'), tests.id('An idea'), tests.id('eve'));
select is_empty($$ select from follows where user_id = tests.id('eve') $$, 'nor one for whom an operator votes');
delete from votes where user_id = tests.id('eve');
create function pg_temp.follow_for(who text, person text default 'eve', submission text default 'An idea') returns text language sql as $$
  select tests.see(who, format('select private.follow_for(tests.id(%L), tests.id(%L), ''vote'') is null', submission, person))
$$;
do $$ begin perform tests.submission('Of rivals', 'bob', 'rival'); end $$;
select is(pg_temp.follow_for(who), '42501', format('%s makes nobody follow', who)) from unnest(array['anon', 'mia', 'olga']) as who;
do $$ begin
  perform pg_temp.follow_for('acme key with submissions:read submissions:moderate'), pg_temp.follow_for('rival key with submissions:write'),
    pg_temp.follow_for('acme key with submissions:write', 'olga'), pg_temp.follow_for('acme key with submissions:write', 'rival eve'),
    pg_temp.follow_for('acme key with submissions:write', 'eve', 'Of rivals');
end $$;
select is_empty($$ select from follows where user_id in (tests.id('eve'), tests.id('rival eve'), tests.id('olga')) $$,
  'no key does for a user, an author or a submission of another organization, or without submissions:write');
do $$ begin perform pg_temp.follow_for('acme key with submissions:write'), pg_temp.follow_for('acme key with submissions:write'); end $$;
select results_eq($$ select submission_id, reason from follows where user_id = tests.id('eve') $$, $$ values (tests.id('An idea'), 'vote') $$,
  'a key does for its e-mail author who asked for it');

-- Following
select is(tests.try('mia', $$ insert into follows (submission_id) values (tests.id('An idea')) on conflict do nothing $$), '1', 'a user follows');
select is(tests.see('mia', 'select reason from follows'), 'manual', 'the reason of the follow is manual');
select is(tests.try('mia', format('insert into follows (submission_id, %s) values (tests.id(''An idea''), %s)', split_part(forged, ' = ', 1), split_part(forged, ' = ', 2))),
  '42501', 'a follow cannot be created with ' || forged) from unnest(array['user_id = tests.id(''bob'')', 'reason = ''author''']) as forged;
select is(tests.try('mia', $$ insert into follows (submission_id) values (tests.id('In the vault')) $$), 'FB404', 'a user cannot follow an invisible submission');
select is(tests.see('alice', 'select count(*) from follows where user_id <> tests.id(''alice'')'), '0', 'an author does not see other followers');
select is(tests.see('adam', 'select count(*) from follows where user_id <> tests.id(''adam'')'), '0', 'an admin does not see other followers');
select is(tests.see(who, 'select count(*) from follows'), '42501', who || ' sees no follows')
from unnest(array['anon', 'acme key with submissions:read submissions:moderate']) as who;
select is(tests.try('adam', 'delete from follows'), '0', 'an admin cannot delete follows of others');
select is(tests.try('mia', $$ delete from follows where submission_id = tests.id('An idea') $$), '1', 'a user can unfollow');
do $$ begin perform tests.try('mia', pg_temp.vote()); end $$;
select is(tests.see('mia', 'select reason from follows'), 'vote', 'voting follows again, with the reason vote');

-- An erased person
do $$ begin delete from auth.users where id = tests.id('mia'); end $$;
select is(pg_temp.count(), 4, 'the vote of a deleted user is still counted');

-- A person has one vote: by an account, by an application, by a key
do $$ begin
  insert into profiles (id, kind, organization_id, email, name) values
    (tests.id('vera of acme'), 'email', tests.id('acme'), 'Vera@Example.test', 'Vera'),
    (tests.id('vic of acme'), 'email', tests.id('acme'), 'vic@example.test', 'Vic');
  update auth.users set email_confirmed_at = null where id = tests.id('vic');
  perform tests.submission('For persons', 'alice'), tests.submission('Another', 'alice'), tests.comment('of persons', 'alice', 'For persons');
end $$;
create function pg_temp.vote_on_comment(voter text) returns text language sql as $$
  select format('insert into comment_votes (comment_id%s) values (tests.id(%L)%s) on conflict do nothing',
    case when voter <> '' then ', user_id' end, 'of persons', case when voter <> '' then format(', tests.id(%L)', voter) end)
$$;
select is(tests.try(who, statement), outcome, claim) from (values
  ('vera', pg_temp.vote('For persons'), '1', 'an account votes'),
  ('acme key with submissions:write', pg_temp.vote('For persons', 'user_id = tests.id(''vera of acme'')'), 'FB409', 'a key does not vote again for the address of the account'),
  ('operator', pg_temp.vote('For persons', 'user_id = tests.id(''vera of acme'')'), 'FB409', 'nor does a person whom an application identified with it'),
  ('vera', pg_temp.vote('For persons'), '0', 'the account has its vote still'),
  ('operator', pg_temp.vote('Another', 'user_id = tests.id(''vera of acme'')'), '1', 'an identified person votes'),
  ('acme key with submissions:write', pg_temp.vote('Another', 'user_id = tests.id(''vera of acme'')'), '0', 'the key finds that vote'),
  ('vera', pg_temp.vote('Another'), 'FB409', 'the account with the address does not vote again'),
  ('operator', pg_temp.vote('For persons', 'user_id = tests.id(''vic of acme'')'), '1', 'an address that its account has not confirmed'),
  ('vic', pg_temp.vote('For persons'), '1', 'makes nobody the same person'),
  ('vera', pg_temp.vote_on_comment(''), '1', 'an account votes for a comment'),
  ('acme key with submissions:write', pg_temp.vote_on_comment('vera of acme'), 'FB409', 'a key does not for the same address')) as t (who, statement, outcome, claim);
select is(tests.refusal('acme key with submissions:write', statement) ->> 'field', field, 'the error names ' || field) from (values
  (pg_temp.vote('For persons', 'user_id = tests.id(''vera of acme'')'), 'submission_id'), (pg_temp.vote_on_comment('vera of acme'), 'comment_id')) as t (statement, field);
select is(pg_temp.count('For persons'), 4, 'each person is counted once');

select * from finish();
rollback;
