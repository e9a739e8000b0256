-- The owner of an account, the account that a link refers to, and the sessions that are accepted.
begin;
set local search_path = public, extensions;
select plan(57);
do $$ begin perform tests.start(); end $$;

-- The statements of Supabase Auth 2.196, as it sends them: a user is inserted without a token; a mail sets
-- one; a confirmation clears it, and then writes the metadata that auth had read before.
create function tests.request(name text, metadata jsonb default '{"name": "Mallory", "locale": "de", "plan": "x"}', column_name text default 'confirmation_token') returns void
language plpgsql as $$
begin
  insert into auth.users (id, email, encrypted_password, raw_user_meta_data, raw_app_meta_data)
  values (tests.id(name), name || '@example.test', 'hash of ' || name, metadata, '{"provider": "email", "providers": ["email"]}')
  on conflict (id) do nothing;
  execute format('update auth.users set %I = md5(random()::text), confirmation_sent_at = now() where id = tests.id(%L)', column_name, name);
end $$;
create function tests.confirm(name text) returns void
language plpgsql as $$
declare known auth.users := (select u from auth.users u where u.id = tests.id(name));
begin
  perform set_config('feedback.given_account', '', true); -- as in a transaction of its own
  update auth.users set confirmation_token = '', recovery_token = '', email_confirmed_at = now() where id = known.id;
  update auth.users set raw_user_meta_data = known.raw_user_meta_data || '{"email_verified": true}' where id = known.id;
end $$;

do $$ begin perform tests.request('plain', '{"name": "Paula", "locale": "de"}'); end $$;
select is((select email from profiles where id = tests.id('plain')), null, 'a profile has no address before it is confirmed');
do $$ begin perform tests.confirm('plain'); end $$;
select is((select email from profiles where id = tests.id('plain')), 'plain@example.test', 'then it has it');
select is((select encrypted_password from auth.users where id = tests.id('plain')), 'hash of plain', 'a single sign-up keeps its password');
select is((select name from profiles where id = tests.id('plain')), 'Paula', 'and its name');
select is((select raw_user_meta_data ->> 'locale' from auth.users where id = tests.id('plain')), 'de', 'and its language');

do $$ begin
  for way in 0 .. 2 loop
    perform tests.request('prey' || way);
    perform tests.request('prey' || way, '{}', case way when 2 then 'recovery_token' else 'confirmation_token' end);
    insert into auth.sessions (id, user_id) values (tests.id('session of prey' || way), tests.id('prey' || way));
    perform tests.confirm('prey' || way);
  end loop;
end $$;
select is((select encrypted_password from auth.users where id = tests.id(prey)), '', prey || ': after a second request, nobody''s password counts')
from unnest(array['prey0', 'prey2']) as prey;
select is((select raw_user_meta_data from auth.users where id = tests.id('prey0')), '{"email_verified": true}', 'metadata goes, also if auth writes it again');
select results_eq($$ select name, locale, email from profiles where id = tests.id('prey0') $$, $$ values (null::text, null::text, 'prey0@example.test') $$, 'and so do name and language');
select is((select count(*) from auth.sessions where user_id = tests.id('prey0')), 0::bigint, 'and sessions');
select is((select count(*) from private.unconfirmed_requests), 0::bigint, 'and the count');
do $$ begin perform set_config('feedback.given_account', '', true); update auth.users set raw_user_meta_data = '{"name": "Petra"}', encrypted_password = 'own' where id = tests.id('prey0'); end $$;
select results_eq($$ select raw_user_meta_data ->> 'name', encrypted_password from auth.users where id = tests.id('prey0') $$, $$ values ('Petra', 'own'::varchar) $$, 'later changes stay');

do $$ begin perform tests.request('refused'); perform private.count_unconfirmed_request('REFUSED@example.test'); perform tests.confirm('refused'); end $$;
select is((select encrypted_password from auth.users where id = tests.id('refused')), '', 'a request for which auth sent no mail counts');
do $$ begin perform private.count_unconfirmed_request('olga@example.test'), private.count_unconfirmed_request('nobody@example.test'); end $$;
select is((select count(*) from private.unconfirmed_requests), 0::bigint, 'but not for a confirmed or unknown address');

do $$ begin
  perform tests.request('admitted'), tests.request('admitted');
  update auth.users set email_confirmed_at = now(), encrypted_password = 'by the admin', raw_user_meta_data = raw_user_meta_data || '{"name": "Ada"}'
  where id = tests.id('admitted');
end $$;
select results_eq($$ select encrypted_password, raw_user_meta_data, (select name from profiles p where p.id = u.id) from auth.users u where id = tests.id('admitted') $$,
  $$ values ('by the admin'::varchar, '{"name": "Ada"}'::jsonb, 'Ada'::text) $$, 'what an admin sets with the confirmation stays');

