import { formatDay } from "../format.ts";
import { useVisit } from "../rendering.ts";

/** A date in the format of the reader's language. */
export const Day = ({ at }: { at: string }) => {
  const date = new Date(at);
  return <time datetime={date.toISOString()}>{formatDay(date, useVisit().locale)}</time>;
};
