import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, newSlug, patchOf, slug, timestamp, uuid, webAddress, wholeNumber } from "./fields.ts";
import { locale } from "./locales.ts";
import { mailChoices } from "./mail.ts";
import { text, unstorableWithin } from "./text.ts";
import { isTimeZone } from "./time-zones.ts";

export const memberRoles = ["owner", "admin", "member"] as const;
export type MemberRole = (typeof memberRoles)[number];

/** Value of the X-Organization header, the `organization` parameter or a path; anything else is a 404. */
export const organizationReference = z
  .union([uuid, slug], "must be the id or the slug of an organization")
  .describe("Id or slug of an organization.");

export const organization = z
  .object({ id: uuid, slug, name: z.string() })
  .meta({ id: "Organization", description: "A tenant: one board with its surveys and its team." });

// Settings
// ------------------------------------------------------------------------------------------------------

export const visibilities = ["public", "private"] as const;
const anonymousRights = ["read", "vote", "participate"] as const;

export const maxTrustAfter = 1000;
export const organizationName = text({ min: 1, max: 100 });

export const organizationPatch = patchOf({
  name: organizationName.optional().describe("1 to 100 characters."),
  slug: newSlug.optional(),
  visibility: z.enum(visibilities).optional().describe("A private board is visible to the team only."),
  require_approval: z.boolean().optional().describe("Whether content of non-members needs approval by an admin."),
  trust_after: wholeNumber(1, maxTrustAfter)
    .nullable()
    .optional()
    .describe("Number of approvals after which an author needs none; null for never."),
  anonymous_may: z
    .enum(anonymousRights)
    .optional()
    .describe(
      "What anonymous users may do: `read`; `vote`, which includes following; or `participate` like other users.",
    ),
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, "must be a time zone such as Europe/Berlin")
    .optional()
    .describe("Time zone of the days on its pages and in analytics, such as `Europe/Berlin`."),
  default_locale: locale
    .optional()
    .describe("Language of its pages for browsers that name none of the service's languages."),
  brand_color: z
    .string()
    .regex(/^#[0-9a-f]{6}$/, "must be a lowercase hex color such as #6b7280")
    .nullable()
    .optional()
    .describe("Color of its pages, `#rrggbb`; null for the default."),
  logo_url: webAddress
    .startsWith("https://", "must be a URL that starts with https://")
    .nullable()
    .optional()
    .describe("URL of the logo on its pages, https; null for none. An uploaded logo is deleted."),
  allow_indexing: z.boolean().optional().describe("Whether search engines may list the pages of a public board."),
  mail_enabled: z.boolean().optional().describe("Whether people get mail of what happens here."),
  mail_defaults: mailChoices
    .optional()
    .describe("When each kind of mail is sent to those who chose nothing; merges the given kinds."),
  settings: z
    .record(z.string(), z.unknown())
    .check((ctx) => {
      const complaint = unstorableWithin(ctx.value);
      if (complaint) ctx.issues.push({ code: "custom", message: complaint, input: ctx.value });
    })
    .optional()
    .describe(
      "Free-form JSON that the service stores and does not read. Merges the given keys; null removes a key. At most 20,000 bytes and 64 levels.",
    ),
}).meta({ id: "OrganizationPatch", description: "Changed fields; at least one.", minProperties: 1 });

export type OrganizationPatch = z.infer<typeof organizationPatch>;

const limit = count.nullable().describe("Null for no limit; set by an operator.");

export const organizationDetailAnswer = dataOf(
  z
    .object({
      id: uuid,
      slug,
      name: z.string(),
      visibility: z.enum(visibilities),
      require_approval: z.boolean(),
      trust_after: count.nullable(),
      anonymous_may: z.enum(anonymousRights),
      time_zone: z.string(),
      default_locale: locale,
      brand_color: z.string().nullable(),
      logo_url: z.string().nullable().describe("An https URL, or the path of an uploaded logo at the pages."),
      allow_indexing: z.boolean(),
      mail_enabled: z.boolean(),
      mail_defaults: mailChoices.describe("All kinds, as in force."),
      settings: z.record(z.string(), z.unknown()),
      role: z.enum(memberRoles).nullable().describe("The caller's role; null for a key."),
      plan: z.object({
        submissions: count.describe("Number of submissions, including merged ones."),
        max_submissions: limit,
        members: count,
        max_members: limit,
        surveys: count.describe("Number of surveys that are not archived, including all versions."),
        max_surveys: limit,
        unconfirmed_mails: count.describe("Mails sent today to people known only by an address that others entered."),
        max_unconfirmed_mails: limit.describe("In a day; further ones wait for the next digest."),
      }),
      created_at: timestamp,
      updated_at: timestamp,
    })
    .meta({ id: "OrganizationDetail", description: "An organization with the fields that its team may see." }),
);
