-- Rules for every table, function and role.
begin;
set local search_path = public, extensions;
select plan(43);

create temporary view our_tables as
  select c.oid, n.nspname as schema, c.relname as name, n.nspname || '.' || c.relname as path, c.relrowsecurity, c.relowner
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('public', 'private') and c.relkind in ('r', 'p');
create temporary view our_functions as
  select p.oid, n.nspname as schema, n.nspname || '.' || p.proname as path, p.prosecdef, p.proconfig, p.proacl, p.proowner, p.prosrc
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('public', 'private');
create temporary view api_roles as
  select unnest(array['anon', 'authenticated', 'service_key', 'service_role', 'feedback_api', 'feedback_webhooks', 'feedback_mail']) as role;

-- Tables
select is_empty('select path from our_tables where not relrowsecurity', 'every table has row-level security');
select is_empty($$ select path from our_tables where obj_description(oid, 'pg_class') is null $$, 'every table has a comment');
select is_empty($$ select path from our_tables join pg_roles on pg_roles.oid = relowner where rolsuper $$, 'no table belongs to a superuser');
select is_empty($$ select path from our_tables t
  where not exists (select from pg_attribute where attrelid = t.oid and attname = 'organization_id' and attnotnull)
    -- Tenants, people across tenants, files of deleted tenants, and settings of the whole deployment.
    and path not in ('public.organizations', 'public.profiles', 'private.rate_limit_rules', 'private.rate_counters',
      'private.webhook_cursor', 'private.broadcast_cursor', 'private.address_key', 'private.idempotency_keys', 'private.setup',
      'private.removed_logos', 'private.unconfirmed_requests', 'private.stopped_account_mail', 'private.account_undos') $$,
  'every row of a tenant names its organization');
select is_empty($$
  select t.path || ' ' || k.conname from our_tables t join pg_constraint k on k.conrelid = t.oid
  where k.contype = 'f' and not exists (
    select from pg_index i cross join generate_series(1, i.indnkeyatts) as width
    where i.indrelid = t.oid
      and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = format('(%s IS NOT NULL)', (
        select attname from pg_attribute where attrelid = t.oid and attnum = k.conkey[cardinality(k.conkey)])))
      and (i.indkey::int2[])[0:width - 1] <@ k.conkey
      and k.conkey[cardinality(k.conkey)] = any ((i.indkey::int2[])[0:width - 1]))
  and k.conname not in (
    -- One scan is enough when an operator deletes an organization.
    'profiles_organization_id_fkey', 'notifications_organization_id_fkey', 'idempotency_keys_organization_id_fkey',
    -- The table has at most some dozens of rows.
    'api_keys_profile_id_fkey', 'api_keys_created_by_fkey', 'agents_created_by_fkey',
    'fanouts_organization_id_fkey', 'fanouts_submission_id_fkey', 'fanouts_comment_id_fkey') $$,
  'an index leads with the columns of every foreign key');
select is_empty($$
  select t.path || ' ' || k.conname from our_tables t join pg_constraint k on k.conrelid = t.oid
  join our_tables target on target.oid = k.confrelid
  where k.contype = 'f' and t.schema = 'public' and target.name in ('submissions', 'categories', 'tags', 'surveys')
    and not exists (select from pg_attribute where attrelid = t.oid and attname = 'organization_id' and attnum = any (k.conkey))
    and t.name <> 'notifications' $$,
  'no foreign key allows a submission, category, tag or survey of another organization');
select is_empty($$ select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('public', 'private') and c.relkind in ('v', 'm') and not coalesce('security_invoker=true' = any (c.reloptions), false) $$,
  'every view is a security invoker');
select isnt_empty($$ select from pg_publication where pubname = 'supabase_realtime' $$, 'the publication of realtime exists');

