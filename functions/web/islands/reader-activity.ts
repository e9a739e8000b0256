// Whether the reader is using the page at this moment.

const restMs = 300;
const pollMs = 50;
const pressed = new Set<string>();
let movedAt = Number.NEGATIVE_INFINITY;

function on<Name extends keyof WindowEventMap>(name: Name, handle: (event: WindowEventMap[Name]) => void) {
  const listener = (event: WindowEventMap[Name]) => {
    movedAt = performance.now();
    handle(event);
  };
  window.addEventListener(name, listener, { capture: true, passive: true });
}

const pointerOf = ({ pointerId }: PointerEvent) => `pointer ${pointerId}`;

on("pointerdown", (event) => pressed.add(pointerOf(event)));
on("pointerup", (event) => pressed.delete(pointerOf(event)));
on("pointercancel", (event) => pressed.delete(pointerOf(event)));
// Released outside of the window, or in a menu of the browser.
on("pointermove", (event) => event.buttons === 0 && pressed.delete(pointerOf(event)));
on("keydown", ({ code }) => pressed.add(code));
on("keyup", ({ code, key }) => {
  pressed.delete(code);
  // macOS reports no keyup of other keys while this one is held.
  if (key === "Meta") pressed.clear();
});
// Only of the window: fields emit this event too.
on("blur", ({ target }) => target === window && pressed.clear());
on("scroll", () => {});

/** Ends when no button, finger or key is down. */
export const untilReleased = () => waitWhile(() => pressed.size > 0);

/** Ends when nothing is down and nothing has moved for a moment: the reader is not aiming at anything. */
export const untilIdle = () => waitWhile(() => pressed.size > 0 || performance.now() - movedAt < restMs);

async function waitWhile(isBusy: () => boolean) {
  while (isBusy()) await new Promise((resolve) => setTimeout(resolve, pollMs));
}
