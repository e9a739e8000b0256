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

const submissionCreatedData = z.object({ submission: z.object(submissionFields) }).meta({
  id: "SubmissionCreatedEvent",
  description: "A submission was made; its author's vote and follow belong to it.",
});

const submissionUpdatedData = z
  .object({
    submission: z.object({
      ...submissionFields,
      category_id: uuid.nullable(),
      merged_into_id: uuid.nullable().describe("Where its votes and comments went; null unless merged."),
      updated_at: timestamp,
    }),
  })
  .meta({
    id: "SubmissionUpdatedEvent",
    description:
      "Title, description, category or issue link changed, or it was part of a merge or the end of one.",
  });

const statusChangedData = z
  .object({
    submission_id: uuid,
    previous_status: submissionStatus,
    new_status: submissionStatus,
    changed_by: z.string().describe("Name of who changed it."),
    note: z.string().describe("Empty where none was given."),
  })
  .meta({ id: "SubmissionStatusChangedEvent", description: "A submission took another status." });

const votesChangedData = z
  .object({ submission_id: uuid, vote_count: count.describe("Votes there are now.") })
  .meta({ id: "SubmissionVotesEvent", description: "A vote came or went; who voted is for admins." });

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
  .meta({ id: "CommentCreatedEvent", description: "A comment can be read by others." });

const memberJoinedData = z
  .object({
    member: z.object({ user_id: uuid, name: z.string(), role: z.enum(memberRoles), joined_at: timestamp }),
  })
  .meta({ id: "MemberJoinedEvent", description: "Somebody accepted an invite to the team." });

const organizationUpdatedData = z
  .object({
    organization,
    changed: z
      .array(z.string())
      .describe("Names of the settings that changed, or `categories`, `tags`, `members`."),
    changes: z
      .record(z.string(), z.object({ from: z.unknown(), to: z.unknown() }))
      .describe("What settings were and are; of `settings` and what is not one, only the name is told."),
  })
  .meta({
    id: "OrganizationUpdatedEvent",
    description: "The organization, or who and what is in it, changed.",
  });

const surveyPublishedData = z
  .object({ survey: z.object({ id: uuid, title: z.string(), url: z.string() }) })
  .meta({ id: "SurveyPublishedEvent", description: "A survey can be answered." });

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
    description: "A survey was answered; by whom and with what is for admins.",
  });

const surveyClosedData = z.object({ survey_id: uuid, response_count: count }).meta({
  id: "SurveyClosedEvent",
  description: "A survey was archived or its time passed; told once, pauses are not.",
});

/** Every event of the outbox by its canonical name, with the shape of its data. */
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

/** Names of the other published list; a receiver that asked for one is sent it under that name. */
export const eventAliases = {
  "vote.created": "submission.vote_added",
  "status.changed": "submission.status_changed",
} as const satisfies Record<string, EventName>;

export type EventAlias = keyof typeof eventAliases;

export const eventName = z.enum([...eventNames, ...(Object.keys(eventAliases) as EventAlias[])]).meta({
  id: "EventName",
  description: "`vote.created` and `status.changed` are other names of two of them.",
});

/** The event a name stands for, alias or not. */
export function canonicalEventName(name: EventName | EventAlias): EventName {
  return name === "vote.created" || name === "status.changed" ? eventAliases[name] : name;
}
