// `npm start`: start.ts as plain JavaScript, so that no compiler stays in its process.
import { compileProgram } from "./compile.mjs";

await import(compileProgram("local/start.ts"));
