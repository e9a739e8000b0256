-- Profiles, teams, the service role and operators.
begin;
set local search_path = public, extensions;
select plan(158);
do $$ begin perform tests.start(); perform tests.submission('An idea', 'alice'); end $$;

-- A user has a profile
do $$ begin
  insert into auth.users (id, email, raw_user_meta_data) values
    (tests.id('full'), 'full@example.test', '{"full_name": "  Full Name "}'), (tests.id('none'), 'some.name@example.test', null),
    (tests.id('long'), 'long@example.test', jsonb_build_object('name', repeat('😀', 150))), (tests.id('blank'), 'blank@example.test', '{"name": "   "}'),
    (tests.id('second'), 'second@example.test', '{"name": " ", "full_name": 7, "user_name": "octo", "avatar_url": "", "picture": "https://example.test/p.png"}'),
    (tests.id('odd'), 'odd@example.test', '{"name": {"first": "Ada"}, "avatar_url": ["https://example.test/p.png"]}'),
    (tests.id('family'), 'family@example.test', jsonb_build_object('name', repeat('n', 98) || '👨‍👩‍👧'));
end $$;
select is((select name from profiles where id = tests.id(person)), name, claim) from (values
  ('alice', 'Alice', 'the name comes from sign-up'),
  ('full', 'Full Name', 'or from full_name, trimmed'),
  ('none', null, 'a name is never made from the address'),
  ('blank', null, 'white space is no name'),
  ('second', 'octo', 'the next one that is a name counts'),
  ('odd', null, 'nothing but text is a name'),
  ('family', repeat('n', 98), 'a sign is not cut'),
  ('long', repeat('😀', 100), 'a name has at most 100 characters')) as t (person, name, claim);
select is((select avatar_url from profiles where id = tests.id(person)), picture, claim) from (values
  ('second', 'https://example.test/p.png', 'the next picture that can be used counts'),
  ('odd', null, 'nothing but text is a picture'),
  ('alice', null, 'without one there is none')) as t (person, picture, claim);
do $$ begin update auth.users set email = 'new@example.test' where id = tests.id('alice'); end $$;
select is((select email from profiles where id = tests.id('alice')), 'new@example.test', 'a changed address is copied to the profile');
do $$ begin update auth.users set email = 'olga@example.test' where id = tests.id('olga'); end $$;

-- Editing the own profile
select is(tests.try(who, $$ update profiles set name = 'Alicia', avatar_url = 'https://example.test/a.png' where id = tests.id('alice') $$), outcome, claim)
from (values
  ('alice', '1', 'a person changes their name and picture'),
  ('bob', '0', 'another user cannot'),
  ('adam', '0', 'an admin cannot'),
  ('anon', '42501', 'an anonymous user cannot'),
  ('acme key with submissions:write members:write', '42501', 'a key cannot')) as t (who, outcome, claim);
select is(tests.try('alice', 'update profiles set ' || change || ' where id = tests.id(''alice'')'), '42501', 'a profile cannot be updated with ' || change)
from unnest(array['email = ''olga@example.test''', 'kind = ''key''', 'auth_user_id = tests.id(''olga'')', 'organization_id = tests.id(''acme'')', 'id = tests.id(''olga'')']) as change;
select is(tests.try('alice', format('update profiles set avatar_url = %L where id = tests.id(''alice'')', url)), '23514 avatar_url_is_a_web_address',
  format('%s is no picture', left(url, 30))) from unnest(array['javascript:alert(1)', 'data:image/png;base64,x', '/a.png', 'https://a b', 'https://' || repeat('x', 2000)]) as url;
select is(tests.try('alice', format('update profiles set name = %L where id = tests.id(''alice'')', name)), '23514 name_has_1_to_100_characters', claim)
from (values ('', 'no name is empty'), (repeat('x', 101), 'none is longer than 100 characters')) as t (name, claim);
select is(tests.see('alice', $$ select email from profiles where id = tests.id('alice') $$), '42501', 'users cannot read e-mail addresses, not even their own');
select is(tests.see(who, statement), '42501', format('%s may not: %s', who, statement))
from unnest(array['alice', 'adam', 'acme key with members:write organization:write']) as who,
  unnest(array['insert into memberships (organization_id, user_id, role) values (tests.id(''acme''), tests.id(''alice''), ''owner'')', 'update memberships set role = ''owner''',
  'delete from memberships', 'insert into organizations (slug, name) values (''mine'', ''Mine'')', 'update organizations set visibility = ''private''', 'delete from organizations',
  'insert into profiles (name) values (''Nobody'')', 'insert into categories (organization_id, name, slug) values (tests.id(''acme''), ''Mine'', ''mine'')',
  'update tags set name = ''Mine''']) as statement;

