import { morphElements } from "@hotwired/turbo";
import { hasEdits, isEdited } from "./edited.ts";
import { untilIdle } from "./reader-activity.ts";

const soonestMs = 200;
// A random delay prevents simultaneous requests of all readers of the same page.
const spreadMs = 1000;
const retryMs = 15_000;

type Reason = { address: string; isShown: () => boolean };

/** Of a request that others cause by what they write: its response is not compressed (compression.ts). */
export const byItself = { "Cache-Control": "no-transform" };

/** The requested refreshes. */
let reasons: Reason[] = [];
let isRunning = false;
let renders = 0;
document.addEventListener("turbo:render", () => renders++);

/**
 * Refreshes the page: requests it again and morphs the differences, when the page is visible, no request is pending and the
 * reader is idle. Does nothing if `isShown` returns true then, because the page shows the change already.
 */
export function refreshSoon(isShown = () => false) {
  reasons.push({ address: address(), isShown });
  if (!isRunning) run();
}

const address = () => location.pathname + location.search;

async function run() {
  isRunning = true;
  for (let delay = soonestMs; reasons.length > 0; ) {
    await pause(delay + Math.random() * spreadMs);
    await idle();
    const path = address();
    const known = reasons.filter((reason) => reason.address === path && !reason.isShown());
    reasons = [];
    if (known.length === 0) break;
    const before = renders;
    const read = await readPage(path);
    await idle();
    // Another response that was rendered in the meantime may be newer or older than this one.
    const isCurrent = renders === before && address() === path;
    if (read === "failed" || !isCurrent) reasons.push(...known);
    else if (read) show(read);
    delay = read === "failed" ? retryMs : soonestMs;
  }
  isRunning = false;
}

async function readPage(path: string): Promise<Document | "failed" | undefined> {
  try {
    const response = await fetch(path, { headers: { Accept: "text/html", ...byItself } });
    // The session has ended. The next action of the reader leads to the sign-in.
    if (new URL(response.url).pathname === "/sign-in") return undefined;
    if (!response.ok && ![403, 404].includes(response.status)) return "failed";
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return "failed";
  }
}

// Messages about an action of the reader and forms with errors: the response to a GET request does not contain them.
const answers =
  "[role=alert], .notice:is([role=status], :has([role=status])), form:has([role=alert], [aria-invalid=true]), .fresh:not([hidden])";

function show(read: Document) {
  // A new version of the service has other scripts and styles, which only a reload applies.
  if (assetsOf(read) !== assetsOf(document)) return;
  document.title = read.title;
  for (const name of ["lang", "data-theme"]) {
    const value = read.documentElement.getAttribute(name);
    if (value === null) document.documentElement.removeAttribute(name);
    else document.documentElement.setAttribute(name, value);
  }
  morphElements(document.body, read.body, {
    callbacks: {
      beforeNodeMorphed: (node: Node, next?: Node) =>
        !(node instanceof Element && (node.matches(answers) || (next ? isEdited(node) : isInUse(node)))),
    },
  });
  document.dispatchEvent(new CustomEvent("turbo:render", { detail: { renderMethod: "morph" } }));
}

const isInUse = (element: Element) => element.contains(document.activeElement) || hasEdits(element);

const assetsOf = (page: Document) =>
  [...page.querySelectorAll("[data-turbo-track=reload]")]
    .map((element) => element.getAttribute("src") ?? element.getAttribute("href"))
    .join();

/** Resolves when the page is visible, no request is pending and the reader is idle. */
async function idle() {
  for (;;) {
    await untilIdle();
    if (document.hidden)
      await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
    else if (document.querySelector("html[aria-busy=true], form[aria-busy=true]")) await pause(soonestMs);
    else return;
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
