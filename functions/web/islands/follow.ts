import type { Island } from "./island.ts";
import { refreshSoon } from "./refresh.ts";

/** Reads the page again and again while this element is on it, for `data-for` seconds at most. */
export const connect: Island = (element, signal) => {
  const endsAt = Date.now() + Number(element.dataset.for ?? Number.POSITIVE_INFINITY) * 1000;
  const read = () => {
    if (Date.now() < endsAt) refreshSoon();
  };
  document.addEventListener("turbo:render", read, { signal });
  read();
};
