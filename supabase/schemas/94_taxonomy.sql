-- Administration of categories and tags. kind is one of the two tables; label is a row of either.

-- Returns the current organization for Admin and keys with organization:write; raises FORBIDDEN otherwise
-- and NOT_FOUND for an unknown kind.
create function private.require_taxonomy_admin(kind text) returns uuid
language plpgsql stable set search_path = pg_temp as $$
declare own_id uuid := private.require_admin(private.current_organization_id(), 'organization:write');
begin
  if kind not in ('categories', 'tags') then
    perform private.raise_error('NOT_FOUND', 'There is no such kind. Use categories or tags.');
  end if;
  return own_id;
end
$$;

-- Singular name of a kind.
create function private.label_noun(kind text) returns text
language sql immutable
return case kind when 'categories' then 'category' else 'tag' end;

-- JSON of a category or tag for Admin, with all translations.
create function private.label_shape(label jsonb) returns jsonb
language sql immutable
return label - 'organization_id';

-- Locks and returns a category or tag. stays: lock it only against deletion, not against new references.
create function private.find_label(kind text, organization_id uuid, label_id uuid,
  stays boolean default false) returns jsonb
language plpgsql set search_path = pg_temp as $$
declare label jsonb;
begin
  execute format('select to_jsonb(l) from public.%I l where l.organization_id = $1 and l.id = $2 for %s',
    kind,
    case when stays then 'key share' else 'update' end)
  into label using organization_id, label_id;
  if label is null then
    perform private.raise_error('NOT_FOUND', format('There is no such %s.', private.label_noun(kind)), case
      when stays then 'into_id' end);
  end if;
  return label;
end
$$;

-- An unused slug derived from the name.
create function private.free_slug(kind text, organization_id uuid, name text) returns text
language plpgsql stable set search_path = pg_temp as $$
declare
  base text := btrim(left(btrim(regexp_replace(private.plain_text(name), '[^a-z0-9]+', '-', 'g'), '-'), 56),
    '-');
  slug text;
  taken boolean;
begin
  -- The name has no Latin letters, or is an id.
  if not private.is_slug(base) then base := private.label_noun(kind); end if;
  for number in 1..1000 loop
    slug := base || case when number = 1 then '' else '-' || number end;
    execute format('select exists (select from public.%I l where l.organization_id = $1 and l.slug = $2)',
      kind) into taken using organization_id, slug;
    exit when not taken;
  end loop;
  return slug;
end
$$;

-- Emits the event and writes the audit trail for a change to categories or tags.
create function private.record_label_change(kind text, organization_id uuid, action text, label_id uuid,
  details jsonb default '{}') returns void
language plpgsql set search_path = pg_temp as $$
begin
  perform private.emit_organization_update(organization_id, array[kind]);
  perform private.audit(private.label_noun(kind) || '.' || action, private.label_noun(kind), label_id,
    details, organization_id);
end
$$;

-- All categories or tags of the current organization with translations.
-- definer: clients may only read categories and tags.
create function private.admin_labels(kind text) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_taxonomy_admin(kind); labels json;
begin
  execute format('select coalesce(json_agg(private.label_shape(to_jsonb(l)) order by %s), ''[]'')
      from public.%I l where l.organization_id = $1',
    case kind when 'categories' then 'l.position, l.slug' else 'l.slug' end, kind) into labels using own_id;
  return labels;
end
$$;

