-- Comments: permissions to write, edit and delete, and exact counts.
begin;
set local search_path = public, extensions;
select plan(106);
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
  perform tests.submission('Another', 'alice');
  perform tests.submission('In the vault', 'vic', 'vault');
  perform tests.submission('Merged away', 'bob');
  perform tests.comment('on another', 'carol', 'Another');
  perform tests.comment('in the vault', 'vic', 'In the vault');
  perform tests.submission('Merged into', 'alice');
  perform tests.merge('Merged away', 'Merged into');
  delete from notifications;
end $$;

create function pg_temp.say(body text, submission text default 'An idea', parent text default null, more text default '') returns text language sql as $$
  select format('insert into comments (submission_id, body, parent_id%s) values (tests.id(%L), %L, %L%s)',
    case when more <> '' then ', ' || split_part(more, ' = ', 1) end, submission, body, tests.id(parent),
    case when more <> '' then ', ' || split_part(more, ' = ', 2) end)
$$;
create function pg_temp.comments(submission text default 'An idea') returns integer language sql as
  $$ select comment_count from submissions where id = tests.id(submission) $$;
create function pg_temp.replies(comment text) returns integer language sql as
  $$ select reply_count from comments where id = tests.id(comment) $$;

-- Writing
do $$ begin perform tests.try('bob', pg_temp.say('Hello there.')); end $$;
select is(tests.try('bob', pg_temp.say('Forged.', more => forged)), '42501', 'a comment cannot be created with ' || forged)
from unnest(array['author_id = tests.id(''adam'')', 'author_id = tests.id(''bob'')', 'is_official = true', 'vote_count = 9', 'reply_count = 9',
  'moderation_state = ''approved''', 'is_public = true', 'created_at = now()', 'organization_id = tests.id(''acme'')']) as forged;
select is(tests.try(who, pg_temp.say('Hello.', submission, parent)), outcome, claim) from (values
  ('bob', 'In the vault', null, 'FB404', 'an invisible submission takes no comment'),
  ('bob', 'An idea', 'in the vault', 'FB404', 'an invisible comment takes no reply'),
  ('vera', 'In the vault', 'in the vault', '1', 'a member replies on a private board'),
  ('rival key with submissions:write', 'An idea', null, 'FB404', 'a key of another organization cannot')) as t (who, submission, parent, outcome, claim);
select throws_ok($$ insert into comments (submission_id, author_id, body, parent_id) values (tests.id('An idea'), tests.id('bob'), 'Hello.', tests.id('on another')) $$,
  'FB404', null, 'even the service role cannot reply to a comment of another submission');

-- Keys
do $$ begin
  insert into profiles (id, kind, organization_id, email, name) values
    (tests.id('eve'), 'email', tests.id('acme'), 'eve@example.test', 'Eve'), (tests.id('rival eve'), 'email', tests.id('rival'), 'eve@example.test', 'Eve');
end $$;
select is(tests.try('acme key with submissions:write', pg_temp.say('Hello.', more => format('author_id = tests.id(%L)', author))), outcome, claim)
from (values
  ('acme key', '1', 'a key comments for itself'),
  ('eve', '1', 'and for an author known by e-mail'),
  ('bob', '42501', 'never for a user'),
  ('mia', '42501', 'not for a member, officially'),
  ('rival eve', '42501', 'not for an author of another organization')) as t (author, outcome, claim);
select is_empty($$ select from follows where user_id = tests.id('eve') $$, 'an author for whom a key comments does not follow');
do $$ begin
  delete from notifications;
  insert into comments (organization_id, submission_id, parent_id, author_id, body)
  select organization_id, submission_id, id, tests.id('bob'), 'A reply' from comments where author_id = tests.id('eve');
end $$;
select is_empty($$ select from notifications where user_id = tests.id('eve') $$, 'and is not told of replies');
do $$ begin
  perform tests.see('acme key with submissions:write', $q$ select private.follow_for(tests.id('An idea'), tests.id('eve'), 'comment') $q$);
  insert into comments (organization_id, submission_id, parent_id, author_id, body)
  select organization_id, submission_id, id, tests.id('bob'), 'Another' from comments where author_id = tests.id('eve');
