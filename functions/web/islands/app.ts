import { config } from "@hotwired/turbo";
import { isDone, isEdited } from "./edited.ts";
import { connectIslands, reconnectLiveIslands } from "./islands.ts";

// Turbo disables the button of a sent form by default, and a disabled button loses the focus.
config.forms.submitter = "aria-disabled";

connectIslands();
document.addEventListener("turbo:render", connectIslands);
document.addEventListener("turbo:frame-load", connectIslands);

let sent: EventTarget | null = null;
document.addEventListener("turbo:submit-end", (event) => {
  const form = event.target as HTMLFormElement;
  sent = form.method === "post" && isDone(event) ? form : null;
});
document.addEventListener("turbo:render", () => {
  sent = null;
});

// Morphing keeps the input of all fields, except those of the form that was sent.
document.addEventListener("turbo:before-morph-element", (event) => {
  const { target, detail } = event as CustomEvent<{ newElement?: Element }>;
  if (!(target instanceof Element) || !isEdited(target) || target.closest("form") === sent) return;
  const isChoice = target instanceof HTMLInputElement && ["checkbox", "radio"].includes(target.type);
  if (isChoice) return;
  event.preventDefault();
  // The field keeps its input and takes the error attributes of the new page.
  for (const name of ["aria-invalid", "aria-describedby"]) {
    const mark = detail.newElement?.getAttribute(name);
    if (mark) target.setAttribute(name, mark);
    else target.removeAttribute(name);
  }
});
document.addEventListener("turbo:before-morph-attribute", (event) => {
  const { attributeName } = (event as CustomEvent<{ attributeName: string }>).detail;
  if (event.target instanceof HTMLDetailsElement && attributeName === "open") event.preventDefault();
  // Scripts set and remove `hidden` on controls, so morphing leaves it unchanged.
  if (event.target instanceof Element && event.target.matches("button, input") && attributeName === "hidden")
    event.preventDefault();
});

// Signing out deletes stored input, because another person may use the computer next.
document.addEventListener("submit", ({ target }) => {
  if (target instanceof Element && target.getAttribute("action") === "/sign-out") sessionStorage.clear();
});

// A browser may keep a page that is left. The client of realtime closes its connection then, but does not always open it again.
// Of a page that only its visitor may see nothing is kept.
const isKept = () => "mayBeKept" in document.body.dataset;
addEventListener("pagehide", ({ persisted }) => {
  if (persisted && !isKept()) document.body.replaceChildren();
});
addEventListener("pageshow", async ({ persisted }) => {
  if (!persisted) return;
  if (!isKept()) return location.reload();
  // Before the client's own listener, so that it does not open another one.
  reconnectLiveIslands();
  // By now content, session, language or theme may be others.
  const { refreshSoon } = await import("./refresh.ts");
  refreshSoon();
});

// A response without the requested frame is a whole page, such as the sign-in, and is opened. An error changes nothing.
document.addEventListener("turbo:frame-missing", (event) => {
  const { response, visit } = (event as CustomEvent<{ response: Response; visit(to: Response): void }>).detail;
  event.preventDefault();
  if (response.ok) visit(response);
});
