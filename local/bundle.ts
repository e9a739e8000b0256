import { mkdir } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./database-server.ts";

// Hosted and self-hosted runtimes keep these from a bundle; packages made for Node, such as postgres.js, expect them.
const globals = `import { Buffer as NodeBuffer } from "node:buffer";
import { clearImmediate as nodeClear, setImmediate as nodeSet } from "node:timers";
globalThis.global ??= globalThis;
globalThis.Buffer ??= NodeBuffer;
globalThis.setImmediate ??= nodeSet;
globalThis.clearImmediate ??= nodeClear;`;

/** Each function as one file, folder/<function>/index.ts, for runtimes that read no import map: self-hosted Supabase. */
export async function bundleFunctions(folder: string): Promise<string[]> {
  const functions = ["api", "webhook-dispatch"];
  for (const name of functions) {
    await mkdir(join(folder, name), { recursive: true });
    await build({
      entryPoints: [join(root, "functions", name, "index.ts")],
      outfile: join(folder, name, "index.ts"),
      bundle: true,
      format: "esm",
      target: "esnext",
      platform: "node",
      charset: "utf8",
      legalComments: "inline",
      // Deno knows Node's modules by their full names only.
      alias: Object.fromEntries(
        builtinModules.filter((id) => !id.startsWith("_")).map((id) => [id, `node:${id}`]),
      ),
      banner: { js: globals },
      logLevel: "error",
    });
  }
  return functions.map((name) => join(folder, name, "index.ts"));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder] = process.argv.slice(2);
  if (!folder) {
    console.error("Say where the functions go: npm run bundle -- <supabase>/volumes/functions");
    process.exit(1);
  }
  for (const file of await bundleFunctions(resolve(folder))) console.log(file);
}
