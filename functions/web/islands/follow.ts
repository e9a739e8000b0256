import type { Island } from "./island.ts";
import { refreshSoon } from "./refresh.ts";

/** Refreshes the page repeatedly while it contains this element, at most for `data-for` seconds. */
export const connect: Island = (element, signal) => {
  const endsAt = Date.now() + Number(element.dataset.for ?? Number.POSITIVE_INFINITY) * 1000;
  const read = () => {
    if (Date.now() < endsAt) refreshSoon();
  };
  document.addEventListener("turbo:render", read, { signal });
  read();
};