end $$;
select is((select type from notifications where user_id = tests.id('eve')), 'reply', 'unless they asked to follow');
do $$ begin delete from comments where body in ('A reply', 'Another'); delete from follows where user_id = tests.id('eve'); end $$;
select is(tests.see(who, $$ select private.written_comment(id) ->> 'body' from comments where author_id = tests.id('eve') $$), body, claim) from (values
  ('acme key with submissions:write', 'Hello.', 'a key reads its own comment'),
  ('acme key', 'Hello.', 'and that of another key of the organization'),
  ('rival key with submissions:write', null, 'another organization''s key cannot'),
  ('adam', null, 'a person who did not write it cannot')) as t (who, body, claim);
select is(tests.try('acme key with submissions:write', 'update comments set body = ''Changed.'''), '42501', 'a key edits no comment');

-- Editing
do $$ begin
  delete from private.rate_counters;
  perform tests.comment('fresh', 'bob', 'Another');
  update comments set created_at = now() - private.comment_edit_window() where id = tests.id('fresh');
end $$;
select is(tests.try('bob', format('update comments set %s where id = tests.id(''fresh'')', change)), '42501', 'a comment cannot be updated with ' || change)
from unnest(array['is_official = true', 'vote_count = 9', 'author_id = tests.id(''adam'')', 'submission_id = tests.id(''An idea'')', 'parent_id = null',
  'created_at = now()', 'moderation_state = ''approved''', 'is_public = true']) as change;
select is(tests.see('bob', $$ update comments set body = ' trimmed ' where id = tests.id('fresh') returning body $$), 'trimmed', 'an edited comment is trimmed');

-- Comments written for the team
do $$ begin perform tests.comment('for the team', who, 'Another') from unnest(array['mia']) as who; end $$;
select is((select is_official from comments where id = tests.id('for the team')), true, 'a member speaks for the team');
select is(tests.try('mia', 'update comments set body = ''Better so.'' where id = tests.id(''for the team'')'), '1', 'and edits what they said');
delete from memberships where user_id = tests.id('mia');
select is(tests.try('mia', 'update comments set body = ''Theirs.'' where id = tests.id(''for the team'')'), '0', 'who left the team does not edit it');
select is(tests.try('mia', 'delete from comments where id = tests.id(''for the team'')'), '0', 'nor delete it');
insert into memberships (organization_id, user_id) values (tests.id('acme'), tests.id('mia'));
select is(tests.try('adam', 'delete from comments where id = tests.id(''for the team'')'), '1', 'an admin does');

-- Threads and deleting
do $$ begin
  perform tests.submission('A thread', 'alice');
  perform tests.comment('top', 'bob', 'A thread');
  perform tests.comment('reply', 'carol', 'A thread', 'top');
  perform tests.comment('reply 2', 'carol', 'A thread', 'top');
  perform tests.comment('deeper', 'bob', 'A thread', 'reply');
  perform tests.comment('aside', 'carol', 'A thread');
  insert into comment_votes (comment_id, user_id) values (tests.id('deeper'), tests.id('carol')), (tests.id('top'), tests.id('carol'));
  delete from private.rate_counters;
  delete from private.outbox;
end $$;
select is(tests.try('carol', $$ delete from comments where id = tests.id('reply') $$), '1', 'an author can delete a comment');
select is((select sum(used) from private.rate_counters where rule = 'comment_delete'), 1::bigint, 'its author is charged for one deletion');
select is_empty($$ select from private.rate_counters where rule = 'vote_delete' $$, 'votes deleted with it are not charged');
select is(tests.try('adam', $$ delete from comments where id = tests.id('aside') $$), '1', 'an admin can delete any comment');
select is(tests.try('acme key with submissions:read submissions:moderate', $$ delete from comments where id = tests.id('top') $$), '1',
  'a key with submissions:moderate can delete any comment');
select is(pg_temp.comments('A thread'), 0, 'no comment is counted any more');
select is_empty('select from private.outbox', 'deleting a comment creates no event');
do $$ begin perform tests.try('acme key with submissions:write', pg_temp.say('My own.', 'A thread', more => 'author_id = tests.id(''eve'')')); end $$;
select is(tests.try('acme key with submissions:read', $$ delete from comments where author_id = tests.id('eve') $$), '0',
  'a key without submissions:write cannot delete comments of e-mail authors');
select is(tests.try('acme key with submissions:read', $$ delete from comments where author_id = tests.id('acme key') $$), '0',
  'a key without submissions:write cannot delete comments of the organization''s key');

create function pg_temp.chain(depth integer) returns void language sql as $$
  insert into comments (id, submission_id, author_id, body, parent_id)
  select tests.id('level ' || n), tests.id('Another'), tests.id(case n % 2 when 0 then 'bob' else 'carol' end), 'level ' || n,
    case when n > 1 then tests.id('level ' || n - 1) end
  from generate_series(1, depth) as n