-- Functions
select is_empty($$ select path from our_functions where schema = 'public' and obj_description(oid, 'pg_proc') is null $$, 'every function of the data API has a comment');
select is_empty($$ select path from our_functions where prosecdef and schema <> 'private' $$, 'every security definer function is in the schema private');
select is_empty($$ select p.oid::regprocedure from pg_proc p join pg_type t on t.oid = p.prorettype
  where p.pronamespace::regnamespace::text in ('public', 'private', 'auth', 'realtime', 'extensions')
    and (prosecdef or t.typname = 'trigger' or array_to_string(proconfig, ' ') like '%search_path%')
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    and not coalesce('search_path=pg_temp' = any (proconfig), false) $$,
  'a function of a definer, a trigger, or with a search_path looks into the temporary schema of the caller last');
select is_empty($$ select path from our_functions join pg_roles on pg_roles.oid = proowner where rolsuper $$, 'no function belongs to a superuser');
select is_empty($$ select p.oid::regprocedure from pg_proc p join pg_roles r on r.oid = p.proowner
  where r.rolsuper and p.prosecdef and p.pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
    and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee <> p.proowner) $$,
  'no function of any schema runs as a superuser for others');
select is_empty($$ select r.rolname from pg_roles r join pg_database d on d.datname = current_database()
  where has_database_privilege(r.oid, d.oid, 'temporary') and not r.rolsuper and r.oid <> d.datdba $$,
  'only the owner may create temporary objects, which hide others of the same name');
select is_empty($$ select r.rolname, p.oid::regprocedure from pg_roles r, pg_proc p
  where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(lo_|loread|lowrite|pg_(try_)?advisory_)'
    and has_function_privilege(r.oid, p.oid, 'execute') and not r.rolsuper and r.rolname not in ('postgres', 'supabase_auth_admin') $$,
  'no other login makes large objects or holds locks that functions of ours take');
select is_empty($$ select path from our_functions
  where proacl is null or exists (select from aclexplode(proacl) where grantee = 0) $$, 'no function is executable by PUBLIC');
select is_empty($$
  with recursive called as (
    select d.refobjid as oid from pg_depend d where d.classid = 'pg_policy'::regclass and d.refclassid = 'pg_proc'::regclass
    union
    select f.oid from called c cross join lateral (
      select d.refobjid as oid from pg_depend d
      where d.classid = 'pg_proc'::regclass and d.objid = c.oid and d.refclassid = 'pg_proc'::regclass
      union all
      select f.oid from our_functions f join pg_proc p on p.oid = c.oid where p.prosrc ~ (f.path || '\(')) f
  ) select p.oid::regprocedure from called join pg_proc p using (oid)
  where (p.prosrc ~* '\mraise\M' or p.oid = 'private.raise_error'::regproc)
    -- The function catches its own error to release a lock.
    and p.oid <> 'private.lock_thread(uuid)'::regprocedure $$, 'no policy calls a function that raises');
select set_eq($$
  select role || ': ' || string_agg(path, ' ' order by path collate "C") from api_roles, our_functions
  where schema = 'public' and has_function_privilege(role, oid, 'execute') group by role $$,
  array['anon: public.search_submissions', 'authenticated: public.create_comment public.create_submission public.delete_comment public.delete_submission public.follow '
    || 'public.mark_notifications_read public.my_votes public.search_submissions public.start_survey public.submit_survey_response public.unfollow public.unvote '
    || 'public.unvote_comment public.update_comment public.update_profile public.update_submission public.vote public.vote_comment'],
  'sessions may execute these functions of the data API, anonymous clients only the search');
select is_empty($$ select p.oid::regprocedure from our_functions f join pg_proc p using (oid)
  where f.schema = 'public' and p.provolatile = 'v'
    and (p.proretset or p.prorettype not in ('boolean'::regtype, 'integer'::regtype, 'uuid'::regtype, 'timestamptz'::regtype)) $$,
  'a function that writes returns a single scalar, so that no filter of the data API runs after it');
