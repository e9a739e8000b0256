import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { esbuild, functionEntry, functionOptions } from "../compile.mjs";
import { buildWebAssets } from "../functions/web-assets.ts";
import { runCommand } from "../processes/command.ts";
import { StartError } from "../processes/start-error.ts";

export const functionNames = ["api", "web", "webhook-dispatch", "mail-dispatch", "auth-mail"];

/** Bundles each function into folder/<function>/index.ts: self-hosted Supabase has no import maps, hosted has a limit of size. */
export async function bundleFunctions(folder: string): Promise<string[]> {
  buildWebAssets();
  for (const name of functionNames) {
    await mkdir(join(folder, name), { recursive: true });
    esbuild().buildSync({
      ...functionOptions,
      entryPoints: [functionEntry(name)],
      outfile: join(folder, name, "index.ts"),
      charset: "utf8",
      // Supabase takes 5 MB a function. Names stay, for errors in logs.
      minify: true,
      keepNames: true,
      legalComments: "inline",
    });
  }
  return functionNames.map((name) => join(folder, name, "index.ts"));
}

await runCommand(import.meta.url, async ([folder]) => {
  if (!folder) throw new StartError("Name the target folder: npm run bundle -- <supabase>/volumes/functions");
  for (const file of await bundleFunctions(resolve(folder))) console.log(file);
});
