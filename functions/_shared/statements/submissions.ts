import type { z } from "zod";
import { isUuid } from "../../../shared/fields.ts";
import type {
  duplicatesAnswer,
  StatusChange,
  StatusChangeCreate,
  SubmissionCreateByKey,
  SubmissionDetail,
  SubmissionDetailQuery,
  SubmissionListQuery,
  SubmissionPatch,
  SubmissionSearchQuery,
  SubmissionStatus,
  submission,
  submissionCreatedAnswer,
  submissionSearchAnswer,
} from "../../../shared/submissions.ts";
import type { Sql, Statement } from "../database/run.ts";
import { decodeCursor, type Page } from "../http/cursor.ts";
import type { LocaleValue } from "./pages.ts";
import { commentShape, type Data, type DataOf, tagSlugs } from "./shapes.ts";

const columns = {
  created_at: "created_at",
  votes: "vote_count",
  comments: "comment_count",
  title: "title",
} as const satisfies Record<Exclude<SubmissionListQuery["sort"], "relevance">, string>;

/** An id that matches nothing, for an unknown category or tag. */
const unknownId = "00000000-0000-0000-0000-000000000000";

/**
 * Additional fields of a list: related resources in a language, whether the caller voted, and with `q` the matches, as
 * HTML of text and <mark>.
 */
type Shown = { hasVoted?: boolean; highlight?: boolean; expand?: Expand; locale?: LocaleValue };
type Expand = SubmissionDetailQuery["expand"];

export type Submission = z.output<typeof submission>;
export type Listed = Submission & { has_voted?: boolean; marked_title?: string; marked_description?: string };

export const filterNames = ["q", "status", "type", "category", "tag", "author"] as const;
type Filters = Partial<Pick<SubmissionListQuery, (typeof filterNames)[number]>>;

/** One page, plus one row to detect a following page. */
export function listSubmissions(query: SubmissionListQuery, show: Shown = {}): Statement<Page<Listed>> {
  const { limit, page, cursor, sort, order, q } = query;
  if (sort === "relevance") return listByRelevance(query, show);
  const after = cursor === undefined ? undefined : decodeCursor(cursor, sort, order);
  return (sql) => sql`
    with found as materialized (
      select f.* from private.list_submissions(private.current_organization_id(), ${q ?? null}, ${filterValues(sql, query)},
        ${sort}, ${order === "asc"}, ${after?.value ?? null}, ${after?.id ?? null},
        ${after ? 0 : (page - 1) * limit}, ${limit + 1}) f
    ), page as materialized (
      select s.*, l.n from found f cross join unnest(f.submission_ids[:${limit}]) with ordinality l (id, n)
        join public.submissions s on s.id = l.id
    )
    select f.total, f.total_is_capped, f.match, f.did_you_mean,
      coalesce((select json_agg(r) from (${shown(sql, query, show, sql`f.marks`)} order by s.n) r), '[]')::text as data,
      cardinality(f.submission_ids) > ${limit} as more,
      (select array[s.${sql(columns[sort])}::text, s.id::text] from page s where s.n = ${limit}) as last
    from found f`;
}

const tagId = (sql: Sql, tag: string) => sql`
  select t.id from public.tags t where t.organization_id = (select private.current_organization_id()) and t.slug = ${tag}`;

// No slug is a UUID.
const categoryId = (sql: Sql, category: string) => sql`
  select c.id from public.categories c where c.organization_id = (select private.current_organization_id())
    and c.${sql(isUuid(category) ? "id" : "slug")} = ${category.toLowerCase()}`;

// row_to_json is faster than building objects key by key; column names are the keys.
const shown = (
  sql: Sql,
  { q }: Pick<SubmissionListQuery, "q">,
  { hasVoted, highlight, expand = [], locale = "en" }: Shown,
  marks: ReturnType<Sql> = sql`null`,
) => sql`
  select s.id, s.title, s.description, s.type, s.status, s.vote_count, s.comment_count,
    ${expand.includes("author") ? sql`private.author(s.author_id, s.organization_id) as author` : sql`s.author_id`},
    ${expand.includes("category") ? sql`(${categoryShape(sql, locale)}) as category` : sql`s.category_id`},
    coalesce(t.${sql(expand.includes("tags") ? "tags" : "slugs")}, '[]') as tags, s.created_at, s.updated_at
    ${hasVoted ? sql`, private.my_vote(s.id) is not null as has_voted` : sql``}
    ${
      q && highlight
        ? sql`, private.highlight(s.title, ${marks}, true) as marked_title,
          private.highlight(s.description, ${marks}, false) as marked_description`
        : sql``
    }
  from page s left join ${
    expand.includes("tags")
      ? sql`private.localized_tags_of(array(select id from page), ${locale})`
      : sql`private.tags_of(array(select id from page))`
  } t on t.submission_id = s.id`;

