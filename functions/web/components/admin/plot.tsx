import { scaleLinear } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import { formatNumber } from "../../format.ts";
import { useVisit } from "../../rendering.ts";

type LineProps = {
  id: string;
  /** Name of the values, for screen readers and as caption of the table. */
  title: string;
  /** Header of the points' labels, such as the day. */
  axis: string;
  /** The axis shows `short` instead of the label. */
  points: { label: string; short?: string; value: number }[];
  /** Formats a value; by default as a number in the visitor's language. */
  format?: (value: number) => string;
};

// Pixels: the drawing is as wide as its place, so that texts keep their size.
const height = 200;
const top = 14;
const bottom = 28;
const labelCount = 5;

/** Values over time, with their numbers as a table. */
export const LinePlot = ({ id, title, axis, points, format }: LineProps) => {
  const { locale, messages } = useVisit();
  const written = format ?? ((value: number) => formatNumber(value, locale));
  const values = points.map(({ value }) => value);
  const y = scaleLinear([0, Math.max(1, ...values)], [height - bottom, top]).nice(3);
  const ticks = y.ticks(3).filter((tick) => Number.isInteger(tick) || !values.every(Number.isInteger));
  const x = scaleLinear([0, Math.max(1, points.length - 1)], [0, 100]);
  const at = values.map((value, index): [number, number] => [x(index), y(value)]);
  const draw = { line: line().curve(curveMonotoneX), area: area().curve(curveMonotoneX).y0(y(0)) };
  const step = Math.max(1, Math.ceil((points.length - 1) / (labelCount - 1)));
  const labels = points.flatMap(({ label, short = label }, index) => (index % step ? [] : { short, index }));
  return (
    <figure class="plot">
      <div class="lines">
        <div class="ticks" aria-hidden="true">
          {ticks.toReversed().map((tick) => (
            <span>{written(tick)}</span>
          ))}
        </div>
        <svg
          height={height}
          role="img"
          aria-label={`${title}${messages.words.colon}${written(Math.min(...values))}–${written(Math.max(...values))}`}
        >
          <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden="true">
            <g class="grid">
              {ticks.map((tick) => (
                <line x2={100} y1={y(tick)} y2={y(tick)} />
              ))}
            </g>
            <path class="area" d={draw.area(at) ?? ""} />
            <path class="stroke" d={draw.line(at) ?? ""} />
          </svg>
          {values.length === 1 && <circle class="point" cx="4" cy={at[0]?.[1]} r="3" />}
          {labels.map(({ short, index }, place) => (
            <text
              class={place % 2 ? "between" : undefined}
              x={`${x(index)}%`}
              y={height - 8}
              text-anchor={index === 0 ? "start" : index === points.length - 1 ? "end" : "middle"}
            >
              {short}
            </text>
          ))}
        </svg>
      </div>
      <Numbers id={id} title={title} axis={axis} rows={points} written={written} />
    </figure>
  );
};

type Bar = {
  label: string;
  value: number;
  href?: string;
  /** Status or category, which sets the color; the accent color if missing. */
  kind?: string;
  color?: string;
};

type BarProps = { id: string; title: string; axis: string; bars: Bar[]; format?: (value: number) => string };

/** Values side by side, the numbers beside their bars: what it says does not depend on colors. */
export const BarPlot = ({ id, title, axis, bars, format }: BarProps) => {
  const visit = useVisit();
  const written = format ?? ((value: number) => formatNumber(value, visit.locale));
  const x = scaleLinear([0, Math.max(1, ...bars.map(({ value }) => value))], [0, 100]);
  return (
    <figure class="plot bars">
      <table id={id}>
        <caption class="unseen">{title}</caption>
        <thead class="unseen">
          <tr>
            <th scope="col">{axis}</th>
            <th scope="col" colspan={2}>
              {title}
            </th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ label, value, href, kind, color }) => (
            <tr>
              <th scope="row">{href ? <a href={href}>{label}</a> : label}</th>
              <td>
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    class={`plot-bar ${kind ?? ""}`}
                    height="10"
                    width={value > 0 ? Math.max(0.5, x(value)) : 0}
                    fill={color}
                  />
                </svg>
              </td>
              <td class="n">{written(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
};

type NumbersProps = {
  id: string;
  title: string;
  axis: string;
  rows: { label: string; value: number }[];
  written: (value: number) => string;
};

const Numbers = ({ id, title, axis, rows, written }: NumbersProps) => {
  const visit = useVisit();
  return (
    <details class="numbers" id={`${id}-numbers`}>
      <summary class="quiet small">{visit.messages.admin.frame.asTable}</summary>
      <div class="table-frame">
        <table class="data">
          <caption class="unseen">{title}</caption>
          <thead>
            <tr>
              <th scope="col">{axis}</th>
              <th scope="col" class="n">
                {title}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ label, value }) => (
              <tr>
                <th scope="row">{label}</th>
                <td class="n">{written(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
};
