import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { count, slug, timestamp, uuid, wholeNumber } from "./fields.ts";
import { locales } from "./locales.ts";
import { newSlug } from "./organizations.ts";
import { text } from "./text.ts";

const color = z.string().describe("Hex triplet, such as `#6b7280`.");
const name = z.string().describe("In the negotiated language, English where no translation exists.");

export const category = z
  .object({ id: uuid, name, slug, color })
  .meta({ id: "Category", description: "What a submission is about; one each." });

export const tag = z
  .object({ id: uuid, name, slug, color })
  .meta({ id: "Tag", description: "A label; a submission carries any number." });

export const tagReference = z
  .object({ name, slug })
  .meta({ id: "TagReference", description: "A tag as a submission's detail shows it with `expand=tags`." });

export const author = z
  .object({
    id: uuid,
    name: z.string().describe("`Anonymous` where the person gave none."),
    avatar: z.string().nullable().describe("Address of a picture."),
    is_team_member: z.boolean().describe("Whether the person belongs to the organization's team."),
  })
  .meta({ id: "Author", description: "The public face of a person or a key." });

export const authorReference = z
  .object({ id: uuid, name: z.string() })
  .meta({ id: "AuthorReference", description: "The person or key that wrote something." });

export const categoryList = dataOf(z.array(category)).meta({
  id: "CategoryList",
  description: "The categories of an organization, in its order.",
});

export const tagList = dataOf(z.array(tag)).meta({
  id: "TagList",
  description: "The tags of an organization.",
});

// What admins write ---------------------------------------------------------------------------------------------

const labelName = text({ min: 1, max: 100 }).describe("English, 1 to 100 characters.");

const fieldsOfLabel = {
  slug: newSlug.optional().describe("For addresses and filters; without it, made of the name."),
  color: z
    .string()
    .regex(/^#[0-9a-f]{6}$/, "must be a hex triplet in lower case, such as #6b7280")
    .optional(),
  translations: z
    .partialRecord(z.enum(locales), labelName.nullable(), {
      error: ({ code }) =>
        code === "invalid_type" ? undefined : `must be names by locale: ${locales.join(", ")}`,
    })
    .optional()
    .describe("Names in other languages, by locale; null removes one."),
};

const position = wholeNumber(0, 1_000_000)
  .optional()
  .describe("Where it stands in lists; the last by default.");

const oneField = (...names: string[]) => ({
  check: (patch: object) => Object.keys(patch).length > 0,
  error: { error: `must name at least one of ${names.join(", ")}` },
});

export const categoryCreate = z
  .object({ name: labelName, ...fieldsOfLabel, position })
  .meta({ id: "CategoryCreate", description: "A category." });

export const tagCreate = z
  .object({ name: labelName, ...fieldsOfLabel })
  .meta({ id: "TagCreate", description: "A tag." });

const categoryFields = oneField("name", "slug", "color", "translations", "position");
export const categoryPatch = z
  .object({ name: labelName.optional(), ...fieldsOfLabel, position })
  .refine(categoryFields.check, categoryFields.error)
  .meta({ id: "CategoryPatch", description: "What to change; at least one field.", minProperties: 1 });

const tagFields = oneField("name", "slug", "color", "translations");
export const tagPatch = z
  .object({ name: labelName.optional(), ...fieldsOfLabel })
  .refine(tagFields.check, tagFields.error)
  .meta({ id: "TagPatch", description: "What to change; at least one field.", minProperties: 1 });

export const labelMerge = z
  .object({ into_id: uuid.describe("What is kept, of the same organization.") })
  .meta({ id: "LabelMerge", description: "Where to put what it has before it is deleted." });

export const categoryOrder = z
  .object({
    ids: z
      .array(uuid)
      .max(1000)
      .describe("Categories of the organization, first to last; others follow as they stood."),
  })
  .meta({ id: "CategoryOrder", description: "The order categories are shown in." });

const tagAsKept = z.object({
  id: uuid,
  name: z.string().describe("English."),
  slug,
  color,
  translations: z.partialRecord(z.enum(locales), z.string()),
  created_at: timestamp,
});
const categoryAsKept = tagAsKept.extend({ position: count });
const moved = { moved: count.describe("Submissions that had what was merged.") };

export const keptTagAnswer = dataOf(
  tagAsKept.meta({ id: "KeptTag", description: "A tag with all its translations." }),
);
export const keptCategoryAnswer = dataOf(
  categoryAsKept.meta({ id: "KeptCategory", description: "A category with all its translations." }),
);
export const keptTagListAnswer = dataOf(z.array(tagAsKept));
export const keptCategoryListAnswer = dataOf(z.array(categoryAsKept));
export const tagMergeAnswer = dataOf(tagAsKept.extend(moved));
export const categoryMergeAnswer = dataOf(categoryAsKept.extend(moved));
