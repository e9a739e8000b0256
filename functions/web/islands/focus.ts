import type { Island } from "./island.ts";

/**
 * The first error of a form gets the focus when it appears: Turbo morphs the page of a rejected form and
 * leaves the focus unchanged.
 */
export const connect: Island = (element, signal) => {
  element.focus();
  document.addEventListener(
    "turbo:submit-end",
    () => document.addEventListener("turbo:render", () => element.focus(), { signal, once: true }),
    { signal },
  );
};
