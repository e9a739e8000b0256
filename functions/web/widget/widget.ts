import { type FromFrame, protocol, type ToFrame, type WidgetWords } from "./protocol.ts";

// The loader of the widget, a classic script for other sites (docs/embed.md). It defines one global, `feedback`.

/** The content of widget.css, which the build inserts. */
declare const WIDGET_STYLE: string;

type Options = {
  organization: string;
  /** URL of the service; by default the origin of this script. */
  url?: string;
  locale?: string;
  /** By default the color-scheme of the host page. */
  theme?: "light" | "dark" | "auto";
  position?: "left" | "right";
  /** Whether the widget shows its button. */
  button?: boolean;
  /** Whether surveys are offered without a call of `open`. */
  surveys?: boolean;
};
type Token = string | (() => string | Promise<string>);
type Listener = (detail?: unknown) => void;
type Feedback = {
  (command: string, ...values: unknown[]): void;
  /** Calls that the stub queued before this script was loaded. */
  q?: ArrayLike<unknown>[];
  isLoaded?: boolean;
};

const script = document.currentScript as HTMLScriptElement | null;
const host = window as unknown as { feedback?: Feedback };

const frameWaitMs = 10_000;
const identifyAgainMs = 60_000;
const logoutWaitMs = 1_000;
const offerWaitMs = 1_500;
const snoozeDays = 7;
const neverDays = 36_500;

const listeners: Record<string, Listener[]> = {};
const emit = (event: string, detail?: unknown) => {
  for (const listener of listeners[event] ?? [])
    try {
      listener(detail);
    } catch (error) {
      console.error(error);
    }
};

function fail(code: string, message: string) {
  console.warn(`feedback: ${message}`);
  emit("error", { code, message });
}

let options: Options | undefined;
let ui: ReturnType<typeof build> | undefined;
let token: Token | undefined;
let wantsLogout = false;
let state: Extract<FromFrame, { type: "state" }> | undefined;
let unread = 0;
let survey: { id: string; title: string } | undefined;
let identifiedAt = 0;

const commands: Record<string, (...values: never[]) => void> = {
  init(value: Options) {
    if (options) return;
    if (!value?.organization) return fail("NO_ORGANIZATION", "init needs { organization }.");
    options = value;
    if (document.body) start(value);
    else document.addEventListener("DOMContentLoaded", () => start(value));
  },
  identify(value: Token | { token: Token }) {
    token = typeof value === "object" ? value?.token : value;
    if (!token) return fail("NO_TOKEN", "identify needs { token }, a JWT signed by your backend.");
    wantsLogout = false;
    identifiedAt = 0;
    if (state) identify();
  },
  logout() {
    token = undefined;
    wantsLogout = true;
    showUnread(0);
    hideOffer();
    close();
    if (state) tell({ type: "logout" });
    // If the frame shows an error page, no script there can end the session, so the news page is loaded.
    setTimeout(() => {
      if (wantsLogout && state) show("news");
    }, logoutWaitMs);
  },
  open: (view?: string) => open(view),
  close: () => close(),
  on(event: string, listener: Listener) {
    listeners[event] ??= [];
    listeners[event]?.push(listener);
  },
};

const feedback: Feedback = (command, ...values) => {
  const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (run) run(...(values as never[]));
  else fail("NO_COMMAND", `there is no command ${String(command)}.`);
};

// Interface -----------------------------------------------------------------------------------------------------

const serviceOf = ({ url }: Options) => new URL(url ?? script?.src ?? location.href).origin;

