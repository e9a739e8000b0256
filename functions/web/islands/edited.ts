/** Whether the value of a field differs from the one that the page was loaded with. */
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

export const hasEdits = (element: Element) => [...element.querySelectorAll("input, textarea, select")].some(isEdited);

type SubmitEnd = { success: boolean; fetchResponse?: { response: Response } };

/** Whether the server accepted the form of a `turbo:submit-end` event. A redirect to the sign-in means that it did not. */
export function isDone(event: Event): boolean {
  const { success, fetchResponse } = (event as CustomEvent<SubmitEnd>).detail;
  return success && fetchResponse !== undefined && new URL(fetchResponse.response.url).pathname !== "/sign-in";
}
