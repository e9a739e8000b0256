-- What comes from elsewhere comes once, quietly, into its own organization, and only for those who may.
begin;
set local search_path = public, extensions;
select plan(42);
do $$ begin perform tests.start(); end $$;

create function pg_temp.run(organization text, records jsonb, source text default 'feedback', makes_missing boolean default true) returns jsonb language plpgsql as $$
begin
  return private.run_import(private.start_import(tests.id(organization), 'feedback', source, false, makes_missing), records, '[]');
end
$$;
create function pg_temp.submission(id text, more jsonb default '{}') returns jsonb language sql as $$
  select jsonb_build_object('line', 1, 'n', 0, 'id', id, 'author', 'ann@x.example', 'title', 'Title of ' || id, 'description', 'A description that is long enough.',
    'type', 'idea', 'status', 'open', 'tags', '[]'::jsonb, 'moderation_state', 'approved', 'author_votes', true, 'follow', true) || more
$$;
create function pg_temp.file(id text, more jsonb default '{}') returns jsonb language sql as $$
  select jsonb_build_object('people', '{"ann@x.example": "Ann", "bob@x.example": null}'::jsonb, 'categories', '{"web": "Web"}'::jsonb, 'tags', '{"ui": "UI"}'::jsonb,
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
select is(pg_temp.run('acme', pg_temp.file('a', '{"category": "web", "tags": ["ui"], "status": "planned", "created_at": "2024-01-01T00:00:00Z"}')),
  '{"processed": 1, "created": 1, "skipped": 0, "failed": 0}', 'a submission is taken');
select results_eq($$ select s.status, s.vote_count, s.moderation_state, s.is_public, s.created_at, c.name from pg_temp.imported('a') s join public.categories c on c.id = s.category_id $$,
  $$ values ('planned', 1, 'approved', true, '2024-01-01T00:00:00Z'::timestamptz, 'Web') $$, 'as it was, with its category, without waiting for approval');
select is((select count(*) from public.submission_tags), 1::bigint, 'and its tag');
select is(pg_temp.run('acme', pg_temp.file('a')) ->> 'skipped', '1', 'the second time it is known');
select is(pg_temp.run('acme', pg_temp.file('a'), 'other') ->> 'created', '1', 'by its id there: another service may have the same');
select is(pg_temp.run('rival', pg_temp.file('a')) ->> 'created', '1', 'and so may another organization');
select is_empty($$ select * from private.outbox where type <> 'org.updated' $$, 'nothing is announced');
select is_empty($$ select * from public.notifications $$, 'and nobody is notified');
select is((select count(*) from private.count_mistakes()), 0::bigint, 'counts are exact');
select is((select count(*) from public.profiles where lower(email) = 'ann@x.example'), 2::bigint, 'an author is a profile of organization and address');

-- What is done afterwards is announced again.
do $$ begin perform tests.submission('after', 'alice', 'rival'); end $$;
select isnt_empty($$ select from private.outbox where type = 'submission.created' $$, 'the import leaves nothing quiet behind');

-- Votes
select is(pg_temp.run('acme', pg_temp.vote('a')) ->> 'created', '1', 'a vote is taken');
select is(pg_temp.run('acme', pg_temp.vote('a')) ->> 'skipped', '1', 'once');
do $$ begin perform pg_temp.run('acme', pg_temp.file('target')); end $$;
update public.submissions s set status = 'duplicate', merged_into_id = (pg_temp.imported('target')).id
where s.id = (select submission_id from private.external_ids where source = 'feedback' and external_id = 'a' and organization_id = tests.id('acme'));
do $$ begin perform pg_temp.run('acme', pg_temp.vote('a')); end $$;
select is((pg_temp.imported('target')).vote_count, 2, 'where its submission was merged, it goes to the target');
do $$ begin perform pg_temp.run('acme', pg_temp.file('twin', '{"merged_into_id": "target", "author_votes": true, "author": "bea@x.example"}') || '{"people": {"bea@x.example": null}}'); end $$;
select results_eq($$ select vote_count from public.submissions where id in ((pg_temp.imported('target')).id, (pg_temp.imported('twin')).id) order by 1 $$,
  array[0, 3], 'a record that is merged lends its author''s vote to the target');
select is_empty('select * from private.count_mistakes()', 'which is counted');
do $$ begin perform pg_temp.run('acme', pg_temp.file('triplet', '{"merged_into_id": "target", "author_votes": true}')); end $$;
select results_eq($$ select source_id from private.merged_votes $$, $$ select (pg_temp.imported('triplet')).id $$, 'and puts it down where its author votes there anyway');
select is(pg_temp.run('vault', pg_temp.vote('target')) ->> 'failed', '1', 'what another organization imported is not known here');
select is(pg_temp.run('vault', jsonb_set(pg_temp.vote(''), '{vote,0,submission_id}', to_jsonb((pg_temp.imported('target')).id))) ->> 'failed', '1', 'not by its own id either');
select is(pg_temp.run('vault', pg_temp.file('v', '{"category": "web"}'), 'feedback', false) ->> 'failed', '1', 'a missing category is made only where that is asked for');

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
select is(pg_temp.run('acme', pg_temp.survey('s')) ->> 'created', '1', 'a survey is taken');
select results_eq($$ select s.status, s.published_at, s.family_id = s.id, q.scale from public.surveys s join public.survey_questions q on q.survey_id = s.id where s.title = 'Survey s' $$,
  $$ values ('published', '2024-01-01T00:00:00Z'::timestamptz, true, 7) $$, 'as it was, with its questions');
select is(pg_temp.run('acme', pg_temp.survey('s')) ->> 'skipped', '1', 'once');
select is(pg_temp.run('rival', pg_temp.survey('s')) ->> 'created', '1', 'and by another organization, with the same ids');
select is(pg_temp.run('acme', pg_temp.response('r', 's', '6')) ->> 'created', '1', 'a response is taken');
select is(pg_temp.run('acme', pg_temp.response('r', 's', '6')) ->> 'skipped', '1', 'once');
select is(pg_temp.run('acme', pg_temp.response('again', 's', '6')) ->> 'skipped', '1', 'and one a person');
select is(pg_temp.run('acme', pg_temp.response('wrong', 's', '8')) ->> 'failed', '1', 'it has to answer the question');
select is(pg_temp.run('vault', pg_temp.response('r', 's', '6')) ->> 'failed', '1', 'of a survey of this organization');
select results_eq($$ select r.answers -> 0 ->> 'value', r.sentiment, r.sentiment_engine from public.survey_responses r join public.surveys s on s.id = r.survey_id where s.title = 'Survey s' $$,
  $$ values ('6', 'positive', 'import') $$, 'and keeps what it was judged to say');
select is(pg_temp.run('acme', pg_temp.survey('next', '{"version_of": "s"}')) ->> 'created', '1', 'a version is taken');
select results_eq($$ select v.status, v.family_id = s.id, v.closed_at from public.surveys v join public.surveys s on s.id = v.version_of where v.title = 'Survey next' $$,
  $$ values ('archived', true, '2024-01-01T00:00:00Z'::timestamptz) $$, 'and archived where another one is open');
select is_empty($$ select from private.outbox where type like 'survey.%' $$, 'nobody is told');
select is_empty('select * from private.count_mistakes()', 'and counts are exact');

-- A plan
update public.organizations set max_submissions = 2 where slug = 'vault';
select throws_ok($$ select pg_temp.run('vault', jsonb_build_object('people', '{"ann@x.example": null}'::jsonb, 'submission',
  (select jsonb_agg(pg_temp.submission('p' || n)) from generate_series(1, 3) n))) $$, 'FB402', null, 'a plan holds for all rows of a chunk together');

-- Who may
select is(pg_temp.asked(who, 'acme', $$ private.admin_start_import('{"format": "feedback", "dry_run": false, "create_missing": true}', 'csv') $$), 'FB403', who || ' may not import')
from unnest(array['mia', 'alice', 'rita', 'acme key with submissions:read submissions:write']) as who;
select is(pg_temp.asked('rita', 'rival', format($$ private.admin_run_import(%L, '{}', '[]', 0, 0, null, null) $$, id)), 'FB404', 'nor an admin of another organization go on with it')
from private.imports where organization_id = tests.id('acme') order by id limit 1;
select is(pg_temp.asked('anon', 'acme', $$ private.admin_start_import('{"format": "feedback", "dry_run": false, "create_missing": true}', 'csv') $$), '42501', 'nobody not at all');
select matches(pg_temp.asked('acme key with submissions:moderate', 'acme', $$ private.admin_start_import('{"format": "feedback", "dry_run": false, "create_missing": true}', 'csv') $$), '^[0-9a-f-]{36}$', 'a key that moderates may');

select * from finish();
rollback;