function build(of: Options) {
  const service = serviceOf(of);
  const element = document.createElement("feedback-widget");
  const shadow = element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(WIDGET_STYLE);
  shadow.adoptedStyleSheets = [sheet];

  const root = add(shadow, "div", `root ${of.position === "left" ? "left" : ""}`);
  const launcher = add(root, "button", "launcher");
  launcher.type = "button";
  launcher.hidden = true;
  launcher.setAttribute("aria-haspopup", "dialog");
  icon(launcher, "M21 15a2 2 0 0 1-2 2H7l-4 4V5a2 2 0 0 1 2-2h14a2 2 0 0 1 2 2z");
  const label = add(launcher, "span");
  const launcherBadge = add(launcher, "span", "badge");

  const panel = add(root, "dialog", "panel");
  const bar = add(panel, "div", "bar");
  const tabs = (["board", "roadmap", "news"] as const).map((view) => {
    const tab = add(bar, "button");
    tab.type = "button";
    tab.addEventListener("click", () => show(view));
    return [view, add(tab, "span"), tab] as const;
  });
  const newsBadge = add(tabs[2]?.[2] ?? bar, "span", "badge");
  const closer = closeButton(bar, () => close());

  const frame = document.createElement("iframe");
  frame.title = "Feedback";
  frame.referrerPolicy = "origin";
  // The frame gets no other permissions; in particular it cannot navigate the host page.
  frame.setAttribute(
    "sandbox",
    "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox",
  );

  const offer = add(root, "section", "offer");
  offer.hidden = true;
  offer.setAttribute("role", "status");
  const offered = add(offer, "p");
  offered.dir = "auto";
  const answer = add(offer, "button", "main");
  answer.type = "button";
  answer.addEventListener("click", () => {
    const { id } = survey ?? {};
    snooze(snoozeDays);
    if (id) open(`survey:${id}`);
  });
  const later = add(offer, "button");
  later.type = "button";
  later.addEventListener("click", () => snooze(snoozeDays));
  const dismiss = closeButton(offer, () => snooze(neverDays));

  launcher.addEventListener("click", () => (panel.open ? close() : open()));
  // In a modal dialog, the browser handles Escape itself and sends `cancel`.
  panel.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  // Not inside the body, because a host page may transform or replace it.
  document.documentElement.append(element);
  const theme = () => {
    const { colorScheme } = getComputedStyle(document.body);
    const meta = document.querySelector<HTMLMetaElement>("meta[name=color-scheme]");
    // Without a color-scheme, a page is light.
    root.style.colorScheme =
      of.theme === "auto" ? "light dark" : (of.theme ?? colorScheme.replace("normal", meta?.content || "light"));
    return (["light", "dark"] as const).find((only) => root.style.colorScheme === only);
  };
  return {
    theme,
    service,
    element,
    root,
    launcher,
    label,
    badges: [launcherBadge, newsBadge],
    panel,
    tabs,
    closer,
    frame,
    offer,
    offered,
    answer,
    later,
    dismiss,
    /** The element that had the focus when the panel opened. */
    opener: undefined as HTMLElement | undefined,
    isAsked: false,
    isHeard: false,
    wasOpen: false,
  };
}

function add<Name extends keyof HTMLElementTagNameMap>(to: ParentNode, name: Name, className = "") {
  const element = document.createElement(name);
  element.className = className;
  to.append(element);
  return element;
}

// Elements are built with DOM methods, because a host page may require trusted types.
function icon(to: Element, path: string) {
  const names = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(names, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const drawn = document.createElementNS(names, "path");
  drawn.setAttribute("d", path);
  svg.append(drawn);
  to.append(svg);
}

function closeButton(to: Element, onClick: () => void) {
  const button = add(to, "button", "close");
  button.type = "button";
  button.ariaLabel = "Close";
  icon(button, "M18 6 6 18M6 6l12 12");
  button.addEventListener("click", onClick);
  return button;
}

function start(of: Options) {
  ui = build(of);
  addEventListener("message", hear);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && ui?.panel.open) close();
  });
  document.addEventListener("click", (event) => {
    const [target] = event.composedPath();
    const asked = target instanceof Element ? target.closest<HTMLElement>("[data-feedback-open]") : undefined;
    if (!asked || event.defaultPrevented) return;
    event.preventDefault();
    open(asked.dataset.feedbackOpen, asked);
  });
  for (const event of ["focusout", "click"]) document.addEventListener(event, () => offerSoon());
  // The frame is loaded after the host page, in order not to delay it.
  const load = () => ("requestIdleCallback" in window ? requestIdleCallback(() => ask()) : setTimeout(ask, 200));
  if (document.readyState === "complete") load();
  else addEventListener("load", load);
}

