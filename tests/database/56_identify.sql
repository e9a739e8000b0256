-- People identified by an application: the person of a verified token, sessions, signing secrets, and the
-- surveys they are offered.
begin;
set local search_path = public, extensions;
select plan(100);
do $$ begin
  perform tests.start();
  insert into private.identify_secrets (id, organization_id, encrypted_secret, last_four)
  select tests.id(slug || ' secret'), id, 'k1.abc', 'abcd' from organizations;
  insert into profiles (id, kind, organization_id, email, name) values (tests.id('grace'), 'email', tests.id('acme'), 'grace@host.test', 'Grace');
end $$;

create function pg_temp.digest(name text) returns bytea language sql as $$ select extensions.digest(name, 'sha256') $$;
create function pg_temp.opens(session text, subject text, email text, organization text default 'acme', name text default null,
  avatar_url text default null, jti text default null, secret text default null) returns text language sql as $$
  select format('select private.open_session(%L, %L, %L, %L, %L, %L, %L, %L, %L, %L)', tests.id(organization),
    tests.id(coalesce(secret, organization) || ' secret'), subject, email, name, avatar_url, pg_temp.digest(jti), now() + interval '5 minutes',
    pg_temp.digest(session), interval '1 day')
$$;
create function pg_temp.who(session text) returns text language sql as $$
  select case when (c).valid then p.name || ' of ' || o.slug || ' as ' || (c).kind || ', ' || (c).level else 'nobody' end
  from private.resolve_session(pg_temp.digest(session)) c
    left join profiles p on p.id = (c).profile_id left join organizations o on o.id = (c).organization_id
$$;
create function pg_temp.reason(refusal jsonb) returns text language sql as $$ select concat_ws(' ', refusal ->> 'code', refusal ->> 'reason') $$;
create function pg_temp.sessions() returns bigint language sql as $$ select count(*) from private.identify_sessions $$;

-- Permitted callers
select is(tests.try(who, pg_temp.opens('x', '1', 'x@host.test')), '42501', format('%s opens no session', who))
from unnest(array['anon', 'alice', 'olga', 'service_role', 'acme key with members:write']) who;
select is(tests.see(who, $$ select private.signing_secrets('acme')::text $$), '42501', format('%s reads no signing secret', who))
from unnest(array['anon', 'alice', 'olga', 'service_role', 'acme key with members:write']) who;
select is(tests.see(who, format('select count(*) from private.%I', relation)), '42501', format('%s does not read private.%s', who, relation))
from unnest(array['anon', 'olga', 'service_role', 'feedback_api']) who,
  unnest(array['identify_secrets', 'identified_people', 'identify_sessions', 'identify_tokens']) relation;
select is(pg_temp.sessions(), 0::bigint, 'so that there is none');
select is((tests.see('feedback_api', format('select private.signing_secrets(%L)', named))::json -> 'secrets' -> 0 ->> 'id')::uuid, tests.id('acme secret'),
  format('the functions read those of an organization by %s', named)) from unnest(array['acme', 'ACME', tests.id('acme')::text]) named;
select is(tests.see('feedback_api', $$ select private.signing_secrets('nobody')::text $$), null, 'and none of one that there is not');

-- The person of a token
select is(tests.see('feedback_api', pg_temp.opens('s1', 'u-1', 'Grace@Host.test'))::json -> 'profile' ->> 'id', tests.id('grace')::text,
  'a new subject is the author with the address, however it is spelled');
select is(pg_temp.who('s1'), 'Grace of acme as user, level_user', 'whose name stays, and whose session is that of a user');
select is(tests.see('feedback_api', pg_temp.opens('s2', 'u-1', 'grace@host.test', name => 'Grace H.', avatar_url => 'https://host.test/g.png'))::json -> 'profile' ->> 'name',
  'Grace H.', 'a later token changes the name');
select is(tests.see('feedback_api', pg_temp.opens('s3', 'u-1', 'new@host.test'))::json ->> 'profile',
  json_build_object('id', tests.id('grace'), 'name', 'Grace H.', 'avatar', 'https://host.test/g.png', 'email', 'new@host.test')::text,
  'and the address; what it does not say stays');
select is(tests.see('feedback_api', pg_temp.opens('s4', 'u-1', 'grace@host.test', 'rival', name => 'Rival''s'))::json -> 'profile' ->> 'email', 'grace@host.test',
  'another organization has the same subject with the same address');
