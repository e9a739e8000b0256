import type { Locale } from "../../../shared/locales.ts";
import type { SubmissionStatus } from "../../../shared/submissions.ts";
import { type Sql, sql } from "../database/query.ts";
import type { Statement } from "../database/run.ts";
import { type Data, read } from "./shapes.ts";

/** Data of the page frame: the organization and the visitor. */
export type Frame = {
  organization: {
    id: string;
    slug: string;
    name: string;
    is_default: boolean;
    visibility: "public" | "private";
    /** For browsers without a supported language in Accept-Language. */
    default_locale: Locale;
    /** Of the days on its pages. */
    time_zone: string;
    /** #rrggbb; null for the default color. */
    brand_color: string | null;
    logo_url: string | null;
    /** Whether search engines may index the pages of a public board. */
    allow_indexing: boolean;
    /** Origins that may embed the pages. */
    allowed_origins: string[];
  } | null;
  viewer: {
    id: string;
    name: string;
    avatar_url: string | null;
    /** The language that the user chose. */
    locale: Locale | null;
    role: "owner" | "admin" | "member" | null;
    /** Counted up to 100. */
    unread_count: number;
  } | null;
};

/** The table and id of the row that a page shows. */
export type FrameOf = { resource: "submissions" | "comments" | "surveys"; id: string } | undefined;

/** One row: the organization of the path, or of the row if the caller sees it, and the caller. */
export const pageFrame = (of: FrameOf) => read<Frame>("page_frame", framedOrganization(of));

/** A language, or the database's choice of one. */
export type LocaleValue = Locale | ReturnType<typeof pageLocale>;

/** The language of a page as a value in its statements: the account's, otherwise the given or the organization's. */
export const pageLocale = (of: FrameOf, locale: Locale | null) =>
  sql`(select private.page_locale(${framedOrganization(of)}, ${locale}))`;

const framedOrganization = (of: FrameOf) =>
  of
    ? sql`(select r.organization_id from public.${sql(of.resource)} r where r.id = ${of.id}::uuid)`
    : sql`private.requested_organization_id()`;

type BoardCounts = {
  total: number;
  statuses: Record<string, number>;
  types: Record<string, number>;
  /** Counts by id. */
  categories: Record<string, number>;
};

/** Data of the board page besides its list. */
export type Board = {
  /** Numbers of submissions visible to the caller. */
  counts: BoardCounts;
  categories: { id: string; name: string; slug: string; color: string }[];
  tags: { name: string; slug: string }[];
};

/** `data` is a Board as text: comparing is faster than parsing. `author` is named if the caller sees a submission of theirs. */
export function boardOf(locale: LocaleValue, author?: string): Statement<Data<Board> & { author: string | null }> {
  return (sql) => sql`
    select private.board(private.current_organization_id(), ${locale})::text as data, (
      select private.author(s.author_id, s.organization_id) ->> 'name' from public.submissions s
      where s.organization_id = (select private.current_organization_id()) and s.author_id = ${author ?? null}::uuid
      limit 1) as author`;
}

export type RoadmapItem = {
  id: string;
  title: string;
  type: "idea" | "problem";
  status: SubmissionStatus;
  vote_count: number;
  comment_count: number;
  category_id: string | null;
  has_voted: boolean;
};

export type RoadmapItems = Partial<Record<SubmissionStatus, RoadmapItem[]>>;

/** The submissions with the most votes for each status, up to `limit`. */
export function roadmapColumns(
  statuses: readonly SubmissionStatus[],
  limit: number,
  hasVoted: boolean,
): Statement<Data<RoadmapItems>> {
  return (sql) => sql`
    select coalesce(json_object_agg(c.status, c.items), '{}')::text as data
    from (
      select w.status, (
        select coalesce(json_agg(i), '[]') from (
          select ${itemColumns(sql, hasVoted)} from public.submissions s
          where s.organization_id = (select private.current_organization_id()) and s.merged_into_id is null and s.status = w.status
          order by s.vote_count desc, s.id desc limit ${limit}) i) as items
      from unnest(${statuses}::text[]) w (status)) c`;
}

/** A submission of the organization, if the caller sees it and it was not merged. */
export function roadmapItem(id: string): Statement<RoadmapItem> {
  return (sql) => sql`select ${itemColumns(sql, false)} from public.submissions s
    where s.id = ${id}::uuid and s.organization_id = (select private.current_organization_id()) and s.merged_into_id is null`;
}

