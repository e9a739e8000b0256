import type { Island } from "./island.ts";

/** Makes cards draggable. Dropping a card on another column opens its form with the status of that column. */
export const connect: Island = (element, signal) => {
  let dragged: HTMLElement | undefined;
  for (const card of element.querySelectorAll<HTMLElement>(".roadmap-card")) card.draggable = true;
  const columnOf = ({ target }: Event) => (target as HTMLElement).closest<HTMLElement>("[data-status]");
  const mark = (column: HTMLElement | null) => {
    for (const other of element.querySelectorAll("[data-status]")) other.classList.toggle("target", other === column);
  };
  const listen = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    hear: (event: HTMLElementEventMap[Name]) => void,
  ) => element.addEventListener(name, hear, { signal });

  listen("dragstart", (event) => {
    dragged = (event.target as HTMLElement).closest<HTMLElement>(".roadmap-card") ?? undefined;
    if (!dragged || !event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.querySelector("h3 a")?.textContent ?? "");
    dragged.classList.add("dragged");
  });
  listen("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = undefined;
    mark(null);
  });
  listen("dragover", (event) => {
    const column = columnOf(event);
    if (!dragged || !column || column.contains(dragged)) return mark(null);
    event.preventDefault();
    mark(column);
  });
  listen("drop", (event) => {
    const status = columnOf(event)?.dataset.status;
    const link = dragged?.querySelector<HTMLAnchorElement>("a.move");
    if (!status || !link) return;
    event.preventDefault();
    const url = new URL(link.href);
    url.searchParams.set("to", status);
    link.href = url.href;
    link.click();
  });
};
