/** Whether a field has other input than the page came with. */
export function isEdited(element: Element): boolean {
  if (element instanceof HTMLTextAreaElement) return element.value !== element.defaultValue;
  if (element instanceof HTMLInputElement)
    return (
      element.type !== "hidden" &&
      (element.value !== element.defaultValue || element.checked !== element.defaultChecked)
    );
  return (
    element instanceof HTMLSelectElement &&
    [...element.options].some(({ selected, defaultSelected }) => selected !== defaultSelected)
  );
}

export const hasEdits = (element: Element) =>
  [...element.querySelectorAll("input, textarea, select")].some(isEdited);

type SubmitEnd = { success: boolean; fetchResponse?: { response: Response } };

/** Whether the form of `turbo:submit-end` was accepted: a redirect to sign-in has submitted nothing yet. */
export function isDone(event: Event): boolean {
  const { success, fetchResponse } = (event as CustomEvent<SubmitEnd>).detail;
  return (
    success && fetchResponse !== undefined && new URL(fetchResponse.response.url).pathname !== "/sign-in"
  );
}
