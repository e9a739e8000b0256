import { isDone } from "./edited.ts";
import type { Island } from "./island.ts";
import { drop, keep, kept, sessionStore } from "./storage.ts";

type Typed = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
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
  for (const field of fieldsOf(form)) {
    const kept = draft[field.name];
    // Values from the server take precedence over a stored draft.
    if (!kept || kept.initially !== initially(form, field) || kept.value === textOf(form, field)) continue;
    if (field instanceof HTMLInputElement && field.type === "radio")
      field.checked = field.value === kept.value;
    else field.value = kept.value;
    const details = form.closest("details");
    if (details && kept.value !== "") details.open = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

const draftOf = (form: HTMLFormElement): Draft =>
  Object.fromEntries(
    fieldsOf(form).map((field) => [
      field.name,
      { value: textOf(form, field), initially: initially(form, field) },
    ]),
  );

const fieldsOf = (form: HTMLFormElement) =>
  [...form.querySelectorAll<Typed>("input:not([type=hidden], [type=checkbox]), textarea, select")].filter(
    ({ name }) => name,
  );

const textOf = (form: HTMLFormElement, { name }: Typed) => String(new FormData(form).get(name) ?? "");

function initially(form: HTMLFormElement, field: Typed): string {
  if (field instanceof HTMLSelectElement)
    return [...field.options].find(({ defaultSelected }) => defaultSelected)?.value ?? "";
  if (field.type !== "radio") return field.defaultValue;
  const radios = form.querySelectorAll<HTMLInputElement>(`input[name="${field.name}"]`);
  return [...radios].find(({ defaultChecked }) => defaultChecked)?.value ?? "";
}