-- E-mail addresses
select throws_ok($$ insert into profiles (kind, organization_id, email) values ('email', tests.id('acme'), 'eve@example.test'), ('email', tests.id('acme'), 'EVE@example.test') $$,
  '23505', null, 'an organization has one profile per address, ignoring case');
select lives_ok($$ insert into profiles (kind, organization_id, email) values ('email', tests.id('acme'), 'eve@example.test'), ('email', tests.id('rival'), 'eve@example.test') $$,
  'two organizations may have profiles with the same address');
select throws_ok($$ insert into profiles (kind, organization_id) values ('email', tests.id('acme')) $$, '23514', null,
  'an e-mail author must have an address');
select throws_ok($$ insert into profiles (kind) values ('key') $$, '23514', null, 'a key must belong to an organization');

-- Deleting users
do $$ begin
  perform tests.comment('a comment', 'mia', 'An idea');
  update profiles set avatar_url = 'https://example.test/m.png' where id = tests.id('mia');
  delete from auth.users where id = tests.id('mia');
end $$;
select results_eq($$ select name, email, avatar_url, auth_user_id from profiles where id = tests.id('mia') $$,
  $$ values (null::text, null::text, null::text, null::uuid) $$, 'a deleted user''s profile keeps no personal data');
select is(private.author(tests.id('mia'), tests.id('acme')) ->> 'name', 'Anonymous', 'their content has the author Anonymous');
select is((select body from comments where author_id = tests.id('mia')), 'a comment', 'their content is kept');

-- Organizations
do $$ begin perform private.create_organization('New', 'new', 'private', tests.id('bob')); end $$;
select results_eq($$ select name, visibility, user_id, role from organizations o join memberships m on m.organization_id = o.id where slug = 'new' $$,
  $$ values ('New', 'private', tests.id('bob'), 'owner') $$, 'an operator creates an organization owned by a user');
select throws_ok($$ select private.create_organization('Newer', 'newer', 'public', tests.id('unknown')) $$, 'FB409', null,
  'an unknown user is rejected');
select throws_ok($$ select private.create_organization('Newer', 'newer', 'public', tests.id('full')) $$, 'FB409', null,
  'and a user who has not confirmed an address');
select throws_ok($$ select private.create_organization('Acme again', 'acme', 'public', tests.id('bob')) $$, 'FB409', null, 'a slug that is in use is rejected');
do $$ begin update organizations set slug = 'newest' where slug = 'new'; end $$;
select throws_ok($$ select private.create_organization('New', 'new', 'public', tests.id('bob')) $$, 'FB409', null, 'nobody takes the former slug of another');
select throws_ok($$ update organizations set slug = 'new' where slug = 'acme' $$, 'FB409', null, 'also not by a rename');
select is(private.organization_named(upper(name)), (select id from organizations where slug = 'newest'), format('%s leads to it', name))
from unnest(array['new', 'newest', (select id::text from organizations where slug = 'newest')]) as name;
do $$ begin update organizations set slug = 'new' where slug = 'newest'; end $$;
select is((select count(*) from organizations where slug = 'new'), 1::bigint, 'it takes its own former slug back');
select throws_ok($$ do $do$ begin for n in 3..11 loop update organizations set slug = 'new-' || n where id = private.organization_named('new'); end loop; end $do$ $$,
  'FB409', null, 'an organization has at most 10 slugs');
