-- Recipients of mail, and the time of sending.
begin;
set local search_path = public, extensions;
select plan(93);
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

-- Invites
select pg_temp.forget();
create function pg_temp.invite(address text, who text default 'adam', organization text default 'acme') returns text language sql as $$
  select tests.see(who, format('select private.admin_invite(tests.id(%L), %L, ''member'', sha256(%L)) ->> ''is_mailed''', organization, address, gen_random_uuid()))
$$;
create function pg_temp.invited(address text) returns uuid language sql as $$
  select id from private.invites where email = address order by created_at desc, revoked_at nulls first limit 1
$$;
create function pg_temp.outcome_of(address text) returns text language plpgsql as $$
begin
  perform private.record_and_claim_mails('[]', 100);
  return (select m.status from private.mails m where m.invite_id = pg_temp.invited(address));
end
$$;
select is(pg_temp.invite('zoe@example.test'), 'true', 'an invite is mailed where the organization sends mail');
select results_eq($$ select address, kind, profile, events #>> '{0,by}', events #>> '{0,role}', organization ->> 'default_locale' from private.record_and_claim_mails('[]', 100) $$,
  $$ select 'zoe@example.test', 'invite', null::jsonb, name, 'member', 'en' from public.profiles where id = tests.id('adam') $$, 'to the address, who needs no profile');
select is(pg_temp.invite('zoe@example.test', 'olga', 'rival'), 'FB403', 'an admin of another organization invites nobody there');
update public.organizations set mail_enabled = false where id = tests.id('acme');
select is(pg_temp.invite('amy@example.test'), 'false', 'an organization without mail mails no invites');
update public.organizations set mail_enabled = true where id = tests.id('acme');
select is_empty($$ select from private.mails where invite_id = pg_temp.invited('amy@example.test') $$, 'and none later');

select pg_temp.invite(address || '@example.test') from unnest(array['revoked', 'expired', 'accepted', 'orphaned', 'refused', 'erased']) as address;
update private.invites set revoked_at = now() where email = 'revoked@example.test';
update private.invites set expires_at = now() where email = 'expired@example.test';
update private.invites set accepted_at = now(), accepted_by = tests.id('bob') where email = 'accepted@example.test';
update private.invites set invited_by = tests.id('mia') where email = 'orphaned@example.test';
select private.suppress_address(tests.id('acme'), null, 'refused@example.test', 'refused');
select is(pg_temp.outcome_of(address || '@example.test'), 'dropped', format('an invite that is %s is not sent', address))
from unnest(array['revoked', 'expired', 'accepted', 'orphaned', 'refused']) as address;
insert into public.profiles (id, kind, organization_id, email) values (tests.id('erased one'), 'email', tests.id('acme'), 'erased@example.test');
select private.erase_person(tests.id('erased one'), tests.id('acme'));
select is_empty($$ select from private.invites where email = 'erased@example.test' $$, 'an erasure removes an invite with its address');

-- The daily limit of an organization
update private.mails set created_at = now() - interval '25 hours' where kind = 'invite';
select is(array(select pg_temp.invite('bob@example.test') from generate_series(1, 4)), array['true', 'true', 'true', 'false'], 'three mails go to one address in a day');
insert into public.profiles (id, kind, organization_id, email) values (tests.id('bombed one'), 'email', tests.id('acme'), 'bombed@example.test');
select pg_temp.invite('bombed@example.test') from generate_series(1, 3);
select private.erase_person(tests.id('bombed one'), tests.id('acme'));
select is(pg_temp.invite('bombed@example.test'), 'false', 'an erasure makes no room for more');
update private.mails set created_at = now() - interval '25 hours' where kind = 'invite';
insert into private.mails (organization_id, kind, event_ids, invite_id, status, finished_at)
select tests.id('acme'), 'invite', '{}', pg_temp.invited('zoe@example.test'), 'sent', now() from generate_series(1, 100);
select is(pg_temp.invite('new@example.test'), 'false', 'and a hundred of one organization');
select is((select count(*) from private.invites where email = 'new@example.test'), 1::bigint, 'the invite itself is made');
update private.mails set created_at = now() - interval '25 hours' where kind = 'invite';
select is(pg_temp.invite('new@example.test'), 'true', 'the day after they go on');

