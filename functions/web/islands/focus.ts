import type { Island } from "./island.ts";

/** Moves the focus to the error of a rejected form, because Turbo morphs the page and leaves the focus unchanged. */
export const connect: Island = (element, signal) => {
  element.focus();
  document.addEventListener(
    "turbo:submit-end",
    () => document.addEventListener("turbo:render", () => element.focus(), { signal, once: true }),
    { signal },
  );
};
