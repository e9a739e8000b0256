import type { Locale } from "../../../shared/locales.ts";
import type {
  StatusChangeCreate,
  SubmissionCreateByKey,
  SubmissionDetailQuery,
  SubmissionListQuery,
  SubmissionPatch,
  SubmissionSearchQuery,
} from "../../../shared/submissions.ts";
import { decodeCursor, type Page } from "../cursor.ts";
import type { Sql, Statement } from "../database.ts";
import { commentShape, type Data, tagSlugs } from "./shapes.ts";

const columns = {
  created_at: "created_at",
  votes: "vote_count",
  comments: "comment_count",
  title: "title",
} as const;
const types = { created_at: "timestamptz", votes: "integer", comments: "integer", title: "text" } as const;

/** How many rows a page walks at most: where few of them pass the filters, it is short, and the cursor says where to go on. */
const longestWalk = 3_000;
/** Where each of them is looked at for words too. */
const longestSearch = 1_000;
/** Stands for a category or tag that is not there. */
const unknownId = "00000000-0000-0000-0000-000000000000";
/** Totals that are counted row by row end here. */
const largestCount = 1_000;

/** One page, one row more than asked to know whether there is another, and where that would start. */
export function listSubmissions(query: SubmissionListQuery): Statement<Page> {
  return needsNarrowing(query) ? listNarrowed(query) : listWalked(query);
}

/** A filter that the index of the sort leads by costs nothing, and the number of what it leaves is kept counted. */
function needsNarrowing({ sort, status, type, category, tag, author, q }: SubmissionListQuery): boolean {
  if (tag || author || q || type) return true;
  if (status) return Boolean(category) || (sort !== "created_at" && sort !== "votes");
  return Boolean(category) && sort !== "created_at";
}

function listWalked(query: SubmissionListQuery): Statement<Page> {
  const { limit, page, cursor } = query;
  return (sql) => {
    const { after, sorted, place } = sortOf(sql, query);
    return sql`
      with page as materialized (
        select s.* from public.submissions s
        where ${matches(sql, query)} ${after}
        order by ${sorted} limit ${limit + 1} offset ${cursor ? 0 : (page - 1) * limit}
      )
      select
        ${keptTotal(sql, query)} as total, false as total_is_capped,
        coalesce((select json_agg(r) from (${shown(sql)} order by ${sorted} limit ${limit}) r), '[]')::text as data,
        (select count(*) from page) > ${limit} as more,
        (select ${place} from page s order by ${sorted} limit 1 offset ${limit - 1}) as last`;
  };
}

/** Sorts the few that pass the filters, or walks the index of the sort where they are many. */
function listNarrowed(query: SubmissionListQuery): Statement<Page> {
  const { limit, page, cursor, status, type, tag, author, q } = query;
  const counted = Boolean(tag || author || q);
  const steps = q ? longestSearch : longestWalk;
  return (sql) => {
    const { after, sorted, place } = sortOf(sql, query);
    const some = sql`limit ${limit + 1} offset ${cursor ? 0 : (page - 1) * limit}`;
    const category = query.category
      ? sql`coalesce((${categoryId(sql, query.category)}), ${unknownId})`
      : sql`null`;
    const walk = sql`
      select s.* from public.submissions s
      where not (select is_few from narrow) and ${matches(sql, leading(query))} ${after}
      order by ${sorted}`;
    const walked = sql`select s.* from (${walk} limit ${steps}) s where ${matches(sql, query)}`;
    return sql`
      with narrow as materialized (
        select n.* from private.narrow_submissions(private.current_organization_id(),
          ${status ?? null}, ${type ?? null}, ${category},
          ${tag ? sql`coalesce((${tagId(sql, tag)}), ${unknownId})` : sql`null`}, ${author ?? null}, ${q ?? null}) n
      ), passing as materialized (
        -- What was narrowed carries the tag. All are read where they are sorted, else as many as are counted.
        select s.id, s.created_at, s.vote_count, s.comment_count, s.title from public.submissions s
        where (${counted} or (select is_few from narrow))
          and s.id = any ((select submission_ids from narrow)::uuid[]) and ${matches(sql, { ...query, tag: undefined })}
        limit (select case when not is_few then ${largestCount + 1}::bigint end from narrow)
      ), few as materialized (
        select s.id from passing s where (select is_few from narrow) ${after} order by ${sorted} ${some}
      ), many as materialized (
        ${
          q
            ? sql`select s.* from public.submissions s
              where not (select is_few from narrow)
                and s.id = any (private.submissions_with_text(array(select s.id from (${walked}) s), ${q}))`
            : walked
        }
        order by ${sorted} ${some}
      ), page as materialized (
        select s.* from public.submissions s where s.id = any (array(select id from few))
        union all select * from many
      ), stopped as materialized (
        select ${place} as place from (${walk} limit 1 offset ${steps - 1}) s where (select count(*) from page) <= ${limit}
      ), counted as materialized (select count(*) as n from passing)
      select
        ${counted ? sql`(select least(n, ${largestCount}) from counted)` : keptTotal(sql, query)} as total,
        ${counted ? sql`(select n > ${largestCount} from counted) or not (select is_complete from narrow)` : sql`false`} as total_is_capped,
        coalesce((select json_agg(r) from (${shown(sql)} order by ${sorted} limit ${limit}) r), '[]')::text as data,
        (select count(*) from page) > ${limit} or exists (select from stopped) as more,
        coalesce((select place from stopped), (select ${place} from page s order by ${sorted} limit 1 offset ${limit - 1})) as last`;
  };
}

