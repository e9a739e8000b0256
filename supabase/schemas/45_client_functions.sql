-- How clients of the data API write: by functions that return a single value.
--
-- A write to a table can be made slow by whoever sends it: PostgREST evaluates the filters of an update between two rows
-- and the embedded rows of an answer after the write, all in one transaction, which keeps its locks, its rows in unique
-- indexes and its transaction id (which readers of the outbox wait for). Nothing can follow a function that returns
-- a boolean, number or uuid: it can neither be embedded in nor filtered by a pattern.

-- The edge functions use the same role, so that a grant cannot tell the two apart; their logins do.
create function private.refuse_table_write() returns trigger
language plpgsql set search_path = '' as $$
begin
  if private.is_direct() and coalesce(current_setting('feedback.by_function', true), '') <> 'on' then
    perform private.raise_error('FORBIDDEN', format('Clients do not write the table %s: call the function %s.', tg_table_name, tg_argv[0]));
  end if;
  return null;
end
$$;
comment on function private.refuse_table_write() is 'Trigger: clients of the data API write by functions. Its argument names the function to call instead.';

create trigger by_function_only before insert on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('create_submission');
create trigger by_function_only_update before update on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('update_submission');
create trigger by_function_only_delete before delete on public.submissions for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('delete_submission');
create trigger by_function_only before insert on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('vote');
create trigger by_function_only_delete before delete on public.votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('unvote');
create trigger by_function_only before insert on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('follow');
create trigger by_function_only_delete before delete on public.follows for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('unfollow');
create trigger by_function_only before insert on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('create_comment');
create trigger by_function_only_update before update on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('update_comment');
create trigger by_function_only_delete before delete on public.comments for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('delete_comment');
create trigger by_function_only before insert on public.comment_votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('vote_comment');
create trigger by_function_only_delete before delete on public.comment_votes for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('unvote_comment');
create trigger by_function_only_update before update on public.notifications for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('mark_notifications_read');
create trigger by_function_only_update before update on public.profiles for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('update_profile');
create trigger by_function_only before insert on public.survey_responses for each statement
  when (session_user <> 'feedback_api') execute function private.refuse_table_write('submit_survey_response');

