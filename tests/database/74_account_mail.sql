-- Mails of the auth service: mailboxes, limits, what their links stop, and what they undo.
begin;
set local search_path = public, extensions;
select plan(70);
do $$ begin perform tests.start(); end $$;

select is(private.mailbox(address), mailbox, address || ' is a mailbox of its own or another one')
from (values ('Ann@Corp.example', 'ann@corp.example'), ('ann+news@corp.example', 'ann@corp.example'),
  ('ann+a+b@corp.example', 'ann@corp.example'), ('+ann@corp.example', '+ann@corp.example'),
  ('a.n.n@corp.example', 'a.n.n@corp.example'), ('ann-news@corp.example', 'ann-news@corp.example'),
  ('A.n.n+news@googlemail.com', 'ann@gmail.com'), ('ann-news@yahoo.com', 'ann@yahoo.com'),
  ('a.n.n@googlemail.com.evil.example', 'a.n.n@googlemail.com.evil.example')) as v (address, mailbox);

create function tests.account(name text, address text, is_confirmed boolean default true) returns void
language sql as $$
  insert into auth.users (id, email, encrypted_password, email_confirmed_at, raw_app_meta_data)
  values (tests.id(name), address, 'hash of ' || name, case when is_confirmed then now() end, '{"provider": "email", "providers": ["email"]}');
  insert into auth.identities (id, user_id, provider, provider_id, identity_data, created_at)
  values (gen_random_uuid(), tests.id(name), 'email', tests.id(name)::text, jsonb_build_object('sub', tests.id(name), 'email', address), now() - interval '1 year');
$$;
create function tests.set_rule(name text, max_requests integer) returns void language sql
as $$ update private.rate_limit_rules r set max_requests = set_rule.max_requests where r.name = set_rule.name $$;
create function tests.admitted(address text, client text default null, times integer default 1) returns bigint
language plpgsql as $$
declare admitted bigint := 0;
begin
  for n in 1 .. times loop
    admitted := admitted + (select a.is_admitted::integer from private.admit_account_mail(address, client, null) a);
  end loop;
  return admitted;
end $$;

-- Bounds.
do $$ begin perform tests.account('known', 'known@corp.example'); end $$;
select is(tests.admitted('prey+' || n || '@corp.example'), 1::bigint, 'mail ' || n || ' to a mailbox') from generate_series(1, 10) n;
select is(tests.admitted('prey@corp.example'), 0::bigint, 'and no more, to any of its addresses');
select is(tests.admitted('known+x@corp.example', times => 10), 10::bigint, 'mails to addresses of the mailbox of an account');
select is(tests.admitted('known@corp.example', 'eve', 11), 10::bigint, 'do not count for the account, which has a bound of its own by client');
select is(tests.admitted('known@corp.example', 'ann'), 1::bigint, 'so that one client keeps nobody from signing in');
select is(tests.admitted('known@corp.example', 'bob', 10) + tests.admitted('known@corp.example', 'cem', 10), 19::bigint, 'and one over all clients');
do $$ begin delete from private.rate_counters; end $$;
do $$ begin perform tests.account('other', 'other@corp.example'); perform tests.set_rule('account_mail_hour', 3); end $$;
select is(tests.admitted('other@corp.example', 'eve', 2) + tests.admitted('x1@corp.example', 'eve'), 3::bigint, 'a client''s mails');
select is(tests.admitted('x2@corp.example', 'eve'), 0::bigint, 'are bounded, with those to accounts, where the address has none');
select is((select count(*) from private.rate_counters where subject = private.address_hash('x2@corp.example')), 0::bigint, 'and a dropped mail does not count for the mailbox');
select is(tests.admitted('other@corp.example', 'eve'), 1::bigint, 'an account gets its mail nevertheless');
select is(tests.admitted('x2@corp.example', 'ann'), 1::bigint, 'and so does anybody for another client');
do $$ begin perform tests.set_rule('account_mail_hour', 1000); perform tests.set_rule('account_mail_day', 2); end $$;
select is(tests.admitted('x3@corp.example', 'bob', 3), 2::bigint, 'a day has its own bound');
do $$ begin perform tests.set_rule('account_mail_everyone', 5); delete from private.rate_counters where rule = 'account_mail_everyone'; end $$;
select results_eq($$ select a.is_admitted, a.percent_used from generate_series(1, 6) n
  cross join lateral (select * from private.admit_account_mail('y' || n || '@corp.example', null, null)) a $$,
  $$ values (true, null::integer), (true, null), (true, null), (true, 80), (true, 100), (false, null) $$, 'the installation has a bound, and 80 and 100 % are reported once');
