-- An import creates rows once, without notifications, in its own organization, and only for permitted
-- callers.
begin;
set local search_path = public, extensions;
select plan(50);
do $$ begin perform tests.start(); end $$;

create function pg_temp.started(organization text, source text, makes_missing boolean) returns uuid language sql as $$
  insert into private.imports (organization_id, format, source, is_dry_run, makes_missing)
  values (tests.id(organization), 'feedback', source, false, makes_missing) returning id
$$;
create function pg_temp.step(organization text, id uuid, records jsonb, refused jsonb default '[]') returns jsonb language plpgsql as $$
declare told jsonb;
begin
  perform tests.become(case organization when 'acme' then 'olga' when 'rival' then 'rita' else 'vera' end),
    set_config('feedback.organization_id', tests.id(organization)::text, true);
  told := private.admin_run_import(id, records, refused, 0, 0, '{"at": 0, "line": 1}', null);
  perform tests.leave();
  return told;
end
$$;
create function pg_temp.run(organization text, records jsonb, source text default 'feedback', makes_missing boolean default true) returns jsonb language plpgsql as $$
begin
  return pg_temp.step(organization, pg_temp.started(organization, source, makes_missing), records);
end
$$;
create function pg_temp.submission(id text, more jsonb default '{}') returns jsonb language sql as $$
  select jsonb_build_object('line', 1, 'n', 0, 'id', id, 'author', 'ann@x.example', 'title', 'Title of ' || id, 'description', 'A description that is long enough.',
    'type', 'idea', 'status', 'open', 'tags', '[]'::jsonb, 'moderation_state', 'approved', 'author_votes', true, 'follow', true) || more
$$;
create function pg_temp.file(id text, more jsonb default '{}') returns jsonb language sql as $$
  select jsonb_build_object('people', '{"ann@x.example": "Ann", "bob@x.example": null}'::jsonb, 'categories', '{"Web": "Web"}'::jsonb, 'tags', '{"UI": "UI"}'::jsonb,
    'submission', jsonb_build_array(pg_temp.submission(id, more)))
$$;
create function pg_temp.vote(id text) returns jsonb language sql as $$
  select jsonb_build_object('people', '{"bob@x.example": null}'::jsonb,
    'vote', jsonb_build_array(jsonb_build_object('line', 1, 'n', 0, 'submission_id', id, 'author', 'bob@x.example', 'follow', true)))
$$;
create function pg_temp.imported(id text) returns public.submissions language sql as $$
  select s.* from public.submissions s where s.title = 'Title of ' || imported.id order by s.created_at limit 1
$$;
create function pg_temp.asked(who text, organization text, call text) returns text language plpgsql as $$
begin
  return tests.see(who, format('select %s from (select set_config(''feedback.organization_id'', %L, true)) o', call, tests.id(organization)));
end
$$;

update public.organizations set require_approval = true where slug = 'acme';
select is(pg_temp.run('acme', pg_temp.file('a', '{"category": "Web", "tags": ["UI"], "status": "planned", "created_at": "2024-01-01T00:00:00Z"}')),
  '{"processed": 1, "created": 1, "skipped": 0, "failed": 0, "is_written": true}', 'a submission is imported');
select results_eq($$ select s.status, s.vote_count, s.moderation_state, s.is_public, s.created_at, c.name from pg_temp.imported('a') s join public.categories c on c.id = s.category_id $$,
  $$ values ('planned', 1, 'approved', true, '2024-01-01T00:00:00Z'::timestamptz, 'Web') $$, 'status, dates and category are kept, without approval');
select is((select count(*) from public.submission_tags), 1::bigint, 'its tag is imported');
select is(pg_temp.run('acme', pg_temp.file('a')) ->> 'skipped', '1', 'the same id is skipped');
select is(pg_temp.run('acme', pg_temp.file('a'), 'other') ->> 'created', '1', 'another source may have the same id');
select is(pg_temp.run('rival', pg_temp.file('a')) ->> 'created', '1', 'another organization may have the same id');
select is_empty($$ select * from private.outbox where type <> 'org.updated' $$, 'imported submissions create no events');
select is_empty($$ select * from public.notifications $$, 'imports create no notifications');
select is((select count(*) from private.count_discrepancies()), 0::bigint, 'all counters are correct');
select is((select count(*) from public.profiles where lower(email) = 'ann@x.example'), 2::bigint, 'an author has one profile per organization and address');

