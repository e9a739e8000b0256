-- Erasure of a person: content and votes stay, and every count is exact.
begin;
set local search_path = public, extensions;
select plan(25);
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

-- Everything that refers to people
create temporary view named as
  select c.oid::regclass as relation, a.attname::text as person from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'private'::regnamespace)
    and (a.atttypid = 'uuid'::regtype and a.attname ~ '(^|_)(user|author|profile|actor|person|member)_id$|_by$'
      or exists (select from pg_constraint k where k.conrelid = c.oid and k.confrelid = 'profiles'::regclass and k.conkey = array[a.attnum]));
select set_eq($$ select relation, person from named where (relation::text, person) not in (values
    ('profiles', 'auth_user_id'),
    -- The key's and the agent's own profiles.
    ('private.api_keys', 'profile_id'), ('private.agents', 'id'),
    -- These stay: ids in the team's log; rows that live only for seconds; statistics that follow their source
    -- rows; stalled work, which ends within a week.
    ('private.audit_log', 'actor_id'), ('private.fanouts', 'actor_id'), ('private.fanouts', 'after_user_id'),
    ('private.person_activity', 'user_id'), ('private.person_days', 'user_id'), ('private.imports', 'profile_id'),
    -- These rows belong to the account and are deleted with it.
    ('private.account_undos', 'user_id'), ('private.unconfirmed_requests', 'user_id'), ('private.idempotency_keys', 'profile_id')) $$,
  'select relation::regclass, person from private.personal_columns()', 'the list of columns that name people is complete');
select set_eq($$ select d.refobjid::regclass, a.attname::text from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    where r.ev_class = 'private.personal_rows'::regclass and d.refobjid <> r.ev_class and a.attname <> 'organization_id' $$,
  'select relation::regclass, person from private.personal_columns()', 'private.personal_rows has a branch for each');

create function pg_temp.named(who text) returns setof text language plpgsql as $$
declare c record; found boolean;
begin
  for c in select * from private.personal_columns() loop
    execute format('select exists (select from %s where %s = tests.id(%L) and organization_id = tests.id(''acme''))', c.relation, c.person, who) into found;
    if found then return next c.relation || '.' || c.person; end if;
  end loop;
end
$$;
-- Carol was an admin. Erna is known by e-mail, and identified.
insert into profiles (id, kind, organization_id, email) values (tests.id('erna'), 'email', tests.id('acme'), 'erna@example.test');
do $$
declare agent_id uuid := private.create_agent(tests.id('acme'), 'Agent', created_by => tests.id('carol')); who text; id uuid;
begin
  perform tests.survey('Asked', 'published'), private.create_agent_key(agent_id, 'Key', '{}', sha256('k'), 'p', 'last', null, tests.id('carol'));
  insert into private.identify_secrets (id, organization_id, encrypted_secret, last_four, created_by)
  values (tests.id('secret'), tests.id('acme'), 'a.b', 'last', tests.id('carol'));
  insert into private.webhooks (id, organization_id, url, events, encrypted_secret, created_by)
  values (tests.id('hook'), tests.id('acme'), 'https://receiver.example/', array['submission.created'], 'first.AAAA', tests.id('carol'));
  insert into private.invites (organization_id, email, role, digest, invited_by, accepted_at, accepted_by) values
    (tests.id('acme'), 'a@example.test', 'member', sha256('a'), tests.id('carol'), null, null),
    (tests.id('acme'), 'b@example.test', 'member', sha256('b'), tests.id('olga'), now(), tests.id('carol'));
  insert into private.identified_people (organization_id, subject, profile_id) values (tests.id('acme'), 'e', tests.id('erna'));
  insert into private.identify_sessions (digest, organization_id, profile_id, secret_id, expires_at)
  values (sha256('s'), tests.id('acme'), tests.id('erna'), tests.id('secret'), now() + interval '1 day');
  insert into private.external_ids (organization_id, source, kind, external_id, profile_id) values (tests.id('acme'), 'x', 'person', 'e', tests.id('erna'));
  insert into status_changes (organization_id, submission_id, new_status) values (tests.id('acme'), tests.id('hers and his'), 'planned');
  update status_changes set changed_by = tests.id('carol');
  foreach who in array array['carol', 'erna'] loop
    id := tests.id(who);
    perform tests.submission('by ' || who, who), tests.comment('said by ' || who, who, 'by ' || who);
    insert into comment_votes (comment_id, user_id) values (tests.id('said by ' || who), id);
    insert into private.merged_votes (source_id, user_id, organization_id, id, created_at) values (tests.id('gone'), id, tests.id('acme'), id, now());
    insert into notifications (organization_id, user_id, type, submission_id, event_id) values (tests.id('acme'), id, 'vote', tests.id('by ' || who), id);
    insert into private.mails (organization_id, profile_id, kind, event_ids) values (tests.id('acme'), id, 'status', array[id]);
    insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at) values (id, id, tests.id('acme'), false, now());
    insert into private.mail_choices (organization_id, profile_id, kind, choice) values (tests.id('acme'), id, 'status', 'never');
    insert into private.mail_mutes (organization_id, submission_id, profile_id) values (tests.id('acme'), tests.id('by ' || who), id);
    insert into private.unfollows (organization_id, submission_id, user_id) values (tests.id('acme'), tests.id('by ' || who), id);
    insert into private.mail_suppressions (organization_id, address_hash, reason, profile_id) values (tests.id('acme'), who, 'refused', id);
    insert into private.survey_requests (survey_id, profile_id, organization_id) values (tests.id('Asked'), id, tests.id('acme'));
    insert into private.survey_starts (organization_id, survey_id, user_id) values (tests.id('acme'), tests.id('Asked'), id);
    insert into private.author_trust (organization_id, user_id, is_trusted) values (tests.id('acme'), id, true);
    insert into survey_responses (organization_id, survey_id, user_id, answers, is_only)
    values (tests.id('acme'), tests.id('Asked'), id, tests.answers('Asked', '9'), false);
    insert into private.survey_starts (organization_id, survey_id, user_id) values (tests.id('acme'), tests.id('Asked'), id) on conflict do nothing;
  end loop;
