import type { Island } from "./island.ts";

/** Reports a file that is too large before it is uploaded. */
export const connect: Island = (element, signal) => {
  const input = element as HTMLInputElement;
  const check = () => {
    const isTooLarge = [...(input.files ?? [])].some(({ size }) => size > Number(input.dataset.max));
    input.setCustomValidity(isTooLarge ? (input.dataset.tooLarge ?? "") : "");
    if (isTooLarge) input.reportValidity();
  };
  input.addEventListener("change", check, { signal });
  check();
};
