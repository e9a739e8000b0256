-- Authentication of requests, and rate limits.
begin;
set local search_path = public, extensions;
select plan(131 + (select count(*)::integer from pg_tables where schemaname in ('public', 'private')));
do $$ begin
  perform tests.start();
  perform tests.submission('An idea', 'alice');
  perform tests.submission('In the vault', 'vic', 'vault');
end $$;

create function pg_temp.digest(secret text) returns bytea language sql as $$ select sha256(secret::bytea) $$;
create function pg_temp.key(secret text, organization text, scopes text[], expires_at timestamptz default null) returns uuid language sql as $$
  select private.create_api_key(tests.id(organization), secret, scopes, pg_temp.digest(secret), 'fcs_org_', 'last', expires_at)
$$;
-- Makes a request as the functions do: private.assume_caller, and after a rejection only the charge. Returns
-- the error, or the role, organization and scopes of the request.
create function pg_temp.admit(
  person text default null, secret text default null, invalid_credential boolean default false, address text default 'an address', operations text[] default '{}',
  organization text default null, on_behalf text default null, origin text default null, needs_origin boolean default false,
  access text default 'public', scopes text[] default null, charge boolean default true)
returns text language plpgsql as $$
declare
  outcome text;
  caller text := format($q$user_id => %L, digest => %L, invalid_credential => %L, address => %L, operations => %L, organization => %L, on_behalf => %L,
    origin => %L, needs_origin => %L, resource => null, resource_id => null$q$,
    tests.id(person), pg_temp.digest(secret), invalid_credential, address, operations, organization, on_behalf, origin, needs_origin);
begin
  outcome := tests.see('feedback_api', format($q$
    select private.assume_caller(request_id => 'r1', %s, charge => %L, access => %L, required_scopes => %L);
    select concat_ws(' ', current_setting('role'), (select slug from public.organizations where id = private.requested_organization_id()),
      nullif(current_setting('feedback.scopes'), '')) $q$, caller, charge, access, scopes));
  if outcome ~ '^(FB|[0-9])' and charge then
    perform tests.see('feedback_api', format('select private.admit_request(%s, charge => true)', caller));
  end if;
  return outcome;
end
$$;
create function pg_temp.charge(person text default null, address text default null, operations text[] default '{}', organization text default null)
returns private.admission language sql as $$
  select private.admit_request(user_id => tests.id(person), digest => null, invalid_credential => false,
    address => charge.address, operations => charge.operations, organization => charge.organization, on_behalf => null,
    origin => null, needs_origin => false, resource => null, resource_id => null, charge => true)
$$;
create function pg_temp.rest(rule text, subject text) returns integer language sql as $$
  select r.max_requests - c.used from private.rate_counters c join private.rate_limit_rules r on r.name = c.rule
  where c.rule = rest.rule and c.subject = rest.subject
$$;

do $$ begin
  perform pg_temp.key('full', 'acme', '{submissions:read,submissions:write,submissions:moderate}');
  perform pg_temp.key('reader', 'acme', '{submissions:read}');
  perform pg_temp.key('bare', 'acme', '{}');
  perform pg_temp.key('vault', 'vault', '{submissions:read}');
  perform pg_temp.key('soon', 'acme', '{submissions:read}', now() + interval '1 minute');
  perform pg_temp.key('expired', 'acme', '{submissions:read}', now());
  perform pg_temp.key('revoked', 'acme', '{submissions:read}');
  update private.api_keys set revoked_at = now() where name = 'revoked';
end $$;

-- Callers by credential
select is(pg_temp.admit(), 'anon', 'a request without a credential runs as anon');
select is(pg_temp.admit(person => 'alice', organization => 'acme'), 'authenticated acme', 'a user''s request runs as authenticated');
select is(pg_temp.admit(secret => 'full'), 'service_key acme submissions:read submissions:write submissions:moderate',
  'a key''s request runs as service_key, with its organization and scopes');
select is(pg_temp.admit(secret => 'soon'), 'service_key acme submissions:read', 'a key is valid until it expires');
select is(pg_temp.admit(secret => secret), 'FB401', format('%s key is refused', claim)) from (values
  ('no such key', 'an unknown'), ('expired', 'an expired'), ('revoked', 'a revoked')) as t (secret, claim);
