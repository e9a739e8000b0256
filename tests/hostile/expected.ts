/**
 * The expected access to rows through /rest/v1: everything listed is tried, and nothing else may work.
 * tests/database/00_invariants.sql lists the columns.
 */

// anon: anonymous · stranger: signed in, wrote nothing here · author: wrote the rows of `home` · member,
// admin: of home's team · rival: admin of another public organization · insider: member of the private
// organization, not the author there.
export const roles = ["anon", "stranger", "author", "member", "admin", "rival", "insider"] as const;
export type Role = (typeof roles)[number];

// open: on home's public board · waiting: there, pending approval · closed: on the board of a private
// organization.
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
// The moderation state of a submission does not affect a survey.
const withSurvey: Record<Role, string> = {
  anon: "open waiting",
  stranger: "open waiting",
  author: "open waiting",
  member: "open waiting",
  admin: "open waiting",
  rival: "open waiting",
  insider: "open waiting closed",
};
const noAccess = { anon: "", stranger: "", author: "", member: "", admin: "", rival: "", insider: "" };

/** Boards whose rows a SELECT returns; "refused" if the role has no grant on the table. */
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
  // Visible through visible content; a profile with only pending or private content is hidden.
  profiles: { ...withSubmission, author: "open" },
  memberships: { ...noAccess, anon: "refused", member: "open", admin: "open", insider: "closed" },
  follows: { ...noAccess, anon: "refused", author: "open waiting" },
  notifications: { ...noAccess, author: "open waiting" },
  surveys: withSurvey,
  // The questions and options of a draft.
  survey_questions: { ...noAccess, member: "open waiting", admin: "open waiting", insider: "closed" },
  survey_options: { ...noAccess, member: "open waiting", admin: "open waiting", insider: "closed" },
  survey_responses: { ...noAccess, anon: "refused", author: "open waiting", admin: "open waiting" },
};

/**
 * The callers who can do it (`done`) on each board. Everybody else is rejected or, with `others: "nothing"`, affects no
 * row; anon is always rejected. The rows of `open` and `waiting` belong to the author, those of `closed` to another
 * member.
 */
export type Act = {
  open: string;
  waiting: string;
  closed: string;
  others?: "nothing";
  /** Repeats something that the author has already done: nothing changes on open and waiting. */
  again?: "author";
};
const never: Act = { open: "", waiting: "", closed: "" };
const own: Act = { open: "author", waiting: "author", closed: "", others: "nothing" };
const mineOrAdmins: Act = { open: "author admin", waiting: "author admin", closed: "", others: "nothing" };
const admins: Act = { open: "admin", waiting: "admin", closed: "" };
const hidden = (act: Act): Act => ({ ...act, others: "nothing" });
const signedIn = "stranger author member admin rival insider";
const visibleToAll: Act = {
  open: "stranger member admin rival insider",
  waiting: "member admin",
  closed: "insider",
  again: "author",
};

const adminsOnly = { insert: admins, update: hidden(admins), delete: hidden(admins) };

export const acts: Record<string, { insert: Act; update: Act; delete: Act }> = {
  survey_responses: { insert: { open: signedIn, waiting: signedIn, closed: "insider" }, update: never, delete: never },
  survey_options: adminsOnly,
  survey_questions: adminsOnly,
  surveys: adminsOnly,
  follows: { insert: visibleToAll, update: never, delete: own },
  votes: { insert: visibleToAll, update: never, delete: own },
  comment_votes: { insert: visibleToAll, update: never, delete: own },
  notifications: { insert: never, update: own, delete: never },
  status_changes: { insert: admins, update: never, delete: never },
  submission_tags: { insert: admins, update: never, delete: hidden(admins) },
  comments: {
    insert: { open: signedIn, waiting: "author member admin", closed: "insider" },
    update: own,
    delete: mineOrAdmins,
  },
  submissions: {
    insert: { open: signedIn, waiting: signedIn, closed: "insider" },
    update: mineOrAdmins,
    delete: mineOrAdmins,
  },
  profiles: { insert: never, update: own, delete: never },
  memberships: { insert: never, update: never, delete: never },
  categories: { insert: never, update: never, delete: never },
  tags: { insert: never, update: never, delete: never },
  organizations: { insert: never, update: never, delete: never },
};

/** Functions that /rest/v1/rpc may call with a session. */
export const callable = [
  "create_comment",
  "create_submission",
  "delete_comment",
  "delete_submission",
  "follow",
  "mark_notifications_read",
  "my_votes",
  "search_submissions",
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

/** Views, and the callers who find rows about the surveys of `open` in them; all others find none, anon is rejected. */
export const views: Record<string, string> = {
  survey_answers: "author admin",
  survey_results: "admin",
  survey_question_results: "admin",
};
