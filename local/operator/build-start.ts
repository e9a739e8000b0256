import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { denoProgram } from "../functions/process.ts";
import { buildWebAssets } from "../functions/web-assets.ts";
import { compile } from "../lite/compile.ts";
import { root } from "../postgres/database-server.ts";
import { postgresFiles } from "../postgres/files.ts";
import { functionNames } from "./bundle.ts";

// Makes all files that a start would make outside its data folder, where only that may be written: image, systemd unit.
await buildWebAssets();
await compile();
await postgresFiles();
execFileSync(
  denoProgram(),
  ["cache", "--quiet", "--config=deno.json", ...functionNames.map((name) => join("functions", name, "index.ts"))],
  { cwd: root, stdio: "inherit", env: { ...process.env, DENO_DIR: join(root, "node_modules", ".cache", "deno") } },
);
