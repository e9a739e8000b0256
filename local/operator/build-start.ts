import { compileFunction, compileProgram } from "../compile.mjs";
import { buildWebAssets } from "../functions/web-assets.ts";
import { postgresFiles } from "../postgres/files.ts";
import { functionNames } from "./bundle.ts";

// Makes all files that a start would make outside its data folder, where only that may be written: image, systemd unit.
for (const program of ["local/start.ts", "local/realtime/process.ts", "local/lite/auth.ts"]) compileProgram(program);
for (const name of functionNames) compileFunction(name, name === "web" ? buildWebAssets : undefined);
await postgresFiles();
