import type { Island } from "./island.ts";

/** Submits a form when an option is selected. Its button is for visitors without JavaScript. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  form.querySelector("button")?.setAttribute("hidden", "");
  form.addEventListener("change", () => form.requestSubmit(), { signal });
  // The option was selected before this script was loaded.
  const options = [...form.querySelectorAll("option")];
  if (options.some((option) => option.selected !== option.defaultSelected)) form.requestSubmit();
};
