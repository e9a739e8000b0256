import { formatMoment } from "../../format.ts";
import { useVisit } from "../../rendering.ts";

/** A time to the second, in UTC or another zone. */
export const Moment = ({ at, timeZone }: { at: string; timeZone?: string }) => {
  const visit = useVisit();
  return <time datetime={new Date(at).toISOString()}>{formatMoment(at, visit.locale, timeZone)}</time>;
};
