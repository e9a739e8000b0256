import { type FromFrame, protocol, type ToFrame } from "../widget/protocol.ts";
import type { Island } from "./island.ts";
import { drop, keep, kept, localStore, sessionStore } from "./storage.ts";

const dayMs = 86_400_000;
/** The time between two requests for the number of unread news (docs/decisions/0295-widget-badge-polls.md). */
const pollMs = 120_000;
const maxPollMs = 3_600_000;

/** The widget's side in the frame: reports the state of the frame to the host page and handles the host page's messages. */
export const connect: Island = (element, signal) => {
  const origins: string[] = JSON.parse(element.dataset.origins ?? "[]");
  let host: string | undefined;
  let isShown = false;
  let isStale = false;
  const tell = (message: FromFrame) => {
    if (host) window.parent.postMessage({ protocol, ...message }, host);
  };

  const answers: { [Type in ToFrame["type"]]: (message: Extract<ToFrame, { type: Type }>) => unknown } = {
    welcome: (message) => {
      isShown = message.isShown;
      tell(stateOf(element));
      if (isShown) markRead(element, tell);
    },
    shown: ({ theme }) => {
      isShown = true;
      if (theme) document.documentElement.dataset.theme = theme;
      else delete document.documentElement.dataset.theme;
      markRead(element, tell);
    },
    hidden: () => {
      isShown = false;
      if (isStale) location.reload();
    },
    identify: ({ token }) => identify(element, token, tell),
    logout: () => logout(element, tell),
    snooze: ({ survey, days }) => snooze(survey, days),
  };
  addEventListener(
    "message",
    ({ source, origin, data }) => {
      if (source !== window.parent || !origins.includes(origin) || data?.protocol !== protocol) return;
      host = origin;
      const message = data as ToFrame;
      if (Object.hasOwn(answers, message.type)) answers[message.type](message as never);
    },
    { signal },
  );
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) tell({ type: "close" });
    },
    { signal },
  );
  document.addEventListener("turbo:render", () => tell(stateOf(element)), { signal });

  watchUnread(element, signal, (unread) => {
    if (!host) return;
    const news = document.getElementById("news");
    if (unread !== null) tell({ type: "unread", count: unread });
    // The list of news is out of date, or its session has ended. It is not reloaded while the person reads it.
    if (!news || (unread !== null && unread === Number(news.dataset.unread))) return;
    if (isShown) isStale = true;
    else location.reload();
  });

  // The target origin is unknown. The message contains no data, and only allowed origins can frame the page.
  if (window.parent !== window) window.parent.postMessage({ protocol, type: "hello" }, "*");
};

function stateOf({ dataset }: HTMLElement): FromFrame {
  const news = document.getElementById("news")?.dataset;
  const viewer = dataset.viewer ?? null;
  const claims = kept(sessionStore, identifying);
  if (viewer && claims) {
    keep(sessionStore, identified, JSON.stringify([claims, viewer]));
    drop(sessionStore, identifying);
  }
  const survey = news?.survey ? (JSON.parse(news.survey) as { id: string; title: string }) : null;
  const query = new URLSearchParams(location.search);
  return {
    type: "state",
    viewer,
    section: dataset.section ?? null,
    words: JSON.parse(dataset.words ?? "{}"),
    colors: JSON.parse(dataset.colors ?? "null"),
    unread: news && Number(news.unread),
    survey: survey && !isSnoozed(survey.id) ? survey : null,
    did: query.get("done") === "submission" ? "submission" : query.has("answered") ? "survey" : undefined,
  };
}

/** Marks news as read when the panel shows them. They stay highlighted until the panel is opened again. */
async function markRead({ dataset }: HTMLElement, tell: (message: FromFrame) => void) {
  const news = document.getElementById("news");
  const form = news?.querySelector("form");
  if (!news || !form || !Number(news.dataset.unread) || !dataset.viewer) return;
  news.dataset.unread = "0";
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  await fetch(form.action, { method: "POST", body, redirect: "manual" });
  form.remove();
  tell(stateOf(document.getElementById("widget-host") ?? news));
}

