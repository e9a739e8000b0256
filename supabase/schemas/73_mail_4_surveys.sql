-- Mails that ask people to answer a survey.

create table private.survey_requests (
  survey_id uuid not null,
  profile_id uuid not null references public.profiles (id) on delete cascade,
  organization_id uuid not null,
  created_at timestamptz not null default now(),
  reminded_at timestamptz,
  primary key (survey_id, profile_id),
  constraint survey_requests_survey_is_of_the_same_organization foreign key (organization_id, survey_id)
    references public.surveys (organization_id, id) on delete cascade
);
comment on table private.survey_requests is
  'Whom a team asked by mail to answer a survey, and reminded: each once.';
create index survey_requests_profile_idx on private.survey_requests (profile_id);
create index survey_requests_survey_idx on private.survey_requests (organization_id, survey_id);

-- Queues a mail to each user of the survey's audience who was not asked yet, or to each who was asked more
-- than a day ago, did not answer and was not reminded; for Admin or keys with surveys:publish. Returns JSON
-- {survey_id, queued, asked, reminded}. Raises SURVEY_NOT_OPEN, or CONFLICT if its audience is everyone or
-- the organization sends no mail. definer: reads who voted and follows, and writes the private queue.
create function private.mail_survey(survey_id uuid, is_reminder boolean default false) returns json
language plpgsql security definer set search_path = pg_temp as $$
#variable_conflict use_variable
declare
  own_id uuid := private.require_survey(survey_id, 'surveys:publish');
  survey public.surveys;
  submission uuid;
  queued integer;
begin
  select * into survey from public.surveys s where s.id = survey_id for share;
  perform private.require_accepts_responses(survey);
  submission := (select coalesce(s.merged_into_id, s.id) from public.submissions s
    where s.id = survey.audience_submission_id);
  if survey.audience = 'everyone' or submission is null then
    perform private.raise_error('CONFLICT',
      'Surveys can be emailed only to voters or followers of a submission. Choose one of them as the '
        'audience (targeting).',
      'targeting');
  end if;
  if not (select o.mail_enabled from public.organizations o where o.id = own_id) then
    perform private.raise_error('CONFLICT',
      'The organization does not send emails. Turn them on first (mail_enabled).',
      'mail_enabled');
  end if;
  if is_reminder then
    with reminded as (
      update private.survey_requests q set reminded_at = now()
      where q.organization_id = own_id and q.survey_id = survey_id and q.reminded_at is null
        and q.created_at < now() - interval '1 day' and not exists (select from public.survey_responses r
          where r.survey_id = survey_id and r.user_id = q.profile_id)
        and not private.is_silent(submission, q.profile_id)
      returning q.profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, r.profile_id, 'survey', array[survey_id, survey_id] from reminded r returning 1
    )
    select count(*) into queued from made;
  else
    with asked as (
      insert into private.survey_requests (survey_id, profile_id, organization_id)
      select survey_id, p.id, own_id from public.profiles p
      where p.kind = 'user' and p.auth_user_id is not null and p.id in (
        select v.user_id from public.votes v where survey.audience = 'voters' and v.submission_id = submission
        union all select f.user_id from public.follows f
          where survey.audience = 'followers' and f.submission_id = any (private.with_sources(submission)))
        and not private.is_silent(submission, p.id)
      on conflict do nothing returning profile_id
    ), made as (
      insert into private.mails (organization_id, profile_id, kind, event_ids)
      select own_id, a.profile_id, 'survey', array[survey_id] from asked a returning 1
    )
    select count(*) into queued from made;
  end if;
  if queued > 0 then
    perform private.audit('survey.mail', 'survey', survey_id,
      jsonb_build_object('is_reminder', is_reminder, 'people', queued), own_id);
    perform private.wake_mailer();
  end if;
  return (select json_build_object(
    'survey_id', survey_id,
    'queued', queued,
    'asked', count(*),
    'reminded', count(q.reminded_at)) from private.survey_requests q
    where q.organization_id = own_id and q.survey_id = survey_id);
end
$$;
grant execute on function private.mail_survey to authenticated, service_key;
