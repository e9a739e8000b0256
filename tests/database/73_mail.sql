-- Recipients of mail, and its time.
begin;
set local search_path = public, extensions;
select plan(31);
do $$
begin
  perform tests.start();
  update auth.users set email_confirmed_at = now();
  update public.organizations set mail_enabled = true where id in (tests.id('acme'), tests.id('vault'));
  perform tests.submission('an idea', 'alice');
  insert into public.profiles (id, kind, organization_id, email) values
    (tests.id('grace'), 'email', tests.id('acme'), 'grace@example.test');
end $$;

create function pg_temp.mails(who text) returns text language sql as $$
  select coalesce(string_agg(kind || ' ' || status, ', ' order by created_at, id), '') from private.mails where profile_id = tests.id(who)
$$;
create function pg_temp.change(new_status text, submission text default 'an idea') returns void language sql as $$
  insert into public.status_changes (organization_id, submission_id, new_status)
  select organization_id, id, new_status from public.submissions where id = tests.id(submission)
$$;
create function pg_temp.claimed() returns text language sql as $$
  select coalesce(string_agg(split_part(address, '@', 1) || ': ' || (events -> 0 ->> 'title'), ', ' order by address), '')
  from private.record_and_claim_mails('[]', 100)
$$;
create function pg_temp.forget() returns void language sql as $$
  delete from private.mails; delete from private.mail_items; delete from private.mail_choices;
$$;

-- Time
select is(private.next_digest('daily', 'Europe/Berlin', '2026-11-20 06:59:00+00'), '2026-11-20 07:00:00+00', 'a daily digest is at eight of the time zone');
select is(private.next_digest('daily', 'Europe/Berlin', '2026-11-20 07:00:00+00'), '2026-11-21 07:00:00+00', 'or on the next day');
select is(private.next_digest('weekly', 'UTC', '2026-11-20 09:00:00+00'), '2026-11-23 08:00:00+00', 'a weekly one on Monday');
select is(private.next_digest('weekly', 'America/New_York', '2026-11-02 14:00:00+00'), '2026-11-09 13:00:00+00', 'also where the clocks change');
select is(private.mail_choice(tests.id('acme'), tests.id('alice'), kind), choice, 'without a choice: ' || kind || ' ' || choice)
from (values ('status', 'at_once'), ('official', 'at_once'), ('reply', 'at_once'), ('comment', 'daily'), ('team', 'daily')) as d (kind, choice);
update public.organizations set mail_defaults = '{"comment": "weekly"}' where id = tests.id('acme');
select is(private.mail_choice(tests.id('acme'), tests.id('alice'), 'comment'), 'weekly', 'an organization has defaults of its own');
select throws_ok($$ update public.organizations set mail_defaults = '{"team": "at_once"}' where id = tests.id('acme') $$, '23514', null, 'of choices that there are');
select throws_ok($$ update public.organizations set mail_defaults = '{"comment": null}' where id = tests.id('acme') $$, '23514', null, 'and no others');

-- Recipients
select pg_temp.change('planned');
select is(pg_temp.mails('alice'), 'status pending', 'the author gets mail about a status');
select is(pg_temp.claimed(), 'alice: an idea', 'and a mailer may claim it');
select is(pg_temp.claimed(), '', 'once');
select is((select split_part(address, '@', 1) from private.record_and_claim_mails('[]', 100)), null, 'and not while it is sent');
update private.mails set next_attempt_at = now();
select is(pg_temp.claimed(), 'alice: an idea', 'but again when the mailer did not come back');
select is((select counted_from from private.mails), 1, 'which the schedule of retries does not count');
select pg_temp.forget();

update private.mails set status = 'dropped' where false;
insert into private.mails (organization_id, profile_id, kind, event_ids)
select tests.id('acme'), tests.id('alice'), 'status', array[gen_random_uuid()] from generate_series(1, 20);
select pg_temp.change('in_progress');
select is((select count(*) from private.mails), 20::bigint, 'beyond 20 mails a day');
select is((select count(*) from private.mail_items where profile_id = tests.id('alice')), 1::bigint, 'the rest waits for the digest');
select pg_temp.forget();

-- Visibility and preferences at the time of sending.
select pg_temp.change('completed');
update public.organizations set mail_enabled = false where id = tests.id('acme');
select is(pg_temp.claimed(), '', 'an organization that turned mail off sends none');
select is(pg_temp.mails('alice'), 'status dropped', 'not later either');
update public.organizations set mail_enabled = true where id = tests.id('acme');
select tests.submission('a secret', 'vic', 'vault');
select pg_temp.forget();
insert into public.follows (organization_id, submission_id, user_id, reason) values (tests.id('vault'), tests.id('a secret'), tests.id('vera'), 'manual');
select pg_temp.change('planned', 'a secret');
select is(pg_temp.mails('vera'), 'status pending', 'a member gets mail about a private board');
delete from public.memberships where user_id = tests.id('vic');
update public.memberships set role = 'owner' where user_id = tests.id('vera');
insert into public.memberships (organization_id, user_id, role) values (tests.id('vault'), tests.id('carol'), 'owner');
delete from public.memberships where user_id = tests.id('vera');
select is(pg_temp.claimed(), 'vic: a secret', 'people who left before the sending get none; an author sees their own');
select pg_temp.forget();

-- Preferences belong to one person and one organization.
select is(tests.see('alice', $$ select set_config('feedback.organization_id', tests.id('acme')::text, true),
  private.change_my_mail_preferences('{"choices": {"status": "never"}, "mute": null}') $$) is not null, true, 'people choose for themselves');
select is(private.mail_choice(tests.id('rival'), tests.id('alice'), 'status'), 'at_once', 'for one organization');
select is(private.mail_preferences(tests.id('rival'), tests.id('grace'))::text, null, 'an e-mail author of one has no choices in another');
select is(private.change_mail_preferences(tests.id('rival'), tests.id('alice'), jsonb_build_object('mute', tests.id('an idea'))) ->> 'muted', '[]',
  'a submission of another organization cannot be muted');

-- Erasure
select pg_temp.forget();
select private.suppress_address(tests.id('acme'), tests.id('grace'), 'grace@example.test', 'refused');
insert into private.mails (organization_id, profile_id, kind, event_ids) values (tests.id('acme'), tests.id('grace'), 'status', array[tests.id('x')]);
select private.erase_person(tests.id('grace'), tests.id('acme'));
select is(pg_temp.mails('grace'), '', 'an erasure removes pending mail');
select is(private.is_suppressed(tests.id('acme'), 'Grace@example.test'), true, 'and keeps that the address gets no mail');
select is_empty('select from private.mail_suppressions where profile_id is not null', 'without the person');

select * from finish();
rollback;