select is(tests.admitted('other@corp.example'), 1::bigint, 'which is none for accounts');
do $$ begin delete from private.rate_counters where rule = 'account_mail_everyone'; end $$;
select is(tests.admitted('other@corp.example', times => 5) + tests.admitted('z@corp.example'), 5::bigint, 'whose mails count, so that what is left tells nothing');
do $$ begin perform tests.set_rule('account_mail_everyone', 1000); end $$;

-- Stop.
do $$ begin perform tests.account('made', 'mail+made@corp.example', false); end $$;
select private.stop_account_mail(stop_hash, tests.id('made'), true) from private.admit_account_mail('mail@corp.example', null, null);
select is((select count(*) from auth.users where id = tests.id('made')), 0::bigint, 'stopping deletes the unconfirmed account of the mailbox');
select is(tests.admitted('mail+2@corp.example'), 0::bigint, 'and all its addresses get no mail');
select is((select used from private.rate_counters where subject = private.address_hash('mail@corp.example')), 1, 'nor does such a mail count for the mailbox');
select is(tests.admitted(form), 0::bigint, form || ' gets no mail: programs read it in several ways')
from (values ('(c)u@corp.example'), ('u@corp.example(c)'), ('g:u@corp.example'), (U&'u\200B@corp.example'), (U&'u@c\00ADorp.example'), ('"u"@corp.example')) as v (form);
select private.stop_account_mail(private.address_hash('known@corp.example'), tests.id('known'), true);
select is((select count(*) from auth.users where id = tests.id('known')), 1::bigint, 'a confirmed account stays');
select is(tests.admitted('other@corp.example'), 1::bigint, 'and is mailed');
select private.stop_account_mail(private.address_hash('mail@corp.example'), null, false);
select is(tests.admitted('mail+2@corp.example'), 1::bigint, 'until its owner wants mail again');

-- Undo: the address of the owner is owner@, and a thief has a session.
create function tests.hash(name text) returns bytea language sql as $$ select sha256(convert_to(name, 'UTF8')) $$;
create function tests.move(name text, address text, link text) returns void language plpgsql as $$
declare before text := (select email from auth.users where id = tests.id(name));
begin
  update auth.users set email = address where id = tests.id(name);
  perform private.open_account_undo(tests.id(name), before, tests.hash(link));
  update private.account_undos set created_at = clock_timestamp() where link_hash = tests.hash(link);
end $$;
do $$ begin
  perform tests.account('owner', 'owner@corp.example');
  insert into auth.sessions (id, user_id) values (tests.id('session'), tests.id('owner'));
  insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
  values (tests.id('old factor'), tests.id('owner'), 'totp', 'verified', now() - interval '1 month', now()), (tests.id('new factor'), tests.id('owner'), 'totp', 'verified', now(), now());
  perform tests.move('owner', 'thief@evil.example', 'of the owner');
  perform tests.move('owner', 'thief2@evil.example', 'of the thief');
  perform tests.account('squatter', 'owner@corp.example', false);
