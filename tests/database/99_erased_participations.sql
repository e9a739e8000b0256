-- The key of erased participations: in Vault where the database has it, else in a table that no API role reads.
begin;
set local search_path = public, extensions;
select plan(6);
do $$
begin
  perform tests.start();
  perform tests.submission('an idea', 'bob');
  insert into public.votes (submission_id, user_id) values (tests.id('an idea'), tests.id('alice'));
end $$;

savepoint before;
select private.keep_participations(p, null) from public.profiles p where p.id = tests.id('alice');
select is(octet_length(private.read_erasure_key()), 32, 'the first erasure makes a key');
select is(private.make_erasure_key(), private.read_erasure_key(), 'the next one takes it');
select ok(private.participated(tests.id('alice'), array[tests.id('an idea')]), 'by it an account is known again');
insert into private.erasure_key (key) values (extensions.gen_random_bytes(32))
on conflict (is_only) do update set key = excluded.key;
select ok(not private.participated(tests.id('alice'), array[tests.id('an idea')]), 'and by no other');
rollback to before;

do $$
begin
  if to_regclass('vault.decrypted_secrets') is null then
    -- What is used of supabase_vault.
    create schema vault;
    create table vault.decrypted_secrets (name text primary key, decrypted_secret text);
    create function vault.create_secret(new_secret text, new_name text default null, new_description text default '', new_key_id uuid default null)
    returns uuid language sql as $f$ insert into vault.decrypted_secrets values (new_name, new_secret) returning gen_random_uuid() $f$;
  end if;
end $$;
select private.make_erasure_key();
select is(private.read_erasure_key(), (select decode(decrypted_secret, 'hex') from vault.decrypted_secrets where name = 'feedback_erasure_key'),
  'with Vault the key is there');
select is_empty('select from private.erasure_key', 'and not in the table');

select * from finish();
rollback;
