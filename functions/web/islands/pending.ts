import type { Island } from "./island.ts";
import { refreshSoon } from "./refresh.ts";

const everyMs = 2000;
const longestMs = 60_000;

/** Reads the page again while something on it is under way, for a minute at most. */
export const connect: Island = (_element, signal) => {
  const timer = setInterval(() => refreshSoon(), everyMs);
  const end = () => clearInterval(timer);
  signal.addEventListener("abort", end);
  setTimeout(end, longestMs);
};
