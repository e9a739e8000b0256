import type { Island } from "./island.ts";

const previewDelayMs = 400;

/** Makes questions draggable, which changes their order in the form, and updates the preview after input. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  const listen = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    hear: (event: HTMLElementEventMap[Name]) => void,
  ) => form.addEventListener(name, hear, { signal });

  let dragged: HTMLElement | null = null;
  const editorOf = ({ target }: Event) => (target as HTMLElement).closest<HTMLElement>(".question-editor");
  listen("dragstart", (event) => {
    if (!(event.target as HTMLElement).closest(".grip")) return;
    dragged = editorOf(event);
    if (!dragged || !event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    event.dataTransfer.setDragImage(dragged, 16, 16);
    dragged.classList.add("dragged");
  });
  listen("dragover", (event) => {
    const over = editorOf(event);
    if (!dragged) return;
    event.preventDefault();
    if (!over || over === dragged) return;
    const { top, height } = over.getBoundingClientRect();
    over[event.clientY > top + height / 2 ? "after" : "before"](dragged);
  });
  listen("drop", (event) => {
    if (dragged) event.preventDefault();
  });
  listen("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    renumber(form);
    preview();
  });

  let timer: ReturnType<typeof setTimeout> | undefined;
  const preview = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!signal.aborted) form.requestSubmit(form.querySelector<HTMLButtonElement>("[value=preview]"));
    }, previewDelayMs);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  listen("change", preview);
  form.addEventListener("turbo:frame-load", ({ target }) => (target as HTMLElement).id === "questions" && preview(), {
    signal,
  });
};

/** Updates the displayed numbers of the questions; their fields keep their names. */
function renumber(form: HTMLFormElement) {
  const editors = [...form.querySelectorAll<HTMLElement>(".question-editor")];
  for (const [index, editor] of editors.entries()) {
    const number = editor.querySelector<HTMLElement>("[data-number]");
    if (number) number.textContent = (number.dataset.number ?? "").replace("#", String(index + 1));
    const button = (does: string) => editor.querySelector<HTMLButtonElement>(`[name=do][value^="${does}."]`);
    button("up")?.toggleAttribute("disabled", index === 0);
    button("down")?.toggleAttribute("disabled", index === editors.length - 1);
  }
}
