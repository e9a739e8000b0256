import { createHash, randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { exists } from "../folders/files.ts";

const folder = fileURLToPath(new URL("../../node_modules/.cache/feedback", import.meta.url));

/** Bundles the process of auth into one JavaScript file: loading @supabase/lite takes tsx a second, Node a third of one. */
export async function compile(): Promise<string> {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("auth.ts", import.meta.url))],
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    write: false,
    logLevel: "error",
  });
  const program = outputFiles[0]?.contents ?? new Uint8Array();
  const path = join(folder, `auth-${createHash("sha256").update(program).digest("hex").slice(0, 16)}.mjs`);
  // Made by an earlier start, or in an image whose files cannot be written.
  if (await exists(path)) return path;
  // Atomic rename: another stack may run the same file.
  const draft = `${path}.${randomUUID()}`;
  await mkdir(folder, { recursive: true });
  await writeFile(draft, program);
  await rename(draft, path);
  return path;
}
