-- Write functions for clients of the data API. Each returns a single value.
--
-- A client can make a write to a table arbitrarily slow: PostgREST evaluates filters of an UPDATE for each
-- row and embeds related rows into the result after the write, in one transaction that keeps its locks, its
-- unique index entries and its transaction id (which outbox readers wait for). The result of a function that
-- returns a boolean, number or uuid can be neither embedded nor filtered.
--
-- Security definer functions trust the ids that they are given. The functions here look up the client's rows
-- under row-level security: rows the caller cannot see are not found, even for the caller's own votes.

-- Trigger: rejects direct writes by clients of the data API. The arguments name the functions to call
-- instead: to insert, update and delete. The edge functions use the same roles, so grants cannot distinguish
-- them from clients; the session user does.
create function private.reject_table_write() returns trigger
language plpgsql set search_path = pg_temp as $$
begin
  if private.is_direct() and coalesce(current_setting('feedback.by_function', true), '') <> 'on' then
    perform private.raise_error('FORBIDDEN',
      format('Clients cannot write to the table %s. Call the function %s instead.', tg_table_name,
        tg_argv[case tg_op when 'INSERT' then 0 when 'UPDATE' then 1 else 2 end]));
  end if;
  return null;
end
$$;

create trigger by_function_only before insert or update or delete on public.submissions for each statement
  when (session_user <> 'feedback_api')
  execute function private.reject_table_write('create_submission', 'update_submission', 'delete_submission');
create trigger by_function_only before insert or delete on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('vote', '', 'unvote');
create trigger by_function_only before insert or delete on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('follow', '', 'unfollow');
create trigger by_function_only before insert or update or delete on public.comments for each statement
  when (session_user <> 'feedback_api')
  execute function private.reject_table_write('create_comment', 'update_comment', 'delete_comment');
create trigger by_function_only before insert or delete on public.comment_votes for each statement
  when (session_user <> 'feedback_api')
  execute function private.reject_table_write('vote_comment', '', 'unvote_comment');
create trigger by_function_only before update on public.notifications for each statement
  when (session_user <> 'feedback_api')
  execute function private.reject_table_write('', 'mark_notifications_read');
create trigger by_function_only before update on public.profiles for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('', 'update_profile');
create trigger by_function_only before insert on public.survey_responses for each statement
  when (session_user <> 'feedback_api') execute function private.reject_table_write('submit_survey_response');

-- Returns the result of a function that wrote a table; from then on clients cannot write the table
-- themselves.
create function private.end_write(answer anyelement) returns anyelement
language sql as $$
  select case when set_config('feedback.by_function', 'off', true) = 'off' then answer end
$$;

