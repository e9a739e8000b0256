import { isDone } from "./edited.ts";
import type { Island } from "./island.ts";
import { drop, keep, kept, sessionStore } from "./storage.ts";

type Typed = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
/** By name of the field; the values of several checked boxes are lines. */
type Draft = Record<string, { value: string; initially: string }>;

/** Stores the input of a form until the form is submitted, so that it survives reloads, failures and sign-ins. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  const key = `draft ${location.pathname} ${form.id}`;
  restore(form, JSON.parse(kept(sessionStore, key) ?? "{}"));
  form.addEventListener("input", () => keep(sessionStore, key, JSON.stringify(draftOf(form))), { signal });
  form.addEventListener(
    "turbo:submit-end",
    (event) => {
      if (!isDone(event)) return;
      drop(sessionStore, key);
      form.closest("details")?.removeAttribute("open");
    },
    { signal },
  );
};

function restore(form: HTMLFormElement, draft: Draft) {
  const now = draftOf(form);
  for (const field of fieldsOf(form)) {
    const [stored, shown] = [draft[field.name], now[field.name]];
    // Values from the server take precedence over a stored draft.
    if (!stored || stored.initially !== shown?.initially || stored.value === shown.value) continue;
    if (isChoice(field)) field.checked = stored.value.split("\n").includes(field.value);
    else field.value = stored.value;
    const details = form.closest("details");
    if (details && stored.value !== "") details.open = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function draftOf(form: HTMLFormElement): Draft {
  const draft: Draft = {};
  const all = fieldsOf(form);
  for (const name of new Set(all.map(({ name }) => name))) {
    const fields = all.filter((field) => field.name === name);
    draft[name] = { value: linesOf(fields, currentValueOf), initially: linesOf(fields, initialValueOf) };
  }
  return draft;
}

const linesOf = (fields: Typed[], of: (field: Typed) => string[]) => fields.flatMap(of).join("\n");

const fieldsOf = (form: HTMLFormElement) =>
  [...form.querySelectorAll<Typed>("input:not([type=hidden]), textarea, select")].filter(({ name }) => name);

const isChoice = (field: Typed): field is HTMLInputElement => field.type === "radio" || field.type === "checkbox";

const currentValueOf = (field: Typed) => (isChoice(field) && !field.checked ? [] : [field.value]);

function initialValueOf(field: Typed): string[] {
  if (field instanceof HTMLSelectElement)
    return [[...field.options].find(({ defaultSelected }) => defaultSelected)?.value ?? ""];
  return isChoice(field) && !field.defaultChecked ? [] : [isChoice(field) ? field.value : field.defaultValue];
}
