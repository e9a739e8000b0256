import type { Island } from "./island.ts";

const pauseMs = 350;
const shortest = 5;

/** Loads submissions that are similar to the entered title into the frame beside the form. */
export const connect: Island = (element, signal) => {
  const input = element.querySelector("input");
  const link = element.querySelector<HTMLAnchorElement>("a");
  const frame = document.querySelector<HTMLElement & { src: string }>("turbo-frame#similar");
  if (!input || !link || !frame) return;
  const hasLooked = Object.assign(document.createElement("input"), { type: "hidden", name: "checked" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    const title = input.value.trim();
    if (title.length >= shortest) {
      const url = new URL(element.dataset.path ?? "", location.href);
      url.searchParams.set("title", title);
      frame.src = url.href;
    } else frame.replaceChildren();
    link.hidden = frame.querySelector("li") === null;
  };
  input.addEventListener(
    "input",
    () => {
      hasLooked.remove();
      clearTimeout(timer);
      timer = setTimeout(look, pauseMs);
    },
    { signal },
  );
  frame.addEventListener(
    "turbo:frame-load",
    () => {
      link.hidden = frame.querySelector("li") === null;
      const shown = new URL(frame.src, location.href).searchParams.get("title");
      if (shown !== input.value.trim()) return;
      // The author has seen the similar submissions, so the server accepts the form without asking.
      hasLooked.value = "true";
      element.append(hasLooked);
    },
    { signal },
  );
  signal.addEventListener("abort", () => clearTimeout(timer));
  if (input.value !== input.defaultValue) look();
};
