/** Runs where an element with data-island of its name is on the page; the signal ends it when the element is gone. */
export type Island = (element: HTMLElement, signal: AbortSignal) => void;
