import { config } from "@hotwired/turbo";
import { isDone, isEdited } from "./edited.ts";
import { connectIslands } from "./islands.ts";

// A disabled button would lose the focus, which keyboard users need.
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

// A morphed page keeps open elements and input, except the input of the sent form.
document.addEventListener("turbo:before-morph-element", (event) => {
  const { target, detail } = event as CustomEvent<{ newElement?: Element }>;
  if (!(target instanceof Element) || !isEdited(target) || target.closest("form") === sent) return;
  const isChoice = target instanceof HTMLInputElement && ["checkbox", "radio"].includes(target.type);
  if (isChoice) return;
  event.preventDefault();
  // Copy the error marks of a refused form to the field with the input.
  for (const name of ["aria-invalid", "aria-describedby"]) {
    const mark = detail.newElement?.getAttribute(name);
    if (mark) target.setAttribute(name, mark);
    else target.removeAttribute(name);
  }
});
document.addEventListener("turbo:before-morph-attribute", (event) => {
  const { attributeName } = (event as CustomEvent<{ attributeName: string }>).detail;
  if (event.target instanceof HTMLDetailsElement && attributeName === "open") event.preventDefault();
  // Scripts show and hide controls.
  if (event.target instanceof Element && event.target.matches("button, input") && attributeName === "hidden")
    event.preventDefault();
});

// The next user of this computer must not see entered text.
document.addEventListener("submit", ({ target }) => {
  if (target instanceof Element && target.getAttribute("action") === "/sign-out") sessionStorage.clear();
});

// A response without the frame is a separate page, such as sign-in; an error leaves the frame unchanged.
document.addEventListener("turbo:frame-missing", (event) => {
  const { response, visit } = (event as CustomEvent<{ response: Response; visit(to: Response): void }>)
    .detail;
  event.preventDefault();
  if (response.ok) visit(response);
});
