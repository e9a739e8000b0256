import type { Locale } from "../../../shared/locales.ts";
import { formatDay } from "../format.ts";
import { useVisit } from "../rendering.ts";

/** A date in the format of the reader's language. */
export const Day = ({ at, locale }: { at: string; locale?: Locale }) => {
  const visit = useVisit();
  const date = new Date(at);
  return <time datetime={date.toISOString()}>{formatDay(date, locale ?? visit.locale)}</time>;
};
