import { call, read } from "./shapes.ts";

/** Whether the installation has never had an organization. */
export const setupIsOpen = () => read<boolean>("setup_is_open");

/** Creates the first organization, owned by this user of auth. For the login role. */
export const setUp = (
  ownerId: string,
  { name, slug, visibility }: { name: string; slug: string; visibility: string },
) => call("set_up", ownerId, name, slug, visibility);
