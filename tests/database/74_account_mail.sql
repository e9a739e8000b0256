-- Mails of the auth service: mailboxes, bounds, what their links stop, and what they undo.
begin;
set local search_path = public, extensions;
select plan(47);
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
    admitted := admitted + (select a.is_admitted::integer from private.admit_account_mail(address, client) a);
  end loop;
  return admitted;
end $$;

-- Bounds.
do $$ begin perform tests.account('known', 'known@corp.example'); end $$;
select is(tests.admitted('prey+' || n || '@corp.example'), 1::bigint, 'mail ' || n || ' to a mailbox') from generate_series(1, 10) n;
select is(tests.admitted('prey@corp.example'), 0::bigint, 'and no more, to any of its addresses');
select is(tests.admitted('known+x@corp.example', times => 10), 10::bigint, 'mails to addresses of the mailbox of an account');
select is(tests.admitted('known@corp.example', times => 11), 10::bigint, 'do not count for the account, which has a bound of its own');
do $$ begin perform tests.account('other', 'other@corp.example'); perform tests.set_rule('account_mail_hour', 3); end $$;
select is(tests.admitted('other@corp.example', 'eve', 2) + tests.admitted('x1@corp.example', 'eve'), 3::bigint, 'a client''s mails');
select is(tests.admitted('x2@corp.example', 'eve'), 0::bigint, 'are bounded, with those to accounts, where the address has none');
select is(tests.admitted('other@corp.example', 'eve'), 1::bigint, 'an account gets its mail nevertheless');
select is(tests.admitted('x2@corp.example', 'ann'), 1::bigint, 'and so does anybody for another client');
do $$ begin perform tests.set_rule('account_mail_hour', 1000); perform tests.set_rule('account_mail_day', 2); end $$;
select is(tests.admitted('x3@corp.example', 'bob', 3), 2::bigint, 'a day has its own bound');
do $$ begin perform tests.set_rule('account_mail_everyone', 5); delete from private.rate_counters where rule = 'account_mail_everyone'; end $$;
select results_eq($$ select a.is_admitted, a.percent_used from generate_series(1, 6) n
  cross join lateral (select * from private.admit_account_mail('y' || n || '@corp.example', null)) a $$,
  $$ values (true, null::integer), (true, null), (true, null), (true, 80), (true, 100), (false, null) $$, 'all together are bounded, and 80 and 100 % are told once');
select is(tests.admitted('other@corp.example'), 1::bigint, 'which is none for accounts');
do $$ begin perform tests.set_rule('account_mail_everyone', 1000); end $$;

-- Stop.
do $$ begin perform tests.account('made', 'mail+made@corp.example', false); end $$;
select private.stop_account_mail(stop_hash, tests.id('made'), true) from private.admit_account_mail('mail@corp.example', null);
select is((select count(*) from auth.users where id = tests.id('made')), 0::bigint, 'stopping deletes the unconfirmed account of the mailbox');
select is(tests.admitted('mail+2@corp.example'), 0::bigint, 'and all its addresses get no mail');
select private.stop_account_mail(private.address_hash('known@corp.example'), tests.id('known'), true);
select is((select count(*) from auth.users where id = tests.id('known')), 1::bigint, 'a confirmed account stays');
select is(tests.admitted('other@corp.example'), 1::bigint, 'and is mailed');
select private.stop_account_mail(private.address_hash('mail@corp.example'), null, false);
select is(tests.admitted('mail+2@corp.example'), 1::bigint, 'until its owner wants mail again');

-- Undo: the owner is at owner@, a thief has a session.
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

do $$ begin
  perform tests.move('owner', 'thief@evil.example', 'again');
  perform private.undo_account_change(tests.hash('again'));
  perform tests.move('owner', 'moved@corp.example', 'old');
  update private.account_undos set created_at = now() - interval '8 days';
end $$;
select is(private.undo_account_change(tests.hash('old')), null, 'after a week nothing is undone');
do $$ begin perform tests.move('owner', 'thief@evil.example', 'first'); end $$;
select is(private.address_can_be_restored(tests.id('owner')), true, 'until then the account cannot be erased');
do $$ begin perform tests.account('taker', 'moved@corp.example'); end $$;
select is(private.undo_account_change(tests.hash('first')), 'taken', 'a confirmed account keeps its address');
select is((select count(*) from generate_series(1, 30) n where private.open_account_undo(tests.id('owner'), 'thief@evil.example', tests.hash('many' || n))), 18::bigint, 'further links are bounded, and crowd out none');

select * from finish();
rollback;
