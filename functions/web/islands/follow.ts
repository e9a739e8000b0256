import type { Island } from "./island.ts";
import { refreshSoon } from "./refresh.ts";

/** Reads the page again and again while this element is on it. */
export const connect: Island = (_element, signal) => {
  document.addEventListener("turbo:render", () => refreshSoon(), { signal });
  refreshSoon();
};