select throws_ok(format('update organizations set slug = %L where slug = ''new''', slug), '23514', null, format('%s is no slug', left(slug, 10)))
from unnest(array['', 'New', 'a b', 'a--b', '-a', 'a-', 'аcme', 'ａcme', E'a\n', repeat('x', 65), 'a_b', 'a.b', tests.id('acme')::text]) as slug;
select throws_ok(format('insert into categories (organization_id, name, slug, translations) values (tests.id(''acme''), ''X'', ''x'', %L)', translations), '23514', null,
  format('%s are no translations', translations)) from unnest(array['[]', '"de"', '{"xx": "X"}', '{"de": 1}', '{"de": null}', '{"DE": "X"}', 'null']) as translations;
select lives_ok($$ insert into categories (organization_id, name, slug, translations)
  values (tests.id('acme'), 'Colour', 'colour', '{"en":"Colour","es":"Color","fr":"Couleur","de":"Farbe","ru":"Цвет","pt-BR":"Cor","ja":"色","it":"Colore"}') $$,
  'the name of a category has translations into the eight locales');
select is((select private.localized(name, translations, locale) from categories where slug = 'colour'), name, format('in %s it is %s', locale, name))
from (values ('de', 'Farbe'), ('ja', '色'), ('nl', 'Colour')) as t (locale, name);

-- Names that show nothing, or look like somebody else's
do $$ begin
  insert into auth.users (id, email, raw_user_meta_data)
  select tests.id('seems ' || n), 'seems' || n || '@example.test', jsonb_build_object('name', name)
  from unnest(array[U&'\2060', U&'\3164', U&'\00AD', U&'\200C', U&'\FE0F\200D', U&'\115F\2800', U&'\+01D159\+016FE4', U&'\+013441\070F', U&'O\2060l\00ADga\+0E0041', repeat(U&'\FE0F', 150) || 'Olga']) with ordinality s (name, n);
end $$;
select is((select array_agg(name order by email) from profiles where email is null and id in (select tests.id('seems ' || n) from generate_series(1, 8) n)), array_fill(null::text, array[8]),
  'a name of sign-up without a visible character is none');
select is((select name from profiles where id = tests.id('seems ' || n)), 'Olga', 'invisible characters are removed from a name') from unnest(array[9, 10]) n;
select is(private.person_name(name), name, format('%s is a name', name))
from unnest(array[U&'\0646\200C\0645\0627', U&'\0D30\0D3E\0D1C\0D28\0D4D\200D', U&'\+01F469\200D\+01F4BB', U&'\845B\+0E0100\57CE', U&'\2764\FE0F']) name;
select is(tests.try('alice', format('update profiles set name = %L where id = tests.id(''alice'')', name)), '23514 name_has_1_to_100_characters', 'a name needs a visible character')
from unnest(array[U&'\2060', U&'\3164 \00AD', U&'\200C']) name;
select is(tests.try(who, format('update profiles set name = %L where id = tests.id(%L)', name, who)), outcome, format('%s as a name of %s: %s', name, who, outcome))
from (values ('alice', 'Olga', 'FB400'), ('alice', U&'\041Elg\0430', 'FB400'), ('alice', '0LGA', 'FB400'), ('alice', 'O l.g' || U&'\00E0', 'FB400'), ('alice', U&'\FF2Flg\0251', 'FB400'),
  ('alice', 'Olga (Team)', 'FB400'), ('alice', U&'\00C9quipe Olga', 'FB400'), ('alice', U&'Olga \2013 \041A\043E\043C\0430\043D\0434\0430', 'FB400'),
  ('alice', U&'Olga \30C1\30FC\30E0', 'FB400'), ('alice', 'Olga [EQUIPO]', 'FB400'), ('alice', 'Squadra: Olga', 'FB400'), ('alice', U&'\2713 Olga \+01F3C5', 'FB400'),
  ('alice', 'O|ga', 'FB400'), ('alice', U&'\1D0F\029F\0262\1D00', 'FB400'), ('alice', U&'\A4F3\A4E1\A4D6\A4EE', 'FB400'), ('alice', U&'O\13DE\13C0\13AA', 'FB400'),
  ('alice', 'Team', '1'), ('alice', 'Olga Teamster', '1'), ('alice', 'Olga from Sales', '1'), ('alice', 'Rita', '1'), ('rita', 'Olga', '1'), ('adam', 'Olga', '1'), ('alice', 'Alice', '1'), ('bob', '!!', '1')) t (who, name, outcome);
