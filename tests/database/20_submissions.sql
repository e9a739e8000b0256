-- Creating, editing and deleting submissions.
begin;
set local search_path = public, extensions;
select plan(99);
do $$ begin
  perform tests.start();
  insert into categories (id, organization_id, name, slug) values
    (tests.id('ui'), tests.id('acme'), 'Interface', 'ui'), (tests.id('rival ui'), tests.id('rival'), 'Interface', 'ui');
  insert into tags (id, organization_id, name, slug) values
    (tests.id('fast'), tests.id('acme'), 'Fast', 'fast'), (tests.id('rival fast'), tests.id('rival'), 'Fast', 'fast');
end $$;

create function pg_temp.submit(more text default '', title text default 'Dark mode', description text default 'Please add a dark mode.')
returns text language sql as $$
  select format('insert into submissions (organization_id, title, description, type%s) values (%L, %L, %L, ''idea''%s)',
    case when more <> '' then ', ' || split_part(more, ' = ', 1) end, tests.id('acme'), title, description,
    case when more <> '' then ', ' || split_part(more, ' = ', 2) end)
$$;

-- At creation
do $$ begin perform tests.try('alice', pg_temp.submit(title => 'First of all')); end $$;
select set_eq('select type from private.outbox', array['submission.created'], 'one event is created, without one for the vote');
select is_empty($$ select from private.rate_counters where rule like 'vote%' $$, 'the author''s own vote charges no rate limit');

-- Read-only columns
select is(tests.try('alice', pg_temp.submit(forged)), '42501', 'a submission cannot be created with ' || forged)
from unnest(array['author_id = tests.id(''bob'')', 'author_id = tests.id(''alice'')', 'status = ''planned''', 'vote_count = 99', 'comment_count = 99',
  'is_public = true', 'moderation_state = ''approved''', 'merged_into_id = null', 'source = ''ios''', 'tracker_issue_url = ''https://example.test/1''',
  'created_at = now()']) as forged;
select is(tests.try('anon', pg_temp.submit()), '42501', 'an anonymous client cannot submit');
select is(tests.try('alice', format('update submissions set %s', change)), '42501', 'a submission cannot be updated with ' || change)
from unnest(array['status = ''planned''', 'vote_count = 99', 'comment_count = 99', 'is_public = true', 'moderation_state = ''approved''',
  'author_id = tests.id(''alice'')', 'organization_id = tests.id(''rival'')', 'type = ''problem''', 'merged_into_id = id', 'created_at = now()']) as change;

-- Boards
select is(tests.try('alice', replace(pg_temp.submit(), tests.id('acme')::text, tests.id('vault')::text)), '42501',
  'a user cannot submit to a private board that they cannot see');
select is(tests.try('vic', replace(pg_temp.submit(), tests.id('acme')::text, tests.id('vault')::text)), '1',
  'a member can submit to their private board');
select is((select is_public from submissions where organization_id = tests.id('vault')), false, 'a submission to a private board is not public');
select is(tests.try('alice', replace(pg_temp.submit(), tests.id('acme')::text, tests.id('nowhere')::text)), '42501',
  'a submission to an unknown organization is rejected');
select is(tests.refusal('alice', $$ insert into submissions (title, description, type) values ('Whose is it?', 'Which board should this go to?', 'idea') $$)
  ->> 'field', 'organization_id', 'without a default organization, organization_id is required');
select is(
  tests.see('alice', $$ select set_config('feedback.organization_id', tests.id('rival')::text, true);
    insert into submissions (title, description, type) values ('Whose is it?', 'Which board should this go to?', 'idea')
    returning organization_id = tests.id('rival') $$),
  'true', 'the organization named by the request is used');
do $$ begin update organizations set is_default = true where slug = 'acme'; end $$;
select is(
  tests.see('alice', $$ insert into submissions (title, description, type) values ('Whose is it?', 'Which board should this go to?', 'idea')
    returning organization_id = tests.id('acme') $$),
  'true', 'otherwise the default organization is used');
select throws_ok($$ update organizations set is_default = true where slug = 'rival' $$, '23505', null, 'there is at most one default organization');

-- Keys
select is(tests.try('acme key with submissions:read submissions:moderate', pg_temp.submit()), '42501', 'a key without submissions:write cannot submit');
select is(tests.try('rival key with submissions:write', pg_temp.submit()), '42501', 'a key of another organization cannot submit');
select is(tests.try('acme key with submissions:write', pg_temp.submit('author_id = tests.id(''alice'')')), '42501',
  'a key cannot submit as a user');
select is(tests.try('acme key with submissions:write', pg_temp.submit('author_id = tests.id(''rival key'')')), '42501',
  'a key cannot submit as a key of another organization');