/** Polls the number of unread news while the host page is visible, and less often while requests fail. */
function watchUnread(
  { dataset: { base, viewer } }: HTMLElement,
  signal: AbortSignal,
  onRead: (unread: number | null) => void,
) {
  if (!viewer) return;
  let waitMs = pollMs;
  let next = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const startTimer = () => {
    clearTimeout(timer);
    if (!document.hidden && !signal.aborted) timer = setTimeout(read, next - Date.now());
  };
  // A random interval prevents simultaneous requests of pages that were opened at the same time.
  const schedule = () => {
    next = Date.now() + waitMs * (0.75 + Math.random() / 2);
    startTimer();
  };
  async function read() {
    schedule();
    const unread = await unreadOf(`${base}/unread`, signal).catch(() => undefined);
    waitMs = unread === undefined ? Math.min(waitMs * 2, maxPollMs) : pollMs;
    schedule();
    if (unread !== undefined) onRead(unread);
  }
  schedule();
  document.addEventListener("visibilitychange", startTimer, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
}

async function unreadOf(path: string, signal?: AbortSignal): Promise<number | null | undefined> {
  const answer = await fetch(path, { signal: signal ?? null });
  return answer.ok ? (await answer.json()).unread : undefined;
}

// Identify ------------------------------------------------------------------------------------------------------

const identifying = "widget identifying";
const identified = "widget identified";

type Problem = { field: string; message: string };

/**
 * Exchanges the host's token for a session of this frame, unless the same person is signed in already. Scripts cannot read the
 * session's cookie.
 */
async function identify({ dataset }: HTMLElement, token: string, tell: (message: FromFrame) => void) {
  const claims = claimsOf(token);
  if (claims && kept(sessionStore, identified) === JSON.stringify([claims, dataset.viewer])) return;
  const answer = await post(`${dataset.base}/identify`, { token }).catch(() => undefined);
  if (answer?.type === "opaqueredirect") {
    const unread = await unreadOf(`${dataset.base}/unread`).catch(() => undefined);
    if (unread === null)
      return tell({
        type: "refused",
        code: "NO_COOKIE",
        message: "The browser did not keep the cookie of the session.",
      });
    if (claims) keep(sessionStore, identifying, claims);
    return location.reload();
  }
  const said = await answer?.json().catch(() => undefined);
  const details = ((said?.details ?? []) as Problem[])
    .filter((detail) => detail.message !== said?.message)
    .map((detail) => `${detail.field} ${detail.message}`);
  const message = [said?.message ?? "The service did not answer.", ...details].join(" ");
  tell({ type: "refused", message });
}

/** Reads the person of a token, in order to detect another person. The server verifies the token. */
function claimsOf(token: string): string | undefined {
  try {
    const text = atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/"));
    const { sub, email, name, avatar_url } = JSON.parse(text);
    return JSON.stringify([sub, email, name, avatar_url]);
  } catch {}
}

/** Ends the session, and deletes stored form input and snoozed surveys. */
async function logout({ dataset }: HTMLElement, tell: (message: FromFrame) => void) {
  const answer = await post(`${dataset.base}/leave`, {}).catch(() => undefined);
  if (answer?.type !== "opaqueredirect")
    return tell({ type: "refused", message: "The service did not end the session." });
  for (const store of [sessionStore, localStore])
    try {
      store().clear();
    } catch {}
  tell({ type: "logged-out" });
  location.replace(`${dataset.base}/news`);
}

const post = (path: string, fields: Record<string, string>) =>
  fetch(path, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });

// Postponed surveys ---------------------------------------------------------------------------------------------

const snoozed = (survey: string) => `widget snoozed ${survey}`;

const snooze = (survey: string, days: number) => keep(localStore, snoozed(survey), String(Date.now() + days * dayMs));

const isSnoozed = (survey: string) => Number(kept(localStore, snoozed(survey))) > Date.now();
