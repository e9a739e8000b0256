-- Bulk changes of submissions, each applied on its own.

-- Applies a bulk operation to one submission through the same tables and triggers as a single change;
-- returns the number of changed rows.
create function private.bulk_item(submission_id uuid, action text, wanted text[], ids uuid[], note text,
  notify boolean) returns bigint
language plpgsql set search_path = pg_temp as $$
declare changed bigint;
begin
  case action
    when 'set_status' then
      insert into public.status_changes (organization_id, submission_id, new_status, note, notify)
      select s.organization_id, s.id, wanted[1], bulk_item.note, bulk_item.notify from public.submissions s
        where s.id = bulk_item.submission_id;
    when 'set_category' then
      update public.submissions s set category_id = ids[1]
        where s.id = bulk_item.submission_id and s.category_id is distinct from ids[1];
    when 'add_tags' then
      insert into public.submission_tags (organization_id, submission_id, tag_id)
      select s.organization_id, s.id, t from public.submissions s, unnest(ids) t
        where s.id = bulk_item.submission_id
      on conflict do nothing;
    when 'remove_tags' then
      delete from public.submission_tags st where st.submission_id = bulk_item.submission_id
        and st.tag_id = any (ids);
    when 'delete' then
      delete from public.submissions s where s.id = bulk_item.submission_id;
  end case;
  get diagnostics changed = row_count;
  return changed;
end
$$;

-- Ids of categories or tags of an organization by id or slug; raises VALIDATION_ERROR for an unknown one.
create function private.ids_of(what text, organization_id uuid, wanted text[]) returns uuid[]
language plpgsql stable set search_path = pg_temp as $$
declare ids uuid[]; unknown text;
begin
  if what = 'category' then
    ids := array(select c.id from public.categories c where c.organization_id = ids_of.organization_id
      and (c.slug = any (wanted) or c.id::text = any (wanted)));
  else
    ids := array(select t.id from public.tags t where t.organization_id = ids_of.organization_id
      and (t.slug = any (wanted) or t.id::text = any (wanted)) order by t.id);
  end if;
  if cardinality(ids) < cardinality(wanted) then
    perform private.raise_error('VALIDATION_ERROR',
      format('contains an id or slug that is not a %s of this organization', what), 'value');
  end if;
  return ids;
end
$$;

-- Applies set_status, set_category, add_tags, remove_tags or delete to submissions of the current
-- organization, each completely or not at all, independent of the others. For Admin or keys with
-- submissions:moderate. definer: applies team operations; requires Admin.
create function private.admin_bulk(submission_ids uuid[], action text, wanted text[], note text,
  notify boolean) returns json
language plpgsql security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.current_organization_id();
  ids uuid[];
  submission_id uuid;
  changed bigint;
  results jsonb := '[]';
  state text; message text; detail text;
begin
  perform private.require_admin(own_id, 'submissions:moderate');
  wanted := array(select distinct lower(w) from unnest(wanted) w);
  if action = 'set_category' then ids := private.ids_of('category', own_id, wanted);
  elsif action in ('add_tags', 'remove_tags') then ids := private.ids_of('tag', own_id, wanted);
  end if;
  -- Take all locks first and in order, to prevent deadlocks.
  perform 1 from public.submissions s where s.organization_id = own_id and s.id = any (submission_ids)
    order by s.id for no key update;
  perform private.lock_counts(own_id);
  for submission_id in select s.id from unnest(submission_ids) with ordinality as s (id, place) group by s.id
    order by min(s.place) loop
    begin
      if not exists (select from public.submissions s
        where s.id = submission_id and s.organization_id = own_id) then
        perform private.raise_error('NOT_FOUND', 'There is no such submission.', 'ids');
      end if;
      changed := private.bulk_item(submission_id, action, wanted, ids, note, notify);
      -- A status change emits its own event.
      if changed > 0 and action <> 'set_status' then
        perform private.audit('submission.' || action, 'submission', submission_id,
          jsonb_strip_nulls(jsonb_build_object(
            'value', case when action <> 'delete' then to_jsonb(wanted) end)), own_id);
      end if;
      results := results || jsonb_build_object('id', submission_id, 'ok', true, 'changed', changed > 0);
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, detail = pg_exception_detail;
      -- Only API errors become item results; any other error fails the request.
      if state not like 'FB%' or state in ('FB500', 'FB503') then raise; end if;
      results := results || jsonb_build_object(
        'id', submission_id,
        'ok', false,
        'changed', false,
        'error', jsonb_build_object('code', detail::jsonb ->> 'code', 'message', message));
    end;
  end loop;
  return results;
end
$$;
grant execute on function private.admin_bulk to authenticated, service_key;
