import type { Island } from "./island.ts";

/** A checkbox selects all rows of its table, or all entries of the inbox. The bar that `data-bar` names shows how many are selected. */
export const connect: Island = (element, signal) => {
  const all = element as HTMLInputElement;
  const list = all.closest<HTMLElement>("table, [data-island=inbox]");
  const bar = document.getElementById(all.dataset.bar ?? "");
  const boxes = () => [...(list?.querySelectorAll<HTMLInputElement>("input[type=checkbox][form]") ?? [])];
  const selectAll = () => {
    for (const box of boxes()) box.checked = all.checked;
    update();
  };
  const update = () => {
    const chosen = boxes().filter(({ checked }) => checked).length;
    all.checked = chosen > 0 && chosen === boxes().length;
    all.indeterminate = chosen > 0 && !all.checked;
    const count = bar?.querySelector("[data-chosen]");
    if (count) count.textContent = chosen.toLocaleString(document.documentElement.lang);
    bar?.toggleAttribute("data-any", chosen > 0);
  };
  all.addEventListener("change", selectAll, { signal });
  list?.addEventListener("change", update, { signal });
  // The box was checked before this script was loaded.
  if (all.checked) selectAll();
  else update();
};
