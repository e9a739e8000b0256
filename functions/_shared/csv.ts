// Prefixes that spreadsheets interpret as formulas, with and without guard; some locales include full-width signs.
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;

export type Cell = string | number | boolean | null | undefined;

/** One CSV line with line end. Text that a spreadsheet would run as a formula is prefixed with an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: Cell): string {
  if (typeof cell !== "string") return String(cell ?? "");
  const text = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Removes the prefix that `csvLine` added. */
export function unguarded(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
}