-- Write policies of admins are limited to their own organization.
select is_empty($$
  select t.name || ' ' || verb from our_tables t cross join unnest(array['insert', 'update', 'delete']) as verb
  where t.schema = 'public' and t.name not in ('submission_tags', 'status_changes', 'surveys', 'survey_questions', 'survey_options')
    and (has_table_privilege('authenticated', t.oid, verb) or verb <> 'delete' and has_any_column_privilege('authenticated', t.oid, verb))
    and not exists (select from pg_trigger g where g.tgrelid = t.oid and g.tgfoid = 'private.reject_table_write()'::regprocedure
      and g.tgenabled = 'O' and g.tgtype & 2 = 2 and g.tgtype & case verb when 'insert' then 4 when 'update' then 16 else 8 end <> 0) $$,
  'clients write tables that users share through functions only');

-- The helpers of private that each role may execute; they are listed again so that a new grant is noticed.
create temporary table helpers (roles text[], names text[]);
insert into helpers values
  (array['anon', 'authenticated', 'service_key', 'service_role', 'feedback_api'], array['error_state',
    'raise_error', 'is_key', 'caller_id']),
  (array['authenticated', 'service_key', 'service_role', 'feedback_api'], array['trim_text', 'is_direct',
    'is_internal_write', 'is_importing']),
  (array['service_role', 'feedback_api'], array['is_slug', 'is_uuid', 'are_translations', 'are_origins']),
  (array['authenticated', 'service_role', 'service_key', 'feedback_api'], array['locales']),
  (array['authenticated'], array['editable_columns']),
  (array['authenticated', 'service_key', 'service_role'], array['public_texts']),
  (array['anon', 'authenticated', 'service_key'], array['board', 'board_counts', 'page_frame', 'page_locale']),
  (array['anon', 'authenticated'], array['survey_page', 'open_survey_page']),
  (array['authenticated'], array['admin_frame', 'admin_merge_preview', 'admin_moderate_many', 'my_profile', 'my_responses', 'offered_survey', 'rate_limits']),
  (array['authenticated'], array['change_my_mail_preferences', 'mute_submission', 'end_write']),
  (array['anon', 'authenticated'], array['mail_preferences', 'change_mail_preferences', 'open_claim', 'refusing_invites', 'refuse_invites']),
  (array['authenticated'], array['claim_author']),
  (array['service_key'], array['follow_for']),
  (array['authenticated'], array['unfollow']),
  (array['authenticated', 'service_key'], array['admin_mail_suppressions', 'admin_lift_mail_suppression', 'mail_survey',
    'admin_logo', 'admin_apply_import', 'admin_search_people', 'admin_person', 'admin_decide_trust', 'audit_responses']),
  (array['anon', 'authenticated', 'service_key', 'feedback_api'], array['localized']),
  (array['authenticated', 'service_key', 'feedback_api'], array['has_scope']),
  (array['service_key', 'feedback_api'], array['key_organization_id']),
  (array['feedback_api'], array['agent_id', 'admit_request', 'assume_caller', 'is_allowed_origin', 'latest_migration',
    'record_tool_calls', 'finish_stream', 'stream_events', 'events_after', 'active_keys',
    'renew_streams', 'claim_import', 'take_removed_logos', 'set_up', 'signing_secrets', 'open_session', 'pictured_name']),
  (array['service_role'], array['is_time_zone', 'are_mail_choices', 'mail_kinds']),
  (array['authenticated', 'service_role'], array['person_name', 'name_key', 'ordered_id', 'check_response']),
  (array['anon', 'authenticated', 'service_key'], array['team_organization_ids', 'author', 'author_of_key',
    'current_organization_id', 'survey_organization_ids', 'can_see_submission', 'comment_vote_of',
    'remove_comment_vote', 'written_comment', 'my_vote', 'vote_of', 'is_following', 'my_votes',
    'remove_vote', 'submission_voters', 'find_submissions', 'list_submissions',
    'candidate_submissions', 'submissions_with_text', 'count_submissions', 'tags_of', 'localized_tags_of',
    'highlight',
    'escape_html', 'similar_submissions', 'search_query', 'in_organization', 'require_survey',
    'survey_targeting', 'survey_analytics']),
  (array['anon', 'authenticated', 'service_key', 'service_role'], array['admin_organization_ids', 'is_admin',
    'require_admin', 'requested_organization_id', 'survey_figures']),
  (array['authenticated', 'service_key'], array['is_author_of_key', 'may_act_as', 'lock_thread',
    'create_survey', 'update_survey', 'write_settings', 'write_questions', 'require_draft', 'lock_survey',
    'change_survey_status', 'create_survey_version', 'clone_survey', 'delete_survey',
    'count_survey_responses', 'admin_merge', 'admin_unmerge', 'admin_moderate', 'admin_moderation_queue',
    'admin_bulk', 'admin_origins', 'admin_start_export', 'admin_export_page', 'admin_start_import',
    'admin_run_import', 'admin_finish_import', 'admin_imports',
    'admin_add_import_file_part', 'admin_begin_import', 'admin_cancel_import', 'admin_import_job', 'admin_import_file_part', 'admin_find_people', 'admin_personal_data',
    'admin_erase_person', 'admin_organization', 'admin_update_organization', 'admin_labels',
    'admin_create_label', 'admin_update_label', 'admin_order_categories', 'admin_delete_label',
    'admin_merge_labels', 'admin_members', 'admin_remove_member', 'admin_invites', 'admin_revoke_invite',
    'admin_analytics', 'admin_events', 'can_see_respondents', 'require_webhook_admin', 'admin_list_webhooks',
    'admin_show_webhook', 'admin_create_webhook', 'admin_update_webhook', 'admin_delete_webhook',
    'admin_rotate_webhook', 'admin_test_webhook']),
  (array['authenticated', 'service_key', 'service_role'], array['is_moderating', 'default_organization_id',
    'comment_edit_window', 'lock_comment', 'lock_open_submission', 'lock_submission',
    'require_open_submission', 'require_one_vote', 'lock_caller', 'charge_direct_vote', 'charge_comment', 'quotient', 'survey_sentiment', 'survey_breakdown']),
  (array['anon', 'authenticated'], array['may_listen', 'setup_is_open', 'account_of_link', 'reject_link',
    'count_unconfirmed_request', 'account_mail_is_stopped', 'stop_account_mail', 'address_of_undo',
    'undo_account_change']),
  (array['anon', 'authenticated', 'service_role'], array['before_request', 'token_refusal', 'refusal_message', 'unless_erased']),
  (array['authenticated'], array['reject_unknown_changes']),
  (array['authenticated'], array['admin_list_deliveries', 'admin_show_delivery', 'admin_redeliver', 'needs_password', 'with_sources', 'start_survey', 'record_survey_start', 'start_survey_by_reading', 'submit_survey_response',
    'score_survey_response', 'made_by', 'admin_change_role', 'admin_transfer_ownership', 'my_second_factors', 'reset_second_factor', 'admin_invite',
    'accept_invite', 'show_invite', 'similar_pairs', 'my_personal_data', 'erase_me', 'end_session', 'admin_list_identify_secrets',
    'admin_create_identify_secret', 'admin_delete_identify_secret', 'admin_signing_secrets', 'admin_list_api_keys', 'admin_create_api_key',
    'admin_rotate_api_key', 'admin_revoke_api_key', 'admin_audit', 'admin_audit_choices', 'admin_newest_events', 'admin_list_agents', 'admin_create_agent',
    'admin_update_agent', 'admin_retire_agent', 'admin_agent_policies', 'admin_list_agent_keys',
    'admin_create_agent_key', 'admin_agent_audit']),
  (array['authenticated', 'service_key'], array['find_idempotent_response', 'save_idempotent_response']),
  (array['service_key'], array['agent_category_ids', 'agent_survey_ids', 'authorize_tool_call',
    'record_tool_call', 'agent_self', 'open_stream', 'register_stream', 'claim_stream', 'finish_stream',
    'open_subscription', 'read_subscription']),
  (array['feedback_webhooks'], array['fan_out_events', 'record_and_claim_deliveries']),
  (array['feedback_mail'], array['record_and_claim_mails', 'record_mail_report',
    'admit_account_mail', 'open_account_undo']);
