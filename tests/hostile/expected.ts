/** Who may do what with which row through /rest/v1: what stands here is tried, and nothing else may work. */

// anon: nobody · stranger: signed in, wrote nothing here · author: wrote the rows of `home` · member, admin: of home's
// team · rival: admin of another public organization · insider: member of the private organization, not the author there.
export const roles = ["anon", "stranger", "author", "member", "admin", "rival", "insider"] as const;
export type Role = (typeof roles)[number];

// open: on home's public board · waiting: there, not yet approved · closed: on the board of a private organization.
export const boards = ["open", "waiting", "closed"] as const;
export type Board = (typeof boards)[number];

const withSubmission: Record<Role, string> = {
  anon: "open",
  stranger: "open",
  author: "open waiting",
  member: "open waiting",
  admin: "open waiting",
  rival: "open",
  insider: "open closed",
};
const withOrganization: Record<Role, string> = {
  anon: "open",
  stranger: "open",
  author: "open",
  member: "open",
  admin: "open",
  rival: "open",
  insider: "open closed",
};
// Whether a submission waits makes no difference to a survey.
const withSurvey: Record<Role, string> = {
  anon: "open waiting",
  stranger: "open waiting",
  author: "open waiting",
  member: "open waiting",
  admin: "open waiting",
  rival: "open waiting",
  insider: "open waiting closed",
};
const nobody = { anon: "", stranger: "", author: "", member: "", admin: "", rival: "", insider: "" };

/** Boards whose rows a SELECT shows; "refused" where the table itself is not granted. */
export const visible: Record<string, Record<Role, string>> = {
  organizations: withOrganization,
  categories: withOrganization,
  tags: withOrganization,
  submissions: withSubmission,
  submission_tags: withSubmission,
  status_changes: withSubmission,
  votes: withSubmission,
  comments: withSubmission,
  comment_votes: withSubmission,
  // Through what one wrote where others see it; who wrote only what waits or is closed is hidden with it.
  profiles: { ...withSubmission, author: "open" },
  memberships: { ...nobody, anon: "refused", member: "open", admin: "open", insider: "closed" },
  follows: { ...nobody, anon: "refused", author: "open waiting" },
  notifications: { ...nobody, author: "open waiting" },
  surveys: withSurvey,
  // Those of a draft.
  survey_questions: { ...nobody, member: "open waiting", admin: "open waiting", insider: "closed" },
  survey_options: { ...nobody, member: "open waiting", admin: "open waiting", insider: "closed" },
  survey_responses: { ...nobody, anon: "refused", author: "open waiting", admin: "open waiting" },
};

/** Columns a SELECT may name, all others being refused. */
const submissionColumns =
  "id organization_id title description type status vote_count comment_count author_id category_id source tracker_issue_url moderation_state is_public merged_into_id created_at updated_at";
const surveyColumns =
  "title description allow_multiple_responses show_branding redirect_url closes_at audience audience_submission_id locales";
const taxonomyColumns = "id organization_id name slug color translations created_at";
const commentColumns =
  "id organization_id submission_id parent_id author_id body is_official vote_count reply_count moderation_state is_public created_at updated_at";

const readableByAll: Record<string, string> = {
  organizations: "id slug name visibility time_zone created_at",
  profiles: "id kind name avatar_url created_at",
  categories: `${taxonomyColumns} position`,
  tags: taxonomyColumns,
  submissions: submissionColumns,
  submission_tags: "organization_id submission_id tag_id",
  status_changes: "id organization_id submission_id previous_status new_status changed_by note created_at",
  votes: "id organization_id submission_id created_at",
  comments: commentColumns,
  comment_votes: "id organization_id submission_id comment_id created_at",
  surveys:
    "id organization_id title description status allow_multiple_responses show_branding redirect_url closes_at version_of published_at closed_at created_at updated_at",
  survey_questions: "id organization_id survey_id type text required position multiple scale",
  survey_options: "id organization_id survey_id question_id text position",
};
export const readable: Record<"anon" | "session", Record<string, string>> = {
  anon: { ...readableByAll, memberships: "", follows: "", notifications: "id", survey_responses: "" },
  session: {
    ...readableByAll,
    memberships: "organization_id user_id role created_at",
    follows: "organization_id submission_id user_id reason created_at",
    notifications: "id organization_id user_id type submission_id comment_id read_at created_at",
    survey_responses:
      "id organization_id survey_id user_id answers locale started_at submitted_at sentiment_score sentiment sentiment_engine",
  },
};

