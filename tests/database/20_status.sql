-- Inserting into status_changes changes the status.
begin;
set local search_path = public, extensions;
select plan(29);
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
  perform tests.submission('In the vault', 'vic', 'vault');
  insert into follows (submission_id, user_id) values (tests.id('An idea'), tests.id('bob')), (tests.id('An idea'), tests.id('adam'));
  delete from private.outbox;
end $$;

create function pg_temp.change(status text, submission text default 'An idea', more text default '') returns text language sql as $$
  select format('insert into status_changes (submission_id, new_status%s) values (tests.id(%L), %L%s)',
    case when more <> '' then ', ' || split_part(more, ' = ', 1) end, submission, status,
    case when more <> '' then ', ' || split_part(more, ' = ', 2) end)
$$;

-- Permissions
select matches(tests.try(who, pg_temp.change('planned')), '^(42501|FB403|FB404)$', claim) from (values
  ('rita', 'another organization''s admin cannot'),
  ('rival key with submissions:read submissions:moderate', 'a key of another organization cannot')) as t (who, claim);
select is_empty($$ select from status_changes $$, 'no row is left');
select matches(tests.try('rita', pg_temp.change('planned', more => 'organization_id = tests.id(''rival'')')), '^(42501|FB403|FB404)$',
  'an admin cannot name their own organization for a foreign submission');
select is(tests.try('adam', pg_temp.change('planned', more => forged)), '42501', 'not even an admin chooses ' || forged)
from unnest(array['changed_by = tests.id(''bob'')', 'previous_status = ''declined''', 'created_at = now()', 'id = tests.id(''mine'')']) as forged;

-- Effects
select is(tests.try('adam', pg_temp.change('planned', more => 'note = ''  Next month.  ''')), '1', 'an admin changes the status');
do $$ begin delete from private.outbox; delete from notifications; end $$;

select is(tests.try('adam', pg_temp.change('planned')), '0', 'setting the same status changes nothing');
select results_eq(
  $$ select (select count(*) from status_changes), (select count(*) from private.outbox), (select count(*) from notifications) $$,
  $$ values (1::bigint, 0::bigint, 0::bigint) $$, 'no history, event or notification is created');
select is(tests.try('acme key with submissions:moderate', pg_temp.change('declined', more => 'notify = false')), '1',
  'a key with submissions:moderate may change it without notifications');
select is_empty('select from notifications', 'no notification is created');
select is((select data ->> 'changed_by' from private.outbox), 'Acme''s backend', 'the event names the key');
select is(tests.try('adam', pg_temp.change('shipped')), '23514 status_is_known', 'an unknown status is rejected');
select is(tests.try('adam', pg_temp.change('open', more => format('note = %L', note))), outcome, claim) from (values
  (repeat('x', 2001), '23514 note_has_1_to_2000_characters', 'a note of 2001 characters is too long'),
  (repeat('😀', 2000), '1', 'one of 2000 is not')) as t (note, outcome, claim);
select is(tests.see('adam', pg_temp.change('declined', more => 'note = ''   ''') || ' returning coalesce(note, ''none'')'), 'none', 'a blank note is stored as null');
do $$ begin insert into status_changes (submission_id, new_status) values (tests.id('An idea'), 'completed'); end $$;
select is((select data ->> 'changed_by' from private.outbox order by id desc limit 1), 'System', 'the event of an operator''s change names System');
select is(tests.try('alice', 'update status_changes set note = ''not so'''), '42501', 'authors cannot update the history');
select is(tests.try('adam', 'delete from status_changes'), '42501', 'admins cannot delete the history');
select is(tests.see('anon', 'select count(*) from status_changes'), (select count(*)::text from status_changes), 'anonymous clients read the history');
select is(tests.see('anon', 'select notify from status_changes limit 1'), '42501', 'anonymous clients cannot read whether notifications were sent');

-- Duplicates
select is(tests.try('adam', pg_temp.change('duplicate')), 'FB400', 'the status duplicate cannot be set without a merge');
do $$ begin perform tests.submission('The same idea', 'bob'); perform tests.merge('The same idea', 'An idea'); end $$;
select is(tests.refusal('adam', pg_temp.change('open', 'The same idea')) ->> 'merged_into_id', tests.id('An idea')::text,
  'the error for a merged submission names its target');

-- Invisible submissions cannot be probed
create function pg_temp.answers(who text, submissions text[]) returns text language sql as $$
  select string_agg(distinct tests.try(who, pg_temp.change(status, submission)), ', ')
  from unnest(array['open', 'planned', 'completed', 'duplicate']) as status, unnest(submissions) as submission
$$;
select is(pg_temp.answers(who, array['In the vault', 'Nowhere']), pg_temp.answers(who, array['Nowhere']),
  format('%s gets the same error for invisible and missing submissions, whatever the status', who))
from unnest(array['bob', 'rita', 'rival key with submissions:moderate']) as who;
select matches(pg_temp.answers('bob', array['An idea']), '^(42501|FB403|FB404)$', 'a user gets the same error for every status');

select * from finish();
rollback;