select set_eq(
  format($$ select path from our_functions where schema = 'private' and has_function_privilege(%L, oid, 'execute') $$, role),
  format($$ select 'private.' || unnest(names) from helpers where %L = any (roles) $$, role),
  format('%s executes the helpers meant for it and no other', role))
from api_roles;

-- Grants on tables
create temporary view granted as
  select * from (
    select role, privilege, t.schema, t.name, case when has_table_privilege(role, t.oid, privilege) then '*' else (
      select string_agg(attname, ' ' order by attname collate "C") from pg_attribute
      where attrelid = t.oid and attnum > 0 and not attisdropped
        and privilege in ('select', 'insert', 'update', 'references') and has_column_privilege(role, t.oid, attnum, privilege)) end as columns
    from api_roles, our_tables t, unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as privilege
  ) rights where columns is not null;

select set_eq($$ select name || ' ' || privilege || ' ' || columns from granted where schema = 'public' and role = 'anon' $$, array[
  'organizations select allow_indexing created_at id name slug time_zone visibility',
  'profiles select avatar_url id kind name',
  'categories select *',
  'tags select *',
  'submissions select author_id category_id comment_count created_at description id is_changed_by_author is_public merged_into_id moderation_state organization_id source status title tracker_issue_url type updated_at vote_count',
  'submission_tags select organization_id submission_id tag_id',
  'status_changes select changed_by created_at id new_status note organization_id previous_status submission_id',
  'votes select id organization_id submission_id',
  'comments select *',
  'comment_votes select comment_id id organization_id submission_id',
  'notifications select id',
  'surveys select allow_multiple_responses closed_at closes_at created_at description id organization_id published_at redirect_url show_branding status title updated_at version_of',
  'survey_questions select *',
  'survey_options select *'], 'anonymous clients may only select, and only these columns');

