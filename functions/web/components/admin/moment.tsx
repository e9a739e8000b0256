import { formatMoment } from "../../format.ts";
import { useVisit } from "../../rendering.ts";

/** A time to the second: in UTC, which it names, or in the time zone that its label names. */
export const Moment = ({ at, timeZone }: { at: string; timeZone?: string | undefined }) => {
  const visit = useVisit();
  return <time datetime={new Date(at).toISOString()}>{formatMoment(at, visit.locale, timeZone)}</time>;
};