$$;
do $$ begin
  delete from comments where submission_id = tests.id('Another');
  perform tests.comment('beside', 'bob', 'Another');
  perform pg_temp.chain(300);
end $$;
select is(pg_temp.comments('Another'), 301, 'a thread can be 300 levels deep');
select is(tests.try('carol', $$ delete from comments where id = tests.id('level 1') $$), '1', 'its author can delete it from the top');
set constraints all immediate;
set constraints all deferred;
select is((select string_agg(body, ', ') from comments where submission_id = tests.id('Another')), 'beside', 'as a whole');
select is(pg_temp.comments('Another'), 1, 'none of its comments is counted any more');
do $$ begin perform pg_temp.chain(1000); perform tests.try('bob', $q$ delete from comments where id = tests.id('level 500') $q$); end $$;
set constraints all immediate;
set constraints all deferred;
select is(pg_temp.comments('Another'), 500, 'deleting a thread of 1000 levels first deletes the lower half');
select is(pg_temp.replies('level 499'), 0, 'the lowest remaining comment has no replies');
select is(tests.try('carol', $$ delete from comments where id = tests.id('level 1') $$), '1', 'a second deletion deletes the rest');
select is(pg_temp.comments('Another'), 1, 'nothing remains');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct');
do $$ begin perform pg_temp.chain(50); delete from comments where id in (tests.id('level 10'), tests.id('level 30'), tests.id('level 31')); end $$;
select is(pg_temp.comments('Another'), 10, 'one statement deletes several comments of one thread');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct afterwards');

-- Approval and moderation
do $$ begin
  delete from comments where submission_id = tests.id('An idea'); delete from follows where submission_id = tests.id('An idea');
  update organizations set require_approval = true where slug = 'acme';
  delete from private.rate_counters; delete from private.outbox; delete from notifications;
end $$;
select is(tests.see(who, pg_temp.say('Waiting?') || $$ returning moderation_state || ' ' || is_public $$), state, claim) from (values
  ('bob', 'pending false', 'where approval is required a stranger''s comment waits'),
  ('mia', 'approved true', 'and a member''s does not')) as t (who, state, claim);
select is(pg_temp.comments(), 1, 'a pending comment is not counted');
select is((select count(*) from private.outbox), 1::bigint, 'a pending comment creates no event');
do $$ begin
  update comments set id = tests.id('waiting') where author_id = tests.id('bob') and submission_id = tests.id('An idea');
  perform tests.comment('approved', 'carol', 'An idea');
  delete from private.outbox; delete from notifications;
