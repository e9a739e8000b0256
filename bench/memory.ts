import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withTemporaryFolder } from "../local/folders/temporary-folder.ts";
import { root } from "../local/root.ts";
import { say } from "./stack.ts";

// Seconds of a first and a second start with the demo data, and the memory of each process after a minute at rest
// (Linux). Other programs of the same files on the machine share their memory: stop other stacks before.

const restMs = 60_000;

/** The processes of a tree, with their shares of the memory. */
async function processes(pid: number): Promise<{ name: string; megabytes: number }[]> {
  const read = (path: string) => readFile(`/proc/${path}`, "utf8").catch(() => "");
  const [memory, command] = await Promise.all([read(`${pid}/smaps_rollup`), read(`${pid}/cmdline`)]);
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const children = await Promise.all(threads.map((thread) => read(`${pid}/task/${thread}/children`)));
  const below = children.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
  const megabytes = Number(/^Pss:\s+(\d+)/m.exec(memory)?.[1]) / 1024;
  return [{ name: nameOf(command), megabytes }, ...(await Promise.all(below.map(processes))).flat()].filter(
    (found) => found.megabytes > 0,
  );
}

function nameOf(command: string): string {
  const [program = ""] = command.split("\0");
  if (program.startsWith("postgres: ")) return program.replace(/\s*127.*| \(.*/, "").trim();
  if (command.includes("keeper")) return "keepers";
  return /(?:functions|local)-([a-z-]+)-\w+\.mjs/.exec(command)?.[1] ?? program.split("/").at(-1) ?? "";
}

async function start(dataDir: string) {
  const startedAt = performance.now();
  const env = { ...process.env, DATA_DIR: dataDir, PORT: "0", DB_PORT: "0", SEED: "demo" };
  const child = spawn("npm", ["start", "--silent"], { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (text: Buffer) => text.includes("ready") && resolve());
    ended.then(() => reject(new Error("it did not start")));
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const [launcher = ""] = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")).split(" ");
  return {
    seconds,
    pid: Number(launcher),
    async stop() {
      process.kill(Number(launcher), "SIGTERM");
      await ended;
    },
  };
}

await withTemporaryFolder(
  async (folder) => {
    const first = await start(folder);
    await first.stop();
    const second = await start(folder);
    say(`first start ${first.seconds} s, second start ${second.seconds} s`);
    await sleep(restMs);
    const totals = new Map<string, { count: number; megabytes: number }>();
    for (const { name, megabytes } of await processes(second.pid)) {
      const total = totals.get(name) ?? { count: 0, megabytes: 0 };
      totals.set(name, { count: total.count + 1, megabytes: total.megabytes + megabytes });
    }
    await second.stop();
    const rows = [...totals].sort(([, one], [, other]) => other.megabytes - one.megabytes);
    for (const [name, { count, megabytes }] of rows)
      console.log(`${megabytes.toFixed(1).padStart(6)} MB  ${count} ${name}`);
    console.log(
      `${rows
        .reduce((sum, [, { megabytes }]) => sum + megabytes, 0)
        .toFixed(1)
        .padStart(6)} MB  all`,
    );
  },
  () => mkdtemp(join(tmpdir(), "feedback-bench-")),
);
