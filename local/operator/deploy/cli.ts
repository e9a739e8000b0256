import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "../../postgres/database-server.ts";
import { StartError } from "../../processes/start-error.ts";
import type { Surroundings } from "./target.ts";

/** Runs the Supabase CLI. Secrets are passed as variables: other users of the machine see its arguments. */
export async function supabase(
  words: string[],
  { environment }: Surroundings,
  secrets: Record<string, string>,
): Promise<void> {
  const program = join(root, "node_modules", "supabase", "dist", "supabase.js");
  const child = spawn(process.execPath, [program, ...words], {
    cwd: root,
    env: { ...environment, ...secrets },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const code = await new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
  const [known] = faults.flatMap(([pattern, advice]) => (pattern.test(said) ? [advice] : []));
  const command = `supabase ${words.slice(0, 2).join(" ")}`;
  if (known) throw new StartError(`${command} failed: ${known}`);
  if (code === 0) return;
  const lines = said.split("\n").map((line) => line.trim());
  const cause = lines.find((line) => /error|fail|denied|unexpected/i.test(line)) ?? lines.filter(Boolean).at(-1);
  throw new StartError(`${command} failed (${cause}): run npm run deploy again, which continues from here`);
}

const faults: [RegExp, string][] = [
  [
    // Addresses of the pages' assets look like imports.
    /Skipping import path outside source root: (?!\/assets\/)/,
    "the upload is incomplete: deploy from a git checkout of the whole repository",
  ],
  [
    /\b413\b|too large|size limit|exceeds? the maximum/i,
    "a function is over the platform's limit of 20 MB for a bundle: remove what was added to functions, or deploy it elsewhere (docs/deploy.md)",
  ],
  [
    /deadlock detected/,
    "a migration met requests of the running service and was rolled back: run npm run deploy again",
  ],
];