select is(pg_temp.admit(person => 'nobody we know'), 'FB401', 'a token of an unknown user is rejected');
select is(pg_temp.admit(invalid_credential => true), 'FB401', 'an invalid credential is rejected, not treated as absent');
select is(pg_temp.admit(person => 'alice', invalid_credential => true), 'FB401', 'an invalid credential is rejected whatever else the request has');
do $$ begin delete from auth.users where id = tests.id('carol'); end $$;
select is(pg_temp.admit(person => 'carol'), 'FB401', 'a token of a deleted user is rejected');
select isnt((select last_used_at from private.api_keys where name = 'full'), null, 'the last use of a key is stored');
select is((select last_used_at from private.api_keys where name = 'revoked'), null, 'the use of a revoked key is not stored');

-- Required access and scopes
select is(pg_temp.admit(person, secret, access => access, scopes => scopes), outcome, claim) from (values
  (null, null, 'person', null, 'FB401', 'a route for people rejects anonymous requests'),
  (null, null, 'caller', '{submissions:write}'::text[], 'FB401', 'a route for people and keys rejects anonymous requests'),
  ('alice', null, 'person', null, 'authenticated', 'a route for people admits people'),
  (null, 'full', 'person', null, 'FB403', 'a route for people rejects keys'),
  ('alice', null, 'caller', '{submissions:write}', 'authenticated', 'a person needs no scope'),
  (null, 'full', 'caller', '{submissions:write}', 'service_key acme submissions:read submissions:write submissions:moderate', 'a key with the scope is admitted'),
  (null, 'reader', 'caller', '{submissions:write,submissions:read}', 'service_key acme submissions:read', 'one of several scopes is enough'),
  (null, 'reader', 'caller', '{submissions:write}', 'FB403', 'a key without the scope is rejected'),
  (null, 'bare', 'caller', '{submissions:write}', 'FB403', 'a key without any scope is rejected'),
  (null, 'bare', 'public', null, 'service_key acme', 'public routes need none')) as t (person, secret, access, scopes, outcome, claim);

-- Organizations
select is(pg_temp.admit(person, secret, organization => organization), outcome, claim) from (values
  (null, null, 'RIVAL', 'anon rival', 'an organization is named by its slug in any case'),
  (null, null, upper(tests.id('rival')::text), 'anon rival', 'or by its id in any case'),
  (null, null, tests.id('nowhere')::text, 'FB404', 'an unknown id is not found'),
  (null, null, '', 'FB404', 'an empty name is not found'),
  (null, null, '%', 'FB404', 'a pattern is not found'),
  ('alice', null, 'vault', 'FB404', 'a user without membership does not find it'),
  ('rita', null, 'vault', 'FB404', 'another organization''s owner does not find it'),
  ('vic', null, 'vault', 'authenticated vault', 'its members find it'),
  ('alice', null, null, 'authenticated', 'without a default, several organizations resolve to none'),
  (null, 'vault', null, 'service_key vault submissions:read', 'a key resolves to its own organization'),
  (null, 'vault', 'vault', 'service_key vault submissions:read', 'a key may name its own organization'),
  (null, 'reader', tests.id('vault')::text, 'FB404', 'a key cannot name another organization by id')) as t (person, secret, organization, outcome, claim);
do $$ begin update organizations set is_default = true where slug = 'acme'; end $$;
select is(pg_temp.admit(), 'anon acme', 'without a name the default organization is used');
do $$ begin update organizations set is_default = false; end $$;
select is(tests.see('anon', format($$ select set_config('feedback.organization_id', %L, true), set_config('feedback.organization_named', %L, true);
  select private.in_organization(tests.id('acme')) $$, tests.id(named), (named is not null)::text)), belongs, claim) from (values
  ('acme', 'true', 'a row belongs to the organization that was named'),
  ('rival', 'false', 'not to another'),
  (null, 'true', 'and to any where none was')) as t (named, belongs, claim);

-- Origins of pages that write with a cookie
do $$ begin update organizations set allowed_origins = '{https://app.example.test}' where slug = 'acme'; end $$;
select is(pg_temp.admit(person => 'alice', organization => organization, origin => origin, needs_origin => true), outcome, claim) from (values
  ('rival', 'https://app.example.test', 'FB403', 'an origin of another organization is rejected')) as t (organization, origin, outcome, claim);