select is(pg_temp.who('s4'), 'Rival''s of rival as user, level_user', 'as a person of its own');
select is((select count(distinct profile_id) from private.identified_people where subject = 'u-1'), 2::bigint, 'who are two');
select is((select email from profiles where id = tests.id('grace')), 'new@host.test', 'and neither changes the other');
select is(tests.see('feedback_api', pg_temp.opens('s5', 'olga', 'olga@example.test'))::json -> 'profile' ->> 'id' <> tests.id('olga')::text, true,
  'the address of a user leads to an author, not to the user');
select is((select string_agg(p.kind, ', ') from private.identified_people i join profiles p on p.id = i.profile_id), 'email, email, email', 'all are e-mail authors');
select is_empty('select from memberships m join private.identified_people i on i.profile_id = m.user_id', 'and no team members');
select is(pg_temp.reason(tests.refusal('feedback_api', pg_temp.opens('x', 'u-2', 'NEW@host.test'))), 'CONFLICT address_taken', 'another subject with the address is refused');
select is(tests.try('feedback_api', pg_temp.opens('s6', 'u-2', 'two@host.test')), '1', 'with an address of its own it is a person');
select is(pg_temp.reason(tests.refusal('feedback_api', pg_temp.opens('x', 'u-2', 'new@host.test'))), 'CONFLICT address_taken', 'who cannot take over the address of the first');
select is((select p.email from private.identified_people i join profiles p on p.id = i.profile_id where i.subject = 'u-2'), 'two@host.test', 'and keeps their own');
select is((select p.email from profiles p where p.id = tests.id('grace')), 'new@host.test', 'as the first does');

-- Refused tokens
select is(pg_temp.reason(tests.refusal('feedback_api', pg_temp.opens('x', 'u-1', 'new@host.test', secret => 'rival'))), 'UNAUTHORIZED signature',
  'the secret of another organization opens nothing');
select is(pg_temp.reason(tests.refusal('feedback_api', pg_temp.opens('x', 'u-1', 'new@host.test', secret => 'deleted'))), 'UNAUTHORIZED signature', 'nor does one that was deleted');
select is(pg_temp.reason(tests.refusal('feedback_api', pg_temp.opens('x', 'v', 'v@host.test', 'vault'))), 'FORBIDDEN private_board', 'nor a token for a private board');
select is(tests.try('feedback_api', pg_temp.opens('s7', 'u-1', 'new@host.test', jti => 'once')), '1', 'a jti works');
select is(pg_temp.reason(tests.refusal('feedback_api', pg_temp.opens('x', 'u-1', 'new@host.test', jti => 'once'))), 'UNAUTHORIZED replayed', 'once');
select is(tests.try('feedback_api', pg_temp.opens('s8', 'u-1', 'grace@host.test', 'rival', jti => 'once')), '1', 'in each organization');
select is(tests.try('feedback_api', pg_temp.opens('x', repeat('x', 256), 'long@host.test')), '23514 subject_has_1_to_255_characters', 'a subject has at most 255 characters');
select is(pg_temp.who('x'), 'nobody', 'none of them opened a session');

-- Sessions
select is(pg_temp.who('unknown'), 'nobody', 'an unknown session is nobody''s');
update private.identify_sessions set expires_at = now() where digest = pg_temp.digest('s1');
select is(pg_temp.who('s1'), 'nobody', 'nor is one that has expired');
update organizations set visibility = 'private' where id = tests.id('acme');
select is(pg_temp.who('s2'), 'nobody', 'while the board is private its sessions rest');
update organizations set visibility = 'public' where id = tests.id('acme');
select is(pg_temp.who('s2'), 'Grace H. of acme as user, level_user', 'until it is public again');
select is(tests.see('rita', format('select private.end_session(%L)', pg_temp.digest('s2'))), 'false', 'nobody ends the session of another');
select is(tests.see('grace', format('select private.end_session(%L)', pg_temp.digest('s2'))), 'true', 'its person ends it');
select is(array[pg_temp.who('s2'), pg_temp.who('s3')], array['nobody', 'Grace H. of acme as user, level_user'], 'and no other');
insert into private.identify_sessions (digest, organization_id, profile_id, secret_id, created_at, expires_at)
select pg_temp.digest('old ' || n), tests.id('acme'), tests.id('grace'), tests.id('acme secret'), now() - interval '1 hour' - n * interval '1 minute', now() + interval '1 hour'
from generate_series(1, 60) n;
select is(tests.try('feedback_api', pg_temp.opens('s9', 'u-1', 'new@host.test')), '1', 'a person with many sessions opens one more');
select is((select count(*) from private.identify_sessions where profile_id = tests.id('grace')), 50::bigint, 'and has 50 then');
select is(array[pg_temp.who('s9'), pg_temp.who('old 1'), pg_temp.who('old 60')],
  array['Grace H. of acme as user, level_user', 'Grace H. of acme as user, level_user', 'nobody'], 'without the oldest');
