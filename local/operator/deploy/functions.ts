import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "../../postgres/database-server.ts";
import { StartError } from "../../processes/start-error.ts";
import { bundleFunctions, functionNames } from "../bundle.ts";
import { reasonOf } from "./management.ts";

/** Of one function that Supabase bundles: docs/decisions/0361-deployment-by-bundles.md. */
const maxBytes = 5_000_000;
const tooLarge = "a function is larger than Supabase takes (5 MB): deploy a release, or remove what was added to it";

/** Bundles the functions into a folder for deployFunctions. Returns the paths of the files. */
export async function buildFunctions(folder: string): Promise<string[]> {
  const files = await bundleFunctions(join(folder, "supabase", "functions"));
  for (const file of files)
    if ((await stat(file)).size > maxBytes)
      throw new StartError(`the function ${basename(dirname(file))} is not deployed: ${tooLarge}`);
  return files;
}

/** Deploys what buildFunctions made. If Supabase refuses one function, the CLI still deploys the others: run it again. */
export async function deployFunctions(
  folder: string,
  ref: string,
  token: string,
  environment: Record<string, string | undefined> = process.env,
): Promise<void> {
  const words = ["functions", "deploy", ...functionNames, "--use-api", "--no-verify-jwt", "--yes"];
  const env = { ...environment, SUPABASE_ACCESS_TOKEN: token, DO_NOT_TRACK: "1", NO_COLOR: "1" };
  await promisify(execFile)(
    join(root, "node_modules", ".bin", "supabase"),
    [...words, `--remote=${ref}`, `--workdir=${folder}`],
    { env, cwd: folder, maxBuffer: 32 * 1024 * 1024 },
  ).catch((error: Error & { stdout?: string; stderr?: string }) => {
    const output = `${error.stdout ?? ""}\n${error.stderr || error.message}`.replaceAll(token, "…");
    throw new StartError(`Supabase does not deploy the functions: ${reasonIn(output, ref)}`);
  });
}

function reasonIn(output: string, ref: string): string {
  const [, status, answer = ""] = /unexpected .*status (\d+): (.*)/.exec(output) ?? [];
  if (status === "413" || /exceeds the maximum deployment size/.test(answer)) return tooLarge;
  if (status) return reasonOf(Number(status), answer, ref, "edge_functions_write");
  const lines = output.split("\n").filter((line) => !/^(Uploading|Deploying|WARN:|Target:|Confirmed)|^\s*$/.test(line));
  return lines.slice(-5).join("; ");
}