select set_eq($$ select name || ' ' || privilege || ' ' || columns from granted where schema = 'public' and role = 'authenticated' $$, array[
  'organizations select allow_indexing created_at id name slug time_zone visibility',
  'profiles select avatar_url id kind name',
  'profiles update avatar_url locale name',
  'memberships select *',
  'categories select *',
  'tags select *',
  'submissions select author_id category_id comment_count created_at description id is_changed_by_author is_public merged_into_id moderation_state organization_id source status title tracker_issue_url type updated_at vote_count',
  'submissions insert category_id description id organization_id title type',
  'submissions update category_id description title tracker_issue_url',
  'submissions delete *',
  'submission_tags select organization_id submission_id tag_id',
  'submission_tags insert organization_id submission_id tag_id',
  'submission_tags delete *',
  'status_changes select changed_by created_at id new_status note organization_id previous_status submission_id',
  'status_changes insert new_status note notify organization_id submission_id',
  'votes select id organization_id submission_id',
  'votes insert submission_id',
  'votes delete *',
  'follows select created_at organization_id reason submission_id user_id',
  'follows insert submission_id',
  'follows delete *',
  'comments select *',
  'comments insert body id parent_id submission_id',
  'comments update body',
  'comments delete *',
  'comment_votes select comment_id id organization_id submission_id',
  'comment_votes insert comment_id',
  'comment_votes delete *',
  'notifications select comment_id created_at id organization_id read_at submission_id type user_id',
  'notifications update read_at',
  'surveys select allow_multiple_responses closed_at closes_at created_at description id organization_id published_at redirect_url show_branding status title updated_at version_of',
  'surveys insert allow_multiple_responses audience audience_submission_id closes_at description locales organization_id redirect_url show_branding title',
  'surveys update allow_multiple_responses audience audience_submission_id closes_at description locales redirect_url show_branding status title',
  'surveys delete *',
  'survey_questions select *',
  'survey_questions insert multiple organization_id position required scale survey_id text type',
  'survey_questions update multiple position required scale text type',
  'survey_questions delete *',
  'survey_options select *',
  'survey_options insert organization_id position question_id survey_id text',
  'survey_options update position text',
  'survey_options delete *',
  'survey_responses select answers id locale organization_id sentiment sentiment_engine sentiment_score started_at submitted_at survey_id user_id',
  'survey_responses insert answers locale survey_id'], 'sessions write these columns and no others');