const paths: Record<string, string> = { board: "", new: "/new", roadmap: "/roadmap", news: "/news" };

function addressOf(view: string): string {
  const { organization, locale } = options as Options;
  const [kind = "", id = ""] = view.split(":");
  const path =
    kind === "survey" || kind === "submission"
      ? `/${kind}s/${encodeURIComponent(id)}`
      : `/o/${encodeURIComponent(organization)}${paths[view] ?? ""}`;
  const url = new URL(`/embed${path}`, ui?.service);
  const theme = ui?.theme();
  if (locale) url.searchParams.set("lang", locale);
  if (theme) url.searchParams.set("theme", theme);
  return url.href;
}

/** Loads the frame. Its first page reports the signed-in person. */
function ask(view = "news") {
  if (!ui || ui.isAsked) return;
  ui.isAsked = true;
  const { frame, panel } = ui;
  frame.src = addressOf(view);
  frame.addEventListener("load", () =>
    setTimeout(() => {
      if (!ui?.isHeard)
        fail(
          "NO_FRAME",
          `the frame did not answer. Is ${options?.organization} the organization's slug, is ${location.origin} one of ` +
            `its allowed origins, and does the page's policy allow frame-src ${ui?.service}?`,
        );
    }, frameWaitMs),
  );
  panel.append(frame);
}

// `replace` prevents entries of the frame in the history of the host page.
function show(view: string) {
  if (!ui) return;
  if (ui.isAsked) ui.frame.contentWindow?.location.replace(addressOf(view));
  else ask(view);
}

function open(view?: string, opener?: HTMLElement) {
  if (!ui) {
    if (options) document.addEventListener("DOMContentLoaded", () => open(view, opener));
    else fail("NO_INIT", "call init first.");
    return;
  }
  hideOffer();
  const { panel } = ui;
  // The panel reopens with the view that it was closed with.
  const wanted = view || (ui.wasOpen ? undefined : "board");
  ui.wasOpen = true;
  if (wanted && !(wanted === "news" && state?.section === "news")) show(wanted);
  if (!panel.open) {
    ui.opener = opener ?? focused();
    if (matchMedia("(max-width: 640px)").matches) panel.showModal();
    else panel.show();
    ui.launcher.ariaExpanded = "true";
    emit("open");
  }
  tell({ type: "shown", theme: ui.theme() });
}

function close() {
  if (!ui?.panel.open) return;
  const { opener, panel, launcher } = ui;
  panel.close();
  tell({ type: "hidden" });
  launcher.ariaExpanded = "false";
  const to = opener?.isConnected && opener !== document.body ? opener : launcher;
  to.focus({ preventScroll: true });
  emit("close");
}

function focused(): HTMLElement {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return (active ?? document.body) as HTMLElement;
}

function showUnread(count: number) {
  if (!ui) return;
  for (const badge of ui.badges) {
    badge.hidden = count === 0;
    badge.textContent = count > 99 ? "99+" : String(count);
  }
  if (count !== unread) emit("unread", count);
  unread = count;
}

// Surveys -------------------------------------------------------------------------------------------------------

let offering: ReturnType<typeof setTimeout> | undefined;

/** Offers a survey when the user is not typing and no dialog is open. The focus stays where it is. */
function offerSoon() {
  clearTimeout(offering);
  if (!survey || options?.surveys === false || !ui?.offer.hidden) return;
  offering = setTimeout(() => {
    if (!ui || !survey || isBusy()) return;
    ui.offered.textContent = survey.title;
    ui.offer.hidden = false;
    emit("survey", survey.id);
  }, offerWaitMs);
}

