import type { Island } from "./island.ts";
import { drop, keep, kept, sessionStore } from "./storage.ts";

/** Stores the answers of a survey for reloads in this tab, and counts them. The thank-you page deletes the stored answers. */
export const connect: Island = (element, signal) => {
  const key = element.dataset.keep ?? "";
  if (!(element instanceof HTMLFormElement)) return drop(sessionStore, key);
  if (!element.dataset.refused) fill(element, JSON.parse(kept(sessionStore, key) ?? "[]"));
  const change = () => {
    const answers = answersOf(element);
    keep(sessionStore, key, JSON.stringify(answers));
    show(element, new Set(answers.map(([name]) => name)));
  };
  element.addEventListener("input", change, { signal });
  element.addEventListener(
    "click",
    ({ target }) => {
      const name = (target as HTMLElement).dataset.clear;
      if (!name) return;
      for (const input of inputsOf(element, name)) (input as HTMLInputElement).checked = false;
      inputsOf(element, name)[0]?.focus();
      change();
    },
    { signal },
  );
  change();
};

type Answers = [name: string, value: string][];

const answersOf = (form: HTMLFormElement): Answers =>
  [...new FormData(form)].flatMap(([name, value]) =>
    typeof value === "string" && value.trim() !== "" ? [[name, value]] : [],
  );

const inputsOf = (form: HTMLFormElement, name: string) =>
  [...form.elements].filter(
    (input): input is HTMLInputElement | HTMLTextAreaElement =>
      (input instanceof HTMLInputElement || input instanceof HTMLTextAreaElement) && input.name === name,
  );

function fill(form: HTMLFormElement, answers: Answers) {
  for (const [name, value] of answers)
    for (const input of inputsOf(form, name)) {
      if (input.type !== "radio" && input.type !== "checkbox") input.value = value;
      else if (input.value === value) (input as HTMLInputElement).checked = true;
    }
}

function show(form: HTMLFormElement, answered: ReadonlySet<string>) {
  const progress = form.querySelector("progress");
  if (progress) progress.value = answered.size;
  const text = form.querySelector<HTMLElement>("[data-answered]");
  if (text) text.textContent = (text.dataset.answered ?? "").replace("#", String(answered.size));
  for (const button of form.querySelectorAll<HTMLElement>("[data-clear]"))
    button.hidden = !answered.has(button.dataset.clear ?? "");
}