do $$ begin perform tests.try('acme key with submissions:write', pg_temp.submit('author_id = private.author_of_key(''Eve@Example.test'', ''Eve'')', 'What Eve wants')); end $$;
select results_eq($$ select kind, email, organization_id, auth_user_id from profiles where name = 'Eve' $$,
  $$ values ('email', 'eve@example.test', tests.id('acme'), null::uuid) $$, 'an e-mail author is a profile of the organization, without a user');
select isnt(tests.see('rival key with submissions:write', $$ select private.author_of_key('eve@example.test', null) $$),
  (select id::text from profiles where name = 'Eve'), 'another organization has an e-mail author of its own');
select is(tests.try('acme key with submissions:write', pg_temp.submit(format('author_id = private.author_of_key(null, %L)', name), 'What a name wants')),
  '1', 'a key submits for an author with a name only') from unnest(array['Eve', E'\u202e Eve', 'Alice']) as name;
select results_eq(
  $$ select distinct p.kind, p.name, p.email, p.organization_id from profiles p join submissions s on s.author_id = p.id where title = 'What a name wants' order by p.name $$,
  $$ values ('anonymous', 'Alice', null::text, tests.id('acme')), ('anonymous', 'Eve', null, tests.id('acme')) $$,
  'an author with a name is one profile of the organization: not the e-mail author, not the user of that name, whatever invisible characters it has');
select isnt(tests.see('rival key with submissions:write', $$ select private.author_of_key(null, 'Eve') $$),
  (select id::text from profiles where name = 'Eve' and named_by_key and organization_id = tests.id('acme')), 'another organization has an author of its own with the name');
select is(tests.see(who, format($$ select private.is_author_of_key(%L) $$, (select id from profiles where name = 'Eve' and named_by_key and organization_id = tests.id('acme')))), may::text,
  who || ' acts as an author with a name: ' || may) from (values
  ('acme key with submissions:write', true), ('rival key with submissions:write', false), ('alice', false)) as c (who, may);
insert into profiles (id, kind, organization_id, name) values (tests.id('imported Eve'), 'anonymous', tests.id('acme'), 'Eve');
select is(tests.see('acme key with submissions:write', format($$ select private.is_author_of_key(%L) $$, tests.id('imported Eve'))), 'false',
  'a key does not act as an imported author of the same name');
select is(tests.try('acme key with submissions:write', format('select private.author_of_key(null, %L)', name)), '23514 name_has_1_to_100_characters',
  'a name of nothing visible is none') from unnest(array[E'\u202e', ' ', '']) as name;
select is(tests.see('acme key with submissions:read', $$ select private.author_of_key('new@example.test', null) $$), 'FB403',
  'a key without submissions:write cannot create an author');
select is(tests.see('alice', $$ select private.author_of_key('new@example.test', null) $$), 'FB403', 'a user cannot create an author');

select is(tests.try('alice', replace(pg_temp.submit(), '''idea''', '''wish''')), '23514 type_is_idea_or_problem', 'an unknown type is rejected');

-- Categories and tags
do $$ begin
  perform tests.submission('Alices idea', 'alice');
  perform tests.submission('Bobs idea', 'bob');
end $$;
select is(tests.try(who, format('insert into submission_tags values (tests.id(%L), tests.id(''Alices idea''), tests.id(%L))', organization, tag)), outcome, claim)
from (values
  ('adam', 'acme', 'fast', '1', 'an admin tags a submission'),
  ('alice', 'acme', 'fast', '42501', 'its author cannot'),
  ('mia', 'acme', 'fast', '42501', 'a member cannot'),
  ('rita', 'acme', 'fast', '42501', 'another organization''s admin cannot'),
  ('rita', 'rival', 'rival fast', '23503 submission_tags_submission_is_of_the_same_organization', 'not for another organization''s submission'),
  ('adam', 'acme', 'rival fast', '23503 submission_tags_tag_is_of_the_same_organization', 'a tag of another organization is none'),
  ('acme key with submissions:write', 'acme', 'fast', '42501', 'a key that may only write does not tag'))
  as t (who, organization, tag, outcome, claim);
select is(tests.try('alice', 'delete from submission_tags'), '0', 'the author cannot remove tags');
select is(tests.try('acme key with submissions:moderate', 'delete from submission_tags'), '1', 'a key with submissions:moderate can remove tags');
do $$ begin
  update submissions set category_id = tests.id('ui') where id = tests.id('Bobs idea');
  delete from categories where id = tests.id('ui');
end $$;
select is((select concat_ws(' ', organization_id = tests.id('acme'), category_id is null) from submissions where id = tests.id('Bobs idea')), 't t',
  'deleting a category keeps its submissions, without a category');

