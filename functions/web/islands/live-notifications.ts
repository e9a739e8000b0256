import { morphElements } from "@hotwired/turbo";
import type { Island } from "./island.ts";
import { untilReleased } from "./reader-activity.ts";
import { listenToNotifications } from "./realtime.ts";
import { byItself } from "./refresh.ts";

// A digest or a moderator changes many notifications at once, and one request is enough for them.
const gatherMs = 300;

/** Updates the number of unread notifications: reads it again after each change. */
export const connect: Island = (element, signal) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reading = new AbortController();
  async function show() {
    reading.abort();
    reading = new AbortController();
    const isOver = AbortSignal.any([reading.signal, signal]);
    // Every page contains the number; this is the smallest page that requires the visitor's session.
    const path = `/notifications?limit=1&lang=${document.documentElement.lang}`;
    const page = await fetch(path, { signal: isOver, headers: byItself }).then((response) => response.text());
    const read = new DOMParser().parseFromString(page, "text/html").getElementById(element.id);
    await untilReleased();
    if (read && !isOver.aborted) morphElements(element, read);
  }
  listenToNotifications(element, signal, () => {
    clearTimeout(timer);
    // After a failed request, the number stays unchanged until the next change.
    timer = setTimeout(() => show().catch(() => {}), gatherMs);
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
};