/** The filters that an index of the sort leads by. */
function leading({ sort, status, author }: SubmissionListQuery): Filters {
  if (sort === "created_at" && author) return { author };
  return status && (sort === "created_at" || sort === "votes") ? { status } : {};
}

function sortOf(sql: Sql, { sort, order, cursor }: SubmissionListQuery) {
  const from = cursor === undefined ? undefined : decodeCursor(cursor, sort, order);
  const column = sql(columns[sort]);
  const direction = order === "asc" ? sql`asc` : sql`desc`;
  return {
    sorted: sql`s.${column} ${direction}, s.id ${direction}`,
    place: sql`array[s.${column}::text, s.id::text]`,
    after: from
      ? sql`and (s.${column}, s.id) ${order === "asc" ? sql`>` : sql`<`} (${from.value}::text::${sql.unsafe(types[sort])}, ${from.id}::uuid)`
      : sql``,
  };
}

type Filters = Partial<Pick<SubmissionListQuery, "status" | "type" | "category" | "tag" | "author">>;

function matches(sql: Sql, { status, type, category, tag, author }: Filters) {
  return sql`s.organization_id = (select private.current_organization_id()) and s.merged_into_id is null
    ${status ? sql`and s.status = ${status}` : sql``}
    ${type ? sql`and s.type = ${type}` : sql``}
    ${author ? sql`and s.author_id = ${author}` : sql``}
    ${category ? sql`and s.category_id = (${categoryId(sql, category)})` : sql``}
    ${
      tag
        ? // As a value, not with exists: it is asked of each row that is walked, and not joined with all that carry the tag.
          sql`and (select true from public.submission_tags st where st.submission_id = s.id and st.tag_id = (${tagId(sql, tag)}))`
        : sql``
    }`;
}

const tagId = (sql: Sql, tag: string) => sql`
  select t.id from public.tags t where t.organization_id = (select private.current_organization_id()) and t.slug = ${tag}`;

const keptTotal = (sql: Sql, { status, type, category }: SubmissionListQuery) =>
  sql`private.count_submissions(private.current_organization_id(), ${status ?? null}, ${type ?? null},
    ${category ? sql`array(${categoryId(sql, category)})` : sql`null`})`;

// An id before a slug, should one look like the other.
const categoryId = (sql: Sql, category: string) => sql`
  select c.id from public.categories c
  where c.organization_id = (select private.current_organization_id()) and ${category.toLowerCase()} in (c.slug, c.id::text)
  order by c.slug = ${category.toLowerCase()} limit 1`;

// A row becomes JSON faster than an object built key by key; the columns' names are the keys.
const shown = (sql: Sql) => sql`
  select s.id, s.title, s.description, s.type, s.status, s.vote_count, s.comment_count, s.author_id, s.category_id,
    coalesce(t.slugs, '[]') as tags, s.created_at, s.updated_at
  from page s left join private.tags_of(array(select id from page)) t on t.submission_id = s.id`;

