import { raw } from "hono/html";
import { icons } from "../assets.generated.ts";
import type { IconName } from "../icons.ts";

/** A decorative icon; adjacent text or the control's label has its meaning. The stylesheet draws it. */
export const Icon = ({ name }: { name: IconName }) => elements[name];

// Built once, because a page has dozens of icons.
const elements = Object.fromEntries(
  Object.entries(icons).map(([name, paths]) => [
    name,
    raw(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${paths}</svg>`),
  ]),
) as Record<IconName, ReturnType<typeof raw>>;
