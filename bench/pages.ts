import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import bundled from "@sparticuz/chromium";
import type { Sql } from "../local/postgres/database.ts";
import { type Stack, startStack } from "../local/stack.ts";
import { placesOf } from "../tests/browsers/places.ts";
import { localName, writeResults } from "./about.ts";
import { loadBoard } from "./board.ts";
import { startGenerator } from "./generator.ts";
import type { Measured } from "./load.ts";
import { median, rounded } from "./report.ts";
import { onOwnStack, say } from "./stack.ts";

// Compares the board as a page with the same list by the API, both at the public port, and runs Lighthouse.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "5" },
    submissions: { type: "string", default: "10000" },
    /** Without it only the requests are measured: npx downloads Lighthouse. */
    lighthouse: { type: "boolean", default: false },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("pages") },
  },
});
const settings = {
  seconds: Number(flags.seconds),
  rounds: Number(flags.rounds),
  submissions: Number(flags.submissions),
  connections: 16,
};
const sides = ["page", "list"] as const;
const aim = { ratio: 0.7, lighthouse: 95 };
// No dependency: 180 MB, and it runs in Node 22 (docs/decisions/0165-lighthouse-by-npx.md).
const lighthouse = "lighthouse@13.5.0";

await onOwnStack(bench);

async function bench(stack: Stack, sql: Sql, folder: string): Promise<void> {
  const board = await loadBoard(sql, stack, settings.submissions);
  const generator = startGenerator(board);
  const measured: Record<(typeof sides)[number], Measured[]> = { page: [], list: [] };
  const run = (side: (typeof sides)[number], seconds: number) =>
    generator.measure({
      origin: stack.supabase_url,
      name: side === "page" ? "board, as a page" : "board, by the API",
      connections: settings.connections,
      seconds,
    });
  try {
    for (const side of sides) await run(side, 2);
    for (let round = 0; round < settings.rounds; round++)
      // Alternate the order so that other load affects both alike.
      for (const side of round % 2 === 0 ? sides : sides.toReversed())
        measured[side].push(await run(side, settings.seconds));
  } finally {
    generator.stop();
  }
  const ratios = measured.page.map(({ requestsPerSecond }, round) =>
    rounded(requestsPerSecond / (measured.list[round]?.requestsPerSecond ?? Number.NaN), 2),
  );
  const board_page = {
    aim: aim.ratio,
    ratio: rounded(median(ratios), 2),
    ratios,
    page: summary(measured.page),
    list: summary(measured.list),
  };
  console.log(board_page);
  const scores = flags.lighthouse ? await scoresOf(join(folder, "demo")) : undefined;
  if (scores) console.table(scores);
  await writeResults(flags.name, sql, settings, {
    board: board_page,
    ...(scores && { lighthouse: { aim: aim.lighthouse, scores } }),
  });
}

function summary(rounds: Measured[]) {
  return {
    requests_per_second: Math.round(median(rounds.map(({ requestsPerSecond }) => requestsPerSecond))),
    p50_ms: rounded(median(rounds.map(({ p50 }) => p50)), 2),
    p99_ms: rounded(median(rounds.map(({ p99 }) => p99)), 2),
  };
}

/** Scores of the demo's pages for an anonymous visitor with a phone: each category from 0 to 100. */
async function scoresOf(dataDir: string): Promise<Record<string, Record<string, number>>> {
  const stack = await startStack({ port: 0, dbPort: 0, dataDir, seed: "demo", onWarning: say });
  try {
    const scores: Record<string, Record<string, number>> = {};
    const wanted = ["board", "submission", "survey"];
    for (const { name, path } of (await placesOf(stack)).filter(({ name }) => wanted.includes(name)))
      scores[name] = await audit(stack.site_url + path, join(dataDir, `${name}.json`));
    return scores;
  } finally {
    await stack.stop();
  }
}

async function audit(url: string, report: string): Promise<Record<string, number>> {
  const chromeFlags = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage";
  const child = spawn(
    "npx",
    [
      "--yes",
      "--package=node@22",
      `--package=${lighthouse}`,
      "lighthouse",
      url,
      "--quiet",
      "--output=json",
      `--output-path=${report}`,
      `--chrome-flags=${chromeFlags}`,
    ],
    {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, CHROME_PATH: process.env.CHROMIUM ?? (await bundled.executablePath()) },
    },
  );
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  if (code !== 0) throw new Error(`Lighthouse ended with code ${code}.`);
  const { categories } = JSON.parse(await readFile(report, "utf8")) as {
    categories: Record<string, { score: number }>;
  };
  return Object.fromEntries(Object.entries(categories).map(([name, { score }]) => [name, Math.round(score * 100)]));
}