-- Later changes are published again.
do $$ begin perform tests.submission('after', 'alice', 'rival'); end $$;
select isnt_empty($$ select from private.outbox where type = 'submission.created' $$, 'submissions created later create events');

-- Votes
select is(pg_temp.run('acme', pg_temp.vote('a')) ->> 'created', '1', 'a vote is imported');
select is(pg_temp.run('acme', pg_temp.vote('a')) ->> 'skipped', '1', 'the same vote is skipped');
do $$ begin perform pg_temp.run('acme', pg_temp.file('target')); end $$;
update public.submissions s set status = 'duplicate', merged_into_id = (pg_temp.imported('target')).id
where s.id = (select submission_id from private.external_ids where source = 'feedback' and external_id = 'a' and organization_id = tests.id('acme'));
do $$ begin perform pg_temp.run('acme', pg_temp.vote('a')); end $$;
select is((pg_temp.imported('target')).vote_count, 2, 'a vote for a merged submission goes to the target');
do $$ begin perform pg_temp.run('acme', pg_temp.file('twin', '{"merged_into_id": "target", "author_votes": true, "author": "bea@x.example"}') || '{"people": {"bea@x.example": null}}'); end $$;
select results_eq($$ select vote_count from public.submissions where id in ((pg_temp.imported('target')).id, (pg_temp.imported('twin')).id) order by 1 $$,
  array[0, 3], 'importing a merged submission lends its author''s vote to the target');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct after it');
do $$ begin perform pg_temp.run('acme', pg_temp.file('triplet', '{"merged_into_id": "target", "author_votes": true}')); end $$;
select results_eq($$ select source_id from private.merged_votes $$, $$ select (pg_temp.imported('triplet')).id $$, 'an author''s vote that exists at the target is recorded in the journal');
select is(pg_temp.run('vault', pg_temp.vote('target')) ->> 'failed', '1', 'ids imported by another organization are unknown');
select is(pg_temp.run('vault', jsonb_set(pg_temp.vote(''), '{vote,0,submission_id}', to_jsonb((pg_temp.imported('target')).id))) ->> 'failed', '1', 'ids of submissions of another organization are unknown');
select is(pg_temp.run('vault', pg_temp.file('v', '{"category": "web"}'), 'feedback', false) ->> 'failed', '1', 'a missing category fails the record without create_missing');

-- A file that contains somebody's address causes no mail to them.
create function pg_temp.silent(follow jsonb default '{}') returns jsonb language sql as $$
  select jsonb_build_object('people', '{"sam@x.example": null}'::jsonb,
    'submission', jsonb_build_array(pg_temp.submission('of sam', '{"author": "sam@x.example"}') - 'follow' || follow),
    'comment', jsonb_build_array('{"line": 2, "n": 1, "id": "c", "submission_id": "of sam", "author": "sam@x.example", "body": "Hi", "is_official": false,
      "moderation_state": "approved"}'::jsonb || follow),
    'vote', jsonb_build_array('{"line": 3, "n": 2, "submission_id": "a", "author": "sam@x.example"}'::jsonb || follow))
$$;
do $$ begin perform pg_temp.run('acme', pg_temp.silent()); end $$;
insert into public.status_changes (organization_id, submission_id, new_status) select organization_id, id, 'planned' from pg_temp.imported('of sam');
insert into public.comments (organization_id, submission_id, author_id, body) select organization_id, id, tests.id('bob'), 'Me too' from pg_temp.imported('of sam');
select is_empty($$ select from public.follows f join public.profiles p on p.id = f.user_id where p.email = 'sam@x.example' $$,
  'an author, commenter and voter whose record does not say so does not follow');