end $$;
select is(tests.try('carol', pg_temp.say('To a pending one.', parent => 'waiting')), 'FB404', 'other users cannot reply to a pending comment');
do $$ begin update comments set moderation_state = 'approved' where id = tests.id('waiting'); end $$;
select is(pg_temp.comments(), 3, 'an approved comment is counted');
select results_eq($$ select type, data #>> '{comment,id}' from private.outbox $$, $$ values ('comment.created', tests.id('waiting')::text) $$, 'its approval creates an event');
select set_eq('select user_id from notifications', array[tests.id('alice'), tests.id('mia'), tests.id('carol')], 'the author and the followers are notified');
do $$ begin
  perform tests.comment('under it', 'carol', 'An idea', 'waiting');
  update comments set moderation_state = 'spam' where id = tests.id('under it');
end $$;
select is(array[pg_temp.comments(), pg_temp.replies('waiting')], array[3, 0], 'a reply marked as spam is not counted any more');
do $$ begin update comments set moderation_state = 'rejected' where id = tests.id('under it'); end $$;
select is(array[pg_temp.comments(), pg_temp.replies('waiting')], array[3, 0], 'changing spam to rejected changes no count');
do $$ begin update comments set moderation_state = 'approved' where id = tests.id('under it'); end $$;
select is(array[pg_temp.comments(), pg_temp.replies('waiting')], array[4, 1], 'an approved reply is counted again');
select is((select count(*) from private.outbox where data #>> '{comment,id}' = tests.id('under it')::text), 1::bigint, 'no second event is created');
do $$ begin update comments set moderation_state = 'spam' where id = tests.id('under it'); delete from comments where id = tests.id('waiting'); end $$;
select is(pg_temp.comments(), 2, 'deleting an uncounted comment changes no count');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct after moderation');

-- Votes on comments
do $$ begin
  perform tests.submission('To vote on', 'alice');
  perform tests.comment('a comment', 'alice', 'To vote on');
  delete from private.rate_counters; delete from private.outbox; delete from notifications; delete from follows;
end $$;
create function pg_temp.vote(comment text default 'a comment', more text default '') returns text language sql as $$
  select format('insert into comment_votes (comment_id%s) values (tests.id(%L)%s) on conflict do nothing',
    case when more <> '' then ', ' || split_part(more, ' = ', 1) end, comment, case when more <> '' then ', ' || split_part(more, ' = ', 2) end)
$$;
create function pg_temp.votes() returns integer language sql as $$ select vote_count from comments where id = tests.id('a comment') $$;
select is(tests.try('bob', pg_temp.vote()), '1', 'a user votes for a comment');
select is(tests.try('alice', pg_temp.vote()), '1', 'its author may vote');
select is_empty('select from private.outbox', 'a vote for a comment creates no event');
select is(tests.try(who, pg_temp.vote(comment)), outcome, claim) from (values
  ('bob', 'in the vault', 'FB404', 'an invisible comment takes no vote'),
  ('acme key with submissions:read', 'a comment', '42501', 'a key without submissions:write does not vote'),
  ('rival key with submissions:write', 'a comment', 'FB404', 'a key of another organization cannot')) as t (who, comment, outcome, claim);
select is(tests.try('carol', pg_temp.vote(more => forged)), '42501', 'a vote cannot be created with ' || forged)
from unnest(array['user_id = tests.id(''carol'')', 'submission_id = tests.id(''To vote on'')', 'created_at = now()', 'id = tests.id(''mine'')']) as forged;
select is(tests.see(who, question), '42501', format('%s cannot read voters by: %s', who, question))
from unnest(array['anon', 'carol', 'adam', 'acme key with submissions:moderate']) as who, unnest(array[
  'select * from comment_votes limit 1', 'select count(*) from comment_votes where user_id = tests.id(''bob'')',
  'select id from comment_votes order by user_id limit 1']) as question;
select is(tests.try('alice', format('delete from comment_votes where id = %L', id)), '0', 'a user cannot delete another user''s vote')
from comment_votes where user_id = tests.id('bob') and comment_id = tests.id('a comment');
select is(tests.see('bob', $$ select private.comment_vote_of(tests.id('a comment'), tests.id('bob')) is not null $$), 'true', 'a voter sees their own vote');
select is(tests.see('carol', $$ select private.comment_vote_of(tests.id('a comment'), tests.id('bob')) is not null $$), 'false', 'other users do not see it');
select is(tests.try('acme key with submissions:write', pg_temp.vote(more => format('user_id = tests.id(%L)', voter))), outcome, claim) from (values
  ('eve', '1', 'a key votes for an author known by e-mail'),
  ('carol', '42501', 'never for a user')) as t (voter, outcome, claim);
do $$ begin
  perform tests.see(who, $q$ select private.remove_comment_vote(tests.id('a comment'), tests.id('eve')) $q$)
  from unnest(array['carol', 'rival key with submissions:write', 'acme key with submissions:read']) as who;
end $$;
select is(pg_temp.votes(), 3, 'votes cannot be deleted by other users, or by a key without submissions:write');
do $$ begin perform tests.see('acme key with submissions:write', $q$ select private.remove_comment_vote(tests.id('a comment'), tests.id('eve')) $q$); end $$;
select is(pg_temp.votes(), 2, 'a key can delete the vote of its e-mail author');

-- Editable columns: every list of them contains all
create function pg_temp.editable() returns setof text language sql as $$ select unnest(private.editable_columns('public.comments')) $$;
select bag_eq($$ select t.tgname::text, a.attname::text from pg_trigger t join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = any (t.tgattr)
    where t.tgrelid = 'public.comments'::regclass and t.tgname in ('edit', 'follow_edit', 'require_participation') $$,
  $$ select t, c from unnest(array['edit', 'follow_edit', 'require_participation']) t, pg_temp.editable() c $$, 'the triggers of an edit fire for each');
select is_empty($$ select c from pg_temp.editable() c
  where (select prosrc from pg_proc where oid = 'private.review_comment_edit'::regproc) !~ format('new\.%s <> old\.%1$s', c) $$, 'a change of each needs the approval again');

select * from finish();
rollback;
