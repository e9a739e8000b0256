import type { Measured } from "./load.ts";

type SideName = "api" | "floor" | "bare";

/** Results of one kind of request: the API and the floors, by round. */
export interface Measurement {
  name: string;
  /** Target ratio, to the bare floor if there is one. */
  aim: number | null;
  api: Measured[];
  floor: Measured[];
  /** The least SQL on bare tables; empty where a bench has no such floor. */
  bare: Measured[];
}

export interface Summary {
  name: string;
  aim: number | null;
  /** Median over the rounds of API requests per second divided by those of the floor in the same round. */
  ratio: number;
  ratios: number[];
  /** The same for the bare floor. */
  bare_ratio?: number;
  bare_ratios?: number[];
  api: Side;
  floor: Side;
  bare?: Side;
}

/** Medians over the rounds; spread is the slowest and the fastest round. */
interface Side {
  requests_per_second: number;
  spread: [number, number];
  p50_ms: number;
  p99_ms: number;
}

/** Rounds, alternating between the sides. */
export async function compare<Side extends SideName = "api" | "floor">(
  { name, aim }: Pick<Measurement, "name" | "aim">,
  { rounds, seconds }: { rounds: number; seconds: number },
  run: (side: Side, seconds: number) => Promise<Measured>,
  all = ["api", "floor"] as Side[],
): Promise<Measurement> {
  const measured: Measurement = { name, aim, api: [], floor: [], bare: [] };
  // Warm up all sides first.
  for (const side of all) await run(side, 1);
  for (let round = 0; round < rounds; round++) {
    // Alternate the order, so that load from other programs affects both sides alike.
    const sides = round % 2 === 0 ? all : all.toReversed();
    for (const side of sides) measured[side].push(await run(side, seconds));
  }
  return measured;
}

export function summarize({ name, aim, api, floor, bare }: Measurement): Summary {
  const to = (other: Measured[]) =>
    api.map((measured, round) =>
      rounded(measured.requestsPerSecond / (other[round]?.requestsPerSecond ?? Number.NaN), 3),
    );
  const ratios = to(floor);
  const bareRatios = to(bare);
  return {
    name,
    aim,
    ratio: rounded(median(ratios), 3),
    ratios,
    ...(bare.length > 0 && { bare_ratio: rounded(median(bareRatios), 3), bare_ratios: bareRatios }),
    api: side(api),
    floor: side(floor),
    ...(bare.length > 0 && { bare: side(bare) }),
  };
}

function side(rounds: Measured[]): Side {
  const speeds = rounds.map(({ requestsPerSecond }) => Math.round(requestsPerSecond));
  return {
    requests_per_second: Math.round(median(speeds)),
    spread: [Math.min(...speeds), Math.max(...speeds)],
    p50_ms: rounded(median(rounds.map(({ p50 }) => p50)), 2),
    p99_ms: rounded(median(rounds.map(({ p99 }) => p99)), 2),
  };
}

export function table(summaries: Summary[]): string {
  const head = [
    "",
    "req/s",
    "from-to",
    "p50 ms",
    "p99 ms",
    "floor req/s",
    "from-to",
    "ratio",
    "from-to",
    "bare req/s",
    "ratio",
    "aim",
  ];
  const rows = summaries.map(({ name, aim, ratio, ratios, bare_ratio, api, floor, bare }) => [
    name,
    String(api.requests_per_second),
    api.spread.join("-"),
    api.p50_ms.toFixed(1),
    api.p99_ms.toFixed(1),
    String(floor.requests_per_second),
    floor.spread.join("-"),
    ratio.toFixed(2),
    `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`,
    bare ? String(bare.requests_per_second) : "",
    bare_ratio?.toFixed(2) ?? "",
    aim === null ? "" : String(aim),
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ");
  return [head, ...rows].map(line).join("\n");
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** JSON in the format of the repository's formatter: lists of numbers on one line. */
export function formatted(value: object): string {
  const text = JSON.stringify(value, null, 2).replace(
    /\[\s+([\d.,\s]+?)\s+\]/g,
    (_, list: string) => `[${list.split(/,\s+/).join(", ")}]`,
  );
  return `${text}\n`;
}