-- A provider: auth removes password and metadata itself, and then confirms.
do $$ begin
  perform tests.request('github'), tests.request('github');
  update auth.users set encrypted_password = null, raw_user_meta_data = '{"user_name": "octo", "avatar_url": "https://example.test/o.png"}',
    raw_app_meta_data = '{"provider": "github", "providers": ["github"]}' where id = tests.id('github');
  insert into auth.identities (id, user_id, provider, provider_id, identity_data) values
    (gen_random_uuid(), tests.id('github'), 'github', '1', '{"email": "github@example.test", "email_verified": true}');
  insert into auth.sessions (id, user_id) values (tests.id('session of github'), tests.id('github'));
  insert into auth.flow_state (id, user_id, auth_code, code_challenge, code_challenge_method, provider_type, authentication_method, auth_code_issued_at) values
    (tests.id('issued'), tests.id('github'), 'a', 'b', 's256', 'github', 'oauth', now()), (tests.id('pending'), tests.id('github'), 'a', 'b', 's256', 'github', 'oauth', null);
  update auth.users set phone = '1', phone_change = '2', phone_change_token = 'x', email_change = 'evil@example.test' where id = tests.id('github');
  perform tests.confirm('github');
end $$;
select results_eq($$ select phone, phone_change, phone_change_token, email_change, (select count(*) from auth.sessions s where s.user_id = u.id) from auth.users u where id = tests.id('github') $$,
  $$ values (null::text, ''::text, ''::varchar, ''::varchar, 0::bigint) $$, 'who comes by a provider finds no session and no pending change of others');
select is((select string_agg((id = tests.id('pending'))::text, ' ') from auth.flow_state where user_id = tests.id('github')), 'true', 'and no code that was issued');
select results_eq($$ select name, avatar_url from profiles where id = tests.id('github') $$, $$ values ('octo', 'https://example.test/o.png') $$,
  'the name and picture of a provider replace those of before');
do $$ begin
  perform tests.request('stranger');
  insert into auth.identities (id, user_id, provider, provider_id, identity_data) values
    (gen_random_uuid(), tests.id('stranger'), 'github', '2', '{"email": "stranger@example.test", "email_verified": false}'),
    (gen_random_uuid(), tests.id('stranger'), 'google', '3', '{"email": "other@example.test", "email_verified": true}'),
    (gen_random_uuid(), tests.id('stranger'), 'email', '4', '{"email": "stranger@example.test"}');
  perform tests.request('stranger');
  perform tests.confirm('stranger');
end $$;
select is((select string_agg(provider, ' ') from auth.identities where user_id = tests.id('stranger')), 'email', 'a provider that did not verify the address signs in no longer');
select is((select avatar_url from profiles where id = tests.id(name)), null, name || ' is no picture') from (values
  ('javascript', 'javascript:alert(1)'), ('http', 'http://example.test/a.png'), ('quote', 'https://example.test/"onload=')) as t (name, picture),
  lateral (select tests.request(name, jsonb_build_object('picture', picture))) as r;

-- An anonymous user who adds an address keeps their content.
do $$ begin
  insert into auth.users (id, is_anonymous) values (tests.id('anonymous'), true);
  update profiles set name = 'Ann' where id = tests.id('anonymous');
  insert into auth.sessions (id, user_id) values (tests.id('session of anonymous'), tests.id('anonymous'));
  update auth.users set email = 'anonymous@example.test', email_change = '' where id = tests.id('anonymous');
  perform tests.confirm('anonymous');
end $$;
select results_eq($$ select p.name, p.email, (select count(*) from auth.sessions s where s.user_id = p.id) from profiles p where p.id = tests.id('anonymous') $$,
  $$ values ('Ann', 'anonymous@example.test', 1::bigint) $$, 'an anonymous user who adds an address keeps name and session');

-- Size
do $$ begin perform tests.request('large', jsonb_build_object('name', 'Lara', 'junk', repeat('x', 9000))); end $$;
select is((select raw_user_meta_data from auth.users where id = tests.id('large')), '{"name": "Lara"}', 'of a sign-up with much metadata the name stays');
do $$ begin perform tests.request('pictured', jsonb_build_object('name', 'Pia', 'picture', 'https://example.test/' || repeat('p', 300), 'junk', repeat('x', 9000))); end $$;
select is((select raw_user_meta_data from auth.users where id = tests.id('pictured')), '{"name": "Pia"}', 'a long picture is left out and not cut');
do $$ begin perform tests.request('escaped', jsonb_build_object('junk', repeat('<', 400))); end $$;
select is((select raw_user_meta_data from auth.users where id = tests.id('escaped')), '{}', 'characters count as a token writes them');
do $$ begin perform tests.request('many', jsonb_build_object('name', repeat('<', 200), 'full_name', repeat('<', 200), 'junk', repeat('x', 2000))); end $$;
select is((select raw_user_meta_data from auth.users where id = tests.id('many')), '{}', 'also of what stays');
do $$ begin perform tests.request('numbered', jsonb_build_object('phone', repeat('1', 3000), 'sub', 'short')); end $$;
select is((select raw_user_meta_data from auth.users where id = tests.id('numbered')), '{"sub": "short"}', 'a field of auth that is too long is not its own');
select throws_ok(format($$ update auth.users set raw_user_meta_data = '{"junk": "%s"}' where id = tests.id('plain') $$, repeat('x', 2100)), '23514', null, 'a confirmed account gets an error');

