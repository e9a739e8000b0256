import { isLong } from "../format.ts";

const numbers = new Intl.NumberFormat(document.documentElement.lang, { notation: "compact" });

/** Writes the vote count of a submission into its button, in the format that the server uses. */
export function showVotes(id: string, votes: number) {
  const button = document.querySelector(`#vote-${CSS.escape(id)} button`);
  const number = button?.querySelector(".number");
  if (!button || !number) return;
  const before = number.textContent ?? "";
  number.textContent = numbers.format(votes);
  number.classList.toggle("long", isLong(number.textContent));
  const label = button.getAttribute("aria-label") ?? "";
  button.setAttribute("aria-label", label.slice(0, label.length - before.length) + number.textContent);
}
