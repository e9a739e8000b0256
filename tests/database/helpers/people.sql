-- The basis of every test file: named people and boards, and a way to act as any of them.

create schema if not exists tests;
grant usage on schema tests to public;

create or replace function tests.id(name text) returns uuid
language sql immutable
return md5(name)::uuid;
comment on function tests.id(text) is 'Everything made here is found by its name.';

create or replace function tests.start() returns void
language plpgsql as $$
begin
  grant service_key, feedback_api to current_user;
  insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
  select tests.id(name), name || '@example.test', now(), jsonb_build_object('name', initcap(name))
  from unnest(array['olga', 'adam', 'mia', 'alice', 'bob', 'carol', 'rita', 'vera', 'vic']) as name;
  insert into public.organizations (id, slug, name, visibility) values
    (tests.id('acme'), 'acme', 'Acme', 'public'),
    (tests.id('rival'), 'rival', 'Rival', 'public'),
    (tests.id('vault'), 'vault', 'Vault', 'private');
  insert into public.memberships (organization_id, user_id, role) values
    (tests.id('acme'), tests.id('olga'), 'owner'),
    (tests.id('acme'), tests.id('adam'), 'admin'),
    (tests.id('acme'), tests.id('mia'), 'member'),
    (tests.id('rival'), tests.id('rita'), 'owner'),
    (tests.id('vault'), tests.id('vera'), 'owner'),
    (tests.id('vault'), tests.id('vic'), 'member');
  insert into public.profiles (id, kind, organization_id, name)
  select tests.id(slug || ' key'), 'key', id, name || '''s backend' from public.organizations
  where id in (tests.id('acme'), tests.id('rival'), tests.id('vault'));
end
$$;
comment on function tests.start() is 'Acme and Rival are public, Vault is private. Olga owns Acme, Adam administers it, Mia is a member; Alice, Bob and Carol are strangers; Rita owns Rival; Vera owns Vault, Vic is a member.';

create or replace function tests.submission(name text, author text, organization text default 'acme') returns uuid
language sql
begin atomic
  insert into public.submissions (id, organization_id, author_id, title, description, type)
  values (tests.id(name), tests.id(organization), tests.id(author), name, 'A description that is long enough.', 'idea') returning id;
end;
comment on function tests.submission(text, text, text) is 'A submission whose title is its name, made by an operator for its author.';

create or replace function tests.comment(name text, author text, submission text, parent text default null) returns uuid
language sql
begin atomic
  insert into public.comments (id, submission_id, author_id, body, parent_id)
  values (tests.id(name), tests.id(submission), tests.id(author), name, tests.id(parent)) returning id;
end;
comment on function tests.comment(text, text, text, text) is 'A comment whose body is its name, made by an operator for its author.';

create or replace function tests.merge(loser text, winner text) returns void
language plpgsql as $$
begin
  perform set_config('request.jwt.claims', jsonb_build_object('sub', m.user_id, 'role', 'authenticated')::text, true)
  from public.memberships m where m.role = 'owner' and m.organization_id = (select organization_id from public.submissions where id = tests.id(winner));
  perform private.admin_merge(array[tests.id(loser)], tests.id(winner));
  perform tests.leave();
end
$$;
comment on function tests.merge(text, text) is 'A merge by the owner of the board.';

create or replace function tests.become(who text) returns void
language plpgsql as $$
declare key text[] := regexp_match(who, '^(\w+) key(?: with (.+))?$');
begin
  if who = 'operator' then return; end if;
  if key is not null then
    perform set_config('feedback.organization_id', tests.id(key[1])::text, true),
      set_config('feedback.profile_id', tests.id(key[1] || ' key')::text, true),
      set_config('feedback.scopes', coalesce(key[2], ''), true),
      set_config('role', 'service_key', true);
  elsif who in ('anon', 'service_role', 'feedback_api') then
    perform set_config('request.jwt.claims', jsonb_build_object('role', who)::text, true), set_config('role', who, true);
  else
    perform set_config('request.jwt.claims', jsonb_build_object('sub', tests.id(who), 'role', 'authenticated')::text, true),
      set_config('role', 'authenticated', true),
      -- As within a function of the data API: otherwise the tables refuse direct writes, which
      -- 45_client_functions.sql tests.
      set_config('feedback.by_function', 'on', true);
  end if;
end
$$;
comment on function tests.become(text) is 'anon, service_role, feedback_api, operator, a person''s name, or "acme key with submissions:read submissions:write".';

create or replace function tests.leave() returns void
language plpgsql as $$
begin
  perform set_config('role', 'none', true), set_config('request.jwt.claims', '', true),
    set_config(setting, '', true)
  from unnest(array['feedback.organization_id', 'feedback.organization_named', 'feedback.profile_id', 'feedback.scopes', 'feedback.key_id', 'feedback.agent_id', 'feedback.by_function']) as setting;
end
$$;
comment on function tests.leave() is 'The operator again.';

create or replace function tests.see(who text, query text) returns text
language plpgsql as $$
declare answer text; state text; broken text;
begin
  perform tests.become(who);
  execute query into answer;
  perform tests.leave();
  return answer;
exception when others then
  get stacked diagnostics state = returned_sqlstate, broken = constraint_name;
  return trim(state || ' ' || broken);
end
$$;
comment on function tests.see(text, text) is 'The first value a query gives to someone, or the SQLSTATE (and constraint) it fails with. What a failure did is undone, the role included.';

create or replace function tests.try(who text, statement text) returns text
language plpgsql as $$
declare touched bigint; state text; broken text;
begin
  perform tests.become(who);
  execute statement;
  get diagnostics touched = row_count;
  perform tests.leave();
  return touched;
exception when others then
  get stacked diagnostics state = returned_sqlstate, broken = constraint_name;
  return trim(state || ' ' || broken);
end
$$;
comment on function tests.try(text, text) is 'How many rows someone''s statement touched, or the SQLSTATE (and constraint) it fails with.';

create or replace function tests.refusal(who text, statement text) returns jsonb
language plpgsql as $$
declare state text; detail text;
begin
  perform tests.become(who);
  execute statement;
  perform tests.leave();
  return null;
exception when others then
  get stacked diagnostics state = returned_sqlstate, detail = pg_exception_detail;
  return case when state like 'FB%' then detail::jsonb end;
end
$$;
comment on function tests.refusal(text, text) is 'The DETAIL of the error of ours a statement fails with: {code, field, …}.';

grant execute on all functions in schema tests to public;
