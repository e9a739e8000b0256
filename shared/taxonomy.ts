import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, newSlug, patchOf, pictureAddress, slug, timestamp, uuid, wholeNumber } from "./fields.ts";
import { locales } from "./locales.ts";
import { text } from "./text.ts";

const color = z.string().describe("Hex triplet, such as `#6b7280`.");
const name = z.string().describe("In the negotiated language; English without a translation.");

export const category = z
  .object({ id: uuid, name, slug, color })
  .meta({ id: "Category", description: "A category; a submission has at most one." });

export const tag = z
  .object({ id: uuid, name, slug, color })
  .meta({ id: "Tag", description: "A tag; a submission may have any number." });

export const tagReference = z
  .object({ name, slug })
  .meta({ id: "TagReference", description: "A tag of a submission with `expand=tags`." });

export const author = z
  .object({
    id: uuid,
    name: z.string().describe("`Anonymous` without a name."),
    avatar: pictureAddress,
    is_team_member: z.boolean().describe("Whether the person is a team member."),
  })
  .meta({ id: "Author", description: "The public profile of a person, a key or an agent." });

export const authorReference = z
  .object({ id: uuid, name: z.string() })
  .meta({ id: "AuthorReference", description: "The author of content: a person, a key or an agent." });

export const categoryList = dataOf(z.array(category)).meta({
  id: "CategoryList",
  description: "The categories of an organization, in order.",
});

export const tagList = dataOf(z.array(tag)).meta({ id: "TagList", description: "The tags of an organization." });

// Input by admins
// -------------------------------------------------------------------------------------------------

export const labelName = text({ min: 1, max: 100 }).describe("English name, 1 to 100 characters.");

export const labelColor = z.string().regex(/^#[0-9a-f]{6}$/, "must be a lowercase hex color such as #6b7280");

const fieldsOfLabel = {
  slug: newSlug.optional().describe("For URLs and filters; derived from the name by default."),
  color: labelColor.optional(),
  translations: z
    .partialRecord(z.enum(locales), labelName.nullable(), {
      error: ({ code }) =>
        code === "invalid_type" ? undefined : `must be an object of names by locale (${locales.join(", ")})`,
    })
    .optional()
    .describe("Names in other languages, by locale; null removes one."),
};

const position = wholeNumber(0, 1_000_000).optional().describe("Position in lists; last by default.");

export const categoryCreate = z
  .object({ name: labelName, ...fieldsOfLabel, position })
  .meta({ id: "CategoryCreate", description: "A category." });

export const tagCreate = z
  .object({ name: labelName, ...fieldsOfLabel })
  .meta({ id: "TagCreate", description: "A tag." });

export const categoryPatch = patchOf({ name: labelName.optional(), ...fieldsOfLabel, position }).meta({
  id: "CategoryPatch",
  description: "Changed fields; at least one.",
  minProperties: 1,
});

export const tagPatch = patchOf({ name: labelName.optional(), ...fieldsOfLabel }).meta({
  id: "TagPatch",
  description: "Changed fields; at least one.",
  minProperties: 1,
});

export const labelMerge = z
  .object({ into_id: uuid.describe("The row to keep, of the same organization.") })
  .meta({ id: "LabelMerge", description: "The row that receives the submissions of a deleted one." });

export const categoryOrder = z
  .object({ ids: z.array(uuid).max(1000).describe("Category ids in order; the others follow in their current order.") })
  .meta({ id: "CategoryOrder", description: "The order of categories." });

const tagAsKept = z.object({
  id: uuid,
  name: z.string().describe("English."),
  slug,
  color,
  translations: z.partialRecord(z.enum(locales), z.string()),
  created_at: timestamp,
});
const categoryAsKept = tagAsKept.extend({ position: count });
const moved = { moved: count.describe("Number of submissions of the merged row.") };

export const keptTagAnswer = dataOf(tagAsKept.meta({ id: "KeptTag", description: "A tag with all translations." }));
export const keptCategoryAnswer = dataOf(
  categoryAsKept.meta({ id: "KeptCategory", description: "A category with all translations." }),
);
export const keptTagListAnswer = dataOf(z.array(tagAsKept));
export const keptCategoryListAnswer = dataOf(z.array(categoryAsKept));
export const tagMergeAnswer = dataOf(tagAsKept.extend(moved));
export const categoryMergeAnswer = dataOf(categoryAsKept.extend(moved));
