import type { Island } from "./island.ts";

/** Makes an open dialog of the page modal. Escape follows the link that closes it. */
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