-- Creates a category or tag in the current organization; the slug defaults to one derived from the name,
-- the position to the last.
create function private.admin_create_label(kind text, fields jsonb) returns jsonb
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb; used bigint; last integer;
begin
  -- Lock the organization, so that concurrent creations with one name get different slugs.
  perform 1 from public.organizations o where o.id = own_id for no key update;
  execute format('select count(*) from public.%I l where l.organization_id = $1', kind) into used
    using own_id;
  if used >= 1000 then
    perform private.raise_error('CONFLICT',
      format('An organization can have at most 1,000 %s. Merge or delete some first.', kind));
  end if;
  fields := jsonb_build_object('slug', private.free_slug(kind, own_id, fields ->> 'name')) ||
    jsonb_strip_nulls(fields);
  last := (select coalesce(max(c.position), -1) from public.categories c where c.organization_id = own_id);
  execute format('insert into public.%1$I as l
      select (jsonb_populate_record(null::public.%1$I, $1)).* returning to_jsonb(l)', kind)
  into label using jsonb_build_object(
    'id', gen_random_uuid(),
    'color', '#6b7280',
    'translations', '{}'::jsonb,
    'position', last + 1,
    'created_at', now())
    || fields || jsonb_build_object('organization_id', own_id);
  perform private.record_label_change(kind, own_id, 'create', (label ->> 'id')::uuid,
    jsonb_build_object('slug', label -> 'slug'));
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT',
    format('Another %s has this slug. Choose a different one.', private.label_noun(kind)),
    'slug');
end
$$;

-- Sets the given fields of a category or tag; in translations the given locales, where null removes one.
create function private.admin_update_label(kind text, label_id uuid, fields jsonb) returns jsonb
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_taxonomy_admin(kind); before jsonb; label jsonb; changes jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  before := private.find_label(kind, own_id, label_id);
  -- null removes a translation.
  fields := jsonb_strip_nulls(fields ||
    jsonb_build_object(
      'translations', (before -> 'translations') || coalesce(fields -> 'translations', '{}')));
  execute format('update public.%I l set (name, slug, color, translations%s) = (
      select r.name, r.slug, r.color, r.translations%s from jsonb_populate_record(l, $2) r)
      where l.id = $1 returning to_jsonb(l)',
    kind, case kind when 'categories' then ', position' end, case kind when 'categories'
      then ', r.position' end)
  into label using label_id, fields;
  changes := (select jsonb_object_agg(n.key, jsonb_build_object('from', o.value, 'to', n.value))
    from jsonb_each(label) n join jsonb_each(before) o using (key) where n.value <> o.value);
  if changes is not null then perform private.record_label_change(kind, own_id, 'update', label_id, changes);
    end if;
  return private.label_shape(label);
exception when unique_violation then
  perform private.raise_error('CONFLICT',
    format('Another %s has this slug. Choose a different one.', private.label_noun(kind)),
    'slug');
end
$$;

-- Sets the order of categories: the given ones first, then the others in their current order.
create function private.admin_order_categories(ids uuid[]) returns json
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_taxonomy_admin('categories');
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  if exists (select from unnest(ids) as wanted
    where wanted not in (select c.id from public.categories c where c.organization_id = own_id)) then
    perform private.raise_error('NOT_FOUND', 'There is no such category.', 'ids');
  end if;
  with placed as (
    select c.id, row_number() over (order by array_position(ids, c.id) nulls last, c.position, c.slug)
      - 1 as position
    from public.categories c where c.organization_id = own_id)
  update public.categories c set position = p.position from placed p
    where p.id = c.id and c.position <> p.position;
  if found then perform private.record_label_change('categories', own_id, 'order', null); end if;
  return private.admin_labels('categories');
end
$$;

-- A label is removed from its submissions in batches; the schedule continues beyond the first. Submissions
-- emit no event; org.updated announces the label.
create table private.retired_labels (
  label_id uuid primary key,
  organization_id uuid not null references public.organizations (id) on delete cascade,
  kind text not null,
  into_id uuid,
  retired_at timestamptz not null default now(),
  constraint kind_is_known check (kind in ('categories', 'tags'))
);
comment on table private.retired_labels is
  'Deleted or merged categories and tags that still have submissions. The schedule moves these to into_id, '
  'or to none, and then deletes the label.';
create index retired_labels_organization_idx on private.retired_labels (organization_id);

-- Moves a batch of submissions from a category to another or to none; returns how many.
create function private.move_to_category(organization_id uuid, from_id uuid, to_id uuid, batch integer)
  returns integer
