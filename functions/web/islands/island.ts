/** Called for each element whose `data-island` names it. The signal aborts when the element leaves the page. */
export type Island = (element: HTMLElement, signal: AbortSignal) => void;
