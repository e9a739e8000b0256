import { visit } from "@hotwired/turbo";
import type { Island } from "./island.ts";

const keysOff = "inbox keys off";
const actions: Record<string, string> = { a: "approve", r: "reject", s: "spam" };

/** Keyboard shortcuts of moderators. A decided item disappears immediately; the request and the refresh follow. */
export const connect: Island = (element, signal) => {
  const said = element.querySelector<HTMLElement>("[data-said]");
  const toggle = element.querySelector<HTMLInputElement>("[data-toggle]");
  const done: HTMLElement[] = [];
  let current: string | undefined;
  let place = 0;
  let queue = Promise.resolve();
  let pending = 0;

  const items = () => [...element.querySelectorAll<HTMLElement>("[data-item]:not([data-gone], [inert])")];

  function select(to: number, focus = true) {
    const list = items();
    place = Math.max(0, Math.min(to, list.length - 1));
    current = list[place]?.id;
    for (const item of element.querySelectorAll("[data-item]"))
      item.toggleAttribute("data-current", item.id === current);
    if (!focus) return;
    list[place]?.focus({ preventScroll: true });
    list[place]?.scrollIntoView({ block: "nearest" });
  }

  /** Queues a request, so that forms are sent one after the other. The redirect of the last one is opened. */
  function send(form: HTMLFormElement, body: FormData, onFailure: () => void) {
    pending++;
    queue = queue
      .then(async () => {
        // Not `form.action`, because that is the button with the name `action`.
        const response = await fetch(form.getAttribute("action") ?? "", {
          method: "post",
          body: new URLSearchParams([...body].map(([name, value]) => [name, String(value)])),
        });
        pending--;
        if (!response.ok || !response.redirected) onFailure();
        else if (pending === 0) visit(response.url, { action: "replace" });
      })
      .catch(() => {
        pending--;
        onFailure();
      });
  }

  function decide(item: HTMLElement, action: string) {
    const form = item.querySelector<HTMLFormElement>("form.verdict");
    const button = form?.querySelector<HTMLButtonElement>(`button[value=${action}]`);
    if (!form || !button) return;
    item.dataset.gone = action;
    done.push(item);
    if (said) said.textContent = button.textContent;
    select(place);
    send(form, new FormData(form, button), () => {
      delete item.dataset.gone;
      // A normal submission shows the error on the page.
      form.requestSubmit(button);
    });
  }

  function undo() {
    const item = done.pop();
    const form = item?.querySelector<HTMLFormElement>("form.verdict");
    if (!item || !form) {
      document.querySelector<HTMLButtonElement>(".notice.done button[value=reopen]")?.click();
      return;
    }
    delete item.dataset.gone;
    const body = new FormData();
    body.set("items", item.dataset.item ?? "");
    body.set("action", "reopen");
    current = item.id;
    send(form, body, () => location.reload());
  }

  function onKey(event: KeyboardEvent) {
    const { key, target } = event;
    const isTyping = (target as Element).closest("input:not([type=checkbox]), textarea, select");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !toggle?.checked) return;
    const item = items().find(({ id }) => id === current);
    if (key === "j" || key === "k") select(item ? place + (key === "j" ? 1 : -1) : 0);
    else if (key === "u") undo();
    else if (key === "x" && item) item.querySelector<HTMLInputElement>(".entry-choice")?.click();
    else if (actions[key] && item) decide(item, actions[key]);
    else return;
    event.preventDefault();
  }

  /** After a refresh, selects the same item again, or the one now in its place. A focused control keeps the focus. */
  function onRender() {
    for (const item of done) if (item.isConnected) item.dataset.gone = "";
    showToggle();
    if (current === undefined) return;
    const at = items().findIndex(({ id }) => id === current);
    const focused = document.activeElement;
    select(at < 0 ? place : at, focused === document.body || focused?.closest("[data-item]") === focused);
  }

  const showToggle = () => {
    if (toggle) toggle.checked = localStorage.getItem(keysOff) === null;
  };
  showToggle();
  toggle?.addEventListener(
    "change",
    () => (toggle.checked ? localStorage.removeItem(keysOff) : localStorage.setItem(keysOff, "yes")),
    { signal },
  );
  element.addEventListener(
    "focusin",
    ({ target }) => {
      const item = (target as Element).closest("[data-item]");
      if (item && item.id !== current) select(items().indexOf(item as HTMLElement), false);
    },
    { signal },
  );
  document.addEventListener("keydown", onKey, { signal });
  document.addEventListener("turbo:render", onRender, { signal });
  element.dataset.ready = "";
};
