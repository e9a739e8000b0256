import type { Island } from "./island.ts";

export type Islands = Record<string, () => Promise<{ connect: Island }>>;

// An island is loaded when a page first contains it.
const islands: Islands = {
  comment: () => import("./comment.ts"),
  dialog: () => import("./dialog.ts"),
  draft: () => import("./draft.ts"),
  focus: () => import("./focus.ts"),
  "live-board": () => import("./live-board.ts"),
  "live-notifications": () => import("./live-notifications.ts"),
  "live-submission": () => import("./live-submission.ts"),
  menu: () => import("./menu.ts"),
  roadmap: () => import("./roadmap.ts"),
  search: () => import("./search.ts"),
  "send-on-change": () => import("./send-on-change.ts"),
  similar: () => import("./similar.ts"),
  survey: () => import("./survey.ts"),
  "widget-host": () => import("./widget-host.ts"),
};

/** Registers the islands of a script that only some pages load. */
export function addIslands(more: Islands) {
  Object.assign(islands, more);
  connectIslands();
}

const connected = new Map<HTMLElement, AbortController>();

/** Connects new islands and disconnects removed ones. It is called after each change of the page. */
export function connectIslands() {
  for (const [element, ending] of connected) {
    if (element.isConnected) continue;
    connected.delete(element);
    ending.abort();
  }
  for (const element of document.querySelectorAll<HTMLElement>("[data-island]")) {
    const load = islands[element.dataset.island ?? ""];
    if (!load || connected.has(element)) continue;
    const ending = new AbortController();
    connected.set(element, ending);
    // The realtime islands load last, because they are large and not urgent.
    const ready = isLive(element) ? idle() : Promise.resolve();
    ready.then(load).then(
      ({ connect }) => {
        if (!ending.signal.aborted) connect(element, ending.signal);
      },
      () => connected.delete(element),
    );
  }
}

/** Connects the islands for realtime anew, as their connection was closed with the page. */
export function reconnectLiveIslands() {
  for (const [element, ending] of connected) {
    if (!isLive(element)) continue;
    connected.delete(element);
    ending.abort();
  }
  connectIslands();
}

const isLive = ({ dataset }: HTMLElement) => dataset.island?.startsWith("live-");

/** Resolves when the page is loaded and the browser has nothing else to do. */
async function idle() {
  if (document.readyState !== "complete")
    await new Promise((resolve) => addEventListener("load", resolve, { once: true }));
  await new Promise<void>((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => resolve(), { timeout: 2000 });
    else setTimeout(resolve, 500);
  });
}