/** JSON of the category of a submission; `s` is the submission. */
const categoryShape = (sql: Sql, locale: LocaleValue) => sql`
  select json_build_object('id', c.id, 'name', private.localized(c.name, c.translations, ${locale}), 'slug', c.slug,
    'color', c.color) from public.categories c where c.id = s.category_id`;

/** The filters of a list or a search as arguments. */
const filterValues = (sql: Sql, { status, type, category, tag, author }: Filters) => sql`
  ${status ?? null}, ${type ?? null}, ${category ? sql`coalesce((${categoryId(sql, category)}), ${unknownId})` : sql`null`},
  ${tag ? sql`coalesce((${tagId(sql, tag)}), ${unknownId})` : sql`null`}, ${author ?? null}`;

/** Matches that are counted; `total` is a lower bound if there are more. */
const maxMatches = 10_000;

/**
 * The common tables of a page in the order of relevance: `page` (rows with `n` and `relevance`), and `found` (match,
 * marks, total, more, place).
 */
function relevant(sql: Sql, query: Filters & Pick<SubmissionListQuery, "page" | "limit" | "cursor">) {
  const { page, limit, cursor, q = "" } = query;
  const skipped = cursor ? 0 : (page - 1) * limit;
  const after = cursor === undefined ? undefined : decodeCursor(cursor, "relevance", "desc");
  const [kind, votes] = after?.value.split(" ") ?? [];
  const place = after && sql`row(${after.id}::uuid, ${Number(kind)}, ${Number(votes)}, 0)::private.search_hit`;
  return sql`
    found as materialized (
      select f.match, f.did_you_mean, f.marks, f.hits, least(coalesce(f.total, 0), ${maxMatches})::integer as total,
        coalesce(f.total > ${maxMatches}, false) as total_is_capped,
        cardinality(f.hits) > ${skipped + limit} as more, f.hits[${skipped + limit}] as place
      from private.find_submissions(private.current_organization_id(), ${q}, ${filterValues(sql, query)},
        ${place ?? sql`null`}, ${skipped + limit + 1}, true) f
    ), page as materialized (
      select s.*, h.n, h.relevance
      from found f cross join lateral unnest(f.hits[${skipped + 1}:${skipped + limit}])
          with ordinality h (submission_id, class, votes, relevance, n)
        join public.submissions s on s.id = h.submission_id
    )`;
}

const foundColumns = (sql: Sql) => sql`
  f.total, f.total_is_capped, f.match, f.did_you_mean, f.more,
  array[(f.place).class || ' ' || (f.place).votes, (f.place).submission_id::text] as last`;

function listByRelevance(query: SubmissionListQuery, show: Shown): Statement<Page<Listed>> {
  return (sql) => sql`
    with ${relevant(sql, query)}
    select ${foundColumns(sql)}, coalesce((
      select json_agg(r) from (${shown(sql, query, show, sql`f.marks`)} order by s.n) r), '[]')::text as data
    from found f`;
}

/** Full-text search in titles and descriptions, best first. */
export function searchSubmissions(
  query: SubmissionSearchQuery,
): Statement<Page<DataOf<typeof submissionSearchAnswer>[number]>> {
  return (sql) => sql`
    with ${relevant(sql, query)}
    select ${foundColumns(sql)}, coalesce((
      select json_agg(json_build_object(
        'id', s.id, 'title', s.title, 'description', s.description, 'relevance', round(s.relevance::numeric, 4),
        'highlight', json_build_object(
          'title', private.highlight(s.title, f.marks, true), 'description', private.highlight(s.description, f.marks, false)))
        order by s.n) from page s), '[]')::text as data
    from found f`;
}

export type Similar = DataOf<typeof duplicatesAnswer>["similar"][number] & { has_voted?: boolean };

