import type { Locale } from "../../../shared/locales.ts";
import type {
  erasedAnswer,
  PersonDetail,
  peopleAnswer,
  personalDataAnswer,
  trustAnswer,
} from "../../../shared/people.ts";
import type { SubmissionStatus } from "../../../shared/submissions.ts";
import type { Sql, Statement } from "../database/run.ts";
import { decodeCursor, type Page } from "../http/cursor.ts";
import { call, type DataOf, read } from "./shapes.ts";

type People = DataOf<typeof peopleAnswer>;
type PersonalData = DataOf<typeof personalDataAnswer>;

export const findPeople = (email: string) => call<People>("admin_find_people", email);

/** A person in the list of the dashboard. */
type ListedPerson = Omit<PersonDetail, `newest_${"submissions" | "comments" | "votes"}`>;

export const searchPeople = (search: string) => call<ListedPerson[]>("admin_search_people", search);

export const showPerson = (id: string) => call<PersonDetail | null>("admin_person", id);

export const decideTrust = (id: string, trusted: boolean | null) =>
  call<DataOf<typeof trustAnswer> | null>("admin_decide_trust", id, trusted);

export const personalData = (id: string) => call<PersonalData | null>("admin_personal_data", id);

export const erasePerson = (id: string) => call<DataOf<typeof erasedAnswer> | null>("admin_erase_person", id);

export const myPersonalData = () => call<PersonalData | null>("my_personal_data");

export function eraseMe(): Statement<{ id: string }> {
  return (sql) => sql`select private.caller_id() as id, private.erase_me()`;
}

type Profile = { name: string | null; email: string | null; avatar_url: string | null };

/** The caller's own editable fields. */
export const myProfile = () => read<Profile>("my_profile");

type SecondFactor = { id: string; name: string | null; created_at: string };

export const mySecondFactors = () => read<SecondFactor[]>("my_second_factors");

/** Changes the given fields of the caller's profile. */
export function changeMe(changes: Partial<Pick<Profile, "avatar_url"> & { name: string; locale: Locale }>): Statement {
  return (sql) => sql`select public.update_profile(${JSON.stringify(changes)}::jsonb)`;
}

export const contributionKinds = ["submissions", "votes", "comments", "follows", "answers"] as const;
export type ContributionKind = (typeof contributionKinds)[number];

export type Contribution = {
  /** Id of the submission or survey. */
  id: string;
  title: string;
  at: string;
  status?: SubmissionStatus;
  vote_count?: number;
  moderation_state?: string;
  comment_id?: string;
  /** Text of the comment. */
  body?: string;
};

/** The caller's contributions in all organizations, newest first, 20 after the cursor, if still visible to them. */
export function myContributions(kind: ContributionKind, cursor: string | undefined): Statement<Page<Contribution>> {
  const limit = 20;
  return (sql) => {
    const from = cursor === undefined ? undefined : decodeCursor(cursor, "created_at", "desc");
    const after = from ? sql`where (r.at, r.key) < (${from.value}::text::timestamptz, ${from.id}::uuid)` : sql``;
    return sql`
      with page as materialized (
        select * from (${contributions(sql)[kind]}) r ${after} order by r.at desc, r.key desc limit ${limit + 1}
      )
      select 0 as total,
        coalesce((select json_agg(json_strip_nulls(to_json(r)) order by r.at desc, r.key desc)
          from (select * from page order by at desc, key desc limit ${limit}) r), '[]')::text as data,
        (select count(*) from page) > ${limit} as more,
        (select array[r.at::text, r.key::text] from page r order by r.at desc, r.key desc limit 1 offset ${limit - 1}) as last`;
  };
}

const contributions = (sql: Sql) => ({
  submissions: sql`
    select s.id as key, s.created_at as at, s.id, s.title, s.status, s.vote_count, s.moderation_state
    from public.submissions s where s.author_id = private.caller_id()`,
  votes: sql`
    select s.id as key, v.voted_at as at, s.id, s.title, s.status, s.vote_count
    from private.my_votes() v join public.submissions s on s.id = v.submission_id`,
  comments: sql`
    select c.id as key, c.created_at as at, s.id, s.title, c.id as comment_id, c.body, c.moderation_state
    from public.comments c join public.submissions s on s.id = c.submission_id where c.author_id = private.caller_id()`,
  follows: sql`
    select s.id as key, f.created_at as at, s.id, s.title, s.status, s.vote_count
    from public.follows f join public.submissions s on s.id = f.submission_id where f.user_id = private.caller_id()`,
  answers: sql`
    select r.id as key, r.submitted_at as at, r.survey_id as id, r.survey_title as title from private.my_responses() r`,
});

/** The name on the figure of a profile; null if it has none, or not everybody sees it. */
export const picturedName = (profileId: string) => read<string | null>("pictured_name", profileId);