update private.identify_sessions set expires_at = now() - interval '1 second' where digest = pg_temp.digest('s9');
update private.identify_tokens set expires_at = now() - interval '1 second' where organization_id = tests.id('acme');
select is(array[(select count(*) from private.identify_sessions where expires_at < now()), (select count(*) from private.identify_tokens)], array[1, 2]::bigint[],
  'of what has expired there is a session, and one of two tokens');
select is(private.trim_rows() -> 'identify_sessions', '1', 'the upkeep deletes the session');
select is((select array_agg(organization_id) from private.identify_tokens), array[tests.id('rival')], 'and the token');

-- Claiming: the author becomes a user's, and the application's sessions of the author end
do $$ begin
  update auth.users set email = 'new@host.test', email_confirmed_at = now() where id = tests.id('carol');
  perform tests.submission('her idea', 'grace');
end $$;
select is(tests.see('carol', format('select private.claim_author(%L, %L) ->> %L', tests.id('acme'), tests.id('grace'), 'slug')), 'acme', 'a user claims the author');
select is(array[pg_temp.who('s3'), pg_temp.who('s7'), pg_temp.who('old 1')], array['nobody', 'nobody', 'nobody'], 'whose sessions end');
select is(pg_temp.who('s8'), 'Rival''s of rival as user, level_user', 'but those of another organization, with the same subject and address before');
select is(tests.see('feedback_api', pg_temp.opens('s10', 'u-1', 'new@host.test', name => 'Grace again'))::json -> 'profile' ->> 'id'
  not in (tests.id('grace')::text, tests.id('carol')::text), true, 'the same subject is a new person then');
select is((select author_id from submissions where id = tests.id('her idea')), tests.id('carol'), 'who has nothing of what the user claimed');

-- Signing secrets
select is(tests.try(who, format('select private.admin_create_identify_secret(%L, %L, %L)', tests.id(who || ' made'), 'k1.abc', 'wxyz')), outcome, format('%s makes a secret: %s', who, outcome))
from (values ('anon', '42501'), ('acme key with members:write organization:write', '42501')) t (who, outcome);
create function pg_temp.in_acme(query text) returns text language sql as $$
  select format($q$ select case when set_config('feedback.organization_id', %L, true) is not null then (%s)::text end $q$, tests.id('acme'), query)
$$;
select is(tests.see(who, pg_temp.in_acme(format('select private.admin_create_identify_secret(%L, %L, %L)', tests.id(who || ' made'), 'k1.abc', 'wxyz'))) like '%wxyz%', is_made,
  format('%s %s one for Acme', who, case when is_made then 'makes' else 'does not make' end))
from (values ('alice', false), ('mia', false), ('rita', false), ('adam', true)) t (who, is_made);
select is(tests.see('olga', pg_temp.in_acme($$ select private.admin_create_identify_secret(gen_random_uuid(), 'k1.abc', 'wxyz') $$)), 'FB409', 'a third is refused');
select is(tests.see('rita', pg_temp.in_acme(format('select private.admin_delete_identify_secret(%L)', tests.id('acme secret')))), 'FB403', 'the owner of another organization deletes none');
select is(tests.see('olga', pg_temp.in_acme(format('select private.admin_delete_identify_secret(%L)', tests.id('rival secret')))), 'false', 'nor does an owner that of another organization');
select is(tests.see('olga', pg_temp.in_acme(format('select private.admin_delete_identify_secret(%L)', tests.id('acme secret')))), 'true', 'an owner deletes their own');
select is(array[pg_temp.who('s10'), pg_temp.who('s8')], array['nobody', 'Rival''s of rival as user, level_user'], 'which ends the sessions it opened, and no others');
select is((select string_agg(action, ', ' order by created_at, action) from private.audit_log where target_type = 'identify_secret'), 'identify_secret.create, identify_secret.delete',
  'the audit trail has both');

