import { morphElements } from "@hotwired/turbo";
import type { Island } from "./island.ts";
import { untilReleased } from "./reader-activity.ts";
import { listenToNotifications } from "./realtime.ts";

// A digest or a moderator's work changes many at once.
const gatherMs = 300;

/** Keeps the number of unread notifications as it is now: it is read again after each change. */
export const connect: Island = (element, signal) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reading = new AbortController();
  async function show() {
    reading.abort();
    reading = new AbortController();
    const isOver = AbortSignal.any([reading.signal, signal]);
    // Any page has it; this is the smallest that only the visitor's session opens.
    const path = `/notifications?limit=1&lang=${document.documentElement.lang}`;
    const page = await fetch(path, { signal: isOver }).then((response) => response.text());
    const read = new DOMParser().parseFromString(page, "text/html").getElementById(element.id);
    await untilReleased();
    if (read && !isOver.aborted) morphElements(element, read);
  }
  listenToNotifications(element, signal, () => {
    clearTimeout(timer);
    // Without a connection the number stays, until the next change.
    timer = setTimeout(() => show().catch(() => {}), gatherMs);
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
};
