import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { emailAddress, timestamp, uuid } from "./fields.ts";
import { locale } from "./locales.ts";
import { memberRoles } from "./organizations.ts";
import { submissionStatus, submissionType } from "./submissions.ts";
import { answerGiven, sentiment, sentimentScore } from "./survey-responses.ts";

// In ------------------------------------------------------------------------------------------------------------

export const peopleQuery = z
  .object({ email: emailAddress.describe("The whole address.") })
  .meta({ id: "PeopleQuery", description: "Whom to look for." });

export const eraseMeQuery = z
  .object({
    confirm: z
      .literal("erase", "must be erase: the account goes for good")
      .describe("Says that it is meant: `erase`."),
  })
  .meta({ id: "EraseMeQuery", description: "Erases the caller's account." });

// Out -----------------------------------------------------------------------------------------------------------

const personKind = z
  .enum(["user", "email", "anonymous"])
  .describe("`user` signs in; `email` is known by address alone; `anonymous` by nothing.");

export const peopleAnswer = dataOf(
  z.array(
    z
      .object({ id: uuid, kind: personKind, name: z.string(), created_at: timestamp })
      .meta({ id: "Person", description: "Somebody an organization knows by an address." }),
  ),
);

const own = { organization_id: uuid, created_at: timestamp };
const text = z.string();

export const personalDataAnswer = dataOf(
  z
    .object({
      profile: z.object({
        id: uuid,
        kind: personKind,
        name: text.nullable(),
        email: text.nullable(),
        avatar_url: text.nullable(),
        created_at: timestamp,
      }),
      memberships: z.array(z.object({ ...own, role: z.enum(memberRoles) })),
      trust: z
        .array(z.object({ ...own, is_trusted: z.boolean() }))
        .describe("Whether a team trusts what they write, or marked them as spam."),
      submissions: z.array(
        z.object({
          ...own,
          id: uuid,
          title: text,
          description: text,
          type: submissionType,
          status: submissionStatus,
          source: text.nullable(),
          updated_at: timestamp,
        }),
      ),
      comments: z.array(
        z.object({
          ...own,
          id: uuid,
          submission_id: uuid,
          parent_id: uuid.nullable(),
          body: text,
          updated_at: timestamp,
        }),
      ),
      votes: z.array(z.object({ ...own, submission_id: uuid })),
      comment_votes: z.array(z.object({ ...own, comment_id: uuid })),
      follows: z.array(z.object({ ...own, submission_id: uuid, reason: text })),
      notifications: z.array(
        z.object({
          ...own,
          type: text,
          submission_id: uuid,
          comment_id: uuid.nullable(),
          read_at: timestamp.nullable(),
        }),
      ),
      survey_responses: z.array(
        z.object({
          id: uuid,
          organization_id: uuid,
          survey_id: uuid,
          survey_title: text,
          answers: z.array(answerGiven.extend({ question: text })),
          locale: locale.nullable(),
          started_at: timestamp.nullable(),
          submitted_at: timestamp,
          sentiment: sentiment.nullable(),
          sentiment_score: sentimentScore.nullable(),
        }),
      ),
      survey_starts: z
        .array(z.object({ organization_id: uuid, survey_id: uuid, started_at: timestamp }))
        .describe("Surveys they began to answer."),
    })
    .meta({
      id: "PersonalData",
      description: "What is kept of a person: the newest 10,000 of each kind.",
    }),
);

export const erasedAnswer = dataOf(
  z
    .object({ id: uuid, erased: z.literal(true) })
    .meta({ id: "ErasedPerson", description: "Somebody who was forgotten." }),
);
