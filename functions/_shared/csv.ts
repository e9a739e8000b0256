// What a spreadsheet would take for a formula, and what such a guard makes of it; full-width signs count in some languages.
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;

export type Cell = string | number | boolean | null | undefined;

/** A line of CSV with its end. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: Cell): string {
  if (typeof cell !== "string") return String(cell ?? "");
  const text = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The text before `csvLine` guarded it. */
export function unguarded(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
}