create function private.refuse_unknown_changes(changes jsonb, known text[]) returns void
language plpgsql immutable set search_path = '' as $$
declare unknown text;
begin
  if coalesce(jsonb_typeof(changes), '') <> 'object' then
    perform private.raise_error('VALIDATION_ERROR', 'must be an object of what to change', 'changes');
  end if;
  unknown := (select key from jsonb_object_keys(changes) as key where key <> all (known) order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', format('must be one of %s', array_to_string(known, ', ')), 'changes.' || unknown);
  end if;
  -- A number or an object would be written as its JSON.
  unknown := (select key from jsonb_each(changes) where jsonb_typeof(value) not in ('string', 'null') order by key limit 1);
  if unknown is not null then
    perform private.raise_error('VALIDATION_ERROR', 'must be text or null', 'changes.' || unknown);
  end if;
end
$$;
comment on function private.refuse_unknown_changes(jsonb, text[]) is 'VALIDATION_ERROR unless changes is an object whose keys are known and whose values are text or null.';

-- Submissions --------------------------------------------------------------------------------------------------

create function public.create_submission(title text, description text, type text, category_id uuid default null,
  organization_id uuid default null, id uuid default gen_random_uuid()) returns uuid
language plpgsql set search_path = '' as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.submissions (id, organization_id, title, description, type, category_id)
  values (create_submission.id, create_submission.organization_id, create_submission.title, create_submission.description,
    create_submission.type, create_submission.category_id);
  perform set_config('feedback.by_function', 'off', true);
  return create_submission.id;
end
$$;
comment on function public.create_submission(text, text, text, uuid, uuid, uuid) is 'Submits an idea or a problem as the signed-in person, who votes for it and follows it; returns its id. Name the organization_id where there is more than one.';

create function public.update_submission(id uuid, changes jsonb) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform private.refuse_unknown_changes(changes, array['title', 'description', 'category_id', 'tracker_issue_url']);
  perform set_config('feedback.by_function', 'on', true);
  update public.submissions s set
    title = case when changes ? 'title' then changes ->> 'title' else s.title end,
    description = case when changes ? 'description' then changes ->> 'description' else s.description end,
    category_id = case when changes ? 'category_id' then (changes ->> 'category_id')::uuid else s.category_id end,
    tracker_issue_url = case when changes ? 'tracker_issue_url' then changes ->> 'tracker_issue_url' else s.tracker_issue_url end
  where s.id = update_submission.id;
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_submission(uuid, jsonb) is 'Changes title, description, category_id or, for admins, tracker_issue_url: those that changes names. False where there is no such submission of yours or your organization''s.';

create function public.delete_submission(id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_deleted boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.submissions s where s.id = delete_submission.id;
  was_deleted := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_deleted;
end
$$;
comment on function public.delete_submission(uuid) is 'Deletes a submission with everything on it. False where there is no such submission of yours or your organization''s.';

-- Votes and follows --------------------------------------------------------------------------------------------

create function public.vote(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_made boolean;
begin
  if private.my_vote(submission_id) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.votes (submission_id) values (vote.submission_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$$;
comment on function public.vote(uuid) is 'Votes for a submission as the signed-in person. False where the vote was there already.';

create function public.unvote(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
begin
  -- Before the lock: who has no vote holds nobody up.
  if private.my_vote(submission_id) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_vote(submission_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$$;
comment on function public.unvote(uuid) is 'Takes back the signed-in person''s vote. False where there is none.';

create function public.follow(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_made boolean;
begin
  if private.is_following(submission_id) then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.follows (submission_id) values (follow.submission_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$$;
comment on function public.follow(uuid) is 'Follows a submission as the signed-in person. False where they follow it already.';

create function public.unfollow(submission_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_removed boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.follows f where f.submission_id = any (private.with_sources(unfollow.submission_id));
  was_removed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_removed;
end
$$;
comment on function public.unfollow(uuid) is 'Stops following a submission and those merged into it. False where the signed-in person follows none of them.';

-- Comments -----------------------------------------------------------------------------------------------------

create function public.create_comment(submission_id uuid, body text, parent_id uuid default null, id uuid default gen_random_uuid())
returns uuid
language plpgsql set search_path = '' as $$
begin
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comments (id, submission_id, parent_id, body)
  values (create_comment.id, create_comment.submission_id, create_comment.parent_id, create_comment.body);
  perform set_config('feedback.by_function', 'off', true);
  return create_comment.id;
end
$$;
comment on function public.create_comment(uuid, text, uuid, uuid) is 'Comments on a submission, or replies to the comment parent_id of it, as the signed-in person; returns the comment''s id.';

create function public.update_comment(id uuid, body text) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.comments c set body = update_comment.body where c.id = update_comment.id;
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_comment(uuid, text) is 'Edits a comment of the signed-in person, within 15 minutes. False where there is no such comment of theirs.';

create function public.delete_comment(id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_deleted boolean;
begin
  perform set_config('feedback.by_function', 'on', true);
  delete from public.comments c where c.id = delete_comment.id;
  was_deleted := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_deleted;
end
$$;
comment on function public.delete_comment(uuid) is 'Deletes a comment with all replies to it. False where there is no such comment of yours or your organization''s.';

create function public.vote_comment(comment_id uuid) returns boolean
language plpgsql set search_path = '' as $$
declare was_made boolean;
begin
  if private.comment_vote_of(comment_id, private.caller_id()) is not null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  insert into public.comment_votes (comment_id) values (vote_comment.comment_id) on conflict do nothing;
  was_made := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_made;
end
$$;
comment on function public.vote_comment(uuid) is 'Votes for a comment as the signed-in person. False where the vote was there already.';

create function public.unvote_comment(comment_id uuid) returns boolean
language plpgsql set search_path = '' as $$
begin
  if private.comment_vote_of(comment_id, private.caller_id()) is null then return false; end if;
  perform set_config('feedback.by_function', 'on', true);
  perform private.remove_comment_vote(comment_id, private.caller_id());
  perform set_config('feedback.by_function', 'off', true);
  return true;
end
$$;
comment on function public.unvote_comment(uuid) is 'Takes back the signed-in person''s vote for a comment. False where there is none.';

-- One's own ----------------------------------------------------------------------------------------------------

create function public.mark_notifications_read(ids uuid[] default null) returns integer
language plpgsql set search_path = '' as $$
declare marked integer;
begin
  perform set_config('feedback.by_function', 'on', true);
  update public.notifications n set read_at = now()
  where n.user_id = private.caller_id() and n.read_at is null and (ids is null or n.id = any (ids));
  get diagnostics marked = row_count;
  perform set_config('feedback.by_function', 'off', true);
  return marked;
end
$$;
comment on function public.mark_notifications_read(uuid[]) is 'Marks notifications of the signed-in person read, those named or all; returns how many.';

create function public.update_profile(changes jsonb) returns boolean
language plpgsql set search_path = '' as $$
declare was_changed boolean;
begin
  perform private.refuse_unknown_changes(changes, array['name', 'avatar_url']);
  perform set_config('feedback.by_function', 'on', true);
  update public.profiles p set
    name = case when changes ? 'name' then changes ->> 'name' else p.name end,
    avatar_url = case when changes ? 'avatar_url' then changes ->> 'avatar_url' else p.avatar_url end
  where p.id = private.caller_id();
  was_changed := found;
  perform set_config('feedback.by_function', 'off', true);
  return was_changed;
end
$$;
comment on function public.update_profile(jsonb) is 'Changes name or avatar_url of the signed-in person''s profile: those that changes names.';

create function public.submit_survey_response(survey_id uuid, answers jsonb, locale text default null) returns uuid
language plpgsql set search_path = '' as $$
declare response json;
begin
  perform set_config('feedback.by_function', 'on', true);
  response := private.submit_survey_response(survey_id, answers, locale, null);
  perform set_config('feedback.by_function', 'off', true);
  return (response ->> 'response_id')::uuid;
end
$$;
comment on function public.submit_survey_response(uuid, jsonb, text) is 'Answers a survey as the signed-in person: answers is [{question_id, value}]; returns the response''s id.';

-- Every request ------------------------------------------------------------------------------------------------

create function private.before_request() returns void
language plpgsql set search_path = '' as $$
begin
  -- The planner's guess counts rows that the caller may not see.
  if nullif(current_setting('request.headers', true), '')::json ->> 'prefer' ~* 'count\s*=\s*"?(planned|estimated)' then
    perform private.raise_error('VALIDATION_ERROR', 'Ask for count=exact: the planner''s guess tells of rows you cannot see.', 'Prefer');
  end if;
  if current_setting('request.method', true) not in ('GET', 'HEAD') and current_setting('role') in ('anon', 'authenticated') then
    perform set_config('statement_timeout', '2s', true), set_config('lock_timeout', '1s', true);
  end if;
end
$$;
comment on function private.before_request() is 'PostgREST calls it before each request (pgrst.db_pre_request): what writes has 2 s, and waits 1 s for a lock; refuses Prefer: count=planned and estimated.';

-- Rights -------------------------------------------------------------------------------------------------------

grant execute on function private.before_request() to anon, authenticated, service_role;
grant execute on function private.refuse_unknown_changes(jsonb, text[]) to authenticated;
grant execute on function public.create_submission(text, text, text, uuid, uuid, uuid), public.update_submission(uuid, jsonb),
  public.delete_submission(uuid), public.vote(uuid), public.unvote(uuid), public.follow(uuid), public.unfollow(uuid),
  public.create_comment(uuid, text, uuid, uuid), public.update_comment(uuid, text), public.delete_comment(uuid),
  public.vote_comment(uuid), public.unvote_comment(uuid), public.mark_notifications_read(uuid[]),
  public.update_profile(jsonb), public.submit_survey_response(uuid, jsonb, text) to authenticated;
