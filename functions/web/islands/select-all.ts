import type { Island } from "./island.ts";

/** A checkbox selects all rows of its table. The bar that `data-bar` names shows the number of selected rows. */
export const connect: Island = (element, signal) => {
  const all = element as HTMLInputElement;
  const table = all.closest("table");
  const bar = document.getElementById(all.dataset.bar ?? "");
  const boxes = () => [...(table?.querySelectorAll<HTMLInputElement>("tbody input[type=checkbox]") ?? [])];
  const selectAll = () => {
    for (const box of boxes()) box.checked = all.checked;
    update();
  };
  const update = () => {
    const chosen = boxes().filter(({ checked }) => checked).length;
    all.checked = chosen > 0 && chosen === boxes().length;
    all.indeterminate = chosen > 0 && !all.checked;
    const count = bar?.querySelector("[data-chosen]");
    if (count) count.textContent = String(chosen);
    bar?.toggleAttribute("data-any", chosen > 0);
  };
  all.addEventListener("change", selectAll, { signal });
  table?.addEventListener("change", update, { signal });
  // The box was checked before this script was loaded.
  if (all.checked) selectAll();
  else update();
};
