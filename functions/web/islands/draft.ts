import { isDone } from "./edited.ts";
import type { Island } from "./island.ts";

type Typed = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
/** By name of the field; the values of several checked boxes are lines. */
type Draft = Record<string, { value: string; initially: string }>;

/** Stores the input of a form until it is submitted: it survives a reload, a failure or a sign-in. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  const key = `draft ${location.pathname} ${form.id}`;
  restore(form, JSON.parse(stored((store) => store.getItem(key)) ?? "{}"));
  form.addEventListener("input", () => stored((store) => store.setItem(key, JSON.stringify(draftOf(form)))), {
    signal,
  });
  form.addEventListener(
    "turbo:submit-end",
    (event) => {
      if (!isDone(event)) return;
      stored((store) => store.removeItem(key));
      form.closest("details")?.removeAttribute("open");
    },
    { signal },
  );
};

/** Browsers may refuse storage in frames: a reload loses the input there. */
function stored<Result>(use: (store: Storage) => Result): Result | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}

function restore(form: HTMLFormElement, draft: Draft) {
  const now = draftOf(form);
  for (const field of fieldsOf(form)) {
    const [kept, shown] = [draft[field.name], now[field.name]];
    // The server's values take precedence over a draft of something else.
    if (!kept || kept.initially !== shown?.initially || kept.value === shown.value) continue;
    if (isChoice(field)) field.checked = kept.value.split("\n").includes(field.value);
    else field.value = kept.value;
    const details = form.closest("details");
    if (details && kept.value !== "") details.open = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function draftOf(form: HTMLFormElement): Draft {
  const named: Record<string, Typed[]> = {};
  for (const field of fieldsOf(form)) (named[field.name] ??= []).push(field);
  return Object.fromEntries(
    Object.entries(named).map(([name, fields]) => [
      name,
      { value: linesOf(fields, currentValueOf), initially: linesOf(fields, initialValueOf) },
    ]),
  );
}

const linesOf = (fields: Typed[], of: (field: Typed) => string[]) => fields.flatMap(of).join("\n");

const fieldsOf = (form: HTMLFormElement) =>
  [...form.querySelectorAll<Typed>("input:not([type=hidden]), textarea, select")].filter(({ name }) => name);

const isChoice = (field: Typed): field is HTMLInputElement =>
  field.type === "radio" || field.type === "checkbox";

const currentValueOf = (field: Typed) => (isChoice(field) && !field.checked ? [] : [field.value]);

function initialValueOf(field: Typed): string[] {
  if (field instanceof HTMLSelectElement)
    return [[...field.options].find(({ defaultSelected }) => defaultSelected)?.value ?? ""];
  return isChoice(field) && !field.defaultChecked ? [] : [isChoice(field) ? field.value : field.defaultValue];
}
