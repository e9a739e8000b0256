// Detects whether the reader is using pointer or keyboard at this moment.

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
// The button may have been released outside of the window or in a menu of the browser.
on("pointermove", (event) => event.buttons === 0 && pressed.delete(pointerOf(event)));
on("keydown", ({ code }) => pressed.add(code));
on("keyup", ({ code, key }) => {
  pressed.delete(code);
  // While the Meta key is pressed, macOS sends no keyup of other keys.
  if (key === "Meta") pressed.clear();
});
// Fields send this event as well, so the target is checked.
on("blur", ({ target }) => target === window && pressed.clear());
on("scroll", () => {});

/** Resolves when no button, finger or key is pressed. */
export const untilReleased = () => waitWhile(() => pressed.size > 0);

/** Resolves when nothing is pressed and the pointer has not moved for a moment, so that no click misses its target. */
export const untilIdle = () => waitWhile(() => pressed.size > 0 || performance.now() - movedAt < restMs);

async function waitWhile(isBusy: () => boolean) {
  while (isBusy()) await new Promise((resolve) => setTimeout(resolve, pollMs));
}
