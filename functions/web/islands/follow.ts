import type { Island } from "./island.ts";
import { refreshSoon } from "./refresh.ts";

/** Refreshes the page repeatedly while it contains this element. */
export const connect: Island = (_element, signal) => {
  document.addEventListener("turbo:render", () => refreshSoon(), { signal });
  refreshSoon();
};
