-- Functions for the pages.

-- For the pages: {organization, viewer}. The organization is null where the caller may not see it, the
-- viewer where nobody signed in; unread_count is at most 100.
-- definer: also runs for anonymous callers, who may not select memberships and notifications.
create function private.page_frame(organization_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare caller uuid := private.caller_id();
begin
  return json_build_object(
    'organization', (
      select json_build_object(
        'id', o.id,
        'slug', o.slug,
        'name', o.name,
        'is_default', o.id = private.default_organization_id(),
        'visibility', o.visibility,
        'default_locale', o.default_locale,
        'time_zone', o.time_zone,
        'brand_color', o.brand_color,
        'logo_url', o.logo_url,
        'allow_indexing', o.allow_indexing,
        'allowed_origins', o.allowed_origins)
      from public.organizations o where o.id = page_frame.organization_id
        and (o.visibility = 'public' or private.is_member(o.id, caller))),
    'viewer', (
      select json_build_object(
        'id', p.id,
        'name', coalesce(p.name, 'Anonymous'),
        'avatar_url', p.avatar_url,
        'locale', p.locale,
        'role', (select m.role from public.memberships m where m.organization_id = page_frame.organization_id
          and m.user_id = p.id),
        'unread_count', (select count(*) from (
          select from public.notifications n where n.user_id = p.id and n.read_at is null limit 100) n))
      from public.profiles p where p.id = caller and p.kind in ('user', 'email')));
end
$$;

-- The language of a page: the one of the caller's account, otherwise the given one, otherwise the organization's.
-- definer: languages of accounts and settings of organizations are not granted.
create function private.page_locale(organization_id uuid, locale text) returns text
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return coalesce(
    (select p.locale from public.profiles p where p.id = private.caller_id() and p.kind in ('user', 'email')),
    page_locale.locale,
    (select o.default_locale from public.organizations o where o.id = page_locale.organization_id),
    'en');
end
$$;

-- For the board: how many submissions the caller sees in lists, {total, statuses, types, categories}, each by
-- name or id. definer: reads counts, by the same rule as private.count_in_scope.
create function private.board_counts(organization_id uuid) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  all_of_them boolean := board_counts.organization_id = any (private.team_organization_ids());
  caller uuid := private.caller_id();
begin
  return (
    select json_build_object(
      'total', coalesce(sum(k.n) filter (where k.summed = 7), 0),
      'statuses', coalesce(json_object_agg(k.status, k.n) filter (where k.summed = 3), '{}'),
      'types', coalesce(json_object_agg(k.type, k.n) filter (where k.summed = 5), '{}'),
      'categories', coalesce(json_object_agg(k.category_id, k.n)
        filter (where k.summed = 6 and k.category_id is not null), '{}'))
    from (
      -- The counters are read once. Each bit of summed stands for a column that is summed over.
      select c.status, c.type, c.category_id, sum(c.total) as n,
        grouping(c.status, c.type, c.category_id) as summed
      from (
        select c.status, c.type, c.category_id, c.total from private.submission_counts c
        where c.organization_id = board_counts.organization_id and (c.is_public or all_of_them)
        union all
        select s.status, s.type, s.category_id, 1 from public.submissions s
        where not all_of_them and s.organization_id = board_counts.organization_id and s.author_id = caller
          and not s.is_public and s.merged_into_id is null
      ) c
      group by grouping sets ((), (c.status), (c.type), (c.category_id))
    ) k);
end
$$;

-- For the pages of the dashboard: {organization_id, role, organizations, waiting_count} of the caller,
-- where their role is at least the given one; raises NOT_FOUND or FORBIDDEN otherwise. waiting_count is
-- at most 100.
-- definer: reads memberships of other organizations only for their member, and pending content for admins.
create function private.admin_frame(least_role text) returns json
language plpgsql stable security definer set search_path = pg_temp as $$
declare
  own_id uuid := private.current_organization_id();
  caller uuid := private.caller_id();
  own_role text := (select m.role from public.memberships m where m.organization_id = own_id
    and m.user_id = caller);
begin
  if own_role is null or (own_role = 'member' and least_role <> 'member')
    or (own_role <> 'owner' and least_role = 'owner') then
    perform private.raise_error('FORBIDDEN', case least_role
      when 'member' then 'Only members of the organization can do this.'
      when 'owner' then 'Only owners of the organization can do this.'
      else 'Only admins of the organization can do this.' end);
  end if;
  return json_build_object(
    'organization_id', own_id,
    'role', own_role,
    'organizations', (select json_agg(json_build_object(
      'slug', o.slug,
      'name', o.name,
      'is_default', o.id = private.default_organization_id()) order by o.name collate "und-x-icu", o.id)
      from public.memberships m join public.organizations o on o.id = m.organization_id
        where m.user_id = caller),
    'waiting_count', case when own_role <> 'member' then (select count(*) from (
      select from public.submissions s where s.organization_id = own_id and s.moderation_state = 'pending'
      union all
      select from public.comments c where c.organization_id = own_id and c.moderation_state = 'pending'
      limit 100) w) else 0 end);
end
$$;

-- Data of the board and the roadmap besides their lists: {counts, categories, tags}, as the caller sees them,
-- with names in the given language. counts is the result of private.board_counts.
create function private.board(organization_id uuid, locale text) returns json
language plpgsql stable set search_path = pg_temp as $$
begin
  return json_build_object(
    'counts', private.board_counts(board.organization_id),
    'categories', (select coalesce(json_agg(json_build_object(
      'id', c.id,
      'name', private.localized(c.name, c.translations, board.locale),
      'slug', c.slug,
      'color', c.color)
        order by c.position, c.slug), '[]')
      from public.categories c where c.organization_id = board.organization_id),
    'tags', (select coalesce(json_agg(json_build_object(
      'name', private.localized(t.name, t.translations, board.locale),
      'slug', t.slug) order by t.slug), '[]')
      from public.tags t where t.organization_id = board.organization_id));
end
$$;

-- The caller's profile for the settings: {name, email, avatar_url}; null for unknown values.
-- definer: address and language are granted to nobody.
create function private.my_profile() returns json
language sql stable security definer set search_path = pg_temp
return (select json_build_object('name', p.name, 'email', p.email, 'avatar_url', p.avatar_url)
  from public.profiles p where p.id = private.caller_id());

-- The surveys that the caller answered, and when.
-- definer: people may read their own answers after a survey has ended, when its policy hides it.
create function private.my_responses()
  returns table (id uuid, survey_id uuid, survey_title text, submitted_at timestamptz)
language plpgsql stable security definer set search_path = pg_temp as $$
begin
  return query
    select r.id, r.survey_id, s.title, r.submitted_at
    from public.survey_responses r join public.surveys s on s.id = r.survey_id
      where r.user_id = private.caller_id();
end
$$;

grant execute on function private.page_frame, private.page_locale, private.board_counts, private.board
  to anon, authenticated,
  service_key;
grant execute on function private.admin_frame, private.my_profile, private.my_responses to authenticated;
