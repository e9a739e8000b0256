import { z } from "zod";
import { count, timestamp, uuid } from "./fields.ts";
import { memberRoles, organization } from "./organizations.ts";
import { submissionStatus, submissionType } from "./submissions.ts";
import { sentiment, sentimentScore } from "./survey-responses.ts";
import { authorReference } from "./taxonomy.ts";

const submissionFields = {
  id: uuid,
  title: z.string(),
  description: z.string(),
  type: submissionType,
  status: submissionStatus,
  vote_count: count,
  url: z.string(),
  created_at: timestamp,
};

const submissionCreatedData = z
  .object({ submission: z.object(submissionFields) })
  .meta({
    id: "SubmissionCreatedEvent",
    description: "A submission was created; includes its author's vote and follow.",
  });

const submissionUpdatedData = z
  .object({
    submission: z.object({
      ...submissionFields,
      category_id: uuid.nullable(),
      tracker_issue_url: z.string().nullable(),
      merged_into_id: uuid.nullable().describe("The merge target; null unless merged."),
      updated_at: timestamp,
    }),
  })
  .meta({
    id: "SubmissionUpdatedEvent",
    description: "Title, description, category or issue link changed, or the submission was merged or unmerged.",
  });

const statusChangedData = z
  .object({
    submission_id: uuid,
    previous_status: submissionStatus,
    new_status: submissionStatus,
    changed_by: z.string().describe("Name of the person who changed it."),
    note: z.string().describe("Empty without a note."),
  })
  .meta({ id: "SubmissionStatusChangedEvent", description: "The status of a submission changed." });

const votesChangedData = z
  .object({ submission_id: uuid, vote_count: count.describe("Current number of votes.") })
  .meta({ id: "SubmissionVotesEvent", description: "A vote was added or removed; the event names no voter." });

const commentCreatedData = z
  .object({
    comment: z.object({
      id: uuid,
      submission_id: uuid,
      parent_id: uuid.nullable(),
      body: z.string(),
      author: authorReference,
      is_official: z.boolean(),
      created_at: timestamp,
    }),
  })
  .meta({ id: "CommentCreatedEvent", description: "A comment was created, or approved if approval is required." });

const memberJoinedData = z
  .object({ member: z.object({ user_id: uuid, name: z.string(), role: z.enum(memberRoles), joined_at: timestamp }) })
  .meta({ id: "MemberJoinedEvent", description: "A person accepted an invite to the team." });

const organizationUpdatedData = z
  .object({
    organization,
    changed: z.array(z.string()).describe("Names of changed settings, or `categories`, `tags`, `members`."),
    changes: z
      .record(z.string(), z.object({ from: z.unknown(), to: z.unknown() }))
      .describe("Old and new values; for `settings` and non-settings the name only."),
  })
  .meta({ id: "OrganizationUpdatedEvent", description: "The organization, its taxonomy or its team changed." });

const surveyPublishedData = z
  .object({ survey: z.object({ id: uuid, title: z.string(), url: z.string() }) })
  .meta({ id: "SurveyPublishedEvent", description: "A survey was published." });

const surveyAnsweredData = z
  .object({
    survey_id: uuid,
    response_id: uuid,
    submitted_at: timestamp,
    sentiment: sentiment.nullable(),
    sentiment_score: sentimentScore.nullable(),
  })
  .meta({
    id: "SurveyResponseCreatedEvent",
    description: "A survey response was submitted; respondent and answers are for admins only.",
  });

const surveyClosedData = z
  .object({ survey_id: uuid, response_count: count })
  .meta({
    id: "SurveyClosedEvent",
    description: "A survey was archived or reached closes_at; emitted once, not for pauses.",
  });

/** All outbox events by canonical name, with the schema of their data. */
export const events = {
  "submission.created": submissionCreatedData,
  "submission.updated": submissionUpdatedData,
  "submission.status_changed": statusChangedData,
  "submission.vote_added": votesChangedData,
  "submission.vote_removed": votesChangedData,
  "comment.created": commentCreatedData,
  "member.joined": memberJoinedData,
  "org.updated": organizationUpdatedData,
  "survey.published": surveyPublishedData,
  "survey.response.created": surveyAnsweredData,
  "survey.closed": surveyClosedData,
} as const;

export type EventName = keyof typeof events;

export const eventNames = Object.keys(events) as [EventName, ...EventName[]];

/** Alternative event names; a receiver that subscribed by alias gets the alias. */
export const eventAliases = {
  "vote.created": "submission.vote_added",
  "status.changed": "submission.status_changed",
} as const satisfies Record<string, EventName>;

export type EventAlias = keyof typeof eventAliases;

export const eventName = z
  .enum([...eventNames, ...(Object.keys(eventAliases) as EventAlias[])])
  .meta({ id: "EventName", description: "`vote.created` and `status.changed` are aliases." });

/** The canonical event of a name or alias. */
export function canonicalEventName(name: EventName | EventAlias): EventName {
  return name === "vote.created" || name === "status.changed" ? eventAliases[name] : name;
}
