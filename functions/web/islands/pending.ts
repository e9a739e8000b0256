import type { Island } from "./island.ts";
import { refreshSoon } from "./refresh.ts";

const everyMs = 2000;
const longestMs = 60_000;

/** Refreshes the page every two seconds for at most a minute, while it shows an unfinished process. */
export const connect: Island = (_element, signal) => {
  const timer = setInterval(() => refreshSoon(), everyMs);
  const end = () => clearInterval(timer);
  signal.addEventListener("abort", end);
  setTimeout(end, longestMs);
};
