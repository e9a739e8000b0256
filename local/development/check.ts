import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";

// Scripts of package.json, longest first, so that the last ones run in parallel.
const checks = [
  "test:database",
  "check:functions",
  "check:database",
  "check:types",
  "check:unused",
  "check:lint",
  "check:sql",
].filter((name) => name !== "test:database" || process.argv.includes("--with-pgtap"));

/** Runs one script and returns whether it passed; prints its output after it has ended, so that outputs do not mix. */
function run(name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const begun = Date.now();
    execFile("npm", ["run", "--silent", name], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const seconds = ((Date.now() - begun) / 1000).toFixed(1);
      console.log(`${error ? "failed" : "passed"}  ${name} (${seconds} s)\n${stdout}${stderr}`.trimEnd());
      resolve(error === null);
    });
  });
}

const queue = [...checks];
const failed: string[] = [];
async function worker(): Promise<void> {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) if (!(await run(name))) failed.push(name);
}

await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker));
if (failed.length > 0) console.error(`failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