/** Columns a session may name when it inserts or updates, even an admin's; without a session there are none. */
export const writable: Record<string, { insert: string; update: string }> = {
  organizations: { insert: "", update: "" },
  profiles: { insert: "", update: "name avatar_url" },
  memberships: { insert: "", update: "" },
  categories: { insert: "", update: "" },
  tags: { insert: "", update: "" },
  submissions: {
    insert: "id organization_id title description type category_id",
    update: "title description category_id tracker_issue_url",
  },
  submission_tags: { insert: "organization_id submission_id tag_id", update: "" },
  status_changes: { insert: "organization_id submission_id new_status note notify", update: "" },
  votes: { insert: "submission_id", update: "" },
  comments: { insert: "id submission_id parent_id body", update: "body" },
  comment_votes: { insert: "comment_id", update: "" },
  follows: { insert: "submission_id", update: "" },
  notifications: { insert: "", update: "read_at" },
  surveys: {
    insert: `id organization_id ${surveyColumns}`,
    update: `status ${surveyColumns}`,
  },
  survey_questions: {
    insert: "id organization_id survey_id type text required position multiple scale",
    update: "type text required position multiple scale",
  },
  survey_options: {
    insert: "id organization_id survey_id question_id text position",
    update: "text position",
  },
  survey_responses: { insert: "survey_id answers locale", update: "" },
};

/**
 * Who can do it (`done`) on which board. Everybody else is refused or, with `others: "nothing"`, hits no row; anon is
 * refused always. The rows of `open` and `waiting` are the author's, those of `closed` belong to a colleague of the insider.
 */
export type Act = {
  open: string;
  waiting: string;
  closed: string;
  others?: "nothing";
  /** The author has it already: nothing changes on open and waiting, where they are. */
  again?: "author";
};
const never: Act = { open: "", waiting: "", closed: "" };
const mine: Act = { open: "author", waiting: "author", closed: "", others: "nothing" };
const mineOrAdmins: Act = { open: "author admin", waiting: "author admin", closed: "", others: "nothing" };
const admins: Act = { open: "admin", waiting: "admin", closed: "" };
const hidden = (act: Act): Act => ({ ...act, others: "nothing" });
const signedIn = "stranger author member admin rival insider";
const whoeverSeesIt: Act = {
  open: "stranger member admin rival insider",
  waiting: "member admin",
  closed: "insider",
  again: "author",
};

const adminsOnly = { insert: admins, update: hidden(admins), delete: hidden(admins) };

export const acts: Record<string, { insert: Act; update: Act; delete: Act }> = {
  survey_responses: {
    insert: { open: signedIn, waiting: signedIn, closed: "insider" },
    update: never,
    delete: never,
  },
  survey_options: adminsOnly,
  survey_questions: adminsOnly,
  surveys: adminsOnly,
  follows: { insert: whoeverSeesIt, update: never, delete: mine },
  votes: { insert: whoeverSeesIt, update: never, delete: mine },
  comment_votes: { insert: whoeverSeesIt, update: never, delete: mine },
  notifications: { insert: never, update: mine, delete: never },
  status_changes: { insert: admins, update: never, delete: never },
  submission_tags: { insert: admins, update: never, delete: hidden(admins) },
  comments: {
    insert: { open: signedIn, waiting: "author member admin", closed: "insider" },
    update: mine,
    delete: mineOrAdmins,
  },
  submissions: {
    insert: { open: signedIn, waiting: signedIn, closed: "insider" },
    update: mineOrAdmins,
    delete: mineOrAdmins,
  },
  profiles: { insert: never, update: mine, delete: never },
  memberships: { insert: never, update: never, delete: never },
  categories: { insert: never, update: never, delete: never },
  tags: { insert: never, update: never, delete: never },
  organizations: { insert: never, update: never, delete: never },
};

/** Functions /rest/v1/rpc may call, with a session. */
export const callable = [
  "create_comment",
  "create_submission",
  "delete_comment",
  "delete_submission",
  "follow",
  "mark_notifications_read",
  "my_votes",
  "start_survey",
  "submit_survey_response",
  "unfollow",
  "unvote",
  "unvote_comment",
  "update_comment",
  "update_profile",
  "update_submission",
  "vote",
  "vote_comment",
];

/** Views, and who finds rows about the surveys of `open` in them; whoever is not named finds none, anon is refused. */
export const views: Record<string, string> = {
  survey_answers: "author admin",
  survey_results: "admin",
  survey_question_results: "admin",
};
