import type { Locale } from "../../../../shared/locales.ts";

const formats = new Map<Locale, Intl.DateTimeFormat>();

/** A time in UTC, to the second. */
export function formatMoment(at: string, locale: Locale): string {
  const format =
    formats.get(locale) ??
    new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long", timeZone: "UTC" });
  formats.set(locale, format);
  return format.format(new Date(at));
}

export const Moment = ({ at, locale }: { at: string; locale: Locale }) => (
  <time datetime={new Date(at).toISOString()}>{formatMoment(at, locale)}</time>
);
