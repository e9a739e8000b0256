import type { Statement } from "../database/run.ts";

/** Whether the installation has never had an organization. */
export function setupIsOpen(): Statement<{ open: boolean }> {
  return (sql) => sql`select private.setup_is_open() as open`;
}

/** Creates the first organization, owned by this user of auth. For the login role. */
export function setUp(
  ownerId: string,
  { name, slug, visibility }: { name: string; slug: string; visibility: string },
): Statement {
  return (sql) => sql`select private.set_up(${ownerId}, ${name}, ${slug}, ${visibility})`;
}
