-- The key of erased participations: in Vault if available, else in a table that no API role can read.
begin;
set local search_path = public, extensions;
select plan(13);
do $$
begin
  perform tests.start();
  perform tests.submission('an idea', 'bob');
  insert into public.votes (submission_id, user_id) values (tests.id('an idea'), tests.id('alice'));
end $$;

savepoint before;
select private.record_participations(p, null) from public.profiles p where p.id = tests.id('alice');
select is(octet_length(private.read_erasure_key()), 32, 'the first erasure creates the key');
select is(private.make_erasure_key(), private.read_erasure_key(), 'further erasures use the same key');
select ok(private.participated(tests.id('alice'), array[tests.id('an idea')]), 'an erased account is recognized');
insert into private.erasure_key (key) values (extensions.gen_random_bytes(32))
on conflict (is_only) do update set key = excluded.key;
select ok(not private.participated(tests.id('alice'), array[tests.id('an idea')]), 'another account is not recognized');
rollback to before;

-- A person with an account and an address that a key entered
insert into public.profiles (id, kind, organization_id, email) values (tests.id('alice of acme'), 'email', tests.id('acme'), 'Alice@example.test');
savepoint known_twice;
do $$ begin delete from auth.users where id = tests.id('alice'); end $$;
select throws_like($$ insert into public.votes (submission_id, user_id) values (tests.id('an idea'), tests.id('alice of acme')) $$,
  '%before you were erased%', 'after the erasure of an account the address has no second vote');
rollback to known_twice;
do $$ begin
  delete from public.votes;
  insert into public.votes (submission_id, user_id) values (tests.id('an idea'), tests.id('alice of acme'));
  perform tests.see('adam', format('select private.admin_erase_person(%L) from (select set_config(''feedback.organization_id'', %L, true)) o',
    tests.id('alice of acme'), tests.id('acme')));
end $$;
select is((select email from public.profiles where id = tests.id('alice of acme')), null, 'the author is erased');
select throws_like($$ insert into public.votes (submission_id, user_id) values (tests.id('an idea'), tests.id('alice')) $$,
  '%before you were erased%', 'after the erasure of the author the account has no second vote');
select lives_ok($$ insert into public.votes (submission_id, user_id) values (tests.id('an idea'), tests.id('carol')) $$, 'others have one');
rollback to before;

do $$
begin
  perform tests.submission('one source', 'bob');
  perform tests.submission('another source', 'bob');
  insert into public.votes (submission_id, user_id) values
    (tests.id('one source'), tests.id('alice')), (tests.id('another source'), tests.id('carol'));
  perform private.record_participations(p, null) from public.profiles p where p.id in (tests.id('alice'), tests.id('carol'));
  delete from private.erased_participations where row_id = tests.id('an idea');
  -- As after the deletion of merged sources.
  update private.erased_participations set row_id = tests.id('an idea')
  where row_id in (tests.id('one source'), tests.id('another source'));
end $$;
select ok(private.participated(tests.id('alice'), array[tests.id('an idea')]), 'a target recognizes voters of a deleted source');
select ok(private.participated(tests.id('carol'), array[tests.id('an idea')]), 'a target recognizes voters of another deleted source');
select ok(not private.participated(tests.id('bob'), array[tests.id('an idea')]), 'other accounts are not recognized');
rollback to before;

do $$
begin
  if to_regclass('vault.decrypted_secrets') is null then
    -- The part of supabase_vault in use.
    create schema vault;
    create table vault.decrypted_secrets (name text primary key, decrypted_secret text);
    create function vault.create_secret(new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null)
    returns uuid language sql as $f$ insert into vault.decrypted_secrets values (new_name, new_secret) returning gen_random_uuid() $f$;
  end if;
end $$;
select private.make_erasure_key();
select is(private.read_erasure_key(), (select decode(decrypted_secret, 'hex') from vault.decrypted_secrets where name = 'feedback_erasure_key'),
  'with Vault the key is there');
select is_empty('select from private.erasure_key', 'the key is not in the table');

select * from finish();
rollback;
