import type { Island } from "./island.ts";

/** An open dialog of the page becomes modal; Escape follows its closing link. */
export const connect: Island = (element, signal) => {
  const dialog = element as HTMLDialogElement;
  dialog.close();
  dialog.showModal();
  dialog.addEventListener(
    "cancel",
    (event) => {
      event.preventDefault();
      dialog.querySelector<HTMLElement>("[data-close]")?.click();
    },
    { signal },
  );
};