end
$$;
select set_eq($$ select pg_temp.named('carol') union select pg_temp.named('erna') union select pg_temp.named('mia') $$,
  $$ select relation || '.' || person from private.personal_columns() $$, 'each of them names somebody here');
select set_eq($$ select json_object_keys(private.personal_data(tests.id('carol'), tests.id('acme'))) $$,
  $$ select exported_as from private.personal_columns() where exported_as is not null
    union select unnest(array['profile', 'identified_as', 'survey_responses']) $$, 'an export has each that is for the person');
select is(pg_temp.asked('adam', 'acme', format('private.admin_erase_person(%L)', tests.id(who)))::jsonb -> 'erased', 'true', who || ' is erased')
from unnest(array['carol', 'erna']) as who;
select is_empty($$ select pg_temp.named('carol') $$, 'then none names the erased user in the organization');
select is_empty($$ select r from pg_temp.named('erna') r join private.personal_columns() c on c.relation || '.' || c.person = r
  where c.at_erasure is distinct from 'reassign' and r <> 'public.survey_responses.user_id' $$, 'and only content names the nameless profile of an author');
update status_changes set changed_by = tests.id('rita');
select is(pg_temp.asked('adam', 'acme', format('private.admin_erase_person(%L)', tests.id('rita')))::jsonb -> 'erased', 'true',
  'who only changed a status is a person of the organization');
select is_empty($$ select pg_temp.named('rita') $$, 'whom the history names no more');

select is(tests.see('olga', 'select private.erase_me()'), 'FB409', 'the last owner of an organization cannot erase themselves');

-- The export of a person's data contains all their texts, except links to issues, which admins set
select is_empty($$ select p.relation, a.attname from private.personal_columns() p join pg_attribute a on a.attrelid = p.relation::regclass and a.attnum > 0 and not a.attisdropped
  where p.exported is not null and a.atttypid = 'text'::regtype and a.attname <> 'tracker_issue_url'
    and (has_column_privilege('authenticated', a.attrelid, a.attnum, 'insert') or has_column_privilege('authenticated', a.attrelid, a.attnum, 'update'))
    and a.attname <> all (string_to_array(p.exported, ', ')) $$, 'each text column that users may write is exported');
select * from finish();
rollback;