-- Links
do $$ begin
  perform tests.request('linked', '{"name": "Lina"}');
  update auth.users set confirmation_token = 'pkce_' || md5('linked') where id = tests.id('linked');
  update auth.users set recovery_token = rtrim(translate(encode(sha256(convert_to(md5('hashed'), 'UTF8')), 'base64'), '+/', '-_'), '=') where id = tests.id('olga');
  update auth.users set email_change = 'other@example.test', email_change_token_new = md5('change'), email_change_token_current = md5('current') where id = tests.id('adam');
  insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to) values (gen_random_uuid(), tests.id('adam'), 'email_change_token_new', md5('change'), 'other@example.test');
end $$;
select is(tests.see('anon', format('select concat_ws('' '', name, email, kind) from private.account_of_link(%L)', token)), shown, claim) from (values
  ('pkce_' || md5('linked'), 'Lina linked@example.test unconfirmed', 'a link names the account it confirms'),
  (md5('hashed'), 'Olga olga@example.test confirmed', 'also where auth stores its hash'),
  (md5('change'), 'Adam other@example.test change', 'or a change of address'),
  (md5('current'), 'Adam other@example.test change', 'or its other half'),
  (md5('none'), null, 'an unknown one names nobody'), ('', null, 'an empty one neither'), ('123456', null, 'nor a code')) as t (token, shown, claim);
select is(private.reject_link(token), outcome, claim) from (values
  ('pkce_' || md5('linked'), 'deleted', 'rejecting a link tells that the account is deleted'), (md5('current'), 'kept', 'or that an address is kept'),
  (md5('hashed'), null, 'nothing of a confirmed account'), (md5('none'), null, 'and nothing of an unknown link')) as t (token, outcome, claim);
select is((select count(*) from auth.users where id = tests.id('linked')), 0::bigint, 'whoever did not ask deletes the unconfirmed account');
select is((select count(*) from auth.users where id = tests.id('olga')), 1::bigint, 'never a confirmed one');
do $$ begin
  perform tests.request('caller', '{}');
  update auth.users set phone_confirmed_at = now(), confirmation_token = md5('caller') where id = tests.id('caller');
  perform private.reject_link(md5('caller'));
end $$;
select results_eq($$ select email, confirmation_token from auth.users where id = tests.id('caller') $$, $$ values (null::varchar, ''::varchar) $$,
  'from one that signs in by phone the address is taken');
select results_eq($$ select email, email_change, email_change_token_new, (select count(*) from auth.one_time_tokens) from auth.users where id = tests.id('adam') $$,
  $$ values ('adam@example.test'::varchar, ''::varchar, ''::varchar, 0::bigint) $$, 'and ends a change of address');

-- Passwords
select is(tests.see(who, 'select private.needs_password()'), needs, claim) from (values
  ('prey2', 'true', 'who has just confirmed an account without a password needs one'), ('plain', 'false', 'not who has one'), ('github', 'false', 'not who comes by a provider')) as t (who, needs, claim);

-- Sessions
do $$ begin
  insert into auth.sessions (id, user_id) values (tests.id('session'), tests.id('mia')), (tests.id('other session'), tests.id('bob'));
  insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) values
    (gen_random_uuid(), tests.id('alice'), 'totp', 'verified', now(), now()), (gen_random_uuid(), tests.id('bob'), 'totp', 'unverified', now(), now());
  update auth.users set banned_until = now() + interval '1 day' where id = tests.id('carol');
  update auth.users set banned_until = now() - interval '1 day' where id = tests.id('rita');
end $$;
select is(private.session_refusal(tests.id(who), case when session is not null then tests.id(session) end, aal), refusal, claim) from (values
  ('mia', 'session', null, null, 'a session of auth is accepted'),
  ('mia', 'gone', null, 'ended', 'one that has ended is not'),
  ('mia', 'other session', null, 'ended', 'nor one of somebody else'),
  ('mia', null, null, null, 'a token that names none is'),
  ('carol', null, null, 'ended', 'a banned user is refused'),
  ('rita', null, null, null, 'until the ban is over'),
  ('alice', null, null, 'factor', 'a second factor has to be passed'),
  ('alice', null, 'aal2', null, 'by the session'),
  ('bob', null, null, null, 'an unverified factor is none'),
  ('unknown', null, 'aal2', 'ended', 'an unknown user is refused')) as t (who, session, aal, refusal, claim);

select * from finish();
rollback;
