import type { Island } from "./island.ts";

const pauseMs = 350;

// The input of the field at the moment when Turbo renders the next page.
let kept: { value: string; at: number | null } | undefined;

/** Submits a search form when typing pauses. The field keeps its focus and the text that was entered in the meantime. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  const input = form.querySelector<HTMLInputElement>("input[type=search]");
  if (!input) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const send = () => {
    clearTimeout(timer);
    timer = setTimeout(() => form.requestSubmit(), pauseMs);
  };
  if (kept) {
    const { value, at } = kept;
    kept = undefined;
    if (input.value !== value) send();
    input.value = value;
    input.focus();
    input.setSelectionRange(at, at);
  } else if (input.value !== input.defaultValue) {
    // The text was entered before this script was loaded.
    send();
  }
  form.addEventListener("input", send, { signal });
  document.addEventListener(
    "turbo:before-render",
    () => {
      kept = document.activeElement === input ? { value: input.value, at: input.selectionStart } : undefined;
    },
    { signal },
  );
  signal.addEventListener("abort", () => clearTimeout(timer));
};