-- Surveys that the widget offers
create function pg_temp.offered(who text, organization text default 'acme', locale text default 'en') returns text language sql as $$
  select tests.see(who, format($q$ select case when set_config('feedback.organization_id', %L, true) is not null then private.offered_survey(%L) ->> 'title' end $q$,
    tests.id(organization), locale))
$$;
select is(pg_temp.offered('alice'), null, 'without a survey none is offered');

do $$ begin
  perform tests.submission('A wish', 'bob'), tests.submission('Duplicate', 'bob');
  perform tests.survey('Draft', 'draft'), tests.survey('Paused', 'paused'), tests.survey('Secret', organization => 'vault');
end $$;
select is(pg_temp.offered('alice'), null, 'nor is one that is not published');
select is(array[pg_temp.offered('alice', 'vault'), pg_temp.offered('vic', 'vault')], array[null, 'Secret'], 'that of a private board is for its team');
do $$ begin perform tests.survey('For all'); end $$;
select is(array[pg_temp.offered('alice'), pg_temp.offered('alice', 'rival')], array['For all', null], 'a published one is offered, on its own board');
select is(pg_temp.offered(who), '42501', format('but not to %s', who)) from unnest(array['anon', 'acme key with surveys:read']) who;
select is(tests.try('alice', format('select private.submit_survey_response(%L, %L, null, null)', tests.id('For all'), tests.answers('For all', '9'))), '1', 'it is answered');
select is(array[pg_temp.offered('alice'), pg_temp.offered('bob')], array[null, 'For all'], 'and offered no more to who did');
insert into surveys (id, organization_id, title, version_of, family_id)
select tests.id('For all, again'), organization_id, 'For all, again', id, family_id from surveys where id = tests.id('For all');
do $$ begin
  perform private.write_questions(tests.id('acme'), tests.id('For all, again'), '[{"type": "nps", "text": "And now?"}]');
  update surveys set status = 'archived' where id = tests.id('For all');
  update surveys set status = 'published' where id = tests.id('For all, again');
end $$;
select is(array[pg_temp.offered('alice'), pg_temp.offered('bob')], array[null, 'For all, again'], 'nor in a new version');
alter table surveys disable trigger keep_life;
update surveys set closes_at = now() - interval '1 minute' where id = tests.id('For all, again');
alter table surveys enable trigger keep_life;
select is(pg_temp.offered('bob'), null, 'one that has closed is not offered');
do $$ begin perform tests.survey('German', settings => '{"targeting": {"locales": ["de"]}}'); end $$;
select is(array[pg_temp.offered('bob'), pg_temp.offered('bob', locale => 'de')], array[null, 'German'], 'one for some languages is offered in these');
update surveys set status = 'archived' where id = tests.id('German');
do $$ begin
  perform tests.survey('Voters', settings => jsonb_build_object('targeting', jsonb_build_object('audience', 'voters', 'submission_id', tests.id('Duplicate'))));
  insert into votes (submission_id, user_id) values (tests.id('Duplicate'), tests.id('alice'));
end $$;
select is(array[pg_temp.offered('alice'), pg_temp.offered('carol')], array['Voters', null], 'one for voters to these');
do $$ begin
  perform tests.merge('Duplicate', 'A wish');
  insert into votes (submission_id, user_id) values (tests.id('A wish'), tests.id('carol'));
end $$;
select is(array[pg_temp.offered('alice'), pg_temp.offered('carol')], array['Voters', 'Voters'], 'and after a merge to those of the target');
update surveys set status = 'archived' where id = tests.id('Voters');
do $$ begin
  perform tests.survey('Followers', settings => jsonb_build_object('targeting', jsonb_build_object('audience', 'followers', 'submission_id', tests.id('A wish'))));
end $$;
select is(array[pg_temp.offered('carol'), pg_temp.offered('mia')], array['Followers', null], 'one for followers to these');
delete from submissions where id = tests.id('Duplicate');
delete from submissions where id = tests.id('A wish');
select is(pg_temp.offered('carol'), null, 'and to nobody when the submission is deleted');

select * from finish();
rollback;