language plpgsql set search_path = pg_temp as $$
declare ids uuid[];
begin
  -- Skip rows locked by others; a later batch moves them.
  ids := array(select s.id from public.submissions s
    where s.organization_id = move_to_category.organization_id and s.category_id = from_id
      limit batch for no key update skip locked);
  if ids = '{}' then return 0; end if;
  perform private.lock_counts(organization_id);
  perform set_config('feedback.internal_write', 'on', true);
  update public.submissions s set category_id = to_id where s.id = any (ids);
  perform set_config('feedback.internal_write', 'off', true);
  insert into private.submission_counts as c (organization_id, is_public, status, type, category_id, total)
  select s.organization_id, s.is_public, s.status, s.type, m.category_id, sum(m.change)
  from public.submissions s cross join (values (from_id, -1), (to_id, 1)) m (category_id, change)
  where s.id = any (ids) and s.merged_into_id is null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict on constraint one_count_of_a_kind do update set total = c.total + excluded.total;
  insert into private.submission_subtotals (organization_id, author_id, tag_id, is_public, status, type,
    category_id, total)
  select s.organization_id, l.author_id, l.tag_id, s.is_public, s.status, s.type, m.category_id, sum(m.change)
  from public.submissions s cross join (values (from_id, -1), (to_id, 1)) m (category_id, change)
    cross join lateral (select s.author_id, null::uuid as tag_id union all
      select null, t.tag_id from public.submission_tags t where t.submission_id = s.id) l
  where s.id = any (ids) and s.merged_into_id is null group by 1, 2, 3, 4, 5, 6, 7;
  return cardinality(ids);
end
$$;

-- Replaces a tag by another or removes it in a batch of submissions; returns how many.
create function private.replace_tag(organization_id uuid, from_id uuid, to_id uuid, batch integer)
  returns integer
language plpgsql set search_path = pg_temp as $$
declare ids uuid[];
begin
  ids := array(select st.submission_id from public.submission_tags st
    join public.submissions s on s.id = st.submission_id
    where st.organization_id = replace_tag.organization_id and st.tag_id = from_id limit batch
    -- private.count_changed_tags locks the submissions too: whoever holds one may wait for its tags.
    for no key update of s skip locked for update of st skip locked);
  -- The submission's own tag takes precedence over a merged one, which is then recorded in the journal.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select coalesce(f.merged_from, t.merged_from), to_id, f.organization_id
  from public.submission_tags f join public.submission_tags t on t.submission_id = f.submission_id
    and t.tag_id = to_id
  where f.submission_id = any (ids) and f.tag_id = from_id and f.merged_from is distinct from t.merged_from
  on conflict do nothing;
  insert into public.submission_tags as st (organization_id, submission_id, tag_id, merged_from)
  select f.organization_id, f.submission_id, to_id, f.merged_from from public.submission_tags f
  where f.submission_id = any (ids) and f.tag_id = from_id and to_id is not null order by f.submission_id
  on conflict on constraint submission_tags_pkey
    do update set merged_from = null where excluded.merged_from is null;
  -- Merge journals keep the tag: they move with the last batch or are deleted with the label.
  perform set_config('feedback.internal_write', 'on', true);
  delete from public.submission_tags st where st.submission_id = any (ids) and st.tag_id = from_id;
  perform set_config('feedback.internal_write', 'off', true);
  return cardinality(ids);
end
$$;

-- Moves a batch of submissions of a label and deletes the label when none is left; returns how many. The
-- caller holds the locks of organization and label, so no row is added.
create function private.retire_label(kind text, organization_id uuid, label_id uuid, into_id uuid,
  batch integer default 2000) returns integer
language plpgsql set search_path = pg_temp as $$
declare moved integer; is_left boolean;
begin
  if kind = 'categories' then
    moved := private.move_to_category(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submissions s where s.organization_id = retire_label.organization_id
      and s.category_id = label_id);
  else
    moved := private.replace_tag(organization_id, label_id, into_id, batch);
    is_left := exists (select from public.submission_tags st
      where st.organization_id = retire_label.organization_id and st.tag_id = label_id);
  end if;
  if is_left then
    insert into private.retired_labels as r (label_id, organization_id, kind, into_id)
      values (label_id, organization_id, kind, into_id)
    on conflict on constraint retired_labels_pkey do update set into_id = excluded.into_id;
    return moved;
  end if;
  -- Also update the journals, which an unmerge restores.
  insert into private.merged_tags (source_id, tag_id, organization_id)
  select j.source_id, into_id, j.organization_id from private.merged_tags j
  where kind = 'tags' and into_id is not null and j.organization_id = retire_label.organization_id
    and j.tag_id = label_id
  on conflict do nothing;
  execute format('delete from public.%I l where l.id = $1', kind) using label_id;
  delete from private.retired_labels r where r.label_id = retire_label.label_id;
  return moved;