const itemColumns = (sql: Sql, hasVoted: boolean) => sql`
  s.id, s.title, s.type, s.status, s.vote_count, s.comment_count, s.category_id,
  ${hasVoted ? sql`private.my_vote(s.id) is not null` : sql`false`} as has_voted`;

/** Boards that search engines may index, oldest first. */
export function listedBoards(limit: number): Statement<{ slug: string }> {
  return (sql) => sql`
    select o.slug from public.organizations o where o.visibility = 'public' and o.allow_indexing
    order by o.created_at, o.id limit ${limit}`;
}

/** Paths of the board's newest submissions. */
export function listedSubmissions(limit: number): Statement<{ id: string; title: string; updated_at: Date }> {
  return (sql) => sql`
    select s.id, s.title, s.updated_at from public.submissions s
    where s.organization_id = (select private.current_organization_id()) and s.merged_into_id is null
    order by s.created_at desc, s.id desc limit ${limit}`;
}

/** The newest change of a submission's status. */
export type News = {
  submission_id: string;
  title: string;
  status: SubmissionStatus;
  note: string | null;
  changed_at: string;
  /** Unread notifications of the caller about it; none on submissions that the caller does not follow. */
  unread: string[];
};

const newsDays = 90;

/** The newest changes of submissions that the caller follows, one per submission; none for an anonymous caller. */
export function followedNews(limit: number, isSignedIn: boolean): Statement<{ data: News[] }> {
  if (!isSignedIn) return (sql) => sql`select '[]'::json as data`;
  return (sql) => sql`
    select coalesce(json_agg(n order by n.changed_at desc, n.submission_id), '[]') as data from (
      select n.*, array(
        select u.id from public.notifications u
        where u.user_id = private.caller_id() and u.submission_id = n.submission_id and u.type = 'status_changed'
          and u.read_at is null limit 100) as unread
      from (
        select distinct on (c.submission_id) ${newsColumns(sql)}
        from public.follows f join public.status_changes c on c.submission_id = f.submission_id
          join public.submissions s on s.id = c.submission_id
        where f.user_id = private.caller_id() and ${isNews(sql)}
        order by c.submission_id, c.created_at desc, c.id desc) n
      order by n.changed_at desc, n.submission_id limit ${limit}) n`;
}

/** The newest changes on the board, one per submission, of the last changes. */
export function boardNews(limit: number): Statement<{ data: News[] }> {
  return (sql) => sql`
    select coalesce(json_agg(n order by n.changed_at desc, n.submission_id), '[]') as data from (
      select distinct on (n.submission_id) n.*, '{}'::uuid[] as unread from (
        select ${newsColumns(sql)}
        from public.status_changes c join public.submissions s on s.id = c.submission_id
        where ${isNews(sql)} order by c.created_at desc, c.id desc limit ${limit}) n
      order by n.submission_id, n.changed_at desc) n`;
}

const newsColumns = (sql: Sql) => sql`
  c.submission_id, s.title, c.new_status as status, c.note, c.created_at as changed_at`;
const isNews = (sql: Sql) => sql`
  c.organization_id = (select private.current_organization_id()) and s.merged_into_id is null
  and c.new_status <> 'duplicate' and c.created_at > now() - make_interval(days => ${newsDays})`;

/** A published survey that targets the caller and that they have not answered in any version, for the widget. */
export function offeredSurvey(
  locale: LocaleValue,
  isSignedIn: boolean,
): Statement<{ data: { id: string; title: string } | null }> {
  return (sql) => (isSignedIn ? sql`select private.offered_survey(${locale}) as data` : sql`select null::json as data`);
}

export type SurveyPage = {
  /**
   * Why the caller cannot respond now; null if they can, and have started. LOCALE: the survey is limited to
   * `locales`.
   */
  refusal: "SURVEY_NOT_OPEN" | "LOCALE" | "UNAUTHORIZED" | "ALREADY_RESPONDED" | "FORBIDDEN" | null;
  locales: Locale[] | null;
  /** Whether the response in the query is the caller's own. */
  is_own_response: boolean;
};

/** Opens a survey for the caller and records the start if they may respond. Raises NOT_FOUND if they cannot see it. */
export const openSurvey = (id: string, locale: LocaleValue, responseId: string | undefined) =>
  read<SurveyPage>("survey_page", id, locale, responseId);