select is(tests.see('feedback_api', $$ select private.is_allowed_origin('https://app.example.test') $$), 'true',
  'a preflight accepts an origin that any organization allows');
select is(tests.see('feedback_api', $$ select private.is_allowed_origin('https://evil.example.test') $$), 'false', 'a preflight rejects any other origin');

-- A charge alone keeps the login role
select is(tests.see('feedback_api', format($$ select private.admit_request(%L, null, false, null, '{}', null, null, null, false, null, null, true); select current_setting('role') $$,
  tests.id('alice'))), 'feedback_api', 'a request that is only charged keeps the login role');
select is(tests.see('feedback_api', format('select count(*) from %I.%I', schemaname, tablename)), '42501', 'before that the login reads nothing of ' || tablename)
from pg_tables where schemaname in ('public', 'private');
select is(tests.see('feedback_api', question), '42501', 'the login role cannot run: ' || question) from unnest(array[
  'select private.submission_voters(tests.id(''An idea''), 10, 0)', 'select private.find_submissions(tests.id(''acme''), ''idea'', null, null, null, null, null, null, 20)',
  'select private.resolve_caller(null, null, null, null)', 'select private.author(tests.id(''alice''), tests.id(''acme''))',
  'select private.create_api_key(tests.id(''acme''), ''Mine'', ''{}'', ''\x00'', ''x'', ''y'')', 'create table public.mine ()', 'create table private.mine ()',
  'select public.my_votes(''{}'')']) as question;
select is(tests.see('feedback_api', $$ select count(*) from auth.users $$), '42501', 'the login cannot read auth.users');

-- Counters
do $$ begin delete from private.rate_counters; end $$;
do $$ begin
  perform pg_temp.admit(address => 'here');
  perform pg_temp.admit(person => 'alice', address => 'here');
  perform pg_temp.admit(person => 'mia', address => 'here');
  perform pg_temp.admit(person => 'adam', address => 'here');
  perform pg_temp.admit(secret => 'full', address => 'here');
end $$;
select set_eq('select rule, subject, used from private.rate_counters', $$ values
  ('level_public', 'here', 1),
  ('level_user', tests.id('alice')::text, 1),
  ('level_user', tests.id('mia')::text, 1),
  ('level_admin', tests.id('adam')::text, 1),
  ('level_key', (select profile_id::text from private.api_keys where name = 'full'), 1) $$,
  'anonymous requests are charged by address, users and keys by profile, each at their level');
do $$ begin
  delete from private.rate_counters;
  perform pg_temp.admit(invalid_credential => true, address => 'here');
  perform pg_temp.admit(secret => 'revoked', address => 'here', operations => '{vote_create}');
end $$;
select set_eq('select rule, subject, used from private.rate_counters', $$ values ('level_public', 'here', 2) $$,
  'an invalid credential charges the address only');
do $$ begin delete from private.rate_counters; perform pg_temp.admit(address => null); end $$;
select is_empty('select from private.rate_counters', 'requests without an address are not charged to a shared bucket');

do $$ begin delete from private.rate_counters; perform pg_temp.admit(address => 'here') from generate_series(1, 29); end $$;
select is(pg_temp.admit(address => 'here'), 'anon', 'the last request within the limit is accepted');
select is(pg_temp.admit(address => 'here', charge => false), 'anon', 'a request that was charged before is not charged again');
select is(pg_temp.admit(address => 'here'), 'FB429', 'a request over the limit is rejected');
select is(pg_temp.admit(address => 'there'), 'anon', 'other addresses are not limited');
select is(pg_temp.admit(person => 'alice', address => 'here'), 'authenticated', 'a user at the same address is not limited');
select is(pg_temp.rest('level_public', 'here'), 0, 'a rejected request is not counted');
do $$ begin perform pg_temp.charge(address => 'here'); end $$;
select ok((tests.refusal('feedback_api', $$ select private.assume_caller('r1', null, null, false, 'here', '{}', null, null, null, false, null, null, true, 'public', null) $$)
  ->> 'retry_after')::integer between 50 and 60,
  'the error has the seconds to wait');
select results_eq($$ select max_requests, remaining, reset_at between extract(epoch from now()) + 50 and extract(epoch from clock_timestamp()) + 61
  from pg_temp.charge(address => 'here') $$, $$ values (30, 0, true) $$, 'the headers have the time of the reset');