end
$$;

-- Processes a batch of the oldest label deletion or merge that was too large for one request; returns the
-- number of submissions.
create function private.run_retirements() returns integer
language plpgsql set search_path = pg_temp as $$
declare retired private.retired_labels; is_there boolean; is_free boolean; moved integer := 0;
begin
  -- Lock the organization first; skip labels that are locked.
  for retired in
    select r.* from private.retired_labels r join public.organizations o on o.id = r.organization_id
    order by r.retired_at, r.label_id limit 1 for no key update of o skip locked
  loop
    execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there
      using retired.label_id;
    execute format('select true from public.%I l where l.id = $1 for update skip locked', retired.kind)
      into is_free using retired.label_id;
    if is_free then
      execute format('select l.id from public.%I l where l.id = $1', retired.kind) into retired.into_id
        using retired.into_id;
      moved := private.retire_label(retired.kind, retired.organization_id, retired.label_id, retired.into_id);
      execute format('select exists (select from public.%I l where l.id = $1)', retired.kind) into is_there
        using retired.label_id;
      if not is_there then perform private.emit_organization_update(retired.organization_id,
        array[retired.kind]); end if;
    end if;
    if not is_there then delete from private.retired_labels r where r.label_id = retired.label_id; end if;
  end loop;
  return moved;
end
$$;

-- Deletes a category or tag; submissions stay without it.
create function private.admin_delete_label(kind text, label_id uuid) returns void
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb;
begin
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  update private.retired_labels r set into_id = null where r.into_id = admin_delete_label.label_id;
  perform private.retire_label(kind, own_id, label_id, null);
  perform private.record_label_change(kind, own_id, 'delete', label_id,
    jsonb_build_object('slug', label -> 'slug'));
end
$$;

-- Merges a category or tag into another of the same organization and deletes it. moved: number of
-- submissions it had.
create function private.admin_merge_labels(kind text, label_id uuid, into_id uuid) returns jsonb
-- definer: clients may only read categories and tags
language plpgsql security definer set search_path = pg_temp as $$
declare own_id uuid := private.require_taxonomy_admin(kind); label jsonb; target jsonb; moved bigint;
begin
  if label_id = into_id then
    perform private.raise_error('VALIDATION_ERROR',
      format('A %s cannot be merged into itself.', private.label_noun(kind)), 'into_id');
  end if;
  perform 1 from public.organizations o where o.id = own_id for no key update;
  label := private.find_label(kind, own_id, label_id);
  target := private.find_label(kind, own_id, into_id, true);
  if exists (select from private.retired_labels r where r.label_id = admin_merge_labels.into_id) then
    perform private.raise_error('CONFLICT', format('This %s is being deleted.', private.label_noun(kind)),
      'into_id');
  end if;
  if kind = 'categories' then
    select count(*) into moved from public.submissions s
      where s.organization_id = own_id and s.category_id = label_id;
  else
    select count(*) into moved from public.submission_tags st
      where st.organization_id = own_id and st.tag_id = label_id;
  end if;
  update private.retired_labels r set into_id = admin_merge_labels.into_id
    where r.into_id = admin_merge_labels.label_id;
  perform private.retire_label(kind, own_id, label_id, into_id);
  perform private.record_label_change(kind, own_id, 'merge', label_id,
    jsonb_build_object('slug', label -> 'slug', 'into_id', into_id, 'submissions', moved));
  return private.label_shape(target) || jsonb_build_object('moved', moved);
end
$$;

grant execute on function private.admin_labels, private.admin_create_label, private.admin_update_label,
  private.admin_order_categories, private.admin_delete_label, private.admin_merge_labels to authenticated,
  service_key;