end $$;
select is(private.address_of_undo(tests.hash('of the owner')), 'owner@corp.example', 'a link names the address that it restores');
select is(private.undo_account_change(tests.hash('of nobody')), null, 'an unknown link does nothing');
select is(private.undo_account_change(tests.hash('of the owner')), 'undone', 'the owner undoes two changes at once');
select results_eq($$ select email, encrypted_password from auth.users where id = tests.id('owner') $$, $$ values ('owner@corp.example'::varchar, ''::varchar) $$, 'to the address before them, without a password');
select results_eq($$ select id from auth.mfa_factors where user_id = tests.id('owner') $$, $$ values (tests.id('old factor')) $$, 'a second factor of before stays, a new one goes');
select is((select count(*) from auth.sessions where user_id = tests.id('owner')), 0::bigint, 'all sessions end');
select is((select count(*) from auth.users where id = tests.id('squatter')), 0::bigint, 'an unconfirmed account with the address is no obstacle');
select is(private.undo_account_change(tests.hash('of the thief')), null, 'the thief cannot undo the undo');
select is(private.undo_account_change(tests.hash('of the owner')), null, 'a link works once');

create function tests.write(statement text) returns text language plpgsql as $$
begin
  execute statement;
  return 'written';
exception when check_violation then return 'refused';
end $$;
select is(tests.write(format(statement, tests.id('owner'))), result, 'just after an undo: ' || what)
from (values ('a new password', $$update auth.users set encrypted_password = 'of the thief' where id = %L$$, 'refused'),
  ('a new address', $$update auth.users set email = 'thief@evil.example' where id = %L$$, 'refused'),
  ('a session', $$insert into auth.sessions (id, user_id) values (gen_random_uuid(), %L)$$, 'refused'),
  ('a way to sign in', $$insert into auth.identities (id, user_id, provider, provider_id, identity_data) values (gen_random_uuid(), %L, 'google', 'x', '{"sub": "x"}')$$, 'refused'),
  ('a second factor', $$insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) values (gen_random_uuid(), %L, 'totp', 'unverified', now(), now())$$, 'refused'),
  ('a code for another address', $$insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to) values (gen_random_uuid(), %L, 'recovery_token', 'h', 'thief@evil.example')$$, 'refused'),
  ('a code for the owner', $$insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to) values (gen_random_uuid(), %L, 'recovery_token', 'h', 'owner@corp.example')$$, 'written')) as v (what, statement, result);
select is((select is_admitted from private.admit_account_mail('thief@evil.example', null, tests.id('owner'))), false, 'and no code of the account goes to another address');
select is((select is_admitted from private.admit_account_mail('owner@corp.example', null, tests.id('owner'))), true, 'but one to its own');
update private.account_undos set undone_at = now() - interval '31 seconds' where user_id = tests.id('owner');
select is(tests.write(format($$update auth.users set encrypted_password = 'new' where id = %L$$, tests.id('owner'))), 'written', 'half a minute later the owner chooses a password');
do $$ begin
  perform tests.move('owner', 'thief@evil.example', 'again');
  perform private.undo_account_change(tests.hash('again'));
  update private.account_undos set undone_at = now() - interval '31 seconds' where user_id = tests.id('owner');
  perform tests.move('owner', 'moved@corp.example', 'old');
  update private.account_undos set created_at = now() - interval '8 days';
end $$;
select is(private.undo_account_change(tests.hash('old')), null, 'after a week nothing is undone');
do $$ begin perform tests.move('owner', 'thief@evil.example', 'first'); end $$;
select is(private.address_can_be_restored(tests.id('owner')), true, 'until then the account cannot be erased');
do $$ begin perform tests.account('taker', 'moved@corp.example'); end $$;
select is(private.undo_account_change(tests.hash('first')), 'taken', 'a confirmed account keeps its address');
select is((select count(*) from generate_series(1, 30) n where private.open_account_undo(tests.id('owner'), 'thief@evil.example', tests.hash('many' || n))), 18::bigint, 'further links are bounded, and crowd out none');

do $$ begin
  perform tests.account('gone', 'gone@corp.example');
  perform private.open_account_undo(tests.id('gone'), 'gone@corp.example', tests.hash('of the deleted'));
  update auth.users set deleted_at = now() where id = tests.id('gone');
end $$;
select is(private.undo_account_change(tests.hash('of the deleted')), null, 'a deleted account is not restored');
select is(private.open_account_undo(tests.id('gone'), 'gone@corp.example', tests.hash('later')), false, 'nor by a later link');

select * from finish();
rollback;
