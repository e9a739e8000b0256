-- Access of ended sessions and of anonymous users.

-- Ended sessions --------------------------------------------------------------------------------------------

-- Access tokens of deleted and banned users and of ended sessions stay valid until they expire. The API
-- rejects them in private.assume_caller, the data API in private.before_request; these policies reject them
-- for clients of the data API and realtime.

do $$
declare name text;
begin
  for name in
    select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname
  loop
    -- The edge functions have checked the session.
    execute format('create policy "only valid sessions see and change rows" on public.%I as restrictive
      to authenticated using ((select session_user = ''feedback_api'' or private.token_refusal() is null))',
      name);
  end loop;
end
$$;

-- Anonymous sign-ins ----------------------------------------------------------------------------------------

-- Anyone can create any number of anonymous users. The row of the auth service decides, not the claim: the
-- row changes as soon as an address is linked, and the API does not pass claims on.

-- Trigger: anonymous users may do what organizations.anonymous_may allows. The argument is the required
-- level: vote or participate. definer: profiles and settings of organizations are not readable as a whole.
create function private.require_participation() returns trigger
language plpgsql security definer set search_path = pg_temp as $$
declare allowed text;
begin
  if private.is_key()
    or not exists (select from public.profiles p where p.id = auth.uid() and p.is_anonymous) then
    return new;
  end if;
  allowed := (select o.anonymous_may from public.organizations o where o.id = new.organization_id);
  if allowed <> 'participate' and allowed <> tg_argv[0] then
    perform private.raise_error('FORBIDDEN', case allowed
      when 'vote' then 'Without an account you can read and vote here. Sign up to do more.'
      else 'Without an account you can only read here. Sign up to take part.' end);
  end if;
  return new;
end
$$;

-- Trigger names sort after prepare, which sets the organization.
create trigger require_participation before insert on public.votes
  for each row execute function private.require_participation('vote');
create trigger require_participation before insert on public.comment_votes
  for each row execute function private.require_participation('vote');
create trigger require_participation before insert on public.follows
  for each row execute function private.require_participation('vote');
create trigger require_participation before insert or update of title, description on public.submissions
  for each row execute function private.require_participation('participate');
create trigger require_participation before insert or update of body on public.comments
  for each row execute function private.require_participation('participate');
create trigger require_participation before insert on public.survey_responses
  for each row execute function private.require_participation('participate');
create trigger require_participation before insert on private.survey_starts
  for each row execute function private.require_participation('participate');