do $$ begin update private.rate_counters set started_at = started_at - interval '59 seconds' where subject = 'here'; end $$;
select is(pg_temp.admit(address => 'here'), 'FB429', 'a window lasts until its end');
do $$ begin update private.rate_counters set started_at = started_at - interval '1 second' where subject = 'here'; end $$;
select is(pg_temp.admit(address => 'here'), 'anon', 'then a new window starts');
select is(pg_temp.rest('level_public', 'here'), 29, 'the new window counts its first request');

-- Operations have additional counters
do $$ begin delete from private.rate_counters; end $$;
do $$ begin
  delete from private.rate_counters;
  perform pg_temp.admit(person => 'alice', operations => '{comment_create}') from generate_series(1, 20);
end $$;
select is(pg_temp.admit(person => 'alice', operations => '{comment_create}'), 'FB429', 'the twenty-first comment in an hour is rejected');
select is(pg_temp.rest('level_user', tests.id('alice')::text), 79, 'a call that one rule rejects still counts for the level');
do $$ begin
  delete from private.rate_counters;
  perform pg_temp.admit(secret => 'full', operations => '{submission_create}', on_behalf => 'one');
  perform pg_temp.admit(secret => 'full', operations => '{vote_create}', on_behalf => 'one');
  perform pg_temp.admit(secret => 'full', operations => '{vote_create}', on_behalf => 'another');
  perform pg_temp.admit(secret => 'full', operations => '{vote_create}');
  perform pg_temp.admit(person => 'alice', operations => '{vote_create}', on_behalf => 'one');
end $$;
select set_eq($$ select used from private.rate_counters where rule = 'vote_create' and subject like '%one' $$, array[1],
  'a key has a bucket for each author it acts for');
select is((select count(*) from private.rate_counters where rule = 'vote_create'), 4::bigint, 'these buckets are separate from the key''s own; users cannot act for others');
do $$ begin delete from private.rate_counters; perform pg_temp.admit(secret => 'full', operations => '{submission_create}') from generate_series(1, 100); end $$;
select is(pg_temp.admit(secret => 'full', operations => '{submission_create}'), 'FB429', 'a key creates at most 100 submissions a minute');
select is(pg_temp.admit(secret => 'reader', operations => '{submission_create}'), 'service_key acme submissions:read', 'each key has its own bucket');
select is(pg_temp.admit(secret => 'full'), 'service_key acme submissions:read submissions:write submissions:moderate', 'a limited operation does not limit reads');
do $$ begin
  delete from private.rate_counters;
  perform pg_temp.charge('alice', operations => '{comment_create}', organization => 'nowhere');
end $$;
select is(pg_temp.rest('comment_create', tests.id('alice')::text), 19, 'a request that fails later is charged');

-- The same limits apply to direct clients
do $$ begin
  delete from private.rate_counters;
  perform tests.submission('Idea ' || n, 'alice') from generate_series(1, 40) as n;
end $$;
select is(tests.try('bob', $$ insert into votes (submission_id) select id from submissions where title like 'Idea %' limit 31 $$), 'FB429',
  '31 votes in one statement are rejected');
select is(tests.try('bob', $$ insert into votes (submission_id) select id from submissions where title like 'Idea %' order by title limit 30 $$), '30',
  '30 votes in one statement are accepted');
select is(tests.try('bob', $$ insert into votes (submission_id) select id from submissions where title like 'Idea %' order by title desc limit 1 $$), 'FB429',
  'one more vote is rejected');
select is(tests.try('bob', $$ insert into votes (submission_id) select id from submissions where title like 'Idea %' order by title limit 1 on conflict do nothing $$), '0',
  'a vote that exists is not charged');
select ok((tests.refusal('bob', $$ insert into votes (submission_id) select id from submissions where title like 'Idea %' order by title desc limit 1 $$)
  ->> 'retry_after')::integer between 3500 and 3600, 'the error has the seconds until the reset');
select is(pg_temp.admit(person => 'bob', operations => '{vote_create}'), 'FB429', 'the API charges the same bucket');
select is(tests.try('mia', $$ insert into votes (submission_id) select id from submissions where title = 'Idea 1' $$), '1', 'other users can vote');
select is(tests.try('bob', $$ delete from votes where submission_id in (select id from submissions where title like 'Idea %') $$), '30',
  '30 votes are deleted');
