-- Functions that run as their owner, and those that clients call: a caller who passes the id of a row that
-- they may not see learns nothing about it and changes nothing. The same holds for the token of an erased
-- account.
begin;
set local search_path = public, extensions;
select plan(6);

do $$
begin
  perform tests.start();
  perform tests.submission('An idea', 'alice'), tests.comment('A comment', 'alice', 'An idea');
  -- Submissions on a board that has become private, and a rejected one on a public board.
  perform tests.submission('Tresor board', 'vic', 'vault'), tests.submission('Tresor rejected', 'alice');
  perform tests.comment('Tresor board said', 'vic', 'Tresor board'), tests.comment('Tresor rejected said', 'alice', 'Tresor rejected');
  update submissions set description = 'Geheimnis, which nobody else may read.' where title like 'Tresor%';
  update comments set body = 'Geheimnis' where body like 'Tresor%';
  perform tests.survey('Tresor ' || name, status, organization, questions => '[{"type": "nps", "text": "Geheimnis?", "required": true}]')
  from (values ('board asked', 'published', 'vault'), ('rejected asked', 'draft', 'acme')) s (name, status, organization);
  -- Bob and Carol contributed before; Carol then erased her account.
  insert into votes (submission_id, user_id, created_at)
  select s.id, tests.id(who), '2001-02-03' from submissions s, unnest(array['bob', 'carol']) as who;
  insert into comment_votes (comment_id, user_id, created_at)
  select c.id, tests.id(who), '2001-02-03' from comments c, unnest(array['bob', 'carol']) as who;
  delete from auth.users where id = tests.id('carol');
  update submissions set moderation_state = 'rejected' where title = 'Tresor rejected';
end
$$;

create function pg_temp.argument(name text, type regtype, hidden text, whom text) returns text language sql as $$
  select coalesce(case
    when type = 'uuid'::regtype then quote_literal(case
      when name like '%organization%' then tests.id(case hidden when 'Tresor board' then 'vault' else 'acme' end)
      when name ~ '(profile|user|author|member|account|actor)' then tests.id(whom)
      when name like '%comment%' then tests.id(hidden || ' said')
      when name like '%survey%' then tests.id(hidden || ' asked')
      else tests.id(hidden) end)
    when type = 'uuid[]'::regtype then format('array[%L, %L]', tests.id(hidden), tests.id(hidden || ' asked'))
    when type = 'public.comments'::regtype then (select quote_literal(c::text) from comments c where c.id = tests.id(hidden || ' said'))
    when type = 'text'::regtype then quote_literal(case when name in ('q', 'search', 'wanted', 'text', 'title') then 'tresor'
      when name ~ '(email|address)' then 'vic@example.test' when name = 'locale' then 'en' when name = 'type' then 'submission'
      when name = 'kind' then 'category' when name = 'what' then 'submissions' else 'open' end)
    when type = 'text[]'::regtype then '''{open}'''
    when type in ('jsonb'::regtype, 'json'::regtype) then '''{}'''
    when type = 'bytea'::regtype then '''\x00'''
    when type = 'boolean'::regtype then 'true'
    when type in ('integer'::regtype, 'bigint'::regtype) then '10'
    when type = 'timestamptz'::regtype then 'now()' end, 'null') || '::' || type
$$;
create function pg_temp.writes() returns numeric language sql as $$
  select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_xact_user_tables where relname not in ('rate_counters', 'idempotency_keys')
$$;
create function pg_temp.call(who text, organization uuid, statement text) returns text language plpgsql as $$
declare answer text; detail text; before numeric := pg_temp.writes();
begin
  perform tests.become(who), 
    set_config('feedback.by_function', case when statement ~ 'from private' then 'on' end, true),
    set_config('feedback.organization_id', organization::text, true);
  execute statement into answer;
  perform tests.leave();
  raise exception using errcode = 'TESTS', message = concat_ws(' ', answer, case when pg_temp.writes() > before then 'WROTE' end);
exception when others then
  get stacked diagnostics detail = pg_exception_detail;
  return concat_ws(' ', sqlerrm, detail);
end
$$;
create temporary view functions as
  select p.oid, p.oid::regprocedure::text as name, n.nspname as schema from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where has_function_privilege('authenticated', p.oid, 'execute') and p.prorettype <> 'trigger'::regtype
    and (n.nspname = 'public' or n.nspname = 'private' and p.prosecdef);
create temporary table calls as
  select f.schema, f.name, who, hidden, whom, pg_temp.call(who, case hidden when 'Tresor rejected' then tests.id('acme') end,
    format('select string_agg(r::text, '' '') from %s(%s) r', p.oid::regproc, (
      select string_agg(pg_temp.argument(p.proargnames[n], type::regtype, hidden, whom), ', ' order by n)
      from unnest(p.proargtypes::oid[]) with ordinality as a (type, n)))) as answer
  from functions f join pg_proc p using (oid), unnest(array['bob', 'carol']) as who,
    unnest(array['Tresor board', 'Tresor rejected']) as hidden, unnest(array[who, 'vic']) as whom;
create temporary view broken as
  select name, who, hidden, whom, answer, schema from calls where answer ~ 'Geheimnis|2001-02-03|WROTE|Vic|vic@';
-- Functions that trust the given ids, because their caller has looked up the rows; and functions that return
-- the caller's own data.
create temporary table trusting as select 'private.' || name as name from unnest(array['author(uuid,uuid)',
  'charge_comment(comments)', 'my_vote(uuid)', 'vote_of(uuid,uuid)', 'my_votes()', 'remove_vote(uuid,uuid)',
  'comment_vote_of(uuid,uuid)', 'remove_comment_vote(uuid,uuid)', 'record_survey_start(uuid,boolean)', 'start_survey_by_reading(uuid,text)',
  'open_survey_page(uuid,text,uuid)', 'mute_submission(uuid,boolean)', 'unfollow(uuid[])', 'my_personal_data()', 'erase_me()']) name;

select cmp_ok((select count(distinct name) from calls where schema = 'private'), '>', 150::bigint, 'definer functions are called');
select ok(exists (select from broken where name = 'private.my_vote(uuid)'), 'what a call tells is seen');
select ok(exists (select from broken where name = 'private.remove_vote(uuid,uuid)' and answer ~ 'WROTE'), 'and what it writes');
select is_empty($$ select name, who, hidden, whom, left(answer, 200) from broken
  where schema = 'public' and (name, who) <> ('update_profile(jsonb)', 'bob') $$,
  'no function of the data API tells or changes anything of a hidden row, or for an erased account');
select is_empty($$ select name, who, hidden, whom, left(answer, 200) from broken where schema = 'private'
  and name not in (select name from trusting)
  -- The edge functions call these for the bearer of a signed link.
  and name <> 'private.stop_account_mail(text,uuid,boolean)' $$,
  'definer functions neither, except those that receive only rows that the caller can see');
select is_empty($$ select name, hidden, whom, left(answer, 200) from broken where who = 'carol' and schema = 'private'
  and name in (select name from trusting) and name not in ('private.author(uuid,uuid)', 'private.charge_comment(comments)') $$,
  'and these do nothing for an erased account');

select * from finish();
rollback;
