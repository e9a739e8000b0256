import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, slug, timestamp, uuid, wholeNumber } from "./fields.ts";
import { text, unstorableWithin } from "./text.ts";

export const memberRoles = ["owner", "admin", "member"] as const;

/** What the X-Organization header, the `organization` parameter or a path names; anything else is a 404. */
export const organizationReference = z
  .union([uuid, slug], "must be the id or the slug of an organization")
  .describe("Id or slug of an organization.");

export const organization = z
  .object({ id: uuid, slug, name: z.string() })
  .meta({ id: "Organization", description: "A tenant: one board of feedback, its surveys and its team." });

// Its settings --------------------------------------------------------------------------------------------------

const visibilities = ["public", "private"] as const;
const anonymousRights = ["read", "vote", "participate"] as const;

export const newSlug = z
  .string()
  .regex(
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    "must be lowercase letters and digits, in words joined by single hyphens",
  )
  .max(64)
  .describe("Lowercase letters and digits, in words joined by single hyphens; at most 64 characters.");

export const organizationPatch = z
  .object({
    name: text({ min: 1, max: 100 }).optional().describe("1 to 100 characters."),
    slug: newSlug.optional(),
    visibility: z.enum(visibilities).optional().describe("A private board is for the team only."),
    require_approval: z
      .boolean()
      .optional()
      .describe("Whether what others write waits until an admin approves it."),
    trust_after: wholeNumber(1, 1000)
      .nullable()
      .optional()
      .describe("After how many approvals an author needs none; null for never."),
    anonymous_may: z
      .enum(anonymousRights)
      .optional()
      .describe(
        "What people who signed in anonymously may do: `read`; `vote`, which is also to follow; or `participate` as others do.",
      ),
    time_zone: z
      .string()
      .max(64)
      .optional()
      .describe("Whose days analytics counts, such as `Europe/Berlin`."),
    settings: z
      .record(z.string(), z.unknown())
      .check((ctx) => {
        const complaint = unstorableWithin(ctx.value);
        if (complaint) ctx.issues.push({ code: "custom", message: complaint, input: ctx.value });
      })
      .optional()
      .describe(
        "Your own, which the service keeps and does not read. Names sent are set, null removes one; at most 20,000 bytes and 64 levels.",
      ),
  })
  .refine((patch) => Object.keys(patch).length > 0, {
    error:
      "must name at least one of name, slug, visibility, require_approval, trust_after, anonymous_may, time_zone, settings",
  })
  .meta({ id: "OrganizationPatch", description: "What to change; at least one field.", minProperties: 1 });

export type OrganizationPatch = z.infer<typeof organizationPatch>;

const limit = count.nullable().describe("Null for no limit; an operator sets it.");

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
      settings: z.record(z.string(), z.unknown()),
      role: z.enum(memberRoles).nullable().describe("The caller's own; null for a key."),
      plan: z.object({
        submissions: count.describe("Submissions there are, merged ones too."),
        max_submissions: limit,
        members: count,
        max_members: limit,
        surveys: count.describe("Surveys there are but archived ones, with all their versions."),
        max_surveys: limit,
      }),
      created_at: timestamp,
      updated_at: timestamp,
    })
    .meta({ id: "OrganizationDetail", description: "An organization as its team sees it." }),
);