select set_eq($$ select name || ' ' || privilege || ' ' || columns from granted where schema = 'public' and role = 'service_key' $$, array[
  'organizations select allow_indexing created_at id name slug time_zone visibility',
  'profiles select avatar_url id kind name',
  'categories select *',
  'tags select *',
  'submissions select author_id category_id comment_count created_at description id is_changed_by_author is_public merged_into_id moderation_state organization_id source status title tracker_issue_url type updated_at vote_count',
  'submissions insert author_id category_id description id organization_id source title type',
  'submissions update category_id description title tracker_issue_url',
  'submissions delete *',
  'submission_tags select organization_id submission_id tag_id',
  'submission_tags insert organization_id submission_id tag_id',
  'submission_tags delete *',
  'status_changes select changed_by created_at id new_status note organization_id previous_status submission_id',
  'status_changes insert new_status note notify organization_id submission_id',
  'votes select id organization_id submission_id',
  'votes insert submission_id user_id',
  'comments select *',
  'comments insert author_id body id parent_id submission_id',
  'comments delete *',
  'comment_votes select comment_id id organization_id submission_id',
  'comment_votes insert comment_id user_id',
  'surveys select allow_multiple_responses closed_at closes_at created_at description id organization_id published_at redirect_url show_branding status title updated_at version_of',
  'surveys insert allow_multiple_responses audience audience_submission_id closes_at description locales organization_id redirect_url show_branding title',
  'surveys update allow_multiple_responses audience audience_submission_id closes_at description locales redirect_url show_branding status title',
  'surveys delete *',
  'survey_questions select *',
  'survey_questions insert multiple organization_id position required scale survey_id text type',
  'survey_questions update multiple position required scale text type',
  'survey_questions delete *',
  'survey_options select *',
  'survey_options insert organization_id position question_id survey_id text',
  'survey_options update position text',
  'survey_options delete *',
  'survey_responses select answers id locale organization_id sentiment sentiment_engine sentiment_score started_at submitted_at survey_id user_id'], 'a key writes these columns and no others');

-- Clients cannot move rows that triggers count: votes and follows can only be inserted and deleted, and count
-- and visibility columns are not writable.
select set_eq($$ select name || ' ' || privilege || ' ' || columns from granted where schema = 'public' and role = 'service_role' $$,
  $$ select name || ' ' || privilege || ' *' from our_tables, unnest(array['select', 'insert', 'update', 'delete']) as privilege
     where schema = 'public' and not (privilege = 'update' and name in ('submissions', 'votes', 'follows', 'comments', 'comment_votes', 'survey_responses'))
       and not (privilege in ('insert', 'update') and name = 'surveys')
     union all values ('comments update body is_official moderation_state'),
       ('submissions update category_id description moderation_state source title tracker_issue_url type'),
       ('surveys insert allow_multiple_responses audience audience_submission_id closes_at description id locales organization_id redirect_url show_branding title'),
       ('surveys update allow_multiple_responses audience audience_submission_id closes_at description locales redirect_url show_branding status title') $$,
  'the service role reads and writes every public table, and may not truncate or change one');
