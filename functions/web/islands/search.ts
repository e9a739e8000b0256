import type { Island } from "./island.ts";

const pauseMs = 350;

// The value of the field when Turbo renders the next page.
let kept: { value: string; at: number | null } | undefined;

/**
 * A search form submits itself when typing pauses; the field keeps its focus and the text entered meanwhile.
 */
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
    // Typed before the script was loaded.
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