select is(pg_temp.rest('vote_delete', tests.id('bob')::text), 0, 'each deletion is charged');
select is(tests.try('alice', $$ insert into comments (submission_id, body) select tests.id('An idea'), 'Again and again' from generate_series(1, 21) $$), 'FB429',
  '21 comments in one statement are rejected');
select is(tests.try('alice', $$ insert into comments (submission_id, body) select tests.id('An idea'), 'Again and again' from generate_series(1, 20) $$), '20',
  '20 comments in one statement are accepted');
select is(tests.try('alice', $$ delete from comments where id in (select id from comments where submission_id = tests.id('An idea') limit 11) $$), 'FB429',
  '11 deletions in one statement are rejected');
select is(tests.try('alice', $$ delete from comments where id in (select id from comments where submission_id = tests.id('An idea') limit 10) $$), '10',
  '10 deletions in one statement are accepted');
select is(tests.try('alice', $$ update comments set body = 'Changed' where submission_id = tests.id('An idea') $$), '10', '10 edits in one statement are accepted');
select is(tests.try('alice', $$ update comments set body = 'Changed' where submission_id = tests.id('An idea') $$), 'FB429', 'a further edit within the hour is rejected');
select is(tests.try('mia', $$ insert into comment_votes (comment_id) select id from comments where submission_id = tests.id('An idea') $$), '10',
  'votes for comments are accepted');
select is(pg_temp.rest('vote_create', tests.id('mia')::text), 19, 'votes for comments charge vote_create');
select is(tests.try(who, $$ insert into comments (submission_id, author_id, body) select tests.id('An idea'), tests.id('acme key'), 'In bulk' from generate_series(1, 50) $$), '50', claim)
from (values ('operator', 'an operator has no limit'), ('acme key with submissions:write', 'triggers do not charge keys'),
  ('service_role', 'the service role has no limit')) as t (who, claim);

