import { z } from "zod";
import { slug, uuid } from "./fields.ts";

export const memberRoles = ["owner", "admin", "member"] as const;

/** What the X-Organization header, the `organization` parameter or a path names; anything else is a 404. */
export const organizationReference = z
  .union([uuid, slug], "must be the id or the slug of an organization")
  .describe("Id or slug of an organization.");

export const organization = z
  .object({ id: uuid, slug, name: z.string() })
  .meta({ id: "Organization", description: "A tenant: one board of feedback, its surveys and its team." });

export type Organization = z.infer<typeof organization>;
