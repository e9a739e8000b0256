-- Merge and unmerge: the target gets everything once, and unmerge restores every row.
begin;
set local search_path = public, extensions;
select plan(63);
do $$ begin
  perform tests.start();
  insert into tags (id, organization_id, name, slug) select tests.id(t), tests.id('acme'), t, t from unnest(array['ios', 'web', 'dark']) as t;
  perform tests.submission('First', 'alice');
  perform tests.submission('Second', 'bob');
  perform tests.submission('Third', 'carol');
  perform tests.submission('Rivals', 'rita', 'rival');
  perform tests.submission('Waiting', 'bob');
  update submissions set moderation_state = 'pending' where id = tests.id('Waiting');
  insert into votes (submission_id, user_id) values (tests.id('First'), tests.id('mia')), (tests.id('Second'), tests.id('mia')), (tests.id('Second'), tests.id('adam'));
  insert into submission_tags values (tests.id('acme'), tests.id('First'), tests.id('ios')), (tests.id('acme'), tests.id('Second'), tests.id('ios')), (tests.id('acme'), tests.id('Second'), tests.id('web'));
  perform tests.comment('root', 'carol', 'Second');
  perform tests.comment('reply', 'alice', 'Second', 'root');
  perform tests.comment('reply to reply', 'mia', 'Second', 'reply');
  perform tests.comment('at first', 'bob', 'First');
  insert into comment_votes (comment_id, user_id) values (tests.id('reply'), tests.id('bob'));
  delete from private.outbox; delete from notifications;
end $$;

create function pg_temp.merge(sources text[], target text) returns text language sql as $$
  select format('select private.admin_merge(%L, %L)', array(select tests.id(s) from unnest(sources) s), tests.id(target)) $$;
create function pg_temp.unmerge(source text) returns text language sql as $$ select format('select private.admin_unmerge(%L)', tests.id(source)) $$;
-- All rows of the board's submissions.
create function pg_temp.board() returns jsonb language sql as $$
  select jsonb_build_object(
    'submissions', (select jsonb_agg(jsonb_build_array(title, status, merged_into_id, vote_count, comment_count) order by title) from submissions where organization_id = tests.id('acme')),
    'votes', (select jsonb_agg(to_jsonb(v) order by submission_id, user_id) from votes v),
    'follows', (select jsonb_agg(to_jsonb(f) order by submission_id, user_id) from follows f),
    'tags', (select jsonb_agg(to_jsonb(t) order by submission_id, tag_id) from submission_tags t),
    'comments', (select jsonb_agg(to_jsonb(c) order by id) from comments c),
    'comment_votes', (select jsonb_agg(to_jsonb(c) order by id) from comment_votes c)) $$;
create function pg_temp.of(submission text) returns text language sql as $$
  select format('%s votes, %s comments, tags %s, followed by %s', vote_count, comment_count,
    (select string_agg(slug, ' ' order by slug) from submission_tags st join tags t on t.id = st.tag_id where st.submission_id = s.id),
    (select string_agg(lower(p.name), ' ' order by p.name) from profiles p where private.is_follower(s.id, p.id)))
  from submissions s where id = tests.id(submission) $$;

-- Preview
create function pg_temp.preview(sources text[], target text) returns text language sql as $$
  select format('select private.admin_merge_preview(%L, %L)', array(select tests.id(s) from unnest(sources) s), tests.id(target)) $$;
select is(tests.try(who, pg_temp.preview(array['Second'], 'First')), outcome, format('%s asks what a merge would make: %s', who, outcome)) from (values
  ('anon', '42501'), ('alice', 'FB403'), ('mia', 'FB403'), ('rita', 'FB403')) as t (who, outcome);
select is(tests.see('adam', 'select concat_ws('' '', j ->> ''vote_count'', j ->> ''comment_count'', j ->> ''earlier_count'', j ->> ''tags'') from (' || pg_temp.preview(array['Second', 'Rivals'], 'First') || ') as p (j)'),
  '4 4 0 ["web"]', 'the preview equals the result, and has no submissions of other boards');

-- Permissions and validation
select is(tests.try(who, pg_temp.merge(sources, target)), outcome, claim) from (values
  ('rita', array['Second'], 'First', 'FB403', 'an admin of another board cannot'),
  ('adam', array['Rivals'], 'First', 'FB404', 'a source of another board is not found'),
  ('adam', array['Second', 'Rivals'], 'First', 'FB404', 'a source of another board among others is not found'),
  ('adam', array['Second'], 'Rivals', 'FB403', 'a target of another board is forbidden'),
  ('adam', array['Nowhere'], 'First', 'FB404', 'a missing source is not found'),
  ('rita', array['Rivals'], 'Waiting', 'FB404', 'an invisible target is not found'),
  ('adam', array['Second', 'First'], 'First', 'FB400', 'a submission cannot be merged into itself'),
  ('adam', array['Waiting'], 'First', 'FB409', 'a pending submission cannot be merged'),
  ('adam', array['First'], 'Waiting', 'FB409', 'a pending submission cannot be a target'),
  ('rival key with submissions:moderate', array['Second'], 'First', 'FB404', 'a key of another organization cannot'),
  ('adam', array['Second'], null, 'FB404', 'a target is required')) as t (who, sources, target, outcome, claim);

