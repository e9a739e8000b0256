-- The contributions of an e-mail author move to a user with the same confirmed address, once.
begin;
set local search_path = public, extensions;
select plan(38);
do $$
begin
  perform tests.start();
  update auth.users set email_confirmed_at = null;
  update auth.users set email = 'Grace@Author.test' where id = tests.id('carol');
  insert into public.profiles (id, kind, organization_id, email, name) values
    (tests.id('grace'), 'email', tests.id('acme'), 'grace@author.test', 'Grace'),
    (tests.id('grace of rival'), 'email', tests.id('rival'), 'grace@author.test', 'Grace');
  perform tests.submission('her idea', 'grace'), tests.submission('for both', 'bob'), tests.submission('source', 'bob'),
    tests.submission('source of both', 'bob'), tests.submission('at rival', 'grace of rival', 'rival');
  perform tests.comment('her comment', 'grace', 'for both'), tests.comment('of bob', 'bob', 'for both');
  insert into public.votes (submission_id, user_id) values
    (tests.id('for both'), tests.id('grace')), (tests.id('for both'), tests.id('carol')), (tests.id('for both'), tests.id('alice')),
    (tests.id('source'), tests.id('grace')), (tests.id('source'), tests.id('alice')),
    (tests.id('source of both'), tests.id('grace')), (tests.id('source of both'), tests.id('carol'));
  insert into public.comment_votes (comment_id, user_id) values
    (tests.id('of bob'), tests.id('grace')), (tests.id('of bob'), tests.id('carol')), (tests.id('her comment'), tests.id('grace'));
  insert into public.follows (organization_id, submission_id, user_id, reason) values
    (tests.id('acme'), tests.id('for both'), tests.id('grace'), 'manual'), (tests.id('acme'), tests.id('for both'), tests.id('carol'), 'manual')
    on conflict do nothing;
  insert into private.unfollows (organization_id, submission_id, user_id) values
    (tests.id('acme'), tests.id('source'), tests.id('grace')), (tests.id('acme'), tests.id('source of both'), tests.id('carol'));
  delete from public.follows where submission_id = tests.id('source') and user_id = tests.id('grace')
    or submission_id = tests.id('source of both') and user_id = tests.id('carol');
  insert into private.author_trust (organization_id, user_id, is_trusted) values
    (tests.id('acme'), tests.id('grace'), false), (tests.id('acme'), tests.id('carol'), true);
  update public.organizations set mail_enabled = true where id = tests.id('acme');
  insert into public.status_changes (organization_id, submission_id, new_status) values (tests.id('acme'), tests.id('her idea'), 'planned');
  insert into private.mail_choices (organization_id, profile_id, kind, choice) values
    (tests.id('acme'), tests.id('grace'), 'reply', 'never'), (tests.id('acme'), tests.id('grace'), 'comment', 'weekly'),
    (tests.id('acme'), tests.id('carol'), 'comment', 'never');
end $$;

do $$ begin
  perform tests.survey('hers was first'), tests.survey('the account was first'), tests.survey('of hers only'), tests.survey('of both'), tests.survey('started'),
    tests.survey('several', settings => '{"settings": {"allow_multiple_responses": true}}');
  insert into public.survey_responses (survey_id, user_id, answers, submitted_at)
  select tests.id(survey), tests.id(respondent), tests.answers(survey, score::text::jsonb), now() + pause from (values
    ('hers was first', 'grace', 1, interval '0'), ('hers was first', 'carol', 2, '1 hour'), ('the account was first', 'carol', 3, '0'), ('the account was first', 'grace', 4, '1 hour'),
    ('of hers only', 'grace', 5, '0'), ('several', 'grace', 6, '0'), ('several', 'carol', 7, '0')) as r (survey, respondent, score, pause);
  insert into private.survey_starts (organization_id, survey_id, user_id) select tests.id('acme'), tests.id('of both'), tests.id(p) from unnest(array['grace', 'carol']) p
    union all select tests.id('acme'), tests.id('started'), tests.id('grace');
end $$;
do $$ begin
  insert into private.identified_people (organization_id, subject, profile_id) values (tests.id('acme'), 'u-1', tests.id('grace'));
end $$;

create function pg_temp.claim(who text, organization text default 'acme', author text default 'grace') returns text language sql as $$
  select tests.see(who, format('select private.claim_author(%L, %L) ->> %L', tests.id(organization), tests.id(author), 'slug'))
$$;
create function pg_temp.wrong_counts() returns bigint language sql as $$
  select count(*) from public.submissions s where vote_count <> (select count(*) from public.votes v where v.submission_id = s.id)
    or comment_count <> (select count(*) from public.comments c where c.submission_id = s.id and c.moderation_state = 'approved')
$$;
create function pg_temp.voters(submission text) returns text language sql as $$
  select coalesce(string_agg(p.name, ', ' order by p.name), '') from public.votes v join public.profiles p on p.id = v.user_id
  where v.submission_id = tests.id(submission)
$$;