/** Submissions similar to a draft, among those visible to the caller; none for a draft without a title. */
export function similarSubmissions(
  title: string,
  description: string | null | undefined,
  limit: number,
  { hasVoted }: Pick<Shown, "hasVoted"> = {},
): Statement<Data<Similar[]>> {
  return (sql) => sql`
    select coalesce(json_agg(json_build_object('id', s.id, 'title', s.title, 'similarity', round(f.similarity::numeric, 4),
      'vote_count', s.vote_count, 'status', s.status ${hasVoted ? sql`, 'has_voted', private.my_vote(s.id) is not null` : sql``})
      order by f.similarity desc, s.id), '[]')::text as data
    from (${similar(sql, title, description, limit)}) f join public.submissions s on s.id = f.submission_id`;
}

/** Raises CONFLICT if there are submissions similar to the new one, unless its author has seen them. */
export function requireUnlike(title: string, description: string, hasLooked: boolean): Statement {
  return (sql) => sql`
    select private.raise_error('CONFLICT', 'There are submissions like this one: look at them first.')
    where not ${hasLooked}::boolean and exists (${similar(sql, title, description, 1)})`;
}

const similar = (sql: Sql, title: string, description: string | null | undefined, limit: number) => sql`
  select f.submission_id, f.similarity
  from private.similar_submissions(private.current_organization_id(), ${title}, ${description || null}) f
  join public.submissions s on s.id = f.submission_id
  where s.merged_into_id is null and f.similarity >= 0.25
  order by f.similarity desc, f.submission_id limit ${limit}`;

export type Candidate = Pick<Chosen, "id" | "title" | "status" | "vote_count">;

/**
 * Candidates for a merge target, best first: search results, the submission whose id or URL was entered, otherwise
 * similar ones.
 */
export function mergeCandidates(id: string, words: string | undefined): Statement<Data<Candidate[]>> {
  const namedId = words && /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(words)?.[0];
  return (sql) => {
    const found = namedId
      ? sql`select ${namedId}::uuid as submission_id, 1 as rank`
      : words
        ? sql`select h.submission_id, -h.rank as rank
            from source, private.find_submissions(source.organization_id, ${words}, null, null, null, null, null, null, 20) f
              cross join unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, rank)`
        : sql`select f.submission_id, f.similarity as rank
            from source, private.similar_submissions(source.organization_id, source.title, source.description) f
            where f.similarity >= 0.15`;
    return sql`
      with source as materialized (select s.* from public.submissions s where ${named(sql, id)}),
        found as materialized (${found})
      select coalesce(json_agg(json_build_object('id', t.id, 'title', t.title, 'status', t.status, 'vote_count', t.vote_count)
        order by t.rank desc, t.id), '[]')::text as data
      from (
        select s.id, s.title, s.status, s.vote_count, found.rank
        from source, found join public.submissions s on s.id = found.submission_id
        where s.organization_id = source.organization_id and s.id <> source.id
          and s.merged_into_id is null and s.moderation_state = 'approved'
        order by found.rank desc, s.id limit 10) t`;
  };
}

const firstComments = 50;

