import type { Island } from "./island.ts";

/** Closes a menu on Escape, on a click outside, and when it loses the focus. */
export const connect: Island = (element, signal) => {
  const menu = element as HTMLDetailsElement;
  const summary = menu.querySelector("summary");
  const close = (event: Event) => {
    if (!menu.contains(event.target as Node)) menu.open = false;
  };
  menu.addEventListener(
    "keydown",
    ({ key }) => {
      if (key !== "Escape" || !menu.open) return;
      menu.open = false;
      summary?.focus();
    },
    { signal },
  );
  document.addEventListener("click", close, { signal });
  document.addEventListener("focusin", close, { signal });
};