-- Accepting and refusing through the link of the mail
select is(tests.see(who, format('select data ->> ''role'' from private.accept_invite(null, %L)', pg_temp.invited('bob@example.test'))), outcome, format('%s accepts: %s', who, outcome))
from (values ('alice', 'FB403'), ('anon', '42501'), ('acme key with members:write', '42501'), ('bob', 'member')) as t (who, outcome);
select is(private.refuse_invites(pg_temp.invited('new@example.test')) ->> 'is_stopped', 'true', 'who was invited stops the mail of the organization');
select is(pg_temp.outcome_of('new@example.test'), 'dropped', 'so that none is sent');
select is(private.is_suppressed(tests.id('rival'), 'new@example.test'), false, 'but no other organization''s');
select private.suppress_address(tests.id('acme'), null, 'new@example.test', 'complained');
select private.refuse_invites(pg_temp.invited('new@example.test'));
select is(private.is_suppressed(tests.id('rival'), 'new@example.test'), true, 'a refusal does not take back a complaint');

-- The budget of mail to unconfirmed recipients
select pg_temp.forget();
insert into public.profiles (id, kind, organization_id, email) select tests.id(name), 'email', tests.id('acme'), name || '@x.test'
from unnest(array['stranger', 'identified', 'chooser', 'stopper']) as name;
insert into private.identified_people (organization_id, subject, profile_id) values (tests.id('acme'), '7', tests.id('identified'));
select private.change_mail_preferences(tests.id('acme'), tests.id('chooser'), '{"choices": {"comment": "weekly"}}');
select private.change_mail_preferences(tests.id('acme'), tests.id('stopper'), '{"stop": "comment"}');
select is(private.is_confirmed_recipient(tests.id('acme'), tests.id(who)), answer, claim) from (values
  ('alice', true, 'a user has confirmed their address'),
  ('stranger', false, 'an author whom a key entered has not'),
  ('identified', true, 'one whom the application identified has'),
  ('chooser', true, 'so has one who chose their mail by a link'),
  ('stopper', false, 'but not one who only stopped it'),
  (null, false, 'nor who is invited')) as t (who, answer, claim);

create function pg_temp.take(organization text default 'acme') returns boolean language sql as $$
  select private.take_unconfirmed_mail(o) from public.organizations o where o.id = tests.id(organization)
$$;
create function pg_temp.used(organization text default 'acme') returns integer language sql as $$
  select private.unconfirmed_mails(o) from public.organizations o where o.id = tests.id(organization)
$$;
select is((select max_unconfirmed_mails from public.organizations where id = tests.id('acme')), 200, 'an organization may send 200 in a day');
delete from private.mail_budgets;
update public.organizations set max_unconfirmed_mails = 2 where id = tests.id('acme');
select is(array(select pg_temp.take() from generate_series(1, 3)), array[true, true, false], 'the budget is counted');
select is(array[pg_temp.used(), pg_temp.used('rival')], array[2, 0], 'for each organization');
update private.mail_budgets set day = day - 1;
select is(array[pg_temp.used(), pg_temp.take()::integer, pg_temp.used()], array[0, 1, 1], 'and each day anew');
select pg_temp.take();
update public.organizations set time_zone = 'Pacific/Kiritimati' where id = tests.id('acme');
select is(array[pg_temp.take()::integer, pg_temp.used()], array[0, 2], 'and not with a change of the time zone');
update public.organizations set time_zone = 'Etc/GMT+12' where id = tests.id('acme');
select is(array[pg_temp.take()::integer, pg_temp.used()], array[0, 2], 'in either direction');
update public.organizations set max_unconfirmed_mails = 0 where id = tests.id('rival');
select is(pg_temp.take('rival'), false, 'a limit of 0 sends none');
update public.organizations set max_unconfirmed_mails = null where id = tests.id('rival');
select is(pg_temp.take('rival'), true, 'without a limit nothing is counted');

-- Mail beyond the budget
select pg_temp.forget();
update private.mail_budgets set used = 2;
insert into public.follows (organization_id, submission_id, user_id)
select tests.id('acme'), tests.id('an idea'), tests.id(name) from unnest(array['stranger', 'identified']) as name;
select pg_temp.change('under_review');
select is(pg_temp.claimed(), 'alice: an idea, identified: an idea', 'mail to others goes on');
select is(pg_temp.mails('stranger'), '', 'that to unconfirmed recipients does not wait in the queue');
select is((select due_at >= (private.budget_day() + 1)::timestamp at time zone 'UTC' from private.mail_items where profile_id = tests.id('stranger')),
  true, 'but for the digest of another day');
