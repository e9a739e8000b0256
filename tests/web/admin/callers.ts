import type { Stack } from "../../../local/stack.ts";

import type { Organization } from "../../api/world.ts";
import type { Place } from "../../browsers/demo.ts";

/** Callers of the dashboard's pages, in the order of the expected results. */
export const adminCallers = ["visitor", "user", "member", "admin", "owner", "other tenant's owner"] as const;

/**
 * Rows that the paths of an area name, such as `:submission`: created again for each caller. Screenshots are taken
 * without the tests' stack, so functions that create rows import their modules only when they are called.
 */
export type AdminWorld = { organization: Organization; authorId: string };

/** Test cases of an area of the dashboard. */
export type AdminArea = {
  name: string;
  /** Pages below /o/:organization/admin, and their responses to each caller; `in` is a redirect to sign-in. */
  pages: [path: string, answers: string][];
  /** Forms and their responses, in the same format. */
  forms: [path: string, fields: Record<string, string>, answers: string][];
  /** Creates the rows named in paths and fields, such as `{ ":survey": (world) => newSurvey(…) }`. */
  ids?: Record<string, (world: AdminWorld) => Promise<string>>;
  /**
   * Pages of the demo data for screenshots, axe-core and keyboard tests; `first` returns the first id in a list of the
   * API.
   */
  places?: (first: (path: string) => Promise<string>, stack: Pick<Stack, "db_url">) => Promise<Place[]>;
};

export const forAdmins = "in 403 403 200 200 403";
export const forOwners = "in 403 403 403 200 403";
export const forMembers = "in 403 200 200 200 403";
/** Expected of a form that only admins may post. */
export const doneByAdmins = "in 403 403 303 303 403";

/** Replaces the placeholders in a text with the ids of new rows. */
export async function filled(text: string, { ids = {} }: AdminArea, world: AdminWorld): Promise<string> {
  let full = text.replaceAll(":organization", world.organization.id);
  for (const [name, make] of Object.entries(ids))
    if (full.includes(name)) full = full.replaceAll(name, await make(world));
  return full;
}
