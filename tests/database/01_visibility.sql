-- Visibility of boards, submissions and their dependent rows.
begin;
set local search_path = public, extensions;
select plan(117);
do $$ begin perform tests.start(); end $$;

-- Titles and bodies encode the board, p(ublic) or v(ault), and the moderation state.
do $$
declare state text;
begin
  insert into public.memberships (organization_id, user_id) values (tests.id('vault'), tests.id('carol'));
  foreach state in array array['approved', 'pending', 'rejected', 'spam'] loop
    perform tests.submission('acme ' || state, 'alice');
    perform tests.submission('vault ' || state, 'carol', 'vault');
  end loop;
  perform tests.submission('rival approved', 'bob', 'rival');
  foreach state in array array['approved', 'pending', 'rejected', 'spam'] loop
    perform tests.comment('note ' || state, 'alice', 'acme approved');
  end loop;
  perform tests.comment('under pending', 'mia', 'acme pending');
  perform tests.comment('in the vault', 'vera', 'vault approved');
  foreach state in array array['pending', 'rejected', 'spam'] loop
    update public.submissions set moderation_state = state where title like '% ' || state;
    update public.comments set moderation_state = state where body = 'note ' || state;
  end loop;
  -- Carol wrote in Vault, and has left its team.
  delete from public.memberships where user_id = tests.id('carol');
  insert into public.categories (organization_id, name, slug) select id, slug || ' category', 'c' from public.organizations;
  insert into public.tags (id, organization_id, name, slug) select tests.id(slug || ' tag'), id, slug || ' tag', 't' from public.organizations;
  insert into public.submission_tags (organization_id, submission_id, tag_id)
  select s.organization_id, s.id, t.id from public.submissions s join public.tags t using (organization_id);
  insert into public.status_changes (submission_id, new_status) select id, 'planned' from public.submissions;
  insert into public.comment_votes (comment_id, user_id) select id, tests.id('olga') from public.comments;
end $$;

create temporary table expected (who text, boards text, submissions text, comments text);
grant select on expected to public;
insert into expected values
  ('anon', 'Acme, Rival', 'acme approved, rival approved', 'note approved'),
  ('bob', 'Acme, Rival', 'acme approved, rival approved', 'note approved'),
  ('alice', 'Acme, Rival', 'acme approved, acme pending, acme rejected, acme spam, rival approved',
    'note approved, note pending, note rejected, note spam'),
  ('carol', 'Acme, Rival', 'acme approved, rival approved, vault approved, vault pending, vault rejected, vault spam', 'note approved'),
  ('mia', 'Acme, Rival', 'acme approved, acme pending, acme rejected, acme spam, rival approved',
    'note approved, note pending, note rejected, note spam, under pending'),
  ('adam', 'Acme, Rival', 'acme approved, acme pending, acme rejected, acme spam, rival approved',
    'note approved, note pending, note rejected, note spam, under pending'),
  ('rita', 'Acme, Rival', 'acme approved, rival approved', 'note approved'),
  ('vic', 'Acme, Rival, Vault', 'acme approved, rival approved, vault approved, vault pending, vault rejected, vault spam',
    'in the vault, note approved'),
  ('acme key', 'Acme', 'acme approved', 'note approved'),
  ('acme key with submissions:write', 'Acme', 'acme approved', 'note approved'),
  ('acme key with submissions:read', 'Acme', 'acme approved, acme pending, acme rejected, acme spam',
    'note approved, note pending, note rejected, note spam, under pending'),
  ('acme key with submissions:moderate', 'Acme', 'acme approved, acme pending, acme rejected, acme spam',
    'note approved, note pending, note rejected, note spam, under pending'),
  ('rival key with submissions:read submissions:moderate', 'Rival', 'rival approved', null),
  ('vault key', 'Vault', null, null),
  ('vault key with submissions:read', 'Vault', 'vault approved, vault pending, vault rejected, vault spam', 'in the vault');

select is(tests.see(who, $$ select string_agg(name, ', ' order by name) from organizations $$), boards,
  who || ' sees these boards') from expected;
select is(tests.see(who, $$ select string_agg(title, ', ' order by title) from submissions $$), submissions,
  who || ' sees these submissions') from expected;
select is(tests.see(who, $$ select string_agg(body, ', ' order by body) from comments $$), comments,
  who || ' sees these comments') from expected;
select is(
  tests.see(who, $$ select string_agg(distinct s.title, ', ') from votes v left join submissions s on s.id = v.submission_id $$), submissions,
  who || ' sees votes of just these submissions') from expected;
select is(
  tests.see(who, $$ select string_agg(distinct s.title, ', ') from status_changes v left join submissions s on s.id = v.submission_id $$), submissions,
  who || ' sees the history of just these submissions') from expected;
select is(
  tests.see(who, $$ select string_agg(distinct s.title, ', ') from submission_tags v left join submissions s on s.id = v.submission_id $$), submissions,
  who || ' sees the tags of just these submissions') from expected;
select is(
  tests.see(who, $$ select string_agg(distinct c.body, ', ') from comment_votes v left join comments c on c.id = v.comment_id $$), comments,
  who || ' sees votes of just these comments') from expected;

-- People and teams
select is(tests.see('anon', $$ select string_agg(name, ', ' order by name) from profiles $$), 'Alice, Bob',
  'anonymous clients see the authors of public content, and no other profile');
select is(tests.see('rita', $$ select string_agg(name, ', ' order by name) from profiles $$), 'Alice, Bob, Rita',
  'an admin also sees their own team, and no other');
select is(tests.see('mia', $$ select count(*) from memberships $$), '3', 'a member sees their team');
select is(tests.see('bob', $$ select count(*) from memberships $$), '0', 'a user outside the team sees no memberships');
select is(tests.see('anon', $$ select count(*) from memberships $$), '42501', 'an anonymous client may not read memberships');

-- Visibility follows the board and moderation
create function pg_temp.seen() returns text language sql as
  $$ select concat_ws('/', tests.see('anon', 'select count(*) from submissions'), tests.see('anon', 'select count(*) from comments'),
    (select 'other pictures' where tests.see('anon', 'select string_agg(id::text, '','' order by id) from profiles where kind <> ''key''')
      is distinct from (select string_agg(id::text, ',' order by id) from profiles where private.pictured_name(id) is not null))) $$;
do $$ begin update organizations set visibility = 'private' where slug = 'acme'; end $$;
select is(pg_temp.seen(), '1/0', 'submissions and comments of a board that becomes private are hidden');
select is(tests.see('mia', 'select count(*) from submissions'), '5', 'its team still sees them');
do $$ begin update organizations set visibility = 'public' where slug = 'acme'; end $$;
select is(pg_temp.seen(), '2/1', 'the same rows are visible again when it becomes public');
do $$ begin update submissions set moderation_state = 'spam' where title = 'acme approved'; end $$;
select is(pg_temp.seen(), '1/0', 'rejecting a submission hides its comments');
do $$ begin update submissions set moderation_state = 'approved' where title in ('acme approved', 'acme pending'); end $$;
select is(pg_temp.seen(), '3/2', 'approving a submission shows its comments');
do $$ begin update comments set moderation_state = 'approved' where body = 'note pending'; end $$;
select is(pg_temp.seen(), '3/3', 'approving a comment shows it');
do $$ begin update submissions set moderation_state = 'approved' where title = 'vault pending'; end $$;
select is(pg_temp.seen(), '3/3', 'approval on a private board shows nothing to others');

select * from finish();
rollback;