-- Only people can create keys
create function pg_temp.make(name text, scopes text default '{submissions:read}') returns text language sql as $$
  select format('select set_config(''feedback.organization_id'', tests.id(''acme'')::text, true);
    select private.admin_create_api_key(%L, %L, %L, ''fcs_org_'', ''1234'', null)', name, scopes, pg_temp.digest(name))
$$;
select is(tests.see(who, pg_temp.make('Made by ' || who)::text), outcome, claim) from (values
  ('rita', 'FB403', 'another organization''s owner cannot'),
  ('acme key with submissions:write organization:write members:write', '42501', 'a key cannot'),
  ('acme key', '42501', 'whatever its scopes')) as t (who, outcome, claim);
select matches(tests.see('adam', pg_temp.make('Made by Adam')), '"name" : "Made by Adam"', 'an admin makes a key');
select is(pg_temp.admit(secret => 'Made by Adam'), 'service_key acme submissions:read', 'that works');
select is(tests.see('adam', pg_temp.make('Bad scope', scopes)), '23514 scopes_are_plural_noun_colon_action', format('%s is no list of scopes', scopes))
from unnest(array['{all}', '{"submissions:read submissions write"}', '{Submissions:Read}', '{*:*}', '{"a:b\nc:d"}']) as scopes;
create function pg_temp.as_admin(call text, organization text default 'acme') returns text language sql as $$
  select format('select set_config(''feedback.organization_id'', tests.id(%L)::text, true); select %s', organization, call)
$$;
select is(tests.see('rita', pg_temp.as_admin($$ private.admin_list_api_keys() $$)), 'FB403', 'an owner of another organization cannot list them');
select is(tests.see('rita', pg_temp.as_admin($$ private.admin_list_api_keys() $$, 'rival')), '[]', 'the owner lists the keys of their own organization');
select is(tests.see('rita', pg_temp.as_admin(format($$ private.admin_revoke_api_key(%L) $$, id), 'rival')), null, 'a key of another organization cannot be revoked')
from private.api_keys where name = 'Made by Adam';
select is(tests.see('rita', pg_temp.as_admin(format($$ private.admin_rotate_api_key(%L, %L, 'fcs_org_', '9999', '1 day') $$, id, pg_temp.digest('stolen')), 'rival')), null,
  'a key of another organization cannot be rotated')
from private.api_keys where name = 'Made by Adam';
select is(pg_temp.admit(secret => 'stolen'), 'FB401', 'the secret of the failed rotation is not valid');
select matches(tests.see('adam', pg_temp.as_admin(format($$ private.admin_rotate_api_key(%L, %L, 'fcs_org_', '9999', '1 day') $$, id, pg_temp.digest('rotated')))), '9999',
  'an admin rotates a key')
from private.api_keys where name = 'Made by Adam';
select is(tests.see(who, pg_temp.as_admin($$ private.admin_origins('{https://evil.example.test}') $$)), 'FB403', format('%s sets no origins', who))
from unnest(array['mia', 'rita', 'acme key with submissions:write']) as who;
select is(tests.see('acme key with organization:write', $$ select private.admin_origins('{https://new.example.test}') #>> '{origins,0}' $$), 'https://new.example.test',
  'a key with organization:write sets the origins');

-- Idempotent requests
create function pg_temp.repeated(who text, key text, body text) returns text language sql as $$
  select tests.see(who, format('select private.find_idempotent_response(%L, %L)', key, sha256(body::bytea)))
$$;
select is(pg_temp.repeated('acme key', 'k1', 'body'), null, 'a new Idempotency-Key has no response');
do $$ begin perform tests.see('acme key', $q$ select private.save_idempotent_response('k1', 'the answer') $q$); end $$;
select is(pg_temp.repeated('acme key', 'k1', 'body'), 'the answer', 'a repeated request returns the stored response');
select is(pg_temp.repeated('acme key', 'k1', 'another body'), 'FB409', 'another request with the same Idempotency-Key is rejected');
select is(pg_temp.repeated('acme key', 'k2', 'body'), null, 'another Idempotency-Key has no response');
select is(pg_temp.repeated('rival key', 'k1', 'body'), null, 'another key''s Idempotency-Key has no response');
do $$ begin perform tests.see('rival key', $q$ select private.save_idempotent_response('k1', 'another answer') $q$); end $$;
select is(array[pg_temp.repeated('rival key', 'k1', 'body'), pg_temp.repeated('acme key', 'k1', 'body')], array['another answer', 'the answer'],
  'each key gets its own response');
select is(pg_temp.repeated('acme key', repeat('x', 201), 'body'), '23514 key_has_1_to_200_characters', 'an Idempotency-Key has at most 200 characters');

-- Forms of people
select is(pg_temp.repeated('alice', 'f1', 'body'), null, 'a new form id has no result');
do $$ begin perform tests.see('alice', $q$ select private.save_idempotent_response('f1', 'made') $q$); end $$;
select is(array[pg_temp.repeated('alice', 'f1', 'body'), pg_temp.repeated('alice', 'f1', 'another body')], array['made', 'FB409'],
  'a repeated form returns the stored result; with other content it is rejected');
select is(array[pg_temp.repeated('mia', 'f1', 'body'), pg_temp.repeated('acme key', 'f1', 'body')], array[null, null]::text[],
  'form ids are separate for each user and key');
select is(left(pg_temp.repeated('anon', 'f1', 'body'), 5), '42501', 'anonymous callers cannot store form ids');

-- Expired rows are deleted
do $$ begin
  update private.idempotency_keys set created_at = now() - interval '25 hours' where key = 'k1';
  update private.rate_counters set started_at = now() - interval '3 hours' where rule = 'vote_create';
  update private.outbox set created_at = now() - interval '31 days' where type = 'comment.created';
  -- Each run sums the subtotals of one organization.
  perform private.run_schedule() from public.organizations;
end $$;
select is((select string_agg(distinct key, ', ') from private.idempotency_keys), 'f1, k2', 'stored responses are deleted after a day');
select is_empty($$ select from private.rate_counters where rule = 'vote_create' $$, 'rate counters are deleted after two hours');
select isnt_empty($$ select from private.rate_counters $$, 'newer rate counters are kept');
select is_empty($$ select from private.outbox where type = 'comment.created' $$, 'events are deleted after 30 days');
select isnt_empty($$ select from private.outbox $$, 'newer events are kept');
select is(private.run_schedule(), '{"fanouts": 0, "surveys": 0, "activity": 0, "subtotals": 0, "rate_counters": 0, "idempotency_keys": 0, "events": 0, "deliveries": 0, "agent_streams": 0, "labels": 0, "boards": 0, "imports": 0, "mails": 0, "sessions": 0}', 'a further run does nothing');

select * from finish();
rollback;