/** Full text over titles and descriptions, best first. */
export function searchSubmissions({
  q,
  status,
  type,
  page,
  limit,
}: SubmissionSearchQuery): Statement<{ total: number; total_is_capped: boolean; data: string }> {
  return (sql) => sql`
    with found as materialized (
      select f.* from private.find_submissions(private.current_organization_id(), ${q}, ${status ?? null}, 1250) f
    ), hits as materialized (
      select s.id, s.title, s.description, h.relevance
      from found f cross join unnest(f.submission_ids, f.relevances) h (submission_id, relevance)
        join public.submissions s on s.id = h.submission_id
      where s.merged_into_id is null
        ${status ? sql`and s.status = ${status}` : sql``} ${type ? sql`and s.type = ${type}` : sql``}
    ), shown as (
      select * from hits order by relevance desc, id limit ${limit} offset ${(page - 1) * limit}
    )
    select (select least(count(*), ${largestCount}) from hits) as total,
      (select count(*) > ${largestCount} from hits) or not (select is_complete from found) as total_is_capped,
      coalesce((select json_agg(json_build_object(
        'id', s.id, 'title', s.title, 'description', s.description, 'relevance', round(s.relevance::numeric, 4),
        'highlight', json_build_object(
          'title', private.highlight(s.title, ${q}, words, true), 'description', private.highlight(s.description, ${q}, words, false)))
        order by s.relevance desc, s.id) from shown s, private.search_query(${q}) as words), '[]')::text as data`;
}

/** Submissions like one not yet made, among those the caller may see. */
export function similarSubmissions(
  title: string,
  description: string | null | undefined,
  limit: number,
): Statement<Data> {
  return (sql) => sql`
    select coalesce(json_agg(json_build_object('id', s.id, 'title', s.title, 'similarity', round(f.similarity::numeric, 4),
      'vote_count', s.vote_count, 'status', s.status) order by f.similarity desc, s.id), '[]')::text as data
    from (
      select f.submission_id, f.similarity
      from private.similar_submissions(private.current_organization_id(), ${title}, ${description || null}) f
      join public.submissions s on s.id = f.submission_id
      where s.merged_into_id is null and f.similarity >= 0.25
      order by f.similarity desc, f.submission_id limit ${limit}
    ) f join public.submissions s on s.id = f.submission_id`;
}

const firstComments = 50;

/** A submission as its own page shows it. */
export function submissionDetail(
  id: string,
  expand: SubmissionDetailQuery["expand"],
  locale: Locale,
): Statement<Data> {
  const shows = (name: SubmissionDetailQuery["expand"][number]) => expand.includes(name);
  return (sql) => sql`
    select json_build_object(
      'id', s.id, 'title', s.title, 'description', s.description, 'type', s.type, 'status', s.status,
      'vote_count', s.vote_count, 'comment_count', s.comment_count,
      ${shows("author") ? sql`'author', private.author(s.author_id, s.organization_id)` : sql`'author_id', s.author_id`},
      ${
        shows("category")
          ? sql`'category', (select json_build_object('id', c.id, 'name', private.localized(c.name, c.translations, ${locale}),
            'slug', c.slug, 'color', c.color) from public.categories c where c.id = s.category_id)`
          : sql`'category_id', s.category_id`
      },
      'tags', ${
        shows("tags")
          ? sql`coalesce((
            select json_agg(json_build_object('name', private.localized(t.name, t.translations, ${locale}), 'slug', t.slug) order by t.slug)
            from public.submission_tags st join public.tags t on t.id = st.tag_id where st.submission_id = s.id), '[]')`
          : tagSlugs(sql)
      },
      ${
        shows("comments")
          ? sql`'comments', coalesce((
            select json_agg(${commentShape(sql)} order by c.is_official desc, c.created_at, c.id)
            from (select * from public.comments c where c.submission_id = s.id and c.parent_id is null
              order by c.is_official desc, c.created_at, c.id limit ${firstComments}) c), '[]'),`
          : sql``
      }
      'tracker_issue_url', s.tracker_issue_url, 'merged_into_id', s.merged_into_id, 'moderation_state', s.moderation_state,
      'is_following', private.is_following(s.id),
      'user_vote', (select json_build_object('created_at', v.created_at) from private.my_vote(s.id) v (created_at) where v.created_at is not null),
      'created_at', s.created_at, 'updated_at', s.updated_at)::text as data
    from public.submissions s where ${named(sql, id)}`;
}