const isBusy = () =>
  ui?.panel.open ||
  focused().matches(
    "input, textarea, select, iframe, [role=textbox], [contenteditable]:not([contenteditable=false])",
  ) ||
  document.querySelector("dialog[open], [aria-modal=true]") !== null;

function snooze(days: number) {
  if (survey) tell({ type: "snooze", survey: survey.id, days });
  hideOffer();
}

function hideOffer() {
  survey = undefined;
  clearTimeout(offering);
  if (ui) ui.offer.hidden = true;
}

// The frame -----------------------------------------------------------------------------------------------------

function tell(message: ToFrame) {
  if (ui?.isHeard) ui.frame.contentWindow?.postMessage({ protocol, ...message }, ui.service);
}

function hear({ origin, source, data }: MessageEvent) {
  if (!ui || origin !== ui.service || source !== ui.frame.contentWindow || data?.protocol !== protocol) return;
  const message = data as FromFrame;
  switch (message.type) {
    case "hello":
      ui.isHeard = true;
      return tell({ type: "welcome", isShown: ui.panel.open });
    case "state":
      return showState(message);
    case "unread":
      return showUnread(message.count);
    case "refused":
      // Another attempt would not change the browser.
      if (message.code) token = undefined;
      return fail(message.code ?? "IDENTIFY_REFUSED", message.message);
    case "logged-out":
      wantsLogout = false;
      return emit("logout");
    case "close":
      return close();
  }
}

function showState(message: Extract<FromFrame, { type: "state" }>) {
  if (!ui || !options) return;
  const isFirst = !state;
  const before = state?.viewer ?? null;
  state = message;
  const { words, colors } = message;
  showWords(words);
  for (const [view, , tab] of ui.tabs) tab.ariaCurrent = view === message.section ? "page" : null;
  if (colors) {
    ui.root.style.setProperty("--accent", `light-dark(${colors.light}, ${colors.dark})`);
    ui.root.style.setProperty("--on-accent", `light-dark(${colors.onLight}, ${colors.onDark})`);
  }
  ui.launcher.hidden = options.button === false;
  if (message.unread !== undefined || isFirst) showUnread(message.unread ?? 0);
  if (message.survey && !wantsLogout) {
    survey = message.survey;
    offerSoon();
  }
  if (isFirst) emit("ready");
  if (message.viewer && message.viewer !== before) emit("identify", message.viewer);
  if (message.did) emit("done", message.did);
  if (wantsLogout) tell({ type: "logout" });
  // An ended session is renewed; rejected attempts are repeated after a delay only.
  else if (token && (!message.viewer || identifiedAt === 0) && Date.now() - identifiedAt > identifyAgainMs) identify();
}

function showWords(words: WidgetWords) {
  if (!ui) return;
  ui.label.textContent = words.open;
  ui.panel.ariaLabel = ui.frame.title = words.open;
  ui.closer.ariaLabel = ui.dismiss.ariaLabel = words.close;
  ui.answer.textContent = words.answer;
  ui.later.textContent = words.later;
  for (const [view, text] of ui.tabs) text.textContent = words[view];
}

async function identify() {
  identifiedAt = Date.now();
  const from = token;
  try {
    const given = typeof from === "function" ? await from() : from;
    // During the request to the host's backend, the person may have changed or signed out.
    if (given && from === token) tell({ type: "identify", token: given });
  } catch (error) {
    fail("NO_TOKEN", `the host page has no token: ${error}`);
  }
}

// Runs the commands that the stub queued before this script was loaded.
if (!host.feedback?.isLoaded) {
  const waiting = host.feedback?.q ?? [];
  feedback.isLoaded = true;
  host.feedback = feedback;
  const data = script?.dataset ?? {};
  if (data.organization)
    feedback("init", { ...data, button: data.button !== "false", surveys: data.surveys !== "false" });
  for (const call of waiting) {
    const [command, ...values] = Array.from(call);
    feedback(String(command), ...values);
  }
}