-- Editing
select is(tests.see('alice', $$ update submissions set title = '  Trimmed  ' where id = tests.id('Alices idea') returning title $$), 'Trimmed',
  'an edited title is trimmed');
select is(tests.try('adam', format('update submissions set tracker_issue_url = %L where id = tests.id(''Alices idea'')', url)),
  '23514 tracker_issue_url_is_a_web_address', format('%s is no link to an issue tracker', left(url, 30)))
from unnest(array['javascript:alert(1)', 'ftp://example.test', 'https://', 'https://a b', E'https://a\tb', 'https://' || repeat('x', 2000)]) as url;
do $$ begin delete from private.outbox; end $$;
select is(tests.try('alice', $$ update submissions set title = title, tracker_issue_url = tracker_issue_url where id = tests.id('Alices idea') $$), '1',
  'an author may send unchanged values');
select is_empty('select from private.outbox', 'an edit without changes creates no event');

-- Approval
do $$ begin update organizations set require_approval = true where slug = 'rival'; end $$;
select is(tests.see(who, replace(pg_temp.submit(), tests.id('acme')::text, tests.id('rival')::text) || $$ returning moderation_state || ' ' || is_public $$),
  outcome, claim) from (values
  ('alice', 'pending false', 'where approval is required a stranger''s submission waits'),
  ('rita', 'approved true', 'and a team member''s does not'),
  ('rival key with submissions:read submissions:write', 'pending false', 'a key''s waits too')) as t (who, outcome, claim);

-- Deleting
do $$ begin
  perform tests.comment('A comment', 'bob', 'Alices idea');
  insert into comment_votes (comment_id, user_id) values (tests.id('A comment'), tests.id('carol'));
  insert into profiles (name) select 'Voter ' || n from generate_series(1, 40) n;
  insert into votes (submission_id, user_id) select tests.id('Alices idea'), id from profiles where name like 'Voter %';
  insert into comments (submission_id, author_id, body) select tests.id('Alices idea'), id, 'So say I.' from profiles where name like 'Voter %';
  insert into status_changes (submission_id, new_status) values (tests.id('Alices idea'), 'planned');
  insert into submission_tags values (tests.id('acme'), tests.id('Alices idea'), tests.id('fast'));
  perform tests.submission('A target', 'alice');
  perform tests.merge('Bobs idea', 'A target');
  delete from private.outbox;
end $$;
select is(tests.try(who, $$ delete from submissions where id = tests.id('Alices idea') $$), outcome, claim) from (values
  ('alice', '1', 'an author can delete a submission with votes and comments')) as t (who, outcome, claim);
select is((select count(*) from (
    select submission_id from votes union all select submission_id from follows union all select submission_id from comments
    union all select submission_id from comment_votes union all select submission_id from notifications
    union all select submission_id from status_changes union all select submission_id from submission_tags
    union all select submission_id from private.submission_search) rest
  where submission_id = tests.id('Alices idea')), 0::bigint, 'nothing that hung on it is left');
select is_empty('select from private.outbox', 'the votes and comments that went with it are not announced');
select is_empty($$ select from private.rate_counters where rule in ('vote_delete', 'comment_delete') $$, 'votes and comments deleted with a submission charge no rate limit');
select is(tests.try('alice', $$ delete from submissions where id = tests.id('A target') $$), 'FB409',
  'the target of a merge cannot be deleted');
select is(tests.try('bob', $$ delete from submissions where id = tests.id('Bobs idea') $$), '1', 'a merged submission can be deleted');
select is(tests.try('adam', $$ delete from submissions where id = tests.id('A target') $$), '1', 'the target can be deleted once nothing is merged into it');
select throws_ok($$ update submissions set status = 'duplicate' where title = 'Dark mode' $$, '23514', null, 'the status duplicate requires a target');
do $$ begin perform tests.submission('Elsewhere', 'bob', 'rival'); perform tests.submission('Here it is', 'bob'); end $$;
select throws_ok($$ update submissions set status = 'duplicate', merged_into_id = tests.id('Elsewhere') where id = tests.id('Here it is') $$, '23503', null, 'the target must be of the same organization');

-- Plan limits
do $$ begin update organizations set max_submissions = (select count(*) + 1 from submissions s where s.organization_id = organizations.id) where slug = 'acme'; end $$;
select is(tests.try('alice', pg_temp.submit()), '1', 'the last submission within the plan is accepted');
select is(tests.try('alice', pg_temp.submit()), 'FB402', 'a submission over the plan''s limit is rejected');
select is(tests.try('alice', replace(pg_temp.submit(), tests.id('acme')::text, tests.id('rival')::text)), '1',
  'the limit of one organization does not affect another');

