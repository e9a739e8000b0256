import type { Locale } from "../../../../shared/locales.ts";

const units = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A length of time by its two largest units: 1d 6h. */
export function formatDuration(seconds: number, locale: Locale): string {
  const first = units.findIndex(([, length]) => seconds >= length);
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [unit, length] of units.slice(first < 0 ? -1 : first).slice(0, 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0 || parts.length === 0)
      parts.push(new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "narrow" }).format(count));
  }
  return parts.join(" ");
}
