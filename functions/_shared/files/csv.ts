export type Cell = string | number | boolean | null | undefined;

// A reader that separates by semicolon or tab, or ends a row at a line break, does so inside of our quotes too: to it, quotes
// count only at the start of a cell. Some locales read full-width signs as formulas.
const formulaStart = /(?<=^|[;\t\r\n])(?=[ '"]*[=+\-@＝＋－＠]|^'*[\t\r\n])/g;
const guardedStart = new RegExp(`${formulaStart.source}'`, "g");

/**
 * One CSV line with line end; each text is quoted. An apostrophe precedes each part of a text that a spreadsheet would run
 * as a formula, whether it separates cells by comma, semicolon or tab.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** The first line, after the byte order mark without which Excel takes UTF-8 for another encoding. */
export function csvHeader(names: readonly string[]): string {
  return `\uFEFF${csvLine(names)}`;
}

function csvCell(cell: Cell): string {
  if (typeof cell !== "string") return String(cell ?? "");
  return `"${cell.replaceAll(formulaStart, "'").replaceAll('"', '""')}"`;
}

/** Removes the apostrophes that `csvLine` added. */
export function unguarded(cell: string): string {
  return cell.replaceAll(guardedStart, "");
}
