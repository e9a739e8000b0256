import type { Island } from "./island.ts";

/** A button copies the text in its `data-text` to the clipboard and confirms that. */
export const connect: Island = (element, signal) => {
  const label = element.querySelector("[data-label]");
  const before = label?.textContent ?? "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  element.addEventListener(
    "click",
    async () => {
      await navigator.clipboard.writeText(element.dataset.text ?? "");
      if (!label) return;
      label.textContent = element.dataset.done ?? before;
      clearTimeout(timer);
      timer = setTimeout(() => {
        label.textContent = before;
      }, 2000);
    },
    { signal },
  );
};