select is_empty($$ select from public.notifications n join public.profiles p on p.id = n.user_id where p.email = 'sam@x.example' and n.type <> 'vote' $$,
  'and gets no notification of a row that an import attributes to them');
do $$ begin perform pg_temp.run('rival', pg_temp.file('a')), pg_temp.run('rival', pg_temp.silent('{"follow": true}')); end $$;
select is((select count(*) from public.follows f join public.profiles p on p.id = f.user_id where p.email = 'sam@x.example'), 2::bigint,
  'whose record says so does');

-- Surveys
create function pg_temp.survey(id text, more jsonb default '{}') returns jsonb language sql as $$
  select jsonb_build_object('survey', jsonb_build_array(jsonb_build_object('line', 1, 'n', 0, 'id', id, 'title', 'Survey ' || id, 'description', '', 'status', 'published',
    'audience', 'everyone', 'allow_multiple_responses', false, 'show_branding', true, 'created_at', '2024-01-01T00:00:00Z',
    'questions', '[{"id": "q", "type": "rating", "text": "How was it?", "required": true, "scale": 7}]'::jsonb) || more))
$$;
create function pg_temp.response(id text, survey text, value jsonb) returns jsonb language sql as $$
  select jsonb_build_object('people', '{"bob@x.example": null}'::jsonb, 'survey_response', jsonb_build_array(jsonb_build_object('line', 1, 'n', 0, 'id', id,
    'survey_id', survey, 'author', 'bob@x.example', 'answers', jsonb_build_array(jsonb_build_object('question_id', 'q', 'value', value)), 'sentiment_score', 0.5)))
$$;
select is(pg_temp.run('acme', pg_temp.survey('s')) ->> 'created', '1', 'a survey is imported');
select results_eq($$ select s.status, s.published_at, s.family_id = s.id, q.scale from public.surveys s join public.survey_questions q on q.survey_id = s.id where s.title = 'Survey s' $$,
  $$ values ('published', '2024-01-01T00:00:00Z'::timestamptz, true, 7) $$, 'its status, dates and questions are kept');
select is(pg_temp.run('acme', pg_temp.survey('s')) ->> 'skipped', '1', 'the same survey is skipped');
select is(pg_temp.run('rival', pg_temp.survey('s')) ->> 'created', '1', 'another organization may import the same ids');
select is(pg_temp.run('acme', pg_temp.response('r', 's', '6')) ->> 'created', '1', 'a response is imported');
select is(pg_temp.run('acme', pg_temp.response('r', 's', '6')) ->> 'skipped', '1', 'the same response is skipped');
select is(pg_temp.run('acme', pg_temp.response('again', 's', '6')) ->> 'skipped', '1', 'a second response by the same person is skipped');
select is(pg_temp.run('acme', pg_temp.response('wrong', 's', '8')) ->> 'failed', '1', 'a response without valid answers fails');
select is(pg_temp.run('vault', pg_temp.response('r', 's', '6')) ->> 'failed', '1', 'a response to a survey of another organization fails');
select results_eq($$ select r.answers -> 0 ->> 'value', r.sentiment, r.sentiment_engine from public.survey_responses r join public.surveys s on s.id = r.survey_id where s.title = 'Survey s' $$,
  $$ values ('6', 'positive', 'import') $$, 'answers and sentiment are kept');
select is(pg_temp.run('acme', pg_temp.survey('next', '{"version_of": "s"}')) ->> 'created', '1', 'a version is imported');
select results_eq($$ select v.status, v.family_id = s.id, v.closed_at from public.surveys v join public.surveys s on s.id = v.version_of where v.title = 'Survey next' $$,
  $$ values ('archived', true, '2024-01-01T00:00:00Z'::timestamptz) $$, 'a version is archived if another one is published');
select is_empty($$ select from private.outbox where type like 'survey.%' $$, 'imports of surveys create no events');
select is_empty('select * from private.count_discrepancies()', 'all counters are correct after the surveys');