-- Rejected claims
select is(pg_temp.claim('carol'), 'FB403', 'an unconfirmed address is rejected');
update auth.users set email_confirmed_at = now() where id in (tests.id('carol'), tests.id('alice'));
select is(pg_temp.claim('alice'), 'FB403', 'another user cannot claim');
select is(pg_temp.claim('anon'), '42501', 'an anonymous user cannot claim');
select is(pg_temp.claim('acme key with submissions:write members:write'), '42501', 'a key cannot claim');
select is(pg_temp.claim('carol', 'rival'), 'FB409', 'an author of another organization cannot be claimed');
select is(pg_temp.claim('carol', 'acme', 'bob'), 'FB409', 'a user cannot be claimed');
select is(pg_temp.claim('carol', 'acme', 'acme key'), 'FB409', 'a key as author cannot be claimed');
select is(tests.see('alice', format('select private.open_claim(%L, %L) ->> %L', tests.id('acme'), tests.id('grace'), 'is_own_address')), 'false',
  'is_own_address is false for another account');
select is(tests.see('anon', format('select private.open_claim(%L, %L) ->> %L', tests.id('acme'), tests.id('grace'), 'is_signed_in')), 'false',
  'is_signed_in is false without an account');
select is(tests.see('anon', format('select private.open_claim(%L, %L)::text', tests.id('acme'), tests.id('grace'))) !~ 'author.test', true,
  'the address is not shown');

-- Contributions that move to the user
select tests.merge('source', 'for both');
select tests.merge('source of both', 'for both');
select is(pg_temp.voters('for both'), 'Alice, Bob, Carol, Grace', 'before, she voted twice: by her address and by her account');
select is(pg_temp.claim('carol'), 'acme', 'the user with the confirmed address claims, however it is spelled');
select is(pg_temp.voters('for both'), 'Alice, Bob, Carol', 'her two votes become one');
select is(pg_temp.wrong_counts(), 0::bigint, 'and every count is exact');
select is((select author_id from public.submissions where id = tests.id('her idea')), tests.id('carol'), 'she is the author of the submission');
select is((select author_id from public.comments where id = tests.id('her comment')), tests.id('carol'), 'and of the comment');
select is((select vote_count from public.comments where id = tests.id('of bob')), 1, 'two votes for a comment become one');
select is((select vote_count from public.comments where id = tests.id('her comment')), 1, 'a single vote stays');
select is((select count(*) from public.follows where submission_id = tests.id('for both') and user_id in (tests.id('carol'), tests.id('grace'))), 1::bigint, 'she follows once');
select is((select count(*) from public.follows where submission_id = tests.id('her idea') and user_id = tests.id('carol')), 1::bigint, 'also what she submitted');
select is((select array_agg(submission_id) from private.unfollows where user_id = tests.id('carol')) @> array[tests.id('source'), tests.id('source of both')]
    and not exists (select from public.follows where user_id = tests.id('carol') and submission_id in (tests.id('source'), tests.id('source of both'))),
  true, 'what either of the two unfollowed stays unfollowed');
select is((select is_trusted from private.author_trust where user_id = tests.id('carol')), false, 'the author''s revoked trust is kept');
select is((select string_agg(kind || ' ' || choice, ', ' order by kind) from private.mail_choices where profile_id = tests.id('carol')), 'comment never, reply never',
  'the choices of her account count, and those of the author where it made none');
select is((select count(*) from public.notifications where user_id = tests.id('carol') and submission_id = tests.id('her idea')), 1::bigint, 'she gets the notifications');
select is((select count(*) from private.mails where profile_id = tests.id('carol') and kind = 'status'), 1::bigint, 'and the pending mail');
select is((select kind || coalesce(email, '') || coalesce(name, '') from public.profiles where id = tests.id('grace')), 'anonymous', 'a nameless profile stays');
select is((select author_id from public.submissions where id = tests.id('at rival')), tests.id('grace of rival'), 'rows of another organization are unchanged');
select is((select details ->> 'author_id' from private.audit_log where action = 'author.claim'), tests.id('grace')::text, 'the audit trail records the claim');

-- Her answers
select set_eq($$ select s.title, (r.answers -> 0 ->> 'value')::integer, r.user_id from public.survey_responses r join public.surveys s on s.id = r.survey_id $$,
  $$ select title, score, tests.id('carol') from (values ('hers was first', 1), ('the account was first', 3), ('of hers only', 5), ('several', 6), ('several', 7)) as t (title, score) $$,
  'she is the respondent, once for each survey: the first response stays');
select set_eq($$ select s.title, b.user_id from private.survey_starts b join public.surveys s on s.id = b.survey_id $$,
  $$ values ('of both', tests.id('carol')), ('started', tests.id('carol')) $$, 'and has started a survey once');
select is_empty('select * from private.count_discrepancies()', 'the counters of surveys are correct');

select is_empty('select from private.identified_people', 'a person identified later is a new author');

-- Once
select is(pg_temp.claim('carol'), 'FB409', 'a second claim is rejected');
select is(tests.see('carol', format('select private.open_claim(%L, %L)::text', tests.id('acme'), tests.id('grace'))), null, 'there is nothing left to claim');

-- Unmerging gives each source its vote back
do $$
begin
  perform set_config('request.jwt.claims', jsonb_build_object('sub', tests.id('olga'), 'role', 'authenticated')::text, true);
  perform private.admin_unmerge(tests.id('source of both'));
  perform private.admin_unmerge(tests.id('source'));
  perform tests.leave();
end $$;
select is(pg_temp.voters('source'), 'Alice, Bob, Carol', 'a source gets her vote back under her account');
select is(pg_temp.voters('source of both'), 'Bob, Carol', 'once, where she had voted with both');
select is(pg_temp.voters('for both'), 'Alice, Bob, Carol', 'and the target keeps its own');
select is(pg_temp.wrong_counts(), 0::bigint, 'with exact counts');

select * from finish();
rollback;