/** A submission with all detail fields. */
export function submissionDetail(id: string, expand: Expand, locale: LocaleValue): Statement<Data<SubmissionDetail>> {
  const shows = (name: Expand[number]) => expand.includes(name);
  return (sql) => sql`
    select json_build_object(
      'id', s.id, 'title', s.title, 'description', s.description, 'type', s.type, 'status', s.status,
      'vote_count', s.vote_count, 'comment_count', s.comment_count,
      ${shows("author") ? sql`'author', private.author(s.author_id, s.organization_id)` : sql`'author_id', s.author_id`},
      ${shows("category") ? sql`'category', (${categoryShape(sql, locale)})` : sql`'category_id', s.category_id`},
      'tags', ${
        shows("tags")
          ? sql`coalesce((select t.tags from private.localized_tags_of(array[s.id], ${locale}) t), '[]')`
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

/** The submission with this id if the caller may see it and the request names no other organization. */
export const named = (sql: Sql, id: string) => sql`s.id = ${id}::uuid and private.in_organization(s.organization_id)`;

/** The target of a merged submission; no row if it was not merged. */
export function mergeTarget(id: string): Statement<{ id: string; title: string }> {
  return (sql) => sql`
    select t.id, t.title from public.submissions s join public.submissions t on t.id = s.merged_into_id where ${named(sql, id)}`;
}

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

export function createdSubmission(id: string, url: string): Statement<Data<DataOf<typeof submissionCreatedAnswer>>> {
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

/**
 * Raises FORBIDDEN unless the caller is Admin of the submission's organization; no row if there is no such submission.
 */
export function requireAdminOf(id: string): Statement {
  return (sql) =>
    sql`select private.require_admin(s.organization_id, 'submissions:moderate') from public.submissions s where ${named(sql, id)}`;
}

const statusChangeShape = (sql: Sql) => sql`json_build_object(
  'submission_id', h.submission_id, 'previous_status', h.previous_status, 'new_status', h.new_status,
  'changed_by', coalesce(private.author(h.changed_by, h.organization_id) ->> 'name', 'System'), 'note', h.note, 'changed_at', h.created_at)`;

/** No row if the status is unchanged. */
export function changeStatus(
  id: string,
  { status, note = null, notify }: StatusChangeCreate,
): Statement<Data<StatusChange>> {
  return (sql) => sql`
    insert into public.status_changes as h (submission_id, organization_id, new_status, note, notify)
    select s.id, s.organization_id, ${status}, ${note}, ${notify} from public.submissions s where ${named(sql, id)}
    returning ${statusChangeShape(sql)}::text as data`;
}

/** Response for an unchanged status: the current state. */
export function unchangedStatus(id: string): Statement<Data<StatusChange>> {
  return (sql) => sql`
    select json_build_object('submission_id', s.id, 'previous_status', s.status, 'new_status', s.status,
      'changed_by', coalesce(private.author(private.caller_id(), s.organization_id) ->> 'name', 'System'), 'note', null, 'changed_at', now())::text as data
    from public.submissions s where ${named(sql, id)}`;
}

const maxStatusChanges = 200;

export function statusHistory(id: string): Statement<Data<StatusChange[]>> {
  return (sql) => sql`
    select coalesce(json_agg(${statusChangeShape(sql)} order by h.created_at desc, h.id desc), '[]')::text as data
    from (
      select h.id, h.organization_id, h.submission_id, h.previous_status, h.new_status, h.changed_by, h.note, h.created_at
      from public.status_changes h where h.submission_id = ${id}::uuid order by h.created_at desc, h.id desc limit ${maxStatusChanges}) h`;
}

export type Chosen = { id: string; title: string; status: SubmissionStatus; vote_count: number; comment_count: number };

const chosenShape = (sql: Sql) => sql`json_build_object(
  'id', s.id, 'title', s.title, 'status', s.status, 'vote_count', s.vote_count, 'comment_count', s.comment_count)`;

/** The organization's submissions with these ids, most votes first, without merged ones. */
export function chosenSubmissions(ids: string[]): Statement<Data<Chosen[]>> {
  return (sql) => sql`
    select coalesce(json_agg(${chosenShape(sql)} order by s.vote_count desc, s.id), '[]')::text as data
    from public.submissions s
    where s.id = any (${ids}::uuid[]) and s.organization_id = (select private.current_organization_id())
      and s.merged_into_id is null`;
}

export type Merged = { id: string; title: string; merged_at: string; target_id: string; target_title: string };

/** The organization's merged submissions, newest change first. */
export function mergedSubmissions(limit: number): Statement<Data<Merged[]>> {
  return (sql) => sql`
    select coalesce(json_agg(json_build_object('id', m.id, 'title', m.title, 'merged_at', m.updated_at,
      'target_id', t.id, 'target_title', t.title) order by m.updated_at desc, m.id), '[]')::text as data
    from (
      select s.id, s.title, s.updated_at, s.merged_into_id from public.submissions s
      where s.organization_id = (select private.current_organization_id()) and s.merged_into_id is not null
      order by s.updated_at desc, s.id limit ${limit}) m
    join public.submissions t on t.id = m.merged_into_id`;
}

/** Probable duplicates of each of the newest open submissions. */
export function similarPairs(newest: number): Statement<Data<{ one: Chosen; other: Chosen }[]>> {
  return (sql) => sql`
    select coalesce(json_agg(json_build_object('one', p.one, 'other', ${chosenShape(sql)})), '[]')::text as data
    from (
      select ${chosenShape(sql)} as one, f.other_id
      from private.similar_pairs(private.current_organization_id(), ${newest}) f
      join public.submissions s on s.id = f.one_id where ${isOpen(sql)}) p
    join public.submissions s on s.id = p.other_id where ${isOpen(sql)}`;
}

const isOpen = (sql: Sql) => sql`s.merged_into_id is null and s.moderation_state = 'approved'
  and s.status not in ('completed', 'declined')`;