do $$ begin perform set_config('feedback.organization_id', '', true); end $$;
select is(tests.try('alice', 'update profiles set name = ''Olga'' where id = tests.id(''alice'')'), 'FB400', 'the teams where a person wrote something count without a named organization');
select is(private.name_skeleton('Barney'), private.name_skeleton(U&'\0412am\0435\0443'), 'letters that look alike have one skeleton');
select isnt(private.name_skeleton('Olga'), private.name_skeleton('Olaf'), 'other letters have another');
do $$ begin update organizations set name = E'a\u202Eb\nc\u2066' where id = tests.id('acme'); end $$;
select is((select name from organizations where id = tests.id('acme')), 'abc', 'a name of an organization is cleaned like one of a person');
select is(tests.try('service_role', $$ update organizations set name = U&'\3164' $$), '23514 name_has_1_to_100_characters', 'and needs a visible character');
select is(tests.try('service_role', statement), '23514 name_is_visible', 'a name needs a visible character')
from unnest(array[$$ insert into tags (organization_id, name, slug) values (tests.id('acme'), U&'\2060', 'x') $$,
  $$ insert into categories (organization_id, name, slug) values (tests.id('acme'), U&'\00AD', 'x') $$]) as statement;
select is(tests.try('alice', format($$ insert into submissions (organization_id, title, description, type) values (tests.id('acme'), %L, 'A description that is long enough.', 'idea') $$, repeat(U&'\2060', 9))),
  '23514 title_has_5_to_200_characters', 'a title needs a visible character');
select is(tests.try('alice', format($$ insert into comments (submission_id, body) values (tests.id('An idea'), %L) $$, U&'\3164')), '23514 body_has_1_to_2000_characters', 'and a comment');

-- The service role bypasses policies, not triggers and constraints
select is(tests.try('service_role', statement), outcome, claim) from (values
  ($$ insert into submissions (id, organization_id, author_id, title, description, type)
    values (tests.id('served'), tests.id('acme'), tests.id('alice'), ' A served idea ', 'A description that is long enough.', 'idea') $$, '1',
      'the service role submits for anyone'),
  ($$ insert into votes (submission_id, user_id) values (tests.id('served'), tests.id('bob')) $$, '1', 'votes'),
  ($$ insert into comments (id, submission_id, author_id, body) values (tests.id('served'), tests.id('served'), tests.id('bob'), 'Served.') $$, '1', 'comments'),
  ($$ insert into comment_votes (comment_id, user_id) values (tests.id('served'), tests.id('alice')) $$, '1', 'votes for comments'),
  ($$ insert into follows (submission_id, user_id) values (tests.id('served'), tests.id('carol')) $$, '1', 'follows'),
  ($$ insert into status_changes (submission_id, new_status) values (tests.id('served'), 'planned') $$, '1', 'changes a status'),
  ($$ update submissions set title = 'A served title', tracker_issue_url = 'https://example.test/1' where id = tests.id('served') $$, '1', 'edits'),
  ($$ update comments set body = 'Served again.' where id = tests.id('served') $$, '1', 'edits comments'),
  ($$ update comments set moderation_state = 'spam' where id = tests.id('served') $$, '1', 'moderates'),
  ($$ insert into tags (organization_id, name, slug) values (tests.id('acme'), 'Served', 'served') $$, '1', 'adds tags'),
  ($$ update organizations set visibility = 'private' where id = tests.id('acme') $$, '1', 'changes settings'),
  ($$ delete from votes where submission_id = tests.id('served') and user_id = tests.id('bob') $$, '1', 'takes votes back'),
  ($$ insert into submissions (organization_id, author_id, title, description, type) values (tests.id('acme'), tests.id('alice'), 'No', 'A description that is long enough.', 'idea') $$,
    '23514 title_has_5_to_200_characters', 'but writes no title that is too short'),
  ($$ insert into votes (submission_id, user_id) values (tests.id('nowhere'), tests.id('bob')) $$, 'FB404', 'and votes for nothing that is not there'))
  as t (statement, outcome, claim);
select results_eq($$ select title, vote_count, comment_count, status, is_public from submissions where id = tests.id('served') $$,
  $$ values ('A served title', 1, 0, 'planned', false) $$, 'counters, notifications and events are as for other writes');

select * from finish();
rollback;
