import type { Child } from "hono/jsx";
import { useVisit } from "../../rendering.ts";
import { Icon } from "../icon.tsx";

type Props = {
  label: string;
  value: Child;
  /** The number in this period and in the previous one, to show the change. */
  now?: number;
  before?: number;
  /** For example for a waiting time. */
  lessIsBetter?: boolean;
  hint?: Child;
};

/** A number with its change since the previous period. */
export const Stat = ({ label, value, now, before, lessIsBetter = false, hint }: Props) => (
  <div class="card stat">
    <dt>{label}</dt>
    <dd>
      <strong class="number">{value}</strong>
      <span class="stat-hint">
        {now !== undefined && before !== undefined && <Change now={now} before={before} lessIsBetter={lessIsBetter} />}
        {hint}
      </span>
    </dd>
  </div>
);

type ChangeProps = { now: number; before: number; lessIsBetter: boolean };

const Change = ({ now, before, lessIsBetter }: ChangeProps) => {
  const visit = useVisit();
  const words = visit.messages.admin.frame;
  if (now === before) return <span>{words.unchanged}</span>;
  // No percentage of zero.
  if (before === 0) return <span>{words.newly}</span>;
  const isMore = now > before;
  const share = now / before - 1;
  const format = new Intl.NumberFormat(visit.locale, {
    style: "percent",
    signDisplay: "exceptZero",
    maximumFractionDigits: Math.abs(share) < 0.1 ? 1 : 0,
  });
  return (
    <span class={`change with-icon ${isMore === lessIsBetter ? "down" : "up"}`}>
      <Icon name={isMore ? "arrow-up" : "arrow-down"} />
      {format.format(share)}
    </span>
  );
};
