import type { Island } from "./island.ts";

/** A form submits itself when an option is selected; its button is for visitors without JavaScript. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  form.querySelector("button")?.setAttribute("hidden", "");
  form.addEventListener("change", () => form.requestSubmit(), { signal });
  // Selected before the script was loaded.
  const options = [...form.querySelectorAll("option")];
  if (options.some((option) => option.selected !== option.defaultSelected)) form.requestSubmit();
};
