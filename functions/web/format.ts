import type { Locale } from "../../shared/locales.ts";

// Creating a formatter takes longer than rendering a row: cache one of each kind per language.
function perLocale<Value>(make: (locale: Locale) => { format(value: Value): string }) {
  const made = new Map<Locale, { format(value: Value): string }>();
  return (value: Value, locale: Locale) => {
    const formatter = made.get(locale) ?? make(locale);
    made.set(locale, formatter);
    return formatter.format(value);
  };
}

const numbers = perLocale<number>((locale) => new Intl.NumberFormat(locale));
const counts = perLocale<number>((locale) => new Intl.NumberFormat(locale, { notation: "compact" }));
/** Oct 24, for the axis of a plot. */
export const formatShortDay = perLocale<Date>(
  (locale) => new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", timeZone: "UTC" }),
);
const days = perLocale<Date>((locale) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" }));

// All eight languages write small numbers alike; Intl takes a microsecond for each.
const isPlain = (n: number) => n >= 0 && n < 1000 && Number.isInteger(n);
export const formatNumber = (n: number, locale: Locale) => (isPlain(n) ? String(n) : numbers(n, locale));
/** Such as 1.2K for 1,234. */
export const formatCount = (n: number, locale: Locale) => (isPlain(n) ? String(n) : counts(n, locale));

/** A count that needs smaller type to fit its button: 12.345 or 12 тыс. Islands ask the same. */
export const isLong = (count: string) => count.length > 4;

/** Two days and what is between: Oct 1 – Nov 3, 2026. */
export const formatDays = (from: Date, to: Date, locale: Locale) =>
  new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" }).formatRange(from, to);

/** Such as a, b, c. */
export const formatList = perLocale<Iterable<string>>((locale) => new Intl.ListFormat(locale, { style: "narrow" }));

const moments = new Map<string, Intl.DateTimeFormat>();

/** A time to the second: in UTC, which it names, or in the time zone that the reader knows. */
export function formatMoment(at: string, locale: Locale, timeZone?: string): string {
  const key = `${locale} ${timeZone}`;
  const format =
    moments.get(key) ??
    new Intl.DateTimeFormat(locale, {
      dateStyle: "medium",
      timeStyle: timeZone ? "medium" : "long",
      timeZone: timeZone ?? "UTC",
    });
  moments.set(key, format);
  return format.format(new Date(at));
}

const units = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
  ["millisecond", 0.001],
] as const;

/** A length of time by its two largest units, such as 1d 6h; below a minute by one, such as 1.5s. */
export function formatDuration(
  seconds: number,
  locale: Locale,
  unitDisplay: "narrow" | "short" | "long" = "narrow",
): string {
  const first = units.findIndex(([, length]) => seconds >= length);
  const [unit, length] = units[first] ?? units[3];
  const next = units[first + 1];
  const format = (count: number, of: string) =>
    new Intl.NumberFormat(locale, { style: "unit", unit: of, unitDisplay, maximumFractionDigits: 1 }).format(count);
  if (length <= 1 || !next) return format(seconds / length, unit);
  const rest = Math.floor((seconds % length) / next[1]);
  const parts = [format(Math.floor(seconds / length), unit), ...(rest > 0 ? [format(rest, next[0])] : [])];
  return new Intl.ListFormat(locale, { type: "unit", style: unitDisplay }).format(parts);
}

const maxKnownDays = 5000;
const knownDays = new Map<string, string>();

/** A day in UTC. */
export function formatDay(date: Date, locale: Locale): string {
  const key = `${locale} ${Math.floor(date.getTime() / 86_400_000)}`;
  const known = knownDays.get(key);
  if (known) return known;
  if (knownDays.size >= maxKnownDays) knownDays.clear();
  const text = days(date, locale);
  knownDays.set(key, text);
  return text;
}
