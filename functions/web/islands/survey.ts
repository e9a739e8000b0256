import type { Island } from "./island.ts";

/** Counts the answers of a survey's form, and clears choices. */
export const connect: Island = (progress, signal) => {
  const form = progress.closest("form") as HTMLFormElement;
  const show = () => showAnswered(form);
  form.addEventListener("input", show, { signal });
  form.addEventListener(
    "click",
    ({ target }) => {
      const name = (target as HTMLElement).dataset.clear;
      if (!name) return;
      const choices = form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`);
      for (const choice of choices) choice.checked = false;
      choices[0]?.focus();
      choices[0]?.dispatchEvent(new Event("input", { bubbles: true }));
    },
    { signal },
  );
  show();
};

function showAnswered(form: HTMLFormElement) {
  const answered = new Set(
    [...new FormData(form)].flatMap(([name, value]) => (String(value).trim() === "" ? [] : [name])),
  );
  const progress = form.querySelector("progress");
  if (progress) progress.value = answered.size;
  const text = form.querySelector<HTMLElement>("[data-answered]");
  const count = answered.size.toLocaleString(document.documentElement.lang);
  if (text) text.textContent = (text.dataset.answered ?? "").replace("#", count);
  for (const button of form.querySelectorAll<HTMLElement>("[data-clear]"))
    button.hidden = !answered.has(button.dataset.clear ?? "");
}