update private.mail_items set due_at = now();
select private.gather_digests();
select is(pg_temp.mails('stranger'), 'digest pending', 'which is made');
select is(pg_temp.claimed(), '', 'and counts too');
select is((select count(*) from private.mail_items where profile_id = tests.id('stranger')), 1::bigint, 'until a day has room for it');
update private.mail_budgets set day = day - 3;
update private.mail_items set due_at = now();
select private.gather_digests();
select is(pg_temp.claimed(), 'stranger: an idea', 'such as the next');
update private.mails set status = 'pending', claimed_at = null, next_attempt_at = now() where profile_id = tests.id('stranger');
update private.mail_budgets set used = 2;
select is(pg_temp.claimed(), 'stranger: an idea', 'another attempt of the same mail costs nothing');
select pg_temp.forget();
insert into private.mail_items (profile_id, event_id, organization_id, is_of_team, due_at, created_at)
select tests.id('alice'), gen_random_uuid(), tests.id('acme'), false, now(), now() - private.retention('mails') - interval '1 minute';
select is(private.gather_digests(), 0, 'news older than the retention of mails is not sent');
select is_empty('select from private.mail_items', 'and forgotten');
update public.organizations set max_unconfirmed_mails = default, time_zone = default;

-- Many due mails
select pg_temp.forget();
insert into public.follows (organization_id, submission_id, user_id)
select tests.id('acme'), tests.id('an idea'), tests.id('stopper');
select pg_temp.change('in_progress');
update private.mails set next_attempt_at = now() - interval '1 hour' where profile_id = tests.id('stopper');
update private.mails set next_attempt_at = now() - interval '2 hours' where profile_id = tests.id('stranger');
select set_eq($$ select split_part(address, '@', 1) from private.record_and_claim_mails('[]', 2) $$, array['alice', 'identified'],
  'confirmed recipients come first');
update private.mail_budgets set used = 200, day = private.budget_day();
select private.change_mail_preferences(tests.id('acme'), tests.id('stopper'), '{"choices": {"comment": "daily"}}');
select is_empty($$ select from private.record_and_claim_mails('[]', 100) $$, 'beyond the budget one round puts off what is due');
select is(pg_temp.mails('stranger') || '; ' || pg_temp.mails('stopper'), '; status pending', 'but not to one who meanwhile chose their mail');
select is(pg_temp.claimed(), 'stopper: an idea', 'who gets it now');
insert into public.organizations (slug, name) select 'many-' || n, 'Many' from generate_series(1, 40) as n;
insert into private.mails (organization_id, kind, event_ids)
select o.id, 'invite', array[o.id] from public.organizations o cross join generate_series(1, 100) where o.slug like 'many-%';
select private.record_and_claim_mails('[]', 5);
select is((select count(distinct organization_id) from private.mails where status = 'dropped'), 40::bigint, 'each organization gets a turn in a round');
select pg_temp.forget();

-- An identified person: the host signed them in, but they may not own the address.
do $$ begin
  perform private.change_mail_preferences(tests.id('acme'), tests.id('identified'), '{"stopped": true, "choices": {"status": "never"}}');
end $$;
select is(tests.try('identified', format('select private.change_my_mail_preferences(%L) from set_config(''feedback.organization_id'', %L, true)', change, tests.id('acme'))), outcome, format('an identified person: %s', change))
from (values ('{"stopped": false}', 'FB403'), ('{"choices": {"status": "at_once"}}', 'FB403'), ('{"unmute": "00000000-0000-4000-8000-000000000000"}', 'FB403'),
  ('{"stopped": true}', '1'), ('{"choices": {"status": "never", "reply": "never"}}', '1')) as t (change, outcome);
select is(private.change_mail_preferences(tests.id('acme'), tests.id('identified'), '{"stopped": false}') ->> 'stopped', null, 'the link of a mail resumes it');

-- Languages
update public.profiles set locale = null where id = tests.id('alice');
update auth.users set raw_user_meta_data = '{"name": "Alice", "locale": "de"}' where id = tests.id('alice');
select is(private.mail_locale(tests.id('alice'), tests.id('acme')), 'de', 'mail is in the language of the sign-up');
update public.profiles set locale = 'fr' where id = tests.id('alice');
select is((select raw_user_meta_data from auth.users where id = tests.id('alice')), '{"name": "Alice", "locale": "fr"}', 'a chosen language is told the auth service');
update public.profiles set locale = null where id = tests.id('alice');
select is((select raw_user_meta_data from auth.users where id = tests.id('alice')), '{"name": "Alice"}', 'and forgotten there');

select * from finish();
rollback;
