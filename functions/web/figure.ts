import { xml } from "./xml.ts";

/** White text has a contrast of at least 4.5 on each, and each shows on the pages of both themes. */
export const figureColors = [
  ...["#b91c1c", "#c2410c", "#a16207", "#4d7c0f", "#15803d", "#0f766e"],
  ...["#0e7490", "#1d4ed8", "#4338ca", "#7e22ce", "#a21caf", "#be185d"],
];
const neutral = "#52525b";

/** The picture of somebody without one: initials on a color of the id, or a neutral figure for nobody's name. */
export function figureOf(id: string, name: string | null): string {
  const initials = name ? initialsOf(name) : "";
  const color = figureColors[Number.parseInt(id.slice(0, 8), 16) % figureColors.length];
  return xml`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28"><circle cx="14" cy="14" r="14" fill="${
    initials ? color : neutral
  }"/>${
    initials
      ? xml`<text x="14" y="14" dy=".35em" text-anchor="middle" font-family="system-ui,sans-serif" font-size="11" font-weight="600" fill="#fff">${initials}</text>`
      : xml`<path d="M14 6.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM6 22a8.5 8.5 0 0 1 16 0 11 11 0 0 1-16 0z" fill="#fff"/>`
  }</svg>`.text;
}

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The first visible letter, digit or emoji of the first and of the last word. */
function initialsOf(name: string): string {
  const words = name.split(/\s+/u).map(initialOf).filter(Boolean);
  return words.length > 1 ? `${words[0]}${words.at(-1)}` : (words[0] ?? "");
}

function initialOf(word: string): string {
  for (const { segment } of characters.segment(word)) {
    if (!/[\p{L}\p{N}\p{Extended_Pictographic}\p{RI}]/u.test(segment)) continue;
    // A longer one is a letter with a pile of marks, which would cover the picture.
    const shown = segment.length > 16 ? String.fromCodePoint(segment.codePointAt(0) ?? 0) : segment;
    const capital = shown.toUpperCase();
    // "SS" is no capital of "ß".
    return capital.length === shown.length ? capital : shown;
  }
  return "";
}