/** The submission of that id, where the caller may see it and the request names no other organization. */
export const named = (sql: Sql, id: string) =>
  sql`s.id = ${id}::uuid and private.in_organization(s.organization_id)`;

/** Whether the caller sees the submission: one row or none. */
export function findSubmission(id: string): Statement<{ found: number }> {
  return (sql) => sql`select 1 as found from public.submissions s where ${named(sql, id)}`;
}

type NewSubmission = Pick<SubmissionCreateByKey, "title" | "description" | "type" | "category_id"> &
  Partial<SubmissionCreateByKey>;

export function createSubmission(id: string, input: NewSubmission, byKey: boolean): Statement {
  const {
    title,
    description,
    type,
    category_id = null,
    author_email = null,
    author_name = null,
    source = null,
  } = input;
  if (!byKey) {
    return (sql) => sql`
      insert into public.submissions (id, organization_id, title, description, type, category_id)
      values (${id}, private.current_organization_id(), ${title}, ${description}, ${type}, ${category_id})`;
  }
  return (sql) => sql`
    insert into public.submissions (id, organization_id, title, description, type, category_id, author_id, source)
    values (${id}, private.current_organization_id(), ${title}, ${description}, ${type}, ${category_id},
      private.author_of_key(${author_email}, ${author_name}), ${source})`;
}

export function createdSubmission(id: string, url: string): Statement<Data> {
  return (sql) => sql`
    select json_build_object('id', s.id, 'title', s.title, 'status', s.status, 'vote_count', s.vote_count, 'url', ${url}::text)::text as data
    from public.submissions s where s.id = ${id}::uuid`;
}

export function updateSubmission(id: string, patch: SubmissionPatch): Statement {
  return (sql) => sql`update public.submissions s set ${sql(patch)} where ${named(sql, id)} returning s.id`;
}

export function deleteSubmission(id: string): Statement {
  return (sql) => sql`delete from public.submissions s where ${named(sql, id)} returning s.id`;
}

/** Raises FORBIDDEN unless the caller is Admin of a submission's organization; no row where there is no such submission. */
export function requireAdminOf(id: string): Statement {
  return (sql) =>
    sql`select private.require_admin(s.organization_id, 'submissions:moderate') from public.submissions s where ${named(sql, id)}`;
}

const statusChangeShape = (sql: Sql) => sql`json_build_object(
  'submission_id', h.submission_id, 'previous_status', h.previous_status, 'new_status', h.new_status,
  'changed_by', coalesce(private.author(h.changed_by, h.organization_id) ->> 'name', 'System'), 'note', h.note, 'changed_at', h.created_at)`;

/** No row where the status is that already. */
export function changeStatus(
  id: string,
  { status, note = null, notify }: StatusChangeCreate,
): Statement<Data> {
  return (sql) => sql`
    insert into public.status_changes as h (submission_id, organization_id, new_status, note, notify)
    select s.id, s.organization_id, ${status}, ${note}, ${notify} from public.submissions s where ${named(sql, id)}
    returning ${statusChangeShape(sql)}::text as data`;
}

/** What an unchanged status answers: the state as it is. */
export function unchangedStatus(id: string): Statement<Data> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'previous_status', s.status, 'new_status', s.status,
      'changed_by', coalesce(private.author(private.caller_id(), s.organization_id) ->> 'name', 'System'), 'note', null, 'changed_at', now())::text as data
    from public.submissions s where ${named(sql, id)}`;
}

const mostChanges = 200;

export function statusHistory(id: string): Statement<Data> {
  return (sql) => sql`
    select coalesce(json_agg(${statusChangeShape(sql)} order by h.created_at desc, h.id desc), '[]')::text as data
    from (
      select h.id, h.organization_id, h.submission_id, h.previous_status, h.new_status, h.changed_by, h.note, h.created_at
      from public.status_changes h where h.submission_id = ${id}::uuid order by h.created_at desc, h.id desc limit ${mostChanges}) h`;
}
