import { formatDay } from "../format.ts";
import { useTimeZone, useVisit } from "../rendering.ts";

/** The day of a moment, in the format of the reader's language. */
export const Day = ({ at }: { at: string }) => {
  const date = new Date(at);
  return <time datetime={date.toISOString()}>{formatDay(date, useVisit().locale, useTimeZone())}</time>;
};