-- Raises VALIDATION_ERROR unless changes is an object with known keys and values that are text or null.
create function private.reject_unknown_changes(changes jsonb, known text[]) returns void
language plpgsql immutable set search_path = pg_temp as $$
declare unknown text;
begin
  if coalesce(jsonb_typeof(changes), '') <> 'object' then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object with the fields to change', 'changes');
  end if;
  unknown := (select key from jsonb_object_keys(changes) as key where key <> all (known)
    order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR',
      format('is not a known field; use one of %s', array_to_string(known, ', ')), 'changes.' || unknown);
  end if;
  -- A number or an object would be stored as its JSON text.
  unknown := (select key from jsonb_each(changes) where jsonb_typeof(value) not in ('string', 'null')
    order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', 'must be a string or null', 'changes.' || unknown);
  end if;
end
$$;

-- Submissions -----------------------------------------------------------------------------------------------

create function public.create_submission(title text, description text, type text,
  category_id uuid default null,
  organization_id uuid default null) returns uuid
language plpgsql set search_path = pg_temp as $$
declare id uuid := gen_random_uuid();
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.submissions (id, organization_id, title, description, type, category_id)
  values (id, organization_id, title, description, type, category_id);
  return private.end_write(id);
end
$$;
comment on function public.create_submission(text, text, text, uuid, uuid) is
  'Creates an idea or a problem as the signed-in user, who votes for it and follows it; returns its id. '
  'organization_id is required if there is more than one organization.';

create function public.update_submission(id uuid, changes jsonb) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  perform private.reject_unknown_changes(changes, private.editable_columns('public.submissions'));
  perform set_config('feedback.by_function', 'on', true);
  update public.submissions s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then changes ->> 'description' else s.description end,
    category_id = case when changes ? 'category_id' then (changes ->> 'category_id')::uuid
      else s.category_id end,
    tracker_issue_url = case when changes ? 'tracker_issue_url' then changes ->> 'tracker_issue_url'
      else s.tracker_issue_url end
  where s.id = update_submission.id;
  return private.end_write(found);
end
$$;
comment on function public.update_submission(uuid, jsonb) is
  'Updates title, description, category_id or (Admin) tracker_issue_url: the keys of changes. Returns false '
  'if the caller has no such submission.';

create function public.delete_submission(id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.submissions s where s.id = delete_submission.id;
  return private.end_write(found);
end
$$;
comment on function public.delete_submission(uuid) is
  'Deletes a submission with its votes and comments. Returns false if the caller has no such submission.';

-- Votes and follows -----------------------------------------------------------------------------------------

create function public.vote(submission_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if (select private.my_vote(s.id) from public.submissions s where s.id = vote.submission_id) is not null
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.votes (submission_id) values (vote.submission_id) on conflict do nothing;
  return private.end_write(found);
end
$$;
comment on function public.vote(uuid) is
  'Votes for a submission as the signed-in user. Returns false if the vote exists already.';

create function public.unvote(submission_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  -- Before the lock, so that callers without a vote lock nothing.
  if (select private.my_vote(s.id) from public.submissions s where s.id = unvote.submission_id) is null
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_vote(submission_id, private.caller_id());
  return private.end_write(true);
end
$$;
comment on function public.unvote(uuid) is
  'Removes the signed-in user''s vote. Returns false if there is none.';

create function public.follow(submission_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if (select private.is_following(s.id) from public.submissions s where s.id = follow.submission_id)
    then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.follows (submission_id) values (follow.submission_id) on conflict do nothing;
  return private.end_write(found);
end
$$;
comment on function public.follow(uuid) is
  'Follows a submission as the signed-in user. Returns false if already following.';

create function public.unfollow(submission_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
declare did_follow boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  did_follow := (select private.unfollow(private.with_sources(s.id)) from public.submissions s
    where s.id = unfollow.submission_id);
  return private.end_write(coalesce(did_follow, false));
end
$$;
comment on function public.unfollow(uuid) is
  'Unfollows a submission and those merged into it: the signed-in user hears no more of them, not even as '
  'the author. Returns false if they followed none of them.';

-- Comments --------------------------------------------------------------------------------------------------

create function public.create_comment(submission_id uuid, body text, parent_id uuid default null)
returns uuid
language plpgsql set search_path = pg_temp as $$
declare id uuid := gen_random_uuid();
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comments (id, submission_id, parent_id, body)
  values (id, submission_id, parent_id, body);
  return private.end_write(id);
end
$$;
comment on function public.create_comment(uuid, text, uuid) is
  'Comments on a submission, or replies to its comment parent_id, as the signed-in user; returns the '
  'comment''s id.';

create function public.update_comment(id uuid, body text) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.comments c set body = update_comment.body where c.id = update_comment.id;
  return private.end_write(found);
end
$$;
comment on function public.update_comment(uuid, text) is
  'Updates a comment of the signed-in user within private.comment_edit_window(). Returns false if there is '
  'no such comment of theirs.';

create function public.delete_comment(id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.comments c where c.id = delete_comment.id;
  return private.end_write(found);
end
$$;
comment on function public.delete_comment(uuid) is
  'Deletes a comment with all replies. Returns false if the caller has no such comment.';

create function public.vote_comment(comment_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if (select private.comment_vote_of(c.id, private.caller_id()) from public.comments c
    where c.id = vote_comment.comment_id) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comment_votes (comment_id) values (vote_comment.comment_id) on conflict do nothing;
  return private.end_write(found);
end
$$;
comment on function public.vote_comment(uuid) is
  'Votes for a comment as the signed-in user. Returns false if the vote exists already.';

create function public.unvote_comment(comment_id uuid) returns boolean
language plpgsql set search_path = pg_temp as $$
begin
  if (select private.comment_vote_of(c.id, private.caller_id()) from public.comments c
    where c.id = unvote_comment.comment_id) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_comment_vote(comment_id, private.caller_id());
  return private.end_write(true);
end
$$;
comment on function public.unvote_comment(uuid) is
  'Removes the signed-in user''s vote for a comment. Returns false if there is none.';

-- The caller's own data -------------------------------------------------------------------------------------

create function public.mark_notifications_read(ids uuid[] default null) returns integer
language plpgsql set search_path = pg_temp as $$
declare marked integer;
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.notifications n set read_at = now()
  where n.user_id = private.caller_id() and n.read_at is null and (ids is null or n.id = any (ids));
  get diagnostics marked = row_count;
  return private.end_write(marked);
end
$$;
comment on function public.mark_notifications_read(uuid[]) is
  'Marks notifications of the signed-in user as read, the given ones or all; returns how many.';

create function public.update_profile(changes jsonb) returns boolean
language plpgsql set search_path = pg_temp as $$
declare was_changed boolean;
begin
  perform private.reject_unknown_changes(changes, array['name', 'avatar_url', 'locale']);
  perform set_config('feedback.by_function', 'on', true);
  update public.profiles p set
    name = case when changes ? 'name' then changes ->> 'name' else p.name end,
    avatar_url = case when changes ? 'avatar_url' then changes ->> 'avatar_url' else p.avatar_url end
  where p.id = private.caller_id();
  was_changed := found;
  -- The locale is updated separately, since nobody may read it.
  if changes ? 'locale' then
    update public.profiles p set locale = changes ->> 'locale' where p.id = private.caller_id();
  end if;
  return private.end_write(was_changed);
end
$$;
comment on function public.update_profile(jsonb) is
  'Updates name, avatar_url or locale of the signed-in user''s profile: the keys of changes.';

create function public.submit_survey_response(survey_id uuid, answers jsonb, locale text default null)
  returns uuid
language plpgsql set search_path = pg_temp as $$
declare response json;
begin
  perform set_config('feedback.by_function', 'on', true);
  response := private.submit_survey_response(survey_id, answers, locale, null);
  return private.end_write((response ->> 'response_id')::uuid);
end
$$;
comment on function public.submit_survey_response(uuid, jsonb, text) is
  'Answers a survey as the signed-in user: answers is [{question_id, value}]; returns the response''s id.';

-- Every request ---------------------------------------------------------------------------------------------

-- PostgREST calls this function before each request (pgrst.db_pre_request). It refuses ended sessions, gives
-- writes a statement timeout of 2 s and a lock timeout of 1 s, and rejects Prefer: count=planned and
-- count=estimated.
create function private.before_request() returns void
language plpgsql set search_path = pg_temp as $$
declare refusal text := case when current_setting('role') = 'authenticated'
  then private.token_refusal() end;
begin
  if refusal is not null then
    -- PostgREST answers PT401 with status 401.
    raise exception using errcode = 'PT401', message = private.refusal_message(refusal),
      detail = '{"code": "UNAUTHORIZED"}';
  end if;
  -- The planner's estimate includes rows the caller may not see.
  if nullif(current_setting('request.headers', true), '')::json ->> 'prefer'
    ~* 'count\s*=\s*"?(planned|estimated)' then
    perform private.raise_error('VALIDATION_ERROR',
      'Use count=exact. An estimate would include rows you cannot see.', 'Prefer');
  end if;
  if current_setting('request.method', true) not in ('GET', 'HEAD') and current_setting('role')
    in ('anon', 'authenticated') then
    perform set_config('statement_timeout', '2s', true), set_config('lock_timeout', '1s', true);
  end if;
end
$$;

-- Grants ----------------------------------------------------------------------------------------------------

grant execute on function private.before_request to anon, authenticated, service_role;
grant execute on function private.reject_unknown_changes, private.end_write to authenticated;
grant execute on function public.create_submission, public.update_submission, public.delete_submission,
  public.vote, public.unvote, public.follow, public.unfollow, public.create_comment,
  public.update_comment, public.delete_comment, public.vote_comment, public.unvote_comment,
  public.mark_notifications_read, public.update_profile, public.submit_survey_response to authenticated;
