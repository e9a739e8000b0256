import type { Locale } from "../../shared/locales.ts";
import { isTimeZone } from "../../shared/time-zones.ts";

const maxKept = 500;

// Creating a formatter takes longer than rendering a row: cache one of each kind per language and time zone.
function perLocale<Value>(make: (locale: Locale, timeZone: string) => { format(value: Value): string }) {
  const made = new Map<string, { format(value: Value): string }>();
  return (value: Value, locale: Locale, timeZone = "UTC") => {
    const key = `${locale} ${timeZone}`;
    const formatter = made.get(key) ?? make(locale, isTimeZone(timeZone) ? timeZone : "UTC");
    if (made.size >= maxKept) made.clear();
    made.set(key, formatter);
    return formatter.format(value);
  };
}

const numbers = perLocale<number>((locale) => new Intl.NumberFormat(locale));
const counts = perLocale<number>((locale) => new Intl.NumberFormat(locale, { notation: "compact" }));
/** Oct 24, for the axis of a plot. */
export const formatShortDay = perLocale<Date>(
  (locale, timeZone) => new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", timeZone }),
);
const days = perLocale<Date>((locale, timeZone) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone }));
/** A time to the second, with its time zone. */
export const formatMoment = perLocale<Date>(
  (locale, timeZone) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long", timeZone }),
);
/** A time to the minute, with its time zone. */
export const formatMinute = perLocale<Date>(
  (locale, timeZone) =>
    new Intl.DateTimeFormat(locale, {
      ...({ year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit" } as const),
      ...({ timeZoneName: "short", timeZone } as const),
    }),
);
// Swedish dates are written like ISO 8601.
const clocks = perLocale<Date>(
  (_, timeZone) => new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium", timeZone }),
);

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

/** What clocks in the zone show, such as 2027-01-31T23:59:00. */
export const localTime = (at: Date, timeZone: string) => clocks(at, "en", timeZone).replace(" ", "T");

const dayMs = 86_400_000;

/**
 * The moment at which clocks in the zone show a time: the first if they show it twice. A time that they skip is as long
 * after the change as it was typed after it. NaN if it is no time.
 */
export function momentOf(local: string, timeZone: string): number {
  const typed = Date.parse(`${local}Z`);
  if (Number.isNaN(typed)) return typed;
  const ahead = (at: number) => Date.parse(`${localTime(new Date(at), timeZone)}Z`) - at;
  const [before, after] = [typed - ahead(typed - dayMs), typed - ahead(typed + dayMs)];
  return [before, after].find((at) => at + ahead(at) === typed) ?? before;
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

/** The day of a moment in a time zone; a day without a time is the same in every zone, as one of UTC. */
export function formatDay(date: Date, locale: Locale, timeZone: string): string {
  const key = `${locale} ${timeZone} ${date.getTime()}`;
  const known = knownDays.get(key);
  if (known) return known;
  if (knownDays.size >= maxKnownDays) knownDays.clear();
  const text = days(date, locale, timeZone);
  knownDays.set(key, text);
  return text;
}
