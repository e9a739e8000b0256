import { mkdir } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { buildWebAssets } from "../functions/web-assets.ts";
import { root } from "../postgres/database-server.ts";

// Externals: runtimes do not allow bundling these; Node packages such as postgres.js import them.
const globals = `import { Buffer as NodeBuffer } from "node:buffer";
import { clearImmediate as nodeClear, setImmediate as nodeSet } from "node:timers";
globalThis.global ??= globalThis;
globalThis.Buffer ??= NodeBuffer;
globalThis.setImmediate ??= nodeSet;
globalThis.clearImmediate ??= nodeClear;`;

export const functionNames = ["api", "web", "webhook-dispatch", "mail-dispatch", "auth-mail"];

/** Bundles each function into folder/<function>/index.ts: self-hosted Supabase has no import maps, hosted has a limit of size. */
export async function bundleFunctions(folder: string): Promise<string[]> {
  await buildWebAssets();
  for (const name of functionNames) {
    await mkdir(join(folder, name), { recursive: true });
    await build({
      entryPoints: [join(root, "functions", name, "index.ts")],
      outfile: join(folder, name, "index.ts"),
      bundle: true,
      format: "esm",
      target: "esnext",
      platform: "node",
      charset: "utf8",
      jsx: "automatic",
      jsxImportSource: "hono/jsx",
      // Supabase takes 5 MB a function. Names stay, for errors in logs.
      minify: true,
      keepNames: true,
      legalComments: "inline",
      // Deno requires the node: prefix.
      alias: Object.fromEntries(builtinModules.filter((id) => !id.startsWith("_")).map((id) => [id, `node:${id}`])),
      banner: { js: globals },
      logLevel: "error",
    });
  }
  return functionNames.map((name) => join(folder, name, "index.ts"));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder] = process.argv.slice(2);
  if (!folder) {
    console.error("Name the target folder: npm run bundle -- <supabase>/volumes/functions");
    process.exit(1);
  }
  for (const file of await bundleFunctions(resolve(folder))) console.log(file);
}
