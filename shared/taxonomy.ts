import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { slug, uuid } from "./fields.ts";

const color = z.string().describe("Hex triplet, such as `#6b7280`.");
const name = z.string().describe("In the negotiated language, English where no translation exists.");

export const category = z
  .object({ id: uuid, name, slug, color })
  .meta({ id: "Category", description: "What a submission is about; one each." });

export type Category = z.infer<typeof category>;

export const tag = z
  .object({ id: uuid, name, slug, color })
  .meta({ id: "Tag", description: "A label; a submission carries any number." });

export type Tag = z.infer<typeof tag>;

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

export type Author = z.infer<typeof author>;

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