-- A plan limit
update public.organizations set max_submissions = 2 where slug = 'vault';
select throws_ok($$ select pg_temp.run('vault', jsonb_build_object('people', '{"ann@x.example": null}'::jsonb, 'submission',
  (select jsonb_agg(pg_temp.submission('p' || n)) from generate_series(1, 3) n))) $$, 'FB402', null, 'the plan''s limit applies to all rows of a chunk together');

-- Records that the database rejects
select is(pg_temp.run('acme', jsonb_build_object('people', '{"ann@x.example": null}'::jsonb, 'submission', jsonb_build_array(
    pg_temp.submission('in time'), pg_temp.submission('out of time', '{"n": 1, "created_at": "2026-01-01T00:00:00+23:59"}')))) - 'processed',
  '{"created": 1, "skipped": 0, "failed": 1, "is_written": true}', 'a time that only the database refuses fails its record alone');
create function pg_temp.wait() returns trigger language plpgsql as $$ begin perform pg_sleep(0.6); return new; end $$;
create trigger wait before insert on public.submissions for each row when (new.title like 'Title of slow%') execute function pg_temp.wait();
create temporary table steps (n integer, told jsonb);
do $$
declare
  id uuid := pg_temp.started('acme', 'slow', true);
  records jsonb := jsonb_build_object('people', '{"ann@x.example": null}'::jsonb, 'submission',
    (select jsonb_agg(pg_temp.submission('slow ' || n, jsonb_build_object('n', n, 'line', n, 'moderation_state', 'unknown'))) from generate_series(0, 3) n));
begin
  for n in 1 .. 9 loop
    insert into steps values (n, pg_temp.step('acme', id, records, '[{"line": 9, "message": "is not valid"}]'));
    exit when exists (select from steps where (told ->> 'is_written')::boolean);
  end loop;
end $$;
select is(told -> 'is_written', 'false', 'a call leaves the rest of a chunk that takes long to the next call') from steps where n = 1;
select is(told, '{"processed": 5, "created": 0, "skipped": 0, "failed": 5, "is_written": true}', 'the calls count each record once') from steps order by n desc limit 1;

-- Turns
do $$ begin
  update private.imports set state = 'completed';
  insert into private.imports (id, organization_id, source, format, is_dry_run, makes_missing, query, claimed_until, updated_at)
  select tests.id(name), tests.id(organization), 'x', 'feedback', false, true, '{}', now() - turn, now() - progress from (values
    ('had its turn', 'acme', interval '1 second', interval '1 minute'),
    ('waits longest', 'acme', null, interval '1 hour'),
    ('of another organization', 'rival', null, interval '10 seconds')) as t (name, organization, turn, progress);
end $$;
select is(id, tests.id('of another organization'), 'an organization that had its turn comes after another') from private.claim_import(null, null, true);
select is(id, tests.id('waits longest'), 'and its oldest import comes first') from private.claim_import(null, null, true);

-- Permissions
select is(pg_temp.asked(who, 'acme', $$ private.admin_start_import('{"format": "feedback", "dry_run": false, "create_missing": true}', 'csv') $$), 'FB403', who || ' may not import')
from unnest(array['mia', 'alice', 'rita', 'acme key with submissions:read submissions:write']) as who;
select is(pg_temp.asked('rita', 'rival', format($$ private.admin_run_import(%L, '{}', '[]', 0, 0, null, null) $$, id)), 'FB404', 'an admin of another organization cannot continue an import')
from private.imports where organization_id = tests.id('acme') order by id limit 1;
select is(pg_temp.asked('anon', 'acme', $$ private.admin_start_import('{"format": "feedback", "dry_run": false, "create_missing": true}', 'csv') $$), '42501', 'an anonymous caller cannot import');
select matches(pg_temp.asked('acme key with submissions:moderate', 'acme', $$ private.admin_start_import('{"format": "feedback", "dry_run": false, "create_missing": true}', 'csv') $$), '^[0-9a-f-]{36}$', 'a key with submissions:moderate can import');

select * from finish();
rollback;