-- Deleting people and organizations
do $$ begin
  perform tests.submission('Of the past', 'vic', 'vault');
  delete from auth.users where id = tests.id('vic');
end $$;
select results_eq($$ select p.name, p.email, s.vote_count from submissions s join profiles p on p.id = author_id where title = 'Of the past' $$,
  $$ values (null::text, null::text, 1) $$, 'a deleted user''s submissions are kept without a name');
do $$ begin
  perform tests.become('rival key with submissions:read submissions:write');
  insert into submissions (id, organization_id, author_id, title, description, type)
  values (tests.id('Of Eve'), tests.id('rival'), private.author_of_key('eve@example.test', 'Eve'), 'Of Eve', 'By an author known by e-mail.', 'idea');
  perform tests.leave();
  perform tests.comment('For Eve', 'bob', 'Of Eve');
  insert into status_changes (submission_id, new_status, changed_by) values (tests.id('Of Eve'), 'planned', tests.id('rival key'));
end $$;
select lives_ok($$ delete from organizations where slug = 'rival' $$, 'an operator can delete an organization with all its rows');
select is((select count(*) from profiles where organization_id = tests.id('rival')), 0::bigint, 'deleting an organization deletes its e-mail authors and keys');

-- Editable columns are granted, and every other list of these columns is complete
create function pg_temp.editable() returns setof text language sql as $$
  select unnest(private.editable_columns('public.submissions'))
$$;
select cmp_ok((select count(*) from pg_temp.editable()), '>', 3::bigint, 'submissions have editable columns');
select is_empty($$ select c from pg_temp.editable() c where not has_column_privilege('service_key', 'public.submissions', c, 'update')
  or not has_column_privilege('service_role', 'public.submissions', c, 'update') $$, 'keys and the secret key may update the same columns');
select bag_eq($$ select t.tgname::text, a.attname::text from pg_trigger t join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = any (t.tgattr)
    where t.tgrelid = 'public.submissions'::regclass and t.tgname in ('edit', 'charge_edit', 'announce_edit') $$,
  $$ select t, c from unnest(array['edit', 'charge_edit', 'announce_edit']) t, pg_temp.editable() c $$,
  'the triggers of an edit fire for each editable column');
select is_empty($$ select c from pg_temp.editable() c
  where (select pg_get_triggerdef(g.oid) from pg_trigger g where g.tgrelid = 'public.submissions'::regclass and g.tgname = 'announce_edit') !~ format('new\.%s\M', c) $$,
  'announce_edit compares each editable column');
select is_empty($$ select c from pg_temp.editable() c
  where (select prosrc from pg_proc where oid = 'public.update_submission(uuid, jsonb)'::regprocedure) !~ format('changes \? ''%s''', c) $$,
  'update_submission writes each editable column');
select is_empty($$ select c from pg_temp.editable() c
  where not private.updated_submission(jsonb_populate_record(null::public.submissions, '{}')) -> 'submission' ? c $$,
  'submission.updated has each editable column');

-- A text that authors write is moderated and searched
create function pg_temp.texts() returns setof text language sql as $$
  select c from pg_temp.editable() c join pg_attribute a on a.attrelid = 'public.submissions'::regclass and a.attname = c
  where a.atttypid = 'text'::regtype and c <> 'tracker_issue_url'
$$;
select is_empty($$ select c from pg_temp.texts() c
  where not private.public_texts(jsonb_populate_record(null::public.submissions, jsonb_build_object(c, 'Changed'))) @> '{Changed}' $$,
  'private.public_texts has each of them, so that a change of it needs the approval again');
select bag_eq($$ select t.tgname::text, a.attname::text from pg_trigger t join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = any (t.tgattr)
    where t.tgrelid = 'public.submissions'::regclass and t.tgname in ('store_words', 'require_participation') and a.attname <> 'moderation_state' $$,
  $$ select t, c from unnest(array['store_words', 'require_participation']) t, pg_temp.texts() c $$, 'the triggers of texts fire for each of them');
create temporary table searched as select id from submissions where organization_id = tests.id('acme') and merged_into_id is null limit 1;
do $$ begin
  execute (select format('update submissions set %s where id = (select id from searched)', string_agg(format('%I = ''Word of %1$s, more than twenty characters''', c), ', ')) from pg_temp.texts() c);
end $$;
select is_empty($$ select c from pg_temp.texts() c
  where (select content from private.submission_search where submission_id = (select id from searched)) !~ format('word of %s', c) $$, 'the search reads each of them');

select * from finish();
rollback;