select is_empty($$ select role, name, privilege from granted where schema = 'private' $$,
  'no API role has a privilege on a private table');
select is_empty($$ select role, name, privilege from granted where role in ('feedback_api', 'feedback_webhooks', 'feedback_mail') $$,
  'the logins of the functions have no privilege on any table');
select is_empty($$
  select role, t.path, attname from api_roles, our_tables t join pg_attribute on attrelid = t.oid and attnum > 0
  where role <> 'service_role' and attname ~ '(email|hash|digest|secret|password|token)'
    and has_column_privilege(role, t.oid, attnum, 'select, insert, update') $$,
  'no client reads or writes a column called email, hash, digest, secret, password or token');
select is_empty($$
  select role, name from api_roles, unnest(array['public.votes', 'public.comment_votes']) as name
  where role <> 'service_role' and has_column_privilege(role, name, 'user_id', 'select, update') $$,
  'only the service role may read who voted');
select is_empty($$ select role, attname from api_roles, unnest(array['audience', 'audience_submission_id', 'locales', 'family_id']) as attname
  where role <> 'service_role' and has_column_privilege(role, 'public.surveys', attname, 'select') $$, 'only the service role may read the audience of a survey');
select is_empty($$
  select role, name, attname from unnest(array['anon', 'authenticated']) as role, our_tables t
  join pg_index i on i.indrelid = t.oid and i.indisprimary
  join pg_attribute a on a.attrelid = t.oid and a.attnum = any (i.indkey)
  where (t.name in ('submissions', 'votes', 'comments', 'comment_votes', 'notifications')
      or t.path in (select schemaname || '.' || tablename from pg_publication_tables where pubname = 'supabase_realtime'))
    and not has_column_privilege(role, t.oid, attnum, 'select') $$,
  'clients of realtime may read the primary key of every published table');

-- Roles
select results_eq(
  $$ select rolname::text collate "default", rolcanlogin, rolinherit, rolbypassrls or rolsuper or rolcreaterole or rolcreatedb or rolreplication
    from pg_roles where rolname in ('feedback_api', 'feedback_mail', 'feedback_webhooks', 'service_key') order by 1 $$,
  $$ values ('feedback_api', true, false, false), ('feedback_mail', true, false, false), ('feedback_webhooks', true, false, false), ('service_key', false, false, false) $$,
  'the logins inherit nothing, keys cannot log in, and no role bypasses row-level security');
select set_eq(
  $$ select m.rolname || ' in ' || g.rolname || case when a.admin_option then ' as admin' else '' end
    from pg_auth_members a join pg_roles m on m.oid = a.member join pg_roles g on g.oid = a.roleid
    where m.rolname in ('feedback_api', 'feedback_webhooks', 'feedback_mail', 'service_key') $$,
  array['feedback_api in anon', 'feedback_api in authenticated', 'feedback_api in service_key'],
  'the login of the API may assume the three client roles, never the service role');
select is_empty($$ select classid::regclass, objid from pg_shdepend
  where deptype = 'o' and refclassid = 'pg_authid'::regclass and refobjid in ('feedback_api'::regrole, 'feedback_webhooks'::regrole, 'feedback_mail'::regrole, 'service_key'::regrole) $$,
  'the logins own nothing');
select ok((select rolconfig @> array['statement_timeout=8s', 'lock_timeout=200ms', 'idle_in_transaction_session_timeout=15s']
  from pg_roles where rolname = 'feedback_api'), 'every statement of the API has a timeout');

-- New objects also start without grants.
create table public.later (id integer primary key);
create function private.later() returns integer language sql return 1;
select is_empty($$ select role, privilege from granted where name = 'later' $$, 'a new table grants nothing to any API role');
select is_empty($$ select role from api_roles where has_function_privilege(role, 'private.later()', 'execute') $$, 'a new function grants nothing to any API role');

select * from finish();
rollback;
