import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { emailAddress, patchOf, timestamp, uuid } from "./fields.ts";

const timing = z.enum(["at_once", "daily", "weekly", "never"]);
const digest = z.enum(["daily", "weekly", "never"]);
const single = z.enum(["at_once", "never"]);
type MailTiming = z.infer<typeof timing>;

/** The kinds of mail with a preference, as private.mail_kinds() lists them; `team` is for team members only. */
const choices = {
  status: timing.describe("New statuses of submissions that they submitted or follow."),
  official: timing.describe("An official answer."),
  reply: timing.describe("A reply to their comment."),
  comment: timing.describe("Other comments on submissions that they follow."),
  survey: single.describe("Invitations to surveys."),
  team: digest.describe("The summary of new feedback, for team members."),
};

export type ChosenMailKind = keyof typeof choices;
export const mailKinds = Object.keys(choices) as ChosenMailKind[];

/** When a kind of mail can be sent. */
export const timingsOf = (kind: ChosenMailKind): readonly MailTiming[] => choices[kind].options;

/** Preferences to change; omitted ones stay unchanged. */
export const mailChoices = z
  .object(choices)
  .partial()
  .meta({ id: "MailChoices", description: "When a kind of mail is sent, by kind." });

export const mailPreferencesPatch = patchOf({
  choices: mailChoices.optional(),
  stopped: z.boolean().optional().describe("Whether the organization sends no mail at all."),
}).meta({ id: "MailPreferencesPatch", description: "What to change; at least one field.", minProperties: 1 });

const mailPreferences = z
  .object({
    organization: z.object({ id: uuid, slug: z.string(), name: z.string() }),
    mail_enabled: z.boolean().describe("Whether the organization sends mail at all."),
    choices: z.object({ ...choices, team: digest.optional() }),
    muted: z.array(z.object({ id: uuid, title: z.string() })).describe("Submissions without mail, the newest 100."),
    stopped: z
      .enum(["refused", "bounced", "complained"])
      .nullable()
      .describe(
        "Why they get no mail: they unsubscribed, their mail server rejected it, or they reported it as spam; null if they get mail.",
      ),
  })
  .meta({ id: "MailPreferences", description: "The mail preferences of a person in an organization." });

export type MailPreferences = z.infer<typeof mailPreferences>;

export const mailPreferencesAnswer = dataOf(mailPreferences);

export const mailMuteAnswer = dataOf(
  z
    .object({ submission_id: uuid, is_muted: z.boolean() })
    .meta({ id: "MailMute", description: "Whether the caller gets mail about a submission." }),
);

export const mailSuppressionsQuery = z
  .object({ email: emailAddress.optional().describe("The complete address to look up.") })
  .meta({ id: "MailSuppressionsQuery", description: "The address to look up." });

export const mailSuppressionsAnswer = dataOf(
  z.array(
    z
      .object({
        profile: z.object({ id: uuid, name: z.string() }).nullable().describe("Null for an address without a profile."),
        reason: z.enum(["refused", "bounced", "complained"]),
        created_at: timestamp,
      })
      .meta({ id: "MailSuppression", description: "A person who gets no mail." }),
  ),
);
