import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, emailAddress, moderationState, pictureAddress, timestamp, uuid } from "./fields.ts";
import { locale } from "./locales.ts";
import { memberRoles } from "./organizations.ts";
import { submissionStatus, submissionType } from "./submissions.ts";
import { answerGiven, sentiment, sentimentScore } from "./survey-responses.ts";

// In ------------------------------------------------------------------------------------------------------------

export const peopleQuery = z
  .object({
    email: emailAddress.optional().describe("The complete address."),
    search: z
      .string()
      .trim()
      .max(254)
      .optional()
      .describe(
        "A complete address, or a part of the name; fewer than three letters match its beginning. Without it and `email`: who submitted or voted last.",
      ),
  })
  .refine(({ email, search }) => email === undefined || search === undefined, "must not include both email and search")
  .meta({ id: "PeopleQuery", description: "Search by `email` or by `search`." });

export const trustDecision = z
  .object({
    trusted: z
      .boolean()
      .nullable()
      .describe("Whether what they write needs no approval; null leaves it to the organization's `trust_after`."),
  })
  .meta({ id: "TrustDecision", description: "What the team decides about a person." });

export const eraseMeQuery = z
  .object({
    confirm: z
      .literal("erase", "must be erase, because the account is deleted for good")
      .describe("Confirmation: `erase`."),
  })
  .meta({ id: "EraseMeQuery", description: "Erases the caller's account." });

// Out -----------------------------------------------------------------------------------------------------------

const personKind = z
  .enum(["user", "email", "anonymous"])
  .describe("`user` signs in; `email` is known by address only; `anonymous` has neither.");

const found = { id: uuid, kind: personKind, name: z.string(), created_at: timestamp };
const known = {
  email: z.string().nullable(),
  avatar_url: pictureAddress,
  role: z.enum(memberRoles).nullable().describe("Their role on the team; null for none."),
  decided: z.boolean().nullable().describe("What the team decided about their trust; null for nothing."),
  is_trusted: z.boolean().describe("Whether what they write needs no approval."),
  submissions: count,
  comments: count,
  votes: count,
  follows: count,
  answers: count.describe("Number of survey responses."),
};

export const peopleAnswer = dataOf(
  z.array(
    z
      .object(found)
      .extend(z.object(known).partial().shape)
      .meta({
        id: "Person",
        description: "A person of an organization; the fields after `created_at` with `search` only.",
      }),
  ),
);

const contribution = { id: uuid.describe("Id of the submission."), title: z.string(), at: timestamp };
const moderated = { moderation_state: moderationState };

export const personAnswer = dataOf(
  z
    .object({
      ...found,
      ...known,
      newest_submissions: z.array(z.object({ ...contribution, ...moderated, status: submissionStatus })),
      newest_comments: z.array(z.object({ ...contribution, ...moderated, comment_id: uuid, body: z.string() })),
      newest_votes: z.array(z.object({ ...contribution, status: submissionStatus })),
    })
    .meta({ id: "PersonDetail", description: "A person with the newest 20 of what they did." }),
);

export type PersonDetail = z.output<typeof personAnswer>["data"];

export const trustAnswer = dataOf(
  z
    .object({ id: uuid, decided: z.boolean().nullable() })
    .meta({ id: "TrustOfPerson", description: "What the team decided." }),
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
        locale: locale.nullable().describe("The language that the person chose for the pages."),
        created_at: timestamp,
      }),
      memberships: z.array(z.object({ ...own, role: z.enum(memberRoles) })),
      identified_as: z
        .object({ ...own, sub: text, last_identified_at: timestamp })
        .nullable()
        .describe("What the organization's application calls the person, if it identified them."),
      trust: z
        .array(z.object({ ...own, is_trusted: z.boolean() }))
        .describe("Whether a team trusts their content or marked it as spam."),
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
      status_changes: z
        .array(
          z.object({
            ...own,
            submission_id: uuid,
            previous_status: submissionStatus,
            new_status: submissionStatus,
            note: text.nullable(),
          }),
        )
        .describe("Changes of a status that they made."),
      follows: z.array(z.object({ ...own, submission_id: uuid, reason: text })),
      mail_choices: z
        .array(z.object({ organization_id: uuid, kind: text, choice: text }))
        .describe("Which mail they chose to get."),
      unfollows: z
        .array(z.object({ ...own, submission_id: uuid }))
        .describe("Submissions of which they want to hear nothing."),
      mail_mutes: z.array(z.object({ ...own, submission_id: uuid })).describe("Submissions without mail."),
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
        .describe("Surveys they started."),
      survey_requests: z
        .array(
          z.object({
            organization_id: uuid,
            survey_id: uuid,
            created_at: timestamp,
            reminded_at: timestamp.nullable(),
          }),
        )
        .describe("Surveys that they were invited to by mail."),
    })
    .meta({ id: "PersonalData", description: "Personal data: the newest 10,000 rows of each kind." }),
);

export const erasedAnswer = dataOf(
  z.object({ id: uuid, erased: z.literal(true) }).meta({ id: "ErasedPerson", description: "An erased person." }),
);