-- One merge
create temporary table before as select pg_temp.board() as board;
select is(tests.try('adam', pg_temp.merge(array['Second', 'Second'], 'First')), '1', 'an admin merges submissions');
select is(pg_temp.of('First'), '4 votes, 4 comments, tags ios web, followed by adam alice bob carol mia', 'the target has all votes, comments, tags and followers once');
select is(pg_temp.of('Second'), '0 votes, 0 comments, tags , followed by adam alice bob carol mia', 'the source keeps its followers only');
select results_eq($$ select status, merged_into_id from submissions where id = tests.id('Second') $$, $$ values ('duplicate', tests.id('First')) $$, 'the source points to the target');
select results_eq($$ select submission_id, parent_id, reply_count, vote_count from comments where id = tests.id('reply') $$,
  $$ values (tests.id('First'), tests.id('root'), 1, 1) $$, 'parents of comments are kept');
select results_eq($$ select submission_id from comment_votes $$, array[tests.id('First')], 'votes for comments are kept');
select set_eq($$ select type, subject_id from private.outbox $$,
  $$ values ('submission.status_changed', tests.id('Second')), ('submission.updated', tests.id('Second')), ('submission.updated', tests.id('First')) $$,
  'events are created for the submissions, not for each vote and comment');
select is((select data #>> '{submission,merged_into_id}' from private.outbox where type = 'submission.updated' and subject_id = tests.id('Second')), tests.id('First')::text, 'the event of the source names the target');
select set_eq($$ select user_id, type, submission_id from notifications $$,
  $$ select tests.id(who) as user_id, 'merged' as type, tests.id('First') as submission_id from unnest(array['bob', 'carol', 'alice', 'mia']) as who $$, 'followers of the source are notified, the admin is not');
select results_eq($$ select actor_id, action, target_id, details from private.audit_log $$,
  $$ values (tests.id('adam'), 'submission.merge', tests.id('First'), jsonb_build_object('source_ids', array[tests.id('Second')])) $$, 'the audit trail has the merge');
select results_eq($$ select previous_status, new_status, changed_by from status_changes where submission_id = tests.id('Second') $$,
  $$ values ('open', 'duplicate', tests.id('adam')) $$, 'the status history has the merge');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct');
select is(tests.try('adam', pg_temp.merge(array['Second'], 'Third')), 'FBM09', 'a merged submission cannot be merged again');
select is(tests.try('adam', pg_temp.merge(array['Third'], 'Second')), 'FBM09', 'a merged submission cannot be a target');
select is(tests.try('adam', pg_temp.merge(array['First'], 'Second')), 'FBM09', 'a target cannot be merged into its source');
select is(tests.try('adam', pg_temp.merge(array['First', 'Second'], 'Third')), 'FBM09', 'a source cannot be merged together with its target');
select is(tests.try('carol', $$ insert into votes (submission_id) values (tests.id('Second')) $$), 'FBM09', 'a merged submission cannot be voted for');
select is(tests.try('bob', $$ delete from submissions where id = tests.id('First') $$), '0', 'other users cannot delete the target');
select is(tests.try('alice', $$ delete from submissions where id = tests.id('First') $$), 'FB409', 'the author cannot delete the target');

-- Unmerge
select is(tests.try('mia', pg_temp.unmerge('Second')), 'FB403', 'a member cannot unmerge');
select is(tests.try('adam', pg_temp.unmerge('First')), 'FB409', 'a submission that is not merged cannot be unmerged');
select is(tests.try('adam', pg_temp.unmerge('Second')), '1', 'an admin unmerges a submission');
select is(pg_temp.board(), (select board from before), 'every row is restored');
select is_empty('select * from private.count_discrepancies()', 'every counter is restored');
select is_empty('select from private.merged_votes union all select from private.merged_tags union all select from private.merged_comments', 'the merge journal is empty');

-- A chain, later changes, and unmerging
do $$ begin
  perform tests.merge('Second', 'First');
  perform tests.try('carol', $s$ insert into votes (submission_id) values (tests.id('First')) $s$);
  perform tests.try('carol', $s$ insert into comments (id, submission_id, parent_id, body) values (tests.id('later reply'), tests.id('First'), tests.id('root'), 'Later') $s$);
  perform tests.try('carol', $s$ insert into comments (id, submission_id, body) values (tests.id('later'), tests.id('First'), 'Later') $s$);
  perform tests.try('adam', $s$ delete from votes where submission_id = tests.id('First') $s$);
  delete from notifications;
  perform tests.merge('First', 'Third');
end $$;
select set_eq($$ select title, merged_into_id from submissions where merged_into_id is not null $$,
  $$ values ('First', tests.id('Third')), ('Second', tests.id('Third')) $$, 'a chain of merges points to the last target');
select is(pg_temp.of('Third'), '4 votes, 6 comments, tags ios web, followed by adam alice bob carol mia', 'the last target has all rows');
select ok(exists (select from notifications where user_id = tests.id('bob') and type = 'merged'), 'followers of the first source are notified');
do $$ begin perform tests.try('olga', pg_temp.unmerge('Second')); end $$;
select is(pg_temp.of('Second'), '2 votes, 4 comments, tags ios web, followed by adam alice bob carol mia',
  'unmerging a middle submission returns its rows and their new replies, and no deleted votes');
select is(pg_temp.of('Third'), '3 votes, 2 comments, tags ios, followed by alice bob carol mia', 'the other rows stay');
do $$ begin perform tests.try('olga', pg_temp.unmerge('First')); end $$;
select is(pg_temp.of('First'), '3 votes, 2 comments, tags ios, followed by alice bob carol mia', 'an unmerged submission has the rows that it received since');
select is(pg_temp.of('Third'), '1 votes, 0 comments, tags , followed by carol', 'the last target keeps its own rows');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct after unmerging');

-- A person who voted for source and target under one address is counted once
do $$ begin
  insert into profiles (id, kind, organization_id, email, name) values
    (tests.id('adam of acme'), 'email', tests.id('acme'), 'ADAM@example.test', 'Adam'), (tests.id('eve'), 'email', tests.id('acme'), 'eve@example.test', 'Eve');
  perform tests.submission('With account', 'carol'), tests.submission('With address', 'bob'), tests.submission('With both', 'alice');
  insert into votes (submission_id, user_id) values (tests.id('With account'), tests.id('adam')), (tests.id('With address'), tests.id('adam of acme')),
    (tests.id('With address'), tests.id('eve')), (tests.id('With both'), tests.id('adam of acme'));
end $$;
create temporary table board_before as select pg_temp.board() as board;
select is(tests.see('olga', format('select private.admin_merge_preview(array[%L, %L]::uuid[], %L) ->> %L', tests.id('With address'), tests.id('With both'),
  tests.id('With account'), 'vote_count')), '5', 'the preview counts persons');
do $$ begin perform tests.try('olga', pg_temp.merge(array['With address', 'With both'], 'With account')); end $$;
select is((select vote_count from submissions where id = tests.id('With account')), 5, 'the merge has one vote of a person with an account and an address');
select set_eq($$ select source_id from private.merged_votes where user_id = tests.id('adam of acme') $$, array[tests.id('With address'), tests.id('With both')],
  'the journal keeps the others');
do $$ begin perform tests.try('olga', pg_temp.unmerge('With address')); end $$;
select is((select vote_count from submissions where id = tests.id('With address')), 3, 'a source gets the vote of the address back');
select is((select vote_count from submissions where id = tests.id('With account')), 3, 'and the target keeps that of the account');
do $$ begin perform tests.try('olga', pg_temp.unmerge('With both')); end $$;
select is((select vote_count from submissions where id = tests.id('With both')), 2, 'each source has its own');
do $$ begin
  perform tests.try('olga', pg_temp.merge(array['With both'], 'With account'));
  perform tests.merge('With account', 'With address');
end $$;
select is((select vote_count from submissions where id = tests.id('With address')), 5, 'a chain of merges counts the person once');
do $$ begin perform tests.try('olga', pg_temp.unmerge('With account')), tests.try('olga', pg_temp.unmerge('With both')); end $$;
select is((select jsonb_agg(v order by v) from jsonb_array_elements(pg_temp.board() -> 'submissions') v),
  (select jsonb_agg(v order by v) from board_before, jsonb_array_elements(board -> 'submissions') v), 'unmerging all restores the counts');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct');

do $$ begin
  perform tests.try('olga', pg_temp.merge(array['With address', 'With both'], 'With account'));
  perform tests.try('adam', $s$ delete from votes where submission_id = tests.id('With account') $s$);
  perform tests.try('olga', pg_temp.unmerge('With address')), tests.try('olga', pg_temp.unmerge('With both'));
end $$;
select is_empty($$ select from votes v join profiles p on p.id = v.user_id where lower(p.email) = 'adam@example.test' and v.submission_id
  in (tests.id('With account'), tests.id('With address'), tests.id('With both')) $$, 'who removes the vote at the target has none after an unmerge either');
select is_empty('select * from private.count_discrepancies()', 'and all counters are correct');

-- A source that is deleted
do $$ begin
  perform tests.merge('Second', 'First');
  perform tests.merge('First', 'Third');
  delete from submissions where id = tests.id('First');
end $$;
select is((select parent_id from private.merges where source_id = tests.id('Second')), tests.id('Third'), 'sources of a deleted source point to the target');
select is((select vote_count from submissions where id = tests.id('Third')), 4, 'the target keeps the votes');
do $$ begin delete from organizations where slug = 'acme'; end $$;
select is_empty('select from private.merges union all select from private.merged_votes union all select from private.merged_comments', 'deleting the organization deletes the journal');

select * from finish();
rollback;
