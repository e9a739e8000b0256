import { formatMinute, formatMoment } from "../../format.ts";
import { useTimeZone, useVisit } from "../../rendering.ts";

/** A time with its time zone, to the second or to the minute. */
export const Moment = ({ at, toMinute }: { at: string; toMinute?: boolean }) => {
  const date = new Date(at);
  const format = toMinute ? formatMinute : formatMoment;
  return <time datetime={date.toISOString()}>{format(date, useVisit().locale, useTimeZone())}</time>;
};
